/* SPDX-License-Identifier: Apache-2.0 */
/* Splits for strategies whose order follows from the split: as good as the best of all splits, and of all ways to recompute
 * their layers, where these are few; and where they are many none better a layer or a kind away. */
#include "support/layered.h"
#include "support/plans.h"
#include "support/rounds.h"

#include <math.h>
#include <stdbool.h>

enum { MOST_STAGES = 10, MOST_LAYERS = 14, FEW = 1000 };

#define OPTIONS(...)                                                                                                           \
    (struct plan_choice)                                                                                                       \
    {                                                                                                                          \
        .size = sizeof(struct plan_choice), __VA_ARGS__                                                                        \
    }

static const struct search {
    const char *name;
    uint32_t chunks;
} searches[] = {{"zb_auto", 1}, {"zb_auto", 1}, {"zbv_auto", 2}, {"v_half", 2}, {"v_min", 2}, {"v_1f1b", 2}};
enum { SEARCHES = sizeof searches / sizeof searches[0] };

/* Orders that are fixed, whose splits are found without making each. */
static const struct search fixed[] = {{"1f1b", 1}, {"gpipe", 1}, {"zb_h1", 1}, {"interleaved_1f1b", 2}, {"zbv", 2}};
enum { FIXED = sizeof fixed / sizeof fixed[0] };

struct problem {
    const struct search *search;
    uint32_t devices, stages, count; /* layers */
    bool may_be_empty;               /* stages in the middle */
    bool is_limited;                 /* else nothing is recomputed */
    ppsched_layer entries[MOST_LAYERS];
    ppsched_recompute kinds[MOST_LAYERS];
    const ppsched_layers *layers;
    ppsched_config *config;
};

static double choose(uint64_t *seed, const double *values, uint32_t count)
{
    return values[random_below(seed, count)];
}

/* Each layer is an entry of its own, unlike the others; some cannot be apart from the next one. */
static void draw_layers(struct problem *p, uint32_t recomputed, uint64_t *seed)
{
    static const double times[] = {1, 2, 3, 5, 8}, memory[] = {0, 1, 1, 2, 3};
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n"};
    for (uint32_t i = 0; i < p->count; i++) {
        p->entries[i] = (ppsched_layer)LAYER(names[i], .count = 1, .forward_time = choose(seed, times, 5),
                                             .backward_input_time = choose(seed, times, 5),
                                             .backward_weight_time = choose(seed, times, 5),
                                             .mem_forward = choose(seed, memory, 5), .mem_static = choose(seed, memory, 5));
        p->kinds[i] = (ppsched_recompute){"full", p->entries[i].forward_time, 0.25 * p->entries[i].mem_forward};
        if (random_below(seed, 10) < recomputed) {
            p->entries[i].recomputes = &p->kinds[i];
            p->entries[i].recompute_count = 1;
        }
        if (i + 1 < p->count && random_below(seed, 8) == 0 && p->count > p->stages + 1)
            p->entries[i].flags = PPSCHED_LAYER_FLAG_WITH_NEXT;
    }
    p->layers = make_layers(p->entries, p->count);
}

/* The first is an embedding, tied or not, which stages copy that have some of the others. */
static void copy_embedding(struct problem *p, uint64_t *seed)
{
    ppsched_layers_release(p->layers);
    p->entries[0].place = PPSCHED_LAYER_PLACE_FIRST;
    p->entries[0].mem_static = 1 + random_below(seed, 6);
    p->entries[0].mem_weights = random_below(seed, 3);
    p->entries[0].flags |= random_below(seed, 2) * PPSCHED_LAYER_FLAG_TIED;
    for (uint32_t i = 1; i < p->count; i++)
        if (random_below(seed, 3) == 0)
            p->entries[i].flags |= PPSCHED_LAYER_FLAG_COPIES_EMBEDDING;
    p->layers = make_layers(p->entries, p->count);
}

