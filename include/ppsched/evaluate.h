/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator computes when each op runs, where devices are idle, and how much memory they hold.
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

/* The result of an evaluation. Only ppsched_timeline_update changes it.
 * Lifetime: the caller destroys the timeline. The timeline holds a reference to its schedule, so
 *   the two may be freed in any order.
 * Thread-safety: any number of threads may read a timeline at the same time. While a thread updates
 *   or destroys it, no other thread may use it. */
typedef struct ppsched_timeline ppsched_timeline;

enum ppsched_evaluate_flag {
    PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY = 1, /* do not compute latest starts and idle causes. The
                                                call then takes less time and memory */
    PPSCHED_EVALUATE_FLAG_REUSABLE = 2       /* keep what ppsched_timeline_update needs. The
                                                timeline then takes twice the memory, plus 16 bytes
                                                per stage pass */
};

/* Metrics of the whole schedule. Set `size` to sizeof of this struct. Times and memory are in the
 * caller's units. */
typedef struct ppsched_metrics {
    uint32_t size;
    uint32_t span_device;   /* the device with the longest span; the lowest such device if there are
                               several */
    uint32_t peak_device;   /* the device with the largest peak memory; the lowest such device if
                               there are several */
    uint32_t limit_device;  /* the lowest device whose peak memory is above its limit by more than
                               1e-9 of the limit; PPSCHED_NONE if there is none */
    double makespan;        /* time from 0 to the end of the last op */
    double span;            /* longest span of a device: the time from its first start to its last
                               end. An iteration takes as long as the span if the optimizer does not
                               synchronise the devices */
    double bubble_of_total; /* idle / (D * makespan). In this and the next two formulas, `idle` and
                               `busy` are sums over all D devices */
    double bubble_of_ideal; /* idle / busy */
    double bubble_of_span;  /* 1 - busy / (D * span) */
    double peak_memory;     /* peak memory of `peak_device` */
} ppsched_metrics;

/* Metrics of one device. Set `size` to sizeof of this struct. Times and memory are in the caller's
 * units. */
typedef struct ppsched_device_metrics {
    uint32_t size;
    uint32_t peak_position; /* position in the queue of the op at which memory, as computed in
                               doubles, first reaches the peak: at the start of this op, or at its
                               end if the op adds a send buffer or an output. PPSCHED_NONE if memory
                               is never above the static memory */
    double busy;            /* sum of the durations of ops; an overlapped pair counts once */
    double idle;            /* makespan - busy */
    double first_start;     /* start of the first F, B, I or W; 0 if the queue has none of them */
    double last_end;        /* end of the last F, B, I or W; 0 if the queue has none of them */
    double static_memory;   /* MEM_OTHER of the device, plus for each of its stages MEM_STATIC +
                               MEM_OPTIMIZER + MEM_WEIGHTS * weight versions */
    double peak_memory;     /* largest memory of the device, including static memory */
    double peak_time;       /* time when memory first reaches the peak */
    double memory_limit;    /* memory limit of the device; infinite if no limit is set */
} ppsched_device_metrics;

/* The idle time of a device, divided by cause. The causes add up to the idle time. The *awaited
 * input* is the input for which the device waits. Set `size` to sizeof of this struct. Times are in
 * the caller's unit.
 *   - A wait for an input has several parts: while the input is not computed yet, while it waits
 *     for its channel, while it waits for its link, and while it is under way. Each part counts for
 *     its own cause.
 *   - If an overlapped pair waits for two inputs, the input that arrives last counts. If both
 *     arrive at the same time, the input of the pair's first op counts.
 *   - If several sends and receives block a device, the wait is for the op that is done last. If
 *     several are done at the same time, the wait is for the last of these ops in the device's
 *     queue. */
