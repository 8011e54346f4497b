/* SPDX-License-Identifier: Apache-2.0 */
/* Other strategies' schedules as candidates of a search: made for the attempt's problem, split where asked, and priced with
 * its costs. */
#include "base/checked.h"
#include "base/error.h"
#include "search/glance.h"
#include "strategy/strategy.h"

/* Replaces each full backward by an I and its W in place, from the last op on; separates overlapped pairs. */
static void split_backwards(ppsched_op *ops, size_t *count)
{
    size_t added = 0;
    for (size_t i = 0; i < *count; i++)
        added += ops[i].kind == PPSCHED_KIND_B;
    for (size_t i = *count, to = *count + added; i-- > 0;) {
        ppsched_op op = ops[i];
        op.flags &= PPSCHED_OP_FLAG_SLICED;
        if (op.kind == PPSCHED_KIND_B) {
            op.kind = PPSCHED_KIND_W;
            ops[--to] = op;
            op.kind = PPSCHED_KIND_I;
        }
        ops[--to] = op;
    }
    *count += added;
}

/* Writes a rule's ops of one run on a device. */
static void put_queue(const struct ppi_task *task, struct ppi_orders *out, uint32_t device)
{
    ppsched_op *ops = out->ops + out->first[device];
    struct ppi_op_writer writer = {ops, out->ops + out->first[device + 1], 0, task->shape.slices};
    task->strategy->order(task, device, &writer);
    out->count[device] = (size_t)(writer.next - ops);
}

static void put_run(const struct ppi_task *task, struct ppi_orders *out)
{
    for (uint32_t d = 0; d < out->devices; d++)
        put_queue(task, out, d);
}

/* The ops of a strategy that searches, in its own attempt. */
static ppsched_status plan_run(struct ppi_attempt *attempt, const struct ppi_task *task, ppsched_error *error)
{
    struct ppi_attempt own = {0};
    ppsched_config config = *attempt->config;
    if (config.progress != NULL) {
        config.progress = ppi_poll_pass_on;
        config.progress_user = &attempt->poll;
    }
    ppsched_status status = ppi_plan(&own, task, &config, error);
    if (status == PPSCHED_OK)
        ppi_orders_copy(&attempt->candidate, &own.best);
    ppi_attempt_clear(&own);
    return status;
}

static struct ppi_task task_of(const struct ppi_attempt *attempt, const struct ppi_strategy *other)
{
    struct ppi_task task = *ppi_task_of(attempt);
    task.strategy = other;
    task.placement = other->placement;
    ppi_set_defaults(&task);
    return task;
}

/* Offers a strategy that supports the sizes. */
static ppsched_status offer(struct ppi_attempt *attempt, const struct ppi_task *task, bool splits, ppsched_error *error)
{
    struct ppi_orders *orders = &attempt->candidate;
    ppsched_error reason;
    ppsched_status status = PPSCHED_OK;
    if (task->strategy->order != NULL)
        put_run(task, orders);
    else
        status = plan_run(attempt, task, &reason);
    if (status == PPSCHED_ERROR_REFUSED)
        return PPSCHED_OK;
    if (status != PPSCHED_OK && error != NULL)
        *error = reason;
    if (status == PPSCHED_OK)
        status = ppi_attempt_spend(attempt, 1, error);
    for (uint32_t d = 0; d < orders->devices && splits && status == PPSCHED_OK; d++)
        split_backwards(orders->ops + orders->first[d], &orders->count[d]);
    return status == PPSCHED_OK ? ppi_attempt_offer(attempt, error) : status;
}

ppsched_status ppi_offer_strategy(struct ppi_attempt *attempt, const struct ppi_strategy *other, bool splits,
                                  ppsched_error *error)
{
    struct ppi_task task = task_of(attempt, other);
    return ppi_serves(&task) ? offer(attempt, &task, splits, error) : PPSCHED_OK;
}

ppsched_status ppi_offer_groups(struct ppi_attempt *attempt, const struct ppi_strategy *other, uint32_t most,
                                ppsched_error *error)
{
    struct ppi_task task = task_of(attempt, other);
    const struct ppi_option_row *row = ppi_option_for(other, PPI_ROLE_GROUP_SIZE);
    int64_t *group = &task.option[row - other->options], usual = *group;
    ppsched_status status = ppi_offer_strategy(attempt, other, false, error);
    for (uint32_t next = ppi_next_group(&task.shape, 0); next != 0 && most > 1; next = ppi_next_group(&task.shape, next)) {
        *group = next;
        if (next == usual || !ppi_serves(&task))
            continue;
        if (status != PPSCHED_OK || !ppi_attempt_goes_on(attempt))
            break;
        status = offer(attempt, &task, false, error);
        most--;
    }
    return status;
}

/* --- at a glance --- */

