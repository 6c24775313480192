// SPDX-License-Identifier: GPL-2.0-only
//! Reasons, numbers and times in words.

/// Why a queue is stopped or started, and the parameters that decide it.
pub(super) fn cause(reason: &str) -> (&'static str, &'static [&'static str]) {
    match reason {
        "inversion" => (
            "work of higher priority waited",
            &[
                "user_priority",
                "grace_us",
                "rule_overhead_percent",
                "claim_overhead_percent",
            ],
        ),
        "rotation" => (
            "others of its level waited and its turn was over",
            &["timeslice_us"],
        ),
        "calm" => ("nothing that could hold it wanted the GPU any more", &[]),
        "turn" => (
            "the turn of those it was stopped for was over",
            &["timeslice_us"],
        ),
        "bound" => (
            "it had been stopped as long as any queue may be",
            &["max_stop_ms"],
        ),
        "no-progress" => (
            "those it was stopped for made no progress, as if they waited for it",
            &["noprogress_ms"],
        ),
        "budget" => (
            "those it was stopped for had spent their budget",
            &["stop_budget_ms"],
        ),
        "exempt" => ("a rule exempts it, or it can no longer be stopped", &[]),
        "release" => ("mode or backend was changed", &["mode", "backend"]),
        "failure" => ("a transaction failed, so that everything was started", &[]),
        "orphan" => ("it was found stopped, and nobody knew why", &[]),
        _ => ("of a reason that this program does not know", &[]),
    }
}

/// Why a queue was stopped or started, in words.
pub fn reason_in_words(reason: &str) -> &'static str {
    cause(reason).0
}

/// As in `once` and `3 times`.
pub(super) fn times(number: usize) -> String {
    match number {
        1 => "once".to_owned(),
        number => format!("{number} times"),
    }
}

/// A time that a person can read.
pub fn duration(nanos: u64) -> String {
    for (unit, size) in [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)] {
        if nanos >= 10 * size {
            return format!("{} {unit}", nanos / size);
        }
    }
    format!("{nanos} ns")
}
