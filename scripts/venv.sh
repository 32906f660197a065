#!/usr/bin/env bash
# A virtual environment at build/venv with the peers from PyPI. Does nothing when it is complete.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=${*:-onnx onnxruntime openvino ai-edge-litert matplotlib}
[[ -x build/venv/bin/python ]] || /usr/bin/python3 -m venv --system-site-packages build/venv
stamp="build/venv/.has-$(echo "$wanted" | tr -c 'a-z0-9\n' '-')"
[[ -e $stamp ]] && exit 0
# shellcheck disable=SC2086
build/venv/bin/pip install -q $wanted
touch "$stamp"
