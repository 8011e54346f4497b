/* SPDX-License-Identifier: Apache-2.0 */
/* Microbatches shared out over replicas: of few the best of all ways, tried one by one; of many as the rule says: the bound in
 * plain sums, and no move or swap with the replica that has most makes it better. */
#include "support/uneven.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 8, MOST = 60, MOST_REPLICAS = 5 };

struct shares {
    double costs[MOST], sum[MOST_REPLICAS];
    uint32_t replica[MOST], held[MOST_REPLICAS];
    uint32_t count, replicas;
    int32_t even;
    ppsched_balance told;
};

/* Costs that differ, or few different ones; shared out. */
static void make_shares(struct shares *shares, uint32_t count, uint64_t *seed)
{
    ppsched_error error;
    uint32_t style = random_below(seed, 4);
    *shares = (struct shares){.count = count, .told = {.size = sizeof shares->told}};
    shares->replicas = 1 + random_below(seed, count < MOST_REPLICAS ? count : MOST_REPLICAS);
    shares->even = (int32_t)random_below(seed, 2);
    draw_uneven(shares->costs, count, style == 0 ? 3 : 0, seed);
    for (uint32_t i = 0; i < count && style > 1; i++)
        shares->costs[i] = style == 2 ? floor(4 * shares->costs[i]) : pow(8 * shares->costs[i], 2);
    expect_ok(ppsched_microbatches_balance(shares->replica, count, NULL, &shares->told, shares->costs, count, shares->replicas,
                                           shares->even, NULL, &error),
              &error);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(shares->replica[i] < shares->replicas);
        shares->sum[shares->replica[i]] += shares->costs[i];
        shares->held[shares->replica[i]]++;
    }
}

static int counts_are_even(const struct shares *shares, const uint32_t *held)
{
    for (uint32_t r = 0; r < shares->replicas && shares->even; r++)
        if (held[r] < shares->count / shares->replicas || held[r] > (shares->count + shares->replicas - 1) / shares->replicas)
            return 0;
    return 1;
}

static uint32_t fullest(const struct shares *shares)
{
    uint32_t most = 0;
    for (uint32_t r = 1; r < shares->replicas; r++)
        most = shares->sum[r] > shares->sum[most] ? r : most;
    return most;
}

static void expect_near(double told, double reckoned, const char *what)
{
    if (fabs(told - reckoned) > 1e-9 * (1 + reckoned))
        fail_msg("%s is %.17g, reckoned %.17g", what, told, reckoned);
}

/* --- few --- */

static double best_from(const struct shares *shares, uint32_t item, double *sum, uint32_t *held)
{
    double best = HUGE_VAL;
    if (item == shares->count) {
        best = 0;
        for (uint32_t r = 0; r < shares->replicas; r++)
            best = fmax(best, sum[r]);
        return counts_are_even(shares, held) ? best : HUGE_VAL;
    }
    for (uint32_t r = 0; r < shares->replicas; r++) {
        double before = sum[r];
        sum[r] += shares->costs[item];
        held[r]++;
        best = fmin(best, best_from(shares, item + 1, sum, held));
        held[r]--;
        sum[r] = before;
    }
    return best;
}

static void test_few(void **state)
{
    uint64_t seed = 17;
    (void)state;
    for (int trial = 0; trial < 250; trial++) {
        struct shares shares;
        double sum[MOST_REPLICAS] = {0};
        uint32_t held[MOST_REPLICAS] = {0};
        make_shares(&shares, 1 + random_below(&seed, FEW), &seed);
        assert_true(counts_are_even(&shares, shares.held));
        expect_near(shares.sum[fullest(&shares)], best_from(&shares, 0, sum, held), "the most of few");
        expect_near(shares.told.most, shares.sum[fullest(&shares)], "what is told");
        assert_int_equal(shares.told.is_best, 1);
        assert_true(shares.told.bound == shares.told.most);
    }
}

