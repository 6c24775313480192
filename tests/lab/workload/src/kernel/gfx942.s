// SPDX-License-Identifier: GPL-2.0-only
// The countable kernel for a real GPU: each work-item waits, then one of each
// workgroup counts it. gfx942.rs has the words that this makes.
//
// s[0:1] are the arguments: the counters' address and nanoseconds. s2 is the
// workgroup. It waits by counting, not by a clock: a clock would go on while
// the waves are saved. A turn takes about 76 cycles at 2.1 GHz.
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_waitcnt lgkmcnt(0)
	s_mul_hi_u32 s8, s6, 0x712c000
	s_add_u32 s8, s8, 1
again:
	s_sleep 1
	// A cost beyond 32 bits never ends.
	s_cmp_lg_u32 s7, 0
	s_cbranch_scc1 again
	s_sub_u32 s8, s8, 1
	s_cmp_lg_u32 s8, 0
	s_cbranch_scc1 again
	v_and_b32_e32 v0, 0x3ff, v0
	v_cmp_eq_u32_e32 vcc, 0, v0
	s_and_saveexec_b64 s[10:11], vcc
	s_cbranch_execz done
	s_lshl_b32 s2, s2, 2
	v_mov_b32_e32 v1, s2
	v_mov_b32_e32 v2, 1
	global_atomic_add v1, v2, s[4:5]
	s_waitcnt vmcnt(0)
done:
	s_endpgm
