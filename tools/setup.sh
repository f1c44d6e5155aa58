# shellcheck shell=bash
# Shell functions shared by tools/run, tools/test and tools/check-clean. Sourced, never run.
# Assumes bash and Debian 12; elsewhere nothing is installed and the build says what is missing.
# Everything said here goes to standard error: standard output belongs to the program.

busbw_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
busbw_jobs=${BUSBW_JOBS:-$(nproc)}

say() { printf 'busbw: %s\n' "$*" >&2; }

# busbw_packages ROLE...: the packages of these roles, one a line.
busbw_packages() {
  local role
  for role in "$@"; do
    awk -v role="$role" '$1 == role { print $2 }' "$busbw_root/tools/packages.txt"
  done
}

# missing_packages PACKAGE...: those that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
      printf '%s\n' "$package"
  done
}

# install_roles ROLE...: installs what is missing of these roles; silent, offline when nothing is.
install_roles() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    say "no apt-get here: install the equivalents of $busbw_root/tools/packages.txt yourself"
    return 0
  fi
  # shellcheck disable=SC2046  # package names have no blanks
  mapfile -t missing < <(missing_packages $(busbw_packages "$@"))
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      say "not root and no sudo: as root, run: apt-get install ${missing[*]}"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing with apt-get: ${missing[*]}"
  local log status=0
  log=$(mktemp)
  { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y \
      --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    tail -n 30 "$log" >&2
    say "apt-get failed (status $status): the packages above are still missing"
  fi
  rm -f "$log"
  return "$status"
}

# quietly LOG COMMAND...: shows the command's output on a terminal; otherwise keeps it in LOG and
# shows its first errors only when the command fails.
quietly() {
  local log=$1 status=0
  shift
  if [ -t 2 ]; then
    "$@" >&2 </dev/null || status=$?
  else
    "$@" >"$log" 2>&1 </dev/null || status=$?
    # The first error matters most: ninja goes on with other jobs after it.
    if [ "$status" -ne 0 ]; then
      grep -v '^\[[0-9]*/[0-9]*\] ' "$log" | head -n 80 >&2
      say "whole output: $log"
    fi
  fi
  return "$status"
}

# build_preset PRESET [TARGET]: configures and builds in build/PRESET.
build_preset() {
  local preset=$1 target=${2:-all} directory=$busbw_root/build/$1
  mkdir -p "$directory"
  quietly "$directory/configure.log" cmake -S "$busbw_root" --preset "$preset" || {
    say "configuring the preset '$preset' failed"
    return 1
  }
  quietly "$directory/build.log" cmake --build "$directory" --target "$target" -j "$busbw_jobs" || {
    say "building the preset '$preset' failed"
    return 1
  }
}
