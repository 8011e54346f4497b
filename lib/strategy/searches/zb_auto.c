/* SPDX-License-Identifier: Apache-2.0 */
/* Zero bubble under a memory limit, with real costs: greedy plans with all combinations of their choices, and the fixed
 * schedules that fit the limit; where all these are far above the lower bound, greedy plans with another warm-up, and list
 * schedules after repeating patterns. The first with the shortest longest-device span is kept.
 *
 * A greedy plan first has as many warm-up forwards as memory and the first backward allow, then in each round one forward and
 * one I per device, with Ws where they fit into gaps or where memory needs them. After the heuristic in the code of "Zero
 * Bubble Pipeline Parallelism" (Qi et al. 2023, arXiv 2401.10241); the even warm-up is ours. */
#include "base/checked.h"
#include "base/error.h"
#include "base/inline.h"
#include "search/explore.h"
#include "search/greedy.h"
#include "search/repeat.h"
#include "strategy/descriptors.h"

#define FAR 1.1 /* above this multiple of the lower bound a span is worth more work; most plans with ample memory are below */

/* Measured: docs/performance.md. */
enum {
    PERIODS = 2,         /* of patterns in that case: more bring little gain */
    VISITS = 4000000,    /* of ops, most in the search for slices: some 50 ms */
    VISITS_PER_OP = 2000 /* the same per op: small problems need no more */
};

/* The choices of a plan. */
struct choice {
    bool bubble_before_first_backward; /* stop the warm-up before it delays the first backward, or let it do so */
    bool backward_first;               /* leave a forward out where it would delay a backward of the next device */
    bool fill_small_gaps;              /* put a W into a gap that it overruns, even on a device that is not late */
    bool even_warmup; /* warm-ups fall from the first device's evenly to the last's, or by what each can run before its first I:
                       * with memory for few forwards that ends with some devices that have none and wait for each microbatch */
};

/* Plans of all choices, made one after another in the same memory. */
struct planner {
    struct ppi_greedy greedy;
    struct ppi_repeat repeat;
    struct ppi_greedy_plan best; /* the attempt's, while it is not written */
    bool has_best;
    uint32_t *warmup; /* by stage: forwards of the warm-up, after the first, of the last plan that may have another one */
    bool left_out;    /* a forward of the present plan, as a choice said */
    bool was_small;   /* a gap of the present plan, so that a choice decided whether a W fills it */
};

static bool has_forwards(const struct ppi_greedy *g, uint32_t s)
{
    return g->stage[s].done[PPSCHED_KIND_F] < g->microbatches;
}

/* When the input of the next F or I arrives from the neighbour; negative where it has none. */
static double arrival(const struct ppi_greedy *g, uint32_t s, uint8_t kind)
{
    bool waits = kind == PPSCHED_KIND_F ? s > 0 : s + 1 < g->problem->devices;
    return waits ? ppi_greedy_arrival(&g->stage[s], kind) : -1;
}

static void put(struct ppi_greedy *g, uint32_t s, uint8_t kind)
{
    ppi_greedy_put(g, &g->stage[s], kind, arrival(g, s, kind));
}

/* --- the warm-up --- */

/* How many forwards a stage runs after its first until the first I of the next stage arrives. `*input_end`: the end of that I,
 * then that of this stage's first I. */
