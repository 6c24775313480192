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
    // Linux 6.12 has these lines behind the one that tells of a page fault, which is
    // objected to; later ones leave them out where the register says nothing.
    "VM_L2_PROTECTION_FAULT_STATUS:0x00000000",
    "Faulty UTCL2 client ID: CB (0x0)",
    "MORE_FAULTS: 0x0",
    "WALKER_ERROR: 0x0",
    "PERMISSION_FAULTS: 0x0",
    "MAPPING_ERROR: 0x0",
    "RW: 0x0",
    // The kernel of `make test-debug` is built without them.
    "Kernel compiled without mitigations",
];

/// What the first and the last line of a warning with its trace contain.
const CUT: &str = "[ cut here ]";
const END: &str = "[ end trace ";

/// What a scenario makes the kernel say.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Parts of lines.
    pub texts: Vec<String>,
    /// Warnings of the stock driver: the function that warns, and one in its trace
    /// that says on whose behalf.
    pub warnings: Vec<(&'static str, &'static str)>,
}

impl Expected {
    /// Whether these lines are a whole warning that is expected.
    fn is_warning(&self, lines: &[LogLine]) -> bool {
        let says = |text: &str| lines.iter().any(|line| line.text.contains(text));
        self.warnings.iter().any(|(warner, caller)| {
            let head = lines.iter().find(|line| line.text.contains("WARNING:"));
            head.is_some_and(|line| line.text.contains(&format!("{warner}+")))
                && says(&format!("{caller}+"))
        })
    }
}

/// The lines that a scenario must not leave behind, save for those that are expected.
pub fn objections<'a>(lines: &'a [LogLine], expected: &Expected) -> Vec<&'a LogLine> {
    without_warnings(lines, expected)
        .into_iter()
        .filter(|line| line.level <= ERROR_LEVEL || BAD.iter().any(|bad| line.text.contains(bad)))
        .filter(|line| !HARMLESS.iter().any(|fine| line.text.contains(fine)))
        .filter(|line| {
            !expected
                .texts
                .iter()
                .any(|fine| line.text.contains(fine.as_str()))
        })
        .collect()
}

/// All lines but those of the warnings that are expected.
fn without_warnings<'a>(lines: &'a [LogLine], expected: &Expected) -> Vec<&'a LogLine> {
    let mut kept = Vec::new();
    let mut rest = lines;
    while let Some((line, after)) = rest.split_first() {
        let end = after.iter().position(|line| line.text.contains(END));
        let warning = end.map_or(&[][..], |end| &after[..=end]);
        if line.text.contains(CUT) && expected.is_warning(warning) {
            rest = &after[warning.len()..];
        } else {
            kept.push(line);
            rest = after;
        }
    }
    kept
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
        assert_eq!(objections(&lines, &Expected::default()).len(), 2);
        let expected = Expected {
            texts: vec!["GPU reset".into()],
            ..Expected::default()
        };
        assert_eq!(objections(&lines, &expected), [&lines[2]]);
    }

    #[test]
    fn a_warning_is_expected_of_one_function_on_behalf_of_another() {
        let warning = |warner: &str, caller: &str| {
            [
                "------------[ cut here ]------------".to_owned(),
                "debug_locks && !lock_is_held(&sem->dep_map)".to_owned(),
                format!("WARNING: drivers/a.c:7 at {warner}+0x1/0x2 [amdgpu], CPU#0: w/1"),
                "Call Trace:".to_owned(),
                format!(" {caller}+0x3/0x4 [amdgpu]"),
                "---[ end trace 0000000000000000 ]---".to_owned(),
            ]
            .map(|text| line(&text))
        };
        let expected = Expected {
            warnings: vec![("skip_access", "get_clock")],
            ..Expected::default()
        };
        let left = |warner, caller| objections(&warning(warner, caller), &expected).len();
        assert_eq!(left("skip_access", "get_clock"), 0);
        assert_eq!(left("skip_access", "get_memory"), 2);
        assert_eq!(left("other", "get_clock"), 2);
        assert_eq!(left("skip_access_too", "get_clock"), 2);
        // What comes after it, or is cut off, is not part of it.
        let mut lines = warning("skip_access", "get_clock").to_vec();
        lines.push(line("BUG: something else"));
        assert_eq!(objections(&lines, &expected), [&lines[6]]);
        assert_eq!(objections(&lines[..5], &expected).len(), 2);
    }

    #[test]
    fn an_error_is_objected_to_whatever_it_says() {
        let mut lines = [line("amdgpu 0000:01:00.0: never seen before")];
        let nothing = Expected::default();
        assert!(objections(&lines, &nothing).is_empty());
        lines[0].level = ERROR_LEVEL;
        assert_eq!(objections(&lines, &nothing).len(), 1);
    }

    #[test]
    fn what_the_stock_driver_always_says_is_let_pass() {
        let lines = [line(
            "amdgpu: VM memory stats for proc (0) task (0) is non-zero when fini",
        )];
        assert!(objections(&lines, &Expected::default()).is_empty());
    }
}
