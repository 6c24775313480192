// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a priority level from pass to pass, and who wants something there.

use crate::level::demand::Two;
use crate::level::demand::Waiting;
use crate::level::demand::Who;
use crate::level::tank::Tank;
use crate::parts::lengths::Lengths;
use crate::settings::limits::Limits;
use crate::terms::observation::ProcessId;
use crate::terms::time::Nanos;

/// Whose turn it is within a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Turn {
    pub(crate) process: ProcessId,
    pub(crate) since: Nanos,
    /// The others are stopped for it: not in the first one, which whoever runs has.
    pub(crate) exclusive: bool,
}

/// A level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Level {
    /// Lower queues are stopped for it.
    holds: bool,
    /// They were when the pass began.
    held: bool,
    /// Somebody wanted something in the last pass.
    wanted: bool,
    /// When somebody last did.
    wanted_at: Nanos,
    /// When everybody ceased to, if anybody ever did.
    quiet_since: Option<Nanos>,
    /// Until when lower queues stay stopped for it though nobody wants anything.
    hold_until: Nanos,
    /// How long its pauses last.
    pauses: Lengths<6>,
    /// What transactions for those whom rules raised have cost, and for those who claimed it.
    rules: Tank,
    claims: Tank,
    /// Whose turn it is.
    turn: Option<Turn>,
    /// Who wants something in this pass; who waits; and who has launched something of which
    /// it is not known whether it is all on the compute units.
    wants: Two,
    /// A rule gave one of those that want something its level.
    ruled: bool,
    waits: Waiting,
    fresh: Two,
    /// Somebody wants something and may have nothing stopped for it: its tenant has spent
    /// its budget, or it makes no progress.
    spent: bool,
    stuck: bool,
}

impl Default for Level {
    fn default() -> Level {
        Level {
            holds: false,
            held: false,
            wanted: false,
            wanted_at: Nanos::ZERO,
            quiet_since: None,
            hold_until: Nanos::ZERO,
            pauses: Lengths::default(),
            rules: Tank::default(),
            claims: Tank::default(),
            turn: None,
            wants: Two::default(),
            ruled: false,
            waits: Waiting::NOBODY,
            fresh: Two::default(),
            spent: false,
            stuck: false,
        }
    }
}

impl Level {
    /// A pass begins: nobody has been seen yet.
    pub(crate) fn begin_pass(&mut self, elapsed: Nanos, limits: &Limits) {
        self.rules.refill(elapsed, limits.rule_overhead);
        self.claims.refill(elapsed, limits.claim_overhead);
        self.held = self.holds;
        self.wants = Two::default();
        self.ruled = false;
        self.waits = Waiting::NOBODY;
        self.fresh = Two::default();
        self.spent = false;
        self.stuck = false;
    }

    /// Who wants something.
    pub(crate) fn wants(&self) -> &Two {
        &self.wants
    }

    /// One more wants something, whom a rule gave the level or not.
    pub(crate) fn add_wanting(&mut self, who: Who, ruled: bool) {
        self.wants.add(who);
        self.ruled |= ruled;
    }

    /// A rule gave one of those that want something its level.
    pub(crate) fn is_ruled(&self) -> bool {
        self.ruled
    }

    /// Who waits.
    pub(crate) fn waits(&self) -> &Waiting {
        &self.waits
    }

    pub(crate) fn waits_mut(&mut self) -> &mut Waiting {
        &mut self.waits
    }

    /// Who has launched something of which it is not known whether it is all placed.
    pub(crate) fn fresh(&self) -> &Two {
        &self.fresh
    }

    pub(crate) fn fresh_mut(&mut self) -> &mut Two {
        &mut self.fresh
    }

    /// Somebody wants something who may have nothing stopped for it.
    pub(crate) fn deny(&mut self, stuck: bool) {
        self.stuck |= stuck;
        self.spent |= !stuck;
    }

