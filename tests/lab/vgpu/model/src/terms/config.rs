// SPDX-License-Identifier: GPL-2.0-only
//! The shape of the virtual GPU and the times its firmware takes.

use serde::{Deserialize, Serialize};

use super::product::{LocalMemory, Product};
use super::time::GpuNanos;

/// When the read pointer of an AQL queue passes a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReadPointer {
    /// When the packet has been read, before any of its workgroups runs.
    Fetch,
    /// When the packet's last workgroup has been launched.
    #[default]
    Launch,
    /// When the packet's last workgroup has ended.
    Completion,
}

/// Durations, in nanoseconds of GPU time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Timing {
    /// From a doorbell or register write to the first packet fetch.
    pub doorbell: u64,
    /// To fetch and decode one packet of a ring.
    pub packet: u64,
    /// The same of a user's AQL queue, so that it is also what lies between two kernels
    /// of which one waits for the other.
    pub aql_packet: u64,
    /// For the scheduler firmware to map one queue.
    pub map_queue: u64,
    /// For the scheduler firmware to unmap one queue, besides saving its waves.
    pub unmap_queue: u64,
    /// The fixed part of a save or restore.
    pub save_fixed: u64,
    /// Bytes that all saves and restores together move in one microsecond.
    pub save_bytes_per_microsecond: u64,
    /// For a wave to execute one instruction of machine code.
    pub instruction: u64,
    /// Between two reads of a signal or memory word that a packet waits for.
    pub poll: u64,
    /// Between two tries of what finds no memory.
    pub retry: u64,
    /// One unit of SET_RESOURCES.unmap_latency: 100 ms of the guest's time,
    /// which passes 32 times as fast.
    pub unmap_latency_unit: u64,
    /// One unit of MAP_PROCESS.process_quantum.
    pub process_quantum_unit: u64,
    /// Bytes that one SDMA engine moves in one microsecond. The driver gives a
    /// job 2 s of the guest's time, which must suffice for all of video memory.
    pub sdma_bytes_per_microsecond: u64,
    /// From a request of a virtual function's guest to its host's answer.
    pub host_answer: u64,
}

impl Default for Timing {
    fn default() -> Self {
        Timing {
            doorbell: 1_000,
            packet: 200,
            aql_packet: 200,
            map_queue: 2_000,
            unmap_queue: 2_000,
            save_fixed: 5_000,
            save_bytes_per_microsecond: 5_300_000,
            instruction: 20,
            poll: 5_000,
            retry: 20_000,
            unmap_latency_unit: 3_125_000,
            process_quantum_unit: 1_000_000,
            sdma_bytes_per_microsecond: 400_000,
            host_answer: 20_000,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    pub product: Product,
    /// Accelerator dies that share the work of every queue (SPX): 1 to 8, or to 6 of an MI300A.
    pub xcc_count: u32,
    /// SDMA engines: 1 to 16, of which each I/O die has four.
    pub sdma_count: u32,
    /// Parts of video memory that the GPU has come up with: 1 or 4 (NPS1, NPS4).
    pub memory_partitions: u32,
    /// Compute units of each of the four shader engines of an XCC: 1 to 16.
    /// Fewer make the save area that each queue pins in guest memory smaller.
    pub cu_per_shader_engine: u32,
    /// The GPU is a virtual function, and a host answers for what is not its own.
    pub virtual_function: bool,
    pub read_pointer: ReadPointer,
    /// Instructions of machine code that a wave executes before others have their turn.
    pub wave_quantum: u32,
    /// If not zero, a wave rests for about half of its turns, several at a time, so that
    /// waves are at different places. Which turns is decided by this number and the time.
    pub wave_seed: u64,
    /// So many turns of a workgroup's waves in the trap handler, an instruction each, and
    /// it is taken for one that never ends.
    pub handler_turns: u64,
    pub timing: Timing,
    /// How many records the HIQ log and the timeline keep.
    pub log_capacity: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            product: Product::default(),
            xcc_count: 1,
            sdma_count: 1,
            memory_partitions: 1,
            cu_per_shader_engine: 10,
            virtual_function: false,
            read_pointer: ReadPointer::default(),
            wave_quantum: 64,
            wave_seed: 0,
            handler_turns: 1_000_000,
            timing: Timing::default(),
            log_capacity: 1 << 18,
        }
    }
}

