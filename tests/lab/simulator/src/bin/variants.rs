// SPDX-License-Identifier: GPL-2.0-only

//! What each mechanism of the policy is good for, and how much each constant matters: the
//! policy is changed in one place, compiled anew, and judged on loads that show it.
//!
//!     cargo run --release --manifest-path tests/Cargo.toml -p gpreempt_simulator --bin variants
//!
//! writes docs/simulation/variants.md. Words restrict it to variants in which one of them
//! occurs, and the table is printed alone.

use anyhow::{bail, ensure, Context, Result};
use gpreempt_simulator::report::table;
use gpreempt_simulator::score::{Outcome, Score};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Loads on which at least one variant shows.
const LOADS: &str = "D,MIX,TOKEN,H1,H5,H9,H14,H17,H19,N1,N2,N3,N4,N5,T1,T2,T3";
const NODE: &str = "mi300x-spx-direct";
/// How queues are watched, usually and where nobody can count waves.
const USUAL: &str = "sampler=auto";
const UNCOUNTED: &str = "sampler=memory";

/// A change of the policy: in which file, what becomes what.
struct Variant {
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn variant(
    name: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
) -> Variant {
    Variant {
        name,
        file,
        from,
        to,
    }
}

/// A mechanism is left out.
const WITHOUT: &[Variant] = &[
    variant(
        "a stop need not pay",
        "pass/stop.rs",
        "if below.rest > threshold ||",
        "if below.rest > Nanos::ZERO ||",
    ),
    variant(
        "further packets do not count",
        "pass/stop.rs",
        "u64::from(waiting.packets.saturating_sub(1))",
        "u64::from(waiting.packets.saturating_sub(waiting.packets))",
    ),
    variant(
        "grids are not compared with waves",
        "queue/work.rs",
        "let short = seen.grid.is_some_and(|grid| waves < grid);",
        "let short = seen.grid.is_some_and(|grid| waves < grid) && waves == 0;",
    ),
    variant(
        "waves of a fresh launch are not counted",
        "pass/stop.rs",
        "let fresh = demand.fresh.first.is_some() && !self.tally.counted;",
        "let fresh = false;",
    ),
    variant(
        "no pause is held out",
        "parts/lengths.rs",
        "let (mut best, mut most) = (0, self.gain(0, start));",
        "let (mut best, mut most) = (0, i64::MAX.max(self.gain(0, start)));",
    ),
    variant(
        "each pause is held out for a millisecond",
        "level.rs",
        "now.after(self.pauses.hold(start))",
        "now.after(self.pauses.hold(start).max(Nanos::from_millis(1)))",
    ),
    variant(
        "time after a bound counts against every level",
        "queue.rs",
        "now < self.immune.0 && level <= self.immune.1",
        "now < self.immune.0 && level <= Priority::HIGHEST",
    ),
    variant(
        "time to run follows each stop, not only one that its bound ended",
        "queue.rs",
        "if reason == Reason::Bound {",
        "if reason != Reason::Release {",
    ),
    variant(
        "idle queues do not go along",
        "pass/stop.rs",
        "now.since(moved) < EXPECT;",
        "now.since(moved) < Nanos::ZERO;",
    ),
    variant(
        "a claim holds for the whole bound where there are rules, too",
        "pass/start.rs",
        "let worn = self.config.highest_rule.is_some() && ",
        "let worn = self.config.highest_rule > Some(Priority::HIGHEST) && ",
    ),
    variant(
        "nothing is counted for those that wait though nothing seems to run",
        "pass/stop.rs",
        "if below.doubtful || waited >= puzzling {",
        "if below.doubtful && below.rest > threshold {",
    ),
    variant(
        "waves are not counted while nobody waits",
        "pass/close.rs",
        "questions.check(now, every);",
        "questions.check(now, every.max(Nanos::NEVER));",
    ),
    variant(
        "a level takes nothing over",
        "pass/start.rs",
        "if holds || self.takes_over(at, above, ruled) {",
        "if holds || (self.takes_over(at, above, ruled) && false) {",
    ),
    variant(
        "heads are looked at again at the next look only",
        "pass/gather.rs",
        "self.look_at(settles?);",
        "let _ = settles;",
    ),
    variant(
        "what rules spend is lost to claims, too",
        "pass/stop.rs",
        "level.tank(ruled).spend(cost);",
        "level.tank(ruled).spend(cost);\n            level.tank(!ruled).spend(cost);",
    ),
];

/// A mechanism is left out that is for GPUs whose waves cannot be counted.
const WITHOUT_COUNTS: &[Variant] = &[
    variant(
        "what nobody can count is not stopped to see",
        "pass/stop.rs",
        "(below.unseen && waited > threshold.max(puzzling))",
        "(below.unseen && waited > Nanos::NEVER)",
    ),
    variant(
        "it is stopped at once",
        "pass/stop.rs",
        "(below.unseen && waited > threshold.max(puzzling))",
        "(below.unseen && waited > puzzling)",
    ),
    variant(
        "one of which a stop saves nothing goes on being in doubt",
        "queue/work.rs",
        "!active && self.uncountable && self.backlog == 0",
        "!active && self.uncountable && self.backlog == 1",
    ),
];

/// A constant has another value.
const CONSTANTS: &[Variant] = &[
    variant(
        "worth 1 instead of 2",
        "pass/stop.rs",
        "WORTH: u64 = 2",
        "WORTH: u64 = 1",
    ),
    variant(
        "worth 4",
        "pass/stop.rs",
        "WORTH: u64 = 2",
        "WORTH: u64 = 4",
    ),
    variant(
        "work expected for 250 ms instead of a second",
        "pass/stop.rs",
        "EXPECT: Nanos = Nanos::from_millis(1_000)",
        "EXPECT: Nanos = Nanos::from_millis(250)",
    ),
    variant(
        "work expected for 4 s",
        "pass/stop.rs",
        "EXPECT: Nanos = Nanos::from_millis(1_000)",
        "EXPECT: Nanos = Nanos::from_millis(4_000)",
    ),
    variant(
        "believed for 25 us more instead of 50",
        "queue/work.rs",
        "BELIEVED: Nanos = Nanos::from_micros(50)",
        "BELIEVED: Nanos = Nanos::from_micros(25)",
    ),
    variant(
        "believed for 100 us more",
        "queue/work.rs",
        "BELIEVED: Nanos = Nanos::from_micros(50)",
        "BELIEVED: Nanos = Nanos::from_micros(100)",
    ),
    variant(
        "a launch is fresh for 100 us instead of 200",
        "queue/work.rs",
        "FRESH: Nanos = Nanos::from_micros(200)",
        "FRESH: Nanos = Nanos::from_micros(100)",
    ),
    variant(
        "a launch is fresh for 400 us",
        "queue/work.rs",
        "FRESH: Nanos = Nanos::from_micros(200)",
        "FRESH: Nanos = Nanos::from_micros(400)",
    ),
    variant(
        "lengths decay by an eighth instead of a sixteenth",
        "queue/work.rs",
        "lengths: Lengths<4>",
        "lengths: Lengths<3>",
    ),
    variant(
        "lengths decay by a 32nd",
        "queue/work.rs",
        "lengths: Lengths<4>",
        "lengths: Lengths<5>",
    ),
    variant(
        "pauses decay by a sixteenth instead of a 64th",
        "level.rs",
        "pauses: Lengths<6>",
        "pauses: Lengths<4>",
    ),
    variant(
        "rare is a 16th instead of a 64th",
        "parts/lengths.rs",
        "RARE: i64 = 64",
        "RARE: i64 = 16",
    ),
    variant(
        "rare is a 256th",
        "parts/lengths.rs",
        "RARE: i64 = 64",
        "RARE: i64 = 256",
    ),
    variant(
        "waiting is as dear as being stopped",
        "parts/lengths.rs",
        "DEARNESS: i64 = 4",
        "DEARNESS: i64 = 1",
    ),
    variant(
        "waiting is 16 times as dear",
        "parts/lengths.rs",
        "DEARNESS: i64 = 4",
        "DEARNESS: i64 = 16",
    ),
    variant(
        "four round trips at once instead of eight",
        "level.rs",
        "ROUND_TRIPS: u64 = 8",
        "ROUND_TRIPS: u64 = 4",
    ),
    variant(
        "16 round trips at once",
        "level.rs",
        "ROUND_TRIPS: u64 = 8",
        "ROUND_TRIPS: u64 = 16",
    ),
    variant(
        "a first transaction is taken for 25 us instead of 100",
        "pass/node.rs",
        "Nanos::from_micros(100)",
        "Nanos::from_micros(25)",
    ),
    variant(
        "a first transaction is taken for 400 us",
        "pass/node.rs",
        "Nanos::from_micros(100)",
        "Nanos::from_micros(400)",
    ),
    variant(
        "claims may spend 3 % of the time beside rules instead of 1 %",
        "settings/parameter.rs",
        "claim_overhead_percent \"\" 1 1",
        "claim_overhead_percent \"\" 3 1",
    ),
    variant(
        "looks three times as often in haste instead of five",
        "settings/config.rs",
        "ALERT: u64 = 5",
        "ALERT: u64 = 3",
    ),
    variant(
        "each queue takes 250 ns of an interval instead of 500",
        "pass/close.rs",
        "EACH: Nanos = Nanos(500)",
        "EACH: Nanos = Nanos(250)",
    ),
    variant(
        "each queue takes a microsecond of an interval",
        "pass/close.rs",
        "EACH: Nanos = Nanos(500)",
        "EACH: Nanos = Nanos(1_000)",
    ),
];

/// Variants that are compared with the policy as it is, where queues are watched so.
struct Table {
    title: &'static str,
    sampler: &'static str,
    variants: &'static [Variant],
}

const TABLES: &[Table] = &[
    Table {
        title: "Without",
        sampler: USUAL,
        variants: WITHOUT,
    },
    Table {
        title: "Without, where waves cannot be counted",
        sampler: UNCOUNTED,
        variants: WITHOUT_COUNTS,
    },
    Table {
        title: "Constants",
        sampler: USUAL,
        variants: CONSTANTS,
    },
];

/// The tree of the project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().context("it cannot be run")?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(())
}

