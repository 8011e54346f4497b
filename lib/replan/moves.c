/* SPDX-License-Identifier: Apache-2.0 */
/* What moves between devices when their layers change, how long that takes, and which of the devices that are alike goes where
 * so that the least moves. */
#include "replan/replan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* --- who holds what --- */

/* The last stage holds tied layers of the first, and stages with certain layers hold a copy of the embedding. */
static void fill_shared(bool *row, const ppsched_layers *layers, bool is_last, uint32_t first, uint32_t count)
{
    bool copies = false;
    for (uint32_t l = first; l < first + count; l++)
        copies = copies || (layers->entries[layers->entry_of[l]].given.flags & PPSCHED_LAYER_FLAG_COPIES_EMBEDDING) != 0;
    for (uint32_t l = 0; l < layers->first; l++) {
        const uint32_t flags = layers->entries[layers->entry_of[l]].given.flags;
        if ((is_last && (flags & PPSCHED_LAYER_FLAG_TIED) != 0) || (copies && (flags & PPSCHED_LAYER_FLAG_NOT_COPIED) == 0))
            row[l] = true;
    }
}

void ppi_fill_held(bool *held, const ppsched_layers *layers, const struct ppi_placement *placement, uint32_t stages,
                   const uint32_t *split, const uint32_t *order)
{
    for (uint32_t c = 0; c < placement->copies; c++)
        for (uint32_t s = 0, first = 0; s < stages; first += split[s++]) {
            bool *row = held + (size_t)order[placement->device_of[(size_t)c * stages + s]] * layers->count;
            for (uint32_t l = first; l < first + split[s]; l++)
                row[l] = true;
            if (s > 0)
                fill_shared(row, layers, s + 1 == stages, first, split[s]);
        }
}

/* --- moves --- */

static double link_time(const ppsched_config *config, uint32_t from, uint32_t to, double bytes)
{
    const size_t pair = (size_t)from * config->shape.devices + to;
    const struct ppi_values *latency = &config->values[PPSCHED_QUANTITY_P2P_TIME];
    const struct ppi_values *bandwidth = &config->values[PPSCHED_QUANTITY_P2P_BANDWIDTH];
    return (latency->values != NULL ? ppi_value_at(latency, pair) : 0) +
           (bandwidth->values != NULL ? bytes / ppi_value_at(bandwidth, pair) : 0);
}

/* The remaining device that holds a layer and has sent for the shortest time; PPSCHED_NONE if no device holds it. */
static uint32_t find_holder(const struct ppi_holdings *holdings, uint32_t layer, const double *sent)
{
    uint32_t best = PPSCHED_NONE;
    for (uint32_t d = 0; d < holdings->devices; d++)
        if (!holdings->is_lost[d] && holdings->held[(size_t)d * holdings->layers->count + layer] &&
            (best == PPSCHED_NONE || sent[d] < sent[best]))
            best = d;
    return best;
}

/* Moves as they are found: the last one is still open. */
struct moving {
    ppsched_layer_move *out; /* or NULL */
    ppsched_layer_move last;
    size_t count;
};

static void close_last(const struct moving *moving)
{
    if (moving->out != NULL && moving->count > 0)
        moving->out[moving->count - 1] = moving->last;
}

/* Adds a layer to the last move where it goes on with it. */
static void append(struct moving *moving, uint32_t layer, uint32_t from, uint32_t to, double bytes)
{
    ppsched_layer_move *last = &moving->last;
    if (moving->count > 0 && last->to_device == to && last->from_device == from &&
        last->first_layer + last->layer_count == layer) {
        last->layer_count++;
        last->bytes += bytes;
        return;
    }
    close_last(moving);
    *last = (ppsched_layer_move){.first_layer = layer, .layer_count = 1, .from_device = from, .to_device = to, .bytes = bytes};
    moving->count++;
}

size_t ppi_find_moves(ppsched_layer_move *out, ppsched_replan_figures *figures, const struct ppi_holdings *holdings,
                      const bool *wanted, double *room)
{
    const uint32_t devices = holdings->devices, layers = holdings->layers->count;
    double *sent = room, *received = room + devices, *loaded = room + 2 * (size_t)devices;
    struct moving moving = {.out = out};
    memset(room, 0, 3 * (size_t)devices * sizeof *room);
    figures->moved_bytes = figures->loaded_bytes = figures->move_time = 0;
    for (uint32_t to = 0; to < devices; to++)
        for (uint32_t l = 0; l < layers; l++) {
            const double bytes = holdings->bytes[l];
            if (!wanted[(size_t)to * layers + l] || holdings->held[(size_t)to * layers + l])
                continue;
            const uint32_t from = find_holder(holdings, l, sent);
            const double taken = from != PPSCHED_NONE ? link_time(holdings->config, from, to, bytes) : 0;
            if (from == PPSCHED_NONE)
                loaded[to] += bytes / holdings->load_bandwidth;
            else
                sent[from] += taken;
            received[to] += taken;
            *(from != PPSCHED_NONE ? &figures->moved_bytes : &figures->loaded_bytes) += bytes;
            append(&moving, l, from, to, bytes);
        }
    close_last(&moving);
    for (size_t i = 0; i < 3 * (size_t)devices; i++)
        figures->move_time = ppi_larger(figures->move_time, room[i]);
    return moving.count;
}

