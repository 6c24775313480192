// SPDX-License-Identifier: GPL-2.0-only

//! The task that runs.

use crate::bindings;
use core::marker::PhantomData;
use kernel::types::NotThreadSafe;

/// The task that runs, which does not leave its thread.
pub struct Current(NotThreadSafe);

/// The memory of a task.
pub struct Mm<'a>(*mut bindings::mm_struct, PhantomData<&'a Current>);

impl Current {
    #[doc(hidden)]
    pub fn new() -> Self {
        Self(kernel::types::NotThreadSafe)
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        // SAFETY: It can be called in every thread.
        unsafe { bindings::gp_kunit_pid() }
    }

    /// Its memory, if it has any.
    pub fn mm(&self) -> Option<Mm<'_>> {
        // SAFETY: It can be called in every thread.
        let mm = unsafe { bindings::gp_kunit_mm() };
        (!mm.is_null()).then_some(Mm(mm, PhantomData))
    }
}

impl Mm<'_> {
    /// As C has it.
    pub fn as_raw(&self) -> *mut bindings::mm_struct {
        self.0
    }
}

/// The task that runs.
#[macro_export]
macro_rules! current {
    () => {
        $crate::task::Current::new()
    };
}
