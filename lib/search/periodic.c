/* SPDX-License-Identifier: Apache-2.0 */
/* Laying places the ops of one microbatch along its chain, each at the first phase that its device has free; memory follows
 * from how many periods apart the ops of a stage are. */
#include "search/periodic.h"

#include "base/checked.h"

ppsched_status ppi_periodic_make(struct ppi_periodic *out, struct ppi_arena *arena, const struct ppi_problem *problem,
                                 ppsched_error *error)
{
    size_t beats = (size_t)PPI_OPS_OF_PASS * problem->stages;
    struct ppi_beat **rows = ppi_arena_take(arena, beats, sizeof *rows);
    *out = (struct ppi_periodic){
        .beat = ppi_arena_take_zeroed(arena, beats, sizeof *out->beat),
        .row = ppi_arena_take(arena, problem->devices, sizeof *out->row),
    };
    ppsched_status status = ppi_arena_check(arena, "the search", error);
    for (uint32_t d = 0; d < problem->devices && status == PPSCHED_OK; d++)
        out->row[d].beat = rows + (size_t)PPI_OPS_OF_PASS * problem->device[d].first;
    return status;
}

/* --- laying --- */

/* False where the number of periods is too large to count. */
static bool set_start(struct ppi_beat *beat, double start, double period)
{
    double turns = start / period;
    bool fine = turns < UINT32_MAX;
    beat->start = start;
    beat->turn = fine ? (uint32_t)turns : 0;
    beat->phase = start - beat->turn * period;
    return fine;
}

/* How much later a beat must start because of one that is there, modulo the period; 0 where they do not overlap. */
static double overlap(const struct ppi_beat *mine, const struct ppi_beat *there, double period)
{
    double tolerance = 1e-9 * period, behind = mine->phase - there->phase;
    if (behind < -tolerance)
        behind += period;
    if (behind < there->length - tolerance)
        return there->length - behind;
    if (period - behind < mine->length - tolerance)
        return period - behind + there->length;
    return 0;
}

/* Moves a beat to the first free time from its start on; false where a period has none. */
static bool find_place(struct ppi_beat *beat, const struct ppi_beats *row, double period)
{
    double latest = beat->start + period;
    for (uint32_t i = 0, clear = 0; clear < row->count; clear++) {
        double start = beat->start, shift = overlap(beat, row->beat[i], period);
        if (shift > 0) {
            if (!set_start(beat, start + shift, period) || !(beat->start > start) || beat->start > latest)
                return false;
            clear = 0;
        }
        i = i + 1 < row->count ? i + 1 : 0;
    }
    return true;
}

/* Whether a beat comes first in the period; where they start together, by links. */
static bool is_before(const struct ppi_beat *beat, const struct ppi_beat *other)
{
    return beat->phase < other->phase || (beat->phase == other->phase && beat < other);
}

/* Sorts a row by phase. */
static void sort_row(struct ppi_beats *row)
{
    for (uint32_t k = 1; k < row->count; k++) {
        struct ppi_beat *beat = row->beat[k];
        uint32_t i = k;
        for (; i > 0 && is_before(beat, row->beat[i - 1]); i--)
            row->beat[i] = row->beat[i - 1];
        row->beat[i] = beat;
    }
}

/* Lays an op from `*time` on, and sets `*time` to its end. */
static bool lay(struct ppi_periodic *pattern, const struct ppi_problem *problem, const struct ppi_recipe *recipe,
                uint32_t stage, uint8_t kind, double *time)
{
    const struct ppi_stage *own = &problem->stage[stage];
    bool is_open = kind == PPSCHED_KIND_I && recipe->weights == PPI_WEIGHTS_OPEN;
    double length = is_open ? own->input : own->duration[kind];
    struct ppi_beat *beat = &pattern->beat[ppi_link_of(problem, stage, kind)];
    struct ppi_beats *row = &pattern->row[own->device];
    beat->stage = (uint16_t)stage;
    beat->kind = kind;
    beat->length = length * recipe->share;
    bool fine = set_start(beat, *time, pattern->period) && (recipe->share == 0 || find_place(beat, row, pattern->period));
    if (!fine)
        set_start(beat, *time, pattern->period);
    row->beat[row->count++] = beat;
    *time = beat->start + length;
    return fine || recipe->crowds;
}

/* Lays the Ws of a device after their Is, or one after another from `latest` on. */
static bool lay_weights(struct ppi_periodic *pattern, const struct ppi_problem *problem, const struct ppi_recipe *recipe,
                        uint32_t device, double latest)
{
    bool fine = true;
    for (uint32_t i = problem->device[device].count; i-- > 0 && fine;) {
        uint32_t s = ppi_stage_at(problem, device, i);
        const struct ppi_beat *input = &pattern->beat[ppi_link_of(problem, s, PPSCHED_KIND_I)];
        if (recipe->weights == PPI_WEIGHTS_LATE)
            latest = input->start + problem->stage[s].duration[PPSCHED_KIND_I];
        fine = lay(pattern, problem, recipe, s, PPSCHED_KIND_W, &latest);
    }
    return fine;
}

