#!/usr/bin/env bash
# Goes the way of a newcomer: types what README's quick start says, and nothing else.
#
#     newcomer.sh           in a bare Debian 12 (debootstrap's minbase, git and make) with a fresh clone; needs root and the network,
#                           15 minutes on two cores. Where that is not allowed, one line says so
#     newcomer.sh --here    in a fresh clone on this machine, without `make test`, which .ci/run has run before
set -euo pipefail
cd "$(dirname "$0")/.."
RELEASE=bookworm
root=''
TIMEFORMAT='newcomer: %0R s, %0U + %0S s of CPU'

# README's commands, one a line: what is indented and begins with make, and the shell blocks.
commands() {
  awk '/^## / { quick = /Quick start/ }
       /^```/ { shell = !fence && /^```sh/; fence = !fence; next }
       quick && !fence && /^    make / { print substr($0, 5) }
       quick && shell && NF { print }' README.md
}

type_commands() {  # type_commands EXCEPT: in the clone that is the working folder
  local line
  mkdir -p build
  packages > build/packages
  while read -r line; do
    [[ $line == "$1" ]] && continue
    echo "newcomer: \$ $line"
    time bash -c "$line" < /dev/null || { echo "newcomer: '$line' failed" >&2; exit 1; }
    [[ $line != "make demo" ]] || only_what_it_shows
  done < <(commands)
  [[ -z $(git status --porcelain) ]] || { echo "newcomer: the clone has changed:" >&2; git status --short >&2; exit 1; }
}

# Packages that somebody asked for, one a line; those that they need themselves are not among them.
packages() {
  ! command -v apt-mark > /dev/null || apt-mark showmanual | sort
}

# The demo builds no test and installs no package of the tests and checks.
only_what_it_shows() {
  local package set
  [[ -z $(find build/release -name '*_test') ]] || { echo "newcomer: the demo built tests" >&2; exit 1; }
  while read -r package set _; do
    [[ -n $package && $package != \#* ]] || continue
    [[ ${set%+arm64} != run ]] || continue
    ! comm -13 build/packages <(packages) | grep -qx "$package" || { echo "newcomer: the demo installed $package" >&2; exit 1; }
  done < scripts/packages.txt
}

here() {
  root=$PWD/build/newcomer
  rm -rf "$root"
  trap 'rm -rf "$root"' EXIT
  git clone -q . "$root"
  (cd "$root" && type_commands "make test")
}

skip() {
  echo "newcomer: skipped: $1"
  exit 0
}

leave() {
  local folder
  for folder in "$root/proc" "$root/dev/pts"; do
    ! mountpoint -q "$folder" || umount "$folder" || return
  done
  rm -rf --one-file-system "$root"
}

bare() {
  [[ $(id -u) -eq 0 ]] || skip "a bare system needs root"
  command -v debootstrap > /dev/null || skip "debootstrap is not installed (apt-get install debootstrap)"
  root=$(mktemp -d)
  chmod 755 "$root"  # apt reads it as a user of its own
  trap leave EXIT
  { mknod "$root/null" c 1 3 && : > "$root/null"; } 2>/dev/null || skip "this root may not make devices"
  rm "$root/null"
  echo "newcomer: a bare Debian 12 in $root"
  debootstrap --variant=minbase --include=git,make "$RELEASE" "$root" > "$root.log" || { tail "$root.log" >&2; exit 1; }
  rm "$root.log"
  mount -t proc proc "$root/proc" 2>/dev/null || skip "this root may not mount /proc"
  mkdir -p "$root/dev/pts"
  mount -t devpts devpts "$root/dev/pts" -o ptmxmode=0666 2>/dev/null || skip "this root may not mount /dev/pts"  # tests open terminals
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  git clone -q . "$root/srv/parallax"
  chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/srv LANG=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} bash -c 'cd /srv/parallax && scripts/newcomer.sh --type'
}

case ${1:-} in
  '') bare ;;
  --here) here ;;
  --type) type_commands '' ;;
  *) echo "usage: newcomer.sh [--here]" >&2; exit 2 ;;
esac
echo "newcomer: all of README's commands work"
