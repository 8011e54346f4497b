/* SPDX-License-Identifier: Apache-2.0 */
/* What of a pass's time follows from precision, overlap, ports, the host, modules and frozen weights: each alone, against the
 * costs without it. */
#include "support/model.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static const ppsched_transformer shape = {.size = sizeof shape,
                                          .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
                                          .layers = 4,
                                          .hidden_size = 1024,
                                          .ffn_size = 4096,
                                          .heads = 16,
                                          .vocabulary_size = 32000};
static const ppsched_training plain = {.size = sizeof plain, .sequence_length = 4096, .micro_batch_size = 2};

/* Efficiencies of 1, so that times are amounts over rates. */
static ppsched_accelerator flat(void)
{
    return (ppsched_accelerator){.size = sizeof(ppsched_accelerator),
                                 .node_devices = 8,
                                 .matrix_rate = 1e14,
                                 .rate_8bit = 2e14,
                                 .rate_4bit = 4e14,
                                 .vector_rate = 1e13,
                                 .memory_bandwidth = 1e12,
                                 .memory = 80e9,
                                 .inside = {.bandwidth = 1e11, .latency = 1e-5},
                                 .between = {.bandwidth = 1e10, .latency = 2e-5}};
}

static ppsched_model *make(const ppsched_transformer *of, const ppsched_training *training, const ppsched_accelerator *device)
{
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(model_of_shape(&model, of, training, device, &error), &error);
    return model;
}

static ppsched_pass_cost cost_of(const ppsched_transformer *of, const ppsched_training *training,
                                 const ppsched_accelerator *device, uint32_t row, int32_t pass)
{
    ppsched_model *model = make(of, training, device);
    ppsched_pass_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_pass_cost(&cost, model, row, pass, NULL), NULL);
    ppsched_model_destroy(model);
    return cost;
}

static void expect_near(double found, double wanted)
{
    if (fabs(found - wanted) > 1e-9 * fabs(wanted))
        fail_msg("%.12g is not %.12g", found, wanted);
}

enum { DECODER = 1, HEAD = 2 };

static void test_precision(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    const double tokens = 8192, h = 1024, f = 4096, linear = 2 * tokens * (4 * h * h + 3 * h * f);
    const double scores = 2 * tokens * 4096 / 2 * 2 * h; /* causal: half */
    (void)state;
    ppsched_pass_cost cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.matrix_time, (linear + scores) / 1e14);
    const double memory = cost.memory_time;
    training.precision = PPSCHED_PRECISION_FP8;
    device.matrix_share = 0.5, device.attention_share = 0.25, device.fp8_share = 0.8;
    cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.matrix_time, linear / (2e14 * 0.5 * 0.8) + scores / (1e14 * 0.25));
    /* Inputs of the matrices of queries, of keys, of values, of the projection, of gate and up in one, and of down. */
    expect_near(cost.memory_time - memory, 4 * tokens * (3 * h + h + h + f) / 1e12);
    training.precision = PPSCHED_PRECISION_NVFP4;
    device.nvfp4_share = 0.5;
    cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.matrix_time, linear / (4e14 * 0.5 * 0.5) + scores / (1e14 * 0.25));
    training.precision = PPSCHED_PRECISION_MXFP8;
    device.mxfp8_share = 0.9;
    training.flags |= PPSCHED_TRAINING_FLAG_ATTENTION_8BIT;
    cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.matrix_time, linear / (2e14 * 0.5 * 0.9) + scores / (2e14 * 0.25));
    /* The head stays in 16 bits. */
    cost = cost_of(&shape, &training, &device, HEAD, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.matrix_time, 2 * tokens * h * 32000 / (1e14 * 0.5));
}

