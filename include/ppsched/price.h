/* SPDX-License-Identifier: Apache-2.0 */
/* The price of a layout that is told: the time of a step with its parts, and the memory of each
 * device, for a model and its training (model.h) in a pipeline.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * A step is
 *     the pipeline: the schedule with the times of its layers, evaluated, transfers between
 *     neighbours included
 *   + what of data parallelism is exposed: sums of gradients that are not done when the last
 *     backward ends, and all-gathers of weights that the first forwards wait for
 *   + the optimizer.
 * With OVERLAPS_GRADIENTS a device sums the gradients of a layer once its last backward made
 * them, one stage after the other, in bubbles and while other backwards run. With
 * OVERLAPS_PARAMETERS it gathers the weights of its stages in the order of their first
 * forwards. With sharding 3 each microbatch gathers and sums, hidden by the layers' own work
 * where the flags say so.
 *
 * Sample:
 *     const ppsched_transformer llama = {
 *         .size = sizeof llama,
 *         .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
 *         .layers = 32, .hidden_size = 4096, .heads = 32, .key_value_heads = 8,
 *         .ffn_size = 14336, .vocabulary_size = 128256};
 *     const ppsched_training training = {.size = sizeof training, .sequence_length = 8192};
 *     const ppsched_pipeline pipeline = {
 *         .size = sizeof pipeline, .devices = 4, .microbatches = 32};
 *     const ppsched_description *description = NULL;
 *     ppsched_model *model = NULL;
 *     ppsched_price *price = NULL;
 *     ppsched_step_price step = {.size = sizeof step};
 *     ppsched_status status =
 *         ppsched_description_from_transformer(&description, &llama, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_model_create(&model, description, &training,
 *                                       ppsched_accelerator_at(0), NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_price_create(&price, model, &pipeline, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_price_get_step(&step, price, NULL);
 *     ppsched_price_destroy(price);
 *     ppsched_model_destroy(model);
 *     ppsched_description_release(description);
 */
#ifndef PPSCHED_PRICE_H
#define PPSCHED_PRICE_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/model.h>
#include <ppsched/pair.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pipeline of one replica. Sized: set `size`. */
typedef struct ppsched_pipeline {
    uint32_t size;
    uint32_t devices;      /* p; 0 means 1 */
    uint32_t chunks;       /* stages of each device; 0 means 1 */
    uint32_t microbatches; /* of a replica in a step; 0 means 1 */
    const char *strategy;  /* NULL: "1f1b", with more than one chunk "interleaved_1f1b" */
    const uint32_t *split; /* layers of each stage, devices * chunks values, with towers,
                                  embedding, MTP layers and head; NULL: equally many decoders */
    const char *recompute; /* kind of recomputation: "selective", "modules" or "full"; NULL: none */
    uint32_t recompute_layers; /* of each stage the first so many decoders; 0: all. Without
                                  `recompute` ignored */
    int32_t pair_rule;         /* enum ppsched_pair_rule: how windows of overlapped pairs run, where
                                  the training asks for windows */
    /* Called while a strategy searches, as ppsched_config_set_progress says; the call ends early
     * once it returns another value than 0. NULL: none. */
    ppsched_progress_function progress;
    void *progress_user;
    uint32_t offload_layers; /* of each stage the first so many decoders, whose activations are
                                  on the host from forward to backward; one of a stage's decoders
                                  must stay, and nothing is recomputed. Copies run beside the pass
                                  that they belong to, at host_bandwidth; what is longer, the
                                  device waits for. A copy of one layer stays on the device while
                                  it is copied. 0: none */
    uint32_t reserved;       /* 0 */
} ppsched_pipeline;

/* A priced layout. Immutable.
 * Lifetime: the caller destroys it. It needs the model no longer.
 * Thread-safety: any number of threads may use it at once. */
typedef struct ppsched_price ppsched_price;

/* Prices a layout. The model needs an accelerator. `pipeline` may be NULL: one device, one
 * microbatch. `environment` may be NULL. Errors: ARGUMENT, STRUCT_SIZE; RANGE, also where the
 * decoders do not divide among the stages and no split is given, and for a model without an
 * accelerator; MISMATCH where the split has another number of layers; REFUSED where the strategy
 * does not support the sizes; CANCELLED where `progress` asked to stop; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_price_create(ppsched_price **out, const ppsched_model *model,
                                                const ppsched_pipeline *pipeline,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_price_destroy(ppsched_price *price);

/* Seconds of a step, and what follows from it. The exposed parts but the first are within
 * pipeline_time, those of the device with the most work: of collectives what does not hide, and
 * idle time. Sized. */
typedef struct ppsched_step_price {
    uint32_t size;
    uint32_t devices; /* of all replicas */
    double step_time; /* pipeline_time + exposed_data_parallel + optimizer_time */
    double pipeline_time;
    double optimizer_time;
    double exposed_data_parallel;
    double exposed_tensor_parallel;
    double exposed_context_parallel;
    double exposed_expert_parallel;
    double exposed_pipeline;
    double tokens_per_second_per_device;
    double operations_per_second_per_device; /* of matrices, forward and backward, nothing computed
                                                again */
    double mfu;                              /* of that the share of matrix_rate */
} ppsched_step_price;

/* Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_price_get_step(ppsched_step_price *out,
                                                  const ppsched_price *price, ppsched_error *error);

/* Bytes of a device by cause, at its peak. Sized. */
typedef struct ppsched_device_price {
    uint32_t size;
    uint32_t reserved;
    double weights;
    double gradients;
    double optimizer;
    double activations; /* without logits */
    double logits;      /* in 4 bytes */
    double gathered;    /* with sharding 3: the weights of two layers */
    double other;       /* the gradients of the logits */
    double total;
} ppsched_device_price;

/* Errors: ARGUMENT, STRUCT_SIZE; RANGE for a device that is not below `devices` of the pipeline. */
PPSCHED_API ppsched_status ppsched_price_get_device(ppsched_device_price *out,
                                                    const ppsched_price *price, uint32_t device,
                                                    ppsched_error *error);

/* The pipeline that was priced, with its defaults filled in: `strategy` and `split` are set.
 * What it points to is borrowed from the price. Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_price_get_pipeline(ppsched_pipeline *out,
                                                      const ppsched_price *price,
                                                      ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
