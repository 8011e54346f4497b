/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptions: defaults, copies, what is refused and with which words, names of drafted kinds. */
#include "support/problem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "description/description.h"

/* A description of one kind, for changes. */
struct parts {
    ppsched_block blocks[3];
    const ppsched_block *list[3];
    ppsched_layer_kind kinds[2];
    const ppsched_layer_kind *kind_list[2];
    uint32_t layers[4];
    ppsched_description_info info;
};

static void start(struct parts *parts, const ppsched_block *block)
{
    *parts = (struct parts){.layers = {0}};
    for (int i = 0; i < 3; i++) {
        parts->blocks[i] = (ppsched_block){.kind = PPSCHED_BLOCK_KIND_LINEAR};
        parts->blocks[i].size = sizeof parts->blocks[i];
        parts->list[i] = &parts->blocks[i];
    }
    if (block != NULL)
        parts->blocks[0] = *block;
    parts->blocks[0].size = sizeof parts->blocks[0];
    for (int i = 0; i < 2; i++) {
        parts->kinds[i] = (ppsched_layer_kind){
            .size = sizeof parts->kinds[i], .block_count = 1, .name = i == 0 ? "a" : "b", .blocks = parts->list};
        parts->kind_list[i] = &parts->kinds[i];
    }
    parts->info = (ppsched_description_info){.size = sizeof parts->info,
                                             .hidden_size = 64,
                                             .vocabulary_size = 100,
                                             .layer_count = 4,
                                             .layers = parts->layers,
                                             .kinds = parts->kind_list,
                                             .kind_count = 1};
}

static const ppsched_description *made_of(const struct parts *parts)
{
    const ppsched_description *description = NULL;
    ppsched_error error;
    expect_ok(ppsched_description_create(&description, &parts->info, NULL, &error), &error);
    return description;
}

/* The whole message, or a part of it. */
static void expect_refused(const struct parts *parts, ppsched_status status, const char *part)
{
    const ppsched_description *description = NULL;
    ppsched_error error = {.message = ""};
    assert_int_equal(ppsched_description_create(&description, &parts->info, NULL, &error), status);
    assert_null(description);
    if (strstr(error.message, part) == NULL)
        fail_msg("%s, not %s", error.message, part);
}

static ppsched_description_info info_of(const ppsched_description *description)
{
    ppsched_description_info info = {.size = sizeof info};
    expect_ok(ppsched_description_get_info(&info, description, NULL), NULL);
    return info;
}

/* --- what is made --- */

static ppsched_block completed(const ppsched_block *block)
{
    struct parts parts;
    start(&parts, block);
    const ppsched_description *description = made_of(&parts);
    const ppsched_block found = *info_of(description).kinds[0]->blocks[0];
    ppsched_description_release(description);
    return found;
}

static void test_defaults(void **state)
{
    (void)state;
    ppsched_block block = completed(&(ppsched_block){.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 4});
    assert_true(block.key_value_heads == 4 && block.head_size == 16 && block.value_size == 16 && block.norms == 1);
    block = completed(
        &(ppsched_block){.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 5, .head_size = 12, .key_value_heads = 1});
    assert_true(block.key_value_heads == 1 && block.head_size == 12 && block.value_size == 12);
    block = completed(
        &(ppsched_block){.kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION, .heads = 4, .key_value_rank = 8, .value_size = 6});
    assert_true(block.key_value_heads == 0 && block.head_size == 16 && block.value_size == 6 && block.query_rank == 0);
    block = completed(&(ppsched_block){.kind = PPSCHED_BLOCK_KIND_DELTA, .heads = 8, .head_size = 4, .norms = 2});
    assert_true(block.key_value_heads == 8 && block.value_size == 4 && block.norms == 2);
    block = completed(&(ppsched_block){.kind = PPSCHED_BLOCK_KIND_MAMBA, .heads = 4, .head_size = 8, .state_size = 2});
    assert_true(block.groups == 1 && block.width == 32);
    block = completed(&(ppsched_block){.kind = PPSCHED_BLOCK_KIND_LINEAR, .flags = PPSCHED_BLOCK_FLAG_NO_NORM});
    assert_true(block.norms == 0 && block.heads == 0 && block.value_size == 0);
}

