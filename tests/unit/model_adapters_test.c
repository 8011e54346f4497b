/* SPDX-License-Identifier: Apache-2.0 */
/* Adapters beside frozen weights: their parameters and operations by the matrices that have one, what is kept for them, and the
 * states of adapters alone. */
#include "support/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { H = 64, SEQUENCE = 32, RANK = 4, ALL = 2 * PPSCHED_ADAPTER_TARGET_HEAD - 1 };

static const ppsched_training frozen = {
    .size = sizeof frozen, .sequence_length = SEQUENCE, .micro_batch_size = 2, .flags = PPSCHED_TRAINING_FLAG_FROZEN_WEIGHTS};
static const double tokens = 2 * SEQUENCE;

static ppsched_model *model_of(const char *blocks, const ppsched_training *training)
{
    char text[2048];
    ppsched_model *model = NULL;
    ppsched_error error;
    snprintf(
        text, sizeof text,
        "{\"hidden_size\": %d, \"vocabulary_size\": 100, \"kinds\": {\"x\": [%s]}, \"layers\": [\"x\", \"x\"], \"tied\": true}",
        H, blocks);
    expect_ok(model_of_text(&model, text, training, NULL, &error), &error);
    return model;
}

static ppsched_training with(uint32_t targets, uint32_t flags)
{
    ppsched_training training = frozen;
    training.flags = flags; /* a rank freezes by itself */
    training.adapter_rank = RANK;
    training.adapter_targets = targets;
    return training;
}

/* A matrix with an adapter. */
struct matrix {
    double in, out, rows; /* rows: of its input; 0: all tokens */
    double count;         /* how many such matrices a device has; 0: 1 */
};

struct expected {
    const char *name, *block;
    uint32_t targets, flags;
    struct matrix list[8];
};

#define ATTENTION "{\"kind\": \"attention\", \"heads\": 8, \"key_value_heads\": 2, \"head_size\": 16}"
#define LATENT                                                                                                                 \
    "{\"kind\": \"latent_attention\", \"heads\": 4, \"head_size\": 16, \"rope_size\": 8, \"value_size\": 12, \"query_rank\": " \
    "24, "                                                                                                                     \
    "\"key_value_rank\": 20}"
#define MLP "{\"kind\": \"mlp\", \"width\": 40, \"gated\": true}"
#define EXPERTS                                                                                                                \
    "{\"kind\": \"experts\", \"experts\": 8, \"experts_per_token\": 2, \"width\": 40, \"gated\": true, \"shared_width\": 24, " \
    "\"shared_gate\": true}"
#define T(name) PPSCHED_ADAPTER_TARGET_##name

static const struct expected cases[] = {
    {"all of attention", ATTENTION, 0, 0, {{H, 128, 0, 0}, {H, 32, 0, 0}, {H, 32, 0, 0}, {128, H, 0, 0}}},
    {"queries and values", ATTENTION, T(QUERY) | T(VALUE), 0, {{H, 128, 0, 0}, {H, 32, 0, 0}}},
    {"latent", LATENT, 0, 0, {{H, 24, 0, 0}, {24, 96, 0, 0}, {H, 28, 0, 0}, {20, 112, 0, 0}, {48, H, 0, 0}}},
    {"latent without the one to the rank",
     LATENT,
     T(QUERY) | T(VALUE) | T(OUTPUT),
     0,
     {{H, 24, 0, 0}, {24, 96, 0, 0}, {20, 112, 0, 0}, {48, H, 0, 0}}},
    {"an MLP", MLP, 0, 0, {{H, 40, 0, 0}, {H, 40, 0, 0}, {40, H, 0, 0}}},
    {"its gate", MLP, T(GATE), 0, {{H, 40, 0, 0}}},
    {"routed experts", EXPERTS, T(EXPERTS), 0, {{H, 80, 2 * 2 * SEQUENCE, 8}, {40, H, 2 * 2 * SEQUENCE, 8}}},
    {"shared ones", EXPERTS, T(UP) | T(GATE) | T(DOWN), 0, {{H, 24, 0, 0}, {H, 24, 0, 0}, {24, H, 0, 0}}},
    {"router and gate", EXPERTS, T(ROUTER) | T(OTHER), 0, {{H, 8, 0, 0}, {H, 1, 0, 0}}},
    {"Mamba",
     "{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"groups\": 2, \"state_size\": 16, \"convolution\": 4}",
     0,
     0,
     {{H, 32 + 32 + 64 + 4, 0, 0}, {32, H, 0, 0}}},
    {"its last",
     "{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"state_size\": 16}",
     T(SCAN_OUTPUT),
     0,
     {{32, H, 0, 0}}},
    {"a convolution", "{\"kind\": \"convolution\", \"convolution\": 3}", 0, 0, {{H, 3 * H, 0, 0}, {H, H, 0, 0}}},
    {"the delta rule",
     "{\"kind\": \"delta\", \"heads\": 4, \"head_size\": 8, \"value_size\": 10}",
     T(SCAN_INPUT),
     0,
     {{H, 32 + 32 + 40, 0, 0}, {H, 40, 0, 0}, {H, 4, 0, 0}, {H, 4, 0, 0}}}};

