/* SPDX-License-Identifier: Apache-2.0 */
/* Random descriptions: what is written reads back to an equal one and is then written to the same text, and the text of layers
 * stands for the layers that were given. */
#include "support/problem.h"
#include "support/rounds.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS = 6, BLOCKS = 4, LAYERS = 200, TOWERS = 3, TEXT = 1 << 17 };

/* A description in the making, with space for its parts. */
struct drawn {
    ppsched_block blocks[KINDS + TOWERS][BLOCKS];
    const ppsched_block *lists[KINDS + TOWERS][BLOCKS];
    ppsched_layer_kind kinds[KINDS + TOWERS];
    const ppsched_layer_kind *kind_list[KINDS];
    ppsched_tower towers[TOWERS];
    const ppsched_tower *tower_list[TOWERS];
    uint32_t layers[LAYERS];
    ppsched_description_info info;
};

static const char *const names[KINDS + TOWERS] = {"own", "x3", "a\\b", "\xc3\xa9", "k\x01", "c'd", "vision", "t.1", "\\"};

/* `value`, or 0 in half the cases. */
static uint32_t perhaps(uint64_t *seed, uint32_t value)
{
    return random_below(seed, 2) ? value : 0;
}

static uint32_t size_of(uint64_t *seed)
{
    return 1 + random_below(seed, 40);
}

/* --- blocks --- */

static void draw_index(uint64_t *seed, ppsched_block *block)
{
    block->index_heads = size_of(seed);
    block->index_size = size_of(seed);
    block->index_tokens = size_of(seed);
}

static void draw_attention(uint64_t *seed, ppsched_block *block)
{
    static const uint32_t flags[] = {
        PPSCHED_BLOCK_FLAG_BIAS,         PPSCHED_BLOCK_FLAG_OUTPUT_BIAS,
        PPSCHED_BLOCK_FLAG_QK_NORM,      PPSCHED_BLOCK_FLAG_QK_NORM | PPSCHED_BLOCK_FLAG_FREE_NORMS,
        PPSCHED_BLOCK_FLAG_QK_NORM_ALL,  PPSCHED_BLOCK_FLAG_OUTPUT_GATE,
        PPSCHED_BLOCK_FLAG_HEAD_GATE,    PPSCHED_BLOCK_FLAG_SINKS,
        PPSCHED_BLOCK_FLAG_VALUE_IS_KEY, PPSCHED_BLOCK_FLAG_SHARED_KEYS};
    block->kind = PPSCHED_BLOCK_KIND_ATTENTION;
    block->heads = 8;
    block->key_value_heads = perhaps(seed, 1u << random_below(seed, 4));
    block->head_size = perhaps(seed, size_of(seed));
    block->value_size = perhaps(seed, size_of(seed));
    block->flags = perhaps(seed, flags[random_below(seed, sizeof flags / sizeof flags[0])]);
    if ((block->flags & PPSCHED_BLOCK_FLAG_SHARED_KEYS) != 0)
        return; /* those of the first layer, which has no window */
    block->window = perhaps(seed, size_of(seed));
    block->chunk = perhaps(seed, size_of(seed));
    if (random_below(seed, 4) == 0)
        draw_index(seed, block);
}

static void draw_latent(uint64_t *seed, ppsched_block *block)
{
    static const uint32_t flags[] = {PPSCHED_BLOCK_FLAG_BIAS, PPSCHED_BLOCK_FLAG_NO_LATENT_NORMS,
                                     PPSCHED_BLOCK_FLAG_SHARED_INDEX};
    block->kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION;
    block->heads = 4;
    block->key_value_rank = size_of(seed);
    block->query_rank = size_of(seed);
    block->head_size = perhaps(seed, size_of(seed));
    block->value_size = random_below(seed, 3) ? size_of(seed) : block->head_size > 0 ? block->head_size : 16;
    block->rope_size = perhaps(seed, size_of(seed));
    block->flags = perhaps(seed, flags[random_below(seed, sizeof flags / sizeof flags[0])]);
    if ((block->flags & PPSCHED_BLOCK_FLAG_SHARED_INDEX) != 0 || random_below(seed, 2))
        draw_index(seed, block);
    else
        block->query_rank = perhaps(seed, block->query_rank);
}

