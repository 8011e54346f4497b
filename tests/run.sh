#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what the tests need (Debian, Ubuntu), builds with gcc, clang and the sanitizers, and runs all tests; with clang those
# of the library's results that are not slow, with the thread sanitizer those of threads alone.
# usage: run.sh            what finds most: all of unit, golden and fuzz tests, of the interface and of search quality, most of the others
#        run.sh --all      the rest too: other platforms, a second browser, long sweeps, types of all Python, mutants and so on
#        run.sh --third N  the first and a third of the rest, 1 to 3; by commit: N is of the commit's time, as CI does it
#        run.sh --quick    one build, without the tests of the suite "slow" and the browsers that they need
#        run.sh --frameworks       one build, and all tests that run real frameworks (tests/frameworks)
#        run.sh --no-frameworks    with any of the first three: not those, nor the environment that they need
# The last line is "N passed, N failed, N skipped", counted from the tests that ran. What is skipped is named, and so is what was left
# out. A test may be skipped only for what tests/allowed_skips.txt names, or what could not be installed (build-missing.txt); any
# other counts as failed.
set -euo pipefail
usage() {
  echo "usage: tests/run.sh [--quick | --frameworks | [--all | --third 1|2|3|by-commit] [--no-frameworks]]" >&2
  exit 2
}
is_quick=
frameworks=yes # or "no", or "only"
third=none # of the rest that runs
words=()
for word in "$@"; do
  if [ "$word" = --no-frameworks ] && [ $frameworks = yes ]; then frameworks=no; else words+=("$word"); fi
done
case $frameworks-${words[*]:-} in
  yes---quick) is_quick=yes ;;
  yes---frameworks) frameworks=only ;;
  *-) ;;
  *---all) third=all ;;
  *---third\ [123]) third=${words[1]} ;;
  *---third\ by-commit)
    moment=$(git -C "$(dirname "${BASH_SOURCE[0]}")" log -1 --format=%ct 2>/dev/null || date +%s)
    third=$((moment / 60 % 3 + 1))
    ;;
  *) usage ;;
esac
left_out=()
for number in 1 2 3; do
  [ "$third" = all ] || [ "$third" = "$number" ] || left_out+=("third-$number")
done
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# shellcheck source=../bindings/python/install_tools.sh
. bindings/python/install_tools.sh
install_compiler gcc gcc
install_tools g++:g++ clang:clang meson:meson ninja:ninja-build pkg-config:pkg-config nm:binutils valgrind:valgrind abidiff:abigail-tools \
  cmake:cmake mypy:mypy /usr/bin/python3:python3
install_python_modules yaml:python3-yaml matplotlib:python3-matplotlib numpy:python3-numpy setuptools:python3-setuptools \
  wheel:python3-wheel pip:python3-pip ensurepip:python3-venv
pkg-config --exists cmocka || apt_install libcmocka-dev

# What some tests need: SimGrid's MPI too; WebAssembly's compiler, and node to run it.
missing=$root/build-missing.txt
: >"$missing"
# shellcheck source=packages.sh
. tests/packages.sh
want_commands mpirun:openmpi-bin mpicc:libopenmpi-dev smpicc:libsimgrid-dev clang-format-14:clang-format-14 tsc:node-typescript node:nodejs \
  clang-14:clang-14 llvm-ar-14:llvm-14 wasm-ld-14:lld-14 wasm-opt:binaryen /usr/lib/wasm32-wasi/libc.a:wasi-libc \
  "$(echo /usr/lib/llvm-14/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a):libclang-rt-14-dev-wasm32"
/usr/bin/python3 -c 'import pandas' 2>/dev/null || want python3-pandas

# Browsers, and what only tests of the rest need: other platforms, a second browser.
runs_third() {
  [ "$third" = all ] || [ "$third" = "$1" ]
}
want_more() {
  local multilib
  want_browser chromium tests/python/browser.py
  want_commands /usr/share/i18n/locales/de_DE:locales
  if runs_third 1; then
    want_commands qemu-s390x:qemu-user s390x-linux-gnu-gcc:gcc-s390x-linux-gnu /usr/s390x-linux-gnu/lib/crt1.o:libc6-dev-s390x-cross
    multilib=gcc-$(gcc -dumpversion)-multilib
    echo 'int main(void) { return 0; }' | gcc -m32 -x c -o /dev/null - 2>/dev/null || want "$multilib"
    want_browser firefox-esr tests/python/firefox.py
  fi
  if runs_third 2; then want_commands musl-gcc:musl-tools x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64; fi
}
[ -n "$is_quick" ] || [ $frameworks = only ] || want_more

