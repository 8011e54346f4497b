/* SPDX-License-Identifier: Apache-2.0 */
/* The lower bounds are as high as bound.h says: each of their figures reckoned again from plain lists, on problems in which
 * every stage, pair, edge and device differs. A bound that got looser is below, and one with a number from the wrong place is
 * off. That no schedule is below them is tested by bound_sweep_test. */
#include "support/uneven.h"

#include <math.h>
#include <string.h>

enum { MOST_DEVICES = 4, MOST_LANES = 12 };

/* What a copy's slices of microbatches take, as multiples: sums of 1, of times, of memory, of both; the least and the most. */
struct micro_slices {
    double count, time, held, both, least_time, least_sent, most_held;
};

/* A lane is a stage of a model copy. */
struct problem {
    uint32_t devices, stages, copies, microbatches, device[2][MOST_LANES];
    double forward[MOST_LANES], whole[MOST_LANES], input[MOST_LANES], weight[MOST_LANES];
    double pair[MOST_LANES][MOST_LANES], delay[MOST_DEVICES][MOST_DEVICES];
    double held[MOST_LANES], after_input[MOST_LANES]; /* by a stage pass, and what of it W releases */
    double fixed[MOST_DEVICES], limit[MOST_DEVICES];
    double bytes[2][MOST_LANES], bandwidth[MOST_DEVICES][MOST_DEVICES]; /* of F, and of what goes back */
    struct micro_slices micro_slices[2][MOST_LANES];                    /* by copy and stage */
    int has_pairs, by_forward_stage, has_limits, has_micro_slices;
};

static double lower(double a, double b)
{
    return a < b ? a : b;
}

static double higher(double a, double b)
{
    return a > b ? a : b;
}

/* --- the least times of a stage --- */

/* The shortest pair with the F of a stage, or with its backward. */
static double shortest_pair(const struct problem *p, uint32_t stage, int as_backward)
{
    double shortest = HUGE_VAL;
    for (uint32_t other = 0; other < p->stages && p->has_pairs; other++)
        shortest = lower(shortest, as_backward ? p->pair[other][stage] : p->pair[stage][other]);
    return shortest;
}

static double least_forward(const struct problem *p, uint32_t stage)
{
    return lower(p->forward[stage], shortest_pair(p, stage, 0));
}

/* Until the stage before can go on. */
static double least_input(const struct problem *p, uint32_t stage)
{
    return lower(lower(p->input[stage], p->whole[stage]), shortest_pair(p, stage, 1));
}

static double least_backward(const struct problem *p, uint32_t stage)
{
    return lower(lower(p->input[stage] + p->weight[stage], p->whole[stage]), shortest_pair(p, stage, 1));
}

/* What a pair with the stage's F saves at most. */
static double most_saved(const struct problem *p, uint32_t stage)
{
    double most = 0;
    for (uint32_t other = 0; other < p->stages && p->has_pairs; other++)
        most = higher(most, p->forward[stage] + p->whole[other] - p->pair[stage][other]);
    return most;
}

/* What the device computes of a pass: F and all of the backward, or F and what comes before W. */
static double least_pass(const struct problem *p, uint32_t stage)
{
    return p->forward[stage] + lower(p->input[stage] + p->weight[stage], p->whole[stage]) - most_saved(p, stage);
}

static double least_chain(const struct problem *p, uint32_t stage)
{
    return p->forward[stage] + lower(p->input[stage], p->whole[stage]) - most_saved(p, stage);
}

/* --- along the chain of a copy --- */

/* From one stage to the next one, or back. Latency does not grow with what is sent. */
static double delay_between(const struct problem *p, uint32_t copy, uint32_t from, uint32_t to)
{
    uint32_t sender = p->device[copy][from], receiver = p->device[copy][to];
    if (sender == receiver)
        return 0;
    return p->delay[sender][receiver] +
           p->bytes[from > to][from] * p->micro_slices[copy][0].least_sent / p->bandwidth[sender][receiver];
}

/* From 0 to the first F of a stage. */
static double head_of(const struct problem *p, uint32_t copy, uint32_t stage)
{
    double head = 0;
    for (uint32_t s = 0; s < stage; s++)
        head += p->micro_slices[copy][s].least_time * least_forward(p, s) + delay_between(p, copy, s, s + 1);
    return head;
}

/* From the end of an I of a stage to the last end of stage 0. */
static double tail_of(const struct problem *p, uint32_t copy, uint32_t stage)
{
    double tail = p->micro_slices[copy][0].least_time * (least_backward(p, 0) - least_input(p, 0));
    for (uint32_t s = 0; s < stage; s++)
        tail += p->micro_slices[copy][s].least_time * least_input(p, s) + delay_between(p, copy, s + 1, s);
    return tail;
}

