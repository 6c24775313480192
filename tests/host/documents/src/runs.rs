// SPDX-License-Identifier: GPL-2.0-only
//! The table of how many scenarios have passed on what, from the results that
//! `scripts/test/results --keep` has kept.

use std::collections::{BTreeMap, BTreeSet};

/// Suite, scenario, what it ran on and kernel of each that passed, between tabs.
const RESULTS: &str = include_str!("../../../data/results.txt");

pub fn table() -> String {
    render(RESULTS)
}

/// The numbers of a kernel's version, by which versions follow each other.
fn version(series: &str) -> Vec<u32> {
    let parts = series.split(|letter: char| !letter.is_ascii_digit());
    parts.filter_map(|part| part.parse().ok()).collect()
}

fn render(results: &str) -> String {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut kernels = BTreeSet::new();
    let mut kinds = BTreeSet::new();
    for line in results.lines() {
        let parts: Vec<&str> = line.split('\t').collect();
        let [_, _, kind, kernel] = parts[..] else {
            continue;
        };
        *counts.entry((kind, kernel)).or_default() += 1;
        kernels.insert((version(kernel), kernel));
        // The usual GPU first, and of each GPU what is least.
        let is_usual = kind.starts_with("mi300x");
        kinds.insert((!is_usual, kind.len(), kind));
    }
    let names: Vec<&str> = kernels.iter().map(|(_, kernel)| *kernel).collect();
    let mut out = format!(
        "\n| GPU | {} |\n|---|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    for (.., kind) in kinds {
        let cells: Vec<String> = names
            .iter()
            .map(|kernel| counts.get(&(kind, *kernel)))
            .map(|count| count.map(usize::to_string).unwrap_or_default())
            .collect();
        out.push_str(&format!("| {kind} | {} |\n", cells.join(" | ")));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_gpu_has_a_row_and_each_kernel_a_column() {
        let table = render(
            "e2e\ta\tmi350x, 1 die\t7.3\ne2e\ta\tmi300x, 8 dies\t7.3\n\
             e2e\tb\tmi300x, 8 dies\t7.3\nvgpu\tc\tmi300x, 1 die\t6.12\n",
        );
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(
            rows,
            [
                "",
                "| GPU | 6.12 | 7.3 |",
                "|---|--:|--:|",
                "| mi300x, 1 die | 1 |  |",
                "| mi300x, 8 dies |  | 2 |",
                "| mi350x, 1 die |  | 1 |",
                "",
            ]
        );
    }
}
