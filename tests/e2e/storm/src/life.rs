// SPDX-License-Identifier: GPL-2.0-only
//! A life: one process that makes calls at random until its steps are over or somebody
//! ends it. What it does follows from its numbers alone, and from what its own calls
//! returned. All of it is in one file because each step chooses by what the others have left.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::Read;
use std::num::NonZeroUsize;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use e2e_storm::random::Random;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::libc;
use nix::sys::mman::{mmap, mmap_anonymous, munmap, MapFlags, ProtFlags};
use nix::sys::wait::waitpid;
use nix::unistd::{
    fork, getpid, pipe2, setgroups, setresgid, setresuid, ForkResult, Gid, Pid, Uid,
};

use crate::call::{self, Arguments, Call, Kind, Word, CALLS};
use crate::gpu::Gpu;
use crate::heir;
use crate::transcript::Transcript;

mod debugger;
mod image;
mod rivals;

const PAGE: u64 = 4096;
const RING_BYTES: u64 = 1 << 14;
/// The arena from which addresses are taken, all of it ordinary memory at first.
const ARENA: u64 = 16 << 20;
/// Where it and the buffer are: as far from each other, and from all that a life itself
/// needs, as a range of memory can be long that begins there, since the driver may move what
/// such a range has, and as answers can be apart, which the driver writes one after the other
/// at distances that it is told.
const ARENA_AT: u64 = 1 << 44;
const BUFFER_AT: u64 = ARENA_AT + (1 << 42);
const BUFFER: u64 = 1 << 16;
/// KFD_IOC_ALLOC_MEM_FLAGS: GTT, writable, executable.
const SHARED: u32 = (1 << 1) | (1 << 31) | (1 << 30);
const NOBODY: u32 = 65534;
/// No process has so many queues.
const NO_QUEUE: u64 = 4000;
/// KFD_IOC_QUEUE_TYPE: AQL, and the one of PM4 packets.
const AQL: u64 = 2;
const PM4: u64 = 0;
/// How long work that nothing is in the way of may take in a guest that crawls.
const PATIENCE: Duration = Duration::from_secs(240);

/// Why a life could not go on by itself; anything else is part of the storm.
pub const STUCK: i32 = 3;

pub struct Life {
    random: Random,
    gpu: Gpu,
    kfd: File,
    render_node: File,
    transcript: Transcript,
    arena: u64,
    arena_used: u64,
    buffer: u64,
    save_area: u64,
    queues: Vec<u64>,
    /// Queues that are given work, and that nothing else touches.
    working: Vec<Working>,
    events: Vec<u64>,
    handles: Vec<u64>,
    /// Handles that are never exported: the driver frees their tables once for each import
    /// (docs/storm.md).
    kept: Vec<u64>,
    exports: Vec<u64>,
    others: Vec<File>,
    /// Where a debugger's events go, the end to read from first. Nobody reads them.
    events_of_debugger: (OwnedFd, OwnedFd),
    /// Whether it debugs itself.
    debugged: bool,
    /// Whether it stays the program that it is, since it has something that the driver ends
    /// wrongly otherwise (docs/storm.md).
    stays: bool,
    /// Whether it may have stopped its own queues, as a checkpoint and a debugger do.
    paused: bool,
    /// Whether a debugger has taken queues off the GPU: who destroys one waits for it.
    suspended: bool,
}

/// A queue of barrier packets: each moves the read pointer and does nothing else.
struct Working {
    id: u64,
    ring: u64,
    write_pointer: u64,
    read_pointer: u64,
    doorbell: u64,
    packets: u32,
}

impl Life {
    /// Begins one, as root or as nobody in particular.
    pub fn new(gpu: &Gpu, mut random: Random, transcript: Transcript) -> Result<Life> {
        if random.one_in(2) && Uid::effective().is_root() {
            setgroups(&[])?;
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            setresgid(group, group, group)?;
            setresuid(user, user, user)?;
        }
        let arena = anonymous_at(Some(ARENA_AT), ARENA)?;
        let buffer = anonymous_at(Some(BUFFER_AT), BUFFER)?;
        Ok(Life {
            random,
            gpu: gpu.clone(),
            kfd: open("/dev/kfd")?,
            render_node: open(&gpu.render_node.to_string_lossy())?,
            transcript,
            arena,
            arena_used: 0,
            buffer,
            save_area: 0,
            queues: Vec::new(),
            working: Vec::new(),
            events: Vec::new(),
            handles: Vec::new(),
            kept: Vec::new(),
            exports: Vec::new(),
            others: Vec::new(),
            events_of_debugger: pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?,
            debugged: false,
            stays: false,
            paused: false,
            suspended: false,
        })
    }

