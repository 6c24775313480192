// SPDX-License-Identifier: GPL-2.0-only
//! Has QEMU's root ports say that they complete atomic operations (AtomicOps of PCI Express,
//! of 32 and 64 bits), without which the driver tells programs that there are none.
//!
//! QEMU has a port say so while a device of VFIO is behind it for which the host's kernel
//! says that the host's ports do. It asks the kernel by the device's file
//! (`VFIO_DEVICE_GET_INFO`). A device that another process is over a socket (`vfio-user-pci`)
//! has no file, so that QEMU asks for file -1 and would hear that this is none. This library
//! is loaded into QEMU before the C library (`LD_PRELOAD`), and answers for such a device in
//! the kernel's place: the virtual GPU does these operations in the guest's memory by those
//! of the host's processor.

use std::ffi::{c_int, c_ulong, c_void};
use std::mem::transmute;
use std::sync::LazyLock;

use nix::libc::{dlsym, RTLD_NEXT};

/// `VFIO_DEVICE_GET_INFO`, as Linux numbers it.
const GET_INFO: c_ulong = 0x3b6b;

/// Of `flags`: this is a PCI device, and capabilities follow.
const PCI: u32 = 1 << 1;
const CAPABILITIES: u32 = 1 << 7;
/// The number of the capability.
const ATOMIC_COMPLETER: u16 = 5;
const VERSION: u16 = 1;
const BITS_32: u32 = 1 << 0;
const BITS_64: u32 = 1 << 1;

/// `struct vfio_device_info`, and behind it the one capability,
/// `struct vfio_device_info_cap_pci_atomic_comp`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Info {
    bytes: u32,
    flags: u32,
    regions: u32,
    interrupts: u32,
    first_capability: u32,
    unused: u32,
    capability: u16,
    version: u16,
    next_capability: u32,
    completes: u32,
    reserved: u32,
}

const BYTES: usize = size_of::<Info>();
const FIRST: usize = std::mem::offset_of!(Info, capability);

/// What is answered to who has room for so many bytes: at first QEMU has none for the
/// capability, learns how much is needed, and asks again.
fn answer(room: u32) -> Info {
    let there = room as usize >= BYTES;
    Info {
        bytes: BYTES as u32,
        flags: if there { PCI | CAPABILITIES } else { PCI },
        regions: 0,
        interrupts: 0,
        first_capability: if there { FIRST as u32 } else { 0 },
        unused: 0,
        capability: ATOMIC_COMPLETER,
        version: VERSION,
        next_capability: 0,
        completes: BITS_32 | BITS_64,
        reserved: 0,
    }
}

type Ioctl = unsafe extern "C" fn(c_int, c_ulong, *mut c_void) -> c_int;

static NEXT: LazyLock<Ioctl> = LazyLock::new(|| {
    // SAFETY: The name ends with a zero.
    let found = unsafe { dlsym(RTLD_NEXT, c"ioctl".as_ptr()) };
    assert!(!found.is_null(), "the C library has no ioctl");
    // SAFETY: It is the C library's function. That takes what it is given by variable
    // arguments, of which here is one, in the register in which any third one is.
    unsafe { transmute(found) }
});

/// Stands before the C library's function, with which QEMU asks the host's kernel.
///
/// # Safety
///
/// As the C library's.
#[no_mangle]
pub unsafe extern "C" fn ioctl(file: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    if file >= 0 || request != GET_INFO || argument.is_null() {
        // SAFETY: As the caller says.
        return unsafe { NEXT(file, request, argument) };
    }
    // SAFETY: Who asks this gives the address of the structure, whose first word is its
    // size in bytes; no more of them is written.
    unsafe {
        let room = argument.cast::<u32>().read_unaligned();
        let answer = answer(room);
        let bytes = BYTES.min(room as usize);
        std::ptr::copy_nonoverlapping((&raw const answer).cast(), argument.cast::<u8>(), bytes);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is in the argument behind a call for file -1, with so much room.
    fn asked(room: u32) -> (c_int, [u32; 12]) {
        let mut words = [0xaaaa_aaaa; 12];
        words[0] = room;
        // SAFETY: There is room for as much as is said.
        let result = unsafe { ioctl(-1, GET_INFO, words.as_mut_ptr().cast()) };
        (result, words)
    }

    #[test]
    fn a_device_without_a_file_completes_atomics() {
        let (result, words) = asked(40);
        assert_eq!(result, 0);
        assert_eq!(words[..6], [40, 0x82, 0, 0, 24, 0]);
        assert_eq!(words[6..10], [0x1_0005, 0, 3, 0]);
        assert_eq!(words[10..], [0xaaaa_aaaa; 2]);
    }

    #[test]
    fn without_room_it_says_how_much_is_needed_and_no_more() {
        let (result, words) = asked(20);
        assert_eq!((result, words[0], words[1], words[4]), (0, 40, 2, 0));
        assert_eq!(words[5..], [0xaaaa_aaaa; 7]);
    }

    #[test]
    fn all_else_is_the_kernels_to_answer() {
        let mut room = [40u32; 10];
        let mut ask = |file, request| {
            // SAFETY: There is room for what is asked.
            let result = unsafe { ioctl(file, request, room.as_mut_ptr().cast()) };
            (result, nix::errno::Errno::last())
        };
        // The number of bytes that can be read: of no file, and of one that has none.
        assert_eq!(ask(-1, nix::libc::FIONREAD), (-1, nix::errno::Errno::EBADF));
        let file = std::fs::File::open("/dev/null").unwrap();
        let file = std::os::fd::AsRawFd::as_raw_fd(&file);
        assert_eq!(ask(file, GET_INFO), (-1, nix::errno::Errno::ENOTTY));
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        std::io::Write::write_all(&mut &theirs, b"abc").unwrap();
        let ours = std::os::fd::AsRawFd::as_raw_fd(&ours);
        assert_eq!(ask(ours, nix::libc::FIONREAD).0, 0);
        assert_eq!(room[0], 3);
    }
}
