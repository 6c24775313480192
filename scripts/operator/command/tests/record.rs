// SPDX-License-Identifier: GPL-2.0-only
//! The trace for Perfetto, as a viewer would show it.

mod host;

use std::collections::BTreeMap;
use std::fs;

use host::Host;
use serde_json::Value;

/// For each lane with its program, what happened when, in nanoseconds: where a slice
/// begins and ends, and what is at one time only.
fn lanes(bytes: &[u8]) -> BTreeMap<String, Vec<(u64, String)>> {
    let trace: Value = serde_json::from_slice(bytes).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |what: &str, by: &str| -> BTreeMap<u64, String> {
        let of_it = events.iter().filter(|event| event["name"] == what);
        let names = of_it.map(|event| {
            assert_eq!(event["ph"], "M");
            let name = event["args"]["name"].as_str().unwrap();
            (event[by].as_u64().unwrap(), name.to_owned())
        });
        names.collect()
    };
    let (programs, queues) = (named("process_name", "pid"), named("thread_name", "tid"));
    let mut lanes: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    for event in events.iter().filter(|event| event["ph"] != "M") {
        assert_eq!(event["cat"], "amd_gpreempt");
        let number = |field: &str| event[field].as_u64().unwrap();
        let ns = |field: &str| (event[field].as_f64().unwrap() * 1_000.0).round() as u64;
        let (pid, name) = (number("pid"), event["name"].as_str().unwrap());
        let lane = format!("{} {pid}: {}", programs[&pid], queues[&number("tid")]);
        let lane = lanes.entry(lane).or_default();
        match event["ph"].as_str().unwrap() {
            "X" => {
                lane.push((ns("ts"), format!("[{name}")));
                lane.push((ns("ts") + ns("dur"), "]".to_owned()));
            }
            "i" => lane.push((ns("ts"), format!("!{name}"))),
            other => panic!("an event of kind {other}"),
        }
    }
    // A slice is written when it ends.
    lanes
        .values_mut()
        .for_each(|lane| lane.sort_by_key(|(at, _)| *at));
    lanes
}

fn line(time: &str, point: &str, pid: u64, reason: &str, age: u64) -> String {
    format!("gp/0-9 [001] d..1. {time}: {point}: gpu_id=5 node=0 pid={pid} queue_id=1 prio=7 eff_prio=2 reason={reason} age_ns={age}\n")
}

fn recorded(text: &str) -> BTreeMap<String, Vec<(u64, String)>> {
    let host = Host::new();
    host.file("proc/20/comm", "train\n");
    host.file("events", text);
    let (from, to) = (host.0.path().join("events"), host.0.path().join("trace"));
    let says = host.says(&format!(
        "record|{}|--from|{}",
        to.display(),
        from.display()
    ));
    assert!(says.contains("ui.perfetto.dev"), "{says}");
    lanes(&fs::read(to).unwrap())
}

#[test]
fn a_stop_is_a_slice_in_the_lane_of_its_program() {
    let text = [
        line("1.000001", "gp_inversion", 10, "inversion", 30_000),
        line("1.000002", "gp_stop", 20, "inversion", 30_000),
        line("1.500000", "gp_start", 20, "calm", 499_998_000),
        line("2.000000", "gp_stop", 20, "rotation", 5),
        "CPU:0 [LOST 3 EVENTS]\n# other\n".to_owned(),
        line("3.000000", "gp_fallback", 20, "failure", 0),
    ]
    .concat();
    let lanes = recorded(&text);
    let is = |time, what: &str| (time, what.to_owned());
    assert_eq!(
        lanes["train 20: queue 1 of GPU 5 node 0"],
        [
            is(1_000_002_000, "[stopped (inversion)"),
            is(1_500_000_000, "]"),
            is(1_500_000_000, "!started (calm)"),
            is(2_000_000_000, "[stopped (rotation)"),
            is(3_000_000_000, "!given up (failure)"),
            is(3_000_000_000, "]"),
        ]
    );
    assert_eq!(
        lanes["gone 10: queue 1 of GPU 5 node 0"],
        [is(1_000_001_000, "!waits above a running queue")]
    );
}

#[test]
fn what_was_stopped_before_and_what_was_lost_leave_whole_slices() {
    let text = [
        line("5.000000", "gp_start", 20, "bound", 2_000_000_000),
        line("6.000000", "gp_start", 20, "orphan", 0),
        line("7.000000", "gp_stop", 20, "rotation", 1),
        line("8.000000", "gp_stop", 20, "rotation", 1),
    ]
    .concat();
    let lanes = recorded(&text);
    let marks: Vec<(u64, &str)> = lanes["train 20: queue 1 of GPU 5 node 0"]
        .iter()
        .map(|(at, what)| (at / 1_000_000_000, &what[..1]))
        .collect();
    assert_eq!(
        marks,
        [
            (3, "["),
            (5, "]"),
            (5, "!"),
            (6, "!"),
            (7, "["),
            (8, "]"),
            (8, "["),
            (8, "]")
        ]
    );
}

#[test]
fn events_that_are_missing_are_counted() {
    let host = Host::new();
    let one = line("1.0", "gp_stop", 20, "rotation", 1);
    host.file("events", &format!("{one}CPU:1 [LOST 41 EVENTS]\n"));
    let events = host.0.path().join("events");
    let says = host.says(&format!("record|{0}.trace|--from|{0}", events.display()));
    assert!(
        says.contains("has 1 events") && says.contains("41 events came too fast"),
        "{says}"
    );
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let host = Host::with_module();
    let file = host.0.path().join("trace").display().to_string();
    let text = host.refuses(&format!("record|{file}"));
    assert!(text.contains("mount -t tracefs"), "{text}");
    host.file("events", "nothing\n");
    let from = host.0.path().join("events").display().to_string();
    let text = host.refuses(&format!("record|{file}|--from|{from}"));
    assert!(text.contains("has no event of amd_gpreempt"), "{text}");
    assert!(!host.0.path().join("trace").exists());
    let missing = Host::new().refuses(&format!("record|{file}"));
    assert!(missing.contains("modprobe amd_gpreempt"), "{missing}");
    assert_eq!(host.run("record").status.code(), Some(2));
    let both = host.run(&format!("record|{file}|--from|{from}|--seconds|3"));
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn buffers_of_recordings_that_were_killed_are_removed() {
    let host = Host::with_module();
    host.file("sys/kernel/tracing/instances/other/x", "");
    host.file("proc/1/comm", "init\n");
    let instances = host.0.path().join("sys/kernel/tracing/instances");
    for old in ["gpreempt-1", "gpreempt-4000000", "gpreempt-x"] {
        fs::create_dir(instances.join(old)).unwrap();
    }
    let file = host.0.path().join("trace").display().to_string();
    host.refuses(&format!("record|{file}"));
    let mut left: Vec<String> = fs::read_dir(&instances)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| fs::read_dir(instances.join(name)).unwrap().count() == 0)
        .collect();
    left.sort();
    assert_eq!(left, ["gpreempt-1", "gpreempt-x"]);
}
