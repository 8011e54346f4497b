/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: makes from a schedule of compute ops one that a runtime can run. It adds sends,
 * receives and the ops of sharded parameters.
 *
 * Sample:
 *     const ppsched_channel_model channel = {.size = sizeof channel,
 *                                            .order = PPSCHED_CHANNEL_ORDER_PAIR};
 *     const ppsched_lower_options options = {.size = sizeof options,
 *                                            .lowering = PPSCHED_LOWERING_PYTORCH};
 *     ppsched_config *config = NULL;
 *     ppsched_schedule *schedule = NULL, *lowered = NULL;
 *     ppsched_status status = ppsched_config_create(&config, 4, 4, 8, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_generate(&schedule, config, "1f1b", NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_lower(&lowered, schedule, config, &options, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_prove(NULL, 0, NULL, lowered, &channel, NULL);
 *     ppsched_schedule_release(lowered);
 *     ppsched_schedule_release(schedule);
 *     ppsched_config_destroy(config);
 */
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

/* Where sends and receives are put. A send always follows its producer; there may be receives
 * between the two. Stages on the same device need no sends. */
enum ppsched_lowering {
    PPSCHED_LOWERING_NONE = 0,        /* no sends and receives; the other passes run */
    PPSCHED_LOWERING_PYTORCH = 1,     /* as PyTorch: all devices take turns, one op per turn. When
                                         a value is sent, its receive is put where the receiving
                                         device is then */
    PPSCHED_LOWERING_BY_TIME = 2,     /* as sail-sg and zeropipe: a receive is put before the op
                                         that its device runs when the value is sent. Needs the
                                         config's times */
    PPSCHED_LOWERING_JUST_IN_TIME = 3 /* a receive is put right before its consumer, or earlier
                                         where devices that block in sends and receives would
                                         otherwise deadlock. So the result never deadlocks */
};

/* How early a device gathers parameters: before each op it gathers the first stages of those that
 * it uses next, if it does not hold them. The lookahead is the number of these stages; 1 is the
 * stage of the op alone. */
enum ppsched_unshard_lookahead {
    PPSCHED_UNSHARD_LOOKAHEAD_FULL = 0,  /* `unshard`: as many stages as the device may hold */
    PPSCHED_UNSHARD_LOOKAHEAD_AUTO = 1,  /* for device r the smaller of r + 2 and `unshard`. If an
                                            UNSHARD takes as long as a forward, so many fit in
                                            before the device's first op has its input */
    PPSCHED_UNSHARD_LOOKAHEAD_LIST = 2,  /* `unshard_lookaheads`, a number for each device */
    PPSCHED_UNSHARD_LOOKAHEAD_NEEDED = 3 /* by this library: as late as possible without a wait of
                                            compute, by the config's times, and within its memory
                                            limits if that is possible. If FULL and AUTO are within
                                            the limits, the evaluation with transfers (channels
                                            NONE, sends buffered) is never longer than with these */
};

/* The passes of the lowering. They run in this order: merge or split backwards, unshard, reduce
 * gradients, add sends and receives, defer receives. Sized: set `size`; zero means off. */
typedef struct ppsched_lower_options {
    uint32_t size;
    int32_t lowering;         /* enum ppsched_lowering */
    uint32_t merge_backwards; /* 1: an I and its W right after it become a B */
    uint32_t split_backwards; /* 1: a B that is in no overlapped pair becomes an I and its W right
                                 after it */
    uint32_t unshard;         /* most stages whose parameters a device holds at once, as PyTorch's
                                 max_active_stages (3 there). UNSHARD comes before a stage's next
                                 op, by `unshard_lookahead`; RESHARD comes once the stage is not
                                 among the next `unshard` ones, and at the end of the queue. If the
                                 last of these begins an overlapped pair of two stages, the device
                                 holds one more. 0: no UNSHARD, no RESHARD */
    uint32_t reduce_grad; /* 1: REDUCE_GRAD after the last B or W of a stage in an iteration. 2: the
                                 same, and in the PYTORCH lowering its device's next turn goes to a
                                 wait for it, as in PyTorch 2.15. So later receives may move. The
                                 wait is no op of the schedule */
    uint32_t defer_receives; /* 1: as PyTorch's defer_pp_recv, only with PYTORCH. A receive moves
                                 to right before its consumer, or to before an earlier send to the
                                 device that it receives from, if that device has a higher rank. Not
                                 safe: many orders deadlock where sends block, and some of the V
                                 placement where sends are buffered. Check with
                                 ppsched_schedule_prove */

    /* How early each UNSHARD comes, as PyTorch's unshard_lookahead. Only with `unshard`. The order
     * of other ops does not change, except that receives may move, because an UNSHARD has a
     * place of its own in the PYTORCH lowering. */
    int32_t unshard_lookahead;          /* enum ppsched_unshard_lookahead */
    const uint32_t *unshard_lookaheads; /* with LIST: for each device 1 to `unshard`; borrowed */
    uint32_t unshard_lookahead_count;   /* with LIST: the number of devices, else 0 */

    /* Prefetch distance of receives, only with JUST_IN_TIME: each receive is put so many units (ops
     * or overlapped pairs) before its consumer, or fewer where so many would make a wait cycle; 0
     * to 64. Messages that start only when their receive is posted then arrive in time. In channels
     * whose messages wait for each other, an early receive delays what comes after it. */
    uint32_t receive_prefetch;
} ppsched_lower_options;

/* Lowers a schedule; `schedule` does not change. The caller owns one reference to `*out`.
 *   - The schedule must be executable. It may have F, B, I, W, RECOMPUTE, OFFLOAD, RELOAD and
 *     OFFLOAD_WAIT, and no other ops.
 *   - RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT stay between the same compute ops. OFFLOADs and
 *     RELOADs right after a compute op stay right after it, before its sends. An OFFLOAD_WAIT or a
 *     RECOMPUTE, and those that follow it, come right before the next compute op.
 *   - None of these ops delays another device forever, so ppsched_schedule_prove has the same
 *     result as without them.
 *   - `config` may be NULL, except with BY_TIME and NEEDED. These use the times of the schedule
 *     without RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT.
 * Errors: ARGUMENT, also where an option needs another one or a config; STRUCT_SIZE; RANGE; LENGTH
 *   where there is not one lookahead per device; INVALID_SCHEDULE where the order cannot be run;
 *   REFUSED where the schedule has been lowered already or has an OPTIMIZER_STEP, where an
 *   overlapped pair needs more stages than `unshard`, with BY_TIME where an op that sends takes no
 *   time, and where the config's sender_waits is LIKE_KIND with a lowering other than NONE; with
 *   BY_TIME and NEEDED also MISMATCH and the other errors of evaluation; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_lower(ppsched_schedule **out,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_config *config,
                                                  const ppsched_lower_options *options,
                                                  ppsched_error *error);

/* Makes the same schedule with other numbers of microbatches: in each iteration they are numbered
 * in the order in which the last stage runs their forwards. If microbatches have equal costs, times
 * and memory do not change. PyTorch, which takes losses in that order, can run the result. The
 * caller owns one reference to `*out`.
 * Errors: ARGUMENT; INVALID_SCHEDULE where the order cannot be run; REFUSED with two copies of the
 *   model, as their last stages run in parallel; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_renumber(ppsched_schedule **out,
                                                     const ppsched_schedule *schedule,
                                                     ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
