/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs on devices of several types: each device of a pipeline is of one type, and the devices of a type are consecutive. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "job/job.h"

enum { MOST_ORDERED = 3 }; /* types whose orders are all tried */

/* --- options --- */

static ppsched_status take_type(ppsched_job *job, const ppsched_job_type *type, const ppsched_description *description,
                                const ppsched_training *alone, const ppsched_job_options *options, ppsched_error *error)
{
    struct ppi_job_type *own = &job->types[job->type_count];
    ppsched_accelerator device;
    if (type->accelerator == NULL || type->gpus == 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "type %u of the devices has no %s", job->type_count,
                        type->accelerator == NULL ? "accelerator" : "devices");
    if (type->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved of type %u is not 0", job->type_count);
    if (!(type->memory_limit >= 0 && ppi_is_finite(type->memory_limit)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "memory_limit of type %u is %g; it must be finite and at least 0",
                        job->type_count, type->memory_limit);
    ppsched_status status = ppi_take_sized(&device, sizeof device, sizeof device, type->accelerator, "ppsched_accelerator",
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_model_create(&own->base, description, alone, &device, NULL, &job->host, error);
    if (status != PPSCHED_OK)
        return status;
    own->gpus = type->gpus;
    own->limit = type->memory_limit > 0      ? type->memory_limit
                 : options->memory_limit > 0 ? options->memory_limit
                                             : device.memory;
    job->type_count++;
    return PPSCHED_OK;
}

ppsched_status ppi_job_take_types(ppsched_job *job, const ppsched_description *description, const ppsched_training *alone,
                                  const ppsched_job_options *options, ppsched_error *error)
{
    uint64_t sum = 0;
    if (options->types == NULL || options->type_count > PPI_MOST_PIPELINE_TYPES)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "types must be a list of at most %d type%p",
                        (int)PPI_MOST_PIPELINE_TYPES);
    if (options->table != NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT,
                        "a layer table has the costs of one type of devices; leave the table or the types out");
    for (uint32_t i = 0; i < options->type_count; i++) {
        ppsched_status status = take_type(job, &options->types[i], description, alone, options, error);
        if (status != PPSCHED_OK)
            return status;
        sum += job->types[i].gpus;
    }
    job->base = job->types[0].base;
    return sum == options->gpus ? PPSCHED_OK
                                : ppi_fail(error, PPSCHED_ERROR_RANGE,
                                           "the types have %llu device%p, and the job has %u; give counts that sum to that",
                                           (unsigned long long)sum, options->gpus);
}

/* --- orders --- */

uint32_t ppi_job_type_orders(const ppsched_job *job)
{
    return job->type_count == 2 ? 2 : job->type_count == MOST_ORDERED ? 6 : 1;
}

const struct ppi_pipeline_types *ppi_job_put_types(struct ppi_job_costs *costs, const ppsched_job *job,
                                                   const ppsched_job_layout *layout)
{
    struct ppi_pipeline_types *types = &costs->types;
    uint32_t left[PPI_MOST_PIPELINE_TYPES], number = layout->type_order, orders = ppi_job_type_orders(job), last = 0;
    if (job->type_count == 0)
        return NULL;
    types->made = costs->made;
    types->count = job->type_count;
    for (uint32_t i = 0; i < job->type_count; i++) {
        left[i] = i;
        types->limits[i] = job->types[i].limit;
    }
    for (uint32_t place = 0; place < job->type_count; place++) { /* in lexicographic order */
        uint32_t rest = job->type_count - place;
        orders = orders > rest ? orders / rest : 1;
        uint32_t chosen = number / orders;
        number %= orders;
        types->order[place] = left[chosen];
        memmove(&left[chosen], &left[chosen + 1], (rest - chosen - 1) * sizeof left[0]);
        last += job->types[types->order[place]].gpus / (job->gpus / layout->pipeline);
        types->last[place] = last;
    }
    return types;
}

bool ppi_job_types_divide(const ppsched_job *job, uint32_t each)
{
    for (uint32_t i = 0; i < job->type_count; i++)
        if (job->types[i].gpus % each != 0)
            return false;
    return true;
}

ppsched_status ppi_job_tell_types(const ppsched_job *job, ppsched_error *error)
{
    uint32_t common = job->types[0].gpus;
    for (uint32_t i = 1; i < job->type_count; i++)
        for (uint32_t other = job->types[i].gpus; other > 0;) {
            uint32_t rest = common % other;
            common = other;
            other = rest;
        }
    return ppi_fail(
        error, PPSCHED_ERROR_RANGE,
        "no layout is possible: each device of a pipeline has devices of one type, here at most %u (what divides the "
        "counts of all types), so a pipeline has at least %u devices; the model has %u decoder%p. Give counts with a "
        "larger common divisor, allow this pipeline, or less tensor or context parallelism",
        common, job->gpus / common, job->base->shape->layer_count);
}
