/* SPDX-License-Identifier: Apache-2.0 */
/* What ppsched.wasm is without, in the place of the library's own: plans of layers and their splits, measured costs, windows
 * and offload of prices, devices of several types, adapters, searches for the order of devices, scenarios, lowering, and formats of runtimes, none of which ppsched.mjs gives out. Linked before the
 * library, so that the linker takes nothing behind these doors. A door that a number could open says that it is shut; the
 * others are behind a pointer that nobody can make here. */
#include "base/error.h"
#include "format/formats.h"
#include "launch/layers.h"
#include "bound/web.h"
#include "channel/evaluate_transfers.h"
#include "check/check.h"
#include "eval/timeline.h"
#include "job/job.h"
#include "lower/lower.h"
#include "model/table.h"
#include "model/windows.h"
#include "offload/undelayed.h"
#include "pair/layers.h"
#include "plan/plan.h"
#include "price/price.h"
#include "scenario/scenario.h"
#include "search/explore.h"
#include "split/load.h"
#include "split/split_search.h"
#include "steady/steady.h"
#include "ir/stage_graph.h"
#include "strategy/searches/auto_graph.h"
#include "strategy/searches/auto_jobs.h"

static ppsched_status lacks(const char *what, ppsched_error *error)
{
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "ppsched.wasm is without %s; the library itself has them", what);
}

/* --- lowering --- */

ppsched_status ppi_lower(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                         const ppsched_lower_options *options, ppsched_error *error)
{
    (void)out, (void)schedule, (void)config, (void)options;
    return lacks("lowerings", error);
}

ppsched_status ppi_lower_takes_graph(const struct ppi_stage_graph *graph, const ppsched_lower_options *options,
                                     ppsched_error *error)
{
    (void)graph, (void)options, (void)error;
    return PPSCHED_OK; /* ppi_lower refuses */
}

ppsched_status ppi_evaluate_transfers(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                      const ppsched_channel_model *model, ppsched_error *error)
{
    (void)out, (void)schedule, (void)config, (void)model, (void)error;
    __builtin_trap();
}

/* --- steady states: plans time all ops --- */

ppsched_status ppi_steady_make(struct ppsched_steady *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                               const struct ppi_steady_options *options, ppsched_error *error)
{
    (void)strategy, (void)config, (void)options, (void)error;
    *out = (struct ppsched_steady){.timeline = NULL};
    return PPSCHED_OK;
}

void ppi_steady_clear(struct ppsched_steady *steady)
{
    (void)steady;
}

/* --- measured costs: ppsched.mjs gives no layer table --- */

ppsched_status ppi_model_measure(ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error)
{
    (void)model, (void)table;
    return lacks("layer tables", error);
}

void ppi_measured_pass(ppsched_pass_cost *cost, const ppsched_model *model, uint32_t row, int32_t pass)
{
    (void)cost, (void)model, (void)row, (void)pass;
    __builtin_trap();
}

void ppi_measured_memory(ppsched_layer_memory *memory, const ppsched_model *model, uint32_t row)
{
    (void)memory, (void)model, (void)row;
    __builtin_trap();
}

ppsched_status ppi_job_take_table(ppsched_job *job, const ppsched_layer_table *table, ppsched_error *error)
{
    (void)job, (void)table;
    return lacks("layer tables", error);
}

const ppsched_layer_table *ppi_job_table(const ppsched_job *job)
{
    (void)job;
    return NULL;
}

ppsched_status ppi_job_check_open_sizes(const ppsched_job *job, ppsched_error *error)
{
    (void)job, (void)error;
    return PPSCHED_OK;
}

/* --- copies priced by walking queues: evaluations give the same figures --- */

ppsched_status ppi_undelayed_make(struct ppi_placing *placing, ppsched_error *error)
{
    (void)placing, (void)error;
    return PPSCHED_OK;
}

void ppi_undelayed_clear(struct ppi_placing *placing)
{
    (void)placing;
}

bool ppi_price_undelayed(double *peaks, const struct ppi_placing *placing, const ppsched_schedule *schedule)
{
    (void)peaks, (void)placing, (void)schedule;
    return false;
}

bool ppi_price_delayed(double *peaks, ppsched_span *extents, double *step, struct ppi_placing *placing,
                       const ppsched_schedule *schedule)
{
    (void)peaks, (void)extents, (void)step, (void)placing, (void)schedule;
    return false;
}

void ppi_take_delayed(struct ppi_placing *placing)
{
    (void)placing;
    __builtin_trap();
}

void ppi_set_extents(ppsched_timeline *timeline, const ppsched_span *extents)
{
    (void)timeline, (void)extents;
    __builtin_trap();
}

