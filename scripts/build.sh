#!/usr/bin/env bash
# Configures and builds a preset: build.sh PRESET [JOBS [TARGET...]]. Quiet unless something fails.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=${2:-$(nproc)}
shift $(($# < 2 ? $# : 2))
cmake --preset "$preset" > /dev/null || cmake --preset "$preset"
targets=()
[[ $# -eq 0 ]] || targets=(--target "$@")
cmake --build "build/$preset" -j "$jobs" "${targets[@]}"
