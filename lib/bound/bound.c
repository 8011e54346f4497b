/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds by work, by fill and drain, and by memory, from sums over the stage passes of each device; then, if asked for and
 * applicable, the one-machine bound. */
#include "bound/bound.h"

#include "base/arena.h"
#include "base/checked.h"
#include "base/error.h"
#include "bound/one_machine.h"
#include "bound/refute.h"
#include "bound/usable_memory.h"
#include "bound/web.h"
#include "ir/costs.h"
#include "ir/other_memory.h"

/* The shortest times of a stage instance. An overlapped pair may be shorter than its two ops. */
struct least {
    double forward, input;    /* until the next stage (the stage before) can start */
    double weight;            /* from there until the end of the backward */
    double chain, pass;       /* device time of F and I, and of F and the whole backward; negative if a pair saves more */
    double head;              /* before the first F can start */
    double tail;              /* after an I, before the chain ends with stage 0 */
    double area, on_the_path; /* activations times the time they are held: during compute, and during transfers */
    double rest;              /* of the activations after the I */
    double rise;              /* of memory, while the backward runs that adds least */
    double early;             /* the most by which the backward of a pair ends before the pair */
};

/* Factors of the micro-slices of one iteration. */
struct micro_slices {
    double count, time, held, held_time; /* sums of 1, times, memory, memory times time */
    double least_time, least_sent;
    double most, most_held; /* memory of the largest micro-slice, and of all slices of the largest microbatch */
};

/* Sums of a device, over the stage passes of all iterations; `hold`: the largest of its copies. */
struct sums {
    double work, area, hold, fixed;
    struct ppi_pass_sizes sizes; /* of its stage passes, before and after their I */
};

/* Sums of a device over the stage passes of one copy; `held`: by one microbatch between its forwards and backwards. */
struct transfer {
    double chain, head, tail, held;
};

struct bounds {
    const ppsched_config *config;
    uint32_t iterations; /* without a flush between them */
    struct ppi_placement place;
    struct ppi_costs costs;
    struct least *least;        /* copies x stages */
    struct sums *sums;          /* by device */
    struct transfer *transfers; /* copies x devices */
    double longest_backward;
    struct micro_slices *micro_slices; /* copies, x stages where slices differ by stage */
};

/* The sums of a copy's factors on a stage. */
static struct micro_slices *micro_slices_of(const struct bounds *bounds, uint32_t copy, uint32_t stage)
{
    return &bounds->micro_slices[bounds->costs.factor_step > 0 ? (size_t)copy * bounds->costs.stages + stage : copy];
}

/* Sums a copy's factors on a stage. */
static void sum_micro_slices(struct bounds *bounds, uint32_t copy, uint32_t stage)
{
    const struct ppi_shape *shape = &bounds->config->shape;
    struct micro_slices sum = {.least_time = PPI_INFINITE, .least_sent = PPI_INFINITE};
    for (uint32_t m = 0; m < shape->microbatches; m++)
        for (uint32_t k = 0; k < shape->slices && ppi_copy_of(&bounds->place, shape, m) == copy; k++) {
            const struct ppi_factor factor = ppi_factor_on(&bounds->costs.instances[stage], shape, m, k);
            sum.count++;
            sum.time += factor.time;
            sum.held += factor.memory;
            sum.held_time += factor.memory * factor.time;
            sum.least_time = ppi_smaller(sum.least_time, factor.time);
            sum.least_sent = ppi_smaller(sum.least_sent, factor.memory);
            sum.most = ppi_larger(sum.most, factor.memory);
            sum.most_held = ppi_larger(sum.most_held, factor.memory * shape->slices);
        }
    *micro_slices_of(bounds, copy, stage) = sum;
}

/* Sums a copy's factors. If pairs have given times, a pair of the largest microbatches may save most: then all microbatches
 * count as the smallest, on the stage where it takes least. */
static void sum_copy(struct bounds *bounds, uint32_t copy)
{
    const uint32_t rows = bounds->costs.factor_step > 0 ? bounds->costs.stages : 1;
    const bool has_pairs = bounds->costs.overlapped.values != NULL && bounds->costs.factors != NULL;
    double least = PPI_INFINITE;
    for (uint32_t s = 0; s < rows; s++) {
        sum_micro_slices(bounds, copy, s);
        least = ppi_smaller(least, micro_slices_of(bounds, copy, s)->least_time);
    }
    for (uint32_t s = 0; s < rows && has_pairs; s++) {
        struct micro_slices *sum = micro_slices_of(bounds, copy, s);
        if (sum->count == 0)
            continue;
        sum->least_time = least;
        sum->time = sum->count * least;
        sum->held_time = sum->held * least;
    }
}

