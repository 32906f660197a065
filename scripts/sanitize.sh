#!/usr/bin/env bash
# Builds and runs every test under AddressSanitizer + UBSan, then what has threads under ThreadSanitizer: sanitize.sh [--all] [JOBS]
#
# Kernels are compiled for this CPU's instruction sets from AVX2 on, and tests that take long and show these checkers little are left
# out; --all: kernels for each set that the library has, and every test.
#
# UBSan leaves out null, vptr and object-size: AddressSanitizer stops at the same places, and they are two fifths of the time
# that compiling takes.
set -euo pipefail
cd "$(dirname "$0")/.."
native=ON
# Print or compare figures, or look for planted faults in the checks themselves; GoogleTest's tests as its filter has them.
slow_cli='^cli/(arguments|bench|fuzz|images|info|paper|parity|plan|simulate|types)$'
slow='*FindsWhatIsPlanted*:*ARightDelegatePasses*'
# Compare results that tests of each kernel compare too; most of the time of OpenCL's is the driver's compiler.
slow+=':*DecompositionTest*:OpenClTuning.*:OpenClHalf.*:OpenClAttention.AnyShape:OpenClElementwise.*:Zoo/UserMemoryOfModels.*/yolov8n'
slow+=':*RunningAndDestroying/DigitsWithoutFolder:*RunningAndDestroying/DigitsFromCache'
# Fail each allocation of a model's run, one after the other: of six ways to run a model two stay.
slow+=':*OutOfMemory.RunningAndDestroying/AllSortsIn*:*OutOfMemory.RunningAndDestroying/Digits:*RunningAndDestroying/DigitsInBf16'
# Compare numbers over many shapes, on memory that other tests use in the same way.
slow_address="$slow:CpuAttention.AgreesWithReference:RunTimeViews.HaveTheElementsOfWhatTheyView:NotFinite.Convolutions"
# Are about what threads do at the same time, which the second checker looks at.
slow_address+=':MixedRuns.ShareFreeMemory:CoresSession.*:StoppedRun.NoBody*:*DataDependent:CoExecution.*'
# One thread computes, or tests that stay do what several do.
slow_thread="$slow:*NotFinite*:*HaveTheElementsOfWhatTheyView*:*EveryFormIsAGraph*:*HalfStorage*:*RunningAndDestroying/*"
slow_thread+=':*SessionSizes*DataDependent:PlanPinTest.AFullFile*:PlanPinTest.ThreadsLoseNothing:HostileTflite.*:Zoo/UserMemory*/distilbert'
share=3  # of the hostile models
if [[ ${1:-} == --all ]]; then
  native=OFF slow_cli='^$' slow='' slow_address='' slow_thread='' share=1
  shift
fi
jobs=${1:-$(nproc)}
export UBSAN_OPTIONS=print_stacktrace=1
export RC_PARAMS="max_success=25 seed=1"  # random cases of a property; `make test` takes 100
cmake --preset asan-ubsan -DPARALLAX_NATIVE_KERNELS=$native > /dev/null
scripts/build.sh asan-ubsan "$jobs"
# Without what runs other builds, or looks at scripts and docs.
PARALLAX_HOSTILE_SHARE=$share GTEST_FILTER="*-$slow_address" scripts/test.sh build/asan-ubsan "$jobs" -E "^cli/(demo|docs|gains|newcomer|setup|skipped|tables|tidy)$|$slow_cli"

# What starts threads, and the command line over all of it; others are pure functions, which a second look shows nothing
# new about.
threaded='(base|kernels/weights|bind|run|delegate_host|delegates/(cores|opencl)|planning|session|conformance)/|cli/(budget|run)$|fuzz/kept$'
cmake --preset tsan -DPARALLAX_NATIVE_KERNELS=$native > /dev/null
scripts/build.sh tsan "$jobs" parallax px_fuzz px_{base,kernels_weights,bind,run,delegate_host,delegates_cores,delegates_opencl,planning,session,conformance}_test
GTEST_FILTER="*-$slow_thread" scripts/test.sh build/tsan "$jobs" -R "^($threaded)"
