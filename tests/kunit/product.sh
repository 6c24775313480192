# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Runs in the guest: the product itself, beside the fake amdgpu, on a kernel that
# sees locks taken in the wrong order, sleep where there must be none, and memory
# that is lost.  It is one file because its cases share the few functions that tell the
# fake what to do and wait for what the product does.

suite=amd_gpreempt_product
module=amd_gpreempt
debugfs=/sys/kernel/debug/$module
parameters=/sys/module/$module/parameters
bus=/sys/bus/pci/drivers/amdgpu
# What the fake is told: see its parameters.
fake=/sys/module/amdgpu/parameters

# shellcheck source=tests/kunit/cases.sh
. /guest/cases.sh

load() {
	insmod "/modules/$module.ko" "$@"
}

unload() {
	rmmod "$module"
}

# pass_by: lets the monitor look at the node for a while.
pass_by() {
	sleep 0.3
}

# eventually COMMAND...: it comes true, however slow the machine is.
eventually() {
	patience=100
	until "$@" >/tmp/eventually; do
		patience=$((patience - 1))
		[ $patience -gt 0 ] || {
			cat /tmp/eventually
			return 1
		}
		pass_by
	done
}

# holds FILE VALUE
holds() {
	[ "$(cat "$1")" = "$2" ] || {
		echo "    # $1 holds $(cat "$1") and not $2"
		return 1
	}
}

every_file_can_be_read() {
	load mode=enforce || return 1
	pass_by
	find "$debugfs" "/sys/devices/faux/$module" -type f -perm -0400 >/tmp/files
	[ "$(wc -l </tmp/files)" -ge 5 ] || return 1
	unreadable=0
	while read -r file; do
		cat "$file" >/tmp/content || {
			echo "    # $file cannot be read"
			unreadable=$((unreadable + 1))
		}
	done </tmp/files
	unload && [ $unreadable -eq 0 ]
}

parameters_change_while_it_runs() {
	load || return 1
	for setting in mode=enforce backend=mqd backend=hws transaction=direct transaction=driver sampler=memory sampler=mmio \
		sampler=auto mode=off mode=observe \
		user_priority=cap:3 timeslice_us=500 mode=enforce; do
		echo "${setting#*=}" >"$parameters/${setting%%=*}" || return 1
		pass_by
	done
	for setting in mode=nonsense backend= backend=process poll_interval_us=0 poll_interval_us=-1 \
		grace_us=99999999999 user_priority=cap:16; do
		! echo "${setting#*=}" >"$parameters/${setting%%=*}" 2>/dev/null || return 1
	done
	unload
}

# own_mode: the file with the mode of the GPU.
own_mode() {
	echo "/sys/devices/faux/$module/gpu_$device/mode"
}

a_gpu_has_a_mode_of_its_own() {
	device=$(basename "$(find "$bus/" -name '0000:*')")
	load && holds "$(own_mode)" module || return 1
	for mode in enforce observe off; do
		echo $mode >"$(own_mode)" && holds "$(own_mode)" $mode || return 1
		holds "$parameters/mode" observe || return 1
	done
	for mode in nonsense '' 1; do
		! echo "$mode" 2>/dev/null >"$(own_mode)" || return 1
	done
	[ "$(times "$device: mode=nonsense: write off, observe, enforce or module")" -eq 1 ] || return 1
	# What is set for all is another matter, and the driver may let go of the GPU.
	echo enforce >"$parameters/mode" && holds "$(own_mode)" off || return 1
	echo "$device" >"$bus/unbind" && echo "$device" >"$bus/bind" || return 1
	holds "$(own_mode)" off || return 1
	echo module >"$(own_mode)" && holds "$(own_mode)" module || return 1
	# It goes with the module.
	echo off >"$(own_mode)" && unload && load && holds "$(own_mode)" module && unload
}

a_gpu_acts_by_a_mode_of_its_own() {
	device=$(basename "$(find "$bus/" -name '0000:*')")
	divide 2 || return 1
	work_on_each_node mode=observe max_stop_ms=60000 || return 1
	eventually has_nodes 2 || return 1
	for node in 0 1; do
		eventually grown $node inversions 0 1 || return 1
		[ "$(of $node stops)" -eq 0 ] || return 1
	done
	echo enforce >"$(own_mode)"
	eventually has_stopped 0 1 || return 1
	echo module >"$(own_mode)"
	for node in 0 1; do
		eventually none_stopped $node || return 1
	done
	unload
}

# none_stopped NODE: it has started what it had stopped.
none_stopped() {
	[ "$(of "$1" stops)" -eq "$(of "$1" starts)" ]
}

bad_parameters_keep_it_out() {
	! load mode=nonsense 2>/dev/null || return 1
	! load poll_interval_us=0 2>/dev/null || return 1
	[ ! -e "$parameters" ]
}

