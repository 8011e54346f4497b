/* SPDX-License-Identifier: Apache-2.0 */
/* List scheduling of slices, on any placement: a free device runs the first, by a rule, of the ops that could start, and is
 * never idle while it could run something.
 *
 * With memory limits an F runs only where all microbatches that its device has begun can still be finished one after the
 * other, the oldest first (the banker's algorithm, Dijkstra 1965): for each, what it still needs plus what it and all younger
 * ones hold is within the limit. So wherever one microbatch fits, the schedule completes. */
#include <string.h>

#include "base/checked.h"
#include "search/explore.h"

/* The three rows of a stage, each in the order of its turns. Bs are in the row of inputs, without a weight. */
enum { FORWARD, INPUT, WEIGHT, ROWS };

/* Measured: docs/performance.md. */
enum { LOOKS = 8000000 /* eighths of visits by admissions after which a schedule is given up, if there is one already */ };

/* What comes first of the ops that could start now. */
struct rule {
    bool fills;         /* Fs before backwards, not after */
    bool splits;        /* all backwards that may be split */
    bool delays_weight; /* a W where nothing else can start, not as soon as it can */
    bool goes_deep;     /* the stage furthest along first, not the oldest microbatch */
};

struct lister {
    struct ppi_attempt *attempt;
    const struct ppi_problem *problem;
    uint32_t micro_slices, microbatches;
    struct rule rule;
    double *end[2];           /* of F and of I or B by stage and micro-slice; infinite: not known */
    uint32_t *turn;           /* of each row of each stage: how many ops have been placed */
    double *clock, *next;     /* by device: when it is free, and when it starts its next op; infinite: it has none */
    uint32_t *choice;         /* by device: the row of that op, 3 * stage + row */
    double *rise;             /* by device: the most that memory rises inside a backward */
    double *held, *needed;    /* by device and microbatch: the memory held, and what its Fs still add */
    uint32_t *oldest, *count; /* by device: the first microbatch that is not finished, and one past the last that has begun */
    double looks;             /* at microbatches that have begun, not yet counted as work */
    uint32_t *left;           /* by device and microbatch: unfinished backwards */
};

static bool is_whole(const struct lister *lister, uint32_t stage)
{
    const struct ppi_stage *own = &lister->problem->stage[stage];
    return !own->splits || (own->fuses && !lister->rule.splits);
}

static uint8_t kind_of(const struct lister *lister, uint32_t stage, uint32_t row)
{
    static const uint8_t kinds[] = {PPSCHED_KIND_F, PPSCHED_KIND_I, PPSCHED_KIND_W};
    return row == INPUT && is_whole(lister, stage) ? PPSCHED_KIND_B : kinds[row];
}

static uint32_t next_micro_slice(const struct lister *lister, uint32_t stage, uint32_t row)
{
    return ppi_micro_slice_in_turn(lister->problem, row != FORWARD, lister->turn[ROWS * stage + row]);
}

/* --- what could start --- */

static double delay_of(const struct lister *lister, double delay, double latency, uint32_t micro_slice)
{
    const struct ppi_ratio *ratio = lister->problem->ratio;
    return delay == 0 || ratio == NULL ? delay : ppi_scaled_delay(delay, latency, ratio[micro_slice].sent);
}

/* When the inputs of a row's next op arrive; infinite where that is not known. */
static double ready_at(const struct lister *lister, uint32_t stage, uint32_t row, uint32_t micro_slice)
{
    const struct ppi_stage *own = &lister->problem->stage[stage];
    const size_t cell = (size_t)stage * lister->micro_slices + micro_slice;
    if (row == FORWARD)
        return stage == 0 ? 0
                          : lister->end[0][cell - lister->micro_slices] +
                                delay_of(lister, own->forward_delay, own->forward_latency, micro_slice);
    if (row == WEIGHT)
        return lister->end[1][cell];
    double ready = lister->end[0][cell];
    if (stage + 1 < lister->problem->stages)
        ready = ppi_larger(ready, lister->end[1][cell + lister->micro_slices] +
                                      delay_of(lister, own->backward_delay, own->backward_latency, micro_slice));
    return ready;
}

