/* SPDX-License-Identifier: Apache-2.0 */
/* Zero bubble under a memory limit, with real costs, by greedy planning: first as many warm-up forwards as memory and the first
 * backward allow, then in each round one forward and one I a device, with Ws where they fit into gaps or where memory needs
 * them. All eight combinations of three choices are planned; the first with the shortest longest-device span is kept, or a
 * fixed schedule that is shorter still.
 *
 * The paper and its code say B where we say I. */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "model/costs.h"
#include "strategy/price.h"
#include "strategy/table.h"

/* The three choices. */
struct choice {
    bool bubble_before_first_backward; /* stop the warm-up before it delays the first backward, or let it do so */
    bool backward_first;               /* leave a forward out where it would delay a backward of the next device */
    bool fill_small_gaps;              /* put a W into a gap that it overruns, even if the device is not behind the others */
};

/* One device while it is planned. */
struct stage {
    const struct ppi_lane *lane;
    uint32_t count[PPI_COMPUTE_KINDS]; /* ops put, by kind */
    double clock, memory, limit, bubble, first_start;
    uint32_t warmup; /* forwards behind the first, before the first I */
    bool wants;      /* a forward in this round */
    bool over;       /* went over its limit */
    double *forward_end, *input_end; /* by microbatch */
    ppsched_op *next;
};

struct planner {
    uint32_t devices, microbatches;
    struct ppi_costs costs;
    struct stage *stages;
    double *ends; /* all forward_end and input_end */
    struct choice choice;
    double worst_bubble; /* of all devices so far */
};

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* When what the next op of a kind waits for arrives from the neighbour; negative where it waits for none. */
static double arrival(const struct planner *p, uint32_t s, uint8_t kind)
{
    const struct stage *stage = &p->stages[s];
    uint32_t m = stage->count[kind];
    if (kind == PPSCHED_KIND_F && s > 0)
        return p->stages[s - 1].forward_end[m] + stage->lane->forward_delay;
    if (kind == PPSCHED_KIND_I && s + 1 < p->devices)
        return p->stages[s + 1].input_end[m] + stage->lane->backward_delay;
    return -1;
}

static void put(struct planner *p, uint32_t s, uint8_t kind)
{
    struct stage *stage = &p->stages[s];
    double start = larger(stage->clock, arrival(p, s, kind));
    uint32_t m = stage->count[kind]++;
    bool is_first = kind == PPSCHED_KIND_F && m == 0;
    if (!is_first)
        stage->bubble += start - stage->clock;
    p->worst_bubble = larger(p->worst_bubble, stage->bubble);
    stage->clock = start + stage->lane->duration[kind];
    stage->memory += stage->lane->memory[kind];
    stage->over = stage->over || stage->memory > stage->limit;
    if (kind == PPSCHED_KIND_F)
        stage->forward_end[m] = stage->clock;
    if (kind == PPSCHED_KIND_I)
        stage->input_end[m] = stage->clock;
    if (is_first)
        stage->first_start = start;
    *stage->next++ = (ppsched_op){.microbatch = m, .stage = (uint16_t)s, .kind = kind};
}

static bool weight_due(const struct stage *stage)
{
    return stage->count[PPSCHED_KIND_W] < stage->count[PPSCHED_KIND_I];
}

static bool forward_fits(const struct stage *stage)
{
    return stage->memory + stage->lane->memory[PPSCHED_KIND_F] <= stage->limit;
}

/* --- the warm-up --- */

/* How many forwards a stage runs behind its first until the first I of the next stage arrives; `*input_end` is when that ends,
 * and becomes when this stage's first I ends. */
static uint32_t warmup_of(const struct planner *p, uint32_t s, double *input_end)
{
    const struct stage *stage = &p->stages[s];
    double clock = stage->clock, memory = stage->memory, ready = *input_end + stage->lane->backward_delay;
    uint32_t more = 0;
    while (stage->count[PPSCHED_KIND_F] + more < p->microbatches) {
        memory += stage->lane->memory[PPSCHED_KIND_F];
        double end = clock + stage->lane->duration[PPSCHED_KIND_F];
        bool late = p->choice.bubble_before_first_backward ? end > ready : clock >= ready;
        if (late || memory > stage->limit)
            break;
        clock = end;
        more++;
    }
    *input_end = larger(clock, ready) + stage->lane->duration[PPSCHED_KIND_I];
    return more;
}

