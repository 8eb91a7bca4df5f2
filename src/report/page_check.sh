#!/bin/sh
# page_check.sh TESTPACK SOURCES [PACKAGE...]: looks at pages in headless Chromium at phone and laptop
# size, light and dark: no error, no request, no overflow, sorting and filters work, axe-core finds
# nothing; and prints them. Pages are those of made-up packages, or of the packages that are named.
# Skipped (77) where there is no chromium, or no axe-core (npm package axe-core):
# ASSAY_AXE=/path/to/axe.min.js. ASSAY_PICTURES=FOLDER keeps a picture of each page in each form.
# `make page-check` brings both and does all of it.
set -u
testpack=$(readlink -f "$1") sources=$(readlink -f "$2")
shift 2
chromium=$(command -v chromium) || { echo "skipped: no chromium"; exit 77; }
axe=${ASSAY_AXE:-/usr/share/javascript/axe-core/axe.min.js}
[ -r "$axe" ] || { echo "skipped: no axe-core at '$axe' (ASSAY_AXE)"; exit 77; }
pictures=${ASSAY_PICTURES:-}
[ -z "$pictures" ] || mkdir -p "$pictures" || exit 1
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

browse() { # OPTIONS... PAGE
  rm -rf "$work/profile"
  timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
    --disable-background-networking --disable-component-update --disable-sync --hide-scrollbars \
    --user-data-dir="$work/profile" --virtual-time-budget=30000 "$@" 2>"$work/err"
}

# No window of Chromium is as narrow as a phone; a frame is. It passes on what the page in it says.
frame() { # PAGE HEIGHT
  printf '<body style="margin:0;background:gray"><iframe src="file://%s" ' "$1"
  printf 'style="border:0;width:390px;height:%spx"></iframe><script>' "$2"
  printf 'onmessage = function (e) { const pre = document.createElement("pre");'
  printf ' pre.textContent = e.data; document.body.appendChild(pre); };</script>'
}

look() { # PAGE WIDTH,HEIGHT SCHEME
  browse --window-size="$2" --blink-settings=preferredColorScheme="$3" --dump-dom "file://$1" >"$work/dom"
  answer=$(grep -o '<pre>page check: [^<]*' "$work/dom" | head -n 1 | cut -c 6-)
  [ "$answer" = "page check: ok" ] || { echo "${1##*/} at $2, scheme $3: ${answer:-no answer}"; status=1; }
}

# A whole page at once: the window is as high as most pages are.
picture() { # PAGE NAME WIDTH SCHEME
  browse --window-size="$3,12000" --blink-settings=preferredColorScheme="$4" \
    --screenshot="$pictures/$2.png" "file://$1" >/dev/null
}

# On paper: light whatever the scheme is, and something on every sheet.
paper() { # PAGE NAME
  browse --no-pdf-header-footer --print-to-pdf="$work/page.pdf" "file://$1" >/dev/null
  [ "$(head -c 5 "$work/page.pdf" 2>/dev/null)" = "%PDF-" ] || { echo "$2: does not print"; status=1; return; }
  [ -n "$pictures" ] && command -v pdftoppm >/dev/null || return 0
  pdftoppm -r 60 -png "$work/page.pdf" "$pictures/$2-paper"
}

check() { # PACKAGE NAME
  prepare "$1"
  echo "$2"
  paper "$1/report/report.html" "$2"
  for scheme in 1 0; do # light, dark
    frame "$work/page.html" 844 >"$work/phone.html"
    look "$work/page.html" 1366,768 $scheme
    look "$work/phone.html" 500,844 $scheme
    [ -n "$pictures" ] || continue
    frame "$1/report/report.html" 12000 >"$work/phone.html"
    picture "$1/report/report.html" "$2-laptop-$scheme" 1366 $scheme
    picture "$work/phone.html" "$2-phone-$scheme" 500 $scheme
  done
}

try() { # NAME, testpack's arguments
  name=$1
  shift
  rm -rf "$work/package"
  "$testpack" "$work/package" "$@" report || { echo "testpack $*: failed"; status=1; return; }
  check "$work/package" "$name"
}

for package; do
  [ -r "$package/report/report.html" ] || { echo "'$package' has no report"; exit 2; }
  check "$(readlink -f "$package")" "$(basename "$package")"
done
[ $# = 0 ] || exit $status
try good 1 2 4 0 0
try apart 2 1 4 1 2 brought half events device repeated loose
try failed 1 1 3 11 1
try hostile 1 1 2 4 1 hostile device
try one 1 1 1 0 0 zero no-samples
try huge 1 1 3 0 0 huge
exit $status
