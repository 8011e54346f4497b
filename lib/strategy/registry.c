/* SPDX-License-Identifier: Apache-2.0 */
/* The one table of strategies, built from list.h, and the search for a row by name or alias. */
#include <string.h>

#include "base/error.h"
#include "base/format.h"
#include "base/nearest.h"
#include "strategy/descriptors.h"

static const struct ppi_strategy *const table[] = {
#define PPI_STRATEGY(name, file) &ppi_##name,
#include "strategy/list.h"
#undef PPI_STRATEGY
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

static struct ppi_nearest nearest(const char *name)
{
    struct ppi_nearest best = ppi_nearest_start(name);
    for (uint32_t i = 0; i < COUNT; i++) {
        ppi_nearest_offer(&best, table[i]->name, table[i]->name);
        for (uint32_t a = 0; a < table[i]->alias_count; a++)
            ppi_nearest_offer(&best, table[i]->aliases[a], table[i]->name);
    }
    return best;
}

/* Proposes the nearest name; where none is near, lists all without their aliases. */
static ppsched_status refuse_name(const char *name, ppsched_error *error)
{
    char names[sizeof error->message] = "";
    struct ppi_nearest best = nearest(name);
    if (2 * best.distance <= strlen(name) && 2 * best.distance <= strlen(best.answer))
        return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_STRATEGY, "there is no strategy \"%q\"; did you mean %s?", name,
                        best.answer);
    for (uint32_t i = 0; i < COUNT; i++) {
        size_t length = strlen(names);
        ppi_print(names + length, sizeof names - length, i == 0 ? "%s" : ", %s", table[i]->name);
    }
    return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_STRATEGY, "there is no strategy \"%q\"; there are %s", name, names);
}

ppsched_status ppi_strategy_find(const char *name, uint32_t *out, ppsched_error *error)
{
    for (uint32_t i = 0; i < COUNT; i++)
        if (has_name(table[i], name)) {
            *out = i;
            return PPSCHED_OK;
        }
    return refuse_name(name, error);
}
