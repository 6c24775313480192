# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The packages for distributions with RPM, with Debian's rpm: what their scripts do when
# they are installed, replaced and removed, and what is said where packages come by dnf or
# zypper.  scripts/test/dkms sources this file after tests/amdgpu/check.sh.
#
# shellcheck disable=SC2154 # scripts/test/dkms sets what is not set here.

# on_rpm OPTION...: Debian's rpm has no packages to meet what one of its own requires.
on_rpm() {
	on_bare rpm --nodeps "$@"
}

# on_distribution ID COMMAND...: on a host that says it is that.
on_distribution() {
	local status=0 aside=$work/os-release
	cp "$work/bare/etc/os-release" "$aside"
	echo "ID=$1" >"$work/bare/etc/os-release"
	"${@:2}" || status=$?
	cp "$aside" "$work/bare/etc/os-release"
	return $status
}

test_rpm() {
	local place=$target/rpm first=${releases[0]} last=${releases[-1]} each pattern
	local dkms=/tmp/amd-gpreempt-dkms-$version-1.x86_64.rpm tools=/tmp/amd-gpreempt-tools-$version-1.x86_64.rpm
	pattern=${last//[.+]/[&]}
	expect 'both RPMs are built' 0 "/amd-gpreempt-tools-$version-1.x86_64.rpm\$" "$scripts/package/build-rpm"
	make_amd_host
	rm -rf "$work/bare/lib/modules/$first"
	cp "$place"/*.rpm "$work/bare/tmp/"
	expect 'RPM: it wants DKMS' 0 '^dkms >= 3.0.10$' on_bare rpm --query --requires --package "$dkms"
	expect 'RPM: and neither Rust nor anything of Debian' 1 '^0$' \
		grep -ciE 'rust|python|apt|dpkg' <(on_bare rpm --query --requires --recommends --package "$dkms")
	expect 'RPM: a driver of AMD is there without types' 0 '' without /usr/bin/pahole build_driver "$last"
	expect 'RPM: it is installed, and names the command that gives them' 0 \
		"run 'sudo /usr/src/amd_gpreempt-$version/scripts/package/amdgpu/driver rebuild $pattern'" on_rpm --install "$dkms"
	expect 'RPM: DKMS has built the module' 0 "^$module/$version, $pattern, x86_64: installed" on_bare dkms status
	expect 'RPM: with the object of the package' 0 "^module: standalone build for $pattern, .* with the package's object\$" \
		build_log "$last" "$work/bare"
	expect 'RPM: the driver gets its types' 0 'has type information now' on_driver rebuild "$last"
	expect 'RPM: the tools are installed' 0 '' on_rpm --install "$tools"
	expect 'RPM: the command runs' 0 "^gpreempt $version\$" on_bare gpreempt --version
	expect 'RPM: its units are there' 0 'amd-gpreempt.service$' ls "$work/bare/usr/lib/systemd/system"
	expect 'RPM: both are replaced' 0 '' on_rpm --upgrade --replacepkgs "$dkms" "$tools"
	expect 'RPM: the module is there once more' 0 "^$module/$version, $pattern, x86_64: installed" on_bare dkms status
	expect 'RPM: so is the file for the driver' 0 'amdgpu/types$' grep gp_types= "$work/bare$conf"
	for each in rhel-dnf sles-zypper; do
		expect "RPM: on ${each%-*} the command is that of ${each#*-}" 0 "there is no pahole: run 'sudo ${each#*-} install dwarves && " \
			on_distribution "${each%-*}" step_without_pahole "$last"
		expect "RPM: also for the build" 1 "^module: there is no make: run 'sudo ${each#*-} install make'" \
			on_distribution "${each%-*}" without /usr/bin/make build_on_bare "$last"
	done
	on_bare rm -rf /tmp/build
	expect 'RPM: they are removed' 0 '' on_rpm --erase amd-gpreempt-dkms amd-gpreempt-tools
	expect 'RPM: nothing is left of them' 0 '^$' \
		find "$work/bare/etc" "$work/bare/usr" "$work/bare/lib/modules" "$work/bare/var" -name '*gpreempt*' -not -path '*/apt/preferences.d/*'
	expect 'RPM: nor is the file for the driver' 2 'No such file' ls "$work/bare$conf"
	mkdir -p "$work/bare/etc/dkms"
	echo nativ >"$work/bare/etc/dkms/amd_gpreempt.build"
	expect 'RPM: a build that fails is said, and no more' 0 "^amd-gpreempt-dkms: there is no module for $pattern; the lines above say why" \
		on_rpm --install "$dkms"
	expect 'RPM: the file that forced it goes with the package' 0 '' on_rpm --erase amd-gpreempt-dkms
	expect 'RPM: all of it' 2 'No such file' ls "$work/bare/etc/dkms/amd_gpreempt.build"
}

# step_without_pahole KERNEL: our step for AMD's driver, on a module of that form.
step_without_pahole() {
	[ -e "$work/bare/tmp/driver" ] || built_by_hand "$1"
	without /usr/bin/pahole add_types "$1"
}
