/* SPDX-License-Identifier: Apache-2.0 */
/* Beam search. All kept schedules have equally many steps; a heap orders their continuations by how promising they are, a hash
 * table drops one that another with the same ops dominates, and a tree of steps remembers how each came about. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/heap.h"
#include "search/explore.h"
#include "search/priority.h"

/* Measured: docs/performance.md. */
enum {
    MOST_HOLDS = 8,   /* of one schedule in one step: bounds how often Fs are held back to expand it */
    LEAST_VISITS = 8, /* of a candidate, in addition to those for its devices and stages */
    CHUNK = 1 << 10   /* children that are allocated at once */
};

/* A kept partial schedule. */
struct slot {
    struct ppi_partial partial;
    uint32_t node; /* its last step in the history */
};

/* A step in the history of all kept schedules. */
struct node {
    uint32_t parent;
    uint16_t stage;
    uint8_t kind;
};

struct search {
    const struct ppi_problem *problem;
    const struct ppi_beam *beam;
    struct ppi_arena arena;
    uint32_t width;           /* the beam's, or what memory allows */
    struct slot *kept, *next; /* those being continued, and their continuations; at most `width` each */
    uint32_t kept_count, next_count;
    struct ppi_partial scratch;
    struct ppi_stream *streams; /* scratch of ppi_priority */
    struct ppi_heap heap;       /* of candidates: by how promising they are, then by parent, which is the event's index */
    struct ppi_step *steps;     /* of the candidates, by number */
    double **chunks;            /* their blocks, CHUNK in each; allocated when first needed */
    size_t most_chunks;
    uint32_t *buckets, *chain, bucket_mask; /* continuations by hash: the last of each bucket, and the one before each */
    uint32_t *crowds;                       /* how many continuations have done the same Fs and Is, by hash */
    struct node *nodes;
    uint32_t node_count;
    size_t seen; /* candidates in all */
    double best; /* only a smaller objective is of interest */
    uint32_t best_node;
};

/* --- memory --- */

/* As many of a size as memory allows, one at least. */
static size_t affordable(size_t wanted, size_t size)
{
    size_t most = PPI_BEAM_MEMORY / 2 / size;
    return wanted < most ? wanted : most > 0 ? most : 1;
}

/* Bytes of one kept schedule: two slots, and its share of the history, the lists and the buckets. */
static size_t bytes_of_one(const struct ppi_problem *problem)
{
    size_t slot = ppi_partial_workspace(problem) * sizeof(double) + sizeof(struct slot);
    return 2 * slot + ppi_problem_ops(problem) * sizeof(struct node) + 24 * sizeof(uint32_t);
}

static size_t bytes_of_candidate(const struct ppi_problem *problem)
{
    return ppi_partial_block(problem) * sizeof(double) + sizeof(struct ppi_step) + sizeof(struct ppi_event);
}

static struct slot *take_slots(struct search *search, const struct ppi_problem *problem)
{
    size_t each = ppi_partial_workspace(problem);
    struct slot *slots = ppi_arena_take(&search->arena, search->width, sizeof *slots);
    double *memory = ppi_arena_take(&search->arena, search->width, each * sizeof *memory);
    for (size_t i = 0; i < search->width && slots != NULL && memory != NULL; i++)
        slots[i].partial = ppi_partial_at(problem, memory + i * each);
    return slots;
}

