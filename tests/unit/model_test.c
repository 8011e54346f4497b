/* SPDX-License-Identifier: Apache-2.0 */
/* Models in C: messages, defaults, accelerators, lists of layers, and sums that must agree. What others compute of the same
 * models is held in tests/layers. */
#include "support/model.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const ppsched_transformer small = {.size = sizeof small,
                                          .layers = 6,
                                          .hidden_size = 64,
                                          .ffn_size = 256,
                                          .heads = 8,
                                          .key_value_heads = 2,
                                          .vocabulary_size = 1024};
static const ppsched_training plain = {.size = sizeof plain, .sequence_length = 128, .micro_batch_size = 2};

static ppsched_model *make(const ppsched_transformer *shape, const ppsched_training *training)
{
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(model_of_shape(&model, shape, training, ppsched_accelerator_at(0), &error), &error);
    return model;
}

static ppsched_transformer with_experts(void)
{
    ppsched_transformer shape = small;
    shape.flags = PPSCHED_TRANSFORMER_FLAG_GATED;
    shape.experts = 16;
    shape.experts_per_token = 4;
    shape.expert_ffn_size = 32;
    shape.shared_ffn_size = 64;
    shape.dense_layers = 2;
    return shape;
}

/* --- what is refused --- */

static void expect_refused(const ppsched_transformer *shape, const ppsched_training *training,
                           const ppsched_accelerator *device, const char *part)
{
    ppsched_model *model = NULL;
    ppsched_error error = {.message = ""};
    assert_int_equal(model_of_shape(&model, shape, training, device, &error), PPSCHED_ERROR_RANGE);
    assert_null(model);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, error.message);
}

/* The last of two shapes: `field` of a small one is `value`. */
#define BAD_SHAPE(field, value, part)                                                                                          \
    do {                                                                                                                       \
        ppsched_transformer shape = small;                                                                                     \
        shape.field = (value);                                                                                                 \
        expect_refused(&shape, &plain, NULL, part);                                                                            \
    } while (0)
#define BAD_EXPERTS(field, value, part)                                                                                        \
    do {                                                                                                                       \
        ppsched_transformer shape = with_experts();                                                                            \
        shape.field = (value);                                                                                                 \
        expect_refused(&shape, &plain, NULL, part);                                                                            \
    } while (0)
#define BAD_TRAINING(field, value, part)                                                                                       \
    do {                                                                                                                       \
        const ppsched_transformer shape = with_experts();                                                                      \
        ppsched_training training = plain;                                                                                     \
        training.field = (value);                                                                                              \
        expect_refused(&shape, &training, NULL, part);                                                                         \
    } while (0)
#define BAD_DEVICE(field, value, part)                                                                                         \
    do {                                                                                                                       \
        ppsched_accelerator device = *ppsched_accelerator_at(1);                                                               \
        device.field = (value);                                                                                                \
        expect_refused(&small, &plain, &device, part);                                                                         \
    } while (0)