    /// Lives for so many steps. Returns the status to exit with, unless the process becomes
    /// another program, which has its own life and leaves work undone.
    pub fn live(mut self, steps: u64) -> i32 {
        if self.acquire().is_err() {
            return 0;
        }
        if self.random.one_in(8) {
            self.be_ready_for_debugger();
        }
        for _ in 0..steps {
            match self.random.below(64) {
                0..4 => self.good_memory(),
                4..8 => self.good_queue(),
                8..12 => self.submit(),
                12..16 => self.unusual(),
                16 => self.race(),
                17 => self.checkpoint(),
                // A process that is debugged is not waited for.
                18 if self.random.one_in(4) => self.debug(),
                _ => self.any_call(),
            }
        }
        if self.random.one_in(4) && !self.stays {
            heir::exec(&self.gpu.program, self.random.number());
        }
        if self.finish_work() {
            0
        } else {
            STUCK
        }
    }

    /// Gives the process an address space on the GPU.
    fn acquire(&mut self) -> nix::Result<()> {
        let node = self.render_node.as_raw_fd() as u32;
        let mut arguments = Arguments::of(&[Word::Four(node), Word::Four(self.gpu.id)]);
        self.make(Call::by_number(call::ACQUIRE_VM), &mut arguments)
    }

    /// Makes a call and notes what it returned.
    fn make(&mut self, call: Call, arguments: &mut Arguments) -> nix::Result<()> {
        let result = call.make(&self.kfd, arguments);
        self.stays |= result.is_ok() && binds(call, arguments);
        self.note(call, result);
        result
    }

    fn note(&self, call: Call, result: nix::Result<()>) {
        match result {
            _ if !call.own => {}
            Err(error) if is_for_others(call, error) => self.transcript.close(),
            Ok(()) => self.transcript.note(u16::from(call.number) << 8),
            Err(error) => {
                let error = error as i32 as u16 & 0xff;
                self.transcript.note((u16::from(call.number) << 8) | error);
            }
        }
    }

    /// One call with arguments of which some make sense.
    fn any_call(&mut self) {
        let total: u32 = CALLS.iter().map(|call| call.weight).sum();
        let mut left = self.random.below(u64::from(total)) as u32;
        let call = *CALLS
            .iter()
            .find(|call| {
                let found = left < call.weight;
                left = left.saturating_sub(call.weight);
                found
            })
            .expect("the weights add up");
        self.fill_buffer();
        let mut arguments = Arguments::new();
        let kinds: Vec<_> = call.kinds().collect();
        for (kind, place, bytes) in kinds {
            let value = match self.value(kind) {
                id if kind == Kind::Queue && self.works(id) => NO_QUEUE,
                value => value,
            };
            arguments.set(place, bytes, value);
        }
        if !self.random.one_in(12) {
            call.ask_operation(&mut arguments);
        }
        self.spare(call, &mut arguments);
        match call.number {
            call::EXPORT if self.kept.contains(&arguments.get(0, 8)) => return,
            // It would wait for an answer of its own.
            call::RUNTIME if self.debugged => return self.transcript.close(),
            // It would wait until it has let the queue go on itself.
            call::DESTROY_QUEUE if self.suspended => return self.transcript.close(),
            _ => {}
        }
        if self.random.one_in(16) && self.may_be_odd(call) {
            return self.odd_call(call, &arguments);
        }
        let result = self.make(call, &mut arguments);
        self.paused |= pauses(call, &arguments, result);
        self.suspended |= call.number == call::DEBUG && result.is_ok() && arguments.suspends();
        self.debugged |=
            call.number == call::DEBUG && result.is_ok() && arguments.begins_debugging();
        if result.is_ok() {
            self.keep(call, &arguments);
        }
    }

