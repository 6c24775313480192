// SPDX-License-Identifier: GPL-2.0-only
//! Fuzzes the policy: `fuzz SECONDS [SEED]`.
//!
//! Inputs are the bytes that move a world, and texts for the parameters. An
//! input that leads to something new, a reason given in a new circumstance or
//! ten times as often as before, is kept and mutated further. An input that
//! breaks a property is written to the corpus, which `cargo test` lives through.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpreempt_host_tests::random::Random;
use gpreempt_host_tests::world::World;
use gpreempt_policy::{Config, NUMBERS, TIMESLICE_NAME};

/// The longest input.
const LONGEST: usize = 4_000;
/// How many inputs are kept for mutation.
const KEPT: usize = 2_000;

/// Changes an input a little, or joins it with another one.
fn mutate(random: &mut Random, kept: &[Vec<u8>]) -> Vec<u8> {
    let Some(mut input) = kept.get(random.below(kept.len())).cloned() else {
        let len = random.below(LONGEST);
        return random.bytes(len);
    };
    for _ in 0..=random.below(8) {
        let at = random.below(input.len() + 1);
        match random.below(6) {
            0 => {
                let len = random.below(24);
                let new = random.bytes(len);
                input.splice(at..at, new);
            }
            1 => {
                let end = (at + random.below(24)).min(input.len());
                input.drain(at..end);
            }
            2 => {
                let other = &kept[random.below(kept.len())];
                let from = random.below(other.len() + 1);
                input.truncate(at);
                input.extend_from_slice(&other[from..]);
            }
            3 => {
                let end = (at + random.below(60)).min(input.len());
                let again = input[at..end].to_vec();
                input.splice(at..at, again);
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = random.next() as u8;
                }
            }
        }
    }
    input.truncate(LONGEST);
    input
}

/// Parameters take any text or refuse it, and what they take they write back.
fn try_text(random: &mut Random) {
    const PIECES: &[&str] = &[
        "0",
        "1",
        "15",
        "16",
        "4294967295",
        "4294967296",
        ",",
        " ",
        "\n",
        "cap:",
        "honour",
        "off",
        "enforce",
        "auto",
        "ignore",
        "-",
        "x",
        "\u{661}",
        "99999999999999999999999",
    ];
    let mut text = String::new();
    for _ in 0..random.below(40) {
        text.push_str(PIECES[random.below(PIECES.len())]);
    }
    let words = ["mode", "user_priority", TIMESLICE_NAME];
    let at = random.below(NUMBERS.len() + words.len());
    let name = NUMBERS
        .get(at)
        .map_or_else(|| words[at - NUMBERS.len()], |spec| spec.name);
    let mut config = Config::new();
    if config.set_text(name, &text).is_ok() {
        let mut written = String::new();
        let done = config.write_text(name, &mut written);
        assert_eq!(done, Ok(()), "{name}");
        let mut again = Config::new();
        assert_eq!(again.set_text(name, &written), Ok(()), "{name}={written}");
        assert_eq!(again, config, "{name}={text:?}");
    } else {
        assert_eq!(config, Config::new(), "{name}={text:?} was refused");
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("usage: fuzz SECONDS [SEED]");
    let seed: u64 = arguments
        .next()
        .map_or(1, |text| text.parse().expect("usage: fuzz SECONDS [SEED]"));
    let mut random = Random::new(seed);
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut kept: Vec<Vec<u8>> = Vec::new();
    let mut known: HashSet<(String, u32)> = HashSet::new();
    let (mut inputs, mut steps) = (0u64, 0u64);
    while Instant::now() < end {
        for _ in 0..64 {
            let input = if inputs % 4 == 0 {
                let len = random.below(LONGEST);
                random.bytes(len)
            } else {
                mutate(&mut random, &kept)
            };
            inputs += 1;
            try_text(&mut random);
            match World::default().live(&input) {
                Ok(watch) => {
                    steps += watch.steps;
                    let mut new = false;
                    for (circumstance, count) in watch.circumstances {
                        new |= known.insert((circumstance, count.ilog10()));
                    }
                    if new {
                        if kept.len() >= KEPT {
                            let at = random.below(KEPT);
                            kept.swap_remove(at);
                        }
                        kept.push(input);
                    }
                }
                Err(what) => {
                    let name = format!("{:016x}", random.next());
                    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
                        .join("corpus")
                        .join(name);
                    std::fs::write(&path, &input).expect("the corpus can be written");
                    eprintln!(
                        "fuzz: {what}\nfuzz: the input is kept in {}",
                        path.display()
                    );
                    std::process::exit(1);
                }
            }
        }
    }
    println!(
        "fuzz: {inputs} inputs, {steps} steps, {} circumstances, {} inputs kept, no property broken",
        known.len(),
        kept.len()
    );
}
