/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks whose longest is shortest: a chunk takes a constant and a difference of a function that grows with the tokens, so
 * taking as much as a limit allows, chunk by chunk, needs the fewest chunks. The least limit that suffices is found by
 * bisection; each step moves to a time that some chunk really has, so it ends at an exact one. */
#include "prefill/partition.h"

#include "base/checked.h"

double ppi_chunk_time(const struct ppi_prompt *prompt, uint32_t from, uint32_t to)
{
    const double before = (double)ppi_prompt_tokens(prompt, from);
    const double tokens = (double)(ppi_prompt_tokens(prompt, to) - ppi_prompt_tokens(prompt, from));
    return prompt->constant + prompt->linear * tokens + prompt->quadratic * tokens * (before + tokens / 2);
}

static const double ROUNDING = 1e-9;

/* The last block up to which a chunk from `from` takes at most `limit`; `from` if none. At most `most`. Looks near `guess`
 * blocks first. */
static uint32_t reach(const struct ppi_prompt *prompt, uint32_t from, uint32_t most, double limit, uint32_t guess)
{
    uint32_t low = from, high = most + 1, step = 1, next = guess < most - from ? from + guess : most;
    while (high - low > 1) {
        if (ppi_chunk_time(prompt, from, next) <= limit) {
            low = next;
            next = step < high - low ? low + step : low + (high - low) / 2;
        } else {
            high = next;
            next = step < high - low ? high - step : low + (high - low) / 2;
        }
        step *= 2;
    }
    return low;
}

/* The longest chunk under a limit, and the least limit that lets some chunk have a block more. */
struct fill {
    double longest, next;
    bool fits;
};

/* Takes as much as the limit allows, chunk by chunk, and leaves a block for each chunk that is to come. */
static struct fill take(uint32_t *ends, const struct ppi_prompt *prompt, uint32_t count, double limit)
{
    struct fill fill = {0, PPI_INFINITE, false};
    uint32_t from = 0, size = prompt->blocks / count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t most = prompt->blocks - (count - 1 - i);
        const uint32_t to = reach(prompt, from, most, limit, size > 0 ? size : 1);
        if (to < most)
            fill.next = ppi_smaller(fill.next, ppi_chunk_time(prompt, from, to + 1));
        if (to == from)
            return fill;
        fill.longest = ppi_larger(fill.longest, ppi_chunk_time(prompt, from, to));
        size = to - from;
        ends[i] = from = to;
    }
    fill.fits = from == prompt->blocks;
    return fill;
}

/* The longest takes at least an equal share, and at most a block more than that. */
double ppi_shortest_longest(uint32_t *ends, const struct ppi_prompt *prompt, uint32_t count, double *visits)
{
    const double all = ppi_chunk_time(prompt, 0, prompt->blocks), share = (all - prompt->constant) / count;
    const uint32_t last = prompt->blocks > 1 ? prompt->blocks - 2 : 0;
    const double largest = ppi_larger(ppi_chunk_time(prompt, last, prompt->blocks), ppi_chunk_time(prompt, 0, 1));
    double low = (prompt->constant + share) * (1 - ROUNDING), high = ppi_smaller(all, (share + largest) * (1 + ROUNDING));
    while (low < high) {
        const double middle = low + (high - low) / 2; /* between neighbours it may round to the upper one */
        const struct fill fill = take(ends, prompt, count, middle < high ? middle : low);
        *visits += count;
        if (fill.fits)
            high = fill.longest;
        else
            low = fill.next;
    }
    take(ends, prompt, count, high);
    return high;
}

void ppi_equal_chunks(uint32_t *ends, const struct ppi_prompt *prompt, uint32_t count)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < count; i++)
        ends[i] = end += prompt->blocks / count + (i < prompt->blocks % count);
}
