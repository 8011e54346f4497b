/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over the orders of pairs of ops of a device, with a deadline below the known value. Where all is settled
 * within the deadline, a better schedule exists; where nothing can be, there is none. */
#include "bound/refute.h"

#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "bound/propagate.h"

/* Measured: docs/performance.md. */
enum { MOST_DEPTH = 400 };

/* Times are compared with this share of the value as tolerance; the deadline is four times as far below the value. */
static const double TOLERANCE = 1e-12;

/* --- the search --- */

static void save(struct ppi_refutation *refuting, uint32_t depth, bool back)
{
    const size_t times = (size_t)depth * refuting->ops, counts = times * refuting->width;
    double *earliest = refuting->saved.earliest + times, *latest = refuting->saved.latest + times;
    uint16_t *least = refuting->saved.least + counts, *most = refuting->saved.most + counts;
    memcpy(back ? refuting->now.earliest : earliest, back ? earliest : refuting->now.earliest,
           refuting->ops * sizeof *earliest);
    memcpy(back ? refuting->now.latest : latest, back ? latest : refuting->now.latest, refuting->ops * sizeof *latest);
    memcpy(back ? refuting->now.least : least, back ? least : refuting->now.least,
           (size_t)refuting->ops * refuting->width * sizeof *least);
    memcpy(back ? refuting->now.most : most, back ? most : refuting->now.most,
           (size_t)refuting->ops * refuting->width * sizeof *most);
}

/* Two ops of a device: does `op` come before `other`, or after? The least rank is decided first. */
struct decision {
    uint32_t op, other;
    double rank;
};

/* How often a decision between two rows was in vain. */
static double *failures_of(struct ppi_refutation *refuting, uint32_t op, uint32_t other)
{
    const uint32_t row = op / refuting->microbatches, column = other / refuting->microbatches;
    return &refuting->failures[(size_t)(row < column ? row : column) * refuting->rows + (row < column ? column : row)];
}

/* The time to spare in both orders, most of all in the tighter one, by the length of the ops. Two rows that were decided in
 * vain often come first (after Boussemart et al., "Boosting systematic search by weighting constraints", 2004). */
static void consider(struct ppi_refutation *refuting, struct decision *best, uint32_t op, uint32_t other)
{
    const double both = ppi_length_of(refuting, op) + ppi_length_of(refuting, other);
    const double before = refuting->now.latest[other] - refuting->now.earliest[op] - both,
                 after = refuting->now.latest[op] - refuting->now.earliest[other] - both;
    const double slack = before + after + 2 * ppi_smaller(before, after);
    const double rank = (slack / ppi_larger(both, refuting->tolerance) + 1) / (1 + *failures_of(refuting, op, other));
    if (rank < best->rank)
        *best = before < after ? (struct decision){op, other, rank} : (struct decision){other, op, rank};
}

/* The pair to decide; false if all are settled. */
static bool choose(struct ppi_refutation *refuting, struct decision *best)
{
    for (uint32_t d = 0; d < refuting->problem->devices; d++) {
        const struct ppi_op_device *machine = &refuting->machine[d];
        for (uint32_t i = 0; i < machine->rows; i++)
            for (uint32_t k = 0; k < machine->rows; k++)
                for (uint32_t m = 0; m < refuting->microbatches && i != k; m++) {
                    const uint32_t op = ppi_op_at(refuting, machine->row[i], m), other = machine->row[k];
                    const uint32_t least = *ppi_least_before(refuting, op, other), most = *ppi_most_before(refuting, op, other);
                    if (least < most)
                        consider(refuting, best, op, ppi_op_at(refuting, other, least));
                }
    }
    return best->rank < PPI_INFINITE;
}

static void decide(struct ppi_refutation *refuting, const struct decision *pair, bool swap)
{
    const uint32_t first = swap ? pair->other : pair->op, second = swap ? pair->op : pair->other;
    refuting->is_dead = false;
    ppi_put_before(refuting, first / refuting->microbatches, first % refuting->microbatches, second / refuting->microbatches,
                   second % refuting->microbatches);
}

