/* SPDX-License-Identifier: Apache-2.0 */
/* sail-sg's runtime accepts no order: flags select a kind of schedule, which it plans itself. Only its 1F1B is this library's
 * order op by op. For other kinds it makes one of the same kind, whose memory must not exceed the schedule's. */
#include <string.h>

#include "base/error.h"
#include "format/formats.h"
#include "launch/megatron.h"
#include "order/max_in_flight.h"
#include "strategy/descriptors.h"

struct ppi_sail_kind {
    const struct ppi_strategy *strategy; /* makes schedules of this kind; NULL: found from the order */
    uint32_t part;                       /* its V schedule has 1/part of 1F1B's memory; 0: limited by the flags */
    const char *flags;
    const char *number; /* flag with a number, or NULL */
};

/* Without this flag schedules that are not interleaved by layers lose the overlap of transfers, and then fail. */
#define RUNTIME "--enable-zb-runtime"
#define ZERO_BUBBLE 0, RUNTIME " --enable-zero-bubble", "--zero-bubble-max-pending-backward"
#define V_SCHEDULE RUNTIME " --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup "

static const struct ppi_sail_kind kind_1f1b = {.flags = RUNTIME};
/* Its argument check requires all of these, and its GPT script an attention without a mask. */
static const struct ppi_sail_kind kind_seq_1f1b = {.flags = RUNTIME
                                                   " --use-flash-attn --transformer-impl local --use-legacy-models "
                                                   "--no-create-attention-mask-in-dataloader",
                                                   .number = "--num-seq-splits"};
static const struct ppi_sail_kind kind_interleaved = {.flags = RUNTIME, .number = "--interleave-group-size"};

static const struct ppi_sail_kind kinds[] = {
    {&ppi_zb_h1, ZERO_BUBBLE},           {&ppi_zb_h2, ZERO_BUBBLE},
    {&ppi_zb_auto, ZERO_BUBBLE},         {&ppi_zbv, 1, V_SCHEDULE "zb"},
    {&ppi_zbv_auto, 1, V_SCHEDULE "zb"}, {&ppi_v_half, 2, V_SCHEDULE "half"},
    {&ppi_v_min, 3, V_SCHEDULE "min"},   {&ppi_v_1f1b, 0, RUNTIME " --enable-1f1b-v"},
};

/* Finds whether the order is 1F1B, or interleaved in groups that the runtime supports, of at most D. `*out` is NULL where it
 * is neither. */
static ppsched_status kind_of_order(const struct ppi_sail_kind **out, struct ppi_launch *launch, ppsched_error *error)
{
    ppsched_error reason;
    launch->order = ppi_order_of(launch->schedule);
    ppsched_status status = ppi_has_order(launch->schedule, &launch->order, "sail-sg", &reason);
    *out = NULL;
    if (status == PPSCHED_ERROR_NO_MEMORY)
        return ppi_fail_memory(error, "the kind of order");
    if (status == PPSCHED_OK && launch->order.chunks == 1)
        *out = &kind_1f1b;
    else if (status == PPSCHED_OK && launch->order.group_size <= launch->order.devices)
        *out = &kind_interleaved;
    return PPSCHED_OK;
}

static bool is_of_kind(const ppsched_schedule *schedule, const struct ppi_strategy *strategy)
{
    return strcmp(strategy->name, schedule->name) == 0 &&
           schedule->shape.stages == strategy->chunks * schedule->shape.devices &&
           ppi_is_placed(schedule, strategy->placement) && ppi_only_computes(schedule);
}

static const struct ppi_sail_kind *kind_of_name(const ppsched_schedule *schedule)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (is_of_kind(schedule, kinds[i].strategy))
            return &kinds[i];
    return NULL;
}

/* No flags make the order: names the file format, if it can express it. */
static ppsched_status refuse(const ppsched_schedule *schedule, const char *why, ppsched_error *error)
{
    ppsched_status status = ppi_sail_format.fits(schedule, error);
    return status != PPSCHED_OK
               ? status
               : ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s; only its scheduled nodes (format sail) can hold this order", why);
}

static ppsched_status refuse_order(const struct ppi_launch *launch, ppsched_error *error)
{
    struct ppi_order_1f1b order = launch->order;
    ppsched_error why;
    ppsched_status status = ppi_find_order(&order, launch->schedule, "sail-sg", &why);
    if (status == PPSCHED_ERROR_NO_MEMORY)
        return ppi_fail_memory(error, "the kind of order");
    if (status != PPSCHED_OK || order.group_size <= order.devices)
        return refuse(launch->schedule, "sail-sg has no flags for this order", error);
    ppi_fail(&why, PPSCHED_ERROR_REFUSED, "sail-sg interleaves groups of at most D = %u microbatch%p, not larger ones",
             order.devices);
    return refuse(launch->schedule, why.message, error);
}

