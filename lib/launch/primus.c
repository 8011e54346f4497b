/* SPDX-License-Identifier: Apache-2.0 */
/* AMD Primus on Megatron-LM: its own pipeline with one of its algorithms. Some make an order of this library op by op; those
 * that search make one of the same kind, which is known from the schedule's name. */
#include <string.h>

#include "base/error.h"
#include "format/formats.h"
#include "launch/megatron.h"
#include "order/max_in_flight.h"
#include "strategy/descriptors.h"

/* --- sizes of its algorithms --- */

/* It runs D-1 warm-up forwards on the first device, even with fewer microbatches. */
static bool fits_1f1b(const struct ppi_shape *shape)
{
    return shape->microbatches + 1 >= shape->devices;
}

/* Groups of D, and a warm-up no longer than all forwards. */
static bool fits_interleaved(const struct ppi_shape *shape)
{
    uint64_t devices = shape->devices, chunks = shape->stages / shape->devices;
    return chunks > 1 && ppi_has_whole_groups(shape) &&
           shape->microbatches * chunks >= 2 * (devices - 1) + (chunks - 1) * devices;
}

/* With fewer microbatches it makes the order of 2D-1. */
static bool fits_zbv(const struct ppi_shape *shape)
{
    return (uint64_t)shape->microbatches + 1 >= 2 * (uint64_t)shape->devices;
}

static const struct ppi_class classes[] = {
    {"1f1b", &ppi_1f1b, fits_1f1b},
    {"1f1b-interleaved", &ppi_interleaved_1f1b, fits_interleaved},
    {"zero-bubble", &ppi_zb_h1, ppi_fills_devices},
    {"zbv-formatted", &ppi_zbv, fits_zbv},
};

/* Algorithms that search. `part` as for sail-sg: V schedules with 1/part of 1F1B's memory; 0: a limit is given. */
static const struct {
    struct ppi_class class;
    uint32_t part;
} planners[] = {
    {{"zero-bubble-heuristic", &ppi_zb_h2}, 0},
    {{"zero-bubble-heuristic", &ppi_zb_auto}, 0},
    {{"v-half", &ppi_v_half}, 2},
    {{"v-min", &ppi_v_min}, 3},
};

/* --- fits --- */

/* No algorithm makes the order: names a custom schedule class, made of the same nodes as for sail-sg, if these can express
 * it. */
static ppsched_status refuse(const ppsched_schedule *schedule, const char *why, ppsched_error *error)
{
    ppsched_status status = ppi_sail_format.fits(schedule, NULL);
    if (status == PPSCHED_ERROR_NO_MEMORY)
        return ppi_fail_memory(error, "Primus's nodes");
    if (status != PPSCHED_OK)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s", why);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s; only a custom schedule can run this order (see docs/runtimes.md)", why);
}

/* The algorithms that need at least `times` * D - `less` microbatches. */
static const struct {
    struct ppi_class class;
    uint32_t times, less;
} least[] = {{{"1f1b", &ppi_1f1b}, 1, 1}, {{"zero-bubble", &ppi_zb_h1}, 1, 0}, {{"zbv-formatted", &ppi_zbv}, 2, 1}};

/* Refuses an order of an algorithm's kind with sizes that it does not support. */
static ppsched_status refuse_sizes(const ppsched_schedule *schedule, const struct ppi_order_1f1b *order, ppsched_error *error)
{
    ppsched_error why;
    if (!ppi_has_whole_groups(&schedule->shape))
        ppi_fail(&why, PPSCHED_ERROR_REFUSED, "Primus's 1f1b-interleaved needs a multiple of D = %u microbatch%p, not %u",
                 order->devices, order->microbatches);
    else if (order->group_size != order->devices)
        ppi_fail(&why, PPSCHED_ERROR_REFUSED, "Primus's 1f1b-interleaved has groups of D = %u microbatch%p, not %s ones",
                 order->devices, order->group_size < order->devices ? "smaller" : "larger");
    else
        ppi_fail(&why, PPSCHED_ERROR_REFUSED,
                 "Primus's 1f1b-interleaved needs enough microbatches for its warm-up: at least %u, not %u", 2 * order->devices,
                 order->microbatches);
    return refuse(schedule, why.message, error);
}

