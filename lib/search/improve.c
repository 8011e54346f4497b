/* SPDX-License-Identifier: Apache-2.0 */
#include "search/improve.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/timeline.h"
#include "model/builder.h"

enum {
    MEMORY = 50,         /* prices that late acceptance looks back */
    CRITICAL_IN_TEN = 8, /* of ten tries so many are on the critical path */
    IDLE_TRIES = 16,     /* choices that cannot be tried, for each that can */
    REPORT_EVERY = 256
};

struct climb {
    const struct ppi_problem *problem;
    ppsched_schedule *schedule; /* its ops change */
    ppsched_timeline *timeline;
    struct ppi_event_loop loop;
    size_t count;               /* ops in all: those of the devices one behind the other */
    ppsched_op *ops;            /* the schedule's */
    double *level;              /* activations that the device holds after an op */
    size_t *forward, *backward; /* where the F, and the I or B, of a stage pass stands */
    size_t *critical;           /* ops that could change places with the next */
    size_t critical_count;
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
    const double *memory = climb->problem->stage[op->stage].memory;
    switch (op->kind) {
    case PPSCHED_KIND_F:
        return memory[PPI_F];
    case PPSCHED_KIND_I:
        return memory[PPI_I];
    case PPSCHED_KIND_W:
        return memory[PPI_W];
    default:
        return memory[PPI_I] + memory[PPI_W];
    }
}

static uint32_t device_of(const struct climb *climb, size_t i)
{
    return climb->problem->stage[climb->ops[i].stage].device;
}

static bool starts_queue(const struct climb *climb, size_t i)
{
    return i == 0 || device_of(climb, i - 1) != device_of(climb, i);
}

static size_t cell_of(const struct climb *climb, const ppsched_op *op)
{
    return (size_t)op->stage * climb->problem->microbatches + op->microbatch;
}

