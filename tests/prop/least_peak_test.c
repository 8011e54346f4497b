/* SPDX-License-Identifier: Apache-2.0 */
/* The least limit of a bound is exact where only activations count, also those that backwards add: it is the smallest peak of
 * all orders of small problems. The best order found is built, and the evaluator agrees with its peak. */
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_PASSES = 6, MOST_STATES = 1 << 2 * MOST_PASSES, MOST_DEVICES = 3, MOST_STAGES = 3 };

/* How far a stage pass is. */
enum { NOTHING, AFTER_F, AFTER_I, DONE };

struct stage {
    double forward, released; /* what F adds; what I releases */
    double rise[5];           /* what an I or a B adds while it runs, by kind */
    double fixed;
};

struct problem {
    uint32_t devices, stages, copies, microbatches, slices;
    int splits;
    uint32_t map[MOST_STAGES];
    struct stage stage[MOST_STAGES];
    double factor[MOST_PASSES]; /* of a microbatch's memory */
    double fixed[MOST_DEVICES];
    /* By state, two bits a stage pass: the smallest peak over the ways to it, and the last op of that way. */
    double peak[MOST_STATES];
    ppsched_op last[MOST_STATES];
};

/* --- rules --- */

static uint32_t device_of(const struct problem *p, uint32_t stage, uint32_t microbatch)
{
    int is_second = p->copies == 2 && microbatch >= p->microbatches - p->microbatches / 2;
    return is_second ? p->devices - 1 - p->map[stage] : p->map[stage];
}

static uint32_t pass_of(const struct problem *p, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    return (stage * p->microbatches + microbatch) * p->slices + slice;
}

static int progress_of(const struct problem *p, uint32_t state, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    return (int)(state >> 2 * pass_of(p, stage, microbatch, slice)) & 3;
}

static int may_run(const struct problem *p, uint32_t state, const ppsched_op *op)
{
    uint32_t s = op->stage, m = op->microbatch, k = op->slice;
    int own = progress_of(p, state, s, m, k);
    if (op->kind == PPSCHED_KIND_F)
        return own == NOTHING && (s == 0 || progress_of(p, state, s - 1, m, k) >= AFTER_F) &&
               (k == 0 || progress_of(p, state, s, m, k - 1) >= AFTER_F);
    if (op->kind == PPSCHED_KIND_W)
        return own == AFTER_I;
    return own == AFTER_F && (op->kind == PPSCHED_KIND_B || p->splits) &&
           (s + 1 == p->stages || progress_of(p, state, s + 1, m, k) >= AFTER_I) &&
           (k + 1 == p->slices || progress_of(p, state, s, m, k + 1) >= AFTER_I);
}

static uint32_t state_after(const struct problem *p, uint32_t state, const ppsched_op *op)
{
    static const uint32_t after[] = {
        [PPSCHED_KIND_F] = AFTER_F, [PPSCHED_KIND_B] = DONE, [PPSCHED_KIND_I] = AFTER_I, [PPSCHED_KIND_W] = DONE};
    uint32_t shift = 2 * pass_of(p, op->stage, op->microbatch, op->slice);
    return (state & ~(3u << shift)) | after[op->kind] << shift;
}

/* What a device holds in a state. */
static double level_of(const struct problem *p, uint32_t state, uint32_t device)
{
    double level = p->fixed[device];
    for (uint32_t s = 0; s < p->stages; s++)
        for (uint32_t m = 0; m < p->microbatches; m++)
            for (uint32_t k = 0; k < p->slices && device_of(p, s, m) == device; k++) {
                const struct stage *stage = &p->stage[s];
                int progress = progress_of(p, state, s, m, k);
                double held = progress == AFTER_F   ? stage->forward
                              : progress == AFTER_I ? stage->forward + stage->rise[PPSCHED_KIND_I] - stage->released
                                                    : 0;
                level += held * p->factor[m];
            }
    return level;
}

