/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the windows of all stages in one block: the table of stages, the ends and times of pairs, then all windows. */
#include "ir/windows.h"

#include <string.h>

#include "base/checked.h"

struct ppi_windows *ppi_windows_create(const struct ppi_host *host, uint32_t stages, size_t windows)
{
    size_t size = sizeof(struct ppi_windows), table, ends, list;
    if (!ppi_mul_size(&table, stages, sizeof(struct ppi_stage_windows)) || !ppi_mul_size(&ends, stages, stages) ||
        !ppi_mul_size(&ends, ends, PPI_PAIR_LISTS * sizeof(double)) || !ppi_mul_size(&list, windows, sizeof(ppsched_window)) ||
        !ppi_add_size(&size, size, table) || !ppi_add_size(&size, size, ends) || !ppi_add_size(&size, size, list))
        return NULL;
    struct ppi_windows *made = ppi_allocate_zeroed(host, 1, size);
    if (made != NULL) {
        made->stages = stages;
        made->ends = (double *)(void *)&made->stage[stages];
        made->inputs = made->ends + 2 * (size_t)stages * stages;
    }
    return made;
}

struct ppi_windows *ppi_windows_copy(const struct ppi_host *host, const struct ppi_windows *windows, double factor)
{
    size_t total = 0;
    for (uint32_t s = 0; s < windows->stages; s++)
        for (int k = 0; k < PPI_WINDOW_LISTS; k++)
            total += windows->stage[s].count[k];
    struct ppi_windows *copy = ppi_windows_create(host, windows->stages, total);
    if (copy == NULL)
        return NULL;
    memcpy(copy->slowdown, windows->slowdown, sizeof copy->slowdown);
    for (size_t i = 0; i < PPI_PAIR_LISTS * (size_t)windows->stages * windows->stages; i++)
        copy->ends[i] = windows->ends[i] * factor;
    ppsched_window *room = ppi_windows_room(copy);
    for (uint32_t s = 0; s < windows->stages; s++)
        for (int k = 0; k < PPI_WINDOW_LISTS; k++) {
            uint32_t count = windows->stage[s].count[k];
            copy->stage[s].count[k] = count;
            copy->stage[s].of[k] = room;
            for (uint32_t i = 0; i < count; i++, room++) {
                *room = windows->stage[s].of[k][i];
                room->time *= factor;
            }
        }
    return copy;
}
