/* SPDX-License-Identifier: Apache-2.0 */
/* The stable sort. */
#include "support/problem.h"

#include "base/sort.h"

enum { MOST = 70 };

static bool is_smaller(const void *context, uint32_t a, uint32_t b)
{
    const uint32_t *keys = context;
    return keys[a] < keys[b];
}

/* Few keys, so that many are the same. */
static void test_sorts_and_keeps_the_order_of_equals(void **state)
{
    uint64_t seed = 7;
    (void)state;
    for (size_t count = 0; count <= MOST; count++) {
        uint32_t keys[MOST], items[MOST], scratch[MOST];
        bool seen[MOST] = {false};
        for (uint32_t i = 0; i < count; i++) {
            keys[i] = random_below(&seed, 1 + (uint32_t)count / 4);
            items[i] = i;
        }
        const uint32_t *sorted = ppi_sort(items, scratch, count, is_smaller, keys);
        assert_true(sorted == items || sorted == scratch);
        for (size_t k = 0; k < count; k++) {
            assert_true(sorted[k] < count && !seen[sorted[k]]);
            seen[sorted[k]] = true;
            if (k > 0)
                assert_true(keys[sorted[k - 1]] < keys[sorted[k]] ||
                            (keys[sorted[k - 1]] == keys[sorted[k]] && sorted[k - 1] < sorted[k]));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sorts_and_keeps_the_order_of_equals)};
    return cmocka_run_group_tests_name("sort", tests, NULL, NULL);
}
