/* SPDX-License-Identifier: Apache-2.0 */
/* Measured costs in a search of layouts. A row that leaves a size open holds for all its values, so it must not be one in which
 * the layouts differ: the same time for any micro-batch would make large ones free. */
#include "model/table.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "job/job.h"

enum { SIZES = 5, LONGEST = 128 };

static const char *copy_text(struct ppi_arena *arena, const char *text)
{
    size_t length = text != NULL ? strlen(text) + 1 : 0;
    char *copy = text != NULL ? ppi_arena_take(arena, length, 1) : NULL;
    return copy != NULL ? memcpy(copy, text, length) : NULL;
}

ppsched_status ppi_job_take_table(ppsched_job *job, const ppsched_layer_table *table, ppsched_error *error)
{
    struct ppi_arena *arena = &job->arena;
    ppsched_measured_layer *layers = ppi_arena_take(arena, table->layer_count, sizeof *layers);
    ppsched_measured_collective *collectives = ppi_arena_take(arena, table->collective_count, sizeof *collectives);
    for (uint32_t i = 0; i < table->layer_count && layers != NULL; i++) {
        layers[i] = table->layers[i];
        layers[i].kind = copy_text(arena, layers[i].kind);
        layers[i].recompute = copy_text(arena, layers[i].recompute);
    }
    for (uint32_t i = 0; i < table->collective_count && collectives != NULL; i++)
        collectives[i] = table->collectives[i];
    job->table = *table;
    job->table.layers = layers;
    job->table.collectives = collectives;
    return ppi_arena_check(arena, "the layer table", error);
}

const ppsched_layer_table *ppi_job_table(const ppsched_job *job)
{
    return job->table.layer_count + job->table.collective_count > 0 ? &job->table : NULL;
}

/* --- sizes that are open --- */

static void put_searched(uint32_t *sizes, const ppsched_job_layout *layout)
{
    sizes[0] = layout->tensor_parallel;
    sizes[1] = layout->context_parallel;
    sizes[2] = layout->micro_batch_size;
    sizes[3] = layout->expert_parallel;
    sizes[4] = layout->expert_tensor_parallel;
}

/* The row of the base model that a measured layer is of; NULL: it is not used. */
static const struct ppi_model_row *row_of(const ppsched_job *job, const ppsched_measured_layer *own)
{
    for (uint32_t row = 0; row < job->base->row_count; row++)
        if (strcmp(job->base->rows[row].name, own->kind) == 0)
            return &job->base->rows[row];
    return NULL;
}

/* Figures of nothing hold for all sizes. */
static bool has_costs(const ppsched_measured_layer *own)
{
    return own->forward_time > 0 || own->backward_input_time > 0 || own->backward_weight_time > 0 || own->mem_forward > 0 ||
           own->mem_static > 0;
}

static ppsched_status check_row(const ppsched_job *job, uint32_t number, const bool *differs, ppsched_error *error)
{
    static const char *const names[SIZES] = {"tensor_parallel", "context_parallel", "micro_batch_size", "expert_parallel",
                                             "expert_tensor_parallel"};
    const ppsched_measured_layer *own = &job->table.layers[number];
    const struct ppi_model_row *row = row_of(job, own);
    if (row == NULL || !has_costs(own))
        return PPSCHED_OK;
    bool has_experts = row->kind != NULL && ppi_model_experts_of(row->kind) != NULL;
    const uint32_t sizes[SIZES] = {own->tensor_parallel, own->context_parallel, own->micro_batch_size, own->expert_parallel,
                                   own->expert_tensor_parallel};
    char text[LONGEST] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < (has_experts ? SIZES : 3u); i++)
        if (sizes[i] == 0 && differs[i]) {
            ppi_print(text + used, sizeof text - used, "%s%s", used > 0 ? ", " : "", names[i]);
            used = strlen(text);
        }
    if (used == 0)
        return PPSCHED_OK;
    return ppi_fail(
        error, PPSCHED_ERROR_RANGE,
        "row %u of the layer table holds for any %s, in which layouts differ; fill in what was measured, or give one "
        "value for all layouts",
        number, text);
}

ppsched_status ppi_job_check_open_sizes(const ppsched_job *job, ppsched_error *error)
{
    uint32_t first[SIZES], own[SIZES];
    bool differs[SIZES] = {false};
    ppsched_status status = PPSCHED_OK;
    if (job->table.layer_count == 0)
        return PPSCHED_OK;
    put_searched(first, &job->entries[0].layout);
    for (uint32_t i = 1; i < job->count; i++) {
        put_searched(own, &job->entries[i].layout);
        for (int size = 0; size < SIZES; size++)
            differs[size] |= own[size] != first[size];
    }
    for (uint32_t i = 0; i < job->table.layer_count && status == PPSCHED_OK; i++)
        status = check_row(job, i, differs, error);
    return status;
}
