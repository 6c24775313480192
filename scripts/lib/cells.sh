# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The cells of a matrix of faults and states, over as many runs as it takes.

# merge_cells KEPT FOUND NAMES: prints the cells of the first two files, `FAULT STATE END`
# between tabs.  One that was found replaces that of the same fault and state, and a new
# one comes last of its fault, so that a fault's cells stay together.  NAMES has lines
# `faults` and `states`, with the names that there are between semicolons: a cell of
# another fault or state is left out.  Without such a line all names are.
merge_cells() {
	awk -F '\t' '
		function take(names, list, count, part) {
			count = split($2, list, ";")
			for (part = 1; part <= count; part++)
				names[list[part]]
		}
		$1 == "faults" && NF == 2 { take(known_faults); some_faults = 1; next }
		$1 == "states" && NF == 2 { take(known_states); some_states = 1; next }
		some_faults && !($1 in known_faults) { next }
		some_states && !($2 in known_states) { next }
		!($1 in cells) { faults[++rows] = $1; cells[$1] = 0 }
		!(($1, $2) in end) { states[$1, ++cells[$1]] = $2 }
		{ end[$1, $2] = $3 }
		END {
			for (row = 1; row <= rows; row++) {
				fault = faults[row]
				for (cell = 1; cell <= cells[fault]; cell++) {
					state = states[fault, cell]
					print fault "\t" state "\t" end[fault, state]
				}
			}
		}' "$3" "$1" "$2"
}
