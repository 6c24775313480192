# SPDX-License-Identifier: GPL-2.0
#
# The test module amd_gpreempt_kunit.ko, from the crates of the product and the
# suites.  Kbuild includes this file instead of naming amd_gpreempt.ko when
# GP_KUNIT is set, as scripts/test-kunit does.

obj-m := amd_gpreempt_kunit.o
amd_gpreempt_kunit-y := tests/kunit/amd_gpreempt_kunit.o rust/policy/gpreempt_policy.o

RUSTFLAGS_tests/kunit/amd_gpreempt_kunit.o := -L $(obj)/rust --extern gpreempt_policy
$(obj)/tests/kunit/amd_gpreempt_kunit.o: $(obj)/rust/policy/gpreempt_policy.o
