/* SPDX-License-Identifier: Apache-2.0 */
/* The price of a told layout against sums of its layers' own costs: time, what of data parallelism is exposed, memory, splits,
 * recomputation, and what is refused. */
#include "support/model.h"

#include <math.h>
#include <string.h>

#include <ppsched/price.h>

enum { LAYERS = 8, VOCABULARY = 32000, SEQUENCE = 4096, ROWS = 3, EMBEDDING = 0, DECODER = 1, HEAD = 2 };

static const ppsched_transformer shape = {.size = sizeof shape,
                                          .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
                                          .layers = LAYERS,
                                          .hidden_size = 1024,
                                          .ffn_size = 4096,
                                          .heads = 16,
                                          .vocabulary_size = VOCABULARY};
static const ppsched_training plain = {.size = sizeof plain, .sequence_length = SEQUENCE};

/* Without what makes a step longer than the sums of its layers. */
static const ppsched_accelerator *h100(void)
{
    static ppsched_accelerator alone;
    uint32_t device = 0;
    while (strcmp(ppsched_accelerator_at(device)->name, "h100") != 0)
        device++;
    alone = *ppsched_accelerator_at(device);
    alone.scale_slowdown = 0;
    return &alone;
}

static ppsched_model *make(const ppsched_training *training)
{
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(model_of_shape(&model, &shape, training, h100(), &error), &error);
    return model;
}

static ppsched_price *price_of(const ppsched_model *model, const ppsched_pipeline *pipeline)
{
    ppsched_price *price = NULL;
    ppsched_error error;
    expect_ok(ppsched_price_create(&price, model, pipeline, NULL, &error), &error);
    return price;
}

static ppsched_step_price step_of(const ppsched_model *model, const ppsched_pipeline *pipeline)
{
    ppsched_step_price step = {.size = sizeof step};
    ppsched_price *price = price_of(model, pipeline);
    expect_ok(ppsched_price_get_step(&step, price, NULL), NULL);
    ppsched_price_destroy(price);
    return step;
}

static ppsched_device_price device_of(const ppsched_model *model, const ppsched_pipeline *pipeline, uint32_t device)
{
    ppsched_device_price out = {.size = sizeof out};
    ppsched_price *price = price_of(model, pipeline);
    expect_ok(ppsched_price_get_device(&out, price, device, NULL), NULL);
    ppsched_price_destroy(price);
    return out;
}

static ppsched_pass_cost pass_of(const ppsched_model *model, uint32_t row, int32_t pass)
{
    ppsched_pass_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_pass_cost(&cost, model, row, pass, NULL), NULL);
    return cost;
}

static double backward_of(const ppsched_model *model, uint32_t row)
{
    return pass_of(model, row, PPSCHED_MODEL_PASS_INPUT).time + pass_of(model, row, PPSCHED_MODEL_PASS_WEIGHT).time;
}

static double microbatch_of(const ppsched_model *model)
{
    double sum = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        sum += (row == DECODER ? LAYERS : 1) * (pass_of(model, row, PPSCHED_MODEL_PASS_FORWARD).time + backward_of(model, row));
    return sum;
}

static ppsched_layer_memory memory_of(const ppsched_model *model, uint32_t row)
{
    ppsched_layer_memory memory = {.size = sizeof memory};
    expect_ok(ppsched_model_get_memory(&memory, model, row, NULL), NULL);
    return memory;
}

/* All layers on one device. */
static ppsched_update_cost update_of(const ppsched_model *model)
{
    double parameters = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        parameters += (row == DECODER ? LAYERS : 1) * memory_of(model, row).parameters;
    ppsched_update_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_update_cost(&cost, model, parameters, 0, NULL), NULL);
    return cost;
}

static void expect_near(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.12g is not %.12g", found, wanted);
}

/* --- time --- */

