/* SPDX-License-Identifier: Apache-2.0 */
/* Plans whose microbatches are cut or differ, and whose times vary: each candidate against its problem stated by hand. */
#include "support/layered.h"
#include "support/plans.h"
#include "support/rounds.h"
#include "support/uneven.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SLICED = ROUNDS(20), LAYERED = ROUNDS(150), ORDERED = ROUNDS(12), VARIED = ROUNDS(12), COUNT = 40 };
enum { MOST_STAGES = 64, MOST_MICROBATCHES = 16 };

static ppsched_schedule *generate(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_generate(&schedule, config, strategy, &error), &error);
    return schedule;
}

static ppsched_metrics figures_of(const ppsched_config *config, const char *strategy)
{
    ppsched_schedule *schedule = generate(config, strategy);
    ppsched_timeline *timeline = NULL;
    ppsched_metrics metrics = {.size = sizeof metrics};
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, NULL), NULL);
    expect_ok(ppsched_timeline_get_metrics(&metrics, timeline, NULL), NULL);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return metrics;
}

static void expect_near(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-9 * (1 + fabs(wanted))))
        fail_msg("%.17g, not %.17g", found, wanted);
}

/* --- slices --- */

/* One list of the config, by the rule that the header states. */
static void cut_list(ppsched_config *to, const ppsched_config *from, int32_t quantity, uint32_t slices, double more)
{
    double list[MOST_STAGES];
    uint32_t stages = ppsched_config_stages(from);
    for (uint32_t s = 0; s < stages; s++)
        list[s] = value_at(from, quantity, s, 0) / slices + more;
    expect_ok(ppsched_config_set_values(to, quantity, list, stages, NULL), NULL);
}

/* The problem of a candidate with the config's stages. */
static ppsched_config *cut_by_hand(const ppsched_config *config, const struct plan_choice *options, uint32_t slices)
{
    static const int32_t shared[] = {PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_QUANTITY_MEM_FORWARD,
                                     PPSCHED_QUANTITY_MEM_BACKWARD_INPUT,    PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT,
                                     PPSCHED_QUANTITY_ACTIVATION_BYTES,      PPSCHED_QUANTITY_GRADIENT_BYTES};
    double scale[MOST_MICROBATCHES], share = options->attention_share;
    ppsched_config *cut = NULL;
    expect_ok(ppsched_config_copy(&cut, config, NULL), NULL);
    expect_ok(ppsched_config_set_slices(cut, slices, NULL), NULL);
    for (size_t i = 0; i < sizeof shared / sizeof shared[0]; i++)
        if (value_at(config, shared[i], 0, NAN) == value_at(config, shared[i], 0, NAN))
            cut_list(cut, config, shared[i], slices, 0);
    cut_list(cut, config, PPSCHED_QUANTITY_FORWARD_TIMES, slices, options->slice_time);
    cut_list(cut, config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, slices, options->slice_time);
    for (uint32_t k = 0; k < slices; k++)
        scale[k] = 1 - share + share * (2 * k + 1) / slices;
    expect_ok(ppsched_config_set_values(cut, PPSCHED_QUANTITY_SLICE_SCALE, scale, slices, NULL), NULL);
    return cut;
}

static void expect_cut(const ppsched_config *config, const struct plan_choice *options, const ppsched_candidate *found)
{
    char group[16];
    ppsched_config *cut = found->slices == 1 ? NULL : cut_by_hand(config, options, found->slices);
    if (cut == NULL)
        expect_ok(ppsched_config_copy(&cut, config, NULL), NULL);
    snprintf(group, sizeof group, "%u", found->group_size);
    if (found->group_size > 0)
        expect_ok(ppsched_config_set_option(cut, "group_size", group, NULL), NULL);
    ppsched_metrics metrics = figures_of(cut, found->strategy);
    expect_near(found->makespan, metrics.makespan);
    expect_near(found->span, metrics.span);
    expect_near(found->peak_memory, metrics.peak_memory);
    ppsched_config_destroy(cut);
}