the_driver_may_let_go_of_the_device_and_take_it_again() {
	load mode=enforce || return 1
	device=$(basename "$(find "$bus/" -name '0000:*')")
	for _ in 1 2 3; do
		pass_by
		echo "$device" >"$bus/unbind" || return 1
		cat "$debugfs"/queues >/dev/null || return 1
		echo "$device" >"$bus/bind" || return 1
	done
	echo "$device" >"$bus/unbind" || return 1
	unload || return 1
	load || return 1
	echo "$device" >"$bus/bind" || return 1
	pass_by
	unload
}

both_ended() {
	[ "$(wc -l </tmp/ended)" -eq 2 ]
}

# Both want the device's lock, and the driver core waits for whoever stands at the
# device in the driver's list.
it_loads_while_the_driver_lets_go_of_the_device() {
	device=$(basename "$(find "$bus/" -name '0000:*')")
	echo 1000 >$fake/remove_ms
	: >/tmp/ended
	{ echo "$device" >"$bus/unbind"; echo unbind >>/tmp/ended; } &
	sleep 0.3
	[ ! -s /tmp/ended ] || { echo "    # the driver was too fast"; return 1; }
	{ load; echo load >>/tmp/ended; } &
	eventually both_ended || return 1
	echo 0 >$fake/remove_ms
	echo "$device" >"$bus/bind" || return 1
	pass_by
	unload
}

amdgpu_cannot_go_while_it_is_there() {
	load || return 1
	! rmmod amdgpu 2>/dev/null || return 1
	unload
}

an_open_file_keeps_it_in() {
	load mode=enforce || return 1
	exec 3<"$debugfs/queues"
	! unload 2>/dev/null || return 1
	cat <&3 >/dev/null
	exec 3<&-
	unload
}

it_loads_and_unloads_many_times() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		load mode=enforce || return 1
		unload || return 1
	done
}

# times TEXT: how often the log has it.
times() {
	dmesg | grep -c "$1"
}

# exchange NAME NAME: of the fields of the driver, in its type information.
exchange() {
	echo "$1 $2" >$fake/exchange
}

# The log names the first field that differs, in one line.
a_driver_with_two_fields_exchanged_is_refused() {
	said=$(times "fit this module: queue_properties.queue_address has 4 bytes instead of 8; use another")
	exchange queue_percent queue_address || return 1
	loaded=0
	load 2>/dev/null && loaded=1
	exchange queue_percent queue_address || return 1
	said=$(($(times "fit this module: queue_properties.queue_address has 4 bytes instead of 8; use another") - said))
	[ $loaded -eq 0 ] && [ $said -ge 1 ] || return 1
	[ ! -e "$parameters" ] && holds $fake/unmaps 0 || return 1
	load && unload
}

a_driver_with_a_function_replaced_is_refused() {
	said=$(times "debug_map_and_unlock() is not int(device_queue_manager \*)")
	exchange debug_map_and_unlock kfd_destroy_mqd_sdma || return 1
	loaded=0
	load 2>/dev/null && loaded=1
	exchange debug_map_and_unlock kfd_destroy_mqd_sdma || return 1
	said=$(($(times "debug_map_and_unlock() is not int(device_queue_manager \*)") - said))
	[ $loaded -eq 0 ] && [ $said -ge 1 ] || return 1
	load && unload
}

# Only what needs the function is refused.
a_driver_with_a_function_replaced_is_refused_for_transaction_direct_alone() {
	said=$(times "transaction=direct cannot be used with this amdgpu: pm_release_ib() is not void(packet_manager \*)")
	exchange pm_release_ib kfd_is_locked || return 1
	loaded=0
	load mode=enforce transaction=direct && loaded=1
	exchange pm_release_ib kfd_is_locked || return 1
	said=$(($(times "transaction=direct cannot be used with this amdgpu: pm_release_ib() is not void(packet_manager \*)") - said))
	[ $loaded -eq 1 ] && [ $said -ge 1 ] && eventually state_is refused || return 1
	echo 1 >$fake/stopped
	pass_by
	stopped 1 && holds $fake/unmaps 0 && holds $fake/direct_unmaps 0 || return 1
	echo driver >"$parameters/transaction"
	eventually state_is armed && eventually stopped 0 || return 1
	holds $fake/direct_unmaps 0 || return 1
	unload
}

# range FUNCTION DIRECTORY WORD: names the function's addresses in two files.
range() {
	sort /proc/kallsyms | grep -A 1 " $1\$" | cut -d' ' -f1 >/tmp/range
	[ "$(wc -l </tmp/range)" -eq 2 ] || return 1
	echo "0x$(head -n 1 /tmp/range)" >"$2/$3-start"
	echo "0x$(tail -n 1 /tmp/range)" >"$2/$3-end"
}

# only_in_init ATTRIBUTES: has allocations fail only below do_one_initcall(), that
# is in our own code and what it calls: the module loader warns about its own.  So
# does fprobe, which is left out too.
only_in_init() {
	range do_one_initcall "$1" require || return 1
	range register_fprobe_syms "$1" reject || return 1
	echo 0 >"$1/verbose"
	echo N >"$1/ignore-gfp-wait"
}

