// SPDX-License-Identifier: GPL-2.0-only

//! The self-check before a node is touched: with each single field wrong it
//! refuses, and says which.

use crate::fake::layout::*;
use crate::fake::{expect, failed, get, put, with_gpu, with_node, Fake};
use kernel::prelude::*;
use kfd::act::hws::Hws;
use kfd::driver::driver::Driver;
use kfd::driver::gpu::{Away, Present};

/// One wrong field, and a word of the refusal.
struct Wrong {
    what: &'static str,
    done: fn(&Fake),
    refusal: &'static str,
}

/// What the way from the device to its node makes of a wrong field.
struct Astray {
    what: &'static str,
    done: fn(&Fake),
    away: Away,
}

/// The table of what the driver asks the GPU by, and that of how it moves queues.
fn calls(fake: &Fake) -> *mut u8 {
    get(fake.node, KFD_NODE_KFD2KGD)
}

fn manager(fake: &Fake) -> *mut u8 {
    let at = KFD_MQD_TYPE_CP as usize * size_of::<usize>();
    get(fake.dqm, DEVICE_QUEUE_MANAGER_MQD_MGRS + at)
}

/// A pointer to the place right behind the beginning of a function.
fn enter_late(table: *mut u8, at: usize) {
    let function: usize = get(table, at);
    put(table, at, function + 1);
}

const UPDATE: usize = DEVICE_QUEUE_MANAGER_OPS_UPDATE_QUEUE;

const WRONG: &[Wrong] = &[
    Wrong {
        what: "an unknown scheduling policy",
        done: |f| put(f.dqm, DEVICE_QUEUE_MANAGER_SCHED_POLICY, 3u32),
        refusal: "scheduling policy is none that is known",
    },
    Wrong {
        what: "MES",
        done: |f| put(f.kfd, KFD_DEV_SHARED_RESOURCES_ENABLE_MES, 1u8),
        refusal: "MES",
    },
    Wrong {
        what: "another GPU",
        done: |f| put(f.kfd, KFD_DEV_DEVICE_INFO_GFX_TARGET_VERSION, 90010u32),
        refusal: "not of the MI300 series",
    },
    Wrong {
        what: "no wave saving",
        done: |f| put(f.kfd, KFD_DEV_CWSR_ENABLED, 0u8),
        refusal: "cwsr_enable",
    },
    Wrong {
        what: "a virtual function whose queues the driver moves",
        done: |f| {
            f.without_scheduler();
            put(f.adev, AMDGPU_DEVICE_VIRT_CAPS, 4u32);
        },
        refusal: "virtual function",
    },
    Wrong {
        what: "update_queue is null",
        done: |f| put(f.dqm, UPDATE, 0usize),
        refusal: "dqm->ops.update_queue",
    },
    Wrong {
        what: "update_queue is data",
        done: |f| put(f.dqm, UPDATE, f.node),
        refusal: "dqm->ops.update_queue",
    },
    Wrong {
        what: "update_queue is another function",
        done: |f| {
            let dump: usize = get(calls(f), KFD2KGD_CALLS_HQD_DUMP);
            put(f.dqm, UPDATE, dump);
        },
        refusal: "dqm->ops.update_queue",
    },
    Wrong {
        what: "update_queue is the middle of the function",
        done: |f| {
            let function: usize = get(f.dqm, UPDATE);
            put(f.dqm, UPDATE, function + 1);
        },
        refusal: "dqm->ops.update_queue",
    },
    Wrong {
        what: "get_cu_occupancy is another function",
        done: |f| {
            let dump: usize = get(calls(f), KFD2KGD_CALLS_HQD_DUMP);
            put(calls(f), KFD2KGD_CALLS_GET_CU_OCCUPANCY, dump);
        },
        refusal: "kfd2kgd->get_cu_occupancy",
    },
    Wrong {
        what: "hqd_dump is the middle of the function",
        done: |f| enter_late(calls(f), KFD2KGD_CALLS_HQD_DUMP),
        refusal: "kfd2kgd->hqd_dump",
    },
    Wrong {
        what: "hqd_is_occupied is null",
        done: |f| put(calls(f), KFD2KGD_CALLS_HQD_IS_OCCUPIED, 0usize),
        refusal: "kfd2kgd->hqd_is_occupied",
    },
    Wrong {
        what: "hqd_load is data",
        done: |f| put(calls(f), KFD2KGD_CALLS_HQD_LOAD, f.node),
        refusal: "kfd2kgd->hqd_load",
    },
    Wrong {
        what: "there are no functions for the GPU",
        done: |f| put(f.node, KFD_NODE_KFD2KGD, 0usize),
        refusal: "kfd2kgd->",
    },
    Wrong {
        what: "load_mqd is another function where the driver moves queues",
        done: |f| {
            f.without_scheduler();
            let destroy: usize = get(manager(f), MQD_MANAGER_DESTROY_MQD);
            put(manager(f), MQD_MANAGER_LOAD_MQD, destroy);
        },
        refusal: "mqd_mgr->load_mqd",
    },
    Wrong {
        what: "destroy_mqd is the middle of the function where the driver moves queues",
        done: |f| {
            f.without_scheduler();
            enter_late(manager(f), MQD_MANAGER_DESTROY_MQD);
        },
        refusal: "mqd_mgr->destroy_mqd",
    },
];

