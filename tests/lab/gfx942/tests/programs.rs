// SPDX-License-Identifier: GPL-2.0-only
//! Random programs, translated for gfx942 and for the host by the same compiler: what
//! waves leave has to be what the host leaves, bit for bit. `GP_SEED` and `GP_PROGRAMS`
//! choose which and how many; `scripts/test/programs` sets them.

#[path = "common/device.rs"]
mod device;
#[path = "common/object.rs"]
mod object;
#[path = "programs/operations.rs"]
mod operations;
#[path = "common/recorded.rs"]
mod recorded;
#[path = "programs/run.rs"]
mod run;
#[path = "programs/write.rs"]
mod write;

use operations::TYPES;
use run::{Batch, LANES, LEVELS};
use write::{RECORD, SLOT, SLOTS};

/// How many programs are translated together, and how many choices each has.
const TOGETHER: usize = 25;
const CHOICES: usize = 400;
/// How many smaller programs are tried of one that fails.
const REDUCTIONS: usize = 300;

/// Numbers without an order, the same for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        // The generator called SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let bits = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }
}

fn choices(seed: u64, at: u64) -> Vec<u32> {
    let mut random = Random(seed.wrapping_mul(1 << 32).wrapping_add(at << 8));
    let count = 20 + random.next() as usize % CHOICES;
    (0..count).map(|_| random.next() as u32).collect()
}

/// What lanes begin with: bits of all kinds, of which those at boundaries are many.
fn input(seed: u64) -> Vec<u8> {
    let mut random = Random(!seed);
    let word = |_| {
        let (bits, choice) = (random.next(), random.next());
        let (kind, number) = (choice % 8, choice >> 8);
        let bits = match kind {
            0 => number & 0x1f,
            1 => (number & 0x1f).wrapping_neg(),
            2 => 1 << (number & 63),
            3 => (1 << (number & 63)) - 1,
            // Singles and doubles of a usual size.
            4 => u64::from((bits as i16 as f32 / 64.0).to_bits()) | (bits << 32),
            5 => (bits as i32 as f64 / 256.0).to_bits(),
            // Exponents at their ends.
            6 => bits & 0x800f_ffff_807f_83ff | [0, 0x7fe0_0000_7f00_7800][number as usize & 1],
            _ => bits,
        };
        bits.to_le_bytes()
    };
    (0..LANES * RECORD / 8).flat_map(word).collect()
}

/// Where in its record a lane differs from what the host has.
fn difference(host: &[u8], waves: &[u8]) -> Option<String> {
    let byte = host
        .iter()
        .zip(waves)
        .position(|(host, waves)| host != waves)?;
    let (lane, at) = (byte / RECORD, byte % RECORD);
    let what = match (at / SLOT, at.wrapping_sub(SLOTS * SLOT) / 64) {
        (slot, _) if slot < SLOTS => format!("{}_{}", TYPES[slot / 2], slot % 2),
        (_, 0) => "words".into(),
        (_, 1) => "own".into(),
        (_, 2) => "global".into(),
        (_, 3) => "share".into(),
        _ => "fields".into(),
    };
    let from = byte / SLOT * SLOT;
    let number = |of: &[u8]| u128::from_le_bytes(of[from..from + SLOT].try_into().unwrap());
    let (host, waves) = (number(host), number(waves));
    let byte = at % SLOT;
    Some(format!(
        "lane {lane}, {what} (byte {byte}): host {host:032x}, waves {waves:032x}"
    ))
}

/// What became of a program.
#[derive(PartialEq, Eq)]
enum Verdict {
    Same,
    Wrong(String),
    Untranslated,
}

/// What is wrong with each program at a level, beside what the host's leave. Where the
/// compiler dies of them all, which it does of rare programs, each is tried alone.
fn wrong(batch: &Batch, host: &[Vec<u8>], level: &str, input: &[u8]) -> Vec<Verdict> {
    let Some(object) = batch.compile(level) else {
        if host.len() == 1 {
            return vec![Verdict::Untranslated];
        }
        let each = batch.each().into_iter().zip(host.chunks(1));
        return each
            .flat_map(|(one, host)| wrong(&one, host, level, input))
            .collect();
    };
    let of = |(at, host): (usize, &Vec<u8>)| match batch.waves(&object, at, input) {
        Ok(waves) => difference(host, &waves).map_or(Verdict::Same, Verdict::Wrong),
        Err(why) => Verdict::Wrong(why),
    };
    host.iter().enumerate().map(of).collect()
}

/// The same of one program.
fn wrong_alone(choices: &[u32], level: &str, input: &[u8]) -> Option<String> {
    let batch = Batch::of(&[choices.to_vec()]);
    match wrong(&batch, &batch.host(input), level, input).pop() {
        Some(Verdict::Wrong(what)) => Some(what),
        _ => None,
    }
}

/// Leaves out choices, and makes zeros of others, as long as the program stays wrong.
fn reduced(choices: Vec<u32>, level: &str, input: &[u8]) -> Vec<u32> {
    let mut least = choices;
    let mut tries = 0;
    let mut size = least.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < least.len() {
            let end = (at + size).min(least.len());
            let without = [&least[..at], &least[end..]].concat();
            let mut zeroed = least.clone();
            zeroed[at..end].fill(0);
            let smaller = [without, zeroed].into_iter().find(|smaller| {
                tries += 1;
                *smaller != least
                    && tries < REDUCTIONS
                    && wrong_alone(smaller, level, input).is_some()
            });
            match smaller {
                Some(smaller) if smaller.len() < least.len() => least = smaller,
                Some(smaller) => {
                    least = smaller;
                    at = end;
                }
                None => at = end,
            }
        }
        size /= 2;
    }
    least
}

#[test]
fn both_compilers_know_every_operation() {
    let batch = Batch::of_operations();
    assert!(batch.compile("-O0").is_some());
    assert!(batch.host(&input(1)).is_empty());
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a whole number"))
}

#[test]
fn waves_leave_what_the_host_leaves() {
    let (seed, count) = (setting("GP_SEED", 1), setting("GP_PROGRAMS", 16));
    let input = input(seed);
    let numbers: Vec<u64> = (0..count).collect();
    let (mut failures, mut untranslated) = (0, 0);
    for some in numbers.chunks(TOGETHER) {
        let all: Vec<Vec<u32>> = some.iter().map(|at| choices(seed, *at)).collect();
        let batch = Batch::of(&all);
        let host = batch.host(&input);
        let mut failed = vec![false; all.len()];
        for level in LEVELS {
            for (at, verdict) in wrong(&batch, &host, level, &input).into_iter().enumerate() {
                untranslated += u64::from(verdict == Verdict::Untranslated);
                let (Verdict::Wrong(what), false) = (verdict, failed[at]) else {
                    continue;
                };
                failed[at] = true;
                failures += 1;
                let least = reduced(all[at].clone(), level, &input);
                let again = wrong_alone(&least, level, &input).unwrap_or_default();
                let text = write::program(&least, "p").text;
                println!(
                    "program {} of seed {seed} at {level}: {what}\nreduced: {again}\n{text}",
                    some[at]
                );
            }
        }
    }
    println!("{count} programs of seed {seed}: {failures} wrong, {untranslated} untranslated");
    assert_eq!(
        failures, 0,
        "programs leave something else on waves than on the host"
    );
    assert!(
        untranslated < 1 + count / 5,
        "the compiler refuses {untranslated} programs"
    );
}
