/* SPDX-License-Identifier: Apache-2.0 */
/* Passes that have a schedule keep less: by RECOMPUTE, or by OFFLOAD and RELOAD. See
 * ppsched_schedule_evaluate for what these ops do. */
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

/* Which stage passes are meant. `size` is sizeof (ppsched_recompute_options). */
typedef struct ppsched_recompute_options {
    uint32_t size;
    uint32_t chunks; /* all passes of so many stages of each device, the lowest first; 0 for all */
} ppsched_recompute_options;

/* Makes a schedule in which these passes are recomputed: a RECOMPUTE right before each B or I, or
 * before its overlapped pair. Others may be offloaded then (ppsched_schedule_offload). The new
 * schedule is the caller's to release; `schedule` stays as it is.
 * Errors: ARGUMENT; RANGE; REFUSED where a pass has an op that keeps less
 *   already, or there is no backward; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_recompute(ppsched_schedule **out,
                                                      const ppsched_schedule *schedule,
                                                      const ppsched_recompute_options *options,
                                                      ppsched_error *error);

/* Which stage passes are meant. `size` is sizeof (ppsched_offload_options). */
typedef struct ppsched_offload_options {
    uint32_t size;
    uint32_t chunks;            /* passes of so many stages of each device, the lowest first; 0 for
                                   all */
    uint32_t until_limit;       /* 1: as few of them as needed to fit PPSCHED_QUANTITY_MEM_LIMIT,
                                   those that are needed again last first; 0: all of them */
    uint32_t prefetch_distance; /* so many ops of its device are between a RELOAD and its backward,
                                   however long they take; 0: RELOADs come as late as they hide.
                                   Not with until_limit */
    double share;               /* of each device those alone with the longest time from F to
                                   backward, as long as they are at most that share of what all of
                                   them would move: 0 to 1; 0 for all */
} ppsched_offload_options;

/* Makes a schedule in which these passes are offloaded, with the config's times and links: an
 * OFFLOAD right behind each F, and a RELOAD as late as the copy is still done before its B or I,
 * the next ones on the same link counted. Left out are passes whose copies do not fit between
 * their F and their backward, or with a prefetch distance before the RELOAD has its place. Where
 * reloads would make the step longer they come earlier, as long as that helps.
 *   - Passes that are recomputed stay so, and are not offloaded.
 *   - Orders of F, B, I and W stay as they are. The new schedule is the caller's to release;
 *     `schedule` stays as it is.
 *   - Where PPSCHED_QUANTITY_MEM_LIMIT does not hold with all of them offloaded, an OFFLOAD_WAIT
 *     has F or RELOAD wait for as many copies as hold it, with the shortest step that is found.
 *     Without until_limit there are also waits where they lower peaks and cost no time. In
 *     schedules of up to 2^10 ops, without a prefetch distance, lower peaks are searched for, and
 *     fewer copies are made where that lowers them.
 *   - With until_limit, a limit that is an activation of each device wider never gives a longer
 *     step in schedules of up to some 500 ops, as what holds tighter ones is tried, too.
 *   - About linear in the ops (a sort), and no more than a few evaluations, or evaluations of some
 *     2^17 ops in all for lower peaks. Where no choice is found that costs no time, up to 48, or
 *     256 where these have some 10^6 ops in all at most;
 *     and as often for tighter limits, of up to 2^13 ops, and for the limit that a refusal names.
 *     The config's progress function is called in each, with a share of 1: it may stop the call.
 * Errors: ARGUMENT, MISMATCH; RANGE, also as of ppsched_schedule_evaluate;
 *   INVALID_SCHEDULE; REFUSED where the schedule has copies already or no backward, or
 *   none of its choices holds the limit: then with the least limit of all devices, or the least
 *   factor of their limits, that was found to work; CANCELLED; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_offload(ppsched_schedule **out,
                                                    const ppsched_schedule *schedule,
                                                    const ppsched_config *config,
                                                    const ppsched_offload_options *options,
                                                    ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
