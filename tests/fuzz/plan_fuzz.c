/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: any options for any problem. The ranking is as the header says, the candidates' figures are those of their timelines,
 * the least limit is one under which something fits, and all comes out the same again. A plan that is stopped, or runs out of
 * memory, may be run again. */
#include "fuzz/problem.h"
#include "fuzz/timeline.h"
#include "support/plan_choice.h"
#include "support/last.h"

#include <math.h>
#include <string.h>

enum { LARGEST_TEXT = 24, LARGEST_LIST = 4, MOST_CANDIDATES = 24, MOST_LINE = 4000 };

/* Options with what they point to. */
struct choice {
    struct plan_choice options;
    const char *strategies[LARGEST_LIST];
    char texts[LARGEST_LIST][LARGEST_TEXT];
    uint32_t chunks[LARGEST_LIST], group_sizes[LARGEST_LIST], microbatches[LARGEST_LIST];
    double memory_limits[LARGEST_LIST];
    ppsched_channel_model channel;
    ppsched_model_end embedding, head;
    uint32_t slices[LARGEST_LIST];
    double device_factors[LARGEST_LIST];
    ppsched_scenario_options scenarios;
    const ppsched_layers *layers; /* the caller's reference, or NULL */
    ppsched_recompute kinds[LARGEST_LIST];
    struct handed handed;
};

/* Stops a plan at its call number `stop` (0: never). */
struct listener {
    uint32_t calls, stop;
    double share, best;
};

static int32_t listen(void *user, const ppsched_progress *progress)
{
    struct listener *listener = user;
    double share = progress->share, best = progress->best;
    EXPECT(share >= listener->share && share <= 1 && best <= listener->best);
    listener->share = share;
    listener->best = best;
    return ++listener->calls == listener->stop;
}

/* --- options --- */

/* A small number; seldom one that no problem has. */
static uint32_t take_count(struct bytes *bytes, uint32_t largest)
{
    uint8_t code = take_u8(bytes);
    return code < 250 ? 1 + code % largest : code == 250 ? 0 : code == 251 ? UINT32_MAX : PPSCHED_MAX_CELLS + 1;
}

static uint32_t take_counts(struct bytes *bytes, uint32_t *list, uint32_t largest, const uint32_t **out)
{
    uint32_t count = take_below(bytes, 3);
    for (uint32_t i = 0; i < count; i++)
        list[i] = take_count(bytes, largest);
    *out = count > 0 || take_u8(bytes) == 255 ? list : NULL;
    return count;
}

/* Names of strategies, seldom unknown ones. Without an effort `auto` would take long, and is left out. */
static void take_strategies(struct bytes *bytes, struct choice *choice)
{
    choice->options.strategy_count = take_below(bytes, LARGEST_LIST + 1);
    choice->options.strategies = choice->options.strategy_count > 0 ? choice->strategies : NULL;
    for (uint32_t i = 0; i < choice->options.strategy_count; i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        uint8_t code = take_u8(bytes);
        EXPECT(ppsched_strategy_get_info(&info, code % ppsched_strategy_count(), NULL) == PPSCHED_OK);
        choice->strategies[i] = info.alias_count > 0 && code >= 128 ? info.aliases[0] : info.name;
        if (strcmp(info.name, "auto") == 0 && choice->options.effort == 0)
            choice->strategies[i] = "1f1b";
        if (code >= 252)
            choice->strategies[i] = code == 255 ? NULL : take_text(bytes, choice->texts[i], LARGEST_TEXT);
        if (choice->strategies[i] != NULL && strstr(choice->strategies[i], "uto") != NULL && choice->options.effort == 0)
            choice->strategies[i] = "zbv";
    }
}

static void take_lists(struct bytes *bytes, struct choice *choice)
{
    struct plan_choice *options = &choice->options;
    take_strategies(bytes, choice);
    options->chunk_count = take_counts(bytes, choice->chunks, 3, &options->chunks);
    options->group_size_count = take_counts(bytes, choice->group_sizes, 8, &options->group_sizes);
    options->microbatch_count = take_counts(bytes, choice->microbatches, 8, &options->microbatches);
    options->memory_limit_count = take_below(bytes, 3);
    options->memory_limits = options->memory_limit_count > 0 ? choice->memory_limits : NULL;
    for (uint32_t i = 0; i < options->memory_limit_count; i++)
        choice->memory_limits[i] = take_any_number(bytes);
}

