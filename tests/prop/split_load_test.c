/* SPDX-License-Identifier: Apache-2.0 */
/* The load part of the bound of plans by layers, against all ways to put whole layers onto stages: never more than the fullest
 * device has at least, as much where all layers between the ends take as long, and no more than any candidate's step. */
#include "support/layered.h"
#include "support/plans.h"
#include "support/rounds.h"

#include <math.h>
#include <stdbool.h>

enum { MOST_DEVICES = 4, MOST_STAGES = 12, MOST_BLOCKS = 16, MOST_MICROBATCHES = 9 };

/* Layers that stay together, the microbatches, and how both may go. */
struct problem {
    uint32_t devices, microbatches, blocks;
    double work[MOST_BLOCKS],
        path[MOST_BLOCKS]; /* of one microbatch: both passes; forward, and until the one before can go on */
    double scale[MOST_MICROBATCHES];
    double overhead;          /* of a stage pass beside its layers */
    double own[MOST_DEVICES]; /* the same of a device alone */
    bool may_be_empty, has_scale, is_equal, is_whole;
    const ppsched_layers *layers;
};

/* --- brute force --- */

/* How stages are placed, and the least so far. */
struct filling {
    const struct problem *problem;
    uint32_t stages, copies;
    uint32_t device_of[2][MOST_STAGES]; /* of each copy */
    double passes[2], stage[MOST_STAGES], least;
};

static double fullest(const struct filling *filling)
{
    double load[MOST_DEVICES] = {0}, most = 0;
    for (uint32_t copy = 0; copy < filling->copies; copy++)
        for (uint32_t s = 0; s < filling->stages; s++)
            load[filling->device_of[copy][s]] += filling->passes[copy] * (filling->stage[s] + filling->problem->overhead +
                                                                          filling->problem->own[filling->device_of[copy][s]]);
    for (uint32_t d = 0; d < filling->problem->devices; d++)
        most = fmax(most, load[d]);
    return most;
}

static void fill_from(struct filling *filling, uint32_t stage, uint32_t block)
{
    const struct problem *problem = filling->problem;
    const bool is_last = stage + 1 == filling->stages;
    const uint32_t least = problem->may_be_empty && stage > 0 && !is_last ? 0 : 1;
    filling->stage[stage] = 0;
    if (block + least > problem->blocks)
        return;
    for (uint32_t i = 0; i < least; i++)
        filling->stage[stage] += problem->work[block + i];
    for (uint32_t end = block + least; end <= problem->blocks; end++) {
        if (end > block + least)
            filling->stage[stage] += problem->work[end - 1];
        if (is_last && end == problem->blocks)
            filling->least = fmin(filling->least, fullest(filling));
        if (!is_last && end < problem->blocks)
            fill_from(filling, stage + 1, end);
    }
}

/* What the fullest device has at least, with so many stages on such a placement. */
static double least_load(const struct problem *problem, uint32_t stages, int32_t placement)
{
    struct filling filling = {.problem = problem, .stages = stages, .copies = 1, .least = INFINITY};
    for (uint32_t s = 0; s < stages; s++) {
        const uint32_t place = s % problem->devices, turned = problem->devices - 1 - place;
        filling.device_of[0][s] = placement == PPSCHED_PLACEMENT_V && s / problem->devices % 2 == 1 ? turned : place;
        filling.device_of[1][s] = turned;
    }
    if (placement == PPSCHED_PLACEMENT_BIDIRECTIONAL)
        filling.copies = 2;
    for (uint32_t m = 0; m < problem->microbatches; m++)
        filling.passes[filling.copies == 2 && m >= problem->microbatches - problem->microbatches / 2] += problem->scale[m];
    fill_from(&filling, 0, 0);
    return filling.least;
}

/* What the shortest microbatch takes on its way. */
static double shortest_path(const struct problem *problem)
{
    double path = 0, least = INFINITY;
    for (uint32_t i = 0; i < problem->blocks; i++)
        path += problem->path[i];
    for (uint32_t m = 0; m < problem->microbatches; m++)
        least = fmin(least, problem->scale[m]);
    return least * path;
}

/* --- problems --- */

static double draw_time(uint64_t *seed)
{
    return (1 + random_below(seed, 12)) * 0.25;
}