static void test_cut_microbatches(void **state)
{
    static const uint32_t slices[] = {1, 2, 5};
    uint64_t seed = 7;
    uint32_t whole = 0, cut = 0;
    (void)state;
    for (int i = 0; i < SLICED; i++) {
        struct uneven sizes = uneven_of_seed(seed + (uint64_t)i);
        sizes.devices = 2 + random_below(&seed, 3);
        sizes.chunks = 1 + random_below(&seed, 3);
        sizes.microbatches = 2 + random_below(&seed, 9);
        ppsched_config *config = make_uneven(&sizes);
        const struct plan_choice options = {.size = sizeof options,
                                            .slices = slices,
                                            .slice_count = 3,
                                            .slice_time = random_below(&seed, 3) / 8.0,
                                            .attention_share = random_below(&seed, 5) / 4.0};
        ppsched_plan *plan = run_plan(config, &options);
        for (uint32_t c = 0; c < ppsched_plan_count(plan); c++) {
            ppsched_candidate found = candidate_of(plan, c);
            if (found.status != PPSCHED_OK || found.stages != ppsched_config_stages(config))
                continue;
            expect_cut(config, &options, &found);
            *(found.slices > 1 ? &cut : &whole) += 1;
        }
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
    }
    assert_true(whole > ROUNDS(200) && cut > ROUNDS(200));
}

/* --- layers that are cut --- */

/* All splits of a list of layers, one after another: layers of each stage, in `layers`. */
static int next_split(uint32_t *layers, uint32_t stages)
{
    for (uint32_t s = stages - 1; s > 0; s--)
        if (layers[s] > 1) { /* one to the stage before, and what this one has left goes to the last */
            uint32_t left = layers[s] - 2;
            layers[s - 1]++;
            layers[s] = 1;
            for (uint32_t i = s + 1; i < stages; i++, layers[i - 1] = 1)
                left += layers[i] - 1;
            layers[stages - 1] += left;
            return 1;
        }
    return 0;
}

/* What a candidate of a strategy's plan takes with the costs of a split's stages; infinite where that does not fit. */
static double time_of_split(const ppsched_config *config, const ppsched_layers *layers, const uint32_t *counts, uint32_t stages,
                            const struct plan_choice *asked, uint32_t number)
{
    const ppsched_split split = {.size = sizeof split, .stages = stages, .layers = counts};
    struct plan_choice options = *asked;
    ppsched_config *made = NULL;
    ppsched_error error;
    options.layers = NULL;
    expect_ok(ppsched_config_from_layers(&made, config, layers, &split, &error), &error);
    ppsched_plan *plan = run_plan(made, &options);
    assert_int_equal(ppsched_plan_count(plan), 1 + options.offload);
    ppsched_candidate candidate = candidate_of(plan, number);
    assert_true(candidate.status == PPSCHED_OK || number > 0);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(made);
    return candidate.status == PPSCHED_OK && candidate.fits ? candidate.step_time : INFINITY;
}

static double best_of_splits(const ppsched_config *config, const ppsched_layers *layers, uint32_t stages,
                             const struct plan_choice *options, uint32_t number)
{
    uint32_t counts[MOST_STAGES], splits = 0;
    double best = INFINITY;
    for (uint32_t s = 0; s < stages; s++)
        counts[s] = s + 1 < stages ? 1 : ppsched_layers_count(layers) - stages + 1;
    do {
        best = fmin(best, time_of_split(config, layers, counts, stages, options, number));
        splits++;
    } while (next_split(counts, stages));
    assert_true(splits > 1);
    return best;
}

/* Layers, no two alike, for so many stages and some more. */
static const ppsched_layers *draw_layers(uint32_t stages, uint64_t *seed)
{
    double times[3 * MOST_ENTRIES];
    ppsched_layer entries[MOST_ENTRIES];
    uint32_t count = stages + 1 + random_below(seed, MOST_ENTRIES - stages);
    draw_uneven(times, 3 * MOST_ENTRIES, 0.5, seed);
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (ppsched_layer)LAYER("layer", .forward_time = times[i], .backward_input_time = times[MOST_ENTRIES + i],
                                          .backward_weight_time = times[2 * MOST_ENTRIES + i], .mem_forward = times[i],
                                          .mem_static = 0.25, .output_bytes = 1 + times[i]);
    return make_layers(entries, count);
}

