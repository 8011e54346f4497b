/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that make problems and schedules, while memory runs out. */
#include "support/shortage.h"

#include <string.h>

/* --- configs --- */

static ppsched_status config_create(struct attempt *attempt)
{
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_config_create(&made, 2, 4, 3, &attempt->own.environment, &attempt->error);
    return take_config(attempt, status, made);
}

/* The second variant has a map. */
static void prepare_map(struct attempt *attempt)
{
    if (attempt->variant == 1)
        expect_ok(ppsched_config_set_placement(attempt->own.config, PPSCHED_PLACEMENT_MAP, (uint32_t[]){0, 1, 1, 0}, 4, NULL),
                  NULL);
}

static ppsched_status config_copy(struct attempt *attempt)
{
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_config_copy(&made, attempt->own.config, &attempt->error);
    return take_config(attempt, status, made);
}

/* To fewer stages, to more, and with ends. */
static ppsched_status config_with_stages(struct attempt *attempt)
{
    static const int stages[] = {2, 8, 12};
    const ppsched_model_end end = {.size = sizeof end, .forward_time = 0.5};
    const ppsched_model_end *ends = attempt->variant == 2 ? &end : NULL;
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_config_with_stages(&made, attempt->own.config, stages[attempt->variant], ends, ends,
                                                       &attempt->error);
    return take_config(attempt, status, made);
}

/* Windows of two forwards, and of a backward with its weight gradient, or without, so that both searches run. */
static ppsched_pair_windows windows_of(int variant)
{
    static const ppsched_window windows[] = {{3, 0, 0}, {2, 1, 0}, {3, 0, 0}, {2, 1, 0}, {2.5, 0, 0}, {2.5, 1, 0}};
    return (ppsched_pair_windows){.size = sizeof(ppsched_pair_windows),
                                  .forward = windows,
                                  .forward_count = 6,
                                  .backward = windows,
                                  .backward_count = 5,
                                  .weight = windows,
                                  .weight_count = variant == 0 ? 0 : 3};
}

static ppsched_layer with_windows(const ppsched_pair_windows *windows)
{
    return (ppsched_layer){.size = sizeof(ppsched_layer),
                           .name = "decoder",
                           .count = 6,
                           .forward_time = 15,
                           .backward_input_time = 12.5,
                           .backward_weight_time = 8,
                           .windows = windows};
}

/* Two entries, one with kinds of recomputation; then with windows. */
static ppsched_status layers_create(struct attempt *attempt)
{
    const ppsched_pair_windows windows = windows_of(1);
    static const ppsched_recompute kinds[] = {{"selective", 0.25, 0.5}, {"full", 1, 0}};
    const ppsched_layer layer = {.size = sizeof layer,
                                 .name = "decoder",
                                 .count = 4,
                                 .mem_forward = 1,
                                 .recomputes = kinds,
                                 .recompute_count = 2},
                        head = {.size = sizeof head, .name = "head", .place = PPSCHED_LAYER_PLACE_LAST},
                        pair = with_windows(&windows);
    const ppsched_layer *const list[] = {attempt->variant == 0 ? &layer : &pair, &head};
    const ppsched_layers *made = UNTOUCHED;
    ppsched_status status = ppsched_layers_create(&made, list, 2U - (uint32_t)attempt->variant, &attempt->own.environment,
                                                  &attempt->error);
    return take_layers(attempt, status, made);
}

static ppsched_status config_from_layers(struct attempt *attempt)
{
    static const uint32_t counts[] = {2, 1, 1, 2};
    static const uint8_t kinds[] = {0, 1, 0, 2, 1, 0};
    const ppsched_split split = {sizeof split, 4, counts, attempt->variant == 0 ? kinds : NULL};
    const ppsched_pair_windows windows = windows_of(1);
    const ppsched_layer pair = with_windows(&windows), *const list[] = {&pair};
    const ppsched_layers *layers = NULL; /* on another host */
    ppsched_config *made = UNTOUCHED;
    assert_int_equal(ppsched_layers_create(&layers, list, 1, NULL, NULL), PPSCHED_OK);
    ppsched_status status = ppsched_config_from_layers(
        &made, attempt->own.config, attempt->variant == 0 ? attempt->own.layers : layers, &split, &attempt->error);
    ppsched_layers_release(layers);
    return take_config(attempt, status, made);
}

