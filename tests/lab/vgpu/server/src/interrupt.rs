// SPDX-License-Identifier: GPL-2.0-only
//! The device's one interrupt vector.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use crate::guest_time::GuestTime;

/// The vector's eventfd that the client lends, if the guest has enabled it.
#[derive(Clone, Default)]
pub struct Vector {
    eventfd: Arc<Mutex<Option<File>>>,
    /// Through which QEMU learns of an interrupt where it shares the guest's clock, since
    /// it would look at the eventfd at a time of the host's choice.
    time: Option<Arc<GuestTime>>,
}

impl Vector {
    pub fn of_guest(time: Arc<GuestTime>) -> Vector {
        Vector {
            eventfd: Arc::default(),
            time: Some(time),
        }
    }

    /// Replaces the eventfd; `None` disables the vector.
    pub fn set(&self, eventfd: Option<OwnedFd>) {
        *self.eventfd.lock().unwrap_or_else(PoisonError::into_inner) = eventfd.map(File::from);
    }

    /// Signals the vector; nothing happens while it is disabled.
    pub fn raise(&self) {
        let vector = self.eventfd.lock().unwrap_or_else(PoisonError::into_inner);
        match (vector.as_ref(), &self.time) {
            (None, _) => {}
            (Some(_), Some(time)) => time.raise(),
            (Some(mut eventfd), None) => {
                // The write fails only when the client has disconnected, and then
                // there is no guest to interrupt.
                let _ = eventfd.write_all(&1u64.to_ne_bytes());
            }
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

    #[test]
    fn with_the_guests_clock_only_an_enabled_vector_is_raised() {
        let time = Arc::new(GuestTime::without_guest().unwrap());
        let vector = Vector::of_guest(Arc::clone(&time));
        vector.raise();
        assert!(!time.take_raised());
        let eventfd = EventFd::new().unwrap();
        vector.set(Some(eventfd.as_fd().try_clone_to_owned().unwrap()));
        vector.raise();
        assert!(time.take_raised());
        vector.set(None);
        vector.raise();
        assert!(!time.take_raised());
    }
}
