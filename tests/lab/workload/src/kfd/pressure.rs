// SPDX-License-Identifier: GPL-2.0-only
//! Pressure on video memory from a graphics client, which makes the driver evict
//! compute processes. KFD itself never gives out more than there is, so memory
//! allocated through it evicts no other process.

use std::fs::{self, File, OpenOptions};
use std::path::PathBuf;

use anyhow::{Context, Result};
use nix::errno::Errno;

use super::ioctl;

/// Memory is held until this is dropped: the driver frees it with the open file.
pub struct Pressure {
    render_node: File,
    bytes: u64,
}

impl Pressure {
    pub fn open(render_node: Option<PathBuf>) -> Result<Self> {
        let path = match render_node {
            Some(path) => path,
            None => first_render_node()?,
        };
        let render_node = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&path)
            .with_context(|| path.display().to_string())?;
        Ok(Self {
            render_node,
            bytes: 0,
        })
    }

    /// Allocates up to `bytes` in pieces of `piece`; less when memory is out.
    /// Returns how much is held now.
    pub fn allocate(&mut self, bytes: u64, piece: u64) -> Result<u64> {
        let goal = self.bytes.saturating_add(bytes);
        while self.bytes < goal {
            let size = piece.min(goal - self.bytes);
            match ioctl::gem_create(&self.render_node, size) {
                Ok(_) => self.bytes += size,
                Err(Errno::ENOMEM) => break,
                Err(error) => return Err(error).context("allocating video memory"),
            }
        }
        Ok(self.bytes)
    }
}

/// The first GPU's render node.
pub(super) fn first_render_node() -> Result<PathBuf> {
    let mut nodes: Vec<PathBuf> = fs::read_dir("/dev/dri")
        .context("/dev/dri: is amdgpu loaded with a GPU?")?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("renderD"))
        })
        .collect();
    nodes.sort();
    nodes
        .into_iter()
        .next()
        .context("/dev/dri has no render node")
}