/* Nothing of the inputs is used after the call; a reference more keeps it alive. */
static void test_copies(void **state)
{
    struct parts parts;
    char name[] = "own", family[] = "mine";
    (void)state;
    start(&parts, &(ppsched_block){.kind = PPSCHED_BLOCK_KIND_MLP, .width = 96});
    parts.kinds[0].name = name;
    parts.info.family = family;
    const ppsched_description *description = made_of(&parts);
    memset(&parts, 0xff, sizeof parts);
    memset(name, 'x', sizeof name - 1);
    memset(family, 'x', sizeof family - 1);
    assert_ptr_equal(ppsched_description_retain(description), description);
    ppsched_description_release(description);
    const ppsched_description_info info = info_of(description);
    assert_string_equal(info.kinds[0]->name, "own");
    assert_string_equal(info.family, "mine");
    assert_true(info.layer_count == 4 && info.layers[3] == 0 && info.streams == 1 && info.kinds[0]->blocks[0]->width == 96);
    assert_int_equal(ppsched_description_warning_count(description), 0);
    assert_null(ppsched_description_warning_at(description, 0));
    ppsched_description_release(description);
    assert_null(ppsched_description_retain(NULL));
    ppsched_description_release(NULL);
    assert_int_equal(ppsched_description_warning_count(NULL), 0);
}

static int32_t stop(void *user, const char *data, size_t size)
{
    (void)user, (void)data, (void)size;
    return 1;
}

static void test_warnings_and_families(void **state)
{
    const char text[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"num_attention_heads\": 4, "
        "\"intermediate_size\": 96, \"vocab_size\": 100, \"brand_new_part\": 3}";
    const ppsched_description *description = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_description_read(&description, text, sizeof text - 1, NULL, &error), &error);
    assert_int_equal(ppsched_description_warning_count(description), 1);
    assert_non_null(strstr(ppsched_description_warning_at(description, 0), "brand_new_part"));
    assert_null(ppsched_description_warning_at(description, 1));
    assert_string_equal(info_of(description).family, "llama");
    assert_int_equal(ppsched_description_write(description, stop, NULL, &error), PPSCHED_ERROR_WRITER);
    ppsched_description_release(description);
    uint32_t count = ppsched_model_family_count();
    assert_true(count > 60);
    for (uint32_t i = 1; i < count; i++)
        assert_true(strcmp(ppsched_model_family_at(i - 1), ppsched_model_family_at(i)) < 0);
    assert_null(ppsched_model_family_at(count));
}

/* --- what is refused --- */

