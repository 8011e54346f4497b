/* SPDX-License-Identifier: Apache-2.0 */
#include "prop/split_draw.h"

#include <math.h>
#include <string.h>

static double quarters(uint64_t *seed, uint32_t least, uint32_t most)
{
    return (least + random_below(seed, most - least + 1)) / 4.0;
}

/* Whose orders are fixed. */
static const char *const one_stage[] = {"1f1b", "gpipe", "eager_1f1b", "zb_h1", "zb_h2", "1f1b_overlap", "dualpipe"};
static const char *const loops[] = {"looped_bfs", "interleaved_zb", "interleaved_1f1b", "interleaved_1f1b_overlap",
                                    "interleaved_1f1b_less_memory"};
static const char *const vs[] = {"dualpipe_v", "zbv", "v_1f1b"};

enum { ONE_STAGE = sizeof one_stage / sizeof *one_stage, LOOPS = sizeof loops / sizeof *loops, VS = sizeof vs / sizeof *vs };

static const char *draw_strategy(uint32_t *chunks, const struct split_sizes *sizes, uint64_t *seed)
{
    uint32_t chosen = random_below(seed, sizes->chunks > 1 ? ONE_STAGE + LOOPS + VS : ONE_STAGE);
    *chunks = chosen < ONE_STAGE ? 1 : chosen < ONE_STAGE + LOOPS ? 2 + random_below(seed, sizes->chunks - 1) : 2;
    return chosen < ONE_STAGE           ? one_stage[chosen]
           : chosen < ONE_STAGE + LOOPS ? loops[chosen - ONE_STAGE]
                                        : vs[chosen - ONE_STAGE - LOOPS];
}

/* One that does not fit these sizes is drawn again. */
static void draw_schedule(struct split_problem *out, const char **strategy, const struct split_sizes *sizes, uint64_t *seed)
{
    ppsched_schedule *schedule = NULL;
    while (schedule == NULL) {
        uint32_t devices = 1 + random_below(seed, sizes->devices), microbatches = 1 + random_below(seed, sizes->microbatches);
        uint32_t chunks;
        const char *name = draw_strategy(&chunks, sizes, seed);
        if (devices * chunks > SPLIT_STAGES || (sizes->strategy != NULL && strcmp(name, sizes->strategy) != 0))
            continue;
        ppsched_config *config = make_config(devices, devices * chunks, microbatches);
        if (ppsched_schedule_generate(&schedule, config, name, NULL) == PPSCHED_OK && strategy != NULL)
            *strategy = name;
        ppsched_config_destroy(config);
    }
    out->schedule = schedule;
}

/* The end of I releases some of what is held, or its start adds some; then W and B release what is left. */
static struct split_cost draw_cost(uint64_t *seed)
{
    struct split_cost cost = {.fixed = quarters(seed, 0, 4)};
    cost.time[PPSCHED_KIND_F] = quarters(seed, 1, 8);
    cost.time[PPSCHED_KIND_I] = quarters(seed, 1, 8);
    cost.time[PPSCHED_KIND_W] = quarters(seed, 0, 8);
    cost.time[PPSCHED_KIND_B] = cost.time[PPSCHED_KIND_I] + cost.time[PPSCHED_KIND_W];
    cost.memory[PPSCHED_KIND_I] = -quarters(seed, 0, 8);
    cost.memory[PPSCHED_KIND_W] = -quarters(seed, 0, 4);
    cost.memory[PPSCHED_KIND_F] = -cost.memory[PPSCHED_KIND_I] - cost.memory[PPSCHED_KIND_W];
    if (random_below(seed, 4) == 0) {
        cost.more = quarters(seed, 0, 4);
        cost.memory[PPSCHED_KIND_W] += cost.memory[PPSCHED_KIND_I] - cost.more;
        cost.memory[PPSCHED_KIND_I] = 0;
    }
    cost.memory[PPSCHED_KIND_B] = -cost.memory[PPSCHED_KIND_F] - cost.more;
    return cost;
}

/* I takes longer by what is recomputed, and less is held until then. */
static struct split_cost recomputed(const struct split_cost *own, uint64_t *seed)
{
    struct split_cost cost = *own;
    double more = random_below(seed, 2) ? quarters(seed, 0, 8) : 0,
           held = floor(own->memory[PPSCHED_KIND_F] * random_below(seed, 5)) / 4;
    cost.time[PPSCHED_KIND_I] += more;
    cost.time[PPSCHED_KIND_B] += more;
    cost.memory[PPSCHED_KIND_F] = held;
    cost.memory[PPSCHED_KIND_B] = -held - own->more;
    cost.back = cost.largest = own->memory[PPSCHED_KIND_F] - held;
    return cost;
}

