// SPDX-License-Identifier: GPL-2.0-only
//! Changing the module alone, and to the end.

use std::fs::File;
use std::io;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};

use crate::host::tree::{cannot, Host, Refusal, MODULE};
use crate::module::kernel::rules_path;

/// As long as it is there, no other program has one for this host, and the thread
/// is not ended by a signal that asks for it, which would leave half a
/// configuration in force.
#[derive(Debug)]
pub struct Turn {
    _lock: Flock<File>,
    signals: SigSet,
}

impl Host {
    /// Waits until no other program has its turn.
    pub fn turn(&self) -> Result<Turn, Refusal> {
        self.need_module()?;
        // One folder for all programs of the host: a unit without a network has a sysfs of
        // its own, where a lock excludes nobody else. Only root can open either, so that
        // nobody else can keep others waiting.
        let tables = self.path("sys/kernel/debug").join(MODULE);
        let (path, opened) = match File::open(&tables) {
            // Nothing is applied without the tables; rules can still be typed.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let rules = self.path(rules_path("add"));
                let opened = File::options().write(true).open(&rules);
                (rules, opened)
            }
            opened => (tables, opened),
        };
        let wrong = |error: io::Error| cannot("open", &path, &error);
        let mut file = opened.map_err(wrong)?;
        let lock = loop {
            match Flock::lock(file, FlockArg::LockExclusive) {
                Ok(lock) => break lock,
                Err((same, Errno::EINTR)) => file = same,
                Err((_, error)) => return Err(wrong(error.into())),
            }
        };
        let mut asked = SigSet::empty();
        for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM] {
            asked.add(signal);
        }
        let signals = asked
            .thread_swap_mask(SigmaskHow::SIG_BLOCK)
            .map_err(|error| wrong(error.into()))?;
        Ok(Turn {
            _lock: lock,
            signals,
        })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // The mask was in force before, so that it is one that the kernel takes.
        let _ = self.signals.thread_set_mask();
    }
}
