/* SPDX-License-Identifier: Apache-2.0 */
#include "split/fit.h"

#include <string.h>

#include <ppsched/op.h>

#include "base/checked.h"

/* Steps of the search for the cheapest, beyond which the best so far is taken. */
enum { MOST_STEPS = 150, MOST_STAGES = 16, MOST_SETS = 64 };

/* Sets that are added up together. */
enum { AT_ONCE = 64 };

/* The sets that a stage may have: these and those between. */
static uint32_t first_of(const struct ppi_fit *fit, uint32_t stage)
{
    uint32_t last = fit->menus[stage].count - 1, pin = fit->pin[stage];
    return pin == PPSCHED_NONE ? 0 : pin < last ? pin : last;
}

static uint32_t last_of(const struct ppi_fit *fit, uint32_t stage)
{
    return fit->pin[stage] == PPSCHED_NONE ? fit->menus[stage].count - 1 : first_of(fit, stage);
}

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

/* What sets from the first on need, by adding up what each stage holds in all of them. */
static void sum_columns(double *need, const struct ppi_fit *fit, const uint32_t *dishes, uint32_t first, uint32_t count)
{
    const struct ppi_holding *holding = fit->holding;
    memset(need, 0, AT_ONCE * sizeof *need);
    for (uint32_t i = 0; i < 2 * holding->count; i++) {
        const struct ppi_dish *dish = dish_of(fit, dishes, i / 2);
        const double *passes = holding->passes + (size_t)i * holding->set_count + first;
        double held = i % 2 == 0 ? dish->held : dish->weight_held;
        for (uint32_t k = 0; k < count && holding->has_any[i]; k++)
            need[k] += passes[k] * held;
    }
}

double ppi_fit_most(const uint32_t *dishes, const struct ppi_fit *fit, uint32_t *which)
{
    uint32_t sets = fit->holding->set_count;
    double most = 0, need[AT_ONCE];
    *which = 0;
    for (uint32_t first = 0; first < sets; first += AT_ONCE) {
        uint32_t count = sets - first < AT_ONCE ? sets - first : AT_ONCE;
        sum_columns(need, fit, dishes, first, count);
        for (uint32_t k = 0; k < count; k++) {
            *which = need[k] > most ? first + k : *which;
            most = ppi_larger(most, need[k]);
        }
    }
    return most;
}

double ppi_fit_lack(const uint32_t *dishes, const struct ppi_fit *fit)
{
    uint32_t which;
    return ppi_fit_most(dishes, fit, &which) - fit->room;
}

static void choose_all(const struct ppi_fit *fit, uint32_t *dishes, bool least_memory)
{
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        dishes[stage] = least_memory ? last_of(fit, stage) : first_of(fit, stage);
    }
}

