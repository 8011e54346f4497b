/* SPDX-License-Identifier: Apache-2.0 */
/* Costs of each kind of block: parameters by the tensors of published code, operations by walking through the products that a
 * kernel makes, what a query sees by sums over positions, and what tensor and context parallelism divide. */
#include "support/model.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { HIDDEN = 64, VOCABULARY = 100, SEQUENCE = 512, SAMPLES = 2 };

static const ppsched_training plain = {.size = sizeof plain, .sequence_length = SEQUENCE, .micro_batch_size = SAMPLES};

/* One layer of these blocks, after another with keys and an index, which they may share. */
static ppsched_model *model_of_blocks(const char *blocks, const ppsched_training *training)
{
    char text[2048];
    ppsched_model *model = NULL;
    ppsched_error error;
    snprintf(text, sizeof text,
             "{\"hidden_size\": %d, \"vocabulary_size\": %d, \"kinds\": {\"first\": [{\"kind\": \"attention\", \"heads\": 8}, "
             "{\"kind\": \"latent_attention\", \"heads\": 8, \"query_rank\": 8, \"key_value_rank\": 8, \"value_size\": 8, "
             "\"index_heads\": 8, \"index_size\": 8, \"index_tokens\": 8}], \"x\": [%s]}, \"layers\": [\"first\", \"x\"]}",
             HIDDEN, VOCABULARY, blocks);
    expect_ok(model_of_text(&model, text, training, ppsched_accelerator_at(0), &error), &error);
    return model;
}

static uint64_t parameters_of(const char *blocks)
{
    ppsched_model *model = model_of_blocks(blocks, &plain);
    const ppsched_model_row row = row_called(model, "x", NULL);
    ppsched_model_destroy(model);
    assert_int_equal(row.parameters, row.mixers + row.feed_forwards + row.norms);
    return row.parameters;
}

static double operations_of(const char *blocks, int32_t pass, uint32_t sequence)
{
    ppsched_training training = plain;
    training.sequence_length = sequence;
    ppsched_model *model = model_of_blocks(blocks, &training);
    const double operations = cost_of_row(model, "x", pass).matrix_operations;
    ppsched_model_destroy(model);
    return operations;
}

/* --- parameters --- */

static void test_attention_parameters(void **state)
{
    (void)state;
    const uint64_t h = HIDDEN, a = 8, k = 2, d = 16, plain_one = h * (a + 2 * k) * d + a * d * h + h;
    const char *one = "{\"kind\": \"attention\", \"heads\": 8, \"key_value_heads\": 2, \"head_size\": 16%s}";
    const struct {
        const char *more;
        uint64_t added;
    } cases[] = {{"", 0},
                 {", \"window\": 7", 0},
                 {", \"chunk\": 7", 0},
                 {", \"bias\": true", (a + 2 * k) * d},
                 {", \"output_bias\": true", h},
                 {", \"qk_norm\": true", 2 * d},
                 {", \"qk_norm\": true, \"free_norms\": true", 0},
                 {", \"qk_norm_all\": true", (a + k) * d},
                 {", \"output_gate\": true", h * a * d},
                 {", \"head_gate\": true", h * a},
                 {", \"sinks\": true", a},
                 {", \"norms\": 2", h},
                 {", \"extra_parameters\": 77", 77},
                 {", \"index_heads\": 3, \"index_size\": 5, \"index_tokens\": 9", h * 3 * 5 + h * 5 + 2 * 5}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char block[256];
        snprintf(block, sizeof block, one, cases[i].more);
        if (parameters_of(block) != plain_one + cases[i].added)
            fail_msg("%s: %llu for %llu", block, (unsigned long long)parameters_of(block),
                     (unsigned long long)(plain_one + cases[i].added));
    }
    char block[256];
    snprintf(block, sizeof block, one, ", \"value_size\": 10");
    assert_int_equal(parameters_of(block), h * (a + k) * d + h * k * 10 + a * 10 * h + h);
    snprintf(block, sizeof block, one, ", \"value_is_key\": true");
    assert_int_equal(parameters_of(block), plain_one - h * k * d);
    snprintf(block, sizeof block, one, ", \"shared_keys\": true, \"qk_norm\": true");
    assert_int_equal(parameters_of(block), plain_one - 2 * h * k * d + d);
}

