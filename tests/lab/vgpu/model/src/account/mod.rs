// SPDX-License-Identifier: GPL-2.0-only
//! Accounts of user queues, the log of the scheduler's packets, and the
//! timeline. They outlive a queue's time in its slot, and a reset.

mod log;

use std::collections::BTreeMap;

use crate::terms::{
    GpuNanos, HiqAction, HiqRecord, MappedQueue, QueueId, QueueKind, QueueReport, StopReport,
    TimelineChange, TimelineRecord, UnitsRecord,
};
use log::Log;

/// The timeline has a new count of waves at most this often per queue.
const WAVE_RECORD_NANOS: u64 = 1_000;

/// Instructions at which a queue's waves were saved that are remembered.
const MOST_STOPS: usize = 1 << 16;

/// What identifies the account of a queue that was loaded, and what it shows.
#[derive(Clone)]
pub struct Loaded {
    /// Byte offset in BAR 2.
    pub doorbell: u64,
    pub pasid: u32,
    pub kind: QueueKind,
    pub place: MappedQueue,
    pub pipe_priority: u32,
    /// The read pointer, which identifies a queue that comes back.
    pub read: u64,
}

#[derive(Clone)]
struct Account {
    report: QueueReport,
    /// Waves on compute units, and since when there are any.
    waves: u64,
    running_since: Option<GpuNanos>,
    saved_since: Option<GpuNanos>,
    /// Its state is being saved.
    saving: bool,
    /// When the timeline last got a count of waves, and the count that it has
    /// not got yet.
    recorded: GpuNanos,
    unrecorded: Option<(GpuNanos, u64)>,
    /// Where in machine code its waves were when they were saved, and how many.
    stops: BTreeMap<u64, u64>,
}

#[derive(Clone)]
pub struct Accounts {
    accounts: Vec<Account>,
    hiq: Log<HiqRecord>,
    timeline: Log<TimelineRecord>,
    units: Log<UnitsRecord>,
    /// Busy units of each die at the end of that log.
    units_busy: BTreeMap<u32, u32>,
}

impl Accounts {
    pub fn new(capacity: usize) -> Accounts {
        Accounts {
            accounts: Vec::new(),
            hiq: Log::new(capacity),
            timeline: Log::new(capacity),
            units: Log::new(capacity),
            units_busy: BTreeMap::new(),
        }
    }

    fn record(&mut self, at: GpuNanos, account: usize, change: TimelineChange) {
        let sequence = self.timeline.next();
        let queue = self.accounts[account].report.queue;
        self.timeline.push(TimelineRecord {
            sequence,
            at,
            queue,
            change,
        });
    }

    fn report(&mut self, account: usize) -> &mut QueueReport {
        &mut self.accounts[account].report
    }

    pub fn fault(&mut self, account: usize, reason: &str) {
        self.report(account).fault = Some(reason.to_owned());
    }

    fn flush_waves(&mut self, account: usize) {
        if let Some((at, count)) = self.accounts[account].unrecorded.take() {
            self.accounts[account].recorded = at;
            self.record(at, account, TimelineChange::Waves { count });
        }
    }

    fn waves_changed(&mut self, now: GpuNanos, index: usize) {
        let account = &self.accounts[index];
        let pending = account.unrecorded;
        // The pending count has ended; record it unless it was too brief.
        if pending.is_some_and(|(at, _)| now.since(at) >= WAVE_RECORD_NANOS) {
            self.flush_waves(index);
        }
        let account = &mut self.accounts[index];
        let count = account.waves;
        let at = pending
            .filter(|(at, _)| *at == now)
            .map_or(now, |(at, _)| at);
        account.unrecorded = Some((at, count));
        if count == 0 || now.since(account.recorded) >= WAVE_RECORD_NANOS {
            self.flush_waves(index);
        }
    }

