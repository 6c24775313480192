// SPDX-License-Identifier: GPL-2.0-only
//! Queues of PM4 packets, and dispatches by them of the same machine code.

use super::driver::{halves, packet, Driver, TestProcess, TestQueue, USER};
use super::machine::Launch;
use crate::device::DoorbellWidth;
use crate::layout::descriptor as mqd;
use crate::layout::pm4::{initiator, opcode};
use crate::layout::shader;
use crate::terms::Bus;

/// Dwords of a test queue's ring.
pub const RING: u64 = 1024;

/// Items are counted, as the kernels' number of them.
pub const ITEMS: u32 = initiator::SHADER | initiator::COUNTS_ITEMS;
pub const GROUPS: u32 = initiator::SHADER;

/// Sets registers from the first one on.
pub fn set(first: u32, values: &[u32]) -> Vec<u32> {
    let mut body = vec![first.wrapping_sub(shader::SET_FROM)];
    body.extend(values);
    packet(opcode::SET_SH_REG, &body)
}

pub fn dispatch(counts: [u32; 3], initiator: u32) -> Vec<u32> {
    let [x, y, z] = counts;
    packet(opcode::DISPATCH_DIRECT, &[x, y, z, initiator])
}

/// Writes 32 bits when the dispatches before it are done.
pub fn release(at: u64, value: u32) -> Vec<u32> {
    const END_OF_PIPE: u32 = 0x14 | (5 << 8);
    const DATA: u32 = 1 << 29;
    let [low, high] = halves(USER + at);
    let body = [END_OF_PIPE, DATA, low, high, value, 0, 0];
    packet(opcode::RELEASE_MEM, &body)
}

impl Driver {
    pub fn pm4_queue(&mut self, process: TestProcess) -> TestQueue {
        let queue = self.queue(process, 1);
        for die in 0..self.device.config().xcc_count {
            self.set_mqd(&queue, die, mqd::AQL_CONTROL, 0);
            self.set_mqd(&queue, die, mqd::TG_CHUNK_SIZE, 0);
            self.set_mqd(&queue, die, mqd::CURRENT_LOGIC_XCC, 0);
        }
        queue
    }

    /// Puts packets into the ring and rings the doorbell.
    pub fn submit_pm4(&mut self, queue: &TestQueue, words: &[u32]) {
        let mut write = self.get64(queue.write);
        for word in words {
            self.put32(queue.ring + write % RING * 4, *word);
            write += 1;
        }
        self.put64(queue.write, write);
        self.device
            .doorbell_write(queue.doorbell, write, DoorbellWidth::Qword);
    }

    /// The second word of a kernel's resources.
    pub fn resources(&self, launch: &Launch<'_>) -> u32 {
        let (descriptor, _) = launch.object.descriptor(launch.kernel);
        u32::from_le_bytes(descriptor[52..56].try_into().unwrap())
    }

    /// Puts a kernel and its arguments into memory. Returns the packets that set the
    /// registers as its descriptor says.
    pub fn registers(&mut self, launch: &Launch<'_>) -> Vec<u32> {
        let text = &launch.object.text;
        let code = self.guest(text.len() as u64);
        self.bus.write(code, text).unwrap();
        let arguments = self.guest(4096);
        self.bus.write(arguments, &launch.arguments).unwrap();
        let (descriptor, entry) = launch.object.descriptor(launch.kernel);
        let word = |at: usize| u32::from_le_bytes(descriptor[at..at + 4].try_into().unwrap());
        let lds = word(0).div_ceil(512) << 15;
        [
            set(shader::START[0], &[0; 3]),
            set(shader::NUM_THREAD[0], &[launch.items.into(), 1, 1]),
            set(shader::PGM_LO, &halves((USER + code + entry) >> 8)),
            set(shader::PGM_RSRC1, &[word(48), self.resources(launch) | lds]),
            set(shader::PGM_RSRC3, &[word(44)]),
            set(shader::USER_DATA, &halves(USER + arguments)),
        ]
        .concat()
    }

    /// Sets the registers, dispatches, and returns where 1 is written when that is done.
    pub fn launch_pm4(&mut self, queue: &TestQueue, launch: &Launch<'_>) -> u64 {
        let mut words = self.registers(launch);
        let fence = self.guest(4096);
        words.extend(dispatch([launch.groups, 1, 1], GROUPS));
        words.extend(release(fence, 1));
        self.submit_pm4(queue, &words);
        fence
    }

    #[track_caller]
    pub fn await_fence(&mut self, fence: u64) {
        self.run_until(60_000_000_000, |driver| driver.get32(fence) == 1);
    }
}
