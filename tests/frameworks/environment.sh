#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the virtual environment with real frameworks for tests, and prints its Python: PPSCHED_FRAMEWORKS is to name it.
# usage: environment.sh [REQUIREMENTS]    by default requirements.txt next to this file, which says what its comments mean
#
# It lies in ${XDG_CACHE_HOME:-~/.cache}/ppsched, under a name of its own for each content of REQUIREMENTS and each Python, and stays
# there. Its file missing.txt has a line "PACKAGE: WHY" for each framework that does not import; these are tried again by the next
# call. An environment without that file is half made, and made anew.
set -euo pipefail
unset PYTHONPATH PYTHONHOME PYTHONPYCACHEPREFIX
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
requirements=${1:-$(dirname "${BASH_SOURCE[0]}")/requirements.txt}
python=/usr/bin/python3

tell() {
  echo "frameworks: $*" >&2
}

name=frameworks-$({ cat "$requirements" && "$python" -c 'import sys, sysconfig; print(sys.version, sysconfig.get_platform())'; } |
  sha256sum | cut -c 1-16)
mkdir -p "${XDG_CACHE_HOME:-$HOME/.cache}/ppsched"
place=$(cd "${XDG_CACHE_HOME:-$HOME/.cache}/ppsched" && pwd)/$name
log=$place.log

# options LINE: those that the line has for pip
options() {
  tr ';' '\n' <<<"${1#*#}" | sed -n 's/^ *pip //p'
}

# modules LINE: those that the line's framework is imported by, with commas
modules() {
  tr ';' '\n' <<<"${1#*#}" | sed -n 's/^ *import //p'
}

# pip_install ARGUMENTS...
pip_install() {
  "$place/bin/python" -m pip install --no-deps --retries 2 "$@" >>"$log" 2>&1
}

# install LINE...: all at once, or else one by one, as one that cannot be had stops all. Where none of the first three can be had,
# pip reaches nothing.
install() {
  local line had=0 tried=0
  # shellcheck disable=SC2046 # words
  if pip_install $(options "$1") "${@%%[ #]*}"; then return; fi
  [ $# -gt 1 ] || { tell "pip cannot install ${1%%[ #]*}" && return; }
  for line in "$@"; do
    [ $tried -lt 3 ] || [ $had -gt 0 ] || { tell "pip reaches nothing" && return; }
    tried=$((tried + 1))
    if pip_install --retries 0 "${line%%[ #]*}"; then had=$((had + 1)); else tell "pip cannot install ${line%%[ #]*}"; fi
  done
}

# install_all: neighbouring lines without options together
install_all() {
  local line group=()
  for line in "${lines[@]}"; do
    if [ -z "$(options "$line")" ]; then
      group+=("$line")
      continue
    fi
    [ ${#group[@]} -eq 0 ] || install "${group[@]}"
    group=()
    install "$line"
  done
  [ ${#group[@]} -eq 0 ] || install "${group[@]}"
}

# why_not MODULES: the last line of what Python says where they do not import
why_not() {
  local said
  said=$(cd / && "$place/bin/python" -c "import $1" 2>&1) || tail -n 1 <<<"$said"
}

# add_libraries: torch's build for GPUs does not import without those that it depends on
add_libraries() {
  [ -n "$(why_not torch)" ] && "$place/bin/python" -m pip show torch >/dev/null 2>&1 || return 0
  tell "this index has no build of torch for CPUs; pip adds the libraries that the one for GPUs needs, which are gigabytes"
  "$place/bin/python" -m pip install torch >>"$log" 2>&1 || true
}

# note_missing_ones: writes missing.txt, which says that the environment is made
note_missing_ones() {
  local line why
  for line in "${lines[@]}"; do
    why=$([ -z "$(modules "$line")" ] || why_not "$(modules "$line")")
    [ -z "$why" ] || echo "${line%%==*}: $why"
  done >"$place/missing"
  mv "$place/missing" "$place/missing.txt"
}

make() {
  SECONDS=0
  if [ -e "$place/missing.txt" ]; then
    tell "trying again: $(sed 's/:.*//' "$place/missing.txt" | tr '\n' ' ')"
    rm "$place/missing.txt"
  else
    tell "installing ${#lines[@]} packages to $place, once; its log is $log"
    rm -rf "$place"
    "$python" -m venv "$place"
  fi
  : >"$log"
  install_all
  add_libraries
  note_missing_ones
  tell "took $SECONDS s and $(du -sh "$place" | cut -f 1)"
}

exec 9>"$place.lock"
flock --nonblock 9 || { tell "another call is making the environment; waiting for it" && flock 9; }
readarray -t lines < <(grep -v -e '^#' -e '^ *$' "$requirements")
[ -e "$place/missing.txt" ] && [ ! -s "$place/missing.txt" ] || make
sed 's/^/frameworks: missing: /' "$place/missing.txt" >&2
echo "$place/bin/python"
