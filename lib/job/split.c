/* SPDX-License-Identifier: Apache-2.0 */
/* Splits that layouts are priced with: equally many decoders, or about equal times for each stage. */
#include "ir/recompute_scope.h"
#include "job/job.h"

static double time_of(const ppsched_layer *layer)
{
    return layer->forward_time + layer->backward_time;
}

static const ppsched_layer *layer_at(const ppsched_layers *layers, uint32_t layer)
{
    return &ppi_layer_at(layers, layer)->given;
}

/* Layers up to `end` that are not of the middle: before the first decoder, or from the first MTP layer on. */
static void find_middle(uint32_t *from, uint32_t *to, const ppsched_layers *layers)
{
    *from = 0;
    *to = layers->count;
    while (*from < layers->count && layer_at(layers, *from)->place == PPSCHED_LAYER_PLACE_FIRST)
        ++*from;
    while (*to > *from &&
           (layer_at(layers, *to - 1)->place == PPSCHED_LAYER_PLACE_LAST || ppi_is_mtp(layer_at(layers, *to - 1))))
        --*to;
}

static bool may_end_after(const ppsched_layers *layers, uint32_t layer)
{
    return (layer_at(layers, layer)->flags & PPSCHED_LAYER_FLAG_WITH_NEXT) == 0;
}

static bool divide_evenly(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, uint32_t from, uint32_t to)
{
    if ((to - from) % stages != 0)
        return false;
    uint32_t each = (to - from) / stages;
    for (uint32_t s = 0; s < stages; s++) {
        counts[s] = each;
        if (s + 1 < stages && each > 0 && !may_end_after(layers, from + (s + 1) * each - 1))
            return false;
    }
    return each > 0;
}

/* The ends of stages are where the time so far is nearest to their share. Each stage but the first and the last has a layer of
 * the middle; these have one unless their own layers take the time of one. */
static bool balance(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, uint32_t from, uint32_t to)
{
    double all = 0, before = 0, done = 0;
    for (uint32_t layer = 0; layer < layers->count; layer++)
        all += time_of(layer_at(layers, layer));
    for (uint32_t layer = 0; layer < from; layer++)
        before += time_of(layer_at(layers, layer));
    uint32_t next = from;
    done = before;
    for (uint32_t s = 0; s + 1 < stages; s++) {
        double share = all * (s + 1) / stages;
        uint32_t start = next, least = s == 0 ? 0 : 1, left = stages - 2 - s; /* stages of the middle that come after */
        while (next < to && to - next > left) {
            double time = time_of(layer_at(layers, next));
            bool is_needed = next - start < least || (next > start && !may_end_after(layers, next - 1));
            if (!is_needed && done + time / 2 > share)
                break;
            done += time;
            next++;
        }
        if (next - start < least || (next > start && !may_end_after(layers, next - 1)))
            return false;
        counts[s] = next - start;
    }
    counts[stages - 1] = to - next;
    return true;
}

bool ppi_job_divide(uint32_t *counts, const ppsched_layers *layers, uint32_t stages, enum ppi_job_split split)
{
    uint32_t from, to;
    find_middle(&from, &to, layers);
    if (split == PPI_JOB_EVEN ? !divide_evenly(counts, layers, stages, from, to) : !balance(counts, layers, stages, from, to))
        return false;
    counts[0] += from;
    counts[stages - 1] += layers->count - to;
    return true;
}
