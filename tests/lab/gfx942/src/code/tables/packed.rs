// SPDX-License-Identifier: GPL-2.0-only
//! Vector instructions on pairs, and on matrices.

use crate::code::operation::Operation;
use crate::code::table::*;

shapes! { VOP3P:
    [vdst(B32), src0(B32), src1(B32), src2(B32)] {
        0x00 v_pk_mad_i16, 0x09 v_pk_mad_u16, 0x0e v_pk_fma_f16, 0x20 v_fma_mix_f32,
        0x21 v_fma_mixlo_f16, 0x22 v_fma_mixhi_f16, 0x23 v_dot2_f32_f16, 0x26 v_dot2_i32_i16,
        0x27 v_dot2_u32_u16, 0x28 v_dot4_i32_i8, 0x29 v_dot4_u32_u8, 0x2a v_dot8_i32_i4,
        0x2b v_dot8_u32_u4,
    }
    [vdst(B32), src0(B32), src1(B32)] {
        0x01 v_pk_mul_lo_u16, 0x02 v_pk_add_i16, 0x03 v_pk_sub_i16, 0x04 v_pk_lshlrev_b16,
        0x05 v_pk_lshrrev_b16, 0x06 v_pk_ashrrev_i16, 0x07 v_pk_max_i16, 0x08 v_pk_min_i16,
        0x0a v_pk_add_u16, 0x0b v_pk_sub_u16, 0x0c v_pk_max_u16, 0x0d v_pk_min_u16,
        0x0f v_pk_add_f16, 0x10 v_pk_mul_f16, 0x11 v_pk_min_f16, 0x12 v_pk_max_f16,
    }
    [vdst(B64), src0(B64), src1(B64), src2(B64)] {
        0x30 v_pk_fma_f32,
    }
    [vdst(B64), src0(B64), src1(B64)] {
        0x31 v_pk_mul_f32, 0x32 v_pk_add_f32, 0x33 v_pk_mov_b32,
    }
    [vdst(B32), asrc0(B32)] {
        0x58 v_accvgpr_read_b32,
    }
    [adst(B32), src0(B32)] {
        0x59 v_accvgpr_write_b32,
    }
}

shapes! { MAI:
    [mdst(B128), msrc0(B64), msrc1(B64), msrc2(B128)] {
        0x3e v_mfma_f32_16x16x8_xf32, 0x4a v_mfma_f32_4x4x4_16b_f16, 0x4d v_mfma_f32_16x16x16_f16,
        0x57 v_mfma_i32_16x16x32_i8, 0x5f v_mfma_f32_4x4x4_16b_bf16, 0x61 v_mfma_f32_16x16x16_bf16,
        0x70 v_mfma_f32_16x16x32_bf8_bf8, 0x71 v_mfma_f32_16x16x32_bf8_fp8,
        0x72 v_mfma_f32_16x16x32_fp8_bf8, 0x73 v_mfma_f32_16x16x32_fp8_fp8,
    }
    [mdst(B512), msrc0(B64), msrc1(B64), msrc2(B512)] {
        0x3f v_mfma_f32_32x32x4_xf32, 0x49 v_mfma_f32_16x16x4_4b_f16, 0x4c v_mfma_f32_32x32x8_f16,
        0x56 v_mfma_i32_32x32x16_i8, 0x5e v_mfma_f32_16x16x4_4b_bf16, 0x60 v_mfma_f32_32x32x8_bf16,
        0x74 v_mfma_f32_32x32x16_bf8_bf8, 0x75 v_mfma_f32_32x32x16_bf8_fp8,
        0x76 v_mfma_f32_32x32x16_fp8_bf8, 0x77 v_mfma_f32_32x32x16_fp8_fp8,
    }
    [mdst(B1024), msrc0(B32), msrc1(B32), msrc2(B1024)] {
        0x40 v_mfma_f32_32x32x1_2b_f32, 0x50 v_mfma_i32_32x32x4_2b_i8,
    }
    [mdst(B512), msrc0(B32), msrc1(B32), msrc2(B512)] {
        0x41 v_mfma_f32_16x16x1_4b_f32, 0x44 v_mfma_f32_32x32x2_f32, 0x51 v_mfma_i32_16x16x4_4b_i8,
    }
    [mdst(B128), msrc0(B32), msrc1(B32), msrc2(B128)] {
        0x42 v_mfma_f32_4x4x1_16b_f32, 0x45 v_mfma_f32_16x16x4_f32, 0x52 v_mfma_i32_4x4x4_16b_i8,
    }
    [mdst(B1024), msrc0(B64), msrc1(B64), msrc2(B1024)] {
        0x48 v_mfma_f32_32x32x4_2b_f16, 0x5d v_mfma_f32_32x32x4_2b_bf16,
    }
    [mdst(B128), msrc0(B64), msrc1(B128), vsrc2(B32)] {
        0x62 v_smfmac_f32_16x16x32_f16, 0x66 v_smfmac_f32_16x16x32_bf16,
        0x6a v_smfmac_i32_16x16x64_i8, 0x78 v_smfmac_f32_16x16x64_bf8_bf8,
        0x79 v_smfmac_f32_16x16x64_bf8_fp8, 0x7a v_smfmac_f32_16x16x64_fp8_bf8,
        0x7b v_smfmac_f32_16x16x64_fp8_fp8,
    }
    [mdst(B512), msrc0(B64), msrc1(B128), vsrc2(B32)] {
        0x64 v_smfmac_f32_32x32x16_f16, 0x68 v_smfmac_f32_32x32x16_bf16,
        0x6c v_smfmac_i32_32x32x32_i8, 0x7c v_smfmac_f32_32x32x32_bf8_bf8,
        0x7d v_smfmac_f32_32x32x32_bf8_fp8, 0x7e v_smfmac_f32_32x32x32_fp8_bf8,
        0x7f v_smfmac_f32_32x32x32_fp8_fp8,
    }
    [mdst(B256), msrc0(B64), msrc1(B64), msrc2(B256)] {
        0x6e v_mfma_f64_16x16x4_f64,
    }
    [mdst(B64), msrc0(B64), msrc1(B64), msrc2(B64)] {
        0x6f v_mfma_f64_4x4x4_4b_f64,
    }
}
