/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan's split, as by _generate_llm_fqn_per_model_part and _get_pipeline_metadata of its
 * distributed/pipeline_parallel.py. */
#include "layout/layout.h"

#include <ppsched/config.h>

#include "base/error.h"

#define REFUSE(...) return ppi_fail(error, PPSCHED_ERROR_REFUSED, __VA_ARGS__)

static int64_t effective(const struct ppi_titan *titan)
{
    return titan->decoders + titan->first_less + titan->last_less;
}

ppsched_status ppi_titan_check(const struct ppi_titan *titan, ppsched_error *error)
{
    ppsched_status status = ppi_layout_check_size("devices", titan->devices, error);
    if (status == PPSCHED_OK)
        status = ppi_layout_check_layers("the number of decoders", titan->decoders, error);
    if (status == PPSCHED_OK)
        status = ppi_layout_check_layers("first_less", titan->first_less, error);
    return status == PPSCHED_OK ? ppi_layout_check_layers("last_less", titan->last_less, error) : status;
}

/* --- how many stages --- */

static ppsched_status check_stages(const struct ppi_titan *titan, int64_t stages, int64_t layers_per_stage, bool several,
                                   ppsched_error *error)
{
    long long given = (long long)layers_per_stage, made = (long long)stages, devices = (long long)titan->devices;
    if (stages % titan->devices != 0)
        REFUSE("layers_per_stage %lld makes %lld stage%p, which is not a multiple of %lld device%p; give one that makes a "
               "multiple",
               given, made, devices);
    if (!several && stages != titan->devices)
        REFUSE("layers_per_stage %lld makes %lld stage%p for %lld device%p, but the schedule has 1 per device; give %lld",
               given, made, devices, (long long)((effective(titan) + titan->devices - 1) / titan->devices));
    if (several && stages < 2 * titan->devices)
        REFUSE(
            "layers_per_stage %lld makes %lld stage%p for %lld device%p, but the schedule has at least 2 per device; give less",
            given, made, devices);
    return PPSCHED_OK;
}

ppsched_status ppi_titan_find_stages(uint32_t *out, const struct ppi_titan *titan, int64_t layers_per_stage, bool several,
                                     ppsched_error *error)
{
    int64_t stages = titan->devices * (several ? 2 : 1);
    ppsched_status status = ppi_layout_check_layers("layers_per_stage", layers_per_stage, error);
    if (status == PPSCHED_OK && layers_per_stage > 0) {
        stages = effective(titan) / layers_per_stage + (effective(titan) % layers_per_stage > 0);
        status = check_stages(titan, stages, layers_per_stage, several, error);
    }
    if (status == PPSCHED_OK)
        status = ppi_layout_check_size("stages", stages, error);
    if (status == PPSCHED_OK)
        *out = (uint32_t)stages;
    return status;
}

/* --- the split --- */

static ppsched_status check_split(const struct ppi_titan *titan, int64_t stages, ppsched_error *error)
{
    int64_t least = effective(titan) / stages;
    if (stages % titan->devices != 0)
        REFUSE("%lld stage%p cannot be divided among %lld device%p; %lld can", (long long)stages, (long long)titan->devices,
               (long long)((stages / titan->devices + 1) * titan->devices));
    if (stages == 1)
        return PPSCHED_OK;
    if (least == 0)
        REFUSE("%lld stage%p are more than the %lld layer%p, with ends counted by first_less and last_less; use fewer stages",
               (long long)stages, (long long)effective(titan));
    if (titan->first_less > least || titan->last_less > least)
        REFUSE("%s is %lld, more than the %lld layer%p of the smallest stage; reduce it, or use fewer stages",
               titan->first_less > least ? "first_less" : "last_less",
               (long long)(titan->first_less > least ? titan->first_less : titan->last_less), (long long)least);
    return PPSCHED_OK;
}

static void fill_from_titan(ppsched_layout *layout, const struct ppi_titan *titan)
{
    ppsched_layout_stage *stages = layout->stages;
    uint32_t count = layout->count, last = count - 1;
    uint32_t each = (uint32_t)(effective(titan) / count), more = (uint32_t)(effective(titan) % count);
    for (uint32_t s = 0; s < count; s++)
        stages[s].decoders = each + (s < more);
    stages[0].decoders -= (uint32_t)titan->first_less;
    stages[last].decoders -= (uint32_t)titan->last_less;
    stages[0].embeddings = 1;
    stages[last].heads = 1;
}

ppsched_status ppi_layout_from_titan(ppsched_layout **out, const struct ppi_titan *titan, int64_t stages,
                                     const struct ppi_host *host, ppsched_error *error)
{
    ppsched_status status = ppi_layout_check_size("stages", stages, error);
    if (status == PPSCHED_OK)
        status = check_split(titan, stages, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_layout *layout = ppi_layout_allocate(host, (uint32_t)titan->devices, (uint32_t)stages);
    if (layout == NULL)
        return ppi_fail_memory(error, "a layout");
    fill_from_titan(layout, titan);
    return ppi_layout_finish(out, layout, error);
}