# The first allocation of a load fails, then the second, and so on until a load
# has no more.  It may load without it, or fail; busybox then tries once more in
# another way, so that it ends up loaded.
it_survives_each_failing_allocation() {
	slabs=/sys/kernel/debug/failslab
	pages=/sys/kernel/debug/fail_page_alloc
	only_in_init $slabs || return 1
	only_in_init $pages || return 1
	nth=0
	injected=1
	while [ $injected -gt 0 ] && [ $nth -lt 1000 ]; do
		nth=$((nth + 1))
		echo 1 >$slabs/times
		echo 1 >$pages/times
		sh -c "echo $nth >/proc/self/fail-nth && exec insmod /modules/$module.ko mode=enforce"
		injected=$((2 - $(cat $slabs/times) - $(cat $pages/times)))
		unload || return 1
	done 2>/dev/null
	echo "    # $((nth - 1)) allocations failed"
	[ $nth -gt 10 ] && [ $nth -lt 1000 ]
}

# stopped COUNT: so many queues for waves are stopped.
stopped() {
	[ "$(cat $fake/stopped)" -eq "$1" ] || {
		echo "    # $(cat $fake/stopped) queues are stopped, and not $1"
		return 1
	}
}

# As an earlier load would leave them that had to give up.
queues_found_stopped_are_started() {
	for mode in observe enforce off; do
		echo 0 >$fake/stopped
		echo 3 >$fake/stopped
		stopped 2 || return 1
		load mode=$mode || return 1
		eventually stopped 0 || return 1
		unload || return 1
	done
}

queues_found_stopped_are_started_with_transaction_direct() {
	echo 3 >$fake/stopped
	load transaction=direct || return 1
	eventually stopped 0 || return 1
	holds $fake/unmaps 0 && holds $fake/direct_unmaps 1 || return 1
	# The other way is taken from the next pass on.
	echo driver >"$parameters/transaction"
	pass_by
	echo 3 >$fake/stopped
	echo enforce >"$parameters/mode"
	eventually stopped 0 || return 1
	holds $fake/unmaps 1 && holds $fake/direct_unmaps 1 || return 1
	unload
}

# How many seconds something that went wrong is left alone.
pause=10

# left_to_driver COUNT: three times somebody is to be started, the firmware answers nobody
# but the driver, and the module has tried so many times.
left_to_driver() {
	echo -62 >$fake/fence_error
	for unmaps in 1 2 3; do
		echo 3 >$fake/stopped
		eventually stopped 0 || return 1
		holds $fake/unmaps $unmaps || return 1
	done
	grep -q "handed_over *$1" "$debugfs/stats" && grep -q "failures *0" "$debugfs/stats"
}

# One line, however often it happens, and it is tried again after a pause.
what_transaction_direct_does_not_expect_is_left_to_the_driver() {
	said=$(times "transaction=direct: the firmware has not answered soon")
	load mode=enforce transaction=direct || return 1
	pass_by
	left_to_driver 1 || return 1
	sleep $((pause + 1))
	echo 3 >$fake/stopped
	eventually stopped 0 || return 1
	grep -q "handed_over *2" "$debugfs/stats" && grep -q "failures *0" "$debugfs/stats" || return 1
	said=$(($(times "transaction=direct: the firmware has not answered soon") - said))
	[ $said -eq 1 ] || return 1
	unload
}

# Each try costs the driver's time limit.
transaction_direct_leaves_it_to_the_driver_for_a_while() {
	load mode=enforce transaction=direct || return 1
	pass_by
	left_to_driver 1 || return 1
	holds $fake/direct_unmaps 1 || return 1
	unload
}

# What was sent may have taken queues off, and the driver does not say that it has.
queues_that_transaction_direct_may_have_taken_off_are_put_back() {
	said=$(times "the queues are back on the GPU")
	load mode=enforce transaction=direct || return 1
	pass_by
	echo -62 >$fake/fence_error
	echo -5 >$fake/unmap_error
	echo 3 >$fake/stopped
	eventually grep -q "queues could not be" "$debugfs/stats" || return 1
	echo 0 >$fake/unmap_error
	eventually stopped 0 || return 1
	holds $fake/mapped 1 || return 1
	[ "$(times "the queues are back on the GPU")" -gt "$said" ] || return 1
	unload
}

# value NAME: the node's value of that name in sysfs.
value() {
	cat "$(find "/sys/devices/faux/$module" -path "*/node*/$1")"
}

backend_is() {
	[ "$(value backend)" = "$1" ]
}

# halt: the scheduler's queues cannot be reached, as while debugfs halts it.
halt() {
	echo 1 >$fake/halted
}

# stop_while NUMBER CONDITION...: a queue is stopped under the running product,
# which cannot start it in that condition.
stop_while() {
	number=$1
	shift
	"$@" && echo "$number" >$fake/stopped && pass_by && stopped 1
}

refuse() {
	echo -5 >$fake/unmap_error
}

