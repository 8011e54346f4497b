/* SPDX-License-Identifier: Apache-2.0 */
/* Models of any sizes: refused in one line, or costs that are sums of their parts, and layers. With a fuzzer: see
 * docs/testing.md; without: the corpus, by main.c. */
#include "fuzz/harness.h"

#include <math.h>

#include "fuzz/bytes.h"

/* A size that models have, small or doubled some times, or any. */
static uint32_t size_from(struct bytes *bytes)
{
    const uint32_t choice = take_below(bytes, 16);
    if (choice == 0)
        return take_u32(bytes);
    return choice < 10 ? take_below(bytes, 9) : 1u << take_below(bytes, 18);
}

static uint32_t optional(struct bytes *bytes)
{
    return take_below(bytes, 3) == 0 ? size_from(bytes) : 0;
}

static ppsched_transformer shape_from(struct bytes *bytes)
{
    ppsched_transformer shape = {.size = sizeof shape,
                                 .flags = take_u32(bytes) & (take_below(bytes, 8) > 0 ? 65535 : 0xFFFFFFFFu),
                                 .layers = size_from(bytes) % 300,
                                 .hidden_size = size_from(bytes),
                                 .ffn_size = size_from(bytes),
                                 .heads = size_from(bytes),
                                 .key_value_heads = optional(bytes),
                                 .head_size = optional(bytes),
                                 .vocabulary_size = size_from(bytes),
                                 .positions = optional(bytes),
                                 .mtp_layers = optional(bytes)};
    if (take_below(bytes, 2) == 0) {
        shape.key_value_rank = size_from(bytes), shape.query_rank = optional(bytes);
        shape.rope_head_size = optional(bytes), shape.value_head_size = size_from(bytes);
    }
    if (take_below(bytes, 2) == 0) {
        shape.experts = size_from(bytes), shape.experts_per_token = size_from(bytes);
        shape.expert_ffn_size = size_from(bytes), shape.shared_ffn_size = optional(bytes);
        shape.dense_layers = optional(bytes), shape.expert_interval = optional(bytes), shape.expert_offset = optional(bytes);
    }
    if (take_below(bytes, 8) == 0) {
        static const uint8_t some[300] = {[1] = 1, [2] = 1, [4] = 1, [200] = 1};
        shape.dense_layers = shape.expert_interval = shape.expert_offset = 0, shape.expert_layers = some;
    }
    return shape;
}

static ppsched_training training_from(struct bytes *bytes)
{
    return (ppsched_training){.size = sizeof(ppsched_training),
                              .flags = take_below(bytes, 5),
                              .sequence_length = size_from(bytes),
                              .micro_batch_size = optional(bytes),
                              .tensor_parallel = optional(bytes),
                              .context_parallel = optional(bytes),
                              .expert_parallel = optional(bytes),
                              .expert_tensor_parallel = optional(bytes),
                              .data_parallel = optional(bytes),
                              .sharding = take_below(bytes, 5),
                              .weight_bytes = take_below(bytes, 5),
                              .optimizer_bytes = take_below(bytes, 8) > 0 ? 0 : take_any_number(bytes)};
}

static void expect_costs(const ppsched_model *model, uint32_t row)
{
    ppsched_layer_memory memory = {.size = sizeof memory};
    EXPECT(ppsched_model_get_memory(&memory, model, row, NULL) == PPSCHED_OK);
    EXPECT(memory.parameters >= memory.expert_parameters && memory.expert_parameters >= 0);
    EXPECT(memory.full <= memory.activations && memory.selective <= memory.activations && isfinite(memory.activations));
    for (int32_t pass = 0; pass < 5; pass++) {
        ppsched_pass_cost cost = {.size = sizeof cost};
        EXPECT(ppsched_model_get_pass_cost(&cost, model, row, pass, NULL) == PPSCHED_OK);
        EXPECT(isfinite(cost.time) && cost.matrix_time >= 0 && cost.vector_time >= 0 && cost.memory_time >= 0);
        double parts = cost.matrix_time + cost.vector_time + cost.memory_time + cost.communication_time + cost.launch_time;
        EXPECT(fabs(cost.time - parts) <= 1e-12 * cost.time);
    }
}

static void expect_model(const ppsched_model *model, const ppsched_transformer *shape)
{
    ppsched_parameters count = {.size = sizeof count};
    ppsched_megatron_memory megatron = {.size = sizeof megatron};
    const ppsched_megatron_pipeline pipeline = {.size = sizeof pipeline, .devices = 1 + shape->layers % 7, .chunks = 2};
    const ppsched_layers *layers = NULL;
    EXPECT(ppsched_model_get_parameters(&count, model, NULL) == PPSCHED_OK);
    EXPECT(count.active <= count.total && count.embedding <= count.total);
    EXPECT(ppsched_model_get_megatron_memory(&megatron, model, &pipeline, NULL) == PPSCHED_OK);
    EXPECT(isfinite(megatron.activation_bytes) && megatron.weight_and_optimizer_bytes > 0);
    for (uint32_t row = 0; row < ppsched_model_row_count(model); row++)
        expect_costs(model, row);
    EXPECT(ppsched_layers_from_model(&layers, model, NULL, NULL) == PPSCHED_OK);
    EXPECT(ppsched_layers_count(layers) == shape->layers + shape->mtp_layers + 2);
    ppsched_layers_release(layers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes bytes = {data, size};
    struct meter meter = {0};
    ppsched_environment environment = metered_environment(&meter);
    const ppsched_transformer shape = shape_from(&bytes);
    const ppsched_training training = training_from(&bytes);
    const ppsched_accelerator *device = ppsched_accelerator_at(take_below(&bytes, 6));
    ppsched_model *model = NULL;
    ppsched_error error = fresh_error();
    const ppsched_description *description = NULL;
    ppsched_status status = ppsched_description_from_transformer(&description, &shape, &environment, &error);
    if (status == PPSCHED_OK)
        status = ppsched_model_create(&model, description, &training, device, &environment, &error);
    ppsched_description_release(description);
    EXPECT((model != NULL) == (status == PPSCHED_OK));
    if (accepted(status, &error))
        expect_model(model, &shape);
    ppsched_model_destroy(model);
    EXPECT(meter.used == 0);
    return 0;
}
