// SPDX-License-Identifier: GPL-2.0-only
//! Where a wave goes on, which lanes it has, and what stops it.

use crate::common::recorded::step;
use crate::common::{
    done, named, run, smem, sop1, sop2, sopc, sopk, sopp, vop1, vopc, Bytes, CODE,
};
use gfx942::wave::{Fault, HardwareRegister, Memory, Outcome, Wave};

const VCC: u32 = 106;
const EXEC: u32 = 126;

#[test]
fn a_branch_counts_dwords_from_the_next_instruction() {
    for by in [0, 1, -1, -2, i16::MAX, i16::MIN] {
        let mut wave = Wave::new(0);
        assert_eq!(run(&mut wave, &sopp("s_branch", by)), Outcome::Next);
        assert_eq!(wave.pc as i64, CODE as i64 + 4 + 4 * i64::from(by));
    }
}

#[test]
fn conditional_branches_ask_what_they_are_named_after() {
    let lanes = [0, 1, 1 << 63, u64::MAX];
    for vcc in lanes {
        for exec in lanes {
            for scc in [false, true] {
                for (name, taken) in [
                    ("s_cbranch_scc0", !scc),
                    ("s_cbranch_scc1", scc),
                    ("s_cbranch_vccz", vcc == 0),
                    ("s_cbranch_vccnz", vcc != 0),
                    ("s_cbranch_execz", exec == 0),
                    ("s_cbranch_execnz", exec != 0),
                ] {
                    let mut wave = Wave::new(0);
                    wave.set_vcc(vcc);
                    wave.set_exec(exec);
                    wave.scc = scc;
                    assert_eq!(run(&mut wave, &sopp(name, 5)), Outcome::Next);
                    assert_eq!(wave.pc, CODE + if taken { 24 } else { 4 }, "{name}");
                }
            }
        }
    }
}

#[test]
fn calls_and_jumps_keep_the_way_back() {
    let mut wave = Wave::new(0);
    assert_eq!(run(&mut wave, &sopk("s_call_b64", 10, -3)), Outcome::Next);
    assert_eq!((wave.scalar_pair(10), wave.pc), (CODE + 4, CODE - 8));

    wave.set_scalar_pair(20, 0x1234_5678_9abc);
    assert_eq!(run(&mut wave, &sop1("s_swappc_b64", 10, 20)), Outcome::Next);
    assert_eq!(
        (wave.scalar_pair(10), wave.pc),
        (CODE + 4, 0x1234_5678_9abc)
    );

    assert_eq!(run(&mut wave, &sop1("s_setpc_b64", 0, 20)), Outcome::Next);
    assert_eq!(wave.pc, 0x1234_5678_9abc);

    done(&mut wave, &sop1("s_getpc_b64", 10, 0));
    assert_eq!(wave.scalar_pair(10), CODE + 4);
}

#[test]
fn a_jump_through_the_register_that_it_overwrites_takes_the_old_value() {
    let mut wave = Wave::new(0);
    wave.set_scalar_pair(20, 0x4000);
    assert_eq!(run(&mut wave, &sop1("s_swappc_b64", 20, 20)), Outcome::Next);
    assert_eq!((wave.scalar_pair(20), wave.pc), (CODE + 4, 0x4000));
}

