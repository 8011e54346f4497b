/* SPDX-License-Identifier: Apache-2.0 */
/* No schedule is below the lower bounds: thousands of random list schedules of small problems, the best of which the evaluator
 * prices too, all strategies, and `auto`. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <string.h>

enum { MOST_LANES = 12, MOST_MICROBATCHES = 8, MOST_DEVICES = 4, MOST_OPS = 3 * MOST_LANES * MOST_MICROBATCHES };

/* A problem in plain numbers. A lane is a stage of a model copy, with microbatches of its own. */
struct plain {
    uint32_t devices, stages, instances, microbatches;
    uint32_t wait; /* steps before the second copy begins */
    uint32_t device[MOST_LANES], first[MOST_LANES], end[MOST_LANES];
    double duration[5][MOST_LANES], memory[5][MOST_LANES], fixed[MOST_DEVICES], limit[MOST_DEVICES];
    double delay[MOST_DEVICES][MOST_DEVICES], pair[MOST_LANES][MOST_LANES]; /* pair: negative: none */
};

/* A schedule in the making; microbatches of a lane in ascending order. */
struct sample {
    double clock[MOST_DEVICES], start[MOST_DEVICES], level[MOST_DEVICES];
    uint32_t done[3][MOST_LANES];
    double end[2][MOST_LANES][MOST_MICROBATCHES];
    ppsched_op ops[MOST_DEVICES][MOST_OPS];
    size_t count[MOST_DEVICES];
    uint32_t steps;
};

struct step {
    uint32_t instance, other; /* other: that of the backward of a pair */
    uint8_t kind;
    int paired;
    double start;
};

/* When an F (0) or a backward (1) of a lane has its input; infinite: not known. */
static double input_of(const struct plain *p, const struct sample *now, int backward, uint32_t instance)
{
    uint32_t m = now->done[backward][instance], stage = instance % p->stages;
    if (m == p->end[instance])
        return HUGE_VAL;
    if (!backward && stage == 0)
        return 0;
    if (backward && now->done[0][instance] <= m)
        return HUGE_VAL;
    double ready = backward ? now->end[0][instance][m] : 0;
    if (backward && stage + 1 == p->stages)
        return ready;
    uint32_t before = backward ? instance + 1 : instance - 1;
    if (now->done[backward][before] <= m)
        return HUGE_VAL;
    return fmax(ready, now->end[backward][before][m] + p->delay[p->device[before]][p->device[instance]]);
}

static void offer(const struct plain *p, const struct sample *now, struct step step, struct step *steps, int *count)
{
    uint32_t device = p->device[step.instance];
    double ready = step.kind == PPSCHED_KIND_W ? now->end[1][step.instance][now->done[2][step.instance]]
                                               : input_of(p, now, step.kind != PPSCHED_KIND_F, step.instance);
    if (step.paired)
        ready = fmax(ready, input_of(p, now, 1, step.other));
    if (step.kind == PPSCHED_KIND_F && now->level[device] + p->memory[PPSCHED_KIND_F][step.instance] > p->limit[device])
        return;
    step.start = fmax(ready, now->clock[device]);
    if (step.start < HUGE_VAL)
        steps[(*count)++] = step;
}

static int find_steps(const struct plain *p, const struct sample *now, struct step *steps)
{
    uint32_t instances = now->steps < p->wait ? p->stages : p->instances;
    int count = 0;
    for (uint32_t l = 0; l < instances; l++) {
        offer(p, now, (struct step){.instance = l, .kind = PPSCHED_KIND_F}, steps, &count);
        offer(p, now, (struct step){.instance = l, .kind = PPSCHED_KIND_I}, steps, &count);
        if (now->done[2][l] < now->done[1][l])
            offer(p, now, (struct step){.instance = l, .kind = PPSCHED_KIND_W}, steps, &count);
        else
            offer(p, now, (struct step){.instance = l, .kind = PPSCHED_KIND_B}, steps, &count);
        for (uint32_t other = 0; other < instances && p->pair[0][0] >= 0; other++)
            if (p->device[other] == p->device[l] && now->done[2][other] == now->done[1][other])
                offer(p, now, (struct step){.instance = l, .other = other, .kind = PPSCHED_KIND_F, .paired = 1}, steps, &count);
    }
    return count;
}

