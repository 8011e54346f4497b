/* SPDX-License-Identifier: Apache-2.0 */
#include "support/channel_rules.h"

#include <string.h>

void plain_start(struct plain *plain, const ppsched_schedule *schedule, const ppsched_channel_model *model)
{
    memset(plain, 0, sizeof *plain);
    plain->schedule = schedule;
    plain->model = model;
    for (uint32_t d = 0; d < ppsched_schedule_devices(schedule); d++) {
        plain->ops[d] = ppsched_queue_ops(ppsched_schedule_queue(schedule, d), &plain->count[d]);
        assert_true(plain->count[d] <= MOST_OPS);
    }
}

bool is_send(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_SEND_F || op->kind == PPSCHED_KIND_SEND_B;
}

bool is_receive(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_RECV_F || op->kind == PPSCHED_KIND_RECV_B;
}

bool is_comm(const ppsched_op *op)
{
    return is_send(op) || is_receive(op);
}

bool is_gradient(const ppsched_op *op)
{
    return op->kind == PPSCHED_KIND_SEND_B || op->kind == PPSCHED_KIND_RECV_B;
}

uint32_t device_of(const struct plain *plain, uint32_t stage, uint32_t microbatch)
{
    return ppsched_schedule_device_of(plain->schedule, stage, microbatch);
}

ppsched_op partner_of(const ppsched_op *op)
{
    static const uint8_t other[] = {[PPSCHED_KIND_SEND_F] = PPSCHED_KIND_RECV_F,
                                    [PPSCHED_KIND_RECV_F] = PPSCHED_KIND_SEND_F,
                                    [PPSCHED_KIND_SEND_B] = PPSCHED_KIND_RECV_B,
                                    [PPSCHED_KIND_RECV_B] = PPSCHED_KIND_SEND_B};
    bool up = op->kind == PPSCHED_KIND_SEND_F || op->kind == PPSCHED_KIND_RECV_B;
    return (ppsched_op){
        .microbatch = op->microbatch, .stage = (uint16_t)(up ? op->stage + 1 : op->stage - 1), .kind = other[op->kind]};
}

bool is_same(const ppsched_op *a, const ppsched_op *b)
{
    return a->kind == b->kind && a->stage == b->stage && a->microbatch == b->microbatch;
}

size_t find(const struct plain *plain, uint32_t device, const ppsched_op *op)
{
    for (size_t i = 0; i < plain->count[device]; i++)
        if (is_same(&plain->ops[device][i], op))
            return i;
    fail_msg("an op has no partner");
    return 0;
}

bool same_queue(const struct plain *plain, const ppsched_op *a, const ppsched_op *b)
{
    if (plain->model->order == PPSCHED_CHANNEL_ORDER_GROUP || plain->model->blocking)
        return true;
    if (plain->model->order == PPSCHED_CHANNEL_ORDER_NONE)
        return is_same(a, b);
    if (plain->model->order == PPSCHED_CHANNEL_ORDER_SENDS)
        return is_same(a, b) || (is_send(a) && is_send(b));
    if (plain->model->order == PPSCHED_CHANNEL_ORDER_DIRECTION)
        return is_gradient(a) == is_gradient(b);
    ppsched_op x = partner_of(a), y = partner_of(b);
    return is_send(a) == is_send(b) && device_of(plain, x.stage, x.microbatch) == device_of(plain, y.stage, y.microbatch);
}

bool same_channel(const struct plain *plain, const ppsched_op *a, const ppsched_op *b)
{
    bool may_overtake = plain->model->order == PPSCHED_CHANNEL_ORDER_SENDS && !plain->model->blocking;
    return may_overtake ? is_same(a, b) : same_queue(plain, a, b);
}

bool has_turn(const struct plain *plain, uint32_t d, size_t i)
{
    size_t batch = i;
    if (i >= plain->position[d])
        return false;
    while (plain->model->batched && batch > 0 && (is_send(&plain->ops[d][batch - 1]) || is_receive(&plain->ops[d][batch - 1])))
        batch--;
    for (size_t k = 0; k < batch; k++) {
        const ppsched_op *op = &plain->ops[d][k];
        if ((is_send(op) || is_receive(op)) && same_queue(plain, op, &plain->ops[d][i]) && !plain->done[d][k])
            return false;
    }
    return true;
}

bool is_oldest(const struct plain *plain, uint32_t from, size_t i)
{
    ppsched_op own = partner_of(&plain->ops[from][i]);
    uint32_t to = device_of(plain, own.stage, own.microbatch);
    for (size_t k = 0; k < i; k++) {
        const ppsched_op *op = &plain->ops[from][k];
        if (!is_send(op) || !same_channel(plain, op, &plain->ops[from][i]))
            continue;
        ppsched_op receive = partner_of(op);
        if (device_of(plain, receive.stage, receive.microbatch) == to && !plain->done[to][find(plain, to, &receive)])
            return false;
    }
    return true;
}

bool receive_of(const struct plain *plain, uint32_t d, const ppsched_op *op, ppsched_op *receive)
{
    bool forward = op->kind == PPSCHED_KIND_F, backward = op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
    *receive = *op;
    receive->kind = forward ? PPSCHED_KIND_RECV_F : PPSCHED_KIND_RECV_B;
    receive->flags = 0;
    return (forward && op->stage > 0 && device_of(plain, op->stage - 1u, op->microbatch) != d) ||
           (backward && op->stage + 1u < ppsched_schedule_stages(plain->schedule) &&
            device_of(plain, op->stage + 1u, op->microbatch) != d);
}
