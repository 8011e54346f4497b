#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the program that counts blocks of the library, and runs it. A plain build leaves the program out, because it compiles the
# whole library a second time.
# usage: polls.sh NINJA BUILD
set -euo pipefail
"$1" -C "$2" tests/polls_test >&2
exec "$2/tests/polls_test"
