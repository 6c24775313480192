// SPDX-License-Identifier: GPL-2.0-only

//! The device `amd_gpreempt` in sysfs: the files through which rules come and
//! go, and what the folders of a GPU and of its nodes hold.

use crate::{
    kernel::{bindings, compat::*},
    operator::{
        folder::{written, Files, Folder, Kind},
        rules::Rules,
        settings::GpuMode,
    },
};
use core::ptr::NonNull;
use kernel::{
    error::{from_err_ptr, from_result},
    prelude::*,
    str::{CString, Formatter},
    sync::Arc,
};

/// The device, with the files for rules.
///
/// # Invariants
///
/// `device` was made by the shim with `ops`, whose data is `rules`.
pub struct Root {
    device: NonNull<bindings::gp_root>,
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
                change: Some(Self::change),
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
            // INVARIANT: Made with `ops`.
            device: NonNull::new(device).ok_or(ENODEV)?,
            _ops: ops,
            _rules: rules,
        })
    }

    /// # Safety
    ///
    /// `data` must be to the rules, `text` to `length` bytes.
    unsafe extern "C" fn change(
        data: *mut c_void,
        add: bool,
        text: *const c_char,
        length: usize,
    ) -> c_int {
        // SAFETY: By the function's requirement `data` is to the rules, which outlive the
        // device whose files call this, and `text` is to `length` bytes.
        let (rules, text) = unsafe { (&*data.cast::<Rules>(), written(text, length)) };
        from_result(|| {
            match add {
                true => rules.add(text?)?,
                false => rules.del(text?)?,
            }
            Ok(0)
        })
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

/// The file in a GPU's folder.
struct GpuFile {
    address: CString,
    mode: GpuMode,
}

impl Files for GpuFile {
    fn show(&self, _file: u32, out: &mut Formatter<'_>) -> Result {
        core::fmt::Write::write_str(out, self.mode.show()).map_err(|_| EINVAL)
    }

    fn store(&self, _file: u32, text: &str) -> Result {
        self.mode.store(&self.address, text.trim())
    }
}

/// A folder of a GPU, for its mode and the folders of its nodes.
///
/// Dropping it waits for those who read and write its file, which take the lock of the
/// parameters and no other.
pub struct GpuFolder(Folder<GpuFile>);

impl GpuFolder {
    /// Creates the folder of the GPU at an address.
    pub fn new(root: &Root, address: &CStr) -> Result<Self> {
        let text = address.to_str().or(Err(EINVAL))?;
        let name = CString::try_from_fmt(fmt!("gpu_{text}"))?;
        let file = GpuFile {
            address: CString::try_from_fmt(fmt!("{text}"))?,
            mode: GpuMode::new(address)?,
        };
        // SAFETY: By the invariant of `Root` the device is the shim's, and it is borrowed.
        unsafe { Folder::in_device(root.device, &name, Kind::Gpu, file) }.map(Self)
    }
}

/// The values of a node as files.
impl<V: Values> Files for V {
    fn show(&self, file: u32, out: &mut Formatter<'_>) -> Result {
        Values::show(self, Value::from_c(file).ok_or(EINVAL)?, out)
    }

    fn store(&self, file: u32, text: &str) -> Result {
        Values::store(self, Value::from_c(file).ok_or(EINVAL)?, text.trim())
    }
}

/// A folder of a node.
///
/// Dropping it waits for those who read its files: hold nothing that [`Values`] takes.
pub struct NodeFolder<V: Values> {
    _folder: Folder<V>,
}

impl<V: Values> NodeFolder<V> {
    /// Creates the folder of the node at a place.
    pub fn new(gpu: &GpuFolder, index: usize, values: V) -> Result<Self> {
        let name = CString::try_from_fmt(fmt!("node{index}"))?;
        let folder = Folder::in_folder(&gpu.0, &name, Kind::Node, values)?;
        Ok(Self { _folder: folder })
    }
}