static void test_mixer_parameters(void **state)
{
    (void)state;
    const uint64_t h = HIDDEN;
    /* latent attention with an index, and with that of another layer */
    const uint64_t latent = h * 24 + 24 + 24 * 4 * (16 + 8) + h * (32 + 8) + 32 + 32 * 4 * (16 + 12) + 4 * 12 * h + h;
    const char *sizes = "\"heads\": 4, \"query_rank\": 24, \"key_value_rank\": 32, \"head_size\": 16, \"rope_size\": 8, "
                        "\"value_size\": 12";
    char block[512];
    snprintf(block, sizeof block, "{\"kind\": \"latent_attention\", %s}", sizes);
    assert_int_equal(parameters_of(block), latent);
    snprintf(block, sizeof block,
             "{\"kind\": \"latent_attention\", %s, \"index_heads\": 2, \"index_size\": 6, \"index_tokens\": 64}", sizes);
    assert_int_equal(parameters_of(block), latent + 24 * 2 * 6 + h * 6 + 2 * 6 + h * 2);
    snprintf(block, sizeof block,
             "{\"kind\": \"latent_attention\", %s, \"index_heads\": 2, \"index_size\": 6, \"index_tokens\": 64, "
             "\"shared_index\": true}",
             sizes);
    assert_int_equal(parameters_of(block), latent);
    /* gated delta rule: queries, keys and values, convolution, gate, step size and decay, base and bias, norm, output */
    const uint64_t keys = 2 * 8, values = 4 * 10;
    assert_int_equal(parameters_of("{\"kind\": \"delta\", \"heads\": 4, \"key_value_heads\": 2, \"head_size\": 8, "
                                   "\"value_size\": 10, \"convolution\": 4}"),
                     h * (2 * keys + values) + 4 * (2 * keys + values) + h * values + 2 * h * 4 + 2 * 4 + 10 + values * h + h);
    /* KDA: a decay for each channel and a gate, both of a low rank */
    assert_int_equal(
        parameters_of("{\"kind\": \"delta\", \"heads\": 4, \"head_size\": 8, \"convolution\": 4, \"decay_rank\": 8, "
                      "\"gate_rank\": 8}"),
        3 * h * 32 + 3 * 32 * 4 + 2 * (h * 8 + 8 * 32) + h * 4 + 4 + 32 + 8 + 32 * h + h);
    /* Mamba-2: gate, channels, inputs and outputs of two groups, steps; convolution with bias; three of each head; norm;
     * output */
    assert_int_equal(parameters_of("{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"groups\": 2, \"state_size\": 16, "
                                   "\"convolution\": 4, \"convolution_bias\": true}"),
                     h * (2 * 32 + 2 * 2 * 16 + 4) + (32 + 64) * 5 + 3 * 4 + 32 + 32 * h + h);
    /* Mamba: gate and channels; convolution; step, input and output; step by channel; decay; what passes by; output */
    assert_int_equal(parameters_of("{\"kind\": \"mamba\", \"mamba_1\": true, \"width\": 128, \"state_size\": 16, "
                                   "\"time_step_rank\": 4, \"convolution\": 4, \"convolution_bias\": true}"),
                     h * 2 * 128 + 128 * 5 + 128 * (4 + 32) + 4 * 128 + 128 + 128 * 16 + 128 + 128 * h + h);
    assert_int_equal(parameters_of("{\"kind\": \"convolution\", \"convolution\": 3}"), h * 3 * h + h * 3 + h * h + h);
    assert_int_equal(parameters_of("{\"kind\": \"convolution\", \"convolution\": 3, \"bias\": true}"),
                     h * 3 * h + h * 3 + h * h + 5 * h + h);
    assert_int_equal(parameters_of("{\"kind\": \"linear\"}"), h * h + h);
    /* compressed attention: queries, one key, grouped output, sinks; compressor; index with a compressor of its own */
    const uint64_t base = h * 24 + 24 + 24 * 4 * 16 + h * 16 + 16 + 4 * 16 / 2 * 2 * 10 + 2 * 10 * h + 4 + h;
    const char *own = "\"heads\": 4, \"head_size\": 16, \"query_rank\": 24, \"output_groups\": 2, \"output_rank\": 10, "
                      "\"window\": 32";
    snprintf(block, sizeof block, "{\"kind\": \"compressed_attention\", %s}", own);
    assert_int_equal(parameters_of(block), base);
    snprintf(block, sizeof block, "{\"kind\": \"compressed_attention\", %s, \"ratio\": 128}", own);
    assert_int_equal(parameters_of(block), base + 2 * h * 16 + 128 * 16 + 16);
    snprintf(block, sizeof block,
             "{\"kind\": \"compressed_attention\", %s, \"ratio\": 4, \"index_heads\": 3, \"index_size\": 6, "
             "\"index_tokens\": 64}",
             own);
    assert_int_equal(parameters_of(block), base + 2 * h * 32 + 4 * 32 + 16 + 2 * h * 12 + 4 * 12 + 6 + 24 * 3 * 6 + h * 3);
}

