/* SPDX-License-Identifier: Apache-2.0 */
/* The criticality of stages: how much the time of a split grows with theirs. It is read from the critical path of the walk, and
 * divided by the speeds of devices where these differ. */
#include <string.h>

#include "split/split_state.h"

/* Microbatches left out add to the criticality of the most loaded device. */
static void weigh_left_out(struct ppi_split_state *state)
{
    const uint32_t device = ppi_split_state_most_loaded(state);
    const struct ppi_held_passes *holding = &state->holdings[device];
    const double passes = state->left_out / state->schedule->placement.copies / ppi_split_speed(state, device);
    const bool splits = state->walk.splits_backward;
    for (uint32_t i = 0; i < holding->count; i++) {
        double *weight = &state->weight[(size_t)holding->stages[i] * PPI_WALK_KINDS];
        weight[PPSCHED_KIND_F - 1] += passes;
        weight[PPSCHED_KIND_B - 1] += splits ? 0 : passes;
        weight[PPSCHED_KIND_I - 1] += splits ? passes : 0;
        weight[PPSCHED_KIND_W - 1] += splits ? passes : 0;
    }
}

/* Adds up the path's passes of each stage over its copies, divided by the speeds of their devices. */
static void weigh_at_speeds(struct ppi_split_state *state)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    const uint32_t rows = ppi_split_state_rows(state);
    memset(state->instance_weight, 0, (size_t)rows * PPI_WALK_KINDS * sizeof *state->instance_weight);
    ppi_walk_weigh(&state->walk, rows, state->instance_weight);
    for (uint32_t row = 0; row < rows; row++)
        for (int k = 0; k < PPI_WALK_KINDS; k++)
            state->weight[(size_t)(row % state->stages) * PPI_WALK_KINDS + k] +=
                state->instance_weight[(size_t)row * PPI_WALK_KINDS + k] / state->speed[placement->device_of[row]];
}

void ppi_split_state_weigh(struct ppi_split_state *state)
{
    memset(state->weight, 0, (size_t)state->stages * PPI_WALK_KINDS * sizeof *state->weight);
    if (state->speed != NULL)
        weigh_at_speeds(state);
    else
        ppi_walk_weigh(&state->walk, state->stages, state->weight);
    if (state->left_out > 0)
        weigh_left_out(state);
}
