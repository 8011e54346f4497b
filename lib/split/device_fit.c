/* SPDX-License-Identifier: Apache-2.0 */
/* Devices with few stages are searched by cheapest_recompute.c. For others more recomputation is chosen step by step, the most
 * memory per cost first, until all held sets fit. On fronts without an order this may end too early, and the last steps may
 * make earlier ones needless: then it starts from the options that hold least, and each stage recomputes less while all fit. */
#include "split/cheapest_recompute.h"

#include <string.h>

#include <ppsched/op.h>

#include "base/checked.h"

/* Held sets that are summed together, in an array on the stack. Measured: docs/performance.md. */
enum { AT_ONCE = 64 };

static const struct ppi_recompute_option *option_of(const struct ppi_fit *fit, const uint32_t *options, uint32_t i)
{
    uint32_t stage = fit->holding->stages[i];
    return &fit->fronts[stage].options[options[stage]];
}

static double need_of_set(const struct ppi_fit *fit, const uint32_t *set, const uint32_t *options)
{
    double need = 0;
    for (uint32_t i = 0; i < fit->holding->count; i++)
        need += ppi_fit_need(fit, set, i, option_of(fit, options, i));
    return need;
}

/* The memory of `count` held sets from `first` on, summed column by column. */
static void sum_columns(double *need, const struct ppi_fit *fit, const uint32_t *options, uint32_t first, uint32_t count)
{
    const struct ppi_held_passes *holding = fit->holding;
    memset(need, 0, AT_ONCE * sizeof *need);
    for (uint32_t i = 0; i < holding->width * holding->count; i++) {
        const double *passes = holding->passes + (size_t)i * holding->set_count + first;
        double held = option_of(fit, options, i / holding->width)->held[i % holding->width];
        for (uint32_t k = 0; k < count && holding->has_any[i]; k++)
            need[k] += passes[k] * held;
    }
}

double ppi_fit_most(const uint32_t *options, const struct ppi_fit *fit, uint32_t *which)
{
    uint32_t sets = fit->holding->set_count;
    double most = 0, need[AT_ONCE];
    *which = 0;
    for (uint32_t first = 0; first < sets; first += AT_ONCE) {
        uint32_t count = sets - first < AT_ONCE ? sets - first : AT_ONCE;
        sum_columns(need, fit, options, first, count);
        for (uint32_t k = 0; k < count; k++) {
            *which = need[k] > most ? first + k : *which;
            most = ppi_larger(most, need[k]);
        }
    }
    return most;
}

double ppi_fit_overshoot(const uint32_t *options, const struct ppi_fit *fit)
{
    uint32_t which;
    return ppi_fit_most(options, fit, &which) - fit->room;
}

static void choose_all(const struct ppi_fit *fit, uint32_t *options, bool least_memory)
{
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        options[stage] = least_memory ? ppi_fit_last_of(fit, stage) : ppi_fit_first_of(fit, stage);
    }
}

/* Takes the option that frees the most memory per cost in the largest held set. False where there is none. */
static bool step_down(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited)
{
    uint32_t which, best_stage = 0, best_option = 0;
    double overshoot = ppi_fit_most(options, fit, &which) - fit->room, best = 0;
    const uint32_t *set = ppi_fit_set_at(fit, which);
    *visited += (uint64_t)fit->holding->count * (2 + fit->holding->set_count / 4);
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        const struct ppi_recompute_option *now = option_of(fit, options, i);
        for (uint32_t d = options[stage] + 1; d <= ppi_fit_last_of(fit, stage); d++) {
            const struct ppi_recompute_option *option = &fit->fronts[stage].options[d];
            double given = ppi_fit_need(fit, set, i, now) - ppi_fit_need(fit, set, i, option);
            double cost = fit->weight[stage] * (option->added - now->added);
            double value = ppi_smaller(given, overshoot) / (cost > 0 ? cost : 1e-300);
            if (given > 0 && value > best) {
                best = value;
                best_stage = stage;
                best_option = d;
            }
        }
    }
    if (best > 0)
        options[best_stage] = best_option;
    return best > 0;
}

