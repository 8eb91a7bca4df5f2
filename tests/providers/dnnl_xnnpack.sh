#!/bin/sh
# tests/providers/dnnl_xnnpack.sh ASSAY: both models on DNNL and XNNPACK of Debian's ONNX Runtime, in the folder that
# `make providers` made, with this program and not another build of it. Neither provider takes the whole of either model:
# sessions that may not fall back are refused with the CPU's nodes by name. Where they may, XNNPACK's numbers pass, and
# qualify under a policy that names the operations; DNNL's numbers are judged as they are (1.23.2 computes another
# function with static shapes, and refuses dynamic ones during the call).
. "$(dirname "$0")/lib.sh"
debian=$root/deps/debian
[ -e "$debian/.packages" ] || {
  echo "skipped: deps/debian is not there; run 'make providers'"
  exit 77
}
there="$root/scripts/debian-root.sh bring $debian $work $assay"
$there --version >there.txt 2>&1 || {
  echo "skipped: nothing runs in deps/debian: $(tail -n 1 there.txt)"
  exit 77
}
library=$(cd "$debian" && ls usr/lib/x86_64-linux-gnu/libonnxruntime.so.1.*.*)
export XDG_CACHE_HOME=/work/cache ASSAY_ORT="/$library"

# json NAME FILE RUNTIME SED…: a runtime file from a built-in one.
json() {
  file=$1 runtime=$2
  shift 2
  "$assay" doctor --runtime "$runtime" --show | sed "$@" >"$file.json"
}

for model in attention heptv2; do
  "$assay" export --model $model --layers 1 --shapes static --sweep 100 --name $model -o $model >/dev/null
done
bundles="--bundle /work/attention --bundle /work/heptv2"
run="$there run --iterations 2 --warmup 1 --placement-runs 2"

expect 0 $there doctor --runtime dnnl --runtime xnnpack
says out.txt "provider      DnnlExecutionProvider" "provider      XnnpackExecutionProvider"

expect 1 $run --runtime dnnl --runtime xnnpack $bundles -o /work/refused
says out.txt "NOT QUALIFIED: failed 8"
for provider in dnnl xnnpack; do
  for model in attention heptv2; do
    says refused/runs/$provider/$model/b1-n100/placement/result.json '"status": "failed"' \
      "no session without the CPU" "nodes would run on CPUExecutionProvider: " "Where 'entry/sanitized'"
  done
  says refused/runs/$provider/heptv2/b1-n100/timing/result.json '"status": "failed"' "fallback to CPU EP"
done
says refused/runs/dnnl/heptv2/b1-n100/placement/result.json "TopK 'sorting/rank_order'" "ScatterElements 'sorting/rank'"

# In silence: the runs succeed, and are judged by where their nodes were.
for provider in dnnl xnnpack; do
  json $provider-silent $provider 's|"config": {}|"config": {"session.disable_cpu_ep_fallback": "0"}|'
done
expect 1 $run --runtime /work/dnnl-silent.json --runtime /work/xnnpack-silent.json $bundles -o /work/silent
cp out.txt silent.txt
for provider in dnnl xnnpack; do
  for model in attention heptv2; do
    result=silent/runs/$provider-silent/$model/b1-n100
    says $result/placement/result.json '"status": "done"' '"placement": "fail"' '"log_agrees": true' \
      "Where 'entry/sanitized' on CPUExecutionProvider"
    says $result/timing/result.json '"status": "done"'
  done
done
says silent/runs/dnnl-silent/heptv2/b1-n100/placement/result.json '"provider": "DnnlExecutionProvider"'
for model in attention heptv2; do
  says silent/runs/xnnpack-silent/$model/b1-n100/timing/result.json '"numbers": "pass"'
done

# A policy that names what XNNPACK lacks.
ops=$(sed -n '/"counts": \[/,/^ *\]/s/.*"op": \("[A-Za-z]*"\).*/\1/p' \
  silent/runs/xnnpack-silent/*/b1-n100/placement/result.json | sort -u | paste -sd, -)
json xnnpack-allowed xnnpack "s|\"allowed_cpu_ops\": \[\]|\"allowed_cpu_ops\": [$ops]|"
expect 0 $run --runtime /work/xnnpack-allowed.json $bundles -o /work/allowed
says out.txt QUALIFIED
! grep -q '"n_allowed": 0' allowed/runs/xnnpack-allowed/heptv2/b1-n100/placement/result.json ||
  fail "no node was allowed on the CPU"
for package in refused silent allowed; do expect 0 "$assay" verify $package; done
echo "xnnpack qualifies where a policy names the CPU's operations; dnnl: $(grep '] dnnl-silent .* timing' silent.txt |
  sed 's/.*dnnl-silent \([a-z0-9]*\).*numbers \([a-z]*\).*/\1 \2/' | paste -sd, -)"
