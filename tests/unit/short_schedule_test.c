/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules of few microbatches, on which splits for many are searched for: what they tell of the whole, and for which there
 * are any. */
#include "support/plan_choice.h"
#include "support/layered.h"
#include "support/plans.h"

#include "plan/plan.h"
#include "split/split_search.h"

#include <math.h>
#include <string.h>

enum { DECODERS = 40, MOST_STAGES = 16, SPLITS = 200 };

/* A rule, its schedules of many and of few microbatches, and a split. */
struct trial {
    const struct ppi_strategy *strategy;
    ppsched_config *config;
    ppsched_schedule *whole, *shorter;
    const ppsched_layers *layers;
    double overhead[PPI_COMPUTE_KINDS];
    uint32_t split[MOST_STAGES];
    bool by_span;
};

static const struct ppi_strategy *strategy_named(const char *name)
{
    uint32_t index = 0;
    ppsched_error error;
    expect_ok(ppi_strategy_find(name, &index, &error), &error);
    return ppi_strategy_at(index);
}

static ppsched_schedule *shorten(const char *name, const ppsched_config *config)
{
    const struct ppi_candidate candidate = {.strategy = strategy_named(name)};
    ppsched_schedule *whole = make_schedule(config, name), *shorter = NULL;
    ppsched_error error;
    expect_ok(ppi_candidate_shorten(&shorter, &candidate, config, whole, &error), &error);
    ppsched_schedule_release(whole);
    return shorter;
}

/* Decoders over all stages, not evenly. */
static void draw_split(struct trial *trial, uint64_t *seed)
{
    uint32_t stages = ppsched_schedule_stages(trial->whole), left = DECODERS;
    for (uint32_t s = 0; s < stages; s++)
        trial->split[s] = 1;
    for (left -= stages; left > 0; left--)
        trial->split[random_below(seed, stages)]++;
    trial->split[0]++;          /* the embedding */
    trial->split[stages - 1]++; /* the head */
}

static void open_trial(struct trial *trial, uint64_t *seed)
{
    static const char *const names[] = {"zbv", "dualpipe_v", "dualpipe"};
    const char *name = names[random_below(seed, 3)];
    uint32_t devices = 2 * (1 + random_below(seed, 4)), microbatches = 2 * (2 * devices + random_below(seed, 20 * devices));
    *trial = (struct trial){.strategy = strategy_named(name), .by_span = random_below(seed, 2) == 0};
    trial->config = make_config(devices, trial->strategy->chunks * devices, microbatches);
    trial->layers = make_plain_model(DECODERS);
    trial->whole = make_schedule(trial->config, name);
    trial->shorter = shorten(name, trial->config);
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W && random_below(seed, 2) == 0; kind++)
        trial->overhead[kind] = random_below(seed, 9) / 4.0;
    trial->overhead[PPSCHED_KIND_B] = trial->overhead[PPSCHED_KIND_I] + trial->overhead[PPSCHED_KIND_W];
    draw_split(trial, seed);
}

static void close_trial(struct trial *trial)
{
    ppsched_schedule_release(trial->whole);
    ppsched_schedule_release(trial->shorter);
    ppsched_layers_release(trial->layers);
    ppsched_config_destroy(trial->config);
}

/* What the ops on a longest way take, as often as they are there. */
static double weighed(struct ppi_split_state *state, const struct trial *trial)
{
    static const int costs[] = {PPI_LAYER_FORWARD, PPI_LAYER_BACKWARD, PPI_LAYER_INPUT, PPI_LAYER_WEIGHT};
    double sum = 0;
    ppi_split_state_weigh(state);
    for (uint32_t s = 0, begin = 0; s < state->stages; begin += trial->split[s++])
        for (int k = 0; k < PPI_COMPUTE_KINDS - 1; k++) {
            const double *sums = state->sums[costs[k]];
            double duration = sums[begin + trial->split[s]] - sums[begin] + trial->overhead[k + 1];
            sum += state->weight[(size_t)s * (PPI_COMPUTE_KINDS - 1) + (size_t)k] * duration;
        }
    return sum;
}

