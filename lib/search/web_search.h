/* SPDX-License-Identifier: Apache-2.0 */
/* The search for orders of a problem with a stage graph, on any placement: list schedules, then late acceptance over orders of
 * all tasks, then branch and bound where tasks are few. */
#ifndef PPSCHED_SEARCH_WEB_SEARCH_H
#define PPSCHED_SEARCH_WEB_SEARCH_H

#include "bound/web.h"
#include "ir/progress.h"

/* Tasks placed one after another: each starts as early as its devices, its inputs and those before it allow. Rows are the state
 * before the task at a position: clocks and held memory by device. */
struct ppi_web_line {
    uint32_t *task, *position; /* by position, and by task */
    double *end;               /* by task */
    double *clock, *level;     /* (count + 1) rows; one row where `keeps_rows` is false */
    double makespan, cost;
};

struct ppi_web_search {
    const struct ppi_web *web;
    struct ppi_arena *arena;
    struct ppi_poll *poll;
    struct ppi_web_line best;  /* cost infinite: none */
    struct ppi_web_line tried; /* work space of the local search: the present order, */
    struct ppi_web_line next;  /* and the changed one */
    bool keeps_rows, is_proved;
    double bound;  /* with rounding: an order that reaches it is the best */
    double visits; /* of tasks, that may still be made */
    uint32_t *room, *ready;
    double *history;
    uint64_t seed;
};

/* `bound`: a lower bound of the makespan. In the caller's arena. */
ppsched_status ppi_web_search_make(struct ppi_web_search *out, const struct ppi_web *web, double bound, double visits,
                                   struct ppi_arena *arena, struct ppi_poll *poll, ppsched_error *error);

/* List schedules by several rules. */
ppsched_status ppi_web_list(struct ppi_web_search *search, ppsched_error *error);

/* Late acceptance hill climbing from the best order, for a share of the visits. */
ppsched_status ppi_web_climb(struct ppi_web_search *search, double share, ppsched_error *error);

/* From the best order on, with all visits: the least time of a repetition, if devices repeat their tasks. This time is then the
 * `makespan` of the best. For forwards alone, where memory does not depend on the order. */
ppsched_status ppi_web_repeat(struct ppi_web_search *search, ppsched_error *error);

/* The places from `*low` to `*high` that a task may have. */
void ppi_web_find_room(const struct ppi_web *web, const struct ppi_web_line *line, uint32_t t, uint32_t *low, uint32_t *high);

/* Moves a task from a place to another. */
void ppi_web_move(struct ppi_web_line *line, uint32_t from, uint32_t to);

/* All orders that may be shorter, while visits are left; `is_proved` if there was time for all. */
ppsched_status ppi_web_prove(struct ppi_web_search *search, ppsched_error *error);

/* Places the tasks of a line from a position on; false if memory does not allow it, or the cost comes to more than `most`. */
bool ppi_web_place(struct ppi_web_search *search, struct ppi_web_line *line, uint32_t from, double most);

/* Keeps a line if it is better than the best. */
void ppi_web_keep(struct ppi_web_search *search, const struct ppi_web_line *line);

static inline bool ppi_web_goes_on(const struct ppi_web_search *search)
{
    return search->best.makespan > search->bound && !search->is_proved;
}

static inline uint32_t ppi_web_random(struct ppi_web_search *search, uint32_t below)
{
    search->seed ^= search->seed << 13;
    search->seed ^= search->seed >> 7;
    search->seed ^= search->seed << 17;
    return (uint32_t)((search->seed >> 32) * below >> 32);
}

#endif
