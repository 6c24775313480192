# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# The kernels of scripts/setup/side-kernels, which are not of the release of Debian that
# the root is, and the roots of those releases.  A script sets `scripts` and sources
# common.sh before this file.
#
# shellcheck disable=SC2034,SC2154 # common.sh sets the cache; the scripts use the rest.

side_lock=$cache/side-kernels.lock

# side_kernel NAME: sets `suite`, `series` and `flavour` by which the archive knows the
# kernel, and `driver` to what its own amdgpu is; fails where the name is none of these.
side_kernel() {
	while read -r side_name suite series flavour driver; do
		[ "$side_name" != "$1" ] || return 0
	done <"$scripts/setup/side-kernels"
	suite='' series='' flavour='' driver=''
	return 1
}

# side_names: all of them, on one line.
side_names() {
	awk '/^[^#]/ { printf "%s ", $1 }' "$scripts/setup/side-kernels"
}

# side_suite_of RELEASE: the release of Debian of a side kernel of the cache, or nothing.
side_suite_of() {
	[ ! -e "$side_lock" ] || awk -v release="$1" '$2 == release { print $4 }' "$side_lock"
}

# side_root SUITE: where its root is.
side_root() {
	echo "$cache/root-$1"
}

# side_packages SUITE: what its root has, one package a line.
side_packages() {
	sed -e 's/#.*//' "$scripts/setup/side-packages" |
		awk -v suite="$1" 'NF == 1 { print $1 } NF == 2 && $1 == suite { print $2 }' | sort
}