# The first transaction starts a queue and fails to put the node back, twice; so
# does the first try after it.  Nobody else would ever put it back.
queues_off_the_hardware_are_put_back() {
	for way in pass unload; do
		load mode=enforce || return 1
		pass_by
		said=$(times "the queues are back on the GPU")
		echo 3 >$fake/map_errors
		echo 1 >$fake/stopped
		eventually stopped 0 || return 1
		[ $way = unload ] || eventually holds $fake/mapped 1 || return 1
		unload || return 1
		holds $fake/map_errors 0 && holds $fake/mapped 1 || return 1
		[ "$(times "the queues are back on the GPU")" -gt "$said" ] || return 1
	done
}

# A halt that ends, and a refusal without a reset: nothing but the product would
# start the queue.
unloading_waits_until_queues_can_be_started() {
	for condition in halt refuse; do
		load mode=enforce || return 1
		pass_by
		stop_while 1 $condition || return 1
		(
			sleep 0.3
			echo 0 >$fake/halted
			echo 0 >$fake/unmap_error
		) &
		unload || return 1
		stopped 0 || return 1
		wait
	done
}

# There is nothing to be done for which the scheduler would be needed, or counters
# that fit.
unloading_asks_for_nothing_where_nothing_is_stopped() {
	for trouble in halted miscount; do
		load mode=enforce || return 1
		pass_by
		said=$(times "stopped queues are left")
		echo 1 >$fake/$trouble
		unload || return 1
		[ "$(times "stopped queues are left")" -eq "$said" ] || return 1
		echo 1 >$fake/reset
	done
}

# sleep_briefly: as far as all programs and threads are frozen, and back.
sleep_briefly() {
	echo freezer >/sys/power/pm_test
	echo 1 >/sys/module/suspend/parameters/pm_test_delay
	echo freeze >/sys/power/state
}

# Not even then would it survive the sleep that the scheduler is halted.
a_queue_that_cannot_be_started_keeps_the_system_awake() {
	load mode=enforce || return 1
	pass_by
	stop_while 1 halt || return 1
	! sleep_briefly 2>/dev/null || return 1
	dmesg | grep -q "the system stays awake" || return 1
	# It is awake, and goes on as before.
	echo 0 >$fake/halted
	eventually stopped 0 || return 1
	sleep_briefly || return 1
	unload
}

# The module tries to start a queue for as long as it lets go of the GPU, and the system is
# about to sleep meanwhile, for which a queue that is stopped would be lost.
the_system_does_not_sleep_while_it_unloads() {
	load mode=enforce || return 1
	pass_by
	stop_while 1 halt || return 1
	unload &
	sleep 0.5
	sleep_briefly || return 1
	wait
	dmesg | grep -e "stopped queues are left" -e "Freezing user space processes$" | tail -n 1 >/tmp/last
	grep "Freezing user space processes" /tmp/last || return 1
	echo 0 >$fake/halted
	load && eventually stopped 0 && unload
}

unloading_names_what_it_has_to_leave() {
	load mode=enforce || return 1
	pass_by
	stop_while 2 halt || return 1
	unload || return 1
	stopped 1 || return 1
	dmesg | grep -q "left stopped: queue 0 of process" || return 1
	echo 0 >$fake/halted
	load || return 1
	eventually stopped 0 || return 1
	unload
}

a_backend_stays_until_it_has_started_what_it_stopped() {
	load mode=enforce backend=hws || return 1
	pass_by
	stop_while 3 halt || return 1
	echo mqd >"$parameters/backend" || return 1
	pass_by
	backend_is hws || return 1
	stopped 1 || return 1
	echo 0 >$fake/halted
	eventually stopped 0 || return 1
	eventually backend_is mqd || return 1
	unload
}

# KFD halts its scheduler for a while on behalf of others.
a_halt_is_no_failure() {
	load mode=enforce || return 1
	pass_by
	stop_while 1 halt || return 1
	sleep 1
	[ "$(value failures)" -eq 0 ] && [ "$(value state)" = armed ] || return 1
	echo 0 >$fake/halted
	eventually stopped 0 || return 1
	unload
}

state_is() {
	[ "$(value state)" = "$1" ]
}

# fall_silent: the firmware does not answer when a queue is to be started, as with a
# driver that is told not to reset the GPU.
fall_silent() {
	load mode=enforce || return 1
	pass_by
	silent_since=$(date +%s)
	echo -62 >$fake/unmap_error
	echo 1 >$fake/stopped
	echo enforce >"$parameters/mode"
	eventually state_is silent && stopped 1
}

# asked_once_a_pause: the firmware was asked, and again only after a pause.
asked_once_a_pause() {
	asked=$(cat $fake/unmaps)
	pauses=$((($(date +%s) + 1 - silent_since) / pause))
	if [ "$asked" -lt 1 ] || [ "$asked" -gt $((1 + pauses)) ]; then
		echo "    # it was asked $asked times in $pauses pauses"
		return 1
	fi
}

