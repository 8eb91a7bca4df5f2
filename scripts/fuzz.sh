#!/bin/sh
# scripts/fuzz.sh SECONDS [NAME...]: runs each fuzzer (or those named) that long under the address and undefined-behaviour
# sanitizers, starting from its corpus in testdata. New inputs are kept in build-fuzz/corpus/; a crash stops with its file named.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
[ -e build-fuzz/build.ninja ] ||
  CC=clang meson setup build-fuzz -Dfuzzers=true -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
ninja -C build-fuzz --quiet
for program in $(find build-fuzz -name '*_fuzz' -type f -perm -u+x | sort); do
  name=$(basename "$program" _fuzz)
  case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
  room=$(basename "$(dirname "$program")")
  mkdir -p "build-fuzz/corpus/$name"
  echo "fuzz: $name for $seconds s"
  "$program" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/$name-" "build-fuzz/corpus/$name" \
    $(ls -d "src/$room/testdata/$name"* "src/$room/testdata/fuzz/$name"* 2>/dev/null || true) \
    >"build-fuzz/$name.log" 2>&1 || {
    tail -n 40 "build-fuzz/$name.log"
    echo "fuzz: $name found something; see build-fuzz/$name-*" >&2
    exit 1
  }
  grep -E 'stat::number_of_executed_units|stat::new_units_added|stat::peak_rss_mb' "build-fuzz/$name.log"
done
