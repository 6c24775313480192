// SPDX-License-Identifier: GPL-2.0-only
//! The guest's memory file system: the stock kernel's modules, empty firmware,
//! ROCr, busybox and the agent. And the disk with what a scenario needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{bail, Context, Result};
use vgpu_model::Product;
use vgpu_server::clock::{GUEST_DILATION, HOST_DILATION};

use crate::cache::{key, program, Cache, Kernel};
use crate::cpio::Archive;
use crate::firmware;
use crate::machine::Machine;
use crate::qmp::MEMORY_LAYOUT;

/// Programs of the root that the guest has, beside busybox and the agent.
const PROGRAMS: &[&str] = &["/usr/bin/rocminfo"];
/// Libraries that programs from the disk need.
const LIBRARIES: &[&str] = &["/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1"];
/// Data that those read: the names of GPUs.
const DATA: &[&str] = &["/usr/share/libdrm/amdgpu.ids"];
/// The driver's file in the guest, which scenarios load a second time.
pub const AMDGPU: &str = "/modules/amdgpu.ko";
/// How the driver is always loaded. Firmware comes from files, since there is no
/// PSP to load it. There is no SMU either, for which Linux 6.12 would look: it would be
/// the sixth block, and newer drivers have five here. A job may take longer than its two
/// seconds where a busy host emulates the CPU that waits for it.
pub const AMDGPU_PARAMETERS: &str = "fw_load_type=0 ip_block_mask=0x1f lockup_timeout=120000";

/// Loads the modules, then becomes the agent.
const INIT: &str = r#"#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp /run
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs tmp /tmp
mount -t debugfs debugfs /sys/kernel/debug
mount -t tracefs tracefs /sys/kernel/tracing
mount -t cgroup2 cgroup /sys/fs/cgroup
ulimit -c 0
# When a busy host stalls virtual processors, the scheduler's deadline server for
# normal threads sets its timer while it is already set, and warns about that.
for server in /sys/kernel/debug/sched/fair_server/cpu*/runtime; do
	echo 0 >$server
done
# Adding the first probe of a function in the kernel, and removing the last one,
# patches the scheduler while both processors run it, which QEMU sometimes gets
# wrong. So one probe that is never hit is set from the start.
echo 'f:kept/probe kernel_halt%return' >/sys/kernel/tracing/dynamic_events
echo 1 >/sys/kernel/tracing/events/kept/probe/enable
while read -r module arguments; do
	# The word splitting gives insmod its parameters one by one.
	insmod /modules/$module $arguments || echo "init: $module is not loaded"
done </modules/order
# Unused memory makes the snapshot larger. The driver's file stays, for scenarios
# that unload it.
find /modules -type f ! -name amdgpu.ko -exec rm {} +
echo 3 >/proc/sys/vm/drop_caches
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp
while :; do /usr/bin/agent; sleep 1; done
"#;

/// What a guest is made of, before a GPU is plugged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub kernel: Kernel,
    /// The GPU that will be plugged in: the runtime is one that knows it.
    pub product: Product,
    pub memory_mib: u32,
    /// For how many GPUs there is room.
    pub gpus: u32,
    /// Parameters of amdgpu beside those that it always has.
    pub amdgpu: String,
    /// Kernel parameters beside those that are always given.
    pub append: String,
    pub processors: u32,
    pub clock: Clock,
    /// In which way the processors of a guest with a clock of its own take turns.
    pub seed: Option<u64>,
    /// The host takes a processor from such a guest now and then, for so many microseconds
    /// at most. That is a matter of the seed, too.
    pub holds_us: Option<u64>,
}

/// The clock of a guest and of its GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// That of the host.
    Host,
    /// One of their own, which counts instructions. It does not run ahead of the host's.
    Own,
    /// The same, but it may run ahead while the GPU works: nobody outside of the guest
    /// waits for anything in it by the host's time.
    Hurried,
}

impl Clock {
    /// Whether it is not the host's.
    pub(crate) fn is_own(self) -> bool {
        self != Clock::Host
    }

    /// As the virtual GPU calls it.
    pub(crate) fn of(self) -> &'static str {
        match self.is_own() {
            true => "guest",
            false => "host",
        }
    }

    /// Nanoseconds of the guest for one of the GPU's.
    pub fn dilation(self) -> u32 {
        match self.is_own() {
            true => GUEST_DILATION,
            false => HOST_DILATION,
        }
    }
}

impl Image {
    pub fn command_line(&self) -> String {
        // no_e820: QEMU reserves the range below 1 TiB that AMD machines cannot
        // use, and the kernel would then not place the video memory there.
        // no_timer_check: on a busy host the kernel may see too few ticks of a timer
        // that works, and do without it.
        // The kernel's watchdogs have three times their usual patience, for the same
        // reason. A guest that hangs still meets them.
        format!(
            "console=ttyS0 loglevel=4 panic=-1 mitigations=off pci=no_e820 no_timer_check \
             rcupdate.rcu_cpu_stall_timeout=63 watchdog_thresh=30 {}",
            self.append
        )
        .trim_end()
        .to_string()
    }

