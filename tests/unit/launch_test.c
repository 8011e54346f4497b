/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments: every strategy on every runtime, sizes at the edge of what runtimes take, and what is refused. */
#include "support/last.h"
#include "support/launching.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- every strategy on every runtime --- */

/* By runtime; what begins with "!" is the reason of a refusal. `who` is the end of the refusals of others. */
struct row {
    const char *strategy;
    int stages;
    const char *megatron, *torchtitan, *pytorch, *deepspeed, *sail, *primus, *colossalai, *jaxpp, *mindspeed, *who;
};

#define MEGATRON_4 "--pipeline-model-parallel-size 4"
#define TITAN_NAME(name) "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule " name
#define TITAN_END(microbatches)                                                                                                \
    " --training.local_batch_size " microbatches                                                                               \
    " --parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs"
#define TITAN(name) TITAN_NAME(name) TITAN_END("8")
#define TITAN_CSV_OF(name, csv, microbatches)                                                                                  \
    TITAN_NAME(name) " --parallelism.pipeline_parallel_schedule_csv " csv TITAN_END(microbatches)
#define TITAN_CSV(name) TITAN_CSV_OF(name, "schedule.csv", "8")
#define CLASS(name, stages, style) "class=Schedule" name " pp_size=4 num_stages=" stages " n_microbatches=8 style=" style
#define CSV(stages, style)                                                                                                     \
    "class=_PipelineScheduleRuntime pp_size=4 num_stages=" stages " n_microbatches=8 style=" style                             \
    " csv=schedule.csv format=compute_only"
#define NOT_1F1B(has, wants) "!Megatron-LM runs 1F1B orders: device 0 has " has ", where Megatron-LM would run " wants "; "
#define NOT_DEEP(has, wants) "!DeepSpeed runs 1F1B orders: device 0 has " has ", where DeepSpeed would run " wants "; "
#define TWO_STAGES "!DeepSpeed runs one stage per device, not 8 stages on 4 devices; "
#define NODES "!sail-sg has no flags for this order; only its scheduled nodes (format sail) can hold this order; "
#define FLUSHES " flushes after every iteration, the schedule does not; "
#define NO_FLUSH                                                                                                               \
    "!Megatron-LM" FLUSHES, "!torchtitan" FLUSHES, "!PyTorch" FLUSHES, "!DeepSpeed" FLUSHES, "!sail-sg's runtime" FLUSHES,     \
        "!Primus" FLUSHES, "!Colossal-AI" FLUSHES, "!JaxPP" FLUSHES, "!MindSpeed" FLUSHES
#define SAIL_4 MEGATRON_4 " --enable-zb-runtime"
#define ZERO_BUBBLE(n) SAIL_4 " --enable-zero-bubble --zero-bubble-max-pending-backward " n
#define V_SCHEDULE(setup) SAIL_4 " --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup " setup
#define PRIMUS_4(name) "--pipeline_model_parallel_size 4 --patch_primus_pipeline True --pp_algorithm " name
#define PRIMUS_8(name)                                                                                                         \
    "--pipeline_model_parallel_size 4 --num_virtual_stages_per_pipeline_rank 2 --patch_primus_pipeline True "                  \
    "--pp_algorithm " name
#define NO_PRIMUS                                                                                                              \
    "!Primus has no algorithm that makes this order; only a custom schedule can run this order (see docs/runtimes.md); "
#define NO_NODES "!Primus has no algorithm that makes this order; "
#define NODES_V "pp_size=4 pp_style=zbv num_model_chunks=2 num_microbatches=8 scheduler_nodes=schedule.csv"
#define NO_V "!Colossal-AI runs 1F1B, interleaved 1F1B, and orders on a v of two stages per device; "
#define PLANNED(stages) "class=PlannedSchedule num_stages=" stages " mpmd_dim=4 n_mubatches=8 csv=schedule.csv"
#define JAX(name) "class=" name " num_stages=4 n_mubatches=8"
#define JAX_LIST(name, stages) "class=" name " num_stages=" stages " mpmd_dim=4 n_mubatches=8"
#define TOGETHER "!JaxPP runs I and W of the first stage together; device 0 has 0I"
#define NO_DUALPIPE_V                                                                                                          \
    "!MindSpeed's own schedule is DualPipeV, and this order differs; DualPipeV has 2 stages on each of 4 devices, and "        \
    "needs 8, 16, ... layers and at least 8 microbatches; "