static ppsched_status check_memory(const ppsched_schedule *schedule, const struct ppi_sail_kind *kind, ppsched_error *error)
{
    ppsched_error why;
    if (kind->part == 0)
        return PPSCHED_OK;
    uint32_t passes = kind->strategy->chunks * schedule->shape.microbatches;
    uint32_t theirs = ppi_v_held(schedule->shape.devices, kind->part), ours = ppi_most_held(schedule, true);
    theirs = theirs < passes ? theirs : passes;
    if (ours >= theirs)
        return PPSCHED_OK;
    ppi_fail(&why, PPSCHED_ERROR_REFUSED,
             "sail-sg's %s may hold %u stage passes on a device and has no memory limit; this order holds %u", schedule->name,
             theirs, ours);
    return refuse(schedule, why.message, error);
}

/* All stages must have equally many layers; interleaved schedules get their number of stages from that. */
static ppsched_status check_layers(const struct ppi_launch *launch, ppsched_error *error)
{
    uint32_t stages = launch->schedule->shape.stages;
    if (launch->layers == 0 && launch->kind == &kind_interleaved)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "sail-sg derives the number of stages from the layers; give the number of the model's layers");
    if (launch->layers % stages != 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "sail-sg needs the same number of layers on each of %u stage%p, not %u in all", stages, launch->layers);
    return PPSCHED_OK;
}

/* Its interleaved schedule has no recomputation by block. */
static bool may_recompute_first(const ppsched_schedule *schedule)
{
    return ppi_chunks_of(schedule) == 1 || !ppi_is_placed(schedule, PPSCHED_PLACEMENT_LOOP);
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    if (schedule->shape.devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "sail-sg's runtime has no pipeline on one device");
    ppsched_status status = ppi_parts_are_untied(launch->parts, "sail-sg", error);
    if (status != PPSCHED_OK)
        return status;
    if (schedule->shape.slices > 1) {
        launch->kind = &kind_seq_1f1b;
        status = ppi_has_sliced_order(schedule, "sail-sg", error);
        return status == PPSCHED_OK ? check_layers(launch, error) : status;
    }
    const struct ppi_sail_kind *kind = NULL;
    status = kind_of_order(&kind, launch, error);
    if (status != PPSCHED_OK)
        return status;
    if (kind == NULL)
        kind = kind_of_name(schedule);
    launch->kind = kind;
    if (kind == NULL)
        return refuse_order(launch, error);
    if (launch->exact && kind != &kind_1f1b)
        return refuse(schedule, "sail-sg plans its own order of that kind", error);
    if (launch->parts != NULL && launch->parts->recomputed == PPI_RECOMPUTED_FIRST && !may_recompute_first(schedule))
        return ppi_fail(
            error, PPSCHED_ERROR_REFUSED,
            "sail-sg's interleaved schedule cannot recompute layers by block; give kind \"selective\", or more memory");
    status = check_memory(schedule, kind, error);
    return status == PPSCHED_OK ? check_layers(launch, error) : status;
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_sail_kind *kind = launch->kind;
    ppi_line_flag(line, "--pipeline-model-parallel-size", launch->schedule->shape.devices);
    if (launch->parts != NULL)
        ppi_line_flag(line, "--num-layers", launch->layers);
    ppi_line_word(line, kind->flags);
    if (kind == &kind_interleaved) {
        ppi_line_flag(line, "--num-layers-per-virtual-pipeline-stage", launch->layers / launch->schedule->shape.stages);
        ppi_line_flag(line, kind->number, launch->order.group_size);
    } else if (kind == &kind_seq_1f1b)
        ppi_line_flag(line, kind->number, launch->schedule->shape.slices);
    else if (kind->number != NULL)
        ppi_line_flag(line, kind->number, ppi_most_held(launch->schedule, false));
    if (launch->parts != NULL)
        ppi_megatron_write_recompute(launch->parts, line);
    ppi_megatron_write_batch(launch, line);
}

const struct ppi_runtime ppi_sail_runtime = {
    .name = "sail",
    .title = "sail-sg's runtime",
    .fits = fits,
    .write = write,
    .rules = {.refuses_hybrids = true, .sends_one_stream = true, .first = "full", .all = {"selective"}},
    .may_recompute_first = may_recompute_first,
    .cuts = true,
    .may_plan_alike = true,
};
