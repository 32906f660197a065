#!/usr/bin/env bash
# Builds and runs every test under AddressSanitizer + UBSan, then under ThreadSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
export UBSAN_OPTIONS=print_stacktrace=1
for preset in asan-ubsan tsan; do
  scripts/build.sh "$preset" "$jobs"
  ctest --test-dir "build/$preset" --output-on-failure -j "$jobs"
done
