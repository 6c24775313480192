// SPDX-License-Identifier: GPL-2.0-only

//! What wakes the monitor threads out of turn: a queue was created, which concerns
//! one node's thread, or a parameter or a rule changed, or a GPU came or went, which
//! concerns all.

use crate::kernel::{bindings, owner::Owner};
use core::ptr::NonNull;
use kernel::{prelude::*, sync::atomic::Atomic};

/// What a thread has heard.
///
/// Read it before looking at anything: what happens between the look and the sleep
/// then ends the sleep at once.
pub struct Heard(pub(crate) bindings::gp_heard);

/// What wakes one thread.
///
/// # Invariants
///
/// The pointer is to an alarm that `gp_alarm_create` made and nobody has destroyed.
pub struct Alarm(NonNull<bindings::gp_alarm>);

// SAFETY: An alarm is only used by functions that may be called from any thread.
unsafe impl Send for Alarm {}
// SAFETY: Those functions synchronise among themselves, by atomic accesses and RCU.
unsafe impl Sync for Alarm {}

impl Alarm {
    /// Makes what wakes a thread.
    pub fn new() -> Result<Self> {
        // SAFETY: The function may be called wherever one may sleep, and no Rust code of
        // ours runs in an interrupt or makes an alarm with preemption disabled.
        let alarm = unsafe { bindings::gp_alarm_create() };
        // INVARIANT: Just made.
        NonNull::new(alarm).map(Self).ok_or(ENOMEM)
    }

    /// What was heard so far.
    pub fn heard(&self) -> Heard {
        // SAFETY: By the type's invariant the alarm is there.
        Heard(unsafe { bindings::gp_alarm_heard(self.0.as_ptr()) })
    }

    /// Has the creation of a queue on a node wake the thread; the node's name is
    /// compared only. Until then the thread is woken by the creation of any queue on
    /// a node that no thread listens to.
    pub fn listen_to(&self, node: usize) {
        // SAFETY: By the type's invariant the alarm is there, and any number may be
        // given, because the shim only compares it.
        unsafe { bindings::gp_alarm_set_node(self.0.as_ptr(), node) }
    }

    pub(crate) fn as_ptr(&self) -> *mut bindings::gp_alarm {
        self.0.as_ptr()
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant it is there; nobody sleeps on it, because
        // `Running::sleep` borrows it.
        unsafe { bindings::gp_alarm_destroy(self.0.as_ptr()) }
    }
}

/// Wakes all monitor threads.
pub fn all() {
    // SAFETY: The function may be called wherever a spinlock may be taken, and no Rust
    // code of ours runs in an interrupt, where it may not.
    unsafe { bindings::gp_call_all() }
}

/// While it lives, the creation of a KFD queue wakes the thread of its node.
///
/// # Invariants
///
/// The probe is registered, and was by whoever has the token.
pub struct CreationWatch {
    _owner: Owner,
}

/// Whether somebody owns the probe.
static OWNED: Atomic<bool> = Atomic::new(false);

impl CreationWatch {
    /// Starts the watch, unless somebody has it already. Fails where the kernel cannot
    /// probe functions.
    pub fn start() -> Result<Self> {
        let owner = Owner::of(&OWNED)?;
        // SAFETY: The call may sleep, as a module may while it is initialised, which is
        // when watches start. The probe is not registered, because that is its owner's
        // doing, and this is the only one; `Drop` ends the watch before the module's text
        // goes.
        kernel::error::to_result(unsafe { bindings::gp_creation_watch_start() })?;
        // INVARIANT: Just registered.
        Ok(Self { _owner: owner })
    }
}

impl Drop for CreationWatch {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant the probe is registered, and the owner, who is
        // dropped after this, is the only one to remove it.
        unsafe { bindings::gp_creation_watch_stop() }
    }
}
