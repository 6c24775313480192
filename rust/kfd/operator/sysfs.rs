// SPDX-License-Identifier: GPL-2.0-only

//! The device `amd_gpreempt` in sysfs: the files through which rules come and
//! go, and a folder for each GPU and each of its nodes, with one value a file.

use crate::kernel::bindings;
use crate::kernel::compat::*;
use crate::operator::rules::Rules;
use crate::operator::settings::formatter;
use crate::operator::settings::names;
use crate::operator::settings::GpuParameters;
use core::ptr::NonNull;
use gpreempt_policy::PARAMETER_COUNT;
use kernel::error::from_err_ptr;
use kernel::error::from_result;
use kernel::page::PAGE_SIZE;
use kernel::prelude::*;
use kernel::str::CString;
use kernel::str::Formatter;
use kernel::sync::Arc;

/// The text that was written to a file.
///
/// # Safety
///
/// `text` must be to `length` bytes that stay as they are for the lifetime.
unsafe fn written<'a>(text: *const c_char, length: usize) -> Result<&'a str> {
    // SAFETY: By the function's requirement so many bytes are there and stay as they are.
    let bytes = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), length) };
    core::str::from_utf8(bytes).map_err(|_| EINVAL)
}

/// The device, with the files for rules.
///
/// # Invariants
///
/// `device` was made by the shim with `ops`, whose data is `rules`.
pub struct Root {
    device: NonNull<kernel::bindings::faux_device>,
    _ops: KBox<bindings::gp_root_ops>,
    _rules: Arc<Rules>,
}

// SAFETY: The driver core has locks of its own, and `Rules` is `Send`.
unsafe impl Send for Root {}
// SAFETY: The driver core has locks of its own, and `Rules` is `Sync`.
unsafe impl Sync for Root {}

impl Root {
    /// Creates the device.
    pub fn new(rules: Arc<Rules>) -> Result<Self> {
        let data = core::ptr::from_ref::<Rules>(&rules).cast_mut().cast();
        let mut ops = KBox::new(
            bindings::gp_root_ops {
                add: Some(Self::add),
                del: Some(Self::del),
                data,
            },
            GFP_KERNEL,
        )?;
        // SAFETY: `ops` and the rules live in the result, whose `Drop` removes
        // the device first.
        let device = from_err_ptr(unsafe {
            bindings::gp_root_create(c"amd_gpreempt".as_char_ptr(), &mut *ops)
        })?;
        Ok(Self {
            // INVARIANT: Just made.
            device: NonNull::new(device).ok_or(ENODEV)?,
            _ops: ops,
            _rules: rules,
        })
    }

    /// # Safety
    ///
    /// `data` must be to the rules, `text` to `length` bytes.
    unsafe extern "C" fn add(data: *mut c_void, text: *const c_char, length: usize) -> c_int {
        // SAFETY: By the function's requirement `data` is to the rules, which outlive the
        // device whose file calls this, and `text` is to `length` bytes.
        let (rules, text) = unsafe { (&*data.cast::<Rules>(), written(text, length)) };
        from_result(|| rules.add(text?).map(|()| 0))
    }

    /// # Safety
    ///
    /// `data` must be to the rules, `text` to `length` bytes.
    unsafe extern "C" fn del(data: *mut c_void, text: *const c_char, length: usize) -> c_int {
        // SAFETY: By the function's requirement `data` is to the rules, which outlive the
        // device whose file calls this, and `text` is to `length` bytes.
        let (rules, text) = unsafe { (&*data.cast::<Rules>(), written(text, length)) };
        from_result(|| rules.del(text?).map(|()| 0))
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the device's end.
        unsafe { bindings::gp_root_remove(self.device.as_ptr()) }
    }
}

/// A value of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Armed, or why not; writing `armed` arms.
    State,
    /// KFD's number of the node.
    GpuId,
    /// How queues are stopped.
    Backend,
    /// Compute queues.
    Queues,
    /// Queues that are stopped.
    Stopped,
    /// Looks at the queues.
    Passes,
    /// Inversions that were found.
    Inversions,
    /// Queues that were stopped.
    Stops,
    /// Queues that were started.
    Starts,
    /// Transactions with the driver.
    Transactions,
    /// Those that failed.
    Failures,
    /// Stopped queues that something else started.
    Healed,
    /// Queues that there is no room for.
    Exempt,
}

