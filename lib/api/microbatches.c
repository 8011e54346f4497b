/* SPDX-License-Identifier: Apache-2.0 */
#include <ppsched/microbatches.h>

#include "api/null.h"
#include "base/host.h"
#include "base/error.h"
#include "base/sized.h"
#include "ir/config.h"
#include "microbatches/balance.h"
#include "microbatches/order.h"

static ppsched_status take_options(ppsched_order_options *own, const ppsched_order_options *given, ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, PPI_SIZE_UP_TO(ppsched_order_options, reserved), given,
                                           "ppsched_order_options", error);
    if (status != PPSCHED_OK)
        return status;
    if (own->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_order_options: reserved is not 0");
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
                        "the schedule has %u microbatches of %u slices, the config %u of %u; they must be equal",
                        s->microbatches, s->slices, c->microbatches, c->slices);
    if (ppi_microbatches_differ(config))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "all microbatches are alike; give microbatch_scale for each of them, and one order is better than another");
}

ppsched_status ppsched_schedule_order_microbatches(ppsched_config **out, uint32_t *order, const ppsched_schedule *schedule,
                                                   const ppsched_config *config, const ppsched_order_options *options,
                                                   ppsched_error *error)
{
    ppsched_order_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(order);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    ppsched_status status = take_options(&own, options, error);
    if (status == PPSCHED_OK)
        status = check_sizes(schedule, config, error);
    return status == PPSCHED_OK ? ppi_order_microbatches(out, order, schedule, config, &own, error) : status;
}

ppsched_status ppsched_microbatches_balance(ppsched_balance *out, uint32_t *replica, const double *costs, size_t count,
                                            uint32_t replicas, int32_t even_counts, const ppsched_environment *environment,
                                            ppsched_error *error)
{
    struct ppi_host host;
    ppsched_balance own;
    PPI_REQUIRE(out);
    if (count > 0)
        PPI_REQUIRE(replica);
    if (count > 0)
        PPI_REQUIRE(costs);
    ppsched_status status = ppi_host_take(&host, environment, error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("even_counts", even_counts, 0, 1, error);
    if (status == PPSCHED_OK)
        status = ppi_give_sized(out, &(ppsched_balance){0}, sizeof own, PPI_SIZE_UP_TO(ppsched_balance, bound),
                                "ppsched_balance", error); /* also asks for its size */
    if (status == PPSCHED_OK)
        status = ppi_share_out(&own, replica, costs, count, replicas, even_counts != 0, &host, error);
    if (status != PPSCHED_OK)
        return status;
    return ppi_give_sized(out, &own, sizeof own, PPI_SIZE_UP_TO(ppsched_balance, bound), "ppsched_balance", error);
}
