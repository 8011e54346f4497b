/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the lists of a form: the inputs, the passes and the devices of each stage. */
#include "strategy/shared_head.h"

#include <string.h>

#include "base/error.h"
#include "ir/stage_graph.h"

struct lists {
    uint32_t *input_counts, *inputs, *device_counts, *devices;
    int32_t *passes;
    uint32_t stages, inputs_used, devices_used;
};

static void begin_stage(struct lists *lists, int32_t passes)
{
    lists->input_counts[lists->stages] = lists->device_counts[lists->stages] = 0;
    lists->passes[lists->stages++] = passes;
}

static void feed(struct lists *lists, uint32_t input)
{
    lists->inputs[lists->inputs_used++] = input;
    lists->input_counts[lists->stages - 1]++;
}

static void put_on(struct lists *lists, uint32_t device)
{
    lists->devices[lists->devices_used++] = device;
    lists->device_counts[lists->stages - 1]++;
}

/* A part of the head on each device. */
static void add_parts(struct lists *lists, uint32_t devices, uint32_t input, int32_t passes)
{
    for (uint32_t d = 0; d < devices; d++) {
        begin_stage(lists, passes);
        feed(lists, input);
        put_on(lists, d);
    }
}

static void add_loss(struct lists *lists, uint32_t devices, bool follows_last)
{
    begin_stage(lists, PPSCHED_STAGE_PASSES_FORWARD_INPUT);
    if (follows_last)
        feed(lists, devices - 1);
    for (uint32_t d = 0; d < devices; d++)
        feed(lists, devices + d);
    put_on(lists, devices - 1);
}

static void fill(struct lists *lists, enum ppi_head_form form, uint32_t devices)
{
    for (uint32_t d = 0; d < devices; d++) {
        begin_stage(lists, PPSCHED_STAGE_PASSES_FORWARD_BACKWARD);
        if (d > 0)
            feed(lists, d - 1);
        put_on(lists, d);
    }
    if (form == PPI_HEAD_INTERLACED) {
        begin_stage(lists, PPSCHED_STAGE_PASSES_FORWARD_BACKWARD);
        feed(lists, devices - 1);
        for (uint32_t d = 0; d < devices; d++)
            put_on(lists, d);
        return;
    }
    const bool one = form == PPI_HEAD_ONE_BARRIER;
    add_parts(lists, devices, devices - 1, one ? PPSCHED_STAGE_PASSES_FORWARD : PPSCHED_STAGE_PASSES_FORWARD_BACKWARD);
    add_loss(lists, devices, one);
    if (one)
        add_parts(lists, devices, 2 * devices, PPSCHED_STAGE_PASSES_FORWARD);
}

static ppsched_status set_lists(ppsched_config *config, const struct lists *lists, ppsched_error *error)
{
    ppsched_status status = ppi_config_set_stage_devices(config, lists->device_counts, lists->devices, lists->stages, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_stage_inputs(config, lists->input_counts, lists->inputs, lists->stages, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_stage_passes(config, lists->passes, lists->stages, error);
    return status;
}

ppsched_status ppi_set_shared_head(ppsched_config *config, enum ppi_head_form form, ppsched_error *error)
{
    const uint32_t devices = config->shape.devices;
    const size_t stages = config->shape.stages, inputs = stages + 2 * (size_t)devices;
    uint32_t *room = ppi_allocate(&config->host, 3 * stages + 2 * inputs, sizeof *room);
    if (room == NULL)
        return ppi_fail_memory(error, "the stage graph");
    struct lists lists = {.input_counts = room,
                          .device_counts = room + stages,
                          .passes = (int32_t *)(void *)(room + 2 * stages),
                          .inputs = room + 3 * stages,
                          .devices = room + 3 * stages + inputs};
    fill(&lists, form, devices);
    ppsched_status status = set_lists(config, &lists, error);
    ppi_release(&config->host, room);
    return status;
}

static ppsched_status refuse(const struct ppi_task *task, ppsched_error *error)
{
    const uint32_t d = task->shape.devices;
    const enum ppi_head_form form = ppi_head_form_of(task);
    if (form == PPI_HEAD_INTERLACED)
        return ppi_refuse(error, task, "needs a chain of D+1 = %u stage%p, the last on all devices", d + 1);
    return ppi_refuse(
        error, task,
        "with barriers=%d it needs the graph of %u stage%p that a chain of %u and a head (--head) give; this is another",
        (int)form, ppi_shared_head_stages(form, d), d);
}

ppsched_status ppi_check_shared_head(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error)
{
    ppsched_config *like = NULL;
    const enum ppi_head_form form = ppi_head_form_of(task);
    if (config->graph == NULL)
        return PPSCHED_OK;
    if (config->shape.stages != ppi_shared_head_stages(form, config->shape.devices) || config->map == NULL)
        return refuse(task, error);
    ppsched_status status = ppi_config_create(&like, &config->shape, &config->host, error);
    if (status == PPSCHED_OK)
        status = ppi_set_shared_head(like, form, error);
    if (status == PPSCHED_OK && (!ppi_graphs_are_equal(like->graph, config->graph) ||
                                 memcmp(like->map, config->map, config->shape.stages * sizeof *like->map) != 0))
        status = refuse(task, error);
    ppi_config_destroy(like);
    return status;
}
