/* SPDX-License-Identifier: Apache-2.0 */
/* The lower bound where devices have several stages, or the model two copies: it counts the layers that devices can run by a
 * time, whichever these are. */
#include "split/load.h"

/* Kinds of blocks, by their time; more kinds are rounded down to shorter ones. Combinations of kinds are tried up to
 * MOST_SUMS. Both bound the work; with more the bound is lower than it could be. Measured: docs/performance.md. */
enum { MOST_KINDS = 8, MOST_SUMS = 64 };

/* Units of devices by speed, in addition to the one or two with the ends; more speeds are rounded up to faster ones. */
enum { MOST_SPEEDS = 16 };

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
    uint32_t least;       /* blocks that stages must have */
    double own[2];        /* work of its stages without these blocks; of pairs that of each stage */
    double both, more;    /* passes of both stages, and those that the larger one of two has in addition */
    double speed, slower; /* of the device; of a pair, of its faster device and of its slower one */
    double overhead;      /* of a stage of a pair, which `own` has multiplied by `speed`, as times are divided by it */
};

struct loading {
    const struct ppi_split_load *load;
    struct kinds kinds;
    struct unit units[MOST_SPEEDS + 2];
    uint32_t units_count;
    uint32_t largest; /* the kind with the most blocks; combinations of the others are tried */
    bool tries_sums;
    double ends[2];      /* work of the first and the last block */
    uint32_t begin, end; /* the layers between these */
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
        end = ppi_load_sum_block(load, i, &work, &path);
        if (i == 0 || end == load->layers->count) {
            loading->ends[i > 0] += work;
            *(i > 0 ? &loading->end : &loading->begin) = i > 0 ? i : end;
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

/* A speed at which a device runs no layer between the ends slower than it does. */
static double most_speed(const struct loading *loading, uint32_t device)
{
    const struct ppi_split_load *load = loading->load;
    double most = 0;
    if (load->types == NULL)
        return ppi_load_speed(load, device);
    const double *own = load->types->work + (size_t)device * load->layers->entry_count;
    for (uint32_t i = loading->begin; i < loading->end; i++) {
        const double work = ppi_load_work_of(load, i);
        if (work > 0)
            most = ppi_larger(most, work / own[load->layers->entry_of[i]]);
    }
    return most > 0 ? most : load->types->speeds[device];
}

/* The work at speed 1 that takes a device, at its speed, as long as an end of the model. */
static double end_on(const struct loading *loading, int end, uint32_t device, double speed)
{
    const struct ppi_split_load *load = loading->load;
    if (load->types == NULL)
        return loading->ends[end];
    return speed *
           ppi_load_time_on(load, device, end == 0 ? 0 : loading->end, end == 0 ? loading->begin : load->layers->count, 0);
}

/* Adds a unit with ends, which is always the only one of its kind. */
static void add_unit(struct loading *loading, struct unit unit)
{
    unit.number = 1;
    loading->units[loading->units_count++] = unit;
}

/* Adds one more of the units from `first` on: to those of its speed and overhead or, where there are too many, to the nearest
 * that is at least as fast; the last one then gets the larger speeds of both, and the least overhead. */
static void add_alike(struct loading *loading, uint32_t first, struct unit unit)
{
    struct unit *nearest = NULL;
    for (uint32_t u = first; u < loading->units_count; u++) {
        struct unit *other = &loading->units[u];
        if (other->speed == unit.speed && other->slower == unit.slower && other->overhead == unit.overhead) {
            other->number++;
            return;
        }
        if (other->speed >= unit.speed && other->slower >= unit.slower && (nearest == NULL || other->speed < nearest->speed))
            nearest = other;
    }
    if (loading->units_count < first + MOST_SPEEDS) {
        add_unit(loading, unit);
        return;
    }
    nearest = nearest != NULL ? nearest : &loading->units[loading->units_count - 1];
    nearest->overhead = ppi_smaller(nearest->overhead, unit.overhead);
    for (int i = 0; i < 2; i++) /* the least overhead */
        nearest->own[i] = nearest->own[i] > 0 ? nearest->overhead * ppi_larger(nearest->speed, unit.speed) : 0;
    nearest->speed = ppi_larger(nearest->speed, unit.speed);
    nearest->slower = ppi_larger(nearest->slower, unit.slower);
    nearest->number++;
}

/* A device with so many stages, without their blocks. */
static struct unit unit_of(const struct loading *loading, uint32_t device, uint32_t chunks, uint32_t least)
{
    const struct ppi_split_load *load = loading->load;
    const double speed = most_speed(loading, device), own = chunks * ppi_load_overhead(load, device);
    return (struct unit){
        .least = least, .own = {own * speed}, .both = load->passes[0], .speed = speed, .slower = speed, .overhead = own};
}

/* Units of single devices: those with the first and the last stage, which may be one device, and all others. */
static void list_devices(struct loading *loading)
{
    const struct ppi_split_load *load = loading->load;
    const uint32_t chunks = load->stages / load->devices, ends[2] = {load->device_of[0], load->device_of[load->stages - 1]};
    const uint32_t least = load->may_be_empty ? 0 : chunks, but_end = least > 0 ? 1 : 0;
    const bool are_one = ends[0] == ends[1];
    for (int i = 0; i < (are_one ? 1 : 2); i++) {
        struct unit unit = unit_of(loading, ends[i], chunks, least - but_end);
        unit.own[0] += end_on(loading, i, ends[i], unit.speed);
        if (are_one) {
            unit.own[0] += end_on(loading, 1, ends[i], unit.speed);
            unit.least -= but_end;
        }
        add_unit(loading, unit);
    }
    for (uint32_t d = 0, first = loading->units_count; d < load->devices; d++)
        if (d != ends[0] && d != ends[1])
            add_alike(loading, first, unit_of(loading, d, chunks, least));
}

/* The devices of a stage in both copies, without its blocks. */
static struct unit pair_of(const struct loading *loading, uint32_t stage)
{
    const struct ppi_split_load *load = loading->load;
    const double *passes = load->passes;
    const uint32_t devices[2] = {load->device_of[stage], load->device_of[load->stages - 1 - stage]};
    const double a = most_speed(loading, devices[0]), b = most_speed(loading, devices[1]);
    const double own[2] = {ppi_load_overhead(load, devices[0]), ppi_load_overhead(load, devices[1])};
    struct unit pair = {.least = load->may_be_empty ? 0 : 2,
                        .both = ppi_smaller(passes[0], passes[1]),
                        .speed = ppi_larger(a, b),
                        .slower = ppi_smaller(a, b)};
    pair.more = ppi_larger(passes[0], passes[1]) - pair.both;
    const bool are_equal = a == b && !(pair.more > 0); /* both have the same work */
    pair.overhead = are_equal ? ppi_larger(own[0], own[1]) : ppi_smaller(own[0], own[1]);
    pair.own[0] = pair.own[1] = pair.overhead * pair.speed;
    return pair;
}

/* Units of two copies: the outer pair has the ends, and a device in the middle has one stage in both copies. */
static void list_pairs(struct loading *loading)
{
    const struct ppi_split_load *load = loading->load;
    const uint32_t devices[2] = {load->device_of[0], load->device_of[load->stages - 1]};
    struct unit outer = pair_of(loading, 0);
    outer.least = 0;
    for (int end = 0; end < 2; end++)
        outer.own[end] += ppi_smaller(end_on(loading, end, devices[0], most_speed(loading, devices[0])),
                                      end_on(loading, end, devices[1], most_speed(loading, devices[1])));
    add_unit(loading, outer);
    for (uint32_t stage = 1; stage < load->devices / 2; stage++)
        add_alike(loading, 1, pair_of(loading, stage));
    if (load->devices % 2 != 0) {
        struct unit middle = unit_of(loading, load->device_of[load->devices / 2], 1, load->may_be_empty ? 0 : 1);
        middle.both = load->passes[0] + load->passes[1];
        add_unit(loading, middle);
    }
}

/* The larger of a time at the speed of a pair's faster device and the least that its slower one takes for its `work`, which has
 * the overhead at the faster speed. */
static double slowest_of(const struct unit *unit, double time, double work)
{
    if (unit->slower == unit->speed)
        return time;
    const double overhead = 2 * unit->overhead;
    return ppi_larger(time, unit->both * (overhead + (work - overhead * unit->speed) / unit->slower));
}

/* The time of a unit's fullest device with `count` more blocks of `work`, distributed best. */
static double time_of(const struct unit *unit, uint32_t count, double work)
{
    const double both = unit->own[0] + unit->own[1] + count * work;
    const double low = ppi_smaller(unit->own[0], unit->own[1]), high = ppi_larger(unit->own[0], unit->own[1]);
    if (!(unit->more > 0))
        return slowest_of(unit, unit->both * both / unit->speed, both);
    const double even = work > 0 ? (high - low + count * work) / (2 * work) : 0; /* blocks for the smaller stage */
    const uint32_t here = even < count ? (uint32_t)even : count;
    double most = ppi_larger(low + here * work, high + (count - here) * work);
    if (here < count)
        most = ppi_smaller(most, ppi_larger(low + (here + 1) * work, high + (count - here - 1) * work));
    return slowest_of(unit, (unit->both * both + unit->more * most) / unit->speed, both);
}

/* How many blocks of `work` a unit can run by `time`, at most `most`. */
static uint32_t number_by(const struct unit *unit, double work, uint32_t most, double time, double *next)
{
    uint32_t low = 0, high = most;
    if (!ppi_load_is_within(time_of(unit, 0, work), time, next))
        return 0;
    while (low < high) {
        const uint32_t middle = low + (high - low + 1) / 2;
        if (ppi_load_is_within(time_of(unit, middle, work), time, next))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Work of any blocks that a unit can run by `time`. */
static double room_by(const struct unit *unit, double time)
{
    const double at_speed = time * unit->speed;
    double room = at_speed / (unit->both + unit->more / 2);
    if (unit->more > 0 && unit->both > 0)
        room = ppi_smaller(room, (at_speed - unit->more * ppi_larger(unit->own[0], unit->own[1])) / unit->both);
    if (unit->slower != unit->speed && unit->both > 0)
        room = ppi_smaller(room, (time / unit->both - 2 * unit->overhead) * unit->slower + 2 * unit->overhead * unit->speed);
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
static bool devices_hold_all(const void *what, double time, double *next)
{
    const struct loading *loading = what;
    double all = 0;
    for (uint32_t u = 0; u < loading->units_count; u++) {
        const struct unit *unit = &loading->units[u];
        if (!ppi_load_is_within(time_of(unit, unit->least, unit->least > 0 ? loading->kinds.least : 0), time, next))
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

static bool have_speeds(const struct loading *loading)
{
    for (uint32_t d = 0; d < loading->load->devices; d++)
        if (!ppi_is_finite(most_speed(loading, d)))
            return false;
    return true;
}

double ppi_load_bound_of_units(const struct ppi_split_load *load, double low, double high)
{
    struct loading loading = {.load = load};
    list_kinds(&loading);
    if (load->types != NULL && !have_speeds(&loading))
        return low;
    if (load->copies == 1)
        list_devices(&loading);
    else
        list_pairs(&loading);
    return ppi_load_least_time(devices_hold_all, &loading, low, high);
}
