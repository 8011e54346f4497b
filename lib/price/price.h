/* SPDX-License-Identifier: Apache-2.0 */
/* A told layout, and what it costs. */
#ifndef PPSCHED_PRICE_PRICE_H
#define PPSCHED_PRICE_PRICE_H

#include <ppsched/price.h>

#include "base/arena.h"
#include "eval/timeline.h"
#include "ir/schedule.h"
#include "ir/layers.h"
#include "model/model.h"

enum { PPI_MOST_PIPELINE_TYPES = 8 };

struct ppsched_price {
    struct ppi_host host;
    ppsched_step_price step;
    ppsched_pipeline pipeline;     /* complete; its texts are static, its split is owned */
    ppsched_device_price *devices; /* of one replica */
    uint32_t device_count;
};

/* What one layer of a row costs. */
struct ppi_row_price {
    ppsched_layer_memory memory;
    double time[PPI_MODEL_PASSES];
    double tensor[PPI_MODEL_PASSES], context[PPI_MODEL_PASSES], expert[PPI_MODEL_PASSES]; /* seconds of exposed collectives */
};

/* A model with the costs of its layers, made once for all its pipelines. */
struct ppi_priced_model {
    struct ppi_arena arena;
    const ppsched_model *model;
    const ppsched_layers *layers;
    struct ppi_row_price *rows;
    uint32_t *row_of;           /* of each layer */
    double learning_operations; /* of the gradients of weights alone */
    double matrix_operations;   /* forward and backward of one microbatch, of all layers */
};

/* Types of the devices of a pipeline, whose devices of a type are consecutive. */
struct ppi_pipeline_types {
    const struct ppi_priced_model *made; /* by type; the layers of the first have the times of all, of type t as type t + 1 */
    uint32_t count;
    uint32_t order[PPI_MOST_PIPELINE_TYPES]; /* the types, from the first device of the pipeline on */
    uint32_t last[PPI_MOST_PIPELINE_TYPES];  /* in this order: the device after the last of each */
    double limits[PPI_MOST_PIPELINE_TYPES];  /* bytes of a device, by type */
    double beside;                           /* bytes of these that a search may not use */
};

/* A stage of the layout. */
struct ppi_priced_stage {
    double parameters, expert_parameters; /* without those of frozen towers */
    double trained, expert_trained;       /* the part of these that learns */
    double weights, gradients, optimizer;
    double largest;                 /* bytes of the weights of its largest layer, not sharded */
    double logits, logit_gradients; /* bytes; 0 without a head */
    double offloaded, copied;       /* bytes of activations that go to the host, and of the largest layer of these */
    double work;                    /* seconds of F, I and W, for one microbatch */
    double tensor, context, expert; /* seconds of exposed collectives, for one microbatch */
    double first_start, first_end;  /* of its first forward */
    double last_start, last_end;    /* of its last backward or weight gradient */
    uint32_t layers;
    bool has_embedding; /* or a copy of it */
};

/* A layout while it is priced. */
struct ppi_pricing {
    struct ppi_arena arena;
    const struct ppi_priced_model *made;
    const struct ppi_pipeline_types *types; /* NULL: devices are alike */
    const ppsched_model *model;             /* of the first type */
    ppsched_pipeline pipeline;              /* complete */
    const ppsched_layers *layers;
    ppsched_split split;
    struct ppi_priced_stage *stages;
    uint32_t stage_count;
    uint32_t *stages_by_device; /* with `first_stages`, once the schedule is made */
    uint32_t *first_stages;     /* where the stages of each device begin; one entry more than devices */
    ppsched_schedule *schedule;
    ppsched_timeline *timeline;
};

/* --- types of devices --- */

/* The type of a device of the pipeline, and what its layers cost; 0 and the only ones where devices are alike. */
uint32_t ppi_pricing_type(const struct ppi_pipeline_types *types, uint32_t device);

/* The same as a type of the layers: 0 where devices are alike. */
uint32_t ppi_pricing_layer_type(const struct ppi_pipeline_types *types, uint32_t device);

const struct ppi_priced_model *ppi_pricing_made(const struct ppi_pricing *pricing, uint32_t device);

