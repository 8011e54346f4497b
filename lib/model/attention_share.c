/* SPDX-License-Identifier: Apache-2.0 */
/* The share of causal attention in the time of a pass. */
#include "base/checked.h"
#include "model/model.h"

/* What a part of a pass does once and with twice the sequence length, and its time. */
struct part {
    double once, twice, time;
};

/* Seconds of a part that grow with the square of the sequence length. What grows as the length itself does doubles. */
static double growing_time(struct part part)
{
    if (!(part.once > 0))
        return 0;
    double share = (part.twice - 2 * part.once) / (2 * part.once);
    return ppi_smaller(ppi_larger(share, 0), 1) * part.time;
}

double ppi_model_attention_share(const ppsched_model *model, uint32_t row, int32_t pass)
{
    ppsched_model twice = *model;
    ppsched_pass_cost once, longer;
    if (ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL))
        return 0;
    twice.training.sequence_length *= 2;
    ppi_model_price(&once, model, row, pass);
    ppi_model_price(&longer, &twice, row, pass);
    double found = growing_time((struct part){once.matrix_operations, longer.matrix_operations, once.matrix_time});
    found += growing_time((struct part){once.vector_operations, longer.vector_operations, once.vector_time});
    found += growing_time((struct part){once.memory_bytes, longer.memory_bytes, once.memory_time});
    return once.time > 0 ? found / once.time : 0;
}