/* Whether an F that adds so much leaves enough memory to finish all microbatches that have begun. */
static bool is_admitted(struct lister *lister, uint32_t device, uint32_t microbatch, double adds)
{
    const double *held = lister->held + (size_t)device * lister->microbatches;
    const double *needed = lister->needed + (size_t)device * lister->microbatches;
    const double limit = ppi_device_allows_at_peak(&lister->problem->device[device]) - lister->rise[device];
    double behind = 0;
    if (limit == PPI_INFINITE)
        return true;
    uint32_t end = lister->count[device] > microbatch ? lister->count[device] : microbatch + 1;
    lister->looks += end - lister->oldest[device];
    for (uint32_t j = end; j-- > lister->oldest[device];) {
        behind += held[j];
        if (behind + needed[j] + (j < microbatch ? adds : 0) > limit)
            return false;
    }
    return true;
}

/* Whether there is memory for what rises inside a backward. */
static bool may_rise(struct lister *lister, uint32_t device, uint32_t stage, uint8_t kind, uint32_t micro_slice)
{
    const struct ppi_problem *problem = lister->problem;
    const double limit = ppi_device_allows_at_peak(&problem->device[device]);
    double level = ppi_problem_rise(problem, stage, kind, micro_slice);
    if (!problem->rises || limit == PPI_INFINITE)
        return true;
    lister->looks += lister->count[device] - lister->oldest[device];
    for (uint32_t j = lister->oldest[device]; j < lister->count[device]; j++)
        level += lister->held[(size_t)device * lister->microbatches + j];
    return level <= limit;
}

/* Whether the first of two rows of a device comes before the second where both could start now. */
static bool comes_first(const struct lister *lister, uint32_t a, uint32_t b)
{
    const struct rule *rule = &lister->rule;
    const uint32_t rows[] = {a % ROWS, b % ROWS}, stages[] = {a / ROWS, b / ROWS};
    if ((rows[0] == WEIGHT) != (rows[1] == WEIGHT))
        return (rows[0] == WEIGHT) != rule->delays_weight;
    if ((rows[0] == FORWARD) != (rows[1] == FORWARD))
        return (rows[0] == FORWARD) == rule->fills;
    uint32_t microbatch[] = {next_micro_slice(lister, stages[0], rows[0]) / lister->problem->slices,
                             next_micro_slice(lister, stages[1], rows[1]) / lister->problem->slices};
    if (!rule->goes_deep && microbatch[0] != microbatch[1])
        return microbatch[0] < microbatch[1];
    return (stages[0] > stages[1]) == (rows[0] == FORWARD);
}

/* Finds a device's next op: of those that start earliest the one that comes first. */
static void choose(struct lister *lister, uint32_t device)
{
    const struct ppi_problem *problem = lister->problem;
    lister->next[device] = PPI_INFINITE;
    for (uint32_t i = 0; i < problem->device[device].count; i++)
        for (uint32_t row = 0; row < ROWS; row++) {
            uint32_t stage = ppi_stage_at(problem, device, i), number = ROWS * stage + row;
            if (lister->turn[number] == lister->micro_slices || (row == WEIGHT && is_whole(lister, stage)))
                continue;
            uint32_t micro_slice = next_micro_slice(lister, stage, row);
            double start = ppi_larger(lister->clock[device], ready_at(lister, stage, row, micro_slice));
            if (start > lister->next[device] || start == PPI_INFINITE ||
                (start == lister->next[device] && !comes_first(lister, number, lister->choice[device])))
                continue;
            if (row == FORWARD && !is_admitted(lister, device, micro_slice / problem->slices,
                                               ppi_problem_memory(problem, stage, PPSCHED_KIND_F, micro_slice)))
                continue;
            if (row == INPUT && !may_rise(lister, device, stage, kind_of(lister, stage, row), micro_slice))
                continue;
            lister->next[device] = start;
            lister->choice[device] = number;
        }
}

