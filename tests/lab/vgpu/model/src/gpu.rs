// SPDX-License-Identifier: GPL-2.0-only
//! The GPU's parts and the loop that runs them. Each part adds its own
//! methods to [`Gpu`] in its own file.

use std::collections::VecDeque;

use crate::account::Accounts;
use crate::clock::agenda::EventQueue;
use crate::compute::Compute;
use crate::hws::Hws;
use crate::interrupt::{client, source, xcc_node, Interrupt, InterruptRing};
use crate::memory::{FaultCause, Gart, Memory, MemoryFault, Space, FB_BASE};
use crate::queue::Queues;
use crate::registers::table::{athub, gc, ih, mmhub, nbio, sdma};
use crate::registers::{place, sdma_ring, xcc_base, Place, RegisterFile, Touched};
use crate::terms::{Config, Exit, Faults, Format, GpuNanos, QueueKey, SdmaRing, Slot};

/// What the GPU will do of its own accord.
#[derive(Clone, Debug)]
pub enum Event {
    Doorbell {
        index: u32,
        value: u64,
    },
    /// The driver set CP_HQD_ACTIVE.
    Activate {
        xcc: u32,
        slot: Slot,
    },
    /// The driver asked a slot to give up its queue.
    Dequeue {
        xcc: u32,
        slot: Slot,
        exit: Exit,
    },
    /// The driver wrote the control register of an SDMA ring.
    SdmaControl {
        ring: SdmaRing,
    },
    /// A queue reads its next packet.
    Fetch(QueueKey),
    WorkgroupEnd {
        xcc: u32,
        index: usize,
        serial: u64,
    },
    /// A leaving queue has waited long enough for its waves to end.
    GraceEnd {
        queue: QueueKey,
        serial: u64,
    },
    SaveEnd {
        queue: QueueKey,
        serial: u64,
    },
    RestoreEnd {
        queue: QueueKey,
        dies: u32,
    },
    Scheduler(crate::hws::Step),
}

/// What a queue does after a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Reads the next packet after so many nanoseconds.
    Next(u64),
    /// Has nothing to read until its doorbell rings.
    Idle,
    /// Looks again after the poll time.
    Poll,
    /// Waits for something that will start it again.
    Blocked,
}

const NOTES: usize = 1000;

pub struct Gpu {
    pub config: Config,
    pub faults: Faults,
    pub now: GpuNanos,
    pub events: EventQueue<Event>,
    pub memory: Memory,
    pub registers: RegisterFile,
    pub touched: Touched,
    pub interrupts: InterruptRing,
    pub queues: Queues,
    pub compute: Compute,
    pub hws: Hws,
    pub accounts: Accounts,
    pub resets: u64,
    /// When the memory channel that all saves share is free again.
    pub save_channel_free: GpuNanos,
    pub serial: u64,
    notes: VecDeque<String>,
}

impl Gpu {
    pub fn new(config: Config, memory: Memory) -> Gpu {
        let registers = RegisterFile::new(&config, memory.vram_bytes(), FB_BASE);
        let mut gpu = Gpu {
            compute: Compute::new(&config),
            accounts: Accounts::new(config.log_capacity),
            config,
            faults: Faults::default(),
            now: GpuNanos::default(),
            events: EventQueue::new(),
            memory,
            registers,
            touched: Touched::default(),
            interrupts: InterruptRing::default(),
            queues: Queues::default(),
            hws: Hws::default(),
            resets: 0,
            save_channel_free: GpuNanos::default(),
            serial: 0,
            notes: VecDeque::new(),
        };
        gpu.place_discovery_table();
        gpu
    }

    fn place_discovery_table(&mut self) {
        let table = crate::registers::discovery::build(&self.config);
        let offset = self.memory.vram_bytes() - crate::registers::discovery::FROM_END;
        self.memory.vram_write(offset, &table);
    }

    /// Drops all work and returns the registers to their reset values. Video
    /// memory and the accounts stay.
    pub fn reset(&mut self) {
        self.registers = RegisterFile::new(&self.config, self.memory.vram_bytes(), FB_BASE);
        self.memory.set_gart(Gart::default());
        self.events.clear();
        let keys: Vec<QueueKey> = self.queues.iter().map(|(key, _)| key).collect();
        for key in keys {
            self.account_lost(key);
        }
        self.queues.clear();
        self.compute = Compute::new(&self.config);
        for die in 0..self.config.xcc_count {
            self.accounts.units_changed(self.now, die, 0);
        }
        self.hws = Hws::default();
        self.save_channel_free = self.now;
        self.faults.hung = false;
        self.resets += 1;
        self.place_discovery_table();
    }

