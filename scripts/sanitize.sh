#!/usr/bin/env bash
# Builds and runs every test under AddressSanitizer + UBSan, then what has threads under ThreadSanitizer.
#
# UBSan leaves out null, vptr and object-size: AddressSanitizer stops at the same places, and they are two fifths of the time
# that compiling takes.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
export UBSAN_OPTIONS=print_stacktrace=1
scripts/build.sh asan-ubsan "$jobs"
ctest --test-dir build/asan-ubsan --output-on-failure --timeout 900 -j "$jobs"

# The folders whose code or tests start threads; others are pure functions, which a second look shows nothing new about.
# kernels/ stays out: one test of PackedWeights throws inside call_once, which TSan never gives free again; its tests of WeightMemory pass.
threaded=(base execute session)
targets=(parallax)
for folder in "${threaded[@]}"; do targets+=("px_${folder}_test"); done
scripts/build.sh tsan "$jobs" "${targets[@]}"
ctest --test-dir build/tsan --output-on-failure --timeout 900 -j "$jobs" -R "^($(IFS='|'; echo "${threaded[*]}"))/|^cli/(budget|run)$"
