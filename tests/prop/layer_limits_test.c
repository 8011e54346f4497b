/* SPDX-License-Identifier: Apache-2.0 */
/* Memory limits of models by their layers, with recomputation and split backwards: what plans, searches, bounds and proofs say
 * of them, against a simulation in which every layer of every stage pass is an object. */
#include "support/drawn_layers.h"
#include "support/layer_objects.h"
#include "support/plans.h"
#include "support/rounds.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 4, MOST_SCALES = 64 };

struct problem {
    uint32_t devices, microbatches;
    struct drawn_layers *model;
    ppsched_config *config;
    double limits[2];
};

/* A candidate of it, with its split. */
struct choice {
    ppsched_candidate candidate;
    uint32_t counts[DRAWN_STAGES];
    uint8_t recomputes[DRAWN_LAYERS];
    ppsched_split split;
    double scale[MOST_SCALES];
};

static void open_problem(struct problem *p, uint32_t devices, uint32_t microbatches, uint32_t layers, uint32_t entries,
                         uint32_t kinds, uint64_t *seed)
{
    double most = 0;
    *p = (struct problem){.devices = devices, .microbatches = microbatches};
    p->model = draw_layers(layers, entries, kinds, 1 + random_below(seed, 2), seed);
    p->config = make_config(devices, devices, microbatches);
    set_eighths(p->config, PPSCHED_QUANTITY_P2P_TIME, (size_t)devices * devices, 1 + random_below(seed, 2) * 5, seed);
    for (size_t e = 0; e < p->model->entry_count; e++) {
        const ppsched_layer *layer = &p->model->entries[e];
        most += layer->count * (layer->mem_static + layer->mem_weights +
                                (layer->mem_forward + fmax(layer->mem_backward_input, 0)) * fmin(microbatches, devices));
    }
    for (int i = 0; i < 2; i++)
        p->limits[i] = floor(8 * most / devices * (4 + random_below(seed, 14)) / 10) / 8 + 1;
}

static void close_problem(struct problem *p)
{
    ppsched_config_destroy(p->config);
    clear_layers(p->model);
}

static struct layer_objects objects_of(const struct problem *p, const ppsched_timeline *timeline, const ppsched_split *split,
                                       const double *scale)
{
    return (struct layer_objects){.schedule = ppsched_timeline_schedule(timeline),
                                  .timeline = timeline,
                                  .entries = p->model->entries,
                                  .entry_count = p->model->entry_count,
                                  .split = split,
                                  .scale = scale};
}

/* The most that a device holds, where all of them have the same limit. */
static double most_held(const struct layer_objects *objects)
{
    double most = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(objects->schedule); d++)
        most = fmax(most, object_peak(objects, d));
    return most;
}

static int is_within(double memory, double limit)
{
    return memory <= limit * (1 + 1e-9);
}

/* --- plans --- */

enum { NAMES = 4 };

/* Some of the strategies that a plan tries by itself. */
static void draw_names(const char *names[NAMES], uint64_t *seed)
{
    for (uint32_t i = 0; i < NAMES;) {
        ppsched_strategy_info info = {.size = sizeof info};
        expect_ok(ppsched_strategy_get_info(&info, random_below(seed, ppsched_strategy_count()), NULL), NULL);
        uint32_t k = 0;
        while (k < i && names[k] != info.name)
            k++;
        if (k == i && info.flushes && !info.searches_long && !info.offloads && info.slices < 2)
            names[i++] = info.name;
    }
}

/* Of a plan's microbatches, and their slices, each is a share of the problem's. */
static void read_choice(struct choice *choice, const struct problem *p, const ppsched_plan *plan, uint32_t number)
{
    ppsched_error error;
    choice->candidate = candidate_of(plan, number);
    expect_ok(ppsched_plan_get_split(choice->counts, DRAWN_STAGES, NULL, plan, number, &error), &error);
    expect_ok(ppsched_plan_get_recomputes(choice->recomputes, DRAWN_LAYERS, NULL, plan, number, &error), &error);
    choice->split = split_of(choice->counts, choice->candidate.stages, choice->recomputes);
    for (uint32_t m = 0; m < choice->candidate.microbatches; m++)
        choice->scale[m] = (double)p->microbatches / choice->candidate.microbatches / choice->candidate.slices;
}

