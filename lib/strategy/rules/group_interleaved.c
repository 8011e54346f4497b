/* SPDX-License-Identifier: Apache-2.0 */
/* Group-interleaved 1F1B of PipeOffload: the building block of F, I and W of g microbatches on every chunk, repeated. A device
 * runs one chunk's block of g forwards, and k blocks later that of the same microbatches' next chunk; in between are blocks of
 * other microbatches, so that inputs from other devices have g * k steps to arrive.
 *
 * Blocks are numbered from 0, g steps each: F of chunk c for the n-th group of microbatches is block k*c + floor(c*q/V) + V*n
 * with q = gcd(V, k), which meets every number at most once. Backwards go along the same blocks with chunk c replaced by
 * V-1-c, so many steps later that the last device's first backward follows its first forward of the last chunk. */
#include "base/checked.h"
#include "offload/offload.h"
#include "strategy/descriptors.h"

enum { GROUP_SIZE, LEAST_DISTANCE, SHARE };

enum { FULL, HALF };

struct blocks {
    uint64_t chunks, group_size, microbatches, groups;
    uint64_t distance, share; /* k, q */
    uint64_t inverse;         /* of k/q modulo V/q */
};

/* A position along the blocks: the current microbatch of a chunk, and its step. */
struct cursor {
    const struct blocks *blocks;
    uint64_t block, chunk, first, member; /* first microbatch of the group */
    uint64_t entered;                     /* chunks whose blocks have begun */
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint64_t inverse_of(uint64_t number, uint64_t modulus)
{
    uint64_t inverse = 0;
    while (inverse < modulus && inverse * number % modulus != 1 % modulus)
        inverse++;
    return inverse;
}

static struct blocks blocks_of(const struct ppi_task *task)
{
    uint64_t devices = task->shape.devices, v = task->chunks;
    uint64_t group = (uint64_t)task->option[GROUP_SIZE], least = (uint64_t)task->option[LEAST_DISTANCE];
    if (group > devices)
        group = devices;
    least = least == 0 ? (devices + 1) / 2 : least < devices ? least : devices;
    uint64_t k = (least + group - 1) / group, q = common_divisor(v, k);
    return (struct blocks){.chunks = v,
                           .group_size = group,
                           .microbatches = task->run,
                           .groups = (task->run + group - 1) / group,
                           .distance = k,
                           .share = q,
                           .inverse = inverse_of(k / q, v / q)};
}

/* The first block of a chunk. */
static uint64_t first_block(const struct blocks *blocks, uint64_t chunk)
{
    return blocks->distance * chunk + chunk / (blocks->chunks / blocks->share);
}

/* The chunk whose blocks have this number modulo V. */
static uint64_t chunk_of(const struct blocks *blocks, uint64_t block)
{
    uint64_t q = blocks->share, part = blocks->chunks / q, a = block % q;
    return a * part + (block - a) / q % part * blocks->inverse % part;
}

/* Moves to the first block from here on that has microbatches; after the last `first` is the number of microbatches. */
static void settle(struct cursor *cursor)
{
    const struct blocks *own = cursor->blocks;
    for (;; cursor->block++) {
        while (cursor->entered < own->chunks && first_block(own, cursor->entered) <= cursor->block)
            cursor->entered++;
        if (cursor->block > first_block(own, cursor->entered - 1) + own->chunks * (own->groups - 1)) {
            if (cursor->entered == own->chunks)
                break;
            cursor->block = first_block(own, cursor->entered++); /* no block until then */
        }
        uint64_t chunk = chunk_of(own, cursor->block), begin = first_block(own, chunk);
        uint64_t group = cursor->block >= begin ? (cursor->block - begin) / own->chunks : own->groups;
        if (group < own->groups) {
            cursor->chunk = chunk;
            cursor->first = group * own->group_size;
            cursor->member = 0;
            return;
        }
    }
    cursor->first = own->microbatches;
    cursor->member = 0;
}

static struct cursor start(const struct blocks *blocks)
{
    struct cursor cursor = {.blocks = blocks};
    settle(&cursor);
    return cursor;
}

static bool has_more(const struct cursor *cursor)
{
    return cursor->first < cursor->blocks->microbatches;
}

static uint64_t step_of(const struct cursor *cursor)
{
    return cursor->block * cursor->blocks->group_size + cursor->member;
}

static void advance(struct cursor *cursor)
{
    cursor->member++;
    if (cursor->member < cursor->blocks->group_size && cursor->first + cursor->member < cursor->blocks->microbatches)
        return;
    cursor->block++;
    settle(cursor);
}

static void order(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct blocks blocks = blocks_of(task);
    struct cursor forward = start(&blocks), backward = start(&blocks);
    uint64_t lag = blocks.group_size * first_block(&blocks, blocks.chunks - 1) + task->shape.devices - 1 - device;
    while (has_more(&backward)) {
        if (has_more(&forward) && step_of(&forward) <= step_of(&backward) + lag) {
            ppi_put(writer, PPSCHED_KIND_F, (uint32_t)(forward.chunk * task->shape.devices) + device,
                    (uint32_t)(forward.first + forward.member));
            advance(&forward);
            continue;
        }
        uint32_t stage = (uint32_t)((blocks.chunks - 1 - backward.chunk) * task->shape.devices) + device;
        ppi_put(writer, PPSCHED_KIND_I, stage, (uint32_t)(backward.first + backward.member));
        ppi_put(writer, PPSCHED_KIND_W, stage, (uint32_t)(backward.first + backward.member));
        advance(&backward);
    }
}

/* With a distance below half of D - 1 the order may deadlock: a chunk's forward may wait for a backward after it in the
 * queue. */
static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    const struct blocks blocks = blocks_of(task);
    uint64_t devices = task->shape.devices, distance = blocks.distance * blocks.group_size;
    if (task->option[LEAST_DISTANCE] == 0 || task->chunks == 1 || task->run == 1 || 2 * distance >= devices - 1)
        return PPSCHED_OK;
    return ppi_refuse(
        error, task,
        "may deadlock on %llu device%p where a microbatch's forwards on two chunks are %llu steps apart; nearest: "
        "min_group_size %llu",
        (unsigned long long)devices, (unsigned long long)distance, (unsigned long long)devices / 2);
}

