#!/bin/sh
# page_check.sh TESTPACK SOURCES: looks at pages in headless Chromium at phone and laptop size, light
# and dark: no error, no request, no overflow, sorting and filters work, axe-core finds nothing.
# Skipped (77) where there is no chromium, or no axe-core (npm package axe-core):
# ASSAY_AXE=/path/to/axe.min.js
set -u
testpack=$(readlink -f "$1") sources=$(readlink -f "$2")
chromium=$(command -v chromium) || { echo "skipped: no chromium"; exit 77; }
axe=${ASSAY_AXE:-/usr/share/javascript/axe-core/axe.min.js}
[ -r "$axe" ] || { echo "skipped: no axe-core at '$axe' (ASSAY_AXE)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# The page with the checker and our questions at its end.
prepare() { # PACKAGE
  {
    printf '<script>window.pageErrors = []; addEventListener("error", function (e) {'
    printf ' pageErrors.push("error: " + e.message); });</script>'
    # The page lets no script run but its own; the checker's must, so the policy is left out.
    sed 's|<meta http-equiv="Content-Security-Policy"[^>]*>||' "$1/report/report.html"
    printf '<script>' && cat "$axe" && printf '</script>'
    printf '<script>' && cat "$sources/page_check.js" && printf '</script>'
  } >"$work/page.html"
}

look() { # WIDTH HEIGHT SCALE SCHEME
  rm -rf "$work/profile"
  timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$work/profile" --force-device-scale-factor="$3" --window-size="$1,$2" \
    --blink-settings=preferredColorScheme="$4" \
    --virtual-time-budget=30000 --dump-dom "file://$work/page.html" 2>"$work/err" >"$work/dom"
  answer=$(grep -o '<pre>page check: [^<]*' "$work/dom" | head -n 1 | cut -c 6-)
  [ "$answer" = "page check: ok" ] || { echo "$1x$2 scheme $4: ${answer:-no answer}"; status=1; }
}

try() { # testpack's arguments
  rm -rf "$work/package"
  "$testpack" "$work/package" "$@" report || { echo "testpack $*: failed"; status=1; return; }
  prepare "$work/package"
  echo "$*"
  look 1366 768 1 1
  look 1366 768 1 0
  look 780 1688 2 1 # a phone: 390 by 844 at two dots a pixel
  look 780 1688 2 0
}

try 1 2 4 0 0
try 2 1 3 1 2 brought half
try 1 1 3 11 1
try 1 1 2 4 1 hostile
exit $status
