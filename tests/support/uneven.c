/* SPDX-License-Identifier: Apache-2.0 */
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>

struct uneven uneven_of_seed(uint64_t seed)
{
    return (struct uneven){UNEVEN_DEVICES, UNEVEN_CHUNKS, UNEVEN_MICROBATCHES, UNEVEN_ITERATIONS, seed};
}

void draw_uneven(double *out, size_t count, double low, uint64_t *seed)
{
    const uint32_t parts = 1u << 20;
    uint32_t width = parts / (uint32_t)(count + 1);
    for (size_t i = 0; i < count; i++)
        out[i] = low + (double)((uint32_t)i * width + random_below(seed, width)) / parts;
    for (size_t i = count; i-- > 1;) {
        size_t other = random_below(seed, (uint32_t)i + 1);
        double kept = out[i];
        out[i] = out[other];
        out[other] = kept;
    }
}

void set_uneven(ppsched_config *config, int32_t quantity, size_t count, double low, uint64_t *seed)
{
    double *values = malloc(count * sizeof *values);
    ppsched_error error;
    assert_non_null(values);
    draw_uneven(values, count, low, seed);
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
    free(values);
}

/* What F adds, of which I gives back a part and W the rest. */
static void set_uneven_memory(ppsched_config *config, size_t stages, uint64_t *seed)
{
    double *values = malloc(stages * sizeof *values);
    ppsched_error error;
    assert_non_null(values);
    set_uneven(config, PPSCHED_QUANTITY_MEM_FORWARD, stages, 2, seed);
    draw_uneven(values, stages, 0.5, seed);
    for (size_t s = 0; s < stages; s++)
        values[s] = -values[s];
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, values, stages, &error), &error);
    set_uneven(config, PPSCHED_QUANTITY_MEM_STATIC, stages, 1, seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_WEIGHTS, stages, 1, seed);
    free(values);
}

ppsched_config *make_uneven(const struct uneven *problem)
{
    size_t devices = problem->devices, stages = devices * problem->chunks;
    ppsched_config *config = make_config((int64_t)devices, (int64_t)stages, problem->microbatches);
    uint64_t seed = problem->seed;
    ppsched_error error;
    expect_ok(ppsched_config_set_iterations(config, problem->iterations, &error), &error);
    set_uneven(config, PPSCHED_QUANTITY_FORWARD_TIMES, stages, 1, &seed);
    set_uneven(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, stages, 1, &seed);
    set_uneven(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, stages, 0.5, &seed);
    set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, devices * devices, 0.125, &seed);
    set_uneven(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, devices * devices, 4, &seed);
    set_uneven(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, stages, 1, &seed);
    set_uneven(config, PPSCHED_QUANTITY_GRADIENT_BYTES, stages, 2, &seed);
    set_uneven_memory(config, stages, &seed);
    return config;
}

/* Each quantity's part of `parts`, for whom it has values, and from where on. */
static const struct {
    unsigned part;
    int32_t quantity;
    enum { BY_STAGE, BY_PAIR, BY_DEVICE, BY_MICROBATCH, BY_SLICE, BY_KIND } by;
    double low;
} part_rows[] = {
    {UNEVEN_PAIRS, PPSCHED_QUANTITY_OVERLAPPED_TIMES, BY_PAIR, 2},
    {UNEVEN_MICRO_SLICES, PPSCHED_QUANTITY_MICROBATCH_SCALE, BY_MICROBATCH, 0.5},
    {UNEVEN_MICRO_SLICES, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, BY_MICROBATCH, 0.25},
    {UNEVEN_MICRO_SLICES, PPSCHED_QUANTITY_SLICE_SCALE, BY_SLICE, 0.75},
    {UNEVEN_LIMITS, PPSCHED_QUANTITY_MEM_LIMIT, BY_DEVICE, 20},
    {UNEVEN_LIMITS, PPSCHED_QUANTITY_MEM_OTHER, BY_DEVICE, 1},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_OPTIMIZER, BY_STAGE, 1},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_GRADIENTS, BY_STAGE, 1},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_GATHERED, BY_STAGE, 1},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_OUTPUT, BY_STAGE, 0.25},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_SEND_FORWARD, BY_STAGE, 0.25},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_SEND_BACKWARD, BY_STAGE, 0.5},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD, BY_STAGE, 0.25},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD, BY_STAGE, 0.5},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_WORK_FORWARD, BY_STAGE, 0.5},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_WORK_BACKWARD, BY_STAGE, 1},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT, BY_STAGE, 0.75},
    {UNEVEN_CAUSES, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT, BY_STAGE, 0.5},
    {UNEVEN_SHARDING, PPSCHED_QUANTITY_UNSHARD_BYTES, BY_STAGE, 1},
    {UNEVEN_SHARDING, PPSCHED_QUANTITY_REDUCE_GRAD_BYTES, BY_STAGE, 2},
    {UNEVEN_SHARDING, PPSCHED_QUANTITY_SHARDING_BANDWIDTH, BY_DEVICE, 2},
    {UNEVEN_SHARDING, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, BY_DEVICE, 1},
    {UNEVEN_COPIES, PPSCHED_QUANTITY_RECOMPUTE_TIMES, BY_STAGE, 0.75},
    {UNEVEN_COPIES, PPSCHED_QUANTITY_MEM_RECOMPUTE, BY_STAGE, 0.125},
    {UNEVEN_COPIES, PPSCHED_QUANTITY_MEM_OFFLOAD, BY_STAGE, 0.75},
    {UNEVEN_COPIES, PPSCHED_QUANTITY_OFFLOAD_BYTES, BY_STAGE, 1},
    {UNEVEN_COPIES, PPSCHED_QUANTITY_HOST_BANDWIDTH, BY_DEVICE, 1},
    {UNEVEN_COPIES, PPSCHED_QUANTITY_HOST_LATENCY, BY_DEVICE, 0.125},
    {UNEVEN_RUNTIME, PPSCHED_QUANTITY_OP_OVERHEAD, BY_KIND, 0.125},
    {UNEVEN_SPEEDS, PPSCHED_QUANTITY_DEVICE_SPEEDS, BY_DEVICE, 0.25},
    {UNEVEN_OVERHEADS, PPSCHED_QUANTITY_DEVICE_OVERHEAD, BY_DEVICE, 0.125},
};

