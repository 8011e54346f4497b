/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the costs of the stages of a chain, of the head's parts, and of the loss, list by list. */
#include "candidate/share_head.h"

#include "base/checked.h"
#include "base/error.h"
#include "candidate/restage.h"
#include "ir/costs.h"

/* Costs that a head has a share of. `part`: of each device. */
struct sharing {
    const ppsched_config *from;
    ppsched_config *to;
    const ppsched_model_end *head; /* with all its times */
    enum ppi_head_form form;
    double *list; /* by stage of the new config */
};

static uint32_t devices_of(const struct sharing *sharing)
{
    return sharing->from->shape.devices;
}

/* Fills the list: the chain's values, less `own` in the last stage, then those of the passes S and of the passes T. */
static void fill(const struct sharing *sharing, const double *chain, double own, double s, double t)
{
    const uint32_t d = devices_of(sharing);
    for (uint32_t i = 0; i < d; i++)
        sharing->list[i] = chain[i];
    const double rest = chain[d - 1] - own;
    sharing->list[d - 1] = ppi_larger(rest, -rest) > PPI_ROUNDING * ppi_larger(own, -own) ? rest : 0;
    for (uint32_t i = d; i < sharing->to->shape.stages; i++)
        sharing->list[i] = sharing->form != PPI_HEAD_INTERLACED && i == 2 * d ? 0 : i > 2 * d ? t : s;
}

static ppsched_status put(const struct sharing *sharing, int32_t quantity, ppsched_error *error)
{
    return ppi_config_set_values(sharing->to, quantity, sharing->list, sharing->to->shape.stages, error);
}

/* Times: the backward of S where it has one is T. */
static ppsched_status put_times(const struct sharing *sharing, double *chain, ppsched_error *error)
{
    static const struct {
        int32_t quantity;
        uint8_t kind;
    } times[] = {{PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_KIND_F},
                 {PPSCHED_QUANTITY_BACKWARD_TIMES, PPSCHED_KIND_B},
                 {PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_KIND_I},
                 {PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_KIND_W}};
    const ppsched_model_end *head = sharing->head;
    const double own[] = {head->forward_time, head->backward_time, head->backward_input_time, head->backward_weight_time};
    const bool one = sharing->form == PPI_HEAD_ONE_BARRIER;
    ppsched_status status = PPSCHED_OK;
    for (size_t q = 0; q < sizeof times / sizeof times[0] && status == PPSCHED_OK; q++) {
        const double d = devices_of(sharing);
        for (uint32_t i = 0; i < devices_of(sharing); i++) {
            struct ppi_instance instance;
            status = ppi_resolve_stage(sharing->from, i, &instance, error);
            if (status != PPSCHED_OK)
                return status;
            chain[i] = instance.duration[times[q].kind];
        }
        if (one && q == 0)
            fill(sharing, chain, own[0], (head->forward_time + head->backward_input_time) / d, head->backward_weight_time / d);
        else
            fill(sharing, chain, own[q], one ? 0 : own[q] / d, 0);
        status = put(sharing, times[q].quantity, error);
    }
    return status;
}

static ppsched_status put_memory(const struct sharing *sharing, double *chain, ppsched_error *error)
{
    const ppsched_model_end *head = sharing->head;
    const struct {
        int32_t quantity;
        double own;
        bool is_held; /* by ops; where S and T are stages of their own, while each runs */
    } lists[] = {{PPSCHED_QUANTITY_MEM_FORWARD, head->mem_forward, true},
                 {PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, head->mem_backward_input, true},
                 {PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, head->mem_backward_weight, true},
                 {PPSCHED_QUANTITY_MEM_STATIC, head->mem_static, false},
                 {PPSCHED_QUANTITY_MEM_WEIGHTS, head->mem_weights, false}};
    ppsched_status status = PPSCHED_OK;
    for (size_t q = 0; q < sizeof lists / sizeof lists[0] && status == PPSCHED_OK; q++) {
        const double part = lists[q].own / devices_of(sharing);
        if (!lists[q].is_held && sharing->from->values[lists[q].quantity].values == NULL)
            continue;
        for (uint32_t i = 0; i < devices_of(sharing) && status == PPSCHED_OK; i++) {
            struct ppi_instance instance = {0};
            if (lists[q].is_held)
                status = ppi_resolve_stage(sharing->from, i, &instance, error);
            chain[i] = q == 0   ? instance.memory[PPSCHED_KIND_F]
                       : q == 1 ? instance.memory[PPSCHED_KIND_I]
                       : q == 2 ? instance.memory[PPSCHED_KIND_W]
                                : ppi_value_at(&sharing->from->values[lists[q].quantity], i);
        }
        fill(sharing, chain, lists[q].own, part, lists[q].is_held ? part : 0);
        if (status == PPSCHED_OK)
            status = put(sharing, lists[q].quantity, error);
    }
    return status;
}

