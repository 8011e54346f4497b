/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves each list against its defaults and the other lists: what is left out of B, I and W follows from the rest. */
#include "ir/costs.h"

#include "base/checked.h"
#include "base/error.h"
#include "ir/stage_graph.h"

static const struct ppi_values *list_of(const ppsched_config *config, int32_t quantity)
{
    const struct ppi_values *list = &config->values[quantity];
    return list->values != NULL ? list : NULL;
}

static double value_or(const ppsched_config *config, int32_t quantity, uint32_t stage, double fallback)
{
    const struct ppi_values *list = list_of(config, quantity);
    return list != NULL ? ppi_value_at(list, stage) : fallback;
}

/* The whole less a part; 0 if the part is larger only by rounding. */
static double rest_of(double whole, double part)
{
    double rest = whole - part;
    return rest < 0 && -rest <= PPI_ROUNDING * part ? 0 : rest;
}

/* Whether they sum to zero up to rounding. */
static bool balances(double f, double i, double w)
{
    double sum = f + i + w, scale = ppi_larger(f, ppi_larger(-i, -w));
    return (sum < 0 ? -sum : sum) <= PPI_ROUNDING * scale;
}

static ppsched_status fail_times(uint32_t stage, const char *part, double whole_time, double part_time, ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                       "stage %u: %s (%g) is longer than backward_times (%g); give both backward_input_times and "
                       "backward_weight_times, or a shorter one",
                       stage, part, part_time, whole_time);
}

/* Times of F, B, I and W from the given lists: see enum ppsched_quantity. */
static ppsched_status resolve_durations(const ppsched_config *config, uint32_t stage, double *duration, ppsched_error *error)
{
    bool has_b = list_of(config, PPSCHED_QUANTITY_BACKWARD_TIMES) != NULL;
    bool has_i = list_of(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES) != NULL;
    bool has_w = list_of(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES) != NULL;
    double i = value_or(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, stage, 0);
    double w = value_or(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, stage, 0);
    double b = value_or(config, PPSCHED_QUANTITY_BACKWARD_TIMES, stage, has_i && has_w ? i + w : 2);
    if (!has_b && has_i != has_w)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is given alone; give %s or backward_times too",
                        has_i ? "backward_input_times" : "backward_weight_times",
                        has_i ? "backward_weight_times" : "backward_input_times");
    if (!has_i)
        i = has_w ? rest_of(b, w) : value_or(config, PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE, 0, 0.5) * b;
    if (!has_w)
        w = rest_of(b, i);
    if (i < 0)
        return fail_times(stage, "backward_weight_times", b, w, error);
    if (w < 0)
        return fail_times(stage, "backward_input_times", b, i, error);
    duration[PPSCHED_KIND_F] = value_or(config, PPSCHED_QUANTITY_FORWARD_TIMES, stage, 1);
    duration[PPSCHED_KIND_B] = b;
    duration[PPSCHED_KIND_I] = i;
    duration[PPSCHED_KIND_W] = w;
    return PPSCHED_OK;
}

static ppsched_status fail_sum(double f, double again, double i, double w, uint32_t stage, ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    if (again > 0)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "stage %u: mem_forward (%g), mem_recomputed_backward_input (%g), mem_backward_input (%g) and "
                           "mem_backward_weight (%g) must sum to 0",
                           stage, f, again, i, w);
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                       "stage %u: mem_forward (%g), mem_backward_input (%g) and mem_backward_weight (%g) must sum to 0", stage,
                       f, i, w);
}

static ppsched_status fail_release(double f, uint32_t stage, bool by_weight, ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                       "stage %u: %s releases more than mem_forward (%g) adds; the three must sum to 0%s", stage,
                       by_weight ? "mem_backward_weight" : "mem_backward_input", f,
                       by_weight ? ": give mem_backward_input too where I adds memory" : "");
}

