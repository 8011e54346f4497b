/* SPDX-License-Identifier: Apache-2.0 */
#include "split/fit.h"

#include "base/checked.h"

/* Steps of the search for the cheapest, beyond which the best so far is taken. */
enum { MOST_STEPS = 3000, MOST_STAGES = 16 };

static const struct ppi_dish *dish_of(const struct ppi_fit *fit, const uint32_t *dishes, uint32_t i)
{
    uint32_t stage = fit->holding->stages[i];
    return &fit->menus[stage].dishes[dishes[stage]];
}

static double need_of(const struct ppi_fit *fit, const uint32_t *set, const uint32_t *dishes)
{
    double need = 0;
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        const struct ppi_dish *dish = dish_of(fit, dishes, i);
        need += set[2 * i] * dish->held + set[2 * i + 1] * dish->weight_held;
    }
    return need;
}

static const uint32_t *set_at(const struct ppi_fit *fit, uint32_t set)
{
    return fit->holding->sets + (size_t)set * 2 * fit->holding->count;
}

/* Which set needs most. */
static double worst(const struct ppi_fit *fit, const uint32_t *dishes, uint32_t *which)
{
    double most = 0;
    *which = 0;
    for (uint32_t i = 0; i < fit->holding->set_count; i++) {
        double need = need_of(fit, set_at(fit, i), dishes);
        *which = need > most ? i : *which;
        most = ppi_larger(most, need);
    }
    return most;
}

double ppi_fit_lack(const uint32_t *dishes, const struct ppi_fit *fit)
{
    uint32_t which;
    return worst(fit, dishes, &which) - fit->room;
}

static void choose_all(const struct ppi_fit *fit, uint32_t *dishes, bool least_memory)
{
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        dishes[stage] = least_memory ? fit->menus[stage].count - 1 : 0;
    }
}

/* The step that gives most memory to the set that lacks it, for its cost. False where there is none. */
static bool step_down(const struct ppi_fit *fit, uint32_t *dishes)
{
    uint32_t which, best_stage = 0, best_dish = 0;
    double lack = worst(fit, dishes, &which) - fit->room, best = 0;
    const uint32_t *set = set_at(fit, which);
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        const struct ppi_dish *now = dish_of(fit, dishes, i);
        for (uint32_t d = dishes[stage] + 1; d < fit->menus[stage].count; d++) {
            const struct ppi_dish *dish = &fit->menus[stage].dishes[d];
            double given = set[2 * i] * (now->held - dish->held) + set[2 * i + 1] * (now->weight_held - dish->weight_held);
            double cost = (fit->weight[stage] + 1e-6) * (dish->added - now->added);
            double value = ppi_smaller(given, lack) / (cost > 0 ? cost : 1e-300);
            if (given > 0 && value > best) {
                best = value;
                best_stage = stage;
                best_dish = d;
            }
        }
    }
    if (best > 0)
        dishes[best_stage] = best_dish;
    return best > 0;
}

/* Takes back what is not needed, of one stage after another. */
static void trim(const struct ppi_fit *fit, uint32_t *dishes)
{
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t *dish = &dishes[fit->holding->stages[i]], had = *dish;
        for (*dish = 0; *dish < had && ppi_fit_lack(dishes, fit) > 0; ++*dish)
            continue;
    }
}

/* --- the cheapest --- */

struct search {
    const struct ppi_fit *fit;
    uint32_t *dishes, best[MOST_STAGES];
    double best_cost;
    uint32_t steps;
};

static double cost_of(const struct ppi_fit *fit, const uint32_t *dishes)
{
    double cost = 0;
    for (uint32_t i = 0; i < fit->holding->count; i++)
        cost += (fit->weight[fit->holding->stages[i]] + 1e-6) * dish_of(fit, dishes, i)->added;
    return cost;
}

/* Stages up to `i` are chosen, those behind it are at their least memory. */
static void search_from(struct search *search, uint32_t i, double cost)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t stage = fit->holding->stages[i];
    const struct ppi_menu *menu = &fit->menus[stage];
    bool is_last = i + 1 == fit->holding->count;
    for (uint32_t d = 0; d < menu->count && search->steps < MOST_STEPS; d++) {
        double sum = cost + (fit->weight[stage] + 1e-6) * menu->dishes[d].added;
        if (sum >= search->best_cost)
            break;
        search->steps++;
        search->dishes[stage] = d;
        if (ppi_fit_lack(search->dishes, fit) > 0)
            continue;
        if (!is_last) {
            search_from(search, i + 1, sum);
            continue;
        }
        search->best_cost = sum;
        for (uint32_t k = 0; k <= i; k++)
            search->best[k] = search->dishes[fit->holding->stages[k]];
        break;
    }
    search->dishes[stage] = menu->count - 1;
}

static void find_cheapest(const struct ppi_fit *fit, uint32_t *dishes)
{
    struct search search = {.fit = fit, .dishes = dishes, .best_cost = cost_of(fit, dishes)};
    for (uint32_t i = 0; i < fit->holding->count; i++)
        search.best[i] = dishes[fit->holding->stages[i]];
    choose_all(fit, dishes, true);
    search_from(&search, 0, 0);
    for (uint32_t i = 0; i < fit->holding->count; i++)
        dishes[fit->holding->stages[i]] = search.best[i];
}

double ppi_fit_device(uint32_t *dishes, const struct ppi_fit *fit)
{
    uint32_t stage = fit->holding->count > 0 ? fit->holding->stages[0] : 0;
    choose_all(fit, dishes, false);
    if (fit->holding->set_count == 0 || ppi_fit_lack(dishes, fit) <= 0)
        return 0;
    if (fit->holding->count == 1) {
        while (++dishes[stage] < fit->menus[stage].count - 1 && ppi_fit_lack(dishes, fit) > 0)
            continue;
        dishes[stage] -= dishes[stage] == fit->menus[stage].count;
        return ppi_larger(0, ppi_fit_lack(dishes, fit));
    }
    while (ppi_fit_lack(dishes, fit) > 0 && step_down(fit, dishes))
        continue;
    double lack = ppi_fit_lack(dishes, fit);
    if (lack > 0)
        return lack;
    trim(fit, dishes);
    if (fit->holding->count <= MOST_STAGES)
        find_cheapest(fit, dishes);
    return 0;
}
