/* SPDX-License-Identifier: Apache-2.0 */
/* megatron-core 0.19.2 goes through the layers of the forward, and backwards through those of the backward, two at a time. A
 * layer is what comes before its dispatch, the dispatch, the experts, the combine, and what follows: of an MTP layer its
 * output. Of a layer without experts the first window comes before, and the others are its MLP. */
#include "pair/megatron_order.h"

#include "ir/costs.h"

/* Their channel in the windows of a model: see enum ppsched_training_flag. */
enum { EXCHANGES = 1 };

enum part { BEFORE, DISPATCH, MLP, COMBINE, BEHIND, PARTS };

/* How many windows of each part, by list: F, I, W. */
struct megatron_layer {
    uint32_t forward[PARTS], backward[PARTS], weight[PARTS];
};

struct writing {
    const struct ppi_megatron_order *order;
    int32_t *kinds;
};

static void put_node(struct writing *writing, int32_t kind, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        *writing->kinds++ = kind;
}

/* The part of window `i` of a list that goes forward from the first window to the last. `first`, `last`: the windows of the
 * dispatch and the combine; both `count` without them. */
static enum part part_at(uint32_t i, uint32_t first, uint32_t last, uint32_t count)
{
    if (first == count)
        return i == 0 ? BEFORE : MLP;
    if (i == first || i == last)
        return i == first ? DISPATCH : COMBINE;
    return i < first ? BEFORE : i < last ? MLP : BEHIND;
}

/* The first and the last window on the channel of exchanges. */
static void find_exchanges(uint32_t *first, uint32_t *last, const ppsched_window *list, size_t count)
{
    *first = *last = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++)
        if (list[i].channel == EXCHANGES) {
            *first = *first < i ? *first : i;
            *last = i;
        }
}

/* The part of a window of the backward, which goes from the last part to the first. */
static enum part backward_part(const ppsched_pair_windows *windows, uint32_t i)
{
    const uint32_t count = (uint32_t)windows->backward_count;
    uint32_t first, last;
    find_exchanges(&first, &last, windows->backward, count);
    if (first == count)
        return i + 1 == count ? BEFORE : MLP;
    return part_at(count - 1 - i, count - 1 - last, count - 1 - first, count);
}

/* What recomputation puts before the windows of I, as long as a forward. */
static uint32_t windows_again(const ppsched_layers *layers, const ppsched_split *split, uint32_t layer)
{
    const struct ppi_layer_entry *entry = ppi_layer_at(layers, layer);
    const double added = entry->kinds[split->recomputes != NULL ? split->recomputes[layer] : 0].added,
                 forward = entry->kinds[0].cost[PPI_LAYER_FORWARD];
    return added > 0 && forward > 0 && added >= forward * (1 - PPI_ROUNDING) ? (uint32_t)entry->given.windows->forward_count
                                                                             : 0;
}

static struct megatron_layer layer_at(const struct ppi_megatron_order *order, uint32_t number)
{
    const ppsched_pair_windows *windows = ppi_layer_at(order->layers, number)->given.windows;
    const uint32_t count = (uint32_t)windows->forward_count;
    struct megatron_layer layer = {.backward = {[BEHIND] = windows_again(order->layers, order->split, number)}};
    uint32_t first, last;
    find_exchanges(&first, &last, windows->forward, count);
    for (uint32_t i = 0; i < count; i++)
        layer.forward[part_at(i, first, last, count)]++;
    for (uint32_t i = 0; i < windows->backward_count; i++)
        layer.backward[backward_part(windows, i)]++;
    for (uint32_t i = 0; i < windows->weight_count && !order->is_whole; i++)
        layer.weight[backward_part(windows, windows->weight[i].after > 0 ? windows->weight[i].after - 1 : 0)]++;
    return layer;
}

/* The two layers that run side by side; where there is none, it has no windows. The weight gradient of attention of the last
 * backward comes later. */
