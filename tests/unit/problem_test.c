/* SPDX-License-Identifier: Apache-2.0 */
/* What searches and bounds read of a problem: on problems in which every stage, device, edge, microbatch and slice differs, on
 * any map, with and without causes of memory and whole backwards, each of its numbers is one that is reckoned here from the
 * lists of the config. */
#include "support/failing_allocator.h"
#include "support/uneven.h"

#include "bound/problem.h"

#include <math.h>

enum { TRIALS = 300, MOST_STAGES = 15 };

struct trial {
    ppsched_config *config;
    struct ppi_arena arena;
    struct ppi_problem problem;
    struct brute_costs costs;
    uint32_t map[MOST_STAGES];
    uint32_t devices, stages, micro_slices, slices;
    bool splits, by_span, has_causes;
    double time[MOST_STAGES], memory, sent; /* what stages are multiplied by */
};

static void expect_near(double told, double reckoned, const char *what, uint32_t index)
{
    if (!(told == reckoned || fabs(told - reckoned) <= 1e-9 * (1 + fabs(reckoned))))
        fail_msg("%s %u is %.17g, reckoned %.17g", what, index, told, reckoned);
}

static void make_trial(struct trial *trial, uint64_t *seed)
{
    struct uneven sizes = uneven_of_seed(random_next(seed));
    sizes.devices = 1 + random_below(seed, 5);
    sizes.chunks = 1 + random_below(seed, 3);
    sizes.iterations = 1;
    *trial = (struct trial){.config = make_uneven(&sizes), .devices = sizes.devices};
    trial->stages = sizes.devices * sizes.chunks;
    trial->slices = 1 + random_below(seed, 3);
    trial->micro_slices = sizes.microbatches * trial->slices;
    trial->splits = random_below(seed, 3) > 0;
    trial->by_span = random_below(seed, 2) > 0;
    trial->has_causes = random_below(seed, 2) > 0;
    for (uint32_t s = 0; s < trial->stages; s++)
        trial->map[s] = s < trial->devices ? trial->devices - 1 - s : random_below(seed, trial->devices);
    expect_ok(ppsched_config_set_placement(trial->config, PPSCHED_PLACEMENT_MAP, trial->map, trial->stages, NULL), NULL);
    expect_ok(ppsched_config_set_slices(trial->config, trial->slices, NULL), NULL);
    expect_ok(ppsched_config_set_split_backward(trial->config, trial->splits, NULL), NULL);
    add_uneven(trial->config, UNEVEN_LIMITS | UNEVEN_RUNTIME, seed);
    if (random_below(seed, 3) > 0)
        add_uneven(trial->config, UNEVEN_MICRO_SLICES, seed);
    if (trial->has_causes)
        add_uneven(trial->config, UNEVEN_CAUSES, seed);
    else if (random_below(seed, 2) > 0)
        expect_ok(ppsched_config_set_values(trial->config, PPSCHED_QUANTITY_MEM_OTHER, NULL, 0, NULL), NULL);
    if (random_below(seed, 2) > 0) /* below the sum of I and W, of some below I alone */
        set_uneven(trial->config, PPSCHED_QUANTITY_BACKWARD_TIMES, trial->stages, 1.25, seed);
}

/* The mean of times and of what is sent, the most of memory. */
static void find_scales(struct trial *trial)
{
    brute_costs_of(&trial->costs, trial->config);
    trial->sent = 0;
    for (uint32_t m = 0; m < trial->micro_slices; m++) {
        for (uint32_t s = 0; s < trial->stages; s++)
            trial->time[s] = (m > 0 ? trial->time[s] : 0) + trial->costs.time_factor[s][m] / trial->micro_slices;
        trial->sent += trial->costs.memory_factor[m] / trial->micro_slices;
        trial->memory = fmax(trial->memory, trial->costs.memory_factor[m]);
    }
}

static double cause(const struct trial *trial, int32_t quantity, uint32_t index)
{
    return value_at(trial->config, quantity, index, 0);
}

/* What goes from a stage to its neighbour is on its way so long. */
static double delay_between(const struct trial *trial, uint32_t from, uint32_t to, double *latency)
{
    uint32_t a = trial->map[from], b = trial->map[to];
    *latency = a == b ? 0 : trial->costs.delay[a][b];
    return a == b ? 0 : *latency + trial->costs.sent[from > to][from] * trial->sent / trial->costs.bandwidth[a][b];
}

