/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator: times, then figures of each device, then figures of the whole schedule. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "eval/event_loop.h"
#include "eval/memory.h"
#include "eval/memory_saving.h"
#include "eval/timeline.h"
#include "ir/stage_graph.h"

/* What a reusable timeline keeps, so that an update allocates nothing. `spare` never has a `reuse` of its own. */
struct ppi_reuse {
    struct ppi_event_loop loop;
    ppsched_timeline *spare; /* filled by the next evaluation, then swapped in */
};

/* A pair of F and I needs to know which windows are of I. */
static ppsched_status check_pairs(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error)
{
    if (config->windows == NULL || ppi_windows_have_weight(config->windows))
        return PPSCHED_OK;
    for (size_t i = 0; i < schedule->op_count; i++)
        if (schedule->ops[i].kind == PPSCHED_KIND_I && i > 0 && ppi_unit_length(&schedule->ops[i - 1]) == 2)
            return ppi_fail_at(
                error, PPSCHED_ERROR_MISMATCH,
                (struct ppi_place){PPSCHED_NONE, schedule->ops[i].stage, schedule->ops[i].microbatch, PPSCHED_NONE},
                "the schedule has a pair of F and I, and the windows do not say what is of I; give windows "
                "of weight apart from backward, or overlapped_times");
    return PPSCHED_OK;
}

ppsched_status ppi_check_shapes(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error)
{
    const struct ppi_shape *s = &schedule->shape, *c = &config->shape;
    if (s->devices == c->devices && s->stages == c->stages) {
        if (config->graph != NULL && !ppi_graphs_are_equal(schedule->placement.graph, config->graph))
            return ppi_fail(
                error, PPSCHED_ERROR_MISMATCH,
                "the schedule's stages feed each other, run or are placed otherwise than the config's (stage_inputs, "
                "stage_passes, stage_microbatches, placement)");
        if (config->senders_wait)
            return ppi_refuse_graph(schedule->placement.graph, "sender_waits like_kind", error);
        return check_pairs(schedule, config, error);
    }
    return ppi_fail(error, PPSCHED_ERROR_MISMATCH,
                    "the schedule has %u device%p and %u stage%p, the config %u and %u; they must be equal", s->devices,
                    s->stages, c->devices, c->stages);
}

static ppsched_status allocate(ppsched_timeline **out, const ppsched_schedule *schedule, bool wants_latest, bool wants_idle,
                               ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    size_t ops = (size_t)schedule->op_count;
    ppsched_timeline *timeline = ppi_allocate_zeroed(host, 1, sizeof *timeline);
    if (timeline == NULL)
        return ppi_fail_memory(error, "the timeline");
    timeline->host = *host;
    timeline->costs.host = *host;
    timeline->costs.instances = ppi_allocate_zeroed(host, (size_t)schedule->placement.copies * schedule->shape.stages,
                                                    sizeof *timeline->costs.instances);
    if (schedule->placement.graph != NULL)
        timeline->costs.links = ppi_allocate(host, ppi_graph_link_count(schedule->placement.graph),
                                             sizeof *timeline->costs.links);
    timeline->flush_count = schedule->flushes ? schedule->shape.iterations - 1 : 0;
    timeline->spans = ppi_allocate(host, ops, sizeof *timeline->spans);
    timeline->latest = wants_latest ? ppi_allocate(host, ops, sizeof *timeline->latest) : NULL;
    timeline->flush_times = ppi_allocate(host, timeline->flush_count, sizeof *timeline->flush_times);
    timeline->devices = ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *timeline->devices);
    timeline->fixed = ppi_allocate(host, schedule->shape.devices, PPI_FIXED_CAUSES * sizeof *timeline->fixed);
    timeline->fixed_of_stages = ppi_allocate(host, (size_t)schedule->placement.copies * schedule->shape.stages,
                                             PPI_FIXED_STAGE_CAUSES * sizeof *timeline->fixed_of_stages);
    timeline->idle = wants_idle ? ppi_allocate_zeroed(host, schedule->shape.devices, sizeof *timeline->idle) : NULL;
    timeline->schedule = schedule;
    ppi_schedule_retain(schedule);
    if ((schedule->placement.graph != NULL && timeline->costs.links == NULL) || timeline->costs.instances == NULL ||
        timeline->spans == NULL || (wants_latest && timeline->latest == NULL) || timeline->flush_times == NULL ||
        timeline->devices == NULL || timeline->fixed == NULL || timeline->fixed_of_stages == NULL ||
        (wants_idle && timeline->idle == NULL)) {
        ppi_timeline_destroy(timeline);
        return ppi_fail_memory(error, "the timeline");
    }
    *out = timeline;
    return PPSCHED_OK;
}