    pub fn note(&mut self, text: String) {
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(format!("{} {text}", self.now.0));
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().collect()
    }

    pub fn next_serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    pub fn advance_to(&mut self, now: GpuNanos) {
        while let Some((at, event)) = self.events.pop(now) {
            self.now = self.now.max(at);
            self.run(event);
        }
        self.now = self.now.max(now);
    }

    fn run(&mut self, event: Event) {
        match event {
            Event::Doorbell { index, value } => self.ring_doorbell(index, value),
            Event::Activate { xcc, slot } => self.activate_slot(xcc, slot),
            Event::Dequeue { xcc, slot, exit } => self.dequeue_slot(xcc, slot, exit),
            Event::SdmaControl { ring } => self.sdma_control(ring),
            Event::Fetch(key) => self.fetch(key),
            Event::WorkgroupEnd { xcc, index, serial } => self.workgroup_end(xcc, index, serial),
            Event::GraceEnd { queue, serial } => self.grace_end(queue, serial),
            Event::SaveEnd { queue, serial } => self.save_end(queue, serial),
            Event::RestoreEnd { queue, dies } => self.restore_end(queue, dies),
            Event::Scheduler(step) => self.scheduler_step(step),
        }
    }

    /// Schedules the next packet of a queue, if it may read one.
    pub fn kick(&mut self, key: QueueKey) {
        self.fetch_after(key, self.config.timing.packet);
    }

