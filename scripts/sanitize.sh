#!/usr/bin/env bash
# Builds and runs every test under AddressSanitizer + UBSan, then what has threads under ThreadSanitizer: sanitize.sh [--all] [JOBS]
#
# Kernels are compiled for this CPU's largest instruction set alone, and what takes long and shows these checkers little is left out: the
# examples, tests of folders of pure functions, and others below. --all, which `make nightly` takes: kernels for each set that the library
# has, every check, every test.
#
# UBSan leaves out null, vptr and object-size: AddressSanitizer stops at the same places, and they are two fifths of the time
# that compiling takes. Without --all alignment and overflow of pointers are checked only in folders that read files or hold memory by
# hand, and the end of scopes is not: elsewhere these are two fifths of the time.
# AddressSanitizer's checks are calls: inlined ones make compiling loops of kernels take three times as long, and tests 0.94 of the time.
set -euo pipefail
cd "$(dirname "$0")/.."
quick=ON examples=OFF more=()
# Print or compare figures, or look for planted faults in the checks themselves; GoogleTest's tests as its filter has them.
slow_cli='arguments|bench|bench_pages|english|fuzz|images|info|paper|parity|plan|scores|simulate|sysroot|types'
# Run whole processes, a second each, where tests of the library come by the same code.
slow_cli+='|control_flow_forms|delegate_profile|delegates|examples|expected|growing_state|known_inputs|mask_filter|numbers'
slow='*FindsWhatIsPlanted*:*ARightDelegatePasses*:*HalfStorage*:*EveryFormIsAGraph*:*LeavesOutWhatIsRefusedWhenAsked'
# Compare results that tests of each kernel compare too; most of the time of OpenCL's is the driver's compiler.
slow+=':*DecompositionTest*:OpenClTuning.*:OpenClHalf.*:OpenClAttention.AnyShape:OpenClElementwise.*:Zoo/UserMemoryOfModels.*/yolov8n'
# Fail each allocation of a model's run, one after the other: of eight ways to run a model two stay, of eight to load one four, as others load in the same way.
slow+=':*RunningAndDestroying/DigitsWithoutFolder:*RunningAndDestroying/DigitsFromCache:*RunningAndDestroying/DigitsInBf16'
slow+=':*RunningAndDestroying/AllSortsIn*:*RunningAndDestroying/Digits:*OutOfMemory.Loading/DigitsOnThreads'
slow+=':*OutOfMemory.Loading/DigitsInBf16:*OutOfMemory.Loading/AllSortsIn*'
# Are about work that must not grow with the square of a graph, or step through many budgets.
slow+=':AllPasses.LargeGraphs:*InLinearTime:ChooseByOverlap.*VeryManyRegions:Object.DeepOnes*:Packing.TakesManyBuffers'
slow+=':*WhatSufficesForTheCpuSuffices:RunTimeRegions.ALargerBudgetSufficesToo'
# Run a program in six ways, of which three stay: each scheduler once.
slow+=':Ways/*Layers1:Ways/*Dataflow1*:Ways/*Dataflow4'
# Compare numbers over many shapes, on memory that other tests use in the same way.
slow_address="$slow:CpuAttention.AgreesWithReference:RunTimeViews.HaveTheElementsOfWhatTheyView:NotFinite.Convolutions"
# Are about what threads do at the same time, which the second checker looks at.
slow_address+=':MixedRuns.ShareFreeMemory:CoresSession.*:StoppedRun.NoBody*:*CallersHold*:CoExecution.*:*DelegateLocks.*'
slow_address+=':*TheLastTryWaitsForNoDevice*:RunTimeRegions.ThreadsRunOtherSizesAtOnce:PlanPinTest.ThreadsLoseNothing'
# One thread computes, or tests that stay do what several do.
slow_thread="$slow:*NotFinite*:*HaveTheElementsOfWhatTheyView*:*RunningAndDestroying/*:*OutOfMemory.Loading/*:Ways/*Sequential1"
slow_thread+=':*SessionSizes*DataDependent:PlanPinTest.AFullFile*:PlanPinTest.*LoseNothing:*HostileTflite.*:Zoo/UserMemory*/distilbert'
slow_thread+=':GrowingState.*:*Snapshot*:DelegatedPlan.*:GraphVariants.*:ElementwiseChain.*:Broadcast.*:TfliteCustomOptions.*'
slow_thread+=':*DelegateBudget.SufficesForEachSize/*:OpenClConstants.*'
cases=10 share=3  # of the hostile models
seeds=120         # of damaged TFLite files: five minutes of one core
if [[ ${1:-} == --all ]]; then
  quick=OFF examples=ON more=(parallax px_conformance_test) slow_cli='none' slow_address='' slow_thread='' cases=25 share=1
  shift
fi
jobs=${1:-$(nproc)}
export UBSAN_OPTIONS=print_stacktrace=1
export RC_PARAMS="max_success=$cases seed=1"  # random cases of a property; `make test` takes 100
cmake --preset asan-ubsan -DPARALLAX_QUICK_SANITIZERS=$quick -DPARALLAX_BUILD_EXAMPLES=$examples > /dev/null
scripts/build.sh asan-ubsan "$jobs"
# Without what runs other builds, or looks at scripts and docs.
PARALLAX_HOSTILE_SEEDS=$seeds PARALLAX_HOSTILE_SHARE=$share GTEST_FILTER="*-$slow_address" scripts/test.sh build/asan-ubsan "$jobs" -E "^cli/(demo|docs|gains|newcomer|setup|skipped|tables|tidy|$slow_cli)$"

# What starts threads; --all: delegates' conformance and the command line over all of it too. Others are pure functions, which a second look
# shows nothing new about.
threaded='(base|kernels/weights|bind|run|delegate_host|delegates/(cores|opencl)|planning|session)/|fuzz/kept$'
[[ ${#more[@]} -eq 0 ]] || threaded+='|conformance/|cli/(budget|run)$'
cmake --preset tsan -DPARALLAX_QUICK_SANITIZERS=$quick > /dev/null
scripts/build.sh tsan "$jobs" "${more[@]}" px_fuzz px_{base,kernels_weights,bind,run,delegate_host,delegates_cores,delegates_opencl,planning,session}_test
GTEST_FILTER="*-$slow_thread" scripts/test.sh build/tsan "$jobs" -R "^($threaded)"