/* Whether a glance tells that an order is not shorter than the best: the span, of equal microbatches, on one stage a device. */
static bool may_glance(const struct ppi_attempt *attempt)
{
    const struct ppi_problem *problem = &attempt->problem;
    return attempt->pool == NULL && problem->span_share == 1 && problem->ratio == NULL && problem->slices == 1 &&
           problem->stages == problem->devices && problem->most_stages == 1 && !problem->rises;
}

struct glancer {
    struct ppi_glance glance;
    struct ppi_orders fewer; /* of fewer microbatches: close together in the candidate's memory */
};

static ppsched_status make_glancer(struct glancer *out, struct ppi_attempt *attempt, ppsched_error *error)
{
    const uint32_t devices = attempt->problem.devices;
    out->fewer = (struct ppi_orders){.devices = devices,
                                     .first = ppi_arena_take(&attempt->arena, (size_t)devices + 1, sizeof *out->fewer.first),
                                     .count = ppi_arena_take(&attempt->arena, devices, sizeof *out->fewer.count)};
    return ppi_glance_make(&out->glance, &attempt->arena, &attempt->problem, error);
}

/* Whether a device exceeds its limit after a forward. */
static bool is_over(const struct ppi_attempt *attempt, const struct ppi_orders *orders, uint32_t number)
{
    const struct ppi_device *device = &attempt->problem.device[number];
    const double *memory = attempt->problem.stage[attempt->problem.stage_list[device->first]].memory;
    const double change[] = {[PPSCHED_KIND_F] = memory[PPSCHED_KIND_F],
                             [PPSCHED_KIND_B] = memory[PPSCHED_KIND_I] + memory[PPSCHED_KIND_W],
                             [PPSCHED_KIND_I] = memory[PPSCHED_KIND_I],
                             [PPSCHED_KIND_W] = memory[PPSCHED_KIND_W]};
    double level = 0, most = 0;
    for (size_t i = 0; i < orders->count[number]; i++) {
        level += change[orders->ops[orders->first[number] + i].kind];
        most = ppi_larger(most, level);
    }
    return most > device->peak_limit + (device->peak_limit + device->fixed) * PPI_ROUNDING;
}

/* Writes a task's ops; false where they break a memory limit. */
static bool put_within_limits(const struct ppi_attempt *attempt, const struct ppi_task *task, struct ppi_orders *orders)
{
    for (uint32_t d = 0; d < orders->devices; d++) {
        put_queue(task, orders, d);
        if (attempt->problem.has_limits && is_over(attempt, orders, d))
            return false;
    }
    return true;
}

/* A look at fewer microbatches, which do not need more memory: rules for one stage a device run the same up to the last
 * forward, and repeat once they have warmed up. */
static bool may_stay_promising(const struct ppi_attempt *attempt, struct glancer *glancer, const struct ppi_task *task)
{
    struct ppi_orders *orders = &glancer->fewer;
    enum { MORE = 4 }; /* than in the warm-up, of as many microbatches as devices, or twice as many (docs/performance.md) */
    struct ppi_task fewer = *task;
    for (uint32_t warmup = task->shape.devices; warmup <= 2 * task->shape.devices; warmup += task->shape.devices) {
        fewer.shape.microbatches = warmup + MORE;
        if (2 * fewer.shape.microbatches > task->shape.microbatches || !ppi_serves(&fewer))
            return true;
        orders->ops = attempt->candidate.ops;
        for (uint32_t d = 0; d <= orders->devices; d++)
            orders->first[d] = (size_t)d * PPI_OPS_OF_PASS * fewer.shape.microbatches;
        if (!put_within_limits(attempt, &fewer, orders))
            return false;
        if (ppi_glance_repeats(&glancer->glance, orders))
            return ppi_glance_may_stay_shorter(&glancer->glance, orders, fewer.shape.microbatches, attempt->objective);
    }
    return true;
}

/* Whether a rule may be within all memory limits, and shorter than the best. */
static bool is_promising(struct ppi_attempt *attempt, struct glancer *glancer, const struct ppi_strategy *other)
{
    const struct ppi_task task = task_of(attempt, other);
    return may_stay_promising(attempt, glancer, &task) && put_within_limits(attempt, &task, &attempt->candidate) &&
           ppi_glance_may_be_shorter(&glancer->glance, &attempt->candidate, attempt->objective);
}

ppsched_status ppi_offer_split(struct ppi_attempt *attempt, const struct ppi_strategy *const *others, ppsched_error *error)
{
    struct glancer glancer;
    const bool glances = may_glance(attempt);
    ppsched_status status = glances ? make_glancer(&glancer, attempt, error) : PPSCHED_OK;
    for (; *others != NULL && status == PPSCHED_OK && ppi_attempt_goes_on(attempt); others++) {
        struct ppi_task task = task_of(attempt, *others);
        if (!ppi_serves(&task))
            continue;
        if (glances && (*others)->order != NULL && !is_promising(attempt, &glancer, *others))
            status = ppi_attempt_spend(attempt, 1, error);
        else
            status = offer(attempt, &task, true, error);
    }
    return status;
}
