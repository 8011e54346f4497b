/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that fit constants of a device to runs, while memory runs out. */
#include "support/shortage.h"

#include <ppsched/calibrator.h>

static const ppsched_transformer shape = {
    .size = sizeof shape, .layers = 4, .hidden_size = 64, .ffn_size = 256, .heads = 4, .vocabulary_size = 512};

/* One description of all runs, so that it is no allocation of theirs. */
static ppsched_status append(ppsched_calibrator *calibrator, uint32_t devices, ppsched_error *error)
{
    const ppsched_training training = {.size = sizeof training, .sequence_length = 256};
    const ppsched_pipeline pipeline = {.size = sizeof pipeline, .devices = devices, .microbatches = 2};
    const ppsched_description *description = NULL;
    assert_int_equal(ppsched_description_from_transformer(&description, &shape, NULL, NULL), PPSCHED_OK);
    ppsched_status status = ppsched_calibrator_append_run(calibrator, description, &training, &pipeline, 1e-3, error);
    ppsched_description_release(description);
    return status;
}

static ppsched_status calibrator_create(struct attempt *attempt)
{
    ppsched_calibrator *made = UNTOUCHED;
    ppsched_status status = ppsched_calibrator_create(&made, ppsched_accelerator_at(0), &attempt->own.environment,
                                                      &attempt->error);
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    ppsched_calibrator_destroy(made);
    return PPSCHED_OK;
}

/* The ninth run needs more room. */
static ppsched_status calibrator_append_run(struct attempt *attempt)
{
    ppsched_calibrator *calibrator = NULL;
    uint32_t runs = 0;
    ppsched_status status = ppsched_calibrator_create(&calibrator, ppsched_accelerator_at(0), &attempt->own.environment,
                                                      &attempt->error);
    while (status == PPSCHED_OK && runs < 9) { /* append() calls ppsched_calibrator_append_run() */
        status = append(calibrator, 1 + runs % 2, &attempt->error);
        runs += status == PPSCHED_OK;
    }
    assert_int_equal(ppsched_calibrator_run_count(calibrator), runs);
    fprintf(attempt->result, "%u\n", runs);
    ppsched_calibrator_destroy(calibrator);
    return status;
}

static ppsched_status calibrator_run(struct attempt *attempt)
{
    ppsched_calibrator *calibrator = NULL;
    ppsched_calibrated_run run = {.size = sizeof run};
    ppsched_status status = ppsched_calibrator_create(&calibrator, ppsched_accelerator_at(0), &attempt->own.environment,
                                                      &attempt->error);
    if (status == PPSCHED_OK)
        status = append(calibrator, 1, &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_calibrator_run(calibrator, &attempt->error);
    if (status == PPSCHED_OK) {
        assert_int_equal(ppsched_calibrator_get_run(&run, calibrator, 0, NULL), PPSCHED_OK);
        fprintf(attempt->result, "%a %a\n", run.error_after, run.error_left_out);
    } else if (calibrator != NULL) {
        assert_int_equal(ppsched_calibrator_constant_count(calibrator), 0);
    }
    ppsched_calibrator_destroy(calibrator);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHORTAGE(calibrator_create, .variants = 1),
        SHORTAGE(calibrator_append_run, .variants = 1),
        SHORTAGE(calibrator_run, .variants = 1),
    };
    return cmocka_run_group_tests_name("allocation of calibrators", tests, NULL, NULL);
}
