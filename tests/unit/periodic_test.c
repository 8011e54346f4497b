/* SPDX-License-Identifier: Apache-2.0 */
/* Repeating patterns and compaction on any placement of one copy: nothing meets, whatever the Ws become; limits are told as if
 * counted op by op; what is compacted can be run in the time that it says, and is not longer than before. */
#include "support/uneven.h"

#include "search/compact.h"
#include "search/periodic.h"
#include "search/price.h"

#include <math.h>

enum { MOST_DEVICES = 5, MOST_STAGES = 10, TRIALS = 2000 };

/* A random problem with all that hangs on it. */
struct trial {
    ppsched_config *config;
    struct ppi_arena arena;
    struct ppi_problem problem;
    struct ppi_orders orders;
    struct ppi_periodic pattern;
    struct ppi_compactor compactor;
    struct ppi_pricer pricer;
};

static void set_random(ppsched_config *config, int32_t quantity, uint64_t *state, size_t count, uint32_t least, uint32_t most)
{
    double values[MOST_STAGES];
    for (size_t i = 0; i < count; i++)
        values[i] = least + random_below(state, 8 * (most - least) + 1) / 8.0;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, NULL), NULL);
}

static void open_trial(struct trial *trial)
{
    trial->arena.host = &trial->config->host;
    expect_ok(ppi_problem_make(&trial->problem, &trial->arena, trial->config, PPSCHED_PLACEMENT_DEFAULT, true, NULL), NULL);
    expect_ok(ppi_orders_make(&trial->orders, &trial->arena, &trial->problem, NULL), NULL);
    expect_ok(ppi_periodic_make(&trial->pattern, &trial->arena, &trial->problem, NULL), NULL);
    expect_ok(ppi_compactor_make(&trial->compactor, &trial->arena, &trial->problem, NULL), NULL);
}

static void make_trial(struct trial *trial, uint64_t *state)
{
    uint32_t devices = 1 + random_below(state, MOST_DEVICES);
    uint32_t stages = devices + random_below(state, MOST_STAGES - devices + 1), map[MOST_STAGES];
    *trial = (struct trial){.config = make_config(devices, stages, 1 + random_below(state, 12))};
    for (uint32_t s = 0; s < stages; s++)
        map[s] = s < devices ? s : random_below(state, devices);
    expect_ok(ppsched_config_set_placement(trial->config, PPSCHED_PLACEMENT_MAP, map, stages, NULL), NULL);
    set_random(trial->config, PPSCHED_QUANTITY_FORWARD_TIMES, state, stages, 0, 4);
    set_random(trial->config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, state, stages, 0, 4);
    set_random(trial->config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, state, stages, 1, 4);
    set_uneven(trial->config, PPSCHED_QUANTITY_P2P_TIME, (size_t)devices * devices, 0, state);
    set_uneven(trial->config, PPSCHED_QUANTITY_P2P_BANDWIDTH, (size_t)devices * devices, 4, state);
    set_uneven(trial->config, PPSCHED_QUANTITY_ACTIVATION_BYTES, stages, 0, state);
    set_random(trial->config, PPSCHED_QUANTITY_MEM_FORWARD, state, stages, 1, 3);
    set_number(trial->config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, random_below(state, 3) / -2.0);
    set_uneven(trial->config, PPSCHED_QUANTITY_MEM_LIMIT, devices, 4 + random_below(state, 30), state);
    open_trial(trial);
}

static void clear_trial(struct trial *trial)
{
    ppi_pricer_clear(&trial->pricer);
    ppi_arena_clear(&trial->arena);
    ppsched_config_destroy(trial->config);
}

/* Lays a pattern into the shortest period that it finds, from the least on. */
static void lay(struct trial *trial, enum ppi_weights weights)
{
    struct ppi_recipe recipe = {.period = trial->problem.split_work, .share = 1, .weights = weights, .crowds = false};
    while (!ppi_periodic_lay(&trial->pattern, &trial->problem, &recipe))
        recipe.period *= 1.1;
}