static uint32_t warmup_of(const struct ppi_greedy *g, const struct choice *choice, uint32_t s, double *input_end)
{
    const struct ppi_stage *costs = &g->problem->stage[s];
    const struct ppi_greedy_device *device = &g->device[s];
    double clock = device->clock, level = device->level, ready = *input_end + costs->backward_delay;
    uint32_t more = 0;
    while (1 + more < g->microbatches) {
        level += costs->memory[PPSCHED_KIND_F];
        double end = clock + costs->duration[PPSCHED_KIND_F];
        bool late = choice->bubble_before_first_backward ? end > ready : clock >= ready;
        if (late || level > device->limit)
            break;
        clock = end;
        more++;
    }
    *input_end = ppi_larger(clock, ready) + costs->duration[PPSCHED_KIND_I];
    return more;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A stage's share of the first stage's warm-up, falling towards the last stage. */
static uint32_t even_share(const struct ppi_greedy *g, uint32_t s)
{
    uint64_t last = g->problem->devices - 1;
    return (uint32_t)((g->device[0].ahead * (last - s) + last - 1) / last);
}

/* Finds how many forwards each stage runs in its warm-up, after its first. False where an even warm-up would be the same. */
static bool find_warmup(struct ppi_greedy *g, const struct choice *choice)
{
    uint32_t last = g->problem->devices - 1, usual, even;
    double input_end = g->device[last].clock + g->problem->stage[last].duration[PPSCHED_KIND_I];
    bool differs = false;
    g->device[last].ahead = 0;
    for (uint32_t s = last; s-- > 0;)
        g->device[s].ahead = warmup_of(g, choice, s, &input_end);
    usual = even = g->device[0].ahead;
    for (uint32_t s = 1; s <= last; s++) {
        uint32_t more = g->device[s].ahead;
        even = smaller(even, smaller(more, even_share(g, s)));
        while (more > 0 && more >= usual && 1 + more < g->microbatches)
            more--;
        usual = smaller(usual, more); /* no forward before that of the stage before */
        differs = differs || usual != even;
        g->device[s].ahead = choice->even_warmup ? even : usual;
    }
    return differs;
}

/* Whether a warm-up is the same as that of the plan with a bubble before the first backward, which is noted. */
static bool is_known(const struct planner *planner, const struct choice *choice)
{
    bool differs = choice->bubble_before_first_backward;
    for (uint32_t s = 0; s < planner->greedy.problem->devices; s++) {
        const uint32_t ahead = planner->greedy.device[s].ahead;
        differs = differs || planner->warmup[s] != ahead;
        if (choice->bubble_before_first_backward)
            planner->warmup[s] = ahead;
    }
    return !differs;
}

/* False where the plan would be the same as without an even warm-up, or with a bubble before the first backward. */
static bool put_warmup(struct planner *planner, const struct choice *choice)
{
    struct ppi_greedy *g = &planner->greedy;
    uint32_t devices = g->problem->devices;
    for (uint32_t s = 0; s < devices; s++)
        put(g, s, PPSCHED_KIND_F);
    const bool has_own = find_warmup(g, choice) || !choice->even_warmup;
    if (is_known(planner, choice) || !has_own)
        return false;
    for (uint32_t s = 0; s < devices; s++)
        for (uint32_t k = 0; k < g->device[s].ahead; k++)
            put(g, s, PPSCHED_KIND_F);
    for (uint32_t s = devices; s-- > 0;)
        put(g, s, PPSCHED_KIND_I);
    return true;
}

/* --- the rounds --- */

/* Time of the Ws that must run before a forward fits into memory. */
static double time_to_fit(const struct ppi_greedy_stage *stage)
{
    double held = stage->device->level + stage->costs->memory[PPSCHED_KIND_F], time = 0;
    uint32_t due = stage->done[PPSCHED_KIND_I] - stage->done[PPSCHED_KIND_W];
    for (; held > stage->device->limit && due > 0; due--) {
        held += stage->costs->memory[PPSCHED_KIND_W];
        time += stage->costs->duration[PPSCHED_KIND_W];
    }
    return time;
}

/* Whether a stage with forwards left runs one in this round. */
static bool wants_forward(struct planner *planner, const struct choice *choice, uint32_t s)
{
    const struct ppi_greedy *g = &planner->greedy;
    const struct ppi_greedy_stage *stage = &g->stage[s], *next = stage + 1;
    if (!choice->backward_first || s + 1 == g->problem->devices || stage->done[PPSCHED_KIND_F] < next->done[PPSCHED_KIND_F] + 2)
        return true;
    double clock = stage->device->clock, input = next->device->clock + next->costs->duration[PPSCHED_KIND_F] +
                                                 next->costs->duration[PPSCHED_KIND_I] + stage->costs->backward_delay;
    if (clock >= input)
        return false;
    if (clock + stage->costs->duration[PPSCHED_KIND_F] + time_to_fit(stage) <= input)
        return true;
    ppi_repeat_note(&planner->repeat, s);
    return input - clock > g->worst_idle - stage->device->idle;
}

/* Fills the gap of a device before an op that starts at `ready`. */
static void fill_gap(struct planner *planner, const struct choice *choice, uint32_t s, double ready)
{
    struct ppi_greedy *g = &planner->greedy;
    struct ppi_greedy_device *device = &g->device[s];
    const double weight = g->problem->stage[s].duration[PPSCHED_KIND_W];
    while (device->clock + weight <= ready && ppi_greedy_put_weight(g, device)) {
    }
    const double gap = ready - device->clock;
    if (!(gap > 0) || !ppi_greedy_has_due(device))
        return;
    const bool is_small = !(gap > g->worst_idle - device->idle);
    ppi_repeat_note(&planner->repeat, s);
    planner->was_small = planner->was_small || is_small;
    if (!is_small || choice->fill_small_gaps)
        ppi_greedy_put_weight(g, device);
}

/* `kind` is a constant where this is inlined. */
PPI_INLINE void fill_and_put(struct planner *planner, const struct choice *choice, uint32_t s, uint8_t kind)
{
    struct ppi_greedy *g = &planner->greedy;
    const double ready = arrival(g, s, kind);
    if (ready >= g->device[s].clock && ppi_greedy_has_due(&g->device[s]))
        fill_gap(planner, choice, s, ready);
    ppi_greedy_put(g, &g->stage[s], kind, ready);
}

/* Where a stage with forwards left runs none, the stages before it run none either. False where a device would exceed its
 * limit. */
static bool put_forwards(struct planner *planner, const struct choice *choice)
{
    struct ppi_greedy *g = &planner->greedy;
    uint32_t first = g->problem->devices;
    while (first > 0 && (!has_forwards(g, first - 1) || wants_forward(planner, choice, first - 1)))
        first--;
    planner->left_out = planner->left_out || first > 0;
    for (uint32_t s = first; s < g->problem->devices; s++) {
        if (!has_forwards(g, s))
            continue;
        if (!ppi_greedy_make_fit(g, &g->stage[s]))
            return false;
        fill_and_put(planner, choice, s, PPSCHED_KIND_F);
    }
    return true;
}

static void put_inputs(struct planner *planner, const struct choice *choice)
{
    struct ppi_greedy *g = &planner->greedy;
    for (uint32_t s = g->problem->devices; s-- > 0;) {
        while (s == 0 && !has_forwards(g, s) && ppi_greedy_put_weight(g, &g->device[s])) {
        }
        if (g->problem->rises)
            ppi_greedy_make_rise(g, &g->stage[s]);
        fill_and_put(planner, choice, s, PPSCHED_KIND_I);
    }
}

/* Returns the longest span; infinite where the choices leave ops out, exceed a limit, or lead to a span of `below` or more, up
 * to the rounding of sums. */
static double plan_with(struct planner *planner, const struct choice *choice, double below)
{
    struct ppi_greedy *g = &planner->greedy;
    ppi_greedy_start(g);
    ppi_repeat_start(&planner->repeat, g);
    planner->left_out = planner->was_small = false;
    if (!put_warmup(planner, choice))
        return PPI_INFINITE;
    for (uint32_t round = 1; round < g->microbatches && g->longest < below * (1 - 1e-12); round++) {
        if (!put_forwards(planner, choice))
            return PPI_INFINITE;
        put_inputs(planner, choice);
        ppi_repeat_rounds(&planner->repeat, g, round);
    }
    return g->longest < below * (1 - 1e-12) ? ppi_greedy_finish(g) : PPI_INFINITE;
}

/* --- the search --- */

/* Writes the best plan. */
static void write_best(struct ppi_attempt *attempt, struct planner *planner)
{
    if (planner->has_best)
        ppi_greedy_write(&planner->greedy, &planner->best, &attempt->best);
    planner->has_best = false;
}

/* Keeps a plan, whose time is known, if it is the best. It is written at once only if that is needed to price it. */
static void keep(struct ppi_attempt *attempt, struct planner *planner, double time)
{
    struct ppi_greedy_plan plan = planner->greedy.plan;
    if (!ppi_is_finite(time))
        return;
    if (!ppi_attempt_keeps_by_time(attempt)) {
        ppi_greedy_write(&planner->greedy, &plan, &attempt->candidate);
    } else if (time < attempt->objective) {
        planner->has_best = true;
        planner->greedy.plan = planner->best;
        planner->best = plan;
    }
    ppi_attempt_keep(attempt, time);
}

/* Tries all combinations of the paper's choices, first all set, the last changing fastest; those whose choices decide nothing
 * are not tried. */
static ppsched_status try_choices(struct ppi_attempt *attempt, struct planner *planner, bool even_warmup, ppsched_error *error)
{
    bool left_out[8], was_small[8];
    ppsched_status status = PPSCHED_OK;
    for (unsigned code = 0; code < 8 && ppi_attempt_goes_on(attempt) && status == PPSCHED_OK; code++) {
        struct choice choice = {code < 4, code % 4 < 2, code % 2 < 1, even_warmup};
        const bool is_known = (!choice.fill_small_gaps && !was_small[code - 1]) ||
                              (!choice.backward_first && !left_out[code - 2]);
        if (!is_known)
            keep(attempt, planner, plan_with(planner, &choice, attempt->objective));
        left_out[code] = is_known ? !choice.fill_small_gaps && !was_small[code - 1] && left_out[code - 1] : planner->left_out;
        was_small[code] = is_known ? !choice.backward_first && !left_out[code - 2] && was_small[code - 2] : planner->was_small;
        status = ppi_attempt_spend(attempt, 1, error);
    }
    write_best(attempt, planner);
    return status;
}

/* With uneven stages one of these may be shorter than the greedy plan. */
static const struct ppi_strategy *const fixed[] = {&ppi_zb_h1, &ppi_zb_h2, &ppi_1f1b, &ppi_eager_1f1b, &ppi_gpipe, NULL};

/* With slices: the rules that fit, list schedules, and orders between them. */
static ppsched_status plan_slices(struct ppi_attempt *attempt, ppsched_error *error)
{
    struct ppi_pool pool;
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status == PPSCHED_OK)
        status = ppi_pool_make(&pool, &attempt->arena, &attempt->problem, error);
    if (status != PPSCHED_OK)
        return status;
    attempt->pool = &pool;
    status = ppi_offer_split(attempt, fixed, error);
    if (status == PPSCHED_OK)
        status = ppi_list_micro_slices(attempt, true, VISITS / 4, error);
    attempt->pool = NULL; /* the search keeps what it finds itself */
    double visits = ppi_smaller(VISITS, (double)VISITS_PER_OP * (double)ppi_problem_ops(&attempt->problem));
    return status == PPSCHED_OK ? ppi_relink(attempt, &pool, visits, error) : status;
}

