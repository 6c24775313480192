// SPDX-License-Identifier: GPL-2.0-only
//! Snapshots of guests: made when there is none, shared by concurrent runs, and
//! removed when newer ones have replaced them.
//!
//! Each has a lock file beside it, which is locked shared to use the snapshot and
//! exclusively to make or remove it. The time of the state file says when it was
//! last used.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{anyhow, Context, Result};
use nix::fcntl::{Flock, FlockArg};

use crate::cache::{make_directory, Cache};
use crate::image::Image;
use crate::machine::Machine;

/// How many snapshots stay. Three kernels with and without the scheduler firmware
/// need six, of about 0.4 GB each; a work tree with another agent, six more.
const KEEP: usize = 12;
/// A snapshot that is still being made after this time was given up.
const ABANDONED: Duration = Duration::from_secs(3600);
/// How the directories begin in which snapshots are made.
const UNFINISHED: &str = ".making-";

/// A snapshot, which is not removed while this value exists.
pub struct Snapshot {
    directory: PathBuf,
    _use: Flock<File>,
}

impl Snapshot {
    /// The snapshot of an image, which is made if there is none.
    pub fn of(image: &Image, cache: &Cache) -> Result<Snapshot> {
        Snapshot::get(&cache.snapshots(), &image.key()?, |place| {
            eprintln!(
                "making the snapshot of {}, which takes a minute",
                image.kernel.release
            );
            Machine::make_snapshot(image, place)
        })
    }

    /// The saved machine.
    pub fn state(&self) -> PathBuf {
        state(&self.directory)
    }

    /// Has it made anew the next time: it does not load.
    pub fn discard(&self) {
        // One that cannot be removed, or is gone, is found out the next time as well.
        let _ = fs::remove_file(self.state());
    }

    /// `make` writes the state into the directory that it is given.
    fn get(folder: &Path, key: &str, make: impl Fn(&Path) -> Result<()>) -> Result<Snapshot> {
        make_directory(folder)?;
        let directory = folder.join(key);
        loop {
            let shared = lock(folder, key, FlockArg::LockShared)?;
            if let Ok(state) = File::open(state(&directory)) {
                state.set_modified(SystemTime::now())?;
                return Ok(Snapshot {
                    directory,
                    _use: shared,
                });
            }
            drop(shared);
            let alone = lock(folder, key, FlockArg::LockExclusive)?;
            if !state(&directory).exists() {
                let work = tempfile::Builder::new()
                    .prefix(UNFINISHED)
                    .tempdir_in(folder)?;
                make(work.path())?;
                make_directory(&directory)?;
                // The rename is what makes the snapshot exist: one that was
                // interrupted is made again.
                fs::rename(state(work.path()), state(&directory))
                    .context("cannot keep the snapshot")?;
                prune(folder, KEEP)?;
            }
            drop(alone);
        }
    }
}

fn state(directory: &Path) -> PathBuf {
    directory.join("state")
}

fn lock_file(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.lock"))
}

/// Locks a snapshot, waiting if need be.
fn lock(folder: &Path, key: &str, how: FlockArg) -> Result<Flock<File>> {
    let path = lock_file(folder, key);
    loop {
        let file =
            File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        let lock = Flock::lock(file, how)
            .map_err(|(_, errno)| anyhow!("cannot lock {}: {errno}", path.display()))?;
        // If the snapshot was removed meanwhile, so was the lock.
        if lock.metadata()?.nlink() > 0 {
            return Ok(lock);
        }
    }
}

