// SPDX-License-Identifier: GPL-2.0-only
//! AQL packets and packets of the command processor (PM4), as words ready for the ring.

const VENDOR_SPECIFIC: u32 = 0;
const KERNEL_DISPATCH: u32 = 2;
const BARRIER_AND: u32 = 3;

const BARRIER_BIT: u32 = 1 << 8;
/// Acquire and release at system scope: host memory is read and written.
const SYSTEM_FENCES: u32 = (2 << 9) | (2 << 11);
const AMD_BUFFER: u32 = 1;
const AMD_BARRIER_VALUE: u32 = 2;
const CONDITION_LESS: u32 = 2;
/// The offset of a signal's value.
pub const SIGNAL_VALUE: u64 = 8;

/// One packet of 64 bytes. The first word publishes it and is written last.
#[repr(transparent)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet([u32; 16]);

impl Packet {
    pub fn words(&self) -> &[u32; 16] {
        &self.0
    }

    fn new(header: u32) -> Self {
        let mut words = [0; 16];
        words[0] = header;
        Self(words)
    }

    fn set64(&mut self, byte: usize, value: u64) {
        self.0[byte / 4] = value as u32;
        self.0[byte / 4 + 1] = (value >> 32) as u32;
    }

    fn header(kind: u32, ordered: bool) -> u32 {
        kind | SYSTEM_FENCES | if ordered { BARRIER_BIT } else { 0 }
    }

    /// A one-dimensional dispatch. `ordered` makes it wait for all packets before it.
    pub fn dispatch(dispatch: &Dispatch) -> Self {
        let mut packet = Self::new(Self::header(KERNEL_DISPATCH, dispatch.ordered) | (1 << 16));
        packet.0[1] = u32::from(dispatch.workgroup_size) | (1 << 16);
        packet.0[2] = 1;
        packet.0[3] = dispatch.workgroups * u32::from(dispatch.workgroup_size);
        packet.0[4] = 1;
        packet.0[5] = 1;
        packet.0[6] = dispatch.private_bytes;
        packet.0[7] = dispatch.lds_bytes;
        packet.set64(32, dispatch.kernel_object);
        packet.set64(40, dispatch.kernel_arguments);
        packet.set64(56, dispatch.completion);
        packet
    }

    /// Completes once the packets before it have and all of up to five signals are zero.
    pub fn barrier_and(dependencies: &[u64], completion: u64) -> Self {
        assert!(
            dependencies.len() <= 5,
            "a barrier packet takes five signals"
        );
        let mut packet = Self::new(Self::header(BARRIER_AND, true));
        for (place, &signal) in dependencies.iter().enumerate() {
            packet.set64(8 + 8 * place, signal);
        }
        packet.set64(56, completion);
        packet
    }

    /// Completes once the packets before it have and the signal's value is below `bound`.
    pub fn barrier_below(signal: u64, bound: i64, completion: u64) -> Self {
        let mut packet = Self::new(Self::header(VENDOR_SPECIFIC, true) | (AMD_BARRIER_VALUE << 16));
        packet.set64(8, signal);
        packet.set64(16, bound as u64);
        packet.set64(24, u64::MAX);
        packet.0[8] = CONDITION_LESS;
        packet.set64(56, completion);
        packet
    }

    /// Completes once the packets before it have and the command processor has executed
    /// the words at an address. Nothing in it tells whether those wait.
    pub fn buffer(address: u64, words: u32, completion: u64) -> Self {
        const WORDS_BEHIND: u32 = 10;
        let mut packet = Self::new(Self::header(VENDOR_SPECIFIC, true) | (AMD_BUFFER << 16));
        packet.0[1..5].copy_from_slice(&indirect_buffer(address, words));
        packet.0[5] = WORDS_BEHIND;
        packet.set64(56, completion);
        packet
    }
}

