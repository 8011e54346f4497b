/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a strategy's schedule without the schedule: time and memory do not grow with the
 * number of microbatches where the order and its times repeat.
 *
 * The order of a rule is a prefix, a block of ops that repeats, and a suffix. After some
 * microbatches, the transient, its times repeat too, with a period of one or more blocks. The call
 * times more and more microbatches op by op, until every op of some blocks in a row starts one
 * period after the same op of the period before. That proves the times of all blocks after them.
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

/* The figures of a schedule. It never changes.
 * Lifetime: the caller destroys it.
 * Thread-safety: any number of threads may read it. */
typedef struct ppsched_steady ppsched_steady;

/* Whether the figures are multiples of a period, or why all ops were timed. */
enum ppsched_steady_reason {
    PPSCHED_STEADY_REASON_FOUND = 0,     /* they are */
    PPSCHED_STEADY_REASON_ORDER = 1,     /* the order is not known to repeat: a search, gpipe,
                                            looped_bfs, offload, forward only */
    PPSCHED_STEADY_REASON_COSTS = 2,     /* microbatches or slices differ; or there are several
                                            iterations, and memory has more causes than
                                            activations */
    PPSCHED_STEADY_REASON_SHORT = 3,     /* too few microbatches */
    PPSCHED_STEADY_REASON_TRANSIENT = 4, /* the state does not come back in half of the
                                            microbatches */
    PPSCHED_STEADY_REASON_ROUNDING = 5   /* the times are not multiples of one power of two, and
                                            rounding them would change one by more than 2^-40 */
};

/* The period of a schedule. Sized. Times in the caller's unit. If `reason` is not FOUND, `blocks`
 * and what follows are 0, except `timed`. */
typedef struct ppsched_steady_period {
    uint32_t size;
    int32_t reason;     /* enum ppsched_steady_reason */
    uint32_t block;     /* microbatches of a block of the order; 0 if it is not known to repeat */
    uint32_t blocks;    /* blocks of a period */
    uint32_t transient; /* microbatches before the first period, about: devices are at different
                           ones at a time */
    uint32_t timed;     /* microbatches of an iteration that were timed op by op; without flushes,
                           of all iterations */
    double time;        /* length of a period */
    double cycle_time;  /* time per microbatch: `time` / (`block` * `blocks`) */
    double rounding;    /* the largest change of a time by rounding, as a share of it; 0 if all sums
                           are exact */
} ppsched_steady_period;

/* Prices the schedule that ppsched_schedule_generate would make: the figures are those of
 * ppsched_schedule_evaluate.
 *   - Where all times are multiples of one power of two, bit for bit, as all sums are exact.
 *   - Otherwise times are rounded to such multiples, by at most 2^-40 of each. Figures then differ
 *     by as much from those of the exact times. Evaluation op by op rounds each sum, and differs
 *     from them too.
 * Levels of memory are those op by op up to the rounding of sums; bit for bit where memory is in
 * multiples of one power of two. Where the period is not found, all ops are timed.
 * Time and memory: linear in the devices' ops in the microbatches that are timed (`timed`).
 * Errors: those of ppsched_schedule_generate and ppsched_schedule_evaluate. */
PPSCHED_API ppsched_status ppsched_steady_create(ppsched_steady **out, const ppsched_config *config,
                                                 const char *strategy, ppsched_error *error);

/* NULL does nothing. */
PPSCHED_API void ppsched_steady_destroy(ppsched_steady *steady);

/* Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_period(ppsched_steady_period *out,
                                                     const ppsched_steady *steady,
                                                     ppsched_error *error);

/* As ppsched_timeline_get_metrics.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_metrics(ppsched_metrics *out,
                                                      const ppsched_steady *steady,
                                                      ppsched_error *error);

/* As ppsched_timeline_get_device_metrics; `peak_position` is that in the queue of the whole
 * schedule.
 * Errors: ARGUMENT; RANGE where there is no such device; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_device_metrics(ppsched_device_metrics *out,
                                                             const ppsched_steady *steady,
                                                             uint32_t device, ppsched_error *error);

/* As ppsched_timeline_get_idle.
 * Errors: ARGUMENT; RANGE where there is no such device; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_steady_get_idle(ppsched_idle *out, const ppsched_steady *steady,
                                                   uint32_t device, ppsched_error *error);

/* As ppsched_timeline_get_peak_causes. Fills a buffer: see ppsched.h.
 * Errors: ARGUMENT; RANGE where there is no such device; BUFFER. */
PPSCHED_API ppsched_status ppsched_steady_get_peak_causes(double *out, size_t capacity,
                                                          size_t *needed,
                                                          const ppsched_steady *steady,
                                                          uint32_t device, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
