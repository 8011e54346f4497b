/* SPDX-License-Identifier: Apache-2.0 */
/* A described model, its training and its device, with all defaults filled in, and the rows that its costs are given by. */
#ifndef PPSCHED_MODEL_MODEL_H
#define PPSCHED_MODEL_MODEL_H

#include <stdbool.h>

#include <ppsched/layer_table.h>
#include <ppsched/model.h>

#include "base/host.h"
#include "description/description.h"

enum { PPI_MODEL_PASSES = 6 };

/* Names of passes. From SELECTIVE on, a pass has the name of its kind of recomputation. */
extern const char *const ppi_model_passes[PPI_MODEL_PASSES];

struct ppi_row_measures;

/* Layers of one cost. */
struct ppi_model_row {
    int32_t role;
    const char *name;
    uint32_t layers;                /* how many there are */
    uint32_t index;                 /* of the kind, or of the tower */
    const ppsched_layer_kind *kind; /* NULL: embedding and head */
    const ppsched_tower *tower;     /* NULL: none */
};

/* Once created it is valid, and owns its lists; `device.name` is NULL. */
struct ppsched_model {
    struct ppi_host host;
    const ppsched_description *description; /* a reference */
    const ppsched_description_info *shape;  /* what it says */
    struct ppi_model_row *rows;             /* towers, embedding, decoders by kind, MTP, head */
    uint32_t row_count;
    ppsched_training training;
    ppsched_accelerator device;               /* all 0 if none was given */
    struct ppi_row_measures *measures;        /* by row: what a table says; NULL: there is none */
    ppsched_measured_collective *collectives; /* sorted; NULL: none were measured */
    uint32_t collective_count;
    bool has_device;
    bool has_activation_bytes; /* they were told, and go over what the precision implies */
};

/* `table` may be NULL. */
ppsched_status ppi_model_create(ppsched_model **out, const ppsched_description *description, const ppsched_training *training,
                                const ppsched_accelerator *device, const ppsched_layer_table *table,
                                const struct ppi_host *host, ppsched_error *error);
void ppi_model_destroy(ppsched_model *model);

/* Fills in the defaults of the training and the device, and checks them. */
ppsched_status ppi_model_complete(ppsched_model *model, ppsched_error *error);

struct ppi_bounded {
    const char *name;
    uint32_t value, least, most;
};

ppsched_status ppi_check_bounds(const struct ppi_bounded *list, size_t count, ppsched_error *error);

/* Checks the numbers of a device. */
ppsched_status ppi_model_check_device(const ppsched_accelerator *device, ppsched_error *error);

/* Checks that the model can be divided as the training says. */
ppsched_status ppi_model_check_division(const ppsched_model *model, ppsched_error *error);

/* Fills in the rows; `rows` has space for all towers and kinds, and three more. */
void ppi_model_list_rows(ppsched_model *model);

bool ppi_model_has_flag(const ppsched_model *model, uint32_t flag);

/* The block with experts of a kind; NULL if it has none. */
const ppsched_block *ppi_model_experts_of(const ppsched_layer_kind *kind);
bool ppi_model_has_experts(const ppsched_model *model);

/* All parameters, those of towers and MTP layers too. */
double ppi_model_total(const ppsched_model *model);

void ppi_model_count(ppsched_parameters *out, const ppsched_model *model);
void ppi_model_describe_row(ppsched_model_row *out, const ppsched_model *model, uint32_t row);
void ppi_model_price(ppsched_pass_cost *out, const ppsched_model *model, uint32_t row, int32_t pass);

/* The part of a pass's time that grows with the square of the sequence length; 0 for models that are not causal. */
double ppi_model_attention_share(const ppsched_model *model, uint32_t row, int32_t pass);

/* All passes of the row, by their numbers: the same figures in less time. */
void ppi_model_price_all(ppsched_pass_cost out[PPI_MODEL_PASSES], const ppsched_model *model, uint32_t row);
void ppi_model_hold(ppsched_layer_memory *out, const ppsched_model *model, uint32_t row);
void ppi_model_update(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters);

/* RANGE for parameters that are below 0 or not finite, and for more in experts than in all. */
ppsched_status ppi_model_check_parameters(double parameters, double expert_parameters, ppsched_error *error);

/* Seconds in which devices of a job sum the gradients of the embedding and its copies, of which each has one. */
double ppi_model_copies_time(const ppsched_model *model, uint32_t copies, double devices);

/* The same where from a replica to the next there are the `between` devices of a pipeline; 1: replicas are neighbours. */
void ppi_model_update_between(ppsched_update_cost *out, const ppsched_model *model, double parameters, double expert_parameters,
                              uint32_t between);
ppsched_status ppi_model_megatron(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error);

/* `all_kinds`: also kinds of recomputation that save no memory. */
ppsched_status ppi_model_layers(const ppsched_layers **out, const ppsched_model *model, const ppsched_calibration *calibration,
                                bool all_kinds, ppsched_error *error);

#endif
