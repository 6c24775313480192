# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What long runs add up, over as many calls as it takes.  A script sources common.sh
# before this file.

# open_account FILE...: sets `account`, a file with a line for each run that went well,
# `NAME SERIES DIES COUNT` between tabs.  It belongs to these sources: when one of them
# changes, another begins.
open_account() {
	local key project
	# shellcheck disable=SC2154 # The scripts that source this file set it.
	project=$(dirname "$scripts")
	key=$(cd "$project" && find "$@" -type f ! -name '*.o' ! -name '*.ko' ! -path '*/generated*' -print0 |
		sort -z | xargs -0 sha256sum | sha256sum | cut -c1-12)
	# shellcheck disable=SC2154 # common.sh sets the target.
	account=$target/long/$key
	mkdir -p "$target/long"
	touch "$account"
}

# added NAME SERIES DIES: the sum of what the account has of it.
added() {
	awk -F '\t' -v name="$1" -v series="$2" -v dies="$3" \
		'$1 == name && $2 == series && $3 == dies { sum += $4 } END { print sum + 0 }' "$account"
}

# times NAME SERIES DIES: how many lines the account has of it.
times() {
	awk -F '\t' -v name="$1" -v series="$2" -v dies="$3" \
		'$1 == name && $2 == series && $3 == dies { lines++ } END { print lines + 0 }' "$account"
}

# add_sums LOG: takes the lines 'sum' of a log into the account.
add_sums() {
	sed -n 's/^sum\t//p' "$1" >>"$account"
}