/// Has the command processor execute words at an address.
pub fn indirect_buffer(address: u64, words: u32) -> [u32; 4] {
    const INDIRECT_BUFFER: u32 = 0x3f;
    const VALID: u32 = 1 << 23;
    [
        command(INDIRECT_BUFFER, 3),
        address as u32,
        (address >> 32) as u32,
        words | VALID,
    ]
}

/// Has the command processor write a word.
pub fn write_word(address: u64, value: u32) -> [u32; 5] {
    const WRITE_DATA: u32 = 0x37;
    const TO_MEMORY: u32 = 5 << 8;
    const CONFIRMED: u32 = 1 << 20;
    [
        command(WRITE_DATA, 4),
        TO_MEMORY | CONFIRMED,
        address as u32,
        (address >> 32) as u32,
        value,
    ]
}

/// Has the command processor wait until a word is zero.
pub fn wait_for_zero(address: u64) -> [u32; 7] {
    const WAIT_REG_MEM: u32 = 0x3c;
    const EQUAL: u32 = 3;
    const IN_MEMORY: u32 = 1 << 4;
    const POLL_INTERVAL: u32 = 4;
    [
        command(WAIT_REG_MEM, 6),
        EQUAL | IN_MEMORY,
        address as u32,
        (address >> 32) as u32,
        0,
        u32::MAX,
        POLL_INTERVAL,
    ]
}

/// Sets registers of dispatches, from the one with this number on.
pub fn set_registers(first: u32, values: &[u32]) -> Vec<u32> {
    const SET_SH_REG: u32 = 0x76;
    const COUNTED_FROM: u32 = 0x2c00;
    let mut words = vec![
        command(SET_SH_REG, values.len() as u32 + 1),
        first - COUNTED_FROM,
    ];
    words.extend(values);
    words
}

/// Dispatches so many workgroups along the first axis, as the registers say.
pub fn dispatch_workgroups(count: u32) -> [u32; 5] {
    const DISPATCH_DIRECT: u32 = 0x15;
    const SHADER: u32 = 1;
    const FROM_ZERO: u32 = 1 << 2;
    [command(DISPATCH_DIRECT, 4), count, 1, 1, SHADER | FROM_ZERO]
}

/// Writes a word when the dispatches before it are done, and what they wrote is there.
pub fn write_when_done(address: u64, value: u32) -> [u32; 8] {
    const RELEASE_MEM: u32 = 0x49;
    const END_OF_PIPE: u32 = 0x14 | (5 << 8);
    const WRITE_BACK: u32 = (1 << 15) | (1 << 17);
    const WORD_CONFIRMED: u32 = (1 << 29) | (3 << 24);
    [
        command(RELEASE_MEM, 7),
        END_OF_PIPE | WRITE_BACK,
        WORD_CONFIRMED,
        address as u32,
        (address >> 32) as u32,
        value,
        0,
        0,
    ]
}

/// The header of a packet of the command processor with a number of words behind it.
fn command(opcode: u32, words: u32) -> u32 {
    (3 << 30) | ((words - 1) << 16) | (opcode << 8)
}

pub struct Dispatch {
    pub workgroups: u32,
    pub workgroup_size: u16,
    /// Scratch of an item.
    pub private_bytes: u32,
    pub lds_bytes: u32,
    pub kernel_object: u64,
    pub kernel_arguments: u64,
    pub completion: u64,
    pub ordered: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dispatch_has_its_fields_where_aql_wants_them() {
        let packet = Packet::dispatch(&Dispatch {
            workgroups: 40,
            workgroup_size: 256,
            private_bytes: 208,
            lds_bytes: 1024,
            kernel_object: 0x1122_3344_5566_7788,
            kernel_arguments: 0x99aa_bbcc_ddee_ff00,
            completion: 0x0123_4567_89ab_cdef,
            ordered: true,
        });
        let words = packet.words();
        assert_eq!(words[0] & 0xff, 2);
        assert_eq!((words[0] >> 8) & 1, 1);
        assert_eq!((words[0] >> 9) & 3, 2);
        assert_eq!((words[0] >> 11) & 3, 2);
        assert_eq!(words[0] >> 16, 1, "one dimension");
        assert_eq!(words[1], 256 | (1 << 16));
        assert_eq!(words[2], 1);
        assert_eq!((words[3], words[4], words[5]), (40 * 256, 1, 1));
        assert_eq!((words[6], words[7]), (208, 1024));
        assert_eq!((words[8], words[9]), (0x5566_7788, 0x1122_3344));
        assert_eq!((words[10], words[11]), (0xddee_ff00, 0x99aa_bbcc));
        assert_eq!((words[14], words[15]), (0x89ab_cdef, 0x0123_4567));
    }

