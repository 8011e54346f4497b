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
    int32_t placement; /* enum ppsched_placement: placement that the strategy needs; DEFAULT: the
                          caller may choose */

    uint32_t option_count; /* see ppsched_strategy_get_option */
    uint32_t alias_count;

    uint32_t chunks;          /* stages per device that the strategy needs; 0 for any number */
    uint32_t weight_versions; /* versions of the weights that a device holds at once */

    uint32_t splits_backward;  /* 1 if it uses I and W, 0 if it uses B */
    uint32_t flushes;          /* 1 if each iteration starts only when the one before has ended */
    uint32_t searches;         /* 1 if it searches for the best order for the costs and memory
                                  limits, 0 if it is a rule */
    uint32_t searches_long;    /* 1 if the search may take seconds. By default a plan tries it only
                                  with an `effort` */
    uint32_t takes_group_size; /* 1 if it has the option "group_size" */
    uint32_t slices;           /* 0: it supports only whole microbatches. 1: it also supports
                                  slices. 2: it also supports slices, and equals another strategy if
                                  microbatches are whole. A plan tries strategies with 2 only if
                                  they are named */
    uint32_t offloads;         /* 1 if its schedules have OFFLOAD and RELOAD, which some calls and
                                  formats do not support. A plan tries the strategy only if it is
                                  named, and auto never tries it */
    uint32_t reserved;         /* 0 */

    uint64_t most_memory; /* the most bytes that the search holds at once, in addition to memory
                             that is linear in the number of ops; 0 if there are none */

    const char *name;
    const char *summary;        /* one line */
    const char *source;         /* paper or project that the rule comes from */
    const char *const *aliases; /* `alias_count` other names that are accepted */
} ppsched_strategy_info;

/* An option of a strategy. Set `size` to sizeof of this struct. All texts are static storage.
 * Thread-safety: constant data. */
typedef struct ppsched_option_info {
    uint32_t size;
    uint32_t choice_count; /* 0: the value is a number */
    int64_t minimum;       /* least number */
    int64_t maximum;       /* largest number */
    const char *name;
    const char *default_text;   /* the default value, in words */
    const char *summary;        /* one line */
    const char *const *choices; /* `choice_count` names, one of which is the value */
} ppsched_option_info;

/* The number of strategies. They are numbered from 0, in the order of lists. A later release may
 * change the numbers, but not the names. */
PPSCHED_API uint32_t ppsched_strategy_count(void);

/* Describes a strategy.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_get_info(ppsched_strategy_info *out, uint32_t strategy,
                                                     ppsched_error *error);

/* Describes an option of a strategy. Options are numbered from 0.
 * Errors: ARGUMENT, RANGE past the last strategy or option, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_get_option(ppsched_option_info *out, uint32_t strategy,
                                                       uint32_t option, ppsched_error *error);

/* Finds the number of the strategy with a name or alias. Upper and lower case are equal, and so are
 * '-' and '_'.
 * Errors: ARGUMENT; UNKNOWN_STRATEGY with the nearest name in the message. */
PPSCHED_API ppsched_status ppsched_strategy_find(uint32_t *out, const char *name,
                                                 ppsched_error *error);

/* Checks whether a strategy supports the problem and its options, without building a schedule. A
 * search may still find no schedule within the memory limit.
 * Errors: ARGUMENT, UNKNOWN_STRATEGY, UNKNOWN_OPTION, RANGE; REFUSED with the rule that is broken,
 *   and the nearest sizes that work. */
PPSCHED_API ppsched_status ppsched_strategy_fits(const char *name, const ppsched_config *config,
                                                 ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