    /// Leaves out of arguments what the stock driver does something wrong with by itself
    /// (docs/storm.md).
    fn spare(&self, call: Call, arguments: &mut Arguments) {
        match call.number {
            call::ALLOCATE => arguments.spare_doorbells(),
            call::PROFILER => arguments.spare_queues(),
            call::DEBUG => {
                let (_, events) = &self.events_of_debugger;
                arguments.spare_files(events.as_raw_fd() as u32);
            }
            _ => {}
        }
    }

    /// Whether a call may be made with a wrong size: what is missing of its arguments is 0,
    /// by which it may be about a queue that is given work, and begins to debug.
    fn may_be_odd(&self, call: Call) -> bool {
        let about_queue = call.kinds().any(|(kind, ..)| kind == Kind::Queue);
        call.number != call::DEBUG && (!about_queue || self.working.is_empty())
    }

    /// A call with a size of its arguments that is too small or too large, and now and then
    /// with another direction; or one with a number that no call has.
    fn odd_call(&mut self, call: Call, arguments: &Arguments) {
        const MORE: &[usize] = &[0, 4, 8, 24, 128, 132, 512, (1 << 14) - 1];
        let random = &mut self.random;
        let number = match random.below(8) {
            0 => random
                .of(&[0, call::AFTER_LAST, 0x40, 0x80, 0xff])
                .unwrap_or(0),
            _ => call.number,
        };
        let odd = call.under(number);
        let bytes = match random.of(MORE) {
            Some(more) if random.one_in(2) => (call.bytes() + more).min((1 << 14) - 1),
            Some(bytes) => bytes,
            None => 0,
        };
        let turn = if random.one_in(4) { random.below(4) } else { 0 };
        let at = self.buffer + BUFFER / 2;
        for (index, &byte) in arguments.bytes().iter().enumerate() {
            // SAFETY: half of the buffer is longer than the arguments, and no reference of
            // Rust's leads to a byte of it while they are written.
            unsafe { (at as *mut u8).add(index).write_volatile(byte) };
        }
        // SAFETY: the other half of the buffer has more bytes than any size says.
        let result = unsafe { odd.make_odd(&self.kfd, at as *mut u8, bytes, turn) };
        // What it has made has a number that is not known.
        self.stays |= result.is_ok() && binds(odd, arguments);
        self.paused |= pauses(odd, arguments, result);
        self.note(odd, result);
    }

    /// Whether a queue is one that is given work. The driver sees 32 bits of a number.
    fn works(&self, id: u64) -> bool {
        self.working
            .iter()
            .any(|queue| queue.id == id & 0xffff_ffff)
    }

    /// Remembers what a call that succeeded has made.
    fn keep(&mut self, call: Call, arguments: &Arguments) {
        match call.number {
            call::CREATE_QUEUE => self.queues.push(arguments.get(52, 4)),
            call::CREATE_EVENT => self.events.push(arguments.get(24, 4)),
            call::ALLOCATE => {
                let handle = arguments.get(16, 8);
                self.handles.push(handle);
                if arguments.has_registers() {
                    self.kept.push(handle);
                }
            }
            call::EXPORT => self.exports.push(arguments.get(12, 4)),
            call::SMI_EVENTS => self.watch(arguments.get(4, 4) as i32),
            _ => {}
        }
    }

    /// Asks for all events that the driver tells of, and reads what there is.
    fn watch(&mut self, descriptor: i32) {
        // SAFETY: the driver has just made the descriptor for this process alone.
        let mut events = unsafe { File::from_raw_fd(descriptor) };
        let _ = std::io::Write::write(&mut events, &u64::MAX.to_le_bytes());
        // SAFETY: it changes a flag of a file that is open.
        unsafe { libc::fcntl(descriptor, libc::F_SETFL, libc::O_NONBLOCK) };
        let _ = events.read(&mut [0; 512]);
        self.others.push(events);
    }

