// SPDX-License-Identifier: GPL-2.0-only
//! Instructions that reach memory: scalar, flat and through buffers.

use crate::code::operation::Operation;
use crate::code::table::*;

shapes! { SMEM:
    [sdata(B32), sbase(B64), offset()] {
        0x00 s_load_dword, 0x05 s_scratch_load_dword, 0x10 s_store_dword,
        0x15 s_scratch_store_dword, 0x80 s_atomic_swap, 0x82 s_atomic_add, 0x83 s_atomic_sub,
        0x84 s_atomic_smin, 0x85 s_atomic_umin, 0x86 s_atomic_smax, 0x87 s_atomic_umax,
        0x88 s_atomic_and, 0x89 s_atomic_or, 0x8a s_atomic_xor, 0x8b s_atomic_inc,
        0x8c s_atomic_dec,
    }
    [sdata(B64), sbase(B64), offset()] {
        0x01 s_load_dwordx2, 0x06 s_scratch_load_dwordx2, 0x11 s_store_dwordx2,
        0x16 s_scratch_store_dwordx2, 0x81 s_atomic_cmpswap, 0xa0 s_atomic_swap_x2,
        0xa2 s_atomic_add_x2, 0xa3 s_atomic_sub_x2, 0xa4 s_atomic_smin_x2, 0xa5 s_atomic_umin_x2,
        0xa6 s_atomic_smax_x2, 0xa7 s_atomic_umax_x2, 0xa8 s_atomic_and_x2, 0xa9 s_atomic_or_x2,
        0xaa s_atomic_xor_x2, 0xab s_atomic_inc_x2, 0xac s_atomic_dec_x2,
    }
    [sdata(B128), sbase(B64), offset()] {
        0x02 s_load_dwordx4, 0x07 s_scratch_load_dwordx4, 0x12 s_store_dwordx4,
        0x17 s_scratch_store_dwordx4, 0xa1 s_atomic_cmpswap_x2,
    }
    [sdata(B256), sbase(B64), offset()] {
        0x03 s_load_dwordx8,
    }
    [sdata(B512), sbase(B64), offset()] {
        0x04 s_load_dwordx16,
    }
    [sdata(B32), sbase(B128), offset()] {
        0x08 s_buffer_load_dword, 0x18 s_buffer_store_dword, 0x40 s_buffer_atomic_swap,
        0x42 s_buffer_atomic_add, 0x43 s_buffer_atomic_sub, 0x44 s_buffer_atomic_smin,
        0x45 s_buffer_atomic_umin, 0x46 s_buffer_atomic_smax, 0x47 s_buffer_atomic_umax,
        0x48 s_buffer_atomic_and, 0x49 s_buffer_atomic_or, 0x4a s_buffer_atomic_xor,
        0x4b s_buffer_atomic_inc, 0x4c s_buffer_atomic_dec,
    }
    [sdata(B64), sbase(B128), offset()] {
        0x09 s_buffer_load_dwordx2, 0x19 s_buffer_store_dwordx2, 0x41 s_buffer_atomic_cmpswap,
        0x60 s_buffer_atomic_swap_x2, 0x62 s_buffer_atomic_add_x2, 0x63 s_buffer_atomic_sub_x2,
        0x64 s_buffer_atomic_smin_x2, 0x65 s_buffer_atomic_umin_x2, 0x66 s_buffer_atomic_smax_x2,
        0x67 s_buffer_atomic_umax_x2, 0x68 s_buffer_atomic_and_x2, 0x69 s_buffer_atomic_or_x2,
        0x6a s_buffer_atomic_xor_x2, 0x6b s_buffer_atomic_inc_x2, 0x6c s_buffer_atomic_dec_x2,
    }
    [sdata(B128), sbase(B128), offset()] {
        0x0a s_buffer_load_dwordx4, 0x1a s_buffer_store_dwordx4, 0x61 s_buffer_atomic_cmpswap_x2,
    }
    [sdata(B256), sbase(B128), offset()] {
        0x0b s_buffer_load_dwordx8,
    }
    [sdata(B512), sbase(B128), offset()] {
        0x0c s_buffer_load_dwordx16,
    }
    [] {
        0x20 s_dcache_inv, 0x21 s_dcache_wb, 0x22 s_dcache_inv_vol, 0x23 s_dcache_wb_vol,
    }
    [sdata(B64)] {
        0x24 s_memtime, 0x25 s_memrealtime,
    }
    [data_code(), sbase(B64), offset()] {
        0x26 s_atc_probe,
    }
    [data_code(), sbase(B128), offset()] {
        0x27 s_atc_probe_buffer,
    }
    [sbase(B64), offset()] {
        0x28 s_dcache_discard, 0x29 s_dcache_discard_x2,
    }
}

