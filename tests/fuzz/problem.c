/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/problem.h"

#include "support/last.h"

/* In an order that no longer changes, as corpora tell quantities by their place in it. */
static const int32_t quantities[QUANTITIES] = {PPSCHED_QUANTITY_FORWARD_TIMES,
                                               PPSCHED_QUANTITY_BACKWARD_TIMES,
                                               PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES,
                                               PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES,
                                               PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE,
                                               PPSCHED_QUANTITY_OVERLAPPED_TIMES,
                                               PPSCHED_QUANTITY_P2P_TIME,
                                               PPSCHED_QUANTITY_MEM_FORWARD,
                                               PPSCHED_QUANTITY_MEM_BACKWARD_INPUT,
                                               PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT,
                                               PPSCHED_QUANTITY_MEM_STATIC,
                                               PPSCHED_QUANTITY_MEM_WEIGHTS,
                                               PPSCHED_QUANTITY_MEM_LIMIT,
                                               PPSCHED_QUANTITY_P2P_BANDWIDTH,
                                               PPSCHED_QUANTITY_ACTIVATION_BYTES,
                                               PPSCHED_QUANTITY_GRADIENT_BYTES,
                                               PPSCHED_QUANTITY_MEM_OPTIMIZER,
                                               PPSCHED_QUANTITY_MEM_OTHER,
                                               PPSCHED_QUANTITY_MEM_GRADIENTS,
                                               PPSCHED_QUANTITY_MEM_GATHERED,
                                               PPSCHED_QUANTITY_MEM_OUTPUT,
                                               PPSCHED_QUANTITY_MEM_SEND_FORWARD,
                                               PPSCHED_QUANTITY_MEM_SEND_BACKWARD,
                                               PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD,
                                               PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD,
                                               PPSCHED_QUANTITY_MEM_WORK_FORWARD,
                                               PPSCHED_QUANTITY_MEM_WORK_BACKWARD,
                                               PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT,
                                               PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT,
                                               PPSCHED_QUANTITY_UNSHARD_TIMES,
                                               PPSCHED_QUANTITY_REDUCE_GRAD_TIMES,
                                               PPSCHED_QUANTITY_UNSHARD_BYTES,
                                               PPSCHED_QUANTITY_REDUCE_GRAD_BYTES,
                                               PPSCHED_QUANTITY_SHARDING_BANDWIDTH,
                                               PPSCHED_QUANTITY_SHARDING_SLOWDOWN,
                                               PPSCHED_QUANTITY_RECOMPUTE_TIMES,
                                               PPSCHED_QUANTITY_MEM_RECOMPUTE,
                                               PPSCHED_QUANTITY_OFFLOAD_TIMES,
                                               PPSCHED_QUANTITY_RELOAD_TIMES,
                                               PPSCHED_QUANTITY_OFFLOAD_BYTES,
                                               PPSCHED_QUANTITY_HOST_BANDWIDTH,
                                               PPSCHED_QUANTITY_HOST_LATENCY,
                                               PPSCHED_QUANTITY_MEM_OFFLOAD,
                                               PPSCHED_QUANTITY_HOST_LINK,
                                               PPSCHED_QUANTITY_MICROBATCH_SCALE,
                                               PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE,
                                               PPSCHED_QUANTITY_SLICE_SCALE,
                                               PPSCHED_QUANTITY_OP_OVERHEAD,
                                               PPSCHED_QUANTITY_COPY_SLOWDOWN,
                                               PPSCHED_QUANTITY_SEND_OVERHEAD,
                                               PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT,
                                               PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD,
                                               PPSCHED_QUANTITY_DEVICE_SPEEDS,
                                               PPSCHED_QUANTITY_MICROBATCH_REQUEST,
                                               PPSCHED_QUANTITY_DEVICE_SCALE,
                                               PPSCHED_QUANTITY_LAYER_TYPES,
                                               PPSCHED_QUANTITY_STAGE_SCALE};

int32_t quantity_at(int32_t index)
{
    return index >= 1 && index <= QUANTITIES ? quantities[index - 1] : index < 1 ? index : LAST_QUANTITY + index;
}

bool is_quantity(int32_t quantity)
{
    bool found = false;
    for (size_t i = 0; i < QUANTITIES; i++)
        found |= quantities[i] == quantity;
    return found;
}

