/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering: turns a schedule of compute ops into a schedule that a runtime can run. It adds sends,
 * receives and the ops of sharded parameters. The sample also needs channel.h.
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

/* Where lowering puts sends and receives. The producer of a value is the op that computes it; the
 * consumer is the op that needs it. A send always comes after its producer; only receives may be
 * between the send and its producer. There are no sends between stages on the same device. */
enum ppsched_lowering {
    PPSCHED_LOWERING_NONE = 0,        /* adds no sends and no receives. All other passes of
                                         ppsched_lower_options run if they are set */
    PPSCHED_LOWERING_PYTORCH = 1,     /* works as in PyTorch: devices take turns, and in its turn a
                                         device runs one op. When a value is sent, its receive is
                                         put at the place in the queue that the receiving device
                                         has reached */
    PPSCHED_LOWERING_BY_TIME = 2,     /* works as in sail-sg and zeropipe: a receive is put before
                                         the op that the receiving device runs at the time when the
                                         value is sent. Needs the config's times */
    PPSCHED_LOWERING_JUST_IN_TIME = 3 /* a receive is put right before its consumer. But if devices
                                         that block in sends and receives would deadlock because of
                                         this, the receive is put earlier. So no channel model makes
                                         the result deadlock */
};

/* How early a device gathers parameters. Before each op, the device looks at the next stages in its
 * queue, beginning with the stage of the op. If it does not hold the parameters of one of these
 * stages yet, it gathers them. The lookahead is the number of stages that the device looks at. With
 * a lookahead of 1, the device looks only at the stage of the op. */
enum ppsched_unshard_lookahead {
    PPSCHED_UNSHARD_LOOKAHEAD_FULL = 0,  /* the lookahead of each device is `unshard`, the largest
                                            number of stages whose parameters the device holds */
    PPSCHED_UNSHARD_LOOKAHEAD_AUTO = 1,  /* the lookahead of device r is the smaller of r + 2 and
                                            `unshard`. The reason for r + 2: if an UNSHARD takes as
                                            long as a forward, device r can complete r + 2 UNSHARDs
                                            before its first op has its input */
    PPSCHED_UNSHARD_LOOKAHEAD_LIST = 2,  /* the lookaheads are in `unshard_lookaheads`, one number
                                            for each device */
    PPSCHED_UNSHARD_LOOKAHEAD_NEEDED = 3 /* each UNSHARD comes as late as it can without delaying a
                                            compute op. If possible, devices stay within their
                                            memory limits. The library finds these places from the
                                            config's times. If the schedule with FULL is within the
                                            limits, the schedule with NEEDED takes no longer than
                                            with FULL. The same is true for AUTO. The times compared
                                            are those of the evaluation with transfers, with
                                            PPSCHED_CHANNEL_ORDER_NONE and buffered sends */
};

/* The passes of the lowering. They run in this order: merge or split backwards, unshard, reduce
 * gradients, add sends and receives, defer receives. Set `size` to sizeof of this struct. If the
 * field of a pass is 0, the pass is not run. */
