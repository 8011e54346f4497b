/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's result and its steps: earliest starts, latest starts, figures. */
#ifndef PPSCHED_EVAL_TIMELINE_H
#define PPSCHED_EVAL_TIMELINE_H

#include <ppsched/evaluate.h>

#include "eval/sender_waits.h"
#include "ir/costs.h"
#include "ir/schedule.h"

struct ppsched_timeline {
    struct ppi_host host;
    const ppsched_schedule *schedule; /* a reference of its own */
    struct ppi_costs costs;           /* lanes only; for the memory curve */
    ppsched_span *spans;              /* one an op, as the schedule's ops */
    double *latest;                   /* likewise; NULL where it was not asked for */
    double *flush_times;              /* when iteration k + 1 may start; `flush_count` of them */
    size_t flush_count;
    bool has_transfers;          /* the times are those of ppi_evaluate_transfers */
    bool pairs_are_timed;        /* the config gave the durations of overlapped pairs */
    bool blocks, batches;        /* with transfers: as the channel model */
    bool has_sharding;           /* likewise: UNSHARD and REDUCE_GRAD take time */
    double sharding_end;         /* of the last of them */
    double *call_times;          /* likewise: of SEND and RECV, by device; NULL where the config does not give them */
    bool meets_saving;           /* the schedule has ops that keep less */
    struct ppi_saving *saving;   /* for these; NULL where there are none */
    struct ppi_senders *senders; /* NULL where no config had them wait */
    ppsched_device_metrics *devices;
    double *fixed;             /* PPI_FIXED_CAUSES a device: what it always holds, by cause */
    double *fixed_of_stages;   /* PPI_FIXED_STAGE_CAUSES a lane, likewise */
    struct ppi_memory *memory; /* what beside these and activations it may hold; NULL where none is given */
    double *peak_causes;       /* with that: the peak by cause, PPI_CAUSES a device */
    ppsched_idle *idle;        /* a device each; NULL where it was not asked for */
    ppsched_metrics metrics;
    struct ppi_reuse *reuse; /* NULL unless it is reusable */
};

/* MISMATCH where they have other numbers of devices or stages. */
ppsched_status ppi_check_shapes(const ppsched_schedule *schedule, const ppsched_config *config, ppsched_error *error);

/* Evaluates. INVALID_SCHEDULE comes without the reason: the checker knows it. */
ppsched_status ppi_evaluate(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                            uint32_t flags, ppsched_error *error);
void ppi_timeline_destroy(ppsched_timeline *timeline);

/* The same into a reusable timeline, which on an error stays as it was. Allocates nothing, but for the first two configs that
 * give memory of more causes. */
ppsched_status ppi_timeline_update(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error);

/* What senders wait for; NULL where they do not. */
static inline struct ppi_senders *ppi_senders_of(const ppsched_timeline *timeline)
{
    return timeline->costs.senders_wait ? timeline->senders : NULL;
}

/* A timeline without times; its costs have zeroed lanes. Shapes must agree. */
ppsched_status ppi_timeline_make(ppsched_timeline **out, const ppsched_schedule *schedule, const ppsched_config *config,
                                 bool wants_latest, bool wants_idle, ppsched_error *error);

/* What a schedule with ops that keep less needs, with the costs of a config; those of the lanes are there. */
ppsched_status ppi_timeline_add_saving(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error);

/* All figures but idle's causes, from the spans and what ops add up to. */
ppsched_status ppi_figures(ppsched_timeline *timeline, const ppsched_config *config, ppsched_error *error);

/* The sweeps, in an event loop of the timeline's schedule and costs. Of the loop each takes the memory alone: nothing goes from
 * one to the next but through the timeline. */
struct ppi_event_loop;

/* Fills spans and flush_times, and what each device's ops add up to, on top of its static memory; INVALID_SCHEDULE where the
 * schedule is not complete or cannot be run. */
ppsched_status ppi_earliest_starts(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);

/* The same where senders do not wait, and where they do and ppi_senders_fill has been. */
ppsched_status ppi_forward_sweep(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);
ppsched_status ppi_forward_sweep_with_senders(struct ppi_event_loop *loop, ppsched_timeline *timeline, ppsched_error *error);

/* Fills `latest`, from spans and the makespan. */
void ppi_latest_starts(struct ppi_event_loop *loop, ppsched_timeline *timeline);

/* Fills `idle`, from spans and figures. */
void ppi_find_idle(struct ppi_event_loop *loop, ppsched_timeline *timeline);

/* Fills the static memory of all devices: that of their stages, all versions of their weights, optimizer states, and what they
 * hold beside. And what the config says of memory that comes and goes beside activations. */
void ppi_static_memory(ppsched_timeline *timeline, const ppsched_config *config);

/* Fills a device's figures but `idle`, beside what its ops add up to. */
void ppi_device_figures(ppsched_timeline *timeline, uint32_t device, const ppsched_config *config);

/* Over the limit by more than the rounding of a running sum. */
static inline bool ppi_is_over_limit(double peak, double limit)
{
    return peak > limit * (1 + 1e-9);
}

#endif
