/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of layers and the configs of their splits: what is filled in, what stages cost, and bad input. */
#include "support/layered.h"

#include <float.h>
#include <math.h>
#include <string.h>

static ppsched_layer entry_of(const ppsched_layers *layers, uint32_t entry)
{
    ppsched_layer out = {.size = sizeof out};
    ppsched_error error;
    expect_ok(ppsched_layers_get_entry(&out, layers, entry, &error), &error);
    return out;
}

/* --- making --- */

static void test_entries(void **state)
{
    char name[] = "decoder", kind[] = "full";
    const ppsched_recompute kinds[] = {{kind, 0.5, 0.25}};
    const ppsched_layer entries[] = {LAYER(name, .count = 3, .forward_time = 1, .backward_time = 2, .mem_forward = 1,
                                           .mem_static = 5, .mem_weights = 2, .output_bytes = 7, .recomputes = kinds,
                                           .recompute_count = 1, .flags = PPSCHED_LAYER_FLAG_WITH_NEXT),
                                     LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST)};
    const ppsched_layers *layers = make_layers(entries, 2);
    (void)state;
    memset(name, 'x', sizeof name - 1); /* copied */
    memset(kind, 'x', sizeof kind - 1);
    assert_ptr_equal(ppsched_layers_retain(layers), layers);
    ppsched_layers_release(layers);
    assert_int_equal(ppsched_layers_count(layers), 4);
    assert_int_equal(ppsched_layers_entries(layers), 2);
    ppsched_layer first = entry_of(layers, 0), last = entry_of(layers, 1);
    assert_string_equal(first.name, "decoder");
    assert_int_equal(first.count, 3);
    assert_int_equal(first.flags, PPSCHED_LAYER_FLAG_WITH_NEXT);
    assert_int_equal(first.recompute_count, 1);
    assert_string_equal(first.recomputes[0].name, "full");
    assert_true(first.recomputes[0].time == 0.5 && first.recomputes[0].mem_forward == 0.25);
    assert_true(first.mem_static == 5 && first.mem_weights == 2 && first.output_bytes == 7);
    assert_int_equal(last.count, 1);
    assert_null(last.recomputes);
    assert_true(last.forward_time == 0 && last.backward_time == 0 && last.mem_backward_weight == 0);
    ppsched_error error;
    assert_int_equal(ppsched_layers_get_entry(&first, layers, 2, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "there is no layer entry 2; give less than 2");
    first.size = 4;
    assert_int_equal(ppsched_layers_get_entry(&first, layers, 0, NULL), PPSCHED_ERROR_STRUCT_SIZE);
    assert_int_equal(ppsched_layers_get_entry(NULL, layers, 0, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_layers_get_entry(&last, NULL, 0, NULL), PPSCHED_ERROR_ARGUMENT);
    ppsched_layers_release(layers);
    ppsched_layers_release(NULL);
    assert_null(ppsched_layers_retain(NULL));
    assert_int_equal(ppsched_layers_count(NULL), 0);
    assert_int_equal(ppsched_layers_entries(NULL), 0);
}

static void test_backwards_are_completed(void **state)
{
    static const struct {
        double given[3], wanted[3]; /* whole, input, weight */
    } cases[] = {{{0, 0, 0}, {0, 0, 0}},
                 {{2, 0, 0}, {2, 1, 1}},
                 {{4, 3, 0}, {4, 3, 1}},
                 {{4, 0, 3}, {4, 1, 3}},
                 {{0, 3, 2}, {5, 3, 2}},
                 {{0, 3, 0}, {3, 3, 0}},
                 {{4, 4, 0}, {4, 4, 0}},
                 {{3, 2, 2}, {3, 2, 2}},
                 {{0.3, 0.3, 0}, {0.3, 0.3, 0}},
                 {{0, 0, 1}, {1, 0, 1}},
                 {{0.3, 0.1 * 3, 0}, {0.3, 0.1 * 3, 0}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double *given = cases[i].given, *wanted = cases[i].wanted;
        const ppsched_layer entry = LAYER("decoder", .backward_time = given[0], .backward_input_time = given[1],
                                          .backward_weight_time = given[2]);
        const ppsched_layers *layers = make_layers(&entry, 1);
        ppsched_layer out = entry_of(layers, 0);
        assert_true(out.backward_time == wanted[0] && out.backward_input_time == wanted[1]);
        assert_true(out.backward_weight_time == wanted[2]);
        ppsched_layers_release(layers);
    }
}

static void test_memory_is_completed(void **state)
{
    static const struct {
        double given[2], wanted[2]; /* released by I, by W; of 4 */
    } cases[] = {{{0, 0}, {0, -4}},  {{-1, 0}, {-1, -3}},  {{0, -1}, {-3, -1}},
                 {{-4, 0}, {-4, 0}}, {{-1, -3}, {-1, -3}}, {{0, -4}, {0, -4}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ppsched_layer entry = LAYER("decoder", .mem_forward = 4, .mem_backward_input = cases[i].given[0],
                                          .mem_backward_weight = cases[i].given[1]);
        const ppsched_layers *layers = make_layers(&entry, 1);
        ppsched_layer out = entry_of(layers, 0);
        assert_true(out.mem_backward_input == cases[i].wanted[0] && out.mem_backward_weight == cases[i].wanted[1]);
        ppsched_layers_release(layers);
    }
}

/* --- bad entries --- */

static void expect_bad(const ppsched_layer *entries, size_t count, ppsched_status wanted, uint32_t position,
                       const char *message)
{
    const ppsched_layer *list[MOST_ENTRIES] = {NULL};
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    for (size_t i = 0; i < count; i++)
        list[i] = &entries[i];
    ppsched_status status = ppsched_layers_create(&layers, list, count, NULL, &error);
    assert_int_equal(status, wanted);
    assert_string_equal(error.message, message);
    assert_int_equal(error.position, position);
    assert_null(layers);
}

#define BAD(message, ...)                                                                                                      \
    {                                                                                                                          \
        {.size = sizeof(ppsched_layer), .name = "decoder", __VA_ARGS__}, "layer entry 1 (decoder): " message                   \
    }

static const ppsched_recompute twice[] = {{"full", 1, 0}, {"full", 1, 0}}, nameless[] = {{NULL, 1, 0}}, empty[] = {{"", 1, 0}};
static const ppsched_recompute fast[] = {{"full", -1, 0}}, endless[] = {{"full", INFINITY, 0}}, large[] = {{"full", 1, 2}};
static const ppsched_recompute negative[] = {{"full", 1, -1}}, unknown[] = {{"full", 1, NAN}};

static void test_bad_entries(void **state)
{
    static const struct {
        ppsched_layer layer;
        const char *message;
    } cases[] = {
        BAD("forward_time is -1; it must be finite and at least 0", .forward_time = -1),
        BAD("forward_time is Infinity; it must be finite and at least 0", .forward_time = INFINITY),
        BAD("backward_time is NaN; it must be finite and at least 0", .backward_time = NAN),
        BAD("backward_input_time is -2; it must be finite and at least 0", .backward_input_time = -2),
        BAD("backward_weight_time is -2; it must be finite and at least 0", .backward_weight_time = -2),
        BAD("mem_forward is -1; it must be finite and at least 0", .mem_forward = -1),
        BAD("mem_backward_input is NaN; it must be finite", .mem_backward_input = NAN),
        BAD("mem_backward_weight is -Infinity; it must be finite and at most 0", .mem_backward_weight = -INFINITY),
        BAD("mem_static is -1; it must be finite and at least 0", .mem_static = -1),
        BAD("mem_weights is -1; it must be finite and at least 0", .mem_weights = -1),
        BAD("output_bytes is -1; it must be finite and at least 0", .output_bytes = -1),
        BAD("flags is 32; it must be 0 to 31", .flags = 32),
        BAD("the flag of a copied embedding is 1; it must be 0 in a layer of the first stage",
            .flags = PPSCHED_LAYER_FLAG_COPIES_EMBEDDING, .place = PPSCHED_LAYER_PLACE_FIRST),
        BAD("the flag of tied weights is 1; it must be 0, except in a layer of the first stage",
            .flags = PPSCHED_LAYER_FLAG_TIED),
        BAD("recompute_count is 9; it must be 0 to 8, with that many records", .recompute_count = 9, .recomputes = twice),
        BAD("recompute_count is 1; it must be 0 to 8, with that many records", .recompute_count = 1),
        BAD("a recompute's name, its number is 1; it must be given", .recompute_count = 1, .recomputes = nameless),
        BAD("a recompute's name, its number is 1; it must be given", .recompute_count = 1, .recomputes = empty),
        BAD("recomputes 0 and 1 are both called full; each needs a different name", .recompute_count = 2, .recomputes = twice),
        BAD("a recompute's time is -1; it must be finite and at least 0", .recompute_count = 1, .recomputes = fast),
        BAD("a recompute's time is Infinity; it must be finite and at least 0", .recompute_count = 1, .recomputes = endless),
        BAD("a recompute's mem_forward is 2; it must be at least 0 and at most the layer's", .mem_forward = 1,
            .recompute_count = 1, .recomputes = large),
        BAD("a recompute's mem_forward is -1; it must be at least 0 and at most the layer's", .recompute_count = 1,
            .recomputes = negative),
        BAD("a recompute's mem_forward is NaN; it must be at least 0 and at most the layer's", .recompute_count = 1,
            .recomputes = unknown),
        BAD("a part of backward_time is 3; it must be at most the whole", .backward_time = 2, .backward_input_time = 3),
        BAD("the sum of both backwards is Infinity; it must be finite", .backward_input_time = DBL_MAX,
            .backward_weight_time = DBL_MAX),
        BAD("mem_forward + mem_backward_input + mem_backward_weight is -1; it must be 0", .mem_forward = 1,
            .mem_backward_input = -2),
        BAD("mem_forward + mem_backward_input + mem_backward_weight is -1; it must be 0", .mem_forward = 4,
            .mem_backward_weight = -5),
        BAD("mem_forward + mem_backward_input + mem_backward_weight is 1; it must be 0", .mem_forward = 4,
            .mem_backward_input = 2, .mem_backward_weight = -5),
        BAD("mem_forward + mem_backward_input + mem_backward_weight is 1; it must be 0", .mem_forward = 3,
            .mem_backward_input = -1, .mem_backward_weight = -1),
        BAD("the number of layers up to it is 65536; it must be at most 65535", .count = 65535),
        BAD("it is for the first stage; put it before all layers that are not", .place = PPSCHED_LAYER_PLACE_FIRST),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const ppsched_layer entries[] = {LAYER("other"), cases[i].layer};
        expect_bad(entries, 2, PPSCHED_ERROR_RANGE, 1, cases[i].message);
    }
}

/* Parts may be more than the whole, or memory be left, by the share that decimal input is rounded by; of small numbers, too, by
 * no more. */
static void test_parts_that_round(void **state)
{
    static const ppsched_layer near[] = {
        LAYER("time", .backward_time = 2e12, .backward_input_time = 2e12 + 1),
        LAYER("released", .mem_forward = 2e12, .mem_backward_input = -2e12 - 1),
        LAYER("left", .mem_forward = 2e12, .mem_backward_input = -1e12, .mem_backward_weight = 1 - 1e12),
    };
    static const struct {
        ppsched_layer layer;
        const char *message;
    } far[] = {
        BAD("a part of backward_time is 3e-12; it must be at most the whole", .backward_time = 2e-12,
            .backward_input_time = 3e-12),
        BAD("mem_forward + mem_backward_input + mem_backward_weight is -1e-12; it must be 0", .mem_forward = 1e-12,
            .mem_backward_input = -2e-12),
        BAD("mem_forward + mem_backward_input + mem_backward_weight is 3e-12; it must be 0", .mem_forward = 5e-12,
            .mem_backward_input = -1e-12, .mem_backward_weight = -1e-12),
    };
    (void)state;
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++)
        ppsched_layers_release(make_layers(&near[i], 1));
    for (size_t i = 0; i < sizeof far / sizeof far[0]; i++) {
        const ppsched_layer entries[] = {LAYER("other"), far[i].layer};
        expect_bad(entries, 2, PPSCHED_ERROR_RANGE, 1, far[i].message);
    }
}

static void test_bad_lists(void **state)
{
    const ppsched_layer good = LAYER("decoder"), *none[] = {&good, NULL};
    const ppsched_layer behind[] = {LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST), LAYER("decoder")};
    const ppsched_layer crossed[] = {LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST),
                                     LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST)};
    const ppsched_layer unnamed = LAYER(NULL), nowhere = LAYER("decoder", .place = 3),
                        newer = LAYER("decoder", .type_count = 1);
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    (void)state;
    expect_bad(&good, 0, PPSCHED_ERROR_RANGE, PPSCHED_NONE, "there are 0 layer entries; there must be 1 to 65535");
    expect_bad(behind, 2, PPSCHED_ERROR_RANGE, 1,
               "layer entry 1 (decoder): it comes after a layer for the last stage; put it before that layer");
    expect_bad(crossed, 2, PPSCHED_ERROR_RANGE, 1,
               "layer entry 1 (embedding): it is for the first stage; put it before all layers that are not");
    expect_bad(&unnamed, 1, PPSCHED_ERROR_ARGUMENT, PPSCHED_NONE, "layer entry 0 has no name");
    expect_bad(&(const ppsched_layer)LAYER(""), 1, PPSCHED_ERROR_ARGUMENT, PPSCHED_NONE, "layer entry 0 has no name");
    expect_bad(&nowhere, 1, PPSCHED_ERROR_ARGUMENT, PPSCHED_NONE, "there is no place 3; it must be 0 to 2");
    expect_bad(&newer, 1, PPSCHED_ERROR_RANGE, 0,
               "layer entry 0 (decoder): type_count is 1; it must be 0 to 255, with device_scale unless it is 0");
    assert_int_equal(ppsched_layers_create(&layers, none, 2, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_string_equal(error.message, "layer entry 1 is NULL");
    assert_int_equal(ppsched_layers_create(&layers, none, 65536, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "there are 65536 layer entries; there must be 1 to 65535");
    assert_int_equal(ppsched_layers_create(NULL, none, 1, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_layers_create(&layers, NULL, 1, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_null(layers);
}

/* As many entries as there may be, each of one layer, of which stages cost what these do. */
static void test_most_entries(void **state)
{
    static ppsched_layer entries[PPSCHED_MAX_LAYERS];
    static const ppsched_layer *list[PPSCHED_MAX_LAYERS];
    const uint32_t counts[] = {PPSCHED_MAX_LAYERS - 2, 2};
    const ppsched_split split = split_of(counts, 2, NULL);
    const ppsched_layers *layers = NULL;
    ppsched_config *base = make_config(2, 2, 4), *config = NULL;
    ppsched_error error;
    double first = 0;
    (void)state;
    for (uint32_t i = 0; i < PPSCHED_MAX_LAYERS; i++) {
        entries[i] = (ppsched_layer)LAYER("decoder", .forward_time = 1 + i);
        list[i] = &entries[i];
        first += i < counts[0] ? 1 + i : 0;
    }
    expect_ok(ppsched_layers_create(&layers, list, PPSCHED_MAX_LAYERS, NULL, &error), &error);
    assert_int_equal(ppsched_layers_count(layers), PPSCHED_MAX_LAYERS);
    assert_true(entry_of(layers, PPSCHED_MAX_LAYERS - 1).forward_time == PPSCHED_MAX_LAYERS);
    expect_ok(ppsched_config_from_layers(&config, base, layers, &split, &error), &error);
    const double *times = ppsched_config_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, NULL);
    assert_true(times[0] == first && times[1] == 2 * PPSCHED_MAX_LAYERS - 1);
    ppsched_config_destroy(config);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* --- splits --- */

static ppsched_status from_layers(ppsched_config **out, const ppsched_layers *layers, const uint32_t *counts, uint32_t stages,
                                  const uint8_t *recomputes, ppsched_error *error)
{
    ppsched_config *base = make_config(2, 2, 4);
    const ppsched_split split = split_of(counts, stages, recomputes);
    ppsched_status status = ppsched_config_from_layers(out, base, layers, &split, error);
    ppsched_config_destroy(base);
    return status;
}

static void expect_bad_split(const ppsched_layers *layers, const uint32_t *counts, uint32_t stages, const uint8_t *recomputes,
                             uint32_t stage, uint32_t layer, const char *message)
{
    ppsched_config *out = NULL;
    ppsched_error error;
    assert_int_equal(from_layers(&out, layers, counts, stages, recomputes, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, message);
    assert_int_equal(error.stage, stage);
    assert_int_equal(error.position, layer);
    assert_null(out);
}

static void test_bad_splits(void **state)
{
    const ppsched_recompute full = {"full", 1, 0};
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .count = 2),
                                     LAYER("dense", .recomputes = &full, .recompute_count = 1, .count = 2),
                                     LAYER("pair", .flags = PPSCHED_LAYER_FLAG_WITH_NEXT), LAYER("mtp"),
                                     LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .count = 2)};
    const ppsched_layers *layers = make_layers(entries, 5);
    const uint8_t kinds[] = {0, 0, 1, 2, 0, 0, 0, 0}, of_head[] = {0, 0, 0, 0, 0, 0, 0, 1};
    const uint32_t good[] = {4, 4};
    (void)state;
    expect_bad_split(layers, good, 0, NULL, PPSCHED_NONE, PPSCHED_NONE, "split: there are 0 stages; there must be 1 to 65535");
    expect_bad_split(layers, good, 65536, NULL, PPSCHED_NONE, PPSCHED_NONE,
                     "split: there are 65536 stages; there must be 1 to 65535");
    expect_bad_split(layers, (uint32_t[]){4, 5}, 2, NULL, 1, PPSCHED_NONE,
                     "split: stages 0 to 1 have 9 layers; the model has 8");
    expect_bad_split(layers, (uint32_t[]){4, UINT32_MAX}, 2, NULL, 1, PPSCHED_NONE,
                     "split: stages 0 to 1 have 4294967299 layers; the model has 8");
    expect_bad_split(layers, (uint32_t[]){4, 2}, 2, NULL, PPSCHED_NONE, PPSCHED_NONE,
                     "split: its stages have 6 layers; the model has 8");
    expect_bad_split(layers, (uint32_t[]){1, 7}, 2, NULL, 1, 1,
                     "split: layer 1 (embedding) in stage 1 must be in the first stage");
    expect_bad_split(layers, (uint32_t[]){0, 8}, 2, NULL, 1, 0,
                     "split: layer 0 (embedding) in stage 1 must be in the first stage");
    expect_bad_split(layers, (uint32_t[]){7, 1}, 2, NULL, 0, 6, "split: layer 6 (head) in stage 0 must be in the last stage");
    expect_bad_split(layers, (uint32_t[]){8, 0}, 2, NULL, 0, 7, "split: layer 7 (head) in stage 0 must be in the last stage");
    expect_bad_split(layers, (uint32_t[]){5, 3}, 2, NULL, 1, 5,
                     "split: layer 5 (mtp) in stage 1 must be in the same stage as the layer before it");
    expect_bad_split(layers, good, 2, kinds, PPSCHED_NONE, 3,
                     "split: layer 3 (dense) has kinds of recomputation 0 to 1, not 2");
    expect_bad_split(layers, good, 2, of_head, PPSCHED_NONE, 7,
                     "split: layer 7 (head) has kinds of recomputation 0 to 0, not 1");
    ppsched_layers_release(layers);
}

static void test_bad_arguments(void **state)
{
    const ppsched_layers *layers = make_plain_model(2);
    const uint32_t counts[] = {2, 2}, places[] = {0, 1};
    ppsched_split split = split_of(counts, 2, NULL);
    ppsched_config *base = make_config(2, 2, 4), *out = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_config_from_layers(NULL, base, layers, &split, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_from_layers(&out, NULL, layers, &split, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_from_layers(&out, base, NULL, &split, NULL), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_config_from_layers(&out, base, layers, NULL, NULL), PPSCHED_ERROR_ARGUMENT);
    split.layers = NULL;
    assert_int_equal(ppsched_config_from_layers(&out, base, layers, &split, NULL), PPSCHED_ERROR_ARGUMENT);
    split.size = 1;
    assert_int_equal(ppsched_config_from_layers(&out, base, layers, &split, NULL), PPSCHED_ERROR_STRUCT_SIZE);
    split = split_of(counts, 2, NULL);
    expect_ok(ppsched_config_set_placement(base, PPSCHED_PLACEMENT_MAP, places, 2, NULL), NULL);
    assert_int_equal(ppsched_config_from_layers(&out, base, layers, &split, &error), PPSCHED_ERROR_REFUSED);
    assert_string_equal(error.message, "a placement map has a fixed number of stages; it cannot be used with layers");
    assert_null(out);
    ppsched_config_destroy(base);
    ppsched_layers_release(layers);
}

/* --- what stages cost --- */

static double at(const ppsched_config *config, int32_t quantity, size_t index)
{
    size_t count = 0;
    const double *values = ppsched_config_values(config, quantity, &count);
    assert_non_null(values);
    return values[count == 1 ? 0 : index];
}

static void expect_values(const ppsched_config *config, int32_t quantity, const double *wanted)
{
    for (size_t s = 0; s < ppsched_config_stages(config); s++)
        if (at(config, quantity, s) != wanted[s])
            fail_msg("%s of stage %zu is %g, not %g", ppsched_quantity_name(quantity), s, at(config, quantity, s), wanted[s]);
}

/* Stages of the embedding and two decoders, of none, of one decoder, and of one and the head. */
static void test_sums(void **state)
{
    const ppsched_layers *layers = make_model(4);
    const uint32_t counts[] = {3, 0, 1, 2};
    const uint8_t kinds[] = {0, 1, 2, 2, 0, 0};
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(from_layers(&config, layers, counts, 4, kinds, &error), &error);
    expect_ok(ppsched_config_validate(config, &error), &error);
    assert_int_equal(ppsched_config_stages(config), 4);
    expect_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, (double[]){2.25, 0, 1, 1.75});
    expect_values(config, PPSCHED_QUANTITY_BACKWARD_TIMES, (double[]){5.5, 0, 3, 3.5});
    expect_values(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, (double[]){3.375, 0, 2, 1.75});
    expect_values(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, (double[]){2.125, 0, 1, 1.75});
    expect_values(config, PPSCHED_QUANTITY_MEM_FORWARD, (double[]){0.625, 0, 0.125, 1.5});
    expect_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, (double[]){0, 0, 0, 0});
    expect_values(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, (double[]){-2, 0, -1, -1.5}); /* what comes back, too */
    expect_values(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, (double[]){1.375, 0, 0.875, 0});
    expect_values(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD, (double[]){0.875, 0, 0.875, 0}); /* the largest */
    expect_values(config, PPSCHED_QUANTITY_MEM_STATIC, (double[]){3, 0, 1, 3});                      /* the tied one twice */
    expect_values(config, PPSCHED_QUANTITY_MEM_WEIGHTS, (double[]){1.25, 0, 0.5, 1});                /* likewise */
    expect_values(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, (double[]){8, 8, 8, 0});                /* handed on */
    ppsched_config_destroy(config);
    expect_ok(from_layers(&config, layers, (uint32_t[]){6}, 1, NULL, &error), &error);
    expect_values(config, PPSCHED_QUANTITY_MEM_STATIC, (double[]){6}); /* one stage has it once */
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

/* A stage with MTP layers, but the first, copies the embedding, in the last stage beside the tied one. */
static void test_copied_embeddings(void **state)
{
    static const struct {
        uint32_t flags, counts[4];
        double memory[4], weights[4];
    } cases[] = {
        {0, {2, 1, 2, 2}, {8, 1, 10, 12}, {3, 0.5, 3.5, 3.75}},
        {0, {2, 0, 4, 1}, {8, 0, 13, 3}, {3, 0, 4.5, 0.75}},
        {0, {5, 1, 0, 1}, {12, 9, 0, 3}, {4.5, 3, 0, 0.75}},
        {PPSCHED_LAYER_FLAG_TIED, {2, 1, 2, 2}, {8, 1, 10, 19}, {3, 0.5, 3.5, 6.25}},
        {PPSCHED_LAYER_FLAG_TIED, {2, 0, 4, 1}, {8, 0, 13, 10}, {3, 0, 4.5, 3.25}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint32_t copies = PPSCHED_LAYER_FLAG_COPIES_EMBEDDING;
        const ppsched_layer list[] = {
            LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .mem_static = 7, .mem_weights = 2.5,
                  .flags = cases[i].flags),
            LAYER("decoder", .count = 3, .forward_time = 1, .mem_static = 1, .mem_weights = 0.5),
            LAYER("mtp", .count = 2, .forward_time = 1, .mem_static = 2, .mem_weights = 0.5, .flags = copies),
            LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .mem_static = 3, .mem_weights = 0.75)};
        const ppsched_layers *layers = make_layers(list, 4);
        ppsched_config *config = NULL;
        ppsched_error error;
        expect_ok(from_layers(&config, layers, cases[i].counts, 4, NULL, &error), &error);
        expect_values(config, PPSCHED_QUANTITY_MEM_STATIC, cases[i].memory);
        expect_values(config, PPSCHED_QUANTITY_MEM_WEIGHTS, cases[i].weights);
        ppsched_config_destroy(config);
        expect_ok(from_layers(&config, layers, (uint32_t[]){7}, 1, NULL, &error), &error);
        expect_values(config, PPSCHED_QUANTITY_MEM_STATIC, (double[]){17}); /* none */
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

/* A layer that is computed again is whole when its I ends, so it releases as much as without. */
static void test_releases_of_what_comes_back(void **state)
{
    uint64_t random = 11;
    (void)state;
    for (int i = 0; i < 400; i++) {
        double whole = 1 + random_below(&random, 999), input = -whole * random_below(&random, 4) / 3;
        const ppsched_recompute kind = {"full", 1, whole * random_below(&random, 8) / 7};
        const ppsched_layer entry = LAYER("decoder", .count = 6, .mem_forward = whole, .mem_backward_input = input,
                                          .recomputes = &kind, .recompute_count = 1);
        const ppsched_layers *layers = make_layers(&entry, 1);
        const uint8_t kinds[] = {1, 1, 1, 1, 0, 1};
        ppsched_config *config = NULL;
        ppsched_error error;
        expect_ok(from_layers(&config, layers, (uint32_t[]){3, 3}, 2, kinds, &error), &error);
        expect_ok(ppsched_config_validate(config, &error), &error);
        double held = at(config, PPSCHED_QUANTITY_MEM_FORWARD, 0);
        assert_true(fabs(at(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, 0) - 3 * input) <= 1e-9 * whole);
        assert_true(fabs(held + (kind.mem_forward < whole ? at(config, PPSCHED_QUANTITY_MEM_RECOMPUTED_BACKWARD_INPUT, 0) : 0) -
                         3 * whole) <= 1e-9 * whole);
        ppsched_config_destroy(config);
        ppsched_layers_release(layers);
    }
}

/* Links, limits, iterations, versions and options are the base's; its stages' costs are not read. */
static void test_the_rest_is_carried(void **state)
{
    const ppsched_layers *layers = make_plain_model(3);
    const uint32_t counts[] = {2, 1, 1, 1};
    const ppsched_split split = split_of(counts, 4, NULL);
    const double links[] = {0, 1, 2, 0}, limits[] = {30, 40};
    ppsched_config *base = make_config(2, 2, 6), *config = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_values(base, PPSCHED_QUANTITY_P2P_TIME, links, 4, NULL), NULL);
    expect_ok(ppsched_config_set_values(base, PPSCHED_QUANTITY_MEM_LIMIT, limits, 2, NULL), NULL);
    expect_ok(ppsched_config_set_values(base, PPSCHED_QUANTITY_OVERLAPPED_TIMES, (double[]){9}, 1, NULL), NULL);
    set_number(base, PPSCHED_QUANTITY_FORWARD_TIMES, 77);
    set_number(base, PPSCHED_QUANTITY_P2P_BANDWIDTH, 3);
    expect_ok(ppsched_config_set_iterations(base, 2, NULL), NULL);
    expect_ok(ppsched_config_set_option(base, "group_size", "2", NULL), NULL);
    expect_ok(ppsched_config_from_layers(&config, base, layers, &split, &error), &error);
    ppsched_config_destroy(base);
    assert_int_equal(ppsched_config_devices(config), 2);
    assert_int_equal(ppsched_config_microbatches(config), 6);
    assert_int_equal(ppsched_config_iterations(config), 2);
    assert_true(at(config, PPSCHED_QUANTITY_P2P_TIME, 2) == 2 && at(config, PPSCHED_QUANTITY_MEM_LIMIT, 1) == 40);
    assert_true(at(config, PPSCHED_QUANTITY_FORWARD_TIMES, 1) == 1 && at(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 0) == 3);
    size_t count = 1;
    assert_null(ppsched_config_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count));
    ppsched_schedule *schedule = make_schedule(config, "interleaved_1f1b"); /* with its option */
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    ppsched_layers_release(layers);
}

/* Sums that overflow are told, in one line. */
static void test_sums_that_overflow(void **state)
{
    const ppsched_layer entry = LAYER("decoder", .count = 2, .forward_time = DBL_MAX);
    const ppsched_layers *layers = make_layers(&entry, 1);
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(from_layers(&config, layers, (uint32_t[]){2, 0}, 2, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_string_equal(error.message, "forward_times of stage 0 is Infinity; it must be finite and at least 0");
    assert_null(config);
    ppsched_layers_release(layers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_backwards_are_completed),
        cmocka_unit_test(test_memory_is_completed),
        cmocka_unit_test(test_bad_entries),
        cmocka_unit_test(test_parts_that_round),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_most_entries),
        cmocka_unit_test(test_bad_splits),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_copied_embeddings),
        cmocka_unit_test(test_releases_of_what_comes_back),
        cmocka_unit_test(test_the_rest_is_carried),
        cmocka_unit_test(test_sums_that_overflow),
    };
    return cmocka_run_group_tests_name("layer_list", tests, NULL, NULL);
}
