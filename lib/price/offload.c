/* SPDX-License-Identifier: Apache-2.0 */
/* Activations that are on the host from a forward to its backward: what of a stage's memory they free, and how long passes
 * wait for their copies. */
#include "base/error.h"
#include "price/price.h"

/* Bytes of the first `most` decoders among the layers of a stage, and of the largest of these. */
static ppsched_status measure(struct ppi_pricing *pricing, uint32_t s, uint32_t first, ppsched_error *error)
{
    const uint32_t most = pricing->pipeline.offload_layers;
    struct ppi_priced_stage *stage = &pricing->stages[s];
    uint32_t decoders = 0;
    stage->offloaded = stage->copied = 0;
    for (uint32_t layer = first; layer < first + pricing->split.layers[s]; layer++) {
        if (ppi_layer_at(pricing->layers, layer)->given.place != PPSCHED_LAYER_PLACE_ANY || decoders++ >= most)
            continue;
        double bytes = pricing->made->rows[pricing->made->row_of[layer]].memory.activations;
        stage->offloaded += bytes;
        stage->copied = bytes > stage->copied ? bytes : stage->copied;
    }
    if (decoders > 0 && decoders <= most)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "activations of %u layer%p cannot go to the host: stage %u has %u decoder%p, and one must stay; at most %u", most,
            s, decoders, decoders - 1);
    return PPSCHED_OK;
}

static ppsched_status measure_all(struct ppi_pricing *pricing, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (pricing->model->device.host_bandwidth == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "the device has no host_bandwidth, at which activations are copied to the host");
    for (uint32_t s = 0, layer = 0; s < pricing->stage_count && status == PPSCHED_OK; layer += pricing->split.layers[s++])
        status = measure(pricing, s, layer, error);
    return status;
}

/* Puts what a function makes of each stage's value in the place of a quantity. */
static ppsched_status put(ppsched_config *config, const struct ppi_pricing *pricing, int32_t quantity, double *list,
                          double (*make)(const ppsched_config *, const struct ppi_pricing *, int32_t, uint32_t),
                          ppsched_error *error)
{
    for (uint32_t s = 0; s < pricing->stage_count; s++)
        list[s] = make(config, pricing, quantity, s);
    return ppi_config_set_values(config, quantity, list, pricing->stage_count, error);
}

static double value_of(const ppsched_config *config, int32_t quantity, uint32_t s)
{
    const struct ppi_values *list = &config->values[quantity];
    return list->values != NULL ? ppi_value_at(list, s) : 0;
}

/* A pass takes no less than its copies. */
static double time_with_copies(const ppsched_config *config, const struct ppi_pricing *pricing, int32_t quantity, uint32_t s)
{
    double time = value_of(config, quantity, s), copies = pricing->stages[s].offloaded / pricing->model->device.host_bandwidth;
    return time > copies ? time : copies;
}

static double left_by_forward(const ppsched_config *config, const struct ppi_pricing *pricing, int32_t quantity, uint32_t s)
{
    return value_of(config, quantity, s) - pricing->stages[s].offloaded;
}

/* Copies come back layer by layer: I releases less, or W needs more than was there. */
static double released_by_input(const ppsched_config *config, const struct ppi_pricing *pricing, int32_t quantity, uint32_t s)
{
    double before = value_of(config, quantity, s), after = before + pricing->stages[s].offloaded;
    return before < 0 && after > 0 ? 0 : before < 0 ? after : before;
}

static double taken_by_input(const ppsched_config *config, const struct ppi_pricing *pricing, int32_t quantity, uint32_t s)
{
    double released = value_of(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, s), back = pricing->stages[s].offloaded;
    back += released < 0 ? released : 0;
    return value_of(config, quantity, s) + (back > 0 ? back : 0);
}

/* A whole backward has the gradients of a layer's weights right after those of its input: as without copies. */
static double taken_by_backward(const ppsched_config *config, const struct ppi_pricing *pricing, int32_t quantity, uint32_t s)
{
    (void)pricing;
    return value_of(config, quantity, s);
}

ppsched_status ppi_pricing_offload(ppsched_config *config, struct ppi_pricing *pricing, ppsched_error *error)
{
    const struct {
        int32_t quantity;
        double (*make)(const ppsched_config *, const struct ppi_pricing *, int32_t, uint32_t);
    } changes[] = {{PPSCHED_QUANTITY_FORWARD_TIMES, time_with_copies},
                   {PPSCHED_QUANTITY_BACKWARD_TIMES, time_with_copies},
                   {PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, time_with_copies},
                   {PPSCHED_QUANTITY_MEM_FORWARD, left_by_forward},
                   {PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, taken_by_backward},
                   {PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, taken_by_input},
                   {PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, released_by_input}};
    double *list = ppi_arena_take(&pricing->arena, pricing->stage_count, sizeof *list);
    ppsched_status status = ppi_arena_check(&pricing->arena, "the layout", error);
    if (status == PPSCHED_OK)
        status = measure_all(pricing, error);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0] && status == PPSCHED_OK; i++)
        status = put(config, pricing, changes[i].quantity, list, changes[i].make, error);
    return status;
}