static void test_wrong_blocks(void **state)
{
    static const struct {
        ppsched_block block;
        const char *part;
    } cases[] = {
        {{.kind = PPSCHED_BLOCK_KIND_ATTENTION}, "kind a, block 0 (attention): heads is 0; it must be 1 to 1048576"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 1048577},
         "kind a, block 0 (mlp): width is 1048577; it must be 1 to 1048576"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8, .window = 3}, "block 0 (mlp): it has no window, which is 3"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8, .flags = PPSCHED_BLOCK_FLAG_MAMBA_1}, "it has no mamba_1"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8, .flags = 1u << 30}, "flags is 1073741824"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8, .norms = 17}, "norms is 17; it must be 0 to 16"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8, .reserved = 1}, "reserved is 1; it must be 0 to 0"},
        {{.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8, .extra_parameters = UINT64_C(1) << 53}, "less than 2^53"},
        {{.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 5}, "5 heads do not divide hidden_size 64"},
        {{.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 4, .key_value_heads = 3}, "key_value_heads 3 does not divide 4 heads"},
        {{.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 4, .flags = PPSCHED_BLOCK_FLAG_FREE_NORMS},
         "free_norms needs qk_norm"},
        {{.kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION, .heads = 4, .key_value_rank = 8}, "value_size is 0; it must be 1 to"},
        {{.kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION, .heads = 4, .value_size = 8}, "key_value_rank is 0"},
        {{.kind = PPSCHED_BLOCK_KIND_LATENT_ATTENTION,
          .heads = 4,
          .key_value_rank = 8,
          .value_size = 8,
          .index_heads = 1,
          .index_size = 2,
          .index_tokens = 3},
         "give query_rank"},
        {{.kind = PPSCHED_BLOCK_KIND_MAMBA, .heads = 6, .head_size = 8, .state_size = 2, .groups = 4},
         "groups must divide heads"},
        {{.kind = PPSCHED_BLOCK_KIND_MAMBA, .heads = 4, .head_size = 8, .state_size = 2, .width = 31}, "heads times head_size"},
        {{.kind = PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION,
          .heads = 4,
          .head_size = 5,
          .query_rank = 8,
          .output_groups = 3,
          .output_rank = 8,
          .window = 8},
         "output_groups must divide"},
        {{.kind = PPSCHED_BLOCK_KIND_EXPERTS, .experts = 4, .experts_per_token = 7, .width = 8, .idle_experts = 2},
         "experts_per_token is 7; it must be 1 to 6"},
    };
    struct parts parts;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(&parts, &cases[i].block);
        expect_refused(&parts, PPSCHED_ERROR_RANGE, cases[i].part);
    }
    start(&parts, &(ppsched_block){.kind = 9});
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "kind of block");
}

/* The same numbers where they are right. */
static void test_right_at_the_bounds(void **state)
{
    static const ppsched_block blocks[] = {
        {.kind = PPSCHED_BLOCK_KIND_MLP, .width = 1048576, .norms = 16, .extra_parameters = (UINT64_C(1) << 53) - 1},
        {.kind = PPSCHED_BLOCK_KIND_MAMBA, .heads = 6, .head_size = 8, .state_size = 2, .groups = 3, .width = 48},
        {.kind = PPSCHED_BLOCK_KIND_EXPERTS, .experts = 4, .experts_per_token = 6, .width = 8, .idle_experts = 2},
        {.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 5, .head_size = 1, .key_value_heads = 5}};
    (void)state;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        assert_int_equal(completed(&blocks[i]).kind, blocks[i].kind);
}

static void test_wrong_names(void **state)
{
    static const char *const wrong[] = {"2a",  "a b",       "a\t",  "a[",  "a]",   "a,b",
                                        "a\"", "embedding", "head", "mtp", "\xff", "a\xc3"};
    static const char *const right[] = {"a2", "\xc3\xa9", "x", "a\\b", "heads"};
    struct parts parts;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        start(&parts, NULL);
        parts.kinds[0].name = wrong[i];
        expect_refused(&parts, PPSCHED_ERROR_RANGE, "");
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        start(&parts, NULL);
        parts.kinds[0].name = right[i];
        ppsched_description_release(made_of(&parts));
    }
    start(&parts, NULL);
    parts.kinds[0].name = "";
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "has no name");
    parts.kinds[0].name = NULL;
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "has no name");
    start(&parts, NULL);
    parts.info.kind_count = 2;
    parts.kinds[1].name = "a";
    expect_refused(&parts, PPSCHED_ERROR_RANGE, "two kinds are called a");
    start(&parts, NULL);
    parts.info.family = "\x80";
    expect_refused(&parts, PPSCHED_ERROR_RANGE, "family is not UTF-8");
}

