/* SPDX-License-Identifier: Apache-2.0 */
/* Launch arguments that tell which layers are in which stage, what is recomputed, and the batch sizes; and what runtimes cannot
 * be told. */
#include "support/last.h"
#include "support/launching.h"
#include "support/layered.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A model in stages. */
struct launched {
    const ppsched_layers *model;
    ppsched_split split;
    ppsched_launch_options options;
};

static void prepare(struct launched *out, const ppsched_layers *model, const uint32_t *counts, uint32_t stages,
                    const uint8_t *recomputes)
{
    *out = (struct launched){.model = model, .split = split_of(counts, stages, recomputes)};
    out->options = (ppsched_launch_options){.size = sizeof out->options, .model = model, .split = &out->split};
}

/* The line for a split of make_model(decoders) in the schedule's stages, where the first and the last have their end too. */
static void expect(const ppsched_schedule *schedule, int32_t runtime, uint32_t decoders, const uint32_t *counts,
                   const uint8_t *recomputes, const char *wanted)
{
    const ppsched_layers *model = runtime == SAIL || runtime == MINDSPEED ? make_untied_model(decoders) : make_model(decoders);
    struct launched own;
    prepare(&own, model, counts, ppsched_schedule_stages(schedule), recomputes);
    if (wanted[0] == '!')
        expect_refused(schedule, runtime, &own.options, wanted + 1);
    else
        expect_line(schedule, runtime, &own.options, wanted);
    ppsched_layers_release(model);
}

#define COUNTS(...) ((const uint32_t[]){__VA_ARGS__})
#define KINDS(...) ((const uint8_t[]){__VA_ARGS__})
#define MEGATRON_4 "--pipeline-model-parallel-size 4 --num-layers "

/* --- Megatron-LM --- */

static void test_megatron_splits(void **state)
{
    ppsched_schedule *plain = sized_schedule("1f1b", 4, 4, 8, NULL), *two = sized_schedule("1f1b", 2, 2, 8, NULL);
    ppsched_schedule *looped = sized_schedule("interleaved_1f1b", 4, 8, 8, NULL);
    (void)state;
    expect(plain, MEGATRON, 8, COUNTS(3, 2, 2, 3), NULL, MEGATRON_4 "8");
    expect(plain, MEGATRON, 7, COUNTS(2, 2, 2, 3), NULL, MEGATRON_4 "7 --decoder-first-pipeline-num-layers 1");
    expect(plain, MEGATRON, 9, COUNTS(3, 2, 2, 4), NULL, MEGATRON_4 "9 --decoder-last-pipeline-num-layers 3");
    expect(plain, MEGATRON, 8, COUNTS(2, 3, 3, 2), NULL,
           MEGATRON_4 "8 --decoder-first-pipeline-num-layers 1 --decoder-last-pipeline-num-layers 1");
    expect(plain, MEGATRON, 8, COUNTS(3, 3, 1, 3), NULL, MEGATRON_4 "8 --pipeline-model-parallel-layout 'Ett|t*3|t|ttL'");
    expect(plain, MEGATRON, 6, COUNTS(3, 3, 0, 2), NULL, MEGATRON_4 "6 --pipeline-model-parallel-layout 'Ett|t*3||tL'");
    expect(plain, MEGATRON, 8, COUNTS(5, 0, 0, 5), NULL, MEGATRON_4 "8 --pipeline-model-parallel-layout 'Et*4|*3t*4L'");
    expect(two, MEGATRON, 7, COUNTS(5, 4), NULL,
           "--pipeline-model-parallel-size 2 --num-layers 7 --pipeline-model-parallel-layout 'Et*4|t*3L'");
    expect(looped, MEGATRON, 16, COUNTS(3, 2, 2, 2, 2, 2, 2, 3), NULL,
           MEGATRON_4 "16 --num-virtual-stages-per-pipeline-rank 2");
    expect(looped, MEGATRON, 7, COUNTS(2, 1, 1, 1, 1, 1, 1, 1), NULL,
           MEGATRON_4 "7 --pipeline-model-parallel-layout 'E(t|)*7L'");
    ppsched_schedule_release(looped);
    ppsched_schedule_release(two);
    ppsched_schedule_release(plain);
}