/* --- what the problem says, reckoned --- */

static double time_of(const struct trial *trial, uint8_t kind, uint32_t stage)
{
    return trial->costs.duration[kind][stage] * trial->time[stage];
}

/* Until the stage before can go on, and of the whole backward. */
static double input_of(const struct trial *trial, uint32_t s)
{
    double input = time_of(trial, PPSCHED_KIND_I, s), full = time_of(trial, PPSCHED_KIND_B, s);
    return trial->splits ? fmin(input, full) : full;
}

static double backward_of(const struct trial *trial, uint32_t s)
{
    double split = time_of(trial, PPSCHED_KIND_I, s) + time_of(trial, PPSCHED_KIND_W, s);
    double full = time_of(trial, PPSCHED_KIND_B, s);
    return trial->splits ? fmin(split, full) : full;
}

static double memory_of(const struct trial *trial, uint8_t kind, uint32_t s)
{
    double output = cause(trial, PPSCHED_QUANTITY_MEM_OUTPUT, s);
    double added = kind == PPSCHED_KIND_F ? output : kind == PPSCHED_KIND_W ? 0 : -output;
    return (trial->costs.memory[kind][s] + added) * trial->memory;
}

/* The most that a backward's ops work with. */
static double work_of(const struct trial *trial, uint32_t s)
{
    int is_short = backward_of(trial, s) < time_of(trial, PPSCHED_KIND_I, s) + time_of(trial, PPSCHED_KIND_W, s) - 1e-9;
    double most = cause(trial, PPSCHED_QUANTITY_MEM_WORK_FORWARD, s);
    if (!trial->splits || is_short)
        most = fmax(most, cause(trial, PPSCHED_QUANTITY_MEM_WORK_BACKWARD, s));
    if (trial->splits)
        most = fmax(most, fmax(cause(trial, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_INPUT, s),
                               cause(trial, PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT, s)));
    return most * trial->memory;
}

/* From the end of an I of a stage on: the Is down to some stage, and what is left of its backward. */
static double backward_tail(const struct trial *trial, uint32_t stage)
{
    double most = 0, path = 0, latency;
    for (uint32_t s = stage;; s--) {
        if (s == 0 || !trial->by_span)
            most = fmax(most, path + backward_of(trial, s) - input_of(trial, s));
        if (s == 0)
            return fmax(most, path);
        path += delay_between(trial, s, s - 1, &latency) + input_of(trial, s - 1);
    }
}

static double forward_tail(const struct trial *trial, uint32_t stage)
{
    double most = 0, path = 0, latency;
    for (uint32_t s = stage; s < trial->stages; s++) {
        if (s > stage)
            path += delay_between(trial, s - 1, s, &latency) + time_of(trial, PPSCHED_KIND_F, s);
        most = fmax(most, path + input_of(trial, s) + backward_tail(trial, s));
    }
    return most;
}

static double area_of(const struct trial *trial, uint32_t stage)
{
    double held = time_of(trial, PPSCHED_KIND_F, stage) + input_of(trial, stage), latency;
    for (uint32_t s = stage + 1; s < trial->stages; s++)
        held += delay_between(trial, s - 1, s, &latency) + time_of(trial, PPSCHED_KIND_F, s) + input_of(trial, s) +
                delay_between(trial, s, s - 1, &latency);
    return memory_of(trial, PPSCHED_KIND_F, stage) * held +
           (memory_of(trial, PPSCHED_KIND_F, stage) + memory_of(trial, PPSCHED_KIND_I, stage)) *
               (backward_of(trial, stage) - input_of(trial, stage));
}

/* What a device's stages hold of one microbatch, by what its F of the largest piece adds. */
static double held_of(const struct trial *trial)
{
    double most = 0;
    for (uint32_t first = 0; first < trial->micro_slices; first += trial->slices) {
        double sum = 0;
        for (uint32_t k = 0; k < trial->slices; k++)
            sum += trial->costs.memory_factor[first + k] / trial->memory;
        most = fmax(most, sum);
    }
    return most;
}

/* --- comparisons --- */

