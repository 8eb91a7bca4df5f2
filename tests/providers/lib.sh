# Sourced by the tests of this folder; $1 is the program. Each test works in a folder of its own, with one cache for all
# its runs, so that shaders are compiled once (by itself each run starts cold).
set -eu
assay=$(readlink -f "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
unset ASSAY_ORT || true
export ORT_DISABLE_TELEMETRY=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME="$work/cache"

# warm NAME [SED]: NAME.json here, the runtime that `make providers` installed, with its caches kept, changed by SED.
# Skips the test where it is not installed.
warm() {
  [ -e "$root/deps/runtimes/$1.json" ] || {
    echo "skipped: deps/runtimes/$1.json is not there; run 'make providers'"
    exit 77
  }
  "$assay" doctor --runtime "$root/deps/runtimes/$1.json" --show |
    sed -e 's|"caches": "fresh"|"caches": "kept"|' -e "${2:-}" >"${3:-$1}.json"
}

fail() {
  echo "$*"
  exit 1
}

# expect STATUS COMMAND…: runs it, output to out.txt.
expect() {
  want=$1
  shift
  status=0
  "$@" >out.txt 2>&1 || status=$?
  [ "$status" = "$want" ] || fail "status $status, expected $want: $* : $(tail -n 5 out.txt)"
}

# says FILE TEXT…: that the file holds each of them.
says() {
  file=$1
  shift
  for text in "$@"; do
    grep -qF -- "$text" "$file" || fail "expected '$text' in $file: $(head -c 3000 "$file")"
  done
}
