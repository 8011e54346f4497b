/* SPDX-License-Identifier: Apache-2.0 */
/* The names of enumerators: each has one of its own, and no other number has any. tests/abi/grammar.py holds the rows against
 * the headers; tests/python/test_api.py tells which words the names are. Kinds of ops, quantities and statuses have tests of
 * their own. */
#include "support/last.h"
#include "support/problem.h"

#include <limits.h>
#include <string.h>

#define ROW(enumeration, first, last)                                                                                          \
    {                                                                                                                          \
#enumeration, ppsched_##enumeration##_name, first, last                                                                \
    }

static const struct {
    const char *enumeration;
    const char *(*name)(int32_t value);
    int32_t first, last;
} rows[] = {
    ROW(block_kind, PPSCHED_BLOCK_KIND_ATTENTION, PPSCHED_BLOCK_KIND_LINEAR),
    ROW(calibrator_constant, PPSCHED_CALIBRATOR_CONSTANT_MATRIX_SHARE, PPSCHED_CALIBRATOR_CONSTANT_NVFP4_SHARE),
    ROW(chakra_links, PPSCHED_CHAKRA_LINKS_SENDERS, PPSCHED_CHAKRA_LINKS_RANKS),
    ROW(chakra_sizes, PPSCHED_CHAKRA_SIZES_BYTES, PPSCHED_CHAKRA_SIZES_TIMES),
    ROW(channel_order, PPSCHED_CHANNEL_ORDER_GROUP, PPSCHED_CHANNEL_ORDER_SENDS),
    ROW(collective, PPSCHED_COLLECTIVE_ALL_REDUCE, PPSCHED_COLLECTIVE_SEND),
    ROW(connecting, PPSCHED_CONNECTING_LINKS, PPSCHED_CONNECTING_STAGES),
    ROW(dispatch, PPSCHED_DISPATCH_PLANNED, PPSCHED_DISPATCH_READY),
    ROW(finding_kind, PPSCHED_FINDING_KIND_MISSING, PPSCHED_FINDING_KIND_CONFLICT),
    ROW(format, PPSCHED_FORMAT_TEXT, LAST_FORMAT),
    ROW(job_dimension, PPSCHED_JOB_DIMENSION_TENSOR, PPSCHED_JOB_DIMENSION_RANK_ORDER),
    ROW(job_goal, PPSCHED_JOB_GOAL_STEP, PPSCHED_JOB_GOAL_TOKENS),
    ROW(job_state, PPSCHED_JOB_STATE_LISTED, PPSCHED_JOB_STATE_PRICED),
    ROW(layer_place, PPSCHED_LAYER_PLACE_ANY, PPSCHED_LAYER_PLACE_LAST),
    ROW(log_level, PPSCHED_LOG_LEVEL_WARNING, PPSCHED_LOG_LEVEL_INFO),
    ROW(lowering, PPSCHED_LOWERING_NONE, PPSCHED_LOWERING_JUST_IN_TIME),
    ROW(measure, PPSCHED_MEASURE_FORMULA, PPSCHED_MEASURE_OTHERS),
    ROW(memory_cause, PPSCHED_MEMORY_CAUSE_STATIC, PPSCHED_MEMORY_CAUSE_ACTIVATIONS),
    ROW(model_pass, PPSCHED_MODEL_PASS_FORWARD, PPSCHED_MODEL_PASS_MODULES),
    ROW(model_role, PPSCHED_MODEL_ROLE_EMBEDDING, PPSCHED_MODEL_ROLE_HEAD),
    ROW(objective, PPSCHED_OBJECTIVE_SPAN, PPSCHED_OBJECTIVE_MAKESPAN),
    ROW(pair_rule, PPSCHED_PAIR_RULE_BEST, PPSCHED_PAIR_RULE_MEGATRON_DELAYED),
    ROW(placement, PPSCHED_PLACEMENT_DEFAULT, PPSCHED_PLACEMENT_MAP),
    ROW(precision, PPSCHED_PRECISION_BF16, PPSCHED_PRECISION_NVFP4),
    ROW(rank_by, PPSCHED_RANK_BY_STEP, PPSCHED_RANK_BY_WORST),
    ROW(rank_order, PPSCHED_RANK_ORDER_DATA_FIRST, PPSCHED_RANK_ORDER_PIPELINE_FIRST),
    ROW(reason, PPSCHED_REASON_BEGIN, PPSCHED_REASON_TRANSFER),
    ROW(runtime, PPSCHED_RUNTIME_MEGATRON, LAST_RUNTIME),
    ROW(sender_waits, PPSCHED_SENDER_WAITS_NEVER, PPSCHED_SENDER_WAITS_LIKE_KIND),
    ROW(slot_use, PPSCHED_SLOT_USE_STAGE_MICROBATCH, PPSCHED_SLOT_USE_RECEIVE),
    ROW(stage_passes, PPSCHED_STAGE_PASSES_FORWARD_BACKWARD, PPSCHED_STAGE_PASSES_FORWARD),
    ROW(steady_reason, PPSCHED_STEADY_REASON_FOUND, PPSCHED_STEADY_REASON_ROUNDING),
    ROW(unshard_lookahead, PPSCHED_UNSHARD_LOOKAHEAD_FULL, PPSCHED_UNSHARD_LOOKAHEAD_NEEDED),
};

static void test_each_enumerator_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int32_t value = rows[i].first; value <= rows[i].last; value++) {
            const char *name = rows[i].name(value);
            if (name == NULL || name[0] == '\0')
                fail_msg("%d of %s has no name", value, rows[i].enumeration);
            for (int32_t other = rows[i].first; other < value; other++)
                if (strcmp(rows[i].name(other), name) == 0)
                    fail_msg("%d and %d of %s are both called %s", other, value, rows[i].enumeration, name);
        }
}

static void test_other_numbers_have_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int32_t others[] = {INT32_MIN, -1, rows[i].first - 1, rows[i].last + 1, INT32_MAX};
        for (size_t j = 0; j < sizeof others / sizeof others[0]; j++)
            if (rows[i].name(others[j]) != NULL)
                fail_msg("%d of %s is called %s", others[j], rows[i].enumeration, rows[i].name(others[j]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_enumerator_has_a_name_of_its_own),
                                       cmocka_unit_test(test_other_numbers_have_none)};
    return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
