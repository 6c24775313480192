// SPDX-License-Identifier: GPL-2.0-only
//! Which functions of KFD a storm reaches, on a kernel as it is delivered: ftrace calls a
//! probe in each of them, once. It is coverage by function; that by basic block takes kcov,
//! which no such kernel has.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{ensure, Context, Result};

use crate::guest::Guest;

const FILTER: &str = "/sys/kernel/tracing/set_ftrace_filter";
/// The first symbols of the objects with which KFD's part of amdgpu begins and after which
/// it is over: objects lie as they were linked.
const BEGIN: &str = "kgd2kfd_init";
const END: &str = "amdgpu_cgs_get_firmware_info";
/// Most of KFD's functions. The kernel compares each pattern with all its functions, which
/// takes an emulated guest half a minute.
const PATTERNS: &[&str] = &["*kfd*", "svm_*", "pqm_*", "criu_*", "*_cpsch"];
/// Parts of names of functions that are for GPUs of other generations, or schedulers.
const OTHERS: &[&str] = &[
    "_v7",
    "_v8",
    "_v10",
    "_v11",
    "_v12",
    "_vi",
    "_cik",
    "_mes",
    "_nocpsch",
    "arcturus",
    "aldebaran",
];

/// The functions that are watched.
pub struct Coverage {
    names: BTreeSet<String>,
}

/// What was called at least once, of how many, and what never was.
#[derive(Debug, PartialEq, Eq)]
pub struct Called {
    pub called: usize,
    pub all: usize,
    pub never: Vec<String>,
}

impl Coverage {
    /// Begins to watch.
    pub fn start(guest: &mut Guest) -> Result<Coverage> {
        let symbols = guest.agent().shell(
            "grep '\\[amdgpu\\]' /proc/kallsyms | grep -i ' t ' | sort | cut -d ' ' -f 3 | cut -f 1",
        )?;
        let names = of_kfd(&symbols)?;
        for pattern in PATTERNS {
            guest
                .agent()
                .shell(&format!("echo '{pattern}:stacktrace:1' >>{FILTER}"))
                .with_context(|| format!("watching functions named {pattern}"))?;
        }
        Ok(Coverage { names })
    }

    /// What was called until now; nothing is watched any more.
    pub fn finish(self, guest: &mut Guest) -> Result<Called> {
        let listed = guest.agent().shell(&format!("cat {FILTER}"))?;
        // One with a count is another probe to the kernel than one without.
        for pattern in PATTERNS {
            guest
                .agent()
                .shell(&format!("echo '!{pattern}:stacktrace:0' >>{FILTER}"))?;
        }
        called(&listed, &self.names)
    }
}

/// KFD's functions among the driver's, which are sorted by their places.
fn of_kfd(symbols: &str) -> Result<BTreeSet<String>> {
    let all: Vec<&str> = symbols.lines().collect();
    let place = |name| {
        let at = all.iter().position(|symbol| *symbol == name);
        at.with_context(|| format!("amdgpu has no function {name}"))
    };
    let (begin, end) = (place(BEGIN)?, place(END)?);
    ensure!(begin < end, "KFD's functions are not where they were");
    Ok(all[begin..end]
        .iter()
        .filter(|name| !OTHERS.iter().any(|other| name.contains(other)))
        .map(|&name| name.to_owned())
        .collect())
}

/// Reads the list of probes, each line as in `svm_ioctl [amdgpu]:stacktrace:count=0`.
fn called(text: &str, names: &BTreeSet<String>) -> Result<Called> {
    let mut watched: BTreeMap<&str, bool> = BTreeMap::new();
    for line in text.lines() {
        let Some((name, probe)) = line.split_once(" [amdgpu]:stacktrace:") else {
            continue;
        };
        if names.contains(name) {
            // Functions of several objects may have one name.
            *watched.entry(name).or_default() |= probe == "count=0";
        }
    }
    ensure!(!watched.is_empty(), "no function of KFD is watched");
    let never: Vec<String> = watched
        .iter()
        .filter(|(_, &called)| !called)
        .map(|(&name, _)| name.to_owned())
        .collect();
    Ok(Called {
        called: watched.len() - never.len(),
        all: watched.len(),
        never,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kfd_is_what_lies_between() {
        let symbols =
            "amdgpu_x\nkgd2kfd_init\nsvm_ioctl\ninit_mqd_v10\namdgpu_cgs_get_firmware_info\ny";
        let names = of_kfd(symbols).unwrap();
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            ["kgd2kfd_init", "svm_ioctl"]
        );
        assert!(of_kfd("svm_ioctl").is_err());
    }

    #[test]
    fn a_function_was_called_when_its_probe_is_used_up() {
        let names: BTreeSet<String> = ["a", "b", "c"].map(str::to_owned).into();
        let text = "#### all functions enabled ####\n\
            a [amdgpu]:stacktrace:count=0\nb [amdgpu]:stacktrace:count=1\n\
            b [amdgpu]:stacktrace:count=0\nc [amdgpu]:stacktrace:count=1\n\
            d [amdgpu]:stacktrace:count=0\nvfs_read:stacktrace:count=0\n";
        let expected = Called {
            called: 2,
            all: 3,
            never: vec!["c".into()],
        };
        assert_eq!(called(text, &names).unwrap(), expected);
        assert!(called("", &names).is_err());
    }
}
