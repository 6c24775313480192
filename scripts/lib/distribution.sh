# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# How this host's distribution installs packages, for remedies that can be run as they
# are printed.

# installer: the program that installs packages here, by what the distribution says of
# itself and of what it is like; apt if it says nothing that is known.  The tools go by the
# same words (scripts/operator/library/src/host/distribution.rs).
installer() {
	local words each
	# shellcheck disable=SC1091 # The host's.
	words=$({ . /etc/os-release || . /usr/lib/os-release; } 2>/dev/null && echo "${ID:-} ${ID_LIKE:-}") || :
	for each in $words debian; do
		case $each in
		debian | ubuntu) echo apt && return ;;
		rhel | fedora | centos | ol) echo dnf && return ;;
		suse | sles | sle_hpc) echo zypper && return ;;
		esac
	done
}

# install_command PACKAGE...: the command that installs them.
install_command() {
	echo "sudo $(installer) install $*"
}

# package_of WORD [KERNEL]: what a package is called here.
package_of() {
	case $1-$(installer) in
	xz-apt) echo xz-utils ;;
	kernel-apt) ! grep -qsx 'ID=ubuntu' /etc/os-release && echo linux-image-amd64 || echo linux-image-generic ;;
	kernel-zypper) echo kernel-default ;;
	headers-apt) echo "linux-headers-$2" ;;
	headers-zypper) echo "kernel-${2##*-}-devel" ;;
	headers-dnf) echo "kernel-devel-$2" ;;
	image-apt) echo "linux-image-$2" ;;
	image-zypper) echo "kernel-${2##*-}" ;;
	image-dnf) echo "kernel-core-$2" ;;
	*) echo "$1" ;;
	esac
}