    pub fn launched(&mut self, now: GpuNanos, index: usize, waves: u32) {
        let account = &mut self.accounts[index];
        account.waves += u64::from(waves);
        account.running_since.get_or_insert(now);
        self.waves_changed(now, index);
    }

    pub fn left(&mut self, now: GpuNanos, index: usize, waves: u32) {
        let account = &mut self.accounts[index];
        account.waves -= u64::from(waves);
        if account.waves == 0 {
            if let Some(since) = account.running_since.take() {
                account.report.running_time += now.since(since);
            }
        }
        self.waves_changed(now, index);
    }

    pub fn units_changed(&mut self, at: GpuNanos, xcc: u32, busy: u32) {
        if self.units_busy.insert(xcc, busy).unwrap_or(0) != busy {
            self.units.push(UnitsRecord { at, xcc, busy });
        }
    }

    /// How many compute units were busy over time, on each die.
    pub fn units(&self) -> Vec<UnitsRecord> {
        self.units.since(0)
    }

    pub fn workgroup_done(&mut self, account: usize) {
        self.report(account).workgroups_done += 1;
    }

    pub fn dispatch_begins(&mut self, now: GpuNanos, account: usize, packet: u64, workgroups: u64) {
        self.report(account).dispatches_started += 1;
        self.record(
            now,
            account,
            TimelineChange::DispatchBegins { packet, workgroups },
        );
    }

    pub fn dispatch_ends(&mut self, now: GpuNanos, account: usize, packet: u64) {
        self.report(account).dispatches_done += 1;
        self.record(now, account, TimelineChange::DispatchEnds { packet });
    }

    pub fn save_begins(&mut self, now: GpuNanos, account: usize, bytes: u64) {
        let report = self.report(account);
        report.saves += 1;
        report.bytes_saved += bytes;
        self.accounts[account].saving = true;
        self.record(now, account, TimelineChange::SaveBegins { bytes });
    }

    pub fn save_ends(&mut self, now: GpuNanos, index: usize, workgroups: u64) {
        let account = &mut self.accounts[index];
        account.report.workgroups_saved = workgroups;
        if workgroups > 0 {
            account.saved_since = Some(now);
        }
        // Restored waves that found no room are still in the save area.
        if std::mem::take(&mut account.saving) {
            self.record(now, index, TimelineChange::SaveEnds);
        }
    }

    pub fn restore_begins(&mut self, now: GpuNanos, index: usize, bytes: u64, workgroups: u64) {
        let account = &mut self.accounts[index];
        account.report.restores += 1;
        account.report.bytes_restored += bytes;
        account.report.workgroups_saved = workgroups;
        self.record(now, index, TimelineChange::RestoreBegins { bytes });
    }

    pub fn restore_ends(&mut self, now: GpuNanos, index: usize) {
        let account = &mut self.accounts[index];
        account.report.workgroups_saved = 0;
        if let Some(since) = account.saved_since.take() {
            account.report.saved_time += now.since(since);
            self.record(now, index, TimelineChange::RestoreEnds);
        }
    }

    /// Waves are saved that are about to execute these instructions.
    pub fn stopped(&mut self, account: usize, addresses: impl Iterator<Item = u64>) {
        let stops = &mut self.accounts[account].stops;
        for address in addresses {
            if stops.len() < MOST_STOPS || stops.contains_key(&address) {
                *stops.entry(address).or_default() += 1;
            }
        }
    }

    pub fn stops(&self) -> Vec<StopReport> {
        let stopped = self.accounts.iter().filter(|each| !each.stops.is_empty());
        let report = |account: &Account| StopReport {
            queue: account.report.queue,
            addresses: account.stops.iter().map(|(at, of)| (*at, *of)).collect(),
        };
        stopped.map(report).collect()
    }

    // The scheduler's packets.

    /// Logs a packet and returns the number of its record.
    pub fn hiq_fetched(&mut self, now: GpuNanos, action: HiqAction) -> u64 {
        let sequence = self.hiq.next();
        self.hiq.push(HiqRecord {
            sequence,
            action,
            fetched: now,
            completed: None,
        });
        sequence
    }

