// SPDX-License-Identifier: GPL-2.0-only
//! The tables, in Markdown.

use std::fmt::Write;

use gpu_workload::latency::summary;

use super::conditions::conditions;
use super::{baseline, cases, contenders, floor, over, worst_client, Figures};
use crate::contender::Contender;
use crate::plan::Part;
use crate::results::{Outcome, Results};
use crate::split::Split;
use crate::statistics::Spread;

const MISSING: &str = "-";

/// The goals, of which the tables say whether they are met.
const GOAL_P99: f64 = 1.05;
const GOAL_THROUGHPUT: f64 = 0.95;
const GOAL_FLOOR: f64 = 1.3;

/// All tables.
pub fn document(results: &Results) -> String {
    let mut out = String::from(
        "<!-- SPDX-License-Identifier: GPL-2.0-only -->\n# Results of the benchmark\n\n",
    );
    out += "Written by `make bench`; [README.md](README.md) says what it means.\n\n";
    out += &conditions(results);
    for part in Part::ALL {
        let name = part.name();
        let cases = cases(results, name);
        if cases.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n## {}\n\n{}\n", title(part), about(part));
        if cases.iter().all(|case| case.x.is_some()) {
            out += &sweep(results, part);
        } else {
            for case in &cases {
                out += &contest(results, name, &case.load);
            }
        }
        out += &splits(results, name);
        out += &doorbells(results, name);
        out += &failures(results, name);
    }
    out
}

fn title(part: Part) -> &'static str {
    match part {
        Part::Loads => "Contenders",
        Part::Preparation => "Preparation time",
        Part::Rate => "Rate of urgent requests",
        Part::Poll => "Poll interval",
        Part::State => "State to be saved",
        Part::Queues => "Number of queues",
        Part::Dies => "Eight dies",
        Part::Mqd => "Without the hardware scheduler",
    }
}

fn about(part: Part) -> &'static str {
    match part {
        Part::Loads => "Milliseconds of GPU time from arrival to completion, medians of the repetitions with their range.\n\
            *On time* is the p99 without what the clients were late: they sleep until a request is due, and the\n\
            emulated processor wakes them when it can. *Over alone* is by the medians, of the p99 on time; *worst\n\
            client* by the pooled times of each urgent client.",
        Part::Preparation => "Load A; x is the host's work between arrival and doorbell, in microseconds.",
        Part::Rate => "VGG at x requests a second beside a ResNet-152 that always has work.",
        Part::Poll => "Load L; x is `poll_interval_us`.",
        Part::State => "Load L, 8 workgroups of 4 waves a unit; x is the vector registers of a best-effort kernel.",
        Part::Queues => "x queues with small requests, one of ten urgent, 20,000 requests a second in all, on a GPU of 4 units.",
        Part::Dies => "A GPU of 8 dies with 8 units each, as one node.",
        Part::Mqd => "Another boot, with `sched_policy=2`.",
    }
}