static void test_megatron_recomputes(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    const uint32_t *even = COUNTS(3, 2, 2, 3);
    (void)state;
    expect(schedule, MEGATRON, 8, even, KINDS(0, 1, 1, 1, 1, 1, 1, 1, 1, 0), MEGATRON_4 "8 --recompute-granularity selective");
    expect(schedule, MEGATRON, 8, even, KINDS(0, 2, 2, 2, 2, 2, 2, 2, 2, 0),
           MEGATRON_4 "8 --recompute-granularity full --recompute-method block --recompute-num-layers 2");
    expect(schedule, MEGATRON, 8, even, KINDS(0, 2, 0, 2, 0, 2, 0, 2, 0, 0),
           MEGATRON_4 "8 --recompute-granularity full --recompute-method block --recompute-num-layers 1");
    expect(schedule, MEGATRON, 7, COUNTS(2, 2, 2, 3), KINDS(0, 2, 2, 2, 2, 2, 2, 2, 0),
           MEGATRON_4 "7 --decoder-first-pipeline-num-layers 1 --recompute-granularity full --recompute-method block "
                      "--recompute-num-layers 2");
    const char *cannot = "!Megatron-LM recomputes the first N decoders of each stage (kind \"full\") or all decoders and MTP "
                         "layers (kind \"selective\"), not these: layer ";
    expect(schedule, MEGATRON, 8, even, KINDS(0, 0, 2, 2, 0, 2, 0, 2, 0, 0), cannot);
    expect(schedule, MEGATRON, 8, even, KINDS(0, 2, 0, 2, 0, 2, 0, 0, 0, 0), cannot);
    expect(schedule, MEGATRON, 8, even, KINDS(0, 1, 2, 2, 2, 2, 2, 2, 2, 0), cannot);
    expect(schedule, MEGATRON, 8, even, KINDS(0, 1, 0, 1, 0, 1, 0, 1, 0, 0), cannot);
    ppsched_schedule_release(schedule);
}

/* Of a kind that a runtime has no word for the first layer that has it is named. */
static void test_kinds_of_no_runtime(void **state)
{
    const ppsched_recompute kind = {"own", 0.5, 0.25};
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST),
                                     LAYER("decoder", .count = 6, .mem_forward = 1, .recomputes = &kind, .recompute_count = 1),
                                     LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST)};
    static const int32_t runtimes[] = {MEGATRON, TORCHTITAN, PRIMUS};
    const ppsched_layers *model = make_layers(entries, 3);
    ppsched_schedule *schedule = sized_schedule("1f1b", 2, 2, 8, NULL);
    struct launched own;
    (void)state;
    for (size_t i = 0; i < sizeof runtimes / sizeof runtimes[0]; i++) {
        prepare(&own, model, COUNTS(4, 4), 2, KINDS(0, 0, 0, 1, 1, 1, 1, 0));
        expect_refused(schedule, runtimes[i], &own.options, "not these: layer 3 (decoder) has another kind; ");
    }
    ppsched_layers_release(model);
    ppsched_schedule_release(schedule);
}

static void test_mtp(void **state)
{
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST), LAYER("decoder", .count = 8),
                                     LAYER("mtp"), LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST)};
    const ppsched_layers *model = make_layers(entries, 4);
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    struct launched own;
    (void)state;
    prepare(&own, model, COUNTS(3, 2, 2, 4), 4, NULL);
    expect_line(schedule, MEGATRON, &own.options,
                MEGATRON_4 "8 --mtp-num-layers 1 --pipeline-model-parallel-layout 'E(tt|)*3ttmL'");
    expect_line(schedule, DEEPSPEED, &own.options, "num_stages=4 gradient_accumulation_steps=8 parts=0,3,5,7,11");
    expect_refused(schedule, TORCHTITAN, &own.options,
                   "torchtitan has no arguments for MTP layers; leave them out; megatron, pytorch, deepspeed");
    expect_refused(schedule, SAIL, &own.options,
                   "sail-sg's runtime has no arguments for MTP layers; leave them out; megatron, ");
    expect_refused(schedule, PRIMUS, &own.options, "Primus has no arguments for MTP layers; leave them out; megatron, ");
    prepare(&own, model, COUNTS(3, 2, 2, 4), 4, NULL);
    ppsched_layers_release(model);
    ppsched_schedule_release(schedule);
}

