/* SPDX-License-Identifier: Apache-2.0 */
#include "lower/channels.h"

#include "base/error.h"

void ppi_channels_tell(struct ppi_channels *channels, uint32_t i)
{
    if (!channels->done[i])
        channels->news[channels->news_count++] = i;
}

bool ppi_channels_next(struct ppi_channels *channels, uint32_t *i)
{
    if (channels->news_first == channels->news_count) {
        channels->news_first = channels->news_count = 0;
        return false;
    }
    *i = channels->news[channels->news_first++];
    return true;
}

void ppi_channels_finish(struct ppi_channels *channels, uint32_t i)
{
    const struct ppi_wiring *wiring = &channels->wiring;
    const struct ppi_wire *wire = &wiring->wires[i];
    const uint32_t *queued = wiring->queued + wiring->queue_first[wire->queue];
    uint32_t size = wiring->queue_first[wire->queue + 1] - wiring->queue_first[wire->queue];
    uint32_t *head = &channels->head[wire->queue], before = *head;
    channels->done[i] = true;
    while (*head < size && channels->done[queued[*head]])
        ++*head;
    if (*head > before) /* perhaps to a batch that has its turn now */
        for (uint32_t k = *head; k < size && wiring->wires[queued[k]].batch == *head; k++)
            ppi_channels_tell(channels, queued[k]);
}

void ppi_channels_take(struct ppi_channels *channels, uint32_t send)
{
    const struct ppi_wiring *wiring = &channels->wiring;
    uint32_t channel = wiring->wires[send].channel;
    uint32_t next = wiring->channel_first[channel] + ++channels->received[channel];
    if (next < wiring->channel_first[channel + 1])
        ppi_channels_tell(channels, wiring->wires[wiring->carried[next]].partner);
}

bool ppi_channels_all_done(const struct ppi_channels *channels)
{
    const struct ppi_wiring *wiring = &channels->wiring;
    for (uint32_t q = 0; q < wiring->queue_count; q++)
        if (wiring->queue_first[q] + channels->head[q] < wiring->queue_first[q + 1])
            return false;
    return true;
}

static ppsched_status make_room(struct ppi_channels *channels, ppsched_error *error)
{
    const struct ppi_host *host = &channels->schedule->host;
    size_t ops = channels->wiring.count;
    channels->done = ppi_allocate_zeroed(host, ops, sizeof *channels->done);
    channels->news = ppi_allocate(host, 4 * ops + 4, sizeof *channels->news);
    channels->position = ppi_allocate_zeroed(host, channels->schedule->shape.devices, sizeof *channels->position);
    channels->head = ppi_allocate_zeroed(host, (size_t)channels->wiring.queue_count + 1, sizeof *channels->head);
    channels->received = ppi_allocate_zeroed(host, (size_t)channels->wiring.channel_count + 1, sizeof *channels->received);
    if (channels->done == NULL || channels->news == NULL || channels->position == NULL || channels->head == NULL ||
        channels->received == NULL)
        return ppi_fail_memory(error, "the channels");
    return PPSCHED_OK;
}

ppsched_status ppi_channels_make(struct ppi_channels *out, const ppsched_schedule *schedule, const ppsched_channel_model *model,
                                 ppsched_error *error)
{
    *out = (struct ppi_channels){.schedule = schedule, .model = *model};
    if (model->blocking != 0)
        out->model.order = PPSCHED_CHANNEL_ORDER_GROUP;
    ppsched_status status = ppi_wiring_make(&out->wiring, schedule, &out->model, error);
    if (status != PPSCHED_OK)
        return status;
    status = make_room(out, error);
    if (status != PPSCHED_OK)
        ppi_channels_clear(out);
    return status;
}

void ppi_channels_clear(struct ppi_channels *channels)
{
    const struct ppi_host *host = &channels->schedule->host;
    ppi_release(host, channels->received);
    ppi_release(host, channels->head);
    ppi_release(host, channels->position);
    ppi_release(host, channels->news);
    ppi_release(host, channels->done);
    ppi_wiring_clear(&channels->wiring);
}