static void test_one_device(void **state)
{
    (void)state;
    const ppsched_pipeline one = {.size = sizeof one, .microbatches = 3};
    ppsched_model *model = make(&plain);
    ppsched_step_price step = step_of(model, &one);
    expect_near(step.pipeline_time, 3 * microbatch_of(model));
    expect_near(step.optimizer_time, update_of(model).optimizer_time);
    expect_near(step.step_time, step.pipeline_time + step.optimizer_time);
    assert_int_equal(step.devices, 1);
    assert_true(step.exposed_data_parallel == 0 && step.exposed_tensor_parallel == 0 && step.exposed_expert_parallel == 0);
    assert_true(fabs(step.exposed_pipeline) < 1e-9 * step.pipeline_time);
    expect_near(step.tokens_per_second_per_device, 3 * SEQUENCE / step.step_time);
    double operations = 0;
    for (uint32_t row = 0; row < ROWS; row++)
        operations += (row == DECODER ? LAYERS : 1) * pass_of(model, row, PPSCHED_MODEL_PASS_FORWARD).matrix_operations;
    expect_near(step.operations_per_second_per_device, 3 * 3 * operations / step.step_time);
    expect_near(step.mfu, step.operations_per_second_per_device / h100()->matrix_rate);
    ppsched_model_destroy(model);
}

/* What the device with the most work does not do is the bubble; with tensor parallelism its collectives are within its work. */
static void test_parts(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.tensor_parallel = 2;
    ppsched_model *model = make(&training);
    const ppsched_pipeline four = {.size = sizeof four, .devices = 4, .microbatches = 8};
    ppsched_step_price step = step_of(model, &four);
    double collectives = 2 * (pass_of(model, DECODER, PPSCHED_MODEL_PASS_FORWARD).tensor_time +
                              pass_of(model, DECODER, PPSCHED_MODEL_PASS_INPUT).tensor_time +
                              pass_of(model, DECODER, PPSCHED_MODEL_PASS_WEIGHT).tensor_time);
    assert_int_equal(step.devices, 8);
    assert_true(step.exposed_tensor_parallel > 8 * 0.999 * collectives);
    assert_true(step.exposed_pipeline > 0);
    double head = 2 * (pass_of(model, DECODER, PPSCHED_MODEL_PASS_FORWARD).time + backward_of(model, DECODER)) +
                  pass_of(model, HEAD, PPSCHED_MODEL_PASS_FORWARD).time + backward_of(model, HEAD);
    expect_near(step.pipeline_time - step.exposed_pipeline, 8 * head);
    ppsched_model_destroy(model);
}

static void test_chunks(void **state)
{
    (void)state;
    ppsched_model *model = make(&plain);
    ppsched_pipeline plainly = {.size = sizeof plainly, .devices = 4, .microbatches = 8}, chunked = plainly;
    chunked.chunks = 2;
    assert_true(step_of(model, &chunked).exposed_pipeline < step_of(model, &plainly).exposed_pipeline);
    chunked.strategy = "interleaved_1f1b";
    ppsched_pipeline said = chunked;
    said.strategy = NULL;
    assert_true(step_of(model, &chunked).step_time == step_of(model, &said).step_time);
    ppsched_model_destroy(model);
}

/* --- data parallelism --- */

static double exposed_of(uint32_t flags, uint32_t sharding)
{
    ppsched_training training = plain;
    training.data_parallel = 16;
    training.sharding = (int32_t)sharding;
    training.flags = flags;
    ppsched_model *model = make(&training);
    const ppsched_pipeline one = {.size = sizeof one};
    double exposed = step_of(model, &one).exposed_data_parallel;
    ppsched_model_destroy(model);
    return exposed;
}

static void test_exposed(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.data_parallel = 16;
    ppsched_model *all = make(&training);
    expect_near(exposed_of(0, 0), update_of(all).gradient_time);
    training.sharding = 1;
    ppsched_model *sharded = make(&training);
    ppsched_update_cost cost = update_of(sharded);
    expect_near(exposed_of(0, 1), cost.gradient_time + cost.parameter_time);

    /* With overlap: gradients come layer by layer during the backward, and the last layer's are summed after it. */
    double layers = LAYERS + 2, backward = 0, forward = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        backward += (row == DECODER ? LAYERS : 1) * backward_of(sharded, row);
        forward += (row == DECODER ? LAYERS : 1) * pass_of(sharded, row, PPSCHED_MODEL_PASS_FORWARD).time;
    }
    double before = cost.gradient_time * (1 - 1 / layers) - backward * (1 - 1 / layers);
    double late = (before > 0 ? before : 0) + cost.gradient_time / layers;
    expect_near(exposed_of(PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS, 1), late + cost.parameter_time);

    double wait = cost.parameter_time - forward > cost.parameter_time / layers ? cost.parameter_time - forward
                                                                               : cost.parameter_time / layers;
    expect_near(exposed_of(PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS, 1), cost.gradient_time + wait);
    assert_true(exposed_of(PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS | PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS, 3) <
                exposed_of(0, 3));
    ppsched_model_destroy(sharded);
    ppsched_model_destroy(all);
}