/* --- the next op --- */

static void account(struct lister *lister, uint32_t device, uint32_t stage, uint8_t kind, uint32_t micro_slice)
{
    uint32_t microbatch = micro_slice / lister->problem->slices;
    size_t cell = (size_t)device * lister->microbatches + microbatch;
    double adds = ppi_problem_memory(lister->problem, stage, kind, micro_slice);
    lister->held[cell] += adds;
    if (kind == PPSCHED_KIND_F) {
        lister->needed[cell] -= adds;
        lister->count[device] = lister->count[device] > microbatch ? lister->count[device] : microbatch + 1;
    } else if (kind != PPSCHED_KIND_I && --lister->left[cell] == 0) {
        lister->held[cell] = 0; /* exactly, without rounding */
        while (lister->oldest[device] < lister->microbatches &&
               lister->left[(size_t)device * lister->microbatches + lister->oldest[device]] == 0)
            lister->oldest[device]++;
    }
}

/* Appends a device's next op; devices that may have waited for it choose again. */
static void put(struct lister *lister, uint32_t device)
{
    const struct ppi_problem *problem = lister->problem;
    const struct ppi_shape shape = {.slices = problem->slices};
    struct ppi_orders *out = &lister->attempt->candidate;
    uint32_t stage = lister->choice[device] / ROWS, row = lister->choice[device] % ROWS;
    uint32_t micro_slice = next_micro_slice(lister, stage, row);
    uint8_t kind = kind_of(lister, stage, row);
    double end = lister->next[device] + ppi_problem_duration(problem, stage, kind, micro_slice);
    out->ops[out->first[device] + out->count[device]++] = ppi_op_of_micro_slice(&shape, micro_slice, stage, kind);
    lister->turn[ROWS * stage + row]++;
    lister->clock[device] = end;
    if (row != WEIGHT)
        lister->end[row][(size_t)stage * lister->micro_slices + micro_slice] = end;
    account(lister, device, stage, kind, micro_slice);
    choose(lister, device);
    if (row == FORWARD && stage + 1 < problem->stages)
        choose(lister, problem->stage[stage + 1].device);
    if (row == INPUT && stage > 0)
        choose(lister, problem->stage[stage - 1].device);
}

static uint32_t first_to_start(const struct lister *lister)
{
    uint32_t first = 0;
    for (uint32_t d = 1; d < lister->problem->devices; d++)
        if (lister->next[d] < lister->next[first])
            first = d;
    return lister->next[first] < PPI_INFINITE ? first : PPSCHED_NONE;
}

static void start(struct lister *lister)
{
    const struct ppi_problem *problem = lister->problem;
    const size_t cells = (size_t)problem->devices * lister->microbatches;
    for (size_t i = 0; i < (size_t)problem->stages * lister->micro_slices; i++)
        lister->end[0][i] = lister->end[1][i] = PPI_INFINITE;
    memset(lister->turn, 0, (size_t)ROWS * problem->stages * sizeof *lister->turn);
    memset(lister->held, 0, cells * sizeof *lister->held);
    memset(lister->needed, 0, cells * sizeof *lister->needed);
    for (uint32_t d = 0; d < problem->devices; d++) {
        lister->clock[d] = 0;
        lister->oldest[d] = lister->count[d] = 0;
        lister->attempt->candidate.count[d] = 0;
        for (uint32_t m = 0; m < lister->microbatches; m++)
            lister->left[(size_t)d * lister->microbatches + m] = problem->device[d].count * problem->slices;
    }
    for (uint32_t s = 0; s < problem->stages; s++)
        for (uint32_t p = 0; p < lister->micro_slices; p++)
            lister->needed[(size_t)problem->stage[s].device * lister->microbatches + p / problem->slices] += ppi_problem_memory(
                problem, s, PPSCHED_KIND_F, p);
    for (uint32_t d = 0; d < problem->devices; d++)
        choose(lister, d);
}

/* Makes one schedule. It may be given up where there is one already: with many microbatches in flight admissions are most of
 * the work. */
