// SPDX-License-Identifier: GPL-2.0-only
//! Taking a runlist: a buffer of MAP_PROCESS packets, each followed by the
//! MAP_QUEUES of its queues.

use super::{Hws, Listed, Process, Taken, ALL_DIES};
use crate::engines::Engines;
use crate::layout::pm4::{self as packet, opcode, Header};
use crate::memory::{MemoryFault, Space};
use crate::preempt;
use crate::terms::{Exit, HiqAction, Moment, WaveSettings};

struct Parsed {
    processes: Vec<Process>,
    listed: Vec<Listed>,
    /// The list ends with a jump to itself, by which the driver says that not
    /// all of it fits.
    chained: bool,
}

impl Hws {
    pub(super) fn run_list(
        &mut self,
        engines: &mut Engines,
        packet: &packet::RunList<'_>,
    ) -> Taken {
        let parsed = match parse(engines, packet.address(), packet.dwords()) {
            Ok(parsed) => parsed,
            Err(fault) => {
                engines.bus.note(format!("runlist: {fault}"));
                return Taken::Done;
            }
        };
        let now = engines.bus.now();
        let record = engines.bus.accounts.hiq_fetched(
            now,
            HiqAction::RunList {
                processes: parsed.processes.len() as u32,
                queues: parsed.listed.len() as u32,
                chained: parsed.chained,
            },
        );
        engines.bus.reach(Moment::Map, record);
        // Queues that are still mapped are unmapped first.
        let mapped = self.mapped_queues(&engines.queues, |queue| !queue.is_static());
        self.processes = parsed.processes;
        self.listed = parsed.listed;
        self.adopt_mapped(engines);
        self.concurrent = packet.processes();
        self.cursor = 0;
        for key in &mapped {
            preempt::begin_exit(engines, *key, Exit::Save, ALL_DIES);
        }
        let to_map = self.choose_queues(engines, &[]);
        let to_map = to_map.into_iter().filter(|index| {
            // A static queue that stayed is not mapped again.
            let key = self.listed[*index].key;
            key.is_none_or(|key| mapped.contains(&key))
        });
        let to_map = to_map.collect();
        self.begin_operation(engines, Some(record), mapped, to_map);
        Taken::Started
    }

    /// Connects the new list with the queues that are mapped already.
    fn adopt_mapped(&mut self, engines: &Engines) {
        let first = self.first;
        for listed in &mut self.listed {
            let pasid = self.processes[listed.process].pasid;
            listed.key = engines.queues.find(|queue| {
                queue.is_mapped_by(first)
                    && queue.pasid() == pasid
                    && queue.doorbell() == Some(listed.doorbell)
                    && queue.descriptor() == Some(listed.descriptor)
            });
        }
    }
}

/// Reads the list from memory and notes what it cannot use.
fn parse(engines: &mut Engines, address: u64, dwords: u32) -> Result<Parsed, MemoryFault> {
    let mut parsed = Parsed {
        processes: Vec::new(),
        listed: Vec::new(),
        chained: false,
    };
    let word = |index: u32| {
        engines
            .bus
            .memory
            .read_u32(Space::Kernel, address.wrapping_add(u64::from(index) * 4))
    };
    let mut unknown = Vec::new();
    let mut index = 0;
    while index < dwords {
        let (opcode, length) = match packet::header(word(index)?) {
            Header::Filler => {
                index += 1;
                continue;
            }
            Header::Packet { opcode, body } if body < dwords - index => (opcode, body),
            _ => {
                unknown.push(format!("runlist: bad header at dword {index}"));
                break;
            }
        };
        let body: Vec<u32> = (1..=length)
            .map(|step| word(index + step))
            .collect::<Result<_, _>>()?;
        index += length + 1;
        match opcode {
            opcode::MAP_PROCESS => {
                let packet = packet::MapProcess(&body);
                parsed.processes.push(Process {
                    pasid: packet.pasid(),
                    root: packet.page_table(),
                    quantum: packet.quantum(),
                    settings: WaveSettings::new(
                        [packet.memory_config(), packet.memory_bases()],
                        packet.trap_handler(),
                        packet.trap_memory(),
                    ),
                });
            }
            opcode::MAP_QUEUES => {
                let packet = packet::MapQueues(&body);
                let process = parsed.processes.len().checked_sub(1);
                match (process, packet.runlist_engine()) {
                    (Some(process), Some(engine)) => parsed.listed.push(Listed {
                        process,
                        engine,
                        descriptor: packet.mqd(),
                        write_address: packet.write_address(),
                        doorbell: packet.doorbell(),
                        is_static: packet.is_static(),
                        key: None,
                    }),
                    _ => unknown.push(format!("runlist: MAP_QUEUES {body:x?} ignored")),
                }
            }
            opcode::RUN_LIST => parsed.chained = packet::RunList(&body).is_chain(),
            other => unknown.push(format!("runlist: packet {other:#x} ignored")),
        }
    }
    for text in unknown {
        engines.bus.note(text);
    }
    Ok(parsed)
}