# Whoever asks waits for the driver's whole time limit.
firmware_that_does_not_answer_is_asked_once() {
	said=$(times "the firmware does not answer: nothing is sent for a while")
	fall_silent || return 1
	# This has everything started first.
	echo mqd >"$parameters/backend"
	pass_by
	pass_by
	backend_is hws || return 1
	echo hws >"$parameters/backend"
	echo off >"$parameters/mode"
	pass_by
	pass_by
	asked_once_a_pause && stopped 1 || return 1
	said=$(($(times "the firmware does not answer: nothing is sent for a while") - said))
	[ $said -eq 1 ] || return 1
	echo enforce >"$parameters/mode"
	echo 0 >$fake/unmap_error
	echo 1 >$fake/resets
	eventually stopped 0 && eventually state_is armed || return 1
	unload
}

# Nothing says so: no reset, and no operator.
firmware_that_answers_again_is_found_out() {
	fall_silent || return 1
	echo 0 >$fake/unmap_error
	eventually stopped 0 && eventually state_is armed || return 1
	unload
}

# fall_silent_over_a_stop: the same when a queue is to be stopped, so that none is, and
# nothing is left to do that would have anything sent.
fall_silent_over_a_stop() {
	echo -62 >$fake/unmap_error
	silent_since=$(date +%s)
	work_on_each_node || return 1
	eventually state_is silent || return 1
	echo 0 >$fake/busy
	stopped 0 && asked_once_a_pause && holds $fake/mapped 0
}

# Late, and unheard: to the driver they are on the hardware, and it has nothing to send.
queues_that_firmware_took_off_late_are_put_back() {
	said=$(times "the queues are back on the GPU")
	fall_silent_over_a_stop || return 1
	echo 0 >$fake/unmap_error
	pass_by
	asked_once_a_pause || return 1
	arm && eventually holds $fake/mapped 1 && eventually state_is armed || return 1
	[ "$(times "the queues are back on the GPU")" -gt "$said" ] || return 1
	put_back=$(cat $fake/unmaps)
	pass_by
	holds $fake/unmaps "$put_back" || return 1
	unload
}

# It puts back everything by itself.
a_reset_leaves_nothing_to_put_back() {
	fall_silent_over_a_stop || return 1
	echo 0 >$fake/unmap_error
	echo 1 >$fake/resets
	eventually state_is armed || return 1
	pass_by
	asked_once_a_pause || return 1
	unload
}

# Neither is kept waiting for what was stopped by nobody.
firmware_that_took_queues_off_is_no_reason_to_stay_awake_or_loaded() {
	said=$(times "stopped queues are left")
	fall_silent_over_a_stop || return 1
	sleep_briefly || return 1
	unload || return 1
	[ "$(times "stopped queues are left")" -eq "$said" ]
}

# What one backend has stopped, no other starts.
a_backend_stays_while_firmware_does_not_answer() {
	fall_silent || return 1
	echo mqd >"$parameters/backend"
	pass_by
	pass_by
	backend_is hws && stopped 1 || return 1
	echo 0 >$fake/unmap_error
	echo 1 >$fake/resets
	eventually stopped 0 && eventually backend_is mqd || return 1
	unload
}

arm() {
	echo armed >"$(find "/sys/devices/faux/$module" -name state)"
}

# A changed sampler and the mode off each have everything started first.
a_queue_that_firmware_did_not_start_is_not_forgotten() {
	fall_silent || return 1
	echo memory >"$parameters/sampler"
	pass_by
	echo off >"$parameters/mode"
	pass_by
	pass_by
	stopped 1 || return 1
	echo 0 >$fake/unmap_error
	arm && eventually stopped 0 || return 1
	unload
}

unloading_names_what_firmware_does_not_start() {
	said=$(times "left stopped: queue")
	fall_silent || return 1
	unload && stopped 1 && asked_once_a_pause || return 1
	[ "$(times "left stopped: queue")" -gt "$said" ] || return 1
	# Where nothing is stopped, there is nothing to say.
	fall_silent || return 1
	echo 1 >$fake/empty
	said=$(times "stopped queues are left")
	unload || return 1
	[ "$(times "stopped queues are left")" -eq "$said" ]
}

firmware_that_does_not_answer_keeps_the_system_awake() {
	said=$(times "the system stays awake")
	fall_silent || return 1
	! sleep_briefly 2>/dev/null || return 1
	[ "$(times "the system stays awake")" -gt "$said" ] && stopped 1 || return 1
	echo 0 >$fake/unmap_error
	sleep_briefly && stopped 0 || return 1
	unload
}

# A queue is stopped that cannot be started, whether the module acts, rests or is
# to use another backend.  Nobody is taken off the hardware for that, and the log
# has it once.
wrong_counters_disturb_nobody() {
	load mode=enforce || return 1
	pass_by
	said=$(times "active_queue_count is not")
	echo -1 >$fake/miscount
	echo 1 >$fake/stopped
	for setting in mode=observe mode=off backend=mqd; do
		echo "${setting#*=}" >"$parameters/${setting%%=*}" || return 1
		pass_by
		pass_by
	done
	stopped 1 && holds $fake/unmaps 0 || return 1
	said=$(($(times "active_queue_count is not") - said))
	[ $said -eq 1 ] || {
		echo "    # it is said $said times"
		return 1
	}
	echo 1 >$fake/miscount
	eventually stopped 0 || return 1
	unload
}

