#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SimGrid 3.32 (Debian 3.32-2+b2), SMPI.
# sleep, usleep and nanosleep of a program under smpirun pass in simulated time, at once. clock_nanosleep is not among what SMPI
# takes over: it sleeps in real time, and the simulated clock does not move.
# For who plans: a stand-in for compute that sleeps by clock_nanosleep costs nothing in the simulation, and the step looks as if it
# were transfers alone. Use usleep or nanosleep.
set -euo pipefail
. "$(dirname "$0")/common.sh"
debian_package libsimgrid-dev 3.32-2+b2
cat > "$work/sleep.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const struct timespec pause = {0, 300000000};
    MPI_Init(&argc, &argv);
    double start = MPI_Wtime();
    usleep(300000);
    printf("usleep %.1f\n", MPI_Wtime() - start);
    start = MPI_Wtime();
    nanosleep(&pause, NULL);
    printf("nanosleep %.1f\n", MPI_Wtime() - start);
    start = MPI_Wtime();
    clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    printf("clock_nanosleep %.1f\n", MPI_Wtime() - start);
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
smpicc sleep.c -o sleep 2> log || { tail -1 log >&2; exit 1; }
seen=$(smpirun -np 1 -platform platform.xml -hostfile hosts ./sleep 2> log || { tail -1 log >&2; exit 1; })
compare "usleep 0.3
nanosleep 0.3
clock_nanosleep 0.0" "$seen"