static ppsched_status make_room(struct search *search, ppsched_error *error)
{
    const struct ppi_problem *problem = search->problem;
    struct ppi_arena *arena = &search->arena;
    size_t width = affordable(search->beam->width, bytes_of_one(problem)), buckets = 4;
    size_t children = width * problem->most_stages * PPI_KINDS * (MOST_HOLDS + 1); /* of a step, at most */
    while (buckets < 4 * width)
        buckets *= 2;
    search->width = (uint32_t)width;
    search->bucket_mask = (uint32_t)buckets - 1;
    search->most_chunks = affordable((children + CHUNK - 1) / CHUNK, CHUNK * bytes_of_candidate(problem));
    search->kept = take_slots(search, problem);
    search->next = take_slots(search, problem);
    double *scratch = ppi_arena_take(arena, ppi_partial_workspace(problem), sizeof *scratch);
    search->streams = ppi_arena_take(arena, ppi_priority_streams(problem), sizeof *search->streams);
    search->steps = ppi_arena_take(arena, search->most_chunks, CHUNK * sizeof *search->steps);
    search->heap.events = ppi_arena_take(arena, search->most_chunks, CHUNK * sizeof *search->heap.events);
    search->chunks = ppi_arena_take_zeroed(arena, search->most_chunks, sizeof *search->chunks);
    search->buckets = ppi_arena_take(arena, buckets, sizeof *search->buckets);
    search->chain = ppi_arena_take(arena, width, sizeof *search->chain);
    search->crowds = ppi_arena_take(arena, buckets, sizeof *search->crowds);
    search->nodes = ppi_arena_take(arena, ppi_problem_ops(problem) * width, sizeof *search->nodes);
    if (scratch != NULL)
        search->scratch = ppi_partial_at(problem, scratch);
    return ppi_arena_check(arena, "the search", error);
}

/* --- candidates --- */

/* Whether there is memory for one more candidate. */
static bool has_room(struct search *search)
{
    size_t chunk = search->heap.count / CHUNK;
    if (chunk == search->most_chunks)
        return false;
    if (search->chunks[chunk] == NULL)
        search->chunks[chunk] = ppi_arena_take(&search->arena, CHUNK * ppi_partial_block(search->problem), sizeof(double));
    return search->chunks[chunk] != NULL;
}

/* The child of a kept schedule: its block in a chunk, with the parent's ends. */
static struct ppi_partial child_at(const struct search *search, size_t number, uint32_t parent)
{
    size_t each = ppi_partial_block(search->problem);
    struct ppi_partial child = ppi_partial_at(search->problem, search->chunks[number / CHUNK] + number % CHUNK * each);
    child.ends = search->kept[parent].partial.ends;
    return child;
}

/* Offers a step of the scratch schedule, which continues a kept one. */
static void offer(struct search *search, uint32_t parent, const struct ppi_step *step)
{
    if (!has_room(search))
        return;
    search->seen++;
    struct ppi_partial child = child_at(search, search->heap.count, parent);
    ppi_partial_copy(&child, &search->scratch);
    ppi_partial_append(&child, step);
    struct ppi_priority priority = ppi_priority(&child, search->streams);
    if (priority.bound >= search->best)
        return;
    search->steps[search->heap.count] = *step;
    ppi_heap_put(&search->heap, priority.bound + search->beam->mean_weight * priority.mean, 0, parent);
}

/* Offers all steps of a device. Returns the places (bits) of offered Fs that may be held back instead. */
static uint32_t offer_device(struct search *search, uint32_t parent, uint32_t device)
{
    const struct ppi_problem *problem = search->problem;
    uint32_t forwards = 0;
    for (int k = 0; k < PPI_KINDS; k++)
        for (uint32_t i = 0; i < problem->device[device].count; i++) {
            struct ppi_step step = {.stage = ppi_stage_at(problem, device, i), .kind = ppi_kinds[k]};
            if (!ppi_partial_may_be_next(&search->scratch, &step))
                continue;
            offer(search, parent, &step);
            if (step.kind == PPSCHED_KIND_F && ppi_partial_may_hold(&search->scratch, step.stage))
                forwards |= 1u << i;
        }
    return forwards;
}

/* Offers all continuations of a schedule. Where memory is scarce, an F may be skipped for one that comes later. */
static void expand(struct search *search, uint32_t parent)
{
    struct ppi_partial *partial = &search->scratch;
    ppi_partial_copy(partial, &search->kept[parent].partial);
    for (int round = 0; round <= MOST_HOLDS; round++) {
        uint32_t device = ppi_partial_first_to_finish(partial);
        if (device == PPSCHED_NONE)
            return;
        uint32_t forwards = offer_device(search, parent, device);
        if (forwards == 0 || !ppi_partial_is_scarce(partial, device))
            return;
        ppi_partial_hold(partial, device, forwards);
    }
}