/* The most that the device of an op holds while it runs. */
static double level_during(const struct problem *p, uint32_t state, const ppsched_op *op)
{
    const struct stage *stage = &p->stage[op->stage];
    double added = op->kind == PPSCHED_KIND_F ? stage->forward : stage->rise[op->kind];
    return level_of(p, state, device_of(p, op->stage, op->microbatch)) + added * p->factor[op->microbatch];
}

/* --- the best order --- */

static void run_each_op(struct problem *p, uint32_t state)
{
    for (uint16_t s = 0; s < p->stages; s++)
        for (uint32_t m = 0; m < p->microbatches; m++)
            for (uint16_t k = 0; k < p->slices; k++)
                for (uint8_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
                    const ppsched_op op = {.kind = kind, .stage = s, .microbatch = m, .slice = k};
                    if (!may_run(p, state, &op))
                        continue;
                    double peak = fmax(p->peak[state], level_during(p, state, &op));
                    uint32_t after = state_after(p, state, &op);
                    if (peak < p->peak[after]) {
                        p->peak[after] = peak;
                        p->last[after] = op;
                    }
                }
}

/* An op only raises the number of the state, so one sweep sees all ways. Gives the state at the end. */
static uint32_t find_best(struct problem *p)
{
    uint32_t passes = p->stages * p->microbatches * p->slices, end = (1u << 2 * passes) - 1;
    for (uint32_t state = 1; state <= end; state++)
        p->peak[state] = HUGE_VAL;
    p->peak[0] = 0;
    for (uint32_t d = 0; d < p->devices; d++)
        p->peak[0] = fmax(p->peak[0], p->fixed[d]);
    for (uint32_t state = 0; state < end; state++)
        if (p->peak[state] < HUGE_VAL)
            run_each_op(p, state);
    return end;
}

static uint32_t state_before(const struct problem *p, uint32_t state)
{
    const ppsched_op *op = &p->last[state];
    uint32_t shift = 2 * pass_of(p, op->stage, op->microbatch, op->slice);
    uint32_t before = op->kind == PPSCHED_KIND_F ? NOTHING : op->kind == PPSCHED_KIND_W ? AFTER_I : AFTER_F;
    return (state & ~(3u << shift)) | before << shift;
}

static void expect_evaluated(const struct problem *p, const ppsched_config *config, uint32_t end)
{
    ppsched_op ops[3 * MOST_PASSES];
    size_t count = 0;
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    for (uint32_t state = end; state != 0; state = state_before(p, state))
        ops[count++] = p->last[state];
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    while (count-- > 0)
        expect_ok(
            ppsched_builder_append(builder, device_of(p, ops[count].stage, ops[count].microbatch), &ops[count], 1, &error),
            &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    double peak = metrics_of(timeline).peak_memory;
    if (fabs(peak - p->peak[end]) > 1e-9)
        fail_msg("the best order holds %.17g, evaluated %.17g", p->peak[end], peak);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_builder_destroy(builder);
}

/* --- problems --- */

static const struct {
    uint32_t devices, stages, microbatches, slices, copies;
} sizes[] = {{1, 1, 3, 1, 1}, {1, 2, 3, 1, 1}, {2, 2, 3, 1, 1}, {2, 3, 2, 1, 1}, {3, 3, 2, 1, 1},
             {1, 3, 2, 1, 1}, {1, 2, 1, 3, 1}, {1, 3, 1, 2, 1}, {2, 1, 2, 3, 1}, {2, 2, 3, 1, 2}};

static void place(struct problem *p, ppsched_config *config, uint64_t *seed)
{
    int32_t placement = p->copies == 2 ? PPSCHED_PLACEMENT_BIDIRECTIONAL : PPSCHED_PLACEMENT_MAP;
    ppsched_error error;
    for (uint32_t s = 0; s < p->stages; s++)
        p->map[s] = p->copies == 2 ? s : random_below(seed, p->devices);
    expect_ok(ppsched_config_set_placement(config, placement, p->map, p->copies == 2 ? 0 : p->stages, &error), &error);
}

/* Some stages release in their I, some add. */
static void draw_input(double *input, uint32_t stages, uint64_t *seed)
{
    draw_uneven(input, stages, -1, seed);
    for (uint32_t s = 0; s < stages; s++)
        if (random_below(seed, 2))
            input[s] = -2.5 * input[s];
}

static void draw_memory(struct problem *p, ppsched_config *config, uint64_t *seed)
{
    double input[MOST_STAGES];
    ppsched_error error;
    draw_input(input, p->stages, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_FORWARD, p->stages, 1, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_STATIC, p->stages, 0.25, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_OTHER, p->devices, 0.5, seed);
    if (random_below(seed, 4) > 0)
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, input, p->stages, &error), &error);
    if (random_below(seed, 2))
        set_uneven(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, p->stages, 0.5, seed);
    if (random_below(seed, 2))
        set_uneven(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, p->stages, 0.25 + random_below(seed, 2), seed);
    if (random_below(seed, 2))
        set_uneven(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, p->microbatches, 0.5, seed);
    expect_ok(ppsched_config_set_split_backward(config, (uint32_t)p->splits, &error), &error);
}

