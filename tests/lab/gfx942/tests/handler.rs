// SPDX-License-Identifier: GPL-2.0-only
//! What a trap handler needs: its registers, the way there and back, scalar stores, and
//! registers by an index.

use crate::common::recorded::step;
use crate::common::{done, named, run, smem, sop1, sop2, sopc, sopk, Bytes, CODE};
use gfx942::wave::{Fault, HardwareRegister, Outcome, Wave};

const STATUS_PRIVILEGED: u32 = 1 << 5;
const HANDLER: u64 = 0x7fff_0000_0000;

fn field(register: u32, from: u32, width: u32) -> i16 {
    (register | (from << 6) | ((width - 1) << 11)) as u16 as i16
}

fn handler_wave() -> Wave {
    let mut wave = Wave::new(CODE);
    wave.begin_handler(CODE);
    wave
}

#[test]
fn a_wave_goes_to_its_handler_and_back() {
    let mut wave = Wave::new(0x1234_5678_9abc);
    wave.enter_handler(HANDLER, 7);
    assert!(wave.is_privileged());
    assert_eq!(wave.pc, HANDLER);
    assert_eq!(
        (wave.temporary(0), wave.temporary(1)),
        (0x5678_9abc, 0x0007_1234)
    );
    for code in [
        sop1("s_rfe_b64", 0, 110),
        sop2("s_rfe_restore_b64", 0, 110, 8),
    ] {
        let mut wave = wave.clone();
        wave.set_scalar_pair(110, 0x4000_0010);
        assert_eq!(run(&mut wave, &code), Outcome::Next);
        assert_eq!((wave.pc, wave.is_privileged()), (0x4000_0010, false));
        // The way back is the handler's alone.
        assert!(matches!(run(&mut wave, &code), Outcome::Illegal { .. }));
    }
}

#[test]
fn only_the_handler_changes_the_status() {
    let all = sopk("s_setreg_b32", 8, field(2, 0, 32));
    let mut wave = Wave::new(0);
    wave.set_vcc(1);
    wave.set_scalar(8, u32::MAX);
    done(&mut wave, &all);
    assert_eq!(wave.hardware(HardwareRegister::Status), 0);
    assert!(!wave.scc);
    wave.begin_handler(0);
    done(&mut wave, &all);
    assert!(wave.scc);
    // Neither what follows from EXEC and VCC nor the handler's own bit.
    let expected = !(1 << 9) & !(1 << 10);
    assert_eq!(wave.hardware(HardwareRegister::Status), expected);
    wave.set_scalar(8, 0);
    // The condition code stays where it is not among the bits.
    done(&mut wave, &sopk("s_setreg_b32", 8, field(2, 3, 29)));
    assert_eq!(
        wave.hardware(HardwareRegister::Status),
        STATUS_PRIVILEGED | 7
    );
    done(&mut wave, &sopk("s_setreg_b32", 8, field(2, 0, 1)));
    assert!(!wave.scc);
    wave.set_scalar(8, u32::MAX);
    done(&mut wave, &sopk("s_setreg_b32", 8, field(7, 15, 6)));
    let kept = wave.hardware(HardwareRegister::InstructionBuffer);
    assert_eq!(kept, 0x001f_8000);
}

#[test]
fn only_the_handler_sees_where_it_is() {
    let registers = [
        (16, HardwareRegister::HandlerLower),
        (17, HardwareRegister::HandlerUpper),
        (18, HardwareRegister::HandlerMemoryLower),
        (19, HardwareRegister::HandlerMemoryUpper),
    ];
    for (number, register) in registers {
        let mut wave = Wave::new(0);
        wave.set_hardware(register, 0x1000 + number);
        let read = sopk("s_getreg_b32", 8, field(number, 0, 32));
        done(&mut wave, &read);
        assert_eq!(wave.scalar(8), 0);
        wave.begin_handler(0);
        done(&mut wave, &read);
        assert_eq!(wave.scalar(8), 0x1000 + number);
    }
}

#[test]
fn scalar_registers_by_an_index() {
    let mut wave = Wave::new(0);
    for at in 0..108 {
        wave.set_scalar(at, 0x100 + u32::from(at));
    }
    wave.set_m0(16);
    done(&mut wave, &sop1("s_movrels_b64", 2, 4));
    assert_eq!((wave.scalar(2), wave.scalar(3)), (0x114, 0x115));
    done(&mut wave, &sop1("s_movrels_b32", 5, 4));
    assert_eq!((wave.scalar(5), wave.scalar(6)), (0x114, 0x106));
    done(&mut wave, &sop1("s_movreld_b64", 30, 40));
    assert_eq!((wave.scalar(46), wave.scalar(47)), (0x128, 0x129));
    done(&mut wave, &sop1("s_movreld_b32", 33, 40));
    assert_eq!((wave.scalar(49), wave.scalar(50)), (0x128, 0x132));
    // VCC is the last that an index reaches.
    wave.set_m0(106);
    done(&mut wave, &sop1("s_movrels_b64", 2, 0));
    assert_eq!(wave.scalar_pair(2), wave.vcc());
    done(&mut wave, &sop1("s_movrels_b64", 2, 2));
    assert_eq!(wave.scalar_pair(2), 0);
    let before = wave.clone();
    done(&mut wave, &sop1("s_movreld_b64", 2, 8));
    wave.pc = before.pc;
    assert_eq!(wave, before);
    wave.set_m0(u32::MAX);
    done(&mut wave, &sop1("s_movrels_b32", 2, 9));
    assert_eq!(wave.scalar(2), 0x108, "an index can lead back");
}

