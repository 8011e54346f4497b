/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: writing and reading Chakra traces. */
#include "chakra/traces.h"

#include "api/log.h"
#include "api/null.h"
#include "base/checked.h"
#include "base/sized.h"
#include "chakra/reader.h"

static ppsched_status check_scale(const char *name, double value, ppsched_error *error)
{
    if (ppi_is_finite(value) && value >= 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be finite and at least 0", name, value);
}

/* Checks the options and fills in defaults. */
static ppsched_status take_chakra_options(ppsched_chakra_options *own, const ppsched_chakra_options *options,
                                          ppsched_error *error)
{
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof(ppsched_chakra_options), options, "ppsched_chakra_options",
                                           error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("sizes", own->sizes, PPSCHED_CHAKRA_SIZES_BYTES, PPSCHED_CHAKRA_SIZES_TIMES, error);
    if (status == PPSCHED_OK)
        status = ppi_check_choice("links", own->links, PPSCHED_CHAKRA_LINKS_SENDERS, PPSCHED_CHAKRA_LINKS_RANKS, error);
    if (status == PPSCHED_OK && own->reserved != 0)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_chakra_options: reserved is %u; it must be 0", own->reserved);
    if (status == PPSCHED_OK)
        status = check_scale("time_scale", own->time_scale, error);
    if (status == PPSCHED_OK)
        status = check_scale("bytes_scale", own->bytes_scale, error);
    if (status == PPSCHED_OK)
        status = check_scale("memory_scale", own->memory_scale, error);
    if (status == PPSCHED_OK && !(own->most_loss >= 0 && own->most_loss <= 1))
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "most_loss is %g; it must be 0 to 1", own->most_loss);
    own->time_scale = own->time_scale > 0 ? own->time_scale : 1;
    own->bytes_scale = own->bytes_scale > 0 ? own->bytes_scale : 1;
    return status;
}

ppsched_status ppsched_chakra_create(ppsched_chakra **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                     const ppsched_chakra_options *options, ppsched_error *error)
{
    ppsched_chakra_options own;
    PPI_REQUIRE(out);
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    PPI_REQUIRE_CHAIN(&schedule->placement, "execution traces");
    ppsched_status status = take_chakra_options(&own, options, error);
    return status == PPSCHED_OK ? ppi_chakra_make(out, schedule, config, &own, error) : status;
}

void ppsched_chakra_destroy(ppsched_chakra *chakra)
{
    ppi_chakra_destroy(chakra);
}

uint32_t ppsched_chakra_ranks(const ppsched_chakra *chakra)
{
    return chakra != NULL ? ppi_chakra_ranks(chakra) : 0;
}

ppsched_status ppsched_chakra_export(const ppsched_chakra *chakra, uint32_t rank, ppsched_write_function write, void *user,
                                     ppsched_error *error)
{
    PPI_REQUIRE(chakra);
    PPI_REQUIRE(write);
    uint32_t devices = chakra->schedule->shape.devices, ranks = ppi_chakra_ranks(chakra);
    if (rank >= ranks)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no rank %u; ranks are 0 to %u", rank, ranks - 1);
    struct ppi_writer *writer = ppi_allocate(&chakra->host, 1, sizeof *writer);
    if (writer == NULL)
        return ppi_fail_memory(error, "the export");
    ppi_writer_start(writer, write, user);
    if (rank < devices)
        ppi_chakra_write_device(chakra, rank, writer);
    else
        ppi_chakra_write_link(chakra, rank - devices, writer);
    ppsched_status status = ppi_writer_finish(writer, error);
    ppi_release(&chakra->host, writer);
    return status;
}

ppsched_status ppsched_chakra_import(ppsched_schedule **schedule, ppsched_config **config, const ppsched_chakra_trace *traces,
                                     size_t count, const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    PPI_REQUIRE(schedule);
    PPI_REQUIRE(config);
    PPI_REQUIRE(traces);
    if (count == 0 || count >= PPSCHED_NONE)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there are %zu traces; give one for each rank", count);
    for (size_t rank = 0; rank < count; rank++)
        if (traces[rank].data == NULL)
            return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s: the data of trace %zu is NULL", __func__, rank);
    ppsched_status status = ppi_host_take(&host, environment, error);
    if (status == PPSCHED_OK)
        status = ppi_chakra_read(schedule, config, traces, count, &host, error);
    if (status == PPSCHED_OK)
        ppi_log_schedule(*schedule, "read");
    return status;
}
