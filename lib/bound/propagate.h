/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from a deadline about the times and the orders of ops.
 *
 * Microbatches are alike, so the ops of a stage and a kind run in the order of microbatches: they are a row. For an op and
 * another row of its device it is then enough to know how many ops of the row come before it, at least and at most. From these
 * numbers, the earliest starts and the latest ends follow each other. */
#ifndef PPSCHED_BOUND_PROPAGATE_H
#define PPSCHED_BOUND_PROPAGATE_H

#include <stdbool.h>

#include "bound/problem.h"

/* Measured: docs/performance.md. */
enum {
    PPI_MOST_REFUTED_OPS = 512,
    PPI_MOST_REFUTED_ROWS = 24, /* of a device */
};

/* The ops of a stage and a kind. */
struct ppi_op_row {
    uint32_t device, place, before; /* place: among the rows of the device; before: the row it waits for, or PPSCHED_NONE */
    double length, delay;           /* delay: after the row before */
    double memory;                  /* change at an op */
};

struct ppi_op_device {
    uint32_t row[PPI_MOST_REFUTED_ROWS], rows, ops; /* the first row has the device's first op */
    double most;                                    /* memory */
    double span; /* the most from the start of the first op to the end of the last; infinite: no limit */
    uint32_t *order;
};

/* A node of the search: windows of time, and how many ops of each row of the device come before an op. */
struct ppi_windows_of_ops {
    double *earliest, *latest; /* start, end; by op */
    uint16_t *least, *most;    /* by op and row of its device */
};

struct ppi_refutation {
    const struct ppi_problem *problem;
    uint32_t microbatches, rows, ops, width; /* width: the most rows of a device */
    struct ppi_op_row *row;
    struct ppi_op_device *machine;
    struct ppi_windows_of_ops now;
    struct ppi_windows_of_ops saved; /* by depth, one after another */
    bool has_changed, is_dead;
    double tolerance, visits;
    struct ppi_poll *poll;                                         /* or NULL */
    double *failures;                                              /* by two rows, the lower first */
    double start[PPI_MOST_REFUTED_OPS], end[PPI_MOST_REFUTED_OPS]; /* of a device's ops in order: work space */
};

static inline uint32_t ppi_op_at(const struct ppi_refutation *refuting, uint32_t row, uint32_t m)
{
    return row * refuting->microbatches + m;
}

static inline uint16_t *ppi_least_before(struct ppi_refutation *refuting, uint32_t op, uint32_t row)
{
    return &refuting->now.least[(size_t)op * refuting->width + refuting->row[row].place];
}

static inline uint16_t *ppi_most_before(struct ppi_refutation *refuting, uint32_t op, uint32_t row)
{
    return &refuting->now.most[(size_t)op * refuting->width + refuting->row[row].place];
}

static inline double ppi_length_of(const struct ppi_refutation *refuting, uint32_t op)
{
    return refuting->row[op / refuting->microbatches].length;
}

/* Op m of `row` comes before op n of `other`; so do all earlier ones of `row`, before all later ones of `other`. */
void ppi_put_before(struct ppi_refutation *refuting, uint32_t row, uint32_t m, uint32_t other, uint32_t n);

/* Narrows all, until nothing follows any more, the visits are used up or the caller has cancelled; false if the deadline cannot
 * be kept. */
bool ppi_propagate(struct ppi_refutation *refuting);

#endif
