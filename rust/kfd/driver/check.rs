// SPDX-License-Identifier: GPL-2.0-only

//! The check of a node before it is first touched: whether it is hardware that
//! this module knows, and whether the driver's memory is laid out as it was
//! built for. It only reads, by accesses that cannot fault.

#![forbid(unsafe_code)]

use crate::driver::{
    hardware_queue::manager,
    layout::*,
    node::{Node, SchedPolicy},
    operation,
    operation::Operation,
};

/// Why a node is not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is wrong, and what to do.
    pub why: &'static str,
}

/// One check: whether it passes, and what it means if it does not.
struct Check {
    passes: fn(&Node<'_>) -> bool,
    why: &'static str,
}

/// The checks that a node has to pass, in order.
const CHECKS: &[Check] = &[
    Check {
        passes: |node| node.sched_policy().is_some(),
        why: "the scheduling policy is none that is known: this module does not know this amdgpu",
    },
    Check {
        passes: |node| !scheduled_by_mes(node),
        why: "the GPU is scheduled by MES, which is not supported",
    },
    Check {
        passes: is_mi300,
        why: "the GPU is not of the MI300 series (GFX 9.4.3, 9.4.4 or 9.5.0)",
    },
    Check {
        passes: |node| node.kfd().flag(KFD_DEV_CWSR_ENABLED) == Some(true),
        why: "waves cannot be saved: load amdgpu with cwsr_enable=1",
    },
    Check {
        passes: |node| !node.gpu().is_virtual_function() || scheduled_by_firmware(node),
        why: "the GPU is an SR-IOV virtual function, where only the firmware may move queues: load amdgpu with sched_policy=0",
    },
    Check {
        passes: |node| operation::UPDATE_QUEUE.of(node.dqm(), node.gpu()).is_some(),
        why: "dqm->ops.update_queue is not amdgpu's: this module does not know this amdgpu",
    },
    Check {
        passes: |node| asks_hardware_by(node, &operation::GET_CU_OCCUPANCY),
        why: "kfd2kgd->get_cu_occupancy is not amdgpu's for this GPU: this module does not know this amdgpu",
    },
    Check {
        passes: |node| asks_hardware_by(node, &operation::HQD_DUMP),
        why: "kfd2kgd->hqd_dump is not amdgpu's for this GPU: this module does not know this amdgpu",
    },
    Check {
        passes: |node| asks_hardware_by(node, &operation::HQD_IS_OCCUPIED),
        why: "kfd2kgd->hqd_is_occupied is not amdgpu's for this GPU: this module does not know this amdgpu",
    },
    Check {
        passes: |node| asks_hardware_by(node, &operation::HQD_LOAD),
        why: "kfd2kgd->hqd_load is not amdgpu's for this GPU: this module does not know this amdgpu",
    },
    Check {
        passes: |node| moves_queues_by(node, &operation::LOAD_MQD),
        why: "mqd_mgr->load_mqd is not amdgpu's for this GPU: this module does not know this amdgpu",
    },
    Check {
        passes: |node| moves_queues_by(node, &operation::DESTROY_MQD),
        why: "mqd_mgr->destroy_mqd is not amdgpu's for this GPU: this module does not know this amdgpu",
    },
];

/// Whether the GPU's firmware maps queues from a list.
fn scheduled_by_firmware(node: &Node<'_>) -> bool {
    matches!(
        node.sched_policy(),
        Some(SchedPolicy::Hws | SchedPolicy::HwsNoOversubscription)
    )
}

/// Whether the GPU's firmware takes queues one by one.
fn scheduled_by_mes(node: &Node<'_>) -> bool {
    node.kfd().flag(KFD_DEV_SHARED_RESOURCES_ENABLE_MES) != Some(false)
}

/// Whether the GPU is of the generation that the driver can debug by address
/// space, which is what its function for the lock asks.
fn is_mi300(node: &Node<'_>) -> bool {
    const SUPPORTED: [u32; 2] = [90402, 90500];
    node.kfd()
        .read(KFD_DEV_DEVICE_INFO_GFX_TARGET_VERSION)
        .is_some_and(|version| SUPPORTED.contains(&version))
}

/// Whether the driver's debug_lock_and_unmap really takes the lock on this node.
/// On others it returns success without, or uses what was never set up.
pub(crate) fn lock_is_taken(node: &Node<'_>) -> bool {
    scheduled_by_firmware(node) && !scheduled_by_mes(node) && is_mi300(node)
}

/// Checks a node.
pub fn check(node: &Node<'_>) -> Result<(), Refusal> {
    for check in CHECKS {
        if !(check.passes)(node) {
            return Err(Refusal { why: check.why });
        }
    }
    Ok(())
}

/// Whether the driver asks this GPU by the expected function.
fn asks_hardware_by(node: &Node<'_>, operation: &Operation) -> bool {
    let calls = node.address().pointer(KFD_NODE_KFD2KGD);
    calls
        .and_then(|calls| operation.of(calls, node.gpu()))
        .is_some()
}

/// Whether the driver moves queues by the expected function, where it moves any.
fn moves_queues_by(node: &Node<'_>, operation: &Operation) -> bool {
    node.sched_policy() != Some(SchedPolicy::NoHws)
        || manager(node)
            .and_then(|manager| operation.of(manager, node.gpu()))
            .is_some()
}
