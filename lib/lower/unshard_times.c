/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses when to gather parameters. PyTorch's two rules, and each UNSHARD right before its use, are evaluated with the
 * config's times. Then in the timeline of each, every UNSHARD is delayed as long as it still ends before its use and lets those
 * after it do so, which only changes how long parameters are held. The best of the six is taken: the one within the memory
 * limits, then the fastest, then the one that holds parameters for the shortest time. */
#include "lower/unshard_times.h"

#include "base/checked.h"
#include "base/error.h"
#include "channel/evaluate_transfers.h"
#include "lower/lower.h"

/* The value of a choice, compared field by field; less is better. */
struct worth {
    double overshoot; /* sum of the devices' overshoot over their limits */
    double time;      /* makespan */
    double held;      /* sum of the times from each UNSHARD's start to its first use */
};

/* A choice, lowered and evaluated. */
struct trial {
    ppsched_schedule *lowered;
    ppsched_timeline *timeline;
};

struct choosing {
    const ppsched_schedule *schedule;
    const ppsched_config *config;
    const ppsched_lower_options *options;
    struct ppi_unshard_times *unshards;
    size_t *best; /* by gather: `at` in the best choice */
    struct worth worth;
    double *begin, *end; /* by compute op, in the current trial */
};

void ppi_unshard_times_clear(struct ppi_unshard_times *unshards)
{
    if (unshards->list != NULL)
        ppi_release(&unshards->host, unshards->list);
    unshards->list = NULL;
}

/* --- the choices --- */

static size_t count_unshards(const ppsched_schedule *lowered)
{
    size_t count = 0;
    for (uint64_t i = 0; i < lowered->op_count; i++)
        count += lowered->ops[i].kind == PPSCHED_KIND_UNSHARD;
    return count;
}

/* The first op of the unit that an op is in. */
static size_t unit_of(const ppsched_queue *queue, size_t op)
{
    return op > 0 && op < queue->count && ppi_unit_length(&queue->ops[op - 1]) == 2 ? op - 1 : op;
}

/* Reads the positions of a device's gathers into `gather`; returns their number. `waiting`: by stage, 1 plus the index of its
 * gather if that is not yet used; else 0. */
static size_t read_device(struct ppi_gather *gather, const ppsched_queue *queue, const ppsched_queue *lowered, size_t *waiting)
{
    size_t count = 0, position = 0;
    for (size_t i = 0; i < lowered->count; i++) {
        const ppsched_op *op = &lowered->ops[i];
        if (op->kind == PPSCHED_KIND_UNSHARD) {
            gather[count] = (struct ppi_gather){
                .device = lowered->device, .stage = op->stage, .first = position, .at = position};
            waiting[op->stage] = ++count;
        } else if (ppi_is_compute(op->kind)) {
            if (waiting[op->stage] > 0)
                gather[waiting[op->stage] - 1].use = unit_of(queue, position);
            waiting[op->stage] = 0;
            position++;
        }
    }
    return count;
}

/* Reads the gathers of one of PyTorch's rules. */
static ppsched_status read_rule(struct ppi_unshard_times *out, const struct choosing *choosing, int32_t rule,
                                ppsched_error *error)
{
    const ppsched_schedule *schedule = choosing->schedule;
    ppsched_lower_options options = *choosing->options;
    ppsched_schedule *lowered = NULL;
    options.lowering = PPSCHED_LOWERING_NONE;
    options.reduce_grad = options.defer_receives = options.receive_prefetch = 0;
    options.unshard_lookahead = rule;
    ppsched_status status = ppi_lower_at(&lowered, schedule, choosing->config, &options, NULL, error);
    if (status != PPSCHED_OK)
        return status;
    size_t *waiting = ppi_allocate_zeroed(&schedule->host, schedule->shape.stages, sizeof *waiting);
    *out = (struct ppi_unshard_times){.host = schedule->host};
    out->list = ppi_allocate(&schedule->host, count_unshards(lowered), sizeof *out->list);
    if (waiting == NULL || out->list == NULL)
        status = ppi_fail_memory(error, "the lowering");
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        out->count += read_device(&out->list[out->count], &schedule->queues[d], &lowered->queues[d], waiting);
    ppi_release(&schedule->host, waiting);
    ppi_schedule_release(lowered);
    return status;
}

/* --- the value of a choice --- */

static void trial_clear(struct trial *trial)
{
    ppi_timeline_destroy(trial->timeline);
    if (trial->lowered != NULL)
        ppi_schedule_release(trial->lowered);
    *trial = (struct trial){0};
}