typedef struct ppsched_idle {
    uint32_t size;
    uint32_t reserved;
    double fill;         /* time before the device's first op of an iteration, while the awaited
                            input is not computed yet */
    double drain;        /* time after the device's last op of an iteration */
    double neighbour;    /* time between the device's first and last op of an iteration, while the
                            awaited input is not computed yet; without the time that counts as
                            `imbalance` */
    double imbalance;    /* time between the device's first and last op of an iteration, while the
                            awaited input is not computed yet because other devices have more work.
                            `imbalance` is at most the busy time of the busiest device minus the
                            busy time of this device */
    double transfer;     /* time while the awaited input is under way: latency, and bytes /
                            bandwidth. Also time in which the awaited input is already computed, but
                            the device itself still sends a value, or waits until this value has
                            arrived (enum ppsched_sender_waits) */
    double link;         /* time while the awaited input waits for its link, because the link
                            transfers other values */
    double head_of_line; /* time while the awaited input, or its receive, waits for other sends and
                            receives of its channel */
    double weights;      /* time in three cases: the weights that the device needs are not gathered
                            yet; an UNSHARD or REDUCE_GRAD stops the device
                            (PPSCHED_QUANTITY_SHARDING_SLOWDOWN); the device is in a
                            WAIT_REDUCE_GRAD */
    double reload;       /* time in which the device waits until activations are copied back from
                            the host, or in which it is in an OFFLOAD_WAIT */
    double calls;        /* time in which the device is in the call of a SEND or RECV
                            (PPSCHED_QUANTITY_SEND_OVERHEAD). Also time in which another device is
                            in the call that sends the awaited input */
    double slow_devices; /* idle time because of DEVICE_SPEEDS, DEVICE_SCALE, STAGE_SCALE and
                            DEVICE_OVERHEAD: how much longer the device is idle than in the same
                            order of ops without these quantities. This time is subtracted from the
                            other members, so that it counts once: first from imbalance, then from
                            neighbour, fill, drain, transfer, link, head_of_line, weights, reload
                            and calls */
} ppsched_idle;

/* Memory causes: the purposes for which a device holds memory. The comment of each cause names the
 * quantities (enum ppsched_quantity) that set the amount. */
enum ppsched_memory_cause {
    PPSCHED_MEMORY_CAUSE_STATIC = 0,      /* mem_static of the device's stages */
    PPSCHED_MEMORY_CAUSE_WEIGHTS = 1,     /* mem_weights, times the number of weight versions */
    PPSCHED_MEMORY_CAUSE_OPTIMIZER = 2,   /* mem_optimizer */
    PPSCHED_MEMORY_CAUSE_OTHER = 3,       /* mem_other of the device */
    PPSCHED_MEMORY_CAUSE_GRADIENTS = 4,   /* mem_gradients */
    PPSCHED_MEMORY_CAUSE_GATHERED = 5,    /* mem_gathered */
    PPSCHED_MEMORY_CAUSE_SENDS = 6,       /* mem_send_forward, mem_send_backward */
    PPSCHED_MEMORY_CAUSE_RECEIVES = 7,    /* mem_receive_forward, mem_receive_backward */
    PPSCHED_MEMORY_CAUSE_OUTPUTS = 8,     /* mem_output */
    PPSCHED_MEMORY_CAUSE_WORK = 9,        /* mem_work_forward, mem_work_backward,
                                             mem_work_backward_input, mem_work_backward_weight */
    PPSCHED_MEMORY_CAUSE_ACTIVATIONS = 10 /* mem_forward; plus what backwards recompute
                                             (mem_recomputed_backward_input,
                                             mem_recomputed_backward) or add (a positive
                                             mem_backward_input); minus what mem_backward_input and
                                             mem_backward_weight have released */
};

/* A span of time in which a device computes nothing. 32 bytes, no padding. */
typedef struct ppsched_idle_window {
    double start;  /* time when the window starts */
    double end;    /* time when the window ends */
    double memory; /* the most memory that the device holds between `start` and `end` */
    double free;   /* memory limit minus `memory`: infinite without a limit, negative if `memory` is
                      above the limit */
} ppsched_idle_window;

/* One item in a device's memory. 32 bytes, no padding. */
typedef struct ppsched_memory_item {
    int32_t cause;       /* enum ppsched_memory_cause */
    uint32_t stage;      /* stage that the memory belongs to; PPSCHED_NONE for OTHER */
    uint32_t microbatch; /* microbatch that the memory belongs to; PPSCHED_NONE if there is none */
    uint32_t position;   /* position in the device's queue of the op that took this memory;
                            PPSCHED_NONE if the memory is always held */
    double memory;       /* how much memory the item takes, in the caller's unit */
    double since;        /* time when the memory was taken */
} ppsched_memory_item;

/* A change of a device's memory: from `time` on, the device holds `memory`. 16 bytes, no
 * padding. */
typedef struct ppsched_memory_point {
    double time;   /* time of the change */
    double memory; /* memory that the device holds from `time` on, in the caller's unit */
} ppsched_memory_point;

