# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Runs in the guest, in place of product.sh: the product beside the fake amdgpu, while
# one allocation after the other fails: of the thread that looks at the node, and of
# whoever reads and writes its files.  Each time it has to do its work afterwards.

suite=amd_gpreempt_allocations
module=amd_gpreempt
debugfs=/sys/kernel/debug/$module
parameters=/sys/module/$module/parameters
node=/sys/devices/faux/$module
fake=/sys/module/amdgpu/parameters

# shellcheck source=tests/kunit/cases.sh
. /guest/cases.sh
attributes="/sys/kernel/debug/failslab /sys/kernel/debug/fail_page_alloc"
# No operation allocates so often.
most=400

unload() {
	rmmod "$module"
}

# eventually COMMAND...: it comes true, however slow the machine is.
eventually() {
	patience=300
	until "$@"; do
		patience=$((patience - 1))
		[ $patience -gt 0 ] || {
			echo "    # in vain: $*"
			return 1
		}
		sleep 0.1
	done
}

holds() {
	[ "$(cat "$1")" = "$2" ]
}

is_armed() {
	[ "$(cat $node/gpu_*/node0/state)" = armed ]
}

# only_within FUNCTION: allocations fail from now on where that is in the trace alone.
only_within() {
	sort /proc/kallsyms | grep -A 1 " $1\$" | cut -d' ' -f1 >/tmp/range
	[ "$(wc -l </tmp/range)" -eq 2 ] || return 1
	for each in $attributes; do
		echo "0x$(head -n 1 /tmp/range)" >"$each/require-start"
		echo "0x$(tail -n 1 /tmp/range)" >"$each/require-end"
	done
}

# load PARAMETER...: allocations fail from now on where the module is in the trace alone.
load() {
	insmod "/modules/$module.ko" "$@" || return 1
	eventually is_armed || return 1
	read -r _ bytes _ <<-end
		$(grep "^$module " /proc/modules)
	end
	start=$(sed -n "s/^$module .* 0x\([0-9a-f]*\).*/\1/p" /proc/modules)
	for each in $attributes; do
		echo "0x$start" >"$each/require-start"
		printf '0x%x\n' $((0x$start + bytes)) >"$each/require-end"
		echo 0 >"$each/verbose"
	done
	echo N >/sys/kernel/debug/failslab/ignore-gfp-wait
	echo N >/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait
	echo 0 >/sys/kernel/debug/fail_page_alloc/min-order
}

# arm: one allocation of each kind may fail; hit: whether one has.
arm() {
	for each in $attributes; do
		echo 1 >"$each/times"
	done
}

hit() {
	for each in $attributes; do
		[ "$(cat "$each/times")" -eq 1 ] || return 0
	done
	return 1
}

# works: it starts a queue that is found stopped, and nothing has failed for good.
works() {
	echo 3 >$fake/stopped
	eventually holds $fake/stopped 0 && eventually is_armed
}

# each_in COMMAND...: the command's first allocation fails, then the second, until it has
# no more; after each, the module works.
each_in() {
	nth=0
	while [ $nth -lt $most ]; do
		nth=$((nth + 1))
		arm
		sh -c "echo $nth >/proc/self/fail-nth && exec \"\$@\"" each "$@" >/dev/null 2>&1
		hit || break
		works || return 1
	done
	failed=$((failed + nth - 1))
	[ $nth -lt $most ]
}

# said: how many have failed; some must have.
said() {
	echo "    # $failed allocations failed"
	[ "$failed" -gt 0 ]
}

# What a pass needs was allocated before the first one, but for what the driver allocates
# to show a queue's registers.  The thread has no beginning to count from: it is counted
# from any moment.
of_the_thread() {
	failed=0
	load mode=enforce poll_interval_us=1000 sampler=mmio || return 1
	thread=$(grep -l "^gp/" /proc/[0-9]*/comm | head -n 1)
	thread=${thread%/comm}
	nth=0
	while [ $nth -lt 15 ]; do
		nth=$((nth + 1))
		arm
		echo $nth >"$thread/fail-nth" || return 1
		works || return 1
		! hit || failed=$((failed + 1))
	done
	echo 0 >"$thread/fail-nth"
	said && unload
}

of_whoever_reads_its_files() {
	failed=0
	load mode=enforce || return 1
	find "$debugfs" $node -type f -perm -0400 >/tmp/files
	# What a table is shown by is the kernel's own code.
	for within in vfs_open vfs_read; do
		only_within $within || return 1
		while read -r file; do
			each_in sh -c "while read -r line; do :; done <$file" || return 1
		done </tmp/files
	done
	said && unload
}

write() {
	each_in sh -c "echo '$1' >$2"
}

of_whoever_writes_its_files() {
	failed=0
	load mode=enforce || return 1
	write '1 comm=sh prio=3' $node/rules_add || return 1
	write '2 cgroup=/ prio=4 timeslice_us=500' $node/rules_add || return 1
	write 1 $node/rules_del || return 1
	for setting in mode=observe mode=off mode=enforce backend=mqd backend=hws transaction=direct \
		transaction=driver sampler=mmio sampler=auto; do
		write "${setting#*=}" "$parameters/${setting%%=*}" || return 1
	done
	for state in "$node"/gpu_*/node0/state; do
		write armed "$state" || return 1
	done
	said && unload
}

run of_the_thread of_whoever_reads_its_files of_whoever_writes_its_files
