// SPDX-License-Identifier: GPL-2.0-only
//! Whether a queue runs, waits or has nothing to do.
//!
//! On the hardware the read pointer is expected to move when a packet is
//! launched, not when it completes. So equal pointers do not mean idle, and
//! different ones do not mean that there is anything to run: the head may be a
//! barrier, or a slot that is reserved and not written yet.
//!
//! A queue that has had a packet to run for the grace waits, even when its read
//! pointer moves: queues that run below it slow it down, and small kernels slip
//! through between two looks. Whether it makes any progress at all matters while
//! others are stopped for it, and to tables.
//!
//! A launch whose waves were never seen is the hard case. It waits for compute
//! units, or it was finished between two looks. It counts as waiting; when the
//! queues below are stopped and still no waves appear, it was finished, and the
//! next such launch of this queue must last twice as long to count.

use crate::memory::spell::Spell;
use crate::memory::tempo::Tempo;
use crate::settings::limits::Limits;
use crate::terms::observation::Head;
use crate::terms::observation::Observation;
use crate::terms::observation::QueueState;
use crate::terms::observation::Waves;
use crate::terms::time::Nanos;

/// How many looks make a pending queue wait, beside the grace; the one that finds it
/// pending is the first.
const LOOKS: u32 = 2;

/// How many looks in a row may pass before the waves of a launch are counted.
const UNSURE_LOOKS: u32 = 2;

/// The shortest time between two looks while a pending queue comes to wait.
const STEP_MIN: Nanos = Nanos::from_micros(20);

/// How often the grace of a doubtful launch is doubled at most.
const DOUBTS_MAX: u32 = 6;

/// With how many packets left the end of its work may be near.
const LAST_PACKETS: u32 = 4;

/// What a queue may have launched and not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Launch {
    /// Nothing, and the last look found a queue that is idle though it is free to
    /// run: as long as nothing changes, it need not be looked at closely.
    Rest,
    /// Nothing since it was last known to be idle.
    #[default]
    None,
    /// Something of which no waves have been seen.
    Unseen,
    /// Something of which waves were seen.
    Seen,
}

/// What a queue has that wants compute units and does not get them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Want {
    #[default]
    Nothing,
    /// It has something, for less than the grace.
    Pending,
    /// It has had something for the grace: it waits.
    Waiting,
    /// It waits, and makes no progress at all.
    Stalled,
}

/// What was seen of a queue last, and what follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Work {
    active: bool,
    backlog: u32,
    head: Head,
    /// It has a packet to run at its head.
    runnable: bool,
    progress: u64,
    waves: Waves,

    launch: Launch,
    want: Want,
    /// Since when it has wanted something without a break.
    pending_since: Nanos,
    /// Looks at it since then.
    looks: u32,
    /// When it last got something to launch that had nothing: it may still have been busy in
    /// its spell with its last launch.
    asked: Nanos,
    /// How often in a row a doubtful launch turned out to be finished.
    doubts: u32,
    /// Looks in a row in which its last launch may run and no waves were counted.
    unsure_looks: u32,
    /// When it was last seen alive: the read pointer moved, or it had waves that were
    /// not merely saved.
    alive: Nanos,
    /// When the read pointer last moved.
    moved: Nanos,
    /// How long its launches take.
    tempo: Tempo,
    /// How long it is busy at a time.
    spell: Spell,
}

impl Work {
    /// The work of a queue that is seen for the first time.
    pub(crate) fn new(now: Nanos, seen: &Observation) -> Work {
        Work {
            progress: seen.progress,
            // What it launched before may have finished long ago.
            launch: if seen.progress != 0 {
                Launch::Seen
            } else {
                Launch::None
            },
            pending_since: now,
            alive: now,
            ..Work::default()
        }
    }

    /// It is idle, was so in the last pass, and nothing has changed.
    #[inline]
    pub(crate) fn still_idle(&self, seen: &Observation) -> bool {
        self.launch == Launch::Rest
            && seen.progress == self.progress
            && matches!(seen.backlog, Some(0))
            && matches!(seen.state, QueueState::Active)
            && !matches!(seen.waves, Waves::Known(1..))
    }

