/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules in the making: random ones of problems in which every stage, device and edge differs, step by step. What can
 * be next and when is found anew from the ops that are there; the outlook from what is left, by its rule in plain sums;
 * and no schedule that is completed is shorter than what was promised on its way. Where a microbatch fits, some op can
 * always be run. */
#include "support/uneven.h"

#include "search/priority.h"

#include <math.h>
#include <stdlib.h>

enum {
    TRIALS = 260,
    MOST_DEVICES = 4,
    MOST_STAGES = 12,
    MOST_MICROBATCHES = 5,
    MOST_OPS = 3 * MOST_STAGES * MOST_MICROBATCHES + 1
};

struct trial {
    ppsched_config *config;
    struct ppi_arena arena;
    struct ppi_problem problem;
    struct ppi_partial partial;
    struct ppi_stream *streams;
    struct ppi_orders orders;
    double end[2][MOST_STAGES][MOST_MICROBATCHES]; /* of F, and of I or B */
    double clock[MOST_DEVICES], start[MOST_DEVICES], level[MOST_DEVICES];
    uint32_t held[MOST_DEVICES];
    uint32_t done[3][MOST_STAGES]; /* Fs, Is, Ws */
    double head[2][MOST_STAGES];   /* of the next F, I */
    double bounds[MOST_OPS];       /* promised on the way */
    uint32_t steps, holds;
};

static void expect_near(double told, double reckoned, const char *what, uint32_t index)
{
    if (!(told == reckoned || fabs(told - reckoned) <= 1e-9 * (1 + fabs(reckoned))))
        fail_msg("%s %u is %.17g, reckoned %.17g", what, index, told, reckoned);
}

static const struct ppi_stage *stage_of(const struct trial *trial, uint32_t s)
{
    return &trial->problem.stage[s];
}

static double duration_of(const struct trial *trial, uint32_t s, uint8_t kind)
{
    return stage_of(trial, s)->duration[kind];
}

/* --- problems --- */

static int make_trial(struct trial *trial, uint64_t *seed)
{
    struct uneven sizes = uneven_of_seed(random_next(seed));
    uint32_t map[MOST_STAGES], splits = random_below(seed, 4) > 0;
    sizes.devices = 1 + random_below(seed, MOST_DEVICES);
    sizes.microbatches = 1 + random_below(seed, MOST_MICROBATCHES);
    sizes.iterations = 1;
    *trial = (struct trial){.config = make_uneven(&sizes)};
    for (uint32_t s = 0; s < sizes.devices * sizes.chunks; s++)
        map[s] = s < sizes.devices ? s : random_below(seed, sizes.devices);
    expect_ok(ppsched_config_set_placement(trial->config, PPSCHED_PLACEMENT_MAP, map, sizes.devices * sizes.chunks, NULL),
              NULL);
    expect_ok(ppsched_config_set_split_backward(trial->config, splits, NULL), NULL);
    if (random_below(seed, 2) > 0)
        set_uneven(trial->config, PPSCHED_QUANTITY_BACKWARD_TIMES, sizes.devices * sizes.chunks, 1.25, seed);
    if (random_below(seed, 4) > 0)
        set_uneven(trial->config, PPSCHED_QUANTITY_MEM_LIMIT, sizes.devices, 10 + random_below(seed, 20), seed);
    trial->arena.host = &trial->config->host;
    expect_ok(ppi_problem_make(&trial->problem, &trial->arena, trial->config, PPSCHED_PLACEMENT_DEFAULT,
                               random_below(seed, 2) > 0, NULL),
              NULL);
    expect_ok(ppi_orders_make(&trial->orders, &trial->arena, &trial->problem, NULL), NULL);
    trial->partial = ppi_partial_at(&trial->problem,
                                    ppi_arena_take(&trial->arena, ppi_partial_workspace(&trial->problem), sizeof(double)));
    trial->streams = ppi_arena_take(&trial->arena, ppi_priority_streams(&trial->problem), sizeof *trial->streams);
    ppi_partial_start(&trial->partial);
    for (uint32_t d = 0; d < sizes.devices; d++) {
        trial->orders.count[d] = 0;
        trial->start[d] = -1;
    }
    return ppi_problem_unfit_device(&trial->problem) == PPSCHED_NONE;
}

