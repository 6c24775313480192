# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Runs in the guest: loads the test module, which runs the suites, takes it out
# again, and asks the kernel what memory was lost.  kunit-report judges what is
# printed; a line 'kunit: error: ...' counts as a failure.

module=amd_gpreempt_kunit
leaks=/sys/kernel/debug/kmemleak

# What was lost before is not ours.
echo clear >"$leaks"

# The suites run beside a fake amdgpu.
if insmod /modules/amdgpu.ko && insmod "/modules/$module.ko"; then
	rmmod "$module" && rmmod amdgpu || echo "kunit: error: a module cannot be taken out"
else
	echo "kunit: error: a module cannot be loaded"
fi

# Memory counts as lost when it is older than five seconds and nothing pointed
# to it in two looks.
sleep 6
echo scan >"$leaks"
echo scan >"$leaks"
cat "$leaks"

# Lockdep gives up after its first complaint; without it nothing is proven.
grep -q '^ *debug_locks: *1' /proc/lockdep_stats || echo "kunit: error: lockdep has turned itself off"
echo "kunit: end"
