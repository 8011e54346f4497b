/* SPDX-License-Identifier: Apache-2.0 */
/* A table by quantity: its name, what it has a value for, what it belongs to, and the range of the values. */
#include "ir/quantity.h"

#include "base/checked.h"
#include "base/error.h"
#include "ir/op.h"

/* What a list has one value each for, unless it has one for all. */
enum extent {
    ONE,
    PER_STAGE,
    PER_STAGE_PAIR,
    PER_DEVICE,
    PER_DEVICE_KIND,
    PER_DEVICE_STAGE_KIND,
    PER_DEVICE_PAIR,
    PER_MICROBATCH,
    PER_SLICE,
    PER_KIND
};

#define NO_BOUND 1.7976931348623157e308        /* the largest double: excludes infinity */
#define LEAST_POSITIVE 4.9406564584124654e-324 /* the smallest double above 0 */

enum { KINDS = PPSCHED_KIND_W };

struct quantity_row {
    const char *name;
    enum extent extent;
    enum ppi_owner owner;
    double minimum, maximum;
};

static const struct quantity_row quantity_rows[PPI_LAST_QUANTITY + 1] = {
    [PPSCHED_QUANTITY_FORWARD_TIMES] = {"forward_times", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_BACKWARD_TIMES] = {"backward_times", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES] = {"backward_input_times", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES] = {"backward_weight_times", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_BACKWARD_INPUT_SHARE] = {"backward_input_share", ONE, PPI_OF_PASS, 0, 1},
    [PPSCHED_QUANTITY_OVERLAPPED_TIMES] = {"overlapped_times", PER_STAGE_PAIR, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_P2P_TIME] = {"p2p_time", PER_DEVICE_PAIR, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_FORWARD] = {"mem_forward", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_BACKWARD_INPUT] = {"mem_backward_input", PER_STAGE, PPI_OF_PASS, -NO_BOUND, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT] = {"mem_backward_weight", PER_STAGE, PPI_OF_PASS, -NO_BOUND, 0},
    [PPSCHED_QUANTITY_MEM_STATIC] = {"mem_static", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_WEIGHTS] = {"mem_weights", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_LIMIT] = {"mem_limit", PER_DEVICE, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_P2P_BANDWIDTH] = {"p2p_bandwidth", PER_DEVICE_PAIR, PPI_OF_RUN, LEAST_POSITIVE, PPI_INFINITE},
    [PPSCHED_QUANTITY_ACTIVATION_BYTES] = {"activation_bytes", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_GRADIENT_BYTES] = {"gradient_bytes", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_OPTIMIZER] = {"mem_optimizer", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_OTHER] = {"mem_other", PER_DEVICE, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_GRADIENTS] = {"mem_gradients", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_GATHERED] = {"mem_gathered", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_OUTPUT] = {"mem_output", PER_STAGE, PPI_OF_LAST_BORDER, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_SEND_FORWARD] = {"mem_send_forward", PER_STAGE, PPI_OF_LAST_BORDER, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_SEND_BACKWARD] = {"mem_send_backward", PER_STAGE, PPI_OF_FIRST_BORDER, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD] = {"mem_receive_forward", PER_STAGE, PPI_OF_FIRST_BORDER, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_RECEIVE_BACKWARD] = {"mem_receive_backward", PER_STAGE, PPI_OF_LAST_BORDER, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_WORK_FORWARD] = {"mem_work_forward", PER_STAGE, PPI_OF_OPS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_WORK_BACKWARD] = {"mem_work_backward", PER_STAGE, PPI_OF_OPS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT] = {"mem_work_backward_input", PER_STAGE, PPI_OF_OPS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT] = {"mem_work_backward_weight", PER_STAGE, PPI_OF_OPS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_UNSHARD_TIMES] = {"unshard_times", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_REDUCE_GRAD_TIMES] = {"reduce_grad_times", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_UNSHARD_BYTES] = {"unshard_bytes", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_REDUCE_GRAD_BYTES] = {"reduce_grad_bytes", PER_STAGE, PPI_OF_PARAMETERS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_SHARDING_BANDWIDTH] = {"sharding_bandwidth", PER_DEVICE, PPI_OF_RUN, LEAST_POSITIVE, PPI_INFINITE},
    [PPSCHED_QUANTITY_SHARDING_SLOWDOWN] = {"sharding_slowdown", PER_DEVICE, PPI_OF_RUN, 1, PPI_INFINITE},
    [PPSCHED_QUANTITY_RECOMPUTE_TIMES] = {"recompute_times", PER_STAGE, PPI_OF_ACTIVATIONS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_RECOMPUTE] = {"mem_recompute", PER_STAGE, PPI_OF_FIRST_BORDER, 0, NO_BOUND},
    [PPSCHED_QUANTITY_OFFLOAD_TIMES] = {"offload_times", PER_STAGE, PPI_OF_ACTIVATIONS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_RELOAD_TIMES] = {"reload_times", PER_STAGE, PPI_OF_ACTIVATIONS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_OFFLOAD_BYTES] = {"offload_bytes", PER_STAGE, PPI_OF_ACTIVATIONS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_HOST_BANDWIDTH] = {"host_bandwidth", PER_DEVICE, PPI_OF_RUN, LEAST_POSITIVE, PPI_INFINITE},
    [PPSCHED_QUANTITY_HOST_LATENCY] = {"host_latency", PER_DEVICE, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_OFFLOAD] = {"mem_offload", PER_STAGE, PPI_OF_ACTIVATIONS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_HOST_LINK] = {"host_link", PER_DEVICE, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MICROBATCH_SCALE] = {"microbatch_scale", PER_MICROBATCH, PPI_OF_RUN, LEAST_POSITIVE, NO_BOUND},
    [PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE] = {"microbatch_memory_scale", PER_MICROBATCH, PPI_OF_RUN, LEAST_POSITIVE,
                                                  NO_BOUND},
    [PPSCHED_QUANTITY_SLICE_SCALE] = {"slice_scale", PER_SLICE, PPI_OF_RUN, LEAST_POSITIVE, NO_BOUND},
    [PPSCHED_QUANTITY_MICROBATCH_REQUEST] = {"microbatch_request", PER_MICROBATCH, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_OP_OVERHEAD] = {"op_overhead", PER_KIND, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_DEVICE_SPEEDS] = {"device_speeds", PER_DEVICE, PPI_OF_RUN, LEAST_POSITIVE, NO_BOUND},
    [PPSCHED_QUANTITY_DEVICE_SCALE] = {"device_scale", PER_DEVICE_KIND, PPI_OF_RUN, LEAST_POSITIVE, NO_BOUND},
    [PPSCHED_QUANTITY_LAYER_TYPES] = {"layer_types", PER_DEVICE, PPI_OF_RUN, 0, PPI_MOST_TYPES},
    [PPSCHED_QUANTITY_STAGE_SCALE] = {"stage_scale", PER_DEVICE_STAGE_KIND, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_DEVICE_OVERHEAD] = {"device_overhead", PER_DEVICE, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_COPY_SLOWDOWN] = {"copy_slowdown", PER_DEVICE, PPI_OF_RUN, 1, PPI_INFINITE},
    [PPSCHED_QUANTITY_SEND_OVERHEAD] = {"send_overhead", PER_DEVICE, PPI_OF_RUN, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT] = {"mem_recomputed_backward_input", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
    [PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD] = {"mem_recomputed_backward", PER_STAGE, PPI_OF_PASS, 0, NO_BOUND},
};

bool ppi_quantity_known(int32_t quantity)
{
    return quantity >= 1 && quantity <= PPI_LAST_QUANTITY && quantity_rows[quantity].name != NULL;
}

bool ppi_quantity_is_by_device(int32_t quantity)
{
    const enum extent extent = quantity_rows[quantity].extent;
    return extent == PER_DEVICE || extent == PER_DEVICE_KIND || extent == PER_DEVICE_STAGE_KIND;
}

bool ppi_quantity_is_by_device_pair(int32_t quantity)
{
    return quantity_rows[quantity].extent == PER_DEVICE_PAIR;
}

const char *ppi_quantity_name(int32_t quantity)
{
    return ppi_quantity_known(quantity) ? quantity_rows[quantity].name : NULL;
}

enum ppi_owner ppi_quantity_owner(int32_t quantity)
{
    return quantity_rows[quantity].owner;
}

static ppsched_status check_slices(const struct quantity_row *row, const struct ppi_shape *shape, size_t count,
                                   ppsched_error *error)
{
    const size_t all = (size_t)shape->stages * shape->slices;
    if (count == 1 || count == shape->slices || (shape->slices > 1 && count == all))
        return PPSCHED_OK;
    if (shape->slices == 1 || shape->stages == 1)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu value%p; give %u, one per slice", row->name, count,
                        shape->slices);
    return ppi_fail(error, PPSCHED_ERROR_LENGTH,
                    "%s has %zu value%p; give %u, one per slice, or %zu, one per slice for each stage", row->name, count,
                    shape->slices, all);
}