bool ppi_fit_may(const struct ppi_fit *fit)
{
    for (uint32_t k = 0; k < fit->holding->set_count; k++) {
        const uint32_t *set = ppi_fit_set_at(fit, k);
        double need = 0;
        for (uint32_t i = 0; i < fit->holding->count; i++) {
            const struct ppi_recompute_option least = ppi_fit_least_of(fit, fit->holding->stages[i]);
            need += ppi_fit_need(fit, set, i, &least);
        }
        if (need > fit->room)
            return false;
    }
    return fit->holding->set_count > 0 || fit->room >= 0;
}

/* Whether all held sets fit with the chosen options. */
static bool fits(const struct ppi_fit *fit, const uint32_t *options)
{
    for (uint32_t i = 0; i < fit->holding->set_count; i++)
        if (need_of_set(fit, ppi_fit_set_at(fit, i), options) > fit->room)
            return false;
    return true;
}

/* Whether there is nothing to choose. */
static bool is_settled(const struct ppi_fit *fit)
{
    for (uint32_t i = 0; i < fit->holding->count; i++)
        if (ppi_fit_first_of(fit, fit->holding->stages[i]) != ppi_fit_last_of(fit, fit->holding->stages[i]))
            return false;
    return true;
}

static bool is_ordered(const struct ppi_fit *fit)
{
    for (uint32_t i = 0; i < fit->holding->count; i++)
        if (!fit->fronts[fit->holding->stages[i]].is_ordered)
            return false;
    return true;
}

/* Chooses the i-th stage's option with which the device holds least, given the others; false where none is better. */
static bool choose_leaner(const struct ppi_fit *fit, uint32_t *options, uint32_t i, double *most)
{
    uint32_t stage = fit->holding->stages[i], best = options[stage], which;
    bool is_leaner = false;
    for (uint32_t d = ppi_fit_first_of(fit, stage); d <= ppi_fit_last_of(fit, stage); d++) {
        options[stage] = d;
        double with = ppi_fit_most(options, fit, &which);
        if (with < *most) {
            *most = with;
            best = d;
            is_leaner = true;
        }
    }
    options[stage] = best;
    return is_leaner;
}

/* Chooses leaner options stage by stage until the device fits or none is leaner; returns the most that it holds then. */
static double choose_leaner_ones(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited)
{
    uint32_t which;
    double most = ppi_fit_most(options, fit, &which);
    for (bool goes_on = true; goes_on && most > fit->room;) {
        goes_on = false;
        for (uint32_t i = 0; i < fit->holding->count; i++) {
            goes_on |= choose_leaner(fit, options, i, &most);
            *visited += (uint64_t)fit->fronts[fit->holding->stages[i]].count * (1 + fit->holding->set_count);
        }
    }
    return most;
}

/* The options that hold least. On ordered fronts these are the last ones; else they are searched from the last ones and, as
 * that may end too early, from the first ones. */
static void choose_leanest(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited)
{
    choose_all(fit, options, true);
    if (is_ordered(fit))
        return;
    double most = choose_leaner_ones(fit, options, visited);
    if (most <= fit->room)
        return;
    choose_all(fit, options, false);
    if (choose_leaner_ones(fit, options, visited) <= most)
        return;
    choose_all(fit, options, true);
    choose_leaner_ones(fit, options, visited);
}

/* More recomputation step by step; whether all held sets fit in the end. */
static bool choose_by_steps(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited)
{
    choose_all(fit, options, false);
    bool goes_on = true;
    while (goes_on && !fits(fit, options))
        goes_on = step_down(fit, options, visited);
    return goes_on;
}

/* The cheapest option of each stage with which all held sets fit, given the others. */
static void recompute_less(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited)
{
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i], chosen = options[stage];
        options[stage] = ppi_fit_first_of(fit, stage);
        while (options[stage] < chosen && !fits(fit, options))
            options[stage]++;
        *visited += (options[stage] - ppi_fit_first_of(fit, stage) + (uint64_t)1) * (1 + fit->holding->set_count);
    }
}

