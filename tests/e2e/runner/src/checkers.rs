// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's own checkers, where a guest's kernel has them: memory that is
//! lost or used wrongly, and whether locks are still watched.

use anyhow::{bail, Context, Result};

use crate::guest::Guest;

const KMEMLEAK: &str = "/sys/kernel/debug/kmemleak";
const LOCKDEP: &str = "/proc/lockdep_stats";
const TAINTED: &str = "/proc/sys/kernel/tainted";
/// Whose bits of that are set for good: KASAN and the checks of slabs and pages have found
/// something, or the kernel has died in part.
const SPOILED: &[(u64, &str)] = &[(1 << 5, "memory was used wrongly"), (1 << 7, "it has died")];
/// How a report about memory that the module took names it.
const MODULE: &str = "[amd_gpreempt]";

/// Refuses what the checkers have found since the guest started.
pub fn ask(guest: &mut Guest) -> Result<()> {
    let agent = guest.agent();
    // A report may be lost from the log, or have the words of a line that is expected.
    if let Some(what) = spoiled(&agent.read_file(TAINTED)?)? {
        bail!("the kernel says of itself that {what}: the report is in the log");
    }
    if agent
        .list("/sys/kernel/debug")?
        .contains(&"kmemleak".into())
    {
        agent.write_file(KMEMLEAK, "scan")?;
        let reports = agent.shell(&format!("cat {KMEMLEAK}"))?;
        if let Some(report) = lost_by_module(&reports) {
            bail!("memory is lost:\n{report}");
        }
    }
    if agent.list("/proc")?.contains(&"lockdep_stats".into()) {
        let stats = agent.shell(&format!("cat {LOCKDEP}"))?;
        if lockdep_is_off(&stats) {
            bail!("lockdep has turned itself off: its first report is in the log");
        }
    }
    Ok(())
}

/// What of a kernel's flags no scenario may leave.
fn spoiled(tainted: &str) -> Result<Option<&'static str>> {
    let flags: u64 = tainted.trim().parse().context("the kernel's flags")?;
    let found = SPOILED.iter().find(|(bit, _)| flags & bit != 0);
    Ok(found.map(|&(_, what)| what))
}

/// The first report in which the module took the memory.
fn lost_by_module(reports: &str) -> Option<&str> {
    let starts: Vec<usize> = reports
        .match_indices("unreferenced object")
        .map(|(start, _)| start)
        .collect();
    let ends = starts.iter().skip(1).copied().chain([reports.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| &reports[start..end])
        .find(|report| report.contains(MODULE))
}

fn lockdep_is_off(stats: &str) -> bool {
    stats
        .lines()
        .filter_map(|line| line.trim().strip_prefix("debug_locks:"))
        .any(|value| value.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_memory_that_the_module_took_is_its_loss() {
        let driver = "unreferenced object 0x1 (size 8):\n  [<0>] f+0x1/0x2 [amdgpu]\n";
        let module = "unreferenced object 0x2 (size 8):\n  [<0>] g+0x1/0x2 [amd_gpreempt]\n";
        assert_eq!(lost_by_module(""), None);
        assert_eq!(lost_by_module(driver), None);
        let both = [driver, module, driver].concat();
        assert_eq!(lost_by_module(&both), Some(module));
    }

    #[test]
    fn a_kernel_that_found_something_says_so_for_good() {
        assert!(spoiled("").is_err());
        // Modules from elsewhere, and warnings, are no such thing.
        for fine in [0, 1 << 9, (1 << 12) | (1 << 13)] {
            assert_eq!(spoiled(&format!("{fine}\n")).unwrap(), None);
        }
        let said = spoiled(&format!("{}\n", (1 << 12) | (1 << 5)))
            .unwrap()
            .unwrap();
        assert!(said.contains("memory"), "{said}");
        assert!(spoiled("128").unwrap().is_some());
    }

    #[test]
    fn lockdep_says_whether_it_is_on() {
        assert!(lockdep_is_off(" max depth: 3\n debug_locks:     0\n"));
        assert!(!lockdep_is_off(" max depth: 3\n debug_locks:     1\n"));
        assert!(!lockdep_is_off(""));
    }
}
