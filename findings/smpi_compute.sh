#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SimGrid 3.32 (Debian 3.32-2+b2), SMPI.
# SMPI times what a program computes between its MPI calls, and adds it to the simulated time by the ratio of two speeds: this
# machine's, which is taken as 20,000 flop/s unless smpi/host-speed says otherwise, and the simulated host's. On a host of 1 Gf a
# second of real work is therefore some 20 microseconds of simulated time. A note asks for the speed, but not how far off it is.
# For who plans: without smpi/host-speed the result is transfers alone. With both speeds alike real work passes one to one, and then
# differs from run to run; for planned times sleep instead (see smpi_sleep.sh).
set -euo pipefail
. "$(dirname "$0")/common.sh"
debian_package libsimgrid-dev 3.32-2+b2
cat > "$work/work.c" <<'C'
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    volatile double x = 0;
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    for (long i = 0; i < 400000000; i++) x += 1; /* some tenths of a second on a machine of today */
    double passed = MPI_Wtime() - start;
    printf("%s\n", passed > 0.02 ? "tenths of seconds or more" : passed < 0.001 ? "less than a millisecond" : "in between");
    return MPI_Finalize();
}
C
cat > "$work/platform.xml" <<'X'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="zone" routing="Full"><host id="a" speed="1Gf"/></zone></platform>
X
echo a > "$work/hosts"
cd "$work"
smpicc -O1 work.c -o work 2> log || { tail -1 log >&2; exit 1; }
on() { smpirun -np 1 -platform platform.xml -hostfile hosts "$@" ./work 2> log || { tail -1 log >&2; exit 1; }; }
plain=$(on)
matched=$(on --cfg=smpi/host-speed:1Gf)
compare "as it is: less than a millisecond
smpi/host-speed:1Gf: tenths of seconds or more" "as it is: $plain
smpi/host-speed:1Gf: $matched"
