/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs: which layouts are listed, the usual batch, threads that price at once, and what is refused. */
#include "support/model.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

static const ppsched_transformer shape = {.size = sizeof shape,
                                          .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
                                          .layers = 8,
                                          .hidden_size = 1024,
                                          .ffn_size = 4096,
                                          .heads = 16,
                                          .vocabulary_size = 32000};
static const ppsched_training training = {.size = sizeof training, .sequence_length = 4096};

static ppsched_status create(ppsched_job **out, const ppsched_job_options *options, ppsched_error *error)
{
    const ppsched_description *description = NULL;
    expect_ok(ppsched_description_from_transformer(&description, &shape, NULL, NULL), NULL);
    ppsched_status status = ppsched_job_create(out, description, &training, ppsched_accelerator_at(0), options, NULL, error);
    ppsched_description_release(description);
    return status;
}

static ppsched_job *make(const ppsched_job_options *options)
{
    ppsched_job *job = NULL;
    ppsched_error error;
    expect_ok(create(&job, options, &error), &error);
    return job;
}

static void expect_refused(const ppsched_job_options *options, ppsched_status status, const char *words)
{
    ppsched_job *job = NULL;
    ppsched_error error;
    assert_int_equal(create(&job, options, &error), status);
    assert_null(job);
    if (strstr(error.message, words) == NULL)
        fail_msg("%s: not \"%s\"", error.message, words);
}

static ppsched_job_layout layout_of(const ppsched_job *job, uint32_t number)
{
    ppsched_job_layout layout = {.size = sizeof layout};
    expect_ok(ppsched_job_get_layout(&layout, job, number, NULL), NULL);
    return layout;
}

/* --- what is listed --- */

/* By hand: 4 devices in a node, one micro-batch, no context parallelism. tp 1, 2, 4; pp 1, 2, 4 with their chunks. */
static void test_all_that_is_possible_is_listed(void **state)
{
    static const uint32_t one = 1, batch = 8;
    const ppsched_job_list lists[] = {{PPSCHED_JOB_DIMENSION_CONTEXT, 1, &one},
                                      {PPSCHED_JOB_DIMENSION_MICRO_BATCH, 1, &one},
                                      {PPSCHED_JOB_DIMENSION_CHUNKS, 1, &one},
                                      {PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch}};
    const ppsched_job_options options = {.size = sizeof options, .gpus = 4, .lists = lists, .list_count = 4};
    ppsched_job *job = make(&options);
    (void)state;
    uint32_t seen[5][5] = {{0}};
    for (uint32_t i = 0; i < ppsched_job_layout_count(job); i++) {
        ppsched_job_layout layout = layout_of(job, i);
        assert_int_equal(layout.tensor_parallel * layout.pipeline * layout.data_parallel, 4);
        assert_int_equal(layout.microbatches * layout.data_parallel, 8);
        assert_true(layout.data_parallel > 1 ? layout.sharding == 1 || layout.sharding == 3 : layout.sharding == 0);
        assert_true(i == 0 || layout.bound >= layout_of(job, i - 1).bound);
        seen[layout.tensor_parallel][layout.pipeline]++;
    }
    assert_true(seen[1][1] == 2 && seen[1][2] == 2 && seen[1][4] == 1);
    assert_true(seen[2][1] == 2 && seen[2][2] == 1 && seen[4][1] == 1);
    assert_int_equal(ppsched_job_layout_count(job), 9);
    ppsched_job_destroy(job);
}

/* 4 Mi tokens are 1024 sequences; with 24 devices the next multiple of 24. */
static void test_usual_batch(void **state)
{
    static const struct {
        uint32_t gpus, batch;
    } cases[] = {{1, 1024}, {8, 1024}, {24, 1032}, {2048, 1024}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ppsched_job_options options = {.size = sizeof options, .gpus = cases[i].gpus};
        ppsched_job *job = make(&options);
        assert_int_equal(layout_of(job, 0).global_batch, cases[i].batch);
        ppsched_job_destroy(job);
    }
}

/* --- threads --- */

enum { THREADS = 4 };

struct worker {
    const ppsched_job *job;
    uint32_t from;
    double sum;
};

