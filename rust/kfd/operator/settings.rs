// SPDX-License-Identifier: GPL-2.0-only

//! The module parameters: set at load time and live in sysfs. A GPU may have a mode of
//! its own instead of the module's.
//!
//! Names, ranges and help come from the policy's tables, so that what modinfo
//! says, what is accepted and what is documented cannot differ. The kernel sets
//! parameters before it initialises the module; everything here is ready then.

mod modinfo;

use crate::{
    driver::driver::Device,
    kernel::{bindings, compat::*, count::Count, wake},
    operator::gpu_modes::{Address, Modes, NoRoom},
};
use core::{cell::UnsafeCell, fmt::Write};
use gpreempt_policy::{
    Config, Mode, SetError, AS_MODULE, CHOICES, MOST_GPUS, NUMBERS, TIMESLICE_NAME,
};
use kernel::{
    module_param::KernelParam,
    prelude::*,
    str::Formatter,
    sync::atomic::{Acquire, Atomic, Relaxed, Release},
    types::NotThreadSafe,
};

/// What operators have set.
struct All {
    settings: Config,
    modes: Modes,
}

impl All {
    /// What holds for a GPU.
    fn of(&self, gpu: &Device) -> Config {
        let address = Address::new(gpu.name().to_bytes());
        let own = address.and_then(|gpu| self.modes.of(gpu));
        let mut settings = self.settings;
        settings.mode = own.unwrap_or(settings.mode);
        settings
    }
}

/// The parameters, with the shim's mutex as their lock.
struct Shared(UnsafeCell<All>);

// SAFETY: The settings are only reached with the mutex held.
unsafe impl Sync for Shared {}

static SETTINGS: Shared = Shared(UnsafeCell::new(All {
    settings: Config::new(),
    modes: Modes::none(),
}));

/// How often the lock of the settings was taken.
pub static LOCKS: Count = Count::new();

/// The lock of the settings.
///
/// # Invariants
///
/// This task holds it, which the value does not leave.
struct Held(NotThreadSafe);

impl Held {
    fn take() -> Self {
        LOCKS.add();
        // SAFETY: The shim's mutex is ready from the module's first moment to its last.
        // INVARIANT: This task holds it now.
        unsafe { bindings::gp_settings_lock() };
        Self(NotThreadSafe)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: By the type's invariant this task holds the lock.
        unsafe { bindings::gp_settings_unlock() }
    }
}

/// Calls a function with the settings, under their lock.
fn with<R>(f: impl FnOnce(&mut All) -> R) -> R {
    let _held = Held::take();
    // SAFETY: The mutex is held, and `f` cannot get at the settings again other
    // than through its argument, because the mutex is not recursive.
    f(unsafe { &mut *SETTINGS.0.get() })
}

/// How often any parameter was set.
static CHANGES: Atomic<u32> = Atomic::new(0);

/// Calls a function that sets parameters, and has everybody who follows them read them
/// again.
fn change<R>(f: impl FnOnce(&mut All) -> R) -> R {
    with(|all| {
        let result = f(all);
        // Under the lock, so that who reads the number under it has what belongs to it.
        CHANGES.fetch_add(1, Release);
        result
    })
}

/// The parameters in force for a GPU, for who asks thousands of times a second: they are
/// read again when any was set, and no lock is taken otherwise, which the threads of all
/// nodes would share.
pub struct Followed {
    changes: u32,
    settings: Config,
}

impl Followed {
    /// Those of a GPU.
    pub fn of(gpu: &Device) -> Self {
        with(|all| Self {
            changes: CHANGES.load(Relaxed),
            settings: all.of(gpu),
        })
    }

    /// Those that are in force now.
    pub fn now(&mut self, gpu: &Device) -> &Config {
        if CHANGES.load(Acquire) != self.changes {
            *self = Self::of(gpu);
        }
        &self.settings
    }
}

/// Sets a parameter, and says in the log why it was refused.
pub fn set(name: &str, text: &str) -> Result {
    change(|all| all.settings.set_text(name, text)).map_err(|error| {
        pr_err!("{}={}: {}\n", name, text.trim(), Plain(error));
        match error {
            SetError::OutOfRange(..) => ERANGE,
            SetError::Invalid(_) | SetError::Gone(_) | SetError::Unknown => EINVAL,
        }
    })?;
    wake::all();
    Ok(())
}

/// The mode of a GPU, as its file in sysfs shows and takes it.
pub(crate) struct GpuMode(Address);

impl GpuMode {
    /// That of the GPU at an address.
    pub(crate) fn new(address: &CStr) -> Result<Self> {
        Address::new(address.to_bytes()).map(Self).ok_or(EINVAL)
    }

    /// The mode that the GPU has of its own, or the word for the module's.
    pub(crate) fn show(&self) -> &'static str {
        with(|all| all.modes.of(self.0)).map_or(AS_MODULE, Mode::name)
    }

    /// Gives the GPU a mode of its own, or the module's again, and says in the log why it
    /// was refused.
    pub(crate) fn store(&self, address: &CStr, text: &str) -> Result {
        let gpu = address.to_str().unwrap_or("?");
        let mode = Mode::named(text);
        if mode.is_none() && text != AS_MODULE {
            pr_err!(
                "{}: mode={}: write off, observe, enforce or {}\n",
                gpu,
                text,
                AS_MODULE
            );
            return Err(EINVAL);
        }
        change(|all| all.modes.set(self.0, mode)).map_err(|NoRoom| {
            pr_err!(
                "{}: {} GPUs have modes of their own already: write '{}' to that of another one first\n",
                gpu,
                MOST_GPUS,
                AS_MODULE
            );
            ENOSPC
        })?;
        wake::all();
        Ok(())
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
    let mut out = Formatter::new(page);
    let name = name.to_str().unwrap_or("");
    let settings = with(|all| all.settings);
    if settings.write_text(name, &mut out).is_err() || out.write_str("\n").is_err() {
        return EINVAL.to_errno();
    }
    c_int::try_from(out.bytes_written()).unwrap_or(EINVAL.to_errno())
}

static OPS: kernel::bindings::kernel_param_ops = kernel::bindings::kernel_param_ops {
    flags: 0,
    set: Some(set_callback),
    get: Some(get_callback),
    free: None,
};

/// How many parameters there are.
const PARAMETER_COUNT: usize = NUMBERS.len() + CHOICES.len() + 1;

/// The name of a parameter: the numbers come first, then the words.
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
static NAMES: [[u8; NAME_BYTES]; PARAMETER_COUNT] = {
    let mut names = [[0; NAME_BYTES]; PARAMETER_COUNT];
    let mut index = 0;
    while index < PARAMETER_COUNT {
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
        perm: 0o600,
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
static PARAMS: [KernelParam; PARAMETER_COUNT] = params![0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15];

#[link_section = ".modinfo"]
#[used(compiler)]
static MODINFO: [u8; modinfo::BYTES.len()] = modinfo::BYTES;