/* Its times stand for it: what it does until the stage before can go on, and the least that it takes of its device. */
static void add_layer(struct problem *problem, ppsched_layer *entry, bool begins)
{
    const double forward = entry->forward_time, whole = entry->backward_time;
    const double input = entry->backward_input_time, weight = entry->backward_weight_time;
    const uint32_t block = begins ? problem->blocks++ : problem->blocks - 1;
    for (uint32_t i = 0; i < entry->count; i++) {
        problem->work[block] += forward + (problem->is_whole ? whole : fmin(whole, input + weight));
        problem->path[block] += forward + fmin(whole, input);
    }
}

/* Ends of one or two layers, or none, and between them layers that are equal or not, of which some are not apart. */
static void draw_layers(struct problem *problem, uint64_t *seed)
{
    ppsched_layer entries[MOST_BLOCKS + 4];
    uint32_t count = 0, middle = 5 + random_below(seed, 6);
    const bool has_first = random_below(seed, 3) > 0, has_last = random_below(seed, 3) > 0;
    const bool are_glued = random_below(seed, 4) == 0;
    const double forward = draw_time(seed), whole = draw_time(seed);
    const uint32_t each = 1 + (uint32_t)(are_glued && problem->is_equal);
    bool is_held = false;
    for (uint32_t i = 0; i < middle + 2; i++) {
        const bool is_first = i == 0, is_last = i == middle + 1, is_end = is_first || is_last;
        const bool is_alike = !is_end && problem->is_equal;
        ppsched_layer entry = LAYER(is_first ? "embedding" : is_last ? "head" : "decoder", .count = 1);
        if ((is_first && !has_first) || (is_last && !has_last))
            continue;
        entry.place = is_first ? PPSCHED_LAYER_PLACE_FIRST : is_last ? PPSCHED_LAYER_PLACE_LAST : PPSCHED_LAYER_PLACE_ANY;
        entry.forward_time = is_alike ? forward : draw_time(seed);
        entry.backward_time = is_alike ? whole : draw_time(seed);
        entry.backward_input_time = entry.backward_time * 0.5;
        entry.backward_weight_time = entry.backward_time * (random_below(seed, 2) && !is_alike ? 0.25 : 0.5);
        if (is_end)
            entry.count = 1 + random_below(seed, 2);
        else if (are_glued && (problem->is_equal ? (i % each == 1 && i < middle) : random_below(seed, 3) == 0 && i < middle))
            entry.flags = PPSCHED_LAYER_FLAG_WITH_NEXT;
        if (problem->is_equal && are_glued && !is_end && i == middle && i % each == 1)
            continue; /* half a pair */
        add_layer(problem, &entry, !is_held);
        is_held = (entry.flags & PPSCHED_LAYER_FLAG_WITH_NEXT) != 0;
        entries[count++] = entry;
    }
    problem->layers = make_layers(entries, count);
}

/* Each op of a device takes longer in one of three problems; from a seed of its own. */
static void draw_own(struct problem *problem, ppsched_config *config, uint64_t seed)
{
    double own[MOST_DEVICES];
    if (random_below(&seed, 3) > 0)
        return;
    for (uint32_t d = 0; d < problem->devices; d++) {
        own[d] = draw_time(&seed);
        problem->own[d] = 2 * own[d]; /* of F and the backward */
    }
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_OVERHEAD, own, problem->devices, NULL), NULL);
}

static ppsched_config *draw(struct problem *problem, uint64_t *seed)
{
    double overhead[4] = {0};
    *problem = (struct problem){.devices = 2 + random_below(seed, MOST_DEVICES - 1)};
    problem->microbatches = 2 + random_below(seed, MOST_MICROBATCHES - 1);
    problem->is_equal = random_below(seed, 2);
    problem->may_be_empty = random_below(seed, 3) == 0;
    problem->is_whole = random_below(seed, 4) == 0;
    problem->has_scale = random_below(seed, 3) == 0;
    draw_layers(problem, seed);
    ppsched_config *config = make_config(problem->devices, problem->devices, problem->microbatches);
    for (uint32_t m = 0; m < problem->microbatches; m++)
        problem->scale[m] = problem->has_scale ? draw_time(seed) : 1;
    if (problem->has_scale)
        expect_ok(
            ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, problem->scale, problem->microbatches, NULL),
            NULL);
    if (problem->is_whole)
        expect_ok(ppsched_config_set_split_backward(config, 0, NULL), NULL);
    if (random_below(seed, 2)) {
        for (int kind = 0; kind < 4; kind++) /* F, B, I, W */
            overhead[kind] = draw_time(seed);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_OP_OVERHEAD, overhead, 4, NULL), NULL);
    }
    problem->overhead = overhead[0] + (problem->is_whole ? overhead[1] : fmin(overhead[1], overhead[2] + overhead[3]));
    draw_own(problem, config, *seed);
    return config;
}

