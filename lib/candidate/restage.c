/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the costs of a config to another number of stages, microbatches or slices. Stages are divided evenly or joined; an
 * embedding and a head stay whole. */
#include "candidate/restage.h"

#include "base/checked.h"
#include "base/error.h"
#include "ir/costs.h"
#include "pair/stages.h"

/* The costs of a stage that an embedding or a head has a share of. */
enum part { FORWARD, BACKWARD, INPUT, WEIGHT, MEM_FORWARD, MEM_INPUT, MEM_WEIGHT, MEM_AGAIN, STATIC, WEIGHTS, PARTS };

static const struct {
    int32_t quantity;
    size_t end;          /* offset in a ppsched_model_end */
    bool per_microbatch; /* grows with the size of a microbatch */
} memory_parts[PARTS] = {
    [FORWARD] = {PPSCHED_QUANTITY_FORWARD_TIMES, offsetof(ppsched_model_end, forward_time), true},
    [BACKWARD] = {PPSCHED_QUANTITY_BACKWARD_TIMES, offsetof(ppsched_model_end, backward_time), true},
    [INPUT] = {PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, offsetof(ppsched_model_end, backward_input_time), true},
    [WEIGHT] = {PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, offsetof(ppsched_model_end, backward_weight_time), true},
    [MEM_FORWARD] = {PPSCHED_QUANTITY_MEM_FORWARD, offsetof(ppsched_model_end, mem_forward), true},
    [MEM_INPUT] = {PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, offsetof(ppsched_model_end, mem_backward_input), true},
    [MEM_WEIGHT] = {PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, offsetof(ppsched_model_end, mem_backward_weight), true},
    [MEM_AGAIN] = {PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, offsetof(ppsched_model_end, mem_backward_input), true},
    [STATIC] = {PPSCHED_QUANTITY_MEM_STATIC, offsetof(ppsched_model_end, mem_static), false},
    [WEIGHTS] = {PPSCHED_QUANTITY_MEM_WEIGHTS, offsetof(ppsched_model_end, mem_weights), false},
};

struct making {
    const ppsched_config *from;
    ppsched_config *to;
    ppsched_model_end embedding, head;
    struct ppi_slicing slicing; /* zero unless microbatches are cut into slices */
    double size;                /* of a new microbatch or slice, relative to the old */
    bool rises;                 /* memory rises inside backwards */
    double *old;                /* PARTS values for each old stage */
    double *list;               /* one value for each new stage */
};

/* The memory that an I takes at its start and the memory that it releases are separate parts. */
static double end_value(const ppsched_model_end *end, enum part part)
{
    double value = *(const double *)(const void *)((const char *)end + memory_parts[part].end);
    return part == MEM_INPUT ? ppi_smaller(value, 0) : part == MEM_AGAIN ? ppi_larger(value, 0) : value;
}

static double value_or_0(const ppsched_config *config, int32_t quantity, uint32_t stage)
{
    const struct ppi_values *list = &config->values[quantity];
    return list->values != NULL ? ppi_value_at(list, stage) : 0;
}

static ppsched_status take_old(struct making *making, ppsched_error *error)
{
    for (uint32_t s = 0; s < making->from->shape.stages; s++) {
        struct ppi_instance instance;
        ppsched_status status = ppi_resolve_stage(making->from, s, &instance, error);
        if (status != PPSCHED_OK)
            return status;
        const double values[PARTS] = {instance.duration[PPSCHED_KIND_F],
                                      instance.duration[PPSCHED_KIND_B],
                                      instance.duration[PPSCHED_KIND_I],
                                      instance.duration[PPSCHED_KIND_W],
                                      instance.memory[PPSCHED_KIND_F],
                                      instance.memory[PPSCHED_KIND_I],
                                      instance.memory[PPSCHED_KIND_W],
                                      ppi_config_rise(making->from, s).input,
                                      value_or_0(making->from, PPSCHED_QUANTITY_MEM_STATIC, s),
                                      value_or_0(making->from, PPSCHED_QUANTITY_MEM_WEIGHTS, s)};
        for (int part = 0; part < PARTS; part++)
            making->old[(size_t)s * PARTS + part] = values[part] * (memory_parts[part].per_microbatch ? making->size : 1);
    }
    return PPSCHED_OK;
}

/* --- embedding and head --- */