static void test_feed_forward_parameters(void **state)
{
    (void)state;
    const uint64_t h = HIDDEN, f = 40, e = 8;
    assert_int_equal(parameters_of("{\"kind\": \"mlp\", \"width\": 40}"), 2 * h * f + h);
    assert_int_equal(parameters_of("{\"kind\": \"mlp\", \"width\": 40, \"gated\": true, \"bias\": true}"),
                     3 * h * f + 2 * f + 2 * h);
    assert_int_equal(
        parameters_of("{\"kind\": \"experts\", \"experts\": 8, \"experts_per_token\": 2, \"width\": 40, \"gated\": "
                      "true, \"shared_width\": 24, \"shared_gate\": true, \"router_bias\": true}"),
        h * e + e + e * 3 * h * f + 3 * h * 24 + h + h);
    assert_int_equal(parameters_of("{\"kind\": \"experts\", \"experts\": 8, \"experts_per_token\": 2, \"width\": 40, "
                                   "\"latent_size\": 16, \"latent_norm\": true, \"idle_experts\": 4}"),
                     h * (e + 4) + e * 2 * 16 * f + 2 * h * 16 + 16 + h);
    ppsched_model *model = model_of_blocks("{\"kind\": \"experts\", \"experts\": 8, \"experts_per_token\": 2, \"width\": 40}",
                                           &plain);
    const ppsched_model_row row = row_called(model, "x", NULL);
    assert_int_equal(row.parameters - row.active, 6 * 2 * h * f);
    ppsched_model_destroy(model);
}

/* Blocks side by side share a norm; others have their own. */
static void test_norms(void **state)
{
    const char *mlp = "{\"kind\": \"mlp\", \"width\": 40}", *beside = "{\"kind\": \"mlp\", \"width\": 40, \"parallel\": true}";
    char both[256];
    (void)state;
    snprintf(both, sizeof both, "%s, %s", mlp, beside);
    assert_int_equal(parameters_of(both), 2 * 2 * HIDDEN * 40 + HIDDEN);
    snprintf(both, sizeof both, "%s, %s", mlp, mlp);
    assert_int_equal(parameters_of(both), 2 * 2 * HIDDEN * 40 + 2 * HIDDEN);
    assert_int_equal(parameters_of("{\"kind\": \"mlp\", \"width\": 40, \"no_norm\": true}"), 2 * HIDDEN * 40);
}

/* --- operations --- */

/* What all queries of a causal sequence see, by position, if the query itself counts as half a token. */
static double seen(uint32_t sequence, uint32_t window, uint32_t chunk)
{
    double sum = 0;
    for (uint32_t i = 0; i < sequence; i++) {
        double before = chunk > 0 ? i % chunk : i, most = window > 0 ? window : sequence;
        sum += before + 0.5 < most ? before + 0.5 : most;
    }
    return sum;
}

static void expect_near(double found, double wanted, double share)
{
    if (fabs(found - wanted) > share * wanted)
        fail_msg("%g is not within %g of %g", found, share, wanted);
}

static void test_windows(void **state)
{
    const struct {
        uint32_t window, chunk;
    } cases[] = {{0, 0}, {1, 0}, {64, 0}, {511, 0}, {512, 0}, {4096, 0}, {0, 128}, {0, 200}, {0, 4096}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char block[256];
        snprintf(block, sizeof block, "{\"kind\": \"attention\", \"heads\": 4, \"window\": %u, \"chunk\": %u}", cases[i].window,
                 cases[i].chunk);
        const double matrices = 2.0 * SAMPLES * SEQUENCE * 4 * HIDDEN * HIDDEN;
        const double scores = SAMPLES * seen(SEQUENCE, cases[i].window, cases[i].chunk) * HIDDEN;
        expect_near(operations_of(block, PPSCHED_MODEL_PASS_FORWARD, SEQUENCE) - matrices, 4 * scores,
                    0.002 + (cases[i].window == 1));
        expect_near(operations_of(block, PPSCHED_MODEL_PASS_INPUT, SEQUENCE) - matrices, 10 * scores,
                    0.002 + (cases[i].window == 1));
        assert_true(operations_of(block, PPSCHED_MODEL_PASS_WEIGHT, SEQUENCE) == matrices);
    }
}

/* An index scores the whole sequence, and attention sees what it selects. */
static void test_index(void **state)
{
    (void)state;
    const double matrices = 2.0 * SAMPLES * SEQUENCE * (4 * HIDDEN * HIDDEN + HIDDEN * (3 * 5 + 5));
    const double scores = SAMPLES * seen(SEQUENCE, 100, 0) * HIDDEN, index = SAMPLES * seen(SEQUENCE, 0, 0) * 3 * 5;
    expect_near(
        operations_of("{\"kind\": \"attention\", \"heads\": 4, \"index_heads\": 3, \"index_size\": 5, \"index_tokens\": 100}",
                      PPSCHED_MODEL_PASS_FORWARD, SEQUENCE) -
            matrices,
        4 * scores + 2 * index, 0.002);
}

