/* SPDX-License-Identifier: Apache-2.0 */
/* Which sizes of groups are tried, against the rule in plain words: all of few microbatches or few stage passes; else
 * those near the number of devices, and those that part the microbatches evenly, each larger by a quarter, or by a third
 * where the next even one is far. */
#include "support/problem.h"

#include "strategy/strategy.h"

static uint32_t ceil_of(uint32_t a, uint32_t b)
{
    return (a + b - 1) / b;
}

/* Whether a group is the least size for its number of groups. */
static int is_even(uint32_t microbatches, uint32_t group)
{
    return ceil_of(microbatches, ceil_of(microbatches, group)) == group;
}

static uint32_t even_behind(uint32_t microbatches, uint32_t group)
{
    uint32_t next = group + group / 4 + 1;
    if (next > microbatches)
        return microbatches;
    while (!is_even(microbatches, next))
        next++;
    return group >= 32 && next > group + group / 2 ? group + ceil_of(group, 3) : next;
}

/* Half the devices to twice as many, in 16 steps a device count at most; the number itself always. */
static uint32_t near_behind(uint32_t devices, uint32_t group)
{
    uint32_t step = ceil_of(devices, 16);
    for (uint32_t near = ceil_of(devices, 2); near <= 2 * devices;) {
        if (near > group)
            return near;
        near = near < devices && near + step > devices ? devices : near + step;
    }
    return UINT32_MAX;
}

static uint32_t next_of(const struct ppi_shape *shape, uint32_t group)
{
    uint64_t microbatches = shape->microbatches;
    uint32_t even = even_behind(shape->microbatches, group), near = near_behind(shape->devices, group);
    if (group >= microbatches)
        return 0;
    if (microbatches <= 64 || microbatches * microbatches <= 1000000 / shape->stages)
        return group + 1;
    return near < even ? near : even;
}

static void expect_sizes(const struct ppi_shape *shape, uint32_t most)
{
    uint32_t group = 0, count = 0;
    do {
        uint32_t next = ppi_next_group(shape, group), wanted = next_of(shape, group);
        if (next != wanted)
            fail_msg("%u stages on %u devices, %u microbatches: behind %u comes %u, not %u", shape->stages, shape->devices,
                     shape->microbatches, group, next, wanted);
        group = next;
        count++;
    } while (group != 0);
    assert_true(count <= most);
}

static void test_against_the_rule(void **state)
{
    (void)state;
    for (uint32_t devices = 1; devices <= 64; devices = devices < 5 ? devices + 1 : devices * 5 / 3)
        for (uint32_t chunks = 1; chunks <= 8; chunks *= 2)
            for (uint32_t microbatches = 1; microbatches < 6000; microbatches += 1 + microbatches / 12) {
                struct ppi_shape shape = {.devices = devices, .stages = devices * chunks, .microbatches = microbatches};
                expect_sizes(&shape, 1000);
            }
}

/* On both sides of where all are tried. */
static void test_where_all_are_tried(void **state)
{
    struct ppi_shape few = {.devices = 1, .stages = 1000, .microbatches = 64};
    (void)state;
    assert_int_equal(ppi_next_group(&few, 40), 41);
    few.microbatches = 65;
    assert_true(ppi_next_group(&few, 40) > 41);
    few = (struct ppi_shape){.devices = 1, .stages = 100, .microbatches = 100};
    assert_int_equal(ppi_next_group(&few, 40), 41);
    few.microbatches = 101;
    assert_true(ppi_next_group(&few, 40) > 41);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_the_rule), cmocka_unit_test(test_where_all_are_tried)};
    return cmocka_run_group_tests_name("groups", tests, NULL, NULL);
}
