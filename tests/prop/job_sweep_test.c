/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of random jobs: what a job ranks with its bounds is what ranks first when all layouts are priced in full; no bound is
 * above what it bounds; and each price is that of the pipeline that it tells, priced alone. */
#include "support/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS = 5, ALL_PROBLEMS = 200, TOP = 5, MOST_TOP = 8, MOST_ROWS = 32 };

static struct seen {
    int layouts, ruled_out, unfitting, recomputed, experts, none, measured, pods, typed, reordered;
} seen;

struct problem {
    ppsched_transformer shape;
    ppsched_training training;
    ppsched_accelerator device;
    ppsched_job_options options;
    ppsched_job_list lists[3];
    uint32_t batches[2], shardings[4], orders[2];
    ppsched_measured_layer rows[MOST_ROWS];
    ppsched_measured_collective collectives[3];
    ppsched_layer_table table;
    ppsched_accelerator devices[3];
    ppsched_job_type types[3];
};

static uint32_t pick(uint64_t *seed, const uint32_t *list, uint32_t count)
{
    return list[random_below(seed, count)];
}

static void make_shape(ppsched_transformer *shape, uint64_t *seed)
{
    const uint32_t layers[] = {4, 6, 8, 12, 13}, heads[] = {4, 8, 12, 16};
    *shape = (ppsched_transformer){.size = sizeof *shape,
                                   .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
                                   .layers = pick(seed, layers, 5),
                                   .heads = pick(seed, heads, 4),
                                   .vocabulary_size = 1000 * (1 + random_below(seed, 128))};
    shape->hidden_size = shape->heads * (random_below(seed, 2) ? 128 : 256);
    shape->ffn_size = shape->hidden_size * (2 + random_below(seed, 3));
    if (random_below(seed, 3) == 0) {
        shape->experts = 8;
        shape->experts_per_token = 2;
        shape->expert_ffn_size = shape->ffn_size / 2;
        seen.experts++;
    }
    if (random_below(seed, 4) == 0)
        shape->flags |= PPSCHED_TRANSFORMER_FLAG_TIED;
}

/* Costs that have little to do with those of the cost model, for some of the sizes. */
static void make_table(struct problem *problem, uint64_t *seed)
{
    static const char *const kinds[] = {"decoder", "embedding", "head"}, *const again[] = {NULL, "selective", "full"};
    const char *decoder = problem->shape.experts > 0 ? "moe_decoder" : kinds[0];
    uint32_t count = 0;
    for (uint32_t size = 0; size < 16; size++)
        for (uint32_t kind = 0; kind < 2 && count < MOST_ROWS && (size == 0 || random_below(seed, 2)); kind++) {
            const char *recompute = kind == 0 ? again[random_below(seed, size == 0 ? 1 : 3)] : NULL;
            double time = 1e-5 * (1 + random_below(seed, 1000));
            problem->rows[count++] = (ppsched_measured_layer){kind == 0 ? decoder : kinds[1 + size % 2],
                                                              recompute,
                                                              1u << size % 4,
                                                              1 + (size / 8),
                                                              1,
                                                              1u << size % 2,
                                                              1u << size / 4,
                                                              random_below(seed, 2) ? problem->training.sequence_length : 0,
                                                              time,
                                                              2 * time,
                                                              random_below(seed, 3) ? time : -1,
                                                              random_below(seed, 2) ? 1e5 * (1 + random_below(seed, 2000)) : -1,
                                                              random_below(seed, 2) ? 1e6 * (1 + random_below(seed, 2000))
                                                                                    : -1};
        }
    for (int32_t i = 0; i < 3; i++)
        problem->collectives[i] = (ppsched_measured_collective){i == 2 ? PPSCHED_COLLECTIVE_SEND : i, 2, 2u << i, 0, 1e6,
                                                                1e-5 * (1 + random_below(seed, 100))};
    problem->table = (ppsched_layer_table){.size = sizeof problem->table,
                                           .layers = problem->rows,
                                           .layer_count = count,
                                           .collectives = problem->collectives,
                                           .collective_count = random_below(seed, 4)};
}

/* Small nodes in pods of which some jobs have several, with links between them that are a hundredth to a third as fast; both
 * orders of ranks are searched. */
