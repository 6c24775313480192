// SPDX-License-Identifier: GPL-2.0-only
//! A deliberate bug in each rule must be caught by a named case. Each entry is
//! put into a copy of the policy, and the cases are played on that copy.
//!
//! `cargo test --test mutations -- --ignored`; a compiler run for each entry.
//! `GP_BUGS` restricts it to entries in whose file's or case's name it occurs.
//!
//! It is one file because the bugs are one list.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpreempt_host_tests::cases::CASES;

/// A bug: in which file, what becomes what, and the case that must fail.
struct Bug(&'static str, &'static str, &'static str, &'static str);

const BUGS: &[Bug] = &[
    Bug(
        "queue.rs",
        "now.since(since) >= limits.grace && since < now",
        "since < now",
        "a waiting queue has the running one below it stopped when the grace is over",
    ),
    Bug(
        "queue.rs",
        "now.since(since) >= limits.grace && since < now",
        "now.since(since) > limits.grace && since < now",
        "a long grace ends at its time and not before",
    ),
    Bug(
        "queue.rs",
        "now.since(since) >= limits.grace && since < now",
        "now.since(since) >= limits.grace",
        "the grace is at least two looks",
    ),
    Bug(
        "pass/gather.rs",
        "self.look_at(settles?);",
        "let _ = settles;",
        "a queue that is about to wait is looked at when its grace ends",
    ),
    Bug(
        "queue/work.rs",
        "        self.waits_since = None;\n        self.queued = true;",
        "        self.queued = true;",
        "a head that is taken before the grace is over does not wait",
    ),
    Bug(
        "queue/work.rs",
        "self.runnable && seen.backlog.is_some()",
        "self.runnable",
        "time in which the pointers cannot be read is no waiting",
    ),
    Bug(
        "queue.rs",
        "        self.work.waits_since = self.work.waits_since.map(|_| now);\n",
        "",
        "a queue that something else holds does not wait, and then waits anew",
    ),
    Bug(
        "queue/work.rs",
        "self.backlog > 0 && self.follow_head(seen.head, moved)",
        "self.backlog > 0",
        "a barrier or an empty slot at the head does not wait for compute units",
    ),
    Bug(
        "queue/work.rs",
        "Head::Barrier => false",
        "Head::Barrier => true",
        "a barrier or an empty slot at the head does not wait for compute units",
    ),
    Bug(
        "queue/work.rs",
        "self.runnable && (moved || self.head != Head::Invalid)",
        "false",
        "a packet that is being taken is no end of the work, and one that stays empty is",
    ),
    Bug(
        "queue/work.rs",
        "self.runnable && (moved || self.head != Head::Invalid)",
        "self.runnable",
        "a packet that is being taken is no end of the work, and one that stays empty is",
    ),
    Bug(
        "queue/work.rs",
        "if self.active && !self.runnable && !self.idle {",
        "if self.active && self.backlog == 0 && !self.idle {",
        "a queue whose head waits for a signal holds nobody once its waves are gone",
    ),
    Bug(
        "queue/work.rs",
        "None => short && age < FRESH,",
        "None => false,",
        "a launch that is not placed wholly waits at once",
    ),
    Bug(
        "queue/work.rs",
        "None => short && age < FRESH,",
        "None => short,",
        "one count tells whether a launch is placed wholly, if it is made within 200 us",
    ),
    Bug(
        "queue/work.rs",
        "seen.grid.is_some_and(|grid| waves < grid)",
        "seen.grid.is_some_and(|grid| waves <= grid)",
        "a launch that is placed wholly, or of unknown size, does not lack room",
    ),
    Bug(
        "pass/stop.rs",
        "fresh && self.below(at, &demand.fresh, None).rest > threshold",
        "fresh",
        "nobody counts for a launch that nothing below could be in the way of",
    ),
    Bug(
        "level/demand.rs",
        "let other = |who: &Who| who.process != process;",
        "let other = |_: &Who| process.0 < u64::MAX;",
        "no queue is stopped for its own process, and others are",
    ),
    Bug(
        "level/demand.rs",
        "(Some(first), None) if first.process != who.process => {",
        "(Some(_), None) if false => {",
        "a process that waits at a level has its own queues below left alone for another one",
    ),
    Bug(
        "queue/rating.rs",
        "!rule.exempt && ",
        "",
        "a rule exempts victims and beneficiaries",
    ),
    Bug(
        "pass/start.rs",
        "} else if !queue.rating.contends {",
        "} else if false {",
        "a queue that becomes exempt is started",
    ),
    Bug(
        "queue/rating.rs",
        "(!seen.internal || given.is_some())",
        "true",
        "the runtime's own queue takes part only by a rule that gives it a priority",
    ),
    Bug(
        "queue/rating.rs",
        "(!seen.internal || given.is_some())",
        "!seen.internal",
        "the runtime's own queue takes part only by a rule that gives it a priority",
    ),
    Bug(
        "queue.rs",
        "            && !self.rating.protected\n",
        "",
        "a protected queue is not stopped",
    ),
    Bug(
        "pass/gather.rs",
        "let above = who.level > self.tally.floor;",
        "let above = who.level > self.tally.floor && who.level.level() < 15;",
        "one level is enough, at the top",
    ),
    Bug(
        "pass/stop.rs",
        "let below = queue.rating.level < level && queue.is_stoppable(now, level);",
        "let below = queue.rating.level <= level && queue.is_stoppable(now, level);",
        "every working queue below the waiting one is stopped at once, and nothing above",
    ),
    Bug(
        "pass/stop.rs",
        "queue.rating.level < at && queue.is_stoppable(now, at)",
        "queue.rating.level <= at && queue.is_stoppable(now, at)",
        "neither an equal queue nor a higher one is stopped without a timeslice",
    ),
    Bug(
        "pass/stop.rs",
        "queue.rating.level < worst.rating.level",
        "queue.rating.level > worst.rating.level",
        "every working queue below the waiting one is stopped at once, and nothing above",
    ),
    Bug(
        "pass.rs",
        "Priority::all().rev().take_while",
        "Priority::all().skip_while(move |one| *one <= level).take_while",
        "of several that wait the highest has others stopped, if it pays for it",
    ),
    Bug(
        "queue/rating.rs",
        "given.unwrap_or(claim)",
        "claim",
        "a rule's priority counts as long as the rule matches",
    ),
    Bug(
        "terms/priority.rs",
        "if highest > Some(Priority::NORMAL) =>",
        "if highest >= Some(Priority::NORMAL) =>",
        "a rule of a level up to 7 changes no request, and one above caps them at 7",
    ),
    Bug(
        "terms/priority.rs",
        "requested.min(cap)",
        "requested",
        "a cap bounds what a program asks for",
    ),
    Bug(
        "terms/priority.rs",
        "UserPriority::Ignore => Priority::NORMAL",
        "UserPriority::Ignore => requested",
        "a program's request can count for nothing, and a rule is never capped",
    ),
    Bug(
        "pass/stop.rs",
        "if below.rest > threshold ||",
        "if below.rest >= threshold ||",
        "a stop pays from twice its cost and two looks on",
    ),
    Bug(
        "pass/stop.rs",
        "let stale = self.limits.alert.times(2);",
        "let stale = Nanos::from_micros(40);",
        "what a stop has to save follows the time between two looks",
    ),
    Bug(
        "pass/node.rs",
        "Some(Action::Stop) => &mut self.stop,",
        "Some(Action::Stop) => &mut self.start,",
        "what a stop has to save follows what transactions were measured to take",
    ),
    Bug(
        "pass/node.rs",
        "Nanos(self.stop.after(FIRST).0 / 2)",
        "self.stop",
        "what stops were measured to take is forgotten by and by",
    ),
    Bug(
        "parts/lengths.rs",
        "true => age.max(left),",
        "true => left,",
        "short launches are left to pass, and one that lasts longer than ever is not",
    ),
    Bug(
        "pass/stop.rs",
        "known && queue.work.counted > Some(0)",
        "false",
        "short launches beside which waves stay are left to pass for so long only",
    ),
    Bug(
        "pass/stop.rs",
        "queue.work.rest.after(queue.work.mean.times(further))",
        "queue.work.rest",
        "each further packet that waits may find a short launch in its way",
    ),
    Bug(
        "queue/work.rs",
        "self.mean.max(waited)",
        "self.mean",
        "a queue that has just got work is in the way for as long as it has waited",
    ),
    Bug(
        "queue/work.rs",
        "age < at.times(2).after(BELIEVED)",
        "age <= at.times(2).after(BELIEVED)",
        "a last launch is believed for twice as long as it was seen to run, and 50 us",
    ),
    Bug(
        "queue/work.rs",
        "self.seen_running.is_some_and(seen) || self.lengths.likely_beyond(age)",
        "self.seen_running.is_some_and(seen)",
        "a last launch is believed while most of its kind last longer",
    ),
    Bug(
        "queue.rs",
        "if self.counted_none && alone {",
        "if self.counted_none {",
        "none that are counted tell nothing while something more important has waves",
    ),
    Bug(
        "pass/node.rs",
        "Nanos(now.since(since).0 / 2).max(least)",
        "least",
        "who waits for nothing that is known has waves counted at a growing distance",
    ),
    Bug(
        "pass/stop.rs",
        "now.since(moved) < EXPECT",
        "now.since(moved) <= EXPECT",
        "idle queues below go along if they have launched something within a second",
    ),
    Bug(
        "pass/stop.rs",
        "(queue.work.has_any() || lately)",
        "queue.work.has_any()",
        "work that comes to a queue that went along waits until it is started",
    ),
    Bug(
        "level.rs",
        "const ROUND_TRIPS: u64 = 8;",
        "const ROUND_TRIPS: u64 = 9;",
        "so many round trips may be spent at once, and then a share of the time",
    ),
    Bug(
        "pass/stop.rs",
        "take(at.index().saturating_add(1))",
        "take(16)",
        "short stops of a level hold up those below and nobody above",
    ),
    Bug(
        "pass/stop.rs",
        "level.tank(ruled).spend(cost)",
        "level.tank(false).spend(cost); level.tank(true).spend(cost)",
        "no rule is held up by what claims above it spend",
    ),
    Bug(
        "settings/config.rs",
        "None => claims.saturating_mul(WITHOUT_RULES).min(100),",
        "None => claims,",
        "claims may spend 24 times as much while no rule gives a level",
    ),
    Bug(
        "pass/start.rs",
        "self.config.highest_rule.is_some() && stopped.times(2) >= self.limits.max_stop",
        "self.config.highest_rule.is_some() && stopped.times(2) > self.limits.max_stop",
        "beside rules a stop for a claim ends at half of the bound",
    ),
    Bug(
        "pass/start.rs",
        "self.config.highest_rule.is_some() && stopped.times(2) >= self.limits.max_stop",
        "stopped.times(2) >= self.limits.max_stop",
        "the longest stop ends at its bound, and then the queue has its time",
    ),
    Bug(
        "pass/start.rs",
        "|_| ruled || !worn",
        "|_| !worn",
        "whom a rule raises keeps what a claim had stopped for half of the bound",
    ),
    Bug(
        "level.rs",
        "self.hold_until = now.after(self.pauses.hold(start));",
        "self.hold_until = now;",
        "while no pause is known, one is held out for as long as a start takes",
    ),
    Bug(
        "level.rs",
        "self.pauses.add(now.since(since));",
        "",
        "short pauses are held out, and no longer than they are",
    ),
    Bug(
        "parts/lengths.rs",
        "if gain > most {",
        "if gain < most {",
        "long pauses are not held out at all",
    ),
    Bug(
        "queue/work.rs",
        "(ending && !self.uncountable)",
        "false",
        "a launch whose waves were not counted yet holds others, where no pause is held out",
    ),
    Bug(
        "queue/work.rs",
        "(ending && !self.uncountable)",
        "ending",
        "a queue whose waves cannot be counted is not waited for beyond what it usually takes",
    ),
    Bug(
        "pass/stop.rs",
        "(below.unseen && waited > threshold.max(puzzling))",
        "(below.unseen && waited > Nanos::NEVER)",
        "a last launch whose waves cannot be counted is stopped for one that waits, and found to run",
    ),
    Bug(
        "pass/stop.rs",
        "(below.unseen && waited > threshold.max(puzzling))",
        "(below.unseen && waited > puzzling)",
        "a last launch whose waves cannot be counted is stopped for one that waits, and found to run",
    ),
    Bug(
        "queue/work.rs",
        "!active && self.uncountable && self.backlog == 0",
        "!active && self.uncountable && self.backlog == 1",
        "a last launch whose waves cannot be counted, and of which a stop saves none, is over",
    ),
    Bug(
        "pass/close.rs",
        "questions.asks |= queues.any(|queue| queue.work.may_be_ending());",
        "let _ = queues.any(|queue| queue.work.may_be_ending());",
        "a last launch whose end was not seen holds others, and its waves are counted",
    ),
    Bug(
        "pass/start.rs",
        "waits.or(wants.other_than(process))",
        "wants.other_than(process).or(waits)",
        "a tenant does not have another one pay for what it has stopped",
    ),
    Bug(
        "pass/start.rs",
        "if holds || self.takes_over(at, above, ruled) {",
        "if holds {",
        "a higher level takes over what is stopped, and the lower one is left behind",
    ),
    Bug(
        "pass/start.rs",
        "pays && self.take(above, ruled)",
        "self.take(above, ruled)",
        "what is nearly over is not taken over",
    ),
    Bug(
        "pass/start.rs",
        "stop.beneficiary = Some(who);",
        "let _ = who;",
        "a higher level takes over what is stopped, and the lower one is left behind",
    ),
    Bug(
        "pass/start.rs",
        ">= self.limits.max_stop {",
        "> self.limits.max_stop {",
        "the longest stop ends at its bound, and then the queue has its time",
    ),
    Bug(
        "queue.rs",
        "self.rating.timeslice.max(limits.min_run)",
        "limits.min_run",
        "the time after a bound is the timeslice where that is longer",
    ),
    Bug(
        "queue.rs",
        "now < self.immune.0 && level <= self.immune.1",
        "now < self.immune.0",
        "the time after a bound counts against levels up to the one that held it",
    ),
    Bug(
        "pass/stop.rs",
        "self.keep_bound(now.after(self.limits.max_stop));",
        "",
        "the step tells when a stop reaches the first of its bounds",
    ),
    Bug(
        "pass/start.rs",
        "self.keep_bound(stop.since.after(self.limits.max_stop));",
        "",
        "the step tells when a stop reaches the first of its bounds",
    ),
    Bug(
        "pass.rs",
        "            self.keep_bound(now.after(left));\n",
        "",
        "the step tells when a stop reaches the first of its bounds",
    ),
    Bug(
        "pass/gather.rs",
        "        self.keep_bound(ends);\n",
        "",
        "the step tells when a stop reaches the first of its bounds",
    ),
    Bug(
        "pass/turns.rs",
        "if now < end {",
        "if now <= end {",
        "the processes of a level with a timeslice take turns while one of them waits",
    ),
    Bug(
        "level/demand.rs",
        "(taker.last, taker.off, taker.who.process)",
        "(taker.last, false, taker.who.process)",
        "whoever runs has the first turn, whatever its number",
    ),
    Bug(
        "pass/turns.rs",
        "!self.spend(at, ruled)",
        "false",
        "a process that wants nothing loses its turn though the next one cannot be paid for",
    ),
    Bug(
        "pass/gather.rs",
        "let takes = queue.rating.timeslice > Nanos::ZERO && queue.wants(now, false);",
        "let takes = queue.wants(now, false);",
        "a rule's timeslice counts before the level's, and beside those that have none",
    ),
    Bug(
        "queue/rating.rs",
        ".unwrap_or_else(|| config.timeslice(level))",
        ".unwrap_or(Nanos::ZERO)",
        "the processes of a level with a timeslice take turns while one of them waits",
    ),
    Bug(
        "pass/turns.rs",
        "exclusive: keeps.map_or(!first, |turn| turn.exclusive),",
        "exclusive: true,",
        "the processes of a level with a timeslice take turns while one of them waits",
    ),
    Bug(
        "pass/start.rs",
        "Reason::Rotation => Reason::Turn,",
        "Reason::Rotation => Reason::Calm,",
        "the processes of a level with a timeslice take turns while one of them waits",
    ),
    Bug(
        "pass/start.rs",
        "spent |= one.held && one.demand.spent;",
        "spent |= one.holds && one.demand.spent;",
        "what is stopped for a tenant without budget is started for that reason",
    ),
    Bug(
        "process/tenant.rs",
        "(self.second, self.spent) = (now, Nanos::ZERO);",
        "self.second = now;",
        "a second of a budget begins with a stop, and the next one is fresh",
    ),
    Bug(
        "process/tenant.rs",
        "false => budget.since(self.spent),",
        "false => budget,",
        "what is stopped for a tenant without budget is started for that reason",
    ),
    Bug(
        "process/tenant.rs",
        "match budget >= Nanos::SECOND {",
        "match budget > Nanos::SECOND {",
        "a budget of a whole second is no limit",
    ),
    Bug(
        "pass/ingest.rs",
        "self.tenants.find_or_add(seen.tenant.0, process.tenant_at)?",
        "self.tenants.find_or_add(seen.process.0, process.tenant_at)?",
        "two processes of one tenant have one budget",
    ),
    Bug(
        "pass/ingest.rs",
        "self.tenants.find_or_add(seen.tenant.0, process.tenant_at)?",
        "self.tenants.find_or_add(0, process.tenant_at)?",
        "two tenants have a budget each",
    ),
    Bug(
        "pass/ingest.rs",
        "one.pass == last || one.matters(now)\n",
        "one.pass == last\n",
        "a tenant that goes and comes back has the budget that it left",
    ),
    Bug(
        "queue/rating.rs",
        "rule.stop_budget.or(given.map(|_| Nanos::NEVER))",
        "rule.stop_budget",
        "a process that has its priority from a rule has no budget",
    ),
    Bug(
        "queue/rating.rs",
        "rule.stop_budget.or(given.map(|_| Nanos::NEVER))",
        "given.map(|_| Nanos::NEVER).or(rule.stop_budget)",
        "a rule may give a priority and a budget with it",
    ),
    Bug(
        "queue/rating.rs",
        "rule.stop_budget.or(given.map",
        "None.or(given.map",
        "a rule's budget counts instead of the parameter's, and ends with the rule",
    ),
    Bug(
        "process.rs",
        "COOL_FIRST.doubled(self.blamed, COOL_LONGEST)",
        "COOL_FIRST",
        "no progress starts all, and then nothing is stopped for the process, longer each time",
    ),
    Bug(
        "process.rs",
        "self.cool_until = self.cool_until.min(now);",
        "",
        "progress ends the time in which nothing is stopped for a process",
    ),
    Bug(
        "process.rs",
        "        self.blamed = 0;\n",
        "",
        "progress ends the time in which nothing is stopped for a process",
    ),
    Bug(
        "queue/work.rs",
        "        moved || runs\n",
        "        let _ = runs;\n        moved\n",
        "waves are progress enough",
    ),
    Bug(
        "pass/gather.rs",
        "self.node.questions.asks |= doubted <= now;",
        "",
        "before a process is blamed its waves are counted",
    ),
    Bug(
        "pass/ingest.rs",
        "                process.excuse(now);\n            }\n        }\n        let (level, contends)",
        "            }\n        }\n        let (level, contends)",
        "a new request of a process that was idle is given its time",
    ),
    Bug(
        "pass/gather.rs",
        "            if self.tally.immune {\n",
        "            if false {\n",
        "nobody is blamed while a queue that was stopped for long has its time",
    ),
    Bug(
        "pass/hints.rs",
        "queue.announced = Some(since);",
        "let _ = since;",
        "a hint stops the lower queue before the request comes",
    ),
    Bug(
        "process/hint.rs",
        "if told || self.now.is_some() ||",
        "if told ||",
        "a hint without a request ends at its limit, and the next one does not count at once",
    ),
    Bug(
        "process/hint.rs",
        "if now < self.until {",
        "if false {",
        "a hint without a request ends at its limit, and the next one does not count at once",
    ),
    Bug(
        "process/hint.rs",
        "limit.doubled(self.false_ones, LONGEST)",
        "limit",
        "a hint without a request ends at its limit, and the next one does not count at once",
    ),
    Bug(
        "process/hint.rs",
        "        self.false_ones = 0;\n",
        "",
        "a request in time makes the next pause after a false hint the first one again",
    ),
    Bug(
        "pass/hints.rs",
        "self.look_at(since.after(self.limits.hint));",
        "",
        "a hint is looked for until its limit and no longer",
    ),
    Bug(
        "process/hint.rs",
        "now.since(looked) > limit",
        "false",
        "a hint that may be older than its limit does not count",
    ),
    Bug(
        "process/hint.rs",
        " || limit == Nanos::ZERO",
        "",
        "with a limit of 0 hints are nothing",
    ),
    Bug(
        "process/hint.rs",
        "        if !hint.alive {\n",
        "        if true {\n",
        "a hint prepares an idle queue beside a busy one, and says nothing of the busy one",
    ),
    Bug(
        "pass/hints.rs",
        "queue.rating.contends && queue.runs() && !queue.work.has_any()",
        "queue.runs() && !queue.work.has_any()",
        "a hint of an exempt process hastens no look",
    ),
    Bug(
        "process/hint.rs",
        "if self.last.is_none_or(|(number, _)| number == 0) {",
        "if false {",
        "the first number of a page counts where the process was seen without one",
    ),
    Bug(
        "queue/phase.rs",
        "(Phase::Stopped(stop), Active) => (Phase::Free, Healed(stop.since)),",
        "(Phase::Stopped(_), Active) => (Phase::Free, Runs),",
        "a table reads for whom a queue is stopped, how often, and how long in all",
    ),
    Bug(
        "queue/phase.rs",
        "(Phase::Stopped(stop), Held) => (Phase::Held, TakenOver(stop.since)),",
        "",
        "a table reads for whom a queue is stopped, how often, and how long in all",
    ),
    Bug(
        "queue/phase.rs",
        "(Phase::Stopping(_), Active) => (Phase::Free, PutOff),",
        "",
        "a stop that led to nothing is not tried again at once, and later each time",
    ),
    Bug(
        "queue.rs",
        "RETRY.doubled(self.retries, RETRY_MOST)",
        "RETRY",
        "a start that leads to nothing is decided again, and later each time",
    ),
    Bug(
        "queue.rs",
        "            && now >= self.retry_at\n",
        "",
        "a stop that led to nothing is not tried again at once, and later each time",
    ),
    Bug(
        "pass/start.rs",
        "Phase::Orphan => Some(Reason::Orphan),",
        "Phase::Orphan => None,",
        "a queue found stopped is started",
    ),
    Bug(
        "pass/start.rs",
        "return Err(Reason::Failure);",
        "",
        "a port that fails gets a pause, and everything is started",
    ),
    Bug(
        "process/recovery.rs",
        "if kind == FailureKind::Rebuilt {",
        "if false {",
        "a reset is met with silence, then whatever is still stopped is started",
    ),
    Bug(
        "process/recovery.rs",
        "self.disarmed |= self.failures >= config.numbers.disarm_after;",
        "let _ = (config.numbers.disarm_after, self.disarmed);",
        "a port that fails again and again is disarmed, and armed by an operator",
    ),
    Bug(
        "process/recovery.rs",
        "        self.works_since = None;\n",
        "",
        "stops on both sides of a failure do not add up",
    ),
    Bug(
        "process/recovery.rs",
        "if decided >= since.after(RETRY_LONGEST) {",
        "if false {",
        "failures are not in a row when ten seconds of working stops lie between them",
    ),
    Bug(
        "process/recovery.rs",
        "if decided >= since.after(RETRY_LONGEST) {",
        "if decided >= since {",
        "less than ten seconds of working stops do not tell failures apart",
    ),
    Bug(
        "process/recovery.rs",
        "if decided >= since.after(RETRY_LONGEST) {",
        "if decided.max(now) >= since.after(RETRY_LONGEST) {",
        "a stop that is heard of late does not tell failures apart",
    ),
    Bug(
        "pass/ingest.rs",
        "self.node.recovery.stopped(stop.since, now);",
        "self.node.recovery.stopped(now, now);",
        "a stop that is heard of late does not tell failures apart",
    ),
    Bug(
        "pass/ingest.rs",
        "queue.and_then(|one| one.phase.lasting_stop())",
        "queue.and_then(|one| one.phase.stop())",
        "starts that work do not tell failures apart",
    ),
    Bug(
        "pass/ingest.rs",
        "Report::NothingToDo | Report::Failed(FailureKind::Passing) =>",
        "Report::NothingToDo =>",
        "a failure that passes by itself is as if there had been nothing to do",
    ),
    Bug(
        "queue.rs",
        "self.retries = if passes { 0 } else { self.retries };",
        "let _ = passes;",
        "a start that fails while KFD is halted is tried again and again, as soon each time",
    ),
    Bug(
        "process/recovery.rs",
        ".doubled(self.failures, RETRY_LONGEST)",
        "",
        "a start that fails is tried again when the pause is over",
    ),
    Bug(
        "pass/stop.rs",
        "let (now, dry) = (self.now, self.config.mode != Mode::Enforce);",
        "let (now, dry) = (self.now, false);",
        "observe decides and touches nothing",
    ),
    Bug(
        "scheduler.rs",
        "node.releasing |= node.mode.is_some_and(|last| last != config.mode);",
        "",
        "a change of mode starts everything first",
    ),
    Bug(
        "scheduler.rs",
        "let now = now.max(last);",
        "",
        "a clock that goes back stands still",
    ),
    Bug(
        "pass/close.rs",
        "wait.max(EACH.times(queues))",
        "wait",
        "with many queues looks are further apart",
    ),
    Bug(
        "pass/close.rs",
        "self.tally.lowest < self.tally.ceiling",
        "self.tally.lowest < self.tally.highest",
        "it looks in haste for a second after an urgent request, while a lower queue has work",
    ),
    Bug(
        "pass/close.rs",
        "lowest < self.tally.highest || above.any(|one| one.is_lively(self.now, EXPECT))",
        "lowest < self.tally.highest",
        "it looks in haste for a second after an urgent request, while a lower queue has work",
    ),
    Bug(
        "pass/ingest.rs",
        "self.queues.get_mut(at).filter(|queue| queue.pass != pass)",
        "self.queues.get_mut(at)",
        "a queue named twice is seen once",
    ),
];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory for the copy");
    for entry in fs::read_dir(from).expect("the sources") {
        let entry = entry.expect("a source");
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else if entry.path().extension().is_some_and(|kind| kind == "rs") {
            fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
    }
}

