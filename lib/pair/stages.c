/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the windows of stages into the config, adds them up to times of F, B, I and W, and finds the time of each pair of
 * unlike stages, and both of its ends, once. */
#include "pair/stages.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/sized.h"
#include "pair/answer.h"
#include "pair/problem.h"

/* --- the caller's windows --- */

/* What the caller gave of a stage, checked. */
static ppsched_status take_stage(ppsched_pair_windows *own, const ppsched_pair_windows *const *stages, size_t index,
                                 ppsched_error *error)
{
    size_t windows;
    if (stages[index] == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "windows of stage %zu are NULL", index);
    ppsched_status status = ppi_take_sized(own, sizeof *own, sizeof *own, stages[index], "ppsched_pair_windows", error);
    if (status == PPSCHED_OK)
        status = ppi_pair_count(&windows, own, error);
    if (status != PPSCHED_OK && error != NULL && error->stage == PPSCHED_NONE)
        error->stage = (uint32_t)index;
    return status;
}

/* Whether a stage agrees with the first one. */
static ppsched_status check_alike(const ppsched_pair_windows *first, const ppsched_pair_windows *own, uint32_t stage,
                                  ppsched_error *error)
{
    struct ppi_place place = PPI_NOWHERE;
    place.stage = stage;
    if ((first->weight_count > 0) != (own->weight_count > 0))
        return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                           "stage %u has %s of weight and stage 0 has %s; give them in all stages or in none", stage,
                           own->weight_count > 0 ? "windows" : "none", first->weight_count > 0 ? "some" : "none");
    for (uint32_t c = 0; c < PPSCHED_MAX_WINDOW_CHANNELS; c++)
        if (first->slowdown[c] != own->slowdown[c])
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, place,
                               "slowdown of channel %u is %g in stage %u and %g in stage 0; it must be the same in all stages",
                               c, own->slowdown[c], stage, first->slowdown[c]);
    return PPSCHED_OK;
}

static ppsched_status count_all(size_t *total, const ppsched_pair_windows *const *stages, size_t count, ppsched_error *error)
{
    ppsched_pair_windows first, own;
    *total = 0;
    ppsched_status status = take_stage(&first, stages, 0, error);
    for (size_t s = 0; s < count && status == PPSCHED_OK; s++) {
        status = take_stage(&own, stages, s, error);
        if (status == PPSCHED_OK)
            status = check_alike(&first, &own, (uint32_t)s, error);
        if (status == PPSCHED_OK)
            *total += own.forward_count + own.backward_count + own.weight_count;
    }
    return status;
}

static ppsched_window *put_list(struct ppi_stage_windows *stage, uint32_t list, ppsched_window *room,
                                const ppsched_window *windows, size_t count)
{
    stage->of[list] = room;
    stage->count[list] = (uint32_t)count;
    if (count > 0)
        memcpy(room, windows, count * sizeof *room);
    return room + count;
}

static ppsched_status take_all(struct ppi_windows **out, const struct ppi_host *host, const ppsched_pair_windows *const *stages,
                               size_t count, ppsched_error *error)
{
    size_t total;
    ppsched_status status = count_all(&total, stages, count, error);
    if (status != PPSCHED_OK)
        return status;
    struct ppi_windows *made = ppi_windows_create(host, (uint32_t)count, total);
    if (made == NULL)
        return ppi_fail_memory(error, "the windows of stages");
    ppsched_window *room = ppi_windows_room(made);
    for (uint32_t s = 0; s < made->stages; s++) {
        ppsched_pair_windows own;
        take_stage(&own, stages, s, NULL); /* it was checked */
        memcpy(made->slowdown, own.slowdown, sizeof made->slowdown);
        room = put_list(&made->stage[s], PPI_FORWARD, room, own.forward, own.forward_count);
        room = put_list(&made->stage[s], PPI_BACKWARD, room, own.backward, own.backward_count);
        room = put_list(&made->stage[s], PPI_WEIGHT, room, own.weight, own.weight_count);
    }
    *out = made;
    return PPSCHED_OK;
}

