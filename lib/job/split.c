/* SPDX-License-Identifier: Apache-2.0 */
/* Splits that layouts are priced with: equally many decoders, or about equal times for each stage. */
#include "base/checked.h"
#include "ir/recompute_scope.h"
#include "job/job.h"

static double time_of(const ppsched_layer *layer)
{
    return layer->forward_time + layer->backward_time;
}

/* The same on the devices of a type. */
static double time_on(const ppsched_layers *layers, uint32_t layer, uint32_t type)
{
    const ppsched_layer *own = &ppi_layer_at(layers, layer)->given;
    uint32_t entry = layers->entry_of[layer];
    return own->forward_time * ppi_type_scale(layers, entry, type, PPSCHED_KIND_F) +
           own->backward_time * ppi_type_scale(layers, entry, type, PPSCHED_KIND_B);
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

/* Layers of the middle with the time of stages. */
struct middle {
    const ppsched_layers *layers;
    uint32_t from, to, stages;
    const struct ppi_pipeline_types *types; /* NULL: devices are alike */
    uint32_t devices;
    bool is_v;
    double before, after; /* times of the layers at both ends */
    double cap;           /* of a stage */
};

static uint32_t type_of(const struct middle *own, uint32_t stage)
{
    return ppi_pricing_layer_type(own->types, ppi_job_device_of(stage, own->devices, own->is_v));
}

/* Whether a stage may have none of the middle: the first, unless its last layer stays with the next. The last is not asked. */
static bool may_have_none(const struct middle *own, uint32_t stage)
{
    return stage == 0 && (own->from == 0 || may_end_after(own->layers, own->from - 1));
}

/* Where the stage that starts at layer `start` may end at most within the cap; `start` where it may nowhere. */
static uint32_t farthest(const struct middle *own, uint32_t stage, uint32_t start)
{
    double time = (stage == 0 ? own->before : 0) + (stage + 1 == own->stages ? own->after : 0);
    uint32_t end = start, type = type_of(own, stage);
    for (uint32_t next = start; next < own->to; next++) {
        time += time_on(own->layers, next, type);
        if (time > own->cap)
            break;
        if (may_end_after(own->layers, next))
            end = next + 1;
    }
    return end;
}

/* Whether the layers from `start` on divide among the stages from `stage` on. */
static bool divides(const struct middle *own, uint32_t stage, uint32_t start)
{
    for (; stage + 1 < own->stages; stage++) {
        uint32_t left = own->stages - 2 - stage, end = farthest(own, stage, start); /* each of the middle has a layer */
        while (end > start && (own->to - end < left || !may_end_after(own->layers, end - 1)))
            end--;
        if (own->to - end < left || (end == start && !may_have_none(own, stage)))
            return false;
        start = end;
    }
    return farthest(own, stage, start) == own->to && (start < own->to || own->after <= own->cap);
}

/* The least time of the longest stage, to a part in 2^30. Infinite where there is no such split. */
static void find_cap(struct middle *own)
{
    double low = 0, high = own->before + own->after;
    for (uint32_t layer = own->from; layer < own->to; layer++) {
        double longest = 0;
        for (uint32_t type = 0; type <= (own->types != NULL ? own->types->count : 0); type++) {
            double time = time_on(own->layers, layer, type);
            longest = time > longest ? time : longest;
        }
        high += longest;
    }
    own->cap = high;
    for (int i = 0; i < 30; i++) {
        own->cap = (low + high) / 2;
        if (own->before <= own->cap && divides(own, 0, own->from))
            high = own->cap;
        else
            low = own->cap;
    }
    own->cap = high;
}

/* Of the times of all layers, on alike devices, that of the stages up to each: as much as their devices are fast. */
struct shares {
    double speeds[PPI_MOST_PIPELINE_TYPES + 1]; /* by type of the layers */
    double all, speed, until;                   /* of all stages, and until the present one */
};

static void start_shares(struct shares *shares, const struct middle *own)
{
    uint32_t types = own->types != NULL ? own->types->count : 0;
    *shares = (struct shares){.until = 0};
    for (uint32_t layer = 0; layer < own->layers->count; layer++)
        shares->all += time_of(layer_at(own->layers, layer));
    for (uint32_t type = 0; type <= types; type++) {
        double time = 0;
        for (uint32_t layer = 0; layer < own->layers->count; layer++)
            time += time_on(own->layers, layer, type);
        shares->speeds[type] = time > 0 ? shares->all / time : 1;
    }
    for (uint32_t s = 0; s < own->stages; s++)
        shares->speed += shares->speeds[type_of(own, s)];
}

static double share_until(struct shares *shares, const struct middle *own, uint32_t stage)
{
    shares->until += shares->speeds[type_of(own, stage)];
    return own->types != NULL ? shares->all * shares->until / shares->speed : shares->all * (stage + 1) / own->stages;
}

/* No stage is longer than must be; within that, the ends of stages are where the time so far is nearest to their share. Each
 * stage but the first and the last has a layer of the middle. */
static bool balance(uint32_t *counts, struct middle own)
{
    const ppsched_layers *layers = own.layers;
    uint32_t next = own.from, stages = own.stages;
    double done = 0;
    struct shares shares;
    for (uint32_t layer = 0; layer < own.from; layer++) {
        own.before += time_on(layers, layer, type_of(&own, 0));
        done += time_of(layer_at(layers, layer));
    }
    for (uint32_t layer = own.to; layer < layers->count; layer++)
        own.after += time_on(layers, layer, type_of(&own, stages - 1));
    find_cap(&own);
    start_shares(&shares, &own);
    for (uint32_t s = 0; s + 1 < stages; s++) {
        uint32_t last = farthest(&own, s, next), best = next;
        double share = share_until(&shares, &own, s), distance = PPI_INFINITE, time = done, best_time = done;
        for (uint32_t end = next; end <= last; end++) {
            time += end > next ? time_of(layer_at(layers, end - 1)) : 0;
            double far = time > share ? time - share : share - time;
            bool may_end = end == next ? may_have_none(&own, s) : may_end_after(layers, end - 1);
            if (!may_end || far >= distance || !divides(&own, s + 1, end))
                continue;
            best = end;
            best_time = time;
            distance = far;
        }
        if (distance == PPI_INFINITE)
            return false;
        counts[s] = best - next;
        next = best;
        done = best_time;
    }
    counts[stages - 1] = own.to - next;
    return true;
}

bool ppi_job_divide(uint32_t *counts, const ppsched_layers *layers, const struct ppi_pipeline_types *types, uint32_t devices,
                    uint32_t stages, enum ppi_job_split split)
{
    bool is_v = split == PPI_JOB_BALANCED_V;
    uint32_t from, to;
    if (is_v && (types == NULL || types->count < 2 || stages != 2 * devices))
        return false;
    find_middle(&from, &to, layers);
    const struct middle own = {layers, from, to, stages, types, devices, is_v, 0, 0, 0};
    if (split == PPI_JOB_EVEN ? !divide_evenly(counts, layers, stages, from, to) : !balance(counts, own))
        return false;
    counts[0] += from;
    counts[stages - 1] += layers->count - to;
    return true;
}