/* Lowers and evaluates a choice, with sends and receives that hold nothing up. */
static ppsched_status evaluate(struct trial *out, const struct choosing *choosing, ppsched_error *error)
{
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_NONE};
    ppsched_lower_options options = *choosing->options;
    options.lowering = PPSCHED_LOWERING_JUST_IN_TIME;
    options.defer_receives = options.receive_prefetch = 0;
    ppsched_status status = ppi_lower_at(&out->lowered, choosing->schedule, choosing->config, &options, choosing->unshards,
                                         error);
    if (status == PPSCHED_OK)
        status = ppi_evaluate_transfers(&out->timeline, out->lowered, choosing->config, &model, error);
    return status;
}

/* Fills in when the compute ops run. */
static void read_times(struct choosing *choosing, const struct trial *trial)
{
    for (uint32_t d = 0; d < choosing->schedule->shape.devices; d++) {
        const ppsched_queue *queue = &trial->lowered->queues[d];
        size_t op = choosing->schedule->queues[d].first;
        for (size_t i = 0; i < queue->count; i++)
            if (ppi_is_compute(queue->ops[i].kind)) {
                choosing->begin[op] = trial->timeline->spans[queue->first + i].start;
                choosing->end[op++] = trial->timeline->spans[queue->first + i].end;
            }
    }
}

static double first_use(const struct choosing *choosing, const struct ppi_gather *gather)
{
    return choosing->begin[choosing->schedule->queues[gather->device].first + gather->use];
}

static struct worth worth_of(const struct choosing *choosing, const struct trial *trial)
{
    struct worth worth = {.time = trial->timeline->metrics.makespan};
    const struct ppi_gather *gather = choosing->unshards->list;
    for (uint32_t d = 0; d < choosing->schedule->shape.devices; d++) {
        const ppsched_device_metrics *device = &trial->timeline->devices[d];
        worth.overshoot += ppi_larger(0, device->peak_memory - device->memory_limit);
    }
    for (uint64_t i = 0; i < trial->lowered->op_count; i++)
        if (trial->lowered->ops[i].kind == PPSCHED_KIND_UNSHARD)
            worth.held += first_use(choosing, gather++) - trial->timeline->spans[i].start;
    return worth;
}

static bool is_better(const struct worth *a, const struct worth *b)
{
    const double rounding = 1e-12;
    if (a->overshoot != b->overshoot)
        return a->overshoot < b->overshoot;
    if (a->time < b->time * (1 - rounding) || a->time > b->time * (1 + rounding))
        return a->time < b->time;
    return a->held < b->held;
}

/* Evaluates the current choice, and keeps it if it is the best so far. */
static ppsched_status consider(struct choosing *choosing, struct trial *trial, ppsched_error *error)
{
    ppsched_status status = evaluate(trial, choosing, error);
    if (status != PPSCHED_OK)
        return status;
    read_times(choosing, trial);
    struct worth worth = worth_of(choosing, trial);
    if (!is_better(&worth, &choosing->worth))
        return PPSCHED_OK;
    choosing->worth = worth;
    for (size_t i = 0; i < choosing->unshards->count; i++)
        choosing->best[i] = choosing->unshards->list[i].at;
    return PPSCHED_OK;
}

/* --- delaying --- */

/* The last position, from `gather->at` to `last`, that the device reaches by a time; `gather->at` if it reaches no later
 * one. */
static size_t last_by(const struct choosing *choosing, const struct ppi_gather *gather, size_t last, double time)
{
    const ppsched_queue *queue = &choosing->schedule->queues[gather->device];
    size_t low = gather->at, high = last;
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        if (choosing->end[queue->first + middle - 1] <= time)
            low = middle;
        else
            high = middle - 1;
    }
    return unit_of(queue, low) > gather->at ? unit_of(queue, low) : gather->at;
}

/* Delays a device's UNSHARDs as long as all work of its sharding channel still ends in time. `end`: index after its last
 * gather; returns that of its first. */
static size_t delay_device(struct choosing *choosing, const struct trial *trial, uint32_t device, size_t end)
{
    const ppsched_queue *queue = &trial->lowered->queues[device];
    const ppsched_span *spans = &trial->timeline->spans[queue->first];
    size_t position = choosing->schedule->queues[device].count, last = position;
    double next = PPI_INFINITE; /* when the channel must be free */
    for (size_t i = queue->count; i-- > 0;) {
        if (ppi_is_compute(queue->ops[i].kind))
            position--;
        if (queue->ops[i].kind == PPSCHED_KIND_REDUCE_GRAD && spans[i].end > spans[i].start) {
            next = spans[i].start;
            last = position > 0 && last > position - 1
                       ? position - 1
                       : last; /* an UNSHARD must be before the op that the REDUCE_GRAD follows */
        }
        if (queue->ops[i].kind != PPSCHED_KIND_UNSHARD)
            continue;
        struct ppi_gather *gather = &choosing->unshards->list[--end];
        double by = ppi_smaller(next, first_use(choosing, gather)), latest = by - (spans[i].end - spans[i].start) - 1e-12 * by;
        last = gather->use < last ? gather->use : last;
        last = last < gather->at ? gather->at : last;
        gather->at = last = last_by(choosing, gather, last, latest);
        next = ppi_larger(latest, spans[i].start);
    }
    return end;
}

