// SPDX-License-Identifier: GPL-2.0-only
//! The configuration space of the device: what it is, and its capabilities.
//!
//! The client emulates the base addresses and the vectors; all other writes reach
//! this copy. Of the ROM it asks here how large that is, as a processor would.

use vgpu_model::Product;

use crate::video_bios;

const BYTES: usize = 4096;

const COMMAND: usize = 0x04;
const ROM: usize = 0x30;
const BUS_MASTER: u16 = 1 << 2;
const POWER_MANAGEMENT: usize = 0x50;
const EXPRESS: usize = 0x64;
const MSI: usize = 0xa0;

/// Whose function it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The GPU itself.
    Physical,
    /// What a host with the GPU gives to a guest.
    Virtual,
}

impl Kind {
    pub fn of(is_virtual: bool) -> Kind {
        match is_virtual {
            false => Kind::Physical,
            true => Kind::Virtual,
        }
    }
}

/// Which device it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    kind: Kind,
    device: u16,
}

impl Identity {
    /// A function of a product; there is none where the product cannot be divided.
    pub fn of(product: Product, kind: Kind) -> Option<Identity> {
        let facts = product.facts();
        let device = match kind {
            Kind::Physical => facts.device,
            Kind::Virtual => facts.virtual_device?,
        };
        Some(Identity { kind, device })
    }

    pub fn kind(self) -> Kind {
        self.kind
    }

    /// Vendor and device.
    pub fn numbers(self) -> [u16; 2] {
        const AMD: u16 = 0x1002;
        [AMD, self.device]
    }
}

impl Default for Identity {
    fn default() -> Self {
        Identity {
            kind: Kind::Physical,
            device: Product::default().facts().device,
        }
    }
}

/// What a write to configuration space means to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    Nothing,
    /// Bus mastering was switched off: without a management processor to ask,
    /// this is how the driver's reset becomes visible.
    BusMasterOff,
}

pub struct ConfigSpace {
    bytes: Box<[u8; BYTES]>,
    identity: Identity,
}

