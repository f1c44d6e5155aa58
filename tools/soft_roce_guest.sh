# shellcheck shell=bash disable=SC2154,SC2034  # shares the variables of tools/soft-roce
# Shell functions of tools/soft-roce for the guest: its kernel, its initramfs, how it is run, and
# what runs inside. Sourced, never run. Assumes Debian 12 on amd64.
#
# The guest has one processor, emulated: measured on 2 busy cores, several processors or multi-
# threaded emulation made it slower and lose packets, and the plain CPU model qemu64 carries 2 to 4
# times the bytes of `max`. KVM is not used, because virtual machines often have one that hangs.

cache=$busbw_root/build/soft-roce
# What /init loads, with what these need; rxe asks for crc32 by name, so no module depends on it.
guest_modules=(virtio_pci virtio_console 9pnet_virtio 9p crc32_generic crc32c_generic veth bridge
  sch_tbf sch_netem rdma_rxe rdma_ucm)
# Where these and what they need lie: a quarter of a minute less than unpacking all modules.
module_folders=(arch/x86/crypto crypto lib net fs/9p fs/netfs fs/fscache fs/configfs
  drivers/infiniband drivers/virtio drivers/char drivers/net/veth.ko)

# number OFFSET SIZE FILE: the little-endian number of SIZE bytes.
number() { od -An -t "u$2" -j "$1" -N "$2" "$3" | tr -d ' '; }

# unpack_kernel IMAGE TARGET: the ELF kernel inside IMAGE, which qemu starts 2 to 3 s sooner than
# one that must decompress itself under emulation. Its place stands in the image's set-up header
# (Linux boot protocol 2.08: setup_sects 0x1f1, payload_offset 0x248, payload_length 0x24c).
unpack_kernel() {
  local start size magic
  start=$((($(number 0x1f1 1 "$1") + 1) * 512 + $(number 0x248 4 "$1")))
  size=$(number 0x24c 4 "$1")
  # xz ends with an error at the size that follows the compressed kernel.
  dd if="$1" iflag=skip_bytes,count_bytes skip="$start" count="$size" bs=1M status=none |
    xz -dc --single-stream >"$2" 2>/dev/null
  read -r -N 4 magic <"$2" && [ "$magic" = $'\x7fELF' ]
}

# kernel_package: the package that linux-image-amd64 stands for today; its name has the version.
kernel_package() {
  apt-cache depends linux-image-amd64 2>/dev/null |
    awk '$1 == "Depends:" && $2 ~ /^linux-image-/ { print $2; exit }'
}

# download_kernel: fetches the package into $work and prints its name; renews apt's lists once when
# they lack it. What apt-get said is in $work/apt.log.
download_kernel() {
  local package try
  for try in 1 2; do
    package=$(kernel_package)
    if [ -n "$package" ] &&
      (cd "$work" && timeout 300 apt-get download -qq "$package") >"$work/apt.log" 2>&1; then
      echo "$package"
      return 0
    fi
    [ "$try" = 1 ] && [ "$(id -u)" -eq 0 ] && timeout 300 apt-get update >"$work/apt.log" 2>&1
  done
  return 1
}

