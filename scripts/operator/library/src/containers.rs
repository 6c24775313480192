// SPDX-License-Identifier: GPL-2.0-only
//! What containers are called, by the files that their runtimes keep.
//!
//! Files are read, and no runtime is asked: that needs none of their programs and
//! sockets, works in a unit that may do next to nothing, and waits for nobody. Only
//! the files of containers that run are read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::de::DeserializeOwned;
use serde::Deserialize;

use crate::cgroups::{Cgroups, Running};
use crate::host::{cannot, Host, Refusal};

/// The longest file that is read, with room for thousands of containers.
const LONGEST: u64 = 16 << 20;

/// The number of a container begins with at least as many digits as tools show.
const SHORT: usize = 12;

/// A container that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub running: Running,
    pub names: BTreeSet<String>,
    pub labels: BTreeMap<String, String>,
}

impl Container {
    /// Whether a text begins its number.
    pub fn begins_with(&self, text: &str) -> bool {
        text.len() >= SHORT && self.running.number.starts_with(text)
    }
}

/// A user whose containers are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub number: u32,
    /// From the root, without the first slash.
    pub home: PathBuf,
}

/// The containers that the system runs, or a user.
pub fn containers(host: &Host, user: Option<&Account>) -> Result<Vec<Container>, Refusal> {
    let running = Cgroups::new(host, user.map(|user| user.number)).containers()?;
    if running.is_empty() {
        return Ok(Vec::new());
    }
    let keepers = Keepers::new(host, user)?;
    let mut all = Vec::new();
    for one in running {
        all.extend(keepers.describe(one)?);
    }
    Ok(all)
}

/// Where the runtimes keep what they know.
struct Keepers {
    docker: PathBuf,
    /// Folders of containerd, one for each of its namespaces.
    containerd: Vec<PathBuf>,
    /// Folders of podman and CRI-O, one for each driver of their storage.
    storage: Vec<PathBuf>,
    /// What their lists call containers, by number.
    listed: BTreeMap<String, Vec<String>>,
}

/// A container in a list of podman's and CRI-O's.
#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(default)]
    names: Option<Vec<String>>,
}

/// What docker keeps of a container.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Docker {
    name: Option<String>,
    config: Option<DockerConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerConfig {
    labels: Option<BTreeMap<String, String>>,
}

/// What is said to a runtime by the standard for them.
#[derive(Deserialize)]
struct Bundle {
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Daemon {
    #[serde(rename = "data-root")]
    data_root: Option<PathBuf>,
}

impl Keepers {
    fn new(host: &Host, user: Option<&Account>) -> Result<Keepers, Refusal> {
        let (docker, storage, containerd) = match user {
            Some(user) => {
                let share = host.path(&user.home).join(".local/share");
                let docker = share.join("docker");
                (docker, share.join("containers/storage"), Vec::new())
            }
            None => (
                docker_root(host)?,
                host.path("var/lib/containers/storage"),
                folders(&host.path("run/containerd/io.containerd.runtime.v2.task"))?,
            ),
        };
        let mut storage = folders(&storage)?;
        storage.retain(|folder| folder.to_string_lossy().ends_with("-containers"));
        let mut keepers = Keepers {
            docker: docker.join("containers"),
            containerd,
            storage,
            listed: BTreeMap::new(),
        };
        for folder in &keepers.storage {
            for file in ["containers.json", "volatile-containers.json"] {
                let listed: Option<Vec<Listed>> = json(&folder.join(file))?;
                for one in listed.into_iter().flatten() {
                    let names = keepers.listed.entry(one.id).or_default();
                    names.extend(one.names.into_iter().flatten());
                }
            }
        }
        Ok(keepers)
    }