static void make_pods(struct problem *problem, uint64_t *seed)
{
    ppsched_accelerator *device = &problem->device;
    device->node_devices = 1u << random_below(seed, 4);
    device->pod_nodes = 1 + random_below(seed, 4);
    device->beyond = device->between;
    device->beyond.bandwidth *= 0.01 * (1 + random_below(seed, 33));
    device->beyond.latency *= 1 + random_below(seed, 10);
    problem->orders[0] = PPSCHED_RANK_ORDER_DATA_FIRST;
    problem->orders[1] = PPSCHED_RANK_ORDER_PIPELINE_FIRST;
    problem->lists[problem->options.list_count++] = (ppsched_job_list){PPSCHED_JOB_DIMENSION_RANK_ORDER, 2, problem->orders};
    seen.pods += device->node_devices * device->pod_nodes < problem->options.gpus;
}

/* Two or three types, with their own limits, nodes and speeds. */
static void make_types(struct problem *problem, uint64_t *seed)
{
    problem->options.table = NULL;
    uint32_t count = 2 + random_below(seed, 2), left = 4, quarter = problem->options.gpus / 4;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t quarters = i + 1 == count ? left : 1 + random_below(seed, left - (count - 1 - i));
        left -= quarters;
        problem->devices[i] = *ppsched_accelerator_at(random_below(seed, ppsched_accelerator_count()));
        problem->devices[i].node_devices = 1u << random_below(seed, 4);
        problem->types[i] = (ppsched_job_type){&problem->devices[i], quarters * quarter, 0,
                                               random_below(seed, 2) ? 0 : 1e9 * (2 + random_below(seed, 80))};
    }
    problem->options.types = problem->types;
    problem->options.type_count = count;
    seen.typed++;
}

static void make_problem(struct problem *problem, uint64_t *seed)
{
    const uint32_t gpus[] = {8, 12, 16, 24, 32}, sequences[] = {1024, 4096, 8192};
    make_shape(&problem->shape, seed);
    problem->training = (ppsched_training){.size = sizeof problem->training,
                                           .flags = PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL,
                                           .precision = PPSCHED_PRECISION_FP16, /* which all devices have */
                                           .sequence_length = pick(seed, sequences, 3)};
    if (random_below(seed, 2))
        problem->training.flags |= PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS;
    if (random_below(seed, 2))
        problem->training.flags |= PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS;
    if (random_below(seed, 2))
        problem->training.flags |= PPSCHED_TRAINING_FLAG_OVERLAPS_CONTEXT;
    problem->device = *ppsched_accelerator_at(random_below(seed, ppsched_accelerator_count()));
    problem->options = (ppsched_job_options){.size = sizeof problem->options, .gpus = pick(seed, gpus, 5), .top = TOP};
    uint32_t gpu_count = problem->options.gpus;
    if (random_below(seed, 3) == 0) {
        make_table(problem, seed);
        problem->options.table = &problem->table;
        seen.measured++;
    }
    problem->batches[0] = gpu_count * (1 + random_below(seed, 4));
    problem->batches[1] = gpu_count * (5 + random_below(seed, 4));
    problem->lists[0] = (ppsched_job_list){PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1 + random_below(seed, 2), problem->batches};
    problem->options.lists = problem->lists;
    problem->options.list_count = 1;
    if (problem->lists[0].count > 1)
        problem->options.goal = PPSCHED_JOB_GOAL_TOKENS;
    if (random_below(seed, 2)) { /* all stages of sharding */
        for (uint32_t i = 0; i < 4; i++)
            problem->shardings[i] = i;
        problem->lists[problem->options.list_count++] = (ppsched_job_list){PPSCHED_JOB_DIMENSION_SHARDING, 4,
                                                                           problem->shardings};
    }
    if (random_below(seed, 2))
        make_pods(problem, seed);
    if (random_below(seed, 4) == 0)
        problem->options.runtime = 1 + (int32_t)random_below(seed, PPSCHED_RUNTIME_MINDSPEED);
}

/* --- all layouts, priced --- */

struct ranked {
    uint32_t number, runs;
    double key, memory;
};

