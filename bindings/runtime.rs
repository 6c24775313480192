// SPDX-License-Identifier: GPL-2.0-only
// Written by scripts/build/bindings from bindings/runtime.h.

#[repr(C)]
#[derive(Default, Copy, Clone)]
pub struct gp_rt_mutex {
    pub space: [ffi::c_ulonglong; 24usize],
}
#[repr(C)]
#[derive(Default, Copy, Clone)]
pub struct gp_rt_key {
    pub space: [ffi::c_ulonglong; 8usize],
}
unsafe extern "C" {
    pub fn gp_rt_alloc(size: usize, contiguous: bool) -> *mut ffi::c_void;
    pub fn gp_rt_free(memory: *mut ffi::c_void);
    pub fn gp_rt_print(level: ffi::c_uchar, text: *const ffi::c_char, length: usize);
    pub fn gp_rt_seq_write(file: *mut seq_file, text: *const ffi::c_char, length: usize);
    pub fn gp_rt_mutex_init(mutex: *mut gp_rt_mutex, name: *const ffi::c_char, key: *mut gp_rt_key);
    pub fn gp_rt_mutex_lock(mutex: *mut gp_rt_mutex);
    pub fn gp_rt_mutex_unlock(mutex: *mut gp_rt_mutex);
    pub fn gp_rt_sleep(us: ffi::c_ulonglong);
    pub fn gp_rt_bug();
}
