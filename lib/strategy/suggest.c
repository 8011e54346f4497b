/* SPDX-License-Identifier: Apache-2.0 */
/* What a refusal proposes: the sizes nearest to the requested ones that the strategy supports.
 *
 * One number is changed at a time: microbatches, an option, or stages. Only where none of these works, stages, microbatches
 * and finally devices are changed together. */
#include <stdarg.h>
#include <string.h>

#include "base/format.h"
#include "strategy/strategy.h"

/* How far from the requested sizes the search goes: rules are in terms of a few times D. */
static uint32_t reach_of(const struct ppi_task *task)
{
    return 4 * task->shape.devices + 4;
}

struct text {
    char *buffer;
    size_t capacity, length;
};

static void add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    ppi_format(text->buffer + text->length, text->capacity - text->length, format, arguments);
    va_end(arguments);
    text->length += strlen(text->buffer + text->length);
}

/* Joins alternatives: "; nearest: a, or b, or c". */
static void begin_alternative(struct text *text)
{
    add(text, text->length == 0 ? "; nearest: " : ", or ");
}

static void add_count(struct text *text, int64_t count, const char *what)
{
    bool is_microbatch = strcmp(what, "microbatch") == 0;
    add(text, "%lld %s%s", (long long)count, what, count == 1 ? "" : is_microbatch ? "es" : "s");
}

static void add_one_or_two(struct text *text, int64_t below, int64_t above, const char *what)
{
    begin_alternative(text);
    if (below != 0 && above != 0)
        add(text, "%lld or ", (long long)below);
    add_count(text, above != 0 ? above : below, what);
}

static bool serves_with(struct ppi_task task, int64_t microbatches)
{
    if (microbatches < 1 || microbatches > PPSCHED_MAX_CELLS / task.shape.stages / task.shape.iterations)
        return false;
    task.shape.microbatches = (uint32_t)microbatches;
    return ppi_serves(&task);
}

/* The nearest numbers of microbatches below and above that work; 0 where none is within reach. */
static void nearest_microbatches(const struct ppi_task *task, int64_t *below, int64_t *above)
{
    int64_t asked = task->shape.microbatches;
    *below = *above = 0;
    for (int64_t step = 1; step <= reach_of(task) && (*below == 0 || *above == 0); step++) {
        if (*below == 0 && serves_with(*task, asked - step))
            *below = asked - step;
        if (*above == 0 && serves_with(*task, asked + step))
            *above = asked + step;
    }
}

static void try_microbatches(const struct ppi_task *task, struct text *text)
{
    int64_t below, above;
    nearest_microbatches(task, &below, &above);
    if (below != 0 || above != 0)
        add_one_or_two(text, below, above, "microbatch");
}

static bool serves_with_option(struct ppi_task task, uint32_t option, int64_t value)
{
    if (value < task.strategy->options[option].minimum || value > task.strategy->options[option].maximum)
        return false;
    task.option[option] = value;
    return ppi_serves(&task);
}

/* The nearest value of an option that works, or -1. */
static int64_t nearest_value(const struct ppi_task *task, uint32_t option)
{
    int64_t asked = task->option[option];
    for (int64_t step = 1; step <= reach_of(task); step++)
        for (int sign = -1; sign <= 1; sign += 2)
            if (serves_with_option(*task, option, asked + sign * step))
                return asked + sign * step;
    return -1;
}

static void try_option(const struct ppi_task *task, uint32_t option, struct text *text)
{
    int64_t value = nearest_value(task, option);
    if (value < 0)
        return;
    begin_alternative(text);
    add(text, "%s %lld", task->strategy->options[option].name, (long long)value);
}

/* Numbers of stages that the placement and the strategy support on the task's devices, at or next to the requested one. */
static void stage_candidates(const struct ppi_task *task, int64_t out[2])
{
    int64_t devices = task->shape.devices, whole = task->shape.stages / devices;
    int64_t chunks = task->placement == PPSCHED_PLACEMENT_LINEAR ? 1 : task->strategy->chunks;
    out[0] = (chunks != 0 ? chunks : whole) * devices;
    out[1] = (chunks != 0 ? chunks : whole + 1) * devices;
}

static bool with_stages(struct ppi_task *task, int64_t stages)
{
    if (stages < 1 || stages > PPSCHED_MAX_STAGES || stages == task->shape.stages)
        return false;
    task->shape.stages = (uint32_t)stages;
    return true;
}

static void try_stages(const struct ppi_task *task, struct text *text)
{
    int64_t stages[2], found[2] = {0, 0};
    stage_candidates(task, stages);
    for (int i = 0; i < 2; i++) {
        struct ppi_task changed = *task;
        if (with_stages(&changed, stages[i]) && ppi_serves(&changed))
            found[i] = stages[i];
    }
    if (found[0] != 0 || found[1] != 0)
        add_one_or_two(text, found[0], found[1] != found[0] ? found[1] : 0, "stage");
}

/* The number of devices for these stages, for a strategy with fixed stages per device. */
static void try_devices(const struct ppi_task *task, struct text *text)
{
    struct ppi_task changed = *task;
    if (task->strategy->chunks == 0 || task->shape.stages % task->strategy->chunks != 0 ||
        task->shape.stages / task->strategy->chunks == task->shape.devices)
        return;
    changed.shape.devices = task->shape.stages / task->strategy->chunks;
    if (!ppi_serves(&changed))
        return;
    begin_alternative(text);
    add_count(text, changed.shape.devices, "device");
}

/* Finds the rest for given devices and stages. True where something works. */
static bool try_rest(struct ppi_task *task, struct text *text)
{
    int64_t below = 0, above = task->shape.microbatches, value = -1;
    if (!ppi_serves(task))
        nearest_microbatches(task, &below, &above);
    if (below == 0 && above == 0 && task->strategy->option_count > 0)
        value = nearest_value(task, 0);
    if (below == 0 && above == 0 && value < 0)
        return false;
    begin_alternative(text);
    add_count(text, task->shape.devices, "device");
    add(text, ", ");
    add_count(text, task->shape.stages, "stage");
    add(text, " and ");
    if (value < 0)
        add_count(text, above != 0 ? above : below, "microbatch");
    else
        add(text, "%s %lld", task->strategy->options[0].name, (long long)value);
    return true;
}

/* The last resort: more devices, as many stages as they need, and the nearest number of microbatches, or the first option. */
static void try_all(const struct ppi_task *task, struct text *text)
{
    for (uint32_t more = 0; more < 4; more++) {
        struct ppi_task changed = *task;
        int64_t stages[2];
        changed.shape.devices += more;
        stage_candidates(&changed, stages);
        for (int i = 0; i < 2; i++) {
            with_stages(&changed, stages[i]);
            if (try_rest(&changed, text))
                return;
        }
    }
}

void ppi_suggest(char *buffer, size_t capacity, const struct ppi_task *task)
{
    struct text text = {buffer, capacity, 0};
    buffer[0] = '\0';
    try_microbatches(task, &text);
    for (uint32_t option = 0; option < task->strategy->option_count; option++)
        try_option(task, option, &text);
    try_stages(task, &text);
    try_devices(task, &text);
    if (text.length == 0)
        try_all(task, &text);
}
