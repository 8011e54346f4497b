/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the ops of a layer's passes into windows: compute on one channel, collectives that have windows on others. Experts'
 * windows are those of runtimes that overlap exchanges: shared experts run before the dispatch, and what follows the combine
 * counts with the experts. */
#include "model/windows.h"

#include "model/rates.h"

enum { COMPUTE, EXPERTS, TENSOR_CHANNEL, CONTEXT_CHANNEL, CHANNELS };
/* Part of an op on one channel. */
struct piece {
    double time;
    uint32_t channel;
    uint32_t op;      /* its place in the forward */
    uint32_t segment; /* another one where a window must begin, also on the same channel */
};

struct reading {
    const ppsched_model *model;
    uint32_t row, op, segment;
    struct piece *pieces[PPI_PASSES];
    uint32_t count[PPI_PASSES];
};

bool ppi_model_has_windows(const ppsched_model *model)
{
    return model->training.flags >= PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS;
}

/* --- channels --- */

static uint32_t channel_of(const ppsched_model *model, enum ppi_group group)
{
    const uint32_t flags = model->training.flags;
    if (group == PPI_GROUP_EXPERT)
        return (flags & PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS) != 0 ? EXPERTS : COMPUTE;
    if (group == PPI_GROUP_CONTEXT)
        return (flags & PPSCHED_TRAINING_FLAG_WINDOWS_CONTEXT) != 0 ? CONTEXT_CHANNEL : COMPUTE;
    return (flags & PPSCHED_TRAINING_FLAG_WINDOWS_TENSOR) != 0 ? TENSOR_CHANNEL : COMPUTE;
}

static bool is_exchange(const ppsched_model *model, const struct ppi_op_cost *op)
{
    return op->pass[PPI_FORWARD_PASS].collective == PPI_ALL_TO_ALL && channel_of(model, op->group) == EXPERTS;
}

/* --- the ops in the order in which they run --- */

static void add_piece(struct reading *reading, uint32_t pass, uint32_t channel, double time)
{
    if (time > 0)
        reading->pieces[pass][reading->count[pass]++] = (struct piece){time, channel, reading->op, reading->segment};
}

/* `ends`: it ends with its collective, else it begins with it. */
static void add_op(struct reading *reading, const struct ppi_op_cost *op, bool ends)
{
    const ppsched_model *model = reading->model;
    for (uint32_t pass = PPI_FORWARD_PASS; pass <= PPI_WEIGHT_PASS; pass++) {
        if (!ppi_is_computed(model, op, (int32_t)pass))
            continue;
        const struct ppi_op_times times = ppi_op_times(model, op, &op->pass[pass]);
        const uint32_t channel = channel_of(model, op->group);
        double own = times.matrix + times.vector + times.memory + (times.is_any ? model->device.op_time : 0);
        if (!ends)
            add_piece(reading, pass, channel, times.sent);
        add_piece(reading, pass, COMPUTE, own);
        if (ends)
            add_piece(reading, pass, channel, times.sent);
    }
    reading->op++;
}

/* Before the dispatch, the dispatch, the experts, the combine. */
enum phase { BEFORE, DISPATCH, WITHIN, COMBINE, PHASES };

static enum phase phase_of(const struct ppi_ops *ops, uint32_t i, uint32_t dispatch, uint32_t combine)
{
    if (i == dispatch || i == combine)
        return i == dispatch ? DISPATCH : COMBINE;
    if (ops->list[i].turn != PPI_IN_ORDER)
        return ops->list[i].turn == PPI_BEFORE_DISPATCH ? BEFORE : WITHIN;
    return i < dispatch ? BEFORE : WITHIN;
}

