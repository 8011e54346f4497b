#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds lib/, but for what without.c leaves out, as a WebAssembly module without imports, which exports what ppsched.mjs calls.
# usage: build.sh [FILE]      FILE: ppsched.wasm beside this script, unless named; it is built in FILE.build
# wasm-opt, of the package binaryen, makes it a seventh smaller where it is installed: the same results, in the same time.
# It needs meson, ninja, clang-14, llvm-14, lld-14, wasi-libc and libclang-rt-14-dev-wasm32. Without FILE it installs those that are
# missing (Debian, Ubuntu); with FILE it installs nothing, and ends with exit 3 where one is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
file=$(realpath "${1:-$here/ppsched.wasm}")
build=$file.build

# shellcheck source=../python/install_tools.sh
. "$root/bindings/python/install_tools.sh"
if [ $# -eq 0 ]; then
  install_tools meson:meson ninja:ninja-build clang-14:clang-14 llvm-ar-14:llvm-14 wasm-ld-14:lld-14
  [ -e /usr/lib/wasm32-wasi/libc.a ] || apt_install wasi-libc
  compgen -G "/usr/lib/llvm-14/lib/clang/*/lib/wasi/*" >/dev/null || apt_install libclang-rt-14-dev-wasm32
fi

need() { # FILE_OR_COMMAND PACKAGE
  [ -e "$1" ] || command -v "$1" >/dev/null || { echo "ppsched.wasm needs the package $2" >&2 && exit 3; }
}
need meson meson
need ninja ninja-build
need clang-14 clang-14
need llvm-ar-14 llvm-14
need wasm-ld-14 lld-14
need /usr/lib/wasm32-wasi/libc.a wasi-libc
need "$(echo /usr/lib/llvm-14/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a)" libclang-rt-14-dev-wasm32

[ -f "$build/build.ninja" ] || echo "build.sh: building $file, once; it takes about a minute" >&2
exec 9>"$file.lock"
flock 9 # who comes second finds it built
# pip sets the folder up with a meson that it removes afterwards; then another sets it up again.
maker=$(grep -m 1 -oE '[^ "]+ --internal regenerate' "$build/build.ninja" 2>/dev/null || true)
[ -z "$maker" ] || [ -e "${maker%% *}" ] || rm -r "$build"
{
  [ -f "$build/build.ninja" ] || meson setup "$build" "$root" --cross-file "$here/wasm32.ini" --buildtype=plain \
    -Dtests=false -Dpython=false -Ddefault_library=static
  ninja -C "$build" lib/libppsched.a
} >"$file.log" 2>&1 || { tail -n 20 "$file.log" >&2 && exit 1; }

# Those of wasm32.ini; the stack's end lies in the first KB, so that nothing else does.
mapfile -t options < <(grep -oE -- "'-(O|m|f)[^']*'" "$here/wasm32.ini" | tr -d "'")
clang-14 --target=wasm32-wasi -std=c11 "${options[@]}" -I"$root/lib" -I"$root/include" -c "$here/without.c" -o "$build/without.o"

# No -O here: with it clang calls wasm-opt with options of its own.
mapfile -t exports < <(grep -oE '("|exports\.)ppsched_[a-z0-9_]+' "$here/ppsched.mjs" | grep -o 'ppsched_.*' | sort -u)
clang-14 --target=wasm32-wasi -mexec-model=reactor -fuse-ld=/usr/bin/wasm-ld-14 -o "$file.linked" \
  -Wl,--gc-sections,--strip-all,--stack-first,-z,stack-size=1048576,--export=malloc,--export=free,--export-table,--growable-table,--fatal-warnings \
  "${exports[@]/#/-Wl,--export=}" "$build/without.o" "$build/lib/libppsched.a"
if command -v wasm-opt >/dev/null; then
  wasm-opt -Oz --low-memory-unused --enable-bulk-memory --enable-sign-ext --enable-nontrapping-float-to-int -o "$file.linked" "$file.linked"
fi
chmod 644 "$file.linked"
mv "$file.linked" "$file"