static void *work(void *user)
{
    struct worker *worker = user;
    for (uint32_t i = worker->from; i < ppsched_job_layout_count(worker->job); i += THREADS) {
        ppsched_price *price = NULL;
        ppsched_job_found found = {.size = sizeof found};
        ppsched_step_price step = {.size = sizeof step};
        if (ppsched_job_evaluate_layout(&price, &found, worker->job, i, INFINITY, NULL) != PPSCHED_OK)
            return NULL;
        if (price != NULL)
            ppsched_price_get_step(&step, price, NULL);
        worker->sum += step.step_time;
        ppsched_price_destroy(price);
    }
    return worker;
}

static void test_threads_price_the_same(void **state)
{
    static const uint32_t batch = 16;
    const ppsched_job_list list = {PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch};
    const ppsched_job_options options = {.size = sizeof options, .gpus = 8, .lists = &list, .list_count = 1};
    ppsched_job *job = make(&options);
    struct worker workers[THREADS], alone[THREADS];
    pthread_t threads[THREADS];
    (void)state;
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = alone[i] = (struct worker){job, i, 0};
        assert_ptr_equal(work(&alone[i]), &alone[i]);
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        void *result = NULL;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_true(result == &workers[i] && workers[i].sum == alone[i].sum && workers[i].sum > 0);
    }
    ppsched_job_destroy(job);
}

/* --- measured costs --- */

enum { ROWS = 4 };

/* One device, 8 layers, 8 sequences: 8 microbatches of one sequence or 4 of two. Measured: 8 * 8 * 1.5 s and 4 * 8 * 2.25 s. */
static void measure(ppsched_measured_layer rows[ROWS])
{
    const ppsched_measured_layer small = {"decoder", NULL, 1, 1, 0, 0, 1, 0, 0.5, 0.5, 0.5, 1e6, -1},
                                 nothing = {.kind = "head"};
    rows[0] = rows[1] = small;
    rows[1].micro_batch_size = 2;
    rows[1].forward_time = rows[1].backward_input_time = rows[1].backward_weight_time = 0.75;
    rows[2] = rows[3] = nothing; /* of any size */
    rows[3].kind = "embedding";
}

static void test_measured_micro_batches(void **state)
{
    static const uint32_t batch = 8, micro[] = {1, 2};
    static const double seconds[] = {0, 96, 72};
    const ppsched_job_list lists[] = {{PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch},
                                      {PPSCHED_JOB_DIMENSION_MICRO_BATCH, 2, micro}};
    ppsched_measured_layer rows[ROWS];
    char name[] = "decoder";
    measure(rows);
    rows[0].kind = name;
    ppsched_layer_table table = {.size = sizeof table, .layers = rows, .layer_count = ROWS};
    const ppsched_job_options options = {.size = sizeof options, .gpus = 1, .lists = lists, .list_count = 2, .table = &table};
    ppsched_job *job = make(&options);
    (void)state;
    memset(rows, 0, sizeof rows); /* the job has its own */
    memset(name, 0, sizeof name);
    assert_int_equal(ppsched_job_layout_count(job), 2);
    for (uint32_t i = 0; i < 2; i++) {
        ppsched_price *price = NULL;
        ppsched_job_found found = {.size = sizeof found};
        ppsched_step_price step = {.size = sizeof step};
        expect_ok(ppsched_job_evaluate_layout(&price, &found, job, i, INFINITY, NULL), NULL);
        expect_ok(ppsched_price_get_step(&step, price, NULL), NULL);
        assert_true(fabs(step.pipeline_time - seconds[layout_of(job, i).micro_batch_size]) < 1e-9);
        ppsched_price_destroy(price);
    }
    assert_int_equal(layout_of(job, 0).micro_batch_size, 2);
    ppsched_job_destroy(job);
}

