/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds of a partial schedule, from what each device has still to run: its remaining ops from the earliest time they
 * can start, what must follow them on other devices, and the memory that must be held for some time. */
#include "search/priority.h"

/* --- heads: when the next F and I of each stage can start at best --- */

/* A lower bound of when an op starts whose inputs arrive at `ready`, which may not be known. */
static double start_behind(double clock, double ready)
{
    return ready < PPI_INFINITE ? ppi_larger(clock, ready) : clock;
}

/* A lower bound of when a device's next op, other than a blocked F, ends. */
static double first_end(const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_problem *problem = partial->problem;
    double clock = partial->device[device].clock, first = PPI_INFINITE;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_at_stage *at = &partial->stage[s];
        if (at->done.weights < at->done.inputs)
            first = ppi_smaller(first, clock + stage->duration[PPSCHED_KIND_W]);
        if (at->done.inputs < problem->microbatches)
            first = ppi_smaller(first, start_behind(clock, at->ready.backward) + stage->input);
        if (at->done.forwards < problem->microbatches && !at->blocked)
            first = ppi_smaller(first, start_behind(clock, at->ready.forward) + stage->duration[PPSCHED_KIND_F]);
    }
    return first;
}

static double forward_head(const struct ppi_partial *partial, uint32_t s)
{
    const struct ppi_stage *stage = &partial->problem->stage[s];
    const struct ppi_at_stage *at = &partial->stage[s];
    double head = at->ready.forward;
    if (head == PPI_INFINITE)
        head = at[-1].head.forward + stage[-1].duration[PPSCHED_KIND_F] + stage->forward_delay;
    if (at->blocked)
        head = ppi_larger(head, first_end(partial, stage->device));
    return ppi_larger(head, partial->device[stage->device].clock);
}

static double input_head(const struct ppi_partial *partial, uint32_t s)
{
    const struct ppi_stage *stage = &partial->problem->stage[s];
    const struct ppi_at_stage *at = &partial->stage[s];
    double head = at->ready.backward;
    if (head == PPI_INFINITE)
        head = s + 1 == partial->problem->stages ? at->head.forward + stage->duration[PPSCHED_KIND_F]
                                                 : at[1].head.backward + stage[1].input + stage->backward_delay;
    return ppi_larger(head, partial->device[stage->device].clock);
}

/* --- what is left on a device --- */

/* Keeps the streams sorted by head, the latest first. */
static void add_stream(struct ppi_stream *streams, uint32_t *count, struct ppi_stream added)
{
    uint32_t i = (*count)++;
    for (; i > 0 && streams[i - 1].head < added.head; i--)
        streams[i] = streams[i - 1];
    streams[i] = added;
}

static uint32_t list_streams(const struct ppi_partial *partial, uint32_t device, struct ppi_stream *streams)
{
    const struct ppi_problem *problem = partial->problem;
    uint32_t count = 0, all = problem->microbatches;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_chain_times *head = &partial->stage[s].head;
        const struct ppi_done *done = &partial->stage[s].done;
        uint32_t forwards = all - done->forwards, inputs = all - done->inputs, pending = done->inputs - done->weights;
        double forward = forwards * stage->duration[PPSCHED_KIND_F], input = inputs * stage->input;
        if (forwards > 0)
            add_stream(streams, &count, (struct ppi_stream){head->forward, forward, forward});
        if (inputs > 0) {
            add_stream(streams, &count, (struct ppi_stream){head->backward, input, input});
            add_stream(streams, &count, (struct ppi_stream){head->backward + stage->input, inputs * stage->weight, 0});
        }
        if (pending > 0)
            add_stream(streams, &count, (struct ppi_stream){partial->device[device].clock, pending * stage->weight, 0});
    }
    return count;
}

/* The least memory times time, from the device's clock on, for which a stage's activations will be held: of the stage passes
 * to come, of those whose I is still to come, one after the other, and of those whose W is. */
