// SPDX-License-Identifier: GPL-2.0-only

//! Where the driver that is loaded has its fields, by its own type information: found out
//! once, before anything of the driver is touched.

use crate::{
    driver::{
        driver::Driver,
        fields::ROWS,
        layout,
        resolve::{order, Differences, Finding, LockBytes, Resolution},
        type_info::{Damage, Sections, TypeInfo},
    },
    kernel::{bindings, compat::*, sort::sort_by_key},
};
use core::ptr::NonNull;
use kernel::{error::to_result, prelude::*};

impl Driver {
    /// Finds out where the driver has everything that the module uses. What is missing or
    /// cannot be used is named in the log; without what `transaction=direct` alone needs,
    /// the driver can be used for everything else.
    pub fn learn_layout(self) -> Result<Self> {
        let has_direct = self.find_everything()?;
        Ok(self.with_direct(has_direct))
    }

    /// Finds everything; whether the driver has what `transaction=direct` needs.
    fn find_everything(&self) -> Result<bool> {
        let Some(base) = self.type_info(c"vmlinux")? else {
            return refuse(fmt!("the kernel has no type information"));
        };
        let Some(own) = self.type_info(c"amdgpu")? else {
            return refuse(fmt!("it has no type information"));
        };
        let mut findings = KVec::from_elem(Finding::Unmet, ROWS.len(), GFP_KERNEL)?;
        let differences = match resolve(base.bytes(), own.bytes(), &mut findings)? {
            Ok(differences) => differences,
            Err(damage) => {
                return refuse(fmt!("its type information is damaged: {}", damage.why()))
            }
        };
        if let Some(difference) = differences.always {
            return refuse(fmt!("{}", Plain(difference)));
        }
        if let Some(difference) = differences.direct {
            pr_warn!(
                "transaction=direct cannot be used with this amdgpu: {}\n",
                Plain(difference)
            );
        }
        layout::learn(&findings);
        Ok(differences.direct.is_none())
    }

    /// Whether the layout is known, for tests, each of which finds the driver anew.
    #[cfg(CONFIG_KUNIT)]
    pub fn layout_is_known() -> bool {
        layout::is_known()
    }

    /// Calls a function as if this driver did not say which queue it has reset, for tests.
    #[cfg(CONFIG_KUNIT)]
    pub fn without_reset_flag<R>(f: impl FnOnce() -> R) -> R {
        layout::without(layout::QUEUE_PROPERTIES_IS_RESET, f)
    }

    /// The type information of the kernel or of the driver, if there is any.
    fn type_info(&self, module: &CStr) -> Result<Option<Shown<'_>>> {
        let mut info = bindings::gp_type_info::default();
        // SAFETY: The name is a C string and `info` is ours; `self` keeps the driver
        // loaded.
        to_result(unsafe { bindings::gp_type_info_get(module.as_char_ptr(), &mut info) })
            .inspect_err(|_| {
                pr_err!("this kernel does not show type information as others do, so that nobody knows whether this module fits its amdgpu; use a kernel that the module supports\n");
            })?;
        let Some(bytes) = NonNull::new(info.bytes.cast_mut()) else {
            return Ok(None);
        };
        Ok(Some(Shown {
            // SAFETY: The shim says that so many bytes are there. They are a copy, which
            // the result keeps, or the kernel's own, which it never changes and keeps as
            // long as the driver is loaded; that `self` sees to.
            bytes: unsafe { core::slice::from_raw_parts(bytes.as_ptr().cast(), info.size) },
            info,
        }))
    }
}

/// Type information that the kernel shows.
struct Shown<'a> {
    bytes: &'a [u8],
    info: bindings::gp_type_info,
}

impl Shown<'_> {
    fn bytes(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        // SAFETY: From the shim, and the bytes are lent by `self` alone.
        unsafe { bindings::gp_type_info_put(&mut self.info) }
    }
}

/// Looks all rows up in the type information of a driver.
fn resolve(
    base: &[u8],
    own: &[u8],
    findings: &mut [Finding],
) -> Result<Result<Differences, Damage>> {
    let (base, own) = match (Sections::of(base), Sections::of(own)) {
        (Ok(base), Ok(own)) => (base, own),
        (Err(damage), _) | (_, Err(damage)) => return Ok(Err(damage)),
    };
    let mut base_places = KVVec::from_elem(0, base.count(), GFP_KERNEL)?;
    let mut places = KVVec::from_elem(0, own.count(), GFP_KERNEL)?;
    let mut numbers = KVec::with_capacity(ROWS.len(), GFP_KERNEL)?;
    for (number, _) in (0u16..).zip(ROWS) {
        numbers.push(number, GFP_KERNEL)?;
    }
    sort_by_key(&mut numbers, |&number| order(ROWS, number));
    // SAFETY: The function only tells sizes of the kernel's types.
    let mutex = unsafe { bindings::gp_mutex_bytes() };
    // SAFETY: The function only tells sizes of the kernel's types.
    let semaphore = unsafe { bindings::gp_rwsem_bytes() };
    let locks = LockBytes {
        mutex: mutex.into(),
        semaphore: semaphore.into(),
    };
    let resolution = Resolution::new(ROWS, &numbers, findings, locks);
    Ok(
        TypeInfo::new(base, &mut base_places, None).and_then(|base| {
            let own = TypeInfo::new(own, &mut places, Some(&base))?;
            resolution.resolve(&own)
        }),
    )
}

/// Says in the log why the driver cannot be used.
fn refuse<R>(why: kernel::fmt::Arguments<'_>) -> Result<R> {
    pr_err!(
        "the amdgpu that is loaded does not fit this module: {}; use another amdgpu, or a release of this module that knows this one\n",
        why
    );
    Err(ENOEXEC)
}
