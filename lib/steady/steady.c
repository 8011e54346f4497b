/* SPDX-License-Identifier: Apache-2.0 */
/* Times few microbatches, checks that the state comes back, and multiplies.
 *
 * A start is the latest of what its op waits for. So if in `depth` blocks in a row every op starts one period after the same op
 * of the period before, all later blocks do, by induction: their ops wait for nothing earlier. The ops after the last block
 * wait for nothing earlier either, and start so many periods later as there are more. Times are multiples of one power of two,
 * so their sums are exact. */
#include "steady/steady.h"

#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/idle.h"
#include "ir/other_memory.h"
#include "steady/ends.h"
#include "steady/order.h"
#include "steady/times.h"

enum { LEAST_BLOCKS = 4, WARMUPS = 3 };

/* Fewer microbatches of a problem. */
struct few {
    const struct ppi_strategy *strategy;
    const ppsched_config *config; /* the whole problem */
    const struct ppi_steady_options *options;
    struct ppi_task task;   /* of the whole problem: one iteration, or all where they do not flush */
    struct ppi_task fewer;  /* of fewer microbatches */
    ppsched_config problem; /* with fewer microbatches and the caller's lists */
    uint32_t block, count;  /* microbatches */
    struct ppi_exactness exactness;
};

/* What has been found about the times of a schedule. */
struct found {
    int64_t blocks; /* in a period; 0: the state has not come back */
    double time;
    uint32_t transient; /* microbatches before the first period */
};

/* --- the period --- */

/* Whether all ops of a block start one period after those of `blocks` blocks before. */
static bool comes_back(const ppsched_timeline *timeline, const struct ppi_steady_order *order, int64_t block, int64_t blocks,
                       double period)
{
    for (uint32_t d = 0; d < order->schedule->shape.devices; d++) {
        const struct ppi_blocks *own = &order->devices[d];
        const int64_t from = ppi_block_start(own, block);
        for (int64_t i = from; i < from + own->length; i++)
            if (ppi_steady_time(order, timeline, d, i) !=
                ppi_steady_time(order, timeline, d, i - blocks * own->length) + period)
                return false;
    }
    return true;
}

/* Microbatches that a device has run before a block. */
static uint32_t before_block(const struct ppi_steady_order *order, int64_t block)
{
    const struct ppi_blocks *own = &order->devices[0];
    const int64_t position = ppi_block_start(own, block);
    return position > 0 ? (uint32_t)((uint64_t)position * order->block / (uint64_t)own->length) : 0;
}

/* The shortest period, and the first block from which on times have it. */
static struct found find_period(const ppsched_timeline *timeline, const struct ppi_steady_order *order)
{
    const int64_t last = order->end - 1, most = order->end - order->depth - order->first;
    const int64_t at = ppi_block_start(&order->devices[0], last), length = order->devices[0].length;
    for (int64_t blocks = 1; blocks <= most; blocks++) {
        const double period = ppi_steady_time(order, timeline, 0, at) -
                              ppi_steady_time(order, timeline, 0, at - blocks * length);
        int64_t block = last;
        while (block >= order->first + blocks && comes_back(timeline, order, block, blocks, period))
            block--;
        if (last - block >= order->depth)
            return (struct found){blocks, period, before_block(order, block + 1 - blocks)};
    }
    return (struct found){0, 0, 0};
}

/* --- the figures of all microbatches --- */

/* Time in which a device computes in a part of its queue. */
static double busy_in(const ppsched_timeline *timeline, const struct ppi_steady_order *order, uint32_t device,
                      const struct ppi_repeated_part *part)
{
    const struct ppi_blocks *queue = &order->devices[device];
    double busy = 0;
    for (size_t i = part->from; i < part->to && order->is_packed; i++) {
        const struct ppi_steady_op op = ppi_steady_op_at(order, device, i);
        busy += order->ends[ppi_end_index(order, op)] - ppi_start_by_end(order, &timeline->costs, op);
    }
    for (size_t i = part->from; i < part->to && !order->is_packed;) {
        const ppsched_span *span = &timeline->spans[queue->first + i];
        busy += span->end - span->start;
        i += ppi_unit_length(&timeline->schedule->ops[queue->first + i]);
    }
    return busy;
}

