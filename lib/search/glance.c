/* SPDX-License-Identifier: Apache-2.0 */
/* Devices run in turns, each until it waits for another one, or until its neighbour is too far behind to have read what it
 * would write over. Where an order does not come to its end this way, it may be shorter.
 *
 * An order that repeats is run for some blocks of one microbatch. If by then all times that later ops wait for are at least so
 * much later than some blocks before, those of all blocks after them are too: starts are maxima of sums. */
#include "search/glance.h"

#include <string.h>

#include "base/checked.h"

/* Measured: docs/performance.md. */
enum {
    KEPT = 64,  /* the last ends of the Fs or backwards of a stage */
    APART = 8,  /* blocks whose times are compared with those of as many blocks before */
    SETTLED = 3 /* blocks before those */
};

struct ppi_glance_device {
    double clock, idle;
    double least; /* the span if it is not idle any more: of its own ops, or of the first device's, which end some time after
                   * its last backward */
    size_t run;   /* ops so far */
    size_t next, end;    /* places in its queue: of the next op; and where it ends, or goes back by a block */
    size_t block;        /* length of a block; 0: it does not go back */
    uint32_t back, most; /* how often it has gone back, and may at most */
    double before;       /* its clock after fewer blocks */
};

ppsched_status ppi_glance_make(struct ppi_glance *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                               ppsched_error *error)
{
    *out = (struct ppi_glance){.problem = problem,
                               .devices = ppi_arena_take(arena, problem->devices, sizeof *out->devices),
                               .done = ppi_arena_take(arena, problem->stages, 2 * sizeof *out->done),
                               .ends = ppi_arena_take(arena, problem->stages, 2 * KEPT * sizeof *out->ends)};
    return ppi_arena_check(arena, "the search", error);
}

static uint32_t *done_of(const struct ppi_glance *glance, uint32_t stage, bool is_backward)
{
    return &glance->done[2 * (size_t)stage + is_backward];
}

static double *ends_of(const struct ppi_glance *glance, uint32_t stage, bool is_backward)
{
    return glance->ends + (2 * (size_t)stage + is_backward) * KEPT;
}

/* When an F or a backward may start; infinite where that is not known yet. */
static double ready_at(const struct ppi_glance *glance, uint32_t stage, bool is_backward, uint32_t microbatch)
{
    const struct ppi_stage *costs = &glance->problem->stage[stage];
    const uint32_t last = glance->problem->stages - 1, reader = is_backward ? stage - 1 : stage + 1;
    const bool waits = is_backward ? stage < last : stage > 0, is_read = is_backward ? stage > 0 : stage < last;
    const uint32_t from = is_backward ? stage + 1 : stage - 1;
    if (is_read && microbatch >= *done_of(glance, reader, is_backward) + KEPT)
        return PPI_INFINITE;
    if (!waits)
        return 0;
    if (*done_of(glance, from, is_backward) <= microbatch)
        return PPI_INFINITE;
    return ends_of(glance, from, is_backward)[microbatch % KEPT] + (is_backward ? costs->backward_delay : costs->forward_delay);
}

/* The times of the Ws after a device's last I, which the stages before it do not wait for. */
static double weights_after(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t number, uint32_t stage)
{
    const ppsched_op *ops = orders->ops + orders->first[number];
    size_t i = orders->count[number], weights = 0;
    for (; i > 0 && ops[i - 1].kind == PPSCHED_KIND_W; i--)
        weights++;
    weights += i > 0 && ops[i - 1].kind == PPSCHED_KIND_B;
    return (double)weights * glance->problem->stage[stage].duration[PPSCHED_KIND_W];
}

/* From the end of a stage's last I to the end of the first device: Is, the way, and a W. */
static double tail_of(const struct ppi_problem *problem, uint32_t stage)
{
    double sum = problem->stage[0].duration[PPSCHED_KIND_W];
    for (uint32_t s = 0; s < stage; s++)
        sum += problem->stage[s].backward_delay + problem->stage[s].duration[PPSCHED_KIND_I];
    return sum;
}

