/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrators: runs of a device whose constants are known, the sum that a fit makes least, runs that are left out, progress,
 * and what is refused. */
#include "support/model.h"

#include <math.h>
#include <string.h>

#include <ppsched/calibrator.h>

#include "base/logarithm.h"

enum { RUNS = 6 };

static const ppsched_transformer shape = {.size = sizeof shape,
                                          .flags = PPSCHED_TRANSFORMER_FLAG_GATED | PPSCHED_TRANSFORMER_FLAG_CAUSAL,
                                          .layers = 16,
                                          .hidden_size = 4096,
                                          .ffn_size = 14336,
                                          .heads = 32,
                                          .key_value_heads = 8,
                                          .vocabulary_size = 128256};
static const ppsched_training trainings[RUNS] = {
    {.size = sizeof trainings[0], .sequence_length = 8192, .tensor_parallel = 2},
    {.size = sizeof trainings[0], .sequence_length = 8192},
    {.size = sizeof trainings[0], .sequence_length = 8192, .tensor_parallel = 8},
    {.size = sizeof trainings[0], .sequence_length = 1024, .tensor_parallel = 4},
    {.size = sizeof trainings[0], .sequence_length = 65536, .tensor_parallel = 4},
    {.size = sizeof trainings[0], .sequence_length = 8192, .tensor_parallel = 2, .precision = PPSCHED_PRECISION_FP8}};
static const ppsched_pipeline pipelines[RUNS] = {{.size = sizeof pipelines[0], .devices = 4, .microbatches = 16},
                                                 {.size = sizeof pipelines[0], .devices = 2, .microbatches = 8},
                                                 {.size = sizeof pipelines[0], .microbatches = 8},
                                                 {.size = sizeof pipelines[0], .devices = 4, .chunks = 2, .microbatches = 64},
                                                 {.size = sizeof pipelines[0], .devices = 2, .microbatches = 4},
                                                 {.size = sizeof pipelines[0], .devices = 4, .microbatches = 16}};

static const ppsched_accelerator *known(const char *name)
{
    uint32_t device = 0;
    while (strcmp(ppsched_accelerator_at(device)->name, name) != 0)
        device++;
    return ppsched_accelerator_at(device);
}

/* Of the runs, as a user prices them. */
static double priced(const ppsched_accelerator *device, uint32_t run)
{
    ppsched_step_price step = {.size = sizeof step};
    ppsched_model *model = NULL;
    ppsched_price *price = NULL;
    expect_ok(model_of_shape(&model, &shape, &trainings[run], device, NULL), NULL);
    expect_ok(ppsched_price_create(&price, model, &pipelines[run], NULL, NULL), NULL);
    expect_ok(ppsched_price_get_step(&step, price, NULL), NULL);
    ppsched_price_destroy(price);
    ppsched_model_destroy(model);
    return step.step_time;
}

static ppsched_status append(ppsched_calibrator *calibrator, uint32_t run, double measured, ppsched_error *error)
{
    const ppsched_description *description = NULL;
    expect_ok(ppsched_description_from_transformer(&description, &shape, NULL, NULL), NULL);
    ppsched_status status = ppsched_calibrator_append_run(calibrator, description, &trainings[run], &pipelines[run], measured,
                                                          error);
    ppsched_description_release(description);
    return status;
}

/* A calibrator of the first `count` runs, but for `without`, with their measured times. */
static ppsched_calibrator *of_runs(const ppsched_accelerator *start, const double *measured, uint32_t count, uint32_t without)
{
    ppsched_calibrator *calibrator = NULL;
    expect_ok(ppsched_calibrator_create(&calibrator, start, NULL, NULL), NULL);
    for (uint32_t i = 0; i < count; i++)
        if (i != without)
            expect_ok(append(calibrator, i, measured[i], NULL), NULL);
    return calibrator;
}