    pub fn hiq_completed(&mut self, now: GpuNanos, record: u64) {
        if let Some(record) = self.hiq.get_mut(record) {
            record.completed = Some(now);
        }
    }

    pub fn hiq_since(&self, from: u64) -> Vec<HiqRecord> {
        self.hiq.since(from)
    }

    pub fn timeline_since(&mut self, from: u64) -> Vec<TimelineRecord> {
        for index in 0..self.accounts.len() {
            self.flush_waves(index);
        }
        self.timeline.since(from)
    }

    fn find(&self, doorbell: u64, pasid: u32) -> Option<usize> {
        self.accounts.iter().rposition(|account| {
            let id = account.report.queue;
            id.doorbell == doorbell && id.pasid == pasid
        })
    }

    /// A queue was loaded: returns its account. A queue that continues where it
    /// left off keeps its account; a new one with the same doorbell gets its own.
    pub fn mapped(&mut self, now: GpuNanos, queue: &Loaded) -> usize {
        let known = self.find(queue.doorbell, queue.pasid);
        let same = known.filter(|index| {
            let report = &self.accounts[*index].report;
            report.kind == queue.kind
                && report.read_pointer == queue.read
                && report.mapped.is_none()
        });
        let index = same.unwrap_or_else(|| {
            let generation =
                known.map_or(0, |index| self.accounts[index].report.queue.generation + 1);
            let id = QueueId {
                doorbell: queue.doorbell,
                pasid: queue.pasid,
                generation,
            };
            self.accounts.push(Account::new(id, queue.kind));
            self.accounts.len() - 1
        });
        let report = self.report(index);
        report.pipe_priority = queue.pipe_priority;
        report.mapped = Some(queue.place);
        report.maps += 1;
        self.record(now, index, TimelineChange::Mapped);
        index
    }

    /// A queue has left its slots.
    pub fn unmapped(&mut self, now: GpuNanos, account: usize, read: u64, write: u64) {
        let report = self.report(account);
        report.mapped = None;
        report.unmaps += 1;
        report.read_pointer = read;
        report.write_pointer = write;
        self.record(now, account, TimelineChange::Unmapped);
    }

    /// A reset took a queue's waves away.
    pub fn waves_lost(&mut self, now: GpuNanos, account: usize) {
        let waves = self.accounts[account].waves;
        self.left(now, account, waves as u32);
    }

    /// All accounts, with times counted up to now.
    pub fn reports(&self, now: GpuNanos) -> Vec<QueueReport> {
        let accounts = self.accounts.iter();
        accounts.map(|account| account.report_at(now)).collect()
    }
}

impl Account {
    fn new(queue: QueueId, kind: QueueKind) -> Account {
        Account {
            report: new_report(queue, kind),
            waves: 0,
            running_since: None,
            saved_since: None,
            saving: false,
            recorded: GpuNanos::default(),
            unrecorded: None,
            stops: BTreeMap::new(),
        }
    }

    fn report_at(&self, now: GpuNanos) -> QueueReport {
        let mut report = self.report.clone();
        report.running_time += self.running_since.map_or(0, |since| now.since(since));
        report.saved_time += self.saved_since.map_or(0, |since| now.since(since));
        report
    }
}

fn new_report(queue: QueueId, kind: QueueKind) -> QueueReport {
    QueueReport {
        queue,
        kind,
        pipe_priority: 0,
        mapped: None,
        workgroups_done: 0,
        workgroups_resident: 0,
        workgroups_saved: 0,
        dispatches_started: 0,
        dispatches_done: 0,
        maps: 0,
        unmaps: 0,
        saves: 0,
        restores: 0,
        bytes_saved: 0,
        bytes_restored: 0,
        running_time: 0,
        saved_time: 0,
        read_pointer: 0,
        write_pointer: 0,
        fault: None,
    }
}
