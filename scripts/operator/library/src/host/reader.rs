// SPDX-License-Identifier: GPL-2.0-only
//! Reading what somebody else has written, who may have put anything in its place.
//!
//! Nothing is opened before it is known to be an ordinary file of the one whose it
//! should be: to open a device or a file of the kernel's may do something. There is an
//! end to what is read, so that nobody can take the memory and the time of others.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use serde::de::DeserializeOwned;

use crate::host::tree::{cannot, Host, Refusal};

/// The longest file that is read, with room for thousands of containers.
const LONGEST: u64 = 4 << 20;

/// How much is looked at before it is given up.
#[derive(Clone, Copy, Debug)]
struct Limits {
    bytes: u64,
    folders: usize,
    entries: usize,
}

const SYSTEM: Limits = Limits {
    bytes: 64 << 20,
    folders: 256,
    entries: 100_000,
};
const USER: Limits = Limits {
    bytes: 8 << 20,
    folders: 16,
    entries: 10_000,
};

/// Reads the files of the system or of one user, and only so much.
#[derive(Debug)]
pub struct Reader {
    /// Whom the files belong to.
    owner: Option<u32>,
    left: Limits,
}

impl Reader {
    pub fn new(host: &Host, user: Option<u32>) -> Reader {
        let system = || fs::metadata(host.path("")).ok().map(|data| data.uid());
        Reader {
            owner: user.or_else(system),
            left: if user.is_some() { USER } else { SYSTEM },
        }
    }

    /// Leaves what follows its part of what may be read, where as many parts are needed,
    /// and says how much is kept from it.
    pub fn hold_back(&mut self, parts: usize) -> u64 {
        let parts = u64::try_from(parts).unwrap_or(u64::MAX).max(1);
        let own = self.left.bytes / parts;
        std::mem::replace(&mut self.left.bytes, own) - own
    }

    /// What was kept from one may be read again.
    pub fn give_back(&mut self, bytes: u64) {
        self.left.bytes += bytes;
    }

    /// What is in a file, which may not be there. It is not repeated to others.
    pub fn json<T: DeserializeOwned>(&mut self, path: &Path) -> Result<Option<T>, Refusal> {
        let wrong = |error: io::Error| cannot("read", path, &error);
        // This finds the file and opens nothing.
        let found = match open(path, OFlag::O_PATH | OFlag::O_CLOEXEC) {
            Ok(found) => found,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(wrong(error)),
        };
        let data = found.metadata().map_err(wrong)?;
        if !data.is_file() || self.owner != Some(data.uid()) {
            return Err(Refusal(format!(
                "{} is no ordinary file of the one whose containers these are: name the cgroup",
                path.display()
            )));
        }
        let length = data.len();
        if length > LONGEST || length > self.left.bytes {
            return Err(too_much(path));
        }
        self.left.bytes -= length;
        let mut bytes = Vec::new();
        // A file of the kernel's has no length and is not opened either.
        if length > 0 {
            let same = PathBuf::from(format!("/proc/self/fd/{}", found.as_raw_fd()));
            let file = open(&same, OFlag::O_NONBLOCK | OFlag::O_NOCTTY).map_err(wrong)?;
            file.take(length).read_to_end(&mut bytes).map_err(wrong)?;
        }
        serde_json::from_slice(&bytes).map(Some).map_err(|_| {
            Refusal(format!(
                "{} is not as a runtime of containers writes it: name the cgroup",
                path.display()
            ))
        })
    }

    /// The folders in one that end so. It may not be there.
    pub fn folders(&mut self, folder: &Path, end: &str) -> Result<Vec<PathBuf>, Refusal> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return Ok(Vec::new()),
            Err(error) => return Err(cannot("look into", folder, &error)),
        };
        let mut all: Vec<PathBuf> = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| cannot("look into", folder, &error))?;
            let less = self.left.entries.checked_sub(1);
            self.left.entries = less.ok_or_else(|| too_much(folder))?;
            if entry.file_name().to_string_lossy().ends_with(end) {
                let less = self.left.folders.checked_sub(1);
                self.left.folders = less.ok_or_else(|| too_much(folder))?;
                all.push(entry.path());
            }
        }
        all.sort();
        Ok(all)
    }
}

fn open(path: &Path, flags: OFlag) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits()).open(path)
}

