// SPDX-License-Identifier: GPL-2.0-only
//! The program in OpenCL, which the guest compiles.

use std::path::Path;

use anyhow::Result;

use super::{beside_urgent, chosen, started, with_files, with_libraries, Clients, PLACE};
use crate::built::check_clients;
use crate::cache::clients;
use crate::guest::Guest;

/// The one in OpenCL, and its file.
const OPENCL: &str = "opencl";
/// What OpenCL's library finds by a name in its environment, and nowhere else.
const OPENCL_RUNTIME: &str = "/usr/lib/x86_64-linux-gnu/libamdocl64.so";
/// Its compiler has the language's headers translated, and looks for them here.
const OPENCL_HEADERS: &str = "/usr/lib/llvm-17/lib/clang/17/include";

pub fn preempted(guest: &mut Guest, parameters: &str) -> Result<()> {
    check_clients()?;
    let programs = chosen(&[OPENCL], &[OPENCL])?;
    let runtime = Path::new(OPENCL_RUNTIME);
    let mut files = with_libraries(&clients()?.with_file_name(OPENCL))?;
    files.extend(with_libraries(runtime)?);
    let mut program = started(OPENCL);
    let runtime = format!("{PLACE}/libamdocl64.so");
    program
        .environment
        .push(("OCL_ICD_VENDORS".into(), runtime));
    let headers = ["opencl-c-base.h", "opencl-c.h"].map(|name| {
        let path = Path::new(OPENCL_HEADERS).join(name);
        (name.to_owned(), path)
    });
    with_files(guest, &headers.into(), OPENCL_HEADERS, |guest| {
        with_files(guest, &files, PLACE, |guest| {
            let clients = Clients::start(guest, program, &programs)?;
            beside_urgent(guest, parameters, clients, &programs)
        })
    })
}