/* Whether no schedule keeps the deadline with what is settled so far. */
static ppsched_status branch(bool *is_refuted, struct ppi_refutation *refuting, uint32_t depth, ppsched_error *error)
{
    struct decision pair = {0, 0, PPI_INFINITE};
    const bool goes_on = ppi_propagate(refuting);
    ppsched_status status = refuting->poll != NULL ? ppi_poll_spend(refuting->poll, 0, error) : PPSCHED_OK;
    *is_refuted = !goes_on;
    if (status != PPSCHED_OK || *is_refuted || refuting->visits <= 0 || depth == MOST_DEPTH || !choose(refuting, &pair))
        return status;
    save(refuting, depth, false);
    for (int side = 0; side < 2; side++) {
        if (side > 0)
            save(refuting, depth, true);
        decide(refuting, &pair, side > 0);
        *is_refuted = refuting->is_dead;
        if (!refuting->is_dead)
            status = branch(is_refuted, refuting, depth + 1, error);
        *failures_of(refuting, pair.op, pair.other) += *is_refuted;
        if (status != PPSCHED_OK || !*is_refuted)
            return status;
    }
    return status;
}

/* --- the problem --- */

static uint32_t row_of(const struct ppi_problem *problem, uint8_t kind, uint32_t stage)
{
    return kind == PPSCHED_KIND_F   ? stage
           : kind == PPSCHED_KIND_W ? 3 * problem->stages - 1 - stage
                                    : 2 * problem->stages - 1 - stage;
}

static void add_row(struct ppi_refutation *refuting, uint32_t number, uint32_t stage, const struct ppi_op_row *row)
{
    struct ppi_op_device *machine = &refuting->machine[refuting->problem->stage[stage].device];
    refuting->row[number] = *row;
    refuting->row[number].device = refuting->problem->stage[stage].device;
    refuting->row[number].place = machine->rows;
    machine->row[machine->rows++] = number;
    machine->ops += refuting->microbatches;
}

static void add_rows(struct ppi_refutation *refuting)
{
    const struct ppi_problem *problem = refuting->problem;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        const uint8_t kind = stage->splits ? PPSCHED_KIND_I : PPSCHED_KIND_B;
        const bool is_last = s + 1 == problem->stages;
        add_row(refuting, s, s,
                &(struct ppi_op_row){.before = s > 0 ? s - 1 : PPSCHED_NONE,
                                     .delay = s > 0 ? stage->forward_delay : 0,
                                     .length = stage->duration[PPSCHED_KIND_F],
                                     .memory = stage->memory[PPSCHED_KIND_F]});
        add_row(refuting, row_of(problem, kind, s), s,
                &(struct ppi_op_row){.before = is_last ? s : row_of(problem, kind, s + 1),
                                     .delay = is_last ? 0 : stage->backward_delay,
                                     .length = stage->duration[kind],
                                     .memory = stage->memory[kind]});
        if (stage->splits)
            add_row(refuting, row_of(problem, PPSCHED_KIND_W, s), s,
                    &(struct ppi_op_row){.before = row_of(problem, kind, s),
                                         .length = stage->duration[PPSCHED_KIND_W],
                                         .memory = stage->memory[PPSCHED_KIND_W]});
    }
}

/* Op m of a row comes after op m of a row that it waits for, at once or over other devices. */
static void order_chains(struct ppi_refutation *refuting)
{
    for (uint32_t i = 0; i < refuting->rows; i++)
        for (uint32_t before = refuting->row[i].before; before != PPSCHED_NONE; before = refuting->row[before].before)
            for (uint32_t m = 0; m < refuting->microbatches && refuting->row[before].device == refuting->row[i].device; m++)
                ppi_put_before(refuting, before, m, i, m);
}

/* When the first op of a device starts, if no order changes it, as all stages before are the first of their devices; else
 * infinite. */
static double known_start(const struct ppi_problem *problem, uint32_t device)
{
    const uint32_t first = ppi_stage_at(problem, device, 0);
    double start = 0;
    for (uint32_t s = 0; s < first; s++) {
        if (problem->stage[s].place != 0)
            return PPI_INFINITE;
        start += problem->stage[s].duration[PPSCHED_KIND_F] + problem->stage[s + 1].forward_delay;
    }
    return start;
}