/// One load under all contenders.
fn contest(results: &Results, part: &str, load: &str) -> String {
    let figures = |contender| Figures::of(results, part, load, contender);
    let alone = figures(Contender::Alone);
    let nobody = figures(baseline(results, part));
    let mut out = format!(
        "### {load}\n\n\
         | contender | p50 | p99 | p99.9 | on time | over alone | worst client | throughput over KFD | best effort over KFD \
         | done twice | lost | processor | transactions/s | requests |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for contender in contenders(results, part) {
        let Some(figures) = figures(contender) else {
            continue;
        };
        let over_alone = alone.as_ref().map(|alone| over(&figures, alone));
        let over_nobody = |own: Spread, of: fn(&Figures) -> Spread| {
            nobody
                .as_ref()
                .filter(|_| contender != Contender::Alone)
                .map(|nobody| own.median / of(nobody).median)
                .filter(|share| share.is_finite())
        };
        let throughput = over_nobody(figures.throughput, |figures| figures.throughput);
        let others = over_nobody(figures.others, |figures| figures.others);
        let module = contender.is_module();
        let goal = |text: Option<String>, met: Option<bool>| match (text, met) {
            (None, _) => MISSING.to_owned(),
            (Some(text), Some(true)) if module => format!("**{text}**"),
            (Some(text), _) => text,
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            contender.name(),
            figures.p50.text(2),
            figures.p99.text(2),
            figures.p999.text(2),
            figures.punctual.map_or(MISSING.into(), |p99| p99.text(2)),
            goal(
                over_alone.map(|x| format!("{x:.2}")),
                over_alone.map(|x| x <= GOAL_P99)
            ),
            worst_client(results, part, load, contender)
                .map_or(MISSING.into(), |x| format!("{x:.2}")),
            goal(
                percent(throughput),
                throughput.map(|x| x >= GOAL_THROUGHPUT)
            ),
            percent(others).unwrap_or(MISSING.into()),
            percent(Some(figures.redone + figures.repeated as f64)).unwrap_or_default(),
            figures.lost,
            figures
                .processor
                .map_or(MISSING.into(), |x| x.map(|x| 100.0 * x).text(1) + " %"),
            figures.transactions.text(0),
            figures.requests,
        );
    }
    out + "\n"
}

fn percent(share: Option<f64>) -> Option<String> {
    share.map(|share| format!("{:.1} %", 100.0 * share))
}

/// What grows with what.
fn sweep(results: &Results, part: Part) -> String {
    let name = part.name();
    let mut out = String::from(
        "| x | contender | p50 | p99 | over alone | throughput over KFD | processor | transactions/s | preemption p50 us | p99 us |\n\
         |--:|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let baseline = baseline(results, name);
    for case in cases(results, name) {
        let figures = |contender| Figures::of(results, name, &case.load, contender);
        let alone = figures(Contender::Alone);
        let nobody = figures(baseline);
        for contender in contenders(results, name) {
            let Some(figures) = figures(contender) else {
                continue;
            };
            let totals: Vec<u64> = figures
                .preemptions
                .iter()
                .map(|split| split.total)
                .collect();
            let total = summary(&totals);
            let micros = |nanos: Option<u64>| {
                nanos.map_or(MISSING.into(), |nanos| format!("{:.1}", nanos as f64 / 1e3))
            };
            let share =
                |share: Option<f64>| share.map_or(MISSING.into(), |share| format!("{share:.2}"));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                case.x.unwrap_or_default(),
                contender.name(),
                figures.p50.text(2),
                figures.p99.text(2),
                share(alone.as_ref().map(|alone| over(&figures, alone))),
                share(
                    nobody
                        .as_ref()
                        .map(|nobody| { figures.throughput.median / nobody.throughput.median })
                ),
                figures
                    .processor
                    .map_or(MISSING.into(), |x| x.map(|x| 100.0 * x).text(1) + " %"),
                figures.transactions.text(0),
                micros(total.map(|total| total.p50)),
                micros(total.map(|total| total.p99)),
            );
        }
    }
    out + "\n"
}

