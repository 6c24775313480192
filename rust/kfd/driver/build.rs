// SPDX-License-Identifier: GPL-2.0-only

//! Whether the driver that is loaded is the one that the module was built for: looked
//! at once, before anything of the driver is touched.

use crate::driver::driver::Driver;
use crate::driver::expected::compare;
use crate::driver::expected::Comparison;
use crate::driver::expected::Difference;
use crate::driver::expected::Expected;
use crate::driver::expected::Fact;
use crate::driver::type_info::Class;
use crate::driver::type_info::Damage;
use crate::driver::type_info::Sections;
use crate::driver::type_info::TypeInfo;
use crate::kernel::bindings;
use crate::kernel::compat::*;
use core::ptr::NonNull;
use kernel::error::to_result;
use kernel::prelude::*;

include!(env!("GP_EXPECTED"));

impl Driver {
    /// Compares the type information of the driver with what the module uses of the
    /// one that it was built for, and with what `transaction=direct` needs besides. A
    /// difference is named in the log; with one of the latter the driver can be used for
    /// everything else.
    pub fn check_build(self) -> Result<Self> {
        let has_direct = self.has_what_is_expected()?;
        Ok(self.with_direct(has_direct))
    }

    /// Compares; whether the driver has what `transaction=direct` needs.
    fn has_what_is_expected(&self) -> Result<bool> {
        let Some(base) = self.type_info(c"vmlinux")? else {
            return refuse(fmt!("the kernel has no type information"));
        };
        let Some(own) = self.type_info(c"amdgpu")? else {
            return refuse(fmt!("it has no type information"));
        };
        let [difference, direct] =
            differences(base.bytes(), own.bytes(), [&EXPECTED, &EXPECTED_DIRECT])?;
        if let Some(difference) = difference {
            return refuse(fmt!("{}", Plain(difference)));
        }
        if let Some(difference) = direct {
            pr_warn!(
                "transaction=direct cannot be used with this amdgpu: {}\n",
                Plain(difference)
            );
        }
        Ok(direct.is_none())
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

/// How a driver differs from what each of two lists expects, if it does.
fn differences(
    base: &[u8],
    own: &[u8],
    [one, other]: [&[Expected<'static>]; 2],
) -> Result<[Option<Difference<'static>>; 2]> {
    let damaged = |damage: Damage| [Some(damage.into()); 2];
    let (base, own) = match (Sections::of(base), Sections::of(own)) {
        (Ok(base), Ok(own)) => (base, own),
        (Err(damage), _) | (_, Err(damage)) => return Ok(damaged(damage)),
    };
    let mut base_places = KVVec::from_elem(0, base.count(), GFP_KERNEL)?;
    let mut places = KVVec::from_elem(0, own.count(), GFP_KERNEL)?;
    let mut met = KVec::from_elem(false, one.len(), GFP_KERNEL)?;
    let mut met_other = KVec::from_elem(false, other.len(), GFP_KERNEL)?;
    let mut comparisons = [
        Comparison::new(one, &mut met),
        Comparison::new(other, &mut met_other),
    ];
    let compared = TypeInfo::new(base, &mut base_places, None).and_then(|base| {
        let own = TypeInfo::new(own, &mut places, Some(&base))?;
        compare(&own, &mut comparisons);
        Ok(())
    });
    Ok(match compared {
        Ok(()) => comparisons.map(Comparison::difference),
        Err(damage) => damaged(damage),
    })
}

/// Says in the log how the driver differs.
fn refuse<R>(difference: kernel::fmt::Arguments<'_>) -> Result<R> {
    pr_err!(
        "the amdgpu that is loaded is not the one that this module was built for: {}; build the module again (dkms unbuild and dkms install, or make install)\n",
        difference
    );
    Err(ENOEXEC)
}
