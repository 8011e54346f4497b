/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of a channel model, applied plainly: every question is answered by looking at all ops. */
#ifndef PPSCHED_TESTS_CHANNEL_RULES_H
#define PPSCHED_TESTS_CHANNEL_RULES_H

#include "support/problem.h"

#include <stdbool.h>

enum { MOST_DEVICES = 6, MOST_OPS = 4000 };

/* How far a run is. */
struct plain {
    const ppsched_schedule *schedule;
    const ppsched_channel_model *model;
    const ppsched_op *ops[MOST_DEVICES];
    size_t count[MOST_DEVICES], position[MOST_DEVICES]; /* ops before it are issued or have run */
    bool done[MOST_DEVICES][MOST_OPS];                  /* comm ops */
};

void plain_start(struct plain *plain, const ppsched_schedule *schedule, const ppsched_channel_model *model);

bool is_send(const ppsched_op *op);
bool is_receive(const ppsched_op *op);
bool is_comm(const ppsched_op *op);
bool is_gradient(const ppsched_op *op);
bool is_same(const ppsched_op *a, const ppsched_op *b);
uint32_t device_of(const struct plain *plain, uint32_t stage, uint32_t microbatch);

/* The op at the other end of a transfer. */
ppsched_op partner_of(const ppsched_op *op);

/* Where an op is on a device; fails the test where it is not. */
size_t find(const struct plain *plain, uint32_t device, const ppsched_op *op);

/* Whether two comm ops of a device are in the same queue. */
bool same_queue(const struct plain *plain, const ppsched_op *a, const ppsched_op *b);

/* Whether the transfers of two sends, if they go to one device, arrive in their order. */
bool same_channel(const struct plain *plain, const ppsched_op *a, const ppsched_op *b);

/* Whether all of a comm op's queue before it (or its batch) is done. */
bool has_turn(const struct plain *plain, uint32_t d, size_t i);

/* Whether all messages between two devices in the same channel that are sent before this one have been received. */
bool is_oldest(const struct plain *plain, uint32_t from, size_t i);

/* The receive that a compute op needs; false where it needs none. */
bool receive_of(const struct plain *plain, uint32_t d, const ppsched_op *op, ppsched_op *receive);

#endif
