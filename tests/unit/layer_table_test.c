/* SPDX-License-Identifier: Apache-2.0 */
/* Models with measured costs: against models of the formulas alone, whose figures are scaled here once more. */
#include "support/model.h"

#include <math.h>
#include <string.h>

#include <ppsched/layer_table.h>
#include <ppsched/price.h>

enum { DECODER = 1, HEAD = 2, ROWS = 3 };

static const ppsched_transformer shape = {.size = sizeof shape,
                                          .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
                                          .layers = 8,
                                          .hidden_size = 1024,
                                          .ffn_size = 4096,
                                          .heads = 16,
                                          .vocabulary_size = 32000};

static const ppsched_training asked = {.size = sizeof asked,
                                       .flags = PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL,
                                       .sequence_length = 4096,
                                       .micro_batch_size = 2,
                                       .tensor_parallel = 2};

static const ppsched_measured_layer any = {.kind = "decoder",
                                           .forward_time = -1,
                                           .backward_input_time = -1,
                                           .backward_weight_time = -1,
                                           .mem_forward = -1,
                                           .mem_static = -1};

static const ppsched_accelerator *h100(void)
{
    uint32_t device = 0;
    while (strcmp(ppsched_accelerator_at(device)->name, "h100") != 0)
        device++;
    return ppsched_accelerator_at(device);
}

static const ppsched_description *described(void)
{
    const ppsched_description *description = NULL;
    expect_ok(ppsched_description_from_transformer(&description, &shape, NULL, NULL), NULL);
    return description;
}

static ppsched_status try_model(ppsched_model **out, const ppsched_training *training, const ppsched_layer_table *table,
                                ppsched_error *error)
{
    const ppsched_description *description = described();
    ppsched_status status = table == NULL
                                ? ppsched_model_create(out, description, training, h100(), NULL, error)
                                : ppsched_model_create_measured(out, description, training, h100(), table, NULL, error);
    ppsched_description_release(description);
    return status;
}

static ppsched_model *model_of(const ppsched_training *training, const ppsched_measured_layer *layers, uint32_t count)
{
    const ppsched_layer_table table = {.size = sizeof table, .layers = layers, .layer_count = count};
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(try_model(&model, training, layers == NULL ? NULL : &table, &error), &error);
    return model;
}

static double time_of(const ppsched_model *model, uint32_t row, int32_t pass)
{
    ppsched_pass_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_pass_cost(&cost, model, row, pass, NULL), NULL);
    double sum = cost.matrix_time + cost.vector_time + cost.memory_time + cost.communication_time + cost.launch_time;
    assert_true(fabs(sum - cost.time) <= 1e-12 * cost.time);
    return cost.time;
}

static ppsched_layer_memory memory_of(const ppsched_model *model, uint32_t row)
{
    ppsched_layer_memory memory = {.size = sizeof memory};
    expect_ok(ppsched_model_get_memory(&memory, model, row, NULL), NULL);
    return memory;
}

static double states_of(const ppsched_layer_memory *memory)
{
    return memory->weights + memory->gradients + memory->optimizer;
}

static ppsched_row_measure measure_of(const ppsched_model *model, uint32_t row)
{
    ppsched_row_measure measure = {.size = sizeof measure};
    expect_ok(ppsched_model_get_row_measure(&measure, model, row, NULL), NULL);
    return measure;
}

static void expect_near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected)))
        fail_msg("%.17g is not %.17g", found, expected);
}

/* What the formulas say of a decoder with other sizes. */
static double predicted_at(const ppsched_measured_layer *own, uint32_t row, int32_t pass)
{
    ppsched_training training = asked;
    training.tensor_parallel = own->tensor_parallel > 0 ? own->tensor_parallel : training.tensor_parallel;
    training.micro_batch_size = own->micro_batch_size > 0 ? own->micro_batch_size : training.micro_batch_size;
    training.sequence_length = own->sequence_length > 0 ? own->sequence_length : training.sequence_length;
    ppsched_model *model = model_of(&training, NULL, 0);
    double time = time_of(model, row, pass);
    ppsched_model_destroy(model);
    return time;
}

