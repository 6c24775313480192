# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The source of a kernel's own amdgpu, for scripts that build it outside the kernel's tree.
# A script sources common.sh before this file.
#
# shellcheck disable=SC2154 # common.sh sets the cache.

# unpack_driver RELEASE DIRECTORY [PATTERN...]: the driver's source and headers, and what else
# of the kernel's source the patterns of tar name.
unpack_driver() {
	local source=$cache/kernel/$1/source.tar.xz
	[ -e "$source" ] || die "the cache has no source of kernel $1: run 'make setup'"
	rm -rf "$2"
	mkdir -p "$2"
	tar --extract --file "$source" --directory "$2" --strip-components=1 --wildcards \
		'*/drivers/gpu/drm/amd' '*/include/drm/amd*' 'linux*/MAINTAINERS' "${@:3}"
}

# patch_driver DIRECTORY PATCH...: without leave for a context that has changed.
patch_driver() {
	local patch
	for patch in "${@:2}"; do
		patch --directory "$1" --strip 1 --fuzz 0 --input "$(realpath "$patch")" || return
	done
}