/* --- making a timeline --- */

/* Computes when each op of a schedule runs, with the config's durations and delays. `flags` has
 * flags of enum ppsched_evaluate_flag, combined with `|`, or is 0 for all results.
 *   - A device runs its ops in queue order. An op starts when its device is free and its inputs are
 *     there.
 *   - The inputs of an op of stage s and microbatch m are: for F, the F of stage s-1; for B and I,
 *     the F of stage s, and the B or I of stage s+1; for W, the I of stage s. All are of microbatch
 *     m. Slices and stage graphs have further rules: see ppsched_config_set_slices and
 *     stage_graph.h.
 *   - An input from another device arrives after its transfer. The transfer takes the latency plus
 *     bytes / bandwidth, and is not delayed by other transfers.
 *   - Both ops of an overlapped pair start and end together.
 *   - If the schedule flushes, an iteration starts when the iteration before has ended on all
 *     devices.
 *   - RECOMPUTE runs on its device like F. Its duration is PPSCHED_QUANTITY_RECOMPUTE_TIMES. The B
 *     or I of the stage pass runs after its RECOMPUTE. In a stage pass with RECOMPUTE, F takes only
 *     the memory PPSCHED_QUANTITY_MEM_RECOMPUTE, and RECOMPUTE takes the rest of
 *     PPSCHED_QUANTITY_MEM_FORWARD when it starts.
 *   - OFFLOAD and RELOAD start copies, and the device continues immediately. The copies of a device
 *     in one direction run in the order of its queue. A copy starts no earlier than when the device
 *     reaches the op of the copy. A host link (PPSCHED_QUANTITY_HOST_LINK) runs one copy per
 *     direction at a time, in the order in which the devices are ready to start their copies. If
 *     two devices are ready at the same time, the device with the lower number copies first. A
 *     RELOAD starts only after its OFFLOAD is done.
 *   - A B or I waits until the RELOAD of its stage pass is done. OFFLOAD_WAIT waits until its
 *     OFFLOAD is done. The ops after such a B, I or OFFLOAD_WAIT in the queue wait, too.
 *   - The memory PPSCHED_QUANTITY_MEM_OFFLOAD is freed when the copy of OFFLOAD ends, and taken
 *     again when the copy of RELOAD starts. In the timeline, the start and end of OFFLOAD and
 *     RELOAD are the start and end of their copies. Latest starts (ppsched_timeline_latest_starts)
 *     assume that the times of copies and the durations of ops do not change.
 *   - While a copy of a device runs, compute ops of the device are slower by the factor
 *     PPSCHED_QUANTITY_COPY_SLOWDOWN.
 *   - All other ops, such as UNSHARD and REDUCE_GRAD, take no time in this call. They wait only for
 *     the ops before them in the queue, and for the flush.
 * Schedule and config must have the same number of devices, and the same number of stages. The
 * placement, the number of microbatches and the number of iterations come from the schedule, not
 * from the config. Results are bit for bit the same on all platforms. Time and memory of the call
 * are linear in the number of ops. The caller destroys the timeline.
 * Errors: ARGUMENT; MISMATCH, also where the chunks of a request
 *   (PPSCHED_QUANTITY_MICROBATCH_REQUEST) do not run in order; RANGE as for
 *   ppsched_config_validate, and where a sum of times or memory is too large for a double;
 *   INVALID_SCHEDULE (the message has the wait cycle or the missing op); REFUSED where senders wait
 *   (ppsched_config_set_sender_waits) and the schedule has RECOMPUTE, OFFLOAD or RELOAD; REFUSED
 *   where the config has requests and also backwards (ppsched_config_set_forward_only), or where
 *   the config has requests and the schedule has slices; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_evaluate(ppsched_timeline **out,
                                                     const ppsched_schedule *schedule,
                                                     const ppsched_config *config, uint32_t flags,
                                                     ppsched_error *error);

/* Computes when each op of a lowered schedule runs, including its sends and receives. If `model` is
 * NULL, the order is PPSCHED_CHANNEL_ORDER_NONE and sends do not wait for their receives. Transfers
 * then wait only for their links.
 *   - A link is a directed pair of devices. A send begins to wait for its link when the channel
 *     model (channel.h) allows the send to start. With `rendezvous`, the send also waits until its
 *     receive may start. A link transfers values in the order in which their sends began to wait
 *     for the link.
 *   - A transfer occupies its link for bytes / bandwidth. After this time the send is done, and the
 *     value arrives one latency later. But with PPSCHED_CHANNEL_ORDER_SENDS the send is done only
 *     when the value arrives.
 *   - A receive is done when its value has arrived, and the channel model allows the receive to
 *     start. The op that needs the value starts only when the receive is done.
 *   - When a device reaches a send or a receive, the device first makes a call, which takes the
 *     time PPSCHED_QUANTITY_SEND_OVERHEAD. During the call the device computes nothing, so this
 *     time is idle time (`calls` of ppsched_idle). At the end of the call the device continues, and
 *     the send or receive may start. Sends and receives have the same overhead.
 *   - If the model is `batched`, consecutive sends and receives form a batch; a flush ends a batch.
 *     The calls of a batch run one after another, and the sends and receives of the batch may start
 *     only at the end of the last call. PyTorch's batch_isend_irecv does the same: it makes one
 *     call per op, in a group whose ops start only when the group ends. But PyTorch's pipeline
 *     runtime calls batch_isend_irecv for each send or receive separately, so each of its batches
 *     has only one op.
 *   - In the timeline, a send starts when its transfer starts. Its receive starts at the same time,
 *     or later if the channel model does not allow it to start yet. The send and the receive end
 *     when they are done by the rules above.
 *   - PPSCHED_QUANTITY_UNSHARD_TIMES and the quantities after it set the times of UNSHARD and
 *     REDUCE_GRAD. These ops run on a separate channel of their device, one after another in the
 *     order of the device's queue. An UNSHARD or REDUCE_GRAD starts no earlier than when the device
 *     reaches it in the queue. F, B, I and W of a stage wait for the UNSHARD of the stage. A
 *     REDUCE_GRAD starts after the last W of its stage. While an UNSHARD or REDUCE_GRAD runs, the
 *     device continues, but its ops are slower by the factor PPSCHED_QUANTITY_SHARDING_SLOWDOWN.
 *     The flush and the makespan wait for all UNSHARDs and REDUCE_GRADs. In a WAIT_REDUCE_GRAD, the
 *     device does nothing until the REDUCE_GRAD is done.
 *   - RECOMPUTE, OFFLOAD, RELOAD and OFFLOAD_WAIT are as in ppsched_schedule_evaluate. Copies use
 *     only host links. If a copy and also an UNSHARD or REDUCE_GRAD make an op slower, the factor
 *     of the copy multiplies the time that the UNSHARD or REDUCE_GRAD has already made longer. If
 *     an op waits for its copy after its receive is done, this part of the wait counts as `reload`
 *     of ppsched_idle.
 * If three conditions hold, the times are exactly the times of ppsched_schedule_evaluate:
 * bandwidths are infinite; `model` is NULL; UNSHARD, REDUCE_GRAD and the calls of sends and
 * receives take no time. The timeline has no latest starts, because the order of transfers depends
 * on the times. `flags` must be 0 or EARLIEST_ONLY (enum ppsched_evaluate_flag), which changes
 * nothing in this call. With REUSABLE, the call returns ARGUMENT. The caller destroys the timeline.
 * Errors: as ppsched_schedule_evaluate and ppsched_schedule_prove; INVALID_SCHEDULE where the
 *   schedule deadlocks in the channel model; REFUSED where senders wait
 *   (ppsched_config_set_sender_waits). */
