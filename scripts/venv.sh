#!/usr/bin/env bash
# A virtual environment at build/venv with the peers from PyPI: venv.sh [PACKAGE...]. Does nothing when it is complete. With VENV=FOLDER
# it is there, and sees no package of the system.
set -euo pipefail
cd "$(dirname "$0")/.."
wanted=${*:-onnx onnxruntime openvino ai-edge-litert matplotlib}
venv=${VENV:-build/venv}
system=()
[[ -n ${VENV:-} ]] || system=(--system-site-packages)
[[ -x $venv/bin/python ]] || /usr/bin/python3 -m venv "${system[@]}" "$venv"
stamp="$venv/.has-$(echo "$wanted" | tr -c 'a-z0-9\n' '-')"
[[ -e $stamp ]] && exit 0
# shellcheck disable=SC2086
"$venv/bin/pip" install -q $wanted
touch "$stamp"
