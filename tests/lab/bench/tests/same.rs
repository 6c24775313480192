// SPDX-License-Identifier: GPL-2.0-only
//! The virtual GPU and the simulator take the same time for the same requests.
//!
//! A load of the benchmark runs on the model of the GPU, under a driver in miniature and
//! with clients that need no processor. What is left of a difference to the simulator is
//! the GPU's, and what a guest adds to it is the guest's.

use std::collections::BTreeSet;
use std::iter::Peekable;

use gpreempt_bench::contender::Contender;
use gpreempt_bench::measure::{only, urgent_clients};
use gpreempt_bench::suite::{self, WARM_UP};
use gpreempt_simulator::gpu::Gpu;
use gpreempt_simulator::loads;
use gpreempt_simulator::policies::Policy;
use gpreempt_simulator::workload::{Workload, URGENT};
use gpu_workload::arrival::{forget, Times};
use gpu_workload::spec::{Arrival, QueueSpec, RunSpec};
use vgpu_model::testing::driver::{Driver, TestQueue, Work};
use vgpu_model::{Config, GpuNanos};

const SEED: u64 = 1;
/// Of a queue's ring.
const PACKETS: u64 = 64;
/// Room for the save areas of ten queues.
const MEMORY: u64 = 400 << 20;

/// A request on its way to the GPU.
struct Request {
    arrival: u64,
    doorbell: u64,
    /// Of its packets, how many are in the ring.
    put: usize,
}

struct Client<'a> {
    spec: &'a QueueSpec,
    queue: TestQueue,
    /// Every packet of a request; the last one has the signal.
    packets: Vec<[u32; 16]>,
    signal: u64,
    times: Peekable<Times<'a>>,
    /// The first one is on the GPU, or about to be.
    requests: Vec<Request>,
    latencies: Vec<u64>,
}