    fn value(&mut self, kind: Kind) -> u64 {
        const SIZES: &[u64] = &[
            0,
            1,
            4096,
            8192,
            65536,
            1 << 20,
            2 << 20,
            64 << 20,
            1 << 40,
            !0,
            !4095,
        ];
        const ADDRESSES: &[u64] = &[0, 1, 4096, 1 << 32, 1 << 47, 1 << 48, !0, !4095];
        let random = &mut self.random;
        // Now and then the right thing is not what is given.
        if random.one_in(12) {
            return match random.below(3) {
                0 => 0,
                1 => random.number(),
                _ => u64::MAX,
            };
        }
        let known = |random: &mut Random, all: &[u64]| random.of(all).unwrap_or(random.below(4));
        match kind {
            Kind::Answer => 0,
            Kind::Gpu => u64::from(self.gpu.id),
            Kind::Queue => known(random, &self.queues),
            Kind::Event => known(random, &self.events),
            Kind::Handle => known(random, &self.handles),
            Kind::Export => known(random, &self.exports),
            Kind::RenderNode => self.render_node.as_raw_fd() as u64,
            Kind::Address if random.one_in(8) => random.of(ADDRESSES).unwrap_or(0),
            Kind::Address => self.arena + random.below(ARENA / PAGE) * PAGE,
            Kind::Size if random.one_in(8) => random.of(SIZES).unwrap_or(0),
            Kind::Size => (1 + random.below(64)) * PAGE,
            Kind::Buffer => self.buffer,
            Kind::Small if random.one_in(4) => random.below(128),
            Kind::Small => random.below(12),
            Kind::Flags => {
                let uses = random.number() & u64::from(call::MEMORY_USES);
                match random.below(16) {
                    0 => uses | (random.number() & u64::from(call::MEMORY_KINDS)),
                    1 => random.number() & 0xffff_ffff,
                    _ => uses | (1 << random.below(u64::from(call::MEMORY_KINDS.count_ones()))),
                }
            }
            Kind::MaskBits => 32 * random.below(40),
            Kind::Attribute => random.below(call::ATTRIBUTES + 1),
            Kind::Worth => match random.below(4) {
                0 => random.below(call::RANGE_FLAGS + 1),
                // KFD_IOCTL_SVM_LOCATION_SYSMEM, KFD_IOCTL_SVM_LOCATION_UNDEFINED.
                1 => random.of(&[0, 0xffff_ffff]).unwrap_or(0),
                _ => u64::from(self.gpu.id),
            },
            Kind::QueueType => random.below(call::QUEUE_TYPES + 1),
            Kind::EventType => random.below(call::EVENT_TYPES + 1),
            Kind::Percentage if random.one_in(4) => random.below(1 << 16),
            Kind::Percentage => random.below(101),
            Kind::Process => getpid().as_raw() as u64,
            Kind::Anything => random.number() >> random.below(64),
        }
    }

    /// Fills the buffer with numbers that calls look for where a pointer leads.
    fn fill_buffer(&mut self) {
        let first = if self.random.one_in(4) {
            self.random.below(64)
        } else {
            u64::from(self.gpu.id)
        };
        for index in 0..64 {
            let word = match index % 4 {
                0 => first,
                1 => self.value(Kind::Event),
                2 => self.value(Kind::Queue),
                _ => self.random.below(64),
            };
            word_at(self.buffer + index * 4).store(word as u32, Ordering::Relaxed);
        }
    }

    /// A piece of the arena that nothing else is in; none when it is used up.
    fn piece(&mut self, bytes: u64) -> Option<u64> {
        let at = self.arena_used;
        self.arena_used = at.checked_add(bytes).filter(|&end| end <= ARENA / 2)?;
        Some(self.arena + at)
    }

    /// Memory of the GPU at an address, mapped; with its offset in the render node.
    fn allocate(&mut self, address: u64, bytes: u64, flags: u32) -> Option<(u64, u64)> {
        let offset = if flags & (1 << 2) != 0 { address } else { 0 };
        let mut arguments = Arguments::of(&[
            Word::Eight(address),
            Word::Eight(bytes),
            Word::Eight(0),
            Word::Eight(offset),
            Word::Four(self.gpu.id),
            Word::Four(flags),
        ]);
        self.make(Call::by_number(call::ALLOCATE), &mut arguments)
            .ok()?;
        let (handle, offset) = (arguments.get(16, 8), arguments.get(24, 8));
        word_at(self.buffer).store(self.gpu.id, Ordering::Relaxed);
        let mut map = Arguments::of(&[
            Word::Eight(handle),
            Word::Eight(self.buffer),
            Word::Four(1),
            Word::Four(0),
        ]);
        self.make(Call::by_number(call::MAP), &mut map).ok()?;
        Some((handle, offset))
    }