static double area_of(const struct ppi_partial *partial, uint32_t s)
{
    const struct ppi_stage *stage = &partial->problem->stage[s];
    const struct ppi_done *done = &partial->stage[s].done;
    double forwards = partial->problem->microbatches - done->forwards;
    double begun = done->forwards - done->inputs, pending = done->inputs - done->weights;
    double until_input = partial->stage[s].head.backward - partial->device[stage->device].clock;
    double area = forwards * stage->area, rest = stage->rest;
    if (begun > 0)
        area += stage->memory[PPSCHED_KIND_F] * (begun * until_input + stage->input * begun * (begun + 1) / 2) +
                rest * begun * stage->weight;
    return area + rest * stage->weight * pending * (pending + 1) / 2;
}

/* The bound from each stage's next F and I on: all that are left of them, then what must follow the last. And the bound by
 * memory times time over the limit. */
static double chains_of(const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_problem *problem = partial->problem;
    const struct ppi_device *own = &problem->device[device];
    double chain = 0, area = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_at_stage *at = &partial->stage[s];
        uint32_t forwards = problem->microbatches - at->done.forwards, inputs = problem->microbatches - at->done.inputs;
        if (forwards > 0)
            chain = ppi_larger(chain, at->head.forward + forwards * stage->duration[PPSCHED_KIND_F] + stage->tail.forward);
        if (inputs > 0)
            chain = ppi_larger(chain, at->head.backward + inputs * stage->input + stage->tail.backward);
        if (own->peak_limit < PPI_INFINITE)
            area += area_of(partial, s);
    }
    if (area > 0 && own->peak_limit > 0)
        chain = ppi_larger(chain, area / own->peak_limit + ppi_partial_time(partial, device));
    return chain;
}

/* Finds a device's bounds. Streams with a later or equal head run after that head; and the last I of the device's first stage,
 * the last of all its Fs and Is, is followed by its tail. */
static void find_bounds(struct ppi_partial *partial, uint32_t device, struct ppi_stream *streams)
{
    const struct ppi_problem *problem = partial->problem;
    struct ppi_at_device *at = &partial->device[device];
    uint32_t count = list_streams(partial, device, streams);
    double load = 0, chain = 0, end = at->clock, chain_end = 0;
    for (const struct ppi_stream *stream = streams; stream < streams + count; stream++) {
        load += stream->load;
        chain += stream->chain;
        end = ppi_larger(end, stream->head + load);
        if (stream->chain > 0)
            chain_end = ppi_larger(chain_end, stream->head + chain);
    }
    if (chain_end > 0)
        chain_end += problem->stage[ppi_stage_at(problem, device, 0)].tail.backward;
    if (problem->by_span) /* before a device starts, only its load is known */
        end = at->start < 0 ? load : end - at->start;
    at->end = end;
    at->chain = ppi_larger(chain_end, chains_of(partial, device));
    at->changed = false;
}

static void set_head(struct ppi_at_device *at, double *head, double value)
{
    at->changed |= *head != value;
    *head = value;
}

struct ppi_priority ppi_priority(struct ppi_partial *partial, struct ppi_stream *streams)
{
    const struct ppi_problem *problem = partial->problem;
    struct ppi_at_stage *at = partial->stage;
    struct ppi_priority priority = {0};
    for (uint32_t s = 0; s < problem->stages; s++)
        if (at[s].done.forwards < problem->microbatches)
            set_head(&partial->device[problem->stage[s].device], &at[s].head.forward, forward_head(partial, s));
    for (uint32_t s = problem->stages; s-- > 0;)
        if (at[s].done.inputs < problem->microbatches)
            set_head(&partial->device[problem->stage[s].device], &at[s].head.backward, input_head(partial, s));
    for (uint32_t d = 0; d < problem->devices; d++) {
        if (partial->device[d].changed && problem->device[d].count > 0)
            find_bounds(partial, d, streams);
        priority.mean += partial->device[d].end;
        priority.bound = ppi_larger(priority.bound, ppi_larger(partial->device[d].end, partial->device[d].chain));
    }
    priority.mean /= problem->devices;
    return priority;
}
