# SPDX-License-Identifier: Apache-2.0
# Sourced: installs what is missing with apt-get, as root or through sudo; what is there already is left alone.

apt_install() {
  [ $# -gt 0 ] || return 0
  local sudo=
  if ! command -v apt-get >/dev/null; then
    echo "please install: $* (this script knows apt-get only)" >&2
    return 1
  fi
  if [ "$(id -u)" != 0 ]; then
    sudo=sudo
    if ! command -v sudo >/dev/null; then
      echo "please install, as root: apt-get install $*" >&2
      return 1
    fi
  fi
  echo "installing $*" >&2
  $sudo env DEBIAN_FRONTEND=noninteractive sh -c \
    'apt-get update -qq && apt-get install -y -qq --no-remove --no-install-recommends "$@"' sh "$@" >/dev/null
}

# install_tools COMMAND:PACKAGE ...
install_tools() {
  local pair missing=()
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  apt_install ${missing[@]+"${missing[@]}"}
}

# install_python_modules MODULE:PACKAGE ...
install_python_modules() {
  local pair missing=()
  for pair in "$@"; do
    /usr/bin/python3 -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('${pair%%:*}') is None)" ||
      missing+=("${pair#*:}")
  done
  apt_install ${missing[@]+"${missing[@]}"}
}

# install_compiler COMMAND PACKAGE: a C compiler, and libc's headers, which the package only recommends.
install_compiler() {
  command -v "$1" >/dev/null || apt_install "$2" libc6-dev
  "$1" -include stdio.h -x c -o /dev/null - <<<'int main(void) { return 0; }' 2>/dev/null || apt_install libc6-dev
}
