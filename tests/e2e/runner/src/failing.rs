// SPDX-License-Identifier: GPL-2.0-only
//! Allocations that fail on purpose in the guest's kernel, one at a time: the first of
//! what a program or a thread does, then the second, until it has no more. The kernel's
//! documentation of fault injection calls this systematic.

use std::time::Duration;

use anyhow::{bail, ensure, Context, Result};
use e2e_protocol::{Program, Status};

use crate::guest::Guest;

/// Which kinds of allocations may fail, each a folder where the kernel has it: objects,
/// and whole pages.
const KINDS: &[&str] = &[
    "/sys/kernel/debug/failslab",
    "/sys/kernel/debug/fail_page_alloc",
];
/// How each kind is set: also those that may wait, and pages of any number. Where they
/// fail is put in the log.
const SETTINGS: &[(&str, &str)] = &[
    ("ignore-gfp-wait", "N"),
    ("min-order", "0"),
    ("verbose", "2"),
    ("times", "0"),
];
const PATIENCE: Duration = Duration::from_secs(300);

/// What the kernel says of each that fails on purpose, in parts of lines.
const SAID: &[&str] = &["Call Trace:"];

/// Addresses of code; an allocation on whose behalf none of it runs does not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Within {
    start: u64,
    end: u64,
}

/// The kinds of allocations that this kernel can let fail.
pub struct Failing {
    kinds: Vec<&'static str>,
}

/// What came of a line of which one allocation may have failed.
#[derive(Clone, Debug)]
pub struct Tried {
    /// One has failed; otherwise the line has fewer.
    pub hit: bool,
    pub succeeded: bool,
    /// What it wrote to its standard error.
    pub said: String,
}

impl Failing {
    pub fn new(guest: &mut Guest) -> Result<Failing> {
        let mut kinds = Vec::new();
        for kind in KINDS {
            let Ok(files) = guest.agent().list(kind) else {
                continue;
            };
            for (file, value) in SETTINGS {
                if files.iter().any(|each| each == file) {
                    guest.agent().write_file(&format!("{kind}/{file}"), value)?;
                }
            }
            kinds.push(*kind);
        }
        ensure!(!kinds.is_empty(), "this kernel cannot let allocations fail");
        Ok(Failing { kinds })
    }

    /// Only what runs on behalf of this code fails from now on.
    pub fn only_within(&self, guest: &mut Guest, within: Within) -> Result<()> {
        for kind in &self.kinds {
            for (file, address) in [("require-start", within.start), ("require-end", within.end)] {
                guest
                    .agent()
                    .write_file(&format!("{kind}/{file}"), &format!("{address:#x}"))?;
            }
        }
        Ok(())
    }

    /// Lets one allocation of whoever has been told its number fail.
    pub fn arm(&self, guest: &mut Guest) -> Result<()> {
        SAID.iter().for_each(|text| guest.expect_log(text));
        self.set_times(guest, "1")
    }

    /// Whether one has failed since then. None does any more.
    pub fn disarm(&self, guest: &mut Guest) -> Result<bool> {
        let mut hit = false;
        for kind in &self.kinds {
            hit |= guest.agent().read_file(&format!("{kind}/times"))?.trim() == "0";
        }
        self.set_times(guest, "0")?;
        Ok(hit)
    }

    fn set_times(&self, guest: &mut Guest, times: &str) -> Result<()> {
        for kind in &self.kinds {
            guest.agent().write_file(&format!("{kind}/times"), times)?;
        }
        Ok(())
    }

    /// Runs a line of the guest's shell whose first command is a program, of which the
    /// allocation with this number fails.
    pub fn run(&self, guest: &mut Guest, number: u32, line: &str) -> Result<Tried> {
        self.arm(guest)?;
        let line = format!("echo {number} >/proc/self/fail-nth && exec {line}");
        let program = Program {
            program: "sh".into(),
            arguments: vec!["-c".into(), line.clone()],
            ..Program::default()
        };
        let finished = guest.agent().run(program, PATIENCE)?;
        let succeeded = match finished.status {
            Status::Exited(code) => code == 0,
            other => bail!("'{line}' ended with {other:?}: {}", finished.stderr),
        };
        Ok(Tried {
            hit: self.disarm(guest)?,
            succeeded,
            said: finished.stderr,
        })
    }

    /// Lets the allocation with this number of a running thread fail, counted from now.
    pub fn tell(&self, guest: &mut Guest, pid: u32, number: u32) -> Result<()> {
        let path = format!("/proc/{pid}/fail-nth");
        guest.agent().write_file(&path, &number.to_string())
    }
}

impl Within {
    /// The code of a function of the kernel.
    pub fn function(guest: &mut Guest, name: &str) -> Result<Within> {
        let line = format!(
            "sort /proc/kallsyms | awk 'start && $1 != start {{ print start, $1; exit }} \
             $3 == \"{name}\" {{ start = $1 }}'"
        );
        let text = guest.agent().shell(&line)?;
        addresses(&text).with_context(|| format!("where the kernel has {name}: '{text}'"))
    }

    /// All of the module that is loaded now.
    pub fn module(guest: &mut Guest) -> Result<Within> {
        let text = guest.agent().read_file("/proc/modules")?;
        in_modules(&text).with_context(|| format!("where the module is: {text}"))
    }
}

fn addresses(text: &str) -> Option<Within> {
    let (start, end) = text.trim().split_once(' ')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    let within = Within {
        start: address(start)?,
        end: address(end)?,
    };
    (within.start != 0 && within.start < within.end).then_some(within)
}

fn in_modules(text: &str) -> Option<Within> {
    let line = text
        .lines()
        .find(|line| line.starts_with("amd_gpreempt "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    let start = words.iter().find_map(|word| word.strip_prefix("0x"))?;
    let start = u64::from_str_radix(start, 16)
        .ok()
        .filter(|&start| start != 0)?;
    let end = start + words.get(1)?.parse::<u64>().ok()?;
    Some(Within { start, end })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let within = addresses("ffffffff81000010 ffffffff81000040\n").unwrap();
        assert_eq!(
            (within.start, within.end - within.start),
            (0xffff_ffff_8100_0010, 0x30)
        );
        // Hidden ones are zero.
        for bad in ["", "0000000000000000 ffffffff81000040", "20 10", "x y"] {
            assert_eq!(addresses(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_module_is_found_among_others() {
        let text = "amdgpu 9 1 amd_gpreempt, Live 0xffffffffc0000000\n\
            amd_gpreempt 4096 0 - Live 0xffffffffc0800000 (OE)\n";
        let within = in_modules(text).unwrap();
        assert_eq!(
            (within.start, within.end),
            (0xffff_ffff_c080_0000, 0xffff_ffff_c080_1000)
        );
        assert_eq!(in_modules("amdgpu 9 1 amd_gpreempt, Live 0x10\n"), None);
        assert_eq!(in_modules("amd_gpreempt 4096 0 - Live 0x0 (OE)\n"), None);
    }
}
