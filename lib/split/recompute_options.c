/* SPDX-License-Identifier: Apache-2.0 */
/* Fronts grow layer by layer: the sorted options of each recompute kind are merged, and dominated ones dropped. Fronts of
 * equal layers are kept by their number, those of other layers in a small hash table. */
#include "split/recompute_options.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* Fronts that are kept: of up to MOST_KNOWN layers of an entry; slots of the hash table. Measured: docs/performance.md. */
enum { MOST_KNOWN = 4096, REMEMBERED = 256 };

ppsched_status ppi_builder_open(struct ppi_front_builder *out, struct ppi_arena *arena, const ppsched_layers *layers,
                                const struct ppi_same_kind *same, ppsched_error *error)
{
    uint32_t layer = 0, known = layers->count < MOST_KNOWN ? layers->count : MOST_KNOWN;
    *out = (struct ppi_front_builder){.layers = layers, .arena = arena};
    out->begin = ppi_arena_take(arena, layers->entry_count, sizeof *out->begin);
    out->known = ppi_arena_take_zeroed(arena, known, sizeof *out->known);
    out->remembered = ppi_arena_take_zeroed(arena, REMEMBERED, sizeof *out->remembered);
    out->reached = ppi_arena_take(arena, layers->entry_count, sizeof *out->reached);
    for (int i = 0; i < 2; i++) {
        out->scratch[i].options = ppi_arena_take(arena, PPI_FRONT_MOST, sizeof(struct ppi_recompute_option));
        out->scratch[i].capacity = PPI_FRONT_MOST;
    }
    for (uint32_t e = 0; e < layers->entry_count && !arena->is_short; e++) {
        out->begin[e] = layer;
        layer += layers->entries[e].given.count;
    }
    ppsched_status status = ppi_arena_check(arena, "the sets of recomputed layers", error);
    if (status == PPSCHED_OK)
        ppi_builder_recompute(out, same);
    return status;
}

void ppi_builder_recompute(struct ppi_front_builder *builder, const struct ppi_same_kind *same)
{
    builder->same = same;
    for (uint32_t e = 0; e < builder->layers->entry_count && same != NULL; e++)
        builder->reached[e] = same->only == NULL || strcmp(same->only, builder->layers->entries[e].given.name) == 0
                                  ? ppi_reached_kind(builder->layers, e, same->reach, same->kind)
                                  : 0;
}

static ppsched_status fail_front(ppsched_error *error)
{
    return ppi_fail_memory(error, "the sets of recomputed layers");
}

static void put_empty(struct ppi_recompute_front *out)
{
    out->count = 1;
    out->is_ordered = true;
    out->options[0] = (struct ppi_recompute_option){0};
}

static bool copy_front(struct ppi_recompute_front *out, struct ppi_arena *arena, const struct ppi_recompute_front *front)
{
    if (out->capacity < front->count) {
        uint32_t capacity = out->capacity == 0 ? front->count : PPI_FRONT_MOST;
        struct ppi_recompute_option *options = ppi_arena_take(arena, capacity, sizeof *options);
        if (options == NULL)
            return false;
        out->options = options;
        out->capacity = capacity;
    }
    out->count = front->count;
    out->is_ordered = front->is_ordered;
    memcpy(out->options, front->options, front->count * sizeof *front->options);
    return true;
}

/* Whether an option holds no more than another of the same layers. What I holds, and leaves for W, is the same for all. What B
 * holds counts where the order has Bs. */
static bool holds_no_more(const struct ppi_recompute_option *a, const struct ppi_recompute_option *b, bool has_whole)
{
    return a->held[PPI_HELD_KEPT] <= b->held[PPI_HELD_KEPT] &&
           (!has_whole || a->held[PPI_HELD_WHOLE] <= b->held[PPI_HELD_WHOLE]);
}

/* Whether an option of the front, all of which cost no more, holds no more than `option`. */
static bool is_beaten(const struct ppi_recompute_front *front, const struct ppi_recompute_option *option, bool has_whole)
{
    for (uint32_t i = front->count; i-- > 0;)
        if (holds_no_more(&front->options[i], option, has_whole))
            return true;
    return false;
}

static void find_order(struct ppi_recompute_front *front, bool has_whole)
{
    front->is_ordered = true;
    for (uint32_t i = 1; i < front->count && front->is_ordered; i++)
        front->is_ordered = holds_no_more(&front->options[i], &front->options[i - 1], has_whole);
}

/* Drops every second option, but not the first and the last. */
static void thin(struct ppi_recompute_front *front)
{
    uint32_t left = 1;
    for (uint32_t i = 2; i < front->count; i += 2)
        front->options[left++] = front->options[i];
    if (front->count % 2 == 0)
        front->options[left++] = front->options[front->count - 1];
    front->count = left;
}