static void put(const struct plain *p, struct sample *now, uint32_t instance, uint8_t kind, double end, int leads)
{
    uint32_t device = p->device[instance], stage = instance % p->stages;
    int row = kind == PPSCHED_KIND_F ? 0 : kind == PPSCHED_KIND_W ? 2 : 1;
    uint32_t m = now->done[row][instance]++;
    now->ops[device][now->count[device]++] = (ppsched_op){
        .microbatch = m, .stage = (uint16_t)stage, .kind = kind, .flags = leads ? PPSCHED_OP_FLAG_OVERLAPPED : 0};
    now->level[device] += p->memory[kind][instance];
    if (row < 2)
        now->end[row][instance][m] = end;
    if (kind == PPSCHED_KIND_B)
        now->done[2][instance]++;
}

static void append(const struct plain *p, struct sample *now, const struct step *step)
{
    uint32_t device = p->device[step->instance];
    double time = step->paired ? p->pair[step->instance % p->stages][step->other % p->stages]
                               : p->duration[step->kind][step->instance];
    if (now->count[device] == 0)
        now->start[device] = step->start;
    put(p, now, step->instance, step->kind, step->start + time, step->paired);
    if (step->paired)
        put(p, now, step->other, PPSCHED_KIND_B, step->start + time, 0);
    now->clock[device] = step->start + time;
    now->steps++;
}

static int is_complete(const struct plain *p, const struct sample *now)
{
    for (uint32_t l = 0; l < p->instances; l++)
        if (now->done[2][l] < p->end[l])
            return 0;
    return 1;
}

/* A random list schedule; where `eager`, mostly of the ops that can start first. Infinite where it runs into its limits. */
static double draw(uint64_t *seed, const struct plain *p, int eager, int by_span, struct sample *out)
{
    struct step steps[4 * MOST_LANES + MOST_LANES * MOST_LANES];
    double objective = 0;
    memset(out, 0, sizeof *out);
    for (uint32_t l = 0; l < p->instances; l++)
        for (int row = 0; row < 3; row++)
            out->done[row][l] = p->first[l];
    for (int count = find_steps(p, out, steps); count > 0; count = find_steps(p, out, steps)) {
        int chosen = (int)random_below(seed, (uint32_t)count);
        for (int tries = eager; tries > 0; tries--) {
            int other = (int)random_below(seed, (uint32_t)count);
            if (steps[other].start < steps[chosen].start)
                chosen = other;
        }
        append(p, out, &steps[chosen]);
    }
    for (uint32_t d = 0; d < p->devices; d++)
        objective = fmax(objective, out->clock[d] - (by_span ? out->start[d] : 0));
    return is_complete(p, out) ? objective : HUGE_VAL;
}

/* --- problems --- */

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

/* Sets the placement, whose stages are on p->device for a map; and the lanes of both copies where there are two. */
static void place_copies(struct plain *p, ppsched_config *config, int32_t placement)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_placement(config, placement, p->device, p->stages, &error), &error);
    p->instances = placement == PPSCHED_PLACEMENT_BIDIRECTIONAL ? 2 * p->stages : p->stages;
    for (uint32_t l = 0; l < p->instances; l++) {
        uint32_t half = p->instances > p->stages ? p->microbatches - p->microbatches / 2 : p->microbatches;
        p->first[l] = l < p->stages ? 0 : half;
        p->end[l] = l < p->stages ? half : p->microbatches;
        if (p->instances > p->stages)
            p->device[l] = l < p->stages ? l : p->devices - 1 - (l - p->stages);
    }
}

