/* SPDX-License-Identifier: Apache-2.0 */
/* Puts measured figures in the place of those of the cost model. */
#include "model/table.h"

static double apply(const struct ppi_measured *own, double predicted)
{
    return own->has_value ? own->value : own->factor > 0 ? own->factor * predicted : predicted;
}

/* The parts of the time stay in proportion; a time that the cost model does not expect counts as that of launches. */
void ppi_measured_pass(ppsched_pass_cost *cost, const ppsched_model *model, uint32_t row, int32_t pass)
{
    double time = apply(&model->measures[row].figures[pass], cost->time), scale = cost->time > 0 ? time / cost->time : 1;
    double *const parts[] = {&cost->matrix_time, &cost->vector_time,  &cost->memory_time, &cost->communication_time,
                             &cost->tensor_time, &cost->context_time, &cost->expert_time, &cost->launch_time};
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        *parts[i] *= scale;
    if (cost->time == 0)
        cost->launch_time = time;
    cost->time = time;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

void ppi_measured_memory(ppsched_layer_memory *memory, const ppsched_model *model, uint32_t row)
{
    const struct ppi_measured *figures = model->measures[row].figures, *again = figures + PPI_MEASURED_KEPT_AGAIN,
                              *states = &figures[PPI_MEASURED_STATES];
    double kept = apply(&figures[PPI_MEASURED_KEPT], memory->activations),
           share = memory->activations > 0 ? kept / memory->activations : 1;
    memory->activations = kept;
    memory->activations_until_weight *= share;
    memory->selective = least(apply(&again[0], memory->selective), kept);
    memory->full = least(apply(&again[1], memory->full), kept);
    memory->modules = least(apply(&again[2], memory->modules), kept);
    memory->weights = apply(states, memory->weights);
    memory->gradients = apply(states, memory->gradients);
    memory->optimizer = apply(states, memory->optimizer);
}

static ppsched_figure_measure describe(const struct ppi_measured *own)
{
    return (ppsched_figure_measure){.source = own->source, .factor = own->factor > 0 ? own->factor : own->has_value ? 0 : 1};
}

void ppi_describe_measure(ppsched_row_measure *out, const ppsched_model *model, uint32_t row)
{
    const struct ppi_row_measures none = {0}, *own = model->measures != NULL ? &model->measures[row] : &none;
    const struct ppi_measured *figures = own->figures;
    *out = (ppsched_row_measure){.size = sizeof *out,
                                 .forward = describe(&figures[PPSCHED_MODEL_PASS_FORWARD]),
                                 .input = describe(&figures[PPSCHED_MODEL_PASS_INPUT]),
                                 .weight = describe(&figures[PPSCHED_MODEL_PASS_WEIGHT]),
                                 .mem_forward = describe(&figures[PPI_MEASURED_KEPT]),
                                 .mem_static = describe(&figures[PPI_MEASURED_STATES]),
                                 .selective = describe(&figures[PPSCHED_MODEL_PASS_SELECTIVE]),
                                 .full = describe(&figures[PPSCHED_MODEL_PASS_FULL]),
                                 .modules = describe(&figures[PPSCHED_MODEL_PASS_MODULES])};
}
