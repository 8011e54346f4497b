/* SPDX-License-Identifier: Apache-2.0 */
#include "support/proofs.h"

#include "support/lowering.h"

#include <stdio.h>
#include <string.h>

enum { MOST_LINKS = 64 };

/* --- a plain execution of the model: every comm op is looked at again and again until nothing changes --- */

static bool step_comm(struct plain *plain, uint32_t d, size_t i)
{
    const ppsched_op *op = &plain->ops[d][i];
    ppsched_op other = partner_of(op);
    uint32_t peer = device_of(plain, other.stage, other.microbatch);
    if (plain->done[d][i] || !has_turn(plain, d, i))
        return false;
    if (is_send(op) && !plain->model->rendezvous)
        return plain->done[d][i] = true;
    if (is_send(op))
        return false; /* its receive does both */
    size_t k = find(plain, peer, &other);
    bool can = plain->model->rendezvous ? has_turn(plain, peer, k) && !plain->done[peer][k] : plain->done[peer][k];
    if (!can || !is_oldest(plain, peer, k))
        return false;
    return plain->done[peer][k] = plain->done[d][i] = true;
}

static bool step_device(struct plain *plain, uint32_t d)
{
    if (plain->position[d] == plain->count[d])
        return false;
    const ppsched_op *op = &plain->ops[d][plain->position[d]];
    ppsched_op receive;
    if (plain->model->blocking && !(plain->model->batched && is_comm(op)))
        for (size_t i = 0; i < plain->position[d]; i++)
            if (is_comm(&plain->ops[d][i]) && !plain->done[d][i])
                return false;
    if (receive_of(plain, d, op, &receive) && !plain->done[d][find(plain, d, &receive)])
        return false;
    plain->position[d]++;
    return true;
}

static bool ends(struct plain *plain)
{
    uint32_t devices = ppsched_schedule_devices(plain->schedule);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t d = 0; d < devices; d++) {
            while (step_device(plain, d))
                progress = true;
            for (size_t i = 0; i < plain->position[d]; i++)
                if ((is_send(&plain->ops[d][i]) || is_receive(&plain->ops[d][i])) && step_comm(plain, d, i))
                    progress = true;
        }
    }
    for (uint32_t d = 0; d < devices; d++)
        for (size_t i = 0; i < plain->count[d]; i++)
            if (plain->position[d] < plain->count[d] || (is_comm(&plain->ops[d][i]) && !plain->done[d][i]))
                return false;
    return true;
}

/* How the last execution ended. */
static struct plain last;

static bool ends_plainly(const ppsched_schedule *schedule, const ppsched_channel_model *model)
{
    plain_start(&last, schedule, model);
    return ends(&last);
}

/* --- what is proved --- */

/* A link waits in a send or a receive of its queue; for the other end of that, or for something on its own device. Of that is
 * the next link (NULL: not known). */
static void check_link(const ppsched_schedule *lowered, const ppsched_wait *link, const ppsched_wait *next)
{
    size_t count = 0;
    const ppsched_op *ops = ppsched_queue_ops(ppsched_schedule_queue(lowered, link->device), &count);
    assert_true(is_send(&link->op) || is_receive(&link->op));
    assert_true(link->position < count && is_same(&ops[link->position], &link->op));
    ppsched_op other = partner_of(&link->op);
    if (next != NULL && next->device != link->device)
        assert_int_equal(next->device, ppsched_schedule_device_of(lowered, other.stage, other.microbatch));
}

/* The op of a token. */
static size_t where_is(uint32_t device, const char *token)
{
    for (size_t i = 0; i < last.count[device]; i++) {
        char text[64];
        expect_ok(ppsched_op_write_token(text, sizeof text, NULL, &last.ops[device][i], NULL), NULL);
        if (strcmp(text, token) == 0)
            return i;
    }
    fail_msg("device %u has no %s", (unsigned)device, token);
    return 0;
}

/* A link that waits for something on its own device: what that is, and where, is told. A receive that stands later has its send
 * before that of the link's, which is done or could be. */
