/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of numbers whose ranges are raised and asked for their largest, against a plain list; the numbers are whole, so
 * that sums are exact. */
#include "support/problem.h"

#include "ir/config.h"
#include "scenario/max_tree.h"

#include <math.h>

enum { MOST = 37, STEPS = 60 };

static double most_of(const double *values, uint32_t first, uint32_t end)
{
    double most = -HUGE_VAL;
    for (uint32_t i = first; i < end; i++)
        most = fmax(most, values[i]);
    return most;
}

/* Of all ranges, and beyond the last number. */
static void compare(const struct ppi_levels *levels, const double *values, uint32_t count)
{
    for (uint32_t first = 0; first <= count; first++)
        for (uint32_t end = first; end <= count; end++)
            assert_true(ppi_levels_most(levels, first, end) == most_of(values, first, end));
    for (uint32_t i = count; i < levels->width; i++)
        assert_true(ppi_levels_most(levels, i, levels->width) == -HUGE_VAL);
}

static void try_row(struct ppi_levels *levels, uint32_t count, uint64_t *seed)
{
    double values[MOST];
    for (uint32_t i = 0; i < count; i++)
        values[i] = (double)random_below(seed, 50) - 25;
    ppi_levels_reset(levels, values);
    compare(levels, values, count);
    for (int step = 0; step < STEPS; step++) {
        uint32_t first = random_below(seed, count), end = first + random_below(seed, count - first + 1);
        double added = (double)random_below(seed, 21) - 10;
        if (random_below(seed, 12) == 0) {
            ppi_levels_drop(levels, first);
            values[first] = -HUGE_VAL;
        } else {
            ppi_levels_add(levels, first, end, added);
            for (uint32_t i = first; i < end; i++)
                values[i] += added;
        }
        compare(levels, values, count);
    }
}

static void test_as_a_list(void **state)
{
    uint64_t seed = 3;
    ppsched_config *config = make_config(1, 1, 1);
    (void)state;
    for (uint32_t count = 1; count <= MOST; count++) {
        struct ppi_arena arena = {.host = &config->host};
        struct ppi_levels levels;
        ppi_levels_make(&levels, &arena, count);
        expect_ok(ppi_arena_check(&arena, "the row", NULL), NULL);
        assert_true(levels.width >= count && levels.width < 2 * count);
        try_row(&levels, count, &seed);
        try_row(&levels, count, &seed); /* what was added before is gone */
        ppi_arena_clear(&arena);
    }
    ppsched_config_destroy(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_as_a_list)};
    return cmocka_run_group_tests_name("levels", tests, NULL, NULL);
}
