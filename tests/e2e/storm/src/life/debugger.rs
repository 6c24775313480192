// SPDX-License-Identifier: GPL-2.0-only
//! A life that debugs itself, as far as KFD lets a process do so: each operation of a
//! debugger's with arguments that make sense, on queues that are given no work.
#![forbid(unsafe_code)]

use super::*;

/// Exceptions of all kinds.
const ALL: u64 = !0;

/// KFD_IOC_DBG_TRAP_*, with the places of what is set.
const ENABLE: u32 = 0;
const DISABLE: u32 = 1;
const SEND_RUNTIME_EVENT: u32 = 2;
const SET_EXCEPTIONS: u32 = 3;
const OVERRIDE: u32 = 4;
const LAUNCH_MODE: u32 = 5;
const SUSPEND: u32 = 6;
const RESUME: u32 = 7;
const SET_WATCH: u32 = 8;
const CLEAR_WATCH: u32 = 9;
const SET_FLAGS: u32 = 10;
const QUERY_EVENT: u32 = 11;
const QUERY_EXCEPTION: u32 = 12;
const QUEUE_SNAPSHOT: u32 = 13;
const DEVICE_SNAPSHOT: u32 = 14;
/// The process's runtime answers its debugger: KFD_EC_MASK(EC_PROCESS_RUNTIME).
const RUNTIME: u64 = 1 << 47;

impl Life {
    /// Tells KFD that the process may be debugged, which it must know before there is a queue.
    pub(super) fn be_ready_for_debugger(&mut self) {
        let mode = 1 + self.random.below(3) as u32;
        let mut arguments = Arguments::of(&[Word::Eight(0), Word::Four(mode), Word::Four(0)]);
        let _ = self.make(Call::by_number(call::RUNTIME), &mut arguments);
    }

    /// Begins to debug itself, if it has not, does all that a debugger does, and lets
    /// everything go on.
    pub(super) fn debug(&mut self) {
        self.transcript.close();
        if !self.debugged && !self.begin_to_debug() {
            return;
        }
        let random = &mut self.random;
        let (gpu, flags, mode) = (self.gpu.id, random.below(8), random.below(2));
        let launch = random.of(&[0, 1, 3]).unwrap_or(0);
        let mask = random.number();
        let address = self.arena + random.below(ARENA / PAGE) * PAGE;
        let exception = random.below(50);
        let queues = self.list_queues();
        self.operate(SET_EXCEPTIONS, &[Word::Eight(mask)]);
        let masks = [
            Word::Four(mode as u32),
            Word::Four(mask as u32),
            Word::Four(!0),
        ];
        self.operate(OVERRIDE, &masks);
        self.operate(LAUNCH_MODE, &[Word::Four(launch)]);
        let list = [
            Word::Eight(ALL),
            Word::Eight(self.buffer),
            Word::Four(queues),
        ];
        self.operate(SUSPEND, &list);
        self.take_snapshots();
        let watch = [
            Word::Eight(address),
            Word::Four(launch),
            Word::Four(!0xfff),
            Word::Four(gpu),
        ];
        let id = self.operate(SET_WATCH, &watch).get(28, 4) as u32;
        self.operate(SET_FLAGS, &[Word::Four(flags as u32)]);
        self.operate(QUERY_EVENT, &[Word::Eight(ALL)]);
        for source in [0, gpu] {
            let to = self.buffer + BUFFER / 4;
            let about = [
                Word::Eight(to),
                Word::Four(256),
                Word::Four(source),
                Word::Four(exception as u32),
                Word::Four(mode as u32),
            ];
            self.operate(QUERY_EXCEPTION, &about);
        }
        self.operate(CLEAR_WATCH, &[Word::Four(gpu), Word::Four(id)]);
        self.operate(LAUNCH_MODE, &[Word::Four(0)]);
        // The snapshots have written over the list.
        let queues = self.list_queues();
        self.operate(RESUME, &[Word::Eight(self.buffer), Word::Four(queues)]);
        self.operate(SEND_RUNTIME_EVENT, &[Word::Eight(RUNTIME), Word::Four(gpu)]);
        if self.random.one_in(2) {
            self.operate(DISABLE, &[]);
            self.debugged = false;
        }
    }

    fn begin_to_debug(&mut self) -> bool {
        let events = self.events_of_debugger.1.as_raw_fd() as u32;
        let to = [
            Word::Eight(ALL),
            Word::Eight(self.buffer),
            Word::Four(16),
            Word::Four(events),
        ];
        let mut arguments = self.operation(ENABLE, &to);
        self.debugged = self
            .make(Call::by_number(call::DEBUG), &mut arguments)
            .is_ok();
        // What KFD does with queues of such a process depends on its debugger.
        self.paused |= self.debugged;
        self.debugged
    }

    /// Puts the numbers of queues that are given no work into the buffer, and says how many.
    fn list_queues(&self) -> u32 {
        let some: Vec<u64> = self.queues.iter().copied().take(64).collect();
        for (index, &id) in some.iter().enumerate() {
            word_at(self.buffer + 4 * index as u64).store(id as u32, Ordering::Relaxed);
        }
        some.len() as u32
    }

    fn take_snapshots(&mut self) {
        let to = self.buffer + BUFFER / 4;
        for (operation, entry) in [(QUEUE_SNAPSHOT, 64), (DEVICE_SNAPSHOT, 128)] {
            let all = [
                Word::Eight(ALL),
                Word::Eight(to),
                Word::Four(64),
                Word::Four(entry),
            ];
            self.operate(operation, &all);
        }
    }

    fn operation(&self, operation: u32, words: &[Word]) -> Arguments {
        let mut all = vec![Word::Four(std::process::id()), Word::Four(operation)];
        all.extend_from_slice(words);
        Arguments::of(&all)
    }

    /// Does one of a debugger's operations, and returns what the driver has made of the
    /// arguments.
    fn operate(&mut self, operation: u32, words: &[Word]) -> Arguments {
        let mut arguments = self.operation(operation, words);
        let _ = self.make(Call::by_number(call::DEBUG), &mut arguments);
        arguments
    }
}
