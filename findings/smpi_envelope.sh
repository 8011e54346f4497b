#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SimGrid 3.32 (Debian 3.32-2+b2), SMPI.
# A message is 16 bytes longer on its link than what the program sends, also with all factors set to 1: they stand for tag, receiver and
# communicator. On a link of 1 kB/s, 984 bytes take a second.
# For who plans: add 16 to the bytes of each message, which counts for many small ones. With small messages and slow links the plan is
# otherwise too short by 16 bytes for every message of the critical path.
set -euo pipefail
. "$(dirname "$0")/common.sh"
debian_package libsimgrid-dev 3.32-2+b2
cat > "$work/message.c" <<'C'
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char bytes[2000];
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int size = 984; size <= 1984; size += 1000) {
        double start = size < 1000 ? 10 : 20; /* both ranks have one clock */
        usleep((start - MPI_Wtime()) * 1e6);
        if (rank == 0)
            MPI_Recv(bytes, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(bytes, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%d bytes: %.2f s\n", size, MPI_Wtime() - start);
    }
    return MPI_Finalize();
}
C
cat > "$work/platform.xml" <<'X'
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="zone" routing="Full">
    <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
    <link id="link" bandwidth="1kBps" latency="0s" sharing_policy="SPLITDUPLEX"/>
    <route src="a" dst="b"><link_ctn id="link" direction="UP"/></route>
  </zone>
</platform>
X
printf 'a\nb\n' > "$work/hosts"
cd "$work"
smpicc -O1 message.c -o message 2> log || { tail -1 log >&2; exit 1; }
seen=$(smpirun -np 2 -platform platform.xml -hostfile hosts --cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 --cfg=network/TCP-gamma:0 \
  --cfg=network/crosstraffic:no ./message 2> log || { tail -1 log >&2; exit 1; })
compare "984 bytes: 1.00 s
1984 bytes: 2.00 s" "$seen"
