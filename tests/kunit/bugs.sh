# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Runs in the guest: for each argument NUMBER:SUITE,..., the test module with the bug
# of that number, which runs these suites.  It ends after a bug that has left the
# kernel in a state in which nothing can be concluded any more: scripts/test/kfd-bugs
# goes on in another guest.

modules=/modules
filter=/sys/module/kunit/parameters/filter_glob
# How long a suite may take, in tenths of a second.
patience=1200

# run NUMBER SUITE: loading the module runs the suite.
run() {
	# Without an end of line, which would be a part of the name.
	printf %s "$2" >$filter
	insmod $modules/amd_gpreempt_kunit.ko bug="$1" &
	loading=$!
	waited=0
	while kill -0 $loading 2>/dev/null; do
		[ $waited -lt $patience ] || return 1
		waited=$((waited + 1))
		sleep 0.1
	done
	wait $loading && rmmod amd_gpreempt_kunit
}

# bug NUMBER SUITE...: fails where nothing more can be concluded.
bug() {
	number=$1
	shift
	echo "kfd-bugs: begin $number"
	# Each bug meets a driver of its own.
	insmod $modules/amdgpu.ko || return 1
	for suite; do
		run "$number" "$suite" || return 1
	done
	rmmod amdgpu || return 1
	echo "kfd-bugs: end $number"
	# A warning or worse, or a complaint about locks, of which only the first is made.
	[ $(($(cat /proc/sys/kernel/tainted) & (32 | 128 | 512 | 16384))) -eq 0 ] || return 1
	grep -q '^ *debug_locks: *1' /proc/lockdep_stats
}

for given; do
	# shellcheck disable=SC2046 # These are several words.
	bug "${given%%:*}" $(echo "${given#*:}" | tr , ' ') || break
done
