// SPDX-License-Identifier: GPL-2.0-only

//! The module parameters: set at load time and live in sysfs.
//!
//! Names, ranges and help come from the policy's tables, so that what modinfo
//! says, what is accepted and what is documented cannot differ. The kernel sets
//! parameters before it initialises the module; everything here is ready then.

mod modinfo;

use crate::act::backend::BackendKind;
use crate::act::backend::TransactionKind;
use crate::kernel::bindings;
use crate::kernel::compat::*;
use crate::kernel::wake;
use crate::look::sampler::SamplerKind;
use core::cell::UnsafeCell;
use core::fmt::Write;
use gpreempt_policy::Config;
use gpreempt_policy::SetError;
use gpreempt_policy::CHOICES;
use gpreempt_policy::NUMBERS;
use gpreempt_policy::TIMESLICE_NAME;
use kernel::module_param::KernelParam;
use kernel::prelude::*;
use kernel::str::Formatter;
use kernel::sync::lock::mutex::MutexBackend;
use kernel::sync::lock::Lock;

/// The parameters in force.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Those of the policy.
    pub policy: Config<'static>,
    /// How queues are watched.
    pub sampler: SamplerKind,
    /// How queues are stopped.
    pub backend: BackendKind,
    /// How backend=hws takes queues off the hardware.
    pub transaction: TransactionKind,
}

impl Settings {
    const fn new() -> Self {
        Self {
            policy: Config::new(),
            sampler: SamplerKind::Auto,
            backend: BackendKind::Hws,
            transaction: TransactionKind::Driver,
        }
    }

    /// Sets a parameter from text; on an error nothing changes.
    fn set(&mut self, name: &str, text: &str) -> Result<(), SetError> {
        let text = text.trim();
        match name {
            "sampler" => {
                self.sampler = SamplerKind::named(text).ok_or(SetError::Invalid)?;
            }
            "backend" => {
                self.backend = BackendKind::named(text).ok_or(SetError::Invalid)?;
            }
            "transaction" => {
                self.transaction = TransactionKind::named(text).ok_or(SetError::Invalid)?;
            }
            _ => self.policy.set_text(name, text)?,
        }
        Ok(())
    }

    /// Writes a parameter as [`Settings::set`] reads it.
    fn write(&self, name: &str, out: &mut Formatter<'_>) -> core::fmt::Result {
        match name {
            "sampler" => out.write_str(self.sampler.name()),
            "backend" => out.write_str(self.backend.name()),
            "transaction" => out.write_str(self.transaction.name()),
            _ => self
                .policy
                .write_text(name, out)
                .unwrap_or(Err(core::fmt::Error)),
        }
    }
}

/// The parameters, with the shim's mutex as their lock.
struct Shared(UnsafeCell<Settings>);

// SAFETY: The settings are only reached with the mutex held.
unsafe impl Sync for Shared {}

static SETTINGS: Shared = Shared(UnsafeCell::new(Settings::new()));

/// Calls a function with the settings, under their lock.
fn with<R>(f: impl FnOnce(&mut Settings) -> R) -> R {
    // SAFETY: The shim's mutex is a valid one from the module's first moment to
    // its last.
    let lock: &Lock<(), MutexBackend> =
        unsafe { Lock::from_raw(&raw mut bindings::gp_settings_mutex) };
    let _guard = lock.lock();
    // SAFETY: The mutex is held, and `f` cannot get at the settings again other
    // than through its argument, because the mutex is not recursive.
    f(unsafe { &mut *SETTINGS.0.get() })
}

/// A copy of the parameters in force.
pub fn current() -> Settings {
    with(|settings| *settings)
}

/// Sets a parameter, and says in the log why it was refused.
fn set(name: &str, text: &str) -> Result {
    match with(|settings| settings.set(name, text)) {
        Ok(()) => {
            wake::all();
            Ok(())
        }
        Err(error) => {
            pr_err!("{}={}: {}\n", name, text.trim(), Plain(error));
            Err(match error {
                SetError::OutOfRange { .. } => ERANGE,
                SetError::Invalid | SetError::Unknown => EINVAL,
            })
        }
    }
}

