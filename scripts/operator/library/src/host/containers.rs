// SPDX-License-Identifier: GPL-2.0-only
//! What containers are called, by the files that their runtimes keep.
//!
//! Files are read, and no runtime is asked: that needs none of their programs and
//! sockets, works in a unit that may do next to nothing, and waits for nobody. Only
//! the files of containers that run are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde::Deserialize;

use crate::host::cgroups::{Cgroups, Running};
use crate::host::reader::Reader;
use crate::host::tree::{Host, Refusal};

/// The most containers that are looked at for one account.
const MOST: usize = 4096;

/// The number of a container begins with at least as many digits as tools show.
const SHORT: usize = 12;

/// A container that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub running: Running,
    pub names: BTreeSet<String>,
    pub labels: BTreeMap<String, String>,
    /// Why its names and labels cannot be said, if they cannot.
    pub unknown: Option<Refusal>,
}

impl Container {
    fn new(running: Running) -> Container {
        Container {
            running,
            names: BTreeSet::new(),
            labels: BTreeMap::new(),
            unknown: None,
        }
    }

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

/// The containers that the system runs, or a user. One that cannot be described is
/// among them, and keeps no other from it.
pub fn containers(host: &Host, user: Option<&Account>) -> Result<Vec<Container>, Refusal> {
    let running = Cgroups::new(host, user.map(|user| user.number)).containers()?;
    if running.is_empty() {
        return Ok(Vec::new());
    }
    are_few(&running)?;
    let numbers: BTreeSet<&str> = running.iter().map(|one| one.number.as_str()).collect();
    let mut keepers = Keepers::new(host, user, &numbers)?;
    let mut all = Vec::new();
    let count = running.len();
    for (done, one) in running.into_iter().enumerate() {
        let others = keepers.reader.hold_back(count - done);
        let found = keepers.describe(one.clone());
        keepers.reader.give_back(others);
        all.extend(found.unwrap_or_else(|why| {
            Some(Container {
                unknown: Some(why),
                ..Container::new(one)
            })
        }));
    }
    Ok(all)
}

fn are_few(running: &[Running]) -> Result<(), Refusal> {
    match running.len() {
        0..=MOST => Ok(()),
        _ => Err(Refusal(format!(
            "more than {MOST} containers run: name the cgroup"
        ))),
    }
}

/// Where the runtimes keep what they know.
struct Keepers {
    docker: PathBuf,
    /// Folders of containerd, one for each of its namespaces.
    containerd: Vec<PathBuf>,
    /// Folders of podman and CRI-O, one for each driver of their storage.
    storage: Vec<PathBuf>,
    /// What their lists call containers that run, by number.
    listed: BTreeMap<String, Vec<String>>,
    reader: Reader,
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
    fn new(
        host: &Host,
        user: Option<&Account>,
        numbers: &BTreeSet<&str>,
    ) -> Result<Keepers, Refusal> {
        let mut reader = Reader::new(host, user.map(|user| user.number));
        let (docker, storage, containerd) = match user {
            Some(user) => {
                let share = host.path(&user.home).join(".local/share");
                let docker = share.join("docker");
                (docker, share.join("containers/storage"), Vec::new())
            }
            None => (
                docker_root(host, &mut reader)?,
                host.path("var/lib/containers/storage"),
                reader.folders(
                    &host.path("run/containerd/io.containerd.runtime.v2.task"),
                    "",
                )?,
            ),
        };
        let storage = reader.folders(&storage, "-containers")?;
        let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for folder in &storage {
            for file in ["containers.json", "volatile-containers.json"] {
                let listed: Option<Vec<Listed>> = reader.json(&folder.join(file))?;
                let listed = listed.into_iter().flatten();
                for one in listed.filter(|one| numbers.contains(one.id.as_str())) {
                    let names = all.entry(one.id).or_default();
                    names.extend(one.names.into_iter().flatten());
                }
            }
        }
        Ok(Keepers {
            docker: docker.join("containers"),
            containerd,
            storage,
            listed: all,
            reader,
        })
    }

    /// What a container is called; nothing where it only holds others together, as
    /// that of a pod does.
    fn describe(&mut self, running: Running) -> Result<Option<Container>, Refusal> {
        let number = running.number.clone();
        let mut container = Container::new(running);
        let kept = self.docker.join(&number).join("config.v2.json");
        if let Some(docker) = self.reader.json::<Docker>(&kept)? {
            // It has a slash in front, from a time when names were paths.
            let name = docker.name.unwrap_or_default();
            container.names.insert(name.trim_start_matches('/').into());
            let labels = docker.config.and_then(|config| config.labels);
            container.labels.extend(labels.into_iter().flatten());
        }
        let names = self.listed.get(&number).into_iter().flatten();
        container.names.extend(names.cloned());
        // What a runtime does not say itself, whoever made the pod may have.
        let of_containerd = |folder: &PathBuf| (folder.join(&number), "io.kubernetes.cri-o.");
        let of_storage =
            |folder: &PathBuf| (folder.join(&number).join("userdata"), "io.kubernetes.cri.");
        let bundles = self.containerd.iter().map(of_containerd);
        for (bundle, foreign) in bundles.chain(self.storage.iter().map(of_storage)) {
            let bundle: Option<Bundle> = self.reader.json(&bundle.join("config.json"))?;
            let notes = bundle.and_then(|bundle| bundle.annotations);
            let mut notes = notes.unwrap_or_default();
            notes.retain(|note, _| !note.starts_with(foreign));
            if !container.take_notes(notes) {
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
        let labels = notes.get("io.kubernetes.cri-o.Labels");
        let labels = labels.map(|text| serde_json::from_str(text).unwrap_or_default());
        let labels: BTreeMap<String, String> = labels.unwrap_or_default();
        // What the kubelet says is said after whatever else there is.
        self.labels.extend(notes.clone());
        self.labels.extend(labels);
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
        let named = ["io.kubernetes.container.name", "nerdctl/name"];
        let names = named.iter().filter_map(|label| self.labels.get(*label));
        self.names.extend(names.cloned());
        true
    }
}

/// Where docker has its files, which is often a larger disk.
fn docker_root(host: &Host, reader: &mut Reader) -> Result<PathBuf, Refusal> {
    let daemon: Option<Daemon> = reader.json(&host.path("etc/docker/daemon.json"))?;
    let root = daemon.and_then(|daemon| daemon.data_root);
    let root = root.unwrap_or_else(|| PathBuf::from("/var/lib/docker"));
    Ok(host.path(root.strip_prefix("/").unwrap_or(&root)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_an_end_to_the_containers() {
        let one = Running {
            number: String::new(),
            path: Vec::new(),
        };
        let mut all = vec![one.clone(); MOST];
        assert_eq!(are_few(&all), Ok(()));
        all.push(one);
        let refusal = are_few(&all).unwrap_err().to_string();
        assert!(refusal.contains("more than 4096 containers"), "{refusal}");
    }
}
