/* SPDX-License-Identifier: Apache-2.0 */
/* Appends the windows of a stage's layers: of forwards from the first layer, of backwards from the last. */
#include "pair/layers.h"

#include <string.h>

#include "base/error.h"
#include "ir/costs.h"
#include "pair/megatron_order.h"
#include "pair/problem.h"

/* What one layer of the split adds to its stage. */
struct layer {
    const ppsched_pair_windows *windows;
    double factor[PPI_WINDOW_LISTS]; /* on the times of each list */
    double again, again_factor;      /* recomputation: seconds, or a factor on the forward's windows, which then come first */
};

static double sum_of(const ppsched_window *windows, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += windows[i].time;
    return sum;
}

static double ratio(double time, double sum)
{
    return sum > 0 ? time / sum : 1;
}

static struct layer layer_of(const ppsched_layers *layers, const uint8_t *recomputes, uint32_t layer)
{
    const struct ppi_layer_entry *entry = ppi_layer_at(layers, layer);
    const double added = entry->kinds[recomputes != NULL ? recomputes[layer] : 0].added, *cost = entry->kinds[0].cost;
    const ppsched_pair_windows *windows = entry->given.windows;
    const double forward = sum_of(windows->forward, windows->forward_count);
    struct layer own = {.windows = windows,
                        .factor = {ratio(cost[PPI_LAYER_FORWARD], forward),
                                   ratio(cost[PPI_LAYER_INPUT], sum_of(windows->backward, windows->backward_count)),
                                   ratio(cost[PPI_LAYER_WEIGHT], sum_of(windows->weight, windows->weight_count))}};
    if (added > 0 && added >= cost[PPI_LAYER_FORWARD] * (1 - PPI_ROUNDING) && forward > 0)
        own.again_factor = added / forward;
    else
        own.again = added;
    return own;
}

/* The windows of a stage that has at least one in F and I, and the room for those that follow. */
struct stage {
    struct ppi_stage_windows *made;
    ppsched_window *room;
};

static void append(struct stage *stage, uint32_t list, const ppsched_window *windows, size_t count, double factor,
                   uint32_t before)
{
    for (size_t i = 0; i < count; i++) {
        ppsched_window *own = &stage->made->of[list][stage->made->count[list]++];
        *own = (ppsched_window){windows[i].time * factor, windows[i].channel,
                                list == PPI_WEIGHT ? windows[i].after + before : 0};
    }
}

/* Recomputation that is less than a forward makes the last window longer that is on the channel where the forward begins. */
static void lengthen(struct ppi_stage_windows *made, uint32_t before, const struct layer *own)
{
    uint32_t found = made->count[PPI_BACKWARD] - 1;
    for (uint32_t i = before; i < made->count[PPI_BACKWARD]; i++)
        if (made->of[PPI_BACKWARD][i].channel == own->windows->forward[0].channel)
            found = i;
    made->of[PPI_BACKWARD][found].time += own->again;
}

/* Puts a weight gradient into the window of the backward that it follows. */
static void put_in(struct ppi_stage_windows *made, uint32_t before, const ppsched_window *weight, double factor)
{
    uint32_t after = weight->after > 0 ? weight->after : 1;
    made->of[PPI_BACKWARD][before + after - 1].time += weight->time * factor;
}

static void put_backward(struct stage *stage, const struct layer *own, bool is_whole)
{
    struct ppi_stage_windows *made = stage->made;
    const ppsched_pair_windows *windows = own->windows;
    if (own->again_factor > 0)
        append(stage, PPI_BACKWARD, windows->forward, windows->forward_count, own->again_factor, 0);
    const uint32_t before = made->count[PPI_BACKWARD];
    append(stage, PPI_BACKWARD, windows->backward, windows->backward_count, own->factor[PPI_BACKWARD], 0);
    if (own->again > 0)
        lengthen(made, before, own);
    if (!is_whole)
        append(stage, PPI_WEIGHT, windows->weight, windows->weight_count, own->factor[PPI_WEIGHT], before);
    for (size_t i = 0; i < windows->weight_count && is_whole; i++)
        put_in(made, before, &windows->weight[i], own->factor[PPI_WEIGHT]);
}

/* At most so many of each list. */
static void count_windows(size_t *most, const ppsched_layers *layers, const struct ppi_layer_range *range)
{
    most[PPI_FORWARD] = most[PPI_BACKWARD] = 1;
    most[PPI_WEIGHT] = 0;
    for (uint32_t i = range->begin; i < range->end; i++) {
        const ppsched_pair_windows *windows = ppi_layer_at(layers, i)->given.windows;
        most[PPI_FORWARD] += windows->forward_count;
        most[PPI_BACKWARD] += windows->forward_count + windows->backward_count;
        most[PPI_WEIGHT] += windows->weight_count;
    }
}

