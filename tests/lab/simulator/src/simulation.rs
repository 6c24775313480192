// SPDX-License-Identifier: GPL-2.0-only

//! One run: clients, node and controller on one clock.

mod account;
mod outcome;

use crate::controller::{Act, Controller, Doorbell, Next, QueueInfo};
use crate::engine::{Engine, QueueIndex, RequestId};
use crate::gpu::{Gpu, Nanos, TransactionCost};
use crate::kernel::Program;
use crate::services::alone;
use crate::workload::{phases, Arrivals, Role, Source, Workload};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

pub use outcome::{ClientResult, Request, RunResult, Split};

/// Longest delay of a kernel thread's timer (assumption: usleep_range's slack).
const TIMER_DELAY: Nanos = 5_000;

/// The streams of random numbers from here on choose what a request launches.
const CHOICES: u64 = 1 << 32;

/// Processor time of a timer's wake-up beside the look itself (assumption).
const WAKE_UP: Nanos = 2_000;

impl Pending {
    fn request(&self, now: Nanos, done: bool, warm_up: Nanos) -> Request {
        Request {
            number: self.number,
            measured: self.doorbell >= warm_up,
            doorbell: self.doorbell,
            latency: now - self.doorbell,
            done,
            alone: self.alone,
        }
    }
}

struct Pending {
    client: usize,
    number: u64,
    /// How long it would take without anything else.
    alone: Nanos,
    doorbell: Nanos,
    first_command: Option<Nanos>,
    transactions: u64,
    cost: TransactionCost,
}

enum Watch {
    Asleep(Option<Nanos>),
    /// `acts` are to be done from `at` on.
    Acting {
        at: Nanos,
    },
    InTransaction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ClientEvent {
    Arrival,
    Doorbell,
}

struct ClientState {
    source: Source,
    /// What its requests launch, each one of these by chance, and how long they take.
    programs: Vec<(Program, Nanos)>,
    choice: ChaCha8Rng,
    submitted: u64,
    /// A best-effort client has one request at a time, and remembers one tick.
    outstanding: bool,
    tick_kept: bool,
}

struct Simulation<'a> {
    workload: &'a Workload,
    engine: Engine,
    infos: Vec<QueueInfo>,
    controller: &'a mut dyn Controller,
    clients: Vec<ClientState>,
    events: BinaryHeap<Reverse<(Nanos, u64, usize, ClientEvent)>>,
    serial: u64,
    pending: BTreeMap<RequestId, Pending>,
    watch: Watch,
    acts: VecDeque<Act>,
    after_acts: Next,
    told_meanwhile: bool,
    stopped_since: Vec<Option<Nanos>>,
    random: ChaCha8Rng,
    result: RunResult,
    warm_up: Nanos,
    /// What each queue had of the node by then.
    node_time_before: Vec<Nanos>,
    end: Nanos,
}

/// Runs `workload` for `duration` after `warm_up`, whose requests do not count.
pub fn run(
    gpu: &Gpu,
    workload: &Workload,
    controller: &mut dyn Controller,
    seed: u64,
    warm_up: Nanos,
    duration: Nanos,
) -> RunResult {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let starts = phases(workload, gpu, &mut random);
    let mut engine = Engine::new(gpu.clone());
    let mut infos = Vec::new();
    let mut clients = Vec::new();
    let mut result = RunResult::default();
    for (index, (client, start)) in workload.clients.iter().zip(starts).enumerate() {
        let programs = client.programs(gpu).into_iter();
        let programs: Vec<_> = programs
            .map(|program| (program.clone(), alone(gpu, &program)))
            .collect();
        let info = QueueInfo {
            process: index as u64 + 1,
            priority: client.priority,
            urgent: client.urgent(),
            ruled: client.ruled(),
            one_at_a_time: client.role == Role::Lower,
            idempotent: client.model.idempotent(),
            deadline: deadline(client, programs[0].1),
        };
        engine.add_queue(controller.class(&info));
        infos.push(info);
        // One stream of random numbers per client, so that the arrivals of the
        // urgent clients are the same with and without the others.
        let of_stream = |stream| {
            let mut own = ChaCha8Rng::seed_from_u64(seed);
            own.set_stream(stream);
            own
        };
        clients.push(ClientState {
            source: Source::new(client.arrivals.clone(), start, of_stream(client.stream)),
            programs,
            choice: of_stream(CHOICES + client.stream),
            submitted: 0,
            outstanding: false,
            tick_kept: false,
        });
        result.clients.push(ClientResult {
            name: client.name.clone(),
            urgent: client.urgent(),
            ruled: client.ruled(),
            priority: client.priority,
            ..ClientResult::default()
        });
    }
    let mut simulation = Simulation {
        workload,
        stopped_since: vec![None; infos.len()],
        engine,
        infos,
        controller,
        clients,
        events: BinaryHeap::new(),
        serial: 0,
        pending: BTreeMap::new(),
        watch: Watch::Asleep(Some(0)),
        acts: VecDeque::new(),
        after_acts: Next::Told,
        told_meanwhile: false,
        random,
        result,
        warm_up,
        node_time_before: Vec::new(),
        end: warm_up + duration,
    };
    simulation.run();
    simulation.finish(duration)
}

