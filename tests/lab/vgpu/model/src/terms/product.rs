// SPDX-License-Identifier: GPL-2.0-only
//! The GPUs that the model can be: what distinguishes them, one row for each.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A block's version, as the discovery table has it.
pub type Version = (u8, u8, u8);

/// A GPU that AMD sells.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Product {
    Mi300a,
    #[default]
    Mi300x,
    Mi325x,
    Mi350x,
    Mi355x,
}

/// The local memory of a compute unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalMemory {
    pub bytes: u32,
    /// Workgroups get it in units of this size.
    pub granule: u32,
}

/// The versions of the blocks that are not the same on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    pub graphics: Version,
    pub copies: Version,
    pub host_path: Version,
    pub memory_hub: Version,
    pub bus_interface: Version,
    pub interrupts: Version,
    pub package: Version,
}

/// What distinguishes a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// By which it is chosen.
    pub name: &'static str,
    /// How it is sold.
    pub title: &'static str,
    /// The PCI device, and the one that each of its virtual functions is.
    pub device: u16,
    pub virtual_device: Option<u16>,
    pub versions: Versions,
    /// How KFD names its instructions, and how compilers do.
    pub target: u32,
    pub instructions: &'static str,
    pub local_memory: LocalMemory,
    /// Accelerator dies of the whole product.
    pub dies: u32,
    /// It is in one package with processors, whose memory it shares.
    pub has_processors: bool,
}

/// GFX 9.4.3.
const THIRD: Versions = Versions {
    graphics: (9, 4, 3),
    copies: (4, 4, 2),
    host_path: (4, 4, 2),
    memory_hub: (1, 8, 0),
    bus_interface: (7, 9, 0),
    interrupts: (4, 4, 2),
    package: (13, 0, 3),
};

/// GFX 9.5.0.
const FOURTH: Versions = Versions {
    graphics: (9, 5, 0),
    copies: (4, 4, 5),
    host_path: (4, 4, 5),
    memory_hub: (1, 8, 1),
    bus_interface: (7, 9, 1),
    interrupts: (4, 4, 5),
    package: (13, 0, 11),
};

const MI300X: Facts = Facts {
    name: "mi300x",
    title: "AMD Instinct MI300X",
    device: 0x74a1,
    virtual_device: Some(0x74b5),
    versions: THIRD,
    target: 90402,
    instructions: "gfx942",
    local_memory: LocalMemory {
        bytes: 64 << 10,
        granule: 512,
    },
    dies: 8,
    has_processors: false,
};

const MI350X: Facts = Facts {
    name: "mi350x",
    title: "AMD Instinct MI350X",
    device: 0x75a0,
    virtual_device: Some(0x75b0),
    versions: FOURTH,
    target: 90500,
    instructions: "gfx950",
    local_memory: LocalMemory {
        bytes: 160 << 10,
        granule: 1280,
    },
    ..MI300X
};

impl Product {
    pub const ALL: [Product; 5] = [
        Product::Mi300a,
        Product::Mi300x,
        Product::Mi325x,
        Product::Mi350x,
        Product::Mi355x,
    ];

    pub const fn facts(self) -> Facts {
        match self {
            Product::Mi300x => MI300X,
            Product::Mi300a => Facts {
                name: "mi300a",
                title: "AMD Instinct MI300A",
                device: 0x74a0,
                virtual_device: None,
                dies: 6,
                has_processors: true,
                ..MI300X
            },
            Product::Mi325x => Facts {
                name: "mi325x",
                title: "AMD Instinct MI325X",
                device: 0x74a5,
                virtual_device: Some(0x74b9),
                ..MI300X
            },
            Product::Mi350x => MI350X,
            Product::Mi355x => Facts {
                name: "mi355x",
                title: "AMD Instinct MI355X",
                device: 0x75a3,
                virtual_device: Some(0x75b3),
                ..MI350X
            },
        }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.facts().name)
    }
}

/// No product has that name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {0}, but mi300a, mi300x, mi325x, mi350x and mi355x")]
pub struct UnknownProduct(String);

impl FromStr for Product {
    type Err = UnknownProduct;

    fn from_str(name: &str) -> Result<Product, UnknownProduct> {
        let named = |product: &Product| product.facts().name == name;
        let found = Product::ALL.into_iter().find(named);
        found.ok_or_else(|| UnknownProduct(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name_and_no_other() {
        for product in Product::ALL {
            assert_eq!(product.to_string().parse(), Ok(product));
        }
        let error = "mi250".parse::<Product>().unwrap_err().to_string();
        for product in Product::ALL {
            assert!(error.contains(product.facts().name), "{error}");
        }
    }

    #[test]
    fn no_two_have_one_device() {
        let facts = Product::ALL.map(Product::facts);
        let of_its_own = facts.iter().map(|facts| facts.device);
        let virtual_ones = facts.iter().filter_map(|facts| facts.virtual_device);
        let mut devices: Vec<_> = of_its_own.chain(virtual_ones).collect();
        let all = devices.len();
        devices.sort_unstable();
        devices.dedup();
        assert_eq!(devices.len(), all);
    }

    /// The trap handler of GFX 9.4.3 loads 512 bytes of it at a time, that of GFX 9.5.0
    /// 1,280: less would have it load what belongs to the next workgroup.
    #[test]
    fn local_memory_has_a_whole_number_of_units() {
        for product in Product::ALL {
            let LocalMemory { bytes, granule } = product.facts().local_memory;
            assert_eq!(bytes % granule, 0, "{product}");
        }
    }
}
