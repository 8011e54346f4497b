/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of prompts against all chunks: their makespan by a recursion of its own where each device has one stage, and by the
 * evaluator of each elsewhere. By hand with more problems: prefill_test COUNT. */
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { PROBLEMS = ROUNDS(500), MOST_DEVICES = 5, MOST_BLOCKS = 11, MOST_PROMPTS = 3 };

static uint32_t problems = PROBLEMS;

struct problem {
    uint32_t devices, stages;
    double stage_times[2 * MOST_DEVICES], delay, bytes, speeds[MOST_DEVICES];
    const char *strategy;
    ppsched_prefill prefill;
    uint64_t prompts[MOST_PROMPTS]; /* with `prefill.prompt_count` */
};

static double draw_number(uint64_t *seed)
{
    return random_below(seed, 4) == 0 ? 0 : 0.125 * (double)(1 + random_below(seed, 24));
}

static struct problem draw(uint64_t *seed)
{
    struct problem p = {.devices = 1 + random_below(seed, MOST_DEVICES), .strategy = "looped_bfs"};
    const bool is_even = random_below(seed, 2) == 0;
    p.stages = p.devices * (1 + (random_below(seed, 4) == 0));
    p.delay = random_below(seed, 2) == 0 ? 0 : 0.25;
    p.bytes = random_below(seed, 3) == 0 ? 4 : 0; /* of the prompt, at bandwidth 1 */
    const bool is_slow = random_below(seed, 4) == 0;
    for (uint32_t d = 0; d < p.devices; d++)
        p.speeds[d] = is_slow && d == p.devices / 2 ? 0.5 : 1;
    for (uint32_t s = 0; s < p.stages; s++)
        p.stage_times[s] = is_even ? 1 : 0.25 * (double)(2 + random_below(seed, 7));
    p.prefill = (ppsched_prefill){.size = sizeof p.prefill,
                                  .block = 1 + random_below(seed, 5),
                                  .constant = draw_number(seed),
                                  .linear = draw_number(seed),
                                  .quadratic = draw_number(seed) / 8};
    if (p.prefill.constant + p.prefill.linear + p.prefill.quadratic == 0)
        p.prefill.linear = 1;
    const uint32_t blocks = 1 + random_below(seed, MOST_BLOCKS);
    p.prefill.tokens = (blocks - 1) * p.prefill.block + 1 + random_below(seed, (uint32_t)p.prefill.block);
    if (random_below(seed, 3) == 0)
        p.prefill.chunks = 1 + random_below(seed, blocks);
    return p;
}

static ppsched_config *config_of(const struct problem *p)
{
    ppsched_config *config = make_config(p->devices, p->stages, 1);
    expect_ok(ppsched_config_set_forward_only(config, 1, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_FORWARD_TIMES, p->stage_times, p->stages, NULL), NULL);
    expect_ok(ppsched_config_set_values(config, PPSCHED_QUANTITY_DEVICE_SPEEDS, p->speeds, p->devices, NULL), NULL);
    set_number(config, PPSCHED_QUANTITY_P2P_TIME, p->delay);
    set_number(config, PPSCHED_QUANTITY_P2P_BANDWIDTH, 1);
    set_number(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, p->bytes);
    return config;
}

/* --- makespans --- */

static double time_of(const ppsched_prefill *prefill, double before, double tokens)
{
    return prefill->constant + prefill->linear * tokens + prefill->quadratic * tokens * (before + tokens / 2);
}

static uint64_t tokens_of(const struct problem *p)
{
    uint64_t sum = p->prefill.tokens;
    for (size_t i = 0; i < p->prefill.prompt_count; i++)
        sum += p->prompts[i];
    return sum;
}

/* One stage a device: each op starts when its device is free and its input is there. */
static double walk(const struct problem *p, const uint64_t *chunks, size_t count)
{
    double free[MOST_DEVICES] = {0}, before = 0;
    const double all = (double)tokens_of(p);
    for (size_t i = 0, prompt = 0; i < count; i++) {
        double there = 0;
        for (uint32_t s = 0; s < p->devices; s++) {
            const double time = p->stage_times[s] * time_of(&p->prefill, before, (double)chunks[i]) / p->speeds[s];
            free[s] = fmax(free[s], there) + time;
            there = free[s] + p->delay + p->bytes * (double)chunks[i] / all;
        }
        before += (double)chunks[i];
        if (p->prefill.prompt_count > 0 && before >= (double)p->prompts[prompt]) {
            before = 0;
            prompt++;
        }
    }
    return free[p->devices - 1];
}

static double evaluate(const struct problem *p, const ppsched_config *config, const uint64_t *chunks, size_t count)
{
    ppsched_config *made = NULL;
    expect_ok(ppsched_prefill_create_config(&made, &p->prefill, config, chunks, count, NULL), NULL);
    assert_int_equal(ppsched_config_microbatches(made), count);
    ppsched_schedule *schedule = make_schedule(made, p->strategy);
    ppsched_timeline *timeline = make_timeline(schedule, made);
    const double makespan = metrics_of(timeline).makespan;
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(made);
    return makespan;
}