    /// Takes in what is seen of a queue that is still idle.
    #[inline]
    pub(crate) fn stay_idle(&mut self, seen: &Observation) {
        self.waves = seen.waves;
        self.active = true;
    }

    /// Takes in what is seen in this pass. `free` says that the policy lets the
    /// queue run.
    ///
    /// What is not known in this pass is taken to be as it was; only time spent
    /// in ignorance does not count as waiting.
    pub(crate) fn take_in(&mut self, now: Nanos, limits: &Limits, seen: &Observation, free: bool) {
        let was_busy = self.is_busy();
        let had_none = self.backlog == 0;
        let moved = seen.progress != self.progress;
        if moved {
            self.follow_tempo(now, seen, was_busy);
        }
        self.active = seen.state == QueueState::Active;
        self.backlog = seen.backlog.unwrap_or(self.backlog);
        if had_none && self.backlog > 0 {
            self.asked = now;
        }
        self.runnable = self.backlog > 0 && self.follow_head(seen.head, moved);
        self.head = seen.head;
        self.progress = seen.progress;
        self.waves = seen.waves;

        let saved = seen.state == QueueState::StoppedByUs;
        if moved || (self.has_waves() && !saved) {
            self.alive = now;
        }
        self.follow_launch(now, limits, moved, free);
        self.follow_want(now, limits, moved, seen.backlog.is_some(), free);
        self.spell
            .follow(now, was_busy, self.is_busy(), self.active);
        let unsure = self.has_launched() && self.backlog == 0 && self.waves == Waves::Unknown;
        self.unsure_looks = match unsure {
            true if !moved => self.unsure_looks.saturating_add(1),
            true => 1,
            false => 0,
        };
        if (moved || self.has_waves()) && !self.is_doubtful() {
            self.doubts = 0;
        }
    }

    /// Whether its head is a packet to run.
    ///
    /// The packet processor marks a packet that it takes as invalid before it moves the
    /// read pointer. So only a slot that two looks in a row find invalid is one that is
    /// not written yet; until then the queue has what it had.
    fn follow_head(&self, head: Head, moved: bool) -> bool {
        match head {
            Head::Runnable | Head::Unknown => true,
            Head::Barrier => false,
            Head::Invalid => self.runnable && (moved || self.head != Head::Invalid),
        }
    }

    /// Works out how long the launches took that its read pointer has moved past.
    fn follow_tempo(&mut self, now: Nanos, seen: &Observation, was_busy: bool) {
        if was_busy && self.moved >= self.asked {
            // What was submitted meanwhile makes them seem fewer, and slower.
            let left = seen.backlog.unwrap_or(self.backlog);
            let packets = self.backlog.saturating_sub(left);
            self.tempo.see(now.since(self.moved), packets);
        } else {
            self.tempo.forget();
        }
    }

    /// Works out whether its last launch may still run.
    fn follow_launch(&mut self, now: Nanos, limits: &Limits, moved: bool, free: bool) {
        if moved {
            self.launch = Launch::Unseen;
            self.moved = now;
        }
        if self.has_waves() {
            self.launch = Launch::Seen;
        }
        if self.backlog == 0 && self.waves == Waves::Known(0) {
            let forgotten = now.since(self.moved) >= limits.no_progress;
            if self.launch == Launch::Seen || forgotten {
                self.launch = Launch::None;
            }
        }
        if !self.has_launched() {
            self.launch = if free && self.backlog == 0 {
                Launch::Rest
            } else {
                Launch::None
            };
        }
    }

    /// Works out whether it wants compute units, and for how long it has.
    fn follow_want(&mut self, now: Nanos, limits: &Limits, moved: bool, known: bool, free: bool) {
        let was_pending = self.is_pending();
        let pending = self.active && (self.runnable || self.is_doubtful());
        if !pending || !was_pending || (moved && self.is_doubtful()) {
            self.begin_grace(now);
        }
        // Time spent in ignorance does not count as waiting.
        self.looks = match known {
            true if pending => self.looks.saturating_add(1),
            _ => 0,
        };
        let grace = self.grace(limits);
        let ripe = now >= self.pending_since.after(grace);
        self.want = if !pending {
            Want::Nothing
        } else if !free || self.looks < LOOKS || !ripe {
            Want::Pending
        } else if moved || now.since(self.moved) < grace {
            Want::Waiting
        } else {
            Want::Stalled
        };
    }