static void open_windows(struct ppi_refutation *refuting, double most)
{
    const struct ppi_problem *problem = refuting->problem;
    for (uint32_t d = 0; d < problem->devices; d++) {
        struct ppi_op_device *machine = &refuting->machine[d];
        const double start = problem->by_span ? known_start(problem, d) : 0;
        uint32_t count = 0;
        machine->most = ppi_device_allows_at_peak(&problem->device[d]);
        machine->span = start < PPI_INFINITE ? PPI_INFINITE : most;
        for (uint32_t i = 0; i < machine->rows; i++)
            for (uint32_t m = 0; m < refuting->microbatches; m++) {
                const uint32_t op = ppi_op_at(refuting, machine->row[i], m);
                machine->order[count++] = op;
                refuting->now.earliest[op] = 0;
                refuting->now.latest[op] = most + start;
                for (uint32_t k = 0; k < machine->rows; k++) {
                    refuting->now.least[(size_t)op * refuting->width + k] = k == i ? (uint16_t)m : 0;
                    refuting->now.most[(size_t)op * refuting->width + k] = (uint16_t)(k == i ? m : refuting->microbatches);
                }
            }
    }
}

/* Whether the rows are the problem: a B is its I and W at once, and nothing but forwards takes memory. */
static bool has_rows(const struct ppi_problem *problem)
{
    const size_t rows = problem->stage[0].splits ? 3 : 2;
    if (problem->ratio != NULL || problem->slices != 1 || problem->rises ||
        (problem->span_share != 0 && problem->span_share != 1))
        return false;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_stage *stage = &problem->stage[s];
        if ((stage->splits && (stage->fuses || stage->memory[PPSCHED_KIND_I] > 0 || stage->memory[PPSCHED_KIND_W] > 0)) ||
            stage->splits != problem->stage[0].splits || stage->memory[PPSCHED_KIND_B] > 0 || stage->memory[PPSCHED_KIND_F] < 0)
            return false;
    }
    for (uint32_t d = 0; d < problem->devices; d++)
        if (problem->device[d].count == 0 || rows * problem->device[d].count > PPI_MOST_REFUTED_ROWS)
            return false;
    return rows * problem->stages * problem->microbatches <= PPI_MOST_REFUTED_OPS && problem->microbatches < UINT16_MAX;
}

static void take_node(struct ppi_windows_of_ops *node, struct ppi_arena *arena, size_t ops, uint32_t width)
{
    node->earliest = ppi_arena_take(arena, ops, sizeof *node->earliest);
    node->latest = ppi_arena_take(arena, ops, sizeof *node->latest);
    node->least = ppi_arena_take(arena, ops * width, sizeof *node->least);
    node->most = ppi_arena_take(arena, ops * width, sizeof *node->most);
}

static ppsched_status prepare_refutation(struct ppi_refutation *refuting, struct ppi_arena *arena, ppsched_error *error)
{
    const struct ppi_problem *problem = refuting->problem;
    const uint32_t kinds = problem->stage[0].splits ? 3 : 2;
    refuting->rows = kinds * problem->stages;
    refuting->ops = refuting->rows * refuting->microbatches;
    refuting->width = kinds * problem->most_stages;
    refuting->row = ppi_arena_take(arena, refuting->rows, sizeof *refuting->row);
    refuting->machine = ppi_arena_take_zeroed(arena, problem->devices, sizeof *refuting->machine);
    uint32_t *order = ppi_arena_take(arena, refuting->ops, sizeof *order);
    refuting->failures = ppi_arena_take_zeroed(arena, (size_t)refuting->rows * refuting->rows, sizeof *refuting->failures);
    take_node(&refuting->now, arena, refuting->ops, refuting->width);
    take_node(&refuting->saved, arena, (size_t)MOST_DEPTH * refuting->ops, refuting->width);
    ppsched_status status = ppi_arena_check(arena, "the proof", error);
    for (uint32_t d = 0; d < problem->devices && status == PPSCHED_OK; d++) {
        refuting->machine[d].order = order;
        order += (size_t)kinds * problem->device[d].count * refuting->microbatches;
    }
    return status;
}

ppsched_status ppi_refute_better(bool *is_best, const struct ppi_problem *problem, double value, double visits,
                                 struct ppi_poll *poll, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &problem->host};
    struct ppi_refutation refuting = {.problem = problem,
                                      .microbatches = problem->microbatches,
                                      .tolerance = value * TOLERANCE,
                                      .visits = visits,
                                      .poll = poll};
    *is_best = false;
    if (!has_rows(problem))
        return PPSCHED_OK;
    ppsched_status status = prepare_refutation(&refuting, &arena, error);
    if (status == PPSCHED_OK) {
        add_rows(&refuting);
        open_windows(&refuting, value - 4 * refuting.tolerance);
        order_chains(&refuting);
        status = branch(is_best, &refuting, 0, error);
    }
    ppi_arena_clear(&arena);
    return status;
}
