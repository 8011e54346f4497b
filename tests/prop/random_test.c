/* SPDX-License-Identifier: Apache-2.0 */
/* Properties over thousands of random problems: the evaluator against a brute-force one, slack against held-back ops, memory
 * against a plain sum, the checker against brute force on schedules that were tampered with. */
#include "support/brute.h"
#include "support/problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double random_time(uint64_t *state, int whole)
{
    return whole ? random_below(state, 6) : random_below(state, 1000) / 64.0; /* sums are exact */
}

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

/* Microbatches and slices that differ, each by eighths, so that sums are exact; all alike in half of the draws. */
static void random_factors(uint64_t *state, ppsched_config *config, struct brute_costs *costs)
{
    uint32_t microbatches = ppsched_config_microbatches(config), slices = ppsched_config_slices(config);
    uint32_t stages = ppsched_config_stages(config);
    double time[BRUTE_MICRO_SLICES], memory[BRUTE_MICRO_SLICES], slice[BRUTE_STAGES * BRUTE_MICRO_SLICES];
    int differ = (int)random_below(state, 2), apart = (int)random_below(state, 2),
        by_slice = slices > 1 && random_below(state, 2), by_stage = by_slice && random_below(state, 2);
    for (uint32_t m = 0; m < microbatches; m++) {
        time[m] = differ ? (1 + random_below(state, 20)) / 8.0 : 1;
        memory[m] = differ && apart ? (1 + random_below(state, 20)) / 8.0 : time[m];
    }
    for (uint32_t i = 0; i < stages * slices; i++)
        slice[i] = by_slice ? (1 + random_below(state, 20)) / 8.0 : 1;
    for (uint32_t m = 0; m < microbatches; m++)
        for (uint32_t k = 0; k < slices; k++) {
            for (uint32_t s = 0; s < stages; s++)
                costs->time_factor[s][m * slices + k] = time[m] * slice[by_stage ? s * slices + k : k];
            costs->memory_factor[m * slices + k] = memory[m];
        }
    if (differ)
        set_list(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, time, microbatches);
    if (differ && apart)
        set_list(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, memory, microbatches);
    if (by_slice)
        set_list(config, PPSCHED_QUANTITY_SLICE_SCALE, slice, by_stage ? stages * slices : slices);
}

/* What is sent, at bandwidths that divide without rest. */
static void random_bytes(uint64_t *state, ppsched_config *config, struct brute_costs *costs)
{
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    double list[BRUTE_DEVICES * BRUTE_DEVICES];
    int sends = (int)random_below(state, 2);
    for (int path = 0; path < 2; path++)
        for (uint32_t s = 0; s < stages; s++)
            costs->sent[path][s] = sends ? random_below(state, 40) / 8.0 : 0;
    if (!sends)
        return;
    for (uint32_t edge = 0; edge < devices * devices; edge++)
        list[edge] = costs->bandwidth[edge / devices][edge % devices] = 1 << random_below(state, 4);
    set_list(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, costs->sent[0], stages);
    set_list(config, PPSCHED_QUANTITY_GRADIENT_BYTES, costs->sent[1], stages);
    set_list(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, list, devices * devices);
}

