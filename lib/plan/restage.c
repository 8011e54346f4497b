/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/restage.h"

#include "base/checked.h"
#include "base/error.h"
#include "model/costs.h"

/* What a stage is given by, and the quantity that says so. */
enum part { FORWARD, BACKWARD, INPUT, WEIGHT, MEM_FORWARD, MEM_INPUT, MEM_WEIGHT, STATIC, WEIGHTS, PARTS };

static const struct {
    int32_t quantity;
    size_t end;          /* where it is in a ppsched_model_end */
    bool per_microbatch; /* grows with the size of a microbatch */
} parts[PARTS] = {
    [FORWARD] = {PPSCHED_FORWARD_TIMES, offsetof(ppsched_model_end, forward_time), true},
    [BACKWARD] = {PPSCHED_BACKWARD_TIMES, offsetof(ppsched_model_end, backward_time), true},
    [INPUT] = {PPSCHED_BACKWARD_INPUT_TIMES, offsetof(ppsched_model_end, backward_input_time), true},
    [WEIGHT] = {PPSCHED_BACKWARD_WEIGHT_TIMES, offsetof(ppsched_model_end, backward_weight_time), true},
    [MEM_FORWARD] = {PPSCHED_MEM_FORWARD, offsetof(ppsched_model_end, mem_forward), true},
    [MEM_INPUT] = {PPSCHED_MEM_BACKWARD_INPUT, offsetof(ppsched_model_end, mem_backward_input), true},
    [MEM_WEIGHT] = {PPSCHED_MEM_BACKWARD_WEIGHT, offsetof(ppsched_model_end, mem_backward_weight), true},
    [STATIC] = {PPSCHED_MEM_STATIC, offsetof(ppsched_model_end, mem_static), false},
    [WEIGHTS] = {PPSCHED_MEM_WEIGHTS, offsetof(ppsched_model_end, mem_weights), false},
};

struct making {
    const ppsched_config *from;
    ppsched_config *to;
    const ppsched_model_end *embedding, *head;
    double size;     /* of a microbatch, in old ones */
    double *old;     /* PARTS values for each old stage */
    double *list;    /* of all new stages */
};

static double end_value(const ppsched_model_end *end, enum part part)
{
    return end != NULL ? *(const double *)(const void *)((const char *)end + parts[part].end) : 0;
}

static double value_or_0(const ppsched_config *config, int32_t quantity, uint32_t stage)
{
    const struct ppi_values *list = &config->values[quantity];
    return list->values != NULL ? ppi_value_at(list, stage) : 0;
}

static ppsched_status take_old(struct making *making, ppsched_error *error)
{
    for (uint32_t s = 0; s < making->from->shape.stages; s++) {
        struct ppi_lane lane;
        ppsched_status status = ppi_resolve_stage(making->from, s, &lane, error);
        if (status != PPSCHED_OK)
            return status;
        const double values[PARTS] = {lane.duration[PPSCHED_KIND_F], lane.duration[PPSCHED_KIND_B],
                                      lane.duration[PPSCHED_KIND_I], lane.duration[PPSCHED_KIND_W],
                                      lane.memory[PPSCHED_KIND_F],   lane.memory[PPSCHED_KIND_I],
                                      lane.memory[PPSCHED_KIND_W],   value_or_0(making->from, PPSCHED_MEM_STATIC, s),
                                      value_or_0(making->from, PPSCHED_MEM_WEIGHTS, s)};
        for (int part = 0; part < PARTS; part++)
            making->old[(size_t)s * PARTS + part] = values[part] * (parts[part].per_microbatch ? making->size : 1);
    }
    return PPSCHED_OK;
}

/* What of an old stage is not divided. */
static double kept(const struct making *making, uint32_t stage, enum part part)
{
    double ends = 0, size = parts[part].per_microbatch ? making->size : 1;
    if (stage == 0)
        ends += end_value(making->embedding, part) * size;
    if (stage + 1 == making->from->shape.stages)
        ends += end_value(making->head, part) * size;
    return ends;
}

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

static ppsched_status divide(struct making *making, enum part part, uint32_t pieces, ppsched_error *error)
{
    uint32_t stages = making->to->shape.stages;
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t old = s / pieces;
        double whole = making->old[(size_t)old * PARTS + part], apart = kept(making, old, part);
        if (magnitude(apart) > magnitude(whole) * (1 + 1e-9))
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){PPSCHED_NONE, old, PPSCHED_NONE, PPSCHED_NONE},
                               "stage %u: %s is %g, of which %g shall be the embedding's or the head's", old,
                               ppi_quantity_name(parts[part].quantity), whole, apart);
        making->list[s] = (whole - apart) / pieces;
    }
    double size = parts[part].per_microbatch ? making->size : 1;
    making->list[0] += end_value(making->embedding, part) * size;
    making->list[stages - 1] += end_value(making->head, part) * size;
    return PPSCHED_OK;
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
    ppsched_status status = PPSCHED_OK;
    if ((part == STATIC || part == WEIGHTS) && making->from->values[parts[part].quantity].values == NULL)
        return PPSCHED_OK;
    if (new > old)
        status = divide(making, part, new / old, error);
    else
        join(making, part, old / new);
    return status == PPSCHED_OK ? ppi_config_set_values(making->to, parts[part].quantity, making->list, new, error) : status;
}