/* The step that gives most memory to the set that lacks it, for its cost. False where there is none. */
static bool step_down(const struct ppi_fit *fit, uint32_t *dishes, uint64_t *visited)
{
    uint32_t which, best_stage = 0, best_dish = 0;
    double lack = ppi_fit_most(dishes, fit, &which) - fit->room, best = 0;
    const uint32_t *set = set_at(fit, which);
    *visited += (uint64_t)fit->holding->count * (2 + fit->holding->set_count / 4);
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        const struct ppi_dish *now = dish_of(fit, dishes, i);
        for (uint32_t d = dishes[stage] + 1; d <= last_of(fit, stage); d++) {
            const struct ppi_dish *dish = &fit->menus[stage].dishes[d];
            double given = set[2 * i] * (now->held - dish->held) + set[2 * i + 1] * (now->weight_held - dish->weight_held);
            double cost = fit->weight[stage] * (dish->added - now->added);
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

/* --- the cheapest --- */

struct search {
    const struct ppi_fit *fit;
    uint32_t now[MOST_STAGES], best[MOST_STAGES];
    double best_cost;
    const uint32_t *sets[MOST_SETS]; /* those of the holding that may lack room */
    uint32_t set_count;
    double least[MOST_STAGES + 1][MOST_SETS]; /* what a set needs at least for its stages from the i-th on */
    uint32_t steps;
};

/* Whether each set has room for a dish of the i-th stage beside what it needs for the others. */
static bool has_room(const struct search *search, uint32_t i, const double *need, const struct ppi_dish *dish)
{
    for (uint32_t k = 0; k < search->set_count; k++) {
        const uint32_t *set = search->sets[k] + 2 * (size_t)i;
        if (need[k] + set[0] * dish->held + set[1] * dish->weight_held + search->least[i + 1][k] > search->fit->room)
            return false;
    }
    return true;
}

/* What a dish of the i-th stage may hold, where layers release all at once: then it holds as much until W. */
static double most_held(const struct search *search, uint32_t i, const double *need)
{
    double most = PPI_INFINITE;
    for (uint32_t k = 0; k < search->set_count; k++) {
        const uint32_t *set = search->sets[k] + 2 * (size_t)i;
        double left = search->fit->room - need[k] - search->least[i + 1][k];
        uint32_t passes = set[0] + set[1];
        if (left < most * passes || left < 0)
            most = passes > 0 && left >= 0 ? left / passes : -1;
    }
    return most;
}

/* The first dish of the i-th stage for which there is room, or the one behind the last. Those behind a dish hold less, where
 * layers release all at once. */
static uint32_t first_with_room(const struct search *search, uint32_t i, const double *need)
{
    uint32_t stage = search->fit->holding->stages[i], low = first_of(search->fit, stage),
             high = last_of(search->fit, stage) + 1;
    const struct ppi_dish *dishes = search->fit->menus[stage].dishes;
    if (!search->fit->releases_at_once) {
        while (low < high && !has_room(search, i, need, &dishes[low]))
            low++;
        return low;
    }
    double most = most_held(search, i, need);
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (dishes[middle].held <= most)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void add_dish(const struct search *search, uint32_t i, const struct ppi_dish *dish, const double *need, double *sum)
{
    for (uint32_t k = 0; k < search->set_count; k++) {
        const uint32_t *set = search->sets[k] + 2 * (size_t)i;
        sum[k] = need[k] + set[0] * dish->held + set[1] * dish->weight_held;
    }
}

static void keep_best(struct search *search, double cost)
{
    search->best_cost = cost;
    for (uint32_t i = 0; i < search->fit->holding->count; i++)
        search->best[i] = search->now[i];
}

/* Stages up to the i-th are chosen; `need`: what each set needs for them. */
static void search_from(struct search *search, uint32_t i, double cost, const double *need)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t stage = fit->holding->stages[i], last = last_of(fit, stage);
    const struct ppi_dish *dishes = fit->menus[stage].dishes;
    double sum[MOST_SETS];
    for (uint32_t d = first_with_room(search, i, need); d <= last && search->steps < MOST_STEPS; d++) {
        double with = cost + fit->weight[stage] * dishes[d].added;
        if (with >= search->best_cost)
            break;
        search->steps++;
        search->now[i] = d;
        if (i + 1 == fit->holding->count) {
            keep_best(search, with);
            break;
        }
        if (!fit->releases_at_once && !has_room(search, i, need, &dishes[d]))
            continue;
        add_dish(search, i, &dishes[d], need, sum);
        search_from(search, i + 1, with, sum);
    }
}

/* The least of what a stage's sets hold, and of what they hold until W. */
static struct ppi_dish least_of(const struct ppi_fit *fit, uint32_t stage)
{
    const struct ppi_dish *dishes = fit->menus[stage].dishes;
    struct ppi_dish least = dishes[last_of(fit, stage)];
    for (uint32_t d = first_of(fit, stage); d <= last_of(fit, stage) && !fit->releases_at_once; d++) {
        least.held = ppi_smaller(least.held, dishes[d].held);
        least.weight_held = ppi_smaller(least.weight_held, dishes[d].weight_held);
    }
    return least;
}

bool ppi_fit_may(const struct ppi_fit *fit)
{
    for (uint32_t k = 0; k < fit->holding->set_count; k++) {
        const uint32_t *set = set_at(fit, k);
        double need = 0;
        for (uint32_t i = 0; i < fit->holding->count; i++) {
            const struct ppi_dish least = least_of(fit, fit->holding->stages[i]);
            need += set[2 * i] * least.held + set[2 * i + 1] * least.weight_held;
        }
        if (need > fit->room)
            return false;
    }
    return fit->holding->set_count > 0 || fit->room >= 0;
}

/* The most of what a stage's sets hold, and of what they hold until W. */
static struct ppi_dish most_of(const struct ppi_fit *fit, uint32_t stage)
{
    const struct ppi_dish *dishes = fit->menus[stage].dishes;
    struct ppi_dish most = dishes[first_of(fit, stage)];
    for (uint32_t d = first_of(fit, stage) + 1; d <= last_of(fit, stage) && !fit->releases_at_once; d++) {
        most.held = ppi_larger(most.held, dishes[d].held);
        most.weight_held = ppi_larger(most.weight_held, dishes[d].weight_held);
    }
    return most;
}

/* Lists the sets that may lack room: the others have it whatever is chosen. */
static void list_sets(struct search *search)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t count = fit->holding->count;
    struct ppi_dish most[MOST_STAGES];
    for (uint32_t i = 0; i < count; i++)
        most[i] = most_of(fit, fit->holding->stages[i]);
    search->set_count = 0;
    for (uint32_t k = 0; k < fit->holding->set_count; k++) {
        const uint32_t *set = set_at(fit, k);
        double need = 0;
        for (uint32_t i = 0; i < count; i++)
            need += set[2 * i] * most[i].held + set[2 * i + 1] * most[i].weight_held;
        if (need > fit->room * (1 - 1e-12))
            search->sets[search->set_count++] = set;
    }
}

/* Fills in what sets need at least. */
static void sum_least(struct search *search)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t count = fit->holding->count;
    for (uint32_t k = 0; k < search->set_count; k++)
        search->least[count][k] = 0;
    for (uint32_t i = count; i-- > 0;) {
        const struct ppi_dish least = least_of(fit, fit->holding->stages[i]);
        add_dish(search, i, &least, search->least[i + 1], search->least[i]);
    }
}

