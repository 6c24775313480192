// SPDX-License-Identifier: GPL-2.0-only

//! A folder in sysfs, whose files show and take the values of one owner.

use crate::kernel::{bindings, compat::*};
use core::ptr::NonNull;
use kernel::{
    error::{from_err_ptr, from_result},
    page::PAGE_SIZE,
    prelude::*,
    str::Formatter,
};

/// The text that was written to a file.
///
/// # Safety
///
/// `text` must be to `length` bytes that stay as they are for the lifetime.
pub(super) unsafe fn written<'a>(text: *const c_char, length: usize) -> Result<&'a str> {
    // SAFETY: By the function's requirement so many bytes are there and stay as they are.
    let bytes = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length) };
    core::str::from_utf8(bytes).map_err(|_| EINVAL)
}

/// The files of a folder, by their numbers.
pub(super) trait Files: Send + Sync + 'static {
    /// Writes what a file shows, without the end of the line. Called in process context
    /// with no lock held.
    fn show(&self, file: u32, out: &mut Formatter<'_>) -> Result;
    /// Takes what was written to a file.
    fn store(&self, file: u32, text: &str) -> Result;
}

/// Which files are in a folder.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// Those of a GPU.
    Gpu,
    /// Those of a node.
    Node,
}

impl Kind {
    fn as_c(self) -> bindings::gp_folder_kind {
        match self {
            Kind::Gpu => bindings::gp_folder_kind_GP_FOLDER_GPU,
            Kind::Node => bindings::gp_folder_kind_GP_FOLDER_NODE,
        }
    }
}

/// A folder.
///
/// Dropping it waits for those who read and write its files, and until the folders in it
/// have been dropped: hold nothing that the files take.
///
/// # Invariants
///
/// The pointer is to a folder made by the shim whose data is `_files`.
pub(super) struct Folder<F: Files> {
    folder: NonNull<bindings::gp_folder>,
    _files: KBox<F>,
}

// SAFETY: sysfs has locks of its own, and the files are `Send`.
unsafe impl<F: Files> Send for Folder<F> {}
// SAFETY: sysfs has locks of its own, and the files are `Sync`.
unsafe impl<F: Files> Sync for Folder<F> {}

impl<F: Files> Folder<F> {
    const OPS: &'static bindings::gp_folder_ops = &bindings::gp_folder_ops {
        show: Some(Self::show),
        store: Some(Self::store),
    };

    /// Creates a folder in a device.
    ///
    /// # Safety
    ///
    /// The device must be one of the shim's and there during the call.
    pub(super) unsafe fn in_device(
        device: NonNull<bindings::gp_root>,
        name: &CStr,
        kind: Kind,
        files: F,
    ) -> Result<Self> {
        // SAFETY: By the function's requirement the device is there.
        unsafe { Self::create(device.as_ptr(), core::ptr::null_mut(), name, kind, files) }
    }

    /// Creates a folder in another one.
    pub(super) fn in_folder<P: Files>(
        parent: &Folder<P>,
        name: &CStr,
        kind: Kind,
        files: F,
    ) -> Result<Self> {
        let parent = parent.folder.as_ptr();
        // SAFETY: By the type's invariant the parent is there.
        unsafe { Self::create(core::ptr::null_mut(), parent, name, kind, files) }
    }

    /// # Safety
    ///
    /// One of `device` and `parent` must be there during the call; the other one may be null.
    unsafe fn create(
        device: *mut bindings::gp_root,
        parent: *mut bindings::gp_folder,
        name: &CStr,
        kind: Kind,
        files: F,
    ) -> Result<Self> {
        let files = KBox::new(files, GFP_KERNEL)?;
        let data = core::ptr::from_ref::<F>(&files).cast_mut().cast();
        let (name, kind) = (name.as_char_ptr(), kind.as_c());
        // SAFETY: By the function's requirement there is something to put it into; the name
        // is copied; the files live in the result, whose `Drop` removes the folder first.
        let folder = from_err_ptr(unsafe {
            bindings::gp_folder_create(device, parent, name, kind, Self::OPS, data)
        })?;
        Ok(Self {
            // INVARIANT: Just made.
            folder: NonNull::new(folder).ok_or(ENOMEM)?,
            _files: files,
        })
    }

    /// # Safety
    ///
    /// `data` must be to the files of a folder, `page` to a page.
    unsafe extern "C" fn show(data: *mut c_void, file: u32, page: *mut c_char) -> isize {
        // SAFETY: By the function's requirement `data` is to the files, which outlive the
        // folder that calls this.
        let files = unsafe { &*data.cast::<F>() };
        // SAFETY: By the function's requirement there is a page, which is nobody else's
        // during the call.
        let page = unsafe { core::slice::from_raw_parts_mut(page.cast::<u8>(), PAGE_SIZE) };
        from_result(|| {
            let mut out = Formatter::new(page);
            files.show(file, &mut out)?;
            core::fmt::Write::write_str(&mut out, "\n").map_err(|_| EINVAL)?;
            isize::try_from(out.bytes_written()).map_err(|_| EINVAL)
        })
    }

    /// # Safety
    ///
    /// `data` must be to the files of a folder, `text` to `length` bytes.
    unsafe extern "C" fn store(
        data: *mut c_void,
        file: u32,
        text: *const c_char,
        length: usize,
    ) -> c_int {
        // SAFETY: By the function's requirement `data` is to the files, which outlive the
        // folder that calls this.
        let files = unsafe { &*data.cast::<F>() };
        // SAFETY: By the function's requirement `text` is to `length` bytes that stay as
        // they are during the call.
        let text = unsafe { written(text, length) };
        from_result(|| files.store(file, text?).map(|()| 0))
    }
}

impl<F: Files> Drop for Folder<F> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the folder's end.
        unsafe { bindings::gp_folder_remove(self.folder.as_ptr()) }
    }
}
