/* SPDX-License-Identifier: Apache-2.0 */
/* Unlike replicas that share a global batch: see <ppsched/replicas.h>. */
#ifndef PPSCHED_REPLAN_REPLICAS_H
#define PPSCHED_REPLAN_REPLICAS_H

#include <ppsched/replicas.h>

#include "plan/plan.h"

/* What the search has found for a number of microbatches. */
struct ppi_share {
    bool is_known, proved;
    uint32_t *split, *order;
    uint8_t *recomputes;
};

/* Replicas with one config. Lists by microbatches, from 1. */
struct ppi_replica_kind {
    const ppsched_config *config; /* the caller's: only read during the call */
    uint32_t devices;
    double *bounds, *times; /* times: the bound until the share is known; infinite if it cannot run */
    struct ppi_share *shares;
};

struct ppsched_replicas {
    struct ppi_host host;
    ppsched_replicas_figures figures;
    size_t count, kind_count;
    uint32_t *kind_of, *microbatches; /* by replica */
    struct ppi_replica_kind *kinds;
    uint32_t whole, chunks, layers;
};

/* Options are checked, with defaults filled in. */
ppsched_status ppi_replicas_make(ppsched_replicas **out, const ppsched_config *const *configs, size_t count,
                                 const ppsched_replicas_options *options, ppsched_error *error);
void ppi_replicas_destroy(ppsched_replicas *replicas);

#endif
