/* SPDX-License-Identifier: Apache-2.0 */
/* After the planner of the zero-bubble paper's authors: as many warm-up forwards as memory and the return of the first
 * microbatch allow, the same number on every device; then rounds of one I and one F per device, with a W wherever it fits into
 * a gap, wherever memory needs it, and where a device has been idle less than the worst one.
 *
 * Theirs gives up where an op does not fit into memory. Here the device waits for a round, and no forward is planned that
 * would leave too little memory for the oldest microbatch to continue, so that every round plans an op. */
#include "strategy/searches/v_greedy.h"

static struct ppi_greedy_stage *a_of(const struct ppi_greedy *g, uint32_t r)
{
    return &g->stage[r];
}

static struct ppi_greedy_stage *z_of(const struct ppi_greedy *g, uint32_t r)
{
    return &g->stage[g->problem->stages - 1 - r];
}

/* Whether the inputs of a stage's next op are planned. */
static bool can_run(const struct ppi_greedy_stage *stage, uint8_t kind)
{
    return ppi_greedy_arrival(stage, kind) < PPI_INFINITE;
}

/* Whether a device's next F of a leaves enough memory for the oldest microbatch to continue. */
static bool is_safe(const struct ppi_greedy *g, uint32_t r)
{
    return a_of(g, r)->done[PPSCHED_KIND_F] - z_of(g, r)->done[PPSCHED_KIND_F] < g->device[r].ahead;
}

/* --- the warm-up --- */

/* Appends a forward of a or z if one is left and memory allows. */
static void warm_up(struct ppi_greedy *g, uint32_t r, bool of_z)
{
    struct ppi_greedy_stage *stage = of_z ? z_of(g, r) : a_of(g, r);
    double arrival = ppi_greedy_arrival(stage, PPSCHED_KIND_F);
    if (arrival < PPI_INFINITE && (of_z || is_safe(g, r)) && ppi_greedy_fits(stage))
        ppi_greedy_put(g, stage, PPSCHED_KIND_F, arrival);
}

/* Whether a device has time for one more forward of a before the first one of z arrives, and memory for that and for the
 * forwards by which the devices before it are ahead. */
static bool has_room(const struct ppi_greedy *g, uint32_t r)
{
    const struct ppi_greedy_stage *a = a_of(g, r), *z = z_of(g, r);
    double needed = (1 + r) * (a->costs->memory[PPSCHED_KIND_F] + z->costs->memory[PPSCHED_KIND_F]);
    return a->done[PPSCHED_KIND_F] < g->problem->microbatches && a->device->level + needed <= a->device->limit &&
           a->device->clock + a->costs->duration[PPSCHED_KIND_F] <= ppi_greedy_arrival(z, PPSCHED_KIND_F);
}

/* The first microbatch comes back from the last device; those before it fill the time with forwards of a. */
static void put_first_forwards(struct ppi_greedy *g)
{
    uint32_t devices = g->problem->devices;
    for (uint32_t r = 0; r < devices; r++)
        warm_up(g, r, false);
    for (uint32_t r = devices; r-- > 0;) {
        size_t before = 0;
        while (g->plan.count > before && r + 1 < devices && has_room(g, r)) {
            before = g->plan.count;
            for (uint32_t j = 0; j <= r; j++)
                warm_up(g, j, false);
        }
        warm_up(g, r, true);
    }
}

/* Whether a device has fewer forwards than the one before it. */
static bool is_behind(const struct ppi_greedy *g, uint32_t r)
{
    uint32_t of_z = z_of(g, r)->done[PPSCHED_KIND_F], of_z_before = z_of(g, r - 1)->done[PPSCHED_KIND_F];
    return a_of(g, r)->done[PPSCHED_KIND_F] + of_z < a_of(g, r - 1)->done[PPSCHED_KIND_F] + of_z_before ||
           (of_z <= of_z_before && of_z_before < g->problem->microbatches);
}

/* Forwards of a and z in turn until all devices have the same number. */
static void level(struct ppi_greedy *g)
{
    bool of_z = false;
    for (uint32_t r = 1; r < g->problem->devices; r++)
        for (int stuck = 0; stuck < 2 && is_behind(g, r); of_z = !of_z) {
            size_t before = g->plan.count;
            for (uint32_t j = g->problem->devices; j-- > r;)
                warm_up(g, j, of_z);
            stuck = g->plan.count > before ? 0 : stuck + 1;
        }
}