fn too_much(path: &Path) -> Refusal {
    Refusal(format!(
        "{} has more than is looked at for one account: name the cgroup",
        path.display()
    ))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{chown, symlink};

    type Found = Result<Option<Vec<u32>>, Refusal>;

    struct Place {
        folder: tempfile::TempDir,
        reader: Reader,
    }

    impl Place {
        fn new(user: Option<u32>) -> Place {
            let folder = tempfile::tempdir().unwrap();
            let reader = Reader::new(&Host::new(folder.path()), user);
            Place { folder, reader }
        }

        fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        }

        fn json(&mut self, path: &Path) -> Found {
            self.reader.json(path)
        }
    }

    fn why(found: Found) -> String {
        found.unwrap_err().to_string()
    }

    #[test]
    fn what_is_not_an_ordinary_file_of_the_owner_is_not_opened() {
        let mut place = Place::new(None);
        let good = place.file("good", b"[7]");
        let link = place.folder.path().join("link");
        symlink(&good, &link).unwrap();
        assert_eq!(place.json(&link), Ok(Some(vec![7])));
        assert_eq!(place.json(&good.join("below")), Ok(None));
        assert_eq!(place.json(&place.folder.path().join("missing")), Ok(None));
        for other in ["/dev/zero", "/dev/tty", "/"] {
            fs::remove_file(&link).unwrap();
            symlink(other, &link).unwrap();
            let why = why(place.json(&link));
            assert!(why.contains("no ordinary file of the one"), "{why}");
        }
        // The kernel's files are ordinary ones by their kind.
        fs::remove_file(&link).unwrap();
        symlink("/proc/self/stat", &link).unwrap();
        assert!(place.json(&link).is_err());
        // Only root can give a file away.
        if chown(&good, Some(7), None).is_ok() {
            assert!(why(place.json(&good)).contains("no ordinary file of the one"));
            let mut users = Place::new(Some(7));
            assert_eq!(users.json(&good), Ok(Some(vec![7])));
            let own = users.file("own", b"[7]");
            assert!(why(users.json(&own)).contains("no ordinary file of the one"));
        }
    }

    #[test]
    fn a_pipe_whose_end_is_open_loses_nothing() {
        let mut place = Place::new(None);
        let pipe = place.folder.path().join("pipe");
        let mode = nix::sys::stat::Mode::from_bits_truncate(0o600);
        nix::unistd::mkfifo(&pipe, mode).unwrap();
        let mut both = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&pipe)
            .unwrap();
        io::Write::write_all(&mut both, b"[7]").unwrap();
        assert!(why(place.json(&pipe)).contains("no ordinary file of the one"));
        let mut kept = [0; 3];
        both.read_exact(&mut kept).unwrap();
        assert_eq!(&kept, b"[7]");
    }

    #[test]
    fn there_is_an_end_to_what_is_read() {
        let mut place = Place::new(None);
        let mut text = b"[7]".to_vec();
        text.resize(usize::try_from(LONGEST).unwrap(), b' ');
        let file = place.file("longest", &text);
        place.reader.left.bytes = LONGEST + 3;
        assert_eq!(place.json(&file), Ok(Some(vec![7])));
        assert_eq!(place.reader.left.bytes, 3);
        assert!(why(place.json(&file)).contains("more than is looked at"));
        text.push(b' ');
        let mut place = Place::new(None);
        let file = place.file("longer", &text);
        assert!(why(place.json(&file)).contains("more than is looked at"));
    }

    #[test]
    fn there_is_an_end_to_the_folders_and_to_what_is_beside_them() {
        let mut place = Place::new(Some(7));
        let path = place.folder.path().to_owned();
        for number in 0..USER.folders {
            fs::create_dir(path.join(format!("{number}-containers"))).unwrap();
        }
        let all = place.reader.folders(&path, "-containers").unwrap();
        assert_eq!(all.len(), USER.folders);
        let why = |found: Result<Vec<PathBuf>, Refusal>| found.unwrap_err().to_string();
        let none = why(place.reader.folders(&path, "-containers"));
        assert!(none.contains("more than is looked at"), "{none}");
        place.reader.left = Limits {
            entries: USER.folders - 1,
            ..USER
        };
        let none = why(place.reader.folders(&path, "nothing"));
        assert!(none.contains("more than is looked at"), "{none}");
        place.reader.left = USER;
        assert_eq!(place.reader.folders(&path, "nothing"), Ok(Vec::new()));
        assert_eq!(place.reader.folders(&path.join("a"), ""), Ok(Vec::new()));
    }
}
