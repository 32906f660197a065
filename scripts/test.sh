#!/usr/bin/env bash
# Runs the tests of a build folder, names those that were skipped, and ends with one line on those that failed:
# test.sh FOLDER [JOBS [CTEST-OPTION...]]. JOBS + 1 tests run at a time, as each waits a seventh of its time.
set -uo pipefail
here=$(dirname "$0") folder=$1 jobs=${2:-$(nproc)}
shift $(($# < 2 ? $# : 2))
logs=$folder/Testing/Temporary
rm -f "$logs/LastTestsFailed.log"
export RC_PARAMS=${RC_PARAMS:-seed=1}  # the same random cases of properties on every day; make nightly looks for others
ctest --test-dir "$folder" --output-on-failure --timeout 900 -j $((jobs + 1)) "$@"
status=$?
"$here/skipped.py" "$logs/LastTest.log"
if [[ $status -eq 0 ]]; then
  echo "test: no test of $folder failed"
else
  failed=$([[ ! -e $logs/LastTestsFailed.log ]] || cut -d: -f2- "$logs/LastTestsFailed.log" | paste -sd' ')
  # CTest names a whole program where its tests are not listed one by one.
  for name in $(sed -n 's/^\[  FAILED  \] \([^ ,]*\).* ([0-9]* ms)$/\1/p' "$logs/LastTest.log"); do
    [[ $failed == *$name* ]] || failed+=" $name"
  done
  echo "test: failed in $folder: ${failed:-ctest ended with $status}"
fi
exit $status
