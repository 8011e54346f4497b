/* SPDX-License-Identifier: Apache-2.0 */
#include "support/uneven.h"

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

double value_at(const ppsched_config *config, int32_t quantity, size_t index, double fallback)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    return count == 0 ? fallback : values[count == 1 ? 0 : index];
}
