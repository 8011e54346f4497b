/* SPDX-License-Identifier: Apache-2.0 */
/* A lower bound for all splits: the least time of the fullest device with whole layers. With one stage per device stages are
 * filled one after another; in a flushed iteration each also waits for the stages before it. With several, or two model
 * copies, the bound counts the layers that devices can run by a time, whichever these are: exact where all layers between the
 * ends take equally long, otherwise a relaxation. */
#include "base/checked.h"
#include "split/split_search.h"

/* Halvings for the least time; after them the bound is the next time that may be enough. */
enum { HALVINGS = 60 };

/* Kinds of blocks, by their time; more kinds are rounded down to shorter ones. Combinations of kinds are tried up to
 * MOST_SUMS. Both bound the work; with more the bound is lower than it could be. */
enum { MOST_KINDS = 8, MOST_SUMS = 64 };

/* --- blocks --- */

/* The least backward time of a layer: an order may have full backwards or split ones. */
static double backward_of(const struct ppi_split_load *load, uint32_t layer)
{
    const double *cost = ppi_layer_at(load->layers, layer)->kinds[0].cost;
    return load->has_whole_backwards ? cost[PPI_LAYER_BACKWARD]
                                     : ppi_smaller(cost[PPI_LAYER_BACKWARD], cost[PPI_LAYER_INPUT] + cost[PPI_LAYER_WEIGHT]);
}

/* The work of layers that must stay together, and their time on the forward path. Returns where they end. */
static uint32_t sum_block(const struct ppi_split_load *load, uint32_t begin, double *work, double *path)
{
    const ppsched_layers *layers = load->layers;
    uint32_t end = begin;
    *work = *path = 0;
    do {
        const double forward = ppi_layer_at(layers, end)->given.forward_time;
        *work += forward + backward_of(load, end);
        *path += forward;
    } while (++end < layers->count && !layers->is_cut[end]);
    return end;
}

static double sum_all(const struct ppi_split_load *load)
{
    double all = 0;
    for (uint32_t i = 0; i < load->layers->count; i++)
        all += ppi_layer_at(load->layers, i)->given.forward_time + backward_of(load, i);
    return all;
}

double ppi_split_path(const ppsched_layers *layers)
{
    double path = 0;
    for (uint32_t i = 0; i < layers->count; i++) {
        const double *cost = ppi_layer_at(layers, i)->kinds[0].cost;
        path += cost[PPI_LAYER_FORWARD] + ppi_smaller(cost[PPI_LAYER_BACKWARD], cost[PPI_LAYER_INPUT]);
    }
    return path;
}

/* --- one stage per device, in the order of the stages --- */

/* Whether `needed` is within `time`; if not, lowers `*next`, the next time to try, to it. */
static bool is_within(double needed, double time, double *next)
{
    if (needed <= time)
        return true;
    *next = ppi_smaller(*next, needed);
    return false;
}

/* Whether stages that end by `time`, each filled as much as possible, hold all layers: in a chain a device starts after the
 * forwards of the stages before it. Weight gradients may be its last ops, so nothing needs to follow. */
static bool chain_holds_all(const struct ppi_split_load *load, double time, double *next)
{
    const double passes = load->passes[0];
    double gone = 0, before = 0, work = load->overhead, own, path;
    uint32_t stage = 1;
    for (uint32_t i = 0, end; i < load->layers->count; i = end) {
        end = sum_block(load, i, &own, &path);
        if (!is_within(before + passes * (work + own), time, next)) {
            before = load->is_chain ? gone : 0;
            work = load->overhead;
            if (i == 0 || ++stage > load->stages || !is_within(before + passes * (work + own), time, next))
                return false;
        }
        work += own;
        gone += path;
    }
    return true;
}

/* --- several stages per device --- */

/* The blocks other than the first and the last, which are always in the first and last stage, by time. */
struct kinds {
    double work[MOST_KINDS];
    uint32_t number[MOST_KINDS];
    uint32_t count, blocks, last; /* last: the kind that came last */
    bool is_exact;                /* no kind is rounded to a shorter one */
    double all, least;
};

/* Identical devices: each with all its stages, or pairs with the same two stages, one of each copy. */
struct unit {
    uint32_t number;
    uint32_t least;    /* blocks that stages must have */
    double own[2];     /* work of its stages without these blocks; of pairs that of each stage */
    double both, more; /* passes of both stages, and those that the larger one of two has in addition */
};

struct loading {
    const struct ppi_split_load *load;
    struct kinds kinds;
    struct unit units[3];
    uint32_t units_count;
    uint32_t largest; /* the kind with the most blocks; combinations of the others are tried */
    bool tries_sums;
    double ends[2]; /* work of the first and the last block */
};

