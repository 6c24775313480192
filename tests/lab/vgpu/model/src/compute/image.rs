// SPDX-License-Identifier: GPL-2.0-only
//! The layout of what one die saves of a queue: the control stack, with the
//! dispatches in flight and one entry per wave, and one record per workgroup
//! at the start of its part of the wave state. Each carries a mark and a
//! checksum, so that lost or misplaced memory is noticed, and the time of the
//! save, so that what an earlier save left is.
//!
//! The space after a record stands for registers and local memory, which countable
//! work does not have, and is left untouched. Waves of machine code have no record:
//! their part of the wave state is what the trap handler makes of it, and the control
//! stack is AMD's, see `relaunch.rs`.

mod programs;

use super::dispatch::{Dispatch, Share};
use super::machine::{Group, Program, ScratchSlot};
use super::work::{Countable, Suspended, Work};
use crate::terms::GpuNanos;

/// Bytes of a workgroup's record.
pub const RECORD: usize = 48;

const HEADER: usize = 56;
const DISPATCH: usize = 88;
const WAVE_ENTRY: usize = 8;

/// Where parts of a dispatch's shape lie above the number of waves.
const VGPRS: u32 = 16;
const LDS: u32 = 32;
const DEMAND: u32 = 52;

/// In the place of a countable dispatch's counters, that it is a program.
const PROGRAM: u64 = u64::MAX;

const STACK_MARK: u64 = u64::from_le_bytes(*b"VGPUCTLS");
const RECORD_MARK: u64 = u64::from_le_bytes(*b"VGPUWAVE");

/// What is saved of one dispatch on one die.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    dispatch: Dispatch,
    share: Share,
    /// How many workgroup records follow, according to the control stack.
    count: u64,
    /// The waves of each workgroup with their scratch, if they execute machine code.
    waves: Vec<Vec<Option<ScratchSlot>>>,
}

impl Part {
    fn program(&self) -> Option<&Program> {
        match &self.dispatch.work {
            Work::Machine(program) => Some(program),
            Work::Countable(_) => None,
        }
    }

    /// The bytes that a workgroup takes of the wave state.
    fn bytes(&self, workgroup: usize) -> u64 {
        let footprint = self.dispatch.footprint();
        match self.waves.get(workgroup) {
            Some(waves) => Group::saved_bytes(waves.len() as u32, footprint.vgprs, footprint.lds),
            None => footprint.saved_bytes(),
        }
    }
}

/// Where the wave state has a workgroup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub part: usize,
    pub bytes: u64,
    /// The waves with their scratch, if they execute machine code.
    pub waves: Option<Vec<Option<ScratchSlot>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    die: u32,
    saved_at: GpuNanos,
    /// Number of the next packet to read.
    fetched: u64,
    parts: Vec<Part>,
}

/// FNV-1a, good enough to notice changed bytes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn word(bytes: &[u8], index: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[index * 8..index * 8 + 8]);
    u64::from_le_bytes(word)
}