static double product(double m, double k, double n)
{
    return 2 * m * k * n;
}

/* The delta rule, chunk by chunk, for one head (arXiv 2412.06464, section 3.3). */
static double delta_rule(uint32_t sequence, double k, double v)
{
    double sum = 0;
    for (uint32_t begin = 0; begin < sequence; begin += 64) {
        const double c = sequence - begin < 64 ? sequence - begin : 64;
        sum += product(c, k, c);                    /* keys with keys */
        sum += 2 * c * c * c / 3;                   /* the inverse of a triangle */
        sum += product(c, c, k) + product(c, c, v); /* its products with keys and values */
        sum += product(c, k, v);                    /* what the state says of these keys */
        sum += product(c, k, v) + product(c, k, c); /* queries with the state and with keys */
        sum += product(c, c, v) + product(k, c, v); /* with values; the new state */
    }
    return sum;
}

/* Mamba-2, chunk by chunk (arXiv 2405.21060, section 6): all heads. */
static double mamba_2(uint32_t sequence, double heads, double head, double groups, double state)
{
    double sum = 0;
    for (uint32_t begin = 0; begin < sequence; begin += 256) {
        const double c = sequence - begin < 256 ? sequence - begin : 256;
        sum += groups * product(c, state, c) + heads * product(c, c, head);
        sum += heads * (product(state, c, head) + product(c, state, head));
    }
    return sum;
}

/* Their backwards by the products of flash-linear-attention's and mamba_ssm's kernels, in tests/layers/products.py. */
static double delta_back(uint32_t sequence, double k, double v)
{
    double sum = 0;
    for (uint32_t begin = 0; begin < sequence; begin += 64) {
        const double c = sequence - begin < 64 ? sequence - begin : 64;
        sum += 9 * product(c, k, c) + 5 * product(c, v, c) + 2 * product(c, c, c) + 8 * product(c, k, v);
    }
    return sum;
}

static double mamba_2_back(uint32_t sequence, double heads, double head, double groups, double state)
{
    double sum = 0;
    for (uint32_t begin = 0; begin < sequence; begin += 256) {
        const double c = sequence - begin < 256 ? sequence - begin : 256;
        sum += 3 * (groups * product(c, state, c) + heads * product(c, c, head)) + 5 * heads * product(state, c, head);
    }
    return sum;
}

static void test_scans(void **state)
{
    (void)state;
    for (uint32_t sequence = 32; sequence <= 2048; sequence *= 4) {
        const double tokens = (double)SAMPLES * sequence;
        const char *delta = "{\"kind\": \"delta\", \"heads\": 4, \"key_value_heads\": 2, \"head_size\": 8, \"value_size\": 10}";
        const double delta_matrices = 2 * tokens * HIDDEN * (32 + 40 + 40 + 2 * 4 + 40),
                     rule = SAMPLES * 4 * delta_rule(sequence, 8, 10), back = SAMPLES * 4 * delta_back(sequence, 8, 10);
        expect_near(operations_of(delta, PPSCHED_MODEL_PASS_FORWARD, sequence), delta_matrices + rule, 1e-12);
        expect_near(operations_of(delta, PPSCHED_MODEL_PASS_INPUT, sequence), delta_matrices + back, 1e-12);
        expect_near(operations_of(delta, PPSCHED_MODEL_PASS_WEIGHT, sequence), delta_matrices, 1e-12);
        const char *mamba =
            "{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"groups\": 2, \"state_size\": 16, \"convolution\": 4}";
        const double mamba_matrices = 2 * tokens * HIDDEN * (2 * 32 + 64 + 4 + 32),
                     chunks = SAMPLES * mamba_2(sequence, 4, 8, 2, 16),
                     chunks_back = SAMPLES * mamba_2_back(sequence, 4, 8, 2, 16);
        expect_near(operations_of(mamba, PPSCHED_MODEL_PASS_FORWARD, sequence), mamba_matrices + chunks, 1e-12);
        expect_near(operations_of(mamba, PPSCHED_MODEL_PASS_INPUT, sequence), mamba_matrices + chunks_back, 1e-12);
        expect_near(operations_of(mamba, PPSCHED_MODEL_PASS_WEIGHT, sequence), mamba_matrices, 1e-12);
    }
}

