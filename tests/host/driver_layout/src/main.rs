// SPDX-License-Identifier: GPL-2.0-only

//! Says whether the module can be used with a driver, and where that has its fields, as
//! the module finds out when it is loaded: by the same source.

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
#[path = "../../../../rust/kfd/driver/type_info.rs"]
mod type_info;

use std::process::ExitCode;

const USAGE: &str = "\
usage: driver-layout KERNEL DRIVER

Both are files of type information: that of the kernel, as in /sys/kernel/btf/vmlinux,
and that of the driver, as in /sys/kernel/btf/amdgpu.";

fn run(arguments: &[String]) -> Result<String, String> {
    let [kernel, driver] = arguments else {
        return Err(USAGE.into());
    };
    let read = |file: &String| std::fs::read(file).map_err(|e| format!("cannot read {file}: {e}"));
    look::report(&read(kernel)?, &read(driver)?)
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
