// SPDX-License-Identifier: GPL-2.0-only
//! Safe types over ROCr: runtime, agents, memory, signals and queues.
//!
//! Everything handed out keeps the runtime alive, so that nothing is used after
//! `hsa_shut_down`.
#![allow(unsafe_code)]

mod ffi;
mod memory;
mod queue;
mod signal;
mod thunk;

pub use memory::{copy, Buffer, UserPages};
pub use queue::{Batch, Queue};
pub use signal::{SharedSignals, Signal};
pub use thunk::Pm4Queue;

use std::ffi::{c_void, CStr};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A status that ROCr returned, with the call that returned it.
#[derive(Debug, Clone)]
pub struct Error {
    call: &'static str,
    status: ffi::Status,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, status_text(self.status))
    }
}

fn status_text(status: ffi::Status) -> String {
    let mut text = std::ptr::null();
    // SAFETY: `text` is a valid place for the pointer, and ROCr's strings are static.
    let found = unsafe { ffi::hsa_status_string(status, &mut text) };
    if found != ffi::STATUS_SUCCESS || text.is_null() {
        return format!("status {status:#x}");
    }
    // SAFETY: on success ROCr stored a pointer to a static zero-terminated string.
    let text = unsafe { CStr::from_ptr(text) };
    format!("{} ({status:#x})", text.to_string_lossy())
}

pub type Result<T> = std::result::Result<T, Error>;

fn check(call: &'static str, status: ffi::Status) -> Result<()> {
    match status {
        ffi::STATUS_SUCCESS => Ok(()),
        _ => Err(Error { call, status }),
    }
}

/// What the runtime says about one GPU.
#[derive(Debug, Clone, serde::Serialize)]
pub struct GpuInfo {
    pub name: String,
    pub product: String,
    pub node: u32,
    pub compute_units: u32,
    pub xccs: u32,
    pub timestamp_frequency_hz: u64,
}

struct Gpu {
    agent: ffi::Agent,
    info: GpuInfo,
    memory: Option<ffi::MemoryPool>,
}

/// The initialised runtime with the agents it found.
pub struct Runtime {
    cpu: ffi::Agent,
    host_memory: ffi::MemoryPool,
    gpus: Vec<Gpu>,
}

/// Where a buffer's memory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    #[default]
    Host,
    Device,
}

/// What the GPU has told this process once it could not go on with any of its
/// queues. ROCr keeps its handler for as long as the process lives.
static EXCEPTION: OnceLock<String> = OnceLock::new();

/// Takes note of an exception, where ROCr would end the process.
unsafe extern "C" fn note_exception(event: *const ffi::SystemEvent, _: *mut c_void) -> ffi::Status {
    // SAFETY: ROCr lends an event for the call; only fields that its kind has are read.
    let text = match unsafe { (*event).kind } {
        ffi::GPU_MEMORY_FAULT_EVENT => {
            // SAFETY: as above.
            let (address, reasons) = unsafe { ((*event).address, (*event).reasons) };
            format!("memory fault at {address:#x} (reasons {reasons:#x})")
        }
        kind => format!("hardware exception (kind {kind})"),
    };
    // Only the first is told.
    let _ = EXCEPTION.set(text);
    ffi::STATUS_SUCCESS
}

impl Runtime {
    pub fn open() -> anyhow::Result<Arc<Self>> {
        // SAFETY: hsa_init may be called at any time and counts its callers.
        check("hsa_init", unsafe { ffi::hsa_init() }).map_err(|error| {
            anyhow::anyhow!("{error}: is amdgpu loaded, and is /dev/kfd there and writable?")
        })?;
        // A process that opens the runtime again has its handler already.
        // SAFETY: the handler is a function without data, and is there always.
        unsafe { ffi::hsa_amd_register_system_event_handler(note_exception, std::ptr::null_mut()) };
        Self::find_agents().inspect_err(|_| {
            // SAFETY: hsa_init above succeeded and nothing else of the runtime is alive.
            unsafe { ffi::hsa_shut_down() };
        })
    }

    fn find_agents() -> anyhow::Result<Arc<Self>> {
        let mut cpu = None;
        let mut gpus = Vec::new();
        for agent in agents()? {
            match agent_number(agent, ffi::AGENT_INFO_DEVICE)? {
                ffi::DEVICE_TYPE_CPU => cpu = cpu.or(Some(agent)),
                ffi::DEVICE_TYPE_GPU => gpus.push(Gpu {
                    agent,
                    info: gpu_info(agent)?,
                    memory: allocatable_pool(agent, 0)?,
                }),
                _ => {}
            }
        }
        let cpu = cpu.ok_or_else(|| anyhow::anyhow!("ROCr found no CPU agent"))?;
        anyhow::ensure!(
            !gpus.is_empty(),
            "ROCr found no GPU: look at dmesg for amdgpu's reason"
        );
        let host_memory = allocatable_pool(cpu, ffi::AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)?
            .ok_or_else(|| anyhow::anyhow!("ROCr offers no fine-grained host memory"))?;
        Ok(Arc::new(Self {
            cpu,
            host_memory,
            gpus,
        }))
    }

