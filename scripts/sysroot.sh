#!/usr/bin/env bash
# Unpacks Debian's arm64 packages of what packages.txt marks `+arm64`, and what they need, into build/sysroot-aarch64. Needs no
# root and installs nothing: apt's state lies in build/ too, and this machine keeps its one architecture. Does nothing when all
# are there.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD/build/sysroot-aarch64
mapfile -t packages < <(awk '$2 ~ /\+arm64$/ { print $1 }' scripts/packages.txt)
[[ -f $root/packages && $(< "$root/packages") == "${packages[*]}" ]] && exit 0
if ! command -v apt-get > /dev/null; then
  echo "sysroot: this is not Debian; by other means, put into build/sysroot-aarch64 what arm64 has of ${packages[*]}" >&2
  exit 1
fi

rm -rf "$root"
apt=$root/apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
: > "$apt/status"  # no package is installed
options=(-o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::State="$apt/state/" -o Dir::State::status="$apt/status"
  -o Dir::Cache="$apt/cache/" -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)" -qq)
apt-get "${options[@]}" update
apt-get "${options[@]}" -y --no-install-recommends --download-only install "${packages[@]}" > /dev/null
for package in "$apt"/cache/archives/*.deb; do
  dpkg -x "$package" "$root"
done
rm -rf "$apt"
echo "${packages[*]}" > "$root/packages"
echo "sysroot: ${packages[*]} for arm64 are in build/sysroot-aarch64"