static void delay(struct choosing *choosing, const struct trial *trial)
{
    size_t end = choosing->unshards->count;
    for (uint32_t d = choosing->schedule->shape.devices; d-- > 0;)
        end = delay_device(choosing, trial, d, end);
}

/* --- the choice --- */

/* Evaluates the current choice, and the one delayed in its timeline. */
static ppsched_status consider_both(struct choosing *choosing, ppsched_error *error)
{
    struct trial trial = {0}, later = {0};
    ppsched_status status = consider(choosing, &trial, error);
    if (status == PPSCHED_OK) {
        delay(choosing, &trial);
        status = consider(choosing, &later, error);
    }
    trial_clear(&later);
    trial_clear(&trial);
    return status;
}

/* Evaluates the best choice with each stage gathered right before its use on devices over their limit. */
static ppsched_status spare_the_full(struct choosing *choosing, ppsched_error *error)
{
    struct ppi_gather *list = choosing->unshards->list;
    struct trial trial = {0}, spared = {0};
    for (size_t i = 0; i < choosing->unshards->count; i++)
        list[i].at = choosing->best[i];
    ppsched_status status = evaluate(&trial, choosing, error);
    for (size_t i = 0; i < choosing->unshards->count && status == PPSCHED_OK; i++) {
        const ppsched_device_metrics *device = &trial.timeline->devices[list[i].device];
        if (device->peak_memory > device->memory_limit)
            list[i].at = list[i].use;
    }
    if (status == PPSCHED_OK)
        status = consider(choosing, &spared, error);
    trial_clear(&spared);
    trial_clear(&trial);
    return status;
}

static ppsched_status choose(struct choosing *choosing, ppsched_error *error)
{
    struct ppi_gather *list = choosing->unshards->list;
    struct ppi_unshard_times other = {0};
    ppsched_status status = consider_both(choosing, error); /* as early as allowed */
    if (status == PPSCHED_OK)
        status = read_rule(&other, choosing, PPSCHED_UNSHARD_LOOKAHEAD_AUTO, error);
    for (size_t i = 0; i < choosing->unshards->count && status == PPSCHED_OK; i++)
        list[i].at = other.list[i].at;
    ppi_unshard_times_clear(&other);
    if (status == PPSCHED_OK)
        status = consider_both(choosing, error);
    for (size_t i = 0; i < choosing->unshards->count && status == PPSCHED_OK; i++)
        list[i].at = list[i].use;
    if (status == PPSCHED_OK)
        status = consider_both(choosing, error);
    if (status == PPSCHED_OK && choosing->worth.overshoot > 0)
        status = spare_the_full(choosing, error);
    for (size_t i = 0; i < choosing->unshards->count && status == PPSCHED_OK; i++)
        list[i].at = choosing->best[i];
    return status;
}

ppsched_status ppi_choose_unshard_times(struct ppi_unshard_times *out, const ppsched_schedule *schedule,
                                        const ppsched_config *config, const ppsched_lower_options *options,
                                        ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct choosing choosing = {.schedule = schedule, .config = config, .options = options, .unshards = out};
    *out = (struct ppi_unshard_times){.host = *host};
    ppsched_status status = read_rule(out, &choosing, PPSCHED_UNSHARD_LOOKAHEAD_FULL, error);
    choosing.worth = (struct worth){PPI_INFINITE, PPI_INFINITE, PPI_INFINITE};
    choosing.best = ppi_allocate(host, out->count, sizeof *choosing.best);
    choosing.begin = ppi_allocate(host, (size_t)schedule->op_count, sizeof *choosing.begin);
    choosing.end = ppi_allocate(host, (size_t)schedule->op_count, sizeof *choosing.end);
    if (status == PPSCHED_OK && (choosing.best == NULL || choosing.begin == NULL || choosing.end == NULL))
        status = ppi_fail_memory(error, "the lowering");
    if (status == PPSCHED_OK)
        status = choose(&choosing, error);
    ppi_release(host, choosing.end);
    ppi_release(host, choosing.begin);
    ppi_release(host, choosing.best);
    return status;
}
