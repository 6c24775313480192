// SPDX-License-Identifier: GPL-2.0-only
//! What fits on a compute unit: four SIMDs with eight waves and 512 vector
//! registers per lane each, and 64 KiB of local memory for all.

use super::kernel::LDS_BYTES;

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

    /// Whether it fits on an empty unit.
    pub fn fits_at_all(&self) -> bool {
        Unit::default().place(self).is_some()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Simd {
    waves: u32,
    vgprs: u32,
}

/// One compute unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    simds: [Simd; 4],
    lds: u32,
}

impl Unit {
    pub fn waves(&self) -> u32 {
        self.simds.iter().map(|simd| simd.waves).sum()
    }

    /// How many waves each SIMD would take, if the workgroup fits.
    pub fn place(&self, footprint: &Footprint) -> Option<[u8; 4]> {
        if self.lds + footprint.lds > LDS_BYTES {
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

    fn fill(footprint: Footprint) -> u32 {
        let mut unit = Unit::default();
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
        let mut unit = Unit::default();
        let simds = unit.place(&footprint).unwrap();
        unit.occupy(&footprint, simds);
        assert_eq!(unit.waves(), 5);
        unit.release(&footprint, simds);
        assert_eq!(unit, Unit::default());
    }

    /// The driver reserves 596 KiB for each compute unit.
    #[test]
    fn a_full_unit_saves_what_the_driver_reserves() {
        let footprint = Footprint {
            waves: 4,
            vgprs: 64,
            lds: 8 << 10,
        };
        let workgroups = fill(footprint);
        assert_eq!(u64::from(workgroups) * footprint.saved_bytes(), 596 << 10);
    }
}
