#!/usr/bin/env bash
# Installs the Debian packages of scripts/packages.txt that are missing. Asks for nothing; does nothing when all are there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not Debian; install by other means what $here/packages.txt lists" >&2
  exit 0
fi
missing=()
while read -r package _; do
  [[ -z $package || $package == \#* ]] && continue
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done < "$here/packages.txt"
[[ ${#missing[@]} -eq 0 ]] && exit 0

echo "setup: installing ${missing[*]}"
as_root=()
[[ $(id -u) -eq 0 ]] || as_root=(sudo)
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
