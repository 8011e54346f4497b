#!/bin/sh
# Prints the release number, from where it is written.
set -eu
header=$(dirname "$0")/../include/ppsched/version.h
number() { sed -n "s/^#define PPSCHED_VERSION_$1 //p" "$header"; }
echo "$(number MAJOR).$(number MINOR).$(number PATCH)"