/* The least distance where the caller sets none: as many steps of the busiest device as a microbatch's forward, or its
 * backward, takes through all devices; at least half their number. A device counts with its longest stage. Contradictory costs
 * are reported where they are read next. */
static void take_costs(struct ppi_task *task, const ppsched_config *config)
{
    const struct ppi_shape *shape = &task->shape;
    double forward = 0, backward = 0, step = 0;
    int64_t least = ((int64_t)shape->devices + 1) / 2;
    if (task->option[LEAST_DISTANCE] != 0)
        return;
    for (uint32_t d = 0; d < shape->devices; d++) {
        double f = 0, i = 0, w = 0;
        for (uint32_t s = d; s < shape->stages; s += shape->devices) {
            struct ppi_instance instance;
            if (ppi_resolve_stage(config, s, &instance, NULL) != PPSCHED_OK)
                return;
            ppi_put_on_device(instance.duration, config, s, d);
            ppi_add_op_overhead(instance.duration, config);
            f = ppi_larger(f, instance.duration[PPSCHED_KIND_F]);
            i = ppi_larger(i, instance.duration[PPSCHED_KIND_I]);
            w = ppi_larger(w, instance.duration[PPSCHED_KIND_W]);
        }
        forward += f;
        backward += i;
        step = ppi_larger(step, f + i + w);
    }
    while (least < shape->devices && step * (double)least < ppi_larger(forward, backward))
        least++;
    task->option[LEAST_DISTANCE] = least;
}

static int64_t devices(const struct ppi_shape *shape)
{
    return shape->devices;
}

