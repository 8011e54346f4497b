/* SPDX-License-Identifier: Apache-2.0 */
/* What a strategy is to the library: a descriptor with a rule for who it can serve and a rule for the order of ops. It knows
 * neither times nor formats. */
#ifndef PPSCHED_STRATEGY_STRATEGY_H
#define PPSCHED_STRATEGY_STRATEGY_H

#include "ir/builder.h"
#include "search/attempt.h"

enum { PPI_MOST_OPTIONS = 4 };

/* Values of options by role: of the objective, and of offload. */
enum { PPI_BY_SPAN, PPI_BY_MAKESPAN };
enum { PPI_NO_OFFLOAD, PPI_OFFLOAD_TO_LIMIT };

struct ppi_option_row {
    const char *name, *default_text, *summary;
    enum ppi_role role;
    int64_t minimum, maximum;
    int64_t usual;                                      /* the value where none is set */
    int64_t (*fallback)(const struct ppi_shape *shape); /* or, unless NULL, what gives it */
    const char *const *choices; /* where it takes one of these names, whose number is its value; else NULL */
};

/* What a strategy is asked for: one run of it. */
struct ppi_task {
    const struct ppi_strategy *strategy;
    struct ppi_shape shape;
    int32_t placement;
    bool is_forward_only;
    uint32_t chunks;       /* V, stages per device */
    uint32_t run;          /* microbatches of one run: M, or all of them where iterations do not flush */
    uint32_t micro_slices; /* slices of these: as many where they are whole */
    int64_t option[PPI_MOST_OPTIONS];
};

/* What an attempt of a strategy was asked for. */
static inline const struct ppi_task *ppi_task_of(const struct ppi_attempt *attempt)
{
    return (const struct ppi_task *)attempt->asked;
}

struct ppi_strategy {
    const char *name, *summary, *source;
    const char *const *aliases;
    uint32_t alias_count;
    int32_t placement; /* DEFAULT: that of the task */
    uint32_t chunks;   /* stages per device that it needs; 0 for any number */
    uint32_t weight_versions;
    bool splits_backward, flushes;
    bool serves_forwards; /* its forwards alone are an order of their own */
    bool cuts;            /* its rule is one of slices; others serve whole microbatches alone */
    bool may_join;        /* though it splits backwards, it leaves them whole where the problem wants that */
    bool is_for_slices;   /* what another strategy does with whole microbatches: plans of these leave it out */
    bool offloads;        /* its schedules have copies: plans, which add these to others, leave it out, and auto */
    bool searches_long;   /* milliseconds to seconds: plans leave it out unless they are given an effort */
    bool comes_last;      /* what `auto` and plans find with the others stays as it is: they give this one work of its own */
    uint64_t most_memory; /* bytes that its search holds at once, beside what is linear in the ops */
    const struct ppi_option_row *options;
    uint32_t option_count;

    /* OK, or REFUSED with the broken rule. NULL: serves all that suits its placement. */
    ppsched_status (*fits)(const struct ppi_task *task, ppsched_error *error);

    /* A fixed rule: puts one device's ops of one run, microbatches 0 to run - 1. */
    void (*order)(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer);

    /* What is made of the rule's schedule, which stays; NULL: it is as it is. */
    ppsched_status (*finish)(ppsched_schedule **out, const ppsched_schedule *schedule, const struct ppi_task *task,
                             const ppsched_config *config, ppsched_error *error);

    /* Or a search: keeps its best schedule of one run in the attempt. REFUSED where nothing fits the memory limit; so is an
     * attempt that comes back with none. */
    ppsched_status (*plan)(struct ppi_attempt *attempt, ppsched_error *error);

    /* All of it, where an option asks for more than an order; where none does, it leaves `*out` as it is. */
    ppsched_status (*make)(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                           ppsched_error *error);

    /* Options that the caller has left to the costs of the config; on the strategy's placement. */
    void (*take_costs)(struct ppi_task *task, const ppsched_config *config);

