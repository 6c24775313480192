// SPDX-License-Identifier: GPL-2.0

//! Files in debugfs that show something.
//!
//! The kernel crate's debugfs does not name the module as the owner of an open
//! file, so that closing one after rmmod would run code that is gone. Ours do.

use crate::bindings;
use crate::compat::*;
use core::ptr::NonNull;
use kernel::prelude::*;
use kernel::seq_file::SeqFile;

/// What a file shows.
pub trait Show: Send + Sync + 'static {
    /// Writes the file's content. Called in process context with no lock held.
    fn show(&self, out: &SeqFile) -> Result;
}

/// A folder in debugfs with its files; they are removed when it is dropped.
///
/// # Invariants
///
/// The pointer is what the shim returned for the folder.
pub struct Folder {
    folder: NonNull<kernel::bindings::dentry>,
    files: KVec<KBox<dyn Entry>>,
}

// SAFETY: debugfs has locks of its own, and the files' content is `Send`.
unsafe impl Send for Folder {}
// SAFETY: As above; the content is `Sync`.
unsafe impl Sync for Folder {}

/// Something that stays in memory as long as the folder.
trait Entry: Send + Sync {}

/// A file: what the shim needs, and what it shows.
struct File<S: Show> {
    file: bindings::gp_file,
    show: S,
}

// SAFETY: The pointer in `file` is to `self`, and `S` is `Send`.
unsafe impl<S: Show> Send for File<S> {}
// SAFETY: As above.
unsafe impl<S: Show> Sync for File<S> {}

impl<S: Show> Entry for File<S> {}

impl<S: Show> File<S> {
    /// # Safety
    ///
    /// `out` must be to a seq_file that nobody else uses, `data` to a `Self`.
    unsafe extern "C" fn show(out: *mut kernel::bindings::seq_file, data: *mut c_void) -> c_int {
        // SAFETY: By the function's requirement.
        let file = unsafe { &*data.cast::<Self>() };
        // SAFETY: By the function's requirement.
        let out = unsafe { SeqFile::from_raw(out) };
        match file.show.show(out) {
            Ok(()) => 0,
            Err(error) => error.to_errno(),
        }
    }
}

impl Folder {
    /// Creates a folder. A kernel without debugfs shows nothing, which is no
    /// error.
    pub fn new(name: &CStr) -> Result<Self> {
        // SAFETY: `name` is a string; process context.
        let folder = unsafe { bindings::gp_debugfs_create(name.as_char_ptr()) };
        Ok(Self {
            // INVARIANT: The shim's result.
            folder: NonNull::new(folder).ok_or(ENOMEM)?,
            files: KVec::new(),
        })
    }

    /// Adds a file.
    pub fn add<S: Show>(&mut self, name: &CStr, show: S) -> Result {
        let mut entry = KBox::new(
            File {
                file: bindings::gp_file {
                    show: Some(File::<S>::show),
                    data: core::ptr::null_mut(),
                },
                show,
            },
            GFP_KERNEL,
        )?;
        let data: *mut File<S> = &mut *entry;
        entry.file.data = data.cast();
        let file = &raw mut entry.file;
        self.files.push(entry, GFP_KERNEL)?;
        // SAFETY: `file` and its data are in a box that `self` keeps until the
        // folder is removed.
        unsafe { bindings::gp_debugfs_file(self.folder.as_ptr(), name.as_char_ptr(), file) };
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant. The files' content is dropped only
        // after that, when nobody reads them any more.
        unsafe { bindings::gp_debugfs_remove(self.folder.as_ptr()) }
    }
}
