/* SPDX-License-Identifier: Apache-2.0 */
/* Names of enumerators, for messages, options and bindings. A name is the enumerator in lower case
 * without the prefix of its enum, such as "by_time" for PPSCHED_LOWERING_BY_TIME. For an unknown
 * number, the result is NULL. The names have static storage. Any thread may call these functions at
 * any time.
 *
 * Every enum has such a function, except enums of flags. Some of these functions are declared next
 * to their enums: ppsched_kind_token, ppsched_quantity_name, ppsched_runtime_name,
 * ppsched_memory_cause_name, ppsched_status_name, and the functions of the headers that are marked
 * UNSTABLE. */
#ifndef PPSCHED_NAMES_H
#define PPSCHED_NAMES_H

#include <stdint.h>

#include <ppsched/export_macro.h>

#ifdef __cplusplus
extern "C" {
#endif

PPSCHED_API const char *ppsched_placement_name(int32_t placement);
PPSCHED_API const char *ppsched_sender_waits_name(int32_t sender_waits);
PPSCHED_API const char *ppsched_objective_name(int32_t objective);
PPSCHED_API const char *ppsched_channel_order_name(int32_t channel_order);
PPSCHED_API const char *ppsched_lowering_name(int32_t lowering);
PPSCHED_API const char *ppsched_unshard_lookahead_name(int32_t unshard_lookahead);
PPSCHED_API const char *ppsched_dispatch_name(int32_t dispatch);
PPSCHED_API const char *ppsched_rank_by_name(int32_t rank_by);
PPSCHED_API const char *ppsched_format_name(int32_t format);
PPSCHED_API const char *ppsched_finding_kind_name(int32_t finding_kind);
PPSCHED_API const char *ppsched_reason_name(int32_t reason);
PPSCHED_API const char *ppsched_slot_use_name(int32_t slot_use);
PPSCHED_API const char *ppsched_connecting_name(int32_t connecting);
PPSCHED_API const char *ppsched_layer_place_name(int32_t layer_place);
PPSCHED_API const char *ppsched_chakra_sizes_name(int32_t chakra_sizes);
PPSCHED_API const char *ppsched_chakra_links_name(int32_t chakra_links);
PPSCHED_API const char *ppsched_log_level_name(int32_t log_level);
PPSCHED_API const char *ppsched_pair_rule_name(int32_t pair_rule);
PPSCHED_API const char *ppsched_steady_reason_name(int32_t steady_reason);

/* The names are the same as in JSON: "FB", "FI" and "F". */
PPSCHED_API const char *ppsched_stage_passes_name(int32_t stage_passes);

#ifdef __cplusplus
}
#endif
#endif
