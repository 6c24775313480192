// SPDX-License-Identifier: GPL-2.0-only
//! The mailbox: the guest's messages and the host's answers. Numbers are those of the
//! driver's mxgpu_nv.h.

use super::Host;
use crate::bus::Buses;
use crate::clock::{Event, HostStep};
use crate::interrupt::{client, source, Interrupt};
use crate::registers::table::nbio;

/// Of the half of the control register by which the guest sends.
const SENT: u32 = 1 << 0;
const HEARD: u32 = 1 << 1;
/// Of the half by which it receives.
const ANSWERED: u32 = 1 << 8;
const TAKEN: u32 = 1 << 9;

/// Of the register for interrupts.
const ON_ANSWER: u32 = 1 << 0;
const ON_HEARD: u32 = 1 << 1;

/// What the guest asks for.
mod request {
    pub const INIT_ACCESS: u32 = 1;
    pub const INIT_DONE: u32 = 2;
    pub const FINI_ACCESS: u32 = 3;
    pub const FINI_DONE: u32 = 4;
    pub const RESET_ACCESS: u32 = 5;
    pub const INIT_DATA: u32 = 6;
    pub const LOG_ERROR: u32 = 200;
    pub const READY_TO_RESET: u32 = 201;
}

/// What the host says.
mod answer {
    pub const NOTHING: u32 = 0;
    pub const READY: u32 = 1;
    pub const RESET_COMES: u32 = 2;
    pub const RESET_DONE: u32 = 3;
    pub const FAIL: u32 = 5;
    pub const INIT_DATA_READY: u32 = 7;
}

/// The version of what is behind [`answer::INIT_DATA_READY`]: data at fixed places.
const FIXED_PLACES: u32 = 1;

/// What an answer of the host's means for the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consequence {
    Nothing,
    /// The GPU is reset.
    Reset,
}

impl Host {
    /// The guest has written a byte of the control register.
    pub fn control_written(&mut self, bus: &mut Buses, byte: u32, value: u8) {
        const REGISTER: u32 = nbio::BIF_BX_PF0_MAILBOX_CONTROL;
        let control = bus.registers.get(REGISTER);
        let value = u32::from(value);
        match byte {
            0 if value & SENT != 0 => {
                bus.registers.set(REGISTER, control | SENT);
                if control & SENT == 0 {
                    bus.soon(Event::Host(HostStep::Hear));
                }
            }
            0 => bus.registers.set(REGISTER, control & !(SENT | HEARD)),
            1 if (value << 8) & TAKEN != 0 => bus.registers.set(REGISTER, control & !ANSWERED),
            _ => {}
        }
    }

    /// The host notices the guest's message: what it has said before is gone.
    pub(super) fn hear(&mut self, bus: &mut Buses) {
        let control = bus.registers.get(nbio::BIF_BX_PF0_MAILBOX_CONTROL);
        if control & SENT == 0 || bus.faults.host_silent {
            return;
        }
        let request = bus.registers.get(nbio::BIF_BX_PF0_MAILBOX_MSGBUF_TRN_DW0);
        let first = bus.registers.get(nbio::BIF_BX_PF0_MAILBOX_MSGBUF_TRN_DW1);
        bus.registers
            .set(nbio::BIF_BX_PF0_MAILBOX_MSGBUF_RCV_DW0, answer::NOTHING);
        bus.registers
            .set(nbio::BIF_BX_PF0_MAILBOX_CONTROL, control | HEARD);
        interrupt(bus, ON_HEARD, source::MAILBOX_HEARD);
        let nanos = bus.config.timing.host_answer;
        let step = HostStep::Answer { request, first };
        bus.clock.after(nanos, Event::Host(step));
    }

    /// The host does what was asked, and says so.
    pub(super) fn answer(&mut self, bus: &mut Buses, request: u32, first: u32) -> Consequence {
        match request {
            request::INIT_ACCESS | request::FINI_ACCESS => {
                self.exclusive = true;
                super::place_exchange(bus);
                say(bus, [answer::READY, 0, 0, 0]);
            }
            request::INIT_DONE | request::FINI_DONE => self.exclusive = false,
            request::INIT_DATA => {
                super::place_exchange(bus);
                say(bus, [answer::INIT_DATA_READY, FIXED_PLACES, 0, 0]);
            }
            request::RESET_ACCESS | request::READY_TO_RESET => {
                self.exclusive |= request == request::RESET_ACCESS;
                return Consequence::Reset;
            }
            request::LOG_ERROR => bus.note(format!("the guest reports an error: {first:#x}")),
            other => {
                bus.note(format!("the guest asks its host for {other}"));
                say(bus, [answer::FAIL, 0, 0, 0]);
            }
        }
        Consequence::Nothing
    }

    /// The host wants to reset the GPU, and does so once the guest is ready for it.
    pub fn announce_reset(&self, bus: &mut Buses) {
        say(bus, [answer::RESET_COMES, 0, 0, 0]);
    }

    /// The GPU has been reset, as was asked.
    pub fn reset_done(&mut self, bus: &mut Buses) {
        super::place_exchange(bus);
        let answer = match self.exclusive {
            true => answer::READY,
            false => answer::RESET_DONE,
        };
        say(bus, [answer, 0, 0, 0]);
    }
}

fn say(bus: &mut Buses, words: [u32; 4]) {
    let registers = nbio::BIF_BX_PF0_MAILBOX_MSGBUF_RCV_DW0..;
    for (register, word) in registers.zip(words) {
        bus.registers.set(register, word);
    }
    let control = bus.registers.get(nbio::BIF_BX_PF0_MAILBOX_CONTROL);
    bus.registers
        .set(nbio::BIF_BX_PF0_MAILBOX_CONTROL, control | ANSWERED);
    interrupt(bus, ON_ANSWER, source::MAILBOX_ANSWER);
}

fn interrupt(bus: &mut Buses, enabled: u32, source: u32) {
    if bus.registers.get(nbio::BIF_BX_PF0_MAILBOX_INT_CNTL) & enabled != 0 {
        bus.raise(&Interrupt {
            client: client::BUS,
            source,
            ..Interrupt::default()
        });
    }
}