fn push(bytes: &mut Vec<u8>, words: &[u64]) {
    for word in words {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

impl Image {
    /// What a die must save, or none if the queue has nothing in flight.
    pub fn of(
        dispatches: &[Dispatch],
        die: u32,
        fetched: u64,
        saved_at: GpuNanos,
    ) -> Option<Image> {
        if dispatches.is_empty() {
            return None;
        }
        let parts = dispatches
            .iter()
            .map(|dispatch| {
                let share = dispatch.shares[die as usize].clone();
                let count = share.waiting.len() as u64;
                let groups = share.waiting.iter().filter_map(Suspended::group);
                let waves = groups.map(Group::slots).collect();
                let dispatch = Dispatch {
                    shares: Vec::new(),
                    ..dispatch.clone()
                };
                Part {
                    dispatch,
                    share,
                    count,
                    waves,
                }
            })
            .collect();
        Some(Image {
            die,
            saved_at,
            fetched,
            parts,
        })
    }

    /// The control stack's bytes, of a GPU with local memory in units of that size.
    pub fn stack(&self, granule: u32) -> Vec<u8> {
        let mut body = Vec::new();
        let mut waves = 0;
        for part in &self.parts {
            let (d, s) = (&part.dispatch, &part.share);
            let started = d.started.unwrap_or(GpuNanos::NEVER).0;
            let [counters, cost, demand] = match &d.work {
                Work::Countable(work) => work.to_words(),
                Work::Machine(_) => [PROGRAM, PROGRAM, 0],
            };
            let shape = u64::from(d.waves)
                | (u64::from(d.vgprs) << VGPRS)
                | (u64::from(d.lds) << LDS)
                | (demand << DEMAND);
            push(
                &mut body,
                &[
                    d.packet,
                    d.workgroups,
                    shape,
                    counters,
                    cost,
                    d.signal,
                    started,
                    s.next,
                    s.done,
                    s.total,
                    part.count,
                ],
            );
            waves += part.count * u64::from(d.waves);
        }
        if self.parts.iter().any(|part| part.program().is_some()) {
            // The waves have words of their own.
            waves = 0;
        }
        for wave in 0..waves {
            push(&mut body, &[wave]);
        }
        let mut stack = Vec::with_capacity(HEADER + body.len());
        let counts = self.parts.len() as u64 | (u64::from(self.die) << 32);
        push(
            &mut stack,
            &[
                STACK_MARK,
                counts,
                self.fetched,
                waves,
                body.len() as u64,
                self.saved_at.0,
            ],
        );
        let sum = checksum(&[stack.as_slice(), body.as_slice()].concat());
        push(&mut stack, &[sum]);
        stack.extend_from_slice(&body);
        self.with_programs(stack, granule)
    }

    /// Each workgroup's record and the bytes of its part of the wave state. One that
    /// executes machine code has no record.
    pub fn state(&self) -> Vec<(Vec<u8>, u64)> {
        let mut records = Vec::new();
        for part in &self.parts {
            for (index, work) in part.share.waiting.iter().enumerate() {
                let bytes = part.bytes(index);
                if work.group().is_some() {
                    records.push((Vec::new(), bytes));
                    continue;
                }
                let mut record = Vec::with_capacity(RECORD);
                push(
                    &mut record,
                    &[RECORD_MARK, part.dispatch.packet, self.saved_at.0],
                );
                push(&mut record, &work.to_words());
                let sum = checksum(&record);
                push(&mut record, &[sum]);
                records.push((record, bytes));
            }
        }
        records
    }

    /// Reads what the model itself has written.
    fn from_own(stack: &[u8]) -> Result<Image, &'static str> {
        if stack.len() < HEADER || word(stack, 0) != STACK_MARK {
            return Err("the control stack has no mark");
        }
        let body = &stack[HEADER..];
        if word(stack, 4) != body.len() as u64 {
            return Err("the control stack has the wrong length");
        }
        if word(stack, 6) != checksum(&[&stack[..HEADER - 8], body].concat()) {
            return Err("the control stack's checksum is wrong");
        }
        let count = (word(stack, 1) & 0xffff_ffff) as usize;
        let waves = word(stack, 3) as usize;
        if Some(body.len()) != parts_bytes(count, waves) {
            return Err("the control stack's counts are wrong");
        }
        let parts = body[..count * DISPATCH]
            .chunks_exact(DISPATCH)
            .map(|bytes| {
                let shape = word(bytes, 2);
                let started = GpuNanos(word(bytes, 6));
                Part {
                    dispatch: Dispatch {
                        packet: word(bytes, 0),
                        workgroups: word(bytes, 1),
                        waves: (shape & 0xffff) as u32,
                        vgprs: ((shape >> VGPRS) & 0xffff) as u32,
                        lds: ((shape >> LDS) & 0xf_ffff) as u32,
                        work: Work::Countable(Countable::from_words([
                            word(bytes, 3),
                            word(bytes, 4),
                            shape >> DEMAND,
                        ])),
                        signal: word(bytes, 5),
                        started: (started != GpuNanos::NEVER).then_some(started),
                        shares: Vec::new(),
                    },
                    share: Share {
                        next: word(bytes, 7),
                        done: word(bytes, 8),
                        total: word(bytes, 9),
                        ..Share::default()
                    },
                    count: word(bytes, 10),
                    waves: Vec::new(),
                }
            })
            .collect();
        Ok(Image {
            die: (word(stack, 1) >> 32) as u32,
            saved_at: GpuNanos(word(stack, 5)),
            fetched: word(stack, 2),
            parts,
        })
    }

    /// Where each workgroup is in the wave state, in their order there.
    pub fn places(&self) -> Vec<Place> {
        let parts = self.parts.iter().enumerate();
        parts
            .flat_map(|(index, part)| {
                (0..part.count as usize).map(move |workgroup| Place {
                    part: index,
                    bytes: part.bytes(workgroup),
                    waves: part.waves.get(workgroup).cloned(),
                })
            })
            .collect()
    }

    pub fn add_record(&mut self, part: usize, record: &[u8; RECORD]) -> Result<(), &'static str> {
        if word(record, 0) != RECORD_MARK {
            return Err("a workgroup's record has no mark");
        }
        if word(record, 5) != checksum(&record[..RECORD - 8]) {
            return Err("a workgroup's checksum is wrong");
        }
        if word(record, 2) != self.saved_at.0 {
            return Err("a workgroup's record is another save's");
        }
        let part = &mut self.parts[part];
        if word(record, 1) != part.dispatch.packet {
            return Err("a workgroup's record is another dispatch's");
        }
        let work = Suspended::from_words([word(record, 3), word(record, 4)]);
        part.share.waiting.push_back(work);
        Ok(())
    }

    pub fn workgroups(&self) -> u64 {
        self.parts.iter().map(|part| part.count).sum()
    }

    /// Number of the next packet to read.
    pub fn fetched(&self) -> u64 {
        self.fetched
    }

    /// Adds the work to what a queue has in flight, now that the die is loaded.
    pub fn give_to(self, dispatches: &mut Vec<Dispatch>, die: u32, shares: &[Share]) {
        for part in self.parts {
            let packet = part.dispatch.packet;
            let position = dispatches.iter().position(|d| d.packet == packet);
            let position = position.unwrap_or_else(|| {
                let at = dispatches.partition_point(|d| d.packet < packet);
                let shares = shares.to_vec();
                dispatches.insert(
                    at,
                    Dispatch {
                        shares,
                        ..part.dispatch
                    },
                );
                at
            });
            dispatches[position].shares[die as usize] = Share {
                present: true,
                ..part.share
            };
        }
    }
}

