# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Runs in the guest: the suites of the test module and those of the product, both
# beside the fake amdgpu, and then asks the kernel what memory was lost.
# kunit-report judges what is printed; a line 'kunit: error: ...' is a failure.

leaks=/sys/kernel/debug/kmemleak

# What was lost before is not ours.
echo clear >"$leaks"

insmod /modules/amdgpu.ko || echo "kunit: error: the fake amdgpu cannot be loaded"

# Loading a test module runs its suites.  What is not to run is not here.
for module in amd_gpreempt_kunit amd_gpreempt_kunit_standalone; do
	[ -e /modules/$module.ko ] || continue
	insmod /modules/$module.ko || echo "kunit: error: the test module $module cannot be loaded"
	rmmod $module || echo "kunit: error: the test module $module cannot be taken out"
done
if [ -e /modules/amd_gpreempt.ko ]; then
	sh /guest/product.sh
fi

rmmod amdgpu || echo "kunit: error: the fake amdgpu cannot be taken out"

# Memory counts as lost when it is older than five seconds and nothing pointed
# to it in two looks.
sleep 6
echo scan >"$leaks"
echo scan >"$leaks"
cat "$leaks"

# Lockdep gives up after its first complaint; without it nothing is proven.
grep -q '^ *debug_locks: *1' /proc/lockdep_stats || echo "kunit: error: lockdep has turned itself off"
echo "kunit: end"
