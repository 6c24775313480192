# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What the scripts of this folder check with, in the guest.

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@" >/tmp/output 2>&1; then
		echo "ok   $name"
	else
		echo "FAIL $name"
		sed 's/^/     | /' /tmp/output
	fi
}

# refused PATTERN COMMAND...: the command must fail and print a matching line.
refused() {
	pattern=$1
	shift
	if "$@" >/tmp/refusal 2>&1; then
		echo "it was not refused"
		return 1
	fi
	cat /tmp/refusal
	grep -qE "$pattern" /tmp/refusal
}

said() { dmesg | grep -E "amd_gpreempt: .*$1"; }
loaded() { grep -q '^amd_gpreempt ' /proc/modules; }
not_loaded() { ! loaded; }
quiet() { ! dmesg | grep -E 'BUG:|WARNING:|Oops|general protection|stack guard|Call Trace'; }
