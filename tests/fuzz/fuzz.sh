#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds all fuzz targets with clang's libFuzzer, ASan and UBSan, and runs each over a copy of its corpus.
# usage: fuzz.sh [MINUTES] [TARGET...]      CPU minutes of each target, 5 by default; all targets by default
# A line a target; what is found stays in build-fuzz/found/TARGET. The exit status is 1 where something was found.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
minutes=${1:-5}
shift $(($# > 0 ? 1 : 0))
[ $# -gt 0 ] || set -- builder chakra config csv description json layout model plan strategy
build=build-fuzz

[ -f $build/build.ninja ] || CC=clang meson setup $build -Dfuzz=true -Dpython=false -Ddefault_library=static \
  -Db_sanitize=address,undefined -Db_lundef=false -Doptimization=1
meson compile -C $build "${@/%/_fuzz}"

export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
TIMEFORMAT='%U %S'

# The entropic schedule spends most of its time on the many features of these targets, not on runs.
# Runs a target for up to so many seconds of wall time; adds its CPU seconds to `spent`, and sets `status`.
run() {
  local target=$1 seconds=$2 used
  status=0
  {
    time "$build/tests/${target}_fuzz" -max_total_time="$seconds" -max_len="$longest" -len_control=0 -entropic=0 -timeout=60 \
      -artifact_prefix="$artifacts/" "$corpus" >>"$log" 2>&1 || status=$?
  } 2>"$build/$target.time"
  used=$(tail -1 "$build/$target.time")
  spent=$(awk -v spent="$spent" -v used="$used" 'BEGIN { split(used, part); print int(spent + part[1] + part[2]) }')
}

found=0
for target; do
  corpus=$build/corpus/$target artifacts=$build/found/$target log=$build/$target.log
  mkdir -p "$corpus" "$artifacts"
  cp "tests/fuzz/corpus/$target"/* "$corpus"
  case $target in # longer texts find more; longer calls only take longer
  chakra | csv | description | json | layout) longest=2000 ;;
  *) longest=300 ;;
  esac
  spent=0 status=0
  : >"$log"
  while [ $status = 0 ] && [ $spent -lt $((minutes * 60 - 1)) ]; do
    run "$target" $((minutes * 60 - spent))
  done
  runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
  took="$((spent / 60)) min $((spent % 60)) s of CPU"
  if [ $status = 0 ]; then
    echo "$target: nothing in $runs runs, $took, $(ls "$corpus" | wc -l) files of corpus"
  else
    echo "$target: FOUND after $took: $(grep -m1 -E 'not so|ERROR|runtime error' "$log"); see $log"
    found=1
  fi
done
exit $found
