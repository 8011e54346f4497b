/* SPDX-License-Identifier: Apache-2.0 */
/* A choice is priced by the evaluator with copies, or by its memory alone where these delay nothing. It is compared by its
 * step, then by its number of copies. */
#include "offload/transfer_plan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "offload/undelayed.h"
#include "offload/waits.h"

void ppi_choice_clear(struct ppi_choice *choice)
{
    ppi_timeline_destroy(choice->timeline);
    if (choice->schedule != NULL) {
        ppi_release(&choice->schedule->host, choice->peaks);
        ppi_release(&choice->schedule->host, choice->extents);
        ppi_schedule_release(choice->schedule);
    }
    *choice = (struct ppi_choice){0};
}

ppsched_status ppi_choice_sum_up(struct ppi_choice *choice, const struct ppi_placing *placing, ppsched_error *error)
{
    const uint32_t devices = choice->schedule->shape.devices;
    if (choice->timeline != NULL)
        return PPSCHED_OK;
    ppsched_status status = ppi_timeline_make(&choice->timeline, choice->schedule, placing->config, false, false, error);
    if (status != PPSCHED_OK)
        return status;
    memcpy(choice->timeline->devices, placing->plain->devices, devices * sizeof *choice->timeline->devices);
    for (uint32_t d = 0; d < devices; d++) {
        choice->timeline->devices[d].peak_memory = choice->peaks[d];
        choice->timeline->devices[d].peak_time = 0;
        choice->timeline->devices[d].peak_position = PPSCHED_NONE;
    }
    if (choice->is_delayed)
        ppi_set_extents(choice->timeline, choice->extents);
    ppi_sum_up(choice->timeline);
    return PPSCHED_OK;
}

static ppsched_status find_figures(struct ppi_choice *choice, struct ppi_placing *placing, ppsched_error *error)
{
    const uint32_t devices = choice->schedule->shape.devices;
    choice->peaks = ppi_allocate(&choice->schedule->host, devices, sizeof *choice->peaks);
    choice->extents = ppi_allocate(&choice->schedule->host, devices, sizeof *choice->extents);
    if (choice->peaks == NULL || choice->extents == NULL)
        return ppi_fail_memory(error, "the offloads");
    choice->step = placing->plain->metrics.makespan;
    if (ppi_price_undelayed(choice->peaks, placing, choice->schedule))
        return PPSCHED_OK;
    choice->is_delayed = true;
    if (ppi_price_delayed(choice->peaks, choice->extents, &choice->step, placing, choice->schedule))
        return PPSCHED_OK;
    ppsched_status status = ppi_evaluate(&choice->timeline, choice->schedule, placing->config,
                                         PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, error);
    if (status != PPSCHED_OK)
        return status;
    choice->step = choice->timeline->metrics.makespan;
    for (uint32_t d = 0; d < devices; d++)
        choice->peaks[d] = choice->timeline->devices[d].peak_memory;
    return PPSCHED_OK;
}

/* Prices the schedule of a choice if `status` is OK. */
static ppsched_status price(struct ppi_choice *choice, struct ppi_placing *placing, ppsched_status status, ppsched_error *error)
{
    if (status == PPSCHED_OK)
        status = find_figures(choice, placing, error);
    if (status != PPSCHED_OK)
        ppi_choice_clear(choice);
    return status;
}

ppsched_status ppi_choice_place(struct ppi_choice *out, struct ppi_placing *placing, ppsched_error *error)
{
    *out = (struct ppi_choice){0};
    ppsched_status status = ppi_place_transfers(&out->schedule, placing, error);
    for (uint32_t i = 0; i < placing->count; i++)
        out->copies += placing->transfers[i].goes;
    return status;
}

bool ppi_choices_are_same(const struct ppi_choice *a, const struct ppi_choice *b)
{
    const ppsched_schedule *own = a->schedule, *other = b->schedule;
    if (own->op_count != other->op_count)
        return false;
    for (uint32_t d = 0; d < own->shape.devices; d++)
        if (own->queues[d].count != other->queues[d].count)
            return false;
    return own->op_count == 0 || memcmp(own->ops, other->ops, (size_t)own->op_count * sizeof *own->ops) == 0;
}

ppsched_status ppi_choice_make(struct ppi_choice *out, struct ppi_placing *placing, ppsched_error *error)
{
    return price(out, placing, ppi_choice_place(out, placing, error), error);
}

ppsched_status ppi_choice_make_within(struct ppi_choice *out, bool *is_over, struct ppi_placing *placing, ppsched_error *error)
{
    ppsched_status status = ppi_choice_place(out, placing, error);
    *is_over = status == PPSCHED_OK && ppi_is_over_anyway(placing, out->schedule);
    if (*is_over)
        return PPSCHED_OK;
    status = price(out, placing, status, error);
    *is_over = status == PPSCHED_OK && !ppi_choice_is_within(out, placing->limits);
    return status;
}

ppsched_status ppi_choice_wait(struct ppi_choice *out, struct ppi_placing *placing, const struct ppi_choice *placed,
                               const double *limits, ppsched_error *error)
{
    *out = (struct ppi_choice){.copies = placed->copies};
    return price(out, placing, ppi_hold(&out->schedule, placing->peaks, placing, placed->schedule, limits, error), error);
}

ppsched_status ppi_choice_hold(struct ppi_choice *out, struct ppi_placing *placing, const double *limits, ppsched_error *error)
{
    struct ppi_choice placed;
    ppsched_status status = ppi_choice_place(&placed, placing, error);
    if (status == PPSCHED_OK)
        status = ppi_choice_wait(out, placing, &placed, limits, error);
    ppi_choice_clear(&placed);
    return status;
}

void ppi_choice_take_times(struct ppi_placing *placing, const struct ppi_choice *choice)
{
    if (choice->is_delayed && choice->timeline == NULL)
        ppi_take_delayed(placing);
    else
        ppi_take_times(placing, choice->is_delayed ? choice->timeline : placing->plain);
}

double ppi_lead(const struct ppi_placing *placing, uint32_t number)
{
    double makespan = placing->plain->metrics.makespan, ops = (double)placing->schedule->op_count;
    double step = ops > 0 ? makespan * placing->schedule->shape.devices / ops : 0; /* about the time of an op */
    return number == 0 ? 0 : step / 2 * (double)(1u << (number - 1));
}

bool ppi_choice_is_within(const struct ppi_choice *choice, const double *limits)
{
    for (uint32_t d = 0; d < choice->schedule->shape.devices; d++)
        if (ppi_is_over_limit(choice->peaks[d], limits[d]))
            return false;
    return true;
}

bool ppi_choice_fits(const struct ppi_choice *choice, const struct ppi_placing *placing)
{
    for (uint32_t d = 0; d < choice->schedule->shape.devices; d++)
        if (ppi_is_over_limit(choice->peaks[d], placing->plain->devices[d].memory_limit))
            return false;
    return true;
}

static bool is_better(const struct ppi_choice *choice, const struct ppi_choice *than)
{
    double own = ppi_choice_step(choice), other = ppi_choice_step(than);
    return own < other * (1 - 1e-12) || (own <= other * (1 + 1e-12) && choice->copies < than->copies);
}

bool ppi_choice_keep(struct ppi_choice *best, struct ppi_choice *next)
{
    bool is_kept = best->schedule == NULL || is_better(next, best);
    if (is_kept) {
        struct ppi_choice before = *best;
        *best = *next;
        *next = before;
    }
    ppi_choice_clear(next);
    return is_kept;
}
