/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: the names of enum values. Where other modules read names, too, these have the table. */
#include <ppsched/names.h>

#include <stddef.h>

#include <ppsched/bound.h>
#include <ppsched/calibrator.h>
#include <ppsched/chakra.h>
#include <ppsched/channel.h>
#include <ppsched/check.h>
#include <ppsched/config.h>
#include <ppsched/environment.h>
#include <ppsched/explain.h>
#include <ppsched/job.h>
#include <ppsched/layer_table.h>
#include <ppsched/layers.h>
#include <ppsched/lower.h>
#include <ppsched/pair.h>
#include <ppsched/price.h>
#include <ppsched/resources.h>
#include <ppsched/scenarios.h>
#include <ppsched/steady.h>

#include "description/block_table.h"
#include "format/formats.h"
#include "ir/shape.h"
#include "ir/stage_graph.h"
#include "model/model.h"

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

const char *ppsched_pair_rule_name(int32_t pair_rule)
{
    static const char *const names[] = {[PPSCHED_PAIR_RULE_BEST] = "best",
                                        [PPSCHED_PAIR_RULE_MEGATRON] = "megatron",
                                        [PPSCHED_PAIR_RULE_MEGATRON_DELAYED] = "megatron_delayed"};
    return name_in(names, sizeof names / sizeof names[0], pair_rule);
}

const char *ppsched_steady_reason_name(int32_t steady_reason)
{
    static const char *const names[] = {
        [PPSCHED_STEADY_REASON_FOUND] = "found",         [PPSCHED_STEADY_REASON_ORDER] = "order",
        [PPSCHED_STEADY_REASON_COSTS] = "costs",         [PPSCHED_STEADY_REASON_SHORT] = "short",
        [PPSCHED_STEADY_REASON_TRANSIENT] = "transient", [PPSCHED_STEADY_REASON_ROUNDING] = "rounding"};
    return name_in(names, sizeof names / sizeof names[0], steady_reason);
}

