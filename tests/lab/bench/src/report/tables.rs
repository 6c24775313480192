// SPDX-License-Identifier: GPL-2.0-only
//! The tables, in Markdown.

use std::fmt::Write;

use gpu_workload::latency::summary;

use super::conditions::conditions;
use super::simulator::beside_the_simulator;
use super::{cases, contenders, floor, worst_client, Figures};
use crate::contender::Contender;
use crate::part::Part;
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
            out += &overview(results, name);
            for case in &cases {
                out += &contest(results, name, &case.load);
            }
        }
        out += &splits(results, name);
        if part == Part::Loads {
            out += &beside_the_simulator(results);
        }
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
        Part::Partitions => "Eight partitions",
        Part::Mqd => "Without the hardware scheduler",
    }
}

fn about(part: Part) -> &'static str {
    match part {
        Part::Loads => "Latencies are from arrival to completion, in GPU time, of all runs together; in brackets are the\n\
            least and the most of one run. *Over alone* is by the p99. *Added* is what a request took more than the\n\
            same request alone. *Worst client* is the urgent client whose p99 is longest over its own alone.\n\
            Throughputs are over those of *classes*, medians of the runs.",
        Part::Preparation => "Load A; x is the host's work between arrival and doorbell, in microseconds.",
        Part::Rate => "VGG at x requests a second beside a ResNet-152 that always has work.",
        Part::Poll => "Load L; x is `poll_interval_us`.",
        Part::State => "Load L, 8 workgroups of 4 waves a unit; x is the vector registers of a best-effort kernel.",
        Part::Queues => "x queues with small requests, one of ten urgent, 20,000 requests a second in all, on a GPU of 4 units.",
        Part::Dies => "A GPU of 8 dies with 8 units each, as one node.",
        Part::Partitions => "The same GPU as 8 nodes (CPX). x of them have the load, with other arrivals each, and one is measured.",
        Part::Mqd => "Another boot, with `sched_policy=2`.",
    }
}

/// What an operator wants to know first, for every load at a glance.
fn overview(results: &Results, part: &str) -> String {
    let contenders: Vec<Contender> = contenders(results, part)
        .into_iter()
        .filter(|&contender| contender != Contender::Alone)
        .collect();
    let names: Vec<&str> = contenders.iter().map(|one| one.name()).collect();
    let mut tables = [
        "### Microseconds added\n\nTo urgent requests, at the p99.\n".to_owned(),
        "\n### Latency over alone\n\nThe p99 of urgent requests, as a multiple.\n".to_owned(),
        "\n### Best effort kept\n\nRequests of the others, as a share of those under *classes*.\n"
            .to_owned(),
    ];
    for table in &mut tables {
        let _ = writeln!(
            table,
            "\n| load | alone, us | {} |\n|---|--:|{}",
            names.join(" | "),
            "--:|".repeat(names.len())
        );
    }
    for case in cases(results, part) {
        let figures = |contender| Figures::of(results, part, &case.load, contender);
        let alone = figures(Contender::Alone).map_or(MISSING.into(), |alone| {
            format!("{:.0}", alone.p99.value * 1e3)
        });
        for table in &mut tables {
            let _ = write!(table, "| {} | {alone} |", case.load);
        }
        let classes = figures(Contender::Classes);
        for &contender in &contenders {
            let own = figures(contender);
            let beside = own.as_ref().and_then(|own| own.beside_alone);
            let kept = own.zip(classes.as_ref()).map(|(own, classes)| {
                percent(Some(own.others.value / classes.others.value)).unwrap_or_default()
            });
            let cells = [
                beside.map(|beside| format!("{:+.0}", beside.added_p99.value)),
                beside.map(|beside| format!("{:.3}", beside.over.value)),
                kept,
            ];
            for (table, cell) in tables.iter_mut().zip(cells) {
                let _ = write!(table, " {} |", cell.unwrap_or(MISSING.into()));
            }
        }
        for table in &mut tables {
            table.push('\n');
        }
    }
    tables.concat() + "\n"
}