/* --- rows that fit --- */

static void test_a_row_that_fits_stands_for_itself(void **state)
{
    ppsched_measured_layer own = {"decoder", "none", 2, 1, 0, 0, 2, 4096, 0.5, 0.75, 0.25, 3e8, 7e9};
    ppsched_model *model = model_of(&asked, &own, 1), *plain = model_of(&asked, NULL, 0);
    ppsched_layer_memory memory = memory_of(model, DECODER), before = memory_of(plain, DECODER);
    ppsched_row_measure measure = measure_of(model, DECODER);
    (void)state;
    expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_FORWARD), 0.5);
    expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_INPUT), 0.75);
    expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_WEIGHT), 0.25);
    expect_near(memory.activations, 3e8);
    expect_near(states_of(&memory), 7e9);
    expect_near(memory.weights / memory.optimizer, before.weights / before.optimizer);
    expect_near(memory.activations_until_weight / memory.activations, before.activations_until_weight / before.activations);
    expect_near(memory.full, before.full);
    assert_int_equal(measure.forward.source, PPSCHED_MEASURE_TABLE);
    assert_int_equal(measure.mem_static.source, PPSCHED_MEASURE_TABLE);
    expect_near(measure.forward.factor, 0.5 / time_of(plain, DECODER, PPSCHED_MODEL_PASS_FORWARD));
    expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_FULL),
                measure.forward.factor * time_of(plain, DECODER, PPSCHED_MODEL_PASS_FULL));
    for (uint32_t row = 0; row < ROWS; row += HEAD) {
        expect_near(time_of(model, row, PPSCHED_MODEL_PASS_FORWARD),
                    measure.forward.factor * time_of(plain, row, PPSCHED_MODEL_PASS_FORWARD));
        assert_int_equal(measure_of(model, row).forward.source, PPSCHED_MEASURE_OTHERS);
    }
    assert_int_equal(measure_of(plain, DECODER).forward.source, PPSCHED_MEASURE_FORMULA);
    assert_true(measure_of(plain, DECODER).forward.factor == 1);
    ppsched_model_destroy(plain);
    ppsched_model_destroy(model);
}

/* Of rows that fit the one with fewer sizes that are any; of equals the mean. */
static void test_rows_with_fewer_sizes_open_come_first(void **state)
{
    ppsched_measured_layer rows[4] = {any, any, any, any};
    (void)state;
    rows[0].forward_time = 1;
    rows[1].forward_time = 2, rows[1].tensor_parallel = 2;
    rows[2].forward_time = 4, rows[2].micro_batch_size = 2;
    rows[3].forward_time = 8, rows[3].tensor_parallel = 4, rows[3].micro_batch_size = 2, rows[3].sequence_length = 4096;
    for (uint32_t count = 1; count <= 4; count++) {
        static const double expected[] = {1, 2, 3, 3};
        ppsched_model *model = model_of(&asked, rows, count);
        expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_FORWARD), expected[count - 1]);
        ppsched_model_destroy(model);
    }
}

/* --- gaps --- */

static void test_other_sizes_scale_the_cost_model(void **state)
{
    (void)state;
    for (uint32_t t = 1; t <= 8; t *= 2)
        for (uint32_t b = 1; b <= 4; b *= 2)
            for (uint32_t s = 2048; s <= 8192; s *= 2) {
                ppsched_measured_layer rows[2] = {any, any};
                if (t == 2 && b == 2 && s == 4096)
                    continue;
                rows[0].tensor_parallel = t, rows[0].micro_batch_size = b, rows[0].sequence_length = s;
                rows[0].forward_time = 0.125;
                rows[1].tensor_parallel = 16, rows[1].micro_batch_size = 64; /* farther */
                rows[1].forward_time = 99;
                ppsched_model *model = model_of(&asked, rows, 2), *plain = model_of(&asked, NULL, 0);
                double factor = 0.125 / predicted_at(&rows[0], DECODER, PPSCHED_MODEL_PASS_FORWARD);
                ppsched_row_measure measure = measure_of(model, DECODER);
                expect_near(measure.forward.factor, factor);
                assert_int_equal(measure.forward.source, PPSCHED_MEASURE_NEAREST);
                assert_int_equal(measure.weight.source, PPSCHED_MEASURE_SAME);
                for (int32_t pass = 0; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++)
                    expect_near(time_of(model, DECODER, pass), factor * time_of(plain, DECODER, pass));
                assert_int_equal(measure.mem_forward.source, PPSCHED_MEASURE_FORMULA);
                expect_near(memory_of(model, DECODER).activations, memory_of(plain, DECODER).activations);
                ppsched_model_destroy(plain);
                ppsched_model_destroy(model);
            }
}