/* The shortest time of a pair with the stage's F. */
static double shortest_as_forward(const struct ppi_values *given, uint32_t stages, uint32_t stage)
{
    double shortest = PPI_INFINITE;
    if (given->count <= stages)
        return ppi_value_at(given, stage);
    for (uint32_t b = 0; b < stages; b++)
        shortest = ppi_smaller(shortest, given->values[(size_t)stage * stages + b]);
    return shortest;
}

/* The shortest time of a pair with the stage's backward. */
static double shortest_as_backward(const struct ppi_values *given, uint32_t stages, uint32_t stage)
{
    double shortest = PPI_INFINITE;
    if (given->count <= stages)
        for (size_t f = 0; f < given->count; f++)
            shortest = ppi_smaller(shortest, given->values[f]);
    else
        for (uint32_t f = 0; f < stages; f++)
            shortest = ppi_smaller(shortest, given->values[(size_t)f * stages + stage]);
    return shortest;
}

/* The longest B of a stage, in any copy of the model. */
static double longest_of(const struct bounds *bounds, uint32_t stage)
{
    double longest = 0;
    for (uint32_t copy = 0; copy < bounds->place.copies; copy++)
        longest = ppi_larger(longest, bounds->costs.instances[copy * bounds->costs.stages + stage].duration[PPSCHED_KIND_B]);
    return longest;
}

/* How much shorter than its two ops a pair with the F of an instance may be, on a device of that speed. */
static double most_saved(const struct bounds *bounds, size_t instance, double speed)
{
    const struct ppi_values *given = &bounds->costs.overlapped;
    const uint32_t stages = bounds->costs.stages, stage = (uint32_t)(instance % stages);
    double forward = bounds->costs.instances[instance].duration[PPSCHED_KIND_F], most = 0;
    if (given->count <= stages)
        return ppi_larger(0, forward + bounds->longest_backward - ppi_value_at(given, stage) / speed);
    for (uint32_t b = 0; b < stages; b++)
        most = ppi_larger(most, forward + longest_of(bounds, b) - given->values[(size_t)stage * stages + b] / speed);
    return most;
}

/* What both ends of pairs change, on a device of that speed: outputs may be there before a pair ends. */
static void end_early(const struct bounds *bounds, uint32_t stage, double speed, struct least *least)
{
    const double whole = least->input + least->weight;
    for (uint32_t i = 0; i < 2 * bounds->costs.stages && bounds->costs.pair_ends != NULL; i++) {
        const uint16_t own = (uint16_t)stage, other = (uint16_t)(i / 2);
        const uint8_t kind = i % 2 == 0 ? PPSCHED_KIND_B : PPSCHED_KIND_I;
        const ppsched_op first[2] = {{.stage = own}, {.stage = other, .kind = kind}},
                         second[2] = {{.stage = other}, {.stage = own, .kind = kind}};
        const double as_first = ppi_plain_pair(&bounds->costs, first) / speed,
                     as_second = ppi_plain_pair(&bounds->costs, second) / speed;
        const double backward = ppi_end_in_pair(&bounds->costs, second, true, as_second);
        least->forward = ppi_smaller(least->forward, ppi_end_in_pair(&bounds->costs, first, false, as_first));
        least->input = ppi_smaller(least->input, backward);
        least->early = ppi_larger(least->early, as_second - backward);
    }
    least->weight = whole - least->input;
}

/* Subtracts the most that overlapped pairs could save. */
static void overlap(const struct bounds *bounds, size_t instance, struct least *least)
{
    const struct ppi_values *given = &bounds->costs.overlapped;
    const uint32_t stages = bounds->costs.stages, stage = (uint32_t)(instance % stages);
    const uint32_t device = bounds->costs.instances[instance].device;
    const double speed = ppi_speed_of(bounds->config, device) / ppi_scale_of(bounds->config, PPSCHED_KIND_F, stage, device);
    double saved = most_saved(bounds, instance, speed), backward = least->input + least->weight;
    double pair = shortest_as_backward(given, stages, stage) / speed;
    least->forward = ppi_smaller(least->forward, shortest_as_forward(given, stages, stage) / speed);
    least->input = ppi_smaller(least->input, pair);
    least->weight = ppi_smaller(backward, pair) - least->input;
    if (bounds->costs.pair_ends != NULL)
        end_early(bounds, stage, speed, least);
    least->chain -= saved;
    least->pass -= saved;
}

