// SPDX-License-Identifier: GPL-2.0-only
//! KFD's sysfs: which queues a process has, and which GPU a node is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use serde::Serialize;

const KFD: &str = "/sys/class/kfd/kfd";
/// What the driver writes into a compute queue's `type`.
const TYPE_COMPUTE: u32 = 0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Queue {
    pub gpu_id: u32,
    pub ring_bytes: u64,
    #[serde(rename = "type")]
    pub kind: u32,
}

/// A process's queues by id. A process that has none yet has no directory either.
pub fn queues(pid: u32) -> Result<BTreeMap<u32, Queue>> {
    queues_in(&PathBuf::from(format!("{KFD}/proc/{pid}/queues")))
}

fn queues_in(directory: &Path) -> Result<BTreeMap<u32, Queue>> {
    let mut queues = BTreeMap::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(queues),
        Err(error) => return Err(error).with_context(|| directory.display().to_string()),
    };
    for entry in entries {
        let path = entry?.path();
        let Some(id) = path
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok())
        else {
            continue;
        };
        // A queue that is destroyed meanwhile takes its files with it.
        let (Ok(gpu_id), Ok(ring_bytes), Ok(kind)) = (
            number(&path.join("gpuid")),
            number(&path.join("size")),
            number(&path.join("type")),
        ) else {
            continue;
        };
        queues.insert(
            id,
            Queue {
                gpu_id: gpu_id as u32,
                ring_bytes,
                kind: kind as u32,
            },
        );
    }
    Ok(queues)
}

/// Processes that KFD knows.
pub fn processes() -> Result<Vec<u32>> {
    let directory = format!("{KFD}/proc");
    let mut processes: Vec<u32> = fs::read_dir(&directory)
        .with_context(|| directory.clone())?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    processes.sort_unstable();
    Ok(processes)
}

/// The driver's id of the GPU that is topology node `node`.
pub fn gpu_id(node: u32) -> Result<u32> {
    let path = PathBuf::from(format!("{KFD}/topology/nodes/{node}/gpu_id"));
    Ok(number(&path)? as u32)
}

/// The topology node that has the driver's id `gpu_id`.
pub fn node(gpu_id: u32) -> Result<u32> {
    let directory = format!("{KFD}/topology/nodes");
    fs::read_dir(&directory)
        .with_context(|| directory.clone())?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .find(|&node| self::gpu_id(node).is_ok_and(|id| id == gpu_id))
        .with_context(|| format!("{directory}: no node has the GPU id {gpu_id}"))
}

/// Name and value lines of a topology node's properties.
pub fn properties(node: u32) -> Result<BTreeMap<String, u64>> {
    let path = format!("{KFD}/topology/nodes/{node}/properties");
    let text = fs::read_to_string(&path).with_context(|| path.clone())?;
    Ok(parse_properties(&text))
}

fn parse_properties(text: &str) -> BTreeMap<String, u64> {
    text.lines()
        .filter_map(|line| {
            let (name, value) = line.split_once(' ')?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        })
        .collect()
}

fn number(path: &Path) -> Result<u64> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.trim()
        .parse()
        .with_context(|| format!("{}: not a number: {text:?}", path.display()))
}

/// The id of the compute queue that was just created: it is in `after`, not in
/// `before`, and has the given ring. ROCr creates an internal queue of its own
/// beside the first one, with a ring of 4 KiB.
pub fn new_queue(
    before: &BTreeMap<u32, Queue>,
    after: &BTreeMap<u32, Queue>,
    gpu_id: u32,
    ring_bytes: u32,
) -> Result<u32> {
    let mut new = after.iter().filter(|(id, queue)| {
        !before.contains_key(id)
            && queue.kind == TYPE_COMPUTE
            && queue.gpu_id == gpu_id
            && queue.ring_bytes == u64::from(ring_bytes)
    });
    match (new.next(), new.next()) {
        (Some((&id, _)), None) => Ok(id),
        (None, _) => {
            bail!("KFD shows no new compute queue with a ring of {ring_bytes} bytes: {after:?}")
        }
        (Some(_), Some(_)) => bail!(
            "KFD shows several new compute queues with a ring of {ring_bytes} bytes: {after:?}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(ring_bytes: u64) -> Queue {
        Queue {
            gpu_id: 7,
            ring_bytes,
            kind: TYPE_COMPUTE,
        }
    }

    #[test]
    fn the_new_queue_is_the_one_with_our_ring() {
        let before = BTreeMap::new();
        let after = BTreeMap::from([(0, queue(4096)), (1, queue(16384))]);
        assert_eq!(new_queue(&before, &after, 7, 16384).unwrap(), 1);
        let sdma = Queue {
            kind: 1,
            ..queue(16384)
        };
        let later = BTreeMap::from([
            (0, queue(4096)),
            (1, queue(16384)),
            (2, sdma),
            (3, queue(16384)),
        ]);
        assert_eq!(new_queue(&after, &later, 7, 16384).unwrap(), 3);
    }

    #[test]
    fn no_queue_or_two_are_errors() {
        let before = BTreeMap::new();
        assert!(new_queue(&before, &before, 7, 16384).is_err());
        let two = BTreeMap::from([(0, queue(16384)), (1, queue(16384))]);
        assert!(new_queue(&before, &two, 7, 16384).is_err());
        assert!(new_queue(&before, &BTreeMap::from([(0, queue(16384))]), 8, 16384).is_err());
    }

    #[test]
    fn a_process_without_queues_has_none() {
        assert!(queues_in(Path::new("/nonexistent/queues"))
            .unwrap()
            .is_empty());
    }

    #[test]
    fn queue_files_are_read() {
        let directory = std::env::temp_dir().join(format!("kfd-sysfs-test-{}", std::process::id()));
        let queue = directory.join("3");
        fs::create_dir_all(&queue).unwrap();
        fs::create_dir_all(directory.join("9")).unwrap();
        for (file, text) in [("gpuid", "51234"), ("size", "16384"), ("type", "0")] {
            fs::write(queue.join(file), text).unwrap();
        }
        let found = queues_in(&directory).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            found,
            BTreeMap::from([(
                3,
                Queue {
                    gpu_id: 51234,
                    ring_bytes: 16384,
                    kind: 0
                }
            )])
        );
    }

    #[test]
    fn properties_are_name_and_value() {
        let properties = parse_properties("cpu_cores_count 0\nsimd_count 160\nbroken\nhuge x\n");
        assert_eq!(properties.len(), 2);
        assert_eq!(properties["simd_count"], 160);
    }
}
