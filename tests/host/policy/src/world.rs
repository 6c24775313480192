// SPDX-License-Identifier: GPL-2.0-only
//! A node made of nothing but what can be seen of it, moved by arbitrary bytes:
//! queues come and go, run, stall and lie, the port obeys, fails or loses
//! reports, the clock jumps, the configuration changes. Whatever the bytes say
//! is a legal thing to see, so every property must hold for all of them.
//!
//! It is one file because the small world of the exhaustive check is the same
//! world with fewer events.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use gpreempt_policy::{
    Action, Config, Decision, FailureKind, Head, Mode, Nanos, Numbers, Observation, Outcome,
    Priority, QueueId, QueueState, QueueView, Reason, Report, RuleEffect, Scheduler, Step,
    TenantId, UserPriority, Waves, NUMBERS,
};

use crate::cases::idle;
use crate::watch::{Look, Watch};
use crate::Vectors;

/// How many queues there are at most at the same time.
const QUEUES: usize = 10;
/// How many queues the scheduler has room for: less, so that it overflows.
const ROOM: usize = 8;
/// How many processes a tenant has.
const PROCESSES_EACH: u64 = 2;
/// How many processes there are.
const PROCESSES: u64 = 5;
/// How many decisions the output takes in a world of wide outputs.
const OUTPUT: usize = 16;

/// A queue that there never is.
const NOBODY: QueueId = QueueId(u64::MAX);

/// Rules that there may be, each in its place. There is never one at the sixth.
const RULES: [Option<RuleEffect>; 9] = [
    rule(0, 0),
    rule(15, 0),
    rule(9, 700),
    Some(RuleEffect {
        exempt: true,
        ..NO_EFFECT
    }),
    rule(2, 0),
    rule(0, 300),
    None,
    Some(RuleEffect {
        priority: Priority::new(12),
        ..budget(3)
    }),
    Some(budget(20)),
];

const NO_EFFECT: RuleEffect = RuleEffect {
    priority: None,
    timeslice: None,
    stop_budget: None,
    exempt: false,
};

const fn budget(millis: u32) -> RuleEffect {
    RuleEffect {
        stop_budget: Some(Nanos::from_millis(millis)),
        ..NO_EFFECT
    }
}

const fn rule(level: u32, timeslice_us: u32) -> Option<RuleEffect> {
    Some(RuleEffect {
        priority: Priority::new(level),
        timeslice: if timeslice_us == 0 {
            None
        } else {
            Some(Nanos::from_micros(timeslice_us))
        },
        ..NO_EFFECT
    })
}

/// What becomes of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Port {
    Obeys,
    Mute,
    Deaf,
    Refuses,
    Fails(FailureKind),
}

/// What can happen in the small world; queues go by 1, 2 and 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Small {
    /// Time passes.
    Nothing,
    /// Much time passes, in milliseconds.
    Jump(u32),
    /// A queue makes progress and has waves.
    Runs(u64),
    /// A queue has work and no waves.
    Starves(u64),
    /// A queue has finished everything.
    Idles(u64),
    /// The driver holds a queue, or starts it.
    Foreign(u64),
    /// A queue comes or goes.
    Toggle(u64),
    /// The next transaction fails, and it means this.
    PortFails(FailureKind),
}

impl Small {
    /// Everything that can happen.
    pub fn all() -> Vec<Small> {
        let mut all = vec![
            Small::Nothing,
            Small::Jump(1),
            Small::Jump(5),
            Small::PortFails(FailureKind::Broken),
            Small::PortFails(FailureKind::Rebuilt),
        ];
        for id in 1..=3 {
            all.extend([
                Small::Runs(id),
                Small::Starves(id),
                Small::Idles(id),
                Small::Foreign(id),
                Small::Toggle(id),
            ]);
        }
        all
    }
}

/// Bytes, and nothing once they are used up.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// A number below `end`; zero when there are no bytes left.
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.next().unwrap_or(0)) % end
    }
}

/// The node.
#[derive(Clone)]
pub struct World {
    scheduler: Scheduler<Vectors>,
    /// The same scheduler again: equal inputs give equal outputs.
    twin: Scheduler<Vectors>,
    config: Config,
    /// How many of the rules there are, and which of them matches a process.
    rules: usize,
    matched: BTreeMap<u64, Option<usize>>,
    /// What the port believes the time to be; it may go back.
    now: Nanos,
    queues: Vec<Observation>,
    next_queue: u64,
    outcomes: Vec<Outcome>,
    port: Port,
    /// How many decisions the output takes.
    output: usize,
    /// How many queues the scheduler has room for.
    room: usize,
    /// Whether each queue's state can be told in this pass.
    blind: Option<usize>,
    /// A queue that is named twice.
    doubled: Option<usize>,
    /// What was wrong, and the counts.
    pub watch: Watch,
    last: Step,
    /// Print everything that happens.
    pub trace: bool,
}