/* Linear layers keep their inputs in 8 or 4 bits, with scales; norms and the attention's products keep theirs in 16. */
static void test_memory_by_precision(void **state)
{
    const struct {
        int32_t precision;
        double bytes;
    } cases[] = {{PPSCHED_PRECISION_FP16, 2},
                 {PPSCHED_PRECISION_FP8, 1},
                 {PPSCHED_PRECISION_MXFP8, 1.03125},
                 {PPSCHED_PRECISION_NVFP4, 0.5625}};
    ppsched_accelerator device = flat();
    const double tokens = 8192, inputs = tokens * (3 * 1024 + 4096);
    double plainly = 0;
    (void)state;
    device.mxfp8_share = 1;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_training training = plain;
        training.precision = cases[i].precision;
        ppsched_layer_memory memory = {.size = sizeof memory};
        ppsched_model *model = make(&shape, &training, &device);
        expect_ok(ppsched_model_get_memory(&memory, model, DECODER, NULL), NULL);
        plainly = i == 0 ? memory.activations : plainly;
        const double output = cases[i].bytes < 2 ? 2 * tokens * 1024 : 0; /* the attention's, beside the copy */
        expect_near(plainly - memory.activations + 1, (2 - cases[i].bytes) * inputs - output + 1);
        ppsched_model_destroy(model);
    }
}