/* The least that a backward of the stage adds while it runs. */
static double least_rise(const struct bounds *bounds, uint32_t stage)
{
    if (bounds->costs.rises == NULL || bounds->config->is_forward_only)
        return 0;
    const struct ppi_rise *rise = &bounds->costs.rises[stage];
    return bounds->config->has_whole_backwards ? rise->whole : ppi_smaller(rise->whole, rise->input);
}

static void find_least(struct bounds *bounds)
{
    uint32_t stages = bounds->costs.stages;
    for (uint32_t s = 0; s < stages; s++)
        bounds->longest_backward = ppi_larger(bounds->longest_backward, longest_of(bounds, s));
    for (size_t i = 0; i < (size_t)bounds->place.copies * stages; i++) {
        const double *duration = bounds->costs.instances[i].duration;
        struct least *least = &bounds->least[i];
        double forward = duration[PPSCHED_KIND_F], input = ppi_smaller(duration[PPSCHED_KIND_I], duration[PPSCHED_KIND_B]);
        double backward = ppi_smaller(duration[PPSCHED_KIND_I] + duration[PPSCHED_KIND_W], duration[PPSCHED_KIND_B]);
        if (bounds->config->has_whole_backwards)
            input = backward = duration[PPSCHED_KIND_B];
        if (bounds->config->is_forward_only)
            input = backward = 0;
        *least = (struct least){.forward = forward,
                                .input = input,
                                .weight = backward - input,
                                .chain = forward + input,
                                .pass = forward + backward,
                                .rise = least_rise(bounds, (uint32_t)(i % stages))};
        if (bounds->costs.overlapped.values != NULL && !bounds->config->is_forward_only)
            overlap(bounds, i, least);
    }
}

/* With forwards only: sets the tail after a stage's last F. Their activations are never released, so the memory bound does not
 * apply. */
static void end_chain(struct bounds *bounds, uint32_t copy)
{
    uint32_t stages = bounds->costs.stages;
    struct least *least = &bounds->least[(size_t)copy * stages];
    const double last = micro_slices_of(bounds, copy, stages - 1)->least_time;
    for (uint32_t s = stages; s-- > 0;) {
        const double own = micro_slices_of(bounds, copy, s)->least_time;
        const double end = last * least[stages - 1].forward - own * least[s].forward,
                     same = last * (least[stages - 1].forward - least[s].forward);
        least[s].tail = least[stages - 1].head - least[s].head + (own == last ? same : end);
        least[s].area = least[s].on_the_path = 0;
    }
}

/* By how much more than on stage 0 slices hold memory on a stage, by their times there. */
static double rate_of(const struct bounds *bounds, uint32_t copy, uint32_t stage)
{
    return bounds->costs.factor_step == 0
               ? 1
               : micro_slices_of(bounds, copy, stage)->held_time / micro_slices_of(bounds, copy, 0)->held_time;
}

/* Follows the chain of a copy: heads and tails in ascending order, the time from the start of an F to the end of its I in
 * descending order. */
