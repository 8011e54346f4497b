/* SPDX-License-Identifier: Apache-2.0 */
/* The problem, as set by the caller. */
#ifndef PPSCHED_IR_CONFIG_H
#define PPSCHED_IR_CONFIG_H

#include <ppsched/config.h>

#include "base/host.h"
#include "ir/quantity.h"
#include "ir/robust_objective.h"
#include "ir/shape.h"
#include "ir/windows.h"

enum { PPI_MOST_VERSIONS = 1024 }; /* weight versions on a device */

struct ppi_named_text {
    char *name, *value;
};

/* The meaning of a strategy's option to code in the library that sets it for the caller, such as a plan. */
enum ppi_role {
    PPI_ROLE_NONE,
    PPI_ROLE_GROUP_SIZE,
    PPI_ROLE_MIN_GROUP_SIZE,
    PPI_ROLE_PLACEMENT,
    PPI_ROLE_OBJECTIVE,
    PPI_ROLE_EFFORT,
    PPI_ROLE_OFFLOAD,
    PPI_ROLE_COUNT
};

/* Option values by role. */
struct ppi_roles {
    uint32_t given; /* bit r: value[r] is set */
    int64_t value[PPI_ROLE_COUNT];
};

struct ppsched_config {
    struct ppi_host host;
    struct ppi_shape shape;
    int32_t placement;                   /* PPSCHED_PLACEMENT_DEFAULT: chosen by the strategy */
    uint32_t *map;                       /* for PPSCHED_PLACEMENT_MAP, else NULL */
    const struct ppi_stage_graph *graph; /* a reference; NULL: a chain */
    uint32_t weight_versions;            /* 0: chosen by the strategy */
    bool has_whole_backwards;            /* no I and W, only B */
    bool is_forward_only;                /* nor B */
    bool senders_wait;                   /* PPSCHED_SENDER_WAITS_LIKE_KIND */
    uint32_t repeats;                    /* runs of the schedule, each flushed, that searches plan for; 0: one */
    double time_step;                    /* durations and delays are rounded to multiples of it; 0: they are not */
    struct ppi_robust_objective *goal;   /* objective of searches under varying times; NULL: the nominal time */
    ppsched_progress_function progress;  /* or NULL */
    void *progress_user;
    struct ppi_values values[PPI_LAST_QUANTITY + 1];
    struct ppi_windows *windows; /* from which the times of overlapped pairs follow; NULL: none */
    struct ppi_named_text *options;
    size_t option_count, option_capacity;
    struct ppi_roles roles;
};

/* Sets the option of a role, for any strategy that has one; replaces the value given by the option's name. */
static inline void ppi_config_set_role(ppsched_config *config, enum ppi_role role, int64_t value)
{
    config->roles.given |= 1u << role;
    config->roles.value[role] = value;
}

static inline void ppi_config_clear_role(ppsched_config *config, enum ppi_role role)
{
    config->roles.given &= ~(1u << role);
}

static inline bool ppi_config_has_role(const ppsched_config *config, enum ppi_role role)
{
    return (config->roles.given >> role & 1) != 0;
}

/* Whether a microbatch is a chunk of the same request as the one before it. */
static inline bool ppi_continues_request(const ppsched_config *config, uint32_t microbatch)
{
    const struct ppi_values *request = &config->values[PPSCHED_QUANTITY_MICROBATCH_REQUEST];
    return request->values != NULL && microbatch > 0 &&
           ppi_value_at(request, microbatch) == ppi_value_at(request, microbatch - 1);
}

ppsched_status ppi_config_create(ppsched_config **out, const struct ppi_shape *shape, const struct ppi_host *host,
                                 ppsched_error *error);
ppsched_status ppi_config_copy(ppsched_config **out, const ppsched_config *config, ppsched_error *error);
void ppi_config_destroy(ppsched_config *config);

ppsched_status ppi_config_set_placement(ppsched_config *config, int32_t placement, const uint32_t *map, size_t count,
                                        ppsched_error *error);
ppsched_status ppi_config_set_values(ppsched_config *config, int32_t quantity, const double *values, size_t count,
                                     ppsched_error *error);
ppsched_status ppi_config_set_option(ppsched_config *config, const char *name, const char *value, ppsched_error *error);

/* Copies what belongs to devices and to the run: links, limits, placement, versions, progress, options, and how microbatches
 * and slices differ. Both configs have the same numbers of those. */
ppsched_status ppi_config_take_run(ppsched_config *config, const ppsched_config *from, ppsched_error *error);

/* Takes over the caller's reference to a graph, or none. */
void ppi_config_set_graph(ppsched_config *config, const struct ppi_stage_graph *graph);

/* Calls the progress function, which must be set, and returns its result. */
static inline int32_t ppi_config_tell(const ppsched_config *config, double share, double best)
{
    const ppsched_progress progress = {.size = sizeof progress, .share = share, .best = best};
    return config->progress(config->progress_user, &progress);
}

/* Whether the caller's placement, if given, agrees with a strategy's. */
bool ppi_config_allows(const ppsched_config *config, int32_t wanted);

/* Makes the table of a placement; DEFAULT means the caller's choice, or loop if there is none. */
ppsched_status ppi_config_place(struct ppi_placement *out, const ppsched_config *config, int32_t wanted, ppsched_error *error);

#endif
