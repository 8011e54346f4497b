/* SPDX-License-Identifier: Apache-2.0 */
/* What benchmarks share that take the processor's time. Comes first, as it names the standard of the clock. */
#ifndef PPSCHED_BENCH_MEASURE_H
#define PPSCHED_BENCH_MEASURE_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ppsched/ppsched.h>

/* The processor's time of this program, seconds. */
static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Ends the program with the library's message unless the status is OK. */
static inline void require(ppsched_status status, const ppsched_error *error)
{
    if (status == PPSCHED_OK)
        return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

/* One number for all. */
static inline void set_one(ppsched_config *config, int32_t quantity, double value)
{
    ppsched_error error;
    require(ppsched_config_set_values(config, quantity, &value, 1, &error), &error);
}

#endif
