#!/bin/sh
# scripts/chaos.sh: a small campaign, disturbed COUNT times (50): `assay run`, a worker or both are killed with KILL at a
# random moment, or it is stopped with TERM, once or several times in a row, or its disk fills up; then the same line is
# repeated until it is done.
# Each package must complete, pass the gate and `assay verify`, and equal, up to what is measured, one that was never
# disturbed (tests/chaos/describe_package.c says what is compared). No process and no unfinished file may be left.
#
#   COUNT=50 SEED=… (printed; the same seed draws the same moments) BUILD=build KEEP= (a folder of failures, default
#   chaos-failed/)
set -eu
cd "$(dirname "$0")/.."
count=${COUNT:-50}
seed=${SEED:-$(date +%s)}
build=$(cd "${BUILD:-build}" && pwd)
keep=${KEEP:-$PWD/chaos-failed}
assay=$build/assay
describe=$build/tests/describe_package
ort=${ASSAY_ORT:-}
for f in deps/onnxruntime/libonnxruntime.so.*; do
  [ -n "$ort" ] || [ ! -e "$f" ] || ort=$PWD/$f
done
[ -n "$ort" ] || {
  echo "chaos: no ONNX Runtime: run 'make deps', or set ASSAY_ORT=/path/to/libonnxruntime.so" >&2
  exit 3
}
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-chaos-XXXXXX")
work=$(cd "$work" && pwd -P)
disk=$work/disk
export TMPDIR="$work/tmp" ORT_DISABLE_TELEMETRY=1

clean() {
  [ -z "${runner:-}" ] || kill -9 "$runner" 2>/dev/null || true
  for pid in $(ours); do kill -9 "$pid" 2>/dev/null || true; done
  umount "$disk" 2>/dev/null || true
  rm -rf "$work"
}
trap clean EXIT
trap 'exit 130' INT TERM

# --- small tools ------------------------------------------------------------------------------------------------------

n_drawn=0
draw() { # BELOW: sets drawn to a whole number from 0 to BELOW - 1, from the seed
  n_drawn=$((n_drawn + 1))
  drawn=$(awk -v seed="$seed" -v n="$n_drawn" -v below="$1" \
    'BEGIN { srand((seed * 1009 + n * 7919) % 2147483647); rand(); rand(); print int(rand() * below) }')
}

sleep_ms() {
  sleep "$(awk -v ms="$1" 'BEGIN { printf "%.3f", ms / 1000 }')"
}

# Processes that work in our folder: their command lines name it.
ours() {
  for at in /proc/[0-9]*; do
    pid=${at#/proc/}
    [ "$pid" != $$ ] && tr '\0' ' ' <"$at/cmdline" 2>/dev/null | grep -qF "$work/" && echo "$pid" || true
  done 2>/dev/null
}

# The workers of a process: its children, but for those that are dead already.
workers() { # PID
  for at in /proc/[0-9]*/stat; do
    read -r line <"$at" || continue
    rest=${line##*) }
    set -- "$1" $rest
    [ "$3" = "$1" ] && [ "$2" != Z ] && echo "${line%% *}" || true
  done 2>/dev/null
}

wait_until_gone() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -n "$(ours)" ] || return 0
    sleep 0.2
  done
  return 1
}

n_failed=0
complain() { # WHAT
  echo "chaos: round $round ($what): $1" >&2
  tail -n 40 "$work/run.log" >&2 2>/dev/null || true
  n_failed=$((n_failed + 1))
  mkdir -p "$keep"
  rm -rf "$keep/round-$round"
  cp -R "$package" "$keep/round-$round" 2>/dev/null || true
  echo "chaos: the package lies in '$keep/round-$round'; SEED=$seed draws the same moments" >&2
}

# --- the campaign -----------------------------------------------------------------------------------------------------

bundles() {
  "$assay" export --model attention --preset cld --layers 1 --sweep 8,16 --shapes static --name attention -o "$work/attention"
  "$assay" export --model heptv2 --preset cld --layers 1 --sweep 100 --name heptv2 -o "$work/heptv2"
} >/dev/null

# With a library by its path: the runtime is named after the version that the library says.
line() {
  exec "$assay" run --runtime "cpu@$ort" --bundle "$work/attention" --bundle "$work/heptv2" --iterations 5 --warmup 1 \
    --processes 2 -o "$package" >>"$work/run.log" 2>&1
}

run() { # the line, for $package
  (line)
}

start() { # the same in the background; sets runner
  line &
  runner=$!
}

verify() {
  "$assay" verify --help >/dev/null 2>&1 || return 0
  "$assay" verify "$package" >>"$work/run.log" 2>&1
}

# --- disturbances -----------------------------------------------------------------------------------------------------

kill_run() {
  start
  draw "$usual_ms"
  sleep_ms "$drawn"
  kill -9 $runner 2>/dev/null || true
  wait $runner 2>/dev/null || true
  runner=
}

