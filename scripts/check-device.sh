#!/bin/sh
# scripts/check-device.sh RUNTIME: what a runtime must do on a real device before its figures are believed. RUNTIME is what
# --runtime takes, or a family: cuda also tries cuda-flash, migraphx tries migraphx-heptv2 for HEPTv2 and migraphx-attention.
#
#   start      the provider initialises and runs (status 3 and its own reason if not: nothing else is tried)
#   placement  both models qualify at N=100 and 1000: numbers, every node on the provider
#   sort       HEPTv2's permutations index by index at N = 1, 100, 4900, 14700
#   kernels    the fused form in fused kernels, where the family has a profile for it
#   sampler    memory of the process, and of the device where there is one, was sampled while runs were timed
#
# check-device/RUNTIME/ keeps packages (executed graphs, profiles, logs, mapped libraries, versions) and validation.json.
set -u
cd "$(dirname "$0")/.."
runtime=$1
assay=$PWD/build/assay
case $runtime in
cuda) heptv2=cuda flash=cuda-flash fused="--attention attention24 --dtype float16 --mask-form nonpad" ;;
migraphx) heptv2=migraphx-heptv2 flash=migraphx-attention fused="--dtype float16 --shapes static" ;;
*) heptv2=$runtime flash= fused= ;;
esac
out=check-device/$(basename "$runtime" .json)
rm -rf "$out"
mkdir -p "$out"
failed=0
checks=

say() { # CHECK passed|failed|skipped DETAIL
  printf '%-10s %s: %s\n' "$1" "$2" "$3"
  checks="$checks${checks:+,}
    {\"check\": \"$1\", \"status\": \"$2\", \"detail\": \"$(printf '%s' "$3" | tr -d '\\"\000-\037')\"}"
  [ "$2" != failed ] || failed=$((failed + 1))
}

finish() { # STATUS
  cat >"$out/validation.json" <<END
{
  "schema": "assay/validation/1",
  "runtime": "$(printf '%s' "$runtime" | tr -d '\\"\000-\037')",
  "assay_sha256": "$(sha256sum "$assay" | cut -d ' ' -f 1)",
  "finished_at": "$(date -u +%Y-%m-%dT%H:%M:%SZ)",
  "passed": $([ "$1" = 0 ] && echo true || echo false),
  "checks": [$checks
  ]
}
END
  echo "kept in $out: validation.json, packages, logs"
  exit "$1"
}

"$assay" doctor --runtime "$runtime" >"$out/doctor.txt" 2>"$out/doctor.stderr"
status=$?
if [ $status != 0 ]; then
  say start failed "$(head -n 1 "$out/doctor.stderr")"
  finish $status
fi
say start passed "$(grep -m 1 -i 'works\|ONNX Runtime' "$out/doctor.txt" || echo "it can be had")"

qualify() { # CHECK RUNTIME PACKAGE BUNDLE...: exports lie in $out/bundles
  check=$1 on=$2 package=$out/$3
  shift 3
  set -- $(for one in "$@"; do echo "--bundle $out/bundles/$one"; done)
  "$assay" run --runtime "$on" "$@" --iterations 10 --warmup 3 -o "$package" >"$package.txt" 2>"$package.stderr"
  "$assay" report "$package" --require-complete >"$package.report.txt" 2>&1
  status=$?
  [ $status = 0 ] && say "$check" passed "$on: $(tail -n 1 "$package.report.txt")" ||
    say "$check" failed "$on: $(tail -n 1 "$package.report.txt"); $(grep -m 1 ': ' "$package.report.txt")"
}

"$assay" export --model attention --sweep 100,1000 --name attention -o "$out/bundles/attention" >/dev/null || finish 4
"$assay" export --model heptv2 --sweep 100,1000 --permutations --name heptv2 -o "$out/bundles/heptv2" >/dev/null || finish 4
if [ "$heptv2" = "$runtime" ]; then
  qualify placement "$runtime" placement attention heptv2
else
  qualify placement "$runtime" placement attention
  qualify placement "$heptv2" placement-heptv2 heptv2
fi

if ASSAY_ORT=${ASSAY_ORT:-$(ls "$PWD"/deps/onnxruntime/libonnxruntime.so.* | head -n 1)} \
  sh tests/models/sorts.sh "$assay" "$heptv2" >"$out/sort.txt" 2>&1; then
  say sort passed "N = 1, 100, 4900, 14700, static and dynamic: every index"
else
  say sort failed "$(tail -n 1 "$out/sort.txt")"
fi

if [ -n "$flash" ]; then
  # shellcheck disable=SC2086
  "$assay" export --model attention --sweep 1000 $fused --name fused -o "$out/bundles/fused" >/dev/null || finish 4
  qualify kernels "$flash" kernels fused
else
  say kernels skipped "no fused profile for $runtime"
fi

rows=$(cat "$out"/placement/runs/*/*/*/timing/result.json 2>/dev/null | grep -c '"n_rows": [1-9]')
devices=$(cat "$out"/placement/runs/*/*/*/timing/result.json 2>/dev/null | grep -c "\"device\": \"")
[ "$rows" -gt 0 ] && say sampler passed "$rows runs were sampled, $devices readings of devices" ||
  say sampler failed "no run was sampled"

[ $failed = 0 ] && finish 0 || finish 1