static ppsched_status make_planner(struct planner *planner, struct ppi_attempt *attempt, ppsched_error *error)
{
    *planner = (struct planner){.warmup = ppi_arena_take(&attempt->arena, attempt->problem.devices, sizeof *planner->warmup)};
    ppsched_status status = ppi_greedy_make(&planner->greedy, &attempt->arena, &attempt->problem, error);
    if (status == PPSCHED_OK)
        status = ppi_repeat_make(&planner->repeat, &attempt->arena, &attempt->problem, error);
    return status == PPSCHED_OK ? ppi_greedy_plan_make(&planner->best, &attempt->arena, &attempt->problem, error) : status;
}

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    struct planner planner;
    if (attempt->problem.slices > 1)
        return plan_slices(attempt, error);
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status == PPSCHED_OK)
        status = make_planner(&planner, attempt, error);
    if (status == PPSCHED_OK)
        status = try_choices(attempt, &planner, false, error);
    if (status != PPSCHED_OK)
        return status;
    if (!ppi_is_finite(attempt->objective) && !attempt->problem.rises)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    status = ppi_offer_split(attempt, fixed, error);
    if (status == PPSCHED_OK && !ppi_is_finite(attempt->objective)) /* memory rises inside backwards */
        status = ppi_go_straight(attempt, error);
    if (status != PPSCHED_OK || attempt->objective <= attempt->goal * FAR)
        return status;
    status = try_choices(attempt, &planner, true, error);
    return status == PPSCHED_OK ? ppi_follow_patterns(attempt, PERIODS, error) : status;
}

static const char *const aliases[] = {"zb", "zero_bubble"};

const struct ppi_strategy ppi_zb_auto = {
    .name = "zb_auto",
    .summary = "zero bubble under a memory limit, planned greedily with the real costs of each stage",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), the heuristic of its code",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .cuts = true,
    .most_memory = PPI_POOL_MEMORY,
    .plan = plan,
};
