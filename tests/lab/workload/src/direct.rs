// SPDX-License-Identifier: GPL-2.0-only
//! Dispatches of machine code by packets of the command processor (PM4), which set the
//! registers that an AQL queue takes from the kernel's descriptor.

use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{ensure, Result};

use crate::hsa::{Buffer, Place, Pm4Queue, Runtime};
use crate::packet;

/// The registers, in the order of the hardware.
const NUM_THREAD: u32 = 0x2e07;
const CODE: u32 = 0x2e0c;
const RESOURCES: u32 = 0x2e12;
const THIRD_RESOURCES: u32 = 0x2e2d;
const USER_DATA: u32 = 0x2e40;

/// Where a descriptor has them.
const FIRST_RESOURCES_AT: usize = 48;
const SECOND_RESOURCES_AT: usize = 52;
const THIRD_RESOURCES_AT: usize = 44;
const PROPERTIES_AT: usize = 56;

/// All that a kernel may want in its registers: the address of its arguments.
const ARGUMENTS_ONLY: u32 = 1 << 3;
/// Local memory in the second word of resources.
const LDS_FROM: u32 = 15;
const LDS_UNIT: u32 = 512;

/// What is dispatched.
pub struct Order<'a> {
    pub descriptor: &'a [u8],
    /// Where the code begins.
    pub entry: u64,
    pub items: u16,
    pub groups: u32,
    pub private_bytes: u32,
    pub lds_bytes: u32,
    pub arguments: u64,
}

impl Order<'_> {
    fn word(&self, at: usize) -> u32 {
        let bytes = self.descriptor[at..at + 4].iter().rev();
        bytes.fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
    }

    /// The packets that dispatch it.
    fn packets(&self) -> Result<Vec<u32>> {
        ensure!(
            self.word(PROPERTIES_AT) == ARGUMENTS_ONLY && self.private_bytes == 0,
            "a kernel that wants more than its arguments is not dispatched by PM4 packets"
        );
        ensure!(
            self.entry % 256 == 0,
            "the code at {:#x} is not aligned for PM4 packets",
            self.entry
        );
        let halves = |value: u64| [value as u32, (value >> 32) as u32];
        let lds = self.lds_bytes.div_ceil(LDS_UNIT) << LDS_FROM;
        let resources = [
            self.word(FIRST_RESOURCES_AT),
            self.word(SECOND_RESOURCES_AT) | lds,
        ];
        let mut words = Vec::new();
        for (first, values) in [
            (NUM_THREAD, &[self.items.into(), 1, 1][..]),
            (CODE, &halves(self.entry >> 8)),
            (RESOURCES, &resources),
            (THIRD_RESOURCES, &[self.word(THIRD_RESOURCES_AT)]),
            (USER_DATA, &halves(self.arguments)),
        ] {
            words.extend(packet::set_registers(first, values));
        }
        words.extend(packet::dispatch_workgroups(self.groups));
        Ok(words)
    }
}

/// A queue of PM4 packets with the lowest priority, and the word that says how many of
/// its dispatches are done.
pub struct Direct {
    queue: Pm4Queue,
    fence: Buffer,
    submitted: u32,
}

impl Direct {
    pub fn create(runtime: &Arc<Runtime>) -> Result<Direct> {
        let fence = Buffer::allocate(runtime, 0, Place::Host, 4)?;
        fence.words()[0].store(0, Ordering::Release);
        Ok(Direct {
            queue: Pm4Queue::create(runtime, 0)?,
            fence,
            submitted: 0,
        })
    }

    pub fn submit(&mut self, order: &Order<'_>) -> Result<()> {
        let mut words = order.packets()?;
        self.submitted = self.submitted.wrapping_add(1);
        let at = self.fence.address();
        words.extend(packet::write_when_done(at, self.submitted));
        self.queue.submit(&words);
        Ok(())
    }

    /// Waits up to that time until all dispatches are done.
    pub fn wait(&self, time: Duration) -> bool {
        let is_done = || self.fence.words()[0].load(Ordering::Acquire) == self.submitted;
        if !is_done() {
            std::thread::sleep(time);
        }
        is_done()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(descriptor: &[u8]) -> Order<'_> {
        Order {
            descriptor,
            entry: 0x1234_5600,
            items: 64,
            groups: 3,
            private_bytes: 0,
            lds_bytes: 513,
            arguments: 0x7_0000_1000,
        }
    }

    fn descriptor() -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[THIRD_RESOURCES_AT] = 7;
        bytes[FIRST_RESOURCES_AT] = 5;
        bytes[SECOND_RESOURCES_AT] = 0x84;
        bytes[PROPERTIES_AT] = 8;
        bytes
    }

    #[test]
    fn registers_are_what_the_descriptor_says() {
        let descriptor = descriptor();
        let words = order(&descriptor).packets().unwrap();
        let after = |register: u32| {
            let at = words.iter().position(|word| *word == register - 0x2c00);
            &words[at.unwrap() + 1..]
        };
        assert_eq!(after(CODE)[..2], [0x12_3456, 0]);
        assert_eq!(after(RESOURCES)[..2], [5, 0x84 | (2 << LDS_FROM)]);
        assert_eq!(after(THIRD_RESOURCES)[0], 7);
        assert_eq!(after(USER_DATA)[..2], [0x1000, 7]);
        assert_eq!(words[words.len() - 4], 3, "workgroups");
    }

    #[test]
    fn what_registers_do_not_have_is_refused_in_words() {
        let mut descriptor = descriptor();
        let mut scratch = order(&descriptor);
        scratch.private_bytes = 4;
        assert!(scratch.packets().is_err());
        let mut odd = order(&descriptor);
        odd.entry += 4;
        let error = odd.packets().unwrap_err().to_string();
        assert!(error.contains("0x12345604"), "{error}");
        descriptor[PROPERTIES_AT] |= 2;
        let error = order(&descriptor).packets().unwrap_err().to_string();
        assert!(error.contains("arguments"), "{error}");
    }
}