/// A periodic client's deadline is its next period; its budget is what it needs
/// alone, with a tenth on top.
fn deadline(client: &crate::workload::Client, alone: Nanos) -> Option<(Nanos, Nanos)> {
    match client.arrivals {
        Arrivals::Periodic { hertz } => {
            let period = (crate::workload::SECOND as f64 / hertz) as Nanos;
            Some((period, (alone + alone / 10).min(period)))
        }
        _ => None,
    }
}

impl Simulation<'_> {
    /// The doorbells of the clients with rules until the end. What arrives follows from
    /// random numbers of each client's own, so that copies of them tell the future.
    fn future(&self) -> Vec<Doorbell> {
        let mut doorbells = Vec::new();
        for (state, client) in self.clients.iter().zip(&self.workload.clients) {
            if client.ruled() {
                let mut source = state.source.clone();
                let arrivals = std::iter::from_fn(|| source.next_arrival());
                let rings = arrivals.map(|at| at + client.preparation);
                let rings = rings.take_while(|&at| at < self.end);
                let priority = client.priority;
                doorbells.extend(rings.map(|at| Doorbell { at, priority }));
            }
        }
        doorbells.sort_unstable();
        doorbells
    }

    fn run(&mut self) {
        let future = self.future();
        self.controller.foretell(future);
        for client in 0..self.clients.len() {
            self.next_arrival(client);
            self.follow(client, 0);
        }
        loop {
            let mut next = self.events.peek().map_or(self.end, |Reverse((at, ..))| *at);
            if let Some(at) = self.engine.next_event() {
                next = next.min(at);
            }
            match self.watch {
                Watch::Asleep(Some(at)) | Watch::Acting { at } => next = next.min(at),
                Watch::Asleep(None) | Watch::InTransaction => {}
            }
            if next >= self.end {
                break;
            }
            if next >= self.warm_up && self.node_time_before.is_empty() {
                self.node_time_before = self.node_times(self.warm_up);
            }
            self.engine.advance(next.max(self.engine.now()));
            self.complete();
            while let Some(&Reverse((at, _, client, event))) = self.events.peek() {
                if at > next {
                    break;
                }
                self.events.pop();
                match event {
                    ClientEvent::Arrival => {
                        self.arrive(client, at);
                        self.next_arrival(client);
                    }
                    ClientEvent::Doorbell => self.doorbell(client),
                }
            }
            self.watch();
        }
        // What was used since the last event counts, too.
        self.engine.advance(self.end);
    }

    /// What each queue will have had of the node by a time before the next event.
    fn node_times(&self, by: Nanos) -> Vec<Nanos> {
        let queues = 0..self.infos.len();
        queues.map(|q| self.engine.node_time(q, by)).collect()
    }

    fn push(&mut self, at: Nanos, client: usize, event: ClientEvent) {
        self.serial += 1;
        self.events.push(Reverse((at, self.serial, client, event)));
    }

    fn next_arrival(&mut self, client: usize) {
        if let Some(at) = self.clients[client].source.next_arrival() {
            self.push(at, client, ClientEvent::Arrival);
        }
    }

    /// Where a client's requests follow each other, the one after what was done `at`.
    fn follow(&mut self, client: usize, at: Nanos) {
        match self.clients[client].source.arrival_after(at) {
            Some(next) if next > at => {
                let shape = &self.workload.clients[client];
                if shape.ruled() {
                    self.controller.foretell(vec![Doorbell {
                        at: next + shape.preparation,
                        priority: shape.priority,
                    }]);
                }
                self.push(next, client, ClientEvent::Arrival);
            }
            Some(_) => self.arrive(client, at),
            None => {}
        }
    }

    fn arrive(&mut self, client: usize, at: Nanos) {
        let state = &mut self.clients[client];
        if self.infos[client].one_at_a_time {
            if state.outstanding {
                state.tick_kept = true;
                return;
            }
            state.outstanding = true;
        }
        if self.infos[client].urgent && self.workload.clients[client].preparation > 0 {
            self.controller.prepares(client);
        }
        let at = at + self.workload.clients[client].preparation;
        self.push(at, client, ClientEvent::Doorbell);
    }

    fn doorbell(&mut self, client: usize) {
        self.serial += 1;
        let request = self.serial;
        let now = self.engine.now();
        let state = &mut self.clients[client];
        let chosen = state.choice.random_range(0..state.programs.len());
        let (program, alone) = state.programs[chosen].clone();
        let number = state.submitted;
        state.submitted += 1;
        self.pending.insert(
            request,
            Pending {
                client,
                number,
                alone,
                doorbell: now,
                first_command: None,
                transactions: 0,
                cost: TransactionCost::default(),
            },
        );
        self.engine.submit(client, request, &program);
        self.tell(client);
    }

    fn complete(&mut self) {
        for completion in self.engine.take_completions() {
            let pending = self
                .pending
                .remove(&completion.request)
                .expect("a request completes once");
            let client = pending.client;
            let state = &mut self.clients[client];
            let result = &mut self.result.clients[client];
            let request = pending.request(completion.at, true, self.warm_up);
            result.requests.push(request);
            if request.measured {
                result.completed += 1;
                result.work += pending.alone;
                result.latencies.push(completion.at - pending.doorbell);
                if self.infos[client].urgent {
                    let split = &mut self.result.split;
                    split.requests += 1;
                    split.transactions += pending.transactions;
                    split.cost.add(&pending.cost);
                    if let Some(command) = pending.first_command {
                        split.disturbed += 1;
                        split.detection += command - pending.doorbell;
                    }
                }
            }
            state.outstanding = false;
            if std::mem::take(&mut state.tick_kept) {
                self.arrive(client, completion.at);
            }
            self.follow(client, completion.at);
            self.tell(client);
        }
    }

    fn tell(&mut self, queue: QueueIndex) {
        let now = self.engine.now();
        if let Some(at) = self.controller.told(now, queue) {
            match &mut self.watch {
                Watch::Asleep(wake) => *wake = Some(wake.map_or(at, |w| w.min(at))),
                Watch::Acting { .. } | Watch::InTransaction => self.told_meanwhile = true,
            }
        }
    }

    fn watch(&mut self) {
        let now = self.engine.now();
        if let Some(cost) = self.engine.take_finished_transaction() {
            for pending in self.pending.values_mut() {
                if self.infos[pending.client].urgent {
                    pending.transactions += 1;
                    pending.cost.add(&cost);
                }
            }
            self.note_stops();
            self.controller.transaction_done(now, &cost);
            self.watch = Watch::Acting { at: now };
        }
        loop {
            match self.watch {
                Watch::Asleep(Some(at)) if at <= now => {
                    let look = self.controller.look(&self.engine, &self.infos);
                    self.result.looks += 1;
                    self.result.look_time += WAKE_UP + look.cost;
                    self.acts = look.acts.into();
                    self.after_acts = look.next;
                    self.watch = Watch::Acting {
                        at: now + look.cost + self.lead(),
                    };
                }
                Watch::Acting { at } if at <= now => {
                    let Some(act) = self.acts.pop_front() else {
                        let told = std::mem::take(&mut self.told_meanwhile);
                        let delay = match self.controller.is_punctual() {
                            true => 0,
                            false => self.random.random_range(0..=TIMER_DELAY),
                        };
                        self.watch = Watch::Asleep(match self.after_acts {
                            _ if told => Some(now),
                            Next::After(time) => Some(now + time.max(1) + delay),
                            Next::At(at) => Some(at.max(now + 1) + delay),
                            Next::Told => None,
                        });
                        continue;
                    };
                    self.act(act);
                    if !matches!(self.watch, Watch::InTransaction) {
                        self.watch = Watch::Acting {
                            at: now + self.lead(),
                        };
                    }
                }
                _ => break,
            }
        }
    }

    fn lead(&self) -> Nanos {
        match self.acts.front() {
            Some(Act::Transaction { lead, .. } | Act::Revive { lead, .. }) => *lead,
            _ => 0,
        }
    }

    fn act(&mut self, act: Act) {
        let now = self.engine.now();
        match act {
            Act::Transaction { stop, start, .. } => {
                for pending in self.pending.values_mut() {
                    if self.infos[pending.client].urgent {
                        pending.first_command.get_or_insert(now);
                    }
                }
                self.engine.begin_transaction(stop, start);
                self.watch = Watch::InTransaction;
            }
            Act::Kill(queue) => {
                self.engine.kill(queue);
                self.note_stops();
            }
            Act::Revive { queue, .. } => {
                self.engine.revive(queue);
                self.note_stops();
            }
        }
    }
}
