/* SPDX-License-Identifier: Apache-2.0 */
/* Orders as graphs: over random problems and random shifts, heads are the evaluator's starts, estimates of neighbours are
 * never above what comes of them, memory above the limits is that of a count op by op, and what was allowed can be run. */
#include "support/failing_allocator.h"
#include "support/uneven.h"

#include "search/periodic.h"
#include "search/price.h"
#include "search/shift.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 5, MOST_STAGES = 10, TRIALS = 400, SHIFTS = 120 };

struct trial {
    ppsched_config *config;
    struct ppi_arena arena;
    struct ppi_problem problem;
    struct ppi_orders orders, again;
    struct ppi_periodic pattern;
    struct ppi_pricer pricer;
    struct ppi_graph graph;
    uint32_t *place;
};

static void set_random(ppsched_config *config, int32_t quantity, uint64_t *state, size_t count, uint32_t least, uint32_t most)
{
    double values[MOST_STAGES];
    for (size_t i = 0; i < count; i++)
        values[i] = least + random_below(state, 8 * (most - least) + 1) / 8.0;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, NULL), NULL);
}

static void set_costs(ppsched_config *config, uint64_t *state, uint32_t stages)
{
    uint32_t devices = ppsched_config_devices(config);
    set_random(config, PPSCHED_QUANTITY_FORWARD_TIMES, state, stages, 0, 4);
    set_random(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, state, stages, 0, 4);
    set_random(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, state, stages, 0, 4);
    set_uneven(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)devices * devices, 0, state);
    set_random(config, PPSCHED_QUANTITY_MEM_FORWARD, state, stages, 1, 3);
    set_number(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, random_below(state, 3) / -2.0);
    set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, devices, 4 + random_below(state, 30), state);
}

static void make_trial(struct trial *trial, const ppsched_environment *environment, uint64_t *state)
{
    uint32_t devices = 1 + random_below(state, MOST_DEVICES), map[MOST_STAGES];
    uint32_t stages = devices + random_below(state, MOST_STAGES - devices + 1), microbatches = 1 + random_below(state, 8);
    *trial = (struct trial){.config = NULL};
    expect_ok(ppsched_config_create(&trial->config, devices, stages, microbatches, environment, NULL), NULL);
    for (uint32_t s = 0, turn = random_below(state, devices); s < stages; s++)
        map[s] = s < devices ? (s + turn) % devices : random_below(state, devices);
    expect_ok(ppsched_config_set_placement(trial->config, PPSCHED_PLACEMENT_MAP, map, stages, NULL), NULL);
    set_costs(trial->config, state, stages);
    if (environment != NULL)
        set_uneven(trial->config, PPSCHED_QUANTITY_MICROBATCH_SCALE, microbatches, 1, state);
    trial->arena.host = &trial->config->host;
    expect_ok(ppi_problem_make(&trial->problem, &trial->arena, trial->config, PPSCHED_PLACEMENT_DEFAULT,
                               random_below(state, 2) == 0, NULL),
              NULL);
    if (trial->problem.by_span)
        trial->problem.span_share = 1.0 / (1 + random_below(state, 3));
    expect_ok(ppi_orders_make(&trial->orders, &trial->arena, &trial->problem, NULL), NULL);
    expect_ok(ppi_orders_make(&trial->again, &trial->arena, &trial->problem, NULL), NULL);
    expect_ok(ppi_periodic_make(&trial->pattern, &trial->arena, &trial->problem, NULL), NULL);
    expect_ok(ppi_graph_make(&trial->graph, &trial->arena, &trial->problem, NULL), NULL);
    trial->place = ppi_arena_take(&trial->arena, ppi_problem_ops(&trial->problem) + 2 * trial->problem.microbatches,
                                  sizeof *trial->place);
}

static void clear_trial(struct trial *trial)
{
    ppi_pricer_clear(&trial->pricer);
    ppi_arena_clear(&trial->arena);
    ppsched_config_destroy(trial->config);
}

/* Some order: all backwards whole, or split, or here and there one joined with its W. */
static void draw_order(struct trial *trial, uint64_t *state)
{
    struct ppi_recipe recipe = {.period = 8 + random_below(state, 40), .share = 1, .crowds = true};
    recipe.weights = random_below(state, 3) == 0 ? PPI_WEIGHTS_JOINED : PPI_WEIGHTS_LATE;
    ppi_periodic_lay(&trial->pattern, &trial->problem, &recipe);
    ppi_periodic_repeat(&trial->pattern, &trial->problem, &trial->orders);
    for (uint32_t d = 0; d < trial->problem.devices; d++) {
        ppsched_op *ops = trial->orders.ops + trial->orders.first[d];
        size_t kept = 0;
        for (size_t i = 0; i < trial->orders.count[d]; i++) {
            ppsched_op *before = kept > 0 ? &ops[kept - 1] : NULL;
            if (ops[i].kind == PPSCHED_KIND_W && before != NULL && before->kind == PPSCHED_KIND_I &&
                before->stage == ops[i].stage && before->microbatch == ops[i].microbatch && random_below(state, 2) == 0)
                before->kind = PPSCHED_KIND_B;
            else
                ops[kept++] = ops[i];
        }
        trial->orders.count[d] = kept;
    }
}

static double price(struct trial *trial, const struct ppi_orders *orders)
{
    double objective = 0;
    ppsched_error error;
    expect_ok(ppi_pricer_put(&trial->pricer, trial->config, PPSCHED_PLACEMENT_DEFAULT, orders, &error), &error);
    expect_ok(ppi_pricer_time(&trial->pricer, trial->problem.span_share, &objective, &error), &error);
    return objective;
}