#[test]
fn lanes_are_saved_and_combined() {
    type Rule = fn(u64, u64) -> u64;
    let rules: [(&str, Rule); 10] = [
        ("s_and_saveexec_b64", |s, e| s & e),
        ("s_or_saveexec_b64", |s, e| s | e),
        ("s_xor_saveexec_b64", |s, e| s ^ e),
        ("s_andn2_saveexec_b64", |s, e| s & !e),
        ("s_orn2_saveexec_b64", |s, e| s | !e),
        ("s_nand_saveexec_b64", |s, e| !(s & e)),
        ("s_nor_saveexec_b64", |s, e| !(s | e)),
        ("s_andn1_saveexec_b64", |s, e| e & !s),
        ("s_orn1_saveexec_b64", |s, e| e | !s),
        ("s_xnor_saveexec_b64", |s, e| !(s ^ e)),
    ];
    for source in [0, 0xff00_ff00_ff00_ff00, u64::MAX] {
        for exec in [0, 0xffff_0000_ffff_0000, u64::MAX] {
            for (name, rule) in rules {
                let mut wave = Wave::new(0);
                wave.set_scalar_pair(4, source);
                wave.set_exec(exec);
                done(&mut wave, &sop1(name, 8, 4));
                let expected = rule(source, exec);
                assert_eq!(
                    (wave.scalar_pair(8), wave.exec()),
                    (exec, expected),
                    "{name}"
                );
                assert_eq!(wave.scc, expected != 0);
            }
            for (name, expected) in [
                ("s_andn2_wrexec_b64", source & !exec),
                ("s_andn1_wrexec_b64", exec & !source),
            ] {
                let mut wave = Wave::new(0);
                wave.set_scalar_pair(4, source);
                wave.set_exec(exec);
                done(&mut wave, &sop1(name, 8, 4));
                let found = (wave.scalar_pair(8), wave.exec(), wave.scc);
                assert_eq!(found, (expected, expected, expected != 0), "{name}");
            }
        }
    }
}

#[test]
fn special_registers_have_numbers_as_the_others() {
    let mut wave = Wave::new(0);
    wave.set_scalar_pair(4, 0x0123_4567_89ab_cdef);
    done(&mut wave, &sop1("s_mov_b64", VCC, 4));
    done(&mut wave, &sop1("s_mov_b64", EXEC, 4));
    done(&mut wave, &sop1("s_mov_b32", 124, 4));
    assert_eq!(
        (wave.vcc(), wave.exec()),
        (0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef)
    );
    assert_eq!(wave.m0(), 0x89ab_cdef);
    assert!(wave.is_active(0) && !wave.is_active(4) && !wave.is_active(64));
    for (source, expected) in [(251, 0), (252, 0), (253, 1)] {
        wave.scc = true;
        done(&mut wave, &sop1("s_mov_b32", 8, source));
        assert_eq!(wave.scalar(8), expected);
    }
}

