// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's files, which a test has elsewhere, and what they say of the host.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};
use serde::Serialize;

const NODES: &str = "sys/class/kfd/kfd/topology/nodes";
const SIMDS_OF_A_UNIT: u64 = 4;
/// gfx942, as the topology writes it: the kernels' machine code is for it.
const VERSION: u64 = 90402;

/// Where the kernel's files are.
#[derive(Clone, Debug)]
pub struct Host(PathBuf);

impl Host {
    pub fn at(root: &Path) -> Host {
        Host(root.to_path_buf())
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    pub fn read(&self, path: &str) -> Result<String> {
        let path = self.path(path);
        fs::read_to_string(&path).with_context(|| path.display().to_string())
    }

    /// What a file of one line says, or nothing where there is no such file.
    pub fn line(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.path(path)).ok()?;
        let line = text.lines().next().unwrap_or_default().trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// A file of the kernel's takes a value in one write.
    pub fn write(&self, path: &str, value: &str) -> Result<()> {
        let path = self.path(path);
        let written = OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|mut file| file.write_all(value.as_bytes()));
        written.with_context(|| format!("writing '{value}' to {}", path.display()))
    }

    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names of the files in a directory, in order; none where it is not there.
    pub fn names(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(directory)).into_iter().flatten();
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort();
        names
    }

    /// What each readable file of one line in a directory says.
    fn lines(&self, directory: &str) -> BTreeMap<String, String> {
        let names = self.names(directory).into_iter();
        names
            .filter_map(|name| {
                let line = self.line(&format!("{directory}/{name}"))?;
                Some((name, line))
            })
            .collect()
    }

    /// The GPU of this number among those that KFD shows.
    pub fn gpu(&self, index: usize) -> Result<Gpu> {
        let mut numbers: Vec<u32> = self
            .names(NODES)
            .iter()
            .filter_map(|name| name.parse().ok())
            .collect();
        numbers.sort_unstable();
        let mut gpus = Vec::new();
        for node in numbers {
            let text = self.read(&format!("{NODES}/{node}/properties"))?;
            let properties = properties(&text);
            if properties.get("simd_count").is_some_and(|&count| count > 0) {
                gpus.push((node, properties));
            }
        }
        let count = gpus.len();
        ensure!(
            count > 0,
            "KFD shows no GPU: load amdgpu on a machine with an MI300, or see 'gpreempt doctor'"
        );
        let Some((node, properties)) = gpus.into_iter().nth(index) else {
            bail!("there is no GPU {index}: KFD shows {count}, and the first is 0");
        };
        let gpu_id = self.read(&format!("{NODES}/{node}/gpu_id"))?;
        let gpu_id = gpu_id.trim().parse().context("a GPU's id is no number")?;
        Gpu::of(node, gpu_id, properties)
    }

    /// What the report says of kernel, driver, firmware and GPU.
    pub fn facts(&self, gpu: &Gpu, address: &str) -> Facts {
        let device = format!("sys/bus/pci/devices/{address}");
        let amdgpu = |name: &str| self.line(&format!("sys/module/amdgpu/{name}"));
        Facts {
            kernel: self.line("proc/sys/kernel/osrelease"),
            processor: self.processor(),
            driver: amdgpu("version").or_else(|| amdgpu("srcversion")),
            driver_parameters: [
                "sched_policy",
                "cwsr_enable",
                "gpu_recovery",
                "hws_max_conc_proc",
            ]
            .into_iter()
            .filter_map(|name| Some((name.into(), amdgpu(&format!("parameters/{name}"))?)))
            .collect(),
            firmware: self.lines(&format!("{device}/fw_version")),
            compute_partition: self.line(&format!("{device}/current_compute_partition")),
            memory_partition: self.line(&format!("{device}/current_memory_partition")),
            module: self.line("sys/module/amd_gpreempt/version"),
            gpu: gpu.clone(),
        }
    }

    fn processor(&self) -> Option<String> {
        let text = fs::read_to_string(self.path("proc/cpuinfo")).ok()?;
        let model = text
            .lines()
            .find(|line| line.starts_with("model name"))?
            .split_once(':')?;
        Some(model.1.trim().to_owned())
    }

    /// Processes with compute or copy queues on this GPU that do not descend from `own`.
    pub fn others(&self, gpu_id: u32, own: u32) -> Vec<Other> {
        let processes = self.names("sys/class/kfd/kfd/proc");
        let pids = processes.iter().filter_map(|name| name.parse::<u32>().ok());
        pids.filter(|&pid| self.exists(&format!("proc/{pid}")) && !self.descends(pid, own))
            .filter_map(|pid| {
                let directory = format!("sys/class/kfd/kfd/proc/{pid}/queues");
                let on_this = |name: &String| {
                    self.line(&format!("{directory}/{name}/gpuid")) == Some(gpu_id.to_string())
                };
                let queues = self
                    .names(&directory)
                    .iter()
                    .filter(|name| on_this(name))
                    .count();
                let command = self.line(&format!("proc/{pid}/comm")).unwrap_or_default();
                (queues > 0).then_some(Other {
                    pid,
                    command,
                    queues,
                })
            })
            .collect()
    }

    fn descends(&self, pid: u32, own: u32) -> bool {
        const GENERATIONS: usize = 8;
        let mut at = pid;
        for _ in 0..GENERATIONS {
            if at == own {
                return true;
            }
            let Ok(status) = self.read(&format!("proc/{at}/status")) else {
                return false;
            };
            let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
            match parent.and_then(|parent| parent.trim().parse().ok()) {
                Some(parent) if parent > 1 => at = parent,
                _ => return false,
            }
        }
        false
    }

    /// Processor time that the module's thread of a node has taken, in nanoseconds.
    pub fn thread_time(&self, address: &str, node: u64) -> Option<u64> {
        // The kernel cuts a thread's name off.
        const NAME_BYTES: usize = 15;
        let whole = format!("gp/{address}/{node}");
        let name = whole.get(..NAME_BYTES).unwrap_or(&whole);
        let pids = self.names("proc").into_iter();
        let thread = pids
            .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
            .find(|pid| {
                let comm = self.line(&format!("proc/{pid}/comm"));
                comm.is_some_and(|comm| comm == whole || comm == name)
            })?;
        let text = self.line(&format!("proc/{thread}/schedstat"))?;
        text.split(' ').next()?.parse().ok()
    }
}

