# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What an object file has in it, for scripts that look at the driver's modules.

# has_section FILE NAME: awk reads all that readelf writes, which would fail otherwise, and
# with it the pipe.
has_section() {
	LC_ALL=C readelf --sections --wide "$1" 2>/dev/null |
		awk -v name="$2" '{ for (i = 1; i < 4; i++) if ($i == name) found = 1 } END { exit !found }'
}
