#!/usr/bin/env bash
# Configures and builds a preset: build.sh [--no-tests] PRESET [JOBS [TARGET...]]. Quiet unless something fails.
# --no-tests configures without tests, which need packages of their own; a folder that has them keeps them.
set -euo pipefail
cd "$(dirname "$0")/.."
options=()
if [[ $1 == --no-tests ]]; then
  shift
  grep -qs PARALLAX_BUILD_TESTS:BOOL=ON "build/$1/CMakeCache.txt" || options=(-DPARALLAX_BUILD_TESTS=OFF)
fi
# Every clone shares the compiler cache, wherever it lies; it finds headers by what the compiler says, without preprocessing each source.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
preset=$1 jobs=${2:-$(nproc)}
shift $(($# < 2 ? $# : 2))
cmake --preset "$preset" "${options[@]}" > /dev/null || cmake --preset "$preset" "${options[@]}"
targets=()
[[ $# -eq 0 ]] || targets=(--target "$@")
cmake --build "build/$preset" -j "$jobs" "${targets[@]}"
