/* SPDX-License-Identifier: Apache-2.0 */
/* DeepSpeed's PipelineModule runs 1F1B; its number of microbatches is that of gradient accumulation steps. */
#include "format/formats.h"
#include "launch/launch.h"

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    return ppi_deepspeed_format.fits(launch->schedule, error);
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    ppi_line_setting(line, "num_stages", launch->schedule->shape.stages);
    ppi_line_setting(line, "gradient_accumulation_steps", launch->schedule->shape.microbatches);
}

const struct ppi_runtime ppi_deepspeed_runtime = {
    .name = "deepspeed",
    .title = "DeepSpeed",
    .fits = fits,
    .write = write,
};