/* Sums hide in bubbles too. */
static void test_exposed_in_a_pipeline(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.data_parallel = 16;
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2, .microbatches = 4};
    ppsched_model *model = make(&training);
    double alone = step_of(model, &pipeline).exposed_data_parallel;
    training.flags = PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS;
    ppsched_model *beside = make(&training);
    double hidden = step_of(beside, &pipeline).exposed_data_parallel;
    pipeline.chunks = 4;
    double chunked = step_of(beside, &pipeline).exposed_data_parallel;
    assert_true(hidden < alone && chunked < alone);
    ppsched_model_destroy(beside);
    ppsched_model_destroy(model);
}

/* A schedule that runs several times in a step has several times its own time and parts; sums, gathers, the optimizer and the
 * memory are those of one run. */
static void test_several_runs(void **state)
{
    (void)state;
    for (int32_t sharding = 0; sharding <= 3; sharding++) {
        ppsched_training training = plain;
        training.data_parallel = 4;
        training.tensor_parallel = 2;
        training.sharding = sharding;
        training.flags = sharding % 2 == 1 ? PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS : 0;
        ppsched_model *model = make(&training);
        ppsched_pipeline run = {.size = sizeof run, .devices = 4, .microbatches = 6}, runs = run, all = run;
        runs.microbatches = all.microbatches = 18;
        runs.reduce_every = 3;
        ppsched_step_price one = step_of(model, &run), three = step_of(model, &runs), whole = step_of(model, &all);
        expect_near(three.pipeline_time, 3 * one.pipeline_time);
        expect_near(three.exposed_pipeline, 3 * one.exposed_pipeline);
        expect_near(three.exposed_tensor_parallel, 3 * one.exposed_tensor_parallel);
        expect_near(three.exposed_data_parallel, (sharding == 3 ? 3 : 1) * one.exposed_data_parallel);
        assert_true(three.exposed_data_parallel > 0 && three.optimizer_time == one.optimizer_time);
        expect_near(three.tokens_per_second_per_device * three.step_time, whole.tokens_per_second_per_device * whole.step_time);
        expect_near(three.mfu * three.step_time, whole.mfu * whole.step_time);
        assert_true(three.pipeline_time > whole.pipeline_time);
        for (uint32_t d = 0; d < 4; d++)
            assert_true(device_of(model, &runs, d).total == device_of(model, &run, d).total);
        all.reduce_every = 1;
        assert_true(step_of(model, &all).step_time == whole.step_time);
        ppsched_model_destroy(model);
    }
}

/* --- memory --- */

static void test_memory(void **state)
{
    (void)state;
    ppsched_model *model = make(&plain);
    const ppsched_pipeline two = {.size = sizeof two, .devices = 2, .microbatches = 4};
    ppsched_device_price first = device_of(model, &two, 0), last = device_of(model, &two, 1);
    ppsched_layer_memory decoder = memory_of(model, DECODER), head = memory_of(model, HEAD);
    expect_near(last.weights, LAYERS / 2 * decoder.weights + head.weights);
    expect_near(last.gradients, LAYERS / 2 * decoder.gradients + head.gradients);
    expect_near(last.optimizer, LAYERS / 2 * decoder.optimizer + head.optimizer);
    expect_near(last.logits, 4.0 * SEQUENCE * VOCABULARY);
    expect_near(last.other, 2.0 * SEQUENCE * VOCABULARY);
    assert_true(first.logits == 0 && first.other == 0 && first.gathered == 0);
    expect_near(first.activations, 2 * (LAYERS / 2 * decoder.activations + memory_of(model, EMBEDDING).activations));
    expect_near(last.total, last.weights + last.gradients + last.optimizer + last.activations + last.logits + last.other);
    ppsched_model_destroy(model);
}

