#!/bin/sh
# scripts/build.sh FOLDER [meson options]: sets FOLDER up once, then builds what changed.
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
if [ ! -e "$folder/build.ninja" ]; then
  rm -rf "$folder"
  meson setup "$folder" "$@" >"$folder.log" 2>&1 || {
    cat "$folder.log" >&2
    rm -rf "$folder" "$folder.log"
    exit 4
  }
  mv "$folder.log" "$folder/setup.log"
fi
ninja -C "$folder" --quiet
