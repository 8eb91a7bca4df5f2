#!/bin/sh
# scripts/demo.sh PACKAGE: both seeded models on a few small cases, from nothing to a verdict. Always starts afresh.
set -eu
cd "$(dirname "$0")/.."
package=$1
bundles=build/bundles/demo
assay=build/assay

if [ -e "$package" ] && [ ! -e "$package/package.json" ] && [ -n "$(ls -A "$package")" ]; then
  echo "demo: '$package' holds something else; move it away" >&2
  exit 2
fi
rm -rf "$package" "$bundles"
mkdir -p "$bundles"

for model in attention heptv2; do
  $assay export --model $model --preset cld --seed 42 --sweep 100,500,1000 --batches 2 \
    --name $model-cld -o $bundles/$model-cld
done
$assay run --runtime cpu --bundle $bundles/attention-cld --bundle $bundles/heptv2-cld \
  --iterations 30 --warmup 5 -o "$package" >/dev/null || status=$?
$assay report --require-complete "$package"
exit "${status:-0}"