static ppsched_status check_end(const ppsched_model_end *end, const char *name, ppsched_error *error)
{
    const struct {
        const char *name;
        double value;
    } costs[] = {{"forward_time", end->forward_time},
                 {"backward_time", end->backward_time},
                 {"backward_input_time", end->backward_input_time},
                 {"backward_weight_time", end->backward_weight_time},
                 {"mem_forward", end->mem_forward},
                 {"mem_static", end->mem_static},
                 {"mem_weights", end->mem_weights}};
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        if (!ppi_is_finite(costs[i].value) || costs[i].value < 0)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: %s is %g; it must be finite and at least 0", name, costs[i].name,
                            costs[i].value);
    if (!ppi_is_finite(end->mem_backward_input))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: mem_backward_input is %g; it must be finite", name,
                        end->mem_backward_input);
    if (!ppi_is_finite(end->mem_backward_weight) || end->mem_backward_weight > 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: mem_backward_weight is %g; it must be finite and at most 0", name,
                        end->mem_backward_weight);
    double left = end->mem_forward + end->mem_backward_input + end->mem_backward_weight;
    if ((left < 0 ? -left : left) > PPI_ROUNDING * (end->mem_forward + ppi_larger(end->mem_backward_input, 0)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "%s: mem_forward (%g), mem_backward_input (%g) and mem_backward_weight (%g) must sum to 0", name,
                        end->mem_forward, end->mem_backward_input, end->mem_backward_weight);
    return PPSCHED_OK;
}

static ppsched_status check_ends(const ppsched_model_end *embedding, const ppsched_model_end *head, ppsched_error *error)
{
    ppsched_status status = embedding != NULL ? check_end(embedding, "embedding", error) : PPSCHED_OK;
    return status == PPSCHED_OK && head != NULL ? check_end(head, "head", error) : status;
}

/* Fills in the times of B, I and W that are 0: from B = I + W, or by the ratio in the stage, whose values are `stage`. */
static ppsched_status complete(ppsched_model_end *end, const double *stage, const char *name, ppsched_error *error)
{
    double whole = end->backward_time, input = end->backward_input_time, weight = end->backward_weight_time;
    double one = input + weight, left = whole - one;
    if (whole == 0) {
        end->backward_time = one;
    } else if (one == 0 && stage[BACKWARD] > 0) {
        end->backward_input_time = whole * (stage[INPUT] / stage[BACKWARD]);
        end->backward_weight_time = whole * (stage[WEIGHT] / stage[BACKWARD]);
    } else if (input == 0 || weight == 0) {
        if (left < -PPI_ROUNDING * one)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: backward_%s_time (%g) is above backward_time (%g)", name,
                            input == 0 ? "weight" : "input", one, whole);
        *(input == 0 ? &end->backward_input_time : &end->backward_weight_time) = left > PPI_ROUNDING * one ? left : 0;
    }
    return PPSCHED_OK;
}

/* The share of the embedding or head in an old stage, which is not divided. */
static double kept(const struct making *making, uint32_t stage, enum part part)
{
    double ends = 0, size = memory_parts[part].per_microbatch ? making->size : 1;
    if (stage == 0)
        ends += end_value(&making->embedding, part) * size;
    if (stage + 1 == making->from->shape.stages)
        ends += end_value(&making->head, part) * size;
    return ends;
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

/* Checks that an embedding or a head costs no more than the stage it is in. */
static ppsched_status check_kept(const struct making *making, uint32_t stage, ppsched_error *error)
{
    for (int part = 0; part < PARTS; part++) {
        double whole = making->old[(size_t)stage * PARTS + part], apart = kept(making, stage, (enum part)part);
        if (magnitude(apart) > magnitude(whole) * (1 + PPI_ROUNDING))
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, stage, PPSCHED_NONE, PPSCHED_NONE},
                               "stage %u: %s is %g, but the embedding or head in this stage takes %g; include them in the "
                               "stage, or give layers, where they are separate",
                               stage, ppi_quantity_name(memory_parts[part].quantity), whole, apart);
    }
    return PPSCHED_OK;
}

static ppsched_status take_ends(struct making *making, const ppsched_model_end *embedding, const ppsched_model_end *head,
                                ppsched_error *error)
{
    uint32_t last = making->from->shape.stages - 1;
    ppsched_status status = PPSCHED_OK;
    if (embedding != NULL) {
        making->embedding = *embedding;
        status = complete(&making->embedding, making->old, "embedding", error);
    }
    if (status == PPSCHED_OK && head != NULL) {
        making->head = *head;
        status = complete(&making->head, making->old + (size_t)last * PARTS, "head", error);
    }
    if (status == PPSCHED_OK)
        status = check_kept(making, 0, error);
    return status == PPSCHED_OK ? check_kept(making, last, error) : status;
}

