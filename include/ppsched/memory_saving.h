/* SPDX-License-Identifier: Apache-2.0 */
/* Activation memory saving: adds RECOMPUTE, or OFFLOAD and RELOAD, to a schedule. See
 * ppsched_schedule_evaluate for the time and memory of these ops. */
#ifndef PPSCHED_MEMORY_SAVING_H
#define PPSCHED_MEMORY_SAVING_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/schedule.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which stage passes to recompute. Sized: set `size`; zero means the default. */
typedef struct ppsched_recompute_options {
    uint32_t size;
    uint32_t chunks; /* on each device the lowest N stages: all stage passes of these; 0: of all
                        stages */
} ppsched_recompute_options;

/* Makes a schedule in which these stage passes are recomputed: a RECOMPUTE comes right before each
 * of their Bs or Is, or before its overlapped pair. The other stage passes may then be offloaded
 * (ppsched_schedule_offload). `schedule` does not change. The caller owns one reference to `*out`.
 * Errors: ARGUMENT, STRUCT_SIZE; REFUSED where the schedule has a RECOMPUTE, OFFLOAD, RELOAD or
 *   OFFLOAD_WAIT already, or has no backward; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_recompute(ppsched_schedule **out,
                                                      const ppsched_schedule *schedule,
                                                      const ppsched_recompute_options *options,
                                                      ppsched_error *error);

/* Which stage passes to offload, and when to reload. Sized: set `size`; zero means the default. */
typedef struct ppsched_offload_options {
    uint32_t size;
    uint32_t chunks;            /* on each device the lowest N stages: the stage passes of these;
                                   0: of all stages */
    uint32_t until_limit;       /* 1: only as many of these as needed to fit
                                   PPSCHED_QUANTITY_MEM_LIMIT, first those that are needed again
                                   last; 0: all of them */
    uint32_t prefetch_distance; /* ops of the device between a RELOAD and its backward, however long
                                   they take; 0: RELOADs come as late as their copies are still done
                                   in time. RANGE with until_limit */
    double share;               /* 0 to 1: on each device only the stage passes with the longest
                                   time from F to backward, up to this share of the memory that all
                                   of them would move; 0: all */
} ppsched_offload_options;

/* Makes a schedule in which these stage passes are offloaded, by the config's times and links.
 * `schedule` does not change, and F, B, I and W keep their order. The caller owns one reference to
 * `*out`.
 *   - An OFFLOAD comes right after each F. The RELOAD comes as late as its copy is still done
 *     before the B or I, after the copies that share its link. Where reloads would make the step
 *     longer they come earlier, as long as that makes it shorter.
 *   - A stage pass is left out if its copies do not fit between its F and its backward, or with a
 *     prefetch distance, if they do not fit before the place of its RELOAD. Stage passes that are
 *     recomputed are not offloaded.
 *   - If the schedule with all copies exceeds PPSCHED_QUANTITY_MEM_LIMIT, OFFLOAD_WAITs make an F
 *     or a RELOAD wait for as many copies as needed to stay within the limit; the shortest step
 *     found is the result.
 *   - Without until_limit there are also waits where they lower peaks and cost no time. In
 *     schedules of up to 2^10 ops, without a prefetch distance, the call searches for lower peaks,
 *     and makes fewer copies where that lowers them.
 *   - With until_limit, in schedules of up to about 500 ops, a limit that is one activation of each
 *     device larger never makes the step longer, as the call also tries what fits tighter limits.
 * Time: about linear in the ops, with a sort and a few evaluations of the schedule.
 *   - For lower peaks: evaluations of about 2^17 ops in all.
 *   - If no choice is found that costs no time: up to 48 evaluations, or up to 256 if these have at
 *     most about 10^6 ops in all. As many again for tighter limits, in schedules of up to 2^13 ops,
 *     and for the limit that a refusal names.
 *   - Each evaluation calls the config's progress callback with a share of 1; the callback may
 *     cancel the call.
 * Errors: ARGUMENT, STRUCT_SIZE, MISMATCH; RANGE, also as for ppsched_schedule_evaluate;
 *   INVALID_SCHEDULE; REFUSED where the schedule has an OFFLOAD, RELOAD or OFFLOAD_WAIT already, or
 *   has no backward, or where nothing that was tried fits the limit: the message then has the least
 *   limit for all devices that was found to work, or with different limits the least factor of
 *   them; CANCELLED; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_offload(ppsched_schedule **out,
                                                    const ppsched_schedule *schedule,
                                                    const ppsched_config *config,
                                                    const ppsched_offload_options *options,
                                                    ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