static void clear_trial(struct trial *trial)
{
    ppi_arena_clear(&trial->arena);
    ppsched_config_destroy(trial->config);
}

/* --- what is there, and what can be next --- */

static double ready_of(const struct trial *trial, uint32_t s, int backward)
{
    uint32_t m = trial->done[backward][s], last = trial->problem.stages - 1;
    if (m >= trial->problem.microbatches)
        return HUGE_VAL;
    if (backward && s == last)
        return trial->done[0][s] > m ? trial->end[0][s][m] : HUGE_VAL;
    if (backward)
        return trial->done[1][s + 1] > m ? trial->end[1][s + 1][m] + stage_of(trial, s)->backward_delay : HUGE_VAL;
    if (s == 0)
        return 0;
    return trial->done[0][s - 1] > m ? trial->end[0][s - 1][m] + stage_of(trial, s)->forward_delay : HUGE_VAL;
}

/* Whether the device could hold one more F of a stage and still get the microbatches through that have begun, one by one. */
static int fits(const struct trial *trial, uint32_t stage)
{
    uint32_t d = stage_of(trial, stage)->device, last = stage, count = 0;
    const struct ppi_device *device = &trial->problem.device[d];
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        if (stage_of(trial, s)->device == d) {
            last = s;
            count++;
        }
    if (trial->level[d] + stage_of(trial, stage)->memory[PPSCHED_KIND_F] > device->limit)
        return 0;
    uint32_t through = trial->done[0][last] + (stage == last); /* so many have all their Fs here */
    double all = 0;
    for (uint32_t s = 0; s < trial->problem.stages; s++) /* the next one whole, and what later ones have */
        if (stage_of(trial, s)->device == d) {
            uint32_t forwards = trial->done[0][s] + (s == stage);
            uint32_t kept = forwards > through + 1 ? forwards - through : 1;
            all += kept * stage_of(trial, s)->memory[PPSCHED_KIND_F];
        }
    return count == 1 || through == trial->problem.microbatches || all <= device->limit;
}

static int is_blocked(const struct trial *trial, uint32_t s)
{
    const struct ppi_stage *stage = stage_of(trial, s);
    return (trial->held[stage->device] >> stage->place & 1) != 0 || !fits(trial, s);
}

/* When an op can start; infinite where it cannot be next. */
static double start_of(const struct trial *trial, uint32_t s, uint8_t kind)
{
    const struct ppi_stage *stage = stage_of(trial, s);
    double clock = trial->clock[stage->device];
    int is_due = trial->done[2][s] < trial->done[1][s];
    if (kind == PPSCHED_KIND_W)
        return is_due ? clock : HUGE_VAL;
    if (kind == PPSCHED_KIND_F)
        return is_blocked(trial, s) ? HUGE_VAL : fmax(clock, ready_of(trial, s, 0));
    if (kind == PPSCHED_KIND_I ? !stage->splits : !stage->fuses || is_due)
        return HUGE_VAL;
    return fmax(clock, ready_of(trial, s, 1));
}

static double finish_of(const struct trial *trial, uint32_t d)
{
    double finish = HUGE_VAL;
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        for (int k = 0; k < PPI_KINDS && stage_of(trial, s)->device == d; k++)
            finish = fmin(finish, start_of(trial, s, ppi_kinds[k]) + duration_of(trial, s, ppi_kinds[k]));
    return finish;
}

static int may_hold(const struct trial *trial, uint32_t stage)
{
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        if (stage_of(trial, s)->device == stage_of(trial, stage)->device &&
            (trial->done[0][s] < trial->done[0][stage] || trial->done[1][s] < trial->done[0][stage]))
            return 1;
    return 0;
}

static void compare_steps(const struct trial *trial, uint32_t s)
{
    uint32_t d = stage_of(trial, s)->device;
    for (int k = 0; k < PPI_KINDS; k++) {
        struct ppi_step step = {.stage = s, .kind = ppi_kinds[k]};
        double start = start_of(trial, s, step.kind), end = start + duration_of(trial, s, step.kind);
        int may = start < HUGE_VAL && (start < finish_of(trial, d) || end <= finish_of(trial, d));
        assert_int_equal(ppi_partial_may_be_next(&trial->partial, &step), may);
        if (may) {
            expect_near(step.start, start, "the start at stage", s);
            expect_near(step.end, end, "the end at stage", s);
        }
    }
    assert_int_equal(ppi_partial_may_hold(&trial->partial, s), may_hold(trial, s));
    assert_int_equal(trial->partial.stage[s].done.forwards, trial->done[0][s]);
    assert_int_equal(trial->partial.stage[s].done.inputs, trial->done[1][s]);
    assert_int_equal(trial->partial.stage[s].done.weights, trial->done[2][s]);
}

