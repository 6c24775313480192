# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the configuration of a kernel says about a build for it.  A script sources
# common.sh before this file and sets `configuration` to a file as
# include/config/auto.conf.
#
# shellcheck disable=SC2154 # The script sets configuration.

# has NAME...: whether the kernel has one of these; older kernels have other names.
has() {
	local each
	for each; do
		if grep -q "^CONFIG_$each=y" "$configuration"; then
			return 0
		fi
	done
	return 1
}

# setting KEY: a value of the kernel's configuration, without quotes: releases differ.
setting() {
	sed -nE "s/^CONFIG_$1=\"?([^\"]*)\"?\$/\1/p" "$configuration" 2>/dev/null || :
}

# padding: how many bytes the kernel wants in front of each function.
padding() {
	has CALL_PADDING || return 0
	setting FUNCTION_PADDING_BYTES
}

# check_kernel: refuses a kernel for which no standalone build is made.
check_kernel() {
	[ -r "$configuration" ] || die "there is no $configuration: install the kernel's headers once more"
	has X86_64 || die "the module is for x86-64 alone"
	local each
	for each in CFI CFI_CLANG KMSAN KCSAN; do
		! has "$each" || die "this kernel has CONFIG_$each, for which a standalone build is not made: use a kernel without it, or one with Rust (CONFIG_RUST)"
	done
}