const ASTRAY: &[Astray] = &[
    Astray {
        what: "KFD is not set up",
        done: |f| put(f.adev, AMDGPU_DEVICE_KFD_INIT_COMPLETE, 0u8),
        away: Away::NoKfd,
    },
    Astray {
        what: "no struct kfd_dev",
        done: |f| put(f.adev, AMDGPU_DEVICE_KFD_DEV, 0usize),
        away: Away::NoKfd,
    },
    Astray {
        what: "kfd_dev is not complete",
        done: |f| put(f.kfd, KFD_DEV_INIT_COMPLETE, 0u8),
        away: Away::NoKfd,
    },
    Astray {
        what: "kfd->adev",
        done: |f| put(f.kfd, KFD_DEV_ADEV, f.node),
        away: Away::Misfit,
    },
    Astray {
        what: "no nodes",
        done: |f| put(f.kfd, KFD_DEV_NUM_NODES, 0u32),
        away: Away::Misfit,
    },
    Astray {
        what: "more nodes than there is room for",
        done: |f| put(f.kfd, KFD_DEV_NUM_NODES, 9u32),
        away: Away::Misfit,
    },
    Astray {
        what: "all ones as the number of nodes",
        done: |f| put(f.kfd, KFD_DEV_NUM_NODES, u32::MAX),
        away: Away::Misfit,
    },
    Astray {
        what: "the node is null",
        done: |f| put(f.kfd, KFD_DEV_NODES, 0usize),
        away: Away::Misfit,
    },
    Astray {
        what: "the node is nowhere",
        done: |f| put(f.kfd, KFD_DEV_NODES, 0xffff_8fff_dead_0000usize),
        away: Away::Misfit,
    },
    Astray {
        what: "node->node_id",
        done: |f| put(f.node, KFD_NODE_NODE_ID, 1u32),
        away: Away::Misfit,
    },
    Astray {
        what: "node->kfd",
        done: |f| put(f.node, KFD_NODE_KFD, f.adev),
        away: Away::Misfit,
    },
    Astray {
        what: "node->adev",
        done: |f| put(f.node, KFD_NODE_ADEV, f.kfd),
        away: Away::Misfit,
    },
    Astray {
        what: "node->dqm is null",
        done: |f| put(f.node, KFD_NODE_DQM, 0usize),
        away: Away::Misfit,
    },
    Astray {
        what: "dqm->dev",
        done: |f| put(f.dqm, DEVICE_QUEUE_MANAGER_DEV, f.kfd),
        away: Away::Misfit,
    },
];

