// SPDX-License-Identifier: GPL-2.0-only

//! The physical facts of a GPU node, and what they cost.
//!
//! None of these numbers is a setting of the policy, and none may be changed
//! to make a policy look better.  Each says where it comes from; the ones that
//! nobody has published are marked as assumptions, and the sensitivity table
//! in docs/simulation shows what depends on them.

use serde::Serialize;

/// Nanoseconds of GPU time.
pub type Nanos = u64;

/// Shares of one compute unit, so that every whole number of workgroups per
/// unit up to 10, and 12, 16, 20, 24 and 32, divides it.
pub const SLOTS_PER_CU: u64 = 20_160;

/// Parts of one compute unit's throughput.
pub const FULL_DEMAND: u64 = 1_000_000;

/// Wave slots of one compute unit of gfx942: 4 SIMDs with 8 waves each.
pub const WAVES_PER_CU: u32 = 32;

/// Registers, LDS and hardware state of one fully occupied compute unit, as
/// KFD sizes the save area (kfd_queue.c): VGPR 0x80000, SGPR 0x4000,
/// LDS 0x10000, HWREG 0x1000.
pub const STATE_BYTES_PER_CU: u64 = 0x80000 + 0x4000 + 0x10000 + 0x1000;

/// What the name of a node ends with whose transactions are the module's own.
const DIRECT: &str = "-direct";

/// When the read pointer of a queue moves past a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadPointer {
    /// With the first workgroup that is placed: what hardware is expected to do.
    Launch,
    /// With the last workgroup that ends.
    Completion,
}

#[derive(Clone, Debug, Serialize)]
pub struct Gpu {
    pub name: String,
    pub compute_units: u64,
    /// Peak engine clock.
    pub clock_mhz: u64,
    /// FLOP per clock of one compute unit in fp32 (256 on gfx942).
    pub flop_per_clock: u64,
    /// Bytes per microsecond (= MB/s / 1) of the memory behind the node.
    pub bytes_per_us: u64,
    /// Fixed part of a save and of a restore.
    pub save_fixed: Nanos,
    /// SDMA engines of the node; the driver reads 2 registers for each of
    /// their 8 queues in every unmap (sdma_has_hang, kernels from 6.16 on).
    pub sdma_engines: u64,
    /// Round trip of one register read over PCIe.
    pub register_read: Nanos,
    /// A posted doorbell until the firmware sees it.
    pub doorbell: Nanos,
    /// A fence write until the polling CPU sees it.
    pub fence: Nanos,
    /// Firmware time for one packet of the HIQ (assumption: unpublished).
    pub firmware_packet: Nanos,
    /// Time the firmware lets waves drain before it saves them (SCH_WAVE).
    pub drain: Nanos,
    /// Time from a packet at the head of its queue to its first workgroup
    /// (assumption; the same for every policy).
    pub packet_processing: Nanos,
    /// Hardware queue slots for user queues.
    pub hqds: usize,
    /// Time slice of the hardware scheduler when there are more queues.
    pub quantum: Nanos,
    pub read_pointer: ReadPointer,
}

impl Gpu {
    /// A whole MI300X as one node: 8 XCCs, 16 SDMA engines.
    pub fn mi300x_spx() -> Self {
        Self {
            name: "mi300x-spx".into(),
            compute_units: 304,
            clock_mhz: 2100,
            flop_per_clock: 256,
            bytes_per_us: 5_300_000,
            save_fixed: 5_000,
            sdma_engines: 16,
            register_read: 850,
            doorbell: 1_000,
            fence: 1_000,
            firmware_packet: 5_000,
            drain: 0,
            packet_processing: 5_000,
            hqds: 24,
            quantum: 1_000_000,
            read_pointer: ReadPointer::Launch,
        }
    }

    /// One of the 8 partitions of an MI300X: 1 XCC, 2 SDMA engines and its
    /// fair share of the memory bandwidth.
    pub fn mi300x_cpx() -> Self {
        Self {
            name: "mi300x-cpx".into(),
            compute_units: 38,
            bytes_per_us: 5_300_000 / 8,
            sdma_engines: 2,
            ..Self::mi300x_spx()
        }
    }

    /// One of 4 partitions: 2 XCCs, 4 SDMA engines, a quarter of the bandwidth.
    pub fn mi300x_qpx() -> Self {
        Self {
            name: "mi300x-qpx".into(),
            compute_units: 76,
            bytes_per_us: 5_300_000 / 4,
            sdma_engines: 4,
            ..Self::mi300x_spx()
        }
    }

    /// A whole MI300X under a kernel before 6.16, whose driver does not ask the
    /// SDMA engines whether they hang.
    pub fn mi300x_spx_before_6_16() -> Self {
        Self {
            name: "mi300x-spx, kernel before 6.16".into(),
            sdma_engines: 0,
            ..Self::mi300x_spx()
        }
    }

    /// The same node with transactions of the module's own, which leave out what the
    /// driver asks the SDMA engines in every unmap.
    pub fn direct(self) -> Self {
        Self {
            name: format!("{}{DIRECT}", self.name),
            sdma_engines: 0,
            ..self
        }
    }

    /// A node by its name, with the suffix `-direct` for transactions of the module's own.
    pub fn by_name(name: &str) -> Option<Self> {
        if let Some(base) = name.strip_suffix(DIRECT) {
            return Self::of_driver(base).map(Self::direct);
        }
        Self::of_driver(name)
    }

