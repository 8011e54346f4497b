/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: names of runtimes, and the launch arguments of a schedule for a runtime. */
#include "launch/launch.h"

#include "api/buffer.h"
#include "base/sized.h"
#include "check/check.h"

const char *ppsched_runtime_name(int32_t runtime)
{
    const struct ppi_runtime *row;
    return ppi_runtime_find(&row, runtime, NULL) == PPSCHED_OK ? row->name : NULL;
}

static ppsched_status check_launch_options(const ppsched_launch_options *options, ppsched_error *error)
{
    if (options->exact > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "exact is %u; it must be 0 or 1", options->exact);
    if (options->reserved != 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    if ((options->model == NULL) != (options->split == NULL))
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "model and split must both be given, or neither");
    if (options->csv == NULL)
        return PPSCHED_OK;
    if (options->csv[0] == '\0')
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name of the CSV is empty");
    for (const char *c = options->csv; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the name of the CSV has the control character %d", *c);
    return PPSCHED_OK;
}

/* Checks that the global batch size fits in 32 bits. */
static ppsched_status check_batch(const ppsched_launch_options *options, const ppsched_schedule *schedule, ppsched_error *error)
{
    uint64_t replicas = options->data_parallel > 0 ? options->data_parallel : 1,
             most = UINT32_MAX / schedule->shape.microbatches;
    if (options->micro_batch != 0 && replicas > most / options->micro_batch)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "a batch of %u microbatch%p of %u on %u replica%p is too large",
                        schedule->shape.microbatches, options->micro_batch, (uint32_t)replicas);
    return PPSCHED_OK;
}

/* Takes the layers of each stage, and from them the number of decoders. */
static ppsched_status take_parts(struct ppi_parts *parts, ppsched_split *split, struct ppi_launch *launch,
                                 const ppsched_launch_options *options, ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(split, sizeof *split, sizeof(ppsched_split), options->split, "ppsched_split", error);
    if (status == PPSCHED_OK && split->layers == NULL)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "the split has no list of layers");
    if (status == PPSCHED_OK && split->stages != launch->schedule->shape.stages)
        status = ppi_fail(error, PPSCHED_ERROR_MISMATCH, "the split has %u stage%p, the schedule has %u; they must be equal",
                          split->stages, launch->schedule->shape.stages);
    if (status == PPSCHED_OK)
        status = ppi_split_check(options->model, split, error);
    if (status == PPSCHED_OK)
        status = ppi_parts_make(parts, &launch->schedule->host, options->model, split, error);
    if (status != PPSCHED_OK)
        return status;
    if (launch->layers != 0 && launch->layers != parts->decoders)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "layers is %u, but the model has %u decoder%p", launch->layers,
                        parts->decoders);
    launch->parts = parts;
    launch->layers = parts->decoders;
    return PPSCHED_OK;
}

ppsched_status ppsched_schedule_write_launch_arguments(char *out, size_t capacity, size_t *needed,
                                                       const ppsched_schedule *schedule, int32_t runtime,
                                                       const ppsched_launch_options *options, ppsched_error *error)
{
    ppsched_launch_options own;
    struct ppi_findings findings = {0};
    struct ppi_line measured = {NULL, 0}, line = {out, 0};
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(schedule);
    const struct ppi_runtime *row;
    PPI_REQUIRE_CHAIN(&schedule->placement, "launch arguments");
    ppsched_status status = ppi_runtime_find(&row, runtime, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_launch_options), options, "ppsched_launch_options", error);
    if (status == PPSCHED_OK)
        status = check_launch_options(&own, error);
    if (status == PPSCHED_OK)
        status = check_batch(&own, schedule, error);
    if (status == PPSCHED_OK && !schedule->by_rule.is_known)
        status = ppi_check(schedule, &findings, error);
    struct ppi_launch launch = {.schedule = schedule,
                                .csv = own.csv,
                                .exact = own.exact != 0,
                                .layers = own.layers,
                                .micro_batch = own.micro_batch,
                                .data_parallel = own.data_parallel > 0 ? own.data_parallel : 1};
    struct ppi_parts parts = {.layers = NULL};
    ppsched_split split;
    if (status == PPSCHED_OK && own.model != NULL)
        status = take_parts(&parts, &split, &launch, &own, error);
    if (status == PPSCHED_OK)
        status = ppi_launch_fits(&launch, row, error);
    if (status == PPSCHED_OK) {
        row->write(&launch, &measured);
        status = ppi_check_text_room(out, capacity, measured.length, error);
        if (status == PPSCHED_OK && out != NULL)
            row->write(&launch, &line);
        status = ppi_tell_needed(needed, measured.length + 1, status);
    }
    ppi_parts_clear(&parts);
    return status;
}
