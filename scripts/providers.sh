#!/bin/sh
# make providers: runtimes with a provider other than the CPU's that run without a GPU, into deps/ and nowhere else. Each
# step says what it installed or why it could not; one that cannot is no failure of the others. `assay doctor` tries
# what is there, `assay run --runtime webgpu` uses it, tests/providers/ run on it.
#
#   scripts/providers.sh                    all steps
#   scripts/providers.sh webgpu             ONNX Runtime with WebGPU (npm), on Mesa's software Vulkan (Debian backports)
#   scripts/providers.sh openvino           ONNX Runtime with OpenVINO (PyPI)
#   scripts/providers.sh openvino-plugin    OpenVINO as a plug-in (PyPI) for the pinned ONNX Runtime
#   scripts/providers.sh debian             ONNX Runtime of a newer Debian, with DNNL and XNNPACK; not pinned, as that archive
#                                           keeps only its newest: Debian's signatures are checked, versions are in
#                                           deps/debian/.packages
#   scripts/providers.sh cuda migraphx      ONNX Runtime for NVIDIA and AMD GPUs (PyPI), not among all steps: without the
#                                           vendor's libraries and a device they only say what is missing
#   scripts/providers.sh cuda-libraries     the CUDA libraries that the former is linked to (PyPI, 0.5 GB), without the
#                                           driver's: to see what is said where only a device is missing
#
# Exit status: 0 all of them are there, 3 some are not.
set -eu
cd "$(dirname "$0")/.."
root=$PWD

node_version=1.30.0                 # npm onnxruntime-node
mesa_version=25.0.7-2~bpo12+1       # Debian mesa-vulkan-drivers of bookworm-backports; Mesa 22 has no adapter for WebGPU
openvino_version=1.24.1             # PyPI onnxruntime-openvino
plugin_version=1.8.1                # PyPI onnxruntime-ep-openvino
gpu_version=1.31.1                  # PyPI onnxruntime-gpu
migraphx_version=1.27.1             # PyPI onnxruntime-migraphx
cuda_wheels="nvidia-cublas=13.10.0.20 nvidia-cuda-runtime=13.5.37 nvidia-curand=10.4.5.25" # PyPI

tmp=deps/tmp-providers.$$
trap 'rm -rf "$tmp"' EXIT

# cannot STEP REASON: says so, and makes the step fail.
cannot() {
  echo "providers: $1 not installed: $2" >&2
  return 1
}

# pinned FILE: that its SHA-256 is the one in scripts/providers.sha256.
pinned() {
  name=$(basename "$1")
  line=$(grep "  $name\$" scripts/providers.sha256) || return 1
  (cd "$(dirname "$1")" && echo "$line" | sha256sum -c --quiet >/dev/null 2>&1)
}

# wheel NAME VERSION: unpacks the pinned wheel into $tmp/NAME.
wheel() {
  mkdir -p "$tmp/wheels"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: \
    --platform manylinux2014_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 \
    --platform manylinux_2_34_x86_64 --python-version 3.12 --implementation cp --abi cp312 --abi none \
    --dest "$tmp/wheels" "$1==$2" >/dev/null 2>"$tmp/pip.txt" || return 1
  file=$(ls "$tmp"/wheels/"$(echo "$1" | tr - _)"-"$2"-*.whl) || return 1
  pinned "$file" || return 1
  python3 -m zipfile -e "$file" "$tmp/$1"
}

# place FOLDER FILE…: the files become deps/FOLDER, whole or not at all.
place() {
  folder=deps/$1
  shift
  rm -rf "$folder.new"
  mkdir -p "$folder.new"
  mv "$@" "$folder.new/"
  rm -rf "$folder"
  mv "$folder.new" "$folder"
}

# runtime NAME: what comes in is deps/runtimes/NAME.json, which `assay` finds by that name.
runtime() {
  mkdir -p deps/runtimes
  cat >"deps/runtimes/$1.json.new"
  mv "deps/runtimes/$1.json.new" "deps/runtimes/$1.json"
  echo "providers: deps/runtimes/$1.json"
}

