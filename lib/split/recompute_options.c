/* SPDX-License-Identifier: Apache-2.0 */
#include "split/recompute_options.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* Menus that are kept: of an entry's first layers. */
enum { MOST_KNOWN = 4096, REMEMBERED = 256 };

ppsched_status ppi_kitchen_open(struct ppi_kitchen *out, struct ppi_room *room, const ppsched_layers *layers,
                                const struct ppi_same_kind *same, ppsched_error *error)
{
    uint32_t layer = 0, known = layers->count < MOST_KNOWN ? layers->count : MOST_KNOWN;
    *out = (struct ppi_kitchen){.layers = layers, .room = room};
    out->begin = ppi_room_take(room, layers->entry_count, sizeof *out->begin);
    out->known = ppi_room_take_zeroed(room, known, sizeof *out->known);
    out->remembered = ppi_room_take_zeroed(room, REMEMBERED, sizeof *out->remembered);
    out->reached = ppi_room_take(room, layers->entry_count, sizeof *out->reached);
    for (int i = 0; i < 2; i++) {
        out->scratch[i].dishes = ppi_room_take(room, PPI_MENU_MOST, sizeof(struct ppi_dish));
        out->scratch[i].capacity = PPI_MENU_MOST;
    }
    for (uint32_t e = 0; e < layers->entry_count && !room->is_short; e++) {
        out->begin[e] = layer;
        layer += layers->entries[e].given.count;
    }
    ppsched_status status = ppi_room_check(room, "the sets of recomputed layers", error);
    if (status == PPSCHED_OK)
        ppi_kitchen_recompute(out, same);
    return status;
}

void ppi_kitchen_recompute(struct ppi_kitchen *kitchen, const struct ppi_same_kind *same)
{
    kitchen->same = same;
    for (uint32_t e = 0; e < kitchen->layers->entry_count && same != NULL; e++)
        kitchen->reached[e] = same->only == NULL || strcmp(same->only, kitchen->layers->entries[e].given.name) == 0
                                  ? ppi_reached_kind(kitchen->layers, e, same->reach, same->kind)
                                  : 0;
}

static ppsched_status fail_menu(ppsched_error *error)
{
    return ppi_fail_memory(error, "the sets of recomputed layers");
}

static void put_empty(struct ppi_menu *out)
{
    out->count = 1;
    out->is_ordered = true;
    out->dishes[0] = (struct ppi_dish){0};
}

static bool copy_menu(struct ppi_menu *out, struct ppi_room *room, const struct ppi_menu *menu)
{
    if (out->capacity < menu->count) {
        uint32_t capacity = out->capacity == 0 ? menu->count : PPI_MENU_MOST;
        struct ppi_dish *dishes = ppi_room_take(room, capacity, sizeof *dishes);
        if (dishes == NULL)
            return false;
        out->dishes = dishes;
        out->capacity = capacity;
    }
    out->count = menu->count;
    out->is_ordered = menu->is_ordered;
    memcpy(out->dishes, menu->dishes, menu->count * sizeof *menu->dishes);
    return true;
}

/* Whether a set holds no more than another of the same layers: what I holds, and leaves to W, is the same for all. A pass that
 * runs its B is kept beside others, or is the only one; both count. */
static bool holds_no_more(const struct ppi_dish *a, const struct ppi_dish *b, bool has_whole)
{
    return a->held[PPI_HELD_KEPT] <= b->held[PPI_HELD_KEPT] &&
           (!has_whole || a->held[PPI_HELD_WHOLE] <= b->held[PPI_HELD_WHOLE]);
}

/* Whether a set that is kept holds no more; of those before `dish`, which add no more. */
static bool is_beaten(const struct ppi_menu *menu, const struct ppi_dish *dish, bool has_whole)
{
    for (uint32_t i = menu->count; i-- > 0;)
        if (holds_no_more(&menu->dishes[i], dish, has_whole))
            return true;
    return false;
}

static void find_order(struct ppi_menu *menu, bool has_whole)
{
    menu->is_ordered = true;
    for (uint32_t i = 1; i < menu->count && menu->is_ordered; i++)
        menu->is_ordered = holds_no_more(&menu->dishes[i], &menu->dishes[i - 1], has_whole);
}

/* Leaves out every second one in between. */
static void thin(struct ppi_menu *menu)
{
    uint32_t left = 1;
    for (uint32_t i = 2; i < menu->count; i += 2)
        menu->dishes[left++] = menu->dishes[i];
    if (menu->count % 2 == 0)
        menu->dishes[left++] = menu->dishes[menu->count - 1];
    menu->count = left;
}

