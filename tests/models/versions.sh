#!/bin/sh
# tests/models/versions.sh ASSAY: dynamic and static exports give the same verdict on every ONNX Runtime that is here, and
# HEPTv2's permutations are equal in graph and evaluator, index by index, ties included. Skipped without ASSAY_ORT.
. "$(dirname "$0")/lib.sh"

runtimes="--runtime cpu"
n=1
for library in "$root"/deps/ort-*/libonnxruntime.so.*; do
  [ -e "$library" ] || continue
  runtimes="$runtimes --runtime cpu@$library"
  n=$((n + 1))
done
bundles=
for shapes in dynamic static; do
  "$assay" export --model attention --shapes $shapes --sweep 1,100,200 --batches 2 --batch-n 100 --name a-$shapes \
    -o a-$shapes >/dev/null
  # The built-in pool repeats its rows: hash keys tie.
  "$assay" export --model heptv2 --shapes $shapes --sweep 100,1500 --batches 2 --batch-n 200 --permutations \
    --name h-$shapes -o h-$shapes >/dev/null
  bundles="$bundles --bundle a-$shapes --bundle h-$shapes"
done
"$assay" run $runtimes $bundles --iterations 2 --warmup 0 -o package >table.txt || {
  cat table.txt
  exit 1
}
"$assay" report package --require-complete >report.txt || {
  cat report.txt
  exit 1
}
# All were there: runtimes x (4 + 3 cases) x 2 forms, each a row that passed; the permutations among what was compared.
[ "$(tail -n 1 report.txt)" = QUALIFIED ]
rows=$(($(wc -l <package/report/table.csv) - 1))
[ "$rows" = $((n * 14)) ] || {
  echo "expected $((n * 14)) rows, found $rows"
  exit 1
}
for layer in 0 1 2; do
  grep -q "\"perm_$layer\"" package/runs/*/h-static/b1-n1500/timing/result.json
done
echo "$n runtimes, $rows cases, all equal"