impl Default for World {
    fn default() -> World {
        let mut config = Config::new();
        config.mode = Mode::Enforce;
        config.highest_rule = highest(RULES.len());
        World {
            scheduler: Scheduler::new(Vectors::new(ROOM)),
            twin: Scheduler::new(Vectors::new(ROOM)),
            config,
            rules: RULES.len(),
            matched: BTreeMap::new(),
            now: Nanos(1_000_000),
            queues: Vec::new(),
            next_queue: 1,
            outcomes: Vec::new(),
            port: Port::Obeys,
            output: OUTPUT,
            room: ROOM,
            blind: None,
            doubled: None,
            watch: Watch::default(),
            last: Step::default(),
            trace: false,
        }
    }
}

impl World {
    /// Lives through the bytes, then lets go of everything.
    ///
    /// # Errors
    ///
    /// The first property that did not hold.
    pub fn live(mut self, bytes: &[u8]) -> Result<Watch, String> {
        let mut bytes = Bytes(bytes);
        while let Some(event) = bytes.next() {
            self.happen(event, &mut bytes);
            self.look()?;
        }
        self.let_go()?;
        Ok(self.watch)
    }

    /// One thing happens, and some time passes.
    fn happen(&mut self, event: u8, bytes: &mut Bytes<'_>) {
        self.blind = None;
        self.doubled = None;
        match event {
            0..=139 => self.act(bytes),
            140..=159 => self.arrive(bytes),
            160..=167 => {
                if !self.queues.is_empty() {
                    let at = bytes.below(self.queues.len());
                    self.queues.remove(at);
                }
            }
            168..=179 => self.interfere(bytes),
            180..=189 => {
                self.port = match bytes.below(12) {
                    0 => Port::Mute,
                    1 => Port::Deaf,
                    2 => Port::Refuses,
                    3 => Port::Fails(FailureKind::Broken),
                    4 => Port::Fails(FailureKind::Passing),
                    5 => Port::Fails(FailureKind::Rebuilt),
                    _ => Port::Obeys,
                }
            }
            190..=199 => self.configure(bytes),
            200 => {
                self.scheduler.rearm();
                self.twin.rearm();
            }
            202 => {
                let took = Nanos::from_micros(10 * u32::from(bytes.next().unwrap_or(0)));
                self.scheduler.transaction_took(took);
                self.twin.transaction_took(took);
            }
            203 => self.output = [0, 1, 2, 3, OUTPUT, OUTPUT, OUTPUT][bytes.below(7)],
            204 => self.blind = Some(bytes.below(QUEUES)),
            205 => self.doubled = Some(bytes.below(QUEUES)),
            206 => self.queues.reverse(),
            207..=210 if !self.queues.is_empty() => {
                // A rule is written, and matches a process from now on.
                let process = self.queues[bytes.below(self.queues.len())].process.0;
                let rule = match bytes.below(9) {
                    at @ 0..=5 => Some(at),
                    8 => None,
                    at => Some(at + 1),
                };
                self.matched.insert(process, rule);
            }
            211..=225 if !self.queues.is_empty() => {
                // A process says that it prepares a request, or takes its page away.
                let process = self.queues[bytes.below(self.queues.len())].process;
                let gone = bytes.below(16) == 0;
                let its = self
                    .queues
                    .iter_mut()
                    .filter(|queue| queue.process == process);
                for queue in its {
                    let number = queue.hint.unwrap_or(0).wrapping_add(1);
                    queue.hint = (!gone).then_some(number);
                }
            }
            _ => {}
        }
        self.pass_time(bytes);
    }

    /// Mostly a poll interval, now and then up to the announced time, a jump
    /// ahead, or a step back.
    fn pass_time(&mut self, bytes: &mut Bytes<'_>) {
        let poll = Nanos::from_micros(self.config.numbers.poll_interval_us);
        self.now = match bytes.next().unwrap_or(0) {
            0..=199 => self.now.after(poll),
            200..=229 => self.last.next_look.unwrap_or(self.now).max(self.now),
            230..=239 => self.now.after(Nanos::from_millis(1)),
            240..=246 => self.now.after(Nanos::from_millis(30)),
            247..=249 => self.now.after(Nanos::from_millis(1_100)),
            250 => self.now.after(Nanos(3_600 * Nanos::SECOND.0)),
            251..=253 => Nanos(self.now.0.saturating_sub(5_000_000)),
            _ => self.now,
        };
    }

