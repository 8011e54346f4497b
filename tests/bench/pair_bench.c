/* SPDX-License-Identifier: Apache-2.0 */
/* Times the search for the order of a pair's windows, over random pairs: a row for the table of docs/pairs.md each, with the
 * mean and the most time of a call, how many results are proved, and the mean gap to the bound of the others.
 *
 * pair_bench [hundredths of the pairs of each row], by default 100. */
#include "measure.h"

#include <stdbool.h>
#include <stdint.h>

enum { MOST = 1000 };

struct row {
    const char *name;
    uint32_t windows, lists, pairs;
    uint32_t slows; /* of so many pairs one has slowdowns; 0: none */
};

static const struct row rows[] = {
    {"24 windows, three lists, half with slowdowns", 24, 3, 10000, 2},
    {"1,000 windows, two lists", 1000, 2, 20, 0},
    {"44 windows, three lists", 44, 3, 400, 0},
    {"250 windows, three lists", 250, 3, 100, 0},
    {"250 windows, three lists, with slowdowns", 250, 3, 100, 1},
    {"1,000 windows, three lists", 1000, 3, 10, 0},
    {"1,000 windows, three lists, with slowdowns", 1000, 3, 10, 1},
};

static uint64_t random_state = 1;

static uint32_t below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) * limit >> 31);
}

static size_t draw_list(ppsched_window *out, size_t count, uint32_t channels, uint32_t backwards)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (ppsched_window){(1 + below(100)) / 10.0, below(channels), below(backwards + 1)};
    return count;
}

/* A weight window that comes later also needs at least as many windows of the backward. */
static void sort_after(ppsched_window *weight, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && weight[k].after < weight[k - 1].after; k--) {
            const uint32_t after = weight[k].after;
            weight[k].after = weight[k - 1].after;
            weight[k - 1].after = after;
        }
}

static ppsched_pair_windows draw(ppsched_window (*lists)[MOST], const struct row *row, bool slows)
{
    const uint32_t channels = 2 + below(3), third = row->lists == 3 ? row->windows / 4 : 0;
    ppsched_pair_windows pair = {.size = sizeof pair, .forward = lists[0], .backward = lists[1]};
    pair.forward_count = draw_list(lists[0], (row->windows - third) / 2, channels, 0);
    pair.backward_count = draw_list(lists[1], row->windows - third - pair.forward_count, channels, 0);
    if (third > 0) {
        pair.weight = lists[2];
        pair.weight_count = draw_list(lists[2], third, channels, (uint32_t)pair.backward_count);
        sort_after(lists[2], third);
    }
    for (uint32_t c = 0; c < channels && slows; c++)
        pair.slowdown[c] = 1 + below(50) / 100.0;
    return pair;
}

static void measure(const struct row *row, uint32_t pairs)
{
    static ppsched_window lists[3][MOST];
    double sum = 0, most = 0, gap = 0;
    uint32_t proved = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        const ppsched_pair_windows pair = draw(lists, row, row->slows > 0 && i % row->slows == 0);
        ppsched_pair_times times = {.size = sizeof times};
        ppsched_error error;
        const double before = now();
        require(ppsched_pair_find_order(NULL, 0, NULL, &times, &pair, NULL, &error), &error);
        const double took = now() - before;
        sum += took;
        most = took > most ? took : most;
        proved += times.is_best;
        gap += times.time / times.bound - 1;
    }
    printf("| %s, %u pairs | %.2f ms on average, at most %.2f ms; %u proved, the mean gap to the bound is %.1f %% |\n",
           row->name, pairs, 1e3 * sum / pairs, 1e3 * most, proved, 100 * gap / pairs);
}

int main(int argc, char **argv)
{
    const long share = argc > 1 ? strtol(argv[1], NULL, 10) : 100;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const uint32_t pairs = (uint32_t)(rows[i].pairs * share / 100);
        measure(&rows[i], pairs > 0 ? pairs : 1);
    }
    return 0;
}