/* Runs the next op of a device; false where it cannot run yet. */
static bool run_next(const struct ppi_glance *glance, uint32_t number, const ppsched_op *op)
{
    struct ppi_glance_device *device = &glance->devices[number];
    const uint32_t microbatch = op->microbatch + device->back;
    const double *duration = glance->problem->stage[op->stage].duration;
    double end = device->clock + duration[op->kind];
    if (op->kind != PPSCHED_KIND_W) {
        const bool is_backward = op->kind != PPSCHED_KIND_F;
        const double ready = ready_at(glance, op->stage, is_backward, microbatch);
        uint32_t *done = done_of(glance, op->stage, is_backward);
        if (!(ready < PPI_INFINITE) || *done != microbatch)
            return false;
        const double start = ppi_larger(device->clock, ready);
        if (device->run > 0)
            device->idle += start - device->clock;
        else /* the first device starts at 0 */
            device->least = ppi_larger(glance->problem->device[number].split_work, start + device->least);
        end = start + duration[is_backward ? PPSCHED_KIND_I : PPSCHED_KIND_F];
        ends_of(glance, op->stage, is_backward)[microbatch % KEPT] = end;
        end += op->kind == PPSCHED_KIND_B ? duration[PPSCHED_KIND_W] : 0;
        ++*done;
    }
    device->clock = end;
    device->next++;
    device->run++;
    return true;
}

/* Runs what a device can run; false where that is too long. */
static bool run_device(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t number, double below)
{
    struct ppi_glance_device *device = &glance->devices[number];
    const ppsched_op *ops = orders->ops + orders->first[number];
    do {
        if (device->next == device->end) {
            if (device->back == device->most)
                return true;
            device->next -= device->block;
            device->back++;
        }
        if (!run_next(glance, number, &ops[device->next]))
            return true;
    } while (device->least + device->idle < below);
    return false;
}

/* Runs what all devices can run; false where that is too long. */
static bool run_all(const struct ppi_glance *glance, const struct ppi_orders *orders, double below)
{
    const uint32_t devices = glance->problem->devices;
    for (size_t before = 0, put = 1; put > before;) {
        before = put;
        put = 1;
        for (uint32_t d = 0; d < devices; d++)
            if (!run_device(glance, orders, d, below))
                return false;
        for (uint32_t d = devices; d-- > 0; put += glance->devices[d].run)
            if (!run_device(glance, orders, d, below))
                return false;
    }
    return true;
}

static double enough(double below)
{
    return below * (1 - 1e-12);
}

static void start(const struct ppi_glance *glance, const struct ppi_orders *orders)
{
    const struct ppi_problem *problem = glance->problem;
    memset(glance->done, 0, 2 * (size_t)problem->stages * sizeof *glance->done);
    for (uint32_t d = 0; d < problem->devices; d++) {
        const uint32_t stage = problem->stage_list[problem->device[d].first];
        const double after = tail_of(problem, stage) - weights_after(glance, orders, d, stage);
        glance->devices[d] = (struct ppi_glance_device){.least = problem->device[d].split_work + after,
                                                        .end = orders->count[d]};
    }
}

bool ppi_glance_may_be_shorter(const struct ppi_glance *glance, const struct ppi_orders *orders, double below)
{
    start(glance, orders);
    return run_all(glance, orders, enough(below));
}

/* --- orders that repeat --- */

static bool is_later(const ppsched_op *op, const ppsched_op *before)
{
    return op->kind == before->kind && op->stage == before->stage && op->microbatch == before->microbatch + 1;
}

/* Whether a block runs a microbatch's F, its backward and, if that is split, its W. */
static bool is_even(const ppsched_op *ops, size_t length)
{
    uint32_t count[PPI_COMPUTE_KINDS] = {0};
    for (size_t i = 0; i < length; i++)
        count[ops[i].kind]++;
    return count[PPSCHED_KIND_F] == 1 && count[PPSCHED_KIND_I] + count[PPSCHED_KIND_B] == 1 &&
           count[PPSCHED_KIND_W] == count[PPSCHED_KIND_I];
}