static ppsched_accelerator fitted(const ppsched_calibrator *calibrator)
{
    ppsched_accelerator device = {.size = sizeof device};
    expect_ok(ppsched_calibrator_get_accelerator(&device, calibrator, NULL), NULL);
    return device;
}

static ppsched_calibrated_run run_of(const ppsched_calibrator *calibrator, uint32_t number)
{
    ppsched_calibrated_run run = {.size = sizeof run};
    expect_ok(ppsched_calibrator_get_run(&run, calibrator, number, NULL), NULL);
    return run;
}

/* Times of a device with other constants, each off by a share. */
static void measure(double measured[RUNS], const ppsched_accelerator *device, const double off[RUNS])
{
    for (uint32_t i = 0; i < RUNS; i++)
        measured[i] = priced(device, i) * (1 + off[i]);
}

static const double exact[RUNS] = {0}, noisy[RUNS] = {0.05, -0.04, 0.02, 0.06, -0.03, -0.05};

/* --- the fit --- */

static void test_constants_come_back(void **state)
{
    static const int32_t names[] = {PPSCHED_CALIBRATOR_CONSTANT_MATRIX_SHARE, PPSCHED_CALIBRATOR_CONSTANT_ATTENTION_SHARE,
                                    PPSCHED_CALIBRATOR_CONSTANT_OP_TIME, PPSCHED_CALIBRATOR_CONSTANT_HOST_TIME,
                                    PPSCHED_CALIBRATOR_CONSTANT_FP8_SHARE};
    ppsched_accelerator real = *known("h100");
    double measured[RUNS];
    (void)state;
    real.matrix_share = 0.5;
    real.attention_share = 0.38;
    real.fp8_share = 0.75;
    measure(measured, &real, exact);
    ppsched_calibrator *calibrator = of_runs(known("h100"), measured, RUNS, RUNS);
    expect_ok(ppsched_calibrator_run(calibrator, NULL), NULL);
    const ppsched_accelerator found = fitted(calibrator);
    assert_string_equal(found.name, "h100");
    assert_true(fabs(found.matrix_share - 0.5) < 0.02);
    assert_true(found.attention_share < known("h100")->attention_share && found.attention_share > 0.38);
    assert_true(found.fp8_share < known("h100")->fp8_share && found.fp8_share > 0.75); /* held by its spread: one run has it */
    assert_int_equal(ppsched_calibrator_constant_count(calibrator), 5);
    for (uint32_t i = 0; i < 5; i++) {
        ppsched_calibrated_constant constant = {.size = sizeof constant};
        expect_ok(ppsched_calibrator_get_constant(&constant, calibrator, i, NULL), NULL);
        assert_int_equal(constant.constant, names[i]);
    }
    for (uint32_t i = 0; i < RUNS; i++) {
        const ppsched_calibrated_run run = run_of(calibrator, i);
        assert_true(run.step_time == measured[i]);
        assert_true(run.error_before == priced(known("h100"), i) / measured[i] - 1);
        assert_true(fabs(run.error_after - (priced(&found, i) / measured[i] - 1)) < 1e-12);
        assert_true(fabs(run.error_before) > 0.03 && fabs(run.error_after) < 0.4 * fabs(run.error_before));
    }
    ppsched_calibrator_destroy(calibrator);
}

/* The sum as the header tells it. */
static double sum_of(const ppsched_accelerator *device, const ppsched_accelerator *start, const double measured[RUNS])
{
    const double after[] = {device->matrix_share, device->attention_share, device->op_time, device->host_time,
                            device->fp8_share},
                 before[] = {start->matrix_share, start->attention_share, start->op_time, start->host_time, start->fp8_share},
                 spreads[] = {0.4, 0.1, 0.3, 0.3, 0.2};
    double sum = 0;
    for (uint32_t i = 0; i < RUNS; i++)
        sum += pow(log(priced(device, i) / measured[i]), 2);
    for (uint32_t k = 0; k < 5; k++)
        sum += pow(0.08 / spreads[k] * log(after[k] / before[k]), 2);
    return sum;
}

