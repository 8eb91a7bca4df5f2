#!/bin/sh
# tests/providers/no_device.sh ASSAY: ONNX Runtime for NVIDIA or AMD GPUs on a machine without such a device or its
# libraries is status 3, with the loader's own reason in one line, in seconds; by 'assay doctor' and by 'assay run'.
. "$(dirname "$0")/lib.sh"
[ ! -e /dev/nvidiactl ] && [ ! -e /dev/kfd ] || {
  echo "skipped: a GPU is here"
  exit 77
}
tried=
try() {
  library=$(ls "$root/deps/$1"/libonnxruntime.so.* 2>/dev/null | head -n 1)
  [ -n "$library" ] || return 0
  for name in $2; do
    start=$(date +%s)
    expect 3 "$assay" doctor --runtime "$name@$library"
    says out.txt "assay doctor: runtime '$name@$library': $3 cannot be used with ONNX Runtime " \
      'cannot open shared object file'
    expect 3 "$assay" run --runtime "$name@$library" --bundle bundle -o "$name"
    says out.txt "$3 cannot be used with ONNX Runtime " 'cannot open shared object file'
    [ $(($(date +%s) - start)) -lt 60 ] || fail "$name took a minute to say so"
    tried="$tried $name"
  done
}
"$assay" export --model attention --layers 1 --sweep 12 -o bundle >/dev/null
try cuda "cuda cuda-flash" CUDAExecutionProvider
try migraphx "migraphx migraphx-attention migraphx-heptv2" MIGraphXExecutionProvider
[ -n "$tried" ] || {
  echo "skipped: neither deps/cuda nor deps/migraphx is there; run 'scripts/providers.sh cuda migraphx'"
  exit 77
}
echo "missing, and said why:$tried"
