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

/* Which stage passes to recompute. Set `size` to sizeof of this struct. A field that is 0 has its
 * default. */
typedef struct ppsched_recompute_options {
    uint32_t size;
    uint32_t chunks; /* number N of stages: recompute the stage passes of the N lowest stages of
                        each device. 0: recompute the stage passes of all stages */
} ppsched_recompute_options;

/* Makes a schedule in which the stage passes that `options` selects are recomputed. A RECOMPUTE
 * comes right before the B or I of such a stage pass, or before the overlapped pair of this B or I.
 * Other stage passes may be offloaded afterwards (ppsched_schedule_offload). `schedule` does not
 * change. The caller owns one reference to `*out`.
 * Errors: ARGUMENT, STRUCT_SIZE; REFUSED where the schedule already has a RECOMPUTE, OFFLOAD,
 *   RELOAD or OFFLOAD_WAIT, has no backward, or has a stage graph; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_schedule_recompute(ppsched_schedule **out,
                                                      const ppsched_schedule *schedule,
                                                      const ppsched_recompute_options *options,
                                                      ppsched_error *error);

/* Which stage passes to offload, and when to reload. Set `size` to sizeof of this struct. A field
 * that is 0 has its default. */
typedef struct ppsched_offload_options {
    uint32_t size;
    uint32_t chunks;            /* number N of stages: offload the stage passes of the N lowest
                                   stages of each device. 0: offload the stage passes of all
                                   stages */
    uint32_t until_limit;       /* 1: of the stage passes that `chunks` selects, offload only as
                                   many as are needed to fit PPSCHED_QUANTITY_MEM_LIMIT. Stage
                                   passes with the latest backward are offloaded first. 0: offload
                                   all of the stage passes that `chunks` selects */
    uint32_t prefetch_distance; /* number of ops of the device between a RELOAD and its backward.
                                   The times of these ops do not matter. 0: RELOADs come as late as
                                   possible, but early enough that their copies are done in time. If
                                   `until_limit` is set, this number must be 0; otherwise the call
                                   returns RANGE */
    double share;               /* share of memory, 0 to 1. On each device, stage passes with the
                                   longest time from F to backward are offloaded first, up to this
                                   share of the memory of all stage passes that `chunks` selects. 0:
                                   all stage passes that `chunks` selects are offloaded */
} ppsched_offload_options;

/* Makes a schedule in which the stage passes that `options` selects are offloaded. The call uses
 * the config's times and links. `schedule` does not change, and F, B, I and W keep their order. The
 * caller owns one reference to `*out`.
 *   - The OFFLOAD of a stage pass comes right after its F. The RELOAD comes as late as possible,
 *     but so early that its copy is done before the B or I, even if the copy first waits for other
 *     copies on its link. But if RELOADs make the step longer, they are put earlier, as long as
 *     each move makes the step shorter.
 *   - A stage pass is not offloaded if its copies do not fit between its F and its backward. With a
 *     prefetch distance, the copy of the OFFLOAD must be done before the place of the RELOAD. Stage
 *     passes that are recomputed are not offloaded.
 *   - If the schedule with all copies exceeds PPSCHED_QUANTITY_MEM_LIMIT, OFFLOAD_WAITs make an F
 *     or a RELOAD wait for as many copies as needed to stay within the limit. The result has the
 *     shortest step that was found.
 *   - Without until_limit, OFFLOAD_WAITs are also added where they reduce peak memory and cost no
 *     time. If there is no prefetch distance, and the schedule has up to 2^10 ops, the call also
 *     searches for lower peaks. If fewer copies lower the peaks, the call makes fewer copies.
 *   - With until_limit the call also tries results that fit smaller limits. For this reason, in
 *     schedules of up to about 500 ops, the step never becomes longer if the limit of each device
 *     is raised by one activation.
 * The time of the call is about linear in the number of ops. In addition, the call makes a sort and
 * a few evaluations of the schedule. It makes more evaluations in two cases:
 *   - If the call searches for lower peaks, it evaluates about 2^17 ops in all.
 *   - If all choices that were found make the step longer, the call makes up to 48 evaluations. It
 *     makes more, up to 256, as long as all these evaluations together have at most about 10^6 ops.
 *     For schedules of up to 2^13 ops, it makes the same number of evaluations again, for smaller
 *     limits. If the call is refused, it makes this number once more, to find the limit that its
 *     message names.
 * Each evaluation calls the config's progress callback with a share of 1; the callback may cancel
 * the call.
 * Errors: ARGUMENT, STRUCT_SIZE, MISMATCH; RANGE, also as for ppsched_schedule_evaluate;
 *   INVALID_SCHEDULE, CANCELLED, NO_MEMORY; REFUSED in these cases:
 *   - the schedule already has an OFFLOAD, RELOAD or OFFLOAD_WAIT, has no backward, or has a stage
 *     graph;
 *   - nothing that was tried fits the limit. If all devices have the same limit, the message has
 *     the least limit with which a result was found. If the limits of devices differ, the message
 *     has a factor: if all limits are multiplied by this factor, a result fits. This is the least
 *     such factor that was found. */
PPSCHED_API ppsched_status ppsched_schedule_offload(ppsched_schedule **out,
                                                    const ppsched_schedule *schedule,
                                                    const ppsched_config *config,
                                                    const ppsched_offload_options *options,
                                                    ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
