/* SPDX-License-Identifier: Apache-2.0 */
/* Which sizes of groups of microbatches are tried: all where microbatches are few, else those near the number of devices, and
 * those that divide the microbatches evenly. */
#include "strategy/strategy.h"

/* Measured: docs/performance.md. */
enum {
    FEW = 64,             /* microbatches up to which all sizes are tried */
    FEW_PASSES = 1000000, /* all sizes are tried where these run so few stage passes in all, too */
    STEPS = 16            /* sizes per number of devices, where devices are many */
};

static bool tries_all(const struct ppi_shape *shape)
{
    return shape->microbatches <= FEW || (uint64_t)shape->microbatches * shape->microbatches <= FEW_PASSES / shape->stages;
}

/* The next size, larger by more than a quarter, that is the least for its number of groups, equal but for the last. Where that
 * is far, a size larger by a third. */
static uint32_t next_even(uint32_t microbatches, uint32_t group)
{
    uint32_t behind = group + group / 4;
    if (behind >= microbatches)
        return microbatches;
    uint32_t number = (microbatches + behind) / (behind + 1); /* of groups of one more */
    uint32_t least = (microbatches + number - 1) / number;
    uint32_t even = least > behind ? least : (microbatches + number - 2) / (number - 1);
    return group >= FEW / 2 && even > group + group / 2 ? group + (group + 2) / 3 : even;
}

/* The next size, in steps, from half the number of devices to twice that number; 0 after the last. */
static uint32_t next_near(uint32_t devices, uint32_t group)
{
    uint32_t step = (devices + STEPS - 1) / STEPS, first = (devices + 1) / 2;
    if (group < first)
        return first;
    uint32_t next = group < devices && group + step > devices ? devices : group + step;
    return next <= 2 * devices ? next : 0;
}

uint32_t ppi_next_group(const struct ppi_shape *shape, uint32_t group)
{
    uint32_t microbatches = shape->microbatches;
    if (group >= microbatches)
        return 0;
    if (tries_all(shape))
        return group + 1;
    uint32_t even = next_even(microbatches, group), near = next_near(shape->devices, group);
    return near != 0 && near < even ? near : even;
}