static void test_shapes(void **state)
{
    (void)state;
    BAD_SHAPE(layers, 0, "layers is 0; it must be 1 to");
    BAD_SHAPE(hidden_size, 0, "hidden_size is 0");
    BAD_SHAPE(heads, 0, "heads is 0");
    BAD_SHAPE(heads, 7, "heads 7 does not divide 64 of hidden_size");
    BAD_SHAPE(key_value_heads, 3, "key_value_heads 3 does not divide 8 heads; 2 and 4 do");
    BAD_SHAPE(key_value_heads, 9, "key_value_heads is 9; it must be 0 to 8");
    BAD_SHAPE(ffn_size, 0, "ffn_size is 0, but 6 layers without experts need it");
    BAD_SHAPE(vocabulary_size, 0, "vocabulary_size is 0");
    BAD_SHAPE(query_rank, 8, "needs key_value_rank too");
    BAD_SHAPE(key_value_rank, 8, "value_head_size is 0");
    BAD_SHAPE(expert_ffn_size, 8, "experts is 0");
    BAD_SHAPE(mtp_layers, 33, "mtp_layers is 33");
    BAD_SHAPE(flags, 1u << 20, "flags of the transformer");
    BAD_SHAPE(reserved[0], 1, "reserved[0] is 1");
    BAD_SHAPE(reserved[1], 1, "reserved[1] is 1");
    BAD_SHAPE(positions, (1u << 24) + 1, "positions is");
    BAD_EXPERTS(experts_per_token, 17, "experts_per_token is 17; it must be 1 to 16");
    BAD_EXPERTS(expert_ffn_size, 0, "expert_ffn_size is 0");
    BAD_EXPERTS(dense_layers, 7, "dense_layers is 7; it must be 0 to 6");
    BAD_EXPERTS(expert_layers, (const uint8_t[]){0}, "must then be 0"); /* dense_layers is 2 */
    ppsched_transformer listed = with_experts(), none = small;
    listed.dense_layers = 0, listed.expert_layers = (const uint8_t[]){0, 1, 0, 2, 1, 1};
    expect_refused(&listed, &plain, NULL, "expert_layers: entry 3 is 2; it must be 0 or 1");
    none.expert_layers = listed.expert_layers;
    expect_refused(&none, &plain, NULL, "expert_layers: entry 1 is 1; it must be 0, as there are no experts");
    ppsched_transformer huge = small;
    huge.layers = 65000;
    huge.hidden_size = huge.ffn_size = 1 << 20;
    expect_refused(&huge, &plain, NULL, "less than 2^53");
}

/* Layers of 2 h f + h (a + 2 k) d + a d h + 2 h parameters, and two vocabularies, up to 2^53. */
static void test_largest_model(void **state)
{
    ppsched_transformer shape = small;
    const double hidden = 1 << 20, width = 8 * (hidden / 8);
    const double layer = 2 * hidden * hidden + hidden * width * (1 + 2 * 2.0 / 8) + width * hidden + 2 * hidden;
    const uint32_t most = (uint32_t)((9007199254740992.0 - 2 * hidden * 1024 - hidden) / layer);
    (void)state;
    shape.hidden_size = shape.ffn_size = 1 << 20;
    shape.layers = most;
    ppsched_model_destroy(make(&shape, &plain));
    shape.layers = most + 1;
    expect_refused(&shape, &plain, NULL, "less than 2^53");
}

static void test_trainings(void **state)
{
    (void)state;
    BAD_TRAINING(tensor_parallel, 3, "tensor_parallel 3 does not divide 8 heads; 2 and 4 do");
    BAD_TRAINING(tensor_parallel, 16, "tensor_parallel 16 does not divide 8 heads; 8 does");
    BAD_TRAINING(context_parallel, 3, "context_parallel 3 does not divide 128 of sequence_length");
    BAD_TRAINING(expert_parallel, 5, "expert_parallel 5 does not divide 16 experts; 4 and 8 do");
    BAD_TRAINING(expert_parallel, 4,
                 "must divide the 1 device of tensor, context and data parallelism; expert_parallel 1 would do");
    BAD_TRAINING(expert_tensor_parallel, 5, "expert_tensor_parallel 5 does not divide 32");
    BAD_TRAINING(expert_parallel, 24, "expert_parallel 24 does not divide 16 experts; 16 does");
    BAD_TRAINING(expert_tensor_parallel, 33, "expert_tensor_parallel 33 does not divide 32 of expert_ffn_size; 32 does");
    BAD_TRAINING(sharding, 4, "sharding is 4; it must be 0 to 3");
    BAD_TRAINING(flags, 65536, "flags of the training");
    BAD_TRAINING(expert_load, 0.5, "expert_load is 0.5; it must be 1 to");
    BAD_TRAINING(expert_load, NAN, "expert_load is");
    BAD_TRAINING(recompute_modules, 64, "recompute_modules is 64; it must be 0 to 63");
    BAD_TRAINING(weight_bytes, -1, "weight_bytes is -1");
    BAD_TRAINING(gradient_bytes, NAN, "gradient_bytes is");
    BAD_TRAINING(optimizer_bytes, 2000, "optimizer_bytes is 2000");
    BAD_TRAINING(activation_bytes, INFINITY, "activation_bytes is Infinity");
    const ppsched_transformer experts = with_experts();
    ppsched_training divided = plain;
    divided.expert_parallel = 4, divided.expert_tensor_parallel = 2;
    expect_refused(&experts, &divided, NULL,
                   "expert_parallel 4 times expert_tensor_parallel 2 must divide the 1 device of tensor, context and data "
                   "parallelism");
    divided.data_parallel = 4;
    expect_refused(&experts, &divided, NULL,
                   "the 4 devices of tensor, context and data parallelism; expert_tensor_parallel 1 would do");
    divided.data_parallel = 3;
    divided.expert_tensor_parallel = 1;
    expect_refused(&experts, &divided, NULL,
                   "the 3 devices of tensor, context and data parallelism; expert_parallel 1 would do");
    divided = plain;
    divided.expert_parallel = 2;
    expect_refused(&small, &divided, NULL, "the model has no experts; leave it out");
    divided.expert_parallel = 1, divided.expert_load = 1.5;
    expect_refused(&small, &divided, NULL, "expert_load is 1.5, and the model has no experts; leave it out");
    ppsched_transformer grouped = small;
    grouped.heads = 12, grouped.head_size = 8, grouped.key_value_heads = 4;
    divided = plain;
    divided.tensor_parallel = 6;
    expect_refused(&grouped, &divided, NULL, "neither divides 4 key_value_heads nor is a multiple");
    grouped = small;
    grouped.ffn_size = 250;
    divided.tensor_parallel = 4;
    expect_refused(&grouped, &divided, NULL, "tensor_parallel 4 does not divide 250 of ffn_size; 2 does");
}