/* --- choice --- */

/* The first F and I of a stage whose ends the next stage (stage before) has not used yet. */
static struct ppi_done first_unused(const struct ppi_partial *partial, uint32_t s)
{
    const struct ppi_at_stage *at = &partial->stage[s];
    return (struct ppi_done){.forwards = s + 1 < partial->problem->stages ? at[1].done.forwards : at->done.forwards,
                             .inputs = s > 0 ? at[-1].done.inputs : at->done.inputs};
}

/* Whether a can be continued by whatever continues b, no later. Both have done the same ops. */
static bool is_no_worse(const struct ppi_partial *a, const struct ppi_partial *b)
{
    const struct ppi_problem *problem = a->problem;
    for (uint32_t d = 0; d < problem->devices; d++)
        if (a->device[d].clock > b->device[d].clock || (problem->by_span && a->device[d].start < b->device[d].start))
            return false;
    for (uint32_t s = 0; s < problem->stages; s++) {
        const struct ppi_at_stage *x = &a->stage[s], *y = &b->stage[s];
        const struct ppi_done unused = first_unused(a, s); /* the first unused is already in `ready` */
        size_t row = (size_t)s * problem->microbatches;
        if (x->ready.forward > y->ready.forward || x->ready.backward > y->ready.backward)
            return false;
        for (size_t m = unused.forwards + 1; m < x->done.forwards; m++)
            if (a->ends.forward[row + m] > b->ends.forward[row + m])
                return false;
        for (size_t m = unused.inputs + 1; m < x->done.inputs; m++)
            if (a->ends.backward[row + m] > b->ends.backward[row + m])
                return false;
    }
    return true;
}

/* Copies the ends that have not been used yet. */
static void copy_ends(const struct ppi_partial *to, const struct ppi_partial *from)
{
    for (uint32_t s = 0; s < from->problem->stages; s++) {
        const struct ppi_done *done = &from->stage[s].done, unused = first_unused(from, s);
        size_t row = (size_t)s * from->problem->microbatches, forward = row + unused.forwards, input = row + unused.inputs;
        if (done->forwards > unused.forwards)
            memcpy(&to->ends.forward[forward], &from->ends.forward[forward],
                   (done->forwards - unused.forwards) * sizeof *to->ends.forward);
        if (done->inputs > unused.inputs)
            memcpy(&to->ends.backward[input], &from->ends.backward[input],
                   (done->inputs - unused.inputs) * sizeof *to->ends.backward);
    }
}

static bool is_known(const struct search *search, const struct ppi_partial *partial)
{
    uint64_t hash = partial->hash[0];
    for (uint32_t i = search->buckets[hash & search->bucket_mask]; i != PPSCHED_NONE; i = search->chain[i]) {
        const struct ppi_partial *other = &search->next[i].partial;
        if (other->hash[0] == hash && is_no_worse(other, partial))
            return true;
    }
    return false;
}

/* Adds the continuation unless one that is there is no worse, or as many with the same Fs and Is as the beam allows. */
static void take(struct search *search, const struct ppi_event *candidate)
{
    const struct ppi_step *step = &search->steps[candidate->number];
    const struct slot *parent = &search->kept[candidate->index];
    const struct ppi_partial child = child_at(search, (size_t)candidate->number, candidate->index);
    struct slot *slot = &search->next[search->next_count];
    copy_ends(&slot->partial, &parent->partial);
    ppi_partial_copy(&slot->partial, &child);
    ppi_partial_note_end(&slot->partial, step);
    uint32_t *crowd = &search->crowds[child.hash[1] & search->bucket_mask];
    uint32_t *bucket = &search->buckets[child.hash[0] & search->bucket_mask];
    if (is_known(search, &slot->partial) || (search->beam->crowd > 0 && *crowd >= search->beam->crowd))
        return;
    ++*crowd;
    search->chain[search->next_count] = *bucket;
    *bucket = search->next_count++;
    slot->node = search->node_count;
    search->nodes[search->node_count++] = (struct node){parent->node, (uint16_t)step->stage, step->kind};
}

