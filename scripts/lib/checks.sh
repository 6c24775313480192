# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How checks run and are counted: one line for each, and its output only if it
# failed.

checks_passed=0
checks_failed=0

# check TITLE COMMAND...
check() {
	local title=$1 start=$SECONDS output
	shift
	if output=$("$@" 2>&1 </dev/null); then
		checks_passed=$((checks_passed + 1))
		echo "ok   $title ($((SECONDS - start)) s)"
	else
		checks_failed=$((checks_failed + 1))
		echo "$output"
		echo "FAIL $title"
	fi
}

# finish_checks: the closing line and the exit status.
finish_checks() {
	echo "$checks_passed passed, $checks_failed failed"
	[ "$checks_failed" -eq 0 ]
}
