/* SPDX-License-Identifier: Apache-2.0 */
/* The problem, as the caller stated it. */
#ifndef PPSCHED_IR_CONFIG_H
#define PPSCHED_IR_CONFIG_H

#include <ppsched/config.h>

#include "base/host.h"
#include "ir/quantity.h"
#include "ir/robust_objective.h"
#include "ir/shape.h"

enum { PPI_MOST_VERSIONS = 1024 }; /* of the weights at once */

struct ppi_named_text {
    char *name, *value;
};

/* What an option of a strategy means to those in the library who set it for the caller, such as a plan. */
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

/* Options by role and number. */
struct ppi_roles {
    uint32_t given; /* bits by role */
    int64_t value[PPI_ROLE_COUNT];
};

struct ppsched_config {
    struct ppi_host host;
    struct ppi_shape shape;
    int32_t placement;                  /* PPSCHED_PLACEMENT_DEFAULT where the strategy decides */
    uint32_t *map;                      /* for PPSCHED_PLACEMENT_MAP, else NULL */
    uint32_t weight_versions;           /* 0 where the strategy decides */
    bool has_whole_backwards;           /* no I and W: B alone */
    bool is_forward_only;               /* nor B */
    bool senders_wait;                  /* between ops of one kind on a stage */
    uint32_t repeats;                   /* searches plan for so many runs of the schedule, each flushed; 0: one */
    struct ppi_robust_objective *goal;  /* of searches where times vary; NULL: the time as planned */
    ppsched_progress_function progress; /* NULL where nobody listens */
    void *progress_user;
    struct ppi_values values[PPI_LAST_QUANTITY + 1];
    struct ppi_named_text *options;
    size_t option_count, option_capacity;
    struct ppi_roles roles;
};

/* Sets the option with a role, for any strategy that has one, in the place of what its option of that role says. */
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

ppsched_status ppi_config_create(ppsched_config **out, const struct ppi_shape *shape, const struct ppi_host *host,
                                 ppsched_error *error);
ppsched_status ppi_config_copy(ppsched_config **out, const ppsched_config *config, ppsched_error *error);
void ppi_config_destroy(ppsched_config *config);

ppsched_status ppi_config_set_placement(ppsched_config *config, int32_t placement, const uint32_t *map, size_t count,
                                        ppsched_error *error);
ppsched_status ppi_config_set_values(ppsched_config *config, int32_t quantity, const double *values, size_t count,
                                     ppsched_error *error);
ppsched_status ppi_config_set_option(ppsched_config *config, const char *name, const char *value, ppsched_error *error);

/* Takes over what belongs to devices and to the run: links, limits, placement, versions, progress, options, and how
 * microbatches and slices differ, whose numbers must be the same. */
ppsched_status ppi_config_take_run(ppsched_config *config, const ppsched_config *from, ppsched_error *error);

/* Calls the progress function, which must be there; returns what that does. */
static inline int32_t ppi_config_tell(const ppsched_config *config, double share, double best)
{
    const ppsched_progress progress = {.size = sizeof progress, .share = share, .best = best};
    return config->progress(config->progress_user, &progress);
}

/* Whether the caller's choice of a placement, if there is one, agrees with a strategy's. */
bool ppi_config_allows(const ppsched_config *config, int32_t wanted);

/* The table of a placement; DEFAULT stands for the caller's choice, and for loop where there is none. */
ppsched_status ppi_config_place(struct ppi_placement *out, const ppsched_config *config, int32_t wanted, ppsched_error *error);

#endif