static void test_sharding_divides_measured_states(void **state)
{
    ppsched_measured_layer own = any;
    ppsched_training sharded = asked;
    (void)state;
    sharded.data_parallel = 4;
    sharded.sharding = 1;
    ppsched_model *plain = model_of(&asked, NULL, 0), *divided = model_of(&sharded, NULL, 0);
    ppsched_layer_memory whole = memory_of(plain, DECODER), part = memory_of(divided, DECODER);
    own.mem_static = 1e9;
    ppsched_model *model = model_of(&sharded, &own, 1);
    ppsched_layer_memory found = memory_of(model, DECODER);
    expect_near(states_of(&found), 1e9 * states_of(&part) / states_of(&whole));
    ppsched_model_destroy(model);
    ppsched_model_destroy(divided);
    ppsched_model_destroy(plain);
}

/* --- recomputation --- */

static void test_recomputation_is_what_the_backward_takes_more(void **state)
{
    ppsched_measured_layer rows[2] = {any, any};
    (void)state;
    rows[0].forward_time = 0.25, rows[0].backward_input_time = 0.5, rows[0].backward_weight_time = 0.125;
    rows[0].mem_forward = 4e8;
    rows[1].recompute = "full", rows[1].backward_input_time = 0.75, rows[1].mem_forward = 1e7;
    ppsched_model *model = model_of(&asked, rows, 2);
    expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_FULL), 0.25);
    expect_near(memory_of(model, DECODER).full, 1e7);
    expect_near(memory_of(model, DECODER).activations, 4e8);
    assert_int_equal(measure_of(model, DECODER).full.source, PPSCHED_MEASURE_TABLE);
    ppsched_model_destroy(model);
    rows[1].backward_weight_time = 0.0625; /* faster than without: the whole backward counts */
    model = model_of(&asked, rows, 2);
    expect_near(time_of(model, DECODER, PPSCHED_MODEL_PASS_FULL), 0.75 + 0.0625 - 0.625);
    ppsched_model_destroy(model);
    rows[1].backward_input_time = 0.25;
    model = model_of(&asked, rows, 2);
    assert_true(time_of(model, DECODER, PPSCHED_MODEL_PASS_FULL) == 0);
    ppsched_model_destroy(model);
}

/* --- collectives --- */

static ppsched_model *model_with(const ppsched_training *training, const ppsched_measured_collective *list, uint32_t count)
{
    const ppsched_layer_table table = {.size = sizeof table, .collectives = list, .collective_count = count};
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(try_model(&model, training, &table, &error), &error);
    return model;
}

static double gradients_of(const ppsched_model *model, double parameters)
{
    ppsched_update_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_update_cost(&cost, model, parameters, 0, NULL), NULL);
    return cost.gradient_time;
}