static struct ppi_dish served(const struct ppi_menu *before, uint32_t dish, const struct ppi_layer_entry *entry, uint32_t kind)
{
    const struct ppi_dish *old = &before->dishes[dish];
    const double *cost = entry->kinds[kind].cost;
    double kept = cost[PPI_LAYER_MEM_FORWARD], again = cost[PPI_LAYER_MEM_AGAIN], added = cost[PPI_LAYER_MEM_ADDED];
    double largest = ppi_larger(old->largest, again);
    return (struct ppi_dish){
        .added = old->added + entry->kinds[kind].added,
        .held = {[PPI_HELD_KEPT] = old->held[PPI_HELD_KEPT] + kept,
                 [PPI_HELD_WEIGHT] = old->held[PPI_HELD_WEIGHT] + kept + again + added + cost[PPI_LAYER_MEM_RELEASED],
                 [PPI_HELD_INPUT] = old->held[PPI_HELD_INPUT] + kept + again + added,
                 [PPI_HELD_WHOLE] = old->held[PPI_HELD_WHOLE] - old->largest + kept + added + largest},
        .largest = largest,
        .before = (uint16_t)dish,
        .kind = (uint8_t)kind};
}

static bool comes_first(const struct ppi_dish *a, const struct ppi_dish *b)
{
    return a->added != b->added ? a->added < b->added : a->held[PPI_HELD_KEPT] < b->held[PPI_HELD_KEPT];
}

/* One more layer: the sets of each of its kinds are sorted already, so they are merged. */
static void add_layer(struct ppi_kitchen *kitchen, struct ppi_menu *out, const struct ppi_menu *before,
                      const struct ppi_layer_entry *entry)
{
    uint32_t next[PPSCHED_MAX_RECOMPUTES + 1] = {0}, kinds = entry->given.recompute_count + 1;
    double least = PPI_INFINITE; /* that a set which is kept holds */
    out->count = 0;
    kitchen->work += (uint64_t)before->count * kinds;
    for (uint32_t left = before->count * kinds; left > 0; left--) {
        struct ppi_dish best = {0};
        bool found = false;
        for (uint32_t k = 0; k < kinds; k++)
            if (next[k] < before->count) {
                struct ppi_dish dish = served(before, next[k], entry, k);
                best = !found || comes_first(&dish, &best) ? dish : best;
                found = true;
            }
        next[best.kind]++;
        if (best.held[PPI_HELD_KEPT] >= least && is_beaten(out, &best, kitchen->has_whole))
            continue;
        least = ppi_smaller(least, best.held[PPI_HELD_KEPT]);
        if (out->count == PPI_MENU_MOST) {
            thin(out);
            kitchen->has_thinned = true;
        }
        out->dishes[out->count++] = best;
    }
    find_order(out, kitchen->has_whole);
}

/* The menu of an entry's first `count` layers, with those of fewer; NULL where memory is short. */
static const struct ppi_menu *known_menu(struct ppi_kitchen *kitchen, uint32_t entry, uint32_t count)
{
    struct ppi_menu **known = &kitchen->known[kitchen->begin[entry]];
    uint32_t have = count;
    while (have > 0 && known[have - 1] == NULL)
        have--;
    for (; have < count; have++) {
        struct ppi_menu *menu = ppi_room_take_zeroed(kitchen->room, 1, sizeof *menu);
        put_empty(&kitchen->scratch[1]);
        add_layer(kitchen, &kitchen->scratch[0], have > 0 ? known[have - 1] : &kitchen->scratch[1],
                  &kitchen->layers->entries[entry]);
        if (menu == NULL || !copy_menu(menu, kitchen->room, &kitchen->scratch[0]))
            return NULL;
        known[have] = menu;
    }
    return known[count - 1];
}

/* --- without a choice --- */

/* The kind of a stage's next layer, of which `*left` may still have one. */
static uint8_t next_kind(const struct ppi_kitchen *kitchen, uint32_t layer, uint32_t *left)
{
    uint8_t kind = *left > 0 ? kitchen->reached[kitchen->layers->entry_of[layer]] : 0;
    *left -= kind > 0;
    return kind;
}

double ppi_kitchen_held(const struct ppi_kitchen *kitchen, uint32_t begin, uint32_t end)
{
    uint32_t left = kitchen->same->count;
    double held = 0;
    for (uint32_t layer = begin; layer < end; layer++) {
        uint8_t kind = next_kind(kitchen, layer, &left);
        held += kind == PPI_NO_SUCH_KIND ? PPI_HELD_OUT_OF_REACH
                                         : ppi_layer_at(kitchen->layers, layer)->kinds[kind].cost[PPI_LAYER_MEM_FORWARD];
    }
    return held;
}

static void make_only_dish(struct ppi_menu *out, const struct ppi_kitchen *kitchen, uint32_t begin, uint32_t end)
{
    uint32_t left = kitchen->same != NULL ? kitchen->same->count : 0;
    put_empty(out);
    for (uint32_t layer = begin; layer < end; layer++) {
        const struct ppi_dish before = out->dishes[0];
        const struct ppi_menu one = {.count = 1, .dishes = (struct ppi_dish *)&before};
        uint8_t kind = next_kind(kitchen, layer, &left);
        out->dishes[0] = served(&one, 0, ppi_layer_at(kitchen->layers, layer), kind == PPI_NO_SUCH_KIND ? 0 : kind);
        for (int i = 0; i < PPI_HELD && kind == PPI_NO_SUCH_KIND; i++)
            out->dishes[0].held[i] += PPI_HELD_OUT_OF_REACH;
    }
}

