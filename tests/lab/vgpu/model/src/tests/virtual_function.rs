// SPDX-License-Identifier: GPL-2.0-only
//! A virtual function and its host.

use crate::device::Device;
use crate::host::{exchange, By};
use crate::memory::FB_BASE;
use crate::registers::table::{gc, ih, mp, nbio};
use crate::registers::xcc_base;
use crate::terms::{Config, Faults, GpuNanos, Vram, Worlds};
use crate::testing::{TestBus, TestVram};

const CONTROL: u64 = nbio::BIF_BX_PF0_MAILBOX_CONTROL as u64 * 4;
const REQUEST: u32 = nbio::BIF_BX_PF0_MAILBOX_MSGBUF_TRN_DW0;
const ANSWER: u32 = nbio::BIF_BX_PF0_MAILBOX_MSGBUF_RCV_DW0;

struct Fixture {
    device: Device,
    vram: TestVram,
}

fn fixture() -> Fixture {
    let vram = TestVram::new(64 << 20);
    let config = Config {
        virtual_function: true,
        xcc_count: 2,
        ..Config::default()
    };
    let bus = Box::new(TestBus::new(1 << 20));
    Fixture {
        device: Device::new(config, bus, Box::new(vram.clone())).unwrap(),
        vram,
    }
}

impl Fixture {
    fn read(&mut self, register: u32) -> u32 {
        self.device.register_read(u64::from(register) * 4)
    }

    fn write(&mut self, register: u32, value: u32) {
        self.device.register_write(u64::from(register) * 4, value);
    }

    fn pass(&mut self, nanos: u64) {
        let now = self.device.now().after(nanos);
        self.device.advance_to(now);
    }

    /// Asks the host as the driver does, and returns the answer.
    fn ask(&mut self, request: u32) -> u32 {
        self.device.register_write_byte(CONTROL, 0);
        assert_eq!(self.read(CONTROL as u32 / 4) & 2, 0);
        self.write(REQUEST, request);
        self.device.register_write_byte(CONTROL, 1);
        self.pass(2_000);
        assert_eq!(self.read(CONTROL as u32 / 4) & 2, 2, "the host has heard");
        self.device.register_write_byte(CONTROL, 0);
        self.pass(1_000_000);
        let answer = self.read(ANSWER);
        self.device.register_write_byte(CONTROL + 1, 2);
        answer
    }
}

#[test]
fn the_guest_finds_that_it_is_one_and_which_die_is_which() {
    let mut it = fixture();
    assert_eq!(it.read(nbio::RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER) & 1, 1);
    assert_eq!(it.read(gc::CP_HYP_XCP_CTL), 2 << 3);
}

#[test]
fn requests_are_answered() {
    let mut it = fixture();
    assert_eq!(it.ask(6), 7);
    assert_eq!(it.read(ANSWER + 1), 1, "data at fixed places");
    assert_eq!(it.ask(1), 1);
    assert_eq!(it.ask(2), 0, "what was said before is gone");
    assert_eq!(it.ask(3), 1);
    assert_eq!(it.ask(4), 0);
    assert_eq!(it.ask(77), 5);
}

#[test]
fn a_reset_leaves_the_mailbox_and_clears_the_rest() {
    let mut it = fixture();
    it.write(nbio::BIF_BX_PF0_MAILBOX_INT_CNTL, 3);
    it.write(gc::SCRATCH_REG0, 0xcafe);
    assert_eq!(it.ask(5), 1);
    assert_eq!(it.read(nbio::BIF_BX_PF0_MAILBOX_INT_CNTL), 3);
    assert_eq!(it.read(gc::SCRATCH_REG0), 0);
    assert_eq!(it.device.state().resets, 1);
}

#[test]
fn the_host_resets_the_gpu_once_the_guest_is_ready() {
    let mut it = fixture();
    it.device.host_reset().unwrap();
    it.pass(1_000_000);
    assert_eq!(it.read(ANSWER), 2);
    assert_eq!(it.device.state().resets, 0);
    assert_eq!(it.ask(201), 3);
    assert_eq!(it.device.state().resets, 1);
}