static void compare_stage(const struct trial *trial, uint32_t s)
{
    const struct ppi_stage *stage = &trial->problem.stage[s];
    double latency = 0;
    assert_int_equal(stage->device, trial->map[s]);
    assert_int_equal(stage->splits, trial->splits);
    for (uint8_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
        expect_near(stage->duration[kind], time_of(trial, kind, s), "the time of a kind at stage", s);
        expect_near(stage->memory[kind], memory_of(trial, kind, s), "the memory of a kind at stage", s);
    }
    if (s > 0) {
        expect_near(stage->forward_delay, delay_between(trial, s - 1, s, &latency), "the delay of F at stage", s);
        expect_near(stage->forward_latency, latency, "the latency of F at stage", s);
    }
    if (s + 1 < trial->stages) {
        expect_near(stage->backward_delay, delay_between(trial, s + 1, s, &latency), "the delay of I at stage", s);
        expect_near(stage->backward_latency, latency, "the latency of I at stage", s);
    }
    assert_int_equal(stage->fuses, !trial->splits || time_of(trial, PPSCHED_KIND_B, s) < (time_of(trial, PPSCHED_KIND_I, s) +
                                                                                          time_of(trial, PPSCHED_KIND_W, s)) *
                                                                                             (1 - 1e-9));
    expect_near(stage->input, input_of(trial, s), "the least time of an I at stage", s);
    expect_near(stage->weight, backward_of(trial, s) - input_of(trial, s), "what is left of a backward at stage", s);
    expect_near(stage->tail.backward, backward_tail(trial, s), "the tail of I at stage", s);
    expect_near(stage->tail.forward, forward_tail(trial, s), "the tail of F at stage", s);
    expect_near(stage->area, area_of(trial, s), "the area of stage", s);
}

static void compare_device(const struct trial *trial, uint32_t d, double *least_limit)
{
    const struct ppi_device *device = &trial->problem.device[d];
    double work = 0, split_work = 0, fixed = cause(trial, PPSCHED_QUANTITY_MEM_OTHER, d), most_work = 0, least = 0;
    uint32_t count = 0;
    for (uint32_t s = 0; s < trial->stages; s++) {
        if (trial->map[s] != d)
            continue;
        assert_int_equal(ppi_stage_at(&trial->problem, d, count), s);
        assert_int_equal(trial->problem.stage[s].place, count);
        work += time_of(trial, PPSCHED_KIND_F, s) + backward_of(trial, s);
        split_work += time_of(trial, PPSCHED_KIND_F, s) + time_of(trial, PPSCHED_KIND_I, s) + time_of(trial, PPSCHED_KIND_W, s);
        fixed += cause(trial, PPSCHED_QUANTITY_MEM_STATIC, s) + cause(trial, PPSCHED_QUANTITY_MEM_WEIGHTS, s) +
                 cause(trial, PPSCHED_QUANTITY_MEM_OPTIMIZER, s) + cause(trial, PPSCHED_QUANTITY_MEM_GRADIENTS, s);
        most_work = fmax(most_work, work_of(trial, s));
        least += memory_of(trial, PPSCHED_KIND_F, s) * held_of(trial);
        count++;
    }
    fixed += most_work;
    *least_limit = fmax(*least_limit, least + fixed);
    assert_int_equal(device->count, count);
    assert_true(count <= trial->problem.most_stages);
    expect_near(device->work, work * trial->micro_slices, "the work of device", d);
    expect_near(device->split_work, split_work * trial->micro_slices, "the split work of device", d);
    expect_near(device->fixed, fixed, "what is always needed on device", d);
    expect_near(device->limit, value_at(trial->config, PPSCHED_QUANTITY_MEM_LIMIT, d, HUGE_VAL) - fixed, "the limit of device",
                d);
    expect_near(device->least, least, "the least activations of device", d);
    assert_true(work <= trial->problem.least_period + 1e-9 && split_work <= trial->problem.split_work + 1e-9);
}