#define TORCH "torchtitan, pytorch and jaxpp can run it"
#define TORCH_AND_V "torchtitan, pytorch and colossalai can run it"
#define NOBODY "no other runtime here can run it"

static const struct row rows[] = {
    {"gpipe", 4, NOT_1F1B("0F4 at position 4", "0B0"), TITAN("GPipe"), CLASS("GPipe", "4", "loop"),
     NOT_DEEP("0F4 at position 4", "0B0"), NODES, NO_PRIMUS, NO_V, JAX("GPipe"), NO_DUALPIPE_V, TORCH},
    {"1f1b", 4, MEGATRON_4, TITAN("1F1B"), CLASS("1F1B", "4", "loop"), "num_stages=4 gradient_accumulation_steps=8", SAIL_4,
     PRIMUS_4("1f1b"), "pp_size=4 pp_style=1f1b num_microbatches=8", JAX("Std1F1B"), NO_DUALPIPE_V,
     "megatron, torchtitan, pytorch, deepspeed, sail, primus, colossalai and jaxpp can run it"},
    {"seq_1f1b", 4, MEGATRON_4, TITAN("1F1B"), CLASS("1F1B", "4", "loop"), "num_stages=4 gradient_accumulation_steps=8", SAIL_4,
     PRIMUS_4("1f1b"), "pp_size=4 pp_style=1f1b num_microbatches=8", JAX("Std1F1B"), NO_DUALPIPE_V,
     "megatron, torchtitan, pytorch, deepspeed, sail, primus, colossalai and jaxpp can run it"},
    {"eager_1f1b", 4, NOT_1F1B("0F4 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"),
     CLASS("Interleaved1F1B", "4", "loop"), NOT_DEEP("0F4 at position 4", "0B0"), NODES, NO_PRIMUS, NO_V, JAX("Eager1F1B"),
     NO_DUALPIPE_V, TORCH},
    {"1f1b_no_flush", 4, NO_FLUSH, NOBODY},
    {"eager_1f1b_no_flush", 4, NO_FLUSH, NOBODY},
    {"1f1b_overlap", 4,
     "!Megatron-LM overlaps forwards and backwards only with two stages per device or more, or on one device; ",
     TITAN_CSV("PipelineScheduleSingle"), CSV("4", "loop"), NOT_DEEP("0F4 at position 4", "0B0"),
     "!sail-sg's nodes cannot hold the schedule: device 0, position 7: 0F7 is in an overlapped pair", NO_NODES, NO_V,
     JAX_LIST("KimiK2", "4") " fuse_steady_state=True", NO_DUALPIPE_V, TORCH},
    {"vocab_1f1b", 4, NOT_1F1B("0F4 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"), CSV("4", "loop"),
     NOT_DEEP("0F4 at position 4", "0B0"), NODES, NO_PRIMUS, NO_V, PLANNED("4"), NO_DUALPIPE_V, TORCH},
    {"interlaced", 4, NOT_1F1B("0F4 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"), CSV("4", "loop"),
     NOT_DEEP("0F4 at position 4", "0B0"), NODES, NO_PRIMUS, NO_V, PLANNED("4"), NO_DUALPIPE_V, TORCH},
    {"looped_bfs", 8, NOT_1F1B("4F7 at position 15", "4B0"), TITAN("LoopedBFS"), CLASS("LoopedBFS", "8", "loop"), TWO_STAGES,
     NODES, NO_PRIMUS, NO_V, PLANNED("8"), NO_DUALPIPE_V, TORCH},
    {"interleaved_1f1b", 8, MEGATRON_4 " --num-virtual-stages-per-pipeline-rank 2", TITAN("Interleaved1F1B"),
     CLASS("Interleaved1F1B", "8", "loop"), TWO_STAGES,
     "!sail-sg derives the number of stages from the layers; give the number of the model's layers; ",
     PRIMUS_8("1f1b-interleaved"), "pp_size=4 pp_style=interleaved num_model_chunks=2 num_microbatches=8",
     JAX_LIST("Interleaved1F1B", "8"), NO_DUALPIPE_V, "megatron, torchtitan, pytorch, primus, colossalai and jaxpp can run it"},
    {"slimpipe", 4, MEGATRON_4, TITAN("1F1B"), CLASS("1F1B", "4", "loop"), "num_stages=4 gradient_accumulation_steps=8", SAIL_4,
     PRIMUS_4("1f1b"), "pp_size=4 pp_style=1f1b num_microbatches=8", JAX("Std1F1B"), NO_DUALPIPE_V,
     "megatron, torchtitan, pytorch, deepspeed, sail, primus, colossalai and jaxpp can run it"},
    {"interleaved_1f1b_overlap", 8, MEGATRON_4 " --num-virtual-stages-per-pipeline-rank 2 --overlap-moe-expert-parallel-comm",
     TITAN_CSV("PipelineScheduleMulti"), CSV("8", "loop"), TWO_STAGES,
     "!sail-sg's nodes cannot hold the schedule: device 0, position 11: 0F7 is in an overlapped pair", NO_NODES, NO_V,
     JAX_LIST("KimiK2", "8") " fuse_steady_state=True", NO_DUALPIPE_V, "megatron, torchtitan, pytorch and jaxpp can run it"},
    {"interleaved_1f1b_less_memory", 8, NOT_1F1B("4B0 at position 8", "0F4"), TITAN_CSV("PipelineScheduleMulti"),
     CSV("8", "loop"), TWO_STAGES, NODES, NO_PRIMUS, NO_V, PLANNED("8"), NO_DUALPIPE_V, TORCH},
    {"interleaved_zb", 8, NOT_1F1B("4I0 at position 8", "0F4"), TITAN("InterleavedZeroBubble"),
     CLASS("InterleavedZeroBubble", "8", "loop"), TWO_STAGES, NODES, NO_PRIMUS, NO_V, PLANNED("8"), NO_DUALPIPE_V, TORCH},
    {"group_interleaved_1f1b", 8, NOT_1F1B("4I0 at position 8", "0F4"), TITAN_CSV("PipelineScheduleMulti"), CSV("8", "loop"),
     TWO_STAGES, NODES, NO_PRIMUS, NO_V, PLANNED("8"), NO_DUALPIPE_V, TORCH},
    {"pipeoffload", 8, NOT_1F1B("0OFFLOAD0 at position 1", "0F1"),
     "!PyTorch's CSV has no OFFLOAD, which device 0 has at position 1; ",
     "!PyTorch's CSV has no OFFLOAD, which device 0 has at position 1; ", TWO_STAGES,
     "!sail-sg's nodes cannot hold the schedule: device 0, position 1: 0OFFLOAD0 has no counterpart in sail-sg; ",
     "!Primus has no algorithm that makes this order; ", NO_V,
     "!JaxPP supports only compute ops, and adds transfers itself; use the schedule before lowering; ", NO_DUALPIPE_V, NOBODY},
    {"zb_h1", 4, NOT_1F1B("0I0 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"),
     CLASS("InterleavedZeroBubble", "4", "loop"), NOT_DEEP("0I0 at position 4", "0B0"), ZERO_BUBBLE("4"),
     PRIMUS_4("zero-bubble"), NO_V, JAX("ZeroBubble"), NO_DUALPIPE_V,
     "torchtitan, pytorch, primus and jaxpp can run it, sail a similar one"},
    {"zb_h2", 4, NOT_1F1B("0F4 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"), CSV("4", "loop"),
     NOT_DEEP("0F4 at position 4", "0B0"), ZERO_BUBBLE("7"), PRIMUS_4("zero-bubble-heuristic --pp_max_mem 7"), NO_V,
     PLANNED("4"), NO_DUALPIPE_V, TORCH ", sail and primus a similar one"},
    {"zbv", 8, NOT_1F1B("7F0 at position 7", "4F0"), TITAN("ZBVZeroBubble"), CLASS("ZBVZeroBubble", "8", "v"), TWO_STAGES,
     V_SCHEDULE("zb"), PRIMUS_8("zbv-formatted"), NODES_V, PLANNED("8"), NO_DUALPIPE_V,
     "torchtitan, pytorch, primus, colossalai and jaxpp can run it, sail a similar one"},
    {"v_1f1b", 8, NOT_1F1B("7F0 at position 5", "4F0"), TITAN_CSV("ZBVZeroBubble"), CSV("8", "v"), TWO_STAGES,
     SAIL_4 " --enable-1f1b-v", NO_PRIMUS, NODES_V, PLANNED("8"), NO_DUALPIPE_V,
     "torchtitan, pytorch, colossalai and jaxpp can run it, sail a similar one"},
    {"dualpipe_v", 8, NOT_1F1B("7F0 at position 7", "4F0"), TITAN("DualPipeV"), CLASS("DualPipeV", "8", "v"), TWO_STAGES,
     "!sail-sg's nodes cannot hold the schedule: device 0, position 17: 0F7 is in an overlapped pair", NO_NODES,
     "!Colossal-AI runs no overlapped pairs; device 0 has one at position 17; ", PLANNED("8"),
     "--pipeline-model-parallel-size 4 --schedules-method dualpipev --dualpipev-dw-detach --moe-fb-overlap",
     "torchtitan, pytorch, jaxpp and mindspeed can run it"},
    {"dualpipe", 4, "!Megatron-LM runs 1F1B orders: device 0 has ", "!PyTorch has each stage on one rank, ",
     "!PyTorch has each stage on one rank, ", "!DeepSpeed runs 1F1B orders: device 0 has ",
     "!sail-sg's runtime has linear, loop and v placement, not bidirectional; ", NO_NODES, NO_V,
     "!JaxPP has each stage on one rank, ", NO_DUALPIPE_V, NOBODY},
    {"zb_auto", 4, NOT_1F1B("0F4 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"), CSV("4", "loop"),
     NOT_DEEP("0F4 at position 4", "0B0"), ZERO_BUBBLE("7"), PRIMUS_4("zero-bubble-heuristic --pp_max_mem 8"), NO_V,
     TOGETHER "0", NO_DUALPIPE_V, "torchtitan and pytorch can run it, sail and primus a similar one"},
    {"zbv_auto", 8, NOT_1F1B("7F0 at position 7", "4F0"), TITAN_CSV("ZBVZeroBubble"), CSV("8", "v"), TWO_STAGES,
     V_SCHEDULE("zb"), NO_PRIMUS, NODES_V, TOGETHER "4", NO_DUALPIPE_V, TORCH_AND_V ", sail a similar one"},
    {"v_half", 8, NOT_1F1B("7F0 at position 5", "4F0"), TITAN_CSV("ZBVZeroBubble"), CSV("8", "v"), TWO_STAGES,
     V_SCHEDULE("half"), PRIMUS_8("v-half"), NODES_V, TOGETHER "4", NO_DUALPIPE_V,
     TORCH_AND_V ", sail and primus a similar one"},
    {"v_min", 8, NOT_1F1B("7F0 at position 3", "4F0"), TITAN_CSV("ZBVZeroBubble"), CSV("8", "v"), TWO_STAGES, V_SCHEDULE("min"),
     PRIMUS_8("v-min"), NODES_V, PLANNED("8"), NO_DUALPIPE_V,
     "torchtitan, pytorch, colossalai and jaxpp can run it, sail and primus a similar one"},
    {"v_search", 8, NOT_1F1B("7F0 at position 7", "4F0"), TITAN_CSV("ZBVZeroBubble"), CSV("8", "v"), TWO_STAGES, NODES,
     NO_PRIMUS, NODES_V, TOGETHER "0", NO_DUALPIPE_V, TORCH_AND_V},
    {"auto", 4, NOT_1F1B("0I0 at position 4", "0B0"), TITAN_CSV("PipelineScheduleSingle"),
     CLASS("InterleavedZeroBubble", "4", "loop"), NOT_DEEP("0I0 at position 4", "0B0"), NODES, PRIMUS_4("zero-bubble"), NO_V,
     JAX("ZeroBubble"), NO_DUALPIPE_V, "torchtitan, pytorch, primus and jaxpp can run it"},
};

