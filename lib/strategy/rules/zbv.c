/* SPDX-License-Identifier: Apache-2.0 */
/* ZB-V's fixed pattern on the V placement: device r holds stage a = r and stage z = 2D-1-r, so the last device turns around
 * and device 0 computes the loss. The pattern is built for at least 2D-1 microbatches; ops of microbatches that a shorter run
 * does not have are left out. */
#include "strategy/descriptors.h"

/* A device's two stages and how many of each op it has. */
struct hand {
    struct ppi_op_writer *writer;
    uint32_t run;
    uint32_t stage[2]; /* a, z */
    uint32_t forwards[2], inputs[2], weights[2];
};

enum { A, Z };

static void put(struct hand *hand, uint8_t kind, int side, uint32_t *count)
{
    if (*count < hand->run)
        ppi_put(hand->writer, kind, hand->stage[side], *count);
    ++*count;
}

static void forward(struct hand *hand, int side)
{
    put(hand, PPSCHED_KIND_F, side, &hand->forwards[side]);
}

static void input(struct hand *hand, int side)
{
    put(hand, PPSCHED_KIND_I, side, &hand->inputs[side]);
}

static void weight(struct hand *hand, int side)
{
    put(hand, PPSCHED_KIND_W, side, &hand->weights[side]);
}

static void backward(struct hand *hand, int side)
{
    input(hand, side);
    weight(hand, side);
}

/* The steady state: each device turns a forward of a into one of z, with full backwards in between. */
static void put_steady(struct hand *hand, uint32_t built)
{
    while (hand->forwards[Z] < hand->forwards[A] || hand->forwards[A] < built) {
        if (hand->forwards[A] < built)
            forward(hand, A);
        backward(hand, A);
        forward(hand, Z);
        backward(hand, Z);
    }
}

static void order(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    uint32_t devices = task->shape.devices, least = 2 * devices - 1, built = task->run > least ? task->run : least;
    struct hand hand = {.writer = writer, .run = task->run, .stage = {device, 2 * devices - 1 - device}};
    for (uint32_t i = 0; i < 2 * (devices - device) - 1; i++)
        forward(&hand, A);
    for (uint32_t i = 0; i < device; i++) {
        forward(&hand, Z);
        forward(&hand, A);
    }
    for (uint32_t i = 0; i < devices - device; i++) {
        forward(&hand, Z);
        backward(&hand, Z);
    }
    put_steady(&hand, built);
    for (uint32_t i = 0; i < device; i++) {
        input(&hand, A);
        input(&hand, Z);
    }
    for (uint32_t i = 0; i < devices - device; i++)
        backward(&hand, A);
    while (hand.weights[Z] < hand.inputs[Z])
        weight(&hand, Z);
    while (hand.weights[A] < hand.inputs[A])
        weight(&hand, A);
}

static const char *const aliases[] = {"ZBVZeroBubble", "zb_v"};

const struct ppi_strategy ppi_zbv = {
    .name = "zbv",
    .summary = "zero bubble on the V placement at 1F1B's memory: no bubble inside a span when F, I and W cost the same",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), section 6; the fixed pattern of PyTorch",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_V,
    .chunks = 2,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .order = order,
    .repeats = 1,
};
