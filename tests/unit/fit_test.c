/* SPDX-License-Identifier: Apache-2.0 */
/* The recomputation of two devices that have the same two stages, against all choices; answers that are kept; and
 * the splits that a search begins with. */
#include "support/layered.h"
#include "support/problem.h"

#include "base/checked.h"
#include "split/device_fit.h"
#include "split/fit_cache.h"
#include "split/split_search.h"

#include <string.h>

enum { STAGES = 2, DISHES = 5, FEW_SETS = 2, SETS = 80, TRIALS = 2000 }; /* all choices are looked at of up to 64 sets */

/* Random questions of both devices, with all that hangs on them. */
struct trial {
    uint32_t stages[2][STAGES + 1], sets[2][SETS * PPI_HELD * STAGES], pin[STAGES];
    double passes[2][SETS * PPI_HELD * STAGES], weight[STAGES];
    bool has_any[PPI_HELD * STAGES];
    struct ppi_recompute_option options[STAGES][DISHES];
    struct ppi_recompute_front fronts[STAGES];
    struct ppi_held_passes holdings[2];
    struct ppi_fit pair[2];
};

/* Each set takes longer and keeps less than the one before; without an order a backward may bring back more. */
static void make_front(struct trial *trial, uint32_t stage, bool is_ordered, uint64_t *state)
{
    double kept = 10 + random_below(state, 4), added = 0, rise = 0;
    trial->fronts[stage] = (struct ppi_recompute_front){
        .count = 1 + random_below(state, DISHES), .is_ordered = is_ordered, .options = trial->options[stage]};
    for (uint32_t i = 0; i < trial->fronts[stage].count; i++) {
        trial->options[stage][i] = (struct ppi_recompute_option){
            .added = added,
            .held = {[PPI_HELD_KEPT] = kept, [PPI_HELD_WEIGHT] = 7, [PPI_HELD_INPUT] = 14, [PPI_HELD_WHOLE] = kept + rise}};
        added += 1 + random_below(state, 4);
        kept -= 1 + random_below(state, 2);
        rise += is_ordered ? 1 : random_below(state, 5);
    }
}

/* With so many sets. */
static void make_trial(struct trial *trial, uint32_t sets, bool is_ordered, uint64_t *state)
{
    const uint32_t width = !is_ordered || random_below(state, 2) == 0 ? PPI_HELD : 2, numbers = width * STAGES;
    *trial = (struct trial){.pin = {PPSCHED_NONE, PPSCHED_NONE}};
    for (uint32_t i = 0; i < numbers; i++)
        trial->has_any[i] = true;
    for (uint32_t s = 0; s < STAGES; s++) {
        make_front(trial, s, is_ordered, state);
        trial->weight[s] = 1 + random_below(state, 3);
    }
    for (uint32_t k = 0; k < 2; k++) {
        struct ppi_held_passes *holding = &trial->holdings[k];
        *holding = (struct ppi_held_passes){trial->stages[k], STAGES,        width, trial->sets[k], sets,
                                            trial->passes[k], trial->has_any};
        for (uint32_t i = 0; i < STAGES; i++)
            trial->stages[k][i] = k == 0 ? i : STAGES - 1 - i; /* each enters the model at its own end */
        trial->stages[k][STAGES] = PPSCHED_NONE;               /* not to be read */
        for (uint32_t set = 0; set < holding->set_count; set++)
            for (uint32_t i = 0; i < numbers; i++) {
                uint32_t count = i % width < 2 ? random_below(state, 4) : random_below(state, 2);
                trial->sets[k][set * numbers + i] = count;
                trial->passes[k][i * holding->set_count + set] = count;
            }
        trial->pair[k] = (struct ppi_fit){.holding = holding,
                                          .fronts = trial->fronts,
                                          .weight = trial->weight,
                                          .pin = trial->pin,
                                          .room = (width > 2 ? 50 : 30) + random_below(state, 50)};
    }
}

static bool all_fit(const struct trial *trial, uint32_t first, uint32_t end, const uint32_t *options)
{
    for (uint32_t k = first; k < end; k++)
        if (ppi_fit_overshoot(options, &trial->pair[k]) > 0)
            return false;
    return true;
}

static double cost_of(const struct trial *trial, const uint32_t *options)
{
    double cost = 0;
    for (uint32_t s = 0; s < STAGES; s++)
        cost += trial->weight[s] * trial->options[s][options[s]].added;
    return cost;
}

