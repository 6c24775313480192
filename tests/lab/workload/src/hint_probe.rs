// SPDX-License-Identifier: GPL-2.0-only
//! What the kernel says to each way of mapping a page for hints that it should refuse,
//! and to some that it should not.
#![allow(unsafe_code)]

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::process::Command;

use anyhow::{ensure, Context, Result};
use nix::errno::Errno;
use nix::fcntl::{fcntl, FcntlArg, FdFlag};
use nix::libc;
use nix::sys::wait::{waitpid, WaitStatus};
use nix::unistd::{fork, ForkResult};
use serde_json::{json, Map, Value};

use crate::hint;

const PAGE: usize = hint::BYTES.get();
const WRITABLE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// An attempt to map.
#[derive(Clone, Copy)]
struct Attempt {
    bytes: usize,
    protection: i32,
    flags: i32,
    offset: i64,
}

/// The one that is right.
const RIGHT: Attempt = Attempt {
    bytes: PAGE,
    protection: WRITABLE,
    flags: libc::MAP_SHARED,
    offset: 0,
};

/// Something that was mapped, and is until it is dropped.
struct Mapped {
    address: *mut libc::c_void,
    bytes: usize,
}

impl Attempt {
    fn make(self, file: RawFd) -> Result<Mapped, Errno> {
        let Attempt {
            bytes,
            protection,
            flags,
            offset,
        } = self;
        // SAFETY: A mapping at an address of the kernel's choice replaces no other.
        let address =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, file, offset) };
        if address == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Mapped { address, bytes })
    }
}

impl Mapped {
    /// The errno of a call about it, 0 if it succeeds.
    fn ask(&self, call: impl Fn(*mut libc::c_void, usize) -> i32) -> i32 {
        match call(self.address, self.bytes) {
            0 => 0,
            _ => Errno::last_raw(),
        }
    }

    /// Moves it elsewhere.
    fn relocate(&mut self) -> i32 {
        // SAFETY: It is mapped, and nothing refers to it. The new place is the kernel's choice.
        let moved = unsafe {
            libc::mremap(
                self.address,
                PAGE,
                PAGE,
                libc::MREMAP_MAYMOVE | libc::MREMAP_DONTUNMAP,
            )
        };
        if moved != libc::MAP_FAILED {
            self.address = moved;
            return 0;
        }
        Errno::last_raw()
    }

    /// Moves it to where something else was mapped, which is replaced.
    fn relocate_to(&mut self, place: Mapped) -> i32 {
        let to = place.address;
        std::mem::forget(place);
        // SAFETY: It is mapped, nothing refers to it, and what was at the new place is
        // nobody's any more.
        let moved = unsafe {
            libc::mremap(
                self.address,
                PAGE,
                PAGE,
                libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
                to,
            )
        };
        if moved != libc::MAP_FAILED {
            self.address = moved;
            return 0;
        }
        Errno::last_raw()
    }

    /// Makes a copy of it by a move of nothing.
    fn duplicate(&self, bytes: usize) -> i32 {
        // SAFETY: The old one stays as it is, and the new place is the kernel's choice.
        let copy = unsafe { libc::mremap(self.address, bytes, 2 * PAGE, libc::MREMAP_MAYMOVE) };
        if copy == libc::MAP_FAILED {
            return Errno::last_raw();
        }
        0
    }

    /// The first word.
    fn word(&self) -> u32 {
        // SAFETY: It is mapped, readable and large enough.
        unsafe { self.address.cast::<u32>().read_volatile() }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: It was mapped, and nothing refers to it any more.
        unsafe { libc::munmap(self.address, self.bytes) };
    }
}

fn errno(result: Result<Mapped, Errno>) -> i32 {
    result.map_or_else(|errno| errno as i32, |_| 0)
}

