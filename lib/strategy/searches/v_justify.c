/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_justify.h"

#include <string.h>

#include "base/error.h"

/* An op goes before so many steps of its device at most, so that the work is linear. More gained nothing in trials. */
enum { LOOK_BACK = 32 };

/* A device whose ops are put one after another. */
struct ppi_v_row {
    const struct ppi_v_step *from; /* the next op */
    struct ppi_v_step *steps;      /* what was put, in the order of time */
    size_t count;
    int32_t held;          /* activations behind the last step */
    double memory;         /* likewise */
    const double *awaited; /* the end for which the device waits */
};

ppsched_status ppi_v_justifier_make(struct ppi_v_justifier *out, const struct ppi_v_problem *problem, ppsched_error *error)
{
    struct ppi_v_justifier justifier = {.problem = problem};
    size_t ops = (size_t)PPI_PASSES * problem->devices * problem->microbatches;
    justifier.ends = ppi_allocate(&problem->host, ops, sizeof *justifier.ends);
    justifier.rows = ppi_allocate(&problem->host, problem->devices, sizeof *justifier.rows);
    justifier.ready = ppi_allocate(&problem->host, problem->devices, sizeof *justifier.ready);
    if (justifier.ends == NULL || justifier.rows == NULL || justifier.ready == NULL) {
        justifier.problem = problem;
        ppi_v_justifier_clear(&justifier);
        return ppi_fail_memory(error, "the search");
    }
    for (uint32_t d = 0; d < problem->devices; d++)
        for (int pass = 0; pass < PPI_PASSES; pass++)
            if (problem->device[d].duration[pass] * 1e-9 > justifier.rounding)
                justifier.rounding = problem->device[d].duration[pass] * 1e-9;
    *out = justifier;
    return PPSCHED_OK;
}

void ppi_v_justifier_clear(struct ppi_v_justifier *justifier)
{
    ppi_release(&justifier->problem->host, justifier->ends);
    ppi_release(&justifier->problem->host, justifier->rows);
    ppi_release(&justifier->problem->host, justifier->ready);
}

/* --- dependencies --- */

/* Where the end of an op is noted. */
static inline double *end_of(const struct ppi_v_justifier *justifier, uint32_t device, uint8_t pass, uint32_t microbatch)
{
    return &justifier->ends[((size_t)device * justifier->problem->microbatches + microbatch) * PPI_PASSES + pass];
}

/* A link of the chain. */
struct link {
    uint32_t device;
    uint8_t leg;
};

/* Goes on to the next link of the chain, or to the one before; false at its end. */
static inline bool go(const struct ppi_v_problem *problem, struct link *link, bool on)
{
    if (ppi_goes_down(link->leg) == on ? link->device + 1 < problem->devices : link->device > 0) {
        link->device += ppi_goes_down(link->leg) == on ? 1u : UINT32_MAX;
        return true;
    }
    if (on ? link->leg + 1 == PPI_LEGS : link->leg == 0)
        return false;
    link->leg = (uint8_t)(on ? link->leg + 1 : link->leg - 1);
    return true;
}

/* When an op's inputs are there; negative where that is not known yet: then the row waits. */
static inline double arrival_of(const struct ppi_v_justifier *justifier, uint32_t device, struct ppi_v_row *row)
{
    const struct ppi_v_problem *problem = justifier->problem;
    uint8_t pass = row->from->pass;
    uint32_t microbatch = row->from->microbatch;
    struct link input = {device, pass};
    double arrival = 0;
    if (pass >= PPI_LEGS) /* its own input gradient is on this device: it is done, or follows */
        return justifier->backwards ? 0 : *end_of(justifier, device, pass - 2, microbatch);
    if (go(problem, &input, justifier->backwards)) {
        uint32_t later_device = justifier->backwards ? input.device : device;
        uint8_t later_leg = justifier->backwards ? input.leg : pass;
        row->awaited = end_of(justifier, input.device, input.leg, microbatch);
        if (*row->awaited < 0)
            return -1;
        arrival = *row->awaited + problem->device[later_device].delay[later_leg];
    }
    if (justifier->backwards && pass >= PPI_IZ) {
        double weight = *end_of(justifier, device, pass + 2, microbatch);
        arrival = weight > arrival ? weight : arrival;
    }
    return arrival;
}

/* --- gaps --- */

/* What is held behind a step, in the present direction. */
struct level {
    int32_t held;
    double memory;
};

static inline struct level change_by(const struct ppi_v_justifier *justifier, const struct ppi_v_device *device, uint8_t pass)
{
    if (justifier->backwards)
        return (struct level){-ppi_held_by(pass), -device->memory[pass]};
    return (struct level){ppi_held_by(pass), device->memory[pass]};
}

/* Before this position nothing is put any more. */
static inline size_t first_open(const struct ppi_v_row *row)
{
    return row->count > LOOK_BACK ? row->count - LOOK_BACK : 0;
}

/* The first position behind `arrival`. */
static inline size_t position_behind(const struct ppi_v_row *row, double arrival)
{
    size_t i = row->count, first = first_open(row);
    while (i > first && row->steps[i - 1].end > arrival)
        i--;
    return i;
}