static void test_the_sum_is_least(void **state)
{
    static const double steps[] = {0.9, 0.97, 1.03, 1.1};
    ppsched_accelerator real = *known("h100");
    double measured[RUNS];
    (void)state;
    real.matrix_share = 0.52;
    measure(measured, &real, noisy);
    ppsched_calibrator *calibrator = of_runs(known("h100"), measured, RUNS, RUNS);
    expect_ok(ppsched_calibrator_run(calibrator, NULL), NULL);
    const ppsched_accelerator found = fitted(calibrator);
    const double least = sum_of(&found, known("h100"), measured);
    assert_true(least < 0.5 * sum_of(known("h100"), known("h100"), measured));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (int k = 0; k < 5; k++) {
            ppsched_accelerator moved = found;
            double *fields[] = {&moved.matrix_share, &moved.attention_share, &moved.op_time, &moved.host_time,
                                &moved.fp8_share};
            *fields[k] *= steps[i];
            assert_true(sum_of(&moved, known("h100"), measured) > least * (1 - 1e-4));
        }
    }
    ppsched_calibrator_destroy(calibrator);
}

/* One step from the fit to all is about the fit to all others. */
static void test_runs_are_left_out(void **state)
{
    double measured[RUNS];
    (void)state;
    measure(measured, known("h100"), noisy);
    ppsched_calibrator *all = of_runs(known("h100"), measured, RUNS, RUNS);
    expect_ok(ppsched_calibrator_run(all, NULL), NULL);
    for (uint32_t i = 0; i < RUNS; i++) {
        ppsched_calibrator *others = of_runs(known("h100"), measured, RUNS, i);
        expect_ok(ppsched_calibrator_run(others, NULL), NULL);
        const ppsched_accelerator found = fitted(others);
        const ppsched_calibrated_run run = run_of(all, i);
        if (i < RUNS - 1) /* without the run of 8 bits their share is not fitted */
            assert_true(fabs(run.error_left_out - (priced(&found, i) / measured[i] - 1)) < 2e-3);
        assert_true(fabs(run.error_left_out) > fabs(run.error_after));
        ppsched_calibrator_destroy(others);
    }
    ppsched_calibrator_destroy(all);
}

/* What a device does not have stays so: H20 has no times of ops, and its shares begin at 1. */
static void test_a_device_without_constants(void **state)
{
    ppsched_accelerator real = *known("h20");
    double measured[RUNS];
    (void)state;
    real.matrix_share = 0.9;
    measure(measured, &real, exact);
    ppsched_calibrator *calibrator = of_runs(known("h20"), measured, RUNS - 1, RUNS);
    expect_ok(ppsched_calibrator_run(calibrator, NULL), NULL);
    assert_int_equal(ppsched_calibrator_constant_count(calibrator), 2);
    const ppsched_accelerator found = fitted(calibrator);
    assert_true(fabs(found.matrix_share - 0.9) < 0.02);
    assert_true(found.op_time == 0 && found.host_time == 0 && found.mxfp8_share == 0);
    ppsched_calibrator_destroy(calibrator);
}

/* A run that took absurdly long or short moves the constants that way, as far as they may go. */
static void test_absurd_times(void **state)
{
    static const double times[] = {1e-300, 1e-30, 1e30, 1e300};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        ppsched_calibrator *calibrator = of_runs(known("h100"), &times[i], 1, RUNS);
        expect_ok(ppsched_calibrator_run(calibrator, NULL), NULL);
        const double before = known("h100")->matrix_share, after = fitted(calibrator).matrix_share;
        assert_true(times[i] < 1 ? after > before && after <= 2 : after < 1e-6 * before && after >= 1e-30);
        assert_true(fabs(run_of(calibrator, 0).error_after) <= fabs(run_of(calibrator, 0).error_before));
        ppsched_calibrator_destroy(calibrator);
    }
}

/* --- progress --- */