static int is_complete(const struct trial *trial)
{
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        if (trial->done[2][s] < trial->problem.microbatches)
            return 0;
    return 1;
}

/* How long a device has been at work, or how late it is. */
static double time_of(const struct trial *trial, uint32_t d)
{
    return trial->problem.by_span ? trial->clock[d] - fmax(0, trial->start[d]) : trial->clock[d];
}

/* Whether what a device has still to take on is more than it can hold at once. */
static int is_scarce(const struct trial *trial, uint32_t d)
{
    double all = trial->level[d];
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        if (stage_of(trial, s)->device == d)
            all += (trial->problem.microbatches - trial->done[0][s]) * stage_of(trial, s)->memory[PPSCHED_KIND_F];
    return trial->problem.device[d].count > 1 && all > trial->problem.device[d].limit;
}

static void compare_state(const struct trial *trial)
{
    uint32_t first = PPSCHED_NONE;
    double objective = 0;
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        compare_steps(trial, s);
    for (uint32_t d = 0; d < trial->problem.devices; d++) {
        double finish = finish_of(trial, d);
        expect_near(trial->partial.device[d].finish, finish, "the first end on device", d);
        expect_near(trial->partial.device[d].clock, trial->clock[d], "the clock of device", d);
        expect_near(trial->partial.device[d].level, trial->level[d], "what is held on device", d);
        assert_int_equal(ppi_partial_is_scarce(&trial->partial, d), is_scarce(trial, d));
        if (finish < HUGE_VAL && (first == PPSCHED_NONE || finish < finish_of(trial, first)))
            first = d;
        objective = fmax(objective, time_of(trial, d));
    }
    assert_int_equal(ppi_partial_first_to_finish(&trial->partial), first);
    assert_int_equal(ppi_partial_is_complete(&trial->partial), is_complete(trial));
    expect_near(ppi_partial_objective(&trial->partial), objective, "the objective of", 0);
    assert_true(is_complete(trial) || first != PPSCHED_NONE); /* some op can always be run */
}

/* --- the outlook --- */

static double at_clock(double clock, double ready)
{
    return ready < HUGE_VAL ? fmax(clock, ready) : clock;
}

/* When a device can end an op at best that is no blocked F. */
static double first_end(const struct trial *trial, uint32_t d)
{
    double first = HUGE_VAL, clock = trial->clock[d];
    for (uint32_t s = 0; s < trial->problem.stages; s++) {
        if (stage_of(trial, s)->device != d)
            continue;
        if (trial->done[0][s] < trial->problem.microbatches && !is_blocked(trial, s))
            first = fmin(first, at_clock(clock, ready_of(trial, s, 0)) + duration_of(trial, s, PPSCHED_KIND_F));
        if (trial->done[1][s] < trial->problem.microbatches)
            first = fmin(first, at_clock(clock, ready_of(trial, s, 1)) + stage_of(trial, s)->input);
        if (trial->done[2][s] < trial->done[1][s])
            first = fmin(first, clock + duration_of(trial, s, PPSCHED_KIND_W));
    }
    return first;
}

static void find_heads(struct trial *trial)
{
    uint32_t stages = trial->problem.stages, all = trial->problem.microbatches;
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t d = stage_of(trial, s)->device;
        double ready = ready_of(trial, s, 0);
        if (trial->done[0][s] == all)
            continue;
        if (ready == HUGE_VAL)
            ready = trial->head[0][s - 1] + duration_of(trial, s - 1, PPSCHED_KIND_F) + stage_of(trial, s)->forward_delay;
        trial->head[0][s] = fmax(trial->clock[d], is_blocked(trial, s) ? fmax(ready, first_end(trial, d)) : ready);
    }
    for (uint32_t s = stages; s-- > 0;) {
        double ready = ready_of(trial, s, 1);
        if (trial->done[1][s] == all)
            continue;
        if (ready == HUGE_VAL && s + 1 == stages)
            ready = trial->head[0][s] + duration_of(trial, s, PPSCHED_KIND_F);
        else if (ready == HUGE_VAL)
            ready = trial->head[1][s + 1] + stage_of(trial, s + 1)->input + stage_of(trial, s)->backward_delay;
        trial->head[1][s] = fmax(trial->clock[stage_of(trial, s)->device], ready);
    }
}

