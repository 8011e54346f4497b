/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments that need the model's layers, sizes at the edge of what the runtimes' own orders take, and microbatches in
 * the order of the losses. */
#include "support/launching.h"

#include <stdlib.h>
#include <string.h>

static void expect_layers(const char *strategy, int stages, uint32_t layers, int32_t runtime, const char *wanted)
{
    ppsched_schedule *schedule = sized_schedule(strategy, 4, stages, 8, NULL);
    ppsched_launch_options options = {.size = sizeof options, .layers = layers};
    if (wanted[0] == '!')
        expect_refused(schedule, runtime, &options, wanted + 1);
    else
        expect_line(schedule, runtime, &options, wanted);
    ppsched_schedule_release(schedule);
}

#define TITAN(name, layers)                                                                                                    \
    "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule " name layers                           \
    " --training.local_batch_size 8 --parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs"
#define EACH(n) " --parallelism.pipeline_parallel_layers_per_stage " n

/* Stages are ceil((layers + 2) / layers a stage), where that is not what a name means. */
static void test_layers_of_torchtitan(void **state)
{
    (void)state;
    expect_layers("1f1b", 4, 2, TORCHTITAN, TITAN("1F1B", ""));
    expect_layers("1f1b", 4, 1, TORCHTITAN, "!splits 1 layer, the embedding and the output into at most 3 stages, not 4");
    expect_layers("interleaved_1f1b", 8, 32, TORCHTITAN, TITAN("Interleaved1F1B", ""));
    expect_layers(
        "interleaved_1f1b", 12, 0, TORCHTITAN,
        "!torchtitan has two stages per device by default, the schedule has 3; give the number of the model's layers");
    expect_layers("interleaved_1f1b", 12, 34, TORCHTITAN, TITAN("Interleaved1F1B", EACH("3")));
    expect_layers("interleaved_1f1b", 12, 33, TORCHTITAN, TITAN("Interleaved1F1B", EACH("3")));
    expect_layers("interleaved_1f1b", 12, 32, TORCHTITAN, TITAN("Interleaved1F1B", EACH("3")));
    expect_layers("interleaved_1f1b", 12, 31, TORCHTITAN, "!which is 12 for no n; use 34 layers");
    expect_layers("interleaved_1f1b", 12, 9, TORCHTITAN, "!at most 11 stages, not 12");
    expect_layers("interleaved_1f1b", 12, UINT32_MAX, TORCHTITAN, TITAN("Interleaved1F1B", EACH("357913942")));
}

static void test_layers_of_sail(void **state)
{
    static const char interleaved[] =
        "--pipeline-model-parallel-size 4 --enable-zb-runtime --num-layers-per-virtual-pipeline-stage 4 "
        "--interleave-group-size 4";
    (void)state;
    expect_layers("interleaved_1f1b", 8, 32, SAIL, interleaved);
    expect_layers("interleaved_1f1b", 8, 0, SAIL, "!give the number of the model's layers; megatron, torchtitan");
    expect_layers("interleaved_1f1b", 8, 36, SAIL, "!the same number of layers on each of 8 stages, not 36 in all");
    expect_layers("zbv", 8, 36, SAIL, "!the same number of layers on each of 8 stages, not 36 in all");
    expect_layers("1f1b", 4, 36, SAIL, "--pipeline-model-parallel-size 4 --enable-zb-runtime");
}

static void test_layers_of_mindspeed(void **state)
{
    (void)state;
    expect_layers("dualpipe_v", 8, 7, MINDSPEED, "!MindSpeed needs a layer on each of 8 stages, not 7 in all");
    expect_layers("dualpipe_v", 8, 8, MINDSPEED,
                  "--pipeline-model-parallel-size 4 --schedules-method dualpipev --dualpipev-dw-detach --moe-fb-overlap");
}

/* --- sizes --- */

static void expect_sized(const char *strategy, int devices, int stages, int microbatches, int32_t runtime, const char *wanted)
{
    ppsched_schedule *schedule = sized_schedule(strategy, devices, stages, microbatches, NULL);
    ppsched_launch_options exact = {.size = sizeof exact, .exact = 1};
    if (wanted[0] == '!')
        expect_refused(schedule, runtime, &exact, wanted + 1);
    else
        expect_line(schedule, runtime, &exact, wanted);
    ppsched_schedule_release(schedule);
}