static double price(struct trial *trial)
{
    double span = 0;
    ppsched_error error;
    expect_ok(ppi_pricer_put(&trial->pricer, trial->config, PPSCHED_PLACEMENT_DEFAULT, &trial->orders, &error), &error);
    expect_ok(ppi_pricer_time(&trial->pricer, 1, &span, &error), &error);
    return span;
}

/* The most memory over a device's limit, or below it where negative. */
static double excess(const struct trial *trial)
{
    double most = -INFINITY;
    for (uint32_t d = 0; d < trial->problem.devices; d++) {
        const ppsched_op *op = trial->orders.ops + trial->orders.first[d];
        double level = 0;
        for (size_t i = 0; i < trial->orders.count[d]; i++, op++) {
            level += trial->problem.stage[op->stage].memory[op->kind];
            most = fmax(most, level - trial->problem.device[d].limit);
        }
    }
    return most;
}

/* Each op starts behind what it needs, and no two of a device meet, in whichever period. */
static void expect_apart(const struct trial *trial, uint32_t links)
{
    const struct ppi_problem *problem = &trial->problem;
    double period = trial->pattern.period;
    for (uint32_t i = 0; i < links; i++) {
        const struct ppi_beat *beat = &trial->pattern.beat[i];
        const struct ppi_stage *stage = &problem->stage[beat->stage];
        assert_true(fabs(beat->turn * period + beat->phase - beat->start) < 1e-9);
        if (i > 0) {
            const struct ppi_beat *input = &trial->pattern.beat[i < 2 * problem->stages ? i - 1 : i - problem->stages];
            double delay = beat->kind == PPSCHED_KIND_F   ? stage->forward_delay
                           : beat->kind == PPSCHED_KIND_W ? 0
                                                          : stage->backward_delay;
            assert_true(beat->start >= input->start + input->length + delay - 1e-9);
        }
        for (uint32_t j = 0; j < links; j++) {
            const struct ppi_beat *other = &trial->pattern.beat[j];
            double behind = fmod(beat->phase - other->phase + period, period);
            if (i != j && problem->stage[other->stage].device == stage->device && behind < period - 1e-6)
                assert_true(behind > other->length - 1e-6 || (behind < 1e-6 && beat->length == 0));
        }
    }
}

/* Periods that have begun when the first microbatch has run all its ops. */
static uint32_t most_turns(const struct trial *trial, uint32_t ops_of_pass)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < ops_of_pass * trial->problem.stages; i++)
        most = trial->pattern.beat[i].turn + 1 > most ? trial->pattern.beat[i].turn + 1 : most;
    return most;
}

/* Whether a device's forwards stay within its limit in the first period in which all its beats run, or, with fewer microbatches
 * than that, in any: by running what repeats. */
static bool fits_by_count(const struct trial *trial, uint32_t d, uint32_t microbatches)
{
    const struct ppi_beats *row = &trial->pattern.row[d];
    uint32_t steady = 0;
    double level = 0;
    for (uint32_t i = 0; i < row->count; i++)
        steady = row->beat[i]->turn + 1 > steady ? row->beat[i]->turn + 1 : steady;
    for (uint32_t turn = 0; turn <= 2 * steady; turn++)
        for (uint32_t i = 0; i < row->count; i++) {
            const struct ppi_beat *beat = row->beat[i];
            uint32_t microbatch = turn - beat->turn;
            if (turn < beat->turn || microbatch >= microbatches)
                continue;
            level += trial->problem.stage[beat->stage].memory[beat->kind];
            if (beat->kind == PPSCHED_KIND_F && (microbatch == steady || microbatches <= steady) &&
                level > ppi_device_allows(&trial->problem.device[d]) + 1e-9)
                return false;
        }
    return true;
}

static void expect_fits(const struct trial *trial, bool endless)
{
    bool fits = true;
    for (uint32_t d = 0; d < trial->problem.devices; d++)
        if (trial->problem.microbatches * trial->problem.device[d].least > trial->problem.device[d].limit)
            fits = fits && fits_by_count(trial, d, endless ? UINT32_MAX : trial->problem.microbatches);
    assert_int_equal(ppi_periodic_fits(&trial->pattern, &trial->problem, endless), fits);
}