#[test]
fn a_silent_host_hears_nothing() {
    let mut it = fixture();
    it.device.set_faults(Faults {
        host_silent: true,
        ..Faults::default()
    });
    it.write(REQUEST, 1);
    it.device.register_write_byte(CONTROL, 1);
    it.pass(1_000_000);
    assert_eq!(it.read(CONTROL as u32 / 4), 1);
    assert_eq!(it.read(ANSWER), 0);
}

/// The driver adds up the page and takes off the bytes of the sum that it finds there.
#[test]
fn the_hosts_page_adds_up() {
    let it = fixture();
    let mut page = [0; exchange::BYTES];
    it.vram.read(exchange::OFFSET, &mut page);
    let word = |at: usize| u32::from_le_bytes(page[at..at + 4].try_into().unwrap());
    assert_eq!((word(0), word(4)), (1024, 2));
    let sum: u32 = page.iter().map(|byte| u32::from(*byte)).sum();
    let stored: u32 = page[16..20].iter().map(|byte| u32::from(*byte)).sum();
    assert_eq!(word(16), sum - stored);
}

#[test]
fn what_is_the_hosts_reads_as_ones_and_is_counted() {
    let mut it = fixture();
    let strap = nbio::RCC_STRAP0_RCC_DEV0_EPF0_STRAP0;
    assert_eq!(it.read(strap), u32::MAX);
    assert_eq!(it.read(strap), u32::MAX);
    it.write(gc::CP_HYP_XCP_CTL, 0x55);
    assert_eq!(it.read(gc::CP_HYP_XCP_CTL), 2 << 3, "it is not written");
    let refused = it.device.forbidden();
    let seen: Vec<_> = refused
        .iter()
        .map(|one| (one.register, one.by, one.write, one.times))
        .collect();
    assert_eq!(
        seen,
        [
            (strap, By::Processor, false, 2),
            (gc::CP_HYP_XCP_CTL, By::Processor, true, 1),
        ]
    );
    assert_eq!(
        refused[0].name.as_deref(),
        Some("RCC_STRAP0_RCC_DEV0_EPF0_STRAP0")
    );
}

#[test]
fn the_firmware_accesses_registers_for_the_guest() {
    let mut it = fixture();
    let die = xcc_base(1);
    let target = die + gc::CP_IQ_WAIT_TIME2;
    it.write(die + gc::SCRATCH_REG0, 0x1234);
    it.write(die + gc::SCRATCH_REG1, target | (8 << 28));
    it.write(die + gc::RLC_SPARE_INT, 1);
    assert_eq!(it.read(die + gc::SCRATCH_REG1), 8 << 28);
    assert_eq!(it.read(target), 0x1234);
    it.write(die + gc::SCRATCH_REG1, die + gc::CP_HYP_XCP_CTL);
    it.write(die + gc::RLC_SPARE_INT, 1);
    assert_eq!(it.read(die + gc::SCRATCH_REG1), 1 << 24, "it may not");
    assert_eq!(it.device.forbidden().len(), 1);
    it.write(die + gc::SCRATCH_REG1, target | (1 << 28));
    it.write(die + gc::SCRATCH_REG0, 0);
    it.write(die + gc::RLC_SPARE_INT, 1);
    assert_eq!(it.read(die + gc::SCRATCH_REG0), 0x1234);
}

