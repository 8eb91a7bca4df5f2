#!/bin/sh
# scripts/page-check.sh [PACKAGE...]: report pages in headless Chromium, by src/report/page_check.sh, with a picture of
# each at laptop, phone and paper size, light and dark, in page-check/. Of made-up packages, or of the packages named.
# Brings what it needs: chromium by apt-get, the accessibility checker axe-core by npm, into deps/page/.
set -eu
cd "$(dirname "$0")/.."

axe_version=4.10.3
axe=deps/page/node_modules/axe-core/axe.min.js

die() {
  echo "page-check: $*" >&2
  exit 3
}

install() { # PACKAGE
  [ "$(id -u)" = 0 ] || die "$1 is missing; as root run: apt-get install -y --no-install-recommends $1"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >/dev/null ||
    die "apt-get could not install $1"
}

command -v chromium >/dev/null || install chromium
command -v pdftoppm >/dev/null || install poppler-utils
if [ ! -r "$axe" ]; then
  command -v npm >/dev/null || install npm
  mkdir -p deps/page
  npm install --silent --no-audit --no-fund --prefix deps/page "axe-core@$axe_version" >/dev/null ||
    die "npm could not install axe-core; is there a network?"
fi
rm -rf page-check
ASSAY_AXE=$axe ASSAY_PICTURES=page-check sh src/report/page_check.sh "${ASSAY_BUILD:-build}/src/report/testpack" \
  src/report "$@"
echo "pictures: page-check/"
