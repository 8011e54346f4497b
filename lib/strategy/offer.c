/* SPDX-License-Identifier: Apache-2.0 */
/* Other strategies' schedules as candidates of a search: made for the attempt's problem, split where asked, and priced with
 * its costs. */
#include "base/checked.h"
#include "base/error.h"
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

/* Writes a rule's ops of one run. */
static void put_run(const struct ppi_task *task, struct ppi_orders *out)
{
    for (uint32_t d = 0; d < out->devices; d++) {
        ppsched_op *ops = out->ops + out->first[d];
        struct ppi_op_writer writer = {ops, out->ops + out->first[d + 1], 0, task->shape.slices};
        task->strategy->order(task, d, &writer);
        out->count[d] = (size_t)(writer.next - ops);
    }
}

/* Reports another search's progress as a part of the whole. */
static int32_t pass_on(void *user, const ppsched_progress *progress)
{
    return ppi_poll_report(user, progress->share, NULL) != PPSCHED_OK;
}

/* The ops of a strategy that searches, in its own attempt. */
static ppsched_status plan_run(struct ppi_attempt *attempt, const struct ppi_task *task, ppsched_error *error)
{
    struct ppi_attempt own = {0};
    ppsched_config config = *attempt->config;
    if (config.progress != NULL) {
        config.progress = pass_on;
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
    if (!splits)
        ppi_pricer_clear(&attempt->pricer); /* it still pairs ops as in the order it was made with */
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

ppsched_status ppi_offer_split(struct ppi_attempt *attempt, const struct ppi_strategy *const *others, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (; *others != NULL && status == PPSCHED_OK && ppi_attempt_goes_on(attempt); others++)
        status = ppi_offer_strategy(attempt, *others, true, error);
    return status;
}