static void put_layers(struct writing *writing, const struct megatron_layer *f, const struct megatron_layer *b, bool is_last)
{
    put_node(writing, PPSCHED_KIND_B, b->backward[BEHIND]);
    put_node(writing, PPSCHED_KIND_W, b->weight[BEHIND]);
    put_node(writing, PPSCHED_KIND_B, b->backward[COMBINE]);
    put_node(writing, PPSCHED_KIND_F, f->forward[BEFORE]);
    put_node(writing, PPSCHED_KIND_B, b->backward[MLP]);
    put_node(writing, PPSCHED_KIND_F, f->forward[DISPATCH]);
    put_node(writing, PPSCHED_KIND_W, b->weight[COMBINE] + b->weight[MLP]);
    put_node(writing, PPSCHED_KIND_B, b->backward[DISPATCH]);
    put_node(writing, PPSCHED_KIND_F, f->forward[MLP] + f->forward[COMBINE]);
    put_node(writing, PPSCHED_KIND_B, b->backward[BEFORE]);
    put_node(writing, PPSCHED_KIND_F, f->forward[BEHIND]);
    put_node(writing, PPSCHED_KIND_W, is_last ? 0 : b->weight[DISPATCH] + b->weight[BEFORE]);
}

/* The layers of a stage, and which of them are neither an embedding nor a head. */
struct range {
    uint32_t begin, first, last, end;
};

static struct range range_of(const struct ppi_megatron_order *order, uint32_t stage)
{
    struct range range = {0};
    for (uint32_t s = 0; s < stage; s++)
        range.begin += order->split->layers[s];
    range.first = range.begin;
    range.end = range.last = range.begin + order->split->layers[stage];
    while (range.first < range.end && ppi_layer_at(order->layers, range.first)->given.place == PPSCHED_LAYER_PLACE_FIRST)
        range.first++;
    while (range.last > range.first && ppi_layer_at(order->layers, range.last - 1)->given.place == PPSCHED_LAYER_PLACE_LAST)
        range.last--;
    return range;
}

static void put_forwards(struct writing *writing, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++)
        put_node(writing, PPSCHED_KIND_F, (uint32_t)ppi_layer_at(writing->order->layers, i)->given.windows->forward_count);
}

/* Of layers that stand at the ends: each with its weight gradient. */
static void put_backwards(struct writing *writing, uint32_t begin, uint32_t end)
{
    for (uint32_t i = end; i-- > begin;) {
        const ppsched_pair_windows *windows = ppi_layer_at(writing->order->layers, i)->given.windows;
        put_node(writing, PPSCHED_KIND_B,
                 (uint32_t)windows->backward_count + windows_again(writing->order->layers, writing->order->split, i));
        put_node(writing, PPSCHED_KIND_W, writing->order->is_whole ? 0 : (uint32_t)windows->weight_count);
    }
}

void ppi_megatron_order_write(const void *user, int32_t *kinds, uint32_t forward, uint32_t backward)
{
    const struct ppi_megatron_order *order = user;
    const struct range f = range_of(order, forward), b = range_of(order, backward);
    const uint32_t forwards = f.last - f.first, backwards = b.last - b.first;
    struct writing writing = {order, kinds};
    uint32_t late = 0;
    put_forwards(&writing, f.begin, f.first);
    put_backwards(&writing, b.last, b.end);
    for (uint32_t i = 0; i < forwards || i < backwards; i++) {
        struct megatron_layer own = {0}, other = {0};
        if (i < forwards)
            own = layer_at(order, f.first + i);
        if (i < backwards)
            other = layer_at(order, b.last - 1 - i);
        put_layers(&writing, &own, &other, i + 1 == backwards);
        late = i + 1 == backwards ? other.weight[DISPATCH] + other.weight[BEFORE] : late;
    }
    put_node(&writing, PPSCHED_KIND_W, late);
    put_forwards(&writing, f.last, f.end);
    put_backwards(&writing, b.begin, b.first);
    if (order->split->layers[forward] == 0)
        put_node(&writing, PPSCHED_KIND_F, 1);
    if (order->split->layers[backward] == 0)
        put_node(&writing, PPSCHED_KIND_B, 1);
}

bool ppi_megatron_order_is_same(const void *user, uint32_t a, uint32_t b)
{
    const struct ppi_megatron_order *order = user;
    const struct range x = range_of(order, a), y = range_of(order, b);
    if (x.end - x.begin != y.end - y.begin)
        return false;
    for (uint32_t i = 0; i < x.end - x.begin; i++) {
        const uint32_t one = x.begin + i, other = y.begin + i;
        const uint8_t *kinds = order->split->recomputes;
        if (order->layers->entry_of[one] != order->layers->entry_of[other] || (kinds != NULL && kinds[one] != kinds[other]))
            return false;
    }
    return true;
}