shapes! { FLAT:
    [vdst(B32)] {
        0x10 flat_load_ubyte, 0x11 flat_load_sbyte, 0x12 flat_load_ushort, 0x13 flat_load_sshort,
        0x14 flat_load_dword, 0x20 flat_load_ubyte_d16, 0x21 flat_load_ubyte_d16_hi,
        0x22 flat_load_sbyte_d16, 0x23 flat_load_sbyte_d16_hi, 0x24 flat_load_short_d16,
        0x25 flat_load_short_d16_hi,
    }
    [vdst(B64)] {
        0x15 flat_load_dwordx2,
    }
    [vdst(B96)] {
        0x16 flat_load_dwordx3,
    }
    [vdst(B128)] {
        0x17 flat_load_dwordx4,
    }
    [data0(B32)] {
        0x18 flat_store_byte, 0x19 flat_store_byte_d16_hi, 0x1a flat_store_short,
        0x1b flat_store_short_d16_hi, 0x1c flat_store_dword,
    }
    [data0(B64)] {
        0x1d flat_store_dwordx2,
    }
    [data0(B96)] {
        0x1e flat_store_dwordx3,
    }
    [data0(B128)] {
        0x1f flat_store_dwordx4,
    }
    [] lds {
        0x26 flat_load_lds_ubyte, 0x27 flat_load_lds_sbyte, 0x28 flat_load_lds_ushort,
        0x29 flat_load_lds_sshort, 0x2a flat_load_lds_dword,
    }
    [vdst(B32), data0(B32)] atomic {
        0x40 flat_atomic_swap, 0x42 flat_atomic_add, 0x43 flat_atomic_sub, 0x44 flat_atomic_smin,
        0x45 flat_atomic_umin, 0x46 flat_atomic_smax, 0x47 flat_atomic_umax, 0x48 flat_atomic_and,
        0x49 flat_atomic_or, 0x4a flat_atomic_xor, 0x4b flat_atomic_inc, 0x4c flat_atomic_dec,
        0x4d flat_atomic_add_f32, 0x4e flat_atomic_pk_add_f16, 0x52 flat_atomic_pk_add_bf16,
    }
    [vdst(B32), data0(B64)] atomic {
        0x41 flat_atomic_cmpswap,
    }
    [vdst(B64), data0(B64)] atomic {
        0x4f flat_atomic_add_f64, 0x50 flat_atomic_min_f64, 0x51 flat_atomic_max_f64,
        0x60 flat_atomic_swap_x2, 0x62 flat_atomic_add_x2, 0x63 flat_atomic_sub_x2,
        0x64 flat_atomic_smin_x2, 0x65 flat_atomic_umin_x2, 0x66 flat_atomic_smax_x2,
        0x67 flat_atomic_umax_x2, 0x68 flat_atomic_and_x2, 0x69 flat_atomic_or_x2,
        0x6a flat_atomic_xor_x2, 0x6b flat_atomic_inc_x2, 0x6c flat_atomic_dec_x2,
    }
    [vdst(B64), data0(B128)] atomic {
        0x61 flat_atomic_cmpswap_x2,
    }
}