PPSCHED_API ppsched_status ppsched_schedule_evaluate_transfers(
    ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_channel_model *model, uint32_t flags, ppsched_error *error);

/* Evaluates the schedule of a timeline again, as ppsched_schedule_evaluate would with this config
 * and the timeline's flags. The call is for a launcher that measures costs during training, and
 * plans each step with the latest costs. Pointers borrowed from the timeline become invalid. On an
 * error nothing changes. In most cases, the call allocates nothing. But the first two updates may
 * allocate if the config has at least one of these:
 *   - one of the quantities PPSCHED_QUANTITY_MEM_OPTIMIZER to MEM_WORK_BACKWARD_WEIGHT;
 *   - memory that rises in a backward: MEM_RECOMPUTED_BACKWARD_INPUT, MEM_RECOMPUTED_BACKWARD, a
 *     positive MEM_BACKWARD_INPUT;
 *   - factors of microbatches or slices. With these factors, a later update also allocates if
 *     SLICE_SCALE has another number of values than in the update before;
 *   - senders that wait (ppsched_config_set_sender_waits);
 *   - windows (ppsched_config_set_windows);
 *   - speeds (DEVICE_SPEEDS, DEVICE_SCALE, STAGE_SCALE or DEVICE_OVERHEAD), if the timeline has
 *     idle causes.
 * Errors: as ppsched_schedule_evaluate, but NO_MEMORY only where the call allocates; ARGUMENT also
 *   where the timeline was made without REUSABLE. */