/* --- times of ops --- */

static ppsched_status put_sums(ppsched_config *config, const struct ppi_windows *windows, uint32_t list, int32_t quantity,
                               double *times, ppsched_error *error)
{
    for (uint32_t s = 0; s < windows->stages; s++) {
        times[s] = 0;
        for (uint32_t i = 0; i < windows->stage[s].count[list]; i++)
            times[s] += windows->stage[s].of[list][i].time;
    }
    return ppi_config_set_values(config, quantity, times, windows->stages, error);
}

/* Sets the times of F, and of B, or of I and W. */
static ppsched_status put_ops(ppsched_config *config, const struct ppi_windows *windows, double *times, ppsched_error *error)
{
    bool splits = ppi_windows_have_weight(windows);
    ppsched_status status = put_sums(config, windows, PPI_FORWARD, PPSCHED_QUANTITY_FORWARD_TIMES, times, error);
    if (status == PPSCHED_OK)
        status = put_sums(config, windows, PPI_BACKWARD,
                          splits ? PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES : PPSCHED_QUANTITY_BACKWARD_TIMES, times, error);
    if (status == PPSCHED_OK && splits)
        status = put_sums(config, windows, PPI_WEIGHT, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, times, error);
    return status;
}

/* --- times of pairs --- */

static bool is_same_list(const struct ppi_stage_windows *a, const struct ppi_stage_windows *b, uint32_t list)
{
    if (a->count[list] != b->count[list])
        return false;
    for (uint32_t i = 0; i < a->count[list]; i++) {
        const ppsched_window *x = &a->of[list][i], *y = &b->of[list][i];
        if (x->time != y->time || x->channel != y->channel || x->after != y->after)
            return false;
    }
    return true;
}

static bool is_same_order(const struct ppi_pair_order *order, uint32_t a, uint32_t b)
{
    return order == NULL || order->is_same(order->user, a, b);
}

/* The first stage with the same windows, by stage: of forwards, and of backwards with their weight gradients. */
static void find_first(const struct ppi_windows *windows, const struct ppi_pair_order *order, uint32_t *forward,
                       uint32_t *backward)
{
    for (uint32_t s = 0; s < windows->stages; s++) {
        const struct ppi_stage_windows *own = &windows->stage[s];
        forward[s] = backward[s] = 0;
        while (forward[s] < s &&
               !(is_same_list(&windows->stage[forward[s]], own, PPI_FORWARD) && is_same_order(order, forward[s], s)))
            forward[s]++;
        while (backward[s] < s &&
               !(is_same_list(&windows->stage[backward[s]], own, PPI_BACKWARD) &&
                 is_same_list(&windows->stage[backward[s]], own, PPI_WEIGHT) && is_same_order(order, backward[s], s)))
            backward[s]++;
    }
}

/* The given order, without windows of W where the pair has none. */
static ppsched_status run_order(ppsched_pair_times *times, const struct ppi_windows *windows, const ppsched_pair_windows *pair,
                                const struct ppi_pair_order *order, uint32_t forward, uint32_t backward,
                                const struct ppi_host *host, ppsched_error *error)
{
    const size_t count = pair->forward_count + pair->backward_count + windows->stage[backward].count[PPI_WEIGHT];
    size_t kept = 0;
    int32_t *kinds = ppi_allocate(host, count, sizeof *kinds);
    if (kinds == NULL)
        return ppi_fail_memory(error, "the order of windows");
    order->write(order->user, kinds, forward, backward);
    for (size_t i = 0; i < count; i++)
        if (kinds[i] != PPSCHED_KIND_W || pair->weight_count > 0)
            kinds[kept++] = kinds[i];
    ppsched_status status = ppi_pair_run(times, NULL, pair, kinds, kept, host, error);
    ppi_release(host, kinds);
    return status;
}