static void test_wrong_models(void **state)
{
    struct parts parts;
    (void)state;
    const struct {
        uint32_t *field;
        uint32_t value;
        const char *part;
    } cases[] = {{&parts.info.hidden_size, 0, "hidden_size is 0; it must be 1 to 1048576"},
                 {&parts.info.vocabulary_size, 0, "vocabulary_size is 0"},
                 {&parts.info.layer_count, 0, "the number of layers is 0; it must be 1 to 65471"},
                 {&parts.info.layer_count, UINT32_MAX, "the number of layers is 4294967295; it must be 1 to 65471"},
                 {&parts.info.kind_count, 0, "the number of kinds is 0; it must be 1 to 256"},
                 {&parts.info.kind_count, 257, "kind_count is 257"},
                 {&parts.info.mtp_kind, 1, "mtp_kind is 1; it must be 0 to 0"},
                 {&parts.info.mtp_layers, 33, "mtp_layers is 33; it must be 0 to 32"},
                 {&parts.info.streams, 65, "streams is 65; it must be 0 to 64"},
                 {&parts.info.flags, 32, "flags is 32; it must be 0 to 31"},
                 {&parts.info.layer_input, 1048577, "layer_input is 1048577; it must be 0 to 1048576"},
                 {&parts.layers[2], 1, "layer 2 is of kind 1; the model has 1 kind"},
                 {&parts.kinds[0].block_count, 17, "block_count is 17; it must be 0 to 16"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        start(&parts, NULL);
        *cases[i].field = cases[i].value;
        expect_refused(&parts, PPSCHED_ERROR_RANGE, cases[i].part);
    }
    start(&parts, NULL);
    parts.info.extra_parameters = UINT64_C(1) << 53;
    expect_refused(&parts, PPSCHED_ERROR_RANGE, "extra_parameters must be less than 2^53");
}

static void test_missing_lists(void **state)
{
    struct parts parts;
    (void)state;
    start(&parts, NULL);
    parts.info.layers = NULL;
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "layers, kinds or towers is NULL");
    start(&parts, NULL);
    parts.info.tower_count = 1;
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "layers, kinds or towers is NULL");
    start(&parts, NULL);
    parts.kind_list[0] = NULL;
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "kinds, entry 0, is NULL");
    start(&parts, NULL);
    parts.list[0] = NULL;
    expect_refused(&parts, PPSCHED_ERROR_ARGUMENT, "blocks, entry 0, is NULL");
    start(&parts, NULL);
    parts.blocks[0].size = 3;
    expect_refused(&parts, PPSCHED_ERROR_STRUCT_SIZE, "ppsched_block");
}

