#!/bin/sh
# scripts/flip.sh [PACKAGE]: changes a finished package in COUNT random places, one byte at a time, through every file of
# it, and requires that `assay verify` names the file each time; then removes, adds, renames and swaps files. Works on
# a copy; without PACKAGE on a small one that it makes. SEED repeats a run. ASSAY names the program.
set -eu
cd "$(dirname "$0")/.."
assay=${ASSAY:-build/assay}
count=${COUNT:-500}
seed=${SEED:-$(date +%s)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
package=$work/package
echo "seed $seed"

if [ $# -gt 0 ]; then
  cp -R "$1" "$package"
else
  "$assay" export --model attention --layers 1 --sweep 10 -o "$work/bundle" >/dev/null
  "$assay" run --bundle "$work/bundle" --iterations 5 -o "$package" >/dev/null 2>"$work/err" || {
    cat "$work/err" >&2
    exit 2
  }
  "$assay" report "$package" >/dev/null 2>&1
fi
"$assay" verify "$package" | tail -n 1 | grep -qx VERIFIED || {
  echo "flip: the package does not verify before anything is changed" >&2
  exit 2
}
(cd "$package" && find . -type f | cut -c 3- | LC_ALL=C sort) >"$work/files"

missed=0
tried=0
# named KIND FILE WHAT: verification must fail and say so.
named() {
  tried=$((tried + 1))
  status=0
  "$assay" verify "$package" >"$work/said" 2>"$work/err" || status=$?
  if [ "$status" != 1 ] || ! grep -qF "$1: $2: " "$work/said"; then
    missed=$((missed + 1))
    echo "MISSED: $3 (exit status $status)"
    tail -n 3 "$work/said" "$work/err"
  fi
}

# FILE OFFSET BIT in each line: every file in turn, wherever it has a byte.
while read -r file; do
  echo "$(wc -c <"$package/$file") $file"
done <"$work/files" >"$work/sizes"
awk -v seed="$seed" -v count="$count" '
  BEGIN { srand(seed) }
  $1 > 0 { size[n] = $1; sub(/^[0-9]+ /, ""); name[n++] = $0 }
  END { for (i = 0; i < count; i++) printf "%d %d %s\n", int(rand() * size[i % n]), 2 ^ int(rand() * 8), name[i % n] }
' "$work/sizes" >"$work/places"

while read -r offset bit file; do
  byte=$(od -An -tu1 -j "$offset" -N 1 "$package/$file" | tr -d ' ')
  # shellcheck disable=SC2059 # an octal escape is what is printed
  put() { printf "\\$(printf %03o "$1")" | dd of="$package/$file" bs=1 seek="$offset" conv=notrunc 2>/dev/null; }
  flipped=$((byte + bit * (1 - 2 * (byte / bit % 2))))
  put "$flipped"
  named changed "$file" "byte $offset of $file, $byte made $flipped"
  put "$byte"
done <"$work/places"
echo "flipped: $tried places in $(awk '{print $3}' "$work/places" | sort -u | wc -l) files"

# Some files, each removed, renamed, joined by another and swapped with the next. package.json cannot be missed: without
# it there is no package, which is said with exit status 2.
awk -v seed="$seed" 'BEGIN { srand(seed + 1) } $0 != "package.json" { name[n++] = $0 }
  END { for (i = 0; i < 10 && i < n; i++) print name[int(rand() * n)] }' "$work/files" >"$work/chosen"
previous=
while read -r file; do
  mv "$package/$file" "$work/kept"
  named missing "$file" "$file removed"
  mv "$work/kept" "$package/$file.renamed"
  named missing "$file" "$file renamed, the old name"
  named extra "$file.renamed" "$file renamed, the new name"
  mv "$package/$file.renamed" "$package/$file"
  cp "$package/$file" "$package/$file.added"
  named extra "$file.added" "$file.added added"
  rm "$package/$file.added"
  if [ -n "$previous" ] && ! cmp -s "$package/$file" "$package/$previous"; then
    swap() {
      mv "$package/$file" "$work/kept"
      mv "$package/$previous" "$package/$file"
      mv "$work/kept" "$package/$previous"
    }
    swap
    named changed "$file" "$file swapped with $previous"
    named changed "$previous" "$previous swapped with $file"
    swap
  fi
  previous=$file
done <"$work/chosen"

"$assay" verify "$package" | tail -n 1 | grep -qx VERIFIED || {
  echo "flip: the package does not verify after everything was put back" >&2
  exit 2
}
echo "$tried changes, $missed missed (seed $seed)"
[ "$missed" = 0 ]
