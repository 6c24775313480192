// SPDX-License-Identifier: GPL-2.0-only

//! The walk over a node's queues, on structures that are damaged in every way:
//! it always ends, never faults, and names what does not fit.

use crate::fake::layout::*;
use crate::fake::{failed, get, put, with_node, Fake, PROCESSES, QUEUES};
use kernel::prelude::*;

const P: usize = QUEUE_PROPERTIES;
const NEXT: usize = 0;

/// One way to damage the structures, and the words of the fault to be named.
struct Damage {
    what: &'static str,
    done: fn(&Fake),
    fault: &'static str,
}

macro_rules! damage {
    ($($what:literal, |$fake:ident| $done:expr => $fault:literal;)*) => {
        &[$(Damage { what: $what, done: |$fake: &Fake| $done, fault: $fault },)*]
    };
}

/// The list entry in a structure, as the list's neighbours point to it.
fn entry(structure: *mut u8, offset: usize) -> *mut u8 {
    structure.wrapping_add(offset)
}

/// An address without memory.
const NOWHERE: usize = 0xffff_8fff_dead_0000;

const DAMAGED_LISTS: &[Damage] = damage! {
    "the first queue points to itself",
        |f| put(f.processes[0].queues[0], QUEUE_LIST + NEXT, entry(f.processes[0].queues[0], QUEUE_LIST))
        => "a list that goes round in circles";
    "the queues form a ring without the head",
        |f| put(f.processes[1].queues[2], QUEUE_LIST + NEXT, entry(f.processes[1].queues[1], QUEUE_LIST))
        => "a list that goes round in circles";
    "the first process points to itself",
        |f| put(f.processes[0].entry, DEVICE_PROCESS_NODE_LIST + NEXT,
            entry(f.processes[0].entry, DEVICE_PROCESS_NODE_LIST))
        => "a list that goes round in circles";
    "the last queue of a process points into the other process's list",
        |f| put(f.processes[0].queues[2], QUEUE_LIST + NEXT, entry(f.processes[1].queues[0], QUEUE_LIST))
        => "queue->process is another process";
    "a queue's next is null",
        |f| put(f.processes[0].queues[1], QUEUE_LIST + NEXT, 0usize) => "memory that cannot be read";
    "a queue's next is poison",
        |f| put(f.processes[0].queues[1], QUEUE_LIST + NEXT, 0xdead_0000_0000_0100usize)
        => "memory that cannot be read";
    "a queue's next is nowhere",
        |f| put(f.processes[0].queues[1], QUEUE_LIST + NEXT, NOWHERE) => "memory that cannot be read";
    "a queue's next is a small number",
        |f| put(f.processes[0].queues[1], QUEUE_LIST + NEXT, 8usize) => "memory that cannot be read";
    "the head of the queues is null",
        |f| put(f.processes[0].qpd, QCM_PROCESS_DEVICE_QUEUES_LIST + NEXT, 0usize)
        => "memory that cannot be read";
    "a process's next is null",
        |f| put(f.processes[0].entry, DEVICE_PROCESS_NODE_LIST + NEXT, 0usize)
        => "memory that cannot be read";
    "a process's next is nowhere",
        |f| put(f.processes[1].entry, DEVICE_PROCESS_NODE_LIST + NEXT, NOWHERE)
        => "memory that cannot be read";
    "the head of the processes is null",
        |f| put(f.dqm, DEVICE_QUEUE_MANAGER_QUEUES + NEXT, 0usize) => "memory that cannot be read";
    "the head of the processes is nowhere",
        |f| put(f.dqm, DEVICE_QUEUE_MANAGER_QUEUES + NEXT, NOWHERE) => "memory that cannot be read";
    "a process's qpd is null",
        |f| put(f.processes[0].entry, DEVICE_PROCESS_NODE_QPD, 0usize) => "memory that cannot be read";
    "a process's qpd is nowhere",
        |f| put(f.processes[0].entry, DEVICE_PROCESS_NODE_QPD, NOWHERE) => "memory that cannot be read";
};