# make_kernel: $cache/kernel with vmlinux and modules/, from the package. Nothing is installed.
make_kernel() {
  local package version module file tree=$work/tree new=$work/kernel
  say 'fetching a kernel with soft-RoCE (once, 70 MB)'
  package=$(download_kernel) ||
    cannot "apt-get cannot fetch the kernel package of Debian: $(tail -n 1 "$work/apt.log")"
  version=${package#linux-image-}
  mkdir -p "$new/modules" "$tree"
  dpkg-deb --fsys-tarfile "$work/$package"_*.deb |
    tar -x -C "$tree" "./boot/vmlinuz-$version" "./lib/modules/$version/modules.order" \
      "./lib/modules/$version/modules.builtin" "./lib/modules/$version/modules.builtin.modinfo" \
      "${module_folders[@]/#/./lib/modules/$version/kernel/}" 2>"$work/tar.log" ||
    cannot "$package cannot be unpacked: $(tail -n 1 "$work/tar.log")"
  unpack_kernel "$tree/boot/vmlinuz-$version" "$new/vmlinux" ||
    cannot "$package has a kernel in an unknown format"
  depmod -b "$tree" "$version"
  for module in "${guest_modules[@]}"; do
    modprobe -d "$tree" -S "$version" --show-depends "$module" 2>"$work/modprobe.log"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$work/modules"
  while read -r file; do
    cp "$file" "$new/modules/" && basename "$file" >>"$new/modules/order"
  done <"$work/modules"
  for module in "${guest_modules[@]}"; do
    grep -qx "$module.ko" "$new/modules/order" || cannot "$package has no module $module"
  done
  echo "$package" >"$new/package"
  rm -rf "$cache/kernel"
  mv "$new" "$cache/kernel" || cannot "$cache cannot be written"
}

# make_initramfs: $cache/kernel/initramfs, from the modules, busybox and /init.
make_initramfs() {
  local folder=$work/initramfs
  mkdir -p "$folder/bin"
  {
    cp -r "$cache/kernel/modules" "$folder/modules" &&
      cp "$(command -v busybox)" "$folder/bin/busybox" &&
      install -m 755 "$busbw_root/tools/soft_roce_init.sh" "$folder/init" &&
      (cd "$folder" && find . | sort | cpio -o -H newc --quiet >"$work/initramfs.cpio") &&
      gzip -1 "$work/initramfs.cpio" && mv "$work/initramfs.cpio.gz" "$cache/kernel/initramfs"
  } || cannot 'the initramfs cannot be made'
}

# missing_program: the first of the guest's programs that is not here, if any.
missing_program() {
  local program
  for program in qemu-system-x86_64 busybox cpio depmod modprobe xz dpkg-deb ip rdma tc; do
    command -v "$program" >/dev/null || { echo "$program"; return; }
  done
}

# prepare_guest: all that the guest needs, made at most once at a time; ends the script otherwise.
prepare_guest() {
  local missing
  [ "$(uname -m)" = x86_64 ] || cannot "the guest is for x86_64, and this is $(uname -m)"
  missing=$(missing_program)
  if [ -n "$missing" ]; then
    say 'installing the packages that the guest needs'
    install_roles roce 2>"$work/install.log"
    missing=$(missing_program)
    [ -z "$missing" ] ||
      cannot "$missing is missing: $(tail -n 1 "$work/install.log" | sed 's/^busbw: //')"
  fi
  { mkdir -p "$cache" && exec 7>"$cache/lock" && flock -w 900 7; } ||
    cannot "$cache cannot be locked"
  [ -e "$cache/kernel/package" ] || make_kernel
  if ! [ "$cache/kernel/initramfs" -nt "$busbw_root/tools/soft_roce_init.sh" ]; then
    make_initramfs
  fi
  exec 7>&-
}

# shown FOLDER...: those below /tmp and /run, which the guest would not see otherwise.
shown() {
  local folder
  for folder in "$@"; do
    [[ $folder/ != /tmp/* && $folder/ != /run/* ]] || printf '%s\n' "$folder"
  done
}

# write_control COMMAND...: what the guest is to do, in $work/control.
write_control() {
  local control=$work/control
  mkdir "$control"
  printf '%s\n' "$busbw_root" >"$control/repository"
  printf '%s\n' "$out" >"$control/out"
  shown "$busbw_root" "$PWD" >"$control/show"
  printf '%s\0' "$PWD" "$hosts" "$streams" "${#shapes[@]}" "${shapes[@]}" "$@" >"$control/command"
  env -0 >"$control/environment"
}

# run_guest COMMAND...: boots, passes its output on, ends the script with its status.
run_guest() {
  local qemu=() options=() status started=$SECONDS readers=()
  streams=2
  # One stream when both go to the same place: their order would be lost otherwise.
  [ ! /proc/self/fd/1 -ef /proc/self/fd/2 ] || streams=1
  write_control "$@"
  [ "$icount" = no ] || options+=(-icount 'shift=1,sleep=off')
  [ -z "$out" ] || options+=(-virtfs "local,path=${out//,/,,},mount_tag=out,security_model=none")
  # A kernel that hangs ends the guest after two minutes, and the console says so. Reports of RCU
  # stalls would put that off for ever: each tells the watchdog that all is well.
  local kernel='console=ttyS0 quiet panic=-1 softlockup_panic=1 watchdog_thresh=60'
  kernel+=' rcupdate.rcu_cpu_stall_suppress=1 hung_task_panic=1'
  # rdma_rxe of Linux 6.1 sends in the task that posts, without end where no acknowledgement comes;
  # with one processor and no preemption nothing that could end it runs then, not even its timers.
  kernel+=' preempt=full mitigations=off nokaslr no_timer_check'
  qemu=(qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M pc
    -accel 'tcg,thread=single' -cpu qemu64 -smp 1 -m 1024
    -kernel "$cache/kernel/vmlinux" -initrd "$cache/kernel/initramfs"
    -append "$kernel"
    -serial "file:$work/console"
    -virtfs 'local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap'
    -virtfs "local,path=$work/control,mount_tag=control,security_model=none"
    -device virtio-serial-pci
    -chardev 'file,id=out,path=/proc/self/fd/8' -device 'virtserialport,chardev=out,nr=1'
    -chardev 'file,id=err,path=/proc/self/fd/9' -device 'virtserialport,chardev=err,nr=2')
  exec 8> >(exec cat)
  readers=("$!")
  exec 9> >(exec cat >&2 8>&-)
  readers+=("$!")
  timeout --kill-after=5 "$limit" "${qemu[@]}" "${options[@]}" \
    </dev/null >"$work/qemu" 2>&1 &
  children=("$!")
  exec 8>&- 9>&-
  wait "$!"
  status=$?
  children=()
  wait "${readers[@]}"
  if ! [ -s "$work/control/status" ] && [ $((SECONDS - started)) -ge "$limit" ]; then
    show_guest
    say "time-out: not done after $limit s"
    exit 124
  fi
  if ! [ -s "$work/control/status" ]; then
    show_guest
    say "the guest ended without a status of the command (qemu: $status)"
    exit 125
  fi
  read -r status <"$work/control/status"
  [ "$status" -eq 0 ] || show_guest
  exit "$status"
}

# show_guest: what the kernel of the guest and qemu said, if anything.
show_guest() {
  cat "$work/qemu" "$work/console" 2>/dev/null | tr -d '\r' |
    grep -v -e '^$' -e 'reboot: Power down$' | tail -n 120 | # a kernel's last words, whole
    sed 's/^/busbw: guest: /' >&2
}

# run_in_guest: inside: makes the hosts, runs the command as written in the control folder, and
# leaves its status there. Prints only to the ports of the two streams.
run_in_guest() {
  local all streams status try folder count shapes environment variables=() name copiers=() ports
  local control=/run/soft-roce
  mapfile -d '' -t all <"$control/command"
  mapfile -d '' -t environment <"$control/environment"
  folder=${all[0]}
  hosts=${all[1]}
  streams=${all[2]}
  count=${all[3]}
  shapes=("${all[@]:4:count}")
  read -r out <"$control/out"
  for name in "${environment[@]}"; do
    [[ $name == TMPDIR=* || $name == _=* ]] || variables+=("$name")
  done
  variables+=("SOFT_ROCE_HOSTS=$hosts" "SOFT_ROCE_OUT=$out" SOFT_ROCE_GUEST=yes)
  [[ ${PATH:-} == */sbin* ]] || PATH=$PATH:/usr/sbin:/sbin
  ip link set lo up
  # Eight ranks with a queue pair for each peer send more than the 1000 packets that wait for a
  # processor by default; each one lost costs a queue pair's time-out, 4 s with NCCL's.
  echo 100000 >/proc/sys/net/core/netdev_max_backlog
  for ((try = 0; try < 100; ++try)); do
    ports=(/dev/vport*p[12]) # the first number is that of the virtio device
    [ "${#ports[@]}" -lt 2 ] || break
    sleep 0.05
  done
  exec 3>"${ports[0]}" 4>"${ports[1]}" || return 1
  if make_hosts "$hosts" "${shapes[@]}" >&4 2>&4; then
    cd "$folder" || return 1
    # Pipes, because COMMAND may open its streams again, which a port allows only once.
    exec 5> >(exec cat >&3)
    copiers=("$!")
    exec 6> >(exec cat >&4 5>&-)
    copiers+=("$!")
    [ "$streams" = 2 ] || exec 6>&5
    env -i "${variables[@]}" "${all[@]:4+count}" </dev/null >&5 2>&6 3>&- 4>&- 5>&- 6>&-
    status=$?
    exec 5>&- 6>&-
  else
    say 'the devices could not be made' 2>&4
    status=125
  fi
  exec 3>&- 4>&-
  for name in "${copiers[@]}"; do # a process that COMMAND left behind may hold a pipe: 2 s each
    for ((try = 0; try < 40; ++try)); do
      kill -0 "$name" 2>/dev/null || break
      sleep 0.05
    done
  done
  echo "$status" >"$control/status"
}