/* What a device has to run from some time on: its own, with Ws or without, of those that cannot start before. */
static double load_behind(const struct trial *trial, uint32_t d, double time, int with_weights)
{
    double load = 0;
    for (uint32_t s = 0; s < trial->problem.stages; s++) {
        const struct ppi_stage *stage = stage_of(trial, s);
        uint32_t forwards = trial->problem.microbatches - trial->done[0][s];
        uint32_t inputs = trial->problem.microbatches - trial->done[1][s], pending = trial->done[1][s] - trial->done[2][s];
        if (stage->device != d)
            continue;
        load += forwards > 0 && trial->head[0][s] >= time ? forwards * stage->duration[PPSCHED_KIND_F] : 0;
        load += inputs > 0 && trial->head[1][s] >= time ? inputs * stage->input : 0;
        if (with_weights && inputs > 0 && trial->head[1][s] + stage->input >= time)
            load += inputs * stage->weight;
        if (with_weights && trial->clock[d] >= time)
            load += pending * stage->weight;
    }
    return load;
}

/* Memory times time that a stage's passes take at least, from the device's clock on. */
static double area_of(const struct trial *trial, uint32_t s)
{
    const struct ppi_stage *stage = stage_of(trial, s);
    uint32_t begun = trial->done[0][s] - trial->done[1][s], pending = trial->done[1][s] - trial->done[2][s];
    double full = stage->memory[PPSCHED_KIND_F], rest = full + stage->memory[PPSCHED_KIND_I];
    double area = (trial->problem.microbatches - trial->done[0][s]) * stage->area;
    for (uint32_t k = 1; k <= begun; k++)
        area += full * (trial->head[1][s] - trial->clock[stage->device] + k * stage->input) + rest * stage->weight;
    for (uint32_t k = 1; k <= pending; k++)
        area += rest * k * stage->weight;
    return area;
}

struct bounds {
    double end, chain;
};

static void raise(double *end, double value)
{
    *end = fmax(*end, value);
}

static struct bounds bounds_of(const struct trial *trial, uint32_t d)
{
    double end = trial->clock[d], chain = 0, stage_chain = 0, area = 0, limit = trial->problem.device[d].limit;
    uint32_t lowest = PPSCHED_NONE;
    for (uint32_t s = trial->problem.stages; s-- > 0;) {
        const struct ppi_stage *stage = stage_of(trial, s);
        uint32_t forwards = trial->problem.microbatches - trial->done[0][s],
                 inputs = trial->problem.microbatches - trial->done[1][s];
        if (stage->device != d)
            continue;
        lowest = s;
        if (forwards > 0) {
            raise(&end, trial->head[0][s] + load_behind(trial, d, trial->head[0][s], 1));
            raise(&chain, trial->head[0][s] + load_behind(trial, d, trial->head[0][s], 0));
            raise(&stage_chain, trial->head[0][s] + forwards * stage->duration[PPSCHED_KIND_F] + stage->tail.forward);
        }
        if (inputs > 0) {
            double behind = trial->head[1][s] + stage->input;
            raise(&end, trial->head[1][s] + load_behind(trial, d, trial->head[1][s], 1));
            raise(&end, behind + load_behind(trial, d, behind, 1));
            raise(&chain, trial->head[1][s] + load_behind(trial, d, trial->head[1][s], 0));
            raise(&stage_chain, trial->head[1][s] + inputs * stage->input + stage->tail.backward);
        }
        area += limit < HUGE_VAL ? area_of(trial, s) : 0;
    }
    raise(&end, trial->clock[d] + load_behind(trial, d, trial->clock[d], 1));
    chain = chain > 0 ? chain + stage_of(trial, lowest)->tail.backward : 0;
    if (area > 0 && limit > 0)
        raise(&stage_chain, area / limit + time_of(trial, d));
    if (trial->problem.by_span)
        end = trial->start[d] < 0 ? load_behind(trial, d, 0, 1) : end - trial->start[d];
    return (struct bounds){end, fmax(chain, stage_chain)};
}

