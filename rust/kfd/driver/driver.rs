// SPDX-License-Identifier: GPL-2.0-only

//! amdgpu as the driver core sees it.

use crate::kernel::{bindings, compat::*};
use core::{marker::PhantomPinned, pin::Pin, ptr::NonNull};
use kernel::{
    error::from_err_ptr,
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

/// How often the driver was let go of.
static LET_GO: Atomic<u32> = Atomic::new(0);

/// How often the driver was let go of: what is known of where it is in memory does not
/// hold beyond that, because it may have been unloaded.
pub(crate) fn times_let_go() -> u32 {
    LET_GO.load(Relaxed)
}

/// The amdgpu driver, which stays loaded while this lives.
///
/// # Invariants
///
/// The pointer is to the driver; a reference to its module is held.
pub struct Driver {
    driver: NonNull<kernel::bindings::device_driver>,
    /// Its type information was compared with what `transaction=direct` needs, and fits.
    has_direct: bool,
}

// SAFETY: Nothing in the driver is changed, and its reference may be dropped by
// any thread.
unsafe impl Send for Driver {}
// SAFETY: Nothing in the driver is changed through a reference to this.
unsafe impl Sync for Driver {}

impl Driver {
    /// Finds amdgpu and keeps it loaded.
    pub fn pin() -> Result<Self> {
        // SAFETY: The function asks for nothing and looks for the driver under RCU alone.
        let driver = from_err_ptr(unsafe { bindings::gp_amdgpu_get() })?;
        // INVARIANT: The shim took a reference to the driver's module.
        Ok(Self {
            driver: NonNull::new(driver).ok_or(ENODEV)?,
            has_direct: false,
        })
    }

    pub(crate) fn as_ptr(&self) -> *mut kernel::bindings::device_driver {
        self.driver.as_ptr()
    }

    /// Whether it has what `transaction=direct` needs, as far as anybody has looked.
    pub(crate) fn has_direct(&self) -> bool {
        self.has_direct
    }

    /// The same driver, of which somebody has looked whether it has that.
    pub(crate) fn with_direct(mut self, has_direct: bool) -> Self {
        self.has_direct = has_direct;
        self
    }

    /// For how many milliseconds it waits for queues to be taken off the hardware, which
    /// an operator may change at any time.
    pub(crate) fn preemption_limit_ms(&self) -> u32 {
        /// What amdgpu has by default.
        const DEFAULT: u32 = 9000;
        let mut limit = 0;
        let name = c"queue_preemption_timeout_ms".as_char_ptr();
        // SAFETY: By the type's invariant the driver is there and its module loaded; the
        // name is a string, and `limit` is ours.
        let known = unsafe { bindings::gp_amdgpu_number(self.as_ptr(), name, &mut limit) };
        let limit = u32::try_from(limit)
            .ok()
            .filter(|&limit| known && limit > 0);
        limit.unwrap_or(DEFAULT)
    }
}

impl Clone for Driver {
    fn clone(&self) -> Self {
        // SAFETY: By the type's invariant the driver is there and its module loaded.
        unsafe { bindings::gp_amdgpu_hold(self.as_ptr()) };
        // INVARIANT: A reference to the module was just taken.
        Self {
            driver: self.driver,
            has_direct: self.has_direct,
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        LET_GO.fetch_add(1, Relaxed);
        // SAFETY: By the type's invariant a reference is held, and this is its
        // end.
        unsafe { bindings::gp_amdgpu_put(self.as_ptr()) }
    }
}

/// A device of the driver core, with a reference.
///
/// # Invariants
///
/// The pointer is to a device on which a reference is held.
#[derive(PartialEq, Eq)]
pub struct Device(NonNull<kernel::bindings::device>);

// SAFETY: References may be taken and dropped by any thread.
unsafe impl Send for Device {}
// SAFETY: Only references are taken and dropped through a shared one, and the name is
// read, which any thread may do.
unsafe impl Sync for Device {}

impl Device {
    /// Takes a reference.
    ///
    /// # Safety
    ///
    /// `device` must be to a device that is alive during the call.
    pub(crate) unsafe fn from_raw(device: *mut kernel::bindings::device) -> Option<Self> {
        let device = NonNull::new(device)?;
        // SAFETY: By the function's requirement the device is alive.
        unsafe { bindings::gp_device_get(device.as_ptr()) };
        // INVARIANT: The reference was just taken.
        Some(Self(device))
    }

    pub(crate) fn as_ptr(&self) -> *mut kernel::bindings::device {
        self.0.as_ptr()
    }

    /// The device's name: a PCI address.
    pub fn name(&self) -> &CStr {
        // SAFETY: By the type's invariant the device is alive, and a bound
        // device keeps its name.
        unsafe { CStr::from_char_ptr(bindings::gp_device_name(self.0.as_ptr())) }
    }
}

impl Clone for Device {
    fn clone(&self) -> Self {
        // SAFETY: By the type's invariant the device is alive.
        unsafe { bindings::gp_device_get(self.0.as_ptr()) };
        // INVARIANT: The reference was just taken.
        Self(self.0)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant a reference is held, and this is its
        // end.
        unsafe { bindings::gp_device_put(self.0.as_ptr()) }
    }
}

/// Receives what happens to the devices of amdgpu.
pub trait Listener: Send + Sync + 'static {
    /// The driver has taken a device, or had taken it when the watch began.
    fn bound(&self, device: Bound<'_>);
    /// The driver is about to let go of a device.
    fn unbinding(&self, device: &Device);
    /// The watch is about to end: later events are not reported, so that no device may
    /// be used any more when this returns.
    fn close(&self);
}

/// A device that amdgpu is bound to; it stays so while this lives.
///
/// # Invariants
///
/// The device's lock is held and amdgpu is bound to it.
pub struct Bound<'a>(&'a Device);

impl Bound<'_> {
    /// The device.
    pub fn device(&self) -> &Device {
        self.0
    }
}

