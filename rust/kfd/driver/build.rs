// SPDX-License-Identifier: GPL-2.0-only

//! Whether the driver that is loaded is the one that the module was built for: looked
//! at once, before anything of the driver is touched.

use crate::driver::driver::Driver;
use crate::driver::expected::compare;
use crate::driver::expected::Difference;
use crate::driver::expected::Expected;
use crate::driver::expected::Fact;
use crate::driver::type_info::Class;
use crate::driver::type_info::Sections;
use crate::driver::type_info::TypeInfo;
use crate::kernel::bindings;
use crate::kernel::compat::*;
use kernel::error::from_err_ptr;
use kernel::prelude::*;

include!(env!("GP_EXPECTED"));

impl Driver {
    /// Compares the type information of the driver with what the module uses of the
    /// one that it was built for. A difference is named in the log.
    pub fn check_build(&self) -> Result {
        let Some(base) = self.type_info(c"vmlinux")? else {
            return refuse(fmt!("the kernel has no type information"));
        };
        let Some(own) = self.type_info(c"amdgpu")? else {
            return refuse(fmt!("it has no type information"));
        };
        match differs(base, own, &EXPECTED)? {
            None => Ok(()),
            Some(difference) => refuse(fmt!("{}", Plain(difference))),
        }
    }

    /// Compares it with what `transaction=direct` needs besides. A difference is named in
    /// the log.
    pub(crate) fn check_direct(&self) -> Result {
        let base = self.type_info(c"vmlinux")?.ok_or(ENOEXEC)?;
        let own = self.type_info(c"amdgpu")?.ok_or(ENOEXEC)?;
        match differs(base, own, &EXPECTED_DIRECT)? {
            None => Ok(()),
            Some(difference) => {
                pr_warn!(
                    "transaction=direct cannot be used with this amdgpu: {}\n",
                    Plain(difference)
                );
                Err(ENOEXEC)
            }
        }
    }

    /// The type information of the kernel or of the driver, if there is any.
    fn type_info(&self, module: &CStr) -> Result<Option<&[u8]>> {
        let mut size = 0;
        // SAFETY: The name is a C string and `size` is ours; `self` keeps the driver
        // loaded.
        let data = unsafe { bindings::gp_type_info(module.as_char_ptr(), &mut size) };
        let data = from_err_ptr(data.cast_mut()).inspect_err(|_| {
            pr_err!("this kernel does not show type information as others do, so that nobody knows whether this module fits its amdgpu; use a kernel that the module supports\n");
        })?;
        if data.is_null() {
            return Ok(None);
        }
        // SAFETY: The shim says that so many bytes are there, which the kernel never
        // changes and keeps as long as the driver is loaded; that `self` sees to.
        Ok(Some(unsafe {
            core::slice::from_raw_parts(data.cast(), size)
        }))
    }
}

/// How a driver differs from the one that the module was built for, if it does.
fn differs(
    base: &[u8],
    own: &[u8],
    expected: &[Expected<'static>],
) -> Result<Option<Difference<'static>>> {
    let (base, own) = match (Sections::of(base), Sections::of(own)) {
        (Ok(base), Ok(own)) => (base, own),
        (Err(damage), _) | (_, Err(damage)) => return Ok(Some(damage.into())),
    };
    let mut base_places = KVVec::from_elem(0, base.count(), GFP_KERNEL)?;
    let mut places = KVVec::from_elem(0, own.count(), GFP_KERNEL)?;
    let mut met = KVec::from_elem(false, expected.len(), GFP_KERNEL)?;
    let result = TypeInfo::new(base, &mut base_places, None)
        .map_err(Difference::Damaged)
        .and_then(|base| {
            let own = TypeInfo::new(own, &mut places, Some(&base))?;
            compare(&own, expected, &mut met)
        });
    Ok(result.err())
}

/// Says in the log how the driver differs.
fn refuse(difference: kernel::fmt::Arguments<'_>) -> Result {
    pr_err!(
        "the amdgpu that is loaded is not the one that this module was built for: {}; build the module again (dkms install, or make install)\n",
        difference
    );
    Err(ENOEXEC)
}