/* Two stages of ends alone, which no runtime that counts decoders has. */
static void test_no_decoders(void **state)
{
    static const bool takes_list[] = {[PYTORCH] = true, [DEEPSPEED] = true, [JAXPP] = true, [LAST_RUNTIME + 1] = false};
    const ppsched_layer entries[] = {LAYER("embedding", .place = PPSCHED_LAYER_PLACE_FIRST),
                                     LAYER("head", .place = PPSCHED_LAYER_PLACE_LAST)};
    const ppsched_layers *model = make_layers(entries, 2);
    ppsched_schedule *schedule = sized_schedule("1f1b", 2, 2, 8, NULL);
    struct launched own;
    (void)state;
    prepare(&own, model, COUNTS(1, 1), 2, NULL);
    for (int32_t runtime = 1; runtime <= LAST_RUNTIME; runtime++)
        if (takes_list[runtime])
            free(line_with(schedule, runtime, &own.options, PPSCHED_OK));
        else
            expect_refused(schedule, runtime, &own.options,
                           runtime == MINDSPEED
                               ? "DualPipeV, and this order differs"
                               : " divides decoders, and the model has none; pytorch, deepspeed and jaxpp can run it");
    ppsched_schedule_release(schedule);
    ppsched_layers_release(model);
}

/* --- the others --- */

#define TITAN_4 "--parallelism.pipeline_parallel_degree 4 --parallelism.pipeline_parallel_schedule "
#define TITAN_END                                                                                                              \
    " --training.local_batch_size 8 --parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs"
#define NONE " activation-checkpoint:none"
#define MODULES " --parallelism.module_fqns_per_model_part "
#define FIRST " --parallelism.pipeline_parallel_first_stage_less_layers "
#define LAST " --parallelism.pipeline_parallel_last_stage_less_layers "

static void test_torchtitan(void **state)
{
    ppsched_schedule *single = sized_schedule("1f1b", 4, 4, 8, NULL),
                     *looped = sized_schedule("interleaved_1f1b", 4, 12, 8, NULL);
    (void)state;
    expect(single, TORCHTITAN, 8, COUNTS(3, 2, 2, 3), NULL, TITAN_4 "1F1B" FIRST "0" LAST "0" TITAN_END NONE);
    expect(single, TORCHTITAN, 6, COUNTS(2, 2, 2, 2), NULL, TITAN_4 "1F1B" TITAN_END NONE);
    expect(single, TORCHTITAN, 7, COUNTS(2, 2, 2, 3), NULL, TITAN_4 "1F1B" LAST "0" TITAN_END NONE);
    expect(single, TORCHTITAN, 9, COUNTS(4, 3, 2, 2), NULL, TITAN_4 "1F1B" FIRST "0" TITAN_END NONE);
    /* as few as the rule allows: an end with no decoder, and as many decoders as stages */
    expect(single, TORCHTITAN, 6, COUNTS(1, 2, 2, 3), NULL, TITAN_4 "1F1B" FIRST "2" LAST "0" TITAN_END NONE);
    expect(single, TORCHTITAN, 6, COUNTS(3, 2, 2, 1), NULL, TITAN_4 "1F1B" FIRST "0" TITAN_END NONE);
    expect(single, TORCHTITAN, 4, COUNTS(2, 1, 1, 2), NULL, TITAN_4 "1F1B" FIRST "0" LAST "0" TITAN_END NONE);
    expect(looped, TORCHTITAN, 22, COUNTS(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), NULL,
           TITAN_4 "Interleaved1F1B --parallelism.pipeline_parallel_layers_per_stage 2" TITAN_END NONE);
    /* the split is the reason, not that no number of layers a stage makes 12 stages */
    expect(looped, TORCHTITAN, 31, COUNTS(3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 0, 3), NULL,
           "!torchtitan needs a layer on each stage; stage 10 has none; ");
    ppsched_schedule_release(looped);
    ppsched_schedule_release(single);
}

