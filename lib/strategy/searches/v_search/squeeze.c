/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_search/squeeze.h"

#include <string.h>

static inline bool runs_down(uint8_t letter)
{
    return letter == PPI_V_F || letter == PPI_V_B || letter == PPI_V_W;
}

static inline bool runs_up(uint8_t letter)
{
    return letter == PPI_V_SECOND_F || letter == PPI_V_FIRST_B || letter == PPI_V_FIRST_W;
}

/* Moves one op, that is not a weight gradient, as far left as its device, whose next free column is `*next`, and the same op on
 * the neighbour that comes before it allow. False where that is not placed yet. */
static bool place_op(struct ppi_v_grid *grid, int32_t *next, int32_t device, uint8_t letter, int32_t neighbour)
{
    const ptrdiff_t built = grid->built;
    int32_t *counts = grid->counts + (letter - PPI_V_F) * grid->devices;
    int32_t *placed = grid->placed + (letter - PPI_V_F) * (built * grid->devices);
    int32_t index = counts[device]++, column = *next;
    if (index >= built)
        return false;
    if (neighbour >= 0 && neighbour < grid->devices) {
        if (index >= counts[neighbour])
            return false;
        int32_t before = placed[neighbour * built + index];
        column = before >= column ? before + 1 : column;
    }
    placed[device * built + index] = *next = column;
    return true;
}

/* One device's op in a column. */
static bool squeeze_op(struct ppi_v_grid *grid, int32_t *next, int32_t device, uint8_t letter, int32_t neighbour)
{
    if (letter < PPI_V_W && !place_op(grid, next, device, letter, neighbour))
        return false;
    if (*next >= grid->columns)
        return false;
    grid->spare[(size_t)device * (size_t)grid->columns + (size_t)*next] = letter;
    ++*next;
    return true;
}

/* One column: first what runs down the devices, then what runs up. */
static bool squeeze_column(struct ppi_v_grid *grid, int32_t *next, int32_t column)
{
    const uint8_t *place = grid->cells + column;
    for (int32_t i = 0; i < grid->devices; i++, place += grid->columns)
        if (runs_down(*place) && !squeeze_op(grid, &next[i], i, *place, i - 1))
            return false;
    for (int32_t i = grid->devices; i-- > 0;) {
        place -= grid->columns;
        if (runs_up(*place) && !squeeze_op(grid, &next[i], i, *place, i + 1))
            return false;
    }
    return true;
}

/* How many of the ascending columns lie before one. */
static int32_t count_before(const int32_t *columns, int32_t count, int32_t column)
{
    int32_t low = 0;
    while (low < count) {
        int32_t middle = low + (count - low) / 2;
        if (columns[middle] < column)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* Puts a squeeze of a row where the one before it was, as far as columns have not changed since. */
static void resume_row(struct ppi_v_grid *grid, int32_t device, int32_t *next)
{
    size_t row = (size_t)device * (size_t)grid->columns, fixed = (size_t)grid->squeezed;
    int32_t free = grid->squeezed;
    memcpy(grid->spare + row, grid->cells + row, fixed);
    memset(grid->spare + row + fixed, PPI_V_BLANK, (size_t)grid->columns - fixed);
    while (free > 0 && grid->cells[row + (size_t)free - 1] == PPI_V_BLANK)
        free--;
    next[device] = free;
    for (int32_t k = 0; k < 4; k++) {
        int32_t *count = &grid->counts[k * grid->devices + device];
        *count = count_before(grid->placed + ((ptrdiff_t)k * grid->devices + device) * grid->built, *count, grid->squeezed);
    }
}

bool ppi_v_squeeze(struct ppi_v_grid *grid)
{
    int32_t *next = grid->counts + 4 * grid->devices;
    for (int32_t i = 0; i < grid->devices; i++)
        resume_row(grid, i, next);
    for (int32_t c = grid->squeezed; c < grid->used; c++)
        if (!squeeze_column(grid, next, c))
            return false;
    grid->used = 0;
    for (int32_t i = 0; i < grid->devices; i++)
        grid->used = next[i] > grid->used ? next[i] : grid->used;
    uint8_t *cells = grid->cells;
    grid->cells = grid->spare;
    grid->spare = cells;
    grid->squeezed = grid->used;
    return true;
}
