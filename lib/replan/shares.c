/* SPDX-License-Identifier: Apache-2.0 */
/* Shares out a whole so that the largest value is least: the least limit is found by halving, and for each limit the sums that
 * rows can have within it are a set of bits. A row's shares within a limit are few runs with equal steps, as values mostly grow
 * with the share, and sums with a run take a number of shifts of the set that is logarithmic in its length. */
#include "replan/shares.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

#define MOST 1.7976931348623157e308 /* the largest double */

enum { BITS = 64 };

struct sharing_out {
    const double *const *values; /* by row, then by share */
    size_t count;                /* of rows */
    uint32_t whole;
    size_t words;    /* of a set */
    uint64_t *reach; /* sets of sums: of no row, then of the rows up to each */
    struct ppi_poll *poll;
};

/* --- sets of sums --- */

static uint64_t *reach_of(const struct sharing_out *out, size_t rows)
{
    return out->reach + rows * out->words;
}

static bool has(const uint64_t *set, uint32_t sum)
{
    return (set[sum / BITS] >> sum % BITS & 1) != 0;
}

/* Adds to a set what another has, with `shift` added to its sums; both may be one. */
static void add_shifted(uint64_t *set, const uint64_t *other, size_t words, uint64_t shift)
{
    const size_t whole = (size_t)(shift / BITS);
    const unsigned part = (unsigned)(shift % BITS);
    for (size_t i = words; i-- > whole;) {
        uint64_t moved = other[i - whole] << part;
        if (part > 0 && i > whole)
            moved |= other[i - whole - 1] >> (BITS - part);
        set[i] |= moved;
    }
}

/* A run of shares with equal steps. */
struct run {
    uint32_t first, step, count;
};

static bool may_have(const double *values, uint32_t share, double limit)
{
    return values[share] <= limit;
}

/* Finds the run that begins with the next share from `from` on; none has a count of 0. */
static struct run next_run(const double *values, uint32_t from, uint32_t whole, double limit)
{
    struct run run = {from, 1, 0};
    while (run.first <= whole && !may_have(values, run.first, limit))
        run.first++;
    if (run.first > whole)
        return run;
    uint32_t next = run.first + 1;
    while (next <= whole && !may_have(values, next, limit))
        next++;
    run.step = next - run.first;
    run.count = 1;
    for (; next <= whole && may_have(values, next, limit); next += run.step) {
        for (uint32_t between = next - run.step + 1; between < next; between++)
            if (may_have(values, between, limit))
                return run;
        run.count++;
        if (whole - next < run.step)
            break;
    }
    return run;
}

/* Adds to `set` the sums of `before` with the shares of a run; `room` has the sums with the first ones, twice as many each
 * time. */
static void add_run(uint64_t *set, uint64_t *room, const uint64_t *before, size_t words, struct run run)
{
    uint32_t have = 1;
    memset(room, 0, words * sizeof *room);
    add_shifted(room, before, words, run.first);
    for (; have < run.count; have += have < run.count - have ? have : run.count - have)
        add_shifted(room, room, words, (uint64_t)(have < run.count - have ? have : run.count - have) * run.step);
    for (size_t i = 0; i < words; i++)
        set[i] |= room[i];
}

/* Finds the sums of the rows within a limit. `*can`: whether all rows can have the whole. */
static ppsched_status find_sums(bool *can, const struct sharing_out *out, double limit, ppsched_error *error)
{
    uint64_t *room = reach_of(out, out->count + 1);
    ppsched_status status = PPSCHED_OK;
    for (size_t r = 0; r < out->count && status == PPSCHED_OK; r++) {
        uint64_t *set = reach_of(out, r + 1);
        double work = out->whole;
        memset(set, 0, out->words * sizeof *set);
        for (struct run run = next_run(out->values[r], 1, out->whole, limit); run.count > 0;) {
            add_run(set, room, reach_of(out, r), out->words, run);
            work += 20.0 * (double)out->words;
            run = next_run(out->values[r], run.first + (run.count - 1) * run.step + 1, out->whole, limit);
        }
        status = ppi_poll_spend(out->poll, 1 + 0.1 * work, error);
    }
    *can = has(reach_of(out, out->count), out->whole);
    return status;
}

/* --- the least limit --- */

/* Numbers of 0 or more have the order of their bits. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double value_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Finds the least limit with which the rows can have the whole; infinite if none up to `most` does. */
static ppsched_status find_limit(double *limit, const struct sharing_out *out, double most, ppsched_error *error)
{
    uint64_t low = 0, high = bits_of(most);
    bool can;
    ppsched_status status = find_sums(&can, out, most, error);
    *limit = PPI_INFINITE;
    if (status != PPSCHED_OK || !can)
        return status;
    while (low < high && status == PPSCHED_OK) {
        const uint64_t middle = low + (high - low) / 2;
        status = find_sums(&can, out, value_of(middle), error);
        if (can)
            high = middle;
        else
            low = middle + 1;
    }
    *limit = value_of(high);
    return status == PPSCHED_OK ? find_sums(&can, out, *limit, error) : status;
}

ppsched_status ppi_share_batch(uint32_t *shares, double *largest, const double *const *values, size_t count, uint32_t whole,
                               double limit, struct ppi_poll *poll, ppsched_error *error)
{
    const struct ppi_host *host = &poll->config->host;
    struct sharing_out out = {.values = values, .count = count, .whole = whole, .words = whole / BITS + 1, .poll = poll};
    out.reach = ppi_allocate_zeroed(host, (count + 2) * out.words, sizeof *out.reach);
    *largest = PPI_INFINITE;
    if (out.reach == NULL)
        return ppi_fail_memory(error, "the shares");
    out.reach[0] = 1; /* no row has the sum 0 */
    ppsched_status status = find_limit(largest, &out, ppi_smaller(limit, MOST), error);
    for (uint32_t r = (uint32_t)count, rest = whole; r-- > 0 && status == PPSCHED_OK && *largest < PPI_INFINITE;) {
        for (shares[r] = 1; !(may_have(values[r], shares[r], *largest) && has(reach_of(&out, r), rest - shares[r]));)
            shares[r]++;
        rest -= shares[r];
    }
    ppi_release(host, out.reach);
    return status;
}
