#!/bin/sh
# tests/providers/no_device.sh ASSAY: ONNX Runtime for NVIDIA or AMD GPUs on a machine without such a device is status 3,
# with the loader's or the driver's own reason in one line, in seconds; by 'assay doctor' and by 'assay run'; without the
# vendor's libraries, and with them where they are (deps/cuda-libraries; deps/migraphx-sid of `make
# check-migraphx-compiler`).
. "$(dirname "$0")/lib.sh"
[ ! -e /dev/nvidiactl ] && [ ! -e /dev/kfd ] || {
  echo "skipped: a GPU is here"
  exit 77
}
tried=

# refused RUNTIME LIBRARY PROVIDER REASON COMMAND…: COMMAND is assay; REASON a regular expression.
refused() {
  runtime=$1@$2 words="$3 cannot be used with ONNX Runtime [0-9.]*: .*\($4\)"
  shift 4
  start=$(date +%s)
  expect 3 "$@" doctor --runtime "$runtime"
  grep -q "^assay doctor: runtime '$runtime': $words" out.txt ||
    fail "expected '$words' of $runtime: $(tail -n 3 out.txt)"
  expect 3 "$@" run --runtime "$runtime" --bundle "$bundle" -o "$place/package"
  grep -q "$words" out.txt || fail "expected '$words' of $runtime: $(tail -n 3 out.txt)"
  rm -rf package
  [ $(($(date +%s) - start)) -lt 60 ] || fail "$runtime took a minute to say so"
  tried="$tried, $runtime"
}

# library NAME: the path of deps/NAME's, empty without it.
library() {
  ls "$root/deps/$1"/libonnxruntime.so.* 2>/dev/null | head -n 1
}

"$assay" export --model attention --layers 1 --sweep 12 -o bundle >/dev/null
bundle=bundle place=.
lost='cannot open shared object file'
cuda=$(library cuda)
if [ -n "$cuda" ]; then
  for name in cuda cuda-flash; do refused $name "$cuda" CUDAExecutionProvider "$lost" "$assay"; done
  if [ -e "$root/deps/cuda-libraries" ]; then # only the driver's is lost, or it has no device to offer
    refused cuda "$cuda" CUDAExecutionProvider "libcuda.so.1: $lost\|CUDA failure [0-9]*: " \
      env LD_LIBRARY_PATH="$root/deps/cuda-libraries" "$assay"
    tried="$tried with CUDA's libraries"
  fi
fi
migraphx=$(library migraphx)
if [ -n "$migraphx" ]; then
  for name in migraphx migraphx-attention migraphx-heptv2; do
    refused $name "$migraphx" MIGraphXExecutionProvider "$lost" "$assay"
  done
  there="$root/scripts/debian-root.sh bring $root/deps/migraphx-sid $work $assay"
  if [ -e "$root/deps/migraphx-sid/.packages" ] && $there --version >/dev/null 2>&1; then
    mkdir ort
    cp "$root"/deps/migraphx/*.so* ort/
    bundle=/work/bundle place=/work
    # Debian's HIP is older than the one that the wheel is linked to.
    refused migraphx "/work/ort/$(basename "$migraphx")" MIGraphXExecutionProvider \
      "libamdhip64.so.[0-9]*: $lost\|HIP failure [0-9]*: " $there
    tried="$tried with MIGraphX's libraries"
  fi
fi
[ -n "$tried" ] || {
  echo "skipped: neither deps/cuda nor deps/migraphx is there; run 'scripts/providers.sh cuda migraphx'"
  exit 77
}
echo "missing, and said why:${tried#,}"
