/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrator: fits a few constants of a device to measured runs. The runs may have any models,
 * layouts and schedules.
 *
 * UNSTABLE: the declarations of this header may change before release 1.0.
 *
 * The fit minimises a sum of squares:
 *   - Each run adds log(priced step time / measured step time)^2. price.h explains prices.
 *   - Each constant adds (0.08 / spread * log(fitted value / start value))^2. 0.08 is the noise
 *     that is assumed for measurements: the standard deviation of log(step time). enum
 *     ppsched_calibrator_constant has the spread of each constant.
 * So a constant moves away from its start value only if the runs require this. A single run already
 * moves the constants on which the time of this run depends most. Many runs determine all
 * constants.
 *
 * Sample:
 *     const ppsched_transformer llama = {
 *         .size = sizeof llama,
 *         .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
 *         .layers = 32, .hidden_size = 4096, .heads = 32, .key_value_heads = 8,
 *         .ffn_size = 14336, .vocabulary_size = 128256};
 *     const ppsched_training training = {.size = sizeof training, .sequence_length = 8192};
 *     const ppsched_pipeline pipeline = {
 *         .size = sizeof pipeline, .devices = 4, .microbatches = 32};
 *     const double measured = 21.5; // seconds of a step
 *     const ppsched_description *description = NULL;
 *     ppsched_calibrator *calibrator = NULL;
 *     ppsched_accelerator fitted = {.size = sizeof fitted};
 *     ppsched_status status =
 *         ppsched_description_from_transformer(&description, &llama, NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_calibrator_create(&calibrator, ppsched_accelerator_at(0), NULL, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_calibrator_append_run(calibrator, description, &training, &pipeline,
 *                                                measured, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_calibrator_run(calibrator, NULL);
 *     if (status == PPSCHED_OK)
 *         status = ppsched_calibrator_get_accelerator(&fitted, calibrator, NULL);
 *     // fitted is valid until the calibrator is destroyed
 *     ppsched_calibrator_destroy(calibrator);
 *     ppsched_description_release(description);
 */
#ifndef PPSCHED_CALIBRATOR_H
#define PPSCHED_CALIBRATOR_H

#include <stdint.h>

#include <ppsched/config.h>
#include <ppsched/description.h>
#include <ppsched/environment.h>
#include <ppsched/export_macro.h>
#include <ppsched/model.h>
#include <ppsched/price.h>
#include <ppsched/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The constants that may be fitted. They are fields of ppsched_accelerator. The start device is the
 * accelerator of ppsched_calibrator_create.
 *   - A constant that is 0 in the start device is fitted only if its comment names a start value.
 *   - The share of a precision is fitted only if at least one run has this precision.
 *   - A fitted share is at most 2, and a fitted time is at most 1 second.
 *   - The number in brackets is the constant's spread: the standard deviation that is assumed for
 *     log(start value). */
enum ppsched_calibrator_constant {
    PPSCHED_CALIBRATOR_CONSTANT_MATRIX_SHARE = 0,    /* (0.4) starts at 1 if it is 0 in the start
                                                        device */
    PPSCHED_CALIBRATOR_CONSTANT_ATTENTION_SHARE = 1, /* (0.1) starts at the matrix share if it is 0
                                                        in the start device */
    PPSCHED_CALIBRATOR_CONSTANT_OP_TIME = 2,         /* (0.3) seconds */
    PPSCHED_CALIBRATOR_CONSTANT_HOST_TIME = 3,       /* (0.3) seconds */
    PPSCHED_CALIBRATOR_CONSTANT_FP8_SHARE = 4,       /* (0.2) starts at 1 if it is 0 in the start
                                                        device */
    PPSCHED_CALIBRATOR_CONSTANT_MXFP8_SHARE = 5,     /* (0.2) */
    PPSCHED_CALIBRATOR_CONSTANT_NVFP4_SHARE = 6      /* (0.2) starts at 1 if it is 0 in the start
                                                        device */
};

/* The name of an enumerator, as in names.h. The field of ppsched_accelerator has the same name. */
PPSCHED_API const char *ppsched_calibrator_constant_name(int32_t calibrator_constant);

/* A calibrator. It has results after ppsched_calibrator_run, until another run is appended.
 * Lifetime: the caller destroys it. It copies all arguments except the descriptions, and holds a
 *   reference to each description.
 * Thread-safety: any number of threads may read a calibrator at the same time. While a thread
 *   appends a run or runs the fit, no other thread may use the calibrator. */
typedef struct ppsched_calibrator ppsched_calibrator;

/* Makes a calibrator without runs. The fit starts with the constants of `accelerator`, the start
 * device. `environment` may be NULL.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE, as in ppsched_model_create; NO_MEMORY. */
PPSCHED_API ppsched_status ppsched_calibrator_create(ppsched_calibrator **out,
                                                     const ppsched_accelerator *accelerator,
                                                     const ppsched_environment *environment,
                                                     ppsched_error *error);
PPSCHED_API void ppsched_calibrator_destroy(ppsched_calibrator *calibrator);

/* Adds a measured run, and computes its price on the start device. Runs are numbered from 0.
 * `step_time` is the measured time of a step in seconds. `training` and `pipeline` may be NULL, as
 * in ppsched_model_create and ppsched_price_create. The call does not call the progress callback of
 * `pipeline`.
 * Errors: those of ppsched_model_create and ppsched_price_create; RANGE if `step_time` is
 *   infinite, not a number, or not above 0; NO_MEMORY. After an error the calibrator is
 *   unchanged. */
PPSCHED_API ppsched_status ppsched_calibrator_append_run(ppsched_calibrator *calibrator,
                                                         const ppsched_description *description,
                                                         const ppsched_training *training,
                                                         const ppsched_pipeline *pipeline,
                                                         double step_time, ppsched_error *error);

/* Sets the progress callback. ppsched_calibrator_run calls it each time a run has been priced, and
 * at the end of the fit. `best` is the least sum of squares so far. `best` is infinite until all
 * runs have been priced once. A NULL `progress` means no callback.
 * Errors: ARGUMENT. */
PPSCHED_API ppsched_status ppsched_calibrator_set_progress(ppsched_calibrator *calibrator,
                                                           ppsched_progress_function progress,
                                                           void *user, ppsched_error *error);

/* Fits the constants to all runs. Then, for each run, fits the constants again to all other runs.
 * The function may be called several times, also after an error.
 * Errors: ARGUMENT; REFUSED if there are no runs, or if a strategy that searches finds no schedule;
 *   RANGE if the price of a run is out of range with constants that the fit tries; CANCELLED if the
 *   progress callback stops the call; NO_MEMORY. After an error there are no results. */
PPSCHED_API ppsched_status ppsched_calibrator_run(ppsched_calibrator *calibrator,
                                                  ppsched_error *error);

/* A constant before and after the fit. Set `size` to sizeof of this struct. */
typedef struct ppsched_calibrated_constant {
    uint32_t size;
    int32_t constant; /* enum ppsched_calibrator_constant */
    double before;    /* value in the start device */
    double after;     /* fitted value */
} ppsched_calibrated_constant;

/* The first function returns how many constants were fitted; 0 without results. The second function
 * describes one of these constants. `constant` is its index, from 0; the constants are in the order
 * of the enum.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a constant past the last. */
PPSCHED_API uint32_t ppsched_calibrator_constant_count(const ppsched_calibrator *calibrator);
PPSCHED_API ppsched_status ppsched_calibrator_get_constant(ppsched_calibrated_constant *out,
                                                           const ppsched_calibrator *calibrator,
                                                           uint32_t constant, ppsched_error *error);

/* A run and the errors of its price. An error is (priced step time / measured step time) - 1. Set
 * `size` to sizeof of this struct. */
typedef struct ppsched_calibrated_run {
    uint32_t size;
    uint32_t reserved;
    double step_time;      /* the measured time in seconds */
    double error_before;   /* error with the constants of the start device */
    double error_after;    /* error with the constants that are fitted to all runs */
    double error_left_out; /* error with constants that are fitted to all other runs. This fit
                              starts from the constants that are fitted to all runs, and makes one
                              step */
} ppsched_calibrated_run;

/* The first function returns the number of runs. The second describes a run.
 * Errors: ARGUMENT, STRUCT_SIZE; RANGE for a run past the last; REFUSED without results. */
PPSCHED_API uint32_t ppsched_calibrator_run_count(const ppsched_calibrator *calibrator);
PPSCHED_API ppsched_status ppsched_calibrator_get_run(ppsched_calibrated_run *out,
                                                      const ppsched_calibrator *calibrator,
                                                      uint32_t run, ppsched_error *error);

/* Returns the start device with the fitted constants. The name and the lists of `*out` are borrowed
 * from the calibrator.
 * Errors: ARGUMENT, STRUCT_SIZE; REFUSED without results. */
PPSCHED_API ppsched_status ppsched_calibrator_get_accelerator(ppsched_accelerator *out,
                                                              const ppsched_calibrator *calibrator,
                                                              ppsched_error *error);

#ifdef __cplusplus
}
#endif
#endif
