// SPDX-License-Identifier: GPL-2.0-only
//! Accounts of user queues, the log of the scheduler's packets, and the
//! timeline. They outlive a queue's time in its slot, and a reset.

use std::collections::{BTreeMap, VecDeque};

use crate::compute::Dispatch;
use crate::gpu::Gpu;
use crate::queue::Queue;
use crate::terms::{
    Format, GpuNanos, HiqAction, HiqRecord, MappedQueue, QueueId, QueueKey, QueueKind, QueueReport,
    Seat, TimelineChange, TimelineRecord, UnitsRecord,
};

/// The timeline has a new count of waves at most this often per queue.
const WAVE_RECORD_NANOS: u64 = 1_000;

/// The last records of a log; each has a number that is never used again.
struct Log<T> {
    records: VecDeque<T>,
    first: u64,
    capacity: usize,
}

impl<T: Clone> Log<T> {
    fn new(capacity: usize) -> Log<T> {
        Log {
            records: VecDeque::new(),
            first: 0,
            capacity,
        }
    }

    fn next(&self) -> u64 {
        self.first + self.records.len() as u64
    }

    fn push(&mut self, record: T) {
        if self.records.len() == self.capacity {
            self.records.pop_front();
            self.first += 1;
        }
        self.records.push_back(record);
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.records
            .get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn since(&self, number: u64) -> Vec<T> {
        let skip = number.saturating_sub(self.first);
        self.records.iter().skip(skip as usize).cloned().collect()
    }
}

struct Account {
    report: QueueReport,
    /// Waves on compute units, and since when there are any.
    waves: u64,
    running_since: Option<GpuNanos>,
    saved_since: Option<GpuNanos>,
    /// State is being moved out.
    saving: bool,
    /// The last count of waves in the timeline, and one that is not yet.
    recorded: GpuNanos,
    unrecorded: Option<(GpuNanos, u64)>,
}

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
        // The pending count is over; show it unless it is too short.
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

    /// How many compute units were busy, die by die.
    pub fn units(&self) -> Vec<UnitsRecord> {
        self.units.since(0)
    }

    pub fn workgroup_done(&mut self, account: usize) {
        self.report(account).workgroups_done += 1;
    }

    pub fn dispatch_begins(&mut self, now: GpuNanos, account: usize, dispatch: &Dispatch) {
        self.report(account).dispatches_started += 1;
        let (packet, workgroups) = (dispatch.packet, dispatch.workgroups);
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
        // Waves that were restored and found no room yet are there still.
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

    // The scheduler's packets.

    /// Logs a packet; the result names its record.
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
}

fn kind(queue: &Queue) -> QueueKind {
    match queue.format {
        Format::Aql => QueueKind::Aql,
        Format::Pm4 => QueueKind::Pm4,
        Format::Sdma => QueueKind::Sdma,
    }
}

fn place(queue: &Queue) -> MappedQueue {
    let vmid = queue.vmid;
    match queue.seat {
        Seat::Compute(slot) => MappedQueue {
            vmid,
            me: slot.me,
            pipe: slot.pipe,
            queue: slot.queue,
        },
        Seat::Sdma(ring) => MappedQueue {
            vmid,
            me: 0,
            pipe: ring.engine,
            queue: (ring.registers - crate::registers::table::sdma::GFX)
                / crate::registers::table::sdma::RING_SPAN,
        },
    }
}

impl Gpu {
    /// Finds the account of a queue that was just loaded, or opens one.
    pub fn account_mapped(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get_mut(key) else {
            return;
        };
        let (doorbell, pasid, kind) = (queue.doorbell_offset(), queue.pasid, kind(queue));
        let accounts = &mut self.accounts;
        let known = accounts.find(doorbell, pasid);
        // A queue goes on where it stopped; another one starts anew.
        let same = known.filter(|index| {
            let report = &accounts.accounts[*index].report;
            report.kind == kind && report.read_pointer == queue.read && report.mapped.is_none()
        });
        let index = same.unwrap_or_else(|| {
            let generation = known.map_or(0, |index| {
                accounts.accounts[index].report.queue.generation + 1
            });
            accounts.accounts.push(Account {
                report: new_report(
                    QueueId {
                        doorbell,
                        pasid,
                        generation,
                    },
                    kind,
                ),
                waves: 0,
                running_since: None,
                saved_since: None,
                saving: false,
                recorded: GpuNanos::default(),
                unrecorded: None,
            });
            accounts.accounts.len() - 1
        });
        queue.account = index;
        let report = accounts.report(index);
        report.pipe_priority = queue.pipe_priority;
        report.mapped = Some(place(queue));
        report.maps += 1;
        accounts.record(self.now, index, TimelineChange::Mapped);
    }

    /// A queue has left its slots.
    pub fn account_unmapped(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key).filter(|queue| queue.role.is_user()) else {
            return;
        };
        let report = self.accounts.report(queue.account);
        report.mapped = None;
        report.unmaps += 1;
        report.read_pointer = queue.read;
        report.write_pointer = queue.write;
        self.accounts
            .record(self.now, queue.account, TimelineChange::Unmapped);
    }

    /// A reset took a queue away with all that it had in flight.
    pub fn account_lost(&mut self, key: QueueKey) {
        let Some(queue) = self.queues.get(key).filter(|queue| queue.role.is_user()) else {
            return;
        };
        let index = queue.account;
        let waves = self.accounts.accounts[index].waves;
        self.accounts.left(self.now, index, waves as u32);
        self.account_unmapped(key);
    }

    pub fn queue_reports(&self) -> Vec<QueueReport> {
        let mut reports: Vec<QueueReport> = self
            .accounts
            .accounts
            .iter()
            .map(|account| self.report_now(account))
            .collect();
        for (_, queue) in self.queues.iter().filter(|(_, queue)| queue.role.is_user()) {
            let report = &mut reports[queue.account];
            report.read_pointer = queue.read;
            report.write_pointer = queue.write;
            report.workgroups_resident = queue.resident_workgroups();
            let shares = queue
                .dispatches
                .iter()
                .flat_map(|dispatch| &dispatch.shares);
            let waiting: u64 = shares.map(|share| share.waiting.len() as u64).sum();
            report.workgroups_saved = report.workgroups_saved.max(waiting);
        }
        reports
    }

    fn report_now(&self, account: &Account) -> QueueReport {
        let mut report = account.report.clone();
        report.running_time += account
            .running_since
            .map_or(0, |since| self.now.since(since));
        report.saved_time += account.saved_since.map_or(0, |since| self.now.since(since));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_drops_the_oldest_and_keeps_its_numbers() {
        let mut log = Log::new(3);
        for value in 0..5 {
            assert_eq!(log.next(), value);
            log.push(value);
        }
        assert_eq!(log.since(0), [2, 3, 4]);
        assert_eq!(log.since(4), [4]);
        assert_eq!(log.since(9), [] as [u64; 0]);
        assert_eq!(log.get_mut(1), None);
        assert_eq!(log.get_mut(3), Some(&mut 3));
    }
}