impl Value {
    fn from_c(value: u32) -> Option<Self> {
        Some(match value {
            bindings::gp_node_value_GP_NODE_VALUE_state => Value::State,
            bindings::gp_node_value_GP_NODE_VALUE_gpu_id => Value::GpuId,
            bindings::gp_node_value_GP_NODE_VALUE_backend => Value::Backend,
            bindings::gp_node_value_GP_NODE_VALUE_queues => Value::Queues,
            bindings::gp_node_value_GP_NODE_VALUE_stopped => Value::Stopped,
            bindings::gp_node_value_GP_NODE_VALUE_passes => Value::Passes,
            bindings::gp_node_value_GP_NODE_VALUE_inversions => Value::Inversions,
            bindings::gp_node_value_GP_NODE_VALUE_stops => Value::Stops,
            bindings::gp_node_value_GP_NODE_VALUE_starts => Value::Starts,
            bindings::gp_node_value_GP_NODE_VALUE_transactions => Value::Transactions,
            bindings::gp_node_value_GP_NODE_VALUE_failures => Value::Failures,
            bindings::gp_node_value_GP_NODE_VALUE_healed => Value::Healed,
            bindings::gp_node_value_GP_NODE_VALUE_exempt => Value::Exempt,
            _ => return None,
        })
    }
}

/// The values of a node.
pub trait Values: Send + Sync + 'static {
    /// Writes a value. Called in process context with no lock held.
    fn show(&self, value: Value, out: &mut Formatter<'_>) -> Result;
    /// Takes a value.
    fn store(&self, value: Value, text: &str) -> Result;
}

/// What the files of a GPU show.
struct GpuValues {
    address: CString,
    parameters: GpuParameters,
}

impl GpuValues {
    fn new(address: &CStr) -> Result<KBox<Self>> {
        let values = Self {
            address: CString::try_from_fmt(fmt!("{}", address.to_str().or(Err(EINVAL))?))?,
            parameters: GpuParameters::new(address)?,
        };
        Ok(KBox::new(values, GFP_KERNEL)?)
    }
}

/// A folder of a GPU, for its parameters and the folders of its nodes.
///
/// # Invariants
///
/// The pointer is to a folder made by the shim whose data is `values`.
pub struct GpuFolder {
    folder: NonNull<bindings::gp_folder>,
    values: KBox<GpuValues>,
}

// SAFETY: sysfs has locks of its own, and the parameters have theirs.
unsafe impl Send for GpuFolder {}
// SAFETY: sysfs has locks of its own, and the parameters have theirs.
unsafe impl Sync for GpuFolder {}

impl GpuFolder {
    const OPS: &'static bindings::gp_folder_ops = &bindings::gp_folder_ops {
        show: Some(Self::show),
        store: Some(refuse_to_store),
    };

    /// Creates the folder of the GPU at an address.
    pub fn new(root: &Root, address: &CStr) -> Result<Self> {
        let values = GpuValues::new(address)?;
        let name = CString::try_from_fmt(fmt!("gpu_{}", values.address.to_str().or(Err(EINVAL))?))?;
        let data = core::ptr::from_ref::<GpuValues>(&values).cast_mut().cast();
        // SAFETY: By the invariant of `Root` the device is there; the values live in the
        // result, whose `Drop` removes the folder first.
        let folder = from_err_ptr(unsafe {
            bindings::gp_folder_create(
                root.device.as_ptr(),
                core::ptr::null_mut(),
                name.as_char_ptr(),
                bindings::gp_folder_kind_GP_FOLDER_GPU,
                Self::OPS,
                data,
            )
        })?;
        Ok(Self {
            // INVARIANT: Just made.
            folder: NonNull::new(folder).ok_or(ENOMEM)?,
            values,
        })
    }

    /// # Safety
    ///
    /// `data` must be to the values of a GPU, `page` to a page.
    unsafe extern "C" fn show(data: *mut c_void, _value: u32, page: *mut c_char) -> isize {
        // SAFETY: By the function's requirement `data` is to the values, which outlive the
        // folder whose file calls this.
        let values = unsafe { &*data.cast::<GpuValues>() };
        // SAFETY: By the function's requirement there is a page, which is nobody else's
        // during the call.
        let page = unsafe { core::slice::from_raw_parts_mut(page.cast::<u8>(), PAGE_SIZE) };
        from_result(|| show_line(page, |out| values.parameters.show_own(out)))
    }
}

