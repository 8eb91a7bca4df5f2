#!/bin/sh
# scripts/fuzz.sh SECONDS [NAME...]: runs each fuzzer (or those named) that long under the address and undefined-behaviour
# sanitizers. It begins with the corpus of the tests and with FUZZ_CORPUS/NAME (default build-fuzz/corpus), where what it finds
# new is kept: run again, it goes on from there. FUZZ_CORPUS/runs.txt adds up seconds and executions. A crash stops with its file
# named.
set -eu
cd "$(dirname "$0")/.."
seconds=$1
shift
corpus=${FUZZ_CORPUS:-build-fuzz/corpus}
[ -e build-fuzz/build.ninja ] ||
  CC=clang meson setup build-fuzz -Dfuzzers=true -Db_sanitize=address,undefined -Db_lundef=false >/dev/null
targets=$(ninja -C build-fuzz -t targets all | sed -n 's/^\(src[^:]*_fuzz\): .*/\1/p' | sort)
names=$(for target in $targets; do basename "$target" _fuzz; done)
for name in "$@"; do
  echo "$names" | grep -qx "$name" || {
    echo "fuzz: no fuzzer '$name'; there are:" $names >&2
    exit 2
  }
done
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 # a report is a finding, too
for target in $targets; do
  name=$(basename "$target" _fuzz)
  case " $* " in "  " | *" $name "*) ;; *) continue ;; esac
  ninja -C build-fuzz --quiet "$target"
  room=$(basename "$(dirname "$target")")
  mkdir -p "$corpus/$name"
  echo "fuzz: $name for $seconds s"
  "build-fuzz/$target" -max_total_time="$seconds" -rss_limit_mb=4096 -timeout=20 -print_final_stats=1 \
    -artifact_prefix="build-fuzz/$name-" "$corpus/$name" \
    $(ls -d "src/$room/testdata/$name"* "src/$room/testdata/fuzz/$name"* 2>/dev/null || true) \
    >"build-fuzz/$name.log" 2>&1 || {
    tail -n 40 "build-fuzz/$name.log"
    echo "fuzz: $name found something; see build-fuzz/$name-*" >&2
    exit 1
  }
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "build-fuzz/$name.log")
  echo "$name $seconds $executions" >>"$corpus/runs.txt"
  grep -E 'stat::new_units_added|stat::peak_rss_mb' "build-fuzz/$name.log"
  awk -v name="$name" '$1 == name { s += $2; n += $3 } END { printf "fuzz: %s, in all %d s and %d executions\n", name, s, n }' \
    "$corpus/runs.txt"
done
