/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds on the time of an iteration on a given placement: no schedule is faster. */
#ifndef PPSCHED_BOUND_H
#define PPSCHED_BOUND_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a search minimises. */
enum ppsched_objective {
    PPSCHED_OBJECTIVE_SPAN = 1,    /* the longest time from first start to last end of one device */
    PPSCHED_OBJECTIVE_MAKESPAN = 2 /* the time from 0 to the last end */
};

/* Bounds on the objective over one iteration. Sized. Times in the caller's unit. */
typedef struct ppsched_bound {
    uint32_t size;
    uint32_t device;    /* the device whose bound is `value`; the lowest, if there are several */
    double value;       /* the largest of work, fill_drain, memory and one_machine */
    double work;        /* a device must run all its ops; for the makespan it must also wait for its
                           first input */
    double fill_drain;  /* the path from the first F of stage 0 to a device, through all its Fs and
                           Is, and back to the last W of stage 0; the span of stage 0's device
                           includes all of it. With forwards only the path ends with the last F, and
                           there is no such bound on the span: 0 */
    double memory;      /* activations must share the device's memory limit, even if each is held
                           for the least possible time; 0 without a memory limit */
    double least_limit; /* the least memory limit, the same for all devices, under which a schedule
                           exists. Static memory and activations are counted, also those that an I
                           or a B adds; memory of other causes may raise it, and RECOMPUTE and
                           OFFLOAD may need less */
    double one_machine; /* the ops of a device run one after another, none before its input can
                           arrive, and the ops that must follow the last of them add their time; 0
                           where it is not computed: with forwards only, overlapped_times, two model
                           copies, slices, microbatches that differ, or very many ops */
} ppsched_bound;

/* Finds the bounds for the config's placement (DEFAULT: loop) and `objective` (enum
 * ppsched_objective).
 *   - The bounds allow a B in place of I and W, and overlapped pairs, where these are shorter.
 *   - The bounds exist even where the memory limits are too small for any schedule: compare them
 *     with `least_limit`.
 *   - The values are sums of doubles. By rounding they may be slightly above the time of a schedule
 *     that reaches the bound.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where the config's lists contradict each other; REFUSED
 *   where the sizes do not suit the placement; NO_MEMORY.
 * Source: Zero Bubble Pipeline Parallelism (Qi et al. 2023, section 2 and appendix B); the bounds
 *   are extended here to stages of different costs. */
PPSCHED_API ppsched_status ppsched_config_find_bound(ppsched_bound *out,
                                                     const ppsched_config *config,
                                                     int32_t objective, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
