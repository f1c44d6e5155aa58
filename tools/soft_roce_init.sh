#!/bin/busybox sh
# /init of the guest of tools/soft-roce: loads the modules, mounts the host's file system read-only
# and hands over to tools/soft-roce inside it. Assumes busybox at /bin/busybox, the modules below
# /modules in the order of /modules/order, and the control folder with what to run.
# shellcheck shell=dash
box=/bin/busybox

# fail TEXT: the text goes to the console, which the host shows; the host finds no status then.
fail() {
  echo "soft-roce guest: $1"
  $box poweroff -f
}

$box mkdir -p /proc /sys /dev /top /host /control
$box mount -t proc proc /proc
$box mount -t sysfs sysfs /sys
$box mount -t devtmpfs devtmpfs /dev
while read -r module; do
  $box insmod "/modules/$module" || fail "module $module cannot be loaded"
done </modules/order

plan9=trans=virtio,version=9p2000.L,msize=262144
$box mount -t 9p -o "$plan9,ro,cache=loose" host /host || fail 'the host file system is not there'
$box mount -t 9p -o "$plan9" control /control || fail 'the control folder is not there'

# A second view of the host, on which /tmp and /run are the guest's own.
$box mount -o bind /host /top
for folder in tmp run; do
  $box mount -t tmpfs -o mode=1777 tmpfs "/top/$folder" || fail "/$folder cannot be mounted"
done
$box mkdir -p /dev/shm /dev/pts /top/run/soft-roce
$box mount -t tmpfs tmpfs /dev/shm
$box mount -t devpts devpts /dev/pts
# What udev would add: without it shells have no process substitution.
$box ln -s /proc/self/fd /dev/fd
for stream in 0,stdin 1,stdout 2,stderr; do
  $box ln -s "/proc/self/fd/${stream%,*}" "/dev/${stream#*,}"
done
for folder in dev proc sys; do $box mount -o bind "/$folder" "/top/$folder"; done
$box mount -o bind /control /top/run/soft-roce
# The only provider that is of use here: loading all of them takes longer than most commands.
if [ -d /top/etc/libibverbs.d ]; then
  $box mount -t tmpfs tmpfs /top/etc/libibverbs.d
  echo 'driver rxe' >/top/etc/libibverbs.d/rxe.driver
fi

# Folders of the host below /tmp and /run that are needed: this repository and the working folder.
while read -r folder; do
  $box mkdir -p "/top$folder"
  $box mount -o bind "/host$folder" "/top$folder" || fail "$folder cannot be mounted"
done </control/show
if read -r folder </control/out && [ -n "$folder" ]; then
  [ -d "/top$folder" ] || $box mkdir -p "/top$folder"
  $box mount -t 9p -o "$plan9,cache=mmap" out "/top$folder" || fail "$folder cannot be mounted"
fi

read -r repository </control/repository
PATH=/usr/sbin:/usr/bin:/sbin:/bin $box chroot /top \
  /bin/bash "$repository/tools/soft-roce" --in-guest || fail 'no status of the command'
$box sync
$box poweroff -f
