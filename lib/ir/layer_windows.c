/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of layers: copies of them, and the layers as one channel sees them. */
#include <string.h>

#include "base/error.h"
#include "ir/costs.h"
#include "ir/layers.h"

static const ppsched_window *copy_list(struct ppi_arena *arena, const ppsched_window *windows, size_t count)
{
    ppsched_window *copy = count > 0 ? ppi_arena_take(arena, count, sizeof *copy) : NULL;
    if (copy != NULL)
        memcpy(copy, windows, count * sizeof *copy);
    return copy;
}

const ppsched_pair_windows *ppi_layer_windows_copy(struct ppi_arena *arena, const ppsched_pair_windows *given)
{
    ppsched_pair_windows *copy = given != NULL ? ppi_arena_take(arena, 1, sizeof *copy) : NULL;
    if (copy == NULL)
        return NULL;
    *copy = *given;
    copy->forward = copy_list(arena, given->forward, given->forward_count);
    copy->backward = copy_list(arena, given->backward, given->backward_count);
    copy->weight = copy_list(arena, given->weight, given->weight_count);
    return copy;
}

/* The share of a list's time that is on a channel. */
static double share_on(const ppsched_window *windows, size_t count, uint32_t channel)
{
    double all = 0, own = 0;
    for (size_t i = 0; i < count; i++) {
        all += windows[i].time;
        own += windows[i].channel == channel ? windows[i].time : 0;
    }
    return all > 0 ? own / all : 0;
}

/* The shares of a layer's own times, which may be those of another size of microbatch. */
double ppi_layer_work_on(const ppsched_layer *layer, uint32_t channel)
{
    const ppsched_pair_windows *windows = layer->windows;
    return layer->forward_time * share_on(windows->forward, windows->forward_count, channel) +
           layer->backward_input_time * share_on(windows->backward, windows->backward_count, channel) +
           layer->backward_weight_time * share_on(windows->weight, windows->weight_count, channel);
}

ppsched_status ppi_layers_on_channel(const ppsched_layers **out, const ppsched_layers *layers, uint32_t channel,
                                     ppsched_error *error)
{
    struct ppi_arena arena = {.host = &layers->host};
    ppsched_layer *entries = ppi_arena_take(&arena, layers->entry_count, sizeof *entries);
    const ppsched_layer **list = ppi_arena_take(&arena, layers->entry_count, sizeof *list);
    ppsched_status status = ppi_arena_check(&arena, "the layers of a channel", error);
    for (uint32_t i = 0; i < layers->entry_count && status == PPSCHED_OK; i++) {
        const ppsched_pair_windows *windows = layers->entries[i].given.windows;
        ppsched_layer *own = &entries[i];
        *own = layers->entries[i].given;
        own->forward_time *= share_on(windows->forward, windows->forward_count, channel);
        own->backward_input_time *= share_on(windows->backward, windows->backward_count, channel);
        own->backward_weight_time *= share_on(windows->weight, windows->weight_count, channel);
        own->backward_time = own->backward_input_time + own->backward_weight_time;
        own->windows = NULL;
        own->recomputes = NULL;
        own->recompute_count = 0;
        list[i] = own;
    }
    if (status == PPSCHED_OK)
        status = ppi_layers_make(out, &layers->host, list, layers->entry_count, error);
    if (status == PPSCHED_OK)
        memcpy((*out)->self->is_cut, layers->is_cut, layers->count * sizeof *layers->is_cut);
    ppi_arena_clear(&arena);
    return status;
}
