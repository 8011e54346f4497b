/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a forward and a backward that run on a device at the same time. */
#ifndef PPSCHED_PAIR_H
#define PPSCHED_PAIR_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most windows of a forward, a backward and its weight gradient together; the most channels of
 * a device; and how many windows there may be with a weight gradient so that the answer is always
 * exact. */
#define PPSCHED_MAX_WINDOWS 1000
#define PPSCHED_MAX_WINDOW_CHANNELS 4
#define PPSCHED_EXACT_WINDOWS 24

/* A part of an op that runs on one channel, such as the attention or the dispatch of a layer. 16
 * bytes, no padding. */
typedef struct ppsched_window {
    double time;      /* that it takes alone, >= 0 */
    uint32_t channel; /* from 0 to 3 */
    uint32_t after;   /* of a weight gradient: how many windows of the backward must have ended; 0
                         in others */
} ppsched_window;

/* What an overlapped pair does. Each list is in the order in which its windows run. Sized. */
typedef struct ppsched_pair_windows {
    uint32_t size;
    uint32_t reserved;
    const ppsched_window *forward; /* of an F */
    size_t forward_count;
    const ppsched_window *backward; /* of a B, or with `weight` of an I */
    size_t backward_count;
    const ppsched_window *weight; /* of a W; NULL: none */
    size_t weight_count;
    double slowdown[4]; /* by channel: how much longer its windows take while another channel is
                           busy, >= 1; 0: as long */
} ppsched_pair_windows;

/* In which order the windows of pairs run, where they follow from the layers of stages. */
enum ppsched_pair_rule {
    PPSCHED_PAIR_RULE_BEST = 0,
    /* As Megatron-LM launches them with --overlap-moe-expert-parallel-comm (megatron-core 0.19.2):
     * with weight gradients inside the backward, or with --delay-wgrad-compute. */
    PPSCHED_PAIR_RULE_MEGATRON = 1,
    PPSCHED_PAIR_RULE_MEGATRON_DELAYED = 2
};

/* When a window runs. 24 bytes, no padding. */
typedef struct ppsched_window_span {
    double start;
    double end;
    int32_t kind;   /* PPSCHED_KIND_F, PPSCHED_KIND_B or PPSCHED_KIND_W */
    uint32_t index; /* in its list */
} ppsched_window_span;

/* What a pair takes. Sized. */
typedef struct ppsched_pair_times {
    uint32_t size;
    uint32_t is_best;    /* 1: no order is shorter */
    double time;         /* from the first start to the last end */
    double bound;        /* no order is shorter than that; `time` where that is best */
    double serial;       /* one window after another: the sum of all */
    double forward_end;  /* of the last window of the forward */
    double backward_end; /* of the last window of the backward, without its weight gradient */
} ppsched_pair_times;

/* Finds the best order of a pair's windows.
 *   - A window is ready once those before it in its list have ended, and of a weight gradient
 *     `after` windows of the backward. A channel runs one window at a time. A window that is ready
 *     starts as soon as its channel is free: nothing waits on purpose. Where several are ready for
 *     a channel at the same time, one of them is chosen, and that is all there is to choose.
 *   - A window on channel c does 1 / slowdown[c] of its work per unit of time while another channel
 *     is busy.
 *   - Ends that differ by less than 1e-9 of the sum of all times are at the same time.
 *   - Exact without `weight`, and up to PPSCHED_EXACT_WINDOWS with it; with more windows it is a
 *     search of bounded work, and `is_best` says whether it is proved.
 *   - `out` gets all windows by start; at equal starts forward, backward and weight in turn. It
 *     fills a buffer: see ppsched.h. Asked for `*needed` alone it looks for nothing.
 * Deterministic. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH where a forward or a backward has no windows, or there are
 *   more than PPSCHED_MAX_WINDOWS; RANGE where a time, a slowdown, a channel or `after` is out of
 *   range; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_pair_find_order(ppsched_window_span *out, size_t capacity,
                                                   size_t *needed, ppsched_pair_times *times,
                                                   const ppsched_pair_windows *pair,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);

/* Times an order that is given, such as that of a runtime whose streams each run what was launched
 * on them in turn. `kinds` says of all windows in turn whose is next: PPSCHED_KIND_F,
 * PPSCHED_KIND_B or PPSCHED_KIND_W; `count` is their number. Each channel runs its windows in this
 * order, and waits for one that is not ready, also while a later one is. All else is as in
 * ppsched_pair_find_order; `bound` is a lower bound for all orders, also for those that wait,
 * and `is_best` says whether `time` equals it.
 * Errors: as there; INVALID_SCHEDULE where `kinds` does not have each window once, or has a weight
 *   gradient before the backward's windows that it needs. */
PPSCHED_API ppsched_status ppsched_pair_run_order(ppsched_window_span *out, size_t capacity,
                                                  size_t *needed, ppsched_pair_times *times,
                                                  const ppsched_pair_windows *pair,
                                                  const int32_t *kinds, size_t count,
                                                  const ppsched_environment *environment,
                                                  ppsched_error *error);

/* Gives a config the windows of its stages' ops: one entry that stands for all stages, or one for
 * each. An entry says what is in the F, the B (or I) and the W of its stage.
 *   - F takes the sum of `forward`, B that of `backward`; with `weight` I takes that of `backward`,
 *     W that of `weight`, and B both. They replace what was set of these times.
 *   - An overlapped pair of stages i and j takes what ppsched_pair_find_order finds for `forward`
 *     of i, and `backward` and `weight` of j. This sets PPSCHED_QUANTITY_OVERLAPPED_TIMES, unless
 *     they are set already.
 *   - The output of a pair's F leaves at its `forward_end`, that of its backward at its
 *     `backward_end`: ops that wait for them on other devices need not wait for the pair's end. In
 *     lowered schedules with a channel model sends come after the pair. With overlapped times that
 *     were given, both leave at the end of the pair.
 *   - Where the config is converted to fewer stages, windows of joined stages are appended, those
 *     of backwards from the last stage. Windows cannot be divided.
 *   - Setting times of ops or pairs afterwards goes over windows, which are forgotten then.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH; RANGE as in ppsched_pair_find_order, and where stages have
 *   unlike slowdowns, or some have a weight gradient and others not; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_windows(ppsched_config *config,
                                                      const ppsched_pair_windows *const *stages,
                                                      size_t count, ppsched_error *error);

/* The windows of a stage of a config, as they were set, or as they follow from its layers. The
 * lists belong to the config. Without windows all is NULL or 0.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where there is no such stage. */
PPSCHED_API ppsched_status ppsched_config_get_windows(ppsched_pair_windows *out,
                                                      const ppsched_config *config, uint32_t stage,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