static void compare_figures(const struct problem *p, const struct choice *choice, const ppsched_timeline *timeline,
                            const char *what)
{
    const struct layer_objects objects = objects_of(p, timeline, &choice->split, choice->scale);
    for (uint32_t d = 0; d < p->devices; d++) {
        double peak = object_peak(&objects, d), theirs = device_metrics_of(timeline, d).peak_memory;
        if (peak != theirs)
            fail_msg("%s of %u stages, %s: device %u holds %.17g, right is %.17g", choice->candidate.strategy,
                     choice->candidate.stages, what, d, theirs, peak);
    }
}

/* Made again from its config, by its strategy; where its microbatches and slices are the problem's from its split, too. */
static void look_at_config(const struct problem *p, const struct choice *choice, ppsched_config *config, double makespan,
                           const char *what)
{
    ppsched_schedule *schedule = make_schedule(config, choice->candidate.strategy);
    ppsched_timeline *timeline = make_timeline(schedule, config);
    compare_figures(p, choice, timeline, what);
    assert_true(makespan == metrics_of(timeline).makespan);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
}

static void look_again(const struct problem *p, const struct choice *choice, const ppsched_plan *plan, uint32_t number,
                       double makespan)
{
    ppsched_config *config = NULL, *again = NULL;
    ppsched_error error;
    expect_ok(ppsched_plan_create_config(&config, plan, number, &error), &error);
    look_at_config(p, choice, config, makespan, "made of its config");
    if (choice->scale[0] == 1) {
        expect_ok(ppsched_config_from_layers(&again, config, p->model->layers, &choice->split, &error), &error);
        look_at_config(p, choice, again, makespan, "made of its split");
    }
    ppsched_config_destroy(again);
    ppsched_config_destroy(config);
}

/* Returns whether it fits. */
static int look_at_candidate(const struct problem *p, const ppsched_plan *plan, uint32_t number, int is_lowered)
{
    struct choice choice;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    read_choice(&choice, p, plan, number);
    expect_ok(ppsched_plan_create_timeline(&timeline, plan, number, &error), &error);
    compare_figures(p, &choice, timeline, "of the plan");
    const struct layer_objects objects = objects_of(p, timeline, &choice.split, choice.scale);
    double most = most_held(&objects);
    if (most != choice.candidate.peak_memory || (int)choice.candidate.fits != is_within(most, choice.candidate.memory_limit))
        fail_msg("%s of %u stages: %.17g is told, and that it %s %g; it holds %.17g", choice.candidate.strategy,
                 choice.candidate.stages, choice.candidate.peak_memory, choice.candidate.fits ? "fits" : "does not fit",
                 choice.candidate.memory_limit, most);
    assert_true(!choice.candidate.fits || choice.candidate.bound <= choice.candidate.step_time * (1 + 1e-9));
    if (!is_lowered && !choice.candidate.offloaded)
        look_again(p, &choice, plan, number, metrics_of(timeline).makespan);
    ppsched_timeline_destroy(timeline);
    return (int)choice.candidate.fits;
}

/* The limit that is said to be the least does. */
static void look_at_least_limit(const struct problem *p, const ppsched_plan *plan, const struct plan_choice *given)
{
    struct plan_choice options = *given;
    double limit = 0;
    uint32_t fits = 0;
    ppsched_error error;
    ppsched_status status = ppsched_plan_find_least_limit(&limit, NULL, plan, &error);
    if (status == PPSCHED_ERROR_REFUSED)
        return;
    expect_ok(status, &error);
    options.memory_limits = &limit;
    options.memory_limit_count = 1;
    ppsched_plan *again = run_plan(p->config, &options);
    for (uint32_t i = 0; i < ppsched_plan_count(again); i++)
        if (candidate_of(again, i).status == PPSCHED_OK)
            fits += (uint32_t)look_at_candidate(p, again, i, options.lowering != 0);
    if (fits == 0)
        fail_msg("nothing fits the least limit of %g", limit);
    ppsched_plan_destroy(again);
}

