/* SPDX-License-Identifier: Apache-2.0 */
/* Packs a whole schedule from a pattern: in the pattern's order every op moves into the earliest gap of its device where what
 * it needs is there and memory allows. That fills the warm-up with forwards and the cool-down with the Ws that are left. */
#ifndef PPSCHED_STRATEGY_V_PACK_H
#define PPSCHED_STRATEGY_V_PACK_H

#include "strategy/searches/v_pattern.h"

/* An op in its place. */
struct ppi_v_packed {
    double start, end;
    double held; /* memory with it */
    ppsched_op op;
};

struct ppi_v_pack {
    struct ppi_v_packed *packed; /* room for 6M a device */
    uint32_t *count;             /* packed on each device */
    uint32_t *order, *scratch;   /* a pattern's slots by phase */
    double *weight_end;          /* of each stage's last W */
    double *last_forward;        /* when the pattern starts each device's last F */
};

ppsched_status ppi_v_pack_make(struct ppi_v_pack *out, const struct ppi_v_planner *planner, ppsched_error *error);
void ppi_v_pack_clear(struct ppi_v_pack *pack, const struct ppi_v_planner *planner);

/* Packs all ops into `ops`, 6M a device; with a full backward each W follows its I. Returns the longest span of a device,
 * infinite where the pattern cannot be packed. */
double ppi_v_pack(struct ppi_v_pack *pack, struct ppi_v_planner *planner, const struct ppi_v_pattern *pattern, ppsched_op *ops);

#endif