static void expect_cell(const ppsched_schedule *schedule, const struct row *row, int32_t runtime, const char *wanted)
{
    if (wanted[0] != '!') {
        expect_line(schedule, runtime, NULL, wanted);
        return;
    }
    expect_refused(schedule, runtime, NULL, wanted + 1);
    char *message = line_with(schedule, runtime, NULL, PPSCHED_ERROR_REFUSED);
    size_t length = strlen(message), end = strlen(row->who);
    assert_true(length > end);
    assert_string_equal(message + length - end, row->who);
    assert_memory_equal(message + length - end - 2, "; ", 2);
    free(message);
}

static void test_every_strategy(void **state)
{
    (void)state;
    _Static_assert(LAST_RUNTIME == 9, "a runtime has no column");
    for (uint32_t i = 0; i < ppsched_strategy_count(); i++) {
        ppsched_strategy_info info = {.size = sizeof info};
        assert_int_equal(ppsched_strategy_get_info(&info, i, NULL), PPSCHED_OK);
        if (i >= sizeof rows / sizeof rows[0] || strcmp(rows[i].strategy, info.name) != 0)
            fail_msg("row %u is not that of %s", (unsigned)i, info.name);
        ppsched_config *config = make_config(4, rows[i].stages, 8);
        ppsched_schedule *schedule = make_schedule(config, rows[i].strategy);
        expect_cell(schedule, &rows[i], MEGATRON, rows[i].megatron);
        expect_cell(schedule, &rows[i], TORCHTITAN, rows[i].torchtitan);
        expect_cell(schedule, &rows[i], PYTORCH, rows[i].pytorch);
        expect_cell(schedule, &rows[i], DEEPSPEED, rows[i].deepspeed);
        expect_cell(schedule, &rows[i], SAIL, rows[i].sail);
        expect_cell(schedule, &rows[i], PRIMUS, rows[i].primus);
        expect_cell(schedule, &rows[i], COLOSSALAI, rows[i].colossalai);
        expect_cell(schedule, &rows[i], JAXPP, rows[i].jaxpp);
        expect_cell(schedule, &rows[i], MINDSPEED, rows[i].mindspeed);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
    }
    assert_int_equal(sizeof rows / sizeof rows[0], ppsched_strategy_count());
}