static double parameters_of(const struct expected *one)
{
    double sum = 0;
    for (int i = 0; i < 8; i++)
        sum += (one->list[i].count > 0 ? one->list[i].count : 1) * RANK * (one->list[i].in + one->list[i].out);
    return sum;
}

static double operations_of(const struct expected *one)
{
    double sum = 0;
    for (int i = 0; i < 8; i++)
        sum += 2 * (one->list[i].rows > 0 ? one->list[i].rows : tokens) * RANK * (one->list[i].in + one->list[i].out);
    return sum;
}

/* The product of both matrices forward, gradients of the input, gradients of the weights: as much each. */
static void test_each_matrix(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct expected *one = &cases[i];
        ppsched_training training = with(one->targets, one->flags);
        ppsched_model *base = model_of(one->block, &frozen), *own = model_of(one->block, &training);
        const ppsched_layer_memory before = memory_of_row(base, "x"), after = memory_of_row(own, "x");
        for (int32_t pass = 0; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++) {
            double more = cost_of_row(own, "x", pass).matrix_operations - cost_of_row(base, "x", pass).matrix_operations;
            if (fabs(more - operations_of(one)) > 1e-9 * operations_of(one))
                fail_msg("%s: pass %d has %g more operations, not %g", one->name, pass, more, operations_of(one));
        }
        if (after.trained != parameters_of(one) || after.parameters - before.parameters != after.trained)
            fail_msg("%s: %g parameters, not %g", one->name, after.trained, parameters_of(one));
        assert_true(before.trained == 0 && before.gradients == 0 && before.optimizer == 0);
        assert_true(after.gradients == 4 * after.trained && after.optimizer == 12 * after.trained);
        assert_true(after.weights == 2 * after.parameters);
        ppsched_model_destroy(base);
        ppsched_model_destroy(own);
    }
}

/* Frozen matrices without adapters keep no input; adapters keep theirs, and what is between their two matrices. */
static void test_activations(void **state)
{
    const struct {
        uint32_t targets, flags;
        double kept; /* less than with weights that learn, in bytes a token */
    } list[] = {
        {T(GATE) | T(UP) | T(DOWN), 0, 3 * 2 * RANK},
        {T(GATE), 0, 2 * RANK - 2 * 40},
        {T(DOWN), 0, 2 * RANK - 2 * H},
        {T(HEAD), 0, -2 * 40 - 2 * H},
        {T(GATE) | T(UP) | T(DOWN), PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS, 2 * 2 * RANK},
        {T(GATE) | T(UP) | T(DOWN), PPSCHED_TRAINING_FLAG_ADAPTER_DROPOUT, 3 * 2 * RANK + (2 * H + 40) * 3 - 2 * (H + 40)}};
    ppsched_model *base = model_of(MLP, &frozen);
    const double all = memory_of_row(base, "x").activations;
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        ppsched_training training = with(list[i].targets, list[i].flags);
        ppsched_model *own = model_of(MLP, &training);
        const double more = (memory_of_row(own, "x").activations - all) / tokens;
        if (more != list[i].kept)
            fail_msg("case %zu: %g bytes a token more, not %g", i, more, list[i].kept);
        ppsched_model_destroy(own);
    }
    ppsched_model_destroy(base);
}