static void expect_best_split(uint64_t *seed, uint32_t *limited)
{
    static const char *const names[] = {"gpipe", "1f1b", "zb_h1", "interleaved_1f1b", "seq_1f1b"};
    const char *name = names[random_below(seed, 5)];
    uint32_t devices = 2 + random_below(seed, 2), stages = strcmp(name, "interleaved_1f1b") == 0 ? 2 * devices : devices;
    uint32_t chunks = stages / devices, slices = 2 + random_below(seed, 3), group = devices;
    ppsched_config *config = make_config(devices, devices, 2 + random_below(seed, 5));
    const ppsched_layers *layers = draw_layers(stages, seed);
    const double limit = 4 + random_below(seed, 8);
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = &name,
                                        .strategy_count = 1,
                                        .chunks = &chunks,
                                        .chunk_count = 1,
                                        .group_sizes = &group,
                                        .group_size_count = 1,
                                        .layers = layers,
                                        .slices = &slices,
                                        .slice_count = 1,
                                        .slice_time = random_below(seed, 3) / 8.0};
    if (random_below(seed, 2))
        set_number(config, PPSCHED_QUANTITY_OP_OVERHEAD, 0.375);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.125);
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 16);
    if (random_below(seed, 2))
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    ppsched_plan *plan = run_plan(config, &options);
    ppsched_candidate found = candidate_of(plan, 0);
    double best = best_of_splits(config, layers, stages, &options, 0);
    assert_true(found.slices == slices);
    assert_true((found.fits != 0) == (best < INFINITY));
    if (found.fits) {
        expect_near(found.step_time, best);
        assert_true(found.bound <= found.step_time * (1 + 1e-9));
        *limited += ppsched_config_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &(size_t){0}) != NULL;
    }
    ppsched_plan_destroy(plan);
    ppsched_layers_release(layers);
    ppsched_config_destroy(config);
}

/* The split that a plan finds for slices is the best of all. */
static void test_cut_layers(void **state)
{
    uint64_t seed = 22;
    uint32_t limited = 0;
    (void)state;
    for (int i = 0; i < LAYERED; i++)
        expect_best_split(&seed, &limited);
    assert_true(limited > LAYERED / 8);
}

/* --- layers whose activations go to the host --- */

/* How far plans are above the best of all splits, and how many find none where one could be held by copies alone. */
struct tally {
    double sum, most;
    uint32_t found, missed;
};

/* Its figures are those of its config and pass. */
static void expect_own_copies(const ppsched_plan *plan, const ppsched_candidate *found, const char *strategy)
{
    const ppsched_offload_options until = {.size = sizeof until, .until_limit = 1};
    ppsched_config *config = NULL;
    ppsched_schedule *offloaded = NULL;
    ppsched_error error;
    expect_ok(ppsched_plan_create_config(&config, plan, 1, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    expect_ok(ppsched_schedule_offload(&offloaded, schedule, config, &until, &error), &error);
    ppsched_timeline *timeline = make_timeline(offloaded, config);
    expect_near(found->makespan, metrics_of(timeline).makespan);
    expect_near(found->peak_memory, metrics_of(timeline).peak_memory);
    assert_true(metrics_of(timeline).limit_device == PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(offloaded);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What is found against all splits whose copies hold the limit. */
static void expect_offloaded(uint64_t *seed, struct tally *tally)
{
    static const char *const names[] = {"gpipe", "1f1b", "zb_h1", "zbv"};
    const char *name = names[random_below(seed, 4)];
    uint32_t devices = 2 + random_below(seed, 2), stages = strcmp(name, "zbv") == 0 ? 2 * devices : devices;
    uint32_t chunks = stages / devices;
    ppsched_config *config = make_config(devices, devices, 3 + random_below(seed, 6));
    const ppsched_layers *layers = draw_layers(stages, seed);
    const struct plan_choice options = {.size = sizeof options,
                                        .strategies = &name,
                                        .strategy_count = 1,
                                        .chunks = &chunks,
                                        .chunk_count = 1,
                                        .layers = layers,
                                        .offload = 1};
    set_number(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, 0.25 * (1 + random_below(seed, 8)));
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 4 + random_below(seed, 6));
    ppsched_plan *plan = run_plan(config, &options);
    ppsched_candidate whole = candidate_of(plan, 0), found = candidate_of(plan, 1);
    double best = best_of_splits(config, layers, stages, &options, 1);
    assert_true(found.offloaded && !whole.offloaded);
    if (found.status == PPSCHED_OK && found.fits) {
        expect_own_copies(plan, &found, name);
        tally->sum += found.step_time / best - 1;
        tally->most = fmax(tally->most, found.step_time / best - 1);
        tally->found++;
    } else if (best < INFINITY && !whole.fits) {
        tally->missed++;
    }
    ppsched_plan_destroy(plan);
    ppsched_layers_release(layers);
    ppsched_config_destroy(config);
}

static void test_offloaded_layers(void **state)
{
    struct tally tally = {0, 0, 0, 0};
    uint64_t seed = 23;
    (void)state;
    for (int i = 0; i < LAYERED; i++)
        expect_offloaded(&seed, &tally);
    print_message("# layers with copies: %u found, %.2f %% longer than the best of all splits, %.1f %% at most; %u missed\n",
                  tally.found, 100 * tally.sum / tally.found, 100 * tally.most, tally.missed);
    assert_true(ROUND_SHARE > 1 || tally.found > LAYERED * 2 / 5);
    assert_true(ROUND_SHARE > 1 || tally.sum / tally.found < 0.003);
    assert_true(tally.missed <= 6);
}

/* --- the order of microbatches --- */

static ppsched_config *draw_unlike(uint64_t *seed, double *scale)
{
    struct uneven sizes = uneven_of_seed(*seed);
    sizes.microbatches = 3 + random_below(seed, 8);
    ppsched_config *config = make_uneven(&sizes);
    draw_uneven(scale, sizes.microbatches, 0.25, seed);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, sizes.microbatches, NULL), NULL);
    if (random_below(seed, 2) == 0)
        set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, sizes.devices, 20 + random_below(seed, 60), seed);
    return config;
}

