# SPDX-License-Identifier: Apache-2.0
# Sourced after install_tools.sh: installs what only some tests need. What cannot be had is noted in the file $missing, and tests may be
# skipped for it (summary.py); what can be had is there afterwards, and no test may be.

# note_missing PACKAGE WHY
note_missing() {
  echo "$1: $2" >>"${missing:?}"
  echo "$1 cannot be installed ($2): tests that need it are skipped" >&2
}

# want PACKAGE...: all at once, or else each that can be had.
want() {
  local package said
  if [ $# -eq 0 ] || apt_install "$@" 2>/dev/null; then return; fi
  for package in "$@"; do
    if ! said=$(apt_install "$package" 2>&1); then
      said=$(grep '^E: ' <<<"$said" || tail -n 1 <<<"$said")
      note_missing "$package" "${said%%$'\n'*}"
    fi
  done
}

# want_commands COMMAND_OR_FILE:PACKAGE ...
want_commands() {
  local pair packages=()
  for pair in "$@"; do
    [ -e "${pair%%:*}" ] || command -v "${pair%%:*}" >/dev/null || packages+=("${pair#*:}")
  done
  want ${packages[@]+"${packages[@]}"}
}

# want_browser PACKAGE PROGRAM: unless PROGRAM, in Python, can drive one. Ubuntu has stubs in place of some packages, which want snap.
want_browser() {
  if /usr/bin/python3 "$2" >/dev/null 2>&1; then return; fi
  want "$1"
  case $(dpkg-query --show --showformat='${Version}' "$1" 2>/dev/null) in
    *snap*) note_missing "$1" "its package is a stub for snap here" ;;
  esac
}
