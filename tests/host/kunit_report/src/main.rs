// SPDX-License-Identifier: GPL-2.0-only

//! Judges the console log of a virtual machine that ran KUnit suites.

use std::process::ExitCode;

use kunit_report::report;

const USAGE: &str = "\
usage: kunit-report LOG SUITE...

Judges the console log LOG of a run in which every SUITE has to appear, and
closes with 'N passed, N failed'.";

fn read(path: &str) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {path}: {e}"))?;
    // A console may hold anything; what is not text cannot be a result.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (log, suites) = match arguments.split_first() {
        Some((log, suites)) if !suites.is_empty() => (log, suites),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match read(log) {
        Ok(text) => {
            let report = report::judge(&text, suites);
            print!("{report}");
            ExitCode::from(u8::from(report.failed() > 0))
        }
        Err(message) => {
            eprintln!("kunit-report: {message}");
            ExitCode::from(2)
        }
    }
}