/* A row for any micro-batch does for one, not for several. */
static void test_open_sizes(void **state)
{
    static const uint32_t batch = 8, micro[] = {1, 2}, one = 1;
    ppsched_job_list lists[] = {{PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch},
                                {PPSCHED_JOB_DIMENSION_TENSOR, 1, &one},
                                {PPSCHED_JOB_DIMENSION_MICRO_BATCH, 2, micro}};
    ppsched_measured_layer rows[ROWS];
    ppsched_layer_table table = {.size = sizeof table, .layers = rows, .layer_count = 1};
    ppsched_job_options options = {.size = sizeof options, .gpus = 4, .lists = lists, .list_count = 3, .table = &table};
    (void)state;
    measure(rows);
    rows[0].micro_batch_size = 0;
    expect_refused(&options, PPSCHED_ERROR_RANGE, "row 0 of the layer table holds for any micro_batch_size, in which");
    rows[0].context_parallel = rows[0].tensor_parallel = 0; /* all layouts have tp 1; experts divide nothing */
    expect_refused(&options, PPSCHED_ERROR_RANGE, "holds for any context_parallel, micro_batch_size, in which");
    rows[0].context_parallel = 1;
    lists[2].count = 1;
    ppsched_job_destroy(make(&options));
    measure(rows);
    table.layer_count = 2;
    rows[1].micro_batch_size = 1;
    expect_refused(&options, PPSCHED_ERROR_RANGE, "row 1 of the layer table has the kind and the sizes of row 0");
    rows[0].kind = rows[1].kind = "moe";
    expect_refused(&options, PPSCHED_ERROR_RANGE, "the layer table has no row of the kind decoder; it has moe");
}

/* --- what is refused --- */

static void test_wrong_options(void **state)
{
    static const uint32_t zero = 0, four = 4, three = 3, seven = 7;
    static const char *const unknown[] = {"1f1c"}, *const versions[] = {"1f1b_no_flush"};
    ppsched_job_list list = {PPSCHED_JOB_DIMENSION_TENSOR, 1, &zero};
    ppsched_job_options options = {.size = sizeof options, .gpus = 8, .lists = &list, .list_count = 1};
    (void)state;
    expect_refused(&options, PPSCHED_ERROR_RANGE, "tensor parallelism is 0; it must be 1 to");
    list = (ppsched_job_list){PPSCHED_JOB_DIMENSION_SHARDING, 1, &four};
    expect_refused(&options, PPSCHED_ERROR_RANGE, "sharding is 4; it must be 0 to 3");
    list = (ppsched_job_list){PPSCHED_JOB_DIMENSION_TENSOR, 1, &three};
    expect_refused(&options, PPSCHED_ERROR_RANGE, "no layout of 8 devices is possible");
    list = (ppsched_job_list){PPSCHED_JOB_DIMENSION_RANK_ORDER + 1, 1, &four};
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "dimension");
    list = (ppsched_job_list){PPSCHED_JOB_DIMENSION_TENSOR, 0, NULL};
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "the list of tensor parallelism has no values");
    const ppsched_job_list batches[] = {{PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &seven},
                                        {PPSCHED_JOB_DIMENSION_PIPELINE, 1, &four},
                                        {PPSCHED_JOB_DIMENSION_TENSOR, 1, (const uint32_t[]){1}},
                                        {PPSCHED_JOB_DIMENSION_CONTEXT, 1, (const uint32_t[]){1}}};
    options = (ppsched_job_options){.size = sizeof options, .gpus = 8, .lists = batches, .list_count = 4};
    expect_refused(&options, PPSCHED_ERROR_RANGE, "divides the global batch; give a multiple of 2");
    options = (ppsched_job_options){.size = sizeof options};
    expect_refused(&options, PPSCHED_ERROR_RANGE, "gpus is 0; it must be 1 to");
    options = (ppsched_job_options){.size = sizeof options, .gpus = 8, .goal = 2};
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "goal");
    options = (ppsched_job_options){.size = sizeof options, .gpus = 8, .memory_limit = -1};
    expect_refused(&options, PPSCHED_ERROR_RANGE, "memory_limit is -1");
    options = (ppsched_job_options){.size = sizeof options, .gpus = 8, .strategies = unknown, .strategy_count = 1};
    expect_refused(&options, PPSCHED_ERROR_UNKNOWN_STRATEGY, "1f1c");
    options.strategies = versions;
    expect_refused(&options, PPSCHED_ERROR_REFUSED, "1f1b_no_flush: layouts are priced with strategies that flush");
}