struct heard {
    double share, best;
    uint32_t calls, stop; /* stop: the call that ends it; 0: none */
};

static int hear(void *user, const ppsched_progress *progress)
{
    struct heard *heard = user;
    assert_true(progress->share >= heard->share && progress->share <= 1);
    assert_true(progress->best <= heard->best);
    heard->share = progress->share;
    heard->best = progress->best;
    return ++heard->calls == heard->stop;
}

static void test_progress(void **state)
{
    struct heard heard = {.best = INFINITY}, stopped = {.best = INFINITY, .stop = 9};
    ppsched_error error;
    double measured[RUNS];
    (void)state;
    measure(measured, known("h100"), noisy);
    ppsched_calibrator *calibrator = of_runs(known("h100"), measured, RUNS, RUNS);
    expect_ok(ppsched_calibrator_set_progress(calibrator, hear, &stopped, NULL), NULL);
    assert_int_equal(ppsched_calibrator_run(calibrator, &error), PPSCHED_ERROR_CANCELLED);
    assert_int_equal(stopped.calls, 9);
    assert_int_equal(ppsched_calibrator_constant_count(calibrator), 0);
    expect_ok(ppsched_calibrator_set_progress(calibrator, hear, &heard, NULL), NULL);
    expect_ok(ppsched_calibrator_run(calibrator, &error), &error);
    assert_true(heard.calls > 9 && heard.share == 1 && isfinite(heard.best));
    const ppsched_calibrated_run first = run_of(calibrator, 1);
    expect_ok(ppsched_calibrator_set_progress(calibrator, NULL, NULL, NULL), NULL);
    expect_ok(ppsched_calibrator_run(calibrator, &error), &error);
    const ppsched_calibrated_run again = run_of(calibrator, 1);
    assert_true(first.error_after == again.error_after && first.error_left_out == again.error_left_out);
    ppsched_calibrator_destroy(calibrator);
}

/* --- what is refused --- */

static void expect_refused(ppsched_status found, ppsched_status status, const ppsched_error *error, const char *words)
{
    assert_int_equal(found, status);
    if (strstr(error->message, words) == NULL)
        fail_msg("%s: not \"%s\"", error->message, words);
}

static void test_devices_are_refused(void **state)
{
    const ppsched_efficiency *none = NULL;
    ppsched_accelerator device = *known("h100");
    ppsched_calibrator *calibrator = NULL;
    ppsched_error error;
    (void)state;
    expect_refused(ppsched_calibrator_create(&calibrator, NULL, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error, "is NULL");
    device.matrix_share = 3;
    expect_refused(ppsched_calibrator_create(&calibrator, &device, NULL, &error), PPSCHED_ERROR_RANGE, &error,
                   "matrix_share is 3");
    device.matrix_efficiency = none;
    expect_refused(ppsched_calibrator_create(&calibrator, &device, NULL, &error), PPSCHED_ERROR_ARGUMENT, &error,
                   "matrix_efficiency is NULL");
    assert_null(calibrator);
}

static void test_runs_are_refused(void **state)
{
    static const double times[] = {0, -1, NAN, INFINITY};
    ppsched_calibrator *calibrator = NULL;
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_calibrator_create(&calibrator, known("a100"), NULL, NULL), NULL);
    expect_refused(ppsched_calibrator_run(calibrator, &error), PPSCHED_ERROR_REFUSED, &error, "there is no run");
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++)
        expect_refused(append(calibrator, 0, times[i], &error), PPSCHED_ERROR_RANGE, &error, "step_time is");
    expect_refused(append(calibrator, 5, 1, &error), PPSCHED_ERROR_RANGE, &error, "rate_8bit");
    assert_int_equal(ppsched_calibrator_run_count(calibrator), 0);
    expect_ok(append(calibrator, 0, 1, &error), &error);
    assert_int_equal(ppsched_calibrator_run_count(calibrator), 1);
    ppsched_calibrator_destroy(calibrator);
}

