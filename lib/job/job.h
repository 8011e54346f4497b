/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of a job: listed, bounded, priced and ranked. */
#ifndef PPSCHED_JOB_JOB_H
#define PPSCHED_JOB_JOB_H

#include <ppsched/job.h>

#include "price/price.h"

enum { PPI_JOB_DIMENSIONS = PPSCHED_JOB_DIMENSION_RANK_ORDER + 1, PPI_JOB_STRATEGIES = 64 };

/* Values to try of a dimension; none are given: `count` is 0. */
struct ppi_job_values {
    const uint32_t *values;
    uint32_t count;
};

/* Devices of a type. */
struct ppi_job_type {
    ppsched_model *base;
    uint32_t gpus;
    double limit; /* bytes of a device */
};

struct ppi_job_entry {
    ppsched_job_layout layout; /* with its bounds */
    uint32_t place;            /* in the order of the list */
    uint32_t runs_on;
    double step_time, memory; /* once priced */
};

struct ppsched_job {
    struct ppi_host host;
    struct ppi_arena arena; /* the values, on `host` of the job itself */
    ppsched_model *base;    /* holds the description and the device, the first of several types */
    struct ppi_job_type types[PPI_MOST_PIPELINE_TYPES];
    uint32_t type_count;       /* 0: devices are alike */
    ppsched_layer_table table; /* in `arena`; without rows there is none */
    ppsched_training training;
    struct ppi_job_values values[PPI_JOB_DIMENSIONS];
    const char *strategies[PPI_JOB_STRATEGIES];
    uint32_t strategy_count, gpus, top, batch; /* batch: if no list is given */
    int32_t goal, runtime;
    double limit;
    ppsched_progress_function progress;
    void *progress_user;
    struct ppi_job_entry *entries; /* by number */
    uint32_t count, capacity;
    uint32_t *best; /* numbers, by rank */
    uint32_t best_count;
    bool has_run, has_usual_strategies;
};

ppsched_status ppi_job_create(ppsched_job **out, const ppsched_description *description, const ppsched_training *training,
                              const ppsched_accelerator *device, const ppsched_job_options *options,
                              const struct ppi_host *host, ppsched_error *error);
void ppi_job_destroy(ppsched_job *job);

/* Lists all layouts with their bounds. RANGE where there is none. */
ppsched_status ppi_job_list(ppsched_job *job, ppsched_error *error);

/* What ranks: seconds, or with the goal TOKENS seconds of a sequence. */
double ppi_job_key(const ppsched_job *job, const ppsched_job_layout *layout, double seconds);

/* The training of a layout. */
ppsched_training ppi_job_training(const ppsched_job *job, const ppsched_job_layout *layout);

/* --- measured costs --- */

/* Copies a checked table into the job. */
ppsched_status ppi_job_take_table(ppsched_job *job, const ppsched_layer_table *table, ppsched_error *error);

/* The table of the job; NULL: there is none. */
const ppsched_layer_table *ppi_job_table(const ppsched_job *job);

/* Refuses rows that leave a size open in which the listed layouts differ. */
ppsched_status ppi_job_check_open_sizes(const ppsched_job *job, ppsched_error *error);

/* --- types of devices --- */

/* What layers cost on the devices of each type; on alike devices on the first. */
struct ppi_job_costs {
    uint32_t count;
    ppsched_model *models[PPI_MOST_PIPELINE_TYPES];
    struct ppi_priced_model made[PPI_MOST_PIPELINE_TYPES];
    struct ppi_pipeline_types types;
};

ppsched_status ppi_job_take_types(ppsched_job *job, const ppsched_description *description, const ppsched_training *alone,
                                  const ppsched_job_options *options, ppsched_error *error);

/* How many orders of the types are tried: all of up to three, else the given one. */
uint32_t ppi_job_type_orders(const ppsched_job *job);

/* Sets the types of the devices of a layout's pipeline, in its order. NULL: they are alike. */
const struct ppi_pipeline_types *ppi_job_put_types(struct ppi_job_costs *costs, const ppsched_job *job,
                                                   const ppsched_job_layout *layout);

