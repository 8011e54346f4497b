/* SPDX-License-Identifier: Apache-2.0 */
/* After the planner of the zero-bubble paper's authors: as many warm-up forwards as memory and the return of the first
 * microbatch allow, the same number on every device; then rounds of one I and one F a device, with a W wherever it fits into a
 * gap, wherever memory needs it, and where a device is less behind than the worst one.
 *
 * Theirs gives up where an op does not fit into memory. Here the device waits for a round, and no forward is put that would
 * leave no room for the oldest microbatch to go on, so that every round puts an op. */
#include "strategy/searches/v_greedy.h"

#include "base/checked.h"
#include "base/error.h"

/* What else is known of a device. */
struct ppi_v_turn {
    struct ppi_greedy_stage *a, *z;
    uint32_t most_ahead; /* forwards that a may be ahead of z: then the oldest microbatch always fits */
    double spare;        /* by how much it may be idle longer than the busiest, as known from the plan before */
    bool of_a;           /* its next I is one of a */
};

/* --- arrivals: infinite where what is needed is not planned, or no op is left --- */

static double forward_arrival(const struct ppi_v_greedy *p, const struct ppi_greedy_stage *stage)
{
    uint32_t m = stage->done->forwards;
    if (m == p->greedy.problem->microbatches)
        return PPI_INFINITE;
    if (stage == p->greedy.stage)
        return 0;
    return m < stage[-1].done->forwards ? ppi_greedy_forward_arrival(stage) : PPI_INFINITE;
}

static double input_arrival(const struct ppi_v_greedy *p, const struct ppi_greedy_stage *stage)
{
    uint32_t m = stage->done->inputs;
    if (m == stage->done->forwards)
        return PPI_INFINITE;
    if (stage + 1 == p->greedy.stage + p->greedy.problem->stages)
        return stage->forward_end[m];
    return m < stage[1].done->inputs ? ppi_greedy_input_arrival(stage) : PPI_INFINITE;
}

/* --- ops --- */

static struct ppi_v_turn *turn_of(const struct ppi_v_greedy *p, const struct ppi_greedy_stage *stage)
{
    return &p->turn[stage->costs->device];
}

static void put_forward(struct ppi_v_greedy *p, struct ppi_greedy_stage *stage)
{
    ppi_greedy_put(&p->greedy, stage, PPSCHED_KIND_F, forward_arrival(p, stage));
}

/* The stage of the oldest W that is due on a device; NULL where none is. */
static struct ppi_greedy_stage *weight_due(const struct ppi_v_greedy *p, uint32_t r)
{
    struct ppi_greedy_device *device = &p->greedy.device[r];
    while (device->due < device->next && device->due->kind != PPSCHED_KIND_I)
        device->due++;
    return device->due < device->next ? &p->greedy.stage[device->due->stage] : NULL;
}

/* Puts the oldest W that is due on a device; false where none is. */
static bool put_weight(struct ppi_v_greedy *p, uint32_t r)
{
    struct ppi_greedy_stage *stage = weight_due(p, r);
    if (stage == NULL)
        return false;
    ppi_greedy_put(&p->greedy, stage, PPSCHED_KIND_W, stage->at->clock);
    p->greedy.device[r].due++;
    return true;
}

/* Whether a stage's next F leaves room for the oldest microbatch to go on. */
static bool is_safe(const struct ppi_v_greedy *p, const struct ppi_greedy_stage *stage)
{
    const struct ppi_v_turn *turn = turn_of(p, stage);
    return stage == turn->z || turn->a->done->forwards - turn->z->done->forwards < turn->most_ahead;
}

/* --- the warm-up --- */

/* Puts a forward if one is left and memory allows; false where not. */
static bool warm_up(struct ppi_v_greedy *p, struct ppi_greedy_stage *stage)
{
    if (forward_arrival(p, stage) == PPI_INFINITE || !is_safe(p, stage) || !ppi_greedy_fits(&p->greedy, stage))
        return false;
    put_forward(p, stage);
    return true;
}

/* Whether a device has time for one more forward of a before the first one of z arrives, and memory for that and for the
 * forwards by which the devices before it are ahead. */