/// Another user of the GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    pub pid: u32,
    pub command: String,
    pub queues: usize,
}

/// A GPU or a partition of one, as KFD shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gpu {
    pub topology_node: u32,
    pub gpu_id: u32,
    pub gfx_target_version: u64,
    pub units: u32,
    pub dies: u64,
    pub save_area_bytes: u64,
    pub device_id: u64,
}

impl Gpu {
    fn of(node: u32, gpu_id: u32, properties: BTreeMap<String, u64>) -> Result<Gpu> {
        let number = |name: &str| properties.get(name).copied().unwrap_or(0);
        let version = number("gfx_target_version");
        ensure!(
            version == VERSION,
            "the GPU is of version {version}; the self test's kernels are for {VERSION} (MI300) only"
        );
        Ok(Gpu {
            topology_node: node,
            gpu_id,
            gfx_target_version: version,
            units: u32::try_from(number("simd_count") / SIMDS_OF_A_UNIT)?,
            dies: number("num_xcc").max(1),
            save_area_bytes: number("cwsr_size"),
            device_id: number("device_id"),
        })
    }
}

/// What there is, for the report. Nothing in it names the host or anybody on it.
#[derive(Clone, Debug, Serialize)]
pub struct Facts {
    pub kernel: Option<String>,
    pub processor: Option<String>,
    pub driver: Option<String>,
    pub driver_parameters: BTreeMap<String, String>,
    pub firmware: BTreeMap<String, String>,
    pub compute_partition: Option<String>,
    pub memory_partition: Option<String>,
    pub module: Option<String>,
    pub gpu: Gpu,
}