/// Takes a new value from the kernel's parameter code.
///
/// # Safety
///
/// `value` must be null or a string, `param` one of [`PARAMS`].
unsafe extern "C" fn set_callback(
    value: *const c_char,
    param: *const kernel::bindings::kernel_param,
) -> c_int {
    if value.is_null() {
        return EINVAL.to_errno();
    }
    // SAFETY: By the function's requirement, a string that outlives the call.
    let value = unsafe { CStr::from_char_ptr(value) };
    // SAFETY: By the function's requirement, a parameter with a static name.
    let name = unsafe { CStr::from_char_ptr((*param).name) };
    kernel::error::from_result(|| {
        set(
            name.to_str().or(Err(EINVAL))?,
            value.to_str().or(Err(EINVAL))?,
        )?;
        Ok(0)
    })
}

/// Writes a value for the kernel's parameter code.
///
/// # Safety
///
/// `buffer` must have room for a page, `param` must be one of [`PARAMS`].
unsafe extern "C" fn get_callback(
    buffer: *mut c_char,
    param: *const kernel::bindings::kernel_param,
) -> c_int {
    // SAFETY: By the function's requirement, a parameter with a static name.
    let name = unsafe { CStr::from_char_ptr((*param).name) };
    // SAFETY: By the function's requirement there is a page.
    let page =
        unsafe { core::slice::from_raw_parts_mut(buffer.cast::<u8>(), kernel::page::PAGE_SIZE) };
    let Some(mut out) = formatter(page) else {
        return EINVAL.to_errno();
    };
    let name = name.to_str().unwrap_or("");
    let settings = current();
    if settings.write(name, &mut out).is_err() || out.write_str("\n").is_err() {
        return EINVAL.to_errno();
    }
    c_int::try_from(out.bytes_written()).unwrap_or(EINVAL.to_errno())
}

/// A formatter that writes to a page.
pub(crate) fn formatter(page: &mut [u8]) -> Option<Formatter<'_>> {
    Some(Formatter::new(page))
}

static OPS: kernel::bindings::kernel_param_ops = kernel::bindings::kernel_param_ops {
    flags: 0,
    set: Some(set_callback),
    get: Some(get_callback),
    free: None,
};

/// How many parameters there are.
const COUNT: usize = NUMBERS.len() + CHOICES.len() + 1;

/// The name of a parameter.
const fn name(index: usize) -> &'static str {
    if index < NUMBERS.len() {
        NUMBERS[index].name
    } else if index < NUMBERS.len() + CHOICES.len() {
        CHOICES[index - NUMBERS.len()].name
    } else {
        TIMESLICE_NAME
    }
}

const NAME_BYTES: usize = 32;

/// The names as C strings.
static NAMES: [[u8; NAME_BYTES]; COUNT] = {
    let mut names = [[0; NAME_BYTES]; COUNT];
    let mut index = 0;
    while index < COUNT {
        let bytes = name(index).as_bytes();
        assert!(bytes.len() < NAME_BYTES, "a parameter's name is too long");
        let mut at = 0;
        while at < bytes.len() {
            names[index][at] = bytes[at];
            at += 1;
        }
        index += 1;
    }
    names
};

/// A parameter for the kernel's parameter code, which finds it in its section.
const fn param(index: usize) -> KernelParam {
    KernelParam::new(kernel::bindings::kernel_param {
        name: (&raw const NAMES[index]).cast(),
        mod_: (&raw const kernel::bindings::__this_module).cast_mut(),
        ops: &raw const OPS,
        perm: 0o644,
        level: -1,
        flags: 0,
        __bindgen_anon_1: kernel::bindings::kernel_param__bindgen_ty_1 {
            arg: core::ptr::null_mut(),
        },
    })
}

/// An array of parameters, one element a time.
macro_rules! params {
    ($($index:literal)*) => {
        [$(param($index),)*]
    };
}

#[link_section = "__param"]
#[used(compiler)]
static PARAMS: [KernelParam; COUNT] =
    params![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27];

#[link_section = ".modinfo"]
#[used(compiler)]
static MODINFO: [u8; modinfo::BYTES.len()] = modinfo::BYTES;