/* A block's kind: its own or, where there are too many, the next shorter one. */
static uint32_t kind_of(struct kinds *kinds, double work)
{
    uint32_t shorter = PPSCHED_NONE, shortest = 0;
    if (kinds->count > 0 && kinds->work[kinds->last] == work)
        return kinds->last;
    for (uint32_t k = 0; k < kinds->count; k++) {
        if (kinds->work[k] == work)
            return k;
        if (kinds->work[k] < work && (shorter == PPSCHED_NONE || kinds->work[k] > kinds->work[shorter]))
            shorter = k;
        if (kinds->work[k] < kinds->work[shortest])
            shortest = k;
    }
    if (kinds->count < MOST_KINDS) {
        kinds->work[kinds->count] = work;
        return kinds->count++;
    }
    kinds->is_exact = false;
    if (shorter != PPSCHED_NONE)
        return shorter;
    kinds->work[shortest] = work;
    return shortest;
}

static void list_kinds(struct loading *loading)
{
    const struct ppi_split_load *load = loading->load;
    struct kinds *kinds = &loading->kinds;
    double work, path, sums = 1;
    kinds->is_exact = true;
    kinds->least = PPI_INFINITE;
    for (uint32_t i = 0, end; i < load->layers->count; i = end) {
        end = sum_block(load, i, &work, &path);
        if (i == 0 || end == load->layers->count) {
            loading->ends[i > 0] += work;
            continue;
        }
        kinds->last = kind_of(kinds, work);
        kinds->number[kinds->last]++;
        kinds->blocks++;
        kinds->all += work;
        kinds->least = ppi_smaller(kinds->least, work);
    }
    for (uint32_t k = 1; k < kinds->count; k++)
        if (kinds->number[k] > kinds->number[loading->largest])
            loading->largest = k;
    for (uint32_t k = 0; k < kinds->count; k++)
        sums *= k != loading->largest ? kinds->number[k] + 1.0 : 1;
    loading->tries_sums = kinds->is_exact && kinds->count > 0 && sums <= MOST_SUMS && kinds->work[loading->largest] > 0;
}

/* Adds `number` of a unit, unless that is 0. */
static void add_unit(struct loading *loading, uint32_t number, struct unit unit)
{
    unit.number = number;
    if (number > 0)
        loading->units[loading->units_count++] = unit;
}

/* Units of single devices: those with the first and the last stage, which may be one device, and all others. */
static void list_devices(struct loading *loading)
{
    const struct ppi_split_load *load = loading->load;
    const uint32_t chunks = load->stages / load->devices;
    const double passes = load->passes[0], own = chunks * load->overhead;
    const bool are_one = load->device_of[0] == load->device_of[load->stages - 1];
    const uint32_t least = load->may_be_empty ? 0 : chunks, but_end = least > 0 ? 1 : 0;
    struct unit first = {.least = least - but_end, .own = {own + loading->ends[0]}, .both = passes};
    struct unit last = {.least = least - but_end, .own = {own + loading->ends[1]}, .both = passes};
    if (are_one) {
        first.own[0] += loading->ends[1];
        first.least -= but_end;
    }
    add_unit(loading, 1, first);
    add_unit(loading, are_one ? 0 : 1, last);
    add_unit(loading, load->devices - (are_one ? 1 : 2), (struct unit){.least = least, .own = {own}, .both = passes});
}

/* Units of two copies: the outer pair has the ends, and a device in the middle has one stage in both copies. */
static void list_pairs(struct loading *loading)
{
    const struct ppi_split_load *load = loading->load;
    const double *passes = load->passes, own = load->overhead;
    const uint32_t least = load->may_be_empty ? 0 : 1;
    struct unit pair = {.own = {own, own}, .both = ppi_smaller(passes[0], passes[1])};
    pair.more = ppi_larger(passes[0], passes[1]) - pair.both;
    pair.least = 2 * least;
    struct unit outer = pair;
    outer.least = 0;
    outer.own[0] += loading->ends[0];
    outer.own[1] += loading->ends[1];
    add_unit(loading, 1, outer);
    add_unit(loading, load->devices / 2 - 1, pair);
    add_unit(loading, load->devices % 2, (struct unit){.least = least, .own = {own}, .both = passes[0] + passes[1]});
}

/* The time of a unit's fullest device with `count` more blocks of `work`, distributed best. */
static double time_of(const struct unit *unit, uint32_t count, double work)
{
    const double both = unit->own[0] + unit->own[1] + count * work;
    const double low = ppi_smaller(unit->own[0], unit->own[1]), high = ppi_larger(unit->own[0], unit->own[1]);
    if (!(unit->more > 0))
        return unit->both * both;
    const double even = work > 0 ? (high - low + count * work) / (2 * work) : 0; /* blocks for the smaller stage */
    const uint32_t here = even < count ? (uint32_t)even : count;
    double most = ppi_larger(low + here * work, high + (count - here) * work);
    if (here < count)
        most = ppi_smaller(most, ppi_larger(low + (here + 1) * work, high + (count - here - 1) * work));
    return unit->both * both + unit->more * most;
}

