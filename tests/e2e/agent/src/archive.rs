// SPDX-License-Identifier: GPL-2.0-only
//! Unpacking a cpio archive of the "newc" format, the one that the kernel takes
//! for its initial file system.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use anyhow::{bail, ensure, Context, Result};

const HEADER: usize = 110;
const TRAILER: &str = "TRAILER!!!";
const FILE_TYPE: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const SYMLINK: u32 = 0o120_000;
/// Longer names than the kernel takes mean that this is no archive.
const MAX_NAME: u32 = 4096;

/// Unpacks directories, files and symbolic links below `directory`, and returns
/// how many. What is there already is replaced.
pub fn unpack(archive: &mut impl Read, directory: &Path) -> Result<u64> {
    let mut entries = 0;
    loop {
        let entry = read_entry(archive).with_context(|| format!("entry {entries}"))?;
        if entry.name == TRAILER {
            return Ok(entries);
        }
        let name = entry.name.clone();
        write_entry(archive, entry, directory).with_context(|| name)?;
        entries += 1;
    }
}

struct Entry {
    name: String,
    mode: u32,
    size: u64,
}

fn read_entry(archive: &mut impl Read) -> Result<Entry> {
    let mut header = [0; HEADER];
    archive
        .read_exact(&mut header)
        .context("the archive ends early")?;
    ensure!(
        header.starts_with(b"070701"),
        "no cpio archive in newc format is here"
    );
    let field = |index: usize| -> Result<u32> {
        let text = std::str::from_utf8(&header[6 + 8 * index..][..8])?;
        Ok(u32::from_str_radix(text, 16)?)
    };
    let (mode, size, name_size) = (field(1)?, field(6)?, field(11)?);
    ensure!(
        (1..=MAX_NAME).contains(&name_size),
        "a name of {name_size} bytes"
    );
    let mut name = vec![0; name_size as usize];
    archive
        .read_exact(&mut name)
        .context("the archive ends early")?;
    skip_padding(archive, HEADER as u64 + u64::from(name_size))?;
    ensure!(name.pop() == Some(0), "a name without its end");
    Ok(Entry {
        name: String::from_utf8(name)?,
        mode,
        size: size.into(),
    })
}

fn write_entry(archive: &mut impl Read, entry: Entry, directory: &Path) -> Result<()> {
    let path = below(directory, &entry.name)?;
    let permissions = Permissions::from_mode(entry.mode & 0o7777);
    let mut content = archive.take(entry.size);
    match entry.mode & FILE_TYPE {
        DIRECTORY => {
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, permissions)?;
        }
        REGULAR => {
            make_room(&path)?;
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)?;
            let copied = io::copy(&mut content, &mut file)?;
            ensure!(copied == entry.size, "the archive ends early");
            file.flush()?;
            fs::set_permissions(&path, permissions)?;
        }
        SYMLINK => {
            make_room(&path)?;
            let mut target = String::new();
            content.read_to_string(&mut target)?;
            symlink(target, &path)?;
        }
        other => bail!("the file type {other:o} is not unpacked"),
    }
    skip_padding(archive, entry.size)
}

/// A program that runs keeps its file when a new one takes the name.
fn make_room(path: &Path) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

fn below(directory: &Path, name: &str) -> Result<PathBuf> {
    let inside = Path::new(name)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    ensure!(inside, "the name leads out of the archive");
    Ok(directory.join(name))
}

/// Names and contents end on a multiple of four.
fn skip_padding(archive: &mut impl Read, length: u64) -> Result<()> {
    let mut padding = [0; 3];
    let padding = &mut padding[..(length.next_multiple_of(4) - length) as usize];
    archive
        .read_exact(padding)
        .context("the archive ends early")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, mode: u32, content: &[u8]) -> Vec<u8> {
        let fields = [
            0,
            mode,
            0,
            0,
            1,
            0,
            content.len() as u32,
            0,
            0,
            0,
            0,
            name.len() as u32 + 1,
            0,
        ];
        let mut bytes = b"070701".to_vec();
        for field in fields {
            bytes.extend(format!("{field:08x}").bytes());
        }
        bytes.extend(name.bytes());
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(content);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    fn scratch(test: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("archive-{test}-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        directory
    }

    #[test]
    fn directories_files_and_links_come_out() {
        let directory = scratch("whole");
        let mut archive = Vec::new();
        archive.extend(entry("bin", DIRECTORY | 0o755, b""));
        archive.extend(entry("bin/tool", REGULAR | 0o755, b"hello"));
        archive.extend(entry("empty", REGULAR | 0o600, b""));
        archive.extend(entry("link", SYMLINK | 0o777, b"bin/tool"));
        archive.extend(entry(TRAILER, 0, b""));
        // A disk is longer than what is on it.
        archive.extend([0; 512]);
        assert_eq!(unpack(&mut archive.as_slice(), &directory).unwrap(), 4);
        assert_eq!(fs::read(directory.join("link")).unwrap(), b"hello");
        let mode = fs::metadata(directory.join("bin/tool"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o755);
        // A second time: what is there is replaced.
        assert_eq!(unpack(&mut archive.as_slice(), &directory).unwrap(), 4);
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn an_archive_that_ends_early_is_an_error_at_every_length() {
        let directory = scratch("short");
        let mut archive = entry("file", REGULAR | 0o644, b"content");
        archive.extend(entry(TRAILER, 0, b""));
        for length in 0..archive.len() {
            assert!(
                unpack(&mut &archive[..length], &directory).is_err(),
                "{length}"
            );
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn names_that_lead_outside_are_refused() {
        let directory = scratch("outside");
        for name in ["../file", "/etc/file", "a/../../file"] {
            let archive = entry(name, REGULAR | 0o644, b"x");
            let error = unpack(&mut archive.as_slice(), &directory).unwrap_err();
            assert!(format!("{error:#}").contains("leads out"), "{error:#}");
        }
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn devices_and_rubbish_are_refused() {
        let directory = scratch("rubbish");
        assert!(unpack(&mut entry("null", 0o020_666, b"").as_slice(), &directory).is_err());
        assert!(unpack(&mut [b'x'; 200].as_slice(), &directory).is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}
