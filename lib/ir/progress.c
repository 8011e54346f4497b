/* SPDX-License-Identifier: Apache-2.0 */
/* Maps shares of the current part to shares of the whole, and calls the callback. */
#include "ir/progress.h"

#include "base/checked.h"
#include "base/error.h"

struct ppi_poll ppi_poll_start(const ppsched_config *config)
{
    return (struct ppi_poll){.config = config, .to = 1, .best = PPI_INFINITE};
}

void ppi_poll_go_on(struct ppi_poll *poll, double share)
{
    poll->from = poll->to;
    poll->to = share;
}

ppsched_status ppi_poll_report(struct ppi_poll *poll, double share, ppsched_error *error)
{
    double done = poll->from + (poll->to - poll->from) * (share < 1 ? share : 1);
    poll->told = done > poll->told ? done : poll->told;
    return ppi_poll_ask(poll, error);
}

int32_t ppi_poll_pass_on(void *poll, const ppsched_progress *progress)
{
    return ppi_poll_report(poll, progress->share, NULL) != PPSCHED_OK;
}

ppsched_status ppi_poll_ask(struct ppi_poll *poll, ppsched_error *error)
{
    const ppsched_config *config = poll->config;
    poll->visits = 0;
    if (config->progress == NULL)
        return PPSCHED_OK;
    poll->is_stopped = poll->is_stopped || ppi_config_tell(config, poll->told, poll->best) != 0;
    if (!poll->is_stopped)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the search was cancelled");
}
