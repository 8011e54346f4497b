/* SPDX-License-Identifier: Apache-2.0 */
/* Heads are found in ascending order of microbatches, tails in descending order, each as a longest path; then each device takes
 * the ready row with the longest tail. */
#include "bound/one_machine.h"

#include "base/checked.h"

/* Bounds the work: with more ops, times devices for the span, there is no bound. Work and memory are linear in them.
 * Measured: docs/performance.md. */
static const double MOST_OPS = 4e6;

enum {
    VISITS = 2,       /* counted per stage and microbatch, in each direction */
    MOST_BLOCK = 256, /* microbatches of a block: a row of it stays in the first cache */
};

/* Ops of one kind of a stage, in order of microbatches. Rows: the Fs of stages ascending, their backwards descending, their Ws
 * descending. */
struct row {
    uint32_t stage, device;
    double length, delay; /* delay: after the previous row */
    double *head, *tail;  /* by microbatch; tail: after the op's end */
    double before, after; /* a microbatch's time in the device's rows before, and after */
};

struct relaxation {
    const struct ppi_problem *problem;
    uint32_t stages, microbatches;
    uint32_t first; /* stages before it do not count: their times are unknown */
    uint32_t owner; /* the device whose last end counts; PPSCHED_NONE: all */
    struct row *row;
    uint32_t
        *in_flight[2]; /* by stage, n: F of microbatch m comes after I ([0]), or W ([1]), of microbatch m - n; 0: no limit */
    double *rest;      /* time left of the current op, by row of a device */
    uint32_t *next, *list;
    struct ppi_poll *poll;
};

static struct row *forward_of(const struct relaxation *r, uint32_t stage)
{
    return &r->row[stage];
}

static struct row *input_of(const struct relaxation *r, uint32_t stage)
{
    return &r->row[2 * r->stages - 1 - stage];
}

static struct row *weight_of(const struct relaxation *r, uint32_t stage)
{
    return &r->row[3 * r->stages - 1 - stage];
}

/* --- the rows --- */

static void fill_rows(struct relaxation *r)
{
    for (uint32_t s = 0; s < r->stages; s++) {
        const struct ppi_stage *stage = &r->problem->stage[s];
        struct row *forward = forward_of(r, s), *input = input_of(r, s), *weight = weight_of(r, s);
        forward->stage = input->stage = weight->stage = s;
        forward->device = input->device = weight->device = stage->device;
        forward->length = stage->duration[PPSCHED_KIND_F];
        input->length = stage->input;
        weight->length = stage->weight;
        forward->delay = s > 0 ? stage->forward_delay : 0;
        input->delay = s + 1 < r->stages ? stage->backward_delay : 0;
        weight->delay = 0;
    }
}

/* Finds how many microbatches of a stage can be in flight, from F to I, and held, from F to W. While a microbatch is in a later
 * stage of a device, the earlier ones hold it too. */
static void find_in_flight(struct relaxation *r)
{
    const struct ppi_problem *problem = r->problem;
    for (uint32_t d = 0; d < problem->devices; d++) {
        double own = 0, limit = ppi_device_allows_at_peak(&problem->device[d]);
        for (uint32_t i = 0; i < problem->device[d].count; i++) {
            uint32_t s = ppi_stage_at(problem, d, i);
            const double *memory = problem->stage[s].memory;
            double rest = problem->stage[s].rest, counts[2] = {0, 0}, most = r->microbatches;
            own += memory[PPSCHED_KIND_F];
            if (own > 0 && limit < PPI_INFINITE)
                counts[0] = limit / own + 1e-9; /* the quotient may round below an integer */
            if (rest > 0 && limit < PPI_INFINITE)
                counts[1] = (limit - own) / rest + 1e-9 + 1;
            for (int k = 0; k < 2; k++) /* if a device cannot hold one, there is no schedule, and any bound is valid */
                r->in_flight[k][s] = counts[k] >= 1 && counts[k] < most ? (uint32_t)counts[k] : 0;
        }
    }
}

/* Finds the time of a microbatch's ops in a device's rows before and after each row, over the stages that count. */
static void find_loads(struct relaxation *r)
{
    for (uint32_t i = 0; i < 2 * r->stages; i++) {
        struct row *row = &r->row[i];
        row->before = row->after = 0;
        for (uint32_t k = 0; k < r->problem->device[row->device].count; k++) {
            uint32_t s = ppi_stage_at(r->problem, row->device, k);
            if (s < r->first)
                continue;
            const struct row *rows[] = {forward_of(r, s), input_of(r, s)};
            for (int side = 0; side < 2; side++) {
                row->before += rows[side] < row ? rows[side]->length : 0;
                row->after += rows[side] > row ? rows[side]->length : 0;
            }
        }
    }
}

/* --- heads and tails --- */

/* False if the caller cancels: then the result is invalid. */
static bool goes_on(const struct relaxation *r, double visits)
{
    return r->poll == NULL || ppi_poll_spend(r->poll, visits, NULL) == PPSCHED_OK;
}

