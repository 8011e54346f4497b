/* SPDX-License-Identifier: Apache-2.0 */
/* What runtimes recompute that are told by a word, a number or names, of models whose layers differ in their kinds: lines and
 * plans have what that makes, and nothing else. */
#include "support/plan_choice.h"
#include "support/launching.h"
#include "support/layered.h"

#include <stdlib.h>
#include <string.h>

static const ppsched_recompute full[] = {{"full", 1, 0.125}}, selective[] = {{"selective", 0.25, 0.5}},
                               both[] = {{"full", 1, 0.125}, {"selective", 0.25, 0.5}};

#define EMBEDDING(...) LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, __VA_ARGS__)
#define HEAD(...) LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, __VA_ARGS__)
#define DEAR .forward_time = 1, .mem_forward = 1
#define LARGE .forward_time = 1, .mem_forward = 2
#define WITH(kinds) .recomputes = kinds, .recompute_count = sizeof kinds / sizeof *kinds
#define KINDS(...) ((const uint8_t[]){__VA_ARGS__})

/* --- lines --- */

/* The line of 1F1B with two layers on each of four stages; or, behind '!', a part of why there is none. */
static void expect(const ppsched_layer *entries, size_t count, int32_t runtime, const uint8_t *recomputes, const char *wanted)
{
    static const uint32_t counts[] = {2, 2, 2, 2};
    const ppsched_layers *model = make_layers(entries, count);
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    ppsched_split split = split_of(counts, 4, recomputes);
    const ppsched_launch_options options = {.size = sizeof options, .model = model, .split = &split};
    if (wanted[0] == '!')
        expect_refused(schedule, runtime, &options, wanted + 1);
    else
        expect_line(schedule, runtime, &options, wanted);
    ppsched_schedule_release(schedule);
    ppsched_layers_release(model);
}

#define MEGATRON_8 "--pipeline-model-parallel-size 4 --num-layers 8 --recompute-granularity "
#define BLOCK "full --recompute-method block --recompute-num-layers "

static void test_a_number_counts_all_decoders(void **state)
{
    const ppsched_layer mixed[] = {LAYER("decoder", .count = 6, DEAR, WITH(both)), LAYER("moe", DEAR, WITH(selective)),
                                   LAYER("moe")};
    const ppsched_layer named[] = {LAYER("dense", .count = 5, DEAR, WITH(full)), LAYER("moe", .count = 3, DEAR, WITH(both))};
    (void)state;
    for (int32_t runtime = MEGATRON; runtime <= SAIL; runtime += SAIL - MEGATRON) {
        expect(mixed, 3, runtime, KINDS(1, 0, 1, 0, 1, 0, 0, 0), "!layer 6 (moe) has no such kind; ");
        expect(mixed, 3, runtime, KINDS(2, 2, 2, 2, 2, 2, 1, 0), "!layer 7 (moe) has no such kind; ");
        expect(named, 2, runtime, KINDS(1, 1, 1, 1, 1, 0, 1, 1), "!layer 5 (moe) is not recomputed; ");
        expect(named, 2, runtime, KINDS(1, 0, 1, 0, 1, 2, 1, 0), "!layer 5 (moe) is recomputed; ");
        expect(named, 2, runtime, KINDS(0, 0, 0, 0, 0, 2, 2, 2), "!layer 0 (dense) has no such kind; ");
    }
    expect(named, 2, MEGATRON, KINDS(1, 0, 1, 0, 1, 0, 1, 0), MEGATRON_8 BLOCK "1");
    expect(named, 2, MEGATRON, KINDS(1, 1, 1, 1, 1, 1, 1, 1), MEGATRON_8 BLOCK "2");
    expect(named, 2, TORCHTITAN, KINDS(0, 0, 0, 0, 0, 1, 1, 1), "!layer 0 (dense) is not recomputed; ");
}

static void test_ends_are_not_recomputed(void **state)
{
    const ppsched_layer ends[] = {EMBEDDING(DEAR, WITH(full)), LAYER("decoder", .count = 6, DEAR, WITH(both)),
                                  HEAD(DEAR, WITH(full))};
    (void)state;
    expect(ends, 3, MEGATRON, KINDS(1, 1, 1, 0, 1, 0, 1, 0), "!layer 0 (embedding) is recomputed; ");
    expect(ends, 3, MEGATRON, KINDS(0, 1, 1, 0, 1, 0, 1, 1), "!layer 7 (head) is recomputed; ");
    expect(ends, 3, MEGATRON, KINDS(0, 1, 1, 0, 1, 0, 1, 0),
           "--pipeline-model-parallel-size 4 --num-layers 6 --decoder-first-pipeline-num-layers 1 "
           "--decoder-last-pipeline-num-layers 1 --recompute-granularity " BLOCK "1");
    expect(ends, 3, TORCHTITAN, KINDS(1, 1, 1, 1, 1, 1, 1, 1), "!layer 0 (embedding) is recomputed; ");
}

