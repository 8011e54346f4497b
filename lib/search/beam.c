/* SPDX-License-Identifier: Apache-2.0 */
#include "search/beam.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "search/outlook.h"

enum {
    MOST_HOLDS = 8,         /* of one schedule in one step */
    REPORT_EVERY = 1 << 14, /* candidates between two reports to the watch */
    CHUNK = 1 << 10         /* children that are allocated at once */
};

/* A schedule in the making, with the ends that later ops need. */
struct slot {
    struct ppi_partial partial;
    struct ppi_ends ends;
    uint32_t node; /* its last step in the history */
};

/* A step in the history of all that was kept. */
struct node {
    uint32_t parent;
    uint16_t stage;
    uint8_t kind;
};

struct candidate {
    double key;
    struct ppi_step step;
    uint32_t rank;   /* the order in which they were found, that of their parents: breaks ties, and tells the child */
    uint32_t parent; /* slot */
};

struct search {
    const struct ppi_problem *problem;
    const struct ppi_beam *beam;
    uint32_t width; /* the beam's, or what memory allows */
    struct slot *slots;
    double *memory; /* of all slots */
    struct ppi_partial scratch;
    struct ppi_outlook_room room;
    uint32_t *kept, *next, *spare; /* slots: those being continued, their continuations, unused */
    uint32_t kept_count, next_count, spare_count;
    struct candidate *candidates;
    double **chunks; /* blocks of the candidates, by rank, CHUNK to each */
    size_t candidate_count, candidate_room, most_chunks;
    uint32_t *buckets, *chain, bucket_mask; /* continuations by hash: the last of a bucket, and the one before it */
    uint32_t *crowds;                       /* continuations by progress */
    struct node *nodes;
    uint32_t node_count;
    bool out_of_memory;
    size_t seen; /* candidates in all */
    double best; /* only a smaller objective is of interest */
    uint32_t best_node;
};

/* --- room --- */

static size_t cells(const struct ppi_problem *problem)
{
    return (size_t)problem->stages * problem->microbatches;
}

/* What one kept schedule takes: two slots, its share of the history, of the lists and of the buckets. */
static size_t bytes_of_one(const struct ppi_problem *problem)
{
    size_t slot = (ppi_partial_doubles(problem) + 2 * cells(problem)) * sizeof(double) + sizeof(struct slot);
    return 2 * slot + PPI_OPS_OF_PASS * cells(problem) * sizeof(struct node) + 24 * sizeof(uint32_t);
}

static ppsched_status make_slots(struct search *search, uint32_t width, ppsched_error *error)
{
    const struct ppi_problem *problem = search->problem;
    size_t block = ppi_partial_doubles(problem), each = block + 2 * cells(problem), count = 2 * (size_t)width;
    search->slots = ppi_allocate_zeroed(&problem->host, count, sizeof *search->slots);
    search->memory = ppi_allocate(&problem->host, count * each + block, sizeof *search->memory);
    if (search->slots == NULL || search->memory == NULL)
        return ppi_fail_memory(error, "the search");
    for (size_t i = 0; i < count; i++) {
        double *own = search->memory + i * each;
        ppi_partial_place(&search->slots[i].partial, problem, own);
        search->slots[i].ends = (struct ppi_ends){own + block, own + block + cells(problem)};
    }
    ppi_partial_place(&search->scratch, problem, search->memory + count * each);
    return PPSCHED_OK;
}

/* As many chunks as a step can need, and memory allows. */
static void count_chunks(struct search *search)
{
    const struct ppi_problem *problem = search->problem;
    size_t most = 0, child = ppi_partial_doubles(problem) * sizeof(double) + 2 * sizeof(struct candidate);
    for (uint32_t d = 0; d < problem->devices; d++)
        most = problem->device[d].count > most ? problem->device[d].count : most;
    size_t needed = (search->width * most * PPI_KINDS * (MOST_HOLDS + 1) + CHUNK - 1) / CHUNK;
    size_t affordable = PPI_BEAM_MEMORY / 2 / (CHUNK * child);
    search->most_chunks = needed < affordable ? needed : affordable > 0 ? affordable : 1;
}