static ppsched_status config_with_microbatches(struct attempt *attempt)
{
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_config_with_microbatches(&made, attempt->own.config, 8, &attempt->error);
    return take_config(attempt, status, made);
}

static ppsched_status config_set_placement(struct attempt *attempt)
{
    return ppsched_config_set_placement(attempt->own.config, PPSCHED_PLACEMENT_MAP, (uint32_t[]){1, 0, 0, 1}, 4,
                                        &attempt->error);
}

static ppsched_status config_set_stage_inputs(struct attempt *attempt)
{
    return ppsched_config_set_stage_inputs(attempt->own.config, (uint32_t[]){0, 1, 0, 2}, (uint32_t[]){0, 1, 2}, 4,
                                           &attempt->error);
}

static ppsched_status config_set_stage_passes(struct attempt *attempt)
{
    return ppsched_config_set_stage_passes(attempt->own.config, (int32_t[]){3, 2, 1, 1}, 4, &attempt->error);
}

static ppsched_status config_set_stage_microbatches(struct attempt *attempt)
{
    return ppsched_config_set_stage_microbatches(attempt->own.config, 1, (uint32_t[]){1}, 1, &attempt->error);
}

static ppsched_status config_set_stage_devices(struct attempt *attempt)
{
    return ppsched_config_set_stage_devices(attempt->own.config, (uint32_t[]){2, 1, 1, 2}, (uint32_t[]){1, 0, 0, 1, 0, 1}, 4,
                                            &attempt->error);
}

/* The second variant is of links. */
static void prepare_devices(struct attempt *attempt)
{
    const int32_t quantity = attempt->variant == 0 ? PPSCHED_QUANTITY_DEVICE_SPEEDS : PPSCHED_QUANTITY_P2P_TIME;
    expect_ok(
        ppsched_config_set_values(attempt->own.config, quantity, (double[]){0.5, 1, 2, 4}, attempt->variant == 0 ? 2 : 4, NULL),
        NULL);
}

static ppsched_status config_order_devices(struct attempt *attempt)
{
    return ppsched_config_order_devices(attempt->own.config, (uint32_t[]){1, 0}, 2, &attempt->error);
}

/* Another length of a list that is there already, and a new one. */
static ppsched_status config_set_values(struct attempt *attempt)
{
    static const int32_t quantities[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES};
    return ppsched_config_set_values(attempt->own.config, quantities[attempt->variant], (double[]){4, 3, 2, 1},
                                     attempt->variant == 0 ? 1 : 4, &attempt->error);
}

static ppsched_status config_set_windows(struct attempt *attempt)
{
    const ppsched_pair_windows pair = windows_of(attempt->variant), *stages[] = {&pair, &pair, &pair, &pair};
    return ppsched_config_set_windows(attempt->own.config, stages, 4, &attempt->error);
}

static ppsched_status pair_find_order(struct attempt *attempt)
{
    const ppsched_pair_windows pair = windows_of(attempt->variant);
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_window_span spans[14];
    prepare_bytes(spans, sizeof spans);
    ppsched_status status = ppsched_pair_find_order(spans, 14, NULL, &times, &pair, &attempt->own.environment, &attempt->error);
    return take_bytes(attempt, status, spans, sizeof spans);
}

static ppsched_status pair_run_order(struct attempt *attempt)
{
    enum { F = PPSCHED_KIND_F, B = PPSCHED_KIND_B };
    static const int32_t kinds[] = {F, F, F, F, F, F, B, B, B, B, B};
    const ppsched_pair_windows pair = windows_of(0);
    ppsched_pair_times times = {.size = sizeof times};
    ppsched_window_span spans[11];
    prepare_bytes(spans, sizeof spans);
    ppsched_status status = ppsched_pair_run_order(spans, 11, NULL, &times, &pair, kinds, 11, &attempt->own.environment,
                                                   &attempt->error);
    return take_bytes(attempt, status, spans, sizeof spans);
}