static void draw_delta(uint64_t *seed, ppsched_block *block)
{
    block->kind = PPSCHED_BLOCK_KIND_DELTA;
    block->heads = 8;
    block->key_value_heads = perhaps(seed, 4);
    block->head_size = perhaps(seed, size_of(seed));
    block->value_size = perhaps(seed, size_of(seed));
    block->convolution = perhaps(seed, 4);
    block->decay_rank = perhaps(seed, size_of(seed));
    block->gate_rank = perhaps(seed, size_of(seed));
}

static void draw_mamba(uint64_t *seed, ppsched_block *block)
{
    block->kind = PPSCHED_BLOCK_KIND_MAMBA;
    block->state_size = size_of(seed);
    block->convolution = perhaps(seed, 4);
    block->flags = perhaps(seed, PPSCHED_BLOCK_FLAG_CONVOLUTION_BIAS);
    if (random_below(seed, 2)) {
        block->flags |= PPSCHED_BLOCK_FLAG_MAMBA_1;
        block->width = size_of(seed);
        block->time_step_rank = size_of(seed);
        return;
    }
    block->heads = 8;
    block->head_size = perhaps(seed, size_of(seed));
    block->groups = perhaps(seed, 1u << random_below(seed, 4));
    block->flags |= perhaps(seed, PPSCHED_BLOCK_FLAG_NO_GATE_NORM);
}

static void draw_compressed(uint64_t *seed, ppsched_block *block)
{
    block->kind = PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION;
    block->heads = 8;
    block->head_size = perhaps(seed, size_of(seed));
    block->query_rank = size_of(seed);
    block->output_groups = 1u << random_below(seed, 4);
    block->output_rank = size_of(seed);
    block->window = size_of(seed);
    block->ratio = perhaps(seed, size_of(seed));
    if (block->ratio > 0 && random_below(seed, 2))
        draw_index(seed, block);
}

static void draw_experts(uint64_t *seed, ppsched_block *block)
{
    block->kind = PPSCHED_BLOCK_KIND_EXPERTS;
    block->experts = size_of(seed);
    block->idle_experts = perhaps(seed, size_of(seed));
    block->experts_per_token = 1 + random_below(seed, block->experts + block->idle_experts);
    block->width = size_of(seed);
    block->shared_width = perhaps(seed, size_of(seed));
    block->latent_size = perhaps(seed, size_of(seed));
    block->flags = perhaps(seed, PPSCHED_BLOCK_FLAG_GATED) | perhaps(seed, PPSCHED_BLOCK_FLAG_ROUTER_BIAS) |
                   perhaps(seed, PPSCHED_BLOCK_FLAG_SHARED_GATE) | perhaps(seed, PPSCHED_BLOCK_FLAG_LATENT_NORM);
}

static void draw_small(uint64_t *seed, ppsched_block *block)
{
    static const int32_t kinds[] = {PPSCHED_BLOCK_KIND_CONVOLUTION, PPSCHED_BLOCK_KIND_MLP, PPSCHED_BLOCK_KIND_LINEAR};
    block->kind = kinds[random_below(seed, 3)];
    if (block->kind == PPSCHED_BLOCK_KIND_CONVOLUTION)
        block->convolution = size_of(seed);
    if (block->kind == PPSCHED_BLOCK_KIND_MLP) {
        block->width = size_of(seed);
        block->flags = perhaps(seed, PPSCHED_BLOCK_FLAG_GATED) | perhaps(seed, PPSCHED_BLOCK_FLAG_BIAS);
    }
}

