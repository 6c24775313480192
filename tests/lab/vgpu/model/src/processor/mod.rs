// SPDX-License-Identifier: GPL-2.0-only
//! The packet processors: what the packets of a queue make the engines do.
//!
//! They have no state besides the queue's own, so a queue can leave its slot
//! between any two packets.

mod aql;
mod pm4;
pub mod sdma;

use crate::engines::Engines;
use crate::hws::Schedulers;
use crate::terms::{Format, QueueKey};
use pm4::CommandProcessor;

/// Dispatches of one queue that may be on the compute units at a time. The
/// control stack has room for their records.
const IN_FLIGHT: usize = 16;

/// A queue reads its next packet, if it may.
pub fn fetch(engines: &mut Engines, schedulers: &mut Schedulers, key: QueueKey) {
    let Some(queue) = engines.queues.take_fetch(&mut engines.bus, key) else {
        return;
    };
    let format = queue.format();
    let missed = engines.queues.miss_write_pointer(&mut engines.bus, key);
    let flow = missed.unwrap_or_else(|| match format {
        Format::Pm4 => CommandProcessor::new(engines, schedulers).pm4_fetch(key),
        Format::Aql => CommandProcessor::new(engines, schedulers).aql_fetch(key),
        Format::Sdma => sdma::fetch(engines, key),
    });
    engines.queues.flow(&mut engines.bus, key, flow);
}