/* Notes where an op stands. */
static void note(struct climb *climb, size_t i)
{
    const ppsched_op *op = &climb->ops[i];
    if (op->kind == PPSCHED_KIND_F)
        climb->forward[cell_of(climb, op)] = i;
    else if (op->kind != PPSCHED_KIND_W)
        climb->backward[cell_of(climb, op)] = i;
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

/* Whether b may run right before a, which is right before it now: no input of its own, nor of its kind's order, and within the
 * memory limit. What other devices make of it the evaluator will see. */
static bool may_swap(const struct climb *climb, size_t i)
{
    const ppsched_op *a = &climb->ops[i], *b = &climb->ops[i + 1];
    bool a_is_backward = a->kind == PPSCHED_KIND_I || a->kind == PPSCHED_KIND_B;
    bool b_is_backward = b->kind == PPSCHED_KIND_I || b->kind == PPSCHED_KIND_B;
    if (starts_queue(climb, i + 1))
        return false;
    if (a->stage == b->stage && (a->microbatch == b->microbatch || a->kind == b->kind || (a_is_backward && b_is_backward)))
        return false;
    bool both_forward = a->kind == PPSCHED_KIND_F && b->kind == PPSCHED_KIND_F;
    if (a->microbatch == b->microbatch &&
        ((both_forward && a->stage + 1 == b->stage) || (a_is_backward && b_is_backward && b->stage + 1 == a->stage)))
        return false;
    double level = climb->level[i] - memory_of(climb, a) + memory_of(climb, b);
    return b->kind != PPSCHED_KIND_F || level <= climb->problem->device[device_of(climb, i)].limit;
}

/* The objective, and in `*last` the op that ends it. Infinite where the order cannot be run. */
static double price(struct climb *climb, size_t *last)
{
    const ppsched_span *spans = climb->timeline->spans;
    double objective = -1;
    if (ppi_earliest_starts(&climb->loop, climb->timeline, NULL) != PPSCHED_OK)
        return PPI_INFINITE;
    for (uint32_t d = 0; d < climb->problem->devices; d++) {
        const ppsched_queue *queue = &climb->schedule->queues[d];
        if (queue->count == 0)
            continue;
        size_t end = queue->first + queue->count - 1;
        double own = spans[end].end - (climb->problem->by_span ? spans[queue->first].start : 0);
        if (own > objective) {
            objective = own;
            *last = end;
        }
    }
    return objective;
}

/* The op whose end an op waited for; itself where it waited for none. */
static size_t awaited(const struct climb *climb, size_t i)
{
    const ppsched_op *op = &climb->ops[i];
    size_t cell = cell_of(climb, op), row = climb->problem->microbatches;
    if (!starts_queue(climb, i) && climb->timeline->spans[i - 1].end == climb->timeline->spans[i].start)
        return i - 1;
    if (op->kind == PPSCHED_KIND_F && op->stage > 0)
        return climb->forward[cell - row];
    if ((op->kind == PPSCHED_KIND_I || op->kind == PPSCHED_KIND_B) && op->stage + 1u < climb->problem->stages)
        return climb->backward[cell + row];
    return i;
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

static ppsched_status run(struct climb *climb, uint32_t tries, double goal, struct ppi_watch *watch, struct ppi_orders *orders,
                          double *objective, ppsched_error *error)
{
    double memory[MEMORY], present;
    size_t last = 0;
    uint32_t tried = 0;
    present = price(climb, &last);
    find_critical(climb, last);
    for (int i = 0; i < MEMORY; i++)
        memory[i] = present;
    for (uint64_t choices = 0; tried < tries && choices<(uint64_t)tries * IDLE_TRIES && * objective> goal; choices++) {
        size_t i = pick(climb), end = last;
        if (!may_swap(climb, i))
            continue;
        if (++tried % REPORT_EVERY == 0) {
            ppsched_status status = ppi_watch_report(watch, (double)tried / tries, error);
            if (status != PPSCHED_OK)
                return status;
        }
        swap(climb, i);
        double next = price(climb, &end);
        if (next > present && next > memory[tried % MEMORY]) {
            swap(climb, i);
            continue;
        }
        present = next;
        last = end;
        find_critical(climb, last);
        if (present < memory[tried % MEMORY])
            memory[tried % MEMORY] = present;
        if (present < *objective) {
            *objective = present;
            for (uint32_t d = 0; d < orders->devices; d++)
                memcpy(orders->ops + orders->first[d], climb->schedule->queues[d].ops, orders->count[d] * sizeof *orders->ops);
        }
    }
    return PPSCHED_OK;
}

/* --- room --- */

static ppsched_status build(struct climb *climb, const ppsched_config *config, int32_t placement,
                            const struct ppi_orders *orders, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = ppi_builder_create(&builder, config, placement, "candidate", error);
    for (uint32_t d = 0; d < orders->devices && status == PPSCHED_OK; d++)
        status = ppi_builder_append(builder, d, orders->ops + orders->first[d], orders->count[d], error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(&climb->schedule, builder, error);
    ppi_builder_destroy(builder);
    if (status == PPSCHED_OK)
        status = ppi_evaluate(&climb->timeline, climb->schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        status = ppi_event_loop_make(&climb->loop, climb->schedule, error);
    if (status == PPSCHED_OK)
        ppi_event_loop_set_costs(&climb->loop, &climb->timeline->costs);
    return status;
}

static ppsched_status make_room(struct climb *climb, ppsched_error *error)
{
    const struct ppi_host *host = &climb->problem->host;
    size_t cells = (size_t)climb->problem->stages * climb->problem->microbatches;
    climb->count = (size_t)climb->schedule->op_count;
    climb->ops = climb->schedule->ops;
    climb->level = ppi_allocate(host, climb->count, sizeof *climb->level);
    climb->forward = ppi_allocate(host, 2 * cells, sizeof *climb->forward);
    climb->critical = ppi_allocate(host, climb->count, sizeof *climb->critical);
    if (climb->level == NULL || climb->forward == NULL || climb->critical == NULL)
        return ppi_fail_memory(error, "the search");
    climb->backward = climb->forward + cells;
    for (size_t i = 0; i < climb->count; i++) {
        climb->level[i] = (starts_queue(climb, i) ? 0 : climb->level[i - 1]) + memory_of(climb, &climb->ops[i]);
        note(climb, i);
    }
    return PPSCHED_OK;
}

static void clear(struct climb *climb)
{
    const struct ppi_host *host = &climb->problem->host;
    ppi_release(host, climb->critical);
    ppi_release(host, climb->forward);
    ppi_release(host, climb->level);
    if (climb->loop.schedule != NULL)
        ppi_event_loop_clear(&climb->loop);
    ppi_timeline_destroy(climb->timeline);
    ppi_schedule_release(climb->schedule);
}

static bool has_pairs(const struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < orders->devices; d++)
        for (size_t i = 0; i < orders->count[d]; i++)
            if ((orders->ops[orders->first[d] + i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0)
                return true;
    return false;
}

ppsched_status ppi_improve(const struct ppi_problem *problem, const ppsched_config *config, int32_t placement, uint32_t tries,
                           double goal, struct ppi_watch *watch, struct ppi_orders *orders, double *objective,
                           ppsched_error *error)
{
    struct climb climb = {.problem = problem, .random = 88172645463325252u};
    if (tries == 0 || *objective <= goal || has_pairs(orders))
        return PPSCHED_OK;
    ppsched_status status = build(&climb, config, placement, orders, error);
    if (status == PPSCHED_OK)
        status = make_room(&climb, error);
    if (status == PPSCHED_OK && climb.count > 1)
        status = run(&climb, tries, goal, watch, orders, objective, error);
    clear(&climb);
    return status;
}