/* `index`: of the block in its kind. Those of towers have no experts. */
static void draw_block(uint64_t *seed, ppsched_block *block, uint32_t index, bool is_tower, bool may_share)
{
    static void (*const draws[])(uint64_t *, ppsched_block *) = {draw_attention, draw_latent,     draw_delta,  draw_mamba,
                                                                 draw_small,     draw_compressed, draw_experts};
    *block = (ppsched_block){.size = sizeof *block};
    draws[random_below(seed, is_tower ? 6 : 7)](seed, block);
    if (!may_share)
        block->flags &= ~(uint32_t)(PPSCHED_BLOCK_FLAG_SHARED_KEYS | PPSCHED_BLOCK_FLAG_SHARED_INDEX);
    block->norms = perhaps(seed, 1 + random_below(seed, 4));
    block->extra_parameters = random_below(seed, 3) ? 0 : random_next(seed) >> (12 + random_below(seed, 40));
    block->flags |= index > 0 ? perhaps(seed, PPSCHED_BLOCK_FLAG_PARALLEL) : 0;
    block->flags |= perhaps(seed, PPSCHED_BLOCK_FLAG_NO_NORM);
}

/* --- the rest --- */

static void draw_kind(uint64_t *seed, struct drawn *drawn, uint32_t index)
{
    ppsched_layer_kind *kind = &drawn->kinds[index];
    uint32_t first = index == 0 ? 2 : 0; /* the first kind has what others share */
    *kind = (ppsched_layer_kind){.size = sizeof *kind, .name = names[index], .blocks = drawn->lists[index]};
    kind->block_count = first + random_below(seed, BLOCKS + 1 - first);
    for (uint32_t i = 0; i < BLOCKS; i++) {
        drawn->lists[index][i] = &drawn->blocks[index][i];
        draw_block(seed, &drawn->blocks[index][i], i, index >= KINDS, index > 0 && index < KINDS);
    }
    if (index > 0)
        return;
    drawn->blocks[0][0] = (ppsched_block){.size = sizeof(ppsched_block), .kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 8};
    ppsched_block *latent = &drawn->blocks[0][1];
    *latent = (ppsched_block){.size = sizeof *latent};
    draw_latent(seed, latent);
    latent->flags &= ~(uint32_t)PPSCHED_BLOCK_FLAG_SHARED_INDEX;
    latent->query_rank = size_of(seed);
    draw_index(seed, latent);
}

/* Runs, repeated groups and single layers in turn; the first is of the first kind. */
static void draw_layers(uint64_t *seed, struct drawn *drawn, uint32_t kinds)
{
    uint32_t count = 1, most = 1 + random_below(seed, LAYERS - 1);
    drawn->layers[0] = 0;
    while (count < most) {
        uint32_t group[5], period = 1 + random_below(seed, 5), repeats = 1 + random_below(seed, 6);
        for (uint32_t i = 0; i < period; i++)
            group[i] = random_below(seed, kinds);
        for (uint32_t i = 0; i < period * repeats && count < most; i++)
            drawn->layers[count++] = group[i % period];
    }
    drawn->info.layer_count = count;
    drawn->info.layers = drawn->layers;
}

static void draw_towers(uint64_t *seed, struct drawn *drawn)
{
    uint32_t count = random_below(seed, TOWERS + 1);
    for (uint32_t i = 0; i < count; i++) {
        draw_kind(seed, drawn, KINDS + i);
        drawn->towers[i] = (ppsched_tower){.size = sizeof(ppsched_tower),
                                           .is_frozen = random_below(seed, 2),
                                           .name = names[KINDS + i],
                                           .hidden_size = 8 * size_of(seed),
                                           .layers = size_of(seed),
                                           .tokens = perhaps(seed, size_of(seed)),
                                           .has_norm_bias = random_below(seed, 2),
                                           .kind = &drawn->kinds[KINDS + i],
                                           .extra_parameters = perhaps(seed, size_of(seed)),
                                           .deepstack_layers = perhaps(seed, size_of(seed)),
                                           .patches_per_token = perhaps(seed, size_of(seed))};
        drawn->kinds[KINDS + i].name = random_below(seed, 2) ? names[KINDS + i] : "another";
        drawn->tower_list[i] = &drawn->towers[i];
    }
    drawn->info.tower_count = count;
    drawn->info.towers = drawn->tower_list;
}

