// SPDX-License-Identifier: GPL-2.0-only
//! Whose work a process does, by a name that outlives the process.

use serde::{Deserialize, Serialize};

use crate::host::tree::Host;

/// What a workload is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A container, by the beginning of its number or its name.
    Container,
    /// A unit of systemd.
    Unit,
    /// A program that is in neither, by its command name.
    Command,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Container => "container",
            Kind::Unit => "unit",
            Kind::Command => "command",
        }
    }
}

/// A container, a unit or a program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Workload {
    pub kind: Kind,
    pub name: String,
}

/// How much of a container's number names it, as its tools show it.
const SHORT: usize = 12;
/// The length of a container's number.
const WHOLE: usize = 64;

impl Workload {
    /// The workload of a process, by its cgroup, or by its command where the cgroup says
    /// nothing or the process has ended.
    pub fn of(host: &Host, pid: i64, command: &str) -> Workload {
        cgroup(host, pid)
            .as_deref()
            .and_then(named)
            .unwrap_or_else(|| Workload {
                kind: Kind::Command,
                name: command.to_owned(),
            })
    }
}

/// The path of a process's cgroup, where it says one.
pub fn cgroup(host: &Host, pid: i64) -> Option<String> {
    let text = host.try_read(&format!("proc/{pid}/cgroup"))?;
    path(&text).map(str::to_owned)
}

/// When a process was started, in the clock ticks of the host, where it is there.
pub fn started(host: &Host, pid: i64) -> Option<u64> {
    let text = host.try_read(&format!("proc/{pid}/stat"))?;
    // Its name is in parentheses and may have any of them itself. The state, the third
    // field, comes behind it, and the time is the 22nd.
    let (_, behind) = text.rsplit_once(')')?;
    behind.split_ascii_whitespace().nth(19)?.parse().ok()
}

/// The cgroup's path: that of the one hierarchy, or of systemd's own among several.
fn path(text: &str) -> Option<&str> {
    let of = |hierarchy: &str| {
        text.lines().find_map(|line| {
            let (_, rest) = line.split_once(':')?;
            rest.strip_prefix(hierarchy)?.strip_prefix(':')
        })
    };
    of("")
        .filter(|path| *path != "/")
        .or_else(|| of("name=systemd"))
}

/// The innermost part of a path that names a container or a unit.
fn named(path: &str) -> Option<Workload> {
    path.split('/').rev().find_map(|part| {
        let (kind, name) = container(part)
            .map(|name| (Kind::Container, name))
            .or_else(|| unit(part).map(|name| (Kind::Unit, name)))?;
        let name = name.to_owned();
        Some(Workload { kind, name })
    })
}

/// The container that a part of a path is of: `docker-NUMBER.scope`,
/// `cri-containerd-NUMBER.scope` and the like, the bare number where the runtime does
/// without systemd, or a name of LXC's.
fn container(part: &str) -> Option<&str> {
    if let Some(name) = part.strip_prefix("lxc.payload.") {
        return Some(name);
    }
    let part = part.strip_suffix(".scope").unwrap_or(part);
    let number = part.rsplit('-').next()?;
    let is_number = number.len() == WHOLE && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_number.then(|| &number[..SHORT])
}

/// The unit that a part of a path is. A login and the service of a user's own units
/// say less than the program's name does.
fn unit(part: &str) -> Option<&str> {
    let is_unit = part.ends_with(".service") || part.ends_with(".scope");
    let is_dull = ["user@", "session-", "init.scope"]
        .iter()
        .any(|dull| part.starts_with(dull));
    (is_unit && !is_dull).then_some(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const NUMBER: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn a_process_has_the_time_of_its_start_whatever_its_name_is() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        assert_eq!(started(&host, 7), None);
        fs::create_dir_all(host.path("proc/7")).unwrap();
        let rest = "S 1 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 31415 9 9";
        for (text, time) in [
            (format!("7 (sh) {rest}\n"), Some(31415)),
            (format!("7 (a) b (c) {rest}\n"), Some(31415)),
            ("7 (sh) S 1".to_owned(), None),
            (String::new(), None),
        ] {
            fs::write(host.path("proc/7/stat"), &text).unwrap();
            assert_eq!(started(&host, 7), time, "{text}");
        }
        // It is what the kernel says of this process, too.
        let own = started(&Host::new("/"), std::process::id().into());
        assert!(own.is_some_and(|time| time > 0));
    }

    fn of(cgroup: &[u8]) -> Workload {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        fs::create_dir_all(host.path("proc/7")).unwrap();
        fs::write(host.path("proc/7/cgroup"), cgroup).unwrap();
        Workload::of(&host, 7, "python3")
    }

    fn is(cgroup: &str, kind: Kind, name: &str) {
        let found = of(cgroup.as_bytes());
        assert_eq!((found.kind, found.name.as_str()), (kind, name), "{cgroup}");
    }

    #[test]
    fn a_container_is_known_by_its_number_whoever_runs_it() {
        for path in [
            format!("0::/system.slice/docker-{NUMBER}.scope\n"),
            format!("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{NUMBER}.scope"),
            format!("0::/machine.slice/libpod-{NUMBER}.scope/container"),
            format!("0::/docker/{NUMBER}"),
            format!("2:cpu:/x\n1:name=systemd:/docker/{NUMBER}\n0::/\n"),
        ] {
            is(&path, Kind::Container, "0123456789ab");
        }
        is("0::/lxc.payload.box/init.scope", Kind::Container, "box");
    }

    #[test]
    fn a_unit_is_the_innermost_one() {
        is(
            "0::/system.slice/infer.service",
            Kind::Unit,
            "infer.service",
        );
        is(
            "0::/user.slice/user-1.slice/user@1.service/app.slice/run-7.scope/part",
            Kind::Unit,
            "run-7.scope",
        );
    }

    #[test]
    fn what_is_in_neither_has_the_name_of_its_command() {
        for path in [
            "",
            "nonsense",
            "0::/",
            "0::/batch.slice",
            "0::/user.slice/user-0.slice/session-3.scope",
            "0::/docker/0123",
            "0::/user.slice/user-1.slice/user@1.service",
        ] {
            is(path, Kind::Command, "python3");
        }
        let directory = tempfile::tempdir().unwrap();
        let gone = Workload::of(&Host::new(directory.path()), 8, "gone");
        assert_eq!(gone.name, "gone");
    }

    #[test]
    fn bytes_that_are_no_text_are_named_all_the_same() {
        let found = of(b"0::/a\xff\xfe.service\n");
        assert_eq!(found.name, "a\u{fffd}\u{fffd}.service");
        let odd = format!("0::/{}\u{e9}", "0".repeat(WHOLE - 2));
        is(&odd, Kind::Command, "python3");
    }

    #[test]
    fn the_whole_path_is_there_too_and_none_where_there_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        assert_eq!(cgroup(&host, 7), None);
        fs::create_dir_all(host.path("proc/7")).unwrap();
        for (text, expected) in [
            ("0::/batch.slice/a b\n", Some("/batch.slice/a b")),
            ("0::/\n", None),
            ("", None),
        ] {
            fs::write(host.path("proc/7/cgroup"), text).unwrap();
            assert_eq!(cgroup(&host, 7).as_deref(), expected, "{text}");
        }
    }
}
