/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved schedules: V chunks a device on the loop placement, walked by Megatron-LM's schedule table.
 *
 * The table goes over groups of g microbatches (the last may be short), inside a group chunk by chunk, inside a chunk
 * microbatch by microbatch. Forwards walk it as it stands, backwards with chunk c replaced by V-1-c. */
#include "strategy/descriptors.h"

/* A position in the table. */
struct walk {
    uint32_t group_size, run, chunks;
    uint32_t group_first, group_end; /* microbatches of the present group */
    uint32_t chunk, microbatch;
};

static void enter_group(struct walk *walk, uint32_t first)
{
    walk->group_first = first;
    walk->group_end = walk->run - first > walk->group_size ? first + walk->group_size : walk->run;
    walk->chunk = 0;
    walk->microbatch = first;
}

static struct walk start_walk(const struct ppi_task *task, int64_t group_size)
{
    struct walk walk = {.group_size = (uint32_t)group_size, .run = task->run, .chunks = task->chunks};
    enter_group(&walk, 0);
    return walk;
}

static void advance(struct walk *walk)
{
    if (++walk->microbatch < walk->group_end)
        return;
    walk->microbatch = walk->group_first;
    if (++walk->chunk == walk->chunks)
        enter_group(walk, walk->group_end);
}

/* One run of a device: where its forwards and its backwards are in the table. */
struct hand {
    struct ppi_pen *pen;
    uint32_t device, devices;
    struct walk forwards, backwards;
    uint64_t passes; /* forwards in all, and backwards */
};

static struct hand start_hand(const struct ppi_task *task, uint32_t device, int64_t group_size, struct ppi_pen *pen)
{
    struct walk walk = start_walk(task, group_size);
    return (struct hand){pen, device, task->shape.devices, walk, walk, (uint64_t)task->chunks * task->run};
}

/* (V-1)g forwards and `slope` more for each device behind this one; at most all of them. */
static uint64_t warmup_of(const struct hand *hand, uint64_t slope, uint64_t more)
{
    const struct walk *walk = &hand->forwards;
    uint64_t warmup = (uint64_t)(walk->chunks - 1) * walk->group_size + slope * (hand->devices - 1 - hand->device) + more;
    return warmup < hand->passes ? warmup : hand->passes;
}

static void put_forward(struct hand *hand)
{
    const struct walk *walk = &hand->forwards;
    ppi_put(hand->pen, PPSCHED_KIND_F, walk->chunk * hand->devices + hand->device, walk->microbatch);
    advance(&hand->forwards);
}

static void put_backward(struct hand *hand, uint8_t kind)
{
    const struct walk *walk = &hand->backwards;
    ppi_put(hand->pen, kind, (walk->chunks - 1 - walk->chunk) * hand->devices + hand->device, walk->microbatch);
    advance(&hand->backwards);
}

static void put_pair(struct hand *hand)
{
    const struct walk *f = &hand->forwards, *b = &hand->backwards;
    ppi_put_pair(hand->pen, f->chunk * hand->devices + hand->device, f->microbatch,
                 (b->chunks - 1 - b->chunk) * hand->devices + hand->device, b->microbatch);
    advance(&hand->forwards);
    advance(&hand->backwards);
}

static void order_1f1b(const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    struct hand hand = start_hand(task, device, task->option[0], pen);
    uint64_t warmup = warmup_of(&hand, 2, 0);
    for (uint64_t k = 0; k < warmup; k++)
        put_forward(&hand);
    for (uint64_t k = warmup; k < hand.passes; k++) {
        put_forward(&hand);
        put_backward(&hand, PPSCHED_KIND_B);
    }
    for (uint64_t k = 0; k < warmup; k++)
        put_backward(&hand, PPSCHED_KIND_B);
}

/* Groups of D; one warm-up forward more, so that the two of a pair do not depend on each other. */
static void order_overlap(const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    struct hand hand = start_hand(task, device, task->shape.devices, pen);
    uint64_t warmup = warmup_of(&hand, 2, 1);
    for (uint64_t k = 0; k < warmup; k++)
        put_forward(&hand);
    for (uint64_t k = warmup; k < hand.passes; k++)
        put_pair(&hand);
    for (uint64_t k = 0; k < warmup; k++)
        put_backward(&hand, PPSCHED_KIND_B);
}

