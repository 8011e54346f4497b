/* SPDX-License-Identifier: Apache-2.0 */
/* A depth-first search over the choices, with the bounds, and a table of states that were met before: of two equal ones the
 * earlier is as good in all that follows. A beam search goes first, so that there is a good order to compare with. */
#include "pair/search.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "pair/beam.h"
#include "pair/bound.h"

enum {
    SMALL_TABLE = 1 << 9, /* entries, for few windows */
    TABLE = 1 << 14
};

static const uint64_t MOST_STEPS = 200000; /* of a search that need not be exact */

/* A state that was met, without its time; work that is left in units of the tolerance. */
struct key {
    uint64_t position;
    int64_t left[PPI_CHAINS];
};

struct entry {
    struct key key;
    double time;
};

struct level {
    struct ppi_pair_state state;
    double bound[PPI_CHAINS]; /* after each choice; infinite where there is none */
    struct ppi_pair_state after[PPI_CHAINS];
    uint32_t rivals[PPI_CHAINS]; /* of the state after each choice */
};

struct search {
    const struct ppi_pair *pair;
    struct entry *table;
    uint32_t mask;
    struct level *levels; /* the current order, a level a choice */
    uint8_t *chosen;
    struct ppi_pair_choices *best;
    double time;    /* of the best order */
    uint64_t steps; /* that are left */
    bool stopped;
};

static struct key key_of(const struct ppi_pair *pair, const struct ppi_pair_state *state)
{
    struct key key = {.position = (uint64_t)state->next[0] << 40 | (uint64_t)state->next[1] << 24 |
                                  (uint64_t)state->next[2] << 8 | state->running};
    for (uint32_t k = 0; k < PPI_CHAINS; k++)
        key.left[k] = (state->running >> k & 1) != 0 ? (int64_t)(state->left[k] / pair->tolerance + 0.5) : 0;
    return key;
}

static uint32_t slot_of(const struct search *search, const struct key *key)
{
    uint64_t hash = key->position;
    for (uint32_t k = 0; k < PPI_CHAINS; k++)
        hash = (hash ^ (uint64_t)key->left[k]) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(hash >> 32) & search->mask;
}

/* Whether an equal state was met that was no later; else the table remembers this one. */
static bool was_met(struct search *search, const struct ppi_pair_state *state)
{
    const struct key key = key_of(search->pair, state);
    struct entry *entry = &search->table[slot_of(search, &key)];
    bool is_equal = entry->time >= 0 && memcmp(&entry->key, &key, sizeof key) == 0;
    if (is_equal && entry->time <= state->time)
        return true;
    *entry = (struct entry){key, state->time};
    return false;
}

static void keep(struct search *search, uint32_t depth, double time)
{
    search->time = time;
    search->best->count = depth;
    memcpy(search->best->chain, search->chosen, depth);
}

/* Makes the states after each choice at a level; those that cannot lead to a shorter order are left out. */
static void open_level(struct search *search, uint32_t depth, const struct ppi_pair_state *state, uint32_t rivals)
{
    struct level *level = &search->levels[depth];
    level->state = *state;
    for (uint8_t k = 0; k < PPI_CHAINS; k++) {
        level->bound[k] = PPI_INFINITE;
        if ((rivals >> k & 1) == 0)
            continue;
        level->after[k] = *state;
        search->chosen[depth] = k;
        level->rivals[k] = ppi_pair_choose(search->pair, &level->after[k], k, NULL);
        double bound = ppi_pair_bound(search->pair, &level->after[k]);
        if (bound >= search->time - search->pair->tolerance)
            continue;
        if (level->rivals[k] == 0)
            keep(search, depth + 1, level->after[k].time);
        else if (!was_met(search, &level->after[k]))
            level->bound[k] = bound;
    }
}

/* The choice at a level that is to be tried next; PPI_CHAINS: none is left. */
static uint8_t next_choice(struct search *search, struct level *level)
{
    uint8_t best = 0;
    for (uint8_t k = 1; k < PPI_CHAINS; k++)
        if (level->bound[k] < level->bound[best])
            best = k;
    bool leads_on = level->bound[best] < search->time - search->pair->tolerance;
    level->bound[best] = PPI_INFINITE;
    return leads_on ? best : PPI_CHAINS;
}

static void go_through(struct search *search, const struct ppi_pair_state *state, uint32_t rivals)
{
    uint32_t depth = 0;
    open_level(search, depth, state, rivals);
    for (;;) {
        struct level *level = &search->levels[depth];
        uint8_t choice = next_choice(search, level);
        if (choice == PPI_CHAINS && depth == 0)
            return;
        if (choice == PPI_CHAINS) {
            depth--;
            continue;
        }
        search->stopped = search->steps-- == 0;
        if (search->stopped)
            return;
        search->chosen[depth++] = choice;
        open_level(search, depth, &level->after[choice], level->rivals[choice]);
    }
}

static ppsched_status take_search(struct search *search, struct ppi_arena *arena, ppsched_error *error)
{
    const struct ppi_pair *pair = search->pair;
    uint32_t size = pair->total <= PPSCHED_EXACT_WINDOWS / 2 ? SMALL_TABLE : TABLE;
    search->mask = size - 1;
    search->table = ppi_arena_take(arena, size, sizeof *search->table);
    search->levels = ppi_arena_take(arena, (size_t)pair->total + 1, sizeof *search->levels);
    search->chosen = ppi_arena_take(arena, (size_t)pair->total + 1, 1);
    for (uint32_t i = 0; i < size && search->table != NULL; i++)
        search->table[i].time = -1;
    return ppi_arena_check(arena, "the search for an order of windows", error);
}

ppsched_status ppi_pair_search(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices,
                               struct ppi_pair_answer *answer, ppsched_error *error)
{
    struct search search = {.pair = pair, .best = choices};
    struct ppi_pair_state state = {0};
    const uint32_t rivals = ppi_pair_go_on(pair, &state, NULL);
    choices->count = 0;
    *answer = (struct ppi_pair_answer){state.time, true};
    if (rivals == 0)
        return PPSCHED_OK;
    ppsched_status status = ppi_pair_beam(pair, arena, choices, answer, error);
    if (status != PPSCHED_OK || answer->is_best)
        return status;
    status = take_search(&search, arena, error);
    if (status != PPSCHED_OK)
        return status;
    search.time = answer->time;
    search.steps = pair->total <= PPSCHED_EXACT_WINDOWS ? UINT64_MAX : MOST_STEPS;
    go_through(&search, &state, rivals);
    *answer = (struct ppi_pair_answer){search.time, !search.stopped};
    return PPSCHED_OK;
}
