// SPDX-License-Identifier: GPL-2.0-only
//! The PCI function: answers the client's requests.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use anyhow::Result;
use nix::libc::{EINVAL, ENOTSUP};
use vgpu_model::{Config, DoorbellWidth};

use crate::clock::Gpu;
use crate::connection::{Connection, Message};
use crate::interrupt::Vector;
use crate::memory::{GuestMemory, VideoMemory};
use crate::message::{self, irq, region, Request};
use crate::pci::{ConfigSpace, Effect, Kind};
use crate::video_bios;

/// A reply's body, and a descriptor to go with it; or an errno.
type Answer = Result<Vec<u8>, i32>;

pub struct Function {
    pub gpu: Arc<Gpu>,
    pub guest: GuestMemory,
    pub video: VideoMemory,
    pub vector: Vector,
    pub registers_bytes: u64,
    pub video_bytes: u64,
    pub config: ConfigSpace,
}

impl Function {
    /// Serves one client until it goes away.
    pub fn serve(&mut self, connection: &mut Connection) -> Result<()> {
        while let Some(Message { header, body, fds }) = connection.receive()? {
            let request = Request::parse(header.command, &body);
            let with_video = matches!(
                request,
                Ok(Request::RegionInfo {
                    index: region::BAR0
                })
            );
            let answer = match request {
                Ok(request) => self.answer(request, &body, fds),
                Err(_) => Err(EINVAL),
            };
            if header.wants_reply() {
                let fd = with_video.then(|| self.video.file());
                connection.send(&header.reply(answer), fd)?;
            }
        }
        Ok(())
    }

    fn answer(&mut self, request: Request, body: &[u8], fds: Vec<OwnedFd>) -> Answer {
        match request {
            Request::Version => Ok(message::version()),
            Request::DmaMap {
                address,
                offset,
                length,
            } => self.dma_map(address, offset, length, fds),
            Request::DmaUnmap { address, length } => {
                self.guest.unmap(address, length);
                Ok(body.to_vec())
            }
            Request::DeviceInfo => Ok(message::device_info()),
            Request::RegionInfo { index } => {
                let bytes = self.region_bytes(index);
                Ok(message::region_info(index, bytes, index == region::BAR0))
            }
            Request::IrqInfo { index } => {
                let vectors = u32::from(matches!(index, irq::INTX | irq::MSI));
                Ok(message::irq_info(index, vectors))
            }
            Request::SetIrqs {
                index,
                count,
                eventfd,
            } => {
                self.set_irqs(index, count, eventfd, fds);
                Ok(Vec::new())
            }
            Request::Read {
                region,
                offset,
                count,
            } => {
                let mut reply = body[..16].to_vec();
                reply.extend(self.read(region, offset, count)?);
                Ok(reply)
            }
            Request::Write {
                region,
                offset,
                data,
            } => {
                self.write(region, offset, &data)?;
                Ok(body[..16].to_vec())
            }
            Request::Reset => {
                self.gpu.access(|device| device.reset());
                Ok(Vec::new())
            }
            Request::Unknown => Err(ENOTSUP),
        }
    }

    /// Memory that comes without a file is not RAM and cannot be reached.
    fn dma_map(&mut self, address: u64, offset: u64, length: u64, fds: Vec<OwnedFd>) -> Answer {
        if let Some(file) = fds.first() {
            self.guest
                .map(address, file, offset, length)
                .map_err(|errno| errno as i32)?;
        }
        Ok(Vec::new())
    }

    fn set_irqs(&mut self, index: u32, count: u32, eventfd: bool, fds: Vec<OwnedFd>) {
        if index != irq::MSI {
            return;
        }
        match fds.into_iter().next() {
            Some(fd) if eventfd => self.vector.set(Some(fd)),
            _ if count == 0 => self.vector.set(None),
            _ => {}
        }
    }

    fn region_bytes(&self, index: u32) -> u64 {
        match index {
            region::BAR0 => self.video_bytes,
            region::BAR2 => Config::DOORBELL_BYTES,
            region::BAR5 => self.registers_bytes,
            region::ROM if self.config.identity().kind() == Kind::Physical => {
                video_bios::BYTES as u64
            }
            region::CONFIG => 4096,
            _ => 0,
        }
    }

    fn read(&mut self, index: u32, offset: u64, count: u32) -> Result<Vec<u8>, i32> {
        let count = usize::try_from(count).map_err(|_| EINVAL)?;
        if count > message::MAX_MESSAGE_BYTES {
            return Err(EINVAL);
        }
        let mut data = vec![0; count];
        match index {
            region::CONFIG => {
                data.copy_from_slice(self.config.read(offset, count).ok_or(EINVAL)?);
            }
            region::BAR5 => {
                let aligned = offset & !3;
                let value = self.gpu.access(|device| device.register_read(aligned));
                let skip = (offset - aligned) as usize;
                for (byte, from) in data.iter_mut().zip(value.to_le_bytes().iter().skip(skip)) {
                    *byte = *from;
                }
            }
            region::BAR0 => {
                if !self.video.copy_out(offset, &mut data) {
                    return Err(EINVAL);
                }
            }
            region::ROM => {
                let image = video_bios::build(self.config.identity());
                let start = usize::try_from(offset).map_err(|_| EINVAL)?;
                let rest = image.get(start..).ok_or(EINVAL)?;
                data.copy_from_slice(rest.get(..count).ok_or(EINVAL)?);
            }
            // A doorbell reads as zero.
            region::BAR2 => {}
            _ => return Err(EINVAL),
        }
        Ok(data)
    }

    fn write(&mut self, index: u32, offset: u64, data: &[u8]) -> Result<(), i32> {
        match index {
            region::CONFIG => {
                if self.config.write(offset, data).ok_or(EINVAL)? == Effect::BusMasterOff {
                    self.gpu.access(|device| device.reset());
                }
            }
            region::BAR5 if data.len() == 1 => {
                self.gpu
                    .access(|device| device.register_write_byte(offset, data[0]));
            }
            region::BAR5 => {
                let value = u32::from_le_bytes(data.try_into().map_err(|_| EINVAL)?);
                self.gpu
                    .access(|device| device.register_write(offset, value));
            }
            region::BAR2 => {
                let (value, width) = if let Ok(qword) = data.try_into() {
                    (u64::from_le_bytes(qword), DoorbellWidth::Qword)
                } else {
                    let dword = data.try_into().map_err(|_| EINVAL)?;
                    (u32::from_le_bytes(dword).into(), DoorbellWidth::Dword)
                };
                self.gpu
                    .access(|device| device.doorbell_write(offset, value, width));
            }
            region::BAR0 => {
                if !self.video.copy_in(offset, data) {
                    return Err(EINVAL);
                }
            }
            _ => return Err(EINVAL),
        }
        Ok(())
    }
}