static ppsched_status refuse_order(const ppsched_schedule *schedule, ppsched_error *error)
{
    const struct ppi_class *found = NULL;
    ppsched_error why;
    ppsched_status status = PPSCHED_OK;
    uint64_t wanted = 0;
    for (size_t i = 0; i < sizeof least / sizeof least[0] && found == NULL && status == PPSCHED_OK; i++) {
        status = ppi_class_find(&found, &least[i].class, 1, schedule, error);
        wanted = (uint64_t)least[i].times * schedule->shape.devices - least[i].less;
    }
    if (status != PPSCHED_OK)
        return status;
    if (found != NULL) {
        ppi_fail(&why, PPSCHED_ERROR_REFUSED, "Primus's %s needs at least %llu microbatch%p on %u device%p, not %u",
                 found->name, (unsigned long long)wanted, schedule->shape.devices, schedule->shape.microbatches);
        return refuse(schedule, why.message, error);
    }
    struct ppi_order_1f1b order = ppi_order_of(schedule);
    status = ppi_find_order(&order, schedule, "Primus", &why);
    if (status == PPSCHED_ERROR_NO_MEMORY)
        return ppi_fail_memory(error, "the order of a runtime");
    if (status == PPSCHED_OK && order.chunks > 1)
        return refuse_sizes(schedule, &order, error);
    return refuse(schedule, "Primus has no algorithm that makes this order", error);
}

static ppsched_status check_memory(const ppsched_schedule *schedule, const struct ppi_class *class, uint32_t part,
                                   ppsched_error *error)
{
    uint32_t passes = class->strategy->chunks * schedule->shape.microbatches;
    uint32_t theirs = part > 0 ? ppi_v_held(schedule->shape.devices, part) : 0, ours = ppi_most_held(schedule, true);
    theirs = theirs < passes ? theirs : passes;
    if (ours >= theirs)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                    "Primus's %s may hold %u stage passes on a device and has no memory limit; this order holds %u",
                    class->name, theirs, ours);
}

static ppsched_status find_planner(struct ppi_launch *launch, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    for (size_t i = 0; i < sizeof planners / sizeof planners[0]; i++) {
        const struct ppi_class *class = &planners[i].class;
        if (strcmp(class->strategy->name, schedule->name) != 0 || !ppi_only_computes(schedule) ||
            !ppi_is_placed(schedule, class->strategy->placement))
            continue;
        if (launch->exact)
            return refuse(schedule, "Primus plans its own order of that kind", error);
        launch->maker = class;
        return check_memory(schedule, class, planners[i].part, error);
    }
    return refuse_order(schedule, error);
}

/* Its code for V placements does not recompute. */
static bool may_recompute_first(const ppsched_schedule *schedule)
{
    return ppi_chunks_of(schedule) == 1 || !ppi_is_placed(schedule, PPSCHED_PLACEMENT_V);
}

/* Layouts are Megatron-LM's; on a V placement they would number other layers. */
static ppsched_status fits_split(struct ppi_launch *launch, ppsched_error *error)
{
    if (launch->parts->recomputed != PPI_RECOMPUTED_NONE && !may_recompute_first(launch->schedule))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "Primus's %s is not known to recompute layers; 1f1b, 1f1b-interleaved and zero-bubble do",
                        launch->maker->name);
    return launch->parts->is_even ? PPSCHED_OK : ppi_parts_lay_out(launch->parts, launch->schedule->shape.devices, error);
}

static ppsched_status fits(struct ppi_launch *launch, ppsched_error *error)
{
    if (launch->schedule->shape.devices == 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "Primus has no pipeline on one device");
    ppsched_status status = ppi_class_find(&launch->maker, classes, sizeof classes / sizeof classes[0], launch->schedule,
                                           error);
    if (status == PPSCHED_OK && launch->maker == NULL)
        status = find_planner(launch, error);
    return status == PPSCHED_OK && launch->parts != NULL ? fits_split(launch, error) : status;
}

static void write(const struct ppi_launch *launch, struct ppi_line *line)
{
    const ppsched_schedule *schedule = launch->schedule;
    line->has_underscores = true;
    ppi_line_flag(line, "--pipeline-model-parallel-size", schedule->shape.devices);
    ppi_megatron_write_split(launch->parts, schedule->shape.devices, ppi_chunks_of(schedule), line);
    ppi_line_word(line, "--patch_primus_pipeline True --pp_algorithm");
    ppi_line_word(line, launch->maker->name);
    if (launch->maker == &planners[0].class || launch->maker == &planners[1].class)
        ppi_line_flag(line, "--pp_max_mem", ppi_most_held(schedule, true));
    if (launch->parts != NULL)
        ppi_megatron_write_recompute(launch->parts, line);
    ppi_megatron_write_batch(launch, line);
}

const struct ppi_runtime ppi_primus_runtime = {
    .name = "primus",
    .title = "Primus",
    .fits = fits,
    .write = write,
    .rules = {.may_be_uneven = true,
              .refuses_hybrids = true,
              .even_on_v = " on a v, as it numbers the layers of a layout as on a loop",
              .first = "full"},
    .may_recompute_first = may_recompute_first,
    .may_plan_alike = true,
};