/// What a child that shares nothing is told: first about the mapping that its parent
/// has, then about the open file. `-1`: it did not end by itself.
fn ask_child(file: RawFd, mapped: &Mapped) -> Result<(i32, i32)> {
    let ask = |call: &dyn Fn() -> i32| -> Result<i32> {
        // SAFETY: The child makes a call or two and ends, without memory or locks of
        // other threads.
        match unsafe { fork() }? {
            ForkResult::Child => {
                let answer = call();
                // SAFETY: It ends the process at once.
                unsafe { libc::_exit(answer) }
            }
            ForkResult::Parent { child } => match waitpid(child, None)? {
                WaitStatus::Exited(_, status) => Ok(status),
                _ => Ok(-1),
            },
        }
    };
    // SAFETY: It asks whether the address is mapped.
    let inherited =
        ask(&|| mapped.ask(|at, bytes| unsafe { libc::msync(at, bytes, libc::MS_ASYNC) }))?;
    let opened = ask(&|| errno(RIGHT.make(file)))?;
    Ok((inherited, opened))
}

/// What a program is told that this one executes, about the file that it inherits.
fn ask_executed(file: &File) -> Result<i32> {
    fcntl(file, FcntlArg::F_SETFD(FdFlag::empty()))?;
    let output = Command::new(std::env::current_exe()?)
        .args(["hint-inherited", "--file", &file.as_raw_fd().to_string()])
        .output()?;
    ensure!(output.status.success(), "{output:?}");
    let said: Value = serde_json::from_slice(&output.stdout)?;
    let errno = said["errno"].as_i64().context("no errno")?;
    Ok(i32::try_from(errno)?)
}

/// Maps the page of a file that was inherited, and tells the errno.
pub fn inherited(file: RawFd) -> Value {
    // SAFETY: The caller was given the file for this.
    let file = unsafe { OwnedFd::from_raw_fd(file) };
    json!({ "errno": errno(RIGHT.make(file.as_raw_fd())) })
}

/// Tries everything, and tells the errno of each, 0 where it was allowed.
pub fn probe() -> Result<Value> {
    let mut told = Map::new();
    let mut tell = |what: &str, errno: i32| told.insert(what.to_owned(), errno.into());
    let file = hint::open()?;
    let raw = file.as_raw_fd();
    for (what, attempt) in [
        (
            "two pages",
            Attempt {
                bytes: 2 * PAGE,
                ..RIGHT
            },
        ),
        (
            "the second page",
            Attempt {
                offset: PAGE as i64,
                ..RIGHT
            },
        ),
        (
            "private",
            Attempt {
                flags: libc::MAP_PRIVATE,
                ..RIGHT
            },
        ),
        (
            "read only",
            Attempt {
                protection: libc::PROT_READ,
                ..RIGHT
            },
        ),
        (
            "executable",
            Attempt {
                protection: WRITABLE | libc::PROT_EXEC,
                ..RIGHT
            },
        ),
    ] {
        tell(what, errno(attempt.make(raw)));
    }
    let mut mapped = RIGHT.make(raw).context("mapping the page")?;
    let magic = mapped.word();
    tell("a second mapping", errno(RIGHT.make(raw)));
    let other = hint::open()?;
    tell("by another open file", errno(RIGHT.make(other.as_raw_fd())));
    // SAFETY: Nothing refers to the page, and what is asked for is refused or harmless.
    let advise = |advice| move |at, bytes| unsafe { libc::madvise(at, bytes, advice) };
    tell("to be inherited", mapped.ask(advise(libc::MADV_DOFORK)));
    let executable = WRITABLE | libc::PROT_EXEC;
    // SAFETY: Nothing refers to the page.
    let protect = |at, bytes| unsafe { libc::mprotect(at, bytes, executable) };
    tell("executable later", mapped.ask(protect));
    tell("grown", mapped.duplicate(PAGE));
    tell("copied", mapped.duplicate(0));
    tell("moved and kept", mapped.relocate());
    let place = Attempt {
        flags: libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        ..RIGHT
    };
    let place = place.make(-1).context("making room")?;
    tell("moved", mapped.relocate_to(place));
    ensure!(
        mapped.word() == magic,
        "the page is another one after the move"
    );
    tell("a second one after the move", errno(RIGHT.make(raw)));
    let (inherited, opened) = ask_child(raw, &mapped)?;
    tell("the mapping in a child", inherited);
    tell("the open file in a child", opened);
    tell("the open file after an exec", ask_executed(&file)?);
    drop(mapped);
    tell("again after it was unmapped", errno(RIGHT.make(raw)));
    drop(file);
    tell(
        "by another open file after that",
        errno(RIGHT.make(other.as_raw_fd())),
    );
    Ok(told.into())
}
