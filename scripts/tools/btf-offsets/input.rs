// SPDX-License-Identifier: GPL-2.0-only

//! Reads and writes files: unpacks a compressed module, takes the BTF out of an
//! ELF file, and replaces an output file in one step.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::elf;

/// Larger than any kernel with its debug information.
const MAX_LEN: u64 = 1 << 31;

/// The type information in one module.
pub struct Module {
    pub btf: Vec<u8>,
    /// The part of the base that a module built outside the kernel tree carries.
    pub distilled_base: Option<Vec<u8>>,
}

/// Reads a whole file, unpacked when it is compressed.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |e: std::io::Error| format!("cannot read {}: {e}", path.display());
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut data = Vec::new();
    file.take(MAX_LEN).read_to_end(&mut data).map_err(failed)?;
    match data.as_slice() {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => unpack(path, "xz", "xz-utils"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => unpack(path, "zstd", "zstd"),
        [0x1f, 0x8b, ..] => unpack(path, "gzip", "gzip"),
        _ => Ok(data),
    }
}

fn unpack(path: &Path, program: &str, package: &str) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let file = std::fs::File::open(path).map_err(|e| format!("cannot read {shown}: {e}"))?;
    let mut command = Command::new(program);
    command
        .arg("-dc")
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|e| match e.kind() {
        ErrorKind::NotFound => format!(
            "{shown} is compressed, and the program {program} that unpacks it is missing: \
             install the package {package}"
        ),
        _ => format!("cannot start {program}: {e}"),
    })?;
    let mut data = Vec::new();
    let read = child
        .stdout
        .take()
        .map(|out| out.take(MAX_LEN).read_to_end(&mut data));
    let output = child
        .wait_with_output()
        .map_err(|e| format!("{program}: {e}"))?;
    match read {
        Some(Ok(_)) if output.status.success() => Ok(data),
        _ => Err(format!(
            "{program} cannot unpack {shown}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

/// Reads the BTF of a module from the module or from raw BTF.
pub fn read_module(path: &Path) -> Result<Module, String> {
    let data = read(path)?;
    if !data.starts_with(elf::MAGIC) {
        return Ok(Module {
            btf: data,
            distilled_base: None,
        });
    }
    let section = |name| elf::section(&data, name).map_err(|e| format!("{}: {e}", path.display()));
    let distilled_base = section(".BTF.base")?.map(<[u8]>::to_vec);
    Ok(Module {
        btf: btf_section(&data, path)?,
        distilled_base,
    })
}

/// Reads BTF from an ELF file or raw.
pub fn read_btf(path: &Path) -> Result<Vec<u8>, String> {
    let data = read(path)?;
    if data.starts_with(elf::MAGIC) {
        btf_section(&data, path)
    } else {
        Ok(data)
    }
}

fn btf_section(data: &[u8], path: &Path) -> Result<Vec<u8>, String> {
    let shown = path.display();
    let found = elf::section(data, ".BTF").map_err(|e| format!("{shown}: {e}"))?;
    found.map(<[u8]>::to_vec).ok_or(format!(
        "{shown} carries no BTF: it was built without CONFIG_DEBUG_INFO_BTF_MODULES, or without \
         the vmlinux that BTF is made against"
    ))
}

/// Reads a text file.
pub fn read_text(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("cannot read {}: {e}", path.display()))
}

/// Writes a file so that it is never seen half-written.
pub fn write_atomically(path: &Path, text: &str) -> Result<(), String> {
    let mut name = path
        .file_name()
        .ok_or(format!("{} is no file name", path.display()))?
        .to_owned();
    name.push(format!(".new.{}", std::process::id()));
    let temporary = path.with_file_name(name);
    let written = std::fs::write(&temporary, text).and_then(|()| std::fs::rename(&temporary, path));
    written.map_err(|e| {
        // The half-written file is useless, and a failure to remove it changes nothing.
        let _ = std::fs::remove_file(&temporary);
        format!("cannot write {}: {e}", path.display())
    })
}
