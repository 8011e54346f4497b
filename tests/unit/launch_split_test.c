/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan's flags for a split, both ways, over all small ones and some of ends that differ by far: what flags tell makes the
 * split by torchtitan's rule, its defaults are taken where they do and else the least numbers, and modules are listed where no
 * numbers up to 64 make it. */
#include "support/launching.h"
#include "support/layered.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STAGES = 6, MOST_LESS = 64 };

static struct {
    uint32_t defaults, flags, modules;
} seen;

/* The embedding counts as `first` layers, the head as `last`; stages get as many, the first ones one more. */
static bool makes(const uint32_t *decoders, uint32_t stages, uint32_t first, uint32_t last)
{
    uint32_t all = first + last;
    for (uint32_t s = 0; s < stages; s++)
        all += decoders[s];
    if (first > all / stages || last > all / stages)
        return false;
    for (uint32_t s = 0; s < stages; s++) {
        int64_t has = all / stages + (s < all % stages);
        has -= s == 0 ? first : 0;
        has -= s + 1 == stages ? last : 0;
        if (has != decoders[s])
            return false;
    }
    return true;
}

/* With more than two stages a device their number follows from the layers of one. */
static uint32_t layers_of_stage(const uint32_t *decoders, uint32_t stages, uint32_t first, uint32_t last)
{
    uint32_t all = first + last;
    for (uint32_t s = 0; s < stages; s++)
        all += decoders[s];
    return (all + stages - 1) / stages;
}

static bool tells(const uint32_t *decoders, uint32_t stages, bool by_layers, uint32_t first, uint32_t last)
{
    uint32_t all = first + last, each = layers_of_stage(decoders, stages, first, last);
    for (uint32_t s = 0; s < stages; s++)
        all += decoders[s];
    return makes(decoders, stages, first, last) && (!by_layers || (all + each - 1) / each == stages);
}

/* The pair that is to be told; false where none is. */
static bool find(const uint32_t *decoders, uint32_t stages, bool by_layers, uint32_t *first, uint32_t *last)
{
    *first = *last = 1;
    if (tells(decoders, stages, by_layers, 1, 1))
        return true;
    for (*first = 0; *first <= MOST_LESS; ++*first)
        for (*last = 0; *last <= MOST_LESS; ++*last)
            if (tells(decoders, stages, by_layers, *first, *last))
                return true;
    return false;
}

/* The number behind a flag, or `fallback`. */
static uint32_t number_of(const char *line, const char *flag, uint32_t fallback)
{
    const char *at = strstr(line, flag);
    return at != NULL ? (uint32_t)strtoul(at + strlen(flag), NULL, 10) : fallback;
}

static void look(const ppsched_schedule *schedule, const uint32_t *decoders)
{
    uint32_t stages = ppsched_schedule_stages(schedule), layers[MOST_STAGES], all = 0, first, last;
    bool by_layers = stages / ppsched_schedule_devices(schedule) > 2;
    for (uint32_t s = 0; s < stages; s++)
        all += decoders[s];
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST), LAYER("decoder", .count = all),
                                     LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST)};
    const ppsched_layers *model = make_layers(entries, 3);
    for (uint32_t s = 0; s < stages; s++)
        layers[s] = decoders[s] + (s == 0) + (s + 1 == stages);
    ppsched_split split = split_of(layers, stages, NULL);
    const ppsched_launch_options options = {.size = sizeof options, .model = model, .split = &split};
    char *line = line_with(schedule, TORCHTITAN, &options, PPSCHED_OK);
    bool found = find(decoders, stages, by_layers, &first, &last);
    if ((strstr(line, "module_fqns") == NULL) != found)
        fail_msg("first %u, last %u: %s", first, last, line);
    if (found) {
        assert_int_equal(number_of(line, "first_stage_less_layers ", 1), first);
        assert_int_equal(number_of(line, "last_stage_less_layers ", 1), last);
        assert_int_equal(number_of(line, "layers_per_stage ", 0),
                         by_layers ? layers_of_stage(decoders, stages, first, last) : 0);
    }
    seen.modules += !found;
    seen.defaults += found && first == 1 && last == 1;
    seen.flags += found && (first != 1 || last != 1);
    free(line);
    ppsched_layers_release(model);
}

/* All splits with up to `most` decoders a stage; those in the middle have one. */
static void look_at_all(const ppsched_schedule *schedule, uint32_t most)
{
    uint32_t stages = ppsched_schedule_stages(schedule), decoders[MOST_STAGES], s = 0;
    for (uint32_t i = 0; i < stages; i++)
        decoders[i] = i > 0 && i + 1 < stages;
    while (s < stages) {
        uint32_t all = 0;
        for (uint32_t i = 0; i < stages; i++)
            all += decoders[i];
        if (all > 0)
            look(schedule, decoders);
        for (s = 0; s < stages && decoders[s] == most; s++)
            decoders[s] = s > 0 && s + 1 < stages;
        if (s < stages)
            decoders[s]++;
    }
}

static void test_flags_make_the_split(void **state)
{
    static const struct {
        const char *strategy;
        int devices, stages;
        uint32_t most;
    } rows[] = {{"1f1b", 2, 2, 9}, {"1f1b", 3, 3, 5}, {"interleaved_1f1b", 2, 4, 3}, {"interleaved_1f1b", 2, 6, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        ppsched_schedule *schedule = sized_schedule(rows[i].strategy, rows[i].devices, rows[i].stages, 6, NULL);
        look_at_all(schedule, rows[i].most);
        ppsched_schedule_release(schedule);
    }
    assert_true(seen.defaults > 20 && seen.flags > 20 && seen.modules > 20);
}

/* As many less as are tried, and one more. */
static void test_ends_that_differ_by_far(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 3, 3, 6, NULL);
    (void)state;
    for (uint32_t less = MOST_LESS - 2; less <= MOST_LESS + 2; less++) {
        look(schedule, (const uint32_t[]){70 - less, 70, 70});
        look(schedule, (const uint32_t[]){70, 70, 70 - less});
        look(schedule, (const uint32_t[]){70 - less, 70, 3});
    }
    ppsched_schedule_release(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flags_make_the_split),
        cmocka_unit_test(test_ends_that_differ_by_far),
    };
    return cmocka_run_group_tests_name("launch split", tests, NULL, NULL);
}
