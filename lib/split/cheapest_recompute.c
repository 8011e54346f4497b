/* SPDX-License-Identifier: Apache-2.0 */
/* The cheapest recompute options of a device with few stages: a greedy choice first, then branch and bound over the stages,
 * with a relaxation by savings per cost as the lower bound. */
#include "split/cheapest_recompute.h"

/* Steps of the search, after which the best so far is returned: more make splits no better. Devices with more stages, or more
 * held sets that may exceed memory, are not searched. Measured: docs/performance.md. */
enum { MOST_STEPS = 16, MOST_STAGES = 16, MOST_SETS = 64 };

/* Savings of all stages in the lower bound; with more there is no bound. */
enum { MOST_SAVINGS = 128 };

/* A saving of the i-th stage: `need` of memory saved for `cost`, by changing to a recompute option. */
struct saving {
    double need, cost;
    uint32_t i, option;
};

struct cheapest {
    const struct ppi_fit *fit;
    uint32_t now[MOST_STAGES], best[MOST_STAGES];
    double best_cost;
    double passes[MOST_STAGES][PPI_HELD][MOST_SETS];              /* of each stage, in the held sets that may exceed memory */
    uint8_t used[MOST_STAGES][PPI_HELD], used_count[MOST_STAGES]; /* the states of passes that are in some set */
    uint32_t set_count;
    double least[MOST_STAGES + 1][MOST_SETS]; /* the least memory of a set for its stages from the i-th on */
    uint32_t steps;
    uint32_t tight;                      /* the set from which the lower bound of costs is made */
    double first_need[MOST_STAGES + 1];  /* its memory for the stages from the i-th on, each with its first option */
    struct saving savings[MOST_SAVINGS]; /* of that set, sorted: the most memory per cost first */
    uint32_t saving_count;
    bool is_bounded; /* `savings` holds all savings */
};

/* The memory of the i-th stage in a set with an option. */
static double need_in(const struct cheapest *search, uint32_t i, uint32_t set, const struct ppi_recompute_option *option)
{
    double need = 0;
    for (uint32_t k = 0; k < search->used_count[i]; k++) {
        uint32_t held = search->used[i][k];
        need += search->passes[i][held][set] * option->held[held];
    }
    return need;
}

/* Whether an option of the i-th stage fits in each set, with the chosen stages and the least of the others. */
static bool has_room(const struct cheapest *search, uint32_t i, const double *need, const struct ppi_recompute_option *option)
{
    for (uint32_t k = 0; k < search->set_count; k++)
        if (need[k] + need_in(search, i, k, option) + search->least[i + 1][k] > search->fit->room)
            return false;
    return true;
}