typedef struct ppsched_lower_options {
    uint32_t size;
    int32_t lowering;         /* enum ppsched_lowering */
    uint32_t merge_backwards; /* 1: if the W of a stage pass comes right after its I, the I and the
                                 W become one B */
    uint32_t split_backwards; /* 1: each B becomes two ops: an I, and right after it a W. A B in an
                                 overlapped pair does not change */
    uint32_t unshard;         /* the largest number of stages whose parameters a device holds at the
                                 same time (PyTorch's max_active_stages, which is 3). 0: no UNSHARD
                                 and no RESHARD. `unshard_lookahead` says how early an UNSHARD
                                 comes. The RESHARD of a stage comes as soon as the stage is not
                                 among the next `unshard` stages of the queue, and at the latest at
                                 the end of the queue. There is one exception, in which a device
                                 holds one stage more than `unshard`: the first op of an overlapped
                                 pair has the last of the next `unshard` stages, and the second op
                                 has a stage that is not among these stages */
    uint32_t reduce_grad; /* 1: adds a REDUCE_GRAD after the last B or W of a stage in an iteration.
                             2: adds the same REDUCE_GRADs as 1. In the PYTORCH lowering, the device
                             also spends its next turn waiting for the REDUCE_GRAD, as in PyTorch
                             2.15. This wait is not an op of the schedule. But because the wait
                             takes a turn, receives after it may have other places than with 1.
                             3: as 2, but the device waits with every lowering, and each wait is an
                             op: a WAIT_REDUCE_GRAD after its REDUCE_GRAD. Only receives may be
                             between these two ops.
                             4: as 3, but each wait comes as late as possible. At most one reduction
                             of a device is in flight. So the wait comes right before the device's
                             next REDUCE_GRAD, before a flush, or at the end of the queue, whichever
                             comes first. This is PyTorch's defer_reduce_grad_wait */
    uint32_t defer_receives; /* 1: moves receives later, like defer_pp_recv of PyTorch. Only with
                                the PYTORCH lowering. A receive moves to the place right before its
                                consumer, with one exception. Suppose that the value comes from a
                                device of a higher rank, and that between the receive and its
                                consumer there is a send to that device. The receive then moves to
                                the place right before the first such send. The moves are not safe:
                                many orders deadlock if sends block, and some orders of the V
                                placement deadlock even if sends are buffered. Check the result with
                                ppsched_schedule_prove */

    /* How early each UNSHARD comes, like unshard_lookahead of PyTorch. Only with `unshard`. All
     * other ops keep their order, with one exception: in the PYTORCH lowering receives may move,
     * because an UNSHARD takes a turn of its device, like any other op. */
    int32_t unshard_lookahead;          /* enum ppsched_unshard_lookahead */
    const uint32_t *unshard_lookaheads; /* only with LIST: for each device a number from 1 to
                                           `unshard`; borrowed */
    uint32_t unshard_lookahead_count;   /* length of `unshard_lookaheads`: with LIST the number of
                                           devices, otherwise 0 */

    /* Prefetch distance of receives, 0 to 64, only with JUST_IN_TIME. A receive is put this number
     * of units (ops or overlapped pairs) before its consumer. If this would make a wait cycle, the
     * receive is put nearer to its consumer. With a prefetch distance, messages that start only
     * when their receive is posted can arrive in time. But in channels whose messages wait for each
     * other, an early receive delays the messages after it. */
    uint32_t receive_prefetch;

    /* With `reduce_grad`: the number of iterations whose gradients are summed up before they are
     * reduced. A stage then has one REDUCE_GRAD in each group of `reduce_every` iterations, after
     * the stage's last B or W in the group. Until then a device holds the gradients. `reduce_every`
     * must divide the number of iterations of the schedule. 0 means 1. Example: suppose that a
     * training script runs a schedule four times before each step of the optimizer. To describe
     * this run, make one schedule of four iterations without flushes, and set `reduce_every` to 4.
     * This schedule reduces the gradients only after the last iteration. */
    uint32_t reduce_every;
    uint32_t reserved; /* 0 */
} ppsched_lower_options;

/* Lowers a schedule; `schedule` does not change. The caller owns one reference to `*out`.
 *   - The schedule must be executable. It may have F, B, I, W, RECOMPUTE, OFFLOAD, RELOAD and
 *     OFFLOAD_WAIT, and no other ops.
 *   - RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT stay between the same two compute ops, in their
 *     order. OFFLOADs and RELOADs that come right after the first compute op stay there, before the
 *     sends of this op. The first OFFLOAD_WAIT or RECOMPUTE between the two compute ops, and all
 *     ops of these four kinds after it, are put right before the second compute op.
 *   - No op of these four kinds can make another device wait forever. So ppsched_schedule_prove has
 *     the same result with and without these ops.
 *   - `config` may be NULL, except with BY_TIME and NEEDED. These two use the times of the schedule
 *     without RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT.
 * Errors: ARGUMENT, also where an option is set without the other option or the config that it
 *   needs; STRUCT_SIZE; RANGE; LENGTH where the number of lookaheads is not the number of devices;
 *   INVALID_SCHEDULE where the order cannot be run; with BY_TIME and NEEDED, MISMATCH and the other
 *   errors of evaluation; NO_MEMORY; REFUSED in these cases:
 *   - the schedule is already lowered, or has an OPTIMIZER_STEP;
 *   - an overlapped pair needs more stages than `unshard`;
 *   - with BY_TIME, an op that sends takes no time;
 *   - the config's sender_waits is LIKE_KIND, and the lowering is not NONE;
 *   - the stages are a graph, and an option other than JUST_IN_TIME and `receive_prefetch` is
 *     set. */
PPSCHED_API ppsched_status ppsched_schedule_lower(ppsched_schedule **out,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_config *config,
                                                  const ppsched_lower_options *options,
                                                  ppsched_error *error);

/* Renumbers the microbatches of a schedule: in each iteration they get numbers in the order in
 * which the last stage runs their forwards. The times and the memory of the schedule do not change
 * if all microbatches have equal costs. PyTorch needs this numbering, because for microbatch m it
 * takes the m-th loss that the last stage computes. The caller owns one reference to `*out`.
 * Errors: ARGUMENT; INVALID_SCHEDULE where the order cannot be run; NO_MEMORY; REFUSED with a stage
 *   graph; REFUSED with two copies of the model, because their last stages run in parallel. */
PPSCHED_API ppsched_status ppsched_schedule_renumber(ppsched_schedule **out,
                                                     const ppsched_schedule *schedule,
                                                     ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
