/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the traces of a schedule: its channels, and whole amounts of all ops; the nodes are made only when a trace is
 * written. */
#include "chakra/traces.h"

#include "base/error.h"
#include "channel/proof.h"
#include "eval/timeline.h"

/* Rounds of messages after which all devices have heard from each other, where iterations are separated. */
static uint32_t rounds_of(const ppsched_schedule *schedule)
{
    uint32_t rounds = 0;
    if (schedule->flushes && schedule->shape.iterations > 1)
        while ((uint32_t)1 << rounds < schedule->shape.devices)
            rounds++;
    return rounds;
}

static ppsched_status allocate(ppsched_chakra *chakra, ppsched_error *error)
{
    const ppsched_schedule *schedule = chakra->schedule;
    bool has_tensors = chakra->options.memory_scale > 0;
    chakra->micros = ppi_allocate(&chakra->host, (size_t)schedule->op_count, sizeof *chakra->micros);
    chakra->bytes = ppi_allocate_zeroed(&chakra->host, ppi_transfer_numbers(schedule), sizeof *chakra->bytes);
    if (has_tensors)
        chakra->tensors = ppi_allocate(&chakra->host, schedule->shape.stages, sizeof *chakra->tensors);
    if (chakra->micros == NULL || chakra->bytes == NULL || (has_tensors && chakra->tensors == NULL))
        return ppi_fail_memory(error, "the traces");
    return PPSCHED_OK;
}

static ppsched_status fill(ppsched_chakra *chakra, const ppsched_config *config, ppsched_error *error)
{
    const ppsched_schedule *schedule = chakra->schedule;
    struct ppi_channels channels;
    const ppsched_channel_model links = {.order = PPSCHED_CHANNEL_ORDER_PAIR}, sends = {.order = PPSCHED_CHANNEL_ORDER_SENDS};
    if (schedule->shape.devices < 2)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the schedule has one device; networks have two ranks or more");
    if (!ppi_has_comm_ops(schedule))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "the schedule has no sends and receives; lower it first");
    ppsched_status status = ppi_check_shapes(schedule, config, error);
    if (status == PPSCHED_OK)
        status = ppi_prove(schedule, &sends, NULL, 0, NULL, error);
    if (status == PPSCHED_OK)
        status = ppi_channels_make(&channels, schedule, &links, error);
    if (status != PPSCHED_OK)
        return status;
    chakra->channels = channels;
    status = allocate(chakra, error);
    if (status == PPSCHED_OK)
        status = ppi_chakra_price(chakra, config, error);
    chakra->rounds = rounds_of(schedule);
    for (uint32_t d = 0; status == PPSCHED_OK && d < schedule->shape.devices; d++)
        status = ppi_chakra_check(chakra, d, error);
    return status;
}

ppsched_status ppi_chakra_make(ppsched_chakra **out, const ppsched_schedule *schedule, const ppsched_config *config,
                               const ppsched_chakra_options *options, ppsched_error *error)
{
    ppsched_chakra *chakra = ppi_allocate_zeroed(&schedule->host, 1, sizeof *chakra);
    if (chakra == NULL)
        return ppi_fail_memory(error, "the traces");
    chakra->host = schedule->host;
    chakra->schedule = schedule;
    ppi_schedule_retain(schedule);
    chakra->channels.schedule = schedule;
    chakra->options = *options;
    ppsched_status status = fill(chakra, config, error);
    if (status == PPSCHED_OK)
        *out = chakra;
    else
        ppi_chakra_destroy(chakra);
    return status;
}

void ppi_chakra_destroy(ppsched_chakra *chakra)
{
    if (chakra == NULL)
        return;
    struct ppi_host host = chakra->host;
    ppi_release(&host, chakra->tensors);
    ppi_release(&host, chakra->bytes);
    ppi_release(&host, chakra->micros);
    ppi_channels_clear(&chakra->channels);
    ppi_schedule_release(chakra->schedule);
    ppi_release(&host, chakra);
}

uint32_t ppi_chakra_ranks(const ppsched_chakra *chakra)
{
    bool has_links = chakra->options.links == PPSCHED_CHAKRA_LINKS_RANKS;
    return chakra->schedule->shape.devices + (has_links ? chakra->channels.channel_count : 0);
}