static void test_patterns(void **state)
{
    uint64_t seed = 21;
    int fitting = 0, over = 0;
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        static const enum ppi_weights all[] = {PPI_WEIGHTS_JOINED, PPI_WEIGHTS_EARLY, PPI_WEIGHTS_LATE};
        struct trial trial;
        make_trial(&trial, &seed);
        for (int w = 0; w < 3; w++) {
            lay(&trial, all[w]);
            expect_apart(&trial, (w == 0 ? 2 : 3) * trial.problem.stages);
            ppi_periodic_repeat(&trial.pattern, &trial.problem, &trial.orders);
            bool fits = ppi_periodic_fits(&trial.pattern, &trial.problem, false), is_over = excess(&trial) > 1e-6;
            expect_fits(&trial, false);
            expect_fits(&trial, true);
            assert_false(!fits && !is_over);
            assert_false(fits && is_over && trial.problem.microbatches > 2 * most_turns(&trial, w == 0 ? 2 : 3));
            assert_false(ppi_periodic_fits(&trial.pattern, &trial.problem, true) && is_over);
            price(&trial);
            fitting += fits;
            over += !fits;
        }
        clear_trial(&trial);
    }
    assert_true(fitting > TRIALS / 4 && over > TRIALS / 4);
}

/* However many follow one another, a device that can just hold all of the problem's is not asked; one that cannot is. */
static void test_what_holds_all_at_once(void **state)
{
    static const double limits[] = {2, 1.75};
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct trial trial = {.config = make_config(8, 8, 2)};
        open_trial(&trial);
        for (uint32_t d = 0; d < 8; d++)
            trial.problem.device[d].limit = limits[k];
        lay(&trial, PPI_WEIGHTS_JOINED);
        assert_int_equal(ppi_periodic_fits(&trial.pattern, &trial.problem, true), k == 0);
        clear_trial(&trial);
    }
}

static void test_compaction(void **state)
{
    uint64_t seed = 22;
    int shorter = 0, filled = 0;
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        struct trial trial;
        double span = 0, before = INFINITY;
        make_trial(&trial, &seed);
        for (int w = 0; w < 2; w++) {
            lay(&trial, w == 0 ? PPI_WEIGHTS_JOINED : PPI_WEIGHTS_LATE);
            ppi_periodic_repeat(&trial.pattern, &trial.problem, &trial.orders);
            if (excess(&trial) > 0)
                continue;
            before = price(&trial);
            for (int round = 0; round < 3; round++) {
                assert_true(ppi_compact(&trial.compactor, &trial.orders, round == 1, &span));
                double priced = price(&trial);
                assert_true(round == 1 ? priced <= span + 1e-9 : fabs(priced - span) < 1e-9);
                assert_true(excess(&trial) <= 1e-6);
            }
            shorter += span < before - 1e-6;
            if (w == 0)
                continue;
            assert_true(ppi_compact_and_fill(&trial.compactor, &trial.orders, &span));
            assert_true(price(&trial) <= span + 1e-9 && excess(&trial) <= 1e-6);
            filled++;
        }
        clear_trial(&trial);
    }
    assert_true(shorter > TRIALS / 4 && filled > TRIALS / 4);
}

/* An order that no device can go on with is refused, and left as it is. */
static void test_order_that_waits_for_itself(void **state)
{
    uint64_t seed = 23;
    struct trial trial;
    double span;
    (void)state;
    make_trial(&trial, &seed);
    lay(&trial, PPI_WEIGHTS_LATE);
    ppi_periodic_repeat(&trial.pattern, &trial.problem, &trial.orders);
    ppsched_op *op = trial.orders.ops + trial.orders.first[trial.problem.stage[0].device], first = *op;
    op[0] = op[trial.orders.count[0] - 1];
    op[trial.orders.count[0] - 1] = first;
    assert_false(ppi_compact(&trial.compactor, &trial.orders, false, &span));
    assert_int_equal(op[trial.orders.count[0] - 1].kind, PPSCHED_KIND_F);
    clear_trial(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_what_holds_all_at_once),
        cmocka_unit_test(test_compaction),
        cmocka_unit_test(test_order_that_waits_for_itself),
    };
    return cmocka_run_group_tests_name("periodic", tests, NULL, NULL);
}