static void destroy_reuse(const struct ppi_host *host, struct ppi_reuse *reuse)
{
    if (reuse == NULL)
        return;
    ppi_event_loop_clear(&reuse->loop);
    ppi_timeline_destroy(reuse->spare);
    ppi_release(host, reuse);
}

void ppi_timeline_destroy(ppsched_timeline *timeline)
{
    if (timeline == NULL)
        return;
    struct ppi_host host = timeline->host;
    destroy_reuse(&host, timeline->reuse);
    ppi_costs_clear(&timeline->costs);
    ppi_release(&host, timeline->spans);
    ppi_release(&host, timeline->outputs);
    ppi_release(&host, timeline->latest);
    ppi_release(&host, timeline->flush_times);
    ppi_release(&host, timeline->devices);
    ppi_release(&host, timeline->fixed);
    ppi_release(&host, timeline->fixed_of_stages);
    ppi_memory_destroy(timeline->memory);
    ppi_saving_destroy(timeline->saving);
    ppi_senders_destroy(timeline->senders, &host);
    ppi_release(&host, timeline->peak_causes);
    ppi_release(&host, timeline->idle);
    ppi_release(&host, timeline->alike);
    ppi_release(&host, timeline->call_times);
    ppi_schedule_release(timeline->schedule);
    ppi_release(&host, timeline);
}

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

/* The longest span, the largest peak and the first device over its limit. */
static void pick_extremes(ppsched_timeline *timeline)
{
    ppsched_metrics *metrics = &timeline->metrics;
    metrics->limit_device = PPSCHED_NONE;
    metrics->makespan = timeline->sharding_end;
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++) {
        const ppsched_device_metrics *device = &timeline->devices[d];
        double span = device->last_end - device->first_start;
        if (span > metrics->span) {
            metrics->span = span;
            metrics->span_device = d;
        }
        if (device->peak_memory > metrics->peak_memory) {
            metrics->peak_memory = device->peak_memory;
            metrics->peak_device = d;
        }
        if (ppi_is_over_limit(device->peak_memory, device->memory_limit) && metrics->limit_device == PPSCHED_NONE)
            metrics->limit_device = d;
        if (device->last_end > metrics->makespan)
            metrics->makespan = device->last_end;
    }
}

void ppi_sum_up(ppsched_timeline *timeline)
{
    ppsched_metrics *metrics = &timeline->metrics;
    uint32_t devices = timeline->schedule->shape.devices;
    double busy = 0, idle = 0;
    *metrics = (ppsched_metrics){.size = sizeof *metrics};
    pick_extremes(timeline);
    for (uint32_t d = 0; d < devices; d++) {
        timeline->devices[d].idle = metrics->makespan - timeline->devices[d].busy;
        busy += timeline->devices[d].busy;
        idle += timeline->devices[d].idle;
    }
    metrics->bubble_of_total = ratio(idle, devices * metrics->makespan);
    metrics->bubble_of_ideal = ratio(idle, busy);
    metrics->bubble_of_span = metrics->span > 0 ? 1 - busy / devices / metrics->span : 0;
}

static ppsched_status check_finite(const ppsched_timeline *timeline, ppsched_error *error)
{
    const ppsched_metrics *metrics = &timeline->metrics;
    if (!ppi_is_finite(metrics->peak_memory))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of memory is too large for a double");
    if (!ppi_is_finite(timeline->schedule->shape.devices * metrics->makespan))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    return PPSCHED_OK;
}

