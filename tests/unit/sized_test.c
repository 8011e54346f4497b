/* SPDX-License-Identifier: Apache-2.0 */
/* Sized structs in each call that reads or fills them: every size from an older caller's to a newer one's, and sizes that no
 * caller has. tests/abi/faults.py holds the table against the headers. */
#include "support/handles.h"

#include <string.h>

enum { LARGEST = 4096, DIRT = 0xA5 };

/* --- calls that read one --- */

static char untouched;
#define UNTOUCHED ((void *)&untouched) /* a call that fails leaves it so */

static ppsched_status create_config(struct handles *own, void *given)
{
    ppsched_config *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_config_create(&made, 1, 1, 1, given, NULL);
    if (status == PPSCHED_OK)
        ppsched_config_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static void take_schedule(ppsched_status status, ppsched_schedule *made)
{
    if (status == PPSCHED_OK)
        ppsched_schedule_release(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
}

static ppsched_status import(struct handles *own, void *given)
{
    ppsched_schedule *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_schedule_import(&made, PPSCHED_FORMAT_CSV, "0F0,0B0\n", 8, given, NULL);
    take_schedule(status, made);
    return status;
}

static ppsched_status lower(struct handles *own, void *given)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_lower(&made, own->schedule, own->config, given, NULL);
    take_schedule(status, made);
    return status;
}

static ppsched_status create_chakra(struct handles *own, void *given)
{
    ppsched_config *config = make_config(2, 4, 4); /* whole times */
    ppsched_chakra *made = UNTOUCHED;
    ppsched_status status = ppsched_chakra_create(&made, own->lowered, config, given, NULL);
    if (status == PPSCHED_OK)
        ppsched_chakra_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    ppsched_config_destroy(config);
    return status;
}

static ppsched_status import_chakra(struct handles *own, void *given)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_config *config = UNTOUCHED;
    const ppsched_chakra_trace trace = {"\3\12\1x"
                                        "\13\10\0\22\0030F0\30\0048\1"
                                        "\13\10\1\22\0030B0\30\0048\1",
                                        28};
    (void)own;
    ppsched_status status = ppsched_chakra_import(&made, &config, &trace, 1, given, NULL);
    take_schedule(status, made);
    if (status == PPSCHED_OK)
        ppsched_config_destroy(config);
    else
        assert_ptr_equal(config, UNTOUCHED);
    return status;
}

static ppsched_status recompute(struct handles *own, void *given)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_recompute(&made, own->schedule, given, NULL);
    take_schedule(status, made);
    return status;
}

static ppsched_status offload(struct handles *own, void *given)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_offload(&made, own->schedule, own->config, given, NULL);
    take_schedule(status, made);
    return status;
}

static ppsched_status set_robust_objective(struct handles *own, void *given)
{
    return ppsched_config_set_robust_objective(own->config, PPSCHED_RANK_BY_WORST, 0, 2, given, NULL);
}

static ppsched_status order_microbatches(struct handles *own, void *given)
{
    static const double scale[] = {1, 3, 2, 0.5};
    ppsched_config *made = UNTOUCHED;
    uint32_t order[4];
    expect_ok(ppsched_config_set_values(own->config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 4, NULL), NULL);
    ppsched_status status = ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(own->config), NULL, &made,
                                                                own->schedule, own->config, given, NULL);
    if (status == PPSCHED_OK)
        ppsched_config_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status evaluate_scenarios(struct handles *own, void *given)
{
    ppsched_scenarios *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_evaluate_scenarios(&made, own->schedule, own->config, 2, given, NULL);
    if (status == PPSCHED_OK)
        ppsched_scenarios_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status scenario_metrics(struct handles *own, void *given)
{
    ppsched_scenarios *made = NULL;
    expect_ok(ppsched_schedule_evaluate_scenarios(&made, own->schedule, own->config, 2, NULL, NULL), NULL);
    ppsched_status status = ppsched_scenarios_get_metrics(given, made, NULL);
    ppsched_scenarios_destroy(made);
    return status;
}

static ppsched_status balance_in(struct handles *own, void *given)
{
    static const double costs[] = {2, 1};
    ppsched_balance balance = {.size = sizeof balance};
    uint32_t replica[2];
    (void)own;
    return ppsched_microbatches_balance(replica, 2, NULL, &balance, costs, 2, 2, 0, given, NULL);
}

static ppsched_status balance(struct handles *own, void *given)
{
    static const double costs[] = {2, 1};
    uint32_t replica[2];
    (void)own;
    return ppsched_microbatches_balance(replica, 2, NULL, given, costs, 2, 2, 0, NULL, NULL);
}

static ppsched_status prove(struct handles *own, void *given)
{
    size_t count = 99;
    ppsched_status status = ppsched_schedule_prove(NULL, 0, &count, own->lowered, given, NULL);
    assert_int_equal(count, status == PPSCHED_OK ? 0 : 99);
    return status;
}

static ppsched_status evaluate_transfers(struct handles *own, void *given)
{
    ppsched_timeline *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_evaluate_transfers(&made, own->lowered, own->config, given, 0, NULL);
    if (status == PPSCHED_OK)
        ppsched_timeline_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status create_plan(struct handles *own, void *given)
{
    ppsched_plan *made = UNTOUCHED;
    ppsched_status status = ppsched_plan_create(&made, own->plain, given, NULL);
    if (status == PPSCHED_OK)
        ppsched_plan_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

/* An end of the model within the options, whichever it is. */
static ppsched_status create_plan_for_end(struct handles *own, void *given)
{
    ppsched_status status = create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .embedding = given});
    assert_int_equal(create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .head = given}), status);
    return status;
}

static ppsched_status restage(struct handles *own, const void *embedding, const void *head)
{
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_config_with_stages(&made, own->plain, ppsched_config_stages(own->plain), embedding, head,
                                                       NULL);
    if (status == PPSCHED_OK)
        ppsched_config_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status restage_end(struct handles *own, void *given)
{
    ppsched_status status = restage(own, given, NULL);
    assert_int_equal(restage(own, NULL, given), status);
    return status;
}

/* A copy of all that was given, with a pointer in a place that no size lacks. */
static void *with_pointer(const void *given, size_t offset, const void *pointer)
{
    static union {
        max_align_t alignment;
        unsigned char bytes[2 * LARGEST];
    } copy;
    memcpy(copy.bytes, given, sizeof copy.bytes);
    memcpy(copy.bytes + offset, &pointer, sizeof pointer);
    return copy.bytes;
}

/* What the options point to. */
static ppsched_status create_plan_for_scenarios(struct handles *own, void *given)
{
    const ppsched_ranking_options ranking = {.size = sizeof ranking, .scenario_options = given, .scenario_count = 2};
    return create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .ranking = &ranking});
}

static ppsched_status create_plan_for_ranking(struct handles *own, void *given)
{
    return create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .ranking = given});
}

static ppsched_status create_plan_for_slices(struct handles *own, void *given)
{
    return create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .slice = given});
}

static ppsched_status create_plan_for_split(struct handles *own, void *given)
{
    const ppsched_split_options *split = with_pointer(given, offsetof(ppsched_split_options, layers), own->layers);
    return create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .split = split});
}