static void test_sizes_of_primus(void **state)
{
    static const char four[] = "--pipeline_model_parallel_size 4 --patch_primus_pipeline True --pp_algorithm ";
    static const char eight[] =
        "--pipeline_model_parallel_size 4 --num_virtual_stages_per_pipeline_rank 2 --patch_primus_pipeline "
        "True --pp_algorithm ";
    char line[200];
    (void)state;
    expect_sized("1f1b", 4, 4, 3, PRIMUS, strcat(strcpy(line, four), "1f1b"));
    expect_sized("1f1b", 4, 4, 2, PRIMUS, "!Primus's 1f1b needs at least 3 microbatches on 4 devices, not 2");
    expect_sized("zb_h1", 4, 4, 4, PRIMUS, strcat(strcpy(line, four), "zero-bubble"));
    expect_sized("zb_h1", 4, 4, 3, PRIMUS, "!; only a custom schedule can run this order");
    expect_sized("zbv", 4, 8, 7, PRIMUS, strcat(strcpy(line, eight), "zbv-formatted"));
    expect_sized("zbv", 4, 8, 6, PRIMUS, "!; only a custom schedule can run this order");
    expect_sized("interleaved_1f1b", 4, 8, 8, PRIMUS, strcat(strcpy(line, eight), "1f1b-interleaved"));
    expect_sized("interleaved_1f1b", 4, 8, 4, PRIMUS,
                 "!; only a custom schedule can run this order"); /* ten warm-up forwards of eight */
    expect_sized("interleaved_1f1b", 4, 8, 7, PRIMUS, "!; only a custom schedule can run this order");
    expect_sized("interleaved_1f1b", 2, 8, 2, PRIMUS, /* eight of eight */
                 "--pipeline_model_parallel_size 2 --num_virtual_stages_per_pipeline_rank 4 --patch_primus_pipeline True "
                 "--pp_algorithm 1f1b-interleaved");
    expect_sized("interleaved_1f1b", 3, 9, 3, PRIMUS, "!; only a custom schedule can run this order"); /* ten of nine */
    expect_sized("zb_auto", 4, 4, 8, PRIMUS, "!Primus plans its own order of that kind; only a custom schedule");
    expect_sized("1f1b", 1, 1, 8, PRIMUS, "!Primus has no pipeline on one device");
}

static void test_memory_of_primus(void **state)
{
    ppsched_config *config = make_config(4, 8, 16);
    (void)state;
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, 5);
    ppsched_schedule *schedule = make_schedule(config, "v_half");
    expect_refused(schedule, PRIMUS, NULL,
                   "Primus's v-half may hold 6 stage passes on a device and has no memory limit; this order holds 5");
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_sizes_of_others(void **state)
{
    (void)state;
    expect_sized("zbv", 4, 8, 6, COLOSSALAI, "!Colossal-AI needs a multiple of 4 microbatches, not 6");
    expect_sized("1f1b", 4, 4, 4, COLOSSALAI, "pp_size=4 pp_style=1f1b num_microbatches=4");
    expect_sized("1f1b", 4, 4, 3, COLOSSALAI, "!Colossal-AI's 1F1B needs at least 4 microbatches, not 3; ");
    expect_sized("interleaved_1f1b", 4, 8, 12, COLOSSALAI,
                 "pp_size=4 pp_style=interleaved num_model_chunks=2 num_microbatches=12");
    expect_sized("interleaved_1f1b", 4, 8, 10, COLOSSALAI,
                 "!Colossal-AI's interleaved 1F1B needs a multiple of 4 microbatches, not 10; ");
    expect_sized("1f1b", 1, 1, 3, COLOSSALAI, "!Colossal-AI has no pipeline on one device");
    expect_sized("1f1b", 1, 1, 3, JAXPP, "class=Std1F1B num_stages=1 n_mubatches=3");
    expect_sized("zb_h1", 4, 4, 3, JAXPP, "class=PlannedSchedule num_stages=4 mpmd_dim=4 n_mubatches=3 csv=schedule.csv");
    expect_sized("interleaved_1f1b_overlap", 4, 12, 8, JAXPP,
                 "class=KimiK2 num_stages=12 mpmd_dim=4 n_mubatches=8 fuse_steady_state=True");
    expect_sized("1f1b", 1, 1, 3, MINDSPEED, "!MindSpeed has no pipeline on one device");
}

