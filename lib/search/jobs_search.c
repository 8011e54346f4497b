/* SPDX-License-Identifier: Apache-2.0 */
/* Local search by threshold accepting (Dueck and Scheuer 1990): on a longest path an op is moved before or behind others of
 * its device, and the ops between them that must move too go with it. */
#include <string.h>

#include "base/checked.h"
#include "base/cycle_mean.h"
#include "search/jobs.h"

/* Measured: docs/performance.md. */
enum {
    KEPT = 8,     /* orders from which rounds begin */
    ROUNDS = 12,  /* of threshold accepting */
    REACH = 6,    /* most ops of its device that a random move passes */
    PATIENCE = 20 /* steps over a limit, or within all, after which its weight changes */
};

static uint32_t draw(struct ppi_jobs_search *search, uint32_t limit)
{
    search->random ^= search->random >> 12;
    search->random ^= search->random << 25;
    search->random ^= search->random >> 27;
    return (uint32_t)((search->random * 0x2545f4914f6cdd1du >> 32) * limit >> 32);
}

static void take_times(struct ppi_jobs_times **out, struct ppi_arena *arena, uint32_t count)
{
    struct ppi_jobs_times *times = ppi_arena_take_zeroed(arena, 1, sizeof *times);
    *out = times;
    if (times == NULL)
        return;
    times->start = ppi_arena_take(arena, count, sizeof *times->start);
    times->end = ppi_arena_take(arena, count, sizeof *times->end);
    times->before = ppi_arena_take(arena, count, sizeof *times->before);
}

static uint32_t most_repetitions(const struct ppi_jobs *jobs)
{
    return jobs->devices < 2 ? 2 : jobs->devices < PPI_MOST_REPETITIONS ? jobs->devices : PPI_MOST_REPETITIONS;
}

ppsched_status ppi_jobs_search_make(struct ppi_jobs_search *out, struct ppi_arena *arena, const struct ppi_jobs *jobs,
                                    struct ppi_poll *poll, ppsched_error *error)
{
    const uint32_t count = jobs->count, devices = jobs->devices;
    struct ppi_jobs_search search = {.jobs = jobs,
                                     .arena = arena,
                                     .poll = poll,
                                     .best_time = PPI_INFINITE,
                                     .random = 88172645463325252u,
                                     .sequence = ppi_arena_take(arena, count, sizeof *search.sequence),
                                     .place = ppi_arena_take(arena, count, sizeof *search.place),
                                     .best = ppi_arena_take(arena, count, sizeof *search.best),
                                     .kept = ppi_arena_take(arena, (size_t)KEPT * count, sizeof *search.kept),
                                     .mark = ppi_arena_take_zeroed(arena, count, sizeof *search.mark),
                                     .waits = ppi_arena_take(arena, 2 * (size_t)count, sizeof *search.waits),
                                     .clock = ppi_arena_take(arena, devices, sizeof *search.clock),
                                     .level = ppi_arena_take(arena, devices, sizeof *search.level),
                                     .first = ppi_arena_take(arena, devices, sizeof *search.first),
                                     .last = ppi_arena_take(arena, devices, sizeof *search.last)};
    take_times(&search.now, arena, count);
    take_times(&search.tried, arena, count);
    if (jobs->goal.by == PPI_JOBS_BY_PERIOD)
        search.ends = ppi_arena_take_zeroed(arena, (size_t)most_repetitions(jobs) + 1, devices * sizeof *search.ends);
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    if (status == PPSCHED_OK)
        *out = search;
    return status;
}

/* --- times --- */

static double objective_of(struct ppi_jobs_search *search, const struct ppi_jobs_times *times)
{
    const struct ppi_jobs *jobs = search->jobs;
    double span = 0, makespan = 0;
    if (jobs->goal.by != PPI_JOBS_BY_TIME) {
        for (uint32_t r = 0; r < jobs->request_count; r++)
            jobs->request_time[r] = times->end[jobs->request_end[r]];
        return ppi_jobs_of_requests(jobs);
    }
    for (uint32_t d = 0; d < jobs->devices; d++) {
        makespan = ppi_larger(makespan, search->clock[d]);
        if (search->last[d] != PPSCHED_NONE)
            span = ppi_larger(span, search->clock[d] - search->first[d]);
    }
    return jobs->goal.span_share == 0 ? makespan : jobs->goal.span_share * span + (1 - jobs->goal.span_share) * makespan;
}

