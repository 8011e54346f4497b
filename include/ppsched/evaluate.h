/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: when each op runs, what that costs, and how much memory it takes. */
#ifndef PPSCHED_EVALUATE_H
#define PPSCHED_EVALUATE_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/op.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The evaluator's result. Immutable; holds a reference to its schedule, so both may be freed in any order.
 * Thread-safety: may be read by any number of threads; destroyed once. */
typedef struct ppsched_timeline ppsched_timeline;

enum ppsched_evaluate_flag {
    PPSCHED_EVALUATE_EARLIEST_ONLY = 1 /* leave out the latest starts: less time and memory */
};

/* Figures of the whole schedule. Sized: the caller sets `size`. Times and memory in the caller's units. */
typedef struct ppsched_metrics {
    uint32_t size;
    uint32_t span_device;    /* the device with the longest span, the lowest of them */
    uint32_t peak_device;    /* the device with the largest peak memory, the lowest of them */
    uint32_t limit_device;   /* the first device whose peak is over its limit (by more than a share of 1e-9);
                                PPSCHED_NONE where all fit */
    double makespan;         /* from 0 to the last end */
    double span;             /* longest first-start-to-last-end of one device: the cost of an iteration where the optimizer
                                does not synchronise the devices */
    double bubble_of_total;  /* idle / (D * makespan) */
    double bubble_of_ideal;  /* idle / busy */
    double bubble_of_span;   /* 1 - mean busy / span */
    double peak_memory;      /* of `peak_device` */
} ppsched_metrics;

/* Figures of one device. Sized likewise. */
typedef struct ppsched_device_metrics {
    uint32_t size;
    uint32_t peak_position;  /* the op of its queue at whose start the peak first stands; PPSCHED_NONE where no op adds to
                                the static memory */
    double busy;             /* sum of durations, an overlapped pair counted once */
    double idle;             /* makespan - busy */
    double first_start;      /* of F, B, I and W; 0 where the queue has none, as last_end */
    double last_end;
    double static_memory;    /* static memory of its stages, and their weights times the versions */
    double peak_memory;      /* static memory included */
    double peak_time;        /* when the peak first stands */
    double memory_limit;     /* infinite where none is set */
} ppsched_device_metrics;

/* A step of a device's memory curve: the level from `time` on, in the order of the queue. */
typedef struct ppsched_memory_point {
    double time;
    double memory;
} ppsched_memory_point;

/* Times the schedule with the config's durations and delays: an op starts when its device is free (in queue order) and its
 * inputs are there. F(s,m) needs F(s-1,m); B or I of (s,m) needs its own F and the backward (B or I) of (s+1,m); W needs its
 * I; a dependency that crosses devices adds the delay. Both ops of an overlapped pair start and end together. Where the
 * schedule flushes, an iteration starts when the one before has ended on all devices. Ops other than F, B, I and W take no
 * time of their own here, and wait for their place in the queue and the flush alone. Results are equal to the last bit on
 * every platform.
 * `flags`: enum ppsched_evaluate_flag, 0 for everything. Devices and stages of schedule and config must be equal;
 * microbatches, iterations and placement are the schedule's.
 * Errors: MISMATCH, RANGE (see ppsched_config_validate; times or memory whose sum overflows), INVALID_SCHEDULE with the cycle
 * or the missing op, NO_MEMORY. Time and memory are linear in the ops. */
PPSCHED_API ppsched_status ppsched_evaluate(ppsched_timeline **out, const ppsched_schedule *schedule,
                                            const ppsched_config *config, uint32_t flags, ppsched_error *error);

/* Frees it. NULL is accepted. */
PPSCHED_API void ppsched_timeline_destroy(ppsched_timeline *timeline);

/* The schedule that was timed, borrowed. */
PPSCHED_API const ppsched_schedule *ppsched_timeline_schedule(const ppsched_timeline *timeline);

/* Start and end of each op of a device's queue, borrowed; `*count` equals the queue's. NULL where there is no such device. */
PPSCHED_API const ppsched_span *ppsched_timeline_spans(const ppsched_timeline *timeline, uint32_t device, size_t *count);

/* Latest start of each op that leaves the makespan as it is, borrowed; slack is that minus the start, and exactly 0 on the
 * critical path. NULL with EARLIEST_ONLY. */
PPSCHED_API const double *ppsched_timeline_latest_starts(const ppsched_timeline *timeline, uint32_t device, size_t *count);

/* Fills the figures. Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_timeline_metrics(const ppsched_timeline *timeline, ppsched_metrics *metrics);
PPSCHED_API ppsched_status ppsched_timeline_device_metrics(const ppsched_timeline *timeline, uint32_t device,
                                                           ppsched_device_metrics *metrics);

/* Memory of a device over time: its static memory at 0, then a point for each start or end that changes it, in queue order.
 * `*count` gets the number of points. With `points` NULL and `capacity` 0 it only asks; BUFFER where they do not fit (then
 * nothing is written). */
PPSCHED_API ppsched_status ppsched_timeline_memory(const ppsched_timeline *timeline, uint32_t device,
                                                   ppsched_memory_point *points, size_t capacity, size_t *count);

#ifdef __cplusplus
}
#endif
#endif