static void follow_chain(struct bounds *bounds, uint32_t copy)
{
    uint32_t stages = bounds->costs.stages;
    struct least *least = &bounds->least[(size_t)copy * stages];
    const struct ppi_instance *instance = &bounds->costs.instances[(size_t)copy * stages];
    const double sent = micro_slices_of(bounds, copy, 0)->least_sent;
    double round_transfer = 0, on_the_path = 0, *delays = bounds->costs.factors == NULL ? &round_transfer : &on_the_path;
    for (uint32_t s = 0; s < stages; s++) {
        double forward = ppi_scaled_delay(instance[s].forward_delay, instance[s].forward_latency, sent);
        double backward = s > 0 ? ppi_scaled_delay(instance[s - 1].backward_delay, instance[s - 1].backward_latency, sent) : 0;
        const double scale = micro_slices_of(bounds, copy, s > 0 ? s - 1 : 0)->least_time;
        least[s].head = s > 0 ? least[s - 1].head + scale * least[s - 1].forward + forward : 0;
        least[s].tail = s > 0 ? least[s - 1].tail + scale * least[s - 1].input + backward : scale * least[s].weight;
    }
    for (uint32_t s = stages; s-- > 0;) {
        const double rate = rate_of(bounds, copy, s);
        round_transfer += rate * (least[s].forward + least[s].input);
        double rise = bounds->costs.rises != NULL ? bounds->costs.rises[s].input : 0;
        least[s].rest = instance[s].memory[PPSCHED_KIND_F] + ppi_smaller(rise + instance[s].memory[PPSCHED_KIND_I], 0);
        least[s].area = instance[s].memory[PPSCHED_KIND_F] * round_transfer + least[s].rest * (rate * least[s].weight);
        least[s].on_the_path = instance[s].memory[PPSCHED_KIND_F] * on_the_path;
        *delays += ppi_scaled_delay(instance[s].forward_delay, instance[s].forward_latency, sent) +
                   (s > 0 ? ppi_scaled_delay(instance[s - 1].backward_delay, instance[s - 1].backward_latency, sent) : 0);
    }
}

/* After the device has run its last I, which may have ended before its pair; by an unknown time where microbatches differ. */
static double tail_of(const struct bounds *bounds, const struct least *least)
{
    if (bounds->costs.pair_ends != NULL && bounds->costs.factors != NULL)
        return 0;
    return ppi_larger(0, least->tail - least->early);
}

/* Adds the stage passes of a stage instance in all iterations. */
static void add_passes(struct bounds *bounds, uint32_t copy, uint32_t stage)
{
    const struct least *least = &bounds->least[(size_t)copy * bounds->costs.stages + stage];
    const struct ppi_instance *instance = &bounds->costs.instances[(size_t)copy * bounds->costs.stages + stage];
    struct sums *sums = &bounds->sums[instance->device];
    struct transfer *transfer = &bounds->transfers[(size_t)copy * bounds->config->shape.devices + instance->device];
    const struct micro_slices *micro_slices = micro_slices_of(bounds, copy, stage);
    const double most = instance->memory[PPSCHED_KIND_F] * (bounds->config->is_forward_only
                                                                ? micro_slices->held * bounds->config->shape.iterations
                                                                : micro_slices->most_held);
    if (micro_slices->count == 0)
        return;
    sums->work += micro_slices->time * bounds->iterations * least->pass;
    sums->area += micro_slices_of(bounds, copy, 0)->held_time * bounds->iterations * least->area;
    sums->area += micro_slices->held * bounds->iterations * least->on_the_path;
    ppi_pass_sizes_add(&sums->sizes, instance->memory[PPSCHED_KIND_F]);
    ppi_pass_sizes_add(&sums->sizes, least->rest);
    transfer->held += most; /* a backward of the microbatch finds all its forwards up to this stage */
    sums->hold = ppi_larger(sums->hold, transfer->held + least->rise * micro_slices->most);
    transfer->chain += micro_slices->time * bounds->iterations * least->chain;
    transfer->head = ppi_smaller(transfer->head, least->head);
    transfer->tail = ppi_smaller(transfer->tail, tail_of(bounds, least));
}

static void sum_devices(struct bounds *bounds)
{
    uint32_t stages = bounds->costs.stages;
    for (size_t i = 0; i < (size_t)bounds->place.copies * bounds->config->shape.devices; i++)
        bounds->transfers[i] = (struct transfer){.head = PPI_INFINITE, .tail = PPI_INFINITE};
    for (size_t i = 0; i < (size_t)bounds->place.copies * stages; i++) {
        uint32_t stage = (uint32_t)(i % stages);
        add_passes(bounds, (uint32_t)(i / stages), stage);
        ppi_add_static_memory(&bounds->sums[bounds->costs.instances[i].device].fixed, bounds->config, stage, 1);
    }
    for (uint32_t d = 0; d < bounds->config->shape.devices; d++)
        ppi_add_other_memory(&bounds->sums[d].fixed, bounds->config, d);
}

