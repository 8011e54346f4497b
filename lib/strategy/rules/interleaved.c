/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved schedules: V chunks per device on the loop placement, in the order of Megatron-LM's schedule table. */
#include "order/order_1f1b.h"
#include "strategy/descriptors.h"

static struct ppi_order_1f1b order_of(const struct ppi_task *task, int64_t group_size, bool overlapped)
{
    const uint32_t slices = task->shape.slices;
    return (struct ppi_order_1f1b){task->shape.devices, task->chunks, task->micro_slices, (uint32_t)group_size * slices,
                                   overlapped};
}

/* The warm-up of a device; with slices longer by the slices before a microbatch's last one. */
static uint64_t warmup_of(const struct ppi_task *task, const struct ppi_order_1f1b *order, uint32_t device, uint32_t slope)
{
    uint64_t warmup = ppi_sloped_warmup(order, device, slope) + task->shape.slices - 1, visits = ppi_visits_of(order);
    return warmup < visits ? warmup : visits;
}

static void order_1f1b(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct ppi_order_1f1b order = order_of(task, task->option[0], false);
    ppi_put_interleaved_1f1b(&order, device, warmup_of(task, &order, device, 2), writer);
}

/* Groups of one microbatch, whose slices are enough to fill the pipeline. */
static void order_slimpipe(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct ppi_order_1f1b order = order_of(task, 1, false);
    ppi_put_interleaved_1f1b(&order, device, warmup_of(task, &order, device, task->chunks > 1 ? 2 : 1), writer);
}

/* One warm-up forward more, so that the two of a pair do not depend on each other. */
static void order_overlap(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct ppi_order_1f1b order = order_of(task, task->option[0], true);
    ppi_put_interleaved_1f1b(&order, device, warmup_of(task, &order, device, 2), writer);
}

/* Half the slope of the warm-up: a device holds less, and a group's backwards wait for the devices after it. */
static void order_less_memory(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct ppi_order_1f1b order = order_of(task, task->option[0], false);
    ppi_put_interleaved_1f1b(&order, device, warmup_of(task, &order, device, 1), writer);
}

/* Half the slope of the warm-up, as the device before waits only for I; W lags I by the device's rank. */
PPI_INLINE void put_zb(const struct ppi_task *task, uint32_t device, uint32_t slices, struct ppi_op_writer *writer)
{
    struct ppi_order_1f1b order = order_of(task, task->option[0], false);
    struct ppi_table_cursor hand = ppi_cursor_start(&order, device, slices, writer), weights = hand;
    uint64_t warmup = warmup_of(task, &order, device, 1), passes = ppi_visits_of(&order),
             lag = device < passes ? device : passes;
    for (uint64_t k = 0; k < warmup; k++)
        ppi_cursor_put_forward(&hand);
    for (uint64_t k = 0; k < passes; k++) {
        if (k < passes - warmup)
            ppi_cursor_put_forward(&hand);
        ppi_cursor_put_backward(&hand, PPSCHED_KIND_I);
        if (k >= lag)
            ppi_cursor_put_backward(&weights, PPSCHED_KIND_W);
    }
    for (uint64_t k = 0; k < lag; k++)
        ppi_cursor_put_backward(&weights, PPSCHED_KIND_W);
}

static void order_zb(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    if (writer->slices == 1)
        put_zb(task, device, 1, writer);
    else
        put_zb(task, device, writer->slices, writer);
}

/* Whether an order with groups of g has no deadlock, all counted in slices, k per microbatch. With V >= 2 and more than one
 * group it deadlocks unless each group and the next together have at least `reach`: the slope of the warm-up times D-1, with
 * overlapped pairs one more. With two chunks a last group of one microbatch is fine too, and so are groups of one microbatch
 * of which three reach k-1 more. (Found by running every order with D <= 12, V <= 6, M <= 44, g <= 2D+2 through the checker,
 * with pairs D <= 7, V <= 5, M <= 26, g <= 2D+4, with slices D <= 12, V <= 3, M <= 7, k <= 5; the rule agrees on all.) */
static bool can_run(const struct ppi_task *task, int64_t run, int64_t group, int64_t reach)
{
    int64_t groups = (run + group - 1) / group, last = run - (groups - 1) * group, whole = task->shape.slices;
    if (task->chunks == 1 || groups == 1)
        return true;
    if (groups >= 3 && 2 * group < reach)
        return task->chunks == 2 && group == whole && 3 * group >= reach + whole - 1;
    return last + group >= reach || (task->chunks == 2 && last == whole);
}

/* `formula`: `reach` in terms of D, for the message. */
static ppsched_status fits_group(const struct ppi_task *task, int64_t group, int64_t reach, const char *formula,
                                 ppsched_error *error)
{
    if (can_run(task, task->micro_slices, group * task->shape.slices, reach))
        return PPSCHED_OK;
    return ppi_refuse(error, task,
                      "%u microbatch%p in groups of %lld would deadlock on %u device%p: a group and the next together must "
                      "reach %s = %lld%s",
                      task->run, (long long)group, task->shape.devices, formula, (long long)reach,
                      task->shape.slices > 1 ? " slices" : "");
}

