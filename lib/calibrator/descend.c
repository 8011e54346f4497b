/* SPDX-License-Identifier: Apache-2.0 */
/* Gauss's and Newton's steps to the constants that fit all runs best; and, from there, one step without each run. */
#include "base/checked.h"
#include "base/error.h"
#include "base/logarithm.h"
#include "calibrator/calibrator.h"
#include "price/price.h"

enum { ROUNDS = 12, HALVES = 6 };
static const double width = 0.02;  /* of a logarithm, for slopes */
static const double enough = 1e-4; /* share of the sum that a round must gain */

struct descent {
    const ppsched_calibrator *calibrator;
    struct ppi_constants origin, weights, point;
    double *errors, *found; /* by run: logarithms of priced over measured, at `point` and elsewhere */
    struct ppi_constants *slopes;
    double best;     /* least sum so far */
    uint64_t priced; /* how often a run was priced, for the callback */
};

/* --- runs at a point --- */

static ppsched_status tell(const struct descent *descent, double share, ppsched_error *error)
{
    const ppsched_calibrator *calibrator = descent->calibrator;
    if (calibrator->progress == NULL)
        return PPSCHED_OK;
    const ppsched_progress progress = {.size = sizeof progress, .share = share, .best = descent->best};
    return calibrator->progress(calibrator->progress_user, &progress) != 0
               ? ppi_fail(error, PPSCHED_ERROR_CANCELLED, "the calibration was cancelled")
               : PPSCHED_OK;
}

/* Of the most that there may be to price. */
static double done_share(const struct descent *descent)
{
    const ppsched_calibrator *calibrator = descent->calibrator;
    uint32_t count = calibrator->constant_count;
    return (double)descent->priced / ((double)calibrator->count * (ROUNDS * (count + HALVES) + count + 2));
}

/* Seconds of a run. */
static ppsched_status time_of(double *out, struct descent *descent, uint32_t run, const struct ppi_constants *point,
                              ppsched_error *error)
{
    const ppsched_calibrator *calibrator = descent->calibrator;
    const ppsched_accelerator device = ppi_calibrator_device(calibrator, point);
    ppsched_price *price = NULL;
    ppsched_status status = ppi_calibrator_price(&price, calibrator, &calibrator->runs[run], NULL, &device, error);
    if (status != PPSCHED_OK)
        return status;
    *out = price->step.step_time;
    ppi_price_destroy(price);
    descent->priced++;
    return tell(descent, done_share(descent), error);
}

static ppsched_status errors_at(double *out, struct descent *descent, const struct ppi_constants *point, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < descent->calibrator->count && status == PPSCHED_OK; i++) {
        double seconds = 1;
        status = time_of(&seconds, descent, i, point, error);
        out[i] = ppi_logarithm(seconds) - ppi_logarithm(descent->calibrator->runs[i].measured);
    }
    return status;
}

static double sum_of(const struct descent *descent, const double *errors, const struct ppi_constants *point)
{
    double sum = 0, held = 0;
    for (uint32_t i = 0; i < descent->calibrator->count; i++)
        sum += errors[i] * errors[i];
    for (uint32_t k = 0; k < descent->calibrator->constant_count; k++) {
        double moved = point->values[k] - descent->origin.values[k];
        held += descent->weights.values[k] * (moved * moved);
    }
    return sum + held;
}

/* --- steps --- */

static ppsched_status find_slopes(struct descent *descent, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t k = 0; k < descent->calibrator->constant_count && status == PPSCHED_OK; k++) {
        struct ppi_constants moved = descent->point;
        moved.values[k] += width;
        status = errors_at(descent->found, descent, &moved, error);
        for (uint32_t i = 0; i < descent->calibrator->count && status == PPSCHED_OK; i++)
            descent->slopes[i].values[k] = (descent->found[i] - descent->errors[i]) / width;
    }
    return status;
}

/* Of all runs, and of how the constants are held. */
static struct ppi_equations equations_of(const struct descent *descent)
{
    struct ppi_equations equations = {.count = descent->calibrator->constant_count};
    for (uint32_t k = 0; k < equations.count; k++) {
        equations.matrix[k][k] = descent->weights.values[k];
        equations.right[k] = -descent->weights.values[k] * (descent->point.values[k] - descent->origin.values[k]);
    }
    for (uint32_t i = 0; i < descent->calibrator->count; i++)
        ppi_equations_add(&equations, descent->errors[i], &descent->slopes[i], 1);
    return equations;
}

