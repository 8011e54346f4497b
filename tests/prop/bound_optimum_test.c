/* SPDX-License-Identifier: Apache-2.0 */
/* How near the lower bounds are to what is possible: beside the best of all schedules of small problems with uneven stages,
 * edges and limits. No bound is above it, and they reach it as often as they did when this was written: one that got looser
 * reaches it less often. Each figure for itself is reckoned again by bound_figures_test. */
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 3, MOST_STAGES = 3, MOST_MICROBATCHES = 3, MOST_OPS = 18, MOST_QUEUES = 24000, MOST_UNPROVED = 0 };

struct item {
    uint8_t kind, stage, microbatch;
};

/* All queues of a device that can be run under its limit; microbatches are alike, and come in order. */
struct queues {
    size_t count, length;
    struct item (*items)[MOST_OPS];
};

struct problem {
    uint32_t devices, stages, microbatches, device[MOST_STAGES];
    double limit[MOST_DEVICES] /* for activations */, delay[2][MOST_STAGES]; /* delay: before F, before I */
    struct brute_costs costs;
    struct queues queues[MOST_DEVICES];
    size_t chosen[MOST_DEVICES];
    double best[2]; /* span, makespan */
};

/* --- all queues --- */

static void extend(struct problem *p, uint32_t device, struct item *queue, size_t length, uint8_t done[MOST_STAGES][5],
                   double level)
{
    struct queues *queues = &p->queues[device];
    if (length == queues->length) {
        if (queues->count == MOST_QUEUES)
            fail_msg("too many queues");
        memcpy(queues->items[queues->count++], queue, length * sizeof *queue);
        return;
    }
    for (uint8_t s = 0; s < p->stages; s++)
        for (uint8_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
            uint8_t before = kind == PPSCHED_KIND_F   ? (uint8_t)p->microbatches
                             : kind == PPSCHED_KIND_I ? done[s][PPSCHED_KIND_F]
                                                      : done[s][PPSCHED_KIND_I];
            double after = level + p->costs.memory[kind][s];
            if (kind == PPSCHED_KIND_B || p->device[s] != device || done[s][kind] == before || after > p->limit[device] + 1e-9)
                continue;
            queue[length] = (struct item){kind, s, done[s][kind]++};
            extend(p, device, queue, length + 1, done, after);
            done[s][kind]--;
        }
}

/* --- their times --- */

/* Times by kind, stage and microbatch; infinite: not yet. */
typedef double ends[5][MOST_STAGES][MOST_MICROBATCHES];

/* When an op has what it needs. */
static double ready_at(const struct problem *p, ends end, struct item item)
{
    uint32_t s = item.stage, m = item.microbatch;
    if (item.kind == PPSCHED_KIND_W)
        return end[PPSCHED_KIND_I][s][m];
    if (item.kind == PPSCHED_KIND_F)
        return s == 0 ? 0 : end[PPSCHED_KIND_F][s - 1][m] + p->delay[0][s];
    double own = end[PPSCHED_KIND_F][s][m];
    return s + 1 == p->stages ? own : fmax(own, end[PPSCHED_KIND_I][s + 1][m] + p->delay[1][s]);
}

/* Runs what is chosen, where it can be run. */
static void run_chosen(struct problem *p)
{
    double clock[MOST_DEVICES] = {0}, first[MOST_DEVICES] = {0}, span = 0, makespan = 0;
    size_t at[MOST_DEVICES] = {0};
    ends end;
    for (size_t i = 0; i < sizeof end / sizeof(double); i++)
        (&end[0][0][0])[i] = HUGE_VAL;
    for (int progress = 1; progress;) {
        progress = 0;
        for (uint32_t d = 0; d < p->devices; d++)
            for (; at[d] < p->queues[d].length; at[d]++, progress = 1) {
                struct item item = p->queues[d].items[p->chosen[d]][at[d]];
                double start = fmax(clock[d], ready_at(p, end, item));
                if (start == HUGE_VAL)
                    break;
                first[d] = at[d] == 0 ? start : first[d];
                clock[d] = end[item.kind][item.stage][item.microbatch] = start + p->costs.duration[item.kind][item.stage];
            }
    }
    for (uint32_t d = 0; d < p->devices; d++) {
        if (at[d] < p->queues[d].length)
            return;
        span = fmax(span, clock[d] - first[d]);
        makespan = fmax(makespan, clock[d]);
    }
    p->best[0] = fmin(p->best[0], span);
    p->best[1] = fmin(p->best[1], makespan);
}

static void choose(struct problem *p, uint32_t device)
{
    if (device == p->devices) {
        run_chosen(p);
        return;
    }
    for (p->chosen[device] = 0; p->chosen[device] < p->queues[device].count; p->chosen[device]++)
        choose(p, device + 1);
}

/* --- problems --- */

/* Stages on devices, so few passes that all queues can be tried. */
static const struct {
    uint32_t devices, stages, microbatches, map[MOST_STAGES];
} sizes[] = {{1, 1, 3, {0}},       {2, 2, 2, {0, 1}},    {2, 2, 3, {0, 1}},    {2, 2, 3, {1, 0}},
             {3, 3, 2, {0, 1, 2}}, {3, 3, 2, {2, 0, 1}}, {2, 3, 1, {0, 1, 0}}, {1, 2, 2, {0, 0}}};

