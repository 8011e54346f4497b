/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments of hybrid models: a pattern of blocks cut by stages, and what has none. */
#include "support/launching.h"
#include "support/layered.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAMBA(n) LAYER("mamba", .count = (n), .hybrid_symbols = "M")
#define PAIR(n) LAYER("pair", .count = (n), .hybrid_symbols = "*-")
#define ENDS(...)                                                                                                              \
    ((const ppsched_layer[]){LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST), __VA_ARGS__,                              \
                             LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST)})
#define COUNTS(...) ((const uint32_t[]){__VA_ARGS__})
#define KINDS(...) ((const uint8_t[]){__VA_ARGS__})
#define FULL .recomputes = &full, .recompute_count = 1

static const ppsched_recompute full = {"full", 1, 0};

/* The line for entries in stages of 1F1B; what is wanted begins with ! where it is refused. */
static void expect(const char *strategy, uint32_t devices, const ppsched_layer *entries, uint32_t entry_count,
                   const uint32_t *counts, uint32_t stages, const uint8_t *recomputes, int32_t runtime, const char *wanted)
{
    const ppsched_layers *model = make_layers(entries, entry_count);
    ppsched_schedule *schedule = sized_schedule(strategy, devices, stages, 8, NULL);
    const ppsched_split split = split_of(counts, stages, recomputes);
    ppsched_launch_options options = {.size = sizeof options, .model = model, .split = &split};
    if (wanted[0] == '!')
        expect_refused(schedule, runtime, &options, wanted + 1);
    else
        expect_line(schedule, runtime, &options, wanted);
    ppsched_schedule_release(schedule);
    ppsched_layers_release(model);
}

static void test_patterns(void **state)
{
    const ppsched_layer *model = ENDS(MAMBA(2), PAIR(2), MAMBA(3));
    (void)state;
    expect("1f1b", 2, model, 5, COUNTS(4, 5), 2, NULL, MEGATRON,
           "--pipeline-model-parallel-size 2 --hybrid-layer-pattern 'MM*-|*-MMM'");
    expect("1f1b", 3, model, 5, COUNTS(1, 7, 1), 3, NULL, MEGATRON,
           "--pipeline-model-parallel-size 3 --hybrid-layer-pattern '|MM*-*-MMM|'");
    expect("interleaved_1f1b", 2, model, 5, COUNTS(2, 2, 2, 3), 4, NULL, MEGATRON,
           "--pipeline-model-parallel-size 2 --hybrid-layer-pattern 'M|M*-|*-M|MM'");
    expect("1f1b", 2, ENDS(LAYER("pair", .hybrid_symbols = "MM"), MAMBA(1)), 4, COUNTS(3, 1), 2, NULL, MEGATRON,
           "--pipeline-model-parallel-size 2 --hybrid-layer-pattern 'MMM|'");
}

static void test_mtp_layers(void **state)
{
    const ppsched_layer *model = ENDS(MAMBA(4), LAYER("mtp", .count = 2, .hybrid_symbols = "*E"));
    (void)state;
    expect("1f1b", 2, model, 4, COUNTS(3, 5), 2, NULL, MEGATRON,
           "--pipeline-model-parallel-size 2 --hybrid-layer-pattern 'MM|MM/*E/*E'");
    expect("1f1b", 2, model, 4, COUNTS(6, 2), 2, NULL, MEGATRON,
           "!Megatron-LM has all MTP layers of a hybrid model in the last stage; this split has 1 of 2 there");
    expect("1f1b", 2, ENDS(MAMBA(2), LAYER("mtp", .hybrid_symbols = "M"), LAYER("mtp", .hybrid_symbols = "E")), 5, COUNTS(2, 4),
           2, NULL, MEGATRON, "!Megatron-LM has equal MTP layers in a hybrid model, not M and E");
}

