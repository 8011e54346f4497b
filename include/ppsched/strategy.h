/* SPDX-License-Identifier: Apache-2.0 */
/* The list of built-in strategies, and of their options. */
#ifndef PPSCHED_STRATEGY_H
#define PPSCHED_STRATEGY_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a strategy is. Sized. All texts are static storage.
 * Thread-safety: constant data. */
typedef struct ppsched_strategy_info {
    uint32_t size;
    int32_t placement; /* enum ppsched_placement: that of its own; DEFAULT: the caller's choice */

    uint32_t option_count; /* see ppsched_strategy_get_option */
    uint32_t alias_count;

    uint32_t chunks;          /* stages per device that it needs; 0 for any number */
    uint32_t weight_versions; /* versions of the weights that live at once */

    uint32_t splits_backward; /* 1 where it uses I and W, 0 where it uses B */
    uint32_t flushes;         /* 1 where an iteration starts only when the one before has ended */
    uint32_t searches;        /* 1 where it looks for the best order under costs and memory limits,
                                  0 for a fixed rule */
    uint32_t searches_long;   /* 1 where that may take seconds; a plan tries it by default only with
                                  an `effort` */
    uint32_t takes_group_size; /* 1 where it has the option "group_size" */
    uint32_t slices;           /* 0 where it supports whole microbatches alone, 1 where slices of
                                  them too; 2 where with whole ones it is identical to another
                                  strategy: a plan tries it only where it is named */
    uint32_t offloads;         /* 1 where its schedules have OFFLOAD and RELOAD, which not all know
                                  that take a schedule; a plan tries it only where it is named, auto
                                  never */
    uint32_t reserved;         /* 0 */

    uint64_t most_memory; /* most bytes that a search holds at once beside what is linear in the
                             schedule's ops; 0 where it holds no more than that */

    const char *name;
    const char *summary;        /* one line */
    const char *source;         /* paper or project that the rule comes from */
    const char *const *aliases; /* `alias_count` other names that are accepted */
} ppsched_strategy_info;

/* An option of a strategy. Sized. All texts are static storage.
 * Thread-safety: constant data. */
typedef struct ppsched_option_info {
    uint32_t size;
    uint32_t choice_count; /* 0: it takes a number */
    int64_t minimum;       /* of a number */
    int64_t maximum;       /* likewise */
    const char *name;
    const char *default_text;   /* the value that is taken where none is set, in words */
    const char *summary;        /* one line */
    const char *const *choices; /* `choice_count` names, of which it takes one */
} ppsched_option_info;

/* Number of strategies. They are numbered from 0, in the order in which lists show them; a later
 * release may number them otherwise, but keeps their names. */
PPSCHED_API uint32_t ppsched_strategy_count(void);

/* What a strategy is.
 * Errors: ARGUMENT, RANGE past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_get_info(ppsched_strategy_info *out, uint32_t strategy,
                                                     ppsched_error *error);

/* What one of a strategy's options is; they are numbered from 0.
 * Errors: ARGUMENT, RANGE past the last strategy or option, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_get_option(ppsched_option_info *out, uint32_t strategy,
                                                       uint32_t option, ppsched_error *error);

/* Number of the strategy with that name or alias. Case, and '-' for '_', do not matter.
 * Errors: ARGUMENT; UNKNOWN_STRATEGY with the nearest name in the message. */
PPSCHED_API ppsched_status ppsched_strategy_find(uint32_t *out, const char *name,
                                                 ppsched_error *error);

/* Tells, without building anything, whether the strategy can serve the problem with its options. A
 * search may still find that nothing fits the memory limit.
 * Errors: ARGUMENT, UNKNOWN_STRATEGY, UNKNOWN_OPTION, RANGE; REFUSED with the rule that is broken,
 *   and the nearest sizes that work. */
PPSCHED_API ppsched_status ppsched_strategy_fits(const char *name, const ppsched_config *config,
                                                 ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
