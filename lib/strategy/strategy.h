/* SPDX-License-Identifier: Apache-2.0 */
/* A strategy: a descriptor with a rule for the sizes that it supports, and a rule or search for the order of ops. It knows
 * neither times nor formats. */
#ifndef PPSCHED_STRATEGY_STRATEGY_H
#define PPSCHED_STRATEGY_STRATEGY_H

#include "ir/builder.h"
#include "search/attempt.h"

enum { PPI_MOST_OPTIONS = 5 };

/* Values of the options with the roles of the objective, and of offload. */
enum { PPI_BY_SPAN, PPI_BY_MAKESPAN };
enum { PPI_NO_OFFLOAD, PPI_OFFLOAD_TO_LIMIT };

struct ppi_option_row {
    const char *name, *default_text, *summary;
    enum ppi_role role;
    int64_t minimum, maximum;
    int64_t usual;                                      /* the default */
    int64_t (*fallback)(const struct ppi_shape *shape); /* or, unless NULL, computes it */
    const char *const *choices; /* the names that it accepts, whose number is its value; NULL: an integer */
};

/* A request to a strategy: one run of it. */
struct ppi_task {
    const struct ppi_strategy *strategy;
    struct ppi_shape shape;
    int32_t placement;
    bool is_forward_only;
    bool has_graph;        /* the stages are a graph; `chunks` means nothing then */
    uint32_t chunks;       /* V, stages per device */
    uint32_t run;          /* microbatches of one run: M, or all of them where iterations do not flush */
    uint32_t micro_slices; /* their micro-slices: `run` where microbatches are whole */
    int64_t option[PPI_MOST_OPTIONS];
};

/* The task of a strategy's attempt. */
static inline const struct ppi_task *ppi_task_of(const struct ppi_attempt *attempt)
{
    return (const struct ppi_task *)attempt->asked;
}

struct ppi_strategy {
    const char *name, *summary, *source;
    const char *const *aliases;
    uint32_t alias_count;
    int32_t placement; /* PPSCHED_PLACEMENT_DEFAULT: the task's */
    uint32_t chunks;   /* stages per device; 0: any number */
    uint32_t weight_versions;
    bool splits_backward, flushes;
    bool serves_forwards; /* supports forward-only runs: its forwards alone are a valid order */
    bool serves_graphs;   /* supports stage graphs and stages on several devices; others support only chains */
    bool shares_head;     /* the output layer is a part of each device, in a graph of its own: shared_head.h */
    bool cuts;            /* supports slices; others support only whole microbatches */
    bool may_join;        /* splits backwards, but leaves them whole where the problem requires it */
    bool is_for_slices;   /* with whole microbatches identical to another strategy: plans of these leave it out */
    bool overlaps;        /* its orders have, or may have, overlapped pairs */
    bool offloads;        /* its schedules have copies: left out by auto, and by plans, which add copies to others */
    bool searches_long;   /* takes milliseconds to seconds: plans leave it out unless an effort is set */
    bool bounds_groups;   /* a group size above D is the same as D */
    bool comes_last;      /* searched after the others, with its own work: what these find stays the same */
    bool repeats_groups;  /* as `repeats`, with the microbatches of a group where there are more chunks than one */
    uint32_t repeats;     /* microbatches of a block: with so many more, each device's queue has a block more at one place, and
                           * else the same ops, from some number of microbatches on; one for each copy of the model. 0: no */
    bool unrolls;         /* a search that is not run for many microbatches if the order of few serves: unroll.h */
    uint64_t most_memory; /* bytes of its search, in addition to memory linear in the ops */
    const struct ppi_option_row *options;
    uint32_t option_count;

    /* OK, or REFUSED with the broken rule. NULL: supports all sizes of its placement. */
    ppsched_status (*fits)(const struct ppi_task *task, ppsched_error *error);

    /* OK, or what else the strategy does not support in a config. NULL: it supports all configs of its sizes. */
    ppsched_status (*check)(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error);

    /* A fixed rule: writes one device's ops of one run, microbatches 0 to run - 1. */
    void (*order)(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer);

    /* The same on a stage graph, for all devices and iterations. NULL: `order`. */
    ppsched_status (*order_graph)(ppsched_builder *builder, const struct ppi_task *task, const ppsched_config *config,
                                  ppsched_error *error);

    /* Makes the final schedule from the rule's, which is not changed; NULL: that is the final one. */
    ppsched_status (*finish)(ppsched_schedule **out, const ppsched_schedule *schedule, const struct ppi_task *task,
                             const ppsched_config *config, ppsched_error *error);