struct seen {
    uint32_t candidates, fitting, offloaded, recomputing, problems_without;
};

static void look_at_plan(const struct problem *p, const struct plan_choice *options, struct seen *seen)
{
    ppsched_plan *plan = run_plan(p->config, options);
    uint32_t fitting = 0;
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        uint8_t recomputes[DRAWN_LAYERS];
        if (candidate_of(plan, i).status != PPSCHED_OK)
            continue;
        seen->candidates++;
        if (!look_at_candidate(p, plan, i, options->lowering != 0))
            continue;
        fitting++;
        seen->offloaded += candidate_of(plan, i).offloaded;
        expect_ok(ppsched_plan_get_recomputes(recomputes, DRAWN_LAYERS, NULL, plan, i, NULL), NULL);
        for (uint32_t k = 0; k < p->model->count; k++)
            if (recomputes[k] > 0) {
                seen->recomputing++;
                break;
            }
    }
    if (fitting == 0)
        look_at_least_limit(p, plan, options);
    seen->fitting += fitting;
    seen->problems_without += fitting == 0;
    ppsched_plan_destroy(plan);
}

static void test_plans(void **state)
{
    static const uint32_t chunks[] = {1, 2};
    struct seen seen = {0};
    uint64_t seed = 1;
    (void)state;
    for (int n = 0; n < ROUNDS(64); n++) {
        struct problem p;
        uint32_t devices = 2 + random_below(&seed, MOST_DEVICES - 1), spare = 2 + random_below(&seed, 5);
        open_problem(&p, devices, 2 + random_below(&seed, 5), 2 * devices + spare, MOST_ENTRIES, DRAWN_KINDS, &seed);
        const uint32_t microbatches[] = {p.microbatches, 2 * p.microbatches};
        const char *names[NAMES];
        draw_names(names, &seed);
        set_number(p.config, PPSCHED_QUANTITY_HOST_LATENCY, 0.125); /* for copies */
        set_number(p.config, PPSCHED_QUANTITY_HOST_BANDWIDTH, 8);
        const struct plan_choice options = {.size = sizeof options,
                                            .layers = p.model->layers,
                                            .strategies = names,
                                            .strategy_count = NAMES,
                                            .chunks = chunks,
                                            .chunk_count = 2,
                                            .memory_limits = p.limits,
                                            .memory_limit_count = 2,
                                            .microbatches = n % 4 == 1 ? microbatches : NULL,
                                            .microbatch_count = n % 4 == 1 ? 2 : 0,
                                            .lowering = n % 4 == 2 ? PPSCHED_LOWERING_JUST_IN_TIME : 0,
                                            .slices = n % 4 == 3 ? chunks : NULL,
                                            .slice_count = n % 4 == 3 ? 2 : 0,
                                            .empty_stages = random_below(&seed, 2),
                                            .offload = n % 8 == 5,
                                            .split_effort = n % 8 == 0 ? 0 : 1};
        look_at_plan(&p, &options, &seen);
        close_problem(&p);
    }
    print_message("# %u candidates, %u fit, %u of them recompute, %u offload; %u problems of which none does\n",
                  seen.candidates, seen.fitting, seen.recomputing, seen.offloaded, seen.problems_without);
    assert_true(seen.fitting > seen.candidates / 4 && seen.recomputing > seen.fitting / 8);
    assert_true(ROUND_SHARE > 1 || seen.problems_without > 0);
}

/* --- searches within limits, and bounds --- */