static bool has_room(const struct ppi_v_greedy *p, uint32_t r, double arrival)
{
    const struct ppi_greedy_stage *a = p->turn[r].a, *z = p->turn[r].z;
    double needed = (1 + r) * (a->costs->memory[PPSCHED_KIND_F] + z->costs->memory[PPSCHED_KIND_F]);
    return a->done->forwards < p->greedy.problem->microbatches && a->at->level + needed <= p->greedy.problem->device[r].limit &&
           a->at->clock + a->costs->duration[PPSCHED_KIND_F] <= arrival;
}

/* The first microbatch comes back from the last device; those before it fill the time with forwards of a. */
static void put_first_forwards(struct ppi_v_greedy *p)
{
    uint32_t devices = p->greedy.problem->devices;
    for (uint32_t r = 0; r < devices; r++)
        warm_up(p, p->turn[r].a);
    for (uint32_t r = devices; r-- > 0;) {
        bool put = true;
        while (put && r + 1 < devices && has_room(p, r, forward_arrival(p, p->turn[r].z))) {
            put = false;
            for (uint32_t j = 0; j <= r; j++)
                put = warm_up(p, p->turn[j].a) || put;
        }
        warm_up(p, p->turn[r].z);
    }
}

/* Whether a device has fewer forwards than the one before it. */
static bool is_behind(const struct ppi_v_greedy *p, uint32_t r)
{
    const struct ppi_v_turn *turn = &p->turn[r], *before = turn - 1;
    uint32_t of_z = turn->z->done->forwards, of_z_before = before->z->done->forwards;
    return turn->a->done->forwards + of_z < before->a->done->forwards + of_z_before ||
           (of_z <= of_z_before && of_z_before < p->greedy.problem->microbatches);
}

/* Forwards of a and z in turn until all devices have as many. */
static void level(struct ppi_v_greedy *p)
{
    bool of_z = false;
    for (uint32_t r = 1; r < p->greedy.problem->devices; r++)
        for (int stuck = 0; stuck < 2 && is_behind(p, r); of_z = !of_z) {
            bool put = false;
            for (uint32_t j = p->greedy.problem->devices; j-- > r;)
                put = warm_up(p, of_z ? p->turn[j].z : p->turn[j].a) || put;
            stuck = put ? 0 : stuck + 1;
        }
}

/* --- the rounds --- */

/* Puts Ws into the gap before an op for which the device waits: those that fit, and one that overruns it if it may. */
static void fill_gap(struct ppi_v_greedy *p, uint32_t r, double arrival, bool may_overrun)
{
    const struct ppi_greedy_device *device = &p->greedy.device[r];
    const struct ppi_at_device *at = &p->greedy.partial.device[r];
    const struct ppi_greedy_stage *due = weight_due(p, r);
    for (; due != NULL && at->clock + due->costs->duration[PPSCHED_KIND_W] <= arrival; due = weight_due(p, r))
        put_weight(p, r);
    if (due == NULL || !may_overrun)
        return;
    double behind = p->greedy.longest - (device->work + device->idle), spare = p->turn[r].spare - device->idle;
    if (arrival - at->clock > (behind > spare ? behind : spare))
        put_weight(p, r);
}

/* Puts the next I of a stage if what it needs is planned. */
static bool try_input(struct ppi_v_greedy *p, uint32_t r, struct ppi_greedy_stage *stage)
{
    double arrival = input_arrival(p, stage);
    if (arrival == PPI_INFINITE)
        return false;
    fill_gap(p, r, arrival, stage == p->turn[r].a || p->choice.before_input);
    ppi_greedy_put(&p->greedy, stage, PPSCHED_KIND_I, arrival);
    return true;
}

/* Whether a device's next I is one of a. */
static bool turns_to_a(const struct ppi_v_greedy *p, uint32_t r)
{
    const struct ppi_v_turn *turn = &p->turn[r];
    if (turn->a->done->inputs >= turn->z->done->inputs)
        return false;
    return r + 1 == p->greedy.problem->devices || turn->z->done->inputs == p->greedy.problem->microbatches ||
           input_arrival(p, turn->a) < PPI_INFINITE;
}

