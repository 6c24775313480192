// SPDX-License-Identifier: GPL-2.0-only
//! What is remembered of a node beside its queues.

use crate::pass::cost::Cost;
use crate::pass::questions::Questions;
use crate::process::recovery::Recovery;
use crate::settings::Mode;
use crate::terms::Nanos;

/// What is remembered of a node beside its queues.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    /// The time of the last pass.
    pub(crate) last: Option<Nanos>,
    /// The number of the last pass; it may wrap.
    pub(crate) pass: u32,
    /// How many queues, processes and tenants the storage holds.
    pub(crate) queues: usize,
    pub(crate) processes: usize,
    pub(crate) tenants: usize,
    pub(crate) cost: Cost,
    pub(crate) questions: Questions,
    pub(crate) recovery: Recovery,
    /// The mode of the last pass.
    pub(crate) mode: Option<Mode>,
    /// Everything is to be started before anything else: the mode has changed.
    pub(crate) releasing: bool,
}