    /// Somebody wants something whose tenant has spent its budget.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Somebody wants something and makes no progress.
    pub(crate) fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// All that want something have been seen: learns from pauses, and begins and ends the
    /// hold. A start takes `start`.
    pub(crate) fn follow(&mut self, now: Nanos, start: Nanos) {
        let wanted = !self.wants.is_empty();
        if wanted {
            self.wanted_at = now;
            if let (false, Some(since)) = (self.wanted, self.quiet_since) {
                self.pauses.add(now.since(since));
            }
        } else if self.spent || self.stuck {
            // Somebody is refused what it wants: that is no pause.
            self.quiet_since = None;
            self.hold_until = now;
        } else if self.wanted {
            self.quiet_since = Some(now);
            self.hold_until = now.after(self.pauses.hold(start));
        }
        self.wanted = wanted;
        if !wanted && now >= self.hold_until {
            self.holds = false;
        }
    }

    /// Lower queues are stopped for it.
    pub(crate) fn holds(&self) -> bool {
        self.holds
    }

    /// Lower queues were stopped for it when the pass began.
    pub(crate) fn held(&self) -> bool {
        self.held
    }

    /// Lower queues are stopped for it from now on.
    pub(crate) fn hold(&mut self) {
        self.holds = true;
    }

    /// Until when lower queues stay stopped for it though nobody wants anything.
    pub(crate) fn keeps_until(&self, now: Nanos) -> Option<Nanos> {
        let keeps = self.holds && !self.wanted && now < self.hold_until;
        keeps.then_some(self.hold_until)
    }

    /// Whether somebody has wanted something within this time.
    pub(crate) fn is_lively(&self, now: Nanos, expect: Nanos) -> bool {
        self.wanted || (self.wanted_at > Nanos::ZERO && now.since(self.wanted_at) < expect)
    }

    /// The tank that somebody spends from.
    pub(crate) fn tank(&self, ruled: bool) -> &Tank {
        match ruled {
            true => &self.rules,
            false => &self.claims,
        }
    }

    pub(crate) fn tank_mut(&mut self, ruled: bool) -> &mut Tank {
        match ruled {
            true => &mut self.rules,
            false => &mut self.claims,
        }
    }

    /// Whose turn it is.
    pub(crate) fn turn(&self) -> Option<Turn> {
        self.turn
    }

    pub(crate) fn set_turn(&mut self, turn: Option<Turn>) {
        self.turn = turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::stop::Beneficiary;
    use crate::settings::config::Config;
    use crate::terms::observation::QueueId;
    use crate::terms::priority::Priority;

    const T: Nanos = Nanos(5_000_000_000);
    const START: Nanos = Nanos(100_000);

    fn somebody() -> Who {
        let process = ProcessId(1);
        Who {
            beneficiary: Beneficiary {
                queue: QueueId(1),
                process,
                level: Priority::HIGHEST,
            },
            at: 0,
            process_at: 0,
        }
    }

    fn pass(level: &mut Level, now: Nanos, wanted: bool, denied: bool) {
        level.begin_pass(Nanos::ZERO, &Limits::new(&Config::new()));
        if wanted {
            level.add_wanting(somebody(), true);
        }
        if denied {
            level.deny(true);
        }
        level.follow(now, START);
    }

    #[test]
    fn a_pause_is_learned_when_it_is_over_and_held_out_until_then() {
        let mut level = Level::default();
        pass(&mut level, T, true, false);
        level.hold();
        pass(&mut level, T, false, false);
        // Nothing is known of pauses: they are held for as long as a start takes.
        assert_eq!(level.keeps_until(T), Some(T.after(START)));
        assert!(level.is_lively(T, Nanos(1)) && !level.is_lively(T, Nanos::ZERO));
        pass(&mut level, T.after(START), false, false);
        assert!(!level.holds() && level.held());
        pass(&mut level, T.after(START), true, false);
        assert_eq!(level.pauses.mean().map(|mean| mean.0 / 10_000), Some(10));
    }

    #[test]
    fn who_is_refused_what_it_wants_makes_no_pause() {
        let mut level = Level::default();
        pass(&mut level, T, true, false);
        level.hold();
        pass(&mut level, T, false, true);
        assert!(!level.holds() && level.is_stuck() && !level.is_spent());
        pass(&mut level, T.after(Nanos::SECOND), true, false);
        assert_eq!(level.pauses.mean(), None);
    }
}