/* The first option, another value, and another option. */
static ppsched_status config_set_option(struct attempt *attempt)
{
    struct handles *own = &attempt->own;
    return ppsched_config_set_option(attempt->variant == 0 ? own->plain : own->config,
                                     attempt->variant < 2 ? "group_size" : "effort", "1", &attempt->error);
}

/* The first goal, and another with a list. */
static ppsched_status config_set_robust_objective(struct attempt *attempt)
{
    const double factors[] = {1, 2};
    const ppsched_scenario_options options = {
        .size = sizeof options, .jitter = 0.1, .device_factors = factors, .device_factor_count = 2};
    const ppsched_scenario_options without = {.size = sizeof without, .jitter = 0.1};
    return ppsched_config_set_robust_objective(attempt->own.config, PPSCHED_RANK_BY_MEAN, 0, 3,
                                               attempt->variant == 0 ? &without : &options, &attempt->error);
}

/* Two placements, with and without a limit; then the objective. */
static void prepare_bound(struct attempt *attempt)
{
    static const int32_t placements[] = {PPSCHED_PLACEMENT_LOOP, PPSCHED_PLACEMENT_V};
    expect_ok(ppsched_config_set_placement(attempt->own.config, placements[attempt->variant & 1], NULL, 0, NULL), NULL);
    if ((attempt->variant & 2) != 0)
        set_number(attempt->own.config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
}

static ppsched_status config_find_bound(struct attempt *attempt)
{
    int32_t objective = (attempt->variant & 4) != 0 ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN;
    ppsched_bound bound;
    prepare_bytes(&bound, sizeof bound);
    bound.size = sizeof bound;
    ppsched_status status = ppsched_config_find_bound(&bound, attempt->own.config, objective, &attempt->error);
    return take_bytes(attempt, status, &bound.device, sizeof bound - offsetof(ppsched_bound, device));
}

static ppsched_status config_prove_bound(struct attempt *attempt)
{
    ppsched_bound bound;
    prepare_bytes(&bound, sizeof bound);
    bound.size = sizeof bound;
    ppsched_status status = ppsched_config_prove_bound(&bound, attempt->own.config, PPSCHED_OBJECTIVE_SPAN, 1e6, 1e5,
                                                       &attempt->error);
    return take_bytes(attempt, status, &bound.device, sizeof bound - offsetof(ppsched_bound, device));
}

/* --- builders --- */

static ppsched_status builder_create(struct attempt *attempt)
{
    ppsched_builder *made = UNTOUCHED;
    ppsched_status status = ppsched_builder_create(&made, attempt->own.config, &attempt->error);
    return take_builder(attempt, status, made);
}

/* Ops behind others, and the first of a device. */
static ppsched_status builder_append(struct attempt *attempt)
{
    ppsched_op ops[50];
    for (uint32_t i = 0; i < 50; i++)
        ops[i] = (ppsched_op){.kind = PPSCHED_KIND_B, .microbatch = i % 4, .stage = i % 3};
    return ppsched_builder_append(attempt->own.builder, (uint32_t)attempt->variant, ops, 50, &attempt->error);
}

static ppsched_status builder_set_name(struct attempt *attempt)
{
    return ppsched_builder_set_name(attempt->own.builder, "another", &attempt->error);
}

static ppsched_status builder_finish(struct attempt *attempt)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_builder_finish(&made, attempt->own.builder, &attempt->error);
    return take_schedule(attempt, status, made);
}

/* --- schedules --- */

/* Every strategy, for the problem that it can serve; without limits, and with little memory. */
static ppsched_config *suited(const struct attempt *attempt, ppsched_strategy_info *info)
{
    const struct handles *own = &attempt->own;
    *info = (ppsched_strategy_info){.size = sizeof *info};
    assert_int_equal(ppsched_strategy_get_info(info, (uint32_t)attempt->variant / 2, NULL), PPSCHED_OK);
    return ppsched_strategy_fits(info->name, own->config, NULL) == PPSCHED_OK ? own->config : own->plain;
}