    /// Memory of some kind that the driver takes, of all sizes up to what there is.
    fn good_memory(&mut self) {
        const VRAM: u32 = 1;
        const GTT: u32 = 1 << 1;
        const USER: u32 = 1 << 2;
        let kind = self.random.of(&[VRAM, VRAM, GTT, USER]).unwrap_or(VRAM);
        let pages = 1 << self.random.below(8);
        let large = kind == VRAM && self.random.one_in(4);
        let (address, bytes) = if large {
            // At an address where nothing is, and perhaps more than there is.
            let bytes = (8 << 20) << self.random.below(5);
            match anonymous(bytes) {
                Ok(address) => (Some(address), bytes),
                Err(_) => return,
            }
        } else {
            (self.piece(pages * PAGE), pages * PAGE)
        };
        let Some(address) = address else { return };
        if let Some((handle, _)) = self.allocate(address, bytes, kind | (1 << 31) | (1 << 30)) {
            self.handles.push(handle);
        }
    }

    /// Memory that the GPU and this process see at the same place, which stays as it is.
    fn shared(&mut self, bytes: u64) -> Option<u64> {
        let address = anonymous(bytes).ok()?;
        let (_, offset) = self.allocate(address, bytes, SHARED)?;
        let length = NonZeroUsize::new(bytes as usize)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        let place = NonZeroUsize::new(address as usize);
        // SAFETY: what is replaced is the memory just made, which nothing refers to.
        unsafe {
            mmap(
                place,
                length,
                access,
                flags,
                &self.render_node,
                offset as libc::off_t,
            )
        }
        .ok()?;
        Some(address)
    }

    /// A queue that the driver makes, of any kind.
    fn good_queue(&mut self) {
        let kind = self
            .random
            .of(&[AQL, AQL, AQL, PM4, 1, 3, 4])
            .unwrap_or(AQL);
        let percentage = self.random.of(&[100, 100, 100, 0, 1]).unwrap_or(100);
        let priority = self.random.below(16);
        let works = kind == AQL && percentage == 100 && self.random.one_in(2);
        if self.save_area == 0 {
            let bytes = self.gpu.whole_save_area_bytes;
            let Ok(address) = anonymous(bytes) else {
                return;
            };
            if self.allocate(address, bytes, SHARED).is_none() {
                return;
            }
            self.save_area = address;
        }
        let areas = (
            self.shared(RING_BYTES),
            self.shared(PAGE),
            self.shared(PAGE),
        );
        let (Some(ring), Some(write_pointer), Some(read_pointer)) = areas else {
            return;
        };
        let eop = if kind == AQL || kind == PM4 {
            self.shared(PAGE)
        } else {
            Some(0)
        };
        let Some(eop) = eop else { return };
        let compute = u64::from(eop != 0);
        let mut arguments = Arguments::of(&[
            Word::Eight(ring),
            Word::Eight(write_pointer),
            Word::Eight(read_pointer),
            Word::Eight(0),
            Word::Four(RING_BYTES as u32),
            Word::Four(self.gpu.id),
            Word::Four(kind as u32),
            Word::Four(percentage as u32),
            Word::Four(priority as u32),
            Word::Four(0),
            Word::Eight(eop),
            Word::Eight(compute * PAGE),
            Word::Eight(compute * self.save_area),
            Word::Four((compute * self.gpu.save_area_bytes) as u32),
            Word::Four((compute * self.gpu.control_stack_bytes) as u32),
            Word::Four(self.random.below(4) as u32),
            Word::Four(0),
        ]);
        if self
            .make(Call::by_number(call::CREATE_QUEUE), &mut arguments)
            .is_err()
        {
            return;
        }
        if !works {
            self.queues.push(arguments.get(52, 4));
            return;
        }
        if let Some(doorbell) = self.map_doorbell(arguments.get(24, 8)) {
            self.working.push(Working {
                id: arguments.get(52, 4),
                ring,
                write_pointer,
                read_pointer,
                doorbell,
                packets: 0,
            });
        }
    }