static void draw(uint64_t *seed, struct drawn *drawn)
{
    static const char *const families[] = {NULL, "llama", "my \"own\" \\ \xe2\x82\xac\n"};
    uint32_t kinds = 1 + random_below(seed, KINDS);
    drawn->info = (ppsched_description_info){.size = sizeof drawn->info,
                                             .flags = random_below(seed, 32),
                                             .hidden_size = 8 * size_of(seed),
                                             .vocabulary_size = size_of(seed),
                                             .positions = perhaps(seed, size_of(seed)),
                                             .kind_count = kinds,
                                             .kinds = drawn->kind_list,
                                             .mtp_layers = perhaps(seed, random_below(seed, 4)),
                                             .mtp_kind = random_below(seed, kinds),
                                             .streams = random_below(seed, 4),
                                             .stream_interval = perhaps(seed, size_of(seed)),
                                             .layer_input = perhaps(seed, size_of(seed)),
                                             .extra_parameters = perhaps(seed, size_of(seed)),
                                             .sequence_length = perhaps(seed, size_of(seed)),
                                             .family = families[random_below(seed, 3)]};
    for (uint32_t i = 0; i < kinds; i++) {
        draw_kind(seed, drawn, i);
        drawn->kind_list[i] = &drawn->kinds[i];
    }
    draw_layers(seed, drawn, kinds);
    draw_towers(seed, drawn);
}

/* --- writing and reading --- */

struct text {
    char data[TEXT];
    size_t size;
};

static int32_t append(void *user, const char *data, size_t size)
{
    struct text *text = user;
    assert_true(text->size + size < TEXT);
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
    return 0;
}

static void write_text(struct text *text, const ppsched_description *description)
{
    ppsched_error error;
    text->size = 0;
    expect_ok(ppsched_description_write(description, append, text, &error), &error);
}

static void expect_same_kind(const ppsched_layer_kind *a, const ppsched_layer_kind *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->block_count, b->block_count);
    for (uint32_t i = 0; i < a->block_count; i++)
        assert_memory_equal(a->blocks[i], b->blocks[i], sizeof *a->blocks[i]);
}

static void expect_same_tower(const ppsched_tower *a, const ppsched_tower *b)
{
    ppsched_tower one = *a, other = *b;
    assert_string_equal(a->name, b->name);
    expect_same_kind(a->kind, b->kind);
    one.name = other.name = NULL;
    one.kind = other.kind = NULL;
    assert_memory_equal(&one, &other, sizeof one);
}

/* All of it, and numbers as bytes once what is pointed to is out. */
static void expect_same(const ppsched_description *one, const ppsched_description *other)
{
    ppsched_description_info a = {.size = sizeof a}, b = {.size = sizeof b};
    expect_ok(ppsched_description_get_info(&a, one, NULL), NULL);
    expect_ok(ppsched_description_get_info(&b, other, NULL), NULL);
    assert_int_equal(a.kind_count, b.kind_count);
    assert_int_equal(a.tower_count, b.tower_count);
    assert_int_equal(a.layer_count, b.layer_count);
    assert_memory_equal(a.layers, b.layers, a.layer_count * sizeof *a.layers);
    for (uint32_t i = 0; i < a.kind_count; i++)
        expect_same_kind(a.kinds[i], b.kinds[i]);
    for (uint32_t i = 0; i < a.tower_count; i++)
        expect_same_tower(a.towers[i], b.towers[i]);
    assert_true((a.family == NULL) == (b.family == NULL));
    if (a.family != NULL)
        assert_string_equal(a.family, b.family);
    a.layers = b.layers = NULL;
    a.kinds = b.kinds = NULL;
    a.towers = b.towers = NULL;
    a.family = b.family = NULL;
    assert_memory_equal(&a, &b, sizeof a);
}

