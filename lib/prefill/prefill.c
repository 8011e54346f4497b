/* SPDX-License-Identifier: Apache-2.0 */
/* If each device has one stage and all take equally long, n chunks of all prompts take the sum of their times, which depends on
 * n alone, and on each further stage the time of the longest chunk: so for each n the longest is made as short as possible.
 * Otherwise all chunks are tried, or those are a start from which tokens are moved between neighbours. */
#include "prefill/prefill.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "prefill/trial.h"

/* Measured: docs/performance.md. */
enum {
    MOST_TRIED = 13 /* blocks of all prompts up to which all chunks are tried: at most 4,096 */
};

static const double LOOKS = 2e7;  /* at chunks by the formula: some tenths of a second */
static const double VISITS = 4e6; /* of ops by moves: the same */
static const double ROUNDING = 1e-9;

static bool is_close(double a, double b)
{
    return a - b <= ROUNDING * b && b - a <= ROUNDING * b;
}

struct choice {
    struct ppi_trial trial;
    struct ppi_prompts scaled; /* what chunks take on the slowest device */
    uint32_t chunks;           /* 0: any number */
    double further;            /* how many further stages, each as slow, a chunk passes */
    double delays;             /* of a chunk from the first stage to the last */
    bool is_even;              /* all stages take equally long, one a device */
    uint32_t *ends, *best, best_count;
    double best_makespan;
};

/* --- trying chunks --- */

static ppsched_status try(struct choice *choice, uint32_t count, double *makespan, ppsched_error *error)
{
    ppsched_status status = ppi_trial_time(makespan, &choice->trial, choice->ends, count, error);
    if (status != PPSCHED_OK || *makespan >= choice->best_makespan)
        return status;
    choice->best_makespan = choice->trial.poll.best = *makespan;
    choice->best_count = count;
    memcpy(choice->best, choice->ends, count * sizeof *choice->best);
    return PPSCHED_OK;
}

/* --- what stages take --- */

/* The longest work of a device for the chunks that were timed last, and whether all devices have one op of each, and work
 * equally long. */
static double slowest_device(const struct choice *choice, bool *is_even)
{
    const ppsched_schedule *schedule = choice->trial.schedule;
    double slowest = 0, first = -1;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        const ppsched_queue *queue = &schedule->queues[d];
        double work = 0;
        for (size_t i = 0; i < queue->count; i++)
            work += choice->trial.timeline->spans[queue->first + i].end - choice->trial.timeline->spans[queue->first + i].start;
        first = d == 0 ? work : first;
        *is_even = *is_even && queue->count == choice->scaled.count && is_close(work, first);
        slowest = ppi_larger(slowest, work);
    }
    return slowest;
}

/* Whether the bytes of the chunk that was timed last take time. */
static ppsched_status find_bytes(bool *take_time, struct choice *choice, double makespan, ppsched_error *error)
{
    static const double twice[] = {2};
    ppsched_status status = ppi_config_set_values(choice->trial.made, PPSCHED_QUANTITY_MICROBATCH_MEMORY_SCALE, twice, 1,
                                                  error);
    if (status == PPSCHED_OK)
        status = ppi_timeline_update(choice->trial.timeline, choice->trial.made, error);
    *take_time = status == PPSCHED_OK && choice->trial.timeline->metrics.makespan != makespan;
    return status;
}

/* Times each prompt in one chunk. */
static ppsched_status measure(struct choice *choice, ppsched_error *error)
{
    const ppsched_config *config = choice->trial.config;
    const struct ppi_prompts *prompts = choice->trial.prompts;
    double makespan, sum = 0, most = 0;
    bool bytes_take_time;
    memcpy(choice->ends, prompts->begin + 1, prompts->count * sizeof *choice->ends);
    choice->is_even = config->shape.devices == config->shape.stages && !config->senders_wait && config->time_step == 0;
    choice->scaled = *choice->trial.prompts;
    choice->further = config->shape.devices - 1;
    ppsched_status status = ppi_trial_time(&makespan, &choice->trial, choice->ends, prompts->count, error);
    if (status != PPSCHED_OK || makespan == PPI_INFINITE) {
        choice->is_even = false;
        return status;
    }
    for (uint32_t i = 0; i < prompts->count; i++) {
        sum += choice->trial.times[i];
        most = ppi_larger(most, choice->trial.times[i]);
    }
    const double slowest = slowest_device(choice, &choice->is_even), share = slowest / sum, longest = slowest * (most / sum);
    status = find_bytes(&bytes_take_time, choice, makespan, error);
    choice->is_even = choice->is_even && !bytes_take_time;
    choice->scaled.constant *= share;
    choice->scaled.linear *= share;
    choice->scaled.quadratic *= share;
    choice->delays = makespan - (slowest + choice->further * longest);
    if (slowest > 0 && !choice->is_even)
        choice->further = ppi_larger(0, (makespan / slowest - 1) * (slowest / longest));
    return status;
}