fn properties(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::files;

    const MI300X: &str = "simd_count 1216\ngfx_target_version 90402\nnum_xcc 8\ncwsr_size 5\n";

    fn with_gpus(version: &str) -> (tempfile::TempDir, Host) {
        let nodes = NODES;
        files(&[
            (
                &format!("{nodes}/0/properties"),
                "cpu_cores_count 64\nsimd_count 0\n",
            ),
            (&format!("{nodes}/0/gpu_id"), "0\n"),
            (
                &format!("{nodes}/10/properties"),
                &MI300X.replace("90402", version),
            ),
            (&format!("{nodes}/10/gpu_id"), "77\n"),
            (&format!("{nodes}/9/properties"), MI300X),
            (&format!("{nodes}/9/gpu_id"), "66\n"),
        ])
    }

    #[test]
    fn gpus_are_numbered_in_the_order_of_nodes() {
        let (_files, host) = with_gpus("90402");
        let first = host.gpu(0).unwrap();
        assert_eq!((first.gpu_id, first.units, first.dies), (66, 304, 8));
        assert_eq!(host.gpu(1).unwrap().gpu_id, 77);
        let error = host.gpu(2).unwrap_err().to_string();
        assert!(error.contains("there is no GPU 2: KFD shows 2"), "{error}");
    }

    #[test]
    fn another_gpu_and_none_are_refused() {
        let (_files, host) = with_gpus("90010");
        let error = host.gpu(1).unwrap_err().to_string();
        assert!(error.contains("90010"), "{error}");
        let (_files, host) = files(&[]);
        let error = host.gpu(0).unwrap_err().to_string();
        assert!(error.contains("KFD shows no GPU"), "{error}");
    }

    #[test]
    fn only_processes_of_others_on_this_gpu_count() {
        let queue =
            |pid: u32, gpu: u32| (format!("sys/class/kfd/kfd/proc/{pid}/queues/0/gpuid"), gpu);
        let status = |pid: u32, parent: u32| (format!("proc/{pid}/status"), parent);
        let mut all = Vec::new();
        for (path, gpu) in [
            queue(5, 66),
            queue(6, 66),
            queue(7, 77),
            queue(8, 66),
            queue(9, 66),
        ] {
            all.push((path, format!("{gpu}\n")));
        }
        for (path, parent) in [
            status(5, 4),
            status(4, 3),
            status(6, 1),
            status(7, 1),
            status(8, 2),
        ] {
            all.push((path, format!("Name:\tx\nPPid:\t{parent}\n")));
        }
        all.push(("proc/6/comm".into(), "python3\n".into()));
        let all: Vec<(&str, &str)> = all.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let (_files, host) = files(&all);
        // 5 descends from 3 by way of 4, 7 uses another GPU, and 9 has ended.
        let others = host.others(66, 3);
        let pids: Vec<u32> = others.iter().map(|other| other.pid).collect();
        assert_eq!(pids, [6, 8]);
        assert_eq!(
            (others[0].command.as_str(), others[0].queues),
            ("python3", 1)
        );
    }

    #[test]
    fn the_thread_of_a_node_is_found_by_its_cut_name() {
        let (_files, host) = files(&[
            ("proc/11/comm", "gp/0000:01:00.0\n"),
            ("proc/11/schedstat", "123 4 5\n"),
            ("proc/12/comm", "gp/0000:02:00.0\n"),
            ("proc/12/schedstat", "9 4 5\n"),
        ]);
        assert_eq!(host.thread_time("0000:01:00.0", 0), Some(123));
        assert_eq!(host.thread_time("0000:03:00.0", 0), None);
    }
}
