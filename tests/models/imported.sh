#!/bin/sh
# tests/models/imported.sh ASSAY: a model of others, with external data and cases in every form, from import to a verified report: it
# qualifies where every output has a right reference; a wrong one fails, a missing one is no pass, padding is not judged. Skipped
# without ASSAY_ORT.
. "$(dirname "$0")/lib.sh"
in=$root/tests/cli/fixtures/import

judge() { # NAME STATUS LAST-LINE MODEL OPTION...
  name=$1 expected=$2 line=$3 model=$4
  shift 4
  "$assay" import "$in/$model.onnx" "$@" -o "$name" >/dev/null
  "$assay" run --bundle "$name" --iterations 3 --warmup 1 -o "$name.package" >"$name.txt" 2>/dev/null || true
  status=0
  "$assay" report "$name.package" --require-complete >report.txt 2>&1 || status=$?
  "$assay" verify "$name.package" >verify.txt
  [ $status = "$expected" ] && grep -qx "$line" report.txt && [ "$(tail -n 1 verify.txt)" = VERIFIED ] || {
    echo "$name: status $status"
    cat "$name.txt" report.txt verify.txt
    exit 1
  }
}

judge right 0 QUALIFIED linear --case "$in/full.npz" --case "$in/float64.npz" --case "$in/test_data_set_0" --classes scores
judge scalar 0 QUALIFIED scalar --case "$in/scalar.npz"
judge wrong 1 "NOT QUALIFIED: numbers 1" linear --case "$in/full.npz" --case "$in/wrong.npz"
judge loose 0 QUALIFIED linear --case "$in/wrong.npz" --atol scores:0.6
judge bare 1 "NOT QUALIFIED: numbers 1" linear --case "$in/bare.npz"
judge masked 0 QUALIFIED masked --case "$in/masked.npz" --mask-input m
judge unmasked 1 "NOT QUALIFIED: numbers 1" masked --case "$in/masked.npz"
grep -q '"n_argmax": 10' right.package/runs/cpu/linear/full/timing/result.json

# For a runtime of static shapes the data beside the model come into its graph of these shapes.
printf '{"library": "%s", "provider": "CPUExecutionProvider", "static": true}' "$ASSAY_ORT" >static.json
"$assay" run --runtime static.json --bundle right --iterations 3 --warmup 1 -o static.package >run.txt 2>&1
"$assay" report static.package --require-complete >report.txt
"$assay" inspect static.package/graphs/*.onnx --json >graph.json
grep -q '"external_files": \[\]' graph.json && grep -q '"initializer_bytes": 48' graph.json || {
  cat graph.json
  exit 1
}
[ "$("$assay" verify static.package | tail -n 1)" = VERIFIED ]
# Where the graph of these shapes cannot be loaded, for a branch that is never taken, the model itself runs.
"$assay" import "$in/branches.onnx" --case "$in/branches.npz" -o branches >/dev/null
"$assay" run --runtime static.json --bundle branches --iterations 3 --warmup 1 -o branches.package >run.txt 2>&1 || {
  cat run.txt
  exit 1
}
grep -A 6 '"graph": {' branches.package/runs/static/branches/branches/timing/result.json >graph.txt
grep -q '"kept": false' graph.txt && grep -q 'with its shapes fixed the model cannot be loaded: .*refuses model' graph.txt || {
  cat graph.txt
  exit 1
}
"$assay" report branches.package --require-complete >report.txt
[ "$("$assay" verify branches.package | tail -n 1)" = VERIFIED ]
echo "9 imported bundles, judged and verified"
