#!/bin/sh
# bench/sampler/run.sh [ROUNDS] [BUILD]: what the memory sampler costs a timed run. See README.md.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-7}
build=${2:-build}
if [ -z "${ASSAY_ORT:-}" ]; then
  for f in deps/onnxruntime/libonnxruntime.so.*; do
    [ ! -e "$f" ] || ASSAY_ORT=$PWD/$f
  done
fi
[ -n "${ASSAY_ORT:-}" ] || {
  echo "bench: no ONNX Runtime; run 'make deps' or set ASSAY_ORT=/path/to/libonnxruntime.so" >&2
  exit 3
}
export ASSAY_ORT ORT_DISABLE_TELEMETRY=1
assay=$build/assay
[ -e "$assay" ] || assay=$build/src/cli/assay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$assay" export --model attention --layers 1 --sweep 100 -o "$work/bundle" >/dev/null
echo "attention, 1 layer, N=100, 1000 calls after 20"
"$build/bench/sampler/bench_sampler" "$assay" "$work/bundle" "$work/package" "$rounds" 20 1000