/* Finds the last block of a queue up to its last F; false where it is not even, or not the one before, a microbatch later. */
static bool find_block(struct ppi_glance_device *device, const ppsched_op *ops)
{
    size_t end = device->end, before;
    while (end > 0 && ops[end - 1].kind != PPSCHED_KIND_F)
        end--;
    for (before = end; before > 1 && ops[before - 2].kind != PPSCHED_KIND_F; before--) {
    }
    device->block = end > 0 ? end - (before - 1) : 0;
    device->end = end;
    if (device->block == 0 || 2 * device->block > end || !is_even(ops + end - device->block, device->block))
        return false;
    for (size_t i = end - device->block; i < end; i++)
        if (!is_later(&ops[i], &ops[i - device->block]))
            return false;
    return true;
}

bool ppi_glance_repeats(const struct ppi_glance *glance, const struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < glance->problem->devices; d++) {
        glance->devices[d] = (struct ppi_glance_device){.end = orders->count[d]};
        if (!find_block(&glance->devices[d], orders->ops + orders->first[d]))
            return false;
    }
    return true;
}

/* Runs so many blocks; false where that is too long. `*ended`: whether all devices came to their end. */
static bool run_blocks(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t blocks, double below,
                       bool *ended)
{
    *ended = true;
    for (uint32_t d = 0; d < glance->problem->devices; d++)
        glance->devices[d].most = blocks;
    const bool is_shorter = run_all(glance, orders, below);
    for (uint32_t d = 0; d < glance->problem->devices; d++) {
        const struct ppi_glance_device *device = &glance->devices[d];
        *ended = *ended && device->next == device->end && device->back == blocks;
    }
    return is_shorter;
}

/* The least that an F or backward of a stage that its reader has still to run is later than that of some blocks before. */
static double least_pending(const struct ppi_glance *glance, uint32_t stage, bool is_backward)
{
    const double *ends = ends_of(glance, stage, is_backward);
    const uint32_t done = *done_of(glance, stage, is_backward);
    double least = PPI_INFINITE;
    if (is_backward ? stage == 0 : stage + 1 == glance->problem->stages)
        return least;
    for (uint32_t m = *done_of(glance, is_backward ? stage - 1 : stage + 1, is_backward); m < done; m++) {
        if (m + SETTLED < done || m + KEPT < done + APART) /* before the blocks; written over */
            return 0;
        least = ppi_smaller(least, ends[m % KEPT] - ends[(m - APART) % KEPT]);
    }
    return least;
}

/* The least by which all times that later ops wait for are later than some blocks before. */
static double least_apart(const struct ppi_glance *glance)
{
    double least = PPI_INFINITE;
    for (uint32_t d = 0; d < glance->problem->devices; d++)
        least = ppi_smaller(least, glance->devices[d].clock - glance->devices[d].before);
    for (uint32_t s = 0; s < glance->problem->stages; s++)
        least = ppi_smaller(least, ppi_smaller(least_pending(glance, s, false), least_pending(glance, s, true)));
    return least;
}

bool ppi_glance_may_stay_shorter(const struct ppi_glance *glance, const struct ppi_orders *orders, uint32_t microbatches,
                                 double below)
{
    const uint32_t devices = glance->problem->devices, left = glance->problem->microbatches - microbatches;
    bool ended;
    start(glance, orders);
    if (left < SETTLED + APART)
        return true;
    for (uint32_t d = 0; d < devices; d++)
        if (!find_block(&glance->devices[d], orders->ops + orders->first[d]))
            return true;
    if (!run_blocks(glance, orders, SETTLED, enough(below), &ended))
        return false;
    for (uint32_t d = 0; d < devices; d++)
        glance->devices[d].before = glance->devices[d].clock;
    if (!ended)
        return true;
    if (!run_blocks(glance, orders, SETTLED + APART, enough(below), &ended))
        return false;
    const double apart = ended ? least_apart(glance) : 0, times = (left - SETTLED - APART) / APART;
    for (uint32_t d = 0; d < devices; d++) {
        const struct ppi_glance_device *device = &glance->devices[d];
        const double more = times * (apart - APART * glance->problem->device[d].split_work / glance->problem->microbatches);
        if (device->least + device->idle + ppi_larger(more, 0) >= enough(below))
            return false;
    }
    return true;
}