/// Where the time of the preemptions of a part went.
fn splits(results: &Results, part: &str) -> String {
    let mut rows = String::new();
    for case in cases(results, part) {
        for contender in contenders(results, part) {
            let Some(figures) = Figures::of(results, part, &case.load, contender) else {
                continue;
            };
            rows += &split_row(results, &case.load, contender, &figures.preemptions)
                .unwrap_or_default();
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let names = Split::default().parts().map(|part| part.0).join(" | ");
    format!(
        "Where the time of a preemption goes: medians in microseconds of GPU time. *Floor* is the save at the\n\
         model's bandwidth, a register's round trip and half the poll interval; *end to end* is from the urgent\n\
         doorbell to the first urgent workgroup. *Ahead* is for how long the GPU was free before that doorbell,\n\
         where a hint came first; it is in no sum.\n\n\
         | load | contender | count | {names} | call to workgroup p50 | p99 | end to end p50 | floor | over floor |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n{rows}\n"
    )
}

fn split_row(
    results: &Results,
    load: &str,
    contender: Contender,
    splits: &[Split],
) -> Option<String> {
    let micros = |nanos: f64| format!("{:.1}", nanos / 1e3);
    let median = |values: Vec<u64>| {
        Spread::of(values.into_iter().map(|value| value as f64)).map(|x| x.median)
    };
    let totals = summary(&splits.iter().map(|split| split.total).collect::<Vec<_>>())?;
    let mut row = format!("| {load} | {} | {} |", contender.name(), splits.len());
    for part in 0..Split::default().parts().len() {
        let values = splits
            .iter()
            .filter_map(|split| split.parts()[part].1)
            .collect();
        let _ = write!(row, " {} |", median(values).map_or(MISSING.into(), micros));
    }
    let end_to_end = median(
        splits
            .iter()
            .filter_map(|split| split.end_to_end())
            .collect(),
    );
    let floor = floor(
        results,
        median(splits.iter().map(|split| split.bytes).collect())? as u64,
    );
    // A wait that a hint hides has no such bound.
    let bounded = splits.iter().all(|split| split.announced.is_none());
    let over = end_to_end.filter(|_| bounded).map(|time| time / floor);
    let over = match over {
        None => MISSING.to_owned(),
        Some(over) if over <= GOAL_FLOOR => format!("**{over:.2}**"),
        Some(over) => format!("{over:.2}"),
    };
    let _ = writeln!(
        row,
        " {} | {} | {} | {} | {over} |",
        micros(totals.p50 as f64),
        micros(totals.p99 as f64),
        end_to_end.map_or(MISSING.into(), micros),
        micros(floor),
    );
    Some(row)
}

/// When doorbells rang, where the results say it.
fn doorbells(results: &Results, part: &str) -> String {
    let mut rows = String::new();
    for case in cases(results, part) {
        for contender in contenders(results, part) {
            let figures = Figures::of(results, part, &case.load, contender);
            let Some(doorbells) = figures.and_then(|figures| figures.doorbells) else {
                continue;
            };
            let _ = writeln!(
                rows,
                "| {} | {} | {} | {} | {} | {} | {:.1} |",
                case.load,
                contender.name(),
                doorbells.requests,
                doorbells.rung,
                doorbells.slow,
                doorbells.slow_rung,
                doorbells.late_p99_ns as f64 / 1e3,
            );
        }
    }
    if rows.is_empty() {
        return rows;
    }
    format!(
        "What may have made urgent requests slow: those during which a best-effort client rang its doorbell, of all\n\
         and of the slow ones, which took 3 % longer than their client's median at least, on time; and by how many\n\
         microseconds of GPU time clients were late, which is the processor's part.\n\n\
         | load | contender | requests | rung in | slow | rung in | late p99 |\n\
         |---|---|--:|--:|--:|--:|--:|\n{rows}\n"
    )
}

/// Runs that could not be made.
fn failures(results: &Results, part: &str) -> String {
    results
        .records
        .iter()
        .filter(|record| record.part == part)
        .filter_map(|record| match &record.outcome {
            Outcome::Failed(why) => Some(format!(
                "- {} under {} failed: {}\n",
                record.load,
                record.contender,
                why.lines().next().unwrap_or_default()
            )),
            Outcome::Measured(_) => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::results;
    use super::*;
    use crate::doorbells::Doorbells;

    fn rows<'d>(document: &'d str, name: &str) -> Vec<Vec<&'d str>> {
        document
            .lines()
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .filter(|cells: &Vec<&str>| cells.first() == Some(&name))
            .collect()
    }

    #[test]
    fn a_contender_s_row_has_its_ratios() {
        let document = document(&results());
        let strict = &rows(&document, "strict")[0];
        assert_eq!(strict[2], "4.00 (3.00-5.00)");
        // 4 ms over 2 ms; 135 requests over 150, 35 of others over 50.
        assert_eq!(strict[4..9], ["-", "2.00", "2.50", "90.0 %", "70.0 %"]);
        let alone = &rows(&document, "alone")[0];
        assert_eq!(alone[4..9], ["-", "1.00", "1.00", "-", "-"]);
    }

    #[test]
    fn contenders_are_compared_without_what_their_clients_were_late() {
        let mut results = results();
        for record in &mut results.records {
            if let Outcome::Measured(run) = &mut record.outcome {
                // The longest request under strict takes 2.5 and 4 ms on time.
                let late = if record.contender == "strict" {
                    500_000
                } else {
                    0
                };
                let second = late + u64::from(record.repetition) * 500_000;
                run.late.insert("vgg".into(), vec![0, second]);
            }
        }
        let document = document(&results);
        let strict = &rows(&document, "strict")[0];
        assert_eq!(strict[2], "4.00 (3.00-5.00)");
        assert_eq!(strict[4..7], ["3.25 (2.50-4.00)", "1.62", "2.00"]);
        assert_eq!(rows(&document, "alone")[0][4], "2.00");
    }

    #[test]
    fn only_the_module_is_praised_for_a_goal() {
        let mut results = results();
        for record in &mut results.records {
            if record.contender == "strict" || record.contender == "none" {
                if let Outcome::Measured(run) = &mut record.outcome {
                    run.latencies.insert("vgg".into(), vec![2_000_000]);
                }
            }
        }
        let document = document(&results);
        assert_eq!(rows(&document, "strict")[0][5], "**1.00**");
        assert_eq!(rows(&document, "none")[0][5], "1.00");
    }

    #[test]
    fn the_split_says_how_far_the_floor_is() {
        let document = document(&results());
        let split: Vec<Vec<&str>> = rows(&document, "A")
            .into_iter()
            .filter(|row| row.get(1) == Some(&"strict"))
            .collect();
        let row = &split[0];
        assert_eq!(row[2..6], ["2", "20.0", "2.0", "10.0"]);
        // 20 + 50 us over a floor of 57 us.
        assert_eq!(row[row.len() - 3..], ["70.0", "57.0", "**1.23**"]);
    }

    #[test]
    fn what_a_hint_hides_is_not_held_against_the_floor() {
        let mut results = results();
        for record in &mut results.records {
            if let Outcome::Measured(run) = &mut record.outcome {
                for split in &mut run.preemptions {
                    split.ahead = Some(3_000);
                    split.announced = Some(70_000);
                }
            }
        }
        let document = document(&results);
        let split: Vec<Vec<&str>> = rows(&document, "A")
            .into_iter()
            .filter(|row| row.get(1) == Some(&"strict"))
            .collect();
        let row = &split[0];
        assert_eq!(row[9], "3.0");
        // 20 + 50 us of which 67 were before the doorbell.
        assert_eq!(row[row.len() - 3..], ["3.0", "57.0", "-"]);
    }

    #[test]
    fn doorbells_have_a_table_where_the_results_have_them() {
        let mut results = results();
        assert!(!document(&results).contains("rung in"));
        for record in &mut results.records {
            if let Outcome::Measured(run) = &mut record.outcome {
                run.doorbells = Some(Doorbells {
                    requests: 7,
                    rung: 5,
                    slow: 3,
                    slow_rung: 2,
                    late_p99_ns: 12_340,
                });
            }
        }
        let document = document(&results);
        let row = rows(&document, "A")
            .into_iter()
            .rfind(|row| row.get(1) == Some(&"strict"));
        // Of two runs.
        let figures = ["14", "10", "6", "4", "12.3"];
        assert_eq!(row.unwrap()[2..], figures);
    }

    #[test]
    fn every_table_is_as_wide_as_its_head() {
        let document = document(&results());
        let mut width = None;
        for line in document.lines() {
            let cells = line.starts_with('|').then(|| line.matches('|').count());
            if let (Some(width), Some(cells)) = (width, cells) {
                assert_eq!(width, cells, "{line}");
            }
            width = cells;
        }
    }

    #[test]
    fn a_failed_run_is_told() {
        assert!(document(&results()).contains("- D under strict failed: no luck"));
    }
}
