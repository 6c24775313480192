// SPDX-License-Identifier: GPL-2.0-only
//! What a message to the GPU means for the guest's processor that sends it, and how long
//! that takes.

use nix::libc::msghdr;
use vgpu_server::clock::GUEST_DILATION;
use vgpu_server::message::{Header, Request, HEADER_BYTES};

/// A read waits until the GPU has answered over PCIe, in nanoseconds of the GPU.
const READ_NS: u32 = 1_000;
/// A write is on its way when the processor goes on.
const WRITE_NS: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// QEMU's own business.
    Other,
}

impl Access {
    /// Nanoseconds of the guest.
    pub fn takes(self) -> u64 {
        let gpu = match self {
            Access::Read => READ_NS,
            Access::Write => WRITE_NS,
            Access::Other => 0,
        };
        u64::from(gpu) * u64::from(GUEST_DILATION)
    }

    fn of_bytes(bytes: &[u8]) -> Option<Access> {
        let (header, body) = bytes.split_first_chunk::<HEADER_BYTES>()?;
        let header = Header::parse(header).ok()?;
        Some(match Request::parse(header.command, body).ok()? {
            Request::Read { .. } => Access::Read,
            Request::Write { .. } => Access::Write,
            _ => Access::Other,
        })
    }
}

/// What a message is.
///
/// # Safety
///
/// The message is as the C library's `sendmsg` wants it.
pub unsafe fn of(message: *const msghdr) -> Access {
    // SAFETY: As the caller says.
    let parts = unsafe {
        let message = &*message;
        std::slice::from_raw_parts(message.msg_iov, message.msg_iovlen)
    };
    let Some(first) = parts.first() else {
        return Access::Other;
    };
    // SAFETY: As the caller says; the bytes are read within the call only.
    let bytes = unsafe { std::slice::from_raw_parts(first.iov_base.cast::<u8>(), first.iov_len) };
    Access::of_bytes(bytes).unwrap_or(Access::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message with a body of 16 bytes and more, as the protocol has it.
    fn message(command: u16, flags: u32, body: &[u8]) -> Vec<u8> {
        let size = u32::try_from(HEADER_BYTES + body.len()).unwrap();
        let mut bytes = vec![0; 2];
        bytes.extend(command.to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(body);
        bytes
    }

    #[test]
    fn reads_and_writes_take_time_and_nothing_else_does() {
        let mut write = [0; 20];
        write[12] = 4;
        for (bytes, access) in [
            (message(9, 0, &[0; 16]), Some(Access::Read)),
            (message(10, 0, &write), Some(Access::Write)),
            (message(4, 0, &[0; 16]), Some(Access::Other)),
            (message(9, 0, &[0; 8]), None),
            (message(9, 1, &[0; 16]), None),
            (vec![9; 3], None),
        ] {
            assert_eq!(Access::of_bytes(&bytes), access, "{bytes:?}");
        }
        assert!(Access::Read.takes() > Access::Write.takes());
        assert_eq!(Access::Other.takes(), 0);
    }
}