/// For a folder whose files nobody may write.
extern "C" fn refuse_to_store(_: *mut c_void, _: u32, _: *const c_char, _: usize) -> c_int {
    EACCES.to_errno()
}

impl Drop for GpuFolder {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the folder's end.
        unsafe { bindings::gp_folder_remove(self.folder.as_ptr()) }
    }
}

/// The folder with the parameters of a GPU.
///
/// Dropping it waits for those who read and write its files, which take the lock of the
/// parameters and no other.
///
/// # Invariants
///
/// The pointer is to a folder made by the shim whose data is `_values`.
pub struct ParametersFolder {
    folder: NonNull<bindings::gp_folder>,
    _values: KBox<GpuValues>,
}

// SAFETY: sysfs has locks of its own, and the parameters have theirs.
unsafe impl Send for ParametersFolder {}
// SAFETY: sysfs has locks of its own, and the parameters have theirs.
unsafe impl Sync for ParametersFolder {}

impl ParametersFolder {
    const OPS: &'static bindings::gp_folder_ops = &bindings::gp_folder_ops {
        show: Some(Self::show),
        store: Some(Self::store),
    };

    /// Creates the folder, with all its files.
    pub fn new(root: &Root, gpu: &GpuFolder) -> Result<Self> {
        let values = GpuValues::new(&gpu.values.address)?;
        let data = core::ptr::from_ref::<GpuValues>(&values).cast_mut().cast();
        // SAFETY: Device and parent are there, by the invariants of their types; the
        // values live in the result, whose `Drop` removes the folder first.
        let folder = from_err_ptr(unsafe {
            bindings::gp_folder_create(
                root.device.as_ptr(),
                gpu.folder.as_ptr(),
                c"parameters".as_char_ptr(),
                bindings::gp_folder_kind_GP_FOLDER_PLAIN,
                Self::OPS,
                data,
            )
        })?;
        let parameters = Self {
            // INVARIANT: Just made.
            folder: NonNull::new(folder).ok_or(ENOMEM)?,
            _values: values,
        };
        // SAFETY: By the type's invariant the folder is there, and this is its only call.
        // The array has as many pointers as is said, to strings that are static.
        kernel::error::to_result(unsafe {
            let folder = parameters.folder.as_ptr();
            bindings::gp_folder_add(folder, names().as_ptr(), PARAMETER_COUNT as u32)
        })?;
        Ok(parameters)
    }

    /// # Safety
    ///
    /// `data` must be to the values of a GPU, `page` to a page.
    unsafe extern "C" fn show(data: *mut c_void, value: u32, page: *mut c_char) -> isize {
        // SAFETY: By the function's requirement `data` is to the values, which outlive the
        // folder whose file calls this.
        let values = unsafe { &*data.cast::<GpuValues>() };
        // SAFETY: By the function's requirement there is a page, which is nobody else's
        // during the call.
        let page = unsafe { core::slice::from_raw_parts_mut(page.cast::<u8>(), PAGE_SIZE) };
        from_result(|| show_line(page, |out| values.parameters.show(place(value)?, out)))
    }

    /// # Safety
    ///
    /// `data` must be to the values of a GPU, `text` to `length` bytes.
    unsafe extern "C" fn store(
        data: *mut c_void,
        value: u32,
        text: *const c_char,
        length: usize,
    ) -> c_int {
        // SAFETY: By the function's requirement `data` is to the values, which outlive the
        // folder whose file calls this.
        let values = unsafe { &*data.cast::<GpuValues>() };
        // SAFETY: By the function's requirement `text` is to `length` bytes that stay as
        // they are during the call.
        let text = unsafe { written(text, length) };
        from_result(|| {
            let parameters = &values.parameters;
            parameters.store(&values.address, place(value)?, text?)?;
            Ok(0)
        })
    }
}

