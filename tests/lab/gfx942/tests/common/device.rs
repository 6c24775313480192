// SPDX-License-Identifier: GPL-2.0-only
//! Just enough of a device to run kernels: memory, and workgroups one after another.

use gfx942::wave::{Fault, HardwareRegister, Memory, Outcome, Wave, LANES};

use super::object::{Kernel, Object};
use super::recorded;

/// Where code, arguments, scratch and buffers are.
const CODE: u64 = 0x7000_0000_0000;
const ARGUMENTS: u64 = 0x7100_0000_0000;
const SCRATCH: u64 = 0x7200_0000_0000;
pub const BUFFERS: u64 = 0x7300_0000_0000;
/// The packet that starts a kernel, which says how large its workgroups are.
const PACKET: u64 = 0x7400_0000_0000;
const BETWEEN: u64 = 1 << 32;
/// The upper bits of the addresses of the local share and of scratch.
const BASES: u32 = 0x0001_0002;
/// The waves of a workgroup, and a number of steps that no test needs.
const WAVES: usize = 4;
const MOST_STEPS: usize = 2_000_000;

/// Pieces of memory, and the local share of the workgroup that runs.
struct Regions {
    regions: Vec<(u64, Vec<u8>)>,
    share: Vec<u8>,
}

impl Regions {
    fn find(&mut self, address: u64, size: usize, write: bool) -> Result<&mut [u8], Fault> {
        let found = self.regions.iter_mut().find_map(|(base, bytes)| {
            let from = usize::try_from(address.checked_sub(*base)?).ok()?;
            bytes.get_mut(from..from.checked_add(size)?)
        });
        found.ok_or(Fault { address, write })
    }
}

impl Memory for Regions {
    fn read(&mut self, address: u64, into: &mut [u8]) -> Result<(), Fault> {
        into.copy_from_slice(self.find(address, into.len(), false)?);
        Ok(())
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<(), Fault> {
        self.find(address, from.len(), true)?.copy_from_slice(from);
        Ok(())
    }

    fn share(&mut self) -> &mut [u8] {
        &mut self.share
    }
}

/// How large workgroups are, and the grid, in numbers of 16 and of 32 bits.
fn packet(groups: u32) -> Vec<u8> {
    let items = (WAVES * LANES) as u16;
    let sizes = [0, 0, items, 1, 1, 0].map(u16::to_le_bytes);
    let grid = [groups * u32::from(items), 1, 1].map(u32::to_le_bytes);
    let rest = [0; 40];
    [&sizes.concat(), &grid.concat(), &rest[..]].concat()
}

/// One wave of a workgroup at its kernel's beginning.
fn begin(kernel: &Kernel, group: u32, wave: usize) -> Wave {
    let mut state = Wave::new(CODE + kernel.entry);
    let mut next = 0;
    // The registers that a kernel can have, in the order in which they are there.
    for (bit, dwords) in [(0, 4), (1, 2), (2, 2), (3, 2), (4, 2), (5, 2), (6, 1)] {
        if (kernel.properties >> bit) & 1 == 0 {
            continue;
        }
        match bit {
            1 => state.set_scalar_pair(next, PACKET),
            3 => state.set_scalar_pair(next, ARGUMENTS),
            _ => (),
        }
        next += dwords;
    }
    for (has, number) in kernel.groups.into_iter().zip([group, 0, 0]) {
        if has {
            state.set_scalar(next, number);
            next += 1;
        }
    }
    for lane in 0..LANES {
        state.set_vector(0, lane, (wave * LANES + lane) as u32);
    }
    state.set_scalar_pair(102, SCRATCH + wave as u64 * BETWEEN);
    state.set_hardware(HardwareRegister::Mode, kernel.mode);
    state.set_hardware(HardwareRegister::MemoryBases, BASES);
    state
}

/// Lets the waves of a workgroup run, all to a barrier before one goes beyond it.
fn run_group(waves: &mut [Wave], memory: &mut Regions) -> Result<(), String> {
    let mut running = vec![true; waves.len()];
    while running.contains(&true) {
        for (wave, runs) in waves.iter_mut().zip(&mut running) {
            let mut steps = 0;
            while *runs {
                match recorded::step(wave, memory) {
                    Outcome::Next => (),
                    Outcome::Barrier => break,
                    Outcome::Ended => *runs = false,
                    outcome => return Err(format!("{outcome:x?} at {:x}", wave.pc - CODE)),
                }
                steps += 1;
                if steps == MOST_STEPS {
                    return Err(format!("no end after {steps} steps"));
                }
            }
        }
    }
    Ok(())
}

/// Runs a kernel with these buffers and a number as its arguments, and hands the
/// buffers back, or why a wave did not come to its end.
pub fn try_launch(
    object: &Object,
    name: &str,
    groups: u32,
    buffers: [Vec<u8>; 3],
    number: u32,
) -> Result<[Vec<u8>; 3], String> {
    let kernel = object.kernel(name);
    let places = [0, 1, 2].map(|at| BUFFERS + at * BETWEEN);
    let mut arguments: Vec<u8> = places.iter().flat_map(|at| at.to_le_bytes()).collect();
    arguments.extend(number.to_le_bytes());
    let mut regions = vec![(CODE, object.text.clone()), (ARGUMENTS, arguments)];
    regions.extend(places.into_iter().zip(buffers));
    regions.push((PACKET, packet(groups)));
    // A compiler that does not know how much a called function has says nothing of it.
    let scratch = (kernel.scratch + 4096) * LANES;
    for wave in 0..WAVES {
        regions.push((SCRATCH + wave as u64 * BETWEEN, vec![0; scratch]));
    }
    let mut memory = Regions {
        regions,
        share: Vec::new(),
    };
    for group in 0..groups {
        memory.share = vec![0xcc; kernel.share];
        let mut waves: Vec<Wave> = (0..WAVES).map(|at| begin(&kernel, group, at)).collect();
        run_group(&mut waves, &mut memory)?;
    }
    let mut buffers = memory.regions.into_iter().skip(2).map(|(_, bytes)| bytes);
    Ok([(); 3].map(|()| buffers.next().unwrap()))
}

/// The same for a kernel that does come to its end.
#[allow(dead_code)] // Random programs may not.
pub fn launch(
    object: &Object,
    name: &str,
    groups: u32,
    buffers: [Vec<u8>; 3],
    number: u32,
) -> [Vec<u8>; 3] {
    try_launch(object, name, groups, buffers, number).unwrap()
}
