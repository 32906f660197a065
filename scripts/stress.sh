#!/usr/bin/env bash
# 10,000 runs with random faults of a delegate, cancellations and shapes, and 10,000 on all delegates, in each of three builds:
# stress.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
for preset in release asan-ubsan tsan; do
  scripts/build.sh "$preset" "${1:-$(nproc)}" px_session_test
  PARALLAX_STRESS_RUNS=10000 "build/$preset/px_session_test" --gtest_brief=1 --gtest_filter='DelegateStress*:DelegateSoak*'
done