/* Memory times time of all stage passes: from F to the last stage, back to I, and until W. What is on its way takes as long as
 * the smallest one, what is computed as long as its own. */
static double area_of(const struct problem *p, uint32_t copy, uint32_t stage)
{
    double computed = 0, sent = 0;
    for (uint32_t s = stage; s < p->stages; s++) {
        computed += p->micro_slices[copy][s].both * (least_forward(p, s) + least_input(p, s));
        if (s + 1 < p->stages)
            sent += delay_between(p, copy, s, s + 1) + delay_between(p, copy, s + 1, s);
    }
    double until_weight = p->micro_slices[copy][stage].both * p->after_input[stage] *
                          (least_backward(p, stage) - least_input(p, stage));
    return p->held[stage] * computed + until_weight + p->micro_slices[copy][0].held * p->held[stage] * sent;
}

/* --- the memory that activations can fill --- */

enum { MOST_SIZES = 6, MOST_TRIED = 256 };

/* The stage passes of a device in unlike sizes, before and after their I. */
static uint32_t sizes_of(const struct problem *p, uint32_t device, double sizes[4 * MOST_LANES])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < 2 * p->copies * p->stages; i++) {
        uint32_t stage = i / 2 % p->stages, copy = i / 2 / p->stages, j = 0;
        double size = i % 2 == 0 ? p->held[stage] : p->after_input[stage];
        while (j < count && sizes[j] != size)
            j++;
        if (p->device[copy][stage] == device && p->micro_slices[copy][stage].count > 0 && size > 0 && j == count)
            sizes[count++] = size;
    }
    return count;
}

/* The largest sum of a size and those after it. */
static double fill(const double *size, const double *end, double room)
{
    double most = 0;
    for (double own = 0; size < end && own <= room; own += *size)
        most = higher(most, own + fill(size + 1, end, room - own));
    return most;
}

/* All of it if sizes differ by microbatch, or if there are too many sums. */
static double usable_of(const struct problem *p, uint32_t device)
{
    double sizes[4 * MOST_LANES], room = p->limit[device] - p->fixed[device], least = HUGE_VAL, sums = 1;
    uint32_t count = sizes_of(p, device, sizes);
    for (uint32_t i = 0; i < count; i++)
        least = lower(least, sizes[i]);
    for (uint32_t i = 0; i < count; i++)
        sums *= sizes[i] == least ? 1 : floor(room / sizes[i]) + 1;
    double filled = p->has_micro_slices || count > MOST_SIZES || sums > MOST_TRIED ? 0 : fill(sizes, sizes + count, room);
    return filled > 0 ? filled : room;
}

/* --- the figures --- */

static void add_device(const struct problem *p, uint32_t device, int by_span, ppsched_bound *out)
{
    double work = 0, area = 0, hold = 0, chains = 0, first = HUGE_VAL, last = HUGE_VAL, longest = 0;
    for (uint32_t copy = 0; copy < p->copies; copy++) {
        double chain = 0, head = HUGE_VAL, tail = HUGE_VAL, own = 0;
        for (uint32_t s = 0; s < p->stages && p->micro_slices[copy][s].count > 0; s++) {
            const struct micro_slices *micro_slices = &p->micro_slices[copy][s];
            if (p->device[copy][s] != device)
                continue;
            work += micro_slices->time * least_pass(p, s);
            area += area_of(p, copy, s);
            chain += micro_slices->time * least_chain(p, s);
            head = lower(head, head_of(p, copy, s));
            tail = lower(tail, tail_of(p, copy, s));
            own += micro_slices->most_held * p->held[s];
        }
        hold = higher(hold, own); /* one microbatch, of one copy */
        chains += chain;
        first = lower(first, head);
        last = lower(last, tail);
        longest = head < HUGE_VAL ? higher(longest, head + higher(0, chain) + tail) : longest;
    }
    out->least_limit = higher(out->least_limit, hold + p->fixed[device]);
    if (first == HUGE_VAL)
        return;
    double begin = by_span ? 0 : first;
    out->work = higher(out->work, begin + higher(0, work));
    out->fill_drain = higher(out->fill_drain, by_span ? longest : first + higher(0, chains) + last);
    if (p->has_limits && p->limit[device] > p->fixed[device])
        out->memory = higher(out->memory, begin + area / usable_of(p, device));
}

/* --- problems --- */

