/* SPDX-License-Identifier: Apache-2.0 */
/* A split in the making for one order of ops: what it costs, priced again where it changed alone. */
#ifndef PPSCHED_SPLIT_SPLIT_STATE_H
#define PPSCHED_SPLIT_SPLIT_STATE_H

#include "split/device_fit.h"
#include "split/fit_cache.h"
#include "split/long_paths.h"
#include "split/walk.h"

/* What a split is worth: first that it fits, then the time, then how even the devices' work is. */
struct ppi_split_price {
    double overshoot; /* sum of what devices lack under their limits */
    double time;
    double unevenness;
};

struct ppi_split_state {
    const ppsched_config *config; /* sizes, links, limits */
    const ppsched_layers *layers;
    const ppsched_schedule *schedule;
    double overhead[PPI_COMPUTE_KINDS]; /* of each op, beside its layers, by kind */
    struct ppi_arena *arena;
    struct ppi_walk walk;
    struct ppi_held_passes *holdings;
    struct ppi_front_builder builder;
    struct ppi_fitted fitted;
    struct ppi_long_paths long_paths;
    struct ppi_recompute_front *fronts; /* of each stage; NULL where no device has a limit */
    uint32_t stages, versions;          /* versions of the weights */
    bool may_be_empty;                  /* stages but the first and the last */
    bool has_bytes;                     /* delays follow from what layers hand on */
    double left_out;               /* passes of each stage that the schedule is too short for: see ppi_split_state_leave_out */
    double pass_overhead;          /* of a device in each of them */
    double *sums[PPI_LAYER_COSTS]; /* of the layers before each */
    double tied;                   /* memory that the last stage holds for the first */
    double first;                  /* that of all layers that belong into the first stage */
    uint32_t *copies;              /* of the layers before each, those whose stage copies these; NULL where there are none */
    uint32_t *border;              /* first layer of each stage, and behind them the number of all */
    uint32_t *like;                /* of each stage: first layer of some that are the same, and behind them */
    uint32_t *option;              /* of each stage */
    double *weight;                /* of each stage and kind: how often it is on a longest way */
    double *backward_weight;       /* of each stage: what time added to a backward costs, for the choice of sets */
    uint32_t *pin;                 /* of each stage: the set that it shall have, or PPSCHED_NONE */
    double *load;                  /* of each device, in a microbatch */
    bool *is_stale;                /* devices of which a stage changed */
    double overshoot, *overshoots; /* sum, and of each device */
    double most_overshoot;         /* beyond which a split is not timed */
    double most_time;              /* beyond which it does not matter by how much */
    uint64_t worked;               /* of the kitchen's work, what is among the visits */
    uint64_t visited;              /* nodes of all walks */
};

/* For a schedule of `layers` in as many stages, whose ops take `overhead` longer. All comes from `room`. */
ppsched_status ppi_split_state_make(struct ppi_split_state *out, struct ppi_arena *arena, const ppsched_config *config,
                                    const ppsched_layers *layers, const ppsched_schedule *schedule, const double *overhead,
                                    const struct ppi_same_kind *same, bool by_span, ppsched_error *error);

/* The schedule has so many microbatches fewer than are meant. Of each of them all devices work on nothing but their own
 * stages, and the most loaded one's work is added to the time. */
void ppi_split_state_leave_out(struct ppi_split_state *state, uint32_t microbatches);

/* Recomputes in another way from now on; what was at hand is forgotten. */
void ppi_split_state_recompute(struct ppi_split_state *state, const struct ppi_same_kind *same);

/* Goes over to other borders, and prices them. */
ppsched_status ppi_split_state_set(struct ppi_split_state *state, const uint32_t *border, struct ppi_split_price *price,
                                   ppsched_error *error);

/* Pins a set for a stage, or none, for the next price. */
static inline void ppi_split_state_set_pin(struct ppi_split_state *state, uint32_t stage, uint32_t pin)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    if (state->pin[stage] == pin)
        return;
    state->pin[stage] = pin;
    for (uint32_t copy = 0; copy < placement->copies; copy++)
        state->is_stale[placement->device_of[(size_t)copy * state->stages + stage]] = true;
}

/* The same borders with another set pinned for a stage, or none; prices them. */
void ppi_split_state_pin(struct ppi_split_state *state, uint32_t stage, uint32_t pin, struct ppi_split_price *price);

/* Fills in `weight` for what is at hand. */
void ppi_split_state_weigh(struct ppi_split_state *state);

/* Lets the next price choose sets by other weights: those given, all alike, or what was weighed last. */
void ppi_split_state_choose_alike(struct ppi_split_state *state);
void ppi_split_state_choose_by(struct ppi_split_state *state, const double *weight);
void ppi_split_state_choose_by_path(struct ppi_split_state *state);

/* Prices sets that are chosen, `option`, whatever memory they take; the next call of the others fits them again. */
double ppi_split_state_time(struct ppi_split_state *state, const uint32_t *option);

/* Memory that a stage has of layers in the first, beside its own layers, which are those from `begin` to before `end`. */
static inline double ppi_split_state_copied(const struct ppi_split_state *state, uint32_t stage, uint32_t begin, uint32_t end)
{
    if (stage == 0)
        return 0;
    double tied = stage + 1 == state->stages ? state->tied : 0;
    return state->copies != NULL && state->copies[end] > state->copies[begin] ? tied + state->first : tied;
}

/* The device's question of what its stages recompute. */
struct ppi_fit ppi_split_state_fit(const struct ppi_split_state *state, uint32_t device);

/* The device that has the same stages in the other copy of the model; itself where there is one copy. */
uint32_t ppi_split_state_partner(const struct ppi_split_state *state, uint32_t device);

/* Time of the layers from `begin` to before `end`, forward and backward, without recomputation. */
static inline double ppi_split_work(const struct ppi_split_state *state, uint32_t begin, uint32_t end)
{
    const double *forward = state->sums[PPI_LAYER_FORWARD], *backward = state->sums[PPI_LAYER_BACKWARD];
    return forward[end] - forward[begin] + (backward[end] - backward[begin]);
}

/* Whether one is worth more than another, by more than rounding. */
bool ppi_split_is_better(const struct ppi_split_price *a, const struct ppi_split_price *b);

#endif
