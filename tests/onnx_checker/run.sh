#!/bin/sh
# Writes every variant of the graphs and gives them to the ONNX checker: run.sh WRITER [CONFIG.json]...
# WRITER --write FOLDER [CONFIG.json]... writes them, the presets and the configurations in full size; skipped (77) where
# ASSAY_PYTHON (python3) has no package `onnx`.
set -eu
python=${ASSAY_PYTHON:-python3}
here=$(cd "$(dirname "$0")" && pwd)
command -v "$python" >/dev/null || {
  echo "skipped: $python is not installed"
  exit 77
}
"$python" -c 'import onnx' 2>/dev/null || {
  echo "skipped: the Python package 'onnx' is not installed"
  exit 77
}
writer=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$writer" --write "$folder" "$@"
"$python" "$here/check_models.py" "$folder"/*.onnx
