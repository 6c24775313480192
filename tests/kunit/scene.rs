// SPDX-License-Identifier: GPL-2.0-only

//! The fake driver with the hardware scheduler's backend: what is asked of it, and
//! what that leaves behind.

use crate::fake::layout::*;
use crate::fake::{failed, get, look, put, with_node, Fake};
use gpreempt_policy::Action;
use gpreempt_policy::TransactionKind;
use gpreempt_policy::QUEUE_SLOTS;
use kernel::prelude::*;
use kfd::act::failure::Failure;
use kfd::act::hws::Hws;
use kfd::act::transaction::{Done, HandedOver, Requests};
use kfd::driver::driver::Driver;
use kfd::driver::node::Node;
use kfd::driver::queue::QueueKey;

const P: usize = QUEUE_PROPERTIES;

/// What a transaction leaves behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Which of the four compute queues run, in the driver's order.
    pub(crate) active: [bool; 4],
    pub(crate) queues: u32,
    pub(crate) compute: u32,
    pub(crate) gws: u32,
}

impl State {
    pub(crate) fn now() -> Self {
        let fake = Fake::now();
        let count = |at| get::<u32>(fake.dqm, at);
        let active = |process: usize, queue: usize| {
            let queue = fake.processes[process].queues[queue];
            get::<u8>(queue, P + QUEUE_PROPERTIES_IS_ACTIVE) != 0
        };
        Self {
            active: [active(0, 0), active(0, 1), active(1, 0), active(1, 1)],
            queues: count(DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT),
            compute: count(DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT),
            gws: count(DEVICE_QUEUE_MANAGER_GWS_QUEUE_COUNT),
        }
    }

    /// With so many queues stopped, of the four for waves and the two for copies.
    pub(crate) fn with(active: [bool; 4]) -> Self {
        let running = active.iter().map(|&active| u32::from(active)).sum();
        Self {
            active,
            queues: running + 2,
            compute: running,
            gws: 0,
        }
    }
}

/// The descriptors of a queue for two XCCs.
pub(crate) struct Descriptors(KVec<u8>);

impl Descriptors {
    /// Not a multiple of the page, which the driver rounds up to.
    pub(crate) const STACK: u32 = 0x1800;
    /// The length of the ring, and the bits above it.
    const CONTROL: u32 = 0xffff_ffcd;
    /// Two pages of stack behind a page with the descriptor.
    const STRIDE: usize = 0x3000;

    pub(crate) fn new() -> Result<Self> {
        Ok(Self(KVec::from_elem(0xff, 2 * Self::STRIDE, GFP_KERNEL)?))
    }

    pub(crate) fn fill(&mut self, xcc: usize, on_stack: bool, pointers: (u32, u32)) {
        let mut word = |at: usize, value: u32| {
            let at = xcc * Self::STRIDE + at;
            self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        };
        word(V9_MQD_CP_HQD_CNTL_STACK_SIZE, Self::STACK);
        word(
            V9_MQD_CP_HQD_CNTL_STACK_OFFSET,
            Self::STACK - u32::from(on_stack) * 8,
        );
        // As a checkpoint may bring it: nobody goes by it.
        word(V9_MQD_CP_MQD_STRIDE_SIZE, 0x10);
        word(V9_MQD_CP_HQD_PQ_CONTROL, Self::CONTROL);
        // Only the first is asked for them.
        let (read, written) = if xcc == 0 { pointers } else { (1, 2) };
        word(V9_MQD_CP_HQD_PQ_RPTR, read);
        word(V9_MQD_CP_HQD_PQ_WPTR_LO, written);
    }

    /// Has the first one name a ring.
    pub(crate) fn name_ring(&mut self, ring: u64) {
        let at = V9_MQD_CP_HQD_PQ_BASE_LO;
        self.0[at..at + 8].copy_from_slice(&(ring >> 8).to_ne_bytes());
    }

    pub(crate) fn give(&mut self, queue: *mut u8) {
        put(queue, QUEUE_MQD, self.0.as_mut_ptr());
        put(queue, P + QUEUE_PROPERTIES_CTL_STACK_SIZE, Self::STACK);
    }
}

/// What came of a transaction.
pub(crate) struct Transacted {
    pub(crate) result: Result<(), Failure>,
    /// What was done to each queue that was asked about.
    pub(crate) done: KVec<Done>,
    pub(crate) handed_over: HandedOver,
}

/// The node with its backend, and the keys of the four compute queues.
pub(crate) struct Scene<'a> {
    pub(crate) node: &'a Node<'a>,
    pub(crate) hws: Hws,
    pub(crate) kind: TransactionKind,
    pub(crate) keys: [QueueKey; 4],
}