static void place(struct problem *p, ppsched_config *config, int32_t placement, uint64_t *seed)
{
    uint32_t map[MOST_LANES];
    ppsched_error error;
    for (uint32_t s = 0; s < p->stages; s++) {
        uint32_t path = s % p->devices;
        map[s] = random_below(seed, p->devices);
        p->device[0][s] = placement == PPSCHED_PLACEMENT_MAP                            ? map[s]
                          : placement == PPSCHED_PLACEMENT_V && s / p->devices % 2 == 1 ? p->devices - 1 - path
                                                                                        : path;
        p->device[1][s] = p->devices - 1 - path;
    }
    p->copies = placement == PPSCHED_PLACEMENT_BIDIRECTIONAL ? 2 : 1;
    expect_ok(ppsched_config_set_placement(config, placement, map, placement == PPSCHED_PLACEMENT_MAP ? p->stages : 0, &error),
              &error);
}

static void read_costs(struct problem *p, const ppsched_config *config)
{
    for (uint32_t s = 0; s < p->stages; s++) {
        p->forward[s] = value_at(config, PPSCHED_QUANTITY_FORWARD_TIMES, s, 0);
        p->input[s] = value_at(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s, 0);
        p->weight[s] = value_at(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, s, 0);
        p->whole[s] = value_at(config, PPSCHED_QUANTITY_BACKWARD_TIMES, s, p->input[s] + p->weight[s]);
        p->held[s] = value_at(config, PPSCHED_QUANTITY_MEM_FORWARD, s, 0);
        p->after_input[s] = p->held[s] + value_at(config, PPSCHED_QUANTITY_MEM_BACKWARD_INPUT, s, 0);
        for (uint32_t other = 0; other < p->stages; other++)
            p->pair[s][other] = value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES,
                                         p->by_forward_stage ? s : s * p->stages + other, HUGE_VAL);
        for (uint32_t copy = 0; copy < p->copies; copy++)
            p->fixed[p->device[copy][s]] += value_at(config, PPSCHED_QUANTITY_MEM_STATIC, s, 0) +
                                            value_at(config, PPSCHED_QUANTITY_MEM_WEIGHTS, s, 0);
    }
    for (uint32_t s = 0; s < p->stages; s++) {
        p->bytes[0][s] = value_at(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, s, 0);
        p->bytes[1][s] = value_at(config, PPSCHED_QUANTITY_GRADIENT_BYTES, s, 0);
    }
    for (uint32_t a = 0; a < p->devices; a++) {
        p->limit[a] = value_at(config, PPSCHED_QUANTITY_MEM_LIMIT, a, HUGE_VAL);
        p->fixed[a] += value_at(config, PPSCHED_QUANTITY_MEM_OTHER, a, 0);
        for (uint32_t b = 0; b < p->devices; b++) {
            p->delay[a][b] = value_at(config, PPSCHED_QUANTITY_P2P_TIME, a * p->devices + b, 0);
            p->bandwidth[a][b] = value_at(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, a * p->devices + b, 0);
        }
    }
}

static struct micro_slices sum_of(const struct problem *p, const ppsched_config *config, uint32_t copy, uint32_t stage)
{
    uint32_t slices = ppsched_config_slices(config), first = p->microbatches - p->microbatches / 2;
    struct micro_slices sum = {.least_time = HUGE_VAL, .least_sent = HUGE_VAL};
    for (uint32_t m = copy * first; m < (p->copies == 2 && copy == 0 ? first : p->microbatches); m++)
        for (uint32_t k = 0; k < slices; k++) {
            double scale = value_at(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, m, 1);
            double time = scale * slice_scale_at(config, stage, k);
            double memory = value_at(config, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, m, scale);
            sum.count++;
            sum.time += time;
            sum.held += memory;
            sum.both += memory * time;
            sum.least_time = lower(sum.least_time, time);
            sum.least_sent = lower(sum.least_sent, memory);
            sum.most_held = higher(sum.most_held, memory * slices);
        }
    return sum;
}

/* The second copy has the second half of the microbatches. Where pairs have times of their own nobody knows which microbatches
 * they save on: then all count as the shortest, on the stage where it is shortest. */
static void read_micro_slices(struct problem *p, const ppsched_config *config)
{
    for (uint32_t copy = 0; copy < p->copies; copy++) {
        double least = HUGE_VAL;
        for (uint32_t s = 0; s < p->stages; s++) {
            p->micro_slices[copy][s] = sum_of(p, config, copy, s);
            least = lower(least, p->micro_slices[copy][s].least_time);
        }
        for (uint32_t s = 0; s < p->stages && p->has_pairs && p->has_micro_slices; s++) {
            struct micro_slices *sum = &p->micro_slices[copy][s];
            sum->least_time = least;
            sum->time = sum->count * least;
            sum->both = sum->held * least;
        }
    }
}