/// A copy of the sources, in which the policy can be changed.
fn copy(to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    let folders = ["rust", "tests", "scripts", "docs"];
    run(Command::new("cp")
        .arg("--recursive")
        .args(folders.map(|folder| project().join(folder)))
        .arg(to))
}

/// What the policy of the copy does to each load, if queues are watched so.
fn judge(copy: &Path, sampler: &str) -> Result<Vec<(String, Outcome)>> {
    let figures = copy.join("figures.json");
    run(Command::new(env!("CARGO"))
        .args(["run", "--quiet", "--release", "--offline"])
        .args(["-p", "gpreempt_simulator", "--manifest-path"])
        .arg(copy.join("tests/Cargo.toml"))
        .args(["--", "--seeds", "1", "score", "--contenders", "strict"])
        .args(["--nodes", NODE, "--loads", LOADS])
        .args(["--set", sampler, "--json"])
        .arg(&figures)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .stdout(std::process::Stdio::null()))?;
    let all: Vec<Score> = serde_json::from_str(&std::fs::read_to_string(figures)?)?;
    let own = |score: Score| Some((score.load, score.contenders.into_iter().next()?));
    all.into_iter()
        .map(|score| own(score).context("no figures"))
        .collect()
}

/// What a variant changes of one figure: by how much it is multiplied on the load on which
/// that is least, and on the one on which it is most.
fn change(
    base: &[(String, Outcome)],
    other: &[(String, Outcome)],
    figure: fn(&Outcome) -> f64,
) -> [String; 2] {
    let both = base.iter().zip(other);
    let mut all: Vec<(f64, &str)> = both
        .map(|((load, base), (_, other))| (figure(other) / figure(base).max(1e-9), load.as_str()))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let say = |one: Option<&(f64, &str)>| {
        one.map_or("-".into(), |(by, load)| format!("{by:.2} ({load})"))
    };
    [say(all.first()), say(all.last())]
}

