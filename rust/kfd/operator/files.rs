// SPDX-License-Identifier: GPL-2.0-only

//! Files in debugfs that show something.
//!
//! The kernel crate's debugfs does not name the module as the owner of an open
//! file, so that closing one after rmmod would run code that is gone. Ours do.

use crate::kernel::{bindings, compat::*};
use kernel::{prelude::*, seq_file::SeqFile};

/// What a file shows.
pub trait Show: Send + Sync + 'static {
    /// Writes the file's content. Called in process context with no lock held.
    fn show(&self, out: &SeqFile) -> Result;
}

/// Files of a folder that does not exist yet.
///
/// All that can fail is done here. A module whose start fails is freed although
/// somebody has one of its files open, so that none may appear before.
pub struct Files<S: Show>(KVec<KBox<File<S>>>);

/// A folder in debugfs with its files; they are removed when it is dropped.
///
/// # Invariants
///
/// The pointer is what the shim returned for the folder.
pub struct Folder<S: Show> {
    folder: *mut kernel::bindings::dentry,
    _files: Files<S>,
}

// SAFETY: debugfs has locks of its own, and the files' content is `Send`.
unsafe impl<S: Show> Send for Folder<S> {}
// SAFETY: debugfs has locks of its own, and the files' content is `Sync`.
unsafe impl<S: Show> Sync for Folder<S> {}

/// A file: what the shim needs, and what it shows.
pub struct File<S: Show> {
    name: &'static CStr,
    file: bindings::gp_file,
    show: S,
}

// SAFETY: The pointer in `file` is to `self`, and `S` is `Send`.
unsafe impl<S: Show> Send for File<S> {}
// SAFETY: The pointer in `file` is to `self`, and `S` is `Sync`.
unsafe impl<S: Show> Sync for File<S> {}

impl<S: Show> File<S> {
    /// # Safety
    ///
    /// `out` must be to a seq_file that nobody else uses, `data` to a `Self`.
    unsafe extern "C" fn show(out: *mut kernel::bindings::seq_file, data: *mut c_void) -> c_int {
        // SAFETY: By the function's requirement `data` is to a `Self`, which outlives the
        // file that calls this.
        let file = unsafe { &*data.cast::<Self>() };
        // SAFETY: By the function's requirement nobody else uses the seq_file.
        let out = unsafe { SeqFile::from_raw(out) };
        match file.show.show(out) {
            Ok(()) => 0,
            Err(error) => error.to_errno(),
        }
    }
}

impl<S: Show> Files<S> {
    /// No files.
    pub fn new() -> Self {
        Self(KVec::new())
    }

    /// Adds a file.
    pub fn add(&mut self, name: &'static CStr, show: S) -> Result {
        let file = bindings::gp_file {
            show: Some(File::<S>::show),
            data: core::ptr::null_mut(),
        };
        let entry = KBox::new(File { name, file, show }, GFP_KERNEL)?;
        Ok(self.0.push(entry, GFP_KERNEL)?)
    }

    /// Has them appear in a folder. A kernel without debugfs shows nothing, which
    /// is no error.
    pub fn appear(mut self, name: &CStr) -> Folder<S> {
        // SAFETY: `name` is a string that outlives the call, which copies it. The call may
        // sleep, and nothing that forbids it is held where files are made.
        let folder = unsafe { bindings::gp_debugfs_create(name.as_char_ptr()) };
        for file in &mut self.0 {
            let name = file.name.as_char_ptr();
            let whole = core::ptr::from_mut::<File<S>>(file);
            // SAFETY: The folder is the shim's. The file is in a box that the result keeps
            // until the folder is removed. The pointer to it was just made from a
            // reference; it gives both, so that neither is made from a borrow that ends
            // with the other.
            unsafe {
                (*whole).file.data = whole.cast();
                bindings::gp_debugfs_file(folder, name, &raw mut (*whole).file);
            }
        }
        // INVARIANT: The shim's result.
        Folder {
            folder,
            _files: self,
        }
    }
}

impl<S: Show> Drop for Folder<S> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this is what the shim returned. The files'
        // content is dropped only after that, when nobody reads them any more.
        unsafe { bindings::gp_debugfs_remove(self.folder) }
    }
}
