// SPDX-License-Identifier: GPL-2.0-only
//! Tables as lines for people.

use std::cmp::Reverse;

use gpreempt_operator::host::tables::{Event, Node, Queues};
use gpreempt_operator::host::tree::MODULE;
use gpreempt_operator::report::doctor::Finding;
use gpreempt_operator::report::explain::{duration, Explanation};
use gpreempt_operator::words::gpu::OwnModes;

/// Rows of words as lines with aligned columns.
fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let mut widths = [0; N];
    for row in rows {
        for (width, word) in widths.iter_mut().zip(row) {
            *width = (*width).max(word.chars().count());
        }
    }
    rows.iter()
        .map(|row| {
            let words: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(word, width)| format!("{word:<width$}"))
                .collect();
            words.join("  ").trim_end().to_owned()
        })
        .collect()
}

fn or_dash(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

pub fn queues(table: &Queues) -> Vec<String> {
    let mut rows = vec![[
        "GPU", "PID", "COMMAND", "QUEUE", "PRIO", "EFF", "STATE", "WAVES", "PENDING", "STOPS",
        "RAN", "STOPPED",
    ]
    .map(String::from)];
    let mut order: Vec<_> = table.queues.iter().collect();
    order.sort_by_key(|queue| (Reverse(queue.eff_prio), queue.pid, queue.queue));
    for queue in order {
        let exempt = if queue.contends { "" } else { " (exempt)" };
        rows.push([
            format!("{}/{}", queue.gpu, queue.node),
            queue.pid.to_string(),
            queue.comm.clone(),
            queue.queue.to_string(),
            queue.prio.to_string(),
            queue.eff_prio.to_string(),
            format!("{}{exempt}", queue.state),
            or_dash(queue.waves),
            or_dash(queue.backlog()),
            queue.stops.to_string(),
            duration(queue.run_ns),
            duration(queue.stopped_ns),
        ]);
    }
    let mut lines = columns(&rows);
    let mut crowd: Vec<_> = table.left_out.iter().collect();
    crowd.sort_by_key(|process| Reverse(process.left_out));
    lines.extend(crowd.iter().map(|process| {
        format!(
            "{}/{}: {} of {} queues of {} ({}) are left alone for want of room",
            process.gpu, process.node, process.left_out, process.queues, process.comm, process.pid
        )
    }));
    lines
}

pub fn nodes(nodes: &[Node]) -> Vec<String> {
    if nodes.is_empty() {
        return vec!["no AMD GPU with KFD is there yet; the module waits for one".into()];
    }
    nodes.iter().flat_map(node).collect()
}

/// The modes that GPUs have of their own.
pub fn own(modes: &OwnModes) -> Vec<String> {
    let line = |(gpu, mode)| format!("GPU {gpu} has a mode of its own: {mode}");
    modes.iter().map(line).collect()
}

fn node(node: &Node) -> Vec<String> {
    let mut lines = vec![format!(
        "{} node {}: {}, mode {}, sampler {}, backend {}",
        node.gpu, node.node, node.state, node.mode, node.sampler, node.backend
    )];
    let is_there = |text: &&String| !text.is_empty();
    if let Some(refusal) = node.refusal.as_ref().filter(is_there) {
        lines.push(format!("  refused: {refusal}"));
    }
    if let Some(failure) = node.last_failure.as_ref().filter(is_there) {
        lines.push(format!("  last failure: {failure}"));
    }
    lines.push(format!(
        "  queues: {} of {} processes; {} run, {} wait, {} stopped",
        node.queues, node.processes, node.running, node.waiting, node.stopped
    ));
    lines.push(format!(
        "  since loading: {} inversions, {} stops, {} starts, {} only observed, \
         {} failures in {} transactions",
        node.inversions, node.stops, node.starts, node.observed, node.failures, node.transactions
    ));
    if node.exempt > 0 {
        lines.push(format!(
            "  left alone for want of room: {} queues; 'gpreempt queues' says whose",
            node.exempt
        ));
    }
    if node.mode == "observe" && node.observed > 0 {
        lines.push("  'gpreempt mode enforce' would act on what it observes".into());
    }
    if node.state == "disarmed" {
        lines.push(format!(
            "  arm it again: echo armed > /sys/devices/faux/{MODULE}/gpu_{}/node{}/state",
            node.gpu, node.node
        ));
    }
    lines
}

pub fn events(events: &[Event]) -> Vec<String> {
    let mut rows = vec![[
        "TIME", "GPU", "QUEUE", "PRIO", "WHAT", "WHY", "AGE", "FOR", "OUTCOME",
    ]
    .map(String::from)];
    let mut order: Vec<_> = events.iter().collect();
    order.sort_by_key(|event| event.time_ns);
    for event in order {
        let micros = (event.time_ns + 500) / 1000;
        let whom = event.beneficiary.as_ref();
        rows.push([
            format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000),
            format!("{}/{}", event.gpu, event.node),
            format!("{}/{}", event.pid, event.queue),
            event.eff_prio.to_string(),
            event.action.clone(),
            event.reason.clone(),
            duration(event.age_ns),
            whom.map_or("-".into(), |whom| format!("{}/{}", whom.pid, whom.queue)),
            event.fate.clone(),
        ]);
    }
    columns(&rows)
}