    /// What a container is called; nothing where it only holds others together, as
    /// that of a pod does.
    fn describe(&self, running: Running) -> Result<Option<Container>, Refusal> {
        let number = running.number.clone();
        let mut container = Container {
            running,
            names: BTreeSet::new(),
            labels: BTreeMap::new(),
        };
        if let Some(docker) = json::<Docker>(&self.docker.join(&number).join("config.v2.json"))? {
            // It has a slash in front, from a time when names were paths.
            let name = docker.name.unwrap_or_default();
            container.names.insert(name.trim_start_matches('/').into());
            let labels = docker.config.and_then(|config| config.labels);
            container.labels.extend(labels.into_iter().flatten());
        }
        let names = self.listed.get(&number).into_iter().flatten();
        container.names.extend(names.cloned());
        let bundles = self.containerd.iter().map(|folder| folder.join(&number));
        let of_storage = |folder: &PathBuf| folder.join(&number).join("userdata");
        for bundle in bundles.chain(self.storage.iter().map(of_storage)) {
            let bundle: Option<Bundle> = json(&bundle.join("config.json"))?;
            let notes = bundle.and_then(|bundle| bundle.annotations);
            if !container.take_notes(notes.unwrap_or_default()) {
                return Ok(None);
            }
        }
        container.names.remove("");
        Ok(Some(container))
    }
}

impl Container {
    /// Takes what was said to the runtime: annotations, among them what the kubelet
    /// has as labels. `false`: it is that of a pod.
    fn take_notes(&mut self, notes: BTreeMap<String, String>) -> bool {
        for kind in [
            "io.kubernetes.cri.container-type",
            "io.kubernetes.cri-o.ContainerType",
        ] {
            if notes.get(kind).is_some_and(|kind| kind == "sandbox") {
                return false;
            }
        }
        for (note, label) in [
            (
                "io.kubernetes.cri.container-name",
                "io.kubernetes.container.name",
            ),
            ("io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"),
            (
                "io.kubernetes.cri.sandbox-namespace",
                "io.kubernetes.pod.namespace",
            ),
            ("io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid"),
        ] {
            if let Some(value) = notes.get(note) {
                self.labels.insert(label.into(), value.clone());
            }
        }
        if let Some(text) = notes.get("io.kubernetes.cri-o.Labels") {
            let labels: BTreeMap<String, String> = serde_json::from_str(text).unwrap_or_default();
            self.labels.extend(labels);
        }
        self.labels.extend(notes);
        let named = ["io.kubernetes.container.name", "nerdctl/name"];
        let names = named.iter().filter_map(|label| self.labels.get(*label));
        self.names.extend(names.cloned());
        true
    }
}

/// Where docker has its files, which is often a larger disk.
fn docker_root(host: &Host) -> Result<PathBuf, Refusal> {
    let daemon: Option<Daemon> = json(&host.path("etc/docker/daemon.json"))?;
    let root = daemon.and_then(|daemon| daemon.data_root);
    let root = root.unwrap_or_else(|| PathBuf::from("/var/lib/docker"));
    Ok(host.path(root.strip_prefix("/").unwrap_or(&root)))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// The folders in one, which may not be there.
fn folders(folder: &Path) -> Result<Vec<PathBuf>, Refusal> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if is_missing(&error) => return Ok(Vec::new()),
        Err(error) => return Err(cannot("look into", folder, &error)),
    };
    let mut all: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    all.sort();
    Ok(all)
}

/// What is in a file, which may not be there. A user may have put anything in its
/// place, and what is in it is not repeated to others.
fn json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Refusal> {
    let wrong = |error: io::Error| cannot("read", path, &error);
    let opened = fs::OpenOptions::new()
        .read(true)
        .custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(wrong(error)),
    };
    let data = file.metadata().map_err(wrong)?;
    let mut bytes = Vec::new();
    if data.is_file() {
        file.take(LONGEST).read_to_end(&mut bytes).map_err(wrong)?;
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|_| {
        Refusal(format!(
            "{} is not as a runtime of containers writes it: name the cgroup",
            path.display()
        ))
    })
}
