# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by every finding: a temporary folder that is deleted at exit, pinned packages in it, and the two ways to end.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# python_packages NAME==VERSION ...: a virtual environment with them, first in PATH. Options of pip are taken too.
python_packages() {
    [ -d "$work/venv" ] || python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install -qq --no-compile --disable-pip-version-check "$@"
    PATH=$work/venv/bin:$PATH
}

# debian_package NAME VERSION: ends the script unless exactly this one is installed.
debian_package() {
    local have
    have=$(dpkg-query -W -f '${Version}' "$1" 2>/dev/null || true)
    [ "$have" = "$2" ] || { echo "needs Debian's $1 $2, here is ${have:-none}" >&2; exit 1; }
}

# compare EXPECTED SEEN: prints what was seen; one line and exit 1 where that is not what is expected.
compare() {
    echo "$2"
    [ "$1" = "$2" ] || { echo "$(basename "$0"): the behaviour has changed" >&2; exit 1; }
}