/* The most promising candidates become the schedules that are kept. */
static void choose(struct search *search)
{
    struct slot *kept = search->kept;
    struct ppi_event first;
    size_t buckets = (size_t)search->bucket_mask + 1;
    memset(search->buckets, 0xff, buckets * sizeof *search->buckets);
    memset(search->crowds, 0, buckets * sizeof *search->crowds);
    search->next_count = 0;
    while (search->next_count < search->width && ppi_heap_take(&search->heap, &first))
        take(search, &first);
    search->kept = search->next;
    search->kept_count = search->next_count;
    search->next = kept;
}

/* --- result --- */

static void write_order(struct search *search, uint32_t node, struct ppi_orders *out)
{
    struct ppi_partial *partial = &search->scratch;
    uint32_t first = PPSCHED_NONE;
    for (uint32_t n = node, parent; n != PPSCHED_NONE; n = parent) { /* reverses the links from here to the first step */
        parent = search->nodes[n].parent;
        search->nodes[n].parent = first;
        first = n;
    }
    ppi_partial_start(partial);
    memset(out->count, 0, out->devices * sizeof *out->count);
    for (uint32_t n = first; n != PPSCHED_NONE; n = search->nodes[n].parent) {
        struct ppi_step step = {.stage = search->nodes[n].stage, .kind = search->nodes[n].kind};
        ppi_partial_may_be_next(partial, &step); /* it may: this only finds its times again */
        ppi_partial_put(partial, &step, out);
    }
}

/* Continues all kept schedules that are not complete. A full backward is one step where I and W are two, so not all are
 * complete at once. */
static void continue_all(struct search *search)
{
    search->heap = (struct ppi_heap){.events = search->heap.events};
    for (uint32_t i = 0; i < search->kept_count; i++) {
        const struct slot *slot = &search->kept[i];
        double objective = ppi_partial_objective(&slot->partial);
        if (!ppi_partial_is_complete(&slot->partial)) {
            expand(search, i);
        } else if (objective < search->best) {
            search->best = objective;
            search->best_node = slot->node;
        }
    }
}

static ppsched_status run(struct search *search, struct ppi_poll *poll, ppsched_error *error)
{
    double steps = (double)ppi_problem_ops(search->problem);
    const double each = LEAST_VISITS + (search->problem->stages + search->problem->devices) / 2.0; /* visits per candidate */
    size_t seen = 0;
    ppsched_status status = PPSCHED_OK;
    ppi_partial_start(&search->kept[0].partial);
    ppi_priority(&search->kept[0].partial, search->streams);
    search->kept[0].node = PPSCHED_NONE;
    search->kept_count = 1;
    for (size_t step = 0; search->kept_count > 0 && status == PPSCHED_OK; step++) {
        continue_all(search);
        choose(search);
        status = ppi_arena_check(&search->arena, "the search", error);
        if (status == PPSCHED_OK && (double)(search->seen - seen) * each >= PPI_VISITS_UNASKED) {
            seen = search->seen;
            status = ppi_poll_report(poll, (double)step / steps, error);
        }
    }
    return status;
}

ppsched_status ppi_search_beam(struct ppi_attempt *attempt, const struct ppi_beam *beam, ppsched_error *error)
{
    struct search search = {.problem = &attempt->problem,
                            .beam = beam,
                            .arena.host = &attempt->config->host,
                            .best = attempt->objective,
                            .best_node = PPSCHED_NONE};
    ppsched_status status = make_room(&search, error);
    if (status == PPSCHED_OK)
        status = run(&search, &attempt->poll, error);
    if (status == PPSCHED_OK && search.best_node != PPSCHED_NONE) {
        write_order(&search, search.best_node, &attempt->candidate);
        ppi_attempt_keep(attempt, search.best);
    }
    ppi_arena_clear(&search.arena);
    return status;
}