shapes! { MUBUF:
    [data0(B32)] lds {
        0x00 buffer_load_format_x, 0x10 buffer_load_ubyte, 0x11 buffer_load_sbyte,
        0x12 buffer_load_ushort, 0x13 buffer_load_sshort, 0x14 buffer_load_dword,
    }
    [data0(B64)] {
        0x01 buffer_load_format_xy, 0x05 buffer_store_format_xy, 0x0a buffer_load_format_d16_xyz,
        0x0b buffer_load_format_d16_xyzw, 0x0e buffer_store_format_d16_xyz,
        0x0f buffer_store_format_d16_xyzw, 0x15 buffer_load_dwordx2, 0x1d buffer_store_dwordx2,
    }
    [data0(B96)] {
        0x02 buffer_load_format_xyz, 0x06 buffer_store_format_xyz, 0x16 buffer_load_dwordx3,
        0x1e buffer_store_dwordx3,
    }
    [data0(B128)] {
        0x03 buffer_load_format_xyzw, 0x07 buffer_store_format_xyzw, 0x17 buffer_load_dwordx4,
        0x1f buffer_store_dwordx4,
    }
    [data0(B32)] {
        0x04 buffer_store_format_x, 0x08 buffer_load_format_d16_x, 0x09 buffer_load_format_d16_xy,
        0x0c buffer_store_format_d16_x, 0x0d buffer_store_format_d16_xy, 0x18 buffer_store_byte,
        0x19 buffer_store_byte_d16_hi, 0x1a buffer_store_short, 0x1b buffer_store_short_d16_hi,
        0x1c buffer_store_dword, 0x20 buffer_load_ubyte_d16, 0x21 buffer_load_ubyte_d16_hi,
        0x22 buffer_load_sbyte_d16, 0x23 buffer_load_sbyte_d16_hi, 0x24 buffer_load_short_d16,
        0x25 buffer_load_short_d16_hi, 0x26 buffer_load_format_d16_hi_x,
        0x27 buffer_store_format_d16_hi_x,
    }
    [] no_address {
        0x28 buffer_wbl2, 0x29 buffer_inv, 0x3e buffer_wbinvl1, 0x3f buffer_wbinvl1_vol,
    }
    [] lds_only {
        0x3d buffer_store_lds_dword,
    }
    [data0(B32)] atomic {
        0x40 buffer_atomic_swap, 0x42 buffer_atomic_add, 0x43 buffer_atomic_sub,
        0x44 buffer_atomic_smin, 0x45 buffer_atomic_umin, 0x46 buffer_atomic_smax,
        0x47 buffer_atomic_umax, 0x48 buffer_atomic_and, 0x49 buffer_atomic_or,
        0x4a buffer_atomic_xor, 0x4b buffer_atomic_inc, 0x4c buffer_atomic_dec,
        0x4d buffer_atomic_add_f32, 0x4e buffer_atomic_pk_add_f16,
    }
    [data0(B64)] atomic {
        0x41 buffer_atomic_cmpswap, 0x4f buffer_atomic_add_f64, 0x50 buffer_atomic_min_f64,
        0x51 buffer_atomic_max_f64, 0x60 buffer_atomic_swap_x2, 0x62 buffer_atomic_add_x2,
        0x63 buffer_atomic_sub_x2, 0x64 buffer_atomic_smin_x2, 0x65 buffer_atomic_umin_x2,
        0x66 buffer_atomic_smax_x2, 0x67 buffer_atomic_umax_x2, 0x68 buffer_atomic_and_x2,
        0x69 buffer_atomic_or_x2, 0x6a buffer_atomic_xor_x2, 0x6b buffer_atomic_inc_x2,
        0x6c buffer_atomic_dec_x2,
    }
    [data0(B128)] atomic {
        0x61 buffer_atomic_cmpswap_x2,
    }
}

shapes! { MTBUF:
    [data0(B32)] {
        0x00 tbuffer_load_format_x, 0x04 tbuffer_store_format_x, 0x08 tbuffer_load_format_d16_x,
        0x09 tbuffer_load_format_d16_xy, 0x0c tbuffer_store_format_d16_x,
        0x0d tbuffer_store_format_d16_xy,
    }
    [data0(B64)] {
        0x01 tbuffer_load_format_xy, 0x05 tbuffer_store_format_xy, 0x0a tbuffer_load_format_d16_xyz,
        0x0b tbuffer_load_format_d16_xyzw, 0x0e tbuffer_store_format_d16_xyz,
        0x0f tbuffer_store_format_d16_xyzw,
    }
    [data0(B96)] {
        0x02 tbuffer_load_format_xyz, 0x06 tbuffer_store_format_xyz,
    }
    [data0(B128)] {
        0x03 tbuffer_load_format_xyzw, 0x07 tbuffer_store_format_xyzw,
    }
}
