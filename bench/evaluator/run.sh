#!/bin/sh
# The evaluator beside eager PyTorch, one thread each, in one run. See README.md here. Arguments
# go to bench_torch.py:
#
#   bench/evaluator/run.sh --rounds 3 --sizes 1000
#
# ASSAY_TORCH_PYTHON=/path/to/python names an interpreter that has PyTorch and numpy already.
set -eu
cd "$(dirname "$0")/../.."

torch_version=2.15.0
venv=deps/venv-torch
needed_gib=12 # PyPI's x86-64 wheel brings the CUDA libraries along, and does not load without them

die() {
  echo "bench/evaluator: $*" >&2
  exit 3
}

evaluator=${BUILD:-build}/bench/evaluator/bench_evaluator
[ -x "$evaluator" ] || die "'$evaluator' is not there; run make build first"

python=${ASSAY_TORCH_PYTHON:-$venv/bin/python}
if [ -z "${ASSAY_TORCH_PYTHON:-}" ] && ! "$python" -c 'import torch, numpy' 2>/dev/null; then
  mkdir -p deps
  free_gib=$(($(df -Pk deps | awk 'NR == 2 { print $4 }') / 1048576))
  [ "$free_gib" -ge "$needed_gib" ] ||
    die "installing PyTorch needs $needed_gib GiB of disk, $free_gib are free"
  echo "bench/evaluator: installing torch $torch_version into $venv (fetches 3 GB)" >&2
  python3 -m venv "$venv" || die "could not make '$venv'; on Debian install python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "torch==$torch_version" numpy ||
    die "pip could not install torch $torch_version; set ASSAY_TORCH_PYTHON to a python that has it"
fi
"$python" -c 'import torch, numpy' || die "'$python' cannot import torch and numpy"

# Both sides choose their kernels for this processor by themselves, and use one thread.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
exec "$python" -B bench/evaluator/bench_torch.py "$evaluator" "$@"
