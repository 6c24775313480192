// SPDX-License-Identifier: GPL-2.0-only
// Written by scripts/build/bindings from bindings/shim.h.
use kernel::bindings::*;

pub const GP_SYMBOL_LEN: u32 = 256;
pub const GP_COMM_LEN: u32 = 16;
#[repr(C)]
#[derive(Default, Copy, Clone)]
pub struct gp_heard {
    pub calls: ffi::c_uint,
    pub creations: ffi::c_uint,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_alarm {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_bus_watch {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_sleep_watch {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_type_info {
    pub bytes: *const ffi::c_void,
    pub size: usize,
    pub copy: *mut ffi::c_void,
}
impl Default for gp_type_info {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Default, Copy, Clone)]
pub struct gp_occupancy {
    pub wave_count: ffi::c_uint,
    pub doorbell_offset: ffi::c_uint,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_file {
    pub show: ::core::option::Option<
        unsafe extern "C" fn(m: *mut seq_file, data: *mut ffi::c_void) -> ffi::c_int,
    >,
    pub data: *mut ffi::c_void,
}
impl Default for gp_file {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const gp_node_value_GP_NODE_VALUE_state: gp_node_value = 0;
pub const gp_node_value_GP_NODE_VALUE_gpu_id: gp_node_value = 1;
pub const gp_node_value_GP_NODE_VALUE_backend: gp_node_value = 2;
pub const gp_node_value_GP_NODE_VALUE_queues: gp_node_value = 3;
pub const gp_node_value_GP_NODE_VALUE_stopped: gp_node_value = 4;
pub const gp_node_value_GP_NODE_VALUE_passes: gp_node_value = 5;
pub const gp_node_value_GP_NODE_VALUE_inversions: gp_node_value = 6;
pub const gp_node_value_GP_NODE_VALUE_stops: gp_node_value = 7;
pub const gp_node_value_GP_NODE_VALUE_starts: gp_node_value = 8;
pub const gp_node_value_GP_NODE_VALUE_transactions: gp_node_value = 9;
pub const gp_node_value_GP_NODE_VALUE_failures: gp_node_value = 10;
pub const gp_node_value_GP_NODE_VALUE_healed: gp_node_value = 11;
pub const gp_node_value_GP_NODE_VALUE_exempt: gp_node_value = 12;
pub const gp_node_value_GP_NODE_VALUE_COUNT: gp_node_value = 13;
pub type gp_node_value = ffi::c_uint;
pub const gp_folder_kind_GP_FOLDER_GPU: gp_folder_kind = 0;
pub const gp_folder_kind_GP_FOLDER_NODE: gp_folder_kind = 1;
pub type gp_folder_kind = ffi::c_uint;
#[repr(C)]
#[derive(Default, Copy, Clone)]
pub struct gp_folder_ops {
    pub show: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut ffi::c_void,
            value: ffi::c_uint,
            page: *mut ffi::c_char,
        ) -> isize,
    >,
    pub store: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut ffi::c_void,
            value: ffi::c_uint,
            text: *const ffi::c_char,
            length: usize,
        ) -> ffi::c_int,
    >,
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_root_ops {
    pub change: ::core::option::Option<
        unsafe extern "C" fn(
            data: *mut ffi::c_void,
            add: bool,
            text: *const ffi::c_char,
            length: usize,
        ) -> ffi::c_int,
    >,
    pub data: *mut ffi::c_void,
}
impl Default for gp_root_ops {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_folder {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_root {
    _unused: [u8; 0],
}
#[repr(C)]
#[derive(Copy, Clone)]
pub struct gp_event {
    pub gpu_id: ffi::c_uint,
    pub node: ffi::c_uint,
    pub pid: ffi::c_int,
    pub queue_id: ffi::c_uint,
    pub prio: ffi::c_uint,
    pub eff_prio: ffi::c_uint,
    pub reason: *const ffi::c_char,
    pub age_ns: ffi::c_ulonglong,
}
impl Default for gp_event {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}
pub const gp_point_GP_POINT_INVERSION: gp_point = 0;
pub const gp_point_GP_POINT_STOP: gp_point = 1;
pub const gp_point_GP_POINT_START: gp_point = 2;
pub const gp_point_GP_POINT_FALLBACK: gp_point = 3;
pub type gp_point = ffi::c_uint;
unsafe extern "C" {
    pub fn gp_thread_start(
        body: ::core::option::Option<unsafe extern "C" fn(data: *mut ffi::c_void) -> ffi::c_int>,
        data: *mut ffi::c_void,
        name: *const ffi::c_char,
    ) -> *mut task_struct;
    pub fn gp_thread_stop(thread: *mut task_struct);
    pub fn gp_thread_should_stop() -> bool;
    pub fn gp_thread_prepare();
    pub fn gp_thread_yield();
    pub fn gp_thread_should_freeze() -> bool;
    pub fn gp_thread_freeze();
    pub fn gp_nice_raise() -> ffi::c_int;
    pub fn gp_nice_restore(nice: ffi::c_int);
    pub fn gp_preempt_disable();
    pub fn gp_preempt_enable();
    pub fn gp_alarm_create() -> *mut gp_alarm;
    pub fn gp_alarm_destroy(alarm: *mut gp_alarm);
    pub fn gp_alarm_set_node(alarm: *mut gp_alarm, node: ffi::c_ulong);
    pub fn gp_alarm_heard(alarm: *const gp_alarm) -> gp_heard;
    pub fn gp_call_all();
    pub fn gp_sleep(
        alarm: *mut gp_alarm,
        seen: gp_heard,
        deaf_ns: ffi::c_ulonglong,
        timeout_ns: ffi::c_ulonglong,
    );
    pub fn gp_creation_watch_start() -> ffi::c_int;
    pub fn gp_creation_watch_stop();
    pub fn gp_hint_device_start() -> ffi::c_int;
    pub fn gp_hint_device_stop();
    pub fn gp_hint_read(mm: *const mm_struct, number: *mut ffi::c_uint) -> bool;
    pub fn gp_settings_lock();
    pub fn gp_settings_unlock();
    pub fn gp_sleep_watch_start(
        event: ::core::option::Option<
            unsafe extern "C" fn(data: *mut ffi::c_void, asleep: bool) -> ffi::c_int,
        >,
        data: *mut ffi::c_void,
    ) -> *mut gp_sleep_watch;
    pub fn gp_sleep_watch_stop(watch: *mut gp_sleep_watch);
    pub fn gp_amdgpu_get() -> *mut device_driver;
    pub fn gp_amdgpu_hold(driver: *mut device_driver);
    pub fn gp_amdgpu_put(driver: *mut device_driver);
    pub fn gp_amdgpu_number(
        driver: *mut device_driver,
        name: *const ffi::c_char,
        value: *mut ffi::c_int,
    ) -> bool;
    pub fn gp_type_info_get(module: *const ffi::c_char, info: *mut gp_type_info) -> ffi::c_int;
    pub fn gp_type_info_put(info: *mut gp_type_info);
    pub fn gp_amdgpu_each(
        driver: *mut device_driver,
        found: ::core::option::Option<
            unsafe extern "C" fn(data: *mut ffi::c_void, device: *mut device),
        >,
        data: *mut ffi::c_void,
    ) -> ffi::c_int;
    pub fn gp_bus_watch_start(
        driver: *mut device_driver,
        event: ::core::option::Option<
            unsafe extern "C" fn(data: *mut ffi::c_void, device: *mut device, bound: bool),
        >,
        data: *mut ffi::c_void,
    ) -> *mut gp_bus_watch;
    pub fn gp_bus_watch_stop(watch: *mut gp_bus_watch);
    pub fn gp_device_get(device: *mut device);
    pub fn gp_device_put(device: *mut device);
    pub fn gp_device_data(device: *mut device) -> *mut ffi::c_void;
    pub fn gp_device_pci(device: *mut device) -> *mut ffi::c_void;
    pub fn gp_device_name(device: *mut device) -> *const ffi::c_char;
    pub fn gp_symbol_name(address: ffi::c_ulong, name: *mut ffi::c_char);
    pub fn gp_function_of_amdgpu(name: *const ffi::c_char) -> ffi::c_ulong;
    pub fn gp_hws_bind() -> ffi::c_int;
    pub fn gp_hws_unbind();
    pub fn gp_hws_lock_and_unmap(dqm: *mut ffi::c_void) -> ffi::c_int;
    pub fn gp_hws_map_and_unlock(dqm: *mut ffi::c_void) -> ffi::c_int;
    pub fn gp_direct_bind() -> ffi::c_int;
    pub fn gp_direct_unbind();
    pub fn gp_direct_configure(
        manager: *mut ffi::c_void,
        command: ffi::c_uint,
        value: ffi::c_uint,
    ) -> ffi::c_int;
    pub fn gp_direct_unmap(manager: *mut ffi::c_void, filter: ffi::c_uint) -> ffi::c_int;
    pub fn gp_direct_ask(
        manager: *mut ffi::c_void,
        fence: *mut ffi::c_ulonglong,
        address: ffi::c_ulonglong,
        before: ffi::c_ulonglong,
        after: ffi::c_ulonglong,
    ) -> ffi::c_int;
    pub fn gp_direct_wait(
        dqm: *mut ffi::c_void,
        after: ffi::c_ulonglong,
        timeout_ms: ffi::c_uint,
    ) -> ffi::c_int;
    pub fn gp_direct_release(manager: *mut ffi::c_void);
    pub fn gp_mutex_bytes() -> ffi::c_uint;
    pub fn gp_rwsem_bytes() -> ffi::c_uint;
    pub fn gp_read_kernel(to: *mut ffi::c_void, from: *const ffi::c_void, size: usize) -> bool;
    pub fn gp_dqm_lock(lock: *mut mutex, saved_flags: *mut ffi::c_uint);
    pub fn gp_dqm_unlock(lock: *mut mutex, saved_flags: *mut ffi::c_uint);
    pub fn gp_mutex_lock(lock: *mut mutex);
    pub fn gp_mutex_unlock(lock: *mut mutex);
    pub fn gp_users_join(users: *mut ffi::c_void) -> bool;
    pub fn gp_users_leave(users: *mut ffi::c_void);
    pub fn gp_rwsem_read_trylock(lock: *mut rw_semaphore) -> bool;
    pub fn gp_rwsem_read_unlock(lock: *mut rw_semaphore);
    pub fn gp_free(memory: *mut ffi::c_void);
    pub fn gp_call_hqd_load(
        function: *mut ffi::c_void,
        adev: *mut ffi::c_void,
        mqd: *mut ffi::c_void,
        pipe: ffi::c_uint,
        queue: ffi::c_uint,
        write_pointer: ffi::c_ulonglong,
        shift: ffi::c_uint,
        xcc: ffi::c_uint,
    ) -> ffi::c_int;
    pub fn gp_call_load_mqd(
        function: *mut ffi::c_void,
        manager: *mut ffi::c_void,
        mqd: *mut ffi::c_void,
        pipe: ffi::c_uint,
        queue: ffi::c_uint,
        properties: *mut ffi::c_void,
        mm: *mut mm_struct,
    ) -> ffi::c_int;
    pub fn gp_call_check_preemption_failed(
        function: *mut ffi::c_void,
        manager: *mut ffi::c_void,
        mqd: *mut ffi::c_void,
    ) -> bool;
    pub fn gp_call_destroy_mqd(
        function: *mut ffi::c_void,
        manager: *mut ffi::c_void,
        mqd: *mut ffi::c_void,
        type_: ffi::c_uint,
        timeout_ms: ffi::c_uint,
        pipe: ffi::c_uint,
        queue: ffi::c_uint,
    ) -> ffi::c_int;
    pub fn gp_call_hqd_is_occupied(
        function: *mut ffi::c_void,
        adev: *mut ffi::c_void,
        address: ffi::c_ulonglong,
        pipe: ffi::c_uint,
        queue: ffi::c_uint,
        xcc: ffi::c_uint,
    ) -> bool;
    pub fn gp_call_cu_occupancy(
        function: *mut ffi::c_void,
        adev: *mut ffi::c_void,
        occupancy: *mut gp_occupancy,
        max_waves: *mut ffi::c_int,
        xcc: ffi::c_uint,
    );
    pub fn gp_call_hqd_dump(
        function: *mut ffi::c_void,
        adev: *mut ffi::c_void,
        pipe: ffi::c_uint,
        queue: ffi::c_uint,
        dump: *mut *mut [ffi::c_uint; 2usize],
        count: *mut ffi::c_uint,
        xcc: ffi::c_uint,
    ) -> ffi::c_int;
    pub fn gp_task_get(task: *mut task_struct);
    pub fn gp_task_put(task: *mut task_struct);
    pub fn gp_task_pid(task: *mut task_struct) -> ffi::c_int;
    pub fn gp_task_comm(task: *mut task_struct, comm: *mut ffi::c_char);
    pub fn gp_task_tenant(task: *mut task_struct) -> ffi::c_ulonglong;
    pub fn gp_task_cgroup(task: *mut task_struct) -> ffi::c_ulonglong;
    pub fn gp_task_cgroup_get(task: *mut task_struct) -> *mut cgroup;
    pub fn gp_task_began(task: *mut task_struct) -> ffi::c_ulonglong;
    pub fn gp_task_is_leaving(task: *mut task_struct) -> bool;
    pub fn gp_program_began(pid: ffi::c_int, began: *mut ffi::c_ulonglong) -> bool;
    pub fn gp_mm_put(mm: *mut mm_struct);
    pub fn gp_mm_handle_get(task: *mut task_struct, mm: *mut mm_struct) -> bool;
    pub fn gp_mm_handle_put(mm: *mut mm_struct);
    pub fn gp_mm_revive(mm: *mut mm_struct) -> bool;
    pub fn gp_mm_enter(mm: *mut mm_struct);
    pub fn gp_mm_leave(mm: *mut mm_struct);
    pub fn gp_read_user(to: *mut ffi::c_void, from: ffi::c_ulonglong, size: usize) -> bool;
    pub fn gp_cgroup_get(path: *const ffi::c_char) -> *mut cgroup;
    pub fn gp_cgroup_put(cgroup: *mut cgroup);
    pub fn gp_cgroup_id(cgroup: *mut cgroup) -> ffi::c_ulonglong;
    pub fn gp_cgroup_alive(cgroup: *mut cgroup) -> bool;
    pub fn gp_cgroup_holds(cgroup: *mut cgroup, other: *mut cgroup) -> bool;
    pub fn gp_debugfs_create(name: *const ffi::c_char) -> *mut dentry;
    pub fn gp_debugfs_remove(directory: *mut dentry);
    pub fn gp_debugfs_file(directory: *mut dentry, name: *const ffi::c_char, file: *mut gp_file);
    pub fn gp_root_create(name: *const ffi::c_char, ops: *mut gp_root_ops) -> *mut gp_root;
    pub fn gp_root_remove(root: *mut gp_root);
    pub fn gp_folder_create(
        root: *mut gp_root,
        parent: *mut gp_folder,
        name: *const ffi::c_char,
        kind: gp_folder_kind,
        ops: *const gp_folder_ops,
        data: *mut ffi::c_void,
    ) -> *mut gp_folder;
    pub fn gp_folder_remove(folder: *mut gp_folder);
    pub fn gp_trace(point: gp_point, event: *const gp_event);
}
