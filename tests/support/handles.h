/* SPDX-License-Identifier: Apache-2.0 */
/* A handle of each kind, of one small problem, in memory that can run out; and all that can be seen of them, as text. */
#ifndef PPSCHED_TESTS_HANDLES_H
#define PPSCHED_TESTS_HANDLES_H

#include <stdio.h>

#include "support/failing_allocator.h"
#include "support/problem.h"

struct handles {
    struct failing_allocator host;
    ppsched_environment environment;
    ppsched_config *config;       /* 2 devices, 4 stages, 4 microbatches; times and an option */
    ppsched_config *plain;        /* 2 devices, 2 stages, 4 microbatches, and nothing else */
    ppsched_schedule *schedule;   /* of `config` */
    ppsched_schedule *lowered;    /* the same with sends and receives */
    ppsched_schedule *pipeline;   /* of `plain` */
    ppsched_schedule *broken;     /* incomplete, and with a cycle; sizes of `plain` */
    ppsched_schedule *hanging;    /* lowered, complete, and a circle where sends block; sizes of `plain` */
    ppsched_timeline *timeline;   /* of `schedule` */
    ppsched_timeline *piped;      /* of `pipeline` */
    ppsched_timeline *crossing;   /* of `lowered`, with its transfers */
    ppsched_steady *steady;       /* of 1f1b on `plain`, with more microbatches than are timed */
    ppsched_replan *replan;       /* of zbv on `plain` with `layers`, on a slow device, too */
    ppsched_replicas *replicas;   /* two of `plain` with `layers` share 5 microbatches */
    ppsched_builder *builder;     /* ops on device 0, none on device 1 */
    ppsched_layout *layout;       /* 2 devices, 4 stages */
    const ppsched_layers *layers; /* 6 with ends, and two kinds of recomputation */
    ppsched_plan *plan;           /* of `plain`; candidate 0 is evaluated. NULL where none was asked for */
};

/* The allocator does not fail yet. `with_plan`: 1 one of stages, 2 one with the layers, 3 one with
 * slices and scenarios, and microbatches that differ, as `plain` then has. */
void make_handles(struct handles *handles, int with_plan);

/* The same in blocks that end where memory ends. */
void make_guarded_handles(struct handles *handles, int with_plan);
void destroy_handles(struct handles *handles);

/* All of them; the caller frees it. */
char *handles_text(const struct handles *handles);

void print_config(FILE *file, const ppsched_config *config);
void print_builder(FILE *file, const ppsched_builder *builder);
void print_schedule(FILE *file, const ppsched_schedule *schedule);
void print_timeline(FILE *file, const ppsched_timeline *timeline);
void print_layers(FILE *file, const ppsched_layers *layers);
void print_layout(FILE *file, const ppsched_layout *layout);

/* The candidates; of each all figures, or only what it is. */
void print_plan(FILE *file, const ppsched_plan *plan, int with_figures);

#endif