/* With a limit that is felt, or none. `more`: layers beyond one a stage, at most. */
static void draw(struct problem *p, uint32_t more, uint32_t recomputed, bool copies, uint64_t *seed)
{
    double held = 0;
    *p = (struct problem){.search = copies && random_below(seed, 4) > 0 ? &fixed[random_below(seed, FIXED)]
                                                                        : &searches[random_below(seed, SEARCHES)],
                          .may_be_empty = random_below(seed, 4) == 0};
    p->devices = 2 + random_below(seed, p->search->chunks == 1 ? 4 : 2);
    p->stages = p->devices * p->search->chunks;
    p->count = p->stages + random_below(seed, more + 1);
    draw_layers(p, recomputed, seed);
    if (copies)
        copy_embedding(p, seed);
    const uint32_t microbatches = 2 + random_below(seed, 7);
    for (uint32_t i = 0; i < p->count; i++)
        held += p->entries[i].mem_static + p->entries[i].mem_forward * fmin(microbatches, p->devices);
    p->config = make_config(p->devices, p->devices, microbatches);
    set_number(p->config, PPSCHED_QUANTITY_P2P_TIME, random_below(seed, 3) * 0.5);
    p->is_limited = random_below(seed, 5) > 0;
    if (p->is_limited)
        set_number(p->config, PPSCHED_QUANTITY_MEM_LIMIT, floor(held / p->devices * (0.6 + random_below(seed, 8) * 0.1)) + 1);
}

static void clear(struct problem *p)
{
    ppsched_layers_release(p->layers);
    ppsched_config_destroy(p->config);
}

/* What a step takes with the order that the search finds for a split; infinite where that is none. */
static double time_with(const struct problem *p, const uint32_t *counts, const uint8_t *recomputes)
{
    const ppsched_split split = split_of(counts, p->stages, recomputes);
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    double time = INFINITY;
    expect_ok(ppsched_config_from_layers(&config, p->config, p->layers, &split, &error), &error);
    ppsched_status status = ppsched_schedule_generate(&schedule, config, p->search->name, &error);
    assert_true(status == PPSCHED_OK || status == PPSCHED_ERROR_REFUSED);
    if (status == PPSCHED_OK) {
        ppsched_timeline *timeline = make_timeline(schedule, config);
        if (metrics_of(timeline).limit_device == PPSCHED_NONE)
            time = metrics_of(timeline).makespan;
        ppsched_timeline_destroy(timeline);
    }
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return time;
}

static bool is_cut(const struct problem *p, uint32_t layer)
{
    return layer == 0 || layer == p->count || (p->entries[layer - 1].flags & PPSCHED_LAYER_FLAG_WITH_NEXT) == 0;
}

/* Of all ways to recompute layers from `layer` on. */
static double least_of_kinds(const struct problem *p, const uint32_t *counts, uint8_t *recomputes, uint32_t layer)
{
    if (layer == p->count)
        return time_with(p, counts, recomputes);
    double least = least_of_kinds(p, counts, recomputes, layer + 1);
    if (p->entries[layer].recompute_count == 0 || !p->is_limited)
        return least;
    recomputes[layer] = 1;
    least = fmin(least, least_of_kinds(p, counts, recomputes, layer + 1));
    recomputes[layer] = 0;
    return least;
}

/* Of all splits whose stages before `stage` are as they are. */
static double least_of_all(const struct problem *p, uint32_t *counts, uint32_t stage, uint32_t begin)
{
    uint8_t recomputes[MOST_LAYERS] = {0};
    double least = INFINITY;
    if (stage + 1 == p->stages) {
        counts[stage] = p->count - begin;
        return least_of_kinds(p, counts, recomputes, 0);
    }
    for (uint32_t end = begin + (stage > 0 && p->may_be_empty ? 0 : 1); end < p->count; end++) {
        counts[stage] = end - begin;
        if (is_cut(p, end))
            least = fmin(least, least_of_all(p, counts, stage + 1, end));
    }
    return least;
}

/* Of splits whose stages before `stage` end before layer `begin`, each with all ways to recompute layers. */
static uint32_t count_paths(const struct problem *p, uint32_t stage, uint32_t begin)
{
    uint32_t paths = 0;
    if (stage + 1 == p->stages) {
        paths = 1;
        for (uint32_t i = 0; i < p->count; i++)
            paths <<= p->is_limited ? p->entries[i].recompute_count : 0;
        return paths;
    }
    for (uint32_t end = begin + (stage > 0 && p->may_be_empty ? 0 : 1); end < p->count; end++)
        paths += is_cut(p, end) ? count_paths(p, stage + 1, end) : 0;
    return paths;
}

static ppsched_plan *plan_of(const struct problem *p)
{
    const char *const strategy[] = {p->search->name};
    return run_plan(p->config, &OPTIONS(.layers = p->layers, .strategies = strategy, .strategy_count = 1,
                                        .chunks = &p->search->chunks, .chunk_count = 1, .empty_stages = p->may_be_empty));
}