/* Up to four entries of a few layers; NULL where the library takes no such list. */
static const ppsched_layers *take_layers(struct bytes *bytes, struct choice *choice)
{
    static const char *const names[] = {"decoder", "embedding", "mtp", "head"}, *const kinds[] = {"full", "selective"};
    ppsched_layer entries[LARGEST_LIST];
    const ppsched_layer *list[LARGEST_LIST];
    const ppsched_layers *layers = NULL;
    uint32_t count = 1 + take_below(bytes, LARGEST_LIST);
    ppsched_error error = fresh_error();
    for (uint32_t i = 0; i < count; i++) {
        uint8_t form = take_u8(bytes);
        entries[i] = (ppsched_layer){.size = sizeof entries[i], .name = names[form % 4], .count = form / 4 % 4};
        entries[i].place = form < 192 ? 0 : (int32_t)take_below(bytes, 3);
        entries[i].flags = form < 128 ? 0 : take_below(bytes, 4);
        entries[i].forward_time = take_any_number(bytes);
        entries[i].backward_time = take_any_number(bytes);
        entries[i].mem_forward = take_any_number(bytes);
        entries[i].mem_backward_input = form % 8 == 7 ? -take_number(bytes) : 0;
        entries[i].mem_static = take_number(bytes);
        entries[i].output_bytes = take_number(bytes);
        choice->kinds[i] = (ppsched_recompute){kinds[form / 16 % 2], take_number(bytes), entries[i].mem_forward / 4};
        entries[i].recomputes = &choice->kinds[i];
        entries[i].recompute_count = form / 32 % 2;
        list[i] = &entries[i];
    }
    ppsched_status status = ppsched_layers_create(&layers, list, count, NULL, &error);
    EXPECT(accepted(status, &error) == (layers != NULL));
    EXPECT(status == PPSCHED_OK || status == PPSCHED_ERROR_RANGE);
    return layers;
}

/* Slices, orders and scenarios. */
static void take_variation(struct bytes *bytes, struct choice *choice)
{
    struct plan_choice *options = &choice->options;
    uint8_t form = take_u8(bytes);
    if ((form & 1) != 0)
        options->slice_count = take_counts(bytes, choice->slices, 3, &options->slices);
    options->order_effort = form >= 250 ? form : form >> 1 & 1;
    options->slice_time = (form & 4) != 0 ? take_any_number(bytes) : 0;
    options->attention_share = (form & 8) != 0 ? take_any_number(bytes) : 0;
    if ((form & 16) == 0)
        return;
    choice->scenarios = (ppsched_scenario_options){.size = sizeof choice->scenarios, .seed = take_u8(bytes)};
    choice->scenarios.jitter = (form & 32) != 0 ? take_any_number(bytes) : 0;
    choice->scenarios.message_jitter = (form & 64) != 0 ? 0.25 : 0;
    choice->scenarios.dispatch = take_below(bytes, 16) == 0 ? 2 : (int32_t)take_below(bytes, 2);
    choice->scenarios.device_factors = choice->device_factors;
    choice->scenarios.device_factor_count = take_below(bytes, LARGEST_LIST);
    for (size_t i = 0; i < choice->scenarios.device_factor_count; i++)
        choice->device_factors[i] = take_any_number(bytes);
    if (choice->scenarios.device_factor_count == 0)
        choice->scenarios.device_factors = NULL;
    options->scenario_options = &choice->scenarios;
    options->scenario_count = take_below(bytes, 4);
    options->rank_by = (int32_t)take_below(bytes, 5);
    options->quantile = (form & 128) != 0 ? take_any_number(bytes) : 0;
}

/* Returns what is handed over. */
static const struct plan_choice *take_options(struct bytes *bytes, struct choice *choice)
{
    struct plan_choice *options = &choice->options;
    uint8_t form = take_u8(bytes), ends = take_u8(bytes);
    *choice = (struct choice){.options = {.objective = form % 4 == 3 ? (int32_t)take_integer(bytes) : form % 4 % 3}};
    options->effort = form >= 248 ? 13u + take_u8(bytes) : form >> 2 & 1;
    options->lowering = (form >> 3 & 1) != 0 ? (int32_t)take_below(bytes, 6) - 1 : 0;
    options->placements = (form >> 4 & 1) != 0 ? take_u8(bytes) : 0;
    take_lists(bytes, choice);
    choice->channel = take_channel(bytes);
    options->channel = (ends & 1) != 0 ? &choice->channel : NULL;
    if ((ends & 6) == 6)
        choice->embedding = take_end(bytes);
    if ((ends & 24) == 24)
        choice->head = take_end(bytes);
    options->embedding = (ends & 6) == 6 ? &choice->embedding : NULL;
    options->head = (ends & 24) == 24 ? &choice->head : NULL;
    if (ends >= 128) {
        choice->layers = take_layers(bytes, choice);
        options->layers = choice->layers;
        options->runtime = (int32_t)take_below(bytes, LAST_RUNTIME + 1);
        options->runtimes = (2u << LAST_RUNTIME) - 2;
        options->empty_stages = take_below(bytes, 2);
        options->split_effort = options->empty_stages; /* the usual takes too long for more than some */
    }
    if (ends < 128 || take_u8(bytes) % 4 == 3)
        take_variation(bytes, choice);
    options->offload = take_u8(bytes) % 8 == 7;
    return hand_over(bytes, &choice->handed, options, sizeof *options);
}