static ppsched_config *take_sizes(struct bytes *bytes, const struct largest *largest, struct meter *meter)
{
    ppsched_environment environment = metered_environment(meter);
    ppsched_error error = fresh_error();
    ppsched_config *config = NULL;
    uint32_t devices = 1 + take_below(bytes, largest->devices), chunks = 1 + take_below(bytes, largest->chunks);
    uint32_t missing = take_below(bytes, 8) == 7 ? take_below(bytes, devices * chunks) : 0;
    EXPECT(accepted(ppsched_config_create(&config, devices, devices * chunks - missing,
                                          1 + take_below(bytes, largest->microbatches), &environment, &error),
                    &error));
    EXPECT(accepted(ppsched_config_set_iterations(config, 1 + take_below(bytes, largest->iterations), &error), &error));
    return config;
}

static void take_placement(struct bytes *bytes, ppsched_config *config)
{
    uint32_t map[LARGEST_STAGES], stages = ppsched_config_stages(config);
    uint8_t placement = take_u8(bytes);
    ppsched_error error = fresh_error();
    if (placement == PPSCHED_PLACEMENT_MAP)
        for (uint32_t s = 0; s < stages; s++)
            map[s] = take_below(bytes, ppsched_config_devices(config));
    if (placement <= PPSCHED_PLACEMENT_MAP)
        accepted(ppsched_config_set_placement(config, placement, map, stages, &error), &error);
}

/* Memory of stage passes that sums to 0 up to rounding, as that of a file with so many digits does. */
static void take_rounded_memory(struct bytes *bytes, ppsched_config *config)
{
    double forward = take_number(bytes), share = take_below(bytes, 11) / 10.0, off = take_below(bytes, 19) * 1e-10 - 9e-10;
    double weight = off * forward - (1 - share) * forward;
    const double values[] = {forward, -share * forward, weight < 0 ? weight : 0};
    ppsched_error error = fresh_error();
    for (int i = 0; i < 3; i++)
        accepted(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_FORWARD + i, &values[i], 1, &error), &error);
}

/* One list of numbers: for all, a stage, a device or a pair of either. */
static void take_list(struct bytes *bytes, ppsched_config *config)
{
    double values[LARGEST_STAGES * LARGEST_STAGES];
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    const uint32_t counts[] = {1, stages, devices, stages * stages, devices * devices};
    int32_t quantity = quantity_at(1 + (int32_t)take_below(bytes, QUANTITIES));
    uint32_t form = take_u8(bytes), count = counts[form % 5];
    bool is_negative = quantity == PPSCHED_QUANTITY_MEM_BACKWARD_INPUT || quantity == PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT;
    ppsched_error error = fresh_error();
    if (form >= 190 && form < 200) {
        take_rounded_memory(bytes, config);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        values[i] = form < 200 ? take_number(bytes) : take_any_number(bytes);
        values[i] = is_negative ? -values[i] : values[i];
    }
    accepted(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

ppsched_config *take_problem(struct bytes *bytes, const struct largest *largest, struct meter *meter)
{
    ppsched_config *config = take_sizes(bytes, largest, meter);
    take_placement(bytes, config);
    for (uint32_t lists = take_below(bytes, 10); lists > 0; lists--)
        take_list(bytes, config);
    return config;
}

ppsched_channel_model take_channel(struct bytes *bytes)
{
    uint8_t flags = take_u8(bytes);
    return (ppsched_channel_model){.size = sizeof(ppsched_channel_model),
                                   .order = flags == 255 ? -1 : flags % 4,
                                   .rendezvous = flags >> 2 & 1,
                                   .batched = flags >> 3 & 1,
                                   .blocking = flags >> 4 & 1};
}

ppsched_model_end take_end(struct bytes *bytes)
{
    double (*take)(struct bytes *) = take_u8(bytes) < 192 ? take_number : take_any_number;
    ppsched_model_end end = {.size = sizeof end,
                             .forward_time = take(bytes),
                             .backward_time = take(bytes),
                             .backward_input_time = take(bytes),
                             .backward_weight_time = take(bytes),
                             .mem_forward = take(bytes),
                             .mem_backward_input = -take(bytes),
                             .mem_static = take(bytes),
                             .mem_weights = take(bytes)};
    end.mem_backward_weight = take_u8(bytes) < 224 ? -(end.mem_forward + end.mem_backward_input) : take(bytes);
    return end;
}
