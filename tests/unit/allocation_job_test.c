/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that list, price and rank the layouts of a job, while memory runs out. */
#include "support/shortage.h"

static const ppsched_transformer shape = {
    .size = sizeof shape, .layers = 4, .hidden_size = 64, .ffn_size = 256, .heads = 4, .vocabulary_size = 512};

static const ppsched_measured_layer measured[] = {{"decoder", NULL, 1, 1, 1, 1, 1, 256, 1e-4, 1e-4, 1e-4, 1e5, 1e6},
                                                  {"decoder", "full", 1, 1, 1, 1, 1, 256, 1e-4, 2e-4, 1e-4, 1e4, -1}};
static const ppsched_measured_collective collective = {PPSCHED_COLLECTIVE_SEND, 2, 0, 0, 1e6, 1e-3};
static const ppsched_layer_table table = {
    .size = sizeof table, .layers = measured, .layer_count = 2, .collectives = &collective, .collective_count = 1};

/* A job of two devices, which may be a pipeline; the second variant recomputes, as its memory is short, the third has measured
 * costs, the fourth devices of two types. */
static ppsched_status make(ppsched_job **out, struct attempt *attempt)
{
    static const uint32_t tensor = 1, batch = 4, micro = 1;
    static const ppsched_job_list lists[] = {{PPSCHED_JOB_DIMENSION_TENSOR, 1, &tensor},
                                             {PPSCHED_JOB_DIMENSION_MICRO_BATCH, 1, &micro},
                                             {PPSCHED_JOB_DIMENSION_GLOBAL_BATCH, 1, &batch}};
    const ppsched_training training = {.size = sizeof training, .sequence_length = 256};
    const ppsched_job_type types[] = {{ppsched_accelerator_at(0), 1, 0, 0}, {ppsched_accelerator_at(1), 1, 0, 0}};
    const ppsched_job_options options = {.size = sizeof options,
                                         .gpus = 2,
                                         .lists = lists,
                                         .list_count = sizeof lists / sizeof lists[0],
                                         .top = 2,
                                         .memory_limit = attempt->variant == 1 ? 9e6 : 0,
                                         .table = attempt->variant == 2 ? &table : NULL,
                                         .types = types,
                                         .type_count = attempt->variant == 3 ? 2 : 0};
    const ppsched_description *description = NULL;
    ppsched_status status = ppsched_description_from_transformer(&description, &shape, &attempt->own.environment,
                                                                 &attempt->error);
    if (status == PPSCHED_OK)
        status = ppsched_job_create(out, description, &training, ppsched_accelerator_at(0), &options, &attempt->own.environment,
                                    &attempt->error);
    ppsched_description_release(description);
    return status;
}

static ppsched_status job_create(struct attempt *attempt)
{
    ppsched_job *made = UNTOUCHED;
    ppsched_status status = make(&made, attempt); /* calls ppsched_job_create() */
    if (status != PPSCHED_OK) {
        assert_ptr_equal(made, UNTOUCHED);
        return status;
    }
    assert_true(ppsched_job_layout_count(made) > 2);
    fprintf(attempt->result, "%u\n", ppsched_job_layout_count(made));
    ppsched_job_destroy(made);
    return PPSCHED_OK;
}

static ppsched_status job_evaluate_layout(struct attempt *attempt)
{
    ppsched_job *job = NULL;
    ppsched_job_found found = {.size = sizeof found};
    ppsched_status status = make(&job, attempt);
    for (uint32_t i = 0; status == PPSCHED_OK && i < ppsched_job_layout_count(job); i++) {
        ppsched_price *price = UNTOUCHED;
        status = ppsched_job_evaluate_layout(&price, &found, job, i, 1e9, &attempt->error);
        if (status != PPSCHED_OK) {
            assert_ptr_equal(price, UNTOUCHED);
            break;
        }
        fprintf(attempt->result, "%d %a\n", found.state, found.memory);
        ppsched_price_destroy(price);
    }
    ppsched_job_destroy(job);
    return status;
}

static ppsched_status job_run(struct attempt *attempt)
{
    ppsched_job *job = NULL;
    ppsched_status status = make(&job, attempt);
    if (status == PPSCHED_OK)
        status = ppsched_job_run(job, &attempt->error);
    if (status == PPSCHED_OK)
        fprintf(attempt->result, "%u %u\n", ppsched_job_best_count(job), ppsched_job_layout_at_rank(job, 0));
    else if (job != NULL)
        assert_int_equal(ppsched_job_best_count(job), 0);
    ppsched_job_destroy(job);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHORTAGE(job_create, .variants = 4),
        SHORTAGE(job_evaluate_layout, .variants = 4),
        SHORTAGE(job_run, .variants = 4),
    };
    return cmocka_run_group_tests_name("allocation of jobs", tests, NULL, NULL);
}