static void prepare_strategy(struct attempt *attempt)
{
    ppsched_strategy_info info;
    ppsched_error error;
    expect_ok(ppsched_config_set_option(attempt->own.config, "group_size", NULL, &error), &error);
    ppsched_config *config = suited(attempt, &info);
    expect_ok(ppsched_strategy_fits(info.name, config, &error), &error);
    if (attempt->variant % 2 == 1)
        set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 3);
    const int64_t many = strcmp(info.name, "v_search") == 0 ? 64 : strcmp(info.name, "auto") == 0 ? 128 : 0;
    if (many > 0 && attempt->variant % 2 == 0 && config == attempt->own.config) { /* repeats few, shortens */
        expect_ok(ppsched_config_with_microbatches(&attempt->own.config, config, many, &error), &error);
        ppsched_config_destroy(config);
        config = attempt->own.config;
        set_number(config, PPSCHED_QUANTITY_P2P_TIME, 0.375); /* so that no rule is the best */
    }
    if (strcmp(info.name, "auto") == 0) /* it takes all that it needs before it takes its time */
        expect_ok(ppsched_config_set_option(config, "effort", "1", &error), &error);
    if (strcmp(info.name, "auto") == 0 && attempt->variant % 2 == 1) {
        const ppsched_scenario_options options = {.size = sizeof options, .jitter = 0.2};
        expect_ok(ppsched_config_set_option(config, "effort", "0", &error), &error);
        expect_ok(ppsched_config_set_robust_objective(config, PPSCHED_RANK_BY_MEAN, 0, 3, &options, &error), &error);
    }
}

static ppsched_status schedule_generate(struct attempt *attempt)
{
    ppsched_strategy_info info;
    ppsched_config *config = suited(attempt, &info);
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_generate(&made, config, info.name, &attempt->error);
    return take_schedule(attempt, status, made);
}

/* A rule whose times are exact, one whose times are rounded, and one that is timed op by op. */
static void prepare_steady(struct attempt *attempt)
{
    if (attempt->variant == 1) {
        set_number(attempt->own.plain, PPSCHED_QUANTITY_FORWARD_TIMES, 1.1);
        set_number(attempt->own.plain, PPSCHED_QUANTITY_OVERLAPPED_TIMES, 2.7);
    }
    ppsched_config *more = NULL;
    expect_ok(ppsched_config_with_microbatches(&more, attempt->own.plain, 64, NULL), NULL);
    ppsched_config_destroy(attempt->own.plain);
    attempt->own.plain = more;
}

static ppsched_status steady_create(struct attempt *attempt)
{
    static const char *const strategies[] = {"1f1b", "1f1b_overlap", "gpipe"};
    ppsched_steady *made = UNTOUCHED;
    const ppsched_status status = ppsched_steady_create(&made, attempt->own.plain, strategies[attempt->variant],
                                                        &attempt->error);
    if (status == PPSCHED_OK)
        ppsched_steady_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

/* One microbatch after the other. */
static ppsched_status generate(void *user, const ppsched_config *config, ppsched_builder *builder)
{
    ppsched_status status = PPSCHED_OK;
    (void)user;
    for (uint32_t i = 0; i < 2 * ppsched_config_microbatches(config) * 2 && status == PPSCHED_OK; i++) {
        const ppsched_op op = {
            .kind = i % 2 == 0 ? PPSCHED_KIND_F : PPSCHED_KIND_B, .stage = i / 2 % 2 == 0 ? 0 : 1, .microbatch = i / 4};
        status = ppsched_builder_append(builder, op.stage, &op, 1, NULL);
    }
    return status;
}

static ppsched_status schedule_generate_with(struct attempt *attempt)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_generate_with(&made, attempt->own.plain, "own", generate, NULL, &attempt->error);
    return take_schedule(attempt, status, made);
}

#define OBJECT(name, more)                                                                                                     \
    "{\"strategy\": \"" name "\", \"devices\": 2, \"stages\": 2, \"microbatches\": 1, \"iterations\": 1, \"queues\": "         \
    "[{\"device\": 0, \"ops\": [\"0F0\", \"0B0\"]}, {\"device\": 1, \"ops\": [\"1F0\", \"1B0\"]}]" more "}"