/* Times a sequence, from the clocks on. `over`: an op that takes memory above a limit, of several a random one. */
static void time_once(struct ppi_jobs_search *search, struct ppi_jobs_times *times, const uint32_t *sequence)
{
    const struct ppi_jobs *jobs = search->jobs;
    double excess = 0;
    uint32_t overs = 0;
    for (uint32_t d = 0; d < jobs->devices; d++) {
        search->level[d] = search->first[d] = 0;
        search->last[d] = PPSCHED_NONE;
    }
    for (uint32_t t = 0; t < jobs->count; t++) {
        const uint32_t id = sequence[t];
        const struct ppi_job *job = &jobs->job[id];
        const uint32_t d = job->device;
        double start = search->clock[d], over;
        for (int i = 0; i < PPI_JOB_INPUTS && job->input[i] != PPSCHED_NONE; i++)
            start = ppi_larger(start, times->end[job->input[i]] + job->delay[i]);
        if (search->last[d] == PPSCHED_NONE)
            search->first[d] = start;
        times->start[id] = start;
        times->end[id] = search->clock[d] = start + job->length;
        times->before[id] = search->last[d];
        search->last[d] = id;
        over = search->level[d] + ppi_larger(job->rise, ppi_larger(job->memory, 0)) - jobs->limit[d];
        search->level[d] += job->memory;
        if (over > jobs->limit[d] * PPI_ROUNDING) {
            excess += over;
            if (draw(search, ++overs) == 0)
                search->over = id;
        }
    }
    times->excess = excess;
}

/* Times a sequence again and again, until the time of a repetition is known. */
static void time_repetitions(struct ppi_jobs_search *search, struct ppi_jobs_times *times, const uint32_t *sequence)
{
    const uint32_t devices = search->jobs->devices, most = most_repetitions(search->jobs);
    uint32_t count = 0;
    bool is_known = false;
    while (!is_known && count < most) {
        time_once(search, times, sequence);
        memcpy(search->ends + (size_t)++count * devices, search->clock, devices * sizeof *search->clock);
        is_known = ppi_repeats(&times->time, search->ends, devices, count, search->jobs->least);
    }
    if (!is_known)
        times->time = ppi_cycle_mean(search->ends, devices, count);
    search->timed = (double)count * search->jobs->count;
}

static void time_sequence(struct ppi_jobs_search *search, struct ppi_jobs_times *times, const uint32_t *sequence)
{
    memset(search->clock, 0, search->jobs->devices * sizeof *search->clock);
    if (search->ends != NULL) {
        time_repetitions(search, times, sequence);
        return;
    }
    time_once(search, times, sequence);
    times->time = objective_of(search, times);
    search->timed = search->jobs->count;
}

/* --- what was offered --- */

static void keep_best(struct ppi_jobs_search *search, const uint32_t *sequence, const struct ppi_jobs_times *times)
{
    if (times->excess > 0 || !(times->time < search->best_time))
        return;
    search->best_time = times->time;
    memcpy(search->best, sequence, search->jobs->count * sizeof *sequence);
}

/* The first KEPT that are offered are kept, then each that is shorter than all before. */
void ppi_jobs_offer(struct ppi_jobs_search *search, const uint32_t *sequence)
{
    const bool is_better = search->pool_count < KEPT || search->best_time == PPI_INFINITE;
    double before = search->best_time;
    time_sequence(search, search->tried, sequence);
    keep_best(search, sequence, search->tried);
    if (search->tried->excess > 0 || !(is_better || search->best_time < before))
        return;
    uint32_t at = search->pool_count < KEPT ? search->pool_count++ : draw(search, KEPT);
    memcpy(search->kept + (size_t)at * search->jobs->count, sequence, search->jobs->count * sizeof *sequence);
}

/* --- moves --- */

/* Puts the marked ops of a part of the sequence before the others, or behind them. */
static void partition(struct ppi_jobs_search *search, uint32_t from, uint32_t to, bool marked_first)
{
    uint32_t put = from, others = 0;
    for (uint32_t t = from; t <= to; t++) {
        uint32_t id = search->sequence[t];
        if ((search->mark[id] == search->epoch) == marked_first)
            search->sequence[put++] = id;
        else
            search->waits[others++] = id;
    }
    for (uint32_t i = 0; i < others; i++)
        search->sequence[put++] = search->waits[i];
    for (uint32_t t = from; t <= to; t++)
        search->place[search->sequence[t]] = t;
}

