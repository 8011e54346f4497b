/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a whole against all sums, row by row: the largest value is the least that is possible, whether values grow with the
 * share or not, and whether some shares are impossible. */
#include "ir/config.h"
#include "replan/shares.h"
#include "support/problem.h"
#include "support/rounds.h"

#include <math.h>

enum { ROWS = 6, MOST_WHOLE = 150 };

struct draw {
    double values[ROWS][MOST_WHOLE + 1], limit;
    const double *rows[ROWS];
    uint32_t count, whole;
};

/* Values that grow evenly, some of them only for multiples of a number; that grow nearly; that are any; or that are any and
 * often missing. */
static double draw_value(uint32_t kind, uint32_t share, double slope, uint32_t step, uint64_t *seed)
{
    if (kind == 0)
        return share % step == 0 ? slope * share : INFINITY;
    if (kind == 1)
        return slope * share + random_below(seed, 4);
    return kind == 3 && random_below(seed, 3) == 0 ? INFINITY : random_below(seed, 60) / 4.0;
}

static void make_draw(struct draw *draw, uint64_t *seed)
{
    draw->count = 1 + random_below(seed, ROWS);
    draw->whole = draw->count + random_below(seed, MOST_WHOLE - ROWS);
    draw->limit = random_below(seed, 2) == 0 ? INFINITY : random_below(seed, 300);
    for (uint32_t r = 0; r < draw->count; r++) {
        const uint32_t kind = random_below(seed, 4), step = 1 + random_below(seed, 3);
        const double slope = (1 + random_below(seed, 9)) / 3.0;
        draw->values[r][0] = INFINITY;
        for (uint32_t m = 1; m <= draw->whole; m++)
            draw->values[r][m] = draw_value(kind, m, slope, step, seed);
        draw->rows[r] = r > 0 && random_below(seed, 3) == 0 ? draw->rows[r - 1] : draw->values[r];
    }
}

/* The least largest value of all ways, for each sum. */
static double best_of(const struct draw *draw)
{
    double sums[2][MOST_WHOLE + 1];
    for (uint32_t n = 0; n <= draw->whole; n++)
        sums[0][n] = n == 0 ? 0 : INFINITY;
    for (uint32_t r = 0; r < draw->count; r++)
        for (uint32_t n = 0; n <= draw->whole; n++) {
            double *now = &sums[(r + 1) % 2][n];
            *now = INFINITY;
            for (uint32_t m = 1; m <= n; m++)
                *now = fmin(*now, fmax(sums[r % 2][n - m], draw->rows[r][m]));
        }
    const double best = sums[draw->count % 2][draw->whole];
    return best <= draw->limit ? best : INFINITY;
}

static void test_shares_are_the_best(void **state)
{
    ppsched_config *config = make_config(2, 2, 2);
    uint64_t seed = 31;
    int possible = 0;
    (void)state;
    for (int trial = 0; trial < ROUNDS(1500); trial++) {
        struct draw draw;
        struct ppi_poll poll = ppi_poll_start(config);
        uint32_t shares[ROWS], sum = 0;
        double largest = -1, most = 0;
        make_draw(&draw, &seed);
        expect_ok(ppi_share_batch(shares, &largest, draw.rows, draw.count, draw.whole, draw.limit, &poll, NULL), NULL);
        assert_true(largest == best_of(&draw));
        possible += largest < INFINITY;
        for (uint32_t r = 0; r < draw.count && largest < INFINITY; r++) {
            assert_true(shares[r] >= 1 && shares[r] <= draw.whole);
            sum += shares[r];
            most = fmax(most, draw.rows[r][shares[r]]);
        }
        assert_true(!(largest < INFINITY) || (sum == draw.whole && most == largest));
    }
    ppsched_config_destroy(config);
    assert_true(possible > ROUNDS(600) && possible < ROUNDS(1450));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_shares_are_the_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