/* Memory that F adds; if it is left out and the other lists of its sum are given, it follows from them. */
static double forward_memory(const ppsched_config *config, uint32_t stage)
{
    const struct ppi_values *input = list_of(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT),
                            *weight = list_of(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT);
    double again = value_or(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, stage, 0), rest = 1;
    if (input != NULL && weight != NULL)
        rest = ppi_larger(-(ppi_value_at(input, stage) + ppi_value_at(weight, stage)) - again, 0);
    return value_or(config, PPSCHED_QUANTITY_MEM_FORWARD, stage, rest);
}

/* Memory of a stage pass from the given lists; missing ones are set so that the sum is 0. */
static ppsched_status resolve_memory(const ppsched_config *config, uint32_t stage, double *memory, ppsched_error *error)
{
    bool has_i = list_of(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT) != NULL;
    bool has_w = list_of(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT) != NULL;
    double again = value_or(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, stage, 0);
    double i = value_or(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, stage, 0);
    double w = value_or(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, stage, 0);
    double f = forward_memory(config, stage);
    double whole = f + again;
    if (!has_w)
        w = -rest_of(whole, -i);
    else if (!has_i)
        i = -rest_of(whole, -w);
    if (w > 0 || (i > 0 && !has_i))
        return fail_release(whole, stage, i > 0, error);
    if (has_i && has_w && !balances(whole, i, w))
        return fail_sum(f, again, i, w, stage, error);
    i = whole + i < 0 ? -whole : i; /* rounding errors must not add up over microbatches */
    w = -(whole + i);
    memory[PPSCHED_KIND_F] = f;
    memory[PPSCHED_KIND_B] = again > 0 || i > 0 ? -f : i + w;
    memory[PPSCHED_KIND_I] = ppi_smaller(i, 0);
    memory[PPSCHED_KIND_W] = w;
    return PPSCHED_OK;
}

struct ppi_rise ppi_config_rise(const ppsched_config *config, uint32_t stage)
{
    double again = value_or(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, stage, 0);
    double added = ppi_larger(value_or(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, stage, 0), 0);
    return (struct ppi_rise){.input = again + added,
                             .whole = value_or(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, stage, again) + added};
}

bool ppi_memory_rises(const ppsched_config *config)
{
    const struct ppi_values *input = list_of(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT);
    for (size_t i = 0; input != NULL && i < input->count; i++)
        if (input->values[i] > 0)
            return true;
    return list_of(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT) != NULL ||
           list_of(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD) != NULL;
}

ppsched_status ppi_resolve_stage(const ppsched_config *config, uint32_t stage, struct ppi_instance *out, ppsched_error *error)
{
    ppsched_status status = resolve_durations(config, stage, out->duration, error);
    if (status == PPSCHED_OK)
        status = resolve_memory(config, stage, out->memory, error);
    return status;
}

void ppi_add_op_overhead(double *duration, const ppsched_config *config)
{
    const struct ppi_values *overhead = list_of(config, PPSCHED_QUANTITY_OP_OVERHEAD);
    for (size_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W && overhead != NULL; kind++)
        duration[kind] += ppi_value_at(overhead, kind - PPSCHED_KIND_F);
}

double ppi_bytes_of(const ppsched_config *config, uint32_t stage, bool backward)
{
    const struct ppi_values *gradients = list_of(config, PPSCHED_QUANTITY_GRADIENT_BYTES);
    if (backward && gradients != NULL)
        return ppi_value_at(gradients, stage);
    return value_or(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, backward ? stage - 1 : stage, 0);
}

struct ppi_transfer_cost ppi_link_cost_of(const ppsched_config *config, double bytes, uint32_t from, uint32_t to)
{
    const struct ppi_values *latency = list_of(config, PPSCHED_QUANTITY_P2P_TIME),
                            *bandwidth = list_of(config, PPSCHED_QUANTITY_P2P_BANDWIDTH);
    size_t pair = (size_t)from * config->shape.devices + to;
    if (from == to)
        return (struct ppi_transfer_cost){0, 0};
    return (struct ppi_transfer_cost){.latency = latency != NULL ? ppi_value_at(latency, pair) : 0,
                                      .occupancy = bandwidth != NULL ? bytes / ppi_value_at(bandwidth, pair) : 0};
}

