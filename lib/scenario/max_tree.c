/* SPDX-License-Identifier: Apache-2.0 */
/* A part's maximum includes what was added to it as a whole, so updates need not be pushed down. */
#include "scenario/max_tree.h"

#include "base/checked.h"

void ppi_levels_make(struct ppi_levels *out, struct ppi_arena *arena, uint32_t count)
{
    uint32_t width = 1;
    while (width < count)
        width *= 2;
    *out = (struct ppi_levels){.width = width, .count = count};
    out->most = ppi_arena_take(arena, 2 * (size_t)width, sizeof *out->most);
    out->added = ppi_arena_take(arena, 2 * (size_t)width, sizeof *out->added);
}

static void sum_up(struct ppi_levels *levels, uint32_t part)
{
    levels->most[part] = ppi_larger(levels->most[2 * part], levels->most[2 * part + 1]) + levels->added[part];
}

void ppi_levels_reset(struct ppi_levels *levels, const double *values)
{
    for (uint32_t i = 0; i < levels->width; i++)
        levels->most[levels->width + i] = i < levels->count ? values[i] : -PPI_INFINITE;
    for (uint32_t part = 0; part < 2 * levels->width; part++)
        levels->added[part] = 0;
    for (uint32_t part = levels->width; part-- > 1;)
        sum_up(levels, part);
}

/* A part of the tree: `width` places from `at` on. */
struct span {
    uint32_t part, at, width;
};

static bool is_within(const struct span *span, uint32_t first, uint32_t end)
{
    return first <= span->at && span->at + span->width <= end;
}

static bool is_apart(const struct span *span, uint32_t first, uint32_t end)
{
    return end <= span->at || span->at + span->width <= first;
}

static struct span half_of(const struct span *span, uint32_t which)
{
    return (struct span){2 * span->part + which, span->at + which * (span->width / 2), span->width / 2};
}

static double most_in(const struct ppi_levels *levels, struct span span, uint32_t first, uint32_t end)
{
    if (is_apart(&span, first, end))
        return -PPI_INFINITE;
    if (is_within(&span, first, end))
        return levels->most[span.part];
    return ppi_larger(most_in(levels, half_of(&span, 0), first, end), most_in(levels, half_of(&span, 1), first, end)) +
           levels->added[span.part];
}

static void add_in(struct ppi_levels *levels, struct span span, uint32_t first, uint32_t end, double value)
{
    if (is_apart(&span, first, end))
        return;
    if (is_within(&span, first, end)) {
        levels->most[span.part] += value;
        levels->added[span.part] += value;
        return;
    }
    add_in(levels, half_of(&span, 0), first, end, value);
    add_in(levels, half_of(&span, 1), first, end, value);
    sum_up(levels, span.part);
}

double ppi_levels_most(const struct ppi_levels *levels, uint32_t first, uint32_t end)
{
    return most_in(levels, (struct span){1, 0, levels->width}, first, end);
}

void ppi_levels_add(struct ppi_levels *levels, uint32_t first, uint32_t end, double value)
{
    if (first < end)
        add_in(levels, (struct span){1, 0, levels->width}, first, end, value);
}

void ppi_levels_drop(struct ppi_levels *levels, uint32_t place)
{
    levels->most[levels->width + place] = -PPI_INFINITE;
    for (uint32_t part = (levels->width + place) / 2; part > 0; part /= 2)
        sum_up(levels, part);
}
