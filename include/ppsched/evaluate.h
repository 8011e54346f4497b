/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: when each op runs, where devices are idle, and how much memory they hold.
 *
 * Sample:
 *     ppsched_config *config = NULL;
 *     ppsched_schedule *schedule = NULL;
 *     ppsched_timeline *timeline = NULL;
 *     ppsched_metrics metrics = {.size = sizeof metrics};
 *     ppsched_status status = ppsched_config_create(&config, 4, 4, 8, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_generate(&schedule, config, "zb_h1", NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_schedule_evaluate(&timeline, schedule, config, 0, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_timeline_get_metrics(&metrics, timeline, NULL);
 *     printf("%g, peak %g\n", metrics.makespan, metrics.peak_memory);
 *     ppsched_timeline_destroy(timeline);
 *     ppsched_schedule_release(schedule);
 *     ppsched_config_destroy(config);
 */
#ifndef PPSCHED_EVALUATE_H
#define PPSCHED_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/channel.h>
#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The evaluator's result. It never changes, except by ppsched_timeline_update.
 * Lifetime: the caller destroys it. It holds a reference to its schedule, so both may be freed in
 *   any order.
 * Thread-safety: any number of threads may read it; it may be updated while no thread reads it, and
 *   destroyed once. */
typedef struct ppsched_timeline ppsched_timeline;

enum ppsched_evaluate_flag {
    PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY = 1, /* leave out latest starts and idle causes, which takes
                                                less time and memory */
    PPSCHED_EVALUATE_FLAG_REUSABLE = 2       /* keep what ppsched_timeline_update needs: twice the
                                                timeline's memory, and 16 bytes per stage pass */
};

/* Metrics of the whole schedule. Sized. Times and memory in the caller's units. */
typedef struct ppsched_metrics {
    uint32_t size;
    uint32_t span_device;   /* the device with the longest span; the lowest, if there are several */
    uint32_t peak_device;   /* the device with the largest peak memory; the lowest, if there are
                               several */
    uint32_t limit_device;  /* the lowest device whose peak is over its limit (by more than a share
                               of 1e-9); PPSCHED_NONE if all fit */
    double makespan;        /* time from 0 to the last end */
    double span;            /* longest time from first start to last end of one device: the cost of
                               an iteration where the optimizer does not synchronise the devices */
    double bubble_of_total; /* idle / (D * makespan) */
    double bubble_of_ideal; /* idle / busy */
    double bubble_of_span;  /* 1 - mean busy / span */
    double peak_memory;     /* of `peak_device` */
} ppsched_metrics;

/* Metrics of one device. Sized. Times and memory in the caller's units. */
typedef struct ppsched_device_metrics {
    uint32_t size;
    uint32_t peak_position; /* position in the queue of the op at which memory first reaches the
                               peak, as the sums of doubles have it: at the op's start, or at its
                               end if it adds a send buffer or an output; PPSCHED_NONE if memory is
                               never above the static memory */
    double busy;            /* sum of durations; an overlapped pair counts once */
    double idle;            /* makespan - busy */
    double first_start;     /* of F, B, I and W; 0 if the queue has none of them */
    double last_end;        /* of F, B, I and W; 0 if the queue has none of them */
    double static_memory;   /* MEM_STATIC, MEM_WEIGHTS times the versions, and MEM_OPTIMIZER of its
                               stages; and MEM_OTHER of the device */
    double peak_memory;     /* includes the static memory */
    double peak_time;       /* when memory first reaches the peak */
    double memory_limit;    /* infinite if none is set */
} ppsched_device_metrics;

/* Why a device is idle; the parts sum to its idle time. Sized. Times in the caller's unit.
 *   - A wait that ends when a value is received is split along the path of that value. If an
 *     overlapped pair waits for two values, that is the value that arrives last; if both arrive at
 *     once, the value of the pair's first op.
 *   - A device that several comm ops block waits for the one that is done last; if several are done
 *     at once, for the last of them in its queue.
 *   - Before a device's first op of an iteration, waiting for the neighbour is `fill`. */
typedef struct ppsched_idle {
    uint32_t size;
    uint32_t reserved;
    double fill;         /* before its first op of an iteration: the value that it waits for is not
                            made yet */
    double drain;        /* after its last op of an iteration */
    double neighbour;    /* the value that it waits for is not made yet; without `imbalance` */
    double imbalance;    /* the part of this wait that is due to more work on other devices: up to
                            the difference in busy time to the busiest device */
    double transfer;     /* the value is under way: latency, and bytes / bandwidth; or the device is
                            sending, or waits for what it sent (enum ppsched_sender_waits), once the
                            value that it needs next is made */
    double link;         /* the value waits for its link, which other values occupy */
    double head_of_line; /* the value, or its receive, waits after other comm ops of its channel */
    double weights;      /* the weights that it needs are not gathered yet, or UNSHARD or
                            REDUCE_GRAD stops the device (PPSCHED_QUANTITY_SHARDING_SLOWDOWN) */
    double reload;       /* activations are not back from the host yet, or OFFLOAD_WAIT waits */
    double calls;        /* it is in the call of its own SEND or RECV, or it waits while
                            another device is in the call that sends the value
                            (PPSCHED_QUANTITY_SEND_OVERHEAD) */
    double slow_devices; /* idle time that the device would not have if all devices were as fast as
                            stated, with the same order: without DEVICE_SPEEDS, DEVICE_SCALE and
                            STAGE_SCALE. It is taken from the parts above that grow with these:
                            first from imbalance, then neighbour, fill, drain, transfer and the
                            others */
} ppsched_idle;

/* What memory is held for. The quantity of the same name gives the amount (enum
 * ppsched_quantity). */
enum ppsched_memory_cause {
    PPSCHED_MEMORY_CAUSE_STATIC = 0,      /* mem_static of the device's stages */
    PPSCHED_MEMORY_CAUSE_WEIGHTS = 1,     /* mem_weights, times the versions */
    PPSCHED_MEMORY_CAUSE_OPTIMIZER = 2,   /* mem_optimizer */
    PPSCHED_MEMORY_CAUSE_OTHER = 3,       /* mem_other of the device */
    PPSCHED_MEMORY_CAUSE_GRADIENTS = 4,   /* mem_gradients */
    PPSCHED_MEMORY_CAUSE_GATHERED = 5,    /* mem_gathered */
    PPSCHED_MEMORY_CAUSE_SENDS = 6,       /* mem_send_forward, mem_send_backward */
    PPSCHED_MEMORY_CAUSE_RECEIVES = 7,    /* mem_receive_forward, mem_receive_backward */
    PPSCHED_MEMORY_CAUSE_OUTPUTS = 8,     /* mem_output */
    PPSCHED_MEMORY_CAUSE_WORK = 9,        /* mem_work_forward and so on */
    PPSCHED_MEMORY_CAUSE_ACTIVATIONS = 10 /* mem_forward and what backwards recompute or add, minus
                                             what mem_backward_input and mem_backward_weight have
                                             released */
};

/* A time in which a device computes nothing. 32 bytes, no padding. */
typedef struct ppsched_idle_window {
    double start;
    double end;
    double memory; /* the most that the device holds in this time */
    double free;   /* its limit minus `memory`: infinite without a limit, negative if over it */
} ppsched_idle_window;

/* One item in a device's memory. 32 bytes, no padding. */
typedef struct ppsched_memory_item {
    int32_t cause;       /* enum ppsched_memory_cause */
    uint32_t stage;      /* PPSCHED_NONE for OTHER */
    uint32_t microbatch; /* PPSCHED_NONE if it belongs to no microbatch */
    uint32_t position;   /* position in the device's queue of the op that took it; PPSCHED_NONE if
                            it is always held */
    double memory;
    double since; /* when it was taken */
} ppsched_memory_item;

/* A step of a device's memory curve: the level from `time` on. 16 bytes, no padding. */
typedef struct ppsched_memory_point {
    double time;
    double memory;
} ppsched_memory_point;

/* --- making a timeline --- */

/* Times the schedule with the config's durations and delays. `flags`: enum ppsched_evaluate_flag, 0
 * for all results.
 *   - An op starts when its device is free (in queue order) and its inputs are there: F(s,m) needs
 *     F(s-1,m); B or I of (s,m) needs its own F and the backward (B or I) of (s+1,m); W needs its
 *     I.
 *   - A dependency between devices adds its latency and bytes / bandwidth, whatever other transfers
 *     are under way.
 *   - Both ops of an overlapped pair start and end together.
 *   - If the schedule flushes, an iteration starts when the one before has ended on all devices.
 *   - RECOMPUTE runs on its device like F, for PPSCHED_QUANTITY_RECOMPUTE_TIMES. The B or I of a
 *     stage pass with RECOMPUTE comes after it. F of that stage pass then takes only
 *     PPSCHED_QUANTITY_MEM_RECOMPUTE; RECOMPUTE takes the rest when it starts.
 *   - OFFLOAD and RELOAD start copies, and the device continues at once. The copies of a device in
 *     one direction run in the order of its queue, each from when the device reaches the op. A host
 *     link (PPSCHED_QUANTITY_HOST_LINK) runs one copy per direction at a time, first come, first
 *     served; if two come at once, the lower device is first. A RELOAD does not start before its
 *     OFFLOAD is done.
 *   - B or I waits for its RELOAD, and OFFLOAD_WAIT for its OFFLOAD; the ops after them in the
 *     queue wait too.
 *   - PPSCHED_QUANTITY_MEM_OFFLOAD is freed when the copy of OFFLOAD ends, and taken again when the
 *     copy of RELOAD starts. The spans of these ops are those of their copies. Latest starts assume
 *     that copies stay at their times, and that ops keep their lengths.
 *   - PPSCHED_QUANTITY_COPY_SLOWDOWN slows what a device computes while one of its copies runs.
 *   - Other ops, UNSHARD and REDUCE_GRAD included, take no time here. They wait only for their
 *     place in the queue and for the flush.
 * Schedule and config must have the same numbers of devices and stages; microbatches, iterations
 * and placement are those of the schedule. Results are identical to the last bit on every platform.
 * Time and memory are linear in the ops.
 * Errors: ARGUMENT, MISMATCH; RANGE as for ppsched_config_validate, and where times or memory sum
 *   to more than a double holds; INVALID_SCHEDULE with the wait cycle or the missing op; REFUSED
 *   where senders wait (ppsched_config_set_sender_waits) and the schedule has RECOMPUTE, OFFLOAD or
 *   RELOAD; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate(ppsched_timeline **out,
                                                     const ppsched_schedule *schedule,
                                                     const ppsched_config *config, uint32_t flags,
                                                     ppsched_error *error);

/* Times a lowered schedule with its transfers. `model` NULL is PPSCHED_CHANNEL_ORDER_NONE,
 * buffered: transfers wait for nothing but their links.
 *   - A send asks for its link, the directed pair of devices, once it has its turn in the channel
 *     model (with rendezvous, once its receive has its turn too). Links transfer in the order in
 *     which they are asked.
 *   - A transfer occupies its link for bytes / bandwidth; then the send is done. The value arrives
 *     a latency later (with PPSCHED_CHANNEL_ORDER_SENDS the send is done only then).
 *   - A receive is done when its value has arrived and the receive has its turn. Only then does the
 *     op that needs the value start.
 *   - With PPSCHED_QUANTITY_SEND_OVERHEAD, a device that reaches a send or a receive makes a call
 *     of that time. The op can have its turn only from the end of the call on, and the device
 *     continues then. Sends and receives have the same overhead.
 *   - Neighbouring sends and receives that start together in the model (`batched`) have one call
 *     each, one after another. All of them are issued at the end of the last call; those after a
 *     flush are a batch by themselves. PyTorch's batch_isend_irecv does the same: it makes the call
 *     of each op in turn, in a group that starts nothing before its end. PyTorch's pipeline runtime
 *     calls it for each send or receive alone. A device in a call is idle (`calls`), as it computes
 *     nothing.
 *   - The span of a send or receive is from the start of the transfer (for a receive: not before
 *     its turn) until the op is done.
 *   - UNSHARD and REDUCE_GRAD take their time (PPSCHED_QUANTITY_UNSHARD_TIMES and the following) on
 *     a channel of their device, one after another in the order of its queue, each from when the
 *     device reaches it. F, B, I and W of a stage wait for its UNSHARD; a REDUCE_GRAD comes after
 *     the last W in any case. The device continues meanwhile, slower by
 *     PPSCHED_QUANTITY_SHARDING_SLOWDOWN. The flush and the makespan wait for all of them.
 *   - RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT are as in ppsched_schedule_evaluate. Copies use
 *     only their host links. A copy slows further what an UNSHARD or REDUCE_GRAD already slows.
 *     What a device waits for a copy after its receive is done is `reload`.
 * With infinite bandwidths, without a model and without times of UNSHARD, REDUCE_GRAD and calls,
 * the times are those of ppsched_schedule_evaluate, to the last bit. There are no latest starts, as
 * which transfer is first depends on the times.
 * `flags`: enum ppsched_evaluate_flag. EARLIEST_ONLY has no effect; REUSABLE is an ARGUMENT error.
 * Errors: those of ppsched_schedule_evaluate and of ppsched_schedule_prove; INVALID_SCHEDULE where
 *   the schedule deadlocks in the channel model; REFUSED where senders wait
 *   (ppsched_config_set_sender_waits). */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_transfers(
    ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_channel_model *model, uint32_t flags, ppsched_error *error);

/* Times the schedule of a timeline again, as ppsched_schedule_evaluate would with this config and
 * the timeline's flags; for a launcher that plans each step with the costs that it has just
 * measured. What was borrowed from the timeline becomes invalid. On an error nothing changes. It
 * allocates nothing, except in the first two updates with a config that has any of these:
 *   - PPSCHED_QUANTITY_MEM_OPTIMIZER to MEM_WORK_BACKWARD_WEIGHT, or memory that rises in a
 *     backward: MEM_RECOMPUTED_BACKWARD_INPUT, MEM_RECOMPUTED_BACKWARD, a positive
 *     MEM_BACKWARD_INPUT
 *   - a scale of microbatches or slices
 *   - senders that wait (ppsched_config_set_sender_waits)
 *   - speeds: DEVICE_SPEEDS, DEVICE_SCALE or STAGE_SCALE, where it has idle causes
 * Errors: as ppsched_schedule_evaluate, NO_MEMORY only where it allocates; ARGUMENT also where the
 *   timeline was made without REUSABLE. */
PPSCHED_API ppsched_status ppsched_timeline_update(ppsched_timeline *timeline,
                                                   const ppsched_config *config,
                                                   ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_timeline_destroy(ppsched_timeline *timeline);

/* --- reading a timeline --- */

/* The schedule of the timeline, borrowed. */
PPSCHED_API const ppsched_schedule *ppsched_timeline_schedule(const ppsched_timeline *timeline);

/* Start and end of each op of a device's queue, borrowed; `*count` is the length of the queue. NULL
 * where there is no such device. */
PPSCHED_API const ppsched_span *ppsched_timeline_spans(const ppsched_timeline *timeline,
                                                       uint32_t device, size_t *count);

/* Latest start of each op without a longer makespan, borrowed. Slack is the latest start minus the
 * start, and exactly 0 on the critical path. NULL with EARLIEST_ONLY, and in an evaluation with
 * transfers. */
PPSCHED_API const double *ppsched_timeline_latest_starts(const ppsched_timeline *timeline,
                                                         uint32_t device, size_t *count);

/* Metrics of the whole schedule.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_timeline_get_metrics(ppsched_metrics *out,
                                                        const ppsched_timeline *timeline,
                                                        ppsched_error *error);

/* Metrics of one device.
 * Errors: ARGUMENT; RANGE where there is no such device; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_timeline_get_device_metrics(ppsched_device_metrics *out,
                                                               const ppsched_timeline *timeline,
                                                               uint32_t device,
                                                               ppsched_error *error);

/* Why a device is idle.
 * Errors: ARGUMENT, also with EARLIEST_ONLY; RANGE where there is no such device; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_timeline_get_idle(ppsched_idle *out,
                                                     const ppsched_timeline *timeline,
                                                     uint32_t device, ppsched_error *error);

/* Memory of a device over time: its static memory at time 0, then a point for each start or end of
 * an op that changes it, in order of time; at equal times, in order of the queue. Fills a buffer:
 * see ppsched.h.
 *   - For what memory is held, see enum ppsched_memory_cause. Sends, receives and gathered weights
 *     count only if the schedule has their ops.
 *   - A level is the sum of the causes, in their order, if the config gives one of the quantities
 *     from MEM_OPTIMIZER to MEM_WORK_BACKWARD_WEIGHT (enum ppsched_quantity), memory rises in a
 *     backward, or the schedule has RECOMPUTE, OFFLOAD or RELOAD. Otherwise it is a running sum of
 *     the changes.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_timeline_get_memory(ppsched_memory_point *out, size_t capacity,
                                                       size_t *needed,
                                                       const ppsched_timeline *timeline,
                                                       uint32_t device, ppsched_error *error);

/* The part of a device's memory that has one cause (enum ppsched_memory_cause): its level at time
 * 0, then a point for each change. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory; ARGUMENT also where there is no such cause. */
PPSCHED_API ppsched_status ppsched_timeline_get_memory_of_cause(ppsched_memory_point *out,
                                                                size_t capacity, size_t *needed,
                                                                const ppsched_timeline *timeline,
                                                                uint32_t device, int32_t cause,
                                                                ppsched_error *error);

/* A device's peak memory by cause, in the order of enum ppsched_memory_cause. Added in that order,
 * the parts give exactly the peak, bit for bit. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER. */
PPSCHED_API ppsched_status ppsched_timeline_get_peak_causes(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            uint32_t device, ppsched_error *error);

/* All that a device holds in memory at its peak, by cause. Within a cause, what it always holds is
 * first, by stage; then the rest, in the order in which it was taken. Items of size 0 are left out.
 * Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory. */
PPSCHED_API ppsched_status ppsched_timeline_get_peak_items(ppsched_memory_item *out,
                                                           size_t capacity, size_t *needed,
                                                           const ppsched_timeline *timeline,
                                                           uint32_t device, ppsched_error *error);

/* The times in which a device computes nothing, from 0 to the makespan, and the free memory in
 * each: other work could run there. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory. */
PPSCHED_API ppsched_status ppsched_timeline_get_idle_windows(ppsched_idle_window *out,
                                                             size_t capacity, size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             uint32_t device, ppsched_error *error);

/* A cause's name, which is that of its enumerator, such as "gradients"; NULL for an unknown cause.
 * Static storage. */
PPSCHED_API const char *ppsched_memory_cause_name(int32_t cause);

#ifdef __cplusplus
}
#endif
#endif