/* A config of some split of it, under the first of its limits. */
static ppsched_config *split_config(const struct problem *p, struct choice *choice, uint32_t stages, uint64_t *seed)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    draw_split(choice->counts, choice->recomputes, p->model, stages, 1, seed);
    choice->split = split_of(choice->counts, stages, choice->recomputes);
    expect_ok(ppsched_config_from_layers(&config, p->config, p->model->layers, &choice->split, &error), &error);
    return config;
}

/* What it holds at most; infinite where the strategy refuses. */
static double most_of(const struct problem *p, const struct choice *choice, const ppsched_config *config, const char *strategy,
                      double *makespan, int32_t *placement)
{
    ppsched_schedule *schedule = NULL;
    if (ppsched_schedule_generate(&schedule, config, strategy, NULL) != PPSCHED_OK)
        return INFINITY;
    ppsched_timeline *timeline = make_timeline(schedule, config);
    const struct layer_objects objects = objects_of(p, timeline, &choice->split, NULL);
    double most = most_held(&objects);
    *makespan = metrics_of(timeline).makespan;
    *placement = ppsched_schedule_placement(schedule);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return most;
}

/* Rules that fit the limit, for as many stages a device. */
static const char *rule_within(const struct problem *p, const struct choice *choice, const ppsched_config *config)
{
    static const char *const one[] = {"1f1b", "zb_h1"}, *const two[] = {"interleaved_1f1b", "zbv"};
    for (int i = 0; i < 2; i++) {
        const char *rule = choice->split.stages == p->devices ? one[i] : two[i];
        double makespan = 0;
        int32_t placement = 0;
        if (is_within(most_of(p, choice, config, rule, &makespan, &placement), p->limits[0]))
            return rule;
    }
    return NULL;
}

/* What searches find within a limit holds no more. The one that tries all orders finds one where a rule has one. */
static void test_searches(void **state)
{
    static const char *const one[] = {"zb_auto", "auto"}, *const two[] = {"zbv_auto", "v_half", "v_min", "auto"};
    uint64_t seed = 2;
    uint32_t found = 0, refused = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(1500); n++) {
        struct problem p;
        struct choice choice;
        uint32_t devices = 2 + random_below(&seed, 3), chunks = 1 + random_below(&seed, 2);
        const char *name = chunks == 1 ? one[random_below(&seed, 2)] : two[random_below(&seed, 4)];
        double makespan = 0;
        int32_t placement = 0;
        open_problem(&p, devices, 2 + random_below(&seed, 5), devices * chunks + random_below(&seed, 6), MOST_ENTRIES,
                     DRAWN_KINDS, &seed);
        set_number(p.config, PPSCHED_QUANTITY_MEM_LIMIT, p.limits[0]);
        if (strcmp(name, "auto") == 0)
            expect_ok(ppsched_config_set_option(p.config, "effort", "1", NULL), NULL);
        ppsched_config *config = split_config(&p, &choice, devices * chunks, &seed);
        double most = most_of(&p, &choice, config, name, &makespan, &placement);
        found += most < INFINITY;
        refused += !(most < INFINITY);
        if (most < INFINITY && !is_within(most, p.limits[0]))
            fail_msg("%s holds %g of %g", name, most, p.limits[0]);
        if (strcmp(name, "auto") == 0)
            expect_ok(ppsched_config_set_option(config, "effort", NULL, NULL), NULL);
        const char *rule = strcmp(name, "auto") == 0 && !(most < INFINITY) ? rule_within(&p, &choice, config) : NULL;
        if (rule != NULL)
            fail_msg("%s finds nothing within %g, and %s is", name, p.limits[0], rule);
        ppsched_config_destroy(config);
        close_problem(&p);
    }
    print_message("# %u found, %u refused\n", found, refused);
    assert_true(found > ROUNDS(250) && refused > ROUNDS(250));
}