# Nobody decides then when a stop has to end, so that it ends at once, or when the module
# is unloaded; and nothing is stopped, though somebody waits.
wrong_counters_keep_nothing_stopped() {
	load mode=enforce || return 1
	pass_by
	echo 1 >$fake/miscount
	echo 1 >$fake/stopped
	eventually stopped 0 && holds $fake/unmaps 1 && [ "$(value failures)" -eq 1 ] || return 1
	# As where a stop is left of a mode that was in force before, or of a module.
	echo observe >"$parameters/mode"
	pass_by
	echo 3 >$fake/stopped
	eventually stopped 0 && holds $fake/unmaps 2 && unload && holds $fake/unmaps 2 || return 1
	echo 1 >$fake/reset
	work_on_each_node max_stop_ms=60000 || return 1
	eventually has_stopped 0 || return 1
	echo 1 >$fake/miscount
	eventually none_stopped 0 && stopped 0 || return 1
	stops=$(of 0 stops)
	pass_by
	pass_by
	[ "$(of 0 stops)" -eq "$stops" ] || return 1
	echo -1 >$fake/miscount
	eventually grown 0 stops "$stops" 1 || return 1
	unload
}

# row_of_the_stopped: the table's row of the queue that does not run.
row_of_the_stopped() {
	tr '{' '\n' <"$debugfs/queues.json" | grep '"active":false'
}

# The look that finds the counters wrong sees a new queue before the others, and is not
# taken in.
the_table_pairs_queues_by_what_they_are() {
	load mode=observe || return 1
	pass_by
	# Less than there is, so that nothing can be started.
	echo -1 >$fake/miscount
	echo 1 >$fake/more_queues || return 1
	echo 3 >$fake/stopped
	eventually row_of_the_stopped || return 1
	# The second one of the second process.
	row_of_the_stopped | grep '"pid":2,' | grep -q '"queue":1,' || return 1
	echo 1 >$fake/miscount
	eventually stopped 0 || return 1
	unload
}

# What was stopped cannot be started, so that letting go takes its time; all of it
# the driver has to wait, for nobody would tell us later.
the_driver_waits_while_it_unloads() {
	device=$(basename "$(find "$bus/" -name '0000:*')")
	load mode=enforce || return 1
	pass_by
	stop_while 1 halt || return 1
	: >/tmp/ended
	{ unload; echo unload >>/tmp/ended; } &
	sleep 0.5
	{ echo "$device" >"$bus/unbind"; echo unbind >>/tmp/ended; } &
	sleep 0.5
	[ ! -s /tmp/ended ] || return 1
	eventually both_ended || return 1
	echo "$device" >"$bus/bind"
}

# New queues come before old ones, and there is no room for four of them.
a_stopped_queue_stays_in_view_and_is_started() {
	load mode=enforce || return 1
	pass_by
	echo 1024 >$fake/more_queues || return 1
	echo 3 >$fake/stopped
	echo enforce >"$parameters/mode"
	eventually stopped 0 || return 1
	[ "$(value exempt)" -eq 4 ] || return 1
	pass_by
	[ "$(times "more than 1024 queues; left alone are 4 of 1026 queues of swapper/0 (0)")" -eq 1 ] ||
		return 1
	grep -q "4 of 1026 queues are left alone" /sys/kernel/debug/amd_gpreempt/queues || return 1
	grep -q '"queues":1026,"left_out":4}' /sys/kernel/debug/amd_gpreempt/queues.json || return 1
	unload
}

# of NODE NAME: a node's value of that name in sysfs.
of() {
	cat "/sys/devices/faux/$module/"*"/node$1/$2"
}

# grown NODE NAME BEFORE BY: the value has grown by so much.
grown() {
	[ "$(of "$1" "$2")" -ge $(($3 + $4)) ] || {
		echo "    # node $1: $2 is $(of "$1" "$2"), which was $3"
		return 1
	}
}

# passes_while NODE COMMAND...: prints how many passes over the node a command lasted.
passes_while() {
	watched=$1
	shift
	passes=$(of "$watched" passes)
	"$@" >&2 || return 1
	echo $(($(of "$watched" passes) - passes))
}

# create NODE COUNT RESULT: as programs that have KFD create queues.
create() {
	echo "$*" >$fake/create
}

# divide COUNT: into so many nodes, as soon as nobody uses the GPU.
divide() {
	echo -2 >$fake/users
	eventually try_to_divide "$1" || return 1
	echo 2 >$fake/users
}

try_to_divide() {
	echo "$1" 2>/dev/null >$fake/nodes
}