static void test_collectives_by_bytes(void **state)
{
    static const ppsched_measured_collective list[] = {{PPSCHED_COLLECTIVE_ALL_REDUCE, 4, 8, 0, 8e6, 3e-3},
                                                       {PPSCHED_COLLECTIVE_ALL_REDUCE, 4, 8, 0, 4e6, 1e-3},
                                                       {PPSCHED_COLLECTIVE_ALL_REDUCE, 4, 8, 0, 1e6, 5e-4},
                                                       {PPSCHED_COLLECTIVE_ALL_REDUCE, 4, 4, 0, 4e6, 1},
                                                       {PPSCHED_COLLECTIVE_ALL_GATHER, 4, 8, 0, 4e6, 9}};
    const struct {
        double bytes, time;
    } cases[] = {{4e6, 1e-3}, {1e6, 5e-4}, {4e5, 5e-4}, {2.5e6, 7.5e-4}, {6e6, 2e-3}, {8e6, 3e-3}, {12e6, 5e-3}};
    ppsched_training training = asked;
    (void)state;
    training.data_parallel = 4;
    ppsched_model *model = model_with(&training, list, 5), *plain = model_of(&training, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_near(gradients_of(model, cases[i].bytes / 4), cases[i].time);
    assert_true(gradients_of(model, 0) == 0);
    ppsched_model_destroy(model);
    model = model_with(&training, list + 1, 1); /* one size alone scales the cost model */
    expect_near(gradients_of(model, 5e6), gradients_of(plain, 5e6) * 1e-3 / gradients_of(plain, 1e6));
    ppsched_model_destroy(model);
    ppsched_model_destroy(plain);
    training.data_parallel = 2; /* another group */
    ppsched_training four = training;
    four.data_parallel = 4;
    model = model_with(&training, list, 3), plain = model_of(&training, NULL, 0);
    ppsched_model *there = model_of(&four, NULL, 0);
    expect_near(gradients_of(model, 1e6), gradients_of(plain, 1e6) * 1e-3 / gradients_of(there, 1e6));
    ppsched_model_destroy(there);
    ppsched_model_destroy(plain);
    ppsched_model_destroy(model);
}

static void test_links_by_sends(void **state)
{
    static const ppsched_measured_collective list[] = {{PPSCHED_COLLECTIVE_SEND, 2, 16, 0, 1e6, 2e-3},
                                                       {PPSCHED_COLLECTIVE_SEND, 2, 16, 0, 9e6, 4e-3},
                                                       {PPSCHED_COLLECTIVE_SEND, 2, 2, 0, 1e6, 1e-3}};
    ppsched_model *model = model_with(&asked, list, 3), *plain = model_of(&asked, NULL, 0);
    double latency, bandwidth;
    (void)state;
    expect_ok(ppsched_model_get_link(&latency, &bandwidth, model, 64, NULL), NULL);
    expect_near(bandwidth, 4e9);
    expect_near(latency, 2e-3 - 1e6 / 4e9);
    expect_ok(ppsched_model_get_link(&latency, &bandwidth, model, 8, NULL), NULL);
    expect_near(latency, h100()->inside.latency);
    expect_near(latency + 1e6 / bandwidth, 1e-3);
    expect_ok(ppsched_model_get_link(&latency, &bandwidth, plain, 64, NULL), NULL);
    assert_true(latency == h100()->between.latency);
    expect_near(bandwidth, h100()->between.bandwidth * (h100()->between.efficiency > 0 ? h100()->between.efficiency : 1));
    expect_ok(ppsched_model_get_link(NULL, NULL, plain, 64, NULL), NULL);
    assert_int_equal(ppsched_model_get_link(&latency, NULL, plain, 0, NULL), PPSCHED_ERROR_RANGE);
    ppsched_model_destroy(plain);
    ppsched_model_destroy(model);
}

/* A step of one device is the sum of what was measured. */
static void test_a_priced_step_has_measured_times(void **state)
{
    const ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 1, .microbatches = 4};
    ppsched_measured_layer rows[3] = {any, any, any};
    ppsched_price *price = NULL;
    ppsched_step_price step = {.size = sizeof step};
    (void)state;
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i].forward_time = 0.25 * (i + 1);
        rows[i].backward_input_time = 0.5;
        rows[i].backward_weight_time = 0.125;
    }
    rows[0].kind = "embedding", rows[2].kind = "head";
    ppsched_model *model = model_of(&asked, rows, 3);
    expect_ok(ppsched_price_create(&price, model, &pipeline, NULL, NULL), NULL);
    expect_ok(ppsched_price_get_step(&step, price, NULL), NULL);
    const double scale = 1 + h100()->scale_slowdown; /* two devices */
    expect_near(step.pipeline_time, 4 * (0.25 + 0.75 + 8 * 0.5 + 10 * 0.625) * scale);
    ppsched_price_destroy(price);
    ppsched_model_destroy(model);
}