    #[test]
    fn an_unordered_dispatch_does_not_wait() {
        let mut dispatch = Dispatch {
            workgroups: 1,
            workgroup_size: 64,
            private_bytes: 0,
            lds_bytes: 0,
            kernel_object: 0,
            kernel_arguments: 0,
            completion: 0,
            ordered: false,
        };
        assert_eq!(Packet::dispatch(&dispatch).words()[0] & BARRIER_BIT, 0);
        dispatch.ordered = true;
        assert_ne!(Packet::dispatch(&dispatch).words()[0] & BARRIER_BIT, 0);
    }

    #[test]
    fn barriers_carry_their_signals() {
        let packet = Packet::barrier_and(&[1, 2, 3, 4, 5], 6);
        assert_eq!(packet.words()[0] & 0xff, 3);
        for place in 0..5 {
            assert_eq!(packet.words()[2 + 2 * place], place as u32 + 1);
        }
        assert_eq!(packet.words()[14], 6);

        let packet = Packet::barrier_below(7, -1, 8);
        assert_eq!(packet.words()[0] & 0xff, 0);
        assert_eq!((packet.words()[0] >> 16) & 0xff, 2);
        assert_eq!(packet.words()[2], 7);
        assert_eq!((packet.words()[4], packet.words()[5]), (u32::MAX, u32::MAX));
        assert_eq!(packet.words()[8], 2);
        assert_eq!(packet.words()[14], 8);
    }

    #[test]
    fn a_buffer_is_told_with_its_length() {
        let packet = Packet::buffer(0x1122_3344_5566_7788, 7, 8);
        let words = packet.words();
        assert_eq!((words[0] & 0xff, (words[0] >> 16) & 0xff), (0, 1));
        assert_eq!(words[1], 0xc002_3f00);
        assert_eq!((words[2], words[3]), (0x5566_7788, 0x1122_3344));
        assert_eq!((words[4], words[5]), (7 | (1 << 23), 10));
        assert_eq!(words[14], 8);

        let wait = wait_for_zero(0x1122_3344_5566_7788);
        assert_eq!(wait[0], 0xc005_3c00);
        assert_eq!(wait[1], 3 | (1 << 4));
        assert_eq!((wait[2], wait[3]), (0x5566_7788, 0x1122_3344));
        assert_eq!((wait[4], wait[5]), (0, u32::MAX));

        let write = write_word(0x1122_3344_5566_7788, 9);
        assert_eq!((write[0], write[1]), (0xc003_3700, (5 << 8) | (1 << 20)));
        assert_eq!(
            (write[2], write[3], write[4]),
            (0x5566_7788, 0x1122_3344, 9)
        );
    }

    #[test]
    fn a_dispatch_by_registers_is_three_packets() {
        let words = set_registers(0x2e07, &[64, 1, 1]);
        assert_eq!(words, [0xc003_7600, 0x207, 64, 1, 1]);
        assert_eq!(dispatch_workgroups(7), [0xc003_1500, 7, 1, 1, 5]);
        let words = write_when_done(0x1_2345_6788, 9);
        assert_eq!(words[0], 0xc006_4900);
        assert_eq!(words[2] >> 29, 1, "32 bits are written");
        assert_eq!(words[3..6], [0x2345_6788, 1, 9]);
    }

    #[test]
    #[should_panic(expected = "five signals")]
    fn a_sixth_dependency_is_refused() {
        Packet::barrier_and(&[0; 6], 0);
    }
}