pub fn explanation(explanation: &Explanation) -> Vec<String> {
    let sentence = |text: &str, by: &[String]| match by.is_empty() {
        true => text.to_owned(),
        false => format!("{text} [{}]", by.join(", ")),
    };
    let all = explanation.sentences.iter();
    let mut lines: Vec<String> = all
        .map(|one| sentence(&one.text, &one.decided_by))
        .collect();
    lines.push(format!(
        "The {} decisions that are remembered of all processes span {}.",
        explanation.decisions,
        duration(explanation.span_ns)
    ));
    lines
}

pub fn findings(findings: &[Finding]) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in findings {
        let mark = if finding.good { "ok     " } else { "MISSING" };
        lines.push(format!("{mark}  {}", finding.what));
        lines.extend(
            finding
                .remedy
                .iter()
                .map(|remedy| format!("         {remedy}")),
        );
        let command = finding.command.iter();
        lines.extend(command.map(|command| format!("         $ {command}")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_two_digits_at_least() {
        assert_eq!(duration(9_999), "9999 ns");
        assert_eq!(duration(10_000), "10 us");
        assert_eq!(duration(9_999_999), "9999 us");
        assert_eq!(duration(10_000_000), "10 ms");
        assert_eq!(duration(12_345_678_901), "12 s");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let row = |one: &str, other: &str| [one.to_owned(), other.to_owned()];
        let lines = columns(&[row("A", "B"), row("long", ""), row("ü", "x")]);
        assert_eq!(lines, ["A     B", "long", "ü     x"]);
    }

    #[test]
    fn an_event_has_its_time_in_seconds_and_the_last_comes_last() {
        let event = |time_ns, whom: &str| {
            let text = format!(
                r#"{{"time_ns":{time_ns},"gpu":"g","node":1,"pid":2,"queue":3,"eff_prio":4,
                "action":"stop","reason":"inversion","age_ns":5,"for":{whom},"fate":"done"}}"#
            );
            serde_json::from_str::<Event>(&text).unwrap()
        };
        let lines = events(&[
            event(2_000_000_499, "null"),
            event(1_500, r#"{"pid":6,"queue":7}"#),
        ]);
        let words: Vec<Vec<&str>> = lines
            .iter()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            words[1],
            [
                "0.000002",
                "g/1",
                "2/3",
                "4",
                "stop",
                "inversion",
                "5",
                "ns",
                "6/7",
                "done"
            ]
        );
        assert_eq!(words[2][0], "2.000000");
        assert_eq!(words[2][8], "-");
    }
}
