# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# A host with systemd, in QEMU: made from the files that scripts/setup/system-root
# printed, changed in a chroot while it is off, and given commands while it runs.
#
# A script sets `host_files` to these files and `work` to a folder of its own, and
# sources this file in the root, after common.sh.  Commands reach the guest by a
# virtio port: a line has a command, in base64, and a line comes back.
#
# shellcheck disable=SC2154 # The script sets work, host_files and scripts.

host_memory=2048
# Patience for a guest on a busy machine without hardware support.
host_patience=900

# make_host_tree: the files of the host, for changes, in $work/host.
make_host_tree() {
	mkdir -p "$work/upper" "$work/overlay" "$work/host"
	mount -t overlay overlay \
		-o "lowerdir=$host_files,upperdir=$work/upper,workdir=$work/overlay" "$work/host"
	local directory
	for directory in proc sys dev; do
		mount --rbind "/$directory" "$work/host/$directory"
	done
	mount -t tmpfs tmpfs "$work/host/run"
	mount -t tmpfs tmpfs "$work/host/tmp"
	put_console
}

# in_tree COMMAND...: runs a command in the host's files while it is off.
in_tree() {
	env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		chroot "$work/host" "$@"
}

# put_console: what answers in the guest.
put_console() {
	cat >"$work/host/usr/local/sbin/answer" <<-'END'
		#!/bin/bash
		exec 3<>/dev/virtio-ports/commands
		echo "ready" >&3
		while read -r line <&3; do
			output=$(bash -c "$(base64 --decode <<<"$line")" 2>&1 </dev/null)
			status=$?
			echo "$status $(base64 --wrap=0 <<<"$output")" >&3
		done
	END
	chmod 755 "$work/host/usr/local/sbin/answer"
	cat >"$work/host/etc/systemd/system/answer.service" <<-'END'
		[Unit]
		Description=Commands from the virtio port
		After=systemd-modules-load.service systemd-udev-settle.service

		[Service]
		ExecStart=/usr/local/sbin/answer
		Environment=HOME=/root LANG=C.UTF-8
		KillMode=process

		[Install]
		WantedBy=multi-user.target
	END
	in_tree systemctl enable --quiet answer.service
	# On an emulated processor amdgpu alone takes a minute to load.
	mkdir -p "$work/host/etc/systemd/system/systemd-modules-load.service.d"
	printf '[Service]\nTimeoutSec=%s\n' "$host_patience" \
		>"$work/host/etc/systemd/system/systemd-modules-load.service.d/patience.conf"
	# Nobody logs in, and nothing of the network is there.
	in_tree systemctl mask --quiet getty@.service serial-getty@.service systemd-networkd-wait-online.service \
		apt-daily.timer apt-daily-upgrade.timer man-db.timer e2scrub_all.timer fstrim.timer
	echo host >"$work/host/etc/hostname"
	echo '/dev/vda / ext4 defaults,noatime 0 1' >"$work/host/etc/fstab"
}

# make_host_disk FILE: what the host starts from, as its files are now.
make_host_disk() {
	local mounted
	for mounted in tmp run dev sys proc; do
		umount --recursive --lazy "$work/host/$mounted"
	done
	rm -f "$1"
	mkdir -p "$work/boot"
	cp "$work/host"/boot/* "$work/boot/"
	truncate --size=5G "$1"
	mke2fs -q -t ext4 -m 0 -E lazy_itable_init=1 -d "$work/host" "$1"
}

# start_host KERNEL [QEMU-ARGUMENT...]: boots the disk $work/disk and waits until the
# guest takes commands.  With host_snapshot=on the disk stays as it is.
start_host() {
	local kernel=$1 line
	shift
	rm -f "$work"/port.*
	mkfifo "$work/port.in" "$work/port.out"
	qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 1 -m "$host_memory" \
		-nodefaults -no-user-config -display none -no-reboot \
		-serial "file:$work/console" \
		-drive "file=$work/disk,format=raw,if=virtio,snapshot=${host_snapshot:-off},cache=unsafe" \
		-device virtio-serial-pci -chardev "pipe,id=port,path=$work/port" \
		-device virtserialport,chardev=port,name=commands \
		-kernel "$work/boot/vmlinuz-$kernel" -initrd "$work/boot/initrd.img-$kernel" \
		-append "root=/dev/vda rw console=ttyS0 panic=-1 mitigations=off no_timer_check loglevel=5 systemd.show_status=no systemd.default_timeout_start_sec=$host_patience systemd.default_device_timeout_sec=$host_patience" \
		"$@" >"$work/qemu" 2>&1 </dev/null &
	host_process=$!
	exec 5>"$work/port.in" 6<"$work/port.out"
	while read -r -t "$host_patience" line <&6; do
		[ "$line" != ready ] || return 0
	done
	cat "$work/qemu"
	tail -n 40 "$work/console"
	stop_host
	die "the host did not come up; the lines above are the last of its console"
}

# on_host COMMAND: what a shell of the guest prints for a command, and its status.
on_host() {
	local status output
	base64 --wrap=0 <<<"$1" >&5
	echo >&5
	if ! read -r -t "$host_patience" status output <&6; then
		tail -n 20 "$work/console"
		echo "the host does not answer; the lines above are the last of its console"
		return 125
	fi
	base64 --decode <<<"$output"
	return "$status"
}

# turn_off: the host shuts down in an orderly way.
turn_off() {
	on_host 'systemctl --no-block poweroff' >/dev/null || :
	wait "$host_process" || :
	host_process=''
}

# stop_host: as when the power goes.
stop_host() {
	[ -z "${host_process:-}" ] || kill -KILL "$host_process" 2>/dev/null || :
	wait "${host_process:-}" 2>/dev/null || :
	host_process=''
}