/* No schedule is below a bound, or within less than the least limit. */
static void expect_bound(const ppsched_config *config, int32_t placement, double makespan, double most, double limit,
                         const char *strategy)
{
    ppsched_bound bound = {.size = sizeof bound};
    ppsched_config *copy = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_copy(&copy, config, &error), &error);
    expect_ok(ppsched_config_set_placement(copy, placement, NULL, 0, &error), &error);
    expect_ok(ppsched_config_find_bound(&bound, copy, PPSCHED_OBJECTIVE_MAKESPAN, &error), &error);
    if (bound.least_limit > most * (1 + 1e-9))
        fail_msg("%s holds %g, and the least limit is %g", strategy, most, bound.least_limit);
    if (is_within(most, limit) && bound.value > makespan * (1 + 1e-9))
        fail_msg("%s takes %g within %g of %g, and the bound is %g", strategy, makespan, most, limit, bound.value);
    ppsched_config_destroy(copy);
}

static void test_bounds(void **state)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } rows[] = {{"gpipe", 1}, {"1f1b", 1},           {"zb_h1", 1},      {"zb_h2", 1},      {"1f1b_overlap", 1}, {"dualpipe", 1},
                {"zbv", 2},   {"interleaved_zb", 2}, {"looped_bfs", 2}, {"dualpipe_v", 2}, {"v_1f1b", 2},       {"v_half", 2}};
    uint64_t seed = 3;
    uint32_t within = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(3000); n++) {
        struct problem p;
        struct choice choice;
        uint32_t devices = 2 + random_below(&seed, 3), row = (uint32_t)n % (sizeof rows / sizeof rows[0]);
        double makespan = 0;
        int32_t placement = 0;
        open_problem(&p, devices, 1 + random_below(&seed, 8), devices * rows[row].chunks + random_below(&seed, 6), MOST_ENTRIES,
                     DRAWN_KINDS, &seed);
        p.limits[0] *= 1 + n % 3;
        set_number(p.config, PPSCHED_QUANTITY_MEM_LIMIT, p.limits[0]);
        ppsched_config *config = split_config(&p, &choice, devices * rows[row].chunks, &seed);
        double most = most_of(&p, &choice, config, rows[row].name, &makespan, &placement);
        if (most < INFINITY)
            expect_bound(config, placement, makespan, most, p.limits[0], rows[row].name);
        within += is_within(most, p.limits[0]);
        ppsched_config_destroy(config);
        close_problem(&p);
    }
    print_message("# %u within their limit\n", within);
    assert_true(within > ROUNDS(600));
}

/* --- all splits, and all ways to recompute --- */

struct best {
    double step;    /* infinite where nothing fits */
    uint64_t paths; /* that were tried */
};

/* All kinds of the layers from `layer` on. */
static void try_kinds(struct best *best, const struct problem *p, struct choice *choice, const ppsched_config *base,
                      uint32_t layer)
{
    if (layer == p->model->count) {
        ppsched_config *config = NULL;
        double makespan = INFINITY;
        int32_t placement = 0;
        expect_ok(ppsched_config_from_layers(&config, base, p->model->layers, &choice->split, NULL), NULL);
        best->paths++;
        if (is_within(most_of(p, choice, config, choice->candidate.strategy, &makespan, &placement), p->limits[0]))
            best->step = fmin(best->step, makespan);
        ppsched_config_destroy(config);
        return;
    }
    ppsched_layer entry = {.size = sizeof entry};
    uint32_t e = 0;
    for (uint32_t before = 0; before + p->model->entries[e].count <= layer; e++)
        before += p->model->entries[e].count;
    expect_ok(ppsched_layers_get_entry(&entry, p->model->layers, e, NULL), NULL);
    for (uint32_t k = 0; k <= entry.recompute_count; k++) {
        choice->recomputes[layer] = (uint8_t)k;
        try_kinds(best, p, choice, base, layer + 1);
    }
}

