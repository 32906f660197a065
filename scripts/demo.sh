#!/usr/bin/env bash
# `make demo`: says what is to come and how long it takes, installs and builds what is shown, shows it. demo.sh [JOBS]
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-$(nproc)}
SECONDS_A_FILE=1.0  # of one core (Zen 4, GCC 12), several compiled as one
MB_ON_DISK=900    # the zoo's models unpacked, 843, and what is compiled

if [[ ! -x build/release/parallax ]]; then
  files=$(find src tools/parallax -name '*.cc' ! -name '*_test.cc' ! -name '*_bench.cc' ! -name '*_fuzz.cc' | wc -l)
  minutes=$(awk -v n="$files" -v s=$SECONDS_A_FILE -v j="$jobs" 'BEGIN { m = n * s / j / 60; print (m < 1 ? 1 : int(m + 0.5)) }')
  echo "demo: installs the packages that are missing, compiles $files files (about $minutes min on $jobs cores, once), runs 7 models (1 min); takes $MB_ON_DISK MB in build/, most of it for models"
fi
scripts/setup.sh run
scripts/build.sh --no-tests release "$jobs" parallax_cli

# Beside ONNX Runtime where a Python has it, with `make venv` or otherwise.
python=/usr/bin/python3
for candidate in build/venv/bin/python python3; do
  if "$candidate" -c 'import numpy, onnxruntime' 2>/dev/null; then
    python=$candidate
    break
  fi
done
exec "$python" scripts/demo.py
