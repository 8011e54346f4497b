/* SPDX-License-Identifier: Apache-2.0 */
/* The recomputation of two devices that have the same two stages, against all choices. */
#include "support/problem.h"

#include "base/checked.h"
#include "split/fit.h"

enum { STAGES = 2, DISHES = 5, SETS = 2, TRIALS = 2000 };

/* Random questions of both devices, with all that hangs on them. */
struct trial {
    uint32_t stages[2][STAGES], sets[2][SETS * 2 * STAGES], pin[STAGES];
    double passes[2][SETS * 2 * STAGES], weight[STAGES];
    bool has_any[2 * STAGES];
    struct ppi_dish dishes[STAGES][DISHES];
    struct ppi_menu menus[STAGES];
    struct ppi_holding holdings[2];
    struct ppi_fit pair[2];
};

/* Each set takes longer and holds less than the one before. */
static void make_menu(struct trial *trial, uint32_t stage, uint64_t *state)
{
    double held = 10 + random_below(state, 4), added = 0;
    trial->menus[stage] = (struct ppi_menu){.count = 1 + random_below(state, DISHES), .dishes = trial->dishes[stage]};
    for (uint32_t i = 0; i < trial->menus[stage].count; i++) {
        trial->dishes[stage][i] = (struct ppi_dish){.added = added, .held = held, .weight_held = held / 2};
        added += 1 + random_below(state, 4);
        held -= 1 + random_below(state, 2);
    }
}

static void make_trial(struct trial *trial, uint64_t *state)
{
    *trial = (struct trial){.pin = {PPSCHED_NONE, PPSCHED_NONE}, .has_any = {true, true, true, true}};
    for (uint32_t s = 0; s < STAGES; s++) {
        make_menu(trial, s, state);
        trial->weight[s] = 1 + random_below(state, 3);
    }
    for (uint32_t k = 0; k < 2; k++) {
        struct ppi_holding *holding = &trial->holdings[k];
        *holding = (struct ppi_holding){trial->stages[k], STAGES,        trial->sets[k], 1 + random_below(state, SETS),
                                        trial->passes[k], trial->has_any};
        for (uint32_t i = 0; i < STAGES; i++)
            trial->stages[k][i] = k == 0 ? i : STAGES - 1 - i; /* each enters the model at its own end */
        for (uint32_t set = 0; set < holding->set_count; set++)
            for (uint32_t i = 0; i < 2 * STAGES; i++) {
                uint32_t count = random_below(state, 4);
                trial->sets[k][set * 2 * STAGES + i] = count;
                trial->passes[k][i * holding->set_count + set] = count;
            }
        trial->pair[k] = (struct ppi_fit){.holding = holding,
                                          .menus = trial->menus,
                                          .weight = trial->weight,
                                          .pin = trial->pin,
                                          .room = 30 + random_below(state, 50)};
    }
}

static bool both_fit(const struct trial *trial, const uint32_t *dishes)
{
    return ppi_fit_lack(dishes, &trial->pair[0]) <= 0 && ppi_fit_lack(dishes, &trial->pair[1]) <= 0;
}

static double cost_of(const struct trial *trial, const uint32_t *dishes)
{
    double cost = 0;
    for (uint32_t s = 0; s < STAGES; s++)
        cost += trial->weight[s] * trial->dishes[s][dishes[s]].added;
    return cost;
}

/* The least cost with which both fit, of all choices; infinite where none does. */
static double least_cost(const struct trial *trial)
{
    double least = PPI_INFINITE;
    uint32_t dishes[STAGES];
    for (dishes[0] = 0; dishes[0] < trial->menus[0].count; dishes[0]++)
        for (dishes[1] = 0; dishes[1] < trial->menus[1].count; dishes[1]++)
            if (both_fit(trial, dishes) && cost_of(trial, dishes) < least)
                least = cost_of(trial, dishes);
    return least;
}

static void test_pairs(void **state)
{
    uint64_t seed = 5, visited = 0;
    int fitting = 0;
    (void)state;
    for (int k = 0; k < TRIALS; k++) {
        struct trial trial;
        uint32_t dishes[STAGES] = {0, 0};
        make_trial(&trial, &seed);
        double least = least_cost(&trial);
        ppi_fit_pair(dishes, trial.pair, &visited);
        assert_int_equal(both_fit(&trial, dishes), least < PPI_INFINITE);
        if (least < PPI_INFINITE)
            assert_true(cost_of(&trial, dishes) == least);
        for (uint32_t s = 0; s < STAGES && least == PPI_INFINITE; s++) /* as little as there is */
            assert_int_equal(dishes[s], trial.menus[s].count - 1);
        fitting += least < PPI_INFINITE;
    }
    assert_true(fitting > TRIALS / 4 && fitting < TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
    };
    return cmocka_run_group_tests_name("fit", tests, NULL, NULL);
}