/* All numbers of layers of the stages from `stage` on. */
static void try_counts(struct best *best, const struct problem *p, struct choice *choice, const ppsched_config *base,
                       uint32_t stage, uint32_t before)
{
    uint32_t stages = choice->candidate.stages, end = p->model->count - p->model->last;
    if (stage + 1 == stages) {
        choice->counts[stage] = p->model->count - before;
        try_kinds(best, p, choice, base, 0);
        return;
    }
    for (uint32_t to = before + 1; to <= end && to < p->model->count; to++) {
        choice->counts[stage] = to - before;
        if (to >= p->model->first)
            try_counts(best, p, choice, base, stage + 1, to);
    }
}

/* None that fits is shorter than a proved one, and nothing is said not to fit that does. */
static void try_all(const struct problem *p, const ppsched_plan *plan, uint32_t number, uint64_t *paths)
{
    struct best best = {.step = INFINITY};
    struct choice choice = {.candidate = candidate_of(plan, number)};
    const ppsched_candidate *candidate = &choice.candidate;
    ppsched_config *config = NULL;
    ppsched_error error;
    expect_ok(ppsched_plan_create_config(&config, plan, number, &error), &error);
    choice.split = split_of(choice.counts, candidate->stages, choice.recomputes);
    try_counts(&best, p, &choice, config, 0, 0);
    if (candidate->fits ? candidate->step_time < best.step * (1 - 1e-9) : best.step < INFINITY)
        fail_msg("%s of %u stages, limit %g: %s, %g; the best of all that fit takes %g", candidate->strategy, candidate->stages,
                 p->limits[0], candidate->fits ? "fits" : "does not fit", candidate->step_time, best.step);
    if (candidate->fits && candidate->proved && candidate->step_time > best.step * (1 + 1e-9))
        fail_msg("%s of %u stages, limit %g: %g is proved, and %g fits", candidate->strategy, candidate->stages, p->limits[0],
                 candidate->step_time, best.step);
    if (candidate->bound > best.step * (1 + 1e-9))
        fail_msg("%s of %u stages: %g fits, below the bound of %g", candidate->strategy, candidate->stages, best.step,
                 candidate->bound);
    ppsched_config_destroy(config);
    *paths += best.paths;
}

static void test_all_paths(void **state)
{
    static const uint32_t chunks[] = {1, 2};
    uint64_t seed = 4, paths = 0;
    uint32_t fitting = 0, proved = 0, candidates = 0;
    (void)state;
    for (int n = 0; n < ROUNDS(60); n++) {
        struct problem p;
        uint32_t devices = 2 + random_below(&seed, 2), layers = devices + 1 + random_below(&seed, 6 - devices);
        open_problem(&p, devices, 2 + random_below(&seed, 4), layers, 3, 2, &seed);
        set_number(p.config, PPSCHED_QUANTITY_MEM_LIMIT, p.limits[0]);
        const char *names[NAMES];
        draw_names(names, &seed);
        const struct plan_choice options = {.size = sizeof options,
                                            .layers = p.model->layers,
                                            .strategies = names,
                                            .strategy_count = NAMES,
                                            .chunks = chunks,
                                            .chunk_count = 2};
        ppsched_plan *plan = run_plan(p.config, &options);
        for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
            if (candidate_of(plan, i).status == PPSCHED_OK) {
                try_all(&p, plan, i, &paths);
                candidates++;
                fitting += candidate_of(plan, i).fits;
                proved += candidate_of(plan, i).proved;
            }
        ppsched_plan_destroy(plan);
        close_problem(&p);
    }
    print_message("# %.0f ways for %u candidates, of which %u fit and %u are proved\n", (double)paths, candidates, fitting,
                  proved);
    assert_true(fitting > candidates / 4 && fitting < candidates && proved > fitting / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plans), cmocka_unit_test(test_searches),
                                       cmocka_unit_test(test_bounds), cmocka_unit_test(test_all_paths)};
    return cmocka_run_group_tests_name("layer_limits", tests, NULL, NULL);
}
