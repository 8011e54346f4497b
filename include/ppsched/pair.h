/* SPDX-License-Identifier: Apache-2.0 */
/* Computes how long an overlapped pair takes: a forward and a backward that run on a device at the
 * same time. */
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

/* Limits. PPSCHED_MAX_WINDOWS is the largest number of windows of a forward, a backward and its
 * weight gradient together. PPSCHED_MAX_WINDOW_CHANNELS is the largest number of channels of a
 * device. If a pair with a weight gradient has at most PPSCHED_EXACT_WINDOWS windows, its results
 * are always exact. */
#define PPSCHED_MAX_WINDOWS 1000
#define PPSCHED_MAX_WINDOW_CHANNELS 4
#define PPSCHED_EXACT_WINDOWS 24

/* A part of an op that runs on one channel, such as the attention or the dispatch of a layer. 16
 * bytes, no padding. */
typedef struct ppsched_window {
    double time;      /* time that the window takes while no other channel is busy; 0 or more */
    uint32_t channel; /* number of the channel on which the window runs, 0 to 3 */
    uint32_t after;   /* for a window of a weight gradient: number of windows of the backward that
                         must have ended before this window starts; otherwise 0 */
} ppsched_window;

/* The windows of an overlapped pair. Each list is in the order in which its windows run. Set `size`
 * to sizeof of this struct. */
typedef struct ppsched_pair_windows {
    uint32_t size;
    uint32_t reserved;             /* 0 */
    const ppsched_window *forward; /* windows of the F */
    size_t forward_count;
    const ppsched_window *backward; /* windows of the B; if `weight` is set, windows of the I */
    size_t backward_count;
    const ppsched_window *weight; /* windows of the W; NULL if there is none */
    size_t weight_count;
    double slowdown[4]; /* for each channel: factor on the time of its windows while another channel
                           is busy; 1 or more. 0 means 1 */
} ppsched_pair_windows;

/* The order in which the windows of pairs run, if the windows come from the layers of stages. */
enum ppsched_pair_rule {
    /* The order that ppsched_pair_find_order finds. */
    PPSCHED_PAIR_RULE_BEST = 0,
    /* The order in which Megatron-LM with --overlap-moe-expert-parallel-comm launches the windows
     * (megatron-core 0.19.2). With MEGATRON, weight gradients are inside the backward.
     * MEGATRON_DELAYED is the order with --delay-wgrad-compute. */
    PPSCHED_PAIR_RULE_MEGATRON = 1,
    PPSCHED_PAIR_RULE_MEGATRON_DELAYED = 2
};

/* When a window runs. 24 bytes, no padding. */
typedef struct ppsched_window_span {
    double start;   /* time when the window starts */
    double end;     /* time when the window ends */
    int32_t kind;   /* PPSCHED_KIND_F, PPSCHED_KIND_B or PPSCHED_KIND_W */
    uint32_t index; /* index of the window in its list */
} ppsched_window_span;

/* The times of a pair. Set `size` to sizeof of this struct. */
typedef struct ppsched_pair_times {
    uint32_t size;
    uint32_t is_best;    /* 1: no other order of the windows takes less time */
    double time;         /* time of the pair, from the first start to the last end */
    double bound;        /* no order takes less time than this; equal to `time` if `is_best` */
    double serial;       /* time of the pair if its windows run one after another: the sum of all
                            windows */
    double forward_end;  /* end of the last window of the forward */
    double backward_end; /* end of the last window of the backward, without its weight gradient */
} ppsched_pair_times;