const char *ppsched_collective_name(int32_t collective)
{
    static const char *const names[] = {[PPSCHED_COLLECTIVE_ALL_REDUCE] = "all_reduce",
                                        [PPSCHED_COLLECTIVE_ALL_GATHER] = "all_gather",
                                        [PPSCHED_COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
                                        [PPSCHED_COLLECTIVE_ALL_TO_ALL] = "all_to_all",
                                        [PPSCHED_COLLECTIVE_SEND] = "send"};
    return name_in(names, sizeof names / sizeof names[0], collective);
}

const char *ppsched_measure_name(int32_t measure)
{
    static const char *const names[] = {[PPSCHED_MEASURE_FORMULA] = "formula",
                                        [PPSCHED_MEASURE_TABLE] = "table",
                                        [PPSCHED_MEASURE_NEAREST] = "nearest",
                                        [PPSCHED_MEASURE_SAME] = "same",
                                        [PPSCHED_MEASURE_OTHERS] = "others"};
    return name_in(names, sizeof names / sizeof names[0], measure);
}

const char *ppsched_calibrator_constant_name(int32_t calibrator_constant)
{
    static const char *const names[] = {[PPSCHED_CALIBRATOR_CONSTANT_MATRIX_SHARE] = "matrix_share",
                                        [PPSCHED_CALIBRATOR_CONSTANT_ATTENTION_SHARE] = "attention_share",
                                        [PPSCHED_CALIBRATOR_CONSTANT_OP_TIME] = "op_time",
                                        [PPSCHED_CALIBRATOR_CONSTANT_HOST_TIME] = "host_time",
                                        [PPSCHED_CALIBRATOR_CONSTANT_FP8_SHARE] = "fp8_share",
                                        [PPSCHED_CALIBRATOR_CONSTANT_MXFP8_SHARE] = "mxfp8_share",
                                        [PPSCHED_CALIBRATOR_CONSTANT_NVFP4_SHARE] = "nvfp4_share"};
    return name_in(names, sizeof names / sizeof names[0], calibrator_constant);
}

const char *ppsched_rank_order_name(int32_t rank_order)
{
    static const char *const names[] = {
        [PPSCHED_RANK_ORDER_DATA_FIRST] = "tp-cp-ep-dp-pp", [PPSCHED_RANK_ORDER_PIPELINE_FIRST] = "tp-cp-ep-pp-dp"};
    return name_in(names, sizeof names / sizeof names[0], rank_order);
}

const char *ppsched_job_dimension_name(int32_t job_dimension)
{
    static const char *const names[] = {[PPSCHED_JOB_DIMENSION_TENSOR] = "tp",
                                        [PPSCHED_JOB_DIMENSION_CONTEXT] = "cp",
                                        [PPSCHED_JOB_DIMENSION_EXPERT] = "ep",
                                        [PPSCHED_JOB_DIMENSION_EXPERT_TENSOR] = "etp",
                                        [PPSCHED_JOB_DIMENSION_PIPELINE] = "pp",
                                        [PPSCHED_JOB_DIMENSION_CHUNKS] = "chunks",
                                        [PPSCHED_JOB_DIMENSION_MICRO_BATCH] = "micro_batch",
                                        [PPSCHED_JOB_DIMENSION_SHARDING] = "zero",
                                        [PPSCHED_JOB_DIMENSION_GLOBAL_BATCH] = "global_batch",
                                        [PPSCHED_JOB_DIMENSION_RANK_ORDER] = "rank_order"};
    return name_in(names, sizeof names / sizeof names[0], job_dimension);
}

const char *ppsched_job_goal_name(int32_t job_goal)
{
    static const char *const names[] = {[PPSCHED_JOB_GOAL_STEP] = "step", [PPSCHED_JOB_GOAL_TOKENS] = "tokens"};
    return name_in(names, sizeof names / sizeof names[0], job_goal);
}

const char *ppsched_job_state_name(int32_t job_state)
{
    static const char *const names[] = {
        [PPSCHED_JOB_STATE_LISTED] = "listed",         [PPSCHED_JOB_STATE_SLOWER] = "slower",
        [PPSCHED_JOB_STATE_OVER_LIMIT] = "over_limit", [PPSCHED_JOB_STATE_DOES_NOT_FIT] = "does_not_fit",
        [PPSCHED_JOB_STATE_REFUSED] = "refused",       [PPSCHED_JOB_STATE_PRICED] = "priced"};
    return name_in(names, sizeof names / sizeof names[0], job_state);
}

const char *ppsched_precision_name(int32_t precision)
{
    static const char *const names[] = {[PPSCHED_PRECISION_BF16] = "bf16",
                                        [PPSCHED_PRECISION_FP16] = "fp16",
                                        [PPSCHED_PRECISION_FP8] = "fp8",
                                        [PPSCHED_PRECISION_MXFP8] = "mxfp8",
                                        [PPSCHED_PRECISION_NVFP4] = "nvfp4"};
    return name_in(names, sizeof names / sizeof names[0], precision);
}

const char *ppsched_model_role_name(int32_t model_role)
{
    static const char *const names[] = {[PPSCHED_MODEL_ROLE_EMBEDDING] = "embedding",
                                        [PPSCHED_MODEL_ROLE_TOWER] = "tower",
                                        [PPSCHED_MODEL_ROLE_DECODER] = "decoder",
                                        [PPSCHED_MODEL_ROLE_MTP] = "mtp",
                                        [PPSCHED_MODEL_ROLE_HEAD] = "head"};
    return name_in(names, sizeof names / sizeof names[0], model_role);
}

const char *ppsched_stage_passes_name(int32_t stage_passes)
{
    return ppi_stage_passes_name(stage_passes);
}

const char *ppsched_model_pass_name(int32_t model_pass)
{
    return name_in(ppi_model_passes, PPI_MODEL_PASSES, model_pass);
}

const char *ppsched_block_kind_name(int32_t block_kind)
{
    return name_in(ppi_block_kinds, PPI_BLOCK_KINDS, block_kind);
}