/* Pairs of ops, rows that show the placement, and objects. */
static ppsched_status schedule_import(struct attempt *attempt)
{
    static const char *const texts[] = {
        "0F0,1F1\n1F0,0F1\n", "1F0,,,,,,\n0F0\n",       "0F0,0F1,0B0,0B1,3F0,3F1,3B0,3B1\n1F0,1F1,1B0,1B1,2F0,2F1,2B0,2B1\n",
        OBJECT("", ""),       OBJECT("caf\\u00e9", ""), OBJECT("own", ", \"placement\": \"map\", \"stage_devices\": [0, 1]")};
    const char *text = texts[attempt->variant];
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_import(&made, attempt->variant < 3 ? PPSCHED_FORMAT_CSV : PPSCHED_FORMAT_JSON,
                                                    text, strlen(text), &attempt->own.environment, &attempt->error);
    assert_true(status == PPSCHED_OK || status == PPSCHED_ERROR_NO_MEMORY);
    return take_schedule(attempt, status, made);
}

/* --- layouts --- */

static ppsched_status layout_create(struct attempt *attempt)
{
    static const ppsched_layout_stage stages[] = {{1, 3, 0, 0}, {0, 3, 0, 0}, {0, 3, 0, 0}, {0, 1, 1, 1}};
    ppsched_layout *made = UNTOUCHED;
    ppsched_status status = ppsched_layout_create(&made, 2, stages, 4, &attempt->own.environment, &attempt->error);
    return take_layout(attempt, status, made);
}

static ppsched_status layout_create_from_text(struct attempt *attempt)
{
    ppsched_layout *made = UNTOUCHED;
    ppsched_status status = ppsched_layout_create_from_text(&made, "Et,(tt|)*2t*4mL|", 16, 2, NULL, &attempt->own.environment,
                                                            &attempt->error);
    return take_layout(attempt, status, made);
}

static ppsched_status layout_create_from_megatron(struct attempt *attempt)
{
    ppsched_layout *made = UNTOUCHED;
    ppsched_status status = ppsched_layout_create_from_megatron(&made, 12, 4, NULL, &attempt->own.environment, &attempt->error);
    return take_layout(attempt, status, made);
}

static ppsched_status layout_create_from_torchtitan(struct attempt *attempt)
{
    ppsched_layout *made = UNTOUCHED;
    ppsched_status status = ppsched_layout_create_from_torchtitan(&made, 12, 2, 4, 1, 1, &attempt->own.environment,
                                                                  &attempt->error);
    return take_layout(attempt, status, made);
}

/* --- models --- */

static const ppsched_transformer shape = {.size = sizeof shape,
                                          .layers = 4,
                                          .hidden_size = 64,
                                          .ffn_size = 256,
                                          .heads = 4,
                                          .vocabulary_size = 512,
                                          .experts = 4,
                                          .experts_per_token = 2,
                                          .expert_ffn_size = 64,
                                          .expert_layers = (const uint8_t[]){0, 1, 1, 0}};

static ppsched_status take_description(struct attempt *attempt, ppsched_status status, const ppsched_description *made)
{
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    fprintf(attempt->result, "%u warnings\n", ppsched_description_warning_count(made));
    ppsched_description_release(made);
    return status;
}

static ppsched_status description_from_transformer(struct attempt *attempt)
{
    const ppsched_description *made = UNTOUCHED;
    ppsched_status status = ppsched_description_from_transformer(&made, &shape, &attempt->own.environment, &attempt->error);
    return take_description(attempt, status, made);
}