    /// A queue does something.
    fn act(&mut self, bytes: &mut Bytes<'_>) {
        if self.queues.is_empty() {
            return self.arrive(bytes);
        }
        let at = bytes.below(self.queues.len());
        let queue = &mut self.queues[at];
        match bytes.below(16) {
            0..=4 => {
                queue.progress += 1;
                queue.waves = Waves::Known([64, 128][bytes.below(2)]);
                queue.backlog = Some(3);
                queue.head = Head::Runnable;
            }
            5..=8 => {
                queue.waves = Waves::Known(0);
                queue.backlog = Some(1);
                queue.head = Head::Runnable;
            }
            9..=10 => {
                queue.waves = Waves::Known(0);
                queue.backlog = Some(0);
            }
            11 => {
                queue.progress += 1;
                queue.waves = Waves::Known(0);
                queue.backlog = Some(0);
            }
            12 => queue.waves = Waves::Unknown,
            13 => queue.head = [Head::Barrier, Head::Invalid, Head::Unknown][bytes.below(3)],
            14 => queue.backlog = [None, Some(0), Some(u32::MAX)][bytes.below(3)],
            _ => queue.progress += 1,
        }
    }

    fn arrive(&mut self, bytes: &mut Bytes<'_>) {
        if self.queues.len() >= QUEUES {
            return;
        }
        let process = bytes.below(PROCESSES as usize) as u64 + 1;
        let level = [0, 3, 7, 7, 8, 11, 15][bytes.below(7)];
        let mut queue = idle(self.next_queue, process, level);
        self.next_queue += 1;
        match bytes.below(24) {
            0 => queue.internal = true,
            1 => queue.protected = true,
            2 => queue.grid = Some(128),
            _ => {}
        }
        let mut others = self.queues.iter();
        let own = others.find(|other| other.process == queue.process);
        queue.hint = own.and_then(|own| own.hint);
        if own.is_none() {
            // A rule matches all queues of a process.
            let rule = Some(bytes.below(24)).filter(|&rule| rule < 8);
            self.matched.insert(process, rule);
        }
        queue.tenant = TenantId(process / PROCESSES_EACH + 1);
        self.queues.push(queue);
    }

    /// Something other than the policy does something to a queue.
    fn interfere(&mut self, bytes: &mut Bytes<'_>) {
        if self.queues.is_empty() {
            return;
        }
        let at = bytes.below(self.queues.len());
        let queue = &mut self.queues[at];
        queue.state = match (queue.state, bytes.below(4)) {
            (QueueState::Active, 0..=1) => QueueState::Held,
            (QueueState::Active, 2) => QueueState::StoppedByUs,
            (QueueState::Active, _) => {
                queue.protected = !queue.protected;
                QueueState::Active
            }
            (QueueState::StoppedByUs, 3) => QueueState::Held,
            _ => QueueState::Active,
        };
        if queue.state == QueueState::StoppedByUs {
            self.watch.orphaned(queue.queue);
        }
    }

    fn configure(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.below(10) {
            0 => {
                self.config.mode =
                    [Mode::Off, Mode::Observe, Mode::Enforce, Mode::Enforce][bytes.below(4)]
            }
            1 => {
                self.config.user_priority = [
                    UserPriority::Auto,
                    UserPriority::Honour,
                    UserPriority::Cap(Priority::NORMAL),
                    UserPriority::Ignore,
                ][bytes.below(4)]
            }
            2 => {
                self.rules = [RULES.len(), 1, 0][bytes.below(3)];
                self.config.highest_rule = highest(self.rules);
            }
            3 => {
                let slice = [0, 0, 500, 2_000][bytes.below(4)];
                self.config.timeslices = [slice; 16];
            }
            4 => self.config.mode = Mode::Enforce,
            _ => {
                let spec = &NUMBERS[bytes.below(NUMBERS.len())];
                let value = match bytes.below(6) {
                    0 => spec.min,
                    1 => spec.max.min(spec.default.saturating_mul(8)),
                    _ => spec.default,
                };
                *(spec.place)(&mut self.config.numbers) = value;
            }
        }
    }