/* Each microbatch once, and the candidate's own config has them so. */
static void expect_order(const ppsched_plan *plan, uint32_t number, const double *scale, uint32_t microbatches)
{
    uint32_t order[MOST_MICROBATCHES], seen = 0;
    ppsched_config *config = NULL;
    expect_ok(ppsched_plan_get_microbatch_order(order, microbatches, NULL, plan, number, NULL), NULL);
    expect_ok(ppsched_plan_create_config(&config, plan, number, NULL), NULL);
    for (uint32_t j = 0; j < microbatches; j++) {
        seen |= 1u << order[j];
        assert_true(value_at(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, j, 0) == scale[order[j]]);
    }
    assert_int_equal(seen, (1u << microbatches) - 1);
    ppsched_candidate candidate = candidate_of(plan, number);
    ppsched_metrics metrics = figures_of(config, candidate.strategy);
    assert_true(metrics.makespan == candidate.makespan && metrics.peak_memory == candidate.peak_memory);
    ppsched_config_destroy(config);
}

/* What a strategy makes of a config: the most that a device lacks, and the step. */
struct made {
    double overshoot, step;
};

static struct made made_of(const ppsched_config *config, const char *strategy, int32_t objective)
{
    ppsched_schedule *schedule = generate(config, strategy);
    ppsched_timeline *timeline = NULL;
    ppsched_metrics metrics = {.size = sizeof metrics};
    expect_ok(ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, NULL), NULL);
    expect_ok(ppsched_timeline_get_metrics(&metrics, timeline, NULL), NULL);
    struct made made = {0, objective == PPSCHED_OBJECTIVE_SPAN ? metrics.span : metrics.makespan};
    for (uint32_t d = 0; d < ppsched_config_devices(config); d++) {
        ppsched_device_metrics device = {.size = sizeof device};
        expect_ok(ppsched_timeline_get_device_metrics(&device, timeline, d, NULL), NULL);
        made.overshoot = fmax(made.overshoot, device.peak_memory - device.memory_limit);
    }
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    return made;
}

/* What comes of the order for its own schedule: a search makes another schedule of it, and where that is worse the microbatches
 * stay as they are. `config`: the candidate's without an order. */
