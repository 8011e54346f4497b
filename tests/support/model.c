/* SPDX-License-Identifier: Apache-2.0 */
/* Models for tests, and their costs by the name of a row. */
#include "support/model.h"

#include <string.h>

static ppsched_status take_description(ppsched_model **out, const ppsched_description *description, ppsched_status status,
                                       const ppsched_training *training, const ppsched_accelerator *device,
                                       ppsched_error *error)
{
    if (status == PPSCHED_OK)
        status = ppsched_model_create(out, description, training, device, NULL, error);
    ppsched_description_release(description);
    return status;
}

ppsched_status model_of_shape(ppsched_model **out, const ppsched_transformer *shape, const ppsched_training *training,
                              const ppsched_accelerator *device, ppsched_error *error)
{
    const ppsched_description *description = NULL;
    ppsched_status status = ppsched_description_from_transformer(&description, shape, NULL, error);
    return take_description(out, description, status, training, device, error);
}

ppsched_status model_of_text(ppsched_model **out, const char *text, const ppsched_training *training,
                             const ppsched_accelerator *device, ppsched_error *error)
{
    const ppsched_description *description = NULL;
    ppsched_status status = ppsched_description_read(&description, text, strlen(text), NULL, error);
    return take_description(out, description, status, training, device, error);
}

ppsched_model_row row_called(const ppsched_model *model, const char *name, uint32_t *number)
{
    ppsched_model_row row = {.size = sizeof row};
    for (uint32_t i = 0; i < ppsched_model_row_count(model); i++) {
        expect_ok(ppsched_model_get_row(&row, model, i, NULL), NULL);
        if (strcmp(row.name, name) != 0)
            continue;
        if (number != NULL)
            *number = i;
        return row;
    }
    fail_msg("the model has no row %s", name);
    return row;
}

ppsched_pass_cost cost_of_row(const ppsched_model *model, const char *name, int32_t pass)
{
    ppsched_pass_cost cost = {.size = sizeof cost};
    uint32_t row = 0;
    row_called(model, name, &row);
    expect_ok(ppsched_model_get_pass_cost(&cost, model, row, pass, NULL), NULL);
    return cost;
}

ppsched_layer_memory memory_of_row(const ppsched_model *model, const char *name)
{
    ppsched_layer_memory memory = {.size = sizeof memory};
    uint32_t row = 0;
    row_called(model, name, &row);
    expect_ok(ppsched_model_get_memory(&memory, model, row, NULL), NULL);
    return memory;
}