    /// One pass, watched.
    fn look(&mut self) -> Result<(), String> {
        let mut seen = self.queues.clone();
        for queue in &mut seen {
            let matched = self.matched.get(&queue.process.0).copied().flatten();
            queue.rule = matched.and_then(|at| RULES[..self.rules].get(at).copied().flatten());
        }
        if let Some(queue) = self.blind.and_then(|at| seen.get_mut(at)) {
            queue.state = QueueState::Unknown;
        }
        if let Some(queue) = self.doubled.and_then(|at| seen.get(at).copied()) {
            seen.push(queue);
        }
        let turned = self.look_turned(&seen);
        let mut out = [Decision::default(); OUTPUT];
        let mut again = [Decision::default(); OUTPUT];
        let (now, config, outcomes) = (self.now, &self.config, &self.outcomes);
        let step = self
            .scheduler
            .step(now, config, &seen, outcomes, &mut out[..self.output]);
        let twin = self
            .twin
            .step(now, config, &seen, outcomes, &mut again[..self.output]);
        if step != twin || out[..] != again[..] {
            return Err("equal inputs gave different outputs".to_owned());
        }
        let made = &out[..step.decisions];
        let whole = !step.truncated && step.untracked == 0;
        if whole && turned != names(made) {
            return Err(format!("{turned:?} if seen the other way round: {made:?}"));
        }
        if self.trace {
            println!("{:>14} {:?} {step:?}", now.0, config.mode);
            for queue in &seen {
                println!("    {queue:?}");
            }
            for decision in &out[..step.decisions] {
                println!("  * {decision:?}");
            }
        }
        let views: Vec<_> = self.scheduler.queues().collect();
        self.check_views(&views, &seen)?;
        self.watch.check(&Look {
            now: self.now,
            config: &self.config,
            seen: &seen,
            outcomes: &self.outcomes,
            step: &step,
            made,
            views: &views,
            output: self.output,
            room: self.room,
        })?;
        self.last = step;
        self.answer(&out[..step.decisions]);
        Ok(())
    }

    /// What would be decided if the queues were seen in another order.
    fn look_turned(&self, seen: &[Observation]) -> Vec<(QueueId, Action, Reason, bool)> {
        let mut turned = seen.to_vec();
        let half = (turned.len() / 2).min(self.watch.steps as usize % 4);
        turned.rotate_left(half);
        turned.reverse();
        let mut out = [Decision::default(); OUTPUT];
        let step = self.scheduler.clone().step(
            self.now,
            &self.config,
            &turned,
            &self.outcomes,
            &mut out[..self.output],
        );
        names(&out[..step.decisions])
    }

    /// A queue's view is found by its name, and its effective priority is that of
    /// the rules and parameters of this very step.
    fn check_views(&mut self, views: &[QueueView], seen: &[Observation]) -> Result<(), String> {
        for view in views {
            if self.scheduler.queue(view.queue) != Some(*view) {
                return Err(format!("{:?} has another view by its name", view.queue));
            }
        }
        if self.scheduler.queue(NOBODY).is_some() {
            return Err("a queue that was never seen has a view".to_owned());
        }
        for queue in seen {
            let Config {
                user_priority,
                highest_rule,
                ..
            } = self.config;
            let own = user_priority.effective(queue.kfd, highest_rule);
            let ruled = queue.rule.and_then(|rule| rule.priority);
            let expected = ruled.unwrap_or(own);
            let view = self.scheduler.queue(queue.queue);
            if view.is_some_and(|view| view.effective != expected) {
                return Err(format!("{view:?} has not the priority {expected:?}"));
            }
        }
        Ok(())
    }

    /// Does with the decisions what the port does at present.
    fn answer(&mut self, made: &[Decision]) {
        self.outcomes.clear();
        for decision in made.iter().filter(|decision| decision.apply) {
            let queue = self
                .queues
                .iter_mut()
                .find(|queue| queue.queue == decision.queue);
            let mut report = match self.port {
                Port::Obeys | Port::Mute | Port::Deaf => Report::Done,
                Port::Refuses => Report::NothingToDo,
                Port::Fails(kind) => Report::Failed(kind),
            };
            if matches!(self.port, Port::Obeys | Port::Mute) {
                match queue {
                    Some(queue) if queue.state == QueueState::Held => report = Report::NothingToDo,
                    Some(queue) => {
                        queue.state = match decision.action {
                            Action::Stop => QueueState::StoppedByUs,
                            Action::Start => QueueState::Active,
                        }
                    }
                    None => report = Report::NothingToDo,
                }
            }
            if !matches!(self.port, Port::Mute | Port::Deaf) {
                self.outcomes.push(Outcome {
                    queue: decision.queue,
                    report,
                });
            }
        }
    }

