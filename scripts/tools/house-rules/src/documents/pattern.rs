// SPDX-License-Identifier: GPL-2.0-only
//! Names with parts that stand for others: `*`, `<address>`, NAME.

/// Whether a name fits a pattern in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((before, after)) => name.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).any(|at| rest.is_char_boundary(at) && fits(after, &rest[at..]))
        }),
    }
}

/// Writes everything that stands for another text as `*`: what is in angle
/// brackets, and words in capitals.
pub fn generalised(name: &str) -> String {
    let mut pattern = String::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let capitals = rest
            .find(|c: char| !c.is_ascii_uppercase())
            .unwrap_or(rest.len());
        let taken = match (first, rest.find('>')) {
            ('<', Some(end)) => end + 1,
            _ if capitals > 1 => capitals,
            _ => 0,
        };
        if taken > 0 {
            pattern.push('*');
            rest = &rest[taken..];
        } else {
            pattern.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(fits("a*c", "abbc") && fits("*", "") && fits("a", "a"));
        assert!(!fits("a*c", "abb") && !fits("a", "ab"));
    }

    #[test]
    fn brackets_and_capitals_stand_for_others() {
        assert_eq!(generalised("gpu_<address>/nodeNUMBER/A"), "gpu_*/node*/A");
    }
}