static struct ppi_recompute_option option_after(const struct ppi_recompute_front *before, uint32_t option,
                                                const struct ppi_layer_entry *entry, uint32_t kind)
{
    const struct ppi_recompute_option *old = &before->options[option];
    const double *cost = entry->kinds[kind].cost;
    double kept = cost[PPI_LAYER_MEM_FORWARD], again = cost[PPI_LAYER_MEM_AGAIN], added = cost[PPI_LAYER_MEM_ADDED];
    double largest = ppi_larger(old->largest, again);
    return (struct ppi_recompute_option){
        .added = old->added + entry->kinds[kind].added,
        .held = {[PPI_HELD_KEPT] = old->held[PPI_HELD_KEPT] + kept,
                 [PPI_HELD_WEIGHT] = old->held[PPI_HELD_WEIGHT] + kept + again + added + cost[PPI_LAYER_MEM_RELEASED],
                 [PPI_HELD_INPUT] = old->held[PPI_HELD_INPUT] + kept + again + added,
                 [PPI_HELD_WHOLE] = old->held[PPI_HELD_WHOLE] - old->largest + kept + added + largest},
        .largest = largest,
        .before = (uint16_t)option,
        .kind = (uint8_t)kind};
}

static bool comes_first(const struct ppi_recompute_option *a, const struct ppi_recompute_option *b)
{
    return a->added != b->added ? a->added < b->added : a->held[PPI_HELD_KEPT] < b->held[PPI_HELD_KEPT];
}

/* Adds a layer: the options with each of its kinds are sorted already, so they are merged. */
static void add_layer(struct ppi_front_builder *builder, struct ppi_recompute_front *out,
                      const struct ppi_recompute_front *before, const struct ppi_layer_entry *entry)
{
    uint32_t next[PPSCHED_MAX_RECOMPUTES + 1] = {0}, kinds = entry->given.recompute_count + 1;
    double least = PPI_INFINITE; /* held by an option of the front */
    out->count = 0;
    builder->work += (uint64_t)before->count * kinds;
    for (uint32_t left = before->count * kinds; left > 0; left--) {
        struct ppi_recompute_option best = {0};
        bool found = false;
        for (uint32_t k = 0; k < kinds; k++)
            if (next[k] < before->count) {
                struct ppi_recompute_option option = option_after(before, next[k], entry, k);
                best = !found || comes_first(&option, &best) ? option : best;
                found = true;
            }
        next[best.kind]++;
        if (best.held[PPI_HELD_KEPT] >= least && is_beaten(out, &best, builder->has_whole))
            continue;
        least = ppi_smaller(least, best.held[PPI_HELD_KEPT]);
        if (out->count == PPI_FRONT_MOST) {
            thin(out);
            builder->has_thinned = true;
        }
        out->options[out->count++] = best;
    }
    find_order(out, builder->has_whole);
}

/* The front of an entry's first `count` layers, and those of fewer; NULL where memory is short. */
static const struct ppi_recompute_front *known_front(struct ppi_front_builder *builder, uint32_t entry, uint32_t count)
{
    struct ppi_recompute_front **known = &builder->known[builder->begin[entry]];
    uint32_t have = count;
    while (have > 0 && known[have - 1] == NULL)
        have--;
    for (; have < count; have++) {
        struct ppi_recompute_front *front = ppi_arena_take_zeroed(builder->arena, 1, sizeof *front);
        put_empty(&builder->scratch[1]);
        add_layer(builder, &builder->scratch[0], have > 0 ? known[have - 1] : &builder->scratch[1],
                  &builder->layers->entries[entry]);
        if (front == NULL || !copy_front(front, builder->arena, &builder->scratch[0]))
            return NULL;
        known[have] = front;
    }
    return known[count - 1];
}

/* --- without a choice --- */

/* The kind of a stage's next layer, where `*left` layers may still have one. */
static uint8_t next_kind(const struct ppi_front_builder *builder, uint32_t layer, uint32_t *left)
{
    uint8_t kind = *left > 0 ? builder->reached[builder->layers->entry_of[layer]] : 0;
    *left -= kind > 0;
    return kind;
}

double ppi_builder_held(const struct ppi_front_builder *builder, uint32_t begin, uint32_t end)
{
    uint32_t left = builder->same->count;
    double held = 0;
    for (uint32_t layer = begin; layer < end; layer++) {
        uint8_t kind = next_kind(builder, layer, &left);
        held += kind == PPI_NO_SUCH_KIND ? PPI_HELD_OUT_OF_REACH
                                         : ppi_layer_at(builder->layers, layer)->kinds[kind].cost[PPI_LAYER_MEM_FORWARD];
    }
    return held;
}

static void make_only_option(struct ppi_recompute_front *out, const struct ppi_front_builder *builder, uint32_t begin,
                             uint32_t end)
{
    uint32_t left = builder->same != NULL ? builder->same->count : 0;
    put_empty(out);
    for (uint32_t layer = begin; layer < end; layer++) {
        const struct ppi_recompute_option before = out->options[0];
        const struct ppi_recompute_front one = {.count = 1, .options = (struct ppi_recompute_option *)&before};
        uint8_t kind = next_kind(builder, layer, &left);
        out->options[0] = option_after(&one, 0, ppi_layer_at(builder->layers, layer), kind == PPI_NO_SUCH_KIND ? 0 : kind);
        for (int i = 0; i < PPI_HELD && kind == PPI_NO_SUCH_KIND; i++)
            out->options[0].held[i] += PPI_HELD_OUT_OF_REACH;
    }
}

