#!/bin/sh
# tests/models/sorts.sh ASSAY [RUNTIME]: the exported sort and its inverse are right on the runtime at sizes 1, 100, 4900 and 14700: the
# permutations equal the evaluator's index by index (the pool repeats its rows, so keys tie), and so do the outputs, which go
# through the inverse. A small HEPTv2, since only the sizes matter. Skipped without ASSAY_ORT.
. "$(dirname "$0")/lib.sh"
runtime=${2:-cpu}
config() { # BLOCK_SIZE
  cat <<END
{"dataset": "cld", "model": {"type": "heptv2", "backbone": {"mode": "shared", "num_convs": 1},
 "heptv2": {"embedding_dim": 16, "width": 16, "num_heads": 2, "num_convs": 1, "block_size": $1}}}
END
}
config 1 >one.json
config 100 >hundred.json
bundles=
for shapes in dynamic static; do
  "$assay" export --model heptv2 --config one.json --shapes $shapes --sweep 1 --permutations --name one-$shapes \
    -o one-$shapes >/dev/null
  "$assay" export --model heptv2 --config hundred.json --shapes $shapes --sweep 100,4900,14700 --permutations \
    --name hundred-$shapes -o hundred-$shapes >/dev/null
  bundles="$bundles --bundle one-$shapes --bundle hundred-$shapes"
done
"$assay" run --runtime "$runtime" $bundles --iterations 1 --warmup 0 -o package >table.txt 2>log.txt || {
  cat table.txt log.txt
  exit 1
}
for n in 100 4900 14700; do
  grep -q '"head": "perm_0"' package/runs/*/hundred-*/b1-n$n/timing/result.json
done
grep -q '"head": "perm_0"' package/runs/*/one-*/b1-n1/timing/result.json
[ "$(tail -n 1 table.txt)" = QUALIFIED ]
