// SPDX-License-Identifier: GPL-2.0-only

//! One node of a GPU, as its thread keeps it: what is remembered of it, the settings
//! in force, and when to look again.

use crate::{
    node::{
        node_ref::{gpu_name, NodeRef},
        start_all::StartAllCause,
        transaction::say_failure,
        NodeState,
    },
    shared::Shared,
};
use gpreempt_policy::{Config, Mode, Nanos, RETRY_FIRST};
use kernel::{
    prelude::*,
    sync::Arc,
    time::{delay::fsleep, Delta},
};
use kfd::{
    act::failure::Failure,
    driver::{
        driver::Device,
        gpu::{Gpu, NodeData, Present},
    },
    kernel::{clock, thread::Running, wake, wake::Alarm},
    operator::settings::Followed,
};

/// For how long the module tries to start everything before it lets go of a GPU or
/// lets the system sleep. What may be in the way, a halt for debugfs or for another
/// partition, takes less.
const START_ALL_TRIES_FOR: Nanos = Nanos::SECOND.times(5);

/// The pause between two tries.
const PAUSE_MS: i64 = 20;

/// How long a thread sleeps at most while it has anything to do with its node. What
/// wakes it out of turn can be missed: an operator may switch off all probes.
const LONGEST_SLEEP: Nanos = Nanos::SECOND;

/// The same where the creation of a queue cannot wake the thread.
const WITHOUT_WAKING: Nanos = Nanos::from_millis(100);

/// The longest wait for a look in which the thread hears of no new queue: the look, which
/// is due anyway, finds it. With idle queues it waits for so long by default.
const NOT_WORTH_LISTENING: Nanos = Nanos::from_millis(1);

/// A node of a GPU and everything that is remembered of it.
pub(crate) struct NodeThread {
    shared: Arc<Shared>,
    /// Its number in the GPU.
    index: usize,
    /// `None`: the GPU has no such node, as far as is known.
    watched: Option<NodeState>,
    /// How many nodes the GPU had at the last pass.
    node_count: usize,
    /// The settings in force.
    followed: Followed,
    /// The settings of the last pass.
    settings: Config,
    /// The name of the node at the last pass, to be compared only.
    name: usize,
    /// In mode off: nothing is stopped any more, and nobody looks.
    rested: bool,
    /// The system was about to sleep, and no pass was made since it is awake again.
    slept: bool,
    /// The log says already that the settings are not taken over yet.
    said_kept: bool,
}

/// When to look at a node again.
#[derive(Clone, Copy)]
pub(crate) struct Next {
    /// When at the latest. `None`: only when woken.
    pub(crate) look: Option<Nanos>,
    /// Not before this because a queue was created, which anyone can do in a loop.
    pub(crate) deaf: Nanos,
}

impl NodeThread {
    pub(crate) fn new(shared: Arc<Shared>, gpu: &Device, index: usize) -> Self {
        let mut followed = Followed::of(gpu);
        Self {
            shared,
            index,
            watched: None,
            node_count: 0,
            name: 0,
            settings: *followed.now(gpu),
            followed,
            rested: false,
            slept: false,
            said_kept: false,
        }
    }

    /// How many nodes the GPU had at the last pass.
    pub(crate) fn node_count(&self) -> usize {
        self.node_count
    }

    /// The node, if the GPU has it.
    pub(crate) fn node(&mut self) -> Option<&mut NodeState> {
        self.watched.as_mut()
    }