impl Scene<'_> {
    /// One transaction. Says what came of it, and what was done to each queue.
    pub(crate) fn transact(&self, asked: &[(QueueKey, Action)]) -> Result<Transacted> {
        let mut requests = Requests::new(asked.len())?;
        requests.fill(asked.iter().copied());
        let mut orders = requests.each();
        let result = self.hws.transact(self.node, self.kind, &mut orders);
        let handed_over = orders.handed_over();
        let mut done = KVec::new();
        for &(key, _) in asked {
            done.push(requests.done(key), GFP_KERNEL)?;
        }
        Ok(Transacted {
            result: result.map(|_| ()),
            done,
            handed_over,
        })
    }

    /// One transaction about one queue, of which only the result matters.
    pub(crate) fn stop(&self, queue: usize) -> Result<Result<(), Failure>> {
        Ok(self.transact(&[(self.keys[queue], Action::Stop)])?.result)
    }

    /// Starts everything, and says how many queues that were.
    pub(crate) fn start_all(&self) -> Result<Result<u64, Failure>> {
        self.start_remembered(&[])
    }

    /// The same, where some queues are remembered to be stopped.
    pub(crate) fn start_remembered(&self, keys: &[QueueKey]) -> Result<Result<u64, Failure>> {
        let mut requests = Requests::new(QUEUE_SLOTS)?;
        let mut orders = requests.start_all(keys.iter().copied());
        let result = self.hws.transact(self.node, self.kind, &mut orders);
        Ok(result.map(|_| orders.started()))
    }

    /// Starts everything, of which nothing is in view, and says how many queues that were.
    pub(crate) fn start_beyond(&self) -> Result<Result<u64, Failure>> {
        let mut requests = Requests::new(QUEUE_SLOTS)?;
        let mut orders = requests.start_beyond(core::iter::empty());
        let result = self.hws.transact(self.node, self.kind, &mut orders);
        Ok(result.map(|_| orders.started()))
    }

    /// Counts queues with GWS that the driver has not, and says whether there was any.
    pub(crate) fn count_gws(&self) -> Result<Result<bool, Failure>> {
        let mut requests = Requests::new(QUEUE_SLOTS)?;
        let mut orders = requests.count_gws();
        let result = self.hws.transact(self.node, self.kind, &mut orders);
        Ok(result.map(|done| done.is_some()))
    }

    /// Puts back what is off the hardware, and says whether there was anything to do.
    pub(crate) fn put_back(&self) -> Result<Result<bool, Failure>> {
        let mut requests = Requests::new(0)?;
        let mut orders = requests.put_back();
        let result = self.hws.transact(self.node, self.kind, &mut orders);
        Ok(result.map(|done| done.is_some()))
    }

    /// Does one thing with some queues and says what became of each.
    pub(crate) fn all(&self, action: Action, queues: &[usize]) -> Result<KVec<Done>> {
        let mut asked = KVec::new();
        for &queue in queues {
            asked.push((self.keys[queue], action), GFP_KERNEL)?;
        }
        let transacted = self.transact(&asked)?;
        match transacted.result {
            Ok(()) => Ok(transacted.done),
            Err(failure) => failed(fmt!("{}", failure.why())),
        }
    }

    pub(crate) fn calls(&self, unmaps: u32, maps: u32) -> Result {
        let fake = Fake::now();
        match (fake.unmaps, fake.maps) {
            found if found == (unmaps, maps) => Ok(()),
            found => failed(fmt!("{found:?} calls instead of {:?}", (unmaps, maps))),
        }
    }

    pub(crate) fn left(&self, expected: State) -> Result {
        match State::now() {
            found if found == expected => Ok(()),
            found => failed(fmt!("{found:?} instead of {expected:?}")),
        }
    }
}

pub(crate) fn with_scene(test: impl FnOnce(&Scene<'_>) -> Result) -> Result {
    with_scene_of(TransactionKind::Driver, test)
}

pub(crate) fn with_scene_of(
    kind: TransactionKind,
    test: impl FnOnce(&Scene<'_>) -> Result,
) -> Result {
    let driver = Driver::pin()?.learn_layout()?;
    with_node(|node| {
        let survey = look(node)?;
        let [one, two, three, four] = survey.queues() else {
            return failed(fmt!("{} compute queues seen", survey.queues().len()));
        };
        let keys = [one, two, three, four].map(|seen| seen.facts.key);
        let hws = Hws::bind(&driver)?;
        test(&Scene {
            node,
            hws,
            kind,
            keys,
        })
    })
}