    fn map_doorbell(&self, offset: u64) -> Option<u64> {
        const SLICE: u64 = 2 * PAGE;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let place = (offset & !(SLICE - 1)) as libc::off_t;
        let length = NonZeroUsize::new(SLICE as usize)?;
        // SAFETY: new memory, at an address that the kernel chooses.
        let page = unsafe { mmap(None, length, access, MapFlags::MAP_SHARED, &self.kfd, place) };
        Some(page.ok()?.as_ptr() as u64 + offset % SLICE)
    }

    /// Gives a queue work of which it is known when it is done.
    fn submit(&mut self) {
        const BARRIER: u32 = 3 | (1 << 8);
        const PACKET: u64 = 64;
        let count = 1 + self.random.below(40) as u32;
        let all = self.working.len() as u64;
        if all == 0 {
            return;
        }
        let queue = &mut self.working[self.random.below(all) as usize];
        // What has been taken up may be written over.
        if queue.packets + count - word_at(queue.read_pointer).load(Ordering::Acquire)
            > (RING_BYTES / PACKET) as u32
        {
            return;
        }
        for index in queue.packets..queue.packets + count {
            let packet = queue.ring + u64::from(index) * PACKET % RING_BYTES;
            word_at(packet).store(BARRIER, Ordering::Release);
        }
        queue.packets += count;
        word_at(queue.write_pointer).store(queue.packets, Ordering::Release);
        word_at(queue.doorbell).store(queue.packets - 1, Ordering::Release);
    }

    /// Waits for all work. Only a process whose queues nothing was done to may say that
    /// it never ends.
    fn finish_work(&mut self) -> bool {
        if self.paused {
            return true;
        }
        // The driver lets a process run whose memory has found a place, and no sooner.
        self.others.clear();
        let begin = Instant::now();
        self.working.iter().all(|queue| loop {
            if word_at(queue.read_pointer).load(Ordering::Acquire) == queue.packets {
                break true;
            }
            if begin.elapsed() > PATIENCE {
                eprintln!(
                    "the work of a queue of process {} never ends: {} of {} packets",
                    std::process::id(),
                    word_at(queue.read_pointer).load(Ordering::Acquire),
                    queue.packets
                );
                break false;
            }
            std::thread::sleep(Duration::from_millis(1));
        })
    }

    /// What is no call of KFD's.
    fn unusual(&mut self) {
        match self.random.below(8) {
            0 => self.fork(),
            1 => self.others.extend(open("/dev/kfd")),
            2 => drop(self.others.pop()),
            3 => self.press_on_memory(),
            4 => self.map_file(),
            5 => self.look_around(),
            _ => {
                // Memory that the GPU may use is taken away, or only its pages.
                let pages = 1 + self.random.below(32);
                let at = self.arena + self.random.below(ARENA / PAGE - pages) * PAGE;
                let advice =
                    self.random
                        .of(&[libc::MADV_DONTNEED, libc::MADV_PAGEOUT, libc::MADV_HUGEPAGE]);
                // SAFETY: the arena is memory that no reference leads to.
                unsafe {
                    libc::madvise(at as *mut _, (pages * PAGE) as usize, advice.unwrap_or(0))
                };
            }
        }
    }

    /// Maps each kind of page that KFD's file has, or had, and some that it never had.
    fn map_file(&mut self) {
        /// Where an offset has what is mapped, and the GPU.
        const KIND: u64 = 62;
        const GPU: u64 = 46;
        let gpu = self.value(Kind::Gpu) & 0xffff;
        let offset = (self.random.below(4) << KIND) | (gpu << GPU);
        let bytes = self.random.of(&[PAGE, 2 * PAGE, 1 << 15]).unwrap_or(PAGE);
        let length = NonZeroUsize::new(bytes as usize).expect("it has pages");
        let access = ProtFlags::PROT_READ;
        // SAFETY: new memory, at an address that the kernel chooses; nobody reads it.
        let map = |offset| unsafe {
            mmap(
                None,
                length,
                access,
                MapFlags::MAP_SHARED,
                &self.kfd,
                offset,
            )
        };
        if let Ok(page) = map(offset as libc::off_t) {
            // SAFETY: it was just made, and nobody else knows where it is.
            let _ = unsafe { munmap(page, bytes as usize) };
        }
    }

