// SPDX-License-Identifier: GPL-2.0-only
// Kernels for tests of the whole model. Arguments are at s[0:1], the workgroup's number
// is in s2, the item's in v0.

.amdgcn_target "amdgcn-amd-amdhsa--gfx942"

.macro kernel name, lds, vectors=48, accumulation=32
	.rodata
	.p2align 6
	.amdhsa_kernel \name
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_next_free_vgpr \vectors
		.amdhsa_accum_offset \accumulation
		.amdhsa_next_free_sgpr 96
		.amdhsa_group_segment_fixed_size \lds
	.end_amdhsa_kernel
	.text
	.p2align 8
	.globl \name
	.type \name, @function
\name:
.endm

// Adds a scalar register to the sum in s2, or a vector register to that in v0.
.macro add register
	s_mul_i32 s2, s2, 31
	s_add_u32 s2, s2, \register
.endm

.macro add_vector register
	v_mul_lo_u32 v0, v0, s2
	v_add_u32 v0, v0, \register
.endm

// Fills every kind of register and the local memory, with two waves; from `full` on it
// sums up what it finds, and stores the sum of each item.
kernel state, 512
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_mov_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_mov_b32 s3, s2
	.set i, 6
	.rept 96
		s_add_u32 s[i], s3, 0x1000 + i
		.set i, i + 1
	.endr
	.set i, 2
	.rept 28
		v_add_u32 v[i], 0x2000 + i, v1
		.set i, i + 1
	.endr
	.set i, 0
	.rept 16
		v_accvgpr_write_b32 a[i], v[i + 8]
		.set i, i + 1
	.endr
	v_lshlrev_b32 v30, 2, v1
	ds_write_b32 v30, v9
	s_waitcnt lgkmcnt(0)
	s_barrier
	// What the other wave has written.
	v_xor_b32 v31, 0x100, v30
	ds_read_b32 v29, v31
	s_waitcnt lgkmcnt(0)
	s_mov_b32 m0, s20
	s_mov_b64 vcc, s[22:23]
	s_mov_b64 flat_scratch, s[24:25]
	s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xa5
	s_mov_b32 exec_lo, 0x0f0f1234
	s_mov_b32 exec_hi, 0x7654f0f0
	v_add_u32 v28, v28, v27
	s_cmp_eq_u32 s6, s6
	s_nop 0
	.globl full
full:
	s_nop 0
	v_add_u32 v26, v26, v27
	s_cselect_b32 s6, 0x11, 0x22
	s_mov_b32 s2, vcc_lo
	add vcc_hi
	add m0
	add flat_scratch_lo
	add flat_scratch_hi
	.set i, 6
	.rept 96
		add s[i]
		.set i, i + 1
	.endr
	s_getreg_b32 s7, hwreg(HW_REG_MODE, 0, 8)
	add s7
	add exec_lo
	add exec_hi
	.globl summed
summed:
	s_mov_b64 exec, -1
	v_mov_b32 v0, s2
	s_movk_i32 s2, 31
	.set i, 1
	.rept 31
		add_vector v[i]
		.set i, i + 1
	.endr
	.set i, 0
	.rept 16
		v_accvgpr_read_b32 v2, a[i]
		add_vector v2
		.set i, i + 1
	.endr
	ds_read_b32 v2, v30
	s_waitcnt lgkmcnt(0)
	add_vector v2
	s_barrier
	s_lshl_b32 s3, s3, 9
	v_lshlrev_b32 v1, 2, v1
	v_add_u32 v1, s3, v1
	global_store_dword v1, v0, s[4:5]
	s_endpgm

// Stores where the argument leads.
kernel store, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_mov_b32 v1, 0
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v0, s[4:5]
	s_endpgm

kernel unknown, 0
	s_nop 0
	.long 0xdeadbeef
	s_endpgm

// Stores each item's workgroup and number, 96 to a workgroup.
kernel places, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mul_i32 s3, s2, 96 * 4
	v_lshl_add_u32 v1, v0, 2, s3
	s_lshl_b32 s3, s2, 16
	v_or_b32 v2, s3, v0
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// The same by way of scratch.
kernel own, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mul_i32 s3, s2, 96 * 4
	v_lshl_add_u32 v1, v0, 2, s3
	s_lshl_b32 s3, s2, 16
	v_or_b32 v2, s3, v0
	scratch_store_dword off, v2, off offset:8
	s_waitcnt lgkmcnt(0) vmcnt(0)
	s_nop 0
	s_nop 0
	scratch_load_dword v3, off, off offset:8
	s_waitcnt vmcnt(0)
	global_store_dword v1, v3, s[4:5]
	s_endpgm