struct ppi_transfer_cost ppi_transfer_cost_of(const ppsched_config *config, uint32_t stage, bool backward, uint32_t from,
                                              uint32_t to)
{
    return ppi_link_cost_of(config, from != to ? ppi_bytes_of(config, stage, backward) : 0, from, to);
}

void ppi_add_static_memory(double *sum, const ppsched_config *config, uint32_t stage, uint32_t versions)
{
    const struct ppi_values *fixed = &config->values[PPSCHED_QUANTITY_MEM_STATIC],
                            *weights = &config->values[PPSCHED_QUANTITY_MEM_WEIGHTS];
    versions = config->weight_versions != 0 ? config->weight_versions : versions;
    if (fixed->values != NULL)
        *sum += ppi_value_at(fixed, stage);
    if (weights->values != NULL)
        *sum += versions * ppi_value_at(weights, stage);
    if (list_of(config, PPSCHED_QUANTITY_MEM_OPTIMIZER) != NULL)
        *sum += value_or(config, PPSCHED_QUANTITY_MEM_OPTIMIZER, stage, 0);
}

double ppi_sharding_time(const ppsched_config *config, uint32_t stage, bool unshards, uint32_t device)
{
    const struct ppi_values *times = list_of(config,
                                             unshards ? PPSCHED_QUANTITY_UNSHARD_TIMES : PPSCHED_QUANTITY_REDUCE_GRAD_TIMES);
    double bytes = value_or(config, unshards ? PPSCHED_QUANTITY_UNSHARD_BYTES : PPSCHED_QUANTITY_REDUCE_GRAD_BYTES, stage, 0);
    if (times != NULL)
        return ppi_value_at(times, stage);
    return bytes / value_or(config, PPSCHED_QUANTITY_SHARDING_BANDWIDTH, device, PPI_INFINITE);
}

double ppi_sharding_slowdown(const ppsched_config *config, uint32_t device)
{
    return value_or(config, PPSCHED_QUANTITY_SHARDING_SLOWDOWN, device, 1);
}

bool ppi_has_sharding_times(const ppsched_config *config)
{
    bool has_bytes = list_of(config, PPSCHED_QUANTITY_UNSHARD_BYTES) != NULL ||
                     list_of(config, PPSCHED_QUANTITY_REDUCE_GRAD_BYTES) != NULL;
    return list_of(config, PPSCHED_QUANTITY_UNSHARD_TIMES) != NULL ||
           list_of(config, PPSCHED_QUANTITY_REDUCE_GRAD_TIMES) != NULL ||
           (has_bytes && list_of(config, PPSCHED_QUANTITY_SHARDING_BANDWIDTH) != NULL);
}

double ppi_recompute_time(const ppsched_config *config, uint32_t stage, double forward, uint32_t device)
{
    const struct ppi_values *given = list_of(config, PPSCHED_QUANTITY_RECOMPUTE_TIMES);
    return given != NULL
               ? ppi_value_at(given, stage) / ppi_speed_of(config, device) * ppi_scale_of(config, PPSCHED_KIND_F, stage, device)
               : forward;
}

double ppi_copy_time(const ppsched_config *config, uint32_t stage, bool offloads, uint32_t device)
{
    double moved = value_or(config, PPSCHED_QUANTITY_MEM_OFFLOAD, stage, forward_memory(config, stage));
    double bytes = value_or(config, PPSCHED_QUANTITY_OFFLOAD_BYTES, stage, moved);
    double copied = value_or(config, PPSCHED_QUANTITY_HOST_LATENCY, device, 0) +
                    bytes / value_or(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, device, PPI_INFINITE);
    double offload = value_or(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, stage, copied);
    return offloads ? offload : value_or(config, PPSCHED_QUANTITY_RELOAD_TIMES, stage, offload);
}

