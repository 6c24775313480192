// SPDX-License-Identifier: GPL-2.0-only
//! How many instructions a second one wave executes, by their kind. To be run in the
//! project's root, with optimization; the figures are those of the machine it runs on.

use gfx942::wave::{Fault, HardwareRegister, Memory, Outcome, Wave, LANES};

#[allow(dead_code)] // Tests need more of it.
#[path = "../tests/common/object.rs"]
mod object;

const DATA: u64 = 1 << 20;
const DATA_BYTES: usize = 1 << 16;
/// How often each instruction stands in its loop.
const COPIES: u64 = 32;
const ENOUGH: u64 = 200_000;

const KINDS: [(&str, &str); 9] = [
    ("scalar addition", "s_add_u32 s2, s2, s3"),
    ("move of a vector register", "v_mov_b32 v2, v3"),
    ("integer addition of vectors", "v_add_u32 v2, v2, v3"),
    ("sum of singles", "v_add_f32 v2, v2, v3"),
    ("product and sum of singles", "v_fma_f32 v2, v2, v3, v4"),
    (
        "load of a dword for each lane",
        "global_load_dword v2, v0, s[4:5]",
    ),
    (
        "store of a dword for each lane",
        "global_store_dword v0, v2, s[4:5]",
    ),
    ("read of the local share", "ds_read_b32 v2, v0"),
    (
        "product of matrices",
        "v_mfma_f32_16x16x16_f16 a[0:3], v[4:5], v[6:7], a[0:3]",
    ),
];

struct Flat {
    code: Vec<u8>,
    data: Vec<u8>,
    share: [u8; 1024],
}

impl Flat {
    fn place(&mut self, address: u64, size: usize) -> Result<&mut [u8], Fault> {
        let (base, bytes) = match address {
            DATA.. => (DATA, &mut self.data),
            _ => (0, &mut self.code),
        };
        let from = (address - base) as usize;
        let fault = Fault {
            address,
            write: false,
        };
        bytes.get_mut(from..from + size).ok_or(fault)
    }
}

impl Memory for Flat {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        into.copy_from_slice(self.place(address, into.len())?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.place(address, from.len())?.copy_from_slice(from);
        Ok(())
    }

    fn share(&mut self) -> &mut [u8] {
        &mut self.share
    }
}

/// Seconds for which this thread was executed by a processor: what others do on the host
/// counts for little.
fn seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("a Linux host");
    let nanos = text.split(' ').next().map(str::parse::<f64>);
    nanos.expect("a number").expect("a number") / 1e9
}

fn measure(instruction: &str) -> f64 {
    let copies = format!("{instruction}\n").repeat(COPIES as usize);
    let text = format!(".rodata\n.text\nagain:\n{copies}s_branch again\n");
    let object = object::Object::translate(&["-x", "assembler"], &text);
    let mut memory = Flat {
        code: object.text,
        data: vec![0; DATA_BYTES],
        share: [0; 1024],
    };
    let mut wave = Wave::new(0);
    // As compiled kernels have it: to the nearest, with subnormal numbers.
    wave.set_hardware(HardwareRegister::Mode, 0xf0);
    wave.set_exec(u64::MAX);
    wave.set_scalar_pair(4, DATA);
    for lane in 0..LANES {
        wave.set_vector(0, lane, lane as u32 * 4);
        wave.set_vector(3, lane, 1.5_f32.to_bits());
    }
    let start = seconds();
    for _ in 0..ENOUGH {
        let outcome = wave.step(&mut memory);
        assert_eq!(outcome, Outcome::Next, "{instruction} at {:#x}", wave.pc);
    }
    ENOUGH as f64 / (seconds() - start)
}

fn main() {
    println!("| instruction | a second |\n|---|--:|");
    for (what, instruction) in KINDS {
        println!("| {what} | {:.0} |", measure(instruction));
    }
}
