// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use vgpu_model::GpuNanos;

const URGENT: QueueId = QueueId {
    doorbell: 8,
    pasid: 1,
    generation: 0,
};
const OTHER: QueueId = QueueId {
    doorbell: 16,
    pasid: 2,
    generation: 0,
};

fn packet(sequence: u64, action: HiqAction, fetched: u64, completed: u64) -> HiqRecord {
    HiqRecord {
        sequence,
        action,
        fetched: GpuNanos(fetched),
        completed: Some(GpuNanos(completed)),
    }
}

fn unmap(at: u64, to: u64) -> HiqRecord {
    let action = HiqAction::Unmap {
        action: 0,
        filter: 2,
        filter_value: 0,
        queues: 0,
    };
    packet(0, action, at, to)
}

fn query(at: u64, to: u64) -> HiqRecord {
    let action = HiqAction::QueryStatus {
        address: 0,
        value: 1,
    };
    packet(1, action, at, to)
}

fn runlist(at: u64, to: u64) -> HiqRecord {
    let action = HiqAction::RunList {
        processes: 2,
        queues: 2,
        chained: false,
    };
    packet(2, action, at, to)
}

fn record(at: u64, queue: QueueId, change: TimelineChange) -> TimelineRecord {
    TimelineRecord {
        sequence: at,
        at: GpuNanos(at),
        queue,
        change,
    }
}

fn request(submit_ns: u64, end_ns: u64) -> Sample {
    Sample {
        arrival_ns: submit_ns,
        hint_ns: None,
        submit_ns,
        start_ns: end_ns - 1,
        end_ns,
    }
}

/// One preemption: doorbell at 100, call at 300, urgent waves at 420.
struct Scene {
    packets: Vec<HiqRecord>,
    timeline: Vec<TimelineRecord>,
    requests: Vec<Sample>,
    calls: Vec<Call>,
}

impl Scene {
    fn new() -> Scene {
        Scene {
            packets: vec![unmap(310, 350), query(350, 352), runlist(400, 410)],
            timeline: vec![
                record(311, OTHER, TimelineChange::SaveBegins { bytes: 1000 }),
                record(420, URGENT, TimelineChange::Waves { count: 4 }),
            ],
            requests: vec![request(100, 500)],
            calls: vec![Call {
                begin: 300,
                unmapped: 380,
                map: 390,
                end: 405,
            }],
        }
    }

    fn split(&self) -> Vec<Split> {
        Logs {
            packets: &self.packets,
            timeline: &self.timeline,
            urgent: &[URGENT].into(),
            requests: &self.requests,
            calls: &self.calls,
        }
        .preemptions()
    }
}

#[test]
fn the_parts_add_up() {
    let splits = Scene::new().split();
    let [split] = splits[..] else {
        panic!("{splits:?}");
    };
    let expected = Split {
        detection: Some(200),
        command: Some(10),
        unmap: 40,
        query: 2,
        edit: 48,
        runlist: 10,
        ahead: None,
        launch: 10,
        total: 120,
        announced: None,
        bytes: 1000,
    };
    assert_eq!(split, expected);
    let parts: u64 = split.parts().iter().skip(1).filter_map(|part| part.1).sum();
    assert_eq!(parts, split.total);
    assert_eq!(split.end_to_end(), Some(320));
}

/// A hint at 100, and a doorbell at another time.
fn announced(doorbell: u64) -> Scene {
    let mut scene = Scene::new();
    scene.requests[0].hint_ns = Some(100);
    scene.requests[0].submit_ns = doorbell;
    scene
}

#[test]
fn after_a_hint_only_what_follows_the_doorbell_is_waited_for() {
    // In the middle of the transaction.
    let split = announced(360).split()[0];
    assert_eq!((split.detection, split.ahead), (Some(200), Some(0)));
    assert_eq!((split.launch, split.total), (10, 120));
    assert_eq!(split.announced, Some(260));
    assert_eq!(split.end_to_end(), Some(60));
    // After it.
    let split = announced(415).split()[0];
    assert_eq!((split.ahead, split.launch), (Some(5), 5));
    assert_eq!(split.total, 115);
    assert_eq!(split.end_to_end(), Some(5));
    // The urgent client was busy with another request until after the doorbell.
    let mut scene = announced(150);
    let waves = |at, count| record(at, URGENT, TimelineChange::Waves { count });
    scene.timeline.splice(0..0, [waves(110, 4), waves(180, 0)]);
    let split = scene.split()[0];
    assert_eq!((split.detection, split.announced), (Some(120), Some(0)));
    assert_eq!(split.end_to_end(), Some(240));
}

#[test]
fn a_request_that_queued_up_waits_from_its_hint_and_not_from_its_arrival() {
    let mut scene = announced(360);
    scene.requests[0].arrival_ns = 20;
    let split = scene.split()[0];
    assert_eq!((split.detection, split.announced), (Some(200), Some(260)));
    // What is stopped before the hint is not stopped for it.
    scene.requests[0].hint_ns = Some(301);
    assert_eq!(scene.split(), []);
}

#[test]
fn what_is_stopped_before_the_doorbell_is_no_preemption_without_a_hint() {
    let mut scene = announced(360);
    scene.requests[0].hint_ns = None;
    assert_eq!(scene.split(), []);
}

#[test]
fn without_a_call_the_packet_is_the_beginning() {
    let mut scene = Scene::new();
    scene.calls.clear();
    let splits = scene.split();
    assert_eq!((splits[0].detection, splits[0].command), (None, None));
    assert_eq!(splits[0].total, 110);
}

#[test]
fn unmapping_without_a_save_of_others_is_no_preemption() {
    let mut scene = Scene::new();
    scene.timeline[0].queue = URGENT;
    assert_eq!(scene.split(), []);
    scene.timeline.remove(0);
    assert_eq!(scene.split(), []);
}

#[test]
fn nobody_waits_when_queues_are_put_back() {
    let mut scene = Scene::new();
    scene.requests = vec![request(100, 200), request(600, 700)];
    assert_eq!(scene.split(), []);
}

#[test]
fn an_interrupted_request_did_not_wait() {
    let mut scene = Scene::new();
    scene
        .timeline
        .insert(0, record(150, URGENT, TimelineChange::Waves { count: 4 }));
    assert_eq!(scene.split(), []);
}

#[test]
fn a_request_waits_from_the_end_of_its_last_kernel() {
    let mut scene = Scene::new();
    let waves = |at, count| record(at, URGENT, TimelineChange::Waves { count });
    scene.timeline.splice(0..0, [waves(150, 4), waves(180, 0)]);
    assert_eq!(scene.split()[0].detection, Some(120));
}

#[test]
fn the_longest_waiting_request_counts() {
    let mut scene = Scene::new();
    scene.requests = vec![request(250, 600), request(120, 500)];
    assert_eq!(scene.split()[0].detection, Some(180));
}

#[test]
fn urgent_waves_after_the_next_unmapping_are_not_of_this_one() {
    let mut scene = Scene::new();
    scene.packets.push(unmap(415, 416));
    assert_eq!(scene.split(), []);
}

#[test]
fn a_packet_that_never_completed_is_left_out() {
    for packet in 0..3 {
        let mut scene = Scene::new();
        scene.packets[packet].completed = None;
        assert_eq!(scene.split(), [], "{packet}");
    }
}