impl ConfigSpace {
    pub fn new(identity: Identity) -> ConfigSpace {
        let mut space = ConfigSpace {
            bytes: Box::new([0; BYTES]),
            identity,
        };
        // A processing accelerator, so that no display path of the driver looks at it.
        let [vendor, device] = identity.numbers().map(u16::to_le_bytes);
        space.put(0x00, &vendor);
        space.put(0x02, &device);
        space.put(0x06, &[0x10]);
        space.put(0x0b, &[0x12]);
        // BAR 0 and 2 are 64-bit and prefetchable, BAR 5 is 32-bit.
        space.put(0x10, &[0x0c]);
        space.put(0x18, &[0x0c]);
        space.put(0x2c, &vendor);
        space.put(0x2e, &device);
        space.put(0x34, &[POWER_MANAGEMENT as u8]);
        space.put(0x3d, &[1]);
        space.put(POWER_MANAGEMENT, &[0x01, EXPRESS as u8, 0x03]);
        // An endpoint of version 2 with 16 lanes of the fifth generation.
        space.put(EXPRESS, &[0x10, MSI as u8, 0x02]);
        space.put(EXPRESS + 0x04, &[0x21]);
        space.put(EXPRESS + 0x0c, &[0x05, 0x01]);
        space.put(EXPRESS + 0x12, &[0x05, 0x01]);
        // Completer of 32- and 64-bit atomic operations.
        space.put(EXPRESS + 0x24, &[0x80, 0x01]);
        space.put(EXPRESS + 0x2c, &[0x3e]);
        // One vector with a 64-bit address.
        space.put(MSI, &[0x05, 0x00, 0x80]);
        space
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn range(offset: u64, count: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(offset).ok()?;
        let end = start.checked_add(count)?;
        (end <= BYTES).then_some(start..end)
    }

    /// The bytes at an offset; `None` if they are not all inside.
    pub fn read(&self, offset: u64, count: usize) -> Option<&[u8]> {
        Some(&self.bytes[Self::range(offset, count)?])
    }

    /// Writes bytes; `None` if they are not all inside.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Option<Effect> {
        let range = Self::range(offset, data.len())?;
        let before = self.command();
        self.bytes[range].copy_from_slice(data);
        self.keep_rom_aligned();
        if before & BUS_MASTER != 0 && self.command() & BUS_MASTER == 0 {
            Some(Effect::BusMasterOff)
        } else {
            Some(Effect::Nothing)
        }
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Of the ROM's address only the bits above its size can be written, by which the
    /// other side finds that out; and the one that enables it. Of a virtual function none
    /// can, which so has no ROM.
    fn keep_rom_aligned(&mut self) {
        const ENABLE: u32 = 1;
        let fixed = video_bios::BYTES as u32 - 1;
        let free = match self.identity.kind() {
            Kind::Physical => !fixed | ENABLE,
            Kind::Virtual => 0,
        };
        for (byte, mask) in (ROM..).zip(free.to_le_bytes()) {
            self.bytes[byte] &= mask;
        }
    }

    fn command(&self) -> u16 {
        u16::from_le_bytes([self.bytes[COMMAND], self.bytes[COMMAND + 1]])
    }
}

impl Default for ConfigSpace {
    fn default() -> Self {
        ConfigSpace::new(Identity::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(product: Product, kind: Kind) -> ConfigSpace {
        ConfigSpace::new(Identity::of(product, kind).expect("a function"))
    }

    #[test]
    fn it_is_what_it_is_called() {
        for (product, device) in [(Product::Mi300x, 0x74a1), (Product::Mi355x, 0x75a3_u16)] {
            let space = space(product, Kind::Physical);
            let [low, high] = device.to_le_bytes();
            assert_eq!(space.read(0, 4), Some(&[0x02, 0x10, low, high][..]));
        }
        let space = ConfigSpace::default();
        assert_eq!(space.read(0, 4), Some(&[0x02, 0x10, 0xa1, 0x74][..]));
        assert_eq!(space.read(8, 4), Some(&[0, 0, 0, 0x12][..]));
    }

    #[test]
    fn a_virtual_function_is_another_device_and_has_no_rom() {
        let mut space = space(Product::Mi300x, Kind::Virtual);
        assert_eq!(space.read(0, 4), Some(&[0x02, 0x10, 0xb5, 0x74][..]));
        space.write(0x30, &[0xff; 4]);
        assert_eq!(space.read(0x30, 4), Some(&[0; 4][..]));
    }

    #[test]
    fn each_product_that_can_be_divided_has_a_virtual_function() {
        for product in Product::ALL {
            let identity = Identity::of(product, Kind::Virtual);
            assert_eq!(identity.is_none(), product == Product::Mi300a, "{product}");
        }
    }

    #[test]
    fn the_rom_says_how_large_it_is() {
        let mut space = ConfigSpace::default();
        space.write(0x30, &[0xff; 4]);
        assert_eq!(space.read(0x30, 4), Some(&[0x01, 0xf0, 0xff, 0xff][..]));
        // Whatever the width of the writes.
        space.write(0x31, &[0x2f]);
        assert_eq!(space.read(0x30, 4), Some(&[0x01, 0x20, 0xff, 0xff][..]));
    }

    #[test]
    fn the_capability_list_ends() {
        let space = ConfigSpace::default();
        let mut at = space.bytes[0x34];
        let mut found = Vec::new();
        while at != 0 {
            found.push(space.bytes[usize::from(at)]);
            at = space.bytes[usize::from(at) + 1];
            assert!(found.len() < 10);
        }
        assert_eq!(found, [0x01, 0x10, 0x05]);
    }

    #[test]
    fn only_switching_bus_mastering_off_is_a_reset() {
        let mut space = ConfigSpace::default();
        assert_eq!(space.write(4, &[0x02, 0]), Some(Effect::Nothing));
        assert_eq!(space.write(4, &[0x06, 0]), Some(Effect::Nothing));
        assert_eq!(space.write(4, &[0x06, 4]), Some(Effect::Nothing));
        assert_eq!(space.write(4, &[0x02, 4]), Some(Effect::BusMasterOff));
        assert_eq!(space.write(4, &[0x02, 4]), Some(Effect::Nothing));
    }

    #[test]
    fn an_access_past_the_end_is_refused() {
        let mut space = ConfigSpace::default();
        assert!(space.read(4095, 1).is_some());
        assert!(space.read(4095, 2).is_none());
        assert!(space.read(u64::MAX, 1).is_none());
        assert!(space.write(4096, &[0]).is_none());
    }
}
