#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the ppsched command from a checkout: installs the tools it lacks (Debian, Ubuntu), builds the library, runs.
# usage: run.sh [ppsched arguments]      without arguments: our bubbles beside published ones
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${PPSCHED_BUILD:-$root/build-run}

# shellcheck source=install_tools.sh
. "$here/install_tools.sh"
install_tools cc:gcc meson:meson ninja:ninja-build /usr/bin/python3:python3
install_python_modules yaml:python3-yaml matplotlib:python3-matplotlib

build_library() {
  [ -f "$build/build.ninja" ] || meson setup "$build" "$root" -Dtests=false
  meson compile -C "$build" ppsched:shared_library
}
mkdir -p "$build"
exec 9>"$build/.lock"
flock 9 # one build at a time
if ! build_library >"$build/run.log" 2>&1; then
  cat "$build/run.log" >&2
  exit 1
fi
exec 9>&-
export PPSCHED_LIBRARY=$build/lib/libppsched.so
export PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}"
if [ $# -eq 0 ]; then
  exec /usr/bin/python3 -m ppsched.published
fi
exec /usr/bin/python3 -S "$here/ppsched.in" "$@"