/* --- sizes --- */

static void expect_sized(const char *strategy, int devices, int stages, int microbatches, const char *option, int32_t runtime,
                         const char *wanted)
{
    ppsched_schedule *schedule = sized_schedule(strategy, devices, stages, microbatches, option);
    if (wanted[0] == '!')
        expect_refused(schedule, runtime, NULL, wanted + 1);
    else
        expect_line(schedule, runtime, NULL, wanted);
    ppsched_schedule_release(schedule);
}

/* Groups are D to M microbatches, the last one whole or D at least. */
static void test_groups_of_megatron(void **state)
{
    static const char three[] = "--pipeline-model-parallel-size 3 --num-virtual-stages-per-pipeline-rank 2 "
                                "--microbatch-group-size-per-virtual-pipeline-stage ";
    char line[200];
    (void)state;
    strcat(strcpy(line, three), "4");
    expect_sized("interleaved_1f1b", 3, 6, 8, "4", MEGATRON, line);
    expect_sized("interleaved_1f1b", 3, 6, 7, "4", MEGATRON, line); /* the last group has D */
    strcat(strcpy(line, three), "6");
    expect_sized("interleaved_1f1b", 3, 6, 6, "6", MEGATRON, line);
    expect_sized("interleaved_1f1b", 3, 6, 6, "3", MEGATRON,
                 "--pipeline-model-parallel-size 3 --num-virtual-stages-per-pipeline-rank 2");
    expect_sized("interleaved_1f1b", 2, 6, 4, NULL, MEGATRON,
                 "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 3");
    expect_sized("interleaved_1f1b", 3, 6, 6, "2", MEGATRON,
                 "!D <= group <= M: groups of 3 to 6 microbatches, not of 2; torchtitan");
    expect_sized("interleaved_1f1b", 3, 6, 10, "4", MEGATRON, "!10 in groups of 4 leave 2; torchtitan, pytorch and jaxpp");
    expect_sized("interleaved_1f1b", 1, 2, 4, "2", MEGATRON,
                 "!Megatron-LM interleaves only on two devices or more; pytorch and jaxpp");
}

