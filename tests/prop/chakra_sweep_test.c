/* SPDX-License-Identifier: Apache-2.0 */
/* Traces written and read again: of problems in which each stage, edge and pair has whole numbers of its own, the same times,
 * bytes and ops come back. */
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 32, MOST_STAGES = 12 };

struct bytes {
    char *data;
    size_t length, capacity;
};

static int32_t take(void *user, const char *data, size_t size)
{
    struct bytes *bytes = user;
    if (bytes->length + size > bytes->capacity) {
        bytes->capacity = 2 * (bytes->length + size);
        bytes->data = realloc(bytes->data, bytes->capacity);
        assert_non_null(bytes->data);
    }
    memcpy(bytes->data + bytes->length, data, size);
    bytes->length += size;
    return 0;
}

/* Uneven whole numbers. */
static void set_whole(ppsched_config *config, int32_t quantity, size_t count, double least, uint64_t *seed)
{
    double values[MOST_STAGES * MOST_STAGES];
    draw_uneven(values, count, 0, seed);
    for (size_t i = 0; i < count; i++)
        values[i] = least + floor(1000 * values[i]);
    expect_ok(ppsched_config_set_values(config, quantity, values, count, NULL), NULL);
}

struct trial {
    const char *strategy;
    uint32_t devices, stages;
    int has_times, has_links, pairs; /* pairs: 0, 1 or 2, by how many stages they are given */
};

static ppsched_config *draw(struct trial *trial, uint64_t *seed)
{
    static const struct {
        const char *name;
        uint32_t chunks;
    } strategies[] = {{"1f1b", 1}, {"zb_h1", 1}, {"interleaved_1f1b", 2}, {"1f1b_overlap", 1}, {"dualpipe_v", 2}, {"zbv", 2}};
    uint32_t k = random_below(seed, 6);
    trial->strategy = strategies[k].name;
    trial->devices = 2 + random_below(seed, 3);
    trial->stages = trial->devices * strategies[k].chunks;
    trial->has_times = (int)random_below(seed, 2);
    trial->has_links = trial->has_times && random_below(seed, 2);
    trial->pairs = (int)random_below(seed, 3);
    ppsched_config *config = make_config(trial->devices, trial->stages,
                                         2 * trial->devices + 2 * (int64_t)random_below(seed, 3));
    expect_ok(ppsched_config_set_iterations(config, 1 + random_below(seed, 2), NULL), NULL);
    set_whole(config, PPSCHED_QUANTITY_FORWARD_TIMES, trial->stages, 10, seed);
    set_whole(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, trial->stages, 20, seed);
    set_whole(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, trial->stages, 5, seed);
    set_whole(config, PPSCHED_QUANTITY_ACTIVATION_BYTES, trial->stages, 100, seed);
    set_whole(config, PPSCHED_QUANTITY_GRADIENT_BYTES, trial->stages, 200, seed);
    if (trial->has_times)
        set_whole(config, PPSCHED_QUANTITY_P2P_TIME, (size_t)trial->devices * trial->devices, 3, seed);
    if (trial->pairs > 0)
        set_whole(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, (size_t)pow(trial->stages, trial->pairs), 25, seed);
    return config;
}

/* What stages run by itself, and in pairs. */
struct shown {
    int alone[5][MOST_STAGES], pairs[MOST_STAGES][MOST_STAGES];
};

static void look(struct shown *shown, const ppsched_schedule *schedule)
{
    memset(shown, 0, sizeof *shown);
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        size_t count = 0;
        const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &count);
        for (size_t i = 0; i < count; i++)
            if ((ops[i].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0) {
                shown->pairs[ops[i].stage][ops[i + 1].stage] = 1;
                i++;
            } else {
                shown->alone[ops[i].kind][ops[i].stage] = 1;
            }
    }
}

