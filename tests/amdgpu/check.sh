# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# The package for DKMS on a host with amdgpu-dkms, AMD's driver package, for which the
# folder of this file stands in: its build never fails by us, and what it has built loads.
# scripts/test/dkms sources this file.
#
# shellcheck disable=SC2154 # scripts/test/dkms sets what is not set here.

stand_in=amdgpu/1.0-stand-in
conf=/etc/dkms/amdgpu.conf

# make_amd_host: a host without Rust that has the stand-in's source, and kernels whose
# headers have no vmlinux.
make_amd_host() {
	local kernel
	forget
	mount_bare "$GP_INSIDE_ROOT"
	rm -f "$work/bare/usr/bin/rustc"
	for kernel in "${releases[@]}"; do
		cp "$cache/kernel/$kernel/image/vmlinuz" "$work/bare/boot/vmlinuz-$kernel"
	done
	# Where there is one kernel, it is both.
	for kernel in "$first" "$last"; do
		[ ! -e "$work/bare/usr/src/linux-headers-$kernel/vmlinux" ] || put_aside "/usr/src/linux-headers-$kernel/vmlinux"
	done
	# Other kernels only take time.
	for kernel in "${releases[@]}"; do
		case $kernel in
		"$first" | "$last") ;;
		*) rm -r "$work/bare/lib/modules/$kernel" ;;
		esac
	done
	cp -r "$scripts/../tests/amdgpu" "$work/bare/usr/src/${stand_in/\//-}"
}

# put_aside PATH, put_back PATH: a file of the host.
put_aside() {
	mv "$work/bare$1" "$work/bare$1.aside"
}
put_back() {
	mv "$work/bare$1.aside" "$work/bare$1"
}

# without PATH COMMAND...: on a host that lacks that file.
without() {
	local status=0
	put_aside "$1"
	"${@:2}" || status=$?
	put_back "$1"
	return $status
}

# on_driver WORD...: the package's program for AMD's driver.
on_driver() {
	on_bare "/usr/src/$module-$version/scripts/package/amdgpu/driver" "$@"
}

# install_package: without building the module, which has tests of its own.
install_package() {
	touch "$work/bare/etc/dkms/no-autoinstall"
	local status=0
	on_bare dpkg --install /tmp/package.deb || status=$?
	rm "$work/bare/etc/dkms/no-autoinstall"
	return $status
}

# build_driver KERNEL [STAND-IN]: what DKMS does for AMD's driver, from nothing.
build_driver() {
	on_bare dkms remove "${2:-$stand_in}" -k "$1" >/dev/null 2>&1 || :
	on_bare dkms install "${2:-$stand_in}" -k "$1" --force || {
		tail -n 20 "$work/bare/var/lib/dkms/${2:-$stand_in}/build/make.log"
		return 1
	}
}

# driver_log KERNEL [STAND-IN]: what DKMS has kept of that.
driver_log() {
	cat "$work/bare/var/lib/dkms/${2:-$stand_in}/$1/x86_64/log/make.log"
}

# keep KERNEL NAME types|none: what DKMS has installed, to be loaded later, and whether it
# is to have type information then.
keep() {
	local file place=$work/kept/$1/$2.$3
	mkdir -p "$place"
	for file in "$work/bare/lib/modules/$1/updates/dkms"/amd{gpu,ttm,kcl,xcp}.ko*; do
		xz --decompress --stdout "$file" >"$place/$(basename "$file" .xz)" 2>/dev/null || cp "$file" "$place/"
	done
}