static int compare(const void *one, const void *other)
{
    const struct ranked *a = one, *b = other;
    if (a->runs != b->runs)
        return a->runs ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->memory != b->memory)
        return a->memory < b->memory ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

static ppsched_model *model_of(const struct problem *problem, const ppsched_training *training)
{
    const ppsched_description *description = NULL;
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(ppsched_description_from_transformer(&description, &problem->shape, NULL, &error), &error);
    expect_ok(
        problem->options.table != NULL
            ? ppsched_model_create_measured(&model, description, training, &problem->device, &problem->table, NULL, &error)
            : ppsched_model_create(&model, description, training, &problem->device, NULL, &error),
        &error);
    ppsched_description_release(description);
    return model;
}

/* The pipeline that a price tells, priced alone. */
static void check_alone(const ppsched_job *job, const struct problem *problem, const ppsched_job_layout *layout,
                        const ppsched_price *price)
{
    ppsched_training training = problem->training;
    ppsched_pipeline pipeline = {.size = sizeof pipeline};
    ppsched_step_price step = {.size = sizeof step}, alone = {.size = sizeof alone};
    ppsched_model *model = NULL;
    ppsched_price *again = NULL;
    ppsched_error error;
    (void)job;
    training.micro_batch_size = layout->micro_batch_size;
    training.tensor_parallel = layout->tensor_parallel;
    training.context_parallel = layout->context_parallel;
    training.expert_parallel = layout->expert_parallel;
    training.expert_tensor_parallel = layout->expert_tensor_parallel;
    training.data_parallel = layout->data_parallel;
    training.sharding = layout->sharding;
    model = model_of(problem, &training);
    expect_ok(ppsched_price_get_pipeline(&pipeline, price, &error), &error);
    expect_ok(ppsched_price_create(&again, model, &pipeline, NULL, &error), &error);
    expect_ok(ppsched_price_get_step(&step, price, &error), &error);
    expect_ok(ppsched_price_get_step(&alone, again, &error), &error);
    assert_memory_equal(&step, &alone, sizeof step);
    assert_true(pipeline.microbatches == layout->microbatches && pipeline.devices == layout->pipeline);
    assert_int_equal(step.devices, problem->options.gpus);
    seen.recomputed += pipeline.recompute != NULL;
    ppsched_price_destroy(again);
    ppsched_model_destroy(model);
}

static void price_all(struct ranked *all, uint32_t *count, const ppsched_job *job, const struct problem *problem)
{
    *count = 0;
    for (uint32_t i = 0; i < ppsched_job_layout_count(job); i++) {
        ppsched_job_layout layout = {.size = sizeof layout};
        ppsched_job_found found = {.size = sizeof found};
        ppsched_step_price step = {.size = sizeof step};
        ppsched_price *price = NULL;
        ppsched_error error;
        expect_ok(ppsched_job_get_layout(&layout, job, i, &error), &error);
        expect_ok(ppsched_job_evaluate_layout(&price, &found, job, i, INFINITY, &error), &error);
        assert_true((price != NULL) ==
                    (found.state == PPSCHED_JOB_STATE_PRICED || found.state == PPSCHED_JOB_STATE_DOES_NOT_FIT));
        assert_true(found.state != PPSCHED_JOB_STATE_SLOWER);
        seen.unfitting += found.state == PPSCHED_JOB_STATE_DOES_NOT_FIT;
        if (price != NULL) {
            expect_ok(ppsched_price_get_step(&step, price, &error), &error);
            assert_true(found.memory - found.memory_limit >= layout.least_memory - layout.memory_limit);
            assert_true((found.memory > found.memory_limit) == (found.state == PPSCHED_JOB_STATE_DOES_NOT_FIT));
            assert_true(step.step_time >= layout.bound);
        }
        if (found.state == PPSCHED_JOB_STATE_PRICED) {
            assert_int_not_equal(layout.state, PPSCHED_JOB_STATE_OVER_LIMIT);
            double per = problem->options.goal == PPSCHED_JOB_GOAL_TOKENS ? layout.global_batch : 1;
            all[(*count)++] = (struct ranked){i, found.runs_on != 0, step.step_time / per, found.memory};
            if (i % 16 == 0 && problem->options.type_count == 0)
                check_alone(job, problem, &layout, price);
        }
        ppsched_price_destroy(price);
    }
    qsort(all, *count, sizeof *all, compare);
}

