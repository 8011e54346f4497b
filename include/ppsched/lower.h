/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: from an order of compute ops to one that a runtime can run, with sends, receives and
 * what sharded parameters need. */
#ifndef PPSCHED_LOWER_H
#define PPSCHED_LOWER_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where sends and receives go. A send always follows its producer, perhaps with receives between.
 * Between stages of one device nothing is sent. */
enum ppsched_lowering {
    PPSCHED_LOWERING_NONE = 0,        /* no sends and receives: the other passes alone */
    PPSCHED_LOWERING_PYTORCH = 1,     /* as PyTorch does: all devices take turns, an op a turn; a
                                         receive stands where its device is when the value is
                                         sent */
    PPSCHED_LOWERING_BY_TIME = 2,     /* as sail-sg and zeropipe do: a receive goes before the op
                                         that runs when the value is sent; needs the config's
                                         times */
    PPSCHED_LOWERING_JUST_IN_TIME = 3 /* a receive stands right before its consumer, or earlier
                                         where devices that block in sends and receives would wait
                                         for each other in a circle; so they never do */
};

/* Of how many of the stages that a device uses next it gathers what it does not hold, before an op:
 * of the op's own at least. */
enum ppsched_unshard_lookahead {
    PPSCHED_UNSHARD_LOOKAHEAD_FULL = 0,  /* as many as it may hold */
    PPSCHED_UNSHARD_LOOKAHEAD_AUTO = 1,  /* device r: r + 2, or as many as it may hold if these are
                                           fewer. Where gathering takes as long as a forward that is
                                           what fits in before its first op has its input */
    PPSCHED_UNSHARD_LOOKAHEAD_LIST = 2,  /* the caller's own, a number for each device */
    PPSCHED_UNSHARD_LOOKAHEAD_NEEDED = 3 /* ours: as late as compute need not wait by the config's
                                            times, and within its memory limits where that can be;
                                            the evaluation with transfers (channels NONE, sends
                                            buffered) is never longer than with FULL or AUTO where
                                            these keep within the limits */
};

/* The passes, in the order in which they run: merging and splitting, unsharding, reducing, sends
 * and receives, deferring. Sized: set `size`; zero means off. */
typedef struct ppsched_lower_options {
    uint32_t size;
    int32_t lowering;         /* enum ppsched_lowering */
    uint32_t merge_backwards; /* 1: an I with its W right behind it becomes a B */
    uint32_t split_backwards; /* 1: a B that is in no overlapped pair becomes an I with its W right
                                 behind it */
    uint32_t unshard;         /* most stages whose parameters a device holds at once, as PyTorch's
                                 max_active_stages (3 there): UNSHARD before a stage's next ops,
                                 RESHARD once it is not among the next `unshard` ones; an overlapped
                                 pair that comes next is taken whole, and may be one more. 0: none
                                 of these */
    uint32_t reduce_grad;     /* 1: REDUCE_GRAD behind the last B or W of a stage and iteration */
    uint32_t defer_receives;  /* 1, for PYTORCH: as its defer_pp_recv: a receive waits until right
                                 before its consumer, or before a send to the device that it is
                                 from, if that has the higher rank. Not safe: many orders hang where
                                 sends block, and some of the V placement where they are buffered
                                 (prove them) */

    /* With `unshard`, as PyTorch's unshard_lookahead: how early each UNSHARD comes. Nothing else
     * moves but receives, since an UNSHARD has a turn of its own in the PYTORCH lowering. */
    int32_t unshard_lookahead;          /* enum ppsched_unshard_lookahead */
    const uint32_t *unshard_lookaheads; /* with LIST: 1 to `unshard` for each device; borrowed */
    uint32_t unshard_lookahead_count;   /* with LIST: as many as devices, else 0 */

    /* With JUST_IN_TIME each receive stands up to so many units (an op, or an overlapped pair)
     * before its consumer, as far as no circle of waiting devices comes of it; 0 to 64. A message
     * that starts only once its receive is posted is then there in time; in channels that wait for
     * each other an early receive holds up what comes behind it. */
    uint32_t receive_prefetch;
} ppsched_lower_options;

/* Makes a lowered schedule; the given one stays. It must be executable and hold F, B, I and W
 * alone, and ops that keep less (RECOMPUTE, OFFLOAD, RELOAD, OFFLOAD_WAIT), which stay between the
 * same compute ops: copies that stood right behind one still do, before its sends; a wait and what
 * stands behind it comes right before the next. A copy never holds up another device, so the proof
 * is that of the schedule without. `config` may be NULL but for BY_TIME and NEEDED, which go by
 * times without ops that keep less. `*out` gets one reference.
 * Errors: ARGUMENT, STRUCT_SIZE, RANGE; LENGTH where there is not one lookahead a device;
 *   INVALID_SCHEDULE where the order cannot be run; REFUSED where it has been lowered already, an
 *   overlapped pair needs more stages than `unshard`, or BY_TIME where an op that sends takes no
 *   time; MISMATCH with BY_TIME and NEEDED, with these also what evaluation fails with;
 *   NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_lower(ppsched_schedule **out,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_config *config,
                                                  const ppsched_lower_options *options,
                                                  ppsched_error *error);

/* Makes the same schedule with its microbatches numbered as the last stage runs their forwards, in
 * each iteration from its first one: a permutation, of all ops with a microbatch. Where these are
 * alike it is as good, and PyTorch, which takes losses in that order, can run it. `*out` gets one
 * reference.
 * Errors: ARGUMENT; INVALID_SCHEDULE where the order cannot be run; REFUSED with two copies of a
 *   stage, whose last stages run side by side; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_renumber(ppsched_schedule **out,
                                                     const ppsched_schedule *schedule,
                                                     ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