/// One load under all contenders.
fn contest(results: &Results, part: &str, load: &str) -> String {
    let figures = |contender| Figures::of(results, part, load, contender);
    let classes = figures(Contender::Classes);
    let mut out = format!(
        "### {load}\n\n\
         | contender | p50 ms | p99 ms | p99.9 ms | over alone | added p50 us | added p99 us | worst client \
         | throughput | best effort | done twice | lost | processor | transactions/s | requests |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n"
    );
    for contender in contenders(results, part) {
        let Some(figures) = figures(contender) else {
            continue;
        };
        let over_classes = |own: Spread, of: fn(&Figures) -> Spread| {
            classes
                .as_ref()
                .filter(|_| contender != Contender::Alone)
                .map(|classes| own.value / of(classes).value)
                .filter(|share| share.is_finite())
        };
        let throughput = over_classes(figures.throughput, |figures| figures.throughput);
        let others = over_classes(figures.others, |figures| figures.others);
        let beside = figures.beside_alone;
        let module = contender.is_module();
        let goal = |text: Option<String>, met: Option<bool>| match (text, met) {
            (None, _) => MISSING.to_owned(),
            (Some(text), Some(true)) if module => format!("**{text}**"),
            (Some(text), _) => text,
        };
        let cells = [
            contender.name().to_owned(),
            figures.p50.text(3),
            figures.p99.text(3),
            figures.p999.text(3),
            goal(
                beside.map(|beside| beside.over.text(3)),
                beside.map(|beside| beside.over.value <= GOAL_P99),
            ),
            beside.map_or(MISSING.into(), |beside| beside.added_p50.text(0)),
            beside.map_or(MISSING.into(), |beside| beside.added_p99.text(0)),
            worst_client(results, part, load, contender)
                .map_or(MISSING.into(), |x| format!("{x:.3}")),
            goal(
                percent(throughput),
                throughput.map(|x| x >= GOAL_THROUGHPUT),
            ),
            percent(others).unwrap_or(MISSING.into()),
            percent(Some(figures.redone + figures.repeated as f64)).unwrap_or_default(),
            figures.lost.to_string(),
            figures
                .processor
                .map_or(MISSING.into(), |x| x.map(|x| 100.0 * x).text(1) + " %"),
            figures.transactions.text(0),
            figures.requests.to_string(),
        ];
        let _ = writeln!(out, "| {} |", cells.join(" | "));
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
    for case in cases(results, name) {
        let figures = |contender| Figures::of(results, name, &case.load, contender);
        let classes = figures(Contender::Classes);
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
                figures.p50.text(3),
                figures.p99.text(3),
                share(figures.beside_alone.map(|beside| beside.over.value)),
                share(
                    classes
                        .as_ref()
                        .map(|classes| { figures.throughput.value / classes.throughput.value })
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
        Spread::of(values.into_iter().map(|value| value as f64)).map(|x| x.value)
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

/// Runs that could not be made.
fn failures(results: &Results, part: &str) -> String {
    results
        .records
        .iter()
        .filter(|record| record.name.part == part)
        .filter_map(|record| match &record.outcome {
            Outcome::Failed(why) => Some(format!(
                "- {} under {}, seed {}, failed: {}\n",
                record.name.load,
                record.name.contender,
                record.name.seed,
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
        assert_eq!(strict[2], "5.000 (3.000 to 5.000)");
        // 3 ms over 2 and 5 over 2.5; 135 requests over 150, 35 of others over 50.
        assert_eq!(strict[4], "2.000 (1.500 to 2.000)");
        assert_eq!(
            strict[6..10],
            ["2500 (1000 to 2500)", "2.000", "90.0 %", "70.0 %"]
        );
        let alone = &rows(&document, "alone")[0];
        assert_eq!(alone[4..10], ["1.000", "0", "0", "1.000", "-", "-"]);
    }

    #[test]
    fn the_tables_at_the_top_have_a_row_for_each_load() {
        let overview = overview(&results(), "loads");
        let a: Vec<Vec<&str>> = rows(&overview, "A");
        let expected = [
            ["A", "2500", "+6000", "+2500"],
            ["A", "2500", "4.000", "2.000"],
            ["A", "2500", "100.0 %", "70.0 %"],
        ];
        assert_eq!(a, expected);
        // Of D there is nothing but a failure.
        assert_eq!(rows(&overview, "D")[0], ["D", "-", "-", "-"]);
    }

    #[test]
    fn only_the_module_is_praised_for_a_goal() {
        let mut results = results();
        for record in &mut results.records {
            if ["strict", "classes"].contains(&&*record.name.contender) {
                if let Outcome::Measured(run) = &mut record.outcome {
                    run.latencies
                        .insert("vgg".into(), vec![1_000_000, 2_000_000]);
                }
            }
        }
        let document = document(&results);
        assert_eq!(
            rows(&document, "strict")[0][4],
            "**0.800 (0.800 to 1.000)**"
        );
        assert_eq!(rows(&document, "classes")[0][4], "1.000");
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
        assert!(document(&results()).contains("- D under strict, seed 1, failed: no luck"));
    }
}
