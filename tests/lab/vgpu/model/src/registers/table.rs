// SPDX-License-Identifier: GPL-2.0-only
//! The registers that mean something to the model, and the base addresses of
//! their blocks, which the discovery table hands to the driver.
//!
//! A test compares the numbers with the driver's headers if they are available
//! (the variable VGPU_ASIC_REG names their folder).

/// Base addresses per block, in dwords, as the discovery table lists them.
pub mod base {
    pub const GC: &[u32] = &[0x2000, 0xa000];
    pub const HDP: &[u32] = &[0xf20, 0x240a400];
    pub const SDMA0: &[u32] = &[super::super::SDMA0_BASE, 0x12540];
    /// Not 0x1a000 as on the hardware: packets on a ring name a register whose
    /// low 16 bits lie in an XCC's ranges by those bits alone, so the driver
    /// could not tell this block's from graphics registers.
    pub const MMHUB: &[u32] = &[0x14000, 0x2408800];
    pub const ATHUB: &[u32] = &[0xc20, 0x2408c00];
    pub const NBIO: &[u32] = &[
        0, 0x14, 0xd20, 0x10400, 0x241b000, 0x4040000, 0, 0, 0x4040000,
    ];
    pub const MP: &[u32] = &[0x16000, 0xdc0000, 0xe00000, 0xe40000, 0x243fc00];
    pub const DF: &[u32] = &[0x7000, 0x240b800, 0x7c00000];
    pub const OSSSYS: &[u32] = &[0x10a0, 0x240a000];
    pub const SMUIO: &[u32] = &[0x16800, 0x16a00, 0x2401000, 0x3440000];
    pub const THM: &[u32] = &[0x16600, 0x2400c00];
}

/// One line of the table, for the test against the driver's headers.
#[cfg(test)]
pub struct Entry {
    pub name: &'static str,
    pub offset: u32,
    pub base_index: usize,
}

