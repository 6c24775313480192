// SPDX-License-Identifier: GPL-2.0-only
//! Archives in cpio's newc form, which the kernel takes as an initramfs and the
//! agent as a disk.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};

const DIRECTORY: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const DEVICE: u32 = 0o020_600;

/// An archive that is being written. Directories are made as they are needed.
pub struct Archive<W: Write> {
    out: W,
    written: u64,
    next_inode: u32,
    directories: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    pub fn new(out: W) -> Archive<W> {
        Archive {
            out,
            written: 0,
            next_inode: 1,
            directories: BTreeSet::new(),
        }
    }

    /// Adds a file. `path` has no leading slash.
    pub fn file(&mut self, path: &str, program: bool, data: &[u8]) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, if program { PROGRAM } else { FILE }, (0, 0), data)
    }

    /// Adds a copy of a file of the host.
    pub fn copy(&mut self, path: &str, program: bool, from: &Path) -> Result<()> {
        let data = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        Ok(self.file(path, program, &data)?)
    }

    pub fn directory(&mut self, path: &str) -> io::Result<()> {
        self.parents(path)?;
        if self.directories.insert(path.to_string()) {
            self.entry(path, DIRECTORY, (0, 0), &[])?;
        }
        Ok(())
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, major: u32, minor: u32) -> io::Result<()> {
        self.parents(path)?;
        self.entry(path, DEVICE, (major, minor), &[])
    }

    /// Ends the archive, filled up to whole disk blocks.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        self.pad(4096)?;
        Ok(self.out)
    }

    fn parents(&mut self, path: &str) -> io::Result<()> {
        match path.rsplit_once('/') {
            Some((parent, _)) => self.directory(parent),
            None => Ok(()),
        }
    }

    fn entry(&mut self, path: &str, mode: u32, device: (u32, u32), data: &[u8]) -> io::Result<()> {
        let inode = self.next_inode;
        self.next_inode += 1;
        let links = if mode == DIRECTORY { 2 } else { 1 };
        let size = u32::try_from(data.len())
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a file over 4 GiB"))?;
        let fields = [
            inode,
            mode,
            0,
            0,
            links,
            0,
            size,
            0,
            0,
            device.0,
            device.1,
            path.len() as u32 + 1,
            0,
        ];
        let mut header = String::from("070701");
        for field in fields {
            header.push_str(&format!("{field:08x}"));
        }
        self.put(header.as_bytes())?;
        self.put(path.as_bytes())?;
        self.put(&[0])?;
        self.pad(4)?;
        self.put(data)?;
        self.pad(4)
    }

    fn put(&mut self, data: &[u8]) -> io::Result<()> {
        self.written += data.len() as u64;
        self.out.write_all(data)
    }

    fn pad(&mut self, unit: u64) -> io::Result<()> {
        let fill = self.written.next_multiple_of(unit) - self.written;
        self.put(&vec![0; fill as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn archive() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.file("a/b/one", false, b"hello").unwrap();
        archive.file("a/b/two", true, b"").unwrap();
        archive.directory("a/c").unwrap();
        archive.finish().unwrap()
    }

    #[test]
    fn the_standard_program_unpacks_it() {
        let place = tempfile::tempdir().unwrap();
        let mut child = Command::new("cpio")
            .args(["-id", "--quiet"])
            .current_dir(place.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&archive()).unwrap();
        assert!(child.wait().unwrap().success());
        assert_eq!(fs::read(place.path().join("a/b/one")).unwrap(), b"hello");
        assert!(place.path().join("a/c").is_dir());
        assert_eq!(fs::read(place.path().join("a/b/two")).unwrap(), b"");
    }

    #[test]
    fn directories_come_once_and_before_what_is_in_them() {
        let bytes = archive();
        let find = |name: &str| {
            let name = format!("{name}\0");
            bytes
                .windows(name.len())
                .position(|window| window == name.as_bytes())
                .unwrap()
        };
        assert!(find("a") < find("a/b") && find("a/b") < find("a/b/one"));
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("a/b\0").count(), 1);
        assert_eq!(bytes.len() % 4096, 0);
    }
}