#[test]
fn constants_are_numbers_of_the_width_of_their_source() {
    let cases: [(u32, u32, u64); 8] = [
        (128, 0, 0),
        (192, 64, 64),
        (193, u32::MAX, u64::MAX),
        (208, -16_i32 as u32, -16_i64 as u64),
        (240, 0.5_f32.to_bits(), 0.5_f64.to_bits()),
        (247, (-4.0_f32).to_bits(), (-4.0_f64).to_bits()),
        (248, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
        (255, 0x8765_4321, 0x8765_4321),
    ];
    for (code, half, whole) in cases {
        let literal = |mut words: Vec<u32>| {
            if code == 255 {
                words.push(0x8765_4321);
            }
            words
        };
        let mut wave = Wave::new(0);
        done(&mut wave, &literal(sop1("s_mov_b32", 8, code)));
        assert_eq!(wave.scalar(8), half, "{code}");
        done(&mut wave, &literal(sop1("s_mov_b64", 8, code)));
        assert_eq!(wave.scalar_pair(8), whole, "{code}");
    }
}

#[test]
fn a_literal_of_64_bits_has_a_sign_where_the_operation_has_one() {
    const LITERAL: u32 = 255;
    let run = |mut code: Vec<u32>, literal: u32| {
        let mut wave = Wave::new(0);
        wave.set_scalar_pair(10, 0x8000_0000);
        for register in [4, 5] {
            wave.set_vector(register, 0, register as u32 * 0x1111_1111);
        }
        code.push(literal);
        done(&mut wave, &code);
        wave
    };
    let scalar = |code, literal| run(code, literal).scalar_pair(8);
    let zero = 128;
    assert_eq!(scalar(sop2("s_or_b64", 8, LITERAL, zero), 1 << 31), 1 << 31);
    assert_eq!(
        scalar(sop2("s_lshr_b64", 8, LITERAL, 132), 1 << 31),
        1 << 27
    );
    let field = |name| scalar(sop2(name, 8, 10, LITERAL), 40 << 16);
    assert_eq!(field("s_bfe_u64"), 1 << 31);
    assert_eq!(
        scalar(sop2("s_ashr_i64", 8, LITERAL, 132), 1 << 31),
        u64::MAX << 27
    );
    assert_eq!(
        scalar(sop1("s_flbit_i32_i64", 8, LITERAL), 1 << 31) as u32,
        33
    );
    assert_eq!(
        scalar(sop1("s_flbit_i32_b64", 8, LITERAL), 1 << 31) as u32,
        32
    );
    assert!(run(sopc("s_cmp_eq_u64", 10, LITERAL), 1 << 31).scc);
    let moved = run(vop1("v_mov_b64", 8, LITERAL), 1 << 31);
    assert_eq!((moved.vector(8, 0), moved.vector(9, 0)), (1 << 31, 0));
    // A positive number of 64 bits is above a negative literal, and the literal above it
    // without a sign.
    let compared = |name, literal| run(vopc(name, LITERAL, 6), literal).vcc() & 1;
    assert_eq!(compared("v_cmp_lt_i64", 1 << 31), 1);
    assert_eq!(compared("v_cmp_gt_u64", 1 << 31), 1);
}

#[test]
fn a_move_can_depend_on_the_condition_code() {
    for scc in [false, true] {
        let mut wave = Wave::new(0);
        wave.scc = scc;
        wave.set_scalar_pair(4, 0x1111_1111_2222_2222);
        wave.set_scalar_pair(8, 0x3333_3333_4444_4444);
        done(&mut wave, &sop1("s_cmov_b32", 8, 4));
        let lower = if scc { 0x2222_2222 } else { 0x4444_4444 };
        assert_eq!(wave.scalar_pair(8), 0x3333_3333_0000_0000 | lower);
        done(&mut wave, &sop1("s_cmov_b64", 8, 4));
        let expected = if scc {
            0x1111_1111_2222_2222
        } else {
            0x3333_3333_4444_4444
        };
        assert_eq!((wave.scalar_pair(8), wave.scc), (expected, scc));
        wave.set_scalar_pair(6, u64::MAX);
        done(&mut wave, &sop2("s_cselect_b64", 8, 4, 6));
        let expected = if scc { 0x1111_1111_2222_2222 } else { u64::MAX };
        assert_eq!((wave.scalar_pair(8), wave.scc), (expected, scc));
    }
}

#[test]
fn what_has_no_effect_changes_nothing_else() {
    let with_bits = |bits: u32| vec![bits, 0];
    let mut cases: Vec<Vec<u32>> = ["s_setprio", "s_ttracedata", "s_incperflevel"]
        .into_iter()
        .chain(["s_decperflevel", "s_icache_inv", "s_waitcnt"])
        .map(|name| sopp(name, 0))
        .collect();
    let scalar = [
        "s_dcache_inv",
        "s_dcache_wb",
        "s_dcache_inv_vol",
        "s_dcache_wb_vol",
    ];
    let buffer = [
        "buffer_wbl2",
        "buffer_inv",
        "buffer_wbinvl1",
        "buffer_wbinvl1_vol",
    ];
    // The encoding, and how many bits of its number an operation has, and where.
    for (encoding, mask, at, names) in [
        (0x30, 0xff, 18, &scalar[..]),
        (0x38, 0x7f, 18, &buffer),
        (0x36, 0xff, 17, &["ds_nop"]),
    ] {
        cases.extend(names.iter().map(|name| {
            named(name, |number| {
                with_bits((encoding << 26) | ((number & mask) << at))
            })
        }));
    }
    for name in ["v_nop", "v_clrexcp"] {
        cases.push(vop1(name, 0, 0));
    }
    for code in cases {
        let mut wave = Wave::new(0);
        for register in 0..128 {
            wave.set_scalar(register, u32::from(register) * 0x0101_0101);
        }
        wave.set_vector(0, 5, 77);
        let mut expected = wave.clone();
        expected.pc = CODE + 4 * code.len() as u64;
        done(&mut wave, &code);
        assert_eq!(wave, expected, "{code:x?}");
    }
    assert_eq!(
        run(&mut Wave::new(0), &sopp("s_endpgm_saved", 0)),
        Outcome::Ended
    );
}

/// Code at its place, and a clock.
struct Clocked(Bytes, u64);

impl Memory for Clocked {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        self.0.read(address, into)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.0.write(address, from)
    }

    fn clock(&mut self) -> u64 {
        self.1
    }
}

