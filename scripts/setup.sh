#!/usr/bin/env bash
# Installs the Debian packages of a set that are missing: setup.sh [run|test|develop|aarch64], develop when left out. packages.txt says
# what is in a set. Asks for nothing; does nothing when all are there; where it may not install, one line says what is missing.
set -euo pipefail
list=$(cd "$(dirname "$0")" && pwd)/packages.txt
case ${1:-develop} in
  run) sets=" run " ;;
  test) sets=" run test " ;;
  develop) sets=" run test develop " ;;
  aarch64) sets=" run test aarch64 " ;;
  *) echo "setup: no set '$1'; there are run, test, develop and aarch64" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this is not Debian; install by other means what $list lists" >&2
  exit 0
fi
missing=()
while read -r package set _; do
  [[ -z $package || $package == \#* ]] && continue
  set=${set%+arm64}
  [[ $set =~ ^(run|test|develop|aarch64)$ ]] || { echo "setup: $package belongs to no set in $list" >&2; exit 2; }
  [[ $sets == *" $set "* ]] || continue
  status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
  [[ $status == "install ok installed" ]] || missing+=("$package")
done < "$list"
[[ ${#missing[@]} -eq 0 ]] && exit 0

as_root=(env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes)
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: only root can install what is missing: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo "${as_root[@]}")
fi
"${as_root[@]}" apt-get update -qq
install=(apt-get install -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends "${missing[@]}")
# "Need to get 45.6 MB of archives." and "After this operation, 123 MB of additional disk space will be used."
sizes=$(LC_ALL=C apt-get install --assume-no --no-install-recommends "${missing[@]}" 2>/dev/null || true)
download=$(sed -n 's/^Need to get \(.*\) of archives.*/\1/p' <<< "$sizes")
disk=$(sed -n 's/^After this operation, \(.*\) of additional.*/\1/p' <<< "$sizes")
echo "setup: installing ${missing[*]}: ${download:-?} to download, ${disk:-?} on disk"
"${as_root[@]}" "${install[@]}" > /dev/null