static void compare_priority(struct trial *trial)
{
    struct ppi_priority priority = ppi_priority(&trial->partial, trial->streams);
    double mean = 0, bound = 0;
    find_heads(trial);
    for (uint32_t s = 0; s < trial->problem.stages; s++) {
        if (trial->done[0][s] < trial->problem.microbatches)
            expect_near(trial->partial.stage[s].head.forward, trial->head[0][s], "the head of F at stage", s);
        if (trial->done[1][s] < trial->problem.microbatches)
            expect_near(trial->partial.stage[s].head.backward, trial->head[1][s], "the head of I at stage", s);
    }
    for (uint32_t d = 0; d < trial->problem.devices; d++) {
        struct bounds own = bounds_of(trial, d);
        expect_near(trial->partial.device[d].end, own.end, "the end of device", d);
        expect_near(trial->partial.device[d].chain, own.chain, "the chain of device", d);
        mean += own.end / trial->problem.devices;
        bound = fmax(bound, fmax(own.end, own.chain));
    }
    expect_near(priority.mean, mean, "the mean of", 0);
    expect_near(priority.bound, bound, "the bound of", 0);
    trial->bounds[trial->steps] = priority.bound;
}

/* --- steps --- */

static void put(struct trial *trial, const struct ppi_step *step)
{
    const struct ppi_stage *stage = stage_of(trial, step->stage);
    uint32_t d = stage->device, s = step->stage;
    ppi_partial_put(&trial->partial, step, &trial->orders);
    trial->start[d] = trial->start[d] < 0 ? step->start : trial->start[d];
    trial->clock[d] = step->end;
    trial->held[d] = 0;
    trial->level[d] += stage->memory[step->kind];
    if (step->kind == PPSCHED_KIND_F)
        trial->end[0][s][trial->done[0][s]++] = step->end;
    if (step->kind == PPSCHED_KIND_I || step->kind == PPSCHED_KIND_B)
        trial->end[1][s][trial->done[1][s]++] = step->end;
    if (step->kind == PPSCHED_KIND_W || step->kind == PPSCHED_KIND_B)
        trial->done[2][s]++;
    trial->steps++;
}

/* One of all that can be next, on any device. */
static struct ppi_step draw_step(const struct trial *trial, uint64_t *seed)
{
    struct ppi_step drawn = {.stage = PPSCHED_NONE};
    uint32_t count = 0;
    for (uint32_t s = 0; s < trial->problem.stages; s++)
        for (int k = 0; k < PPI_KINDS; k++) {
            struct ppi_step step = {.stage = s, .kind = ppi_kinds[k]};
            if (ppi_partial_may_be_next(&trial->partial, &step) && random_below(seed, ++count) == 0)
                drawn = step;
        }
    return drawn;
}

static void complete(struct trial *trial, uint64_t *seed)
{
    compare_state(trial);
    compare_priority(trial);
    while (!is_complete(trial)) {
        struct ppi_step step = draw_step(trial, seed);
        const struct ppi_stage *stage = stage_of(trial, step.stage);
        if (step.kind == PPSCHED_KIND_F && may_hold(trial, step.stage) && random_below(seed, 4) == 0) {
            trial->held[stage->device] |= 1u << stage->place;
            ppi_partial_hold(&trial->partial, stage->device, 1u << stage->place);
            trial->holds++;
            compare_state(trial);
        } else {
            put(trial, &step);
            compare_state(trial);
            compare_priority(trial);
        }
    }
}

static void test_step_by_step(void **state)
{
    uint64_t seed = 21;
    uint32_t completed = 0, holds = 0;
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial *trial = malloc(sizeof *trial);
        if (make_trial(trial, &seed)) {
            complete(trial, &seed);
            for (uint32_t k = 0; k <= trial->steps; k++)
                assert_true(trial->bounds[k] <= ppi_partial_objective(&trial->partial) + 1e-9);
            completed++;
            holds += trial->holds;
        }
        clear_trial(trial);
        free(trial);
    }
    print_message("# %u of %d completed, %u times an F was held back\n", completed, TRIALS, holds);
    assert_true(completed > TRIALS / 2 && holds > TRIALS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_step_by_step)};
    return cmocka_run_group_tests_name("partial", tests, NULL, NULL);
}