static void test_recomputed_blocks(void **state)
{
    const ppsched_layer *model = ENDS(LAYER("pair", .count = 4, .hybrid_symbols = "M-", FULL));
    (void)state;
    expect(
        "1f1b", 2, model, 3, COUNTS(3, 3), 2, KINDS(0, 1, 0, 1, 0, 0), MEGATRON,
        "--pipeline-model-parallel-size 2 --hybrid-layer-pattern 'M-M-|M-M-' --recompute-granularity full --recompute-method "
        "block "
        "--recompute-num-layers 2");
    expect("1f1b", 2,
           ENDS(LAYER("one", .count = 2, .hybrid_symbols = "M", FULL), LAYER("two", .count = 2, .hybrid_symbols = "M-", FULL)),
           4, COUNTS(3, 3), 2, KINDS(0, 1, 0, 1, 0, 0), MEGATRON,
           "!Megatron-LM counts recomputed blocks of a hybrid model, and its layers have 1 and 2");
}

static void test_what_has_no_pattern(void **state)
{
    const ppsched_layer *hybrid = ENDS(MAMBA(4));
    const struct {
        int32_t runtime;
        const char *why;
    } others[] = {
        {SAIL, "!sail-sg's runtime divides transformer layers, and the model is a hybrid"},
        {PRIMUS, "!Primus divides transformer layers, and the model is a hybrid (its layers have hybrid_symbols); megatron, "}};
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        expect("1f1b", 2, hybrid, 3, COUNTS(3, 3), 2, NULL, others[i].runtime, others[i].why);
    expect("1f1b", 2, ENDS(MAMBA(2), LAYER("decoder")), 4, COUNTS(2, 3), 2, NULL, MEGATRON,
           "!Megatron-LM builds a hybrid model from symbols, and layer entry 2 (decoder) has none; other layers have "
           "hybrid_symbols");
    expect("1f1b", 2, ENDS(MAMBA(2), LAYER("beside", .hybrid_symbols = "")), 4, COUNTS(2, 3), 2, NULL, MEGATRON,
           "!Megatron-LM builds a hybrid model from symbols, and layer entry 2 (beside) has none for its blocks");
    expect("1f1b", 2, ENDS(PAIR(2), LAYER("latent", .hybrid_symbols = "+")), 4, COUNTS(2, 3), 2, NULL, MEGATRON,
           "!Megatron-LM's hybrid models do not have both attention (*) and latent attention (+ or D)");
}

/* Megatron-LM's TransformerConfig refuses hyper-connections with a pipeline, MTP layers or full recomputation. */
static void test_several_streams(void **state)
{
#define STREAMS(...) LAYER("decoder", .flags = PPSCHED_LAYER_FLAG_SEVERAL_STREAMS, __VA_ARGS__)
    const ppsched_layer *model = ENDS(STREAMS(.count = 4, FULL));
    (void)state;
    for (int32_t runtime = MEGATRON; runtime <= SAIL; runtime += SAIL - MEGATRON)
        expect("1f1b", 2, model, 3, COUNTS(3, 3), 2, NULL, runtime,
               "! sends one residual stream from stage to stage, and the model has several (hyper-connections), so it can run "
               "it in one stage only; ");
    expect("1f1b", 2, model, 3, COUNTS(3, 3), 2, NULL, PRIMUS,
           "--pipeline_model_parallel_size 2 --num_layers 4 --patch_primus_pipeline True --pp_algorithm 1f1b");
    expect("1f1b", 1, model, 3, COUNTS(6), 1, NULL, MEGATRON, "--pipeline-model-parallel-size 1 --num-layers 4");
    expect("1f1b", 1, model, 3, COUNTS(6), 1, KINDS(0, 1, 1, 1, 1, 0), MEGATRON,
           "!Megatron-LM has several residual streams (hyper-connections) only without full recomputation");
    expect("1f1b", 1, ENDS(STREAMS(.count = 4), LAYER("mtp")), 4, COUNTS(7), 1, NULL, MEGATRON,
           "!Megatron-LM has several residual streams (hyper-connections) only in models without MTP layers");
#undef STREAMS
}

static void test_unknown_symbols(void **state)
{
    const ppsched_layer entry = LAYER("decoder", .hybrid_symbols = "MX"), *list = &entry;
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_layers_create(&layers, &list, 1, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "layer entry 0 (decoder): hybrid_symbols is MX; it must have symbols of MG*D+-E only");
    assert_null(layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),          cmocka_unit_test(test_mtp_layers),
        cmocka_unit_test(test_recomputed_blocks), cmocka_unit_test(test_what_has_no_pattern),
        cmocka_unit_test(test_several_streams),   cmocka_unit_test(test_unknown_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
