/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by cause: names of the causes, and their sum. */
#include "eval/memory.h"

static const char *const names[PPI_CAUSES] = {[PPSCHED_MEMORY_CAUSE_STATIC] = "static",
                                              [PPSCHED_MEMORY_CAUSE_WEIGHTS] = "weights",
                                              [PPSCHED_MEMORY_CAUSE_OPTIMIZER] = "optimizer",
                                              [PPSCHED_MEMORY_CAUSE_OTHER] = "other",
                                              [PPSCHED_MEMORY_CAUSE_GRADIENTS] = "gradients",
                                              [PPSCHED_MEMORY_CAUSE_GATHERED] = "gathered",
                                              [PPSCHED_MEMORY_CAUSE_SENDS] = "sends",
                                              [PPSCHED_MEMORY_CAUSE_RECEIVES] = "receives",
                                              [PPSCHED_MEMORY_CAUSE_OUTPUTS] = "outputs",
                                              [PPSCHED_MEMORY_CAUSE_WORK] = "work",
                                              [PPSCHED_MEMORY_CAUSE_ACTIVATIONS] = "activations"};

const char *ppi_cause_name(int32_t cause)
{
    return cause >= 0 && cause < PPI_CAUSES ? names[cause] : NULL;
}

double ppi_level_of(const double *by_cause)
{
    double level = 0;
    for (int i = 0; i < PPI_CAUSES; i++)
        level += by_cause[i];
    return level;
}