static void test_gathered(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.data_parallel = 8;
    training.sharding = 3;
    ppsched_model *model = make(&training);
    const ppsched_pipeline one = {.size = sizeof one};
    expect_near(device_of(model, &one, 0).gathered, 2 * 2 * memory_of(model, HEAD).parameters);
    ppsched_model_destroy(model);
}

/* --- recomputation --- */

static void test_recompute(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.flags = PPSCHED_TRAINING_FLAG_KEEPS_SCORES;
    training.recompute_modules = PPSCHED_RECOMPUTE_MODULE_MLP;
    ppsched_model *model = make(&training);
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2, .microbatches = 1};
    double without = step_of(model, &pipeline).pipeline_time;
    const struct {
        const char *kind;
        int32_t pass;
    } kinds[] = {{"selective", PPSCHED_MODEL_PASS_SELECTIVE},
                 {"modules", PPSCHED_MODEL_PASS_MODULES},
                 {"full", PPSCHED_MODEL_PASS_FULL}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double again = pass_of(model, DECODER, kinds[i].pass).time;
        assert_true(again > 0);
        pipeline.recompute = kinds[i].kind;
        pipeline.recompute_layers = 0;
        expect_near(step_of(model, &pipeline).pipeline_time - without, LAYERS * again);
        pipeline.recompute_layers = 1;
        expect_near(step_of(model, &pipeline).pipeline_time - without, 2 * again);
    }
    ppsched_model_destroy(model);
}

/* --- activations on the host --- */

static void expect_refused(const ppsched_model *model, const ppsched_pipeline *pipeline, ppsched_status status,
                           const char *words)
{
    ppsched_price *price = NULL;
    ppsched_error error;
    assert_int_equal(ppsched_price_create(&price, model, pipeline, NULL, &error), status);
    assert_null(price);
    if (strstr(error.message, words) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", words, error.message);
}

/* A model whose device copies at so many bytes a second. */
static ppsched_model *copying(double bandwidth)
{
    ppsched_model *model = NULL;
    ppsched_error error;
    ppsched_accelerator device = *h100();
    device.host_bandwidth = bandwidth;
    expect_ok(model_of_shape(&model, &shape, &plain, &device, &error), &error);
    return model;
}

static double longer(double a, double b)
{
    return a > b ? a : b;
}

/* Passes last as long as their work or their copies; the layer that is copied stays. */
static void test_offload(void **state)
{
    (void)state;
    const double bandwidths[] = {1e9, 20e9, 64e9, 1e13};
    ppsched_model *model = make(&plain);
    double forward = 0, all = microbatch_of(model), layer = memory_of(model, DECODER).activations;
    for (uint32_t row = 0; row < ROWS; row++)
        forward += (row == DECODER ? LAYERS : 1) * pass_of(model, row, PPSCHED_MODEL_PASS_FORWARD).time;
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .microbatches = 3};
    double without = device_of(model, &pipeline, 0).activations;
    for (size_t i = 0; i < sizeof bandwidths / sizeof bandwidths[0]; i++)
        for (pipeline.offload_layers = 1; pipeline.offload_layers < LAYERS; pipeline.offload_layers += 3) {
            ppsched_model *copies = copying(bandwidths[i]);
            double copy = pipeline.offload_layers * layer / bandwidths[i];
            expect_near(step_of(copies, &pipeline).pipeline_time, 3 * (longer(forward, copy) + longer(all - forward, copy)));
            expect_near(device_of(copies, &pipeline, 0).activations, without - (pipeline.offload_layers - 1) * layer);
            ppsched_model_destroy(copies);
        }
    ppsched_model *none = copying(0);
    pipeline.offload_layers = 1;
    expect_refused(none, &pipeline, PPSCHED_ERROR_RANGE, "host_bandwidth");
    ppsched_model_destroy(none);
    ppsched_model_destroy(model);
}

