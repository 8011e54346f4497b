/* SPDX-License-Identifier: Apache-2.0 */
/* Layers made anew of others: in microbatches of another size, and with those of a name not apart; and where memory runs
 * out. */
#include "support/failing_allocator.h"
#include "support/layered.h"

#include "ir/layers.h"

#include <string.h>

static const ppsched_recompute kinds[] = {{"selective", 0.5, 3}, {"full", 1.25, 2}};
static const ppsched_layer entries[] = {
    LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST, .forward_time = 0.5, .backward_time = 1, .mem_forward = 2),
    LAYER("decoder", .count = 3, .forward_time = 1, .backward_time = 2.5, .backward_input_time = 1.5, .mem_forward = 4,
          .mem_backward_input = -1, .mem_static = 5, .mem_weights = 6, .output_bytes = 7, .recomputes = kinds,
          .recompute_count = 2),
    LAYER("mtp", .count = 2, .forward_time = 3, .backward_time = 4, .mem_forward = 5, .flags = PPSCHED_LAYER_FLAG_WITH_NEXT),
    LAYER("decoder", .forward_time = 1, .backward_time = 2, .mem_forward = 4),
    LAYER("mtp", .count = 2, .forward_time = 3, .backward_time = 4),
    LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST, .forward_time = 2, .backward_time = 4, .mem_forward = 1)};

enum { ENTRIES = sizeof entries / sizeof entries[0], LAYERS = 10 };

static ppsched_layer entry_of(const ppsched_layers *layers, uint32_t entry)
{
    ppsched_layer out = {.size = sizeof out};
    expect_ok(ppsched_layers_get_entry(&out, layers, entry, NULL), NULL);
    return out;
}

static void compare_entry(const ppsched_layer *one, const ppsched_layer *other, const struct ppi_microbatch_size *size)
{
    const double times[][2] = {{one->backward_time, other->backward_time},
                               {one->backward_input_time, other->backward_input_time},
                               {one->backward_weight_time, other->backward_weight_time}};
    const double memory[][2] = {{one->mem_forward, other->mem_forward},
                                {one->mem_backward_input, other->mem_backward_input},
                                {one->mem_backward_weight, other->mem_backward_weight}};
    assert_string_equal(one->name, other->name);
    assert_true(one->count == other->count && one->place == other->place && one->flags == other->flags);
    assert_true(other->forward_time > 0 && one->forward_time == other->forward_time * size->time);
    for (size_t i = 0; i < 3; i++)
        assert_true(times[i][1] > 0 && times[i][0] == times[i][1] * size->backward);
    for (size_t i = 0; i < 3; i++)
        assert_true(memory[i][0] == memory[i][1] * size->memory);
    assert_true(one->output_bytes == other->output_bytes * size->bytes);
    assert_true(one->mem_static == other->mem_static && one->mem_weights == other->mem_weights);
    assert_int_equal(one->recompute_count, other->recompute_count);
    for (uint32_t k = 0; k < one->recompute_count; k++) {
        assert_string_equal(one->recomputes[k].name, other->recomputes[k].name);
        assert_true(one->recomputes[k].time == other->recomputes[k].time * size->backward);
        assert_true(one->recomputes[k].mem_forward == other->recomputes[k].mem_forward * size->memory);
    }
}

static void test_another_size(void **state)
{
    const ppsched_layers *layers = make_layers(entries, ENTRIES), *made = NULL;
    const struct ppi_microbatch_size size = {.time = 2, .backward = 8, .memory = 0.5, .bytes = 4};
    (void)state;
    expect_ok(ppi_layers_resize(&made, layers, &size, NULL), NULL);
    assert_int_equal(ppsched_layers_entries(made), ENTRIES);
    for (uint32_t e = 0; e < ENTRIES; e++) {
        const ppsched_layer one = entry_of(made, e), other = entry_of(layers, e);
        compare_entry(&one, &other, &size);
    }
    for (uint32_t i = 0; i < LAYERS; i++)
        assert_int_equal(made->is_cut[i], layers->is_cut[i]);
    ppsched_layers_release(made);
    ppsched_layers_release(layers);
}

/* Neighbours of that name alone, and nothing that was not apart before. */
static void test_joined(void **state)
{
    const ppsched_layers *layers = make_layers(entries, ENTRIES), *made = NULL;
    static const char *const names[] = {"embedding", "decoder", "decoder", "decoder", "mtp",
                                        "mtp",       "decoder", "mtp",     "mtp",     "head"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        static const char *const joined[] = {"mtp", "decoder", "mtps"};
        int changed = 0;
        expect_ok(ppi_layers_join(&made, layers, joined[k], NULL), NULL);
        for (uint32_t i = 0; i < LAYERS; i++) {
            int is_inside = i > 0 && strcmp(names[i], joined[k]) == 0 && strcmp(names[i - 1], joined[k]) == 0;
            assert_int_equal(made->is_cut[i], layers->is_cut[i] && !is_inside);
            changed += made->is_cut[i] != layers->is_cut[i];
        }
        assert_int_equal(changed, k == 0 ? 1 : k == 1 ? 2 : 0); /* the first two mtp are held together by themselves */
        ppsched_layers_release(made);
    }
    ppsched_layers_release(layers);
}

static void test_no_memory(void **state)
{
    const ppsched_layers *layers = NULL;
    const ppsched_layer *list[ENTRIES];
    struct failing_allocator allocator = {.until_failure = -1};
    const ppsched_environment environment = failing_environment(&allocator);
    int failed = 0;
    (void)state;
    for (size_t e = 0; e < ENTRIES; e++)
        list[e] = &entries[e];
    expect_ok(ppsched_layers_create(&layers, list, ENTRIES, &environment, NULL), NULL);
    int live = allocator.live;
    for (int calls = 0;; calls++) {
        const ppsched_layers *made = NULL;
        allocator.until_failure = calls;
        allocator.failed = 0;
        ppsched_status status = ppi_layers_join(&made, layers, "mtp", NULL);
        if (allocator.failed == 0) {
            expect_ok(status, NULL);
            ppsched_layers_release(made);
            break;
        }
        assert_int_equal(status, PPSCHED_ERROR_NO_MEMORY);
        assert_null(made);
        assert_int_equal(allocator.live, live);
        failed++;
    }
    assert_true(failed > 4);
    ppsched_layers_release(layers);
    assert_int_equal(allocator.live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_another_size), cmocka_unit_test(test_joined),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests_name("layers anew", tests, NULL, NULL);
}