#[test]
fn the_interrupt_ring_is_controlled_by_the_security_processor_alone() {
    const DONE: u32 = 1 << 31;
    let mut it = fixture();
    it.write(ih::IH_RB_CNTL, 1);
    assert_eq!(it.read(ih::IH_RB_CNTL), 0);
    let (ring, buffer, fence) = (1u64 << 20, 2u64 << 20, 3u64 << 20);
    let word = |it: &Fixture, at: u64, value: u32| it.vram.write(at, &value.to_le_bytes());
    let address = FB_BASE + ring;
    it.write(mp::MP0_SMN_C2PMSG_102, address as u32);
    it.write(mp::MP0_SMN_C2PMSG_103, (address >> 32) as u32);
    it.write(mp::MP0_SMN_C2PMSG_101, 2 << 16);
    it.pass(2_000);
    assert_eq!(it.read(mp::MP0_SMN_C2PMSG_101) & 0x8000_ffff, DONE);
    assert_eq!(it.read(mp::MP0_SMN_C2PMSG_102), 0);
    // Twice as many commands as the ring has room for.
    for number in 0..128u32 {
        let frame = ring + u64::from(number % 64) * 64;
        for (at, value) in [(0, FB_BASE + buffer), (12, FB_BASE + fence)] {
            word(&it, frame + at, value as u32);
            word(&it, frame + at + 4, (value >> 32) as u32);
        }
        word(&it, frame + 20, number + 1);
        word(&it, buffer + 8, 11);
        word(&it, buffer + 28, 0x40 + number);
        word(&it, buffer + 32, 0);
        word(&it, buffer + 864, 9);
        it.write(mp::MP0_SMN_C2PMSG_102, (number + 1) * 16 % 1024);
        it.write(mp::MP0_SMN_C2PMSG_101, 9 << 16);
        it.pass(2_000);
        let mut done = [0; 4];
        it.vram.read(fence, &mut done);
        assert_eq!(u32::from_le_bytes(done), number + 1);
        it.vram.read(buffer + 864, &mut done);
        assert_eq!(done, [0; 4], "the status");
        assert_eq!(it.read(ih::IH_RB_CNTL), 0x40 + number);
    }
}

#[test]
fn while_others_have_the_hardware_nothing_happens_but_the_clock() {
    let mut it = fixture();
    let worlds = Worlds {
        own: 10_000,
        others: 1_000_000,
    };
    it.device.set_worlds(Some(worlds)).unwrap();
    it.pass(9_990);
    // The host would hear this after a microsecond.
    it.write(REQUEST, 6);
    it.device.register_write_byte(CONTROL, 1);
    let ticks = it.read(gc::RLC_GPU_CLOCK_COUNT_LSB);
    it.pass(900_000);
    assert_eq!(it.read(CONTROL as u32 / 4) & 2, 0);
    let later = it.read(gc::RLC_GPU_CLOCK_COUNT_LSB);
    assert_eq!(later - ticks, 90_000);
    let next = it.device.next_event().unwrap();
    assert_eq!(next, GpuNanos(10_000 + 1_000_000));
    assert_eq!(it.device.state().world_switches, 0);
    it.device.advance_to(GpuNanos(1_010_989));
    assert_eq!(it.read(CONTROL as u32 / 4) & 2, 0);
    it.device.advance_to(GpuNanos(1_010_990));
    assert_eq!(it.read(CONTROL as u32 / 4) & 2, 2);
    assert_eq!(it.device.state().world_switches, 1);
    assert_eq!(it.device.now(), GpuNanos(1_010_990));
    // From then on it has all the time.
    it.device.set_worlds(None).unwrap();
    it.pass(1_000_000);
    assert_eq!(it.read(ANSWER), 7);
}

#[test]
fn who_sets_up_the_gpu_is_not_interrupted() {
    let mut it = fixture();
    assert_eq!(it.ask(1), 1);
    let worlds = Worlds {
        own: 10_000,
        others: 1_000_000,
    };
    it.device.set_worlds(Some(worlds)).unwrap();
    it.pass(10_000_000);
    assert_eq!(it.device.state().world_switches, 0);
    it.write(REQUEST, 2);
    it.device.register_write_byte(CONTROL, 1);
    it.pass(1_000_000);
    it.pass(10_000_000);
    assert!(it.device.state().world_switches > 0);
}

#[test]
fn only_a_virtual_function_takes_turns_or_is_reset_by_its_host() {
    let bus = Box::new(TestBus::new(1 << 20));
    let vram = Box::new(TestVram::new(64 << 20));
    let mut device = Device::new(Config::default(), bus, vram).unwrap();
    let worlds = |own, others| Some(Worlds { own, others });
    let error = device.set_worlds(worlds(1, 1)).unwrap_err().to_string();
    assert_eq!(error, "only a virtual function has a host");
    assert_eq!(device.host_reset().unwrap_err().to_string(), error);
    let mut it = fixture();
    for (own, others) in [(0, 1), (1, 0), (1, 2_000_000_000)] {
        assert!(it.device.set_worlds(worlds(own, others)).is_err());
    }
}
