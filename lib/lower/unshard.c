/* SPDX-License-Identifier: Apache-2.0 */
/* UNSHARD and RESHARD: before each op a device drops the parameters of stages that it does not use soon, and gathers those that
 * it does. Two windows over its next stages define soon: of `unshard` stages it keeps what it holds, and of the first few of
 * these, its lookahead, it gathers what it does not hold. (PyTorch's max_active_stages and unshard_lookahead.) Or it gathers at
 * chosen positions, within the first window. */
#include "base/error.h"
#include "lower/passes.h"

/* A device. `stages` stays sorted by next use. */
struct unshard_device {
    const ppsched_queue *queue;
    uint32_t number;
    size_t *next_use; /* by op: the next op of its stage; the queue's count: none */
    uint32_t *stages; /* the stages still to be used, the next first */
    size_t *use;      /* by stage: its next op */
    uint32_t stage_count;
    uint32_t *held; /* gathered stages, in the order of gathering */
    bool *is_held;  /* by stage */
    uint32_t held_count;
};

struct sharding {
    const ppsched_schedule *schedule;
    const ppsched_lower_options *options;
    const struct ppi_unshard_times *unshards; /* chosen positions; NULL: by the lookahead */
    size_t gathered;                          /* number of those done */
    ppsched_builder *out;
    struct unshard_device device;
    size_t *last; /* by stage, for the backward scan */
};

/* Finds each op's next op of the same stage in a backward scan, and each stage's first use, in order of use. */
static void find_uses(struct sharding *sharding)
{
    struct unshard_device *device = &sharding->device;
    const ppsched_queue *queue = device->queue;
    for (size_t i = queue->count; i-- > 0;)
        sharding->last[queue->ops[i].stage] = queue->count;
    for (size_t i = queue->count; i-- > 0;) {
        device->next_use[i] = sharding->last[queue->ops[i].stage];
        sharding->last[queue->ops[i].stage] = i;
    }
    device->stage_count = 0;
    for (size_t i = 0; i < queue->count; i++) {
        uint32_t stage = queue->ops[i].stage;
        if (sharding->last[stage] != i)
            continue;
        device->use[stage] = i;
        device->stages[device->stage_count++] = stage;
    }
}

/* Advances past op `i`, of the first stage: the stage moves back to its next use, or out. */
static void move_on(struct unshard_device *device, size_t i)
{
    uint32_t stage = device->stages[0], k = 1;
    size_t use = device->use[stage] = device->next_use[i];
    for (; k < device->stage_count && device->use[device->stages[k]] < use; k++)
        device->stages[k - 1] = device->stages[k];
    device->stages[k - 1] = stage;
    if (use == device->queue->count)
        device->stage_count--;
}

/* Number of the next stages in a window: whole units, until there are at least `most`. */
static uint32_t window_of(const struct unshard_device *device, uint32_t most)
{
    uint32_t count = device->stage_count < most ? device->stage_count : most;
    if (count > 0 && count < device->stage_count) {
        size_t last = device->use[device->stages[count - 1]];
        bool is_first_of_pair = (device->queue->ops[last].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
        count += is_first_of_pair && device->use[device->stages[count]] == last + 1;
    }
    return count;
}

static uint32_t lookahead_of(const ppsched_lower_options *options, uint32_t device)
{
    switch (options->unshard_lookahead) {
    case PPSCHED_UNSHARD_LOOKAHEAD_AUTO:
        return device + 2 < options->unshard ? device + 2 : options->unshard;
    case PPSCHED_UNSHARD_LOOKAHEAD_LIST:
        return options->unshard_lookaheads[device];
    default:
        return options->unshard;
    }
}

static ppsched_status put_sharding(struct sharding *sharding, uint8_t kind, uint32_t stage, ppsched_error *error)
{
    ppsched_op op = {.microbatch = PPSCHED_NONE, .stage = (uint16_t)stage, .kind = kind};
    return ppi_builder_append(sharding->out, sharding->device.number, &op, 1, error);
}

/* Drops all held stages except the first `kept` of the next ones. */
static ppsched_status drop_others(struct sharding *sharding, uint32_t kept, ppsched_error *error)
{
    struct unshard_device *device = &sharding->device;
    ppsched_status status = PPSCHED_OK;
    uint32_t left = 0;
    for (uint32_t i = 0; i < device->held_count && status == PPSCHED_OK; i++) {
        uint32_t stage = device->held[i];
        if (kept > 0 && device->use[stage] <= device->use[device->stages[kept - 1]]) {
            device->held[left++] = stage;
            continue;
        }
        device->is_held[stage] = false;
        status = put_sharding(sharding, PPSCHED_KIND_RESHARD, stage, error);
    }
    device->held_count = left;
    return status;
}

static ppsched_status gather(struct sharding *sharding, uint32_t stage, ppsched_error *error)
{
    struct unshard_device *device = &sharding->device;
    device->is_held[stage] = true;
    device->held[device->held_count++] = stage;
    return put_sharding(sharding, PPSCHED_KIND_UNSHARD, stage, error);
}

/* Gathers those of the first `wanted` stages that are not held. */
static ppsched_status gather_next(struct sharding *sharding, uint32_t wanted, ppsched_error *error)
{
    const struct unshard_device *device = &sharding->device;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t k = 0; k < wanted && status == PPSCHED_OK; k++)
        if (!device->is_held[device->stages[k]])
            status = gather(sharding, device->stages[k], error);
    return status;
}

