// SPDX-License-Identifier: GPL-2.0-only

//! Says whether the module can be used with a driver, and where that has its fields, as
//! the module finds out when it is loaded: by the same source. And makes what the tests
//! keep of a driver's type information.

mod bytes;
#[allow(dead_code, reason = "the module uses more of it")]
#[path = "../../../../rust/kfd/driver/fields.rs"]
mod fields;
#[path = "../../../../rust/kfd/driver/forms.rs"]
mod forms;
mod look;
#[path = "../../../../rust/kfd/driver/prototype.rs"]
mod prototype;
#[path = "../../../../rust/kfd/driver/resolve.rs"]
mod resolve;
#[cfg(test)]
mod tests;
mod trim;
#[path = "../../../../rust/kfd/driver/type_info.rs"]
mod type_info;

use std::process::ExitCode;

const USAGE: &str = "\
usage: driver-layout KERNEL DRIVER [TABLE NEW-KERNEL NEW-DRIVER]

KERNEL and DRIVER are files of type information: that of the kernel, as in
/sys/kernel/btf/vmlinux, and that of the driver, as in /sys/kernel/btf/amdgpu. With
TABLE, which is tests/data/btf/expected-offsets.txt, both are written anew with only what
the module and that table ask for.";

fn run(arguments: &[String]) -> Result<String, String> {
    let read = |file: &String| std::fs::read(file).map_err(|e| format!("cannot read {file}: {e}"));
    match arguments {
        [kernel, driver] => look::report(&read(kernel)?, &read(driver)?),
        [kernel, driver, table, new_kernel, new_driver] => {
            let (kernel, driver) = (read(kernel)?, read(driver)?);
            // What does not fit the module is not worth keeping.
            look::report(&kernel, &driver)?;
            let table = String::from_utf8_lossy(&read(table)?).into_owned();
            let (kernel, driver) = trim::trim(&kernel, &driver, &trim::asked(&table));
            for (file, data) in [(new_kernel, kernel), (new_driver, driver)] {
                std::fs::write(file, data).map_err(|e| format!("cannot write {file}: {e}"))?;
            }
            Ok(String::new())
        }
        _ => Err(USAGE.into()),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("driver-layout: {message}");
            ExitCode::FAILURE
        }
    }
}
