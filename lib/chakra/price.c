/* SPDX-License-Identifier: Apache-2.0 */
/* Converts times of ops to whole microseconds, and sizes of messages and tensors to whole numbers; refuses where rounding
 * would lose too much, and advises a scale. */
#include "base/checked.h"
#include "base/error.h"
#include "base/format.h"
#include "chakra/traces.h"
#include "ir/costs.h"

#define MOST 1e15 /* largest number in a trace */

enum { NANOSECONDS_IN_MICRO = 1000, BYTES_IN_NANO = 2, DECADES = 12 }; /* DECADES: scales that are tried for advice */

struct pricing {
    ppsched_chakra *chakra;
    const ppsched_config *config;
    struct ppi_costs costs;
};

/* The nearest whole number; false where rounding loses too much. */
static bool make_whole(const struct pricing *pricing, double value, uint64_t *out)
{
    *out = (uint64_t)(value + 0.5);
    double loss = (double)*out - value;
    return (loss < 0 ? -loss : loss) <= (pricing->chakra->options.most_loss + PPI_ROUNDING) * value;
}

/* --- amounts before rounding --- */

static bool has_times(const struct pricing *pricing)
{
    return ppi_chakra_has_times(pricing->chakra);
}

static double micros_of(const struct pricing *pricing, const ppsched_op *unit, double time_scale)
{
    const ppsched_schedule *schedule = pricing->chakra->schedule;
    return time_scale * (ppi_unit_length(unit) == 1 ? ppi_duration_of(&pricing->costs, schedule, unit)
                                                    : ppi_overlapped_duration(&pricing->costs, schedule, unit));
}

/* The size of a message: bytes, or nanoseconds. */
static double size_of(const struct pricing *pricing, uint32_t i, double time_scale, double bytes_scale)
{
    const struct ppi_channels *channels = &pricing->chakra->channels;
    const ppsched_op *op = &pricing->chakra->schedule->ops[i];
    double factor = ppi_memory_factor_of(&pricing->costs, pricing->chakra->schedule, op);
    if (!has_times(pricing))
        return bytes_scale * factor * ppi_bytes_of(pricing->config, op->stage, ppi_goes_back(op->kind));
    uint32_t from = channels->comms[i].device, to = channels->comms[ppi_moved_by(channels, i)->receive].device;
    struct ppi_transfer_cost cost = ppi_transfer_cost_of(pricing->config, op->stage, ppi_goes_back(op->kind), from, to);
    return (cost.latency + cost.occupancy * factor) * time_scale * NANOSECONDS_IN_MICRO;
}

/* The amount of an op or a pair with a node; 0 for others. */
static double amount_of(const struct pricing *pricing, uint32_t i, double time_scale, double bytes_scale)
{
    const ppsched_op *op = &pricing->chakra->schedule->ops[i];
    if (ppi_is_compute(op->kind))
        return micros_of(pricing, op, time_scale);
    return ppi_is_send(op->kind) ? size_of(pricing, i, time_scale, bytes_scale) : 0;
}

/* The first op whose amount cannot be made whole; PPSCHED_NONE: all can. */
static uint32_t find_misfit(const struct pricing *pricing, double time_scale, double bytes_scale)
{
    const ppsched_schedule *schedule = pricing->chakra->schedule;
    uint64_t whole;
    for (uint32_t i = 0; i < schedule->op_count; i += (uint32_t)ppi_unit_length(&schedule->ops[i])) {
        double amount = amount_of(pricing, i, time_scale, bytes_scale);
        if (!(amount <= MOST) || !make_whole(pricing, amount, &whole))
            return i;
    }
    return PPSCHED_NONE;
}

/* --- refusals --- */

static struct ppi_place place_of(const ppsched_chakra *chakra, uint32_t i)
{
    const ppsched_op *op = &chakra->schedule->ops[i];
    uint32_t device = chakra->channels.comms[i].device;
    return (struct ppi_place){device, op->stage, op->microbatch, (uint32_t)(i - chakra->schedule->queues[device].first)};
}

/* ", time_scale 1000 does": the scale, in powers of ten of the present one, with which all amounts can be made whole. */
static void advise(const struct pricing *pricing, bool is_bytes, char *text, size_t capacity)
{
    const ppsched_chakra_options *options = &pricing->chakra->options;
    double scale = 1;
    for (int k = 0; k < DECADES; k++) {
        scale *= 10;
        double time_scale = options->time_scale * (is_bytes ? 1 : scale),
               bytes_scale = options->bytes_scale * (is_bytes ? scale : 1);
        if (find_misfit(pricing, time_scale, bytes_scale) != PPSCHED_NONE)
            continue;
        ppi_print(text, capacity, "; use %s %g", is_bytes ? "bytes_scale" : "time_scale", is_bytes ? bytes_scale : time_scale);
        return;
    }
    ppi_print(text, capacity, "; no power of ten avoids this, so allow a loss, such as most_loss 0.001, or give whole %s",
              is_bytes ? "bytes" : "times");
}