double ppi_fit_device(uint32_t *options, const struct ppi_fit *fit, uint64_t *visited)
{
    choose_all(fit, options, false);
    if (is_settled(fit))
        return ppi_larger(0, ppi_fit_overshoot(options, fit));
    if (fits(fit, options) || ppi_fit_cheapest(fit, options, visited))
        return 0;
    choose_leanest(fit, options, visited);
    double overshoot = ppi_fit_overshoot(options, fit);
    if (overshoot > 0)
        return overshoot;
    bool has_stepped = choose_by_steps(fit, options, visited);
    if (!is_ordered(fit) && !has_stepped)
        choose_leanest(fit, options, visited);
    if (!is_ordered(fit))
        recompute_less(fit, options, visited);
    return ppi_larger(0, ppi_fit_overshoot(options, fit));
}

/* --- two copies of the model --- */

static bool both_fit(const struct ppi_fit *pair, const uint32_t *options, uint64_t *visited)
{
    *visited += 4 * ((uint64_t)pair[0].holding->set_count + pair[1].holding->set_count);
    return fits(&pair[0], options) && fits(&pair[1], options);
}

/* Where a front has no order: all options of one stage, each with the first of the other that fits. */
static void try_all_pairs(uint32_t *options, const struct ppi_fit *pair, uint64_t *visited)
{
    const uint32_t one = pair->holding->stages[0], other = pair->holding->stages[1];
    const struct ppi_recompute_option *of_one = pair->fronts[one].options, *of_other = pair->fronts[other].options;
    uint32_t best[2] = {ppi_fit_last_of(pair, one), ppi_fit_last_of(pair, other)};
    double best_cost = PPI_INFINITE;
    for (options[one] = ppi_fit_first_of(pair, one); options[one] <= ppi_fit_last_of(pair, one); options[one]++)
        for (options[other] = ppi_fit_first_of(pair, other); options[other] <= ppi_fit_last_of(pair, other); options[other]++) {
            double cost = pair->weight[one] * of_one[options[one]].added + pair->weight[other] * of_other[options[other]].added;
            if (cost >= best_cost)
                break;
            if (!both_fit(pair, options, visited))
                continue;
            best_cost = cost;
            best[0] = options[one];
            best[1] = options[other];
        }
    options[one] = best[0];
    options[other] = best[1];
}

/* With more recomputation in one stage less is enough in the other, so one pass over both fronts finds all pairs. */
void ppi_fit_pair(uint32_t *options, const struct ppi_fit *pair, uint64_t *visited)
{
    const struct ppi_held_passes *holding = pair->holding;
    if (!is_ordered(pair)) {
        try_all_pairs(options, pair, visited);
        return;
    }
    uint32_t one = holding->stages[0], other = holding->stages[1],
             best[2] = {ppi_fit_last_of(pair, one), ppi_fit_last_of(pair, other)};
    const struct ppi_recompute_option *of_one = pair->fronts[one].options, *of_other = pair->fronts[other].options;
    double best_cost = PPI_INFINITE;
    options[other] = ppi_fit_last_of(pair, other);
    for (options[one] = ppi_fit_first_of(pair, one); options[one] <= ppi_fit_last_of(pair, one); options[one]++) {
        if (!both_fit(pair, options, visited))
            continue;
        while (options[other] > ppi_fit_first_of(pair, other)) {
            options[other]--;
            if (both_fit(pair, options, visited))
                continue;
            options[other]++;
            break;
        }
        double cost = pair->weight[one] * of_one[options[one]].added + pair->weight[other] * of_other[options[other]].added;
        if (cost < best_cost) {
            best_cost = cost;
            best[0] = options[one];
            best[1] = options[other];
        }
    }
    options[one] = best[0];
    options[other] = best[1];
}
