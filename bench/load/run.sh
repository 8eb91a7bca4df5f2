#!/bin/sh
# Loading checkpoints and datasets beside PyTorch and the reference readers, in one run. See README.md here. Arguments
# go to compare_load.py:
#
#   bench/load/run.sh --rounds 3 --bytes 100000000 --events 50
#
# ASSAY_TORCH_PYTHON names an interpreter that has PyTorch and numpy already, ASSAY_READERS_PYTHON one that has
# array_record, tensorflow-datasets, tfrecord and crc32c.
set -eu
cd "$(dirname "$0")/../.."

die() {
  echo "bench/load: $*" >&2
  exit 3
}

build=${BUILD:-build}
assay=$build/assay
bench=$build/bench/load/bench_load
[ -x "$bench" ] && [ -x "$assay" ] || die "'$bench' is not there; run make build first"

torch=${ASSAY_TORCH_PYTHON:-deps/venv-torch/bin/python}
"$torch" -c 'import torch, numpy' 2>/dev/null ||
  die "'$torch' has no PyTorch: bench/evaluator/run.sh installs it, ASSAY_TORCH_PYTHON names another"

venv=deps/venv-readers
readers=${ASSAY_READERS_PYTHON:-$venv/bin/python}
import='import array_record, crc32c, tensorflow_datasets, tfrecord'
if [ -z "${ASSAY_READERS_PYTHON:-}" ] && ! "$readers" -c "$import" 2>/dev/null; then
  mkdir -p deps
  echo "bench/load: installing array_record and TFDS into $venv (340 MB)" >&2
  "$torch" -m venv "$venv" || die "could not make '$venv'"
  "$venv/bin/pip" install --quiet --disable-pip-version-check array_record==0.8.6 tensorflow-datasets==4.9.10 \
    tfrecord==1.14.6 crc32c==2.9.post0 || die "pip could not install the readers; set ASSAY_READERS_PYTHON"
fi
"$readers" -c "$import" || die "'$readers' lacks a reader"

# One thread each, on one processor.
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec python3 -B bench/load/compare_load.py "$assay" "$bench" "$torch" "$readers" "$@"