/* --- what plans say --- */

static ppsched_strategy_info info_of(const char *name)
{
    ppsched_strategy_info info = {.size = sizeof info};
    uint32_t number = 0;
    expect_ok(ppsched_strategy_find(&number, name, NULL), NULL);
    expect_ok(ppsched_strategy_get_info(&info, number, NULL), NULL);
    return info;
}

/* Its bound is no more than its step, and as the load is. The span of what flushes is bounded by the load and the way alone. */
static bool expect_bound(const struct problem *problem, const ppsched_candidate *candidate, int32_t objective)
{
    const bool flushes = info_of(candidate->strategy).flushes;
    const double load = least_load(problem, candidate->stages, candidate->placement);
    const double path = flushes ? shortest_path(problem) : 0, most = fmax(load, path), bound = candidate->bound;
    const bool is_exact = problem->is_equal || (candidate->stages == problem->devices && !(problem->own[0] > 0));
    const bool is_chain = objective == PPSCHED_OBJECTIVE_MAKESPAN && candidate->stages == problem->devices &&
                          candidate->placement != PPSCHED_PLACEMENT_BIDIRECTIONAL && !problem->has_scale;
    const bool is_uneven = problem->own[0] > 0 && candidate->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL &&
                           (problem->has_scale || problem->microbatches % 2 != 0); /* which of a pair is fuller is not known */
    if (candidate->step_time < load * (1 - 1e-9) || bound > candidate->step_time * (1 + 1e-9))
        fail_msg("%s of %u stages takes %.17g, and its bound is %.17g", candidate->strategy, candidate->stages,
                 candidate->step_time, bound);
    if ((!is_chain && bound > most * (1 + 1e-9)) ||
        (is_exact && candidate->placement != PPSCHED_PLACEMENT_BIDIRECTIONAL && bound < most * (1 - 1e-9)) ||
        (problem->is_equal && !is_uneven && bound < most * (1 - 1e-9)))
        fail_msg("%s of %u stages on %u devices, %u blocks, %u microbatches: the fullest device has %.17g at least, the way is "
                 "%.17g, and the bound is %.17g",
                 candidate->strategy, candidate->stages, problem->devices, problem->blocks, problem->microbatches, load, path,
                 bound);
    assert_int_equal(candidate->proved || candidate->bound != candidate->step_time, 1);
    return load > path;
}

static uint32_t expect_bounds(const struct problem *problem, const ppsched_config *config, int32_t objective,
                              const char *const *names, uint32_t count)
{
    static const uint32_t chunks[] = {1, 2, 3};
    const struct plan_choice options = {.size = sizeof options,
                                        .objective = objective,
                                        .strategies = names,
                                        .strategy_count = count,
                                        .chunks = chunks,
                                        .chunk_count = 3,
                                        .group_sizes = &problem->devices,
                                        .group_size_count = 1,
                                        .layers = problem->layers,
                                        .empty_stages = problem->may_be_empty,
                                        .split_effort = 1};
    uint32_t loaded = 0;
    ppsched_plan *plan = run_plan(config, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        const ppsched_candidate candidate = candidate_of(plan, i);
        if (candidate.status == PPSCHED_OK)
            loaded += expect_bound(problem, &candidate, objective);
    }
    ppsched_plan_destroy(plan);
    return loaded;
}

/* All strategies whose orders are rules; what searches takes long, and has the placements of the others. */
static uint32_t list_rules(const char **names, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < ppsched_strategy_count() && count < most; i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        expect_ok(ppsched_strategy_get_info(&info, i, NULL), NULL);
        if (!info.searches && !info.searches_long)
            names[count++] = info.name;
    }
    return count;
}

static void test_loads(void **state)
{
    const char *names[64];
    const uint32_t count = list_rules(names, 64);
    uint32_t loaded = 0;
    uint64_t seed = 50;
    (void)state;
    assert_true(count > 10);
    for (uint32_t i = 0; i < ROUNDS(300); i++) {
        struct problem problem;
        ppsched_config *config = draw(&problem, &seed);
        loaded += expect_bounds(&problem, config, i % 2 ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN, names, count);
        ppsched_config_destroy(config);
        ppsched_layers_release(problem.layers);
    }
    print_message("# %u bounds are loads\n", loaded);
    assert_true(loaded > ROUNDS(4000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loads)};
    return cmocka_run_group_tests_name("loads of splits", tests, NULL, NULL);
}
