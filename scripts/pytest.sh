#!/usr/bin/env bash
# pytest with the Python that has the peers, where `make venv` made it, else with Debian's.
python=$(dirname "$0")/../build/venv/bin/python
[[ -x $python ]] || python=/usr/bin/python3
exec "$python" -m pytest -p no:cacheprovider "$@"
