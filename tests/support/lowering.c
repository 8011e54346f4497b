/* SPDX-License-Identifier: Apache-2.0 */
#include "support/lowering.h"

#include <stdlib.h>
#include <string.h>

#include "support/channel_rules.h"

ppsched_schedule *lower(const ppsched_schedule *schedule, const ppsched_config *config, int32_t lowering, int defer)
{
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    ppsched_lower_options options = {.size = sizeof options, .lowering = lowering, .defer_receives = (uint32_t)defer};
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    return lowered;
}

ppsched_schedule *lower_ahead(const ppsched_schedule *schedule, uint32_t lead)
{
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    ppsched_lower_options options = {
        .size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME, .receive_prefetch = lead};
    expect_ok(ppsched_schedule_lower(&lowered, schedule, NULL, &options, &error), &error);
    return lowered;
}

ppsched_config *random_problem(uint64_t *seed, const char **strategy)
{
    static const struct {
        const char *name;
        int chunks;
    } choices[] = {{"gpipe", 1},   {"1f1b", 1},       {"eager_1f1b", 1},       {"zb_h1", 1},
                   {"zb_h2", 1},   {"looped_bfs", 2}, {"interleaved_1f1b", 2}, {"interleaved_zb", 3},
                   {"zbv", 2},     {"dualpipe_v", 2}, {"1f1b_overlap", 1},     {"dualpipe", 1},
                   {"zb_auto", 1}, {"v_1f1b", 2},     {"zbv_auto", 2}};
    for (;;) {
        uint32_t k = random_below(seed, sizeof choices / sizeof choices[0]), devices = 1 + random_below(seed, MOST_DEVICES);
        ppsched_config *config = make_config(devices, (int64_t)devices * choices[k].chunks, 1 + random_below(seed, 14));
        set_number(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1 + random_below(seed, 3));
        set_number(config, PPSCHED_QUANTITY_BACKWARD_TIMES, 2 + random_below(seed, 5));
        set_number(config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 3));
        *strategy = choices[k].name;
        if (ppsched_strategy_fits(*strategy, config, NULL) == PPSCHED_OK)
            return config;
        ppsched_config_destroy(config);
    }
}

ppsched_schedule *shuffled(const ppsched_schedule *lowered, const ppsched_config *config, uint64_t *seed)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    for (uint32_t d = 0; d < ppsched_schedule_devices(lowered); d++) {
        size_t count = 0;
        const ppsched_op *given = ppsched_queue_ops(ppsched_schedule_queue(lowered, d), &count);
        ppsched_op *ops = malloc(count * sizeof *ops);
        memcpy(ops, given, count * sizeof *ops);
        for (size_t swaps = 2 * count; swaps > 0 && count > 1; swaps--) {
            size_t i = random_below(seed, (uint32_t)count - 1);
            ppsched_op a = ops[i], b = ops[i + 1];
            bool a_comm = is_send(&a) || is_receive(&a), b_comm = is_send(&b) || is_receive(&b);
            bool depends = a.microbatch == b.microbatch && a.stage == b.stage; /* producer and send, receive and consumer */
            bool in_pair = ((a.flags | b.flags) & PPSCHED_OP_FLAG_OVERLAPPED) != 0 ||
                           (i > 0 && (ops[i - 1].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0);
            if ((a_comm || b_comm) && !depends && !in_pair) {
                ops[i] = b;
                ops[i + 1] = a;
            }
        }
        expect_ok(ppsched_builder_append(builder, d, ops, count, &error), &error);
        free(ops);
    }
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}