static void expect_near(double told, double given, const char *what, uint32_t index)
{
    if (fabs(given - told) > 1e-9 * (1 + given))
        fail_msg("%s, %u: %g is read as %g", what, index, given, told);
}

static void expect_same(const ppsched_config *config, const ppsched_config *read, int32_t quantity, size_t index)
{
    double given = value_at(config, quantity, index, -1), told = value_at(read, quantity, index, -2);
    if (fabs(given - told) > 1e-9 * (1 + given))
        fail_msg("%s %zu was %g, and is read as %g", ppsched_quantity_name(quantity), index, given, told);
}

static int is_sent(const ppsched_schedule *schedule, uint32_t from, uint32_t to)
{
    return ppsched_schedule_device_of(schedule, from, 0) != ppsched_schedule_device_of(schedule, to, 0);
}

/* A B of the times of I and W, where the config gives none. */
static void compare_stages(const struct trial *trial, const ppsched_config *config, const ppsched_config *read,
                           const ppsched_schedule *schedule, const struct shown *shown)
{
    for (uint32_t s = 0; s < trial->stages; s++) {
        double backward = value_at(config, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s, 0) +
                          value_at(config, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, s, 0);
        if (shown->alone[PPSCHED_KIND_F][s])
            expect_same(config, read, PPSCHED_QUANTITY_FORWARD_TIMES, s);
        if (shown->alone[PPSCHED_KIND_I][s])
            expect_same(config, read, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s);
        if (shown->alone[PPSCHED_KIND_W][s])
            expect_same(config, read, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, s);
        if (shown->alone[PPSCHED_KIND_B][s] || (shown->alone[PPSCHED_KIND_I][s] && shown->alone[PPSCHED_KIND_W][s]))
            expect_near(value_at(read, PPSCHED_QUANTITY_BACKWARD_TIMES, s, 0), backward, trial->strategy, s);
        if (shown->alone[PPSCHED_KIND_B][s] && !shown->alone[PPSCHED_KIND_I][s] && !shown->alone[PPSCHED_KIND_W][s]) {
            expect_near(value_at(read, PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, s, 0), floor(backward / 2), "half a backward", s);
            expect_near(value_at(read, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, s, 0), ceil(backward / 2), "the other half", s);
        }
        if (trial->has_times)
            continue;
        if (s + 1 < trial->stages && is_sent(schedule, s, s + 1))
            expect_same(config, read, PPSCHED_QUANTITY_ACTIVATION_BYTES, s);
        if (s > 0 && is_sent(schedule, s, s - 1))
            expect_same(config, read, PPSCHED_QUANTITY_GRADIENT_BYTES, s);
    }
}

/* How long what goes from a stage to its neighbour takes, however the config has it. */
static double delay_of(const ppsched_config *config, const ppsched_schedule *schedule, uint32_t from, uint32_t to)
{
    static struct brute_costs costs;
    uint32_t a = ppsched_schedule_device_of(schedule, from, 0), b = ppsched_schedule_device_of(schedule, to, 0);
    brute_costs_of(&costs, config);
    return a == b ? 0 : costs.delay[a][b] + costs.sent[from > to][from] / costs.bandwidth[a][b];
}

static void compare_delays(const struct trial *trial, const ppsched_config *config, const ppsched_config *read,
                           const ppsched_schedule *schedule)
{
    for (uint32_t s = 0; s + 1 < trial->stages && trial->has_times; s++)
        for (uint32_t back = 0; back < 2; back++) {
            double given = delay_of(config, schedule, s + back, s + 1 - back),
                   told = delay_of(read, schedule, s + back, s + 1 - back);
            if (fabs(given - told) > 1e-9)
                fail_msg("from stage %u to %u took %g, and is read as %g", s + back, s + 1 - back, given, told);
        }
}