    /// Reads what KFD shows of this process.
    fn look_around(&self) {
        let folder = format!("/sys/class/kfd/kfd/proc/{}", getpid());
        let mut folders = vec![PathBuf::from(folder)];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                    _ => drop(std::fs::read(entry.path())),
                }
            }
        }
    }

    /// A child uses what its parent has opened, and what it opens itself.
    fn fork(&mut self) {
        self.in_child(|life| {
            for _ in 0..life.random.below(8) {
                let call = life.random.of(CALLS).expect("there are calls");
                let mut arguments = Arguments::new();
                for (_, place, bytes) in call.kinds() {
                    arguments.set(place, bytes, life.random.below(4));
                }
                if call.number == call::PROFILER {
                    arguments.spare_queues();
                }
                let _ = call.make(&life.kfd, &mut arguments);
            }
        });
    }

    /// Has a child do something, waits for it, and goes on as if there was none.
    fn in_child(&mut self, act: impl FnOnce(&mut Life)) {
        // SAFETY: this process has one thread.
        match unsafe { fork() } {
            Ok(ForkResult::Child) => {
                act(self);
                std::process::exit(0);
            }
            Ok(ForkResult::Parent { child }) => reap(child),
            Err(_) => self.transcript.close(),
        }
    }

    /// Takes video memory as a graphics client does, for as long as a file is open.
    fn press_on_memory(&mut self) {
        /// DRM_IOCTL_AMDGPU_GEM_CREATE, and its domain of video memory.
        const GEM_CREATE: u64 = (3 << 30) | (32 << 16) | ((b'd' as u64) << 8) | 0x40;
        const VRAM: u64 = 4;
        let pieces = self.random.below(24);
        let Ok(client) = open(&self.gpu.render_node.to_string_lossy()) else {
            return;
        };
        for _ in 0..pieces {
            let mut arguments: [u64; 4] = [16 << 20, 2 << 20, VRAM, 0];
            // SAFETY: the argument has the size that the request says.
            let made = unsafe {
                libc::ioctl(
                    client.as_raw_fd(),
                    GEM_CREATE as libc::Ioctl,
                    arguments.as_mut_ptr(),
                )
            };
            if made < 0 {
                break;
            }
        }
        self.others.push(client);
    }
}

/// Whether it depends on others that a call fails so.
fn is_for_others(call: Call, error: Errno) -> bool {
    match (call.number, error) {
        // Pages that are moved to where a range is to be are in the way of others.
        (call::RANGE, error) => error != Errno::EINVAL,
        // Who frees an imported buffer may free the number of any other one.
        (call::EXPORT, Errno::ENOENT) => true,
        _ => matches!(
            error,
            Errno::ENOMEM
                | Errno::EAGAIN
                | Errno::EINTR
                | Errno::EBUSY
                | Errno::ENOSPC
                | Errno::EIO
                | Errno::ETIME
                | Errno::ENODEV
                | Errno::EDEADLK
        ),
    }
}

/// Whether a call may have stopped the queues of who made it. A restore stops them first,
/// and leaves them stopped when it fails after that.
fn pauses(call: Call, arguments: &Arguments, result: nix::Result<()>) -> bool {
    /// Where a checkpoint says what it does, and KFD_CRIU_OP_RESTORE.
    const OPERATION: usize = 48;
    const RESTORE: u64 = 3;
    match call.number {
        call::DEBUG => result.is_ok(),
        call::CHECKPOINT if arguments.get(OPERATION, 4) == RESTORE => result != Err(Errno::EPERM),
        call::CHECKPOINT => result.is_ok(),
        _ => false,
    }
}

/// Whether a call that succeeded has made what a process cannot become another program
/// with: another context, or the process's own memory as the GPU's.
fn binds(call: Call, arguments: &Arguments) -> bool {
    match call.number {
        call::CREATE_PROCESS => true,
        call::ALLOCATE => arguments.has_own_memory(),
        _ => false,
    }
}

