/* SPDX-License-Identifier: Apache-2.0 */
/* A channel is the time when it is free; compute that overlaps that time is slowed. */
#include "channel/sharding.h"

#include "base/checked.h"
#include "base/error.h"

ppsched_status ppi_sharding_make(struct ppi_sharding *out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct ppi_sharding sharding = {.schedule = schedule, .config = config};
    size_t instances = (size_t)schedule->placement.copies * schedule->shape.stages;
    *out = sharding;
    if (!ppi_has_sharding_times(config))
        return PPSCHED_OK;
    sharding.channels = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *sharding.channels);
    sharding.gathered = ppi_allocate_zeroed(host, instances, sizeof *sharding.gathered);
    if (sharding.channels == NULL || sharding.gathered == NULL) {
        ppi_sharding_clear(&sharding);
        return ppi_fail_memory(error, "the transfers");
    }
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        sharding.channels[d].slowdown = ppi_sharding_slowdown(config, d);
    *out = sharding;
    return PPSCHED_OK;
}

void ppi_sharding_clear(struct ppi_sharding *sharding)
{
    if (sharding->schedule == NULL)
        return;
    ppi_release(&sharding->schedule->host, sharding->gathered);
    ppi_release(&sharding->schedule->host, sharding->channels);
}

/* When the parameters of an op's stage on a device are gathered; the op has no microbatch that would give the copy. NULL if the
 * device does not have the stage, so that no op waits for it there. */
static double *gathered_of(const struct ppi_sharding *sharding, uint32_t device, const ppsched_op *op)
{
    const struct ppi_placement *placement = &sharding->schedule->placement;
    for (size_t copy = 0, instance = op->stage; copy < placement->copies; copy++, instance += sharding->schedule->shape.stages)
        if (placement->device_of[instance] == device)
            return &sharding->gathered[instance];
    return NULL;
}

ppsched_span ppi_sharding_run(struct ppi_sharding *sharding, uint32_t device, const ppsched_op *op, double now)
{
    bool unshards = op->kind == PPSCHED_KIND_UNSHARD;
    double *free = &sharding->channels[device].free, start = ppi_larger(*free, now);
    *free = start + ppi_sharding_time(sharding->config, op->stage, unshards, device);
    double *gathered = unshards ? gathered_of(sharding, device, op) : &sharding->channels[device].reduced;
    if (gathered != NULL)
        *gathered = *free;
    return (ppsched_span){start, *free};
}

bool ppi_sharding_lets_compute(const struct ppi_sharding *sharding, uint32_t device, const ppsched_op *unit, double now)
{
    if (sharding->channels == NULL)
        return true;
    const struct ppi_sharding_channel *channel = &sharding->channels[device];
    if (channel->slowdown >= PPI_INFINITE && channel->free > now)
        return false;
    for (size_t k = 0; k < ppi_unit_length(unit); k++) {
        const double *gathered = gathered_of(sharding, device, &unit[k]);
        if (gathered != NULL && *gathered > now)
            return false;
    }
    return true;
}

double ppi_sharding_slowed(const struct ppi_sharding *sharding, uint32_t device, double duration, double now)
{
    if (sharding->channels == NULL)
        return duration;
    double slowdown = sharding->channels[device].slowdown, shared = sharding->channels[device].free - now;
    if (!(slowdown > 1) || shared <= 0)
        return duration;
    if (duration * slowdown <= shared)
        return duration * slowdown;
    return shared + (duration - shared / slowdown);
}

size_t ppi_count_sharding(const ppsched_schedule *schedule)
{
    size_t count = 0;
    for (uint64_t i = 0; i < schedule->op_count; i++)
        count += ppi_is_sharding(schedule->ops[i].kind);
    return count;
}