static ppsched_status list(struct lister *lister, double most, ppsched_error *error)
{
    const double visits = 2.0 + lister->problem->devices / 16.0 + lister->problem->most_stages;
    ppsched_status status = PPSCHED_OK;
    double looks = 0;
    uint32_t device;
    start(lister);
    while (status == PPSCHED_OK && (device = first_to_start(lister)) != PPSCHED_NONE) {
        put(lister, device);
        status = ppi_poll_spend(&lister->attempt->poll, visits + lister->looks / 8, error);
        looks += lister->looks / 8;
        lister->looks = 0;
        if (looks > most && lister->attempt->objective < PPI_INFINITE)
            return status;
    }
    return status == PPSCHED_OK ? ppi_attempt_offer(lister->attempt, error) : status;
}

/* --- all rules --- */

/* The rise inside any backward that some rule may use. */
static void find_rises(struct lister *lister)
{
    for (uint32_t s = 0; s < lister->problem->stages; s++) {
        const struct ppi_stage *stage = &lister->problem->stage[s];
        double *rise = &lister->rise[stage->device];
        if (stage->splits)
            *rise = ppi_larger(*rise, stage->rise[PPSCHED_KIND_I]);
        if (!stage->splits || stage->fuses)
            *rise = ppi_larger(*rise, stage->rise[PPSCHED_KIND_B]);
    }
}

static ppsched_status prepare(struct lister *lister, struct ppi_arena *arena, struct ppi_attempt *attempt, ppsched_error *error)
{
    const struct ppi_problem *problem = &attempt->problem;
    const size_t cells = (size_t)problem->stages * problem->microbatches, devices = problem->devices;
    *lister = (struct lister){.attempt = attempt,
                              .problem = problem,
                              .micro_slices = problem->microbatches,
                              .microbatches = problem->microbatches / problem->slices};
    const size_t held = devices * lister->microbatches;
    lister->end[0] = ppi_arena_take(arena, 2 * cells, sizeof *lister->end[0]);
    lister->turn = ppi_arena_take(arena, (size_t)ROWS * problem->stages, sizeof *lister->turn);
    lister->clock = ppi_arena_take(arena, 2 * devices, sizeof *lister->clock);
    lister->rise = ppi_arena_take_zeroed(arena, devices, sizeof *lister->rise);
    lister->choice = ppi_arena_take(arena, 3 * devices, sizeof *lister->choice);
    lister->held = ppi_arena_take(arena, 2 * held, sizeof *lister->held);
    lister->left = ppi_arena_take(arena, held, sizeof *lister->left);
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status == PPSCHED_OK) {
        lister->end[1] = lister->end[0] + cells;
        lister->next = lister->clock + devices;
        lister->oldest = lister->choice + devices;
        lister->count = lister->oldest + devices;
        lister->needed = lister->held + held;
        find_rises(lister);
    }
    return status;
}

ppsched_status ppi_list_micro_slices(struct ppi_attempt *attempt, bool splits, double most, ppsched_error *error)
{
    static const struct rule rules[] = {{.delays_weight = true, .goes_deep = true},
                                        {.delays_weight = true},
                                        {.fills = true, .delays_weight = true},
                                        {.fills = true, .delays_weight = true, .goes_deep = true},
                                        {.goes_deep = true},
                                        {.fills = true}};
    struct ppi_arena arena = {.host = &attempt->config->host};
    struct lister lister;
    const double ops = (double)ppi_problem_ops(&attempt->problem);
    ppsched_status status = prepare(&lister, &arena, attempt, error);
    for (size_t i = 0; i < 2 * sizeof rules / sizeof rules[0] && status == PPSCHED_OK; i++) {
        if ((double)i * ops > most || !ppi_attempt_goes_on(attempt) || (splits && i % 2 == 1))
            continue;
        lister.rule = rules[i / 2];
        lister.rule.splits = i % 2 == 0;
        status = list(&lister, LOOKS, error);
    }
    ppi_arena_clear(&arena);
    return status;
}