macro_rules! registers {
    ($(#[$doc:meta])* $module:ident, $bases:expr, $header:literal:
     $($name:ident = $offset:literal @ $index:literal,)*) => {
        $(#[$doc])*
        pub mod $module {
            $(#[allow(dead_code)] pub const $name: u32 = $bases[$index] + $offset;)*
            #[cfg(test)]
            pub const HEADER: &str = $header;
            #[cfg(test)]
            pub const TABLE: &[super::Entry] = &[$(super::Entry {
                name: stringify!($name), offset: $offset, base_index: $index,
            },)*];
        }
    };
}

registers! {
    /// Graphics and compute; addresses are those of XCC 0.
    gc, super::base::GC, "gc/gc_9_4_3_offset.h":
    GRBM_GFX_CNTL = 0x0022 @ 0,
    SH_MEM_BASES = 0x030a @ 0,
    SH_MEM_CONFIG = 0x030d @ 0,
    SQ_SHADER_TBA_LO = 0x031c @ 0,
    SQ_SHADER_TBA_HI = 0x031d @ 0,
    SQ_SHADER_TMA_LO = 0x031e @ 0,
    SQ_SHADER_TMA_HI = 0x031f @ 0,
    SPI_CSQ_WF_ACTIVE_STATUS = 0x04db @ 0,
    SPI_CSQ_WF_ACTIVE_COUNT_0 = 0x04dc @ 0,
    SPI_CSQ_WF_ACTIVE_COUNT_7 = 0x04e3 @ 0,
    GB_ADDR_CONFIG = 0x063e @ 0,
    VM_L2_PROTECTION_FAULT_STATUS = 0x082b @ 0,
    VM_L2_PROTECTION_FAULT_ADDR_LO32 = 0x082c @ 0,
    VM_L2_PROTECTION_FAULT_ADDR_HI32 = 0x082d @ 0,
    VM_INVALIDATE_ENG0_SEM = 0x0871 @ 0,
    VM_INVALIDATE_ENG17_SEM = 0x0882 @ 0,
    VM_INVALIDATE_ENG0_REQ = 0x0883 @ 0,
    VM_INVALIDATE_ENG17_REQ = 0x0894 @ 0,
    VM_INVALIDATE_ENG0_ACK = 0x0895 @ 0,
    VM_INVALIDATE_ENG17_ACK = 0x08a6 @ 0,
    VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 = 0x08cb @ 0,
    MC_VM_FB_OFFSET = 0x0947 @ 0,
    MC_VM_FB_LOCATION_BASE = 0x095c @ 0,
    MC_VM_FB_LOCATION_TOP = 0x095d @ 0,
    CP_IQ_WAIT_TIME2 = 0x10b0 @ 0,
    CPC_INT_STATUS = 0x10b5 @ 0,
    SPI_COMPUTE_QUEUE_RESET = 0x11db @ 0,
    CP_MQD_BASE_ADDR = 0x1245 @ 0,
    CP_HQD_ACTIVE = 0x1247 @ 0,
    CP_HQD_VMID = 0x1248 @ 0,
    CP_HQD_PQ_BASE = 0x124d @ 0,
    CP_HQD_PQ_RPTR = 0x124f @ 0,
    CP_HQD_PQ_WPTR_POLL_ADDR = 0x1252 @ 0,
    CP_HQD_PQ_DOORBELL_CONTROL = 0x1254 @ 0,
    CP_HQD_PQ_CONTROL = 0x1256 @ 0,
    CP_HQD_DEQUEUE_REQUEST = 0x125d @ 0,
    CP_HQD_HQ_STATUS0 = 0x1265 @ 0,
    CP_HQD_PQ_WPTR_LO = 0x127b @ 0,
    CP_HQD_PQ_WPTR_HI = 0x127c @ 0,
    CP_HQD_AQL_DISPATCH_ID_HI = 0x127f @ 0,
    SCRATCH_REG0 = 0x2040 @ 1,
    GRBM_GFX_INDEX = 0x2200 @ 1,
    CP_HYP_XCP_CTL = 0x5828 @ 1,
    RLC_SAFE_MODE = 0x4c05 @ 1,
    SCRATCH_REG1 = 0x2041 @ 1,
    RLC_SPARE_INT = 0x4ccc @ 1,
    RLC_GPU_CLOCK_COUNT_LSB = 0x4c24 @ 1,
    RLC_GPU_CLOCK_COUNT_MSB = 0x4c25 @ 1,
}

registers! {
    mmhub, super::base::MMHUB, "mmhub/mmhub_1_8_0_offset.h":
    VM_L2_PROTECTION_FAULT_STATUS = 0x0b6b @ 0,
    VM_L2_PROTECTION_FAULT_ADDR_LO32 = 0x0b6c @ 0,
    VM_L2_PROTECTION_FAULT_ADDR_HI32 = 0x0b6d @ 0,
    VM_INVALIDATE_ENG0_SEM = 0x0bb1 @ 0,
    VM_INVALIDATE_ENG17_SEM = 0x0bc2 @ 0,
    VM_INVALIDATE_ENG0_ACK = 0x0bd5 @ 0,
    VM_INVALIDATE_ENG17_ACK = 0x0be6 @ 0,
    VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_LO32 = 0x0c0b @ 0,
    VM_CONTEXT0_PAGE_TABLE_BASE_ADDR_HI32 = 0x0c0c @ 0,
    VM_CONTEXT0_PAGE_TABLE_START_ADDR_LO32 = 0x0c2b @ 0,
    VM_CONTEXT0_PAGE_TABLE_START_ADDR_HI32 = 0x0c2c @ 0,
    VM_CONTEXT0_PAGE_TABLE_END_ADDR_LO32 = 0x0c4b @ 0,
    VM_CONTEXT0_PAGE_TABLE_END_ADDR_HI32 = 0x0c4c @ 0,
    MC_VM_FB_OFFSET = 0x0c87 @ 0,
    MC_VM_FB_LOCATION_BASE = 0x0c9c @ 0,
    MC_VM_FB_LOCATION_TOP = 0x0c9d @ 0,
}

registers! {
    athub, super::base::ATHUB, "athub/athub_1_8_0_offset.h":
    ATC_VMID_PASID_MAPPING_UPDATE_STATUS = 0x003e @ 0,
    ATC_VMID0_PASID_MAPPING = 0x003f @ 0,
    ATC_VMID15_PASID_MAPPING = 0x004e @ 0,
}

registers! {
    nbio, super::base::NBIO, "nbio/nbio_7_9_0_offset.h":
    BIF_BX_PF0_MM_INDEX = 0x0000 @ 0,
    BIF_BX_PF0_MM_DATA = 0x0001 @ 0,
    BIF_BX_PF0_MM_INDEX_HI = 0x0006 @ 0,
    BIF_BX0_PCIE_INDEX2 = 0x000e @ 0,
    BIF_BX0_PCIE_DATA2 = 0x000f @ 0,
    BIF_BX0_PCIE_INDEX2_HI = 0x0011 @ 0,
    RCC_STRAP0_RCC_DEV0_EPF0_STRAP0 = 0x0016 @ 2,
    RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE = 0x00c3 @ 2,
    RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER = 0x00c5 @ 2,
    BIF_BX_PF0_GPU_HDP_FLUSH_REQ = 0x0106 @ 2,
    BIF_BX_PF0_GPU_HDP_FLUSH_DONE = 0x0107 @ 2,
    BIF_BX_PF0_MAILBOX_MSGBUF_TRN_DW0 = 0x0136 @ 2,
    BIF_BX_PF0_MAILBOX_MSGBUF_TRN_DW1 = 0x0137 @ 2,
    BIF_BX_PF0_MAILBOX_MSGBUF_RCV_DW0 = 0x013a @ 2,
    BIF_BX_PF0_MAILBOX_MSGBUF_RCV_DW3 = 0x013d @ 2,
    BIF_BX_PF0_MAILBOX_CONTROL = 0x013e @ 2,
    BIF_BX_PF0_MAILBOX_INT_CNTL = 0x013f @ 2,
    BIF_BX_PF0_PARTITION_MEM_CAP = 0x0162 @ 2,
    BIF_BX_PF0_PARTITION_COMPUTE_STATUS = 0x0163 @ 2,
    BIF_BX_PF0_PARTITION_MEM_STATUS = 0x0164 @ 2,
}

registers! {
    mp, super::base::MP, "mp/mp_13_0_2_offset.h":
    MP0_SMN_C2PMSG_33 = 0x0061 @ 0,
    MP0_SMN_C2PMSG_101 = 0x00a5 @ 0,
    MP0_SMN_C2PMSG_102 = 0x00a6 @ 0,
    MP0_SMN_C2PMSG_103 = 0x00a7 @ 0,
}

registers! {
    ih, super::base::OSSSYS, "oss/osssys_4_4_2_offset.h":
    IH_RB_CNTL = 0x0080 @ 0,
    IH_RB_BASE = 0x0081 @ 0,
    IH_RB_BASE_HI = 0x0082 @ 0,
    IH_RB_RPTR = 0x0083 @ 0,
    IH_RB_WPTR = 0x0084 @ 0,
    IH_RB_WPTR_ADDR_HI = 0x0085 @ 0,
    IH_RB_WPTR_ADDR_LO = 0x0086 @ 0,
    IH_DOORBELL_RPTR = 0x0087 @ 0,
    IH_RB_CNTL_RING1 = 0x008c @ 0,
}

/// Offsets within one SDMA engine. The rings of an engine have equal layouts.
pub mod sdma {
    pub const RB_CNTL: u32 = 0x00;
    pub const RB_BASE: u32 = 0x01;
    pub const RB_BASE_HI: u32 = 0x02;
    pub const RB_RPTR: u32 = 0x03;
    pub const RB_RPTR_HI: u32 = 0x04;
    pub const RB_WPTR: u32 = 0x05;
    pub const RB_WPTR_HI: u32 = 0x06;
    pub const RB_RPTR_ADDR_HI: u32 = 0x08;
    pub const RB_RPTR_ADDR_LO: u32 = 0x09;
    pub const CONTEXT_STATUS: u32 = 0x11;
    pub const DOORBELL: u32 = 0x12;
    pub const DOORBELL_OFFSET: u32 = 0x2b;
    pub const UTILIZATION_LO: u32 = 0x4c;
    pub const UTILIZATION_HI: u32 = 0x4d;

    pub const RING_SPAN: u32 = 0x58;
    pub const GFX: u32 = 0x80;
    pub const PAGE: u32 = 0xd8;
    pub const RLC0: u32 = 0x130;
    pub const RLC_COUNT: u32 = 8;

    #[cfg(test)]
    pub const TABLE: &[(&str, u32)] = &[
        ("GFX_RB_CNTL", GFX + RB_CNTL),
        ("GFX_RB_BASE", GFX + RB_BASE),
        ("GFX_RB_BASE_HI", GFX + RB_BASE_HI),
        ("GFX_RB_RPTR", GFX + RB_RPTR),
        ("GFX_RB_RPTR_HI", GFX + RB_RPTR_HI),
        ("GFX_RB_WPTR", GFX + RB_WPTR),
        ("GFX_RB_WPTR_HI", GFX + RB_WPTR_HI),
        ("GFX_RB_RPTR_ADDR_HI", GFX + RB_RPTR_ADDR_HI),
        ("GFX_RB_RPTR_ADDR_LO", GFX + RB_RPTR_ADDR_LO),
        ("GFX_CONTEXT_STATUS", GFX + CONTEXT_STATUS),
        ("GFX_DOORBELL", GFX + DOORBELL),
        ("GFX_DOORBELL_OFFSET", GFX + DOORBELL_OFFSET),
        ("PAGE_RB_CNTL", PAGE),
        ("RLC0_RB_CNTL", RLC0),
        ("RLC0_CONTEXT_STATUS", RLC0 + CONTEXT_STATUS),
        ("RLC0_UTILIZATION_LO", RLC0 + UTILIZATION_LO),
        ("RLC0_UTILIZATION_HI", RLC0 + UTILIZATION_HI),
        ("RLC7_RB_CNTL", RLC0 + 7 * RING_SPAN),
    ];
}

/// The package: a card, or one with processors in it.
pub mod smuio {
    pub const SMUIO_MCM_CONFIG: (u32, usize) = (0x0023, 1);

    /// Where it lies.
    pub const PACKAGE: u32 = super::base::SMUIO[SMUIO_MCM_CONFIG.1] + SMUIO_MCM_CONFIG.0;
    /// There, that the package has processors.
    pub const HAS_PROCESSORS: u32 = 2 << 2;
}

/// The numbers of one of the driver's headers, if the variable names their folder.
#[cfg(test)]
pub fn header(path: &str) -> Option<std::collections::HashMap<String, u32>> {
    let folder = std::env::var_os("VGPU_ASIC_REG")?;
    let file = std::path::Path::new(&folder).join(path);
    let text = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut numbers = std::collections::HashMap::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if words.next() != Some("#define") {
            continue;
        }
        if let (Some(name), Some(value)) = (words.next(), words.next()) {
            let value = match value.strip_prefix("0x") {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => value.parse(),
            };
            if let Ok(value) = value {
                numbers.insert(name.to_owned(), value);
            }
        }
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(path: &str, table: impl Iterator<Item = (String, u32, usize)>) {
        let Some(numbers) = header(path) else {
            return;
        };
        for (name, offset, index) in table {
            assert_eq!(
                numbers.get(&format!("reg{name}")),
                Some(&offset),
                "{path}: {name}"
            );
            let index_name = format!("reg{name}_BASE_IDX");
            assert_eq!(
                numbers.get(&index_name),
                Some(&(index as u32)),
                "{path}: {index_name}"
            );
        }
    }

    fn entries(table: &'static [Entry]) -> impl Iterator<Item = (String, u32, usize)> {
        table
            .iter()
            .map(|e| (e.name.to_owned(), e.offset, e.base_index))
    }

    #[test]
    fn numbers_are_those_of_the_driver() {
        compare(gc::HEADER, entries(gc::TABLE));
        compare(mmhub::HEADER, entries(mmhub::TABLE));
        compare(athub::HEADER, entries(athub::TABLE));
        compare(nbio::HEADER, entries(nbio::TABLE));
        compare(mp::HEADER, entries(mp::TABLE));
        compare(ih::HEADER, entries(ih::TABLE));
        let sdma = sdma::TABLE
            .iter()
            .map(|(name, offset)| (format!("SDMA_{name}"), *offset, 0));
        compare("sdma/sdma_4_4_2_offset.h", sdma);
        let (offset, index) = smuio::SMUIO_MCM_CONFIG;
        let smuio = std::iter::once(("SMUIO_MCM_CONFIG".to_owned(), offset, index));
        compare("smuio/smuio_13_0_3_offset.h", smuio);
    }

    #[test]
    fn no_other_block_looks_like_graphics_in_a_packet() {
        let last = mmhub::MC_VM_FB_LOCATION_TOP;
        for address in mmhub::VM_L2_PROTECTION_FAULT_STATUS..=last {
            let place = super::super::place(address & 0xffff);
            assert_eq!(place, super::super::Place::Other(address & 0xffff));
        }
    }

    /// The driver reads these before it knows the discovery table.
    #[test]
    fn addresses_that_the_driver_assumes() {
        assert_eq!(nbio::RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE, 0xde3);
        assert_eq!(nbio::RCC_DEV0_EPF0_RCC_IOV_FUNC_IDENTIFIER, 0xde5);
        assert_eq!(mp::MP0_SMN_C2PMSG_33, 0x16061);
    }
}
