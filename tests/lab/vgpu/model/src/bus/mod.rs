// SPDX-License-Identifier: GPL-2.0-only
//! What connects the engines: the buses for memory and interrupts, the
//! registers' storage, the clock, and the accounts that all of them keep.

mod partitions;
mod spaces;

pub use partitions::Partition;

use std::collections::VecDeque;

use crate::account::Accounts;
use crate::clock::{Clock, Event};
use crate::interrupt::{Interrupt, InterruptRing};
use crate::memory::{Gart, Memory, FB_BASE};
use crate::registers::{discovery, RegisterFile, Touched};
use crate::terms::{Config, Faults, GpuNanos, Moment, Schedule};

/// How many notes on oddities are kept.
const NOTES: usize = 1000;

/// Lent to an engine with each call. There is no way from here to another
/// engine's state; that takes the other engine's methods.
#[derive(Clone)]
pub struct Buses {
    pub config: Config,
    pub faults: Faults,
    pub schedule: Schedule,
    pub memory: Memory,
    pub registers: RegisterFile,
    pub touched: Touched,
    pub clock: Clock,
    pub accounts: Accounts,
    interrupts: InterruptRing,
    notes: VecDeque<String>,
    struck: u64,
}

impl Buses {
    pub fn new(config: Config, memory: Memory) -> Buses {
        let mut bus = Buses {
            registers: RegisterFile::new(&config, memory.vram_bytes(), FB_BASE),
            accounts: Accounts::new(config.log_capacity),
            config,
            faults: Faults::default(),
            schedule: Schedule::default(),
            memory,
            touched: Touched::default(),
            clock: Clock::new(),
            interrupts: InterruptRing::default(),
            notes: VecDeque::new(),
            struck: 0,
        };
        bus.place_discovery_table();
        bus
    }

    /// Resets the registers and cancels all events.
    /// Video memory, accounts and logs stay.
    pub fn reset(&mut self) {
        self.registers = RegisterFile::new(&self.config, self.memory.vram_bytes(), FB_BASE);
        self.memory.set_gart(Gart::default());
        self.memory.forget_translations();
        self.clock.clear();
        self.faults.hung = false;
        self.faults.copies_hung = false;
        self.place_discovery_table();
    }

    fn place_discovery_table(&mut self) {
        let table = discovery::build(&self.config);
        let offset = self.memory.vram_bytes() - discovery::FROM_END;
        self.memory.vram_write(offset, &table);
    }

    pub fn now(&self) -> GpuNanos {
        self.clock.now()
    }

    /// What the reference clock counts, in its ticks.
    pub fn ticks(&self) -> u64 {
        self.clock.reference().ticks()
    }

    /// Schedules the effect of a register or doorbell write for when the firmware
    /// notices it.
    pub fn soon(&mut self, event: Event) {
        self.clock.after(self.config.timing.doorbell, event);
    }

    pub fn raise(&mut self, interrupt: &Interrupt) {
        let faults = &self.faults;
        if faults.interrupts_lost
            || faults.interrupts_repeated
            || faults.interrupts_spurious
            || faults.interrupts_overflow
        {
            self.strike();
        }
        if self.faults.interrupts_spurious {
            let data = [0; 4];
            self.send(&Interrupt { data, ..*interrupt });
        }
        self.send(interrupt);
        if self.faults.interrupts_repeated {
            self.send(interrupt);
        }
    }

    fn send(&mut self, interrupt: &Interrupt) {
        let (now, registers, memory) = (
            self.clock.reference(),
            &mut self.registers,
            &mut self.memory,
        );
        let signal = !self.faults.interrupts_lost;
        if self.faults.interrupts_overflow {
            self.interrupts.overflow(registers, memory, signal);
        } else {
            self.interrupts
                .send(interrupt, now, registers, memory, signal);
        }
    }

    /// Counts that a fault on demand has made a difference.
    pub fn strike(&mut self) {
        self.struck += 1;
    }

    /// How often faults of interrupts, doorbells, pointers, packets, memory or copies have made a
    /// difference.
    pub fn struck(&self) -> u64 {
        self.struck
    }

    /// Replaces the faults in force. What begins by itself is due at once.
    pub fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
        self.clock.after(0, Event::FaultsChanged);
    }

    /// Lets the faults begin that wait for this moment of a packet of the scheduler's ring.
    pub fn reach(&mut self, moment: Moment, packet: u64) {
        if let Some(faults) = self.schedule.reach(moment, self.clock.now(), packet) {
            self.note(format!("faults begin at packet {packet}: {faults:?}"));
            self.set_faults(faults);
        }
    }

    /// Interrupts that reached the ring.
    pub fn interrupts_raised(&self) -> u64 {
        self.interrupts.raised()
    }

    pub fn note(&mut self, text: String) {
        if self.notes.len() == NOTES {
            self.notes.pop_front();
        }
        self.notes.push_back(format!("{} {text}", self.now().0));
    }

    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().collect()
    }
}
