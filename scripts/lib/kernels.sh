# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Which kernels a script works with, and the module built for them.  A script
# sources common.sh before this file.
#
# shellcheck disable=SC2154 # The scripts that source this file set scripts.

# shellcheck source=scripts/lib/side.sh
. "$scripts/lib/side.sh"

# take_option OPTION MEANING ARGUMENT...: sets `values` to what follows that option, which
# MEANING says, and `arguments` to all other arguments.
take_option() {
	local option=$1 meaning=$2
	shift 2
	values=() arguments=()
	while [ $# -gt 0 ]; do
		case $1 in
		"$option")
			[ $# -ge 2 ] || die "$option needs $meaning"
			values+=("$2")
			shift
			;;
		"$option="*) values+=("${1#*=}") ;;
		*) arguments+=("$1") ;;
		esac
		shift
	done
}

# take_kernels ARGUMENT...: sets `series` to the series that --kernel names, or
# else to those of KERNELS, `releases` to their releases in the cache, and `arguments` to
# all other arguments.
take_kernels() {
	series=() releases=()
	local list each
	take_option --kernel "a series, as in --kernel 7.3" "$@"
	for each in "${values[@]}"; do
		read -ra list <<<"$each"
		series+=("${list[@]}")
	done
	if [ ${#series[@]} -eq 0 ]; then
		read -ra series <<<"${KERNELS:-6.12 7.2 7.3}"
	fi
	get_side_kernels "${series[@]}"
	for each in "${series[@]}"; do
		each=$(release_of "$each")
		releases+=("$each")
	done
}

# take_kernels_with_rust ARGUMENT...: the same, without kernels that have no Rust.
take_kernels_with_rust() {
	local at
	take_kernels "$@"
	for at in "${!series[@]}"; do
		if ! has_rust "${releases[$at]}"; then
			unset "series[$at]" "releases[$at]"
		fi
	done
	series=("${series[@]}") releases=("${releases[@]}")
	[ ${#series[@]} -gt 0 ] || die "none of the kernels that were named has Rust: name one that has with --kernel"
}

# take_side_kernels: moves the names of side kernels from `series` and `releases` to `sides`
# and `side_releases`.
take_side_kernels() {
	local at suite=''
	sides=() side_releases=()
	for at in "${!series[@]}"; do
		suite=$(side_suite_of "${releases[$at]}")
		[ -n "$suite" ] || continue
		sides+=("${series[$at]}") side_releases+=("${releases[$at]}")
		unset "series[$at]" "releases[$at]"
	done
	series=("${series[@]}") releases=("${releases[@]}")
}

# get_side_kernels NAME...: has set-up get those of scripts/setup/side-kernels that the
# cache lacks.
get_side_kernels() {
	# shellcheck disable=SC2034 # They are what side_kernel sets.
	local each suite series flavour driver
	for each; do
		if side_kernel "$each" && ! grep -qs "^$each	" "$side_lock"; then
			[ -z "${GP_INSIDE_ROOT:-}" ] || die "the cache has no kernel $each: run 'make setup KERNELS=$each'"
			KERNELS=$each "$scripts/setup/setup" >&2
		fi
	done
}

# take_last_kernel ARGUMENT...: the same for what runs on one kernel, which is the
# last one named.
take_last_kernel() {
	take_kernels "$@"
	series=("${series[-1]}")
	releases=("${releases[-1]}")
}

# build_module RELEASE [OPTION...]: builds the module and prints its path.  A root of
# another release of Debian has no Rust, unless it is to compile the object by its own: the
# module is linked there with the object that a package would have.
build_module() {
	local suite package=$target/package
	suite=$(side_suite_of "$1")
	if [ -z "$suite" ]; then
		"$scripts/setup/in-root" "$scripts/build/module" "${@:2}" "$1"
		return
	fi
	if [ -e "$(side_root "$suite")/usr/bin/rustc" ]; then
		package=$scripts/..
	else
		make_package_tree "$package" || return
	fi
	"$scripts/setup/in-root" --suite "$suite" "$package/scripts/build/module" "${@:2}" "$1"
}

# make_package_tree DIRECTORY: the sources with the object, as a package has them.
make_package_tree() {
	"$scripts/build/sources" "$1"
	"$scripts/setup/in-root" env GP_CRATES="$target/crates" "$1/scripts/build/package-object" update
}

# build_modules: the module for each of `releases`.
build_modules() {
	local release
	for release in "${releases[@]}"; do
		note "building the module for $release"
		build_module "$release" >/dev/null
	done
}

# build_for_scenarios: all that scenarios with the module need, for each of `releases`.
build_for_scenarios() {
	local release
	build_modules
	"$scripts/build/clients"
	"$scripts/build/tinygrad"
	for release in "${releases[@]}"; do
		"$scripts/build/gate" "$release"
	done
}