/* The best of all chunks, each multiples of a block but the last. */
static double best_of_all(const struct problem *p, const ppsched_config *config)
{
    const uint64_t block = p->prefill.block, blocks = (p->prefill.tokens + block - 1) / block;
    double best = INFINITY;
    for (uint32_t cuts = 0; cuts < 1u << (blocks - 1); cuts++) {
        uint64_t chunks[MOST_BLOCKS], from = 0;
        size_t count = 0;
        for (uint64_t i = 0; i < blocks; i++) {
            if (i + 1 < blocks && (cuts >> i & 1) == 0)
                continue;
            const uint64_t end = i + 1 < blocks ? (i + 1) * block : p->prefill.tokens;
            chunks[count++] = end - from;
            from = end;
        }
        if (p->prefill.chunks == 0 || count == p->prefill.chunks)
            best = fmin(best, p->stages == p->devices ? walk(p, chunks, count) : evaluate(p, config, chunks, count));
    }
    return best;
}

static void check_sizes(const struct problem *p, const uint64_t *chunks, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        assert_true(chunks[i] > 0 && (i + 1 == count || chunks[i] % p->prefill.block == 0));
        sum += chunks[i];
    }
    assert_int_equal(sum, p->prefill.tokens);
    assert_true(p->prefill.chunks == 0 || p->prefill.chunks == count);
}

static void test_as_good_as_all_chunks(void **state)
{
    uint64_t seed = 1;
    (void)state;
    for (uint32_t n = 0; n < problems; n++) {
        const struct problem p = draw(&seed);
        ppsched_config *config = config_of(&p);
        ppsched_prefill_figures figures = {.size = sizeof figures};
        uint64_t chunks[MOST_BLOCKS];
        size_t count = 0;
        expect_ok(ppsched_prefill_find_chunks(chunks, MOST_BLOCKS, &count, &figures, &p.prefill, config, p.strategy, NULL),
                  NULL);
        check_sizes(&p, chunks, count);
        const double best = best_of_all(&p, config), own = evaluate(&p, config, chunks, count);
        if (fabs(figures.makespan - own) > 1e-9 * own || fabs(own - best) > 1e-9 * best || figures.equal_makespan < own)
            fail_msg("problem %u: %g told, %g evaluated, %g possible, %g equal", n, figures.makespan, own, best,
                     figures.equal_makespan);
        assert_int_equal(figures.is_best, 1);
        ppsched_config_destroy(config);
    }
}

/* --- several prompts --- */

static struct problem draw_prompts(uint64_t *seed)
{
    struct problem p = draw(seed);
    uint64_t left = 9, blocks = 0;
    p.prefill.tokens = 0;
    p.prefill.prompt_count = 2 + random_below(seed, MOST_PROMPTS - 1);
    for (size_t i = 0; i < p.prefill.prompt_count; i++) {
        const uint64_t own = 1 + random_below(seed, (uint32_t)(left - (p.prefill.prompt_count - 1 - i)));
        p.prompts[i] = (own - 1) * p.prefill.block + 1 + random_below(seed, (uint32_t)p.prefill.block);
        left -= own;
        blocks += own;
    }
    p.prefill.chunks = 0;
    if (random_below(seed, 3) == 0)
        p.prefill.chunks = (uint32_t)p.prefill.prompt_count +
                           random_below(seed, (uint32_t)(blocks - p.prefill.prompt_count + 1));
    return p;
}

/* Tries the chunks of the prompts from one on, after those that are there. */
static void try_prompts(double *best, const struct problem *p, const ppsched_config *config, size_t prompt, uint64_t *chunks,
                        size_t count)
{
    if (prompt == MOST_PROMPTS || prompt == p->prefill.prompt_count) {
        if (p->prefill.chunks == 0 || count == p->prefill.chunks)
            *best = fmin(*best, p->stages == p->devices ? walk(p, chunks, count) : evaluate(p, config, chunks, count));
        return;
    }
    const uint64_t block = p->prefill.block, blocks = (p->prompts[prompt] + block - 1) / block;
    for (uint32_t cuts = 0; cuts < 1u << (blocks - 1); cuts++) {
        size_t made = count;
        uint64_t from = 0;
        for (uint64_t i = 0; i < blocks; i++) {
            const uint64_t end = i + 1 < blocks ? (i + 1) * block : p->prompts[prompt];
            if (i + 1 < blocks && (cuts >> i & 1) == 0)
                continue;
            chunks[made++] = end - from;
            from = end;
        }
        try_prompts(best, p, config, prompt + 1, chunks, made);
    }
}

