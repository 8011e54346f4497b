/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of strategies, and how a name finds its row. */
#include <string.h>

#include "base/error.h"
#include "base/nearest.h"
#include "strategy/table.h"

static const struct ppi_strategy *const table[] = {
    &ppi_gpipe,
    &ppi_1f1b,
    &ppi_eager_1f1b,
    &ppi_1f1b_no_flush,
    &ppi_eager_1f1b_no_flush,
    &ppi_1f1b_overlap,
    &ppi_looped_bfs,
    &ppi_interleaved_1f1b,
    &ppi_interleaved_1f1b_overlap,
    &ppi_interleaved_zb,
    &ppi_zb_h1,
    &ppi_zb_h2,
    &ppi_zbv,
    &ppi_v_1f1b,
    &ppi_dualpipe_v,
    &ppi_dualpipe,
    &ppi_zb_auto,
    &ppi_zbv_auto,
    &ppi_v_half,
    &ppi_v_min,
    &ppi_v_search,
    &ppi_auto,
};

enum { COUNT = sizeof table / sizeof table[0] };

const struct ppi_strategy *ppi_strategy_at(uint32_t index)
{
    return index < COUNT ? table[index] : NULL;
}

uint32_t ppi_strategy_count(void)
{
    return COUNT;
}

static bool has_name(const struct ppi_strategy *strategy, const char *name)
{
    if (ppi_same_name(strategy->name, name))
        return true;
    for (uint32_t a = 0; a < strategy->alias_count; a++)
        if (ppi_same_name(strategy->aliases[a], name))
            return true;
    return false;
}

static const char *nearest(const char *name)
{
    struct ppi_nearest best = ppi_nearest_start(name);
    for (uint32_t i = 0; i < COUNT; i++) {
        ppi_nearest_offer(&best, table[i]->name, table[i]->name);
        for (uint32_t a = 0; a < table[i]->alias_count; a++)
            ppi_nearest_offer(&best, table[i]->aliases[a], table[i]->name);
    }
    return best.answer;
}

ppsched_status ppi_strategy_find(const char *name, uint32_t *out, ppsched_error *error)
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (has_name(table[i], name)) {
            *out = i;
            return PPSCHED_OK;
        }
    return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_STRATEGY, "there is no strategy \"%q\"; did you mean %s?", name,
                    nearest(name));
}
