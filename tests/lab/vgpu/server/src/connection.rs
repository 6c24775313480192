// SPDX-License-Identifier: GPL-2.0-only
//! Messages and file descriptors over the client's socket.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;

use anyhow::{bail, Context, Result};
use nix::sys::socket::{recvmsg, sendmsg, ControlMessage, ControlMessageOwned, MsgFlags};

use crate::message::{Header, HEADER_BYTES};

/// The most descriptors that come with one message.
const MAX_FDS: usize = 8;

/// A message as it came.
pub struct Message {
    pub header: Header,
    pub body: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

pub struct Connection(UnixStream);

impl Connection {
    pub fn new(stream: UnixStream) -> Connection {
        Connection(stream)
    }

    /// The next message; `None` when the client has closed the socket.
    pub fn receive(&mut self) -> Result<Option<Message>> {
        let mut bytes = [0; HEADER_BYTES];
        let (received, fds) = self.receive_start(&mut bytes)?;
        if received == 0 {
            return Ok(None);
        }
        self.0
            .read_exact(&mut bytes[received..])
            .context("the client closed the socket within a header")?;
        let header = Header::parse(&bytes)?;
        let mut body = vec![0; header.body_bytes()];
        self.0
            .read_exact(&mut body)
            .context("the client closed the socket within a message")?;
        Ok(Some(Message { header, body, fds }))
    }

    /// Descriptors come with the first byte of a message.
    fn receive_start(&self, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
        let mut space = nix::cmsg_space!([RawFd; MAX_FDS]);
        let mut parts = [IoSliceMut::new(bytes)];
        let message = recvmsg::<()>(
            self.0.as_raw_fd(),
            &mut parts,
            Some(&mut space),
            MsgFlags::MSG_CMSG_CLOEXEC,
        )
        .context("cannot receive from the client")?;
        let mut fds = Vec::new();
        for control in message.cmsgs()? {
            if let ControlMessageOwned::ScmRights(received) = control {
                // SAFETY: The kernel has just made these descriptors for this
                // process, and nothing else knows them.
                fds.extend(
                    received
                        .into_iter()
                        .map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }),
                );
            }
        }
        Ok((message.bytes, fds))
    }

    /// Sends a whole message, with at most one descriptor.
    pub fn send(&mut self, message: &[u8], fd: Option<&OwnedFd>) -> Result<()> {
        let raw = fd.map(|fd| [fd.as_raw_fd()]);
        let control: Vec<ControlMessage<'_>> = raw
            .iter()
            .map(|fds| ControlMessage::ScmRights(fds))
            .collect();
        let sent = sendmsg::<()>(
            self.0.as_raw_fd(),
            &[IoSlice::new(message)],
            &control,
            MsgFlags::MSG_NOSIGNAL,
            None,
        )
        .map_err(io::Error::from)
        .context("cannot send to the client")?;
        if sent != message.len() {
            bail!("the client took {sent} of {} bytes", message.len());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_message_split_into_pieces_arrives_whole() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut message = vec![1, 0, 4, 0, 20, 0, 0, 0];
        message.extend([0; 8]);
        message.extend([9, 8, 7, 6]);
        let sender = std::thread::spawn(move || {
            for byte in message {
                theirs.write_all(&[byte]).unwrap();
            }
        });
        let mut connection = Connection::new(ours);
        let message = connection.receive().unwrap().unwrap();
        assert_eq!(message.header.command, 4);
        assert_eq!(message.body, [9, 8, 7, 6]);
        sender.join().unwrap();
        assert!(connection.receive().unwrap().is_none());
    }

    #[test]
    fn a_client_that_goes_away_within_a_message_is_an_error() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(&[1, 0, 4, 0, 20, 0]).unwrap();
        drop(theirs);
        assert!(Connection::new(ours).receive().is_err());
    }

    #[test]
    fn a_descriptor_travels_with_its_message() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (file, _) = UnixStream::pair().unwrap();
        let mut message = vec![0; HEADER_BYTES];
        message[4] = 16;
        Connection::new(theirs)
            .send(&message, Some(&OwnedFd::from(file)))
            .unwrap();
        let received = Connection::new(ours).receive().unwrap().unwrap();
        assert_eq!(received.fds.len(), 1);
    }
}
