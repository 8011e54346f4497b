/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_cycle.h"

#include "base/error.h"

/* Times that differ by less than this share of a period are the same. */
static const double SAME = 1e-9;

ppsched_status ppi_v_cycle_make(struct ppi_v_cycle *out, const struct ppi_v_problem *problem, ppsched_error *error)
{
    struct ppi_v_cycle cycle = {0};
    cycle.start = ppi_allocate(&problem->host, (size_t)PPI_PASSES * problem->devices, sizeof *cycle.start);
    cycle.shelves = ppi_allocate(&problem->host, problem->devices, sizeof *cycle.shelves);
    if (cycle.start == NULL || cycle.shelves == NULL) {
        ppi_v_cycle_clear(&cycle, problem);
        return ppi_fail_memory(error, "the search");
    }
    *out = cycle;
    return PPSCHED_OK;
}

void ppi_v_cycle_clear(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem)
{
    ppi_release(&problem->host, cycle->start);
    ppi_release(&problem->host, cycle->shelves);
}

/* --- laying --- */

/* In which repetition a time lies. */
static int64_t turn_of(double time, double period)
{
    double turns = time / period + SAME;
    return turns < 1 ? 0 : (int64_t)turns;
}

static double phase_of(double time, double period)
{
    return time - (double)turn_of(time, period) * period;
}

/* How much later a pass must start in order not to meet another one. */
static double push(const struct ppi_v_shelf *shelf, uint32_t other, double period, double time, double length)
{
    double since = phase_of(time + period - shelf->phase[other], period), slack = SAME * period;
    if (since < shelf->length[other] - slack)
        return shelf->length[other] - since;
    if (since + length > period + slack)
        return period - since + shelf->length[other];
    return 0;
}

/* Takes the earliest place for a pass from `*time` on, and moves `*time` to it. */
static bool take_place(struct ppi_v_shelf *shelf, double period, double *time, double length)
{
    double latest = *time + 2 * period;
    bool moved = true;
    while (moved) {
        moved = false;
        for (uint32_t k = 0; k < shelf->count; k++) {
            double far = push(shelf, k, period, *time, length);
            *time += far;
            moved = moved || far > 0;
        }
        if (*time > latest)
            return false;
    }
    shelf->phase[shelf->count] = phase_of(*time, period);
    shelf->length[shelf->count++] = length;
    return true;
}

/* Puts the start of a pass from `*time` on. */
static bool lay_pass(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, const struct ppi_v_shape *shape,
                     uint32_t d, uint8_t pass, double *time)
{
    double length = problem->device[d].duration[pass];
    bool fine = shape->room == PPI_NO_ROOM || take_place(&cycle->shelves[d], cycle->period, time, length);
    cycle->start[(size_t)d * PPI_PASSES + pass] = *time;
    *time += length;
    return fine;
}

/* Lays one leg of the chain from `*time` on. */
static bool lay_leg(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, const struct ppi_v_shape *shape,
                    uint8_t leg, double unit, double *time)
{
    bool fine = true;
    for (uint32_t k = 0; k < problem->devices && fine; k++) {
        uint32_t d = ppi_goes_down(leg) ? k : problem->devices - 1 - k;
        *time += problem->device[d].delay[leg] + (k > 0 ? shape->step[leg] * unit : 0);
        fine = lay_pass(cycle, problem, shape, d, leg, time);
        double behind = *time;
        if (fine && leg >= PPI_IZ && shape->room == PPI_WEIGHTS_EARLY)
            fine = lay_pass(cycle, problem, shape, d, leg + 2, &behind);
    }
    return fine;
}

/* Lays the weight gradients of a device behind its input gradients, or behind `latest`. */
static bool lay_weights(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, const struct ppi_v_shape *shape,
                        uint32_t d, double latest)
{
    bool fine = true;
    for (uint8_t pass = PPI_WZ; pass <= PPI_WA && fine; pass++) {
        double input = cycle->start[(size_t)d * PPI_PASSES + pass - 2] + problem->device[d].duration[pass - 2];
        fine = lay_pass(cycle, problem, shape, d, pass, shape->room == PPI_NO_ROOM ? &latest : &input);
    }
    return fine;
}

