/* SPDX-License-Identifier: Apache-2.0 */
/* The price of a layout: an estimate of the time of a step with its parts, and of the memory of
 * each device. A layout is the degrees of all kinds of parallelism, the schedule, and the layers of
 * each stage. The caller gives the model and its training (model.h), and the pipeline. A replica is
 * one of the data-parallel copies of the pipeline. Times are in seconds, memory in bytes.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * The time of a step is the sum of three times:
 *   - the pipeline: the time of the schedule with its transfers between neighbours, evaluated with
 *     the times of the layers;
 *   - the exposed part of data parallelism: sums of gradients after the end of the last backward,
 *     and all-gathers of weights while the first forwards wait for these weights;
 *   - the optimizer.
 * With OVERLAPS_GRADIENTS, a device sums the gradients of a layer as soon as the last backward of
 * this layer has ended. It sums the gradients of one stage after the other, in bubbles and while
 * other backwards run. With OVERLAPS_PARAMETERS, a device gathers the weights of its stages in the
 * order of their first forwards. If `sharding` is 3, weights are gathered and gradients are summed
 * for each microbatch. With both flags, these collectives of sharding 3 run while layers compute,
 * which hides their time.
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

/* The order of the dimensions of parallelism in which the ranks of a job are numbered: tensor (tp),
 * context (cp), expert (ep), data (dp) and pipeline (pp) parallelism. The first dimension changes
 * fastest from one rank to the next. A node has consecutive ranks, so the first dimensions are
 * inside a node. t, c and e are the degrees of tensor, context and expert parallelism.
 *   - In both orders, two neighbours in a pipeline use the links inside a node if they share a node
 *     in every replica.
 *   - With one replica, both orders are the same. */
enum ppsched_rank_order {
    PPSCHED_RANK_ORDER_DATA_FIRST = 0,    /* tp-cp-ep-dp-pp, the default of Megatron-LM. From one
                                             device of a pipeline to the next, the rank rises by t *
                                             c * (number of replicas) */
    PPSCHED_RANK_ORDER_PIPELINE_FIRST = 1 /* tp-cp-ep-pp-dp, Megatron-LM's --use-tp-pp-dp-mapping.
                                             From one device of a pipeline to the next, the rank
                                             rises by t * c. With experts, e * (degree of tensor
                                             parallelism of experts) must equal t * c */
};

/* The name of an order of ranks: its dimensions, such as "tp-cp-ep-dp-pp". NULL for an unknown
 * number. */
PPSCHED_API const char *ppsched_rank_order_name(int32_t rank_order);

/* The pipeline of one replica. Set `size` to sizeof of this struct. */
typedef struct ppsched_pipeline {
    uint32_t size;
    uint32_t devices;      /* number p of devices of the pipeline; 0 means 1 */
    uint32_t chunks;       /* number of stages of each device; 0 means 1 */
    uint32_t microbatches; /* number of microbatches of a replica in a step; 0 means 1 */
    const char *strategy;  /* name of the strategy. NULL means "1f1b", or "interleaved_1f1b" if
                              `chunks` is above 1 */
    const uint32_t *split; /* number of layers of each stage: devices * chunks values. Towers,
                              embedding, MTP layers and head also count as layers. NULL: all stages
                              have the same number of decoders */
    const char *recompute; /* kind of recomputation: "selective", "modules" or "full"; NULL: none */
    uint32_t recompute_layers; /* number N: the first N decoders of each stage are recomputed; 0:
                                  all decoders. Ignored if `recompute` is NULL */
    int32_t pair_rule;         /* enum ppsched_pair_rule: the order in which the windows of
                                  overlapped pairs run, if the training has a WINDOWS flag */
    /* Progress callback of a strategy that searches, as for ppsched_config_set_progress. If it
     * returns a value other than 0, ppsched_price_create stops with CANCELLED. NULL: no
     * callback. */
    ppsched_progress_function progress;
    void *progress_user;
    double memory_limit; /* memory limit of each device in bytes, for strategies that search; 0: no
                            limit. All other strategies ignore it */
    uint32_t offload_layers; /* number N: the activations of the first N decoders of each stage are
                                on the host from forward to backward. 0: none. Each stage must have
                                more than N decoders, and `recompute` must be NULL. Copies run at
                                host_bandwidth, at the same time as the forward or backward of their
                                stage. If the copies take longer than this forward or backward, the
                                device waits. While a layer's activations are copied, the device
                                also holds them */
    int32_t rank_order;      /* enum ppsched_rank_order */
    uint32_t reduce_every;   /* number of runs of the schedule in a step. It must divide
                                `microbatches`; 0 means 1. Each run has microbatches / reduce_every
                                microbatches, and begins when the run before it has ended. Gradients
                                of all runs are added on each device, and summed over the replicas
                                only after the last run. But if `sharding` is 3, gradients are
                                summed over the replicas for each microbatch */
    uint32_t hides_copies;   /* 1: the sum of the gradients of the embedding and its copies
                                (ppsched_model_get_copies_time) overlaps, and takes no time. 0: this
                                sum comes after all other sums, and is a part of
                                exposed_data_parallel */
} ppsched_pipeline;