/* Draws all numbers of a problem, for the library and for brute force. */
static void random_costs(uint64_t *state, ppsched_config *config, struct brute_costs *costs)
{
    static const int32_t kinds[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    uint32_t stages = ppsched_config_stages(config), devices = ppsched_config_devices(config);
    double list[BRUTE_STAGES * BRUTE_STAGES];
    int whole = (int)random_below(state, 2), overlapped = (int)random_below(state, 2);
    for (int k = 1; k <= 4; k++) {
        for (uint32_t s = 0; s < stages; s++)
            list[s] = costs->duration[k][s] = random_time(state, whole);
        set_list(config, kinds[k], list, stages);
    }
    for (uint32_t s = 0; s < stages; s++)
        for (uint32_t t = 0; t < stages; t++)
            list[s * stages + t] = costs->overlapped[s][t] = overlapped ? random_time(state, whole) : -1;
    if (overlapped)
        set_list(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, list, stages * stages);
    for (uint32_t a = 0; a < devices; a++)
        for (uint32_t b = 0; b < devices; b++)
            list[a * devices + b] = costs->delay[a][b] = random_time(state, whole);
    set_list(config, PPSCHED_QUANTITY_P2P_TIME, list, devices * devices);
    for (uint32_t s = 0; s < stages; s++) {
        costs->memory[PPSCHED_KIND_I][s] = -(double)random_below(state, 5);
        costs->memory[PPSCHED_KIND_W][s] = -(double)random_below(state, 5);
        costs->memory[PPSCHED_KIND_B][s] = costs->memory[PPSCHED_KIND_I][s] + costs->memory[PPSCHED_KIND_W][s];
        costs->memory[PPSCHED_KIND_F][s] = -costs->memory[PPSCHED_KIND_B][s];
    }
    set_list(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, costs->memory[PPSCHED_KIND_I], stages);
    set_list(config, PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT, costs->memory[PPSCHED_KIND_W], stages);
    random_bytes(state, config, costs);
    random_factors(state, config, costs);
}

/* A random problem that some strategy serves, and its schedule; NULL where the strategy refuses the draw. */
static ppsched_schedule *random_schedule(uint64_t *state, ppsched_config **config, struct brute_costs *costs)
{
    ppsched_strategy_info info = {.size = sizeof info};
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    do /* searches are too slow for so many trials */
        assert_int_equal(ppsched_strategy_get_info(&info, random_below(state, ppsched_strategy_count()), NULL), PPSCHED_OK);
    while (info.searches || info.offloads);
    uint32_t devices = 1 + random_below(state, 5), chunks = info.chunks != 0 ? info.chunks : 1 + random_below(state, 3);
    *config = make_config(devices, devices * chunks, 1 + random_below(state, 7));
    expect_ok(ppsched_config_set_iterations(*config, 1 + random_below(state, 3), &error), &error);
    expect_ok(ppsched_config_set_slices(*config, random_below(state, 3) == 0 ? 1 + random_below(state, 5) : 1, &error), &error);
    random_costs(state, *config, costs);
    expect_ok(ppsched_config_set_forward_only(*config, random_below(state, 5) == 0, &error), &error);
    ppsched_status status = ppsched_schedule_generate(&schedule, *config, info.name, &error);
    if (status != PPSCHED_OK)
        assert_int_equal(status, PPSCHED_ERROR_REFUSED);
    return schedule;
}

static void compare_spans(const ppsched_timeline *timeline, const ppsched_schedule *schedule, const struct brute *brute)
{
    int index = 0;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_span *spans = ppsched_timeline_spans(timeline, d, &count);
        for (size_t i = 0; i < count; i++, index++) {
            assert_true(spans[i].start == brute->ops[index].start);
            assert_true(spans[i].end == brute->ops[index].end);
        }
    }
    assert_true(metrics_of(timeline).makespan == brute->makespan);
}

/* What an F adds stays then. */
static int is_forward_only(const struct brute *brute)
{
    int backwards = 0;
    for (int i = 0; i < brute->count; i++)
        backwards += brute->ops[i].op.kind != PPSCHED_KIND_F;
    return backwards == 0;
}