static ppsched_status make_room(struct search *search, ppsched_error *error)
{
    const struct ppi_host *host = &search->problem->host;
    size_t affordable = PPI_BEAM_MEMORY / 2 / bytes_of_one(search->problem), width = search->beam->width, buckets = 4;
    width = width < affordable ? width : affordable > 0 ? affordable : 1;
    search->width = (uint32_t)width;
    while (buckets < 4 * width)
        buckets *= 2;
    search->bucket_mask = (uint32_t)buckets - 1;
    count_chunks(search);
    search->kept = ppi_allocate(host, 4 * width, sizeof *search->kept);
    search->chunks = ppi_allocate_zeroed(host, search->most_chunks, sizeof *search->chunks);
    search->buckets = ppi_allocate(host, buckets, sizeof *search->buckets);
    search->chain = ppi_allocate(host, width, sizeof *search->chain);
    search->crowds = ppi_allocate(host, buckets, sizeof *search->crowds);
    search->nodes = ppi_allocate(host, PPI_OPS_OF_PASS * cells(search->problem) * width, sizeof *search->nodes);
    if (search->kept == NULL || search->chunks == NULL || search->buckets == NULL || search->chain == NULL ||
        search->crowds == NULL || search->nodes == NULL)
        return ppi_fail_memory(error, "the search");
    search->next = search->kept + width;
    search->spare = search->next + width;
    for (uint32_t i = 0; i < 2 * width; i++)
        search->spare[search->spare_count++] = i;
    ppsched_status status = ppi_outlook_room_make(&search->room, search->problem, error);
    return status == PPSCHED_OK ? make_slots(search, search->width, error) : status;
}

/* Twice the room for candidates. */
static bool grow_candidates(struct search *search)
{
    const struct ppi_host *host = &search->problem->host;
    size_t room = search->candidate_room > 0 ? 2 * search->candidate_room : CHUNK;
    struct candidate *grown = ppi_allocate(host, room, sizeof *grown);
    if (grown == NULL)
        return false;
    if (search->candidate_count > 0)
        memcpy(grown, search->candidates, search->candidate_count * sizeof *grown);
    ppi_release(host, search->candidates);
    search->candidates = grown;
    search->candidate_room = room;
    return true;
}

/* Makes room for one more candidate; false where there is to be none. */
static bool grow(struct search *search)
{
    size_t count = search->candidate_count, chunk = count / CHUNK;
    if (search->out_of_memory || chunk == search->most_chunks)
        return false;
    if (search->chunks[chunk] == NULL)
        search->chunks[chunk] = ppi_allocate(&search->problem->host, CHUNK * ppi_partial_doubles(search->problem),
                                             sizeof(double));
    search->out_of_memory = search->chunks[chunk] == NULL || (count == search->candidate_room && !grow_candidates(search));
    return !search->out_of_memory;
}

static void clear(struct search *search)
{
    const struct ppi_host *host = &search->problem->host;
    ppi_outlook_room_clear(&search->room, search->problem);
    ppi_release(host, search->nodes);
    ppi_release(host, search->crowds);
    ppi_release(host, search->chain);
    ppi_release(host, search->buckets);
    for (size_t i = 0; search->chunks != NULL && i < search->most_chunks; i++)
        ppi_release(host, search->chunks[i]);
    ppi_release(host, search->chunks);
    ppi_release(host, search->candidates);
    ppi_release(host, search->kept);
    ppi_release(host, search->memory);
    ppi_release(host, search->slots);
}

/* --- candidates --- */

static double key_of(const struct search *search, const struct ppi_outlook *outlook)
{
    return outlook->bound + search->beam->mean_weight * outlook->mean + search->beam->chain_weight * outlook->chain;
}

static struct ppi_partial child_at(const struct search *search, size_t rank)
{
    struct ppi_partial child;
    ppi_partial_place(&child, search->problem,
                      search->chunks[rank / CHUNK] + rank % CHUNK * ppi_partial_doubles(search->problem));
    return child;
}

