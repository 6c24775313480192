// SPDX-License-Identifier: GPL-2.0-only
//! Queue descriptors in memory (struct v9_mqd and v9_sdma_mqd of the driver),
//! by dword index.

/// From here on a descriptor's dwords are the slot's registers in order.
pub const REGISTERS: u64 = 128;

pub const STATIC_THREAD_MGMT: [u64; 4] = [23, 24, 26, 27];
pub const CURRENT_LOGIC_XCC: u64 = 39;
pub const TG_CHUNK_SIZE: u64 = 41;
pub const SAVE_END_TIME: u64 = 100;
pub const PQ_RPTR: u64 = 138;
/// Where the read pointer is stored for the owner.
pub const PQ_RPTR_REPORT: u64 = 139;
pub const HQD_ACTIVE: u64 = 130;
/// The buffer that a PM4 ring was in, and the dwords of it that are left.
pub const IB_BASE: u64 = 146;
pub const IB_RPTR: u64 = 148;
pub const PERSISTENT_STATE: u64 = 132;
pub const PIPE_PRIORITY: u64 = 133;
pub const CTX_SAVE_BASE: u64 = 171;
pub const CNTL_STACK_OFFSET: u64 = 174;
pub const CNTL_STACK_SIZE: u64 = 175;
pub const WG_STATE_OFFSET: u64 = 176;
pub const CTX_SAVE_SIZE: u64 = 177;
pub const AQL_CONTROL: u64 = 181;
pub const PQ_WPTR: u64 = 182;
/// Of a queue of PM4 packets, the die that reads them.
pub const PM4_TARGET_XCC: u64 = 225;
pub const STRIDE: u64 = 226;
/// In the scheduler's own descriptor: queues that did not yield.
pub const QUEUE_DOORBELL_ID: u64 = 240;
pub const QUEUE_DOORBELL_COUNT: u64 = 16;

/// The control stack lies one page behind the descriptor.
pub const CONTROL_STACK: u64 = 4096;

pub mod sdma {
    pub const RB_CNTL: u64 = 0;
    pub const RB_BASE: u64 = 1;
    pub const RB_RPTR: u64 = 3;
    pub const RB_RPTR_ADDR_HI: u64 = 8;
    pub const RB_RPTR_ADDR_LO: u64 = 9;
    pub const DOORBELL_OFFSET: u64 = 22;
    pub const UTILIZATION: u64 = 44;
}
