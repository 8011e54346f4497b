/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/proof.h"

#include "api/null.h"
#include "base/sized.h"

ppsched_status ppsched_schedule_prove(const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                      ppsched_wait *circle, size_t capacity, size_t *count, ppsched_error *error)
{
    ppsched_channel_model own;
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(model);
    if (capacity > 0)
        PPI_REQUIRE(circle);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof own, model, "ppsched_channel_model", error);
    if (status != PPSCHED_OK)
        return status;
    if (own.order < PPSCHED_CHANNEL_GROUP || own.order > PPSCHED_CHANNEL_PAIR)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "there is no channel order %d", own.order);
    if (own.rendezvous > 1 || own.batched > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "rendezvous and batched must be 0 or 1");
    return ppi_prove(schedule, &own, circle, capacity, count, error);
}