/* Splits that no flags make. */
static void test_torchtitan_lists_modules(void **state)
{
    ppsched_schedule *single = sized_schedule("1f1b", 4, 4, 8, NULL), *v = sized_schedule("v_half", 2, 4, 4, NULL);
    ppsched_schedule *looped = sized_schedule("interleaved_1f1b", 2, 6, 4, NULL);
    const ppsched_layer bare[] = {LAYER("decoder", .count = 9)};
    const ppsched_layers *plain = make_layers(bare, 1);
    struct launched own;
    (void)state;
    expect(
        single, TORCHTITAN, 8, COUNTS(2, 1, 3, 4), NULL,
        TITAN_4
        "1F1B" MODULES
        "tok_embeddings,layers.0 layers.1 layers.2,layers.3,layers.4 layers.5,layers.6,layers.7,norm,lm_head" TITAN_END NONE);
    expect(single, TORCHTITAN, 8, COUNTS(1, 5, 3, 1), KINDS(0, 2, 2, 2, 2, 2, 2, 2, 2, 0),
           TITAN_4
           "1F1B" MODULES
           "tok_embeddings layers.0,layers.1,layers.2,layers.3,layers.4 layers.5,layers.6,layers.7 norm,lm_head" TITAN_END
           " activation-checkpoint:full");
    expect(
        looped, TORCHTITAN, 7, COUNTS(2, 1, 1, 1, 3, 1), NULL,
        "--parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule Interleaved1F1B" MODULES
        "tok_embeddings,layers.0 layers.1 layers.2 layers.3 layers.4,layers.5,layers.6 norm,lm_head "
        "--training.local_batch_size 4 --parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs" NONE);
    prepare(&own, plain, COUNTS(1, 3, 4, 1), 4, NULL);
    own.options.csv = "v.csv";
    own.split = split_of(COUNTS(1, 3, 4, 1), 4, NULL);
    expect_line(
        v, TORCHTITAN, &own.options,
        "--parallelism.pipeline_parallel_degree 2 --parallelism.pipeline_parallel_schedule ZBVZeroBubble "
        "--parallelism.pipeline_parallel_schedule_csv v.csv" MODULES
        "tok_embeddings,layers.0 layers.1,layers.2,layers.3 layers.4,layers.5,layers.6,layers.7 layers.8,norm,lm_head "
        "--training.local_batch_size 4 --parallelism.pipeline_parallel_microbatch_size 1 --training.disable_cuda_graphs");
    ppsched_layers_release(plain);
    ppsched_schedule_release(looped);
    ppsched_schedule_release(v);
    ppsched_schedule_release(single);
}

/* A command behind the options, where layers have kinds at all. */
static void test_torchtitan_recomputes(void **state)
{
    ppsched_schedule *single = sized_schedule("1f1b", 4, 4, 8, NULL);
    (void)state;
    expect(single, TORCHTITAN, 6, COUNTS(2, 2, 2, 2), KINDS(0, 2, 2, 2, 2, 2, 2, 0),
           TITAN_4 "1F1B" TITAN_END " activation-checkpoint:full");
    expect(single, TORCHTITAN, 6, COUNTS(2, 2, 2, 2), KINDS(0, 1, 1, 1, 1, 1, 1, 0),
           TITAN_4 "1F1B" TITAN_END " activation-checkpoint:selective");
    expect(
        single, TORCHTITAN, 6, COUNTS(2, 2, 2, 2), KINDS(0, 2, 2, 2, 2, 2, 1, 0),
        "!torchtitan recomputes all decoders (kind \"full\" or \"selective\"), not these: layer 6 (decoder) has another kind; "
        "give recompute kinds of these names, and plan for this runtime; ");
    ppsched_schedule_release(single);
}