/* Stages and where they are. */
static ppsched_config *draw_shape(uint64_t *seed, struct plain *p)
{
    int32_t placement = 1 + (int32_t)random_below(seed, 5);
    p->devices = placement == PPSCHED_PLACEMENT_BIDIRECTIONAL ? 2 + 2 * random_below(seed, 2) : 1 + random_below(seed, 3);
    uint32_t chunks = placement == PPSCHED_PLACEMENT_LOOP || placement == PPSCHED_PLACEMENT_V ? 1 + random_below(seed, 2) : 1;
    p->stages = placement == PPSCHED_PLACEMENT_MAP ? 1 + random_below(seed, 6) : chunks * p->devices;
    p->microbatches = 1 + random_below(seed, placement == PPSCHED_PLACEMENT_BIDIRECTIONAL ? MOST_MICROBATCHES : 3);
    ppsched_config *config = make_config(p->devices, p->stages, p->microbatches);
    for (uint32_t s = 0; s < p->stages; s++) {
        uint32_t place = s % p->devices, chunk = s / p->devices;
        p->device[s] = placement == PPSCHED_PLACEMENT_MAP                   ? random_below(seed, p->devices)
                       : placement == PPSCHED_PLACEMENT_V && chunk % 2 == 1 ? p->devices - 1 - place
                                                                            : place;
    }
    place_copies(p, config, placement);
    return config;
}

static double random_time(uint64_t *seed)
{
    return random_below(seed, 4) == 0 ? 4 * random_below(seed, 4) : random_below(seed, 17) / 4.0;
}

static void draw_times(uint64_t *seed, struct plain *p, ppsched_config *config)
{
    static const int32_t quantities[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                         PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    double list[MOST_LANES * MOST_LANES];
    int apart = (int)random_below(seed, 2), overlapped = random_below(seed, 3) == 0, delayed = (int)random_below(seed, 2);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        for (uint32_t s = 0; s < p->stages; s++)
            p->duration[kind][s] = random_time(seed);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        for (uint32_t l = 0; l < p->instances; l++) {
            uint32_t s = l % p->stages;
            if (kind == PPSCHED_KIND_B && !apart)
                p->duration[kind][s] = p->duration[PPSCHED_KIND_I][s] + p->duration[PPSCHED_KIND_W][s];
            p->duration[kind][l] = p->duration[kind][s];
        }
        set_list(config, quantities[kind], p->duration[kind], p->stages);
    }
    p->pair[0][0] = -1;
    for (uint32_t i = 0; i < p->stages * p->stages && overlapped; i++)
        list[i] = p->pair[i / p->stages][i % p->stages] = random_time(seed);
    if (overlapped)
        set_list(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, list, p->stages * p->stages);
    for (uint32_t i = 0; i < p->devices * p->devices; i++) {
        list[i] = delayed ? random_below(seed, 9) / 4.0 : 0;
        p->delay[i / p->devices][i % p->devices] = i / p->devices == i % p->devices ? 0 : list[i];
    }
    set_list(config, PPSCHED_QUANTITY_P2P_TIME, list, p->devices * p->devices);
}

static void draw_memory(uint64_t *seed, struct plain *p, ppsched_config *config)
{
    double fixed[MOST_LANES], weights[MOST_LANES];
    uint32_t versions = random_below(seed, 3);
    ppsched_error error;
    for (uint32_t s = 0; s < p->stages; s++) {
        p->memory[PPSCHED_KIND_I][s] = -(double)random_below(seed, 3);
        p->memory[PPSCHED_KIND_W][s] = -(double)random_below(seed, 3);
        fixed[s] = random_below(seed, 2);
        weights[s] = random_below(seed, 2);
    }
    set_list(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, p->memory[PPSCHED_KIND_I], p->stages);
    set_list(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, p->memory[PPSCHED_KIND_W], p->stages);
    set_list(config, PPSCHED_QUANTITY_MEM_STATIC, fixed, p->stages);
    set_list(config, PPSCHED_QUANTITY_MEM_WEIGHTS, weights, p->stages);
    expect_ok(ppsched_config_set_weight_versions(config, versions, &error), &error);
    memset(p->fixed, 0, sizeof p->fixed);
    for (uint32_t l = 0; l < p->instances; l++) {
        uint32_t s = l % p->stages;
        p->memory[PPSCHED_KIND_I][l] = p->memory[PPSCHED_KIND_I][s];
        p->memory[PPSCHED_KIND_W][l] = p->memory[PPSCHED_KIND_W][s];
        p->memory[PPSCHED_KIND_B][l] = p->memory[PPSCHED_KIND_I][l] + p->memory[PPSCHED_KIND_W][l];
        p->memory[PPSCHED_KIND_F][l] = -p->memory[PPSCHED_KIND_B][l];
        p->fixed[p->device[l]] += fixed[s] + (versions > 0 ? versions : 1) * weights[s];
    }
}