static void draw_entry(struct split_problem *out, enum split_place place, uint32_t count, uint32_t choices, uint64_t *seed)
{
    struct split_entry *entry = &out->entry[out->entries++];
    *entry = (struct split_entry){.count = count, .choices = choices, .place = place, .cost = {draw_cost(seed)}};
    for (uint32_t i = 1; i < choices; i++)
        entry->cost[i] = recomputed(&entry->cost[0], seed);
}

static void draw_layers(struct split_problem *out, const struct split_sizes *sizes, uint64_t *seed)
{
    uint32_t stages = ppsched_schedule_stages(out->schedule), count = stages + random_below(seed, sizes->spare + 1);
    uint32_t second = random_below(seed, 2) ? random_below(seed, count) : 0;
    if (random_below(seed, 2))
        draw_entry(out, SPLIT_FIRST, 1, 1, seed);
    draw_entry(out, SPLIT_ANYWHERE, count - second, 1 + random_below(seed, SPLIT_CHOICES), seed);
    if (second > 0)
        draw_entry(out, SPLIT_ANYWHERE, second, 1 + random_below(seed, SPLIT_CHOICES), seed);
    if (random_below(seed, 2))
        draw_entry(out, SPLIT_LAST, 1, 1, seed);
    int empty = random_below(seed, 4) == 0; /* all but the first and the last stage may be */
    for (uint32_t s = 0; s < stages; s++)
        out->least[s] = s == 0 || s + 1 == stages || !empty;
}

/* A share of what the first body layers take when they are spread evenly. */
static void draw_limits(struct split_problem *out, uint64_t *seed)
{
    struct split_cost stage[SPLIT_STAGES] = {0};
    double makespan, peak[SPLIT_DEVICES] = {0}, most = 0;
    uint32_t devices = ppsched_schedule_devices(out->schedule), at = 0, limited = random_below(seed, 4);
    for (uint32_t e = 0; e < out->entries; e++)
        for (uint32_t i = 0; i < out->entry[e].count; i++, at++) {
            struct split_cost *sum = &stage[at % ppsched_schedule_stages(out->schedule)];
            for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++)
                sum->memory[kind] += out->entry[e].cost[0].memory[kind];
            sum->more += out->entry[e].cost[0].more;
            sum->fixed += out->entry[e].cost[0].fixed;
        }
    assert_true(brute_price_stages(&makespan, peak, out, stage));
    for (uint32_t d = 0; d < devices; d++)
        most = fmax(most, peak[d]);
    most = floor(4 * most * (40 + random_below(seed, 70)) / 100) / 4;
    for (uint32_t d = 0; d < devices; d++)
        out->limit[d] = limited == 0 ? HUGE_VAL : most + (limited == 1 ? quarters(seed, 0, 16) : 0);
}

/* One in three has some; from a seed of its own. */
static void draw_overhead(struct split_problem *out, uint64_t seed)
{
    int overhead = random_below(&seed, 3) == 0;
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W && overhead; kind++)
        out->overhead[kind] = quarters(&seed, 0, 6);
}

void draw_own_overheads(struct split_problem *out, uint32_t devices, uint64_t seed)
{
    const int some = random_below(&seed, 3) == 0;
    for (uint32_t d = 0; d < devices && some; d++)
        out->own_overhead[d] = quarters(&seed, 0, 8);
}

void draw_split_problem(struct split_problem *out, const char **strategy, const struct split_sizes *sizes, uint64_t *seed)
{
    memset(out, 0, sizeof *out);
    draw_schedule(out, strategy, sizes, seed);
    draw_layers(out, sizes, seed);
    int delayed = (int)random_below(seed, 2);
    const uint32_t most = sizes->devices > 4 ? sizes->devices : 4;
    for (uint32_t i = 0; i < most * most; i++)
        out->delay[i / most][i % most] = delayed ? quarters(seed, 0, 4) : 0;
    draw_limits(out, seed);
    draw_overhead(out, *seed);
}

static void set_list(ppsched_config *config, int32_t quantity, const double *values, size_t count)
{
    ppsched_error error;
    expect_ok(ppsched_config_set_values(config, quantity, values, count, &error), &error);
}

static void set_stages(ppsched_config *config, const struct split_cost *stage, uint32_t stages)
{
    static const int32_t times[] = {0, PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                    PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES};
    static const int32_t memory[] = {0, PPSCHED_QUANTITY_MEM_FORWARD, 0, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT,
                                     PPSCHED_QUANTITY_MEM_BACKWARD_WEIGHT};
    double list[SPLIT_STAGES];
    for (int kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        for (uint32_t s = 0; s < stages; s++)
            list[s] = stage[s].time[kind];
        set_list(config, times[kind], list, stages);
        for (uint32_t s = 0; s < stages; s++)
            list[s] = stage[s].memory[kind] + (kind == PPSCHED_KIND_I ? stage[s].more : 0);
        if (memory[kind] != 0)
            set_list(config, memory[kind], list, stages);
    }
    for (uint32_t s = 0; s < stages; s++)
        list[s] = stage[s].fixed;
    set_list(config, PPSCHED_QUANTITY_MEM_STATIC, list, stages);
}

