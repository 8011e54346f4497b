/* SPDX-License-Identifier: Apache-2.0 */
/* With what a running job goes on when its devices change: see <ppsched/replan.h>. */
#ifndef PPSCHED_REPLAN_REPLAN_H
#define PPSCHED_REPLAN_REPLAN_H

#include <ppsched/replan.h>

#include "plan/plan.h"

struct ppsched_replan {
    struct ppi_host host;
    ppsched_replan_figures figures;
    uint32_t stages, devices, layers;
    uint32_t *split, *order; /* devices of `order` as the caller numbers them */
    uint8_t *recomputes;
    ppsched_layer_move *moves;
    size_t move_count;
};

/* Which device holds which layers. */
struct ppi_holdings {
    const ppsched_layers *layers;
    const double *bytes;          /* by layer */
    uint32_t devices;             /* of the config */
    const bool *is_lost;          /* by device */
    bool *held;                   /* a row of layers for each device of the config, lost ones as well */
    const ppsched_config *config; /* with the links of all devices */
    double load_bandwidth;        /* may be infinite */
};

/* Marks in `held`, which must be zero, what each device holds: `order` has the device in each place of `placement`. */
void ppi_fill_held(bool *held, const ppsched_layers *layers, const struct ppi_placement *placement, uint32_t stages,
                   const uint32_t *split, const uint32_t *order);

/* What moves until devices hold `wanted`, which has rows as `held`. The figures get bytes and time, without the restart. `out`
 * is NULL, or has room for as many moves as the call returns without it. `room`: work space, three numbers for each device. */
size_t ppi_find_moves(ppsched_layer_move *out, ppsched_replan_figures *figures, const struct ppi_holdings *holdings,
                      const bool *wanted, double *room);

/* Gives each place of `order`, of `count` devices, the one of the devices that are alike for which the fewest bytes move.
 * `type` is by device of the config. `wanted`: rows of layers by place. Does nothing where devices are many. */
ppsched_status ppi_give_places(uint32_t *order, uint32_t count, const uint32_t *type, const struct ppi_holdings *holdings,
                               const bool *wanted, const struct ppi_host *host, ppsched_error *error);

/* Options are checked, with defaults filled in. */
ppsched_status ppi_replan_make(ppsched_replan **out, const ppsched_config *config, const ppsched_replan_options *options,
                               ppsched_error *error);
void ppi_replan_destroy(ppsched_replan *replan);

#endif