# Mesa's software Vulkan with all that this system lacks for it, out of Debian packages that are unpacked and not
# installed. Another release's own Mesa is used where it is installed.
mesa() {
  [ ! -e "deps/mesa/$mesa_version" ] || return 0
  command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 ||
    { cannot webgpu "there is no apt-get to fetch Mesa's software Vulkan with"; return 1; }
  apt=$root/$tmp/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/debs" "$apt/unpacked"
  # The archive that this machine takes its own packages from.
  archive=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m 1 '/debian/*$')
  [ -n "$archive" ] || { cannot webgpu "apt-get names no Debian archive on this machine"; return 1; }
  for suite in bookworm bookworm-backports; do
    echo "deb $archive $suite main"
  done >"$apt/sources.list"
  cat >"$apt/apt.conf" <<END
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "root";
END
  apt-get -c "$apt/apt.conf" -qq update >"$apt/log" 2>&1 ||
    { cannot webgpu "apt-get update of bookworm-backports: $(tail -n 1 "$apt/log")"; return 1; }
  apt-get -c "$apt/apt.conf" -y --no-install-recommends -t bookworm-backports --print-uris install \
    "mesa-vulkan-drivers=$mesa_version" libvulkan1 >"$apt/uris" 2>"$apt/log" ||
    { cannot webgpu "Mesa $mesa_version: $(tail -n 1 "$apt/log")"; return 1; }
  sed -n "s/^'[^']*' \([^_]*\)_\([^_]*\)_.*/\1=\2/p" "$apt/uris" | sed 's/%3a/:/' >"$apt/packages"
  grep -q . "$apt/packages" || echo "mesa-vulkan-drivers=$mesa_version" >"$apt/packages"
  (cd "$apt/debs" && xargs apt-get -c "$apt/apt.conf" -qq download <"$apt/packages") >"$apt/log" 2>&1 ||
    { cannot webgpu "Mesa's packages: $(tail -n 1 "$apt/log")"; return 1; }
  pinned "$apt/debs/mesa-vulkan-drivers_${mesa_version}_amd64.deb" ||
    { cannot webgpu "mesa-vulkan-drivers $mesa_version is not the pinned file (SHA-256)"; return 1; }
  for deb in "$apt"/debs/*.deb; do dpkg -x "$deb" "$apt/unpacked"; done
  lib=$apt/unpacked/usr/lib/x86_64-linux-gnu
  [ -e "$lib/libvulkan_lvp.so" ] || { cannot webgpu "the Mesa package holds no software Vulkan"; return 1; }
  mkdir -p "$apt/lib"
  # What the driver and the loader need of it; the rest of Mesa stays out.
  for name in libvulkan.so.1 libvulkan_lvp.so $(cd "$lib" && ls | grep -v '^libvulkan\|^libVkLayer\|^dri$\|^gbm$\|^libgallium\|^libEGL\|^libGLX'); do
    [ ! -f "$lib/$name" ] || cp -L "$lib/$name" "$apt/lib/"
  done
  cp "$apt"/unpacked/usr/share/vulkan/icd.d/lvp_icd*.json "$apt/lvp_icd.json"
  cp "$apt/packages" "$apt/$mesa_version"
  place mesa "$apt/lib" "$apt/lvp_icd.json" "$apt/$mesa_version"
}

webgpu() {
  step=webgpu
  if [ ! -e "deps/webgpu/$node_version" ]; then
    command -v npm >/dev/null 2>&1 || { cannot $step "there is no npm to fetch onnxruntime-node with"; return 1; }
    mkdir -p "$tmp/npm"
    (cd "$tmp/npm" && npm pack --silent "onnxruntime-node@$node_version") >"$tmp/npm.txt" 2>&1 ||
      { cannot $step "npm: $(tail -n 1 "$tmp/npm.txt")"; return 1; }
    pinned "$tmp/npm/onnxruntime-node-$node_version.tgz" ||
      { cannot $step "onnxruntime-node $node_version is not the pinned file (SHA-256)"; return 1; }
    tar xzf "$tmp/npm/onnxruntime-node-$node_version.tgz" -C "$tmp/npm"
    : >"$tmp/npm/$node_version"
    place webgpu "$tmp"/npm/package/bin/napi-v6/linux/x64/libonnxruntime.so.1 "$tmp/npm/$node_version"
  fi
  if [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" = bookworm ]; then
    mesa || return 1
    driver=$root/deps/mesa/lvp_icd.json more=", \"LD_LIBRARY_PATH\": \"$root/deps/mesa/lib\""
  else
    driver=$(ls /usr/share/vulkan/icd.d/lvp_icd*.json 2>/dev/null | head -n 1) more=
    [ -n "$driver" ] ||
      { cannot $step "no software Vulkan here: install mesa-vulkan-drivers (Mesa 25 or newer) and libvulkan1"; return 1; }
  fi
  runtime webgpu <<END
{"library": "../webgpu/libonnxruntime.so.1", "provider": "webgpu",
 "env": {"VK_DRIVER_FILES": "$driver"$more}}
END
}

openvino() {
  if [ ! -e "deps/openvino/$openvino_version" ]; then
    wheel onnxruntime-openvino $openvino_version ||
      { cannot openvino "pip could not fetch the pinned onnxruntime-openvino $openvino_version"; return 1; }
    from=$tmp/onnxruntime-openvino/onnxruntime/capi
    : >"$tmp/$openvino_version"
    # One file a library; Intel's GPU and NPU need a device.
    place openvino "$from"/libonnxruntime.so.$openvino_version "$from"/libonnxruntime_providers_*.so \
      "$from"/libopenvino.so.[0-9][0-9][0-9][0-9] "$from"/libopenvino_onnx_frontend.so.[0-9][0-9][0-9][0-9] \
      "$from"/libopenvino_intel_cpu_plugin.so "$from"/libtbb.so.12 "$tmp/$openvino_version"
  fi
  runtime openvino <<END
{"library": "../openvino/libonnxruntime.so.$openvino_version", "provider": "openvino",
 "options": {"device_type": "CPU", "precision": "FP32", "num_of_threads": 1, "num_streams": 1}}
END
}

openvino_plugin() {
  if [ ! -e "deps/openvino-plugin/$plugin_version" ]; then
    wheel onnxruntime-ep-openvino $plugin_version ||
      { cannot openvino-plugin "pip could not fetch the pinned onnxruntime-ep-openvino $plugin_version"; return 1; }
    from=$tmp/onnxruntime-ep-openvino/onnxruntime_ep_openvino
    : >"$tmp/$plugin_version"
    place openvino-plugin "$from"/libonnxruntime_providers_openvino_plugin.so "$from"/libopenvino.so.[0-9]* \
      "$from"/libopenvino_onnx_frontend.so.[0-9]* "$from"/libopenvino_ir_frontend.so.[0-9]* \
      "$from"/libopenvino_intel_cpu_plugin.so "$from"/libtbb*.so.* "$from"/libhwloc.so.* "$tmp/$plugin_version"
  fi
  library=$(ls deps/onnxruntime/libonnxruntime.so.* 2>/dev/null | tail -n 1)
  [ -n "$library" ] || { cannot openvino-plugin "it needs deps/onnxruntime: run 'make deps'"; return 1; }
  runtime openvino-plugin <<END
{"library": "../onnxruntime/$(basename "$library")", "provider": "openvino",
 "plugin": "../openvino-plugin/libonnxruntime_providers_openvino_plugin.so"}
END
}

# Debian's needs a newer C library than Debian 12 has: its files stay in a folder of their own, which
# `scripts/debian-root.sh bring` runs assay in. The release to come first; the stable one has an older ONNX Runtime.
debian() {
  if [ ! -e deps/debian/.packages ]; then
    why=$(scripts/debian-root.sh make deps/debian sid base-files 'libonnxruntime[0-9.]+' libonnxruntime-providers) ||
      why=$(scripts/debian-root.sh make deps/debian trixie base-files 'libonnxruntime[0-9.]+') ||
      { cannot debian "$why"; return 1; }
  fi
  echo "providers: deps/debian: $(grep -E '^libonnxruntime[0-9]' deps/debian/.packages), with DNNL and XNNPACK"
}

# device NAME PACKAGE VERSION: a library with a provider for a GPU, into deps/NAME.
device() {
  if [ ! -e "deps/$1/$3" ]; then
    wheel "$2" "$3" || { cannot "$1" "pip could not fetch the pinned $2 $3"; return 1; }
    from=$tmp/$2/onnxruntime/capi
    : >"$tmp/$3"
    place "$1" "$from/libonnxruntime.so.$3" "$from"/libonnxruntime_providers_*.so "$tmp/$3"
  fi
  echo "providers: deps/$1/libonnxruntime.so.$3; use it as --runtime $1@deps/$1/libonnxruntime.so.$3"
}

cuda_libraries() {
  if [ ! -e deps/cuda-libraries/wheels.txt ] || [ "$(cat deps/cuda-libraries/wheels.txt)" != "$cuda_wheels" ]; then
    for name in $cuda_wheels; do
      wheel "${name%=*}" "${name#*=}" || { cannot cuda-libraries "pip could not fetch the pinned $name"; return 1; }
    done
    echo "$cuda_wheels" >"$tmp/wheels.txt"
    place cuda-libraries "$tmp"/nvidia-*/nvidia/cu13/lib/lib*.so.* "$tmp/wheels.txt"
  fi
  echo "providers: deps/cuda-libraries; use it as LD_LIBRARY_PATH"
}

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] || {
  echo "providers: nothing installed: the pinned files are for Linux on x86_64, this is $(uname -s) on $(uname -m)" >&2
  exit 3
}
mkdir -p "$tmp"
failed=0
for step in ${*:-webgpu openvino openvino-plugin debian}; do
  case $step in
  webgpu) webgpu || failed=1 ;;
  openvino) openvino || failed=1 ;;
  openvino-plugin) openvino_plugin || failed=1 ;;
  debian) debian || failed=1 ;;
  cuda-libraries) cuda_libraries || failed=1 ;;
  cuda) device cuda onnxruntime-gpu $gpu_version || failed=1 ;;
  migraphx) device migraphx onnxruntime-migraphx $migraphx_version || failed=1 ;;
  *) echo "providers: unknown step '$step'" >&2 && exit 2 ;;
  esac
done
[ "$failed" = 0 ] || exit 3
