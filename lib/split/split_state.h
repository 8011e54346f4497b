/* SPDX-License-Identifier: Apache-2.0 */
/* A split for one order of ops and its price, of which only what changed is priced again. */
#ifndef PPSCHED_SPLIT_SPLIT_STATE_H
#define PPSCHED_SPLIT_SPLIT_STATE_H

#include "split/device_fit.h"
#include "split/fit_cache.h"
#include "split/long_paths.h"
#include "split/pair_times.h"
#include "split/walk.h"

/* The price of a split: first its memory overshoot, then the time, then how uneven the devices' work is. */
struct ppi_split_price {
    double overshoot; /* sum over devices of the overshoot over their limits */
    double time;
    double unevenness;
};

/* Times of layers on devices of a type, for one device. */
struct ppi_type_times {
    const double *sums[PPI_COMPUTE_KINDS]; /* by layer: sums over the layers before it, by kind */
    double scale[PPI_COMPUTE_KINDS];       /* factors of the device on them, its speed included */
    double again;                          /* factor on what recomputation adds, before those */
    double least;                          /* the least factor on the time of any of its ops */
};

struct ppi_split_state {
    const ppsched_config *config; /* sizes, links, limits */
    const ppsched_layers *layers;
    const ppsched_schedule *schedule;
    double overhead[PPI_COMPUTE_KINDS]; /* of each op in addition to its layers, by kind */
    struct ppi_arena *arena;
    struct ppi_walk walk;
    struct ppi_held_passes *holdings;
    struct ppi_front_builder builder;
    struct ppi_fitted fitted;
    struct ppi_long_paths long_paths;
    struct ppi_pair_times *pair_times;  /* NULL: overlapped pairs take the sum of both ops */
    struct ppi_recompute_front *fronts; /* of each stage; NULL where no device has a limit */
    uint32_t stages, versions;          /* versions: of the weights */
    bool may_be_empty;                  /* other than the first and the last stage */
    bool has_bytes;                     /* delays follow from what layers output */
    double left_out;                    /* passes per stage that the schedule leaves out: see ppi_split_state_leave_out */
    double pass_overhead;               /* time of a device for each of them, in addition to layers */
    double *sums[PPI_LAYER_COSTS];      /* by layer: sums over the layers before it */
    double tied;                        /* memory of the first stage's layers that the last stage copies */
    double first;                       /* memory of all layers that are always in the first stage */
    uint32_t *copies;                   /* by layer: number of layers before it whose stage copies these; NULL: none */
    uint32_t *border;                   /* first layer of each stage, then the number of layers */
    uint32_t *like;                     /* by stage: first and end of identical layers, as a key */
    uint32_t *option;                   /* by stage */
    double *speed;                      /* by device, over all layers; NULL: all are 1 */
    double *own_overhead;               /* by device: of each op in addition to `overhead`; NULL: none. `speed` is then set */
    struct ppi_type_times *types;       /* by device; NULL where they differ by speeds alone */
    double *instance_weight;       /* by stage instance and kind: how often it is on the critical path; NULL without speeds */
    double *weight;                /* by stage and kind: criticality, the time that a unit of it takes on the critical path */
    double *backward_weight;       /* by stage: cost of time added to a backward, for the choice of options */
    uint32_t *pin;                 /* by stage: the option that it must have, or PPSCHED_NONE */
    double *load;                  /* by device: work of a microbatch */
    bool *is_stale;                /* by device: a stage changed, so that it must be fitted again */
    double overshoot, *overshoots; /* the sum, and by device */
    double most_overshoot;         /* above which a split is not timed */
    double most_time;              /* above which the exact time is not needed */
    ppsched_status status;         /* of the search for the times of pairs: the search for splits ends where it failed */
    uint64_t worked;               /* of `builder.work`, what `visited` includes */
    uint64_t visited;              /* nodes of all walks */
};

/* For a schedule with stages made of `layers`, whose ops take `overhead` longer, and
 * `overhead_scale` times the overhead of their device. All memory is from `arena`. */
ppsched_status ppi_split_state_make(struct ppi_split_state *out, struct ppi_arena *arena, const ppsched_config *config,
                                    const ppsched_layers *layers, const ppsched_schedule *schedule, const double *overhead,
                                    double overhead_scale, const struct ppi_same_kind *same, bool by_span,
                                    ppsched_error *error);

