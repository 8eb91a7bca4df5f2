#!/bin/sh
# What MIGraphX's compiler makes of both models (static shapes, N=1000), judged by `assay fusion`; no GPU is needed.
#
#   scripts/check-migraphx-compiler.sh [ASSAY]
#
# With a migraphx-driver on this machine that finds a device, that one compiles. Otherwise Debian's does, in a folder of
# its own (deps/migraphx-sid, or $MIGRAPHX_ROOT; by scripts/debian-root.sh: 0.6 GB to fetch, 2 GB on disk), for the
# architecture $STAND_IN_ARCH (gfx1100), with scripts/migraphx/hip_stand_in.c in the place of a device. Debian's is built
# without rocMLIR and cannot fuse attention, so there the right verdicts are known:
#
#   attention                                     FAIL: 0 fused attention kernels, scores of N x N (a true negative)
#   heptv2                                        FAIL: the pass eliminate_data_type makes integers floating
#   heptv2, MIGRAPHX_DISABLE_PASSES=that pass     PASS: integers stay integers
#
# Another MIGraphX may fuse, or keep integers, on its own: there all verdicts are printed, and only the last must be PASS.
# Traces and verdicts stay in check-migraphx/ (or $OUT). The last line is "N passed, N failed".
set -eu
cd "$(dirname "$0")/.."
assay=$(readlink -f "${1:-build/assay}")
root=${MIGRAPHX_ROOT:-deps/migraphx-sid}
out=$(readlink -f "${OUT:-check-migraphx}")
arch=${STAND_IN_ARCH:-gfx1100}
suite=${MIGRAPHX_SUITE:-sid}

die() {
  echo "check-migraphx-compiler: $*" >&2
  exit 3
}

has_device() {
  command -v migraphx-driver >/dev/null 2>&1 && [ -e /dev/kfd ]
}

# Kernels of the GEMM libraries for devices are never needed to compile.
make_root() {
  [ ! -e "$root/.packages" ] || return 0
  free_kb=$(df -Pk . | awk 'NR == 2 { print $4 }')
  [ "$free_kb" -gt 4000000 ] || die "no migraphx-driver with a device here, and Debian's needs 4 GB, found $((free_kb / 1000000))"
  echo "check-migraphx-compiler: fetching MIGraphX of Debian $suite into $root"
  why=$(EXCLUDE='./usr/lib/*/rocblas/*
./usr/lib/*/hipblaslt/*' scripts/debian-root.sh make "$root" "$suite" migraphx migraphx-tools libmigraphx-c3 libamdhip64-dev) ||
    die "no migraphx-driver with a device here, and Debian's cannot be had: $why"
}

# compile NAME MODEL [VARIABLE=VALUE...]: the trace of MODEL's graph in $out/NAME.txt.
compile() {
  name=$1 model=$2
  shift 2
  echo "check-migraphx-compiler: compiling $name"
  if has_device; then
    env MIGRAPHX_TRACE_COMPILE=1 "$@" migraphx-driver compile --gpu "$out/$model/models/1x1000.onnx" >"$out/$name.txt" 2>"$out/$name.err" || true
  else
    env STAND_IN_ARCH="$arch" MIGRAPHX_SET_GEMM_PROVIDER=rocblas MIGRAPHX_TRACE_COMPILE=1 "$@" \
      scripts/debian-root.sh run "$root" "$out" /lib64/ld-linux-x86-64.so.2 --preload /work/hip_stand_in.so \
      /usr/bin/migraphx-driver compile --gpu "/work/$model/models/1x1000.onnx" >"$out/$name.txt" 2>"$out/$name.err" || true
  fi
}

passed=0 failed=0

# judge NAME MODEL FUSED VERDICT TEXT: VERDICT and TEXT as the verdict's JSON has them; "-": any.
judge() {
  name=$1 model=$2 fused=$3 verdict=$4 text=$5
  "$assay" fusion "$out/$name.txt" --kind migraphx --expect-fused "$fused" --elements 1000 --programs 1 \
    --graph "$out/$model/models/1x1000.onnx" --case b1-n1000 --json >"$out/$name.json" || true
  found=$(sed -n 's/^ *"verdict": "\([a-z]*\)",$/\1/p' "$out/$name.json")
  reason=$(sed -n 's/^ *"reason": "\(.*\)",$/\1/p' "$out/$name.json")
  echo "$name: $found: $reason"
  if [ "$verdict" = - ] || { [ "$found" = "$verdict" ] && grep -qF "$text" "$out/$name.json"; }; then
    passed=$((passed + 1))
  else
    echo "$name: expected $verdict with '$text', see $out/$name.json" >&2
    failed=$((failed + 1))
  fi
}

rm -rf "$out"
mkdir -p "$out"
for model in attention heptv2; do
  "$assay" export --model "$model" --shapes static --sweep 1000 -o "$out/$model" >"$out/$model-export.txt"
done
if has_device; then
  migraphx-driver --version || true
  negative=-
else
  make_root
  cc=${CC:-cc}
  # That release's headers last: its C library is not the one that is compiled for.
  $cc -O1 -shared -fPIC -idirafter "$root/usr/include" -o "$out/hip_stand_in.so" scripts/migraphx/hip_stand_in.c
  grep -E '^(migraphx|libamdhip64-6|libhiprtc6|librocblas4)=' "$root/.packages" | tee "$out/versions.txt"
  negative=fail
fi
compile attention attention
compile heptv2 heptv2
compile heptv2-pass-off heptv2 MIGRAPHX_DISABLE_PASSES=eliminate_data_type
judge attention attention 5 "$negative" "expected 5 fused attention kernels, found 0"
judge heptv2 heptv2 0 "$negative" "pass eliminate_data_type makes"
judge heptv2-pass-off heptv2 0 pass "complete and consistent evidence"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