static void test_no_layout_fits(void **state)
{
    const ppsched_job_options options = {.size = sizeof options, .gpus = 2, .memory_limit = 1e6};
    ppsched_job *job = make(&options);
    (void)state;
    expect_ok(ppsched_job_run(job, NULL), NULL);
    assert_int_equal(ppsched_job_best_count(job), 0);
    ppsched_job_layout nearest = layout_of(job, 0), next = layout_of(job, 1);
    assert_int_equal(nearest.state, PPSCHED_JOB_STATE_OVER_LIMIT);
    assert_true(nearest.least_memory > 1e6 && nearest.least_memory <= next.least_memory);
    assert_int_equal(ppsched_job_run(job, NULL), PPSCHED_ERROR_ARGUMENT);
    ppsched_job_destroy(job);
}

/* --- types of devices --- */

static double step_of(const ppsched_job *job, uint32_t layout)
{
    ppsched_price *price = NULL;
    ppsched_job_found found = {.size = sizeof found};
    ppsched_step_price step = {.size = sizeof step};
    expect_ok(ppsched_job_evaluate_layout(&price, &found, job, layout, INFINITY, NULL), NULL);
    if (price == NULL)
        return 0;
    expect_ok(ppsched_price_get_step(&step, price, NULL), NULL);
    ppsched_price_destroy(price);
    return step.step_time;
}

static bool are_alike(const ppsched_job_layout *a, const ppsched_job_layout *b)
{
    return a->tensor_parallel == b->tensor_parallel && a->context_parallel == b->context_parallel &&
           a->pipeline == b->pipeline && a->chunks == b->chunks && a->micro_batch_size == b->micro_batch_size &&
           a->sharding == b->sharding;
}

/* A node of each of two equal types is two nodes. */
static void test_equal_types_are_one(void **state)
{
    static const uint32_t two = 2, batch = 16;
    const ppsched_job_list lists[] = {{PPSCHED_JOB_DIMENSION_PIPELINE, 1, &two},
                                      {PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch}};
    const ppsched_job_type types[] = {{ppsched_accelerator_at(0), 8, 0, 0}, {ppsched_accelerator_at(0), 8, 0, 0}};
    ppsched_job_options options = {.size = sizeof options, .gpus = 16, .lists = lists, .list_count = 2};
    ppsched_job *plain = make(&options), *typed = NULL;
    uint32_t compared = 0;
    (void)state;
    options.types = types;
    options.type_count = 2;
    typed = make(&options);
    assert_int_equal(ppsched_job_layout_count(typed), 2 * ppsched_job_layout_count(plain)); /* two orders */
    for (uint32_t i = 0; i < ppsched_job_layout_count(plain); i += 3)
        for (uint32_t k = 0; k < ppsched_job_layout_count(typed); k++) {
            ppsched_job_layout one = layout_of(plain, i), other = layout_of(typed, k);
            if (!are_alike(&one, &other))
                continue;
            assert_true(one.bound == other.bound && one.least_memory == other.least_memory);
            assert_true(step_of(plain, i) == step_of(typed, k));
            compared++;
        }
    assert_true(compared > 20);
    ppsched_job_destroy(plain);
    ppsched_job_destroy(typed);
}