ppsched_status ppi_figures(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    for (uint32_t d = 0; d < timeline->schedule->shape.devices; d++)
        ppi_device_figures(timeline, d, config);
    if (timeline->memory != NULL && timeline->memory->is_used)
        ppi_memory_peaks(timeline);
    ppi_sum_up(timeline);
    return check_finite(timeline, error);
}

/* Allocates what memory other than activations needs. */
static ppsched_status add_memory(ppsched_timeline *timeline, ppsched_error *error)
{
    if (timeline->memory != NULL)
        return PPSCHED_OK;
    timeline->peak_causes = ppi_allocate(&timeline->host, timeline->schedule->shape.devices,
                                         PPI_CAUSES * sizeof *timeline->peak_causes);
    if (timeline->peak_causes == NULL)
        return ppi_fail_memory(error, "the timeline");
    return ppi_memory_make(&timeline->memory, timeline->schedule, error);
}

/* Allocates what the config requires, unless done before. */
static ppsched_status add_what_is_asked(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = ppi_holds_more(config) ? add_memory(timeline, error) : PPSCHED_OK;
    if (status == PPSCHED_OK && config->senders_wait && timeline->senders == NULL)
        status = ppi_senders_make(&timeline->senders, timeline->schedule, error);
    if (status == PPSCHED_OK && config->windows != NULL && timeline->outputs == NULL) {
        timeline->outputs = ppi_allocate(&timeline->host, (size_t)timeline->schedule->op_count, sizeof *timeline->outputs);
        status = timeline->outputs != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the timeline");
    }
    if (status == PPSCHED_OK && timeline->idle != NULL && ppi_has_speeds(config) && timeline->alike == NULL) {
        timeline->alike = ppi_allocate(&timeline->host, timeline->schedule->shape.devices, sizeof *timeline->alike);
        status = timeline->alike != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the timeline");
    }
    return status;
}

/* Allocates what memory saving needs: its ops change memory at other times than F and the backward. */
static ppsched_status add_saving(ppsched_timeline *timeline, ppsched_error *error)
{
    ppsched_status status = add_memory(timeline, error);
    return status == PPSCHED_OK ? ppi_saving_make(&timeline->saving, timeline->schedule, error) : status;
}

ppsched_status ppi_timeline_add_saving(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = timeline->saving == NULL ? add_saving(timeline, error) : PPSCHED_OK;
    timeline->meets_saving = true;
    return status == PPSCHED_OK ? ppi_saving_fill(timeline->saving, config, &timeline->costs, error) : status;
}

/* Static memory and earliest starts. Ops of memory saving are only found during the sweep; then it restarts. */
static ppsched_status find_times(struct ppi_event_loop *loop, ppsched_timeline *timeline, const ppsched_config *config,
                                 ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (!timeline->meets_saving) {
        ppi_static_memory(timeline, config);
        status = ppi_earliest_starts(loop, timeline, error);
    }
    if (!timeline->meets_saving)
        return status;
    if (config->senders_wait)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "the schedule has RECOMPUTE, OFFLOAD or RELOAD, which sender_waits like_kind cannot time; use never");
    status = ppi_timeline_add_saving(timeline, config, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_static_memory(timeline, config);
    return ppi_earliest_starts(loop, timeline, error);
}

static void find_latest(struct ppi_event_loop *loop, ppsched_timeline *timeline)
{
    if (timeline->schedule->placement.graph != NULL)
        ppi_graph_latest(loop, timeline);
    else
        ppi_latest_starts(loop, timeline);
}

void ppi_timeline_start_ends(ppsched_timeline *timeline)
{
    timeline->has_ends = timeline->costs.pair_ends != NULL && timeline->schedule->placement.graph == NULL;
    for (size_t i = 0; i < timeline->schedule->op_count && timeline->has_ends; i++)
        timeline->outputs[i] = -1;
}

/* Fills in an existing timeline, whatever it held before. Each step reads the results of those above it: static memory the
 * devices of the stage instances; earliest starts the costs and the static memory, where their sums begin; the figures the
 * spans and these sums; idle and latest starts, in any order, the spans and the figures. After an error the timeline can only
 * be filled in again. */
