/* SPDX-License-Identifier: Apache-2.0 */
/* UNSHARD and RESHARD: before each op a device gathers the parameters of the stages that it uses next, and drops the others, so
 * that it never holds more than a few. */
#include "base/error.h"
#include "lower/passes.h"
#include "lower/python_set.h"

/* One device. Its stages in the order in which they come next: by the unit that uses them. */
struct device {
    const ppsched_queue *queue;
    size_t *next_use; /* by op: the next op of its stage; the queue's count where there is none */
    uint32_t *stages; /* those that are still used, the next first */
    size_t *use;      /* when each stage is used next */
    uint32_t stage_count;
    struct ppi_python_set active;
};

struct sharding {
    const ppsched_schedule *schedule;
    ppsched_builder *out;
    uint32_t most;
    struct device device;
    size_t *last; /* by stage, for the scan from behind */
};

/* From behind: each op's successor of the same stage, and at last each stage's first use, in the order of these. */
static void find_uses(struct sharding *sharding)
{
    struct device *device = &sharding->device;
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

/* The op at `i`, of the stage that comes first, is done: the stage moves back to where its next use is, or out. */
static void move_on(struct device *device, size_t i)
{
    uint32_t stage = device->stages[0], k = 1;
    size_t use = device->use[stage] = device->next_use[i];
    for (; k < device->stage_count && device->use[device->stages[k]] < use; k++)
        device->stages[k - 1] = device->stages[k];
    device->stages[k - 1] = stage;
    if (use == device->queue->count)
        device->stage_count--;
}

/* How many of the stages that come next may be held: whole units, until they are `most`. */
static uint32_t count_wanted(const struct sharding *sharding)
{
    const struct device *device = &sharding->device;
    uint32_t count = device->stage_count < sharding->most ? device->stage_count : sharding->most;
    if (count > 0 && count < device->stage_count) {
        size_t last = device->use[device->stages[count - 1]];
        bool is_first_of_pair = (device->queue->ops[last].flags & PPSCHED_OP_FLAG_OVERLAPPED) != 0;
        count += is_first_of_pair && device->use[device->stages[count]] == last + 1;
    }
    return count;
}

static ppsched_status put(struct sharding *sharding, uint32_t d, uint8_t kind, uint32_t stage, ppsched_error *error)
{
    ppsched_op op = {.microbatch = PPSCHED_NONE, .stage = (uint16_t)stage, .kind = kind};
    return ppi_builder_append(sharding->out, d, &op, 1, error);
}

static bool is_wanted(const struct device *device, uint32_t wanted, uint32_t stage)
{
    for (uint32_t k = 0; k < wanted; k++)
        if (device->stages[k] == stage)
            return true;
    return false;
}

/* Drops all stages but the first `wanted` ones. */
static ppsched_status drop_others(struct sharding *sharding, uint32_t d, uint32_t wanted, ppsched_error *error)
{
    struct ppi_python_set *active = &sharding->device.active;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < active->size && status == PPSCHED_OK; i++) {
        uint32_t stage = active->table[i];
        if (stage == PPI_SET_FREE || stage == PPI_SET_REMOVED || is_wanted(&sharding->device, wanted, stage))
            continue;
        ppi_python_set_remove(active, stage);
        status = put(sharding, d, PPSCHED_KIND_RESHARD, stage, error);
    }
    return status;
}

static ppsched_status gather(struct sharding *sharding, uint32_t d, uint32_t wanted, ppsched_error *error)
{
    struct device *device = &sharding->device;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t k = 0; k < wanted && status == PPSCHED_OK; k++) {
        uint32_t stage = device->stages[k];
        if (ppi_python_set_has(&device->active, stage))
            continue;
        if (!ppi_python_set_add(&device->active, &sharding->schedule->host, stage))
            return ppi_fail_memory(error, "the lowering");
        status = put(sharding, d, PPSCHED_KIND_UNSHARD, stage, error);
    }
    return status;
}

static ppsched_status shard_device(struct sharding *sharding, uint32_t d, ppsched_error *error)
{
    struct device *device = &sharding->device;
    const ppsched_queue *queue = device->queue = &sharding->schedule->queues[d];
    ppsched_status status = PPSCHED_OK;
    find_uses(sharding);
    if (!ppi_python_set_make(&device->active, &sharding->schedule->host))
        return ppi_fail_memory(error, "the lowering");
    for (size_t i = 0; i < queue->count && status == PPSCHED_OK;) {
        size_t length = ppi_unit_length(&queue->ops[i]);
        uint32_t wanted = count_wanted(sharding);
        status = drop_others(sharding, d, wanted, error);
        if (status == PPSCHED_OK)
            status = gather(sharding, d, wanted, error);
        if (status == PPSCHED_OK)
            status = ppi_builder_append(sharding->out, d, &queue->ops[i], length, error);
        for (size_t k = 0; k < length; k++, i++)
            move_on(device, i);
    }
    if (status == PPSCHED_OK)
        status = drop_others(sharding, d, 0, error);
    ppi_python_set_clear(&device->active, &sharding->schedule->host);
    return status;
}

ppsched_status ppi_unshard(ppsched_builder *out, const ppsched_schedule *schedule, uint32_t most, ppsched_error *error)
{
    const struct ppi_host *host = &schedule->host;
    struct sharding sharding = {.schedule = schedule, .out = out, .most = most};
    ppsched_status status = PPSCHED_OK;
    size_t longest = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        longest = schedule->queues[d].count > longest ? schedule->queues[d].count : longest;
    sharding.device.next_use = ppi_allocate(host, longest, sizeof *sharding.device.next_use);
    sharding.device.stages = ppi_allocate(host, schedule->shape.stages, sizeof *sharding.device.stages);
    sharding.device.use = ppi_allocate(host, schedule->shape.stages, sizeof *sharding.device.use);
    sharding.last = ppi_allocate(host, schedule->shape.stages, sizeof *sharding.last);
    if (sharding.device.next_use == NULL || sharding.device.stages == NULL || sharding.device.use == NULL ||
        sharding.last == NULL)
        status = ppi_fail_memory(error, "the lowering");
    for (uint32_t d = 0; d < schedule->shape.devices && status == PPSCHED_OK; d++)
        status = shard_device(&sharding, d, error);
    ppi_release(host, sharding.last);
    ppi_release(host, sharding.device.use);
    ppi_release(host, sharding.device.stages);
    ppi_release(host, sharding.device.next_use);
    return status;
}