/* Of each microbatch's ops. */
static void compare_micro_slices(const struct trial *trial)
{
    for (uint32_t m = 0; m < trial->micro_slices; m++)
        for (uint32_t s = 0; s < trial->stages; s++)
            for (uint8_t kind = PPSCHED_KIND_F; kind <= PPSCHED_KIND_W; kind++) {
                double memory = memory_of(trial, kind, s) * trial->costs.memory_factor[m] / trial->memory;
                expect_near(ppi_problem_duration(&trial->problem, s, kind, m),
                            trial->costs.duration[kind][s] * trial->costs.time_factor[s][m],
                            "the time of a microbatch at stage", s);
                if (kind != PPSCHED_KIND_W) /* which gives back what I left, with the output or without */
                    expect_near(ppi_problem_memory(&trial->problem, s, kind, m), memory, "the memory of a microbatch at stage",
                                s);
                if (trial->problem.ratio != NULL)
                    expect_near(trial->problem.ratio[m].sent, trial->costs.memory_factor[m] / trial->sent, "what is sent of",
                                m);
            }
}

static void compare(const struct trial *trial)
{
    const struct ppi_problem *problem = &trial->problem;
    double least_limit = 0, period = 0, split_work = 0;
    uint32_t most_stages = 0, unfit = PPSCHED_NONE;
    assert_int_equal(problem->devices, trial->devices);
    assert_int_equal(problem->stages, trial->stages);
    assert_int_equal(problem->microbatches, trial->micro_slices);
    for (uint32_t s = 0; s < trial->stages; s++)
        compare_stage(trial, s);
    for (uint32_t d = 0; d < trial->devices; d++) {
        const struct ppi_device *device = &problem->device[d];
        compare_device(trial, d, &least_limit);
        most_stages = device->count > most_stages ? device->count : most_stages;
        period = fmax(period, device->work / trial->micro_slices);
        split_work = fmax(split_work, device->split_work / trial->micro_slices);
        unfit = unfit == PPSCHED_NONE && device->least > device->limit ? d : unfit;
    }
    assert_int_equal(problem->most_stages, most_stages);
    assert_int_equal(ppi_problem_unfit_device(problem), unfit);
    expect_near(problem->least_period, period, "the least period of", 0);
    expect_near(problem->split_work, split_work, "the split work of", 0);
    expect_near(problem->least_limit, least_limit, "the least limit of", 0);
    expect_near(problem->held, held_of(trial), "what is held of", 0);
    compare_micro_slices(trial);
}

static void test_as_reckoned(void **state)
{
    uint64_t seed = 5;
    int unfit = 0;
    (void)state;
    for (int i = 0; i < TRIALS; i++) {
        struct trial trial;
        make_trial(&trial, &seed);
        find_scales(&trial);
        trial.arena.host = &trial.config->host;
        expect_ok(ppi_problem_make(&trial.problem, &trial.arena, trial.config, PPSCHED_PLACEMENT_DEFAULT, trial.by_span, NULL),
                  NULL);
        compare(&trial);
        unfit += ppi_problem_unfit_device(&trial.problem) != PPSCHED_NONE;
        ppi_arena_clear(&trial.arena);
        ppsched_config_destroy(trial.config);
    }
    print_message("# in %d of %d a device is too small\n", unfit, TRIALS);
    assert_true(unfit > TRIALS / 4 && unfit < TRIALS * 3 / 4);
}

/* An error, and nothing written, wherever memory runs out. */
static void test_no_memory(void **state)
{
    uint64_t seed = 6;
    int failed = 0;
    (void)state;
    for (int i = 0; i < 12; i++)
        for (int calls = 0, is_over = 0; !is_over; calls++) {
            struct trial trial;
            uint64_t own = seed + (uint64_t)i;
            struct failing_allocator allocator = {.until_failure = calls};
            const ppsched_environment environment = failing_environment(&allocator);
            make_trial(&trial, &own);
            struct ppi_host usual = trial.config->host;
            assert_int_equal(ppi_host_take(&trial.config->host, &environment, NULL), PPSCHED_OK);
            trial.arena.host = &trial.config->host;
            ppsched_status status = ppi_problem_make(&trial.problem, &trial.arena, trial.config, PPSCHED_PLACEMENT_DEFAULT,
                                                     trial.by_span, NULL);
            ppi_arena_clear(&trial.arena);
            assert_int_equal(allocator.live, 0);
            is_over = allocator.failed == 0;
            assert_int_equal(status, is_over ? PPSCHED_OK : PPSCHED_ERROR_NO_MEMORY);
            assert_true(is_over || trial.problem.devices == 0);
            failed += !is_over;
            trial.config->host = usual;
            ppsched_config_destroy(trial.config);
        }
    assert_true(failed > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_reckoned), cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