    fn fetch_after(&mut self, key: QueueKey, nanos: u64) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        if queue.fetching || !queue.is_live() {
            return;
        }
        queue.fetching = true;
        let at = self.now.after(nanos).max(queue.busy_until);
        self.events.push(at, Event::Fetch(key));
    }

    fn fetch(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        queue.fetching = false;
        if !queue.is_live() || self.faults.hung {
            return;
        }
        let flow = match queue.format {
            Format::Pm4 => self.pm4_fetch(key),
            Format::Aql => self.aql_fetch(key),
            Format::Sdma => self.sdma_fetch(key),
        };
        match flow {
            Flow::Next(nanos) => self.fetch_after(key, nanos),
            Flow::Poll => self.fetch_after(key, self.config.timing.poll),
            Flow::Idle | Flow::Blocked => {}
        }
    }

    /// A queue cannot go on: its packet or its memory is bad.
    pub fn fail_queue(&mut self, key: QueueKey, reason: String) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        if queue.fault.is_some() {
            return;
        }
        let name = format!(
            "queue with doorbell {:#x} of pasid {}",
            queue.doorbell_offset(),
            queue.pasid
        );
        queue.fault = Some(reason.clone());
        let account = queue.account;
        if queue.role.is_user() {
            self.accounts.fault(account, &reason);
        }
        self.note(format!("{name} stands still: {reason}"));
    }

    /// A queue touched memory that it may not: the driver is told, and the
    /// queue stands still.
    pub fn memory_fault(&mut self, key: QueueKey, fault: MemoryFault, doing: &str) {
        if self
            .queues
            .get(key)
            .is_none_or(|queue| queue.fault.is_some())
        {
            return;
        }
        self.fail_queue(key, format!("{doing}: {fault}"));
        let Some(queue) = self.queues.get(key) else {
            return;
        };
        if !queue.role.is_user() {
            return;
        }
        let is_sdma = queue.slot().is_none();
        let page = fault.address >> 12;
        let access = if fault.write { 1 << 5 } else { 1 << 4 };
        let valid = u32::from(fault.cause == FaultCause::Forbidden) << 3;
        let interrupt = Interrupt {
            client: if is_sdma {
                client::SYSTEM_MEMORY
            } else {
                client::GRAPHICS_MEMORY
            },
            source: source::MEMORY_FAULT,
            ring: valid | access,
            vmid: queue.vmid,
            pasid: queue.pasid,
            node: if is_sdma { 0 } else { xcc_node(queue.home) },
            data: [
                page as u32,
                (page >> 32) as u32 & 0xf | (u32::from(fault.write) << 5),
                0,
                0,
            ],
        };
        self.interrupt(&interrupt);
    }

    pub fn interrupt(&mut self, interrupt: &Interrupt) {
        self.interrupts.send(
            interrupt,
            self.now,
            &mut self.registers,
            &mut self.memory,
            !self.faults.interrupts_lost,
        );
    }

    // Registers.

    pub fn read_register(&mut self, address: u32) -> u32 {
        self.touched.read(address);
        match place(address) {
            Place::Graphics { xcc, register } if xcc < self.config.xcc_count => {
                self.read_graphics(xcc, register, address)
            }
            Place::Sdma { instance, offset } => self.read_sdma(instance, offset, address),
            Place::Other(nbio::BIF_BX_PF0_MM_DATA) => {
                let offset = self.indirect_vram_offset();
                self.memory.vram_read(offset)
            }
            Place::Other(nbio::BIF_BX0_PCIE_DATA2) => {
                let target = self.indirect_register();
                self.touched.far(target, false);
                self.registers.get(target)
            }
            Place::Other(nbio::BIF_BX_PF0_GPU_HDP_FLUSH_DONE) => u32::MAX,
            Place::Other(mmhub::VM_INVALIDATE_ENG0_SEM..=mmhub::VM_INVALIDATE_ENG17_SEM) => 1,
            Place::Other(mmhub::VM_INVALIDATE_ENG0_ACK..=mmhub::VM_INVALIDATE_ENG17_ACK) => 0xffff,
            _ => self.registers.read(address),
        }
    }

    fn read_graphics(&mut self, xcc: u32, register: u32, address: u32) -> u32 {
        match register {
            gc::VM_INVALIDATE_ENG0_SEM..=gc::VM_INVALIDATE_ENG17_SEM => 1,
            gc::VM_INVALIDATE_ENG0_ACK..=gc::VM_INVALIDATE_ENG17_ACK => 0xffff,
            // A command in it is done as soon as it is written.
            gc::RLC_SAFE_MODE => self.registers.read(address) & !1,
            gc::RLC_GPU_CLOCK_COUNT_LSB => self.now.ticks() as u32,
            gc::RLC_GPU_CLOCK_COUNT_MSB => (self.now.ticks() >> 32) as u32,
            gc::SPI_CSQ_WF_ACTIVE_STATUS => {
                let engine = self.selected_engine(xcc);
                self.wave_status(xcc, engine)
            }
            gc::SPI_CSQ_WF_ACTIVE_COUNT_0..=gc::SPI_CSQ_WF_ACTIVE_COUNT_7 => {
                let engine = self.selected_engine(xcc);
                let mut slot = self.registers.selected_slot(xcc);
                slot.queue = register - gc::SPI_CSQ_WF_ACTIVE_COUNT_0;
                self.wave_count(xcc, slot, engine)
            }
            register if RegisterFile::is_queue_register(register) => {
                let slot = self.registers.selected_slot(xcc);
                self.read_queue_register(xcc, slot, register)
            }
            _ => self.registers.read(address),
        }
    }

    /// The shader engine that the driver has selected, or none for all.
    fn selected_engine(&self, xcc: u32) -> Option<u32> {
        let index = self.registers.get(xcc_base(xcc) + gc::GRBM_GFX_INDEX);
        (index >> 31 == 0).then_some((index >> 16) & 0xff)
    }

    pub fn write_register(&mut self, address: u32, value: u32) {
        self.touched.written(address);
        match place(address) {
            Place::Other(nbio::BIF_BX_PF0_MM_DATA) => {
                let offset = self.indirect_vram_offset();
                self.memory.vram_write(offset, &value.to_le_bytes());
                return;
            }
            Place::Other(nbio::BIF_BX0_PCIE_DATA2) => {
                let target = self.indirect_register();
                self.touched.far(target, true);
                self.registers.set(target, value);
                return;
            }
            _ => {}
        }
        if address == athub::ATC_VMID_PASID_MAPPING_UPDATE_STATUS {
            let pending = self.registers.get(address);
            self.registers.set(address, pending & !value);
            return;
        }
        self.registers.write(address, value);
        let soon = self.now.after(self.config.timing.doorbell);
        match place(address) {
            Place::Graphics { xcc, register } if xcc < self.config.xcc_count => {
                let slot = self.registers.selected_slot(xcc);
                match register {
                    gc::CP_HQD_ACTIVE if value & 1 != 0 => {
                        self.events.push(soon, Event::Activate { xcc, slot });
                    }
                    gc::CP_HQD_DEQUEUE_REQUEST if value & 0xf != 0 => {
                        let exit = match value & 0xf {
                            1 => Exit::Drain,
                            2 => Exit::Kill,
                            _ => Exit::Save,
                        };
                        self.events.push(soon, Event::Dequeue { xcc, slot, exit });
                    }
                    gc::SPI_COMPUTE_QUEUE_RESET if value & 1 != 0 => {
                        if let Some(key) = self.queues.in_slot(xcc, slot) {
                            self.force_exit(key, 1 << xcc);
                        }
                    }
                    gc::CPC_INT_STATUS if value & (1 << 29) != 0 => {
                        self.interrupt(&Interrupt {
                            client: client::COMMAND_PROCESSOR,
                            source: source::PRIVILEGED_QUEUE,
                            node: xcc_node(xcc),
                            ..Interrupt::default()
                        });
                    }
                    _ => {}
                }
            }
            Place::Sdma { instance, offset } => {
                if let Some((ring, sdma::RB_CNTL)) = sdma_ring(instance, offset) {
                    self.events.push(soon, Event::SdmaControl { ring });
                }
            }
            Place::Other(
                address @ athub::ATC_VMID0_PASID_MAPPING..=athub::ATC_VMID15_PASID_MAPPING,
            ) => {
                // The driver waits for this bit and clears it.
                let bit = 1 << (address - athub::ATC_VMID0_PASID_MAPPING);
                let status = athub::ATC_VMID_PASID_MAPPING_UPDATE_STATUS;
                let done = self.registers.get(status);
                self.registers.set(status, done | bit);
            }
            Place::Other(ih::IH_RB_CNTL) => {
                InterruptRing::control_written(&mut self.registers, value);
            }
            Place::Other(
                mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32
                    ..=mmhub::VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32,
            ) => self.update_gart(),
            _ => {}
        }
    }

    fn update_gart(&mut self) {
        let registers = &self.registers;
        let page = |low| registers.get_wide(low, low + 1) << 12;
        let table = mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32;
        self.memory.set_gart(Gart {
            start: page(mmhub::VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32),
            end: page(mmhub::VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32) | 0xfff,
            table: registers.get_wide(table, table + 1) & 0xffff_ffff_f000,
        });
    }

    fn indirect_vram_offset(&self) -> u64 {
        let low = u64::from(self.registers.get(nbio::BIF_BX_PF0_MM_INDEX) & 0x7fff_ffff);
        low | (u64::from(self.registers.get(nbio::BIF_BX_PF0_MM_INDEX_HI)) << 31)
    }

    /// Registers behind the aperture are stored by their full dword address.
    fn indirect_register(&self) -> u32 {
        let low = u64::from(self.registers.get(nbio::BIF_BX0_PCIE_INDEX2));
        let high = u64::from(self.registers.get(nbio::BIF_BX0_PCIE_INDEX2_HI) & 0xff);
        ((low | (high << 32)) / 4) as u32
    }

    /// The page table that the registers give an address space of a die, or
    /// of the memory hub, which the SDMA engines use.
    pub fn context_space(&self, vmid: u32, die: Option<u32>) -> Space {
        if vmid == 0 {
            return Space::Kernel;
        }
        let base = match die {
            Some(die) => xcc_base(die) + gc::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
            None => mmhub::VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32,
        } + 2 * vmid;
        Space::Process {
            root: self.registers.get_wide(base, base + 1),
        }
    }

    pub fn set_pasid_of(&mut self, vmid: u32, pasid: u32) {
        let valid = if pasid == 0 { 0 } else { 1 << 31 };
        self.registers
            .set(athub::ATC_VMID0_PASID_MAPPING + vmid, pasid | valid);
    }

    pub fn pasid_of(&self, vmid: u32) -> u32 {
        self.registers.get(athub::ATC_VMID0_PASID_MAPPING + vmid) & 0xffff
    }

    pub fn doorbell(&mut self, offset: u64, value: u64) {
        let index = (offset / 4) as u32;
        let control = self.registers.get(ih::IH_DOORBELL_RPTR);
        if (control >> 28) & 1 != 0 && control & 0x3ff_ffff == index {
            self.registers.set(ih::IH_RB_RPTR, value as u32);
            return;
        }
        let at = self.now.after(self.config.timing.doorbell);
        self.events.push(at, Event::Doorbell { index, value });
    }
}
