/* SPDX-License-Identifier: Apache-2.0 */
/* Times of work on a device: amounts over rates, by the efficiency for their size. */
#ifndef PPSCHED_MODEL_RATES_H
#define PPSCHED_MODEL_RATES_H

#include "model/blocks.h"

/* A factor that is not given, which is 0, means 1. */
static inline double ppi_or_1(double value)
{
    return value > 0 ? value : 1;
}

/* Linear layers run in the precision of the training, scores in 16 bits or with ATTENTION_8BIT in 8. */
double ppi_matrix_time(const ppsched_model *model, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass);

/* Bytes read and written to bring factors into 8 or 4 bits; 0 in 16. */
double ppi_quantization_bytes(const ppsched_model *model, const struct ppi_layer_pass *pass);

/* Seconds of one op, one after another. `sent`: of its collective, with the vector and memory work of a reducing one. */
struct ppi_op_times {
    double matrix, vector, memory, sent;
    bool is_any; /* it has any work, and is launched */
};

struct ppi_op_times ppi_op_times(const ppsched_model *model, const struct ppi_op_cost *op, const struct ppi_layer_pass *pass);

double ppi_vector_time(const ppsched_model *model, double operations);
double ppi_memory_time(const ppsched_model *model, double bytes);

#endif