    /// A small world: three queues of three processes at three levels, and
    /// parameters so short that a few steps reach every rule.
    pub fn small() -> World {
        let mut world = World {
            scheduler: Scheduler::new(Vectors::new(3)),
            twin: Scheduler::new(Vectors::new(3)),
            room: 3,
            ..World::default()
        };
        world.config.numbers = Numbers {
            grace_us: 100,
            min_run_us: 200,
            max_stop_ms: 4,
            noprogress_ms: 2,
            stop_budget_ms: 6,
            disarm_after: 2,
            ..Numbers::DEFAULT
        };
        // Its levels are claims.
        world.config.user_priority = UserPriority::Honour;
        for id in 1..=3 {
            world.toggle(id);
        }
        world
    }

    /// A queue of the small world comes, or goes.
    fn toggle(&mut self, id: u64) {
        let before = self.queues.len();
        self.queues.retain(|queue| queue.queue.0 % 3 != id % 3);
        if self.queues.len() == before {
            // A queue that comes back is another one.
            let id = id + 3 * self.next_queue;
            self.next_queue += 1;
            let level = [15, 0, 7][(id % 3) as usize];
            self.queues.push(idle(id, id % 3 + 1, level));
        }
    }

    /// One event of the small world, and a look.
    ///
    /// # Errors
    ///
    /// The first property that did not hold.
    pub fn small_step(&mut self, event: Small) -> Result<(), String> {
        let mut passed = Nanos::from_micros(100);
        self.port = Port::Obeys;
        let queue = |queues: &mut Vec<Observation>, id: u64, change: fn(&mut Observation)| {
            let found = queues.iter_mut().find(|queue| queue.queue.0 % 3 == id % 3);
            found.map(change);
        };
        match event {
            Small::Nothing => {}
            Small::Jump(millis) => passed = Nanos::from_millis(millis),
            Small::PortFails(kind) => self.port = Port::Fails(kind),
            Small::Toggle(id) => self.toggle(id),
            Small::Runs(id) => queue(&mut self.queues, id, |queue| {
                queue.progress += 1;
                queue.waves = Waves::Known(64);
                queue.backlog = Some(3);
                queue.head = Head::Runnable;
            }),
            Small::Starves(id) => queue(&mut self.queues, id, |queue| {
                queue.waves = Waves::Known(0);
                queue.backlog = Some(1);
                queue.head = Head::Runnable;
            }),
            Small::Idles(id) => queue(&mut self.queues, id, |queue| {
                queue.waves = Waves::Known(0);
                queue.backlog = Some(0);
            }),
            Small::Foreign(id) => queue(&mut self.queues, id, |queue| {
                queue.state = match queue.state {
                    QueueState::Active => QueueState::Held,
                    _ => QueueState::Active,
                };
            }),
        }
        self.now = self.now.after(passed);
        self.look()
    }

    /// What the future depends on, as a number.
    pub fn key(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        (&self.scheduler, &self.queues, self.now, &self.outcomes).hash(&mut hasher);
        hasher.finish()
    }

    /// Lets go of everything.
    ///
    /// # Errors
    ///
    /// A queue that stays stopped.
    pub fn end(mut self) -> Result<Watch, String> {
        self.let_go()?;
        Ok(self.watch)
    }

    /// The module is switched off: everything must run again within a bounded
    /// number of passes, whatever happened before.
    fn let_go(&mut self) -> Result<(), String> {
        self.config.mode = Mode::Off;
        self.port = Port::Obeys;
        self.output = OUTPUT;
        self.blind = None;
        self.doubled = None;
        for _ in 0..8 {
            // Past any silence and any retry.
            self.now = self.now.after(Nanos(4_000 * Nanos::SECOND.0));
            self.look()?;
        }
        match self
            .queues
            .iter()
            .find(|queue| queue.state == QueueState::StoppedByUs)
        {
            Some(queue) => Err(format!("{:?} stays stopped for ever", queue.queue)),
            None if self.last.stopped != 0 => Err("a queue is counted as stopped".to_owned()),
            None => Ok(()),
        }
    }
}

/// The highest level that the first so many rules give.
fn highest(rules: usize) -> Option<Priority> {
    let rules = RULES[..rules].iter().flatten();
    rules.filter_map(|rule| rule.priority).max()
}

/// Decisions without the names of those they are for, in the order of the queues.
fn names(made: &[Decision]) -> Vec<(QueueId, Action, Reason, bool)> {
    let name = |made: &Decision| (made.queue, made.action, made.reason, made.apply);
    let mut names: Vec<_> = made.iter().map(name).collect();
    names.sort_by_key(|name| name.0);
    names
}
