// SPDX-License-Identifier: GPL-2.0-only
//! What a user would build without the module: a scheduler in user space that
//! looks at all queues at intervals and has lower ones stopped while a higher one
//! is busy. This is its decision; how queues are read and stopped is the caller's.
//!
//! A read pointer moves when a packet is launched, so equal pointers do not mean
//! that a queue is idle: a queue counts as busy for a while after its pointers
//! last moved.

use std::collections::BTreeMap;

/// Process and KFD queue id.
pub type QueueKey = (u32, u32);

/// A queue's pointers in packets, at one look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    pub queue: QueueKey,
    pub priority: u32,
    pub read: u64,
    pub write: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// A queue whose pointers have not moved for so long and that has no backlog
    /// is idle.
    pub calm_ns: u64,
    /// A queue is never stopped longer than this.
    pub max_stop_ns: u64,
}

/// What to do now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Decision {
    pub stop: Vec<QueueKey>,
    pub start: Vec<QueueKey>,
}

#[derive(Debug, Clone, Copy)]
struct Known {
    read: u64,
    write: u64,
    moved_at: u64,
    stopped_at: Option<u64>,
    /// A queue that was started because its time was up runs until then.
    immune_until: u64,
}

pub struct Poller {
    settings: Settings,
    known: BTreeMap<QueueKey, Known>,
}

impl Poller {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            known: BTreeMap::new(),
        }
    }

    /// Decides from a look at all queues.
    pub fn decide(&mut self, now: u64, looks: &[Look]) -> Decision {
        self.known
            .retain(|queue, _| looks.iter().any(|look| look.queue == *queue));
        for look in looks {
            let known = self.known.entry(look.queue).or_insert(Known {
                read: look.read,
                write: look.write,
                moved_at: now,
                stopped_at: None,
                immune_until: 0,
            });
            if (known.read, known.write) != (look.read, look.write) {
                known.moved_at = now;
                (known.read, known.write) = (look.read, look.write);
            }
        }
        let calm_ns = self.settings.calm_ns;
        let busy = |known: &Known| known.write > known.read || now - known.moved_at < calm_ns;
        let highest = looks
            .iter()
            .filter(|look| {
                let known = &self.known[&look.queue];
                known.stopped_at.is_none() && busy(known)
            })
            .map(|look| look.priority)
            .max();
        let mut decision = Decision::default();
        for look in looks {
            let Some(known) = self.known.get_mut(&look.queue) else {
                continue;
            };
            let below = highest.is_some_and(|highest| look.priority < highest);
            match known.stopped_at {
                None if below && now >= known.immune_until => {
                    known.stopped_at = Some(now);
                    decision.stop.push(look.queue);
                }
                Some(since) if !below || now - since >= self.settings.max_stop_ns => {
                    if below {
                        known.immune_until = now + self.settings.max_stop_ns;
                    }
                    known.stopped_at = None;
                    known.moved_at = now;
                    decision.start.push(look.queue);
                }
                _ => {}
            }
        }
        decision
    }
}

impl Poller {
    /// Starts whatever is stopped.
    pub fn start_all(&mut self) -> Decision {
        let stopped = self
            .known
            .iter_mut()
            .filter(|(_, known)| known.stopped_at.is_some());
        let start = stopped
            .map(|(&queue, known)| {
                known.stopped_at = None;
                queue
            })
            .collect();
        Decision {
            stop: Vec::new(),
            start,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: QueueKey = (10, 1);
    const HIGH: QueueKey = (20, 1);

    fn looks(low: (u64, u64), high: (u64, u64)) -> [Look; 2] {
        [
            Look {
                queue: LOW,
                priority: 1,
                read: low.0,
                write: low.1,
            },
            Look {
                queue: HIGH,
                priority: 9,
                read: high.0,
                write: high.1,
            },
        ]
    }

    /// A poller that has seen both queues idle for long enough.
    fn calm() -> Poller {
        let mut poller = Poller::new(Settings {
            calm_ns: 100,
            max_stop_ns: 1000,
        });
        poller.decide(0, &looks((0, 0), (0, 0)));
        poller.decide(100, &looks((0, 0), (0, 0)));
        poller
    }

    #[test]
    fn a_busy_queue_stops_those_below_it_and_only_those() {
        let mut poller = calm();
        assert_eq!(
            poller.decide(200, &looks((0, 9), (0, 0))),
            Decision::default()
        );
        let decision = poller.decide(300, &looks((0, 9), (0, 1)));
        assert_eq!((decision.stop, decision.start), (vec![LOW], vec![]));
        assert_eq!(
            poller.decide(301, &looks((0, 9), (1, 1))),
            Decision::default()
        );
    }

    #[test]
    fn a_stopped_queue_starts_when_all_above_are_calm() {
        let mut poller = calm();
        poller.decide(300, &looks((0, 9), (0, 1)));
        // Launched, but perhaps not done.
        assert_eq!(
            poller.decide(350, &looks((0, 9), (1, 1))),
            Decision::default()
        );
        assert_eq!(
            poller.decide(449, &looks((0, 9), (1, 1))),
            Decision::default()
        );
        assert_eq!(poller.decide(450, &looks((0, 9), (1, 1))).start, [LOW]);
    }

    #[test]
    fn nobody_is_stopped_longer_than_the_limit() {
        let mut poller = calm();
        assert_eq!(poller.decide(300, &looks((0, 9), (0, 5))).stop, [LOW]);
        assert_eq!(
            poller.decide(1299, &looks((0, 9), (0, 5))),
            Decision::default()
        );
        assert_eq!(poller.decide(1300, &looks((0, 9), (0, 5))).start, [LOW]);
        // And then it runs as long.
        assert_eq!(
            poller.decide(2299, &looks((1, 9), (0, 5))),
            Decision::default()
        );
        assert_eq!(poller.decide(2300, &looks((1, 9), (0, 5))).stop, [LOW]);
    }

    #[test]
    fn at_the_end_everything_is_started_once() {
        let mut poller = calm();
        poller.decide(300, &looks((0, 9), (0, 1)));
        assert_eq!(poller.start_all().start, [LOW]);
        assert_eq!(poller.start_all(), Decision::default());
    }

    #[test]
    fn equal_priorities_leave_each_other_alone() {
        let mut poller = Poller::new(Settings {
            calm_ns: 100,
            max_stop_ns: 1000,
        });
        let mut both = looks((0, 5), (0, 5));
        both[0].priority = 9;
        assert_eq!(poller.decide(0, &both), Decision::default());
    }

    #[test]
    fn a_queue_that_is_gone_is_forgotten() {
        let mut poller = calm();
        poller.decide(300, &looks((0, 9), (0, 1)));
        let gone = poller.decide(301, &looks((0, 9), (0, 1))[..1]);
        assert_eq!(gone.start, [LOW]);
        assert_eq!(poller.known.len(), 1);
    }
}