static void test_lists_of_layers(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    const uint32_t *counts = COUNTS(1, 4, 2, 3), *empty = COUNTS(1, 4, 0, 5);
    const uint8_t *any = KINDS(0, 1, 2, 0, 0, 1, 0, 0, 0, 0), *all = KINDS(0, 2, 2, 2, 2, 2, 2, 2, 2, 0);
    (void)state;
    expect(schedule, DEEPSPEED, 8, counts, NULL, "num_stages=4 gradient_accumulation_steps=8 parts=0,1,5,7,10");
    expect(schedule, DEEPSPEED, 8, counts, all,
           "num_stages=4 gradient_accumulation_steps=8 parts=0,1,5,7,10 activation_checkpoint_interval=1 "
           "checkpointable_layers=decoder");
    expect(schedule, DEEPSPEED, 8, counts, any, "!DeepSpeed recomputes all layers of a name (kind \"full\"), not these: ");
    expect(schedule, DEEPSPEED, 8, empty, NULL, "!DeepSpeed needs a layer on each stage; stage 2 has none; ");
    expect(schedule, PYTORCH, 8, empty, any,
           "class=Schedule1F1B pp_size=4 num_stages=4 n_microbatches=8 style=loop layers_per_stage=1,4,0,5");
    expect(schedule, JAXPP, 8, empty, any, "class=Std1F1B num_stages=4 n_mubatches=8");
    ppsched_schedule_release(schedule);
}

/* What the argument checks of these two refuse. */
static void test_tied_weights(void **state)
{
    static const struct {
        const char *strategy;
        int32_t runtime;
        uint32_t slices;
        const char *title;
    } rows[] = {{"zb_h1", SAIL, 1, "sail-sg"},
                {"1f1b", SAIL, 1, "sail-sg"},
                {"seq_1f1b", SAIL, 2, "sail-sg"},
                {"dualpipe_v", MINDSPEED, 1, "MindSpeed"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t stages = rows[i].runtime == MINDSPEED ? 4 : 2;
        const uint32_t *counts = stages == 4 ? COUNTS(2, 1, 1, 2) : COUNTS(3, 3);
        const ppsched_layers *tied = make_model(4), *untied = make_untied_model(4);
        ppsched_config *config = make_config(2, stages, 8);
        char line[400], wanted[200];
        struct launched own;
        expect_ok(ppsched_config_set_slices(config, rows[i].slices, NULL), NULL);
        ppsched_schedule *schedule = make_schedule(config, rows[i].strategy);
        prepare(&own, untied, counts, stages, NULL);
        expect_ok(
            ppsched_schedule_write_launch_arguments(line, sizeof line, NULL, schedule, rows[i].runtime, &own.options, NULL),
            NULL);
        prepare(&own, tied, counts, stages, NULL);
        snprintf(wanted, sizeof wanted, "%s needs untied weights, and the last stage's are tied to layer entry 0 (embedding); ",
                 rows[i].title);
        expect_refused(schedule, rows[i].runtime, &own.options, wanted);
        ppsched_schedule_release(schedule);
        ppsched_config_destroy(config);
        ppsched_layers_release(untied);
        ppsched_layers_release(tied);
    }
}

/* Where neither the order nor what is recomputed can be told, the order is the reason. */
static void test_order_comes_first(void **state)
{
    ppsched_schedule *v = sized_schedule("zbv", 2, 4, 8, NULL), *plain = sized_schedule("1f1b", 2, 2, 8, NULL);
    (void)state;
    expect(v, MEGATRON, 4, COUNTS(2, 1, 1, 2), KINDS(0, 1, 2, 0, 0, 0), "!Megatron-LM runs 1F1B orders: ");
    expect(plain, MEGATRON, 4, COUNTS(3, 3), KINDS(0, 1, 2, 0, 0, 0),
           "!Megatron-LM recomputes the first N decoders of each stage");
    ppsched_schedule_release(plain);
    ppsched_schedule_release(v);
}

#define PRIMUS_4 "--pipeline_model_parallel_size 4 --num_layers "
#define PRIMUS_END " --patch_primus_pipeline True --pp_algorithm "

static void test_even_ones(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL),
                     *looped = sized_schedule("interleaved_1f1b", 4, 8, 8, "4");
    ppsched_schedule *v = sized_schedule("dualpipe_v", 4, 8, 8, NULL);
    const uint32_t *even = COUNTS(3, 2, 2, 3), *uneven = COUNTS(2, 3, 2, 3), *eight = COUNTS(2, 1, 1, 1, 1, 1, 1, 2);
    const uint8_t *all = KINDS(0, 2, 2, 2, 2, 2, 2, 2, 2, 0);
    (void)state;
    expect(schedule, SAIL, 8, even, NULL, MEGATRON_4 "8 --enable-zb-runtime");
    expect(schedule, SAIL, 8, even, all,
           MEGATRON_4 "8 --enable-zb-runtime --recompute-granularity full --recompute-method block --recompute-num-layers 2");
    expect(looped, SAIL, 8, eight, NULL,
           MEGATRON_4 "8 --enable-zb-runtime --num-layers-per-virtual-pipeline-stage 1 --interleave-group-size 4");
    expect(schedule, SAIL, 8, uneven, NULL,
           "!sail-sg's runtime divides decoders evenly; the split has 1 of them in stage 0 and another number in other stages; "
           "megatron, torchtitan, pytorch, deepspeed, primus, colossalai and jaxpp can run it");
    expect(schedule, PRIMUS, 8, even, NULL,
           "--pipeline_model_parallel_size 4 --num_layers 8 --patch_primus_pipeline True --pp_algorithm 1f1b");
    expect(schedule, COLOSSALAI, 8, even, NULL, "pp_size=4 pp_style=1f1b num_microbatches=8");
    expect(
        v, MINDSPEED, 8, eight, NULL,
        "--pipeline-model-parallel-size 4 --schedules-method dualpipev --dualpipev-dw-detach --moe-fb-overlap --num-layers 8");
    expect(v, MINDSPEED, 9, COUNTS(3, 1, 1, 1, 1, 1, 1, 2), NULL, "!MindSpeed divides decoders evenly; ");
    ppsched_schedule_release(v);
    ppsched_schedule_release(looped);
    ppsched_schedule_release(schedule);
}