/// Removes all snapshots but the `keep` that were used last, and those in use.
fn prune(folder: &Path, keep: usize) -> Result<()> {
    let mut snapshots = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let Ok(data) = entry.metadata() else {
            continue; // Another run has removed it.
        };
        if name.starts_with(UNFINISHED) {
            if data.modified()?.elapsed().unwrap_or_default() > ABANDONED {
                let _ = fs::remove_dir_all(entry.path());
            }
        } else if data.is_dir() {
            let used = fs::metadata(state(&entry.path())).and_then(|state| state.modified());
            snapshots.push((used.unwrap_or(SystemTime::UNIX_EPOCH), name));
        }
    }
    snapshots.sort();
    let surplus = snapshots.len().saturating_sub(keep);
    for (_, name) in snapshots.into_iter().take(surplus) {
        let path = lock_file(folder, &name);
        let Ok(alone) = Flock::lock(File::create(&path)?, FlockArg::LockExclusiveNonblock) else {
            continue;
        };
        fs::remove_dir_all(folder.join(&name))
            .with_context(|| format!("cannot remove the snapshot {name}"))?;
        fs::remove_file(&path)?;
        drop(alone);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use anyhow::bail;

    fn write(place: &Path) -> Result<()> {
        Ok(fs::write(state(place), "saved")?)
    }

    /// Makes a snapshot that was last used so many seconds ago.
    fn make(folder: &Path, key: &str, age: u64) {
        drop(Snapshot::get(folder, key, write).unwrap());
        let file = File::open(state(&folder.join(key))).unwrap();
        let used = SystemTime::now() - Duration::from_secs(age);
        file.set_modified(used).unwrap();
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_snapshot_is_made_once_however_many_want_it() {
        let folder = tempfile::tempdir().unwrap();
        let made = AtomicU32::new(0);
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let snapshot = Snapshot::get(folder.path(), "one", |place| {
                        made.fetch_add(1, Ordering::Relaxed);
                        thread::sleep(Duration::from_millis(20));
                        write(place)
                    });
                    assert!(snapshot.unwrap().state().exists());
                });
            }
        });
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn one_that_could_not_be_made_leaves_nothing_and_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let failed = Snapshot::get(folder.path(), "one", |place| {
            write(place)?;
            bail!("the guest does not start")
        });
        assert!(failed.is_err());
        assert_eq!(names(folder.path()), ["one.lock"]);
        assert!(Snapshot::get(folder.path(), "one", write).is_ok());
    }

    #[test]
    fn one_that_does_not_load_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let first = Snapshot::get(folder.path(), "one", write).unwrap();
        first.discard();
        drop(first);
        let made = AtomicU32::new(0);
        let again = Snapshot::get(folder.path(), "one", |place| {
            made.fetch_add(1, Ordering::Relaxed);
            write(place)
        });
        assert!(again.unwrap().state().exists());
        assert_eq!(made.into_inner(), 1);
    }

    #[test]
    fn the_least_recently_used_go_and_those_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for (key, age) in [("a", 50), ("b", 40), ("c", 30), ("d", 20)] {
            make(folder, key, age);
        }
        // Its use makes it the newest, and then the oldest that is in use.
        let used = Snapshot::get(folder, "a", |_| bail!("it is there")).unwrap();
        prune(folder, 2).unwrap();
        assert_eq!(names(folder), ["a", "a.lock", "d", "d.lock"]);
        make(folder, "e", 0);
        let old = SystemTime::now() - Duration::from_secs(99);
        let file = File::open(used.state()).unwrap();
        file.set_modified(old).unwrap();
        prune(folder, 1).unwrap();
        assert_eq!(names(folder), ["a", "a.lock", "e", "e.lock"]);
        drop(used);
        prune(folder, 1).unwrap();
        assert_eq!(names(folder), ["e", "e.lock"]);
    }

    #[test]
    fn what_an_interrupted_run_left_goes_when_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        for (name, age) in [("old", 2 * ABANDONED), ("new", Duration::ZERO)] {
            let place = folder.path().join(format!("{UNFINISHED}{name}"));
            fs::create_dir(&place).unwrap();
            let time = SystemTime::now() - age;
            File::open(&place).unwrap().set_modified(time).unwrap();
        }
        prune(folder.path(), 0).unwrap();
        assert_eq!(names(folder.path()), [format!("{UNFINISHED}new")]);
    }
}