const DAMAGED_FIELDS: &[Damage] = damage! {
    "qpd->dqm", |f| put(f.processes[0].qpd, QCM_PROCESS_DEVICE_DQM, f.node)
        => "qpd->dqm is another queue manager";
    "qpd->pqm->process", |f| put(f.processes[0].pqm, PROCESS_QUEUE_MANAGER_PROCESS, f.node)
        => "qpd->pqm->process is another process";
    "qpd->pqm", |f| put(f.processes[0].qpd, QCM_PROCESS_DEVICE_PQM, 0usize)
        => "memory that cannot be read";
    "pdd->dev", |f| put(f.processes[1].pdd, KFD_PROCESS_DEVICE_DEV, f.kfd)
        => "pdd->dev is another node";
    "pdd->process", |f| put(f.processes[1].pdd, KFD_PROCESS_DEVICE_PROCESS, f.processes[0].process)
        => "queue->process is another process";
    "process->lead_thread", |f| put(f.processes[1].process, KFD_PROCESS_LEAD_THREAD, 0usize)
        => "memory that cannot be read";
    "queue->device", |f| put(f.processes[0].queues[0], QUEUE_DEVICE, f.kfd)
        => "queue->device is another node";
    "queue->process", |f| put(f.processes[0].queues[0], QUEUE_PROCESS, f.processes[1].process)
        => "queue->process is another process";
    "qpd->queue_count", |f| put(f.processes[0].qpd, QCM_PROCESS_DEVICE_QUEUE_COUNT, 4u32)
        => "qpd->queue_count is not the length of its list";
    "active_queue_count too large", |f| put(f.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 7u32)
        => "active_queue_count is not the number of active queues";
    "active_queue_count too small", |f| put(f.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 5u32)
        => "active_queue_count is not the number of active queues";
    "active_queue_count below what there is",
        |f| put(f.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 5u32)
        => "the driver counts less than there is in its lists";
    "active_queue_count below zero", |f| put(f.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, u32::MAX)
        => "active_queue_count is not the number of active queues";
    "active_cp_queue_count", |f| put(f.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, 5u32)
        => "active_cp_queue_count is not the number of active compute queues";
    "processes_count", |f| put(f.dqm, DEVICE_QUEUE_MANAGER_PROCESSES_COUNT, 1u32)
        => "processes_count is not the number of processes";
    "total_queue_count", |f| put(f.dqm, DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, 5u32)
        => "total_queue_count is not the number of queues";
    "is_active behind the counters' back",
        |f| put(f.processes[1].queues[1], P + QUEUE_PROPERTIES_IS_ACTIVE, 0u8)
        => "active_queue_count is not the number of active queues";
};

fn each_is_named(damages: &[Damage]) -> Result {
    for damage in damages {
        with_node(|node| {
            (damage.done)(&Fake::now());
            let census = node.lock().census();
            if census.fits() {
                return failed(fmt!("{}: everything seems to fit", damage.what));
            }
            if !census.faults().any(|fault| fault == damage.fault) {
                for fault in census.faults() {
                    kernel::kunit::err(fmt!("    # {}: {fault}\n", damage.what));
                }
                return failed(fmt!("{}: expected is '{}'", damage.what, damage.fault));
            }
            Ok(())
        })?;
    }
    Ok(())
}

