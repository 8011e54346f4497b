/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: ordering microbatches that differ in cost, and balancing them over replicas. */
#include <ppsched/microbatches.h>

#include "api/buffer.h"
#include "api/null.h"
#include "base/host.h"
#include "base/error.h"
#include "base/sized.h"
#include "ir/config.h"
#include "microbatches/balance.h"
#include "microbatches/order.h"

static ppsched_status take_microbatch_options(ppsched_order_options *own, const ppsched_order_options *given,
                                              ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_order_options), given, "ppsched_order_options",
                                           error);
    if (status != PPSCHED_OK)
        return status;
    if (own->effort > PPI_MOST_ORDER_EFFORT)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "effort is %u; it must be 1 to %d, or 0 for %d", own->effort,
                        PPI_MOST_ORDER_EFFORT, PPI_DEFAULT_ORDER_EFFORT);
    own->effort = own->effort != 0 ? own->effort : PPI_DEFAULT_ORDER_EFFORT;
    own->objective = own->objective != 0 ? own->objective : PPSCHED_OBJECTIVE_MAKESPAN;
    return ppi_check_choice("objective", own->objective, PPSCHED_OBJECTIVE_SPAN, PPSCHED_OBJECTIVE_MAKESPAN, error);
}

static ppsched_status check_sizes(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error)
{
    const struct ppi_shape *s = &schedule->shape, *c = &config->shape;
    if (s->microbatches != c->microbatches || s->slices != c->slices)
        return ppi_fail(error, PPSCHED_ERROR_MISMATCH,
                        "the schedule has %u microbatch%p of %u slice%p, the config %u of %u; they must be equal",
                        s->microbatches, s->slices, c->microbatches, c->slices);
    if (ppi_microbatches_differ(config))
        return PPSCHED_OK;
    return ppi_fail(
        error, PPSCHED_ERROR_REFUSED,
        "all microbatches have equal costs, so their order makes no difference; give microbatch_scale for each of them");
}

ppsched_status ppsched_schedule_order_microbatches(uint32_t *out, size_t capacity, size_t *needed, ppsched_config **ordered,
                                                   const ppsched_schedule *schedule, const ppsched_config *config,
                                                   const ppsched_order_options *options, ppsched_error *error)
{
    ppsched_order_options own;
    PPI_REQUIRE_BUFFER(out, capacity);
    if (out != NULL)
        PPI_REQUIRE(ordered);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    PPI_REQUIRE_CHAIN(&schedule->placement, "an order of microbatches");
    ppsched_status status = take_microbatch_options(&own, options, error);
    if (status == PPSCHED_OK)
        status = check_sizes(schedule, config, error);
    size_t count = config->shape.microbatches;
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, count, "microbatches", error);
    if (status == PPSCHED_OK && out != NULL)
        status = ppi_order_microbatches(ordered, out, schedule, config, &own, error);
    return ppi_tell_needed(needed, count, status);
}

/* Checks that the caller's struct can be filled. */
static ppsched_status check_balance(ppsched_balance *balance, ppsched_error *error)
{
    const ppsched_balance nothing = {0};
    return ppi_give_sized(balance, &nothing, sizeof nothing, sizeof nothing, "ppsched_balance", error);
}

ppsched_status ppsched_microbatches_balance(uint32_t *out, size_t capacity, size_t *needed, ppsched_balance *balance,
                                            const double *costs, size_t count, int64_t replicas, uint32_t even_counts,
                                            const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    ppsched_balance own;
    PPI_REQUIRE_BUFFER(out, capacity);
    if (out != NULL || count == 0)
        PPI_REQUIRE(balance);
    if (count > 0)
        PPI_REQUIRE(costs);
    ppsched_status status = ppi_host_take(&host, environment, error);
    if (status == PPSCHED_OK && even_counts > 1)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "even_counts is %u; it must be 0 or 1", even_counts);
    if (status == PPSCHED_OK && balance != NULL)
        status = check_balance(balance, error);
    if (status == PPSCHED_OK)
        status = ppi_check_room(out, capacity, count, "microbatches", error);
    if (status == PPSCHED_OK && (out != NULL || count == 0))
        status = ppi_share_out(&own, out, costs, count, replicas, even_counts != 0, &host, error);
    if (status == PPSCHED_OK && (out != NULL || count == 0))
        status = ppi_give_sized(balance, &own, sizeof own, sizeof own, "ppsched_balance", error);
    return ppi_tell_needed(needed, count, status);
}