has_nodes() {
	[ "$(find "/sys/devices/faux/$module" -name 'node*' | wc -l)" -eq "$1" ]
}

# Idle queues are looked at every ten seconds here, so that every other pass is
# somebody's doing.
idle="mode=observe poll_interval_us=1000000"

# Anyone can fail to create a queue as often as they like.
who_fails_to_create_a_queue_wakes_nobody() {
	divide 2 || return 1
	# shellcheck disable=SC2086 # These are several words.
	load $idle || return 1
	pass_by
	woken=$(passes_while 0 create 0 300 -12) || return 1
	[ "$woken" -le 2 ] || {
		echo "    # 300 failures led to $woken passes"
		return 1
	}
	unload
}

a_new_queue_wakes_the_thread_of_its_node() {
	divide 2 || return 1
	# shellcheck disable=SC2086 # These are several words.
	load $idle || return 1
	pass_by
	others=$(of 0 passes)
	for _ in 1 2 3 4 5; do
		passes=$(of 1 passes)
		create 1 1 0 || return 1
		eventually grown 1 passes "$passes" 1 || return 1
	done
	[ $(($(of 0 passes) - others)) -le 2 ] || return 1
	unload
}

new_queues_lead_to_no_more_than_a_pass_each_poll_interval() {
	# shellcheck disable=SC2086 # These are several words.
	load $idle || return 1
	pass_by
	begin=$(date +%s)
	woken=$(passes_while 0 create 0 500 0) || return 1
	echo "    # 500 queues led to $woken passes"
	[ "$woken" -ge 1 ] && [ "$woken" -le $(($(date +%s) - begin + 2)) ] || return 1
	unload
}

# Nobody is woken here: the fake has its queues come and go in silence.
it_looks_again_where_no_wake_up_comes() {
	load mode=observe || return 1
	echo 1 >$fake/empty
	pass_by
	passes=$(of 0 passes)
	eventually grown 0 passes "$passes" 3 || return 1
	echo off >"$parameters/mode"
	pass_by
	[ "$(passes_while 0 sleep 3)" -eq 0 ] || return 1
	unload
}

# Each node has a queue that is stopped for another one, started at the bound, and
# stopped again.
# Eight threads that look more often than this leave the script little of the guest's
# two processors.
work_on_each_node() {
	load mode=enforce sampler=mmio max_stop_ms=20 noprogress_ms=60000 stop_budget_ms=1000 \
		min_run_us=0 grace_us=0 poll_interval_us=50000 "$@" || return 1
	echo 1 >$fake/busy
}

# go_on NODE...: queues of each are stopped and started again, three times.
go_on() {
	for node; do
		echo "$node $(of "$node" stops) $(of "$node" starts)"
	done >/tmp/before
	while read -r node stops starts; do
		eventually grown "$node" stops "$stops" 3 || return 1
		eventually grown "$node" starts "$starts" 3 || return 1
	done </tmp/before
}

the_other_nodes_go_on_while_one_does_not_yield() {
	divide 8 || return 1
	work_on_each_node || return 1
	eventually has_nodes 8 || return 1
	go_on 0 1 2 3 4 5 6 7 || return 1
	echo 3 >$fake/hung
	eventually holds $fake/hanging 1 || return 1
	go_on 0 1 2 4 5 6 7 || return 1
	# The GPU may not be divided anew meanwhile.
	! try_to_divide 1 || return 1
	holds $fake/hanging 1 || return 1
	echo -1 >$fake/hung
	go_on 3 || return 1
	unload
}

the_driver_waits_for_each_node() {
	device=$(basename "$(find "$bus/" -name '0000:*')")
	divide 8 || return 1
	work_on_each_node || return 1
	eventually has_nodes 8 || return 1
	go_on 5 || return 1
	echo 5 >$fake/hung
	eventually holds $fake/hanging 1 || return 1
	: >/tmp/ended
	{ echo "$device" >"$bus/unbind"; echo unbind >>/tmp/ended; } &
	sleep 1
	[ ! -s /tmp/ended ] && holds $fake/hanging 1 || return 1
	echo -1 >$fake/hung
	eventually test -s /tmp/ended || return 1
	unload || return 1
	echo "$device" >"$bus/bind"
}

# has_stopped NODE...: a queue of each is stopped.
has_stopped() {
	for node; do
		[ "$(of "$node" stops)" -gt "$(of "$node" starts)" ] || return 1
	done
}

# stop_on_each_node: for longer than any test takes, so that nothing more is asked.
stop_on_each_node() {
	divide 8 || return 1
	work_on_each_node max_stop_ms=60000 || return 1
	eventually has_nodes 8 || return 1
	eventually has_stopped 0 1 2 3 4 5 6 7
}

