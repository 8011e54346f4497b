/* SPDX-License-Identifier: Apache-2.0 */
/* The split of layers whose activations go to the host: the best of some that would need more memory without that, with layers
 * moved from stage to stage as long as that helps. */
#include "base/checked.h"
#include "base/error.h"
#include "eval/timeline.h"
#include "plan/layering.h"

/* Limits under which splits are looked for, as multiples of the real ones, which are held by copies; 0: none. */
static const double widened[] = {0, 2, 1.5, 1.2, 1};
enum { WIDENED = sizeof widened / sizeof widened[0] };

/* Visits that an op takes where copies are placed under a limit that is tight, and priced. */
enum { AN_OP = 250 };

/* --- limits that are wider --- */

static ppsched_status widen_limits(ppsched_config *config, double factor, ppsched_error *error)
{
    struct ppi_values *limits = &config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    if (factor == 0)
        return ppi_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, NULL, 0, error);
    for (size_t i = 0; i < limits->count; i++)
        limits->values[i] *= factor;
    return PPSCHED_OK;
}

/* The split that suits the order under such limits, at hand. */
static ppsched_status suit_widened(struct ppi_layering *layering, double factor, ppsched_error *error)
{
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_layering_order(&schedule, &config, layering, error);
    if (status == PPSCHED_OK)
        status = widen_limits(config, factor, error);
    if (status == PPSCHED_OK)
        status = ppi_layering_suit(layering, config, schedule, error);
    ppi_schedule_release(schedule);
    ppi_config_destroy(config);
    layering->candidate->proved = layering->candidate->tried_all = false;
    return status;
}

/* Keeps the split at hand where it is better with its copies; a split that needs none is REFUSED. */
static ppsched_status keep_offloaded(bool *better, struct ppi_layering *layering, ppsched_error *error)
{
    *better = false;
    ppsched_config *config = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_candidate_config(&config, layering->plan, layering->candidate, error);
    if (status == PPSCHED_OK)
        ppi_candidate_take_one(layering->plan, layering->candidate, config);
    if (status == PPSCHED_OK)
        status = ppi_candidate_timeline(&timeline, NULL, layering->plan, layering->candidate, config,
                                        PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status == PPSCHED_OK)
        *better = ppi_layering_note(layering, timeline, config);
    ppi_timeline_destroy(timeline);
    ppi_config_destroy(config);
    return status;
}

/* The less memory a split shall need without copies, the more it recomputes: the best of as many as there are tries left for,
 * but one that fits, if any does. */
static ppsched_status try_widened(struct ppi_layering *layering, uint64_t *tries, ppsched_error *error)
{
    bool is_limited = layering->plan->config->values[PPSCHED_QUANTITY_MEM_LIMIT].values != NULL ||
                      layering->candidate->memory_limit >= 0;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < (is_limited ? WIDENED : 1) && (status == PPSCHED_OK || status == PPSCHED_ERROR_REFUSED); i++) {
        bool better;
        if (*tries == 0 && layering->lack <= 0)
            return PPSCHED_OK;
        *tries -= *tries > 0;
        status = suit_widened(layering, widened[i], error);
        if (status == PPSCHED_OK)
            status = keep_offloaded(&better, layering, error);
    }
    return status == PPSCHED_ERROR_REFUSED && layering->time < PPI_INFINITE ? PPSCHED_OK : status;
}

/* --- from the best one on --- */

/* Moves the border behind a stage by what must stay together; false where a stage would be without layers that may not be. */
static bool move_border(const struct ppi_layering *layering, uint32_t stage, bool forward)
{
    const ppsched_layers *all = layering->plan->layers;
    uint32_t *layers = layering->candidate->layers, moved = 1, border = 0;
    uint32_t giver = forward ? stage + 1 : stage, taker = forward ? stage : stage + 1;
    bool may_be_empty = layering->plan->may_be_empty && giver > 0 && giver + 1 < layering->candidate->stages;
    for (uint32_t s = 0; s <= stage; s++)
        border += layers[s];
    while (moved < layers[giver] && !all->is_cut[forward ? border + moved : border - moved])
        moved++;
    if (moved > layers[giver] || (moved == layers[giver] && !may_be_empty))
        return false;
    layers[giver] -= moved;
    layers[taker] += moved;
    return true;
}

static ppsched_status poll(const struct ppi_layering *layering, ppsched_error *error)
{
    const ppsched_progress part = {.size = sizeof part, .share = layering->to, .best = layering->time};
    if (layering->progress == NULL || layering->progress(layering->user, &part) == 0)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the plan was cancelled");
}

/* Moves what must stay together from one stage to another: all borders between them by as much. */
static bool move_block(const struct ppi_layering *layering, uint32_t from, uint32_t to)
{
    bool moves = true;
    for (uint32_t s = from; s < to && moves; s++)
        moves = move_border(layering, s, false);
    for (uint32_t s = from; s > to && moves; s--)
        moves = move_border(layering, s - 1, true);
    return moves;
}

/* Of a way: stages that are so far apart, the first of them first, and back. */
static ppsched_status try_way(bool *better, struct ppi_layering *layering, uint32_t way, uint32_t reach, uint64_t *tries,
                              ppsched_error *error)
{
    const uint32_t low = way / 2, high = low + reach;
    *better = false;
    ppi_layering_go_back(layering);
    if (!move_block(layering, way % 2 == 0 ? high : low, way % 2 == 0 ? low : high))
        return PPSCHED_OK;
    --*tries;
    ppsched_status status = poll(layering, error);
    if (status == PPSCHED_OK)
        status = keep_offloaded(better, layering, error);
    return status == PPSCHED_ERROR_REFUSED ? PPSCHED_OK : status;
}

/* Between neighbours, and the same again, as long as that is better; then between stages ever farther apart, until one is;
 * while there are tries left, and visits for the ways, most of which may lead nowhere. */
static ppsched_status move_blocks(struct ppi_layering *layering, uint64_t tries, ppsched_error *error)
{
    const uint32_t stages = layering->candidate->stages;
    uint64_t left = layering->plan->most_visited;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t reach = 1; reach < stages; reach++) {
        const uint32_t ways = 2 * (stages - reach);
        const uint64_t a_way = layering->plan->layers->count + (uint64_t)reach * stages;
        bool better = false, any = false;
        for (uint32_t i = 0, idle = 0; idle < ways && tries > 0 && left >= a_way && status == PPSCHED_OK; i = (i + 1) % ways) {
            left -= a_way;
            status = try_way(&better, layering, i, reach, &tries, error);
            any |= better;
            idle = better ? 0 : idle + 1;
        }
        if (status != PPSCHED_OK || tries == 0 || left < a_way)
            return status;
        reach = any && reach > 1 ? 0 : reach;
    }
    return status;
}

ppsched_status ppi_layering_offload(struct ppi_layering *layering, ppsched_error *error)
{
    const ppsched_plan *plan = layering->plan;
    const struct ppi_candidate *candidate = layering->candidate;
    uint64_t ops = (uint64_t)PPSCHED_KIND_W * candidate->stages * candidate->microbatches * candidate->slices;
    ppsched_plan view = *plan;
    view.most_visited = plan->most_visited / WIDENED < PPI_LEAST_VISITS ? PPI_LEAST_VISITS : plan->most_visited / WIDENED;
    layering->plan = &view;
    uint64_t tries = plan->most_visited / (AN_OP * ops);
    ppsched_status status = try_widened(layering, &tries, error);
    if (status == PPSCHED_OK)
        status = move_blocks(layering, tries, error);
    layering->plan = plan;
    return status;
}