static void put_warmup(struct planner *p)
{
    uint32_t before = 0;
    for (uint32_t s = 0; s < p->devices; s++)
        put(p, s, PPSCHED_KIND_F);
    struct stage *last = &p->stages[p->devices - 1];
    double input_end = last->clock + last->lane->duration[PPSCHED_KIND_I];
    last->warmup = 0;
    for (uint32_t s = p->devices - 1; s-- > 0;)
        p->stages[s].warmup = warmup_of(p, s, &input_end);
    for (uint32_t s = 0; s < p->devices; s++) {
        uint32_t more = p->stages[s].warmup;
        while (s > 0 && more > 0 && more >= before && p->stages[s].count[PPSCHED_KIND_F] + more < p->microbatches)
            more--;
        if (s > 0 && more > before) /* no forward without that of the stage before */
            more = before;
        for (uint32_t k = 0; k < more; k++)
            put(p, s, PPSCHED_KIND_F);
        before = more;
    }
    for (uint32_t s = p->devices; s-- > 0;)
        put(p, s, PPSCHED_KIND_I);
}

/* --- the rounds --- */

/* Time of the Ws that must run before a forward fits into memory. */
static double time_to_fit(const struct stage *stage)
{
    const double *memory = stage->lane->memory;
    double held = stage->memory + memory[PPSCHED_KIND_F], time = 0;
    uint32_t due = stage->count[PPSCHED_KIND_I] - stage->count[PPSCHED_KIND_W];
    for (; held > stage->limit && due > 0; due--) {
        held += memory[PPSCHED_KIND_W];
        time += stage->lane->duration[PPSCHED_KIND_W];
    }
    return time;
}

/* Whether a stage runs a forward in this round. */
static bool wants_forward(const struct planner *p, uint32_t s)
{
    const struct stage *stage = &p->stages[s], *next = stage + 1;
    if (stage->count[PPSCHED_KIND_F] == p->microbatches)
        return false;
    if (!p->choice.backward_first || s + 1 == p->devices ||
        stage->count[PPSCHED_KIND_F] < next->count[PPSCHED_KIND_F] + 2)
        return true;
    double input = next->clock + next->lane->duration[PPSCHED_KIND_F] + next->lane->duration[PPSCHED_KIND_I] +
                   stage->lane->backward_delay;
    if (stage->clock >= input)
        return false;
    if (stage->clock + stage->lane->duration[PPSCHED_KIND_F] + time_to_fit(stage) <= input)
        return true;
    return input - stage->clock > p->worst_bubble - stage->bubble;
}

/* Puts Ws into the gap before the next op of a kind: those that fit, and one that does not if the device can afford it. */
static void fill_gap(struct planner *p, uint32_t s, uint8_t kind)
{
    struct stage *stage = &p->stages[s];
    double ready = arrival(p, s, kind);
    while (weight_due(stage) && stage->clock + stage->lane->duration[PPSCHED_KIND_W] <= ready)
        put(p, s, PPSCHED_KIND_W);
    double gap = ready - stage->clock;
    if (weight_due(stage) && gap > 0 && (gap > p->worst_bubble - stage->bubble || p->choice.fill_small_gaps))
        put(p, s, PPSCHED_KIND_W);
}

static void put_forwards(struct planner *p)
{
    bool held_back = false; /* a later stage with forwards left runs none, so those before it do not either */
    for (uint32_t s = p->devices; s-- > 0;) {
        bool left = p->stages[s].count[PPSCHED_KIND_F] < p->microbatches;
        p->stages[s].wants = !held_back && wants_forward(p, s);
        held_back = left && !p->stages[s].wants;
    }
    for (uint32_t s = 0; s < p->devices; s++) {
        struct stage *stage = &p->stages[s];
        if (!stage->wants)
            continue;
        while (!forward_fits(stage) && weight_due(stage))
            put(p, s, PPSCHED_KIND_W);
        fill_gap(p, s, PPSCHED_KIND_F);
        put(p, s, PPSCHED_KIND_F);
    }
}

