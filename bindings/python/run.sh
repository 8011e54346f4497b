#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the ppsched command from a checkout: installs the tools it lacks (Debian, Ubuntu), builds the library, runs.
# usage: run.sh [ppsched arguments]      without arguments: pick for the model in docs/examples, with a picture
#        run.sh published                our bubbles compared with those of a paper
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${PPSCHED_BUILD:-$root/build-run}

# shellcheck source=install_tools.sh
. "$here/install_tools.sh"
install_compiler cc gcc
install_tools meson:meson ninja:ninja-build /usr/bin/python3:python3
install_python_modules yaml:python3-yaml matplotlib:python3-matplotlib

build_library() {
  [ -f "$build/build.ninja" ] || meson setup "$build" "$root" -Dtests=false
  meson compile -C "$build" ppsched:shared_library
}
mkdir -p "$build"
exec 9>"$build/.lock"
flock 9 # one build at a time
[ -f "$build/build.ninja" ] || echo "run.sh: building the library in $build, once; it takes about a minute" >&2
if ! build_library >"$build/run.log" 2>&1; then
  cat "$build/run.log" >&2
  exit 1
fi
exec 9>&-
export PPSCHED_LIBRARY=$build/lib/libppsched.so
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
if [ "$*" = published ]; then
  exec /usr/bin/python3 -m ppsched.published
fi
if [ $# -eq 0 ]; then
  picture=$build/pick.png
  set -- pick --model "$root/docs/examples/config.json" --device h100 --tp 2 --pp 4 --dp 2 --global-batch 64 -o "$picture"
  echo "run.sh: ppsched $*" >&2
  /usr/bin/python3 -S "$here/ppsched.in" "$@"
  echo "run.sh: the picture is $picture; run.sh help lists the commands" >&2
  exit
fi
exec /usr/bin/python3 -S "$here/ppsched.in" "$@"
