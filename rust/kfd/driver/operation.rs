// SPDX-License-Identifier: GPL-2.0-only

//! The driver's functions that are called by way of a pointer in its memory: each is
//! called only if the pointer leads to the beginning of the function of amdgpu that has
//! exactly the expected name, whose type was compared when the module was loaded.

#![forbid(unsafe_code)]

use crate::{
    driver::{driver, foreign::Foreign, gpu::Present, layout::*},
    kernel::compat::*,
};
use core::marker::PhantomData;
use kernel::sync::atomic::{Acquire, Atomic, Relaxed, Release};

/// A field of one of the driver's tables, and the function that it should point to.
pub(crate) struct Operation {
    at: OptionalOffset,
    name: &'static str,
    /// Where the function was found to be, which it is for as long as amdgpu is loaded:
    /// to ask for the name of an address takes a search through all of amdgpu's.
    known: Atomic<usize>,
    /// How often amdgpu had been let go of when it was found there.
    then: Atomic<u32>,
}

/// The function of an operation, for as long as the driver has the GPU in whose tables it
/// was found, and so is loaded.
///
/// # Invariants
///
/// It is the beginning of the operation's function of amdgpu.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    address: Foreign,
    _gpu: PhantomData<&'a Present<'a>>,
}

/// Names each operation once.
macro_rules! operations {
    ($($operation:ident = $at:expr, $name:literal;)*) => {
        $(pub(crate) static $operation: Operation = Operation {
            at: $at,
            name: $name,
            known: Atomic::new(0),
            then: Atomic::new(0),
        };)*
    };
}

operations! {
    UPDATE_QUEUE = DEVICE_QUEUE_MANAGER_OPS_UPDATE_QUEUE.optional(), "update_queue";
    LOAD_MQD = MQD_MANAGER_LOAD_MQD.optional(), "load_mqd_v9_4_3";
    DESTROY_MQD = MQD_MANAGER_DESTROY_MQD.optional(), "destroy_mqd_v9_4_3";
    HQD_DUMP = KFD2KGD_CALLS_HQD_DUMP.optional(), "kgd_gfx_v9_hqd_dump";
    HQD_LOAD = KFD2KGD_CALLS_HQD_LOAD.optional(), "kgd_gfx_v9_4_3_hqd_load";
    HQD_IS_OCCUPIED = KFD2KGD_CALLS_HQD_IS_OCCUPIED.optional(), "kgd_gfx_v9_hqd_is_occupied";
    GET_CU_OCCUPANCY = KFD2KGD_CALLS_GET_CU_OCCUPANCY.optional(), "kgd_gfx_v9_get_cu_occupancy";
    CHECK_PREEMPTION_FAILED = MQD_MANAGER_CHECK_PREEMPTION_FAILED, "check_preemption_failed_v9_4_3";
}

impl Operation {
    /// The function that a table of a GPU has for the operation, if it is the expected one.
    pub(crate) fn of<'a>(&self, table: Foreign, _gpu: &'a Present<'_>) -> Option<Function<'a>> {
        let function = table.pointer(self.at.get()?)?;
        let now = driver::times_let_go();
        // In this order: an address is stored before the number that makes it count.
        let then = self.then.load(Acquire);
        if then != now || self.known.load(Relaxed) != function.address() {
            if !is_function_of_amdgpu(function, self.name) {
                return None;
            }
            self.known.store(function.address(), Relaxed);
            self.then.store(now, Release);
        }
        // INVARIANT: Its name was compared, now or since amdgpu was last let go of.
        Some(Function {
            address: function,
            _gpu: PhantomData,
        })
    }
}

impl Function<'_> {
    /// The function as the shim takes it.
    pub(crate) fn as_ptr<T>(self) -> *mut T {
        self.address.as_ptr()
    }
}

/// Whether an address is the beginning of a function of amdgpu.
fn is_function_of_amdgpu(function: Foreign, name: &str) -> bool {
    let symbol = function.symbol();
    CStr::from_bytes_until_nul(&symbol)
        .ok()
        .and_then(|symbol| symbol.to_str().ok())
        .and_then(|symbol| symbol.strip_prefix(name))
        .is_some_and(|rest| rest.starts_with("+0x0/") && rest.ends_with(" [amdgpu]"))
}
