/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in strategies and their options. */
#ifndef PPSCHED_STRATEGY_H
#define PPSCHED_STRATEGY_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A description of a strategy. Set `size` to sizeof of this struct. All texts are static
 * storage.
 * Thread-safety: constant data. */
typedef struct ppsched_strategy_info {
    uint32_t size;
    int32_t placement; /* enum ppsched_placement: the placement that the strategy needs. DEFAULT
                          means that the caller may choose */

    uint32_t option_count; /* number of options, see ppsched_strategy_get_option */
    uint32_t alias_count;  /* number of aliases */

    uint32_t chunks;          /* number of stages per device that the strategy needs; 0 if the
                                 strategy supports any number */
    uint32_t weight_versions; /* number of versions of the weights that a device holds at the same
                                 time */

    uint32_t splits_backward;  /* 1 if the strategy uses I and W; 0 if it uses B */
    uint32_t flushes;          /* 1 if each iteration starts only when the iteration before has
                                  ended on all devices */
    uint32_t searches;         /* 1 if the strategy searches for the order that is best for the
                                  costs and memory limits; 0 if the strategy is a rule, which has a
                                  fixed order */
    uint32_t searches_long;    /* 1 if the search may take seconds. By default, a plan tries such a
                                  strategy only if `effort` of its options is set */
    uint32_t takes_group_size; /* 1 if the strategy has the option "group_size" */
    uint32_t slices;           /* 0: the strategy supports only whole microbatches. 1: it also
                                  supports slices. 2: it also supports slices, but with whole
                                  microbatches its schedules equal the schedules of another
                                  strategy. A plan tries a strategy with the value 2 only if
                                  `strategies` of its options names the strategy */
    uint32_t offloads;         /* 1 if schedules of the strategy have OFFLOAD and RELOAD. Some calls
                                  and formats do not support these ops. A plan tries such a strategy
                                  only if `strategies` of its options names the strategy. The
                                  strategy auto never tries such a strategy */
    uint32_t reserved;         /* 0 */

    uint64_t most_memory; /* the largest number of bytes that the search holds at one time, not
                             counting memory that is linear in the number of ops. 0 if the search
                             holds no other memory */

    const char *name;           /* name of the strategy */
    const char *summary;        /* one line */
    const char *source;         /* paper or project that the strategy comes from */
    const char *const *aliases; /* the `alias_count` other names of the strategy */
} ppsched_strategy_info;

/* An option of a strategy. Set `size` to sizeof of this struct. All texts are static storage.
 * Thread-safety: constant data. */
typedef struct ppsched_option_info {
    uint32_t size;
    uint32_t choice_count;      /* length of `choices`; 0 if the value is a number */
    int64_t minimum;            /* the least value, if the value is a number */
    int64_t maximum;            /* the largest value, if the value is a number */
    const char *name;           /* name of the option */
    const char *default_text;   /* the default value, in words */
    const char *summary;        /* one line */
    const char *const *choices; /* the `choice_count` names that the option accepts as its value */
} ppsched_option_info;

/* The number of strategies. Strategies are numbered from 0, and lists of strategies are in the
 * order of these numbers. A later release may change the numbers, but not the names. */
PPSCHED_API uint32_t ppsched_strategy_count(void);

/* Describes a strategy.
 * Errors: ARGUMENT; RANGE for a strategy past the last; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_get_info(ppsched_strategy_info *out, uint32_t strategy,
                                                     ppsched_error *error);

/* Describes an option of a strategy. Options are numbered from 0.
 * Errors: ARGUMENT; RANGE for a strategy or an option past the last; STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_get_option(ppsched_option_info *out, uint32_t strategy,
                                                       uint32_t option, ppsched_error *error);

/* Finds the number of the strategy with a name or alias. Upper and lower case count as equal, and
 * '-' counts as '_'.
 * Errors: ARGUMENT; UNKNOWN_STRATEGY (the message has the nearest name). */
PPSCHED_API ppsched_status ppsched_strategy_find(uint32_t *out, const char *name,
                                                 ppsched_error *error);

/* Checks whether a strategy supports the problem and the options of the config. The call builds no
 * schedule. So even if the check succeeds, a search may find no schedule within the memory limit.
 * Errors: ARGUMENT, UNKNOWN_STRATEGY, UNKNOWN_OPTION, RANGE; REFUSED (the message names the
 *   condition that is not met, and the nearest sizes that work). */
PPSCHED_API ppsched_status ppsched_strategy_fits(const char *name, const ppsched_config *config,
                                                 ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