# Each takes the driver's time limit, and all of them together no more.
nodes_whose_firmware_does_not_answer_are_let_go_of_together() {
	said=$(times "stopped queues are left")
	stop_on_each_node || return 1
	echo 8 >$fake/dead
	unload && holds $fake/asked_together 8 || return 1
	[ $(($(times "stopped queues are left") - said)) -eq 8 ] || return 1
	# The driver lets go of one whose nodes are dead, too.
	echo 1 >$fake/reset
	device=$(basename "$(find "$bus/" -name '0000:*')")
	stop_on_each_node || return 1
	echo 8 >$fake/dead
	echo "$device" >"$bus/unbind" && unload || return 1
	holds $fake/asked_together 8 || return 1
	echo "$device" >"$bus/bind"
}

nodes_whose_firmware_does_not_answer_keep_the_system_awake_together() {
	stop_on_each_node || return 1
	echo 8 >$fake/dead
	! sleep_briefly 2>/dev/null && holds $fake/asked_together 8 || return 1
	echo 0 >$fake/dead
	unload
}

the_driver_may_divide_the_gpu_anew() {
	load mode=enforce || return 1
	eventually has_nodes 1 || return 1
	! try_to_divide 8 || return 1
	for nodes in 8 2 8 1; do
		divide $nodes || return 1
		eventually has_nodes $nodes || return 1
		echo 1 >$fake/stopped
		eventually stopped 0 || return 1
	done
	unload
}

# nodes_go_unseen: in mode off nobody looks.
nodes_go_unseen() {
	said=$(times "stopped queues are left")
	divide 8 || return 1
	load mode=enforce || return 1
	eventually has_nodes 8 || return 1
	echo off >"$parameters/mode"
	pass_by
	divide 1
}

nodes_that_went_unseen_keep_nobody_awake() {
	kept=$(times "stays in force with its settings")
	nodes_go_unseen || return 1
	sleep_briefly || return 1
	echo mmio >"$parameters/sampler"
	pass_by
	[ "$(times "stays in force with its settings")" -eq "$kept" ] || return 1
	echo observe >"$parameters/mode"
	eventually has_nodes 1 || return 1
	unload
}

unloading_does_not_wait_for_nodes_that_went_unseen() {
	nodes_go_unseen || return 1
	unload && [ "$(times "stopped queues are left")" -eq "$said" ]
}

run every_file_can_be_read \
	parameters_change_while_it_runs \
	a_gpu_has_a_mode_of_its_own \
	a_gpu_acts_by_a_mode_of_its_own \
	bad_parameters_keep_it_out \
	a_driver_with_two_fields_exchanged_is_refused \
	a_driver_with_a_function_replaced_is_refused \
	a_driver_with_a_function_replaced_is_refused_for_transaction_direct_alone \
	the_driver_may_let_go_of_the_device_and_take_it_again \
	it_loads_while_the_driver_lets_go_of_the_device \
	amdgpu_cannot_go_while_it_is_there \
	an_open_file_keeps_it_in \
	it_loads_and_unloads_many_times \
	queues_found_stopped_are_started \
	queues_found_stopped_are_started_with_transaction_direct \
	what_transaction_direct_does_not_expect_is_left_to_the_driver \
	transaction_direct_leaves_it_to_the_driver_for_a_while \
	queues_that_transaction_direct_may_have_taken_off_are_put_back \
	queues_off_the_hardware_are_put_back \
	unloading_waits_until_queues_can_be_started \
	unloading_asks_for_nothing_where_nothing_is_stopped \
	the_system_does_not_sleep_while_it_unloads \
	unloading_names_what_it_has_to_leave \
	a_queue_that_cannot_be_started_keeps_the_system_awake \
	a_backend_stays_until_it_has_started_what_it_stopped \
	a_stopped_queue_stays_in_view_and_is_started \
	a_halt_is_no_failure \
	firmware_that_does_not_answer_is_asked_once \
	firmware_that_answers_again_is_found_out \
	queues_that_firmware_took_off_late_are_put_back \
	a_reset_leaves_nothing_to_put_back \
	firmware_that_took_queues_off_is_no_reason_to_stay_awake_or_loaded \
	a_backend_stays_while_firmware_does_not_answer \
	a_queue_that_firmware_did_not_start_is_not_forgotten \
	unloading_names_what_firmware_does_not_start \
	firmware_that_does_not_answer_keeps_the_system_awake \
	wrong_counters_disturb_nobody \
	wrong_counters_keep_nothing_stopped \
	the_table_pairs_queues_by_what_they_are \
	the_driver_waits_while_it_unloads \
	who_fails_to_create_a_queue_wakes_nobody \
	a_new_queue_wakes_the_thread_of_its_node \
	new_queues_lead_to_no_more_than_a_pass_each_poll_interval \
	it_looks_again_where_no_wake_up_comes \
	the_other_nodes_go_on_while_one_does_not_yield \
	the_driver_waits_for_each_node \
	nodes_whose_firmware_does_not_answer_are_let_go_of_together \
	nodes_whose_firmware_does_not_answer_keep_the_system_awake_together \
	the_driver_may_divide_the_gpu_anew \
	nodes_that_went_unseen_keep_nobody_awake \
	unloading_does_not_wait_for_nodes_that_went_unseen \
	it_survives_each_failing_allocation
