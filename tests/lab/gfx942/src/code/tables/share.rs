// SPDX-License-Identifier: GPL-2.0-only
//! Instructions that reach the local data share, and the global one.

use crate::code::operation::Operation;
use crate::code::table::*;

shapes! { DS:
    [address(B32), data0(B32)] {
        0x00 ds_add_u32, 0x01 ds_sub_u32, 0x02 ds_rsub_u32, 0x03 ds_inc_u32, 0x04 ds_dec_u32,
        0x05 ds_min_i32, 0x06 ds_max_i32, 0x07 ds_min_u32, 0x08 ds_max_u32, 0x09 ds_and_b32,
        0x0a ds_or_b32, 0x0b ds_xor_b32, 0x0d ds_write_b32, 0x12 ds_min_f32, 0x13 ds_max_f32,
        0x15 ds_add_f32, 0x17 ds_pk_add_f16, 0x18 ds_pk_add_bf16, 0x1e ds_write_b8,
        0x1f ds_write_b16, 0x54 ds_write_b8_d16_hi, 0x55 ds_write_b16_d16_hi,
    }
    [address(B32), data0(B32), data1(B32)] {
        0x0c ds_mskor_b32, 0x10 ds_cmpst_b32, 0x11 ds_cmpst_f32,
    }
    [address(B32), data0(B32), data1(B32)] two_offsets {
        0x0e ds_write2_b32, 0x0f ds_write2st64_b32,
    }
    [data0(B32)] {
        0x1d ds_write_addtid_b32,
    }
    [vdst(B32), address(B32), data0(B32)] {
        0x20 ds_add_rtn_u32, 0x21 ds_sub_rtn_u32, 0x22 ds_rsub_rtn_u32, 0x23 ds_inc_rtn_u32,
        0x24 ds_dec_rtn_u32, 0x25 ds_min_rtn_i32, 0x26 ds_max_rtn_i32, 0x27 ds_min_rtn_u32,
        0x28 ds_max_rtn_u32, 0x29 ds_and_rtn_b32, 0x2a ds_or_rtn_b32, 0x2b ds_xor_rtn_b32,
        0x2d ds_wrxchg_rtn_b32, 0x32 ds_min_rtn_f32, 0x33 ds_max_rtn_f32, 0x35 ds_add_rtn_f32,
        0x3e ds_permute_b32, 0x3f ds_bpermute_b32, 0xb7 ds_pk_add_rtn_f16, 0xb8 ds_pk_add_rtn_bf16,
    }
    [vdst(B32), address(B32), data0(B32), data1(B32)] {
        0x2c ds_mskor_rtn_b32, 0x30 ds_cmpst_rtn_b32, 0x31 ds_cmpst_rtn_f32, 0x34 ds_wrap_rtn_b32,
    }
    [vdst(B64), address(B32), data0(B32), data1(B32)] two_offsets {
        0x2e ds_wrxchg2_rtn_b32, 0x2f ds_wrxchg2st64_rtn_b32,
    }
    [vdst(B32), address(B32)] {
        0x36 ds_read_b32, 0x39 ds_read_i8, 0x3a ds_read_u8, 0x3b ds_read_i16, 0x3c ds_read_u16,
        0x3d ds_swizzle_b32, 0x56 ds_read_u8_d16, 0x57 ds_read_u8_d16_hi, 0x58 ds_read_i8_d16,
        0x59 ds_read_i8_d16_hi, 0x5a ds_read_u16_d16, 0x5b ds_read_u16_d16_hi,
    }
    [vdst(B64), address(B32)] two_offsets {
        0x37 ds_read2_b32, 0x38 ds_read2st64_b32,
    }
    [address(B32), data0(B64)] {
        0x40 ds_add_u64, 0x41 ds_sub_u64, 0x42 ds_rsub_u64, 0x43 ds_inc_u64, 0x44 ds_dec_u64,
        0x45 ds_min_i64, 0x46 ds_max_i64, 0x47 ds_min_u64, 0x48 ds_max_u64, 0x49 ds_and_b64,
        0x4a ds_or_b64, 0x4b ds_xor_b64, 0x4d ds_write_b64, 0x52 ds_min_f64, 0x53 ds_max_f64,
        0x5c ds_add_f64,
    }
    [address(B32), data0(B64), data1(B64)] {
        0x4c ds_mskor_b64, 0x50 ds_cmpst_b64, 0x51 ds_cmpst_f64,
    }
    [address(B32), data0(B64), data1(B64)] two_offsets {
        0x4e ds_write2_b64, 0x4f ds_write2st64_b64,
    }
    [vdst(B64), address(B32), data0(B64)] {
        0x60 ds_add_rtn_u64, 0x61 ds_sub_rtn_u64, 0x62 ds_rsub_rtn_u64, 0x63 ds_inc_rtn_u64,
        0x64 ds_dec_rtn_u64, 0x65 ds_min_rtn_i64, 0x66 ds_max_rtn_i64, 0x67 ds_min_rtn_u64,
        0x68 ds_max_rtn_u64, 0x69 ds_and_rtn_b64, 0x6a ds_or_rtn_b64, 0x6b ds_xor_rtn_b64,
        0x6d ds_wrxchg_rtn_b64, 0x72 ds_min_rtn_f64, 0x73 ds_max_rtn_f64, 0x7c ds_add_rtn_f64,
        0x7e ds_condxchg32_rtn_b64,
    }
    [vdst(B64), address(B32), data0(B64), data1(B64)] {
        0x6c ds_mskor_rtn_b64, 0x70 ds_cmpst_rtn_b64, 0x71 ds_cmpst_rtn_f64,
    }
    [vdst(B128), address(B32), data0(B64), data1(B64)] two_offsets {
        0x6e ds_wrxchg2_rtn_b64, 0x6f ds_wrxchg2st64_rtn_b64,
    }
    [vdst(B64), address(B32)] {
        0x76 ds_read_b64,
    }
    [vdst(B128), address(B32)] two_offsets {
        0x77 ds_read2_b64, 0x78 ds_read2st64_b64,
    }
    [] {
        0x14 ds_nop,
    }
    [] global_share {
        0x98 ds_gws_sema_release_all, 0x9a ds_gws_sema_v, 0x9c ds_gws_sema_p,
    }
    [address(B32)] global_share {
        0x99 ds_gws_init, 0x9b ds_gws_sema_br, 0x9d ds_gws_barrier,
    }
    [vdst(B32)] {
        0xb6 ds_read_addtid_b32, 0xbd ds_consume, 0xbe ds_append,
    }
    [address(B32), data0(B96)] {
        0xde ds_write_b96,
    }
    [address(B32), data0(B128)] {
        0xdf ds_write_b128,
    }
    [vdst(B96), address(B32)] {
        0xfe ds_read_b96,
    }
    [vdst(B128), address(B32)] {
        0xff ds_read_b128,
    }
}