/* Busy, idle, spans, bubbles and memory, summed up plainly. */
static void compare_figures(const ppsched_timeline *timeline, const ppsched_schedule *schedule, const struct brute *brute,
                            const struct brute_costs *costs)
{
    uint32_t devices = ppsched_schedule_devices(schedule);
    double all_busy = 0, longest = 0;
    ppsched_metrics whole = metrics_of(timeline);
    for (uint32_t d = 0; d < devices; d++) {
        double busy = 0, memory = 0, peak = 0, first = -1, last = 0;
        ppsched_device_metrics device = device_metrics_of(timeline, d);
        for (int i = 0; i < brute->count; i++) {
            const struct brute_op *b = &brute->ops[i];
            if (b->device != d)
                continue;
            busy += b->leader == i ? b->end - b->start : 0;
            memory += costs->memory[b->op.kind][b->op.stage] * brute_memory_factor(costs, schedule, &b->op);
            peak = fmax(peak, memory);
            first = first < 0 ? b->start : first;
            last = b->end;
        }
        assert_true(memory == 0 || is_forward_only(brute));
        /* Sums are exact, but of overlapped times that grow with their microbatches. */
        assert_true(device.busy == busy || (costs->overlapped[0][0] >= 0 && fabs(device.busy - busy) < 1e-12 * busy));
        assert_true(device.idle == whole.makespan - device.busy);
        assert_true(device.peak_memory == peak);
        assert_true(device.first_start == fmax(first, 0) && device.last_end == last);
        longest = fmax(longest, last - fmax(first, 0));
        all_busy += busy;
    }
    assert_true(whole.span == longest);
    if (whole.makespan > 0)
        assert_true(fabs(whole.bubble_of_total - (1 - all_busy / (devices * whole.makespan))) < 1e-12);
    if (longest > 0)
        assert_true(fabs(whole.bubble_of_span - (1 - all_busy / devices / longest)) < 1e-12);
}

/* An op may be held back by its slack, and by no more. */
static void compare_slack(uint64_t *state, const ppsched_timeline *timeline, const ppsched_schedule *schedule,
                          struct brute *brute, const struct brute_costs *costs)
{
    double makespan = brute->makespan;
    for (int trial = 0; trial < 4; trial++) {
        int index = (int)random_below(state, (uint32_t)brute->count), position = index;
        struct brute_op *b = &brute->ops[brute->ops[index].leader];
        while (position > 0 && brute->ops[position - 1].device == brute->ops[index].device)
            position--;
        double latest = ppsched_timeline_latest_starts(timeline, b->device, NULL)[index - position];
        b->not_before = latest;
        assert_true(brute_run(brute, schedule, costs));
        assert_true(brute->makespan == makespan || /* see compare_figures */
                    (costs->overlapped[0][0] >= 0 && fabs(brute->makespan - makespan) < 1e-12 * makespan));
        b->not_before = latest + 0.0625;
        assert_true(brute_run(brute, schedule, costs) && brute->makespan > makespan);
        b->not_before = 0;
    }
}

static void test_evaluator_equals_brute_force(void **state)
{
    uint64_t seed = 1;
    int served = 0, forward_only = 0;
    (void)state;
    for (int trial = 0; trial < 4000; trial++) {
        struct brute_costs costs;
        struct brute brute;
        ppsched_config *config = NULL;
        ppsched_schedule *schedule = random_schedule(&seed, &config, &costs);
        if (schedule != NULL) {
            ppsched_timeline *timeline = make_timeline(schedule, config);
            brute_load(&brute, schedule);
            assert_true(brute_complete(&brute, schedule));
            assert_true(brute_run(&brute, schedule, &costs));
            compare_spans(timeline, schedule, &brute);
            compare_figures(timeline, schedule, &brute, &costs);
            if (brute.count < 120)
                compare_slack(&seed, timeline, schedule, &brute, &costs);
            forward_only += is_forward_only(&brute);
            assert_int_equal(is_forward_only(&brute), ppsched_config_forward_only(config));
            brute_free(&brute);
            ppsched_timeline_destroy(timeline);
            ppsched_schedule_release(schedule);
            served++;
        }
        ppsched_config_destroy(config);
    }
    if (served <= 1600 || forward_only < 60)
        fail_msg("only %d served, %d of them forwards alone", served, forward_only);
}

/* --- schedules of the caller's own: any placement, overlapped pairs, and tampering --- */