/* Gathers the stages chosen for the position before op `i`. */
static ppsched_status gather_chosen(struct sharding *sharding, size_t i, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (; sharding->gathered < sharding->unshards->count && status == PPSCHED_OK; sharding->gathered++) {
        const struct ppi_gather *chosen = &sharding->unshards->list[sharding->gathered];
        if (chosen->device != sharding->device.number || chosen->at != i)
            break;
        status = gather(sharding, chosen->stage, error);
    }
    return status;
}

/* Refuses an overlapped pair of two stages, which needs both at once, if only one may be gathered. */
static ppsched_status check_unit(const struct sharding *sharding, size_t i, ppsched_error *error)
{
    const ppsched_op *unit = &sharding->device.queue->ops[i];
    char token[PPI_UNIT_TOKEN_SIZE];
    if (sharding->options->unshard > 1 || ppi_unit_length(unit) == 1 || unit[0].stage == unit[1].stage)
        return PPSCHED_OK;
    ppi_unit_token(token, unit);
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED,
                       (struct ppi_place){sharding->device.number, unit->stage, unit->microbatch, (uint32_t)i},
                       "device %u: %s needs 2 stages unsharded at once, but unshard is 1; set it to 2 or more",
                       sharding->device.number, token);
}

static ppsched_status shard_device(struct sharding *sharding, uint32_t d, ppsched_error *error)
{
    struct unshard_device *device = &sharding->device;
    const ppsched_queue *queue = device->queue = &sharding->schedule->queues[d];
    uint32_t lookahead = lookahead_of(sharding->options, d);
    ppsched_status status = PPSCHED_OK;
    device->number = d;
    find_uses(sharding);
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK;) {
        size_t length = ppi_unit_length(&queue->ops[i]);
        status = check_unit(sharding, i, error);
        if (status == PPSCHED_OK)
            status = drop_others(sharding, window_of(device, sharding->options->unshard), error);
        if (status == PPSCHED_OK)
            status = sharding->unshards != NULL ? gather_chosen(sharding, i, error)
                                                : gather_next(sharding, window_of(device, lookahead), error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(sharding->out, d, &queue->ops[i], length, error);
        for (size_t k = 0; k < length; k++, i++)
            move_on(device, i);
    }
    return status == PPSCHED_OK ? drop_others(sharding, 0, error) : status;
}

ppsched_status ppi_unshard(ppsched_builder *out, const ppsched_schedule *schedule, const ppsched_lower_options *options,
                           const struct ppi_unshard_times *unshards, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct sharding sharding = {.schedule = schedule, .options = options, .unshards = unshards, .out = out};
    struct unshard_device *device = &sharding.device;
    ppsched_status status = PPSCHED_OK;
    device->next_use = ppi_allocate(host, ppi_longest_queue(schedule), sizeof *device->next_use);
    device->stages = ppi_allocate(host, schedule->shape.stages, 2 * sizeof *device->stages);
    device->use = ppi_allocate(host, schedule->shape.stages, sizeof *device->use);
    device->is_held = ppi_allocate_zeroed(host, schedule->shape.stages, sizeof *device->is_held);
    sharding.last = ppi_allocate(host, schedule->shape.stages, sizeof *sharding.last);
    if (device->next_use == NULL || device->stages == NULL || device->use == NULL || device->is_held == NULL ||
        sharding.last == NULL)
        status = ppi_fail_memory(error, "the lowering");
    else
        device->held = device->stages + schedule->shape.stages;
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        status = shard_device(&sharding, d, error);
    ppi_release(host, sharding.last);
    ppi_release(host, device->is_held);
    ppi_release(host, device->use);
    ppi_release(host, device->stages);
    ppi_release(host, device->next_use);
    return status;
}