/* The least cost with which these devices fit, of all choices; infinite where none does. */
static double least_cost(const struct trial *trial, uint32_t first, uint32_t end)
{
    double least = PPI_INFINITE;
    uint32_t options[STAGES];
    for (options[0] = 0; options[0] < trial->fronts[0].count; options[0]++)
        for (options[1] = 0; options[1] < trial->fronts[1].count; options[1]++)
            if (all_fit(trial, first, end, options) && cost_of(trial, options) < least)
                least = cost_of(trial, options);
    return least;
}

static void test_pairs(void **state)
{
    uint64_t seed = 5, visited = 0;
    int fitting = 0;
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        struct trial trial;
        uint32_t options[STAGES] = {0, 0};
        bool is_ordered = k % 4 != 0;
        make_trial(&trial, 1 + random_below(&seed, FEW_SETS), is_ordered, &seed);
        double least = least_cost(&trial, 0, 2);
        ppi_fit_pair(options, trial.pair, &visited);
        assert_int_equal(all_fit(&trial, 0, 2, options), least < PPI_INFINITE);
        if (least < PPI_INFINITE)
            assert_true(cost_of(&trial, options) == least);
        for (uint32_t s = 0; s < STAGES && least == PPI_INFINITE && is_ordered; s++) /* as little as there is */
            assert_int_equal(options[s], trial.fronts[s].count - 1);
        fitting += least < PPI_INFINITE;
    }
    assert_true(fitting > TRIALS / 4 && fitting < TRIALS);
}

/* A device alone: the cheapest choice where few sets ask for room, else one that fits; and what is lacking where none does. */
static void expect_device(const struct trial *trial, uint32_t device, bool has_few, bool is_ordered)
{
    const struct ppi_fit *fit = &trial->pair[device];
    uint32_t options[STAGES] = {0, 0};
    const uint32_t leanest[] = {trial->fronts[0].count - 1, trial->fronts[1].count - 1};
    uint64_t visited = 0;
    double least = least_cost(trial, device, device + 1), overshoot = ppi_fit_device(options, fit, &visited);
    assert_true(ppi_fit_may(fit) || least == PPI_INFINITE);
    assert_true(!is_ordered || !ppi_fit_may(fit) || least < PPI_INFINITE);
    if (least == PPI_INFINITE) {
        assert_true(is_ordered ? overshoot == ppi_fit_overshoot(leanest, fit) : overshoot > 0);
        return;
    }
    assert_true(overshoot == 0 && all_fit(trial, device, device + 1, options));
    assert_true(!is_ordered ||
                (has_few ? cost_of(trial, options) == least : cost_of(trial, options) < 2 * least || least == 0));
}

static void test_devices(void **state)
{
    uint64_t seed = 6;
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        struct trial trial;
        bool is_ordered = k % 3 != 0;
        make_trial(&trial, k % 2 == 0 ? 1 + random_below(&seed, FEW_SETS) : SETS, is_ordered, &seed);
        expect_device(&trial, 0, k % 2 == 0, is_ordered);
        expect_device(&trial, 1, k % 2 == 0, is_ordered);
    }
}

/* Sets of the first device that need about the same room: one B runs, and up to one pass more or less is kept. */
static void put_like_sets(struct trial *trial, uint64_t *state)
{
    for (uint32_t set = 0; set < SETS; set++)
        for (uint32_t i = 0; i < PPI_HELD * STAGES; i++) {
            uint32_t is_running = set % STAGES == i / PPI_HELD, count = 0;
            if (i % PPI_HELD == PPI_HELD_KEPT)
                count = 8 + random_below(state, 2);
            if (i % PPI_HELD == PPI_HELD_WHOLE)
                count = is_running * (1 + random_below(state, 4));
            trial->sets[0][set * PPI_HELD * STAGES + i] = count;
            trial->passes[0][i * SETS + set] = count;
        }
}

/* The least and the most room with which there is a choice to make: of the leanest choice, and of no recomputation. */
static void find_rooms(const struct trial *trial, double *least, double *most)
{
    uint32_t options[STAGES] = {0, 0};
    *most = ppi_fit_overshoot(options, &trial->pair[0]) + trial->pair[0].room;
    *least = *most;
    for (options[0] = 0; options[0] < trial->fronts[0].count; options[0]++)
        for (options[1] = 0; options[1] < trial->fronts[1].count; options[1]++)
            *least = ppi_smaller(*least, ppi_fit_overshoot(options, &trial->pair[0]) + trial->pair[0].room);
}