/* --- how many chunks --- */

/* What `count` chunks take by the formula, and a bound on it without looking at them. */
static double formula(struct choice *choice, uint32_t count, uint32_t *ends)
{
    return count * choice->scaled.constant +
           choice->further * ppi_shortest_longest(ends, &choice->scaled, count, &choice->trial.visits);
}

static double bound_of(const struct choice *choice, uint32_t count)
{
    const struct ppi_prompts *prompts = &choice->scaled;
    const double all = ppi_prompt_work(prompts);
    return count * prompts->constant + choice->further * (prompts->constant + all / count);
}

/* About the number at which the bound is least: the first whose square is at least further * all / constant. */
static uint32_t guess_count(const struct choice *choice)
{
    const struct ppi_prompts *prompts = &choice->scaled;
    const double all = ppi_prompt_work(prompts);
    uint32_t low = prompts->count, high = prompts->blocks;
    if (choice->chunks > 0)
        return choice->chunks;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if ((double)middle * middle * prompts->constant >= choice->further * all)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Without a constant: the fewest chunks whose longest is that of all blocks alone. */
static ppsched_status fewest_of_least(uint32_t *out, struct choice *choice, ppsched_error *error)
{
    const struct ppi_prompts *prompts = &choice->scaled;
    const double least = ppi_shortest_longest(choice->ends, prompts, prompts->blocks, &choice->trial.visits);
    uint32_t low = prompts->count, high = prompts->blocks;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const double visits = choice->trial.visits;
        if (ppi_shortest_longest(choice->ends, prompts, middle, &choice->trial.visits) <= least)
            high = middle;
        else
            low = middle + 1;
        ppsched_status status = ppi_poll_spend(&choice->trial.poll, choice->trial.visits - visits, error);
        if (status != PPSCHED_OK)
            return status;
    }
    *out = low;
    return PPSCHED_OK;
}

/* The number of chunks that is best by the formula. `*is_sure`: all numbers were ruled out or looked at. */
static ppsched_status best_count(uint32_t *out, bool *is_sure, struct choice *choice, ppsched_error *error)
{
    const uint32_t prompts = choice->scaled.count, blocks = choice->scaled.blocks, guess = guess_count(choice);
    double least = formula(choice, guess, choice->ends);
    *out = guess;
    *is_sure = true;
    if (choice->chunks > 0)
        return PPSCHED_OK;
    if (choice->scaled.constant == 0)
        return guess > prompts ? fewest_of_least(out, choice, error) : PPSCHED_OK;
    for (int32_t side = -1; side <= 1; side += 2) {
        for (uint32_t count = guess;;) {
            if (side < 0 ? count == prompts : count == blocks)
                break;
            count = side < 0 ? count - 1 : count + 1;
            if (bound_of(choice, count) >= least)
                break;
            if (choice->trial.visits > LOOKS) {
                *is_sure = false;
                break;
            }
            const double visits = choice->trial.visits, time = formula(choice, count, choice->ends);
            if (time < least) {
                least = time;
                *out = count;
            }
            ppsched_status status = ppi_poll_spend(&choice->trial.poll, choice->trial.visits - visits, error);
            if (status != PPSCHED_OK)
                return status;
        }
    }
    return PPSCHED_OK;
}

/* --- all chunks --- */

/* The next larger number with as many bits. */
static uint32_t next_with_as_many_bits(uint32_t bits)
{
    const uint32_t low = bits & (~bits + 1), up = bits + low;
    return up | (((bits ^ up) / low) >> 2);
}

