// SPDX-License-Identifier: GPL-2.0-only
//! The faults of the table, what the GPU is told for each, and what may follow.

use anyhow::{ensure, Context, Result};
use vgpu_model::{Faults, Fence, HiqAction, Moment};

use super::super::faults::PAGE_FAULT;
use super::super::recovery::expect_hang;
use super::state::State;
use super::{IS_RESET, PATIENCE};
use crate::guest::Guest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    Late,
    Silent,
    Hung,
    Unyielding,
    Endless,
    InterruptsLost,
    InterruptsRepeated,
    InterruptsSpurious,
    InterruptsOverflow,
    DoorbellsLost,
    ReadPointersStuck,
    Memory,
    BusLost,
    CopiesSlow,
    CopiesHung,
    Reset,
}

/// All of them.
pub const FAULTS: &[Fault] = &[
    Fault::Late,
    Fault::Silent,
    Fault::Hung,
    Fault::Unyielding,
    Fault::Endless,
    Fault::InterruptsLost,
    Fault::InterruptsRepeated,
    Fault::InterruptsSpurious,
    Fault::InterruptsOverflow,
    Fault::DoorbellsLost,
    Fault::ReadPointersStuck,
    Fault::Memory,
    Fault::BusLost,
    Fault::CopiesSlow,
    Fault::CopiesHung,
    Fault::Reset,
];

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Fault::Late => "firmware answers late",
            Fault::Silent => "firmware does not answer",
            Fault::Hung => "the command processors hang",
            Fault::Unyielding => "a queue does not yield",
            Fault::Endless => "waves never end",
            Fault::InterruptsLost => "interrupts are lost",
            Fault::InterruptsRepeated => "interrupts come twice",
            Fault::InterruptsSpurious => "interrupts come for nothing",
            Fault::InterruptsOverflow => "the interrupt ring overflows",
            Fault::DoorbellsLost => "doorbells are lost",
            Fault::ReadPointersStuck => "read pointers stay where they are",
            Fault::Memory => "a queue has a fault in memory",
            Fault::BusLost => "registers read all ones",
            Fault::CopiesSlow => "copies are slow",
            Fault::CopiesHung => "the copy engines hang",
            Fault::Reset => "the GPU is reset",
        }
    }

    pub fn faults(self, doorbell: Option<u64>) -> Faults {
        // Longer than any step of a transaction; far below what the driver waits.
        const LATE_NS: u64 = 3_000_000;
        // Long enough to ask for a reset meanwhile, and not as long as the driver waits.
        const VERY_LATE_NS: u64 = 150_000_000;
        let mut faults = Faults::default();
        match self {
            Fault::Late => faults.fence = Fence::Late(LATE_NS),
            Fault::Silent => faults.fence = Fence::Never,
            Fault::Hung => faults.hung = true,
            Fault::Unyielding => faults.unyielding.extend(doorbell),
            Fault::Endless => faults.endless.extend(doorbell),
            Fault::InterruptsLost => faults.interrupts_lost = true,
            Fault::InterruptsRepeated => faults.interrupts_repeated = true,
            Fault::InterruptsSpurious => faults.interrupts_spurious = true,
            Fault::InterruptsOverflow => faults.interrupts_overflow = true,
            Fault::DoorbellsLost => faults.doorbells_lost = true,
            Fault::ReadPointersStuck => faults.read_pointers_stuck = true,
            Fault::Memory => faults.faulting.extend(doorbell),
            Fault::BusLost => faults.bus_lost = true,
            Fault::CopiesSlow => faults.copies_slow = true,
            Fault::CopiesHung => faults.copies_hung = true,
            Fault::Reset => faults.fence = Fence::Late(VERY_LATE_NS),
        }
        faults
    }

    /// Whether the driver may have to reset something once it asks for anything.
    pub fn may_end_in_reset(self) -> bool {
        matches!(
            self,
            Fault::Silent
                | Fault::Hung
                | Fault::Unyielding
                | Fault::BusLost
                | Fault::CopiesHung
                | Fault::Reset
        )
    }

    /// Whether the GPU counts what it changes.
    pub fn is_counted(self) -> bool {
        matches!(
            self,
            Fault::InterruptsLost
                | Fault::InterruptsRepeated
                | Fault::InterruptsSpurious
                | Fault::InterruptsOverflow
                | Fault::DoorbellsLost
                | Fault::ReadPointersStuck
                | Fault::Memory
                | Fault::CopiesSlow
                | Fault::CopiesHung
        )
    }

    /// Whether a program that copies has to run beside the load.
    pub fn concerns_copies(self) -> bool {
        matches!(self, Fault::CopiesSlow | Fault::CopiesHung)
    }

    /// Whether it is the firmware's or the bus's, and there without any queue.
    fn needs_no_queue(self) -> bool {
        matches!(
            self,
            Fault::Late | Fault::Silent | Fault::Hung | Fault::BusLost | Fault::Reset
        )
    }

    /// Why the fault and the state cannot coincide, if they cannot.
    pub fn excludes(self, state: State) -> Option<&'static str> {
        let is_mapped = !matches!(state, State::Editing | State::Stopped);
        match (self, state) {
            (fault, State::Idle) if !fault.needs_no_queue() => Some("no queue is there"),
            (Fault::InterruptsLost, State::Stopped) => {
                Some("who is waited for sleeps, and the queue is started")
            }
            (Fault::ReadPointersStuck, State::Stopped) => {
                Some("who is waited for looks idle, and the queue is started")
            }
            (Fault::Memory, _) if !is_mapped => Some("the queue is not mapped"),
            (Fault::Reset, State::Editing | State::Mapping) => {
                Some("the driver waits for the lock")
            }
            _ => None,
        }
    }

    /// Accepts what the kernel may say of it.
    pub fn expect(self, guest: &mut Guest) {
        if self.may_end_in_reset() {
            expect_hang(guest);
            for text in ["Queue preemption failed", "is reset", "Queues reset on"] {
                guest.expect_log(text);
            }
            guest.expect_log(IS_RESET);
        }
        if self == Fault::BusLost {
            // A reset begins while the bus is lost.
            for text in [
                "Failed to reset SDMA logical instance",
                "IB test failed on",
                "ib ring test failed",
            ] {
                guest.expect_log(text);
            }
        }
        if self == Fault::Hung {
            // What the driver asks for meanwhile is not done.
            for text in [
                "timeout, signaled seq=",
                "destroy queue",
                "Failed to quiesce KFD",
                "timeout waiting for kiq fence",
            ] {
                guest.expect_log(text);
            }
        }
        if self == Fault::Memory {
            PAGE_FAULT.iter().for_each(|text| guest.expect_log(text));
        }
    }
}

/// Checks that the fault began at that moment of a transaction of the module's.
pub fn check_began(guest: &mut Guest, moment: Moment, mark: u64) -> Result<()> {
    let mut began = None;
    guest.wait_until("the fault begins", PATIENCE, |guest| {
        began = guest.device.faults_began()?;
        Ok(began.is_some())
    })?;
    let began = began.context("it has not begun")?;
    // Nobody but the module had anything sent since the mark.
    let packet = guest.device.hiq(began.packet)?.into_iter().next();
    let packet = packet.context("the packet is not in the log")?;
    let fits = match moment {
        Moment::Unmap => matches!(packet.action, HiqAction::Unmap { .. }),
        Moment::Unmapped => matches!(packet.action, HiqAction::QueryStatus { .. }),
        Moment::Map => matches!(packet.action, HiqAction::RunList { .. }),
    };
    ensure!(
        fits && began.packet >= mark && began.packet < mark + 8,
        "the fault began at {packet:?}, {} packets after the mark",
        began.packet.saturating_sub(mark)
    );
    Ok(())
}
