/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: when each op runs, what that costs, and how much memory it takes. */
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

/* The evaluator's result. Immutable but for ppsched_timeline_update.
 * Lifetime: the caller destroys it. It holds a reference to its schedule, so both may be freed in
 *   any order.
 * Thread-safety: may be read by any number of threads; updated while none reads it; destroyed
 *   once. */
typedef struct ppsched_timeline ppsched_timeline;

enum ppsched_evaluate_flag {
    PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY = 1, /* leave out the latest starts and why devices are
                                                idle: less time and memory */
    PPSCHED_EVALUATE_FLAG_REUSABLE = 2       /* keep what ppsched_timeline_update needs: twice the
                                                timeline's memory, and 16 bytes a stage pass */
};

/* Figures of the whole schedule. Sized. Times and memory in the caller's units. */
typedef struct ppsched_metrics {
    uint32_t size;
    uint32_t span_device;   /* the device with the longest span, the lowest of them */
    uint32_t peak_device;   /* the device with the largest peak memory, the lowest of them */
    uint32_t limit_device;  /* the first device whose peak is over its limit (by more than a share
                               of 1e-9); PPSCHED_NONE where all fit */
    double makespan;        /* from 0 to the last end */
    double span;            /* longest first-start-to-last-end of one device: the cost of an
                               iteration where the optimizer does not synchronise the devices */
    double bubble_of_total; /* idle / (D * makespan) */
    double bubble_of_ideal; /* idle / busy */
    double bubble_of_span;  /* 1 - mean busy / span */
    double peak_memory;     /* of `peak_device` */
} ppsched_metrics;

/* Figures of one device. Sized. Times and memory in the caller's units. */
typedef struct ppsched_device_metrics {
    uint32_t size;
    uint32_t peak_position; /* the op of its queue with which the peak first stands, as doubles
                               add up: from its start on, or from its end where that adds what it
                               sends; PPSCHED_NONE where no op adds to the static memory */
    double busy;            /* sum of durations, an overlapped pair counted once */
    double idle;            /* makespan - busy */
    double first_start;     /* of F, B, I and W; 0 where the queue has none */
    double last_end;        /* likewise */
    double static_memory;   /* static memory of its stages, their weights times the versions, their
                               optimizer states, and what the device holds beside */
    double peak_memory;     /* static memory included */
    double peak_time;       /* when the peak first stands */
    double memory_limit;    /* infinite where none is set */
} ppsched_device_metrics;

/* Why a device is idle; the parts sum to its idle time. Sized. Times in the caller's unit.
 * A wait that ends with the receive of a value is split along the way of that value. Where an
 * overlapped pair waits for two, that is the one which comes last, and of two that come at once
 * that of the pair's first op. A device that several comm ops block waits for the one that is done
 * last, and of several done at once for the last of them in its queue. Before a device's first op
 * of an iteration, waiting for the neighbour is `fill`. */
typedef struct ppsched_idle {
    uint32_t size;
    uint32_t reserved;
    double fill;         /* before its first op of an iteration: no value has been made for it */
    double drain;        /* after its last op of an iteration */
    double neighbour;    /* the value that it waits for is not made yet, less `imbalance` */
    double imbalance;    /* the same, as far as other devices just have more work: at most the
                            busiest device's more */
    double transfer;     /* the value is on its way: latency, and bytes / bandwidth; or the device
                            is busy sending, or waits for what it sent (enum ppsched_sender_waits),
                            as far as no other value is still to be made */
    double link;         /* the value waits for its link, which other values occupy */
    double head_of_line; /* the value, or its receive, waits behind other comm ops of its channel */
    double weights; /* the weights that it needs are not gathered yet, or UNSHARD or REDUCE_GRAD
                            has it stand still (PPSCHED_QUANTITY_SHARDING_SLOWDOWN) */
    double reload;  /* what it needs is not back from the host yet, or OFFLOAD_WAIT waits */
    double calls;   /* it makes the call of a SEND or RECV, or waits for another device that makes
                            the call which sends the value (PPSCHED_QUANTITY_SEND_OVERHEAD) */
} ppsched_idle;

/* What memory is taken by: how much says the quantity of that name (enum ppsched_quantity). */
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
    PPSCHED_MEMORY_CAUSE_ACTIVATIONS = 10 /* mem_forward and what backwards compute again, less what
                                             mem_backward_input and mem_backward_weight have
                                             released */
};

/* A time in which a device computes nothing. 32 bytes, no padding. */
typedef struct ppsched_idle_window {
    double start;
    double end;
    double memory; /* the most that it holds meanwhile */
    double free;   /* its limit less that; infinite where none is set, negative where it is over */
} ppsched_idle_window;