bool ppi_is_over_anyway(struct ppi_placing *placing, const ppsched_schedule *schedule)
{
    (void)placing, (void)schedule;
    return false;
}

/* --- the caller's own devices, and adapters: a job's devices are the library's, and its training has none --- */

ppsched_status ppi_model_check_device(const ppsched_accelerator *device, ppsched_error *error)
{
    (void)device, (void)error;
    return PPSCHED_OK;
}

void ppi_put_adapters(struct ppi_ops *ops, const struct ppi_site *site)
{
    (void)ops, (void)site;
    __builtin_trap();
}

/* --- devices of several types --- */

ppsched_status ppi_job_take_types(ppsched_job *job, const ppsched_description *description, const ppsched_training *alone,
                                  const ppsched_job_options *options, ppsched_error *error)
{
    (void)job, (void)description, (void)alone, (void)options;
    return lacks("types of devices", error);
}

uint32_t ppi_job_type_orders(const ppsched_job *job)
{
    (void)job;
    return 1;
}

const struct ppi_pipeline_types *ppi_job_put_types(struct ppi_job_costs *costs, const ppsched_job *job,
                                                   const ppsched_job_layout *layout)
{
    (void)costs, (void)job, (void)layout;
    return NULL;
}

bool ppi_job_types_divide(const ppsched_job *job, uint32_t each)
{
    (void)job, (void)each;
    return true;
}

ppsched_status ppi_job_tell_types(const ppsched_job *job, ppsched_error *error)
{
    (void)job;
    return lacks("types of devices", error);
}

uint32_t ppi_pricing_type(const struct ppi_pipeline_types *types, uint32_t device)
{
    (void)types, (void)device;
    return 0;
}

uint32_t ppi_pricing_layer_type(const struct ppi_pipeline_types *types, uint32_t device)
{
    (void)types, (void)device;
    return 0;
}

const struct ppi_priced_model *ppi_pricing_made(const struct ppi_pricing *pricing, uint32_t device)
{
    (void)device;
    return pricing->made;
}

ppsched_status ppi_types_join(struct ppi_priced_model *made, uint32_t count, double devices, ppsched_error *error)
{
    (void)made, (void)count, (void)devices;
    return lacks("types of devices", error);
}

ppsched_status ppi_types_set(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    (void)config, (void)pricing;
    return lacks("types of devices", error);
}

ppsched_status ppi_types_set_limits(ppsched_config *config, const struct ppi_pricing *pricing, double beside,
                                    ppsched_error *error)
{
    (void)config, (void)pricing, (void)beside;
    return lacks("types of devices", error);
}

ppsched_status ppi_types_set_links(ppsched_config *config, const struct ppi_pricing *pricing, ppsched_error *error)
{
    (void)config, (void)pricing;
    return lacks("types of devices", error);
}

/* --- windows and offload of prices: a search of layouts refuses windows, and recomputes instead --- */

bool ppi_model_has_windows(const ppsched_model *model)
{
    (void)model;
    return false;
}

void ppi_model_windows(ppsched_pair_windows *out, const ppsched_model *model, uint32_t row, struct ppi_arena *arena)
{
    (void)out, (void)model, (void)row, (void)arena;
    __builtin_trap();
}

ppsched_status ppi_config_put_layer_windows(ppsched_config *config, const ppsched_layers *layers, const ppsched_split *split,
                                            int32_t rule, ppsched_error *error)
{
    (void)config, (void)layers, (void)split, (void)rule, (void)error;
    __builtin_trap();
}

ppsched_status ppi_pricing_offload(ppsched_config *config, struct ppi_pricing *pricing, ppsched_error *error)
{
    (void)config, (void)pricing, (void)error;
    __builtin_trap();
}

/* --- formats --- */

static ppsched_status fits_nothing(const ppsched_schedule *schedule, ppsched_error *error)
{
    (void)schedule;
    return lacks("the formats text, deepspeed and sail", error);
}

const struct ppi_format ppi_text_format = {.name = "text", .tells_slices = true, .fits = fits_nothing};
const struct ppi_format ppi_deepspeed_format = {.name = "deepspeed", .tells_slices = true, .fits = fits_nothing};
const struct ppi_format ppi_sail_format = {.name = "sail", .tells_slices = true, .fits = fits_nothing};

/* --- scenarios --- */

ppsched_status ppi_scenario_options_check(const ppsched_scenario_options *options, uint32_t devices, uint32_t stages,
                                          int64_t count, ppsched_error *error)
{
    (void)options, (void)devices, (void)stages, (void)count;
    return lacks("scenarios", error);
}