/* Groups without layers are nothing, however often; counts are checked before anything is made. */
static void test_texts_of_layers(void **state)
{
    static const struct {
        const char *layers, *part;
    } cases[] = {{"a 65471x[] 3x[2x[] 1x[[]]]", NULL},
                 {"65471xa", NULL},
                 {"65472xa", "the count before it must be 1 to 65471"},
                 {"65471x[] 65471xa a", "more than 65471 layers"},
                 {"8x[8x[8x[8x[8x[8x[8x[a]]]]]]]", "more than 65471 layers"},
                 {"[]", "the number of layers is 0"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        const ppsched_description *description = NULL;
        ppsched_error error = {.message = ""};
        int size = snprintf(text, sizeof text,
                            "{\"hidden_size\": 8, \"vocabulary_size\": 9, \"kinds\": {\"a\": []}, \"layers\": \"%s\"}",
                            cases[i].layers);
        ppsched_status status = ppsched_description_read(&description, text, (size_t)size, NULL, &error);
        assert_int_equal(status, cases[i].part == NULL ? PPSCHED_OK : PPSCHED_ERROR_RANGE);
        if (cases[i].part != NULL && strstr(error.message, cases[i].part) == NULL)
            fail_msg("%s: %s", cases[i].layers, error.message);
        ppsched_description_release(description);
    }
}

/* --- drafts --- */

static struct ppi_host default_host(void)
{
    struct ppi_host host;
    expect_ok(ppi_host_take(&host, NULL, NULL), NULL);
    return host;
}

static void test_names_of_drafted_kinds(void **state)
{
    const ppsched_block attention = {.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 4},
                        window = {.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 4, .window = 8},
                        chunk = {.kind = PPSCHED_BLOCK_KIND_ATTENTION, .heads = 4, .chunk = 8},
                        delta = {.kind = PPSCHED_BLOCK_KIND_DELTA, .heads = 4},
                        mamba = {.kind = PPSCHED_BLOCK_KIND_MAMBA, .heads = 4, .head_size = 8, .state_size = 2},
                        compressed = {.kind = PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION,
                                      .heads = 4,
                                      .query_rank = 8,
                                      .output_groups = 2,
                                      .output_rank = 8,
                                      .window = 8,
                                      .ratio = 128},
                        mlp = {.kind = PPSCHED_BLOCK_KIND_MLP, .width = 8}, wide = {.kind = PPSCHED_BLOCK_KIND_MLP, .width = 9},
                        experts = {.kind = PPSCHED_BLOCK_KIND_EXPERTS, .experts = 4, .experts_per_token = 2, .width = 8};
    const struct {
        ppsched_block blocks[2];
        uint32_t count;
        const char *name;
    } layers[] = {{{attention, mlp}, 2, "decoder"},
                  {{attention, experts}, 2, "moe_decoder"},
                  {{window, mlp}, 2, "window_decoder"},
                  {{window, experts}, 2, "window_moe_decoder"},
                  {{chunk, mlp}, 2, "chunk_decoder"},
                  {{delta, mlp}, 2, "delta_decoder"},
                  {{delta, experts}, 2, "delta_moe_decoder"},
                  {{mamba, experts}, 2, "mamba_moe_decoder"},
                  {{compressed, experts}, 2, "compressed_128_moe_decoder"},
                  {{mamba}, 1, "mamba"},
                  {{attention}, 1, "attention"},
                  {{mlp}, 1, "mlp"},
                  {{experts}, 1, "experts"},
                  {{attention, wide}, 2, "decoder_2"},
                  {{attention, mlp}, 2, "decoder"}};
    const struct ppi_host host = default_host();
    struct ppi_draft draft;
    const ppsched_description *description = NULL;
    ppsched_error error;
    (void)state;
    ppi_draft_start(&draft, &host);
    draft.info.hidden_size = 64;
    draft.info.vocabulary_size = 100;
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        ppi_draft_add_layer(&draft, layers[i].blocks, layers[i].count);
    expect_ok(ppi_draft_finish(&draft, &description, &error), &error);
    ppi_draft_clear(&draft);
    const ppsched_description_info info = info_of(description);
    assert_int_equal(info.kind_count, sizeof layers / sizeof layers[0] - 1);
    for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++)
        assert_string_equal(info.kinds[info.layers[i]]->name, layers[i].name);
    ppsched_description_release(description);
}

/* 256 kinds are made, 257 are refused. */
static void test_most_kinds(void **state)
{
    const struct ppi_host host = default_host();
    (void)state;
    for (uint32_t kinds = PPSCHED_MAX_LAYER_KINDS; kinds <= PPSCHED_MAX_LAYER_KINDS + 1; kinds++) {
        struct ppi_draft draft;
        const ppsched_description *description = NULL;
        ppsched_error error = {.message = ""};
        ppi_draft_start(&draft, &host);
        draft.info.hidden_size = draft.info.vocabulary_size = 64;
        for (uint32_t i = 0; i < kinds; i++)
            ppi_draft_add_layer(&draft, &(ppsched_block){.kind = PPSCHED_BLOCK_KIND_MLP, .width = i + 1}, 1);
        bool fits = kinds <= PPSCHED_MAX_LAYER_KINDS;
        assert_int_equal(ppi_draft_finish(&draft, &description, &error), fits ? PPSCHED_OK : PPSCHED_ERROR_RANGE);
        assert_true((strstr(error.message, "more than 256 kinds") == NULL) == fits);
        ppi_draft_clear(&draft);
        ppsched_description_release(description);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_copies),
        cmocka_unit_test(test_warnings_and_families),
        cmocka_unit_test(test_wrong_blocks),
        cmocka_unit_test(test_right_at_the_bounds),
        cmocka_unit_test(test_wrong_names),
        cmocka_unit_test(test_wrong_models),
        cmocka_unit_test(test_missing_lists),
        cmocka_unit_test(test_texts_of_layers),
        cmocka_unit_test(test_names_of_drafted_kinds),
        cmocka_unit_test(test_most_kinds),
    };
    return cmocka_run_group_tests_name("description", tests, NULL, NULL);
}