static ppsched_status fill_in(struct ppi_event_loop *loop, ppsched_timeline *timeline, const ppsched_config *config,
                              ppsched_error *error)
{
    ppsched_status status = ppi_costs_fill(&timeline->costs, config, &timeline->schedule->placement, error);
    if (status != PPSCHED_OK)
        return status;
    ppi_event_loop_set_costs(loop, &timeline->costs);
    ppi_timeline_start_ends(timeline);
    status = find_times(loop, timeline, config, error);
    if (status == PPSCHED_OK)
        status = ppi_figures(timeline, config, error);
    if (status == PPSCHED_OK && timeline->idle != NULL)
        ppi_find_idle(loop, timeline);
    if (status == PPSCHED_OK && timeline->latest != NULL)
        find_latest(loop, timeline);
    timeline->pairs_are_timed = timeline->costs.overlapped.values != NULL;
    timeline->costs.overlapped = (struct ppi_values){0}; /* the config's, which may not outlive this call */
    timeline->costs.pair_ends = timeline->costs.input_pairs = NULL;
    return status;
}

/* The same, first with devices as fast as stated where idle time must be compared with that. */
static ppsched_status evaluate_in(struct ppi_event_loop *loop, ppsched_timeline *timeline, const ppsched_config *config,
                                  ppsched_error *error)
{
    const bool compares = timeline->idle != NULL && ppi_has_speeds(config);
    ppsched_status status = PPSCHED_OK;
    timeline->has_speeds = false;
    if (compares) {
        ppsched_config stated;
        ppi_as_stated(&stated, config);
        status = fill_in(loop, timeline, &stated, error);
    }
    if (compares && status == PPSCHED_OK)
        memcpy(timeline->alike, timeline->idle, timeline->schedule->shape.devices * sizeof *timeline->alike);
    if (status == PPSCHED_OK)
        status = fill_in(loop, timeline, config, error);
    if (compares && status == PPSCHED_OK)
        ppi_separate_slow_devices(timeline, timeline->alike);
    return status;
}

ppsched_status ppi_timeline_make(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 bool wants_latest, bool wants_idle, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_check_shapes(schedule, config, error);
    if (status == PPSCHED_OK)
        status = allocate(&timeline, schedule, wants_latest, wants_idle, error);
    if (status == PPSCHED_OK)
        status = add_what_is_asked(timeline, config, error);
    if (status != PPSCHED_OK) {
        ppi_timeline_destroy(timeline);
        return status;
    }
    *out = timeline;
    return PPSCHED_OK;
}

/* Takes ownership of the loop, or clears it. */
static ppsched_status make_reusable(ppsched_timeline *timeline, struct ppi_event_loop *loop, const ppsched_config *config,
                                    ppsched_error *error)
{
    struct ppi_reuse *reuse = ppi_allocate_zeroed(&timeline->host, 1, sizeof *reuse);
    ppsched_status status = reuse == NULL ? ppi_fail_memory(error, "the timeline")
                                          : ppi_timeline_make(&reuse->spare, timeline->schedule, config,
                                                              timeline->latest != NULL, timeline->idle != NULL, error);
    if (status != PPSCHED_OK) {
        ppi_release(&timeline->host, reuse);
        ppi_event_loop_clear(loop);
        return status;
    }
    reuse->loop = *loop;
    timeline->reuse = reuse;
    return PPSCHED_OK;
}

static ppsched_status evaluate_once(ppsched_timeline *timeline, const ppsched_config *config, bool reusable,
                                    ppsched_error *error)
{
    struct ppi_event_loop loop;
    ppsched_status status = ppi_event_loop_make(&loop, timeline->schedule, error);
    if (status != PPSCHED_OK)
        return status;
    status = evaluate_in(&loop, timeline, config, error);
    if (status == PPSCHED_OK && reusable)
        return make_reusable(timeline, &loop, config, error);
    ppi_event_loop_clear(&loop);
    return status;
}

