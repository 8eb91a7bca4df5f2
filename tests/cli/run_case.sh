#!/bin/sh
# tests/cli/run_case.sh CASE ASSAY: runs the line in CASE/cmd in an empty folder that holds copies of CASE/files/, and
# compares what it says. stdout and stderr are exact; stdout.pattern and stderr.pattern hold one extended regular
# expression a line (whole line), "..." for any further lines; a missing file means: must be empty. CASE/exit holds the exit status.
# CASE/after (optional) is a script that must succeed in that folder afterwards.
set -u
case_dir=$(cd "$1" && pwd)
assay=$(readlink -f "$2")
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+rwx "$work" 2>/dev/null; rm -rf "$work"' EXIT
mkdir "$work/in" && cd "$work/in" || exit 1
[ ! -d "$case_dir/files" ] || cp -R "$case_dir/files/." .
PATH="$(dirname "$assay"):$PATH" ROOT="$root" sh -u "$case_dir/cmd" >"$work/stdout" 2>"$work/stderr"
got=$?
status=0

[ "$got" = 77 ] && exit 77
want=$(cat "$case_dir/exit")
[ "$got" = "$want" ] || {
  echo "exit status: expected $want, got $got"
  status=1
}

matches() { # NAME
  if [ -e "$case_dir/$1.pattern" ]; then
    awk -v name="$1" '
      NR == FNR { pattern[++n] = $0; next }
      { line[++m] = $0 }
      END {
        for (i = 1; i <= n; i++) {
          if (pattern[i] == "...") exit 0
          if (i > m) { printf "%s: expected a line like \"%s\", found the end\n", name, pattern[i]; exit 1 }
          if (line[i] !~ ("^" pattern[i] "$")) {
            printf "%s line %d: expected like\n  %s\nfound\n  %s\n", name, i, pattern[i], line[i]; exit 1
          }
        }
        if (m > n) { printf "%s: more than expected: \"%s\"\n", name, line[n + 1]; exit 1 }
      }' "$case_dir/$1.pattern" "$work/$1"
  elif [ -e "$case_dir/$1" ]; then
    diff -u "$case_dir/$1" "$work/$1"
  else
    [ ! -s "$work/$1" ] || {
      echo "$1: expected nothing, found"
      head -n 5 "$work/$1"
      return 1
    }
  fi
}
matches stdout || status=1
matches stderr || status=1
if [ -e "$case_dir/after" ]; then
  PATH="$(dirname "$assay"):$PATH" ROOT="$root" sh -eu "$case_dir/after" || {
    echo "what was left behind is not as expected (after)"
    status=1
  }
fi
[ "$status" = 0 ] || {
  echo "-- stdout:"
  head -n 40 "$work/stdout"
  echo "-- stderr:"
  head -n 40 "$work/stderr"
}
exit $status