static void test_primus(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL), *v = sized_schedule("zbv", 4, 8, 8, NULL);
    ppsched_schedule *looped = sized_schedule("interleaved_1f1b", 4, 8, 8, "4");
    const uint32_t *eight = COUNTS(2, 1, 1, 1, 1, 1, 1, 2), *uneven = COUNTS(1, 2, 1, 1, 1, 1, 1, 2);
    const uint8_t *first = KINDS(0, 2, 0, 2, 0, 2, 0, 2, 0, 0), *all = KINDS(0, 2, 2, 2, 2, 2, 2, 2, 2, 0);
    (void)state;
    expect(schedule, PRIMUS, 8, COUNTS(2, 3, 3, 2), NULL,
           PRIMUS_4 "8 --decoder_first_pipeline_num_layers 1 --decoder_last_pipeline_num_layers 1" PRIMUS_END "1f1b");
    expect(schedule, PRIMUS, 8, COUNTS(3, 3, 1, 3), NULL,
           PRIMUS_4 "8 --pipeline_model_parallel_layout 'Ett|t*3|t|ttL'" PRIMUS_END "1f1b");
    expect(schedule, PRIMUS, 8, COUNTS(3, 2, 2, 3), first,
           PRIMUS_4 "8" PRIMUS_END "1f1b --recompute_granularity full --recompute_method block --recompute_num_layers 1");
    expect(looped, PRIMUS, 8, eight, NULL, PRIMUS_4 "8 --num_virtual_stages_per_pipeline_rank 2" PRIMUS_END "1f1b-interleaved");
    expect(looped, PRIMUS, 8, uneven, NULL,
           PRIMUS_4 "8 --pipeline_model_parallel_layout 'E|tt|(t|)*5tL'" PRIMUS_END "1f1b-interleaved");
    expect(v, PRIMUS, 8, eight, NULL, PRIMUS_4 "8 --num_virtual_stages_per_pipeline_rank 2" PRIMUS_END "zbv-formatted");
    expect(v, PRIMUS, 8, uneven, NULL,
           "!Primus divides decoders evenly on a v, as it numbers the layers of a layout as on a loop; the split has 0 of ");
    expect(v, PRIMUS, 8, eight, all, "!Primus's zbv-formatted is not known to recompute layers; 1f1b, 1f1b-interleaved and ");
    ppsched_schedule_release(looped);
    ppsched_schedule_release(v);
    ppsched_schedule_release(schedule);
}

