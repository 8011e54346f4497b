/* SPDX-License-Identifier: Apache-2.0 */
/* What no schedule can do better: lower bounds on the time of an iteration, for a placement. */
#ifndef PPSCHED_BOUND_H
#define PPSCHED_BOUND_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a search makes as small as it can. */
enum ppsched_objective {
    PPSCHED_OBJECTIVE_SPAN = 1,    /* the longest first-start-to-last-end of one device */
    PPSCHED_OBJECTIVE_MAKESPAN = 2 /* from 0 to the last end */
};

/* Bounds on the objective over one iteration. Sized. Times in the caller's unit. */
typedef struct ppsched_bound {
    uint32_t size;
    uint32_t device;    /* the device that `value` comes from, the lowest of them */
    double value;       /* the largest of the next three and one_machine */
    double work;        /* a device must run all its ops; for the makespan also wait for its first
                           input before */
    double fill_drain;  /* from the first F of stage 0 to a device, through all its Fs and Is, and
                           back to the last W of stage 0, all of which the span of stage 0's device
                           holds */
    double memory;      /* activations are held for the least possible time, and must share the
                           device's memory limit; 0 where there is none */
    double least_limit; /* the least memory limit, one for all devices, under which there is a
                           schedule at all */
    double one_machine; /* a device's ops run one after another, none before its input can come, and
                           what must follow its last ones is added; 0 where this is not looked at:
                           with overlapped pairs, two model copies, or very many ops */
} ppsched_bound;

/* Finds the bounds for the config's placement (DEFAULT: loop) and `objective` (enum
 * ppsched_objective).
 *   - A full backward may take the place of I and W, and pairs may overlap, where that is shorter.
 *   - The memory limits may be too small for any schedule: compare with `least_limit`.
 *   - The values are sums of doubles, and may be above those of a schedule that reaches the bound
 *     by their rounding.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where the config's lists contradict each other; REFUSED
 *   where the sizes do not suit the placement; NO_MEMORY.
 * Source: the bounds are those of Zero Bubble Pipeline Parallelism (Qi et al. 2023, section 2 and
 *   appendix B), for uneven stages. */
PPSCHED_API ppsched_status ppsched_config_find_bound(ppsched_bound *out,
                                                     const ppsched_config *config,
                                                     int32_t objective, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