/* Block recomputation has none of them, selective all. */
static void test_mtp_layers(void **state)
{
    const ppsched_layer bare[] = {LAYER("decoder", .count = 7, DEAR, WITH(both)), LAYER("mtp")};
    const ppsched_layer able[] = {LAYER("decoder", .count = 7, DEAR, WITH(both)), LAYER("mtp", DEAR, WITH(both))};
    const char *layout = "--pipeline-model-parallel-size 4 --num-layers 7 --mtp-num-layers 1 --pipeline-model-parallel-layout "
                         "'E(tt|)*3tmL' --recompute-granularity ";
    char line[300];
    (void)state;
    strcat(strcpy(line, layout), BLOCK "1");
    expect(bare, 2, MEGATRON, KINDS(1, 0, 1, 0, 1, 0, 1, 0), line);
    strcat(strcpy(line, layout), "selective");
    expect(able, 2, MEGATRON, KINDS(2, 2, 2, 2, 2, 2, 2, 2), line);
    expect(bare, 2, MEGATRON, KINDS(2, 2, 2, 2, 2, 2, 2, 0), "!layer 7 (mtp) has no such kind; ");
    expect(able, 2, MEGATRON, KINDS(1, 1, 1, 1, 1, 1, 1, 1), "!layer 7 (mtp) is recomputed; ");
}

#define DEEPSPEED_8 "num_stages=4 gradient_accumulation_steps=8 parts=0,2,4,6,8 activation_checkpoint_interval=1"

static void test_names(void **state)
{
    const ppsched_layer ends[] = {EMBEDDING(DEAR, WITH(full)), LAYER("dense", .count = 2),
                                  LAYER("moe", .count = 4, DEAR, WITH(full)), HEAD(.count = 1)};
    const ppsched_layer all[] = {EMBEDDING(DEAR, WITH(full)), LAYER("dense", .count = 7, DEAR, WITH(full))};
    const ppsched_layer odd[] = {LAYER("moe", .count = 4, DEAR, WITH(full)), LAYER("moe", .count = 2),
                                 LAYER("it's dense", .count = 2, DEAR, WITH(full))};
    const ppsched_layer twice[] = {LAYER("moe", .count = 3, DEAR, WITH(full)), LAYER("dense", .count = 3),
                                   LAYER("moe", .count = 2, DEAR, WITH(full))};
    (void)state;
    expect(ends, 4, DEEPSPEED, KINDS(1, 0, 0, 1, 1, 1, 1, 0), DEEPSPEED_8 " checkpointable_layers=embedding,moe");
    expect(ends, 4, DEEPSPEED, KINDS(0, 0, 0, 1, 1, 1, 1, 0), DEEPSPEED_8 " checkpointable_layers=moe");
    expect(ends, 4, DEEPSPEED, KINDS(1, 0, 0, 1, 1, 1, 0, 0), "!layer 6 (moe) is not recomputed; ");
    expect(all, 2, DEEPSPEED, KINDS(1, 1, 1, 1, 1, 1, 1, 1), DEEPSPEED_8);
    expect(odd, 3, DEEPSPEED, KINDS(1, 1, 1, 1, 0, 0, 1, 1), "!layer 4 (moe) has no such kind; ");
    expect(odd, 3, DEEPSPEED, KINDS(0, 0, 0, 0, 0, 0, 1, 1), DEEPSPEED_8 " checkpointable_layers='it'\\''s dense'");
    expect(twice, 3, DEEPSPEED, KINDS(1, 1, 1, 0, 0, 0, 1, 1), DEEPSPEED_8 " checkpointable_layers=moe");
}

/* --- plans --- */

/* What the best candidate of a plan for a runtime recomputes, as its line says it; the caller frees it. NULL: nothing fits. */
static char *best_line(const ppsched_layers *model, int32_t runtime, int devices, double limit, const char *strategy)
{
    const struct plan_choice asked = {
        .size = sizeof asked, .layers = model, .runtime = runtime, .strategies = &strategy, .strategy_count = 1};
    ppsched_config *config = make_config(devices, devices, 8), *own = NULL;
    ppsched_plan *plan = NULL;
    ppsched_error error;
    uint32_t counts[64];
    uint8_t kinds[64];
    size_t stages = 0;
    char *line = NULL;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    expect_ok(create_plan(&plan, config, &asked, &error), &error);
    expect_ok(ppsched_plan_run(plan, &error), &error);
    uint32_t best = ppsched_plan_candidate_at_rank(plan, 0);
    ppsched_candidate candidate = {.size = sizeof candidate};
    expect_ok(ppsched_plan_get_candidate(&candidate, plan, best, &error), &error);
    if (candidate.status == PPSCHED_OK && candidate.fits) {
        expect_ok(ppsched_plan_get_split(counts, 64, &stages, plan, best, &error), &error);
        expect_ok(ppsched_plan_get_recomputes(kinds, 64, NULL, plan, best, &error), &error);
        expect_ok(ppsched_plan_create_config(&own, plan, best, &error), &error);
        ppsched_schedule *schedule = make_schedule(own, candidate.strategy);
        ppsched_split split = split_of(counts, (uint32_t)stages, kinds);
        const ppsched_launch_options options = {.size = sizeof options, .model = model, .split = &split};
        line = line_with(schedule, runtime, &options, PPSCHED_OK);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(own);
    }
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    return line;
}

