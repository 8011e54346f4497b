/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of numbers that describe a problem: one table has what there is to know of each. */
#ifndef PPSCHED_IR_QUANTITY_H
#define PPSCHED_IR_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/shape.h"

/* The last number that a quantity may have: there is room for topics up to number 7. */
enum { PPI_LAST_QUANTITY = 8 * 16 - 1 };

/* The last number of a type of devices. */
enum { PPI_MOST_TYPES = 255 };

/* What a list belongs to. It decides what becomes of the list in another number of stages. */
enum ppi_owner {
    PPI_OF_RUN = 1,      /* devices, microbatches, slices or kinds of op: the list stays */
    PPI_OF_PASS,         /* stages, by a rule of its own in candidate/restage.c */
    PPI_OF_PARAMETERS,   /* these, and activations, are divided or added up */
    PPI_OF_ACTIVATIONS,  /* all but parameters grow with the microbatch */
    PPI_OF_FIRST_BORDER, /* what enters or leaves a stage at its first layer */
    PPI_OF_LAST_BORDER,  /* or at its last */
    PPI_OF_OPS           /* the op that runs: that of the largest */
};

/* A list as it was set; `values` is NULL for the default, and `count` then 0. A single value is for all indices. */
struct ppi_values {
    double *values;
    size_t count;
};

/* The value for an index; the list must be set. */
static inline double ppi_value_at(const struct ppi_values *list, size_t index)
{
    return list->values[list->count == 1 ? 0 : index];
}

/* Whether a list has a value for each device, or for each pair of devices. */
bool ppi_quantity_is_by_device(int32_t quantity);
bool ppi_quantity_is_by_device_pair(int32_t quantity);

bool ppi_quantity_known(int32_t quantity);
const char *ppi_quantity_name(int32_t quantity);
enum ppi_owner ppi_quantity_owner(int32_t quantity); /* 0 for a number that no quantity has */

/* Checks a list's length and its values. */
ppsched_status ppi_quantity_check(int32_t quantity, const struct ppi_shape *shape, const double *values, size_t count,
                                  ppsched_error *error);

#endif