// Stores the number of the die.
kernel where, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_getreg_b32 s6, hwreg(20, 0, 4)
	v_mov_b32 v1, 0
	v_mov_b32 v2, s6
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

kernel forever, 0
again:
	s_branch again

// The first wave of two ends while the other waits for it at a barrier; then the item
// counts up to the argument's number in memory, an atomic addition at a time.
kernel counts, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_cmp_gt_u32 vcc, 64, v0
	v_mov_b32 v1, 0
	v_mov_b32 v2, 1
	s_waitcnt lgkmcnt(0)
	s_cbranch_vccnz counted
	s_barrier
	s_movk_i32 s6, 20
next:
	global_atomic_add v1, v2, s[4:5]
	s_sub_u32 s6, s6, 1
	s_cmp_lg_u32 s6, 0
	s_cbranch_scc1 next
counted:
	s_endpgm

// The first wave of two waits while the other adds up numbers; it stores the sum, the
// other the zero that it finds.
kernel waits, 512
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_cmp_gt_u32 vcc, 64, v0
	v_lshlrev_b32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
	s_cbranch_vccnz meets
	s_movk_i32 s6, 20
	s_mov_b32 s7, 0
on:
	s_add_u32 s7, s7, s6
	s_sub_u32 s6, s6, 1
	s_cmp_lg_u32 s6, 0
	s_cbranch_scc1 on
	v_mov_b32 v2, s7
	ds_write_b32 v1, v2
	s_waitcnt lgkmcnt(0)
	.globl there
there:
meets:
	s_barrier
	v_xor_b32 v3, 0x100, v1
	ds_read_b32 v2, v3
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// Stores four accumulation registers of each item, beside only four others.
kernel few, 0, 8, 4
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	.set i, 0
	.rept 4
		v_add_u32 v1, 0x100 * (i + 1), v0
		v_accvgpr_write_b32 a[i], v1
		.set i, i + 1
	.endr
	s_waitcnt lgkmcnt(0)
	.globl filled
filled:
	v_lshlrev_b32 v1, 4, v0
	.set i, 0
	.rept 4
		v_accvgpr_read_b32 v2, a[i]
		global_store_dword v1, v2, s[4:5] offset:4*i
		.set i, i + 1
	.endr
	s_endpgm

// Stores what the second trap handler leaves in s6.
kernel traps, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_lshlrev_b32 v1, 2, v0
	s_mov_b32 s6, 0
	s_waitcnt lgkmcnt(0)
	s_trap 3
	v_mov_b32 v2, s6
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// Adds the trap's number to what its own memory says, and goes on behind the trap.
	.globl second
second:
	s_load_dword ttmp2, [ttmp14, ttmp15], 0x0 glc
	s_bfe_u32 ttmp3, ttmp1, 0x80010
	s_waitcnt lgkmcnt(0)
	s_add_u32 s6, ttmp2, ttmp3
	s_add_u32 ttmp0, ttmp0, 4
	s_addc_u32 ttmp1, ttmp1, 0
	s_and_b32 ttmp1, ttmp1, 0xffff
	s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
	s_rfe_b64 [ttmp0, ttmp1]

// Stores both halves of EXEC after a wave has asked for its queue's doorbell.
kernel doorbell, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_lshlrev_b32 v1, 2, v0
	s_mov_b64 s[6:7], exec
	s_mov_b32 exec_lo, 0x80000000
	s_mov_b32 exec_hi, 0x1234
	s_sendmsg sendmsg(MSG_GET_DOORBELL)
.Lunanswered:
	s_nop 7
	s_bitcmp0_b32 exec_lo, 31
	s_cbranch_scc0 .Lunanswered
	s_mov_b64 s[8:9], exec
	s_mov_b64 exec, s[6:7]
	v_mov_b32 v2, s8
	v_mov_b32 v3, s9
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	global_store_dword v1, v3, s[4:5] offset:256
	s_endpgm

// Lets one wave at a time through the semaphore of `turns`.
kernel one_at_a_time, 0
	s_mov_b32 m0, 0x20000
	v_mov_b32 v2, 1
	ds_gws_init v2 offset:3 gds
	s_waitcnt 0
	s_endpgm