/* Finds the best order of a pair's windows.
 *   - A window is ready when all windows before it in its list have ended. For a window of a weight
 *     gradient, a number of windows of the backward must also have ended: the number in its field
 *     `after`. A channel runs one window at a time. A ready window starts as soon as its channel is
 *     free. If several windows are ready for a channel at the same time, the order says which of
 *     them starts first. The order has no other effect.
 *   - While another channel is busy, a window on channel c does 1 / slowdown[c] of its work per
 *     unit of time.
 *   - Ends that differ by less than 1e-9 of the sum of all times count as equal.
 *   - The result is exact without `weight`, and also with `weight` if there are at most
 *     PPSCHED_EXACT_WINDOWS windows. With `weight` and more windows the call is a search of limited
 *     work, and `is_best` says whether the result is proved to be the best.
 *   - `out` receives all windows in order of start; at equal starts the forward comes first, then
 *     the backward, then the weight gradient. The call fills a buffer: see ppsched.h.
 *   - If `out` and `times` are NULL, the call only writes `*needed`, and does not search. If `out`
 *     is NULL and `times` is not, the call searches, and also writes `*times`. If `out` is not
 *     NULL, `times` must not be NULL.
 * The result is deterministic. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; LENGTH where a forward or a backward has no windows, or there are
 *   more than PPSCHED_MAX_WINDOWS; RANGE where a time, a slowdown, a channel or `after` is out of
 *   range; BUFFER, NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_pair_find_order(ppsched_window_span *out, size_t capacity,
                                                   size_t *needed, ppsched_pair_times *times,
                                                   const ppsched_pair_windows *pair,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);

/* Computes the times of a pair whose windows run in a given order. Example: the launch order of a
 * runtime in which each stream runs its kernels in launch order.
 *   - `kinds` has one entry per window, in the given order. The entry says from which list the next
 *     window comes: PPSCHED_KIND_F, PPSCHED_KIND_B or PPSCHED_KIND_W. `count` is the number of
 *     windows.
 *   - Each channel runs its windows in this order. A channel waits for a window that is not ready,
 *     even if a later window is ready. All other rules are the same as for ppsched_pair_find_order.
 *   - No order takes less time than `bound`, not even an order in which a channel waits. `is_best`
 *     says whether `time` equals `bound`.
 * Errors: as ppsched_pair_find_order; INVALID_SCHEDULE where `kinds` does not have each window
 *   once, or has a weight gradient before the windows of the backward that it needs. */
PPSCHED_API ppsched_status ppsched_pair_run_order(ppsched_window_span *out, size_t capacity,
                                                  size_t *needed, ppsched_pair_times *times,
                                                  const ppsched_pair_windows *pair,
                                                  const int32_t *kinds, size_t count,
                                                  const ppsched_environment *environment,
                                                  ppsched_error *error);

/* Sets the windows of the ops of each stage. `stages` has one entry for all stages (`count` 1), or
 * one per stage (`count` S). An entry has the windows of the F, the B (or I) and the W of its
 * stage. Windows are copied.
 *   - F takes the sum of the times of `forward`, and B the sum of the times of `backward`. If
 *     `weight` is set, I takes the sum of `backward`, W the sum of `weight`, and B both sums
 *     together. These times replace the times of F, B, I and W that were set.
 *   - An overlapped pair of an F of stage i and a backward of stage j takes the time that
 *     ppsched_pair_find_order finds for `forward` of i with `backward` and `weight` of j. The call
 *     sets PPSCHED_QUANTITY_OVERLAPPED_TIMES to these times, unless the caller has set this
 *     quantity. A pair with an I takes the time that is found without `weight`. If `weight` is not
 *     set, evaluation refuses schedules that have pairs with an I (MISMATCH).
 *   - The output of a pair's F is sent at the `forward_end` of the pair, and the output of its
 *     backward at the `backward_end`. So an op on another device can read an output before the pair
 *     ends. There are two exceptions, in which both outputs are sent when the pair has ended: a
 *     lowered schedule is evaluated with a channel model, or the caller has set the overlapped
 *     times.
 *   - If the config is converted to fewer stages, the windows of stages that are joined are put one
 *     after another. For backwards, the windows of the last stage come first. Windows cannot be
 *     divided, so a conversion to more stages is refused.
 *   - If the caller sets times of ops or of pairs after this call, these times replace the windows.
 * Errors: ARGUMENT; STRUCT_SIZE; LENGTH; RANGE as in ppsched_pair_find_order; RANGE where stages
 *   have different slowdowns; RANGE where only some stages have a weight gradient; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_config_set_windows(ppsched_config *config,
                                                      const ppsched_pair_windows *const *stages,
                                                      size_t count, ppsched_error *error);

/* The windows of a stage of a config: the windows that were set, or the windows that were computed
 * from the layers of the stage. The lists belong to the config. If there are no windows, all
 * members except `size` are NULL or 0.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where there is no such stage. */
PPSCHED_API ppsched_status ppsched_config_get_windows(ppsched_pair_windows *out,
                                                      const ppsched_config *config, uint32_t stage,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