/* Moves an op, and what feeds it, before an earlier one of its device; false where that one feeds it. */
static bool move_before(struct ppi_jobs_search *search, uint32_t op, uint32_t other)
{
    const uint32_t from = search->place[other], to = search->place[op], epoch = ++search->epoch;
    search->mark[op] = epoch;
    for (uint32_t t = to; t > from; t--) {
        const uint32_t id = search->sequence[t];
        const struct ppi_job *job = &search->jobs->job[id];
        if (search->mark[id] != epoch)
            continue;
        for (int i = 0; i < PPI_JOB_INPUTS && job->input[i] != PPSCHED_NONE; i++)
            search->mark[job->input[i]] = epoch;
        if (id != op && search->now->before[id] != PPSCHED_NONE)
            search->mark[search->now->before[id]] = epoch;
    }
    if (search->mark[other] == epoch)
        return false;
    partition(search, from, to, true);
    return true;
}

/* Moves an op, and what it feeds, behind a later one of its device; false where it feeds that one. */
static bool move_behind(struct ppi_jobs_search *search, uint32_t op, uint32_t other)
{
    const uint32_t from = search->place[op], to = search->place[other], epoch = ++search->epoch;
    search->mark[op] = epoch;
    for (uint32_t t = from + 1; t <= to; t++) {
        const uint32_t id = search->sequence[t], before = search->now->before[id];
        const struct ppi_job *job = &search->jobs->job[id];
        bool follows = before != PPSCHED_NONE && before != op && search->mark[before] == epoch;
        for (int i = 0; i < PPI_JOB_INPUTS && job->input[i] != PPSCHED_NONE; i++)
            follows = follows || search->mark[job->input[i]] == epoch;
        if (follows)
            search->mark[id] = epoch;
    }
    if (search->mark[other] == epoch)
        return false;
    partition(search, from, to, false);
    return true;
}

/* The op whose end is the objective; of several a random one. */
static uint32_t last_op(struct ppi_jobs_search *search)
{
    const struct ppi_jobs *jobs = search->jobs;
    const struct ppi_jobs_times *now = search->now;
    uint32_t found = PPSCHED_NONE, equals = 0;
    double most = -1;
    if (jobs->goal.by == PPI_JOBS_BY_MEAN)
        return jobs->request_end[draw(search, jobs->request_count)];
    if (jobs->goal.by == PPI_JOBS_BY_QUANTILE) {
        for (uint32_t r = 0; r < jobs->request_count; r++)
            if (now->end[jobs->request_end[r]] == now->time && draw(search, ++equals) == 0)
                found = jobs->request_end[r];
        return found != PPSCHED_NONE ? found : jobs->request_end[draw(search, jobs->request_count)];
    }
    for (uint32_t t = jobs->count; t-- > 0;) {
        const uint32_t id = search->sequence[t];
        const double end = now->end[id];
        if (end < most)
            continue;
        equals = end > most ? 1 : equals + 1;
        most = end;
        if (equals == 1 || draw(search, equals) == 0)
            found = id;
    }
    return found;
}

/* A random place on a longest path where an op waits for the op before it on its device; PPSCHED_NONE: there is none. */
static uint32_t find_wait(struct ppi_jobs_search *search)
{
    const struct ppi_jobs_times *now = search->now;
    uint32_t id = last_op(search), found = PPSCHED_NONE, waits = 0;
    for (;;) {
        const struct ppi_job *job = &search->jobs->job[id];
        const uint32_t before = now->before[id];
        const double start = now->start[id];
        uint32_t input = PPSCHED_NONE;
        for (int i = 0; i < PPI_JOB_INPUTS && job->input[i] != PPSCHED_NONE; i++)
            if (now->end[job->input[i]] + job->delay[i] == start && (input == PPSCHED_NONE || draw(search, 2) == 0))
                input = job->input[i];
        const bool device = before != PPSCHED_NONE && now->end[before] == start;
        if (!device && input == PPSCHED_NONE)
            return found;
        if (device && before != input && draw(search, ++waits) == 0)
            found = id;
        id = device && (input == PPSCHED_NONE || draw(search, 2) == 0) ? before : input;
    }
}

/* The first of the ops that run on its device without idle time between them up to `id`, or one on the way there. */
static uint32_t back_in_block(struct ppi_jobs_search *search, uint32_t id, bool at_random)
{
    const struct ppi_jobs_times *now = search->now;
    while (now->before[id] != PPSCHED_NONE && now->end[now->before[id]] == now->start[id] &&
           !(at_random && draw(search, 3) == 0))
        id = now->before[id];
    return id;
}

static bool move_at_random(struct ppi_jobs_search *search)
{
    uint32_t op = search->sequence[draw(search, search->jobs->count)], other = op;
    for (uint32_t k = 1 + draw(search, REACH); k > 0 && search->now->before[other] != PPSCHED_NONE; k--)
        other = search->now->before[other];
    if (other == op)
        return false;
    return draw(search, 2) == 0 ? move_before(search, op, other) : move_behind(search, other, op);
}