bool ppi_periodic_lay(struct ppi_periodic *pattern, const struct ppi_problem *problem, const struct ppi_recipe *recipe)
{
    uint8_t backward = recipe->weights == PPI_WEIGHTS_JOINED ? PPSCHED_KIND_B : PPSCHED_KIND_I;
    double time = 0;
    bool fine = true;
    pattern->period = recipe->period;
    for (uint32_t d = 0; d < problem->devices; d++)
        pattern->row[d].count = 0;
    for (uint32_t s = 0; s < problem->stages && fine; s++) {
        time += problem->stage[s].forward_delay + pattern->beat[ppi_link_of(problem, s, PPSCHED_KIND_F)].wait;
        fine = lay(pattern, problem, recipe, s, PPSCHED_KIND_F, &time);
    }
    for (uint32_t s = problem->stages; s-- > 0 && fine;) {
        time += problem->stage[s].backward_delay + pattern->beat[ppi_link_of(problem, s, backward)].wait;
        fine = lay(pattern, problem, recipe, s, backward, &time);
        double behind = time;
        if (recipe->weights == PPI_WEIGHTS_EARLY && fine)
            fine = lay(pattern, problem, recipe, s, PPSCHED_KIND_W, &behind);
    }
    for (uint32_t d = 0; d < problem->devices && recipe->weights != PPI_WEIGHTS_OPEN && fine; d++) {
        fine = recipe->weights < PPI_WEIGHTS_LATE || lay_weights(pattern, problem, recipe, d, time);
        sort_row(&pattern->row[d]);
    }
    return fine;
}

/* --- what the devices hold --- */

/* How many microbatches have run a beat when another beat runs in period `turn`. `is_before`: this one comes first in a
 * period. */
static double run_by(const struct ppi_beat *beat, bool is_before, uint32_t turn, uint32_t microbatches)
{
    uint32_t periods = turn + is_before;
    return periods < beat->turn ? 0 : ppi_smaller(periods - beat->turn, microbatches);
}

/* What a device holds when a microbatch has run the i-th beat of its row. */
static double memory_behind(const struct ppi_problem *problem, const struct ppi_beats *row, uint32_t i, uint32_t microbatch,
                            uint32_t microbatches)
{
    double memory = 0;
    for (uint32_t j = 0; j < row->count; j++) {
        const struct ppi_beat *beat = row->beat[j];
        memory += problem->stage[beat->stage].memory[beat->kind] *
                  run_by(beat, j <= i, row->beat[i]->turn + microbatch, microbatches);
    }
    return memory;
}

/* The memory of a device grows until the last beat of the first microbatch, then is the same in each period until the forwards
 * end: so one steady period is enough. */
static bool row_fits(const struct ppi_problem *problem, const struct ppi_beats *row, double limit, uint32_t microbatches)
{
    uint32_t steady = 0;
    for (uint32_t i = 0; i < row->count; i++)
        steady = row->beat[i]->turn >= steady ? row->beat[i]->turn + 1 : steady;
    for (uint32_t i = 0; i < row->count; i++) {
        bool adds = problem->stage[row->beat[i]->stage].memory[row->beat[i]->kind] > 0;
        uint32_t m = !adds ? microbatches : steady < microbatches ? steady : 0;
        for (; m <= steady && m < microbatches; m++)
            if (memory_behind(problem, row, i, m, microbatches) > limit)
                return false;
    }
    return true;
}

bool ppi_periodic_fits(const struct ppi_periodic *pattern, const struct ppi_problem *problem, bool endless)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        const struct ppi_device *device = &problem->device[d];
        bool all_at_once = problem->microbatches * device->least <= device->limit;
        uint32_t microbatches = endless ? UINT32_MAX : problem->microbatches;
        if (!all_at_once && !row_fits(problem, &pattern->row[d], ppi_device_allows(device), microbatches))
            return false;
    }
    return true;
}

double ppi_periodic_in_flight(const struct ppi_periodic *pattern, const struct ppi_problem *problem, uint32_t stage)
{
    const struct ppi_stage *own = &problem->stage[stage];
    double forward = pattern->beat[ppi_link_of(problem, stage, PPSCHED_KIND_F)].start;
    double input = pattern->beat[ppi_link_of(problem, stage, PPSCHED_KIND_I)].start;
    double periods = (input + own->input + own->weight - forward) / pattern->period;
    double whole = periods < 4e18 ? (double)(int64_t)periods : periods; /* larger doubles have no fraction */
    return periods > whole + 1e-9 ? whole + 1 : whole;
}

/* --- repeating --- */

void ppi_periodic_repeat(const struct ppi_periodic *pattern, const struct ppi_problem *problem, struct ppi_orders *out)
{
    for (uint32_t d = 0; d < problem->devices; d++) {
        const struct ppi_beats *row = &pattern->row[d];
        ppsched_op *op = out->ops + out->first[d];
        out->count[d] = (size_t)row->count * problem->microbatches;
        for (uint32_t turn = 0; op < out->ops + out->first[d] + out->count[d]; turn++)
            for (uint32_t i = 0; i < row->count; i++) {
                const struct ppi_beat *beat = row->beat[i];
                if (turn >= beat->turn && turn - beat->turn < problem->microbatches)
                    *op++ = (ppsched_op){.microbatch = turn - beat->turn, .stage = beat->stage, .kind = beat->kind};
            }
    }
}
