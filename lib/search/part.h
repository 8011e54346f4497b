/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of an order in which each device runs the same number of whole microbatches. Repeated, such a part makes an order of
 * more microbatches; taken out, one of fewer. */
#ifndef PPSCHED_SEARCH_PART_H
#define PPSCHED_SEARCH_PART_H

#include "search/price.h"

struct ppi_part {
    uint32_t block;    /* microbatches */
    double period;     /* no less than it takes per microbatch, if it is repeated often; of ppi_parts_find */
    size_t *from, *to; /* by device: places in its queue */
};

enum { PPI_PARTS = 6 };

struct ppi_part_list {
    uint32_t count;
    struct ppi_part part[PPI_PARTS]; /* the shortest periods first */
};

/* The parts with the shortest periods of an order that the pricer holds with its times, among those of up to twice as many
 * microbatches as there are devices, which divide `more`. What `out` points to is the arena's. Errors: NO_MEMORY. */
ppsched_status ppi_parts_find(struct ppi_part_list *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                              const struct ppi_orders *orders, const struct ppi_pricer *pricer, uint32_t more,
                              ppsched_error *error);

/* Writes the order with a part that is repeated for `more` microbatches, a multiple of its block. */
void ppi_part_repeat(const struct ppi_part *part, const struct ppi_orders *orders, struct ppi_orders *out, uint32_t more);

/* How many of `count` spans, in order, start before a time: the place of the first that starts then or later. */
size_t ppi_started_before(const ppsched_span *spans, size_t count, double time);

/* Counts the ops of some whole microbatches in a device's queue; `counts`: 3 numbers for each stage, zeroed by
 * ppi_window_start. */
struct ppi_window {
    const struct ppi_problem *problem;
    uint32_t *counts;
    uint32_t block, units, wrong; /* wrong: counts that differ from the block; units: passes of a kind, of which B is two */
};

/* The least number of microbatches, up to `most`, that a device runs in the middle of its queue so that they are whole there; 1
 * if there is none. */
uint32_t ppi_part_least(struct ppi_window *window, const struct ppi_orders *orders, uint32_t device, uint32_t most);

/* Writes the order without `window->block` microbatches in its middle, into one for a problem with so many fewer. False where
 * a device has no such part, or runs its microbatches in another order. */
bool ppi_part_take_out(struct ppi_window *window, const struct ppi_orders *orders, struct ppi_orders *out);

#endif