ppsched_status ppi_scenarios_run(ppsched_scenarios **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 uint32_t count, const ppsched_scenario_options *options, ppsched_error *error)
{
    (void)out, (void)schedule, (void)config, (void)options, (void)count, (void)error;
    __builtin_trap();
}

double ppi_scenarios_figure(const ppsched_scenarios *scenarios, int32_t rank_by, double quantile)
{
    (void)scenarios, (void)rank_by, (void)quantile;
    __builtin_trap();
}

void ppi_scenarios_destroy(ppsched_scenarios *scenarios)
{
    (void)scenarios;
}

ppsched_status ppi_expected_config(ppsched_config **out, const ppsched_config *config, const ppsched_scenario_options *options,
                                   uint32_t count, int32_t placement, ppsched_error *error)
{
    (void)out, (void)config, (void)options, (void)count, (void)placement, (void)error;
    __builtin_trap();
}

ppsched_status ppi_make_robust(struct ppi_attempt *attempt, const struct ppi_pool *pool, const ppsched_config *stated,
                               double visits, ppsched_error *error)
{
    (void)attempt, (void)pool, (void)stated, (void)visits, (void)error;
    __builtin_trap();
}

/* --- the search for jobs --- */

ppsched_status ppi_auto_jobs(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                             const struct ppi_jobs_goal *goal, int64_t effort, ppsched_error *error)
{
    (void)out, (void)task, (void)config, (void)goal, (void)effort;
    return lacks("auto for forwards alone and for the bidirectional placement", error);
}

/* --- splits: that of a layout is the search's own --- */

double ppi_split_fastest(const struct ppi_values *speeds)
{
    (void)speeds;
    __builtin_trap();
}

double ppi_split_path(const ppsched_layers *layers, const struct ppi_values *speeds, const struct ppi_split_types *types)
{
    (void)layers, (void)speeds, (void)types;
    __builtin_trap();
}

double ppi_split_bound(const struct ppi_split_load *load)
{
    (void)load;
    __builtin_trap();
}

ppsched_status ppi_candidate_arrange(const ppsched_plan *plan, struct ppi_candidate *candidate,
                                     ppsched_progress_function progress, void *user, ppsched_error *error)
{
    (void)candidate, (void)progress, (void)user;
    if (plan->orders_devices)
        return lacks("searches for the order of devices", error);
    return plan->layers == NULL ? PPSCHED_OK : lacks("layers", error);
}

void ppi_candidate_drop_split(const ppsched_plan *plan, struct ppi_candidate *candidate)
{
    (void)plan, (void)candidate;
}

/* --- stage graphs: none can be set or read, so that nothing else here is called --- */

ppsched_status ppi_config_set_stage_inputs(ppsched_config *config, const uint32_t *counts, const uint32_t *inputs,
                                           size_t stages, ppsched_error *error)
{
    (void)config, (void)counts, (void)inputs, (void)stages;
    return lacks("stage graphs", error);
}

ppsched_status ppi_config_set_stage_passes(ppsched_config *config, const int32_t *passes, size_t count, ppsched_error *error)
{
    (void)config, (void)passes, (void)count;
    return lacks("stage graphs", error);
}

ppsched_status ppi_config_set_stage_microbatches(ppsched_config *config, uint32_t stage, const uint32_t *microbatches,
                                                 size_t count, ppsched_error *error)
{
    (void)config, (void)stage, (void)microbatches, (void)count;
    return lacks("stage graphs", error);
}

ppsched_status ppi_config_set_stage_devices(ppsched_config *config, const uint32_t *counts, const uint32_t *devices,
                                            size_t stages, ppsched_error *error)
{
    (void)config, (void)counts, (void)devices, (void)stages;
    return lacks("stage graphs", error);
}

ppsched_status ppi_check_graph(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error)
{
    (void)schedule, (void)findings, (void)error;
    __builtin_trap();
}

ppsched_status ppi_graph_bound(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                               ppsched_error *error)
{
    (void)out, (void)config, (void)question, (void)error;
    __builtin_trap();
}

ppsched_status ppi_auto_graph(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config, int64_t effort,
                              bool by_period, ppsched_error *error)
{
    (void)out, (void)task, (void)config, (void)effort, (void)by_period, (void)error;
    __builtin_trap();
}

ppsched_status ppi_graph_earliest(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error)
{
    (void)loop, (void)timeline, (void)error;
    __builtin_trap();
}

void ppi_graph_latest(struct ppi_event_loop *loop, ppsched_timeline *timeline)
{
    (void)loop, (void)timeline;
    __builtin_trap();
}
