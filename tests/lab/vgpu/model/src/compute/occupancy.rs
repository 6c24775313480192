// SPDX-License-Identifier: GPL-2.0-only
//! What fits on a compute unit: four SIMDs with eight waves and 512 vector
//! registers per lane each, and local memory for all.

const WAVES_PER_SIMD: u32 = 8;
const VGPRS_PER_SIMD: u32 = 512;

/// What one workgroup takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    pub waves: u32,
    /// Vector registers per lane of each wave.
    pub vgprs: u32,
    pub lds: u32,
}

/// A wave's scalar registers, and its share of the hardware state that the
/// driver reserves for 32 waves of a unit.
const SGPR_BYTES: u64 = 0x4000 / 32;
const HARDWARE_BYTES: u64 = 0x1000 / 32;

impl Footprint {
    /// Bytes that saving the workgroup moves.
    pub fn saved_bytes(&self) -> u64 {
        let wave = u64::from(self.vgprs) * 64 * 4 + SGPR_BYTES + HARDWARE_BYTES;
        u64::from(self.waves) * wave + u64::from(self.lds)
    }

    /// Whether it fits on an empty unit that has the local memory, which was compared when
    /// its kernel was read.
    pub fn fits_at_all(&self) -> bool {
        Unit::new(self.lds).place(self).is_some()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Simd {
    waves: u32,
    vgprs: u32,
}

/// One compute unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    simds: [Simd; 4],
    lds: u32,
    /// The local memory that there is.
    lds_bytes: u32,
}

impl Unit {
    pub fn new(lds_bytes: u32) -> Unit {
        Unit {
            simds: Default::default(),
            lds: 0,
            lds_bytes,
        }
    }

    pub fn waves(&self) -> u32 {
        self.simds.iter().map(|simd| simd.waves).sum()
    }

    /// How many waves each SIMD would take, if the workgroup fits.
    pub fn place(&self, footprint: &Footprint) -> Option<[u8; 4]> {
        if self.lds + footprint.lds > self.lds_bytes {
            return None;
        }
        let mut simds = self.simds;
        let mut placed = [0; 4];
        for _ in 0..footprint.waves {
            let fits = |simd: &Simd| {
                simd.waves < WAVES_PER_SIMD && simd.vgprs + footprint.vgprs <= VGPRS_PER_SIMD
            };
            let index = (0..4)
                .filter(|i| fits(&simds[*i]))
                .min_by_key(|i| simds[*i].waves)?;
            simds[index].waves += 1;
            simds[index].vgprs += footprint.vgprs;
            placed[index] += 1;
        }
        Some(placed)
    }

    pub fn occupy(&mut self, footprint: &Footprint, simds: [u8; 4]) {
        self.lds += footprint.lds;
        for (simd, waves) in self.simds.iter_mut().zip(simds) {
            simd.waves += u32::from(waves);
            simd.vgprs += u32::from(waves) * footprint.vgprs;
        }
    }

    pub fn release(&mut self, footprint: &Footprint, simds: [u8; 4]) {
        self.lds -= footprint.lds;
        for (simd, waves) in self.simds.iter_mut().zip(simds) {
            simd.waves -= u32::from(waves);
            simd.vgprs -= u32::from(waves) * footprint.vgprs;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LDS_BYTES: u32 = 64 << 10;

    fn fill(footprint: Footprint) -> u32 {
        fill_with(footprint, LDS_BYTES)
    }

    fn fill_with(footprint: Footprint, lds_bytes: u32) -> u32 {
        let mut unit = Unit::new(lds_bytes);
        let mut count = 0;
        while let Some(simds) = unit.place(&footprint) {
            unit.occupy(&footprint, simds);
            count += 1;
        }
        count
    }

    #[test]
    fn waves_registers_and_local_memory_limit_a_unit() {
        assert_eq!(
            fill(Footprint {
                waves: 1,
                vgprs: 8,
                lds: 0
            }),
            32
        );
        assert_eq!(
            fill(Footprint {
                waves: 4,
                vgprs: 64,
                lds: 0
            }),
            8
        );
        assert_eq!(
            fill(Footprint {
                waves: 1,
                vgprs: 72,
                lds: 0
            }),
            28
        );
        assert_eq!(
            fill(Footprint {
                waves: 1,
                vgprs: 200,
                lds: 0
            }),
            8
        );
        assert_eq!(
            fill(Footprint {
                waves: 1,
                vgprs: 512,
                lds: 0
            }),
            4
        );
        assert_eq!(
            fill(Footprint {
                waves: 1,
                vgprs: 8,
                lds: 64 << 10
            }),
            1
        );
        assert_eq!(
            fill(Footprint {
                waves: 1,
                vgprs: 8,
                lds: 22 << 10
            }),
            2
        );
        assert_eq!(
            fill(Footprint {
                waves: 16,
                vgprs: 512,
                lds: 0
            }),
            0
        );
    }

    #[test]
    fn releasing_undoes_occupying() {
        let footprint = Footprint {
            waves: 5,
            vgprs: 40,
            lds: 512,
        };
        let mut unit = Unit::new(LDS_BYTES);
        let simds = unit.place(&footprint).unwrap();
        unit.occupy(&footprint, simds);
        assert_eq!(unit.waves(), 5);
        unit.release(&footprint, simds);
        assert_eq!(unit, Unit::new(LDS_BYTES));
    }

    /// The driver reserves 532 KiB for each compute unit, and its local memory.
    #[test]
    fn a_full_unit_saves_what_the_driver_reserves() {
        for (lds_bytes, reserved) in [(64 << 10, 596 << 10), (160 << 10, 692 << 10)] {
            let footprint = Footprint {
                waves: 4,
                vgprs: 64,
                lds: lds_bytes / 8,
            };
            let workgroups = fill_with(footprint, lds_bytes);
            let saved = u64::from(workgroups) * footprint.saved_bytes();
            assert_eq!(saved, reserved);
        }
    }
}