static void read_memory(struct problem *p, const ppsched_config *config)
{
    for (uint32_t s = 0; s < p->stages; s++) {
        struct stage *stage = &p->stage[s];
        double input = value_at(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, s, 0);
        double again = value_at(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, s, 0);
        stage->forward = value_at(config, PPSCHED_QUANTITY_MEM_FORWARD, s, 1);
        stage->released = fmax(-input, 0);
        stage->rise[PPSCHED_KIND_I] = again + fmax(input, 0);
        stage->rise[PPSCHED_KIND_B] = value_at(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, s, again) + fmax(input, 0);
        for (uint32_t copy = 0; copy < p->copies; copy++)
            p->fixed[copy == 0 ? p->map[s] : p->devices - 1 - p->map[s]] += value_at(config, PPSCHED_QUANTITY_MEM_STATIC, s, 0);
    }
    for (uint32_t d = 0; d < p->devices; d++)
        p->fixed[d] += value_at(config, PPSCHED_QUANTITY_MEM_OTHER, d, 0);
    for (uint32_t m = 0; m < p->microbatches; m++)
        p->factor[m] = value_at(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, m, 1);
}

static ppsched_config *draw(struct problem *p, uint64_t *seed)
{
    uint32_t row = random_below(seed, sizeof sizes / sizeof sizes[0]);
    ppsched_config *config = make_config(sizes[row].devices, sizes[row].stages, sizes[row].microbatches);
    memset(p, 0, sizeof *p);
    p->devices = sizes[row].devices;
    p->stages = sizes[row].stages;
    p->microbatches = sizes[row].microbatches;
    p->slices = sizes[row].slices;
    p->copies = sizes[row].copies;
    p->splits = random_below(seed, 3) > 0;
    expect_ok(ppsched_config_set_slices(config, p->slices, NULL), NULL);
    place(p, config, seed);
    draw_memory(p, config, seed);
    read_memory(p, config);
    return config;
}

/* --- the test --- */

static void test_of_all_orders(void **state)
{
    static struct problem p;
    uint64_t seed = 71;
    int rising = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(600); trial++) {
        ppsched_config *config = draw(&p, &seed);
        ppsched_bound bound = {.size = sizeof bound};
        ppsched_error error;
        uint32_t end = find_best(&p);
        expect_ok(ppsched_config_find_bound(&bound, config, PPSCHED_OBJECTIVE_SPAN, &error), &error);
        if (fabs(bound.least_limit - p.peak[end]) > 1e-9)
            fail_msg("trial %d: the least limit is %.17g, the smallest peak of all orders %.17g", trial, bound.least_limit,
                     p.peak[end]);
        expect_evaluated(&p, config, end);
        for (uint32_t s = 0; s < p.stages; s++)
            rising += p.stage[s].rise[PPSCHED_KIND_B] > 0;
        ppsched_config_destroy(config);
    }
    assert_true(rising > ROUNDS(400));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_all_orders),
    };
    return cmocka_run_group_tests_name("least peak", tests, NULL, NULL);
}
