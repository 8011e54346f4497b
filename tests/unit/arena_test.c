/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that are given back together. */
#include "support/failing_allocator.h"
#include "support/problem.h"

#include <string.h>

#include "base/arena.h"

enum { MOST = 20 };

static struct ppi_host host_of(struct failing_allocator *allocator)
{
    ppsched_environment environment = failing_environment(allocator);
    struct ppi_host host;
    assert_int_equal(ppi_host_take(&host, &environment, NULL), PPSCHED_OK);
    return host;
}

static void test_arrays_are_apart_aligned_and_given_back(void **state)
{
    struct failing_allocator allocator = {.until_failure = -1};
    struct ppi_host host = host_of(&allocator);
    struct ppi_arena arena = {.host = &host};
    char *arrays[MOST];
    (void)state;
    for (size_t i = 0; i < MOST; i++) {
        arrays[i] = ppi_arena_take(&arena, i, 1);
        assert_true((uintptr_t)arrays[i] % _Alignof(max_align_t) == 0);
        memset(arrays[i], (int)i, i);
        const double *zeroed = ppi_arena_take_zeroed(&arena, i, sizeof *zeroed);
        for (size_t k = 0; k < i; k++)
            assert_true(zeroed[k] == 0);
    }
    for (size_t i = 0; i < MOST; i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(arrays[i][k], i);
    assert_int_equal(ppi_arena_check(&arena, "the test", NULL), PPSCHED_OK);
    assert_int_equal(allocator.live, 2 * MOST);
    ppi_arena_clear(&arena);
    assert_int_equal(allocator.live, 0);
    ppi_arena_clear(&arena);
}

/* Whatever else can be had before and behind it. */
static void test_an_array_that_cannot_be_had_is_told(void **state)
{
    const size_t counts[] = {1, SIZE_MAX, SIZE_MAX / sizeof(double)};
    ppsched_error error;
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct failing_allocator allocator = {.until_failure = i == 0 ? 1 : -1};
        struct ppi_host host = host_of(&allocator);
        struct ppi_arena arena = {.host = &host};
        assert_non_null(ppi_arena_take(&arena, 1, 1));
        assert_null(ppi_arena_take_zeroed(&arena, counts[i], sizeof(double)));
        assert_non_null(ppi_arena_take(&arena, 1, 1));
        assert_int_equal(ppi_arena_check(&arena, "the test", &error), PPSCHED_ERROR_NO_MEMORY);
        assert_non_null(strstr(error.message, "the test"));
        ppi_arena_clear(&arena);
        assert_int_equal(allocator.live, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arrays_are_apart_aligned_and_given_back),
                                       cmocka_unit_test(test_an_array_that_cannot_be_had_is_told)};
    return cmocka_run_group_tests_name("room", tests, NULL, NULL);
}