static void test_several_prompts(void **state)
{
    uint64_t seed = 3;
    (void)state;
    for (uint32_t n = 0; n < problems; n++) {
        struct problem p = draw_prompts(&seed);
        p.prefill.prompts = p.prompts;
        ppsched_config *config = config_of(&p);
        ppsched_prefill_figures figures = {.size = sizeof figures};
        uint64_t chunks[MOST_BLOCKS], tried[MOST_BLOCKS];
        size_t count = 0;
        double best = INFINITY;
        expect_ok(ppsched_prefill_find_chunks(chunks, MOST_BLOCKS, &count, &figures, &p.prefill, config, p.strategy, NULL),
                  NULL);
        assert_true(p.prefill.chunks == 0 || p.prefill.chunks == count);
        try_prompts(&best, &p, config, 0, tried, 0);
        const double own = p.stages == p.devices ? walk(&p, chunks, count) : evaluate(&p, config, chunks, count);
        if (fabs(figures.makespan - own) > 1e-9 * own || fabs(own - best) > 1e-9 * best || figures.equal_makespan < own)
            fail_msg("problem %u: %g told, %g evaluated, %g possible, %g equal", n, figures.makespan, own, best,
                     figures.equal_makespan);
        assert_int_equal(figures.is_best, 1);
        ppsched_config_destroy(config);
    }
}

/* Long prompts on stages that take equally long: never longer than any equal chunks of each prompt. */
static void test_several_long_prompts(void **state)
{
    static uint64_t chunks[4096], equal[4096];
    uint64_t seed = 9;
    (void)state;
    for (uint32_t n = 0; n < problems / 10; n++) {
        struct problem p = {.devices = 2 + random_below(&seed, 4), .strategy = "looped_bfs", .delay = 0.5};
        size_t count = 0;
        p.stages = p.devices;
        for (uint32_t s = 0; s < p.stages; s++)
            p.stage_times[s] = p.speeds[s] = 1;
        p.prefill = (ppsched_prefill){.size = sizeof p.prefill,
                                      .block = 1u << random_below(&seed, 8),
                                      .constant = 1e-2 * (double)random_below(&seed, 3000),
                                      .linear = 1e-3 * (double)random_below(&seed, 100),
                                      .quadratic = 1e-8 * (double)(1 + random_below(&seed, 100)),
                                      .prompts = p.prompts,
                                      .prompt_count = MOST_PROMPTS};
        for (uint32_t i = 0; i < MOST_PROMPTS; i++)
            p.prompts[i] = p.prefill.block * (1 + random_below(&seed, i == 1 ? 1000 : 40));
        ppsched_config *config = config_of(&p);
        ppsched_prefill_figures figures = {.size = sizeof figures};
        expect_ok(ppsched_prefill_find_chunks(chunks, 4096, &count, &figures, &p.prefill, config, p.strategy, NULL), NULL);
        assert_true(fabs(figures.makespan - walk(&p, chunks, count)) <= 1e-9 * figures.makespan);
        for (uint64_t size = 1; size <= 1000; size += 1 + size / 30) {
            size_t made = 0;
            for (uint32_t i = 0; i < MOST_PROMPTS; i++)
                for (uint64_t done = 0; done < p.prompts[i]; done += size * p.prefill.block)
                    equal[made++] = p.prompts[i] - done < size * p.prefill.block ? p.prompts[i] - done : size * p.prefill.block;
            assert_true(walk(&p, equal, made) >= figures.makespan * (1 - 1e-9));
        }
        ppsched_config_destroy(config);
    }
}

/* Many blocks and stages that take equally long: never longer than equal chunks of any number, and the number is the best. */
static void test_long_prompts(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (uint32_t n = 0; n < problems / 10; n++) {
        struct problem p = {.devices = 2 + random_below(&seed, 4), .strategy = "looped_bfs", .delay = 0.5};
        static uint64_t chunks[4096], equal[4096];
        size_t count = 0;
        p.stages = p.devices;
        for (uint32_t s = 0; s < p.stages; s++) {
            p.stage_times[s] = 0.5;
            p.speeds[s] = 1;
        }
        p.prefill = (ppsched_prefill){.size = sizeof p.prefill,
                                      .block = 1u << random_below(&seed, 8),
                                      .constant = 1e-2 * (double)random_below(&seed, 3000),
                                      .linear = 1e-3 * (double)random_below(&seed, 100),
                                      .quadratic = 1e-8 * (double)(1 + random_below(&seed, 100))};
        p.prefill.tokens = p.prefill.block * (100 + random_below(&seed, 1500));
        ppsched_config *config = config_of(&p);
        ppsched_prefill_figures figures = {.size = sizeof figures};
        expect_ok(ppsched_prefill_find_chunks(chunks, 4096, &count, &figures, &p.prefill, config, p.strategy, NULL), NULL);
        check_sizes(&p, chunks, count);
        assert_true(fabs(figures.makespan - walk(&p, chunks, count)) <= 1e-9 * figures.makespan);
        const uint64_t blocks = p.prefill.tokens / p.prefill.block;
        for (size_t other = 1; other <= blocks && other <= 4096; other += 1 + other / 40) {
            for (size_t i = 0; i < other; i++)
                equal[i] = p.prefill.block * (blocks / other + (i < blocks % other));
            assert_true(walk(&p, equal, other) >= figures.makespan * (1 - 1e-9));
        }
        ppsched_config_destroy(config);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        problems = (uint32_t)strtoul(argv[1], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_good_as_all_chunks), cmocka_unit_test(test_long_prompts),
                                       cmocka_unit_test(test_several_prompts), cmocka_unit_test(test_several_long_prompts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
