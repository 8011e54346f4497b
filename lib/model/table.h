/* SPDX-License-Identifier: Apache-2.0 */
/* Measured costs in a model: what stands in the place of its formulas. */
#ifndef PPSCHED_MODEL_TABLE_H
#define PPSCHED_MODEL_TABLE_H

#include <ppsched/layer_table.h>

#include "model/links.h"

/* Figures of a row: the passes by their numbers, then bytes. */
enum {
    PPI_MEASURED_KEPT = PPI_MODEL_PASSES,
    PPI_MEASURED_STATES,
    PPI_MEASURED_KEPT_AGAIN,
    PPI_MEASURED_FIGURES = PPI_MEASURED_KEPT_AGAIN + 3
};

/* `value`: measured or scaled; with `has_value` it stands for itself, else the predicted figure times `factor` does. */
struct ppi_measured {
    double value, factor;
    int32_t source;
    bool has_value;
};

/* How far apart two sizes are: the larger one over the other. */
static inline double ppi_size_ratio(double a, double b)
{
    return a > b ? a / b : b / a;
}

/* Of one row of the model. */
struct ppi_row_measures {
    struct ppi_measured figures[PPI_MEASURED_FIGURES];
};

/* Checks a table for a model. */
ppsched_status ppi_check_table(const ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error);

/* Checks the table, and looks up all rows of a complete model. */
ppsched_status ppi_model_measure(ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error);

/* Put measured figures in the place of predicted ones, of a row with measures. */
void ppi_measured_pass(ppsched_pass_cost *cost, const ppsched_model *model, uint32_t row, int32_t pass);
void ppi_measured_memory(ppsched_layer_memory *memory, const ppsched_model *model, uint32_t row);

void ppi_describe_measure(ppsched_row_measure *out, const ppsched_model *model, uint32_t row);

/* --- collectives --- */

/* Checks, copies and sorts measured collectives. */
ppsched_status ppi_model_take_collectives(ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error);

/* Seconds of a collective whose predicted time is given. */
double ppi_measured_collective(const ppsched_model *model, struct ppi_spread group, enum ppi_collective collective,
                               double bytes, double predicted);

/* The link between neighbours of a pipeline in a job of so many devices. */
void ppi_model_link(double *latency, double *bandwidth, const ppsched_model *model, double devices);

#endif