static ppsched_status refuse(const struct pricing *pricing, uint32_t i, ppsched_error *error)
{
    const ppsched_chakra_options *options = &pricing->chakra->options;
    const ppsched_op *op = &pricing->chakra->schedule->ops[i];
    struct ppi_place place = place_of(pricing->chakra, i);
    bool is_send = ppi_is_send(op->kind), is_bytes = is_send && !has_times(pricing);
    double amount = amount_of(pricing, i, options->time_scale, options->bytes_scale);
    const char *unit = is_bytes ? "bytes" : is_send ? "nanoseconds" : "microseconds";
    char token[PPI_UNIT_TOKEN_SIZE], advice[120];
    uint64_t whole;
    ppi_unit_token(token, op);
    if (!(amount <= MOST))
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "device %u: %s at position %u takes %g %s; a trace holds at most %g", place.device, token,
                           place.position, amount, unit, MOST);
    make_whole(pricing, amount, &whole);
    advise(pricing, is_bytes, advice, sizeof advice);
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                       "device %u: %s at position %u takes %g %s; a trace holds integers, and %lld is off by a share of %g, "
                       "more than most_loss %g%s",
                       place.device, token, place.position, amount, unit, (long long)whole,
                       ((double)whole < amount ? amount - (double)whole : (double)whole - amount) / amount, options->most_loss,
                       advice);
}

/* Refuses times of calls: a trace posts its receives at once, and simulators send without a call, so nothing would occupy the
 * device. */
static ppsched_status check_call(const struct pricing *pricing, uint32_t i, ppsched_error *error)
{
    struct ppi_place place = place_of(pricing->chakra, i);
    double call = ppi_send_overhead(pricing->config, place.device);
    char token[PPI_TOKEN_SIZE];
    if (call == 0)
        return PPSCHED_OK;
    ppi_op_token(token, &pricing->chakra->schedule->ops[i]);
    return ppi_fail_at(
        error, PPSCHED_ERROR_REFUSED, place,
        "device %u: %s at position %u has a send overhead of %g, which a trace cannot hold; leave out send_overhead",
        place.device, token, place.position, call);
}

/* Refuses ops that take time and have no nodes in traces. */
static ppsched_status check_others(const struct pricing *pricing, ppsched_error *error)
{
    const ppsched_schedule *schedule = pricing->chakra->schedule;
    char token[PPI_TOKEN_SIZE];
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        ppsched_status status = ppi_is_comm(op) ? check_call(pricing, i, error) : PPSCHED_OK;
        if (status != PPSCHED_OK)
            return status;
        if (op->kind <= PPSCHED_KIND_RECV_B || op->kind == PPSCHED_KIND_RESHARD)
            continue;
        struct ppi_place place = place_of(pricing->chakra, i);
        bool is_known = ppi_is_of_pytorch(op->kind), unshards = op->kind == PPSCHED_KIND_UNSHARD;
        if (is_known && ppi_sharding_time(pricing->config, op->stage, unshards, place.device) == 0)
            continue;
        ppi_op_token(token, op);
        return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place, "device %u: %s at position %u %s", place.device, token,
                           place.position,
                           is_known ? "takes time in parallel with the device's other ops, which a trace cannot hold; leave "
                                      "out its time, or lower without sharding ops"
                                    : "is of a kind for which a trace has no node");
    }
    return PPSCHED_OK;
}

/* --- whole numbers --- */

static void fill(const struct pricing *pricing)
{
    ppsched_chakra *chakra = pricing->chakra;
    const ppsched_schedule *schedule = chakra->schedule;
    uint64_t whole;
    for (uint32_t i = 0; i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        make_whole(pricing, amount_of(pricing, i, chakra->options.time_scale, chakra->options.bytes_scale), &whole);
        chakra->micros[i] = ppi_is_compute(op->kind) ? whole : 0;
        if (ppi_is_send(op->kind)) {
            uint64_t bytes = whole * (has_times(pricing) ? BYTES_IN_NANO : 1);
            chakra->bytes[chakra->channels.comms[i].transfer] = bytes > 0 ? bytes : 1;
        }
        if (ppi_unit_length(op) == 2)
            chakra->micros[++i] = 0;
    }
}

static ppsched_status fill_tensors(const struct pricing *pricing, ppsched_error *error)
{
    ppsched_chakra *chakra = pricing->chakra;
    for (uint32_t s = 0; chakra->tensors != NULL && s < chakra->schedule->shape.stages; s++) {
        double amount = pricing->costs.instances[s].memory[PPSCHED_KIND_F] * chakra->options.memory_scale;
        struct ppi_place place = {PPSCHED_NONE, s, PPSCHED_NONE, PPSCHED_NONE};
        if (!(amount <= MOST))
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place, "stage %u holds %g bytes; a trace holds at most %g", s,
                               amount, MOST);
        if (!make_whole(pricing, amount, &chakra->tensors[s]))
            return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place,
                               "stage %u holds %g bytes; a trace holds integers, and rounding loses more than most_loss %g", s,
                               amount, chakra->options.most_loss);
    }
    return PPSCHED_OK;
}

ppsched_status ppi_chakra_price(ppsched_chakra *chakra, const ppsched_config *config, ppsched_error *error)
{
    struct pricing pricing = {.chakra = chakra, .config = config};
    ppsched_status status = ppi_costs_make(&pricing.costs, config, &chakra->schedule->placement, error);
    if (status != PPSCHED_OK)
        return status;
    status = check_others(&pricing, error);
    if (status == PPSCHED_OK) {
        uint32_t misfit = find_misfit(&pricing, chakra->options.time_scale, chakra->options.bytes_scale);
        status = misfit == PPSCHED_NONE ? fill_tensors(&pricing, error) : refuse(&pricing, misfit, error);
    }
    if (status == PPSCHED_OK)
        fill(&pricing);
    ppi_costs_clear(&pricing.costs);
    return status;
}