static ppsched_status create_replan(struct handles *own, void *given)
{
    static const uint32_t split[] = {3, 3}, stages = 2, none = 0;
    static const char *const strategy = "1f1b";
    ppsched_replan *made = UNTOUCHED;
    unsigned char *options = with_pointer(given, offsetof(ppsched_replan_options, layers), own->layers);
    const uint32_t *const counts = split;
    memcpy(options + offsetof(ppsched_replan_options, strategy), &strategy, sizeof strategy);
    memcpy(options + offsetof(ppsched_replan_options, running_split), &counts, sizeof counts);
    memcpy(options + offsetof(ppsched_replan_options, running_stages), &stages, sizeof stages);
    memcpy(options + offsetof(ppsched_replan_options, lost_count), &none, sizeof none);
    ppsched_status status = ppsched_replan_create(&made, own->plain, (void *)options, NULL);
    if (status == PPSCHED_OK)
        ppsched_replan_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status create_replicas(struct handles *own, void *given)
{
    static const uint32_t whole = 3, none = 0;
    static const char *const strategy = "1f1b";
    const ppsched_config *const configs[] = {own->plain, own->plain};
    ppsched_replicas *made = UNTOUCHED;
    unsigned char *options = with_pointer(given, offsetof(ppsched_replicas_options, layers), own->layers);
    memcpy(options + offsetof(ppsched_replicas_options, strategy), &strategy, sizeof strategy);
    memcpy(options + offsetof(ppsched_replicas_options, microbatches), &whole, sizeof whole);
    memcpy(options + offsetof(ppsched_replicas_options, chunks), &none, sizeof none);
    memcpy(options + offsetof(ppsched_replicas_options, group_size), &none, sizeof none);
    ppsched_status status = ppsched_replicas_create(&made, configs, 2, (void *)options, NULL);
    if (status == PPSCHED_OK)
        ppsched_replicas_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status create_plan_for_lowering(struct handles *own, void *given)
{
    static const int32_t lowering = PPSCHED_LOWERING_PYTORCH;
    unsigned char *lower = with_pointer(given, offsetof(ppsched_lower_options, unshard_lookaheads), NULL);
    memcpy(lower + offsetof(ppsched_lower_options, lowering), &lowering, sizeof lowering);
    return create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .lower = (void *)lower});
}

static ppsched_status create_plan_for_channel(struct handles *own, void *given)
{
    return create_plan(own, &(ppsched_plan_options){.size = sizeof(ppsched_plan_options), .channel = given});
}

static int32_t count_bytes(void *user, const char *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return 0;
}

static ppsched_status export(struct handles *own, void *given)
{
    size_t written = 0;
    ppsched_status status = ppsched_schedule_export(own->schedule, own->timeline, PPSCHED_FORMAT_TEXT, given, count_bytes,
                                                    &written, NULL);
    assert_int_equal(written > 0, status == PPSCHED_OK);
    return status;
}

static ppsched_status export_to_buffer(struct handles *own, void *given)
{
    size_t needed = 0;
    ppsched_status status = ppsched_schedule_export_to_buffer(NULL, 0, &needed, own->schedule, own->timeline,
                                                              PPSCHED_FORMAT_TEXT, given, NULL);
    assert_int_equal(needed > 0, status == PPSCHED_OK);
    return status;
}

static ppsched_status launch(struct handles *own, void *given)
{
    size_t needed = 0;
    ppsched_status status = ppsched_schedule_write_launch_arguments(NULL, 0, &needed, own->pipeline, PPSCHED_RUNTIME_MEGATRON,
                                                                    given, NULL);
    assert_int_equal(needed > 0, status == PPSCHED_OK);
    return status;
}

/* --- layers --- */

