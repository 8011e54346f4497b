/* SPDX-License-Identifier: Apache-2.0 */
/* The splits that plans find for small models: as good as any that there are. */
#include "support/plan_choice.h"
#include "support/layered.h"
#include "support/plans.h"

#include <math.h>
#include <stdbool.h>

enum { MOST_STAGES = 4, MOST_LAYERS = 16 };

#define OPTIONS(...)                                                                                                           \
    (struct plan_choice)                                                                                                       \
    {                                                                                                                          \
        .size = sizeof(struct plan_choice), __VA_ARGS__                                                                        \
    }

static const char *const one_rule[] = {"1f1b"};
static const uint32_t one_chunk[] = {1};
static const ppsched_recompute selective = {"selective", 0.75, 2.5}, full = {"full", 1, 1}, half = {"half", 0.5, 2};

/* --- the first decoders of each stage, as Megatron-LM can be told --- */

/* A stage a device; an embedding, decoders and a head. */
struct model {
    uint32_t devices, microbatches, decoders;
    double limit, embedding_time, embedding_memory, head_time, head_memory;
};

static const ppsched_layers *layers_of(const struct model *model)
{
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST,
                                           .forward_time = model->embedding_time, .backward_time = 0.5,
                                           .mem_forward = model->embedding_memory),
                                     LAYER("decoder", .count = model->decoders, .forward_time = 1, .backward_time = 2,
                                           .mem_forward = 4, .recomputes = &full, .recompute_count = 1),
                                     LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = model->head_time,
                                           .backward_time = 2, .mem_forward = model->head_memory)};
    return make_layers(entries, 3);
}

/* What a step takes with a split where each stage computes so many of its first decoders again; infinite where that does not
 * fit. */
static double time_of(const ppsched_config *config, const ppsched_layers *layers, const struct model *model,
                      const uint32_t *counts, uint32_t again)
{
    uint8_t recomputes[MOST_LAYERS] = {0};
    ppsched_config *made = NULL;
    ppsched_error error;
    for (uint32_t s = 0, layer = 0; s < model->devices; s++)
        for (uint32_t i = 0, left = again; i < counts[s]; i++, layer++)
            if (layer > 0 && layer <= model->decoders && left > 0) {
                recomputes[layer] = 1;
                left--;
            }
    const ppsched_split split = split_of(counts, model->devices, recomputes);
    expect_ok(ppsched_config_from_layers(&made, config, layers, &split, &error), &error);
    ppsched_schedule *schedule = make_schedule(made, "1f1b");
    ppsched_timeline *timeline = make_timeline(schedule, made);
    const ppsched_metrics metrics = metrics_of(timeline);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(made);
    return metrics.limit_device == PPSCHED_NONE ? metrics.makespan : INFINITY;
}

/* The least of all splits whose stages before `stage` are as they are. */
static double least_time(const ppsched_config *config, const ppsched_layers *layers, const struct model *model,
                         uint32_t *counts, uint32_t stage, uint32_t left)
{
    double least = INFINITY;
    if (stage + 1 == model->devices) {
        counts[stage] = left;
        for (uint32_t again = 0; again <= model->decoders; again++)
            least = fmin(least, time_of(config, layers, model, counts, again));
        return least;
    }
    for (counts[stage] = 1; counts[stage] + model->devices - 1 - stage <= left; counts[stage]++)
        least = fmin(least, least_time(config, layers, model, counts, stage + 1, left - counts[stage]));
    return least;
}