static ppsched_status fits_groups(const struct ppi_task *task, int64_t reach, const char *formula, ppsched_error *error)
{
    return fits_group(task, task->option[0], reach, formula, error);
}

static ppsched_status fits_slimpipe(const struct ppi_task *task, ppsched_error *error)
{
    if (can_run(task, task->micro_slices, task->shape.slices, 2 * ((int64_t)task->shape.devices - 1)))
        return PPSCHED_OK;
    return ppi_refuse(
        error, task,
        "needs at least D-1 = %u slice%p per microbatch on %u device%p with %u stage%p each, not %u; nearest: %u slice%p",
        task->shape.devices - 1, task->shape.devices, task->chunks, task->shape.slices, task->shape.devices - 1);
}

static ppsched_status fits_1f1b(const struct ppi_task *task, ppsched_error *error)
{
    return fits_groups(task, 2 * ((int64_t)task->shape.devices - 1), "2(D-1)", error);
}

static ppsched_status fits_overlap(const struct ppi_task *task, ppsched_error *error)
{
    return fits_groups(task, 2 * (int64_t)task->shape.devices - 1, "2D-1", error);
}

static ppsched_status fits_half_slope(const struct ppi_task *task, ppsched_error *error)
{
    return fits_groups(task, (int64_t)task->shape.devices - 1, "(D-1)", error);
}

/* The default: as many micro-slices as devices. */
static int64_t devices(const struct ppi_shape *shape)
{
    return (shape->devices + (int64_t)shape->slices - 1) / shape->slices;
}

static const struct ppi_option_row options[] = {
    {.name = "group_size",
     .default_text = "number of devices",
     .summary = "microbatches that run on one chunk before the next chunk starts",
     .role = PPI_ROLE_GROUP_SIZE,
     .minimum = 1,
     .maximum = PPSCHED_MAX_CELLS,
     .fallback = devices},
};

static const char *const aliases_zb[] = {"InterleavedZeroBubble"};
static const char *const aliases_1f1b[] = {"Interleaved1F1B", "interleave", "interleaved", "vpp"};

const struct ppi_strategy ppi_interleaved_1f1b = {
    .name = "interleaved_1f1b",
    .summary = "1F1B over several chunks per device: bubble divided by the chunks, more memory and communication",
    .source = "Megatron-LM (Narayanan et al. 2021, arXiv 2104.04473), PyTorch",
    .aliases = aliases_1f1b,
    .alias_count = 4,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .serves_forwards = true,
    .options = options,
    .option_count = 1,
    .fits = fits_1f1b,
    .cuts = true,
    .order = order_1f1b,
    .repeats = 1,
    .repeats_groups = true,
};

const struct ppi_strategy ppi_slimpipe = {
    .name = "slimpipe",
    .summary = "interleaved 1F1B over slices in groups of one microbatch: holds little more than one microbatch's activations",
    .source = "SlimPipe (Liu et al. 2025, arXiv 2504.14519)",
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .cuts = true,
    .is_for_slices = true,
    .fits = fits_slimpipe,
    .order = order_slimpipe,
    .repeats = 1,
};

const struct ppi_strategy ppi_interleaved_1f1b_overlap = {
    .name = "interleaved_1f1b_overlap",
    .overlaps = true,
    .summary = "interleaved 1F1B whose steady forwards and backwards run overlapped, to hide expert-parallel communication",
    .source = "Megatron-LM's overlap of expert-parallel communication (combined 1F1B), Victarry/PP-Schedule-Visualization",
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .options = options,
    .option_count = 1,
    .fits = fits_overlap,
    .order = order_overlap,
    .repeats = 1,
    .repeats_groups = true,
};

const struct ppi_strategy ppi_interleaved_1f1b_less_memory = {
    .name = "interleaved_1f1b_less_memory",
    .summary = "interleaved 1F1B with half the slope of the warm-up: less memory on the first devices, some more bubble",
    .source = "MindSpore's SAPP (less_memory)",
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .options = options,
    .option_count = 1,
    .fits = fits_half_slope,
    .cuts = true,
    .order = order_less_memory,
    .repeats = 1,
    .repeats_groups = true,
};

const struct ppi_strategy ppi_interleaved_zb = {
    .name = "interleaved_zb",
    .summary = "interleaved 1F1B with the backward split; weight gradients fill the bubble",
    .source = "PyTorch's ScheduleInterleavedZeroBubble, after Zero Bubble Pipeline Parallelism (arXiv 2401.10241)",
    .aliases = aliases_zb,
    .alias_count = 1,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .options = options,
    .option_count = 1,
    .fits = fits_half_slope,
    .cuts = true,
    .order = order_zb,
    .repeats = 1,
    .repeats_groups = true,
};
