// SPDX-License-Identifier: GPL-2.0-only
//! Loading and unloading kernel modules.

use std::ffi::CString;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use nix::kmod::{delete_module, finit_module, DeleteModuleFlags, ModuleInitFlags};

/// Loads an uncompressed module file.
pub fn load(path: &Path, parameters: &str) -> Result<()> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let parameters = CString::new(parameters).context("the parameters contain a zero byte")?;
    finit_module(&file, &parameters, ModuleInitFlags::empty())
        .with_context(|| format!("loading {} (the kernel's log says why)", path.display()))
}

pub fn unload(name: &str) -> Result<()> {
    let module = CString::new(name).context("the name contains a zero byte")?;
    delete_module(&module, DeleteModuleFlags::O_NONBLOCK)
        .with_context(|| format!("unloading {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_named() {
        let error = load(Path::new("/nonexistent.ko"), "").unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent.ko"));
    }

    #[test]
    fn parameters_with_a_zero_byte_are_refused() {
        assert!(load(Path::new("/dev/null"), "a\0b").is_err());
    }
}
