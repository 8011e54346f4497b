/* SPDX-License-Identifier: Apache-2.0 */
/* Ops of activation memory saving, between a stage pass's F and its backward: RECOMPUTE, and the copies of OFFLOAD and RELOAD.
 *
 * A device has a stream for each direction, which runs its copies one after another in queue order. A link to the host runs
 * one copy per direction at a time, and serves its devices' streams first come, first served; at equal times the lower
 * device first. A copy arrives when its device has reached its op and the copy before it on its stream is done, a RELOAD not
 * before its OFFLOAD is. Copies get their times in the order in which they start, once no device can continue without
 * them, as all that arrives later starts later. If copies slow compute, the ends of units are found in the same order of
 * time. */
#ifndef PPSCHED_EVAL_MEMORY_SAVING_H
#define PPSCHED_EVAL_MEMORY_SAVING_H

#include "base/heap.h"
#include "eval/event_loop.h"
#include "eval/slowdown.h"
#include "eval/timeline.h"

enum {
    PPI_HAS_OFFLOAD = 1,
    PPI_HAS_RELOAD = 2,
    PPI_HAS_RECOMPUTE = 4,
    PPI_HAS_WAIT = 8,
    PPI_IS_RECOMPUTED = 16,
    PPI_ASKS_OFFLOAD = 32
};

/* A stage pass: when its copies are done, and flags for the ops it has and those that have run. */
struct ppi_kept_pass {
    union ppi_time offloaded, reloaded;
    uint8_t flags;
};

/* Costs of a stage instance. */
struct ppi_saving_cost {
    double recompute, offload, reload; /* times */
    double latency;                    /* the part of each copy that does not grow with its size */
    double kept;                       /* memory kept by a stage pass that is recomputed */
    double moved;                      /* memory that is offloaded and reloaded */
};

struct ppi_copy_stream {
    uint32_t device;
    uint8_t kind;    /* OFFLOAD or RELOAD */
    uint32_t link;   /* index in `links` */
    uint32_t head;   /* position of the next copy; PPSCHED_NONE: not reached yet */
    uint32_t cursor; /* position where the search for the next one starts */
    bool has_come;   /* the head's arrival has been scheduled */
    bool is_alone;   /* on its link, and runs as soon as the times that it waits for are known: see ppi_saving_run_ahead */
    double free;     /* when the last copy is done */
    uint32_t behind; /* stream that waits for the link after this one */
};

/* One direction of a link to the host. */
struct ppi_host_link {
    double free;          /* when its last copy ends */
    uint32_t first, last; /* list of streams that wait for it */
};

/* The unit that a device computes, if copies slow compute. */
struct ppi_paced {
    struct ppi_slowdown slowdown;
    bool has_begun, is_done;
};

struct ppi_saving {
    struct ppi_host host;
    const ppsched_schedule *schedule;
    struct ppi_kept_pass *passes;    /* stage by stage */
    struct ppi_saving_cost *costs;   /* by stage instance */
    struct ppi_copy_stream *streams; /* two per device: OFFLOAD, RELOAD */
    struct ppi_host_link *links;     /* two per device, not all used */
    struct ppi_paced *paced;         /* one per device */
    struct ppi_heap events;
    ppsched_span *spans; /* the timeline's */
    bool slows;          /* copies slow compute somewhere */
    bool is_sound;       /* every stage pass has consistent ops, once each, on its device */
};

ppsched_status ppi_saving_make(struct ppi_saving **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_saving_destroy(struct ppi_saving *saving);

/* The number of the link of a device to the host. RANGE if host_link states no number of a device. */
ppsched_status ppi_host_link_of(uint32_t *out, const ppsched_config *config, uint32_t device, uint32_t devices,
                                ppsched_error *error);

/* Fills in a config's costs. RANGE if they contradict each other. */
ppsched_status ppi_saving_fill(struct ppi_saving *saving, const ppsched_config *config, const struct ppi_costs *costs,
                               ppsched_error *error);

/* Resets to a state where nothing has run. */
void ppi_saving_reset(struct ppi_saving *saving, ppsched_span *spans);

/* After a reset, where devices may run ahead of each other: a copy that shares its link with no other device, and slows no
 * compute, runs at once, not in the order of time. Its times are the same. */
void ppi_saving_run_ahead(struct ppi_saving *saving);

/* For a device that has reached OFFLOAD or RELOAD. False if it cannot run there: a RELOAD before its OFFLOAD. */
bool ppi_saving_ask(struct ppi_saving *saving, struct ppi_event_loop *loop, uint32_t device, const ppsched_op *op, double time);

/* Whether the end of the OFFLOAD's copy that OFFLOAD_WAIT waits for is known; raises `*end` to it. False too if there is no
 * OFFLOAD before. */
static inline bool ppi_saving_waits(const struct ppi_saving *saving, const ppsched_op *op, double *end)
{
    struct ppi_kept_pass *pass = &saving->passes[ppi_cell_of(saving->schedule, op)];
    if ((pass->flags & PPI_ASKS_OFFLOAD) == 0 || !ppi_is_known(&pass->offloaded))
        return false;
    *end = pass->offloaded.value > *end ? pass->offloaded.value : *end;
    return true;
}

/* If copies slow compute: a device starts a unit that takes `work` if not slowed, or asks again. False if its end is not known
 * yet; the device is woken once it is. */
bool ppi_saving_runs(struct ppi_saving *saving, uint32_t device, double start, double work, double *end);

/* Advances the copies: notes the time of at most one, and wakes the device that waits for it. False if no copy is pending. */
bool ppi_saving_step(struct ppi_saving *saving, struct ppi_event_loop *loop);

static inline struct ppi_kept_pass *ppi_kept_pass_of(const struct ppi_saving *saving, const ppsched_op *op)
{
    return &saving->passes[ppi_cell_of(saving->schedule, op)];
}

static inline size_t ppi_saving_instance(const struct ppi_saving *saving, const ppsched_op *op)
{
    const ppsched_schedule *schedule = saving->schedule;
    return (size_t)ppi_copy_of(&schedule->placement, &schedule->shape, op->microbatch) * schedule->shape.stages + op->stage;
}

static inline const struct ppi_saving_cost *ppi_saving_cost_of(const struct ppi_saving *saving, const ppsched_op *op)
{
    return &saving->costs[ppi_saving_instance(saving, op)];
}

/* Whether a backward's activations are available again; its RELOAD raises `*start`. False if the time is not known yet, or they
 * never are. Other kinds need nothing. */
static inline bool ppi_saving_lets(const struct ppi_saving *saving, const ppsched_op *op, double *start)
{
    struct ppi_kept_pass *pass = ppi_kept_pass_of(saving, op);
    if (pass->flags == 0 || !ppi_is_backward(op->kind))
        return true;
    if ((pass->flags & PPI_HAS_RECOMPUTE) != 0)
        return (pass->flags & PPI_IS_RECOMPUTED) != 0;
    if (!ppi_is_known(&pass->reloaded))
        return false;
    *start = pass->reloaded.value > *start ? pass->reloaded.value : *start;
    return true;
}

#endif
