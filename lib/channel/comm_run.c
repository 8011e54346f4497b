/* SPDX-License-Identifier: Apache-2.0 */
/* A work list of comm ops to examine; an op enters it only when its device, its queue, its channel or its partner has
 * advanced. */
#include "channel/comm_run.h"

#include "base/error.h"
#include "ir/ports.h"

void ppi_comm_tell(struct ppi_comm_run *run, uint32_t i)
{
    if (!run->done[i])
        run->news[run->news_count++] = i;
}

bool ppi_comm_next(struct ppi_comm_run *run, uint32_t *i)
{
    if (run->news_first == run->news_count) {
        run->news_first = run->news_count = 0;
        return false;
    }
    *i = run->news[run->news_first++];
    return true;
}

void ppi_comm_finish(struct ppi_comm_run *run, uint32_t i)
{
    const struct ppi_channels *channels = &run->channels;
    const struct ppi_comm *comm = &channels->comms[i];
    const uint32_t *queued = channels->queued + channels->queue_first[comm->queue];
    uint32_t size = channels->queue_first[comm->queue + 1] - channels->queue_first[comm->queue];
    uint32_t *head = &run->head[comm->queue], before = *head;
    run->done[i] = true;
    while (*head < size && run->done[queued[*head]])
        ++*head;
    if (*head > before) /* the batch at the head may have its turn now */
        for (uint32_t k = *head; k < size && channels->comms[queued[k]].batch == *head; k++)
            ppi_comm_tell(run, queued[k]);
}

void ppi_comm_take(struct ppi_comm_run *run, uint32_t transfer)
{
    const struct ppi_channels *channels = &run->channels;
    uint32_t channel = channels->routes[transfer].channel;
    uint32_t next = channels->channel_first[channel] + ++run->received[channel];
    if (next < channels->channel_first[channel + 1])
        ppi_comm_tell(run, channels->transfers.ops[channels->carried[next]].receive);
}

bool ppi_comm_all_done(const struct ppi_comm_run *run)
{
    const struct ppi_channels *channels = &run->channels;
    for (uint32_t q = 0; q < channels->queue_count; q++)
        if (channels->queue_first[q] + run->head[q] < channels->queue_first[q + 1])
            return false;
    return true;
}

uint32_t ppi_comm_missing_on_graph(const struct ppi_comm_run *run, uint32_t device, uint32_t i)
{
    struct ppi_transfer transfer;
    for (struct ppi_ports ports = ppi_ports_in(run->schedule, &run->schedule->ops[i], device);
         ppi_next_sent(&ports, &transfer);) {
        uint32_t receive = run->channels.transfers.ops[transfer.number].receive;
        if (!run->done[receive])
            return receive;
    }
    return PPSCHED_NONE;
}

bool ppi_comm_gathers(struct ppi_comm_run *run, uint32_t device, uint32_t i)
{
    const uint32_t stage = run->schedule->ops[i].stage;
    uint32_t count = 0;
    const uint32_t *devices = ppi_devices_of(&run->schedule->placement, stage, &count);
    if (run->has_come[device])
        return false;
    run->has_come[device] = true;
    if (++run->come[stage] < count)
        return false;
    run->come[stage] = 0;
    for (uint32_t k = 0; k < count; k++)
        run->has_come[devices[k]] = false;
    return true;
}

uint32_t ppi_comm_absent(const struct ppi_comm_run *run, const ppsched_op *op)
{
    uint32_t count = 0, k = 0;
    const uint32_t *devices = ppi_devices_of(&run->schedule->placement, op->stage, &count);
    while (k + 1 < count && run->has_come[devices[k]] &&
           ppi_is_same_op(&run->schedule->queues[devices[k]].ops[run->position[devices[k]]], op))
        k++;
    return devices[k];
}

static ppsched_status reserve_comms(struct ppi_comm_run *run, ppsched_error *error)
{
    const struct ppi_host *host = &run->schedule->host;
    size_t ops = (size_t)run->schedule->op_count;
    bool has_graph = run->schedule->placement.graph != NULL;
    if (has_graph) {
        run->come = ppi_allocate_zeroed(host, run->schedule->shape.stages, sizeof *run->come);
        run->has_come = ppi_allocate_zeroed(host, run->schedule->shape.devices, sizeof *run->has_come);
    }
    run->done = ppi_allocate_zeroed(host, ops, sizeof *run->done);
    run->news = ppi_allocate(host, 4 * ops + 4, sizeof *run->news);
    run->position = ppi_allocate_zeroed(host, run->schedule->shape.devices, sizeof *run->position);
    run->head = ppi_allocate_zeroed(host, (size_t)run->channels.queue_count + 1, sizeof *run->head);
    run->received = ppi_allocate_zeroed(host, (size_t)run->channels.channel_count + 1, sizeof *run->received);
    if ((has_graph && (run->come == NULL || run->has_come == NULL)) || run->done == NULL || run->news == NULL ||
        run->position == NULL || run->head == NULL || run->received == NULL)
        return ppi_fail_memory(error, "the channels");
    return PPSCHED_OK;
}

ppsched_status ppi_comm_run_make(struct ppi_comm_run *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error)
{
    *out = (struct ppi_comm_run){.schedule = schedule, .model = *model};
    if (model->blocking != 0)
        out->model.order = PPSCHED_CHANNEL_ORDER_GROUP;
    ppsched_status status = ppi_channels_make(&out->channels, schedule, &out->model, error);
    if (status != PPSCHED_OK)
        return status;
    status = reserve_comms(out, error);
    if (status != PPSCHED_OK)
        ppi_comm_run_clear(out);
    return status;
}

void ppi_comm_run_clear(struct ppi_comm_run *run)
{
    const struct ppi_host *host = &run->schedule->host;
    ppi_release(host, run->has_come);
    ppi_release(host, run->come);
    ppi_release(host, run->received);
    ppi_release(host, run->head);
    ppi_release(host, run->position);
    ppi_release(host, run->news);
    ppi_release(host, run->done);
    ppi_channels_clear(&run->channels);
}