    /// A name for the snapshot of this image that differs when anything in it,
    /// or QEMU, does.
    pub fn key(&self) -> Result<String> {
        let mut parts: Vec<Vec<u8>> = vec![
            fs::read(self.kernel.image.join("vmlinuz")).context("cannot read the kernel")?,
            fs::read(program("agent")?)?,
            INIT.into(),
            self.command_line().into(),
            AMDGPU_PARAMETERS.into(),
            // Of a kernel with another driver, this is not the cache's.
            self.kernel.image.display().to_string().into(),
            self.amdgpu.clone().into(),
            Machine::version()?.into(),
            Machine::shape(self).join(" ").into(),
            MEMORY_LAYOUT.into(),
        ];
        for (name, data) in firmware::files() {
            parts.push(name.into());
            parts.push(data);
        }
        for (place, file) in self.system_files()? {
            parts.push(place.display().to_string().into());
            let size = fs::metadata(&file)?.len();
            parts.push(size.to_le_bytes().into());
        }
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        Ok(key(&parts))
    }

    /// Writes the initramfs.
    pub fn write(&self, path: &Path) -> Result<()> {
        let file = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
        let mut archive = Archive::new(BufWriter::new(file));
        archive.device("dev/console", 5, 1)?;
        archive.file("init", true, INIT.as_bytes())?;
        archive.copy("bin/busybox", true, Path::new("/bin/busybox"))?;
        archive.copy("usr/bin/agent", true, &program("agent")?)?;
        for (name, data) in firmware::files() {
            archive.file(&format!("lib/firmware/{name}"), false, &data)?;
        }
        for (place, file) in self.system_files()? {
            let place = place.display().to_string();
            archive.copy(place.trim_start_matches('/'), true, &file)?;
        }
        self.write_modules(&mut archive)?;
        archive.finish()?;
        Ok(())
    }

    /// The files of the system: where each is in the guest, and from where it comes. What the
    /// root has does not know every GPU.
    fn system_files(&self) -> Result<BTreeMap<PathBuf, PathBuf>> {
        const NEWER: &[&str] = &[LIBRARIES[0], DATA[0]];
        let mut files: BTreeMap<PathBuf, PathBuf> = system_files()?
            .into_iter()
            .map(|file| (file.clone(), file))
            .collect();
        let unknown = match self.product {
            Product::Mi300a | Product::Mi300x => &[][..],
            Product::Mi325x => DATA,
            Product::Mi350x | Product::Mi355x => NEWER,
        };
        for place in unknown.iter().map(PathBuf::from) {
            let newer = newer_runtime(&place)?;
            if LIBRARIES.iter().any(|library| place == Path::new(library)) {
                files.extend(
                    libraries(&newer)?
                        .into_iter()
                        .map(|file| (file.clone(), file)),
                );
            }
            // The loader may have found it in another folder, which is the same in the root.
            let name = place.file_name();
            for (_, from) in files.iter_mut().filter(|(at, _)| at.file_name() == name) {
                from.clone_from(&newer);
            }
            files.insert(place, newer);
        }
        Ok(files)
    }

    /// The driver's file, as it is in the guest.
    pub fn amdgpu_file(&self) -> Result<Vec<u8>> {
        let base = self.modules();
        let dependencies = fs::read_to_string(base.join("modules.dep"))
            .with_context(|| format!("cannot read modules.dep in {}", base.display()))?;
        let order = load_order(&dependencies, "", &["amdgpu"])?;
        let path = order.last().context("the kernel has no amdgpu")?;
        unpacked(&base.join(path))
    }

    fn modules(&self) -> PathBuf {
        self.kernel
            .image
            .join("lib/modules")
            .join(&self.kernel.release)
    }

    /// The files of these modules and of all that they need, with their names, each after
    /// those that it needs.
    pub fn module_files(&self, names: &[&str]) -> Result<Vec<(String, Vec<u8>)>> {
        let base = self.modules();
        let dependencies = fs::read_to_string(base.join("modules.dep"))
            .with_context(|| format!("cannot read modules.dep in {}", base.display()))?;
        let built_in = fs::read_to_string(base.join("modules.builtin"))
            .with_context(|| format!("cannot read modules.builtin in {}", base.display()))?;
        load_order(&dependencies, &built_in, names)?
            .iter()
            .map(|path| Ok((module_name(path), unpacked(&base.join(path))?)))
            .collect()
    }

    fn write_modules<W: std::io::Write>(&self, archive: &mut Archive<W>) -> Result<()> {
        let mut order = String::new();
        for (name, data) in self.module_files(&["amdgpu"])? {
            archive.file(&format!("modules/{name}.ko"), false, &data)?;
            order.push_str(&format!("{name}.ko"));
            if name == "amdgpu" {
                order.push_str(&format!(" {AMDGPU_PARAMETERS} {}", self.amdgpu));
            }
            order.push('\n');
        }
        archive.file("modules/order", false, order.as_bytes())?;
        Ok(())
    }
}

/// A module file's name as the kernel knows it.
fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.split(".ko").next().unwrap_or(file);
    stem.replace('-', "_")
}

