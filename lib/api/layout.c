/* SPDX-License-Identifier: Apache-2.0 */
/* Exported functions: making, reading and writing the layout strings of runtimes. */
#include "layout/layout.h"

#include "api/buffer.h"
#include "base/sized.h"

/* --- making a layout --- */

ppsched_status ppsched_layout_create(ppsched_layout **out, int64_t devices, const ppsched_layout_stage *stages, size_t count,
                                     const ppsched_environment *environment, ppsched_error *error)
{
    struct ppi_host host;
    PPI_REQUIRE(out);
    if (count > 0)
        PPI_REQUIRE(stages);
    ppsched_status status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_layout_from_stages(out, devices, stages, count, &host, error) : status;
}

static ppsched_status check_flag(const char *name, uint32_t value, ppsched_error *error)
{
    if (value > 1)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %u; it must be 0 or 1", name, value);
    return PPSCHED_OK;
}

static ppsched_status check_absence(const char *name, uint32_t no, int64_t count, ppsched_error *error)
{
    if (no == 1 && count > 0)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "no_%s is 1, and %s is %lld; give one of them", name, name,
                        (long long)count);
    return check_flag(name, no, error);
}

static ppsched_status check_rules(const ppsched_layout_rules *rules, ppsched_error *error)
{
    ppsched_status status = check_absence("decoders", rules->no_decoders, rules->decoders, error);
    if (status == PPSCHED_OK)
        status = check_absence("mtps", rules->no_mtps, rules->mtps, error);
    if (status == PPSCHED_OK)
        status = check_flag("launcher", rules->launcher, error);
    if (status == PPSCHED_OK)
        status = check_flag("no_overlap", rules->no_overlap, error);
    if (status == PPSCHED_OK && rules->reserved != 0)
        status = ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "ppsched_layout_rules: reserved is %u; it must be 0", rules->reserved);
    if (status == PPSCHED_OK)
        status = ppi_layout_check_layers("chunks", rules->chunks, error);
    if (status == PPSCHED_OK)
        status = ppi_layout_check_layers("decoders", rules->decoders, error);
    return status == PPSCHED_OK ? ppi_layout_check_layers("mtps", rules->mtps, error) : status;
}

ppsched_status ppsched_layout_create_from_text(ppsched_layout **out, const char *text, size_t size, int64_t devices,
                                               const ppsched_layout_rules *rules, const ppsched_environment *environment,
                                               ppsched_error *error)
{
    struct ppi_host host;
    ppsched_layout_rules own;
    PPI_REQUIRE(out);
    if (size > 0)
        PPI_REQUIRE(text);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_layout_rules), rules, "ppsched_layout_rules",
                                           error);
    if (status == PPSCHED_OK)
        status = check_rules(&own, error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_layout_from_text(out, size > 0 ? text : "", size, devices, &own, &host, error) : status;
}

ppsched_status ppsched_layout_create_from_megatron(ppsched_layout **out, int64_t decoders, int64_t devices,
                                                   const ppsched_megatron_split *split, const ppsched_environment *environment,
                                                   ppsched_error *error)
{
    struct ppi_host host;
    ppsched_megatron_split own;
    PPI_REQUIRE(out);
    ppsched_status status = ppi_take_sized(&own, sizeof own, sizeof(ppsched_megatron_split), split, "ppsched_megatron_split",
                                           error);
    if (status == PPSCHED_OK)
        status = check_flag("account_for_embedding", own.account_for_embedding, error);
    if (status == PPSCHED_OK)
        status = check_flag("account_for_loss", own.account_for_loss, error);
    if (status == PPSCHED_OK)
        status = check_flag("no_overlap", own.no_overlap, error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_layout_from_megatron(out, decoders, devices, &own, &host, error) : status;
}

ppsched_status ppsched_layout_create_from_torchtitan(ppsched_layout **out, int64_t decoders, int64_t devices, int64_t stages,
                                                     int64_t first_less, int64_t last_less,
                                                     const ppsched_environment *environment, ppsched_error *error)
{
    const struct ppi_titan titan = {decoders, devices, first_less, last_less};
    struct ppi_host host;
    PPI_REQUIRE(out);
    ppsched_status status = ppi_titan_check(&titan, error);
    if (status == PPSCHED_OK)
        status = ppi_host_take(&host, environment, error);
    return status == PPSCHED_OK ? ppi_layout_from_titan(out, &titan, stages, &host, error) : status;
}

ppsched_status ppsched_layout_find_torchtitan_stages(uint32_t *out, int64_t decoders, int64_t devices, int64_t layers_per_stage,
                                                     int64_t first_less, int64_t last_less, uint32_t several,
                                                     ppsched_error *error)
{
    const struct ppi_titan titan = {decoders, devices, first_less, last_less};
    PPI_REQUIRE(out);
    ppsched_status status = ppi_titan_check(&titan, error);
    if (status == PPSCHED_OK)
        status = check_flag("several", several, error);
    return status == PPSCHED_OK ? ppi_titan_find_stages(out, &titan, layers_per_stage, several == 1, error) : status;
}

void ppsched_layout_destroy(ppsched_layout *layout)
{
    ppi_layout_destroy(layout);
}

/* --- reading a layout --- */

uint32_t ppsched_layout_devices(const ppsched_layout *layout)
{
    return layout != NULL ? layout->devices : 0;
}

uint32_t ppsched_layout_chunks(const ppsched_layout *layout)
{
    return layout != NULL ? layout->count / layout->devices : 0;
}

const ppsched_layout_stage *ppsched_layout_stages(const ppsched_layout *layout, size_t *count)
{
    if (count != NULL)
        *count = layout != NULL ? layout->count : 0;
    return layout != NULL ? layout->stages : NULL;
}

const uint32_t *ppsched_layout_offsets(const ppsched_layout *layout, size_t *count)
{
    if (count != NULL)
        *count = layout != NULL ? layout->count : 0;
    return layout != NULL ? layout->offsets : NULL;
}

/* --- writing a layout --- */

ppsched_status ppsched_layout_write_text(char *out, size_t capacity, size_t *needed, const ppsched_layout *layout,
                                         ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(layout);
    return ppi_give_text(out, capacity, needed, layout->text, layout->length, error);
}

ppsched_status ppsched_layout_write_modules(char *out, size_t capacity, size_t *needed, const ppsched_layout *layout,
                                            uint32_t stage, uint32_t rotary, ppsched_error *error)
{
    PPI_REQUIRE_BUFFER(out, capacity);
    PPI_REQUIRE(layout);
    ppsched_status status = check_flag("rotary", rotary, error);
    if (status != PPSCHED_OK)
        return status;
    if (stage >= layout->count)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "there is no stage %u; give less than %u", stage, layout->count);
    if (layout->stages[stage].mtps > 0)
        return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, (struct ppi_place){PPSCHED_NONE, stage, PPSCHED_NONE, PPSCHED_NONE},
                           "stage %u has an MTP layer, which torchtitan does not support; use a layout without MTP layers",
                           stage);
    size_t length = ppi_layout_put_modules(NULL, layout, stage, rotary == 1);
    status = ppi_check_text_room(out, capacity, length, error);
    if (status == PPSCHED_OK && out != NULL)
        (void)ppi_layout_put_modules(out, layout, stage, rotary == 1);
    return ppi_tell_needed(needed, length + 1, status);
}
