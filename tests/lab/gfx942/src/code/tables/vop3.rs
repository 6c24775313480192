// SPDX-License-Identifier: GPL-2.0-only
//! Vector instructions of two dwords.

use crate::code::operation::Operation;
use crate::code::table::*;

shapes! { VOP3:
    [vdst(B32), src0(B32), src1(B32), src2(B32)] clamp {
        0x1c2 v_mad_i32_i24, 0x1c3 v_mad_u32_u24, 0x1d9 v_sad_u8, 0x1da v_sad_hi_u8,
        0x1db v_sad_u16, 0x1dc v_sad_u32, 0x1e4 v_msad_u8,
    }
    [vdst(B32), src0(F32), src1(F32), src2(F32)] clamp multiplier {
        0x1c4 v_cubeid_f32, 0x1c5 v_cubesc_f32, 0x1c6 v_cubetc_f32, 0x1c7 v_cubema_f32,
        0x1cb v_fma_f32, 0x1d0 v_min3_f32, 0x1d3 v_max3_f32, 0x1d6 v_med3_f32,
        0x1de v_div_fixup_f32, 0x1e2 v_div_fmas_f32,
    }
    [vdst(B32), src0(B32), src1(B32), src2(B32)] {
        0x1c8 v_bfe_u32, 0x1c9 v_bfe_i32, 0x1ca v_bfi_b32, 0x1cd v_lerp_u8, 0x1ce v_alignbit_b32,
        0x1cf v_alignbyte_b32, 0x1d1 v_min3_i32, 0x1d2 v_min3_u32, 0x1d4 v_max3_i32,
        0x1d5 v_max3_u32, 0x1d7 v_med3_i32, 0x1d8 v_med3_u32, 0x1ed v_perm_b32, 0x1f3 v_xad_u32,
        0x1fd v_lshl_add_u32, 0x1fe v_add_lshl_u32, 0x1ff v_add3_u32, 0x200 v_lshl_or_b32,
        0x201 v_and_or_b32, 0x202 v_or3_b32,
    }
    [vdst(B64), src0(F64), src1(F64), src2(F64)] clamp multiplier {
        0x1cc v_fma_f64, 0x1df v_div_fixup_f64, 0x1e3 v_div_fmas_f64,
    }
    [vdst(B32), src0(F32), src1(SEXT_B32), src2(SEXT_B32)] clamp {
        0x1dd v_cvt_pk_u8_f32,
    }
    [vdst(B32), sdst(B64), src0(F32), src1(F32), src2(F32)] clamp multiplier {
        0x1e0 v_div_scale_f32,
    }
    [vdst(B64), sdst(B64), src0(F64), src1(F64), src2(F64)] clamp multiplier {
        0x1e1 v_div_scale_f64,
    }
    [vdst(B64), src0(B64), src1(B32), src2(B64)] clamp {
        0x1e5 v_qsad_pk_u16_u8, 0x1e6 v_mqsad_pk_u16_u8,
    }
    [vdst(B128), src0(B64), src1(B32), vsrc2(B128)] clamp {
        0x1e7 v_mqsad_u32_u8,
    }
    [vdst(B64), sdst(B64), src0(B32), src1(B32), src2(B64)] clamp {
        0x1e8 v_mad_u64_u32, 0x1e9 v_mad_i64_i32,
    }
    [vdst(B32), src0(F16), src1(F16), src2(F16)] clamp multiplier {
        0x1ea v_mad_legacy_f16, 0x1ee v_fma_legacy_f16, 0x1ef v_div_fixup_legacy_f16,
    }
    [vdst(B32), src0(I16), src1(I16), src2(I16)] clamp {
        0x1eb v_mad_legacy_u16, 0x1ec v_mad_legacy_i16,
    }
    [vdst(B32), src0(LOOSE_I16), src1(LOOSE_I16), src2(LOOSE_B32)] clamp selects {
        0x1f1 v_mad_u32_u16, 0x1f2 v_mad_i32_i16,
    }
    [vdst(B32), src0(F16), src1(F16), src2(F16)] clamp multiplier selects {
        0x1f4 v_min3_f16, 0x1f7 v_max3_f16, 0x1fa v_med3_f16, 0x203 v_mad_f16, 0x206 v_fma_f16,
        0x207 v_div_fixup_f16,
    }
    [vdst(B32), src0(LOOSE_I16), src1(LOOSE_I16), src2(LOOSE_I16)] clamp selects {
        0x1f5 v_min3_i16, 0x1f6 v_min3_u16, 0x1f8 v_max3_i16, 0x1f9 v_max3_u16, 0x1fb v_med3_i16,
        0x1fc v_med3_u16, 0x204 v_mad_u16, 0x205 v_mad_i16,
    }
    [vdst(B64), src0(B64), src1(B32), src2(B64)] {
        0x208 v_lshl_add_u64,
    }
    [sdst(B64), src0(F32), src1(B32)] {
        0x10 v_cmp_class_f32, 0x11 v_cmpx_class_f32,
    }
    [sdst(B64), src0(F64), src1(B32)] {
        0x12 v_cmp_class_f64, 0x13 v_cmpx_class_f64,
    }
    [sdst(B64), src0(F16), src1(B32)] {
        0x14 v_cmp_class_f16, 0x15 v_cmpx_class_f16,
    }
    [sdst(B64), src0(F16), src1(F16)] clamp {
        0x20 v_cmp_f_f16, 0x21 v_cmp_lt_f16, 0x22 v_cmp_eq_f16, 0x23 v_cmp_le_f16,
        0x24 v_cmp_gt_f16, 0x25 v_cmp_lg_f16, 0x26 v_cmp_ge_f16, 0x27 v_cmp_o_f16, 0x28 v_cmp_u_f16,
        0x29 v_cmp_nge_f16, 0x2a v_cmp_nlg_f16, 0x2b v_cmp_ngt_f16, 0x2c v_cmp_nle_f16,
        0x2d v_cmp_neq_f16, 0x2e v_cmp_nlt_f16, 0x2f v_cmp_tru_f16, 0x30 v_cmpx_f_f16,
        0x31 v_cmpx_lt_f16, 0x32 v_cmpx_eq_f16, 0x33 v_cmpx_le_f16, 0x34 v_cmpx_gt_f16,
        0x35 v_cmpx_lg_f16, 0x36 v_cmpx_ge_f16, 0x37 v_cmpx_o_f16, 0x38 v_cmpx_u_f16,
        0x39 v_cmpx_nge_f16, 0x3a v_cmpx_nlg_f16, 0x3b v_cmpx_ngt_f16, 0x3c v_cmpx_nle_f16,
        0x3d v_cmpx_neq_f16, 0x3e v_cmpx_nlt_f16, 0x3f v_cmpx_tru_f16,
    }
    [sdst(B64), src0(F32), src1(F32)] clamp {
        0x40 v_cmp_f_f32, 0x41 v_cmp_lt_f32, 0x42 v_cmp_eq_f32, 0x43 v_cmp_le_f32,
        0x44 v_cmp_gt_f32, 0x45 v_cmp_lg_f32, 0x46 v_cmp_ge_f32, 0x47 v_cmp_o_f32, 0x48 v_cmp_u_f32,
        0x49 v_cmp_nge_f32, 0x4a v_cmp_nlg_f32, 0x4b v_cmp_ngt_f32, 0x4c v_cmp_nle_f32,
        0x4d v_cmp_neq_f32, 0x4e v_cmp_nlt_f32, 0x4f v_cmp_tru_f32, 0x50 v_cmpx_f_f32,
        0x51 v_cmpx_lt_f32, 0x52 v_cmpx_eq_f32, 0x53 v_cmpx_le_f32, 0x54 v_cmpx_gt_f32,
        0x55 v_cmpx_lg_f32, 0x56 v_cmpx_ge_f32, 0x57 v_cmpx_o_f32, 0x58 v_cmpx_u_f32,
        0x59 v_cmpx_nge_f32, 0x5a v_cmpx_nlg_f32, 0x5b v_cmpx_ngt_f32, 0x5c v_cmpx_nle_f32,
        0x5d v_cmpx_neq_f32, 0x5e v_cmpx_nlt_f32, 0x5f v_cmpx_tru_f32,
    }
    [sdst(B64), src0(F64), src1(F64)] clamp {
        0x60 v_cmp_f_f64, 0x61 v_cmp_lt_f64, 0x62 v_cmp_eq_f64, 0x63 v_cmp_le_f64,
        0x64 v_cmp_gt_f64, 0x65 v_cmp_lg_f64, 0x66 v_cmp_ge_f64, 0x67 v_cmp_o_f64, 0x68 v_cmp_u_f64,
        0x69 v_cmp_nge_f64, 0x6a v_cmp_nlg_f64, 0x6b v_cmp_ngt_f64, 0x6c v_cmp_nle_f64,
        0x6d v_cmp_neq_f64, 0x6e v_cmp_nlt_f64, 0x6f v_cmp_tru_f64, 0x70 v_cmpx_f_f64,
        0x71 v_cmpx_lt_f64, 0x72 v_cmpx_eq_f64, 0x73 v_cmpx_le_f64, 0x74 v_cmpx_gt_f64,
        0x75 v_cmpx_lg_f64, 0x76 v_cmpx_ge_f64, 0x77 v_cmpx_o_f64, 0x78 v_cmpx_u_f64,
        0x79 v_cmpx_nge_f64, 0x7a v_cmpx_nlg_f64, 0x7b v_cmpx_ngt_f64, 0x7c v_cmpx_nle_f64,
        0x7d v_cmpx_neq_f64, 0x7e v_cmpx_nlt_f64, 0x7f v_cmpx_tru_f64,
    }
    [sdst(B64), src0(I16), src1(I16)] {
        0xa0 v_cmp_f_i16, 0xa1 v_cmp_lt_i16, 0xa2 v_cmp_eq_i16, 0xa3 v_cmp_le_i16,
        0xa4 v_cmp_gt_i16, 0xa5 v_cmp_ne_i16, 0xa6 v_cmp_ge_i16, 0xa7 v_cmp_t_i16, 0xa8 v_cmp_f_u16,
        0xa9 v_cmp_lt_u16, 0xaa v_cmp_eq_u16, 0xab v_cmp_le_u16, 0xac v_cmp_gt_u16,
        0xad v_cmp_ne_u16, 0xae v_cmp_ge_u16, 0xaf v_cmp_t_u16, 0xb0 v_cmpx_f_i16,
        0xb1 v_cmpx_lt_i16, 0xb2 v_cmpx_eq_i16, 0xb3 v_cmpx_le_i16, 0xb4 v_cmpx_gt_i16,
        0xb5 v_cmpx_ne_i16, 0xb6 v_cmpx_ge_i16, 0xb7 v_cmpx_t_i16, 0xb8 v_cmpx_f_u16,
        0xb9 v_cmpx_lt_u16, 0xba v_cmpx_eq_u16, 0xbb v_cmpx_le_u16, 0xbc v_cmpx_gt_u16,
        0xbd v_cmpx_ne_u16, 0xbe v_cmpx_ge_u16, 0xbf v_cmpx_t_u16,
    }
    [sdst(B64), src0(B32), src1(B32)] {
        0xc0 v_cmp_f_i32, 0xc1 v_cmp_lt_i32, 0xc2 v_cmp_eq_i32, 0xc3 v_cmp_le_i32,
        0xc4 v_cmp_gt_i32, 0xc5 v_cmp_ne_i32, 0xc6 v_cmp_ge_i32, 0xc7 v_cmp_t_i32, 0xc8 v_cmp_f_u32,
        0xc9 v_cmp_lt_u32, 0xca v_cmp_eq_u32, 0xcb v_cmp_le_u32, 0xcc v_cmp_gt_u32,
        0xcd v_cmp_ne_u32, 0xce v_cmp_ge_u32, 0xcf v_cmp_t_u32, 0xd0 v_cmpx_f_i32,
        0xd1 v_cmpx_lt_i32, 0xd2 v_cmpx_eq_i32, 0xd3 v_cmpx_le_i32, 0xd4 v_cmpx_gt_i32,
        0xd5 v_cmpx_ne_i32, 0xd6 v_cmpx_ge_i32, 0xd7 v_cmpx_t_i32, 0xd8 v_cmpx_f_u32,
        0xd9 v_cmpx_lt_u32, 0xda v_cmpx_eq_u32, 0xdb v_cmpx_le_u32, 0xdc v_cmpx_gt_u32,
        0xdd v_cmpx_ne_u32, 0xde v_cmpx_ge_u32, 0xdf v_cmpx_t_u32,
    }
    [sdst(B64), src0(B64), src1(B64)] {
        0xe0 v_cmp_f_i64, 0xe1 v_cmp_lt_i64, 0xe2 v_cmp_eq_i64, 0xe3 v_cmp_le_i64,
        0xe4 v_cmp_gt_i64, 0xe5 v_cmp_ne_i64, 0xe6 v_cmp_ge_i64, 0xe7 v_cmp_t_i64, 0xe8 v_cmp_f_u64,
        0xe9 v_cmp_lt_u64, 0xea v_cmp_eq_u64, 0xeb v_cmp_le_u64, 0xec v_cmp_gt_u64,
        0xed v_cmp_ne_u64, 0xee v_cmp_ge_u64, 0xef v_cmp_t_u64, 0xf0 v_cmpx_f_i64,
        0xf1 v_cmpx_lt_i64, 0xf2 v_cmpx_eq_i64, 0xf3 v_cmpx_le_i64, 0xf4 v_cmpx_gt_i64,
        0xf5 v_cmpx_ne_i64, 0xf6 v_cmpx_ge_i64, 0xf7 v_cmpx_t_i64, 0xf8 v_cmpx_f_u64,
        0xf9 v_cmpx_lt_u64, 0xfa v_cmpx_eq_u64, 0xfb v_cmpx_le_u64, 0xfc v_cmpx_gt_u64,
        0xfd v_cmpx_ne_u64, 0xfe v_cmpx_ge_u64, 0xff v_cmpx_t_u64,
    }
    [vdst(B32), src0(F32), src1(F32), rsrc2(B64)] {
        0x100 v_cndmask_b32,
    }
    [vdst(B32), src0(F32), src1(F32)] clamp multiplier {
        0x101 v_add_f32, 0x102 v_sub_f32, 0x103 v_subrev_f32, 0x105 v_mul_f32, 0x10a v_min_f32,
        0x10b v_max_f32, 0x137 v_dot2c_f32_f16, 0x13b v_fmac_f32, 0x296 v_cvt_pkrtz_f16_f32,
        0x2a1 v_mul_legacy_f32,
    }
    [vdst(B64), src0(F64), src1(F64)] clamp multiplier {
        0x104 v_fmac_f64, 0x280 v_add_f64, 0x281 v_mul_f64, 0x282 v_min_f64, 0x283 v_max_f64,
    }
    [vdst(B32), src0(B32), src1(B32)] clamp {
        0x106 v_mul_i32_i24, 0x108 v_mul_u32_u24, 0x134 v_add_u32, 0x135 v_sub_u32,
        0x136 v_subrev_u32, 0x29c v_add_i32, 0x29d v_sub_i32,
    }
    [vdst(B32), src0(B32), src1(B32)] {
        0x107 v_mul_hi_i32_i24, 0x109 v_mul_hi_u32_u24, 0x10c v_min_i32, 0x10d v_max_i32,
        0x10e v_min_u32, 0x10f v_max_u32, 0x110 v_lshrrev_b32, 0x111 v_ashrrev_i32,
        0x112 v_lshlrev_b32, 0x113 v_and_b32, 0x114 v_or_b32, 0x115 v_xor_b32, 0x13d v_xnor_b32,
        0x285 v_mul_lo_u32, 0x286 v_mul_hi_u32, 0x287 v_mul_hi_i32, 0x28b v_bcnt_u32_b32,
        0x28c v_mbcnt_lo_u32_b32, 0x28d v_mbcnt_hi_u32_b32, 0x293 v_bfm_b32, 0x297 v_cvt_pk_u16_u32,
        0x298 v_cvt_pk_i16_i32,
    }
    [vdst(B32), sdst(B64), src0(B32), src1(B32)] clamp {
        0x119 v_add_co_u32, 0x11a v_sub_co_u32, 0x11b v_subrev_co_u32,
    }
    [vdst(B32), sdst(B64), src0(B32), src1(B32), rsrc2(B64)] clamp {
        0x11c v_addc_co_u32, 0x11d v_subb_co_u32, 0x11e v_subbrev_co_u32,
    }
    [vdst(B32), src0(F16), src1(F16)] clamp multiplier {
        0x11f v_add_f16, 0x120 v_sub_f16, 0x121 v_subrev_f16, 0x122 v_mul_f16, 0x123 v_mac_f16,
        0x12d v_max_f16, 0x12e v_min_f16,
    }
    [vdst(B32), src0(I16), src1(I16)] clamp {
        0x126 v_add_u16, 0x127 v_sub_u16, 0x128 v_subrev_u16,
    }
    [vdst(B32), src0(I16), src1(I16)] {
        0x129 v_mul_lo_u16, 0x12a v_lshlrev_b16, 0x12b v_lshrrev_b16, 0x12c v_ashrrev_i16,
        0x12f v_max_u16, 0x130 v_max_i16, 0x131 v_min_u16, 0x132 v_min_i16,
    }
    [vdst(B32), src0(F16), src1(SEXT_B32)] clamp multiplier {
        0x133 v_ldexp_f16,
    }
    [vdst(B32), src0(LOOSE_B32), src1(LOOSE_B32)] clamp {
        0x138 v_dot2c_i32_i16, 0x139 v_dot4c_i32_i8, 0x13a v_dot8c_i32_i4,
    }
    [vdst(B32), src0(F32), src1(SEXT_B32)] clamp {
        0x1f0 v_cvt_pkaccum_u8_f32,
    }
    [vdst(B64), src0(F64), src1(SEXT_B32)] clamp multiplier {
        0x284 v_ldexp_f64, 0x292 v_trig_preop_f64,
    }
    [vdst(B32), src0(F32), src1(SEXT_B32)] clamp multiplier {
        0x288 v_ldexp_f32,
    }
    [vdst(B64), src0(B32), src1(B64)] {
        0x28f v_lshlrev_b64, 0x290 v_lshrrev_b64, 0x291 v_ashrrev_i64,
    }
    [vdst(B32), src0(F32), src1(F32)] clamp {
        0x294 v_cvt_pknorm_i16_f32, 0x295 v_cvt_pknorm_u16_f32,
    }
    [vdst(B32), src0(F16), src1(F16)] clamp selects {
        0x299 v_cvt_pknorm_i16_f16, 0x29a v_cvt_pknorm_u16_f16, 0x2a0 v_pack_b32_f16,
    }
    [vdst(B32), src0(LOOSE_I16), src1(LOOSE_I16)] clamp selects {
        0x29e v_add_i16, 0x29f v_sub_i16,
    }
    [vdst(B32), src0(F32), src1(F32)] selects {
        0x2a2 v_cvt_pk_fp8_f32, 0x2a3 v_cvt_pk_bf8_f32,
    }
    [vdst(B32), src0(F32), src1(LOOSE_B32)] selects {
        0x2a4 v_cvt_sr_fp8_f32, 0x2a5 v_cvt_sr_bf8_f32,
    }
    [vdst(B32), src0(B32)] {
        0x141 v_mov_b32, 0x16b v_not_b32, 0x16c v_bfrev_b32, 0x16d v_ffbh_u32, 0x16e v_ffbl_b32,
        0x16f v_ffbh_i32, 0x177 v_screen_partition_4se_b32, 0x18f v_sat_pk_u8_i16,
    }
    [vdst(B32), src0(F64)] clamp multiplier {
        0x143 v_cvt_i32_f64, 0x14f v_cvt_f32_f64, 0x155 v_cvt_u32_f64, 0x170 v_frexp_exp_i32_f64,
    }
    [vdst(B64), src0(B32)] clamp multiplier {
        0x144 v_cvt_f64_i32, 0x156 v_cvt_f64_u32, 0x196 v_cvt_pk_f32_fp8, 0x197 v_cvt_pk_f32_bf8,
    }
    [vdst(B32), src0(B32)] clamp multiplier {
        0x145 v_cvt_f32_i32, 0x146 v_cvt_f32_u32, 0x14e v_cvt_off_f32_i4, 0x151 v_cvt_f32_ubyte0,
        0x152 v_cvt_f32_ubyte1, 0x153 v_cvt_f32_ubyte2, 0x154 v_cvt_f32_ubyte3, 0x194 v_cvt_f32_fp8,
        0x195 v_cvt_f32_bf8,
    }
    [vdst(B32), src0(F32)] clamp multiplier {
        0x147 v_cvt_u32_f32, 0x148 v_cvt_i32_f32, 0x14a v_cvt_f16_f32, 0x15b v_fract_f32,
        0x15c v_trunc_f32, 0x15d v_ceil_f32, 0x15e v_rndne_f32, 0x15f v_floor_f32, 0x160 v_exp_f32,
        0x161 v_log_f32, 0x162 v_rcp_f32, 0x163 v_rcp_iflag_f32, 0x164 v_rsq_f32, 0x167 v_sqrt_f32,
        0x169 v_sin_f32, 0x16a v_cos_f32, 0x174 v_frexp_mant_f32, 0x18b v_exp_legacy_f32,
        0x18c v_log_legacy_f32,
    }
    [vdst(B32), src0(F16)] clamp multiplier {
        0x14b v_cvt_f32_f16, 0x17b v_cvt_u16_f16, 0x17c v_cvt_i16_f16, 0x17d v_rcp_f16,
        0x17e v_sqrt_f16, 0x17f v_rsq_f16, 0x180 v_log_f16, 0x181 v_exp_f16, 0x182 v_frexp_mant_f16,
        0x183 v_frexp_exp_i16_f16, 0x184 v_floor_f16, 0x185 v_ceil_f16, 0x186 v_trunc_f16,
        0x187 v_rndne_f16, 0x188 v_fract_f16, 0x189 v_sin_f16, 0x18a v_cos_f16,
        0x18d v_cvt_norm_i16_f16, 0x18e v_cvt_norm_u16_f16,
    }
    [vdst(B32), src0(F32)] clamp {
        0x14c v_cvt_rpi_i32_f32, 0x14d v_cvt_flr_i32_f32, 0x173 v_frexp_exp_i32_f32,
    }
    [vdst(B64), src0(F32)] clamp multiplier {
        0x150 v_cvt_f64_f32,
    }
    [vdst(B64), src0(F64)] clamp multiplier {
        0x157 v_trunc_f64, 0x158 v_ceil_f64, 0x159 v_rndne_f64, 0x15a v_floor_f64, 0x165 v_rcp_f64,
        0x166 v_rsq_f64, 0x168 v_sqrt_f64, 0x171 v_frexp_mant_f64, 0x172 v_fract_f64,
    }
    [vdst(B64), src0(B64)] {
        0x178 v_mov_b64,
    }
    [vdst(B32), src0(I16)] clamp multiplier {
        0x179 v_cvt_f16_u16, 0x17a v_cvt_f16_i16,
    }
    [sdst(B32), vsrc0(B32), ssrc1(B32)] {
        0x289 v_readlane_b32,
    }
    [] {
        0x140 v_nop, 0x175 v_clrexcp,
    }
    [vdst(B32), ssrc0(B32), ssrc1(B32)] {
        0x28a v_writelane_b32,
    }
}