/* Lists of stages; of chunks where a v goes back. */
static void test_colossalai(void **state)
{
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL), *v = sized_schedule("zbv", 2, 4, 8, NULL);
    ppsched_schedule *looped = sized_schedule("interleaved_1f1b", 2, 4, 8, "2");
    const uint32_t *even = COUNTS(3, 2, 2, 3), *uneven = COUNTS(2, 3, 2, 3);
    const uint8_t *some = KINDS(0, 2, 2, 2, 0, 0, 0, 2, 0, 0);
    (void)state;
    expect(schedule, COLOSSALAI, 8, uneven, NULL, "pp_size=4 pp_style=1f1b num_microbatches=8 num_layers_per_stage=1,3,2,2");
    expect(schedule, COLOSSALAI, 8, even, some, "pp_size=4 pp_style=1f1b num_microbatches=8 num_ckpt_layers_per_stage=2,1,0,1");
    expect(looped, COLOSSALAI, 8, even, some,
           "pp_size=2 pp_style=interleaved num_model_chunks=2 num_microbatches=8 num_ckpt_layers_per_stage=2,1,0,1");
    expect(v, COLOSSALAI, 8, even, some,
           "pp_size=2 pp_style=zbv num_model_chunks=2 num_microbatches=8 num_ckpt_layers_per_stage=2,1,1,0 "
           "scheduler_nodes=schedule.csv");
    expect(looped, COLOSSALAI, 8, uneven, NULL,
           "pp_size=2 pp_style=interleaved num_model_chunks=2 num_microbatches=8 stage_manager.num_layers_per_stage=1,3,2,2");
    expect(v, COLOSSALAI, 8, uneven, some,
           "pp_size=2 pp_style=zbv num_model_chunks=2 num_microbatches=8 stage_manager.num_layers_per_stage=1,3,2,2 "
           "num_ckpt_layers_per_stage=1,2,1,0 scheduler_nodes=schedule.csv");
    expect(schedule, COLOSSALAI, 8, even, KINDS(0, 2, 0, 0, 2, 0, 0, 2, 0, 0),
           "!Colossal-AI recomputes the first N decoders of each stage (kind \"full\"), not these: layer 3 (decoder) is not "
           "recomputed; ");
    ppsched_schedule_release(looped);
    ppsched_schedule_release(v);
    ppsched_schedule_release(schedule);
}

/* --- batch sizes --- */

