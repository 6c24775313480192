// SPDX-License-Identifier: GPL-2.0-only
//! The table of what became of each fault in each state of the module, from the cells
//! that `scripts/test/matrix --keep` has left.

/// Fault, state and end of each cell, between tabs.
const CELLS: &str = include_str!("../../../data/fault-states.txt");

/// The states of the module, as the runner names them.
const STATES: [&str; 10] = [
    "idle",
    "observing",
    "waiting for grace",
    "unmapping",
    "editing",
    "mapping",
    "stopped",
    "starting",
    "disarmed",
    "letting go",
];

pub fn table() -> String {
    render(CELLS)
}

fn render(cells: &str) -> String {
    let cells: Vec<[&str; 3]> = cells
        .lines()
        .filter_map(|line| {
            let mut words = line.split('\t');
            Some([words.next()?, words.next()?, words.next()?])
        })
        .collect();
    let mut faults: Vec<&str> = cells.iter().map(|cell| cell[0]).collect();
    faults.dedup();
    let end = |fault: &str, state: &str| {
        let cell = cells.iter().find(|cell| cell[..2] == [fault, state]);
        cell.map_or("not tried", |cell| cell[2])
    };
    let mut out = format!(
        "\n| fault | {} |\n|---|{}\n",
        STATES.join(" | "),
        "---|".repeat(STATES.len())
    );
    for fault in faults {
        let ends: Vec<&str> = STATES.iter().map(|state| end(fault, state)).collect();
        out.push_str(&format!("| {fault} | {} |\n", ends.join(" | ")));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_a_row_and_each_cell_that_is_missing_says_so() {
        let table = render("late\tidle\tgoes on\nlate\tstopped\treset\nhung\tidle\tgoes on\n");
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 6);
        assert!(
            rows[3].starts_with("| late | goes on | not tried |"),
            "{table}"
        );
        assert_eq!(rows[3].matches("not tried").count(), STATES.len() - 2);
        assert!(rows[4].starts_with("| hung |"), "{table}");
    }

    #[test]
    fn every_cell_names_a_state() {
        for line in CELLS.lines() {
            let state = line.split('\t').nth(1).unwrap_or_default();
            assert!(STATES.contains(&state), "{line}");
        }
    }
}
