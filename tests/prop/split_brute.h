/* SPDX-License-Identifier: Apache-2.0 */
/* The best split of layers into stages, with what to recompute, by trying all of them. It shares nothing with the library but
 * the queues of a schedule, which it reads through the public interface: times and memory are its own. For small problems:
 * thousands in seconds with 4 devices, 2 chunks, 8 microbatches and 16 layers. */
#ifndef PPSCHED_TESTS_SPLIT_BRUTE_H
#define PPSCHED_TESTS_SPLIT_BRUTE_H

#include <ppsched/ppsched.h>

enum {
    SPLIT_DEVICES = 5,
    SPLIT_STAGES = 12,
    SPLIT_MICROBATCHES = 8,
    SPLIT_ENTRIES = 6,
    SPLIT_LAYERS = 24,       /* of all entries */
    SPLIT_CHOICES = 3,       /* nothing recomputed, and two kinds */
    SPLIT_MOST_PATHS = 16384 /* to choose the kinds of the layers of one stage */
};

enum split_place { SPLIT_ANYWHERE, SPLIT_FIRST, SPLIT_LAST };

/* One layer with one choice of what it recomputes, or a whole stage; by PPSCHED_KIND_F, B, I and W.
 * Memory of F is added when it starts, that of the others (<= 0) when they end: memory[I] is what I releases, W and B release
 * all that is left. */
struct split_cost {
    double time[5];
    double memory[5];
    double back;    /* what is computed again: added when I starts */
    double largest; /* the largest of it of one layer: held while B runs */
    double more;    /* added when I or B starts, beside */
    double fixed;   /* static memory */
};

/* `count` equal layers in a row. Entries are in the order of the model; those that must be in the first stage come first, those
 * that must be in the last one last. */
struct split_entry {
    uint32_t count;
    uint32_t choices; /* 1 to SPLIT_CHOICES; `cost[0]` is that of the layer itself */
    enum split_place place;
    struct split_cost cost[SPLIT_CHOICES]; /* all with the same static memory */
};

struct split_problem {
    const ppsched_schedule *schedule; /* one iteration of a fixed order */
    uint32_t entries;
    struct split_entry entry[SPLIT_ENTRIES];
    uint32_t least[SPLIT_STAGES];               /* layers of a stage at least, those with a place of their own counted */
    double delay[SPLIT_DEVICES][SPLIT_DEVICES]; /* from, to */
    double speed[SPLIT_DEVICES];                /* layers take their time divided by it; 0: 1 */
    double overhead[5];                         /* of each op, by kind */
    double own_overhead[SPLIT_DEVICES];         /* of each op on a device, in addition */
    int senders_wait;                           /* as PPSCHED_SENDER_WAITS_LIKE_KIND */
    double limit[SPLIT_DEVICES]; /* infinite: none; exceeded where a peak is above it by more than a share of 1e-9 */
    int naive;                   /* 1: leave nothing out; the same answer, later */
};

struct split_answer {
    double makespan; /* infinite where no split fits */
    double peak[SPLIT_DEVICES];
    uint32_t chosen[SPLIT_STAGES][SPLIT_ENTRIES]
                   [SPLIT_CHOICES];        /* how many of a stage's layers of an entry have which choice */
    struct split_cost stage[SPLIT_STAGES]; /* what the stages cost then */
    uint64_t splits, priced;               /* splits that were looked at; timings */
};

/* Of those that are equally short the first one that it comes to. 1; 0 where the problem is too large, or no such problem. */
int brute_best_split(struct split_answer *out, const struct split_problem *problem);

/* Makespan, and peak of each device, of stages with these costs. 1; 0 where the schedule is too large or hangs. */
int brute_price_stages(double *makespan, double peak[SPLIT_DEVICES], const struct split_problem *problem,
                       const struct split_cost stage[SPLIT_STAGES]);

#endif
