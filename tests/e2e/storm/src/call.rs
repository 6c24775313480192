// SPDX-License-Identifier: GPL-2.0-only
//! The ioctls of /dev/kfd, each as the kinds of its arguments. Numbers and places are
//! those of the kernel's kfd_ioctl.h.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;

/// What an argument is: a letter of [`Call::arguments`], whose case is its size, eight
/// bytes or four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `o`, `O`: what the driver fills in.
    Answer,
    /// `g`: a GPU's number.
    Gpu,
    /// `q`: a queue's.
    Queue,
    /// `v`: an event's.
    Event,
    /// `H`: a handle of memory.
    Handle,
    /// `A`: an address.
    Address,
    /// `Z`, `z`: a size in bytes.
    Size,
    /// `P`: the address of the buffer.
    Buffer,
    /// `n`: a small number.
    Small,
    /// `f`: flags of memory.
    Flags,
    /// `d`: a file descriptor of exported memory.
    Export,
    /// `r`: the file descriptor of the render node.
    RenderNode,
    /// `p`: a process.
    Process,
    /// `x`, `X`: anything.
    Anything,
}

impl Kind {
    fn of(letter: char) -> (Kind, usize) {
        let kind = match letter.to_ascii_lowercase() {
            'o' => Kind::Answer,
            'g' => Kind::Gpu,
            'q' => Kind::Queue,
            'v' => Kind::Event,
            'h' => Kind::Handle,
            'a' => Kind::Address,
            'z' => Kind::Size,
            'p' if letter == 'P' => Kind::Buffer,
            'p' => Kind::Process,
            'n' => Kind::Small,
            'f' => Kind::Flags,
            'd' => Kind::Export,
            'r' => Kind::RenderNode,
            _ => Kind::Anything,
        };
        (kind, if letter.is_ascii_uppercase() { 8 } else { 4 })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    pub number: u8,
    /// Whether the driver reads and writes the arguments.
    direction: (bool, bool),
    arguments: &'static str,
    /// How much more often than others it is made.
    pub weight: u32,
    /// Whether what it returns is decided by what its own process did.
    pub own: bool,
}

const fn call(
    number: u8,
    reads: bool,
    writes: bool,
    arguments: &'static str,
    weight: u32,
    own: bool,
) -> Call {
    Call {
        number,
        direction: (reads, writes),
        arguments,
        weight,
        own,
    }
}

pub const CREATE_QUEUE: u8 = 0x02;
pub const DESTROY_QUEUE: u8 = 0x03;
pub const CREATE_EVENT: u8 = 0x08;
pub const ACQUIRE_VM: u8 = 0x15;
pub const ALLOCATE: u8 = 0x16;
pub const MAP: u8 = 0x18;
pub const SMI_EVENTS: u8 = 0x1f;
pub const CHECKPOINT: u8 = 0x22;
pub const EXPORT: u8 = 0x24;
/// AMDKFD_IOC_RUNTIME_ENABLE, which waits for the debugger of who calls it.
pub const RUNTIME: u8 = 0x25;
pub const DEBUG: u8 = 0x26;
pub const CREATE_PROCESS: u8 = 0x27;
pub const PROFILER: u8 = 0x28;

/// The calls of Linux 7.3; an older driver refuses those that it does not have.
pub const CALLS: &[Call] = &[
    call(0x01, false, true, "oo", 1, true),
    call(CREATE_QUEUE, true, true, "AAAOzgnnnoAZAzznz", 2, true),
    call(DESTROY_QUEUE, true, true, "qo", 3, true),
    call(0x04, true, false, "AZgnnn", 1, true),
    call(0x05, true, true, "OOOOgo", 1, true),
    call(0x06, false, true, APERTURES, 1, true),
    call(0x07, true, false, "Aqznn", 4, true),
    call(CREATE_EVENT, true, true, "Onnnooo", 2, true),
    call(0x09, true, false, "vo", 1, true),
    call(0x0a, true, false, "vo", 1, true),
    call(0x0b, true, false, "vo", 1, true),
    call(0x0c, true, true, "Pnnno", 1, false),
    call(0x0d, true, false, "go", 1, true),
    call(0x0e, true, false, "go", 1, true),
    call(0x0f, true, false, "Pgn", 1, true),
    call(0x10, true, false, "Pgn", 1, true),
    call(0x11, true, true, "Ago", 1, true),
    call(0x12, true, true, "PPnngooo", 1, true),
    call(0x13, true, false, "AAgo", 1, true),
    call(0x14, true, true, "Pno", 1, true),
    call(ACQUIRE_VM, true, false, "rg", 1, true),
    call(ALLOCATE, true, true, "AZOOgf", 6, true),
    call(0x17, true, false, "H", 3, true),
    call(MAP, true, true, "HPno", 5, true),
    call(0x19, true, true, "HPno", 3, true),
    call(0x1a, true, false, "qnP", 4, true),
    // Whether the queue is on the GPU, which is not its process's own doing alone.
    call(0x1b, true, true, "Pooqo", 2, false),
    call(0x1c, true, true, "OPnood", 1, true),
    call(0x1d, true, true, "AOgd", 2, true),
    call(0x1e, true, true, "qnoo", 3, true),
    call(SMI_EVENTS, true, true, "go", 1, true),
    call(0x20, true, true, "AZnnnnnnnn", 6, true),
    call(0x21, true, true, "n", 1, true),
    call(CHECKPOINT, true, true, "PPPZnnnpno", 3, false),
    call(0x23, true, true, "Ogo", 1, true),
    call(EXPORT, true, true, "Hno", 2, true),
    call(RUNTIME, true, true, "Pno", 2, true),
    call(DEBUG, true, true, "pnPnnX", 6, false),
    call(CREATE_PROCESS, false, false, "", 1, true),
    call(PROFILER, true, true, "ngnn", 1, true),
];

/// Seven devices with eight words each, and how many there are.
const APERTURES: &str = "OOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOOoo";

impl Call {
    pub fn by_number(number: u8) -> Call {
        *CALLS
            .iter()
            .find(|call| call.number == number)
            .expect("the numbers of this program are in the table")
    }