static const struct ppi_option_row options[] = {
    {.name = "group_size",
     .default_text = "number of devices",
     .summary = "microbatches that run on one chunk before the next chunk starts; at most the number of devices is used",
     .role = PPI_ROLE_GROUP_SIZE,
     .minimum = 1,
     .maximum = PPSCHED_MAX_CELLS,
     .fallback = devices},
    {.name = "min_group_size",
     .default_text = "0: from the costs; half the devices if the costs are even",
     .summary = "least number of steps between a microbatch's forwards on two chunks of a device, rounded up to whole groups",
     .role = PPI_ROLE_MIN_GROUP_SIZE,
     .maximum = PPSCHED_MAX_CELLS},
};

static const char *const aliases[] = {"gis", "pipeoffload_repeat"};

const struct ppi_strategy ppi_group_interleaved_1f1b = {
    .name = "group_interleaved_1f1b",
    .summary = "interleaved with split backwards in groups of any size: less memory the smaller they are",
    .source = "PipeOffload (Wan et al. 2025, arXiv 2503.01328), sail-sg/zero-bubble-pipeline-parallelism",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .comes_last = true,
    .options = options,
    .option_count = 2,
    .fits = fits,
    .order = order,
    .bounds_groups = true,
    .take_costs = take_costs,
    .repeats = 1,
    .repeats_groups = true,
};

/* --- with offload --- */

static int64_t half_of_devices(const struct ppi_shape *shape)
{
    return ((int64_t)shape->devices + 1) / 2;
}

/* What is offloaded depends on the times. */
static ppsched_status check_times(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error)
{
    struct ppi_instance instance;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t s = 0; s < task->shape.stages && status == PPSCHED_OK; s++)
        status = ppi_resolve_stage(config, s, &instance, error);
    return status;
}

/* `half` offloads the lower stages, whose activations live longer. */
static ppsched_status offload(ppsched_schedule **out, const ppsched_schedule *schedule, const struct ppi_task *task,
                              const ppsched_config *config, ppsched_error *error)
{
    const ppsched_offload_options which = {.size = sizeof which,
                                           .chunks = task->option[SHARE] == HALF ? (task->chunks + 1) / 2 : 0};
    return ppi_offload(out, schedule, config, &which, true, error);
}

static const char *const shares[] = {[FULL] = "full", [HALF] = "half"};

static const struct ppi_option_row offload_options[] = {
    {.name = "group_size",
     .default_text = "half the number of devices, rounded up",
     .summary = "microbatches that run on one chunk before the next chunk starts; at most the number of devices is used",
     .role = PPI_ROLE_GROUP_SIZE,
     .minimum = 1,
     .maximum = PPSCHED_MAX_CELLS,
     .fallback = half_of_devices},
    {.name = "min_group_size",
     .default_text = "0: from the costs; half the devices if the costs are even",
     .summary = "least number of steps between a microbatch's forwards on two chunks of a device, rounded up to whole groups",
     .role = PPI_ROLE_MIN_GROUP_SIZE,
     .maximum = PPSCHED_MAX_CELLS},
    {.name = "offload",
     .default_text = "full",
     .summary =
         "what is offloaded; full: all that fits between forward and backward; half: half of the chunks, those held longest",
     .maximum = 1,
     .choices = shares},
};

static const char *const offload_aliases[] = {"po"};

const struct ppi_strategy ppi_pipeoffload = {
    .name = "pipeoffload",
    .summary = "group_interleaved_1f1b with its activations on the host between forward and backward",
    .source = "PipeOffload (Wan et al. 2025, arXiv 2503.01328)",
    .aliases = offload_aliases,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .comes_last = true,
    .offloads = true,
    .options = offload_options,
    .option_count = 3,
    .fits = fits,
    .order = order,
    .bounds_groups = true,
    .take_costs = take_costs,
    .check = check_times,
    .finish = offload,
};