/* Those that have few ways. */
static void expect_best(uint32_t problems, uint32_t more, uint32_t recomputed, bool copies, uint64_t seed)
{
    uint32_t found = 0, none = 0;
    for (uint32_t i = 0; i < problems; i++) {
        struct problem p;
        uint32_t counts[MOST_STAGES];
        draw(&p, more, recomputed, copies, &seed);
        if (count_paths(&p, 0, 0) > FEW) {
            clear(&p);
            continue;
        }
        const double best = least_of_all(&p, counts, 0, 0);
        ppsched_plan *plan = plan_of(&p);
        const ppsched_candidate candidate = candidate_of(plan, 0);
        const double own = candidate.status == PPSCHED_OK && candidate.fits ? candidate.step_time : INFINITY;
        if (own != best)
            fail_msg("problem %u, %s: %g, the best of all is %g", i, p.search->name, own, best);
        found += best < INFINITY;
        none += !(best < INFINITY);
        ppsched_plan_destroy(plan);
        clear(&p);
    }
    assert_true(found > problems / (copies ? 4 : 2) && none > 0);
}

static void test_all_splits(void **state)
{
    (void)state;
    expect_best(ROUNDS(300), 4, 0, false, 1);
}

static void test_all_paths_to_recompute(void **state)
{
    (void)state;
    expect_best(ROUNDS(300), 2, 5, false, 2);
}

static void test_copied_embeddings(void **state)
{
    (void)state;
    expect_best(ROUNDS(200), 4, 0, true, 5);
    expect_best(ROUNDS(80), 2, 4, true, 6);
}

/* Whether the border behind a stage one layer farther on, or back, is better. */
static bool is_bettered_by_move(const struct problem *p, uint32_t *counts, const uint8_t *recomputes, double time)
{
    bool is_bettered = false;
    for (uint32_t s = 0, border = 0; s + 1 < p->stages; s++) {
        border += counts[s];
        for (int forward = 0; forward < 2; forward++) {
            uint32_t *from = &counts[forward ? s + 1 : s], *to = &counts[forward ? s : s + 1];
            if (*from < 2 || !is_cut(p, forward ? border + 1 : border - 1))
                continue;
            --*from;
            ++*to;
            is_bettered |= time_with(p, counts, recomputes) < time;
            ++*from;
            --*to;
        }
    }
    return is_bettered;
}

/* Whether one layer more, or one less, that is recomputed is better: where there is a limit, as only then any is. */
static bool is_bettered_by_kind(const struct problem *p, const uint32_t *counts, uint8_t *recomputes, double time)
{
    bool is_bettered = false;
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->entries[i].recompute_count == 0 || !p->is_limited)
            continue;
        recomputes[i] ^= 1;
        is_bettered |= time_with(p, counts, recomputes) < time;
        recomputes[i] ^= 1;
    }
    return is_bettered;
}

/* Where there are too many to try all. */
static void test_none_near_is_better(void **state)
{
    static const double limits[] = {0, 60, 45, 36};
    uint64_t seed = 3;
    (void)state;
    for (uint32_t i = 0; i < 2 * SEARCHES; i++) {
        struct problem p = {.search = &searches[i % SEARCHES], .devices = 4, .count = MOST_LAYERS};
        uint32_t counts[MOST_STAGES];
        uint8_t recomputes[MOST_LAYERS];
        p.stages = 4 * p.search->chunks;
        draw_layers(&p, 9, &seed);
        p.config = make_config(4, 4, 24);
        p.is_limited = i % 4 > 0;
        if (p.is_limited)
            set_number(p.config, PPSCHED_QUANTITY_MEM_LIMIT, limits[i % 4]);
        ppsched_plan *plan = plan_of(&p);
        const ppsched_candidate candidate = candidate_of(plan, 0);
        assert_true(candidate.fits);
        expect_ok(ppsched_plan_get_split(counts, MOST_STAGES, NULL, plan, 0, NULL), NULL);
        expect_ok(ppsched_plan_get_recomputes(recomputes, MOST_LAYERS, NULL, plan, 0, NULL), NULL);
        assert_true(time_with(&p, counts, recomputes) == candidate.step_time);
        assert_false(is_bettered_by_move(&p, counts, recomputes, candidate.step_time));
        assert_false(is_bettered_by_kind(&p, counts, recomputes, candidate.step_time));
        ppsched_plan_destroy(plan);
        clear(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all_splits), cmocka_unit_test(test_all_paths_to_recompute),
                                       cmocka_unit_test(test_copied_embeddings), cmocka_unit_test(test_none_near_is_better)};
    return cmocka_run_group_tests_name("searched_split", tests, NULL, NULL);
}
