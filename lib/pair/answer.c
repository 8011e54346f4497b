/* SPDX-License-Identifier: Apache-2.0 */
/* Looks for the order, runs it once more to get the spans, and sorts them by start. */
#include "pair/answer.h"

#include "base/checked.h"
#include "base/error.h"
#include "base/sort.h"
#include "pair/bound.h"
#include "pair/chains.h"
#include "pair/given_order.h"
#include "pair/search.h"

static bool starts_before(const void *context, uint32_t a, uint32_t b)
{
    const ppsched_window_span *spans = context;
    return spans[a].start < spans[b].start;
}

/* All windows by start; at equal starts in the order of their chains. */
static ppsched_status give_spans(ppsched_window_span *out, const struct ppi_pair *pair, const struct ppi_pair_spans *spans,
                                 struct ppi_arena *arena, ppsched_error *error)
{
    ppsched_window_span *listed = ppi_arena_take(arena, pair->total, sizeof *listed);
    uint32_t *order = ppi_arena_take(arena, (size_t)pair->total * 2, sizeof *order), filled = 0;
    ppsched_status status = ppi_arena_check(arena, "a pair's spans", error);
    if (status != PPSCHED_OK)
        return status;
    for (uint32_t k = 0; k < PPI_CHAINS; k++)
        for (uint32_t i = 0; i < pair->count[k]; i++, filled++) {
            const ppsched_span *span = &spans->of[k][i];
            listed[filled] = (ppsched_window_span){span->start, span->end, ppi_chain_kind(k), i};
            order[filled] = filled;
        }
    const uint32_t *sorted = ppi_sort(order, order + pair->total, pair->total, starts_before, listed);
    for (uint32_t i = 0; i < pair->total; i++)
        out[i] = listed[sorted[i]];
    return PPSCHED_OK;
}

static ppsched_status take_spans(struct ppi_pair_spans *spans, const struct ppi_pair *pair, struct ppi_arena *arena,
                                 ppsched_error *error)
{
    for (uint32_t k = 0; k < PPI_CHAINS; k++)
        spans->of[k] = ppi_arena_take(arena, pair->count[k] > 0 ? pair->count[k] : 1, sizeof *spans->of[k]);
    return ppi_arena_check(arena, "a pair's spans", error);
}

static void give_times(ppsched_pair_times *times, const struct ppi_pair *pair, const struct ppi_pair_spans *spans, double time,
                       bool is_best)
{
    const struct ppi_pair_state start = {0};
    *times = (ppsched_pair_times){.time = time, .serial = pair->serial};
    double bound = ppi_pair_bound(pair, &start);
    times->is_best = is_best || time <= bound + pair->tolerance;
    times->bound = times->is_best || bound > time ? time : bound;
    times->forward_end = spans->of[PPI_FORWARD][pair->count[PPI_FORWARD] - 1].end;
    times->backward_end = spans->of[PPI_BACKWARD][pair->count[PPI_BACKWARD] - 1].end;
}

static ppsched_status look_for(const struct ppi_pair *pair, struct ppi_arena *arena, struct ppi_pair_choices *choices,
                               struct ppi_pair_answer *answer, ppsched_error *error)
{
    choices->chain = ppi_arena_take(arena, pair->total, 1);
    ppsched_status status = ppi_arena_check(arena, "the order of windows", error);
    if (status != PPSCHED_OK)
        return status;
    if (pair->count[PPI_WEIGHT] > 0)
        return ppi_pair_search(pair, arena, choices, answer, error);
    *answer = (struct ppi_pair_answer){ppi_pair_order_chains(pair, arena, choices), true};
    return ppi_arena_check(arena, "the order of windows", error);
}

/* Runs the order of the choices; its time. */
static double follow(const struct ppi_pair *pair, const struct ppi_pair_choices *choices, struct ppi_pair_spans *spans)
{
    struct ppi_pair_state state = {0};
    ppi_pair_go_on(pair, &state, spans);
    for (uint32_t i = 0; i < choices->count; i++)
        ppi_pair_choose(pair, &state, choices->chain[i], spans);
    return state.time;
}

ppsched_status ppi_pair_find(ppsched_pair_times *times, ppsched_window_span *out, const ppsched_pair_windows *given,
                             const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    struct ppi_pair pair;
    struct ppi_pair_spans spans;
    struct ppi_pair_choices choices;
    struct ppi_pair_answer answer;
    ppsched_status status = ppi_pair_take(&pair, given, &arena, error);
    if (status == PPSCHED_OK)
        status = take_spans(&spans, &pair, &arena, error);
    if (status == PPSCHED_OK)
        status = look_for(&pair, &arena, &choices, &answer, error);
    if (status == PPSCHED_OK)
        give_times(times, &pair, &spans, follow(&pair, &choices, &spans), answer.is_best);
    if (status == PPSCHED_OK && out != NULL)
        status = give_spans(out, &pair, &spans, &arena, error);
    ppi_arena_clear(&arena);
    return status;
}

ppsched_status ppi_pair_run(ppsched_pair_times *times, ppsched_window_span *out, const ppsched_pair_windows *given,
                            const int32_t *kinds, size_t count, const struct ppi_host *host, ppsched_error *error)
{
    struct ppi_arena arena = {.host = host};
    struct ppi_pair pair;
    struct ppi_pair_spans spans;
    double time = 0;
    ppsched_status status = ppi_pair_take(&pair, given, &arena, error);
    if (status == PPSCHED_OK)
        status = take_spans(&spans, &pair, &arena, error);
    if (status == PPSCHED_OK)
        status = ppi_pair_run_given(&time, &pair, kinds, count, &spans, &arena, error);
    if (status == PPSCHED_OK)
        give_times(times, &pair, &spans, time, false);
    if (status == PPSCHED_OK && out != NULL)
        status = give_spans(out, &pair, &spans, &arena, error);
    ppi_arena_clear(&arena);
    return status;
}