    fn of_driver(name: &str) -> Option<Self> {
        match name {
            "mi300x-qpx" => Some(Self::mi300x_qpx()),
            "mi300x-spx" => Some(Self::mi300x_spx()),
            "mi300x-cpx" => Some(Self::mi300x_cpx()),
            _ => None,
        }
    }

    /// XCCs of 38 units that a grid is dealt out to.
    pub fn xccs(&self) -> u64 {
        (self.compute_units / 38).max(1)
    }

    pub fn slots(&self) -> u64 {
        self.compute_units * SLOTS_PER_CU
    }

    pub fn state_bytes(&self) -> u64 {
        self.compute_units * STATE_BYTES_PER_CU
    }

    /// Time to move `bytes` of wave state one way.
    pub fn transfer(&self, bytes: u64) -> Nanos {
        if bytes == 0 {
            return 0;
        }
        let bytes = bytes.min(self.state_bytes());
        self.save_fixed + (bytes * 1_000).div_ceil(self.bytes_per_us)
    }

    /// Register reads that the driver does in every unmap.
    pub fn unmap_register_reads(&self) -> u64 {
        self.sdma_engines * 8 * 2
    }
}

/// Where the time of one transaction went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TransactionCost {
    /// Doorbell and firmware until the waves stop.
    pub command: Nanos,
    pub save: Nanos,
    /// QUERY_STATUS and the fence.
    pub fence: Nanos,
    /// The driver's register reads, with everything unmapped.
    pub registers: Nanos,
    /// RUN_LIST: doorbell and firmware.
    pub map: Nanos,
    pub restore: Nanos,
}

impl TransactionCost {
    pub fn new(gpu: &Gpu, saved_bytes: u64, restored_bytes: u64) -> Self {
        Self {
            command: gpu.doorbell + gpu.firmware_packet,
            save: gpu.transfer(saved_bytes) + if saved_bytes > 0 { gpu.drain } else { 0 },
            fence: gpu.firmware_packet + gpu.fence,
            registers: gpu.unmap_register_reads() * gpu.register_read,
            map: gpu.doorbell + gpu.firmware_packet,
            restore: gpu.transfer(restored_bytes),
        }
    }

    /// Time in which no queue of the node runs.
    pub fn standstill(&self) -> Nanos {
        self.save + self.fence + self.registers + self.map + self.restore
    }

    pub fn add(&mut self, other: &Self) {
        self.command += other.command;
        self.save += other.save;
        self.fence += other.fence;
        self.registers += other.registers;
        self.map += other.map;
        self.restore += other.restore;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_mi300x_saves_in_35_us_and_the_fixed_part() {
        let gpu = Gpu::mi300x_spx();
        assert_eq!(STATE_BYTES_PER_CU, 610_304);
        assert_eq!(gpu.state_bytes(), 185_532_416);
        let micros = (gpu.transfer(gpu.state_bytes()) - gpu.save_fixed) / 1_000;
        assert_eq!(micros, 35);
    }

    #[test]
    fn a_partition_has_the_same_full_save_time() {
        let whole = Gpu::mi300x_spx();
        let part = Gpu::mi300x_cpx();
        let difference = whole
            .transfer(whole.state_bytes())
            .abs_diff(part.transfer(part.state_bytes()));
        assert!(difference < 10, "{difference} ns");
    }

    #[test]
    fn nothing_to_save_costs_nothing_and_no_more_than_all_is_saved() {
        let gpu = Gpu::mi300x_spx();
        assert_eq!(gpu.transfer(0), 0);
        assert_eq!(gpu.transfer(1), gpu.save_fixed + 1);
        assert_eq!(
            gpu.transfer(u64::MAX / 2_000_000),
            gpu.transfer(gpu.state_bytes())
        );
    }

    #[test]
    fn the_hang_check_reads_256_registers_on_a_whole_gpu() {
        assert_eq!(Gpu::mi300x_spx().unmap_register_reads(), 256);
        assert_eq!(Gpu::mi300x_cpx().unmap_register_reads(), 32);
    }

    #[test]
    fn a_direct_transaction_has_no_register_reads() {
        let whole = |gpu: &Gpu| {
            let cost = TransactionCost::new(gpu, gpu.state_bytes(), 0);
            (cost.command + cost.standstill()) / 1_000
        };
        for name in ["mi300x-spx", "mi300x-qpx", "mi300x-cpx"] {
            let driver = Gpu::by_name(name).unwrap();
            let direct = Gpu::by_name(&format!("{name}-direct")).unwrap();
            assert_eq!(direct.name, format!("{name}-direct"));
            assert_eq!(whole(&direct), 58);
            assert_eq!(direct.compute_units, driver.compute_units);
        }
        assert_eq!(whole(&Gpu::mi300x_spx()), 275);
        assert!(Gpu::by_name("mi300x-spx-direct-direct").is_none());
        assert!(Gpu::by_name("-direct").is_none());
    }

    #[test]
    fn drain_counts_only_when_something_runs() {
        let mut gpu = Gpu::mi300x_cpx();
        gpu.drain = 30_000;
        assert_eq!(TransactionCost::new(&gpu, 0, 0).save, 0);
        assert_eq!(TransactionCost::new(&gpu, 1, 0).save, 30_000 + 5_000 + 1);
    }
}
