// SPDX-License-Identifier: GPL-2.0-only
//! The virtual MI300X as a PCI device of QEMU.
//!
//! QEMU's `vfio-user-pci` is the client of a socket on which this process
//! answers for the device: configuration space, registers, doorbells, video
//! memory and interrupts. The model crate does what the GPU does; this crate
//! connects it to a guest and to a control socket.

pub mod clock;
pub mod connection;
pub mod control;
pub mod function;
pub mod guest_time;
pub mod interrupt;
pub mod memory;
pub mod message;
pub mod pci;
pub mod timeline;
pub mod video_bios;
