// SPDX-License-Identifier: GPL-2.0-only
//! The part of ROCr's C interface that the loads use, as libhsa-runtime64
//! exports it. Names and values are those of hsa.h and hsa_ext_amd.h.

use std::ffi::{c_char, c_int, c_void};

pub type Status = u32;
pub const STATUS_SUCCESS: Status = 0;

macro_rules! handle {
    ($name:ident) => {
        #[repr(C)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name {
            pub handle: u64,
        }
    };
}
handle!(Agent);
handle!(Signal);
handle!(MemoryPool);

/// `hsa_queue_t` of the small-model 64-bit ABI.
#[repr(C)]
pub struct Queue {
    pub queue_type: u32,
    pub features: u32,
    pub base_address: *mut c_void,
    pub doorbell_signal: Signal,
    pub size: u32,
    pub reserved: u32,
    pub id: u64,
}

/// `amd_signal_t`, which a signal's handle points to.
#[repr(C, align(64))]
pub struct AmdSignal {
    pub kind: i64,
    pub value: i64,
    pub event_mailbox: u64,
    pub event_id: u32,
    pub reserved1: u32,
    pub start_timestamp: u64,
    pub end_timestamp: u64,
    pub queue: u64,
    pub reserved2: [u32; 2],
}

/// `hsa_amd_event_t` of a memory fault, whose part is the larger one of the union.
#[repr(C)]
pub struct SystemEvent {
    pub kind: u32,
    pub agent: Agent,
    pub address: u64,
    pub reasons: u32,
}

const _: () = assert!(std::mem::offset_of!(SystemEvent, address) == 16);
const _: () = assert!(size_of::<Queue>() == 40);
const _: () = assert!(std::mem::offset_of!(Queue, id) == 32);
const _: () = assert!(size_of::<AmdSignal>() == 64);
const _: () = assert!(std::mem::offset_of!(AmdSignal, end_timestamp) == 40);

pub const AGENT_INFO_NAME: u32 = 0;
pub const AGENT_INFO_DEVICE: u32 = 17;
pub const DEVICE_TYPE_CPU: u32 = 0;
pub const DEVICE_TYPE_GPU: u32 = 1;
pub const AMD_AGENT_INFO_COMPUTE_UNIT_COUNT: u32 = 0xa002;
pub const AMD_AGENT_INFO_DRIVER_NODE_ID: u32 = 0xa004;
pub const AMD_AGENT_INFO_PRODUCT_NAME: u32 = 0xa009;
pub const AMD_AGENT_INFO_TIMESTAMP_FREQUENCY: u32 = 0xa016;
pub const AMD_AGENT_INFO_NUM_XCC: u32 = 0xa111;

pub const AMD_SEGMENT_GLOBAL: u32 = 0;
pub const AMD_MEMORY_POOL_INFO_SEGMENT: u32 = 0;
pub const AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS: u32 = 1;
pub const AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: u32 = 5;
pub const AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED: u32 = 2;

pub const QUEUE_TYPE_MULTI: u32 = 0;
pub const SIGNAL_CONDITION_LT: u32 = 2;
pub const WAIT_STATE_BLOCKED: u32 = 0;
pub const AMD_SIGNAL_KIND_USER: i64 = 1;

pub const GPU_MEMORY_FAULT_EVENT: u32 = 0;

pub type SystemEventCallback =
    unsafe extern "C" fn(event: *const SystemEvent, data: *mut c_void) -> Status;

pub type QueueErrorCallback =
    unsafe extern "C" fn(status: Status, source: *mut Queue, data: *mut c_void);

#[link(name = "hsa-runtime64")]
unsafe extern "C" {
    pub fn hsa_init() -> Status;
    pub fn hsa_shut_down() -> Status;
    pub fn hsa_status_string(status: Status, string: *mut *const c_char) -> Status;
    pub fn hsa_iterate_agents(
        callback: unsafe extern "C" fn(Agent, *mut c_void) -> Status,
        data: *mut c_void,
    ) -> Status;
    pub fn hsa_agent_get_info(agent: Agent, attribute: u32, value: *mut c_void) -> Status;
    pub fn hsa_queue_create(
        agent: Agent,
        size: u32,
        queue_type: u32,
        callback: Option<QueueErrorCallback>,
        data: *mut c_void,
        private_segment_size: u32,
        group_segment_size: u32,
        queue: *mut *mut Queue,
    ) -> Status;
    pub fn hsa_queue_destroy(queue: *mut Queue) -> Status;
    pub fn hsa_queue_load_read_index_scacquire(queue: *const Queue) -> u64;
    pub fn hsa_queue_load_write_index_relaxed(queue: *const Queue) -> u64;
    pub fn hsa_queue_add_write_index_relaxed(queue: *const Queue, value: u64) -> u64;
    pub fn hsa_signal_create(
        initial_value: i64,
        consumer_count: u32,
        consumers: *const Agent,
        signal: *mut Signal,
    ) -> Status;
    pub fn hsa_signal_destroy(signal: Signal) -> Status;
    pub fn hsa_signal_store_screlease(signal: Signal, value: i64);
    pub fn hsa_signal_load_scacquire(signal: Signal) -> i64;
    pub fn hsa_signal_wait_scacquire(
        signal: Signal,
        condition: u32,
        compare_value: i64,
        timeout_hint: u64,
        wait_state_hint: u32,
    ) -> i64;

    pub fn hsa_amd_register_system_event_handler(
        callback: SystemEventCallback,
        data: *mut c_void,
    ) -> Status;
    pub fn hsa_amd_agent_iterate_memory_pools(
        agent: Agent,
        callback: unsafe extern "C" fn(MemoryPool, *mut c_void) -> Status,
        data: *mut c_void,
    ) -> Status;
    pub fn hsa_amd_memory_pool_get_info(
        pool: MemoryPool,
        attribute: u32,
        value: *mut c_void,
    ) -> Status;
    pub fn hsa_amd_memory_pool_allocate(
        pool: MemoryPool,
        size: usize,
        flags: u32,
        pointer: *mut *mut c_void,
    ) -> Status;
    pub fn hsa_amd_memory_pool_free(pointer: *mut c_void) -> Status;
    pub fn hsa_amd_agents_allow_access(
        agent_count: u32,
        agents: *const Agent,
        flags: *const u32,
        pointer: *const c_void,
    ) -> Status;
    pub fn hsa_amd_memory_async_copy(
        destination: *mut c_void,
        destination_agent: Agent,
        source: *const c_void,
        source_agent: Agent,
        size: usize,
        dependency_count: u32,
        dependencies: *const Signal,
        completion: Signal,
    ) -> Status;
    pub fn hsa_amd_profiling_set_profiler_enabled(queue: *mut Queue, enable: c_int) -> Status;
    pub fn hsa_amd_memory_lock(
        host: *mut c_void,
        size: usize,
        agents: *const Agent,
        agent_count: c_int,
        agent_pointer: *mut *mut c_void,
    ) -> Status;
    pub fn hsa_amd_memory_unlock(host: *mut c_void) -> Status;
}