/* Half the slope of the warm-up, as I alone is what the device before waits for; W lags I by the device's rank. */
static void order_zb(const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    struct hand hand = start_hand(task, device, task->option[0], pen);
    struct ppi_weight_queue weights = ppi_weight_queue_start(pen);
    uint64_t forwards = warmup_of(&hand, 1, 0);
    for (uint64_t k = 0; k < forwards; k++)
        put_forward(&hand);
    for (uint64_t j = 0; j < hand.passes; j++) {
        if (forwards < hand.passes) {
            put_forward(&hand);
            forwards++;
        }
        put_backward(&hand, PPSCHED_KIND_I);
        if (j >= device)
            ppi_put_oldest_weight(pen, &weights);
    }
    while (ppi_put_oldest_weight(pen, &weights))
        continue;
}

/* Whether an order with groups of g and a warm-up of that slope can be run. With V >= 2 and more than one group it deadlocks
 * unless each group and the next together reach slope * (D-1) microbatches. With two chunks a last group of one is fine too,
 * and so are groups of one of which three reach it. (Found by running every order with D <= 12, V <= 6, M <= 44, g <= 2D+2
 * through the checker; the rule agrees on all.) */
static bool can_run(const struct ppi_task *task, int64_t run, int64_t group, int64_t slope)
{
    int64_t groups = (run + group - 1) / group, last = run - (groups - 1) * group;
    int64_t reach = slope * ((int64_t)task->shape.devices - 1);
    if (task->chunks == 1 || groups == 1)
        return true;
    if (groups >= 3 && 2 * group < reach)
        return task->chunks == 2 && group == 1 && 3 * group >= reach;
    return last + group >= reach || (task->chunks == 2 && last == 1);
}

static ppsched_status fits_groups(const struct ppi_task *task, int64_t slope, ppsched_error *error)
{
    int64_t group = task->option[0];
    if (can_run(task, task->run, group, slope))
        return PPSCHED_OK;
    return ppi_refuse(error, task,
                      "%u microbatches in groups of %lld would deadlock on %u devices: a group and the next together must "
                      "reach %s(D-1) = %lld",
                      task->run, (long long)group, task->shape.devices, slope == 2 ? "2" : "",
                      (long long)slope * (task->shape.devices - 1));
}

static ppsched_status fits_1f1b(const struct ppi_task *task, ppsched_error *error)
{
    return fits_groups(task, 2, error);
}

static ppsched_status fits_zb(const struct ppi_task *task, ppsched_error *error)
{
    return fits_groups(task, 1, error);
}

static ppsched_status fits_overlap(const struct ppi_task *task, ppsched_error *error)
{
    uint64_t devices = task->shape.devices, forwards = 2 * (devices - 1) + (task->chunks - 1) * devices + 1;
    uint64_t least = (forwards + task->chunks - 1) / task->chunks;
    if (task->run % devices == 0 && task->run >= least)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "needs a multiple of %u microbatches, and at least %zu, not %u", task->shape.devices,
                      (size_t)least, task->run);
}

static int64_t devices(const struct ppi_shape *shape)
{
    return shape->devices;
}

static const struct ppi_option_row options[] = {
    {.name = "group_size",
     .default_text = "number of devices",
     .text = "microbatches that run one chunk before the next chunk starts",
     .role = PPI_ROLE_GROUP_SIZE,
     .minimum = 1,
     .maximum = PPSCHED_MAX_CELLS,
     .fallback = devices},
};

static const char *const aliases_zb[] = {"InterleavedZeroBubble"};
static const char *const aliases_1f1b[] = {"Interleaved1F1B", "interleave", "interleaved", "vpp"};

const struct ppi_strategy ppi_interleaved_1f1b = {
    .name = "interleaved_1f1b",
    .summary = "1F1B over several chunks a device: bubble divided by the chunks, more memory and communication",
    .source = "Megatron-LM (Narayanan et al. 2021, arXiv 2104.04473), PyTorch",
    .aliases = aliases_1f1b,
    .alias_count = 4,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .options = options,
    .option_count = 1,
    .fits = fits_1f1b,
    .order = order_1f1b,
};

const struct ppi_strategy ppi_interleaved_1f1b_overlap = {
    .name = "interleaved_1f1b_overlap",
    .summary = "interleaved 1F1B whose steady forwards and backwards run overlapped, to hide expert-parallel communication",
    .source = "Megatron-LM's overlap of expert-parallel communication (combined 1F1B), Victarry/PP-Schedule-Visualization",
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .fits = fits_overlap,
    .order = order_overlap,
};

const struct ppi_strategy ppi_interleaved_zb = {
    .name = "interleaved_zb",
    .summary = "interleaved 1F1B with the backward split; weight gradients fill the bubble",
    .source = "PyTorch's ScheduleInterleavedZeroBubble, after Zero Bubble Pipeline Parallelism (arXiv 2401.10241)",
    .aliases = aliases_zb,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .options = options,
    .option_count = 1,
    .fits = fits_zb,
    .order = order_zb,
};