/* --- what comes out --- */

static ppsched_candidate candidate_of(const ppsched_plan *plan, uint32_t index)
{
    ppsched_candidate candidate = {.size = sizeof candidate};
    EXPECT(ppsched_plan_get_candidate(&candidate, plan, index, NULL) == PPSCHED_OK);
    return candidate;
}

static ppsched_candidate ranked(const ppsched_plan *plan, uint32_t rank)
{
    ppsched_candidate candidate = candidate_of(plan, ppsched_plan_candidate_at_rank(plan, rank));
    EXPECT(candidate.rank == rank);
    return candidate;
}

/* No candidate has a rank before the plan has run. */
static void expect_unranked(const ppsched_plan *plan)
{
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++)
        EXPECT(candidate_of(plan, i).rank == PPSCHED_NONE && ppsched_plan_candidate_at_rank(plan, i) == PPSCHED_NONE);
}

static int group_of(const ppsched_candidate *candidate)
{
    return candidate->fits ? 0 : candidate->status == PPSCHED_OK ? 1 : 2;
}

static double rank_time(const ppsched_candidate *candidate, int32_t rank_by)
{
    return rank_by == PPSCHED_RANK_BY_STEP ? candidate->step_time : candidate->scenario_time;
}

static void expect_ranked(const ppsched_plan *plan, int32_t rank_by)
{
    ppsched_candidate before = {0};
    for (uint32_t i = 0; i < ppsched_plan_count(plan); i++) {
        ppsched_candidate candidate = ranked(plan, i);
        int group = group_of(&candidate);
        EXPECT(candidate.evaluated == 1 && (candidate.reason != NULL) == (candidate.status == PPSCHED_ERROR_REFUSED));
        EXPECT(candidate.status == PPSCHED_OK || (candidate.status == PPSCHED_ERROR_REFUSED && candidate.reason[0] != '\0'));
        EXPECT(group == 2 || (candidate.fits == 1) == (candidate.limit_device == PPSCHED_NONE));
        EXPECT(group != 0 || candidate.bound <= candidate.step_time * (1 + 1e-9));
        if (i > 0) {
            EXPECT(group_of(&before) <= group);
            EXPECT(group != 0 || group_of(&before) != 0 ||
                   rank_time(&before, rank_by) <= rank_time(&candidate, rank_by) * (1 + 1e-9));
            EXPECT(group != 1 || group_of(&before) != 1 || before.overshoot <= candidate.overshoot * (1 + 1e-9));
        }
        before = candidate;
    }
    EXPECT(ppsched_plan_candidate_at_rank(plan, ppsched_plan_count(plan)) == PPSCHED_NONE);
}

/* The split of one that can be run holds. */
static void expect_split(const ppsched_plan *plan, const ppsched_layers *layers, uint32_t index)
{
    uint32_t counts[LARGEST_STAGES * 4];
    uint8_t recomputes[LARGEST_LIST * 4];
    size_t stages = 0, needed = 0;
    ppsched_config *config = NULL, *made = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_plan_get_split(counts, LARGEST_STAGES * 4, &stages, plan, index, &error);
    EXPECT(accepted(status, &error) == (candidate_of(plan, index).status == PPSCHED_OK));
    if (status != PPSCHED_OK)
        return;
    EXPECT(ppsched_plan_get_recomputes(recomputes, sizeof recomputes, &needed, plan, index, NULL) == PPSCHED_OK);
    const ppsched_split split = {sizeof split, (uint32_t)stages, counts, recomputes};
    EXPECT(accepted(ppsched_plan_create_config(&config, plan, index, &error), &error));
    EXPECT(needed == ppsched_layers_count(layers) && stages == ppsched_config_stages(config));
    EXPECT(accepted(ppsched_config_from_layers(&made, config, layers, &split, &error), &error));
    ppsched_config_destroy(made);
    ppsched_config_destroy(config);
}

