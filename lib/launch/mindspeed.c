/* SPDX-License-Identifier: Apache-2.0 */
/* MindSpeed: DualPipeV, in addition to Megatron-LM's schedules, for which Megatron-LM's flags are used. */
#include "base/error.h"
#include "launch/megatron.h"
#include "strategy/descriptors.h"

static const struct ppi_class classes[] = {{"dualpipev", &ppi_dualpipe_v}};

static ppsched_status check_strategy(const struct ppi_strategy *strategy, const struct ppi_shape *shape, ppsched_error *error)
{
    uint32_t least = 2 * shape->devices;
    if (shape->devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "MindSpeed has no pipeline on one device");
    if (strategy == &ppi_dualpipe_v)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "MindSpeed's own schedule is DualPipeV, and this order differs; DualPipeV has 2 stages on each of %u "
                    "devices, and needs %u, %u, ... layers and at least %u microbatch%p",
                    shape->devices, least, 2 * least, least);
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    const struct ppi_shape *shape = &launch->schedule->shape;
    ppsched_status status = ppi_class_find(&launch->maker, classes, 1, launch->schedule, error);
    if (status == PPSCHED_OK)
        status = check_strategy(launch->maker != NULL ? launch->maker->strategy : NULL, shape, error);
    if (status == PPSCHED_OK)
        status = ppi_parts_are_untied(launch->parts, "MindSpeed", error);
    if (status == PPSCHED_OK && launch->layers != 0 && launch->layers < shape->stages)
        status = ppi_fail(error, PPSCHED_ERROR_REFUSED, "MindSpeed needs a layer on each of %u stage%p, not %u in all",
                          shape->stages, launch->layers);
    return status;
}

/* There is a flag for overlapped pairs, and one for split last backwards. */
static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    ppi_line_flag(line, "--pipeline-model-parallel-size", launch->schedule->shape.devices);
    ppi_line_word(line, "--schedules-method");
    ppi_line_word(line, launch->maker->name);
    ppi_line_word(line, "--dualpipev-dw-detach --moe-fb-overlap");
    if (launch->parts != NULL)
        ppi_line_flag(line, "--num-layers", launch->layers);
    ppi_megatron_write_batch(launch, line);
}

const struct ppi_runtime ppi_mindspeed_runtime = {
    .name = "mindspeed",
    .title = "MindSpeed",
    .fits = fits,
    .check_strategy = check_strategy,
    .write = write,
    .rules = {.refuses_hybrids = true, .sends_one_stream = true},
};