/* --- the stages --- */

static void divide(struct making *making, enum part part, uint32_t pieces)
{
    uint32_t stages = making->to->shape.stages;
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t old = s / pieces;
        double whole = making->old[(size_t)old * PARTS + part], rest = whole - kept(making, old, part);
        making->list[s] = magnitude(rest) > magnitude(whole) * PPI_ROUNDING ? rest / pieces : 0;
    }
    double size = memory_parts[part].per_microbatch ? making->size : 1;
    making->list[0] += end_value(&making->embedding, part) * size;
    making->list[stages - 1] += end_value(&making->head, part) * size;
}

static void join(struct making *making, enum part part, uint32_t pieces)
{
    for (uint32_t s = 0; s < making->to->shape.stages; s++) {
        making->list[s] = 0;
        for (uint32_t i = 0; i < pieces; i++)
            making->list[s] += making->old[((size_t)s * pieces + i) * PARTS + part];
    }
}

static ppsched_status put_part(struct making *making, enum part part, ppsched_error *error)
{
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    if ((part == STATIC || part == WEIGHTS) && making->from->values[memory_parts[part].quantity].values == NULL)
        return PPSCHED_OK;
    if (part == MEM_AGAIN && !making->rises)
        return PPSCHED_OK;
    if (new > old)
        divide(making, part, new / old);
    else
        join(making, part, old / new);
    for (uint32_t s = 0; s < new && (part == FORWARD || part == BACKWARD || part == INPUT); s++)
        making->list[s] += making->slicing.slice_time;
    return ppi_config_set_values(making->to, memory_parts[part].quantity, making->list, new, error);
}

/* Slice k of K has (2k + 1) / (K * K) of the work of causal attention. */
static ppsched_status put_slice_scale(struct making *making, ppsched_error *error)
{
    const uint32_t slices = making->to->shape.slices, stages = making->to->shape.stages;
    const double *shares = making->slicing.shares != NULL ? making->slicing.shares : &making->slicing.attention_share;
    uint32_t rows = 1; /* one for all stages, unless they differ */
    for (uint32_t s = 1; s < stages && making->slicing.shares != NULL; s++)
        rows = shares[s] != shares[0] ? stages : rows;
    if (rows == 1 && shares[0] == 0)
        return PPSCHED_OK;
    double *scale = ppi_allocate(&making->to->host, (size_t)rows * slices, sizeof *scale);
    if (scale == NULL)
        return ppi_fail_memory(error, "the slices' times");
    for (uint32_t s = 0; s < rows; s++)
        for (uint32_t k = 0; k < slices; k++)
            scale[s * (size_t)slices + k] = 1 - shares[s] + shares[s] * (2.0 * k + 1) / slices;
    ppsched_status status = ppi_config_set_values(making->to, PPSCHED_QUANTITY_SLICE_SCALE, scale, (size_t)rows * slices,
                                                  error);
    ppi_release(&making->to->host, scale);
    return status;
}

/* The bytes between two stages are those at the same place in the old stages. */
static ppsched_status put_bytes(struct making *making, int32_t quantity, ppsched_error *error)
{
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    const struct ppi_values *list = &making->from->values[quantity];
    if (list->values == NULL)
        return PPSCHED_OK;
    for (uint32_t s = 0; s < new; s++) {
        uint32_t first = new > old ? s / (new / old) : s *(old / new);
        uint32_t last = new > old ? first : first + old / new - 1;
        making->list[s] = making->size * ppi_value_at(list, quantity == PPSCHED_QUANTITY_ACTIVATION_BYTES ? last : first);
    }
    return ppi_config_set_values(making->to, quantity, making->list, new, error);
}

/* The value of a new stage, which is one of `pieces` equal parts of old stage `first`, or all stages from `first` to
 * `last`. */
static double shared(const struct ppi_values *list, enum ppi_owner owner, uint32_t first, uint32_t last, uint32_t pieces)
{
    double found = ppi_value_at(list, owner == PPI_OF_LAST_BORDER ? last : first);
    bool adds_up = owner == PPI_OF_PARAMETERS || owner == PPI_OF_ACTIVATIONS;
    for (uint32_t old = first + 1; old <= last && (adds_up || owner == PPI_OF_OPS); old++)
        found = owner == PPI_OF_OPS ? ppi_larger(found, ppi_value_at(list, old)) : found + ppi_value_at(list, old);
    return adds_up ? found / pieces : found;
}

