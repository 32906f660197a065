#!/usr/bin/env bash
# clang-format over every C++ file that git knows.
cd "$(dirname "$0")/.." || exit 1
git ls-files -- '*.cc' '*.h' | xargs -r clang-format --dry-run -Werror
