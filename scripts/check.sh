#!/usr/bin/env bash
# Checks that need no test run; all of them are run, then the exit status tells whether any failed.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
step() {  # step NAME COMMAND...
  local name=$1
  shift
  if "$@"; then echo "check: $name ok"; else echo "check: $name FAILED" >&2; failed=1; fi
}
build_tool() {  # docs are compared with what it says
  local log
  log=$(scripts/build.sh release "$(nproc)" parallax_cli 2>&1) || { echo "$log" >&2; return 1; }
}
step build build_tool
step layers /usr/bin/python3 scripts/check_layers.py
step printing /usr/bin/python3 scripts/check_source.py
step english /usr/bin/python3 scripts/check_english.py
step docs /usr/bin/python3 scripts/check_docs.py
step format scripts/check_format.sh
step threads scripts/check_threads.py
step tidy scripts/check_tidy.py
exit $failed