struct draft {
    ppsched_op ops[BRUTE_DEVICES][400];
    size_t count[BRUTE_DEVICES];
    uint32_t devices;
};

static void add(struct draft *draft, uint32_t device, uint8_t kind, uint32_t stage, uint32_t microbatch, uint32_t slice)
{
    draft->ops[device][draft->count[device]++] = (ppsched_op){
        .microbatch = microbatch, .stage = (uint16_t)stage, .slice = (uint16_t)slice, .kind = kind};
}

/* Appends ops in a random order that respects all inputs, so that the schedule can be run. */
static void random_order(uint64_t *state, struct draft *draft, uint32_t stages, uint32_t microbatches, uint32_t slices,
                         const uint32_t *map)
{
    static uint8_t step[BRUTE_STAGES][32]; /* 0: nothing done, 1: F, 2: I, 3: all */
    memset(step, 0, sizeof step);
    for (uint32_t left = stages * microbatches * slices; left > 0;) {
        uint32_t s = random_below(state, stages), m = random_below(state, microbatches), k = random_below(state, slices);
        uint8_t *now = &step[s][m * slices + k];
        int inputs = *now == 0   ? (s == 0 || now[-32] >= 1) && (k == 0 || now[-1] >= 1)
                     : *now == 1 ? (s + 1 == stages || now[32] >= 2) && (k + 1 == slices || now[1] >= 2)
                                 : 1;
        if (*now == 3 || !inputs)
            continue;
        int full = *now == 1 && random_below(state, 2);
        add(draft, map[s],
            *now == 0   ? PPSCHED_KIND_F
            : full      ? PPSCHED_KIND_B
            : *now == 1 ? PPSCHED_KIND_I
                        : PPSCHED_KIND_W,
            s, m, k);
        *now = full ? 3 : (uint8_t)(*now + 1);
        left -= *now == 3;
    }
}

/* Overlaps some neighbouring F and B; most of these can still be run. */
static void overlap_some(uint64_t *state, struct draft *draft)
{
    for (uint32_t d = 0; d < draft->devices; d++)
        for (size_t i = 1; i < draft->count[d]; i++) {
            ppsched_op *a = &draft->ops[d][i - 1], *b = &draft->ops[d][i];
            int free = i < 2 || (draft->ops[d][i - 2].flags & PPSCHED_OP_FLAG_OVERLAPPED) == 0;
            int backward = b->kind == PPSCHED_KIND_B || b->kind == PPSCHED_KIND_I;
            if (free && a->kind == PPSCHED_KIND_F && backward && random_below(state, 2))
                a->flags = PPSCHED_OP_FLAG_OVERLAPPED;
        }
}

static void drop_backwards(struct draft *draft)
{
    for (uint32_t d = 0; d < draft->devices; d++) {
        size_t kept = 0;
        for (size_t i = 0; i < draft->count[d]; i++)
            if (draft->ops[d][i].kind == PPSCHED_KIND_F)
                draft->ops[d][kept++] = draft->ops[d][i];
        draft->count[d] = kept;
    }
}

static void tamper(uint64_t *state, struct draft *draft, uint32_t stages, uint32_t microbatches, uint32_t slices)
{
    uint32_t d = random_below(state, draft->devices), e = random_below(state, draft->devices);
    if (draft->count[d] < 2)
        return;
    size_t i = random_below(state, (uint32_t)draft->count[d]), j = random_below(state, (uint32_t)draft->count[d]);
    ppsched_op *a = &draft->ops[d][i], *b = &draft->ops[d][j], swapped = *a;
    if ((a->flags | b->flags) != 0 || (i > 0 && a[-1].flags != 0) || (j > 0 && b[-1].flags != 0))
        return;
    switch (random_below(state, 4)) {
    case 0: /* swap */
        *a = *b;
        *b = swapped;
        return;
    case 1: /* lose */
        draft->count[d]--;
        memmove(a, a + 1, (draft->count[d] - i) * sizeof *a);
        return;
    case 2: /* repeat, perhaps elsewhere */
        draft->ops[e][draft->count[e]++] = swapped;
        return;
    default: /* rename */
        a->stage = (uint16_t)random_below(state, stages);
        a->microbatch = random_below(state, microbatches);
        a->slice = (uint16_t)random_below(state, slices);
        return;
    }
}