/* The first option of the i-th stage that fits, or one past the last. On an ordered front later options hold no more. */
static uint32_t first_with_room(const struct cheapest *search, uint32_t i, const double *need)
{
    uint32_t stage = search->fit->holding->stages[i], low = ppi_fit_first_of(search->fit, stage),
             high = ppi_fit_last_of(search->fit, stage) + 1;
    const struct ppi_recompute_option *options = search->fit->fronts[stage].options;
    if (!search->fit->fronts[stage].is_ordered) {
        while (low < high && !has_room(search, i, need, &options[low]))
            low++;
        return low;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (has_room(search, i, need, &options[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void add_option(const struct cheapest *search, uint32_t i, const struct ppi_recompute_option *option, const double *need,
                       double *sum)
{
    for (uint32_t k = 0; k < search->set_count; k++)
        sum[k] = need[k] + need_in(search, i, k, option);
}

/* --- a lower bound of the others' cost --- */

/* Whether a saves more per cost than b. */
static bool is_cheaper(const struct saving *a, const struct saving *b)
{
    return a->need * b->cost > b->need * a->cost;
}

static void put_saving(struct cheapest *search, struct saving saving)
{
    uint32_t i = search->saving_count++;
    for (; i > 0 && is_cheaper(&saving, &search->savings[i - 1]); i--)
        search->savings[i] = search->savings[i - 1];
    search->savings[i] = saving;
}

/* Adds the savings between a stage's options on the lower convex hull of memory and cost; false where there are too many. */
static bool put_hull(struct cheapest *search, uint32_t i)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t stage = fit->holding->stages[i], count = 0;
    const struct ppi_recompute_option *options = fit->fronts[stage].options;
    struct saving hull[MOST_SAVINGS];
    double least = need_in(search, i, search->tight, &options[ppi_fit_first_of(fit, stage)]);
    const struct ppi_recompute_option *last = &options[ppi_fit_first_of(fit, stage)];
    for (uint32_t d = ppi_fit_first_of(fit, stage) + 1; d <= ppi_fit_last_of(fit, stage); d++) {
        double need = need_in(search, i, search->tight, &options[d]);
        if (need >= least)
            continue;
        struct saving step = {least - need, fit->weight[stage] * (options[d].added - last->added), i, d};
        while (count > 0 && !is_cheaper(&hull[count - 1], &step)) {
            step.need += hull[count - 1].need;
            step.cost += hull[count - 1].cost;
            count--;
        }
        if (count == MOST_SAVINGS)
            return false;
        hull[count++] = step;
        least = need;
        last = &options[d];
    }
    bool has_place = search->saving_count + count <= MOST_SAVINGS;
    for (uint32_t k = 0; k < count && has_place; k++)
        put_saving(search, hull[k]);
    return has_place;
}

/* Lists the savings of a set, for the lower bound. */
static void list_savings(struct cheapest *search, uint32_t tight)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t count = fit->holding->count;
    search->tight = tight;
    search->saving_count = 0;
    search->first_need[count] = 0;
    search->is_bounded = true;
    for (uint32_t i = count; i-- > 0;) {
        uint32_t stage = fit->holding->stages[i];
        double need = need_in(search, i, tight, &fit->fronts[stage].options[ppi_fit_first_of(fit, stage)]);
        search->first_need[i] = search->first_need[i + 1] + need;
        search->is_bounded &= put_hull(search, i);
    }
}

/* The set that needs the most memory. */
static uint32_t tightest(const struct cheapest *search, const double *need)
{
    uint32_t which = 0;
    for (uint32_t k = 1; k < search->set_count; k++)
        which = need[k] > need[which] ? k : which;
    return which;
}

/* Whether all sets fit by more than rounding. */
static bool has_all_room(const struct cheapest *search, const double *need)
{
    return need[tightest(search, need)] <= search->fit->room * (1 - 1e-12);
}

static void change_option(const struct cheapest *search, uint32_t i, uint32_t from, uint32_t to, double *need)
{
    const struct ppi_recompute_option *options = search->fit->fronts[search->fit->holding->stages[i]].options;
    for (uint32_t k = 0; k < search->set_count; k++)
        need[k] += need_in(search, i, k, &options[to]) - need_in(search, i, k, &options[from]);
}

static void keep_cheapest(struct cheapest *search, double cost)
{
    search->best_cost = cost;
    for (uint32_t i = 0; i < search->fit->holding->count; i++)
        search->best[i] = search->now[i];
}

static void choose_first(struct cheapest *search, double *need)
{
    const struct ppi_fit *fit = search->fit;
    for (uint32_t k = 0; k < search->set_count; k++)
        need[k] = 0;
    for (uint32_t i = 0; i < fit->holding->count; i++) {
        uint32_t stage = fit->holding->stages[i];
        search->now[i] = ppi_fit_first_of(fit, stage);
        add_option(search, i, &fit->fronts[stage].options[search->now[i]], need, need);
    }
}

/* Takes the savings of most memory per cost until the tightest set fits. Returns the tightest set then. */
static uint32_t save_enough(struct cheapest *search, double *need)
{
    uint32_t tight = search->tight;
    for (uint32_t k = 0; k < search->saving_count && need[tight] > search->fit->room; k++) {
        const struct saving *saving = &search->savings[k];
        change_option(search, saving->i, search->now[saving->i], saving->option, need);
        search->now[saving->i] = saving->option;
        tight = tightest(search, need);
    }
    return tight;
}

/* Recomputes less in a stage while all sets fit. */
static void give_back(struct cheapest *search, uint32_t i, double *need)
{
    uint32_t first = ppi_fit_first_of(search->fit, search->fit->holding->stages[i]);
    while (search->now[i] > first) {
        uint32_t less = search->now[i] - 1;
        change_option(search, i, search->now[i], less, need);
        if (!has_all_room(search, need)) {
            change_option(search, i, less, search->now[i], need);
            break;
        }
        search->now[i] = less;
    }
}

/* Finds a first choice that fits, and the tightest set with it. */
static void choose_greedily(struct cheapest *search)
{
    const struct ppi_fit *fit = search->fit;
    double need[MOST_SETS], cost = 0;
    choose_first(search, need);
    list_savings(search, tightest(search, need));
    uint32_t tight = save_enough(search, need);
    if (has_all_room(search, need)) {
        for (uint32_t i = 0; i < fit->holding->count; i++) {
            give_back(search, i, need);
            cost += fit->weight[fit->holding->stages[i]] * fit->fronts[fit->holding->stages[i]].options[search->now[i]].added;
        }
        keep_cheapest(search, cost);
    }
    if (tight != search->tight)
        list_savings(search, tight);
}

/* The least cost of the stages from the i-th on, where the set needs `need` for those before. */
static double least_cost(const struct cheapest *search, uint32_t i, double need)
{
    double overshoot = need + search->first_need[i] - search->fit->room * (1 + 1e-12), cost = 0;
    for (uint32_t k = 0; k < search->saving_count && overshoot > 0 && search->is_bounded; k++) {
        const struct saving *saving = &search->savings[k];
        if (saving->i < i)
            continue;
        cost += saving->cost * (overshoot < saving->need ? overshoot / saving->need : 1);
        overshoot -= saving->need;
    }
    return cost;
}

/* Chooses the stages from the i-th on. `need`: the memory of each set for the stages before. */
static void choose_stages_from(struct cheapest *search, uint32_t i, double cost, const double *need)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t stage = fit->holding->stages[i], last = ppi_fit_last_of(fit, stage);
    const struct ppi_recompute_option *options = fit->fronts[stage].options;
    double sum[MOST_SETS];
    for (uint32_t d = first_with_room(search, i, need); d <= last && search->steps < MOST_STEPS; d++) {
        double with = cost + fit->weight[stage] * options[d].added;
        if (with >= search->best_cost)
            break;
        search->steps++;
        search->now[i] = d;
        if (i + 1 == fit->holding->count) {
            keep_cheapest(search, with);
            break;
        }
        if (!fit->fronts[stage].is_ordered && !has_room(search, i, need, &options[d]))
            continue;
        add_option(search, i, &options[d], need, sum);
        if (with + least_cost(search, i + 1, sum[search->tight]) >= search->best_cost * (1 - 1e-12))
            continue;
        choose_stages_from(search, i + 1, with, sum);
    }
}

/* The most that any option of a stage holds, for each state of a pass. */
static struct ppi_recompute_option option_of_most(const struct ppi_fit *fit, uint32_t stage)
{
    const struct ppi_recompute_front *front = &fit->fronts[stage];
    struct ppi_recompute_option most = front->options[ppi_fit_first_of(fit, stage)];
    for (uint32_t d = ppi_fit_first_of(fit, stage) + 1; d <= ppi_fit_last_of(fit, stage) && !front->is_ordered; d++)
        for (int i = 0; i < PPI_HELD; i++)
            most.held[i] = ppi_larger(most.held[i], front->options[d].held[i]);
    return most;
}

static void add_set(struct cheapest *search, const uint32_t *set)
{
    const uint32_t width = search->fit->holding->width;
    uint32_t k = search->set_count++;
    for (uint32_t i = 0; i < width * search->fit->holding->count; i++)
        search->passes[i / width][i % width][k] = set[i];
}

static void find_used(struct cheapest *search)
{
    const struct ppi_held_passes *holding = search->fit->holding;
    for (uint32_t i = 0; i < holding->count; i++) {
        search->used_count[i] = 0;
        for (uint32_t held = 0; held < holding->width; held++)
            if (holding->has_any[(size_t)holding->width * i + held])
                search->used[i][search->used_count[i]++] = (uint8_t)held;
    }
}

/* Lists the held sets that may exceed memory; the others fit with any choice. False where there are too many. */
static bool list_sets(struct cheapest *search)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t count = fit->holding->count;
    struct ppi_recompute_option most[MOST_STAGES];
    for (uint32_t i = 0; i < count; i++)
        most[i] = option_of_most(fit, fit->holding->stages[i]);
    search->set_count = 0;
    for (uint32_t k = 0; k < fit->holding->set_count; k++) {
        const uint32_t *set = ppi_fit_set_at(fit, k);
        double need = 0;
        for (uint32_t i = 0; i < count; i++)
            need += ppi_fit_need(fit, set, i, &most[i]);
        if (need <= fit->room * (1 - 1e-12))
            continue;
        if (search->set_count == MOST_SETS)
            return false;
        add_set(search, set);
    }
    return true;
}

/* Fills in `least`. */
static void sum_least(struct cheapest *search)
{
    const struct ppi_fit *fit = search->fit;
    uint32_t count = fit->holding->count;
    for (uint32_t k = 0; k < search->set_count; k++)
        search->least[count][k] = 0;
    for (uint32_t i = count; i-- > 0;) {
        const struct ppi_recompute_option least = ppi_fit_least_of(fit, fit->holding->stages[i]);
        add_option(search, i, &least, search->least[i + 1], search->least[i]);
    }
}

/* The cheapest choice where the search completes, else the best found; false where the device is too large. */
bool ppi_fit_cheapest(const struct ppi_fit *fit, uint32_t *options, uint64_t *visited)
{
    struct cheapest search; /* large: not zeroed, as only written parts are read */
    if (fit->holding->count > MOST_STAGES)
        return false;
    search.fit = fit;
    search.best_cost = PPI_INFINITE;
    search.steps = 0;
    find_used(&search);
    if (!list_sets(&search))
        return false;
    sum_least(&search);
    if (search.set_count > 0)
        choose_greedily(&search);
    choose_stages_from(&search, 0, 0, search.least[fit->holding->count]); /* nothing is chosen: these are zeros */
    *visited += (uint64_t)fit->holding->count * (2 * fit->holding->set_count + 16) +
                (uint64_t)search.steps * (3 * search.set_count + 8);
    for (uint32_t i = 0; i < fit->holding->count && search.best_cost < PPI_INFINITE; i++)
        options[fit->holding->stages[i]] = search.best[i];
    return search.best_cost < PPI_INFINITE;
}