/* The time of the trial's split. */
static double price(const struct trial *trial, const ppsched_schedule *schedule, uint32_t left_out)
{
    struct ppi_arena arena = {.host = &trial->config->host};
    struct ppi_splitting splitting;
    struct ppi_split_question question = {.config = trial->config,
                                          .layers = trial->layers,
                                          .schedule = schedule,
                                          .by_span = trial->by_span,
                                          .fixed = trial->split,
                                          .left_out = left_out};
    ppsched_error error;
    memcpy(question.overhead, trial->overhead, sizeof question.overhead);
    expect_ok(ppi_splitting_open(&splitting, &arena, &question, &error), &error);
    expect_ok(ppi_splitting_search(&splitting, &question, &error), &error);
    double time = splitting.best.time, sum = weighed(&splitting.state, trial);
    if (!trial->by_span && !(fabs(sum - time) <= 1e-9 * time)) /* a span's way may begin before it */
        fail_msg("%s: its longest way takes %g, and all %g", trial->strategy->name, sum, time);
    ppi_arena_clear(&arena);
    return time;
}

static void test_what_few_tell_of_many(void **state)
{
    uint64_t seed = 31;
    double sum = 0;
    (void)state;
    for (int i = 0; i < SPLITS; i++) {
        struct trial trial;
        open_trial(&trial, &seed);
        assert_non_null(trial.shorter);
        uint32_t many = ppsched_schedule_microbatches(trial.whole), few = ppsched_schedule_microbatches(trial.shorter);
        double whole = price(&trial, trial.whole, 0), told = price(&trial, trial.shorter, many - few);
        if (!(fabs(told - whole) <= 0.005 * whole))
            fail_msg("%s, D = %u, M = %u: %g is told, %g true", trial.strategy->name, ppsched_schedule_devices(trial.whole),
                     many, told, whole);
        sum += fabs(told - whole) / whole;
        close_trial(&trial);
    }
    assert_true(sum / SPLITS < 0.0002);
}

/* As many microbatches as two rounds of devices have, and those beyond rounds. */
static void test_how_few(void **state)
{
    (void)state;
    for (uint32_t microbatches = 8; microbatches <= 40; microbatches++) {
        ppsched_config *config = make_config(4, 8, microbatches);
        ppsched_schedule *shorter = shorten("zbv", config);
        uint32_t few = 8 + microbatches % 4;
        if (few <= microbatches / 4 * 3)
            assert_int_equal(ppsched_schedule_microbatches(shorter), few);
        else
            assert_null(shorter);
        ppsched_schedule_release(shorter);
        ppsched_config_destroy(config);
    }
}

/* Where devices wait for each other all the time, orders that are searched for, and microbatches that differ. */
static void test_which_have_none(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } none[] = {{"interleaved_1f1b", 2}, {"1f1b", 1}, {"gpipe", 1}, {"zbv_auto", 2}, {"v_half", 2}, {"1f1b_no_flush", 1}};
    double scale[64];
    (void)state;
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        ppsched_config *config = make_config(4, 4 * none[i].chunks, 64);
        assert_null(shorten(none[i].name, config));
        ppsched_config_destroy(config);
    }
    ppsched_config *config = make_config(4, 8, 64);
    for (size_t i = 0; i < 64; i++)
        scale[i] = 1 + (double)(i % 2);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 64, NULL), NULL);
    assert_null(shorten("zbv", config));
    ppsched_config_destroy(config);
}

/* --- plans --- */

static double step_time_of(const char *strategy, uint32_t devices, uint32_t microbatches, uint32_t effort)
{
    const ppsched_layers *layers = make_model(6 * devices);
    ppsched_config *config = make_config(devices, devices, microbatches);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 7.5 * devices);
    const struct plan_choice options = {
        .size = sizeof options, .strategies = &strategy, .strategy_count = 1, .layers = layers, .split_effort = effort};
    ppsched_plan *plan = run_plan(config, &options);
    const ppsched_candidate best = ranked(plan, 0);
    assert_true(best.fits);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
    return best.step_time;
}

/* A short search finds for very many microbatches what a long one does. */
static void test_many_microbatches(void **state)
{
    static const char *const names[] = {"zbv", "dualpipe_v", "dualpipe"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (uint32_t devices = 4; devices <= 16; devices *= 2) {
            double quick = step_time_of(names[i], devices, 48 * devices, 1),
                   slow = step_time_of(names[i], devices, 48 * devices, 3);
            if (quick > slow * 1.005)
                fail_msg("%s, D = %u: %g after a short search, %g after a long one", names[i], devices, quick, slow);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_few_tell_of_many),
        cmocka_unit_test(test_how_few),
        cmocka_unit_test(test_which_have_none),
        cmocka_unit_test(test_many_microbatches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