/* Raises a part of the bound and, if larger, its value; `time` is of all iterations. */
static void raise(const struct bounds *bounds, ppsched_bound *out, double *part, double time, uint32_t device)
{
    double value = time / bounds->iterations;
    *part = ppi_larger(*part, value);
    if (value > out->value) {
        out->value = value;
        out->device = device;
    }
}

/* From the start of a copy to its end; the offset between copies is unknown. */
static double longest_transfer(const struct bounds *bounds, uint32_t device)
{
    double longest = 0;
    for (uint32_t copy = 0; copy < bounds->place.copies; copy++) {
        const struct transfer *transfer = &bounds->transfers[(size_t)copy * bounds->config->shape.devices + device];
        if (transfer->head < PPI_INFINITE)
            longest = ppi_larger(longest, transfer->head + ppi_larger(0, transfer->chain) + transfer->tail);
    }
    return longest;
}

/* From 0 to the last end of all copies. */
static struct transfer whole_transfer(const struct bounds *bounds, uint32_t device)
{
    struct transfer whole = bounds->transfers[device];
    for (uint32_t copy = 1; copy < bounds->place.copies; copy++) {
        const struct transfer *transfer = &bounds->transfers[(size_t)copy * bounds->config->shape.devices + device];
        whole.chain += transfer->chain;
        whole.head = ppi_smaller(whole.head, transfer->head);
        whole.tail = ppi_smaller(whole.tail, transfer->tail);
    }
    return whole;
}

/* What activations can fill of a device's memory; all that is left of it if microbatches or slices differ in size. */
static double usable_memory(const struct bounds *bounds, const struct sums *sums, double limit)
{
    const double room = limit - sums->fixed;
    return bounds->costs.factors == NULL ? ppi_usable_memory(&sums->sizes, room, limit * PPI_ROUNDING) : room;
}

static void add_device(const struct bounds *bounds, uint32_t device, bool by_span, ppsched_bound *out)
{
    const struct ppi_values *limit = &bounds->config->values[PPSCHED_QUANTITY_MEM_LIMIT];
    const struct sums *sums = &bounds->sums[device];
    const struct transfer whole = whole_transfer(bounds, device);
    double head = by_span ? 0 : whole.head;
    out->least_limit = ppi_larger(out->least_limit, sums->hold + sums->fixed);
    if (whole.head == PPI_INFINITE) /* no stage on this device */
        return;
    raise(bounds, out, &out->work, head + ppi_larger(0, sums->work), device);
    if (!by_span || !bounds->config->is_forward_only) /* else no device has both the start and the end of the chain */
        raise(bounds, out, &out->fill_drain,
              by_span ? longest_transfer(bounds, device) : whole.head + ppi_larger(0, whole.chain) + whole.tail, device);
    if (limit->values != NULL && ppi_value_at(limit, device) > sums->fixed)
        raise(bounds, out, &out->memory, head + sums->area / usable_memory(bounds, sums, ppi_value_at(limit, device)), device);
}

/* Computes all parts, checks that they are finite, and sets `*out`. */
static ppsched_status find_bound(struct bounds *bounds, bool by_span, ppsched_bound *out, ppsched_error *error)
{
    ppsched_bound bound = {.size = sizeof bound};
    for (uint32_t copy = 0; copy < bounds->place.copies; copy++)
        sum_copy(bounds, copy);
    find_least(bounds);
    for (uint32_t copy = 0; copy < bounds->place.copies; copy++) {
        follow_chain(bounds, copy);
        if (bounds->config->is_forward_only)
            end_chain(bounds, copy);
    }
    sum_devices(bounds);
    for (uint32_t d = 0; d < bounds->config->shape.devices; d++)
        add_device(bounds, d, by_span, &bound);
    if (!ppi_is_finite(bound.work) || !ppi_is_finite(bound.fill_drain) || !ppi_is_finite(bound.memory))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
    if (!ppi_is_finite(bound.least_limit))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of memory is too large for a double");
    *out = bound;
    return PPSCHED_OK;
}

/* The problem of the one-machine bound. That of searches counts gradients, outputs, transfers and work space for longer than
 * they are held, so a bound may not count them at all. */
