/* SPDX-License-Identifier: Apache-2.0 */
#include "ir/progress.h"

#include "base/checked.h"
#include "base/error.h"

struct ppi_watch ppi_watch_start(const ppsched_config *config)
{
    return (struct ppi_watch){.config = config, .to = 1, .best = PPI_INFINITE};
}

void ppi_watch_go_on(struct ppi_watch *watch, double share)
{
    watch->from = watch->to;
    watch->to = share;
}

ppsched_status ppi_watch_report(struct ppi_watch *watch, double share, ppsched_error *error)
{
    double done = watch->from + (watch->to - watch->from) * (share < 1 ? share : 1);
    watch->told = done > watch->told ? done : watch->told;
    return ppi_watch_ask(watch, error);
}

ppsched_status ppi_watch_ask(struct ppi_watch *watch, ppsched_error *error)
{
    const ppsched_config *config = watch->config;
    watch->visits = 0;
    if (config->progress == NULL)
        return PPSCHED_OK;
    watch->is_stopped = watch->is_stopped || ppi_config_tell(config, watch->told, watch->best) != 0;
    if (!watch->is_stopped)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the search was cancelled");
}