#[test]
fn every_bug_has_one_place_and_a_case() {
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../rust/policy");
    for Bug(file, from, _, case) in BUGS {
        let source = fs::read_to_string(policy.join(file)).expect("a source");
        assert_eq!(source.matches(from).count(), 1, "{file}: {from:?}");
        assert!(CASES.iter().any(|named| named.name == *case), "{case:?}");
    }
}

#[test]
#[ignore = "a compiler run for each of many bugs"]
fn every_bug_is_caught_by_its_case() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let policy = here.join("../../../rust/policy");
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("mutations");
    let _ = fs::remove_dir_all(&work);
    let (copied, trial) = (work.join("policy"), work.join("trial"));
    copy(&policy, &copied);
    copy(&here.join("src"), &trial.join("src"));
    // Cases need no world, and a bug is compiled sooner without.
    let library = fs::read_to_string(here.join("src/lib.rs")).expect("a library");
    let other = |line: &&str| !(line.starts_with("pub mod ") && line.ends_with(';'));
    let library: Vec<&str> = library.lines().filter(other).collect();
    fs::write(trial.join("src/lib.rs"), library.join("\n")).expect("a library");
    fs::create_dir_all(trial.join("tests")).expect("a directory");
    fs::copy(here.join("tests/cases.rs"), trial.join("tests/cases.rs")).expect("a copy");
    // The kernel's way of building is not needed here, nor are the other programs.
    fs::write(
        copied.join("Cargo.toml"),
        "[package]\nname = \"gpreempt_policy\"\nedition = \"2021\"\n[lib]\npath = \"gpreempt_policy.rs\"\n",
    )
    .expect("a manifest");
    fs::write(
        trial.join("Cargo.toml"),
        "[package]\nname = \"gpreempt_host_tests\"\nedition = \"2021\"\nautobins = false\n[dependencies]\ngpreempt_policy = { path = \"../policy\" }\n[profile.dev]\ndebug = 0\n[workspace]\n",
    )
    .expect("a manifest");

    let play = || {
        let output = Command::new(env!("CARGO"))
            .args(["test", "--offline", "--test", "cases"])
            .current_dir(&trial)
            .env("CARGO_TARGET_DIR", work.join("target"))
            .output()
            .expect("cargo");
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    };
    let (sound, text) = play();
    assert!(sound, "the copy without a bug must pass: {text}");

    let only = std::env::var("GP_BUGS").unwrap_or_default();
    let wanted: Vec<_> = BUGS
        .iter()
        .filter(|Bug(file, _, _, case)| file.contains(&only) || case.contains(&only))
        .collect();
    assert!(!wanted.is_empty(), "no bug has {only:?} in its names");
    let mut escaped = Vec::new();
    for Bug(file, from, to, case) in &wanted {
        let path = copied.join(file);
        let source = fs::read_to_string(&path).expect("a source");
        let places = source.matches(from).count();
        if places != 1 {
            escaped.push(format!("{file}: {places} places have {from:?}"));
            continue;
        }
        fs::write(&path, source.replace(from, to)).expect("a bug");
        let (sound, text) = play();
        if text.contains("could not compile") {
            escaped.push(format!("{file}: {from:?} -> {to:?} does not compile"));
        } else if sound || !text.contains(&format!("case: {case:?}")) {
            escaped.push(format!(
                "{file}: {from:?} -> {to:?} is not caught by {case:?}"
            ));
        }
        fs::write(&path, source).expect("the bug removed");
    }
    assert!(
        escaped.is_empty(),
        "{} of {} bugs escape:\n{}",
        escaped.len(),
        wanted.len(),
        escaped.join("\n")
    );
}