/// The place of a parameter in their table.
fn place(value: u32) -> Result<usize> {
    usize::try_from(value).map_err(|_| EINVAL)
}

/// Shows a value as the line of a file.
fn show_line(page: &mut [u8], show: impl FnOnce(&mut Formatter<'_>) -> Result) -> Result<isize> {
    let mut out = formatter(page).ok_or(EINVAL)?;
    show(&mut out)?;
    core::fmt::Write::write_str(&mut out, "\n").map_err(|_| EINVAL)?;
    isize::try_from(out.bytes_written()).map_err(|_| EINVAL)
}

impl Drop for ParametersFolder {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the folder's end.
        unsafe { bindings::gp_folder_remove(self.folder.as_ptr()) }
    }
}

/// A folder of a node.
///
/// Dropping it waits for those who read its files: hold nothing that
/// [`Values`] takes.
///
/// # Invariants
///
/// The pointer is to a folder made by the shim whose data is `_values`.
pub struct NodeFolder<V: Values> {
    folder: NonNull<bindings::gp_folder>,
    _values: KBox<V>,
}

// SAFETY: sysfs has locks of its own, and `V` is `Send`.
unsafe impl<V: Values> Send for NodeFolder<V> {}
// SAFETY: sysfs has locks of its own, and `V` is `Sync`.
unsafe impl<V: Values> Sync for NodeFolder<V> {}

impl<V: Values> NodeFolder<V> {
    const OPS: &'static bindings::gp_folder_ops = &bindings::gp_folder_ops {
        show: Some(Self::show),
        store: Some(Self::store),
    };

    /// Creates the folder of the node at a place.
    pub fn new(root: &Root, gpu: &GpuFolder, index: usize, values: V) -> Result<Self> {
        let values = KBox::new(values, GFP_KERNEL)?;
        let name = CString::try_from_fmt(fmt!("node{index}"))?;
        let data = core::ptr::from_ref::<V>(&values).cast_mut().cast();
        // SAFETY: Device and parent are there, by the invariants of their
        // types; the values live in the result, whose `Drop` removes the folder
        // first.
        let folder = from_err_ptr(unsafe {
            bindings::gp_folder_create(
                root.device.as_ptr(),
                gpu.folder.as_ptr(),
                name.as_char_ptr(),
                bindings::gp_folder_kind_GP_FOLDER_NODE,
                Self::OPS,
                data,
            )
        })?;
        Ok(Self {
            // INVARIANT: Just made.
            folder: NonNull::new(folder).ok_or(ENOMEM)?,
            _values: values,
        })
    }

    /// # Safety
    ///
    /// `data` must be to a `V`, `page` to a page.
    unsafe extern "C" fn show(data: *mut c_void, value: u32, page: *mut c_char) -> isize {
        // SAFETY: By the function's requirement `data` is to a `V`, which outlives the
        // folder whose file calls this.
        let values = unsafe { &*data.cast::<V>() };
        // SAFETY: By the function's requirement there is a page, which is nobody else's
        // during the call.
        let page = unsafe { core::slice::from_raw_parts_mut(page.cast::<u8>(), PAGE_SIZE) };
        from_result(|| {
            let value = Value::from_c(value).ok_or(EINVAL)?;
            show_line(page, |out| values.show(value, out))
        })
    }

    /// # Safety
    ///
    /// `data` must be to a `V`, `text` to `length` bytes.
    unsafe extern "C" fn store(
        data: *mut c_void,
        value: u32,
        text: *const c_char,
        length: usize,
    ) -> c_int {
        // SAFETY: By the function's requirement `data` is to a `V`, which outlives the
        // folder whose file calls this.
        let values = unsafe { &*data.cast::<V>() };
        // SAFETY: By the function's requirement `text` is to `length` bytes that stay as
        // they are during the call.
        let text = unsafe { written(text, length) };
        from_result(|| {
            let value = Value::from_c(value).ok_or(EINVAL)?;
            values.store(value, text?.trim()).map(|()| 0)
        })
    }
}

impl<V: Values> Drop for NodeFolder<V> {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant, and this is the folder's end.
        unsafe { bindings::gp_folder_remove(self.folder.as_ptr()) }
    }
}
