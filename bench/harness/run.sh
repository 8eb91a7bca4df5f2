#!/bin/sh
# bench/harness/run.sh [ROUNDS] [BUILD]: what assay's harness adds to a call. See README.md.
set -eu
cd "$(dirname "$0")/../.."
rounds=${1:-7}
build=${2:-build}
library=${ASSAY_ORT:-}
for f in deps/onnxruntime/libonnxruntime.so.*; do
  [ -n "$library" ] || [ ! -e "$f" ] || library=$PWD/$f
done
[ -n "$library" ] || {
  echo "bench: no ONNX Runtime; run 'make deps' or set ASSAY_ORT=/path/to/libonnxruntime.so" >&2
  exit 3
}
export ORT_DISABLE_TELEMETRY=1
assay=$build/assay
[ -e "$assay" ] || assay=$build/src/cli/assay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# MODEL LAYERS N WARMUP ITERATIONS
compare() {
  bundle=$work/$1-$2-$3
  "$assay" export --model "$1" --layers "$2" --sweep "$3" -o "$bundle" >/dev/null
  echo
  echo "$1, $2 layers, N=$3, $5 calls after $4"
  "$build/bench/harness/bench_harness" "$assay" "$build/bench/harness/bare_loop" "$library" \
    "$bundle/model.onnx" "$bundle/cases/b1-n$3.npz" "$work" "$rounds" "$4" "$5" || status=1
}
compare attention 1 1 100 2000
compare attention 3 100 10 100
compare heptv2 3 1000 3 15
exit $status
