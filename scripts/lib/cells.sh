# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The cells of a matrix of faults and states, over as many runs as it takes.

# merge_cells KEPT FOUND: prints the cells of both files, `FAULT STATE END` between tabs.
# One that was found replaces that of the same fault and state, and a new one comes last
# of its fault, so that a fault's cells stay together.
merge_cells() {
	awk -F '\t' '
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
		}' "$1" "$2"
}