static ppsched_status check_length(const struct quantity_row *row, const struct ppi_shape *shape, size_t count,
                                   ppsched_error *error)
{
    size_t s = shape->stages, d = shape->devices;
    switch (row->extent) {
    case ONE:
        if (count == 1)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu value%p; give 1", row->name, count);
    case PER_STAGE:
        if (count == 1 || count == s)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu value%p; give 1 for all stages or %zu, one per stage",
                        row->name, count, s);
    case PER_STAGE_PAIR:
        if (count == 1 || count == s || count == s * s)
            return PPSCHED_OK;
        return ppi_fail(
            error, PPSCHED_ERROR_LENGTH,
            "%s has %zu value%p; give 1 (for all pairs), %zu (one per forward stage) or %zu (one per pair of stages)",
            row->name, count, s, s * s);
    case PER_DEVICE:
        if (count == 1 || count == d)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu value%p; give 1 for all devices or %zu, one per device",
                        row->name, count, d);
    case PER_DEVICE_KIND:
        if (count == 1 || count == KINDS * d)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH,
                        "%s has %zu value%p; give 1 for all or %zu, of F on each device, then of B, I and W", row->name, count,
                        KINDS * d);
    case PER_DEVICE_STAGE_KIND:
        if (count == 1 || count == KINDS * d * s)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH,
                        "%s has %zu value%p; give 1 for all or %zu, of F for each stage on each device, then of B, I and W",
                        row->name, count, KINDS * d * s);
    case PER_MICROBATCH:
        if (count == 1 || count == shape->microbatches)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu value%p; give %u, one per microbatch", row->name, count,
                        shape->microbatches);
    case PER_SLICE:
        return check_slices(row, shape, count, error);
    case PER_KIND:
        if (count == 1 || count == PPSCHED_KIND_W)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "%s has %zu value%p; give 1 for all ops or 4, for F, B, I and W",
                        row->name, count);
    default:
        if (count == 1 || count == d * d)
            return PPSCHED_OK;
        return ppi_fail(error, PPSCHED_ERROR_LENGTH,
                        "%s has %zu value%p; give 1 for all or %zu, one for each device (row) to each device (column)",
                        row->name, count, d * d);
    }
}

