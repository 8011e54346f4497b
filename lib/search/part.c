/* SPDX-License-Identifier: Apache-2.0 */
/* Where a device's queue has as many ops of each stage and kind in a part as the part has microbatches, and the device runs
 * all microbatches in turn, these ops are those of the next microbatches.
 *
 * All devices' parts are taken close to a common end. They need not be as long in time as the busiest device works: how much
 * later each device, and each value on its way between two devices, is ready at the end of the part than at its start, is an
 * upper bound of how much later everything is after each repetition. For all times after a part depend on these times alone,
 * and never decrease with them. */
#include "search/part.h"

#include <string.h>

#include "base/checked.h"

/* Measured: docs/performance.md. */
enum {
    ROWS = 3,  /* counted for each stage: Fs, Is and Bs, Ws and Bs */
    FLOWS = 2, /* of values between devices: Fs, and Is or Bs */
    REACH = 12 /* places, for each stage of a device, by which its part may end before or after the others' */
};

#define CLOSE 1e-9 /* times that differ by less, as a share of the whole, are equal */
#define NOWHERE SIZE_MAX

static const ppsched_op *ops_of(const struct ppi_orders *orders, uint32_t device)
{
    return orders->ops + orders->first[device];
}

/* --- whole microbatches --- */

static void start(struct ppi_window *window, uint32_t device)
{
    memset(window->counts, 0, (size_t)window->problem->stages * ROWS * sizeof *window->counts);
    window->units = 0;
    window->wrong = ROWS * window->problem->device[device].count;
}

static void count(struct ppi_window *window, uint32_t stage, uint32_t row, bool adds)
{
    uint32_t *own = &window->counts[(size_t)stage * ROWS + row];
    window->wrong += *own == window->block;
    *own += adds ? 1 : UINT32_MAX;
    window->wrong -= *own == window->block;
    window->units += adds ? 1 : UINT32_MAX;
}

static void count_op(struct ppi_window *window, const ppsched_op *op, bool adds)
{
    if (op->kind == PPSCHED_KIND_F)
        count(window, op->stage, 0, adds);
    if (op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_B)
        count(window, op->stage, 1, adds);
    if (op->kind == PPSCHED_KIND_W || op->kind == PPSCHED_KIND_B)
        count(window, op->stage, 2, adds);
}

/* Moves the window's end behind the next op, and its start as far as it must be. */
static void go_on(struct ppi_window *window, uint32_t device, const ppsched_op *ops, size_t *from, size_t to)
{
    const uint32_t most = ROWS * window->problem->device[device].count * window->block;
    count_op(window, &ops[to - 1], true);
    while (window->units > most)
        count_op(window, &ops[(*from)++], false);
}

uint32_t ppi_part_least(struct ppi_window *window, const struct ppi_orders *orders, uint32_t device, uint32_t most)
{
    const ppsched_op *ops = ops_of(orders, device);
    const size_t each = orders->count[device] / window->problem->microbatches, middle = orders->count[device] / 2;
    for (uint32_t block = 1; block <= most && block < window->problem->microbatches; block++) {
        const size_t from = middle - block * each / 2;
        window->block = block;
        start(window, device);
        for (size_t i = from; i < from + block * each; i++)
            count_op(window, &ops[i], true);
        if (window->wrong == 0)
            return block;
    }
    return 1;
}

/* Whether each stage of a device runs all microbatches in turn. `next`: 3 numbers for each stage. */
static bool is_in_turn(const struct ppi_problem *problem, const struct ppi_orders *orders, uint32_t device, uint32_t *next)
{
    const ppsched_op *ops = ops_of(orders, device);
    memset(next, 0, (size_t)problem->stages * ROWS * sizeof *next);
    for (size_t i = 0; i < orders->count[device]; i++) {
        uint32_t *own = next + (size_t)ops[i].stage * ROWS;
        const uint8_t kind = ops[i].kind;
        if ((kind == PPSCHED_KIND_F && own[0]++ != ops[i].microbatch) ||
            ((kind == PPSCHED_KIND_I || kind == PPSCHED_KIND_B) && own[1]++ != ops[i].microbatch) ||
            ((kind == PPSCHED_KIND_W || kind == PPSCHED_KIND_B) && own[2]++ != ops[i].microbatch))
            return false;
    }
    return true;
}

