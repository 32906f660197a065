#!/usr/bin/env bash
# Builds library, tool and tests for 64-bit Arm and runs them under qemu-user: test_aarch64.sh [--part] [JOBS]
#
#     all       every unit test, the tool on digits, and the five models' outputs beside those of build/release: models of $MODELS
#               where that names a folder, otherwise of the zoo
#     --part    what differs with the instruction set, in the five minutes that .ci/run has for it: kernels, execution and the digits
set -euo pipefail
cd "$(dirname "$0")/.."
targets=() tests=()
if [[ ${1:-} == --part ]]; then
  shift
  targets=(parallax_cli px_{kernels,run}_test)
  tests=(-R '^(kernels|run)/|^cli/aarch64$')
fi
jobs=${1:-$(nproc)}
scripts/setup.sh aarch64
scripts/sysroot.sh
scripts/build.sh release "$jobs" parallax_cli
scripts/build.sh aarch64 "$jobs" "${targets[@]}"
scripts/test.sh build/aarch64 "$jobs" --timeout 3600 "${tests[@]}"  # 10,000 runs of a model take 15 minutes here
[[ ${#tests[@]} -eq 0 ]] || echo "test_aarch64: a part; \`make test-aarch64\` runs the other unit tests and the five models too"