fn reap(child: Pid) {
    while waitpid(child, None) == Err(Errno::EINTR) {}
}

fn open(path: &str) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_CLOEXEC)
        .open(path)
}

/// Ordinary memory where the kernel has room for it, which stays until the process ends.
fn anonymous(bytes: u64) -> Result<u64> {
    anonymous_at(None, bytes)
}

/// The same at an address, or nothing if that is taken.
fn anonymous_at(address: Option<u64>, bytes: u64) -> Result<u64> {
    let length = NonZeroUsize::new(bytes as usize).expect("nobody asks for nothing");
    let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    let mut flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
    let place = address.and_then(|address| NonZeroUsize::new(address as usize));
    flags.set(MapFlags::MAP_FIXED_NOREPLACE, place.is_some());
    // SAFETY: new memory, which replaces none.
    let address = unsafe { mmap_anonymous(place, length, access, flags) }?;
    Ok(address.as_ptr() as u64)
}

/// A word that the driver or the GPU may write as well.
fn word_at(address: u64) -> &'static AtomicU32 {
    // SAFETY: callers name aligned places in memory of theirs that is never unmapped.
    unsafe { &*(address as *const AtomicU32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_allocation_is_of_decides_what_is_left_out() {
        let allocate = |flags| {
            let mut arguments = Arguments::new();
            let kinds: Vec<_> = Call::by_number(call::ALLOCATE).kinds().collect();
            let (kind, place, bytes) = kinds[5];
            assert_eq!(kind, Kind::Flags);
            arguments.set(place, bytes, flags);
            binds(Call::by_number(call::ALLOCATE), &arguments)
        };
        assert!(allocate(0xc000_0004) && !allocate(0xc000_0002));
        for (flags, registers) in [(0x8000_0008, true), (0x10, true), (0xc000_0007, false)] {
            let all = [Word::Four(0); 9].into_iter().chain([Word::Four(flags)]);
            let arguments = Arguments::of(&all.collect::<Vec<_>>());
            assert_eq!(arguments.has_registers(), registers);
        }
        let own = Arguments::of(&[Word::Eight(!0); 5]);
        assert!(binds(Call::by_number(call::CREATE_PROCESS), &own));
        assert!(!binds(Call::by_number(call::MAP), &own));
    }

    #[test]
    fn a_buffer_that_has_lost_its_number_is_the_doing_of_others() {
        let fails = |number, error| is_for_others(Call::by_number(number), error);
        assert!(fails(call::EXPORT, Errno::ENOENT) && fails(call::EXPORT, Errno::ENOMEM));
        assert!(!fails(call::EXPORT, Errno::EINVAL) && !fails(call::MAP, Errno::ENOENT));
        assert!(fails(call::RANGE, Errno::ENOENT) && !fails(call::RANGE, Errno::EINVAL));
    }

    #[test]
    fn a_restore_that_fails_may_have_stopped_the_queues() {
        let checkpoint = |operation| {
            let mut arguments = Arguments::new();
            let kinds: Vec<_> = Call::by_number(call::CHECKPOINT).kinds().collect();
            let &(kind, place, bytes) = kinds.iter().rev().nth(1).unwrap();
            assert_eq!(kind, Kind::Small);
            arguments.set(place, bytes, operation);
            arguments
        };
        let by = |number, operation, result| {
            pauses(Call::by_number(number), &checkpoint(operation), result)
        };
        assert!(by(call::CHECKPOINT, 3, Err(Errno::EINVAL)));
        assert!(by(call::CHECKPOINT, 3, Ok(())));
        assert!(!by(call::CHECKPOINT, 3, Err(Errno::EPERM)));
        assert!(by(call::CHECKPOINT, 0, Ok(())));
        assert!(!by(call::CHECKPOINT, 0, Err(Errno::EINVAL)));
        assert!(by(call::DEBUG, 3, Ok(())));
        assert!(!by(call::DEBUG, 3, Err(Errno::EINVAL)));
        assert!(!by(call::MAP, 3, Ok(())));
    }
}