static void test_devices_without_a_rate(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    ppsched_model *model = NULL;
    ppsched_error error;
    (void)state;
    device.rate_4bit = 0;
    training.precision = PPSCHED_PRECISION_NVFP4;
    assert_int_equal(model_of_shape(&model, &shape, &training, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "the device has no matrix rate for 4 bits (rate_4bit); use bf16, fp16 or fp8");
    training.precision = PPSCHED_PRECISION_MXFP8;
    assert_int_equal(model_of_shape(&model, &shape, &training, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "the device has no MXFP8 (mxfp8_share is 0); use bf16, fp16 or fp8");
    device.rate_8bit = 0;
    training.precision = PPSCHED_PRECISION_FP8;
    assert_int_equal(model_of_shape(&model, &shape, &training, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "the device has no matrix rate for 8 bits (rate_8bit); use bf16 or fp16");
    device.slowdown = 0.5;
    assert_int_equal(model_of_shape(&model, &shape, &plain, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "slowdown is 0.5; it must be at least 1, or 0 for none");
    device.slowdown = 0, device.hidden_share = 1.5;
    assert_int_equal(model_of_shape(&model, &shape, &plain, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "hidden_share is 1.5; it must be 0 to 1");
    device.hidden_share = 0, device.shares_ports = 2;
    assert_int_equal(model_of_shape(&model, &shape, &plain, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "shares_ports is 2; it must be 0 or 1");
    device.shares_ports = 0, device.lacks_bf16 = 2;
    assert_int_equal(model_of_shape(&model, &shape, &plain, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "lacks_bf16 is 2; it must be 0 to 1");
}

/* Without bf16 fp16 costs the same as on a device with both. */
static void test_a_device_without_bf16(void **state)
{
    ppsched_accelerator device = flat(), both = device;
    ppsched_training training = plain;
    ppsched_model *model = NULL;
    ppsched_error error;
    (void)state;
    device.lacks_bf16 = 1, device.rate_8bit = 0;
    assert_int_equal(model_of_shape(&model, &shape, &training, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "the device has no bf16 (lacks_bf16 is 1); use fp16");
    training.precision = PPSCHED_PRECISION_FP8;
    assert_int_equal(model_of_shape(&model, &shape, &training, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "the device has no matrix rate for 8 bits (rate_8bit); use fp16");
    training.precision = PPSCHED_PRECISION_FP16;
    for (uint32_t pass = PPSCHED_MODEL_PASS_FORWARD; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++)
        assert_true(cost_of(&shape, &training, &device, DECODER, pass).time ==
                    cost_of(&shape, &training, &both, DECODER, pass).time);
}

/* MXFP8 is in the matrix units of Blackwell and CDNA 4, NVFP4 in those of Blackwell, A100 and V100 have no 8 bits, and
 * V100 has no bf16. */
static void test_precisions_of_known_devices(void **state)
{
    static const char *const with_mxfp8[] = {"b200", "b300", "gb200", "gb300", "mi355x"};
    static const char *const with_nvfp4[] = {"b200", "b300", "gb200", "gb300"};
    (void)state;
    for (uint32_t i = 0; i < ppsched_accelerator_count(); i++) {
        const ppsched_accelerator *device = ppsched_accelerator_at(i);
        bool is_early = strcmp(device->name, "a100") == 0 || strcmp(device->name, "v100") == 0;
        bool has[] = {[PPSCHED_PRECISION_BF16] = strcmp(device->name, "v100") != 0,
                      [PPSCHED_PRECISION_FP16] = true,
                      [PPSCHED_PRECISION_FP8] = !is_early,
                      [PPSCHED_PRECISION_NVFP4] = false};
        for (size_t k = 0; k < sizeof with_mxfp8 / sizeof with_mxfp8[0]; k++)
            has[PPSCHED_PRECISION_MXFP8] |= strcmp(device->name, with_mxfp8[k]) == 0;
        for (size_t k = 0; k < sizeof with_nvfp4 / sizeof with_nvfp4[0]; k++)
            has[PPSCHED_PRECISION_NVFP4] |= strcmp(device->name, with_nvfp4[k]) == 0;
        for (int32_t precision = PPSCHED_PRECISION_BF16; precision <= PPSCHED_PRECISION_NVFP4; precision++) {
            ppsched_training training = plain;
            ppsched_model *model = NULL;
            training.precision = precision;
            ppsched_status status = model_of_shape(&model, &shape, &training, device, NULL);
            if (status != (has[precision] ? PPSCHED_OK : PPSCHED_ERROR_RANGE))
                fail_msg("%s, precision %d: %d", device->name, precision, status);
            ppsched_model_destroy(model);
        }
    }
}

static void test_overlap(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    (void)state;
    training.tensor_parallel = 4;
    training.flags = PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL;
    device.hidden_share = 0.75;
    const ppsched_pass_cost all = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(all.tensor_time, all.communication_time);
    training.flags |= PPSCHED_TRAINING_FLAG_OVERLAPS_TENSOR;
    ppsched_pass_cost hidden = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(hidden.communication_time, 0.25 * all.communication_time);
    expect_near(hidden.matrix_time, all.matrix_time);
    device.slowdown = 1.25;
    hidden = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(hidden.matrix_time, all.matrix_time + 0.75 * all.communication_time * 0.2);
    /* All of it, unless the device says how much; no more than the matrices last. */
    device.slowdown = 0, device.hidden_share = 0, device.inside.bandwidth = 1e9;
    hidden = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    training.flags = PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL;
    const ppsched_pass_cost slow = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(hidden.communication_time, slow.communication_time - slow.matrix_time);
    expect_near(hidden.tensor_time, hidden.communication_time);
}

/* Exchanges of experts hide behind all of another microbatch's work, no more. */
static void test_overlap_of_experts(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_transformer experts = shape;
    ppsched_training training = plain;
    (void)state;
    experts.experts = 64, experts.experts_per_token = 8, experts.expert_ffn_size = 512;
    training.data_parallel = training.expert_parallel = 32;
    device.hidden_share = 1, device.between.bandwidth = 1e9;
    const ppsched_pass_cost slow = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    training.flags = PPSCHED_TRAINING_FLAG_OVERLAPS_EXPERTS;
    ppsched_pass_cost cost = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    const double work = slow.matrix_time + slow.vector_time + slow.memory_time;
    assert_true(slow.communication_time > work);
    expect_near(cost.communication_time, slow.communication_time - work);
    expect_near(cost.expert_time, cost.communication_time);
    expect_near(cost.matrix_time, slow.matrix_time);
    device.between.bandwidth = 1e12, device.slowdown = 2;
    cost = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    training.flags = 0;
    const ppsched_pass_cost fast = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.communication_time + 1, 1);
    expect_near(cost.matrix_time, slow.matrix_time + 0.5 * fast.communication_time);
}

static void test_ports(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    ppsched_transformer wide = shape;
    (void)state;
    wide.heads = wide.key_value_heads = 16;
    training.tensor_parallel = 16; /* two nodes */
    training.flags = PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL;
    const double bytes = 2.0 * 8192 * 1024 * 15 / 16;
    ppsched_pass_cost one = cost_of(&wide, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    device.shares_ports = 1;
    ppsched_pass_cost all = cost_of(&wide, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(one.communication_time - all.communication_time, 4 * (bytes / 1e10 - bytes / 8e10));
    device.inside.bandwidth = 2e10; /* not faster than inside the node */
    all = cost_of(&wide, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(one.communication_time - all.communication_time, 4 * (bytes / 1e10 - bytes / 2e10));
}

static double reduce_time(const ppsched_training *training, const ppsched_accelerator *device)
{
    ppsched_model *model = make(&shape, training, device);
    ppsched_update_cost cost = {.size = sizeof cost};
    expect_ok(ppsched_model_get_update_cost(&cost, model, 1e9, 0, NULL), NULL);
    ppsched_model_destroy(model);
    return cost.reduce_time;
}

/* Replicas of 2 devices, on 4 nodes of 8 devices: each ring has 4 devices of a node. */
static void test_ports_of_part_of_a_node(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    (void)state;
    training.tensor_parallel = 2, training.data_parallel = 16;
    device.shares_ports = 1;
    const double one = 2 * 4e9 * 15 / 16 / 1e10; /* 4 bytes of each gradient, at one port */
    for (double ports = 0; ports <= 5; ports += 0.5) {
        device.part_node_ports = ports;
        expect_near(reduce_time(&training, &device), device.between.latency + one / (ports == 0 || ports > 4 ? 4 : ports));
    }
    device.part_node_ports = 1;
    training.tensor_parallel = 1; /* all devices of two nodes */
    expect_near(reduce_time(&training, &device), device.between.latency + one / 8);
    training.tensor_parallel = 8; /* one of a node */
    expect_near(reduce_time(&training, &device), device.between.latency + one);
    training.tensor_parallel = 2, training.data_parallel = 4; /* one node */
    device.part_node_ports = 2;
    expect_near(reduce_time(&training, &device), device.inside.latency + 2 * 4e9 * 3 / 4 / 1e11);
}

/* Seven links of a device, one to each of the others: a group uses those between its own devices. */
static void test_links_of_pairs(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    (void)state;
    device.pair_share = 1.0 / 7;
    for (uint32_t count = 2; count <= 8; count *= 2) {
        training.tensor_parallel = 1, training.data_parallel = count;
        const double ring = 2 * 4e9 * (count - 1) / count / 1e11;
        expect_near(reduce_time(&training, &device), device.inside.latency + ring * 7 / (count - 1));
        training.tensor_parallel = 8 / count; /* as many, further apart */
        expect_near(reduce_time(&training, &device), device.inside.latency + ring * 7 / (count - 1));
    }
    training.tensor_parallel = 8, training.data_parallel = 2; /* two nodes, one device of each */
    expect_near(reduce_time(&training, &device), device.between.latency + 4e9 / 1e10);
    ppsched_model *model = make(&shape, &training, &device);
    double latency, bandwidth;
    expect_ok(ppsched_model_get_link(&latency, &bandwidth, model, 8, NULL), NULL);
    expect_near(bandwidth, 1e11 / 7);
    expect_ok(ppsched_model_get_link(&latency, &bandwidth, model, 9, NULL), NULL);
    expect_near(bandwidth, 1e10);
    ppsched_model_destroy(model);
    ppsched_transformer experts = shape;
    experts.experts = 8, experts.experts_per_token = 2, experts.expert_ffn_size = 1024;
    for (uint32_t flags = 0; flags <= PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE; flags += PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE) {
        training = plain, training.data_parallel = 8, training.expert_parallel = 4, training.flags = flags;
        const ppsched_pass_cost own = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
        device.pair_share = 0;
        const ppsched_pass_cost all = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
        device.pair_share = 1.0 / 7;
        expect_near(own.expert_time - 2 * 1e-5, (all.expert_time - 2 * 1e-5) * 7 / 3);
    }
    device.pair_share = 1.5;
    ppsched_error error;
    assert_int_equal(model_of_shape(&model, &shape, &plain, &device, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "pair_share is 1.5; it must be 0 to 1");
}

static void test_ops_and_host(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_training training = plain;
    (void)state;
    const ppsched_pass_cost none = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    device.op_time = 1e-6;
    ppsched_pass_cost cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    const double ops = round((cost.time - none.time) / 1e-6);
    assert_true(ops >= 9 && ops <= 20); /* seven matrices, two norms, scores, an activation, residuals */
    expect_near(cost.launch_time, ops * 1e-6);
    const ppsched_pass_cost input = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_INPUT),
                            weight = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT);
    const double backward = input.launch_time / 1e-6 + weight.launch_time / 1e-6;
    device.op_time = 0, device.host_time = none.time; /* the host is slower */
    cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.time, ops * none.time);
    expect_near(cost.launch_time, (ops - 1) * none.time);
    /* It launches a backward at once: both parts take what all launches do. */
    const ppsched_pass_cost late = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_INPUT),
                            own = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT);
    expect_near(own.time + late.time, backward * none.time);
    expect_near(own.time, weight.time - weight.launch_time);
    training.flags |= PPSCHED_TRAINING_FLAG_GRAPHS;
    cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.time, none.time);
    /* Three pieces of a matrix of experts take the host as long as an op. */
    ppsched_transformer experts = shape;
    experts.experts = 8, experts.experts_per_token = 2, experts.expert_ffn_size = 4096;
    training.flags = 0, device.host_time = 0;
    device.op_time = 1e-6;
    const double few = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD).launch_time / 1e-6;
    device.op_time = 0, device.host_time = 1;
    expect_near(cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD).time, few + 2 * 7 / 3.0);
}

static void test_modules(void **state)
{
    const ppsched_accelerator device = flat();
    ppsched_training training = plain;
    ppsched_layer_memory memory = {.size = sizeof memory};
    const double tokens = 8192, h = 1024, f = 4096;
    (void)state;
    training.recompute_modules = PPSCHED_RECOMPUTE_MODULE_MLP;
    ppsched_pass_cost cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_MODULES);
    expect_near(cost.matrix_operations, 2 * tokens * 3 * h * f);
    ppsched_model *model = make(&shape, &training, &device);
    expect_ok(ppsched_model_get_memory(&memory, model, DECODER, NULL), NULL);
    /* Inputs of the MLP, of its activation function and of its last matrix. */
    expect_near(memory.activations - memory.modules, 2 * tokens * (h + 3 * f));
    const ppsched_layers *layers = NULL;
    ppsched_layer entry = {.size = sizeof entry};
    expect_ok(ppsched_layers_from_model(&layers, model, NULL, NULL), NULL);
    expect_ok(ppsched_layers_get_entry(&entry, layers, DECODER, NULL), NULL);
    assert_int_equal(entry.recompute_count, 2); /* nothing is kept of scores */
    assert_string_equal(entry.recomputes[0].name, "modules");
    expect_near(entry.recomputes[0].time, cost.time);
    ppsched_layers_release(layers);
    ppsched_model_destroy(model);
    training.recompute_modules = PPSCHED_RECOMPUTE_MODULE_CORE_ATTENTION;
    cost = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_MODULES);
    expect_near(cost.matrix_operations, 2 * tokens * 4096 / 2 * 2 * h);
}

static void test_frozen_weights(void **state)
{
    const ppsched_accelerator device = flat();
    ppsched_training training = plain;
    ppsched_layer_memory memory = {.size = sizeof memory};
    (void)state;
    const ppsched_pass_cost input = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_INPUT);
    training.flags |= PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS;
    const ppsched_pass_cost frozen = cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_INPUT);
    assert_true(frozen.time == input.time);
    assert_true(cost_of(&shape, &training, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT).time == 0);
    ppsched_model *model = make(&shape, &training, &device);
    expect_ok(ppsched_model_get_memory(&memory, model, DECODER, NULL), NULL);
    assert_true(memory.gradients == 0 && memory.optimizer == 0 && memory.weights == 2 * memory.parameters);
    ppsched_model_destroy(model);
}

