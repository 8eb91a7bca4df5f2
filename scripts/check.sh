#!/bin/sh
# scripts/check.sh: all tests. Unit tests, replayed fuzz corpora and the commands run under the address and
# undefined-behaviour sanitizers; models run on ONNX Runtime in the ordinary build. Ends with one line of counts.
set -eu
cd "$(dirname "$0")/.."
ort=${ASSAY_ORT:-}
for f in deps/onnxruntime/libonnxruntime.so.*; do
  [ -n "$ort" ] || [ ! -e "$f" ] || ort=$PWD/$f
done
export ASSAY_ORT="$ort" ORT_DISABLE_TELEMETRY=1 ASSAY_PYTHON="$PWD/deps/venv/bin/python"
export LSAN_OPTIONS=suppressions=$PWD/tests/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1

# No warnings with either compiler; clang's sanitizer sees offsets to null pointers, too.
CC=clang scripts/build.sh build-san -Db_sanitize=address,undefined -Db_lundef=false -Dwerror=true
CC=gcc scripts/build.sh build-gcc -Dwerror=true
scripts/build.sh build

failed=0
run() {
  folder=$1
  shift
  meson test -C $folder --no-rebuild --print-errorlogs "$@" >$folder/check.txt 2>&1 || failed=1
  cat $folder/check.txt
}
run build-san --no-suite models
run build --suite models --suite cli

# meson's summary lines: "Ok: 12", "Fail: 0", "Skipped: 1", "Timeout: 0", …
count() {
  cat build-san/check.txt build/check.txt | awk -v what="$1" -F: '$1 ~ "^" what " *$" {n += $2} END {print n + 0}'
}
passed=$(($(count Ok) + $(count "Expected Fail")))
lost=$(($(count Fail) + $(count Timeout) + $(count "Unexpected Pass")))
[ "$failed" = 0 ] || [ "$lost" -gt 0 ] || lost=1
echo "$passed passed, $lost failed, $(count Skipped) skipped"
[ "$lost" = 0 ] && [ "$passed" -gt 0 ]