PPSCHED_API ppsched_status ppsched_timeline_update(ppsched_timeline *timeline,
                                                   const ppsched_config *config,
                                                   ppsched_error *error);

/* Frees a timeline. NULL is accepted. */
PPSCHED_API void ppsched_timeline_destroy(ppsched_timeline *timeline);

/* --- reading a timeline --- */

/* The schedule of the timeline, borrowed. */
PPSCHED_API const ppsched_schedule *ppsched_timeline_schedule(const ppsched_timeline *timeline);

/* Start and end of each op of a device's queue, borrowed. `*count` receives the length of the
 * queue. NULL if there is no such device. */
PPSCHED_API const ppsched_span *ppsched_timeline_spans(const ppsched_timeline *timeline,
                                                       uint32_t device, size_t *count);

/* For each op of a device's queue, the latest start that does not make the makespan longer;
 * borrowed. `*count` receives the length of the queue. The slack of an op is this latest start
 * minus the op's start. The slack is exactly 0 on the critical path. The result is NULL with
 * EARLIEST_ONLY, for an evaluation with transfers, and if there is no such device. */
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
 * an op that changes the memory. Points are in order of time; at equal times, in order of the
 * queue. Fills a buffer: see ppsched.h.
 *   - The memory is the sum of all causes (enum ppsched_memory_cause). Sends, receives and gathered
 *     weights count only if the schedule has ops for them.
 *   - This is how the sum is rounded: usually, the memory of a point is the memory of the point
 *     before plus the change. In three cases, it is the sum of the causes, added in the order of
 *     the enum: the config sets one of the quantities from MEM_OPTIMIZER to
 *     MEM_WORK_BACKWARD_WEIGHT (enum ppsched_quantity); memory rises in a backward; or the schedule
 *     has RECOMPUTE, OFFLOAD or RELOAD.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_timeline_get_memory(ppsched_memory_point *out, size_t capacity,
                                                       size_t *needed,
                                                       const ppsched_timeline *timeline,
                                                       uint32_t device, ppsched_error *error);

/* The memory of a device for one cause (enum ppsched_memory_cause): the memory at time 0, then a
 * point for each change. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory; ARGUMENT also where there is no such cause. */
PPSCHED_API ppsched_status ppsched_timeline_get_memory_of_cause(ppsched_memory_point *out,
                                                                size_t capacity, size_t *needed,
                                                                const ppsched_timeline *timeline,
                                                                uint32_t device, int32_t cause,
                                                                ppsched_error *error);

/* The peak memory of a device, divided by cause, in the order of enum ppsched_memory_cause. If the
 * parts are added in this order, the sum is exactly the peak. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER. */
PPSCHED_API ppsched_status ppsched_timeline_get_peak_causes(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            uint32_t device, ppsched_error *error);

/* All items that a device holds in memory at its peak, in the order of their causes. Within a
 * cause, items that are always held come first, in the order of their stages. The other items
 * follow, in the order in which their memory was taken. Items of size 0 are left out. Fills a
 * buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory. */
PPSCHED_API ppsched_status ppsched_timeline_get_peak_items(ppsched_memory_item *out,
                                                           size_t capacity, size_t *needed,
                                                           const ppsched_timeline *timeline,
                                                           uint32_t device, ppsched_error *error);

/* The idle windows of a device from 0 to the makespan, with the free memory in each window. Other
 * work could run in these windows. Fills a buffer: see ppsched.h.
 * Errors: as ppsched_timeline_get_memory. */
PPSCHED_API ppsched_status ppsched_timeline_get_idle_windows(ppsched_idle_window *out,
                                                             size_t capacity, size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             uint32_t device, ppsched_error *error);

/* The name of a cause, such as "gradients" for PPSCHED_MEMORY_CAUSE_GRADIENTS; NULL for an unknown
 * cause. The text has static storage. */
PPSCHED_API const char *ppsched_memory_cause_name(int32_t cause);

#ifdef __cplusplus
}
#endif
#endif