/* More held sets than the search takes, and fronts without an order: what is chosen fits, and recomputes less than 1 % too much
 * in the mean. The options that hold least are 9 % too much. */
static void test_many_sets_without_an_order(void **state)
{
    uint64_t seed = 7, visited = 0;
    double sum = 0, least_sum = 0;
    int choices = 0;
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        struct trial trial;
        uint32_t options[STAGES] = {0, 0};
        double least, most;
        make_trial(&trial, SETS, false, &seed);
        put_like_sets(&trial, &seed);
        find_rooms(&trial, &least, &most);
        trial.pair[0].room = least + (most - least) * random_below(&seed, 8) / 8;
        assert_true(ppi_fit_device(options, &trial.pair[0], &visited) == 0 && all_fit(&trial, 0, 1, options));
        sum += cost_of(&trial, options);
        least_sum += least_cost(&trial, 0, 1);
        choices += least < most;
    }
    assert_true(choices > TRIALS / 2 && sum < 1.01 * least_sum);
}

/* Of both stages the third option saves the most memory per cost, and most of what is kept; with two of them nothing fits, nor
 * with one, and no step leads back. */
static void test_steps_that_lead_nowhere(void **state)
{
    static const struct ppi_recompute_option choices[] = {
        {.held = {10, 0, 0, 10}}, {.added = 10, .held = {9, 0, 0, 9}}, {.added = 11, .held = {5, 0, 0, 20}}};
    static const uint32_t columns[][STAGES] = {/* of each third set: a pass of each stage, one of which may run its B */
                                               {PPI_HELD_KEPT, PPI_HELD + PPI_HELD_KEPT},
                                               {PPI_HELD_WHOLE, PPI_HELD + PPI_HELD_KEPT},
                                               {PPI_HELD_KEPT, PPI_HELD + PPI_HELD_WHOLE}};
    struct trial trial;
    uint32_t options[STAGES] = {0, 0};
    uint64_t seed = 1, visited = 0;
    (void)state;
    make_trial(&trial, SETS, false, &seed);
    for (uint32_t set = 0; set < SETS; set++)
        for (uint32_t i = 0; i < PPI_HELD * STAGES; i++) {
            uint32_t count = i == columns[set % 3][0] || i == columns[set % 3][1];
            trial.sets[0][set * PPI_HELD * STAGES + i] = count;
            trial.passes[0][i * SETS + set] = count;
        }
    for (uint32_t s = 0; s < STAGES; s++) {
        memcpy(trial.options[s], choices, sizeof choices);
        trial.fronts[s].count = 3;
        trial.weight[s] = 1;
    }
    trial.pair[0].room = 18;
    assert_true(ppi_fit_device(options, &trial.pair[0], &visited) == 0);
    assert_true(options[0] == 1 && options[1] == 1);
}

/* With Bs the front of these layers has no order: to recompute the large layer keeps less than to recompute all small ones, but
 * brings back more at once. Where all backwards are split it has one, as only what is kept counts. */
static void expect_order(const ppsched_layers *layers, bool has_whole)
{
    ppsched_config *config = make_config(1, 1, 1);
    struct ppi_arena arena = {.host = &config->host};
    struct ppi_front_builder builder;
    struct ppi_recompute_front front = {0};
    bool holds_more = false;
    expect_ok(ppi_builder_open(&builder, &arena, layers, NULL, NULL), NULL);
    builder.has_whole = has_whole;
    expect_ok(ppi_front_make(&front, &builder, 0, 4, NULL), NULL);
    for (uint32_t i = 1; i < front.count; i++) {
        assert_true(front.options[i].held[PPI_HELD_KEPT] < front.options[i - 1].held[PPI_HELD_KEPT]);
        holds_more |= front.options[i].held[PPI_HELD_WHOLE] > front.options[i - 1].held[PPI_HELD_WHOLE];
    }
    assert_true(holds_more && front.is_ordered == !has_whole);
    ppi_arena_clear(&arena);
    ppsched_config_destroy(config);
}