static void put_inputs(struct planner *p)
{
    for (uint32_t s = p->devices; s-- > 0;) {
        struct stage *stage = &p->stages[s];
        if (s == 0 && stage->count[PPSCHED_KIND_F] == p->microbatches)
            while (weight_due(stage))
                put(p, s, PPSCHED_KIND_W);
        fill_gap(p, s, PPSCHED_KIND_I);
        put(p, s, PPSCHED_KIND_I);
    }
}

/* The longest span; infinite where the choices left ops out or went over a limit. */
static double span_of(const struct planner *p)
{
    double span = 0;
    for (uint32_t s = 0; s < p->devices; s++) {
        const struct stage *stage = &p->stages[s];
        if (stage->count[PPSCHED_KIND_F] != p->microbatches || stage->count[PPSCHED_KIND_I] != p->microbatches || stage->over)
            return PPI_INFINITE;
        span = larger(span, stage->clock - stage->first_start);
    }
    return span;
}

/* Plans with the present choice into `ops`; returns the longest span. */
static double plan_once(struct planner *p, ppsched_op *ops)
{
    p->worst_bubble = 0;
    for (uint32_t s = 0; s < p->devices; s++) {
        struct stage *stage = &p->stages[s];
        memset(stage->count, 0, sizeof stage->count);
        stage->clock = stage->memory = stage->bubble = 0;
        stage->over = false;
        stage->next = ops + (size_t)s * 3 * p->microbatches;
    }
    put_warmup(p);
    for (uint32_t round = 1; round < p->microbatches; round++) {
        put_forwards(p);
        put_inputs(p);
    }
    for (uint32_t s = 0; s < p->devices; s++)
        while (weight_due(&p->stages[s]))
            put(p, s, PPSCHED_KIND_W);
    return span_of(p);
}

/* --- the search --- */

static double static_memory(const ppsched_config *config, uint32_t stage)
{
    const struct ppi_values *fixed = &config->values[PPSCHED_MEM_STATIC], *weights = &config->values[PPSCHED_MEM_WEIGHTS];
    double versions = config->weight_versions != 0 ? config->weight_versions : 1;
    return (fixed->values != NULL ? ppi_value_at(fixed, stage) : 0) +
           (weights->values != NULL ? versions * ppi_value_at(weights, stage) : 0);
}

/* What each device may hold in activations; REFUSED where not even one fits. */
static ppsched_status set_limits(struct planner *p, const ppsched_config *config, ppsched_error *error)
{
    const struct ppi_values *limit = &config->values[PPSCHED_MEM_LIMIT];
    double least = 0;
    bool fits = true;
    for (uint32_t s = 0; s < p->devices; s++) {
        double given = limit->values != NULL ? ppi_value_at(limit, s) * (1 + 1e-12) : PPI_INFINITE;
        double needed = static_memory(config, s) + p->stages[s].lane->memory[PPSCHED_KIND_F];
        p->stages[s].limit = given - static_memory(config, s);
        least = larger(least, needed);
        fits = fits && needed <= given;
    }
    if (fits)
        return PPSCHED_OK;
    return ppi_refuse(error, &ppi_zb_auto, "no schedule fits the memory limit; the least limit that works is %g", least);
}

static ppsched_status prepare(struct planner *p, const struct ppi_task *task, const ppsched_config *config,
                              ppsched_error *error)
{
    struct ppi_placement place = {0};
    size_t cells = (size_t)p->devices * p->microbatches;
    ppsched_status status = ppi_placement_make(&place, &config->host, PPSCHED_PLACEMENT_LINEAR, &task->shape, NULL, error);
    if (status == PPSCHED_OK)
        status = ppi_costs_make(&p->costs, config, &place, error);
    ppi_release(&config->host, place.device_of);
    if (status != PPSCHED_OK)
        return status;
    p->stages = ppi_allocate_zeroed(&config->host, p->devices, sizeof *p->stages);
    p->ends = ppi_allocate(&config->host, 2 * cells, sizeof *p->ends);
    if (p->stages == NULL || p->ends == NULL)
        return ppi_fail_memory(error, "the search");
    for (uint32_t s = 0; s < p->devices; s++) {
        p->stages[s].lane = &p->costs.lanes[s];
        p->stages[s].forward_end = p->ends + (size_t)s * p->microbatches;
        p->stages[s].input_end = p->stages[s].forward_end + cells;
    }
    return set_limits(p, config, error);
}

