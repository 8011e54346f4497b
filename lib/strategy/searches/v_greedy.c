/* SPDX-License-Identifier: Apache-2.0 */
/* After the planner of the zero-bubble paper's authors: as many warm-up forwards as memory and the return of the first
 * microbatch allow, the same number on every device; then rounds of one I and one F a device, with a W wherever it fits into a
 * gap, wherever memory needs it, and where a device is less behind than the worst one.
 *
 * Theirs gives up where an op does not fit into memory. Here the device waits for a round, and no forward is put that would
 * leave no room for the oldest microbatch to go on, so that every round puts an op. */
#include "strategy/searches/v_greedy.h"

#include "base/checked.h"

struct greedy {
    struct ppi_v_planner *p;
    struct ppi_v_choice choice;
    const double *spare;
};

static uint32_t forwards(const struct ppi_v_device *device)
{
    return device->a->forwards + device->z->forwards;
}

/* --- the warm-up --- */

/* Puts a forward if one is left and memory allows; false where not. */
static bool warm_up(struct ppi_v_planner *p, struct ppi_v_stage *stage)
{
    struct ppi_v_device *device = ppi_v_device_of(p, stage);
    if (ppi_v_forward_arrival(p, stage) == PPI_INFINITE || !ppi_v_safe(device, stage) || !ppi_v_fits(device, stage))
        return false;
    ppi_v_put_forward(p, stage);
    return true;
}

/* Whether a device has time for one more forward of a before the first one of z arrives, and memory for that and for the
 * forwards by which the devices before it are ahead. */
static bool has_room(const struct ppi_v_planner *p, uint32_t r, double arrival)
{
    const struct ppi_v_device *device = &p->device[r];
    const struct ppi_lane *a = device->a->lane, *z = device->z->lane;
    double needed = (1 + r) * (a->memory[PPSCHED_KIND_F] + z->memory[PPSCHED_KIND_F]);
    return device->a->forwards < p->microbatches && device->memory + needed <= device->limit &&
           device->clock + a->duration[PPSCHED_KIND_F] <= arrival;
}

/* The first microbatch comes back from the last device; those before it fill the time with forwards of a. */
static void put_first_forwards(struct ppi_v_planner *p)
{
    for (uint32_t r = 0; r < p->devices; r++)
        warm_up(p, p->device[r].a);
    for (uint32_t r = p->devices; r-- > 0;) {
        bool put = true;
        while (put && r + 1 < p->devices && has_room(p, r, ppi_v_forward_arrival(p, p->device[r].z))) {
            put = false;
            for (uint32_t j = 0; j <= r; j++)
                put = warm_up(p, p->device[j].a) || put;
        }
        warm_up(p, p->device[r].z);
    }
}

/* Whether a device has fewer forwards than the one before it. */
static bool is_behind(const struct ppi_v_planner *p, uint32_t r)
{
    const struct ppi_v_device *device = &p->device[r], *before = device - 1;
    return forwards(device) < forwards(before) ||
           (device->z->forwards <= before->z->forwards && before->z->forwards < p->microbatches);
}

/* Forwards of a and z in turn until all devices have as many. */
static void level(struct ppi_v_planner *p)
{
    bool of_z = false;
    for (uint32_t r = 1; r < p->devices; r++)
        for (int stuck = 0; stuck < 2 && is_behind(p, r); of_z = !of_z) {
            bool put = false;
            for (uint32_t j = p->devices; j-- > r;)
                put = warm_up(p, of_z ? p->device[j].z : p->device[j].a) || put;
            stuck = put ? 0 : stuck + 1;
        }
}

/* --- the rounds --- */

/* Puts Ws into the gap before an op for which the device waits: those that fit, and one that overruns it if it may. */
static void fill_gap(struct greedy *g, uint32_t r, double arrival, bool may_overrun)
{
    struct ppi_v_device *device = &g->p->device[r];
    const struct ppi_v_stage *due = ppi_v_weight_due(g->p, device);
    for (; due != NULL && device->clock + due->lane->duration[PPSCHED_KIND_W] <= arrival; due = ppi_v_weight_due(g->p, device))
        ppi_v_put_weight(g->p, device);
    if (due == NULL || !may_overrun)
        return;
    double behind = g->p->longest - (device->work + device->idle), spare = g->spare[r] - device->idle;
    if (arrival - device->clock > (behind > spare ? behind : spare))
        ppi_v_put_weight(g->p, device);
}

/* Puts the next I of a stage if what it needs is planned. */
static bool try_input(struct greedy *g, uint32_t r, struct ppi_v_stage *stage)
{
    double arrival = ppi_v_input_arrival(g->p, stage);
    if (arrival == PPI_INFINITE)
        return false;
    fill_gap(g, r, arrival, stage == g->p->device[r].a || g->choice.before_input);
    ppi_v_put_input(g->p, stage);
    return true;
}

/* Whether a device's next I is one of a. */
static bool turns_to_a(const struct ppi_v_planner *p, uint32_t r)
{
    const struct ppi_v_device *device = &p->device[r];
    if (device->a->inputs >= device->z->inputs)
        return false;
    return r + 1 == p->devices || device->z->inputs == p->microbatches || ppi_v_input_arrival(p, device->a) < PPI_INFINITE;
}

/* One I a device: first those of a, from the last device up, then those of z, from the first device down. */
static bool put_inputs(struct greedy *g, bool *of_a)
{
    struct ppi_v_planner *p = g->p;
    bool put = false;
    for (uint32_t r = 0; r < p->devices; r++)
        of_a[r] = turns_to_a(p, r);
    for (uint32_t r = p->devices; r-- > 0;)
        put = (of_a[r] && try_input(g, r, p->device[r].a)) || put;
    for (uint32_t r = 0; r < p->devices; r++)
        put = (!of_a[r] && try_input(g, r, p->device[r].z)) || put;
    return put;
}

/* The stage whose forward a device runs next; NULL where it waits. */
static struct ppi_v_stage *next_forward(const struct ppi_v_planner *p, uint32_t r)
{
    const struct ppi_v_device *device = &p->device[r];
    if (device->z->forwards < device->a->forwards && ppi_v_forward_arrival(p, device->z) < PPI_INFINITE)
        return device->z;
    if (ppi_v_forward_arrival(p, device->a) < PPI_INFINITE && ppi_v_safe(device, device->a))
        return device->a;
    return NULL;
}

static bool put_forwards(struct greedy *g)
{
    bool put = false;
    for (uint32_t r = 0; r < g->p->devices; r++) {
        struct ppi_v_device *device = &g->p->device[r];
        struct ppi_v_stage *stage = next_forward(g->p, r);
        if (stage == NULL)
            continue;
        while (!ppi_v_fits(device, stage) && ppi_v_put_weight(g->p, device))
            put = true;
        if (!ppi_v_fits(device, stage))
            continue;
        fill_gap(g, r, ppi_v_forward_arrival(g->p, stage), g->choice.before_forward);
        ppi_v_put_forward(g->p, stage);
        put = true;
    }
    return put;
}

double ppi_v_greedy(struct ppi_v_planner *p, struct ppi_v_choice choice, const double *spare, bool *of_a, ppsched_op *ops)
{
    struct greedy g = {p, choice, spare};
    ppi_v_restart(p, ops);
    put_first_forwards(p);
    level(p);
    for (bool put = true; put;) {
        put = put_inputs(&g, of_a);
        put = put_forwards(&g) || put;
    }
    for (uint32_t r = 0; r < p->devices; r++)
        while (ppi_v_put_weight(p, &p->device[r])) {
        }
    return ppi_v_span(p);
}
