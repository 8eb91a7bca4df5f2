#!/bin/sh
# tests/models/faults.sh ASSAY [PYTHON]: faults of exporters, planted one at a time: assay run must fail for each that
# changes outputs beyond tolerance, and assay diagnose must name the block, and for some the cause. Skipped without
# ASSAY_ORT or the Python package onnx.
. "$(dirname "$0")/lib.sh"
python=${2:-${ASSAY_PYTHON:-python3}}
"$python" -c 'import onnx, numpy' 2>/dev/null || {
  echo "skipped: the Python package 'onnx' is not installed"
  exit 77
}
failed=0

# Few rows, so that they repeat within an event: ties for the sort.
"$python" - <<'END'
import numpy as np
rng = np.random.default_rng(7)
x = rng.normal(size=(31, 17)).astype(np.float32)
x[:, 0] = 1 + np.arange(31) % 2
phi = rng.uniform(-3, 3, 31)
x[:, 1], x[:, 2], x[:, 3], x[:, 4], x[:, 5] = rng.exponential(3, 31) + 0.5, rng.uniform(-2, 2, 31), np.sin(phi), np.cos(phi), rng.exponential(9, 31) + 1
np.savez("pool.npz", X=x)
mask = np.ones((2, 31), np.float32)  # an event with holes, and one without any element
mask[0, [0, 7]], mask[1] = 0, 0
np.savez("holes.npz", Xfeat_normed=np.stack([x, x]), mask=mask)
END
cat >gelu.json <<'END'
{"dataset": "cld", "model": {"type": "attention", "attention": {"num_convs": 3, "activation": "gelu"}}}
END
"$assay" export --model attention --sweep 100 --name attention -o attention >/dev/null
"$assay" export --config gelu.json --sweep 100 --name gelu -o gelu >/dev/null
"$assay" export --model heptv2 --sweep 500 --name heptv2 -o heptv2 >/dev/null
"$assay" export --model heptv2 --sweep 200 --pool pool.npz --name ties -o ties >/dev/null

"$assay" export --model attention --inputs holes.npz --name holes -o holes >/dev/null

whole() { # BUNDLE
  "$assay" diagnose --bundle "$1" -o "$1.why" >"$1.txt" 2>/dev/null || {
    echo "$1: a graph without fault is found faulty"
    cat "$1.txt"
    failed=1
  }
}

fault() { # FAULT BUNDLE BLOCK RUN-STATUS WORDS
  rm -rf bad why package
  cp -r "$2" bad
  "$python" "$here/plant_fault.py" bad "$1"
  status=0
  "$assay" run --bundle bad --iterations 1 --warmup 0 -o package >run.txt 2>&1 || status=$?
  [ "$status" = "$4" ] || {
    echo "$1: assay run ended with $status, expected $4"
    tail -n 3 run.txt
    failed=1
  }
  status=0
  "$assay" diagnose --bundle bad -o why >why.txt 2>/dev/null || status=$?
  if [ "$status" = 1 ] && grep -q "first beyond its noise floor: $3\$" why.txt && grep -q "$5" why.txt; then
    echo "$1: $3: $(grep -m 1 -e 'explained:' -e 'looks like:' why.txt | sed 's/^ *//')"
  else
    echo "$1: expected block $3 and '$5', found (status $status):"
    cat why.txt
    failed=1
  fi
}

"$assay" export --model attention --dtype float16 --sweep 500 --name half -o half >/dev/null
whole half
grep -q 'expected: the evaluator in FP32, stored in FP16, which the runtime is nearest to' half.txt || {
  echo "half: the CPU provider's arithmetic is not found"
  cat half.txt
  failed=1
}
whole attention
whole holes
whole gelu
whole heptv2
whole ties
fault mask_constant attention backbone.0.attention 1 'mask'
fault missing_mask attention backbone.0.attention 1 'explained: padded keys take part in attention'
fault scale attention backbone.1.attention 1 'explained: scores are not scaled'
fault transposed_weight attention backbone.1.attention 1 "explained: 'backbone.1.mha.out_proj.weight' is used transposed"
fault swapped_heads attention backbone.0.attention 1 'explained: heads 2 and 5 are exchanged'
fault wrong_epsilon attention backbone.1 1 'epsilon'
fault dropped_bias attention backbone.0 1 "explained: 'backbone.0.seq.2.bias' is dropped"
fault swapped_outputs attention nn_sin_phi 1 'looks like'
fault gelu_variant gelu backbone.1 0 'GELU'
fault half_hash heptv2 backbone.0.permutation 1 'hash keys'
fault unstable_sort ties backbone.0.permutation 1 'not stable'
exit $failed
