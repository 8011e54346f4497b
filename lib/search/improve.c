/* SPDX-License-Identifier: Apache-2.0 */
#include "base/checked.h"
#include "base/error.h"
#include "search/explore.h"
#include "search/periodic.h"

enum {
    MEMORY = 50,         /* prices that late acceptance looks back */
    CRITICAL_IN_TEN = 8, /* of ten tries so many are on the critical path */
    IDLE_TRIES = 16,     /* choices that cannot be tried, for each that can */
    REPORT_EVERY = 256
};

struct climb {
    struct ppi_attempt *attempt;
    struct ppi_room room;
    const struct ppi_problem *problem; /* the attempt's */
    struct ppi_pricer *pricer;         /* the attempt's: the ops of its schedule change */
    size_t count;                      /* ops in all: those of the devices one behind the other */
    ppsched_op *ops;
    double *level;    /* activations that the device holds after an op */
    size_t *where;    /* an F, I or B stands, by its link of the chain (see periodic.h) and microbatch */
    size_t *critical; /* ops that could change places with the next */
    size_t critical_count;
    double present, earlier[MEMORY]; /* prices: of the order as it is, and of those accepted before, by tries modulo MEMORY */
    uint32_t tried;
    uint64_t random;
};

/* Below `limit`; xorshift64* (Vigna 2016), the same on every platform. */
static size_t random_below(struct climb *climb, size_t limit)
{
    climb->random ^= climb->random >> 12;
    climb->random ^= climb->random << 25;
    climb->random ^= climb->random >> 27;
    return (size_t)((climb->random * 0x2545f4914f6cdd1du >> 32) * limit >> 32);
}

static double memory_of(const struct climb *climb, const ppsched_op *op)
{
    return climb->problem->stage[op->stage].memory[op->kind];
}

static uint32_t device_of(const struct climb *climb, size_t i)
{
    return climb->problem->stage[climb->ops[i].stage].device;
}

static bool starts_queue(const struct climb *climb, size_t i)
{
    return i == 0 || device_of(climb, i - 1) != device_of(climb, i);
}

/* Where it is noted where an op of the chain stands. */
static size_t *place_of(const struct climb *climb, const ppsched_op *op)
{
    size_t link = ppi_link_of(climb->problem, op->stage, op->kind);
    return &climb->where[link * climb->problem->microbatches + op->microbatch];
}

static void note(struct climb *climb, size_t i)
{
    if (climb->ops[i].kind != PPSCHED_KIND_W)
        *place_of(climb, &climb->ops[i]) = i;
}

static void swap(struct climb *climb, size_t i)
{
    ppsched_op op = climb->ops[i];
    double before = climb->level[i] - memory_of(climb, &op);
    climb->ops[i] = climb->ops[i + 1];
    climb->ops[i + 1] = op;
    climb->level[i] = before + memory_of(climb, &climb->ops[i]);
    note(climb, i);
    note(climb, i + 1);
}

/* Whether b may run right before a, which is right before it now: each link of the chain in the order of microbatches, nothing
 * before its own input, and within the memory limit. What other devices make of it the evaluator will see. */
static bool may_swap(const struct climb *climb, size_t i)
{
    const ppsched_op *a = &climb->ops[i], *b = &climb->ops[i + 1];
    uint32_t link = ppi_link_of(climb->problem, a->stage, a->kind), next = ppi_link_of(climb->problem, b->stage, b->kind);
    if (starts_queue(climb, i + 1) || link == next)
        return false;
    if (a->microbatch == b->microbatch && (a->stage == b->stage || (link + 1 == next && b->kind != PPSCHED_KIND_W)))
        return false;
    double level = climb->level[i] - memory_of(climb, a) + memory_of(climb, b);
    return b->kind != PPSCHED_KIND_F || level <= climb->problem->device[device_of(climb, i)].limit;
}

/* The op whose end an op waited for; itself where it waited for none. */
static size_t awaited(const struct climb *climb, size_t i)
{
    const ppsched_op *op = &climb->ops[i];
    const ppsched_span *span = &climb->pricer->timeline->spans[i];
    if (!starts_queue(climb, i) && span[-1].end == span->start)
        return i - 1;
    if (op->kind == PPSCHED_KIND_W || (op->kind == PPSCHED_KIND_F && op->stage == 0))
        return i;
    return *(place_of(climb, op) - climb->problem->microbatches);
}