static ppsched_bound bound_of(const ppsched_config *config, int by_span)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_error error;
    int32_t objective = by_span ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN;
    expect_ok(ppsched_config_find_bound(&bound, config, objective, &error), &error);
    return bound;
}

/* None, or from the least feasible one on. */
static void draw_limit(uint64_t *seed, struct plain *p, ppsched_config *config)
{
    double least = bound_of(config, 1).least_limit, more = random_below(seed, 5);
    int limited = (int)random_below(seed, 2);
    for (uint32_t d = 0; d < p->devices; d++)
        p->limit[d] = limited ? least + more - p->fixed[d] : HUGE_VAL;
    if (limited)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, least + more);
}

/* --- tests --- */

/* The evaluator's price of a sample, so that the sampler is tested too. */
static double price(const struct plain *p, const ppsched_config *config, const struct sample *sample, int by_span)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < p->devices; d++)
        expect_ok(ppsched_builder_append(builder, d, sample->ops[d], sample->count[d], &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    assert_int_equal(metrics.limit_device, PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
    return by_span ? metrics.span : metrics.makespan;
}

static void expect_no_better(const ppsched_bound *bound, double objective, const ppsched_config *config, int trial)
{
    if (bound->value > objective * (1 + 1e-9))
        fail_msg("trial %d, placement %d, %u devices, %u stages, %u microbatches: %g is below the bound %g (%g, %g, %g)", trial,
                 ppsched_config_placement(config), ppsched_config_devices(config), ppsched_config_stages(config),
                 ppsched_config_microbatches(config), objective, bound->value, bound->work, bound->fill_drain, bound->memory);
}

static void test_random_schedules_are_never_below(void **state)
{
    static struct sample best, next;
    uint64_t seed = 11;
    int reached = 0, found = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(1200); trial++) {
        struct plain p = {0};
        double least = HUGE_VAL;
        int by_span = (int)random_below(&seed, 2);
        ppsched_config *config = draw_shape(&seed, &p);
        draw_times(&seed, &p, config);
        draw_memory(&seed, &p, config);
        draw_limit(&seed, &p, config);
        ppsched_bound bound = bound_of(config, by_span);
        p.wait = p.instances > p.stages && random_below(&seed, 2) ? random_below(&seed, 20) : 0;
        for (int i = 0; i < 60; i++) {
            double objective = draw(&seed, &p, i % 4, by_span, &next);
            if (objective < least) {
                least = objective;
                best = next;
            }
        }
        if (least < HUGE_VAL) {
            assert_true(price(&p, config, &best, by_span) <= least);
            expect_no_better(&bound, least, config, trial);
            reached += least <= bound.value * (1 + 1e-9);
            found++;
        }
        ppsched_config_destroy(config);
    }
    print_message("# %d of %d random schedules reach the bound\n", reached, found);
    assert_true(found > ROUNDS(1000));
    assert_true(ROUND_SHARE > 1 || reached >= 504); /* the same numbers everywhere: a looser bound is reached by fewer */
}

/* Two copies of which one begins later: the span of a device then tells little about the other. */
static void test_second_copy_begins_later(void **state)
{
    static struct sample next;
    static const double long_first[] = {2, 1, 1, 0}, nothing[] = {0};
    struct plain p = {.devices = 4, .stages = 4, .instances = 8, .microbatches = 8, .pair = {{-1}}};
    ppsched_config *config = make_config(4, 4, 8);
    uint64_t seed = 3;
    double least = HUGE_VAL;
    (void)state;
    place_copies(&p, config, PPSCHED_PLACEMENT_BIDIRECTIONAL);
    set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, long_first, 4);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, long_first, 4);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, nothing, 1);
    for (uint32_t l = 0; l < p.instances; l++)
        for (int kind = PPSCHED_KIND_F; kind < PPSCHED_KIND_W; kind++)
            p.duration[kind][l] = long_first[l % 4];
    for (uint32_t d = 0; d < p.devices; d++)
        p.limit[d] = HUGE_VAL;
    for (uint32_t i = 0; i < 20000; i++) {
        p.wait = i % 30;
        least = fmin(least, draw(&seed, &p, 3, 1, &next));
    }
    print_message("# span %g, bound %g\n", least, bound_of(config, 1).value);
    assert_true(bound_of(config, 1).value <= least && least < 20);
    ppsched_config_destroy(config);
}