#[test]
fn accumulation_registers_by_an_index() {
    let mut wave = Wave::new(0);
    for register in 0..8 {
        wave.set_accumulator(register, 3, 0x200 + u32::from(register));
        wave.set_vector(register, 3, 0x300 + u32::from(register));
    }
    let packed = |name: &str, to: u32, from: u32| {
        named(name, |number| {
            let first = (0x1a7 << 23) | ((number & 0x7f) << 16) | to;
            vec![first, 0x1800_0000 | from]
        })
    };
    let read = packed("v_accvgpr_read_b32", 1, 0x102);
    let write = packed("v_accvgpr_write_b32", 1, 0x102);
    wave.set_scalar(8, 4);
    // Of the first source.
    done(&mut wave, &sopc("s_set_gpr_idx_on", 8, 1));
    done(&mut wave, &read);
    assert_eq!(wave.vector(1, 3), 0x206);
    // Of the destination.
    done(&mut wave, &sopc("s_set_gpr_idx_on", 8, 8));
    done(&mut wave, &write);
    assert_eq!(
        (wave.accumulator(1, 3), wave.accumulator(5, 3)),
        (0x201, 0x302)
    );
}

#[test]
fn vector_instructions_are_skipped() {
    let mut wave = Wave::new(0);
    wave.set_scalar(8, 4);
    wave.set_scalar(9, 2);
    // The bit of the first source that the second has the number of.
    done(&mut wave, &sopc("s_setvskip", 8, 9));
    let change = crate::common::vop1("v_mov_b32", 5, 8);
    done(&mut wave, &change);
    assert_eq!(wave.vector(5, 0), 0);
    done(&mut wave, &sopc("s_setvskip", 8, 8));
    assert_eq!(wave.hardware(HardwareRegister::Mode), 0);
    done(&mut wave, &change);
    assert_eq!(wave.vector(5, 0), 4);
}

#[test]
fn scalar_stores_write_dwords_and_a_buffer_ends() {
    for (name, count) in [
        ("s_store_dword", 1),
        ("s_store_dwordx2", 2),
        ("s_store_dwordx4", 4),
    ] {
        let mut memory = Bytes::default();
        memory.put(0x2_0000_0000, &[7; 5]);
        memory.put(CODE, &smem(name, 16, 4, 4));
        let mut wave = handler_wave();
        wave.set_scalar_pair(4, 0x2_0000_0002);
        for at in 0..4 {
            wave.set_scalar(16 + at, 0x50 + u32::from(at));
        }
        assert_eq!(step(&mut wave, &mut memory), Outcome::Next, "{name}");
        for at in 0..4 {
            let expected = if at < count { 0x50 + at } else { 7 };
            let address = 0x2_0000_0004 + u64::from(at) * 4;
            assert_eq!(memory.word(address), expected, "{name} {at}");
        }
        assert_eq!(memory.word(0x2_0000_0000), 7);

        let mut wave = handler_wave();
        wave.set_scalar_pair(4, 0x2_0000_0010);
        let fault = Fault {
            address: 0x2_0000_0014,
            write: true,
        };
        assert_eq!(step(&mut wave, &mut memory), Outcome::Fault(fault));
    }
    let mut memory = Bytes::default();
    memory.put(0x2_0000_0000, &[7; 8]);
    memory.put(CODE, &smem("s_buffer_store_dwordx4", 16, 4, 8));
    let mut wave = handler_wave();
    wave.set_scalar_pair(4, 0x2_0000_0000);
    wave.set_scalar(6, 16);
    for at in 0..4 {
        wave.set_scalar(16 + at, 0x60 + u32::from(at));
    }
    assert_eq!(step(&mut wave, &mut memory), Outcome::Next);
    let words: Vec<u32> = (0..8)
        .map(|at| memory.word(0x2_0000_0000 + at * 4))
        .collect();
    assert_eq!(words, [7, 7, 0x60, 0x61, 7, 7, 7, 7]);
}

#[test]
fn a_wave_can_have_fewer_registers() {
    let mut wave = Wave::with_registers(0, 4, 8);
    wave.set_vector(3, 0, 1);
    wave.set_vector(4, 0, 2);
    wave.set_accumulator(7, 0, 3);
    wave.set_accumulator(8, 0, 4);
    assert_eq!((wave.vector(3, 0), wave.vector(4, 0)), (1, 0));
    assert_eq!((wave.accumulator(7, 0), wave.accumulator(8, 0)), (3, 0));
}