static ppsched_schedule *build(const struct draft *draft, const ppsched_config *config, uint32_t flushes)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_builder_create(&builder, config, &error), &error);
    expect_ok(ppsched_builder_set_flushes(builder, flushes, &error), &error);
    for (uint32_t d = 0; d < draft->devices; d++)
        expect_ok(ppsched_builder_append(builder, d, draft->ops[d], draft->count[d], &error), &error);
    expect_ok(ppsched_builder_finish(&schedule, builder, &error), &error);
    ppsched_builder_destroy(builder);
    return schedule;
}

/* Checker and evaluator say what brute force says. Returns 1 where the schedule is valid. */
static int agree(const ppsched_schedule *schedule, const ppsched_config *config, const struct brute_costs *costs)
{
    struct brute brute;
    size_t findings = 0;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    brute_load(&brute, schedule);
    int valid = brute_complete(&brute, schedule) && brute_run(&brute, schedule, costs);
    ppsched_status checked = ppsched_schedule_check(NULL, 0, &findings, schedule, &error);
    ppsched_status evaluated = ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error);
    assert_int_equal(checked, valid ? PPSCHED_OK : PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_int_equal(evaluated, checked);
    assert_int_equal(findings == 0, valid);
    if (valid) {
        compare_spans(timeline, schedule, &brute);
        compare_figures(timeline, schedule, &brute, costs);
    }
    ppsched_timeline_destroy(timeline);
    brute_free(&brute);
    return valid;
}

static void test_own_schedules_equal_brute_force(void **state)
{
    static struct draft draft;
    uint64_t seed = 2;
    int valid = 0, invalid = 0;
    (void)state;
    for (int trial = 0; trial < 4000; trial++) {
        struct brute_costs costs;
        uint32_t map[BRUTE_STAGES], devices = 1 + random_below(&seed, 4), stages = 1 + random_below(&seed, 6);
        uint32_t iterations = 1 + random_below(&seed, 2), microbatches = 1 + random_below(&seed, 4);
        ppsched_error error;
        ppsched_config *config = make_config(devices, stages, microbatches);
        uint32_t slices = iterations == 1 && random_below(&seed, 2) ? 1 + random_below(&seed, 4) : 1;
        expect_ok(ppsched_config_set_iterations(config, iterations, &error), &error);
        expect_ok(ppsched_config_set_slices(config, slices, &error), &error);
        for (uint32_t s = 0; s < stages; s++)
            map[s] = random_below(&seed, devices);
        expect_ok(ppsched_config_set_placement(config, PPSCHED_PLACEMENT_MAP, map, stages, &error), &error);
        random_costs(&seed, config, &costs);
        memset(&draft, 0, sizeof draft);
        draft.devices = devices;
        random_order(&seed, &draft, stages, microbatches * iterations, slices, map);
        uint32_t form = random_below(&seed, 6);
        if (form < 2)
            overlap_some(&seed, &draft);
        else if (form == 2)
            drop_backwards(&draft);
        for (uint32_t i = random_below(&seed, 2); i > 0; i--)
            tamper(&seed, &draft, stages, microbatches * iterations, slices);
        ppsched_schedule *schedule = build(&draft, config, random_below(&seed, 2));
        if (agree(schedule, config, &costs))
            valid++;
        else
            invalid++;
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    if (valid < 1000 || invalid < 1000)
        fail_msg("%d valid and %d invalid schedules", valid, invalid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluator_equals_brute_force),
        cmocka_unit_test(test_own_schedules_equal_brute_force),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
