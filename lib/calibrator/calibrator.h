/* SPDX-License-Identifier: Apache-2.0 */
/* Measured runs, and the constants of a device that fit them best. */
#ifndef PPSCHED_CALIBRATOR_CALIBRATOR_H
#define PPSCHED_CALIBRATOR_CALIBRATOR_H

#include <stdbool.h>

#include <ppsched/calibrator.h>

#include "base/arena.h"

enum { PPI_CALIBRATOR_CONSTANTS = PPSCHED_CALIBRATOR_CONSTANT_NVFP4_SHARE + 1 };

struct ppi_calibrator_run {
    const ppsched_description *description; /* a reference */
    ppsched_training training;              /* as it was given */
    ppsched_price *started;                 /* with the start device; its pipeline is complete */
    double measured;                        /* seconds of a step */
    double after, left_out;                 /* errors, with results */
};

struct ppsched_calibrator {
    struct ppi_host host;
    struct ppi_arena arena;    /* the name and the lists of `start`, on `host` of the calibrator itself */
    ppsched_accelerator start; /* with its shares told */
    struct ppi_calibrator_run *runs;
    uint32_t count, capacity;
    ppsched_progress_function progress;
    void *progress_user;
    bool has_results;
    int32_t names[PPI_CALIBRATOR_CONSTANTS]; /* enum ppsched_calibrator_constant: those that are fitted */
    uint32_t constant_count;
    ppsched_accelerator fitted; /* with results */
};

/* Logarithms of the constants that are fitted, or other numbers for each of them. */
struct ppi_constants {
    double values[PPI_CALIBRATOR_CONSTANTS];
};

ppsched_status ppi_calibrator_create(ppsched_calibrator **out, const ppsched_accelerator *device, const struct ppi_host *host,
                                     ppsched_error *error);
void ppi_calibrator_destroy(ppsched_calibrator *calibrator);
ppsched_status ppi_calibrator_append(ppsched_calibrator *calibrator, const ppsched_description *description,
                                     const ppsched_training *training, const ppsched_pipeline *pipeline, double measured,
                                     ppsched_error *error);

/* Prices a run with a device. NULL for `pipeline`: that of `run->started`. */
ppsched_status ppi_calibrator_price(ppsched_price **out, const ppsched_calibrator *calibrator,
                                    const struct ppi_calibrator_run *run, const ppsched_pipeline *pipeline,
                                    const ppsched_accelerator *device, ppsched_error *error);

/* --- constants --- */

/* The field of a constant. */
double *ppi_calibrator_field(ppsched_accelerator *device, int32_t constant);

/* Tells the shares that have a default. */
void ppi_calibrator_tell_shares(ppsched_accelerator *device);

/* Lists the constants that the start device and the runs have. */
void ppi_calibrator_list_constants(ppsched_calibrator *calibrator);

/* The start device's constants, and by what their distances from it are weighted: (noise / spread)^2. */
void ppi_calibrator_start(struct ppi_constants *origin, struct ppi_constants *weights, const ppsched_calibrator *calibrator);

/* The start device with other constants. */
ppsched_accelerator ppi_calibrator_device(const ppsched_calibrator *calibrator, const struct ppi_constants *point);

/* --- normal equations --- */

/* The system whose solution is the step to where the errors, as straight lines, fit best. */
struct ppi_equations {
    double matrix[PPI_CALIBRATOR_CONSTANTS][PPI_CALIBRATOR_CONSTANTS];
    double right[PPI_CALIBRATOR_CONSTANTS];
    uint32_t count;
};

/* Adds a run by its error and slopes; with the sign -1 takes one out. */
void ppi_equations_add(struct ppi_equations *equations, double error, const struct ppi_constants *slopes, double sign);

/* Moves a point by the solution. The matrix is symmetric and positive. */
void ppi_equations_move(struct ppi_constants *point, const struct ppi_equations *equations);

/* --- the fit --- */

ppsched_status ppi_calibrator_fit(ppsched_calibrator *calibrator, ppsched_error *error);

#endif
