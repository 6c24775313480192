# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Which scenarios have passed on what, over as many runs as it takes.

# last_results NAMES KEPT NEW: prints the lines `SUITE NAME KIND KERNEL`, between tabs, of
# what is kept and of what has passed since.  A line of NEW has its end, too, and the last
# one of the same counts.  NAMES has suite and name of each scenario: others are left out.
last_results() {
	awk -F '\t' -v OFS='\t' '
		FILENAME == ARGV[1] { known[$1, $2]; next }
		!(($1, $2) in known) || NF < 4 { next }
		{ end[$1 OFS $2 OFS $3 OFS $4] = FILENAME == ARGV[2] ? "passed" : $5 }
		END { for (each in end) if (end[each] == "passed") print each }
	' "$1" "$2" "$3" | LC_ALL=C sort
}
