#!/usr/bin/env bash
# Runs the tests of a build folder and ends by naming those that were skipped: test.sh FOLDER [JOBS [CTEST-OPTION...]]
set -uo pipefail
here=$(dirname "$0") folder=$1 jobs=${2:-$(nproc)}
shift $(($# < 2 ? $# : 2))
ctest --test-dir "$folder" --output-on-failure --timeout 900 -j "$jobs" "$@"
status=$?
"$here/skipped.py" "$folder/Testing/Temporary/LastTest.log"
exit $status