/* --- the order of the losses --- */

/* Both ranks run microbatch 1 first. */
static ppsched_schedule *descending(void)
{
    static const char text[] = "0F1,0F0,0B1,0B0\n1F1,1B1,1F0,1B0\n";
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    expect_ok(ppsched_schedule_import(&schedule, PPSCHED_FORMAT_CSV, text, strlen(text), NULL, &error), &error);
    return schedule;
}

static void test_losses_in_order(void **state)
{
    ppsched_schedule *schedule = descending(), *ordered = NULL;
    ppsched_error error;
    (void)state;
    for (int32_t runtime = TORCHTITAN; runtime <= PYTORCH; runtime++)
        expect_refused(schedule, runtime, NULL,
                       "device 1 has 1F1 at position 0, where 1F0 must be; use ppsched_schedule_renumber; "
                       "jaxpp can run it");
    expect_ok(ppsched_schedule_renumber(&ordered, schedule, &error), &error);
    expect_line(ordered, PYTORCH, NULL, "class=Schedule1F1B pp_size=2 num_stages=2 n_microbatches=2 style=loop");
    ppsched_schedule_release(ordered);
    ppsched_schedule_release(schedule);
}

static void assert_same_ops(const ppsched_schedule *a, const ppsched_schedule *b)
{
    for (uint32_t d = 0; d < 2; d++) {
        size_t counts[2];
        const ppsched_op *ops[2] = {ppsched_queue_ops(ppsched_schedule_queue(a, d), &counts[0]),
                                    ppsched_queue_ops(ppsched_schedule_queue(b, d), &counts[1])};
        assert_int_equal(counts[0], counts[1]);
        assert_memory_equal(ops[0], ops[1], counts[0] * sizeof *ops[0]);
    }
}

/* The same numbers where they ascend already, in each iteration by itself; kinds without a microbatch stay. */
static void test_renumbering_what_is_in_order(void **state)
{
    ppsched_config *config = make_config(2, 2, 4);
    ppsched_schedule *schedule, *again = NULL;
    ppsched_lower_options options = {.size = sizeof options, .unshard = 1};
    ppsched_error error;
    (void)state;
    expect_ok(ppsched_config_set_iterations(config, 2, &error), &error);
    schedule = make_schedule(config, "1f1b_no_flush");
    expect_ok(ppsched_schedule_renumber(&again, schedule, &error), &error);
    assert_same_ops(schedule, again);
    ppsched_schedule_release(again);
    ppsched_schedule_release(schedule);
    schedule = make_schedule(config, "gpipe");
    ppsched_schedule *lowered = NULL;
    expect_ok(ppsched_schedule_lower(&lowered, schedule, config, &options, &error), &error);
    expect_ok(ppsched_schedule_renumber(&again, lowered, &error), &error);
    assert_same_ops(lowered, again);
    ppsched_schedule_release(again);
    ppsched_schedule_release(lowered);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

static void test_renumbering_is_refused(void **state)
{
    ppsched_schedule *schedule = sized_schedule("dualpipe", 4, 4, 8, NULL), *out = NULL;
    ppsched_error error;
    (void)state;
    assert_int_equal(ppsched_schedule_renumber(&out, schedule, &error), PPSCHED_ERROR_REFUSED);
    assert_non_null(strstr(error.message, "the last stage is on two devices"));
    assert_int_equal(ppsched_schedule_renumber(NULL, schedule, &error), PPSCHED_ERROR_ARGUMENT);
    assert_int_equal(ppsched_schedule_renumber(&out, NULL, &error), PPSCHED_ERROR_ARGUMENT);
    assert_null(out);
    ppsched_schedule_release(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_of_torchtitan),   cmocka_unit_test(test_layers_of_sail),
        cmocka_unit_test(test_layers_of_mindspeed),    cmocka_unit_test(test_sizes_of_primus),
        cmocka_unit_test(test_memory_of_primus),       cmocka_unit_test(test_sizes_of_others),
        cmocka_unit_test(test_losses_in_order),        cmocka_unit_test(test_renumbering_what_is_in_order),
        cmocka_unit_test(test_renumbering_is_refused),
    };
    return cmocka_run_group_tests_name("launch_more", tests, NULL, NULL);
}