double ppi_copy_latency(const ppsched_config *config, uint32_t device)
{
    double latency = value_or(config, PPSCHED_QUANTITY_HOST_LATENCY, device, 0);
    return list_of(config, PPSCHED_QUANTITY_OFFLOAD_TIMES) != NULL || list_of(config, PPSCHED_QUANTITY_RELOAD_TIMES) != NULL
               ? 0
               : latency;
}

double ppi_copy_slowdown(const ppsched_config *config, uint32_t device)
{
    return value_or(config, PPSCHED_QUANTITY_COPY_SLOWDOWN, device, 1);
}

double ppi_send_overhead(const ppsched_config *config, uint32_t device)
{
    return value_or(config, PPSCHED_QUANTITY_SEND_OVERHEAD, device, 0);
}

void ppi_add_other_memory(double *sum, const ppsched_config *config, uint32_t device)
{
    if (list_of(config, PPSCHED_QUANTITY_MEM_OTHER) != NULL)
        *sum += value_or(config, PPSCHED_QUANTITY_MEM_OTHER, device, 0);
}

void ppi_fixed_memory(double out[PPI_FIXED_STAGE_CAUSES], const ppsched_config *config, uint32_t stage, uint32_t versions)
{
    versions = config->weight_versions != 0 ? config->weight_versions : versions;
    out[0] = value_or(config, PPSCHED_QUANTITY_MEM_STATIC, stage, 0);
    out[1] = versions * value_or(config, PPSCHED_QUANTITY_MEM_WEIGHTS, stage, 0);
    out[2] = value_or(config, PPSCHED_QUANTITY_MEM_OPTIMIZER, stage, 0);
}

/* Times divided by speeds and with op_overhead added must be finite; the lists themselves are. */
static ppsched_status check_durations(const double *duration, uint32_t stage, ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
        if (!ppi_is_finite(duration[kind]))
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                               "stage %u: a time and op_overhead sum to more than a double holds", stage);
    return PPSCHED_OK;
}

/* Where frozen weights leave a stage without W, its I releases all. */
static ppsched_status freeze(struct ppi_instance *instance, const ppsched_config *config, uint32_t stage, ppsched_error *error)
{
    const struct ppi_rise rise = ppi_config_rise(config, stage);
    instance->memory[PPSCHED_KIND_I] = instance->memory[PPSCHED_KIND_B];
    if (rise.input == 0 && rise.whole == 0)
        return PPSCHED_OK;
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){PPSCHED_NONE, stage, PPSCHED_NONE, PPSCHED_NONE},
                       "stage %u has passes FI, whose memory cannot rise inside the backward; set mem_backward_input to 0 or "
                       "less, and no recomputed memory",
                       stage);
}

static ppsched_status fill_instance(struct ppi_instance *instance, const ppsched_config *config,
                                    const struct ppi_placement *placement, size_t first, uint32_t stage, ppsched_error *error)
{
    const uint32_t *device = placement->device_of + first;
    ppsched_status status = ppi_resolve_stage(config, stage, instance, error);
    struct ppi_transfer_cost forward = {0, 0}, backward = {0, 0};
    if (status == PPSCHED_OK && ppi_stage_is_frozen(placement->graph, stage))
        status = freeze(instance, config, stage, error);
    if (stage > 0 && placement->graph == NULL) /* else its links have their own delays */
        forward = ppi_transfer_cost_of(config, stage - 1, false, device[stage - 1], device[stage]);
    if (stage + 1 < config->shape.stages && placement->graph == NULL)
        backward = ppi_transfer_cost_of(config, stage + 1, true, device[stage + 1], device[stage]);
    if (status == PPSCHED_OK && ppi_has_speeds(config))
        status = placement->graph != NULL ? ppi_put_on_slowest(instance->duration, config, placement, stage, error)
                                          : ppi_check_on_device(instance->duration, config, device[stage], stage, error);
    if (list_of(config, PPSCHED_QUANTITY_OP_OVERHEAD) != NULL && status == PPSCHED_OK) {
        ppi_add_op_overhead(instance->duration, config);
        status = check_durations(instance->duration, stage, error);
    }
    instance->device = device[stage];
    instance->forward_delay = forward.occupancy + forward.latency;
    instance->backward_delay = backward.occupancy + backward.latency;
    instance->forward_latency = forward.latency;
    instance->backward_latency = backward.latency;
    if (status == PPSCHED_OK && !(ppi_is_finite(instance->forward_delay) && ppi_is_finite(instance->backward_delay)))
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){device[stage], stage, PPSCHED_NONE, PPSCHED_NONE},
                           "stage %u: bytes / p2p_bandwidth + p2p_time is too large for a double", stage);
    return status;
}

