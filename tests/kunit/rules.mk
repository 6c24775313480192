# SPDX-License-Identifier: GPL-2.0-only
#
# Kbuild includes this file when GP_KUNIT is set, as scripts/test/kunit does, for
# a build against the test kernel.  GP_KUNIT=suites makes the test module, from
# the crates of the product and the suites, and the fake amdgpu.ko beside which it
# runs; GP_KUNIT=product makes the product to run beside the same.  (The kernel
# builds no Rust object for two modules at once.)

gp_layout_edit := $(src)/tests/kunit/debug-layout

ifeq ($(GP_KUNIT),product)
obj-m := amd_gpreempt.o
amd_gpreempt-y := src/amd_gpreempt.o rust/kfd/kfd.o rust/policy/gpreempt_policy.o $(gp_shim)
else
obj-m := amdgpu.o amd_gpreempt_kunit.o
amdgpu-y := tests/kunit/fake/direct.o tests/kunit/fake/driver.o tests/kunit/fake/nodes.o tests/kunit/fake/types.o
amd_gpreempt_kunit-y := tests/kunit/amd_gpreempt_kunit.o rust/kfd/kfd.o \
	rust/policy/gpreempt_policy.o $(gp_shim)
endif

RUSTFLAGS_tests/kunit/amd_gpreempt_kunit.o := -L $(obj)/rust --extern gpreempt_policy --extern kfd
$(obj)/tests/kunit/amd_gpreempt_kunit.o: $(obj)/rust/policy/gpreempt_policy.o $(obj)/rust/kfd/kfd.o
$(obj)/tests/kunit/amd_gpreempt_kunit.o: export GP_LAYOUT := $(abspath $(obj))/bindings/generated_layout.rs
$(addprefix $(obj)/tests/kunit/fake/, direct.o driver.o nodes.o): $(obj)/bindings/generated_layout.h
