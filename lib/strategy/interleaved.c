/* SPDX-License-Identifier: Apache-2.0 */
/* Interleaved schedules: V chunks a device on the loop placement, walked by Megatron-LM's schedule table.
 *
 * The table goes over groups of g microbatches (the last may be short), inside a group chunk by chunk, inside a chunk
 * microbatch by microbatch. Forwards walk it as it stands, backwards with chunk c replaced by V-1-c. */
#include "base/number.h"
#include "strategy/table.h"

/* A position in the table. */
struct walk {
    uint32_t group_size, run, chunks;
    uint32_t group_first, group_end; /* microbatches of the present group */
    uint32_t chunk, microbatch;
};

static void enter_group(struct walk *walk, uint32_t first)
{
    walk->group_first = first;
    walk->group_end = walk->run - first > walk->group_size ? first + walk->group_size : walk->run;
    walk->chunk = 0;
    walk->microbatch = first;
}

static struct walk start_walk(const struct ppi_task *task)
{
    struct walk walk = {.group_size = (uint32_t)task->option[0], .run = task->run, .chunks = task->chunks};
    enter_group(&walk, 0);
    return walk;
}

static void advance(struct walk *walk)
{
    if (++walk->microbatch < walk->group_end)
        return;
    walk->microbatch = walk->group_first;
    if (++walk->chunk == walk->chunks)
        enter_group(walk, walk->group_end);
}

static void put_forward(struct walk *walk, const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    ppi_put(pen, PPSCHED_KIND_F, walk->chunk * task->shape.devices + device, walk->microbatch);
    advance(walk);
}

static void put_backward(struct walk *walk, const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    uint32_t chunk = task->chunks - 1 - walk->chunk;
    ppi_put(pen, PPSCHED_KIND_B, chunk * task->shape.devices + device, walk->microbatch);
    advance(walk);
}

static void order(const struct ppi_task *task, uint32_t device, struct ppi_pen *pen)
{
    struct walk forward = start_walk(task), backward = start_walk(task);
    uint64_t passes = (uint64_t)task->chunks * task->run;
    uint64_t warmup = (task->chunks - 1) * (uint64_t)task->option[0] + 2 * (uint64_t)(task->shape.devices - 1 - device);
    if (warmup > passes)
        warmup = passes;
    for (uint64_t k = 0; k < warmup; k++)
        put_forward(&forward, task, device, pen);
    for (uint64_t k = warmup; k < passes; k++) {
        put_forward(&forward, task, device, pen);
        put_backward(&backward, task, device, pen);
    }
    for (uint64_t k = passes - warmup; k < passes; k++)
        put_backward(&backward, task, device, pen);
}

/* Whether the order can be run. With V >= 2 and more than one group it deadlocks unless each group and the next together reach
 * 2(D-1) microbatches; with two chunks a last group of one is fine too. (Found by running every order with D <= 12, V <= 6,
 * M <= 44, g <= 2D+2 through the checker: the rule agrees on all 47,520.) */
static bool can_run(const struct ppi_task *task, int64_t run, int64_t group)
{
    int64_t groups = (run + group - 1) / group, last = run - (groups - 1) * group;
    int64_t reach = 2 * ((int64_t)task->shape.devices - 1);
    if (task->chunks == 1 || groups == 1)
        return true;
    if (groups >= 3 && 2 * group < reach)
        return false;
    return last + group >= reach || (task->chunks == 2 && last == 1);
}

/* The group size nearest to the one asked for that works; 2(D-1) always does. */
static int64_t nearest_group(const struct ppi_task *task)
{
    int64_t group = task->option[0], step = 1;
    while (!can_run(task, task->run, group + step) && !(step < group && can_run(task, task->run, group - step)))
        step++;
    return step < group && can_run(task, task->run, group - step) ? group - step : group + step;
}

/* The numbers of microbatches below and above that work with the group size asked for; both are that below where none above
 * does. */
static void nearest_runs(const struct ppi_task *task, int64_t *below, int64_t *above)
{
    int64_t group = task->option[0], full = (task->run - 1) / group * group;
    int64_t last = task->run - full, reach = 2 * ((int64_t)task->shape.devices - 1);
    *below = 2 * group >= reach ? full : group;
    if (can_run(task, *below + 1, group) && *below + 1 < (int64_t)task->run)
        ++*below;
    *above = 2 * group >= reach ? task->run + (reach - group - last) : *below;
}

static ppsched_status fits(const struct ppi_task *task, ppsched_error *error)
{
    int64_t below = 0, above = 0, group = task->option[0];
    char above_text[PPI_INTEGER_SIZE + 1] = "";
    if (can_run(task, task->run, group))
        return PPSCHED_OK;
    nearest_runs(task, &below, &above);
    if (above != below)
        above_text[ppi_integer_to_text(above_text, above)] = '\0';
    return ppi_refuse(error, &ppi_interleaved_1f1b,
                      "%u microbatches in groups of %lld would deadlock on %u devices: a group and the next together must "
                      "reach 2(D-1) = %u; nearest: %lld microbatches%s%s, or group_size %lld",
                      task->run, (long long)group, task->shape.devices, 2 * (task->shape.devices - 1), (long long)below,
                      above != below ? " or " : "", above_text, (long long)nearest_group(task));
}

static int64_t devices(const struct ppi_shape *shape)
{
    return shape->devices;
}

static const struct ppi_option_row options[] = {
    {"group_size", "number of devices", "microbatches that run one chunk before the next chunk starts", 1, PPSCHED_MAX_CELLS,
     devices},
};

static const char *const aliases_1f1b[] = {"Interleaved1F1B", "interleave", "interleaved", "vpp"};

const struct ppi_strategy ppi_interleaved_1f1b = {
    .name = "interleaved_1f1b",
    .summary = "1F1B over several chunks a device: bubble divided by the chunks, more memory and communication",
    .source = "Megatron-LM (Narayanan et al. 2021, arXiv 2104.04473), PyTorch",
    .aliases = aliases_1f1b,
    .alias_count = 4,
    .placement = PPSCHED_PLACEMENT_LOOP,
    .weight_versions = 1,
    .flushes = true,
    .options = options,
    .option_count = 1,
    .fits = fits,
    .order = order,
};