static bool expect_kept_order(const ppsched_plan *plan, uint32_t number, const ppsched_config *config, int32_t objective)
{
    const ppsched_order_options options = {.size = sizeof options, .objective = objective, .effort = 1};
    uint32_t wanted[MOST_MICROBATCHES], order[MOST_MICROBATCHES], microbatches = ppsched_config_microbatches(config);
    ppsched_candidate candidate = candidate_of(plan, number);
    bool is_search = strstr(candidate.strategy, "auto") != NULL;
    ppsched_config *ordered = NULL;
    ppsched_schedule *schedule = generate(config, candidate.strategy);
    expect_ok(ppsched_schedule_order_microbatches(wanted, ppsched_config_microbatches(config), NULL, &ordered, schedule, config,
                                                  &options, NULL),
              NULL);
    struct made before = made_of(config, candidate.strategy, objective),
                after = made_of(ordered, candidate.strategy, objective);
    bool is_worse = is_search &&
                    (after.overshoot > before.overshoot || (after.overshoot == before.overshoot && after.step > before.step));
    assert_int_equal(candidate.ordered, !is_worse);
    if (candidate.ordered) {
        expect_ok(ppsched_plan_get_microbatch_order(order, microbatches, NULL, plan, number, NULL), NULL);
        assert_memory_equal(order, wanted, microbatches * sizeof *order);
    }
    ppsched_config_destroy(ordered);
    ppsched_schedule_release(schedule);
    return is_worse;
}

static void test_ordered_microbatches(void **state)
{
    static const char *const strategies[] = {"1f1b", "gpipe", "zb_h1", "zbv", "interleaved_1f1b", "zb_auto", "auto"};
    uint64_t seed = 11;
    uint32_t ordered = 0, better = 0, dropped = 0;
    (void)state;
    for (int i = 0; i < ORDERED; i++) {
        double scale[MOST_MICROBATCHES];
        ppsched_config *config = draw_unlike(&seed, scale);
        const int32_t objective = i % 2 == 0 ? PPSCHED_OBJECTIVE_MAKESPAN : PPSCHED_OBJECTIVE_SPAN;
        struct plan_choice options = {
            .size = sizeof options, .strategies = strategies, .strategy_count = 7, .effort = 1, .objective = objective};
        ppsched_plan *before = run_plan(config, &options);
        options.order_effort = 1;
        ppsched_plan *after = run_plan(config, &options);
        assert_int_equal(ppsched_plan_count(before), ppsched_plan_count(after));
        for (uint32_t c = 0; c < ppsched_plan_count(after); c++) {
            ppsched_candidate old = candidate_of(before, c), new = candidate_of(after, c);
            assert_int_equal(old.status, new.status);
            if (new.status != PPSCHED_OK)
                continue;
            assert_true(new.overshoot < old.overshoot || (new.overshoot == old.overshoot &&new.step_time <= old.step_time));
            if (new.ordered)
                expect_order(after, c, scale, new.microbatches);
            else
                assert_int_equal(ppsched_plan_get_microbatch_order(NULL, 0, NULL, after, c, NULL), PPSCHED_ERROR_REFUSED);
            ppsched_config *plain = NULL;
            expect_ok(ppsched_plan_create_config(&plain, before, c, NULL), NULL);
            dropped += expect_kept_order(after, c, plain, objective);
            ppsched_config_destroy(plain);
            ordered += new.ordered;
            better += new.step_time < old.step_time;
        }
        ppsched_plan_destroy(before);
        ppsched_plan_destroy(after);
        ppsched_config_destroy(config);
    }
    print_message("# %u ordered, %u better, %u dropped\n", ordered, better, dropped);
    assert_true(ordered > ROUNDS(40) && better > ROUNDS(40) && (ROUND_SHARE > 1 || dropped > 0));
}

/* Microbatches that differ in memory alone take as long in any order: they are ordered all the same, also for a search. */
static void test_ordered_by_memory(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_auto"};
    static const double scale[] = {1, 3, 2, 1.5, 1, 2.5};
    const struct plan_choice options = {
        .size = sizeof options, .strategies = strategies, .strategy_count = 2, .order_effort = 1};
    ppsched_config *config = make_config(3, 3, 6);
    (void)state;
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, scale, 6, NULL), NULL);
    ppsched_plan *plan = run_plan(config, &options);
    assert_int_equal(ppsched_plan_count(plan), 2);
    for (uint32_t c = 0; c < 2; c++) {
        assert_int_equal(candidate_of(plan, c).ordered, 1);
        expect_kept_order(plan, c, config, PPSCHED_OBJECTIVE_MAKESPAN);
    }
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