/* Parameters and activations are divided evenly or added up. All but parameters grow with the microbatch. Work space is that
 * of the largest op. */
static ppsched_status put_holding(struct making *making, int32_t quantity, ppsched_error *error)
{
    const enum ppi_owner owner = ppi_quantity_owner(quantity);
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    const struct ppi_values *list = &making->from->values[quantity];
    if (list->values == NULL)
        return PPSCHED_OK;
    for (uint32_t s = 0; s < new; s++) {
        uint32_t first = new > old ? s / (new / old) : s *(old / new);
        uint32_t last = new > old ? first : first + old / new - 1;
        making->list[s] = shared(list, owner, first, last, new > old ? new / old : 1) *
                          (owner == PPI_OF_PARAMETERS ? 1 : making->size);
    }
    return ppi_config_set_values(making->to, quantity, making->list, new, error);
}

/* What a whole backward of an old stage holds all the time, and what it holds for its largest recomputed layer. */
struct in_turn {
    double stays, largest;
};

static struct in_turn find_in_turn(const struct making *making, uint32_t stage)
{
    double stays = ppi_larger(value_or_0(making->from, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, stage), 0);
    return (struct in_turn){stays, ppi_larger(ppi_config_rise(making->from, stage).whole - stays, 0)};
}

/* A part of a stage has the same largest recomputed layer as the whole stage. Joined stages have the largest of all. */
static ppsched_status put_in_turn(struct making *making, ppsched_error *error)
{
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    const struct ppi_values *again = &making->to->values[PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT];
    for (uint32_t s = 0; s < new && making->rises; s++) {
        uint32_t first = new > old ? s / (new / old) : s *(old / new), count = new > old ? 1 : old / new;
        struct in_turn sum = {0, 0};
        for (uint32_t i = 0; i < count; i++) {
            const struct in_turn one = find_in_turn(making, first + i);
            sum.stays += one.stays / (new > old ? new / old : 1);
            sum.largest = ppi_larger(sum.largest, one.largest);
        }
        making->list[s] = ppi_smaller((sum.stays + sum.largest) * making->size, ppi_value_at(again, s));
    }
    if (!making->rises)
        return PPSCHED_OK;
    return ppi_config_set_values(making->to, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, making->list, new, error);
}

/* Durations of overlapped pairs: one for all, or one for each forward stage. */
static ppsched_status put_overlapped(struct making *making, ppsched_error *error)
{
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    const struct ppi_values *list = &making->from->values[PPSCHED_QUANTITY_OVERLAPPED_TIMES];
    if (list->values == NULL || (making->from->windows != NULL && old != new))
        return PPSCHED_OK;
    if (list->count > old && old != new)
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "overlapped_times per pair of stages cannot be converted from %u stage%p to %u; give one for all, or one per stage",
            old, new);
    if (old == new) {
        ppsched_status status = ppi_config_set_values(making->to, PPSCHED_QUANTITY_OVERLAPPED_TIMES, list->values, list->count,
                                                      error);
        struct ppi_values *copy = &making->to->values[PPSCHED_QUANTITY_OVERLAPPED_TIMES];
        for (size_t i = 0; status == PPSCHED_OK && i < copy->count; i++)
            copy->values[i] *= making->size;
        return status;
    }
    for (uint32_t s = 0; s < new; s++) {
        making->list[s] = 0;
        for (uint32_t i = 0; i < (new > old ? 1 : old / new); i++)
            making->list[s] += making->size * ppi_value_at(list, new > old ? s / (new / old) : s *(old / new) + i);
        if (new > old)
            making->list[s] /= new / old;
    }
    return ppi_config_set_values(making->to, PPSCHED_QUANTITY_OVERLAPPED_TIMES, making->list, new, error);
}

