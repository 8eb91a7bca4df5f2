#!/bin/sh
# tests/models/trained.sh ASSAY: from a checkpoint and a dataset to a qualified package in one export, one run, one report
# each: trained HEPTv2 weights, tiny attention weights on events, HEPTv2 on padded events. Skipped without ASSAY_ORT.
. "$(dirname "$0")/lib.sh"

gold=$root/testdata/gold/heptv2_small
events="--dataset cms_pf_ttbar/1:3.0.0 --data-dir $root/src/dataset/testdata/tfds/gold"
tiny=$root/src/checkpoint/testdata

qualify() { # NAME CASES EXPORT-OPTION...
  name=$1 cases=$2
  shift 2
  "$assay" export "$@" --name "$name" -o "$name" >/dev/null
  "$assay" run --bundle "$name" --iterations 3 --warmup 1 -o "$name.package" >"$name.txt" || {
    cat "$name.txt"
    exit 1
  }
  "$assay" report "$name.package" --require-complete >report.txt || {
    cat report.txt
    exit 1
  }
  [ "$(tail -n 1 report.txt)" = QUALIFIED ]
  rows=$(($(wc -l <"$name.package/report/table.csv") - 1))
  [ "$rows" = "$cases" ] || {
    echo "$name: expected $cases rows, found $rows"
    exit 1
  }
}

qualify trained-heptv2 3 --checkpoint "$gold/model_state_dict.pth" --config "$gold/model_kwargs.pkl" \
  --sweep 100,600 --batches 2 --batch-n 300
# Event 0 holds pt so large that these untrained weights overflow FP32 in exp, as PyTorch would: not for a gate.
qualify tiny-attention 2 --checkpoint "$tiny/torch/checkpoint-01_real_tiny.pth" \
  --config "$tiny/config/tiny_model_kwargs.pkl" $events --events 1,3
qualify seeded-heptv2 3 --model heptv2 --preset cms $events --events 0,1,3 --shapes static
echo "3 bundles qualified"
