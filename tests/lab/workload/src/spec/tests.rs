// SPDX-License-Identifier: GPL-2.0-only
//! What a specification may say, and what is refused.

use super::*;

const SMALL: &str = r#"{"queues": [{"name": "a", "workgroups": 4, "cost_ns": 1000,
    "arrival": {"closed_loop": {}}, "requests": 3}]}"#;

fn with(field: &str, value: &str) -> Result<RunSpec> {
    let mut spec: serde_json::Value = serde_json::from_str(SMALL).unwrap();
    spec["queues"][0][field] = serde_json::from_str(value).unwrap();
    RunSpec::parse(&spec.to_string())
}

#[test]
fn a_small_spec_gets_defaults() {
    let spec = RunSpec::parse(SMALL).unwrap();
    let queue = &spec.queues[0];
    assert_eq!((queue.priority, queue.percentage), (7, 100));
    assert_eq!(
        queue.arrival,
        Arrival::ClosedLoop {
            depth: 1,
            think_ns: 0
        }
    );
    assert!(queue.ordered && queue.drain && queue.ring == Ring::Host);
    assert_eq!(spec.groups(), ["main"]);
    assert_eq!(spec.guest(5), Duration::from_nanos(5));
}

#[test]
fn dilation_stretches_time_and_does_not_overflow() {
    let mut spec = RunSpec::parse(SMALL).unwrap();
    spec.dilation = 32;
    assert_eq!(spec.guest(1000), Duration::from_nanos(32_000));
    assert_eq!(spec.guest(u64::MAX), Duration::from_nanos(u64::MAX));
    assert_eq!(spec.gpu(32_031), 1000);
}

#[test]
fn bad_values_are_refused_by_name() {
    for (field, value, word) in [
        ("priority", "16", "priority 16"),
        ("percentage", "101", "percentage 101"),
        ("ring_packets", "64", "ring_packets"),
        ("ring_packets", "100", "ring_packets"),
        ("workgroups", "0", "workgroups"),
        ("workgroup_size", "1025", "workgroup_size"),
        ("cost_ns", "\"endless\"", "drain"),
        ("demand", "1001", "demand 1001"),
        ("dispatches_per_request", "0", "dispatches_per_request"),
        ("then", r#"[{"workgroups": 0, "cost_ns": 1}]"#, "workgroups"),
        ("then", r#"[{"workgroups": 1}]"#, "cost_ns"),
        (
            "then",
            r#"[{"workgroups": 1, "cost_ns": 1, "dispatches": 254}]"#,
            "fit into the ring",
        ),
        (
            "then",
            r#"[{"workgroups": 1, "cost_ns": "endless"}]"#,
            "drain",
        ),
        ("kernel", r#"{"lds_bytes": 65537}"#, "LDS"),
        ("kernel", r#"{"vector_registers": 513}"#, "registers"),
        (
            "arrival",
            r#"{"fixed_rate": {"period_ns": 0}}"#,
            "period_ns",
        ),
        ("arrival", r#"{"poisson": {"mean_ns": 0}}"#, "mean_ns"),
        ("arrival", r#"{"closed_loop": {"depth": 0}}"#, "depth"),
        ("arrival", r#"{"trace": {"times_ns": [2, 1]}}"#, "times_ns"),
        ("one_at_a_time", "true", "closed loop"),
        ("requests", "null", "never end"),
        ("colour", "1", "colour"),
    ] {
        let error = format!("{:#}", with(field, value).unwrap_err());
        assert!(error.contains(word), "{field} = {value}: {error}");
    }
}

#[test]
fn boundaries_are_accepted() {
    for (field, value) in [
        ("priority", "0"),
        ("priority", "15"),
        ("percentage", "0"),
        ("demand", "1000"),
        ("ring_packets", "128"),
        ("workgroup_size", "1024"),
        ("arrival", r#"{"trace": {"times_ns": []}}"#),
    ] {
        with(field, value).unwrap();
    }
}

#[test]
fn a_request_has_its_steps_in_their_order() {
    let steps = r#"[{"workgroups": 7, "cost_ns": 5, "dispatches": 250},
        {"workgroups": 2, "cost_ns": 6, "demand": 3}]"#;
    let spec = with("then", steps).unwrap();
    let queue = &spec.queues[0];
    let workgroups: Vec<u32> = queue.steps().map(|step| step.workgroups).collect();
    assert_eq!(workgroups, [4, 7, 2]);
    assert_eq!(queue.dispatches(), 252);
    let dispatches: Vec<u32> = queue.steps().map(|step| step.dispatches).collect();
    assert_eq!(dispatches, [1, 250, 1]);
}

#[test]
fn an_unordered_request_has_one_dispatch() {
    let text = SMALL.replace(
        r#""requests""#,
        r#""ordered": false, "then": [{"workgroups": 1, "cost_ns": 1}], "requests""#,
    );
    let error = RunSpec::parse(&text).unwrap_err();
    assert!(format!("{error:#}").contains("ordered"));
}

#[test]
fn as_many_requests_are_outstanding_as_the_ring_takes() {
    let text = SMALL.replace(r#"{"closed_loop": {}}"#, r#"{"poisson": {"mean_ns": 5}}"#);
    let mut spec = RunSpec::parse(&text).unwrap();
    assert_eq!(spec.queues[0].slots(), 85);
    spec.queues[0].one_at_a_time = true;
    assert_eq!(spec.queues[0].slots(), 1);
    spec.check().unwrap();
    spec.queues[0].one_at_a_time = false;
    let step = spec.queues[0].steps().next().unwrap();
    spec.queues[0].then = vec![step; 126];
    assert_eq!(spec.queues[0].slots(), 1);
}

#[test]
fn dependencies_are_checked() {
    let spec = |dependencies: &str, requests: u32| {
        format!(
            r#"{{"queues": [
                {{"name": "a", "workgroups": 1, "cost_ns": 1, "arrival": {{"closed_loop": {{}}}}, "requests": 3}},
                {{"name": "b", "group": "other", "workgroups": 1, "cost_ns": 1, "arrival": {{"closed_loop": {{}}}}, "requests": {requests}}}],
                "dependencies": [{dependencies}]}}"#
        )
    };
    let good = RunSpec::parse(&spec(r#"{"from": "a", "to": "b"}"#, 3)).unwrap();
    assert_eq!(good.groups(), ["main", "other"]);
    assert_eq!(good.dependencies[0].barrier, Barrier::Standard);
    for (dependencies, requests) in [
        (r#"{"from": "a", "to": "a"}"#, 3),
        (r#"{"from": "a", "to": "c"}"#, 3),
        (r#"{"from": "a", "to": "b"}"#, 4),
        (r#"{"from": "a", "to": "b", "barrier": "none"}"#, 3),
        (
            r#"{"from": "a", "to": "b", "barrier": "buffer"}, {"from": "a", "to": "b", "barrier": "buffer"}"#,
            3,
        ),
    ] {
        assert!(
            RunSpec::parse(&spec(dependencies, requests)).is_err(),
            "{dependencies}"
        );
    }
}

#[test]
fn a_doubled_name_is_refused() {
    let mut spec = RunSpec::parse(SMALL).unwrap();
    spec.queues.push(spec.queues[0].clone());
    assert!(spec.check().is_err());
}
