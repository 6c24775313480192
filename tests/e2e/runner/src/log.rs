// SPDX-License-Identifier: GPL-2.0-only
//! What may be in the guest's kernel log during a scenario.

use e2e_protocol::LogLine;

/// Messages of this level and of those below it are errors.
const ERROR_LEVEL: u32 = 3;

/// What no clean run prints at any level.
const BAD: &[&str] = &[
    "WARNING:",
    "BUG:",
    "BUG ",
    "kernel BUG",
    "Oops",
    "general protection fault",
    "Call Trace:",
    "Unable to handle",
    "blocked for more than",
    "rcu: INFO",
    "soft lockup",
    "hard LOCKUP",
    "possible recursive locking",
    "circular locking",
    "inconsistent lock state",
    "suspicious RCU usage",
    "sleeping function called",
    "refcount_t:",
    "UBSAN",
    "KASAN",
    "list_add corruption",
    "list_del corruption",
    "*ERROR*",
    "GPU reset",
    "GPU Hang",
    "rust_kernel: panicked",
    "Runlist IB overflow",
    "fence wait loop timeout",
    "preemption failed",
];

/// What looks bad but is harmless: the stock driver prints it in a clean run.
const HARMLESS: &[&str] = &[
    // rmmod of amdgpu after any use, with no module of ours ever loaded.
    "VM memory stats for proc",
    // A passed-through GPU needs no video BIOS, and the virtual one has none.
    "Unable to locate a BIOS ROM",
    // The kernel of `make test-debug` is built without them.
    "Kernel compiled without mitigations",
];

/// The lines that a scenario must not leave behind, save for those that
/// contain one of `expected`.
pub fn objections<'a>(lines: &'a [LogLine], expected: &[String]) -> Vec<&'a LogLine> {
    lines
        .iter()
        .filter(|line| line.level <= ERROR_LEVEL || BAD.iter().any(|bad| line.text.contains(bad)))
        .filter(|line| !HARMLESS.iter().any(|fine| line.text.contains(fine)))
        .filter(|line| {
            !expected
                .iter()
                .any(|fine| line.text.contains(fine.as_str()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> LogLine {
        LogLine {
            sequence: 0,
            time_us: 0,
            level: 6,
            text: text.into(),
        }
    }

    #[test]
    fn a_splat_is_objected_to_unless_it_is_expected() {
        let lines = [
            line("amdgpu 0000:01:00.0: amdgpu: GPU reset(1) succeeded!"),
            line("[drm] Initialized amdgpu 3.64.0"),
            line("WARNING: CPU: 1 PID: 7 at kfd_packet_manager.c:41"),
        ];
        assert_eq!(objections(&lines, &[]).len(), 2);
        let rest = objections(&lines, &["GPU reset".into()]);
        assert_eq!(rest, [&lines[2]]);
    }

    #[test]
    fn an_error_is_objected_to_whatever_it_says() {
        let mut lines = [line("amdgpu 0000:01:00.0: never seen before")];
        assert!(objections(&lines, &[]).is_empty());
        lines[0].level = ERROR_LEVEL;
        assert_eq!(objections(&lines, &[]).len(), 1);
    }

    #[test]
    fn what_the_stock_driver_always_says_is_let_pass() {
        let lines = [line(
            "amdgpu: VM memory stats for proc (0) task (0) is non-zero when fini",
        )];
        assert!(objections(&lines, &[]).is_empty());
    }
}