/* --- the rounds --- */

/* Appends a stage's next op after the Ws that fit into the gap before it, and after one that overruns it if it may. */
static void fill_and_put(struct ppi_greedy *g, struct ppi_greedy_stage *stage, uint8_t kind, bool may_overrun)
{
    const struct ppi_greedy_device *device = stage->device;
    double arrival = ppi_greedy_arrival(stage, kind), behind = g->longest - (device->work + device->idle);
    double least = may_overrun ? ppi_larger(behind, device->spare - device->idle) : PPI_INFINITE;
    ppi_greedy_fill_gap(g, stage->device, arrival, least);
    ppi_greedy_put(g, stage, kind, arrival);
}

/* Whether a device's next I is one of a. */
static bool turns_to_a(const struct ppi_greedy *g, uint32_t r)
{
    uint32_t of_z = z_of(g, r)->done[PPSCHED_KIND_I];
    if (a_of(g, r)->done[PPSCHED_KIND_I] >= of_z)
        return false;
    return r + 1 == g->problem->devices || of_z == g->problem->microbatches || can_run(a_of(g, r), PPSCHED_KIND_I);
}

static void put_input(struct ppi_greedy *g, struct ppi_greedy_stage *stage, bool may_overrun)
{
    if (g->problem->rises)
        ppi_greedy_make_rise(g, stage);
    fill_and_put(g, stage, PPSCHED_KIND_I, may_overrun);
}

/* One I per device: first those of a, from the last device up, then those of z, from the first device down. */
static void put_inputs(struct ppi_greedy *g, const struct ppi_v_choice *choice)
{
    uint32_t devices = g->problem->devices;
    for (uint32_t r = 0; r < devices; r++)
        g->device[r].turns = turns_to_a(g, r);
    for (uint32_t r = devices; r-- > 0;)
        if (g->device[r].turns && can_run(a_of(g, r), PPSCHED_KIND_I))
            put_input(g, a_of(g, r), true);
    for (uint32_t r = 0; r < devices; r++)
        if (!g->device[r].turns && can_run(z_of(g, r), PPSCHED_KIND_I))
            put_input(g, z_of(g, r), choice->before_input);
}

/* The stage whose forward a device runs next; NULL where it waits. */
static struct ppi_greedy_stage *next_forward(const struct ppi_greedy *g, uint32_t r)
{
    struct ppi_greedy_stage *a = a_of(g, r), *z = z_of(g, r);
    if (can_run(z, PPSCHED_KIND_F))
        return z;
    return can_run(a, PPSCHED_KIND_F) && is_safe(g, r) ? a : NULL;
}

static void put_forwards(struct ppi_greedy *g, const struct ppi_v_choice *choice)
{
    for (uint32_t r = 0; r < g->problem->devices; r++) {
        struct ppi_greedy_stage *stage = next_forward(g, r);
        if (stage != NULL && ppi_greedy_make_fit(g, stage))
            fill_and_put(g, stage, PPSCHED_KIND_F, choice->before_forward);
    }
}

/* --- the plan --- */

/* How many forwards a may be ahead of z so that the oldest microbatch always fits. */
static void limit_forwards(struct ppi_greedy *g)
{
    uint32_t all = g->problem->microbatches;
    for (uint32_t r = 0; r < g->problem->devices; r++) {
        double each = a_of(g, r)->costs->memory[PPSCHED_KIND_F];
        double rest = g->device[r].limit - z_of(g, r)->costs->memory[PPSCHED_KIND_F];
        g->device[r].ahead = rest < each ? 1 : rest < each * all ? (uint32_t)(rest / each) : all;
    }
}

double ppi_v_plan(struct ppi_greedy *g, const struct ppi_v_choice *choice)
{
    ppi_greedy_start(g);
    limit_forwards(g);
    put_first_forwards(g);
    level(g);
    for (size_t before = 0; g->plan.count > before;) {
        before = g->plan.count;
        put_inputs(g, choice);
        put_forwards(g, choice);
    }
    for (uint32_t r = 0; r < g->problem->devices; r++)
        g->device[r].spare = g->longest - g->device[r].work;
    return ppi_greedy_finish(g);
}
