#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Sets up a build of the library for macOS, by Zig's clang, which has the headers of macOS and the names in its libc. Nothing runs.
# usage: macos.sh PYTHON ARCH BUILD [OPTION...]      PYTHON: one with the package ziglang (ZIGLANG below); ARCH: arm64 or x86_64;
#                                                    OPTION: of meson setup
#        macos.sh --needs                            what pip installs for PYTHON
set -euo pipefail
ZIGLANG=ziglang==0.13.0
[ "${1-}" != --needs ] || { echo "$ZIGLANG"; exit; }
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=${1:?usage: macos.sh PYTHON ARCH BUILD [OPTION...]} arch=$2 build=$(realpath -m "$3")
shift 3
case $arch in
  arm64) family=aarch64 target=aarch64-macos.11.0 ;;
  x86_64) family=x86_64 target=x86_64-macos.11.0 ;;
  *) echo "macos.sh: $arch: it must be arm64 or x86_64" >&2 && exit 2 ;;
esac
tools=$build.tools
mkdir -p "$tools"
# meson asks the linker for its name, and knows that of Apple, whose options Zig's takes. Zig adds what debuggers need unless told
# otherwise.
cat >"$tools/cc" <<END
#!/bin/sh
case " \$* " in
*" -Wl,--version "*) echo "ld: unknown option: --version" >&2; exit 1 ;;
*" -Wl,-v "*) echo "@(#)PROGRAM:ld  PROJECT:ld64-0" >&2; exit ;;
esac
exec "$python" -m ziglang cc -target $target -g0 "\$@"
END
chmod +x "$tools/cc"
cat >"$tools/macos.ini" <<END
[binaries]
c = '$tools/cc'
ar = ['$python', '-m', 'ziglang', 'ar']
strip = 'true'

[host_machine]
system = 'darwin'
cpu_family = '$family'
cpu = '$family'
endian = 'little'
END
cd "$tools" # Zig leaves a file where it reads from a pipe
meson setup "$build" "$root" --cross-file "$tools/macos.ini" -Dtests=false -Dpython=false "$@"