    /* Or a search: keeps its best schedule of one run in the attempt. REFUSED where nothing fits the memory limit; an attempt
     * without a schedule is refused too. */
    ppsched_status (*plan)(struct ppi_attempt *attempt, ppsched_error *error);

    /* Makes the whole schedule where an option asks for more than an order; otherwise does not change `*out`. */
    ppsched_status (*make)(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                           ppsched_error *error);

    /* Sets options that the caller leaves to the config's costs; on the strategy's placement. */
    void (*take_costs)(struct ppi_task *task, const ppsched_config *config);

    /* The task's placement where `placement` is PPSCHED_PLACEMENT_DEFAULT: from the options and the config. */
    int32_t (*place)(const struct ppi_task *task, const ppsched_config *config);
};

/* All strategies, in the order in which lists show them; NULL past the last. */
const struct ppi_strategy *ppi_strategy_at(uint32_t index);
uint32_t ppi_strategy_count(void);

/* Finds by name or alias. PPSCHED_ERROR_UNKNOWN_STRATEGY names the nearest. */
ppsched_status ppi_strategy_find(const char *name, uint32_t *out, ppsched_error *error);

/* Whether it leaves backwards whole where the problem requires that. */
static inline bool ppi_may_split(const struct ppi_strategy *strategy, const ppsched_config *config)
{
    return !strategy->splits_backward || strategy->may_join || !config->has_whole_backwards;
}

/* The number of a name among an option's choices; one past the last where it is none of them. */
int64_t ppi_choice_number(const struct ppi_option_row *row, const char *name);

/* Replaces the config's options by role with options by name, as a caller sets them. */
ppsched_status ppi_name_roles(ppsched_config *config, const struct ppi_strategy *strategy, ppsched_error *error);

/* The option with a role; NULL where the strategy has none. */
const struct ppi_option_row *ppi_option_for(const struct ppi_strategy *strategy, enum ppi_role role);

/* Whether placement, stages per device and the strategy's own rule allow a task; fills in its `chunks` and `run`. */
ppsched_status ppi_serve(struct ppi_task *task, ppsched_error *error);

static inline bool ppi_serves(struct ppi_task *task)
{
    return ppi_serve(task, NULL) == PPSCHED_OK;
}

/* Writes "; nearest: ..." with sizes that the strategy supports, or an empty text where none are near. */
void ppi_suggest(char *buffer, size_t capacity, const struct ppi_task *task);

/* Reads the config's options for a strategy and checks that it supports the task. */
ppsched_status ppi_task_make(struct ppi_task *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                             ppsched_error *error);

/* Sets the options' defaults for the task's shape. */
void ppi_set_defaults(struct ppi_task *task);

/* Plans one iteration; `config` has one. The attempt starts zeroed, and is cleared by the caller. */
ppsched_status ppi_plan(struct ppi_attempt *out, const struct ppi_task *task, const ppsched_config *config,
                        ppsched_error *error);

/* Builds the schedule of all iterations. */
ppsched_status ppi_generate(ppsched_schedule **out, const struct ppi_strategy *strategy, const ppsched_config *config,
                            ppsched_error *error);

/* The same of a task, without ops. */
ppsched_status ppi_generate_none(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                                 ppsched_error *error);

/* Offers another strategy's schedule for the same problem as a candidate: unchanged or, with `splits`, each full backward as
 * an I followed by its W, and pairs as two ops. Skipped where that strategy does not support the sizes, or refuses. Its
 * progress counts as a share of the attempt's present part. */
ppsched_status ppi_offer_strategy(struct ppi_attempt *attempt, const struct ppi_strategy *other, bool splits,
                                  ppsched_error *error);

/* The same for a strategy with groups, with at most `most` of the sizes from ppi_next_group. */
ppsched_status ppi_offer_groups(struct ppi_attempt *attempt, const struct ppi_strategy *other, uint32_t most,
                                ppsched_error *error);

/* Sizes of groups of microbatches to try, ascending: the least above `group`, which is 0 at first; 0 after the last. All sizes
 * where microbatches are few; else those near the number of devices, and those that make equal groups but for the last: about
 * twice the square root of the microbatches. */
uint32_t ppi_next_group(const struct ppi_shape *shape, uint32_t group);

/* Offers the strategies of a list that ends with NULL, one after another and split, while a shorter schedule may exist. */
ppsched_status ppi_offer_split(struct ppi_attempt *attempt, const struct ppi_strategy *const *others, ppsched_error *error);

/* REFUSED, "<strategy's name>: <message>". */
ppsched_status ppi_refuse(ppsched_error *error, const struct ppi_task *task, const char *format, ...);

#endif
