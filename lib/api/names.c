/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the names of enum values. Placements and formats have theirs in tables of their own. */
#include <ppsched/names.h>

#include <stddef.h>

#include <ppsched/bound.h>
#include <ppsched/chakra.h>
#include <ppsched/channel.h>
#include <ppsched/check.h>
#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/explain.h>
#include <ppsched/layers.h>
#include <ppsched/lower.h>
#include <ppsched/resources.h>
#include <ppsched/scenarios.h>

#include "format/formats.h"
#include "ir/shape.h"

static const char *name_in(const char *const *names, size_t count, int32_t value)
{
    return value >= 0 && (size_t)value < count ? names[value] : NULL;
}

const char *ppsched_placement_name(int32_t placement)
{
    return ppi_placement_name(placement);
}

const char *ppsched_sender_waits_name(int32_t sender_waits)
{
    static const char *const names[] = {[PPSCHED_SENDER_WAITS_NEVER] = "never", [PPSCHED_SENDER_WAITS_LIKE_KIND] = "like_kind"};
    return name_in(names, sizeof names / sizeof names[0], sender_waits);
}

const char *ppsched_objective_name(int32_t objective)
{
    static const char *const names[] = {[PPSCHED_OBJECTIVE_SPAN] = "span", [PPSCHED_OBJECTIVE_MAKESPAN] = "makespan"};
    return name_in(names, sizeof names / sizeof names[0], objective);
}

const char *ppsched_channel_order_name(int32_t channel_order)
{
    static const char *const names[] = {[PPSCHED_CHANNEL_ORDER_GROUP] = "group",
                                        [PPSCHED_CHANNEL_ORDER_DIRECTION] = "direction",
                                        [PPSCHED_CHANNEL_ORDER_PAIR] = "pair",
                                        [PPSCHED_CHANNEL_ORDER_NONE] = "none",
                                        [PPSCHED_CHANNEL_ORDER_SENDS] = "sends"};
    return name_in(names, sizeof names / sizeof names[0], channel_order);
}

const char *ppsched_lowering_name(int32_t lowering)
{
    static const char *const names[] = {[PPSCHED_LOWERING_NONE] = "none",
                                        [PPSCHED_LOWERING_PYTORCH] = "pytorch",
                                        [PPSCHED_LOWERING_BY_TIME] = "by_time",
                                        [PPSCHED_LOWERING_JUST_IN_TIME] = "just_in_time"};
    return name_in(names, sizeof names / sizeof names[0], lowering);
}

const char *ppsched_unshard_lookahead_name(int32_t unshard_lookahead)
{
    static const char *const names[] = {[PPSCHED_UNSHARD_LOOKAHEAD_FULL] = "full",
                                        [PPSCHED_UNSHARD_LOOKAHEAD_AUTO] = "auto",
                                        [PPSCHED_UNSHARD_LOOKAHEAD_LIST] = "list",
                                        [PPSCHED_UNSHARD_LOOKAHEAD_NEEDED] = "needed"};
    return name_in(names, sizeof names / sizeof names[0], unshard_lookahead);
}

const char *ppsched_dispatch_name(int32_t dispatch)
{
    static const char *const names[] = {[PPSCHED_DISPATCH_PLANNED] = "planned", [PPSCHED_DISPATCH_READY] = "ready"};
    return name_in(names, sizeof names / sizeof names[0], dispatch);
}

const char *ppsched_rank_by_name(int32_t rank_by)
{
    static const char *const names[] = {[PPSCHED_RANK_BY_STEP] = "step",
                                        [PPSCHED_RANK_BY_MEAN] = "mean",
                                        [PPSCHED_RANK_BY_QUANTILE] = "quantile",
                                        [PPSCHED_RANK_BY_WORST] = "worst"};
    return name_in(names, sizeof names / sizeof names[0], rank_by);
}

const char *ppsched_format_name(int32_t format)
{
    const struct ppi_format *row;
    return ppi_format_find(&row, format, NULL) == PPSCHED_OK ? row->name : NULL;
}

const char *ppsched_finding_kind_name(int32_t finding_kind)
{
    static const char *const names[] = {
        [PPSCHED_FINDING_KIND_MISSING] = "missing",     [PPSCHED_FINDING_KIND_DUPLICATE] = "duplicate",
        [PPSCHED_FINDING_KIND_MISPLACED] = "misplaced", [PPSCHED_FINDING_KIND_CYCLE] = "cycle",
        [PPSCHED_FINDING_KIND_BLOCKED] = "blocked",     [PPSCHED_FINDING_KIND_CONFLICT] = "conflict"};
    return name_in(names, sizeof names / sizeof names[0], finding_kind);
}

const char *ppsched_reason_name(int32_t reason)
{
    static const char *const names[] = {
        [PPSCHED_REASON_BEGIN] = "begin", [PPSCHED_REASON_DEVICE] = "device", [PPSCHED_REASON_INPUT] = "input",
        [PPSCHED_REASON_FLUSH] = "flush", [PPSCHED_REASON_COPY] = "copy",     [PPSCHED_REASON_TRANSFER] = "transfer"};
    return name_in(names, sizeof names / sizeof names[0], reason);
}

const char *ppsched_slot_use_name(int32_t slot_use)
{
    static const char *const names[] = {[PPSCHED_SLOT_USE_STAGE_MICROBATCH] = "stage_microbatch",
                                        [PPSCHED_SLOT_USE_MICROBATCH] = "microbatch",
                                        [PPSCHED_SLOT_USE_RECEIVE] = "receive"};
    return name_in(names, sizeof names / sizeof names[0], slot_use);
}

const char *ppsched_connecting_name(int32_t connecting)
{
    static const char *const names[] = {[PPSCHED_CONNECTING_LINKS] = "links", [PPSCHED_CONNECTING_STAGES] = "stages"};
    return name_in(names, sizeof names / sizeof names[0], connecting);
}

const char *ppsched_layer_place_name(int32_t layer_place)
{
    static const char *const names[] = {
        [PPSCHED_LAYER_PLACE_ANY] = "any", [PPSCHED_LAYER_PLACE_FIRST] = "first", [PPSCHED_LAYER_PLACE_LAST] = "last"};
    return name_in(names, sizeof names / sizeof names[0], layer_place);
}

const char *ppsched_chakra_sizes_name(int32_t chakra_sizes)
{
    static const char *const names[] = {[PPSCHED_CHAKRA_SIZES_BYTES] = "bytes", [PPSCHED_CHAKRA_SIZES_TIMES] = "times"};
    return name_in(names, sizeof names / sizeof names[0], chakra_sizes);
}

const char *ppsched_chakra_links_name(int32_t chakra_links)
{
    static const char *const names[] = {[PPSCHED_CHAKRA_LINKS_SENDERS] = "senders", [PPSCHED_CHAKRA_LINKS_RANKS] = "ranks"};
    return name_in(names, sizeof names / sizeof names[0], chakra_links);
}

const char *ppsched_log_level_name(int32_t log_level)
{
    static const char *const names[] = {[PPSCHED_LOG_LEVEL_WARNING] = "warning", [PPSCHED_LOG_LEVEL_INFO] = "info"};
    return name_in(names, sizeof names / sizeof names[0], log_level);
}
