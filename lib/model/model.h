/* SPDX-License-Identifier: Apache-2.0 */
/* A transformer, its training and its device, with all defaults filled in. */
#ifndef PPSCHED_MODEL_MODEL_H
#define PPSCHED_MODEL_MODEL_H

#include <stdbool.h>

#include <ppsched/model.h>

#include "base/host.h"

enum { PPI_MODEL_LAYERS = 5, PPI_MODEL_PASSES = 5 };

/* Once created it is valid, and owns its lists; `device.name` is NULL. */
struct ppsched_model {
    struct ppi_host host;
    ppsched_transformer shape;
    ppsched_training training;
    ppsched_accelerator device; /* all 0 if none was given */
    bool has_device;
};

ppsched_status ppi_model_create(ppsched_model **out, const ppsched_transformer *shape, const ppsched_training *training,
                                const ppsched_accelerator *device, const struct ppi_host *host, ppsched_error *error);
void ppi_model_destroy(ppsched_model *model);

/* Fills in the defaults and checks that all parts are consistent. */
ppsched_status ppi_model_complete(ppsched_model *model, ppsched_error *error);

/* Whether the layer has experts. */
bool ppi_model_has_experts(const ppsched_transformer *shape, uint32_t layer);
uint32_t ppi_model_expert_layers(const ppsched_transformer *shape);

void ppi_model_count(ppsched_parameters *out, const ppsched_model *model);
void ppi_model_price(ppsched_pass_cost *out, const ppsched_model *model, int32_t layer, int32_t pass);
void ppi_model_hold(ppsched_layer_memory *out, const ppsched_model *model, int32_t layer);
void ppi_model_update(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters);
void ppi_model_megatron(ppsched_megatron_memory *out, const ppsched_model *model, const ppsched_megatron_pipeline *pipeline);
ppsched_status ppi_model_layers(const ppsched_layers **out, const ppsched_model *model, const ppsched_calibration *calibration,
                                ppsched_error *error);

#endif
