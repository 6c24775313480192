// SPDX-License-Identifier: GPL-2.0-only
//! The bytes of the vfio-user protocol, as far as QEMU's client speaks it.
//!
//! Only this file knows the offsets of fields. Everything else sees typed
//! requests and replies.

/// Bytes of the header before each message.
pub const HEADER_BYTES: usize = 16;
/// The longest message that is accepted: a full-size access and its header.
pub const MAX_MESSAGE_BYTES: usize = (1 << 20) + 4096;

/// What a header's flags say.
const REPLY: u32 = 1;
const TYPE_MASK: u32 = 0xf;
const NO_REPLY: u32 = 1 << 4;
const ERROR: u32 = 1 << 5;

/// The index of a region, as VFIO numbers them.
pub mod region {
    pub const BAR0: u32 = 0;
    pub const BAR2: u32 = 2;
    pub const BAR5: u32 = 5;
    pub const ROM: u32 = 6;
    pub const CONFIG: u32 = 7;
    pub const COUNT: u32 = 9;
}

/// The index of an interrupt, as VFIO numbers them.
pub mod irq {
    pub const INTX: u32 = 0;
    pub const MSI: u32 = 1;
    pub const COUNT: u32 = 5;
}

/// The header of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub id: u16,
    pub command: u16,
    /// Of the whole message.
    pub size: u32,
    pub flags: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    #[error("a message of {0} bytes")]
    Size(u32),
    #[error("a reply where a command was expected")]
    NotACommand,
    #[error("command {command} with a body of {length} bytes is too short")]
    Short { command: u16, length: usize },
}

impl Header {
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Header, MessageError> {
        let reader = Reader(bytes);
        let header = Header {
            id: reader.u16(0),
            command: reader.u16(2),
            size: reader.u32(4),
            flags: reader.u32(8),
        };
        let size = header.size as usize;
        if !(HEADER_BYTES..=MAX_MESSAGE_BYTES).contains(&size) {
            return Err(MessageError::Size(header.size));
        }
        if header.flags & TYPE_MASK != 0 {
            return Err(MessageError::NotACommand);
        }
        Ok(header)
    }

    pub fn body_bytes(&self) -> usize {
        self.size as usize - HEADER_BYTES
    }

    pub fn wants_reply(&self) -> bool {
        self.flags & NO_REPLY == 0
    }

    /// The whole reply message. An error carries an errno and no body; it is a
    /// reply all the same, or the client would take it for a request.
    pub fn reply(&self, result: Result<Vec<u8>, i32>) -> Vec<u8> {
        let (flags, error, body) = match result {
            Ok(body) => (REPLY, 0, body),
            Err(errno) => (REPLY | ERROR, errno as u32, Vec::new()),
        };
        let size = (HEADER_BYTES + body.len()) as u32;
        let mut message = Vec::with_capacity(size as usize);
        message.extend(self.id.to_le_bytes());
        message.extend(self.command.to_le_bytes());
        for field in [size, flags, error] {
            message.extend(field.to_le_bytes());
        }
        message.extend(body);
        message
    }
}

/// What the client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Version,
    DmaMap {
        address: u64,
        offset: u64,
        length: u64,
    },
    DmaUnmap {
        address: u64,
        length: u64,
    },
    DeviceInfo,
    RegionInfo {
        index: u32,
    },
    IrqInfo {
        index: u32,
    },
    /// `eventfd` says whether file descriptors come with it; a count of 0
    /// without one disables the interrupt.
    SetIrqs {
        index: u32,
        count: u32,
        eventfd: bool,
    },
    Read {
        region: u32,
        offset: u64,
        count: u32,
    },
    Write {
        region: u32,
        offset: u64,
        data: Vec<u8>,
    },
    Reset,
    Unknown,
}

impl Request {
    pub fn parse(command: u16, body: &[u8]) -> Result<Request, MessageError> {
        let reader = Reader(body);
        let need = |length| {
            if body.len() < length {
                Err(MessageError::Short {
                    command,
                    length: body.len(),
                })
            } else {
                Ok(())
            }
        };
        Ok(match command {
            1 => Request::Version,
            2 => {
                need(32)?;
                Request::DmaMap {
                    offset: reader.u64(8),
                    address: reader.u64(16),
                    length: reader.u64(24),
                }
            }
            3 => {
                need(24)?;
                Request::DmaUnmap {
                    address: reader.u64(8),
                    length: reader.u64(16),
                }
            }
            4 => Request::DeviceInfo,
            5 => {
                need(12)?;
                Request::RegionInfo {
                    index: reader.u32(8),
                }
            }
            7 => {
                need(12)?;
                Request::IrqInfo {
                    index: reader.u32(8),
                }
            }
            8 => {
                need(20)?;
                Request::SetIrqs {
                    eventfd: reader.u32(4) & (1 << 2) != 0,
                    index: reader.u32(8),
                    count: reader.u32(16),
                }
            }
            9 => {
                need(16)?;
                Request::Read {
                    offset: reader.u64(0),
                    region: reader.u32(8),
                    count: reader.u32(12),
                }
            }
            10 => {
                need(16)?;
                let count = reader.u32(12) as usize;
                need(16 + count)?;
                Request::Write {
                    offset: reader.u64(0),
                    region: reader.u32(8),
                    data: body[16..16 + count].to_vec(),
                }
            }
            13 => Request::Reset,
            _ => Request::Unknown,
        })
    }
}

