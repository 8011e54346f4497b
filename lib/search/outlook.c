/* SPDX-License-Identifier: Apache-2.0 */
#include "search/outlook.h"

#include "base/checked.h"
#include "base/error.h"

/* The ops of a kind that a stage has still to run: when the first can start at best, and how long they take. */
struct ppi_stream {
    double head, load;
    double chain; /* the load where they are Fs or Is, else 0 */
};

ppsched_status ppi_outlook_room_make(struct ppi_outlook_room *out, const struct ppi_problem *problem, ppsched_error *error)
{
    uint32_t most = 0;
    for (uint32_t d = 0; d < problem->devices; d++)
        most = problem->device[d].count > most ? problem->device[d].count : most;
    out->streams = ppi_allocate(&problem->host, most, 4 * sizeof *out->streams);
    out->changed = ppi_allocate(&problem->host, problem->devices, sizeof *out->changed);
    return out->changed != NULL && out->streams != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the search");
}

void ppi_outlook_room_clear(struct ppi_outlook_room *room, const struct ppi_problem *problem)
{
    ppi_release(&problem->host, room->changed);
    ppi_release(&problem->host, room->streams);
}

/* --- heads: when the next F and I of each stage can start at best --- */

/* A lower bound of when a device's next op ends that is no blocked F. */
static double first_end(const struct ppi_problem *problem, const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_device *own = &problem->device[device];
    double clock = partial->device[device].clock, first = PPI_INFINITE;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_done *done = &partial->stage[s].done;
        double forward = partial->stage[s].ready.forward, input = partial->stage[s].ready.backward;
        if (done->weights < done->inputs)
            first = ppi_smaller(first, clock + stage->duration[PPSCHED_KIND_W]);
        if (done->inputs < problem->microbatches)
            first = ppi_smaller(first, (input < PPI_INFINITE ? ppi_larger(clock, input) : clock) + stage->input);
        if (done->forwards < problem->microbatches && !partial->stage[s].blocked)
            first = ppi_smaller(first, (forward < PPI_INFINITE ? ppi_larger(clock, forward) : clock) +
                                           stage->duration[PPSCHED_KIND_F]);
    }
    return first;
}

static double forward_head(const struct ppi_problem *problem, const struct ppi_partial *partial, uint32_t s)
{
    const struct ppi_stage *stage = &problem->stage[s];
    double head = partial->stage[s].ready.forward;
    if (head == PPI_INFINITE)
        head = partial->stage[s - 1].head.forward + stage[-1].duration[PPSCHED_KIND_F] + stage->forward_delay;
    if (partial->stage[s].blocked)
        head = ppi_larger(head, first_end(problem, partial, stage->device));
    return ppi_larger(head, partial->device[stage->device].clock);
}

static double input_head(const struct ppi_problem *problem, const struct ppi_partial *partial, uint32_t s)
{
    const struct ppi_stage *stage = &problem->stage[s];
    double head = partial->stage[s].ready.backward;
    if (head == PPI_INFINITE)
        head = s + 1 == problem->stages ? partial->stage[s].head.forward + stage->duration[PPSCHED_KIND_F]
                                        : partial->stage[s + 1].head.backward + stage[1].input + stage->backward_delay;
    return ppi_larger(head, partial->device[stage->device].clock);
}

/* --- what is left on a device --- */

/* Heads descend. */
static void add_stream(struct ppi_stream *streams, uint32_t *count, struct ppi_stream added)
{
    uint32_t i = (*count)++;
    for (; i > 0 && streams[i - 1].head < added.head; i--)
        streams[i] = streams[i - 1];
    streams[i] = added;
}

static uint32_t list_streams(const struct ppi_outlook_room *room, const struct ppi_problem *problem,
                             const struct ppi_partial *partial, uint32_t device)
{
    struct ppi_stream *streams = room->streams;
    uint32_t count = 0, all = problem->microbatches;
    for (uint32_t i = 0; i < problem->device[device].count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_stage *stage = &problem->stage[s];
        const struct ppi_done *done = &partial->stage[s].done;
        uint32_t forwards = all - done->forwards, inputs = all - done->inputs, pending = done->inputs - done->weights;
        double forward = forwards * stage->duration[PPSCHED_KIND_F], input = inputs * stage->input;
        if (forwards > 0)
            add_stream(streams, &count, (struct ppi_stream){partial->stage[s].head.forward, forward, forward});
        if (inputs > 0) {
            add_stream(streams, &count, (struct ppi_stream){partial->stage[s].head.backward, input, input});
            add_stream(streams, &count,
                       (struct ppi_stream){partial->stage[s].head.backward + stage->input, inputs * stage->weight, 0});
        }
        if (pending > 0)
            add_stream(streams, &count, (struct ppi_stream){partial->device[device].clock, pending * stage->weight, 0});
    }
    return count;
}

