// SPDX-License-Identifier: GPL-2.0-only
//! Where units, users and containers have their cgroups.
//!
//! The tree itself is asked, and no service: the name of a unit is that of its
//! cgroup, and the number of a container is part of that. What a user may arrange
//! as he likes is not looked at for anybody else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::host::tree::{cannot, Host, Refusal};

/// The length of a container's number.
pub const WHOLE: usize = 64;
/// The longest path that the kernel takes for a rule.
const LONGEST: usize = 1024;
/// How deep and how wide a tree is looked at, which a user could make grow.
const DEEPEST: usize = 32;
const MOST: usize = 100_000;
/// The same for what one user runs.
const MOST_OF_USER: usize = 10_000;

/// A container that runs, by its number.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Running {
    pub number: String,
    /// The path of its cgroup.
    pub path: Vec<u8>,
}

/// The paths of the cgroups of units, by their names.
#[derive(Debug)]
pub struct Units(BTreeMap<OsString, Vec<u8>>);

impl Units {
    /// The cgroup of a unit.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        // systemd has this in front of what could be a file of the kernel's.
        let escaped = format!("_{name}");
        let found = self.0.get(OsStr::new(name));
        found.or_else(|| self.0.get(OsStr::new(&escaped))).cloned()
    }
}

/// The cgroups of the system, or of one user's own manager.
pub struct Cgroups {
    /// Where the tree is that the kernel's paths begin with.
    tree: PathBuf,
    /// Where to begin.
    top: PathBuf,
    /// Who may have made the folders that are looked into; none for a user's own.
    owner: Option<u32>,
    most: usize,
    left: usize,
}

/// Whether there is a cgroup of this path.
pub fn is_there(host: &Host, path: &[u8]) -> bool {
    let below = path.strip_prefix(b"/").unwrap_or(path);
    tree(host).join(OsStr::from_bytes(below)).is_dir()
}

impl Cgroups {
    pub fn new(host: &Host, user: Option<u32>) -> Cgroups {
        let tree = tree(host);
        let top = match user {
            Some(user) => tree.join(slice(user)).join(format!("user@{user}.service")),
            None => tree.clone(),
        };
        let owner = match user {
            Some(_) => None,
            None => fs::metadata(&tree).ok().map(|data| data.uid()),
        };
        let most = if user.is_some() { MOST_OF_USER } else { MOST };
        Cgroups {
            tree,
            top,
            owner,
            most,
            left: most,
        }
    }

    /// The units, which are in slices alone, by the names of their cgroups.
    pub fn units(mut self) -> Result<Units, Refusal> {
        let mut all = BTreeMap::new();
        let mut open = vec![(self.top.clone(), 0)];
        while let Some((folder, depth)) = open.pop() {
            for (part, path) in self.folders(&folder)? {
                if part.as_bytes().ends_with(b".slice") && depth < DEEPEST {
                    open.push((path.clone(), depth + 1));
                }
                let shown = self.shown(&path);
                // A longer path would have the whole configuration refused.
                if shown.len() <= LONGEST {
                    all.entry(part).or_insert(shown);
                }
            }
        }
        Ok(Units(all))
    }

    /// All containers, in the order of their paths. Those within others are not
    /// looked for.
    pub fn containers(mut self) -> Result<Vec<Running>, Refusal> {
        let mut all = Vec::new();
        let mut open = vec![(self.top.clone(), 0)];
        while let Some((folder, depth)) = open.pop() {
            for (part, path) in self.folders(&folder)? {
                match number(&part) {
                    Some(number) => all.push(Running {
                        number,
                        path: self.shown(&path),
                    }),
                    None if depth < DEEPEST && !is_delegated(&part) => open.push((path, depth + 1)),
                    None => {}
                }
            }
        }
        // A longer path would have the whole configuration refused.
        all.retain(|one| one.path.len() <= LONGEST);
        all.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(all)
    }

    /// The folders in one. One that is not there any more has none, and neither has
    /// one whose folders somebody else may have made.
    fn folders(&mut self, folder: &Path) -> Result<Vec<(OsString, PathBuf)>, Refusal> {
        let wrong = |error: io::Error| cannot("look into", folder, &error);
        let owner = match fs::metadata(folder) {
            Ok(data) => data.uid(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(wrong(error)),
        };
        if self.owner.is_some_and(|own| own != owner) {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(all),
            Err(error) => return Err(wrong(error)),
        };
        for entry in entries {
            let Ok(entry) = entry else { break };
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.left = self.left.checked_sub(1).ok_or_else(|| {
                    Refusal(format!(
                        "there are more than {} cgroups below {}: name the cgroup",
                        self.most,
                        self.top.display()
                    ))
                })?;
                all.push((entry.file_name(), entry.path()));
            }
        }
        Ok(all)
    }