bool ppi_has_factors(const ppsched_config *config)
{
    return list_of(config, PPSCHED_QUANTITY_MICROBATCH_SCALE) != NULL ||
           list_of(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE) != NULL ||
           list_of(config, PPSCHED_QUANTITY_SLICE_SCALE) != NULL;
}

bool ppi_has_stage_factors(const ppsched_config *config)
{
    return config->values[PPSCHED_QUANTITY_SLICE_SCALE].count > config->shape.slices;
}

struct ppi_factor ppi_config_factor(const ppsched_config *config, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    const uint32_t cell = ppi_has_stage_factors(config) ? stage * config->shape.slices + slice : slice;
    double scale = value_or(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, microbatch, 1);
    return (struct ppi_factor){.time = scale * value_or(config, PPSCHED_QUANTITY_SLICE_SCALE, cell, 1),
                               .memory = value_or(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, microbatch, scale)};
}

/* The factors of a stage; `stage` is PPSCHED_NONE where they are those of all. */
static ppsched_status fill_factors(struct ppi_factor *out, const ppsched_config *config, uint32_t stage, ppsched_error *error)
{
    const struct ppi_shape *shape = &config->shape;
    for (uint32_t m = 0; m < shape->microbatches; m++)
        for (uint32_t k = 0; k < shape->slices; k++) {
            struct ppi_factor *factor = &out[ppi_micro_slice(shape, m, k)];
            *factor = ppi_config_factor(config, stage != PPSCHED_NONE ? stage : 0, m, k);
            if (!ppi_is_finite(factor->time))
                return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, stage, m, k},
                                   "microbatch_scale times slice_scale of microbatch %u, slice %u is too large for a double", m,
                                   k);
        }
    return PPSCHED_OK;
}

ppsched_status ppi_factors_fill(struct ppi_costs *costs, const ppsched_config *config, ppsched_error *error)
{
    const struct ppi_shape *shape = &config->shape;
    if (!ppi_has_factors(config)) {
        ppi_release(&costs->host, costs->factors);
        costs->factors = NULL;
        return PPSCHED_OK;
    }
    const bool by_stage = ppi_has_stage_factors(config);
    const size_t micro_slices = (size_t)shape->microbatches * shape->slices, step = by_stage ? micro_slices : 0;
    const uint32_t rows = by_stage ? shape->stages : 1;
    if (costs->factors == NULL || costs->factor_step != step) {
        ppi_release(&costs->host, costs->factors);
        costs->factors = ppi_allocate(&costs->host, rows * micro_slices, sizeof *costs->factors);
        costs->factor_step = step;
    }
    if (costs->factors == NULL)
        return ppi_fail_memory(error, "the costs");
    ppsched_status status = PPSCHED_OK;
    for (uint32_t s = 0; s < rows && status == PPSCHED_OK; s++)
        status = fill_factors(costs->factors + s * step, config, by_stage ? s : PPSCHED_NONE, error);
    return status;
}

static ppsched_status fill_rises(struct ppi_costs *costs, const ppsched_config *config, ppsched_error *error)
{
    if (!ppi_memory_rises(config)) {
        ppi_release(&costs->host, costs->rises);
        costs->rises = NULL;
        return PPSCHED_OK;
    }
    if (costs->rises == NULL)
        costs->rises = ppi_allocate(&costs->host, config->shape.stages, sizeof *costs->rises);
    if (costs->rises == NULL)
        return ppi_fail_memory(error, "the costs");
    for (uint32_t s = 0; s < config->shape.stages; s++)
        costs->rises[s] = ppi_config_rise(config, s);
    return PPSCHED_OK;
}