/* Memory times time from the device's clock on that a stage's activations will be held for at least: of the passes to come, of
 * those whose I is still to come, one behind the other, and of those whose W is. */
static double area_of(const struct ppi_stage *stage, const struct ppi_done *done, double input_head, double clock, uint32_t all)
{
    double forwards = all - done->forwards, begun = done->forwards - done->inputs, pending = done->inputs - done->weights;
    double area = forwards * stage->area, rest = stage->memory[PPSCHED_KIND_F] + stage->memory[PPSCHED_KIND_I];
    if (begun > 0)
        area += stage->memory[PPSCHED_KIND_F] * (begun * (input_head - clock) + stage->input * begun * (begun + 1) / 2) +
                rest * begun * stage->weight;
    return area + rest * stage->weight * pending * (pending + 1) / 2;
}

/* From each stage's next F and I on: all that are left of them, then what must follow the last. And the memory that is to be
 * held, spread over the whole limit. */
static double chains_of(const struct ppi_problem *problem, const struct ppi_partial *partial, uint32_t device)
{
    const struct ppi_device *own = &problem->device[device];
    double chain = 0, area = 0;
    for (uint32_t i = 0; i < own->count; i++) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_stage *stage = &problem->stage[s];
        uint32_t forwards = problem->microbatches - partial->stage[s].done.forwards;
        uint32_t inputs = problem->microbatches - partial->stage[s].done.inputs;
        if (forwards > 0)
            chain = ppi_larger(chain, partial->stage[s].head.forward + forwards * stage->duration[PPSCHED_KIND_F] +
                                          stage->tail.forward);
        if (inputs > 0)
            chain = ppi_larger(chain, partial->stage[s].head.backward + inputs * stage->input + stage->tail.backward);
        if (own->limit < PPI_INFINITE)
            area += area_of(stage, &partial->stage[s].done, partial->stage[s].head.backward, partial->device[device].clock,
                            problem->microbatches);
    }
    if (area > 0 && own->limit > 0)
        chain = ppi_larger(chain, area / own->limit + (problem->by_span ? partial->device[device].clock -
                                                                              ppi_larger(0, partial->device[device].start)
                                                                        : partial->device[device].clock));
    return chain;
}

/* Finds a device's bounds. What has the same head as a stream or a later one can only run behind that head; and behind the last
 * I of the device's first stage, the last of all its Fs and Is, comes its tail. */
static void find_bounds(const struct ppi_outlook_room *room, const struct ppi_problem *problem, struct ppi_partial *partial,
                        uint32_t device)
{
    uint32_t count = list_streams(room, problem, partial, device);
    double load = 0, chain = 0, end = partial->device[device].clock, chain_end = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ppi_stream *stream = &room->streams[i];
        load += stream->load;
        chain += stream->chain;
        end = ppi_larger(end, stream->head + load);
        if (stream->chain > 0)
            chain_end = ppi_larger(chain_end, stream->head + chain);
    }
    if (chain_end > 0)
        chain_end += problem->stage[ppi_stage_at(problem, device, 0)].tail.backward;
    if (problem->by_span) /* where a device has not started, nobody knows when it will */
        end = partial->device[device].start < 0 ? load : end - partial->device[device].start;
    partial->device[device].end = end;
    partial->device[device].chain = ppi_larger(chain_end, chains_of(problem, partial, device));
}

static void set_head(const struct ppi_outlook_room *room, double *head, double value, uint32_t device)
{
    if (*head == value)
        return;
    *head = value;
    room->changed[device] = true;
}

struct ppi_outlook ppi_outlook(const struct ppi_outlook_room *room, const struct ppi_problem *problem,
                               struct ppi_partial *partial, uint32_t device)
{
    struct ppi_outlook outlook = {0};
    for (uint32_t d = 0; d < problem->devices; d++)
        room->changed[d] = d == device || device == PPSCHED_NONE;
    for (uint32_t s = 0; s < problem->stages; s++)
        if (partial->stage[s].done.forwards < problem->microbatches)
            set_head(room, &partial->stage[s].head.forward, forward_head(problem, partial, s), problem->stage[s].device);
    for (uint32_t s = problem->stages; s-- > 0;)
        if (partial->stage[s].done.inputs < problem->microbatches)
            set_head(room, &partial->stage[s].head.backward, input_head(problem, partial, s), problem->stage[s].device);
    for (uint32_t d = 0; d < problem->devices; d++) {
        if (room->changed[d] && problem->device[d].count > 0)
            find_bounds(room, problem, partial, d);
        outlook.mean += partial->device[d].end;
        outlook.bound = ppi_larger(outlook.bound, partial->device[d].end);
        outlook.chain = ppi_larger(outlook.chain, partial->device[d].chain);
    }
    outlook.mean /= problem->devices;
    outlook.bound = ppi_larger(outlook.bound, outlook.chain);
    return outlook;
}