/// The answer to a version request. The client accepts no other minor version.
pub fn version() -> Vec<u8> {
    let mut body = vec![0, 0, 0, 0];
    body.extend(
        br#"{"capabilities":{"max_msg_fds":8,"max_data_xfer_size":1048576,"pgsizes":4096,"max_dma_maps":65535}}"#,
    );
    body.push(0);
    body
}

/// A PCI device that can be reset.
pub fn device_info() -> Vec<u8> {
    const RESET: u32 = 1;
    const PCI: u32 = 2;
    words(&[16, RESET | PCI, region::COUNT, irq::COUNT])
}

/// A region; one that can be mapped comes with a file descriptor.
pub fn region_info(index: u32, bytes: u64, mappable: bool) -> Vec<u8> {
    const READ: u32 = 1;
    const WRITE: u32 = 2;
    const MMAP: u32 = 4;
    let flags = match (bytes, mappable) {
        (0, _) => 0,
        (_, false) => READ | WRITE,
        (_, true) => READ | WRITE | MMAP,
    };
    let mut body = words(&[32, flags, index, 0]);
    body.extend(bytes.to_le_bytes());
    body.extend(0u64.to_le_bytes());
    body
}

/// An interrupt with so many vectors.
pub fn irq_info(index: u32, count: u32) -> Vec<u8> {
    const EVENTFD: u32 = 1;
    words(&[16, EVENTFD, index, count])
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Little-endian fields at offsets that were checked before.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.0[at..at + N]);
        field
    }

    fn u16(&self, at: usize) -> u16 {
        u16::from_le_bytes(self.field(at))
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.field(at))
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.field(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(size: u32, flags: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..2].copy_from_slice(&7u16.to_le_bytes());
        bytes[2..4].copy_from_slice(&9u16.to_le_bytes());
        bytes[4..8].copy_from_slice(&size.to_le_bytes());
        bytes[8..12].copy_from_slice(&flags.to_le_bytes());
        bytes
    }

    #[test]
    fn a_header_must_be_a_command_of_a_sane_size() {
        let max = MAX_MESSAGE_BYTES as u32;
        for size in [0, 15, max + 1, u32::MAX] {
            assert_eq!(
                Header::parse(&header(size, 0)),
                Err(MessageError::Size(size))
            );
        }
        assert_eq!(
            Header::parse(&header(16, 1)),
            Err(MessageError::NotACommand)
        );
        assert_eq!(Header::parse(&header(16, 0)).unwrap().body_bytes(), 0);
        assert!(!Header::parse(&header(max, NO_REPLY)).unwrap().wants_reply());
    }

    #[test]
    fn an_error_is_a_reply_too() {
        let request = Header::parse(&header(16, 0)).unwrap();
        let reply = request.reply(Err(22));
        assert_eq!(reply.len(), HEADER_BYTES);
        assert_eq!(reply[8..12], (REPLY | ERROR).to_le_bytes());
        assert_eq!(reply[12..16], 22u32.to_le_bytes());
        let reply = request.reply(Ok(vec![1, 2]));
        assert_eq!(reply[4..8], 18u32.to_le_bytes());
        assert_eq!(reply[8..12], REPLY.to_le_bytes());
        assert_eq!(reply[16..], [1, 2]);
    }

    #[test]
    fn every_command_refuses_a_body_that_is_too_short() {
        for (command, length) in [
            (2, 32),
            (3, 24),
            (5, 12),
            (7, 12),
            (8, 20),
            (9, 16),
            (10, 16),
        ] {
            assert!(Request::parse(command, &vec![0; length]).is_ok());
            assert_eq!(
                Request::parse(command, &vec![0; length - 1]),
                Err(MessageError::Short {
                    command,
                    length: length - 1
                })
            );
        }
    }

    #[test]
    fn a_write_that_promises_more_than_it_carries_is_refused() {
        let mut body = vec![0; 20];
        body[12..16].copy_from_slice(&4u32.to_le_bytes());
        assert!(Request::parse(10, &body).is_ok());
        body[12..16].copy_from_slice(&5u32.to_le_bytes());
        assert!(Request::parse(10, &body).is_err());
        body[12..16].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(Request::parse(10, &body).is_err());
    }

    #[test]
    fn fields_stand_where_the_protocol_has_them() {
        let mut body = vec![0; 32];
        body[8..16].copy_from_slice(&0x1000u64.to_le_bytes());
        body[16..24].copy_from_slice(&0x8000_0000u64.to_le_bytes());
        body[24..32].copy_from_slice(&0x2000u64.to_le_bytes());
        assert_eq!(
            Request::parse(2, &body),
            Ok(Request::DmaMap {
                offset: 0x1000,
                address: 0x8000_0000,
                length: 0x2000
            })
        );
        assert_eq!(region_info(0, 0, true)[4..8], 0u32.to_le_bytes());
        assert_eq!(region_info(0, 4096, true)[4..8], 7u32.to_le_bytes());
        assert_eq!(region_info(2, 4096, false)[4..8], 3u32.to_le_bytes());
        assert_eq!(device_info().len(), 16);
        assert_eq!(version()[..4], [0; 4]);
    }
}
