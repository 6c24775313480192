# SPDX-License-Identifier: GPL-2.0
#
# The test module amd_gpreempt_kunit.ko, from the crates of the product and the
# suites, and the fake amdgpu.ko beside which it runs.  Kbuild includes this file
# instead of naming amd_gpreempt.ko when GP_KUNIT is set, as scripts/test-kunit
# does.

obj-m := amdgpu.o amd_gpreempt_kunit.o
amdgpu-y := tests/kunit/fake/driver.o
amd_gpreempt_kunit-y := tests/kunit/amd_gpreempt_kunit.o rust/kfd/kfd.o \
	rust/policy/gpreempt_policy.o $(gp_shim)

RUSTFLAGS_tests/kunit/amd_gpreempt_kunit.o := -L $(obj)/rust --extern gpreempt_policy --extern kfd
$(obj)/tests/kunit/amd_gpreempt_kunit.o: $(obj)/rust/policy/gpreempt_policy.o $(obj)/rust/kfd/kfd.o
$(obj)/tests/kunit/amd_gpreempt_kunit.o: export GP_LAYOUT := $(abspath $(obj))/bindings/generated_layout.rs
$(obj)/tests/kunit/fake/driver.o: $(obj)/bindings/generated_layout.h
gp_layout_edit := $(src)/tests/kunit/debug-layout