/* --- with a choice --- */

/* How many layers from `begin` on are of its entry and have a kept front; 0: none. */
static uint32_t known_run(const struct ppi_front_builder *builder, uint32_t begin, uint32_t end)
{
    uint32_t entry = builder->layers->entry_of[begin], first = builder->begin[entry];
    uint32_t count = builder->layers->entries[entry].given.count, run = first + count - begin;
    run = run < end - begin ? run : end - begin;
    return first + run <= MOST_KNOWN ? run : 0;
}

/* Layers are added starting at the first that has kinds, as that run is the same for most stages; those before it come
 * last. */
static uint32_t first_with_kinds(const ppsched_layers *layers, uint32_t begin, uint32_t end)
{
    uint32_t first = begin;
    while (first < end && ppi_layer_at(layers, first)->given.recompute_count == 0)
        first++;
    return first;
}

static uint32_t layer_in_turn(uint32_t begin, uint32_t first, uint32_t end, uint32_t turn)
{
    return turn < end - first ? first + turn : begin + (turn - (end - first));
}

/* The slot for the front of layers that are not equal. */
static struct ppi_recompute_front *front_at(const struct ppi_front_builder *builder, uint32_t begin, uint32_t end)
{
    uint32_t hash = begin * 2654435761u ^ end * 2246822519u;
    return &builder->remembered[(hash >> 16 ^ hash) % REMEMBERED];
}

/* Adds the layers from the `run`th turn on to a known front; NULL where memory is short. */
static const struct ppi_recompute_front *add_turns(struct ppi_front_builder *builder, const struct ppi_recompute_front *known,
                                                   uint32_t run, uint32_t begin, uint32_t first, uint32_t end)
{
    struct ppi_recompute_front *front = &builder->scratch[0], *other = &builder->scratch[1],
                               *place = front_at(builder, begin, end), *swap;
    if (place->begin == begin && place->end == end)
        return place;
    put_empty(front);
    if (known != NULL)
        copy_front(front, builder->arena, known);
    for (uint32_t i = run; i < end - begin; i++) {
        add_layer(builder, other, front, ppi_layer_at(builder->layers, layer_in_turn(begin, first, end, i)));
        swap = front, front = other, other = swap;
    }
    place->begin = begin;
    place->end = copy_front(place, builder->arena, front) ? end : begin;
    return place->end == end ? place : NULL;
}

ppsched_status ppi_front_make(struct ppi_recompute_front *out, struct ppi_front_builder *builder, uint32_t begin, uint32_t end,
                              ppsched_error *error)
{
    if (builder->same != NULL || begin == end) {
        make_only_option(&builder->scratch[0], builder, begin, end);
        return copy_front(out, builder->arena, &builder->scratch[0]) ? PPSCHED_OK : fail_front(error);
    }
    uint32_t first = first_with_kinds(builder->layers, begin, end);
    uint32_t run = first < end ? known_run(builder, first, end) : 0;
    const struct ppi_recompute_front *front = run > 0 ? known_front(builder, builder->layers->entry_of[first], run) : NULL;
    if (run > 0 && front == NULL)
        return fail_front(error);
    if (run < end - begin)
        front = add_turns(builder, front, run, begin, first, end);
    return front != NULL && copy_front(out, builder->arena, front) ? PPSCHED_OK : fail_front(error);
}

ppsched_status ppi_front_choose(uint8_t *recomputes, struct ppi_front_builder *builder, uint32_t begin, uint32_t end,
                                uint32_t option, ppsched_error *error)
{
    struct ppi_arena arena = {.host = builder->arena->host};
    if (builder->same != NULL) {
        uint32_t left = builder->same->count;
        for (uint32_t layer = begin; layer < end; layer++) {
            uint8_t kind = next_kind(builder, layer, &left);
            recomputes[layer] = kind == PPI_NO_SUCH_KIND ? 0 : kind;
        }
        return PPSCHED_OK;
    }
    uint32_t first = first_with_kinds(builder->layers, begin, end), count = end - begin;
    struct ppi_recompute_front *fronts = ppi_arena_take_zeroed(&arena, count + (size_t)1, sizeof *fronts);
    ppsched_status status = ppi_arena_check(&arena, "the sets of recomputed layers", error);
    for (uint32_t i = 0; i <= count && status == PPSCHED_OK; i++) {
        if (i == 0)
            put_empty(&builder->scratch[0]);
        else
            add_layer(builder, &builder->scratch[0], &fronts[i - 1],
                      ppi_layer_at(builder->layers, layer_in_turn(begin, first, end, i - 1)));
        if (!copy_front(&fronts[i], &arena, &builder->scratch[0]))
            status = fail_front(error);
    }
    for (uint32_t i = count; i > 0 && status == PPSCHED_OK; i--) {
        const struct ppi_recompute_option *chosen = &fronts[i].options[option];
        recomputes[layer_in_turn(begin, first, end, i - 1)] = chosen->kind;
        option = chosen->before;
    }
    ppi_arena_clear(&arena);
    return status;
}
