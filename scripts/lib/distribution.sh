# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How this host's distribution installs packages, for remedies that can be run as they
# are printed.

# installer: the program that installs packages here.
installer() {
	local each
	for each in apt zypper dnf; do
		if command -v "$each" >/dev/null; then
			echo "$each"
			return
		fi
	done
	echo apt
}

# install_command PACKAGE...: the command that installs them.
install_command() {
	echo "$(installer) install $*"
}

# package_of WORD [KERNEL]: what a package is called here.
package_of() {
	case $1-$(installer) in
	xz-apt) echo xz-utils ;;
	headers-apt) echo "linux-headers-$2" ;;
	headers-zypper) echo "kernel-${2##*-}-devel" ;;
	headers-dnf) echo "kernel-devel-$2" ;;
	image-apt) echo "linux-image-$2" ;;
	image-zypper) echo "kernel-${2##*-}" ;;
	image-dnf) echo "kernel-core-$2" ;;
	*) echo "$1" ;;
	esac
}