static void launch(const ppsched_schedule *schedule)
{
    char line[MOST_LINE];
    for (int32_t runtime = PPSCHED_RUNTIME_MEGATRON; runtime <= LAST_RUNTIME; runtime++) {
        size_t needed = 0;
        ppsched_error error = fresh_error();
        if (accepted(ppsched_schedule_write_launch_arguments(line, sizeof line, &needed, schedule, runtime, NULL, &error),
                     &error))
            EXPECT(strlen(line) + 1 == needed && needed > 1);
    }
}

/* The candidate's own timeline has its figures, and its own problem its sizes. */
static void expect_remade(const ppsched_plan *plan, uint32_t index)
{
    ppsched_candidate candidate = candidate_of(plan, index);
    ppsched_timeline *timeline = NULL;
    ppsched_config *config = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_plan_create_timeline(&timeline, plan, index, &error);
    EXPECT(accepted(status, &error) == (candidate.status == PPSCHED_OK || timeline != NULL));
    if (status != PPSCHED_OK) {
        EXPECT(status == PPSCHED_ERROR_REFUSED || status == PPSCHED_ERROR_INVALID_SCHEDULE);
        EXPECT(strcmp(error.message, candidate.reason) == 0);
        return;
    }
    if (candidate.status != PPSCHED_OK) { /* that a runtime cannot run it is no matter of its timeline */
        ppsched_timeline_destroy(timeline);
        return;
    }
    ppsched_metrics metrics = fuzz_metrics(timeline);
    EXPECT(metrics.makespan == candidate.makespan && metrics.span == candidate.span);
    EXPECT(metrics.peak_memory == candidate.peak_memory && metrics.limit_device == candidate.limit_device);
    EXPECT(accepted(ppsched_plan_create_config(&config, plan, index, &error), &error));
    EXPECT(ppsched_config_stages(config) == candidate.stages && ppsched_config_microbatches(config) == candidate.microbatches);
    expect_parts_to_sum(timeline);
    launch(ppsched_timeline_schedule(timeline));
    ppsched_config_destroy(config);
    ppsched_timeline_destroy(timeline);
}

/* The same with as many copies as hold the config's limit. */
static void offload(ppsched_schedule **schedule, const ppsched_config *config)
{
    const ppsched_offload_options options = {.size = sizeof options, .until_limit = 1};
    ppsched_schedule *offloaded = NULL;
    ppsched_error error = fresh_error();
    EXPECT(accepted(ppsched_schedule_offload(&offloaded, *schedule, config, &options, &error), &error));
    ppsched_schedule_release(*schedule);
    *schedule = offloaded;
}

/* Under the least limit the candidate that it is of fits; with layers in a split of its own, which only a plan finds. */
static void expect_least_limit(const ppsched_plan *plan, bool layered)
{
    double least = -1;
    uint32_t index = 0;
    ppsched_config *config = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_plan_find_least_limit(&least, &index, plan, &error);
    if (!accepted(status, &error)) {
        EXPECT(status == PPSCHED_ERROR_REFUSED || status == PPSCHED_ERROR_RANGE);
        return;
    }
    EXPECT(least >= 0 && isfinite(least) && index < ppsched_plan_count(plan));
    if (layered)
        return;
    EXPECT(accepted(ppsched_plan_create_config(&config, plan, index, &error), &error));
    EXPECT(accepted(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, &least, 1, &error), &error));
    EXPECT(accepted(ppsched_schedule_generate(&schedule, config, candidate_of(plan, index).strategy, &error), &error));
    if (candidate_of(plan, index).offloaded != 0)
        offload(&schedule, config);
    EXPECT(accepted(ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error), &error));
    EXPECT(fuzz_metrics(timeline).limit_device == PPSCHED_NONE);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* --- running --- */

static bool same_candidates(const ppsched_plan *a, const ppsched_plan *b)
{
    bool is_same = ppsched_plan_count(a) == ppsched_plan_count(b);
    for (uint32_t i = 0; i < ppsched_plan_count(a) && is_same; i++) {
        ppsched_candidate one = candidate_of(a, i), other = candidate_of(b, i);
        is_same = (one.reason == NULL) == (other.reason == NULL) &&
                  (one.reason == NULL || strcmp(one.reason, other.reason) == 0);
        one.reason = other.reason = NULL;
        one.proved = other.proved = 0; /* a plan that runs begins with what suits others alike, and proves less */
        is_same = is_same && memcmp(&one, &other, sizeof one) == 0;
    }
    return is_same;
}