/* A window of tokens, and one for each `ratio` before it. */
static void test_compressed(void **state)
{
    (void)state;
    const char *block =
        "{\"kind\": \"compressed_attention\", \"heads\": 4, \"head_size\": 16, \"query_rank\": 24, \"output_groups\": "
        "2, \"output_rank\": 10, \"window\": 32, \"ratio\": 8}";
    const double matrices = 2.0 * SAMPLES * SEQUENCE *
                            (HIDDEN * 24 + 24 * 64 + HIDDEN * 16 + 2 * HIDDEN * 16 + 64 / 2 * 2 * 10 + 20 * HIDDEN);
    const double scores = SAMPLES * (seen(SEQUENCE, 32, 0) + seen(SEQUENCE, 0, 0) / 8) * 64;
    expect_near(operations_of(block, PPSCHED_MODEL_PASS_FORWARD, SEQUENCE) - matrices, 4 * scores, 0.01);
}

/* --- divided --- */

/* On two devices of a tensor group each block has half of its matrices; what is copied is told by the parameters. */
static void test_tensor_parallelism(void **state)
{
    const char *blocks[] = {
        "{\"kind\": \"attention\", \"heads\": 4, \"output_gate\": true}",
        "{\"kind\": \"delta\", \"heads\": 4, \"head_size\": 8, \"convolution\": 4}",
        "{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"groups\": 2, \"state_size\": 16, \"convolution\": 4}",
        "{\"kind\": \"convolution\", \"convolution\": 3}", "{\"kind\": \"linear\"}"};
    ppsched_training training = plain;
    (void)state;
    training.tensor_parallel = 2;
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        ppsched_model *whole = model_of_blocks(blocks[i], &plain), *half = model_of_blocks(blocks[i], &training);
        for (int32_t pass = 0; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++)
            expect_near(cost_of_row(half, "x", pass).matrix_operations, cost_of_row(whole, "x", pass).matrix_operations / 2,
                        1e-12);
        assert_true(cost_of_row(half, "x", PPSCHED_MODEL_PASS_FORWARD).communication_time > 0);
        assert_true(memory_of_row(half, "x").parameters > memory_of_row(whole, "x").parameters / 2);
        assert_true(memory_of_row(half, "x").parameters < memory_of_row(whole, "x").parameters / 2 + HIDDEN + 64);
        ppsched_model_destroy(whole);
        ppsched_model_destroy(half);
    }
}

/* Scans hand on states, whose size does not grow with the sequence; attention gathers keys and values, whose does. */
static void test_context_parallelism(void **state)
{
    const struct {
        const char *block;
        double elements; /* of a sample's state, or of a token */
        bool is_state;
    } cases[] = {{"{\"kind\": \"delta\", \"heads\": 4, \"head_size\": 8}", 4 * 8 * 8, true},
                 {"{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"state_size\": 16}", 4 * 8 * 16, true},
                 {"{\"kind\": \"attention\", \"heads\": 4, \"key_value_heads\": 2}", 2 * 2 * 16, false}};
    ppsched_training training = plain;
    (void)state;
    training.context_parallel = 4;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_model *model = model_of_blocks(cases[i].block, &training);
        const double bytes = cost_of_row(model, "x", PPSCHED_MODEL_PASS_FORWARD).communication_bytes;
        const double wanted = cases[i].is_state ? 4.0 * SAMPLES * cases[i].elements * 4
                                                : 2.0 * SAMPLES * SEQUENCE * cases[i].elements;
        assert_true(bytes == wanted);
        ppsched_model_destroy(model);
    }
}

static void expect_refused(const char *blocks, const ppsched_training *training, const char *part)
{
    char text[1024];
    ppsched_model *model = NULL;
    ppsched_error error = {.message = ""};
    snprintf(text, sizeof text,
             "{\"hidden_size\": %d, \"vocabulary_size\": %d, \"kinds\": {\"first\": [{\"kind\": \"linear\"}], \"x\": [%s]}, "
             "\"layers\": "
             "[\"first\", \"x\"]}",
             HIDDEN, VOCABULARY, blocks);
    assert_int_equal(model_of_text(&model, text, training, NULL, &error), PPSCHED_ERROR_RANGE);
    assert_null(model);
    if (strstr(error.message, part) == NULL)
        fail_msg("\"%s\" is not in: %s", part, error.message);
}

static void test_indivisible(void **state)
{
    ppsched_training training = plain;
    (void)state;
    training.tensor_parallel = 4;
    expect_refused("{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 8, \"groups\": 2, \"state_size\": 16}", &training,
                   "tensor_parallel 4 does not divide 2 groups; 2 does");
    expect_refused("{\"kind\": \"delta\", \"heads\": 4, \"key_value_heads\": 2, \"head_size\": 8}", &training,
                   "tensor_parallel 4 does not divide 2 key_value_heads; 2 does");
    training.tensor_parallel = 3;
    expect_refused("{\"kind\": \"convolution\", \"convolution\": 3}", &training,
                   "tensor_parallel 3 does not divide 64 of hidden_size; 2 and 4 do");
}

