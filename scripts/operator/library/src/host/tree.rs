// SPDX-License-Identifier: GPL-2.0-only
//! The files of the kernel and of the system, which a test or a container may
//! have elsewhere.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use nix::unistd::Uid;

/// The module's name, as the kernel has it.
pub const MODULE: &str = "amd_gpreempt";

/// What is wrong and what to do, in one line for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal(pub String);

impl Refusal {
    pub fn new(text: impl Into<String>) -> Refusal {
        Refusal(text.into())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

/// Why a file of the kernel was not written.
#[derive(Debug)]
pub struct NotWritten {
    path: PathBuf,
    /// The file could be opened, so that the kernel has seen the value.
    pub seen: bool,
    pub error: io::Error,
}

impl From<NotWritten> for Refusal {
    fn from(failure: NotWritten) -> Refusal {
        if !failure.seen {
            return match failure.error.kind() {
                io::ErrorKind::NotFound => Refusal(format!(
                    "{} is not there: has the module been unloaded, or is it another version? \
                     modprobe {MODULE}, and take the program that belongs to it",
                    failure.path.display()
                )),
                _ => cannot("write", &failure.path, &failure.error),
            };
        }
        Refusal(format!(
            "{}: {}; the kernel log says why: dmesg | grep {MODULE}",
            failure.path.display(),
            plain(&failure.error)
        ))
    }
}

/// An error of the system in words, without its number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

/// The host, as the files below a folder show it.
#[derive(Clone, Debug)]
pub struct Host {
    root: PathBuf,
}

impl Host {
    /// The host whose `/sys`, `/proc`, `/etc` and so on are below a folder.
    pub fn new(root: impl Into<PathBuf>) -> Host {
        Host { root: root.into() }
    }

    /// Where a file is, by its path from the root without the first slash.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        self.root.join(path)
    }

    /// The names in a folder, in order; none where it cannot be read.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten();
        let mut all: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        all.sort_unstable();
        all
    }

    /// Those of them that are numbers, in order.
    pub fn numbers(&self, folder: &str) -> Vec<u32> {
        let names = self.names(folder);
        let mut all: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        all.sort_unstable();
        all
    }

    /// What is in a file, where it can be read.
    pub fn try_read(&self, path: &str) -> Option<String> {
        fs::read(self.path(path)).ok().map(text)
    }

    /// What is in a file that has to be there.
    pub fn read(&self, path: &str) -> Result<String, Refusal> {
        let path = self.path(path);
        let bytes = fs::read(&path).map_err(|error| cannot("read", &path, &error))?;
        Ok(text(bytes))
    }

    /// Writes a value of the kernel's, which takes it in one write and says what
    /// it thinks of it.
    pub fn write(&self, path: &str, value: &str) -> Result<(), NotWritten> {
        let path = self.path(path);
        let open = fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(&path);
        let (seen, result) = match open {
            Ok(mut file) => (true, file.write_all(value.as_bytes())),
            Err(error) => (false, Err(error)),
        };
        result.map_err(|error| NotWritten { path, seen, error })
    }

    /// Whether the module is loaded.
    pub fn has_module(&self) -> bool {
        self.path("sys/module").join(MODULE).is_dir()
    }

    /// Refuses where the module is not loaded.
    pub fn need_module(&self) -> Result<(), Refusal> {
        if self.has_module() {
            return Ok(());
        }
        Err(Refusal(format!(
            "the module is not loaded: modprobe {MODULE}"
        )))
    }

    /// The release of the running kernel.
    pub fn release(&self) -> String {
        let release = self.try_read("proc/sys/kernel/osrelease");
        release.unwrap_or_default().trim().to_owned()
    }
}

/// A file that cannot be used, with the remedy where there is an obvious one.
pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Refusal {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied if Uid::effective().is_root() => {
            ": have it belong to root, who may not read everything in a unit"
        }
        io::ErrorKind::PermissionDenied => ": try with sudo",
        io::ErrorKind::StorageFull => ": make room there",
        io::ErrorKind::ReadOnlyFilesystem => ": have it mounted for writing",
        _ => "",
    };
    Refusal(format!(
        "cannot {what} {}: {}{remedy}",
        path.display(),
        plain(error)
    ))
}

fn text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_used_comes_with_a_remedy() {
        for (number, remedy) in [
            (nix::libc::ENOSPC, "device: make room there"),
            (nix::libc::EROFS, "system: have it mounted for writing"),
            (nix::libc::EACCES, "denied: "),
            (nix::libc::EISDIR, "Is a directory"),
        ] {
            let error = io::Error::from_raw_os_error(number);
            let refusal = cannot("write", Path::new("/a"), &error).to_string();
            assert!(
                refusal.starts_with("cannot write /a: ") && refusal.contains(remedy),
                "{refusal}"
            );
        }
    }

    #[test]
    fn the_kernel_log_is_named_only_where_the_kernel_has_seen_the_value() {
        let directory = tempfile::tempdir().unwrap();
        let host = Host::new(directory.path());
        let says = |path| Refusal::from(host.write(path, "x").unwrap_err()).to_string();
        let missing = says("sys/missing");
        assert!(missing.contains("modprobe amd_gpreempt"), "{missing}");
        fs::create_dir(host.path("sys")).unwrap();
        let directory = says("sys");
        assert!(directory.ends_with("sys: Is a directory"), "{directory}");
        std::os::unix::fs::symlink("/dev/full", host.path("full")).unwrap();
        let full = says("full");
        assert!(full.contains("dmesg | grep amd_gpreempt"), "{full}");
    }
}