/* Runs a plan; sometimes stops it, or lets an allocation fail, and runs it again. */
static ppsched_status run(ppsched_plan *plan, struct meter *meter, struct listener *listener, struct bytes *bytes)
{
    ppsched_error error = fresh_error();
    uint8_t form = take_u8(bytes);
    *listener = (struct listener){.stop = form % 4 == 1 ? 1 + form / 4 : 0, .best = INFINITY};
    meter->until_failure = form % 4 == 2 ? 1 + form : 0;
    ppsched_status status = ppsched_plan_run(plan, &error);
    meter->until_failure = 0;
    (void)accepted(status, &error);
    EXPECT((status == PPSCHED_ERROR_NO_MEMORY) == meter->has_failed);
    EXPECT((status == PPSCHED_ERROR_CANCELLED) == (listener->stop > 0 && listener->calls >= listener->stop));
    meter->has_failed = false;
    if (status != PPSCHED_OK)
        expect_unranked(plan);
    if (status == PPSCHED_ERROR_NO_MEMORY || status == PPSCHED_ERROR_CANCELLED) {
        *listener = (struct listener){.best = INFINITY};
        error = fresh_error();
        status = ppsched_plan_run(plan, &error);
        (void)accepted(status, &error);
    }
    EXPECT(status == PPSCHED_OK || status == PPSCHED_ERROR_RANGE);
    return status;
}

/* Evaluates a few in any order, which makes no difference, and then all. */
static void run_plans(ppsched_plan *plan, ppsched_plan *again, const ppsched_layers *layers, int32_t rank_by,
                      struct meter *meter, struct listener *listener, struct bytes *bytes)
{
    for (uint32_t i = take_below(bytes, 3); i > 0; i--) {
        uint32_t index = take_u8(bytes);
        ppsched_error error = fresh_error();
        ppsched_status status = ppsched_plan_evaluate(again, index, &error);
        EXPECT(accepted(status, &error) || index >= ppsched_plan_count(again) || status == PPSCHED_ERROR_RANGE);
    }
    ppsched_status status = run(plan, meter, listener, bytes);
    EXPECT(run(again, meter, listener, bytes) == status);
    if (status != PPSCHED_OK)
        return;
    EXPECT(same_candidates(plan, again));
    expect_ranked(plan, rank_by);
    for (uint32_t i = 0; i < ppsched_plan_count(plan) && layers != NULL; i++)
        expect_split(plan, layers, i);
    if (ppsched_plan_count(plan) > 0) {
        expect_remade(plan, ppsched_plan_candidate_at_rank(plan, 0));
        expect_remade(plan, take_u8(bytes) % ppsched_plan_count(plan));
    }
    if (take_u8(bytes) % 8 == 7)
        expect_least_limit(plan, layers != NULL);
}

static ppsched_plan *create(const ppsched_config *config, const struct plan_choice *options)
{
    ppsched_plan *plan = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = create_plan(&plan, config, options, &error);
    EXPECT(accepted(status, &error) == (plan != NULL));
    EXPECT(status == PPSCHED_OK || status == PPSCHED_ERROR_ARGUMENT || status == PPSCHED_ERROR_STRUCT_SIZE ||
           status == PPSCHED_ERROR_RANGE || status == PPSCHED_ERROR_UNKNOWN_STRATEGY || status == PPSCHED_ERROR_MISMATCH);
    return plan;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct largest largest = {3, 2, 6, 2};
    struct bytes bytes = {data, size};
    struct meter meter = {0};
    struct listener listener = {.best = INFINITY};
    struct choice choice;
    ppsched_config *config = take_problem(&bytes, &largest, &meter);
    EXPECT(ppsched_config_set_progress(config, listen, &listener, NULL) == PPSCHED_OK);
    const struct plan_choice *options = take_options(&bytes, &choice);
    const double bandwidth = take_u8(&bytes) / 16.0 + 0.01;
    if (choice.options.offload != 0)
        EXPECT(ppsched_config_set_values(config, PPSCHED_QUANTITY_HOST_BANDWIDTH, &bandwidth, 1, NULL) == PPSCHED_OK);
    ppsched_plan *plan = create(config, options), *again = create(config, options);
    ppsched_config_destroy(config); /* the plans have what they need */
    const ppsched_layers *layers = choice.layers;
    const int32_t rank_by = choice.options.rank_by;
    memset(&choice, 0x5A, sizeof choice);
    EXPECT((plan != NULL) == (again != NULL));
    if (plan != NULL && ppsched_plan_count(plan) <= MOST_CANDIDATES)
        run_plans(plan, again, layers, rank_by, &meter, &listener, &bytes);
    ppsched_plan_destroy(again);
    ppsched_plan_destroy(plan);
    ppsched_layers_release(layers);
    EXPECT(meter.used == 0);
    return 0;
}