/* --- what crosses boundaries --- */

static const ppsched_layers *layers_of(const char *text)
{
    const ppsched_layers *layers = NULL;
    ppsched_model *model = NULL;
    ppsched_error error;
    expect_ok(model_of_text(&model, text, &plain, ppsched_accelerator_at(0), &error), &error);
    expect_ok(ppsched_layers_from_model(&layers, model, NULL, &error), &error);
    ppsched_model_destroy(model);
    return layers;
}

static ppsched_layer entry_at(const ppsched_layers *layers, uint32_t number)
{
    ppsched_layer entry = {.size = sizeof entry};
    expect_ok(ppsched_layers_get_entry(&entry, layers, number, NULL), NULL);
    return entry;
}

/* A layer whose index is another's stays with the layer before it. */
static void test_shared_index(void **state)
{
    const char *sizes = "\"heads\": 4, \"query_rank\": 24, \"key_value_rank\": 32, \"head_size\": 16, \"value_size\": 12, "
                        "\"index_heads\": 2, \"index_size\": 6, \"index_tokens\": 64";
    char text[1024];
    (void)state;
    snprintf(text, sizeof text,
             "{\"hidden_size\": 64, \"vocabulary_size\": 99, \"kinds\": {\"own\": [{\"kind\": \"latent_attention\", %s}], "
             "\"shared\": "
             "[{\"kind\": \"latent_attention\", %s, \"shared_index\": true}]}, \"layers\": \"2x[own 3xshared] own\"}",
             sizes, sizes);
    const ppsched_layers *layers = layers_of(text);
    const uint32_t with_next[] = {0, 1, 1, 0, 1, 1, 0, 0, 0}; /* embedding, own, two shared, one, own, two, one, own, head */
    const uint32_t counts[] = {1, 1, 2, 1, 1, 2, 1, 1, 1};
    assert_int_equal(ppsched_layers_entries(layers), 9 + 0);
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(entry_at(layers, i).flags & PPSCHED_LAYER_FLAG_WITH_NEXT, with_next[i]);
        assert_int_equal(entry_at(layers, i).count, counts[i]);
    }
    ppsched_layers_release(layers);
}

/* Streams add up; keys and values for later layers, and inputs of all later layers, cross all boundaries between. */
static void test_boundary_bytes(void **state)
{
    const double one = (double)SAMPLES * SEQUENCE * HIDDEN * 2, keys = (double)SAMPLES * SEQUENCE * (2 * 2 * 16) * 2;
    (void)state;
    const ppsched_layers *layers = layers_of(
        "{\"hidden_size\": 64, \"vocabulary_size\": 99, \"streams\": 4, \"kinds\": {\"a\": [{\"kind\": \"mlp\", "
        "\"width\": 8}]}, \"layers\": \"5xa\"}");
    assert_true(entry_at(layers, 0).output_bytes == 4 * one && entry_at(layers, 1).output_bytes == 4 * one);
    ppsched_layers_release(layers);
    layers = layers_of("{\"hidden_size\": 64, \"vocabulary_size\": 99, \"stream_interval\": 2, \"kinds\": {\"a\": [{\"kind\": "
                       "\"mlp\", \"width\": 8}]}, \"layers\": \"5xa\"}");
    assert_int_equal(ppsched_layers_entries(layers), 5); /* two, two and one, between embedding and head */
    for (uint32_t i = 1; i <= 3; i++)
        assert_true(entry_at(layers, i).output_bytes == (1 + i) * one);
    ppsched_layers_release(layers);
    layers = layers_of("{\"hidden_size\": 64, \"vocabulary_size\": 99, \"layer_input\": 16, \"kinds\": {\"a\": [{\"kind\": "
                       "\"mlp\", \"width\": 8}]}, \"layers\": \"3xa\"}");
    for (uint32_t i = 0; i <= 3; i++) /* embedding, three layers */
        assert_true(entry_at(layers, i).output_bytes == one * (1 + (3 - i) * 16 / 64.0));
    ppsched_layers_release(layers);
    layers = layers_of(
        "{\"hidden_size\": 64, \"vocabulary_size\": 99, \"kinds\": {\"own\": [{\"kind\": \"attention\", \"heads\": 4, "
        "\"key_value_heads\": 2}], \"later\": [{\"kind\": \"attention\", \"heads\": 4, \"key_value_heads\": 2, "
        "\"shared_keys\": true}]}, \"layers\": \"2xown 2xlater own\"}");
    const double wanted[] = {one, one, one + keys, one + keys, one, one, 0};
    for (uint32_t i = 0; i < 7; i++)
        assert_true(entry_at(layers, i).output_bytes == wanted[i]);
    ppsched_layers_release(layers);
}