/* --- strategies --- */

/* One that offloads may hold less than what the bound says of schedules that do not. */
static void expect_strategy_no_better(const ppsched_config *config, const char *strategy, int trial, int *served)
{
    ppsched_strategy_info info = {.size = sizeof info};
    uint32_t number = 0;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_strategy_find(&number, strategy, &error), &error);
    expect_ok(ppsched_strategy_get_info(&info, number, &error), &error);
    ppsched_status status = ppsched_schedule_generate(&schedule, config, strategy, &error);
    if (status != PPSCHED_OK) {
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
        return;
    }
    ppsched_timeline *timeline = make_timeline(schedule, config);
    ppsched_metrics metrics = metrics_of(timeline);
    ppsched_config *placed = NULL;
    expect_ok(ppsched_config_copy(&placed, config, &error), &error);
    expect_ok(ppsched_config_set_placement(placed, ppsched_schedule_placement(schedule), NULL, 0, &error), &error);
    for (int by_span = 0; by_span < 2 && metrics.limit_device == PPSCHED_NONE; by_span++) {
        ppsched_bound bound = bound_of(placed, by_span);
        expect_no_better(&bound, by_span ? metrics.span : metrics.makespan, placed, trial);
        assert_true(info.offloads || bound.least_limit <= metrics.peak_memory);
        *served += 1;
    }
    ppsched_config_destroy(placed);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
}

/* Random costs, and pairs down to the longer of both ops. */
static ppsched_config *draw_problem(uint64_t *seed, uint32_t chunks)
{
    static const int32_t quantities[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                         PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint32_t devices = 1 + random_below(seed, 6), stages = chunks * devices;
    ppsched_config *config = make_config(devices, stages, 1 + random_below(seed, 20));
    double times[3][12], pairs[144];
    for (int k = 0; k < 3; k++) {
        for (uint32_t s = 0; s < stages; s++)
            times[k][s] = 1 + random_below(seed, 33) / 8.0;
        set_list(config, quantities[k], times[k], stages);
    }
    for (uint32_t i = 0; i < stages * stages; i++)
        pairs[i] = fmax(times[0][i / stages], times[1][i % stages] + times[2][i % stages]);
    if (random_below(seed, 2))
        set_list(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, pairs, stages * stages);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 8) / 8.0);
    return config;
}

static void test_strategies_are_never_below(void **state)
{
    uint64_t seed = 12;
    int served = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(120); trial++) {
        ppsched_config *config = draw_problem(&seed, 1 + trial % 2);
        for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
            ppsched_strategy_info info = {.size = sizeof info};
            assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
            if (info.flushes && (!info.searches || trial % 8 < 2))
                expect_strategy_no_better(config, info.name, trial, &served);
        }
        ppsched_config_destroy(config);
    }
    assert_true(served > ROUNDS(600));
}

/* 1f1b_overlap with pairs as long as a backward: one device's work is then far below the sum of its ops. */
static void test_overlapped_pairs(void **state)
{
    ppsched_config *config = make_config(4, 4, 40);
    int served = 0;
    (void)state;
    set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 2);
    expect_strategy_no_better(config, "1f1b_overlap", 0, &served);
    expect_strategy_no_better(config, "dualpipe", 0, &served);
    set_number(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 0);
    expect_strategy_no_better(config, "1f1b_overlap", 0, &served);
    assert_int_equal(served, 6);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_schedules_are_never_below),
        cmocka_unit_test(test_second_copy_begins_later),
        cmocka_unit_test(test_strategies_are_never_below),
        cmocka_unit_test(test_overlapped_pairs),
    };
    return cmocka_run_group_tests_name("bound_sweep", tests, NULL, NULL);
}