/* So few that it fits, or more where that is shorter, be it one, or more than an even split has. */
static void test_first_decoders_are_as_many_as_is_best(void **state)
{
    static const struct model models[] = {{2, 4, 11, 30, 0, 0, 0.5, 1}, {2, 4, 10, 15, 0, 0, 2, 0}, {2, 4, 9, 11, 0, 0, 2, 0},
                                          {2, 5, 4, 17, 1, 1, 1, 0},    {3, 7, 7, 23, 1, 0, 1, 0},  {2, 4, 12, 21, 0, 0, 2, 0},
                                          {2, 5, 12, 20, 0, 0, 2, 0},   {4, 4, 8, 16, 0, 0, 1, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        const struct model *model = &models[i];
        uint32_t counts[MOST_STAGES];
        const ppsched_layers *layers = layers_of(model);
        ppsched_config *config = make_config((int)model->devices, (int)model->devices, (int)model->microbatches);
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, model->limit);
        ppsched_plan *plan = run_plan(config,
                                      &OPTIONS(.layers = layers, .runtime = PPSCHED_RUNTIME_MEGATRON, .strategies = one_rule,
                                               .strategy_count = 1, .chunks = one_chunk, .chunk_count = 1));
        const ppsched_candidate found = candidate_of(plan, 0);
        assert_true(found.fits);
        assert_true(found.step_time == least_time(config, layers, model, counts, 0, model->decoders + 2));
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

/* --- kinds of recomputation that a runtime can be told of all decoders --- */

/* Two decoders of two names, with two kinds each, and what a search finds for a runtime: the kinds that it computes again, and
 * a step's time. */
static double find_kinds(uint8_t recomputes[MOST_LAYERS], int32_t runtime, const ppsched_recompute kinds[2][2])
{
    const ppsched_layer entries[] = {
        LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .backward_time = 0.5, .mem_forward = 0.5),
        LAYER("decoder", .forward_time = 1, .backward_time = 2, .mem_forward = 4, .recomputes = kinds[0], .recompute_count = 2),
        LAYER("moe", .forward_time = 1, .backward_time = 2, .mem_forward = 4, .recomputes = kinds[1], .recompute_count = 2),
        LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = 1, .backward_time = 2, .mem_forward = 1)};
    static const char *const search[] = {"zb_auto"};
    size_t count = 0;
    ppsched_error error;
    const ppsched_layers *layers = make_layers(entries, 4);
    ppsched_config *config = make_config(2, 2, 6);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 8);
    ppsched_plan *plan = run_plan(config, &OPTIONS(.layers = layers, .runtime = runtime, .strategies = search,
                                                   .strategy_count = 1, .chunks = one_chunk, .chunk_count = 1));
    const ppsched_candidate found = candidate_of(plan, 0);
    assert_true(found.fits);
    expect_ok(ppsched_plan_get_recomputes(recomputes, MOST_LAYERS, &count, plan, 0, &error), &error);
    assert_int_equal(count, 4);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
    return found.step_time;
}

static const int32_t runtimes[] = {PPSCHED_RUNTIME_SAIL, PPSCHED_RUNTIME_TORCHTITAN};

/* A kind that all decoders have is one to begin with, by whatever number each has it. */
static void test_a_kind_of_all_decoders(void **state)
{
    const ppsched_recompute kinds[2][2] = {{half, selective}, {selective, full}};
    const ppsched_recompute none[2][2] = {{half, full}, {selective, half}};
    (void)state;
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        uint8_t recomputes[MOST_LAYERS];
        const double with = find_kinds(recomputes, runtimes[i], kinds);
        assert_true(recomputes[0] == 0 && recomputes[1] == 2 && recomputes[2] == 1 && recomputes[3] == 0);
        assert_true(with < find_kinds(recomputes, runtimes[i], none));
    }
}

/* One that some do not have, or that the runtime does not know, is none. */
static void test_kinds_that_cannot_be_told(void **state)
{
    const ppsched_recompute kinds[2][2] = {{selective, half}, {half, full}};
    (void)state;
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        uint8_t recomputes[MOST_LAYERS];
        find_kinds(recomputes, runtimes[i], kinds);
        for (int layer = 0; layer < 4; layer++)
            assert_int_equal(recomputes[layer], 0);
    }
}

