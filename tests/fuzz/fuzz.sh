#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds all fuzz targets with clang's libFuzzer, ASan and UBSan, and runs each over a copy of its corpus.
# usage: fuzz.sh [MINUTES] [TARGET...]      minutes of each target, 5 by default; all targets by default
# A line a target; what is found stays in build-fuzz/found/TARGET. The exit status is 1 where something was found.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
minutes=${1:-5}
shift $(($# > 0 ? 1 : 0))
[ $# -gt 0 ] || set -- builder config csv json plan strategy
build=build-fuzz

[ -f $build/build.ninja ] || CC=clang meson setup $build -Dfuzz=true -Dpython=false -Ddefault_library=static \
  -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
meson compile -C $build "${@/%/_fuzz}"

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
found=0
for target; do
  corpus=$build/corpus/$target artifacts=$build/found/$target log=$build/$target.log
  mkdir -p "$corpus" "$artifacts"
  cp "tests/fuzz/corpus/$target"/* "$corpus"
  status=0
  case $target in # longer texts find more; longer calls only take longer
  csv | json) longest=2000 ;;
  *) longest=300 ;;
  esac
  $build/tests/"${target}_fuzz" -max_total_time=$((minutes * 60)) -max_len=$longest -len_control=0 -timeout=10 \
    -artifact_prefix="$artifacts/" "$corpus" >"$log" 2>&1 || status=$?
  runs=$(grep -o '^#[0-9]\+' "$log" | tail -1)
  if [ $status = 0 ]; then
    echo "$target: nothing in ${runs#?} runs, $(ls "$corpus" | wc -l) files of corpus"
  else
    echo "$target: FOUND after ${runs#?} runs: $(grep -m1 -E 'not so|ERROR|runtime error' "$log"); see $log"
    found=1
  fi
done
exit $found
