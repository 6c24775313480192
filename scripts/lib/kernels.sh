# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Which kernels a script works with, and the module built for them.  A script
# sources common.sh before this file.

# take_kernels ARGUMENT...: sets `series` to the series that --kernel names, or
# else to those of KERNELS, `releases` to their releases in the cache, and
# `arguments` to all other arguments.
take_kernels() {
	series=() releases=() arguments=()
	local list each
	while [ $# -gt 0 ]; do
		case $1 in
		--kernel)
			[ $# -ge 2 ] || die "--kernel needs a series, as in --kernel 7.3"
			read -ra list <<<"$2"
			series+=("${list[@]}")
			shift
			;;
		--kernel=*)
			read -ra list <<<"${1#*=}"
			series+=("${list[@]}")
			;;
		*) arguments+=("$1") ;;
		esac
		shift
	done
	[ ${#series[@]} -gt 0 ] || read -ra series <<<"${KERNELS:-7.2 7.3}"
	for each in "${series[@]}"; do
		each=$(release_of "$each")
		releases+=("$each")
	done
}

# take_last_kernel ARGUMENT...: the same for what runs on one kernel, which is the
# last one named.
take_last_kernel() {
	take_kernels "$@"
	series=("${series[-1]}")
	releases=("${releases[-1]}")
}

# build_modules: the module for each of `releases`.
build_modules() {
	local release
	for release in "${releases[@]}"; do
		note "building the module for $release"
		# shellcheck disable=SC2154 # The scripts that source this file set it.
		"$scripts/setup/in-root" "$scripts/build/module" "$release" >/dev/null
	done
}

# build_for_scenarios: all that scenarios with the module need, for each of `releases`.
build_for_scenarios() {
	local release
	build_modules
	for release in "${releases[@]}"; do
		"$scripts/build/gate" "$release"
	done
}