void add_uneven(ppsched_config *config, unsigned parts, uint64_t *seed)
{
    size_t stages = ppsched_config_stages(config), slices = ppsched_config_slices(config);
    const size_t counts[] = {[BY_STAGE] = stages,
                             [BY_PAIR] = stages * stages,
                             [BY_DEVICE] = ppsched_config_devices(config),
                             [BY_MICROBATCH] = ppsched_config_microbatches(config),
                             [BY_SLICE] = slices > 1 && random_below(seed, 2) ? slices * stages : slices,
                             [BY_KIND] = 4};
    for (size_t i = 0; i < sizeof part_rows / sizeof part_rows[0]; i++)
        if ((parts & part_rows[i].part) != 0)
            set_uneven(config, part_rows[i].quantity, counts[part_rows[i].by], part_rows[i].low, seed);
}

static void read_stage(struct brute_costs *out, const ppsched_config *config, uint32_t s)
{
    double *duration[5], *memory[5];
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        duration[kind] = &out->duration[kind][s];
        memory[kind] = &out->memory[kind][s];
    }
    *duration[PPSCHED_KIND_F] = value_at(config, PPSCHED_QUANTITY_FORWARD_TIMES, s, 1);
    *duration[PPSCHED_KIND_I] = value_at(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s, 1);
    *duration[PPSCHED_KIND_W] = value_at(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, s, 1);
    *duration[PPSCHED_KIND_B] = value_at(config, PPSCHED_QUANTITY_BACKWARD_TIMES, s,
                                         *duration[PPSCHED_KIND_I] + *duration[PPSCHED_KIND_W]);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        *duration[kind] += value_at(config, PPSCHED_QUANTITY_OP_OVERHEAD, (size_t)kind - PPSCHED_KIND_F, 0);
    *memory[PPSCHED_KIND_F] = value_at(config, PPSCHED_QUANTITY_MEM_FORWARD, s, 1);
    *memory[PPSCHED_KIND_B] = -*memory[PPSCHED_KIND_F];
    *memory[PPSCHED_KIND_I] = value_at(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, s, 0);
    *memory[PPSCHED_KIND_W] = *memory[PPSCHED_KIND_B] - *memory[PPSCHED_KIND_I];
    out->sent[0][s] = value_at(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, s, 0);
    out->sent[1][s] = value_at(config, PPSCHED_QUANTITY_GRADIENT_BYTES, s, s > 0 ? out->sent[0][s - 1] : 0);
}

void brute_costs_of(struct brute_costs *out, const ppsched_config *config)
{
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    uint32_t microbatches = ppsched_config_microbatches(config), slices = ppsched_config_slices(config);
    size_t pairs = 0;
    out->has_ends = 0;
    ppsched_config_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &pairs);
    for (uint32_t s = 0; s < stages; s++) {
        read_stage(out, config, s);
        for (uint32_t t = 0; t < stages; t++) /* of both, or of the forward's stage alone */
            out->overlapped[s][t] = value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, pairs == stages ? s : s * stages + t,
                                             -1);
    }
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        out->overhead[kind] = value_at(config, PPSCHED_QUANTITY_OP_OVERHEAD, (size_t)kind - PPSCHED_KIND_F, 0);
    for (uint32_t d = 0; d < devices; d++)
        out->speed[d] = value_at(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, d, 0);
    for (uint32_t d = 0; d < devices; d++)
        out->own_overhead[d] = value_at(config, PPSCHED_QUANTITY_DEVICE_OVERHEAD, d, 0);
    for (uint32_t from = 0; from < devices; from++)
        for (uint32_t to = 0; to < devices; to++) {
            out->delay[from][to] = value_at(config, PPSCHED_QUANTITY_P2P_TIME, from * devices + to, 0);
            out->bandwidth[from][to] = value_at(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, from * devices + to, HUGE_VAL);
        }
    for (uint32_t m = 0; m < microbatches; m++)
        for (uint32_t k = 0; k < slices; k++) {
            double time = value_at(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, m, 1);
            for (uint32_t s = 0; s < stages; s++)
                out->time_factor[s][m * slices + k] = time * slice_scale_at(config, s, k);
            out->memory_factor[m * slices + k] = value_at(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, m, time);
        }
}

double slice_scale_at(const ppsched_config *config, uint32_t stage, uint32_t slice)
{
    size_t count = 0;
    uint32_t slices = ppsched_config_slices(config);
    ppsched_config_values(config, PPSCHED_QUANTITY_SLICE_SCALE, &count);
    return value_at(config, PPSCHED_QUANTITY_SLICE_SCALE, count > slices ? stage * slices + slice : slice, 1);
}

double value_at(const ppsched_config *config, int32_t quantity, size_t index, double fallback)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    return count == 0 ? fallback : values[count == 1 ? 0 : index];
}