/* Gives the layers of the first type the times of all types, of a job of `devices` devices. */
ppsched_status ppi_types_join(struct ppi_priced_model *made, uint32_t count, double devices, ppsched_error *error);

/* Sets the types of devices, and their memory limits without `beside` if there are any. */
ppsched_status ppi_types_set(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error);
ppsched_status ppi_types_set_limits(ppsched_config *config, const struct ppi_pricing *pricing, double beside,
                                    ppsched_error *error);

/* Sets the links between devices of types. */
ppsched_status ppi_types_set_links(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error);

/* --- parts of a price --- */

/* Fills in the split, the kinds of recomputation, and the states of each stage. */
ppsched_status ppi_pricing_lay_out(struct ppi_pricing *pricing, ppsched_error *error);

/* Seconds of work and of exposed collectives of each stage, once the devices of stages are known. */
void ppi_pricing_set_work(struct ppi_pricing *pricing);

/* Makes and evaluates the schedule, and sets the times of each stage. */
ppsched_status ppi_pricing_run(struct ppi_pricing *pricing, ppsched_error *error);

/* Sets the links between the devices of the pipeline. */
ppsched_status ppi_pricing_set_links(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error);

/* The link of two devices of the pipeline: the same. */
void ppi_pricing_link(double *latency, double *rate, const struct ppi_pricing *pricing, uint32_t a, uint32_t b);

/* RANGE for an order that is none, and where experts are not divided as the order of ranks asks. */
ppsched_status ppi_pricing_check_order(const ppsched_model *model, const ppsched_pipeline *pipeline, ppsched_error *error);

/* Moves activations of each stage to the host, as the pipeline says: less memory, and passes that wait for copies. */
ppsched_status ppi_pricing_offload(ppsched_config *config, struct ppi_pricing *pricing, ppsched_error *error);

/* The stages of a device, in their order. */
static inline const uint32_t *ppi_priced_stages(const struct ppi_pricing *pricing, uint32_t device, uint32_t *count)
{
    *count = pricing->first_stages[device + 1] - pricing->first_stages[device];
    return pricing->stages_by_device + pricing->first_stages[device];
}

/* By which factor a pipeline takes longer on so many devices, or on all of the layout, than alone: each waits for the
 * slowest. */
double ppi_slowdown_of(const ppsched_accelerator *device, double devices);
double ppi_pricing_scale(const struct ppi_pricing *pricing);

/* What a step does once for the parameters of a stage, or of several, on a device. */
void ppi_pricing_update(ppsched_update_cost *out, const struct ppi_pricing *pricing, uint32_t device,
                        const struct ppi_priced_stage *sizes);

/* Seconds of data parallelism that are exposed. */
double ppi_pricing_exposed(const struct ppi_pricing *pricing);

/* The row of a name; the last where there is none. */
uint32_t ppi_row_named(const ppsched_model *model, const char *name);

/* Costs of a model's layers, on the model's host. The model outlives them. They are cleared also after an error. */
ppsched_status ppi_priced_model_make(struct ppi_priced_model *out, const ppsched_model *model, ppsched_error *error);
void ppi_priced_model_clear(struct ppi_priced_model *made);

/* Fills in the defaults of a pipeline, and checks its sizes. Its strategy becomes the static name. */
ppsched_status ppi_pipeline_complete(ppsched_pipeline *pipeline, ppsched_error *error);

/* Asked of each priced schedule, with its split; NULL: nothing. */
struct ppi_price_question {
    ppsched_status (*ask)(void *user, const struct ppi_pricing *pricing, ppsched_error *error);
    void *user;
};

/* Prices a complete pipeline. types: NULL if its devices are alike; else `made` is that of the first. */
ppsched_status ppi_price_pipeline(ppsched_price **out, const struct ppi_priced_model *made,
                                  const struct ppi_pipeline_types *types, const ppsched_pipeline *pipeline,
                                  const struct ppi_host *host, const struct ppi_price_question *question, ppsched_error *error);

ppsched_status ppi_price_create(ppsched_price **out, const ppsched_model *model, const ppsched_pipeline *pipeline,
                                const struct ppi_host *host, ppsched_error *error);
void ppi_price_destroy(ppsched_price *price);

#endif