/* One I a device: first those of a, from the last device up, then those of z, from the first device down. */
static bool put_inputs(struct ppi_v_greedy *p)
{
    uint32_t devices = p->greedy.problem->devices;
    bool put = false;
    for (uint32_t r = 0; r < devices; r++)
        p->turn[r].of_a = turns_to_a(p, r);
    for (uint32_t r = devices; r-- > 0;)
        put = (p->turn[r].of_a && try_input(p, r, p->turn[r].a)) || put;
    for (uint32_t r = 0; r < devices; r++)
        put = (!p->turn[r].of_a && try_input(p, r, p->turn[r].z)) || put;
    return put;
}

/* The stage whose forward a device runs next; NULL where it waits. */
static struct ppi_greedy_stage *next_forward(const struct ppi_v_greedy *p, uint32_t r)
{
    const struct ppi_v_turn *turn = &p->turn[r];
    if (turn->z->done->forwards < turn->a->done->forwards && forward_arrival(p, turn->z) < PPI_INFINITE)
        return turn->z;
    return forward_arrival(p, turn->a) < PPI_INFINITE && is_safe(p, turn->a) ? turn->a : NULL;
}

static bool put_forwards(struct ppi_v_greedy *p)
{
    bool put = false;
    for (uint32_t r = 0; r < p->greedy.problem->devices; r++) {
        struct ppi_greedy_stage *stage = next_forward(p, r);
        if (stage == NULL)
            continue;
        while (!ppi_greedy_fits(&p->greedy, stage) && put_weight(p, r))
            put = true;
        if (!ppi_greedy_fits(&p->greedy, stage))
            continue;
        fill_gap(p, r, forward_arrival(p, stage), p->choice.before_forward);
        put_forward(p, stage);
        put = true;
    }
    return put;
}

/* --- the plan --- */

void ppi_v_greedy_forget(struct ppi_v_greedy *p)
{
    for (uint32_t r = 0; r < p->greedy.problem->devices; r++)
        p->turn[r].spare = 0;
}

static void start(struct ppi_v_greedy *p, struct ppi_v_choice choice, struct ppi_orders *out)
{
    uint32_t all = p->greedy.problem->microbatches;
    p->choice = choice;
    ppi_greedy_start(&p->greedy, out);
    for (uint32_t r = 0; r < p->greedy.problem->devices; r++) {
        struct ppi_v_turn *turn = &p->turn[r];
        double each = turn->a->costs->memory[PPSCHED_KIND_F];
        double rest = p->greedy.problem->device[r].limit - turn->z->costs->memory[PPSCHED_KIND_F];
        turn->most_ahead = rest < each ? 1 : rest < each * all ? (uint32_t)(rest / each) : all;
    }
}

double ppi_v_greedy_plan(struct ppi_v_greedy *p, struct ppi_v_choice choice, struct ppi_orders *out)
{
    start(p, choice, out);
    put_first_forwards(p);
    level(p);
    for (bool put = true; put;) {
        put = put_inputs(p);
        put = put_forwards(p) || put;
    }
    for (uint32_t r = 0; r < p->greedy.problem->devices; r++) {
        while (put_weight(p, r)) {
        }
        p->turn[r].spare = p->greedy.longest - p->greedy.device[r].work;
    }
    return ppi_greedy_span(&p->greedy);
}

ppsched_status ppi_v_greedy_make(struct ppi_v_greedy *out, const struct ppi_problem *problem, ppsched_error *error)
{
    struct ppi_v_greedy planner = {0};
    ppsched_status status = ppi_greedy_make(&planner.greedy, problem, error);
    if (status != PPSCHED_OK)
        return status;
    planner.turn = ppi_allocate_zeroed(&problem->host, problem->devices, sizeof *planner.turn);
    if (planner.turn == NULL) {
        ppi_greedy_clear(&planner.greedy);
        return ppi_fail_memory(error, "the search");
    }
    for (uint32_t r = 0; r < problem->devices; r++) {
        planner.turn[r].a = &planner.greedy.stage[ppi_stage_at(problem, r, 0)];
        planner.turn[r].z = &planner.greedy.stage[ppi_stage_at(problem, r, 1)];
    }
    *out = planner;
    return PPSCHED_OK;
}

void ppi_v_greedy_clear(struct ppi_v_greedy *planner)
{
    if (planner->greedy.problem != NULL)
        ppi_release(&planner->greedy.problem->host, planner->turn);
    ppi_greedy_clear(&planner->greedy);
}
