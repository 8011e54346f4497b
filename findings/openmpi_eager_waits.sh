#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Open MPI 4.1.4 (Debian 4.1.4-3+b1), two ranks on one host.
# The eager limit of shared memory is 4096 bytes. Yet MPI_Send of 1024, 2048 or 4000 bytes does not return while the other rank
# computes: it comes back when that one next calls MPI, whatever it calls. With 256 bytes it returns at once, and over TCP with all.
# For who plans: below the eager limit a send can still hold its sender for the length of the other rank's op. A test on one host
# then overlaps less than the same program over TCP. MPI_Isend, waited for later, does not hold it.
set -euo pipefail
. "$(dirname "$0")/common.sh"
debian_package openmpi-bin 4.1.4-3+b1
debian_package libopenmpi-dev 4.1.4-3+b1
cat > "$work/send.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static const int sizes[] = {64, 256, 1024, 2048, 4000};
    static char bytes[4096];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 40; i++) { /* the connection and its buffers are set up before anything is timed */
        if (rank == 0) MPI_Send(bytes, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else MPI_Recv(bytes, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            usleep(300000); /* the other one is out of the barrier, and computes */
            double start = MPI_Wtime();
            MPI_Send(bytes, sizes[i], MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            printf(" %d %s", sizes[i], MPI_Wtime() - start < 0.5 ? "at once" : "waits");
        } else {
            usleep(1500000);
            MPI_Recv(bytes, sizes[i], MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    return MPI_Finalize();
}
C
mpicc "$work/send.c" -o "$work/send"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
on() { mpirun --oversubscribe --mca btl "self,$1" -np 2 "$work/send" 2> "$work/log" || { tail -1 "$work/log" >&2; exit 1; }; }
memory=$(on vader)
tcp=$(on tcp)
compare "shared memory: 64 at once 256 at once 1024 waits 2048 waits 4000 waits
TCP: 64 at once 256 at once 1024 at once 2048 at once 4000 at once" "shared memory:$memory
TCP:$tcp"
