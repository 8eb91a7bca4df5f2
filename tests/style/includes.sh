#!/bin/sh
# A room includes only the rooms that the table of src/README.md allows it: reads the #include lines of src/.
# Tests and fuzzers may also include the rooms that make their fixtures.
set -eu
cd "$(dirname "$0")/../../src"

allowed() {
  case $1 in
  base) echo "base" ;;
  package | onnx | checkpoint | dataset | measure | runtime) echo "$1 base" ;;
  model) echo "model onnx base" ;;
  reference) echo "reference base" ;;
  evidence) echo "evidence runtime onnx base" ;;
  fusion) echo "fusion onnx base" ;;
  campaign) echo "base package onnx checkpoint dataset measure runtime model reference evidence fusion campaign" ;;
  diagnose) echo "diagnose campaign reference model onnx package runtime base" ;;
  report) echo "report package measure base" ;;
  verify) echo "verify package fusion base" ;;
  selftest) echo "base package onnx checkpoint dataset measure runtime model reference evidence fusion campaign report verify selftest" ;;
  cli) echo "base package onnx checkpoint dataset measure runtime model reference evidence fusion campaign report verify selftest diagnose cli" ;;
  *) echo "" ;;
  esac
}

status=0
for file in */*.c */*.h; do
  case $file in *_test.c | *_fuzz.c | */test_*.h) continue ;; esac
  room=${file%%/*}
  for target in $(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file"); do
    case $target in
    */*) ;;
    *) continue ;; # generated or private, beside the file
    esac
    # The reference evaluator reads a model's configuration, and nothing else of that room.
    case $room:$target in reference:model/*_config.h) continue ;; esac
    case " $(allowed "$room") " in
    *" ${target%%/*} "*) ;;
    *)
      echo "src/$file includes \"$target\", which room '$room' may not"
      status=1
      ;;
    esac
  done
done

# Each outside library is seen in one place.
seen_only_in() {
  for file in $(grep -lE "^ *# *include *<$1" */*.c */*.h | grep -v -e '_test\.c$' -e '_fuzz\.c$'); do
    case $file in
    $2) ;;
    *)
      echo "src/$file includes <$1…>, which belongs to $2 alone"
      status=1
      ;;
    esac
  done
}
seen_only_in jansson 'base/json.c'
seen_only_in 'zip\.h' 'base/zip.c'
seen_only_in openssl 'base/hash.c'
seen_only_in cblas 'reference/*'
seen_only_in sleef 'reference/*'
seen_only_in protobuf-c 'onnx/*'
seen_only_in argp 'cli/*'
seen_only_in 'brotli/' 'dataset/record_codec.c'
seen_only_in zstd 'dataset/record_codec.c'
seen_only_in snappy 'dataset/record_codec.c'
seen_only_in zlib 'dataset/inflate.c'
seen_only_in highwayhash 'dataset/highway.c'
seen_only_in sqlite3 'fusion/gpu_database.c'
seen_only_in onnxruntime 'runtime/*'
exit $status