#[test]
fn clocks_can_be_read() {
    for name in ["s_memtime", "s_memrealtime"] {
        let code = named(name, |number| {
            vec![(0x30 << 26) | ((number & 0xff) << 18) | (8 << 6), 0]
        });
        let mut memory = Clocked(Bytes::default(), 0x1234_5678_9abc_def0);
        memory.0.put(CODE, &code);
        let mut wave = Wave::new(CODE);
        assert_eq!(step(&mut wave, &mut memory), Outcome::Next);
        assert_eq!(wave.scalar_pair(8), 0x1234_5678_9abc_def0);
    }
}

#[test]
fn parts_of_hardware_registers() {
    let mut wave = Wave::new(0);
    let field = |register: u32, from: u32, width: u32| {
        (register | (from << 6) | ((width - 1) << 11)) as u16 as i16
    };
    wave.set_hardware(HardwareRegister::HardwareId, 0x8765_4321);
    done(&mut wave, &sopk("s_getreg_b32", 8, field(4, 4, 8)));
    assert_eq!(wave.scalar(8), 0x32);
    done(&mut wave, &sopk("s_getreg_b32", 8, field(4, 0, 32)));
    assert_eq!(wave.scalar(8), 0x8765_4321);
    done(&mut wave, &sopk("s_getreg_b32", 8, field(4, 28, 32)));
    assert_eq!(wave.scalar(8), 8);

    wave.set_scalar(8, 0xffff_ffff);
    done(&mut wave, &sopk("s_setreg_b32", 8, field(1, 4, 4)));
    assert_eq!(wave.hardware(HardwareRegister::Mode), 0xf0);
    // The same with a constant, which is the next dword.
    let constant = |field: i16| {
        let mut code = sopk("s_setreg_imm32_b32", 0, field);
        code.push(0xffff_fff5);
        code
    };
    done(&mut wave, &constant(field(1, 0, 4)));
    assert_eq!(wave.hardware(HardwareRegister::Mode), 0xf5);
    // A program cannot move itself to another place of the GPU.
    done(&mut wave, &sopk("s_setreg_b32", 8, field(4, 0, 32)));
    assert_eq!(wave.hardware(HardwareRegister::HardwareId), 0x8765_4321);
}

#[test]
fn the_status_follows_what_it_is_about() {
    let status = |scc, vcc, exec| {
        let mut wave = Wave::new(0);
        wave.set_hardware(HardwareRegister::Status, 1 << 16);
        wave.scc = scc;
        wave.set_vcc(vcc);
        wave.set_exec(exec);
        wave.hardware(HardwareRegister::Status)
    };
    assert_eq!(status(false, 1, 1), 1 << 16);
    assert_eq!(status(true, 0, 1), (1 << 16) | 1 | (1 << 10));
    assert_eq!(status(false, 1, 0), (1 << 16) | (1 << 9));
}

