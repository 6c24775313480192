# SPDX-License-Identifier: GPL-2.0-only
#
# Kbuild includes this file when GP_KUNIT is set, as scripts/test/kunit does, for
# a build against the test kernel.  GP_KUNIT=suites makes the test module, from
# the crates of the product and the suites, and the fake amdgpu.ko beside which it
# runs; GP_KUNIT=product makes the product to run beside the same.  (The kernel
# builds no Rust object for two modules at once.)  GP_KUNIT=standalone makes the fake and
# a test module whose crates, and the suites, are one object without the kernel's own
# crates.  GP_KUNIT=fake makes the fake alone, as scripts/test/module does for stock
# kernels.  GP_OFFSETS is the table of where the driver has its fields.

quiet_cmd_gp_layout = LAYOUT  $@
      cmd_gp_layout = sh $(src)/tests/kunit/layout $(gp_language) $(GP_OFFSETS) >$@
$(obj)/tests/kunit/generated_layout.rs: private gp_language := rust
$(obj)/tests/kunit/generated_layout.h: private gp_language := c
$(obj)/tests/kunit/generated_layout.rs $(obj)/tests/kunit/generated_layout.h: \
		$(src)/tests/kunit/layout $(GP_OFFSETS) FORCE
	$(call if_changed,gp_layout)
targets += tests/kunit/generated_layout.rs tests/kunit/generated_layout.h

ifeq ($(GP_KUNIT),product)
obj-m := amd_gpreempt.o
amd_gpreempt-y := src/amd_gpreempt.o rust/kfd/kfd.o rust/policy/gpreempt_policy.o $(gp_shim)
else
gp_test_module_suites := amd_gpreempt_kunit.o
gp_test_module_standalone := amd_gpreempt_kunit_standalone.o
obj-m := amdgpu.o $(gp_test_module_$(GP_KUNIT))
amdgpu-y := tests/kunit/fake/direct.o tests/kunit/fake/driver.o tests/kunit/fake/nodes.o tests/kunit/fake/types.o
amd_gpreempt_kunit-y := tests/kunit/amd_gpreempt_kunit.o rust/kfd/kfd.o \
	rust/policy/gpreempt_policy.o $(gp_shim)
amd_gpreempt_kunit_standalone-y := tests/kunit/standalone/object.o tests/kunit/standalone/kunit.o \
	bindings/runtime.o $(gp_shim)
endif

ifeq ($(GP_KUNIT),standalone)
quiet_cmd_gp_suites = RUSTC   $@
      cmd_gp_suites = RUSTC=$(RUSTC) $(src)/scripts/build/rust-object \
	$(objtree)/include/config/auto.conf $@ $(src)/tests/kunit/standalone/root \
	$(cmd_objtool)
gp_object_of_suites := $(obj)/tests/kunit/standalone/object.o
$(gp_object_of_suites): export GP_LAYOUT := $(abspath $(obj))/tests/kunit/generated_layout.rs
$(gp_object_of_suites): $(obj)/tests/kunit/generated_layout.rs \
		$(shell find $(addprefix $(src)/, rust src tests/kunit tests/host/policy/src) -name '*.rs') \
		$(addprefix $(src)/, bindings/shim.rs bindings/runtime.rs scripts/build/rust-object) \
		$(src)/tests/kunit/standalone/root FORCE
	$(call if_changed,gp_suites)
targets += tests/kunit/standalone/object.o
endif

RUSTFLAGS_tests/kunit/amd_gpreempt_kunit.o := -L $(obj)/rust --extern gpreempt_policy --extern kfd
$(obj)/tests/kunit/amd_gpreempt_kunit.o: $(obj)/rust/policy/gpreempt_policy.o $(obj)/rust/kfd/kfd.o
$(obj)/tests/kunit/amd_gpreempt_kunit.o: $(obj)/tests/kunit/generated_layout.rs
$(obj)/tests/kunit/amd_gpreempt_kunit.o: export GP_LAYOUT := $(abspath $(obj))/tests/kunit/generated_layout.rs
gp_fakes := $(addprefix tests/kunit/fake/, direct.o driver.o nodes.o types.o)
$(foreach fake,$(gp_fakes),$(eval CFLAGS_$(fake) := -I$(obj)/tests/kunit))
CFLAGS_tests/kunit/fake/types.o += $(call gp_probe,sysfs_has_simple_read,SYSFS_HAS_SIMPLE_READ)
$(addprefix $(obj)/, $(gp_fakes)): $(obj)/tests/kunit/generated_layout.h