fn row(name: &str, base: &[(String, Outcome)], other: &[(String, Outcome)]) -> Vec<String> {
    let [best, worst] = change(base, other, |one| one.latency.p99);
    let [least, most] = change(base, other, Outcome::best_effort);
    let [_, transactions] = change(base, other, |one| one.transactions_per_second.max(1.0));
    vec![name.into(), worst, best, least, most, transactions]
}

fn rows(
    copy: &Path,
    sampler: &str,
    base: &[(String, Outcome)],
    variants: &[&Variant],
) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for one in variants {
        let path = copy.join("rust/policy").join(one.file);
        let source = std::fs::read_to_string(&path)?;
        ensure!(
            source.matches(one.from).count() == 1,
            "{}: not one place has {:?}",
            one.file,
            one.from
        );
        std::fs::write(&path, source.replace(one.from, one.to))?;
        let figures = judge(copy, sampler);
        std::fs::write(&path, source)?;
        let row = row(one.name, base, &figures.with_context(|| one.name)?);
        eprintln!("{}", row.join(" | "));
        rows.push(row);
    }
    Ok(rows)
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let wanted =
        |one: &&Variant| words.is_empty() || words.iter().any(|word| one.name.contains(word));
    if !TABLES
        .iter()
        .any(|table| table.variants.iter().any(|one| wanted(&one)))
    {
        bail!("no variant has one of these words in its name");
    }
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into());
    let place = Path::new(&target).join("variants");
    let _ = std::fs::remove_dir_all(place.join("rust"));
    copy(&place)?;
    let head = [
        "variant",
        "p99 at worst",
        "p99 at best",
        "best effort at worst",
        "best effort at best",
        "transactions at most",
    ];
    let mut text = format!(
        "# What each mechanism is good for, and how much each constant matters\n\n\
         Written by the command in `tests/lab/simulator/src/bin/variants.rs`, on {NODE}, loads\n{}.\n\
         Each figure is that of the changed policy over that of the policy as it is, on the load \
         in brackets.\n",
        LOADS.replace(',', ", ")
    );
    let mut bases = BTreeMap::new();
    for Table {
        title,
        sampler,
        variants,
    } in TABLES
    {
        let variants: Vec<&Variant> = variants.iter().filter(wanted).collect();
        if variants.is_empty() {
            continue;
        }
        if !bases.contains_key(sampler) {
            bases.insert(sampler, judge(&place, sampler)?);
        }
        let rows = rows(&place, sampler, &bases[sampler], &variants)?;
        text.push_str(&format!("\n## {title}\n\n{}", table(&head, &rows)));
    }
    print!("{text}");
    if words.is_empty() {
        std::fs::write(project().join("docs/simulation/variants.md"), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variant_has_one_place_in_the_policy() {
        for one in TABLES.iter().flat_map(|table| table.variants) {
            let path = project().join("rust/policy").join(one.file);
            let source = std::fs::read_to_string(path).unwrap();
            assert_eq!(
                source.matches(one.from).count(),
                1,
                "{}: {:?}",
                one.file,
                one.from
            );
        }
    }
}
