/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the shares of unlike replicas. */
#include "replan/replicas.h"

#include "api/null.h"
#include "base/error.h"
#include "base/sized.h"
#include "ir/costs.h"

/* Microbatches times replicas. */
enum { MOST_CELLS = 1 << 20 };

static ppsched_status check_replica_config(const ppsched_config *config, size_t replica, ppsched_error *error)
{
    if (!ppi_has_factors(config))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "replica %zu has microbatches or slices that differ; leave their lists out: all must cost the same",
                    replica);
}

static ppsched_status check_replica_sizes(const ppsched_replicas_options *own, size_t count, ppsched_error *error)
{
    if (count == 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "there is no replica; give at least one config");
    if (own->microbatches < count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "the microbatches (%u) are too few for %zu replica%p; give one to each at least", own->microbatches,
                        count);
    if (own->microbatches > MOST_CELLS / count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "the microbatches (%u) are too many for %zu replica%p; at most %zu are shared out", own->microbatches,
                        count, MOST_CELLS / count);
    if (own->free_device_order > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "free_device_order is %u; it must be 0 or 1", own->free_device_order);
    if (own->split_effort > 4)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "split_effort is %u; it must be 1 to 4, or 0 for the default",
                        own->split_effort);
    return PPSCHED_OK;
}

ppsched_status ppsched_replicas_create(ppsched_replicas **out, const ppsched_config *const *configs, size_t count,
                                       const ppsched_replicas_options *options, ppsched_error *error)
{
    ppsched_replicas_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(configs);
    PPI_REQUIRE(options);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_replicas_options), options,
                                           "ppsched_replicas_options", error);
    if (status != PPSCHED_OK)
        return status;
    PPI_REQUIRE(own.strategy);
    PPI_REQUIRE(own.layers);
    status = check_replica_sizes(&own, count, error);
    for (size_t r = 0; r < count && status == PPSCHED_OK; r++) {
        PPI_REQUIRE(configs[r]);
        status = check_replica_config(configs[r], r, error);
    }
    if (own.chunks == 0)
        own.chunks = 1;
    if (own.split_effort == 0)
        own.split_effort = own.chunks > 1 ? 2 : 3; /* of several stages each split takes longer */
    return status == PPSCHED_OK ? ppi_replicas_make(out, configs, count, &own, error) : status;
}

void ppsched_replicas_destroy(ppsched_replicas *replicas)
{
    ppi_replicas_destroy(replicas);
}

ppsched_status ppsched_replicas_get_figures(ppsched_replicas_figures *out, const ppsched_replicas *replicas,
                                            ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(replicas);
    return ppi_give_sized(out, &replicas->figures, sizeof replicas->figures, sizeof(ppsched_replicas_figures),
                          "ppsched_replicas_figures", error);
}

ppsched_status ppsched_replicas_get_replica(ppsched_replica *out, const ppsched_replicas *replicas, size_t replica,
                                            ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(replicas);
    if (replica >= replicas->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no replica %zu; they are 0 to %zu", replica, replicas->count - 1);
    const struct ppi_replica_kind *kind = &replicas->kinds[replicas->kind_of[replica]];
    const uint32_t microbatches = replicas->microbatches[replica];
    const struct ppi_share *share = &kind->shares[microbatches];
    const ppsched_replica figures = {.size = sizeof figures,
                                     .microbatches = microbatches,
                                     .stages = kind->devices * replicas->chunks,
                                     .devices = kind->devices,
                                     .layers = replicas->layers,
                                     .proved = share->proved,
                                     .step_time = kind->times[microbatches],
                                     .split = share->split,
                                     .device_order = share->order,
                                     .recomputes = share->recomputes};
    return ppi_give_sized(out, &figures, sizeof figures, sizeof(ppsched_replica), "ppsched_replica", error);
}