/* The cheapest of all sets where there are few, else of those tried; false where the device is too large for that. */
static bool find_cheapest(const struct ppi_fit *fit, uint32_t *dishes, uint64_t *visited)
{
    struct search search; /* large, so that what is not read is not zeroed */
    if (fit->holding->count > MOST_STAGES || fit->holding->set_count > MOST_SETS)
        return false;
    search.fit = fit;
    search.best_cost = PPI_INFINITE;
    search.steps = 0;
    list_sets(&search);
    sum_least(&search);
    search_from(&search, 0, 0, search.least[fit->holding->count]); /* nothing is chosen: all zero */
    *visited += (uint64_t)fit->holding->set_count * fit->holding->count + (uint64_t)search.steps * (2 * search.set_count + 8);
    for (uint32_t i = 0; i < fit->holding->count && search.best_cost < PPI_INFINITE; i++)
        dishes[fit->holding->stages[i]] = search.best[i];
    return search.best_cost < PPI_INFINITE;
}

/* Whether all sets have room with what is chosen. */
static bool fits(const struct ppi_fit *fit, const uint32_t *dishes)
{
    for (uint32_t i = 0; i < fit->holding->set_count; i++)
        if (need_of(fit, set_at(fit, i), dishes) > fit->room)
            return false;
    return true;
}

/* Whether there is nothing to choose. */
static bool is_settled(const struct ppi_fit *fit)
{
    for (uint32_t i = 0; i < fit->holding->count; i++)
        if (first_of(fit, fit->holding->stages[i]) != last_of(fit, fit->holding->stages[i]))
            return false;
    return true;
}

double ppi_fit_device(uint32_t *dishes, const struct ppi_fit *fit, uint64_t *visited)
{
    choose_all(fit, dishes, false);
    if (is_settled(fit))
        return ppi_larger(0, ppi_fit_lack(dishes, fit));
    if (fits(fit, dishes) || find_cheapest(fit, dishes, visited))
        return 0;
    choose_all(fit, dishes, true);
    double lack = ppi_fit_lack(dishes, fit);
    if (lack > 0)
        return lack;
    choose_all(fit, dishes, false);
    while (!fits(fit, dishes) && step_down(fit, dishes, visited))
        continue;
    return ppi_larger(0, ppi_fit_lack(dishes, fit));
}

/* --- two copies of the model --- */

static bool both_fit(const struct ppi_fit *pair, const uint32_t *dishes, uint64_t *visited)
{
    *visited += 4 * ((uint64_t)pair[0].holding->set_count + pair[1].holding->set_count);
    return fits(&pair[0], dishes) && fits(&pair[1], dishes);
}

/* With more for the one stage less will do for the other. */
void ppi_fit_pair(uint32_t *dishes, const struct ppi_fit *pair, uint64_t *visited)
{
    const struct ppi_holding *holding = pair->holding;
    uint32_t one = holding->stages[0], other = holding->stages[1], best[2] = {last_of(pair, one), last_of(pair, other)};
    const struct ppi_dish *of_one = pair->menus[one].dishes, *of_other = pair->menus[other].dishes;
    double best_cost = PPI_INFINITE;
    dishes[other] = last_of(pair, other);
    for (dishes[one] = first_of(pair, one); dishes[one] <= last_of(pair, one); dishes[one]++) {
        if (!both_fit(pair, dishes, visited))
            continue;
        while (dishes[other] > first_of(pair, other)) {
            dishes[other]--;
            if (both_fit(pair, dishes, visited))
                continue;
            dishes[other]++;
            break;
        }
        double cost = pair->weight[one] * of_one[dishes[one]].added + pair->weight[other] * of_other[dishes[other]].added;
        if (cost < best_cost) {
            best_cost = cost;
            best[0] = dishes[one];
            best[1] = dishes[other];
        }
    }
    dishes[one] = best[0];
    dishes[other] = best[1];
}