impl<'a> Client<'a> {
    fn new(driver: &mut Driver, spec: &'a QueueSpec, seed: u64, number: u32) -> Client<'a> {
        let process = driver.process(0x8000 + number);
        let is_urgent = spec.priority >= URGENT.into();
        let queue = driver.queue(process, u32::from(is_urgent));
        let mut packets = Vec::new();
        for step in spec.steps() {
            let (mut words, _) = driver.prepare(Work {
                workgroups: step.workgroups,
                items: spec.workgroup_size,
                cost: step.cost_ns.nanoseconds(),
                demand: step.demand.into(),
                vgprs: step.kernel.vector_registers.next_multiple_of(8),
                lds: 0,
                barrier: true,
            });
            words[14..].fill(0);
            packets.extend((0..step.dispatches).map(|_| words));
        }
        let (last, done) = driver.prepare(Work::default());
        packets.last_mut().unwrap()[14..].copy_from_slice(&last[14..]);
        Client {
            spec,
            queue,
            packets,
            signal: done.signal,
            times: Times::new(&spec.arrival, seed, &spec.name).peekable(),
            requests: Vec::new(),
            latencies: Vec::new(),
        }
    }

    /// When it does something next, unless the GPU does before.
    fn next(&mut self) -> Option<u64> {
        let ring = self.requests.iter().map(|request| request.doorbell);
        let ring = ring.filter(|_| self.requests[0].put == 0).min();
        let busy = self.spec.one_at_a_time && !self.requests.is_empty();
        let arrival = self.times.peek().filter(|_| !busy);
        let arrival = arrival.map(|time| time + self.spec.start_ns);
        [ring, arrival].into_iter().flatten().min()
    }

    fn act(&mut self, driver: &mut Driver, now: u64) {
        let signalled = driver.get64(self.signal + 8) == 0;
        if signalled && self.requests.first().is_some_and(|r| r.put > 0) {
            let request = self.requests.remove(0);
            self.latencies.push(now - request.arrival);
            driver.put64(self.signal + 8, 1);
        }
        let own = now.checked_sub(self.spec.start_ns);
        if let Arrival::ClosedLoop { depth, .. } = self.spec.arrival {
            let lasts = own.is_some_and(|own| Some(own) < self.spec.duration_ns);
            while lasts && self.requests.len() < depth as usize {
                self.requests.push(Request {
                    arrival: now,
                    doorbell: now,
                    put: 0,
                });
            }
        }
        while self.requests.is_empty() || !self.spec.one_at_a_time {
            let Some(time) = own.and_then(|own| self.times.next_if(|&time| time <= own)) else {
                break;
            };
            let arrival = time + self.spec.start_ns;
            if self.spec.one_at_a_time {
                forget(&mut self.times, own.unwrap_or(0));
            }
            self.requests.push(Request {
                arrival,
                doorbell: now.max(arrival) + self.spec.preparation_ns,
                put: 0,
            });
        }
        self.feed(driver, now);
    }

    /// Puts packets of the first request into the ring, as far as there is room.
    fn feed(&mut self, driver: &mut Driver, now: u64) {
        let Some(request) = self.requests.first_mut().filter(|r| r.doorbell <= now) else {
            return;
        };
        let left = &self.packets[request.put..];
        let outstanding = driver.get64(self.queue.write) - driver.get64(self.queue.read);
        let room = (PACKETS - outstanding).min(left.len() as u64) as usize;
        for packet in &left[..room] {
            driver.put_packet(&self.queue, packet);
        }
        if room > 0 {
            request.put += room;
            driver.ring(&self.queue);
        }
    }
}

/// The latencies of each urgent client, from the arrival on.
fn on_the_model(spec: &RunSpec, config: Config, urgent: &BTreeSet<String>) -> Vec<Vec<u64>> {
    let mut driver = Driver::with_guest(config, MEMORY);
    let mut clients: Vec<Client> = (0..)
        .zip(&spec.queues)
        .map(|(number, queue)| Client::new(&mut driver, queue, spec.seed, number))
        .collect();
    let queues: Vec<TestQueue> = clients.iter().map(|client| client.queue).collect();
    driver.map(&queues);
    let begin = driver.now().0;
    loop {
        let now = driver.now().0 - begin;
        for client in &mut clients {
            client.act(&mut driver, now);
        }
        let next = clients.iter_mut().filter_map(Client::next).min();
        let next = next.map(|at| GpuNanos(begin + at.max(now)));
        let Some(at) = next.into_iter().chain(driver.device.next_event()).min() else {
            break;
        };
        driver.device.advance_to(at);
    }
    clients
        .into_iter()
        .filter(|client| urgent.contains(&client.spec.name))
        .map(|client| client.latencies)
        .collect()
}

/// The same in the simulator, which counts from the doorbell on and not those requests
/// that are not done at the end.
fn in_the_simulator(
    gpu: &Gpu,
    workload: &Workload,
    contender: Contender,
    duration: u64,
) -> Vec<Vec<u64>> {
    let policy = Policy::by_name(contender.name(), &[]).expect("a policy of the simulator's");
    let run = policy.run(gpu, workload, SEED, WARM_UP, duration);
    let clients = workload.clients.iter().filter(|client| client.urgent());
    let results = run.clients.iter().filter(|result| result.urgent);
    results
        .zip(clients)
        .map(|(result, client)| {
            let latencies = result.latencies.iter();
            latencies.map(|time| time + client.preparation).collect()
        })
        .collect()
}

fn percentile(values: &[u64], percent: usize) -> f64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values[(values.len() * percent).div_ceil(100).max(1) - 1] as f64 / 1e6
}

/// A load as the virtual GPU has it, of so many nanoseconds.
struct Load {
    workload: Workload,
    spec: RunSpec,
    gpu: Gpu,
    config: Config,
    duration: u64,
}