static void test_devices(void **state)
{
    static const ppsched_efficiency above_1[] = {{0, 1.5}}, up[] = {{0, 0.5}, {10, 1}};
    ppsched_model *model = NULL;
    (void)state;
    BAD_DEVICE(matrix_rate, 0, "matrix_rate is 0; it must be above 0");
    BAD_DEVICE(memory_bandwidth, NAN, "memory_bandwidth is");
    BAD_DEVICE(inside.bandwidth, -1, "inside.bandwidth is -1");
    BAD_DEVICE(between.latency, -1, "link between the node");
    BAD_DEVICE(inside.efficiency, 2, "link inside the node");
    BAD_DEVICE(matrix_efficiency, above_1, "matrix_efficiency: share 0 is 1.5");
    ppsched_accelerator device = *ppsched_accelerator_at(1);
    device.vector_efficiency = up;
    device.vector_efficiency_count = 2;
    expect_refused(&small, &plain, &device, "`least` 1 is 10; values must decrease");
    device.vector_efficiency = NULL;
    assert_int_equal(model_of_shape(&model, &small, &plain, &device, NULL), PPSCHED_ERROR_ARGUMENT);
}

static void test_calls(void **state)
{
    ppsched_model *model = make(&small, &plain);
    ppsched_pass_cost cost = {.size = sizeof cost};
    ppsched_layer_memory memory = {.size = sizeof memory};
    ppsched_update_cost update = {.size = sizeof update};
    const double factors[] = {0, 0, 0, 0, -1, 0};
    ppsched_calibration calibration = {.size = sizeof calibration, .rows = 2, .factors = factors};
    ppsched_megatron_memory megatron = {.size = sizeof megatron};
    const ppsched_megatron_pipeline none = {.size = sizeof none}, odd = {.size = sizeof odd, .devices = 1, .selective = 2};
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(model_of_shape(NULL, &small, NULL, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_model_create(&model, NULL, NULL, NULL, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_model_get_pass_cost(&cost, model, 5, 0, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "row is 5; the model has rows 0 to 2"));
    assert_int_equal(ppsched_model_get_pass_cost(&cost, model, 1, -1, &error), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_memory(&memory, model, 3, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_update_cost(&update, model, 1, 2, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_layers_from_model(&layers, model, &calibration, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "decoder, pass 1, is -1"));
    assert_int_equal(ppsched_model_get_megatron_memory(&megatron, model, &none, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_megatron_memory(&megatron, model, &odd, NULL), PPSCHED_ERROR_RANGE);
    assert_int_equal(ppsched_model_get_parameters(NULL, model, NULL), PPSCHED_ERROR_ARGUMENT);
    ppsched_model_destroy(model);
    ppsched_model_destroy(NULL);
    expect_ok(model_of_shape(&model, &small, NULL, NULL, NULL), NULL);
    assert_int_equal(ppsched_layers_from_model(&layers, model, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_non_null(strstr(error.message, "with an accelerator"));
    ppsched_model_destroy(model);
}

/* --- what is right --- */

static void test_accelerators(void **state)
{
    (void)state;
    assert_true(ppsched_accelerator_count() > 0);
    assert_null(ppsched_accelerator_at(ppsched_accelerator_count()));
    for (uint32_t i = 0; i < ppsched_accelerator_count(); i++) {
        const ppsched_accelerator *device = ppsched_accelerator_at(i);
        ppsched_model *model = NULL;
        assert_true(device->name != NULL && device->matrix_rate > device->vector_rate && device->memory >= 32e9);
        assert_true(device->inside.bandwidth > device->between.bandwidth && device->node_devices % 8 == 0);
        ppsched_training training = plain;
        training.precision = PPSCHED_PRECISION_FP16;
        expect_ok(model_of_shape(&model, &small, &training, device, NULL), NULL);
        ppsched_model_destroy(model);
    }
}

static ppsched_layer_memory memory_at(const ppsched_model *model, uint32_t row)
{
    ppsched_layer_memory memory = {.size = sizeof memory};
    expect_ok(ppsched_model_get_memory(&memory, model, row, NULL), NULL);
    return memory;
}

static ppsched_pass_cost cost_at(const ppsched_model *model, uint32_t row, int32_t pass)
{
    ppsched_pass_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_pass_cost(&cost, model, row, pass, NULL), NULL);
    return cost;
}

/* What grows with the square of the length is counted from two models, of which one has sequences twice as long. */
static void test_attention_share(void **state)
{
    ppsched_training training = plain, longer = plain;
    ppsched_accelerator device = *ppsched_accelerator_at(0);
    ppsched_error error;
    (void)state;
    longer.sequence_length *= 2;
    for (uint32_t causal = 0; causal < 2; causal++) {
        ppsched_transformer shape = small;
        shape.flags = causal ? PPSCHED_TRANSFORMER_FLAG_CAUSAL : 0;
        ppsched_model *model = NULL, *twice = NULL;
        expect_ok(model_of_shape(&model, &shape, &training, &device, NULL), NULL);
        expect_ok(model_of_shape(&twice, &shape, &longer, &device, NULL), NULL);
        for (uint32_t row = 0; row < ppsched_model_row_count(model); row++)
            for (int32_t pass = 0; pass < 3; pass++) {
                const ppsched_pass_cost once = cost_at(model, row, pass), then = cost_at(twice, row, pass);
                const double counts[] = {once.matrix_operations, once.vector_operations, once.memory_bytes};
                const double thens[] = {then.matrix_operations, then.vector_operations, then.memory_bytes};
                const double times[] = {once.matrix_time, once.vector_time, once.memory_time};
                double found = -1, wanted = 0;
                for (int part = 0; part < 3 && causal; part++)
                    wanted += counts[part] > 0 ? fmax(thens[part] / 2 / counts[part] - 1, 0) * times[part] : 0;
                expect_ok(ppsched_model_get_attention_share(&found, model, row, pass, NULL), NULL);
                assert_true(fabs(found * once.time - wanted) <= 1e-12 * once.time);
                bool has_attention = causal && row == 1 && pass != PPSCHED_MODEL_PASS_WEIGHT;
                assert_true((found > 0) == has_attention);
            }
        double out = 3;
        assert_int_equal(ppsched_model_get_attention_share(&out, model, 9, 0, &error), PPSCHED_ERROR_RANGE);
        assert_int_equal(ppsched_model_get_attention_share(&out, model, 1, 6, &error), PPSCHED_ERROR_RANGE);
        assert_non_null(strstr(error.message, "pass is 6"));
        assert_int_equal(ppsched_model_get_attention_share(NULL, model, 1, 0, &error), PPSCHED_ERROR_ARGUMENT);
        assert_true(out == 3);
        ppsched_model_destroy(model);
        ppsched_model_destroy(twice);
    }
}

/* Zero is the default, told or not. */
static void test_defaults(void **state)
{
    ppsched_training told = plain;
    ppsched_transformer same = small;
    (void)state;
    told.tensor_parallel = told.context_parallel = told.expert_parallel = told.expert_tensor_parallel = 1;
    told.data_parallel = 1;
    told.weight_bytes = told.activation_bytes = 2, told.gradient_bytes = 4, told.optimizer_bytes = 12;
    same.head_size = 8, same.expert_interval = 1;
    ppsched_model *model = make(&small, &plain), *other = make(&same, &told);
    for (uint32_t row = 0; row < ppsched_model_row_count(model); row++) {
        const ppsched_layer_memory memory = memory_at(model, row), others = memory_at(other, row);
        assert_memory_equal(&memory, &others, sizeof memory);
        assert_true(memory.weights == 2 * memory.parameters && memory.optimizer == 12 * memory.parameters);
    }
    ppsched_model_destroy(model);
    ppsched_model_destroy(other);
}

/* Korthikanti et al., equation 1: T h (34 + 5 a s / h), here with 2 of 8 heads for keys and values alone. */
static void test_activations(void **state)
{
    ppsched_transformer shape = small;
    ppsched_training training = plain;
    const double tokens = 256, hidden = 64;
    (void)state;
    shape.key_value_heads = 0;
    shape.flags = PPSCHED_TRANSFORMER_FLAG_DROPOUT;
    training.flags = PPSCHED_TRAINING_FLAG_KEEPS_SCORES;
    ppsched_model *model = make(&shape, &training);
    const ppsched_layer_memory memory = memory_of_row(model, "decoder");
    assert_true(memory.activations == tokens * hidden * (34 + 5.0 * 8 * 128 / hidden));
    assert_true(memory.selective == tokens * hidden * 34 && memory.full == tokens * hidden * 2);
    ppsched_model_destroy(model);
    training.flags |= PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL;
    training.tensor_parallel = 4;
    model = make(&shape, &training);
    assert_true(memory_of_row(model, "decoder").activations == memory.activations / 4);
    ppsched_model_destroy(model);
}

static void expect_sums(const ppsched_model *model)
{
    for (uint32_t row = 0; row < ppsched_model_row_count(model); row++) {
        const ppsched_layer_memory memory = memory_at(model, row);
        assert_true(memory.full <= memory.activations && memory.activations_until_weight <= memory.activations);
        for (int32_t pass = 0; pass < 5; pass++) {
            const ppsched_pass_cost cost = cost_at(model, row, pass);
            assert_true(cost.time >= 0 && isfinite(cost.time));
            assert_true(cost.time ==
                        cost.matrix_time + cost.vector_time + cost.memory_time + cost.communication_time + cost.launch_time);
        }
        assert_true(cost_at(model, row, PPSCHED_MODEL_PASS_FULL).time == cost_at(model, row, PPSCHED_MODEL_PASS_FORWARD).time);
    }
}

/* Devices that share experts and heads hold all of them together. */
static void test_divided_models(void **state)
{
    ppsched_transformer shape = with_experts();
    ppsched_training training = plain;
    (void)state;
    ppsched_model *whole = make(&shape, &training);
    training.tensor_parallel = 2, training.data_parallel = 4, training.expert_parallel = 8;
    training.expert_tensor_parallel = 1;
    training.flags = PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL;
    ppsched_model *part = make(&shape, &training);
    const ppsched_layer_memory all = memory_of_row(whole, "moe_decoder"), own = memory_of_row(part, "moe_decoder");
    assert_true(own.expert_parameters == all.expert_parameters / 8);
    assert_true(own.parameters > (all.parameters - all.expert_parameters) / 2 + own.expert_parameters);
    assert_true(cost_of_row(part, "moe_decoder", PPSCHED_MODEL_PASS_FORWARD).communication_time > 0);
    assert_true(cost_of_row(whole, "moe_decoder", PPSCHED_MODEL_PASS_FORWARD).communication_time == 0);
    expect_sums(whole);
    expect_sums(part);
    ppsched_model_destroy(part);
    training.sharding = 3;
    part = make(&shape, &training);
    const ppsched_layer_memory sharded = memory_of_row(part, "decoder");
    assert_true(sharded.weights == 2 * sharded.parameters / 4 && sharded.optimizer == 12 * sharded.parameters / 4);
    ppsched_model_destroy(part);
    ppsched_model_destroy(whole);
}

/* Copies of rows go to 8 experts' devices, two to an expert: what one and a half of them have goes inside a node of three, the
 * rest between nodes; with nodes of two all but a device's own leaves it. */
static void test_exchanges(void **state)
{
    const ppsched_transformer shape = with_experts();
    ppsched_accelerator device = *ppsched_accelerator_at(0);
    ppsched_training training = plain;
    double times[2];
    (void)state;
    training.data_parallel = 16, training.expert_parallel = 8, training.expert_tensor_parallel = 2;
    device.inside = (ppsched_link_rate){.bandwidth = 1e9, .latency = 0.25};
    device.between = (ppsched_link_rate){.bandwidth = 1e8, .latency = 2};
    for (uint32_t nodes = 2; nodes < 4; nodes++) {
        ppsched_model *model = NULL;
        device.node_devices = nodes;
        expect_ok(model_of_shape(&model, &shape, &training, &device, NULL), NULL);
        times[nodes - 2] = cost_of_row(model, "moe_decoder", PPSCHED_MODEL_PASS_FORWARD).communication_time;
        ppsched_model_destroy(model);
    }
    const double bytes = 256.0 * 4 * 64 * 2; /* 256 tokens, each to 4 experts */
    const double more = 0.25 + bytes * (0.5 / 8) / 1e9 - bytes * (0.5 / 8) / 1e8;
    assert_true(fabs(times[1] - times[0] - 2 * more) < 1e-9); /* there and back */
}

/* Two devices that divide each expert gather the rows of both, and sum and scatter what comes of them. */
static void test_divided_experts(void **state)
{
    const ppsched_transformer shape = with_experts();
    ppsched_training training = plain;
    (void)state;
    training.data_parallel = 2, training.expert_tensor_parallel = 2;
    ppsched_model *model = make(&shape, &training);
    const double rows = 2 * 256.0 * 4; /* 256 tokens of each device, each to 4 experts */
    for (int32_t pass = PPSCHED_MODEL_PASS_FORWARD; pass <= PPSCHED_MODEL_PASS_INPUT; pass++)
        assert_true(cost_of_row(model, "moe_decoder", pass).communication_bytes == 2 * rows * 64 * 2);
    ppsched_model_destroy(model);
}

static void test_latent_attention(void **state)
{
    ppsched_transformer shape = with_experts();
    ppsched_parameters count = {.size = sizeof count};
    (void)state;
    shape.query_rank = 16, shape.key_value_rank = 8, shape.head_size = 8, shape.rope_head_size = 4, shape.value_head_size = 6;
    ppsched_model *model = make(&shape, &plain);
    expect_ok(ppsched_model_get_parameters(&count, model, NULL), NULL);
    /* q down, norm, up; kv down, norm, up; out; two norms of the layer */
    const ppsched_model_row row = row_called(model, "moe_decoder", NULL);
    assert_int_equal(row.mixers + row.norms, 64 * 16 + 16 + 16 * 8 * 12 + 64 * 12 + 8 + 8 * 8 * 14 + 8 * 6 * 64 + 128);
    assert_int_equal(count.total - count.active, 4 * 12 * 3 * 64 * 32);
    expect_sums(model);
    ppsched_model_destroy(model);
    shape.flags |= PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS;
    model = make(&shape, &plain);
    assert_int_equal(row.mixers - row_called(model, "moe_decoder", NULL).mixers, 16 + 8);
    expect_sums(model);
    ppsched_model_destroy(model);
}

/* Half of the scores; parts that context parallelism divides. */
static void test_causal_and_context(void **state)
{
    ppsched_transformer shape = small;
    ppsched_training training = plain;
    (void)state;
    ppsched_model *whole = make(&shape, &training);
    shape.flags = PPSCHED_TRANSFORMER_FLAG_CAUSAL;
    ppsched_model *causal = make(&shape, &training);
    training.context_parallel = 4;
    ppsched_model *part = make(&shape, &training);
    const double scores = 2.0 * 256 * 128 * 64 * 2; /* both products */
    const ppsched_pass_cost a = cost_of_row(whole, "decoder", 0), b = cost_of_row(causal, "decoder", 0),
                            c = cost_of_row(part, "decoder", 0);
    assert_true(a.matrix_operations - b.matrix_operations == scores / 2 && c.matrix_operations == b.matrix_operations / 4);
    assert_true(cost_of_row(whole, "decoder", 1).matrix_operations - cost_of_row(causal, "decoder", 1).matrix_operations ==
                2.5 * scores / 2);
    assert_true(c.communication_bytes == 256.0 * 2 * 16 * 2); /* keys and values of all, of 2 heads of 8 */
    ppsched_model_destroy(whole);
    ppsched_model_destroy(causal);
    ppsched_model_destroy(part);
}

/* --- layers --- */

static void expect_entry(const ppsched_layers *layers, uint32_t number, const char *name, uint32_t count, int32_t place)
{
    ppsched_layer entry = {.size = sizeof entry};
    expect_ok(ppsched_layers_get_entry(&entry, layers, number, NULL), NULL);
    assert_string_equal(entry.name, name);
    assert_int_equal(entry.count, count);
    assert_int_equal(entry.place, place);
    assert_true(entry.mem_forward + entry.mem_backward_input + entry.mem_backward_weight == 0);
}

static void test_layers(void **state)
{
    ppsched_transformer shape = with_experts();
    const ppsched_layers *layers = NULL;
    ppsched_layer entry = {.size = sizeof entry};
    (void)state;
    shape.mtp_layers = 1;
    shape.flags |= PPSCHED_TRANSFORMER_FLAG_TIED;
    ppsched_model *model = make(&shape, &plain);
    expect_ok(ppsched_layers_from_model(&layers, model, NULL, NULL), NULL);
    ppsched_model_destroy(model);
    assert_int_equal(ppsched_layers_count(layers), 9);
    assert_int_equal(ppsched_layers_entries(layers), 5);
    expect_entry(layers, 0, "embedding", 1, PPSCHED_LAYER_PLACE_FIRST);
    expect_entry(layers, 1, "decoder", 2, PPSCHED_LAYER_PLACE_ANY);
    expect_entry(layers, 2, "moe_decoder", 4, PPSCHED_LAYER_PLACE_ANY);
    expect_entry(layers, 3, "mtp", 1, PPSCHED_LAYER_PLACE_ANY);
    expect_entry(layers, 4, "head", 1, PPSCHED_LAYER_PLACE_LAST);
    expect_ok(ppsched_layers_get_entry(&entry, layers, 0, NULL), NULL);
    assert_int_equal(entry.flags, PPSCHED_LAYER_FLAG_TIED);
    expect_ok(ppsched_layers_get_entry(&entry, layers, 3, NULL), NULL);
    assert_int_equal(entry.flags, PPSCHED_LAYER_FLAG_COPIES_EMBEDDING);
    ppsched_layers_release(layers);
    shape.dense_layers = 0, shape.expert_interval = 2, shape.mtp_layers = 0;
    model = make(&shape, &plain);
    expect_ok(ppsched_layers_from_model(&layers, model, NULL, NULL), NULL);
    assert_int_equal(ppsched_layers_entries(layers), 8); /* experts and none in turns */
    expect_entry(layers, 1, "moe_decoder", 1, PPSCHED_LAYER_PLACE_ANY);
    ppsched_layers_release(layers);
    ppsched_model_destroy(model);
}

/* Of each layer by itself: what a model is made of may go, and is told as that by numbers is. */
static void test_any_expert_layers(void **state)
{
    ppsched_transformer shape = with_experts();
    uint8_t list[] = {1, 1, 0, 1, 0, 0};
    ppsched_parameters count = {.size = sizeof count}, other = {.size = sizeof other};
    const ppsched_layers *layers = NULL;
    (void)state;
    shape.dense_layers = shape.expert_interval = shape.expert_offset = 0, shape.expert_layers = list;
    ppsched_model *model = make(&shape, &plain);
    memset(list, 7, sizeof list);
    expect_ok(ppsched_model_get_parameters(&count, model, NULL), NULL);
    assert_int_equal(row_called(model, "moe_decoder", NULL).layers, 3);
    assert_int_equal(row_called(model, "decoder", NULL).layers, 3);
    expect_ok(ppsched_layers_from_model(&layers, model, NULL, NULL), NULL);
    expect_entry(layers, 1, "moe_decoder", 2, PPSCHED_LAYER_PLACE_ANY);
    expect_entry(layers, 2, "decoder", 1, PPSCHED_LAYER_PLACE_ANY);
    expect_entry(layers, 3, "moe_decoder", 1, PPSCHED_LAYER_PLACE_ANY);
    expect_entry(layers, 4, "decoder", 2, PPSCHED_LAYER_PLACE_ANY);
    ppsched_layers_release(layers);
    ppsched_model_destroy(model);
    memcpy(list, (uint8_t[]){0, 0, 1, 1, 1, 1}, sizeof list);
    model = make(&shape, &plain);
    expect_ok(ppsched_model_get_parameters(&count, model, NULL), NULL);
    ppsched_model_destroy(model);
    shape.expert_layers = NULL, shape.dense_layers = 2;
    model = make(&shape, &plain);
    expect_ok(ppsched_model_get_parameters(&other, model, NULL), NULL);
    assert_memory_equal(&count, &other, sizeof count);
    ppsched_model_destroy(model);
}

/* 1,000 parameters for 8 replicas of data and context, 600 of experts for 4; 8 of these 16 devices are in a node. */
static void expect_update(uint32_t sharding, double bytes, double reduced)
{
    const ppsched_accelerator device = {
        .size = sizeof device,
        .node_devices = 8,
        .matrix_rate = 1e6,
        .vector_rate = 1e6,
        .memory_bandwidth = 100,
        .memory = 1e9,
        .inside = {.bandwidth = 1e9},
        .between = {.bandwidth = 20, .efficiency = 0.5, .latency = 3, .all_reduce = 1.5, .all_gather = 1.25}};
    const ppsched_transformer shape = with_experts();
    ppsched_training training = plain;
    ppsched_update_cost cost = {.size = sizeof cost};
    ppsched_error error;
    ppsched_model *model = NULL;
    training.tensor_parallel = training.data_parallel = 2;
    training.context_parallel = training.expert_parallel = 4;
    training.expert_tensor_parallel = 1;
    training.sharding = sharding;
    training.weight_bytes = 1;
    training.gradient_bytes = 4;
    training.optimizer_bytes = 16;
    expect_ok(model_of_shape(&model, &shape, &training, &device, &error), &error);
    expect_ok(ppsched_model_get_update_cost(&cost, model, 1600, 600, NULL), NULL);
    assert_float_equal(cost.optimizer_time, bytes / 100, 1e-9);
    assert_float_equal(cost.reduce_time, reduced, 1e-9);
    ppsched_model_destroy(model);
}

/* All gradients are summed; sharded they are scattered and the weights gathered, twice where these are sharded too. */
static void test_updates(void **state)
{
    const double common = 7.0 / 8 * 1000 / 10, experts = 3.0 / 4 * 600 / 10; /* a byte of each, over the link between nodes */
    (void)state;
    expect_update(0, 1600 * 37, 2 * 3 + 2 * 1.5 * 4 * (common + experts));
    expect_update(1, (1000 / 8.0 + 600 / 4.0) * 37, 4 * 3 + 1.25 * (4 + 1) * (common + experts));
    expect_update(2, (1000 / 8.0 + 600 / 4.0) * 37, 4 * 3 + 1.25 * (4 + 1) * (common + experts));
    expect_update(3, (1000 / 8.0 + 600 / 4.0) * 37, 6 * 3 + 1.25 * (4 + 2) * (common + experts));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_largest_model),
        cmocka_unit_test(test_trainings),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_accelerators),
        cmocka_unit_test(test_attention_share),
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_activations),
        cmocka_unit_test(test_divided_models),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_divided_experts),
        cmocka_unit_test(test_latent_attention),
        cmocka_unit_test(test_causal_and_context),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_any_expert_layers),
        cmocka_unit_test(test_updates),
    };
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