/* Takes what devices differ in. */
ppsched_status ppi_split_state_take_speeds(struct ppi_split_state *state, double overhead_scale, ppsched_error *error);

/* The schedule leaves out so many microbatches. For each of them the work of the most loaded device is added to the time. */
void ppi_split_state_leave_out(struct ppi_split_state *state, uint32_t microbatches);

/* Changes how stages recompute; the present split is forgotten. */
void ppi_split_state_recompute(struct ppi_split_state *state, const struct ppi_same_kind *same);

/* Sets other borders, and prices them. */
ppsched_status ppi_split_state_set(struct ppi_split_state *state, const uint32_t *border, struct ppi_split_price *price,
                                   ppsched_error *error);

/* Pins an option for a stage, or none, for the next price. */
static inline void ppi_split_state_set_pin(struct ppi_split_state *state, uint32_t stage, uint32_t pin)
{
    const struct ppi_placement *placement = &state->schedule->placement;
    if (state->pin[stage] == pin)
        return;
    state->pin[stage] = pin;
    for (uint32_t copy = 0; copy < placement->copies; copy++)
        state->is_stale[placement->device_of[(size_t)copy * state->stages + stage]] = true;
}

/* Prices the same borders with another option pinned for a stage, or none. */
void ppi_split_state_pin(struct ppi_split_state *state, uint32_t stage, uint32_t pin, struct ppi_split_price *price);

/* The device with most work of a microbatch. */
uint32_t ppi_split_state_most_loaded(const struct ppi_split_state *state);

/* The rows of known paths: stages, or stages of each copy where these take unlike times. */
static inline uint32_t ppi_split_state_rows(const struct ppi_split_state *state)
{
    return state->speed != NULL ? state->schedule->placement.copies * state->stages : state->stages;
}

/* Fills in `weight` for the present split. */
void ppi_split_state_weigh(struct ppi_split_state *state);

/* The next price chooses options by other costs of time: equal ones, given ones, or the criticality found last. */
void ppi_split_state_choose_alike(struct ppi_split_state *state);
void ppi_split_state_choose_by(struct ppi_split_state *state, const double *weight);
void ppi_split_state_choose_by_path(struct ppi_split_state *state);

/* The time with the given options, whatever their memory; the next price fits devices again. */
double ppi_split_state_time(struct ppi_split_state *state, const uint32_t *option);

/* Memory of a stage with the layers from `begin` to before `end` for copies of layers of the first stage. */
static inline double ppi_split_state_copied(const struct ppi_split_state *state, uint32_t stage, uint32_t begin, uint32_t end)
{
    if (stage == 0)
        return 0;
    double tied = stage + 1 == state->stages ? state->tied : 0;
    return state->copies != NULL && state->copies[end] > state->copies[begin] ? tied + state->first : tied;
}

/* The input for choosing a device's recompute options. */
struct ppi_fit ppi_split_state_fit(const struct ppi_split_state *state, uint32_t device);

/* The device that has the same stages in the other copy of the model; itself where there is one copy. */
uint32_t ppi_split_state_partner(const struct ppi_split_state *state, uint32_t device);

/* The speed of a device over all layers. */
static inline double ppi_split_speed(const struct ppi_split_state *state, uint32_t device)
{
    return state->speed != NULL ? state->speed[device] : 1;
}

/* The overhead of a device in a pass of one of its stages. */
static inline double ppi_split_pass_overhead(const struct ppi_split_state *state, uint32_t device)
{
    return state->own_overhead != NULL ? state->own_overhead[device] * (state->walk.splits_backward ? 3 : 2) : 0;
}

/* Time of the layers from `begin` to before `end` at speed 1, forward and backward, without recomputation. */
static inline double ppi_split_work(const struct ppi_split_state *state, uint32_t begin, uint32_t end)
{
    const double *forward = state->sums[PPI_LAYER_FORWARD], *backward = state->sums[PPI_LAYER_BACKWARD];
    return forward[end] - forward[begin] + (backward[end] - backward[begin]);
}

/* Whether a is better than b, by more than rounding. */
bool ppi_split_is_better(const struct ppi_split_price *a, const struct ppi_split_price *b);

#endif
