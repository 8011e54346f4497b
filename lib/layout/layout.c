/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, completes and frees layouts; makes one from a record per stage, checked by a tally. */
#include "layout/layout.h"

#include <string.h>

#include <ppsched/config.h>

#include "base/error.h"
#include "layout/tally.h"

/* --- sizes --- */

ppsched_status ppi_layout_check_size(const char *what, int64_t count, ppsched_error *error)
{
    if (count < 1 || count > PPSCHED_MAX_STAGES)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the number of %s is %lld; it must be 1 to %u", what, (long long)count,
                        PPSCHED_MAX_STAGES);
    return PPSCHED_OK;
}

ppsched_status ppi_layout_check_layers(const char *what, int64_t count, ppsched_error *error)
{
    if (count < 0 || count > PPSCHED_MAX_LAYOUT_LAYERS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %lld; it must be 0 to %u", what, (long long)count,
                        PPSCHED_MAX_LAYOUT_LAYERS);
    return PPSCHED_OK;
}

/* --- making --- */

ppsched_layout *ppi_layout_allocate(const struct ppi_host *host, uint32_t devices, uint32_t count)
{
    ppsched_layout *layout = ppi_allocate_zeroed(host, 1, sizeof *layout);
    if (layout == NULL)
        return NULL;
    layout->host = *host;
    layout->devices = devices;
    layout->count = count;
    layout->stages = ppi_allocate_zeroed(host, count, sizeof *layout->stages);
    layout->offsets = ppi_allocate_zeroed(host, count, sizeof *layout->offsets);
    if (layout->stages != NULL && layout->offsets != NULL)
        return layout;
    ppi_layout_destroy(layout);
    return NULL;
}

ppsched_status ppi_layout_finish(ppsched_layout **out, ppsched_layout *layout, ppsched_error *error)
{
    for (uint32_t s = 1; s < layout->count; s++)
        layout->offsets[s] = layout->offsets[s - 1] + layout->stages[s - 1].decoders;
    ppsched_status status = ppi_layout_set_text(layout, error);
    if (status == PPSCHED_OK)
        *out = layout;
    else
        ppi_layout_destroy(layout);
    return status;
}

void ppi_layout_destroy(ppsched_layout *layout)
{
    if (layout == NULL)
        return;
    const struct ppi_host host = layout->host;
    ppi_release(&host, layout->text);
    ppi_release(&host, layout->offsets);
    ppi_release(&host, layout->stages);
    ppi_release(&host, layout);
}

/* --- from records --- */

static ppsched_status put_stage(struct ppi_tally *tally, const ppsched_layout_stage *stage, ppsched_error *error)
{
    ppsched_status status = ppi_tally_put(tally, 'E', stage->embeddings, PPSCHED_NONE, error);
    if (status == PPSCHED_OK)
        status = ppi_tally_put(tally, 't', stage->decoders, PPSCHED_NONE, error);
    if (status == PPSCHED_OK)
        status = ppi_tally_put(tally, 'm', stage->mtps, PPSCHED_NONE, error);
    return status == PPSCHED_OK ? ppi_tally_put(tally, 'L', stage->heads, PPSCHED_NONE, error) : status;
}

ppsched_status ppi_layout_from_stages(ppsched_layout **out, int64_t devices, const ppsched_layout_stage *stages, size_t count,
                                      const struct ppi_host *host, ppsched_error *error)
{
    static const ppsched_layout_rules none;
    struct ppi_tally tally;
    if (count == 0)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "the layout has no stages; give one record per stage");
    ppsched_status status = ppi_layout_check_size("devices", devices, error);
    if (status == PPSCHED_OK && count > PPSCHED_MAX_STAGES)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the number of stages is %zu; it must be 1 to %u", count,
                          PPSCHED_MAX_STAGES);
    ppi_tally_start(&tally, NULL);
    for (size_t s = 0; s < count && status == PPSCHED_OK; s++) {
        tally.stage = (uint32_t)s;
        status = put_stage(&tally, &stages[s], error);
    }
    if (status == PPSCHED_OK)
        status = ppi_tally_check(&tally, (uint32_t)devices, &none, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_layout *layout = ppi_layout_allocate(host, (uint32_t)devices, (uint32_t)count);
    if (layout == NULL)
        return ppi_fail_memory(error, "a layout");
    memcpy(layout->stages, stages, count * sizeof *stages);
    return ppi_layout_finish(out, layout, error);
}