    /// The fault that stopped all queues of this process, if there was one.
    pub fn exception(&self) -> Option<&'static str> {
        EXCEPTION.get().map(String::as_str)
    }

    pub fn gpus(&self) -> impl Iterator<Item = &GpuInfo> {
        self.gpus.iter().map(|gpu| &gpu.info)
    }

    fn gpu(&self, index: usize) -> anyhow::Result<&Gpu> {
        self.gpus.get(index).ok_or_else(|| {
            anyhow::anyhow!("there is no GPU {index}: ROCr found {}", self.gpus.len())
        })
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // SAFETY: every object made from this runtime holds an Arc of it, so none is left.
        unsafe { ffi::hsa_shut_down() };
    }
}

fn agents() -> Result<Vec<ffi::Agent>> {
    unsafe extern "C" fn collect(agent: ffi::Agent, data: *mut c_void) -> ffi::Status {
        // SAFETY: `data` is the vector that the caller below lends for the iteration.
        unsafe { (*data.cast::<Vec<ffi::Agent>>()).push(agent) };
        ffi::STATUS_SUCCESS
    }
    let mut found = Vec::new();
    // SAFETY: `collect` matches the callback's type, and `found` outlives the call.
    let status = unsafe { ffi::hsa_iterate_agents(collect, (&raw mut found).cast()) };
    check("hsa_iterate_agents", status)?;
    Ok(found)
}

fn agent_number(agent: ffi::Agent, attribute: u32) -> Result<u32> {
    let mut value = 0u32;
    // SAFETY: the attributes asked for here are 32 bits wide.
    let status = unsafe { ffi::hsa_agent_get_info(agent, attribute, (&raw mut value).cast()) };
    check("hsa_agent_get_info", status)?;
    Ok(value)
}

fn agent_text(agent: ffi::Agent, attribute: u32) -> Result<String> {
    let mut text = [0u8; 64];
    // SAFETY: names and product names are at most 64 bytes.
    let status = unsafe { ffi::hsa_agent_get_info(agent, attribute, (&raw mut text).cast()) };
    check("hsa_agent_get_info", status)?;
    let end = text
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(text.len());
    Ok(String::from_utf8_lossy(&text[..end]).into_owned())
}

fn gpu_info(agent: ffi::Agent) -> Result<GpuInfo> {
    let mut frequency = 0u64;
    // SAFETY: the timestamp frequency is 64 bits wide.
    let status = unsafe {
        ffi::hsa_agent_get_info(
            agent,
            ffi::AMD_AGENT_INFO_TIMESTAMP_FREQUENCY,
            (&raw mut frequency).cast(),
        )
    };
    check("hsa_agent_get_info", status)?;
    Ok(GpuInfo {
        name: agent_text(agent, ffi::AGENT_INFO_NAME)?,
        product: agent_text(agent, ffi::AMD_AGENT_INFO_PRODUCT_NAME)?,
        node: agent_number(agent, ffi::AMD_AGENT_INFO_DRIVER_NODE_ID)?,
        compute_units: agent_number(agent, ffi::AMD_AGENT_INFO_COMPUTE_UNIT_COUNT)?,
        xccs: agent_number(agent, ffi::AMD_AGENT_INFO_NUM_XCC)?,
        timestamp_frequency_hz: frequency,
    })
}

fn pool_number(pool: ffi::MemoryPool, attribute: u32) -> Result<u32> {
    let mut value = 0u32;
    // SAFETY: the attributes asked for here are at most 32 bits wide.
    let status =
        unsafe { ffi::hsa_amd_memory_pool_get_info(pool, attribute, (&raw mut value).cast()) };
    check("hsa_amd_memory_pool_get_info", status)?;
    Ok(value)
}

/// The agent's first global pool that can be allocated from and has `flags`.
fn allocatable_pool(agent: ffi::Agent, flags: u32) -> Result<Option<ffi::MemoryPool>> {
    unsafe extern "C" fn collect(pool: ffi::MemoryPool, data: *mut c_void) -> ffi::Status {
        // SAFETY: `data` is the vector that the caller below lends for the iteration.
        unsafe { (*data.cast::<Vec<ffi::MemoryPool>>()).push(pool) };
        ffi::STATUS_SUCCESS
    }
    let mut pools = Vec::new();
    // SAFETY: `collect` matches the callback's type, and `pools` outlives the call.
    let status =
        unsafe { ffi::hsa_amd_agent_iterate_memory_pools(agent, collect, (&raw mut pools).cast()) };
    check("hsa_amd_agent_iterate_memory_pools", status)?;
    for pool in pools {
        let global =
            pool_number(pool, ffi::AMD_MEMORY_POOL_INFO_SEGMENT)? == ffi::AMD_SEGMENT_GLOBAL;
        if global
            && pool_number(pool, ffi::AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)? != 0
            && pool_number(pool, ffi::AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS)? & flags == flags
        {
            return Ok(Some(pool));
        }
    }
    Ok(None)
}
