# Sourced by the tests of this folder; $1 is the program. Each works in a folder of its own, and is skipped without ASSAY_ORT, the
# ONNX Runtime to use.
set -eu
assay=$(readlink -f "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/tests/models
[ -n "${ASSAY_ORT:-}" ] || {
  echo "skipped: ASSAY_ORT is not set"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
