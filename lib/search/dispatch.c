/* SPDX-License-Identifier: Apache-2.0 */
#include "search/dispatch.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

ppsched_status ppi_dispatch_room_make(struct ppi_dispatch_room *out, const struct ppi_problem *problem, ppsched_error *error)
{
    size_t block = ppi_partial_doubles(problem), cells = (size_t)problem->stages * problem->microbatches;
    out->memory = ppi_allocate(&problem->host, block + 2 * cells, sizeof *out->memory);
    if (out->memory == NULL)
        return ppi_fail_memory(error, "the search");
    ppi_partial_place(&out->partial, problem, out->memory);
    out->ends = (struct ppi_ends){out->memory + block, out->memory + block + cells};
    return ppi_periodic_make(&out->pattern, problem, error);
}

void ppi_dispatch_room_clear(struct ppi_dispatch_room *room, const struct ppi_problem *problem)
{
    ppi_periodic_clear(&room->pattern, problem);
    ppi_release(&problem->host, room->memory);
}

/* When the pattern wants a stage's next op. */
static double wanted(const struct ppi_dispatch_room *room, const struct ppi_problem *problem,
                     const struct ppi_dispatch *dispatch, uint32_t stage, uint8_t kind)
{
    double time = ppi_partial_next(&room->partial, stage, kind) * room->pattern.period;
    time += room->pattern.beat[ppi_link_of(problem, stage, kind == PPSCHED_KIND_W ? PPSCHED_KIND_I : kind)].start;
    return kind == PPSCHED_KIND_W ? time + problem->stage[stage].input + dispatch->weight_lag : time;
}

/* Whether one more F would be beyond what the pattern holds. */
static bool is_ahead(const struct ppi_dispatch_room *room, const struct ppi_problem *problem, uint32_t stage)
{
    const struct ppi_done *done = &room->partial.stage[stage].done;
    return problem->device[problem->stage[stage].device].count > 1 &&
           done->forwards - done->weights + 1 > ppi_periodic_in_flight(&room->pattern, problem, stage);
}

/* Chooses a device's next step. Fs that are ahead come last: then `*ahead` has their places. */
static struct ppi_step choose(const struct ppi_dispatch_room *room, const struct ppi_problem *problem,
                              const struct ppi_dispatch *dispatch, uint32_t device, uint32_t *ahead)
{
    const struct ppi_partial *partial = &room->partial;
    double finish = partial->device[device].finish, first = PPI_INFINITE;
    struct ppi_step best = {.start = PPI_INFINITE}, last = best;
    *ahead = 0;
    for (uint32_t i = 0; i < problem->device[device].count; i++)
        for (int k = 0; k < PPI_KINDS; k++) {
            struct ppi_step step = {.stage = ppi_stage_at(problem, device, i), .kind = ppi_kinds[k]};
            step.start = ppi_partial_earliest(partial, problem, step.stage, step.kind);
            step.end = step.start + problem->stage[step.stage].duration[step.kind];
            if (step.start == PPI_INFINITE || (step.start >= finish && step.end > finish))
                continue;
            double time = wanted(room, problem, dispatch, step.stage, step.kind);
            if (step.kind == PPSCHED_KIND_F && dispatch->holds_back && is_ahead(room, problem, step.stage)) {
                last = step;
                if (ppi_partial_may_hold(partial, problem, step.stage))
                    *ahead |= 1u << i;
            } else if (best.start == PPI_INFINITE || time < first) {
                first = time;
                best = step;
            }
        }
    if (best.start < PPI_INFINITE)
        *ahead = 0;
    return best.start < PPI_INFINITE ? best : last;
}

static void append(struct ppi_dispatch_room *room, const struct ppi_problem *problem, const struct ppi_step *step,
                   struct ppi_orders *out)
{
    uint32_t device = problem->stage[step->stage].device;
    out->ops[out->first[device] + out->count[device]++] = (ppsched_op){
        .microbatch = ppi_partial_next(&room->partial, step->stage, step->kind),
        .stage = (uint16_t)step->stage,
        .kind = step->kind};
    ppi_partial_note_end(&room->partial, problem, &room->ends, step);
    ppi_partial_append(&room->partial, problem, &room->ends, step);
}

double ppi_dispatch(struct ppi_dispatch_room *room, const struct ppi_problem *problem, const struct ppi_dispatch *dispatch,
                    struct ppi_orders *out)
{
    struct ppi_partial *partial = &room->partial;
    ppi_partial_start(partial, problem);
    memset(out->count, 0, out->devices * sizeof *out->count);
    for (;;) {
        uint32_t ahead, device = ppi_partial_first_to_finish(partial, problem);
        if (device == PPSCHED_NONE)
            return ppi_partial_is_complete(partial, problem) ? ppi_partial_objective(partial, problem) : PPI_INFINITE;
        struct ppi_step step = choose(room, problem, dispatch, device, &ahead);
        if (ahead != 0)
            ppi_partial_hold(partial, problem, device, ahead);
        else
            append(room, problem, &step, out);
    }
}