/* The same for an op that takes memory: there must be enough from there on to the end. SIZE_MAX where there never is. */
static inline size_t position_with_memory(const struct ppi_v_justifier *justifier, const struct ppi_v_row *row,
                                          const struct ppi_v_device *device, struct level added, double arrival)
{
    struct level level = {row->held, row->memory};
    int32_t most = justifier->problem->most - added.held;
    double limit = device->limit - added.memory;
    size_t i = row->count, first = first_open(row);
    if (level.held > most || level.memory > limit)
        return SIZE_MAX;
    while (i > first && row->steps[i - 1].end > arrival) {
        struct level change = change_by(justifier, device, row->steps[i - 1].pass);
        level.held -= change.held;
        level.memory -= change.memory;
        if (level.held > most || level.memory > limit)
            break;
        i--;
    }
    return i;
}

/* Puts the row's next op. */
static inline bool put(struct ppi_v_justifier *justifier, uint32_t d, double arrival)
{
    const struct ppi_v_device *device = &justifier->problem->device[d];
    struct ppi_v_row *row = &justifier->rows[d];
    struct ppi_v_step step = *row->from;
    struct level added = change_by(justifier, device, step.pass);
    double length = device->duration[step.pass];
    bool takes = added.held > 0 || added.memory > 0;
    size_t i = takes ? position_with_memory(justifier, row, device, added, arrival) : position_behind(row, arrival);
    if (i == SIZE_MAX)
        return false;
    step.start = i > 0 && row->steps[i - 1].end > arrival ? row->steps[i - 1].end : arrival;
    for (; i < row->count && row->steps[i].start < step.start + length - justifier->rounding; i++)
        step.start = row->steps[i].end > step.start ? row->steps[i].end : step.start;
    step.end = step.start + length;
    if (i < row->count)
        memmove(&row->steps[i + 1], &row->steps[i], (row->count - i) * sizeof step);
    row->steps[i] = step;
    row->count++;
    row->held += added.held;
    row->memory += added.memory;
    *end_of(justifier, d, step.pass, step.microbatch) = step.end;
    return true;
}

/* --- the pass --- */

/* Wakes the device that runs the next link of what was put, if it waits for that. */
static inline void wake(struct ppi_v_justifier *justifier, uint32_t d, const struct ppi_v_step *done)
{
    const struct ppi_v_problem *problem = justifier->problem;
    struct link next = {d, done->pass};
    if (done->pass >= PPI_LEGS || !go(problem, &next, !justifier->backwards) || next.device == d)
        return;
    struct ppi_v_row *row = &justifier->rows[next.device];
    if (row->awaited == end_of(justifier, d, done->pass, done->microbatch)) {
        row->awaited = NULL;
        justifier->ready[justifier->ready_count++] = next.device;
    }
}

/* Puts a device's ops until it waits, or none is left. */
static bool run_device(struct ppi_v_justifier *justifier, uint32_t d)
{
    struct ppi_v_row *row = &justifier->rows[d];
    size_t total = (size_t)PPI_PASSES * justifier->problem->microbatches;
    while (row->count < total) {
        double arrival = arrival_of(justifier, d, row);
        if (arrival < 0)
            return true;
        row->awaited = NULL;
        const struct ppi_v_step *done = row->from;
        if (!put(justifier, d, arrival))
            return false;
        row->from += justifier->backwards ? -1 : 1;
        wake(justifier, d, done);
    }
    return true;
}

/* Turns a row around that was put backwards in time. */
static void turn_around(struct ppi_v_step *steps, size_t count)
{
    for (size_t i = 0, j = count - 1; i < j; i++, j--) {
        struct ppi_v_step step = steps[i];
        steps[i] = steps[j];
        steps[j] = step;
    }
    for (size_t i = 0; i < count; i++) {
        double start = steps[i].start;
        steps[i].start = -steps[i].end;
        steps[i].end = -start;
    }
}

bool ppi_v_justify(struct ppi_v_justifier *justifier, bool backwards, const struct ppi_v_step *from, struct ppi_v_step *to)
{
    uint32_t devices = justifier->problem->devices;
    size_t total = (size_t)PPI_PASSES * justifier->problem->microbatches;
    justifier->backwards = backwards;
    for (size_t i = 0; i < devices * total; i++)
        justifier->ends[i] = -1;
    for (uint32_t d = 0; d < devices; d++) {
        const struct ppi_v_step *row = from + d * total;
        justifier->rows[d] = (struct ppi_v_row){.from = backwards ? row + total - 1 : row, .steps = to + d * total};
        justifier->ready[d] = d;
    }
    justifier->ready_count = devices;
    while (justifier->ready_count > 0)
        if (!run_device(justifier, justifier->ready[--justifier->ready_count]))
            return false;
    for (uint32_t d = 0; d < devices; d++)
        if (justifier->rows[d].count < total)
            return false;
    for (uint32_t d = 0; d < devices && backwards; d++)
        turn_around(to + d * total, total);
    return true;
}

double ppi_v_longest_span(const struct ppi_v_problem *problem, const struct ppi_v_step *steps)
{
    size_t total = (size_t)PPI_PASSES * problem->microbatches;
    double longest = 0;
    for (const struct ppi_v_step *row = steps; row < steps + problem->devices * total; row += total)
        if (row[total - 1].end - row[0].start > longest)
            longest = row[total - 1].end - row[0].start;
    return longest;
}