/* The choices are tried with all of them taken first, the last changing fastest. */
static double try_choices(struct planner *p, ppsched_op *candidate, ppsched_op *best, size_t count)
{
    double best_span = PPI_INFINITE;
    for (unsigned code = 0; code < 8; code++) {
        p->choice = (struct choice){code < 4, code % 4 < 2, code % 2 < 1};
        double span = plan_once(p, candidate);
        if (span < best_span) {
            best_span = span;
            memcpy(best, candidate, count * sizeof *best);
        }
    }
    return best_span;
}

static bool keeps_to_limit(const struct stage *stage, const ppsched_op *ops, size_t count)
{
    double memory = 0;
    for (size_t i = 0; i < count; i++) {
        memory += stage->lane->memory[ops[i].kind];
        if (memory > stage->limit)
            return false;
    }
    return true;
}

/* Fixed schedules that fit the limit, where one is shorter than the greedy plan: on uneven stages that happens. */
static ppsched_status try_fixed(struct planner *p, const struct ppi_task *task, const ppsched_config *config,
                                ppsched_op *candidate, ppsched_op *best, double best_span, ppsched_error *error)
{
    static const struct ppi_strategy *const fixed[] = {&ppi_zb_h1, &ppi_zb_h2, &ppi_1f1b, &ppi_eager_1f1b, &ppi_gpipe};
    size_t per_device = 3 * (size_t)p->microbatches;
    ppsched_op *scratch = ppi_allocate(&config->host, per_device, sizeof *scratch);
    struct ppi_pricer pricer = {0};
    ppsched_status status = PPSCHED_OK;
    if (scratch == NULL)
        status = ppi_fail_memory(error, "the search");
    else
        status = ppi_pricer_make(&pricer, config, PPSCHED_PLACEMENT_LINEAR, best, per_device, error);
    for (size_t k = 0; k < sizeof fixed / sizeof fixed[0] && status == PPSCHED_OK && best_span > pricer.least_span; k++) {
        struct ppi_price price;
        bool fits = true;
        for (uint32_t s = 0; s < p->devices && fits; s++) {
            ppi_put_split(fixed[k], task, s, scratch, candidate + s * per_device);
            fits = keeps_to_limit(&p->stages[s], candidate + s * per_device, per_device);
        }
        if (!fits)
            continue;
        status = ppi_price(&pricer, candidate, &price, error);
        if (status == PPSCHED_OK && price.span < best_span) {
            best_span = price.span;
            memcpy(best, candidate, p->devices * per_device * sizeof *best);
        }
    }
    ppi_pricer_clear(&pricer);
    ppi_release(&config->host, scratch);
    return status;
}

static ppsched_status plan(const struct ppi_task *task, const ppsched_config *config, struct ppi_watch *watch,
                           struct ppi_orders *orders, ppsched_error *error)
{
    size_t count = 3 * (size_t)task->shape.devices * task->shape.microbatches;
    ppsched_op *ops = orders->ops;
    struct planner p = {.devices = task->shape.devices, .microbatches = task->shape.microbatches, .costs.host = config->host};
    ppsched_op *candidate = ppi_allocate(&config->host, count, sizeof *candidate);
    ppsched_status status = candidate != NULL ? prepare(&p, task, config, error) : ppi_fail_memory(error, "the search");
    if (status == PPSCHED_OK) {
        (void)watch; /* it takes a few milliseconds at most */
        double span = try_choices(&p, candidate, ops, count);
        if (!ppi_is_finite(span))
            status = ppi_fail(error, PPSCHED_ERROR_RANGE, "the sum of times is too large for a double");
        else
            status = try_fixed(&p, task, config, candidate, ops, span, error);
    }
    ppi_release(&config->host, candidate);
    ppi_release(&config->host, p.ends);
    ppi_release(&config->host, p.stages);
    ppi_costs_clear(&p.costs);
    return status;
}

static const char *const aliases[] = {"zb", "zero_bubble"};

const struct ppi_strategy ppi_zb_auto = {
    .name = "zb_auto",
    .summary = "zero bubble under a memory limit, planned greedily with the real costs of each stage",
    .source = "Zero Bubble Pipeline Parallelism (Qi et al. 2023, arXiv 2401.10241), the heuristic of its code",
    .aliases = aliases,
    .alias_count = 2,
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .plan = plan,
};