/* --- towers --- */

static const char with_tower[] = "{\"hidden_size\": 64, \"vocabulary_size\": 99, \"kinds\": {\"a\": [{\"kind\": \"mlp\", "
                                 "\"width\": 8}]}, \"layers\": \"4xa\", "
                                 "\"mtp_layers\": 1, \"towers\": [{\"name\": \"vision\", \"hidden_size\": 32, \"layers\": 3, "
                                 "\"tokens\": 100, \"norm_bias\": true, "
                                 "\"frozen\": %s, \"extra_parameters\": 1000, \"blocks\": [{\"kind\": \"attention\", "
                                 "\"heads\": 4, \"bias\": true, \"output_bias\": "
                                 "true}, {\"kind\": \"mlp\", \"width\": 64, \"bias\": true}]}]}";

static void test_towers(void **state)
{
    char text[1024];
    ppsched_model *model = NULL;
    ppsched_parameters count = {.size = sizeof count};
    (void)state;
    snprintf(text, sizeof text, with_tower, "false");
    expect_ok(model_of_text(&model, text, &plain, ppsched_accelerator_at(0), NULL), NULL);
    expect_ok(ppsched_model_get_parameters(&count, model, NULL), NULL);
    const uint64_t layer = 4 * (32 * 32 + 32) + 2 * 32 * 64 + 64 + 32 + 4 * 32;
    assert_int_equal(count.towers, 3 * layer + 1000);
    assert_int_equal(count.total, 2 * 64 * 99 + 64 + 4 * (2 * 64 * 8 + 64));
    const double matrices = 3 * 2.0 * SAMPLES * 100 * (4 * 32 * 32 + 2 * 32 * 64);
    const double scores = 3 * 4.0 * SAMPLES * 100 * 100 * 32; /* all see all */
    assert_true(cost_of_row(model, "vision", PPSCHED_MODEL_PASS_FORWARD).matrix_operations == matrices + scores);
    ppsched_model_destroy(model);
    const ppsched_layers *layers = layers_of(text);
    assert_string_equal(entry_at(layers, 0).name, "vision");
    assert_int_equal(entry_at(layers, 0).place, PPSCHED_LAYER_PLACE_FIRST);
    assert_int_equal(entry_at(layers, 0).flags, PPSCHED_LAYER_FLAG_NOT_COPIED);
    assert_string_equal(entry_at(layers, 1).name, "embedding");
    ppsched_layers_release(layers);
}

static void test_frozen_tower(void **state)
{
    char text[1024];
    (void)state;
    snprintf(text, sizeof text, with_tower, "true");
    const ppsched_layers *layers = layers_of(text);
    const ppsched_layer tower = entry_at(layers, 0);
    assert_true(tower.forward_time > 0 && tower.backward_input_time == 0 && tower.backward_weight_time == 0);
    assert_true(tower.mem_weights > 0 && tower.mem_static == 0 && tower.mem_forward == 0);
    ppsched_layers_release(layers);
}

/* Features for the first three layers: 100 / 4 tokens of each sample, less by one after each of these layers. */
static void test_deepstack(void **state)
{
    static const char text[] = "{\"hidden_size\": 64, \"vocabulary_size\": 99, \"kinds\": {\"a\": [{\"kind\": \"mlp\", "
                               "\"width\": 8}]}, \"layers\": \"5xa\", \"towers\": [{\"name\": \"vision\", "
                               "\"hidden_size\": 32, \"layers\": 3, \"tokens\": 100, \"patches_per_token\": 4, "
                               "\"deepstack_layers\": 3, \"blocks\": [{\"kind\": \"attention\", \"heads\": 4}]}]}";
    const ppsched_layers *layers = layers_of(text);
    const uint32_t counts[] = {1, 1, 1, 1, 3, 1}; /* vision, embedding, two that stay, the rest, head */
    const double own = 2.0 * SAMPLES * SEQUENCE * 64, feature = 2.0 * SAMPLES * 25 * 64;
    const double bytes[] = {0, own + 3 * feature, own + 2 * feature, own + feature, own, 0};
    const uint32_t flags[] = {PPSCHED_LAYER_FLAG_NOT_COPIED,
                              PPSCHED_LAYER_FLAG_WITH_NEXT,
                              PPSCHED_LAYER_FLAG_WITH_NEXT,
                              PPSCHED_LAYER_FLAG_WITH_NEXT,
                              0,
                              0};
    (void)state;
    assert_int_equal(ppsched_layers_entries(layers), 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(entry_at(layers, i).count, counts[i]);
        assert_int_equal(entry_at(layers, i).flags, flags[i]);
        assert_true(entry_at(layers, i).output_bytes == bytes[i]);
    }
    ppsched_layers_release(layers);
}

