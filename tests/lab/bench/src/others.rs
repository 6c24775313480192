// SPDX-License-Identifier: GPL-2.0-only
//! How much of the host's processors other programs take meanwhile: the virtual GPU and its
//! guest run on them, so that what else runs there makes every figure worse.

use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::time::Instant;

/// Linux tells programs of times in hundredths of a second.
const TICKS: f64 = 100.0;

/// What a process has used of processors, in ticks, and whose child it is.
struct Used {
    parent: u32,
    ticks: u64,
}

/// From when on others are watched.
pub struct Others {
    since: Instant,
    /// What all have used by then, and what this program and its children have.
    all: u64,
    own: u64,
}

impl Others {
    /// Begins to watch.
    pub fn watch() -> Result<Others> {
        let (all, own) = read()?;
        Ok(Others {
            since: Instant::now(),
            all,
            own,
        })
    }

    /// How many processors others have taken on average.
    pub fn processors(&self) -> Result<f64> {
        let (all, own) = read()?;
        let ours = own.saturating_sub(self.own);
        let others = all.saturating_sub(self.all).saturating_sub(ours);
        Ok(others as f64 / TICKS / self.since.elapsed().as_secs_f64())
    }
}

/// What all and what this program with its children have used, in ticks.
fn read() -> Result<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat").context("/proc/stat cannot be read")?;
    let mut processes = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(id) = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // It may have ended meanwhile.
        let text = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        if let Some(used) = of_process(&text) {
            processes.insert(id, used);
        }
    }
    let all = of_all(&stat).context("/proc/stat has no line of all processors")?;
    Ok((all, of_family(&processes, std::process::id())))
}

/// What all have used, by the first line of /proc/stat: all but the times of idleness.
fn of_all(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Option<Vec<u64>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
    // The ninth and tenth, of guests, are counted among the first ones.
    let used = [0, 1, 2, 5, 6, 7];
    let times = times?;
    used.iter().map(|at| times.get(*at).copied()).sum()
}

/// A process by its stat file; children that have ended are its own.
fn of_process(stat: &str) -> Option<Used> {
    // Its name, in brackets, may have spaces and brackets.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(Used {
        parent: u32::try_from(number(1)?).ok()?,
        ticks: number(11)? + number(12)? + number(13)? + number(14)?,
    })
}

/// What a process and all below it have used.
fn of_family(processes: &BTreeMap<u32, Used>, first: u32) -> u64 {
    let below = |id: u32| {
        let mut at = id;
        // No chain is longer than there are processes.
        for _ in 0..=processes.len() {
            if at == first {
                return true;
            }
            match processes.get(&at) {
                Some(used) => at = used.parent,
                None => return false,
            }
        }
        false
    };
    let family = processes.iter().filter(|(id, _)| below(**id));
    family.map(|(_, used)| used.ticks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_times_and_those_of_guests_are_no_use() {
        let stat = "cpu  1 2 4 1000 2000 8 16 32 4000 8000\ncpu0 9 9 9 9 9 9 9 9 9 9\n";
        assert_eq!(of_all(stat), Some(63));
        assert_eq!(of_all("cpu  1 2 4\n"), None);
        assert_eq!(of_all("intr 1\n"), None);
    }

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let stat = "7 (a) b (c)) S 3 7 7 0 -1 4194560 1 2 3 4 10 20 30 40 20 0 1 0 5\n";
        let used = of_process(stat).unwrap();
        assert_eq!((used.parent, used.ticks), (3, 100));
        assert!(of_process("").is_none() && of_process("7 (a) S 3").is_none());
    }

    #[test]
    fn a_family_is_whoever_is_below() {
        let tree = [(1, 0, 1), (2, 1, 2), (3, 2, 4), (4, 1, 8), (5, 3, 16)];
        let processes: BTreeMap<u32, Used> = tree
            .into_iter()
            .map(|(id, parent, ticks)| (id, Used { parent, ticks }))
            .collect();
        assert_eq!(of_family(&processes, 2), 22);
        assert_eq!(of_family(&processes, 1), 31);
        assert_eq!(of_family(&processes, 9), 0);
    }

    #[test]
    fn this_program_counts_as_its_own() {
        let before = read().unwrap();
        let mut sum = 0u64;
        while read().unwrap().1 < before.1 + 2 {
            sum = (0..1_000_000).fold(sum, |sum, one| sum ^ (one * one));
        }
        let after = read().unwrap();
        assert!(after.0 > before.0, "{sum}");
    }
}