/// How the host of several virtual functions lets them take turns: how long this one has
/// the hardware, and how long the others have it then, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Worlds {
    pub own: u64,
    pub others: u64,
}

/// How fast waves of machine code go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// As [`Timing::instruction`].
    pub instruction: u64,
    /// As [`Config::wave_quantum`].
    pub wave_quantum: u32,
    /// As [`Config::wave_seed`].
    #[serde(default)]
    pub wave_seed: u64,
}

impl Default for Pace {
    fn default() -> Pace {
        let config = Config::default();
        Pace {
            instruction: config.timing.instruction,
            wave_quantum: config.wave_quantum,
            wave_seed: config.wave_seed,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    #[error("{name} is {value}, but must be {minimum} to {maximum}")]
    OutOfRange {
        name: &'static str,
        value: u64,
        minimum: u64,
        maximum: u64,
    },
    #[error("video memory is {0} bytes, but must be a multiple of 16 MiB from 64 MiB to 64 GiB")]
    VramSize(u64),
    #[error("only a virtual function has a host")]
    NoHost,
}

/// In nanoseconds: no time may be longer. Bandwidths have the same bound.
const SECOND: u64 = 1_000_000_000;

fn range(name: &'static str, value: u64, minimum: u64, maximum: u64) -> Result<(), ConfigError> {
    if (minimum..=maximum).contains(&value) {
        Ok(())
    } else {
        Err(ConfigError::OutOfRange {
            name,
            value,
            minimum,
            maximum,
        })
    }
}

impl Config {
    /// Shader engines of one XCC.
    pub const SHADER_ENGINES: u32 = 4;

    /// Bytes of BAR 2, the doorbells.
    pub const DOORBELL_BYTES: u64 = 2 << 20;

    /// Bytes of BAR 5, the registers.
    pub fn register_bytes(&self) -> u64 {
        if self.xcc_count == 1 && self.sdma_count == 1 {
            512 << 10
        } else {
            4 << 20
        }
    }

    /// The local memory of each compute unit.
    pub fn local_memory(&self) -> LocalMemory {
        self.product.facts().local_memory
    }

    /// Compute units of one XCC.
    pub fn cu_per_xcc(&self) -> u32 {
        Self::SHADER_ENGINES * self.cu_per_shader_engine
    }

    pub fn check(&self) -> Result<(), ConfigError> {
        let dies = self.product.facts().dies;
        range("xcc_count", self.xcc_count.into(), 1, dies.into())?;
        range("sdma_count", self.sdma_count.into(), 1, 16)?;
        if self.memory_partitions != 1 {
            range("memory_partitions", self.memory_partitions.into(), 4, 4)?;
        }
        range(
            "cu_per_shader_engine",
            self.cu_per_shader_engine.into(),
            1,
            16,
        )?;
        let timing = &self.timing;
        for (name, value) in [
            ("timing.poll", timing.poll),
            ("timing.instruction", timing.instruction),
            (
                "timing.save_bytes_per_microsecond",
                timing.save_bytes_per_microsecond,
            ),
            ("timing.unmap_latency_unit", timing.unmap_latency_unit),
            ("timing.process_quantum_unit", timing.process_quantum_unit),
            (
                "timing.sdma_bytes_per_microsecond",
                timing.sdma_bytes_per_microsecond,
            ),
        ] {
            range(name, value, 1, SECOND)?;
        }
        for (name, value) in [
            ("timing.doorbell", timing.doorbell),
            ("timing.packet", timing.packet),
            ("timing.aql_packet", timing.aql_packet),
            ("timing.map_queue", timing.map_queue),
            ("timing.unmap_queue", timing.unmap_queue),
            ("timing.save_fixed", timing.save_fixed),
            ("timing.host_answer", timing.host_answer),
        ] {
            range(name, value, 0, SECOND)?;
        }
        range("wave_quantum", self.wave_quantum.into(), 1, 1 << 20)?;
        range("log_capacity", self.log_capacity as u64, 1, 1 << 28)
    }

    /// Whether turns can be taken so.
    pub fn check_worlds(&self, worlds: Worlds) -> Result<(), ConfigError> {
        range("own", worlds.own, 1, SECOND)?;
        range("others", worlds.others, 1, SECOND)?;
        self.check_host()
    }

    /// Whether there is a host.
    pub fn check_host(&self) -> Result<(), ConfigError> {
        match self.virtual_function {
            true => Ok(()),
            false => Err(ConfigError::NoHost),
        }
    }

    /// The pace of waves, if it is one that they can have.
    pub fn set_pace(&mut self, pace: Pace) -> Result<(), ConfigError> {
        let mut config = self.clone();
        config.timing.instruction = pace.instruction;
        config.wave_quantum = pace.wave_quantum;
        config.wave_seed = pace.wave_seed;
        config.check()?;
        *self = config;
        Ok(())
    }

    /// The time of an AQL packet, if it is one that can be.
    pub fn set_aql_packet(&mut self, nanos: u64) -> Result<(), ConfigError> {
        let mut config = self.clone();
        config.timing.aql_packet = nanos;
        config.check()?;
        *self = config;
        Ok(())
    }

    /// How long a save or restore of this many bytes takes when it runs alone.
    pub fn save_time(&self, bytes: u64) -> GpuNanos {
        let moved = bytes.saturating_mul(1_000) / self.timing.save_bytes_per_microsecond;
        GpuNanos(self.timing.save_fixed.saturating_add(moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_legal() {
        assert_eq!(Config::default().check(), Ok(()));
    }

    #[test]
    fn each_bound_is_checked() {
        let bad = |change: fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            assert!(config.check().is_err(), "{config:?}");
        };
        bad(|c| c.xcc_count = 0);
        bad(|c| c.xcc_count = 9);
        bad(|c| (c.product, c.xcc_count) = (Product::Mi300a, 7));
        bad(|c| c.sdma_count = 0);
        bad(|c| c.sdma_count = 17);
        bad(|c| c.memory_partitions = 0);
        bad(|c| c.memory_partitions = 2);
        bad(|c| c.cu_per_shader_engine = 0);
        bad(|c| c.cu_per_shader_engine = 17);
        bad(|c| c.timing.poll = 0);
        bad(|c| c.timing.instruction = 0);
        bad(|c| c.timing.doorbell = u64::MAX);
        bad(|c| c.timing.aql_packet = 1_000_000_001);
        bad(|c| c.log_capacity = 0);
        bad(|c| c.wave_quantum = 0);
    }

    #[test]
    fn a_pace_that_cannot_be_changes_nothing() {
        let mut config = Config::default();
        let pace = |instruction, wave_quantum| Pace {
            instruction,
            wave_quantum,
            wave_seed: 7,
        };
        config.set_pace(pace(500, 3)).unwrap();
        assert_eq!((config.timing.instruction, config.wave_quantum), (500, 3));
        assert_eq!(config.wave_seed, 7);
        let kept = config.clone();
        for (bad, name) in [
            (pace(0, 3), "timing.instruction"),
            (pace(500, 0), "wave_quantum"),
        ] {
            let error = config.set_pace(bad).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
            assert_eq!(config, kept);
        }
    }

    #[test]
    fn a_time_of_packets_that_cannot_be_changes_nothing() {
        let mut config = Config::default();
        config.set_aql_packet(5_000).unwrap();
        assert_eq!(config.timing.aql_packet, 5_000);
        let error = config.set_aql_packet(u64::MAX).unwrap_err().to_string();
        assert!(error.contains("timing.aql_packet"), "{error}");
        assert_eq!(config.timing.aql_packet, 5_000);
    }

    #[test]
    fn an_error_names_field_value_and_bounds() {
        let config = Config {
            xcc_count: 9,
            ..Config::default()
        };
        let text = config.check().unwrap_err().to_string();
        assert_eq!(text, "xcc_count is 9, but must be 1 to 8");
    }

    #[test]
    fn saving_a_whole_mi300x_takes_its_bandwidth_floor() {
        let bytes = 304 * 596 * 1024;
        assert_eq!(Config::default().save_time(bytes).0, 5_000 + 35_006);
    }
}
