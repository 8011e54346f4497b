/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a table of measured layers against a model. */
#include "model/table.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

enum { MOST_ROWS = 65536, MOST_NAMED = 5, MOST_NUMBERS = 5 };

static const double most_seconds = 1e9, most_bytes = 1e18;

static ppsched_status check_layer(const ppsched_measured_layer *own, uint32_t number, ppsched_error *error)
{
    const struct {
        const char *name;
        double value, most;
    } list[MOST_NUMBERS] = {{"forward_time", own->forward_time, most_seconds},
                            {"backward_input_time", own->backward_input_time, most_seconds},
                            {"backward_weight_time", own->backward_weight_time, most_seconds},
                            {"mem_forward", own->mem_forward, most_bytes},
                            {"mem_static", own->mem_static, most_bytes}};
    bool is_known = own->recompute == NULL || strcmp(own->recompute, "none") == 0;
    if (own->kind == NULL)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "row %u of the layer table: kind is NULL; it must be a layer of the model",
                        number);
    for (int32_t pass = PPSCHED_MODEL_PASS_SELECTIVE; pass < PPI_MODEL_PASSES && !is_known; pass++)
        is_known = strcmp(own->recompute, ppi_model_passes[pass]) == 0;
    if (!is_known)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "row %u of the layer table: recompute is %q; it must be none, selective, full or modules", number,
                        own->recompute);
    for (int i = 0; i < MOST_NUMBERS; i++)
        if (!(list[i].value < 0) && !(list[i].value <= list[i].most))
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "row %u of the layer table: %s is %g; it must be 0 to %g, or below 0 where it was not measured",
                            number, list[i].name, list[i].value, list[i].most);
    return PPSCHED_OK;
}

static bool has_kind(const ppsched_layer_table *table, uint32_t count, const char *kind)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(table->layers[i].kind, kind) == 0)
            return true;
    return false;
}

/* Names the first kinds of the table. */
static ppsched_status refuse_kind(const ppsched_layer_table *table, const char *kind, ppsched_error *error)
{
    char text[200] = "";
    size_t used = 0;
    uint32_t named = 0;
    for (uint32_t i = 0; i < table->layer_count && named < MOST_NAMED; i++) {
        const char *own = table->layers[i].kind;
        size_t length = strlen(own);
        if (has_kind(table, i, own) || used + length + sizeof ", " > sizeof text)
            continue;
        if (named > 0) {
            memcpy(text + used, ", ", sizeof ", ");
            used += strlen(", ");
        }
        memcpy(text + used, own, length + 1);
        used += length;
        named++;
    }
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "the layer table has no row of the kind %q; it has %s", kind, text);
}

ppsched_status ppi_check_table(const ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (table->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_layer_table: reserved is not 0");
    if ((table->layer_count > 0 && table->layers == NULL) || (table->collective_count > 0 && table->collectives == NULL))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_layer_table: a list is NULL, and its count is not 0");
    if (table->layer_count > MOST_ROWS || table->collective_count > MOST_ROWS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the layer table has %u layer%p and %u collectives; at most %d each",
                        table->layer_count, table->collective_count, MOST_ROWS);
    if (!model->has_device)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "a layer table needs an accelerator, by which its gaps are filled");
    for (uint32_t i = 0; i < table->layer_count && status == PPSCHED_OK; i++)
        status = check_layer(&table->layers[i], i, error);
    for (uint32_t row = 0; row < model->row_count && status == PPSCHED_OK && table->layer_count > 0; row++)
        if (model->rows[row].role == PPSCHED_MODEL_ROLE_DECODER && !has_kind(table, table->layer_count, model->rows[row].name))
            status = refuse_kind(table, model->rows[row].name, error);
    return status;
}