static ppsched_pair_windows pair_of(const struct ppi_windows *windows, uint32_t forward, uint32_t backward, uint8_t kind)
{
    const struct ppi_stage_windows *f = &windows->stage[forward], *b = &windows->stage[backward];
    ppsched_pair_windows pair = {.size = sizeof pair,
                                 .forward = f->of[PPI_FORWARD],
                                 .forward_count = f->count[PPI_FORWARD],
                                 .backward = b->of[PPI_BACKWARD],
                                 .backward_count = b->count[PPI_BACKWARD],
                                 .weight = b->of[PPI_WEIGHT],
                                 .weight_count = kind == PPSCHED_KIND_I ? 0 : b->count[PPI_WEIGHT]};
    memcpy(pair.slowdown, windows->slowdown, sizeof pair.slowdown);
    return pair;
}

/* Rounding keeps the ends of both ops within the pair. */
static struct ppi_pair_ends spans_of(const ppsched_pair_times *times)
{
    return (struct ppi_pair_ends){times->time, ppi_smaller(times->forward_end, times->time),
                                  ppi_smaller(times->backward_end, times->time)};
}

ppsched_status ppi_windows_find_pair(struct ppi_pair_ends *out, const struct ppi_windows *windows, uint32_t forward,
                                     uint32_t backward, uint8_t kind, const struct ppi_host *host, ppsched_error *error)
{
    const ppsched_pair_windows pair = pair_of(windows, forward, backward, kind);
    ppsched_pair_times times = {0};
    ppsched_status status = ppi_pair_find(&times, NULL, &pair, host, error);
    *out = spans_of(&times);
    return status;
}

/* `order` NULL: the best. */
static ppsched_status time_pair(struct ppi_pair_ends *out, const struct ppi_windows *windows,
                                const struct ppi_pair_order *order, uint32_t forward, uint32_t backward, uint8_t kind,
                                const struct ppi_host *host, ppsched_error *error)
{
    if (order == NULL)
        return ppi_windows_find_pair(out, windows, forward, backward, kind, host, error);
    const ppsched_pair_windows pair = pair_of(windows, forward, backward, kind);
    ppsched_pair_times times = {0};
    ppsched_status status = run_order(&times, windows, &pair, order, forward, backward, host, error);
    *out = spans_of(&times);
    return status;
}

/* What is known of each pair: time and ends with B, then with I. */
enum { OF_PAIR = 3, PAIR_LISTS = 2 * OF_PAIR };

struct pair_lists {
    double *of[PAIR_LISTS];
};

static struct pair_lists lists_of(double *times, const struct ppi_windows *windows)
{
    const size_t pairs = (size_t)windows->stages * windows->stages;
    double *ends = windows->ends, *inputs = windows->inputs;
    return (struct pair_lists){{times, ends, ends + pairs, inputs, inputs + pairs, inputs + 2 * pairs}};
}

/* Without windows of W, those of I are not known. */
static ppsched_status find_pair(const struct pair_lists *lists, const struct ppi_windows *windows, bool has_weight,
                                const struct ppi_pair_order *order, uint32_t forward, uint32_t backward,
                                const struct ppi_host *host, ppsched_error *error)
{
    const size_t number = (size_t)forward * windows->stages + backward;
    ppsched_status status = PPSCHED_OK;
    for (int i = 0; i < (has_weight ? 2 : 1) && status == PPSCHED_OK; i++) {
        struct ppi_pair_ends pair;
        status = time_pair(&pair, windows, order, forward, backward, i == 0 ? PPSCHED_KIND_B : PPSCHED_KIND_I, host, error);
        lists->of[OF_PAIR * i][number] = pair.time;
        lists->of[OF_PAIR * i + 1][number] = pair.forward_end;
        lists->of[OF_PAIR * i + 2][number] = pair.backward_end;
    }
    return status;
}