/* --- fewer microbatches --- */

static size_t apart(size_t a, size_t b)
{
    return a > b ? a - b : b - a;
}

/* Finds the part of a device that begins nearest to a place; false where there is none. */
static bool find_nearest(struct ppi_window *window, const struct ppi_orders *orders, uint32_t device, size_t place,
                         size_t *from, size_t *to)
{
    const ppsched_op *ops = ops_of(orders, device);
    bool is_found = orders->count[device] == 0;
    size_t begin = 0;
    *from = *to = 0;
    start(window, device);
    for (size_t end = 1; end <= orders->count[device]; end++) {
        go_on(window, device, ops, &begin, end);
        if (window->wrong > 0 || (is_found && apart(begin, place) >= apart(*from, place)))
            continue;
        is_found = true;
        *from = begin;
        *to = end;
    }
    return is_found;
}

static ppsched_op *put_shifted(ppsched_op *to, const ppsched_op *from, const ppsched_op *end, uint32_t microbatches)
{
    for (; from < end; from++, to++) {
        *to = *from;
        to->microbatch += microbatches; /* modulo 2^32 */
    }
    return to;
}

bool ppi_part_take_out(struct ppi_window *window, const struct ppi_orders *orders, struct ppi_orders *out)
{
    const uint32_t all = window->problem->microbatches, fewer = all - window->block;
    for (uint32_t d = 0; d < orders->devices; d++) {
        const ppsched_op *ops = ops_of(orders, d);
        ppsched_op *put = out->ops + out->first[d];
        size_t from, to;
        if (!is_in_turn(window->problem, orders, d, window->counts) ||
            !find_nearest(window, orders, d, orders->count[d] / all * fewer / 2, &from, &to) ||
            from + (orders->count[d] - to) > out->first[d + 1] - out->first[d])
            return false;
        put = put_shifted(put, ops, ops + from, 0);
        put = put_shifted(put, ops + to, ops + orders->count[d], 0 - window->block);
        out->count[d] = (size_t)(put - (out->ops + out->first[d]));
    }
    return true;
}

/* --- more microbatches --- */

void ppi_part_repeat(const struct ppi_part *part, const struct ppi_orders *orders, struct ppi_orders *out, uint32_t more)
{
    for (uint32_t d = 0; d < out->devices; d++) {
        const ppsched_op *ops = ops_of(orders, d), *from = ops + part->from[d], *to = ops + part->to[d];
        ppsched_op *put = put_shifted(out->ops + out->first[d], ops, to, 0);
        for (uint32_t later = part->block; later <= more; later += part->block)
            put = put_shifted(put, from, to, later);
        put = put_shifted(put, to, ops + orders->count[d], more);
        out->count[d] = (size_t)(put - (out->ops + out->first[d]));
    }
}

/* --- the parts with the shortest periods --- */

struct finder {
    const struct ppi_problem *problem;
    const struct ppi_orders *orders;
    const struct ppi_pricer *pricer;
    struct ppi_part_list *out;
    struct ppi_window window;
    struct ppi_part part; /* the one that is tried */
    uint32_t busiest;     /* device */
    size_t *begin;        /* where the part of a device begins that ends at a place, at `first_end` + place; or nowhere */
    size_t *first_end;    /* by device */
    double *end;          /* of an op, by flow, stage and microbatch */
    size_t *place;        /* the same: in its queue */
};

size_t ppi_started_before(const ppsched_span *spans, size_t count, double time)
{
    size_t before = 0, end = count;
    while (before < end) {
        const size_t middle = before + (end - before) / 2;
        if (spans[middle].start < time)
            before = middle + 1;
        else
            end = middle;
    }
    return before;
}

static const ppsched_span *spans_of(const struct finder *finder, uint32_t device)
{
    return finder->pricer->timeline->spans + finder->pricer->schedule->queues[device].first;
}

