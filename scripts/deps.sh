#!/bin/sh
# Everything that a build, a demo and the tests need from outside: Debian packages by apt-get, and pinned ONNX Runtime
# libraries out of their wheels, by package name with pip. A second run finds all of it and needs no network.
#
#   scripts/deps.sh packages           Debian packages (scripts/debian-packages.txt)
#   scripts/deps.sh ort                the runtime that demo and tests use, into deps/onnxruntime/
#   scripts/deps.sh ort-versions       older runtimes for version-against-version tests, into deps/ort-<version>/
#   scripts/deps.sh onnx               the ONNX checker (Python package `onnx`), into deps/venv/
#
# ASSAY_ORT=/path/to/libonnxruntime.so replaces the pinned runtime.
set -eu
cd "$(dirname "$0")/.."

ort_version=1.32.0                 # what demo and tests use
ort_older="1.20.1 1.23.2 1.27.0"   # what they are compared with
onnx_version=1.23.2

die() {
  echo "deps: $*" >&2
  exit 3
}

packages() {
  wanted=$(cat scripts/debian-packages.txt)
  missing=
  for p in $wanted; do
    dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
  done
  # Where pip works already, Debian's own is not needed.
  if python3 -m pip --version >/dev/null 2>&1; then
    missing=$(printf '%s' " $missing " | sed 's/ python3-pip / /')
  fi
  missing=$(echo $missing)
  [ -n "$missing" ] || return 0
  command -v apt-get >/dev/null 2>&1 || die "these packages are missing and there is no apt-get: $missing"
  if [ "$(id -u)" = 0 ]; then
    sudo=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    sudo=sudo
  else
    die "packages are missing; as root run: apt-get update && apt-get install -y --no-install-recommends $missing"
  fi
  echo "deps: installing $missing"
  $sudo apt-get update -qq || die "apt-get update did not work; is there a network?"
  $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null ||
    die "apt-get could not install: $missing"
}

# wheel VERSION FOLDER: unpacks libonnxruntime.so.VERSION of the pinned wheel into FOLDER.
wheel() {
  version=$1 folder=$2
  [ ! -e "$folder/libonnxruntime.so.$version" ] || return 0
  machine=$(uname -m)
  line=$(grep "  onnxruntime-$version-.*$machine.whl\$" scripts/onnxruntime.sha256) ||
    die "no pinned ONNX Runtime $version for $machine; set ASSAY_ORT=/path/to/libonnxruntime.so"
  tmp="deps/tmp.$$"
  rm -rf "$tmp"
  mkdir -p "$tmp"
  trap 'rm -rf "$tmp"' EXIT
  echo "deps: fetching onnxruntime $version"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform "manylinux_2_28_$machine" --platform "manylinux_2_27_$machine" \
    --python-version 3.12 --implementation cp --abi cp312 \
    --dest "$tmp" "onnxruntime==$version" ||
    die "pip could not fetch onnxruntime $version; set ASSAY_ORT=/path/to/libonnxruntime.so"
  (cd "$tmp" && echo "$line" | sha256sum -c --quiet) || die "onnxruntime $version is not the pinned file (SHA-256)"
  python3 -m zipfile -e "$tmp"/onnxruntime-*.whl "$tmp/unpacked"
  mkdir -p "$folder"
  for f in LICENSE ThirdPartyNotices.txt; do
    [ ! -e "$tmp/unpacked/onnxruntime/$f" ] || cp "$tmp/unpacked/onnxruntime/$f" "$folder/"
  done
  mv "$tmp/unpacked/onnxruntime/capi/libonnxruntime.so.$version" "$folder/"
  rm -rf "$tmp"
  trap - EXIT
}

ort() {
  if [ -n "${ASSAY_ORT:-}" ]; then
    [ -e "$ASSAY_ORT" ] || die "ASSAY_ORT='$ASSAY_ORT' is not there"
    return 0
  fi
  wheel "$ort_version" deps/onnxruntime
}

ort_versions() {
  for v in $ort_older; do wheel "$v" "deps/ort-$v"; done
}

onnx() {
  [ ! -e "deps/venv/onnx-$onnx_version" ] || return 0
  echo "deps: fetching onnx $onnx_version"
  python3 -m venv deps/venv || die "python3 -m venv did not work; install python3-venv"
  deps/venv/bin/python -m pip install --quiet --disable-pip-version-check "onnx==$onnx_version" ||
    die "pip could not install onnx $onnx_version"
  touch "deps/venv/onnx-$onnx_version"
}

for step in "$@"; do
  case $step in
  packages) packages ;;
  ort) ort ;;
  ort-versions) ort_versions ;;
  onnx) onnx ;;
  *) die "unknown step '$step'" ;;
  esac
done
