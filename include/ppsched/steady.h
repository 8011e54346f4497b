/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the figures of a strategy's schedule without making the whole schedule. If the order and
 * its times repeat, the time and memory of the call do not grow with the number of microbatches.
 *
 * The order of a rule (a strategy with a fixed order) has a prefix, a *block* of ops that repeats,
 * and a suffix. After some microbatches (the *transient*), the times of the ops repeat, too: every
 * op starts a fixed time later than the same op some blocks before. These blocks, one or more, are
 * a *period*. The call times more and more microbatches op by op, until the times have repeated in
 * several successive blocks. This proves the times of all later blocks.
 *
 * The result of ppsched_schedule_find_period is also called a period, but it is something else: the
 * time that an iteration takes in the long run.
 *
 * Sample:
 *     ppsched_config *config = NULL;
 *     ppsched_steady *steady = NULL;
 *     ppsched_steady_period period = {.size = sizeof period};
 *     ppsched_metrics metrics = {.size = sizeof metrics};
 *     ppsched_status status = ppsched_config_create(&config, 64, 64, 65536, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_steady_create(&steady, config, "1f1b", NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_steady_get_metrics(&metrics, steady, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_steady_get_period(&period, steady, NULL);
 *     printf("%g, %g a microbatch\n", metrics.makespan, period.cycle_time);
 *     ppsched_steady_destroy(steady);
 *     ppsched_config_destroy(config);
 */
#ifndef PPSCHED_STEADY_H
#define PPSCHED_STEADY_H

#include <stddef.h>
#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/evaluate.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The figures of a schedule. They never change.
 * Lifetime: the caller destroys the object.
 * Thread-safety: any number of threads may read the object at the same time. */
typedef struct ppsched_steady ppsched_steady;

/* Whether a period was found, or why all ops were timed one by one. */
enum ppsched_steady_reason {
    PPSCHED_STEADY_REASON_FOUND = 0,     /* a period was found */
    PPSCHED_STEADY_REASON_ORDER = 1,     /* the order is not known to repeat. This is the case for
                                            searches, gpipe, looped_bfs, strategies with offload,
                                            schedules of only forwards, and stage graphs */
    PPSCHED_STEADY_REASON_COSTS = 2,     /* one of three cases:
                                            - costs of microbatches or slices differ;
                                            - there are several iterations, and one of the
                                              quantities from MEM_OPTIMIZER to
                                              MEM_WORK_BACKWARD_WEIGHT is set, or memory rises in a
                                              backward (MEM_RECOMPUTED_BACKWARD_INPUT,
                                              MEM_RECOMPUTED_BACKWARD, a positive
                                              MEM_BACKWARD_INPUT);
                                            - devices have speeds, and the order depends on the
                                              costs */
    PPSCHED_STEADY_REASON_SHORT = 3,     /* there are too few microbatches */
    PPSCHED_STEADY_REASON_TRANSIENT = 4, /* the times do not begin to repeat in the first half of
                                            the microbatches */
    PPSCHED_STEADY_REASON_ROUNDING = 5   /* the times are not multiples of one power of two, and
                                            rounding them to such multiples would change a time by
                                            more than a share of 2^-40 */
};

/* The period in which the times of a schedule repeat: one or more blocks of the order. Set `size`
 * to sizeof of this struct. Times are in the caller's unit. If `reason` is not FOUND, `blocks` and
 * all members after it are 0, except `timed`. */
typedef struct ppsched_steady_period {
    uint32_t size;
    int32_t reason;     /* enum ppsched_steady_reason */
    uint32_t block;     /* number of microbatches of a block of the order; 0 if `reason` is ORDER or
                           COSTS */
    uint32_t blocks;    /* number of blocks of a period */
    uint32_t transient; /* number of microbatches before the first period. The number is
                           approximate, because at any one time different devices run different
                           microbatches */
    uint32_t timed;     /* number of microbatches that were timed op by op: of one iteration or, if
                           the schedule does not flush, of all iterations. If no period was found:
                           the number of microbatches of an iteration */
    double time;        /* duration of a period: how much later every op starts than the same op of
                           the period before */
    double cycle_time;  /* time per microbatch: `time` / (`block` * `blocks`) */
    double rounding;    /* the largest change of a time by rounding, as a share of this time; 0 if
                           all sums are exact */
} ppsched_steady_period;

/* Computes the figures of the schedule that ppsched_schedule_generate would make. Except for
 * rounding, they equal the figures that ppsched_schedule_evaluate would compute for this schedule.
 *   - If all times are multiples of one power of two, no time is rounded, and the figures of both
 *     calls are exactly equal.
 *   - Otherwise, this call rounds each time to such a multiple, by at most a share of 2^-40. So its
 *     figures differ by at most this share from the true figures, which are not rounded at all.
 *     ppsched_schedule_evaluate rounds each sum, so its figures also differ from the true figures.
 *   - The memory figures of the two calls differ only by the rounding of sums. If all values of
 *     memory are multiples of one power of two, the memory figures of both calls are exactly equal.
 * If no period is found, the call times all ops. Time and memory of the call are linear in the
 * number of ops that it times.
 * Errors: as ppsched_schedule_generate and ppsched_schedule_evaluate. */
PPSCHED_API ppsched_status ppsched_steady_create(ppsched_steady **out, const ppsched_config *config,
                                                 const char *strategy, ppsched_error *error);

/* Frees the figures. NULL is accepted. */
PPSCHED_API void ppsched_steady_destroy(ppsched_steady *steady);

/* Computes the time that an iteration takes in the long run, if each device repeats its queue
 * without end, and no device waits for an optimizer or for the end of an iteration. This period is
 * a time, in the caller's unit, and not the period of ppsched_steady_period. The result is at least
 * the work of the busiest device, and at most the span. For schedules of only forwards, the number
 * of requests divided by the result is the throughput, if the same requests are repeated without
 * end.
 *   - If the schedule has several iterations, only the order of the first iteration counts.
 *   - With up to 64 devices, the result is exact, except for rounding. With more devices, the
 *     result is an upper bound, which is exact in most cases.
 *   - The call times at most one iteration for each device, and at most 64 iterations in all.
 * Errors: ARGUMENT; REFUSED for schedules with ops other than F, B, I and W, and if the iterations
 *   that the call times have too many ops; the errors of ppsched_schedule_evaluate. */
PPSCHED_API ppsched_status ppsched_schedule_find_period(double *out,
                                                        const ppsched_schedule *schedule,
                                                        const ppsched_config *config,
                                                        ppsched_error *error);

/* Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_period(ppsched_steady_period *out,
                                                     const ppsched_steady *steady,
                                                     ppsched_error *error);

/* The metrics that ppsched_timeline_get_metrics would return.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_metrics(ppsched_metrics *out,
                                                      const ppsched_steady *steady,
                                                      ppsched_error *error);

/* The metrics that ppsched_timeline_get_device_metrics would return. `peak_position` is a position
 * in the queue of the whole schedule.
 * Errors: ARGUMENT; RANGE where there is no such device; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_device_metrics(ppsched_device_metrics *out,
                                                             const ppsched_steady *steady,
                                                             uint32_t device, ppsched_error *error);

/* The idle time that ppsched_timeline_get_idle would return.
 * Errors: ARGUMENT; RANGE where there is no such device; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_idle(ppsched_idle *out, const ppsched_steady *steady,
                                                   uint32_t device, ppsched_error *error);

/* The memory that ppsched_timeline_get_peak_causes would return. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER. */
PPSCHED_API ppsched_status ppsched_steady_get_peak_causes(double *out, size_t capacity,
                                                          size_t *needed,
                                                          const ppsched_steady *steady,
                                                          uint32_t device, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
