#!/usr/bin/env bash
# clang-format over every C++ file that git knows. It leaves comments as they are: their width is checked here.
cd "$(dirname "$0")/.." || exit 1
failed=0
git ls-files -- '*.cc' '*.h' | xargs -r clang-format --dry-run -Werror || failed=1
if git ls-files -- '*.cc' '*.h' | LC_ALL=C.UTF-8 xargs -r grep -nE '^.{101,}$' /dev/null | grep //; then
  echo "these comments are wider than 100 columns" >&2
  failed=1
fi
exit $failed
