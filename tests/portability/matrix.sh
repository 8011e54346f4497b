#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The same results on other platforms: builds the library for each compiler, its options and each machine that can be had here,
# and compares the digests of its results with digest.txt. Prints TAP, a line a platform, and where results differ which;
# platforms whose tools are missing are skipped, and the line names the package that has them.
# usage: matrix.sh                 all builds
#        matrix.sh KIND DIGEST     one build with little optimization: 32 (bits), musl or s390x. With 32 DIGEST, the program as it was
#                                  built here, runs with a decimal comma, too
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
expected=$root/tests/portability/digest.txt
sources=("$root"/tests/portability/*.c "$root"/tests/support/{golden,problem}.c)
kind=${1:-all}
count=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build FOLDER COMPILER FLAGS MESON_ARGUMENTS...: the library as meson builds it, and the program as any other that uses it.
# CC_LD may name the linker.
# shellcheck disable=SC2086 # compiler and flags are words
build() {
  local folder=$1 compiler=$2 flags=$3
  shift 3
  CC=$compiler meson setup "$folder" "$root" -Dc_args="$flags" -Dwerror=true -Dtests=false -Dpython=false \
    -Ddefault_library=static --buildtype=plain "$@" &&
    ninja -C "$folder" &&
    $compiler ${CC_LD:+-fuse-ld=$CC_LD} $flags -std=c11 -D_POSIX_C_SOURCE=200809L -DGOLDEN_CASES="\"$root/tests/golden/cases\"" \
      -I"$root/tests/portability/plain" -I"$root/tests" -I"$root/include" "${sources[@]}" "$folder/lib/libppsched.a" \
      -o "$folder/digest"
}

# Whether a program that the compiler makes runs here, if need be in an emulator.
# shellcheck disable=SC2086
works() {
  echo 'int main(void) { return 0; }' >"$work/probe.c"
  $1 ${CC_LD:+-fuse-ld=$CC_LD} $2 "$work/probe.c" -o "$work/probe" && $emulator "$work/probe"
}

skip() {
  echo "ok $count - $1 # SKIP needs $2"
}

# judge NAME COMMAND...: runs it; what it says is for failures.
judge() {
  local name=$1
  shift
  if "$@" >"$work/said" 2>&1; then
    echo "ok $count - $name"
  else
    echo "not ok $count - $name"
    sed 's/^/# /' "$work/said"
    failed=1
  fi
}

compare() {
  if ! build "$@" >"$1.log" 2>&1; then
    tail -n 20 "$1.log"
    return 1
  fi
  $emulator "$1/digest" "$expected"
}

# platform NAME PACKAGES COMPILER FLAGS MESON_ARGUMENTS...
emulator=
platform() {
  local name=$1 packages=$2
  shift 2
  count=$((count + 1))
  if works "$1" "$2" >/dev/null 2>&1; then
    judge "$name" compare "$work/$count" "$@"
  else
    skip "$name" "$packages"
  fi
}

# A program whose locale has a decimal comma.
comma_locale() {
  count=$((count + 1))
  if [ -x "$1" ] && localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >/dev/null 2>&1; then
    LOCPATH=$work judge 'decimal comma' "$1" --locale de_DE.UTF-8 "$expected"
  else
    skip 'decimal comma' locales
  fi
}

# A machine whose bytes are in the other order, and which has fused multiply-add.
s390x() {
  local emulator=qemu-s390x libc=/usr/s390x-linux-gnu
  command -v qemu-s390x >/dev/null || emulator=qemu-s390x-static
  cat >"$work/s390x.ini" <<END
[binaries]
c = 's390x-linux-gnu-gcc'
ar = 's390x-linux-gnu-ar'
strip = 's390x-linux-gnu-strip'
exe_wrapper = ['$emulator', '-L', '$libc']
[host_machine]
system = 'linux'
cpu_family = 's390x'
cpu = 's390x'
endian = 'big'
END
  emulator+=" -L $libc"
  platform "s390x-linux-gnu-gcc $1" 'gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user' s390x-linux-gnu-gcc "$1" --cross-file "$work/s390x.ini"
}

multilib=gcc-$(gcc -dumpversion 2>/dev/null || true)-multilib
case $kind in
32)
  echo 1..2
  platform 'gcc -m32 -O1' "$multilib" 'gcc -m32' -O1
  comma_locale "${2:?the program digest as it was built here}"
  ;;
musl)
  echo 1..1
  platform 'musl-gcc -O1' musl-tools musl-gcc '-O1 -static'
  ;;
s390x)
  echo 1..1
  s390x -O1
  ;;
all)
  echo 1..18
  for flags in -O0 -O1 -O2 -O3 -Os '-O3 -march=native' '-O3 -flto'; do
    platform "gcc $flags" gcc gcc "$flags"
  done
  for flags in -O0 -O2 -O3 '-O3 -march=native'; do
    platform "clang $flags" clang clang "$flags"
  done
  CC_LD=lld platform 'clang -O3 -flto' 'clang lld llvm' clang '-O3 -flto'
  platform 'gcc -m32 -O2' "$multilib" 'gcc -m32' -O2
  platform 'clang -m32 -O2' "clang $multilib" 'clang -m32' -O2
  platform 'musl-gcc -O2' musl-tools musl-gcc '-O2 -static'
  s390x -O2
  platform 'gcc -O1 -fsanitize=undefined' gcc gcc '-O1 -fsanitize=undefined -fno-sanitize-recover=all'
  comma_locale "$work/1/digest"
  ;;
*)
  echo "matrix.sh: $kind: it must be 32, musl or s390x" >&2
  exit 2
  ;;
esac
exit "$failed"