/* A step updates no frozen weights, and sums no gradients of them; sharded ones are gathered as before. */
static void test_update_of_frozen_weights(void **state)
{
    const ppsched_accelerator device = flat();
    (void)state;
    for (uint32_t sharding = 0; sharding <= 3; sharding++) {
        ppsched_training training = plain;
        ppsched_update_cost trained = {.size = sizeof trained}, frozen = trained;
        training.data_parallel = 4, training.sharding = sharding;
        ppsched_model *model = make(&shape, &training, &device);
        expect_ok(ppsched_model_get_update_cost(&trained, model, 1e9, 0, NULL), NULL);
        ppsched_model_destroy(model);
        training.flags |= PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS;
        model = make(&shape, &training, &device);
        expect_ok(ppsched_model_get_update_cost(&frozen, model, 1e9, 0, NULL), NULL);
        ppsched_model_destroy(model);
        assert_true(trained.optimizer_time > 0 && trained.gradient_time > 0);
        assert_true(frozen.optimizer_time == 0 && frozen.gradient_time == 0);
        assert_true(frozen.parameter_time == (sharding == 3 ? trained.parameter_time : 0));
        assert_true(frozen.reduce_time == frozen.parameter_time);
    }
}

static void test_exchanges(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_transformer experts = shape;
    ppsched_training training = plain;
    (void)state;
    experts.experts = 64, experts.experts_per_token = 8, experts.expert_ffn_size = 512;
    training.data_parallel = training.expert_parallel = 32; /* four nodes */
    device.inside.latency = device.between.latency = 0;
    const double bytes = 2.0 * 8192 * 1024 * 8, nodes = 4 * (1 - pow(0.75, 8)), devices = 32 * (1 - pow(31.0 / 32, 8));
    ppsched_pass_cost each = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(each.expert_time, 2 * (bytes * 7 / 32 / 1e11 + bytes * 24 / 32 / 1e10));
    training.flags |= PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE;
    ppsched_pass_cost once = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(once.expert_time, 2 * (bytes / 8 * nodes * 3 / 4 / 1e10));
    device.between.bandwidth = 1e12; /* then the links inside take longer */
    once = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(once.expert_time, 2 * (bytes / 8 * devices * 7 / 8 / 1e11)); /* a device gets a row once too */
    device.fused_permute_traffic = 3, device.permute_traffic = 5;
    ppsched_pass_cost more = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(more.memory_time - once.memory_time, 3 * bytes / 1e12);
    training.flags = 0;
    more = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(more.memory_time - each.memory_time, 5 * bytes / 1e12);
    training.data_parallel = training.expert_parallel = 8; /* in one node */
    training.flags = PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE;
    once = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(once.expert_time, 2 * (bytes / 8 * 8 * (1 - pow(0.875, 8)) * 7 / 8 / 1e11));
}