static ppsched_status try_all(struct choice *choice, ppsched_error *error)
{
    const uint32_t blocks = choice->scaled.blocks, inner = blocks - 1;
    uint32_t between = 0; /* cuts between prompts */
    double makespan;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 1; i < choice->scaled.count; i++)
        between |= 1u << (choice->scaled.begin[i] - 1);
    for (uint32_t count = choice->scaled.count; count <= blocks; count++) {
        uint32_t cuts = (1u << (count - 1)) - 1; /* bit i: a chunk ends after block i + 1 */
        if (choice->chunks > 0 && count != choice->chunks)
            continue;
        for (; status == PPSCHED_OK && cuts < (1u << inner); cuts = next_with_as_many_bits(cuts)) {
            uint32_t made = 0;
            for (uint32_t i = 0; i < inner; i++)
                if ((cuts >> i & 1) != 0)
                    choice->ends[made++] = i + 1;
            choice->ends[made++] = blocks;
            if ((cuts & between) == between)
                status = try(choice, made, &makespan, error);
            if (cuts == 0)
                break;
        }
    }
    return status;
}

/* --- starts and moves --- */

static ppsched_status try_starts(struct choice *choice, uint32_t count, ppsched_error *error)
{
    double makespan;
    ppi_shortest_longest(choice->ends, &choice->scaled, count, &choice->trial.visits);
    ppsched_status status = try(choice, count, &makespan, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_equal_chunks(choice->ends, &choice->scaled, count);
    return try(choice, count, &makespan, error);
}

/* Numbers of chunks from a quarter to four times the guess, and then those beside the best. */
static ppsched_status try_counts(struct choice *choice, uint32_t guess, ppsched_error *error)
{
    static const double factors[] = {1, 0.71, 1.41, 0.5, 2, 0.35, 2.83, 0.25, 4};
    ppsched_status status = PPSCHED_OK;
    if (choice->chunks > 0)
        return try_starts(choice, choice->chunks, error);
    const size_t tried = choice->trial.strategy->plan != NULL ? 3 : sizeof factors / sizeof *factors; /* a search takes long */
    for (size_t i = 0; i < tried && status == PPSCHED_OK; i++) {
        const double count = ppi_smaller(ppi_larger(choice->scaled.count, guess * factors[i] + 0.5), choice->scaled.blocks);
        status = try_starts(choice, (uint32_t)count, error);
    }
    const uint32_t best = choice->best_count, least = choice->scaled.count;
    if (choice->trial.strategy->plan != NULL)
        return status;
    for (uint32_t count = best > least + 2 ? best - 2 : least; count <= best + 2 && status == PPSCHED_OK; count++)
        status = count != best && count <= choice->scaled.blocks ? try_starts(choice, count, error) : PPSCHED_OK;
    return status;
}

static bool may_go_on(const struct choice *choice, double begin)
{
    return choice->trial.visits - begin < choice->trial.most_visits;
}

/* Moves the end of one chunk of the best by some blocks, if that leaves its neighbours of the prompt a block. */
static ppsched_status move_end(struct choice *choice, uint32_t i, int64_t blocks, bool *is_better, ppsched_error *error)
{
    const uint32_t count = choice->best_count, before = i > 0 ? choice->best[i - 1] : 0;
    const int64_t end = (int64_t)choice->best[i] + blocks;
    const double best = choice->best_makespan;
    double makespan;
    const bool ends_prompt = choice->best[i] == ppi_end_of_prompt(&choice->scaled, choice->best[i] - 1);
    if (end <= before || end >= choice->best[i + 1] || ends_prompt)
        return PPSCHED_OK;
    memcpy(choice->ends, choice->best, count * sizeof *choice->ends);
    choice->ends[i] = (uint32_t)end;
    ppsched_status status = try(choice, count, &makespan, error);
    *is_better = *is_better || choice->best_makespan < best;
    return status;
}

static ppsched_status improve(struct choice *choice, ppsched_error *error)
{
    const double begin = choice->trial.visits;
    uint32_t step = choice->scaled.blocks / choice->best_count;
    ppsched_status status = PPSCHED_OK;
    while (status == PPSCHED_OK && step > 0 && may_go_on(choice, begin)) {
        bool is_better = false;
        for (uint32_t i = 0; i + 1 < choice->best_count && status == PPSCHED_OK && may_go_on(choice, begin); i++) {
            status = move_end(choice, i, step, &is_better, error);
            if (status == PPSCHED_OK)
                status = move_end(choice, i, -(int64_t)step, &is_better, error);
        }
        step = is_better ? step : step / 2;
    }
    return status;
}

/* --- all of it --- */

/* The chunks that are best by the formula, if the schedule takes what the formula says. */
static ppsched_status try_formula(struct choice *choice, uint32_t count, ppsched_error *error)
{
    double makespan,
        wanted = choice->further * ppi_shortest_longest(choice->ends, &choice->scaled, count, &choice->trial.visits);
    for (uint32_t i = 0; i < count; i++)
        wanted += ppi_chunk_time(&choice->scaled, i > 0 ? choice->ends[i - 1] : 0, choice->ends[i]);
    ppsched_status status = try(choice, count, &makespan, error);
    choice->is_even = choice->is_even && is_close(makespan, wanted + choice->delays);
    return status;
}

static ppsched_status search(struct choice *choice, bool *is_best, ppsched_error *error)
{
    uint32_t guess;
    bool is_sure;
    ppsched_status status = measure(choice, error);
    if (status == PPSCHED_OK)
        status = best_count(&guess, &is_sure, choice, error);
    if (status == PPSCHED_OK)
        status = try_formula(choice, guess, error);
    *is_best = status == PPSCHED_OK && choice->is_even && is_sure;
    if (status != PPSCHED_OK || choice->is_even)
        return status;
    if (choice->trial.strategy->plan == NULL && choice->scaled.blocks <= MOST_TRIED) {
        *is_best = true;
        return try_all(choice, error);
    }
    status = try_counts(choice, guess, error);
    return status == PPSCHED_OK && choice->best_count > 0 ? improve(choice, error) : status;
}

/* The figures; REFUSED if no number of chunks is possible. */
static ppsched_status finish(struct ppi_chosen_chunks *out, struct choice *choice, bool is_best, ppsched_error *error)
{
    if (choice->best_count == 0)
        return ppi_trial_refuse(&choice->trial, choice->chunks > 0 ? choice->chunks : choice->scaled.count, error);
    out->figures = (ppsched_prefill_figures){.is_best = is_best, .makespan = choice->best_makespan};
    out->ends = choice->best;
    out->count = choice->best_count;
    ppi_equal_chunks(choice->ends, choice->trial.prompts, choice->best_count);
    return ppi_trial_time(&out->figures.equal_makespan, &choice->trial, choice->ends, choice->best_count, error);
}

ppsched_status ppi_choose_chunks(struct ppi_chosen_chunks *out, const ppsched_config *config,
                                 const struct ppi_strategy *strategy, const struct ppi_prompts *prompts, uint32_t chunks,
                                 struct ppi_arena *arena, ppsched_error *error)
{
    struct choice choice = {.trial = {.config = config,
                                      .strategy = strategy,
                                      .prompts = prompts,
                                      .poll = ppi_poll_start(config),
                                      .most_visits = strategy->plan == NULL ? VISITS : 0},
                            .chunks = chunks,
                            .best_makespan = PPI_INFINITE};
    bool is_best = false;
    choice.ends = ppi_arena_take(arena, prompts->blocks, sizeof *choice.ends);
    choice.best = ppi_arena_take(arena, prompts->blocks, sizeof *choice.best);
    choice.trial.times = ppi_arena_take(arena, prompts->blocks, sizeof *choice.trial.times);
    choice.trial.shares = ppi_arena_take(arena, prompts->blocks, sizeof *choice.trial.shares);
    if (prompts->count > 1)
        choice.trial.requests = ppi_arena_take(arena, prompts->blocks, sizeof *choice.trial.requests);
    ppsched_status status = ppi_arena_check(arena, "the chunks", error);
    if (status == PPSCHED_OK)
        status = search(&choice, &is_best, error);
    if (status == PPSCHED_OK)
        status = finish(out, &choice, is_best, error);
    ppi_trial_clear(&choice.trial);
    return status;
}