static void check_own(const ppsched_wait *link, const char *words)
{
    char token[64], side[16], first[64];
    unsigned position = 0;
    int found = sscanf(words, "for its %63[^,], which comes %15[a-z], at position %u, as %63s comes first", token, side,
                       &position, first);
    assert_true(found >= 3);
    assert_int_equal(where_is(link->device, token), position);
    assert_false(last.done[link->device][position]);
    assert_string_equal(side, position < link->position ? "before" : "later");
    assert_true(found == 4 || position < link->position);
    if (found == 3)
        return;
    const ppsched_op *receive = &last.ops[link->device][position];
    ppsched_op send = partner_of(receive), own = partner_of(&link->op);
    uint32_t peer = device_of(&last, send.stage, send.microbatch);
    assert_int_equal(peer, device_of(&last, own.stage, own.microbatch));
    assert_int_equal(where_is(peer, first), find(&last, peer, &send));
    assert_true(find(&last, peer, &send) < find(&last, peer, &own));
}

/* A link has been come to, and is not done in the plain execution; if it waits for its own device the words say for what. */
static void check_words(const char **words, const ppsched_wait *link, const ppsched_wait *next)
{
    char start[100], token[64];
    assert_true(link->position <= last.position[link->device]);
    assert_false(last.done[link->device][link->position]);
    expect_ok(ppsched_op_write_token(token, sizeof token, NULL, &link->op, NULL), NULL);
    snprintf(start, sizeof start, "waits in %s for ", token);
    *words = strstr(*words, start);
    assert_non_null(*words);
    *words += strlen(start) - strlen("for ");
    if (next->device == link->device)
        check_own(link, *words);
    else
        assert_memory_equal(*words, "for device ", 11);
}

/* The links of a circle each wait for the next one's device, and the plain execution agrees. */
static void check_proof(const ppsched_schedule *lowered, const ppsched_channel_model *model, const char *what, int must_be_safe)
{
    ppsched_wait cycle[MOST_LINKS];
    ppsched_error error;
    size_t count = 0;
    ppsched_status status = ppsched_schedule_prove(cycle, MOST_LINKS, &count, lowered, model, &error);
    bool safe = ends_plainly(lowered, model);
    if ((status == PPSCHED_OK) != safe)
        fail_msg("%s, order %d, rendezvous %u, batched %u, blocking %u: proved %s, but it %s (%s)", what, model->order,
                 model->rendezvous, model->batched, model->blocking, status == PPSCHED_OK ? "safe" : "unsafe",
                 safe ? "ends" : "hangs", status == PPSCHED_OK ? "" : error.message);
    if (must_be_safe && !safe)
        fail_msg("%s is not safe: %s", what, error.message);
    if (safe)
        return;
    assert_int_equal(status, PPSCHED_ERROR_INVALID_SCHEDULE);
    assert_true(count > 0);
    for (size_t i = 0; i < count && i < MOST_LINKS; i++) {
        assert_true(cycle[i].device >= cycle[0].device);
        for (size_t k = 0; k < i; k++)
            assert_true(cycle[i].device != cycle[k].device || cycle[i].position != cycle[k].position);
        check_link(lowered, &cycle[i], i + 1 == count ? &cycle[0] : i + 1 < MOST_LINKS ? &cycle[i + 1] : NULL);
    }
    const char *words = error.message;
    for (size_t i = 0; i < count && strstr(error.message, ", and so on") == NULL; i++)
        check_words(&words, &cycle[i], &cycle[(i + 1) % count]);
}

void check_all_models(const ppsched_schedule *lowered, const char *what, int must_be_safe, int *unsafe)
{
    for (int32_t order = PPSCHED_CHANNEL_ORDER_GROUP; order <= PPSCHED_CHANNEL_ORDER_SENDS; order++)
        for (uint32_t bits = 0; bits < 8; bits++) {
            ppsched_channel_model model = {
                .size = sizeof model, .order = order, .rendezvous = bits % 2, .batched = bits / 2 % 2, .blocking = bits / 4};
            check_proof(lowered, &model, what, must_be_safe);
            *unsafe += ppsched_schedule_prove(NULL, 0, NULL, lowered, &model, NULL) != PPSCHED_OK;
        }
}

size_t consumer_of(const struct plain *plain, uint32_t d, const ppsched_op *receive)
{
    for (size_t i = 0; i < plain->count[d]; i++) {
        const ppsched_op *op = &plain->ops[d][i];
        bool takes = receive->kind == PPSCHED_KIND_RECV_F ? op->kind == PPSCHED_KIND_F
                                                          : op->kind == PPSCHED_KIND_B || op->kind == PPSCHED_KIND_I;
        if (takes && op->stage == receive->stage && op->microbatch == receive->microbatch)
            return i;
    }
    fail_msg("a receive has no consumer");
    return 0;
}
