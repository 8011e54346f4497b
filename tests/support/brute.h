/* SPDX-License-Identifier: Apache-2.0 */
/* An evaluator that shares nothing with the library's but the rules: plain lists, linear searches, no cleverness. */
#ifndef PPSCHED_TESTS_BRUTE_H
#define PPSCHED_TESTS_BRUTE_H

#include <ppsched/ppsched.h>

enum { BRUTE_STAGES = 32, BRUTE_DEVICES = 16, BRUTE_MICRO_SLICES = 64 };

/* The problem in plain numbers. */
struct brute_costs {
    double duration[5][BRUTE_STAGES];              /* by kind */
    double overlapped[BRUTE_STAGES][BRUTE_STAGES]; /* negative: the sum */
    int has_ends;                                  /* the ops of pairs end at, with pairs that take `overlapped`: */
    double ends[2][BRUTE_STAGES][BRUTE_STAGES];    /* of forwards, and of backwards */
    double speed[BRUTE_DEVICES];                   /* of devices; 0: 1 */
    double own_overhead[BRUTE_DEVICES];            /* of each op on a device, in addition */
    double overhead[5];                            /* in `duration`, by kind, whatever the speed */
    double delay[BRUTE_DEVICES][BRUTE_DEVICES];
    double memory[5][BRUTE_STAGES];
    double sent[2][BRUTE_STAGES]; /* bytes of F, and of B or I, times the memory factor */
    double bandwidth[BRUTE_DEVICES][BRUTE_DEVICES];
    double time_factor[BRUTE_STAGES][BRUTE_MICRO_SLICES], /* by stage, and by microbatch of an iteration times K + slice */
        memory_factor[BRUTE_MICRO_SLICES];
};

/* Of an op's piece. */
double brute_time_factor(const struct brute_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op);
double brute_memory_factor(const struct brute_costs *costs, const ppsched_schedule *schedule, const ppsched_op *op);

struct brute_op {
    ppsched_op op;
    uint32_t device;
    int leader; /* index of the op that leads its overlapped pair, or its own index */
    int done;
    double start, end;   /* of the unit */
    double made;         /* when its output is there */
    double not_before;   /* set by the caller after brute_load: an op may be held back */
    double factor;       /* likewise, of its time, for a pair that of its F */
    double delay_factor; /* likewise, of the delay of what it reads */
};

struct brute {
    struct brute_op *ops;
    int count;
    int senders_wait; /* as PPSCHED_SENDER_WAITS_LIKE_KIND; set by the caller after brute_load */
    double makespan;
};

void brute_load(struct brute *brute, const ppsched_schedule *schedule);
void brute_free(struct brute *brute);

/* Runs everything at its earliest; 0 where that is impossible. */
int brute_run(struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs);

/* Whether what a unit needs, but its turn, is known: it is there from `*start` on, which is raised. `index`: its first op's. */
int brute_ready(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, int index,
                double *start);

/* How long it takes. */
double brute_duration(const struct brute *brute, const ppsched_schedule *schedule, const struct brute_costs *costs, int index);

/* 1 where every stage pass is there exactly once and on its device. */
int brute_complete(const struct brute *brute, const ppsched_schedule *schedule);

#endif