/* --- what the devices hold --- */

/* In which period a device is done with microbatch 0. */
static int64_t last_turn(const struct ppi_v_cycle *cycle, uint32_t d)
{
    const double *start = cycle->start + (size_t)d * PPI_PASSES;
    return turn_of(start[PPI_WA] > start[PPI_WZ] ? start[PPI_WA] : start[PPI_WZ], cycle->period);
}

/* How many microbatches have started a pass at a time; what starts just then counts where it is a forward. */
static int64_t started(const struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, double start, double time,
                       bool is_forward)
{
    double slack = is_forward ? 0 : 2 * SAME * cycle->period;
    int64_t count = turn_of(time - start + cycle->period - slack, cycle->period);
    return count < problem->microbatches ? count : problem->microbatches;
}

/* Whether a device may hold what it does when a microbatch's forward has started. */
static bool may_hold(const struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, uint32_t d, uint8_t forward,
                     int64_t microbatch)
{
    const struct ppi_v_device *device = &problem->device[d];
    const double *start = cycle->start + (size_t)d * PPI_PASSES;
    double time = start[forward] + (double)microbatch * cycle->period, memory = 0;
    int64_t held = 0;
    for (uint8_t pass = 0; pass < PPI_PASSES; pass++) {
        int64_t count = started(cycle, problem, start[pass], time, pass <= PPI_FZ);
        held += ppi_held_by(pass) * count;
        memory += device->memory[pass] * (double)count;
    }
    return held <= problem->most && memory <= device->limit;
}

/* A device holds more and more until the first W, then as much in each period, until the forwards end. */
static bool all_may_hold(const struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        int64_t steady = last_turn(cycle, d) + 1;
        for (int64_t m = steady < problem->microbatches ? steady : 0; m <= steady && m < problem->microbatches; m++)
            if (!may_hold(cycle, problem, d, PPI_FA, m) || !may_hold(cycle, problem, d, PPI_FZ, m))
                return false;
    }
    return true;
}

bool ppi_v_cycle_lay(struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, const struct ppi_v_shape *shape,
                     double period, double unit)
{
    double time = 0;
    cycle->period = period;
    for (uint32_t d = 0; d < problem->devices; d++)
        cycle->shelves[d].count = 0;
    for (uint8_t leg = 0; leg < PPI_LEGS; leg++) {
        time += leg > 0 ? shape->turn[leg - 1] * unit : 0;
        if (!lay_leg(cycle, problem, shape, leg, unit, &time))
            return false;
    }
    for (uint32_t d = 0; d < problem->devices && shape->room != PPI_WEIGHTS_EARLY; d++)
        if (!lay_weights(cycle, problem, shape, d, time))
            return false;
    return all_may_hold(cycle, problem);
}

/* --- repeating --- */

/* Sorts a device's passes by their places in the period. */
static void sort_passes(uint8_t passes[PPI_PASSES], const double *start, double period)
{
    for (uint8_t k = 0; k < PPI_PASSES; k++) {
        uint8_t i = k;
        for (; i > 0 && phase_of(start[passes[i - 1]], period) > phase_of(start[k], period); i--)
            passes[i] = passes[i - 1];
        passes[i] = k;
    }
}

void ppi_v_cycle_repeat(const struct ppi_v_cycle *cycle, const struct ppi_v_problem *problem, struct ppi_v_step *steps)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        const double *start = cycle->start + (size_t)d * PPI_PASSES;
        int64_t last = last_turn(cycle, d) + problem->microbatches;
        uint8_t passes[PPI_PASSES];
        sort_passes(passes, start, cycle->period);
        for (int64_t turn = 0; turn <= last; turn++)
            for (int k = 0; k < PPI_PASSES; k++) {
                int64_t microbatch = turn - turn_of(start[passes[k]], cycle->period);
                if (microbatch >= 0 && microbatch < problem->microbatches)
                    *steps++ = (struct ppi_v_step){.microbatch = (uint32_t)microbatch, .pass = passes[k]};
            }
    }
}