/* The best line under a limit has a part, or lacks it where that begins with '!'; NULL: nothing fits. */
static void expect_best(const ppsched_layer *entries, size_t count, int32_t runtime, double limit, const char *strategy,
                        const char *part)
{
    const ppsched_layers *model = make_layers(entries, count);
    char *line = best_line(model, runtime, 4, limit, strategy);
    assert_true((line == NULL) == (part == NULL));
    if (part != NULL && part[0] == '!')
        assert_null(strstr(line, part + 1));
    else if (part != NULL && strstr(line, part) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", part, line);
    free(line);
    ppsched_layers_release(model);
}

static void test_plans(void **state)
{
    const ppsched_layer embedding[] = {EMBEDDING(LARGE, WITH(full)), LAYER("decoder", .count = 16, DEAR, WITH(full))};
    const ppsched_layer first[] = {LAYER("decoder", .count = 8, DEAR, WITH(full)), LAYER("moe", .count = 8, DEAR)};
    const ppsched_layer last[] = {LAYER("decoder", .count = 15, DEAR, WITH(full)),
                                  LAYER("moe", .forward_time = 1, .mem_forward = 1)};
    const ppsched_layer second[] = {LAYER("dense", .count = 8, DEAR), LAYER("moe", .count = 8, DEAR, WITH(both))};
    (void)state;
    expect_best(embedding, 2, MEGATRON, 7, "1f1b", NULL); /* four embeddings hold 8 */
    expect_best(embedding, 2, MEGATRON, 9.5, "1f1b", "--recompute-num-layers");
    expect_best(embedding, 2, DEEPSPEED, 7, "1f1b", "activation_checkpoint_interval=1");
    expect_best(first, 2, MEGATRON, 9, "1f1b", "!recompute");
    expect_best(first, 2, SAIL, 15, "1f1b", NULL);
    expect_best(last, 2, MEGATRON, 9.5, "1f1b", "--recompute-num-layers");
    for (int32_t runtime = MEGATRON; runtime <= SAIL; runtime += SAIL - MEGATRON)
        expect_best(second, 2, runtime, 16, "1f1b", "!recompute");
    expect_best(second, 2, TORCHTITAN, 16, "1f1b", "!checkpoint:full");
    expect_best(second, 2, SAIL, 15, "1f1b", NULL);
    expect_best(second, 2, SAIL, 15, "zb_h2", NULL);
    expect_best(second, 2, DEEPSPEED, 6, "1f1b", "checkpointable_layers=moe");
}

/* Where a runtime recomputes no first layers with an order, plans have what it does with it. */
static void test_orders_without_first_layers(void **state)
{
    static const ppsched_recompute cheap[] = {{"full", 0.25, 0.125}, {"selective", 0.5, 0.5}};
    const ppsched_layer able[] = {LAYER("decoder", .count = 16, DEAR, WITH(both))};
    const ppsched_layer other[] = {LAYER("decoder", .count = 16, DEAR, WITH(cheap))};
    const char *const zbv = "zbv";
    const struct plan_choice asked = {.size = sizeof asked,
                                      .layers = make_layers(able, 1),
                                      .runtime = PPSCHED_RUNTIME_PRIMUS,
                                      .strategies = &zbv,
                                      .strategy_count = 1};
    ppsched_config *config = make_config(4, 4, 8);
    ppsched_plan *plan = NULL;
    ppsched_candidate candidate = {.size = sizeof candidate};
    (void)state;
    expect_best(able, 1, MEGATRON, 8.5, "interleaved_1f1b_overlap", "--recompute-granularity selective");
    expect_best(other, 1, SAIL, 12, "interleaved_1f1b", "--recompute-granularity selective");
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 8);
    expect_ok(create_plan(&plan, config, &asked, NULL), NULL);
    expect_ok(ppsched_plan_run(plan, NULL), NULL);
    expect_ok(ppsched_plan_get_candidate(&candidate, plan, 0, NULL), NULL);
    assert_true(candidate.status == PPSCHED_OK && !candidate.fits); /* over its limit, as nothing can be told, not refused */
    ppsched_plan_destroy(plan);
    ppsched_config_destroy(config);
    ppsched_layers_release(asked.layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_number_counts_all_decoders),
        cmocka_unit_test(test_ends_are_not_recomputed),
        cmocka_unit_test(test_mtp_layers),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_orders_without_first_layers),
    };
    return cmocka_run_group_tests_name("launch_recompute", tests, NULL, NULL);
}