static void test_batches(void **state)
{
    static const char *const wanted[] = {
        [MEGATRON] = "--pipeline-model-parallel-size 4 --micro-batch-size 2 --global-batch-size 48",
        [TORCHTITAN] = TITAN_4 "1F1B --training.local_batch_size 16 --parallelism.pipeline_parallel_microbatch_size 2 "
                               "--training.disable_cuda_graphs",
        [PYTORCH] = "class=Schedule1F1B pp_size=4 num_stages=4 n_microbatches=8 style=loop",
        [DEEPSPEED] = "num_stages=4 gradient_accumulation_steps=8 train_micro_batch_size_per_gpu=2",
        [SAIL] = "--pipeline-model-parallel-size 4 --enable-zb-runtime --micro-batch-size 2 --global-batch-size 48",
        [PRIMUS] = "--pipeline_model_parallel_size 4 --patch_primus_pipeline True --pp_algorithm 1f1b --micro_batch_size 2 "
                   "--global_batch_size 48"};
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    ppsched_launch_options options = {.size = sizeof options, .micro_batch = 2, .data_parallel = 3};
    (void)state;
    for (int32_t runtime = MEGATRON; runtime <= PRIMUS; runtime++)
        expect_line(schedule, runtime, &options, wanted[runtime]);
    options.data_parallel = 0;
    expect_line(schedule, MEGATRON, &options, "--pipeline-model-parallel-size 4 --micro-batch-size 2 --global-batch-size 16");
    options.micro_batch = UINT32_MAX / 8;
    expect_line(schedule, MEGATRON, &options,
                "--pipeline-model-parallel-size 4 --micro-batch-size 536870911 --global-batch-size 4294967288");
    options.data_parallel = 2;
    char *message = line_with(schedule, MEGATRON, &options, PPSCHED_ERROR_RANGE);
    assert_string_equal(message, "a batch of 8 microbatches of 536870911 on 2 replicas is too large");
    free(message);
    ppsched_schedule_release(schedule);
}

/* --- bad options --- */

static void expect_bad(const ppsched_schedule *schedule, const ppsched_launch_options *options, ppsched_status status,
                       const char *wanted)
{
    char *message = line_with(schedule, MEGATRON, options, status);
    assert_string_equal(message, wanted);
    free(message);
}

static void test_bad_options(void **state)
{
    const ppsched_layers *model = make_model(8);
    ppsched_schedule *schedule = sized_schedule("1f1b", 4, 4, 8, NULL);
    struct launched own;
    (void)state;
    prepare(&own, model, COUNTS(3, 2, 2, 3), 4, NULL);
    own.options.layers = 8;
    expect_line(schedule, MEGATRON, &own.options, MEGATRON_4 "8");
    own.options.layers = 9;
    expect_bad(schedule, &own.options, PPSCHED_ERROR_ARGUMENT, "layers is 9, but the model has 8 decoders");
    own.options.layers = 0;
    own.options.reserved = 1;
    expect_bad(schedule, &own.options, PPSCHED_ERROR_ARGUMENT, "reserved is not 0");
    own.options.reserved = 0;
    own.options.split = NULL;
    expect_bad(schedule, &own.options, PPSCHED_ERROR_ARGUMENT, "model and split must both be given, or neither");
    prepare(&own, model, COUNTS(3, 2, 5), 3, NULL);
    expect_bad(schedule, &own.options, PPSCHED_ERROR_MISMATCH,
               "the split has 3 stages, the schedule has 4; they must be equal");
    prepare(&own, model, COUNTS(3, 2, 2, 2), 4, NULL);
    expect_bad(schedule, &own.options, PPSCHED_ERROR_RANGE, "split: its stages have 9 layers; the model has 10");
    own.split.layers = NULL;
    expect_bad(schedule, &own.options, PPSCHED_ERROR_ARGUMENT, "the split has no list of layers");
    own.split.size = 1;
    char *message = line_with(schedule, MEGATRON, &own.options, PPSCHED_ERROR_STRUCT_SIZE);
    free(message);
    ppsched_schedule_release(schedule);
    ppsched_layers_release(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_megatron_splits),
        cmocka_unit_test(test_megatron_recomputes),
        cmocka_unit_test(test_kinds_of_no_runtime),
        cmocka_unit_test(test_mtp),
        cmocka_unit_test(test_no_decoders),
        cmocka_unit_test(test_torchtitan),
        cmocka_unit_test(test_torchtitan_lists_modules),
        cmocka_unit_test(test_torchtitan_recomputes),
        cmocka_unit_test(test_lists_of_layers),
        cmocka_unit_test(test_even_ones),
        cmocka_unit_test(test_tied_weights),
        cmocka_unit_test(test_order_comes_first),
        cmocka_unit_test(test_primus),
        cmocka_unit_test(test_colossalai),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_bad_options),
    };
    return cmocka_run_group_tests_name("launch_layers", tests, NULL, NULL);
}