ppsched_config *config_of_stages(const struct split_problem *problem, const struct split_cost stage[SPLIT_STAGES])
{
    const ppsched_schedule *schedule = problem->schedule;
    uint32_t devices = ppsched_schedule_devices(schedule), stages = ppsched_schedule_stages(schedule);
    double list[SPLIT_DEVICES * SPLIT_DEVICES];
    ppsched_error error;
    ppsched_config *config = make_config(devices, stages, ppsched_schedule_microbatches(schedule));
    expect_ok(ppsched_config_set_placement(config, ppsched_schedule_placement(schedule), NULL, 0, &error), &error);
    set_stages(config, stage, stages);
    for (uint32_t i = 0; i < devices * devices; i++)
        list[i] = problem->delay[i / devices][i % devices];
    set_list(config, PPSCHED_QUANTITY_P2P_TIME, list, devices * devices);
    if (problem->speed[0] > 0)
        set_list(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, problem->speed, devices);
    set_list(config, PPSCHED_QUANTITY_DEVICE_OVERHEAD, problem->own_overhead, devices);
    set_list(config, PPSCHED_QUANTITY_OP_OVERHEAD, problem->overhead + PPSCHED_KIND_F, PPSCHED_KIND_W);
    if (problem->senders_wait)
        expect_ok(ppsched_config_set_sender_waits(config, PPSCHED_SENDER_WAITS_LIKE_KIND, &error), &error);
    if (problem->limit[0] < HUGE_VAL)
        set_list(config, PPSCHED_QUANTITY_MEM_LIMIT, problem->limit, devices);
    return config;
}

/* --- as layers --- */

static ppsched_layer layer_of(const struct split_entry *entry, ppsched_recompute *recomputes)
{
    static const char *const names[] = {"none", "some", "all"};
    const struct split_cost *own = &entry->cost[0];
    ppsched_layer layer = {.size = sizeof layer, .count = entry->count, .name = "layer"};
    layer.place = entry->place == SPLIT_FIRST  ? PPSCHED_LAYER_PLACE_FIRST
                  : entry->place == SPLIT_LAST ? PPSCHED_LAYER_PLACE_LAST
                                               : PPSCHED_LAYER_PLACE_ANY;
    layer.forward_time = own->time[PPSCHED_KIND_F];
    layer.backward_time = own->time[PPSCHED_KIND_B];
    layer.backward_input_time = own->time[PPSCHED_KIND_I];
    layer.backward_weight_time = own->time[PPSCHED_KIND_W];
    layer.mem_forward = own->memory[PPSCHED_KIND_F];
    layer.mem_backward_input = own->memory[PPSCHED_KIND_I] + own->more;
    layer.mem_backward_weight = own->memory[PPSCHED_KIND_W];
    layer.mem_static = own->fixed;
    layer.recomputes = recomputes;
    layer.recompute_count = entry->choices - 1;
    for (uint32_t i = 1; i < entry->choices; i++)
        recomputes[i - 1] = (ppsched_recompute){names[i], entry->cost[i].time[PPSCHED_KIND_B] - own->time[PPSCHED_KIND_B],
                                                entry->cost[i].memory[PPSCHED_KIND_F]};
    return layer;
}

const ppsched_layers *layers_of(const struct split_problem *problem)
{
    ppsched_recompute recomputes[SPLIT_ENTRIES][SPLIT_CHOICES];
    ppsched_layer layers[SPLIT_ENTRIES];
    const ppsched_layer *list[SPLIT_ENTRIES];
    const ppsched_layers *made = NULL;
    ppsched_error error;
    for (uint32_t e = 0; e < problem->entries; e++) {
        layers[e] = layer_of(&problem->entry[e], recomputes[e]);
        list[e] = &layers[e];
    }
    expect_ok(ppsched_layers_create(&made, list, problem->entries, NULL, &error), &error);
    return made;
}

/* Of equal layers in a stage those that are left alone come first. */
void split_of_answer(uint32_t counts[SPLIT_STAGES], uint8_t recomputes[SPLIT_LAYERS], const struct split_problem *problem,
                     const struct split_answer *answer)
{
    uint32_t layer = 0;
    for (uint32_t s = 0; s < ppsched_schedule_stages(problem->schedule); s++) {
        counts[s] = 0;
        for (uint32_t e = 0; e < problem->entries; e++)
            for (uint32_t c = 0; c < problem->entry[e].choices; c++)
                for (uint32_t i = 0; i < answer->chosen[s][e][c]; i++, counts[s]++)
                    recomputes[layer++] = (uint8_t)c;
    }
}
