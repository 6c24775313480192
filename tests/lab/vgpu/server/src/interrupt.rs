// SPDX-License-Identifier: GPL-2.0-only
//! The device's one interrupt vector: an eventfd that the client lends.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

/// The vector's eventfd, if the guest has enabled it.
#[derive(Clone, Default)]
pub struct Vector(Arc<Mutex<Option<File>>>);

impl Vector {
    /// Replaces the eventfd; `None` disables the vector.
    pub fn set(&self, eventfd: Option<OwnedFd>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = eventfd.map(File::from);
    }

    /// Signals the vector; nothing happens while it is disabled.
    pub fn raise(&self) {
        let vector = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut eventfd) = vector.as_ref() {
            // The write fails only when the client has disconnected, and then
            // there is no guest to interrupt.
            let _ = eventfd.write_all(&1u64.to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::eventfd::EventFd;
    use std::os::fd::AsFd;

    #[test]
    fn raising_counts_on_the_eventfd_until_it_is_taken_away() {
        let eventfd = EventFd::new().unwrap();
        let vector = Vector::default();
        vector.raise();
        vector.set(Some(eventfd.as_fd().try_clone_to_owned().unwrap()));
        vector.raise();
        vector.raise();
        vector.set(None);
        vector.raise();
        assert_eq!(eventfd.read().unwrap(), 2);
    }
}