    /// The arguments in their order, with their places and sizes.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, usize, usize)> + '_ {
        let mut place = 0;
        self.arguments.chars().map(move |letter| {
            let (kind, bytes) = Kind::of(letter);
            let at = place;
            place += bytes;
            (kind, at, bytes)
        })
    }

    pub fn bytes(&self) -> usize {
        self.kinds().map(|(_, _, bytes)| bytes).sum()
    }

    /// Makes the call. `arguments` may be longer than the call's.
    pub fn make(&self, kfd: &File, arguments: &mut Arguments) -> nix::Result<()> {
        const LETTER: u64 = b'K' as u64;
        let (reads, writes) = self.direction;
        let direction = u64::from(reads) | (u64::from(writes) << 1);
        let request = (direction << 30)
            | ((self.bytes() as u64) << 16)
            | (LETTER << 8)
            | u64::from(self.number);
        // SAFETY: the driver reads and writes as many bytes as the request says, which are
        // no more than the arguments have; the pointers among them lead to memory of this
        // process that no reference of Rust's leads to, or to none.
        let result = unsafe {
            libc::ioctl(
                kfd.as_raw_fd(),
                request as libc::Ioctl,
                arguments.0.as_mut_ptr(),
            )
        };
        Errno::result(result).map(drop)
    }
}

/// Room for the arguments of any call.
#[derive(Clone, Debug)]
pub struct Arguments([u8; Arguments::BYTES]);

impl Arguments {
    const BYTES: usize = 512;
    /// Where an allocation has its flags.
    const FLAGS: usize = 36;
    /// KFD_IOC_ALLOC_MEM_FLAGS: USERPTR, DOORBELL, MMIO_REMAP, AQL_QUEUE_MEM.
    const USER: u64 = 1 << 2;
    const DOORBELL: u64 = 1 << 3;
    const REGISTERS: u64 = 1 << 4;
    const TWICE: u64 = 1 << 27;

    pub fn new() -> Arguments {
        Arguments([0; Arguments::BYTES])
    }

    /// The words one after the other, of four bytes and of eight.
    pub fn of(words: &[Word]) -> Arguments {
        let mut arguments = Arguments::new();
        let mut place = 0;
        for word in words {
            let (value, bytes) = match *word {
                Word::Four(value) => (u64::from(value), 4),
                Word::Eight(value) => (value, 8),
            };
            arguments.set(place, bytes, value);
            place += bytes;
        }
        arguments
    }