/* Halves the way to `target` while the sum is above `sum`; *gained below 0: it stays so. */
static ppsched_status step_back(double *gained, struct descent *descent, struct ppi_constants *target, double sum,
                                ppsched_error *error)
{
    *gained = -1;
    for (int half = 0; half < HALVES; half++) {
        ppsched_status status = errors_at(descent->found, descent, target, error);
        if (status != PPSCHED_OK)
            return status;
        double found = sum_of(descent, descent->found, target);
        if (found <= sum) {
            *gained = sum - found;
            break;
        }
        for (uint32_t k = 0; k < descent->calibrator->constant_count; k++)
            target->values[k] = (descent->point.values[k] + target->values[k]) / 2;
    }
    return PPSCHED_OK;
}

static ppsched_status descend(struct descent *descent, ppsched_error *error)
{
    ppsched_status status = errors_at(descent->errors, descent, &descent->point, error);
    for (int round = 0; round < ROUNDS && status == PPSCHED_OK; round++) {
        double sum = sum_of(descent, descent->errors, &descent->point), gained;
        descent->best = sum;
        status = find_slopes(descent, error);
        if (status != PPSCHED_OK)
            break;
        struct ppi_constants target = descent->point;
        const struct ppi_equations equations = equations_of(descent);
        ppi_equations_move(&target, &equations);
        status = step_back(&gained, descent, &target, sum, error);
        if (status != PPSCHED_OK || gained < 0)
            break;
        double *errors = descent->errors;
        descent->errors = descent->found;
        descent->found = errors;
        descent->point = target;
        descent->best = sum - gained;
        if (gained < enough * sum)
            break;
    }
    return status;
}

/* --- results --- */

static ppsched_status leave_out(struct descent *descent, ppsched_calibrator *calibrator, ppsched_error *error)
{
    ppsched_status status = find_slopes(descent, error);
    struct ppi_equations equations = equations_of(descent);
    for (uint32_t i = 0; i < calibrator->count && status == PPSCHED_OK; i++) {
        struct ppi_calibrator_run *run = &calibrator->runs[i];
        struct ppi_constants point = descent->point;
        double seconds = 0;
        ppi_equations_add(&equations, descent->errors[i], &descent->slopes[i], -1);
        ppi_equations_move(&point, &equations);
        ppi_equations_add(&equations, descent->errors[i], &descent->slopes[i], 1);
        status = time_of(&seconds, descent, i, &point, error);
        run->left_out = seconds / run->measured - 1;
        run->after = ppi_exponential(descent->errors[i]) - 1;
    }
    return status;
}

ppsched_status ppi_calibrator_fit(ppsched_calibrator *calibrator, ppsched_error *error)
{
    struct ppi_arena arena = {.host = &calibrator->host};
    struct descent descent = {.calibrator = calibrator, .best = PPI_INFINITE};
    calibrator->has_results = false;
    if (calibrator->count == 0)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "there is no run to calibrate by; append one");
    ppi_calibrator_list_constants(calibrator);
    ppi_calibrator_start(&descent.origin, &descent.weights, calibrator);
    descent.point = descent.origin;
    descent.errors = ppi_arena_take(&arena, calibrator->count, sizeof *descent.errors);
    descent.found = ppi_arena_take(&arena, calibrator->count, sizeof *descent.found);
    descent.slopes = ppi_arena_take_zeroed(&arena, calibrator->count, sizeof *descent.slopes);
    ppsched_status status = ppi_arena_check(&arena, "the calibration", error);
    if (status == PPSCHED_OK)
        status = descend(&descent, error);
    if (status == PPSCHED_OK)
        status = leave_out(&descent, calibrator, error);
    if (status == PPSCHED_OK)
        status = tell(&descent, 1, error);
    ppi_arena_clear(&arena);
    if (status != PPSCHED_OK)
        return status;
    calibrator->fitted = ppi_calibrator_device(calibrator, &descent.point);
    calibrator->has_results = true;
    return PPSCHED_OK;
}
