/* SPDX-License-Identifier: Apache-2.0 */
/* Plans, while memory runs out. */
#include "support/plan_choice.h"
#include "support/shortage.h"

/* All that there is by default, with lists, a channel model and ends, and with layers. */
static ppsched_status plan_create(struct attempt *attempt)
{
    static const uint32_t microbatches[] = {4, 8};
    static const double limits[] = {2, 4};
    const ppsched_channel_model channel = {.size = sizeof channel, .rendezvous = 1};
    const ppsched_model_end end = {.size = sizeof end, .forward_time = 0.25};
    const struct plan_choice options = {.size = sizeof options,
                                        .microbatches = microbatches,
                                        .microbatch_count = 2,
                                        .memory_limits = limits,
                                        .memory_limit_count = 2,
                                        .effort = 1,
                                        .lowering = PPSCHED_LOWERING_PYTORCH,
                                        .channel = &channel,
                                        .embedding = &end,
                                        .head = &end};
    const struct plan_choice layered = {.size = sizeof layered, .layers = attempt->own.layers, .runtime = 1};
    const double slow[] = {1, 2};
    const ppsched_scenario_options scenarios = {.size = sizeof scenarios, .device_factors = slow, .device_factor_count = 2};
    const struct plan_choice varied = {
        .size = sizeof varied, .slices = microbatches, .slice_count = 2, .scenario_options = &scenarios, .scenario_count = 2};
    const struct plan_choice *const all[] = {NULL, &options, &layered, &varied};
    ppsched_plan *made = UNTOUCHED;
    ppsched_status status = create_plan(&made, attempt->own.config, all[attempt->variant], &attempt->error);
    return take_plan(attempt, status, made);
}

/* Each candidate that is not evaluated yet. */
static ppsched_status plan_evaluate(struct attempt *attempt)
{
    return ppsched_plan_evaluate(attempt->own.plan, (size_t)attempt->variant + 1, &attempt->error);
}

static ppsched_status plan_run(struct attempt *attempt)
{
    return ppsched_plan_run(attempt->own.plan, &attempt->error);
}

static ppsched_status plan_create_config(struct attempt *attempt)
{
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_plan_create_config(&made, attempt->own.plan, (size_t)attempt->variant, &attempt->error);
    return take_config(attempt, status, made);
}

static ppsched_status plan_create_timeline(struct attempt *attempt)
{
    ppsched_timeline *made = UNTOUCHED;
    ppsched_status status = ppsched_plan_create_timeline(&made, attempt->own.plan, (size_t)attempt->variant, &attempt->error);
    return take_timeline(attempt, status, made);
}

/* With all candidates evaluated. */
static void prepare_least_limit(struct attempt *attempt)
{
    expect_ok(ppsched_plan_run(attempt->own.plan, NULL), NULL);
}

static ppsched_status plan_find_least_limit(struct attempt *attempt)
{
    struct {
        double limit;
        uint32_t candidate, unused;
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_plan_find_least_limit(&out.limit, &out.candidate, attempt->own.plan, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHORTAGE(plan_create, .variants = 4, .with_plan = 1),
        SHORTAGE(plan_evaluate, .variants = 7, .with_plan = 1),
        SHORTAGE(plan_run, .variants = 1, .with_plan = 1, .keeps_work = 1),
        SHORTAGE(plan_create_config, .variants = 8, .with_plan = 1),
        SHORTAGE(plan_create_timeline, .variants = 8, .with_plan = 1),
        SHORTAGE(plan_find_least_limit, .variants = 1, .with_plan = 1, .prepare = prepare_least_limit),
        SHORTAGE(plan_evaluate, .variants = 7, .with_plan = 2),
        SHORTAGE(plan_run, .variants = 1, .with_plan = 2, .keeps_work = 1),
        SHORTAGE(plan_create_config, .variants = 8, .with_plan = 2),
        SHORTAGE(plan_create_timeline, .variants = 8, .with_plan = 2),
        SHORTAGE(plan_find_least_limit, .variants = 1, .with_plan = 2, .prepare = prepare_least_limit),
        SHORTAGE(plan_evaluate, .variants = 3, .with_plan = 3),
        SHORTAGE(plan_run, .variants = 1, .with_plan = 3, .keeps_work = 1),
        SHORTAGE(plan_create_config, .variants = 3, .with_plan = 3),
        SHORTAGE(plan_create_timeline, .variants = 3, .with_plan = 3),
        SHORTAGE(plan_evaluate, .variants = 1, .with_plan = 4),
        SHORTAGE(plan_run, .variants = 1, .with_plan = 4, .keeps_work = 1),
        SHORTAGE(plan_create_config, .variants = 2, .with_plan = 4),
        SHORTAGE(plan_create_timeline, .variants = 2, .with_plan = 4),
    };
    return cmocka_run_group_tests_name("allocation_plan", tests, NULL, NULL);
}
