// SPDX-License-Identifier: GPL-2.0-only
//! tinygrad as it is published, which speaks to KFD by itself: its queues are of PM4 packets
//! with one die, and of AQL packets that lead to buffers of PM4 packets with more. The
//! programs (`tests/tinygrad`) run alone first, and then beside a queue for which the module
//! stops them, as those in HIP do.

use anyhow::Result;
use e2e_protocol::Program;

use super::clients::{self, beside_urgent, chosen, with_files, Clients, Shown, Stopped, LONG};
use super::direct::DIRECT;
use crate::built::check_tinygrad;
use crate::cache::tinygrad;
use crate::guest::Guest;
use crate::image::files_below;
use crate::scenario::{Needs, Scenario, Suite};

pub const SCENARIOS: &[Scenario] = &[
    Scenario {
        suite: Suite::E2e,
        name: "tinygrad goes on where it was preempted",
        needs: Needs::ONCE.compiled(),
        run: |guest| preempted(guest, ""),
    },
    Scenario {
        suite: Suite::E2e,
        name:
            "tinygrad goes on where it was preempted, with each kernel and its queues of each kind",
        needs: LONG,
        run: |guest| preempted(guest, ""),
    },
    Scenario {
        suite: Suite::E2e,
        name: "tinygrad goes on where it was preempted with transaction=direct",
        needs: Needs {
            driver: DIRECT,
            ..LONG
        },
        run: |guest| preempted(guest, "transaction=direct"),
    },
];

/// All programs.
const PROGRAMS: &[&str] = &["matmul", "sort", "mlp"];
/// The one that runs where none is chosen.
const USUAL: &[&str] = &["mlp"];

/// Where tinygrad is in the guest.
const PLACE: &str = "/tmp/tinygrad";

fn preempted(guest: &mut Guest, parameters: &str) -> Result<()> {
    let programs = chosen(PROGRAMS, USUAL)?;
    with_tinygrad(guest, |guest| {
        let clients = Clients::start(guest, python(), &programs)?;
        beside_urgent(guest, parameters, clients, &programs)
    })
}

/// Takes tinygrad and the programs for it into the guest, and does something with them.
fn with_tinygrad<T>(guest: &mut Guest, run: impl FnOnce(&mut Guest) -> Result<T>) -> Result<T> {
    check_tinygrad()?;
    let files = files_below(&tinygrad()?)?;
    with_files(guest, &files, PLACE, run)
}

/// Has a network learn alone, and then beside an urgent load until it was stopped so often in
/// the middle of a kernel.
pub fn show(guest: &mut Guest, goal: u64, tell: &mut dyn FnMut(Stopped)) -> Result<Shown> {
    const PROGRAM: &str = "mlp";
    with_tinygrad(guest, |guest| {
        let clients = Clients::start(guest, python(), &[PROGRAM])?;
        clients::show(guest, clients, (PROGRAM, goal), tell)
    })
}

/// Python with the programs, without what they are told.
fn python() -> Program {
    let environment = [
        ("LD_LIBRARY_PATH", PLACE.to_owned()),
        ("PYTHONHOME", PLACE.to_owned()),
        ("PYTHONPATH", format!("{PLACE}/wheel")),
        ("HOME", PLACE.to_owned()),
        ("DEV", "KFD+AMD:LLVM".to_owned()),
        ("LLVM_PATH", format!("{PLACE}/libLLVM.so.19.1")),
        ("CACHEDB", format!("{PLACE}/cache.db")),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value));
    Program {
        program: format!("{PLACE}/python3"),
        // Not the module about what is installed, which looks for it on disks.
        arguments: vec!["-S".into(), format!("{PLACE}/tensors.py")],
        environment: environment.into(),
        ..Program::default()
    }
}
