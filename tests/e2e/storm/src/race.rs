// SPDX-License-Identifier: GPL-2.0-only
//! Threads of one process that do at the same time what KFD offers to the same object: a
//! queue that one of them destroys while another one changes it, memory that is freed while
//! it is mapped, events that are waited for while they end, a file that is closed under a
//! call. What each thread does follows from the seed, and what comes of it from who is first,
//! so that nothing of it is compared. It is done in a child, whose life ends with the race.
#![forbid(unsafe_code)]

use std::fs::File;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use crate::call::{self, Arguments, Call, Kind, CALLS};

/// How long the threads are waited for: some of their calls wait for what nobody does.
const PATIENCE: Duration = Duration::from_millis(1500);

/// What there is one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Queue,
    Memory,
    Event,
    Range,
    Process,
}

pub const OBJECTS: &[Object] = &[
    Object::Queue,
    Object::Queue,
    Object::Memory,
    Object::Event,
    Object::Range,
    Object::Process,
];

impl Object {
    /// The numbers of calls that make, use and end it.
    fn calls(self) -> &'static [u8] {
        match self {
            Object::Queue => &[0x02, 0x03, 0x03, 0x07, 0x07, 0x1a, 0x1b, 0x1e, 0x22, 0x26],
            Object::Memory => &[0x16, 0x17, 0x18, 0x18, 0x19, 0x19, 0x1c, 0x1d, 0x23, 0x24],
            Object::Event => &[0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x0c],
            Object::Range => &[0x16, 0x17, 0x18, 0x20, 0x20, 0x20, 0x21],
            Object::Process => &[0x14, 0x15, 0x1f, 0x21, 0x22, 0x25, 0x26, 0x27, 0x28],
        }
    }

    /// The calls among which a thread chooses.
    pub fn table(self) -> Vec<Call> {
        let of = |&number: &u8| CALLS.iter().filter(move |call| call.number == number);
        self.calls().iter().flat_map(of).copied().collect()
    }
}

/// What a thread does.
pub enum Step {
    Call(Call, Box<Arguments>),
    /// The pages at an address are taken away.
    Forget(u64),
}

pub type Script = Vec<Step>;

/// Arguments for a call about one object: those that name it are the same for all threads.
pub fn aim(call: Call, arguments: &mut Arguments, object: &[(Kind, u64)]) {
    for (kind, place, bytes) in call.kinds().collect::<Vec<_>>() {
        if let Some(&(_, value)) = object.iter().find(|(named, _)| *named == kind) {
            arguments.set(place, bytes, value);
        }
    }
}

/// Runs the scripts, each round of them at once, and returns when each thread has ended or
/// waits. The process is to end then.
pub fn run(kfd: &Arc<File>, scripts: Vec<Script>, rounds: u64, forget: fn(u64)) {
    let begin = Arc::new(Barrier::new(scripts.len()));
    let threads: Vec<_> = scripts
        .into_iter()
        .map(|script| {
            let (kfd, begin) = (kfd.clone(), begin.clone());
            thread::spawn(move || {
                for _ in 0..rounds {
                    begin.wait();
                    for step in &script {
                        match step {
                            // The driver writes its answers into them.
                            Step::Call(call, arguments) => {
                                let _ = call.make(&kfd, &mut arguments.as_ref().clone());
                            }
                            Step::Forget(at) => forget(*at),
                        }
                    }
                }
            })
        })
        .collect();
    let started = Instant::now();
    while started.elapsed() < PATIENCE && threads.iter().any(|thread| !thread.is_finished()) {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Whether a thread may make a call: what the stock driver does by itself wrongly is left
/// out as elsewhere (docs/storm.md).
pub fn is_left_out(call: Call, arguments: &Arguments) -> bool {
    match call.number {
        // Registers, which may be exported before it is known that they are.
        call::ALLOCATE => arguments.has_registers(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_objects_have_calls_that_name_them() {
        for (object, kind) in [
            (Object::Queue, Kind::Queue),
            (Object::Memory, Kind::Handle),
            (Object::Event, Kind::Event),
            (Object::Range, Kind::Address),
        ] {
            let table = object.table();
            let named = table
                .iter()
                .filter(|call| call.kinds().any(|(other, ..)| other == kind));
            assert!(named.count() >= 3, "{object:?}");
        }
        // Each of a debugger's operations.
        assert!(Object::Queue.table().len() > Object::Queue.calls().len());
    }

    #[test]
    fn what_names_the_object_is_the_same_for_all() {
        let mut arguments = Arguments::new();
        aim(
            Call::by_number(0x07),
            &mut arguments,
            &[(Kind::Queue, 7), (Kind::Event, 9)],
        );
        assert_eq!((arguments.get(8, 4), arguments.get(12, 4)), (7, 0));
    }

    #[test]
    fn nobody_races_for_registers() {
        let allocate = Call::by_number(call::ALLOCATE);
        let mut arguments = Arguments::new();
        arguments.set(36, 4, 1 << 3);
        assert!(is_left_out(allocate, &arguments));
        arguments.set(36, 4, 1);
        assert!(!is_left_out(allocate, &arguments));
    }
}
