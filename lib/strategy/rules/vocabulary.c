/* SPDX-License-Identifier: Apache-2.0 */
/* 1F1B whose output layer is shared by all devices: by passes S and T that each device runs when it comes to them
 * (vocab_1f1b), or at the same time on all devices (interlaced). On a chain, without a head, what is left are their forwards
 * and backwards. */
#include "strategy/descriptors.h"
#include "strategy/shared_head.h"

/* One device's queue while it is written. */
struct line {
    const struct ppi_task *task;
    struct ppi_op_writer *writer;
    uint32_t devices, device, count; /* count: of microbatches */
    uint32_t forwards, heads;        /* written so far */
    bool has_two_barriers;
};

static struct line begin(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    return (struct line){.task = task,
                         .writer = writer,
                         .devices = task->shape.devices,
                         .device = device,
                         .count = task->run,
                         .has_two_barriers = ppi_head_form_of(task) == PPI_HEAD_TWO_BARRIERS};
}

static void put_forward(struct line *line)
{
    if (line->forwards < line->count)
        ppi_put(line->writer, PPSCHED_KIND_F, line->device, line->forwards++);
}

static void put_backward(const struct line *line, uint32_t microbatch)
{
    ppi_put(line->writer, PPSCHED_KIND_B, line->device, microbatch);
}

static bool takes(uint32_t ops, uint32_t limit)
{
    return ops < limit;
}

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

/* --- vocab_1f1b --- */

/* The next passes of the head: T of a microbatch, and S of the one after it. */
static void put_passes(struct line *line)
{
    const uint32_t m = line->heads++, part = line->devices + line->device;
    if (!line->task->has_graph)
        return;
    if (m > 0 && line->has_two_barriers)
        ppi_put(line->writer, PPSCHED_KIND_B, part, m - 1);
    else if (m > 0)
        ppi_put(line->writer, PPSCHED_KIND_F, part + line->devices + 1, m - 1);
    if (m < line->count)
        ppi_put(line->writer, PPSCHED_KIND_F, part, m);
}

static void put_loss(const struct line *line, uint32_t microbatch)
{
    if (!line->task->has_graph || line->device + 1 < line->devices || microbatch >= line->count)
        return;
    ppi_put(line->writer, PPSCHED_KIND_F, 2 * line->devices, microbatch);
    ppi_put(line->writer, PPSCHED_KIND_I, 2 * line->devices, microbatch);
}

/* Whether the device so far before the last one runs the head's passes after its backward, rather than after the forward that
 * follows. */
static bool follows_backward(uint32_t behind)
{
    return behind < 3 || behind % 3 != 0;
}

/* Passes of the head between the warm-up and the first backward. */
static uint32_t early_passes(uint32_t behind)
{
    uint32_t passes = 0;
    for (uint32_t i = 1; i <= behind; i++)
        passes += follows_backward(i - 1) || !follows_backward(i);
    return passes;
}

static void order_vocabulary(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct line line = begin(task, device, writer);
    const uint32_t behind = line.devices - 1 - device, early = early_passes(behind);
    const uint32_t beside = line.count + line.has_two_barriers; /* passes beside backwards */
    for (uint32_t i = 0; i <= behind; i++)
        put_forward(&line);
    put_passes(&line);
    put_forward(&line);
    if (line.has_two_barriers) {
        put_loss(&line, 0);
        put_passes(&line);
        put_forward(&line);
    }
    for (uint32_t i = 0; i < early && takes(line.heads, beside); i++)
        put_passes(&line);
    for (uint32_t b = 0; b < line.count; b++) {
        put_loss(&line, b + line.has_two_barriers);
        put_backward(&line, b);
        if (follows_backward(behind) && takes(line.heads, beside))
            put_passes(&line);
        put_forward(&line);
        if (!follows_backward(behind) && takes(line.heads, beside))
            put_passes(&line);
    }
    while (line.heads <= line.count)
        put_passes(&line);
}

/* --- interlaced --- */

/* The next F and B of the head, on all devices. */
static void put_head(struct line *line)
{
    const uint32_t m = line->heads++;
    if (!line->task->has_graph || m >= line->count)
        return;
    ppi_put(line->writer, PPSCHED_KIND_F, line->devices, m);
    ppi_put(line->writer, PPSCHED_KIND_B, line->devices, m);
}

static void order_interlaced(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    struct line line = begin(task, device, writer);
    const uint32_t behind = line.devices - 1 - device;
    const uint32_t warm = at_most(line.devices * 3 / 2 - device, line.count), heads = at_most(behind + 1, line.count);
    const uint32_t alone = warm > heads + behind / 2 ? warm - heads - behind / 2 : 0; /* backwards before the next forward */
    const bool forward_first = behind % 2 != 0;
    for (uint32_t i = 0; i < warm; i++)
        put_forward(&line);
    for (uint32_t i = 0; i < heads; i++)
        put_head(&line);
    for (uint32_t b = 0; b < line.count; b++) {
        if (b >= alone && forward_first)
            put_forward(&line);
        put_backward(&line, b);
        if (b >= alone && !forward_first)
            put_forward(&line);
        put_head(&line);
    }
}

/* --- both --- */

static int32_t place(const struct ppi_task *task, const ppsched_config *config)
{
    (void)task;
    return config->graph != NULL ? config->placement : PPSCHED_PLACEMENT_LINEAR;
}

static ppsched_status make(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                           ppsched_error *error)
{
    (void)out; /* the rule makes it */
    return ppi_check_shared_head(task, config, error);
}

static const struct ppi_option_row options[] = {
    {.name = "barriers",
     .default_text = "1",
     .summary = "1: the backward waits for the passes S alone; 2: also for T, with one more warm-up forward",
     .minimum = 1,
     .maximum = 2,
     .usual = 1},
};

const struct ppi_strategy ppi_vocab_1f1b = {
    .name = "vocab_1f1b",
    .summary = "1F1B whose output layer runs in parts on all devices, with one or two more microbatches' activations",
    .source = "Vocabulary Parallelism (Yeung et al. 2024, arXiv 2411.05288), sail-sg/VocabularyParallelism",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .serves_graphs = true,
    .shares_head = true,
    .options = options,
    .option_count = 1,
    .order = order_vocabulary,
    .make = make,
    .place = place,
};

const struct ppi_strategy ppi_interlaced = {
    .name = "interlaced",
    .summary = "1F1B whose output layer runs on all devices at once, with half as many more microbatches' activations",
    .source = "nnScaler (Lin et al. 2024), as sail-sg/VocabularyParallelism has it",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .serves_graphs = true,
    .shares_head = true,
    .order = order_interlaced,
    .make = make,
    .place = place,
};
