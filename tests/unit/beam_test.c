/* SPDX-License-Identifier: Apache-2.0 */
/* The beam search by itself: schedules that it leaves out beside others with the same ops are none that a best one needs. */
#include "support/problem.h"

#include "search/explore.h"
#include "strategy/strategy.h"

enum { DEVICES = 3, STAGES = 6, MICROBATCHES = 5 };

/* Two stages a device, and the makespan than which auto finds none shorter, with effort 7 either. */
struct known {
    double forward[STAGES], input[STAGES], weight[STAGES];
    double delay, limit, makespan;
};

static void set_list(ppsched_config *config, int32_t quantity, const double *values)
{
    expect_ok(ppsched_config_set_values(config, quantity, values, STAGES, NULL), NULL);
}

static double search(const struct known *known, const struct ppi_beam *beam)
{
    ppsched_config *config = make_config(DEVICES, STAGES, MICROBATCHES);
    struct ppi_attempt attempt = {0};
    struct ppi_task task;
    uint32_t strategy;
    ppsched_error error;
    set_list(config, PPSCHED_QUANTITY_FORWARD_TIMES, known->forward);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, known->input);
    set_list(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, known->weight);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, known->delay);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, known->limit);
    expect_ok(ppi_strategy_find("auto", &strategy, &error), &error);
    expect_ok(ppi_task_make(&task, ppi_strategy_at(strategy), config, &error), &error);
    expect_ok(ppi_attempt_make(&attempt, &task, "auto", config, PPSCHED_PLACEMENT_DEFAULT, false, &error), &error);
    expect_ok(ppi_search_beam(&attempt, beam, &error), &error);
    double makespan = attempt.objective;
    ppi_attempt_clear(&attempt);
    ppsched_config_destroy(config);
    return makespan;
}

/* With delays that are long beside the ops, so that many passes are under way from stage to stage. */
static void test_wide_beams(void **state)
{
    static const struct known all[] = {
        {{2, 4, 4, 3, 3, 5}, {6, 4, 5, 5, 3, 3}, {1, 2, 6, 6, 4, 2}, 17, 8, 328},
        {{5, 3, 2, 5, 4, 6}, {3, 5, 3, 6, 1, 2}, {2, 6, 3, 4, 4, 1}, 10, 6, 264},
        {{5, 5, 2, 6, 3, 2}, {6, 3, 3, 6, 3, 3}, {4, 1, 2, 3, 5, 4}, 21, 8, 386},
    };
    static const struct ppi_beam wide = {.width = 2000, .mean_weight = 1};
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        assert_true(search(&all[i], &wide) <= all[i].makespan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_beams),
    };
    return cmocka_run_group_tests_name("beam", tests, NULL, NULL);
}