/* --- with layers --- */

static const ppsched_layers *draw_two_layers(uint64_t *seed)
{
    static const ppsched_recompute kinds[] = {{"full", 1, 0.25}};
    const ppsched_layer layer = {.size = sizeof layer,
                                 .name = "decoder",
                                 .count = 6 + random_below(seed, 8),
                                 .forward_time = 1,
                                 .backward_time = 2,
                                 .mem_forward = 1,
                                 .mem_static = 0.5,
                                 .recomputes = kinds,
                                 .recompute_count = 1},
                        head = {.size = sizeof head,
                                .name = "head",
                                .place = PPSCHED_LAYER_PLACE_LAST,
                                .forward_time = 1.5,
                                .backward_time = 3};
    const ppsched_layer *const list[] = {&layer, &head};
    const ppsched_layers *layers = NULL;
    expect_ok(ppsched_layers_create(&layers, list, 2, NULL, NULL), NULL);
    return layers;
}

/* Its figures are those of its own config; how many candidates there are. */
static uint32_t expect_own_figures(const ppsched_plan *plan)
{
    uint32_t seen = 0;
    for (uint32_t c = 0; c < ppsched_plan_count(plan); c++) {
        ppsched_candidate found = candidate_of(plan, c);
        ppsched_config *config = NULL;
        if (found.status != PPSCHED_OK)
            continue;
        expect_ok(ppsched_plan_create_config(&config, plan, c, NULL), NULL);
        ppsched_metrics metrics = figures_of(config, found.strategy);
        assert_true(metrics.makespan == found.makespan && metrics.peak_memory == found.peak_memory);
        assert_true(found.fits == (metrics.limit_device == PPSCHED_NONE));
        assert_true(!found.proved || (found.fits && found.bound == found.step_time)); /* no more than that */
        assert_true(found.bound <= found.step_time * (1 + 1e-9) || !found.fits);
        ppsched_config_destroy(config);
        seen++;
    }
    return seen;
}

/* Twice the size of all is twice the time, with the same splits under twice the limit for activations. */
static void expect_doubled(const ppsched_config *config, const ppsched_layers *layers)
{
    const double two = 2;
    ppsched_config *doubled = NULL;
    const struct plan_choice options = {.size = sizeof options, .layers = layers};
    expect_ok(ppsched_config_copy(&doubled, config, NULL), NULL);
    expect_ok(ppsched_config_set_values(doubled, PPSCHED_QUANTITY_MICROBATCH_SCALE, &two, 1, NULL), NULL);
    ppsched_plan *once = run_plan(config, &options), *twice = run_plan(doubled, &options);
    for (uint32_t c = 0; c < ppsched_plan_count(once); c++) {
        ppsched_candidate a = candidate_of(once, c), b = candidate_of(twice, c);
        assert_int_equal(a.status, b.status);
        assert_true(a.status != PPSCHED_OK || 2 * a.makespan == b.makespan);
    }
    ppsched_plan_destroy(once);
    ppsched_plan_destroy(twice);
    ppsched_config_destroy(doubled);
}

static void test_layers(void **state)
{
    static const char *const strategies[] = {"1f1b", "interleaved_1f1b", "zb_h1", "zbv", "zb_auto"};
    static const uint32_t slices[] = {1, 3};
    uint64_t seed = 17;
    uint32_t seen = 0;
    (void)state;
    for (int i = 0; i < ROUNDS(12); i++) {
        uint32_t devices = 2 + random_below(&seed, 2), microbatches = 3 + random_below(&seed, 5);
        double scale[MOST_MICROBATCHES], limit = 12 + random_below(&seed, 30);
        const ppsched_layers *layers = draw_two_layers(&seed);
        ppsched_config *config = make_config(devices, devices, microbatches);
        expect_doubled(config, layers);
        draw_uneven(scale, microbatches, 0.25, &seed);
        expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, microbatches, NULL), NULL);
        if (i % 2 == 0)
            expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &limit, 1, NULL), NULL);
        struct plan_choice options = {.size = sizeof options,
                                      .strategies = strategies,
                                      .strategy_count = 5,
                                      .layers = layers,
                                      .slices = slices,
                                      .slice_count = 1 + i % 2,
                                      .attention_share = i / 12.0,
                                      .slice_time = 0.0625,
                                      .order_effort = i % 3 == 0};
        ppsched_plan *plan = run_plan(config, &options);
        seen += expect_own_figures(plan);
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
    assert_true(seen > ROUNDS(50));
}