/// The files of these modules and of all that they need, each after those that
/// it needs. What is built into the kernel needs no file.
fn load_order(dependencies: &str, built_in: &str, names: &[&str]) -> Result<Vec<String>> {
    let mut order: Vec<String> = Vec::new();
    for name in names {
        if built_in.lines().any(|path| module_name(path) == *name) {
            continue;
        }
        let line = dependencies
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(path, _)| module_name(path) == *name);
        let Some((path, needs)) = line else {
            bail!("the kernel has no module {name}");
        };
        // depmod lists what is needed with the most basic one last.
        for path in needs.split_whitespace().rev().chain([path]) {
            if !order.iter().any(|known| known == path) {
                order.push(path.to_string());
            }
        }
    }
    Ok(order)
}

/// A module file without its compression.
fn unpacked(path: &Path) -> Result<Vec<u8>> {
    let tool = match path.extension().and_then(|ending| ending.to_str()) {
        Some("xz") => "xz",
        Some("zst") => "zstd",
        _ => return fs::read(path).with_context(|| format!("cannot read {}", path.display())),
    };
    let output = Command::new(tool)
        .arg("-dc")
        .arg(path)
        .output()
        .with_context(|| format!("cannot run {tool}"))?;
    if !output.status.success() {
        bail!("{tool} cannot unpack {}", path.display());
    }
    Ok(output.stdout)
}

/// The programs of the root and every library that they and the agent need.
fn system_files() -> Result<BTreeSet<PathBuf>> {
    let mut files: BTreeSet<PathBuf> = PROGRAMS.iter().map(PathBuf::from).collect();
    files.extend(LIBRARIES.iter().map(PathBuf::from));
    let mut users = files.clone();
    files.extend(DATA.iter().map(PathBuf::from));
    users.insert(program("agent")?);
    for user in users {
        files.extend(libraries(&user)?);
    }
    Ok(files)
}

/// The file of that name of the runtime that knows newer GPUs.
fn newer_runtime(place: &Path) -> Result<PathBuf> {
    let name = place.file_name().unwrap_or_default();
    let file = Cache::open()?.newer_runtime().join(name);
    if !file.exists() {
        bail!("{} is missing: run 'make setup'", file.display());
    }
    Ok(file)
}

/// The libraries that a program needs, and the loader.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd")
        .arg(program)
        .output()
        .context("cannot run ldd")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if let Some(missing) = text.lines().find(|line| line.contains("not found")) {
        bail!("{} needs a library: {}", program.display(), missing.trim());
    }
    Ok(text
        .split_whitespace()
        .filter(|word| word.starts_with('/'))
        .map(PathBuf::from)
        .collect())
}

/// Writes a disk with these files, each under the name that it has there. It has as many
/// bytes as the memory of a PCI device can have.
pub fn write_disk(path: &Path, files: &BTreeMap<String, PathBuf>) -> Result<()> {
    let out = File::create(path).with_context(|| format!("cannot make {}", path.display()))?;
    let mut archive = Archive::new(BufWriter::new(out));
    for (name, file) in files {
        archive.copy(name, true, file)?;
    }
    archive.finish()?;
    let file = File::options().write(true).open(path)?;
    file.set_len(file.metadata()?.len().next_power_of_two())?;
    Ok(())
}

/// All files below a directory, by their paths from there.
pub fn files_below(directory: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut files = BTreeMap::new();
    let mut left = vec![directory.to_owned()];
    while let Some(folder) = left.pop() {
        let cannot = || format!("cannot read {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(cannot)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else {
                let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
                files.insert(name, path);
            }
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEP: &str = "kernel/a/drm.ko.xz:\n\
        kernel/a/gpu-sched.ko.xz: kernel/a/drm.ko.xz\n\
        kernel/a/amdgpu.ko.xz: kernel/a/gpu-sched.ko.xz kernel/a/drm.ko.xz\n\
        kernel/b/virtio_blk.ko.xz:\n";

    #[test]
    fn what_is_needed_comes_first_and_once() {
        assert_eq!(
            load_order(DEP, "", &["virtio_blk", "amdgpu", "gpu_sched"]).unwrap(),
            [
                "kernel/b/virtio_blk.ko.xz",
                "kernel/a/drm.ko.xz",
                "kernel/a/gpu-sched.ko.xz",
                "kernel/a/amdgpu.ko.xz"
            ]
        );
    }

    #[test]
    fn what_is_built_in_is_not_loaded() {
        let order = load_order(DEP, "kernel/b/virtio_blk.ko\n", &["virtio_blk", "drm"]);
        assert_eq!(order.unwrap(), ["kernel/a/drm.ko.xz"]);
    }

    #[test]
    fn a_module_that_the_kernel_lacks_is_named() {
        let error = load_order(DEP, "", &["nouveau"]).unwrap_err().to_string();
        assert!(error.contains("nouveau"), "{error}");
    }

    #[test]
    fn a_module_is_named_as_the_kernel_names_it() {
        assert_eq!(module_name("kernel/a/gpu-sched.ko.xz"), "gpu_sched");
        assert_eq!(module_name("amdgpu.ko"), "amdgpu");
    }
}
