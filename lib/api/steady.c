/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the figures of a strategy's schedule without the schedule. */
#include "steady/steady.h"

#include "api/null.h"
#include "base/sized.h"
#include "eval/period.h"

enum { SHARE = 2 };

ppsched_status ppsched_steady_create(ppsched_steady **out, const ppsched_config *config, const char *strategy,
                                     ppsched_error *error)
{
    const struct ppi_steady_options options = {.wants_idle = true, .share = SHARE};
    uint32_t index = 0;
    PPI_REQUIRE(out);
    PPI_REQUIRE(config);
    PPI_REQUIRE(strategy);
    ppsched_status status = ppi_strategy_find(strategy, &index, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_steady *steady = ppi_allocate_zeroed(&config->host, 1, sizeof *steady);
    if (steady == NULL)
        return ppi_fail_memory(error, "the figures");
    status = ppi_steady_make(steady, ppi_strategy_at(index), config, &options, error);
    if (status != PPSCHED_OK) {
        ppi_release(&config->host, steady);
        return status;
    }
    *out = steady;
    return PPSCHED_OK;
}

void ppsched_steady_destroy(ppsched_steady *steady)
{
    if (steady == NULL)
        return;
    const struct ppi_host host = steady->timeline->host;
    ppi_steady_clear(steady);
    ppi_release(&host, steady);
}

ppsched_status ppsched_schedule_find_period(double *out, const ppsched_schedule *schedule, const ppsched_config *config,
                                            ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    return ppi_find_period(out, schedule, config, error);
}

ppsched_status ppsched_steady_get_period(ppsched_steady_period *out, const ppsched_steady *steady, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(steady);
    return ppi_give_sized(out, &steady->period, sizeof steady->period, sizeof(ppsched_steady_period), "ppsched_steady_period",
                          error);
}

ppsched_status ppsched_steady_get_metrics(ppsched_metrics *out, const ppsched_steady *steady, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(steady);
    return ppsched_timeline_get_metrics(out, steady->timeline, error);
}

ppsched_status ppsched_steady_get_device_metrics(ppsched_device_metrics *out, const ppsched_steady *steady, uint32_t device,
                                                 ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(steady);
    return ppsched_timeline_get_device_metrics(out, steady->timeline, device, error);
}

ppsched_status ppsched_steady_get_idle(ppsched_idle *out, const ppsched_steady *steady, uint32_t device, ppsched_error *error)
{
    PPI_REQUIRE(out);
    PPI_REQUIRE(steady);
    return ppsched_timeline_get_idle(out, steady->timeline, device, error);
}

ppsched_status ppsched_steady_get_peak_causes(double *out, size_t capacity, size_t *needed, const ppsched_steady *steady,
                                              uint32_t device, ppsched_error *error)
{
    PPI_REQUIRE(steady);
    return ppsched_timeline_get_peak_causes(out, capacity, needed, steady->timeline, device, error);
}
