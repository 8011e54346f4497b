/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the largest level of each device, and its causes, by visiting all levels. */
#include <string.h>

#include "base/checked.h"
#include "eval/memory.h"
#include "eval/memory_saving.h"

struct peak {
    ppsched_device_metrics *figures;
    double *causes;
};

static void raise_peak(void *user, double time, uint32_t position, const double *by_cause, double level)
{
    struct peak *peak = user;
    if (!(level > peak->figures->peak_memory))
        return;
    peak->figures->peak_memory = level;
    peak->figures->peak_time = time;
    peak->figures->peak_position = position;
    memcpy(peak->causes, by_cause, PPI_CAUSES * sizeof *by_cause);
}

/* --- activations and copies alone --- */

/* A device's queue, whose activations and copies alone change memory. Its copies run one after another in each direction, so
 * that they change memory in the order of the queue: those from `away` and `back` on have not yet. */
struct copies {
    const ppsched_timeline *timeline;
    const ppsched_op *ops;
    const ppsched_span *spans;
    size_t away, back, reached; /* `reached`: the op at hand */
    double base, level;         /* what does not change, and activations */
    struct peak *peak;
};

static double moved_by(const struct copies *copies, const ppsched_op *op)
{
    const ppsched_timeline *timeline = copies->timeline;
    return ppi_saving_cost_of(timeline->saving, op)->moved * ppi_factor_of(&timeline->costs, timeline->schedule, op).memory;
}

static void add(struct copies *copies, double amount, double time, size_t position)
{
    const double level = copies->base + (copies->level += amount);
    if (amount == 0 || !(level > copies->peak->figures->peak_memory))
        return;
    copies->peak->figures->peak_memory = level;
    copies->peak->figures->peak_time = time;
    copies->peak->figures->peak_position = (uint32_t)position;
    copies->peak->causes[PPSCHED_MEMORY_CAUSE_ACTIVATIONS] = copies->level;
}

/* Applies what copies have changed by a time. A reload only adds memory, so it comes after what is released then. */
static void drain(struct copies *copies, double until)
{
    for (;;) {
        while (copies->away < copies->reached && copies->ops[copies->away].kind != PPSCHED_KIND_OFFLOAD)
            copies->away++;
        while (copies->back < copies->reached && copies->ops[copies->back].kind != PPSCHED_KIND_RELOAD)
            copies->back++;
        const double leaves = copies->away < copies->reached ? copies->spans[copies->away].end : PPI_INFINITE;
        const double comes = copies->back < copies->reached ? copies->spans[copies->back].start : PPI_INFINITE;
        if (copies->away < copies->reached && leaves <= until && leaves <= comes) {
            add(copies, -moved_by(copies, &copies->ops[copies->away]), leaves, copies->away);
            copies->away++;
        } else if (copies->back < copies->reached && comes < until) {
            add(copies, moved_by(copies, &copies->ops[copies->back]), comes, copies->back);
            copies->back++;
        } else {
            return;
        }
    }
}

static void run_unit(struct copies *copies, size_t length)
{
    const ppsched_op *unit = &copies->ops[copies->reached];
    const ppsched_span *span = &copies->spans[copies->reached];
    double released = 0;
    drain(copies, span->start);
    if (unit->kind == PPSCHED_KIND_F)
        add(copies, ppi_memory_of(&copies->timeline->costs, copies->timeline->schedule, unit), span->start, copies->reached);
    drain(copies, span->end);
    for (size_t k = 0; k < length; k++)
        if (unit[k].kind != PPSCHED_KIND_F)
            released += ppi_memory_of(&copies->timeline->costs, copies->timeline->schedule, &unit[k]);
    add(copies, released, span->end, copies->reached);
}

static void run_copies(const ppsched_timeline *timeline, uint32_t device, struct peak *peak)
{
    const ppsched_queue *queue = &timeline->schedule->queues[device];
    struct copies copies = {.timeline = timeline,
                            .ops = queue->ops,
                            .spans = timeline->spans + queue->first,
                            .base = ppi_level_of(peak->causes),
                            .peak = peak};
    for (size_t length; copies.reached < queue->count; copies.reached += length) {
        length = ppi_unit_length(&queue->ops[copies.reached]);
        if (ppi_is_compute(queue->ops[copies.reached].kind))
            run_unit(&copies, length);
    }
    drain(&copies, PPI_INFINITE);
}

/* Whether run_copies finds the peaks: nothing but compute and copies changes memory. */
static bool has_copies_alone(const ppsched_timeline *timeline)
{
    const uint32_t others = ~(1u | 1u << PPSCHED_KIND_F | 1u << PPSCHED_KIND_B | 1u << PPSCHED_KIND_I | 1u << PPSCHED_KIND_W |
                              1u << PPSCHED_KIND_OFFLOAD | 1u << PPSCHED_KIND_RELOAD | 1u << PPSCHED_KIND_OFFLOAD_WAIT);
    return timeline->saving != NULL && !timeline->memory->has_more && (ppi_kinds_of(timeline->schedule) & others) == 0;
}

void ppi_memory_peaks(ppsched_timeline *timeline)
{
    const bool copies_alone = has_copies_alone(timeline);
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        struct peak peak = {&timeline->devices[d], timeline->peak_causes + (size_t)d * PPI_CAUSES};
        const struct ppi_memory_listener listener = {.user = &peak, .step = raise_peak};
        memset(peak.causes, 0, PPI_CAUSES * sizeof *peak.causes);
        memcpy(peak.causes, timeline->fixed + (size_t)d * PPI_FIXED_CAUSES, PPI_FIXED_CAUSES * sizeof *peak.causes);
        peak.figures->peak_memory = timeline->devices[d].static_memory;
        peak.figures->peak_time = 0;
        peak.figures->peak_position = PPSCHED_NONE;
        if (copies_alone)
            run_copies(timeline, d, &peak);
        else
            ppi_memory_go_through(timeline, d, timeline->memory->room, &listener);
    }
}