/* A step of the schedule in hand, which continues that of a slot. */
static void offer(struct search *search, uint32_t parent, const struct ppi_step *step)
{
    const struct ppi_problem *problem = search->problem;
    if (!grow(search))
        return;
    struct ppi_partial child = child_at(search, search->candidate_count);
    ppi_partial_copy(&child, &search->scratch, problem);
    ppi_partial_append(&child, problem, &search->slots[parent].ends, step);
    struct ppi_outlook outlook = ppi_outlook(&search->room, problem, &child, problem->stage[step->stage].device);
    if (outlook.bound >= search->best)
        return;
    search->candidates[search->candidate_count] = (struct candidate){
        .key = key_of(search, &outlook), .step = *step, .rank = (uint32_t)search->candidate_count, .parent = parent};
    search->candidate_count++;
}

/* Offers all steps of a device that could start before its first possible end: any other could be put behind one of these
 * without delay. Returns the places (bits) of offered Fs that may be held instead. */
static uint32_t offer_device(struct search *search, uint32_t parent, uint32_t device)
{
    const struct ppi_problem *problem = search->problem;
    const struct ppi_partial *partial = &search->scratch;
    double finish = partial->device[device].finish;
    uint32_t forwards = 0;
    for (int k = 0; k < PPI_KINDS; k++)
        for (uint32_t i = 0; i < problem->device[device].count; i++) {
            uint32_t stage = ppi_stage_at(problem, device, i);
            struct ppi_step step = {.stage = stage, .kind = ppi_kinds[k]};
            step.start = ppi_partial_earliest(partial, problem, stage, step.kind);
            step.end = step.start + problem->stage[stage].duration[step.kind];
            if (step.start == PPI_INFINITE || (step.start >= finish && step.end > finish))
                continue;
            offer(search, parent, &step);
            if (step.kind == PPSCHED_KIND_F && ppi_partial_may_hold(partial, problem, stage))
                forwards |= 1u << i;
        }
    return forwards;
}

/* All ways to go on with a schedule. Where memory is scarce, an F may be left out for another that comes later. */
static void expand(struct search *search, uint32_t parent)
{
    struct ppi_partial *partial = &search->scratch;
    ppi_partial_copy(partial, &search->slots[parent].partial, search->problem);
    for (int round = 0; round <= MOST_HOLDS; round++) {
        uint32_t device = ppi_partial_first_to_finish(partial, search->problem);
        if (device == PPSCHED_NONE)
            return;
        uint32_t forwards = offer_device(search, parent, device);
        if (forwards == 0 || !ppi_partial_is_scarce(partial, search->problem, device))
            return;
        ppi_partial_hold(partial, search->problem, device, forwards);
    }
}

/* --- choice --- */

static bool goes_before(const struct candidate *a, const struct candidate *b)
{
    return a->key != b->key ? a->key < b->key : a->rank < b->rank;
}

/* Restores the heap order of candidates below `i`; the one that goes before all others is on top. */
static void sift(struct candidate *heap, size_t count, size_t i)
{
    struct candidate moved = heap[i];
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        if (child + 1 < count && goes_before(&heap[child + 1], &heap[child]))
            child++;
        if (!goes_before(&heap[child], &moved))
            break;
        heap[i] = heap[child];
    }
    heap[i] = moved;
}

/* Whether every way to go on with b is open to a as well, no later. Both have done the same ops. */
static bool is_no_worse(const struct ppi_problem *problem, const struct slot *a, const struct slot *b)
{
    const struct ppi_partial *x = &a->partial, *y = &b->partial;
    for (uint32_t d = 0; d < problem->devices; d++)
        if (x->device[d].clock > y->device[d].clock || (problem->by_span && x->device[d].start < y->device[d].start))
            return false;
    for (uint32_t s = 0; s < problem->stages; s++) {
        size_t row = (size_t)s * problem->microbatches;
        if (x->stage[s].ready.forward > y->stage[s].ready.forward || x->stage[s].ready.backward > y->stage[s].ready.backward)
            return false;
        if (s + 1 < problem->stages)
            for (uint32_t m = x->stage[s + 1].done.forwards + 1; m < x->stage[s].done.forwards; m++)
                if (a->ends.forward[row + m] > b->ends.forward[row + m])
                    return false;
        if (s > 0)
            for (uint32_t m = x->stage[s - 1].done.inputs + 1; m < x->stage[s].done.inputs; m++)
                if (a->ends.backward[row + m] > b->ends.backward[row + m])
                    return false;
    }
    return true;
}