    /* The task's placement where `placement` is DEFAULT: from the options and the config. */
    int32_t (*place)(const struct ppi_task *task, const ppsched_config *config);
};

/* All strategies, in the order in which lists show them; NULL past the last. */
const struct ppi_strategy *ppi_strategy_at(uint32_t index);
uint32_t ppi_strategy_count(void);

/* By name or alias. UNKNOWN_STRATEGY names the nearest. */
ppsched_status ppi_strategy_find(const char *name, uint32_t *out, ppsched_error *error);

/* Whether it leaves backwards whole where the problem wants that. */
static inline bool ppi_may_split(const struct ppi_strategy *strategy, const ppsched_config *config)
{
    return !strategy->splits_backward || strategy->may_join || !config->has_whole_backwards;
}

/* The number of a name among an option's choices; one more than the last where it is none of them. */
int64_t ppi_choice_number(const struct ppi_option_row *row, const char *name);

/* Turns what the config has by role into options by name, as a caller sets them. */
ppsched_status ppi_name_roles(ppsched_config *config, const struct ppi_strategy *strategy, ppsched_error *error);

/* The option with a role; NULL where the strategy has none. */
const struct ppi_option_row *ppi_option_for(const struct ppi_strategy *strategy, enum ppi_role role);

/* Whether placement, stages per device and the strategy's own rule allow a task; fills in its `chunks` and `run`. */
ppsched_status ppi_serve(struct ppi_task *task, ppsched_error *error);

static inline bool ppi_serves(struct ppi_task *task)
{
    return ppi_serve(task, NULL) == PPSCHED_OK;
}

/* Writes "; nearest: ..." with sizes that the strategy serves, or an empty text where none are near. */
void ppi_suggest(char *buffer, size_t capacity, const struct ppi_task *task);

/* Reads the config's options for a strategy and asks whether it fits. */
ppsched_status ppi_task_make(struct ppi_task *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                             ppsched_error *error);

/* The options' defaults for the task's shape. */
void ppi_set_defaults(struct ppi_task *task);

/* Plans one iteration; `config` has one. The attempt, which starts zeroed, is the caller's to clear. */
ppsched_status ppi_plan(struct ppi_attempt *out, const struct ppi_task *task, const ppsched_config *config,
                        ppsched_error *error);

/* Builds the schedule. */
ppsched_status ppi_generate(ppsched_schedule **out, const struct ppi_strategy *strategy, const ppsched_config *config,
                            ppsched_error *error);

/* Offers another strategy's schedule for the same problem, whatever its costs are, as a candidate: as it is, or split, a full
 * backward as I with its W behind it, pairs one op behind the other. Passed over where that strategy does not serve the sizes,
 * or refuses. What it tells while it searches is a share of the attempt's present part. */
ppsched_status ppi_offer_strategy(struct ppi_attempt *attempt, const struct ppi_strategy *other, bool splits,
                                  ppsched_error *error);

/* One that has groups, with all sizes of them that are worth it (ppi_next_group), `most` at most. */
ppsched_status ppi_offer_groups(struct ppi_attempt *attempt, const struct ppi_strategy *other, uint32_t most,
                                ppsched_error *error);

/* Sizes of groups of microbatches, ascending: the least that is larger than `group`, which is 0 at first; 0 behind the last.
 * All of them where microbatches are few; else about the number of devices, and those that part the microbatches into so
 * many groups of one size, but for the last: about twice the root of their number. */
uint32_t ppi_next_group(const struct ppi_shape *shape, uint32_t group);

/* Those of a list that ends with NULL, one after another and split, as long as a shorter schedule may exist. */
ppsched_status ppi_offer_split(struct ppi_attempt *attempt, const struct ppi_strategy *const *others, ppsched_error *error);

/* REFUSED, "<strategy's name>: <message>". */
ppsched_status ppi_refuse(ppsched_error *error, const struct ppi_task *task, const char *format, ...);

#endif