static ppsched_status put_all(struct making *making, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (int part = 0; part < PARTS && status == PPSCHED_OK; part++)
        status = put_part(making, (enum part)part, error);
    if (status == PPSCHED_OK)
        status = put_in_turn(making, error);
    if (status == PPSCHED_OK)
        status = put_bytes(making, PPSCHED_QUANTITY_ACTIVATION_BYTES, error);
    if (status == PPSCHED_OK)
        status = put_bytes(making, PPSCHED_QUANTITY_GRADIENT_BYTES, error);
    if (status == PPSCHED_OK) /* several only where the number of stages stays */
        status = ppi_config_set_values(making->to, PPSCHED_QUANTITY_STAGE_SCALE,
                                       making->from->values[PPSCHED_QUANTITY_STAGE_SCALE].values,
                                       making->from->values[PPSCHED_QUANTITY_STAGE_SCALE].count, error);
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY && status == PPSCHED_OK; q++)
        if (ppi_quantity_owner(q) >= PPI_OF_PARAMETERS)
            status = put_holding(making, q, error);
    if (status == PPSCHED_OK)
        status = put_overlapped(making, error);
    if (status == PPSCHED_OK && making->from->windows != NULL)
        status = ppi_windows_restage(making->to, making->from, making->size, error);
    if (status == PPSCHED_OK)
        status = ppi_config_take_run(making->to, making->from, error);
    return status == PPSCHED_OK ? put_slice_scale(making, error) : status;
}

/* Checks that the costs can be converted to these sizes. */
static ppsched_status check_sizes(const ppsched_config *config, const struct ppi_shape *shape, ppsched_error *error)
{
    uint32_t old = config->shape.stages, new = shape->stages;
    if (old % new != 0 && new % old != 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "costs of %u stage%p cannot be converted to %u stage%p; give costs of a multiple of %u stage%p, such "
                        "as one per layer",
                        old, new, new);
    if (config->values[PPSCHED_QUANTITY_MICROBATCH_SCALE].count > 1 && shape->microbatches != config->shape.microbatches)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "microbatch_scale is for %u microbatch%p and cannot be converted to %u",
                        config->shape.microbatches, shape->microbatches);
    if (config->values[PPSCHED_QUANTITY_STAGE_SCALE].count > 1 && new != old)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "stage_scale is for %u stage%p and cannot be converted to %u", old, new);
    if (config->placement == PPSCHED_PLACEMENT_MAP && new != old)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the placement map is for %u stage%p and cannot be converted to %u", old,
                        new);
    if (config->shape.slices != 1 && shape->slices != config->shape.slices)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "costs of %u slice%p per microbatch cannot be converted to %u; give costs of whole microbatches",
                        config->shape.slices, shape->slices);
    return PPSCHED_OK;
}

ppsched_status ppi_complete_head(ppsched_model_end *head, const ppsched_config *config, ppsched_error *error)
{
    struct making making = {.from = config, .size = 1};
    ppsched_status status = check_ends(NULL, head, error);
    if (status != PPSCHED_OK)
        return status;
    making.old = ppi_allocate(&config->host, config->shape.stages, PARTS * sizeof *making.old);
    status = making.old != NULL ? take_old(&making, error) : ppi_fail_memory(error, "the stages' costs");
    if (status == PPSCHED_OK)
        status = take_ends(&making, NULL, head, error);
    ppi_release(&config->host, making.old);
    if (status == PPSCHED_OK)
        *head = making.head;
    return status;
}

ppsched_status ppi_restage(ppsched_config **out, const ppsched_config *config, const struct ppi_shape *shape,
                           const ppsched_model_end *embedding, const ppsched_model_end *head, const struct ppi_slicing *slicing,
                           ppsched_error *error)
{
    const struct ppi_host *host = &config->host;
    uint32_t old = config->shape.stages, new = shape->stages;
    struct making making = {.from = config, .rises = ppi_memory_rises(config)};
    making.size = (double)config->shape.microbatches / shape->microbatches / (shape->slices / config->shape.slices);
    if (slicing != NULL && shape->slices > config->shape.slices)
        making.slicing = *slicing;
    ppsched_status status = check_ends(embedding, head, error);
    if (status != PPSCHED_OK)
        return status;
    status = check_sizes(config, shape, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_config_create(&making.to, shape, host, error);
    if (status != PPSCHED_OK)
        return status;
    making.old = ppi_allocate(host, old, PARTS * sizeof *making.old);
    making.list = ppi_allocate(host, new, sizeof *making.list);
    if (making.old == NULL || making.list == NULL)
        status = ppi_fail_memory(error, "the stages' costs");
    else
        status = take_old(&making, error);
    if (status == PPSCHED_OK)
        status = take_ends(&making, embedding, head, error);
    if (status == PPSCHED_OK)
        status = put_all(&making, error);
    ppi_release(host, making.list);
    ppi_release(host, making.old);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(making.to);
        return status;
    }
    *out = making.to;
    return PPSCHED_OK;
}
