#!/bin/sh
# scripts/source-id.sh: one line for the record of the program: "REVISION STATE DIGEST". REVISION is the last commit that
# touched the sources ("unavailable" outside a git checkout), STATE "clean", or "dirty" when they differ from it, and
# DIGEST the SHA-256 over their digests, which needs no git. Only what the program is made of counts: a commit that
# touches documents alone makes no new program.
set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C GIT_OPTIONAL_LOCKS=0
sources="src meson.build meson_options.txt"
set -f
made_of="$sources :!*.md :!*_test.c :!*_fuzz.c :!*/testdata/*"
revision=unavailable state=unavailable
if [ -e .git ] && found=$(git log -1 --format=%H -- $made_of 2>/dev/null) && [ -n "$found" ]; then
  revision=$found state=clean
  [ -z "$(git status --porcelain -- $made_of 2>/dev/null)" ] || state=dirty
fi
digest=$(find $sources -type f ! -path '*/testdata/*' ! -name '*.md' ! -name '*_test.c' ! -name '*_fuzz.c' -print | sort |
  xargs sha256sum | sha256sum | cut -d ' ' -f 1)
echo "$revision $state $digest"
