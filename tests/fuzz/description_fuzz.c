/* SPDX-License-Identifier: Apache-2.0 */
/* Texts as descriptions of models: refused in one line, or written and read back, with costs that are sums of their parts.
 * With a fuzzer: see docs/testing.md; without: the corpus, by main.c. */
#include "fuzz/harness.h"

#include <math.h>
#include <string.h>

struct text {
    char *data;
    size_t size, capacity;
};

static int32_t append(void *user, const char *data, size_t size)
{
    struct text *text = user;
    if (text->size + size > text->capacity) {
        text->capacity = 2 * (text->size + size);
        text->data = realloc(text->data, text->capacity);
        EXPECT(text->data != NULL);
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    return 0;
}

static void expect_same_blocks(const ppsched_layer_kind *a, const ppsched_layer_kind *b)
{
    EXPECT(a->block_count == b->block_count && strcmp(a->name, b->name) == 0);
    for (uint32_t i = 0; i < a->block_count; i++)
        EXPECT(memcmp(a->blocks[i], b->blocks[i], sizeof *a->blocks[i]) == 0);
}

static void expect_same(const ppsched_description *one, const ppsched_description *other)
{
    ppsched_description_info a = {.size = sizeof a}, b = {.size = sizeof b};
    EXPECT(ppsched_description_get_info(&a, one, NULL) == PPSCHED_OK);
    EXPECT(ppsched_description_get_info(&b, other, NULL) == PPSCHED_OK);
    EXPECT(a.layer_count == b.layer_count && a.kind_count == b.kind_count && a.tower_count == b.tower_count);
    EXPECT(a.flags == b.flags && a.hidden_size == b.hidden_size && a.vocabulary_size == b.vocabulary_size);
    EXPECT(a.streams == b.streams && a.stream_interval == b.stream_interval && a.layer_input == b.layer_input &&
           a.extra_parameters == b.extra_parameters);
    EXPECT(a.mtp_layers == b.mtp_layers && (a.mtp_layers == 0 || a.mtp_kind == b.mtp_kind) && a.positions == b.positions);
    EXPECT(memcmp(a.layers, b.layers, a.layer_count * sizeof *a.layers) == 0);
    for (uint32_t i = 0; i < a.kind_count; i++)
        expect_same_blocks(a.kinds[i], b.kinds[i]);
    for (uint32_t i = 0; i < a.tower_count; i++) {
        EXPECT(a.towers[i]->tokens == b.towers[i]->tokens && a.towers[i]->layers == b.towers[i]->layers);
        expect_same_blocks(a.towers[i]->kind, b.towers[i]->kind);
    }
}

/* What was read is written, and read back to the same. */
static void expect_written(const ppsched_description *description)
{
    const ppsched_description *again = NULL;
    struct text text = {0};
    EXPECT(ppsched_description_write(description, append, &text, NULL) == PPSCHED_OK);
    EXPECT(ppsched_description_read(&again, text.data, text.size, NULL, NULL) == PPSCHED_OK);
    expect_same(description, again);
    ppsched_description_release(again);
    free(text.data);
}

static void expect_costs(const ppsched_model *model)
{
    uint64_t total = 0, embedding = 0;
    for (uint32_t i = 0; i < ppsched_model_row_count(model); i++) {
        ppsched_model_row row = {.size = sizeof row};
        ppsched_layer_memory memory = {.size = sizeof memory};
        ppsched_pass_cost cost = {.size = sizeof cost};
        EXPECT(ppsched_model_get_row(&row, model, i, NULL) == PPSCHED_OK && row.active <= row.parameters);
        EXPECT(ppsched_model_get_memory(&memory, model, i, NULL) == PPSCHED_OK && isfinite(memory.activations));
        EXPECT(ppsched_model_get_pass_cost(&cost, model, i, PPSCHED_MODEL_PASS_INPUT, NULL) == PPSCHED_OK);
        EXPECT(isfinite(cost.time) && cost.matrix_operations >= 0 && memory.activations_until_weight <= memory.activations);
        if (row.role != PPSCHED_MODEL_ROLE_TOWER && row.role != PPSCHED_MODEL_ROLE_MTP)
            total += row.layers * row.parameters;
        embedding += row.role == PPSCHED_MODEL_ROLE_EMBEDDING;
    }
    ppsched_parameters count = {.size = sizeof count};
    EXPECT(embedding == 1 && ppsched_model_get_parameters(&count, model, NULL) == PPSCHED_OK && count.total == total);
}

static void expect_model(const ppsched_description *description)
{
    const ppsched_training training = {.size = sizeof training, .sequence_length = 96, .micro_batch_size = 2};
    const ppsched_layers *layers = NULL;
    ppsched_model *model = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_model_create(&model, description, &training, ppsched_accelerator_at(0), NULL, &error);
    if (!accepted(status, &error))
        return;
    expect_costs(model);
    EXPECT(ppsched_layers_from_model(&layers, model, NULL, NULL) == PPSCHED_OK);
    ppsched_layers_release(layers);
    ppsched_model_destroy(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct meter meter = {0};
    ppsched_environment environment = metered_environment(&meter);
    const ppsched_description *description = NULL, *guessed = NULL;
    ppsched_error error = fresh_error();
    ppsched_status status = ppsched_description_read(&description, (const char *)data, size, &environment, &error);
    EXPECT((description != NULL) == (status == PPSCHED_OK));
    EXPECT(meter.peak <= 64u * 1000 * 1000);
    if (accepted(status, &error)) {
        expect_written(description);
        expect_model(description);
    }
    error = fresh_error();
    status = ppsched_description_guess(&guessed, (const char *)data, size, &environment, &error);
    if (accepted(status, &error))
        expect_written(guessed);
    ppsched_description_release(description);
    ppsched_description_release(guessed);
    EXPECT(meter.used == 0);
    return 0;
}