#[kunit_tests(amd_gpreempt_walk)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_node_fits() -> Result {
        with_node(|node| {
            let census = node.lock().census();
            if let Some(fault) = census.faults().next() {
                return failed(fmt!("{fault}"));
            }
            let found = (
                census.processes,
                census.queues,
                census.active,
                census.active_compute,
            );
            match found {
                (2, 6, 6, 4) => Ok(()),
                found => failed(fmt!("{found:?}")),
            }
        })
    }

    #[test]
    fn a_node_without_processes_fits() -> Result {
        with_node(|node| {
            let dqm = Fake::now().dqm;
            let head = entry(dqm, DEVICE_QUEUE_MANAGER_QUEUES);
            put(head, NEXT, head);
            for count in [
                DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
                DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT,
                DEVICE_QUEUE_MANAGER_PROCESSES_COUNT,
                DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT,
            ] {
                put(dqm, count, 0u32);
            }
            if node.lock().census().fits() {
                Ok(())
            } else {
                failed(fmt!("an empty node does not fit"))
            }
        })
    }

    /// An administrator may have the driver make more queues than it does by itself.
    #[test]
    fn a_node_with_very_many_queues_fits() -> Result {
        with_node(|node| {
            Fake::add_processes(2, 17_000)?;
            let census = node.lock().census();
            match census.fits() {
                true => Ok(()),
                false => failed(fmt!("{census:?}")),
            }
        })
    }

    #[test]
    fn a_ring_is_named_where_the_counters_are_damaged_too() -> Result {
        with_node(|node| {
            let fake = Fake::now();
            let queue = fake.processes[0].queues[0];
            put(queue, QUEUE_LIST + NEXT, entry(queue, QUEUE_LIST));
            put(fake.dqm, DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT, u32::MAX);
            let census = node.lock().census();
            let mut faults = census.faults();
            match faults.any(|fault| fault == "a list that goes round in circles") {
                true => Ok(()),
                false => failed(fmt!("{census:?}")),
            }
        })
    }

    #[test]
    fn damaged_lists_are_named() -> Result {
        each_is_named(DAMAGED_LISTS)
    }

    #[test]
    fn damaged_fields_are_named() -> Result {
        each_is_named(DAMAGED_FIELDS)
    }

    #[test]
    fn every_fault_has_its_damage() -> Result {
        for (_, fault) in kfd::driver::census::Census::FAULTS {
            let mut provoked = [DAMAGED_LISTS, DAMAGED_FIELDS].into_iter().flatten();
            if !provoked.any(|damage| damage.fault == *fault) {
                return failed(fmt!("nothing provokes '{fault}'"));
            }
        }
        Ok(())
    }

    /// Any pointer of any structure may be anything.
    #[test]
    fn no_pointer_makes_the_walk_fault() -> Result {
        let pointers = |fake: &Fake| {
            let [p, _] = fake.processes;
            [
                (fake.dqm, DEVICE_QUEUE_MANAGER_QUEUES),
                (p.entry, DEVICE_PROCESS_NODE_LIST),
                (p.entry, DEVICE_PROCESS_NODE_QPD),
                (p.qpd, QCM_PROCESS_DEVICE_DQM),
                (p.qpd, QCM_PROCESS_DEVICE_PQM),
                (p.qpd, QCM_PROCESS_DEVICE_QUEUES_LIST),
                (p.qpd, QCM_PROCESS_DEVICE_PRIV_QUEUE_LIST),
                (p.pqm, PROCESS_QUEUE_MANAGER_PROCESS),
                (p.pdd, KFD_PROCESS_DEVICE_DEV),
                (p.pdd, KFD_PROCESS_DEVICE_PROCESS),
                (p.queues[0], QUEUE_LIST),
                (p.queues[0], QUEUE_DEVICE),
                (p.queues[0], QUEUE_PROCESS),
            ]
        };
        const VALUES: [usize; 9] = [
            0,
            1,
            8,
            0x1000,
            0x7fff_ffff_f000,
            0x8000_0000_0000_0000,
            NOWHERE,
            0xdead_0000_0000_0100,
            usize::MAX,
        ];
        for number in 0..pointers(&Fake::now()).len() {
            for value in VALUES {
                with_node(|node| {
                    let (structure, offset) = pointers(&Fake::now())[number];
                    put(structure, offset, value);
                    let census = node.lock().census();
                    if census.fits() {
                        return failed(fmt!("pointer {number} as {value:#x} seems to fit"));
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    #[test]
    fn a_queue_of_the_kernels_in_a_process_is_counted() -> Result {
        with_node(|node| {
            let Fake { dqm, processes, .. } = Fake::now();
            let head = processes[0].qpd as usize + QCM_PROCESS_DEVICE_PRIV_QUEUE_LIST;
            // What leads to the next one and to the one before.
            let entry = KBox::new([head; 2], GFP_KERNEL)?;
            let at = core::ptr::from_ref(&*entry) as usize;
            for place in [0, size_of::<usize>()] {
                put(
                    processes[0].qpd,
                    QCM_PROCESS_DEVICE_PRIV_QUEUE_LIST + place,
                    at,
                );
            }
            for counter in [
                DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT,
                DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT,
                DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT,
            ] {
                put(dqm, counter, get::<u32>(dqm, counter) + 1);
            }
            let census = node.lock().census();
            match census.fits() {
                true => Ok(()),
                false => failed(fmt!("{census:?}")),
            }
        })
    }

    #[test]
    fn inactive_queues_are_told_apart() -> Result {
        with_node(|node| {
            let fake = Fake::now();
            for process in 0..PROCESSES {
                for queue in 0..QUEUES {
                    let queue = fake.processes[process].queues[queue];
                    put(queue, P + QUEUE_PROPERTIES_IS_ACTIVE, 0u8);
                }
            }
            put(fake.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_QUEUE_COUNT, 0u32);
            put(fake.dqm, DEVICE_QUEUE_MANAGER_ACTIVE_CP_QUEUE_COUNT, 0u32);
            let census = node.lock().census();
            let counted: u32 = get(fake.dqm, DEVICE_QUEUE_MANAGER_TOTAL_QUEUE_COUNT);
            if census.fits() && census.active == 0 && census.queues == counted {
                Ok(())
            } else {
                failed(fmt!("{census:?}"))
            }
        })
    }
}