// Adds one to a word, by reading and writing it.
kernel turns, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mov_b32 m0, 0
	s_waitcnt lgkmcnt(0)
	ds_gws_sema_p offset:5 gds
	s_waitcnt 0
	s_load_dword s6, s[4:5], 0x0 glc
	s_waitcnt lgkmcnt(0)
	s_add_u32 s6, s6, 1
	s_store_dword s6, s[4:5], 0x0 glc
	s_waitcnt lgkmcnt(0)
	ds_gws_sema_v offset:5 gds
	s_waitcnt 0
	s_endpgm

// Adds one to the word of each item, by an atomic.
kernel adds, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_lshlrev_b32 v1, 2, v0
	v_mov_b32 v2, 1
	s_waitcnt lgkmcnt(0)
	global_atomic_add v1, v2, s[4:5]
	s_waitcnt vmcnt(0)
	s_endpgm

// Stores the last of sixteen user registers.
kernel last_user, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_lshlrev_b32 v1, 2, v0
	v_mov_b32 v2, s15
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// A second trap handler that leaves the number of the dispatch in s6.
	.globl numbered
numbered:
	s_bfe_u32 s6, ttmp11, 0x100006
	s_add_u32 ttmp0, ttmp0, 4
	s_addc_u32 ttmp1, ttmp1, 0
	s_and_b32 ttmp1, ttmp1, 0xffff
	s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
	s_rfe_b64 [ttmp0, ttmp1]

// Stores a workgroup's numbers along two axes, in rows of eight.
kernel plane, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_lshl_b32 s6, s3, 3
	s_add_u32 s6, s6, s2
	s_lshl_b32 s6, s6, 2
	s_lshl_b32 s7, s3, 16
	s_or_b32 s7, s7, s2
	v_mov_b32 v1, s6
	v_mov_b32 v2, s7
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// Stores what each wave is told of its workgroup.
kernel told, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_lshlrev_b32 v1, 2, v0
	v_mov_b32 v2, s3
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// Changes one of its own instructions, executes it again, and stores what it leaves.
kernel changes, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mov_b32 s7, 0
	s_getpc_b64 s[8:9]
	v_mov_b32 v1, 0
	v_mov_b32 v4, s8
	v_mov_b32 v5, s9
changed:
	v_mov_b32 v2, 1
	s_cmp_lg_u32 s7, 0
	s_cbranch_scc1 done
	s_mov_b32 s7, 1
	// v_mov_b32 v2, 2, to what is 12 bytes behind s_getpc_b64.
	v_mov_b32 v3, 0x7e040282
	global_store_dword v[4:5], v3, off offset:12
	s_waitcnt vmcnt(0) lgkmcnt(0)
	s_icache_inv
	s_branch changed
done:
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// Stores a number that tests change.
kernel constant, 0
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	v_mov_b32 v1, 0
	.globl number
number:
	v_mov_b32 v2, 1
	s_waitcnt lgkmcnt(0)
	global_store_dword v1, v2, s[4:5]
	s_endpgm

// Fills all local memory of a unit of GFX 9.5.0, and stores the sum of what each item has
// put there.
kernel large, 163840
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_mov_b32 s7, 0x9e3779b1
	s_mov_b32 s8, 31
	s_movk_i32 s6, 640
	v_lshlrev_b32 v1, 2, v0
	v_mov_b32 v2, v1
	v_mov_b32 v5, 0x100
filling:
	v_mul_lo_u32 v3, v2, s7
	v_add_u32 v3, s2, v3
	ds_write_b32 v2, v3
	v_add_u32 v2, v2, v5
	s_sub_u32 s6, s6, 1
	s_cmp_lg_u32 s6, 0
	s_cbranch_scc1 filling
	s_waitcnt lgkmcnt(0)
	s_movk_i32 s6, 640
	v_mov_b32 v2, v1
	v_mov_b32 v4, 0
summing:
	ds_read_b32 v3, v2
	s_waitcnt lgkmcnt(0)
	v_mul_lo_u32 v4, v4, s8
	v_add_u32 v4, v4, v3
	v_add_u32 v2, v2, v5
	s_sub_u32 s6, s6, 1
	s_cmp_lg_u32 s6, 0
	s_cbranch_scc1 summing
	s_lshl_b32 s9, s2, 8
	v_add_u32 v1, s9, v1
	global_store_dword v1, v4, s[4:5]
	s_endpgm