# load_kept KERNEL [MODULE]: all of them in one guest, one after the other, and at last the
# module beside one that has type information, which is not the real driver's.
load_kept() {
	local file files=()
	[ -z "${2:-}" ] || files+=(--ko "$2")
	while IFS= read -r file; do
		files+=(--file "$file=/kept/${file#"$work/kept/$1/"}")
	done < <(find "$work/kept/$1" -type f | sort)
	cat >"$work/load" <<-END
		load() {
			for module in amdkcl amdttm amdxcp amdgpu; do
				insmod \$1/\$module.ko || exit 10
			done
			test -e /sys/kernel/btf/amdgpu && found=types || found=none
		}
		for each in /kept/*; do
			load \$each
			echo "\$each has \$found"
			test "\$found" = "\${each##*.}" || exit 11
			rmmod amdgpu amdttm amdkcl amdxcp || exit 12
		done
		for each in /kept/*.types; do :; done
		load \$each
		if [ -e /modules/$module.ko ]; then
			modprobe $module 2>/dev/null && exit 13
			dmesg | grep '$module: the amdgpu'
		fi
		dmesg | grep -E 'BUG|Oops|WARNING|BTF|invalid module' && exit 14
		exit 0
	END
	"$scripts/guest/guest" --kernel "$1" "${files[@]}" "$work/load"
}

# built_by_hand KERNEL: AMD's module as it is before DKMS takes it, in /tmp/driver.
built_by_hand() {
	on_bare rm -rf /tmp/driver
	on_bare cp -r "/usr/src/${stand_in/\//-}" /tmp/driver
	on_bare make --silent -C /tmp/driver HEADERS="/usr/src/linux-headers-$1" KERNELRELEASE="$1" -f package.mk
}

# wrong PROGRAM SCRIPT: our step with that in the place of a program.  It must succeed, and
# leave the module and its folder as they were.
wrong() {
	local place=$work/bare/tmp/driver/amd/amdgpu status=0
	printf '#!/bin/sh\n%s\n' "$2" >"$work/bare/usr/local/bin/$1"
	chmod 755 "$work/bare/usr/local/bin/$1"
	find "$place" -type f -exec sha256sum {} + | sort >"$work/before"
	add_types "$last" || status=$?
	rm "$work/bare/usr/local/bin/$1"
	find "$place" -type f -exec sha256sum {} + | sort | diff "$work/before" - || return 99
	return $status
}

# add_types KERNEL: our step by itself.
add_types() {
	on_bare "/usr/src/$module-$version/scripts/package/amdgpu/types" "$1" "/usr/src/linux-headers-$last" /tmp/driver/amd/amdgpu/amdgpu.ko
}

# on_small_disk KERNEL SIZE: what DKMS does with so little room.
on_small_disk() {
	local status=0
	on_bare dkms remove "$stand_in" --all >/dev/null 2>&1
	mount -t tmpfs -o "size=$2" tmpfs "$work/bare/var/lib/dkms"
	{
		build_driver "$1" && grep '^amdgpu-types' <<<"$(driver_log "$1")"
	} || status=$?
	keep "$1" "disk-of-$2" none
	# What DKMS shows its progress by sleeps there for some seconds more.
	umount --lazy "$work/bare/var/lib/dkms"
	on_bare find /lib/modules -name 'amd[gtkx]*.ko*' -path '*/dkms/*' -delete
	return $status
}

# A file that is there already stays, whoever purges us.
test_own_file() {
	echo '# The administrator.' >"$work/bare$conf"
	expect 'AMD: an amdgpu.conf that is there is kept, and that is said' 0 "^amdgpu-driver: $conf is there already and is kept: run '" install_package
	expect 'AMD: our package is purged' 0 'Purging configuration files' on_bare dpkg --purge amd-gpreempt-dkms
	expect 'AMD: that file is as it was' 0 '^# The administrator.$' cat "$work/bare$conf"
	rm "$work/bare$conf"
}

test_without_pahole() {
	put_aside /usr/bin/pahole
	local kernel
	for kernel in "$first" "$last"; do
		expect "AMD: $kernel: without pahole the driver is built" 0 '' build_driver "$kernel"
		expect "AMD: $kernel: the log says what is missing" 0 \
			"^amdgpu-types: amdgpu for ${kernel//[.+]/[&]} is left .* because there is no pahole: run 'sudo apt install dwarves && " driver_log "$kernel"
		keep "$kernel" no-pahole none
	done
	expect 'AMD: it is said with the command that mends it' 0 \
		"has no type information for ${last//[.+]/[&]}.* run 'sudo apt install dwarves && sudo /usr/src/.*/driver rebuild ${last//[.+]/[&]}'" on_driver check
	expect 'AMD: which asks for pahole' 1 "there is no pahole: run 'sudo apt install dwarves'" on_driver rebuild "$last"
	put_back /usr/bin/pahole
}

test_rebuild() {
	local configure=$work/bare/usr/src/${stand_in/\//-}/configure
	cp "$configure" "$work/configure"
	echo 'exit 1' >>"$configure"
	expect 'AMD: a driver that cannot be built again stays' 1 "could not build amdgpu 1.0-stand-in" on_driver rebuild "$first"
	expect 'AMD: DKMS has it as before' 0 "^$stand_in, ${first//[.+]/[&]}, x86_64: installed" on_bare dkms status
	cp "$work/configure" "$configure"
	for kernel in "$first" "$last"; do
		expect "AMD: $kernel: with pahole it is built again" 0 'has type information now' on_driver rebuild "$kernel"
		keep "$kernel" rebuilt types
	done
	expect 'AMD: nothing is said any more' 0 '^$' on_driver check
	expect 'AMD: it is not built a third time' 0 'has type information already' on_driver rebuild "$last"
	expect 'AMD: our step has left nothing' 0 '^$' find "$work/bare/var/lib/dkms/amdgpu" -type d \( -name '*.ko.*' -o -name '.kept*' \)
}

# The copy is looked at before it takes the module's place.
# shellcheck disable=SC2016 # The programs in the place of others expand these.
test_wrong_copies() {
	expect 'AMD: a driver is built by hand' 0 '' built_by_hand "$last"
	expect 'AMD: a copy that is cut off is not taken' 0 'objcopy. failed|differs in more than that|modinfo' \
		wrong objcopy '/usr/bin/objcopy "$@" || exit; case $1 in --add-section) for last; do :; done; truncate -s -9000 "$last" ;; esac'
	expect 'AMD: nor one in which a byte differs' 0 'differs in more than that' \
		wrong objcopy '/usr/bin/objcopy "$@" || exit; case $1 in --add-section) for last; do :; done; printf x | dd of="$last" conv=notrunc bs=1 seek=70 status=none; /usr/bin/objcopy --add-symbol more=.text:0 "$last" ;; esac'
	expect 'AMD: nor one for which there was no room' 0 "'objcopy' failed, or there is no room .*No space left" \
		wrong objcopy 'echo "objcopy: x: No space left on device" >&2; exit 1'
	expect 'AMD: nor types that stand for themselves' 0 'do not build upon those of the kernel' \
		wrong pahole 'case $1 in -J) exec /usr/bin/pahole -J "$3" "$4" ;; *) exec /usr/bin/pahole "$@" ;; esac'
	expect 'AMD: nor types that are not whole' 0 'do not build upon those of the kernel' \
		wrong pahole '/usr/bin/pahole "$@" || exit; case $3 in --btf_encode*) truncate -s -1 "${3#*=}" ;; esac'
	expect 'AMD: nor any that pahole is ended over' 0 "'pahole' failed" wrong pahole 'case $1 in --version) echo v1.30 ;; *) kill -9 $$ ;; esac'
	expect 'AMD: nor any by a pahole that is too old' 0 "pahole is 1.15, and 1.22 or newer is needed: run 'sudo apt install dwarves" wrong pahole 'echo v1.15'
	expect 'AMD: nor when anything else fails' 0 'this script stopped' wrong chmod 'exit 1'
	expect 'AMD: nor those of another kernel' 0 "vmlinuz-${last//[.+]/[&]} is that of kernel ${first//[.+]/[&]}" other_image
	expect 'AMD: a driver for another kernel is left alone' 0 "it was built for another kernel, ${last//[.+]/[&]}" add_types "$first"
	expect 'AMD: without all that it gets its types' 0 'has got type information' add_types "$last"
}

# other_image: our step where the image of the kernel is that of another one.
other_image() {
	local status=0
	put_aside "/boot/vmlinuz-$last"
	cp "$work/bare/boot/vmlinuz-$first" "$work/bare/boot/vmlinuz-$last"
	wrong unused '' || status=$?
	put_back "/boot/vmlinuz-$last"
	return $status
}

# make_of LINE: AMD's command for DKMS, for a kernel with that in its configuration.
make_of() {
	mkdir -p "$work/bare/tmp/headers"
	echo "$1" >"$work/bare/tmp/headers/.config"
	# shellcheck disable=SC2016 # The shell on the host expands it.
	on_bare bash -euc 'kernelver=7.0 kernel_source_dir=/tmp/headers
		. "/usr/src/$1/dkms.conf"; . "$2"; echo "${MAKE[0]}"' sh "${stand_in/\//-}" "$conf"
}

# The kernels and the driver come and go.
test_changes() {
	local newer=amdgpu/2.0-stand-in
	expect "AMD: our step is behind AMD's command" 0 ' -f package.mk && { .*/types 7.0 /tmp/headers ./amd/amdgpu/amdgpu.ko [|][|] :; }$' make_of CONFIG_CC_IS_GCC=y
	expect 'AMD: but not for a kernel of clang' 0 ' -f package.mk$' make_of CONFIG_CC_IS_CLANG=y
	put_back "/usr/src/linux-headers-$last/vmlinux"
	expect 'AMD: with vmlinux in the headers kbuild does it alone' 0 '' build_driver "$last"
	expect 'AMD: our step has no part in it' 1 '^0$' grep -c amdgpu-types <(driver_log "$last")
	keep "$last" vmlinux types
	put_aside "/usr/src/linux-headers-$last/vmlinux"
	expect 'AMD: on a full disk the driver is built' 0 'is left as it was built.*(no room|failed)' on_small_disk "$last" 8m
	cp -r "$work/bare/usr/src/${stand_in/\//-}" "$work/bare/usr/src/${newer/\//-}"
	sed -i 's/1\.0-stand-in/2.0-stand-in/' "$work/bare/usr/src/${newer/\//-}/dkms.conf"
	expect 'AMD: an update of the driver is built, as when a kernel comes' 0 '' on_bare dkms add "$newer"
	expect "AMD: for a kernel that does not run" 0 '' on_bare dkms autoinstall --kernelver "$last"
	expect "AMD: it has types" 0 "^amdgpu-types: amdgpu for ${last//[.+]/[&]} has got type information.* upon those of /boot/vmlinuz-${last//[.+]/[&]}" driver_log "$last" "$newer"
	keep "$last" update types
	expect 'AMD: it is removed' 0 '' on_bare dkms remove "$newer" --all
}

test_purge() {
	expect 'AMD: the package is purged' 0 'Purging configuration files' on_bare dpkg --purge amd-gpreempt-dkms
	expect 'AMD: its file is gone' 2 'No such file' ls "$work/bare$conf"
	expect 'AMD: the driver is built without us' 0 '' build_driver "$first"
	keep "$first" purged none
}

# test_whole DIRECTORY: a package of the same form with a whole driver in it, whose modules
# are put there, for scripts/test/amd-driver.
test_whole() {
	local first=${releases[0]} last=${releases[-1]} package
	make_amd_host
	package=$work/bare/usr/src/${stand_in/\//-}
	rm -r "$package"
	"$scripts/build/amd-package" "$last" "$package"
	cp "$target/deb/amd-gpreempt-dkms_${version}_amd64.deb" "$work/bare/tmp/package.deb"
	expect 'AMD: the package is installed' 0 '^Setting up amd-gpreempt-dkms' install_package
	expect "AMD: $last: a whole driver is built" 0 '' build_driver "$last"
	expect "AMD: $last: it has got types" 0 "^amdgpu-types: amdgpu for ${last//[.+]/[&]} has got type information.* upon those of /boot/vmlinuz-" driver_log "$last"
	keep "$last" whole types
	expect 'AMD: it is built upon the modules of its package' 0 '^depends:.*amdkcl.*amdttm|^depends:.*amdttm.*amdkcl' modinfo "$work/kept/$last/whole.types/amdgpu.ko"
	[ "$failed" -eq 0 ] || return 0
	rm -rf "$1.new"
	mv "$work/kept/$last/whole.types" "$1.new"
	mv "$1.new" "$1"
}

test_amdgpu() {
	local first=${releases[0]} last=${releases[-1]}
	make_amd_host
	cp "$target/deb/amd-gpreempt-dkms_${version}_amd64.deb" "$work/bare/tmp/package.deb"
	test_own_file
	expect 'AMD: the package is installed' 0 '^Setting up amd-gpreempt-dkms' install_package
	test_without_pahole
	test_rebuild
	test_wrong_copies
	test_changes
	expect 'AMD: our module is built beside it' 0 '' on_bare dkms install "$module/$version" -k "$last" --force
	expect 'AMD: and asks for no symbol of it' 0 '^depends: *$' installed "$last" "$work/bare"
	test_purge
	expect "AMD: $first: all of these load" 0 '^/kept/.*\.types has types' load_kept "$first"
	expect "AMD: $last: so they do, and our module reads their types" 0 \
		'the amdgpu that is loaded does not fit this module: .* is missing' load_kept "$last" "$work/$module.ko"
}
