// SPDX-License-Identifier: GPL-2.0-only
//! A child of a life whose threads race for one of its objects.

use std::sync::Arc;

use super::*;
use crate::race::{self, Object, Script, Step, OBJECTS};

impl Life {
    /// Has a child race, and waits for it. Nothing that the parent has is in it, and nothing
    /// that comes of it is noted.
    pub(super) fn race(&mut self) {
        let seed = self.random.number();
        self.in_child(|life| {
            let random = Random::new(seed, &[]);
            let rival = Transcript::new().and_then(|new| Life::new(&life.gpu, random, new));
            if let Ok(rival) = rival {
                rival.rival();
            }
        });
    }

    fn rival(mut self) {
        // SAFETY: it changes what becomes of this process when its parent ends.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
        if self.acquire().is_err() {
            return;
        }
        let object = self.random.of(OBJECTS).unwrap_or(Object::Queue);
        if self.random.one_in(3) {
            self.be_ready_for_debugger();
        }
        self.good_memory();
        self.good_memory();
        if object != Object::Process || self.random.one_in(2) {
            self.good_queue();
        }
        let mut event = Arguments::new();
        if self
            .make(Call::by_number(call::CREATE_EVENT), &mut event)
            .is_ok()
        {
            self.events.push(event.get(24, 4));
        }
        if self.random.one_in(3) {
            self.debug();
        }
        let named = self.names();
        let scripts = (0..2 + self.random.below(2)).map(|_| self.script(object, &named));
        let scripts: Vec<Script> = scripts.collect();
        let rounds = 1 + self.random.below(8);
        race::run(&Arc::new(self.kfd), scripts, rounds, forget);
    }

    /// By which values all threads name the one object of each kind.
    fn names(&mut self) -> Vec<(Kind, u64)> {
        let queue = self.queues.first().copied();
        let queue = queue.or_else(|| self.working.first().map(|queue| queue.id));
        let mut named = vec![(
            Kind::Address,
            self.arena + self.random.below(ARENA / PAGE) * PAGE,
        )];
        named.extend(queue.map(|id| (Kind::Queue, id)));
        named.extend(self.events.first().map(|&id| (Kind::Event, id)));
        if let Some(&handle) = self.handles.first() {
            named.push((Kind::Handle, handle));
            let mut export = Arguments::of(&[Word::Eight(handle), Word::Four(0), Word::Four(0)]);
            if self
                .make(Call::by_number(call::EXPORT), &mut export)
                .is_ok()
            {
                named.push((Kind::Export, export.get(12, 4)));
            }
        }
        named
    }

    /// What one thread does: a few calls about the object.
    fn script(&mut self, object: Object, named: &[(Kind, u64)]) -> Script {
        let table = object.table();
        let mut script = Script::new();
        self.fill_buffer();
        for _ in 0..4 + self.random.below(28) {
            if matches!(object, Object::Range | Object::Memory) && self.random.one_in(8) {
                let (_, at) = named[0];
                script.push(Step::Forget(at));
                continue;
            }
            let call = self.random.of(&table).expect("each object has calls");
            let mut arguments = Arguments::new();
            for (kind, place, bytes) in call.kinds().collect::<Vec<_>>() {
                let value = self.value(kind);
                arguments.set(place, bytes, value);
            }
            call.ask_operation(&mut arguments);
            if !self.random.one_in(8) {
                race::aim(call, &mut arguments, named);
            }
            self.spare(call, &mut arguments);
            if !race::is_left_out(call, &arguments) {
                script.push(Step::Call(call, Box::new(arguments)));
            }
        }
        script
    }
}

/// Takes pages away, which the GPU may use.
fn forget(at: u64) {
    const PAGES: u64 = 16;
    // SAFETY: the arena is memory that no reference leads to, and has more behind its end.
    unsafe { libc::madvise(at as *mut _, (PAGES * PAGE) as usize, libc::MADV_DONTNEED) };
}