static ppsched_status make_sure_problem(struct ppi_problem *out, struct ppi_arena *arena, const ppsched_config *config,
                                        const struct ppi_bound_question *question, ppsched_error *error)
{
    const bool by_span = question->objective == PPSCHED_OBJECTIVE_SPAN;
    ppsched_config *sure = NULL;
    ppsched_status status = ppi_config_copy(&sure, config, error);
    for (int32_t q = PPSCHED_QUANTITY_MEM_GRADIENTS; q <= PPSCHED_QUANTITY_MEM_WORK_BACKWARD_WEIGHT && status == PPSCHED_OK;
         q++)
        status = ppi_config_set_values(sure, q, NULL, 0, error);
    if (status == PPSCHED_OK)
        status = ppi_problem_make(out, arena, sure, question->placement, by_span, error);
    ppi_config_destroy(sure);
    return status;
}

/* Raises the bound to the known objective, if no schedule is better. */
static ppsched_status reach_known(ppsched_bound *out, const struct ppi_problem *problem,
                                  const struct ppi_bound_question *question, ppsched_error *error)
{
    bool is_best = false;
    if (ppi_larger(out->value, out->one_machine) >= question->known * (1 - 1e-12))
        return PPSCHED_OK;
    ppsched_status status = ppi_refute_better(&is_best, problem, question->known, question->visits, question->poll, error);
    if (status == PPSCHED_OK && is_best)
        out->proof = question->known;
    return status;
}

/* Adds the one-machine bound. It sums other terms than the rest of the bound: if it is larger only by rounding, the others are
 * kept. */
static ppsched_status bound_machines(ppsched_bound *out, const ppsched_config *config,
                                     const struct ppi_bound_question *question, ppsched_error *error)
{
    const bool by_span = question->objective == PPSCHED_OBJECTIVE_SPAN;
    struct ppi_arena arena = {.host = &config->host};
    struct ppi_problem problem;
    uint32_t device = 0;
    ppsched_status status = ppi_holds_more(config)
                                ? make_sure_problem(&problem, &arena, config, question, error)
                                : ppi_problem_make(&problem, &arena, config, question->placement, by_span, error);
    if (status == PPSCHED_OK)
        status = ppi_one_machine_bound(&out->one_machine, &device, &problem, question->poll, error);
    if (status == PPSCHED_OK && question->visits > 0)
        status = reach_known(out, &problem, question, error);
    ppi_arena_clear(&arena);
    if (status == PPSCHED_OK && out->one_machine > out->value * (1 + 1e-12)) {
        out->value = out->one_machine;
        out->device = device;
    }
    if (status == PPSCHED_OK)
        out->value = ppi_larger(out->value, out->proof);
    return status;
}

ppsched_status ppi_lower_bound(ppsched_bound *out, const ppsched_config *config, const struct ppi_bound_question *question,
                               ppsched_error *error)
{
    if (config->graph != NULL)
        return ppi_graph_bound(out, config, question, error);
    struct ppi_arena arena = {.host = &config->host};
    struct bounds bounds = {.config = config, .iterations = question->unflushed, .costs.host = config->host};
    ppsched_status status = ppi_config_place(&bounds.place, config, question->placement, error);
    if (status != PPSCHED_OK)
        return status;
    bounds.least = ppi_arena_take(&arena, (size_t)bounds.place.copies * config->shape.stages, sizeof *bounds.least);
    bounds.micro_slices = ppi_arena_take(
        &arena, (size_t)bounds.place.copies * (ppi_has_stage_factors(config) ? config->shape.stages : 1),
        sizeof *bounds.micro_slices);
    bounds.transfers = ppi_arena_take(&arena, (size_t)bounds.place.copies * config->shape.devices, sizeof *bounds.transfers);
    bounds.sums = ppi_arena_take_zeroed(&arena, config->shape.devices, sizeof *bounds.sums);
    status = ppi_arena_check(&arena, "the lower bound", error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&bounds.costs, config, &bounds.place, error);
    if (status == PPSCHED_OK)
        status = find_bound(&bounds, question->objective == PPSCHED_OBJECTIVE_SPAN, out, error);
    if (status == PPSCHED_OK && question->depth == PPI_BOUND_OPS && question->unflushed == 1 && bounds.place.copies == 1 &&
        !config->is_forward_only && bounds.costs.overlapped.values == NULL && bounds.costs.factors == NULL &&
        config->shape.slices == 1)
        status = bound_machines(out, config, question, error);
    ppi_costs_clear(&bounds.costs);
    ppi_arena_clear(&arena);
    ppi_placement_clear(&bounds.place, &config->host);
    return status;
}
