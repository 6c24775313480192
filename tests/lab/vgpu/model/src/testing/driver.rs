// SPDX-License-Identifier: GPL-2.0-only
//! A driver in miniature: it brings up the rings as amdgpu does, builds page
//! tables, descriptors and runlists in memory, and submits work. All of it is
//! in one file because a driver has to do all of that before the first test can run.

use super::{TestBus, TestVram};
#[cfg(test)]
use crate::compute::Footprint;
use crate::device::{Device, DoorbellWidth};
use crate::layout::descriptor as mqd;
use crate::layout::pm4::opcode;
use crate::memory::FB_BASE;
use crate::registers::table::{gc, ih, mmhub, sdma};
use crate::registers::{sdma_register, xcc_base, QUEUE_REGISTERS};
use crate::terms::{Bus, Config, GpuNanos, QueueReport, SdmaRing, Vram};

const VRAM: usize = 64 << 20;
const GUEST: u64 = 96 << 20;
/// Where the kernel sees guest memory through its flat table.
pub const GART: u64 = 0x4000_0000;
/// Where a process sees guest memory.
pub const USER: u64 = 0x1_0000_0000;

/// The upper halves of the addresses of scratch and local memory, as KFD has them.
const MEMORY_BASES: u32 = 0x0001_0002;

const PAGE: u64 = 4096;
const PRIVILEGED_DOORBELL: u64 = 0;
const SCHEDULER_DOORBELL: u64 = 0x3000;
const COPIES_DOORBELL: u64 = 0x780;
const STACK: u32 = 16384;

const RW: u64 = 0x61;
const SYSTEM: u64 = 2;
const FURTHER: u64 = 1 << 56;

pub fn packet(opcode: u32, body: &[u32]) -> Vec<u32> {
    let mut words = vec![(3 << 30) | ((body.len() as u32 - 1) << 16) | (opcode << 8)];
    words.extend_from_slice(body);
    words
}

pub fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

#[derive(Clone)]
struct KernelRing {
    /// Guest address of the ring and of the place of its write pointer.
    ring: u64,
    dwords: u64,
    pointer: u64,
    write: u64,
    doorbell: u64,
}

/// Of SH_MEM_CONFIG.
const RETRY_DISABLE: u32 = 1 << 12;

#[derive(Clone, Copy)]
pub struct TestProcess {
    pub pasid: u32,
    pub root: u64,
    /// Where its trap handler is, or 0, and the handler's memory.
    pub handler: u64,
    pub handler_memory: u64,
    /// Accesses that find no memory are tried again.
    pub retries: bool,
}

#[derive(Clone, Copy)]
pub struct TestQueue {
    pub process: TestProcess,
    pub doorbell: u64,
    /// Offset of the first descriptor in video memory.
    pub descriptor: u64,
    /// Guest addresses.
    pub ring: u64,
    pub read: u64,
    pub write: u64,
    pub area: u64,
    pub packets: u64,
    pub is_static: bool,
}

pub struct TestDispatch {
    pub counters: u64,
    pub workgroups: u64,
    pub signal: u64,
}

/// Work to submit; the defaults are small.
#[derive(Clone, Copy)]
pub struct Work {
    pub workgroups: u32,
    pub items: u16,
    pub cost: u64,
    /// Thousandths of a unit's throughput.
    pub demand: u64,
    pub vgprs: u32,
    pub lds: u32,
    pub barrier: bool,
}

impl Default for Work {
    fn default() -> Work {
        Work {
            workgroups: 1,
            items: 64,
            cost: 1_000,
            demand: 0,
            vgprs: 8,
            lds: 0,
            barrier: true,
        }
    }
}

#[cfg(test)]
impl Work {
    pub fn footprint(&self) -> Footprint {
        Footprint {
            waves: u32::from(self.items).div_ceil(64),
            vgprs: self.vgprs,
            lds: self.lds,
        }
    }
}

