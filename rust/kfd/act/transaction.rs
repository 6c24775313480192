// SPDX-License-Identifier: GPL-2.0-only

//! Queues stopped and started together.

#![forbid(unsafe_code)]

use crate::{
    act::{failure::Failure, index::Index},
    driver::{
        census::Census,
        direct::Unexpected,
        due::Room,
        gpu::{Away, Present},
        node::Node,
        queue::{Activity, QueueFacts, QueueKey},
    },
    kernel::sort::sort_by_key,
};
use gpreempt_policy::{Action, Nanos};
use kernel::prelude::*;

/// One queue to stop or to start, and what became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) key: QueueKey,
    pub(crate) action: Action,
    pub(crate) done: Done,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Nothing: the queue has gone, is protected, or is in that state already.
    Nothing,
    /// It was carried out.
    Yes,
    /// It was stopped, and had waves to save.
    StoppedWithWaves,
    /// It was stopped, and had neither waves nor work left to save.
    StoppedIdle,
    /// It was stopped, and had work left but no waves to save.
    StoppedWithoutWaves,
}

impl Request {
    /// Whether it has stopped a queue.
    fn has_stopped(&self) -> bool {
        self.action == Action::Stop && self.done != Done::Nothing
    }

    /// Whether it comes down to anything in the present state of its queue, as far as
    /// the queue's fields tell.
    fn is_due(&self, queue: &QueueFacts) -> bool {
        match self.action {
            Action::Stop => queue.activity == Activity::Active && !queue.protected,
            Action::Start => queue.may_be_started(),
        }
    }
}

/// What is asked of the queues of a node, and room to carry it out. The memory is
/// allocated once and used again.
///
/// # Invariants
///
/// The requests are sorted by key, and the index says where those of each queue are.
pub struct Requests {
    list: KVVec<Request>,
    index: Index,
    room: Room,
}

impl Requests {
    /// Room for requests about so many queues.
    pub fn new(most: usize) -> Result<Self> {
        let list = KVVec::with_capacity(most, GFP_KERNEL)?;
        Ok(Self {
            index: Index::new(list.capacity())?,
            list,
            room: Room::new(most)?,
        })
    }

    /// Forgets those that there are, and takes others.
    pub fn fill(&mut self, asked: impl Iterator<Item = (QueueKey, Action)>) {
        self.list.clear();
        for (key, action) in asked {
            let done = Done::Nothing;
            let _ = self
                .list
                .push_within_capacity(Request { key, action, done });
        }
        // INVARIANT: Nothing else adds any or changes a key.
        sort_by_key(&mut self.list, |request| request.key);
        self.index.fill(self.list.iter().map(|request| request.key));
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What was done to a queue.
    pub fn done(&self, key: QueueKey) -> Done {
        let about = self.list.get(self.index.of(key)).unwrap_or(&[]);
        let mut done = about.iter().map(|request| request.done);
        done.find(|&done| done != Done::Nothing)
            .unwrap_or(Done::Nothing)
    }

    /// Orders to do what each request says, and nothing else.
    pub fn each(&mut self) -> Orders<'_> {
        self.orders(Wanted::Each)
    }

    /// Orders to start every queue that nothing but a stop of ours keeps from running.
    /// Only where the driver may have reset it, it must be among those that are
    /// remembered to be stopped.
    pub fn start_all(&mut self, remembered: impl Iterator<Item = QueueKey>) -> Orders<'_> {
        self.fill(remembered.map(|key| (key, Action::Start)));
        self.orders(|remembered| Wanted::StartAll {
            remembered,
            started: 0,
        })
    }

    /// Orders to start every such queue but those that are in view.
    pub fn start_beyond(&mut self, in_view: impl Iterator<Item = QueueKey>) -> Orders<'_> {
        self.fill(in_view.map(|key| (key, Action::Start)));
        self.orders(|in_view| Wanted::StartBeyond {
            in_view,
            started: 0,
        })
    }

    /// Orders for which it counts what there are requests about.
    fn orders<'a>(&'a mut self, wanted: impl FnOnce(Asked<'a>) -> Wanted<'a>) -> Orders<'a> {
        let asked = Asked {
            requests: &mut self.list,
            index: &self.index,
        };
        Orders::new(wanted(asked), &mut self.room)
    }

    /// Orders to make up for what the driver leaves out where it gives GWS to a queue
    /// that we have stopped.
    pub fn count_gws(&mut self) -> Orders<'_> {
        Orders::new(Wanted::CountGws, &mut self.room)
    }

    /// Orders to put back what should run and is off the hardware, because that has
    /// failed before.
    pub fn put_back(&mut self) -> Orders<'_> {
        Orders::new(Wanted::PutBack, &mut self.room)
    }
}

