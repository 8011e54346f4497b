/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: proving that a lowered schedule ends in a channel model. Also checks the caller's channel model. */
#include "api/channel.h"

#include "api/buffer.h"
#include "base/sized.h"
#include "channel/proof.h"
#include "check/check.h"
#include "ir/stage_graph.h"

ppsched_status ppi_take_channel_model(ppsched_channel_model *own, const ppsched_channel_model *model, ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_channel_model), model, "ppsched_channel_model",
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("channel order", own->order, PPSCHED_CHANNEL_ORDER_GROUP, PPSCHED_CHANNEL_ORDER_SENDS, error);
    if (status != PPSCHED_OK)
        return status;
    if (own->rendezvous > 1 || own->batched > 1 || own->blocking > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "rendezvous, batched and blocking must be 0 or 1");
    return PPSCHED_OK;
}

ppsched_status ppsched_schedule_prove(ppsched_wait *out, size_t capacity, size_t *count, const ppsched_schedule *schedule,
                                      const ppsched_channel_model *model, ppsched_error *error)
{
    ppsched_channel_model own;
    size_t length = 0;
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(model);
    ppsched_status status = ppi_take_channel_model(&own, model, error);
    if (status == PPSCHED_OK && schedule->placement.graph != NULL)
        status = ppi_check(schedule, &(struct ppi_findings){0}, error); /* the proof needs it for ops of several devices */
    if (status != PPSCHED_OK)
        return status;
    status = ppi_prove(schedule, &own, out, capacity, &length, error);
    return ppi_tell_count(count, length, status);
}