/* Rounds the times of all stage instances. */
static void round_times(struct ppi_costs *costs, size_t instances, double step)
{
    for (size_t i = 0; i < instances && step > 0; i++) {
        struct ppi_instance *instance = &costs->instances[i];
        for (int kind = 0; kind < PPI_COMPUTE_KINDS; kind++)
            instance->duration[kind] = ppi_multiple_of(instance->duration[kind], step);
        instance->forward_delay = ppi_multiple_of(instance->forward_delay, step);
        instance->backward_delay = ppi_multiple_of(instance->backward_delay, step);
    }
}

ppsched_status ppi_costs_fill(struct ppi_costs *costs, const ppsched_config *config, const struct ppi_placement *placement,
                              ppsched_error *error)
{
    const uint32_t stages = config->shape.stages;
    ppsched_status status = PPSCHED_OK;
    costs->overlapped = config->values[PPSCHED_QUANTITY_OVERLAPPED_TIMES];
    costs->speeds = config->values[PPSCHED_QUANTITY_DEVICE_SPEEDS];
    costs->device_scale = config->values[PPSCHED_QUANTITY_DEVICE_SCALE];
    costs->stage_scale = config->values[PPSCHED_QUANTITY_STAGE_SCALE];
    costs->pair_ends = config->windows != NULL ? config->windows->ends : NULL;
    costs->input_pairs = config->windows != NULL && ppi_windows_have_weight(config->windows) ? config->windows->inputs : NULL;
    costs->pair_end_stages = config->windows != NULL ? config->windows->stages : 1;
    costs->stages = stages;
    costs->devices = config->shape.devices;
    costs->senders_wait = config->senders_wait;
    if (costs->factors != NULL || ppi_has_factors(config))
        status = ppi_factors_fill(costs, config, error);
    if (status == PPSCHED_OK && (costs->rises != NULL || ppi_memory_rises(config)))
        status = fill_rises(costs, config, error);
    for (uint32_t c = 0; c < placement->copies; c++)
        for (uint32_t s = 0; s < stages && status == PPSCHED_OK; s++) {
            struct ppi_instance *instance = &costs->instances[(size_t)c * stages + s];
            instance->factors = costs->factors != NULL ? costs->factors + s * costs->factor_step : NULL;
            status = fill_instance(instance, config, placement, (size_t)c * stages, s, error);
        }
    round_times(costs, (size_t)placement->copies * stages, config->time_step);
    if (status == PPSCHED_OK && placement->graph != NULL)
        status = ppi_link_costs_fill(costs, config, placement, error);
    return status;
}

ppsched_status ppi_costs_make(struct ppi_costs *out, const ppsched_config *config, const struct ppi_placement *placement,
                              ppsched_error *error)
{
    struct ppi_costs costs = {.host = config->host};
    costs.instances = ppi_allocate_zeroed(&config->host, (size_t)placement->copies * config->shape.stages,
                                          sizeof *costs.instances);
    if (costs.instances == NULL)
        return ppi_fail_memory(error, "the costs");
    ppsched_status status = ppi_costs_fill(&costs, config, placement, error);
    if (status != PPSCHED_OK) {
        ppi_costs_clear(&costs);
        return status;
    }
    *out = costs;
    return PPSCHED_OK;
}

void ppi_costs_clear(struct ppi_costs *costs)
{
    ppi_release(&costs->host, costs->instances);
    ppi_release(&costs->host, costs->factors);
    ppi_release(&costs->host, costs->rises);
    ppi_release(&costs->host, costs->links);
    costs->links = NULL;
    costs->instances = NULL;
    costs->rises = NULL;
    costs->factors = NULL;
}