    /// Its grace begins now.
    pub(crate) fn begin_grace(&mut self, now: Nanos) {
        self.looks = 0;
        self.pending_since = now;
        self.want = self.want.min(Want::Pending);
    }

    /// Something was done to it: the next look is a close one.
    pub(crate) fn disturb(&mut self) {
        self.launch = self.launch.max(Launch::None);
    }

    /// The doubtful launch was finished.
    pub(crate) fn settle_doubt(&mut self, now: Nanos) {
        self.launch = Launch::None;
        self.want = Want::Nothing;
        self.doubts = self.doubts.saturating_add(1).min(DOUBTS_MAX);
        self.begin_grace(now);
    }

    /// How long it must have wanted something, to count as waiting.
    fn grace(&self, limits: &Limits) -> Nanos {
        if self.is_doubtful() {
            limits.grace.doubled(self.doubts, limits.no_progress)
        } else {
            limits.grace
        }
    }

    /// When to look again in order to know in time whether it waits.
    pub(crate) fn next_judgement(&self, now: Nanos, limits: &Limits) -> Option<Nanos> {
        if self.want != Want::Pending {
            return None;
        }
        let missing = u64::from(LOOKS.saturating_sub(self.looks));
        let ripe = self.pending_since.after(self.grace(limits));
        let left = ripe.since(now);
        let step = left.0.checked_div(missing.max(1)).unwrap_or(0);
        Some(now.after(Nanos(step).max(STEP_MIN)))
    }

    /// The driver offers it to the hardware.
    #[inline]
    pub(crate) fn is_active(&self) -> bool {
        self.active
    }

    #[inline]
    pub(crate) fn backlog(&self) -> u32 {
        self.backlog
    }

    pub(crate) fn waves(&self) -> Waves {
        self.waves
    }

    /// It has waves, on the compute units or saved.
    #[inline]
    fn has_waves(&self) -> bool {
        matches!(self.waves, Waves::Known(1..))
    }

    /// It has launched something that may not be finished.
    #[inline]
    pub(crate) fn has_launched(&self) -> bool {
        self.launch >= Launch::Unseen
    }

    /// All that it has is a launch that showed no waves: it may wait for
    /// compute units, or be finished.
    #[inline]
    pub(crate) fn is_doubtful(&self) -> bool {
        self.has_launched() && self.backlog == 0 && self.waves == Waves::Known(0)
    }

