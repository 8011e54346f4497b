/* SPDX-License-Identifier: Apache-2.0 */
/* A table of passes, each from one schedule to the next through a builder; ops of memory saving are set aside in between. */
#include "lower/lower.h"

#include "base/error.h"
#include "ir/stage_graph.h"
#include "lower/passes.h"
#include "lower/set_aside.h"

/* A pass, with its arguments other than the schedule. */
struct pass {
    const ppsched_config *config;
    const ppsched_lower_options *options;
    const struct ppi_unshard_times *unshards;
    ppsched_status (*run)(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in, ppsched_error *error);
};

static ppsched_status merge(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in, ppsched_error *error)
{
    (void)pass;
    return ppi_merge_backwards(out, in, error);
}

static ppsched_status split(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in, ppsched_error *error)
{
    (void)pass;
    return ppi_split_backwards(out, in, error);
}

static ppsched_status unshard(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in, ppsched_error *error)
{
    return ppi_unshard(out, in, pass->options, pass->unshards, error);
}

static ppsched_status reduce_pass(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in,
                                  ppsched_error *error)
{
    uint32_t every = pass->options->reduce_every > 0 ? pass->options->reduce_every : 1;
    return ppi_reduce_gradients(out, in, pass->options->reduce_grad, every, error);
}

static ppsched_status send(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in, ppsched_error *error)
{
    switch (pass->options->lowering) {
    case PPSCHED_LOWERING_PYTORCH:
        return ppi_lower_in_turns(out, in, pass->options->reduce_grad == PPI_WAITS_IN_TURNS, error);
    case PPSCHED_LOWERING_BY_TIME:
        return ppi_lower_by_time(out, in, pass->config, error);
    default:
        return ppi_lower_just_in_time(out, in, pass->options->receive_prefetch, error);
    }
}

static ppsched_status defer(const struct pass *pass, ppsched_builder *out, const ppsched_schedule *in, ppsched_error *error)
{
    (void)pass;
    return ppi_defer_receives(out, in, error);
}

/* Replaces a schedule by the result of a pass. */
static ppsched_status apply(const struct pass *pass, const ppsched_schedule **schedule, ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_schedule *next = NULL;
    ppsched_status status = ppi_builder_like(&builder, *schedule, error);
    if (status == PPSCHED_OK)
        status = pass->run(pass, builder, *schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(&next, builder, error);
    ppi_builder_destroy(builder);
    if (status != PPSCHED_OK)
        return status;
    ppi_schedule_release(*schedule);
    *schedule = next;
    return PPSCHED_OK;
}

ppsched_status ppi_lower_at(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                            const ppsched_lower_options *options, const struct ppi_unshard_times *unshards,
                            ppsched_error *error)
{
    const struct {
        bool wanted;
        struct pass pass;
    } passes[] = {
        {options->merge_backwards != 0, {config, options, unshards, merge}},
        {options->split_backwards != 0, {config, options, unshards, split}},
        {options->unshard != 0, {config, options, unshards, unshard}},
        {options->reduce_grad != 0, {config, options, unshards, reduce_pass}},
        {options->lowering != PPSCHED_LOWERING_NONE, {config, options, unshards, send}},
        {options->defer_receives != 0, {config, options, unshards, defer}},
    };
    const ppsched_schedule *present = schedule;
    ppsched_status status = PPSCHED_OK;
    ppi_schedule_retain(present);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0] && status == PPSCHED_OK; i++)
        if (passes[i].wanted)
            status = apply(&passes[i].pass, &present, error);
    if (status != PPSCHED_OK) {
        ppi_schedule_release(present);
        return status;
    }
    *out = present->self;
    return PPSCHED_OK;
}

/* Lowers a schedule of compute ops, after the passes on backwards. */
static ppsched_status lower_computing(ppsched_schedule **out, const ppsched_schedule *computing, const ppsched_config *config,
                                      const ppsched_lower_options *options, ppsched_error *error)
{
    struct ppi_unshard_times unshards = {0};
    if (options->unshard == 0 || options->unshard_lookahead != PPSCHED_UNSHARD_LOOKAHEAD_NEEDED)
        return ppi_lower_at(out, computing, config, options, NULL, error);
    ppsched_status status = ppi_choose_unshard_times(&unshards, computing, config, options, error);
    if (status == PPSCHED_OK)
        status = ppi_lower_at(out, computing, config, options, &unshards, error);
    ppi_unshard_times_clear(&unshards);
    return status;
}

static ppsched_status lower_around(ppsched_schedule **out, const ppsched_schedule *saving, const ppsched_config *config,
                                   const ppsched_lower_options *options, ppsched_error *error)
{
    ppsched_schedule *computing = NULL, *lowered = NULL;
    ppsched_status status = ppi_take_saving_out(&computing, saving, error);
    if (status == PPSCHED_OK)
        status = lower_computing(&lowered, computing, config, options, error);
    if (status == PPSCHED_OK)
        status = ppi_put_saving_back(out, lowered, saving, error);
    if (lowered != NULL)
        ppi_schedule_release(lowered);
    if (computing != NULL)
        ppi_schedule_release(computing);
    return status;
}

/* Backwards first, as positions of UNSHARDs and of ops of memory saving are among the ops after those passes. */
ppsched_status ppi_lower(ppsched_schedule **out, const ppsched_schedule *schedule, const ppsched_config *config,
                         const ppsched_lower_options *options, ppsched_error *error)
{
    const ppsched_lower_options backwards = {.merge_backwards = options->merge_backwards,
                                             .split_backwards = options->split_backwards};
    ppsched_lower_options others = *options;
    ppsched_schedule *computing = NULL;
    ppsched_status status = ppi_lower_at(&computing, schedule, config, &backwards, NULL, error);
    if (status != PPSCHED_OK)
        return status;
    others.merge_backwards = others.split_backwards = 0;
    status = ppi_has_saving(computing) ? lower_around(out, computing, config, &others, error)
                                       : lower_computing(out, computing, config, &others, error);
    ppi_schedule_release(computing);
    return status;
}

ppsched_status ppi_lower_takes_graph(const struct ppi_stage_graph *graph, const ppsched_lower_options *options,
                                     ppsched_error *error)
{
    if (graph == NULL)
        return PPSCHED_OK;
    if (options->lowering != PPSCHED_LOWERING_NONE && options->lowering != PPSCHED_LOWERING_JUST_IN_TIME)
        return ppi_refuse_graph(graph, "lowerings other than just_in_time", error);
    if (options->unshard != 0 || options->reduce_grad != 0)
        return ppi_refuse_graph(graph, "ops of sharded parameters", error);
    if (options->merge_backwards != 0 || options->split_backwards != 0)
        return ppi_refuse_graph(graph, "merging and splitting backwards", error);
    if (ppi_seat_count(graph) >= PPSCHED_MAX_STAGES)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "the stages have %u device%p in all; sends and receives can name %d at most", ppi_seat_count(graph),
                        PPSCHED_MAX_STAGES - 1);
    return PPSCHED_OK;
}