/// A clone shares memory with the one that it was made of.
#[derive(Clone)]
pub struct Driver {
    pub device: Device,
    pub bus: TestBus,
    pub vram: TestVram,
    guest_bytes: u64,
    next_guest: u64,
    next_vram: u64,
    next_doorbell: u64,
    privileged: Vec<KernelRing>,
    /// That of each partition, of so many dies, and whose turn it is.
    schedulers: Vec<KernelRing>,
    dies_each: u32,
    partition: usize,
    pub scheduler_descriptors: Vec<u64>,
    fence: u64,
    fence_value: u64,
    pub events: u64,
}

impl Driver {
    /// A device whose scheduler is ready for runlists.
    pub fn new(config: Config) -> Driver {
        Driver::with_guest(config, GUEST)
    }

    /// The same with so many bytes of guest memory.
    pub fn with_guest(config: Config, guest_bytes: u64) -> Driver {
        let all = config.xcc_count;
        Driver::divided(config, guest_bytes, all)
    }

    /// The same divided into partitions of so many dies.
    pub fn divided(config: Config, guest_bytes: u64, dies_each: u32) -> Driver {
        let bus = TestBus::new(guest_bytes as usize);
        let vram = TestVram::new(VRAM);
        let device = Device::new(config, Box::new(bus.clone()), Box::new(vram.clone())).unwrap();
        let mut driver = Driver {
            device,
            bus,
            vram,
            guest_bytes,
            next_guest: PAGE,
            next_vram: PAGE,
            next_doorbell: 0x4000,
            privileged: Vec::new(),
            schedulers: Vec::new(),
            dies_each,
            partition: 0,
            scheduler_descriptors: Vec::new(),
            fence: 0,
            fence_value: 0,
            events: 0,
        };
        driver.bring_up();
        driver
    }

    /// Notes what is in memory, for [`Driver::again`].
    pub fn keep(&self) {
        self.bus.keep();
        self.vram.keep();
    }

    /// Returns memory to what was kept, for this driver and all its clones, and makes
    /// another that goes on from there.
    pub fn again(&self) -> Driver {
        self.bus.restore();
        self.vram.restore();
        self.clone()
    }

    pub fn guest(&mut self, bytes: u64) -> u64 {
        let at = self.next_guest;
        self.next_guest += bytes.next_multiple_of(PAGE);
        assert!(
            self.next_guest <= self.guest_bytes,
            "guest memory is used up"
        );
        at
    }

    fn video(&mut self, bytes: u64) -> u64 {
        let at = self.next_vram;
        self.next_vram += bytes.next_multiple_of(PAGE);
        assert!(
            self.next_vram <= VRAM as u64 - (64 << 10),
            "video memory is used up"
        );
        at
    }

    pub fn put32(&self, address: u64, value: u32) {
        self.bus.write(address, &value.to_le_bytes()).unwrap();
    }

    pub fn put64(&self, address: u64, value: u64) {
        self.bus.write(address, &value.to_le_bytes()).unwrap();
    }

    pub fn get32(&self, address: u64) -> u32 {
        let mut bytes = [0; 4];
        self.bus.read(address, &mut bytes).unwrap();
        u32::from_le_bytes(bytes)
    }

    pub fn get64(&self, address: u64) -> u64 {
        let mut bytes = [0; 8];
        self.bus.read(address, &mut bytes).unwrap();
        u64::from_le_bytes(bytes)
    }

    fn video_put64(&self, offset: u64, value: u64) {
        self.vram.write(offset, &value.to_le_bytes());
    }