static double excess_of(const struct trial *trial, const struct ppi_orders *orders)
{
    double excess = 0;
    for (uint32_t d = 0; d < trial->problem.devices; d++) {
        double level = 0;
        for (size_t i = 0; i < orders->count[d]; i++) {
            const ppsched_op *op = &orders->ops[orders->first[d] + i];
            double memory = trial->problem.stage[op->stage].memory[op->kind];
            level += memory;
            excess += memory > 0 ? fmax(0, level - trial->problem.device[d].limit) : 0;
        }
    }
    return excess;
}

/* By the makespan some op has just what the objective is on its longest path; for the span it is never more. */
static void expect_tails(const struct ppi_graph *graph)
{
    double objective = ppi_graph_objective(graph, 0, NULL), most = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        const struct ppi_node *node = &graph->node[graph->queue[i]];
        most = fmax(most, node->head + node->length + node->tail);
    }
    assert_true(most <= objective + 1e-9 && (graph->problem->by_span || most >= objective - 1e-9));
}

static void expect_graph(struct trial *trial, int *told)
{
    expect_tails(&trial->graph);
    ppi_graph_write(&trial->graph, &trial->again);
    assert_true(ppi_graph_objective(&trial->graph, 0, NULL) == price(trial, &trial->again));
    assert_true(fabs(ppi_graph_excess(&trial->graph) - excess_of(trial, &trial->again)) < 1e-9);
    assert_int_equal(ppi_graph_compare(&trial->graph, &trial->again, trial->place), 0);
    (*told)++;
}

/* Where neighbours change places every path that the estimate sees is one of the new graph; for the span a device may start
 * elsewhere than it thought. */
static void try_shift(struct trial *trial, uint64_t *state, int *allowed)
{
    const struct ppi_graph *graph = &trial->graph;
    uint32_t d = random_below(state, trial->problem.devices), count = graph->queued[d];
    if (count < 2)
        return;
    uint32_t from = random_below(state, count), reach = 1 + random_below(state, 8);
    struct ppi_shift shift = {d, from, random_below(state, 2) == 0 ? from + reach : from - reach};
    if (shift.to >= count || !ppi_shift_is_allowed(graph, &shift))
        return;
    double estimate = ppi_shift_estimate(graph, &shift), excess = ppi_graph_excess(graph) + ppi_shift_excess(graph, &shift);
    ppi_shift_apply(&trial->graph, &shift);
    assert_true(fabs(ppi_graph_excess(graph) - excess) < 1e-9);
    if (!trial->problem.by_span && (shift.from == shift.to + 1 || shift.to == shift.from + 1))
        assert_true(estimate <= ppi_graph_objective(graph, 0, NULL) + 1e-9);
    (*allowed)++;
}

static void test_graphs_and_shifts(void **state)
{
    uint64_t seed = 77;
    int told = 0, allowed = 0;
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial;
        make_trial(&trial, NULL, &seed);
        draw_order(&trial, &seed);
        ppi_graph_read(&trial.graph, &trial.orders);
        expect_graph(&trial, &told);
        for (int k = 0; k < SHIFTS; k++) {
            int before = allowed;
            try_shift(&trial, &seed, &allowed);
            if (allowed > before)
                expect_graph(&trial, &told);
        }
        clear_trial(&trial);
    }
    print_message("# %d shifts of %d were allowed\n", allowed, TRIALS * SHIFTS);
    assert_true(allowed > TRIALS * SHIFTS / 10 && told > allowed);
}

/* Each array has a page behind it that must not be touched; microbatches differ. */
static void test_graphs_keep_to_their_memory(void **state)
{
    struct failing_allocator host = {.until_failure = -1, .is_guarded = 1};
    const ppsched_environment environment = failing_environment(&host);
    uint64_t seed = 78;
    int allowed = 0;
    (void)state;
    for (int i = 0; i < 8; i++) {
        struct trial trial;
        make_trial(&trial, &environment, &seed);
        draw_order(&trial, &seed);
        ppi_graph_read(&trial.graph, &trial.orders);
        for (int k = 0; k < SHIFTS; k++)
            try_shift(&trial, &seed, &allowed);
        clear_trial(&trial);
    }
    assert_true(allowed > 0);
    assert_int_equal(host.live, 0);
}

/* Each allocation of a price fails once, and is told; nothing of it stays. */
static void test_prices_while_memory_runs_out(void **state)
{
    struct failing_allocator host = {.until_failure = -1};
    const ppsched_environment environment = failing_environment(&host);
    uint64_t seed = 79;
    int failures = 0;
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct trial trial;
        make_trial(&trial, &environment, &seed);
        draw_order(&trial, &seed);
        for (int before = 0;; before++, failures++) {
            ppsched_error error;
            host.failed = 0;
            host.until_failure = before;
            ppsched_status status = ppi_pricer_put(&trial.pricer, trial.config, PPSCHED_PLACEMENT_DEFAULT, &trial.orders,
                                                   &error);
            assert_int_equal(status, host.failed > 0 ? PPSCHED_ERROR_NO_MEMORY : PPSCHED_OK);
            if (host.failed == 0)
                break;
            assert_null(trial.pricer.schedule);
        }
        host.until_failure = -1;
        clear_trial(&trial);
    }
    assert_true(failures > 6 * 8);
    assert_int_equal(host.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_graphs_and_shifts),
                                       cmocka_unit_test(test_graphs_keep_to_their_memory),
                                       cmocka_unit_test(test_prices_while_memory_runs_out)};
    return cmocka_run_group_tests_name("graph", tests, NULL, NULL);
}
