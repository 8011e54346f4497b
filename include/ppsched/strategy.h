/* SPDX-License-Identifier: Apache-2.0 */
/* The list of built-in strategies and of their options. */
#ifndef PPSCHED_STRATEGY_H
#define PPSCHED_STRATEGY_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/export_macro.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a strategy is. Sized: the caller sets `size`, the library fills that many bytes. All texts are static storage.
 * Thread-safety: constant data. */
typedef struct ppsched_strategy_info {
    uint32_t size;
    int32_t placement; /* enum ppsched_placement: the placement of its own; DEFAULT: the caller's choice */
    uint32_t option_count;
    uint32_t chunks;          /* stages per device that it needs; 0 for any number */
    uint32_t weight_versions; /* versions of the weights that live at once */
    uint32_t splits_backward; /* 1 where it uses I and W, 0 where it uses B */
    uint32_t flushes;         /* 1 where an iteration starts only when the one before has flushed */
    uint32_t alias_count;
    const char *name;
    const char *summary;        /* one line */
    const char *source;         /* paper or project that the rule comes from */
    const char *const *aliases; /* `alias_count` other names that are accepted */
    uint32_t searches;          /* 1 where it looks for the best order under costs and memory limits, 0 for a fixed rule */
    uint32_t reserved;
} ppsched_strategy_info;

/* An option of a strategy. Sized as above. */
typedef struct ppsched_option_info {
    uint32_t size;
    uint32_t choice_count;
    int64_t minimum; /* of an option that is a number: no choices */
    int64_t maximum;
    const char *name;
    const char *default_text;   /* the value that is taken where none is set, in words */
    const char *text;           /* one line */
    const char *const *choices; /* `choice_count` names, of which it takes one */
} ppsched_option_info;

/* Number of strategies; they are numbered from 0 in the order in which lists show them. */
PPSCHED_API uint32_t ppsched_strategy_count(void);

/* Fills `info` for one strategy. Errors: ARGUMENT past the last, STRUCT_SIZE. */
PPSCHED_API ppsched_status ppsched_strategy_describe(uint32_t strategy, ppsched_strategy_info *info);

/* Fills `info` for one option of a strategy. Errors as above. */
PPSCHED_API ppsched_status ppsched_strategy_option(uint32_t strategy, uint32_t option, ppsched_option_info *info);

/* Number of the strategy with that name or alias; case and '-' for '_' do not matter.
 * Errors: UNKNOWN_STRATEGY with the nearest name in the message. */
PPSCHED_API ppsched_status ppsched_strategy_find(const char *name, uint32_t *out, ppsched_error *error);

/* Tells, without building anything, whether the strategy can serve the problem with its options. (A search may still find that
 * nothing fits the memory limit.)
 * Errors: UNKNOWN_STRATEGY, UNKNOWN_OPTION, RANGE, or REFUSED with the rule that is broken and the nearest sizes that
 * work. */
PPSCHED_API ppsched_status ppsched_strategy_fits(const char *name, const ppsched_config *config, ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
