// SPDX-License-Identifier: GPL-2.0-only
//! The compute registers of which a dispatch by PM4 packets is made. SET_SH_REG sets
//! them, and a queue's descriptor has them in the same order.

/// COMPUTE_DISPATCH_INITIATOR, and how many of the registers behind it are here.
const BASE: u32 = 0x2e00;
const COUNT: usize = 80;

/// From this dword on a descriptor has them.
pub const IN_DESCRIPTOR: u64 = 1;

/// SET_SH_REG counts from the first, and must not go beyond the last.
pub const SET_FROM: u32 = 0x2c00;
pub const SET_END: u32 = 0x3000;

pub const START: [u32; 3] = [0x2e04, 0x2e05, 0x2e06];
pub const NUM_THREAD: [u32; 3] = [0x2e07, 0x2e08, 0x2e09];
pub const PGM_LO: u32 = 0x2e0c;
pub const SCRATCH_BASE_LO: u32 = 0x2e10;
pub const PGM_RSRC1: u32 = 0x2e12;
pub const PGM_RSRC2: u32 = 0x2e13;
pub const STATIC_THREAD_MGMT: [u32; 4] = [0x2e16, 0x2e17, 0x2e19, 0x2e1a];
pub const TMPRING_SIZE: u32 = 0x2e18;
pub const DISPATCH_ID: u32 = 0x2e20;
pub const PGM_RSRC3: u32 = 0x2e2d;
pub const USER_DATA: u32 = 0x2e40;
pub const USER_DATA_COUNT: u32 = 16;

const DISPATCH_SCRATCH_BASE_HI: u32 = 0x2e11;
const RESOURCE_LIMITS: u32 = 0x2e15;
const THREAD_TRACE_ENABLE: u32 = 0x2e1e;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShaderRegisters([u32; COUNT]);

impl Default for ShaderRegisters {
    fn default() -> ShaderRegisters {
        ShaderRegisters([0; COUNT])
    }
}

/// What a user's packets may set: not the dispatch itself, the address space, nor what
/// the hardware counts and restores.
fn is_users(register: u32) -> bool {
    (START[0]..=DISPATCH_SCRATCH_BASE_HI).contains(&register)
        || matches!(register, PGM_RSRC1 | PGM_RSRC2 | PGM_RSRC3)
        || (RESOURCE_LIMITS..=THREAD_TRACE_ENABLE).contains(&register)
        || (USER_DATA..USER_DATA + USER_DATA_COUNT).contains(&register)
}

impl ShaderRegisters {
    pub fn from_descriptor(words: [u32; COUNT]) -> ShaderRegisters {
        ShaderRegisters(words)
    }

    pub fn get(&self, register: u32) -> u32 {
        let index = register.wrapping_sub(BASE) as usize;
        self.0.get(index).copied().unwrap_or(0)
    }

    /// Two registers that are a number, the lower half first.
    pub fn wide(&self, register: u32) -> u64 {
        u64::from(self.get(register)) | (u64::from(self.get(register + 1)) << 32)
    }

    /// A packet sets a register. Others than those of users stay as they are.
    pub fn set(&mut self, register: u32, value: u32) {
        if is_users(register) {
            self.0[(register - BASE) as usize] = value;
        }
    }

    /// The number of the dispatch that begins now.
    pub fn next_dispatch(&mut self) -> u32 {
        let id = &mut self.0[(DISPATCH_ID - BASE) as usize];
        *id = id.wrapping_add(1);
        *id
    }

    /// What has changed since a descriptor was read: dwords of it with their values.
    pub fn changes(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let with_register = (BASE..).zip(self.0);
        with_register
            .filter(|(register, _)| is_users(*register) || *register == DISPATCH_ID)
            .map(|(register, value)| (IN_DESCRIPTOR + u64::from(register - BASE), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::descriptor as mqd;

    #[test]
    fn a_descriptor_has_the_masks_where_the_driver_puts_them() {
        let mut registers = ShaderRegisters::default();
        for (at, register) in (1..).zip(STATIC_THREAD_MGMT) {
            registers.set(register, at);
        }
        let masks: Vec<_> = registers
            .changes()
            .filter(|(_, value)| *value > 0)
            .collect();
        let expected = mqd::STATIC_THREAD_MGMT.into_iter().zip(1..);
        assert_eq!(masks, expected.collect::<Vec<_>>());
    }

    #[test]
    fn what_is_not_the_users_stays_as_it_is() {
        let mut registers = ShaderRegisters::default();
        for register in SET_FROM..SET_END {
            registers.set(register, register);
        }
        const VMID: u32 = 0x2e14;
        for register in [
            BASE,
            BASE + 1,
            VMID,
            DISPATCH_ID,
            PGM_RSRC3 - 1,
            PGM_RSRC3 + 1,
        ] {
            assert_eq!(registers.get(register), 0, "{register:#x}");
        }
        for register in [START[0], PGM_RSRC2, PGM_RSRC3, USER_DATA, USER_DATA + 15] {
            assert_eq!(registers.get(register), register, "{register:#x}");
        }
        assert_eq!(registers.get(USER_DATA + 16), 0);
        assert_eq!(registers.get(0), 0);
    }

    #[test]
    fn dispatches_are_counted_in_the_descriptor() {
        let mut registers = ShaderRegisters::default();
        assert_eq!([1, 2], [0, 1].map(|_| registers.next_dispatch()));
        assert!(registers.changes().any(|change| change == (33, 2)));
    }
}