static ppsched_status take_layers(ppsched_status status, const ppsched_layers *made)
{
    if (status == PPSCHED_OK)
        ppsched_layers_release(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status layers_of_entry(struct handles *own, void *given)
{
    const ppsched_layer *entry = with_pointer(given, offsetof(ppsched_layer, name), "decoder");
    const ppsched_layers *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layers_create(&made, &entry, 1, NULL, NULL);
    return take_layers(status, made);
}

/* A copy of what was given, with all fields after the size as in `own`. */
static const void *with_fields(const void *given, const void *own, size_t size)
{
    unsigned char *copy = with_pointer(given, sizeof(uint32_t), NULL);
    memcpy(copy + sizeof(uint32_t), (const unsigned char *)own + sizeof(uint32_t), size - sizeof(uint32_t));
    return copy;
}

static const ppsched_window a_window = {.time = 1};

static const ppsched_pair_windows *pair_of(const void *given)
{
    static const ppsched_pair_windows pair = {
        .size = sizeof pair, .forward = &a_window, .forward_count = 1, .backward = &a_window, .backward_count = 1};
    return given == NULL ? &pair : with_fields(given, &pair, sizeof pair);
}

static ppsched_status layers_of_windows(struct handles *own, void *given)
{
    const ppsched_layer layer = {.size = sizeof layer,
                                 .name = "decoder",
                                 .forward_time = a_window.time,
                                 .backward_time = a_window.time,
                                 .backward_input_time = a_window.time,
                                 .windows = pair_of(given)},
                        *entry = &layer;
    const ppsched_layers *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layers_create(&made, &entry, 1, NULL, NULL);
    return take_layers(status, made);
}

static ppsched_status layers_of_environment(struct handles *own, void *given)
{
    const ppsched_layer layer = {.size = sizeof layer, .name = "decoder"}, *entry = &layer;
    const ppsched_layers *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layers_create(&made, &entry, 1, given, NULL);
    return take_layers(status, made);
}

/* A split of the handles' layers in two stages. */
static const ppsched_split *split_of(const void *given)
{
    static const uint32_t counts[] = {3, 3}, stages = 2;
    unsigned char *split = with_pointer(given, offsetof(ppsched_split, layers), counts);
    memcpy(split + offsetof(ppsched_split, stages), &stages, sizeof stages);
    return (const ppsched_split *)split;
}

static ppsched_status config_of_split(struct handles *own, void *given)
{
    ppsched_config *made = UNTOUCHED;
    ppsched_status status = ppsched_config_from_layers(&made, own->plain, own->layers, split_of(given), NULL);
    if (status == PPSCHED_OK)
        ppsched_config_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status launch_split(struct handles *own, void *given)
{
    const ppsched_launch_options options = {.size = sizeof options, .model = own->layers, .split = split_of(given)};
    return ppsched_schedule_write_launch_arguments(NULL, 0, NULL, own->pipeline, PPSCHED_RUNTIME_MEGATRON, &options, NULL);
}

/* --- layouts --- */

static ppsched_status take_layout(ppsched_status status, ppsched_layout *made)
{
    if (status == PPSCHED_OK)
        ppsched_layout_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status layout_of_stages(struct handles *own, void *given)
{
    ppsched_layout *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layout_create(&made, 1, &(ppsched_layout_stage){1, 0, 0, 1}, 1, given, NULL);
    return take_layout(status, made);
}

static ppsched_status layout_of_text(struct handles *own, void *given)
{
    ppsched_layout *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layout_create_from_text(&made, "EtL", 3, 1, NULL, given, NULL);
    return take_layout(status, made);
}

static ppsched_status layout_by_rules(struct handles *own, void *given)
{
    ppsched_layout *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layout_create_from_text(&made, "EtL", 3, 1, given, NULL, NULL);
    return take_layout(status, made);
}

static ppsched_status layout_of_megatron(struct handles *own, void *given)
{
    ppsched_layout *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layout_create_from_megatron(&made, 4, 2, NULL, given, NULL);
    return take_layout(status, made);
}

static ppsched_status layout_by_flags(struct handles *own, void *given)
{
    ppsched_layout *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layout_create_from_megatron(&made, 4, 2, given, NULL, NULL);
    return take_layout(status, made);
}

static ppsched_status layout_of_torchtitan(struct handles *own, void *given)
{
    ppsched_layout *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_layout_create_from_torchtitan(&made, 4, 2, 2, 1, 1, given, NULL);
    return take_layout(status, made);
}
/* --- models --- */

/* A small transformer in a copy of what was given, all of whose sizes have these fields. */
static const ppsched_transformer *shape_of(const void *given)
{
    const ppsched_transformer shape = {.layers = 2, .hidden_size = 8, .ffn_size = 8, .heads = 2, .vocabulary_size = 16};
    unsigned char *copy = with_pointer(given, offsetof(ppsched_transformer, query_rank), NULL);
    memcpy(copy + sizeof shape.size, (const unsigned char *)&shape + sizeof shape.size,
           offsetof(ppsched_transformer, query_rank) - sizeof shape.size);
    return (const ppsched_transformer *)copy;
}

static ppsched_status take_description(ppsched_status status, const ppsched_description *made)
{
    if (status == PPSCHED_OK)
        ppsched_description_release(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status description_of_shape(struct handles *own, void *given)
{
    const ppsched_description *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_description_from_transformer(&made, shape_of(given), NULL, NULL);
    return take_description(status, made);
}

/* One for all, so that what structs point to stays the same; the caller releases its reference. */
static const ppsched_description *small_description(void)
{
    static const ppsched_description *kept = NULL;
    static unsigned char none[2 * LARGEST];
    const uint32_t size = sizeof(ppsched_transformer);
    memcpy(none, &size, sizeof size);
    if (kept == NULL)
        assert_int_equal(ppsched_description_from_transformer(&kept, shape_of(none), NULL, NULL), PPSCHED_OK);
    return ppsched_description_retain(kept);
}

static ppsched_status description_of_environment(struct handles *own, void *given)
{
    static const char text[] = "{\"hidden_size\": 8, \"vocabulary_size\": 9, \"kinds\": {\"a\": []}, \"layers\": [\"a\"]}";
    const ppsched_description *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_description_read(&made, text, sizeof text - 1, given, NULL);
    return take_description(status, made);
}

/* Parts of a whole description, of which one is what was given. */
struct parts {
    ppsched_block block;
    ppsched_layer_kind kind;
    ppsched_tower tower;
    ppsched_description_info info;
    const ppsched_block *blocks[1];
    const ppsched_layer_kind *kinds[1];
    const ppsched_tower *towers[1];
    uint32_t layers[1];
};

static void fill_parts(struct parts *parts)
{
    *parts = (struct parts){.block = {.size = sizeof parts->block, .kind = PPSCHED_BLOCK_KIND_LINEAR}};
    parts->kind = (ppsched_layer_kind){.size = sizeof parts->kind, .block_count = 1, .name = "a", .blocks = parts->blocks};
    parts->tower = (ppsched_tower){
        .size = sizeof parts->tower, .name = "t", .hidden_size = 8, .layers = 1, .tokens = 1, .kind = &parts->kind};
    parts->info = (ppsched_description_info){.size = sizeof parts->info,
                                             .hidden_size = 8,
                                             .vocabulary_size = 9,
                                             .layer_count = 1,
                                             .layers = parts->layers,
                                             .kinds = parts->kinds,
                                             .kind_count = 1,
                                             .tower_count = 1,
                                             .towers = parts->towers};
    parts->blocks[0] = &parts->block, parts->kinds[0] = &parts->kind, parts->towers[0] = &parts->tower;
}

static ppsched_status create_description(const ppsched_description_info *info, const ppsched_environment *environment)
{
    const ppsched_description *made = UNTOUCHED;
    ppsched_status status = ppsched_description_create(&made, info, environment, NULL);
    return take_description(status, made);
}

/* A prompt of one token. */
static ppsched_status find_chunks(const void *prefill, void *figures)
{
    static const ppsched_prefill own = {.size = sizeof own, .tokens = 1, .constant = 1};
    ppsched_prefill_figures found = {.size = sizeof found};
    ppsched_config *config = NULL;
    uint64_t tokens = 0;
    expect_ok(ppsched_config_create(&config, 2, 2, 1, NULL, NULL), NULL);
    expect_ok(ppsched_config_set_forward_only(config, 1, NULL), NULL);
    const ppsched_prefill *prompt = prefill != NULL ? with_fields(prefill, &own, sizeof own) : &own;
    ppsched_status status = ppsched_prefill_find_chunks(&tokens, 1, NULL, figures != NULL ? figures : &found, prompt, config,
                                                        "looped_bfs", NULL);
    ppsched_config_destroy(config);
    return status;
}

static ppsched_status find_chunks_of(struct handles *own, void *given)
{
    (void)own;
    return find_chunks(given, NULL);
}

static ppsched_status find_chunks_figures(struct handles *own, void *given)
{
    (void)own;
    return find_chunks(NULL, given);
}

static ppsched_status config_of_chunks(struct handles *own, void *given)
{
    static const ppsched_prefill prefill = {.size = sizeof prefill, .tokens = 3, .constant = 1};
    static const uint64_t chunks[] = {2, 1};
    ppsched_config *config = NULL, *made = UNTOUCHED;
    (void)own;
    expect_ok(ppsched_config_create(&config, 2, 2, 1, NULL, NULL), NULL);
    expect_ok(ppsched_config_set_forward_only(config, 1, NULL), NULL);
    ppsched_status status = ppsched_prefill_create_config(&made, with_fields(given, &prefill, sizeof prefill), config, chunks,
                                                          2, NULL);
    if (status == PPSCHED_OK)
        ppsched_config_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    ppsched_config_destroy(config);
    return status;
}

/* A pair of one window each, as far as the caller's size has its fields. */
static ppsched_status find_order(const void *pair, void *times, const void *environment)
{
    ppsched_pair_times own = {.size = sizeof own};
    ppsched_window_span spans[2];
    return ppsched_pair_find_order(spans, 2, NULL, times != NULL ? times : &own, pair_of(pair), environment, NULL);
}

static ppsched_status run_order(const void *pair, void *times, const void *environment)
{
    static const int32_t kinds[] = {PPSCHED_KIND_B, PPSCHED_KIND_F};
    ppsched_pair_times own = {.size = sizeof own};
    ppsched_window_span spans[2];
    return ppsched_pair_run_order(spans, 2, NULL, times != NULL ? times : &own, pair_of(pair), kinds, 2, environment, NULL);
}

static ppsched_status find_order_of_pair(struct handles *own, void *given)
{
    (void)own;
    return find_order(given, NULL, NULL);
}

static ppsched_status find_order_in(struct handles *own, void *given)
{
    (void)own;
    return find_order(NULL, NULL, given);
}

static ppsched_status find_order_times(struct handles *own, void *given)
{
    (void)own;
    return find_order(NULL, given, NULL);
}

static ppsched_status run_order_of_pair(struct handles *own, void *given)
{
    (void)own;
    return run_order(given, NULL, NULL);
}

static ppsched_status run_order_in(struct handles *own, void *given)
{
    (void)own;
    return run_order(NULL, NULL, given);
}

static ppsched_status run_order_times(struct handles *own, void *given)
{
    (void)own;
    return run_order(NULL, given, NULL);
}

static ppsched_status set_windows(struct handles *own, void *given)
{
    const ppsched_pair_windows *stages[] = {pair_of(given)};
    return ppsched_config_set_windows(own->config, stages, 1, NULL);
}

static ppsched_status create_of_block(struct handles *own, void *given)
{
    struct parts parts;
    (void)own;
    fill_parts(&parts);
    parts.blocks[0] = with_fields(given, &parts.block, sizeof parts.block);
    return create_description(&parts.info, NULL);
}

static ppsched_status create_of_kind(struct handles *own, void *given)
{
    struct parts parts;
    (void)own;
    fill_parts(&parts);
    parts.kinds[0] = with_fields(given, &parts.kind, sizeof parts.kind);
    return create_description(&parts.info, NULL);
}

static ppsched_status create_of_tower(struct handles *own, void *given)
{
    struct parts parts;
    (void)own;
    fill_parts(&parts);
    parts.towers[0] = with_fields(given, &parts.tower, sizeof parts.tower);
    return create_description(&parts.info, NULL);
}

static ppsched_status create_of_info(struct handles *own, void *given)
{
    struct parts parts;
    (void)own;
    fill_parts(&parts);
    return create_description(with_fields(given, &parts.info, sizeof parts.info), NULL);
}

static ppsched_status create_of_environment(struct handles *own, void *given)
{
    struct parts parts;
    (void)own;
    fill_parts(&parts);
    return create_description(&parts.info, given);
}

static ppsched_status describe_shape_in(struct handles *own, void *given)
{
    const ppsched_transformer shape = {
        .size = sizeof shape, .layers = 2, .hidden_size = 8, .ffn_size = 8, .heads = 2, .vocabulary_size = 16};
    const ppsched_description *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_description_from_transformer(&made, &shape, given, NULL);
    return take_description(status, made);
}

static ppsched_status guess_in(struct handles *own, void *given)
{
    static const char text[] = "{\"model_type\": \"new\", \"hidden_size\": 8}";
    const ppsched_description *made = UNTOUCHED;
    (void)own;
    ppsched_status status = ppsched_description_guess(&made, text, sizeof text - 1, given, NULL);
    return take_description(status, made);
}

static ppsched_status description_info(struct handles *own, void *given)
{
    const ppsched_description *description = small_description();
    (void)own;
    ppsched_status status = ppsched_description_get_info(given, description, NULL);
    ppsched_description_release(description);
    return status;
}

union padded_accelerator {
    max_align_t alignment;
    unsigned char bytes[2 * LARGEST];
};

/* One of the size that is given. If it is too small, its size is told before its rates are looked at. */
static const ppsched_accelerator *known_accelerator(union padded_accelerator *copy, const void *given)
{
    const ppsched_accelerator *known = ppsched_accelerator_at(0);
    memcpy(copy->bytes, given, sizeof copy->bytes);
    memcpy(copy->bytes + sizeof known->size, (const unsigned char *)known + sizeof known->size,
           sizeof *known - sizeof known->size);
    return (const ppsched_accelerator *)copy;
}

/* A model of the small description. */
static ppsched_status model_with(const ppsched_training *training, const ppsched_accelerator *accelerator,
                                 const ppsched_environment *environment)
{
    const ppsched_description *description = small_description();
    ppsched_model *made = UNTOUCHED;
    ppsched_status status = ppsched_model_create(&made, description, training, accelerator, environment, NULL);
    ppsched_description_release(description);
    if (status == PPSCHED_OK)
        ppsched_model_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status model_of_training(struct handles *own, void *given)
{
    (void)own;
    return model_with(given, NULL, NULL);
}

static ppsched_status model_of_accelerator(struct handles *own, void *given)
{
    union padded_accelerator copy;
    (void)own;
    return model_with(NULL, known_accelerator(&copy, given), NULL);
}

static ppsched_status model_of_environment(struct handles *own, void *given)
{
    (void)own;
    return model_with(NULL, NULL, given);
}

/* --- measured models --- */

static ppsched_status measured_with(const ppsched_training *training, const ppsched_accelerator *accelerator,
                                    const ppsched_layer_table *table, const ppsched_environment *environment)
{
    const ppsched_layer_table empty = {.size = sizeof empty};
    const ppsched_description *description = small_description();
    ppsched_model *made = UNTOUCHED;
    ppsched_status status = ppsched_model_create_measured(&made, description, training,
                                                          accelerator != NULL ? accelerator : ppsched_accelerator_at(0),
                                                          table != NULL ? table : &empty, environment, NULL);
    ppsched_description_release(description);
    if (status == PPSCHED_OK)
        ppsched_model_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status measured_of_training(struct handles *own, void *given)
{
    (void)own;
    return measured_with(given, NULL, NULL, NULL);
}

static ppsched_status measured_of_accelerator(struct handles *own, void *given)
{
    union padded_accelerator copy;
    (void)own;
    return measured_with(NULL, known_accelerator(&copy, given), NULL, NULL);
}

static ppsched_status measured_of_table(struct handles *own, void *given)
{
    (void)own;
    return measured_with(NULL, NULL, given, NULL);
}

static ppsched_status measured_of_environment(struct handles *own, void *given)
{
    (void)own;
    return measured_with(NULL, NULL, NULL, given);
}

static ppsched_model *small_model(void)
{
    const ppsched_description *description = small_description();
    ppsched_model *model = NULL;
    assert_int_equal(ppsched_model_create(&model, description, NULL, ppsched_accelerator_at(0), NULL, NULL), PPSCHED_OK);
    ppsched_description_release(description);
    return model;
}

static ppsched_status layers_by_calibration(struct handles *own, void *given)
{
    static const uint32_t rows = 0;
    const ppsched_layers *made = UNTOUCHED;
    ppsched_model *model = small_model(); /* before the copy, which has the same place */
    unsigned char *copy = with_pointer(given, offsetof(ppsched_calibration, factors), NULL);
    (void)own;
    memcpy(copy + offsetof(ppsched_calibration, rows), &rows, sizeof rows);
    ppsched_status status = ppsched_layers_from_model(&made, model, (const ppsched_calibration *)copy, NULL);
    ppsched_model_destroy(model);
    return take_layers(status, made);
}

static ppsched_status estimate(ppsched_megatron_memory *out, ppsched_model *model, const ppsched_megatron_pipeline *pipeline)
{
    ppsched_status status = ppsched_model_get_megatron_memory(out, model, pipeline, NULL);
    ppsched_model_destroy(model);
    return status;
}

static ppsched_status megatron_pipeline(struct handles *own, void *given)
{
    static const uint32_t devices = 2;
    ppsched_megatron_memory out = {.size = sizeof out};
    ppsched_model *model = small_model(); /* before the copy, which has the same place */
    unsigned char *copy = with_pointer(given, offsetof(ppsched_megatron_pipeline, chunks), NULL);
    (void)own;
    memcpy(copy + offsetof(ppsched_megatron_pipeline, devices), &devices, sizeof devices);
    return estimate(&out, model, (const ppsched_megatron_pipeline *)copy);
}

/* --- prices --- */

static ppsched_status price_with(const ppsched_pipeline *pipeline, const ppsched_environment *environment)
{
    ppsched_model *model = small_model();
    ppsched_price *made = UNTOUCHED;
    ppsched_status status = ppsched_price_create(&made, model, pipeline, environment, NULL);
    ppsched_model_destroy(model);
    if (status == PPSCHED_OK)
        ppsched_price_destroy(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    return status;
}

static ppsched_status price_in(struct handles *own, void *given)
{
    (void)own;
    return price_with(NULL, given);
}

static ppsched_status price_of_pipeline(struct handles *own, void *given)
{
    (void)own;
    return price_with(given, NULL);
}

static ppsched_status pipeline_link(struct handles *own, void *given)
{
    ppsched_model *model = small_model();
    (void)own;
    ppsched_status status = ppsched_model_get_pipeline_link(NULL, NULL, model, given, 0, 0, NULL);
    ppsched_model_destroy(model);
    return status;
}

static ppsched_status pipeline_update(struct handles *own, void *given)
{
    ppsched_model *model = small_model();
    ppsched_update_cost cost = {.size = sizeof cost};
    (void)own;
    ppsched_status status = ppsched_model_get_pipeline_update_cost(&cost, model, given, 100, 0, NULL);
    ppsched_model_destroy(model);
    return status;
}

static ppsched_status row_measure(struct handles *own, void *given)
{
    ppsched_model *model = small_model();
    (void)own;
    ppsched_status status = ppsched_model_get_row_measure(given, model, 0, NULL);
    ppsched_model_destroy(model);
    return status;
}

static ppsched_price *small_price(void)
{
    ppsched_model *model = small_model();
    ppsched_price *price = NULL;
    assert_int_equal(ppsched_price_create(&price, model, NULL, NULL, NULL), PPSCHED_OK);
    ppsched_model_destroy(model);
    return price;
}

static ppsched_status step_price(struct handles *own, void *given)
{
    ppsched_price *price = small_price();
    (void)own;
    ppsched_status status = ppsched_price_get_step(given, price, NULL);
    ppsched_price_destroy(price);
    return status;
}

static ppsched_status device_price(struct handles *own, void *given)
{
    ppsched_price *price = small_price();
    (void)own;
    ppsched_status status = ppsched_price_get_device(given, price, 0, NULL);
    ppsched_price_destroy(price);
    return status;
}

/* Of one price, whose split stays where it is. */
static ppsched_status price_pipeline(struct handles *own, void *given)
{
    static ppsched_price *price;
    (void)own;
    price = price != NULL ? price : small_price();
    return ppsched_price_get_pipeline(given, price, NULL);
}

/* --- calibrators --- */

static ppsched_calibrator *calibrator_with(ppsched_status *status, const ppsched_accelerator *accelerator,
                                           const ppsched_environment *environment)
{
    ppsched_calibrator *made = UNTOUCHED;
    *status = ppsched_calibrator_create(&made, accelerator != NULL ? accelerator : ppsched_accelerator_at(0), environment,
                                        NULL);
    if (*status == PPSCHED_OK)
        return made;
    assert_ptr_equal(made, UNTOUCHED);
    return NULL;
}

static ppsched_status calibrator_in(struct handles *own, void *given)
{
    ppsched_status status;
    (void)own;
    ppsched_calibrator_destroy(calibrator_with(&status, NULL, given));
    return status;
}

static ppsched_status calibrator_of_accelerator(struct handles *own, void *given)
{
    union padded_accelerator copy;
    ppsched_status status;
    (void)own;
    ppsched_calibrator_destroy(calibrator_with(&status, known_accelerator(&copy, given), NULL));
    return status;
}

static ppsched_status append_run(const ppsched_training *training, const ppsched_pipeline *pipeline)
{
    const ppsched_description *description = small_description();
    ppsched_status status;
    ppsched_calibrator *calibrator = calibrator_with(&status, NULL, NULL);
    status = ppsched_calibrator_append_run(calibrator, description, training, pipeline, 1, NULL);
    ppsched_description_release(description);
    ppsched_calibrator_destroy(calibrator);
    return status;
}

static ppsched_status run_of_training(struct handles *own, void *given)
{
    (void)own;
    return append_run(given, NULL);
}

static ppsched_status run_of_pipeline(struct handles *own, void *given)
{
    (void)own;
    return append_run(NULL, given);
}

/* Of one that has run, which stays where it is. */
static const ppsched_calibrator *calibrated(void)
{
    static ppsched_calibrator *calibrator;
    if (calibrator != NULL)
        return calibrator;
    const ppsched_description *description = small_description();
    ppsched_status status;
    calibrator = calibrator_with(&status, NULL, NULL);
    assert_int_equal(ppsched_calibrator_append_run(calibrator, description, NULL, NULL, 1, NULL), PPSCHED_OK);
    assert_int_equal(ppsched_calibrator_run(calibrator, NULL), PPSCHED_OK);
    ppsched_description_release(description);
    return calibrator;
}

static ppsched_status calibrated_constant(struct handles *own, void *given)
{
    (void)own;
    return ppsched_calibrator_get_constant(given, calibrated(), 0, NULL);
}

static ppsched_status calibrated_run(struct handles *own, void *given)
{
    (void)own;
    return ppsched_calibrator_get_run(given, calibrated(), 0, NULL);
}

static ppsched_status calibrated_accelerator(struct handles *own, void *given)
{
    (void)own;
    return ppsched_calibrator_get_accelerator(given, calibrated(), NULL);
}

/* --- jobs --- */

static ppsched_job *job_with(ppsched_status *status, const ppsched_training *training, const ppsched_accelerator *accelerator,
                             const ppsched_job_options *options, const ppsched_environment *environment)
{
    static const ppsched_job_options one = {.size = sizeof one, .gpus = 1};
    const ppsched_description *description = small_description();
    ppsched_job *made = UNTOUCHED;
    *status = ppsched_job_create(&made, description, training, accelerator != NULL ? accelerator : ppsched_accelerator_at(0),
                                 options != NULL ? options : &one, environment, NULL);
    ppsched_description_release(description);
    if (*status == PPSCHED_OK)
        return made;
    assert_ptr_equal(made, UNTOUCHED);
    return NULL;
}

static ppsched_status job_of(const ppsched_training *training, const ppsched_accelerator *accelerator,
                             const ppsched_job_options *options, const ppsched_environment *environment)
{
    ppsched_status status;
    ppsched_job_destroy(job_with(&status, training, accelerator, options, environment));
    return status;
}

static ppsched_status job_of_training(struct handles *own, void *given)
{
    (void)own;
    return job_of(given, NULL, NULL, NULL);
}

static ppsched_status job_of_environment(struct handles *own, void *given)
{
    (void)own;
    return job_of(NULL, NULL, NULL, given);
}

static ppsched_status job_of_accelerator(struct handles *own, void *given)
{
    union padded_accelerator copy;
    (void)own;
    return job_of(NULL, known_accelerator(&copy, given), NULL, NULL);
}

static ppsched_status job_of_options(struct handles *own, void *given)
{
    static const uint32_t gpus = 1;
    const ppsched_layer_table *none = NULL;
    unsigned char *copy = with_pointer(given, offsetof(ppsched_job_options, lists), NULL);
    (void)own;
    memcpy(copy + offsetof(ppsched_job_options, table), &none, sizeof none);
    memcpy(copy + offsetof(ppsched_job_options, gpus), &gpus, sizeof gpus);
    return job_of(NULL, NULL, (const ppsched_job_options *)copy, NULL);
}

static ppsched_status job_of_table(struct handles *own, void *given)
{
    const ppsched_job_options options = {.size = sizeof options, .gpus = 1, .table = given};
    (void)own;
    return job_of(NULL, NULL, &options, NULL);
}

static ppsched_status job_layout(struct handles *own, void *given)
{
    ppsched_status status;
    ppsched_job *job = job_with(&status, NULL, NULL, NULL, NULL);
    (void)own;
    status = ppsched_job_get_layout(given, job, 0, NULL);
    ppsched_job_destroy(job);
    return status;
}

static ppsched_status job_found(struct handles *own, void *given)
{
    ppsched_status status;
    ppsched_price *price = NULL;
    ppsched_job *job = job_with(&status, NULL, NULL, NULL, NULL);
    (void)own;
    status = ppsched_job_evaluate_layout(&price, given, job, 0, 1e9, NULL);
    ppsched_price_destroy(price);
    ppsched_job_destroy(job);
    return status;
}

/* --- calls that fill one --- */

static ppsched_status megatron_memory(struct handles *own, void *given)
{
    const ppsched_megatron_pipeline pipeline = {.size = sizeof pipeline, .devices = 2};
    (void)own;
    return estimate(given, small_model(), &pipeline);
}

/* Asks a model that is gone afterwards. */
#define OF_MODEL(name, ...)                                                                                                    \
    static ppsched_status name(struct handles *own, void *given)                                                               \
    {                                                                                                                          \
        ppsched_model *model = small_model();                                                                                  \
        (void)own;                                                                                                             \
        ppsched_status status = __VA_ARGS__;                                                                                   \
        ppsched_model_destroy(model);                                                                                          \
        return status;                                                                                                         \
    }

OF_MODEL(parameters, ppsched_model_get_parameters(given, model, NULL))
OF_MODEL(pass_cost, ppsched_model_get_pass_cost(given, model, 1, PPSCHED_MODEL_PASS_INPUT, NULL))
OF_MODEL(layer_memory, ppsched_model_get_memory(given, model, 1, NULL))
OF_MODEL(model_row, ppsched_model_get_row(given, model, 1, NULL))
OF_MODEL(update_cost_of_pipeline, ppsched_model_get_pipeline_update_cost(given, model, NULL, 100, 0, NULL))
OF_MODEL(update_cost, ppsched_model_get_update_cost(given, model, 100, 0, NULL))

static ppsched_status lower_bound(struct handles *own, void *given)
{
    return ppsched_config_find_bound(given, own->config, PPSCHED_OBJECTIVE_SPAN, NULL);
}

static ppsched_status proved_bound(struct handles *own, void *given)
{
    return ppsched_config_prove_bound(given, own->config, PPSCHED_OBJECTIVE_SPAN, 1, 1, NULL);
}

static ppsched_status metrics(struct handles *own, void *given)
{
    return ppsched_timeline_get_metrics(given, own->timeline, NULL);
}

static ppsched_status device_metrics(struct handles *own, void *given)
{
    return ppsched_timeline_get_device_metrics(given, own->timeline, 1, NULL);
}

static ppsched_status idle(struct handles *own, void *given)
{
    return ppsched_timeline_get_idle(given, own->timeline, 1, NULL);
}

static ppsched_status steady_metrics(struct handles *own, void *given)
{
    return ppsched_steady_get_metrics(given, own->steady, NULL);
}

static ppsched_status steady_device_metrics(struct handles *own, void *given)
{
    return ppsched_steady_get_device_metrics(given, own->steady, 1, NULL);
}

static ppsched_status steady_idle(struct handles *own, void *given)
{
    return ppsched_steady_get_idle(given, own->steady, 1, NULL);
}

static ppsched_status replan_figures(struct handles *own, void *given)
{
    return ppsched_replan_get_figures(given, own->replan, NULL);
}

static ppsched_status replicas_figures(struct handles *own, void *given)
{
    return ppsched_replicas_get_figures(given, own->replicas, NULL);
}

static ppsched_status replica(struct handles *own, void *given)
{
    return ppsched_replicas_get_replica(given, own->replicas, 1, NULL);
}

static ppsched_status period(struct handles *own, void *given)
{
    return ppsched_steady_get_period(given, own->steady, NULL);
}

static ppsched_status candidate(struct handles *own, void *given)
{
    return ppsched_plan_get_candidate(given, own->plan, 0, NULL);
}

static ppsched_status config_windows(struct handles *own, void *given)
{
    return ppsched_config_get_windows(given, own->config, 0, NULL);
}

static ppsched_status layer_entry(struct handles *own, void *given)
{
    return ppsched_layers_get_entry(given, own->layers, 1, NULL);
}

static ppsched_status describe(struct handles *own, void *given)
{
    (void)own;
    return ppsched_strategy_get_info(given, 0, NULL);
}

static ppsched_status option(struct handles *own, void *given)
{
    uint32_t strategy = 0;
    (void)own;
    assert_int_equal(ppsched_strategy_find(&strategy, "auto", NULL), PPSCHED_OK);
    return ppsched_strategy_get_option(given, strategy, 0, NULL);
}

/* --- the table --- */

struct row {
    const char *function, *name;
    size_t first, known; /* sizes: of the first release, of this one */
    ppsched_status (*call)(struct handles *own, void *given);
};

/* A function, its struct, and a call with all but `size` zero. A struct that has grown since its first release has another
 * `first`. */
#define ROW_SINCE(function, type, first_added, call)                                                                           \
    {                                                                                                                          \
#function, #type, offsetof(type, first_added), sizeof(type), call                                                      \
    }
#define ROW(function, type, call)                                                                                              \
    {                                                                                                                          \
#function, #type, sizeof(type), sizeof(type), call                                                                     \
    }

static const struct row read[] = {
    ROW(ppsched_config_create, ppsched_environment, create_config),
    ROW(ppsched_schedule_import, ppsched_environment, import),
    ROW(ppsched_chakra_import, ppsched_environment, import_chakra),
    ROW(ppsched_chakra_create, ppsched_chakra_options, create_chakra),
    ROW_SINCE(ppsched_schedule_lower, ppsched_lower_options, reduce_every, lower),
    ROW(ppsched_schedule_recompute, ppsched_recompute_options, recompute),
    ROW(ppsched_schedule_offload, ppsched_offload_options, offload),
    ROW(ppsched_schedule_order_microbatches, ppsched_order_options, order_microbatches),
    ROW(ppsched_microbatches_balance, ppsched_environment, balance_in),
    ROW(ppsched_pair_find_order, ppsched_pair_windows, find_order_of_pair),
    ROW(ppsched_pair_find_order, ppsched_environment, find_order_in),
    ROW(ppsched_pair_run_order, ppsched_pair_windows, run_order_of_pair),
    ROW_SINCE(ppsched_prefill_find_chunks, ppsched_prefill, prompts, find_chunks_of),
    ROW_SINCE(ppsched_prefill_create_config, ppsched_prefill, prompts, config_of_chunks),
    ROW(ppsched_pair_run_order, ppsched_environment, run_order_in),
    ROW(ppsched_config_set_windows, ppsched_pair_windows, set_windows),
    ROW(ppsched_config_set_robust_objective, ppsched_scenario_options, set_robust_objective),
    ROW(ppsched_schedule_evaluate_scenarios, ppsched_scenario_options, evaluate_scenarios),
    ROW(ppsched_schedule_prove, ppsched_channel_model, prove),
    ROW(ppsched_schedule_evaluate_transfers, ppsched_channel_model, evaluate_transfers),
    ROW(ppsched_plan_create, ppsched_channel_model, create_plan_for_channel),
    ROW(ppsched_plan_create, ppsched_plan_options, create_plan),
    ROW(ppsched_plan_create, ppsched_scenario_options, create_plan_for_scenarios),
    ROW(ppsched_plan_create, ppsched_ranking_options, create_plan_for_ranking),
    ROW(ppsched_plan_create, ppsched_slice_options, create_plan_for_slices),
    ROW(ppsched_plan_create, ppsched_split_options, create_plan_for_split),
    ROW(ppsched_replan_create, ppsched_replan_options, create_replan),
    ROW(ppsched_replicas_create, ppsched_replicas_options, create_replicas),
    ROW_SINCE(ppsched_plan_create, ppsched_lower_options, reduce_every, create_plan_for_lowering),
    ROW(ppsched_plan_create, ppsched_model_end, create_plan_for_end),
    ROW(ppsched_config_with_stages, ppsched_model_end, restage_end),
    ROW(ppsched_schedule_export, ppsched_export_options, export),
    ROW(ppsched_schedule_export_to_buffer, ppsched_export_options, export_to_buffer),
    ROW(ppsched_schedule_write_launch_arguments, ppsched_launch_options, launch),
    ROW(ppsched_schedule_write_launch_arguments, ppsched_split, launch_split),
    ROW(ppsched_config_from_layers, ppsched_split, config_of_split),
    ROW(ppsched_layers_create, ppsched_environment, layers_of_environment),
    ROW(ppsched_layers_create, ppsched_pair_windows, layers_of_windows),
    ROW_SINCE(ppsched_layers_create, ppsched_layer, device_scale, layers_of_entry),
    ROW(ppsched_layout_create, ppsched_environment, layout_of_stages),
    ROW(ppsched_layout_create_from_text, ppsched_environment, layout_of_text),
    ROW(ppsched_layout_create_from_text, ppsched_layout_rules, layout_by_rules),
    ROW(ppsched_layout_create_from_megatron, ppsched_environment, layout_of_megatron),
    ROW(ppsched_layout_create_from_megatron, ppsched_megatron_split, layout_by_flags),
    ROW(ppsched_layout_create_from_torchtitan, ppsched_environment, layout_of_torchtitan),
    ROW(ppsched_model_create, ppsched_environment, model_of_environment),
    ROW(ppsched_description_create, ppsched_block, create_of_block),
    ROW(ppsched_description_create, ppsched_layer_kind, create_of_kind),
    ROW_SINCE(ppsched_description_create, ppsched_tower, deepstack_layers, create_of_tower),
    ROW(ppsched_description_create, ppsched_description_info, create_of_info),
    ROW(ppsched_description_create, ppsched_environment, create_of_environment),
    ROW(ppsched_description_from_transformer, ppsched_environment, describe_shape_in),
    ROW(ppsched_description_from_transformer, ppsched_transformer, description_of_shape),
    ROW(ppsched_description_guess, ppsched_environment, guess_in),
    ROW(ppsched_description_read, ppsched_environment, description_of_environment),
    ROW(ppsched_model_create, ppsched_training, model_of_training),
    ROW(ppsched_model_create, ppsched_accelerator, model_of_accelerator),
    ROW(ppsched_model_create_measured, ppsched_environment, measured_of_environment),
    ROW(ppsched_model_create_measured, ppsched_training, measured_of_training),
    ROW(ppsched_model_create_measured, ppsched_accelerator, measured_of_accelerator),
    ROW(ppsched_model_create_measured, ppsched_layer_table, measured_of_table),
    ROW(ppsched_layers_from_model, ppsched_calibration, layers_by_calibration),
    ROW(ppsched_model_get_megatron_memory, ppsched_megatron_pipeline, megatron_pipeline),
    ROW(ppsched_price_create, ppsched_environment, price_in),
    ROW(ppsched_price_create, ppsched_pipeline, price_of_pipeline),
    ROW(ppsched_model_get_pipeline_link, ppsched_pipeline, pipeline_link),
    ROW(ppsched_model_get_pipeline_update_cost, ppsched_pipeline, pipeline_update),
    ROW(ppsched_calibrator_create, ppsched_accelerator, calibrator_of_accelerator),
    ROW(ppsched_calibrator_create, ppsched_environment, calibrator_in),
    ROW(ppsched_calibrator_append_run, ppsched_training, run_of_training),
    ROW(ppsched_calibrator_append_run, ppsched_pipeline, run_of_pipeline),
    ROW(ppsched_job_create, ppsched_training, job_of_training),
    ROW(ppsched_job_create, ppsched_accelerator, job_of_accelerator),
    ROW(ppsched_job_create, ppsched_job_options, job_of_options),
    ROW(ppsched_job_create, ppsched_environment, job_of_environment),
    ROW(ppsched_job_create, ppsched_layer_table, job_of_table),
};

static const struct row filled[] = {
    ROW_SINCE(ppsched_config_find_bound, ppsched_bound, proof, lower_bound),
    ROW_SINCE(ppsched_config_prove_bound, ppsched_bound, proof, proved_bound),
    ROW(ppsched_microbatches_balance, ppsched_balance, balance),
    ROW(ppsched_pair_find_order, ppsched_pair_times, find_order_times),
    ROW(ppsched_pair_run_order, ppsched_pair_times, run_order_times),
    ROW(ppsched_prefill_find_chunks, ppsched_prefill_figures, find_chunks_figures),
    ROW(ppsched_scenarios_get_metrics, ppsched_scenario_metrics, scenario_metrics),
    ROW(ppsched_timeline_get_metrics, ppsched_metrics, metrics),
    ROW(ppsched_timeline_get_device_metrics, ppsched_device_metrics, device_metrics),
    ROW_SINCE(ppsched_timeline_get_idle, ppsched_idle, slow_devices, idle),
    ROW(ppsched_steady_get_metrics, ppsched_metrics, steady_metrics),
    ROW(ppsched_steady_get_device_metrics, ppsched_device_metrics, steady_device_metrics),
    ROW_SINCE(ppsched_steady_get_idle, ppsched_idle, slow_devices, steady_idle),
    ROW_SINCE(ppsched_replan_get_figures, ppsched_replan_figures, group_size, replan_figures),
    ROW(ppsched_replicas_get_figures, ppsched_replicas_figures, replicas_figures),
    ROW(ppsched_replicas_get_replica, ppsched_replica, replica),
    ROW(ppsched_steady_get_period, ppsched_steady_period, period),
    ROW(ppsched_plan_get_candidate, ppsched_candidate, candidate),
    ROW(ppsched_config_get_windows, ppsched_pair_windows, config_windows),
    ROW_SINCE(ppsched_layers_get_entry, ppsched_layer, device_scale, layer_entry),
    ROW(ppsched_description_get_info, ppsched_description_info, description_info),
    ROW(ppsched_model_get_row, ppsched_model_row, model_row),
    ROW(ppsched_model_get_row_measure, ppsched_row_measure, row_measure),
    ROW(ppsched_model_get_parameters, ppsched_parameters, parameters),
    ROW(ppsched_model_get_pass_cost, ppsched_pass_cost, pass_cost),
    ROW_SINCE(ppsched_model_get_memory, ppsched_layer_memory, slice_state, layer_memory),
    ROW(ppsched_model_get_update_cost, ppsched_update_cost, update_cost),
    ROW(ppsched_model_get_pipeline_update_cost, ppsched_update_cost, update_cost_of_pipeline),
    ROW(ppsched_price_get_step, ppsched_step_price, step_price),
    ROW(ppsched_price_get_device, ppsched_device_price, device_price),
    ROW(ppsched_price_get_pipeline, ppsched_pipeline, price_pipeline),
    ROW(ppsched_calibrator_get_constant, ppsched_calibrated_constant, calibrated_constant),
    ROW(ppsched_calibrator_get_run, ppsched_calibrated_run, calibrated_run),
    ROW(ppsched_calibrator_get_accelerator, ppsched_accelerator, calibrated_accelerator),
    ROW_SINCE(ppsched_job_get_layout, ppsched_job_layout, rank_order, job_layout),
    ROW(ppsched_job_evaluate_layout, ppsched_job_found, job_found),
    ROW(ppsched_model_get_megatron_memory, ppsched_megatron_memory, megatron_memory),
    ROW(ppsched_strategy_get_info, ppsched_strategy_info, describe),
    ROW(ppsched_strategy_get_option, ppsched_option_info, option),
};

/* --- sizes --- */

/* Memory of a caller; no struct in it ever has its last bytes. */
union memory {
    max_align_t alignment;
    unsigned char bytes[2 * LARGEST];
};

/* A struct of some size, all of whose bytes but `size` are `content`, with dirt behind it. */
static void fill(union memory *memory, uint32_t size, int content)
{
    memset(memory, DIRT, sizeof *memory);
    memset(memory, content, size < LARGEST ? size : LARGEST);
    memcpy(memory, &size, sizeof size);
}

/* The status that the size alone calls for. */
static ppsched_status wanted_for(const struct row *row, uint32_t size)
{
    return size < row->first || size > LARGEST ? PPSCHED_ERROR_STRUCT_SIZE : PPSCHED_OK;
}

static void expect(struct handles *own, const struct row *row, union memory *memory, ppsched_status wanted)
{
    uint32_t size;
    memcpy(&size, memory, sizeof size);
    ppsched_status status = row->call(own, memory);
    if (status != wanted)
        fail_msg("%s, %s of %u bytes: %s", row->function, row->name, size, ppsched_status_name(status));
}

/* A struct that is read is never written to, and what lies behind it is of no account. */
static void read_one(struct handles *own, const struct row *row, uint32_t size)
{
    union memory memory, before;
    fill(&memory, size, 0);
    before = memory;
    expect(own, row, &memory, wanted_for(row, size));
    assert_memory_equal(&memory, &before, sizeof memory);
    for (uint32_t i = (uint32_t)row->known; i < size && size <= LARGEST; i++) { /* bytes that the library does not know */
        memory.bytes[i] = 1;
        expect(own, row, &memory, PPSCHED_ERROR_STRUCT_SIZE);
        memory.bytes[i] = 0;
    }
}

/* Known fields as far as they fit, then zeros, then nothing. */
static void fill_one(struct handles *own, const struct row *row, uint32_t size)
{
    union memory whole, memory, wanted;
    fill(&whole, (uint32_t)row->known, DIRT);
    expect(own, row, &whole, PPSCHED_OK);
    fill(&memory, size, DIRT);
    wanted = memory;
    if (wanted_for(row, size) == PPSCHED_OK) {
        memset(&wanted, 0, size);
        memcpy(&wanted, &whole, size < row->known ? size : row->known);
        memcpy(&wanted, &size, sizeof size);
    }
    expect(own, row, &memory, wanted_for(row, size));
    assert_memory_equal(&memory, &wanted, sizeof memory);
}

static void for_each_size(const struct row *rows, size_t count,
                          void (*visit)(struct handles *own, const struct row *row, uint32_t size))
{
    static const uint32_t large[] = {LARGEST - 1, LARGEST, LARGEST + 1, 65536, 4294967295u};
    struct handles own;
    make_handles(&own, 1);
    for (size_t i = 0; i < count; i++) {
        assert_true(rows[i].first >= 8 && rows[i].first <= rows[i].known && rows[i].known < LARGEST / 2);
        for (uint32_t size = 0; size <= rows[i].known + 17; size++)
            visit(&own, &rows[i], size);
        for (size_t k = 0; k < sizeof large / sizeof large[0]; k++)
            visit(&own, &rows[i], large[k]);
    }
    destroy_handles(&own);
}

static void test_structs_that_are_read(void **state)
{
    (void)state;
    for_each_size(read, sizeof read / sizeof read[0], read_one);
}

static void test_structs_that_are_filled(void **state)
{
    (void)state;
    for_each_size(filled, sizeof filled / sizeof filled[0], fill_one);
}

/* The message names the struct and what to write. */
static void test_message(void **state)
{
    ppsched_environment environment = {0};
    ppsched_config *config = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_config_create(&config, 1, 1, 1, &environment, &error), PPSCHED_ERROR_STRUCT_SIZE);
    assert_string_equal(error.message, "ppsched_environment: size is 0; set it to sizeof(ppsched_environment)");
    assert_null(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structs_that_are_read),
        cmocka_unit_test(test_structs_that_are_filled),
        cmocka_unit_test(test_message),
    };
    return cmocka_run_group_tests_name("sized", tests, NULL, NULL);
}
