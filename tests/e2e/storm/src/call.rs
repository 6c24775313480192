// SPDX-License-Identifier: GPL-2.0-only
//! The ioctls of /dev/kfd, each as the kinds of its arguments. Numbers and places are
//! those of the kernel's kfd_ioctl.h.
#![allow(unsafe_code)]

use std::env;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::LazyLock;

use nix::errno::Errno;
use nix::libc;

/// Whether the driver is never asked for a checkpoint, as on a kernel that would complain of
/// how it makes one (docs/storm.md).
static WITHOUT_CHECKPOINTS: LazyLock<bool> =
    LazyLock::new(|| env::var_os("STORM_WITHOUT_CHECKPOINTS").is_some());

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
    /// `m`: a number of bits in a mask of compute units.
    MaskBits,
    /// `t`: what an attribute of a range is.
    Attribute,
    /// `w`: its value.
    Worth,
    /// `y`: a type of queue.
    QueueType,
    /// `e`: a type of event.
    EventType,
    /// `i`: a queue's percentage, with the die that its PM4 packets are for above it.
    Percentage,
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
            'm' => Kind::MaskBits,
            't' => Kind::Attribute,
            'w' => Kind::Worth,
            'y' => Kind::QueueType,
            'e' => Kind::EventType,
            'i' => Kind::Percentage,
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
    /// The operation that these arguments are for, and its place among them.
    operation: Option<(usize, u32)>,
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
        operation: None,
        weight,
        own,
    }
}

/// An operation of a debugger's: a process, the operation's number, and these arguments.
const fn debug(operation: u32, arguments: &'static str) -> Call {
    Call {
        operation: Some((4, operation)),
        ..call(DEBUG, true, true, arguments, 1, false)
    }
}

pub const CREATE_QUEUE: u8 = 0x02;
pub const DESTROY_QUEUE: u8 = 0x03;
pub const CREATE_EVENT: u8 = 0x08;
pub const ACQUIRE_VM: u8 = 0x15;
pub const ALLOCATE: u8 = 0x16;
pub const MAP: u8 = 0x18;
pub const SMI_EVENTS: u8 = 0x1f;
/// AMDKFD_IOC_SVM.
pub const RANGE: u8 = 0x20;
pub const CHECKPOINT: u8 = 0x22;
pub const EXPORT: u8 = 0x24;
/// AMDKFD_IOC_RUNTIME_ENABLE, which waits for the debugger of who calls it.
pub const RUNTIME: u8 = 0x25;
pub const DEBUG: u8 = 0x26;
pub const CREATE_PROCESS: u8 = 0x27;
pub const PROFILER: u8 = 0x28;
/// The first number that no call has.
pub const AFTER_LAST: u8 = 0x29;
/// KFD_IOC_DBG_TRAP_SUSPEND_QUEUES.
const SUSPEND: u32 = 6;

/// The bits that mean something as flags of memory: what it is, and how it is used.
pub const MEMORY_KINDS: u32 = 0x1f;
pub const MEMORY_USES: u32 = 0xff80_0000;
/// How many types of queues, of events and of attributes of a range there are.
pub const QUEUE_TYPES: u64 = 5;
pub const EVENT_TYPES: u64 = 9;
pub const ATTRIBUTES: u64 = 8;
/// The flags that a range can have.
pub const RANGE_FLAGS: u64 = 0xff;

