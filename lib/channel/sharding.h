/* SPDX-License-Identifier: Apache-2.0 */
/* UNSHARD and REDUCE_GRAD during an evaluation: one channel per device runs them one after another. */
#ifndef PPSCHED_CHANNEL_SHARDING_H
#define PPSCHED_CHANNEL_SHARDING_H

#include "ir/costs.h"

struct ppi_sharding_channel {
    double free;     /* end of all that it has accepted */
    double reduced;  /* end of the last REDUCE_GRAD that it has accepted */
    double slowdown; /* factor on the times of the device's compute until then */
};

struct ppi_sharding {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    struct ppi_sharding_channel *channels; /* by device; NULL if they take no time */
    double *gathered;                      /* by stage instance: when its parameters are gathered */
};

/* Starts with nothing run. Schedule and config must outlive it. */
ppsched_status ppi_sharding_make(struct ppi_sharding *out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 ppsched_error *error);
void ppi_sharding_clear(struct ppi_sharding *sharding);

static inline bool ppi_sharding_takes_time(const struct ppi_sharding *sharding)
{
    return sharding->channels != NULL;
}

/* When a device's channel is free; 0 if nothing takes time. */
static inline double ppi_sharding_end(const struct ppi_sharding *sharding, uint32_t device)
{
    return sharding->channels != NULL ? sharding->channels[device].free : 0;
}

/* When a device has done the last REDUCE_GRAD that it has started; 0 if nothing takes time. */
static inline double ppi_sharding_reduced(const struct ppi_sharding *sharding, uint32_t device)
{
    return sharding->channels != NULL ? sharding->channels[device].reduced : 0;
}

/* Adds an UNSHARD or REDUCE_GRAD to its device's channel; returns when it runs. */
ppsched_span ppi_sharding_run(struct ppi_sharding *sharding, uint32_t device, const ppsched_op *op, double now);

/* Whether a unit's parameters are gathered, and no collective stops the device. */
bool ppi_sharding_lets_compute(const struct ppi_sharding *sharding, uint32_t device, const ppsched_op *unit, double now);

/* The time of a unit that starts now: nothing is added to the channel before it ends. */
double ppi_sharding_slowed(const struct ppi_sharding *sharding, uint32_t device, double duration, double now);

/* Number of UNSHARDs and REDUCE_GRADs of a schedule. */
size_t ppi_count_sharding(const ppsched_schedule *schedule);

static inline bool ppi_is_sharding(uint8_t kind)
{
    return kind == PPSCHED_KIND_UNSHARD || kind == PPSCHED_KIND_REDUCE_GRAD;
}

#endif