/* The ends that are still to be used. */
static void copy_ends(const struct ppi_problem *problem, struct slot *to, const struct slot *from)
{
    const struct ppi_at_stage *at = from->partial.stage;
    for (uint32_t s = 0; s < problem->stages; s++) {
        size_t row = (size_t)s * problem->microbatches;
        uint32_t used = s + 1 < problem->stages ? at[s + 1].done.forwards : at[s].done.forwards;
        uint32_t made = at[s].done.forwards;
        if (made > used)
            memcpy(&to->ends.forward[row + used], &from->ends.forward[row + used], (made - used) * sizeof(double));
        used = s > 0 ? at[s - 1].done.inputs : at[s].done.inputs;
        made = at[s].done.inputs;
        if (made > used)
            memcpy(&to->ends.backward[row + used], &from->ends.backward[row + used], (made - used) * sizeof(double));
    }
}

/* Makes the schedule of a candidate in a slot. */
static void follow(struct search *search, struct slot *slot, const struct candidate *candidate)
{
    const struct slot *parent = &search->slots[candidate->parent];
    struct ppi_partial child = child_at(search, candidate->rank);
    copy_ends(search->problem, slot, parent);
    ppi_partial_copy(&slot->partial, &child, search->problem);
    ppi_partial_note_end(&parent->partial, search->problem, &slot->ends, &candidate->step);
}

static bool is_known(const struct search *search, const struct slot *slot)
{
    uint64_t hash = slot->partial.hash[0];
    for (uint32_t i = search->buckets[hash & search->bucket_mask]; i != PPSCHED_NONE; i = search->chain[i]) {
        const struct slot *other = &search->slots[search->next[i]];
        if (other->partial.hash[0] == hash && is_no_worse(search->problem, other, slot))
            return true;
    }
    return false;
}

/* Adds the continuation unless one that is there already is no worse, or there are enough like it. */
static void take(struct search *search, const struct candidate *candidate)
{
    uint32_t own = search->spare[search->spare_count - 1];
    struct slot *slot = &search->slots[own];
    follow(search, slot, candidate);
    uint32_t *crowd = &search->crowds[slot->partial.hash[1] & search->bucket_mask];
    uint32_t *bucket = &search->buckets[slot->partial.hash[0] & search->bucket_mask];
    if (is_known(search, slot) || (search->beam->crowd > 0 && *crowd >= search->beam->crowd))
        return;
    ++*crowd;
    search->spare_count--;
    search->chain[search->next_count] = *bucket;
    *bucket = search->next_count;
    search->next[search->next_count++] = own;
    search->nodes[search->node_count] = (struct node){search->slots[candidate->parent].node, (uint16_t)candidate->step.stage,
                                                      (uint8_t)candidate->step.kind};
    slot->node = search->node_count++;
}

/* The most promising candidates become the schedules that are kept. */
static void choose(struct search *search)
{
    struct candidate *heap = search->candidates;
    size_t count = search->candidate_count;
    memset(search->buckets, 0xff, ((size_t)search->bucket_mask + 1) * sizeof *search->buckets);
    search->next_count = 0;
    memset(search->crowds, 0, ((size_t)search->bucket_mask + 1) * sizeof *search->crowds);
    for (size_t i = count / 2; i-- > 0;)
        sift(heap, count, i);
    while (count > 0 && search->next_count < search->width) {
        take(search, &heap[0]);
        heap[0] = heap[--count];
        if (count > 0)
            sift(heap, count, 0);
    }
    for (uint32_t i = 0; i < search->kept_count; i++)
        search->spare[search->spare_count++] = search->kept[i];
    memcpy(search->kept, search->next, search->next_count * sizeof *search->kept);
    search->kept_count = search->next_count;
}

