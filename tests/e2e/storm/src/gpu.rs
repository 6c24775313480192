// SPDX-License-Identifier: GPL-2.0-only
//! The first GPU, as KFD's topology shows it.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const NODES: &str = "/sys/class/kfd/kfd/topology/nodes";
const RENDER_NODES: &str = "/dev/dri";

#[derive(Clone, Debug)]
pub struct Gpu {
    pub id: u32,
    pub render_node: PathBuf,
    /// This program, which a process that is not root any more cannot find by itself.
    pub program: PathBuf,
    /// Bytes of the area in which a queue's waves are saved, on one die.
    pub save_area_bytes: u64,
    /// The same for all dies, with what a debugger needs.
    pub whole_save_area_bytes: u64,
    pub control_stack_bytes: u64,
}

impl Gpu {
    pub fn first() -> Result<Gpu> {
        let mut nodes: Vec<PathBuf> = fs::read_dir(NODES)
            .context("KFD shows no nodes: is amdgpu loaded?")?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .collect();
        nodes.sort();
        let id = |node: &Path| -> Option<u32> {
            let text = fs::read_to_string(node.join("gpu_id")).ok()?;
            text.trim().parse().ok().filter(|&id| id != 0)
        };
        let (node, id) = nodes
            .iter()
            .find_map(|node| Some((node, id(node)?)))
            .context("there is no GPU")?;
        let properties = properties(&fs::read_to_string(node.join("properties"))?);
        let mut render_nodes: Vec<PathBuf> = fs::read_dir(RENDER_NODES)
            .context(RENDER_NODES)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.to_string_lossy().contains("renderD"))
            .collect();
        render_nodes.sort();
        Gpu::new(id, render_nodes.swap_remove(0), &properties)
    }

    /// The driver's kfd_queue_ctx_save_restore_size(), of which sysfs shows a part.
    fn new(id: u32, render_node: PathBuf, properties: &BTreeMap<String, u64>) -> Result<Gpu> {
        const WAVES_PER_UNIT: u64 = 40;
        const WAVES_PER_ENGINE: u64 = 512;
        const DEBUGGER_BYTES_PER_WAVE: u64 = 32;
        let property = |name: &str| {
            let value = properties.get(name).copied().filter(|&value| value != 0);
            value.with_context(|| format!("the node has no property '{name}'"))
        };
        let xccs = property("num_xcc")?;
        let units = property("simd_count")? / property("simd_per_cu")? / xccs;
        let engines = property("array_count")? / xccs / property("simd_arrays_per_engine")?;
        let waves = (units * WAVES_PER_UNIT).min(engines * WAVES_PER_ENGINE);
        let debugger = (waves * DEBUGGER_BYTES_PER_WAVE).next_multiple_of(64);
        let bytes = property("cwsr_size")?;
        Ok(Gpu {
            id,
            render_node,
            program: env::current_exe().context("which program is this?")?,
            save_area_bytes: bytes,
            whole_save_area_bytes: ((bytes + debugger) * xccs).next_multiple_of(4096),
            control_stack_bytes: property("ctl_stack_size")?,
        })
    }
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

    const PROPERTIES: &str = "num_xcc 2\nsimd_count 32\nsimd_per_cu 4\narray_count 8\n\
        simd_arrays_per_engine 1\ncwsr_size 8192\nctl_stack_size 4096\nunique_id x\n";

    #[test]
    fn the_save_area_is_for_all_dies() {
        let gpu = Gpu::new(5, "r".into(), &properties(PROPERTIES)).unwrap();
        // Four units of forty waves, 32 bytes each.
        assert_eq!(gpu.save_area_bytes, 8192);
        assert_eq!(
            gpu.whole_save_area_bytes,
            (2 * (8192u64 + 5120)).next_multiple_of(4096)
        );
    }

    #[test]
    fn a_node_without_a_property_is_refused_by_its_name() {
        let text = PROPERTIES.replace("num_xcc 2", "num_xcc 0");
        let error = Gpu::new(5, "r".into(), &properties(&text)).unwrap_err();
        assert!(error.to_string().contains("num_xcc"));
    }
}