    /// It has something that wants compute units and does not get them.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.want >= Want::Pending
    }

    /// It has been pending for the grace, progress or not.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.want >= Want::Waiting
    }

    /// It waits and makes no progress at all.
    #[inline]
    pub(crate) fn is_stalled(&self) -> bool {
        self.want == Want::Stalled
    }

    /// It wants the GPU, waiting or not.
    #[inline]
    pub(crate) fn wants(&self) -> bool {
        self.is_pending() || (self.active && self.has_waves())
    }

    /// It has work on the compute units, or may have.
    #[inline]
    pub(crate) fn is_busy(&self) -> bool {
        let unknown = self.has_launched() && self.waves == Waves::Unknown;
        self.active && (self.backlog > 0 || self.has_waves() || unknown)
    }

    pub(crate) fn pending_since(&self) -> Nanos {
        self.pending_since
    }

    /// It has been looked at since it became pending.
    pub(crate) fn was_looked_at(&self) -> bool {
        self.looks > 0
    }

    pub(crate) fn alive(&self) -> Nanos {
        self.alive
    }

    /// It has launched something lately, so that it may soon have work again.
    pub(crate) fn launched_lately(&self, now: Nanos, limits: &Limits) -> bool {
        self.moved != Nanos::ZERO && now.since(self.moved) < limits.expect
    }

    pub(crate) fn moved(&self) -> Nanos {
        self.moved
    }

    pub(crate) fn busy_since(&self) -> Nanos {
        self.spell.since()
    }

    /// Until when it is left to the hardware to be done with it, where it is known never to
    /// have work for longer than this: with what it has by now, or with its last launch.
    pub(crate) fn brief_until(&self, most: Nanos, or_new: bool) -> Option<Nanos> {
        // Where waves are not counted, nothing would ever be known of it.
        let or_new = or_new && matches!(self.waves, Waves::Known(_));
        if !self.spell.is_within(most, or_new) || self.spell.is_cut() {
            return None;
        }
        // Only of one that is known to be brief is each launch a beginning.
        let since = match self.backlog {
            0 if self.spell.is_within(most, false) => self.spell.since().max(self.moved),
            _ => self.spell.since(),
        };
        Some(since.after(most))
    }

    /// Until when it is left to the hardware to make room for it, where it is known never
    /// to have work for longer than this. A launch that shows no waves was most likely
    /// finished between two looks.
    ///
    /// What it asked for while such a launch was in doubt is left as long as any other:
    /// that it had wanted something before was a mistake.
    pub(crate) fn patient_until(&self, most: Nanos, or_new: bool) -> Option<Nanos> {
        /// How many times as long a doubtful launch is left.
        const DOUBTFUL: u64 = 4;
        let (since, times) = if self.is_doubtful() {
            (self.pending_since, DOUBTFUL)
        } else {
            (self.pending_since.max(self.asked), 1)
        };
        let within = self.spell.is_within(most, or_new);
        within.then(|| since.after(most.times(times)))
    }

    /// Its last launch may run, and its waves have not been counted yet: they are
    /// asked for after the second look at it.
    pub(crate) fn is_uncounted(&self) -> bool {
        (1..=UNSURE_LOOKS).contains(&self.unsure_looks)
    }

    /// Its pointers alone cannot tell whether its last launch still runs.
    pub(crate) fn is_unclear(&self, now: Nanos) -> bool {
        self.has_launched() && self.backlog == 0 && self.moved != now
    }

    /// Until when its last launch may run, where its waves are not counted.
    pub(crate) fn may_run_until(&self, limits: &Limits) -> Option<Nanos> {
        let unknown = self.has_launched() && self.waves == Waves::Unknown;
        let last = unknown && self.backlog == 0;
        last.then(|| self.tempo.end(self.moved, limits.resume_delay))
    }

    /// It launches one packet soon after another and has few left, so that the last one
    /// may be launched before the next look.
    pub(crate) fn is_ending(&self, now: Nanos, limits: &Limits) -> bool {
        self.backlog <= LAST_PACKETS && now.since(self.moved) < limits.poll
    }

    /// Its pointers show that it has work on the compute units.
    pub(crate) fn surely_runs(&self, now: Nanos, limits: &Limits) -> bool {
        self.is_busy() && self.backlog > 0 && now.since(self.moved) < limits.grace
    }

    /// It was seen to run, or nothing indicates otherwise.
    pub(crate) fn seems_to_run(&self, now: Nanos, limits: &Limits) -> bool {
        let stands = self.waves == Waves::Unknown && self.is_stalled();
        self.may_occupy(now, limits) && !stands
    }

    /// It has work for which it may get compute units at any moment, whether it has
    /// waves now or not.
    pub(crate) fn is_eager(&self, now: Nanos, limits: &Limits) -> bool {
        self.runnable && self.launched_lately(now, limits)
    }

    /// It may have waves on the compute units now.
    pub(crate) fn may_occupy(&self, now: Nanos, limits: &Limits) -> bool {
        match self.waves {
            Waves::Known(0) => now.since(self.moved) <= limits.grace,
            Waves::Known(_) => true,
            Waves::Unknown => self.is_busy(),
        }
    }

    /// All that it has is a head that waits for something else, and no waves.
    pub(crate) fn is_blocked(&self) -> bool {
        self.backlog > 0 && !self.runnable && self.waves == Waves::Known(0)
    }
}
