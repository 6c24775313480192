// SPDX-License-Identifier: GPL-2.0-only
//! A deliberate bug in each rule must be caught by a named case. Each entry is
//! put into a copy of the policy, and the cases are played on that copy.
//!
//! `cargo test --test mutations -- --ignored`; a compiler run for each entry.
//! `GP_BUGS` restricts it to entries in whose file's or case's name it occurs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use gpreempt_host_tests::cases::CASES;

/// A bug: in which file, what becomes what, and the case that must fail.
struct Bug(&'static str, &'static str, &'static str, &'static str);

const BUGS: &[Bug] = &[
    Bug("memory/work.rs", " || !ripe {", " {", "a long grace ends at its time and not before"),
    Bug("memory/work.rs", "const LOOKS: u32 = 2;", "const LOOKS: u32 = 1;", "the grace is at least two looks"),
    Bug("memory/work.rs", "self.backlog > 0 && self.follow_head(seen.head, moved)", "self.backlog > 0", "a barrier at the head does not wait for compute units"),
    Bug("memory/work.rs", "self.runnable && (moved || self.head != Head::Invalid)", "false", "a packet that is being taken is no end of the work"),
    Bug("memory/work.rs", "self.runnable && (moved || self.head != Head::Invalid)", "self.runnable", "a packet that is being taken is no end of the work"),
    Bug("memory/work.rs", "self.runnable && (moved || self.head != Head::Invalid)", "self.runnable && self.head != Head::Invalid", "a packet that is being taken is no end of the work"),
    Bug("memory/work.rs", "self.runnable && (moved || self.head != Head::Invalid)", "moved || self.head != Head::Invalid", "a packet that is being taken is no end of the work"),
    Bug("memory/work.rs", "true if pending => self.looks.saturating_add(1)", "true if pending => 9", "the grace is at least two looks"),
    Bug("memory/work.rs", "|| (moved && self.is_doubtful())", "|| moved", "a queue that always has more to run waits, however it progresses"),
    Bug("memory/work.rs", "|| (moved && self.is_doubtful())", "", "a launch without waves begins the grace again with each launch"),
    Bug("memory/work.rs", "!pending || !was_pending", "!pending", "a gap in the work begins the grace again"),
    Bug("memory/work.rs", "step).max(STEP_MIN)", "step)", "a queue that may soon wait is looked at in time for its grace"),
    Bug("memory/work.rs", "limits.grace.doubled(self.doubts,", "limits.grace.doubled(0,", "the next launch of a queue whose last one had finished must last twice as long"),
    Bug("memory/work.rs", "self.runnable || self.is_doubtful()", "self.runnable", "a launch without waves waits, as long as it may not have finished"),
    Bug("memory/work.rs", "if seen.progress != 0 {", "if false {", "without wave counts a queue that launched may be running"),
    Bug("memory/gaps.rs", "gap >= limits.resume_delay.times(LONG)", "true", "requests far apart are waited for less long than those that belong together"),
    Bug("memory/gaps.rs", "self.long = 0;", "", "requests far apart are waited for less long than those that belong together"),
    Bug("memory/gaps.rs", "if self.long >= TRUSTED {", "if false {", "requests far apart are waited for less long than those that belong together"),
    Bug("memory/gaps.rs", "gap >= short(limits)", "true", "requests far apart are waited for less long than those that belong together"),
    Bug("memory/work.rs", "self.tempo.see(now.since(self.moved), packets)", "self.tempo.forget()", "a last launch of which no waves are counted is left as much time as those before it took"),
    Bug("memory/tempo.rs", "checked_div(u64::from(packets))", "checked_div(1)", "a last launch of which no waves are counted is left as much time as those before it took"),
    Bug("pass/start.rs", "stop.wanted().max(running).after(wait)", "stop.wanted().after(wait)", "a last launch of which no waves are counted is left as much time as those before it took"),
    Bug("pass/start.rs", "above.max(own.unwrap_or(Nanos::ZERO))", "own.unwrap_or(Nanos::ZERO)", "the last launch of any queue above keeps others stopped"),
    Bug("pass/start.rs", ".min(latest)", "", "launches of a queue that may not hold it do not put a start off again and again"),
    Bug("pass/ingest.rs", "end.max(least)", "end", "a launch of any queue above is left until its waves are counted"),
    Bug("pass/ingest.rs", "may_run_until(&self.limits).filter(|_| free)", "may_run_until(&self.limits)", "the last launch of a queue that is stopped itself keeps no other one stopped"),
    Bug("pass/start.rs", "self.gap = self.gap.or(gap);", "gap.into_iter().for_each(|gap| self.gaps.see(gap, &self.limits));", "a gap counts once, however many queues were stopped in it"),
    Bug("pass/start.rs", "work.is_some_and(Work::is_uncounted)", "false", "without a resume delay a launch is left until its waves are counted"),
    Bug("pass/start.rs", " && in_effect", "", "a launch without waves is in doubt until the stop of others has taken effect"),
    Bug("pass/start.rs", "stop.wanted().max(running).after(wait)", "stop.wanted().after(wait).max(running)", "a last launch of which no waves are counted is left as much time as those before it took"),
    Bug("pass/ingest.rs", "!work.is_ending(self.now, &self.limits)", "true", "it looks in haste for as long as an urgent request is expected, while a lower queue runs"),
    Bug("memory/work.rs", "self.backlog <= LAST_PACKETS", "self.backlog < LAST_PACKETS", "it looks in haste for as long as an urgent request is expected, while a lower queue runs"),
    Bug("memory/work.rs", " && now.since(self.moved) < limits.poll", "", "it looks in haste for as long as an urgent request is expected, while a lower queue runs"),
    Bug("memory/stop.rs", "core::mem::take(&mut self.calming)", "self.calming", "requests far apart are waited for less long than those that belong together"),
    Bug("pass/start.rs", "self.gaps.begin(stop.wanted());", "", "requests far apart are waited for less long than those that belong together"),
    Bug("pass/start.rs", "queue.calm_stop();", "", "requests far apart are waited for less long than those that belong together"),
    Bug("pass/start.rs", "!holder.work().is_doubtful()", "true", "the next launch of a queue whose last one had finished must last twice as long"),
    Bug("memory/hint.rs", "if told || self.now.is_some()", "if told || false", "a hint without a request ends at its limit, and the next one does not count at once"),
    Bug("memory/hint.rs", "if now < self.until {", "if false {", "a hint without a request ends at its limit, and the next one does not count at once"),
    Bug("memory/hint.rs", "if now.since(looked) > limits.hint {", "if false {", "a hint that may be older than its limit does not count"),
    Bug("memory/hint.rs", "let (before, looked) = last?;", "let (before, looked) = last.unwrap_or((0, Nanos::ZERO));", "what a process has written before it is first seen is no hint"),
    Bug("memory/hint.rs", "now.since(hint.since) >= limits.hint", "now.since(hint.since) > limits.hint", "a hint is looked for until its limit and no longer"),
    Bug("memory/hint.rs", "        self.false_ones = 0;\n", "", "a request that comes in time makes the next pause after a false hint the first one again"),
    Bug("memory/wanting.rs", "            && !work.is_busy()\n", "\n", "a hint does not prepare a queue whose last launch may still run"),
    Bug("pass/prepare.rs", "queue.contends() && queue.is_at_rest()", "queue.is_at_rest()", "a hint of an exempt process does not hasten the looks"),
    Bug("pass/ingest.rs", "self.context.virtual_floor.max(self.least)", "self.context.virtual_floor", "fair: a queue that comes or wakes beside the only other one begins where that one is"),
    Bug("memory/hint.rs", "if !hint.alive {", "if true {", "a hint prepares an idle queue beside a busy one, and says nothing of the busy one"),
    Bug("pass/prepare.rs", "self.look_at(since.after(self.limits.hint));", "", "a hint is looked for until its limit and no longer"),
    Bug("pass/prepare.rs", "if queue.contends() && queue.has_new_work(since) {", "if false {", "a hint stops the lower queue before the request comes"),
    Bug("memory/rating.rs", "rule.stop_budget.or(unlimited)", "unlimited.or(rule.stop_budget)", "a rule may give a priority and a budget with it"),
    Bug("memory/rating.rs", "rule.stop_budget.or(unlimited)", "unlimited", "a rule's budget counts instead of the parameter's, and ends with the rule"),
    Bug("memory/rating.rs", "self.stop_budget = None;", "", "a rule's budget counts instead of the parameter's, and ends with the rule"),
    Bug("memory/process.rs", "self.stop_budget.unwrap_or(budget)", "self.stop_budget.unwrap_or(budget).min(budget)", "a rule that comes later counts what was caused before it, and one of a second has no limit"),
    Bug("pass/pass.rs", "if waits && self.budget_left(&rival) > Nanos::ZERO {", "if waits {", "a hint spends the budget of a priority that no rule gave"),
    Bug("algorithm/strict.rs", "if waiting.effective() > running.effective() {", "if waiting.effective() >= running.effective() {", "every running queue below the waiting one is stopped at once, and nothing above"),
    Bug("algorithm/strict.rs", "if waiting.effective() > running.effective() {", "if waiting.effective() > running.effective() && running.effective() > crate::terms::priority::Priority::LOWEST {", "one level is enough, at the bottom"),
    Bug("algorithm/strict.rs", "turn >= running.rating().timeslice()", "turn > running.rating().timeslice()", "a rule's timeslice counts before the level's"),
    Bug("algorithm/strict.rs", "Keep::TurnOver", "Keep::Yes", "equal queues take turns where their level has a timeslice"),
    Bug("algorithm/fair.rs", "virtual_time(waiting.effective(), context.fair_slice)", "context.fair_slice", "fair: equals take turns of a slice at any level"),
    Bug("pass/ingest.rs", "queue.account_mut().promise(now, reserved);", "", "deadline: a period begins where a reservation comes while there is work"),
    Bug("pass/ingest.rs", "self.algorithm.promises(queue)", "queue.rating().reservation()", "deadline: a period begins where the policy comes while there is work"),
    Bug("memory/account.rs", "if self.promised != promised {", "if self.promised.is_none() {", "deadline: another reservation has a period of its own"),
    Bug("pass/stop.rs", "occupies && !self.passes_by_itself(at, claim)", "occupies", "an inversion passes by itself where neither queue ever has work for long"),
    Bug("memory/work.rs", "_ => self.spell.since(),", "_ => self.moved,", "a queue with work for longer than ever before is stopped at once"),
    Bug("memory/work.rs", "is_within(most, false) => self.spell.since().max(self.moved),", "is_within(most, false) => self.spell.since(),", "a launch that shows no waves is left for longer beside short launches"),
    Bug("memory/work.rs", "(self.pending_since, DOUBTFUL)", "(self.pending_since, 1)", "a launch that shows no waves is left for longer beside short launches"),
    Bug("memory/work.rs", "(self.pending_since.max(self.asked), 1)", "(self.pending_since, 1)", "work that comes while a launch is in doubt is left for as long as any other"),
    Bug("memory/thrash.rs", "0 => Nanos::ZERO,", "0 => BRIEF_LEAST,", "where costs do not matter, no inversion is left to pass by itself"),
    Bug("memory/spell.rs", "self.cut = true;", "", "a stop in the middle of its work does not make a queue one of short work"),
    Bug("pass/stop.rs", "if claim.reason != Reason::Inversion {", "if false {", "deadline: a queue that is pressed for time does not wait for short work to pass"),
    Bug("algorithm/deadline.rs", " && pressed(context.now, waiting)", "", "deadline: equals share the GPU until a deadline presses"),
    Bug("pass/start.rs", "matches!(reason, Reason::Calm | Reason::Turn)", "reason == Reason::Calm", "turns that give less than they cost come at a growing distance"),
    Bug("algorithm/fair.rs", ".virtual_time().after(slice)", ".virtual_time()", "fair: a queue more than a slice ahead is stopped until the other has caught up"),
    Bug("algorithm/deadline.rs", "if deadline(waiting) < deadline(running) &&", "if deadline(waiting) > deadline(running) &&", "deadline: the earlier one comes first within a level"),
    Bug("pass/stop.rs", ".filter(|rival| rival.side != side)\n            .filter", ".filter", "a queue of the same process is left alone when others are stopped"),
    Bug("settings/limits.rs", "same_process: config.same_process", "same_process: false", "a queue of the same process is stopped where that is asked for"),
    Bug("pass/stop.rs", "&& queue.tenure().length(self.now) >= self.limits.min_run", "", "a queue that just started runs at least its minimum"),
    Bug("pass/stop.rs", "&& !queue.tenure().is_immune(self.now)", "", "after the bound a queue runs for its timeslice"),
    Bug("pass/stop.rs", "&& !queue.rating().is_protected()", "", "a protected queue is not stopped"),
    Bug("pass/stop.rs", "&& !queue.work().is_blocked()", "", "a lower queue blocked by a barrier is left alone"),
    Bug("pass/stop.rs", "&& self.now >= queue.retry_at()", "", "a stop that led to nothing is not tried again at once"),
    Bug("pass/stop.rs", "            self.claim_along(at);\n", "", "idle queues below go along when another one is stopped"),
    Bug("pass/stop.rs", "!queue.work().launched_lately(self.now, &self.limits)", "false", "a queue goes along for as long as it is expected to have more"),
    Bug("memory/work.rs", "now.since(self.moved) < limits.expect", "now.since(self.moved) < Nanos::SECOND", "no queue goes along where none is expected to have more"),
    Bug("memory/work.rs", "now.since(self.moved) < limits.expect", "now.since(self.moved) < limits.expect.min(Nanos::SECOND)", "a queue that is expected to have more for long goes along for long"),
    Bug("pass/stop.rs", "self.claim_along(at);\n            return false;", "self.claim_along(at);\n            return true;", "idle queues alone are not worth a transaction"),
    Bug("pass/stop.rs", "filter(|claim| claim.reason == Reason::Inversion)", "filter(|_| true)", "an idle equal does not go along when a turn begins"),
    Bug("memory/patience.rs", "self.idle = !backlog;", "", "a queue that goes along again and again has not been stopped in vain"),
    Bug("pass/stop.rs", " || work.is_eager(self.now, &self.limits)", "", "a queue that was at work lately is stopped with its next work, before it has waves"),
    Bug("memory/work.rs", "self.runnable && self.launched_lately(now, limits)", "self.runnable", "queues that occupy nothing are not worth a transaction"),
    Bug("pass/ingest.rs", " || work.is_eager(self.now, &self.limits)", "", "waves are asked for when nothing below the waiting queue is seen to run"),
    Bug("memory/work.rs", "self.looks = match known {", "self.looks = match true {", "pointers that cannot be read decide nothing"),
    Bug("pass/close.rs", " && !self.presence.lasts(self.algorithm)", "", "it looks in haste for as long as an urgent request is expected, while a lower queue runs"),
    Bug("pass/close.rs", "if watch || self.presence.presses(self.algorithm) {", "if watch {", "it looks in haste for as long as an urgent request is expected, while a lower queue runs"),
    Bug("memory/pace.rs", "now.since(urgent) < limits.expect", "true", "it looks in haste for as long as an urgent request is expected, while a lower queue runs"),
    Bug("pass/stop.rs", "if !worth {", "if false {", "queues that occupy nothing are not worth a transaction"),
    Bug("pass/stop.rs", "if next > self.now {", "if false {", "the next stop keeps its distance from the last transaction"),
    Bug("pass/stop.rs", "apply: self.limits.enforce,", "apply: true,", "observe decides and touches nothing"),
    Bug("memory/thrash.rs", ".max(self.cost(config).times(ratio));", ";", "expensive transactions keep a longer distance"),
    Bug("memory/thrash.rs", "self.stops >= config.get(Number::MaxSwitches)", "false", "so many stops in a second and no more"),
    Bug("pass/start.rs", ">= self.limits.max_stop {", "> self.limits.max_stop {", "the longest stop ends at its bound, and nothing may stop the queue within its minimum"),
    Bug("pass/start.rs", "if self.now < calm {", "if false {", "calm starts after the resume delay and not before"),
    Bug("memory/work.rs", "const UNSURE_LOOKS: u32 = 2;", "const UNSURE_LOOKS: u32 = 1;", "a launch whose waves were not counted yet keeps it stopped"),
    Bug("pass/start.rs", "if stuck && !stop.is_dry() {", "if false {", "no progress starts everyone, and the pair cools down, twice as long each time"),
    Bug("pass/start.rs", ".filter(|queue| queue.work().is_pending())", "", "hints of a queue that cannot be read do not hold others for longer"),
    Bug("pass/start.rs", "let life = since.max(rival.alive)", "let life = since", "waves are progress enough for the watchdog"),
    Bug("pass/start.rs", "return Judgement::Start(Reason::Failure);", "{}", "a port that fails gets a pause, and everything is started"),
    Bug("pass/start.rs", "if !queue.contends() {\n            return", "if false {\n            return", "a queue that becomes exempt is started"),
    Bug("pass/start.rs", "Phase::Orphan(_) => self.plan_start_for(at, Reason::Orphan, queue.beneficiary()),", "Phase::Orphan(_) => {}", "a queue found stopped is started"),
    Bug("memory/cooldown.rs", "limits.cool_down.doubled(blamed,", "limits.cool_down.doubled(0,", "no progress starts everyone, and the pair cools down, twice as long each time"),
    Bug("memory/cooldown.rs", "pair.beneficiary == beneficiary && pair.victim == victim && now < pair.until", "now < pair.until", "another pair is not held back by a pair that cools down"),
    Bug("memory/budget.rs", "budget.since(self.spent)", "budget", "a process may cause only so much stopped time in a second"),
    Bug("memory/recovery.rs", "Fallback::Forget => self.silent_until = self.alone_until,", "Fallback::Forget => {}", "a reset is met with silence, then whatever is still stopped is started"),
    Bug("memory/recovery.rs", "self.disarmed = true;", "", "a port that fails again and again is disarmed, and armed by an operator"),
    Bug("memory/recovery.rs", ".doubled(self.failures, longest)", ".doubled(0, longest)", "a start that fails is tried again"),
    Bug("memory/rating.rs", "!rule.exempt && ", "", "a rule exempts victims and beneficiaries"),
    Bug("memory/rating.rs", "rule.priority.unwrap_or(own)", "own", "a rule's priority counts"),
    Bug("memory/rating.rs", "self.contends = !seen.internal;", "self.contends = true;", "the runtime's own queue takes part only by a rule"),
    Bug("terms/priority.rs", "requested.min(cap)", "requested", "a cap bounds what a program asks for"),
    Bug("terms/priority.rs", "UserPriority::Ignore => Priority::NORMAL", "UserPriority::Ignore => requested", "a program's request can count for nothing, and a rule is never capped"),
    Bug("node.rs", "if self.made_for.is_some_and(|last| last != made_for) {", "if false {", "leaving enforce starts everything first"),
    Bug("node.rs", "let now = now.max(self.last.unwrap_or(now));", "", "a clock that goes back stands still"),
    Bug("pass/close.rs", "interested.then(|| self.now.after(self.limits.idle_poll))", "interested.then(|| alert)", "where nothing can be inverted it looks rarely, else often"),
    Bug("pass/close.rs", "self.presence.unclear(self.algorithm)", "true", "waves are asked for when nothing below the waiting queue is seen to run"),
    Bug("pass/presence.rs", "(waits && !runs)", "false", "waves are asked for when nothing below the waiting queue is seen to run"),
    Bug("pass/presence.rs", "|| contest(&self.lowest_stopped, &self.highest_unclear)", "", "waves are asked for when a last launch may run or be finished"),
    Bug("pass/presence.rs", "|| contest(&self.lowest_busy, &self.highest_unclear)", "", "waves are asked for when a last launch may run or be finished"),
    Bug("pass/presence.rs", "|| self.highest_waiting.iter().any(awaited)", "", "where nothing can be inverted it looks rarely, else often"),
    Bug("pass/stop.rs", "self.keep_bound(now.after(self.limits.max_stop));", "self.look_at(now.after(self.limits.max_stop));", "the step tells when a stop reaches the first of its bounds"),
    Bug("pass/start.rs", "                    self.keep_bound(stop.since().after(bound));\n                    self.keep_for(at, &rival);", "                    self.keep_for(at, &rival);", "the step tells when a stop reaches the first of its bounds"),
    Bug("pass/start.rs", "self.keep_bound(now.after(left));", "self.look_at(now.after(left));", "the step tells when a stop reaches the first of its bounds"),
    Bug("pass/start.rs", "self.keep_bound(bound);\n    }", "}", "the step tells when a stop reaches the first of its bounds"),
    Bug("pass/close.rs", ".min(ripe)", "", "a queue that may soon wait is looked at in time for its grace"),
    Bug("memory/rating.rs", "rule.stop_budget.or(unlimited)", "rule.stop_budget", "a process that has its priority from a rule has no budget"),
    Bug("memory/rating.rs", "rule.priority.map(|_| Nanos::NEVER)", "Some(Nanos::NEVER)", "a process that has its priority from a rule has no budget"),
    Bug("memory/queue.rs", "self.figures.book_stop(now, since);\n                self.account.begin_turn(now);\n                self.run(now, limits, immunity);", "self.figures.book_stop(now, since);\n                let _ = (limits, immunity);", "a queue started by a foreign event runs its minimum before the next stop"),
    Bug("pass/start.rs", "self.pairs.forgive(self.now, stop.process(), victim);", "self.pairs.forgive(self.now, victim, stop.process());", "a stop that helps forgets that the pair was blamed"),
    Bug("memory/cooldown.rs", "if let Some(slot) = self.find(beneficiary, victim) {\n            slot.pair = slot", "if let Some(slot) = self.find(victim, beneficiary) {\n            slot.pair = slot", "a stop that helps forgets that the pair was blamed"),
    Bug("pass/start.rs", "if let Some(at) = self.processes.find(causer.0, 0) {", "if let Some(at) = self.processes.find(causer.0, 0).filter(|_| false) {", "the time until calm is certain is stopped time as well"),
    Bug("pass/start.rs", "broke = true;\n                continue;", "return Judgement::Start(Reason::Budget);", "a process without budget does not free what another one holds"),
    Bug("pass/stop.rs", "&& !queue.patience().is_alone(self.now)", "", "a queue that does nothing between its starts is left alone for longer and longer"),
    Bug("memory/patience.rs", "limits.cool_down.doubled(paid,", "limits.cool_down.doubled(0,", "a queue that does nothing between its starts is left alone for longer and longer"),
    Bug("memory/patience.rs", "const FREE: u32 = 7;", "const FREE: u32 = 6;", "a queue that does nothing between its starts is left alone for longer and longer"),
    Bug("memory/patience.rs", "self.empty = backlog && waves == Waves::Known(0);", "self.empty = true;", "a kernel of seconds is stopped each time, whether its waves are counted or not"),
    Bug("memory/patience.rs", "Waves::Known(_) => self.see_life(),", "Waves::Known(_) => {}", "a queue whose waves are saved is stopped each time, though none are counted"),
    Bug("memory/patience.rs", "Waves::Known(0) => self.empty = !self.idle,", "Waves::Known(0) => {}", "a queue whose stops save nothing is left alone though its waves are never counted"),
    Bug("memory/queue.rs", "self.patience.see_life();", "", "a queue that is left alone and shows life is stopped at once"),
    Bug("memory/queue.rs", "self.figures.changed(stop.since());", "", "a table reads for which queue one is stopped, how often, and how long in all"),
    Bug("pass/start.rs", "queue.attribute_stop(beneficiary);", "let _ = queue;", "a start for no progress is put down to the queue that makes none now"),
    Bug("memory/queue.rs", "        self.account.begin_turn(now);\n        self.retry.succeeded();", "        self.retry.succeeded();", "a stop begins a queue's turn anew"),
    Bug("memory/phase.rs", "Booking::TakenOver(stop.since())", "return Booking::Nothing", "a queue that something else holds is left alone"),
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
    fs::create_dir_all(trial.join("tests")).expect("a directory");
    fs::copy(here.join("tests/cases.rs"), trial.join("tests/cases.rs")).expect("a copy");
    // The kernel's way of building is not needed here: a plain library.
    fs::write(
        copied.join("Cargo.toml"),
        "[package]\nname = \"gpreempt_policy\"\nedition = \"2021\"\n[lib]\npath = \"gpreempt_policy.rs\"\n",
    )
    .expect("a manifest");
    fs::write(
        trial.join("Cargo.toml"),
        "[package]\nname = \"gpreempt_host_tests\"\nedition = \"2021\"\n[dependencies]\ngpreempt_policy = { path = \"../policy\" }\n[workspace]\n",
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
