/* SPDX-License-Identifier: Apache-2.0 */
/* Captured output of other projects: tests/golden/cases, whose format is told there. */
#ifndef PPSCHED_TESTS_GOLDEN_H
#define PPSCHED_TESTS_GOLDEN_H

#include "support/problem.h"

enum { MOST_DEVICES = 64, MOST_STAGES = 128, GOLDEN_LINE = 1 << 18 };

struct golden {
    char name[128], strategy[64], match[16], placement[24];
    int devices, stages, microbatches, iterations,
        slices; /* tokens are ours: those of pieces are rewritten when they are read */
    char group_size[16];
    int senders_wait;                                       /* as PPSCHED_SENDER_WAITS_LIKE_KIND */
    int recompute_chunks, offload_chunks;                   /* of the last two: 0 where there are none */
    double offload_time;                                    /* as a share of F + I + W */
    int merge_backwards, max_active_stages, defer_receives; /* of lowered cases */
    double costs[5][MOST_STAGES], overlapped[MOST_STAGES];
    int cost_count[5], overlapped_count;
    double p2p, makespan, span;
    double memory[3][MOST_STAGES], mem_limit[MOST_DEVICES]; /* memory: F, I, W per stage pass */
    int memory_count[3], mem_limit_count;
    char objective[16], optimum[32];
    char *order[MOST_DEVICES], *start[MOST_DEVICES], *end[MOST_DEVICES];
    double peak[MOST_DEVICES];
};

/* Calls `visit` for each case of a file (without ".txt"). */
void read_golden(const char *name, void (*visit)(const struct golden *golden, void *user), void *user);

/* Reads a file of cases line by line: a line without its end, and whether a case is over with it. For cases of other keys. */
void read_golden_lines(const char *name, void (*visit)(const char *line, int is_done, void *user), void *user);

/* "3 a b c": the text behind the number goes to that row, which the caller frees. */
void read_golden_row(char **rows, const char *rest);

/* The problem of a case. */
ppsched_config *golden_config(const struct golden *golden);

#endif