/* All pairs of neighbours on a critical path that ends with an op. */
static void find_critical(struct climb *climb, size_t last)
{
    climb->critical_count = 0;
    for (size_t i = last, before; (before = awaited(climb, i)) != i; i = before)
        if (before + 1 == i && !starts_queue(climb, i))
            climb->critical[climb->critical_count++] = before;
}

/* A pair to try: most often one on the critical path. */
static size_t pick(struct climb *climb)
{
    if (climb->critical_count > 0 && random_below(climb, 10) < CRITICAL_IN_TEN)
        return climb->critical[random_below(climb, climb->critical_count)];
    return random_below(climb, climb->count - 1);
}

/* Swaps a pair, and back where that is longer than the present order and than that of so many tries ago. An order that cannot
 * be run takes for ever. */
static void try_swap(struct climb *climb, size_t i)
{
    struct ppi_attempt *attempt = climb->attempt;
    double *earlier = &climb->earlier[climb->tried % MEMORY], next;
    size_t last = 0;
    swap(climb, i);
    if (ppi_pricer_time(climb->pricer, climb->problem->by_span, &next, &last, NULL) != PPSCHED_OK)
        next = PPI_INFINITE;
    if (next > climb->present && next > *earlier) {
        swap(climb, i);
        return;
    }
    climb->present = next;
    *earlier = ppi_smaller(*earlier, next);
    find_critical(climb, last);
    if (next < attempt->objective) {
        ppi_orders_read(&attempt->candidate, climb->pricer->schedule);
        ppi_attempt_keep(attempt, next);
    }
}

static ppsched_status run(struct climb *climb, uint32_t tries, ppsched_error *error)
{
    uint64_t choices = (uint64_t)tries * IDLE_TRIES;
    size_t last = 0;
    ppsched_status status = ppi_pricer_time(climb->pricer, climb->problem->by_span, &climb->present, &last, error);
    if (status != PPSCHED_OK)
        return status;
    find_critical(climb, last);
    for (int i = 0; i < MEMORY; i++)
        climb->earlier[i] = climb->present;
    for (; climb->tried < tries && choices > 0 && ppi_attempt_goes_on(climb->attempt); choices--) {
        size_t i = pick(climb);
        if (!may_swap(climb, i))
            continue;
        if (++climb->tried % REPORT_EVERY == 0)
            status = ppi_watch_report(&climb->attempt->watch, (double)climb->tried / tries, error);
        if (status != PPSCHED_OK)
            return status;
        try_swap(climb, i);
    }
    return PPSCHED_OK;
}

/* --- room --- */

static ppsched_status prepare(struct climb *climb, ppsched_error *error)
{
    const struct ppi_attempt *attempt = climb->attempt;
    size_t cells = (size_t)climb->problem->stages * climb->problem->microbatches;
    ppsched_status status = ppi_pricer_put(climb->pricer, attempt->config, attempt->placement, &attempt->best, error);
    if (status != PPSCHED_OK)
        return status;
    climb->count = (size_t)climb->pricer->schedule->op_count;
    climb->ops = climb->pricer->schedule->ops;
    climb->level = ppi_room_take(&climb->room, climb->count, sizeof *climb->level);
    climb->where = ppi_room_take(&climb->room, 2 * cells, sizeof *climb->where);
    climb->critical = ppi_room_take(&climb->room, climb->count, sizeof *climb->critical);
    status = ppi_room_check(&climb->room, "the search", error);
    for (size_t i = 0; i < climb->count && status == PPSCHED_OK; i++) {
        climb->level[i] = (starts_queue(climb, i) ? 0 : climb->level[i - 1]) + memory_of(climb, &climb->ops[i]);
        note(climb, i);
    }
    return status;
}

static bool has_pairs(const struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < orders->devices; d++)
        for (size_t i = 0; i < orders->count[d]; i++)
            if ((orders->ops[orders->first[d] + i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0)
                return true;
    return false;
}

ppsched_status ppi_improve(struct ppi_attempt *attempt, uint32_t tries, ppsched_error *error)
{
    struct climb climb = {.attempt = attempt,
                          .room.host = &attempt->config->host,
                          .problem = &attempt->problem,
                          .pricer = &attempt->pricer,
                          .random = 88172645463325252u};
    if (tries == 0 || !ppi_attempt_goes_on(attempt) || has_pairs(&attempt->best))
        return PPSCHED_OK;
    ppsched_status status = prepare(&climb, error);
    if (status == PPSCHED_OK && climb.count > 1)
        status = run(&climb, tries, error);
    ppi_room_clear(&climb.room);
    return status;
}