/* Whether a chunk of a request comes after the one before, by the queue of its device; notes that it has run. */
static ppsched_status check_chunk(const ppsched_schedule *schedule, const ppsched_config *config, const ppsched_op *op,
                                  bool *has_run, ppsched_error *error)
{
    const uint32_t m = op->microbatch, own = m % schedule->shape.microbatches, all = ppi_total_microbatches(&schedule->shape);
    if (ppi_continues_request(config, own) && ppi_copy_of(&schedule->placement, &schedule->shape, own) !=
                                                  ppi_copy_of(&schedule->placement, &schedule->shape, own - 1))
        return ppi_fail(
            error, PPSCHED_ERROR_MISMATCH,
            "microbatches %u and %u are chunks of one request, but go in opposite directions; a request must be in one "
            "half of the microbatches",
            own - 1, own);
    if (ppi_continues_request(config, own) && !has_run[(size_t)op->stage * all + m - 1])
        return ppi_fail(error, PPSCHED_ERROR_MISMATCH,
                        "%uF%u comes before %uF%u, an earlier chunk of its request; chunks must run in order on each stage",
                        op->stage, m, op->stage, m - 1);
    has_run[(size_t)op->stage * all + m] = true;
    return PPSCHED_OK;
}

/* Checks the order of the chunks of requests, if the config gives any. */
static ppsched_status check_requests(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    if (config->values[PPSCHED_QUANTITY_MICROBATCH_REQUEST].values == NULL)
        return PPSCHED_OK;
    if (!config->is_forward_only || schedule->shape.slices > 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "requests (microbatch_request) are for forwards alone of whole microbatches; "
                        "set forward_only, and no slices");
    bool *has_run = ppi_allocate_zeroed(&schedule->host, ppi_cell_count(schedule), sizeof *has_run);
    if (has_run == NULL)
        return ppi_fail_memory(error, "the timeline");
    for (uint64_t i = 0; i < schedule->op_count && status == PPSCHED_OK; i++)
        if (schedule->ops[i].kind == PPSCHED_KIND_F)
            status = check_chunk(schedule, config, &schedule->ops[i], has_run, error);
    ppi_release(&schedule->host, has_run);
    return status;
}

/* `wants_latest`, `wants_idle`: latest starts and idle causes. */
static ppsched_status evaluate(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                               bool wants_latest, bool wants_idle, bool reusable, ppsched_error *error)
{
    ppsched_timeline *timeline = NULL;
    ppsched_status status = ppi_timeline_make(&timeline, schedule, config, wants_latest, wants_idle, error);
    if (status != PPSCHED_OK)
        return status;
    status = evaluate_once(timeline, config, reusable, error);
    if (status == PPSCHED_OK)
        status = check_requests(schedule, config, error);
    if (status != PPSCHED_OK) {
        ppi_timeline_destroy(timeline);
        return status;
    }
    *out = timeline;
    return PPSCHED_OK;
}

ppsched_status ppi_evaluate(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                            uint32_t flags, ppsched_error *error)
{
    const bool wants_more = (flags & PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY) == 0;
    return evaluate(out, schedule, config, wants_more, wants_more, (flags & PPSCHED_EVALUATE_FLAG_REUSABLE) != 0, error);
}

ppsched_status ppi_evaluate_plain(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                  bool wants_idle, ppsched_error *error)
{
    return evaluate(out, schedule, config, false, wants_idle, false, error);
}

ppsched_status ppi_timeline_update(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error)
{
    struct ppi_reuse *reuse = timeline->reuse;
    ppsched_status status = ppi_check_shapes(timeline->schedule, config, error);
    if (status == PPSCHED_OK)
        status = add_what_is_asked(reuse->spare, config, error); /* for the first such config */
    if (status == PPSCHED_OK)
        status = evaluate_in(&reuse->loop, reuse->spare, config, error);
    if (status != PPSCHED_OK)
        return status;
    ppsched_timeline before = *timeline;
    *timeline = *reuse->spare;
    *reuse->spare = before;
    reuse->spare->reuse = NULL;
    timeline->reuse = reuse;
    return PPSCHED_OK;
}
