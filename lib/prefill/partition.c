/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks whose longest is shortest: a chunk takes a constant and a difference of a function that grows with the tokens, so
 * taking as much as a limit allows, chunk by chunk, needs the fewest chunks. The least limit that suffices is found by
 * bisection; each step moves to a time that some chunk really has, so it ends at an exact one. */
#include "prefill/partition.h"

#include "base/checked.h"

static const double SHARE_ROUNDING = 1e-9;

/* The last block up to which a chunk from `from` takes at most `limit`; `from` if none. At most `most`. Looks near `guess`
 * blocks first. */
static uint32_t reach(const struct ppi_prompts *prompts, uint32_t from, uint32_t most, double limit, uint32_t guess)
{
    uint32_t low = from, high = most + 1, step = 1, next = guess < most - from ? from + guess : most;
    while (high - low > 1) {
        if (ppi_chunk_time(prompts, from, next) <= limit) {
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

/* Takes as much of a prompt as the limit allows, chunk by chunk, and leaves a block for each chunk that is to come. */
static struct fill take(uint32_t *ends, const struct ppi_prompts *prompts, uint32_t count, double limit)
{
    struct fill fill = {0, PPI_INFINITE, false};
    uint32_t from = 0, size = prompts->blocks / count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t left = prompts->blocks - (count - 1 - i), end = ppi_end_of_prompt(prompts, from);
        const uint32_t most = left < end ? left : end;
        const uint32_t to = reach(prompts, from, most, limit, size > 0 ? size : 1);
        if (to < most)
            fill.next = ppi_smaller(fill.next, ppi_chunk_time(prompts, from, to + 1));
        if (to == from)
            return fill;
        fill.longest = ppi_larger(fill.longest, ppi_chunk_time(prompts, from, to));
        size = to - from;
        ends[i] = from = to;
    }
    fill.fits = from == prompts->blocks;
    return fill;
}

/* What the longest takes at most, if a prompt may have a chunk alone: with one prompt, a block more than an equal share. */
static double most_of_longest(const struct ppi_prompts *prompts, double share)
{
    const uint32_t last = prompts->blocks > 1 ? prompts->blocks - 2 : 0;
    double most = 0;
    for (uint32_t i = 0; i < prompts->count; i++)
        most = ppi_larger(most, ppi_chunk_time(prompts, prompts->begin[i], prompts->begin[i + 1]));
    if (prompts->count > 1)
        return most;
    const double largest = ppi_larger(ppi_chunk_time(prompts, last, prompts->blocks), ppi_chunk_time(prompts, 0, 1));
    return ppi_smaller(most, (share + largest) * (1 + SHARE_ROUNDING));
}

/* The longest takes at least an equal share. */
double ppi_shortest_longest(uint32_t *ends, const struct ppi_prompts *prompts, uint32_t count, double *visits)
{
    const double share = ppi_prompt_work(prompts) / count;
    double low = (prompts->constant + share) * (1 - SHARE_ROUNDING), high = most_of_longest(prompts, share);
    while (low < high) {
        const double middle = low + (high - low) / 2; /* between neighbours it may round to the upper one */
        const struct fill fill = take(ends, prompts, count, middle < high ? middle : low);
        *visits += count;
        if (fill.fits)
            high = fill.longest;
        else
            low = fill.next;
    }
    take(ends, prompts, count, high);
    return high;
}

static uint32_t chunks_of(const struct ppi_prompts *prompts, uint32_t prompt, uint32_t size)
{
    return (prompts->begin[prompt + 1] - prompts->begin[prompt] + size - 1) / size;
}

/* The least size of chunks, in blocks, with which there are at most `count`. */
static uint32_t equal_size(const struct ppi_prompts *prompts, uint32_t count)
{
    uint32_t low = 1, high = prompts->blocks;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        uint32_t chunks = 0;
        for (uint32_t i = 0; i < prompts->count; i++)
            chunks += chunks_of(prompts, i, middle);
        if (chunks <= count)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Chunks of the first prompts are a block smaller, as `count` allows. */
void ppi_equal_chunks(uint32_t *ends, const struct ppi_prompts *prompts, uint32_t count)
{
    const uint32_t size = equal_size(prompts, count);
    uint32_t end = 0, spare = count, made = 0;
    for (uint32_t i = 0; i < prompts->count; i++)
        spare -= chunks_of(prompts, i, size);
    for (uint32_t i = 0; i < prompts->count; i++) {
        const uint32_t blocks = prompts->begin[i + 1] - prompts->begin[i], least = chunks_of(prompts, i, size);
        const uint32_t most = size > 1 ? chunks_of(prompts, i, size - 1) : blocks;
        const uint32_t chunks = most - least < spare ? most : least + spare;
        spare -= chunks - least;
        for (uint32_t k = 0; k < chunks; k++)
            ends[made++] = end += blocks / chunks + (k < blocks % chunks);
    }
}
