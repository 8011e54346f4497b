/* SPDX-License-Identifier: Apache-2.0 */
/* DualPipe and DualPipeV: forwards and backwards of two model halves cross on every device and run overlapped.
 *
 * A device has two sides. In DualPipeV they are its two stages on the V placement; in DualPipe they are the stages of two model
 * copies, one for each direction, and the devices of the second half mirror those of the first. Both follow the same eight
 * steps, in which `depth` counts devices from the device to the turn, and `rank` those before it. */
#include "strategy/descriptors.h"

struct side {
    uint32_t stage, first_microbatch; /* of the side's direction */
    uint32_t forwards, backwards;
};

struct hand {
    struct ppi_op_writer *writer;
    struct ppi_weight_queue weights;
    struct side near, far; /* near: where the first forwards arrive */
};

static void forward(struct hand *hand, struct side *side)
{
    ppi_put(hand->writer, PPSCHED_KIND_F, side->stage, side->first_microbatch + side->forwards++);
}

static void backward(struct hand *hand, struct side *side, uint8_t kind)
{
    ppi_put(hand->writer, kind, side->stage, side->first_microbatch + side->backwards++);
}

static void pair(struct hand *hand, struct side *coming, struct side *going)
{
    ppi_put_pair(hand->writer, coming->stage, coming->first_microbatch + coming->forwards++, going->stage,
                 going->first_microbatch + going->backwards++);
}

/* Steps 1 to 3: fill. */
static void put_fill(struct hand *hand, uint32_t rank, uint32_t depth)
{
    for (uint32_t i = 0; i < 2 * depth; i++)
        forward(hand, &hand->near);
    for (uint32_t i = 0; i < rank + 1; i++) {
        forward(hand, &hand->near);
        forward(hand, &hand->far);
    }
    for (uint32_t i = 0; i < depth; i++) {
        backward(hand, &hand->far, PPSCHED_KIND_I);
        ppi_put_oldest_weight(hand->writer, &hand->weights);
        forward(hand, &hand->far);
    }
}

/* Step 4: overlapped pairs in both directions. At the turn the first backward depends on the forward before it, so that pair
 * runs separately. */
static void put_steady(struct hand *hand, uint32_t pairs, bool at_turn)
{
    for (uint32_t i = 0; i < pairs; i++) {
        if (i == 0 && at_turn) {
            forward(hand, &hand->near);
            backward(hand, &hand->far, PPSCHED_KIND_B);
        } else {
            pair(hand, &hand->near, &hand->far);
        }
        pair(hand, &hand->far, &hand->near);
    }
}

/* Steps 5 to 8: drain. Of the last 2(rank + 1) backwards the first rank + 1 are full; the others run their W later. */
static void put_drain(struct hand *hand, uint32_t rank, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        backward(hand, &hand->far, PPSCHED_KIND_B);
        pair(hand, &hand->far, &hand->near);
    }
    for (uint32_t i = 0; i < 2 * (rank + 1); i++)
        backward(hand, i % 2 == 0 ? &hand->far : &hand->near, i < rank + 1 ? PPSCHED_KIND_B : PPSCHED_KIND_I);
    for (uint32_t i = 0; i < depth; i++) {
        ppi_put_oldest_weight(hand->writer, &hand->weights);
        backward(hand, &hand->near, PPSCHED_KIND_I);
    }
    while (ppi_put_oldest_weight(hand->writer, &hand->weights))
        continue;
}

/* The device `rank` of the `ranks` up to the turn; `run` microbatches per direction. */
static void put_device(struct hand *hand, uint32_t rank, uint32_t ranks, uint32_t run)
{
    uint32_t depth = ranks - 1 - rank;
    put_fill(hand, rank, depth);
    put_steady(hand, run - 2 * ranks + rank + 1, depth == 0);
    put_drain(hand, rank, depth);
}

static void order_v(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    uint32_t devices = task->shape.devices;
    struct hand hand = {.writer = writer, .weights = ppi_weight_queue_start(writer)};
    hand.near.stage = device;
    hand.far.stage = 2 * devices - 1 - device;
    put_device(&hand, device, devices, task->run);
}

static void order_bidirectional(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    uint32_t devices = task->shape.devices, half = devices / 2, each = task->run / 2;
    struct side down = {.stage = device}, up = {.stage = devices - 1 - device, .first_microbatch = each};
    struct hand hand = {.writer = writer, .weights = ppi_weight_queue_start(writer)};
    hand.near = device < half ? down : up;
    hand.far = device < half ? up : down;
    put_device(&hand, device < half ? device : devices - 1 - device, half, each);
}

static ppsched_status fits_v(const struct ppi_task *task, ppsched_error *error)
{
    uint32_t least = 2 * task->shape.devices;
    if (task->run >= least)
        return PPSCHED_OK;
    return ppi_refuse(error, task, "needs at least 2D = %u microbatch%p on %u device%s, not %u", least, task->shape.devices,
                      task->shape.devices == 1 ? "" : "s", task->run);
}

static ppsched_status fits_bidirectional(const struct ppi_task *task, ppsched_error *error)
{
    uint32_t devices = task->shape.devices, least = 2 * devices;
    if (devices % 2 != 0)
        return ppi_refuse(error, task, "needs an even number of devices, not %u", devices);
    if (task->run < least)
        return ppi_refuse(error, task, "needs at least 2D = %u microbatch%p on %u device%p, not %u", least, devices, task->run);
    if (task->run % 2 != 0)
        return ppi_refuse(error, task, "needs an even number of microbatches, not %u", task->run);
    return PPSCHED_OK;
}

static const char *const aliases_v[] = {"DualPipeV"};
static const char *const aliases_bidirectional[] = {"DualPipe"};

const struct ppi_strategy ppi_dualpipe = {
    .name = "dualpipe",
    .overlaps = true,
    .summary = "two model copies in opposite directions; forwards and backwards cross and run overlapped",
    .source = "DeepSeek-V3 (arXiv 2412.19437), deepseek-ai/DualPipe",
    .aliases = aliases_bidirectional,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_BIDIRECTIONAL,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .fits = fits_bidirectional,
    .order = order_bidirectional,
    .repeats = 2,
};

const struct ppi_strategy ppi_dualpipe_v = {
    .name = "dualpipe_v",
    .overlaps = true,
    .summary = "DualPipe cut in half: one model copy on the V placement; forwards and backwards run overlapped",
    .source = "deepseek-ai/DualPipe, after Sea AI Lab's cut in half; PyTorch",
    .aliases = aliases_v,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .fits = fits_v,
    .order = order_v,
    .repeats = 1,
};