/* Of replicas with the same sum one may have room for another microbatch while the other has none. */
static void test_even_counts(void **state)
{
    static const struct {
        uint32_t count, replicas;
        int32_t even;
        double most, costs[FEW];
    } cases[] = {
        {8, 2, 1, 118, {55, 1, 50, 8, 74, 28, 12, 7}},
        {8, 2, 1, 251, {38, 6, 35, 134, 3, 152, 90, 32}},
        {5, 3, 1, 74, {67, 24, 64, 10, 20}},
        {5, 3, 0, 67, {67, 24, 64, 10, 20}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_balance told = {.size = sizeof told};
        uint32_t replica[FEW];
        expect_ok(ppsched_microbatches_balance(replica, cases[i].count, NULL, &told, cases[i].costs, cases[i].count,
                                               cases[i].replicas, cases[i].even, NULL, NULL),
                  NULL);
        assert_true(told.most == cases[i].most && told.is_best == 1);
    }
}

/* Replicas that are alike are tried as one, wherever they stand: so all ways of these are tried in two million steps. */
static void test_all_paths_within_reach(void **state)
{
    static const struct {
        uint32_t count, replicas;
        double costs[24];
    } cases[] = {
        {19, 3, {39, 37, 30, 23, 16, 37, 31, 20, 25, 9, 31, 43, 10, 28, 18, 13, 14, 13, 9}},
        {23, 4, {20, 9, 18, 2, 5, 9, 9, 20, 1, 17, 19, 15, 15, 15, 21, 2, 11, 20, 15, 21, 1, 18, 3}},
        {23, 7, {30, 17, 35, 7, 8, 19, 11, 38, 18, 22, 7, 28, 29, 8, 30, 28, 23, 19, 18, 4, 22, 18, 21}},
        {24, 9, {31, 13, 20, 14, 16, 12, 14, 12, 13, 21, 16, 34, 30, 7, 16, 17, 21, 18, 31, 16, 6, 6, 35, 22}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ppsched_balance told = {.size = sizeof told};
        uint32_t replica[24];
        expect_ok(ppsched_microbatches_balance(replica, cases[i].count, NULL, &told, cases[i].costs, cases[i].count,
                                               cases[i].replicas, i % 2 == 0, NULL, NULL),
                  NULL);
        assert_true(told.is_best == 1 && told.bound == told.most);
    }
}

/* Sums of tenths round; those that differ by that alone are the same. */
static void test_sums_that_round(void **state)
{
    static const int tenths[2][22] = {{4, 6, 5, 6, 2, 1, 1, 2, 4, 2, 4, 5, 4, 7, 2, 6, 4, 3, 4, 5, 2},
                                      {2, 3, 1, 7, 2, 6, 2, 5, 4, 1, 5, 1, 2, 2, 6, 4, 4, 2, 4, 7, 4, 5}};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        ppsched_balance told = {.size = sizeof told};
        double costs[22];
        uint32_t replica[22];
        for (uint32_t j = 0; j < 21 + i; j++)
            costs[j] = 0.1 * tenths[i][j];
        expect_ok(ppsched_microbatches_balance(replica, 21 + i, NULL, &told, costs, 21 + i, 4 + i, i == 0, NULL, NULL), NULL);
        assert_int_equal(told.is_best, 1);
    }
}

static void test_paths_out_of_reach(void **state)
{
    ppsched_balance told = {.size = sizeof told};
    double costs[24];
    uint32_t replica[24];
    uint64_t seed = 19;
    (void)state;
    draw_uneven(costs, 24, 1, &seed);
    expect_ok(ppsched_microbatches_balance(replica, 24, NULL, &told, costs, 24, 4, 0, NULL, NULL), NULL);
    assert_true(told.is_best == 0 && told.bound < told.most);
}

/* --- many --- */

static int is_more(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The mean; the largest; of the k R + 1 largest some replica has k + 1; with even counts the largest is beside the least. */
static double bound_of(const struct shares *shares)
{
    double sorted[MOST], all = 0;
    uint32_t n = shares->count, replicas = shares->replicas;
    memcpy(sorted, shares->costs, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, is_more);
    for (uint32_t i = 0; i < n; i++)
        all += sorted[i];
    double bound = fmax(sorted[0], all / replicas);
    for (uint32_t k = 1; k * replicas < n; k++) {
        double least = 0;
        for (uint32_t i = 0; i <= k; i++)
            least += sorted[k * replicas - i];
        bound = fmax(bound, least);
    }
    double beside = sorted[0];
    for (uint32_t i = 1; i < n / replicas; i++)
        beside += sorted[n - i];
    return shares->even ? fmax(bound, beside) : bound;
}

/* Whether sums `from` and `to` after an exchange are less than the most there is. */
static void expect_no_better(const struct shares *shares, uint32_t from, uint32_t to, double moved)
{
    double most = fmax(shares->sum[from] - moved, shares->sum[to] + moved);
    if (most < shares->sum[from] * (1 - 1e-9))
        fail_msg("%u of %u: %g can become %g", from, shares->replicas, shares->sum[from], most);
}

static void expect_no_exchange(const struct shares *shares)
{
    uint32_t from = fullest(shares), least = shares->count / shares->replicas;
    for (uint32_t i = 0; i < shares->count; i++) {
        if (shares->replica[i] != from)
            continue;
        for (uint32_t r = 0; r < shares->replicas; r++)
            if (r != from && (!shares->even || (shares->held[from] > least && shares->held[r] == least)))
                expect_no_better(shares, from, r, shares->costs[i]);
        for (uint32_t j = 0; j < shares->count; j++)
            if (shares->replica[j] != from)
                expect_no_better(shares, from, shares->replica[j], shares->costs[i] - shares->costs[j]);
    }
}

static void test_many(void **state)
{
    uint64_t seed = 18;
    uint32_t best = 0;
    (void)state;
    for (int trial = 0; trial < 400; trial++) {
        struct shares shares;
        make_shares(&shares, 25 + random_below(&seed, MOST - 24), &seed);
        assert_true(counts_are_even(&shares, shares.held));
        expect_near(shares.told.most, shares.sum[fullest(&shares)], "the most of many");
        expect_near(shares.told.bound, bound_of(&shares), "the bound");
        assert_int_equal(shares.told.is_best, shares.told.most <= shares.told.bound * (1 + 4e-12));
        if (!shares.told.is_best)
            expect_no_exchange(&shares);
        best += shares.told.is_best;
    }
    print_message("# %u of 400 reach the bound\n", best);
    assert_true(best > 40 && best < 360);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_even_counts),
        cmocka_unit_test(test_all_paths_within_reach),
        cmocka_unit_test(test_sums_that_round),
        cmocka_unit_test(test_paths_out_of_reach),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests_name("replicas", tests, NULL, NULL);
}