/* Queries, keys and values share the first matrix, and so do gate and up. */
static void test_fused(void **state)
{
    ppsched_training training = with(0, PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS);
    ppsched_model *model = model_of(ATTENTION ", " MLP, &training);
    (void)state;
    assert_true(memory_of_row(model, "x").trained == RANK * (H + 128 + 32 + 32 + 128 + H) + RANK * (H + 80 + 40 + H));
    ppsched_model_destroy(model);
    training = with(T(KEY) | T(VALUE), PPSCHED_TRAINING_FLAG_FUSED_ADAPTERS);
    model = model_of(ATTENTION, &training);
    assert_true(memory_of_row(model, "x").trained == RANK * (H + 32 + 32));
    ppsched_model_destroy(model);
}

static void test_devices(void **state)
{
    ppsched_training training = with(0, 0);
    (void)state;
    training.tensor_parallel = 2;
    training.adapter_expert_rank = 2;
    training.data_parallel = 4, training.expert_parallel = 8, training.expert_tensor_parallel = 1;
    training.sharding = 1;
    ppsched_model *model = model_of(ATTENTION ", " EXPERTS, &training);
    const ppsched_layer_memory memory = memory_of_row(model, "x");
    const double attention = RANK * (H + 64 + 2 * (H + 16) + 64 + H), shared = RANK * (2 * (H + 12) + 12 + H + H + 1),
                 expert = 2 * (H + 80 + 40 + H);
    assert_true(memory.trained == attention + shared + expert);
    assert_true(memory.expert_trained == expert);
    assert_true(memory.gradients == 4 * memory.trained);
    assert_true(memory.optimizer == 12 * ((attention + shared) / 4 + expert));
    ppsched_model_destroy(model);
}

/* The ends: the head, also of a tied output; embeddings have none. */
static void test_ends(void **state)
{
    ppsched_training training = with(ALL, 0);
    ppsched_model *model = model_of(MLP, &training);
    (void)state;
    assert_true(memory_of_row(model, "head").trained == RANK * (H + 100));
    assert_true(memory_of_row(model, "embedding").trained == 0);
    assert_true(row_called(model, "x", NULL).parameters == 3 * H * 40 + H); /* of the model alone */
    ppsched_model_destroy(model);
    training = with(0, 0);
    model = model_of(MLP, &training);
    assert_true(memory_of_row(model, "head").trained == 0);
    ppsched_model_destroy(model);
}

static void test_refused(void **state)
{
    ppsched_training wrong[] = {with(ALL + 1, 0), frozen, with(0, 0), with(0, 0)};
    const char *const parts[] = {"adapter_targets is 8192; it must be 0 to 8191", "adapter_targets is 1; it must be 0 to 0",
                                 "adapter_expert_rank is 5; it must be 0 to 4", "reserved is 1; it must be 0 to 0"};
    (void)state;
    wrong[1].adapter_targets = 1;
    wrong[2].adapter_expert_rank = 5;
    wrong[3].reserved = 1;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ppsched_model *model = NULL;
        ppsched_error error = {.message = ""};
        assert_int_equal(model_of_text(&model,
                                       "{\"hidden_size\": 8, \"vocabulary_size\": 9, \"kinds\": {\"x\": [{\"kind\": \"mlp\", "
                                       "\"width\": 8}]}, \"layers\": [\"x\"]}",
                                       &wrong[i], NULL, &error),
                         PPSCHED_ERROR_RANGE);
        if (strstr(error.message, parts[i]) == NULL)
            fail_msg("\"%s\" is not in: %s", parts[i], error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_matrix), cmocka_unit_test(test_activations), cmocka_unit_test(test_fused),
        cmocka_unit_test(test_devices),     cmocka_unit_test(test_ends),        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests_name("model_adapters", tests, NULL, NULL);
}