/* A second type with a quarter of the rates has fewer decoders, and a memory limit of its own. */
static void test_slower_type_has_fewer_layers(void **state)
{
    static const uint32_t one = 1, two = 2, batch = 64;
    static const char *const strategies[] = {"1f1b"};
    const ppsched_job_list lists[] = {
        {PPSCHED_JOB_DIMENSION_PIPELINE, 1, &two},      {PPSCHED_JOB_DIMENSION_TENSOR, 1, &one},
        {PPSCHED_JOB_DIMENSION_CONTEXT, 1, &one},       {PPSCHED_JOB_DIMENSION_MICRO_BATCH, 1, &one},
        {PPSCHED_JOB_DIMENSION_CHUNKS, 1, &one},        {PPSCHED_JOB_DIMENSION_SHARDING, 1, &one},
        {PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch}};
    ppsched_accelerator slow = *ppsched_accelerator_at(0);
    slow.matrix_rate /= 4;
    slow.vector_rate /= 4;
    slow.memory_bandwidth /= 4;
    const ppsched_job_type types[] = {{ppsched_accelerator_at(0), 4, 0, 0}, {&slow, 4, 0, 7e10}};
    const ppsched_job_options options = {.size = sizeof options,
                                         .gpus = 8,
                                         .lists = lists,
                                         .list_count = 7,
                                         .strategies = strategies,
                                         .strategy_count = 1,
                                         .types = types,
                                         .type_count = 2};
    ppsched_job *job = make(&options);
    (void)state;
    assert_int_equal(ppsched_job_layout_count(job), 2);
    for (uint32_t i = 0; i < 2; i++) {
        ppsched_price *price = NULL;
        ppsched_job_found found = {.size = sizeof found};
        ppsched_pipeline pipeline = {.size = sizeof pipeline};
        ppsched_job_layout layout = layout_of(job, i);
        expect_ok(ppsched_job_evaluate_layout(&price, &found, job, i, INFINITY, NULL), NULL);
        expect_ok(ppsched_price_get_pipeline(&pipeline, price, NULL), NULL);
        uint32_t fast = layout.type_order == 0 ? 0 : 1;
        assert_true(pipeline.split[fast] >= pipeline.split[1 - fast] + 4);
        assert_true(found.memory_limit == 7e10 || found.memory_limit == ppsched_accelerator_at(0)->memory);
        ppsched_price_destroy(price);
    }
    assert_int_not_equal(layout_of(job, 0).type_order, layout_of(job, 1).type_order);
    ppsched_job_destroy(job);
}

static void test_wrong_types(void **state)
{
    static const uint32_t both[] = {PPSCHED_RANK_ORDER_PIPELINE_FIRST};
    const ppsched_accelerator *device = ppsched_accelerator_at(0);
    const ppsched_job_list order = {PPSCHED_JOB_DIMENSION_RANK_ORDER, 1, both};
    ppsched_job_type types[9] = {{device, 5, 0, 0}, {device, 4, 0, 0}};
    ppsched_job_options options = {.size = sizeof options, .gpus = 9, .types = types, .type_count = 2};
    ppsched_layer_table table = {.size = sizeof table};
    (void)state;
    expect_refused(&options, PPSCHED_ERROR_RANGE,
                   "at most 1 (what divides the counts of all types), so a pipeline has at least 9");
    options.gpus = 8;
    expect_refused(&options, PPSCHED_ERROR_RANGE, "the types have 9 devices, and the job has 8");
    types[0].gpus = 4;
    options.lists = &order;
    options.list_count = 1;
    expect_refused(&options, PPSCHED_ERROR_RANGE, "rank order tp-cp-ep-dp-pp");
    options.list_count = 0;
    options.table = &table;
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "a layer table has the costs of one type");
    options.table = NULL;
    types[1].memory_limit = -1;
    expect_refused(&options, PPSCHED_ERROR_RANGE, "memory_limit of type 1 is -1");
    types[1] = (ppsched_job_type){device, 4, 1, 0};
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "reserved of type 1");
    types[1] = (ppsched_job_type){device, 0, 0, 0};
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "type 1 of the devices has no devices");
    types[1].accelerator = NULL;
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "type 1 of the devices has no accelerator");
    options.type_count = 9;
    expect_refused(&options, PPSCHED_ERROR_ARGUMENT, "types must be a list of at most 8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_that_is_possible_is_listed),
        cmocka_unit_test(test_usual_batch),
        cmocka_unit_test(test_threads_price_the_same),
        cmocka_unit_test(test_measured_micro_batches),
        cmocka_unit_test(test_open_sizes),
        cmocka_unit_test(test_wrong_options),
        cmocka_unit_test(test_no_layout_fits),
        cmocka_unit_test(test_equal_types_are_one),
        cmocka_unit_test(test_slower_type_has_fewer_layers),
        cmocka_unit_test(test_wrong_types),
    };
    return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