/* What goes over a border is that of the old border. */
static ppsched_status put_bytes(struct making *making, int32_t quantity, ppsched_error *error)
{
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    const struct ppi_values *list = &making->from->values[quantity];
    if (list->values == NULL)
        return PPSCHED_OK;
    for (uint32_t s = 0; s < new; s++) {
        uint32_t first = new > old ? s / (new / old) : s * (old / new);
        uint32_t last = new > old ? first : first + old / new - 1;
        making->list[s] = making->size * ppi_value_at(list, quantity == PPSCHED_ACTIVATION_BYTES ? last : first);
    }
    return ppi_config_set_values(making->to, quantity, making->list, new, error);
}

/* Durations of pairs: one for all, or one a forward stage. */
static ppsched_status put_overlapped(struct making *making, ppsched_error *error)
{
    uint32_t old = making->from->shape.stages, new = making->to->shape.stages;
    const struct ppi_values *list = &making->from->values[PPSCHED_OVERLAPPED_TIMES];
    if (list->values == NULL)
        return PPSCHED_OK;
    if (list->count > old && old != new)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "overlapped_times by pairs of stages cannot be changed from %u stages to %u; give one for all, or one "
                        "a stage", old, new);
    if (old == new) {
        ppsched_status status = ppi_config_set_values(making->to, PPSCHED_OVERLAPPED_TIMES, list->values, list->count, error);
        struct ppi_values *copy = &making->to->values[PPSCHED_OVERLAPPED_TIMES];
        for (size_t i = 0; status == PPSCHED_OK && i < copy->count; i++)
            copy->values[i] *= making->size;
        return status;
    }
    for (uint32_t s = 0; s < new; s++) {
        making->list[s] = 0;
        for (uint32_t i = 0; i < (new > old ? 1 : old / new); i++)
            making->list[s] += making->size * ppi_value_at(list, new > old ? s / (new / old) : s * (old / new) + i);
        if (new > old)
            making->list[s] /= new / old;
    }
    return ppi_config_set_values(making->to, PPSCHED_OVERLAPPED_TIMES, making->list, new, error);
}

/* What belongs to devices and to the run, and options. */
static ppsched_status put_rest(struct making *making, ppsched_error *error)
{
    static const int32_t unchanged[] = {PPSCHED_P2P_TIMES, PPSCHED_P2P_BANDWIDTH, PPSCHED_MEM_LIMIT};
    const ppsched_config *from = making->from;
    ppsched_config *to = making->to;
    ppsched_status status = PPSCHED_OK;
    to->weight_versions = from->weight_versions;
    to->progress = from->progress;
    to->progress_user = from->progress_user;
    if (from->placement != PPSCHED_PLACEMENT_DEFAULT && from->placement != PPSCHED_PLACEMENT_MAP)
        status = ppi_config_set_placement(to, from->placement, NULL, 0, error);
    for (size_t i = 0; i < sizeof unchanged / sizeof unchanged[0] && status == PPSCHED_OK; i++)
        status = ppi_config_set_values(to, unchanged[i], from->values[unchanged[i]].values, from->values[unchanged[i]].count,
                                       error);
    for (size_t i = 0; i < from->option_count && status == PPSCHED_OK; i++)
        status = ppi_config_set_option(to, from->options[i].name, from->options[i].value, error);
    return status;
}

static ppsched_status put_all(struct making *making, ppsched_error *error)
{
    ppsched_status status = take_old(making, error);
    for (int part = 0; part < PARTS && status == PPSCHED_OK; part++)
        status = put_part(making, (enum part)part, error);
    if (status == PPSCHED_OK)
        status = put_bytes(making, PPSCHED_ACTIVATION_BYTES, error);
    if (status == PPSCHED_OK)
        status = put_bytes(making, PPSCHED_GRADIENT_BYTES, error);
    if (status == PPSCHED_OK)
        status = put_overlapped(making, error);
    return status == PPSCHED_OK ? put_rest(making, error) : status;
}

ppsched_status ppi_restage(ppsched_config **out, const ppsched_config *config, const struct ppi_shape *shape,
                           const ppsched_model_end *embedding, const ppsched_model_end *head, ppsched_error *error)
{
    const struct ppi_host *host = &config->host;
    uint32_t old = config->shape.stages, new = shape->stages;
    struct making making = {.from = config, .embedding = embedding, .head = head};
    making.size = (double)config->shape.microbatches / shape->microbatches;
    if (old % new != 0 && new % old != 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "costs of %u stages tell nothing of %u; give them for a number that is a multiple of %u, such as the "
                        "model's layers", old, new, new);
    ppsched_status status = ppi_config_create(&making.to, shape, host, error);
    if (status != PPSCHED_OK)
        return status;
    making.old = ppi_allocate(host, old, PARTS * sizeof *making.old);
    making.list = ppi_allocate(host, new, sizeof *making.list);
    if (making.old == NULL || making.list == NULL)
        status = ppi_fail_memory(error, "the stages' costs");
    else
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