    pub fn mqd(&self, queue: &TestQueue, die: u32, dword: u64) -> u32 {
        let mut bytes = [0; 4];
        let at = queue.descriptor + u64::from(die) * stride() + dword * 4;
        self.vram.read(at, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    pub fn set_mqd(&self, queue: &TestQueue, die: u32, dword: u64, value: u32) {
        let at = queue.descriptor + u64::from(die) * stride() + dword * 4;
        self.vram.write(at, &value.to_le_bytes());
    }

    pub fn write_reg(&mut self, address: u32, value: u32) {
        self.device.register_write(u64::from(address) * 4, value);
    }

    pub fn read_reg(&mut self, address: u32) -> u32 {
        self.device.register_read(u64::from(address) * 4)
    }

    pub fn select(&mut self, die: u32, me: u32, pipe: u32, queue: u32) {
        self.write_reg(
            xcc_base(die) + gc::GRBM_GFX_CNTL,
            pipe | (me << 2) | (queue << 8),
        );
    }

    /// Writes one of the registers that each slot of a die has, counted from the
    /// first of them.
    pub fn write_slot(&mut self, slot: [u32; 3], index: u32, value: u32) {
        let [me, pipe, queue] = slot;
        let register = gc::CP_MQD_BASE_ADDR + index % QUEUE_REGISTERS as u32;
        self.select(0, me, pipe, queue);
        self.write_reg(xcc_base(0) + register, value);
        self.select(0, 0, 0, 0);
    }

    /// Lets time pass, event by event.
    pub fn run(&mut self, nanos: u64) {
        let end = self.device.now().after(nanos);
        while let Some(at) = self.device.next_event().filter(|at| *at <= end) {
            self.device.advance_to(at);
            self.events += 1;
        }
        self.device.advance_to(end);
    }

    /// Lets time pass until something holds, at most `nanos`.
    #[track_caller]
    pub fn run_until(&mut self, nanos: u64, mut holds: impl FnMut(&mut Driver) -> bool) {
        let end = self.device.now().after(nanos);
        while !holds(self) {
            let next = self.device.next_event().filter(|at| *at <= end);
            let Some(at) = next else {
                panic!(
                    "it does not come true in {nanos} ns: {:#?}",
                    self.device.state()
                );
            };
            self.device.advance_to(at);
        }
    }

    fn bring_up(&mut self) {
        self.interrupts();
        self.gart();
        let dies = self.device.config().xcc_count;
        if self.dies_each < dies {
            self.divide();
        }
        for die in 0..dies {
            self.privileged_ring(die);
        }
        self.run(100_000);
        self.fence = self.guest(PAGE);
        let body = [0x2028_fff8, 0xfcfc_fcfc, 0, 0, 0, 0, 0];
        for first in (0..dies).step_by(self.dies_each as usize) {
            self.scheduler_ring(first);
            self.partition = self.schedulers.len() - 1;
            self.submit(&packet(opcode::SET_RESOURCES, &body));
        }
        self.partition = 0;
        self.run(100_000);
    }

    /// Tells each die which of its partition's it is, and how many those are.
    fn divide(&mut self) {
        for die in 0..self.device.config().xcc_count {
            let control = (die % self.dies_each) | (self.dies_each << 3);
            self.write_reg(xcc_base(die) + gc::CP_HYP_XCP_CTL, control);
        }
    }

    /// What follows is for the scheduler of a partition.
    pub fn turn_to(&mut self, partition: usize) {
        self.partition = partition;
    }

    /// Brings everything up again after a reset of the device.
    pub fn restart(&mut self) {
        self.privileged.clear();
        self.schedulers.clear();
        self.scheduler_descriptors.clear();
        self.bring_up();
    }

    fn interrupts(&mut self) {
        let ring = self.guest(64 << 10);
        let copy = self.guest(PAGE);
        self.write_reg(ih::IH_RB_BASE, (ring >> 8) as u32);
        self.write_reg(ih::IH_RB_WPTR_ADDR_LO, copy as u32);
        self.write_reg(ih::IH_DOORBELL_RPTR, (1 << 28) | 0x340);
        self.write_reg(ih::IH_RB_CNTL, 1 | (14 << 1));
    }

    /// Maps all guest memory at GART.
    fn gart(&mut self) {
        let pages = self.guest_bytes / PAGE;
        let table = self.video(pages * 8);
        self.vram.write(table, &entries(0, pages));
        let end = GART + self.guest_bytes - 1;
        for (register, value) in [
            (mmhub::VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32, GART >> 12),
            (mmhub::VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32, end >> 12),
            (mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32, table | 1),
        ] {
            self.write_reg(register, value as u32);
            self.write_reg(register + 1, (value >> 32) as u32);
        }
    }

    fn privileged_ring(&mut self, die: u32) {
        let ring = self.guest(PAGE);
        self.select(die, 2, 1, 0);
        let at = xcc_base(die);
        let doorbell = PRIVILEGED_DOORBELL + u64::from(die) * 0x100;
        let base = (GART + ring) >> 8;
        self.write_reg(at + gc::CP_HQD_PQ_BASE, base as u32);
        self.write_reg(at + gc::CP_HQD_PQ_BASE + 1, (base >> 32) as u32);
        self.write_reg(at + gc::CP_HQD_PQ_CONTROL, 9);
        self.write_reg(
            at + gc::CP_HQD_PQ_DOORBELL_CONTROL,
            (1 << 30) | doorbell as u32,
        );
        self.write_reg(at + gc::CP_HQD_ACTIVE, 1);
        self.select(die, 0, 0, 0);
        self.privileged.push(KernelRing {
            ring,
            dwords: 1024,
            pointer: 0,
            write: 0,
            doorbell,
        });
    }

    /// Submits to the privileged ring of a die.
    pub fn privileged(&mut self, die: u32, words: &[u32]) {
        let (bus, device) = (&self.bus, &mut self.device);
        self.privileged[die as usize].submit(bus, device, words);
    }

    /// Of the partition that begins with a die.
    fn scheduler_ring(&mut self, first: u32) {
        let ring = self.guest(PAGE);
        let pointer = self.guest(PAGE);
        let doorbell = SCHEDULER_DOORBELL + u64::from(first) * 0x100;
        for die in first..first + self.dies_each {
            let descriptor = self.guest(PAGE);
            let put = |dword: u64, value: u32| self.put32(descriptor + dword * 4, value);
            let base = (GART + ring) >> 8;
            put(136, base as u32);
            put(137, (base >> 32) as u32);
            put(145, 9 | (1 << 27));
            put(143, doorbell as u32);
            let at = GART + descriptor;
            put(128, at as u32);
            put(129, (at >> 32) as u32);
            let [low, high] = halves(at);
            let [write_low, write_high] = halves(GART + pointer);
            let kind = (1 << 26) | (1 << 18) | (1 << 29);
            let body = [kind, doorbell as u32, low, high, write_low, write_high];
            self.privileged(die, &packet(opcode::MAP_QUEUES, &body));
            self.scheduler_descriptors.push(descriptor);
        }
        self.schedulers.push(KernelRing {
            ring,
            dwords: 1024,
            pointer,
            write: 0,
            doorbell,
        });
        self.run(100_000);
    }

    /// Submits to the ring of the scheduler whose turn it is.
    pub fn submit(&mut self, words: &[u32]) {
        let ring = &mut self.schedulers[self.partition];
        ring.submit(&self.bus, &mut self.device, words);
    }

    /// Sets up the kernel's own ring of the first engine for copies, with these words
    /// in it, and rings its doorbell. They are at most 1,023.
    pub fn copies(&mut self, words: &[u32]) {
        let ring = self.guest(PAGE);
        for (index, word) in words.iter().enumerate() {
            self.put32(ring + index as u64 * 4, *word);
        }
        let registers = SdmaRing {
            engine: 0,
            registers: sdma::GFX,
        };
        let base = (GART + ring) >> 8;
        for (register, value) in [
            (sdma::RB_BASE, base as u32),
            (sdma::RB_BASE_HI, (base >> 32) as u32),
            (sdma::DOORBELL, 1 << 28),
            (sdma::DOORBELL_OFFSET, COPIES_DOORBELL as u32),
            (sdma::RB_CNTL, 1 | (10 << 1)),
        ] {
            self.write_reg(sdma_register(registers, register), value);
        }
        self.run(10_000);
        let write = words.len() as u64 * 4;
        self.device
            .doorbell_write(COPIES_DOORBELL, write, DoorbellWidth::Qword);
    }

    /// A process that sees all guest memory at USER.
    pub fn process(&mut self, pasid: u32) -> TestProcess {
        let [root, middle, low] = [(); 3].map(|()| self.video(PAGE));
        let pages = self.guest_bytes / PAGE;
        let leaf_count = pages.div_ceil(512);
        let leaves = self.video(leaf_count * PAGE);
        self.video_put64(root, middle | 1);
        self.video_put64(middle + (USER >> 30) * 8, low | 1);
        for leaf in 0..leaf_count {
            let table = leaves + leaf * PAGE;
            self.video_put64(low + leaf * 8, table | 1 | FURTHER);
            let last = pages.min((leaf + 1) * 512);
            self.vram.write(table, &entries(leaf * 512, last));
        }
        TestProcess {
            pasid,
            root: root | 1,
            handler: 0,
            handler_memory: 0,
            retries: false,
        }
    }

    /// Puts another entry into a process's page table, for the page that it sees at this
    /// address. Returns the one that was there.
    pub fn set_entry(&mut self, process: &TestProcess, address: u64, entry: u64) -> u64 {
        let mut at = process.root & !1;
        for shift in [39, 30, 21] {
            let mut bytes = [0; 8];
            self.vram
                .read(at + ((address >> shift) & 0x1ff) * 8, &mut bytes);
            at = u64::from_le_bytes(bytes) & 0xffff_ffff_f000;
        }
        at += ((address >> 12) & 0x1ff) * 8;
        let mut bytes = [0; 8];
        self.vram.read(at, &mut bytes);
        self.video_put64(at, entry);
        u64::from_le_bytes(bytes)
    }

    /// The words of the newest interrupt.
    pub fn last_interrupt(&mut self) -> [u32; 8] {
        let base = u64::from(self.read_reg(ih::IH_RB_BASE)) << 8;
        let behind = u64::from(self.read_reg(ih::IH_RB_WPTR));
        let first = base + behind - 32;
        [0, 1, 2, 3, 4, 5, 6, 7].map(|at| self.get32(first + at * 4))
    }

    /// An AQL queue with 64 packets and room for its waves.
    pub fn queue(&mut self, process: TestProcess, pipe_priority: u32) -> TestQueue {
        let dies = u64::from(self.dies_each);
        let area_bytes = self.area_bytes();
        let descriptor = self.video(stride() * dies);
        let ring = self.guest(PAGE);
        let pointers = self.guest(PAGE);
        let area = self.guest(area_bytes * dies);
        let doorbell = self.next_doorbell;
        self.next_doorbell += 8;
        let queue = TestQueue {
            process,
            doorbell,
            descriptor,
            ring,
            // As in what a runtime keeps of its queue (amd_queue_t).
            read: pointers + 128,
            write: pointers + 56,
            area,
            packets: 64,
            is_static: false,
        };
        for packet in 0..64 {
            self.put32(ring + packet * 64, 1);
        }
        for die in 0..dies as u32 {
            let put = |dword, value| self.set_mqd(&queue, die, dword, value);
            for dword in 0..512 {
                put(dword, 0);
            }
            let base = (USER + ring) >> 8;
            let save = USER + area + u64::from(die) * area_bytes;
            let own = FB_BASE + descriptor + u64::from(die) * stride();
            for dword in mqd::STATIC_THREAD_MGMT {
                put(dword, u32::MAX);
            }
            put(mqd::CURRENT_LOGIC_XCC, die);
            put(mqd::TG_CHUNK_SIZE, 1);
            put(128, own as u32);
            put(129, (own >> 32) as u32);
            put(mqd::PERSISTENT_STATE, 1 << 30);
            put(mqd::PIPE_PRIORITY, pipe_priority);
            put(136, base as u32);
            put(137, (base >> 32) as u32);
            put(139, (USER + queue.read) as u32);
            put(140, ((USER + queue.read) >> 32) as u32);
            put(141, (USER + queue.write) as u32);
            put(142, ((USER + queue.write) >> 32) as u32);
            put(143, doorbell as u32);
            put(145, 9);
            put(mqd::CTX_SAVE_BASE, save as u32);
            put(mqd::CTX_SAVE_BASE + 1, (save >> 32) as u32);
            put(mqd::CNTL_STACK_SIZE, STACK);
            put(mqd::CNTL_STACK_OFFSET, STACK);
            put(mqd::WG_STATE_OFFSET, STACK);
            put(mqd::CTX_SAVE_SIZE, area_bytes as u32);
            put(mqd::AQL_CONTROL, 1);
            put(mqd::STRIDE, stride() as u32);
        }
        queue
    }

    pub fn area_bytes(&self) -> u64 {
        let config = self.device.config();
        let unit = (532 << 10) + u64::from(config.local_memory().bytes);
        u64::from(STACK) + u64::from(config.cu_per_xcc()) * unit
    }

    /// Packets of a runlist for queues in the order of their processes.
    pub fn runlist(&self, queues: &[TestQueue]) -> Vec<u32> {
        let mut words = Vec::new();
        let mut last = None;
        for queue in queues {
            let process = queue.process;
            if last != Some(process.pasid) {
                let mut body = [0; 20];
                body[0] = process.pasid | (10 << 25);
                [body[1], body[2]] = halves(process.root);
                body[3] = MEMORY_BASES;
                body[4] = if process.retries { 0 } else { RETRY_DISABLE };
                [body[5], body[6]] = halves(process.handler >> 8);
                [body[7], body[8]] = halves(process.handler_memory >> 8);
                words.extend(packet(opcode::MAP_PROCESS, &body));
                last = Some(process.pasid);
            }
            let [low, high] = halves(FB_BASE + queue.descriptor);
            let [write_low, write_high] = halves(USER + queue.write);
            let kind = (1 << 29) | (1 << 4) | if queue.is_static { 2 << 21 } else { 0 };
            let body = [
                kind,
                queue.doorbell as u32,
                low,
                high,
                write_low,
                write_high,
            ];
            words.extend(packet(opcode::MAP_QUEUES, &body));
        }
        words
    }

    /// Hands the scheduler a runlist; does not wait for it.
    pub fn run_list(&mut self, queues: &[TestQueue]) {
        self.run_list_of(queues, 0);
    }

    pub fn run_list_of(&mut self, queues: &[TestQueue], processes: u32) {
        let words = self.runlist(queues);
        self.run_list_in(&words, processes);
    }

    /// Hands the scheduler a runlist of these packets.
    pub fn run_list_in(&mut self, words: &[u32], processes: u32) {
        let buffer = self.guest(words.len() as u64 * 4);
        for (index, word) in words.iter().enumerate() {
            self.put32(buffer + index as u64 * 4, *word);
        }
        let [low, high] = halves(GART + buffer);
        let size = words.len() as u32 | (1 << 23) | (processes << 24);
        self.submit(&packet(opcode::RUN_LIST, &[low, high, size]));
    }

    /// Sends UNMAP_QUEUES and the fence behind it; does not wait.
    pub fn unmap(&mut self, action: u32, filter: u32, value: u32) {
        self.submit(&packet(
            opcode::UNMAP_QUEUES,
            &[action | (filter << 4), value, 0, 0, 0],
        ));
        self.query();
    }

    pub fn query(&mut self) {
        self.fence_value += 1;
        let [low, high] = halves(GART + self.fence);
        let body = [2 << 30, 0, low, high, self.fence_value as u32, 0];
        self.submit(&packet(opcode::QUERY_STATUS, &body));
    }

    pub fn fence_is_written(&self) -> bool {
        self.get64(self.fence) == self.fence_value
    }

    /// Unmaps all queues that are not static and waits for it.
    pub fn unmap_all(&mut self) {
        self.unmap(0, 3, 0);
        self.run_until(1_000_000_000, |driver| driver.fence_is_written());
    }

    /// Maps queues and waits until they are.
    pub fn map(&mut self, queues: &[TestQueue]) {
        self.run_list(queues);
        let count = self.device.hiq_log(0).len();
        self.run_until(1_000_000_000, |driver| {
            let log = driver.device.hiq_log(0);
            log.len() > count && log.iter().all(|record| record.completed.is_some())
        });
    }

    /// Puts a packet into a queue's ring without telling the GPU.
    pub fn put_packet(&mut self, queue: &TestQueue, words: &[u32; 16]) -> u64 {
        let number = self.get64(queue.write);
        let at = queue.ring + number % queue.packets * 64;
        for (index, word) in words.iter().enumerate().rev() {
            self.put32(at + index as u64 * 4, *word);
        }
        self.put64(queue.write, number + 1);
        number
    }

    pub fn ring(&mut self, queue: &TestQueue) {
        let number = self.get64(queue.write) - 1;
        self.device
            .doorbell_write(queue.doorbell, number, DoorbellWidth::Qword);
    }

    pub fn signal(&mut self) -> u64 {
        let signal = self.guest(64);
        self.put64(signal + 8, 1);
        signal
    }

    /// Writes a dispatch and everything it refers to.
    pub fn prepare(&mut self, work: Work) -> ([u32; 16], TestDispatch) {
        let object = self.guest(PAGE);
        let kernarg = object + 256;
        let signal = self.signal();
        let counters = self.guest(u64::from(work.workgroups) * 4);
        self.put32(object, work.lds);
        self.put64(object + 16, 128);
        self.put32(object + 48, work.vgprs / 8 - 1);
        self.bus.write(object + 128, b"VGPU-COUNT-WORK1").unwrap();
        self.put64(kernarg, USER + counters);
        self.put64(kernarg + 8, work.cost);
        self.put64(kernarg + 16, work.demand);
        let mut words = [0; 16];
        words[0] = 2 | (u32::from(work.barrier) << 8) | (1 << 16);
        words[1] = u32::from(work.items) | (1 << 16);
        words[2] = 1;
        words[3] = u32::from(work.items) * work.workgroups;
        words[4] = 1;
        words[5] = 1;
        words[7] = work.lds;
        [words[8], words[9]] = halves(USER + object);
        [words[10], words[11]] = halves(USER + kernarg);
        [words[14], words[15]] = halves(USER + signal);
        let workgroups = u64::from(work.workgroups);
        (
            words,
            TestDispatch {
                counters,
                workgroups,
                signal,
            },
        )
    }

    /// Submits work and rings the doorbell.
    pub fn dispatch(&mut self, queue: &TestQueue, work: Work) -> TestDispatch {
        let (words, dispatch) = self.prepare(work);
        self.put_packet(queue, &words);
        self.ring(queue);
        dispatch
    }

    pub fn counts(&self, dispatch: &TestDispatch) -> Vec<u32> {
        (0..dispatch.workgroups)
            .map(|index| self.get32(dispatch.counters + index * 4))
            .collect()
    }

    pub fn is_done(&self, dispatch: &TestDispatch) -> bool {
        self.get64(dispatch.signal + 8) == 0
    }

    #[track_caller]
    pub fn finish(&mut self, dispatch: &TestDispatch) {
        let signal = dispatch.signal;
        self.run_until(60_000_000_000, |driver| driver.get64(signal + 8) == 0);
        let counts = self.counts(dispatch);
        assert!(counts.iter().all(|count| *count == 1), "{counts:?}");
    }

    pub fn report(&self, queue: &TestQueue) -> QueueReport {
        let pasid = queue.process.pasid;
        self.device
            .queues()
            .into_iter()
            .rfind(|report| report.queue.doorbell == queue.doorbell && report.queue.pasid == pasid)
            .unwrap()
    }

    pub fn now(&self) -> GpuNanos {
        self.device.now()
    }
}

impl KernelRing {
    fn submit(&mut self, bus: &TestBus, device: &mut Device, words: &[u32]) {
        for word in words {
            let at = self.ring + self.write % self.dwords * 4;
            bus.write(at, &word.to_le_bytes()).unwrap();
            self.write += 1;
        }
        if self.pointer != 0 {
            bus.write(self.pointer, &self.write.to_le_bytes()).unwrap();
        }
        device.doorbell_write(self.doorbell, self.write, DoorbellWidth::Qword);
    }
}

/// Page table entries for pages of guest memory.
fn entries(first: u64, end: u64) -> Vec<u8> {
    (first..end)
        .flat_map(|page| ((page * PAGE) | RW | SYSTEM).to_le_bytes())
        .collect()
}

fn stride() -> u64 {
    PAGE + u64::from(STACK)
}