static ppsched_status find_times(double *times, uint32_t *first, struct ppi_windows *windows,
                                 const struct ppi_pair_order *order, const struct ppi_host *host, ppsched_error *error)
{
    const size_t stages = windows->stages;
    const bool has_weight = ppi_windows_have_weight(windows);
    const struct pair_lists lists = lists_of(times, windows);
    uint32_t *forward = first, *backward = first + stages;
    find_first(windows, order, forward, backward);
    for (uint32_t f = 0; f < stages; f++)
        for (uint32_t b = 0; b < stages; b++) {
            const size_t own = f * stages + b, same = forward[f] * stages + backward[b];
            ppsched_status status = own == same ? find_pair(&lists, windows, has_weight, order, f, b, host, error) : PPSCHED_OK;
            if (status != PPSCHED_OK)
                return status;
            for (int i = 0; i < PAIR_LISTS; i++)
                lists.of[i][own] = lists.of[i][same];
        }
    return PPSCHED_OK;
}

ppsched_status ppi_windows_check_pairs(const struct ppi_windows *windows, ppsched_error *error)
{
    uint32_t forward = 0, backward = 0;
    for (uint32_t s = 0; s < windows->stages; s++) {
        const uint32_t *count = windows->stage[s].count;
        forward = count[PPI_FORWARD] > forward ? count[PPI_FORWARD] : forward;
        backward = count[PPI_BACKWARD] + count[PPI_WEIGHT] > backward ? count[PPI_BACKWARD] + count[PPI_WEIGHT] : backward;
    }
    if (forward + backward <= PPSCHED_MAX_WINDOWS)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "a pair of these stages has %u window%p, and at most %d are possible; use more stages", forward + backward,
                    PPSCHED_MAX_WINDOWS);
}

ppsched_status ppi_windows_put_pairs(ppsched_config *config, struct ppi_windows *windows, const struct ppi_pair_order *order,
                                     ppsched_error *error)
{
    size_t pairs = 0;
    double *times = NULL;
    uint32_t *first = ppi_allocate(&config->host, windows->stages, 2 * sizeof *first);
    if (ppi_mul_size(&pairs, windows->stages, windows->stages))
        times = ppi_allocate(&config->host, pairs, sizeof *times);
    ppsched_status status = PPSCHED_OK;
    if (times == NULL || first == NULL)
        status = ppi_fail_memory(error, "the times of pairs");
    if (status == PPSCHED_OK)
        status = find_times(times, first, windows, order, &config->host, error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_values(config, PPSCHED_QUANTITY_OVERLAPPED_TIMES, times, pairs, error);
    ppi_release(&config->host, times);
    ppi_release(&config->host, first);
    return status;
}

/* Sets the times of ops, and of pairs where they are wanted, in a config that has nothing else. */
static ppsched_status put_times(ppsched_config *config, struct ppi_windows *windows, bool with_pairs, ppsched_error *error)
{
    double *times = ppi_allocate(&config->host, windows->stages, sizeof *times);
    if (times == NULL)
        return ppi_fail_memory(error, "the times of stages");
    ppsched_status status = with_pairs ? ppi_windows_put_pairs(config, windows, NULL, error) : PPSCHED_OK;
    if (status == PPSCHED_OK)
        status = put_ops(config, windows, times, error);
    ppi_release(&config->host, times);
    return status;
}

/* Exchanges what windows say of two configs. */
static void exchange(ppsched_config *a, ppsched_config *b, bool with_pairs)
{
    static const int32_t said[] = {PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_QUANTITY_BACKWARD_TIMES,
                                   PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES,
                                   PPSCHED_QUANTITY_OVERLAPPED_TIMES};
    for (size_t i = 0; i < sizeof said / sizeof said[0] - (with_pairs ? 0 : 1); i++) {
        const struct ppi_values values = a->values[said[i]];
        a->values[said[i]] = b->values[said[i]];
        b->values[said[i]] = values;
    }
    if (with_pairs) {
        struct ppi_windows *windows = a->windows;
        a->windows = b->windows;
        b->windows = windows;
    }
}

/* All is made in another config first, so that this one stays as it is where something fails. */
ppsched_status ppi_config_set_windows(ppsched_config *config, const ppsched_pair_windows *const *stages, size_t count,
                                      ppsched_error *error)
{
    ppsched_config *made = NULL;
    struct ppi_windows *windows = NULL;
    const bool with_pairs = config->values[PPSCHED_QUANTITY_OVERLAPPED_TIMES].values == NULL || config->windows != NULL;
    if (count != 1 && count != config->shape.stages)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "windows are of %zu stage%p; give 1 for all stages or %u, one a stage",
                        count, config->shape.stages);
    ppsched_status status = take_all(&windows, &config->host, stages, count, error);
    if (status == PPSCHED_OK)
        status = ppi_config_create(&made, &config->shape, &config->host, error);
    if (status == PPSCHED_OK)
        status = put_times(made, windows, with_pairs, error);
    if (status == PPSCHED_OK) {
        made->windows = windows;
        windows = NULL;
        exchange(config, made, with_pairs);
    }
    ppi_release(&config->host, windows);
    ppi_config_destroy(made);
    return status;
}

