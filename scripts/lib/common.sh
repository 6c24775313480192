# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# What the project's scripts share: where the cache is, how errors are reported,
# and how a user other than root gets a namespace to work in.
#
# A script sets `name` to its own name and, if it needs `target`, `scripts` to the
# folder of the scripts; then it sources this file.

# The one folder that set-up writes to.
# shellcheck disable=SC2034 # The scripts that source this file use it.
cache=${AMD_GPREEMPT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/amd-gpreempt}

# What is built from the project's own sources.  Each work tree has a folder of its
# own, because cargo would take the output of another tree of the same shape as
# up to date.
# shellcheck disable=SC2034 # The scripts that source this file use it.
target=${CARGO_TARGET_DIR:-$cache/target/$(printf %s "${scripts:-}" | cksum | cut -d ' ' -f 1)}

# note TEXT...: a message to the terminal.
note() {
	echo "${name:-amd-gpreempt}: $*" >&2
}

# die TEXT...: ends the script; TEXT names what is wrong and the remedy.
die() {
	note "$*"
	exit 1
}

# release_of SERIES: the release of a kernel of the cache, as in 7.3.
release_of() {
	release=$(cat "$cache/kernels.lock" "$cache/side-kernels.lock" 2>/dev/null |
		awk -v series="$1" '$1 == series { print $2 }')
	[ -n "$release" ] || die "the cache has no kernel $1: run 'make setup'"
	echo "$release"
}

# has_rust RELEASE: whether a kernel of the cache was built with Rust.
has_rust() {
	grep -q '^CONFIG_RUST=y' "$cache"/root*/usr/src/linux-headers-"$1"/include/config/auto.conf
}

# newest_release: that of the newest kernel in the cache, or nothing.
newest_release() {
	cut -f2 "$cache/kernels.lock" 2>/dev/null | sort --version-sort | tail -n 1 || :
}

# declared KEY: a value from dkms.conf, such as PACKAGE_VERSION.
declared() {
	sed -n "s/^$1=\"\(.*\)\"\$/\1/p" "${scripts:-}/../dkms.conf"
}

# sysctl_is NAME VALUE: whether the host has that kernel setting.
sysctl_is() {
	[ "$(cat "/proc/sys/$(echo "$1" | tr . /)" 2>/dev/null || :)" = "$2" ]
}

# namespace_remedy: the one command that lets this user have namespaces.
namespace_remedy() {
	if ! command -v newuidmap >/dev/null; then
		echo "sudo apt install uidmap"
	elif sysctl_is kernel.unprivileged_userns_clone 0; then
		echo "sudo sysctl -w kernel.unprivileged_userns_clone=1"
	elif sysctl_is user.max_user_namespaces 0; then
		echo "sudo sysctl -w user.max_user_namespaces=1000"
	elif sysctl_is kernel.apparmor_restrict_unprivileged_userns 1; then
		echo "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
	elif ! grep -q "^$(id -un):" /etc/subuid 2>/dev/null ||
		! grep -q "^$(id -un):" /etc/subgid 2>/dev/null; then
		echo "sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 $(id -un)"
	else
		echo "sudo env AMD_GPREEMPT_CACHE=$cache make setup"
	fi
}

# enter_namespace COMMAND...: replaces the script with the command, in a new mount
# namespace in which it may mount.
enter_namespace() {
	if [ "$(id -u)" -eq 0 ]; then
		exec unshare --mount --propagation private "$@"
	fi
	# Users and groups are mapped, because the root has files of several owners.
	if ! unshare --user --map-root-user --map-auto --mount true 2>/dev/null; then
		die "$(id -un) may not make a user namespace on this host: run '$(namespace_remedy)', then try again"
	fi
	exec unshare --user --map-root-user --map-auto --mount --propagation private "$@"
}
