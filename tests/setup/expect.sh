# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How the tests of the set-up check a command: by its exit status and a line that it
# prints.  An error must be one readable line of our own.

passed=0
failed=0

# verdict NAME RESULT [OUTPUT]
verdict() {
	if [ "$2" = passed ]; then
		passed=$((passed + 1))
		echo "ok   $1"
	else
		failed=$((failed + 1))
		echo "FAIL $1: $2"
		[ -z "${3:-}" ] || echo "     | ${3//$'\n'/$'\n     | '}"
	fi
}

# expect NAME STATUS PATTERN COMMAND...
expect() {
	local name=$1 wanted=$2 pattern=$3 output status=0
	shift 3
	output=$("$@" 2>&1 </dev/null) || status=$?
	if [ "$status" -ne "$wanted" ]; then
		verdict "$name" "status is $status, not $wanted" "$output"
	elif ! grep -qE -- "$pattern" <<<"$output"; then
		verdict "$name" "no line matches '$pattern'" "$output"
	else
		verdict "$name" passed
	fi
}

# finish: the closing line and the exit status.
finish() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ]
}
