/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of numbers that describe a problem: one table has the length and the range of each. */
#ifndef PPSCHED_IR_QUANTITY_H
#define PPSCHED_IR_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "ir/shape.h"

enum { PPI_LAST_QUANTITY = PPSCHED_QUANTITY_SLICE_SCALE };

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

bool ppi_quantity_known(int32_t quantity);
const char *ppi_quantity_name(int32_t quantity);

/* Checks a list's length and its values. */
ppsched_status ppi_quantity_check(int32_t quantity, const struct ppi_shape *shape, const double *values, size_t count,
                                  ppsched_error *error);

#endif
