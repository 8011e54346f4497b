/* SPDX-License-Identifier: Apache-2.0 */
/* Data parallelism of a priced step: when the sums of gradients and the gathers of weights are done, and what the step waits
 * for. */
#include "price/price.h"

static bool has_flag(const struct ppi_pricing *pricing, uint32_t flag)
{
    return (pricing->model->training.flags & flag) != 0;
}

static ppsched_update_cost cost_of(const struct ppi_pricing *pricing, uint32_t device, uint32_t stage)
{
    ppsched_update_cost cost;
    ppi_pricing_update(&cost, pricing, device, &pricing->stages[stage]);
    return cost;
}

/* --- in order of time --- */

/* The stage of a device that comes next after `last` by a time; PPSCHED_NONE: none. Stages of equal times come in their
 * order. */
static uint32_t next_stage(const struct ppi_pricing *pricing, uint32_t device, uint32_t last,
                           double (*time_of)(const struct ppi_priced_stage *))
{
    uint32_t found = PPSCHED_NONE, count;
    const uint32_t *own = ppi_priced_stages(pricing, device, &count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t s = own[i];
        double time = time_of(&pricing->stages[s]);
        bool is_after = last == PPSCHED_NONE || time > time_of(&pricing->stages[last]) ||
                        (time == time_of(&pricing->stages[last]) && s > last);
        if (is_after && (found == PPSCHED_NONE || time < time_of(&pricing->stages[found])))
            found = s;
    }
    return found;
}

static double last_end_of(const struct ppi_priced_stage *stage)
{
    return stage->last_end;
}

static double first_start_of(const struct ppi_priced_stage *stage)
{
    return stage->first_start;
}

static double max(double a, double b)
{
    return a > b ? a : b;
}

/* The last backward of a stage makes the gradients of its layers one after the other; those of its first layer are summed
 * after its end. */
static double gradients_end(const struct ppi_pricing *pricing, uint32_t device)
{
    double end = 0;
    for (uint32_t s = PPSCHED_NONE; (s = next_stage(pricing, device, s, last_end_of)) != PPSCHED_NONE;) {
        const struct ppi_priced_stage *stage = &pricing->stages[s];
        double time = cost_of(pricing, device, s).gradient_time, share = 1.0 / (stage->layers > 0 ? stage->layers : 1);
        if (!has_flag(pricing, PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS)) {
            end = max(end, pricing->timeline->metrics.makespan) + time;
            continue;
        }
        end = max(end, stage->last_start + (stage->last_end - stage->last_start) * share) + time * (1 - share);
        end = max(end, stage->last_end) + time * share;
    }
    return end;
}

/* How much later the forwards of a device come than they would with their weights there. */
static double parameters_wait(const struct ppi_pricing *pricing, uint32_t device)
{
    double end = 0, wait = 0;
    for (uint32_t s = PPSCHED_NONE; (s = next_stage(pricing, device, s, first_start_of)) != PPSCHED_NONE;) {
        const struct ppi_priced_stage *stage = &pricing->stages[s];
        double time = cost_of(pricing, device, s).parameter_time, share = 1.0 / (stage->layers > 0 ? stage->layers : 1);
        end += time;
        if (!has_flag(pricing, PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS))
            wait = end;
        else
            wait = max(wait, max(end - stage->first_end, s == 0 ? time * share : 0));
    }
    return wait;
}

/* With sharded weights: each microbatch gathers and sums; what a device's own work hides is not exposed. */
static double sharded_exposed(const struct ppi_pricing *pricing, uint32_t device)
{
    double gradients = 0, parameters = 0, busy = pricing->timeline->devices[device].busy * pricing->pipeline.reduce_every,
           times = pricing->pipeline.microbatches;
    uint32_t count;
    const uint32_t *own = ppi_priced_stages(pricing, device, &count);
    for (uint32_t i = 0; i < count; i++) {
        ppsched_update_cost cost = cost_of(pricing, device, own[i]);
        gradients += times * cost.gradient_time;
        parameters += times * cost.parameter_time;
    }
    double beside = (has_flag(pricing, PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS) ? gradients : 0) +
                    (has_flag(pricing, PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS) ? parameters : 0);
    return gradients + parameters - (beside < busy ? beside : busy);
}

/* Devices with the embedding or a copy sum its gradients after all others, once a step. */
static double copies_time(const struct ppi_pricing *pricing)
{
    const ppsched_training *training = &pricing->model->training;
    bool is_within = pricing->pipeline.rank_order == PPSCHED_RANK_ORDER_PIPELINE_FIRST;
    double replicas = is_within ? 1 : training->data_parallel, longest = 0; /* those between the devices of a pipeline */
    double span = replicas * training->tensor_parallel * training->context_parallel * pricing->pipeline.devices;
    uint32_t copies = 0;
    if (pricing->pipeline.hides_copies != 0)
        return 0;
    for (uint32_t d = 0; d < pricing->pipeline.devices; d++) {
        uint32_t count, found = 0;
        const uint32_t *own = ppi_priced_stages(pricing, d, &count);
        for (uint32_t i = 0; i < count; i++)
            found |= pricing->stages[own[i]].has_embedding;
        copies += found;
    }
    for (uint32_t i = 0; i < (pricing->types != NULL ? pricing->types->count : 1); i++) {
        const ppsched_model *model = pricing->types != NULL ? pricing->types->made[i].model : pricing->model;
        longest = max(longest, ppi_model_copies_time(model, copies, span));
    }
    return longest;
}

double ppi_pricing_exposed(const struct ppi_pricing *pricing)
{
    double gradients = pricing->timeline->metrics.makespan, parameters = 0, sharded = 0;
    for (uint32_t d = 0; d < pricing->pipeline.devices; d++) {
        if (pricing->model->training.sharding == 3) {
            sharded = max(sharded, sharded_exposed(pricing, d));
            continue;
        }
        gradients = max(gradients, gradients_end(pricing, d));
        parameters = max(parameters, parameters_wait(pricing, d));
    }
    return gradients - pricing->timeline->metrics.makespan + parameters + sharded + copies_time(pricing);
}