/* In a pipeline each stage copies its own, for all microbatches that it holds; W needs what came back. */
static void test_offload_in_a_pipeline(void **state)
{
    (void)state;
    ppsched_model *model = make(&plain);
    ppsched_layer_memory decoder = memory_of(model, DECODER);
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2, .microbatches = 4};
    double without = device_of(model, &pipeline, 0).activations;
    pipeline.offload_layers = 2;
    expect_near(device_of(model, &pipeline, 0).activations, without - (2 * 2 - 1) * decoder.activations);
    pipeline = (ppsched_pipeline){.size = sizeof pipeline, .microbatches = 1, .strategy = "zb_h1"};
    double kept = 0, needed = 0;
    for (uint32_t row = 0; row < ROWS; row++) {
        kept += (row == DECODER ? LAYERS : 1) * memory_of(model, row).activations;
        needed += (row == DECODER ? LAYERS : 1) * memory_of(model, row).activations_until_weight;
    }
    for (uint32_t layers = 0; layers < LAYERS; layers++) {
        pipeline.offload_layers = layers;
        ppsched_device_price device = device_of(model, &pipeline, 0);
        double moving = layers > 0 ? decoder.activations : 0;
        expect_near(device.activations + device.logits, longer(kept - layers * decoder.activations, needed) + moving);
    }
    ppsched_model_destroy(model);
}

/* --- splits and what is refused --- */

static void test_split(void **state)
{
    (void)state;
    ppsched_model *model = make(&plain);
    const uint32_t even[] = {5, 5}, uneven[] = {6, 4}, wrong[] = {5, 6};
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2, .microbatches = 8};
    double without = step_of(model, &pipeline).step_time;
    pipeline.split = even;
    assert_true(step_of(model, &pipeline).step_time == without);
    pipeline.split = uneven;
    assert_true(step_of(model, &pipeline).step_time != without);
    pipeline.split = wrong;
    expect_refused(model, &pipeline, PPSCHED_ERROR_MISMATCH, "11");
    pipeline.split = NULL;
    pipeline.devices = 3;
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "8 decoders cannot be divided among 3 stages");
    ppsched_model_destroy(model);
}

