/* SPDX-License-Identifier: Apache-2.0 */
/* Tabu search by itself: what counts more and less the longer it goes on. */
#include "support/problem.h"

#include "base/checked.h"
#include "search/explore.h"
#include "search/tabu.h"

#include <string.h>

enum { DEVICES = 10, MICROBATCHES = 10, STALE = 125, PATIENCE = 10 };

static void read_order(struct ppi_orders *orders, const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = make_schedule(config, strategy);
    for (uint32_t d = 0; d < orders->devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        orders->count[d] = queue->count;
        memcpy(orders->ops + orders->first[d], schedule->ops + queue->first, queue->count * sizeof *orders->ops);
    }
    ppsched_schedule_release(schedule);
}

/* While all devices hold too much, or none does: what lies above the limits weighs twice as much, or half, after so many steps,
 * but never less than the least. */
static void expect_weight(bool fits)
{
    static const double forward[DEVICES] = {3, 5, 4, 2, 6, 3, 5, 4, 1, 2};
    ppsched_config *config = make_config(DEVICES, DEVICES, MICROBATCHES);
    struct ppi_attempt attempt = {0};
    struct ppi_tabu tabu;
    double objective = 0;
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, forward, DEVICES, &error), &error);
    expect_ok(ppi_attempt_make(&attempt, NULL, "tabu", config, PPSCHED_PLACEMENT_DEFAULT, false, &error), &error);
    attempt.goal = 0; /* goes on, however good */
    expect_ok(ppi_tabu_make(&tabu, &attempt.arena, &attempt, 1e9, &error), &error);
    for (uint32_t d = 0; d < DEVICES && !fits; d++)
        attempt.problem.device[d].limit = 0;
    read_order(&attempt.candidate, config, "gpipe");
    ppi_graph_read(&tabu.graph, &attempt.candidate);
    expect_ok(ppi_tabu_local_search(&tabu, &attempt.candidate, STALE, &objective, &error), &error);
    double weight = 1000 * tabu.least_weight;
    for (uint32_t step = PATIENCE; step <= tabu.steps; step += PATIENCE)
        weight = fits ? ppi_larger(weight / 2, tabu.least_weight) : 2 * weight;
    assert_true(tabu.steps > 3 * PATIENCE && ppi_is_finite(objective) == fits);
    assert_int_equal(tabu.run, fits ? (int32_t)tabu.steps : -(int32_t)tabu.steps);
    assert_true(tabu.weight == weight);
    ppi_attempt_clear(&attempt);
    ppsched_config_destroy(config);
}

static void test_weight_within_limits(void **state)
{
    (void)state;
    expect_weight(true);
}

static void test_weight_above_limits(void **state)
{
    (void)state;
    expect_weight(false);
}

/* The caller wants no more at one of its questions; it is asked once more then. */
struct caller {
    uint32_t asked, cancels_at;
};

static int32_t answer(void *user, const ppsched_progress *progress)
{
    struct caller *caller = user;
    (void)progress;
    return ++caller->asked >= caller->cancels_at;
}

/* Relinks orders until the last question before it would end by itself, wherever in the search that comes. */
static void test_relinking_ends_when_cancelled(void **state)
{
    static const char *const strategies[] = {"gpipe", "1f1b", "zb_h1", "zb_h2"};
    (void)state;
    for (uint32_t k = 1; k <= 16; k++) {
        ppsched_config *config = make_config(4, 4, 6);
        struct ppi_attempt attempt = {0};
        struct ppi_pool pool;
        struct caller caller = {0, k};
        ppsched_error error;
        expect_ok(ppi_attempt_make(&attempt, NULL, "tabu", config, PPSCHED_PLACEMENT_DEFAULT, false, &error), &error);
        expect_ok(ppi_pool_make(&pool, &attempt.arena, &attempt.problem, &error), &error);
        attempt.goal = 0;
        for (uint32_t i = 0; i < 4; i++) {
            read_order(&attempt.candidate, config, strategies[i]);
            ppi_pool_offer(&pool, &attempt.candidate, 100 + i);
        }
        expect_ok(ppsched_config_set_progress(config, answer, &caller, &error), &error);
        ppsched_status status = ppi_relink(&attempt, &pool, k * PPI_VISITS_UNASKED + 1e5, &error);
        assert_int_equal(status, PPSCHED_ERROR_CANCELLED);
        ppi_attempt_clear(&attempt);
        ppsched_config_destroy(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weight_within_limits),
        cmocka_unit_test(test_weight_above_limits),
        cmocka_unit_test(test_relinking_ends_when_cancelled),
    };
    return cmocka_run_group_tests_name("tabu", tests, NULL, NULL);
}