/* What is not as fast as the rates say: biases of experts and scans; and what costs nothing, memory beside matrices. */
static void test_slow_parts(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_transformer experts = shape;
    (void)state;
    experts.experts = 8, experts.experts_per_token = 2, experts.expert_ffn_size = 512;
    ppsched_pass_cost before = cost_of(&experts, &plain, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    device.bias_traffic = 10;
    ppsched_pass_cost cost = cost_of(&experts, &plain, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    expect_near(cost.time, before.time); /* they have none */
    experts.flags |= PPSCHED_TRANSFORMER_FLAG_MLP_BIAS;
    device.bias_traffic = 0;
    before = cost_of(&experts, &plain, &device, DECODER, PPSCHED_MODEL_PASS_INPUT);
    device.bias_traffic = 10;
    cost = cost_of(&experts, &plain, &device, DECODER, PPSCHED_MODEL_PASS_INPUT);
    expect_near(cost.memory_time - before.memory_time, 10 * 2.0 * 8192 * 2 * (2 * 512 + 1024) / 1e12);
    device = flat();
    before = cost_of(&shape, &plain, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT);
    device.memory_hidden = 0.5;
    cost = cost_of(&shape, &plain, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT);
    assert_true(cost.memory_time > 0.5 * before.memory_time &&
                cost.memory_time < 0.6 * before.memory_time); /* norms have no matrix */
    expect_near(cost.matrix_time, before.matrix_time);
    device.memory_bandwidth = 1e9; /* no more than the matrices last */
    before = cost_of(&shape, &plain, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT);
    device.memory_hidden = 0;
    cost = cost_of(&shape, &plain, &device, DECODER, PPSCHED_MODEL_PASS_WEIGHT);
    expect_near(cost.memory_time - before.memory_time, 0.5 * cost.matrix_time);
}

/* The fullest device has the rows of its experts as often; what is dense, and all parameters, stay. */
static void test_expert_load(void **state)
{
    ppsched_accelerator device = flat();
    ppsched_transformer experts = shape;
    ppsched_training training = plain;
    ppsched_layer_memory even = {.size = sizeof even}, full = {.size = sizeof full};
    (void)state;
    experts.experts = 64, experts.experts_per_token = 8, experts.expert_ffn_size = 512;
    training.data_parallel = training.expert_parallel = 8;
    ppsched_pass_cost before = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    ppsched_model *model = make(&experts, &training, &device);
    expect_ok(ppsched_model_get_memory(&even, model, DECODER, NULL), NULL);
    ppsched_model_destroy(model);
    training.expert_load = 1.25;
    ppsched_pass_cost after = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    model = make(&experts, &training, &device);
    expect_ok(ppsched_model_get_memory(&full, model, DECODER, NULL), NULL);
    ppsched_model_destroy(model);
    const double rows = 8192 * 8, matrices = 2 * rows * 3 * 1024 * 512;
    expect_near(after.matrix_operations - before.matrix_operations, 0.25 * matrices);
    expect_near(full.activations - even.activations, 0.25 * rows * 2 * (1024 + 3 * 512));
    assert_true(full.parameters == even.parameters && after.expert_time > before.expert_time);
    training.expert_load = 1;
    after = cost_of(&experts, &training, &device, DECODER, PPSCHED_MODEL_PASS_FORWARD);
    assert_true(after.time == before.time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_precision),
        cmocka_unit_test(test_memory_by_precision),
        cmocka_unit_test(test_devices_without_a_rate),
        cmocka_unit_test(test_a_device_without_bf16),
        cmocka_unit_test(test_precisions_of_known_devices),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_overlap_of_experts),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_ports_of_part_of_a_node),
        cmocka_unit_test(test_links_of_pairs),
        cmocka_unit_test(test_ops_and_host),
        cmocka_unit_test(test_modules),
        cmocka_unit_test(test_frozen_weights),
        cmocka_unit_test(test_update_of_frozen_weights),
        cmocka_unit_test(test_slow_parts),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_expert_load),
    };
    return cmocka_run_group_tests_name("model_rates", tests, NULL, NULL);
}
