/* SPDX-License-Identifier: Apache-2.0 */
/* UNSHARD and REDUCE_GRAD while an evaluation runs: one channel a device, on which they follow each other. */
#ifndef PPSCHED_CHANNEL_SHARDING_H
#define PPSCHED_CHANNEL_SHARDING_H

#include "ir/costs.h"

struct ppi_sharding_channel {
    double free;     /* when all that has come to it is done */
    double slowdown; /* of what the device computes until then */
};

struct ppi_sharding {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    struct ppi_sharding_channel *channels; /* by device; NULL where they take no time */
    double *gathered;                      /* when the weights of each lane are there */
};

/* Nothing has run. Both must outlive it. */
ppsched_status ppi_sharding_make(struct ppi_sharding *out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 ppsched_error *error);
void ppi_sharding_clear(struct ppi_sharding *sharding);

static inline bool ppi_sharding_takes_time(const struct ppi_sharding *sharding)
{
    return sharding->channels != NULL;
}

/* When a device's channel is free; 0 where nothing takes time. */
static inline double ppi_sharding_end(const struct ppi_sharding *sharding, uint32_t device)
{
    return sharding->channels != NULL ? sharding->channels[device].free : 0;
}

/* An UNSHARD or REDUCE_GRAD comes to its device's channel: when it runs. */
ppsched_span ppi_sharding_run(struct ppi_sharding *sharding, uint32_t device, const ppsched_op *op, double now);

/* Whether all that a unit needs is gathered, and nothing has the device stand still. */
bool ppi_sharding_lets_compute(const struct ppi_sharding *sharding, uint32_t device, const ppsched_op *unit, double now);

/* How long something takes that starts now: nothing comes to the channel before it ends. */
double ppi_sharding_slowed(const struct ppi_sharding *sharding, uint32_t device, double duration, double now);

/* UNSHARDs and REDUCE_GRADs of a schedule. */
size_t ppi_count_sharding(const ppsched_schedule *schedule);

static inline bool ppi_is_sharding(uint8_t kind)
{
    return kind == PPSCHED_KIND_UNSHARD || kind == PPSCHED_KIND_REDUCE_GRAD;
}

#endif
