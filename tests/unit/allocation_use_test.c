/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that check, lower, time, explain and write schedules, while memory runs out; and calls that need none. */
#include "support/last.h"
#include "support/rounds.h"
#include "support/shortage.h"

#include <stdlib.h>
#include <string.h>

/* --- is it right --- */

/* Good ones and a bad one, with findings. */
static ppsched_status schedule_check(struct attempt *attempt)
{
    const struct handles *own = &attempt->own;
    const ppsched_schedule *schedules[] = {own->schedule, own->lowered, own->broken};
    struct {
        size_t count;
        ppsched_finding findings[64];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_check(out.findings, 64, &out.count, schedules[attempt->variant], &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

/* One that comes to its end, one that hangs, one without comm ops. */
static ppsched_status schedule_prove(struct attempt *attempt)
{
    const struct handles *own = &attempt->own;
    const ppsched_schedule *schedules[] = {own->lowered, own->hanging, own->schedule};
    const ppsched_channel_model model = {
        .size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR, .rendezvous = 1, .blocking = attempt->variant == 1};
    struct {
        size_t count;
        ppsched_wait cycle[8];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_prove(out.cycle, 8, &out.count, schedules[attempt->variant], &model,
                                                   &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status schedule_get_links(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_link edges[4];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_get_links(out.edges, 4, &out.count, attempt->own.lowered, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status schedule_get_buffers(struct attempt *attempt)
{
    struct {
        uint32_t slots;
        ppsched_op_buffer buffers[200];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_get_buffers(out.buffers, 200, NULL, &out.slots, attempt->own.lowered, 1,
                                                         &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status schedule_get_connections(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_connection connections[8];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_get_connections(out.connections, 8, &out.count, attempt->own.lowered,
                                                             attempt->variant, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status schedule_get_lifetimes(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_lifetime lifetimes[40];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_get_lifetimes(out.lifetimes, 40, &out.count, attempt->own.lowered, 1,
                                                           attempt->variant, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status schedule_get_arenas(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_arena arenas[8];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_get_arenas(out.arenas, 8, &out.count, attempt->own.lowered, 1, attempt->variant,
                                                        &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

/* --- lowering --- */

/* All lowerings, with all passes; and UNSHARDs when they are needed. */
static ppsched_status schedule_lower(struct attempt *attempt)
{
    const ppsched_lower_options options = {.size = sizeof options,
                                           .lowering = attempt->variant % 4,
                                           .split_backwards = 1,
                                           .unshard = 1,
                                           .unshard_lookahead = attempt->variant < 4 ? PPSCHED_UNSHARD_LOOKAHEAD_FULL
                                                                                     : PPSCHED_UNSHARD_LOOKAHEAD_NEEDED,
                                           .reduce_grad = 1,
                                           .defer_receives = attempt->variant == PPSCHED_LOWERING_PYTORCH};
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_lower(&made, attempt->own.schedule, attempt->own.config, &options,
                                                   &attempt->error);
    return take_schedule(attempt, status, made);
}

static ppsched_status schedule_recompute(struct attempt *attempt)
{
    const ppsched_recompute_options options = {.size = sizeof options, .chunks = 1};
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_recompute(&made, attempt->own.schedule, &options, &attempt->error);
    return take_schedule(attempt, status, made);
}

static ppsched_status schedule_offload(struct attempt *attempt)
{
    const ppsched_offload_options options = {.size = sizeof options, .chunks = 2, .until_limit = attempt->variant == 1};
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_offload(&made, attempt->own.schedule, attempt->own.config, &options,
                                                     &attempt->error);
    return take_schedule(attempt, status, made);
}

/* The status of an offload of two microbatches whose allocation `number` fails, if there are so many. */
static ppsched_status offload_short_of(struct failing_allocator *host, int number, const double *limits)
{
    const ppsched_offload_options options = {.size = sizeof options, .until_limit = 1};
    const ppsched_environment environment = failing_environment(host);
    ppsched_config *config = NULL;
    ppsched_schedule *made = UNTOUCHED;
    ppsched_error error;
    expect_ok(ppsched_config_create(&config, 2, 2, 2, &environment, &error), &error);
    set_number(config, PPSCHED_QUANTITY_OFFLOAD_TIMES, 2);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_MEM_LIMIT, limits, 2, &error), &error);
    ppsched_schedule *schedule = make_schedule(config, "1f1b");
    host->until_failure = number;
    ppsched_status status = ppsched_schedule_offload(&made, schedule, config, &options, &error);
    host->until_failure = -1;
    if (status == PPSCHED_OK)
        ppsched_schedule_release(made);
    else
        assert_ptr_equal(made, UNTOUCHED);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status;
}

/* Each allocation of a search until limits counts (under sanitizers some are tried), also where it goes on with tighter limits
 * or nothing holds them; and it leaves alone what lies behind them. */
static void test_offloads_until_limits(void **state)
{
    static const struct {
        double limits[2];
        ppsched_status status;
    } cases[] = {{{1, 2}, PPSCHED_OK}, {{0.5, 1}, PPSCHED_ERROR_REFUSED}};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct failing_allocator guarded = {.until_failure = -1, .is_guarded = 1};
        assert_int_equal(offload_short_of(&guarded, -1, cases[i].limits), cases[i].status);
        for (int number = 0, failed = 1; failed; number += ROUND_SHARE) {
            struct failing_allocator host = {.until_failure = -1};
            ppsched_status status = offload_short_of(&host, number, cases[i].limits);
            failed = host.failed;
            assert_int_equal(status, failed ? PPSCHED_ERROR_NO_MEMORY : cases[i].status);
            assert_int_equal(host.live, 0);
        }
    }
}

/* The status of the first step that fails if allocation `number` does: a stage graph, with a stage on both devices, is searched
 * for an order, lowered, proved and timed, and its links, buffers, slots and connections are listed. */
static ppsched_status lower_graph_short_of(struct failing_allocator *host, int number)
{
    const ppsched_lower_options options = {
        .size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME, .receive_prefetch = 1};
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR, .rendezvous = 1};
    const ppsched_environment environment = failing_environment(host);
    ppsched_config *config = NULL;
    ppsched_schedule *lowered = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    expect_ok(ppsched_config_create(&config, 2, 3, 2, &environment, &error), &error);
    expect_ok(ppsched_config_set_stage_inputs(config, (uint32_t[]){0, 0, 2}, (uint32_t[]){0, 1}, 3, &error), &error);
    expect_ok(ppsched_config_set_stage_devices(config, (uint32_t[]){1, 1, 2}, (uint32_t[]){0, 1, 0, 1}, 3, &error), &error);
    set_number(config, PPSCHED_QUANTITY_MEM_RECEIVE_FORWARD, 1);
    ppsched_schedule *schedule = make_schedule(config, "auto");
    host->until_failure = number;
    ppsched_status status = ppsched_schedule_lower(&lowered, schedule, config, &options, &error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_prove(NULL, 0, NULL, lowered, &model, &error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_evaluate_transfers(&timeline, lowered, config, &model, 0, &error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_get_links((ppsched_link[2]){{0}}, 2, NULL, lowered, &error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_get_buffers((ppsched_op_buffer[40]){{0}}, 40, NULL, NULL, lowered, 1, &error);
    for (int32_t use = PPSCHED_SLOT_USE_STAGE_MICROBATCH; use <= PPSCHED_SLOT_USE_RECEIVE && status == PPSCHED_OK; use++)
        status = ppsched_schedule_get_arenas((ppsched_arena[8]){{0}}, 8, NULL, lowered, 1, use, &error);
    if (status == PPSCHED_OK)
        status = ppsched_schedule_get_connections((ppsched_connection[8]){{0}}, 8, NULL, lowered, PPSCHED_CONNECTING_STAGES,
                                                  &error);
    host->until_failure = -1;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return status;
}

static void test_lowers_a_graph(void **state)
{
    (void)state;
    for (int number = 0, failed = 1; failed; number += ROUND_SHARE) {
        struct failing_allocator host = {.until_failure = -1, .is_guarded = 1};
        ppsched_status status = lower_graph_short_of(&host, number);
        failed = host.failed;
        assert_int_equal(status, failed ? PPSCHED_ERROR_NO_MEMORY : PPSCHED_OK);
        assert_int_equal(host.live, 0);
    }
}

/* The rule of 1f1b on a stage graph. */
static void test_orders_a_graph(void **state)
{
    (void)state;
    for (int number = 0, failed = 1; failed; number++) {
        struct failing_allocator host = {.until_failure = -1, .is_guarded = 1};
        const ppsched_environment environment = failing_environment(&host);
        ppsched_config *config = NULL;
        ppsched_schedule *schedule = NULL;
        ppsched_error error;
        expect_ok(ppsched_config_create(&config, 2, 3, 2, &environment, &error), &error);
        expect_ok(ppsched_config_set_stage_inputs(config, (uint32_t[]){0, 0, 2}, (uint32_t[]){0, 1}, 3, &error), &error);
        expect_ok(ppsched_config_set_stage_devices(config, (uint32_t[]){1, 1, 1}, (uint32_t[]){0, 0, 1}, 3, &error), &error);
        host.until_failure = number;
        ppsched_status status = ppsched_schedule_generate(&schedule, config, "1f1b", &error);
        failed = host.failed;
        assert_int_equal(status, failed ? PPSCHED_ERROR_NO_MEMORY : PPSCHED_OK);
        host.until_failure = -1;
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
        assert_int_equal(host.live, 0);
    }
}

/* The schedule with copies, and lowered. */
static void prepare_copies(struct attempt *attempt)
{
    struct handles *own = &attempt->own;
    const ppsched_offload_options all = {.size = sizeof all};
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_PYTORCH};
    ppsched_schedule *whole = own->schedule;
    ppsched_schedule_release(own->lowered);
    expect_ok(ppsched_schedule_offload(&own->schedule, whole, own->config, &all, NULL), NULL);
    expect_ok(ppsched_schedule_lower(&own->lowered, own->schedule, own->config, &options, NULL), NULL);
    ppsched_schedule_release(whole);
}

static void prepare_calls(struct attempt *attempt)
{
    static const double calls = 0.5;
    expect_ok(ppsched_config_set_values(attempt->own.config, PPSCHED_QUANTITY_SEND_OVERHEAD, &calls, 1, NULL), NULL);
}

static void prepare_scale(struct attempt *attempt)
{
    static const double scale[] = {1, 3, 2, 0.5};
    expect_ok(ppsched_config_set_values(attempt->own.config, PPSCHED_QUANTITY_MICROBATCH_SCALE, scale, 4, NULL), NULL);
}

static ppsched_status schedule_order_microbatches(struct attempt *attempt)
{
    ppsched_config *made = UNTOUCHED;
    uint32_t order[4];
    prepare_bytes(order, sizeof order);
    ppsched_status status = ppsched_schedule_order_microbatches(order, ppsched_config_microbatches(attempt->own.config), NULL,
                                                                &made, attempt->own.schedule, attempt->own.config, NULL,
                                                                &attempt->error);
    status = take_bytes(attempt, status, order, sizeof order);
    return take_config(attempt, status, made);
}

static ppsched_status microbatches_balance(struct attempt *attempt)
{
    static const double costs[] = {5, 4, 3, 3, 3};
    ppsched_balance balance = {.size = sizeof balance};
    uint32_t replica[5];
    prepare_bytes(replica, sizeof replica);
    ppsched_status status = ppsched_microbatches_balance(replica, 5, NULL, &balance, costs, 5, 2, attempt->variant,
                                                         &attempt->own.environment, &attempt->error);
    return take_bytes(attempt, status, replica, sizeof replica);
}

/* With one stage a device the formula, with two all chunks, and with more blocks moves. */
static ppsched_status prefill_find_chunks(struct attempt *attempt)
{
    const ppsched_prefill prefill = {
        .size = sizeof prefill, .tokens = attempt->variant < 2 ? 20 : 80, .block = 4, .constant = 1, .linear = 1};
    ppsched_config *config = NULL;
    uint64_t tokens[20];
    prepare_bytes(tokens, sizeof tokens);
    ppsched_status status = ppsched_config_create(&config, 2, attempt->variant == 0 ? 2 : 4, 1, &attempt->own.environment,
                                                  &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_forward_only(config, 1, &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_prefill_find_chunks(tokens, 20, NULL, NULL, &prefill, config, "looped_bfs", &attempt->error);
    ppsched_config_destroy(config);
    return take_bytes(attempt, status, tokens, sizeof tokens);
}

static ppsched_status prefill_create_config(struct attempt *attempt)
{
    static const uint64_t chunks[] = {2, 1};
    const ppsched_prefill prefill = {.size = sizeof prefill, .tokens = 3, .constant = 1};
    ppsched_config *config = NULL, *made = UNTOUCHED;
    ppsched_status status = ppsched_config_create(&config, 2, 2, 1, &attempt->own.environment, &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_config_set_forward_only(config, 1, &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_prefill_create_config(&made, &prefill, config, chunks, 2, &attempt->error);
    ppsched_config_destroy(config);
    return take_config(attempt, status, made);
}

static ppsched_status schedule_evaluate_scenarios(struct attempt *attempt)
{
    const ppsched_scenario_options options = {
        .size = sizeof options, .seed = 1, .jitter = 0.1, .message_jitter = 0.1, .dispatch = attempt->variant};
    ppsched_scenarios *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_evaluate_scenarios(&made, attempt->own.schedule, attempt->own.config, 9, &options,
                                                                &attempt->error);
    size_t count;
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    const double *makespans = ppsched_scenarios_makespans(made, &count);
    for (size_t i = 0; i < count; i++)
        fprintf(attempt->result, "%a ", makespans[i]);
    ppsched_scenarios_destroy(made);
    return status;
}

static ppsched_status schedule_renumber(struct attempt *attempt)
{
    ppsched_schedule *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_renumber(&made, attempt->own.schedule, &attempt->error);
    return take_schedule(attempt, status, made);
}

/* --- times --- */

/* Everything, earliest starts alone, ops without times, one that cannot be run, and senders that wait. */
static ppsched_status schedule_find_period(struct attempt *attempt)
{
    double period = 0;
    ppsched_status status = ppsched_schedule_find_period(&period, attempt->own.schedule, attempt->own.config, &attempt->error);
    fprintf(attempt->result, "%a", period);
    return status;
}

static ppsched_status schedule_evaluate(struct attempt *attempt)
{
    const struct handles *own = &attempt->own;
    const ppsched_schedule *schedules[] = {own->schedule, own->schedule, own->lowered, own->broken, own->schedule};
    const uint32_t flags[] = {0, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, PPSCHED_EVALUATE_FLAG_REUSABLE, 0, 0};
    ppsched_timeline *made = UNTOUCHED;
    expect_ok(ppsched_config_set_sender_waits(own->config, attempt->variant == 4, NULL), NULL);
    ppsched_status status = ppsched_schedule_evaluate(&made, schedules[attempt->variant],
                                                      attempt->variant != 3 ? own->config : own->plain, flags[attempt->variant],
                                                      &attempt->error);
    return take_timeline(attempt, status, made);
}

/* Two channel models, and one in which the schedule hangs. */
static ppsched_status schedule_evaluate_transfers(struct attempt *attempt)
{
    const struct handles *own = &attempt->own;
    const ppsched_channel_model model = {
        .size = sizeof model, .rendezvous = 1, .batched = attempt->variant == 1, .blocking = attempt->variant == 2};
    ppsched_timeline *made = UNTOUCHED;
    ppsched_status status = ppsched_schedule_evaluate_transfers(&made, attempt->variant < 2 ? own->lowered : own->hanging,
                                                                attempt->variant < 2 ? own->config : own->plain,
                                                                attempt->variant == 0 ? NULL : &model, 0, &attempt->error);
    return take_timeline(attempt, status, made);
}

static ppsched_status timeline_get_critical_path(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_critical_op path[64];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_timeline_get_critical_path(out.path, 64, &out.count, attempt->own.timeline,
                                                               &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status timeline_get_sensitivities(struct attempt *attempt)
{
    ppsched_sensitivity out[4];
    prepare_bytes(out, sizeof out);
    ppsched_status status = ppsched_timeline_get_sensitivities(
        out, 4, NULL, attempt->own.timeline, attempt->variant + PPSCHED_OBJECTIVE_SPAN, 0, NULL, NULL, &attempt->error);
    return take_bytes(attempt, status, out, sizeof out);
}

/* Of a timeline with more causes of memory than activations. */
static ppsched_status timeline_get_memory(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_memory_point points[64];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_timeline_get_memory(out.points, 64, &out.count, attempt->own.crossing, 1, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status timeline_get_memory_of_cause(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_memory_point points[64];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_timeline_get_memory_of_cause(out.points, 64, &out.count, attempt->own.timeline, 1,
                                                                 PPSCHED_MEMORY_CAUSE_WORK, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status timeline_get_peak_items(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_memory_item items[64];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_timeline_get_peak_items(out.items, 64, &out.count, attempt->own.timeline, 1,
                                                            &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

static ppsched_status timeline_get_idle_windows(struct attempt *attempt)
{
    struct {
        size_t count;
        ppsched_idle_window windows[64];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_timeline_get_idle_windows(out.windows, 64, &out.count, attempt->own.timeline, 1,
                                                              &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

/* --- texts --- */

/* A format for each variant, of the schedules that it can hold. */
static void choose(const struct attempt *attempt, const ppsched_schedule **schedule, const ppsched_timeline **timeline,
                   int32_t *format)
{
    static const int32_t formats[] = {PPSCHED_FORMAT_TEXT,         PPSCHED_FORMAT_CSV,  PPSCHED_FORMAT_JSON,
                                      PPSCHED_FORMAT_CHROME_TRACE, PPSCHED_FORMAT_SAIL, PPSCHED_FORMAT_MEGATRON,
                                      PPSCHED_FORMAT_DEEPSPEED};
    _Static_assert(sizeof formats / sizeof formats[0] == LAST_FORMAT, "a format has no variant");
    const struct handles *own = &attempt->own;
    *format = formats[attempt->variant];
    *schedule = attempt->variant < 5 ? own->lowered : own->pipeline;
    *timeline = attempt->variant < 5 ? own->crossing : own->piped;
}

static int32_t take_text(void *user, const char *data, size_t size)
{
    fwrite(data, 1, size, user);
    return 0;
}

/* What cannot be written whole is not begun. */
static ppsched_status schedule_export(struct attempt *attempt)
{
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    int32_t format;
    choose(attempt, &schedule, &timeline, &format);
    ppsched_status status = ppsched_schedule_export(schedule, timeline, format, NULL, take_text, attempt->result,
                                                    &attempt->error);
    if (status == PPSCHED_ERROR_NO_MEMORY)
        assert_int_equal(ftell(attempt->result), 0);
    return status;
}

static ppsched_status schedule_export_to_buffer(struct attempt *attempt)
{
    struct {
        size_t needed;
        char text[30000];
    } out;
    const ppsched_schedule *schedule;
    const ppsched_timeline *timeline;
    int32_t format;
    choose(attempt, &schedule, &timeline, &format);
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_export_to_buffer(out.text, sizeof out.text, &out.needed, schedule, timeline,
                                                              format, NULL, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

/* Every runtime, of three schedules, and of the first with its layers, in a split that all take and in one that some refuse. */
enum { LAUNCHES = 5 };

static ppsched_status schedule_write_launch_arguments(struct attempt *attempt)
{
    const struct handles *own = &attempt->own;
    const ppsched_schedule *schedules[] = {own->pipeline, own->schedule, own->lowered, own->pipeline, own->pipeline};
    const int kind = attempt->variant % LAUNCHES;
    const ppsched_split split = {sizeof split, 2, (const uint32_t[]){kind == 3 ? 3 : 2, kind == 3 ? 3 : 4},
                                 (const uint8_t[]){0, 2, kind == 3 ? 2 : 0, 2, 2, 0}};
    const ppsched_launch_options layered = {.size = sizeof layered, .model = own->layers, .split = &split};
    struct {
        size_t needed;
        char text[1000];
    } out;
    prepare_bytes(&out, sizeof out);
    ppsched_status status = ppsched_schedule_write_launch_arguments(out.text, sizeof out.text, &out.needed, schedules[kind],
                                                                    PPSCHED_RUNTIME_MEGATRON + attempt->variant / LAUNCHES,
                                                                    kind >= 3 ? &layered : NULL, &attempt->error);
    return take_bytes(attempt, status, &out, sizeof out);
}

/* --- calls that need none --- */

/* Makes a call and expects that it asked for no memory. */
#define NO_MEMORY_FOR(call)                                                                                                    \
    do {                                                                                                                       \
        (void)(call);                                                                                                          \
        assert_int_equal(own->host.asked, asked);                                                                              \
    } while (0)

static int32_t go_on(void *user, const ppsched_progress *progress)
{
    (void)user, (void)progress;
    return 0;
}

static void test_configs_and_builders(void **state)
{
    struct handles handles, *own = &handles;
    (void)state;
    make_handles(own, 0);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_config_devices(own->config));
    NO_MEMORY_FOR(ppsched_config_stages(own->config));
    NO_MEMORY_FOR(ppsched_config_microbatches(own->config));
    NO_MEMORY_FOR(ppsched_config_iterations(own->config));
    NO_MEMORY_FOR(ppsched_config_slices(own->config));
    NO_MEMORY_FOR(ppsched_config_placement(own->config));
    NO_MEMORY_FOR(ppsched_config_values(own->config, PPSCHED_QUANTITY_FORWARD_TIMES, NULL));
    NO_MEMORY_FOR(ppsched_config_validate(own->config, NULL));
    NO_MEMORY_FOR(ppsched_config_set_iterations(own->config, 2, NULL));
    NO_MEMORY_FOR(ppsched_config_set_slices(own->config, 2, NULL));
    NO_MEMORY_FOR(ppsched_config_set_weight_versions(own->config, 2, NULL));
    NO_MEMORY_FOR(ppsched_config_set_forward_only(own->config, 0, NULL));
    NO_MEMORY_FOR(ppsched_config_forward_only(own->config));
    NO_MEMORY_FOR(ppsched_config_set_split_backward(own->config, 1, NULL));
    NO_MEMORY_FOR(ppsched_config_split_backward(own->config));
    NO_MEMORY_FOR(ppsched_config_set_sender_waits(own->config, PPSCHED_SENDER_WAITS_LIKE_KIND, NULL));
    NO_MEMORY_FOR(ppsched_config_sender_waits(own->config));
    NO_MEMORY_FOR(ppsched_config_set_progress(own->config, go_on, NULL, NULL));
    NO_MEMORY_FOR(ppsched_strategy_fits("interleaved_1f1b", own->config, NULL));
    NO_MEMORY_FOR(ppsched_builder_set_flushes(own->builder, 0, NULL));
    NO_MEMORY_FOR(ppsched_builder_set_weight_versions(own->builder, 2, NULL));
    destroy_handles(own);
}

static void test_schedules_and_timelines(void **state)
{
    ppsched_steady_period period = {.size = sizeof period};
    ppsched_replan_figures figures = {.size = sizeof figures};
    ppsched_replicas_figures shares = {.size = sizeof shares};
    ppsched_replica replica = {.size = sizeof replica};
    ppsched_layer_move moves[16];
    uint32_t numbers[16];
    uint8_t kinds[16];
    struct handles handles, *own = &handles;
    ppsched_metrics metrics = {.size = sizeof metrics};
    ppsched_device_metrics device = {.size = sizeof device};
    ppsched_idle idle = {.size = sizeof idle};
    double causes[16];
    double slack[4];
    (void)state;
    make_handles(own, 0);
    int asked = own->host.asked;
    const ppsched_queue *queue = ppsched_schedule_queue(own->schedule, 1);
    NO_MEMORY_FOR(ppsched_schedule_queue(own->schedule, 1));
    NO_MEMORY_FOR(ppsched_queue_ops(queue, NULL));
    NO_MEMORY_FOR(ppsched_schedule_name(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_devices(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_stages(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_microbatches(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_iterations(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_slices(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_placement(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_device_of(own->schedule, 1, 1));
    NO_MEMORY_FOR(ppsched_schedule_stage_device(own->schedule, 1, 0));
    NO_MEMORY_FOR(ppsched_schedule_stage_input(own->schedule, 1, 0));
    NO_MEMORY_FOR(ppsched_schedule_stage_passes(own->schedule, 1));
    NO_MEMORY_FOR(ppsched_schedule_runs_stage(own->schedule, 1, 1));
    NO_MEMORY_FOR(ppsched_schedule_has_graph(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_peer_of(own->lowered, &(ppsched_op){.kind = PPSCHED_KIND_SEND_F}));
    NO_MEMORY_FOR(ppsched_schedule_peer_stage(own->lowered, &(ppsched_op){.kind = PPSCHED_KIND_SEND_F}));
    NO_MEMORY_FOR(ppsched_schedule_place_of(own->lowered, 1, 0));
    NO_MEMORY_FOR(ppsched_schedule_flushes(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_weight_versions(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_op_count(own->schedule));
    NO_MEMORY_FOR(ppsched_schedule_retain(own->schedule));
    NO_MEMORY_FOR((ppsched_schedule_release(own->schedule), 0));
    NO_MEMORY_FOR(ppsched_timeline_schedule(own->timeline));
    NO_MEMORY_FOR(ppsched_timeline_spans(own->timeline, 1, NULL));
    NO_MEMORY_FOR(ppsched_timeline_latest_starts(own->timeline, 1, NULL));
    NO_MEMORY_FOR(ppsched_timeline_get_metrics(&metrics, own->timeline, NULL));
    NO_MEMORY_FOR(ppsched_timeline_get_device_metrics(&device, own->timeline, 1, NULL));
    NO_MEMORY_FOR(ppsched_timeline_get_idle(&idle, own->timeline, 1, NULL));
    NO_MEMORY_FOR(ppsched_timeline_get_peak_causes(causes, 16, NULL, own->timeline, 1, NULL));
    NO_MEMORY_FOR(ppsched_steady_get_metrics(&metrics, own->steady, NULL));
    NO_MEMORY_FOR(ppsched_steady_get_period(&period, own->steady, NULL));
    NO_MEMORY_FOR(ppsched_replan_get_figures(&figures, own->replan, NULL));
    NO_MEMORY_FOR(ppsched_replan_get_split(numbers, 16, NULL, own->replan, NULL));
    NO_MEMORY_FOR(ppsched_replan_get_recomputes(kinds, 16, NULL, own->replan, NULL));
    NO_MEMORY_FOR(ppsched_replan_get_device_order(numbers, 16, NULL, own->replan, NULL));
    NO_MEMORY_FOR(ppsched_replan_get_moves(moves, 16, NULL, own->replan, NULL));
    NO_MEMORY_FOR(ppsched_replicas_get_figures(&shares, own->replicas, NULL));
    NO_MEMORY_FOR(ppsched_replicas_get_replica(&replica, own->replicas, 1, NULL));
    NO_MEMORY_FOR(ppsched_steady_get_device_metrics(&device, own->steady, 1, NULL));
    NO_MEMORY_FOR(ppsched_steady_get_idle(&idle, own->steady, 1, NULL));
    NO_MEMORY_FOR(ppsched_steady_get_peak_causes(causes, 16, NULL, own->steady, 1, NULL));
    NO_MEMORY_FOR(ppsched_timeline_get_device_slack(slack, 2, NULL, own->timeline, NULL));
    NO_MEMORY_FOR(ppsched_timeline_get_stage_slack(slack, 4, NULL, own->timeline, NULL));
    ppsched_timeline *reusable = NULL;
    assert_int_equal(ppsched_schedule_evaluate(&reusable, own->schedule, own->config, PPSCHED_EVALUATE_FLAG_REUSABLE, NULL),
                     PPSCHED_OK);
    asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_timeline_update(reusable, own->config, NULL));
    ppsched_timeline_destroy(reusable);
    destroy_handles(own);
}

/* New costs of as many stages, and the timeline of the next step. */
static void test_planning_again(void **state)
{
    struct handles handles, *own = &handles;
    ppsched_timeline *timeline = NULL;
    ppsched_metrics before = {.size = sizeof before}, after = before;
    double times[4] = {1, 1, 1, 1};
    (void)state;
    make_handles(own, 0);
    expect_ok(ppsched_config_set_values(own->config, PPSCHED_QUANTITY_FORWARD_TIMES, times, 4, NULL), NULL);
    expect_ok(ppsched_schedule_evaluate(&timeline, own->schedule, own->config, PPSCHED_EVALUATE_FLAG_REUSABLE, NULL), NULL);
    expect_ok(ppsched_timeline_get_metrics(&before, timeline, NULL), NULL);
    int asked = own->host.asked;
    times[2] = 7;
    expect_ok(ppsched_config_set_values(own->config, PPSCHED_QUANTITY_FORWARD_TIMES, times, 4, NULL), NULL);
    expect_ok(ppsched_timeline_update(timeline, own->config, NULL), NULL);
    expect_ok(ppsched_timeline_get_metrics(&after, timeline, NULL), NULL);
    assert_true(after.makespan > before.makespan);
    assert_int_equal(own->host.asked, asked);
    times[1] = -1; /* and a refusal leaves the list as it was */
    assert_int_equal(ppsched_config_set_values(own->config, PPSCHED_QUANTITY_FORWARD_TIMES, times, 4, NULL),
                     PPSCHED_ERROR_RANGE);
    expect_ok(ppsched_timeline_update(timeline, own->config, NULL), NULL);
    expect_ok(ppsched_timeline_get_metrics(&before, timeline, NULL), NULL);
    assert_true(before.makespan == after.makespan);
    ppsched_timeline_destroy(timeline);
    destroy_handles(own);
}

static void test_layouts(void **state)
{
    struct handles handles, *own = &handles;
    char text[64];
    (void)state;
    make_handles(own, 0);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_layout_devices(own->layout));
    NO_MEMORY_FOR(ppsched_layout_chunks(own->layout));
    NO_MEMORY_FOR(ppsched_layout_stages(own->layout, NULL));
    NO_MEMORY_FOR(ppsched_layout_offsets(own->layout, NULL));
    NO_MEMORY_FOR(ppsched_layout_write_text(text, sizeof text, NULL, own->layout, NULL));
    NO_MEMORY_FOR(ppsched_layout_write_modules(text, sizeof text, NULL, own->layout, 1, 0, NULL));
    NO_MEMORY_FOR((ppsched_layout_destroy(own->layout), 0));
    own->layout = NULL;
    destroy_handles(own);
}

static int32_t take_nothing(void *user, const char *data, size_t size)
{
    (void)user, (void)data, (void)size;
    return 0;
}

static void test_models(void **state)
{
    static const ppsched_transformer shape = {
        .size = sizeof shape, .layers = 4, .hidden_size = 64, .ffn_size = 256, .heads = 4, .vocabulary_size = 512};
    struct handles handles, *own = &handles;
    ppsched_parameters parameters = {.size = sizeof parameters};
    ppsched_pass_cost cost = {.size = sizeof cost};
    ppsched_layer_memory memory = {.size = sizeof memory};
    ppsched_update_cost update = {.size = sizeof update};
    ppsched_megatron_memory megatron = {.size = sizeof megatron};
    ppsched_model_row row = {.size = sizeof row};
    ppsched_description_info info = {.size = sizeof info};
    ppsched_row_measure measure = {.size = sizeof measure};
    ppsched_step_price step = {.size = sizeof step};
    ppsched_device_price device = {.size = sizeof device};
    ppsched_price *price = NULL;
    const ppsched_megatron_pipeline pipeline = {.size = sizeof pipeline, .devices = 2};
    ppsched_model *model = NULL;
    (void)state;
    make_handles(own, 0);
    const ppsched_description *description = NULL;
    expect_ok(ppsched_description_from_transformer(&description, &shape, &own->environment, NULL), NULL);
    expect_ok(ppsched_model_create(&model, description, NULL, ppsched_accelerator_at(0), &own->environment, NULL), NULL);
    expect_ok(ppsched_price_create(&price, model, NULL, &own->environment, NULL), NULL);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_price_get_step(&step, price, NULL));
    NO_MEMORY_FOR(ppsched_price_get_device(&device, price, 0, NULL));
    ppsched_pipeline priced = {.size = sizeof priced};
    NO_MEMORY_FOR(ppsched_price_get_pipeline(&priced, price, NULL));
    NO_MEMORY_FOR((ppsched_price_destroy(price), 0));
    NO_MEMORY_FOR(ppsched_model_get_parameters(&parameters, model, NULL));
    NO_MEMORY_FOR(ppsched_model_get_pass_cost(&cost, model, 1, PPSCHED_MODEL_PASS_FULL, NULL));
    NO_MEMORY_FOR(ppsched_model_get_row_measure(&measure, model, 1, NULL));
    NO_MEMORY_FOR(ppsched_model_get_link(NULL, NULL, model, 8, NULL));
    NO_MEMORY_FOR(ppsched_model_get_pipeline_link(NULL, NULL, model, NULL, 0, 0, NULL));
    NO_MEMORY_FOR(ppsched_model_get_pipeline_update_cost(&update, model, NULL, 1e9, 0, NULL));
    double seconds;
    NO_MEMORY_FOR(ppsched_model_get_copies_time(&seconds, model, 2, 2, NULL));
    NO_MEMORY_FOR(ppsched_model_get_attention_share(&seconds, model, 1, PPSCHED_MODEL_PASS_FORWARD, NULL));
    NO_MEMORY_FOR(ppsched_model_get_memory(&memory, model, 1, NULL));
    NO_MEMORY_FOR(ppsched_model_get_update_cost(&update, model, 1e9, 0, NULL));
    NO_MEMORY_FOR(ppsched_model_get_megatron_memory(&megatron, model, &pipeline, NULL));
    NO_MEMORY_FOR(ppsched_model_row_count(model));
    NO_MEMORY_FOR(ppsched_model_get_row(&row, model, 1, NULL));
    NO_MEMORY_FOR(ppsched_description_get_info(&info, description, NULL));
    NO_MEMORY_FOR(ppsched_description_warning_count(description));
    NO_MEMORY_FOR((ppsched_description_warning_at(description, 0), 0));
    NO_MEMORY_FOR(ppsched_description_write(description, take_nothing, NULL, NULL));
    NO_MEMORY_FOR((ppsched_description_retain(description), 0));
    NO_MEMORY_FOR((ppsched_description_release(description), 0));
    NO_MEMORY_FOR((ppsched_description_release(description), 0));
    NO_MEMORY_FOR((ppsched_model_destroy(model), 0));
    destroy_handles(own);
}

static void test_jobs(void **state)
{
    static const ppsched_transformer shape = {
        .size = sizeof shape, .layers = 4, .hidden_size = 64, .ffn_size = 256, .heads = 4, .vocabulary_size = 512};
    const ppsched_job_options options = {.size = sizeof options, .gpus = 1};
    struct handles handles, *own = &handles;
    const ppsched_description *description = NULL;
    ppsched_job_layout layout = {.size = sizeof layout};
    ppsched_job *job = NULL;
    (void)state;
    make_handles(own, 0);
    expect_ok(ppsched_description_from_transformer(&description, &shape, &own->environment, NULL), NULL);
    expect_ok(ppsched_job_create(&job, description, NULL, ppsched_accelerator_at(0), &options, &own->environment, NULL), NULL);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_job_layout_count(job));
    NO_MEMORY_FOR(ppsched_job_get_layout(&layout, job, 0, NULL));
    NO_MEMORY_FOR(ppsched_job_set_progress(job, NULL, NULL, NULL));
    NO_MEMORY_FOR(ppsched_job_best_count(job));
    NO_MEMORY_FOR(ppsched_job_layout_at_rank(job, 0));
    NO_MEMORY_FOR((ppsched_job_destroy(job), 0));
    ppsched_description_release(description);
    destroy_handles(own);
}

static void test_calibrators(void **state)
{
    static const ppsched_transformer shape = {
        .size = sizeof shape, .layers = 4, .hidden_size = 64, .ffn_size = 256, .heads = 4, .vocabulary_size = 512};
    struct handles handles, *own = &handles;
    const ppsched_description *description = NULL;
    ppsched_calibrated_constant constant = {.size = sizeof constant};
    ppsched_calibrated_run run = {.size = sizeof run};
    ppsched_accelerator fitted = {.size = sizeof fitted};
    ppsched_calibrator *calibrator = NULL;
    (void)state;
    make_handles(own, 0);
    expect_ok(ppsched_description_from_transformer(&description, &shape, &own->environment, NULL), NULL);
    expect_ok(ppsched_calibrator_create(&calibrator, ppsched_accelerator_at(0), &own->environment, NULL), NULL);
    expect_ok(ppsched_calibrator_append_run(calibrator, description, NULL, NULL, 1e-3, NULL), NULL);
    expect_ok(ppsched_calibrator_run(calibrator, NULL), NULL);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_calibrator_constant_count(calibrator));
    NO_MEMORY_FOR(ppsched_calibrator_get_constant(&constant, calibrator, 0, NULL));
    NO_MEMORY_FOR(ppsched_calibrator_run_count(calibrator));
    NO_MEMORY_FOR(ppsched_calibrator_get_run(&run, calibrator, 0, NULL));
    NO_MEMORY_FOR(ppsched_calibrator_get_accelerator(&fitted, calibrator, NULL));
    NO_MEMORY_FOR(ppsched_calibrator_set_progress(calibrator, NULL, NULL, NULL));
    NO_MEMORY_FOR((ppsched_calibrator_destroy(calibrator), 0));
    ppsched_description_release(description);
    destroy_handles(own);
}

static void test_layers(void **state)
{
    struct handles handles, *own = &handles;
    ppsched_layer layer = {.size = sizeof layer};
    ppsched_pair_windows windows = {.size = sizeof windows};
    uint32_t split[4];
    uint8_t recomputes[6];
    (void)state;
    make_handles(own, 2);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_layers_count(own->layers));
    NO_MEMORY_FOR(ppsched_layers_entries(own->layers));
    NO_MEMORY_FOR(ppsched_config_get_windows(&windows, own->config, 0, NULL));
    NO_MEMORY_FOR(ppsched_layers_get_entry(&layer, own->layers, 1, NULL));
    NO_MEMORY_FOR(ppsched_plan_get_split(split, 4, NULL, own->plan, 0, NULL));
    NO_MEMORY_FOR(ppsched_plan_get_recomputes(recomputes, 6, NULL, own->plan, 0, NULL));
    NO_MEMORY_FOR(ppsched_layers_retain(own->layers));
    NO_MEMORY_FOR((ppsched_layers_release(own->layers), 0));
    destroy_handles(own);
}

static void test_varied_plans(void **state)
{
    struct handles handles, *own = &handles;
    uint32_t order[4];
    (void)state;
    make_handles(own, 3);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_plan_get_microbatch_order(order, 4, NULL, own->plan, 0, NULL));
    destroy_handles(own);
}

static void test_ordered_plans(void **state)
{
    struct handles handles, *own = &handles;
    uint32_t order[2];
    (void)state;
    make_handles(own, 4);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_plan_get_device_order(order, 2, NULL, own->plan, 0, NULL));
    destroy_handles(own);
}

static void test_plans_and_frees(void **state)
{
    struct handles handles, *own = &handles;
    ppsched_candidate candidate = {.size = sizeof candidate};
    (void)state;
    make_handles(own, 1);
    int asked = own->host.asked;
    NO_MEMORY_FOR(ppsched_plan_count(own->plan));
    NO_MEMORY_FOR(ppsched_plan_candidate_at_rank(own->plan, 0));
    NO_MEMORY_FOR(ppsched_plan_get_candidate(&candidate, own->plan, 0, NULL));
    NO_MEMORY_FOR((ppsched_plan_destroy(own->plan), 0));
    NO_MEMORY_FOR((ppsched_builder_destroy(own->builder), 0));
    NO_MEMORY_FOR((ppsched_timeline_destroy(own->timeline), 0));
    NO_MEMORY_FOR((ppsched_steady_destroy(own->steady), 0));
    NO_MEMORY_FOR((ppsched_replan_destroy(own->replan), 0));
    NO_MEMORY_FOR((ppsched_replicas_destroy(own->replicas), 0));
    NO_MEMORY_FOR((ppsched_config_destroy(own->config), 0));
    own->plan = NULL;
    own->builder = NULL;
    own->timeline = NULL;
    own->steady = NULL;
    own->replan = NULL;
    own->replicas = NULL;
    own->config = NULL;
    destroy_handles(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHORTAGE(schedule_check, .variants = 3),
        SHORTAGE(schedule_prove, .variants = 3),
        SHORTAGE(schedule_get_links, .variants = 1),
        SHORTAGE(schedule_get_buffers, .variants = 1),
        SHORTAGE(schedule_get_connections, .variants = PPSCHED_CONNECTING_STAGES + 1),
        SHORTAGE(schedule_get_lifetimes, .variants = PPSCHED_SLOT_USE_RECEIVE + 1),
        SHORTAGE(schedule_get_arenas, .variants = PPSCHED_SLOT_USE_RECEIVE + 1),
        SHORTAGE(schedule_recompute, .variants = 1),
        SHORTAGE(schedule_offload, .variants = 2),
        SHORTAGE(schedule_order_microbatches, .variants = 1, .prepare = prepare_scale),
        SHORTAGE(microbatches_balance, .variants = 2),
        SHORTAGE(prefill_find_chunks, .variants = 3),
        SHORTAGE(prefill_create_config, .variants = 1),
        SHORTAGE(schedule_evaluate_scenarios, .variants = 2),
        SHORTAGE(schedule_renumber, .variants = 1),
        SHORTAGE(schedule_lower, .variants = PPSCHED_LOWERING_JUST_IN_TIME + 2),
        SHORTAGE(schedule_find_period, .variants = 1),
        SHORTAGE(schedule_evaluate, .variants = 5),
        SHORTAGE(schedule_evaluate_transfers, .variants = 3),
        SHORTAGE_WITH(" of copies", schedule_lower, .variants = PPSCHED_LOWERING_JUST_IN_TIME + 2, .prepare = prepare_copies),
        SHORTAGE_WITH(" of copies", schedule_evaluate_transfers, .variants = 2, .prepare = prepare_copies),
        SHORTAGE_WITH(" of calls", schedule_evaluate_transfers, .variants = 2, .prepare = prepare_calls),
        SHORTAGE(timeline_get_critical_path, .variants = 1),
        SHORTAGE(timeline_get_sensitivities, .variants = 2),
        SHORTAGE(timeline_get_memory, .variants = 1),
        SHORTAGE(timeline_get_memory_of_cause, .variants = 1),
        SHORTAGE(timeline_get_peak_items, .variants = 1),
        SHORTAGE(timeline_get_idle_windows, .variants = 1),
        SHORTAGE(schedule_export, .variants = LAST_FORMAT),
        SHORTAGE(schedule_export_to_buffer, .variants = LAST_FORMAT),
        SHORTAGE(schedule_write_launch_arguments, .variants = LAUNCHES * LAST_RUNTIME),
        cmocka_unit_test(test_configs_and_builders),
        cmocka_unit_test(test_schedules_and_timelines),
        cmocka_unit_test(test_offloads_until_limits),
        cmocka_unit_test(test_lowers_a_graph),
        cmocka_unit_test(test_orders_a_graph),
        cmocka_unit_test(test_planning_again),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_calibrators),
        cmocka_unit_test(test_jobs),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_varied_plans),
        cmocka_unit_test(test_ordered_plans),
        cmocka_unit_test(test_plans_and_frees),
    };
    return cmocka_run_group_tests_name("allocation_use", tests, NULL, NULL);
}
