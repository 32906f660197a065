#!/usr/bin/env bash
# Builds library, tool and tests for 64-bit Arm and runs them under qemu-user: test_aarch64.sh [--part] [JOBS]
#
#     all       every unit test but those of $bytes, the tool on digits, and the five models' outputs beside those of build/release: models of $MODELS
#               where that names a folder, otherwise of the zoo
#     --part    what differs with the instruction set: tests of kernels, and the digits, for which all but tests is compiled
set -euo pipefail
cd "$(dirname "$0")/.."
# They run whole models many times, a quarter of an hour each in the emulator, and count bytes, which are those of any other machine.
bytes='^session/(Models/Zoo\.NeverTakesMoreThanItsBudget|Zoo/UserMemoryOfModels\.|Soak\.)'
targets=() tests=(-E "$bytes") left_out="tests that count the bytes of whole models ($bytes), which are the same on any machine; \`make test\` runs them"
if [[ ${1:-} == --part ]]; then
  shift
  targets=(parallax_cli px_kernels_test)
  tests=(-R '^kernels/[0-9]|^cli/aarch64$') left_out="what \`make test-aarch64\` runs besides: other unit tests and the five models"
fi
jobs=${1:-$(nproc)}
scripts/setup.sh aarch64
scripts/sysroot.sh
scripts/build.sh release "$jobs" parallax_cli
scripts/build.sh aarch64 "$jobs" "${targets[@]}"
scripts/test.sh build/aarch64 "$jobs" --timeout 3600 "${tests[@]}"  # 10,000 runs of a model take 15 minutes here
echo "test_aarch64: left out: $left_out"