/* One in the library's own form, and a config.json with a field that is warned of. */
static ppsched_status description_read(struct attempt *attempt)
{
    static const char *const texts[] = {
        "{\"hidden_size\": 64, \"vocabulary_size\": 99, \"kinds\": {\"a\": [{\"kind\": \"mlp\", \"width\": 8}], \"b\": []}, "
        "\"layers\": \"40x[3xa b]\", \"towers\": [{\"name\": \"t\", \"hidden_size\": 8, \"layers\": 1, \"blocks\": []}]}",
        "{\"model_type\": \"mistral\", \"num_hidden_layers\": 130, \"hidden_size\": 64, \"intermediate_size\": 96, "
        "\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"vocab_size\": 99, \"new_part\": [1, 2]}"};
    const ppsched_description *made = UNTOUCHED;
    const char *text = texts[attempt->variant];
    ppsched_status status = ppsched_description_read(&made, text, strlen(text), &attempt->own.environment, &attempt->error);
    return take_description(attempt, status, made);
}

static ppsched_status description_guess(struct attempt *attempt)
{
    static const char text[] = "{\"model_type\": \"new\", \"hidden_size\": 64, \"num_hidden_layers\": 3, \"lru_width\": 4}";
    const ppsched_description *made = UNTOUCHED;
    ppsched_status status = ppsched_description_guess(&made, text, sizeof text - 1, &attempt->own.environment, &attempt->error);
    return take_description(attempt, status, made);
}

static ppsched_status description_create(struct attempt *attempt)
{
    const ppsched_block block = {.size = sizeof block, .kind = PPSCHED_BLOCK_KIND_MLP, .width = 8};
    const ppsched_block *const blocks[] = {&block, &block};
    const ppsched_layer_kind kind = {.size = sizeof kind, .name = "a", .block_count = 2, .blocks = blocks};
    const ppsched_layer_kind *const kinds[] = {&kind};
    const ppsched_tower tower = {.size = sizeof tower, .name = "t", .hidden_size = 8, .layers = 1, .kind = &kind};
    const ppsched_tower *const towers[] = {&tower};
    const uint32_t layers[] = {0, 0};
    const ppsched_description_info info = {.size = sizeof info,
                                           .hidden_size = 8,
                                           .vocabulary_size = 9,
                                           .layer_count = 2,
                                           .layers = layers,
                                           .kind_count = 1,
                                           .kinds = kinds,
                                           .tower_count = 1,
                                           .towers = towers,
                                           .family = "own"};
    const ppsched_description *made = UNTOUCHED;
    ppsched_status status = ppsched_description_create(&made, &info, &attempt->own.environment, &attempt->error);
    return take_description(attempt, status, made);
}

static ppsched_status take_model(struct attempt *attempt, ppsched_status status, ppsched_model *made)
{
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    fprintf(attempt->result, "a model\n");
    ppsched_model_destroy(made);
    return status;
}

