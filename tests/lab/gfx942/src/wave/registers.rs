// SPDX-License-Identifier: GPL-2.0-only
//! The registers of one wave.

use super::special::HardwareRegister;

/// How many lanes a wave has.
pub const LANES: usize = 64;

/// The numbers by which instructions name scalar registers, special ones included.
const SCALARS: usize = 128;
const VECTORS: usize = 256;
const VCC: u8 = 106;
const M0: u8 = 124;
const EXEC: u8 = 126;
/// STATUS has the condition code, and what follows from VCC and EXEC.
const STATUS_SCC: u32 = 1;
const STATUS_EXECZ: u32 = 1 << 9;
const STATUS_VCCZ: u32 = 1 << 10;

/// The state of one wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    pub pc: u64,
    pub scc: bool,
    scalars: [u32; SCALARS],
    vectors: Vec<[u32; LANES]>,
    accumulators: Vec<[u32; LANES]>,
    hardware: [u32; HardwareRegister::ALL.len()],
}

impl Wave {
    /// A wave that begins at `pc` with all lanes, and zero in all registers.
    pub fn new(pc: u64) -> Self {
        Self::with_registers(pc, VECTORS, VECTORS)
    }

    /// A wave that has so many vector and accumulation registers, of 256 each. Others
    /// are zero and stay so.
    pub fn with_registers(pc: u64, vectors: usize, accumulators: usize) -> Self {
        let mut wave = Self {
            pc,
            scc: false,
            scalars: [0; SCALARS],
            vectors: vec![[0; LANES]; vectors.min(VECTORS)],
            accumulators: vec![[0; LANES]; accumulators.min(VECTORS)],
            hardware: [0; HardwareRegister::ALL.len()],
        };
        wave.set_exec(u64::MAX);
        wave
    }

    /// The scalar register of this number; zero if there is none.
    pub fn scalar(&self, code: u8) -> u32 {
        self.scalars.get(usize::from(code)).copied().unwrap_or(0)
    }

    pub fn set_scalar(&mut self, code: u8, value: u32) {
        if let Some(register) = self.scalars.get_mut(usize::from(code)) {
            *register = value;
        }
    }

    /// Two scalar registers, the lower half first.
    pub fn scalar_pair(&self, code: u8) -> u64 {
        let upper = u64::from(self.scalar(code.saturating_add(1)));
        u64::from(self.scalar(code)) | (upper << 32)
    }

    pub fn set_scalar_pair(&mut self, code: u8, value: u64) {
        self.set_scalar(code, value as u32);
        self.set_scalar(code.saturating_add(1), (value >> 32) as u32);
    }

    pub fn exec(&self) -> u64 {
        self.scalar_pair(EXEC)
    }

    pub fn set_exec(&mut self, lanes: u64) {
        self.set_scalar_pair(EXEC, lanes);
    }

    pub fn vcc(&self) -> u64 {
        self.scalar_pair(VCC)
    }

    pub fn set_vcc(&mut self, lanes: u64) {
        self.set_scalar_pair(VCC, lanes);
    }

    pub fn m0(&self) -> u32 {
        self.scalar(M0)
    }

    pub fn set_m0(&mut self, value: u32) {
        self.set_scalar(M0, value);
    }

    /// Whether EXEC has this lane.
    pub fn is_active(&self, lane: usize) -> bool {
        lane < LANES && (self.exec() >> lane) & 1 != 0
    }

    pub fn vector(&self, register: u8, lane: usize) -> u32 {
        let register = self.vectors.get(usize::from(register));
        register
            .and_then(|lanes| lanes.get(lane))
            .copied()
            .unwrap_or(0)
    }

    /// A vector register in all lanes.
    pub fn lanes(&self, register: u8) -> [u32; LANES] {
        let register = self.vectors.get(usize::from(register));
        register.copied().unwrap_or([0; LANES])
    }

    /// Sets a vector register in the lanes that EXEC has.
    pub fn set_lanes(&mut self, register: u8, values: &[u32; LANES]) {
        let exec = self.exec();
        if let Some(register) = self.vectors.get_mut(usize::from(register)) {
            for (lane, (place, value)) in register.iter_mut().zip(values).enumerate() {
                *place = if (exec >> lane) & 1 != 0 {
                    *value
                } else {
                    *place
                };
            }
        }
    }

    pub fn set_vector(&mut self, register: u8, lane: usize, value: u32) {
        let register = self.vectors.get_mut(usize::from(register));
        if let Some(place) = register.and_then(|lanes| lanes.get_mut(lane)) {
            *place = value;
        }
    }

    pub fn accumulator(&self, register: u8, lane: usize) -> u32 {
        let register = self.accumulators.get(usize::from(register));
        register
            .and_then(|lanes| lanes.get(lane))
            .copied()
            .unwrap_or(0)
    }

    pub fn set_accumulator(&mut self, register: u8, lane: usize, value: u32) {
        let register = self.accumulators.get_mut(usize::from(register));
        if let Some(place) = register.and_then(|lanes| lanes.get_mut(lane)) {
            *place = value;
        }
    }

    /// What the program reads of a hardware register.
    pub fn hardware(&self, register: HardwareRegister) -> u32 {
        let kept = self.hardware[register as usize];
        if register != HardwareRegister::Status {
            return kept;
        }
        let of = |set: bool, bit: u32| if set { bit } else { 0 };
        kept & !(STATUS_SCC | STATUS_EXECZ | STATUS_VCCZ)
            | of(self.scc, STATUS_SCC)
            | of(self.exec() == 0, STATUS_EXECZ)
            | of(self.vcc() == 0, STATUS_VCCZ)
    }

    /// Sets a hardware register from outside, all its bits.
    pub fn set_hardware(&mut self, register: HardwareRegister, value: u32) {
        self.hardware[register as usize] = value;
    }
}