/// A watch over the devices of amdgpu.
#[pin_data(PinnedDrop)]
pub struct Watch<L: Listener> {
    listener: L,
    driver: Driver,
    /// Made by the shim, which calls [`Watch::event`] with this value until `drop`.
    watch: NonNull<bindings::gp_bus_watch>,
    /// The shim knows where this value is.
    #[pin]
    _pinned: PhantomPinned,
}

// SAFETY: The watch is only touched by the kernel, under its own locks.
unsafe impl<L: Listener> Send for Watch<L> {}
// SAFETY: The watch is only touched by the kernel, under its own locks, and `L` is `Sync`.
unsafe impl<L: Listener> Sync for Watch<L> {}

impl<L: Listener> Watch<L> {
    /// Starts a watch. Call [`Watch::find`] afterwards for the devices that are
    /// there already.
    pub fn new(driver: Driver, listener: L) -> impl PinInit<Self, Error> {
        let raw = driver.as_ptr();
        try_pin_init!(&this in Self {
            listener,
            driver,
            _pinned: PhantomPinned,
            // SAFETY: `raw` is that of `driver`. Only the listener is read through the
            // pointer, which is initialised by now; it is pinned, and nothing but `drop`
            // ends it, which ends the watch.
            watch: unsafe { Self::start(raw, this) }?,
        }? Error)
    }

    /// # Safety
    ///
    /// The driver must be loaded, and the listener of `this` initialised, until the
    /// watch is stopped.
    unsafe fn start(
        driver: *mut kernel::bindings::device_driver,
        this: NonNull<Self>,
    ) -> Result<NonNull<bindings::gp_bus_watch>> {
        // SAFETY: By the function's requirement, `event` can be called with `this`.
        let watch = unsafe {
            bindings::gp_bus_watch_start(driver, Some(Self::event), this.as_ptr().cast())
        };
        NonNull::new(from_err_ptr(watch)?).ok_or(ENOMEM)
    }

    /// The listener.
    pub fn listener(&self) -> &L {
        &self.listener
    }

    /// Tells the listener about the devices that amdgpu is bound to already.
    pub fn find(&self) -> Result {
        let data = core::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: `found` takes a pointer to a watch, and is called during
        // this call only.
        kernel::error::to_result(unsafe {
            bindings::gp_amdgpu_each(self.driver.as_ptr(), Some(Self::found), data)
        })
    }

    /// # Safety
    ///
    /// `data` must be to a `Self` whose listener is initialised, `device` to a
    /// device whose lock is held.
    unsafe extern "C" fn event(
        data: *mut c_void,
        device: *mut kernel::bindings::device,
        bound: bool,
    ) {
        // SAFETY: By the function's requirement the listener is there; a reference to the whole, of
        // which other fields may not be initialised yet, never exists.
        let listener = unsafe { &(*data.cast::<Self>()).listener };
        // SAFETY: By the function's requirement the device is locked, and so is alive.
        let Some(device) = (unsafe { Device::from_raw(device) }) else {
            return;
        };
        if bound {
            // INVARIANT: The driver core holds the lock and has just bound it.
            listener.bound(Bound(&device));
        } else {
            listener.unbinding(&device);
        }
    }

    /// # Safety
    ///
    /// `data` must be to a `Self` whose listener is initialised, `device` to a device
    /// that is bound and whose lock is held.
    unsafe extern "C" fn found(data: *mut c_void, device: *mut kernel::bindings::device) {
        // SAFETY: By the function's requirement `data` is to a `Self` whose listener is
        // initialised, and the device is locked.
        unsafe { Self::event(data, device, true) }
    }
}

#[pinned_drop]
impl<L: Listener> PinnedDrop for Watch<L> {
    fn drop(self: Pin<&mut Self>) {
        self.listener.close();
        // SAFETY: `new` started the watch, and it is still where it was.
        unsafe { bindings::gp_bus_watch_stop(self.watch.as_ptr()) }
    }
}