static void add_part(struct reading *reading, const struct ppi_ops *ops)
{
    uint32_t dispatch = ops->count, combine = ops->count;
    for (uint32_t i = 0; i < ops->count; i++)
        if (is_exchange(reading->model, &ops->list[i])) {
            dispatch = dispatch < i ? dispatch : i;
            combine = i;
        }
    for (uint32_t i = 0; i < ops->count && dispatch == ops->count; i++)
        add_op(reading, &ops->list[i], false);
    for (int phase = BEFORE; phase < PHASES && dispatch < ops->count; phase++)
        for (uint32_t i = 0; i < ops->count; i++)
            if ((int)phase_of(ops, i, dispatch, combine) == phase)
                add_op(reading, &ops->list[i], phase == COMBINE);
}

/* Whether a window begins with the part: with an MLP, with experts that have no exchange, and with what is no block. */
static bool begins(const struct reading *reading, const struct ppi_ops *ops, uint32_t part)
{
    const ppsched_block *block = ppi_block_of_part(reading->model, reading->row, part);
    if (block == NULL || block->kind == PPSCHED_BLOCK_KIND_MLP)
        return true;
    for (uint32_t i = 0; i < ops->count; i++)
        if (is_exchange(reading->model, &ops->list[i]))
            return false;
    return block->kind == PPSCHED_BLOCK_KIND_EXPERTS;
}

static void read_all(struct reading *reading, struct ppi_arena *arena)
{
    const struct ppi_site site = ppi_site_of_row(reading->model, reading->row);
    struct ppi_ops ops;
    uint32_t parts = 0;
    while (ppi_ops_of_part(&ops, &site, reading->row, parts))
        parts++;
    for (uint32_t pass = PPI_FORWARD_PASS; pass <= PPI_WEIGHT_PASS; pass++)
        reading->pieces[pass] = ppi_arena_take(arena, (size_t)parts * 2 * PPI_MOST_OPS, sizeof(struct piece));
    for (uint32_t part = 0; part < parts && !arena->is_short; part++) {
        ppi_ops_of_part(&ops, &site, reading->row, part);
        reading->segment += begins(reading, &ops, part);
        add_part(reading, &ops);
    }
}

/* --- as long as the pass --- */

/* Seconds of a channel in a pass. */
static double time_on(const ppsched_model *model, const ppsched_pass_cost *cost, uint32_t channel)
{
    const double on[] = {0, cost->expert_time, cost->tensor_time, cost->context_time};
    double rest = cost->time;
    for (uint32_t c = EXPERTS; c < CHANNELS; c++) {
        bool has_windows = (model->training.flags & ((uint32_t)PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS << (c - EXPERTS))) != 0;
        if (c == channel)
            return has_windows ? on[c] : 0;
        rest -= has_windows ? on[c] : 0;
    }
    return rest > 0 ? rest : 0;
}

/* The host, a measured table and collectives that hide in the same layer change what ops take together. */
static void fit_pass(struct reading *reading, uint32_t pass, const ppsched_pass_cost *cost)
{
    double sum[CHANNELS] = {0}, factor[CHANNELS];
    struct piece *pieces = reading->pieces[pass];
    for (uint32_t i = 0; i < reading->count[pass]; i++)
        sum[pieces[i].channel] += pieces[i].time;
    for (uint32_t c = 0; c < CHANNELS; c++)
        factor[c] = sum[c] > 0 ? time_on(reading->model, cost, c) / sum[c] : 1;
    for (uint32_t i = 0; i < reading->count[pass]; i++)
        pieces[i].time *= factor[pieces[i].channel];
    if (reading->count[pass] == 0)
        add_piece(reading, pass, COMPUTE, cost->time);
}

/* --- windows --- */

struct list {
    ppsched_window *windows;
    uint32_t *lowest; /* of each window the first of its ops */
    uint32_t count, segment;
};

static void take_list(struct list *list, struct ppi_arena *arena, uint32_t pieces)
{
    *list = (struct list){.windows = ppi_arena_take_zeroed(arena, (size_t)pieces + 1, sizeof *list->windows),
                          .lowest = ppi_arena_take_zeroed(arena, (size_t)pieces + 1, sizeof *list->lowest)};
}