static void test_read_back(void **state)
{
    struct drawn *drawn = calloc(1, sizeof *drawn);
    struct text *text = calloc(1, sizeof *text), *again = calloc(1, sizeof *again);
    uint64_t seed = 20;
    (void)state;
    assert_true(drawn != NULL && text != NULL && again != NULL);
    for (int round = 0; round < ROUNDS(6000); round++) {
        const ppsched_description *one = NULL, *other = NULL;
        ppsched_error error;
        draw(&seed, drawn);
        expect_ok(ppsched_description_create(&one, &drawn->info, NULL, &error), &error);
        write_text(text, one);
        expect_ok(ppsched_description_read(&other, text->data, text->size, NULL, &error), &error);
        expect_same(one, other);
        write_text(again, other);
        assert_string_equal(text->data, again->data);
        ppsched_description_release(one);
        ppsched_description_release(other);
    }
    free(drawn);
    free(text);
    free(again);
}

/* --- the text of layers --- */

/* Appends to `out` what the text from `*at` to a closing bracket or quote stands for: names of one letter. */
static size_t expand(const char **at, char *out, size_t size)
{
    while (**at != ']' && **at != '"') {
        if (**at == ' ') {
            ++*at;
            continue;
        }
        size_t first = size;
        unsigned long count = 1;
        if (**at >= '0' && **at <= '9') {
            char *end;
            count = strtoul(*at, &end, 10);
            assert_int_equal(*end, 'x');
            *at = end + 1;
        }
        if (**at == '[') {
            ++*at;
            size = expand(at, out, size);
            assert_int_equal(**at, ']');
        } else {
            out[size++] = **at;
        }
        ++*at;
        for (size_t item = size - first; count > 1; count--, size += item)
            memcpy(out + size, out + first, item);
    }
    return size;
}

static uint32_t runs_of(const uint32_t *layers, uint32_t count)
{
    uint32_t runs = 1;
    for (uint32_t i = 1; i < count; i++)
        runs += layers[i] != layers[i - 1];
    return runs;
}

/* Names of one letter in a text up to a quote. */
static uint32_t names_in(const char *text)
{
    uint32_t count = 0;
    for (; *text != '"'; text++)
        count += *text >= 'a' && *text <= 'f';
    return count;
}

/* Groups never make it longer than runs alone. */
static void test_layers(void **state)
{
    static const char *const letters[KINDS] = {"a", "b", "c", "d", "e", "f"};
    struct drawn *drawn = calloc(1, sizeof *drawn);
    struct text *text = calloc(1, sizeof *text);
    uint64_t seed = 21;
    (void)state;
    assert_true(drawn != NULL && text != NULL);
    for (int round = 0; round < ROUNDS(6000); round++) {
        static char found[2 * LAYERS];
        const ppsched_description *description = NULL;
        ppsched_error error;
        draw(&seed, drawn);
        for (uint32_t i = 0; i < drawn->info.kind_count; i++)
            drawn->kinds[i].name = letters[i];
        drawn->info.tower_count = 0;
        expect_ok(ppsched_description_create(&description, &drawn->info, NULL, &error), &error);
        write_text(text, description);
        const char *at = strstr(text->data, "\n \"layers\": \"");
        assert_non_null(at);
        at += strlen("\n \"layers\": \"");
        assert_true(names_in(at) <= runs_of(drawn->layers, drawn->info.layer_count));
        assert_int_equal(expand(&at, found, 0), drawn->info.layer_count);
        for (uint32_t i = 0; i < drawn->info.layer_count; i++)
            assert_int_equal(found[i], 'a' + (int)drawn->layers[i]);
        ppsched_description_release(description);
    }
    free(drawn);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read_back),
        cmocka_unit_test(test_layers),
    };
    return cmocka_run_group_tests_name("description_sweep", tests, NULL, NULL);
}