static double end(const struct row *row, uint32_t m)
{
    return row->head[m] + row->length;
}

static double start_behind(const struct row *row, uint32_t m)
{
    return row->length + row->tail[m];
}

/* The first row on the chain of a device's stages that count. */
static const struct row *first_row(const struct relaxation *r, uint32_t device)
{
    uint32_t i = 0;
    while (ppi_stage_at(r->problem, device, i) < r->first)
        i++;
    return forward_of(r, ppi_stage_at(r->problem, device, i));
}

static void find_head(struct relaxation *r, struct row *row, const struct row *first, uint32_t m)
{
    const bool is_forward = row < &r->row[r->stages];
    double head = row > &r->row[r->first] ? end(row - 1, m) + row->delay : 0;
    if (m > 0)
        head = ppi_larger(head, end(row, m - 1));
    if (first != row)
        head = ppi_larger(head, first->head[0] + (m + 1) * row->before + m * row->length);
    for (int k = 0; k < 2 && is_forward; k++) {
        uint32_t held = r->in_flight[k][row->stage];
        if (held > 0 && m >= held)
            head = ppi_larger(head, end(k == 0 ? input_of(r, row->stage) : weight_of(r, row->stage), m - held));
    }
    row->head[m] = head;
}

/* Microbatches that are taken row by row: rows wait for later ones only in earlier blocks. */
static uint32_t block_size(const struct relaxation *r)
{
    uint32_t size = MOST_BLOCK;
    for (uint32_t i = 0; i < 2 * r->stages; i++)
        if (r->in_flight[0][i] > 0 && r->in_flight[0][i] < size)
            size = r->in_flight[0][i];
    return size;
}

static void find_heads(struct relaxation *r)
{
    const uint32_t size = block_size(r);
    for (uint32_t from = 0, to; from < r->microbatches; from = to) {
        to = r->microbatches - from > size ? from + size : r->microbatches;
        if (!goes_on(r, (double)VISITS * r->stages * (to - from)))
            return;
        for (uint32_t i = r->first; i < 2 * r->stages - r->first; i++) {
            struct row *row = &r->row[i], *weight = row + r->stages;
            const struct row *first = first_row(r, row->device);
            for (uint32_t m = from; m < to; m++)
                find_head(r, row, first, m);
            for (uint32_t m = from; m < to && i >= r->stages; m++)
                weight->head[m] = m > 0 ? ppi_larger(end(row, m), end(weight, m - 1)) : end(row, m);
        }
    }
}

static void find_weight_tail(struct relaxation *r, struct row *weight, uint32_t m)
{
    uint32_t held = r->in_flight[1][weight->stage];
    double tail = r->owner == PPSCHED_NONE || r->owner == weight->device ? 0 : -PPI_INFINITE;
    if (m + 1 < r->microbatches)
        tail = ppi_larger(tail, start_behind(weight, m + 1));
    if (held > 0 && m + held < r->microbatches)
        tail = ppi_larger(tail, start_behind(forward_of(r, weight->stage), m + held));
    weight->tail[m] = tail;
}

/* `last`: the last of the device's Fs and Is. */
static void find_tail(struct relaxation *r, uint32_t i, const struct row *last, uint32_t m)
{
    struct row *row = &r->row[i];
    uint32_t left = r->microbatches - m, held = r->in_flight[0][row->stage];
    double tail = r->owner == PPSCHED_NONE || r->owner == row->device ? 0 : -PPI_INFINITE;
    if (i + 1 < 2 * r->stages - r->first)
        tail = ppi_larger(tail, row[1].delay + start_behind(row + 1, m));
    if (i >= r->stages) {
        tail = ppi_larger(tail, start_behind(row + r->stages, m));
        if (held > 0 && m + held < r->microbatches)
            tail = ppi_larger(tail, start_behind(forward_of(r, row->stage), m + held));
    }
    if (left > 1)
        tail = ppi_larger(tail, start_behind(row, m + 1));
    if (last != row || left > 1)
        tail = ppi_larger(tail,
                          left * row->after + (left - 1) * row->length + (last != row ? last->tail[r->microbatches - 1] : 0));
    row->tail[m] = tail;
}

static void find_tails(struct relaxation *r)
{
    const uint32_t size = block_size(r);
    for (uint32_t to = r->microbatches, from; to > 0; to = from) {
        from = to > size ? to - size : 0;
        if (!goes_on(r, (double)VISITS * r->stages * (to - from)))
            return;
        for (uint32_t i = 2 * r->stages - r->first; i-- > r->first;) {
            const struct row *first = first_row(r, r->row[i].device), *last = input_of(r, first->stage);
            for (uint32_t m = to; m-- > from && i >= r->stages;)
                find_weight_tail(r, &r->row[i + r->stages], m);
            for (uint32_t m = to; m-- > from;)
                find_tail(r, i, last, m);
        }
    }
}

/* --- one device --- */