/* --- result --- */

static void write_order(const struct search *search, uint32_t node, struct ppi_orders *out)
{
    const struct ppi_problem *problem = search->problem;
    struct ppi_at_stage *left = search->scratch.stage; /* done: ops before the present one */
    memset(out->count, 0, out->devices * sizeof *out->count);
    for (uint32_t s = 0; s < problem->stages; s++)
        left[s].done = (struct ppi_done){problem->microbatches, problem->microbatches, problem->microbatches};
    for (uint32_t n = node; n != PPSCHED_NONE; n = search->nodes[n].parent)
        out->count[problem->stage[search->nodes[n].stage].device]++;
    for (uint32_t d = 0; d < out->devices; d++)
        out->first[d] += out->count[d]; /* where the device's ops end, for now */
    for (uint32_t n = node; n != PPSCHED_NONE; n = search->nodes[n].parent) {
        const struct node *step = &search->nodes[n];
        struct ppi_done *own = &left[step->stage].done;
        uint32_t *count = step->kind == PPSCHED_KIND_F   ? &own->forwards
                          : step->kind == PPSCHED_KIND_W ? &own->weights
                                                         : &own->inputs;
        out->ops[--out->first[problem->stage[step->stage].device]] = (ppsched_op){
            .microbatch = --*count, .stage = step->stage, .kind = step->kind};
        own->weights -= step->kind == PPSCHED_KIND_B;
    }
}

/* Continues all that is kept. What is complete is not continued; as a full backward is one step where I and W are two, not all
 * are complete at once. */
static void continue_all(struct search *search)
{
    search->candidate_count = 0;
    for (uint32_t i = 0; i < search->kept_count; i++) {
        const struct slot *slot = &search->slots[search->kept[i]];
        double objective = ppi_partial_objective(&slot->partial, search->problem);
        if (!ppi_partial_is_complete(&slot->partial, search->problem)) {
            expand(search, search->kept[i]);
        } else if (objective < search->best) {
            search->best = objective;
            search->best_node = slot->node;
        }
    }
    search->seen += search->candidate_count;
}

static ppsched_status run(struct search *search, struct ppi_watch *watch, ppsched_error *error)
{
    size_t steps = 3 * cells(search->problem), last_report = 0;
    struct slot *root = &search->slots[search->spare[--search->spare_count]];
    ppi_partial_start(&root->partial, search->problem);
    ppi_outlook(&search->room, search->problem, &root->partial, PPSCHED_NONE);
    root->node = PPSCHED_NONE;
    search->kept[0] = (uint32_t)(root - search->slots);
    search->kept_count = 1;
    for (size_t step = 0; search->kept_count > 0; step++) {
        continue_all(search);
        if (search->out_of_memory)
            return ppi_fail_memory(error, "the search");
        if (search->seen - last_report >= REPORT_EVERY) {
            last_report = search->seen;
            ppsched_status status = ppi_watch_report(watch, (double)step / (double)steps, error);
            if (status != PPSCHED_OK)
                return status;
        }
        choose(search);
    }
    return PPSCHED_OK;
}

ppsched_status ppi_beam_search(struct ppi_attempt *attempt, const struct ppi_beam *beam, ppsched_error *error)
{
    struct search search = {.problem = &attempt->problem, .beam = beam, .best = attempt->objective, .best_node = PPSCHED_NONE};
    ppsched_status status = make_room(&search, error);
    if (status == PPSCHED_OK)
        status = run(&search, &attempt->watch, error);
    if (status == PPSCHED_OK && search.best_node != PPSCHED_NONE) {
        write_order(&search, search.best_node, &attempt->candidate);
        ppi_attempt_keep(attempt, search.best);
    }
    clear(&search);
    return status;
}