/* 2 devices of a pipeline with 8 replicas: by the order of ranks they share a node of 8, or are in two. */
static void test_links_of_a_pipeline(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.data_parallel = 8;
    ppsched_model *model = make(&training), *without = NULL;
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2};
    const ppsched_accelerator *device = h100();
    double latency, rate;
    ppsched_error error;
    expect_ok(ppsched_model_get_pipeline_link(&latency, &rate, model, &pipeline, 0, 1, &error), &error);
    assert_true(latency == device->between.latency && rate == device->between.bandwidth * device->between.efficiency);
    pipeline.rank_order = PPSCHED_RANK_ORDER_PIPELINE_FIRST;
    expect_ok(ppsched_model_get_pipeline_link(&latency, &rate, model, &pipeline, 1, 0, &error), &error);
    assert_true(latency == device->inside.latency && rate == device->inside.bandwidth * device->inside.efficiency);
    expect_ok(ppsched_model_get_pipeline_link(NULL, NULL, model, NULL, 0, 0, &error), &error);
    assert_int_equal(ppsched_model_get_pipeline_link(NULL, NULL, model, &pipeline, 0, 2, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "there is no device 2; give less than 2");
    pipeline.rank_order = 2;
    assert_int_equal(ppsched_model_get_pipeline_link(NULL, NULL, model, &pipeline, 0, 1, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_pipeline_link(NULL, NULL, NULL, &pipeline, 0, 1, &error), PPSCHED_ERROR_ARGUMENT);
    expect_ok(model_of_shape(&without, &shape, &plain, NULL, &error), &error);
    assert_int_equal(ppsched_model_get_pipeline_link(NULL, NULL, without, NULL, 0, 0, &error), PPSCHED_ERROR_RANGE);
    ppsched_model_destroy(without);
    ppsched_model_destroy(model);
}

/* What replicas sum takes as long as in the price of the pipeline, in each order of ranks. */
static void test_update_of_a_pipeline(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.data_parallel = 8;
    ppsched_model *model = make(&training);
    double times[2];
    for (int32_t order = 0; order < 2; order++) {
        ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2, .microbatches = 4, .rank_order = order};
        ppsched_update_cost cost = {.size = sizeof cost};
        double parameters = LAYERS / 2 * memory_of(model, DECODER).parameters + memory_of(model, HEAD).parameters;
        expect_ok(ppsched_model_get_pipeline_update_cost(&cost, model, &pipeline, parameters, 0, NULL), NULL);
        expect_near(cost.gradient_time, step_of(model, &pipeline).exposed_data_parallel);
        times[order] = cost.gradient_time;
        if (order == PPSCHED_RANK_ORDER_DATA_FIRST) {
            ppsched_update_cost same = {.size = sizeof same};
            expect_ok(ppsched_model_get_update_cost(&same, model, parameters, 0, NULL), NULL);
            assert_true(same.gradient_time == cost.gradient_time && same.optimizer_time == cost.optimizer_time);
        }
    }
    assert_true(times[1] > times[0]); /* 8 replicas are in a node, or in two */
    ppsched_update_cost cost = {.size = sizeof cost};
    const ppsched_pipeline wrong = {.size = sizeof wrong, .rank_order = 2};
    assert_int_equal(ppsched_model_get_pipeline_update_cost(&cost, model, &wrong, 1, 0, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_pipeline_update_cost(&cost, model, NULL, 1, 2, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_pipeline_update_cost(&cost, NULL, NULL, 1, 0, NULL), PPSCHED_ERROR_ARGUMENT);
    ppsched_model_destroy(model);
}

/* Once a step, by the devices that hold the embedding or a copy: of a tied one the first and the last, of MTP layers theirs. */
static void test_sums_of_copies(void **state)
{
    static const struct {
        uint32_t flags, mtp, devices, chunks, copies;
        const char *strategy;
    } cases[] = {{0, 0, 4, 1, 0, "1f1b"},
                 {PPSCHED_TRANSFORMER_FLAG_TIED, 0, 1, 1, 0, "1f1b"},
                 {PPSCHED_TRANSFORMER_FLAG_TIED, 0, 4, 1, 2, "1f1b"},
                 {PPSCHED_TRANSFORMER_FLAG_TIED, 0, 2, 2, 2, "interleaved_1f1b"},
                 {PPSCHED_TRANSFORMER_FLAG_TIED, 0, 2, 2, 0, "zbv"}, /* one device has both ends */
                 {0, 1, 4, 1, 2, "1f1b"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_transformer own = shape;
        ppsched_model *model = NULL;
        ppsched_error error;
        double wanted = 0;
        own.flags |= cases[i].flags;
        own.mtp_layers = cases[i].mtp;
        expect_ok(model_of_shape(&model, &own, &plain, h100(), &error), &error);
        ppsched_pipeline pipeline = {.size = sizeof pipeline,
                                     .devices = cases[i].devices,
                                     .chunks = cases[i].chunks,
                                     .microbatches = 8,
                                     .strategy = cases[i].strategy};
        if (cases[i].copies > 0)
            expect_ok(ppsched_model_get_copies_time(&wanted, model, cases[i].copies, cases[i].devices, &error), &error);
        assert_true((wanted > 0) == (cases[i].copies > 0));
        ppsched_step_price step = step_of(model, &pipeline);
        assert_true(step.exposed_data_parallel == wanted); /* one replica has no other sums */
        pipeline.hides_copies = 1;
        ppsched_step_price hidden = step_of(model, &pipeline);
        assert_true(hidden.exposed_data_parallel == 0 && hidden.pipeline_time == step.pipeline_time);
        ppsched_model_destroy(model);
    }
}

static void test_refused(void **state)
{
    (void)state;
    ppsched_model *model = make(&plain);
    ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 2, .microbatches = 8, .strategy = "best"};
    expect_refused(model, &pipeline, PPSCHED_ERROR_UNKNOWN_STRATEGY, "best");
    pipeline.strategy = "dualpipe";
    pipeline.chunks = 1;
    expect_refused(model, &pipeline, PPSCHED_ERROR_REFUSED, "two devices");
    pipeline.strategy = NULL;
    pipeline.recompute = "none";
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "kinds are selective, modules and full");
    pipeline.recompute = "full";
    pipeline.offload_layers = 1;
    expect_refused(model, &pipeline, PPSCHED_ERROR_ARGUMENT, "recompute or offload_layers");
    pipeline.recompute = NULL;
    pipeline.offload_layers = LAYERS / 2;
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "stage 0 has 4 decoders, and one must stay; at most 3");
    pipeline.offload_layers = 0;
    pipeline.rank_order = 2;
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "rank_order is 2; it must be 0 or 1");
    pipeline.rank_order = PPSCHED_RANK_ORDER_DATA_FIRST;
    pipeline.reduce_every = 3;
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "reduce_every is 3; it must divide the 8 microbatches of a step");
    pipeline.reduce_every = 0;
    pipeline.hides_copies = 2;
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "hides_copies is 2; it must be 0 or 1");
    pipeline.hides_copies = 0;
    pipeline.pair_rule = 3;
    expect_refused(model, &pipeline, PPSCHED_ERROR_RANGE, "pair_rule");
    ppsched_model *without = NULL;
    ppsched_error error;
    expect_ok(model_of_shape(&without, &shape, &plain, NULL, &error), &error);
    pipeline.pair_rule = 0;
    expect_refused(without, &pipeline, PPSCHED_ERROR_RANGE, "accelerator");
    ppsched_device_price device = {.size = sizeof device};
    ppsched_price *price = price_of(model, &pipeline);
    assert_int_equal(ppsched_price_get_device(&device, price, 2, NULL), PPSCHED_ERROR_RANGE);
    ppsched_price_destroy(price);
    ppsched_model_destroy(without);
    ppsched_model_destroy(model);
}

