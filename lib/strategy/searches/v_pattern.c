/* SPDX-License-Identifier: Apache-2.0 */
#include "strategy/searches/v_pattern.h"

#include "base/error.h"

ppsched_status ppi_v_pattern_make(struct ppi_v_pattern *out, const struct ppi_v_planner *p, ppsched_error *error)
{
    struct ppi_v_pattern pattern = {.most_turns = 2 * p->microbatches + 16 * p->devices};
    pattern.slot = ppi_allocate(&p->costs.host, PPI_V_SLOTS * (size_t)p->devices, sizeof *pattern.slot);
    pattern.row = ppi_allocate(&p->costs.host, p->devices, sizeof *pattern.row);
    pattern.input_end = ppi_allocate(&p->costs.host, 2 * (size_t)p->devices, sizeof *pattern.input_end);
    *out = pattern;
    if (pattern.slot != NULL && pattern.row != NULL && pattern.input_end != NULL)
        return PPSCHED_OK;
    ppi_v_pattern_clear(out, p);
    return ppi_fail_memory(error, "the search");
}

void ppi_v_pattern_clear(struct ppi_v_pattern *pattern, const struct ppi_v_planner *p)
{
    ppi_release(&p->costs.host, pattern->slot);
    ppi_release(&p->costs.host, pattern->row);
    ppi_release(&p->costs.host, pattern->input_end);
    *pattern = (struct ppi_v_pattern){0};
}

/* Starts an op at a time. */
static void set_start(struct ppi_v_pattern *pattern, struct ppi_v_slot *slot, double start)
{
    double turns = start / pattern->period;
    if (!(turns < pattern->most_turns)) {
        pattern->fine = false;
        turns = 0;
    }
    slot->start = start;
    slot->turn = (uint32_t)turns;
    slot->phase = start - slot->turn * pattern->period;
}

/* By how much an op must start later because of one that is there, modulo the period; 0 where they do not meet. */
static double overlap(const struct ppi_v_slot *mine, const struct ppi_v_slot *there, double period)
{
    double tolerance = 1e-9 * period, behind = mine->phase - there->phase;
    if (behind < 0)
        behind += period;
    if (behind < there->length - tolerance)
        return there->length - behind;
    if (period - behind < mine->length - tolerance)
        return period - behind + there->length;
    return 0;
}

static double overlap_with_any(const struct ppi_v_row *row, const struct ppi_v_slot *mine, double period)
{
    double shift = 0;
    for (uint32_t i = 0; i < row->used && shift == 0; i++)
        shift = overlap(mine, row->slot[i], period);
    return shift;
}

/* Puts a slot into its device's row, in the order of phases. */
static void insert(struct ppi_v_row *row, struct ppi_v_slot *slot)
{
    uint32_t i = row->used++;
    for (; i > 0 && slot->phase < row->slot[i - 1]->phase; i--)
        row->slot[i] = row->slot[i - 1];
    row->slot[i] = slot;
}

/* Lays an op at the first free time from `ready` on, and returns its end. Where a period has none it starts when it is ready:
 * what counts in the end is the order. */
static double lay(struct ppi_v_pattern *pattern, const struct ppi_v_planner *p, double share, uint32_t stage, uint8_t kind,
                  double ready)
{
    const struct ppi_lane *lane = &p->costs.lanes[stage];
    struct ppi_v_row *row = &pattern->row[lane->device];
    struct ppi_v_slot *slot = &pattern->slot[pattern->used++];
    double shift = 1;
    *slot = (struct ppi_v_slot){.length = lane->duration[kind] * share, .stage = (uint16_t)stage, .kind = kind};
    set_start(pattern, slot, ready);
    for (int tries = 0; tries < 2 * PPI_V_SLOTS && shift > 0; tries++) {
        shift = overlap_with_any(row, slot, pattern->period);
        set_start(pattern, slot, slot->start + shift);
    }
    if (shift > 0 || slot->start > ready + pattern->period)
        set_start(pattern, slot, ready);
    insert(row, slot);
    return slot->start + lane->duration[kind];
}

static void lay_all(struct ppi_v_pattern *pattern, const struct ppi_v_planner *p, const struct ppi_v_recipe *recipe)
{
    const struct ppi_lane *lanes = p->costs.lanes;
    uint32_t stages = 2 * p->devices;
    double clock = 0;
    for (uint32_t s = 0; s < stages; s++) {
        bool delayed = s > 0 && s < p->devices;
        clock += lanes[s].forward_delay + (delayed ? recipe->delay[s > recipe->turn] : 0);
        clock = lay(pattern, p, recipe->share, s, PPSCHED_KIND_F, clock);
    }
    for (uint32_t s = stages; s-- > 0;) {
        bool delayed = recipe->delays_inputs && s >= p->devices && s + 1 < stages;
        clock += lanes[s].backward_delay + (delayed ? recipe->delay[lanes[s].device > recipe->turn] : 0);
        clock = lay(pattern, p, recipe->share, s, PPSCHED_KIND_I, clock);
        pattern->input_end[s] = clock;
    }
    for (uint32_t s = stages; s-- > 0 && !recipe->full_backward;)
        lay(pattern, p, recipe->share, s, PPSCHED_KIND_W, pattern->input_end[s]);
}

/* Whether a device keeps to its limit when all microbatches follow one another. */
static bool row_fits(const struct ppi_v_row *row, const struct ppi_v_planner *p, const struct ppi_v_device *device)
{
    double memory = 0, all = 0; /* held when a period begins, and then along it; by all microbatches at once */
    for (uint32_t i = 0; i < row->used; i++) {
        const struct ppi_v_slot *slot = row->slot[i];
        double change = p->costs.lanes[slot->stage].memory[slot->kind];
        memory -= slot->turn * change;
        all += change > 0 ? p->microbatches * change : 0;
    }
    for (uint32_t i = 0; i < row->used && all > device->limit; i++) {
        memory += p->costs.lanes[row->slot[i]->stage].memory[row->slot[i]->kind];
        if (memory > device->limit)
            return false;
    }
    return true;
}

bool ppi_v_pattern_lay(struct ppi_v_pattern *pattern, const struct ppi_v_planner *p, const struct ppi_v_recipe *recipe)
{
    pattern->period = recipe->period;
    pattern->full_backward = recipe->full_backward;
    pattern->fine = true;
    pattern->used = 0;
    for (uint32_t r = 0; r < p->devices; r++)
        pattern->row[r].used = 0;
    lay_all(pattern, p, recipe);
    bool fits = pattern->fine;
    for (uint32_t r = 0; r < p->devices && fits; r++)
        fits = row_fits(&pattern->row[r], p, &p->device[r]);
    return fits;
}
