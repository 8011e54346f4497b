/* SPDX-License-Identifier: Apache-2.0 */
/* JaxPP: one of its schedule classes where one makes the order, else the class in docs/examples/jaxpp_schedule.py, which reads
 * a CSV. */
#include "base/error.h"
#include "format/formats.h"
#include "launch/launch.h"
#include "strategy/descriptors.h"

/* `more`: words after the sizes. Classes of one stage per rank take only num_stages. */
static const struct ppi_class classes[] = {
    {"Std1F1B", &ppi_1f1b, NULL, .single = true},
    {"Eager1F1B", &ppi_eager_1f1b, NULL, .single = true},
    {"GPipe", &ppi_gpipe, NULL, .single = true},
    {"ZeroBubble", &ppi_zb_h1, ppi_fills_devices, .single = true},
    {"Interleaved1F1B", &ppi_interleaved_1f1b, ppi_has_whole_rounds},
    {"KimiK2", &ppi_interleaved_1f1b_overlap, ppi_has_whole_rounds, .more = "fuse_steady_state=True"},
};

/* JaxPP does not split the backward of the first stage: its I and W are one task. */
static ppsched_status check_first_stage(const ppsched_schedule *schedule, ppsched_error *error)
{
    const ppsched_queue *queue = &schedule->queues[schedule->placement.device_of[0]];
    for (size_t i = 0; i < queue->count; i++) {
        const ppsched_op *op = &queue->ops[i], *next = op + 1; /* an I is never the last op: its W follows */
        if (op->kind != PPSCHED_KIND_I || op->stage != 0)
            continue;
        if (next->kind == PPSCHED_KIND_W && next->stage == 0 && next->microbatch == op->microbatch)
            continue;
        struct ppi_place place = {queue->device, op->stage, op->microbatch, (uint32_t)i};
        return ppi_fail_at(
            error, PPSCHED_ERROR_REFUSED, place,
            "JaxPP runs I and W of the first stage together; device %u has 0I%u at position %zu without 0W%u after it",
            queue->device, op->microbatch, i, op->microbatch);
    }
    return PPSCHED_OK;
}

static ppsched_status check_ranks(const ppsched_schedule *schedule, ppsched_error *error)
{
    if (schedule->placement.copies != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "JaxPP has each stage on one rank, the schedule has each on two devices");
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        if (schedule->queues[d].count == 0)
            return ppi_fail(error, PPSCHED_ERROR_REFUSED, "JaxPP needs a task on every rank; device %u has none", d);
    return PPSCHED_OK;
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    launch->maker = NULL;
    if (!ppi_only_computes(schedule))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "JaxPP supports only compute ops, and adds transfers itself; use the schedule before lowering");
    ppsched_status status = check_ranks(schedule, error);
    if (status == PPSCHED_OK && launch->csv == NULL)
        status = ppi_class_find(&launch->maker, classes, sizeof classes / sizeof classes[0], schedule, error);
    return status == PPSCHED_OK && launch->maker == NULL ? check_first_stage(schedule, error) : status;
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const struct ppi_class *maker = launch->maker;
    ppi_line_choice(line, "class", maker != NULL ? maker->name : "PlannedSchedule");
    ppi_line_setting(line, "num_stages", launch->schedule->shape.stages);
    if (maker == NULL || !maker->single)
        ppi_line_setting(line, "mpmd_dim", launch->schedule->shape.devices);
    ppi_line_setting(line, "n_mubatches", launch->schedule->shape.microbatches);
    if (maker != NULL && maker->more != NULL)
        ppi_line_word(line, maker->more);
    if (maker != NULL)
        return;
    ppi_line_word(line, "csv=");
    ppi_line_quoted(line, ppi_csv_of(launch));
}

const struct ppi_runtime ppi_jaxpp_runtime = {
    .name = "jaxpp",
    .title = "JaxPP",
    .fits = fits,
    .write = write,
    .rules = {.takes_list = true, .may_be_uneven = true, .may_be_empty = true, .may_recompute_any = true},
};