/* So is that of which a runtime can be told a number of first decoders, for all of them. */
static void test_the_kind_of_first_decoders(void **state)
{
    static const char *const search[] = {"zb_auto"};
    const ppsched_recompute kinds[] = {full, {"selective", 0.25, 2.5}, {"half", 0, 2}};
    const ppsched_layer entries[] = {
        LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .forward_time = 0.5, .backward_time = 0.5, .mem_forward = 0.5),
        LAYER("decoder", .count = 6, .forward_time = 1, .backward_time = 2.5, .mem_forward = 4, .recomputes = kinds,
              .recompute_count = 3),
        LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = 2, .mem_forward = 1)};
    (void)state;
    const ppsched_layers *layers = make_layers(entries, 3);
    ppsched_config *config = make_config(2, 2, 2);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 18);
    ppsched_plan *plan = run_plan(config, &OPTIONS(.layers = layers, .runtime = PPSCHED_RUNTIME_SAIL, .strategies = search,
                                                   .strategy_count = 1, .chunks = one_chunk, .chunk_count = 1));
    assert_true(candidate_of(plan, 0).step_time <= 38);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

/* --- layers whose activations go to the host --- */

/* Layers of F, B, memory and weights that all differ; behind the last one all are 0. */
struct offloading {
    uint32_t devices, microbatches;
    uint32_t may_be_empty; /* the stages in the middle */
    double limits[MOST_STAGES], bandwidth, layers[MOST_LAYERS][4];
};

static uint32_t count_layers(const struct offloading *problem)
{
    uint32_t count = 0;
    while (problem->layers[count][0] > 0)
        count++;
    return count;
}

static bool has_copies(const ppsched_schedule *schedule, uint32_t devices)
{
    for (uint32_t d = 0; d < devices; d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++)
            if (ops[i].kind == PPSCHED_KIND_OFFLOAD)
                return true;
    }
    return false;
}

/* What a step takes with a split and as few copies as hold the limit; infinite where none do, or none are
 * needed. */
static double time_with_copies(const ppsched_config *config, const ppsched_layers *layers, const uint32_t *counts,
                               uint32_t stages)
{
    const ppsched_offload_options until = {.size = sizeof until, .until_limit = 1};
    const ppsched_split split = split_of(counts, stages, NULL);
    ppsched_config *made = NULL;
    ppsched_schedule *offloaded = NULL;
    ppsched_error error;
    double time = INFINITY;
    expect_ok(ppsched_config_from_layers(&made, config, layers, &split, &error), &error);
    ppsched_schedule *schedule = make_schedule(made, "1f1b");
    ppsched_status status = ppsched_schedule_offload(&offloaded, schedule, made, &until, &error);
    assert_true(status == PPSCHED_OK || status == PPSCHED_ERROR_REFUSED);
    if (status == PPSCHED_OK && has_copies(offloaded, stages)) {
        ppsched_timeline *timeline = make_timeline(offloaded, made);
        time = metrics_of(timeline).makespan;
        ppsched_timeline_destroy(timeline);
    }
    ppsched_schedule_release(offloaded);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(made);
    return time;
}

/* The least of all splits whose stages before `stage` are as they are. */
static double least_with_copies(const ppsched_config *config, const ppsched_layers *layers, const struct offloading *problem,
                                uint32_t *counts, uint32_t stage, uint32_t left)
{
    const uint32_t stages = problem->devices;
    double least = INFINITY;
    counts[stage] = left;
    if (stage + 1 == stages)
        return time_with_copies(config, layers, counts, stages);
    for (counts[stage] = stage > 0 && problem->may_be_empty ? 0 : 1; counts[stage] < left; counts[stage]++)
        least = fmin(least, least_with_copies(config, layers, problem, counts, stage + 1, left - counts[stage]));
    return least;
}

/* Each border is moved either way as long as that helps, the same again and those of the last stages too; a stage in the middle
 * gives its last layer away where it may, whichever it is. */