/* One group of more than M microbatches looks like one of M but for the warm-up: what Megatron-LM wants of sizes is the reason,
 * not an op, whatever D, V, M and the group are. */
static void test_groups_beyond_the_microbatches(void **state)
{
    static const char *const strategies[] = {"interleaved_1f1b", "interleaved_1f1b_overlap"};
    char group[16], part[200];
    (void)state;
    for (int d = 2; d <= 5; d++)
        for (int v = 2; v <= 4; v++)
            for (int m = 1; m <= d + 2; m++)
                for (int g = m < d ? m : m + 1; g <= 2 * d + 3; g++)
                    for (int i = 0; i < 2; i++) {
                        snprintf(group, sizeof group, "%d", g);
                        if (m < d)
                            snprintf(part, sizeof part, "!D <= group <= M: %d devices need at least %d microbatches, not %d; ",
                                     d, d, m);
                        else
                            snprintf(part, sizeof part, "!D <= group <= M: groups of %d to %d microbatches, not larger ones; ",
                                     d, m);
                        expect_sized(strategies[i], d, v * d, m, group, MEGATRON, part);
                    }
}

/* Other orders of as few microbatches are told by an op, or by the sizes that their own runtime's rule wants. */
static void test_other_orders_of_few_microbatches(void **state)
{
    (void)state;
    expect_sized("looped_bfs", 4, 8, 3, NULL, MEGATRON, "!device 0 has 4B2 at position 6, where Megatron-LM would run 4B0; ");
    expect_sized("looped_bfs", 4, 8, 8, NULL, MEGATRON, "!device 0 has 4F7 at position 15, where Megatron-LM would run 4B0; ");
    expect_sized("interleaved_zb", 4, 8, 3, NULL, MEGATRON, "!device 0 has 4I0 at position 6, where ");
    expect_sized("1f1b", 4, 4, 2, NULL, PRIMUS, "!Primus's 1f1b needs at least 3 microbatches on 4 devices, not 2; ");
    expect_sized("zb_h1", 4, 4, 3, NULL, PRIMUS, "!Primus's zero-bubble needs at least 4 microbatches on 4 devices, not 3; ");
    expect_sized("zbv", 4, 8, 6, NULL, PRIMUS, "!Primus's zbv-formatted needs at least 7 microbatches on 4 devices, not 6; ");
    expect_sized("interleaved_1f1b", 4, 8, 3, NULL, PRIMUS,
                 "!1f1b-interleaved needs a multiple of D = 4 microbatches, not 3; ");
    expect_sized("interleaved_1f1b", 4, 8, 9, NULL, PRIMUS,
                 "!1f1b-interleaved needs a multiple of D = 4 microbatches, not 9; ");
    expect_sized("interleaved_1f1b", 4, 8, 4, NULL, PRIMUS, "!enough microbatches for its warm-up: at least 8, not 4; ");
    expect_sized("interleaved_1f1b", 4, 8, 8, "8", PRIMUS, "!groups of D = 4 microbatches, not larger ones; ");
    expect_sized("interleaved_1f1b", 3, 6, 6, "2", PRIMUS, "!groups of D = 3 microbatches, not smaller ones; ");
    expect_sized("interleaved_1f1b", 4, 8, 8, "9", SAIL,
                 "!sail-sg interleaves groups of at most D = 4 microbatches, not larger");
}