static ppsched_status put_shared_bytes(const struct sharing *sharing, int32_t quantity, double *chain, ppsched_error *error)
{
    const struct ppi_values *list = &sharing->from->values[quantity];
    if (list->values == NULL)
        return PPSCHED_OK;
    const bool is_gradient = quantity == PPSCHED_QUANTITY_GRADIENT_BYTES;
    for (uint32_t i = 0; i < devices_of(sharing); i++)
        chain[i] = ppi_value_at(list, i);
    fill(sharing, chain, 0, is_gradient ? chain[devices_of(sharing) - 1] : 0, 0);
    return put(sharing, quantity, error);
}

/* Lists by stage that say nothing about the parts of a stage. */
static ppsched_status refuse_others(const ppsched_config *config, ppsched_error *error)
{
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY; q++) {
        const enum ppi_owner owner = ppi_quantity_owner(q);
        const bool others = owner > PPI_OF_PASS || q == PPSCHED_QUANTITY_STAGE_SCALE ||
                            q == PPSCHED_QUANTITY_OVERLAPPED_TIMES || q == PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT ||
                            q == PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD;
        if (others && config->values[q].values != NULL)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "a shared head: %s has no value for a part of the head",
                            ppi_quantity_name(q));
    }
    return PPSCHED_OK;
}

static ppsched_status put_all_shared(struct sharing *sharing, double *chain, ppsched_error *error)
{
    ppsched_config run = *sharing->from; /* with the caller's lists, but the new placement */
    run.placement = PPSCHED_PLACEMENT_DEFAULT;
    ppsched_status status = ppi_config_take_run(sharing->to, &run, error);
    if (status == PPSCHED_OK)
        status = ppi_set_shared_head(sharing->to, sharing->form, error);
    if (status == PPSCHED_OK)
        status = put_times(sharing, chain, error);
    if (status == PPSCHED_OK)
        status = put_memory(sharing, chain, error);
    if (status == PPSCHED_OK)
        status = put_shared_bytes(sharing, PPSCHED_QUANTITY_ACTIVATION_BYTES, chain, error);
    return status == PPSCHED_OK ? put_shared_bytes(sharing, PPSCHED_QUANTITY_GRADIENT_BYTES, chain, error) : status;
}

static ppsched_status make(ppsched_config **out, const ppsched_config *config, const ppsched_model_end *head,
                           enum ppi_head_form form, ppsched_error *error)
{
    struct sharing sharing = {.from = config, .head = head, .form = form};
    struct ppi_shape shape;
    ppsched_status status = ppi_shape_make(&shape, config->shape.devices, ppi_shared_head_stages(form, config->shape.devices),
                                           config->shape.microbatches, config->shape.iterations, error);
    if (status == PPSCHED_OK)
        status = ppi_shape_cut(&shape, config->shape.slices, error);
    if (status == PPSCHED_OK)
        status = ppi_config_create(&sharing.to, &shape, &config->host, error);
    if (status != PPSCHED_OK)
        return status;
    const size_t count = (size_t)shape.stages + shape.devices;
    double *room = ppi_allocate(&config->host, count, sizeof *room);
    sharing.list = room;
    status = room != NULL ? put_all_shared(&sharing, room + shape.stages, error) : ppi_fail_memory(error, "the head's parts");
    ppi_release(&config->host, room);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(sharing.to);
        return status;
    }
    *out = sharing.to;
    return PPSCHED_OK;
}

ppsched_status ppi_share_head(ppsched_config **out, const ppsched_config *config, const ppsched_model_end *head,
                              enum ppi_head_form form, ppsched_error *error)
{
    ppsched_model_end own = *head;
    if (config->graph != NULL || config->shape.stages != config->shape.devices ||
        config->placement == PPSCHED_PLACEMENT_BIDIRECTIONAL)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "a shared head needs a chain with one stage for each device");
    ppsched_status status = refuse_others(config, error);
    if (status == PPSCHED_OK)
        status = ppi_complete_head(&own, config, error);
    return status == PPSCHED_OK ? make(out, config, &own, form, error) : status;
}
