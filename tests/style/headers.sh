#!/bin/sh
# Every header compiles alone, without a warning: tests/style/headers.sh COMPILER [include folders of generated headers]
set -eu
compiler=$1
shift
cd "$(dirname "$0")/../.."
status=0
for header in src/*/*.h; do
  case $header in *.inc.h) continue ;; esac # included several times by one file, with macros set
  printf '#include "%s"\ntypedef int not_empty;\n' "${header#src/}" |
    $compiler -std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -Wall -Wextra -Wpedantic -Werror \
      -fsyntax-only -Isrc "$@" -x c - || {
    echo "$header does not compile alone"
    status=1
  }
done
exit $status
