// SPDX-License-Identifier: GPL-2.0-only
//! Any code, any registers and any memory: nothing panics, and what is refused
//! leaves the wave as it was.

use gfx942::code::decode;
use gfx942::wave::{Fault, HardwareRegister, Memory, Outcome, Wave, LANES};
use proptest::prelude::*;

/// Memory that has the code at zero, and else any bytes, or none at all.
struct Anything {
    code: Vec<u8>,
    seed: u8,
    missing: bool,
    share: [u8; 1024],
}

impl Memory for Anything {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        let from = usize::try_from(address).unwrap_or(usize::MAX);
        if let Some(code) = self.code.get(from..from.saturating_add(into.len())) {
            into.copy_from_slice(code);
        } else if self.missing {
            return Err(Fault {
                address,
                write: false,
            });
        } else {
            into.fill(self.seed);
        }
        Ok(())
    }

    fn write(&mut self, address: u64, _: &[u8]) -> Result<(), Fault> {
        match self.missing {
            true => Err(Fault {
                address,
                write: true,
            }),
            false => Ok(()),
        }
    }

    fn share(&mut self) -> &mut [u8] {
        &mut self.share
    }
}

const TABLE: &str = include_str!("../../../data/gfx942/instructions.txt");

/// A wave whose registers have any numbers, of which many are special.
fn full(seed: u32) -> Wave {
    let mut state = seed;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        match state % 8 {
            0 => 0,
            1 => u32::MAX,
            2 => 0x7f80_0000 | state & 0x8000_0001,
            3 => 0x7ff0_0000 | state & 0x8000_0001,
            4 => state & 0x8000_00ff,
            _ => state,
        }
    };
    let mut wave = Wave::new(0);
    for register in 0..=255 {
        for lane in 0..LANES {
            wave.set_vector(register, lane, next());
            wave.set_accumulator(register, lane, next());
        }
    }
    for register in 0..128 {
        wave.set_scalar(register, next());
    }
    wave.set_hardware(HardwareRegister::Mode, next());
    wave.set_hardware(HardwareRegister::MemoryBases, next());
    wave
}

#[test]
fn every_form_of_instruction_takes_any_numbers() {
    let waves = [full(1), full(2)];
    for (at, line) in TABLE.lines().enumerate() {
        let words = line.split(' ').take(2);
        let code: Vec<u8> = words
            .flat_map(|word| u32::from_str_radix(word, 16).unwrap().to_le_bytes())
            .collect();
        let mut memory = Anything {
            code,
            seed: at as u8,
            missing: at % 5 == 0,
            share: [0x5a; 1024],
        };
        let before = &waves[at % 2];
        let mut wave = before.clone();
        if matches!(
            wave.step(&mut memory),
            Outcome::Illegal { .. } | Outcome::Fault(_)
        ) {
            assert_eq!(&wave, before, "{line}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_bytes_are_decoded_and_written(bytes in proptest::collection::vec(any::<u8>(), 0..9)) {
        if let Ok(instruction) = decode(&bytes) {
            prop_assert!(usize::from(instruction.size) <= bytes.len());
            prop_assert!(instruction.to_string().starts_with(|first: char| first.is_ascii_lowercase()));
        }
    }

    #[test]
    fn any_code_can_be_executed(
        code in proptest::collection::vec(any::<u8>(), 64),
        scalars in proptest::collection::vec(any::<u32>(), 128),
        (seed, missing, scc) in any::<(u8, bool, bool)>(),
    ) {
        let share = [seed; 1024];
        let mut memory = Anything { code, seed, missing, share };
        let mut wave = Wave::new(0);
        wave.scc = scc;
        for (at, value) in scalars.into_iter().enumerate() {
            wave.set_scalar(at as u8, value);
        }
        for _ in 0..16 {
            let before = wave.clone();
            match wave.step(&mut memory) {
                Outcome::Illegal { .. } | Outcome::Fault(_) => {
                    prop_assert_eq!(&wave, &before);
                    break;
                }
                _ => (),
            }
        }
    }
}
