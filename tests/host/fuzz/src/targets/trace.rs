// SPDX-License-Identifier: GPL-2.0-only
//! Lines of the kernel's tracing, of which the operator's command makes a trace to look at.

use gpreempt_operator::host::tracepoint::{lost, Occurrence};
use gpreempt_operator::report::perfetto::Trace;

/// Damaged lines are passed over, and any times and numbers make a trace.
pub fn lines(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut trace = Trace::new();
    let mut events = 0;
    for line in text.lines() {
        let _ = lost(line);
        if let Some(occurrence) = Occurrence::parse(line) {
            trace.add(&occurrence, &mut |pid| format!("process {pid}"));
            events += 1;
        }
    }
    let trace = String::from_utf8(trace.finish()).unwrap();
    assert_eq!(trace.contains("\"ph\""), events > 0);
}