static uint32_t list_rows(struct relaxation *r, uint32_t device)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < r->problem->device[device].count; k++) {
        uint32_t s = ppi_stage_at(r->problem, device, k);
        const struct row *rows[] = {forward_of(r, s), input_of(r, s), weight_of(r, s)};
        for (int kind = 0; kind < 3; kind++)
            if (rows[kind]->length > 0 || kind < 2) {
                r->rest[count] = rows[kind]->length;
                r->next[count] = 0;
                r->list[count++] = (uint32_t)(rows[kind] - r->row);
            }
    }
    return count;
}

/* The row with the longest tail among those whose next op is ready; PPSCHED_NONE: none. `*coming`: when the next op of another
 * row is ready. */
static uint32_t choose_row(const struct relaxation *r, uint32_t count, double time, double *coming)
{
    uint32_t best = PPSCHED_NONE;
    double longest = -PPI_INFINITE;
    *coming = PPI_INFINITE;
    for (uint32_t i = 0; i < count; i++) {
        const struct row *row = &r->row[r->list[i]];
        if (r->next[i] == r->microbatches)
            continue;
        if (row->head[r->next[i]] > time)
            *coming = ppi_smaller(*coming, row->head[r->next[i]]);
        else if (best == PPSCHED_NONE || row->tail[r->next[i]] > longest) {
            best = i;
            longest = row->tail[r->next[i]];
        }
    }
    return best;
}

/* The largest end plus tail, if the ready op with the longest tail always runs. */
static double run_alone(struct relaxation *r, uint32_t device)
{
    uint32_t count = list_rows(r, device);
    double time = 0, longest = 0, coming;
    for (;;) {
        uint32_t i = choose_row(r, count, time, &coming);
        if (i == PPSCHED_NONE && coming == PPI_INFINITE)
            return longest;
        if (i == PPSCHED_NONE || time + r->rest[i] > coming) {
            if (i != PPSCHED_NONE)
                r->rest[i] -= coming - time;
            time = coming;
            continue;
        }
        time += r->rest[i];
        longest = ppi_larger(longest, time + r->row[r->list[i]].tail[r->next[i]++]);
        r->rest[i] = r->row[r->list[i]].length;
    }
}

/* --- the bound --- */

static void relax(struct relaxation *r, uint32_t first, uint32_t owner)
{
    r->first = first;
    r->owner = owner;
    find_loads(r);
    find_heads(r);
    find_tails(r);
}

/* For the span, each device has its own heads and tails, from the first F of its first stage on. */
static void find_machine_bound(struct relaxation *r, double *value, uint32_t *device)
{
    const struct ppi_problem *problem = r->problem;
    if (!problem->by_span)
        relax(r, 0, PPSCHED_NONE);
    for (uint32_t d = 0; d < problem->devices; d++) {
        if (problem->device[d].count == 0)
            continue;
        if (problem->by_span)
            relax(r, ppi_stage_at(problem, d, 0), d);
        double own = run_alone(r, d);
        if (own > *value) {
            *value = own;
            *device = d;
        }
    }
}

static ppsched_status prepare_relaxation(struct relaxation *r, struct ppi_arena *arena, ppsched_error *error)
{
    const struct ppi_problem *problem = r->problem;
    size_t rows = 3 * (size_t)problem->stages, cells = rows * problem->microbatches;
    double *heads = ppi_arena_take(arena, 2 * cells, sizeof *heads);
    r->row = ppi_arena_take(arena, rows, sizeof *r->row);
    r->in_flight[0] = ppi_arena_take_zeroed(arena, 2 * (size_t)problem->stages, sizeof *r->in_flight[0]);
    r->rest = ppi_arena_take(arena, rows, sizeof *r->rest);
    r->next = ppi_arena_take(arena, 2 * rows, sizeof *r->next);
    ppsched_status status = ppi_arena_check(arena, "the lower bound", error);
    for (size_t i = 0; i < rows && status == PPSCHED_OK; i++) {
        r->row[i].head = heads + 2 * i * problem->microbatches;
        r->row[i].tail = r->row[i].head + problem->microbatches;
    }
    if (status == PPSCHED_OK) {
        r->in_flight[1] = r->in_flight[0] + problem->stages;
        r->list = r->next + rows;
    }
    return status;
}

ppsched_status ppi_one_machine_bound(double *value, uint32_t *device, const struct ppi_problem *problem, struct ppi_poll *poll,
                                     ppsched_error *error)
{
    struct ppi_arena arena = {.host = &problem->host};
    struct relaxation relaxation = {
        .problem = problem, .stages = problem->stages, .microbatches = problem->microbatches, .poll = poll};
    *value = 0;
    *device = 0;
    if ((double)ppi_problem_ops(problem) * (problem->by_span ? problem->devices : 1) > MOST_OPS)
        return PPSCHED_OK;
    ppsched_status status = prepare_relaxation(&relaxation, &arena, error);
    if (status == PPSCHED_OK) {
        fill_rows(&relaxation);
        find_in_flight(&relaxation);
        find_machine_bound(&relaxation, value, device);
        if (poll != NULL)
            status = ppi_poll_spend(poll, 0, error);
    }
    ppi_arena_clear(&arena);
    return status;
}
