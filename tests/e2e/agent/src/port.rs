// SPDX-License-Identifier: GPL-2.0-only
//! The virtio-serial port that leads to the runner.

use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, Context, Result};

const PORTS: &str = "/sys/class/virtio-ports";

/// Opens the port that QEMU gave the name, waiting for it to appear.
pub fn open(name: &str, patience: Duration) -> Result<File> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(device) = find(Path::new(PORTS), name) {
            return OpenOptions::new()
                .read(true)
                .write(true)
                .open(&device)
                .with_context(|| device.display().to_string());
        }
        if Instant::now() >= deadline {
            bail!("no virtio port is named {name:?}: is virtio_console loaded?");
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The device file of the port with the given name. sysfs has the names; /dev has
/// links of them only where udev runs.
fn find(ports: &Path, name: &str) -> Option<PathBuf> {
    fs::read_dir(ports)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|port| fs::read_to_string(port.join("name")).is_ok_and(|found| found.trim() == name))
        .and_then(|port| Some(Path::new("/dev").join(port.file_name()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_found_by_its_name() {
        let ports = std::env::temp_dir().join(format!("virtio-ports-{}", std::process::id()));
        for (port, name) in [("vport1p1", "other\n"), ("vport1p2", "runner\n")] {
            fs::create_dir_all(ports.join(port)).unwrap();
            fs::write(ports.join(port).join("name"), name).unwrap();
        }
        let found = find(&ports, "runner");
        let missing = find(&ports, "nobody");
        fs::remove_dir_all(&ports).unwrap();
        assert_eq!(found.as_deref(), Some(Path::new("/dev/vport1p2")));
        assert_eq!(missing, None);
    }

    #[test]
    fn a_missing_port_says_what_to_look_at() {
        let error = open("surely-not-there", Duration::ZERO).unwrap_err();
        assert!(format!("{error:#}").contains("virtio_console"));
    }
}