impl Load {
    fn new(workload: &Workload, duration: u64) -> Load {
        let config = Config {
            timing: suite::timing(),
            ..Config::default()
        };
        let gpu = suite::node(config.cu_per_xcc());
        Load {
            workload: suite::as_launched(workload, &gpu),
            spec: suite::spec(workload, &gpu, duration, SEED),
            gpu,
            config,
            duration,
        }
    }

    /// The median and the p99 of the urgent requests on the model, each with that of the
    /// same ones in the simulator, where requests launch what this workload says.
    fn compare(&self, contender: Contender, workload: &Workload) -> [(f64, f64); 2] {
        let simulated = in_the_simulator(&self.gpu, workload, contender, self.duration);
        let spec = only(&self.spec, contender);
        let mut own = on_the_model(&spec, self.config.clone(), &urgent_clients(&self.spec));
        let name = &workload.name;
        for (own, simulated) in own.iter_mut().zip(&simulated) {
            assert!(own.len() >= simulated.len(), "{name}: requests are missing");
            own.truncate(simulated.len());
        }
        let (own, simulated) = (own.concat(), simulated.concat());
        assert!(own.len() >= 10, "{name}: only {} requests", own.len());
        [50, 99].map(|rank| {
            let (own, simulated) = (percentile(&own, rank), percentile(&simulated, rank));
            let off = 100.0 * (own / simulated - 1.0);
            println!(
                "{name}, {}, p{rank}: {own:.2} ms, {simulated:.2} in the simulator ({off:+.1} %)",
                contender.name()
            );
            (own, simulated)
        })
    }
}

/// By how many percent the model's figures are above the simulator's.
fn off(figures: [(f64, f64); 2]) -> [f64; 2] {
    figures.map(|(own, simulated)| 100.0 * (own / simulated - 1.0))
}

fn assert_within(percent: f64, off: [f64; 2]) {
    assert!(off.iter().all(|off| off.abs() <= percent), "{off:?}");
}

fn workload(name: &str) -> Workload {
    loads::by_name(name).expect("a load of the simulator's")
}

/// For how many milliseconds which loads are compared: H19's requests take what is left of
/// units, each something else, so that only many of them say anything.
const LOADS: [(&str, u64); 3] = [("D", 200), ("Y", 200), ("H19", 2_500)];

/// `GP_LOADS=D,E,REAL GP_MILLIS=4400` is what the simulator's tables have.
#[test]
fn the_virtual_gpu_and_the_simulator_agree_on_the_same_requests() {
    let wanted = |name| std::env::var(name).ok();
    let millis: Option<u64> = wanted("GP_MILLIS").map(|text| text.parse().expect("a number"));
    let names = wanted("GP_LOADS").unwrap_or_else(|| LOADS.map(|(name, _)| name).join(","));
    for name in names.split(',') {
        let own = LOADS.iter().find(|(load, _)| *load == name);
        let millis = millis.or(own.map(|(_, millis)| *millis)).unwrap_or(200);
        let load = Load::new(&workload(name), millis * 1_000_000);
        for (contender, percent) in [(Contender::Alone, 1.0), (Contender::Classes, 3.0)] {
            assert_within(percent, off(load.compare(contender, &load.workload)));
        }
    }
}

/// Kernels of many rounds have eight here, of longer workgroups, for the first of which the
/// kernels of an urgent request wait longer.
#[test]
fn longer_workgroups_are_what_the_virtual_gpu_has_of_its_own() {
    let simulators = workload("Y");
    let load = Load::new(&simulators, 100_000_000);
    let own = off(load.compare(Contender::Classes, &simulators));
    assert!(own.iter().all(|off| *off > 5.0), "{own:?}");
    // The same ones as the simulator's.
    let mut whole = simulators.clone();
    for client in &mut whole.clients {
        client.instead = Some(client.model.programs(&load.gpu));
    }
    let load = Load::new(&whole, load.duration);
    assert_within(2.0, off(load.compare(Contender::Classes, &simulators)));
}
