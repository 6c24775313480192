// SPDX-License-Identifier: GPL-2.0-only
//! The table in which the simulator's figures stand beside those that were measured.

use std::fmt::Write;

use gpu_workload::latency::summary;

use super::Figures;
use crate::contender::Contender;
use crate::part::Part;
use crate::results::Results;

/// The same requests in the simulator.
pub fn beside_the_simulator(results: &Results) -> String {
    if results.simulated.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "### The same requests in the simulator\n\n\
         With as many compute units. *Transaction* is the mean, here from the call to the first urgent workgroup, of\n\
         the preemptions that were cut into parts; there from the command to the run list, of all that an urgent\n\
         request waited for.\n\n\
         | load | contender | p50 ms | simulated | off by | p99 ms | simulated | off by \
         | transaction us | simulated |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for simulated in &results.simulated {
        let own = Contender::by_name(&simulated.contender).and_then(|contender| {
            Figures::of(results, Part::Loads.name(), &simulated.load, contender)
        });
        let Some(own) = own else {
            continue;
        };
        let pair = |own: f64, nanos: u64| {
            let there = nanos as f64 / 1e6;
            format!(
                "{own:.3} | {there:.3} | {:+.1} %",
                100.0 * (own / there - 1.0)
            )
        };
        let totals: Vec<u64> = own.preemptions.iter().map(|split| split.total).collect();
        let micros = |nanos: Option<u64>| {
            nanos.map_or("-".into(), |nanos| format!("{:.1}", nanos as f64 / 1e3))
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            simulated.load,
            simulated.contender,
            pair(own.p50.value, simulated.p50_ns),
            pair(own.p99.value, simulated.p99_ns),
            micros(summary(&totals).map(|totals| totals.mean)),
            micros(simulated.transaction_ns),
        );
    }
    out + "\n"
}

#[cfg(test)]
mod tests {
    use super::super::tests::results;
    use super::*;
    use crate::results::Simulated;

    #[test]
    fn the_simulator_s_figures_stand_beside_the_own() {
        let mut results = results();
        results.simulated.push(Simulated {
            load: "A".into(),
            contender: "strict".into(),
            p50_ns: 2_000_000,
            p99_ns: 4_000_000,
            transaction_ns: Some(70_000),
        });
        let table = beside_the_simulator(&results);
        let row = table.lines().rfind(|line| line.starts_with("| A")).unwrap();
        let row: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert_eq!(row[5..], ["5.000", "4.000", "+25.0 %", "50.0", "70.0"]);
    }
}