static struct ppi_place place_of(const struct quantity_row *row, const struct ppi_shape *shape, size_t count, size_t index)
{
    struct ppi_place place = PPI_NOWHERE;
    place.position = (uint32_t)index;
    if ((row->extent == PER_STAGE || row->extent == PER_STAGE_PAIR) && count > 1 && count == shape->stages)
        place.stage = (uint32_t)index;
    if (row->extent == PER_DEVICE && count > 1)
        place.device = (uint32_t)index;
    if (row->extent == PER_SLICE && count > shape->slices)
        place.stage = (uint32_t)(index / shape->slices);
    return place;
}

static const char *wanted_of(const struct quantity_row *row)
{
    if (row->extent == ONE)
        return "0 to 1";
    if (row->minimum >= 1)
        return "at least 1";
    if (row->minimum > 0)
        return row->maximum > NO_BOUND ? "above 0" : "finite and above 0";
    if (row->minimum < 0)
        return row->maximum > 0 ? "finite" : "finite and at most 0";
    return "finite and at least 0";
}

static ppsched_status check_value(const struct quantity_row *row, const struct ppi_shape *shape, size_t count, size_t index,
                                  double value, ppsched_error *error)
{
    struct ppi_place place = place_of(row, shape, count, index);
    const bool counts = row == &quantity_rows[PPSCHED_QUANTITY_LAYER_TYPES];
    if (value >= row->minimum && value <= row->maximum && (!counts || value == (uint32_t)value)) /* false for NaN */
        return PPSCHED_OK;
    const char *wanted = counts ? "a whole number from 0 to 255" : wanted_of(row);
    if (place.stage != PPSCHED_NONE && row->extent == PER_SLICE)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s of stage %u, slice %zu is %g; it must be %s", row->name,
                           place.stage, index % shape->slices, value, wanted);
    if (place.stage != PPSCHED_NONE)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s of stage %u is %g; it must be %s", row->name, place.stage,
                           value, wanted);
    if (place.device != PPSCHED_NONE)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s of device %u is %g; it must be %s", row->name, place.device,
                           value, wanted);
    if (row->extent == PER_MICROBATCH && count > 1)
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s of microbatch %zu is %g; it must be %s", row->name, index,
                           value, wanted);
    return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "%s (value %zu) is %g; it must be %s", row->name, index, value,
                       wanted);
}

ppsched_status ppi_quantity_check(int32_t quantity, const struct ppi_shape *shape, const double *values, size_t count,
                                  ppsched_error *error)
{
    const struct quantity_row *row = &quantity_rows[quantity];
    ppsched_status status = check_length(row, shape, count, error);
    for (size_t i = 0; i < count && status == PPSCHED_OK; i++)
        status = check_value(row, shape, count, i, values[i], error);
    return status;
}