/* Something that stands in a device's memory. 32 bytes, no padding. */
typedef struct ppsched_memory_item {
    int32_t cause;       /* enum ppsched_memory_cause */
    uint32_t stage;      /* PPSCHED_NONE of OTHER */
    uint32_t microbatch; /* PPSCHED_NONE where it is of none */
    uint32_t position;   /* the op of the device's queue that it came with; PPSCHED_NONE where it is
                            always there */
    double memory;
    double since; /* when it came */
} ppsched_memory_item;

/* A step of a device's memory curve: the level from `time` on. 16 bytes, no padding. */
typedef struct ppsched_memory_point {
    double time;
    double memory;
} ppsched_memory_point;

/* --- making one --- */

/* Times the schedule with the config's durations and delays. `flags`: enum ppsched_evaluate_flag, 0
 * for everything.
 *   - An op starts when its device is free (in queue order) and its inputs are there: F(s,m) needs
 *     F(s-1,m); B or I of (s,m) needs its own F and the backward (B or I) of (s+1,m); W needs its
 *     I.
 *   - A dependency that crosses devices adds its latency and bytes / bandwidth, whatever else is on
 *     the way.
 *   - Both ops of an overlapped pair start and end together.
 *   - Where the schedule flushes, an iteration starts when the one before has ended on all devices.
 *   - RECOMPUTE runs on its device as F does, for PPSCHED_QUANTITY_RECOMPUTE_TIMES; B or I, with
 *     what a pass keeps without, comes behind it. F then takes PPSCHED_QUANTITY_MEM_RECOMPUTE
 *     alone, and RECOMPUTE the rest, when it starts.
 *   - OFFLOAD and RELOAD copy beside the device, which goes on: from when it comes to the op, each
 *     device's copies of one way in the order of its queue, each way of a link
 *     (PPSCHED_QUANTITY_HOST_LINK) one at a time, first come, first served, the lower device first
 *     where two come at once; a RELOAD not before its OFFLOAD is done. B or I waits for its RELOAD,
 *     OFFLOAD_WAIT for its OFFLOAD, and what comes behind it in the queue with it.
 *     PPSCHED_QUANTITY_MEM_OFFLOAD goes when the copy of OFFLOAD ends, and is back from the start
 *     of that of RELOAD on. Their spans are those of the copies; latest starts leave them where
 *     they are, and ops as long as they are.
 *   - While a copy of a device runs, what it computes goes slower by
 *     PPSCHED_QUANTITY_COPY_SLOWDOWN, as far as the copy runs beside it.
 *   - Other ops than these take no time of their own here, UNSHARD and REDUCE_GRAD neither, and
 *     wait for their place in the queue and the flush alone.
 * Devices and stages of schedule and config must be equal; microbatches, iterations and placement
 * are the schedule's. Results are equal to the last bit on every platform. Time and memory are
 * linear in the ops.
 * Errors: ARGUMENT, MISMATCH; RANGE as of ppsched_config_validate, and where times or memory sum to
 *   more than a double; INVALID_SCHEDULE with the cycle or the missing op; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate(ppsched_timeline **out,
                                                     const ppsched_schedule *schedule,
                                                     const ppsched_config *config, uint32_t flags,
                                                     ppsched_error *error);

/* Times a lowered schedule with its transfers. `model` NULL is PPSCHED_CHANNEL_ORDER_NONE,
 * buffered: transfers wait for nothing but their links.
 *   - A send asks for its link, the directed pair of devices, once it has its turn in the channel
 *     model (and with rendezvous its receive, too); links serve in the order in which they are
 *     asked.
 *   - A transfer occupies its link for bytes / bandwidth; then the send is done, and latency later
 *     the value is there (with PPSCHED_CHANNEL_ORDER_SENDS the send is done only now).
 *   - A receive is done when its value is there and its own turn has come. Only then does the op
 *     that needs it start.
 *   - With PPSCHED_QUANTITY_SEND_OVERHEAD a device that comes to a send or receive calls for so
 *     long, and the op can have its turn at the end of the call, not before; only then the device
 *     goes on. A send and a receive take the same. Neighbours that the model has start together
 *     (`batched`) take it once each, one behind another, and are all issued at the end of the last,
 *     those behind a flush by themselves: PyTorch's batch_isend_irecv makes the call of each op in
 *     turn, in a group of which nothing starts before its end, and its pipeline runtime has a call
 *     for each. A device that calls is idle (`calls`), as it computes nothing.
 *   - Spans of sends and receives are from the transfer's start (a receive's: not before its turn)
 *     until they are done.
 *   - UNSHARD and REDUCE_GRAD take their time (PPSCHED_QUANTITY_UNSHARD_TIMES and on) on a channel
 *     of the device's own, one after another in the order of its queue, each from when the device
 *     comes to it. F, B, I and W of a stage wait for its UNSHARD; a REDUCE_GRAD comes behind the
 *     last W anyway. The device goes on meanwhile, slower by PPSCHED_QUANTITY_SHARDING_SLOWDOWN;
 *     the flush, and the makespan, wait for all of them.
 *   - RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT are as in ppsched_schedule_evaluate; copies take
 *     their links to the host alone, and have what UNSHARD slows take longer still. What a device
 *     waits for a copy once its receive is done is `reload`.
 * With infinite bandwidths, no model and no times of sharding ops and calls the times are those of
 * ppsched_schedule_evaluate, to the last bit. There are no latest starts, as which transfer goes
 * first depends on times.
 * `flags`: enum ppsched_evaluate_flag; EARLIEST_ONLY is of no effect, REUSABLE an ARGUMENT error.
 * Errors: as ppsched_schedule_evaluate, and those of ppsched_schedule_prove: INVALID_SCHEDULE where
 *   it hangs. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_transfers(
    ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_channel_model *model, uint32_t flags, ppsched_error *error);

/* Times the schedule of a timeline anew, as ppsched_schedule_evaluate would with this config and
 * the timeline's flags: for a launcher that plans each step with the costs it has just measured.
 * Allocates nothing, but where a config gives mem_optimizer or a quantity of memory behind it, or a
 * scale of microbatches or slices (enum ppsched_quantity), the first two times. What was borrowed
 * from the timeline is invalid afterwards; on an error all is as before.
 * Errors: ARGUMENT, also where the timeline was made without REUSABLE; MISMATCH, RANGE, and where
 *   it allocates NO_MEMORY, as ppsched_schedule_evaluate. */