/* How many blocks of `work` a unit can run by `time`, at most `most`. */
static uint32_t number_by(const struct unit *unit, double work, uint32_t most, double time, double *next)
{
    uint32_t low = 0, high = most;
    if (!is_within(time_of(unit, 0, work), time, next))
        return 0;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (is_within(time_of(unit, middle, work), time, next))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Work of any blocks that a unit can run by `time`. */
static double room_by(const struct unit *unit, double time)
{
    double room = time / (unit->both + unit->more / 2);
    if (unit->more > 0 && unit->both > 0)
        room = ppi_smaller(room, (time - unit->more * ppi_larger(unit->own[0], unit->own[1])) / unit->both);
    return ppi_larger(0, room - unit->own[0] - unit->own[1]);
}

/* The most work within `room` that is a sum of whole blocks. */
static double whole_of(const struct loading *loading, double room)
{
    const struct kinds *kinds = &loading->kinds;
    const double last = kinds->work[loading->largest];
    uint32_t taken[MOST_KINDS] = {0}, k = 0;
    double best = 0;
    room *= 1 + 1e-12;
    while (k < kinds->count) {
        double sum = 0;
        for (k = 0; k < kinds->count; k++)
            sum += k != loading->largest ? taken[k] * kinds->work[k] : 0;
        if (sum <= room) {
            const double fit = (room - sum) / last, number = kinds->number[loading->largest];
            best = ppi_larger(best, sum + (fit < number ? (double)(uint32_t)fit : number) * last);
        }
        for (k = 0; k < kinds->count; k++) { /* the next combination */
            if (k == loading->largest)
                continue;
            if (taken[k]++ < kinds->number[k])
                break;
            taken[k] = 0;
        }
    }
    return best;
}

/* Whether devices can run, for each kind, all blocks of that time or longer by `time`. */
static bool have_numbers(const struct loading *loading, double time, double *next)
{
    const struct kinds *kinds = &loading->kinds;
    for (uint32_t k = 0; k < kinds->count; k++) {
        uint32_t number = 0;
        uint64_t most = 0;
        for (uint32_t other = 0; other < kinds->count; other++)
            number += kinds->work[other] >= kinds->work[k] ? kinds->number[other] : 0;
        for (uint32_t u = 0; u < loading->units_count; u++)
            most += (uint64_t)loading->units[u].number * number_by(&loading->units[u], kinds->work[k], number, time, next);
        if (most < number)
            return false;
    }
    return true;
}

/* Whether devices may run all layers by `time`; if not, `*next` is the next time that may be enough. */
static bool devices_hold_all(const struct loading *loading, double time, double *next)
{
    double all = 0;
    for (uint32_t u = 0; u < loading->units_count; u++) {
        const struct unit *unit = &loading->units[u];
        if (!is_within(time_of(unit, unit->least, unit->least > 0 ? loading->kinds.least : 0), time, next))
            return false;
        if (loading->tries_sums)
            all += unit->number * whole_of(loading, room_by(unit, time));
    }
    if (!have_numbers(loading, time, next))
        return false;
    if (!loading->tries_sums || all >= loading->kinds.all * (1 - 1e-12))
        return true;
    *next = time;
    return false;
}

/* --- both --- */

typedef bool (*holds_function)(const void *what, double time, double *next);

static bool chain_holds(const void *what, double time, double *next)
{
    return chain_holds_all(what, time, next);
}

static bool devices_hold(const void *what, double time, double *next)
{
    return devices_hold_all(what, time, next);
}

/* The least time that is enough, between a lower bound of it and a time that is enough. */
static double least_time(holds_function holds, const void *what, double low, double high)
{
    double next = PPI_INFINITE;
    if (holds(what, low, &next))
        return low;
    for (int i = 0; i < HALVINGS && low < high; i++) {
        const double middle = low + (high - low) / 2;
        double unused = PPI_INFINITE;
        if (holds(what, middle, &unused))
            high = middle;
        else
            low = middle;
    }
    next = PPI_INFINITE;
    holds(what, low, &next);
    return next <= high ? ppi_larger(low, next) : low;
}

double ppi_split_bound(const struct ppi_split_load *load)
{
    const double all = sum_all(load) + load->stages * load->overhead;
    const double low = (load->passes[0] + load->passes[1]) * all / load->devices;
    const double high = 2 * (load->passes[0] + load->passes[1]) * all;
    struct loading loading = {.load = load};
    if (load->devices == 1 || !(low > 0) || !ppi_is_finite(high))
        return low;
    if (load->copies == 1 && load->stages == load->devices)
        return least_time(chain_holds, load, low, high);
    list_kinds(&loading);
    if (load->copies == 1)
        list_devices(&loading);
    else
        list_pairs(&loading);
    return least_time(devices_hold, &loading, low, high);
}