    /// The same, with where it is and the backend in force. One that went when the driver
    /// divided the GPU anew has nothing that is stopped.
    fn node_at<'a>(&'a mut self, gpu: &'a Present<'_>) -> Option<(&'a mut NodeState, NodeRef<'a>)> {
        if gpu.nodes().is_ok_and(|nodes| self.index >= nodes.count()) {
            self.watched = None;
        }
        let at = NodeRef::new(gpu, self.index, &self.settings, self.shared.hws.as_ref());
        Some((self.watched.as_mut()?, at))
    }

    /// The settings of the last pass.
    pub(crate) fn settings(&self) -> &Config {
        &self.settings
    }

    /// One pass over the node.
    pub(crate) fn pass(&mut self, gpu: &Present<'_>, running: &mut Running, alarm: &Alarm) -> Next {
        let look = self.pass_if_due(gpu, running, alarm);
        let longest = match self.settings.mode {
            Mode::Off => None,
            _ if self.shared.creation_wakes => Some(LONGEST_SLEEP),
            _ => Some(WITHOUT_WAKING),
        };
        let spacing = Nanos::from_micros(self.settings.numbers.poll_interval_us);
        let Some(look) = look.or_else(|| longest.map(|time| clock::now().after(time))) else {
            return Next {
                look: None,
                deaf: Nanos::NEVER,
            };
        };
        let rest = self.node().map_or(Nanos::ZERO, |node| node.rest_until);
        let (now, look) = (clock::now(), look.max(rest));
        // The thread wakes up when it begins to listen.
        let deaf = if look.since(now) <= NOT_WORTH_LISTENING {
            look
        } else {
            now.after(spacing).max(rest)
        };
        Next {
            look: Some(look),
            deaf,
        }
    }

    /// One pass, unless the node rests. Returns when to look again, or `None` if
    /// there is no reason to.
    fn pass_if_due(
        &mut self,
        gpu: &Present<'_>,
        running: &mut Running,
        alarm: &Alarm,
    ) -> Option<Nanos> {
        let mut settings = *self.followed.now(gpu.device());
        if gpu.left_since().is_some() {
            settings.mode = Mode::Off;
        } else if self.shared.is_asleep() {
            settings.mode = Mode::Off;
            self.begin_sleep();
        } else if core::mem::take(&mut self.slept) {
            // The driver has loaded it again.
            self.forget_silence();
        }
        settings.highest_rule = self.shared.rules.highest();
        let means = |settings: &Config| (settings.backend, settings.transaction, settings.sampler);
        if means(&settings) != means(&self.settings) {
            if let Err(failure) = self.start_all(gpu, StartAllCause::Settings) {
                return Some(self.keep_backend(gpu, failure));
            }
            self.said_kept = false;
            if let Some(node) = self.node() {
                node.check.ask_again();
            }
        }
        self.settings = settings;
        let off = settings.mode == Mode::Off;
        if off && self.rested {
            return None;
        }
        self.rested = false;
        let retry = clock::now().after(RETRY_FIRST);
        if self.follow(gpu, alarm).is_err() {
            return Some(retry);
        }
        let node = self.watched.as_ref();
        if off && !node.is_some_and(NodeState::keeps_any_stopped) {
            return self.come_to_rest(gpu).err().map(|_| retry);
        }
        self.pass_node(gpu, running)
    }

    /// Has the node if the GPU has it now, and listens to it.
    fn follow(&mut self, gpu: &Present<'_>, alarm: &Alarm) -> Result {
        let nodes = gpu.nodes().map_err(|_| ENODEV)?;
        let before = (self.node_count, self.name);
        self.node_count = nodes.count();
        self.name = match self.index < self.node_count {
            true => nodes.node(self.index).map_err(|_| ENODEV)?.name(),
            false => 0,
        };
        drop(nodes);
        alarm.listen_to(self.name);
        if (self.node_count, self.name) != before {
            // Until now this thread may have been the one to hear of what was created
            // on another one's node, which has its address now.
            wake::all();
        }
        if self.index >= self.node_count {
            self.watched = None;
        } else if self.watched.is_none() {
            self.watched = Some(NodeState::new(self.index)?);
        }
        Ok(())
    }

    /// One pass over the node, if there is one.
    fn pass_node(&mut self, gpu: &Present<'_>, running: &mut Running) -> Option<Nanos> {
        let (settings, shared) = (&self.settings, &self.shared);
        let at = NodeRef::new(gpu, self.index, settings, shared.hws.as_ref());
        let node = self.watched.as_mut()?;
        node.pass(at, settings, &shared.rules, running)
    }

    /// Starts what nobody here remembers to have stopped, because an earlier load of
    /// the module has left it or there was no room to see it, and then forgets all.
    fn come_to_rest(&mut self, gpu: &Present<'_>) -> Result<(), Failure> {
        if let Some((node, at)) = self.node_at(gpu) {
            node.look_and_start_all(at)?;
            node.rest();
        }
        self.rested = true;
        Ok(())
    }

    /// Starts everything that is stopped. `Err`: something may still be.
    fn start_all(&mut self, gpu: &Present<'_>, cause: StartAllCause) -> Result<(), Failure> {
        self.node_at(gpu)
            .map_or(Ok(()), |(node, at)| node.start_all(at, cause))
    }

    /// The same, because the system is about to sleep.
    pub(crate) fn start_all_for_sleep(&mut self, gpu: Option<&Present<'_>>) -> Result<(), Failure> {
        self.begin_sleep();
        gpu.map_or(Ok(()), |gpu| self.start_all(gpu, StartAllCause::Sleep))
    }

    /// The system is about to sleep.
    fn begin_sleep(&mut self) {
        let first = !core::mem::replace(&mut self.slept, true);
        if first && self.keeps_queues_stopped() {
            // Firmware is asked once more for each sleep, whatever was heard before.
            self.forget_silence();
        }
    }

    /// Whether a queue is stopped, so that it would not survive the system's sleep.
    fn keeps_queues_stopped(&self) -> bool {
        self.watched
            .as_ref()
            .is_some_and(|node| node.memory.roster.any_stopped())
    }

    /// Forgets that the firmware has not answered.
    fn forget_silence(&mut self) {
        if let Some(node) = self.node() {
            node.transactions.unanswered.end_pause();
        }
    }

    /// Arms the node. `Err`: there is none.
    pub(crate) fn rearm(&mut self) -> Result {
        self.node().ok_or(ENODEV)?.rearm();
        self.rested = false;
        Ok(())
    }

    /// What one backend has stopped, no other can start: it stays in force until all
    /// of it runs. Returns when to try again.
    fn keep_backend(&mut self, gpu: &Present<'_>, failure: Failure) -> Nanos {
        if !self.said_kept {
            self.said_kept = true;
            pr_warn!(
                "{}: backend {} stays in force with its settings until all that it stopped is started: {} (errno {})\n",
                gpu_name(gpu.device()),
                self.settings.backend.name(),
                failure.why(),
                failure.errno()
            );
        }
        clock::now().after(RETRY_FIRST)
    }

    /// Starts everything that is stopped, trying for a while, because the module lets
    /// go of the GPU. What cannot be started is named in the log.
    fn start_all_or_give_up(&mut self, gpu: &Present<'_>, since: Nanos) {
        let mut said = false;
        let Some((node, at)) = self.node_at(gpu) else {
            return;
        };
        try_for_a_while(since, |last| {
            if let Some(asked) = gpu.left_since() {
                node.transactions.unanswered.rest_if_asked_since(asked);
            }
            let Err(failure) = node.start_all(at, StartAllCause::LettingGo) else {
                return true;
            };
            if last {
                node.give_up(at, failure);
            } else if !said && !failure.is_passing() {
                said = true;
                say_failure(at, failure);
            }
            false
        });
    }
}

/// Starts everything of a GPU that is stopped, because the system is about to sleep.
pub(crate) fn start_all_for_sleep(gpu: &Gpu<NodeThread>) -> Result<(), Failure> {
    let mut result = Ok(());
    gpu.each(|gpu, state| {
        let started = state.start_all_for_sleep(gpu);
        result = started.and(result);
    });
    result
}

/// Calls a function until it says that it is done, or for so long since a time as
/// everything is tried to be started. It is told which call is the last.
pub(crate) fn try_for_a_while(since: Nanos, mut done: impl FnMut(bool) -> bool) {
    let until = since.after(START_ALL_TRIES_FOR);
    loop {
        // Everyone gets a last try, however long the others took.
        let last = clock::now() >= until;
        if done(last) || last {
            return;
        }
        fsleep(Delta::from_millis(PAUSE_MS));
    }
}

impl NodeData for NodeThread {
    fn leave(&mut self, gpu: &Present<'_>, since: Nanos) {
        self.start_all_or_give_up(gpu, since);
        if let Some(node) = &mut self.watched {
            node.forget();
        }
        self.rested = false;
    }
}