static void put_stage(struct stage *stage, const ppsched_layers *layers, const uint8_t *recomputes,
                      const struct ppi_layer_range *range, bool is_whole)
{
    const ppsched_window nothing = {0};
    size_t most[PPI_WINDOW_LISTS];
    count_windows(most, layers, range);
    for (uint32_t k = 0; k < PPI_WINDOW_LISTS; k++) {
        stage->made->of[k] = stage->room;
        stage->room += most[k];
    }
    for (uint32_t i = range->begin; i < range->end; i++) {
        struct layer own = layer_of(layers, recomputes, i);
        append(stage, PPI_FORWARD, own.windows->forward, own.windows->forward_count, own.factor[PPI_FORWARD], 0);
    }
    for (uint32_t i = range->end; i-- > range->begin;) {
        struct layer own = layer_of(layers, recomputes, i);
        put_backward(stage, &own, is_whole);
    }
    if (range->begin == range->end) /* it passes on its input */
        for (uint32_t k = PPI_FORWARD; k <= PPI_BACKWARD; k++)
            append(stage, k, &nothing, 1, 1, 0);
}

/* Each range of layers is a stage. */
static struct ppi_windows *make(const struct ppi_host *host, const ppsched_layers *layers, const uint8_t *recomputes,
                                const struct ppi_layer_range *ranges, uint32_t count, bool is_whole)
{
    size_t total = 0, most[PPI_WINDOW_LISTS];
    for (uint32_t s = 0; s < count; s++) {
        count_windows(most, layers, &ranges[s]);
        total += most[PPI_FORWARD] + most[PPI_BACKWARD] + most[PPI_WEIGHT];
    }
    struct ppi_windows *made = ppi_windows_create(host, count, total);
    if (made == NULL)
        return NULL;
    memcpy(made->slowdown, layers->entries[0].given.windows->slowdown, sizeof made->slowdown);
    struct stage stage = {.room = ppi_windows_room(made)};
    for (uint32_t s = 0; s < count; s++) {
        stage.made = &made->stage[s];
        put_stage(&stage, layers, recomputes, &ranges[s], is_whole);
    }
    return made;
}

static struct ppi_windows *make_of_split(const struct ppi_host *host, const ppsched_layers *layers, const ppsched_split *split,
                                         bool is_whole)
{
    struct ppi_layer_range *ranges = ppi_allocate(host, split->stages, sizeof *ranges);
    struct ppi_windows *made = NULL;
    if (ranges == NULL)
        return NULL;
    for (uint32_t s = 0, layer = 0; s < split->stages; layer += split->layers[s++])
        ranges[s] = (struct ppi_layer_range){layer, layer + split->layers[s]};
    made = make(host, layers, split->recomputes, ranges, split->stages, is_whole);
    ppi_release(host, ranges);
    return made;
}

ppsched_status ppi_config_put_layer_windows(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split,
                                            int32_t rule, ppsched_error *error)
{
    struct ppi_megatron_order order = {.layers = layers, .split = split, .is_whole = rule == PPSCHED_PAIR_RULE_MEGATRON};
    const struct ppi_pair_order given = {ppi_megatron_order_is_same, ppi_megatron_order_write, &order};
    if (config->values[PPSCHED_QUANTITY_OVERLAPPED_TIMES].values != NULL)
        return PPSCHED_OK;
    struct ppi_windows *windows = make_of_split(&config->host, layers, split, order.is_whole);
    if (windows == NULL)
        return ppi_fail_memory(error, "the windows of stages");
    ppsched_status status = ppi_windows_check_pairs(windows, error);
    if (status == PPSCHED_OK)
        status = ppi_windows_put_pairs(config, windows, rule != PPSCHED_PAIR_RULE_BEST ? &given : NULL, error);
    if (status == PPSCHED_OK)
        config->windows = windows;
    else
        ppi_release(&config->host, windows);
    return status;
}

ppsched_status ppi_layer_pair_find(struct ppi_pair_ends *out, const ppsched_layers *layers, const uint8_t *recomputes,
                                   const struct ppi_layer_range *ranges, uint8_t kind, const struct ppi_host *host,
                                   ppsched_error *error)
{
    struct ppi_windows *windows = make(host, layers, recomputes, ranges, 2, false);
    if (windows == NULL)
        return ppi_fail_memory(error, "the windows of a pair");
    ppsched_status status = ppi_windows_find_pair(out, windows, 0, 1, kind, host, error);
    ppi_release(host, windows);
    return status;
}