/* The price of a layout. Immutable.
 * Lifetime: the caller destroys it. The model may be destroyed before the price.
 * Thread-safety: any number of threads may use a price at the same time. */
typedef struct ppsched_price ppsched_price;

/* Prices a layout. The model must have an accelerator. A NULL `pipeline` means one device and one
 * microbatch. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; MISMATCH if the split has another number of layers than the model;
 *   REFUSED if the strategy does not support the sizes, or finds no schedule within the memory
 *   limit; CANCELLED if `progress` stopped the call; NO_MEMORY; RANGE, also in these cases:
 *   - the model has no accelerator;
 *   - `split` is NULL, and the number of decoders is not a multiple of the number of stages;
 *   - the split separates layers that must be in one stage. */
PPSCHED_API ppsched_status ppsched_price_create(ppsched_price **out, const ppsched_model *model,
                                                const ppsched_pipeline *pipeline,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_price_destroy(ppsched_price *price);

/* The time of a step, its parts, and figures computed from it. Set `size` to sizeof of this struct.
 * Times are in seconds. pipeline_time includes all exposed parts except exposed_data_parallel.
 * The exposed parts in pipeline_time are those of the device with the most work. exposed_pipeline
 * is the idle time of this device. All other exposed parts are times of collectives that do not
 * overlap with compute. */
typedef struct ppsched_step_price {
    uint32_t size;
    uint32_t devices;               /* number of devices of all replicas together */
    double step_time;               /* pipeline_time + exposed_data_parallel + optimizer_time */
    double pipeline_time;           /* time of all forwards and backwards of the step */
    double optimizer_time;          /* time of the optimizer on the device where it takes longest */
    double exposed_data_parallel;   /* sums of gradients, and all-gathers of weights */
    double exposed_tensor_parallel; /* collectives of tensor parallelism */
    double exposed_context_parallel;         /* collectives of context parallelism */
    double exposed_expert_parallel;          /* all-to-all of experts */
    double exposed_pipeline;                 /* idle time of the device with the most work */
    double tokens_per_second_per_device;     /* tokens of a step / (step_time * `devices`) */
    double operations_per_second_per_device; /* operations of matrix products of forward and
                                                backward, without recomputation */
    double mfu;                              /* operations_per_second_per_device / matrix_rate of
                                                the accelerator */
} ppsched_step_price;

/* Returns the time of a step.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_price_get_step(ppsched_step_price *out,
                                                  const ppsched_price *price, ppsched_error *error);

/* The memory of a device at its peak, by cause, in bytes. Set `size` to sizeof of this struct. */
typedef struct ppsched_device_price {
    uint32_t size;
    uint32_t reserved;
    double weights;     /* weights */
    double gradients;   /* gradients of the weights */
    double optimizer;   /* optimizer states */
    double activations; /* all activations except logits */
    double logits;      /* logits, with 4 bytes per value */
    double gathered;    /* gathered weights of two layers if `sharding` is 3, otherwise 0 */
    double other;       /* the gradients of the logits */
    double total;       /* the sum of all parts */
} ppsched_device_price;

/* Returns the memory of a device of the pipeline.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a device that the pipeline does not have. */
PPSCHED_API ppsched_status ppsched_price_get_device(ppsched_device_price *out,
                                                    const ppsched_price *price, uint32_t device,
                                                    ppsched_error *error);

/* Returns the pipeline that was priced, with its defaults filled in: `strategy` and `split` are
 * set. The pointers of `*out` are borrowed from the price.
 * Errors: ARGUMENT, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_price_get_pipeline(ppsched_pipeline *out,
                                                      const ppsched_price *price,
                                                      ppsched_error *error);

/* The latency (seconds) and bandwidth (bytes per second) that prices use for the link between the
 * devices `from` and `to` of a pipeline.
 *   - If the two devices share a node in each replica, they use the link inside a node. If they
 *     share only a pod in each replica, they use the link between nodes. Otherwise they use the
 *     slowest link of the job.
 *   - If the model has a table with measured sends over such a link, the values come from these
 *     sends.
 * A NULL `pipeline` means one device. The call reads only `devices` and `rank_order` of the
 * pipeline. Either output may be NULL.
 * Errors: ARGUMENT; STRUCT_SIZE; RANGE for a device that the pipeline does not have, for an order
 *   of ranks that expert parallelism does not allow, and for a model without an accelerator. */
PPSCHED_API ppsched_status ppsched_model_get_pipeline_link(double *latency, double *bandwidth,
                                                           const ppsched_model *model,
                                                           const ppsched_pipeline *pipeline,
                                                           uint32_t from, uint32_t to,
                                                           ppsched_error *error);

/* Computes the cost of the update like ppsched_model_get_update_cost, but for a pipeline. The costs
 * of both functions may differ, because the order of ranks of the pipeline may put replicas farther
 * apart. A NULL `pipeline` means one device. The call reads only `devices` and `rank_order` of the
 * pipeline.
 * Errors: as ppsched_model_get_update_cost; RANGE for an order of ranks that expert parallelism
 * does not allow. */
PPSCHED_API ppsched_status ppsched_model_get_pipeline_update_cost(
    ppsched_update_cost *out, const ppsched_model *model, const ppsched_pipeline *pipeline,
    double parameters, double expert_parameters, ppsched_error *error);

/* The time in which the gradients of the embedding and its copies are summed, in seconds. Stages
 * with MTP layers have a copy. If the embedding is tied, the last stage also has a copy.
 *   - The sum is an all-reduce, once a step, over the `copies` devices that have the embedding or a
 *     copy. `devices` is the number of devices of the whole job. The devices of the all-reduce are
 *     in different nodes, unless the whole job is in one node.
 *   - If the model has a table with all-reduces, the time is scaled by these measured all-reduces.
 *   - The time is 0 if the model has no MTP layers and its embedding is not tied, if the embedding
 *     is not trained (adapters, FROZEN_WEIGHTS), or if `copies` is less than 2.
 * Errors: ARGUMENT; RANGE for more copies than devices, and for a model without an accelerator. */
PPSCHED_API ppsched_status ppsched_model_get_copies_time(double *out, const ppsched_model *model,
                                                         uint32_t copies, int64_t devices,
                                                         ppsched_error *error);

/* Finds which share of the time of a pass is causal attention, from 0 to 1. The pass is `pass` of
 * one layer of the row `row`. The share is an estimate: the part of the time that grows with the
 * square of the sequence length. The share is 0 if the model is not causal, or if the pass takes no
 * time, for example without an accelerator. For plans with slices (ppsched_slice_options), set
 * attention_share of ppsched_layer to the mean of the shares of F, I and W, weighted with the times
 * of these passes.
 * Errors: ARGUMENT; RANGE for a row or a pass that the model does not have. */
PPSCHED_API ppsched_status ppsched_model_get_attention_share(double *out,
                                                             const ppsched_model *model,
                                                             uint32_t row, int32_t pass,
                                                             ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