# Real frameworks: the environment is made while other builds and tests run. One that cannot be made at all counts as a build that
# failed.
failed_builds=0
start_frameworks() {
  tests/frameworks/environment.sh >build-frameworks.txt 2>build-frameworks.log &
  made=$!
}
finish_frameworks() {
  local line is_made=yes
  wait "$made" || is_made=
  cat build-frameworks.log >&2
  if [ -z "$is_made" ]; then
    failed_builds=$((failed_builds + 1))
    return
  fi
  PPSCHED_FRAMEWORKS=$(cat build-frameworks.txt)
  export PPSCHED_FRAMEWORKS
  while read -r line; do
    note_missing "${line%%:*}" "${line#*: }"
  done <"${PPSCHED_FRAMEWORKS%/bin/python}/missing.txt"
}
[ -n "$is_quick" ] || [ $frameworks = no ] || start_frameworks

# The tests start Python hundreds of times; what it compiled is kept, beside what else is built.
unset PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX=$root/build-python

# Some tests wait more than they work.
export MESON_TESTTHREADS="${MESON_TESTTHREADS:-$(($(nproc) + 2))}"
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
only=""
skipped=()
logs=()

# The sanitizers of older compilers do not always start where the system puts memory at very random places.
fixed_places=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_places=(setarch "$(uname -m)" -R); fi

# Names the tests of a build that belong to the rest and were not asked for.
tell_left_out() {
  local suite names
  for suite in ${left_out[@]+"${left_out[@]}"}; do
    names=$(meson test -C "$1" --list --suite "$suite" 2>/dev/null | sed -n 's|.* / ||p' | tr '\n' ' ')
    [ -z "$names" ] || echo "left out (tests/run.sh --all runs them): $names"
  done
}

# check NAME C_COMPILER C++_COMPILER MESON_ARGUMENTS...: builds all into build-NAME and runs the tests there; with `only` builds
# and runs that one, with `skipped` runs not those of these suites.
check() {
  local name=$1 c_compiler=$2 cpp_compiler=$3 build=build-$1
  shift 3
  echo "== $name"
  rm -f "$build"/meson-logs/testlog*
  if ! { [ -f "$build/build.ninja" ] || CC=$c_compiler CXX=$cpp_compiler meson setup "$build" -Dwerror=true "$@"; } \
    >"$build.log" 2>&1 || ! meson compile -C "$build" ${only:+"${only}_test"} >>"$build.log" 2>&1; then
    cat "$build.log"
    failed_builds=$((failed_builds + 1))
    return
  fi
  ${fixed_places[@]+"${fixed_places[@]}"} meson test -C "$build" --print-errorlogs ${only:+--no-rebuild "$only"} \
    ${skipped[@]+"${skipped[@]/#/--no-suite=}"} || true
  tell_left_out "$build"
  logs+=("$build/meson-logs/testlog.json")
}

# check_once MESON_ARGUMENTS...: builds what some tests need, and runs those.
check_once() {
  rm -f build-quick/meson-logs/testlog*
  [ -f build-quick/build.ninja ] || CC=gcc CXX=g++ meson setup build-quick -Dwerror=true -Doptimization=1 >build-quick.log
  meson test -C build-quick --print-errorlogs "$@" || true
  [ -f build-quick/meson-logs/testlog.json ] || failed_builds=1
}

summarize() {
  exec /usr/bin/python3 tests/summary.py --allowed tests/allowed_skips.txt --allowed "$missing" "$failed_builds" "$@"
}

if [ -n "$is_quick" ]; then
  check_once --no-suite slow
  summarize build-quick/meson-logs/testlog.json
elif [ $frameworks = only ]; then
  finish_frameworks
  check_once --suite frameworks
  summarize build-quick/meson-logs/testlog.json
fi
[ $frameworks = yes ] || left_out+=(frameworks)
skipped=(abi examples install python mpi frameworks mutants regress wasm search slow ${left_out[@]+"${left_out[@]}"})
check clang clang clang++ -Doptimization=1
skipped=(long ${left_out[@]+"${left_out[@]}"})
check sanitize gcc g++ -Doptimization=1 -Db_sanitize=address,undefined -Ddefault_library=shared -Dc_args=-g1 -Dcpp_args=-g1
skipped=()
only=threads check threads gcc g++ -Doptimization=0 -Db_sanitize=thread -Ddefault_library=shared -Dc_args=-g1
[ $frameworks = no ] || finish_frameworks
skipped=(${left_out[@]+"${left_out[@]}"})
check gcc gcc g++ -Ddebug=true -Dcpp_args=-g0 --prefix="$root/build-gcc/installed" --libdir=lib

summarize ${logs[@]+"${logs[@]}"}
