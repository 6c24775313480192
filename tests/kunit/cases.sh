# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# Runs in the guest: cases one after the other, with their results as KUnit prints those
# of a suite.  Whoever sources this file sets `suite` and `fake`, and has `unload`.
# GP_LEAVE_OUT names a case that is left out.
#
# shellcheck disable=SC2154 # See above.

# run CASE...: each beside a fake amdgpu that is told nothing yet.
run() {
	for name; do
		shift
		[ "$name" = "${GP_LEAVE_OUT:-}" ] || set -- "$@" "$name"
	done
	number=0
	verdict=ok
	echo "KTAP version 1"
	echo "1..1"
	echo "    KTAP version 1"
	echo "    # Subtest: $suite"
	echo "    1..$#"
	for name; do
		number=$((number + 1))
		count=$number
		echo 1 >"$fake/reset"
		if "$name"; then
			echo "    ok $count $name"
		else
			verdict="not ok"
			echo "    not ok $count $name"
			unload 2>/dev/null
		fi
		number=$count
	done
	echo "$verdict 1 $suite"
}
