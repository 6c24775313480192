// SPDX-License-Identifier: GPL-2.0-only
//! A host that takes processors from its guest now and then, as one does that has given
//! away more of them than it has: whatever the module and the driver are at then, a queue
//! is started at its bound, but for the time that was taken.

use anyhow::{bail, ensure, Context, Result};

use super::passes::{starts_at_bound, BOUND_MS, POLL_US};
use crate::cache::Cache;
use crate::guest::Guest;
use crate::image::Image;
use crate::machine::Console;
use crate::scenario::{check_log, Needs, Scenario, Suite};

const OWN_CLOCK: Needs = Needs {
    own_clock: true,
    ..Needs::ONCE
};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "a bound is missed by no more than the host takes of the processors",
        needs: OWN_CLOCK,
        run: two_processors,
    },
    Scenario {
        suite: Suite::E2e,
        name: "a bound is missed by no more than the host takes of one or of eight processors",
        needs: Needs {
            long: true,
            ..OWN_CLOCK
        },
        run: one_and_eight,
    },
];

const SEEDS: [u64; 2] = [1, 2];
/// A processor is taken for as long as that at most, and on average for half of it.
const LONGEST_US: u64 = 40_000;
/// In a guest from which nothing is taken, a start at the bound is at most so late: by the
/// time between two looks, by a transaction, and by whoever else has the processor.
const OWN_US: u64 = POLL_US + 3_000;
const BOUND_US: u64 = BOUND_MS * 1_000;
const STARTS: usize = 12;

fn two_processors(guest: &mut Guest) -> Result<()> {
    any_was_late(holds(guest, 2)?)
}

/// Of eight processors the one that the module's thread has is seldom taken, so that perhaps
/// no start there was late.
fn one_and_eight(guest: &mut Guest) -> Result<()> {
    let (one, eight) = (holds(guest, 1)?, holds(guest, 8)?);
    any_was_late(one.max(eight))
}

/// Otherwise nothing was taken from anybody who had to do with it.
fn any_was_late(latest: u64) -> Result<()> {
    ensure!(
        latest > OWN_US,
        "no start was late by more than {latest} us"
    );
    Ok(())
}

/// Takes processors from guests, and returns by how many microseconds the latest start was
/// late.
fn holds(guest: &mut Guest, processors: u32) -> Result<u64> {
    let mut latest = 0;
    for seed in SEEDS {
        let image = Image {
            processors,
            seed: Some(seed),
            holds_us: Some(LONGEST_US),
            ..guest.image.clone()
        };
        let mut held = Guest::start(&Cache::open()?, &image, &guest.shape, 0, Console::File)?;
        let (lines, places) = starts_at_bound(&mut held, STARTS)?;
        check_log(&mut held)?;
        let taken = taken(&held.emulator_said()?)?;
        for at in places {
            let (time, mark) = &lines[at];
            let age = mark.number("age_ns").context("a start without an age")? / 1_000;
            let late = age.saturating_sub(BOUND_US);
            latest = latest.max(late);
            let most = most_taken(&taken, age + OWN_US) + OWN_US;
            ensure!(
                late <= most,
                "with {processors} processors and seed {seed}, the start at {time} us was \
                 {late} us late, of which at most {most} were taken: {mark:?}"
            );
        }
    }
    Ok(latest)
}

/// When a processor was taken, and for how long, in microseconds of the guest's clock.
fn taken(log: &str) -> Result<Vec<(u64, u64)>> {
    let lines = log.lines().filter(|line| line.contains(" is held at "));
    let taken: Vec<(u64, u64)> = lines
        .map(|line| {
            let mut numbers = line
                .split_whitespace()
                .filter_map(|word| word.parse::<u64>().ok());
            let (Some(_), Some(at), Some(nanos)) = (numbers.next(), numbers.next(), numbers.next())
            else {
                bail!("not understood: {line}");
            };
            Ok((at / 1_000, nanos.div_ceil(1_000)))
        })
        .collect::<Result<_>>()?;
    ensure!(taken.len() > 20, "only {} were taken", taken.len());
    Ok(taken)
}

/// How much was taken in such a time, wherever it began.
fn most_taken(taken: &[(u64, u64)], window: u64) -> u64 {
    let from = |begin: u64| {
        let end = begin + window;
        let part =
            |&(at, for_us): &(u64, u64)| (at + for_us).min(end).saturating_sub(at.max(begin));
        taken.iter().map(part).sum::<u64>()
    };
    // The most is where one begins or ends with the window.
    let begins = taken
        .iter()
        .flat_map(|&(at, for_us)| [at, (at + for_us).saturating_sub(window)]);
    begins.map(from).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_counted_where_it_is_most() {
        let taken = [(100, 10), (150, 20), (300, 5)];
        assert_eq!(most_taken(&taken, 5), 5);
        assert_eq!(most_taken(&taken, 70), 30);
        assert_eq!(most_taken(&taken, 25), 20);
        assert_eq!(most_taken(&taken, 1_000), 35);
        assert_eq!(most_taken(&[], 1_000), 0);
    }

    #[test]
    fn what_qemu_says_is_understood() {
        let line = "guest clock: processor 1 is held at 5000000 for 1500 ns\n";
        assert_eq!(taken(&line.repeat(21)).unwrap(), [(5_000, 2); 21]);
        assert!(taken(line).is_err());
        assert!(taken(&line.repeat(21).replace("5000000", "soon")).is_err());
    }
}