static void test_pairs_of_megatron(void **state)
{
    (void)state;
    expect_sized("1f1b_overlap", 1, 1, 4, NULL, MEGATRON,
                 "--pipeline-model-parallel-size 1 --overlap-moe-expert-parallel-comm");
    expect_sized("1f1b_overlap", 2, 2, 4, NULL, MEGATRON,
                 "!two stages per device or more, or on one device; torchtitan, pytorch and jaxpp");
    expect_sized("interleaved_1f1b_overlap", 2, 6, 4, NULL, MEGATRON,
                 "--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 3 "
                 "--overlap-moe-expert-parallel-comm");
    expect_sized("dualpipe_v", 2, 4, 4, NULL, MEGATRON, "!Megatron-LM runs 1F1B orders: ");
}

/* PyTorch's classes have groups of their own, and some turn down sizes. */
static void test_sizes_of_pytorch(void **state)
{
    static const char csv[] = " csv=schedule.csv format=compute_only";
    char line[200];
    (void)state;
    expect_sized("interleaved_1f1b", 4, 8, 10, "5", PYTORCH,
                 "class=ScheduleInterleaved1F1B pp_size=4 num_stages=8 n_microbatches=10 style=loop");
    strcat(strcpy(line, "class=_PipelineScheduleRuntime pp_size=4 num_stages=8 n_microbatches=10 style=loop"), csv);
    expect_sized("interleaved_1f1b", 4, 8, 10, "4", PYTORCH, line);
    strcat(strcpy(line, "class=_PipelineScheduleRuntime pp_size=4 num_stages=8 n_microbatches=11 style=loop"), csv);
    expect_sized("interleaved_zb", 4, 8, 11, "5", PYTORCH, line); /* 2 rounds do not divide 11 */
    expect_sized("interleaved_zb", 4, 8, 2, "2", PYTORCH,
                 "class=ScheduleInterleavedZeroBubble pp_size=4 num_stages=8 n_microbatches=2 style=loop");
    strcat(strcpy(line, "class=_PipelineScheduleRuntime pp_size=3 num_stages=3 n_microbatches=7 style=loop"), csv);
    expect_sized("zb_h1", 3, 3, 7, NULL, PYTORCH, line);
    expect_sized("1f1b", 4, 4, 4, NULL, PYTORCH, "class=Schedule1F1B pp_size=4 num_stages=4 n_microbatches=4 style=loop");
    expect_sized("gpipe", 4, 4, 2, NULL, PYTORCH, "class=ScheduleGPipe pp_size=4 num_stages=4 n_microbatches=2 style=loop");
    expect_sized("1f1b", 1, 1, 3, NULL, PYTORCH, "class=Schedule1F1B pp_size=1 num_stages=1 n_microbatches=3 style=loop");
    strcat(strcpy(line, "class=_PipelineScheduleRuntime pp_size=4 num_stages=4 n_microbatches=3 style=loop"), csv);
    expect_sized("1f1b", 4, 4, 3, NULL, PYTORCH, line);
    expect_sized("1f1b", 4, 4, 3, NULL, TORCHTITAN, TITAN_CSV_OF("PipelineScheduleSingle", "schedule.csv", "3"));
    expect_sized("1f1b", 4, 4, 3, NULL, MEGATRON, MEGATRON_4);
    expect_sized("1f1b", 4, 4, 3, NULL, DEEPSPEED, "num_stages=4 gradient_accumulation_steps=3");
    expect_sized("1f1b", 4, 4, 3, NULL, SAIL, SAIL_4);
    expect_sized("looped_bfs", 4, 4, 8, NULL, PYTORCH, CLASS("LoopedBFS", "4", "loop"));
    expect_sized("looped_bfs", 4, 4, 8, NULL, TORCHTITAN, TITAN_CSV("PipelineScheduleSingle"));
}