    pub fn set(&mut self, place: usize, bytes: usize, value: u64) {
        self.0[place..place + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    pub fn get(&self, place: usize, bytes: usize) -> u64 {
        let mut value = [0; 8];
        value[..bytes].copy_from_slice(&self.0[place..place + bytes]);
        u64::from_le_bytes(value)
    }

    /// Whether an allocation is of memory that the process has already.
    pub fn has_own_memory(&self) -> bool {
        self.get(Self::FLAGS, 4) & Self::USER != 0
    }

    /// Whether an allocation is of registers, for which the driver makes a table of its own.
    pub fn has_registers(&self) -> bool {
        self.get(Self::FLAGS, 4) & (Self::DOORBELL | Self::REGISTERS) != 0
    }

    /// Changes an allocation that would map doorbells twice in a row, as if they were a
    /// queue's ring: the driver warns of it by itself (docs/storm.md).
    pub fn spare_doorbells(&mut self) {
        let flags = self.get(Self::FLAGS, 4);
        if flags & Self::DOORBELL != 0 {
            self.set(Self::FLAGS, 4, flags & !Self::TWICE);
        }
    }

    /// Has a call to the profiler ask for its version instead of counting the events of all
    /// queues, by which root locks the driver out of them for ever (docs/storm.md).
    pub fn spare_queues(&mut self) {
        /// KFD_IOC_PROFILER_PMC, KFD_IOC_PROFILER_VERSION.
        const COUNT: u64 = 0;
        const VERSION: u64 = 2;
        if self.get(0, 4) == COUNT {
            self.set(0, 4, VERSION);
        }
    }

    /// Whether a call of the debugger's begins to debug a process.
    pub fn begins_debugging(&self) -> bool {
        const OPERATION: usize = 4;
        /// KFD_IOC_DBG_TRAP_ENABLE.
        const ENABLE: u64 = 0;
        self.get(OPERATION, 4) == ENABLE
    }

    /// Has a call that begins to debug write its events to this file, unless it names one
    /// that nobody has opened: the driver writes to any, and the kernel warns of one that
    /// is not open for writing (docs/storm.md).
    pub fn spare_files(&mut self, events: u32) {
        const FILE: usize = 28;
        const OPEN: u64 = 1024;
        if self.begins_debugging() && self.get(FILE, 4) < OPEN {
            self.set(FILE, 4, events.into());
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Word {
    Four(u32),
    Eight(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sizes_are_those_of_the_kernel_s_header() {
        let sizes: Vec<(u8, usize)> = CALLS
            .iter()
            .map(|call| (call.number, call.bytes()))
            .collect();
        assert_eq!(
            sizes,
            [
                (0x01, 8),
                (0x02, 96),
                (0x03, 8),
                (0x04, 32),
                (0x05, 40),
                (0x06, 400),
                (0x07, 24),
                (0x08, 32),
                (0x09, 8),
                (0x0a, 8),
                (0x0b, 8),
                (0x0c, 24),
                (0x0d, 8),
                (0x0e, 8),
                (0x0f, 16),
                (0x10, 16),
                (0x11, 16),
                (0x12, 40),
                (0x13, 24),
                (0x14, 16),
                (0x15, 8),
                (0x16, 40),
                (0x17, 8),
                (0x18, 24),
                (0x19, 24),
                (0x1a, 16),
                (0x1b, 24),
                (0x1c, 32),
                (0x1d, 24),
                (0x1e, 16),
                (0x1f, 8),
                (0x20, 48),
                (0x21, 4),
                (0x22, 56),
                (0x23, 16),
                (0x24, 16),
                (0x25, 16),
                (0x26, 32),
                (0x27, 0),
                (0x28, 16),
            ]
        );
    }

    #[test]
    fn arguments_lie_where_they_are_set() {
        let mut arguments = Arguments::of(&[Word::Eight(u64::MAX), Word::Four(7), Word::Four(9)]);
        assert_eq!(
            (
                arguments.get(0, 8),
                arguments.get(8, 4),
                arguments.get(12, 4)
            ),
            (u64::MAX, 7, 9)
        );
        arguments.set(8, 4, u64::MAX);
        assert_eq!(
            (arguments.get(8, 4), arguments.get(12, 4)),
            (0xffff_ffff, 9)
        );
    }

    #[test]
    fn doorbells_alone_are_never_mapped_twice() {
        let allocate = Call::by_number(ALLOCATE);
        let (_, place, bytes) = allocate
            .kinds()
            .find(|(kind, ..)| *kind == Kind::Flags)
            .unwrap();
        for (flags, left) in [
            (0x0800_0008, 0x0000_0008),
            (0x8800_0008, 0x8000_0008),
            (0x0800_0002, 0x0800_0002),
            (0x8000_0008, 0x8000_0008),
        ] {
            let mut arguments = Arguments::new();
            arguments.set(place, bytes, flags);
            arguments.spare_doorbells();
            assert_eq!(arguments.get(place, bytes), left);
        }
    }

    #[test]
    fn nobody_has_the_profiler_count() {
        for (asked, left) in [(0, 2), (2, 2), (3, 3), (u64::MAX, 0xffff_ffff)] {
            let mut arguments = Arguments::new();
            arguments.set(0, 4, asked);
            arguments.spare_queues();
            assert_eq!(arguments.get(0, 4), left);
        }
    }

    #[test]
    fn events_of_a_debugger_go_where_they_may_be_written() {
        let (operation, file) = (1, 5);
        let kinds: Vec<_> = Call::by_number(DEBUG).kinds().collect();
        let (_, operation, _) = kinds[operation];
        let (_, last, bytes) = kinds[file];
        let file = last + bytes / 2;
        for (asked, named, expected) in [(0, 0, 9), (0, 1023, 9), (0, 1024, 1024), (1, 3, 3)] {
            let mut arguments = Arguments::new();
            arguments.set(operation, 4, asked);
            arguments.set(file, 4, named);
            arguments.spare_files(9);
            assert_eq!(arguments.get(file, 4), expected, "{asked} {named}");
        }
    }

    #[test]
    fn a_call_that_no_file_takes_fails() {
        let file = File::open("/dev/null").unwrap();
        let call = Call::by_number(0x05);
        assert_eq!(call.make(&file, &mut Arguments::new()), Err(Errno::ENOTTY));
    }
}