/* Pairs that take as long as their ops alone have no times of their own, where these are shown. */
static void compare_sums(const struct trial *trial, const ppsched_config *read, const struct shown *shown)
{
    size_t count = 0;
    int are_shown = trial->pairs == 0;
    for (uint32_t s = 0; s < trial->stages; s++)
        for (uint32_t t = 0; t < trial->stages; t++)
            if (shown->pairs[s][t])
                are_shown = are_shown && shown->alone[PPSCHED_KIND_F][s] && shown->alone[PPSCHED_KIND_B][t];
    ppsched_config_values(read, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count);
    assert_true(count == 0 || !are_shown);
}

/* What reading needs is in the traces where each stage has ops of its own beside pairs. */
static int try(struct trial *trial, uint64_t *seed)
{
    const ppsched_lower_options lowering = {.size = sizeof lowering, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    ppsched_chakra_options options = {.size = sizeof options};
    ppsched_config *config = draw(trial, seed), *read = NULL;
    ppsched_schedule *schedule = make_schedule(config, trial->strategy), *lowered = NULL, *again = NULL;
    ppsched_chakra *chakra = NULL;
    ppsched_chakra_trace traces[MOST_RANKS];
    struct bytes bytes[MOST_RANKS] = {{NULL, 0, 0}};
    ppsched_error error;
    struct shown shown;
    int pairs = 0;
    look(&shown, schedule);
    options.sizes = trial->has_times ? PPSCHED_CHAKRA_SIZES_TIMES : PPSCHED_CHAKRA_SIZES_BYTES;
    options.links = trial->has_links ? PPSCHED_CHAKRA_LINKS_RANKS : PPSCHED_CHAKRA_LINKS_SENDERS;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &lowering, &error), &error);
    expect_ok(ppsched_chakra_create(&chakra, lowered, config, &options, &error), &error);
    uint32_t ranks = ppsched_chakra_ranks(chakra);
    assert_true(ranks <= MOST_RANKS && (trial->has_links ? ranks > trial->devices : ranks == trial->devices));
    for (uint32_t rank = 0; rank < ranks; rank++) {
        expect_ok(ppsched_chakra_export(chakra, rank, take, &bytes[rank], &error), &error);
        traces[rank] = (ppsched_chakra_trace){bytes[rank].data, bytes[rank].length};
    }
    expect_ok(ppsched_chakra_import(&again, &read, traces, ranks, NULL, &error), &error);
    for (uint32_t d = 0; d < trial->devices; d++) {
        char *one = queue_text(lowered, d), *other = queue_text(again, d);
        assert_string_equal(one, other);
        free(one);
        free(other);
    }
    compare_stages(trial, config, read, schedule, &shown);
    compare_delays(trial, config, read, schedule);
    compare_sums(trial, read, &shown);
    for (uint32_t s = 0; s < trial->stages; s++)
        for (uint32_t t = 0; t < trial->stages; t++)
            if (shown.pairs[s][t] && trial->pairs > 0) {
                size_t count = 0;
                ppsched_config_values(read, PPSCHED_QUANTITY_OVERLAPPED_TIMES, &count);
                double given = value_at(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES,
                                        trial->pairs == 1 ? s : s * trial->stages + t, -1);
                double told = value_at(read, PPSCHED_QUANTITY_OVERLAPPED_TIMES,
                                       count == trial->stages ? s : s * trial->stages + t, -2);
                assert_true(given == told);
                pairs++;
            }
    for (uint32_t rank = 0; rank < ranks; rank++)
        free(bytes[rank].data);
    ppsched_chakra_destroy(chakra);
    ppsched_schedule_release(again);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(read);
    ppsched_config_destroy(config);
    return pairs;
}

static void test_what_is_written_is_read(void **state)
{
    uint64_t seed = 31;
    int pairs = 0;
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct trial trial;
        pairs += try(&trial, &seed) > 0;
    }
    print_message("# %d of 200 have pairs of times of their own\n", pairs);
    assert_true(pairs > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_what_is_written_is_read)};
    return cmocka_run_group_tests_name("chakra sweep", tests, NULL, NULL);
}