static void test_one_device(void **state)
{
    (void)state;
    expect_sized("1f1b", 1, 1, 4, NULL, MEGATRON, "--pipeline-model-parallel-size 1");
    expect_sized("1f1b", 1, 1, 4, NULL, DEEPSPEED, "num_stages=1 gradient_accumulation_steps=4");
    expect_sized("1f1b", 1, 1, 4, NULL, TORCHTITAN,
                 "!torchtitan has no pipeline on one device; megatron, pytorch, deepspeed and jaxpp can");
    expect_sized("1f1b", 1, 1, 4, NULL, SAIL,
                 "!sail-sg's runtime has no pipeline on one device; megatron, pytorch, deepspeed and jaxpp can");
}

static void expect_limited(const char *strategy, int devices, int stages, double limit, const char *wanted)
{
    ppsched_config *config = make_config(devices, stages, 16);
    set_number(config, PPSCHED_QUANTITY_MEM_LIMIT, limit);
    ppsched_schedule *schedule = make_schedule(config, strategy);
    if (wanted[0] == '!')
        expect_refused(schedule, SAIL, NULL, wanted + 1);
    else
        expect_line(schedule, SAIL, NULL, wanted);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* What it plans itself may not need more memory than the schedule. */
static void test_memory_of_sail(void **state)
{
    (void)state;
    expect_limited("zb_auto", 4, 4, 4, ZERO_BUBBLE("4"));
    expect_limited("zb_auto", 4, 4, 2, ZERO_BUBBLE("2"));
    expect_limited("zbv_auto", 4, 8, 8, V_SCHEDULE("zb"));
    expect_limited(
        "zbv_auto", 4, 8, 7,
        "!zbv_auto may hold 8 stage passes on a device and has no memory limit; this order holds 7; only its scheduled");
    expect_limited("v_half", 4, 8, 6, V_SCHEDULE("half"));
    expect_limited("v_half", 4, 8, 5,
                   "!v_half may hold 6 stage passes on a device and has no memory limit; this order holds 5");
    expect_limited("v_min", 4, 8, 4, V_SCHEDULE("min"));
    expect_sized("zbv", 4, 8, 2, NULL, SAIL, V_SCHEDULE("zb"));
    expect_sized("interleaved_1f1b", 4, 8, 10, "5", SAIL,
                 "!sail-sg interleaves groups of at most D = 4 microbatches, not larger ones; only its scheduled nodes");
    expect_sized("interleaved_1f1b", 4, 8, 9, "3", SAIL, "!sail-sg derives the number of stages from the layers");
}

static void test_exact(void **state)
{
    ppsched_launch_options exact = {.size = sizeof exact, .exact = 1};
    static const char *const planned[] = {"zb_h1", "zbv", "v_1f1b", "interleaved_1f1b"};
    (void)state;
    for (size_t i = 0; i < sizeof planned / sizeof planned[0]; i++) {
        ppsched_schedule *schedule = sized_schedule(planned[i], 4, i == 0 ? 4 : 8, 8, NULL);
        expect_refused(schedule, SAIL, &exact, "sail-sg plans its own order of that kind; only its scheduled nodes");
        ppsched_schedule_release(schedule);
    }
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    expect_line(schedule, SAIL, &exact, SAIL_4);
    expect_line(schedule, MEGATRON, &exact, MEGATRON_4);
    ppsched_schedule_release(schedule);
}

/* --- files --- */

static void test_files(void **state)
{
    static const char *const names[][2] = {
        {"my.csv", "my.csv"},
        {"/a/b-c_d.csv", "/a/b-c_d.csv"},
        {"my file.csv", "'my file.csv'"},
        {"it's.csv", "'it'\\''s.csv'"},
        {"~/a.csv", "'~/a.csv'"},
        {"$HOME;rm.csv", "'$HOME;rm.csv'"},
        {"\xc3\xa4.csv", "'\xc3\xa4.csv'"},
    };
    char line[300];
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        ppsched_launch_options options = {.size = sizeof options, .csv = names[i][0]};
        strcat(strcpy(line, "class=_PipelineScheduleRuntime pp_size=4 num_stages=4 n_microbatches=8 style=loop csv="),
               names[i][1]);
        expect_line(schedule, PYTORCH, &options, strcat(line, " format=compute_only"));
        strcpy(line, TITAN_NAME("PipelineScheduleSingle") " --parallelism.pipeline_parallel_schedule_csv ");
        expect_line(schedule, TORCHTITAN, &options, strcat(strcat(line, names[i][1]), TITAN_END("8")));
        expect_line(schedule, MEGATRON, &options, MEGATRON_4);
    }
    ppsched_launch_options dash = {.size = sizeof dash, .csv = "-x.csv"};
    expect_line(schedule, TORCHTITAN, &dash, TITAN_CSV_OF("PipelineScheduleSingle", "./-x.csv", "8"));
    ppsched_schedule_release(schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_strategy),
        cmocka_unit_test(test_groups_of_megatron),
        cmocka_unit_test(test_groups_beyond_the_microbatches),
        cmocka_unit_test(test_other_orders_of_few_microbatches),
        cmocka_unit_test(test_pairs_of_megatron),
        cmocka_unit_test(test_sizes_of_pytorch),
        cmocka_unit_test(test_one_device),
        cmocka_unit_test(test_memory_of_sail),
        cmocka_unit_test(test_exact),
        cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}
