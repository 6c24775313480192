// SPDX-License-Identifier: GPL-2.0-only
//! What the doctor says of the GPUs: of those that KFD has, whether they are supported, and of
//! those of the MI300 series that no driver has, why that may be.

use super::{version, Doctor};
use crate::host::amd_driver;

/// The MI300 series (GFX 9.4.3 and 9.4.4; 9.5.0), as KFD numbers it. The module's own
/// check has the same.
const SUPPORTED: [u64; 2] = [90402, 90500];
/// Where KFD has its nodes.
const NODES: &str = "sys/class/kfd/kfd/topology/nodes";
/// Where the devices of the PCI bus are.
const DEVICES: &str = "sys/bus/pci/devices";
/// The series on the PCI bus, with virtual functions: GFX 9.4.3 and 9.4.4, and 9.5.0.
const OLDER: std::ops::RangeInclusive<u32> = 0x74a0..=0x74bf;
const NEWER: std::ops::RangeInclusive<u32> = 0x75a0..=0x75bf;

/// The newest kernel known whose own driver has no GFX 9.5.0.
const LAST_WITHOUT: (u32, u32) = (6, 12);
/// Shows what the driver has said.
const DRIVERS_LOG: &str = "sudo dmesg | grep -e kfd -e amdgpu";

impl Doctor<'_> {
    pub(super) fn gpus(&mut self) {
        let mut found = false;
        for node in self.host.numbers(NODES) {
            let text = self.host.try_read(&format!("{NODES}/{node}/properties"));
            let version = text.as_deref().map_or(0, gfx_version);
            // A processor is a node as well.
            if version == 0 {
                continue;
            }
            found = true;
            let (major, minor, step) = (version / 10000, version / 100 % 100, version % 100);
            self.say(
                SUPPORTED.contains(&version),
                format!("KFD node {node}: gfx {major}.{minor}.{step}"),
                "only the MI300 series is supported",
            );
        }
        self.say(
            found,
            "a GPU that KFD knows",
            "the kernel log says why there is none",
        );
        self.mend(DRIVERS_LOG);
        // Without the driver, none of them has one.
        if self.host.path("sys/module/amdgpu").is_dir() {
            self.without_driver();
        }
    }

    /// GPUs that the driver has not taken, or that were taken from it and given to no other.
    fn without_driver(&mut self) {
        for address in self.host.names(DEVICES) {
            let place = format!("{DEVICES}/{address}");
            let number = |file| {
                let text = self.host.try_read(&format!("{place}/{file}"))?;
                u32::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
            };
            let Some(device) = number("device").filter(|_| number("vendor") == Some(0x1002)) else {
                continue;
            };
            let is_newer = NEWER.contains(&device);
            let is_of_series = is_newer || OLDER.contains(&device);
            if !is_of_series || self.host.path(format!("{place}/driver")).exists() {
                continue;
            }
            let series = if is_newer { "GFX 9.5.0" } else { "GFX 9.4.3" };
            let what = format!("{address} (1002:{device:04x}, {series}) has a driver");
            if is_newer && self.has_too_old_a_driver() {
                let remedy = "amdgpu of Linux 6.12 does not know GFX 9.5.0: use a newer kernel, \
                              or AMD's driver package, amdgpu-dkms";
                self.say(false, what, remedy);
                self.mend_by_newer_kernel();
            } else {
                let remedy = "amdgpu has refused it, or it was unbound: the kernel log says why";
                self.say(false, what, remedy);
                self.mend(DRIVERS_LOG);
            }
        }
    }

    /// Whether the driver cannot know GFX 9.5.0.
    fn has_too_old_a_driver(&self) -> bool {
        version(self.release) <= LAST_WITHOUT
            && amd_driver::found(self.host, self.release).is_none()
    }
}

fn gfx_version(properties: &str) -> u64 {
    let line = properties
        .lines()
        .find_map(|line| line.strip_prefix("gfx_target_version "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}