static void check_problem(struct problem *problem, uint64_t *seed, bool has_types)
{
    const ppsched_description *description = NULL;
    ppsched_job *job = NULL;
    ppsched_error error;
    uint32_t count;
    make_problem(problem, seed);
    if (has_types)
        make_types(problem, seed);
    expect_ok(ppsched_description_from_transformer(&description, &problem->shape, NULL, &error), &error);
    expect_ok(ppsched_job_create(&job, description, &problem->training, &problem->device, &problem->options, NULL, &error),
              &error);
    if (random_below(seed, 2)) { /* a limit that some of the layouts exceed */
        ppsched_job_layout middle = {.size = sizeof middle};
        expect_ok(ppsched_job_get_layout(&middle, job, random_below(seed, ppsched_job_layout_count(job)), &error), &error);
        ppsched_job_destroy(job);
        problem->options.memory_limit = middle.least_memory * (0.8 + 0.01 * random_below(seed, 60));
        expect_ok(ppsched_job_create(&job, description, &problem->training, &problem->device, &problem->options, NULL, &error),
                  &error);
    }
    struct ranked *all = calloc(ppsched_job_layout_count(job), sizeof *all);
    price_all(all, &count, job, problem);
    expect_ok(ppsched_job_run(job, &error), &error);
    assert_int_equal(ppsched_job_best_count(job), count < TOP ? count : TOP);
    for (uint32_t i = 0; i < ppsched_job_best_count(job); i++)
        assert_int_equal(ppsched_job_layout_at_rank(job, i), all[i].number);
    for (uint32_t i = 0; i < ppsched_job_best_count(job); i++) {
        ppsched_job_layout layout = {.size = sizeof layout};
        expect_ok(ppsched_job_get_layout(&layout, job, ppsched_job_layout_at_rank(job, i), &error), &error);
        seen.reordered += layout.type_order > 0;
    }
    assert_int_equal(ppsched_job_layout_at_rank(job, ppsched_job_best_count(job)), PPSCHED_NONE);
    seen.layouts += (int)ppsched_job_layout_count(job);
    seen.none += count == 0;
    for (uint32_t i = 0; i < ppsched_job_layout_count(job); i++) {
        ppsched_job_layout layout = {.size = sizeof layout};
        expect_ok(ppsched_job_get_layout(&layout, job, i, &error), &error);
        seen.ruled_out += layout.state == PPSCHED_JOB_STATE_SLOWER || layout.state == PPSCHED_JOB_STATE_OVER_LIMIT;
        assert_int_not_equal(layout.state, PPSCHED_JOB_STATE_LISTED);
    }
    free(all);
    ppsched_job_destroy(job);
    ppsched_description_release(description);
}

static void test_random_jobs(void **state)
{
    uint64_t seed = 20261128;
    struct problem problem;
    int problems = getenv("PPSCHED_ALL_JOBS") != NULL ? ALL_PROBLEMS : PROBLEMS;
    (void)state;
    for (int i = 0; i < problems; i++)
        check_problem(&problem, &seed, false);
    assert_true(seen.layouts > 100 * problems && seen.ruled_out > seen.layouts / 4);
    assert_true(seen.unfitting > problems && seen.recomputed > problems / 2 && seen.experts > problems / 8);
    assert_true(seen.measured > problems / 8 && seen.pods > problems / 8);
}

static void test_random_types(void **state)
{
    uint64_t seed = 20261129;
    struct problem problem;
    int problems = getenv("PPSCHED_ALL_JOBS") != NULL ? ALL_PROBLEMS : PROBLEMS;
    (void)state;
    seen = (struct seen){0};
    for (int i = 0; i < problems; i++)
        check_problem(&problem, &seed, true);
    assert_true(seen.layouts > 50 * problems && seen.ruled_out > seen.layouts / 8 && seen.unfitting > problems);
    assert_true(seen.typed == problems && seen.reordered > problems / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_jobs), cmocka_unit_test(test_random_types)};
    return cmocka_run_group_tests_name("random jobs", tests, NULL, NULL);
}
