// SPDX-License-Identifier: GPL-2.0-only
// Plays a written-down scene to a scheduler and compares its decisions with the
// expected ones. Core only, and included as text, so that the same cases run on
// the host and inside the kernel.

use gpreempt_policy::{
    Action, Config, Decision, FailureKind, Head, Mode, Nanos, Observation, Outcome, Priority,
    ProcessId, QueueId, QueueState, QueueView, Reason, Report, Scheduler, Step, Storage, Waves,
};

/// How many queues a scene can have.
pub const CAST: usize = 12;

/// What becomes of decisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// They are carried out and reported.
    Obeys,
    /// They are carried out, and the report is lost.
    Mute,
    /// They are neither carried out nor reported.
    Deaf,
    /// There is nothing to do.
    Refuses,
    /// They fail, and it means this.
    Fails(FailureKind),
}

/// One line of a scene. Queues and processes are plain numbers.
#[derive(Clone, Copy)]
pub enum Line {
    /// A queue of a process appears at a level, active and idle.
    Queue(u64, u64, u32),
    /// A queue goes.
    Gone(u64),
    /// It runs: the read pointer moves, it has waves and more work.
    Runs(u64),
    /// It has work and no waves, and the read pointer stands.
    Starves(u64),
    /// It has finished everything.
    Idles(u64),
    /// Anything else that is to be seen of it.
    Seen(u64, fn(&mut Observation)),
    /// The configuration changes.
    Config(fn(&mut Config)),
    /// What becomes of the decisions from here on.
    Port(Port),
    /// The scheduler is told something else than what is seen.
    Tell(fn(&mut dyn Told)),
    /// The clock goes back by so many microseconds.
    Back(u32),
    /// After these microseconds it looks, and makes exactly these decisions.
    Look(u32, &'static [(Action, u64, Reason)]),
    /// So many looks at the poll interval without a decision.
    Quiet(u32),
    /// These lines, so many times.
    Times(u32, &'static [Line]),
    /// What the last step said must be so.
    Step(&'static str, fn(&Step) -> bool),
    /// What the last step decided must be so.
    Made(&'static str, fn(&[Decision]) -> bool),
    /// What a table reads of a queue must be so.
    View(u64, &'static str, fn(&QueueView) -> bool),
}

/// What a scheduler can be told, whatever its storage is.
pub trait Told {
    /// The node is armed again.
    fn rearm(&mut self);
    /// A transaction took this long.
    fn transaction_took(&mut self, took: Nanos);
    /// Nothing runs on the node.
    fn excuse(&mut self);
}

impl<S: Storage> Told for Scheduler<S> {
    fn rearm(&mut self) {
        Scheduler::rearm(self);
    }
    fn transaction_took(&mut self, took: Nanos) {
        Scheduler::transaction_took(self, took);
    }
    fn excuse(&mut self) {
        Scheduler::excuse(self);
    }
}

/// A scene with a name that says what it shows.
pub struct Case {
    /// What it shows.
    pub name: &'static str,
    /// What happens.
    pub scene: &'static [Line],
}

/// Where a scene did not go as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The case.
    pub case: &'static str,
    /// The line of the scene, counted from 0.
    pub line: usize,
    /// Which look of that line, counted from 0.
    pub look: u32,
    /// What was wrong.
    pub what: &'static str,
    /// The first decision that was not expected, or that was made instead.
    pub got: Option<Decision>,
}

/// A queue of a process at a level, active and idle, with no waves. A level that
/// does not exist stands for the highest.
pub fn idle(queue: u64, process: u64, level: u32) -> Observation {
    Observation {
        kfd: Priority::new(level).unwrap_or(Priority::HIGHEST),
        waves: Waves::Known(0),
        ..Observation::new(QueueId(queue), ProcessId(process))
    }
}

/// The stage: what the port would show, and the scheduler.
pub struct Bench<S> {
    scheduler: Scheduler<S>,
    config: Config,
    now: Nanos,
    cast: [Option<Observation>; CAST],
    port: Port,
    outcomes: [Outcome; CAST],
    reported: usize,
    step: Step,
    made: [Decision; CAST],
}

const NO_OUTCOME: Outcome = Outcome {
    queue: QueueId(0),
    report: Report::Done,
};

impl<S: Storage> Bench<S> {
    /// An empty stage in `mode=enforce`. The clock starts late enough for the
    /// scenes to be free of the start of time.
    pub fn new(storage: S) -> Self {
        let mut config = Config::new();
        config.mode = Mode::Enforce;
        Bench {
            scheduler: Scheduler::new(storage),
            config,
            now: Nanos(10 * Nanos::SECOND.0),
            cast: [None; CAST],
            port: Port::Obeys,
            outcomes: [NO_OUTCOME; CAST],
            reported: 0,
            step: Step::default(),
            made: [Decision::default(); CAST],
        }
    }

    /// Plays a case.
    pub fn play(mut self, case: &Case) -> Result<(), Failure> {
        for (line, what) in case.scene.iter().enumerate() {
            self.line(what).map_err(|(look, what, got)| Failure {
                case: case.name,
                line,
                look,
                what,
                got,
            })?;
        }
        Ok(())
    }

    fn line(&mut self, line: &Line) -> Result<(), (u32, &'static str, Option<Decision>)> {
        match *line {
            Line::Queue(id, process, level) => {
                let place = self.cast.iter_mut().find(|place| place.is_none());
                *place.ok_or((0, "the cast is full", None))? = Some(idle(id, process, level));
                Ok(())
            }
            Line::Gone(id) => {
                for place in &mut self.cast {
                    if place.is_some_and(|seen| seen.queue.0 == id) {
                        *place = None;
                    }
                }
                Ok(())
            }
            Line::Runs(id) => self.see(id, |seen| {
                seen.progress += 1;
                seen.waves = Waves::Known(64);
                seen.backlog = Some(4);
                seen.head = Head::Runnable;
            }),
            Line::Starves(id) => self.see(id, |seen| {
                seen.waves = Waves::Known(0);
                seen.backlog = Some(1);
                seen.head = Head::Runnable;
            }),
            Line::Idles(id) => self.see(id, |seen| {
                seen.waves = Waves::Known(0);
                seen.backlog = Some(0);
            }),
            Line::Seen(id, change) => self.see(id, change),
            Line::Config(change) => {
                change(&mut self.config);
                Ok(())
            }
            Line::Back(micros) => {
                self.now = Nanos(self.now.since(Nanos::from_micros(micros)).0);
                Ok(())
            }
            Line::Port(port) => {
                self.port = port;
                Ok(())
            }
            Line::Tell(tell) => {
                tell(&mut self.scheduler);
                Ok(())
            }
            Line::Look(micros, expected) => self
                .look(micros, expected)
                .map_err(|(what, got)| (0, what, got)),
            Line::Quiet(looks) => {
                for look in 0..looks {
                    let poll = self.config.numbers.poll_interval_us;
                    self.look(poll, &[])
                        .map_err(|(what, got)| (look, what, got))?;
                }
                Ok(())
            }
            Line::Times(times, lines) => {
                for _ in 0..times {
                    for line in lines {
                        self.line(line)?;
                    }
                }
                Ok(())
            }
            Line::Step(what, check) => holds(what, check(&self.step)),
            Line::Made(what, check) => {
                let made = self.made.get(..self.step.decisions);
                holds(what, check(made.unwrap_or(&[])))
            }
            Line::View(id, what, check) => {
                let view = self.scheduler.queue(QueueId(id));
                holds(what, view.is_some_and(|view| check(&view)))
            }
        }
    }

    fn see(
        &mut self,
        id: u64,
        change: fn(&mut Observation),
    ) -> Result<(), (u32, &'static str, Option<Decision>)> {
        let seen = self
            .cast
            .iter_mut()
            .flatten()
            .find(|seen| seen.queue.0 == id)
            .ok_or((0, "no such queue on the stage", None))?;
        change(seen);
        Ok(())
    }

    fn look(
        &mut self,
        micros: u32,
        expected: &[(Action, u64, Reason)],
    ) -> Result<(), (&'static str, Option<Decision>)> {
        self.now = self.now.after(Nanos::from_micros(micros));
        let mut seen = [Observation::new(QueueId(0), ProcessId(0)); CAST];
        let mut count = 0;
        for (place, observation) in seen.iter_mut().zip(self.cast.iter().flatten()) {
            *place = *observation;
            count += 1;
        }
        let mut out = [Decision::default(); CAST];
        self.step = self.scheduler.step(
            self.now,
            &self.config,
            seen.get(..count).unwrap_or(&[]),
            self.outcomes.get(..self.reported).unwrap_or(&[]),
            &mut out,
        );
        self.made = out;
        let made = out.get(..self.step.decisions).unwrap_or(&[]);
        self.reported = 0;
        for decision in made {
            self.answer(decision);
        }
        for (at, decision) in made.iter().enumerate() {
            let got = (decision.action, decision.queue.0, decision.reason);
            match expected.get(at) {
                Some(wanted) if *wanted == got => {}
                Some(_) => return Err(("another decision was expected", Some(*decision))),
                None => return Err(("no decision was expected", Some(*decision))),
            }
        }
        if made.len() < expected.len() {
            return Err(("a decision is missing", None));
        }
        Ok(())
    }

    /// Does with a decision what the port of the scene does.
    fn answer(&mut self, decision: &Decision) {
        if !decision.apply {
            return;
        }
        if matches!(self.port, Port::Obeys | Port::Mute) {
            for seen in self.cast.iter_mut().flatten() {
                if seen.queue == decision.queue {
                    seen.state = match decision.action {
                        Action::Stop => QueueState::StoppedByUs,
                        Action::Start => QueueState::Active,
                    };
                    if decision.action == Action::Stop {
                        seen.waves = Waves::Unknown;
                    }
                }
            }
        }
        let report = match self.port {
            Port::Obeys => Report::Done,
            Port::Refuses => Report::NothingToDo,
            Port::Fails(kind) => Report::Failed(kind),
            Port::Mute | Port::Deaf => return,
        };
        if let Some(place) = self.outcomes.get_mut(self.reported) {
            *place = Outcome {
                queue: decision.queue,
                report,
            };
            self.reported += 1;
        }
    }
}

/// Whether a line of a scene holds that says this.
fn holds(what: &'static str, sound: bool) -> Result<(), (u32, &'static str, Option<Decision>)> {
    if sound {
        Ok(())
    } else {
        Err((0, what, None))
    }
}
