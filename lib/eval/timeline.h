/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's result and its steps: earliest starts, latest starts, figures. */
#ifndef PPSCHED_EVAL_TIMELINE_H
#define PPSCHED_EVAL_TIMELINE_H

#include <ppsched/evaluate.h>

#include "eval/sender_waits.h"
#include "ir/costs.h"
#include "ir/schedule.h"

/* Complete once an evaluation has returned OK. Lists by op are indexed as the schedule's ops. */
struct ppsched_timeline {
    struct ppi_host host;
    const ppsched_schedule *schedule; /* holds a reference */
    struct ppi_costs costs;           /* without `overlapped` and the like, which are borrowed; for the memory curve */
    ppsched_span *spans;              /* by op */
    double *outputs;                  /* by op: when the output of an op of a pair is there; NULL until a config has ends */
    double *latest;                   /* by op; NULL: not requested */
    double *flush_times;              /* [flush_count]: when iteration k + 1 may start */
    size_t flush_count;
    bool has_transfers;          /* made by ppi_evaluate_transfers */
    bool pairs_are_timed;        /* the config gave the durations of overlapped pairs */
    bool has_ends;               /* and both ends of each: `outputs` is filled in */
    bool blocks, batches;        /* with transfers: as in the channel model */
    bool has_sharding;           /* with transfers: UNSHARD and REDUCE_GRAD take time */
    double sharding_end;         /* end of the last of them */
    double *call_times;          /* with transfers: of SEND and RECV, by device; NULL: not given */
    bool meets_saving;           /* the schedule has ops of memory saving */
    struct ppi_saving *saving;   /* for these; NULL: none */
    struct ppi_senders *senders; /* NULL until a config has senders wait */
    ppsched_device_metrics *devices;
    double *fixed;             /* by device and cause (PPI_FIXED_CAUSES): static memory */
    double *fixed_of_stages;   /* by stage instance and cause (PPI_FIXED_STAGE_CAUSES) */
    struct ppi_memory *memory; /* other memory that changes; NULL: none is given */
    double *peak_causes;       /* with that: the peak by device and cause (PPI_CAUSES) */
    ppsched_idle *idle;        /* by device; NULL: not requested */
    ppsched_idle *alike;       /* the same with devices as fast as stated; NULL until a config has speeds */
    bool has_speeds;           /* `slow_devices` of `idle` is filled in */
    ppsched_metrics metrics;
    struct ppi_reuse *reuse; /* NULL unless reusable */
};

/* MISMATCH if they differ in devices or stages. */
ppsched_status ppi_check_shapes(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error);

/* Evaluates. INVALID_SCHEDULE comes without a message: the checker finds the reason. */
ppsched_status ppi_evaluate(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                            uint32_t flags, ppsched_error *error);

/* The same without latest starts. */
ppsched_status ppi_evaluate_plain(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                  bool wants_idle, ppsched_error *error);
void ppi_timeline_destroy(ppsched_timeline *timeline);

/* The same into a reusable timeline, unchanged on an error. Allocates nothing, except for the first two configs that give
 * memory of more causes. */
ppsched_status ppi_timeline_update(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error);

/* What ops wait for after sends; NULL if they do not. */
static inline struct ppi_senders *ppi_senders_of(const ppsched_timeline *timeline)
{
    return timeline->costs.senders_wait ? timeline->senders : NULL;
}

/* When the output of an op of a unit is there: at the end of the unit, or before, in a pair. */
static inline double ppi_made_at(const ppsched_timeline *timeline, size_t op)
{
    const bool is_in_pair = timeline->has_ends && timeline->outputs[op] >= 0;
    return is_in_pair ? timeline->outputs[op] : timeline->spans[op].end;
}

/* A timeline without times; the costs of its stage instances are zeroed. Shapes must agree. */
ppsched_status ppi_timeline_make(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 bool wants_latest, bool wants_idle, ppsched_error *error);

/* Notes of no op yet that its output is made before its pair ends, as windows tell; the costs are filled. */
void ppi_timeline_start_ends(ppsched_timeline *timeline);

/* Adds what ops of memory saving need, with a config's costs; those of the stage instances are filled. */
ppsched_status ppi_timeline_add_saving(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error);

/* All figures except `idle`, from the spans and the running sums. */
ppsched_status ppi_figures(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error);

/* The figures of the whole schedule, from those of its devices. */
void ppi_sum_up(ppsched_timeline *timeline);

/* The sweeps, in an event loop of the timeline's schedule and costs. They reuse only its memory: results pass from one to the
 * next through the timeline. */
struct ppi_event_loop;

/* Fills spans and flush_times, and each device's running sums on top of its static memory; INVALID_SCHEDULE if the schedule is
 * incomplete or has a deadlock. */
ppsched_status ppi_earliest_starts(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);

/* The same if senders do not wait, without and with ends of pairs, and if senders do, after ppi_senders_fill. */
ppsched_status ppi_forward_sweep(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);
ppsched_status ppi_forward_sweep_with_ends(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);
ppsched_status ppi_forward_sweep_with_senders(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);

/* The same of a schedule with a stage graph, and its latest starts. */
ppsched_status ppi_graph_earliest(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);
void ppi_graph_latest(struct ppi_event_loop *loop, ppsched_timeline *timeline);

/* Fills `latest`, from spans and the makespan. */
void ppi_latest_starts(struct ppi_event_loop *loop, ppsched_timeline *timeline);

/* Fills `idle`, from spans and figures. */
void ppi_find_idle(struct ppi_event_loop *loop, ppsched_timeline *timeline);

/* Separates from `idle` what slow devices cause; `alike`: the idle time of each device without them. */
void ppi_separate_slow_devices(ppsched_timeline *timeline, const ppsched_idle *alike);

/* Fills the static memory of all devices: that of their stages, all versions of their weights, optimizer states, and other
 * memory. Also the config's other memory that changes. */
void ppi_static_memory(ppsched_timeline *timeline, const ppsched_config *config);

/* Fills a device's figures, except `idle` and its running sums. */
void ppi_device_figures(ppsched_timeline *timeline, uint32_t device, const ppsched_config *config);

/* Whether a peak is over the limit by more than the rounding of a running sum. */
static inline bool ppi_is_over_limit(double peak, double limit)
{
    return peak > limit * (1 + 1e-9);
}

#endif
