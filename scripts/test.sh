#!/usr/bin/env bash
# Runs the tests of a build folder, names those that were skipped, and ends with one line on those that failed:
# test.sh FOLDER [JOBS [CTEST-OPTION...]]
set -uo pipefail
here=$(dirname "$0") folder=$1 jobs=${2:-$(nproc)}
shift $(($# < 2 ? $# : 2))
log=$folder/Testing/Temporary/LastTestsFailed.log
rm -f "$log"
ctest --test-dir "$folder" --output-on-failure --timeout 900 -j "$jobs" "$@"
status=$?
"$here/skipped.py" "$folder/Testing/Temporary/LastTest.log"
if [[ $status -eq 0 ]]; then
  echo "test: no test of $folder failed"
else
  failed=$([[ ! -e $log ]] || cut -d: -f2- "$log" | paste -sd' ')
  echo "test: failed in $folder: ${failed:-ctest ended with $status}"
fi
exit $status
