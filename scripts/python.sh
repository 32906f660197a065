#!/usr/bin/env bash
# Builds the Python package next to the library of build/release, installs it into build/python, tests it, and packs and tests the wheel:
# python.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$PWD} CCACHE_NOHASHDIR=1
scripts/venv.sh nanobind numpy pytest ml_dtypes onnx onnxruntime ai-edge-litert mypy
scripts/build.sh --no-tests release "$jobs" parallax parallax_cli
cmake -DPARALLAX_BUILD_PYTHON=ON -DPython_EXECUTABLE="$PWD/build/venv/bin/python" build/release > /dev/null
cmake --build build/release -j "$jobs" --target px_python
rm -rf build/python
cmake --install build/release --component python --prefix build/python/parallax --strip > /dev/null
PYTHONPATH=$PWD/build/python PYTHONDONTWRITEBYTECODE=1 build/venv/bin/python -m pytest -q -p no:cacheprovider python/tests
scripts/wheel.sh
