// SPDX-License-Identifier: GPL-2.0-only
//! As much of a terminal as it takes to see what a program has put on it.

const LINES: usize = 50;
const COLUMNS: usize = 200;

/// The screen after all of this has been written to it.
pub fn text(written: &str) -> String {
    let mut cells = vec![vec![' '; COLUMNS]; LINES];
    let (mut line, mut column) = (0, 0);
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                if rest.next() != Some('[') {
                    continue;
                }
                let mut numbers = String::new();
                let end = rest.by_ref().find(|character| {
                    numbers.push(*character);
                    character.is_ascii_alphabetic()
                });
                let number = |at: usize| {
                    let of = numbers.split(|character: char| !character.is_ascii_digit());
                    of.filter_map(|digits| digits.parse().ok())
                        .nth(at)
                        .unwrap_or(1_usize)
                };
                match end {
                    Some('H') => (line, column) = (number(0) - 1, number(1) - 1),
                    Some('J') => cells = vec![vec![' '; COLUMNS]; LINES],
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => line += 1,
            _ => {
                let cell = cells.get_mut(line).and_then(|cells| cells.get_mut(column));
                if let Some(cell) = cell {
                    *cell = character;
                }
                column += 1;
            }
        }
    }
    let lines = cells.iter().map(|cells| cells.iter().collect::<String>());
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