/// The calls of Linux 7.3; an older driver refuses those that it does not have. Operations of
/// a debugger's follow by themselves, but for the first one, which the first row has among
/// others: each has other arguments.
pub const CALLS: &[Call] = &[
    call(0x01, false, true, "oo", 1, true),
    call(CREATE_QUEUE, true, true, "AAAOzgyinoAZAzznz", 2, true),
    call(DESTROY_QUEUE, true, true, "qo", 3, true),
    call(0x04, true, false, "AZgnnn", 1, true),
    call(0x05, true, true, "OOOOgo", 1, true),
    call(0x06, false, true, APERTURES, 1, true),
    call(0x07, true, false, "Aqzin", 4, true),
    call(CREATE_EVENT, true, true, "Ooengoo", 2, true),
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
    call(ALLOCATE, true, true, "AZOAgf", 6, true),
    call(0x17, true, false, "H", 3, true),
    call(MAP, true, true, "HPno", 5, true),
    call(0x19, true, true, "HPno", 3, true),
    call(0x1a, true, false, "qmP", 4, true),
    // Whether the queue is on the GPU, which is not its process's own doing alone.
    call(0x1b, true, true, "Pooqo", 2, false),
    call(0x1c, true, true, "OPnood", 1, true),
    call(0x1d, true, true, "AOgd", 2, true),
    call(0x1e, true, true, "qnoo", 3, true),
    call(SMI_EVENTS, true, true, "go", 1, true),
    call(RANGE, true, true, "AZnntwtwtw", 6, true),
    call(0x21, true, true, "n", 1, true),
    call(CHECKPOINT, true, true, "PPPZnnnpno", 3, false),
    call(0x23, true, true, "Ogo", 1, true),
    call(EXPORT, true, true, "Hno", 2, true),
    call(RUNTIME, true, true, "Pno", 2, true),
    call(DEBUG, true, true, "pnXPzn", 3, false),
    call(CREATE_PROCESS, false, false, "", 1, true),
    call(PROFILER, true, true, "ngnn", 1, true),
    debug(1, "pnXXX"),
    debug(2, "pnXgqX"),
    debug(3, "pnXXX"),
    debug(4, "pnnxxnX"),
    debug(5, "pnnnXX"),
    debug(SUSPEND, "pnXPnn"),
    debug(7, "pnPnnX"),
    debug(8, "pnAnxgo"),
    debug(9, "pngnXX"),
    debug(10, "pnnnXX"),
    debug(11, "pnXooX"),
    debug(12, "pnPzqnn"),
    debug(13, "pnXPnz"),
    debug(14, "pnXPnz"),
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

    /// The operation that the arguments are for, where others have other arguments.
    #[cfg(test)]
    pub fn operation(&self) -> Option<u32> {
        self.operation.map(|(_, operation)| operation)
    }

    /// The same arguments under another number.
    pub fn under(self, number: u8) -> Call {
        Call { number, ..self }
    }

    /// Has the arguments say for which operation they are.
    pub fn ask_operation(&self, arguments: &mut Arguments) {
        if let Some((place, operation)) = self.operation {
            arguments.set(place, 4, operation.into());
        }
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

    /// The number by which the kernel knows the call, with this size of its arguments.
    pub fn request(&self, bytes: usize) -> u64 {
        const LETTER: u64 = b'K' as u64;
        let (reads, writes) = self.direction;
        let direction = u64::from(reads) | (u64::from(writes) << 1);
        (direction << 30) | ((bytes as u64) << 16) | (LETTER << 8) | u64::from(self.number)
    }

    /// Makes the call. `arguments` may be longer than the call's.
    pub fn make(&self, kfd: &File, arguments: &mut Arguments) -> nix::Result<()> {
        // SAFETY: the driver reads and writes as many bytes as the request says, which are
        // no more than the arguments have; the pointers among them lead to memory of this
        // process that no reference of Rust's leads to, or to none.
        unsafe { request(kfd, self.request(self.bytes()), arguments.0.as_mut_ptr()) }
    }

    /// Makes the call with a size of its arguments that is not theirs, and in a direction that
    /// may not be, too: the driver takes its own direction, and fills up what is missing.
    ///
    /// # Safety
    ///
    /// There is memory for so many bytes at the place, to which no reference of Rust's leads.
    pub unsafe fn make_odd(
        &self,
        kfd: &File,
        at: *mut u8,
        bytes: usize,
        turn: u64,
    ) -> nix::Result<()> {
        let number = self.request(bytes) ^ (turn << 30);
        // SAFETY: the memory is the caller's promise; pointers are as with make().
        unsafe { request(kfd, number, at) }
    }
}

/// Asks KFD for what a number says.
///
/// # Safety
///
/// There is memory for as many bytes as the number says, which the driver may write.
unsafe fn request(kfd: &File, number: u64, arguments: *mut u8) -> nix::Result<()> {
    if *WITHOUT_CHECKPOINTS && number as u8 == CHECKPOINT {
        return Err(Errno::ENOTTY);
    }
    // SAFETY: as the caller promises.
    let result = unsafe { libc::ioctl(kfd.as_raw_fd(), number as libc::Ioctl, arguments) };
    Errno::result(result).map(drop)
}

/// Room for the arguments of any call.
#[derive(Clone, Debug)]
pub struct Arguments([u8; Arguments::BYTES]);

impl Arguments {
    pub const BYTES: usize = 512;
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

    /// All of them, as they lie in memory.
    pub fn bytes(&self) -> &[u8; Arguments::BYTES] {
        &self.0
    }

    /// Whether a call of the debugger's takes queues off the GPU until it gives them back.
    pub fn suspends(&self) -> bool {
        self.get(4, 4) == u64::from(SUSPEND)
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
        let (_, file, _) = kinds[file];
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