/* --- scenarios --- */

static double wanted_time(const ppsched_plan *plan, uint32_t number, const struct plan_choice *options)
{
    ppsched_config *config = NULL;
    ppsched_scenarios *scenarios = NULL;
    ppsched_scenario_metrics metrics = {.size = sizeof metrics};
    double time = 0;
    expect_ok(ppsched_plan_create_config(&config, plan, number, NULL), NULL);
    ppsched_schedule *schedule = generate(config, candidate_of(plan, number).strategy);
    expect_ok(ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, options->scenario_count,
                                                  options->scenario_options, NULL),
              NULL);
    expect_ok(ppsched_scenarios_get_metrics(&metrics, scenarios, NULL), NULL);
    if (options->rank_by == PPSCHED_RANK_BY_QUANTILE)
        expect_ok(ppsched_scenarios_get_quantile(&time, scenarios, options->quantile > 0 ? options->quantile : 0.9, NULL),
                  NULL);
    else
        time = options->rank_by == PPSCHED_RANK_BY_WORST ? metrics.worst : metrics.mean;
    time /= ppsched_config_iterations(config);
    ppsched_scenarios_destroy(scenarios);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return time;
}

/* Those that fit are in the order of what ranks. */
static uint32_t expect_ranks(const ppsched_plan *plan, const struct plan_choice *options)
{
    double last = 0;
    uint32_t parted = 0;
    for (uint32_t rank = 0; rank < ppsched_plan_count(plan); rank++) {
        uint32_t number = ppsched_plan_candidate_at_rank(plan, rank);
        ppsched_candidate candidate = candidate_of(plan, number);
        if (candidate.status != PPSCHED_OK) {
            assert_true(candidate.scenario_time == 0);
            continue;
        }
        assert_true(candidate.scenario_time == wanted_time(plan, number, options));
        double time = options->rank_by == PPSCHED_RANK_BY_STEP ? candidate.step_time : candidate.scenario_time;
        assert_true(time >= last * (1 - 1e-11));
        parted += rank > 0 &&
                  candidate.step_time < candidate_of(plan, ppsched_plan_candidate_at_rank(plan, rank - 1)).step_time;
        last = time;
    }
    return parted;
}

static void test_varying_times(void **state)
{
    static const char *const strategies[] = {"1f1b", "zb_h1", "zb_h2", "zbv", "v_half", "interleaved_1f1b", "looped_bfs"};
    uint64_t seed = 5;
    uint32_t parted = 0;
    (void)state;
    for (int i = 0; i < VARIED; i++) {
        const struct uneven sizes = uneven_of_seed(seed + (uint64_t)i);
        double slow[16];
        ppsched_config *config = make_uneven(&sizes);
        draw_uneven(slow, sizes.devices, 0.75, &seed);
        const ppsched_scenario_options scenarios = {.size = sizeof scenarios,
                                                    .seed = seed,
                                                    .jitter = 0.2,
                                                    .device_factors = slow,
                                                    .device_factor_count = sizes.devices};
        const struct plan_choice options = {.size = sizeof options,
                                            .strategies = strategies,
                                            .strategy_count = 7,
                                            .scenario_options = &scenarios,
                                            .scenario_count = COUNT,
                                            .rank_by = i % 4,
                                            .quantile = i % 8 == 2 ? 0.5 : 0};
        ppsched_plan *plan = run_plan(config, &options);
        uint32_t count = expect_ranks(plan, &options);
        if (options.rank_by == PPSCHED_RANK_BY_STEP)
            assert_int_equal(count, 0);
        parted += count;
        ppsched_plan_destroy(plan);
        ppsched_config_destroy(config);
    }
    assert_true(ROUND_SHARE > 1 || parted > 10);
}

/* --- bad input --- */