static void append(struct list *list, const struct piece *piece, uint32_t after)
{
    ppsched_window *last = list->count > 0 ? &list->windows[list->count - 1] : NULL;
    if (last == NULL || last->channel != piece->channel || last->after != after || list->segment != piece->segment) {
        last = &list->windows[list->count];
        *last = (ppsched_window){.channel = piece->channel, .after = after};
        list->lowest[list->count++] = piece->op;
    }
    last->time += piece->time;
    if (piece->op < list->lowest[list->count - 1])
        list->lowest[list->count - 1] = piece->op;
    list->segment = piece->segment;
}

/* Forward as its pieces are, or backward. There is at least one window. */
static void cut(struct list *list, const struct reading *reading, uint32_t pass)
{
    const uint32_t count = reading->count[pass];
    for (uint32_t i = 0; i < count; i++)
        append(list, &reading->pieces[pass][pass == PPI_FORWARD_PASS ? i : count - 1 - i], 0);
    list->count = list->count > 0 ? list->count : 1;
}

/* How many windows of the backward end before the weight gradient of an op: up to the one with this op. */
static uint32_t needed(const struct list *backward, uint32_t op)
{
    uint32_t i = 0;
    while (i + 1 < backward->count && backward->lowest[i] > op)
        i++;
    return i + 1;
}

/* Weight gradients follow the backward; what is gathered for one comes with it. */
static void cut_weights(struct list *list, const struct reading *reading, const struct list *backward, uint32_t *after)
{
    const struct piece *pieces = reading->pieces[PPI_WEIGHT_PASS];
    for (uint32_t i = reading->count[PPI_WEIGHT_PASS]; i-- > 0;)
        after[i] = pieces[i].channel != COMPUTE && i + 1 < reading->count[PPI_WEIGHT_PASS] ? after[i + 1]
                                                                                           : needed(backward, pieces[i].op);
    for (uint32_t turn = 1; turn <= backward->count; turn++)
        for (uint32_t i = 0; i < reading->count[PPI_WEIGHT_PASS]; i++)
            if (after[i] == turn)
                append(list, &pieces[i], turn);
}

void ppi_model_windows(ppsched_pair_windows *out, const ppsched_model *model, uint32_t row, struct ppi_arena *arena)
{
    struct reading reading = {.model = model, .row = row};
    struct list lists[PPI_PASSES];
    ppsched_pass_cost costs[PPI_MODEL_PASSES];
    *out = (ppsched_pair_windows){.size = sizeof *out, .slowdown = {model->device.slowdown}};
    ppi_model_price_all(costs, model, row);
    read_all(&reading, arena);
    for (uint32_t pass = PPI_FORWARD_PASS; pass <= PPI_WEIGHT_PASS && !arena->is_short; pass++) {
        bool is_whole = model->rows[row].tower != NULL; /* a tower is one window */
        reading.count[pass] = is_whole ? 0 : reading.count[pass];
        fit_pass(&reading, pass, &costs[pass]);
        take_list(&lists[pass], arena, reading.count[pass]);
    }
    uint32_t *after = ppi_arena_take(arena, (size_t)reading.count[PPI_WEIGHT_PASS] + 1, sizeof *after);
    if (arena->is_short)
        return;
    cut(&lists[PPI_FORWARD_PASS], &reading, PPI_FORWARD_PASS);
    cut(&lists[PPI_INPUT_PASS], &reading, PPI_INPUT_PASS);
    cut_weights(&lists[PPI_WEIGHT_PASS], &reading, &lists[PPI_INPUT_PASS], after);
    out->forward = lists[PPI_FORWARD_PASS].windows, out->forward_count = lists[PPI_FORWARD_PASS].count;
    out->backward = lists[PPI_INPUT_PASS].windows, out->backward_count = lists[PPI_INPUT_PASS].count;
    out->weight = lists[PPI_WEIGHT_PASS].count > 0 ? lists[PPI_WEIGHT_PASS].windows : NULL,
    out->weight_count = lists[PPI_WEIGHT_PASS].count;
}