/* --- with one --- */

/* How many of the layers from `begin` on are of its entry and in a menu that is kept; 0: none. */
static uint32_t known_run(const struct ppi_kitchen *kitchen, uint32_t begin, uint32_t end)
{
    uint32_t entry = kitchen->layers->entry_of[begin], first = kitchen->begin[entry];
    uint32_t count = kitchen->layers->entries[entry].given.count, run = first + count - begin;
    run = run < end - begin ? run : end - begin;
    return first + run <= MOST_KNOWN ? run : 0;
}

/* Layers are added in turns that begin with the first that has kinds, as most stages have them; those before it come last. */
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

/* Where the menu of layers that are not equal is remembered. */
static struct ppi_menu *place_of(const struct ppi_kitchen *kitchen, uint32_t begin, uint32_t end)
{
    uint32_t hash = begin * 2654435761u ^ end * 2246822519u;
    return &kitchen->remembered[(hash >> 16 ^ hash) % REMEMBERED];
}

/* Adds the layers from the `run`th turn on to a menu at hand; NULL where memory is short. */
static const struct ppi_menu *add_turns(struct ppi_kitchen *kitchen, const struct ppi_menu *known, uint32_t run, uint32_t begin,
                                        uint32_t first, uint32_t end)
{
    struct ppi_menu *menu = &kitchen->scratch[0], *other = &kitchen->scratch[1], *place = place_of(kitchen, begin, end), *swap;
    if (place->begin == begin && place->end == end)
        return place;
    put_empty(menu);
    if (known != NULL)
        copy_menu(menu, kitchen->room, known);
    for (uint32_t i = run; i < end - begin; i++) {
        add_layer(kitchen, other, menu, ppi_layer_at(kitchen->layers, layer_in_turn(begin, first, end, i)));
        swap = menu, menu = other, other = swap;
    }
    place->begin = begin;
    place->end = copy_menu(place, kitchen->room, menu) ? end : begin;
    return place->end == end ? place : NULL;
}

ppsched_status ppi_menu_make(struct ppi_menu *out, struct ppi_kitchen *kitchen, uint32_t begin, uint32_t end,
                             ppsched_error *error)
{
    if (kitchen->same != NULL || begin == end) {
        make_only_dish(&kitchen->scratch[0], kitchen, begin, end);
        return copy_menu(out, kitchen->room, &kitchen->scratch[0]) ? PPSCHED_OK : fail_menu(error);
    }
    uint32_t first = first_with_kinds(kitchen->layers, begin, end);
    uint32_t run = first < end ? known_run(kitchen, first, end) : 0;
    const struct ppi_menu *menu = run > 0 ? known_menu(kitchen, kitchen->layers->entry_of[first], run) : NULL;
    if (run > 0 && menu == NULL)
        return fail_menu(error);
    if (run < end - begin)
        menu = add_turns(kitchen, menu, run, begin, first, end);
    return menu != NULL && copy_menu(out, kitchen->room, menu) ? PPSCHED_OK : fail_menu(error);
}

ppsched_status ppi_menu_choose(uint8_t *recomputes, struct ppi_kitchen *kitchen, uint32_t begin, uint32_t end, uint32_t dish,
                               ppsched_error *error)
{
    struct ppi_room room = {.host = kitchen->room->host};
    if (kitchen->same != NULL) {
        uint32_t left = kitchen->same->count;
        for (uint32_t layer = begin; layer < end; layer++) {
            uint8_t kind = next_kind(kitchen, layer, &left);
            recomputes[layer] = kind == PPI_NO_SUCH_KIND ? 0 : kind;
        }
        return PPSCHED_OK;
    }
    uint32_t first = first_with_kinds(kitchen->layers, begin, end), count = end - begin;
    struct ppi_menu *menus = ppi_room_take_zeroed(&room, count + (size_t)1, sizeof *menus);
    ppsched_status status = ppi_room_check(&room, "the sets of recomputed layers", error);
    for (uint32_t i = 0; i <= count && status == PPSCHED_OK; i++) {
        if (i == 0)
            put_empty(&kitchen->scratch[0]);
        else
            add_layer(kitchen, &kitchen->scratch[0], &menus[i - 1],
                      ppi_layer_at(kitchen->layers, layer_in_turn(begin, first, end, i - 1)));
        if (!copy_menu(&menus[i], &room, &kitchen->scratch[0]))
            status = fail_menu(error);
    }
    for (uint32_t i = count; i > 0 && status == PPSCHED_OK; i--) {
        const struct ppi_dish *chosen = &menus[i].dishes[dish];
        recomputes[layer_in_turn(begin, first, end, i - 1)] = chosen->kind;
        dish = chosen->before;
    }
    ppi_room_clear(&room);
    return status;
}