/* What slices hand on, by the shapes of the tensors: a scan's state in 4 bytes, the last tokens of a convolution in 2, and the
 * gradients of the keys and values of all tokens, or of those that a window reaches. Latent attention adds up those of the keys
 * that its projection makes, compressed attention those of its window and of the compressed tokens. */
static void test_what_slices_hold(void **state)
{
    const struct {
        const char *blocks;
        double state, token; /* bytes of a sample, and of each of its tokens */
        double tokens;
    } rows[] = {
        {"{\"kind\": \"delta\", \"heads\": 4, \"key_value_heads\": 2, \"head_size\": 8, \"value_size\": 16, "
         "\"convolution\": 4}",
         4.0 * 4 * 8 * 16 + 2.0 * 3 * (2 * 2 * 8 + 4 * 16), 0, 0},
        {"{\"kind\": \"mamba\", \"heads\": 4, \"head_size\": 32, \"state_size\": 16, \"groups\": 2, \"convolution\": 4}",
         4.0 * 4 * 32 * 16 + 2.0 * 3 * (4 * 32 + 2 * 2 * 16), 0, 0},
        {"{\"kind\": \"mamba\", \"mamba_1\": true, \"width\": 128, \"state_size\": 16, \"time_step_rank\": 4, "
         "\"convolution\": 4}",
         4.0 * 128 * 16 + 2.0 * 3 * 128, 0, 0},
        {"{\"kind\": \"convolution\", \"convolution\": 3}", 2.0 * 2 * HIDDEN, 0, 0},
        {"{\"kind\": \"attention\", \"heads\": 8, \"key_value_heads\": 2, \"head_size\": 8}", 0, 2.0 * 2 * 2 * 8, SEQUENCE},
        {"{\"kind\": \"attention\", \"heads\": 8, \"key_value_heads\": 2, \"window\": 128}", 0, 2.0 * 2 * 2 * 8, 128},
        {"{\"kind\": \"attention\", \"heads\": 8, \"key_value_heads\": 2, \"chunk\": 64}", 0, 2.0 * 2 * 2 * 8, 64},
        {"{\"kind\": \"attention\", \"heads\": 8, \"shared_keys\": true}", 0, 0, 0},
        {"{\"kind\": \"latent_attention\", \"heads\": 8, \"key_value_rank\": 16, \"head_size\": 8, \"rope_size\": 4, "
         "\"value_size\": 8}",
         0, 2.0 * 8 * (8 + 4 + 8), SEQUENCE},
        {"{\"kind\": \"compressed_attention\", \"heads\": 8, \"head_size\": 8, \"query_rank\": 16, \"output_groups\": 2, "
         "\"output_rank\": 4, \"window\": 128}",
         0, 2.0 * 8, 128},
        {"{\"kind\": \"compressed_attention\", \"heads\": 8, \"head_size\": 8, \"query_rank\": 16, \"output_groups\": 2, "
         "\"output_rank\": 4, \"window\": 128, \"ratio\": 16}",
         0, 2.0 * 8, 128 + SEQUENCE / 16.0},
        {"{\"kind\": \"mlp\", \"width\": 64}", 0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ppsched_model *model = model_of_blocks(rows[i].blocks, &plain);
        const ppsched_layer_memory memory = memory_of_row(model, "x");
        assert_true(memory.slice_state == SAMPLES * rows[i].state);
        assert_true(memory.slice_gradients == SAMPLES * rows[i].tokens * rows[i].token);
        ppsched_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_parameters),
        cmocka_unit_test(test_mixer_parameters),
        cmocka_unit_test(test_feed_forward_parameters),
        cmocka_unit_test(test_norms),
        cmocka_unit_test(test_windows),
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_scans),
        cmocka_unit_test(test_compressed),
        cmocka_unit_test(test_tensor_parallelism),
        cmocka_unit_test(test_context_parallelism),
        cmocka_unit_test(test_indivisible),
        cmocka_unit_test(test_shared_index),
        cmocka_unit_test(test_boundary_bytes),
        cmocka_unit_test(test_towers),
        cmocka_unit_test(test_frozen_tower),
        cmocka_unit_test(test_deepstack),
        cmocka_unit_test(test_what_slices_hold),
    };
    return cmocka_run_group_tests_name("model_blocks", tests, NULL, NULL);
}