/// The requests of a transaction, sorted by key, and where those of each queue are.
pub(crate) struct Asked<'a> {
    requests: &'a mut [Request],
    index: &'a Index,
}

impl Asked<'_> {
    /// The requests about a queue.
    fn about(&self, key: QueueKey) -> &[Request] {
        self.requests.get(self.index.of(key)).unwrap_or(&[])
    }

    fn about_mut(&mut self, key: QueueKey) -> &mut [Request] {
        self.requests.get_mut(self.index.of(key)).unwrap_or(&mut [])
    }
}

/// What a transaction is to do, and the room that it needs for it.
pub struct Orders<'a> {
    pub(crate) wanted: Wanted<'a>,
    pub(crate) room: &'a mut Room,
    pub(crate) handed_over: HandedOver,
}

/// What became of unmappings of our own that the driver's had to be called after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandedOver {
    /// How many there were.
    pub times: u64,
    /// Why the last one was given up.
    pub why: Option<Unexpected>,
}

impl HandedOver {
    pub(crate) fn note(&mut self, why: Unexpected) {
        self.times = self.times.saturating_add(1);
        self.why = Some(why);
    }
}

/// What a transaction is to do.
pub(crate) enum Wanted<'a> {
    /// What each request says.
    Each(Asked<'a>),
    /// To start everything, also what is remembered to be stopped and may have been reset,
    /// and how many were started.
    StartAll { remembered: Asked<'a>, started: u64 },
    /// To start everything that no request is about, and how many were started.
    StartBeyond { in_view: Asked<'a>, started: u64 },
    /// To count the queues with GWS that the driver has not.
    CountGws,
    /// To put back what is off the hardware.
    PutBack,
}

impl<'a> Orders<'a> {
    fn new(wanted: Wanted<'a>, room: &'a mut Room) -> Self {
        Self {
            wanted,
            room,
            handed_over: HandedOver::default(),
        }
    }

    /// Whether they come down to anything on a node, and so would be sent.
    pub fn has_to_do(&self, node: &Node<'_>) -> Result<bool, Failure> {
        self.wanted.due_on(node).map(|due| due.is_some())
    }

    /// What was left to the driver's own unmapping, also after a failure.
    pub fn handed_over(&self) -> HandedOver {
        self.handed_over
    }

    /// How many queues were started without being asked for by a request.
    pub fn started(&self) -> u64 {
        match self.wanted {
            Wanted::StartAll { started, .. } | Wanted::StartBeyond { started, .. } => started,
            Wanted::Each(_) | Wanted::CountGws | Wanted::PutBack => 0,
        }
    }
}

impl Wanted<'_> {
    /// Whether it can be done where so much fits together. Of what is stopped everything
    /// may be started where nothing may be stopped; putting back edits nothing.
    pub(crate) fn can_be_done(&self, census: &Census) -> bool {
        match self {
            Wanted::PutBack => true,
            Wanted::StartAll { .. } => census.may_start(),
            Wanted::Each(_) | Wanted::StartBeyond { .. } | Wanted::CountGws => census.fits(),
        }
    }

    /// Whether there is something to be done whatever the queues' state.
    pub(crate) fn always(&self) -> bool {
        matches!(self, Wanted::PutBack)
    }

    /// What is to be done to a queue in its present state. The lock must be held: of a
    /// queue that is to be started, and of no other, the descriptor is read as well.
    ///
    /// A transaction asks twice. The lock was released in between, so that the second
    /// answer cannot be had from the first.
    pub(crate) fn due(&self, queue: &QueueFacts) -> Option<Action> {
        match self {
            Wanted::Each(asked) => {
                let mut about = asked.about(queue.key).iter();
                about
                    .find(|request| request.is_due(queue))
                    .map(|request| request.action)
                    .filter(|&action| action == Action::Stop || queue.names_ring())
            }
            Wanted::StartAll { remembered, .. } => {
                let ours = queue.may_be_started_unremembered()
                    || (queue.may_be_started() && !remembered.about(queue.key).is_empty());
                let starts = ours && queue.names_ring();
                (starts || queue.uncounted_gws).then_some(Action::Start)
            }
            Wanted::StartBeyond { in_view, .. } => {
                let beyond =
                    queue.may_be_started_unremembered() && in_view.about(queue.key).is_empty();
                (beyond && queue.names_ring()).then_some(Action::Start)
            }
            Wanted::CountGws => queue.uncounted_gws.then_some(Action::Start),
            Wanted::PutBack => None,
        }
    }

    /// What fits together on a node where there is anything to do, as far as can be seen,
    /// that can be done now.
    pub(crate) fn due_on(&self, node: &Node<'_>) -> Result<Option<Census>, Failure> {
        let ready = may_look(node)?;
        let mut any = self.always();
        let census = node
            .lock()
            .walk(|_, queue| any |= self.due(queue).is_some());
        if any || !census.is_whole() {
            ready.map(|()| Some(census))
        } else {
            Ok(None)
        }
    }

    /// Notes what was done to a queue, in whose state before that it was due.
    pub(crate) fn note(&mut self, queue: &QueueFacts, done: Done) {
        match self {
            Wanted::Each(asked) => {
                let mut about = asked.about_mut(queue.key).iter_mut();
                if let Some(request) = about.find(|request| request.is_due(queue)) {
                    request.done = done;
                }
            }
            Wanted::StartAll { started, .. } | Wanted::StartBeyond { started, .. } => {
                *started = started.saturating_add(1);
            }
            Wanted::CountGws | Wanted::PutBack => {}
        }
    }

    /// Whether a queue was stopped.
    pub(crate) fn stopped_any(&self) -> bool {
        match self {
            Wanted::Each(asked) => asked.requests.iter().any(Request::has_stopped),
            Wanted::StartAll { .. }
            | Wanted::StartBeyond { .. }
            | Wanted::CountGws
            | Wanted::PutBack => false,
        }
    }

    /// The request that has stopped a queue, if it is stopped still.
    pub(crate) fn that_stopped(&mut self, queue: &QueueFacts) -> Option<&mut Request> {
        match self {
            Wanted::Each(asked) if queue.activity == Activity::Stopped => {
                let mut about = asked.about_mut(queue.key).iter_mut();
                about.find(|request| request.has_stopped())
            }
            _ => None,
        }
    }
}

/// Whether a transaction may be tried on a node, if the node may be looked at. It may
/// even where a transaction is impossible: if nothing is due, that is no failure. During
/// a reset it may not, because whoever holds the lock may be waiting for the reset.
pub(crate) fn may_look(node: &Node<'_>) -> Result<Result<(), Failure>, Failure> {
    match node.ready() {
        Err(Away::Reset) => Err(Failure::Away(Away::Reset)),
        ready => Ok(ready.map_err(Failure::Away)),
    }
}

/// How long the parts of a transaction took, if there was anything to do.
pub type Transacted = Result<Option<Timing>, Failure>;

/// How long the parts of a transaction took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Waiting for the lock, and taking the queues off the hardware.
    pub unmap: Nanos,
    /// Changing what runs.
    pub edit: Nanos,
    /// Putting the queues back.
    pub map: Nanos,
}

impl Timing {
    /// Has transactions made until there was room for everything, and adds up their
    /// times.
    pub(crate) fn of_all(
        mut once: impl FnMut() -> Result<Option<(Self, bool)>, Failure>,
    ) -> Transacted {
        let mut all: Option<Self> = None;
        loop {
            let Some((timing, more)) = once()? else {
                return Ok(all);
            };
            let all = all.insert(all.map_or(timing, |before| Self {
                unmap: before.unmap.after(timing.unmap),
                edit: before.edit.after(timing.edit),
                map: before.map.after(timing.map),
            }));
            if !more {
                return Ok(Some(*all));
            }
        }
    }

    /// The whole.
    pub fn total(&self) -> Nanos {
        self.unmap.after(self.edit).after(self.map)
    }
}

/// Says in the log what does not fit.
pub fn report_misfit(gpu: &Present<'_>, node: usize, census: &Census, when: &str) {
    for fault in census.faults() {
        pr_err!(
            "{} node {}: {}: {}\n",
            gpu.device().name().to_str().unwrap_or("?"),
            node,
            when,
            fault
        );
    }
}
