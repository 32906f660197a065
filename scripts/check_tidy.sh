#!/usr/bin/env bash
# clang-tidy (.clang-tidy says which checks) over the sources of the library and the tools, changed files only when
# build/tidy-stamps says that the others are as they were.
cd "$(dirname "$0")/.." || exit 1
scripts/build.sh release 2 >/dev/null || exit 1
stamps=build/tidy-stamps
mkdir -p "$stamps"
headers=$(cat .clang-tidy $(git ls-files -- '*.h' '*.def') | sha256sum | cut -c1-16)
todo=()
for file in $(git ls-files -- 'src/*.cc' 'tools/*.cc' 'examples/*.cc' | grep -v -e '_test\.cc$' -e '_bench\.cc$' -e '_fuzz\.cc$'); do
  key=$(echo "$file" "$headers" "$(sha256sum < "$file")" | sha256sum | cut -c1-32)
  [[ -e $stamps/$key ]] || todo+=("$file:$key")
done
printf '%s\n' "${todo[@]}" | grep . | xargs -r -P "$(nproc)" -I{} bash -c '
  entry={}; file=${entry%%:*}; key=${entry##*:}
  clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option -p build/release "$file" 2>/dev/null && touch "build/tidy-stamps/$key"'