/* --- which of the devices that are alike --- */

/* Measured: docs/performance.md. */
enum { MOST_GIVEN = 256 };

/* Least-cost assignment by shortest augmenting paths. cost: a row of n places for each of n devices. */
struct assignment {
    uint32_t n;
    const double *cost;
    double *of_device, *of_place, *least; /* n + 1 each */
    uint32_t *device, *before;            /* by place, n + 1: its device from 1, and the place before it on the path */
    bool *seen;
};

/* The place that the path reaches next. */
static uint32_t extend(struct assignment *a, uint32_t place)
{
    const uint32_t device = a->device[place];
    double step = PPI_INFINITE;
    uint32_t next = 0;
    a->seen[place] = true;
    for (uint32_t p = 1; p <= a->n; p++) {
        if (a->seen[p])
            continue;
        const double left = a->cost[(size_t)(device - 1) * a->n + p - 1] - a->of_device[device] - a->of_place[p];
        if (left < a->least[p]) {
            a->least[p] = left;
            a->before[p] = place;
        }
        if (a->least[p] < step) {
            step = a->least[p];
            next = p;
        }
    }
    for (uint32_t p = 0; p <= a->n; p++) {
        if (a->seen[p]) {
            a->of_device[a->device[p]] += step;
            a->of_place[p] -= step;
        } else {
            a->least[p] -= step;
        }
    }
    return next;
}

static void assign(struct assignment *a)
{
    for (uint32_t device = 1; device <= a->n; device++) {
        uint32_t place = 0;
        a->device[0] = device;
        for (uint32_t p = 0; p <= a->n; p++) {
            a->least[p] = PPI_INFINITE;
            a->seen[p] = false;
        }
        do {
            place = extend(a, place);
        } while (a->device[place] != 0);
        for (; place != 0; place = a->before[place])
            a->device[place] = a->device[a->before[place]];
    }
}

/* Bytes that a device lacks for each place; places of other types cost more than all bytes together. */
static void fill_costs(double *cost, const uint32_t *order, uint32_t count, const uint32_t *type,
                       const struct ppi_holdings *holdings, const bool *wanted)
{
    const uint32_t layers = holdings->layers->count;
    double all = 1;
    for (uint32_t l = 0; l < layers; l++)
        all += holdings->bytes[l];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t p = 0; p < count; p++) {
            const bool *held = holdings->held + (size_t)order[i] * layers, *needs = wanted + (size_t)p * layers;
            double bytes = type[order[i]] == type[order[p]] ? 0 : all * count;
            for (uint32_t l = 0; l < layers; l++)
                bytes += needs[l] && !held[l] ? holdings->bytes[l] : 0;
            cost[(size_t)i * count + p] = bytes;
        }
}

ppsched_status ppi_give_places(uint32_t *order, uint32_t count, const uint32_t *type, const struct ppi_holdings *holdings,
                               const bool *wanted, const struct ppi_host *host, ppsched_error *error)
{
    if (count > MOST_GIVEN)
        return PPSCHED_OK;
    const size_t n = count, row = n + 1;
    double *numbers = ppi_allocate_zeroed(host, n * n + 3 * row, sizeof *numbers);
    uint32_t *places = ppi_allocate_zeroed(host, 2 * row + n, sizeof *places);
    bool *seen = ppi_allocate_zeroed(host, row, sizeof *seen);
    if (numbers != NULL && places != NULL && seen != NULL) {
        double *lists = numbers + n * n;
        struct assignment a = {count, numbers, lists, lists + row, lists + 2 * row, places, places + row, seen};
        uint32_t *old = places + 2 * row;
        fill_costs(numbers, order, count, type, holdings, wanted);
        assign(&a);
        memcpy(old, order, n * sizeof *old);
        for (size_t p = 0; p < n; p++)
            order[p] = old[a.device[p + 1] - 1];
    }
    const bool has_room = numbers != NULL && places != NULL && seen != NULL;
    ppi_release(host, numbers);
    ppi_release(host, places);
    ppi_release(host, seen);
    return has_room ? PPSCHED_OK : ppi_fail_memory(error, "the places of devices");
}