static ppsched_config *draw(struct problem *p, uint64_t *seed)
{
    int32_t placement = PPSCHED_PLACEMENT_LINEAR + (int32_t)random_below(seed, 5);
    int copies = placement == PPSCHED_PLACEMENT_BIDIRECTIONAL, linear = placement == PPSCHED_PLACEMENT_LINEAR;
    uint32_t devices = copies ? 2 + 2 * random_below(seed, 2) : 1 + random_below(seed, MOST_DEVICES);
    const struct uneven sizes = {devices, linear || copies ? 1 : 1 + random_below(seed, 3), 1 + random_below(seed, 9), 1,
                                 random_next(seed)};
    ppsched_config *config = make_uneven(&sizes);
    memset(p, 0, sizeof *p);
    p->devices = devices;
    p->stages = devices * sizes.chunks;
    p->microbatches = sizes.microbatches;
    p->has_pairs = random_below(seed, 2) == 0;
    p->by_forward_stage = random_below(seed, 4) == 0;
    p->has_limits = random_below(seed, 2) == 0;
    p->has_micro_slices = random_below(seed, 2) == 0;
    expect_ok(ppsched_config_set_iterations(config, 1 + random_below(seed, 2), NULL), NULL); /* bounds are those of one */
    if (random_below(seed, 3) == 0)
        expect_ok(ppsched_config_set_slices(config, 1 + random_below(seed, 4), NULL), NULL);
    if (p->has_micro_slices)
        add_uneven(config, UNEVEN_MICRO_SLICES, seed);
    if (random_below(seed, 2)) /* whole backwards, some of which are shorter than both their parts */
        set_uneven(config, PPSCHED_QUANTITY_BACKWARD_TIMES, p->stages, 1.5, seed);
    if (p->has_pairs) /* from as long as one op to about as long as both */
        set_uneven(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, (size_t)p->stages * (p->by_forward_stage ? 1 : p->stages),
                   1 + 2 * random_below(seed, 2), seed);
    set_uneven(config, PPSCHED_QUANTITY_MEM_OTHER, devices, 1, seed);
    place(p, config, placement, seed);
    if (p->has_limits) /* with some that are below what is fixed */
        set_uneven(config, PPSCHED_QUANTITY_MEM_LIMIT, devices, 2 + random_below(seed, 30), seed);
    read_costs(p, config);
    read_micro_slices(p, config);
    return config;
}

/* --- the test --- */

static void expect_near(double told, double reckoned, const char *what, int trial)
{
    if (fabs(told - reckoned) > 1e-9 * (1 + fabs(reckoned)))
        fail_msg("trial %d: %s is %.17g, reckoned %.17g", trial, what, told, reckoned);
}

static void test_each_figure_again(void **state)
{
    uint64_t seed = 31;
    int from_memory = 0, from_work = 0, from_fill = 0, from_less = 0;
    (void)state;
    for (int trial = 0; trial < 3000; trial++) {
        struct problem p;
        ppsched_config *config = draw(&p, &seed);
        for (int by_span = 0; by_span < 2; by_span++) {
            ppsched_bound told = {.size = sizeof told}, reckoned = {0};
            ppsched_error error;
            expect_ok(
                ppsched_config_find_bound(&told, config, by_span ? PPSCHED_OBJECTIVE_SPAN : PPSCHED_OBJECTIVE_MAKESPAN, &error),
                &error);
            for (uint32_t d = 0; d < p.devices; d++)
                add_device(&p, d, by_span, &reckoned);
            expect_near(told.work, reckoned.work, "work", trial);
            expect_near(told.fill_drain, reckoned.fill_drain, "fill_drain", trial);
            expect_near(told.memory, reckoned.memory, "memory", trial);
            expect_near(told.least_limit, reckoned.least_limit, "least_limit", trial);
            double most = higher(higher(reckoned.work, reckoned.fill_drain), reckoned.memory);
            expect_near(told.value, higher(most, told.one_machine), "value", trial);
            from_memory += most == reckoned.memory;
            for (uint32_t d = 0; d < p.devices; d++)
                from_less += p.has_limits && p.limit[d] > p.fixed[d] && usable_of(&p, d) < 0.999 * (p.limit[d] - p.fixed[d]);
            from_work += most == reckoned.work && most > reckoned.fill_drain;
            from_fill += most == reckoned.fill_drain;
        }
        ppsched_config_destroy(config);
    }
    assert_true(from_less > 100 && from_memory > 100 && from_work > 100 && from_fill > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_figure_again),
    };
    return cmocka_run_group_tests_name("bound figures", tests, NULL, NULL);
}
