// SPDX-License-Identifier: GPL-2.0-only

//! Takes the layout of the driver's private structures from its type information.
//!
//! The headers of amdgpu and KFD are not part of any kernel headers package, and
//! their structures change from release to release without a word.  The only
//! true description on a machine is the BTF of the very `amdgpu.ko` that our
//! module will run beside.  This program reads it, looks up the fields named in
//! `bindings/kfd-fields.txt`, and writes their offsets as constants:
//!
//! ```text
//! pub const QUEUE_PROPERTIES_IS_ACTIVE: usize = 0x50;            // a field that must be there
//! pub const QUEUE_PROPERTIES_IS_RESET: Option<usize> = Some(0x5a); // an optional one
//! pub const HAVE_QUEUE_PROPERTIES_IS_RESET: bool = true;
//! pub const AMDGPU_DEVICE_IP_VERSIONS_LEN: usize = 1824;         // elements of an array
//! pub const AMDGPU_DEVICE_SRBM_MUTEX_BYTES: usize = 24;          // where the list leaves the size open
//! pub const QUEUE_SIZE: usize = 408;                             // a whole structure
//! pub const MAX_HWIP: i64 = 38;                                  // an enumerator
//! ```
//!
//! With `--expected` it also writes what the module compares, when it is loaded, with
//! the type information of the driver that it meets.
//!
//! In C the same names carry the prefix `GP_`; an optional field that is absent
//! is not defined there, and `GP_HAVE_...` is 0 or 1.
//!
//! A field that is missing, or has changed its size, or is defined in two
//! different ways, stops the program with its name.  Nothing is guessed.
//!
//! Only the standard library is used, and `rustc main.rs` alone builds it,
//! because DKMS hosts have the kernel's rustc but need not have cargo.

mod btf;
mod elf;
mod emit;
#[path = "../../../rust/kfd/driver/expected.rs"]
mod expected;
mod fields;
mod input;
mod layout;
mod loaded;
#[path = "../../../rust/kfd/driver/prototype.rs"]
mod prototype;
mod resolve;
#[cfg(test)]
mod tests;
#[path = "../../../rust/kfd/driver/type_info.rs"]
mod type_info;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: btf-offsets --module FILE [--base FILE] --fields FILE [--rust FILE] [--c FILE]
                   [--expected FILE]

  --module  amdgpu.ko, amdgpu.ko.xz, amdgpu.ko.zst, or its BTF as in
            /sys/kernel/btf/amdgpu
  --base    the BTF that the module's builds on: /sys/kernel/btf/vmlinux, or the
            vmlinux of the kernel headers
  --fields  the list of fields (bindings/kfd-fields.txt)
  --rust    write the constants there for Rust
  --c       write the constants there for C
  --expected  write there, for Rust, what the module compares at load
With none of the last three the layout is printed.";

/// What the command line asks for.
struct Arguments {
    module: PathBuf,
    base: Option<PathBuf>,
    fields: PathBuf,
    rust: Option<PathBuf>,
    c: Option<PathBuf>,
    expected: Option<PathBuf>,
}

impl Arguments {
    fn parse(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Self, String> {
        let [mut module, mut base, mut fields, mut rust, mut c, mut expected] =
            [const { None::<PathBuf> }; 6];
        let mut arguments = arguments;
        while let Some(option) = arguments.next() {
            let slot = match option.to_str() {
                Some("--module") => &mut module,
                Some("--base") => &mut base,
                Some("--fields") => &mut fields,
                Some("--rust") => &mut rust,
                Some("--c") => &mut c,
                Some("--expected") => &mut expected,
                _ => {
                    return Err(format!(
                        "unknown argument {}\n{USAGE}",
                        option.to_string_lossy()
                    ))
                }
            };
            let name = option.to_string_lossy();
            let value = arguments
                .next()
                .ok_or(format!("{name} needs a file name\n{USAGE}"))?;
            if slot.replace(value.into()).is_some() {
                return Err(format!("{name} is given twice"));
            }
        }
        Ok(Self {
            module: module.ok_or(format!("--module is missing\n{USAGE}"))?,
            base,
            fields: fields.ok_or(format!("--fields is missing\n{USAGE}"))?,
            rust,
            c,
            expected,
        })
    }
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let list = input::read_text(&arguments.fields)?;
    let list = fields::parse(&list).map_err(|e| format!("{}:{e}", arguments.fields.display()))?;

    let module = input::read_module(&arguments.module)?;
    let distilled = module.distilled_base.as_deref();
    let base_data = match (distilled, &arguments.base) {
        // A module built outside the kernel tree carries the part of the base
        // that it needs, and its type ids count on that part alone.
        (Some(base), _) => base.to_vec(),
        (None, Some(path)) => input::read_btf(path)?,
        (None, None) => {
            return Err(format!(
                "{} builds on the kernel's own BTF: name it with --base \
                 (/sys/kernel/btf/vmlinux, or the vmlinux in the kernel headers)",
                arguments.module.display()
            ))
        }
    };
    let base_name = arguments.base.as_deref().filter(|_| distilled.is_none());
    let base_name = base_name.map_or("its .BTF.base section".into(), |p| p.display().to_string());
    let module_name = arguments.module.display().to_string();

    let base = btf::Btf::parse(&base_data, None).map_err(|e| format!("{base_name}: {e}"))?;
    let types = btf::Btf::parse(&module.btf, Some(&base)).map_err(|e| {
        format!("{module_name}: {e}\nDo {module_name} and {base_name} belong to the same kernel?")
    })?;
    let layout = resolve::resolve(&types, &list).map_err(|e| format!("{module_name}: {e}"))?;

    // Else the module would refuse the very driver that it is built for.
    loaded::check(&base_data, &module.btf, &layout.expected)
        .map_err(|e| format!("{module_name}: read a second time, {e}"))?;

    let module_file = arguments
        .module
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    if let Some(path) = &arguments.rust {
        input::write_atomically(path, &emit::rust(&layout, &module_file))?;
    }
    if let Some(path) = &arguments.c {
        input::write_atomically(path, &emit::c(&layout, &module_file))?;
    }
    if let Some(path) = &arguments.expected {
        input::write_atomically(path, &emit::expected(&layout, &module_file))?;
    }
    if arguments.rust.is_none() && arguments.c.is_none() && arguments.expected.is_none() {
        print!("{}", emit::table(&layout));
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.iter().any(|a| a == "--help" || a == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match Arguments::parse(arguments.into_iter()).and_then(|arguments| run(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("btf-offsets: {message}");
            ExitCode::FAILURE
        }
    }
}