fn parts_bytes(dispatches: usize, waves: usize) -> Option<usize> {
    let dispatches = dispatches.checked_mul(DISPATCH)?;
    dispatches.checked_add(waves.checked_mul(WAVE_ENTRY)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let dispatch = Dispatch {
            packet: 7,
            workgroups: 100,
            waves: 4,
            vgprs: 64,
            lds: 1024,
            work: Work::Countable(Countable::from_words([0x1000, 500, 250])),
            signal: 0x2000,
            started: Some(GpuNanos(33)),
            shares: Vec::new(),
        };
        let waiting = [[3, 17], [9, u64::MAX]].map(Suspended::from_words);
        let share = Share {
            next: 50,
            done: 48,
            total: 100,
            waiting: waiting.into(),
            ..Share::default()
        };
        let second = Dispatch {
            packet: 8,
            started: None,
            ..dispatch.clone()
        };
        let idle = Share {
            total: 100,
            ..Share::default()
        };
        Image {
            die: 5,
            saved_at: GpuNanos(44),
            fetched: 9,
            parts: vec![
                Part {
                    dispatch,
                    share,
                    count: 2,
                    waves: Vec::new(),
                },
                Part {
                    dispatch: second,
                    share: idle,
                    count: 0,
                    waves: Vec::new(),
                },
            ],
        }
    }

    fn read(stack: &[u8], records: &[Vec<u8>]) -> Result<Image, &'static str> {
        let mut image = Image::from_stack(stack)?;
        for (place, record) in image.places().into_iter().zip(records) {
            image.add_record(place.part, record.as_slice().try_into().unwrap())?;
        }
        Ok(image)
    }

    #[test]
    fn what_was_written_is_read() {
        let image = image();
        let records: Vec<Vec<u8>> = image
            .state()
            .into_iter()
            .map(|(record, _)| record)
            .collect();
        assert_eq!(read(&image.stack(512), &records), Ok(image));
    }

    #[test]
    fn what_an_earlier_save_left_is_noticed() {
        let (mut earlier, image) = (image(), image());
        earlier.saved_at = GpuNanos(43);
        let records: Vec<Vec<u8>> = earlier
            .state()
            .into_iter()
            .map(|(record, _)| record)
            .collect();
        assert_eq!(
            read(&image.stack(512), &records),
            Err("a workgroup's record is another save's")
        );
    }

    #[test]
    fn every_changed_byte_is_noticed() {
        let image = image();
        let stack = image.stack(512);
        let records: Vec<Vec<u8>> = image
            .state()
            .into_iter()
            .map(|(record, _)| record)
            .collect();
        for at in 0..stack.len() {
            let mut bad = stack.clone();
            bad[at] ^= 0x10;
            assert!(
                read(&bad, &records).is_err(),
                "byte {at} of the control stack"
            );
        }
        for at in 0..RECORD {
            let mut bad = records.clone();
            bad[1][at] ^= 0x10;
            assert!(read(&stack, &bad).is_err(), "byte {at} of a record");
        }
        assert!(read(&stack[..stack.len() - 8], &records).is_err());
        assert!(read(&[], &records).is_err());
    }
}
