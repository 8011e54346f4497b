/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds on the time of an iteration with a given placement. No schedule with this placement
 * takes less time than these bounds. */
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
    PPSCHED_OBJECTIVE_SPAN = 1,    /* the longest span of a device, from first start to last end */
    PPSCHED_OBJECTIVE_MAKESPAN = 2 /* the time from 0 to the end of the last op */
};

/* Lower bounds on the objective of one iteration. Set `size` to sizeof of this struct. Times are in
 * the caller's unit. */
typedef struct ppsched_bound {
    uint32_t size;
    uint32_t device;    /* the device whose bound is `value`; the lowest such device if there are
                           several */
    double value;       /* the bound: the largest of work, fill_drain, memory, one_machine and
                           proof */
    double work;        /* bound from the work of a device: the device must run all its ops. The
                           bound on the makespan includes the wait for the device's first
                           input */
    double fill_drain;  /* bound from a path of ops, each of which waits for the op before it. The
                           path goes from the first F of stage 0 to a device, through all Fs and Is
                           of this device, and back to the last W of stage 0. The span of stage 0's
                           device includes the whole path. With forwards only, the path ends with
                           the last F, and the bound on the span is 0 */
    double memory;      /* bound from memory: each activation is held for at least the shortest
                           possible time, and the activations of a device must fit into its memory
                           limit. The bound also takes into account that a device cannot use free
                           memory that is too small for an activation. 0 without a memory limit */
    double least_limit; /* the least memory limit, the same for all devices, under which a schedule
                           exists. This limit includes static memory and activations, and also the
                           activations that an I or a B adds. Schedules that hold memory for other
                           causes may need a higher limit. Schedules with RECOMPUTE or OFFLOAD may
                           exist under a lower limit */
    double one_machine; /* bound from the order of ops on a device. The device runs its ops one
                           after another, each no earlier than its input can arrive. The bound also
                           includes the time of the ops that must follow the last of these ops. The
                           bound is 0 (not computed) in these cases: forwards only;
                           overlapped_times; two copies of the model; slices; microbatches that
                           differ; very many ops */
    double proof; /* `known` of ppsched_config_prove_bound, if the call proved that no schedule is
                     better than `known`; 0 otherwise */
} ppsched_bound;

/* Finds the bounds for the config's placement (DEFAULT: loop) and `objective` (enum
 * ppsched_objective).
 *   - The bounds also hold for schedules with overlapped pairs, and for schedules that have B in
 *     place of I and W. This is so even if B takes less time than I and W together, or if a pair
 *     takes less time than its two ops together.
 *   - The bounds are computed even if the memory limits are too small for any schedule. Compare the
 *     limits with `least_limit`.
 *   - The values are sums of doubles. So a bound may be slightly above the time of a schedule that
 *     reaches the bound, because of rounding.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE where the config's lists contradict each other; REFUSED
 *   where the sizes do not suit the placement; NO_MEMORY.
 * Source: Zero Bubble Pipeline Parallelism (Qi et al. 2023, section 2 and appendix B); this library
 *   extends the bounds to stages of different costs. */
PPSCHED_API ppsched_status ppsched_config_find_bound(ppsched_bound *out,
                                                     const ppsched_config *config,
                                                     int32_t objective, ppsched_error *error);

/* Finds the same bounds as ppsched_config_find_bound. It also tries to prove that no schedule
 * reaches an objective below `known`. `known` is the objective that the caller's best schedule
 * reaches for one iteration, in the config's unit of time. The proof is a search over all orders.
 * It stops after `work` visits of ops. The proof is tried only for problems of at most 512 ops.
 * Such a problem must have no slices, no factors of microbatches, no overlapped pairs, and no
 * memory that rises in backwards.
 *   - `work`: the largest number of visits; each takes a few nanoseconds. 0 means 1e9.
 * Errors: as ppsched_config_find_bound; RANGE where `known` or `work` is negative or not finite;
 *   CANCELLED where the config's progress callback cancels.
 * Source: edge finding (Carlier and Pinson 1989) in a search over pairs of ops. */
PPSCHED_API ppsched_status ppsched_config_prove_bound(ppsched_bound *out,
                                                      const ppsched_config *config,
                                                      int32_t objective, double known, double work,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
