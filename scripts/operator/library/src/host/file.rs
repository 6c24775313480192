// SPDX-License-Identifier: GPL-2.0-only
//! Writing a file as a whole, and removing it.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::unistd::Uid;

use crate::host::tree::{cannot, Refusal};

/// Writes a file as a whole: it is the old one or the new one at any time, also
/// after the host has failed. Where the path is a link that nobody but root and the
/// caller can have made, the file that it leads to is written.
pub fn replace(path: &Path, text: &str, mode: u32) -> Result<(), Refusal> {
    replace_bytes(path, text.as_bytes(), mode)
}

/// The same for what is no text.
pub fn replace_bytes(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Refusal> {
    let wrong = |error: io::Error| cannot("write", path, &error);
    let target = target(path)?;
    let directory = folder(&target);
    fs::create_dir_all(directory).map_err(wrong)?;
    let mut name = target.file_name().unwrap_or_default().to_owned();
    // Two programs that write at the same time have a file each.
    name.push(format!(".{}.new", std::process::id()));
    let new = directory.join(name);
    // A program of this number may have ended before it was done.
    let _ = fs::remove_file(&new);
    // Nobody's link is followed where others may write to the folder as well.
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&new)
        .map_err(wrong)?;
    file.write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&new, &target))
        .and_then(|()| fs::File::open(directory)?.sync_all())
        .map_err(|error| {
            let _ = fs::remove_file(&new);
            wrong(error)
        })
}

/// Removes a file, so that it is not there after the host has failed either; it
/// may be gone already. Where the path is a link, the file that it leads to is
/// removed.
pub fn remove(path: &Path) -> Result<(), Refusal> {
    let wrong = |error: io::Error| cannot("remove", path, &error);
    let removed = fs::canonicalize(path).and_then(|target| {
        fs::remove_file(&target)?;
        match target.parent() {
            Some(directory) => fs::File::open(directory)?.sync_all(),
            None => Ok(()),
        }
    });
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(wrong),
    }
}

/// The most links that lead from one to the next, as the kernel has it.
const MOST_LINKS: usize = 40;

/// The file to be replaced, which is not there or an ordinary one: a device or a
/// pipe would be gone afterwards.
fn target(path: &Path) -> Result<PathBuf, Refusal> {
    let wrong = |error: io::Error| cannot("write", path, &error);
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        let data = match fs::symlink_metadata(&target) {
            // A link that leads nowhere is a mistake.
            Err(error) if target != path => return Err(wrong(error)),
            Err(_) => return Ok(target),
            Ok(data) => data,
        };
        if data.is_file() {
            return Ok(target);
        }
        if !data.is_symlink() {
            return Err(Refusal(format!(
                "cannot write {}: it is no ordinary file: name another one, or - for the terminal",
                path.display()
            )));
        }
        if !is_trusted(&target, &data).map_err(wrong)? {
            return Err(Refusal(format!(
                "cannot write {}: {} is a link that others may have made: \
                 name the file that it leads to, or remove it",
                path.display(),
                target.display()
            )));
        }
        let next = fs::read_link(&target).map_err(wrong)?;
        target = folder(&target).join(next);
    }
    Err(wrong(Errno::ELOOP.into()))
}

/// Whether a link, and everything else in its folder, is of nobody's making but root's
/// and the caller's.
fn is_trusted(link: &Path, data: &fs::Metadata) -> io::Result<bool> {
    let folder = fs::metadata(folder(link))?;
    let own = |data: &fs::Metadata| data.uid() == 0 || data.uid() == Uid::effective().as_raw();
    Ok(own(data) && own(&folder) && folder.mode() & 0o022 == 0)
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, lchown, symlink, FileTypeExt, PermissionsExt};
    use std::os::unix::net::UnixListener;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_link_stays_and_leads_to_what_was_written() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        replace(&link, "new", 0o600).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(names(directory.path()), ["file", "link"]);
    }

    #[test]
    fn a_link_that_others_may_have_made_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().canonicalize().unwrap();
        let (victim, open) = (place.join("victim"), place.join("open"));
        fs::write(&victim, "precious").unwrap();
        fs::create_dir(&open).unwrap();
        symlink(&victim, open.join("link")).unwrap();
        // One that leads to it by way of one that may be followed, and by itself.
        symlink("open/link", place.join("first")).unwrap();
        let refused = |path: &Path| {
            let refusal = replace(path, "new", 0o600).unwrap_err().to_string();
            assert!(
                refusal.contains("open/link is a link that others may have made"),
                "{refusal}"
            );
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        };
        for mode in [0o1777, 0o775, 0o702] {
            fs::set_permissions(&open, fs::Permissions::from_mode(mode)).unwrap();
            refused(&open.join("link"));
            refused(&place.join("first"));
        }
        fs::set_permissions(&open, fs::Permissions::from_mode(0o755)).unwrap();
        // Only root can give the folder or the link to somebody else.
        if chown(&open, Some(7), None).is_ok() {
            refused(&open.join("link"));
            chown(&open, Some(0), None).unwrap();
            lchown(open.join("link"), Some(7), None).unwrap();
            refused(&open.join("link"));
            lchown(open.join("link"), Some(0), None).unwrap();
        }
        replace(&place.join("first"), "new", 0o600).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "new");
        symlink("round", place.join("round")).unwrap();
        let refusal = replace(&place.join("round"), "new", 0o600).unwrap_err();
        assert!(refusal.0.contains("symbolic links"), "{refusal}");
    }

    #[test]
    fn what_is_removed_is_gone_and_may_have_been() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        for _ in 0..2 {
            remove(&link).unwrap();
            assert_eq!(names(directory.path()), ["link"]);
        }
        let refusal = remove(directory.path()).unwrap_err().to_string();
        assert!(refusal.starts_with("cannot remove "), "{refusal}");
        remove(&file.join("below")).unwrap();
    }

    #[test]
    fn what_is_no_ordinary_file_stays_what_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (socket, link, lost) = (
            directory.path().join("socket"),
            directory.path().join("link"),
            directory.path().join("lost"),
        );
        // Not a device of the host's, which a fault of the function would replace.
        let _listener = UnixListener::bind(&socket).unwrap();
        symlink(&socket, &link).unwrap();
        symlink("/nowhere/file", &lost).unwrap();
        for (path, why) in [
            (socket.as_path(), "it is no ordinary file: name another"),
            (link.as_path(), "it is no ordinary file: name another"),
            (directory.path(), "it is no ordinary file: name another"),
            (lost.as_path(), "No such file or directory"),
        ] {
            let refusal = replace(path, "new", 0o600).unwrap_err().to_string();
            assert!(refusal.contains(why), "{refusal}");
        }
        assert_eq!(names(directory.path()), ["link", "lost", "socket"]);
        assert!(fs::metadata(&link).unwrap().file_type().is_socket());
    }

    #[test]
    fn the_link_of_somebody_else_beside_it_is_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (file, victim) = (
            directory.path().join("file"),
            directory.path().join("victim"),
        );
        fs::write(&victim, "precious").unwrap();
        let new = format!("file.{}.new", std::process::id());
        symlink(&victim, directory.path().join(new)).unwrap();
        symlink(&victim, directory.path().join("file.new")).unwrap();
        replace(&file, "new", 0o600).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}