stop_run() {
  start
  draw "$usual_ms"
  sleep_ms "$drawn"
  kill -TERM $runner 2>/dev/null || true
  wait $runner 2>/dev/null || true
  runner=
}

kill_worker() { # whichever is there at the moment, and perhaps several
  start
  draw "$usual_ms"
  sleep_ms "$drawn"
  for pid in $(workers $runner); do kill -9 "$pid" 2>/dev/null || true; done
  wait $runner 2>/dev/null || true
  runner=
}

kill_both() { # the worker first or last
  start
  draw "$usual_ms"
  sleep_ms "$drawn"
  draw 2
  pids=$(workers $runner)
  [ "$drawn" = 0 ] || kill -9 $runner 2>/dev/null || true
  for pid in $pids; do kill -9 "$pid" 2>/dev/null || true; done
  kill -9 $runner 2>/dev/null || true
  wait $runner 2>/dev/null || true
  runner=
}

fill_disk() { # a file system too small for the package; then with room
  mkdir -p "$disk"
  draw $((usual_kb + 256))
  if ! mount -t tmpfs -o "size=$((drawn + 64))k" tmpfs "$disk" 2>/dev/null; then
    return 1
  fi
  package=$disk/package
  ! run || what="$what that has room enough"
  mount -o remount,size=1g "$disk"
}

can_mount() {
  [ "$(id -u)" = 0 ] || return 1
  mkdir -p "$disk"
  mount -t tmpfs -o size=64k tmpfs "$disk" 2>/dev/null || return 1
  umount "$disk"
}

disturb() { # KIND
  case $1 in
    run) kill_run ;;
    worker) kill_worker ;;
    both) kill_both ;;
    stop) stop_run ;;
    disk) fill_disk ;;
  esac
}

# --- what must hold then ----------------------------------------------------------------------------------------------

check() {
  wait_until_gone || complain "a process is left: $(ours)"
  for attempt in 1 2 3 4 5; do
    run && break
    [ $attempt -lt 5 ] || complain "the line does not complete it"
  done
  verify || complain "verify refuses it"
  "$describe" "$package" >"$work/got.txt" 2>&1 || complain "it cannot be described"
  # The package's own path is part of the command line.
  sed "s|$package|PACKAGE|g" "$work/got.txt" >"$work/got-named.txt"
  diff -u "$work/want.txt" "$work/got-named.txt" >"$work/diff.txt" || {
    head -n 40 "$work/diff.txt" >&2
    complain "it differs from one that was never disturbed"
  }
  left=$(find "$package" -name '.*' ! -path "$package"; find "$package" -name '*.tmp' -o -name 'profile-raw*'
    find "$TMPDIR" -mindepth 1)
  [ -z "$left" ] || complain "files are left: $left"
  "$assay" report --require-complete "$package" >>"$work/run.log" 2>&1 || complain "the gate refuses it"
  verify || complain "verify refuses it with its report"
  wait_until_gone || complain "a process is left at the end: $(ours)"
}

# --- the rounds -------------------------------------------------------------------------------------------------------

mkdir -p "$TMPDIR"
bundles
round=0 what=undisturbed
package=$work/undisturbed
run || { # the first time fills the caches
  cat "$work/run.log" >&2
  exit 1
}
rm -rf "$package"
begin_ms=$(date +%s%3N)
run
usual_ms=$(($(date +%s%3N) - begin_ms))
usual_kb=$(du -sk "$package" | cut -f1)
"$describe" "$package" >"$work/got.txt"
sed "s|$package|PACKAGE|g" "$work/got.txt" >"$work/want.txt"
kinds="run worker both stop"
if can_mount; then kinds="$kinds disk"; else echo "chaos: skipped: filling a disk (a file system cannot be mounted here)"; fi
echo "chaos: $count rounds, SEED=$seed; undisturbed the campaign takes $usual_ms ms and $usual_kb KiB"

n_run=0 n_worker=0 n_both=0 n_stop=0 n_disk=0
while [ $round -lt "$count" ]; do
  round=$((round + 1))
  : >"$work/run.log"
  package=$work/package
  # Each kind in turn, then any, one to four times.
  set -- $kinds
  shift $(((round - 1) % $#))
  kind=$1 what=$1
  eval "n_$kind=\$((n_$kind + 1))"
  disturb "$kind"
  draw 4
  more=$drawn
  while [ "$more" -gt 0 ]; do
    draw 4
    set -- run worker both stop
    shift "$drawn"
    what="$what, $1"
    disturb "$1"
    more=$((more - 1))
  done
  before=$n_failed
  check
  [ "$n_failed" = "$before" ] && echo "chaos: $round/$count $what: complete and equal"
  rm -rf "$work/package"
  ! umount "$disk" 2>/dev/null || rm -rf "$disk"
done
echo "chaos: $count rounds ($n_run began with a killed run, $n_worker with a killed worker, $n_both with both," \
  "$n_stop with a stopped run, $n_disk with a full disk): $n_failed failed"
[ "$n_failed" = 0 ]
