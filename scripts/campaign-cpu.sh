#!/bin/sh
# scripts/campaign-cpu.sh PACKAGE: the fourteen controlled cases: each model at B=1 with N=100, 500, 1000, 2000, 4000
# and at B=2 and B=4 with N=1000; 10 warm-ups, 100 samples. Interrupted, the same command goes on where it stopped.
set -eu
cd "$(dirname "$0")/.."
package=$1
bundles=build/bundles/campaign-cpu
assay=build/assay

for model in attention heptv2; do
  bundle=$bundles/$model-cld
  # A bundle is as good as the program that wrote it: made again when the program is newer.
  if [ ! -e $bundle/manifest.json ] || [ $assay -nt $bundle/manifest.json ]; then
    rm -rf "$bundle"
    [ ! -e "$package/package.json" ] || rm -rf "$package"
    mkdir -p $bundles
    $assay export --model $model --preset cld --seed 42 --sweep 100,500,1000,2000,4000 --batches 2,4 \
      --name $model-cld -o $bundle
  fi
done
$assay run --runtime cpu --bundle $bundles/attention-cld --bundle $bundles/heptv2-cld \
  --iterations 100 --warmup 10 -o "$package" >/dev/null || status=$?
$assay report --require-complete "$package"
exit "${status:-0}"
