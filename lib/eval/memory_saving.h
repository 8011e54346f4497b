/* SPDX-License-Identifier: Apache-2.0 */
/* Ops that have a stage pass keep less until its backward: RECOMPUTE, and the copies of OFFLOAD and RELOAD.
 *
 * A device has a stream each way, which runs its copies one after another in the order of its queue. A link to the host runs
 * one copy each way at a time, and serves the streams of its devices as they come: first come, first served, the lower device
 * first where two come at once. A copy comes when the device has come to its op and the copy before it on its stream is done; a
 * RELOAD not before the copy of its OFFLOAD is. Copies are given their times in the order in which they start, once no device
 * can go on without: all that comes later starts later. Where copies slow compute, ends of units are found among them. */
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

/* A stage pass: when its copies are done, and what it has and did. */
struct ppi_kept_pass {
    union ppi_time offloaded, reloaded;
    uint8_t flags;
};

/* Of a lane. */
struct ppi_saving_cost {
    double recompute, offload, reload; /* times */
    double latency;                    /* of the last two, what does not grow with what is copied */
    double kept;                       /* memory that a recomputed pass keeps */
    double moved;                      /* memory that goes and comes back */
};

struct ppi_copy_stream {
    uint32_t device;
    uint8_t kind;    /* OFFLOAD or RELOAD */
    uint32_t link;   /* its direction of it */
    uint32_t head;   /* position of the copy that is next; PPSCHED_NONE: the device has not come to it */
    uint32_t cursor; /* position from which on the next one is looked for */
    bool has_come;   /* the head has */
    double free;     /* when the copy before is done */
    uint32_t behind; /* stream that waits behind this one for the link */
};

/* One direction of a link to the host. */
struct ppi_host_link {
    double free;          /* when its last copy is done */
    uint32_t first, last; /* streams that wait for it */
};

/* The unit that a device computes, where copies slow it. */
struct ppi_paced {
    struct ppi_slowdown slowdown;
    bool has_begun, is_done;
};

struct ppi_saving {
    struct ppi_host host;
    const ppsched_schedule *schedule;
    struct ppi_kept_pass *passes;    /* stage by stage */
    struct ppi_saving_cost *costs;   /* as the costs' lanes */
    struct ppi_copy_stream *streams; /* two a device: of OFFLOAD, of RELOAD */
    struct ppi_host_link *links;     /* two a device, of which some are used */
    struct ppi_paced *paced;         /* a device each */
    struct ppi_heap events;
    ppsched_span *spans; /* the timeline's */
    bool slows;          /* copies slow compute somewhere */
    bool is_sound;       /* every pass has what goes together, once, on its device */
};

ppsched_status ppi_saving_make(struct ppi_saving **out, const ppsched_schedule *schedule, ppsched_error *error);
void ppi_saving_destroy(struct ppi_saving *saving);

/* Takes a config's costs. RANGE where they contradict each other. */
ppsched_status ppi_saving_fill(struct ppi_saving *saving, const ppsched_config *config, const struct ppi_costs *costs,
                               ppsched_error *error);

/* Nothing has run. */
void ppi_saving_reset(struct ppi_saving *saving, ppsched_span *spans);

/* A device has come to OFFLOAD or RELOAD at a time. False where it cannot run there: a RELOAD before its OFFLOAD. */
bool ppi_saving_ask(struct ppi_saving *saving, uint32_t device, const ppsched_op *op, double time);

/* Whether the copy of the OFFLOAD for which OFFLOAD_WAIT waits is done; it raises `*end`. False where it is not yet known when,
 * or there is none before. */
static inline bool ppi_saving_waits(const struct ppi_saving *saving, const ppsched_op *op, double *end)
{
    struct ppi_kept_pass *pass = &saving->passes[ppi_cell_of(saving->schedule, op)];
    if ((pass->flags & PPI_ASKS_OFFLOAD) == 0 || !ppi_is_known(&pass->offloaded))
        return false;
    *end = pass->offloaded.value > *end ? pass->offloaded.value : *end;
    return true;
}

/* A device, where copies slow some, starts a unit that takes `work` alone, or asks again. False where it is not yet known when
 * it ends; then it is woken once that is. */
bool ppi_saving_runs(struct ppi_saving *saving, uint32_t device, double start, double work, double *end);

/* Goes on with the copies: notes the time of at most one more, and wakes the device that waits for it. False where none is
 * asked for. */
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

/* Whether what a backward needs is there again; its RELOAD raises `*start`. False where it is not yet known when, or it never
 * is. Other kinds need nothing. */
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