PPSCHED_API ppsched_status ppsched_timeline_update(ppsched_timeline *timeline,
                                                   const ppsched_config *config,
                                                   ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_timeline_destroy(ppsched_timeline *timeline);

/* --- reading it --- */

/* The schedule that was timed, borrowed. */
PPSCHED_API const ppsched_schedule *ppsched_timeline_schedule(const ppsched_timeline *timeline);

/* Start and end of each op of a device's queue, borrowed; `*count` equals the queue's. NULL where
 * there is no such device. */
PPSCHED_API const ppsched_span *ppsched_timeline_spans(const ppsched_timeline *timeline,
                                                       uint32_t device, size_t *count);

/* Latest start of each op that leaves the makespan as it is, borrowed. Slack is that minus the
 * start, and exactly 0 on the critical path. NULL with EARLIEST_ONLY, and with transfers. */
PPSCHED_API const double *ppsched_timeline_latest_starts(const ppsched_timeline *timeline,
                                                         uint32_t device, size_t *count);

/* Figures of the whole schedule.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_timeline_get_metrics(ppsched_metrics *out,
                                                        const ppsched_timeline *timeline,
                                                        ppsched_error *error);

/* Figures of one device.
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

/* Memory of a device over time: its static memory at 0, then a point for each start or end that
 * changes it, in the order of time, and of the queue where times are equal. Fills a buffer: see
 * ppsched.h.
 *   - Of what memory is taken by see enum ppsched_memory_cause. Sends, receives and gathered
 *     weights count where the schedule has the ops.
 *   - With mem_optimizer or one of those behind it (enum ppsched_quantity) a level is the sum of
 *     the causes, in their order; else it is a running sum, as ever.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_timeline_get_memory(ppsched_memory_point *out, size_t capacity,
                                                       size_t *needed,
                                                       const ppsched_timeline *timeline,
                                                       uint32_t device, ppsched_error *error);

/* The part of it that has one cause (enum ppsched_memory_cause): at 0, then a point for each
 * change. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory; RANGE also where there is no such cause. */
PPSCHED_API ppsched_status ppsched_timeline_get_memory_of_cause(ppsched_memory_point *out,
                                                                size_t capacity, size_t *needed,
                                                                const ppsched_timeline *timeline,
                                                                uint32_t device, int32_t cause,
                                                                ppsched_error *error);

/* A device's peak by cause, in the order of enum ppsched_memory_cause; added up in that order they
 * are the peak to the last bit. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER. */
PPSCHED_API ppsched_status ppsched_timeline_get_peak_causes(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            uint32_t device, ppsched_error *error);

/* All that stands in a device's memory at its peak, by cause; then what is always there comes
 * first, by stage, and all else in the order in which it came. What takes 0 is left out. Fills a
 * buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory. */
PPSCHED_API ppsched_status ppsched_timeline_get_peak_items(ppsched_memory_item *out,
                                                           size_t capacity, size_t *needed,
                                                           const ppsched_timeline *timeline,
                                                           uint32_t device, ppsched_error *error);

/* The times in which a device computes nothing, from 0 to the makespan, and what memory is free in
 * each: what could be done there beside. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory. */
PPSCHED_API ppsched_status ppsched_timeline_get_idle_windows(ppsched_idle_window *out,
                                                             size_t capacity, size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             uint32_t device, ppsched_error *error);

/* A cause's name: that of its enumerator, such as "gradients"; NULL for an unknown one. Static
 * storage. */
PPSCHED_API const char *ppsched_memory_cause_name(int32_t cause);

#ifdef __cplusplus
}
#endif
#endif
