// SPDX-License-Identifier: GPL-2.0-only
//! The loads: an urgent one like inference, and a heavy one like training.

use gpu_workload::hsa::Place;
use gpu_workload::spec::{Arrival, Cost, KernelSpec, QueueSpec, Ring, RunSpec};
use vgpu_server::clock::GUEST_DILATION;

/// Nanoseconds of the guest for one of the GPU's: all that is measured is measured where
/// they have a clock of their own.
pub const DILATION: u32 = GUEST_DILATION;

/// The names of the two queues, and of the processes that own them.
pub const URGENT: &str = "inference";
pub const HEAVY: &str = "training";

/// A request of 16 short kernels each 20 ms, which together take some 1.6 ms.
pub fn urgent(duration_ns: u64) -> QueueSpec {
    QueueSpec {
        name: URGENT.into(),
        group: URGENT.into(),
        priority: 12,
        workgroups: 40,
        cost_ns: Cost::Nanoseconds(100_000),
        kernel: KernelSpec {
            vector_registers: 64,
            ..KernelSpec::default()
        },
        dispatches_per_request: 16,
        arrival: Arrival::FixedRate {
            period_ns: 20_000_000,
        },
        // Each ring of the doorbell leaves the emulated machine, which a real one does not
        // notice, and two processors serve programs, driver and module together.
        batched: true,
        unwritten_guest_ns: 0,
        real_time: true,
        // The heavy load is in full swing before the first request.
        start_ns: 10_000_000,
        duration_ns: Some(duration_ns),
        ..heavy(duration_ns)
    }
}

/// Kernels that fill every compute unit for 8 ms, one after the other.
pub fn heavy(duration_ns: u64) -> QueueSpec {
    QueueSpec {
        name: HEAVY.into(),
        group: HEAVY.into(),
        priority: 2,
        percentage: 100,
        ring_packets: 256,
        ring: Ring::default(),
        workgroups: 640,
        workgroup_size: 256,
        cost_ns: Cost::Nanoseconds(4_000_000),
        demand: 0,
        kernel: KernelSpec {
            vector_registers: 64,
            ..KernelSpec::default()
        },
        dispatches_per_request: 1,
        then: Vec::new(),
        arrival: Arrival::ClosedLoop {
            depth: 2,
            think_ns: 0,
        },
        one_at_a_time: false,
        preparation_ns: 0,
        hint: false,
        batched: false,
        unwritten_guest_ns: 0,
        real_time: false,
        start_ns: 0,
        requests: None,
        duration_ns: Some(duration_ns),
        ordered: true,
        drain: true,
        place: Place::default(),
    }
}

/// A run of these queues.
pub fn run(queues: Vec<QueueSpec>) -> RunSpec {
    RunSpec {
        queues,
        dependencies: Vec::new(),
        dilation: DILATION,
        seed: 1,
        gpu: 0,
        request_timeout_ms: 600_000,
        samples: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_are_legal() {
        let spec = run(vec![urgent(1_000_000), heavy(1_000_000)]);
        let text = serde_json::to_string(&spec).unwrap();
        let read = RunSpec::parse(&text).unwrap();
        assert_eq!(read.groups(), [URGENT, HEAVY]);
        let priorities: Vec<u32> = read.queues.iter().map(|queue| queue.priority).collect();
        assert_eq!(priorities, [12, 2]);
    }
}
