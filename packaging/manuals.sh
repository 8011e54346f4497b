#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the man pages of ppsched and of each of its commands.
# usage: manuals.sh FOLDER COMMAND...      COMMAND: what runs ppsched
set -eu
folder=$1
shift
"$@" help --man >"$folder/ppsched.1"
for name in $("$@" help --man | sed -n 's/^\\fBppsched\\-\([a-z]*\)\\fR(1)$/\1/p'); do
  "$@" help --man "$name" >"$folder/ppsched-$name.1"
done