/* On 2 * 4 * 4 devices, five doublings make the pipeline 5 % longer, and nothing else. */
static void test_many_devices(void **state)
{
    (void)state;
    ppsched_training training = plain;
    training.tensor_parallel = 2;
    training.data_parallel = 4;
    const ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = 4, .microbatches = 8};
    ppsched_model *alone = make(&training), *waiting = NULL;
    ppsched_accelerator device = *h100();
    device.scale_slowdown = 0.01;
    ppsched_error error;
    expect_ok(model_of_shape(&waiting, &shape, &training, &device, &error), &error);
    const ppsched_step_price before = step_of(alone, &pipeline), after = step_of(waiting, &pipeline);
    const double added = 0.05 * before.pipeline_time;
    assert_true(fabs(after.pipeline_time - before.pipeline_time - added) < 1e-12 * before.pipeline_time);
    assert_true(fabs(after.exposed_pipeline - before.exposed_pipeline - added) < 1e-12 * before.pipeline_time);
    assert_true(fabs(after.step_time - before.step_time - added) < 1e-12 * before.pipeline_time);
    assert_true(after.exposed_data_parallel == before.exposed_data_parallel && after.optimizer_time == before.optimizer_time);
    ppsched_model_destroy(waiting);
    device.scale_slowdown = 1.5;
    assert_int_equal(model_of_shape(&waiting, &shape, &training, &device, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "scale_slowdown is 1.5"));
    ppsched_model_destroy(alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_device),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_many_devices),
                                       cmocka_unit_test(test_chunks),
                                       cmocka_unit_test(test_exposed),
                                       cmocka_unit_test(test_exposed_in_a_pipeline),
                                       cmocka_unit_test(test_several_runs),
                                       cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_gathered),
                                       cmocka_unit_test(test_recompute),
                                       cmocka_unit_test(test_offload),
                                       cmocka_unit_test(test_offload_in_a_pipeline),
                                       cmocka_unit_test(test_split),
                                       cmocka_unit_test(test_links_of_a_pipeline),
                                       cmocka_unit_test(test_update_of_a_pipeline),
                                       cmocka_unit_test(test_sums_of_copies),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests_name("price", tests, NULL, NULL);
}