static size_t at(const struct finder *finder, uint32_t flow, uint32_t stage, uint32_t microbatch)
{
    return ((size_t)flow * finder->problem->stages + stage) * finder->problem->microbatches + microbatch;
}

/* Notes ends and places of all ops; false where a stage does not run its microbatches in turn. */
static bool note_ops(struct finder *finder)
{
    double most = 0;
    for (uint32_t d = 0; d < finder->problem->devices; d++) {
        const ppsched_op *ops = ops_of(finder->orders, d);
        const ppsched_span *spans = spans_of(finder, d);
        double work = 0;
        if (!is_in_turn(finder->problem, finder->orders, d, finder->window.counts))
            return false;
        for (size_t i = 0; i < finder->orders->count[d]; i++) {
            work += spans[i].end - spans[i].start;
            if (ops[i].kind == PPSCHED_KIND_W)
                continue;
            const size_t cell = at(finder, ops[i].kind != PPSCHED_KIND_F, ops[i].stage, ops[i].microbatch);
            finder->end[cell] = spans[i].end;
            finder->place[cell] = i;
        }
        if (work > most) {
            most = work;
            finder->busiest = d;
        }
    }
    return true;
}

static void find_begins(struct finder *finder)
{
    for (uint32_t d = 0; d < finder->problem->devices; d++) {
        size_t *begin = finder->begin + finder->first_end[d], from = 0;
        start(&finder->window, d);
        begin[0] = finder->orders->count[d] == 0 ? 0 : NOWHERE;
        for (size_t end = 1; end <= finder->orders->count[d]; end++) {
            go_on(&finder->window, d, ops_of(finder->orders, d), &from, end);
            begin[end] = finder->window.wrong == 0 ? from : NOWHERE;
        }
    }
}

/* The number of ops of a flow that a stage runs before a place of its device. */
static uint32_t run_before(const struct finder *finder, uint32_t flow, uint32_t stage, const size_t *places)
{
    const size_t *place = finder->place + at(finder, flow, stage, 0), limit = places[finder->problem->stage[stage].device];
    uint32_t before = 0, end = finder->problem->microbatches;
    while (before < end) {
        const uint32_t middle = before + (end - before) / 2;
        if (place[middle] < limit)
            before = middle + 1;
        else
            end = middle;
    }
    return before;
}

/* Takes a device's part that ends as near as possible to a time. */
static bool take_device(struct finder *finder, uint32_t device, double time)
{
    const size_t *begin = finder->begin + finder->first_end[device], count = finder->orders->count[device];
    const size_t near = ppi_started_before(spans_of(finder, device), finder->orders->count[device], time);
    for (size_t i = 0; i <= (size_t)REACH * finder->problem->device[device].count; i++) {
        size_t end = near + i <= count && begin[near + i] != NOWHERE ? near + i : near >= i ? near - i : NOWHERE;
        if (end == NOWHERE || begin[end] == NOWHERE)
            continue;
        finder->part.from[device] = begin[end];
        finder->part.to[device] = end;
        return true;
    }
    return false;
}

static double end_before(const struct finder *finder, uint32_t device, size_t place)
{
    return place == 0 ? 0 : spans_of(finder, device)[place - 1].end;
}

/* How much later values between two stages are there at the end of the part than at its start; infinite where one is read
 * before it is made. */
static double later_between(const struct finder *finder, uint32_t flow, uint32_t maker, uint32_t reader)
{
    const uint32_t made = run_before(finder, flow, maker, finder->part.from);
    const uint32_t used = run_before(finder, flow, reader, finder->part.from);
    double later = used > made ? PPI_INFINITE : 0;
    for (uint32_t m = used; m < made; m++)
        later = ppi_larger(later, finder->end[at(finder, flow, maker, m + finder->part.block)] -
                                      finder->end[at(finder, flow, maker, m)]);
    return later;
}