/* Adds `times` periods to the figures of a device. */
static void repeat_device(ppsched_timeline *timeline, const struct ppi_steady_order *order, uint32_t device,
                          const struct ppi_repeated_part *part, double times, double period)
{
    ppsched_device_metrics *figures = &timeline->devices[device];
    figures->busy += times * busy_in(timeline, order, device, part);
    figures->last_end += times * period;
    if (figures->peak_position != PPSCHED_NONE && figures->peak_position >= part->to) {
        figures->peak_position += (uint32_t)(times * (double)(part->to - part->from));
        figures->peak_time += times * period;
    }
}

/* Repeats the figures of an iteration, each of which starts when the one before has ended on all devices. */
static void repeat_iterations(ppsched_timeline *timeline, uint32_t iterations)
{
    const double apart = timeline->metrics.makespan * (iterations - 1);
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        timeline->devices[d].busy *= iterations;
        timeline->devices[d].last_end += apart;
        if (timeline->idle == NULL)
            continue;
        timeline->idle[d].fill *= iterations;
        timeline->idle[d].drain *= iterations;
        timeline->idle[d].neighbour *= iterations;
        timeline->idle[d].transfer *= iterations;
    }
}

/* Fills `idle`, without `imbalance`, for few microbatches and `times` periods more. */
static ppsched_status find_idle(ppsched_timeline *timeline, const struct ppi_steady_order *order,
                                const struct ppi_repeated_part *parts, double times, ppsched_error *error)
{
    struct ppi_event_loop loop;
    if (order->is_packed) {
        ppi_find_idle_by_ends(order, timeline, parts, times);
        return PPSCHED_OK;
    }
    ppsched_status status = ppi_event_loop_make(&loop, timeline->schedule, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_find_idle_of_repeats(&loop, timeline, parts, times);
    ppi_event_loop_clear(&loop);
    return PPSCHED_OK;
}

/* Makes the figures of a timeline those of all microbatches and iterations. */
static ppsched_status repeat(ppsched_timeline *timeline, const struct few *few, const struct ppi_steady_order *order,
                             const struct found *found, ppsched_error *error)
{
    const uint32_t devices = timeline->schedule->shape.devices;
    const double times = (few->task.run - few->count) / few->block / (double)found->blocks;
    ppsched_status status = PPSCHED_OK;
    struct ppi_repeated_part *parts = ppi_allocate(&timeline->host, devices, sizeof *parts);
    if (parts == NULL)
        return ppi_fail_memory(error, "the steady state");
    for (uint32_t d = 0; d < devices; d++) {
        const int64_t end = ppi_block_start(&order->devices[d], order->end);
        parts[d] = (struct ppi_repeated_part){(size_t)(end - found->blocks * order->devices[d].length), (size_t)end};
    }
    if (timeline->idle != NULL)
        status = find_idle(timeline, order, parts, times, error);
    for (uint32_t d = 0; d < devices && status == PPSCHED_OK; d++)
        repeat_device(timeline, order, d, &parts[d], times, found->time);
    ppi_release(&timeline->host, parts);
    if (status != PPSCHED_OK)
        return status;
    ppi_sum_up(timeline);
    if (few->strategy->flushes && few->config->shape.iterations > 1) {
        repeat_iterations(timeline, few->config->shape.iterations);
        ppi_sum_up(timeline);
    }
    if (timeline->idle != NULL)
        ppi_find_imbalance(timeline);
    if (!ppi_is_finite(devices * timeline->metrics.makespan))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return PPSCHED_OK;
}

/* --- few microbatches --- */

/* Sets the number of microbatches, and the step to which times are rounded. */
static void take_few(struct few *few, uint32_t count)
{
    few->count = count;
    few->problem.shape.microbatches = count;
    few->problem.shape.iterations = 1;
    ppi_exactness_round(&few->exactness, &few->problem, count);
}

/* Generates and evaluates few microbatches. `*found`: `blocks` is 0 if the state does not come back in them. */
static ppsched_status time_few(ppsched_timeline **out, struct ppi_steady_order *order, struct found *found, struct few *few,
                               struct ppi_arena *arena, ppsched_error *error)
{
    ppsched_schedule *schedule = NULL;
    bool repeats = false;
    if (ppi_task_make(&few->fewer, few->strategy, &few->problem, NULL) != PPSCHED_OK)
        return PPSCHED_OK; /* what so few microbatches break need not be wrong with all */
    const bool by_ends = ppi_may_time_ends(few->strategy, &few->problem);
    ppsched_status status = by_ends ? ppi_generate_none(&schedule, &few->fewer, &few->problem, error)
                                    : ppi_generate(&schedule, few->strategy, &few->problem, error);
    if (status != PPSCHED_OK)
        return status;
    *order = (struct ppi_steady_order){.schedule = schedule,
                                       .task = &few->fewer,
                                       .block = few->block,
                                       .senders_wait = few->config->senders_wait,
                                       .is_packed = by_ends};
    status = ppi_steady_order_find(order, &repeats, arena, error);
    if (status == PPSCHED_OK && repeats)
        status = by_ends ? ppi_time_ends(out, order, &few->problem, few->options->wants_idle, arena, error)
                         : ppi_evaluate_plain(out, schedule, &few->problem, few->options->wants_idle, error);
    ppi_schedule_release(schedule);
    if (status != PPSCHED_OK || *out == NULL || !ppi_exactness_holds(&few->exactness, &few->problem, *out))
        return status;
    status = ppi_steady_order_number(order, &repeats, *out, error);
    if (status == PPSCHED_OK && repeats)
        *found = find_period(*out, order);
    return status;
}

/* Tries one number of microbatches, and, if the state comes back, that number and as many blocks as are missing to whole
 * periods. `*out` is complete where `found` has a period. */
static ppsched_status try_count(ppsched_timeline **out, struct found *found, struct few *few, uint32_t count,
                                ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (int tries = 0; tries < 2 && status == PPSCHED_OK; tries++) {
        struct ppi_arena arena = {.host = &few->problem.host};
        struct ppi_steady_order order;
        ppsched_timeline *timeline = NULL;
        *found = (struct found){0, 0, 0};
        take_few(few, count);
        if (few->exactness.rounding > PPI_MOST_ROUNDING)
            break;
        status = time_few(&timeline, &order, found, few, &arena, error);
        const int64_t missing = found->blocks > 0 ? (few->task.run - count) / few->block % found->blocks : 0;
        if (status == PPSCHED_OK && found->blocks > 0 && missing == 0)
            status = repeat(timeline, few, &order, found, error);
        ppi_arena_clear(&arena);
        if (status == PPSCHED_OK && found->blocks > 0 && missing == 0) {
            *out = timeline;
            return PPSCHED_OK;
        }
        ppi_timeline_destroy(timeline);
        if (found->blocks == 0)
            break;
        count += (uint32_t)missing * few->block;
    }
    found->blocks = 0;
    return status;
}

/* --- all --- */

/* Microbatches of a block. */
static uint32_t block_of(const struct ppi_task *task)
{
    const struct ppi_strategy *strategy = task->strategy;
    const struct ppi_option_row *group = ppi_option_for(strategy, PPI_ROLE_GROUP_SIZE);
    if (!strategy->repeats_groups || group == NULL || task->chunks == 1)
        return strategy->repeats;
    const int64_t size = task->option[group - strategy->options];
    return strategy->bounds_groups && size > task->shape.devices ? task->shape.devices : (uint32_t)size;
}

/* Why a schedule is timed op by op from the start; FOUND if it may not be. */
static int32_t reason_of(const struct few *few)
{
    const ppsched_config *config = few->config;
    if (few->strategy->order == NULL || few->strategy->repeats == 0 || few->strategy->finish != NULL ||
        few->strategy->make != NULL || config->is_forward_only || config->graph != NULL)
        return PPSCHED_STEADY_REASON_ORDER;
    if (ppi_has_factors(config))
        return PPSCHED_STEADY_REASON_COSTS;
    if (few->options->wants_idle && ppi_has_speeds(config) &&
        few->strategy->take_costs != NULL) /* other speeds: another order */
        return PPSCHED_STEADY_REASON_COSTS;
    if (config->shape.iterations > 1 && ppi_holds_more(config)) /* gradients of an iteration are there in the next */
        return PPSCHED_STEADY_REASON_COSTS;
    return PPSCHED_STEADY_REASON_FOUND;
}

static void note_period(struct ppsched_steady *out, const struct few *few, const struct found *found)
{
    const double microbatches = (double)found->blocks * few->block;
    out->period.blocks = (uint32_t)found->blocks;
    out->period.transient = found->transient;
    out->period.timed = few->count;
    out->period.time = found->time;
    out->period.cycle_time = found->time / microbatches;
    out->period.rounding = few->exactness.is_exact ? 0 : ppi_larger(few->exactness.rounding, 0x1p-53); /* of sums op by op */
}

/* Tries more and more microbatches. */
static ppsched_status find(struct ppsched_steady *out, struct few *few, ppsched_error *error)
{
    const uint32_t run = few->task.run, most = run / few->options->share;
    const uint64_t warmup = WARMUPS * (uint64_t)few->task.shape.devices, least = LEAST_BLOCKS * (uint64_t)few->block;
    ppsched_status status = PPSCHED_OK;
    struct found found = {0, 0, 0};
    out->period.reason = PPSCHED_STEADY_REASON_SHORT;
    for (uint64_t wanted = warmup > least ? warmup : least; wanted <= most && status == PPSCHED_OK; wanted *= 2) {
        const uint32_t count = run - (uint32_t)((run - wanted) / few->block) * few->block;
        if (count > most)
            break;
        out->period.reason = PPSCHED_STEADY_REASON_TRANSIENT;
        status = try_count(&out->timeline, &found, few, count, error);
        if (found.blocks > 0 || status != PPSCHED_OK)
            break;
        if (few->exactness.rounding > PPI_MOST_ROUNDING) {
            out->period.reason = PPSCHED_STEADY_REASON_ROUNDING;
            break;
        }
    }
    if (status != PPSCHED_OK || found.blocks == 0)
        return status;
    out->period.reason = PPSCHED_STEADY_REASON_FOUND;
    note_period(out, few, &found);
    return PPSCHED_OK;
}

/* Times all ops. */
static ppsched_status time_all(struct ppsched_steady *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                               const struct ppi_steady_options *options, ppsched_error *error)
{
    ppsched_schedule *schedule = NULL;
    ppsched_status status = ppi_generate(&schedule, strategy, config, error);
    if (status != PPSCHED_OK)
        return status;
    status = ppi_evaluate_plain(&out->timeline, schedule, config, options->wants_idle, error);
    out->period.timed = config->shape.microbatches;
    ppi_schedule_release(schedule);
    return status;
}

/* The idle time that slow devices cause, from the same order with devices as fast as stated. */
static ppsched_status find_slow_devices(struct ppsched_steady *out, const struct few *few, ppsched_error *error)
{
    ppsched_config stated;
    struct ppsched_steady alike;
    const struct ppi_steady_options options = {.wants_idle = true, .share = few->options->share};
    if (out->timeline == NULL || out->timeline->idle == NULL || !ppi_has_speeds(few->config))
        return PPSCHED_OK;
    ppi_as_stated(&stated, few->config);
    ppsched_status status = ppi_steady_make(&alike, few->strategy, &stated, &options, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_separate_slow_devices(out->timeline, alike.timeline->idle);
    ppi_steady_clear(&alike);
    return PPSCHED_OK;
}

ppsched_status ppi_steady_make(struct ppsched_steady *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                               const struct ppi_steady_options *options, ppsched_error *error)
{
    struct few few = {.strategy = strategy, .config = config, .options = options, .problem = *config};
    few.problem.host = ppi_host_sparing(&config->host);
    *out = (struct ppsched_steady){.period = {.size = sizeof out->period}};
    ppsched_status status = ppi_task_make(&few.task, strategy, config, error);
    out->period.reason = reason_of(&few);
    if (status == PPSCHED_OK && out->period.reason == PPSCHED_STEADY_REASON_FOUND) {
        few.block = out->period.block = block_of(&few.task);
        status = ppi_exactness_find(&few.exactness, config, &few.task, error);
        if (status == PPSCHED_OK)
            status = find(out, &few, error);
        if (status == PPSCHED_OK)
            status = find_slow_devices(out, &few, error);
        ppi_exactness_clear(&few.exactness);
    }
    if (status == PPSCHED_OK && out->timeline == NULL && !options->only_repeats)
        status = time_all(out, strategy, config, options, error);
    if (status != PPSCHED_OK)
        ppi_steady_clear(out);
    return status;
}

void ppi_steady_clear(struct ppsched_steady *steady)
{
    ppi_timeline_destroy(steady->timeline);
    steady->timeline = NULL;
}