static ppsched_config *draw(struct problem *p, uint64_t *seed)
{
    uint32_t row = random_below(seed, sizeof sizes / sizeof sizes[0]);
    ppsched_config *config = make_config(sizes[row].devices, sizes[row].stages, sizes[row].microbatches);
    ppsched_error error;
    memset(p, 0, sizeof *p);
    p->devices = sizes[row].devices;
    p->stages = sizes[row].stages;
    p->microbatches = sizes[row].microbatches;
    memcpy(p->device, sizes[row].map, sizeof p->device);
    expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, p->device, p->stages, &error), &error);
    double low = random_below(seed, 3), released[MOST_STAGES]; /* from very uneven to nearly alike */
    set_uneven(config, PPSCHED_QUANTITY_FORWARD_TIMES, p->stages, low, seed);
    set_uneven(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, p->stages, low, seed);
    set_uneven(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, p->stages, low / 2, seed);
    set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)p->devices * p->devices, 0, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_FORWARD, p->stages, 1, seed);
    draw_uneven(released, p->stages, -1, seed);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, released, p->stages, &error), &error);
    set_uneven(config, PPSCHED_QUANTITY_MEM_STATIC, p->stages, 1, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_OTHER, p->devices, 1, seed);
    if (random_below(seed, 2))
        set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, p->devices, 4 + random_below(seed, 4), seed);
    return config;
}

/* The best of both objectives; false where nothing fits. */
static int solve(struct problem *p, const ppsched_config *config)
{
    struct item queue[MOST_OPS];
    brute_costs_of(&p->costs, config);
    for (uint32_t s = 0; s < p->stages; s++) {
        p->delay[0][s] = s > 0 && p->device[s - 1] != p->device[s] ? p->costs.delay[p->device[s - 1]][p->device[s]] : 0;
        p->delay[1][s] = s + 1 < p->stages && p->device[s + 1] != p->device[s] ? p->costs.delay[p->device[s + 1]][p->device[s]]
                                                                               : 0;
    }
    for (uint32_t d = 0; d < p->devices; d++) {
        static struct item room[MOST_DEVICES][MOST_QUEUES][MOST_OPS];
        uint8_t done[MOST_STAGES][5] = {{0}};
        p->queues[d].items = room[d];
        for (uint32_t s = 0; s < p->stages; s++)
            p->queues[d].length += p->device[s] == d ? 3 * p->microbatches : 0;
        extend(p, d, queue, 0, done, 0);
    }
    p->best[0] = p->best[1] = HUGE_VAL;
    choose(p, 0);
    return p->best[0] < HUGE_VAL;
}

/* Whether it is proved that no schedule is below `known`; fails where one is. */
static uint32_t proves(const ppsched_config *config, int32_t objective, double best, double known)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    expect_ok(ppsched_config_prove_bound(&bound, config, objective, known, 1e7, &error), &error);
    if (bound.value > best + 1e-9)
        fail_msg("the bound is %.17g, proved %.17g of %.17g, the best %.17g", bound.value, bound.proof, known, best);
    return bound.value > best - 1e-9;
}

static void test_beside_the_best(void **state)
{
    uint64_t seed = 51;
    uint32_t reached[2] = {0, 0}, by_one_machine[2] = {0, 0}, solved = 0, proved = 0;
    double gaps[2] = {0, 0};
    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        static struct problem p;
        ppsched_config *config = draw(&p, &seed);
        for (uint32_t d = 0; d < p.devices; d++)
            p.limit[d] = value_at(config, PPSCHED_QUANTITY_MEM_LIMIT, d, HUGE_VAL) -
                         value_at(config, PPSCHED_QUANTITY_MEM_OTHER, d, 0);
        for (uint32_t s = 0; s < p.stages; s++)
            p.limit[p.device[s]] -= value_at(config, PPSCHED_QUANTITY_MEM_STATIC, s, 0);
        int fits = solve(&p, config);
        solved += (uint32_t)fits;
        for (int k = 0; k < 2 && fits; k++) {
            ppsched_bound bound = {.size = sizeof bound};
            ppsched_error error;
            expect_ok(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_SPAN + k, &error), &error);
            if (bound.value > p.best[k] + 1e-9)
                fail_msg("trial %d: the bound is %.17g, the best %.17g", trial, bound.value, p.best[k]);
            reached[k] += bound.value > p.best[k] - 1e-9;
            by_one_machine[k] += bound.value > fmax(fmax(bound.work, bound.fill_drain), bound.memory) + 1e-9;
            gaps[k] += p.best[k] / bound.value - 1;
            proved += proves(config, PPSCHED_OBJECTIVE_SPAN + k, p.best[k], p.best[k]);
            for (int above = 1; above <= 1000; above *= 10)
                proves(config, PPSCHED_OBJECTIVE_SPAN + k, p.best[k], p.best[k] * (1 + 1e-4 * above) + 1e-9);
        }
        ppsched_config_destroy(config);
    }
    if (proved < 2 * solved - MOST_UNPROVED)
        fail_msg("of %u times two best values %u are proved", solved, proved);
    if (solved < 1700 || by_one_machine[0] < 550 || by_one_machine[1] < 550)
        fail_msg("%u solved, one machine tells of %u and %u", solved, by_one_machine[0], by_one_machine[1]);
    if (reached[0] < 1687 || reached[1] < 1681 || gaps[0] / solved > 0.001315 || gaps[1] / solved > 0.001047)
        fail_msg("of %u the best is reached by %u and %u, the mean gaps are %.6f and %.6f", solved, reached[0], reached[1],
                 gaps[0] / solved, gaps[1] / solved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_beside_the_best),
    };
    return cmocka_run_group_tests_name("bound optimum", tests, NULL, NULL);
}