static void test_there_are_no_results(void **state)
{
    const double measured[] = {30, 20};
    ppsched_calibrated_run run = {.size = sizeof run};
    ppsched_calibrated_constant constant = {.size = sizeof constant};
    ppsched_accelerator device = {.size = sizeof device};
    ppsched_calibrator *calibrator = of_runs(known("h100"), measured, 1, RUNS);
    ppsched_error error;
    (void)state;
    for (int round = 0; round < 2; round++) {
        expect_refused(ppsched_calibrator_get_run(&run, calibrator, 0, &error), PPSCHED_ERROR_REFUSED, &error, "no results");
        expect_refused(ppsched_calibrator_get_accelerator(&device, calibrator, &error), PPSCHED_ERROR_REFUSED, &error,
                       "no results");
        expect_refused(ppsched_calibrator_get_constant(&constant, calibrator, 0, &error), PPSCHED_ERROR_RANGE, &error,
                       "there is no constant 0; their number is 0");
        expect_ok(ppsched_calibrator_run(calibrator, &error), &error);
        assert_int_equal(ppsched_calibrator_constant_count(calibrator), 4);
        expect_refused(ppsched_calibrator_get_run(&run, calibrator, 2, &error), PPSCHED_ERROR_RANGE, &error,
                       "there is no run 2");
        expect_ok(append(calibrator, 1, measured[1], &error), &error); /* the results are gone */
    }
    ppsched_calibrator_destroy(calibrator);
}

static void test_nothing_is_destroyed(void **state)
{
    (void)state;
    ppsched_calibrator_destroy(NULL);
    assert_int_equal(ppsched_calibrator_run_count(NULL), 0);
    assert_int_equal(ppsched_calibrator_constant_count(NULL), 0);
}

/* On a device that is absurdly slow, a still slower one takes longer than a double can tell: there are no results. */
static void test_prices_out_of_range(void **state)
{
    const double measured = 1e308;
    ppsched_accelerator slow = *known("h100");
    ppsched_error error;
    (void)state;
    slow.matrix_rate = 1e-280;
    ppsched_calibrator *calibrator = of_runs(&slow, &measured, 1, RUNS);
    expect_refused(ppsched_calibrator_run(calibrator, &error), PPSCHED_ERROR_RANGE, &error, "it must be finite");
    assert_int_equal(ppsched_calibrator_constant_count(calibrator), 0);
    ppsched_calibrator_destroy(calibrator);
}

static void test_logarithms(void **state)
{
    (void)state;
    for (double x = 1e-300; x < 1e300; x *= 7.3) {
        assert_true(fabs(ppi_logarithm(x) - log(x)) <= 4e-16 * fabs(log(x)) + 1e-15);
        assert_true(fabs(ppi_exponential(ppi_logarithm(x)) / x - 1) < (fabs(log(x)) < 30 ? 1e-12 : 1e-10));
    }
    assert_true(ppi_logarithm(1) == 0 && ppi_exponential(0) == 1);
    assert_true(ppi_exponential(-1e4) == 0 && ppi_exponential(-INFINITY) == 0);
    assert_true(ppi_exponential(1e4) == INFINITY && ppi_exponential(INFINITY) == INFINITY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants_come_back),
        cmocka_unit_test(test_the_sum_is_least),
        cmocka_unit_test(test_runs_are_left_out),
        cmocka_unit_test(test_a_device_without_constants),
        cmocka_unit_test(test_absurd_times),
        cmocka_unit_test(test_prices_out_of_range),
        cmocka_unit_test(test_progress),
        cmocka_unit_test(test_devices_are_refused),
        cmocka_unit_test(test_runs_are_refused),
        cmocka_unit_test(test_there_are_no_results),
        cmocka_unit_test(test_nothing_is_destroyed),
        cmocka_unit_test(test_logarithms),
    };
    return cmocka_run_group_tests_name("calibrators", tests, NULL, NULL);
}
