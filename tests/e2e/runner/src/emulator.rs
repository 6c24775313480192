// SPDX-License-Identifier: GPL-2.0-only
//! A fault of the emulator that kills a guest in which nothing is wrong.
//!
//! While the kernel changes an instruction, a breakpoint stands in its place. QEMU
//! translates code once and translates it again after a write; where another
//! processor does so in the moment before the write, it keeps the breakpoint for
//! good. The kernel dies of one that it has taken out long ago, and its report
//! shows the instruction that is there instead.

const REPORT: &str = "Oops: int3";
const CODE: &str = "Code: ";
/// The instruction that is a breakpoint.
const BREAKPOINT: &str = "cc";

/// Whether a guest with this console died of a breakpoint that was not there.
pub fn ran_stale_code(console: &str) -> bool {
    let mut lines = console.lines().skip_while(|line| !line.contains(REPORT));
    let Some((_, code)) = lines.find_map(|line| line.split_once(CODE)) else {
        return false;
    };
    let bytes: Vec<&str> = code.split_whitespace().collect();
    // The byte in angles is the one after the breakpoint.
    bytes
        .windows(2)
        .any(|pair| pair[1].starts_with('<') && pair[0] != BREAKPOINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn console(what: &str, code: &str) -> String {
        format!(
            "[  1.0] amd_gpreempt: loaded\n\
             [  267.655974] {what}: 0000 [#1] SMP NOPTI\n\
             [  267.658093] RIP: 0010:__schedule+0x30c/0x1080\n\
             [  267.658379] Code: {code}\n\
             [  267.663324] RSP: 0018:ffffffff8be03d70 EFLAGS: 00000082\n"
        )
    }

    #[test]
    fn a_breakpoint_that_is_gone_is_the_emulators() {
        assert!(ran_stale_code(&console(
            "Oops: int3",
            "05 00 00 0f <1f> 44 00 00 49"
        )));
    }

    #[test]
    fn a_breakpoint_that_is_there_is_not() {
        assert!(!ran_stale_code(&console(
            "Oops: int3",
            "05 00 00 cc <1f> 44 00 00 49"
        )));
    }

    #[test]
    fn other_reports_are_not() {
        assert!(!ran_stale_code(""));
        assert!(!ran_stale_code(&console(
            "Oops",
            "05 00 00 0f <1f> 44 00 00 49"
        )));
        assert!(!ran_stale_code(&console("Oops: int3", "")));
        assert!(!ran_stale_code("[ 2.0] Oops: int3: 0000 [#1] SMP NOPTI\n"));
    }

    #[test]
    fn a_report_before_is_not_taken_for_it() {
        let earlier = console("Oops", "05 00 00 0f <1f> 44");
        let later = console("Oops: int3", "05 00 00 cc <1f> 44");
        assert!(!ran_stale_code(&(earlier + &later)));
    }
}