static void refused(struct plan_choice options, ppsched_status status, const char *part)
{
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_plan *plan = NULL;
    ppsched_error error;
    options.size = sizeof options;
    assert_int_equal(create_plan(&plan, config, &options, &error), status);
    if (strstr(error.message, part) == NULL)
        fail_msg("%s", error.message);
    assert_null(plan);
    ppsched_config_destroy(config);
}

static void test_bad_input(void **state)
{
    static const uint32_t none[] = {2, 0}, many[] = {65536};
    static const double factors[] = {1, 2, 3};
    const ppsched_scenario_options slow = {.size = sizeof slow, .device_factors = factors, .device_factor_count = 3},
                                   stages = {.size = sizeof stages, .stage_factors = factors, .stage_factor_count = 2},
                                   jitter = {.size = sizeof jitter, .jitter = -1};
    (void)state;
#define REFUSED(status, part, ...) refused((struct plan_choice){__VA_ARGS__}, PPSCHED_ERROR_##status, part)
    REFUSED(RANGE, "slices: value 1 is 0; it must be 1 to 65535", .slices = none, .slice_count = 2);
    REFUSED(RANGE, "slices: value 0 is 65536", .slices = many, .slice_count = 1);
    REFUSED(ARGUMENT, "slices: the list and its count", .slice_count = 1);
    REFUSED(RANGE, "slice_time is -1; it must be finite and at least 0", .slice_time = -1);
    REFUSED(RANGE, "attention_share is 1.5; it must be 0 to 1", .attention_share = 1.5);
    REFUSED(RANGE, "order_effort is 11; it must be 0 to 10", .order_effort = 11);
    REFUSED(ARGUMENT, "rank_by needs scenarios; scenario_count is 0", .rank_by = PPSCHED_RANK_BY_MEAN);
    REFUSED(ARGUMENT, "scenario_options needs scenarios; scenario_count is 0", .scenario_options = &slow);
    REFUSED(MISMATCH, "3 device factors are given; it must be 2", .scenario_options = &slow, .scenario_count = 2);
    REFUSED(ARGUMENT, "a plan cannot use stage_factors", .scenario_options = &stages, .scenario_count = 2);
    REFUSED(RANGE, "jitter is -1", .scenario_options = &jitter, .scenario_count = 2);
    REFUSED(RANGE, "the number of scenarios is 16777217", .scenario_count = 16777217);
    REFUSED(RANGE, "quantile is 1.5", .quantile = 1.5);
    REFUSED(ARGUMENT, "there is no rank_by 4", .rank_by = 4);
}

/* Costs of slices tell nothing of other slices, and a strategy that knows none says so where it is named. */
static void test_refused_candidates(void **state)
{
    static const uint32_t slices[] = {2, 3};
    static const char *const names[] = {"zbv", "1f1b"};
    const struct plan_choice options = {
        .size = sizeof options, .strategies = names, .strategy_count = 2, .slices = slices, .slice_count = 2};
    ppsched_config *config = make_config(2, 2, 4);
    (void)state;
    expect_ok(ppsched_config_set_slices(config, 2, NULL), NULL);
    ppsched_plan *plan = run_plan(config, &options);
    uint32_t other = 0, unknown = 0;
    for (uint32_t c = 0; c < ppsched_plan_count(plan); c++) {
        ppsched_candidate candidate = candidate_of(plan, c);
        other += candidate.reason != NULL &&
                 strstr(candidate.reason, "costs of 2 slices per microbatch cannot be converted to 3");
        unknown += candidate.reason != NULL && strstr(candidate.reason, "runs whole microbatches, not 2 slices");
    }
    assert_true(other > 0 && unknown > 0);
    assert_int_equal(candidate_of(plan, ppsched_plan_candidate_at_rank(plan, 0)).slices, 2);
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut_microbatches),   cmocka_unit_test(test_cut_layers),
        cmocka_unit_test(test_offloaded_layers),   cmocka_unit_test(test_ordered_microbatches),
        cmocka_unit_test(test_ordered_by_memory),  cmocka_unit_test(test_layers),
        cmocka_unit_test(test_varying_times),      cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_refused_candidates),
    };
    return cmocka_run_group_tests_name("varied_plan", tests, NULL, NULL);
}
