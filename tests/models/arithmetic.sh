#!/bin/sh
# tests/models/arithmetic.sh ASSAY: FP16 forms whose errors the evaluator explains, because it rounds as the runtime does. ONNX
# Runtime's CPU computes them in FP32 and stores FP16: at least 90 % of its squared error is the evaluator's, too. WebGPU, where it is
# installed, sums in FP16, and so does the evaluator: 90 % again, of one layer (what follows decides roundings anew). Skipped without ASSAY_ORT.
. "$(dirname "$0")/lib.sh"

# explains PACKAGE BUNDLE ARITHMETIC COLUMN LOW HIGH: the figure in that column (4: heads nearest, 6: of its size, 7: in common) of
# the line in the page's first table of precision.
explains() {
  found=$(sed -n '/table class="precision-models"/,/<\/table>/p' "$1/report/report.html" |
    grep -F ">$2<" | grep -F ">$3<" | sed 's|<t[dh][^>]*>|~|g; s|<[^>]*>||g' | cut -d'~' -f$(($4 + 1)))
  awk "BEGIN {exit !(\"$found\" != \"\" && $found >= $5 && $found <= $6)}" || {
    echo "$2: '$3', column $4: expected $5 to $6, found '$found'"
    exit 1
  }
  echo "$2: $3: $found"
}

judge() { # STATUS RUNTIME PACKAGE BUNDLE...
  want=$1 runtime=$2 package=$3
  shift 3
  status=0
  "$assay" run --runtime "$runtime" $(printf -- '--bundle %s ' "$@") --iterations 1 --warmup 0 -o "$package" >log.txt 2>&1 || status=$?
  [ "$status" = "$want" ] || {
    echo "status $status, expected $want"
    cat log.txt
    exit 1
  }
  "$assay" report "$package" >/dev/null 2>&1
  "$assay" verify "$package" >/dev/null
}

for model in attention heptv2; do
  for form in decomposed attention24 mha; do
    "$assay" export --model $model --attention $form --dtype float16 --sweep 100,500 --name $model-$form -o $model-$form >/dev/null
  done
done
bundles="attention-decomposed attention-attention24 attention-mha heptv2-decomposed heptv2-attention24 heptv2-mha"
judge 0 cpu on-cpu $bundles
for bundle in $bundles; do
  explains on-cpu $bundle 'FP32, stored in FP16' 4 6 6
  explains on-cpu $bundle 'FP32, stored in FP16' 6 0.9 1.1
  explains on-cpu $bundle 'FP32, stored in FP16' 7 0.9 1
  explains on-cpu $bundle 'FP16, sums in FP32' 4 0 0
  explains on-cpu $bundle 'FP16, sums in FP16' 7 -1000 0
done

[ -e "$root/deps/runtimes/webgpu.json" ] || exit 0
export XDG_CACHE_HOME="$work/cache"
"$assay" export --model attention --layers 1 --dtype float16 --sweep 1000 --name summed -o summed >/dev/null
"$assay" doctor --runtime "$root/deps/runtimes/webgpu.json" --show | sed 's|"caches": "fresh"|"caches": "kept"|' >webgpu.json
judge 1 webgpu.json on-webgpu summed
explains on-webgpu summed 'FP16, sums in FP16' 4 3 3
explains on-webgpu summed 'FP16, sums in FP16' 6 0.9 1.1
explains on-webgpu summed 'FP16, sums in FP16' 7 0.9 1
explains on-webgpu summed 'FP16, sums in FP32' 6 0 0.5