/* The description is made in each attempt, and counted. */
static ppsched_status model_create(struct attempt *attempt)
{
    const ppsched_description *description = NULL;
    ppsched_model *made = UNTOUCHED;
    ppsched_status status = ppsched_description_from_transformer(&description, &shape, &attempt->own.environment,
                                                                 &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_model_create(&made, description, NULL, ppsched_accelerator_at(0), &attempt->own.environment,
                                      &attempt->error);
    ppsched_description_release(description);
    return take_model(attempt, status, made);
}

/* So is the model; the list is what fails alone. */
static ppsched_status layers_from_model(struct attempt *attempt)
{
    const ppsched_training windowed = {.size = sizeof windowed, .flags = PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS};
    const ppsched_description *description = NULL;
    const ppsched_layers *made = UNTOUCHED;
    ppsched_model *model = NULL;
    ppsched_status status = ppsched_description_from_transformer(&description, &shape, &attempt->own.environment,
                                                                 &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_model_create(&model, description, attempt->variant == 0 ? NULL : &windowed, ppsched_accelerator_at(0),
                                      &attempt->own.environment, &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_layers_from_model(&made, model, NULL, &attempt->error);
    ppsched_model_destroy(model);
    ppsched_description_release(description);
    return take_layers(attempt, status, made);
}

static ppsched_status model_create_measured(struct attempt *attempt)
{
    const ppsched_measured_layer layer = {"decoder", NULL, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 0.5, 1e6, 1e6};
    const ppsched_measured_collective collective = {PPSCHED_COLLECTIVE_ALL_REDUCE, 2, 0, 0, 1e6, 1e-3};
    const ppsched_layer_table table = {
        .size = sizeof table, .layers = &layer, .layer_count = 1, .collectives = &collective, .collective_count = 1};
    const ppsched_description *description = NULL;
    ppsched_model *made = UNTOUCHED;
    ppsched_pass_cost cost = {.size = sizeof cost};
    ppsched_status status = ppsched_description_from_transformer(&description, &shape, &attempt->own.environment,
                                                                 &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_model_create_measured(&made, description, NULL, ppsched_accelerator_at(0), &table,
                                               &attempt->own.environment, &attempt->error);
    ppsched_description_release(description);
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    status = ppsched_model_get_pass_cost(&cost, made, 1, PPSCHED_MODEL_PASS_FORWARD, &attempt->error);
    fprintf(attempt->result, "%a\n", cost.time);
    ppsched_model_destroy(made);
    return status;
}

static ppsched_status price_create(struct attempt *attempt)
{
    const ppsched_training windowed = {.size = sizeof windowed, .flags = PPSCHED_TRAINING_FLAG_WINDOWS_EXPERTS};
    const int has_pairs = attempt->variant == 1;
    const ppsched_pipeline pipeline = {.size = sizeof pipeline,
                                       .devices = 2,
                                       .microbatches = 3,
                                       .recompute = "full",
                                       .strategy = has_pairs ? "1f1b_overlap" : NULL,
                                       .pair_rule = has_pairs ? PPSCHED_PAIR_RULE_MEGATRON_DELAYED : 0};
    const ppsched_description *description = NULL;
    ppsched_price *made = UNTOUCHED;
    ppsched_model *model = NULL;
    ppsched_step_price step = {.size = sizeof step};
    ppsched_status status = ppsched_description_from_transformer(&description, &shape, &attempt->own.environment,
                                                                 &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_model_create(&model, description, has_pairs ? &windowed : NULL, ppsched_accelerator_at(0),
                                      &attempt->own.environment, &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_price_create(&made, model, &pipeline, &attempt->own.environment, &attempt->error);
    ppsched_model_destroy(model);
    ppsched_description_release(description);
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    status = ppsched_price_get_step(&step, made, &attempt->error);
    fprintf(attempt->result, "%a\n", step.step_time);
    ppsched_price_destroy(made);
    return status;
}

/* A slow device; one that is lost, with the order free, and recomputation under a limit; V, and bytes of each layer. */
static void prepare_replan(struct attempt *attempt)
{
    static const double speeds[] = {1, 0.5};
    if (attempt->variant != 1)
        expect_ok(ppsched_config_set_values(attempt->own.plain, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, 2, NULL), NULL);
    else
        set_number(attempt->own.plain, PPSCHED_QUANTITY_MEM_LIMIT, 12);
}

static ppsched_status replan_create(struct attempt *attempt)
{
    static const uint32_t split[] = {2, 1, 2, 1}, lost[] = {0};
    static const double bytes[] = {1, 2, 3, 4, 5, 6};
    const int variant = attempt->variant;
    const ppsched_replan_options options = {.size = sizeof options,
                                            .strategy = variant == 2 ? "zbv" : "1f1b",
                                            .layers = attempt->own.layers,
                                            .running_split = variant == 2 ? split : (const uint32_t[]){3, 3},
                                            .running_stages = variant == 2 ? 4 : 2,
                                            .lost = lost,
                                            .lost_count = variant == 1,
                                            .free_device_order = variant == 1,
                                            .layer_bytes = variant == 2 ? bytes : NULL,
                                            .layer_count = 6};
    ppsched_replan_figures figures = {.size = sizeof figures};
    ppsched_replan *made = UNTOUCHED;
    ppsched_status status = ppsched_replan_create(&made, attempt->own.plain, &options, &attempt->error);
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    expect_ok(ppsched_replan_get_figures(&figures, made, NULL), NULL);
    fprintf(attempt->result, "%a %a %a\n", figures.step_time, figures.moved_bytes, figures.loaded_bytes);
    ppsched_replan_destroy(made);
    return status;
}

/* Two; the same with a slow device and the order of devices free. */
static void prepare_replicas(struct attempt *attempt)
{
    static const double speeds[] = {1, 0.5};
    if (attempt->variant == 1)
        expect_ok(ppsched_config_set_values(attempt->own.plain, PPSCHED_QUANTITY_DEVICE_SPEEDS, speeds, 2, NULL), NULL);
}

static ppsched_status replicas_create(struct attempt *attempt)
{
    const int variant = attempt->variant;
    const ppsched_replicas_options options = {.size = sizeof options,
                                              .microbatches = 6,
                                              .strategy = "1f1b",
                                              .layers = attempt->own.layers,
                                              .free_device_order = variant == 1};
    const ppsched_config *const configs[] = {attempt->own.plain, attempt->own.plain};
    ppsched_replicas_figures figures = {.size = sizeof figures};
    ppsched_replicas *made = UNTOUCHED;
    ppsched_status status = ppsched_replicas_create(&made, configs, 2, &options, &attempt->error);
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    expect_ok(ppsched_replicas_get_figures(&figures, made, NULL), NULL);
    fprintf(attempt->result, "%a %a\n", figures.step_time, figures.equal_step_time);
    ppsched_replicas_destroy(made);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHORTAGE(config_create, .variants = 1),
        SHORTAGE(config_copy, .variants = 2, .prepare = prepare_map),
        SHORTAGE(config_with_stages, .variants = 3),
        SHORTAGE(layers_create, .variants = 2),
        SHORTAGE(config_from_layers, .variants = 2),
        SHORTAGE(replan_create, .variants = 3, .prepare = prepare_replan),
        SHORTAGE(replicas_create, .variants = 2, .prepare = prepare_replicas),
        SHORTAGE(config_with_microbatches, .variants = 2, .prepare = prepare_map),
        SHORTAGE(config_set_placement, .variants = 1),
        SHORTAGE(config_set_stage_inputs, .variants = 1),
        SHORTAGE(config_set_stage_passes, .variants = 1),
        SHORTAGE(config_set_stage_microbatches, .variants = 1),
        SHORTAGE(config_set_stage_devices, .variants = 1),
        SHORTAGE(config_order_devices, .variants = 2, .prepare = prepare_devices),
        SHORTAGE(config_set_values, .variants = 2),
        SHORTAGE(config_set_windows, .variants = 2),
        SHORTAGE(pair_find_order, .variants = 2),
        SHORTAGE(pair_run_order, .variants = 1),
        SHORTAGE(config_set_option, .variants = 3),
        SHORTAGE(config_set_robust_objective, .variants = 2),
        SHORTAGE(config_find_bound, .variants = 8, .prepare = prepare_bound),
        SHORTAGE(config_prove_bound, .variants = 4, .prepare = prepare_bound),
        SHORTAGE(builder_create, .variants = 1),
        SHORTAGE(builder_append, .variants = 2),
        SHORTAGE(builder_set_name, .variants = 1),
        SHORTAGE(builder_finish, .variants = 1),
        SHORTAGE(schedule_generate, .variants = 2 * (int)ppsched_strategy_count(), .prepare = prepare_strategy),
        SHORTAGE(steady_create, .variants = 3, .prepare = prepare_steady),
        SHORTAGE(schedule_generate_with, .variants = 1, .or_status = PPSCHED_ERROR_CALLBACK),
        SHORTAGE(schedule_import, .variants = 6),
        SHORTAGE(layout_create, .variants = 1),
        SHORTAGE(layout_create_from_text, .variants = 1),
        SHORTAGE(layout_create_from_megatron, .variants = 1),
        SHORTAGE(layout_create_from_torchtitan, .variants = 1),
        SHORTAGE(description_create, .variants = 1),
        SHORTAGE(description_guess, .variants = 1),
        SHORTAGE(description_read, .variants = 2),
        SHORTAGE(description_from_transformer, .variants = 1),
        SHORTAGE(model_create, .variants = 1),
        SHORTAGE(layers_from_model, .variants = 2),
        SHORTAGE(model_create_measured, .variants = 1),
        SHORTAGE(price_create, .variants = 2),
    };
    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
