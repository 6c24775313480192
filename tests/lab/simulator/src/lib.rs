// SPDX-License-Identifier: GPL-2.0-only

//! A discrete-event simulator of one GPU node, driven at GPU speed by any
//! preemption policy: nobody, KFD's pipe classes, the module's own policies
//! (the very function that runs in the kernel), a poller in user space, and
//! reset and resubmit.
//!
//! docs/simulation says what is modelled, from which sources, and shows the
//! sweeps that chose the defaults of the policy parameters.

pub mod baselines;
pub mod controller;
pub mod document;
pub mod documented;
pub mod engine;
pub mod gpu;
pub mod kernel;
pub mod loads;
pub mod monitor;
pub mod pictures;
pub mod policies;
pub mod reference;
pub mod report;
pub mod score;
pub mod services;
pub mod shape;
pub mod simulation;
pub mod summary;
pub mod sweep;
pub mod workload;