static void test_fronts_without_an_order(void **state)
{
    static const ppsched_recompute small = {"full", 1, 1}, large = {"full", 10, 1};
    const ppsched_layer entries[] = {
        LAYER("small", .count = 3, .forward_time = 1, .mem_forward = 2, .recompute_count = 1, .recomputes = &small),
        LAYER("large", .count = 1, .forward_time = 9, .mem_forward = 8, .recompute_count = 1, .recomputes = &large)};
    const ppsched_layers *layers = make_layers(entries, 2);
    (void)state;
    expect_order(layers, true);
    expect_order(layers, false);
    ppsched_layers_release(layers);
}

/* A device with stages 1 and 3 of 4: layers [1, 3) and [4, 9), and a pin of stage 3. Of a question that differs in one number
 * there is no answer, whichever slot it has; and then the one before is still there, or its slot was taken. */
static void test_answers_are_those_of_the_question(void **state)
{
    static const uint32_t like[] = {0, 1, 1, 3, 3, 4, 4, 9}, pin[] = {PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, 2};
    uint32_t stages[] = {1, 3}, *options = NULL;
    const struct ppi_held_passes holding = {.stages = stages, .count = 2};
    ppsched_config *config = make_config(1, 1, 1);
    struct ppi_arena arena = {.host = &config->host};
    struct ppi_fitted fitted;
    double *overshoot = NULL;
    (void)state;
    expect_ok(ppi_fitted_open(&fitted, &arena, 2, 4, NULL), NULL);
    for (uint32_t number = 0; number < 6; number++) /* borders of stage 1, of stage 3, and their pins */
        for (uint32_t value = 10; value < 500; value++) {
            uint32_t other_like[8], other_pin[4];
            memcpy(other_like, like, sizeof like);
            memcpy(other_pin, pin, sizeof pin);
            *(number < 4 ? &other_like[2 * stages[number / 2] + number % 2] : &other_pin[2 * (number - 4) + 1]) = value;
            assert_false(ppi_fitted_find(&fitted, 1, &holding, other_like, other_pin, &options, &overshoot));
            options[0] = value;
            options[1] = number;
            *overshoot = value + 0.5;
            assert_true(ppi_fitted_find(&fitted, 1, &holding, other_like, other_pin, &options, &overshoot));
            assert_true(options[0] == value && options[1] == number && *overshoot == value + 0.5);
            if (ppi_fitted_find(&fitted, 1, &holding, like, pin, &options, &overshoot))
                assert_true(options[0] == 1000 && options[1] == 1001);
            options[0] = 1000;
            options[1] = 1001;
        }
    ppi_fitted_forget(&fitted);
    assert_false(ppi_fitted_find(&fitted, 1, &holding, like, pin, &options, &overshoot));
    assert_false(ppi_fitted_find(&fitted, 0, &holding, like, pin, &options, &overshoot));
    ppi_arena_clear(&arena);
    ppsched_config_destroy(config);
}

/* 32 equal layers on 4 devices, 8 on each: those of the first of its two stages, and of the second, are the same everywhere. */
static void test_splits_by_chunk(void **state)
{
    static const uint32_t counts[PPI_SPLIT_STARTS - PPI_SPLIT_TILTS][2] = {{3, 5}, {5, 3}, {4, 4}, {2, 6}};
    const ppsched_layer layer = LAYER("decoder", .count = 32, .forward_time = 1, .backward_time = 2);
    const ppsched_layers *layers = make_layers(&layer, 1);
    ppsched_config *config = make_config(4, 8, 8);
    ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b");
    const struct ppi_split_question question = {
        .config = config, .layers = layers, .schedule = schedule, .most_visited = 1000000};
    struct ppi_arena arena = {.host = &config->host};
    struct ppi_splitting splitting;
    ppsched_error error;
    (void)state;
    expect_ok(ppi_splitting_open(&splitting, &arena, &question, &error), &error);
    for (int start = PPI_SPLIT_TILTS; start < PPI_SPLIT_STARTS; start++) {
        ppi_balance(&splitting, start);
        for (uint32_t s = 0; s < 8; s++)
            assert_int_equal(splitting.at[s + 1] - splitting.at[s], counts[start - PPI_SPLIT_TILTS][s / 4]);
    }
    ppi_arena_clear(&arena);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_many_sets_without_an_order),
        cmocka_unit_test(test_steps_that_lead_nowhere),
        cmocka_unit_test(test_fronts_without_an_order),
        cmocka_unit_test(test_answers_are_those_of_the_question),
        cmocka_unit_test(test_splits_by_chunk),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