    /// A path as the kernel has it.
    fn shown(&self, path: &Path) -> Vec<u8> {
        let below = path.strip_prefix(&self.tree).unwrap_or(path);
        [b"/", below.as_os_str().as_bytes()].concat()
    }
}

/// The cgroup of everything of a user's, if there is something.
pub fn of_user(host: &Host, user: u32) -> Option<Vec<u8>> {
    let below = slice(user);
    let path = tree(host).join(&below);
    path.is_dir().then(|| format!("/{below}").into_bytes())
}

fn slice(user: u32) -> String {
    format!("user.slice/user-{user}.slice")
}

/// The one hierarchy, also where the old ones are beside it.
fn tree(host: &Host) -> PathBuf {
    let both = host.path("sys/fs/cgroup/unified");
    match both.join("cgroup.controllers").exists() {
        true => both,
        false => host.path("sys/fs/cgroup"),
    }
}

/// The number of the container whose processes are in a cgroup of this name:
/// `docker-NUMBER.scope`, `libpod-NUMBER.scope`, `libpod-payload-NUMBER`,
/// `cri-containerd-NUMBER.scope` and the like, or the bare number where the runtime
/// does without systemd. The monitor of a container has a cgroup of its own.
fn number(part: &OsStr) -> Option<String> {
    let part = part.to_str()?;
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let (whose, number) = part.rsplit_once('-').unwrap_or(("", part));
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_number = number.len() == WHOLE && number.bytes().all(is_digit);
    (is_number && !whose.ends_with("conmon")).then(|| number.to_owned())
}

