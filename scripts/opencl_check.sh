#!/usr/bin/env bash
# Runs the tests of the delegate opencl on Oclgrind, which sees races between work-items, accesses out of bounds and wrong calls of
# the API. Each tensor has a buffer of its own then. opencl_check.sh [--part] [PRESET]; --part: each kernel once, on small shapes.
set -euo pipefail
cd "$(dirname "$0")/.."
filter='*'
if [[ ${1:-} == --part ]]; then
  filter='OpenClKernels.*'
  shift
fi
icd=/usr/lib/oclgrind/liboclgrind-rt-icd.so
if [[ ! -e $icd ]]; then
  echo "opencl_check: oclgrind is not installed" >&2
  exit 1
fi
scripts/build.sh "${1:-release}" "$(nproc)" px_delegates_opencl_test > /dev/null
log=build/oclgrind.log
: > "$log"
# Oclgrind's log is not its standard error, where gtest's failures are.
OCL_ICD_VENDORS=$icd PX_OPENCL_CHECK=1 OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 OCLGRIND_LOG=$PWD/$log \
  timeout 3600 "build/${1:-release}/px_delegates_opencl_test" --gtest_brief=1 --gtest_filter="$filter"
if [[ -s $log ]]; then
  head -40 "$log" >&2
  exit 1
fi
echo "opencl_check: ok"