/* Frees memory before an op that is over a limit, or moves it behind an op that frees some. */
static bool move_over(struct ppi_jobs_search *search, uint32_t over)
{
    const struct ppi_jobs *jobs = search->jobs;
    uint32_t found = PPSCHED_NONE, seen = 0;
    for (uint32_t t = search->place[over] + 1; t < jobs->count && seen < REACH; t++) {
        const struct ppi_job *job = &jobs->job[search->sequence[t]];
        if (job->device == jobs->job[over].device && job->memory < 0 && draw(search, ++seen) == 0)
            found = search->sequence[t];
    }
    if (found == PPSCHED_NONE)
        return move_at_random(search);
    return draw(search, 2) == 0 ? move_before(search, found, over) : move_behind(search, over, found);
}

static bool move(struct ppi_jobs_search *search, uint32_t over)
{
    const uint32_t way = draw(search, 10);
    uint32_t op;
    if (search->now->excess > 0 && way < 5)
        return move_over(search, over);
    if (way == 9 || (op = find_wait(search)) == PPSCHED_NONE)
        return move_at_random(search);
    const uint32_t before = search->now->before[op];
    if (way < 5)
        return move_before(search, op, before);
    return way < 7 ? move_before(search, op, back_in_block(search, before, way == 6))
                   : move_behind(search, back_in_block(search, before, way == 8), op);
}

/* --- rounds --- */

struct round {
    double weight, least_weight, threshold;
    int run;
};

static void weigh(struct round *round, bool fits)
{
    round->run = fits ? (round->run > 0 ? round->run + 1 : 1) : (round->run < 0 ? round->run - 1 : -1);
    if (round->run % PATIENCE == 0)
        round->weight = fits ? ppi_larger(round->weight / 2, round->least_weight) : round->weight * 2;
}

/* One step; returns the visits of ops. */
static double step(struct ppi_jobs_search *search, struct round *round)
{
    const struct ppi_jobs *jobs = search->jobs;
    const uint32_t over = search->over;
    uint32_t *undo = search->waits + jobs->count;
    memcpy(undo, search->sequence, jobs->count * sizeof *undo);
    if (!move(search, over))
        return 0.5 * jobs->count;
    time_sequence(search, search->tried, search->sequence);
    keep_best(search, search->sequence, search->tried);
    double was = search->now->time + (search->now->excess > 0 ? round->weight * search->now->excess : 0);
    double is = search->tried->time + (search->tried->excess > 0 ? round->weight * search->tried->excess : 0);
    if (is - was <= round->threshold * (draw(search, 1024) / 1024.0)) {
        struct ppi_jobs_times *now = search->now;
        search->now = search->tried;
        search->tried = now;
    } else {
        memcpy(search->sequence, undo, jobs->count * sizeof *undo);
        for (uint32_t t = 0; t < jobs->count; t++)
            search->place[undo[t]] = t;
        search->over = over;
    }
    weigh(round, search->now->excess <= 0);
    return jobs->count + search->timed;
}

static void begin(struct ppi_jobs_search *search, const uint32_t *sequence)
{
    memmove(search->sequence, sequence, search->jobs->count * sizeof *sequence);
    for (uint32_t t = 0; t < search->jobs->count; t++)
        search->place[sequence[t]] = t;
    time_sequence(search, search->now, search->sequence);
}

ppsched_status ppi_jobs_improve(struct ppi_jobs_search *search, double visits, ppsched_error *error)
{
    const struct ppi_jobs *jobs = search->jobs;
    ppsched_status status = PPSCHED_OK;
    double memory = 0;
    for (uint32_t i = 0; i < jobs->count; i++)
        memory += ppi_larger(jobs->job[i].memory, 0) / jobs->count;
    for (uint32_t r = 0; r < ROUNDS && search->pool_count > 0 && status == PPSCHED_OK; r++) {
        struct round round = {.least_weight = memory > 0 ? jobs->mean / memory / 1000 : jobs->mean};
        const double each = visits / ROUNDS;
        round.weight = 1000 * round.least_weight;
        begin(search, r % 2 == 0 ? search->best : search->kept + (size_t)(r / 2 % search->pool_count) * jobs->count);
        for (double done = 0, passed = 0; done < each && search->best_time > jobs->least && status == PPSCHED_OK;) {
            double left = 1 - done / each;
            round.threshold = (r % 3 == 2 ? 3 : 1) * jobs->mean * left * left;
            passed = step(search, &round);
            done += passed;
            status = ppi_poll_spend(search->poll, passed, error);
        }
    }
    return status;
}