/// Why a GPU's first node cannot be had, if so.
fn node_is_away(gpu: &Present<'_>) -> Option<Away> {
    match gpu.nodes() {
        Ok(nodes) => nodes.node(0).err(),
        Err(away) => Some(away),
    }
}

#[kunit_tests(amd_gpreempt_check)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_node_passes() -> Result {
        with_node(|node| match kfd::driver::check::check(node) {
            Ok(()) => Ok(()),
            Err(refusal) => failed(fmt!("{}", refusal.why)),
        })
    }

    /// Nobody else's resets: those of single rings put back none of KFD's queues.
    #[test]
    fn a_reset_is_what_kfd_counts_as_one() -> Result {
        with_node(|node| {
            for resets in [0, 1, u32::MAX] {
                put(Fake::now().node, KFD_NODE_RESET_SEQ_NUM, resets);
                expect(node.resets(), Some(resets))?;
            }
            Ok(())
        })
    }

    #[test]
    fn each_scheduling_policy_passes() -> Result {
        for policy in [
            KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION,
            KFD_SCHED_POLICY_NO_HWS,
        ] {
            with_node(|node| {
                let fake = Fake::now();
                put(fake.dqm, DEVICE_QUEUE_MANAGER_SCHED_POLICY, policy as u32);
                match kfd::driver::check::check(node) {
                    Ok(()) => Ok(()),
                    Err(refusal) => failed(fmt!("policy {policy}: {}", refusal.why)),
                }
            })?;
        }
        Ok(())
    }

    #[test]
    fn each_single_field_wrong_is_refused_by_name() -> Result {
        for wrong in WRONG {
            with_node(|node| {
                (wrong.done)(&Fake::now());
                match kfd::driver::check::check(node) {
                    Ok(()) => failed(fmt!("{}: it passes", wrong.what)),
                    Err(refusal) if !refusal.why.contains(wrong.refusal) => {
                        failed(fmt!("{}: {}", wrong.what, refusal.why))
                    }
                    Err(_) => Ok(()),
                }
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_virtual_function_passes_and_its_hardware_is_not_asked() -> Result {
        with_node(|node| {
            put(Fake::now().adev, AMDGPU_DEVICE_VIRT_CAPS, 4u32);
            expect(kfd::driver::check::check(node).is_ok(), true)?;
            expect(node.hardware_source(node.gpu()).is_some(), false)
        })
    }

    #[test]
    fn what_asks_the_hardware_is_not_called_by_another_function() -> Result {
        with_node(|node| {
            expect(node.hardware_source(node.gpu()).is_some(), true)?;
            enter_late(calls(&Fake::now()), KFD2KGD_CALLS_HQD_DUMP);
            expect(node.hardware_source(node.gpu()).is_some(), false)
        })
    }

    /// Which names stand for each other, whether the driver can be used, and whether
    /// `transaction=direct` can be.
    const EXCHANGED: [(&CStr, bool, bool); 4] = [
        // Names of nothing that is used.
        (c"kfd_mmap kfd_open", true, true),
        (c"queue_percent queue_address", false, false),
        (c"debug_map_and_unlock kfd_destroy_mqd_sdma", false, false),
        (c"pm_release_ib kfd_is_locked", true, false),
    ];

    #[test]
    fn a_driver_with_other_types_is_refused_for_what_needs_them() -> Result {
        for (names, usable, direct) in EXCHANGED {
            let driver =
                Fake::with_exchanged(names, || Driver::pin().and_then(Driver::learn_layout))?;
            let has_direct = match &driver {
                Ok(driver) => Hws::bind(driver)?.has_direct(),
                Err(_) => false,
            };
            if (driver.is_ok(), has_direct) != (usable, direct) {
                return failed(fmt!("{names:?}: {:?}, {has_direct}", driver.err()));
            }
        }
        Ok(())
    }

    #[test]
    fn each_step_to_the_node_is_checked() -> Result {
        for astray in ASTRAY {
            with_gpu(|gpu| {
                let gpu = gpu.ok_or(ENXIO)?;
                (astray.done)(&Fake::now());
                match node_is_away(gpu) {
                    Some(away) if away == astray.away => Ok(()),
                    other => failed(fmt!("{}: {other:?}", astray.what)),
                }
            })?;
        }
        Ok(())
    }

    #[test]
    fn a_node_beyond_the_last_is_refused() -> Result {
        with_gpu(|gpu| {
            let nodes = gpu.ok_or(ENXIO)?.nodes().map_err(|_| EIO)?;
            match (nodes.count(), nodes.node(1).err()) {
                (1, Some(Away::Misfit)) => Ok(()),
                other => failed(fmt!("{other:?}")),
            }
        })
    }

    #[test]
    fn a_gpu_without_partitions_has_no_lock_for_them() -> Result {
        with_gpu(|gpu| {
            put(Fake::now().adev, AMDGPU_DEVICE_XCP_MGR, 0usize);
            match node_is_away(gpu.ok_or(ENXIO)?) {
                None => Ok(()),
                away => failed(fmt!("{away:?}")),
            }
        })
    }

    /// How many users KFD counts, and whether a lock of the driver is held.
    fn keepers() -> (u32, bool) {
        let users = get(Fake::now().kfd, KFD_DEV_KFD_PROCESSES_COUNT);
        (users, Fake::locked())
    }

    #[test]
    fn the_nodes_are_kept_as_one_more_user_does_and_without_a_lock() -> Result {
        with_gpu(|gpu| {
            let (users, _) = keepers();
            let gpu = gpu.ok_or(ENXIO)?;
            let nodes = gpu.nodes().map_err(|_| EIO)?;
            expect(keepers(), (users + 1, false))?;
            let more = gpu.nodes().map_err(|_| EIO)?;
            expect(keepers(), (users + 2, false))?;
            drop((nodes, more));
            expect(keepers(), (users, false))
        })
    }

    #[test]
    fn the_nodes_that_nobody_uses_are_kept_by_the_lock() -> Result {
        with_gpu(|gpu| {
            put(Fake::now().kfd, KFD_DEV_KFD_PROCESSES_COUNT, 0u32);
            let nodes = gpu.ok_or(ENXIO)?.nodes().map_err(|_| EIO)?;
            expect(keepers(), (0, true))?;
            drop(nodes);
            expect(keepers(), (0, false))
        })
    }

    #[test]
    fn a_gpu_in_reset_or_suspend_is_not_usable() -> Result {
        let states: [(usize, Away); 3] = [
            (AMDGPU_DEVICE_SHUTDOWN, Away::NoAccess),
            (AMDGPU_DEVICE_IN_SUSPEND, Away::NoAccess),
            (AMDGPU_DEVICE_NO_HW_ACCESS, Away::NoAccess),
        ];
        for (field, away) in states {
            with_gpu(|gpu| {
                let gpu = gpu.ok_or(ENXIO)?;
                if gpu.usable().is_err() {
                    return failed(fmt!("the GPU should be usable"));
                }
                put(Fake::now().adev, field, 1u8);
                match gpu.usable().err() {
                    found if found == Some(away) => Ok(()),
                    found => failed(fmt!("{field:#x}: {found:?}")),
                }
            })?;
        }
        with_gpu(|gpu| {
            let domain = Fake::now().reset_domain;
            put(domain, AMDGPU_RESET_DOMAIN_IN_GPU_RESET, 1u32);
            match gpu.ok_or(ENXIO)?.usable().err() {
                Some(Away::Reset) => Ok(()),
                found => failed(fmt!("in reset: {found:?}")),
            }
        })
    }
}