/// Whether a user arranges what is below.
fn is_delegated(part: &OsStr) -> bool {
    let part = part.as_bytes();
    part.starts_with(b"user@") && part.ends_with(b".service")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::chown;

    const NUMBER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(paths: &[&str]) -> Tree {
            let tree = Tree(tempfile::tempdir().unwrap());
            for path in paths {
                tree.add(path);
            }
            tree
        }

        fn add(&self, path: &str) -> PathBuf {
            let path = self.host().path("sys/fs/cgroup").join(path);
            fs::create_dir_all(&path).unwrap();
            path
        }

        fn host(&self) -> Host {
            Host::new(self.0.path())
        }

        fn unit(&self, user: Option<u32>, name: &str) -> Option<String> {
            let units = Cgroups::new(&self.host(), user).units().unwrap();
            units.get(name).map(|path| String::from_utf8(path).unwrap())
        }

        fn containers(&self, user: Option<u32>) -> Vec<String> {
            let found = Cgroups::new(&self.host(), user).containers().unwrap();
            let path = |one: Running| String::from_utf8(one.path).unwrap();
            found.into_iter().map(path).collect()
        }
    }

    const USER: &str = "user.slice/user-7.slice/user@7.service";

    #[test]
    fn a_unit_is_found_in_its_slices_and_nowhere_else() {
        let tree = Tree::new(&[
            "init.scope",
            "system.slice/train.service/below.service",
            "system.slice/system-a.slice/a@1.service",
            "system.slice/_memory.service",
            "user.slice/user-7.slice/session-3.scope",
            &format!("{USER}/app.slice/train.service"),
            &format!("{USER}/evil.service"),
        ]);
        for (name, path) in [
            ("train.service", "/system.slice/train.service"),
            ("a@1.service", "/system.slice/system-a.slice/a@1.service"),
            ("system-a.slice", "/system.slice/system-a.slice"),
            ("memory.service", "/system.slice/_memory.service"),
            ("init.scope", "/init.scope"),
            (
                "session-3.scope",
                "/user.slice/user-7.slice/session-3.scope",
            ),
        ] {
            assert_eq!(tree.unit(None, name).as_deref(), Some(path));
        }
        for name in ["below.service", "evil.service", "a@2.service", "app.slice"] {
            assert_eq!(tree.unit(None, name), None, "{name}");
        }
        let own = format!("/{USER}/app.slice/train.service");
        assert_eq!(tree.unit(Some(7), "train.service"), Some(own));
        assert_eq!(tree.unit(Some(7), "init.scope"), None);
        assert_eq!(tree.unit(Some(8), "train.service"), None);
        assert_eq!(Tree::new(&[]).unit(None, "train.service"), None);
    }

    #[test]
    fn a_container_is_found_whoever_runs_it_and_its_monitor_is_not() {
        let paths = [
            format!("docker/{NUMBER}"),
            format!(
                "kubepods.slice/kubepods-burstable.slice/p.slice/cri-containerd-{NUMBER}.scope"
            ),
            format!("kubepods/burstable/pod1/{NUMBER}"),
            format!("libpod_parent/libpod-{NUMBER}"),
            format!("machine.slice/libpod-{NUMBER}.scope"),
            format!("machine.slice/machine-libpod_pod_1.slice/crio-{NUMBER}.scope"),
            format!("system.slice/docker-{NUMBER}.scope"),
            format!("system.slice/infer.service/libpod-payload-{NUMBER}"),
        ];
        let tree = Tree::new(&paths.each_ref().map(String::as_str));
        for other in [
            format!("machine.slice/libpod-conmon-{NUMBER}.scope"),
            format!("machine.slice/crio-conmon-{NUMBER}.scope"),
            format!("system.slice/docker-{NUMBER}.scope/docker/{NUMBER}"),
            format!("{USER}/user.slice/libpod-{NUMBER}.scope/container"),
            format!("docker/{}", &NUMBER[1..]),
            format!("docker/{}", NUMBER.to_uppercase()),
            format!("docker/g{}", &NUMBER[1..]),
        ] {
            tree.add(&other);
        }
        assert_eq!(tree.containers(None), paths.map(|path| format!("/{path}")));
        let own = format!("/{USER}/user.slice/libpod-{NUMBER}.scope");
        assert_eq!(tree.containers(Some(7)), [own]);
        assert!(tree.containers(Some(8)).is_empty());
    }

    #[test]
    fn what_somebody_else_may_have_made_is_not_looked_at() {
        let tree = Tree::new(&[]);
        let theirs = tree.add("system.slice/theirs.service");
        tree.add(&format!(
            "system.slice/theirs.service/docker-{NUMBER}.scope"
        ));
        assert_eq!(tree.containers(None).len(), 1);
        // Only root can give a folder away.
        if chown(&theirs, Some(1), None).is_ok() {
            assert!(tree.containers(None).is_empty());
        }
    }

    #[test]
    fn a_tree_that_is_too_deep_or_a_path_that_is_too_long_ends_nothing() {
        let deep = "a/".repeat(DEEPEST + 1);
        let long = format!("{0}/{0}/{0}/{0}/{NUMBER}", "x".repeat(250));
        let tree = Tree::new(&[&long, &format!("docker/{NUMBER}")]);
        tree.add(&format!("{deep}{NUMBER}"));
        assert_eq!(tree.containers(None), [format!("/docker/{NUMBER}")]);
        // A user can have as many slices as he likes.
        let slices = |depth| "a.slice/".repeat(depth);
        for (path, is_there) in [
            (format!("{USER}/{}deepest.service", slices(DEEPEST)), true),
            (
                format!("{USER}/{}deeper.service", slices(DEEPEST + 1)),
                false,
            ),
            (
                format!(
                    "{USER}/{0}.slice/{0}.slice/{0}.slice/{0}.slice/long.service",
                    "x".repeat(240)
                ),
                false,
            ),
        ] {
            let name = path.rsplit('/').next().unwrap();
            tree.add(&path);
            let found = tree.unit(Some(7), name);
            assert_eq!(found, is_there.then(|| format!("/{path}")), "{name}");
        }
    }

    #[test]
    fn a_user_who_makes_too_many_is_told_so() {
        let tree = Tree::new(&[]);
        for number in 0..8 {
            tree.add(&format!("{USER}/{number}"));
        }
        let cgroups = |left| {
            let all = Cgroups::new(&tree.host(), Some(7));
            assert_eq!((all.left, all.most), (MOST_OF_USER, MOST_OF_USER));
            Cgroups { left, ..all }
        };
        let refusal = cgroups(7).units().unwrap_err().to_string();
        assert!(refusal.contains("more than 10000 cgroups"), "{refusal}");
        assert!(cgroups(7).containers().is_err());
        assert!(cgroups(8).units().is_ok());
        assert_eq!(cgroups(8).containers(), Ok(Vec::new()));
    }

    #[test]
    fn the_one_hierarchy_is_taken_where_there_are_others_beside_it() {
        let tree = Tree::new(&[
            "unified/system.slice/a.service",
            "cpu/system.slice/b.service",
        ]);
        fs::write(
            tree.host().path("sys/fs/cgroup/unified/cgroup.controllers"),
            "",
        )
        .unwrap();
        let found = tree.unit(None, "a.service");
        assert_eq!(found.as_deref(), Some("/system.slice/a.service"));
        assert_eq!(tree.unit(None, "b.service"), None);
    }

    #[test]
    fn a_user_has_a_slice_where_something_of_his_runs() {
        let tree = Tree::new(&[USER]);
        let path = b"/user.slice/user-7.slice".to_vec();
        assert_eq!(of_user(&tree.host(), 7), Some(path));
        assert_eq!(of_user(&tree.host(), 8), None);
    }
}
