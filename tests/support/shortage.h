/* SPDX-License-Identifier: Apache-2.0 */
/* A call while memory runs out: each of its allocations fails once, alone and with all that follow it. Each time the call must
 * tell so, leave its outputs and every handle alone, leak nothing, and do as well as ever when it is called again. */
#ifndef PPSCHED_TESTS_SHORTAGE_H
#define PPSCHED_TESTS_SHORTAGE_H

#include "support/handles.h"

/* What a call gets, and where it leaves what it made. */
struct attempt {
    struct handles own;
    int variant; /* which of the calls of its row */
    ppsched_error error;
    FILE *result;
};

/* Calls one function and hands its status and outputs to take_...; returns what that returns. */
typedef ppsched_status (*shortage_call)(struct attempt *attempt);

struct shortage {
    shortage_call call;
    int variants;                             /* the call is tried with `variant` 0, 1, ... below that */
    void (*prepare)(struct attempt *attempt); /* makes changes to the handles before; NULL: none */
    int with_plan;
    int keeps_work;           /* 1: what it has done of a plan stays done; the candidates keep their numbers */
    ppsched_status or_status; /* what it may tell instead of NO_MEMORY; 0: nothing */
};

/* A cmocka test of an exported function: `function` is the call, named like it but for "ppsched_"; fields of the row follow. */
#define SHORTAGE(function, ...) SHORTAGE_WITH("", function, __VA_ARGS__)

/* The same with other handles, which `of` tells. */
#define SHORTAGE_WITH(of, function, ...)                                                                                       \
    {                                                                                                                          \
        "ppsched_" #function of, run_out_of_memory, NULL, NULL, &(struct shortage)                                             \
        {                                                                                                                      \
            .call = function, __VA_ARGS__                                                                                      \
        }                                                                                                                      \
    }

/* Fails the test where a variant breaks the rules, or has no allocation that can fail. */
void run_out_of_memory(void **state);

/* The initial value of a handle that a call shall make. */
#define UNTOUCHED ((void *)&untouched)
extern char untouched;

/* Each takes a call's status and an output: one that failed must not have been touched, else it is printed and freed. */
ppsched_status take_config(struct attempt *attempt, ppsched_status status, ppsched_config *made);
ppsched_status take_builder(struct attempt *attempt, ppsched_status status, ppsched_builder *made);
ppsched_status take_schedule(struct attempt *attempt, ppsched_status status, ppsched_schedule *made);
ppsched_status take_timeline(struct attempt *attempt, ppsched_status status, ppsched_timeline *made);
ppsched_status take_layers(struct attempt *attempt, ppsched_status status, const ppsched_layers *made);
ppsched_status take_layout(struct attempt *attempt, ppsched_status status, ppsched_layout *made);
ppsched_status take_plan(struct attempt *attempt, ppsched_status status, ppsched_plan *made);

/* The same for records and buffers, which the caller has prepared. */
void prepare_bytes(void *bytes, size_t size);
ppsched_status take_bytes(struct attempt *attempt, ppsched_status status, const void *bytes, size_t size);

#endif
