/* SPDX-License-Identifier: Apache-2.0 */
#include "portability/problems.h"

#include <string.h>

#include "support/problem.h"

struct size {
    uint32_t devices, chunks, microbatches, iterations;
};

/* Chunks are those of strategies that take any number. */
static const struct size sizes[] = {{1, 1, 3, 1}, {2, 2, 4, 2},  {3, 1, 7, 1},  {4, 2, 8, 1},
                                    {5, 3, 5, 1}, {6, 1, 12, 1}, {8, 1, 16, 1}, {9, 2, 9, 1}};
static const struct size search_sizes[] = {{1, 2, 2, 1}, {2, 2, 4, 2}, {3, 2, 5, 1}, {4, 2, 6, 1}};

enum { MOST_STAGES = 32 };

static void set(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

/* A value a stage: those of the list in turn. */
static void set_stages(ppsched_config *config, int32_t quantity, const double *list, uint32_t count)
{
    double values[MOST_STAGES];
    uint32_t stages = ppsched_config_stages(config);
    for (uint32_t s = 0; s < stages; s++)
        values[s] = list[s % count];
    set(config, quantity, values, stages);
}

/* A value a pair of devices: those of the list in turn. */
static void set_pairs(ppsched_config *config, int32_t quantity, const double *list, uint32_t count)
{
    double values[MOST_STAGES * MOST_STAGES];
    uint32_t pairs = ppsched_config_devices(config) * ppsched_config_devices(config);
    for (uint32_t i = 0; i < pairs; i++)
        values[i] = list[i % count];
    set(config, quantity, values, pairs);
}

static void set_decimals(ppsched_config *config)
{
    static const double forward[] = {10.402, 9.87, 11.3, 10.402, 12.61}, input[] = {10.1, 12.34, 9.999},
                        weight[] = {9.05, 8.7, 0.3}, latency[] = {0.1, 0.7, 1.3}, held[] = {1.1, 2.3, 0.7};
    set_stages(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 5);
    set_stages(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, input, 3);
    set_stages(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, weight, 3);
    set_pairs(config, PPSCHED_QUANTITY_P2P_TIME, latency, 3);
    set_stages(config, PPSCHED_QUANTITY_MEM_FORWARD, held, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, -0.3);
    set_number(config, PPSCHED_QUANTITY_MEM_STATIC, 3.3);
    set_number(config, PPSCHED_QUANTITY_MEM_WEIGHTS, 0.9);
}

static void set_links(ppsched_config *config)
{
    static const double backward[] = {2.2, 1.9, 2.7, 3.1, 2.3, 2.05, 1.7}, bandwidth[] = {3e9, 7e9, 1.1e9, 11e9},
                        bytes[] = {1234567891, 987654321, 777777777};
    set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1.0 / 3);
    set_stages(config, PPSCHED_QUANTITY_BACKWARD_TIMES, backward, 7);
    set_number(config, PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE, 0.37);
    set_stages(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, backward, 5);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.001);
    set_pairs(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, bandwidth, 4);
    set_stages(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, bytes, 3);
}

static void set_spread(ppsched_config *config)
{
    static const double forward[] = {1e16, 3.14159265358979, 1e-7, 1.0 / 7}, input[] = {5e-324, 1e-300, 123456.789, 0, 1e9},
                        weight[] = {1e-5, 2.5e15, 0.1}, held[] = {1e9 / 3, 1e-9, 0};
    set_stages(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, 4);
    set_stages(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, input, 5);
    set_stages(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, weight, 3);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 1e-3 / 3);
    set_stages(config, PPSCHED_QUANTITY_MEM_FORWARD, held, 3);
}

ppsched_config *make_problem(uint32_t devices, uint32_t stages, uint32_t microbatches, uint32_t iterations, enum costs costs)
{
    ppsched_error error;
    ppsched_config *config = make_config(devices, stages, microbatches);
    expect_ok(ppsched_config_set_iterations(config, iterations, &error), &error);
    if (costs == COSTS_DECIMAL || costs == COSTS_LIMITED)
        set_decimals(config);
    if (costs == COSTS_LIMITED)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT,
                   (34 * stages / devices + 14 * devices) / 8.0); /* exact on all machines */
    if (costs == COSTS_LINKS)
        set_links(config);
    if (costs == COSTS_SPREAD)
        set_spread(config);
    return config;
}

/* Each option of the strategy in turn: choices one after the other, the least effort, groups of 1 to 4 and the default. */
static void set_options(ppsched_config *config, uint32_t strategy, uint32_t count, int turn)
{
    static const char *const numbers[] = {NULL, "1", "2", "3", "4"};
    ppsched_error error;
    for (uint32_t o = 0; o < count; o++) {
        ppsched_option_info option = {.size = sizeof option};
        expect_ok(ppsched_strategy_get_option(&option, strategy, o, NULL), NULL);
        const char *value = option.choice_count > 0              ? option.choices[(uint32_t)turn % option.choice_count]
                            : strcmp(option.name, "effort") == 0 ? "1"
                                                                 : numbers[turn % 5];
        expect_ok(ppsched_config_set_option(config, option.name, value, &error), &error);
    }
}

ppsched_config *problem_of(uint32_t strategy, int number)
{
    ppsched_strategy_info info = {.size = sizeof info};
    expect_ok(ppsched_strategy_get_info(&info, strategy, NULL), NULL);
    const struct size *list = info.searches ? search_sizes : sizes;
    int count = (int)(info.searches ? sizeof search_sizes / sizeof sizes[0] : sizeof sizes / sizeof sizes[0]);
    if (number >= count * COSTS_COUNT)
        return NULL;
    const struct size *size = &list[number % count];
    ppsched_config *config = make_problem(size->devices, size->devices * (info.chunks != 0 ? info.chunks : size->chunks),
                                          size->microbatches, size->iterations, (enum costs)(number / count));
    set_options(config, strategy, info.option_count, number);
    return config;
}