#[test]
fn what_stops_a_wave_is_told() {
    let cases = [
        ("s_endpgm", 0, Outcome::Ended),
        ("s_barrier", 0, Outcome::Barrier),
        ("s_sleep", 5, Outcome::Sleep(5)),
        ("s_sethalt", 1, Outcome::Halted),
        ("s_sethalt", 0, Outcome::Next),
        ("s_sendmsg", 1, Outcome::Message(1)),
        ("s_trap", 3, Outcome::Trap(3)),
        ("s_waitcnt", 0, Outcome::Next),
        ("s_nop", 7, Outcome::Next),
    ];
    for (name, number, expected) in cases {
        let mut wave = Wave::new(0);
        assert_eq!(run(&mut wave, &sopp(name, number)), expected, "{name}");
        assert_eq!(wave.pc, CODE + 4, "{name}");
    }
}

#[test]
fn what_is_no_instruction_is_told_with_its_address_and_bytes() {
    // The first is no encoding at all; the second has no meaning here.
    for code in [vec![0xffff_ffff, 0x1122_3344], sopp("s_setkill", 1)] {
        let mut words = code.clone();
        words.resize(2, 0);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut wave = Wave::new(0);
        let mut before = wave.clone();
        before.pc = CODE;
        let outcome = run(&mut wave, &words);
        let bytes: [u8; 8] = bytes.try_into().unwrap();
        assert_eq!(
            outcome,
            Outcome::Illegal {
                address: CODE,
                bytes
            }
        );
        assert_eq!(wave, before);
    }
}

#[test]
fn loads_bring_dwords_and_a_fault_brings_none() {
    let mut memory = Bytes::default();
    let words: Vec<u32> = (0..16).map(|at| 0x0101_0101 * at).collect();
    memory.put(0x2_0000_0000, &words);
    for (name, count) in [
        ("s_load_dword", 1),
        ("s_load_dwordx2", 2),
        ("s_load_dwordx4", 4),
        ("s_load_dwordx8", 8),
        ("s_load_dwordx16", 16),
    ] {
        let mut wave = Wave::new(CODE);
        memory.put(CODE, &smem(name, 16, 4, -0x10));
        // The lowest bits of an address mean nothing.
        wave.set_scalar_pair(4, 0x2_0000_0013);
        assert_eq!(step(&mut wave, &mut memory), Outcome::Next, "{name}");
        for (at, word) in words.iter().enumerate() {
            let expected = if at < count { *word } else { 0 };
            assert_eq!(wave.scalar(16 + at as u8), expected, "{name} {at}");
        }

        let mut wave = Wave::new(CODE);
        wave.set_scalar_pair(4, 0x2_0000_0014 + 64 - 4 * (count as u64 - 1));
        let before = wave.clone();
        let fault = Fault {
            address: 0x2_0000_0004 + 64 - 4 * (count as u64 - 1),
            write: false,
        };
        assert_eq!(
            step(&mut wave, &mut memory),
            Outcome::Fault(fault),
            "{name}"
        );
        assert_eq!(wave, before);
    }
}

#[test]
fn the_last_dword_of_memory_can_be_an_instruction() {
    let mut memory = Bytes::default();
    memory.put(CODE, &sopp("s_endpgm", 0));
    assert_eq!(step(&mut Wave::new(CODE), &mut memory), Outcome::Ended);
    let fault = Fault {
        address: CODE + 4,
        write: false,
    };
    assert_eq!(
        step(&mut Wave::new(CODE + 4), &mut memory),
        Outcome::Fault(fault)
    );
}

#[test]
fn a_loop_counts_down() {
    let mut memory = Bytes::default();
    let code: Vec<u32> = [
        sopk("s_movk_i32", 4, 10),
        sop2("s_add_u32", 5, 5, 4),
        sopk("s_addk_i32", 4, -1),
        sopk("s_cmpk_lg_i32", 4, 0),
        sopp("s_cbranch_scc1", -4),
        sopp("s_endpgm", 0),
    ]
    .concat();
    memory.put(CODE, &code);
    let mut wave = Wave::new(CODE);
    let mut steps = 0;
    while step(&mut wave, &mut memory) == Outcome::Next {
        steps += 1;
    }
    assert_eq!((wave.scalar(5), steps), (55, 41));
}
