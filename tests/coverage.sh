#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Coverage of lib/ by the tests that are C: a table by file, with the lines that no test reaches, and then the branches.
# Fails below 92 % of the lines or 84 % of the branches: searches for stage graphs are mostly tested from Python.
# usage: coverage.sh
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# shellcheck source=../bindings/python/install_tools.sh
. bindings/python/install_tools.sh
install_compiler gcc gcc
install_tools meson:meson ninja:ninja-build gcovr:gcovr pkg-config:pkg-config
pkg-config --exists cmocka || apt_install libcmocka-dev

build=build-coverage
[ -f $build/build.ninja ] || meson setup $build -Db_coverage=true -Dc_args=-fprofile-update=atomic -Doptimization=0 -Ddefault_library=shared >$build.log
meson compile -C $build >>$build.log
find $build -name '*.gcda' -delete
meson test -C $build --timeout-multiplier 10 --suite unit --suite golden --suite prop --suite fuzz --suite examples >>$build.log
gcovr --root . $build --filter lib/ --fail-under-line 92
gcovr --root . $build --filter lib/ --branches --fail-under-branch 84
