// SPDX-License-Identifier: GPL-2.0-only
//! Files of a kernel that tests make up.

use std::fs;

use tempfile::TempDir;

use crate::host::Host;

pub fn files(all: &[(&str, &str)]) -> (TempDir, Host) {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in all {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let host = Host::at(directory.path());
    (directory, host)
}
