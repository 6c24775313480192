// SPDX-License-Identifier: GPL-2.0-only

//! Files that are written when they are read.

use crate::bindings;
use core::{cell::UnsafeCell, fmt, fmt::Write, marker::PhantomData};

/// A file that is being read.
///
/// # Invariants
///
/// References to this type are to a `seq_file` of the kernel that is being shown.
#[repr(transparent)]
pub struct SeqFile(UnsafeCell<bindings::seq_file>, PhantomData<*mut ()>);

impl SeqFile {
    /// The file that C is showing.
    ///
    /// # Safety
    ///
    /// It must be one that is being shown by this thread, for as long as the result lives.
    pub unsafe fn from_raw<'a>(file: *mut bindings::seq_file) -> &'a Self {
        // SAFETY: By the function's requirement the file is there for so long; nothing of it is
        // looked at, since to Rust it has no bytes.
        // INVARIANT: By the function's requirement it is being shown by this thread.
        unsafe { &*file.cast() }
    }

    /// Writes text. When the kernel's buffer is full, it shows the file again with a
    /// larger one.
    pub fn call_printf(&self, arguments: fmt::Arguments<'_>) {
        // Writing does not fail.
        let _ = Out(self).write_fmt(arguments);
    }
}

struct Out<'a>(&'a SeqFile);

impl Write for Out<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: By the type's invariant the file is being shown by this thread, which
        // the reference does not leave. So many bytes are there.
        unsafe { bindings::gp_rt_seq_write(self.0 .0.get(), text.as_ptr(), text.len()) };
        Ok(())
    }
}

/// Writes text to a [`SeqFile`].
#[macro_export]
macro_rules! seq_print {
    ($file:expr, $($arguments:tt)+) => { $file.call_printf($crate::fmt!($($arguments)+)) };
}