/* Tries the parts that end near a time; false where they take longer per microbatch than `most`, or there are none. */
static bool try_time(struct finder *finder, double time, double most)
{
    const struct ppi_problem *problem = finder->problem;
    double later = 0;
    most *= finder->part.block;
    for (uint32_t d = 0; d < problem->devices; d++) {
        if (!take_device(finder, d, time))
            return false;
        later = ppi_larger(later, end_before(finder, d, finder->part.to[d]) - end_before(finder, d, finder->part.from[d]));
        if (!(later < most))
            return false;
    }
    for (uint32_t s = 0; s + 1 < problem->stages; s++) {
        if (problem->stage[s].device == problem->stage[s + 1].device)
            continue;
        later = ppi_larger(later, later_between(finder, 0, s, s + 1));
        later = ppi_larger(later, later_between(finder, 1, s + 1, s));
        if (!(later < most))
            return false;
    }
    finder->part.period = later / finder->part.block;
    return true;
}

/* Keeps the present part among the best, of which the last is dropped. */
static void keep(struct finder *finder)
{
    struct ppi_part_list *out = finder->out;
    uint32_t i = out->count < PPI_PARTS ? out->count++ : PPI_PARTS - 1;
    const struct ppi_part dropped = out->part[i];
    for (; i > 0 && out->part[i - 1].period > finder->part.period; i--)
        out->part[i] = out->part[i - 1];
    out->part[i] = finder->part;
    finder->part.from = dropped.from;
    finder->part.to = dropped.to;
}

/* Whether a part of that block and period has been kept: most likely one that makes the same order. */
static bool is_kept(const struct finder *finder)
{
    for (uint32_t i = 0; i < finder->out->count; i++)
        if (finder->out->part[i].block == finder->part.block && finder->out->part[i].period == finder->part.period)
            return true;
    return false;
}

static void try_block(struct finder *finder)
{
    const ppsched_span *spans = spans_of(finder, finder->busiest);
    const struct ppi_part_list *out = finder->out;
    find_begins(finder);
    for (size_t i = 1; i < finder->orders->count[finder->busiest]; i++) {
        const double most = out->count < PPI_PARTS ? PPI_INFINITE : out->part[PPI_PARTS - 1].period;
        if (try_time(finder, spans[i].start * (1 - CLOSE), most) && !is_kept(finder))
            keep(finder);
    }
}

static ppsched_status make(struct finder *out, struct ppi_arena *arena, ppsched_error *error)
{
    const struct ppi_problem *problem = out->problem;
    const size_t cells = (size_t)FLOWS * problem->stages * problem->microbatches;
    size_t ends = 0;
    out->window = (struct ppi_window){
        .problem = problem, .counts = ppi_arena_take(arena, (size_t)problem->stages * ROWS, sizeof *out->window.counts)};
    out->first_end = ppi_arena_take(arena, problem->devices, sizeof *out->first_end);
    out->begin = ppi_arena_take(arena, ppi_problem_ops(problem) + problem->devices, sizeof *out->begin);
    out->end = ppi_arena_take_zeroed(arena, cells, sizeof *out->end);
    out->place = ppi_arena_take_zeroed(arena, cells, sizeof *out->place);
    for (uint32_t i = 0; i <= PPI_PARTS; i++) {
        struct ppi_part *part = i < PPI_PARTS ? &out->out->part[i] : &out->part;
        part->from = ppi_arena_take(arena, problem->devices, sizeof *part->from);
        part->to = ppi_arena_take(arena, problem->devices, sizeof *part->to);
    }
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    for (uint32_t d = 0; d < problem->devices && status == PPSCHED_OK; d++) {
        out->first_end[d] = ends;
        ends += out->orders->count[d] + 1;
    }
    return status;
}

ppsched_status ppi_parts_find(struct ppi_part_list *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                              const struct ppi_orders *orders, const struct ppi_pricer *pricer, uint32_t more,
                              ppsched_error *error)
{
    struct finder finder = {.problem = problem, .orders = orders, .pricer = pricer, .out = out};
    out->count = 0;
    ppsched_status status = make(&finder, arena, error);
    if (status != PPSCHED_OK || !note_ops(&finder))
        return status;
    for (uint32_t block = 1; block <= 2 * problem->devices && block < problem->microbatches; block++) {
        finder.part.block = finder.window.block = block;
        if (more % block == 0)
            try_block(&finder);
    }
    return PPSCHED_OK;
}
