/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions.py counts under callgrind: each step is a dump of its own, named "STRATEGY STEP OPS".
 *
 * usage: instructions */
#include <ppsched/ppsched.h>

#include <stdio.h>
#include <stdlib.h>

#include <valgrind/callgrind.h>

static void die(const char *what, const char *why)
{
    fprintf(stderr, "instructions: %s: %s\n", what, why);
    exit(1);
}

static void begin(void)
{
    CALLGRIND_ZERO_STATS;
}

static void end(const char *strategy, const char *step, uint64_t ops)
{
    char name[128];
    snprintf(name, sizeof name, "%s %s %llu", strategy, step, (unsigned long long)ops);
    CALLGRIND_DUMP_STATS_AT(name);
}

static int32_t take(void *user, const char *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return 0;
}

static void count_export(const ppsched_schedule *schedule, const ppsched_timeline *timeline, const char *name, int32_t format,
                         const char *step)
{
    ppsched_error error;
    size_t size = 0;
    begin();
    if (ppsched_schedule_export(schedule, timeline, format, NULL, take, &size, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, step, ppsched_schedule_op_count(schedule));
}

static void count_sensitivities(const ppsched_timeline *timeline, const char *name)
{
    ppsched_sensitivity list[64];
    ppsched_error error;
    begin();
    if (ppsched_timeline_get_sensitivities(list, 64, NULL, timeline, PPSCHED_OBJECTIVE_MAKESPAN, 0, NULL, NULL, &error) !=
        PPSCHED_OK)
        die(name, error.message);
    end(name, "sensitivities", ppsched_schedule_op_count(ppsched_timeline_schedule(timeline)));
}

/* All steps after generation. */
static void count_steps(const ppsched_schedule *schedule, const ppsched_config *config, const char *name)
{
    const ppsched_lower_options options = {.size = sizeof options, .lowering = PPSCHED_LOWERING_JUST_IN_TIME};
    const ppsched_channel_model model = {.size = sizeof model, .order = PPSCHED_CHANNEL_ORDER_PAIR};
    const uint64_t ops = ppsched_schedule_op_count(schedule);
    ppsched_timeline *timeline = NULL;
    ppsched_schedule *lowered = NULL;
    ppsched_error error;
    begin();
    if (ppsched_schedule_check(NULL, 0, NULL, schedule, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "check", ops);
    begin();
    if (ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_REUSABLE, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "evaluate_all", ops);
    begin();
    if (ppsched_timeline_update(timeline, config, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "update_all", ops);
    count_sensitivities(timeline, name);
    count_export(schedule, NULL, name, PPSCHED_FORMAT_CSV, "csv");
    count_export(schedule, timeline, name, PPSCHED_FORMAT_JSON, "json");
    ppsched_timeline_destroy(timeline);
    begin();
    if (ppsched_schedule_lower(&lowered, schedule, config, &options, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "lower", ops);
    begin();
    if (ppsched_schedule_prove(NULL, 0, NULL, lowered, &model, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "prove", ops);
    begin();
    if (ppsched_schedule_evaluate_transfers(&timeline, lowered, config, NULL, 0, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "evaluate_transfers", ops);
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(lowered);
}

static ppsched_config *make_config(uint32_t chunks)
{
    ppsched_config *config = NULL;
    ppsched_error error;
    double delay = 0.25;
    if (ppsched_config_create(&config, 8, 8 * (int64_t)chunks, 64, NULL, &error) != PPSCHED_OK ||
        ppsched_config_set_values(config, PPSCHED_QUANTITY_P2P_TIME, &delay, 1, &error) != PPSCHED_OK)
        die("config", error.message);
    return config;
}

static void count_strategy(const ppsched_strategy_info *info)
{
    ppsched_config *config = make_config(info->chunks != 0 ? info->chunks : 2);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_error error;
    if (info->slices == 2 && ppsched_config_set_slices(config, 8, &error) != PPSCHED_OK)
        die(info->name, error.message);
    begin();
    if (ppsched_schedule_generate(&schedule, config, info->name, &error) != PPSCHED_OK)
        die(info->name, error.message);
    end(info->name, "generate", ppsched_schedule_op_count(schedule));
    begin();
    if (ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error) != PPSCHED_OK)
        die(info->name, error.message);
    end(info->name, "evaluate_earliest", ppsched_schedule_op_count(schedule));
    ppsched_timeline_destroy(timeline);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* --- what microbatches and slices that differ cost --- */

enum feature { MICROBATCH_SCALE = 1, SLICES = 2, SLICE_SCALE = 4 };

static void set_factors(ppsched_config *config, int32_t quantity, size_t count)
{
    double factors[64];
    ppsched_error error;
    for (size_t i = 0; i < count; i++)
        factors[i] = 0.5 + (double)(i % 7) / 4;
    if (ppsched_config_set_values(config, quantity, factors, count, &error) != PPSCHED_OK)
        die("factors", error.message);
}

static ppsched_config *make_featured(int features)
{
    ppsched_config *config = make_config(2);
    ppsched_error error;
    if ((features & SLICES) != 0 && ppsched_config_set_slices(config, 4, &error) != PPSCHED_OK)
        die("slices", error.message);
    if ((features & MICROBATCH_SCALE) != 0)
        set_factors(config, PPSCHED_QUANTITY_MICROBATCH_SCALE, 64);
    if ((features & SLICE_SCALE) != 0)
        set_factors(config, PPSCHED_QUANTITY_SLICE_SCALE, 4);
    return config;
}

/* Earliest starts, all of an evaluation, and a scenario. */
static void count_featured(const char *name, int features)
{
    const ppsched_scenario_options options = {.size = sizeof options, .jitter = 0.1};
    ppsched_config *config = make_featured(features);
    ppsched_schedule *schedule = NULL;
    ppsched_timeline *timeline = NULL;
    ppsched_scenarios *scenarios = NULL;
    ppsched_error error;
    if (ppsched_schedule_generate(&schedule, config, "interleaved_1f1b", &error) != PPSCHED_OK)
        die(name, error.message);
    const uint64_t ops = ppsched_schedule_op_count(schedule);
    begin();
    if (ppsched_schedule_evaluate(&timeline, schedule, config, PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "evaluate_earliest", ops);
    ppsched_timeline_destroy(timeline);
    begin();
    if (ppsched_schedule_evaluate(&timeline, schedule, config, 0, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "evaluate_all", ops);
    ppsched_timeline_destroy(timeline);
    begin();
    if (ppsched_schedule_evaluate_scenarios(&scenarios, schedule, config, 256, &options, &error) != PPSCHED_OK)
        die(name, error.message);
    end(name, "scenario", 256 * ops);
    ppsched_scenarios_destroy(scenarios);
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
}

/* --- models --- */

/* As gpt-oss, with layers of two kinds in turn. */
static const char config_json[] = "{\"model_type\": \"gpt_oss\", \"num_hidden_layers\": 36, \"hidden_size\": 2880, "
                                  "\"intermediate_size\": 2880, \"num_attention_heads\": 64, \"num_key_value_heads\": 8, "
                                  "\"head_dim\": 64, \"num_local_experts\": 128, \"num_experts_per_tok\": 4, "
                                  "\"sliding_window\": 128, \"vocab_size\": 201088, \"attention_bias\": true, "
                                  "\"rms_norm_eps\": 1e-05, \"rope_theta\": 150000, \"tie_word_embeddings\": false}";

/* Passes of all rows, one by one. */
static void count_passes(const ppsched_model *model)
{
    uint64_t count = 0;
    begin();
    for (uint32_t row = 0; row < ppsched_model_row_count(model); row++)
        for (int32_t pass = 0; pass <= PPSCHED_MODEL_PASS_WEIGHT; pass++, count++) {
            ppsched_pass_cost cost = {.size = sizeof cost};
            if (ppsched_model_get_pass_cost(&cost, model, row, pass, NULL) != PPSCHED_OK)
                die("model", "no price");
        }
    end("model", "pass", count);
}

/* A file read by the byte, and its layers' costs. */
static void count_model(void)
{
    const ppsched_training training = {.size = sizeof training, .sequence_length = 4096};
    const ppsched_calibration none = {.size = sizeof none};
    const ppsched_description *description = NULL;
    ppsched_model *model = NULL;
    const ppsched_layers *layers = NULL;
    ppsched_error error;
    begin();
    if (ppsched_description_read(&description, config_json, sizeof config_json - 1, NULL, &error) != PPSCHED_OK)
        die("model", error.message);
    end("model", "read", sizeof config_json - 1);
    if (ppsched_model_create(&model, description, &training, ppsched_accelerator_at(0), NULL, &error) != PPSCHED_OK)
        die("model", error.message);
    count_passes(model);
    begin();
    if (ppsched_layers_from_model(&layers, model, &none, &error) != PPSCHED_OK)
        die("model", error.message);
    end("model", "layers", 36);
    ppsched_layers_release(layers);
    ppsched_model_destroy(model);
    ppsched_description_release(description);
}

int main(void)
{
    ppsched_config *config = make_config(2);
    ppsched_schedule *schedule = NULL;
    ppsched_error error;
    for (uint32_t s = 0; s < ppsched_strategy_count(); s++) {
        ppsched_strategy_info info = {.size = sizeof info};
        ppsched_strategy_get_info(&info, s, NULL);
        count_strategy(&info);
    }
    if (ppsched_schedule_generate(&schedule, config, "interleaved_1f1b", &error) != PPSCHED_OK)
        die("interleaved_1f1b", error.message);
    count_steps(schedule, config, "interleaved_1f1b");
    count_featured("alike", 0);
    count_featured("microbatch_scale", MICROBATCH_SCALE);
    count_featured("slices", SLICES);
    count_featured("slices, microbatch_scale, slice_scale", SLICES | MICROBATCH_SCALE | SLICE_SCALE);
    count_model();
    ppsched_schedule_release(schedule);
    ppsched_config_destroy(config);
    return 0;
}