/* --- refusals --- */

static void expect_refusal(const ppsched_layer_table *table, ppsched_status status, const char *part)
{
    ppsched_model *model = NULL;
    ppsched_error error;
    assert_int_equal(try_model(&model, &asked, table, &error), status);
    assert_null(model);
    if (strstr(error.message, part) == NULL)
        fail_msg("%s: not in \"%s\"", part, error.message);
}

static void test_what_is_refused(void **state)
{
    ppsched_measured_layer rows[2] = {any, any};
    ppsched_measured_collective one = {PPSCHED_COLLECTIVE_ALL_REDUCE, 4, 8, 0, 1e6, 1e-3}, twice[2] = {one, one};
    ppsched_layer_table table = {.size = sizeof table, .layers = rows, .layer_count = 2};
    (void)state;
    rows[0].forward_time = rows[1].forward_time = 1;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "row 1 of the layer table has the kind and the sizes of row 0");
    rows[0].kind = "moe", rows[1].kind = "head";
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "the layer table has no row of the kind decoder; it has moe, head");
    rows[0].kind = "decoder", rows[1].forward_time = NAN;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "row 1 of the layer table: forward_time is NaN");
    rows[1].forward_time = 1, rows[1].recompute = "ful";
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "recompute is ful");
    rows[1].recompute = NULL, rows[1].kind = NULL;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "row 1 of the layer table: kind is NULL");
    table.layers = NULL;
    expect_refusal(&table, PPSCHED_ERROR_ARGUMENT, "a list is NULL");
    table = (ppsched_layer_table){.size = sizeof table, .collectives = twice, .collective_count = 2};
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "collective 1 of the layer table is that of 0");
    twice[1].group = 1;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "group is 1, span 8");
    twice[1] = one, twice[1].span = 3;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "group is 4, span 3");
    twice[1] = one, twice[1].bytes = 0;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "bytes is 0");
    twice[1] = one, twice[1].collective = 5;
    expect_refusal(&table, PPSCHED_ERROR_RANGE, "its number is 5");
    table.reserved = 1;
    expect_refusal(&table, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
}

static void test_no_accelerator_is_refused(void **state)
{
    const ppsched_layer_table table = {.size = sizeof table};
    const ppsched_description *description = described();
    ppsched_model *model = NULL;
    (void)state;
    assert_int_equal(ppsched_model_create_measured(&model, description, &asked, NULL, &table, NULL, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_create_measured(&model, description, &asked, h100(), NULL, NULL, NULL),
                     PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_model_create_measured(&model, NULL, &asked, h100(), &table, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_model_create(&model, description, &asked, NULL, NULL, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_model_get_link(NULL, NULL, model, 1, NULL), PPSCHED_ERROR_RANGE);
    ppsched_row_measure measure = {.size = sizeof measure};
    assert_int_equal(ppsched_model_get_row_measure(&measure, model, ROWS, NULL), PPSCHED_ERROR_RANGE);
    ppsched_model_destroy(model);
    ppsched_description_release(description);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_row_that_fits_stands_for_itself),
        cmocka_unit_test(test_rows_with_fewer_sizes_open_come_first),
        cmocka_unit_test(test_other_sizes_scale_the_cost_model),
        cmocka_unit_test(test_sharding_divides_measured_states),
        cmocka_unit_test(test_recomputation_is_what_the_backward_takes_more),
        cmocka_unit_test(test_collectives_by_bytes),
        cmocka_unit_test(test_links_by_sends),
        cmocka_unit_test(test_a_priced_step_has_measured_times),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_no_accelerator_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
