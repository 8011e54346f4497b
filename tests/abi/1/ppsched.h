/* SPDX-License-Identifier: Apache-2.0 */
/* The public headers of the release, in one: by tests/abi/compatible.py. */
#ifndef PPSCHED_ENVIRONMENT_H
#define PPSCHED_ENVIRONMENT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_log_level {
    PPSCHED_LOG_LEVEL_WARNING = 1,
    PPSCHED_LOG_LEVEL_INFO = 2
};
typedef void *(*ppsched_allocate_function)(void *user, size_t size);
typedef void (*ppsched_release_function)(void *user, void *memory);
typedef void (*ppsched_log_function)(void *user, int32_t level, const char *message);
typedef struct ppsched_environment {
    uint32_t size;
    int32_t log_level;
    void *user;
    ppsched_allocate_function allocate;
    ppsched_release_function release;
    ppsched_log_function log;
} ppsched_environment;
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_EXPORT_MACRO_H
#define PPSCHED_EXPORT_MACRO_H
#if defined(__GNUC__) || defined(__clang__)
#define PPSCHED_API __attribute__((visibility("default")))
#else
#define PPSCHED_API
#endif
#endif
#ifndef PPSCHED_QUANTITY_H
#define PPSCHED_QUANTITY_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_quantity {
    PPSCHED_QUANTITY_FORWARD_TIMES = 16,
    PPSCHED_QUANTITY_BACKWARD_TIMES = 17,
    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES = 18,
    PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES = 19,
    PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE = 20,
    PPSCHED_QUANTITY_OVERLAPPED_TIMES = 21,
    PPSCHED_QUANTITY_OP_OVERHEAD = 22,
    PPSCHED_QUANTITY_DEVICE_SPEEDS = 23,
    PPSCHED_QUANTITY_DEVICE_SCALE = 24,
    PPSCHED_QUANTITY_LAYER_TYPES = 25,
    PPSCHED_QUANTITY_STAGE_SCALE = 26,
    PPSCHED_QUANTITY_MEM_FORWARD = 32,
    PPSCHED_QUANTITY_MEM_BACKWARD_INPUT = 33,
    PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT = 34,
    PPSCHED_QUANTITY_MEM_STATIC = 35,
    PPSCHED_QUANTITY_MEM_WEIGHTS = 36,
    PPSCHED_QUANTITY_MEM_LIMIT = 37,
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT = 38,
    PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD = 39,
    PPSCHED_QUANTITY_MEM_OPTIMIZER = 48,
    PPSCHED_QUANTITY_MEM_OTHER = 49,
    PPSCHED_QUANTITY_MEM_GRADIENTS = 50,
    PPSCHED_QUANTITY_MEM_GATHERED = 51,
    PPSCHED_QUANTITY_MEM_OUTPUT = 52,
    PPSCHED_QUANTITY_MEM_SEND_FORWARD = 53,
    PPSCHED_QUANTITY_MEM_SEND_BACKWARD = 54,
    PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD = 55,
    PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD = 56,
    PPSCHED_QUANTITY_MEM_WORK_FORWARD = 57,
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD = 58,
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT = 59,
    PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT = 60,
    PPSCHED_QUANTITY_P2P_TIME = 64,
    PPSCHED_QUANTITY_P2P_BANDWIDTH = 65,
    PPSCHED_QUANTITY_ACTIVATION_BYTES = 66,
    PPSCHED_QUANTITY_GRADIENT_BYTES = 67,
    PPSCHED_QUANTITY_SEND_OVERHEAD = 68,
    PPSCHED_QUANTITY_UNSHARD_TIMES = 80,
    PPSCHED_QUANTITY_REDUCE_GRAD_TIMES = 81,
    PPSCHED_QUANTITY_UNSHARD_BYTES = 82,
    PPSCHED_QUANTITY_REDUCE_GRAD_BYTES = 83,
    PPSCHED_QUANTITY_SHARDING_BANDWIDTH = 84,
    PPSCHED_QUANTITY_SHARDING_SLOWDOWN = 85,
    PPSCHED_QUANTITY_RECOMPUTE_TIMES = 96,
    PPSCHED_QUANTITY_MEM_RECOMPUTE = 97,
    PPSCHED_QUANTITY_OFFLOAD_TIMES = 98,
    PPSCHED_QUANTITY_RELOAD_TIMES = 99,
    PPSCHED_QUANTITY_OFFLOAD_BYTES = 100,
    PPSCHED_QUANTITY_MEM_OFFLOAD = 101,
    PPSCHED_QUANTITY_HOST_BANDWIDTH = 102,
    PPSCHED_QUANTITY_HOST_LATENCY = 103,
    PPSCHED_QUANTITY_HOST_LINK = 104,
    PPSCHED_QUANTITY_COPY_SLOWDOWN = 105,
    PPSCHED_QUANTITY_MICROBATCH_SCALE = 112,
    PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE = 113,
    PPSCHED_QUANTITY_SLICE_SCALE = 114,
    PPSCHED_QUANTITY_MICROBATCH_REQUEST = 115
};
PPSCHED_API const char *ppsched_quantity_name(int32_t quantity);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_STATUS_H
#define PPSCHED_STATUS_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef int32_t ppsched_status;
enum ppsched_status_value {
    PPSCHED_OK = 0,
    PPSCHED_ERROR_ARGUMENT = 1,
    PPSCHED_ERROR_NO_MEMORY = 2,
    PPSCHED_ERROR_RANGE = 3,
    PPSCHED_ERROR_LENGTH = 4,
    PPSCHED_ERROR_STRUCT_SIZE = 5,
    PPSCHED_ERROR_UNKNOWN_STRATEGY = 6,
    PPSCHED_ERROR_UNKNOWN_OPTION = 7,
    PPSCHED_ERROR_REFUSED = 8,
    PPSCHED_ERROR_INVALID_SCHEDULE = 9,
    PPSCHED_ERROR_MISMATCH = 10,
    PPSCHED_ERROR_BUFFER = 11,
    PPSCHED_ERROR_WRITER = 12,
    PPSCHED_ERROR_CALLBACK = 13,
    PPSCHED_ERROR_INTERNAL = 14,
    PPSCHED_ERROR_CANCELLED = 15,
    PPSCHED_ERROR_SYNTAX = 16
};
#define PPSCHED_NONE 4294967295u
typedef struct ppsched_error {
    ppsched_status status;
    uint32_t device;
    uint32_t stage;
    uint32_t microbatch;
    uint32_t position;
    uint32_t reserved[3];
    char message[480];
} ppsched_error;
PPSCHED_API const char *ppsched_status_name(ppsched_status status);
PPSCHED_API const char *ppsched_status_text(ppsched_status status);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_CONFIG_H
#define PPSCHED_CONFIG_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_config ppsched_config;
#define PPSCHED_MAX_STAGES 65535
#define PPSCHED_MAX_SLICES 65535
#define PPSCHED_MAX_CELLS 1073741824
enum ppsched_placement {
    PPSCHED_PLACEMENT_DEFAULT = 0,
    PPSCHED_PLACEMENT_LINEAR = 1,
    PPSCHED_PLACEMENT_LOOP = 2,
    PPSCHED_PLACEMENT_V = 3,
    PPSCHED_PLACEMENT_BIDIRECTIONAL = 4,
    PPSCHED_PLACEMENT_MAP = 5
};
PPSCHED_API ppsched_status ppsched_config_create(ppsched_config **out, int64_t devices,
                                                 int64_t stages, int64_t microbatches,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_copy(ppsched_config **out, const ppsched_config *config,
                                               ppsched_error *error);
PPSCHED_API void ppsched_config_destroy(ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_devices(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_stages(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_microbatches(const ppsched_config *config);
PPSCHED_API uint32_t ppsched_config_iterations(const ppsched_config *config);
PPSCHED_API ppsched_status ppsched_config_set_iterations(ppsched_config *config, int64_t iterations,
                                                         ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_slices(ppsched_config *config, int64_t slices,
                                                     ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_slices(const ppsched_config *config);
PPSCHED_API ppsched_status ppsched_config_set_placement(ppsched_config *config, int32_t placement,
                                                        const uint32_t *map, size_t count,
                                                        ppsched_error *error);
PPSCHED_API int32_t ppsched_config_placement(const ppsched_config *config);
PPSCHED_API ppsched_status ppsched_config_set_weight_versions(ppsched_config *config,
                                                              int64_t versions,
                                                              ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_order_devices(ppsched_config *config,
                                                        const uint32_t *order, size_t count,
                                                        ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_split_backward(ppsched_config *config,
                                                             uint32_t is_allowed,
                                                             ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_split_backward(const ppsched_config *config);
PPSCHED_API ppsched_status ppsched_config_set_forward_only(ppsched_config *config,
                                                           uint32_t is_forward_only,
                                                           ppsched_error *error);
PPSCHED_API uint32_t ppsched_config_forward_only(const ppsched_config *config);
enum ppsched_sender_waits {
    PPSCHED_SENDER_WAITS_NEVER = 0,
    PPSCHED_SENDER_WAITS_LIKE_KIND = 1
};
PPSCHED_API ppsched_status ppsched_config_set_sender_waits(ppsched_config *config,
                                                           int32_t sender_waits,
                                                           ppsched_error *error);
PPSCHED_API int32_t ppsched_config_sender_waits(const ppsched_config *config);
PPSCHED_API ppsched_status ppsched_config_set_values(ppsched_config *config, int32_t quantity,
                                                     const double *values, size_t count,
                                                     ppsched_error *error);
PPSCHED_API const double *ppsched_config_values(const ppsched_config *config, int32_t quantity,
                                                size_t *count);
PPSCHED_API ppsched_status ppsched_config_validate(const ppsched_config *config,
                                                   ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_option(ppsched_config *config, const char *name,
                                                     const char *value, ppsched_error *error);
typedef struct ppsched_progress {
    uint32_t size;
    uint32_t reserved;
    double share;
    double best;
} ppsched_progress;
typedef int32_t (*ppsched_progress_function)(void *user, const ppsched_progress *progress);
PPSCHED_API ppsched_status ppsched_config_set_progress(ppsched_config *config,
                                                       ppsched_progress_function tell, void *user,
                                                       ppsched_error *error);
typedef struct ppsched_model_end {
    uint32_t size;
    uint32_t reserved;
    double forward_time;
    double backward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward;
    double mem_backward_input;
    double mem_backward_weight;
    double mem_static;
    double mem_weights;
} ppsched_model_end;
PPSCHED_API ppsched_status ppsched_config_with_stages(ppsched_config **out,
                                                      const ppsched_config *config, int64_t stages,
                                                      const ppsched_model_end *embedding,
                                                      const ppsched_model_end *head,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_with_microbatches(ppsched_config **out,
                                                            const ppsched_config *config,
                                                            int64_t microbatches,
                                                            ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_BOUND_H
#define PPSCHED_BOUND_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_objective {
    PPSCHED_OBJECTIVE_SPAN = 1,
    PPSCHED_OBJECTIVE_MAKESPAN = 2
};
typedef struct ppsched_bound {
    uint32_t size;
    uint32_t device;
    double value;
    double work;
    double fill_drain;
    double memory;
    double least_limit;
    double one_machine;
} ppsched_bound;
PPSCHED_API ppsched_status ppsched_config_find_bound(ppsched_bound *out,
                                                     const ppsched_config *config,
                                                     int32_t objective, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_OP_H
#define PPSCHED_OP_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_kind {
    PPSCHED_KIND_F = 1,
    PPSCHED_KIND_B = 2,
    PPSCHED_KIND_I = 3,
    PPSCHED_KIND_W = 4,
    PPSCHED_KIND_SEND_F = 5,
    PPSCHED_KIND_RECV_F = 6,
    PPSCHED_KIND_SEND_B = 7,
    PPSCHED_KIND_RECV_B = 8,
    PPSCHED_KIND_UNSHARD = 9,
    PPSCHED_KIND_RESHARD = 10,
    PPSCHED_KIND_REDUCE_GRAD = 11,
    PPSCHED_KIND_RECOMPUTE = 12,
    PPSCHED_KIND_OFFLOAD = 13,
    PPSCHED_KIND_RELOAD = 14,
    PPSCHED_KIND_OPTIMIZER_STEP = 15,
    PPSCHED_KIND_OFFLOAD_WAIT = 16
};
enum ppsched_op_flag {
    PPSCHED_OP_FLAG_OVERLAPPED = 1,
    PPSCHED_OP_FLAG_SLICED = 2
};
typedef struct ppsched_op {
    uint32_t microbatch;
    uint16_t stage;
    uint16_t slice;
    uint8_t kind;
    uint8_t flags;
    uint16_t reserved;
} ppsched_op;
typedef struct ppsched_span {
    double start;
    double end;
} ppsched_span;
PPSCHED_API const char *ppsched_kind_token(int32_t kind);
PPSCHED_API const char *ppsched_kind_text(int32_t kind);
PPSCHED_API ppsched_status ppsched_op_write_token(char *out, size_t capacity, size_t *needed,
                                                  const ppsched_op *op, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_SCHEDULE_H
#define PPSCHED_SCHEDULE_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_schedule ppsched_schedule;
typedef struct ppsched_queue ppsched_queue;
typedef struct ppsched_builder ppsched_builder;
PPSCHED_API ppsched_status ppsched_schedule_generate(ppsched_schedule **out,
                                                     const ppsched_config *config,
                                                     const char *strategy, ppsched_error *error);
PPSCHED_API const ppsched_schedule *ppsched_schedule_retain(const ppsched_schedule *schedule);
PPSCHED_API void ppsched_schedule_release(const ppsched_schedule *schedule);
PPSCHED_API const char *ppsched_schedule_name(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_devices(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_stages(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_microbatches(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_iterations(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_slices(const ppsched_schedule *schedule);
PPSCHED_API int32_t ppsched_schedule_placement(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_device_of(const ppsched_schedule *schedule, uint32_t stage,
                                                uint32_t microbatch);
PPSCHED_API uint32_t ppsched_schedule_peer_of(const ppsched_schedule *schedule,
                                              const ppsched_op *op);
PPSCHED_API uint32_t ppsched_schedule_stage_input(const ppsched_schedule *schedule, uint32_t stage,
                                                  uint32_t i);
PPSCHED_API uint32_t ppsched_schedule_stage_device(const ppsched_schedule *schedule, uint32_t stage,
                                                   uint32_t i);
PPSCHED_API int32_t ppsched_schedule_stage_passes(const ppsched_schedule *schedule, uint32_t stage);
PPSCHED_API uint32_t ppsched_schedule_runs_stage(const ppsched_schedule *schedule, uint32_t stage,
                                                 uint32_t microbatch);
PPSCHED_API uint32_t ppsched_schedule_has_graph(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_flushes(const ppsched_schedule *schedule);
PPSCHED_API uint32_t ppsched_schedule_weight_versions(const ppsched_schedule *schedule);
PPSCHED_API uint64_t ppsched_schedule_op_count(const ppsched_schedule *schedule);
PPSCHED_API const ppsched_queue *ppsched_schedule_queue(const ppsched_schedule *schedule,
                                                        uint32_t device);
PPSCHED_API const ppsched_op *ppsched_queue_ops(const ppsched_queue *queue, size_t *count);
PPSCHED_API ppsched_status ppsched_builder_create(ppsched_builder **out,
                                                  const ppsched_config *config,
                                                  ppsched_error *error);
PPSCHED_API void ppsched_builder_destroy(ppsched_builder *builder);
PPSCHED_API ppsched_status ppsched_builder_append(ppsched_builder *builder, uint32_t device,
                                                  const ppsched_op *ops, size_t count,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_builder_set_name(ppsched_builder *builder, const char *name,
                                                    ppsched_error *error);
PPSCHED_API ppsched_status ppsched_builder_set_flushes(ppsched_builder *builder, uint32_t flushes,
                                                       ppsched_error *error);
PPSCHED_API ppsched_status ppsched_builder_set_weight_versions(ppsched_builder *builder,
                                                               int64_t versions,
                                                               ppsched_error *error);
PPSCHED_API ppsched_status ppsched_builder_finish(ppsched_schedule **out, ppsched_builder *builder,
                                                  ppsched_error *error);
typedef ppsched_status (*ppsched_generate_function)(void *user, const ppsched_config *config,
                                                    ppsched_builder *builder);
PPSCHED_API ppsched_status ppsched_schedule_generate_with(ppsched_schedule **out,
                                                          const ppsched_config *config,
                                                          const char *name,
                                                          ppsched_generate_function generate,
                                                          void *user, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_CHANNEL_H
#define PPSCHED_CHANNEL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_channel_order {
    PPSCHED_CHANNEL_ORDER_GROUP = 0,
    PPSCHED_CHANNEL_ORDER_DIRECTION = 1,
    PPSCHED_CHANNEL_ORDER_PAIR = 2,
    PPSCHED_CHANNEL_ORDER_NONE = 3,
    PPSCHED_CHANNEL_ORDER_SENDS = 4
};
typedef struct ppsched_channel_model {
    uint32_t size;
    int32_t order;
    uint32_t rendezvous;
    uint32_t batched;
    uint32_t blocking;
} ppsched_channel_model;
typedef struct ppsched_wait {
    uint32_t device;
    uint32_t position;
    ppsched_op op;
} ppsched_wait;
PPSCHED_API ppsched_status ppsched_schedule_prove(ppsched_wait *out, size_t capacity, size_t *count,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_channel_model *model,
                                                  ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_EVALUATE_H
#define PPSCHED_EVALUATE_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_timeline ppsched_timeline;
enum ppsched_evaluate_flag {
    PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY = 1,
    PPSCHED_EVALUATE_FLAG_REUSABLE = 2
};
typedef struct ppsched_metrics {
    uint32_t size;
    uint32_t span_device;
    uint32_t peak_device;
    uint32_t limit_device;
    double makespan;
    double span;
    double bubble_of_total;
    double bubble_of_ideal;
    double bubble_of_span;
    double peak_memory;
} ppsched_metrics;
typedef struct ppsched_device_metrics {
    uint32_t size;
    uint32_t peak_position;
    double busy;
    double idle;
    double first_start;
    double last_end;
    double static_memory;
    double peak_memory;
    double peak_time;
    double memory_limit;
} ppsched_device_metrics;
typedef struct ppsched_idle {
    uint32_t size;
    uint32_t reserved;
    double fill;
    double drain;
    double neighbour;
    double imbalance;
    double transfer;
    double link;
    double head_of_line;
    double weights;
    double reload;
    double calls;
    double slow_devices;
} ppsched_idle;
enum ppsched_memory_cause {
    PPSCHED_MEMORY_CAUSE_STATIC = 0,
    PPSCHED_MEMORY_CAUSE_WEIGHTS = 1,
    PPSCHED_MEMORY_CAUSE_OPTIMIZER = 2,
    PPSCHED_MEMORY_CAUSE_OTHER = 3,
    PPSCHED_MEMORY_CAUSE_GRADIENTS = 4,
    PPSCHED_MEMORY_CAUSE_GATHERED = 5,
    PPSCHED_MEMORY_CAUSE_SENDS = 6,
    PPSCHED_MEMORY_CAUSE_RECEIVES = 7,
    PPSCHED_MEMORY_CAUSE_OUTPUTS = 8,
    PPSCHED_MEMORY_CAUSE_WORK = 9,
    PPSCHED_MEMORY_CAUSE_ACTIVATIONS = 10
};
typedef struct ppsched_idle_window {
    double start;
    double end;
    double memory;
    double free;
} ppsched_idle_window;
typedef struct ppsched_memory_item {
    int32_t cause;
    uint32_t stage;
    uint32_t microbatch;
    uint32_t position;
    double memory;
    double since;
} ppsched_memory_item;
typedef struct ppsched_memory_point {
    double time;
    double memory;
} ppsched_memory_point;
PPSCHED_API ppsched_status ppsched_schedule_evaluate(ppsched_timeline **out,
                                                     const ppsched_schedule *schedule,
                                                     const ppsched_config *config, uint32_t flags,
                                                     ppsched_error *error);
PPSCHED_API ppsched_status ppsched_schedule_evaluate_transfers(
    ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_channel_model *model, uint32_t flags, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_update(ppsched_timeline *timeline,
                                                   const ppsched_config *config,
                                                   ppsched_error *error);
PPSCHED_API void ppsched_timeline_destroy(ppsched_timeline *timeline);
PPSCHED_API const ppsched_schedule *ppsched_timeline_schedule(const ppsched_timeline *timeline);
PPSCHED_API const ppsched_span *ppsched_timeline_spans(const ppsched_timeline *timeline,
                                                       uint32_t device, size_t *count);
PPSCHED_API const double *ppsched_timeline_latest_starts(const ppsched_timeline *timeline,
                                                         uint32_t device, size_t *count);
PPSCHED_API ppsched_status ppsched_timeline_get_metrics(ppsched_metrics *out,
                                                        const ppsched_timeline *timeline,
                                                        ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_device_metrics(ppsched_device_metrics *out,
                                                               const ppsched_timeline *timeline,
                                                               uint32_t device,
                                                               ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_idle(ppsched_idle *out,
                                                     const ppsched_timeline *timeline,
                                                     uint32_t device, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_memory(ppsched_memory_point *out, size_t capacity,
                                                       size_t *needed,
                                                       const ppsched_timeline *timeline,
                                                       uint32_t device, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_memory_of_cause(ppsched_memory_point *out,
                                                                size_t capacity, size_t *needed,
                                                                const ppsched_timeline *timeline,
                                                                uint32_t device, int32_t cause,
                                                                ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_peak_causes(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            uint32_t device, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_peak_items(ppsched_memory_item *out,
                                                           size_t capacity, size_t *needed,
                                                           const ppsched_timeline *timeline,
                                                           uint32_t device, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_idle_windows(ppsched_idle_window *out,
                                                             size_t capacity, size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             uint32_t device, ppsched_error *error);
PPSCHED_API const char *ppsched_memory_cause_name(int32_t cause);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_EXPORT_H
#define PPSCHED_EXPORT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_format {
    PPSCHED_FORMAT_TEXT = 1,
    PPSCHED_FORMAT_CSV = 2,
    PPSCHED_FORMAT_JSON = 3,
    PPSCHED_FORMAT_CHROME_TRACE = 4,
    PPSCHED_FORMAT_MEGATRON = 5,
    PPSCHED_FORMAT_DEEPSPEED = 6,
    PPSCHED_FORMAT_SAIL = 7
};
typedef struct ppsched_export_options {
    uint32_t size;
    uint32_t text_columns;
    double time_scale;
} ppsched_export_options;
typedef int32_t (*ppsched_write_function)(void *user, const char *data, size_t size);
PPSCHED_API ppsched_status ppsched_schedule_export(const ppsched_schedule *schedule,
                                                   const ppsched_timeline *timeline, int32_t format,
                                                   const ppsched_export_options *options,
                                                   ppsched_write_function write, void *user,
                                                   ppsched_error *error);
PPSCHED_API ppsched_status ppsched_schedule_export_to_buffer(
    char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule,
    const ppsched_timeline *timeline, int32_t format, const ppsched_export_options *options,
    ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_CHAKRA_H
#define PPSCHED_CHAKRA_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_chakra ppsched_chakra;
enum ppsched_chakra_sizes {
    PPSCHED_CHAKRA_SIZES_BYTES = 0,
    PPSCHED_CHAKRA_SIZES_TIMES = 1
};
enum ppsched_chakra_links {
    PPSCHED_CHAKRA_LINKS_SENDERS = 0,
    PPSCHED_CHAKRA_LINKS_RANKS = 1
};
typedef struct ppsched_chakra_options {
    uint32_t size;
    int32_t sizes;
    int32_t links;
    uint32_t reserved;
    double time_scale;
    double bytes_scale;
    double memory_scale;
    double most_loss;
} ppsched_chakra_options;
PPSCHED_API ppsched_status ppsched_chakra_create(ppsched_chakra **out,
                                                 const ppsched_schedule *schedule,
                                                 const ppsched_config *config,
                                                 const ppsched_chakra_options *options,
                                                 ppsched_error *error);
PPSCHED_API void ppsched_chakra_destroy(ppsched_chakra *chakra);
PPSCHED_API uint32_t ppsched_chakra_ranks(const ppsched_chakra *chakra);
PPSCHED_API ppsched_status ppsched_chakra_export(const ppsched_chakra *chakra, uint32_t rank,
                                                 ppsched_write_function write, void *user,
                                                 ppsched_error *error);
typedef struct ppsched_chakra_trace {
    const char *data;
    size_t length;
} ppsched_chakra_trace;
PPSCHED_API ppsched_status ppsched_chakra_import(ppsched_schedule **schedule,
                                                 ppsched_config **config,
                                                 const ppsched_chakra_trace *traces, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_CHECK_H
#define PPSCHED_CHECK_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_finding_kind {
    PPSCHED_FINDING_KIND_MISSING = 1,
    PPSCHED_FINDING_KIND_DUPLICATE = 2,
    PPSCHED_FINDING_KIND_MISPLACED = 3,
    PPSCHED_FINDING_KIND_CYCLE = 4,
    PPSCHED_FINDING_KIND_BLOCKED = 5,
    PPSCHED_FINDING_KIND_CONFLICT = 6
};
typedef struct ppsched_finding {
    int32_t kind;
    uint32_t device;
    uint32_t position;
    uint32_t other_device;
    uint32_t other_position;
    ppsched_op op;
    ppsched_op other;
} ppsched_finding;
PPSCHED_API ppsched_status ppsched_schedule_check(ppsched_finding *out, size_t capacity,
                                                  size_t *count, const ppsched_schedule *schedule,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_finding_write_text(char *out, size_t capacity, size_t *needed,
                                                      const ppsched_finding *finding,
                                                      ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_DESCRIPTION_H
#define PPSCHED_DESCRIPTION_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_block_kind {
    PPSCHED_BLOCK_KIND_ATTENTION = 0,
    PPSCHED_BLOCK_KIND_LATENT_ATTENTION = 1,
    PPSCHED_BLOCK_KIND_DELTA = 2,
    PPSCHED_BLOCK_KIND_MAMBA = 3,
    PPSCHED_BLOCK_KIND_CONVOLUTION = 4,
    PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION = 5,
    PPSCHED_BLOCK_KIND_MLP = 6,
    PPSCHED_BLOCK_KIND_EXPERTS = 7,
    PPSCHED_BLOCK_KIND_LINEAR = 8
};
enum ppsched_block_flag {
    PPSCHED_BLOCK_FLAG_PARALLEL = 1,
    PPSCHED_BLOCK_FLAG_BIAS = 2,
    PPSCHED_BLOCK_FLAG_OUTPUT_BIAS = 4,
    PPSCHED_BLOCK_FLAG_QK_NORM = 8,
    PPSCHED_BLOCK_FLAG_QK_NORM_ALL = 16,
    PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS = 32,
    PPSCHED_BLOCK_FLAG_OUTPUT_GATE = 64,
    PPSCHED_BLOCK_FLAG_HEAD_GATE = 128,
    PPSCHED_BLOCK_FLAG_SINKS = 256,
    PPSCHED_BLOCK_FLAG_VALUE_IS_KEY = 512,
    PPSCHED_BLOCK_FLAG_SHARED_KEYS = 1024,
    PPSCHED_BLOCK_FLAG_SHARED_INDEX = 2048,
    PPSCHED_BLOCK_FLAG_MAMBA_1 = 4096,
    PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS = 8192,
    PPSCHED_BLOCK_FLAG_NO_GATE_NORM = 16384,
    PPSCHED_BLOCK_FLAG_GATED = 32768,
    PPSCHED_BLOCK_FLAG_ROUTER_BIAS = 65536,
    PPSCHED_BLOCK_FLAG_SHARED_GATE = 131072,
    PPSCHED_BLOCK_FLAG_LATENT_NORM = 262144,
    PPSCHED_BLOCK_FLAG_FREE_NORMS = 524288,
    PPSCHED_BLOCK_FLAG_NO_NORM = 1048576
};
typedef struct ppsched_block {
    uint32_t size;
    int32_t kind;
    uint32_t flags;
    uint32_t norms;
    uint32_t heads;
    uint32_t key_value_heads;
    uint32_t head_size;
    uint32_t value_size;
    uint32_t rope_size;
    uint32_t query_rank;
    uint32_t key_value_rank;
    uint32_t window;
    uint32_t chunk;
    uint32_t index_heads;
    uint32_t index_size;
    uint32_t index_tokens;
    uint32_t convolution;
    uint32_t decay_rank;
    uint32_t gate_rank;
    uint32_t state_size;
    uint32_t groups;
    uint32_t time_step_rank;
    uint32_t ratio;
    uint32_t output_groups;
    uint32_t output_rank;
    uint32_t width;
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t shared_width;
    uint32_t latent_size;
    uint32_t idle_experts;
    uint32_t reserved;
    uint64_t extra_parameters;
} ppsched_block;
#define PPSCHED_MAX_LAYER_KINDS 256
#define PPSCHED_MAX_BLOCKS 16
typedef struct ppsched_layer_kind {
    uint32_t size;
    uint32_t block_count;
    const char *name;
    const ppsched_block *const *blocks;
} ppsched_layer_kind;
typedef struct ppsched_tower {
    uint32_t size;
    uint32_t is_frozen;
    const char *name;
    uint32_t hidden_size;
    uint32_t layers;
    uint32_t tokens;
    uint32_t has_norm_bias;
    const ppsched_layer_kind *kind;
    uint64_t extra_parameters;
} ppsched_tower;
enum ppsched_description_flag {
    PPSCHED_DESCRIPTION_FLAG_TIED = 1,
    PPSCHED_DESCRIPTION_FLAG_NORM_BIAS = 2,
    PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL = 4,
    PPSCHED_DESCRIPTION_FLAG_DROPOUT = 8,
    PPSCHED_DESCRIPTION_FLAG_NO_FINAL_NORM = 16
};
typedef struct ppsched_description_info {
    uint32_t size;
    uint32_t flags;
    uint32_t hidden_size;
    uint32_t vocabulary_size;
    uint32_t positions;
    uint32_t layer_count;
    const uint32_t *layers;
    const ppsched_layer_kind *const *kinds;
    uint32_t kind_count;
    uint32_t tower_count;
    const ppsched_tower *const *towers;
    uint32_t mtp_layers;
    uint32_t mtp_kind;
    uint32_t streams;
    uint32_t stream_interval;
    uint64_t extra_parameters;
    uint32_t sequence_length;
    uint32_t reserved;
    const char *family;
} ppsched_description_info;
typedef struct ppsched_description ppsched_description;
PPSCHED_API ppsched_status ppsched_description_create(const ppsched_description **out,
                                                      const ppsched_description_info *info,
                                                      const ppsched_environment *environment,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_description_read(const ppsched_description **out,
                                                    const char *text, size_t length,
                                                    const ppsched_environment *environment,
                                                    ppsched_error *error);
enum ppsched_transformer_flag {
    PPSCHED_TRANSFORMER_FLAG_TIED = 1,
    PPSCHED_TRANSFORMER_FLAG_GATED = 2,
    PPSCHED_TRANSFORMER_FLAG_NORM_BIAS = 4,
    PPSCHED_TRANSFORMER_FLAG_QKV_BIAS = 8,
    PPSCHED_TRANSFORMER_FLAG_PROJECTION_BIAS = 16,
    PPSCHED_TRANSFORMER_FLAG_MLP_BIAS = 32,
    PPSCHED_TRANSFORMER_FLAG_QK_NORM = 64,
    PPSCHED_TRANSFORMER_FLAG_POST_NORMS = 128,
    PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS = 256,
    PPSCHED_TRANSFORMER_FLAG_CAUSAL = 512,
    PPSCHED_TRANSFORMER_FLAG_DROPOUT = 1024,
    PPSCHED_TRANSFORMER_FLAG_NO_FINAL_NORM = 2048,
    PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS = 4096
};
typedef struct ppsched_transformer {
    uint32_t size;
    uint32_t flags;
    uint32_t layers;
    uint32_t hidden_size;
    uint32_t ffn_size;
    uint32_t heads;
    uint32_t key_value_heads;
    uint32_t head_size;
    uint32_t vocabulary_size;
    uint32_t positions;
    uint32_t query_rank;
    uint32_t key_value_rank;
    uint32_t rope_head_size;
    uint32_t value_head_size;
    uint32_t experts;
    uint32_t experts_per_token;
    uint32_t expert_ffn_size;
    uint32_t shared_ffn_size;
    uint32_t dense_layers;
    uint32_t expert_interval;
    uint32_t expert_offset;
    uint32_t mtp_layers;
    uint32_t reserved[2];
    const uint8_t *expert_layers;
} ppsched_transformer;
PPSCHED_API ppsched_status ppsched_description_from_transformer(
    const ppsched_description **out, const ppsched_transformer *transformer,
    const ppsched_environment *environment, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_description_guess(const ppsched_description **out,
                                                     const char *text, size_t length,
                                                     const ppsched_environment *environment,
                                                     ppsched_error *error);
PPSCHED_API const ppsched_description *
ppsched_description_retain(const ppsched_description *description);
PPSCHED_API void ppsched_description_release(const ppsched_description *description);
PPSCHED_API ppsched_status ppsched_description_get_info(ppsched_description_info *out,
                                                        const ppsched_description *description,
                                                        ppsched_error *error);
PPSCHED_API uint32_t ppsched_description_warning_count(const ppsched_description *description);
PPSCHED_API const char *ppsched_description_warning_at(const ppsched_description *description,
                                                       uint32_t index);
PPSCHED_API ppsched_status ppsched_description_write(const ppsched_description *description,
                                                     ppsched_write_function write, void *user,
                                                     ppsched_error *error);
PPSCHED_API uint32_t ppsched_model_family_count(void);
PPSCHED_API const char *ppsched_model_family_at(uint32_t index);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_EXPLAIN_H
#define PPSCHED_EXPLAIN_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_reason {
    PPSCHED_REASON_BEGIN = 1,
    PPSCHED_REASON_DEVICE = 2,
    PPSCHED_REASON_INPUT = 3,
    PPSCHED_REASON_FLUSH = 4,
    PPSCHED_REASON_COPY = 5,
    PPSCHED_REASON_TRANSFER = 6
};
typedef struct ppsched_critical_op {
    uint32_t device;
    uint32_t position;
    ppsched_op op;
    int32_t reason;
    double start;
    double end;
} ppsched_critical_op;
typedef struct ppsched_sensitivity {
    double more;
    double less;
} ppsched_sensitivity;
PPSCHED_API ppsched_status ppsched_timeline_get_critical_path(ppsched_critical_op *out,
                                                              size_t capacity, size_t *needed,
                                                              const ppsched_timeline *timeline,
                                                              ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_device_slack(double *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_timeline *timeline,
                                                             ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_stage_slack(double *out, size_t capacity,
                                                            size_t *needed,
                                                            const ppsched_timeline *timeline,
                                                            ppsched_error *error);
PPSCHED_API ppsched_status ppsched_timeline_get_sensitivities(ppsched_sensitivity *out,
                                                              size_t capacity, size_t *needed,
                                                              const ppsched_timeline *timeline,
                                                              int32_t objective, int32_t kind,
                                                              ppsched_progress_function tell,
                                                              void *user, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_IMPORT_H
#define PPSCHED_IMPORT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
PPSCHED_API ppsched_status ppsched_schedule_import(ppsched_schedule **out, int32_t format,
                                                   const char *data, size_t size,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_LAYERS_H
#define PPSCHED_LAYERS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_layers ppsched_layers;
#define PPSCHED_MAX_LAYERS 65535
#define PPSCHED_MAX_RECOMPUTES 8
enum ppsched_layer_place {
    PPSCHED_LAYER_PLACE_ANY = 0,
    PPSCHED_LAYER_PLACE_FIRST = 1,
    PPSCHED_LAYER_PLACE_LAST = 2
};
enum ppsched_layer_flag {
    PPSCHED_LAYER_FLAG_WITH_NEXT = 1,
    PPSCHED_LAYER_FLAG_TIED = 2,
    PPSCHED_LAYER_FLAG_COPIES_EMBEDDING = 4,
    PPSCHED_LAYER_FLAG_NOT_COPIED = 8
};
typedef struct ppsched_recompute {
    const char *name;
    double time;
    double mem_forward;
} ppsched_recompute;
typedef struct ppsched_layer {
    uint32_t size;
    uint32_t count;
    const char *name;
    int32_t place;
    uint32_t flags;
    double forward_time;
    double backward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward;
    double mem_backward_input;
    double mem_backward_weight;
    double mem_static;
    double mem_weights;
    double output_bytes;
    const ppsched_recompute *recomputes;
    uint32_t recompute_count;
    uint32_t type_count;
    const char *hybrid_symbols;
    const double *device_scale;
} ppsched_layer;
typedef struct ppsched_split {
    uint32_t size;
    uint32_t stages;
    const uint32_t *layers;
    const uint8_t *recomputes;
} ppsched_split;
PPSCHED_API ppsched_status ppsched_layers_create(const ppsched_layers **out,
                                                 const ppsched_layer *const *layers, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);
PPSCHED_API const ppsched_layers *ppsched_layers_retain(const ppsched_layers *layers);
PPSCHED_API void ppsched_layers_release(const ppsched_layers *layers);
PPSCHED_API uint32_t ppsched_layers_count(const ppsched_layers *layers);
PPSCHED_API uint32_t ppsched_layers_entries(const ppsched_layers *layers);
PPSCHED_API ppsched_status ppsched_layers_get_entry(ppsched_layer *out,
                                                    const ppsched_layers *layers, uint32_t entry,
                                                    ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_from_layers(ppsched_config **out,
                                                      const ppsched_config *config,
                                                      const ppsched_layers *layers,
                                                      const ppsched_split *split,
                                                      ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_MODEL_H
#define PPSCHED_MODEL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_training_flag {
    PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL = 1,
    PPSCHED_TRAINING_FLAG_KEEPS_SCORES = 2,
    PPSCHED_TRAINING_FLAG_OVERLAPS_TENSOR = 4,
    PPSCHED_TRAINING_FLAG_OVERLAPS_CONTEXT = 8,
    PPSCHED_TRAINING_FLAG_OVERLAPS_EXPERTS = 16,
    PPSCHED_TRAINING_FLAG_OVERLAPS_GRADIENTS = 32,
    PPSCHED_TRAINING_FLAG_OVERLAPS_PARAMETERS = 64,
    PPSCHED_TRAINING_FLAG_ATTENTION_8BIT = 128,
    PPSCHED_TRAINING_FLAG_GRAPHS = 256,
    PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS = 512,
    PPSCHED_TRAINING_FLAG_ONE_COPY_A_NODE = 1024,
    PPSCHED_TRAINING_FLAG_ADAPTER_DROPOUT = 2048,
    PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS = 4096
};
enum ppsched_adapter_target {
    PPSCHED_ADAPTER_TARGET_QUERY = 1,
    PPSCHED_ADAPTER_TARGET_KEY = 2,
    PPSCHED_ADAPTER_TARGET_VALUE = 4,
    PPSCHED_ADAPTER_TARGET_OUTPUT = 8,
    PPSCHED_ADAPTER_TARGET_GATE = 16,
    PPSCHED_ADAPTER_TARGET_UP = 32,
    PPSCHED_ADAPTER_TARGET_DOWN = 64,
    PPSCHED_ADAPTER_TARGET_EXPERTS = 128,
    PPSCHED_ADAPTER_TARGET_ROUTER = 256,
    PPSCHED_ADAPTER_TARGET_SCAN_INPUT = 512,
    PPSCHED_ADAPTER_TARGET_SCAN_OUTPUT = 1024,
    PPSCHED_ADAPTER_TARGET_OTHER = 2048,
    PPSCHED_ADAPTER_TARGET_HEAD = 4096
};
enum ppsched_recompute_module {
    PPSCHED_RECOMPUTE_MODULE_CORE_ATTENTION = 1,
    PPSCHED_RECOMPUTE_MODULE_LAYERNORM = 2,
    PPSCHED_RECOMPUTE_MODULE_MLP = 4,
    PPSCHED_RECOMPUTE_MODULE_MOE = 8,
    PPSCHED_RECOMPUTE_MODULE_MOE_ACTIVATION = 16,
    PPSCHED_RECOMPUTE_MODULE_MLA_UP_PROJECTION = 32
};
enum ppsched_precision {
    PPSCHED_PRECISION_BF16 = 0,
    PPSCHED_PRECISION_FP16 = 1,
    PPSCHED_PRECISION_FP8 = 2,
    PPSCHED_PRECISION_MXFP8 = 3,
    PPSCHED_PRECISION_NVFP4 = 4
};
typedef struct ppsched_training {
    uint32_t size;
    uint32_t flags;
    uint32_t sequence_length;
    uint32_t micro_batch_size;
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;
    uint32_t expert_tensor_parallel;
    uint32_t data_parallel;
    uint32_t sharding;
    double weight_bytes;
    double gradient_bytes;
    double optimizer_bytes;
    double activation_bytes;
    int32_t precision;
    uint32_t recompute_modules;
    double expert_load;
    uint32_t adapter_rank;
    uint32_t adapter_expert_rank;
    uint32_t adapter_targets;
    uint32_t reserved;
} ppsched_training;
typedef struct ppsched_efficiency {
    double least;
    double share;
} ppsched_efficiency;
typedef struct ppsched_link_rate {
    double bandwidth;
    double efficiency;
    double latency;
    double all_reduce;
    double all_gather;
} ppsched_link_rate;
typedef struct ppsched_accelerator {
    uint32_t size;
    uint32_t node_devices;
    const char *name;
    double matrix_rate;
    double vector_rate;
    double memory_bandwidth;
    double memory;
    const ppsched_efficiency *matrix_efficiency;
    const ppsched_efficiency *vector_efficiency;
    const ppsched_efficiency *memory_efficiency;
    uint32_t matrix_efficiency_count;
    uint32_t vector_efficiency_count;
    uint32_t memory_efficiency_count;
    uint32_t shares_ports;
    ppsched_link_rate inside;
    ppsched_link_rate between;
    double rate_8bit;
    double rate_4bit;
    double matrix_share;
    double attention_share;
    double fp8_share;
    double mxfp8_share;
    double nvfp4_share;
    double op_time;
    double host_time;
    double hidden_share;
    double permute_traffic;
    double slowdown;
    double fused_permute_traffic;
    double bias_traffic;
    double memory_hidden;
    double scan_share;
} ppsched_accelerator;
PPSCHED_API uint32_t ppsched_accelerator_count(void);
PPSCHED_API const ppsched_accelerator *ppsched_accelerator_at(uint32_t index);
typedef struct ppsched_model ppsched_model;
PPSCHED_API ppsched_status ppsched_model_create(ppsched_model **out,
                                                const ppsched_description *description,
                                                const ppsched_training *training,
                                                const ppsched_accelerator *accelerator,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_model_destroy(ppsched_model *model);
typedef struct ppsched_parameters {
    uint32_t size;
    uint32_t reserved;
    uint64_t total;
    uint64_t active;
    uint64_t embedding;
    uint64_t positions;
    uint64_t other;
    uint64_t output;
    uint64_t final_norm;
    uint64_t towers;
    uint64_t mtp;
} ppsched_parameters;
PPSCHED_API ppsched_status ppsched_model_get_parameters(ppsched_parameters *out,
                                                        const ppsched_model *model,
                                                        ppsched_error *error);
enum ppsched_model_role {
    PPSCHED_MODEL_ROLE_EMBEDDING = 0,
    PPSCHED_MODEL_ROLE_TOWER = 1,
    PPSCHED_MODEL_ROLE_DECODER = 2,
    PPSCHED_MODEL_ROLE_MTP = 3,
    PPSCHED_MODEL_ROLE_HEAD = 4
};
typedef struct ppsched_model_row {
    uint32_t size;
    int32_t role;
    const char *name;
    uint32_t layers;
    uint32_t index;
    uint64_t parameters;
    uint64_t active;
    uint64_t mixers;
    uint64_t feed_forwards;
    uint64_t feed_forwards_active;
    uint64_t norms;
} ppsched_model_row;
PPSCHED_API uint32_t ppsched_model_row_count(const ppsched_model *model);
PPSCHED_API ppsched_status ppsched_model_get_row(ppsched_model_row *out, const ppsched_model *model,
                                                 uint32_t row, ppsched_error *error);
enum ppsched_model_pass {
    PPSCHED_MODEL_PASS_FORWARD = 0,
    PPSCHED_MODEL_PASS_INPUT = 1,
    PPSCHED_MODEL_PASS_WEIGHT = 2,
    PPSCHED_MODEL_PASS_SELECTIVE = 3,
    PPSCHED_MODEL_PASS_FULL = 4,
    PPSCHED_MODEL_PASS_MODULES = 5
};
typedef struct ppsched_pass_cost {
    uint32_t size;
    uint32_t reserved;
    double time;
    double matrix_time;
    double vector_time;
    double memory_time;
    double communication_time;
    double matrix_operations;
    double vector_operations;
    double memory_bytes;
    double communication_bytes;
    double tensor_time;
    double context_time;
    double expert_time;
    double launch_time;
} ppsched_pass_cost;
PPSCHED_API ppsched_status ppsched_model_get_pass_cost(ppsched_pass_cost *out,
                                                       const ppsched_model *model, uint32_t row,
                                                       int32_t pass, ppsched_error *error);
typedef struct ppsched_layer_memory {
    uint32_t size;
    uint32_t reserved;
    double parameters;
    double weights;
    double gradients;
    double optimizer;
    double activations;
    double activations_until_weight;
    double selective;
    double full;
    double output_bytes;
    double expert_parameters;
    double modules;
    double trained;
    double expert_trained;
} ppsched_layer_memory;
PPSCHED_API ppsched_status ppsched_model_get_memory(ppsched_layer_memory *out,
                                                    const ppsched_model *model, uint32_t row,
                                                    ppsched_error *error);
typedef struct ppsched_update_cost {
    uint32_t size;
    uint32_t reserved;
    double optimizer_time;
    double reduce_time;
    double gradient_time;
    double parameter_time;
} ppsched_update_cost;
PPSCHED_API ppsched_status ppsched_model_get_update_cost(ppsched_update_cost *out,
                                                         const ppsched_model *model,
                                                         double parameters,
                                                         double expert_parameters,
                                                         ppsched_error *error);
typedef struct ppsched_calibration {
    uint32_t size;
    uint32_t rows;
    const double *factors;
} ppsched_calibration;
PPSCHED_API ppsched_status ppsched_layers_from_model(const ppsched_layers **out,
                                                     const ppsched_model *model,
                                                     const ppsched_calibration *calibration,
                                                     ppsched_error *error);
typedef struct ppsched_megatron_memory {
    uint32_t size;
    uint32_t reserved;
    double weight_and_optimizer_bytes;
    double activation_bytes;
    double activation_bytes_with_sequence_parallel;
    double activation_bytes_without;
} ppsched_megatron_memory;
typedef struct ppsched_megatron_pipeline {
    uint32_t size;
    uint32_t devices;
    uint32_t chunks;
    uint32_t microbatches;
    uint32_t selective;
    uint32_t reserved;
} ppsched_megatron_pipeline;
PPSCHED_API ppsched_status
ppsched_model_get_megatron_memory(ppsched_megatron_memory *out, const ppsched_model *model,
                                  const ppsched_megatron_pipeline *pipeline, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_PRICE_H
#define PPSCHED_PRICE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_pipeline {
    uint32_t size;
    uint32_t devices;
    uint32_t chunks;
    uint32_t microbatches;
    const char *strategy;
    const uint32_t *split;
    const char *recompute;
    uint32_t recompute_layers;
    uint32_t reserved;
    ppsched_progress_function progress;
    void *progress_user;
} ppsched_pipeline;
typedef struct ppsched_price ppsched_price;
PPSCHED_API ppsched_status ppsched_price_create(ppsched_price **out, const ppsched_model *model,
                                                const ppsched_pipeline *pipeline,
                                                const ppsched_environment *environment,
                                                ppsched_error *error);
PPSCHED_API void ppsched_price_destroy(ppsched_price *price);
typedef struct ppsched_step_price {
    uint32_t size;
    uint32_t devices;
    double step_time;
    double pipeline_time;
    double optimizer_time;
    double exposed_data_parallel;
    double exposed_tensor_parallel;
    double exposed_context_parallel;
    double exposed_expert_parallel;
    double exposed_pipeline;
    double tokens_per_second_per_device;
    double operations_per_second_per_device;
    double mfu;
} ppsched_step_price;
PPSCHED_API ppsched_status ppsched_price_get_step(ppsched_step_price *out,
                                                  const ppsched_price *price, ppsched_error *error);
typedef struct ppsched_device_price {
    uint32_t size;
    uint32_t reserved;
    double weights;
    double gradients;
    double optimizer;
    double activations;
    double logits;
    double gathered;
    double other;
    double total;
} ppsched_device_price;
PPSCHED_API ppsched_status ppsched_price_get_device(ppsched_device_price *out,
                                                    const ppsched_price *price, uint32_t device,
                                                    ppsched_error *error);
PPSCHED_API ppsched_status ppsched_price_get_pipeline(ppsched_pipeline *out,
                                                      const ppsched_price *price,
                                                      ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_JOB_H
#define PPSCHED_JOB_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_job_dimension {
    PPSCHED_JOB_DIMENSION_TENSOR = 0,
    PPSCHED_JOB_DIMENSION_CONTEXT = 1,
    PPSCHED_JOB_DIMENSION_EXPERT = 2,
    PPSCHED_JOB_DIMENSION_EXPERT_TENSOR = 3,
    PPSCHED_JOB_DIMENSION_PIPELINE = 4,
    PPSCHED_JOB_DIMENSION_CHUNKS = 5,
    PPSCHED_JOB_DIMENSION_MICRO_BATCH = 6,
    PPSCHED_JOB_DIMENSION_SHARDING = 7,
    PPSCHED_JOB_DIMENSION_GLOBAL_BATCH = 8
};
typedef struct ppsched_job_list {
    int32_t dimension;
    uint32_t count;
    const uint32_t *values;
} ppsched_job_list;
enum ppsched_job_goal {
    PPSCHED_JOB_GOAL_STEP = 0,
    PPSCHED_JOB_GOAL_TOKENS = 1
};
typedef struct ppsched_job_options {
    uint32_t size;
    uint32_t gpus;
    const ppsched_job_list *lists;
    uint32_t list_count;
    int32_t goal;
    int32_t runtime;
    uint32_t top;
    const char *const *strategies;
    uint32_t strategy_count;
    uint32_t reserved;
    double memory_limit;
} ppsched_job_options;
typedef struct ppsched_job ppsched_job;
PPSCHED_API ppsched_status ppsched_job_create(
    ppsched_job **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_job_options *options,
    const ppsched_environment *environment, ppsched_error *error);
PPSCHED_API void ppsched_job_destroy(ppsched_job *job);
enum ppsched_job_state {
    PPSCHED_JOB_STATE_LISTED = 0,
    PPSCHED_JOB_STATE_SLOWER = 1,
    PPSCHED_JOB_STATE_OVER_LIMIT = 2,
    PPSCHED_JOB_STATE_DOES_NOT_FIT = 3,
    PPSCHED_JOB_STATE_REFUSED = 4,
    PPSCHED_JOB_STATE_PRICED = 5
};
typedef struct ppsched_job_layout {
    uint32_t size;
    int32_t state;
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;
    uint32_t expert_tensor_parallel;
    uint32_t pipeline;
    uint32_t data_parallel;
    uint32_t chunks;
    uint32_t micro_batch_size;
    uint32_t microbatches;
    uint32_t global_batch;
    uint32_t sharding;
    uint32_t rank;
    double bound;
    double least_memory;
} ppsched_job_layout;
PPSCHED_API uint32_t ppsched_job_layout_count(const ppsched_job *job);
PPSCHED_API ppsched_status ppsched_job_get_layout(ppsched_job_layout *out, const ppsched_job *job,
                                                  uint32_t layout, ppsched_error *error);
typedef struct ppsched_job_found {
    uint32_t size;
    int32_t state;
    uint32_t runs_on;
    uint32_t tried;
    double memory;
} ppsched_job_found;
PPSCHED_API ppsched_status ppsched_job_evaluate_layout(ppsched_price **out,
                                                       ppsched_job_found *found,
                                                       const ppsched_job *job, uint32_t layout,
                                                       double above, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_job_set_progress(ppsched_job *job,
                                                    ppsched_progress_function progress, void *user,
                                                    ppsched_error *error);
PPSCHED_API ppsched_status ppsched_job_run(ppsched_job *job, ppsched_error *error);
PPSCHED_API uint32_t ppsched_job_best_count(const ppsched_job *job);
PPSCHED_API uint32_t ppsched_job_layout_at_rank(const ppsched_job *job, uint32_t rank);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_LAUNCH_H
#define PPSCHED_LAUNCH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_runtime {
    PPSCHED_RUNTIME_MEGATRON = 1,
    PPSCHED_RUNTIME_TORCHTITAN = 2,
    PPSCHED_RUNTIME_PYTORCH = 3,
    PPSCHED_RUNTIME_DEEPSPEED = 4,
    PPSCHED_RUNTIME_SAIL = 5,
    PPSCHED_RUNTIME_PRIMUS = 6,
    PPSCHED_RUNTIME_COLOSSALAI = 7,
    PPSCHED_RUNTIME_JAXPP = 8,
    PPSCHED_RUNTIME_MINDSPEED = 9
};
typedef struct ppsched_launch_options {
    uint32_t size;
    uint32_t exact;
    const char *csv;
    uint32_t layers;
    uint32_t micro_batch;
    const ppsched_layers *model;
    const ppsched_split *split;
    uint32_t data_parallel;
    uint32_t reserved;
} ppsched_launch_options;
PPSCHED_API const char *ppsched_runtime_name(int32_t runtime);
PPSCHED_API ppsched_status ppsched_schedule_write_launch_arguments(
    char *out, size_t capacity, size_t *needed, const ppsched_schedule *schedule, int32_t runtime,
    const ppsched_launch_options *options, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_LAYER_TABLE_H
#define PPSCHED_LAYER_TABLE_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_measured_layer {
    const char *kind;
    const char *recompute;
    uint32_t tensor_parallel;
    uint32_t context_parallel;
    uint32_t expert_parallel;
    uint32_t expert_tensor_parallel;
    uint32_t micro_batch_size;
    uint32_t sequence_length;
    double forward_time;
    double backward_input_time;
    double backward_weight_time;
    double mem_forward;
    double mem_static;
} ppsched_measured_layer;
enum ppsched_collective {
    PPSCHED_COLLECTIVE_ALL_REDUCE = 0,
    PPSCHED_COLLECTIVE_ALL_GATHER = 1,
    PPSCHED_COLLECTIVE_REDUCE_SCATTER = 2,
    PPSCHED_COLLECTIVE_ALL_TO_ALL = 3,
    PPSCHED_COLLECTIVE_SEND = 4
};
typedef struct ppsched_measured_collective {
    int32_t collective;
    uint32_t group;
    uint32_t span;
    uint32_t reserved;
    double bytes;
    double time;
} ppsched_measured_collective;
typedef struct ppsched_layer_table {
    uint32_t size;
    uint32_t layer_count;
    const ppsched_measured_layer *layers;
    const ppsched_measured_collective *collectives;
    uint32_t collective_count;
    uint32_t reserved;
} ppsched_layer_table;
PPSCHED_API ppsched_status ppsched_model_create_measured(
    ppsched_model **out, const ppsched_description *description, const ppsched_training *training,
    const ppsched_accelerator *accelerator, const ppsched_layer_table *table,
    const ppsched_environment *environment, ppsched_error *error);
enum ppsched_measure {
    PPSCHED_MEASURE_FORMULA = 0,
    PPSCHED_MEASURE_TABLE = 1,
    PPSCHED_MEASURE_NEAREST = 2,
    PPSCHED_MEASURE_SAME = 3,
    PPSCHED_MEASURE_OTHERS = 4
};
typedef struct ppsched_figure_measure {
    int32_t source;
    uint32_t reserved;
    double factor;
} ppsched_figure_measure;
typedef struct ppsched_row_measure {
    uint32_t size;
    uint32_t reserved;
    ppsched_figure_measure forward;
    ppsched_figure_measure input;
    ppsched_figure_measure weight;
    ppsched_figure_measure mem_forward;
    ppsched_figure_measure mem_static;
    ppsched_figure_measure selective;
    ppsched_figure_measure full;
    ppsched_figure_measure modules;
} ppsched_row_measure;
PPSCHED_API ppsched_status ppsched_model_get_row_measure(ppsched_row_measure *out,
                                                         const ppsched_model *model, uint32_t row,
                                                         ppsched_error *error);
PPSCHED_API ppsched_status ppsched_model_get_link(double *latency, double *bandwidth,
                                                  const ppsched_model *model, int64_t devices,
                                                  ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_LAYOUT_H
#define PPSCHED_LAYOUT_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define PPSCHED_MAX_LAYOUT_LAYERS 1000000
typedef struct ppsched_layout ppsched_layout;
typedef struct ppsched_layout_stage {
    uint32_t embeddings;
    uint32_t decoders;
    uint32_t mtps;
    uint32_t heads;
} ppsched_layout_stage;
typedef struct ppsched_layout_rules {
    uint32_t size;
    uint32_t no_decoders;
    uint32_t no_mtps;
    uint32_t launcher;
    uint32_t no_overlap;
    uint32_t reserved;
    int64_t chunks;
    int64_t decoders;
    int64_t mtps;
} ppsched_layout_rules;
typedef struct ppsched_megatron_split {
    uint32_t size;
    uint32_t account_for_embedding;
    uint32_t account_for_loss;
    uint32_t no_overlap;
    int64_t layers_per_chunk;
    int64_t chunks;
    int64_t first_decoders;
    int64_t last_decoders;
    int64_t mtps;
} ppsched_megatron_split;
PPSCHED_API ppsched_status ppsched_layout_create(ppsched_layout **out, int64_t devices,
                                                 const ppsched_layout_stage *stages, size_t count,
                                                 const ppsched_environment *environment,
                                                 ppsched_error *error);
PPSCHED_API ppsched_status ppsched_layout_create_from_text(ppsched_layout **out, const char *text,
                                                           size_t size, int64_t devices,
                                                           const ppsched_layout_rules *rules,
                                                           const ppsched_environment *environment,
                                                           ppsched_error *error);
PPSCHED_API ppsched_status ppsched_layout_create_from_megatron(
    ppsched_layout **out, int64_t decoders, int64_t devices, const ppsched_megatron_split *split,
    const ppsched_environment *environment, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_layout_create_from_torchtitan(
    ppsched_layout **out, int64_t decoders, int64_t devices, int64_t stages, int64_t first_less,
    int64_t last_less, const ppsched_environment *environment, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_layout_find_torchtitan_stages(
    uint32_t *out, int64_t decoders, int64_t devices, int64_t layers_per_stage, int64_t first_less,
    int64_t last_less, uint32_t several, ppsched_error *error);
PPSCHED_API void ppsched_layout_destroy(ppsched_layout *layout);
PPSCHED_API uint32_t ppsched_layout_devices(const ppsched_layout *layout);
PPSCHED_API uint32_t ppsched_layout_chunks(const ppsched_layout *layout);
PPSCHED_API const ppsched_layout_stage *ppsched_layout_stages(const ppsched_layout *layout,
                                                              size_t *count);
PPSCHED_API const uint32_t *ppsched_layout_offsets(const ppsched_layout *layout, size_t *count);
PPSCHED_API ppsched_status ppsched_layout_write_text(char *out, size_t capacity, size_t *needed,
                                                     const ppsched_layout *layout,
                                                     ppsched_error *error);
PPSCHED_API ppsched_status ppsched_layout_write_modules(char *out, size_t capacity, size_t *needed,
                                                        const ppsched_layout *layout,
                                                        uint32_t stage, uint32_t rotary,
                                                        ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_LOWER_H
#define PPSCHED_LOWER_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_lowering {
    PPSCHED_LOWERING_NONE = 0,
    PPSCHED_LOWERING_PYTORCH = 1,
    PPSCHED_LOWERING_BY_TIME = 2,
    PPSCHED_LOWERING_JUST_IN_TIME = 3
};
enum ppsched_unshard_lookahead {
    PPSCHED_UNSHARD_LOOKAHEAD_FULL = 0,
    PPSCHED_UNSHARD_LOOKAHEAD_AUTO = 1,
    PPSCHED_UNSHARD_LOOKAHEAD_LIST = 2,
    PPSCHED_UNSHARD_LOOKAHEAD_NEEDED = 3
};
typedef struct ppsched_lower_options {
    uint32_t size;
    int32_t lowering;
    uint32_t merge_backwards;
    uint32_t split_backwards;
    uint32_t unshard;
    uint32_t reduce_grad;
    uint32_t defer_receives;
    int32_t unshard_lookahead;
    const uint32_t *unshard_lookaheads;
    uint32_t unshard_lookahead_count;
    uint32_t receive_prefetch;
} ppsched_lower_options;
PPSCHED_API ppsched_status ppsched_schedule_lower(ppsched_schedule **out,
                                                  const ppsched_schedule *schedule,
                                                  const ppsched_config *config,
                                                  const ppsched_lower_options *options,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_schedule_renumber(ppsched_schedule **out,
                                                     const ppsched_schedule *schedule,
                                                     ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_MEMORY_SAVING_H
#define PPSCHED_MEMORY_SAVING_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_recompute_options {
    uint32_t size;
    uint32_t chunks;
} ppsched_recompute_options;
PPSCHED_API ppsched_status ppsched_schedule_recompute(ppsched_schedule **out,
                                                      const ppsched_schedule *schedule,
                                                      const ppsched_recompute_options *options,
                                                      ppsched_error *error);
typedef struct ppsched_offload_options {
    uint32_t size;
    uint32_t chunks;
    uint32_t until_limit;
    uint32_t prefetch_distance;
    double share;
} ppsched_offload_options;
PPSCHED_API ppsched_status ppsched_schedule_offload(ppsched_schedule **out,
                                                    const ppsched_schedule *schedule,
                                                    const ppsched_config *config,
                                                    const ppsched_offload_options *options,
                                                    ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_MICROBATCHES_H
#define PPSCHED_MICROBATCHES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_order_options {
    uint32_t size;
    int32_t objective;
    uint32_t effort;
} ppsched_order_options;
PPSCHED_API ppsched_status ppsched_schedule_order_microbatches(
    uint32_t *out, size_t capacity, size_t *needed, ppsched_config **ordered,
    const ppsched_schedule *schedule, const ppsched_config *config,
    const ppsched_order_options *options, ppsched_error *error);
typedef struct ppsched_balance {
    uint32_t size;
    uint32_t is_best;
    double most;
    double bound;
} ppsched_balance;
PPSCHED_API ppsched_status ppsched_microbatches_balance(uint32_t *out, size_t capacity,
                                                        size_t *needed, ppsched_balance *balance,
                                                        const double *costs, size_t count,
                                                        int64_t replicas, uint32_t even_counts,
                                                        const ppsched_environment *environment,
                                                        ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_NAMES_H
#define PPSCHED_NAMES_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
PPSCHED_API const char *ppsched_placement_name(int32_t placement);
PPSCHED_API const char *ppsched_sender_waits_name(int32_t sender_waits);
PPSCHED_API const char *ppsched_objective_name(int32_t objective);
PPSCHED_API const char *ppsched_channel_order_name(int32_t channel_order);
PPSCHED_API const char *ppsched_lowering_name(int32_t lowering);
PPSCHED_API const char *ppsched_unshard_lookahead_name(int32_t unshard_lookahead);
PPSCHED_API const char *ppsched_dispatch_name(int32_t dispatch);
PPSCHED_API const char *ppsched_rank_by_name(int32_t rank_by);
PPSCHED_API const char *ppsched_format_name(int32_t format);
PPSCHED_API const char *ppsched_finding_kind_name(int32_t finding_kind);
PPSCHED_API const char *ppsched_reason_name(int32_t reason);
PPSCHED_API const char *ppsched_slot_use_name(int32_t slot_use);
PPSCHED_API const char *ppsched_connecting_name(int32_t connecting);
PPSCHED_API const char *ppsched_layer_place_name(int32_t layer_place);
PPSCHED_API const char *ppsched_chakra_sizes_name(int32_t chakra_sizes);
PPSCHED_API const char *ppsched_chakra_links_name(int32_t chakra_links);
PPSCHED_API const char *ppsched_log_level_name(int32_t log_level);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_PAIR_H
#define PPSCHED_PAIR_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define PPSCHED_MAX_WINDOWS 1000
#define PPSCHED_MAX_WINDOW_CHANNELS 4
#define PPSCHED_EXACT_WINDOWS 24
typedef struct ppsched_window {
    double time;
    uint32_t channel;
    uint32_t after;
} ppsched_window;
typedef struct ppsched_pair_windows {
    uint32_t size;
    uint32_t reserved;
    const ppsched_window *forward;
    size_t forward_count;
    const ppsched_window *backward;
    size_t backward_count;
    const ppsched_window *weight;
    size_t weight_count;
    double slowdown[4];
} ppsched_pair_windows;
typedef struct ppsched_window_span {
    double start;
    double end;
    int32_t kind;
    uint32_t index;
} ppsched_window_span;
typedef struct ppsched_pair_times {
    uint32_t size;
    uint32_t is_best;
    double time;
    double bound;
    double serial;
    double forward_end;
    double backward_end;
} ppsched_pair_times;
PPSCHED_API ppsched_status ppsched_pair_find_order(ppsched_window_span *out, size_t capacity,
                                                   size_t *needed, ppsched_pair_times *times,
                                                   const ppsched_pair_windows *pair,
                                                   const ppsched_environment *environment,
                                                   ppsched_error *error);
PPSCHED_API ppsched_status ppsched_pair_run_order(ppsched_window_span *out, size_t capacity,
                                                  size_t *needed, ppsched_pair_times *times,
                                                  const ppsched_pair_windows *pair,
                                                  const int32_t *kinds, size_t count,
                                                  const ppsched_environment *environment,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_windows(ppsched_config *config,
                                                      const ppsched_pair_windows *const *stages,
                                                      size_t count, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_SCENARIOS_H
#define PPSCHED_SCENARIOS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_scenarios ppsched_scenarios;
enum ppsched_dispatch {
    PPSCHED_DISPATCH_PLANNED = 0,
    PPSCHED_DISPATCH_READY = 1
};
#define PPSCHED_MAX_SCENARIOS 16777216
enum ppsched_rank_by {
    PPSCHED_RANK_BY_STEP = 0,
    PPSCHED_RANK_BY_MEAN = 1,
    PPSCHED_RANK_BY_QUANTILE = 2,
    PPSCHED_RANK_BY_WORST = 3
};
typedef struct ppsched_scenario_options {
    uint32_t size;
    int32_t dispatch;
    uint64_t seed;
    double jitter;
    double message_jitter;
    const double *device_factors;
    size_t device_factor_count;
    const double *stage_factors;
    size_t stage_factor_count;
    const double *link_factors;
    size_t link_factor_count;
} ppsched_scenario_options;
typedef struct ppsched_scenario_metrics {
    uint32_t size;
    uint32_t count;
    uint32_t best_scenario;
    uint32_t worst_scenario;
    uint32_t cause_device;
    uint32_t reserved;
    double mean;
    double best;
    double worst;
} ppsched_scenario_metrics;
PPSCHED_API ppsched_status ppsched_config_set_robust_objective(
    ppsched_config *config, int32_t rank_by, double quantile, int64_t count,
    const ppsched_scenario_options *options, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_schedule_evaluate_scenarios(
    ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
    int64_t count, const ppsched_scenario_options *options, ppsched_error *error);
PPSCHED_API void ppsched_scenarios_destroy(ppsched_scenarios *scenarios);
PPSCHED_API const double *ppsched_scenarios_makespans(const ppsched_scenarios *scenarios,
                                                      size_t *count);
PPSCHED_API const double *ppsched_scenarios_causes(const ppsched_scenarios *scenarios,
                                                   size_t *count);
PPSCHED_API const double *ppsched_scenarios_peaks(const ppsched_scenarios *scenarios,
                                                  size_t *count);
PPSCHED_API ppsched_status ppsched_scenarios_get_metrics(ppsched_scenario_metrics *out,
                                                         const ppsched_scenarios *scenarios,
                                                         ppsched_error *error);
PPSCHED_API ppsched_status ppsched_scenarios_get_quantile(double *out,
                                                          const ppsched_scenarios *scenarios,
                                                          double q, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_PLAN_H
#define PPSCHED_PLAN_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_plan ppsched_plan;
typedef struct ppsched_split_options {
    uint32_t size;
    uint32_t effort;
    const ppsched_layers *layers;
    uint32_t empty_stages;
    uint32_t reserved;
} ppsched_split_options;
typedef struct ppsched_slice_options {
    uint32_t size;
    uint32_t slice_count;
    const uint32_t *slices;
    double slice_time;
    double attention_share;
} ppsched_slice_options;
typedef struct ppsched_ranking_options {
    uint32_t size;
    uint32_t scenario_count;
    int32_t rank_by;
    uint32_t reserved;
    double quantile;
    const ppsched_scenario_options *scenario_options;
} ppsched_ranking_options;
typedef struct ppsched_plan_options {
    uint32_t size;
    int32_t objective;
    const char *const *strategies;
    const uint32_t *chunks;
    const uint32_t *group_sizes;
    const uint32_t *microbatches;
    const double *memory_limits;
    const ppsched_lower_options *lower;
    const ppsched_channel_model *channel;
    const ppsched_model_end *embedding;
    const ppsched_model_end *head;
    const ppsched_split_options *split;
    const ppsched_slice_options *slice;
    const ppsched_ranking_options *ranking;
    uint32_t strategy_count;
    uint32_t chunk_count;
    uint32_t group_size_count;
    uint32_t microbatch_count;
    uint32_t memory_limit_count;
    uint32_t placements;
    uint32_t effort;
    uint32_t order_effort;
    uint32_t runtimes;
    int32_t runtime;
    uint32_t offload;
    uint32_t free_device_order;
    uint32_t top;
    uint32_t reserved[7];
} ppsched_plan_options;
typedef struct ppsched_candidate {
    uint32_t size;
    ppsched_status status;
    const char *strategy;
    const char *reason;
    uint32_t chunks;
    uint32_t stages;
    uint32_t microbatches;
    uint32_t group_size;
    int32_t placement;
    uint32_t evaluated;
    uint32_t fits;
    uint32_t limit_device;
    uint32_t peak_device;
    uint32_t rank;
    double memory_limit;
    double step_time;
    double makespan;
    double span;
    double bubble_of_total;
    double bubble_of_ideal;
    double bubble_of_span;
    double peak_memory;
    double overshoot;
    double bound;
    double bytes;
    uint64_t transfers;
    uint32_t runs_on;
    uint32_t proved;
    uint32_t slices;
    uint32_t ordered;
    double scenario_time;
    uint64_t offloads;
    uint32_t offloaded;
    uint32_t min_group_size;
    double imbalance;
} ppsched_candidate;
PPSCHED_API ppsched_status ppsched_plan_create(ppsched_plan **out, const ppsched_config *config,
                                               const ppsched_plan_options *options,
                                               ppsched_error *error);
PPSCHED_API void ppsched_plan_destroy(ppsched_plan *plan);
PPSCHED_API ppsched_status ppsched_plan_evaluate(ppsched_plan *plan, uint32_t candidate,
                                                 ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error);
PPSCHED_API uint32_t ppsched_plan_count(const ppsched_plan *plan);
PPSCHED_API uint32_t ppsched_plan_candidate_at_rank(const ppsched_plan *plan, uint32_t rank);
PPSCHED_API ppsched_status ppsched_plan_get_candidate(ppsched_candidate *out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                  const ppsched_plan *plan, uint32_t candidate,
                                                  ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_recomputes(uint8_t *out, size_t capacity,
                                                       size_t *needed, const ppsched_plan *plan,
                                                       uint32_t candidate, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_microbatch_order(uint32_t *out, size_t capacity,
                                                             size_t *needed,
                                                             const ppsched_plan *plan,
                                                             uint32_t candidate,
                                                             ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_get_device_order(uint32_t *out, size_t capacity,
                                                         size_t *needed, const ppsched_plan *plan,
                                                         uint32_t candidate, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_create_config(ppsched_config **out,
                                                      const ppsched_plan *plan, uint32_t candidate,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_create_timeline(ppsched_timeline **out,
                                                        const ppsched_plan *plan,
                                                        uint32_t candidate, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_plan_find_least_limit(double *out, uint32_t *candidate,
                                                         const ppsched_plan *plan,
                                                         ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_PREFILL_H
#define PPSCHED_PREFILL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_prefill {
    uint32_t size;
    uint32_t chunks;
    uint64_t tokens;
    uint64_t block;
    double constant;
    double linear;
    double quadratic;
} ppsched_prefill;
typedef struct ppsched_prefill_figures {
    uint32_t size;
    uint32_t is_best;
    double makespan;
    double equal_makespan;
} ppsched_prefill_figures;
PPSCHED_API ppsched_status ppsched_prefill_find_chunks(uint64_t *out, size_t capacity,
                                                       size_t *needed,
                                                       ppsched_prefill_figures *figures,
                                                       const ppsched_prefill *prefill,
                                                       const ppsched_config *config,
                                                       const char *strategy, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_prefill_create_config(ppsched_config **out,
                                                         const ppsched_prefill *prefill,
                                                         const ppsched_config *config,
                                                         const uint64_t *chunks, size_t count,
                                                         ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_REPLAN_H
#define PPSCHED_REPLAN_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_replan ppsched_replan;
typedef struct ppsched_replan_options {
    uint32_t size;
    uint32_t running_devices;
    const char *strategy;
    const ppsched_layers *layers;
    const uint32_t *running_split;
    const uint8_t *running_recomputes;
    const uint32_t *running_order;
    const uint32_t *lost;
    const double *layer_bytes;
    uint32_t running_stages;
    uint32_t lost_count;
    uint32_t layer_count;
    uint32_t group_size;
    uint32_t free_device_order;
    uint32_t split_effort;
    double load_bandwidth;
    double restart_time;
    double steps;
} ppsched_replan_options;
typedef struct ppsched_replan_figures {
    uint32_t size;
    uint32_t can_stay;
    uint32_t stays;
    uint32_t fits;
    double running_step_time;
    double step_time;
    double moved_bytes;
    double loaded_bytes;
    double move_time;
    double pays_after;
    uint32_t group_size;
    uint32_t reserved;
} ppsched_replan_figures;
typedef struct ppsched_layer_move {
    uint32_t first_layer;
    uint32_t layer_count;
    uint32_t from_device;
    uint32_t to_device;
    double bytes;
} ppsched_layer_move;
PPSCHED_API ppsched_status ppsched_replan_create(ppsched_replan **out, const ppsched_config *config,
                                                 const ppsched_replan_options *options,
                                                 ppsched_error *error);
PPSCHED_API void ppsched_replan_destroy(ppsched_replan *replan);
PPSCHED_API ppsched_status ppsched_replan_get_figures(ppsched_replan_figures *out,
                                                      const ppsched_replan *replan,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_split(uint32_t *out, size_t capacity, size_t *needed,
                                                    const ppsched_replan *replan,
                                                    ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_recomputes(uint8_t *out, size_t capacity,
                                                         size_t *needed,
                                                         const ppsched_replan *replan,
                                                         ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_device_order(uint32_t *out, size_t capacity,
                                                           size_t *needed,
                                                           const ppsched_replan *replan,
                                                           ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replan_get_moves(ppsched_layer_move *out, size_t capacity,
                                                    size_t *needed, const ppsched_replan *replan,
                                                    ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_REPLICAS_H
#define PPSCHED_REPLICAS_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_replicas ppsched_replicas;
typedef struct ppsched_replicas_options {
    uint32_t size;
    uint32_t microbatches;
    const char *strategy;
    const ppsched_layers *layers;
    uint32_t chunks;
    uint32_t group_size;
    uint32_t free_device_order;
    uint32_t split_effort;
} ppsched_replicas_options;
typedef struct ppsched_replicas_figures {
    uint32_t size;
    uint32_t proved;
    double step_time;
    double equal_step_time;
} ppsched_replicas_figures;
typedef struct ppsched_replica {
    uint32_t size;
    uint32_t microbatches;
    uint32_t stages;
    uint32_t devices;
    uint32_t layers;
    uint32_t proved;
    double step_time;
    const uint32_t *split;
    const uint32_t *device_order;
    const uint8_t *recomputes;
} ppsched_replica;
PPSCHED_API ppsched_status ppsched_replicas_create(ppsched_replicas **out,
                                                   const ppsched_config *const *configs,
                                                   size_t count,
                                                   const ppsched_replicas_options *options,
                                                   ppsched_error *error);
PPSCHED_API void ppsched_replicas_destroy(ppsched_replicas *replicas);
PPSCHED_API ppsched_status ppsched_replicas_get_figures(ppsched_replicas_figures *out,
                                                        const ppsched_replicas *replicas,
                                                        ppsched_error *error);
PPSCHED_API ppsched_status ppsched_replicas_get_replica(ppsched_replica *out,
                                                        const ppsched_replicas *replicas,
                                                        size_t replica, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_RESOURCES_H
#define PPSCHED_RESOURCES_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_link {
    uint32_t sender;
    uint32_t receiver;
    uint32_t transfers;
    uint32_t most_in_flight;
} ppsched_link;
typedef struct ppsched_op_buffer {
    uint32_t slot;
    uint32_t until;
} ppsched_op_buffer;
PPSCHED_API ppsched_status ppsched_schedule_get_links(ppsched_link *out, size_t capacity,
                                                      size_t *needed,
                                                      const ppsched_schedule *schedule,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_schedule_get_buffers(ppsched_op_buffer *out, size_t capacity,
                                                        size_t *needed, uint32_t *slots,
                                                        const ppsched_schedule *schedule,
                                                        uint32_t device, ppsched_error *error);
enum ppsched_connecting {
    PPSCHED_CONNECTING_LINKS = 0,
    PPSCHED_CONNECTING_STAGES = 1
};
typedef struct ppsched_connection {
    uint32_t round;
    uint32_t sender;
    uint32_t receiver;
    uint32_t sending_stage;
    uint32_t receiving_stage;
} ppsched_connection;
PPSCHED_API ppsched_status ppsched_schedule_get_connections(ppsched_connection *out,
                                                            size_t capacity, size_t *needed,
                                                            const ppsched_schedule *schedule,
                                                            int32_t what, ppsched_error *error);
enum ppsched_slot_use {
    PPSCHED_SLOT_USE_STAGE_MICROBATCH = 0,
    PPSCHED_SLOT_USE_MICROBATCH = 1,
    PPSCHED_SLOT_USE_RECEIVE = 2
};
typedef struct ppsched_lifetime {
    uint32_t microbatch;
    uint32_t stage;
    int32_t kind;
    uint32_t slot;
    uint32_t first;
    uint32_t last;
} ppsched_lifetime;
typedef struct ppsched_arena {
    uint32_t stage;
    int32_t kind;
    uint32_t slots;
    uint32_t first;
    uint32_t count;
} ppsched_arena;
PPSCHED_API ppsched_status ppsched_schedule_get_lifetimes(ppsched_lifetime *out, size_t capacity,
                                                          size_t *needed,
                                                          const ppsched_schedule *schedule,
                                                          uint32_t device, int32_t use,
                                                          ppsched_error *error);
PPSCHED_API ppsched_status ppsched_schedule_get_arenas(ppsched_arena *out, size_t capacity,
                                                       size_t *needed,
                                                       const ppsched_schedule *schedule,
                                                       uint32_t device, int32_t use,
                                                       ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_STAGE_GRAPH_H
#define PPSCHED_STAGE_GRAPH_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
enum ppsched_stage_passes {
    PPSCHED_STAGE_PASSES_FORWARD_BACKWARD = 1,
    PPSCHED_STAGE_PASSES_FORWARD_INPUT = 2,
    PPSCHED_STAGE_PASSES_FORWARD = 3
};
PPSCHED_API ppsched_status ppsched_config_set_stage_inputs(ppsched_config *config,
                                                           const uint32_t *counts,
                                                           const uint32_t *inputs, size_t count,
                                                           ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_stage_passes(ppsched_config *config,
                                                           const int32_t *passes, size_t count,
                                                           ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_stage_microbatches(ppsched_config *config,
                                                                 uint32_t stage,
                                                                 const uint32_t *microbatches,
                                                                 size_t count,
                                                                 ppsched_error *error);
PPSCHED_API ppsched_status ppsched_config_set_stage_devices(ppsched_config *config,
                                                            const uint32_t *counts,
                                                            const uint32_t *devices, size_t count,
                                                            ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_STEADY_H
#define PPSCHED_STEADY_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_steady ppsched_steady;
enum ppsched_steady_reason {
    PPSCHED_STEADY_REASON_FOUND = 0,
    PPSCHED_STEADY_REASON_ORDER = 1,
    PPSCHED_STEADY_REASON_COSTS = 2,
    PPSCHED_STEADY_REASON_SHORT = 3,
    PPSCHED_STEADY_REASON_TRANSIENT = 4,
    PPSCHED_STEADY_REASON_ROUNDING = 5
};
typedef struct ppsched_steady_period {
    uint32_t size;
    int32_t reason;
    uint32_t block;
    uint32_t blocks;
    uint32_t transient;
    uint32_t timed;
    double time;
    double cycle_time;
    double rounding;
} ppsched_steady_period;
PPSCHED_API ppsched_status ppsched_steady_create(ppsched_steady **out, const ppsched_config *config,
                                                 const char *strategy, ppsched_error *error);
PPSCHED_API void ppsched_steady_destroy(ppsched_steady *steady);
PPSCHED_API ppsched_status ppsched_steady_get_period(ppsched_steady_period *out,
                                                     const ppsched_steady *steady,
                                                     ppsched_error *error);
PPSCHED_API ppsched_status ppsched_steady_get_metrics(ppsched_metrics *out,
                                                      const ppsched_steady *steady,
                                                      ppsched_error *error);
PPSCHED_API ppsched_status ppsched_steady_get_device_metrics(ppsched_device_metrics *out,
                                                             const ppsched_steady *steady,
                                                             uint32_t device, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_steady_get_idle(ppsched_idle *out, const ppsched_steady *steady,
                                                   uint32_t device, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_steady_get_peak_causes(double *out, size_t capacity,
                                                          size_t *needed,
                                                          const ppsched_steady *steady,
                                                          uint32_t device, ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_STRATEGY_H
#define PPSCHED_STRATEGY_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct ppsched_strategy_info {
    uint32_t size;
    int32_t placement;
    uint32_t option_count;
    uint32_t alias_count;
    uint32_t chunks;
    uint32_t weight_versions;
    uint32_t splits_backward;
    uint32_t flushes;
    uint32_t searches;
    uint32_t searches_long;
    uint32_t takes_group_size;
    uint32_t slices;
    uint32_t offloads;
    uint32_t reserved;
    uint64_t most_memory;
    const char *name;
    const char *summary;
    const char *source;
    const char *const *aliases;
} ppsched_strategy_info;
typedef struct ppsched_option_info {
    uint32_t size;
    uint32_t choice_count;
    int64_t minimum;
    int64_t maximum;
    const char *name;
    const char *default_text;
    const char *summary;
    const char *const *choices;
} ppsched_option_info;
PPSCHED_API uint32_t ppsched_strategy_count(void);
PPSCHED_API ppsched_status ppsched_strategy_get_info(ppsched_strategy_info *out, uint32_t strategy,
                                                     ppsched_error *error);
PPSCHED_API ppsched_status ppsched_strategy_get_option(ppsched_option_info *out, uint32_t strategy,
                                                       uint32_t option, ppsched_error *error);
PPSCHED_API ppsched_status ppsched_strategy_find(uint32_t *out, const char *name,
                                                 ppsched_error *error);
PPSCHED_API ppsched_status ppsched_strategy_fits(const char *name, const ppsched_config *config,
                                                 ppsched_error *error);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_VERSION_H
#define PPSCHED_VERSION_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#define PPSCHED_VERSION_MAJOR 0
#define PPSCHED_VERSION_MINOR 2
#define PPSCHED_VERSION_PATCH 0
#define PPSCHED_ABI_VERSION 1
PPSCHED_API uint32_t ppsched_version(void);
PPSCHED_API const char *ppsched_version_text(void);
PPSCHED_API uint32_t ppsched_abi_version(void);
#ifdef __cplusplus
}
#endif
#endif
#ifndef PPSCHED_PPSCHED_H
#define PPSCHED_PPSCHED_H
#endif