static void test_borders_are_moved_as_long_as_that_helps(void **state)
{
    static const struct offloading problems[] = {
        {2, 2, 0, {8.9, 8.9}, 1, {{1, 4, 4, 1}, {1, 4, 2, 1}, {2, 4}, {0.5, 1}, {0.5, 4, 1}, {2, 2, 2}, {2, 2, 4, 1}}},
        {2, 2, 0, {13.7, 13.7}, 2, {{3, 2, 1}, {3, 4, 4}, {3, 2, 4, 1}, {1, 2, 0, 1}, {1, 1, 1}, {1, 4, 2}, {3, 1, 2, 1}}},
        {3, 6, 0, {10.3, 10.3, 10.3}, 2, {{2, 1, 2, 1}, {0.5, 1, 4}, {0.5, 2, 0, 1}, {0.5, 4, 0}, {2, 4, 1}, {3, 1, 4}}},
        {4,
         6,
         0,
         {19.9, 19.9, 19.9, 19.9},
         1,
         {{0.5, 4, 4, 1}, {0.5, 4, 2}, {2, 2, 4, 1}, {3, 2, 4}, {3, 4, 4}, {1, 1, 1, 1}, {3, 4, 1, 1}}},
        {4,
         3,
         0,
         {3.2, 3.2, 3.2, 3.2},
         4,
         {{1, 1, 1, 1}, {2, 4}, {0.5, 1, 1, 1}, {2, 1, 1}, {3, 4, 0, 1}, {1, 1, 1}, {0.5, 4, 1}, {1, 1}}},
        {3,
         3,
         0,
         {14.6, 14.6, 14.6},
         4,
         {{1, 2, 2},
          {1, 2, 0, 1},
          {2, 4, 1, 1},
          {0.5, 1, 4},
          {3, 1, 4, 1},
          {1, 1, 4, 1},
          {1, 4, 1},
          {2, 4, 0, 1},
          {0.5, 2, 4},
          {1, 1},
          {3, 4, 0, 1}}},
        {4, 2, 0, {4, 4, 6, 8}, 1, {{0.5, 2, 4}, {2, 2, 0, 3}, {3, 2, 4, 1}, {0.5, 1, 2}}},
        {4, 2, 1, {4, 4, 6, 8}, 1, {{0.5, 2, 4}, {2, 2, 0, 3}, {3, 2, 4, 1}, {0.5, 1, 2}}},
        {3, 4, 1, {8, 12, 6}, 1, {{3, 2, 4}, {1, 2, 1}, {2, 2, 1, 1}}},
        {4, 2, 0, {3.5, 3.5, 3.5, 3.5}, 1, {{3, 1}, {3, 1, 2, 1}, {1, 1, 2}, {3, 1, 1, 1}, {0.5, 1, 2}}},
        {3, 2, 1, {4.0, 5.7, 5.7}, 1, {{3, 1, 1}, {2, 4, 1}, {0.5, 1, 0, 1}, {3, 1, 1}, {3, 2, 2}, {2, 4, 1, 1}}}};
    (void)state;
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        const struct offloading *problem = &problems[i];
        const uint32_t count = count_layers(problem), stages = problem->devices;
        ppsched_layer entries[MOST_LAYERS];
        uint32_t counts[MOST_STAGES];
        for (uint32_t l = 0; l < count; l++) {
            const double *numbers = problem->layers[l];
            entries[l] = (ppsched_layer)LAYER("layer", .forward_time = numbers[0], .backward_time = numbers[1],
                                              .mem_forward = numbers[2], .mem_weights = numbers[3]);
        }
        const ppsched_layers *layers = make_layers(entries, count);
        ppsched_config *config = make_config((int)stages, (int)stages, (int)problem->microbatches);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, problem->limits, stages, NULL), NULL);
        set_number(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, problem->bandwidth);
        ppsched_plan *plan = run_plan(config, &OPTIONS(.layers = layers, .strategies = one_rule, .strategy_count = 1,
                                                       .chunks = one_chunk, .chunk_count = 1, .offload = 1,
                                                       .empty_stages = problem->may_be_empty));
        const ppsched_candidate found = candidate_of(plan, 1);
        assert_true(found.offloaded && found.fits);
        assert_true(found.step_time == least_with_copies(config, layers, problem, counts, 0, count));
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_decoders_are_as_many_as_is_best),
        cmocka_unit_test(test_a_kind_of_all_decoders),
        cmocka_unit_test(test_kinds_that_cannot_be_told),
        cmocka_unit_test(test_the_kind_of_first_decoders),
        cmocka_unit_test(test_borders_are_moved_as_long_as_that_helps),
    };
    return cmocka_run_group_tests_name("layered_split", tests, NULL, NULL);
}
