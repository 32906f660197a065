#!/usr/bin/env bash
# libFuzzer over all that reads bytes, under ASan and UBSan: fuzz_bytes.sh MINUTES [JOBS]. Each program runs for that long,
# after its corpus and what it once found; with 0 minutes it runs no more than these.
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=$1 jobs=${2:-$(nproc)}
corpus=build/fuzz/corpus
scripts/build.sh release "$jobs" px_fuzz
scripts/build.sh fuzz "$jobs" px_fuzzers

# Small models and what belongs to them, the same ones each time. What libFuzzer adds stays for the next time.
rm -rf "$corpus/made"
build/release/px_fuzz --seed 1 --count 150 --corpus "$corpus/made" > /dev/null
mkdir -p "$corpus/made/profile_toml"
cp models/digits/digits.onnx "$corpus/made/onnx/"
cp models/digits/digits.tflite "$corpus/made/tflite/"
cp profiles/*.toml tests/golden/*.toml "$corpus/made/profile_toml/"

limit=("-max_total_time=$((minutes * 60))")
[[ $minutes != 0 ]] || limit=(-runs=0)
run() {  # run NAME: its corpora; findings go to build/fuzz/found
  local folders=("$corpus/$1" "$corpus/made/$1")
  [[ ! -d tests/fuzz/bytes/$1 ]] || folders+=("tests/fuzz/bytes/$1")
  mkdir -p "${folders[0]}" build/fuzz/found
  echo "px_$1_fuzz"
  if ! "build/fuzz/px_$1_fuzz" "${folders[@]}" "${limit[@]}" "-artifact_prefix=build/fuzz/found/$1-" -timeout=20 -rss_limit_mb=2048 \
      -max_len=65536 -print_final_stats=1 > "build/fuzz/$1.log" 2>&1; then
    tail -n 40 "build/fuzz/$1.log"
    return 1
  fi
  grep -E 'number_of_executed_units|peak_rss_mb' "build/fuzz/$1.log" || true
}
failed=0
for program in build/fuzz/px_*_fuzz; do
  name=${program##*/px_}
  run "${name%_fuzz}" || failed=1
done
exit $failed
