// SPDX-License-Identifier: GPL-2.0-only
//! Any code, any registers and any memory: nothing panics, and what is refused
//! leaves the wave as it was.

use gfx942::code::decode;
use gfx942::wave::{Fault, Memory, Outcome, Wave};
use proptest::prelude::*;

/// Memory that has the code at zero, and else any bytes, or none at all.
struct Anything {
    code: Vec<u8>,
    seed: u8,
    missing: bool,
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
        let mut memory = Anything { code, seed, missing };
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
