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
#[derive(Default)]
pub struct Files(KVec<KBox<dyn Entry>>);

/// A folder in debugfs with its files; they are removed when it is dropped.
///
/// # Invariants
///
/// The pointer is what the shim returned for the folder.
pub struct Folder {
    folder: *mut kernel::bindings::dentry,
    _files: Files,
}

// SAFETY: debugfs has locks of its own, and the files' content is `Send`.
unsafe impl Send for Folder {}
// SAFETY: debugfs has locks of its own, and the files' content is `Sync`.
unsafe impl Sync for Folder {}

/// A file with any content.
trait Entry: Send + Sync {
    fn name(&self) -> &'static CStr;
    /// What the shim needs, which points back to the whole.
    fn file(&mut self) -> *mut bindings::gp_file;
}

/// A file: what the shim needs, and what it shows.
struct File<S: Show> {
    name: &'static CStr,
    file: bindings::gp_file,
    show: S,
}

// SAFETY: The pointer in `file` is to `self`, and `S` is `Send`.
unsafe impl<S: Show> Send for File<S> {}
// SAFETY: The pointer in `file` is to `self`, and `S` is `Sync`.
unsafe impl<S: Show> Sync for File<S> {}

impl<S: Show> Entry for File<S> {
    fn name(&self) -> &'static CStr {
        self.name
    }

    fn file(&mut self) -> *mut bindings::gp_file {
        let data = core::ptr::from_mut(self);
        // SAFETY: The pointer was just made from a reference. It gives both, so
        // that neither is made from a borrow that ends with the other.
        unsafe {
            (*data).file.data = data.cast();
            &raw mut (*data).file
        }
    }
}

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

impl Files {
    /// Adds a file.
    pub fn add<S: Show>(&mut self, name: &'static CStr, show: S) -> Result {
        let file = bindings::gp_file {
            show: Some(File::<S>::show),
            data: core::ptr::null_mut(),
        };
        let entry = KBox::new(File { name, file, show }, GFP_KERNEL)?;
        Ok(self.0.push(entry, GFP_KERNEL)?)
    }

    /// Has them appear in a folder. A kernel without debugfs shows nothing, which
    /// is no error.
    pub fn appear(mut self, name: &CStr) -> Folder {
        // SAFETY: `name` is a string that outlives the call, which copies it. The call may
        // sleep, and nothing that forbids it is held where files are made.
        let folder = unsafe { bindings::gp_debugfs_create(name.as_char_ptr()) };
        for entry in &mut self.0 {
            let name = entry.name().as_char_ptr();
            // SAFETY: The folder is the shim's. The file and its data are in a box
            // that the result keeps until the folder is removed.
            unsafe { bindings::gp_debugfs_file(folder, name, entry.file()) };
        }
        // INVARIANT: The shim's result.
        Folder {
            folder,
            _files: self,
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this is what the shim returned. The files'
        // content is dropped only after that, when nobody reads them any more.
        unsafe { bindings::gp_debugfs_remove(self.folder) }
    }
}
