/* SPDX-License-Identifier: Apache-2.0 */
/* Transformers of two kinds of layers become descriptions and come back; other descriptions are no transformers. */
#include "support/problem.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "description/transformer.h"

enum { MOST_LAYERS = 12 };

static void draw_transformer(uint64_t *seed, ppsched_transformer *shape, uint8_t *experts)
{
    bool is_latent = random_below(seed, 2), has_experts = false, has_dense = false;
    *shape = (ppsched_transformer){.size = sizeof *shape, .flags = random_below(seed, 8192)};
    shape->layers = 1 + random_below(seed, MOST_LAYERS);
    shape->hidden_size = 64;
    shape->heads = 4;
    shape->key_value_heads = is_latent ? 4 : 2;
    shape->head_size = 1 + random_below(seed, 30);
    shape->vocabulary_size = 100;
    shape->positions = random_below(seed, 9);
    shape->mtp_layers = random_below(seed, 3);
    if (is_latent) {
        shape->query_rank = random_below(seed, 9);
        shape->key_value_rank = 1 + random_below(seed, 9);
        shape->rope_head_size = random_below(seed, 9);
        shape->value_head_size = 1 + random_below(seed, 9);
    }
    for (uint32_t i = 0; i < shape->layers; i++) {
        experts[i] = random_below(seed, 2) != 0;
        has_experts |= experts[i];
        has_dense |= !experts[i];
    }
    shape->flags &= is_latent ? ~(uint32_t)PPSCHED_TRANSFORMER_FLAG_QK_NORM
                              : ~(uint32_t)PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS;
    shape->flags &= has_experts ? ~0u : ~(uint32_t)PPSCHED_TRANSFORMER_FLAG_ROUTER_BIAS;
    shape->ffn_size = has_dense || random_below(seed, 2) ? 1 + random_below(seed, 99) : 0;
    if (!has_experts)
        return;
    shape->experts = 4;
    shape->experts_per_token = 1 + random_below(seed, 4);
    shape->expert_ffn_size = 1 + random_below(seed, 99);
    shape->shared_ffn_size = random_below(seed, 9);
    shape->expert_layers = experts;
}

/* A transformer of two kinds of layers comes back as it was. One whose layers all have experts gets their width. */
static void test_transformers_come_back(void **state)
{
    struct ppi_host host;
    uint64_t seed = 22;
    (void)state;
    expect_ok(ppi_host_take(&host, NULL, NULL), NULL);
    for (int round = 0; round < 3000; round++) {
        ppsched_transformer shape, found;
        uint8_t experts[MOST_LAYERS], again[MOST_LAYERS] = {0};
        const ppsched_description *description = NULL;
        ppsched_error error;
        draw_transformer(&seed, &shape, experts);
        expect_ok(ppi_description_from_transformer(&description, &shape, &host, &error), &error);
        assert_true(ppi_description_to_transformer(&found, again, description));
        ppsched_description_release(description);
        if (shape.expert_layers != NULL)
            assert_memory_equal(experts, again, shape.layers);
        assert_true((shape.expert_layers == NULL) == (found.expert_layers == NULL));
        shape.ffn_size = shape.ffn_size > 0 ? shape.ffn_size : shape.expert_ffn_size;
        shape.expert_layers = found.expert_layers = NULL;
        assert_memory_equal(&shape, &found, sizeof shape);
    }
}

/* What two kinds of layers cannot say is no transformer. */
static void test_other_models_are_no_transformers(void **state)
{
    static const char *const kinds[] = {
        "[{\"kind\": \"mlp\", \"width\": 8}]",
        "[{\"kind\": \"attention\", \"heads\": 4, \"window\": 3}, {\"kind\": \"mlp\", \"width\": 8}]",
        "[{\"kind\": \"attention\", \"heads\": 4, \"sinks\": true}, {\"kind\": \"mlp\", \"width\": 8}]",
        "[{\"kind\": \"attention\", \"heads\": 4, \"value_size\": 8}, {\"kind\": \"mlp\", \"width\": 8}]",
        "[{\"kind\": \"delta\", \"heads\": 4}, {\"kind\": \"mlp\", \"width\": 8}]",
        "[]"};
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char text[256];
        ppsched_transformer found;
        uint8_t experts[1];
        const ppsched_description *description = NULL;
        ppsched_error error;
        int size = snprintf(text, sizeof text,
                            "{\"hidden_size\": 64, \"vocabulary_size\": 9, \"kinds\": {\"a\": %s}, \"layers\": \"a\"}",
                            kinds[i]);
        expect_ok(ppsched_description_read(&description, text, (size_t)size, NULL, &error), &error);
        if (ppi_description_to_transformer(&found, experts, description))
            fail_msg("%s", kinds[i]);
        ppsched_description_release(description);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transformers_come_back),
        cmocka_unit_test(test_other_models_are_no_transformers),
    };
    return cmocka_run_group_tests_name("transformer", tests, NULL, NULL);
}
