/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/strategy.h"

enum {
    FEW = 64,  /* microbatches of which all groups are tried */
    STEPS = 16 /* to twice the number of devices, where these are many */
};

/* The next one that parts the microbatches into so many groups, one size but for the last: the least size for its number. */
static uint32_t next_even(uint32_t microbatches, uint32_t group)
{
    uint32_t number = (microbatches + group) / (group + 1); /* of groups of one more */
    uint32_t least = (microbatches + number - 1) / number;
    return least > group ? least : (microbatches + number - 2) / (number - 1);
}

/* The next one from half the number of devices to twice that, all of them or some; 0 behind them. */
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
    if (microbatches <= FEW)
        return group + 1;
    uint32_t even = next_even(microbatches, group), near = next_near(shape->devices, group);
    return near != 0 && near < even ? near : even;
}