/* Whether the devices of each type make whole devices of a pipeline, of `each` devices. */
bool ppi_job_types_divide(const ppsched_job *job, uint32_t each);

/* Why types leave no layout: how many devices a device of a pipeline may have at most. */
ppsched_status ppi_job_tell_types(const ppsched_job *job, ppsched_error *error);

/* Makes the costs of a layout. Not possible: the model cannot be divided so, and `error` says why. They are cleared also after
 * an error. */
ppsched_status ppi_job_costs_make(struct ppi_job_costs *costs, const ppsched_job *job, const ppsched_job_layout *layout,
                                  bool *is_possible, ppsched_error *error);
void ppi_job_costs_clear(struct ppi_job_costs *costs);

/* Changes the data parallelism, or the sharding. */
void ppi_job_costs_share(struct ppi_job_costs *costs, uint32_t data_parallel);
void ppi_job_costs_shard(struct ppi_job_costs *costs, uint32_t sharding);

/* --- splits --- */

/* BALANCED_V: where the devices of the last stages are those of the first, in reverse. */
enum ppi_job_split { PPI_JOB_EVEN, PPI_JOB_BALANCED, PPI_JOB_BALANCED_V, PPI_JOB_SPLITS };

/* The device of a stage; is_v: of a V of two chunks. */
static inline uint32_t ppi_job_device_of(uint32_t stage, uint32_t devices, bool is_v)
{
    return is_v && stage >= devices ? 2 * devices - 1 - stage : stage % devices;
}

/* Layers of each of `stages` stages: equally many decoders, or about equal times on the types of `devices` devices; types may
 * be NULL. False where there is no such split. */
bool ppi_job_divide(uint32_t *counts, const ppsched_layers *layers, const struct ppi_pipeline_types *types, uint32_t devices,
                    uint32_t stages, enum ppi_job_split split);

/* --- bounds --- */

/* What bounds depend on of the strategies that may run: backwards in two parts, so that the gradients of weights come last; a
 * search, which may have fewer microbatches under way than a rule. */
struct ppi_job_traits {
    bool splits_backward, searches;
};

/* A pipeline's bounds: of its time with any of the strategies, and of the memory of the device that lacks most, beside which is
 * its limit. */
struct ppi_job_bound {
    double time, memory, limit;
};

/* Bounds of a split without recomputation on its time, and with all of it on its memory. limit: of alike devices. NO_MEMORY. */
ppsched_status ppi_job_bound(struct ppi_job_bound *out, const struct ppi_priced_model *made,
                             const struct ppi_pipeline_types *types, double limit, const ppsched_pipeline *pipeline,
                             struct ppi_job_traits traits, ppsched_error *error);

/* Bytes of what a device receives and sends: one tensor each for both directions, at the boundary that has the most. */
double ppi_job_buffers(const struct ppi_priced_model *made, uint32_t devices);

/* --- prices --- */

/* The strategy at a place of the job's list, or NULL where it does not apply to these sizes. */
const char *ppi_job_strategy(const ppsched_job *job, uint32_t place, const ppsched_job_layout *layout,
                             struct ppi_job_traits *traits);

ppsched_status ppi_job_price(ppsched_price **out, ppsched_job_found *found, const ppsched_job *job, uint32_t layout,
                             double above, ppsched_error *error);

/* Why a runtime does not support the parallelism of a layout; NULL: it does. */
const char *ppi_job_unsupported(const ppsched_job *job, int32_t runtime, const ppsched_job_layout *layout);

/* Which runtimes run a priced schedule with its split in a layout. */
ppsched_status ppi_job_ask_runtimes(uint32_t *runs_on, const ppsched_job *job, const ppsched_job_layout *layout,
                                    const struct ppi_pricing *pricing, ppsched_error *error);

ppsched_status ppi_job_run(ppsched_job *job, ppsched_error *error);

#endif