/* --- fewer stages --- */

static ppsched_window *append_windows(struct ppi_stage_windows *stage, uint32_t list, ppsched_window *room,
                                      const struct ppi_stage_windows *old, uint32_t before)
{
    if (stage->of[list] == NULL)
        stage->of[list] = room;
    for (uint32_t i = 0; i < old->count[list]; i++, room++) {
        *room = old->of[list][i];
        room->after += list == PPI_WEIGHT ? before : 0;
    }
    stage->count[list] += old->count[list];
    return room;
}

/* Puts the windows of the old stages `first` and on into a new stage: a forward from the first, a backward from the last. */
static ppsched_window *join(struct ppi_stage_windows *stage, ppsched_window *room, const struct ppi_windows *old,
                            uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        room = append_windows(stage, PPI_FORWARD, room, ppi_windows_of(old, first + i), 0);
    for (uint32_t i = count; i-- > 0;)
        room = append_windows(stage, PPI_BACKWARD, room, ppi_windows_of(old, first + i), 0);
    for (uint32_t i = count, before = 0; i-- > 0; before += ppi_windows_of(old, first + i)->count[PPI_BACKWARD])
        room = append_windows(stage, PPI_WEIGHT, room, ppi_windows_of(old, first + i), before);
    return room;
}

static struct ppi_windows *join_all(const struct ppi_windows *old, const struct ppi_host *host, uint32_t per_stage,
                                    uint32_t stages)
{
    size_t total = 0;
    const uint32_t made_stages = old->stages == 1 ? 1 : stages;
    for (uint32_t s = 0; s < made_stages * per_stage; s++)
        for (uint32_t k = 0; k < PPI_WINDOW_LISTS; k++)
            total += ppi_windows_of(old, s)->count[k];
    struct ppi_windows *made = ppi_windows_create(host, made_stages, total);
    if (made == NULL)
        return NULL;
    memcpy(made->slowdown, old->slowdown, sizeof made->slowdown);
    ppsched_window *room = ppi_windows_room(made);
    for (uint32_t s = 0; s < made_stages; s++)
        room = join(&made->stage[s], room, old, s * per_stage, per_stage);
    return made;
}

ppsched_status ppi_windows_restage(ppsched_config *to, const ppsched_config *from, double factor, ppsched_error *error)
{
    const uint32_t old = from->shape.stages, new = to->shape.stages;
    if (new > old)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "windows of %u stage%p cannot be divided into %u; give windows of a multiple of %u stage%p", old, new,
                        new);
    struct ppi_windows *windows = ppi_windows_copy(&to->host, from->windows, factor), *joined = windows;
    if (windows != NULL && new < old) {
        joined = join_all(windows, &to->host, old / new, new);
        ppi_release(&to->host, windows);
    }
    if (joined == NULL)
        return ppi_fail_memory(error, "the windows of stages");
    ppsched_status status = new < old ? ppi_windows_check_pairs(joined, error) : PPSCHED_OK;
    if (status == PPSCHED_OK && new < old)
        status = ppi_windows_put_pairs(to, joined, NULL, error);
    if (status == PPSCHED_OK)
        to->windows = joined;
    else
        ppi_release(&to->host, joined);
    return status;
}
