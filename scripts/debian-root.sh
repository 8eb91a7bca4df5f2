#!/bin/sh
# Folders with the files of another Debian release, unpacked and not installed: for libraries that need a newer C library
# than this machine's. Neither root nor debootstrap is needed, and nothing outside the folder changes.
#
#   scripts/debian-root.sh make ROOT SUITE PACKAGE…   the packages with all that they depend on, in ROOT
#   scripts/debian-root.sh run ROOT FOLDER COMMAND…   COMMAND with ROOT as its /, FOLDER at /work and this machine's /proc,
#                                                     /sys and /dev; environment as it is
#   scripts/debian-root.sh bring ROOT FOLDER PROGRAM ARGUMENT…   the same with a program of this machine, and those of its
#                                                     libraries that ROOT has not, as FOLDER/.program/. It is built for
#                                                     an older C library, which newer ones take; a build in ROOT would
#                                                     need compiler and headers there, and be another program.
#
# A PACKAGE may be a pattern (libonnxruntime[0-9.]+: the newest of that name); files of $EXCLUDE (patterns of tar, one a
# line) are left out.
# Exit status: 0 done, or COMMAND's; 1 with the reason as one line on stdout.
set -eu
PATH=$PATH:/usr/sbin:/sbin

cannot() {
  echo "$*"
  exit 1
}

# settings FOLDER SUITE: FOLDER/apt.conf for an apt-get that knows that suite alone, takes it from the archive of this
# machine's own packages, and believes that nothing is installed. A mirror may lag behind: dates are not checked, signatures
# are.
settings() {
  keys=/usr/share/keyrings/debian-archive-keyring.gpg
  archive=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | grep -m 1 '/debian/*$') ||
    cannot "apt-get names no Debian archive on this machine"
  [ -e $keys ] || cannot "Debian's keys are not here: install debian-archive-keyring"
  mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/debs"
  : >"$1/status"
  echo "deb [signed-by=$keys] $archive $2 main" >"$1/sources.list"
  cat >"$1/apt.conf" <<END
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$1/lists";
Dir::State::status "$1/status";
Dir::Cache "$1/cache";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Check-Valid-Until "false";
Acquire::Languages "none";
END
}

# unpack ROOT DEBS: the files of all packages in ROOT, with the names that Debian's base-files and ldconfig would add.
unpack() {
  for name in usr/lib64 usr/bin usr/sbin etc proc sys dev tmp work; do mkdir -p "$1/$name"; done
  chmod 1777 "$1/tmp"
  for name in lib lib64 bin sbin; do ln -s usr/$name "$1/$name"; done
  for deb in "$2"/*.deb; do
    dpkg --fsys-tarfile "$deb" | tar -x --no-same-owner --keep-directory-symlink -X "$2/left_out" -C "$1"
  done
  ldconfig -r "$1"
}

make_root() {
  root=$1 suite=$2
  shift 2
  [ ! -e "$root/.packages" ] || return 0
  command -v apt-get >/dev/null 2>&1 && command -v dpkg >/dev/null 2>&1 || cannot "there is no apt-get here"
  mkdir -p "$(dirname "$root")"
  root=$(readlink -f "$root")
  apt=$(mktemp -d "$root.XXXXXX")
  trap 'rm -rf "$apt" "$root.new"' EXIT
  settings "$apt" "$suite"
  apt-get -c "$apt/apt.conf" -qq update >"$apt/log" 2>&1 || cannot "apt-get update of $suite: $(tail -n 1 "$apt/log")"
  for pattern in "$@"; do
    name=$(apt-cache -c "$apt/apt.conf" pkgnames | grep -E -x -e "$pattern" | sort -V | tail -n 1)
    [ -n "$name" ] || cannot "Debian $suite has no package $pattern"
    echo "$name" >>"$apt/names"
  done
  xargs apt-get -c "$apt/apt.conf" -y --print-uris install <"$apt/names" >"$apt/uris" 2>"$apt/log" ||
    cannot "Debian $suite cannot install $*: $(tail -n 1 "$apt/log")"
  sed -n "s/^'[^']*' \([^_]*\)_\([^_]*\)_.*/\1=\2/p" "$apt/uris" | sed 's/%3a/:/' >"$apt/packages"
  (cd "$apt/debs" && xargs apt-get -c "$apt/apt.conf" -qq download <"$apt/packages") >"$apt/log" 2>&1 ||
    cannot "packages of Debian $suite: $(tail -n 1 "$apt/log")"
  printf '%s\n' './usr/share/doc' './usr/share/man' './usr/share/locale' "${EXCLUDE:-}" >"$apt/debs/left_out"
  rm -rf "$root.new" "$root"
  unpack "$root.new" "$apt/debs" >"$apt/log" 2>&1 || cannot "packages cannot be unpacked: $(tail -n 1 "$apt/log")"
  cp "$apt/packages" "$root.new/.packages"
  mv "$root.new" "$root"
}

# A mount namespace of its own: what is mounted there goes with the command.
run_in() {
  root=$1 folder=$2
  shift 2
  # shellcheck disable=SC2016 # expanded by the inner shell
  inner='set -e
for name in proc sys dev; do mount --rbind /$name "$1/$name"; done
mount --bind "$2" "$1/work"
root=$1
shift 2
exec chroot "$root" "$@"'
  as_root=
  [ "$(id -u)" = 0 ] || as_root=--map-root-user
  exec unshare --mount $as_root sh -c "$inner" sh "$root" "$folder" "$@"
}

bring() {
  root=$1 folder=$2 program=$3
  shift 3
  mkdir -p "$folder/.program"
  cp "$program" "$folder/.program/"
  ldd "$program" | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | while read -r name path; do
    [ -e "$root/usr/lib/x86_64-linux-gnu/$name" ] || cp -L "$path" "$folder/.program/"
  done
  LD_LIBRARY_PATH=/work/.program${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
  run_in "$root" "$folder" "/work/.program/$(basename "$program")" "$@"
}

what=${1:-}
[ $# -ge 4 ] || cannot "usage: debian-root.sh make ROOT SUITE PACKAGE… | run ROOT FOLDER COMMAND… | bring ROOT FOLDER PROGRAM…"
shift
case $what in
make) make_root "$@" ;;
run) run_in "$@" ;;
bring) bring "$@" ;;
*) cannot "not make, run or bring: '$what'" ;;
esac
