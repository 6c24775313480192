// SPDX-License-Identifier: GPL-2.0-only
//! What one pass works with, and the order in which it goes.

use crate::level::level::Level;
use crate::parts::table::Table;
use crate::pass::cost::Cost;
use crate::pass::output::Output;
use crate::pass::questions::Questions;
use crate::pass::storage::LevelSlot;
use crate::process::process::Process;
use crate::process::tenant::Tenant;
use crate::queue::queue::Queue;
use crate::settings::choices::Mode;
use crate::settings::config::Config;
use crate::settings::limits::Limits;
use crate::terms::decision::Arming;
use crate::terms::decision::Decision;
use crate::terms::decision::Step;
use crate::terms::observation::Observation;
use crate::terms::priority::Priority;
use crate::terms::time::Nanos;

/// The tables of a node.
type Tables<'p> = (Table<'p, Queue>, Table<'p, Process>, Table<'p, Tenant>);

/// What one pass works with.
pub(crate) struct Pass<'p, 'c> {
    pub(crate) now: Nanos,
    pub(crate) config: &'p Config<'c>,
    pub(crate) limits: Limits,
    pub(crate) arming: Arming,
    /// The pause after the last failure is over.
    pub(crate) may_retry: bool,
    /// Everything is started first: something fundamental has changed.
    pub(crate) releasing: bool,
    pub(crate) queues: Table<'p, Queue>,
    pub(crate) processes: Table<'p, Process>,
    pub(crate) tenants: Table<'p, Tenant>,
    pub(crate) levels: &'p mut [LevelSlot],
    pub(crate) cost: Cost,
    pub(crate) questions: Questions,
    pub(crate) out: Output<'p>,
    pub(crate) step: Step,
    /// A hint counts.
    pub(crate) hinted: bool,
    /// Waves were counted in this pass, and the highest level of a queue that has any.
    pub(crate) counted: bool,
    pub(crate) busiest: Option<Priority>,
    /// The lowest level at which a queue may have something, and the highest at which one
    /// has had something lately.
    pub(crate) lowest: Priority,
    pub(crate) highest: Priority,
    /// The lowest level of a queue that takes part.
    pub(crate) floor: Priority,
    /// The waves of this look were asked for.
    pub(crate) asked: bool,
    /// Queues stopped or to be started, dry ones too.
    pub(crate) stopped: usize,
    /// A queue runs that may not be stopped yet because it was stopped so long.
    pub(crate) immune: bool,
    /// The level for which queues are stopped in this pass.
    pub(crate) stops_for: Option<Priority>,
    /// The earliest time at which something is due.
    pub(crate) due: Nanos,
    /// When a head will have been one that nothing takes for long enough.
    pub(crate) settles: Nanos,
    /// The earliest time to come at which a stop reaches one of its bounds.
    pub(crate) bound: Nanos,
}

impl<'p, 'c> Pass<'p, 'c> {
    #[inline(never)] // Keeps the frame of the pass small: kernel stacks are.
    pub(crate) fn new(
        now: Nanos,
        config: &'p Config<'c>,
        limits: Limits,
        (queues, processes, tenants): Tables<'p>,
        levels: &'p mut [LevelSlot],
        out: Output<'p>,
    ) -> Pass<'p, 'c> {
        Pass {
            now,
            config,
            limits,
            arming: Arming::Armed,
            may_retry: true,
            releasing: false,
            queues,
            processes,
            tenants,
            levels,
            cost: Cost::new(),
            questions: Questions::new(),
            out,
            step: Step::default(),
            hinted: false,
            counted: false,
            busiest: None,
            lowest: Priority::HIGHEST,
            highest: Priority::LOWEST,
            floor: Priority::HIGHEST,
            asked: false,
            stopped: 0,
            immune: false,
            stops_for: None,
            due: Nanos::NEVER,
            settles: Nanos::NEVER,
            bound: Nanos::NEVER,
        }
    }

    /// The whole pass.
    pub(crate) fn run(&mut self, pass: u32, elapsed: Nanos, seen: &[Observation]) -> Step {
        self.asked = self.questions.begin_pass();
        self.ingest(pass, elapsed, seen);
        self.follow_hints();
        if !matches!(self.arming, Arming::Silent(_)) {
            self.gather();
            self.find_turns();
            if self.may_stop() {
                self.choose_stop();
            }
            if self.stopped > 0 {
                self.start_queues();
            }
            if self.may_stop() {
                self.stop_queues();
            }
        }
        self.close();
        self.step
    }

    fn may_stop(&self) -> bool {
        self.config.mode != Mode::Off && self.arming == Arming::Armed && !self.releasing
    }

    /// Look again at this time at the latest.
    pub(crate) fn look_at(&mut self, time: Nanos) {
        self.due = self.due.min(time);
    }

    /// A stop reaches a bound at this time: look again then, even if that is before
    /// the end of a rest. What is past cannot be kept, and would end every rest.
    pub(crate) fn keep_bound(&mut self, bound: Nanos) {
        self.look_at(bound);
        if bound > self.now {
            self.bound = self.bound.min(bound);
        }
    }

    pub(crate) fn level(&self, level: Priority) -> Option<&Level> {
        self.levels.get(level.index()).map(|slot| &slot.0)
    }

    pub(crate) fn level_mut(&mut self, level: Priority) -> Option<&mut Level> {
        self.levels.get_mut(level.index()).map(|slot| &mut slot.0)
    }

    /// How much longer queues may be stopped for the process at a place.
    pub(crate) fn budget_left(&self, process_at: usize) -> Nanos {
        let Some(process) = self.processes.get(process_at) else {
            return Nanos::ZERO;
        };
        let budget = process.stop_budget(self.limits.budget);
        match self.tenants.get(process.tenant_at()) {
            Some(tenant) => tenant.left(self.now, budget),
            None => Nanos::ZERO,
        }
    }

    /// Something is stopped for the process at a place.
    pub(crate) fn hold(&mut self, process_at: usize) {
        let (now, left) = (self.now, self.budget_left(process_at));
        let Some(process) = self.processes.get_mut(process_at) else {
            return;
        };
        process.hold(now);
        // What a rule allows without a limit is not the tenant's to pay.
        if left == Nanos::NEVER {
            return;
        }
        if let Some(tenant) = self.tenants.get_mut(process.tenant_at()) {
            tenant.hold(now);
        }
        self.keep_bound(now.after(left));
    }

    /// Makes a decision. `false`: there is no room for it.
    pub(crate) fn push(&mut self, decision: Decision) -> bool {
        let made = self.out.push(decision);
        if made && decision.apply {
            // A transaction that does both is the dearer one.
            self.cost.expect(decision.action);
        }
        made
    }
}
