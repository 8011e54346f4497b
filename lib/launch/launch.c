/* SPDX-License-Identifier: Apache-2.0 */
/* The table of runtimes, built from list.h; what a refusal says about other runtimes is found by asking each of them. */
#include "launch/launch.h"

#include <string.h>

#include "base/error.h"

static const struct ppi_runtime *const table[] = {
#define PPI_RUNTIME(number, name, file) [PPSCHED_RUNTIME_##number] = &ppi_##name##_runtime,
#include "launch/list.h"
#undef PPI_RUNTIME
};

enum { COUNT = sizeof table / sizeof table[0] };

ppsched_status ppi_runtime_find(const struct ppi_runtime **out, int32_t runtime, ppsched_error *error)
{
    ppsched_status status = ppi_check_choice("runtime", runtime, 1, COUNT - 1, error);
    if (status == PPSCHED_OK)
        *out = table[runtime];
    return status;
}

const char *ppi_csv_of(const struct ppi_launch *launch)
{
    return launch->csv != NULL ? launch->csv : "schedule.csv";
}

uint32_t ppi_chunks_of(const ppsched_schedule *schedule)
{
    return schedule->shape.stages / schedule->shape.devices;
}

uint32_t ppi_most_held(const ppsched_schedule *schedule, bool weights)
{
    uint32_t most = 0;
    for (uint32_t d = 0; d < schedule->shape.devices; d++) {
        uint32_t held = 0;
        for (size_t i = 0; i < schedule->queues[d].count; i++) {
            uint8_t kind = schedule->queues[d].ops[i].kind;
            held += kind == PPSCHED_KIND_F;
            held -= kind == PPSCHED_KIND_B || kind == (weights ? PPSCHED_KIND_W : PPSCHED_KIND_I);
            most = held > most ? held : most;
        }
    }
    return most;
}

bool ppi_is_placed(const ppsched_schedule *schedule, int32_t placement)
{
    if (schedule->placement.copies != 1 || schedule->shape.stages % schedule->shape.devices != 0)
        return false;
    for (uint32_t s = 0; s < schedule->shape.stages; s++)
        if (schedule->placement.device_of[s] != ppi_placed_device(placement, &schedule->shape, s, NULL))
            return false;
    return true;
}

/* Checks the split. Where it fails and the order cannot be run either, the order is the reported reason, as no other split
 * would help. */
static ppsched_status fit_parts(const struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    bool is_v = ppi_chunks_of(schedule) == 2 && ppi_is_placed(schedule, PPSCHED_PLACEMENT_V);
    bool is_even = ppi_rules_divide_evenly(&runtime->rules, is_v);
    struct ppi_launch order = *launch;
    ppsched_error reason;
    ppsched_status status = ppi_parts_fit(launch->parts, &runtime->rules, is_even, runtime->title, error);
    order.parts = NULL;
    order.order_alone = true;
    if (status != PPSCHED_ERROR_REFUSED || error == NULL)
        return status;
    ppsched_status of_order = runtime->fits(&order, &reason);
    if (of_order != PPSCHED_OK)
        *error = reason;
    return of_order == PPSCHED_OK ? status : of_order;
}

ppsched_status ppi_launch_ask(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error)
{
    const ppsched_schedule *schedule = launch->schedule;
    if (!schedule->flushes)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s flushes after every iteration, the schedule does not",
                        runtime->title);
    if (ppi_is_forward_only(schedule))
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s supports only training, and the schedule has no backward",
                        runtime->title);
    if (schedule->shape.iterations != 1)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s supports schedules of one iteration, not of %u", runtime->title,
                        schedule->shape.iterations);
    if (schedule->shape.slices > 1 && !runtime->cuts)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s runs whole microbatches, the schedule has %u slice%p of each",
                        runtime->title, schedule->shape.slices);
    bool is_told_first = runtime->check_strategy != NULL;
    ppsched_status status = is_told_first ? runtime->fits(launch, error) : PPSCHED_OK;
    if (status == PPSCHED_OK && launch->parts != NULL)
        status = fit_parts(launch, runtime, error);
    return status == PPSCHED_OK && !is_told_first ? runtime->fits(launch, error) : status;
}

/* "pytorch", "torchtitan and pytorch", "torchtitan, pytorch and sail" */
struct names {
    char text[120];
    size_t length;
    const char *last; /* not yet in the text */
    int count;
};

static void append(struct names *names, const char *text)
{
    size_t size = strlen(text);
    if (size < sizeof names->text - names->length) {
        memcpy(names->text + names->length, text, size + 1);
        names->length += size;
    }
}

static void add_name(struct names *names, const char *name)
{
    if (names->last != NULL) {
        append(names, names->count > 1 ? ", " : "");
        append(names, names->last);
    }
    names->last = name;
    names->count++;
}

static void end_names(struct names *names)
{
    append(names, names->count > 1 ? " and " : "");
    append(names, names->count > 0 ? names->last : "no other runtime here");
}

/* --- answers that the schedule keeps --- */

/* Whether an answer is about the schedule alone. */
static bool is_about_order(const struct ppi_launch *launch)
{
    return launch->parts == NULL && launch->layers == 0 && launch->csv == NULL && !launch->order_alone;
}

static unsigned bit_of(const struct ppi_runtime *runtime)
{
    int number = 1;
    while (table[number] != runtime)
        number++;
    return 1u << number;
}

/* Whose answers they are: only runtimes that plan orders of a kind have two. */
static int answers_of(const struct ppi_launch *launch, const struct ppi_runtime *runtime)
{
    return launch->exact || !runtime->may_plan_alike;
}

static bool is_known(const atomic_uint *answers, const struct ppi_launch *launch, const struct ppi_runtime *runtime)
{
    const unsigned known = atomic_load_explicit(&answers[answers_of(launch, runtime)], memory_order_relaxed);
    return is_about_order(launch) && (known & bit_of(runtime)) != 0;
}

/* Asks a runtime, and notes the answer. */
static ppsched_status ask_and_note(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error)
{
    ppsched_schedule *schedule = launch->schedule->self;
    const ppsched_status status = ppi_launch_ask(launch, runtime, error);
    if (!is_about_order(launch))
        return status;
    atomic_uint *answers = status == PPSCHED_OK              ? schedule->run_by
                           : status == PPSCHED_ERROR_REFUSED ? schedule->refused_by
                                                             : NULL;
    if (answers != NULL)
        atomic_fetch_or_explicit(&answers[answers_of(launch, runtime)], bit_of(runtime), memory_order_relaxed);
    return status;
}

static ppsched_status ask(const struct ppi_launch *asked, const struct ppi_runtime *runtime, bool exact)
{
    struct ppi_launch launch = {.schedule = asked->schedule, .exact = exact, .layers = asked->layers, .parts = asked->parts};
    if (is_known(launch.schedule->refused_by, &launch, runtime))
        return PPSCHED_ERROR_REFUSED;
    return is_known(launch.schedule->run_by, &launch, runtime) ? PPSCHED_OK : ask_and_note(&launch, runtime, NULL);
}

/* Lists the other runtimes that run exactly this order, and those that plan one of its kind. OK or NO_MEMORY. */
static ppsched_status find_others(const struct ppi_launch *asked, const struct ppi_runtime *runtime, struct names *runs,
                                  struct names *plans)
{
    for (int i = 1; i < COUNT; i++) {
        if (table[i] == runtime)
            continue;
        ppsched_status same = ask(asked, table[i], true);
        const bool asks_again = same == PPSCHED_ERROR_REFUSED && table[i]->may_plan_alike;
        ppsched_status kind = asks_again ? ask(asked, table[i], false) : same;
        if (kind == PPSCHED_ERROR_NO_MEMORY)
            return kind;
        if (kind == PPSCHED_OK)
            add_name(same == PPSCHED_OK ? runs : plans, table[i]->name);
    }
    end_names(runs);
    end_names(plans);
    return PPSCHED_OK;
}

/* Adds to the message which runtimes can. */
static ppsched_status add_others(const struct ppi_launch *asked, const struct ppi_runtime *runtime, const ppsched_error *reason,
                                 ppsched_error *error)
{
    struct names runs = {.count = 0}, plans = {.count = 0};
    struct ppi_place place = {reason->device, reason->stage, reason->microbatch, reason->position};
    if (find_others(asked, runtime, &runs, &plans) != PPSCHED_OK)
        return ppi_fail_memory(error, "the other runtimes");
    if (plans.count == 0)
        return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place, "%s; %s can run it", reason->message, runs.text);
    return ppi_fail_at(error, PPSCHED_ERROR_REFUSED, place, "%s; %s can run it, %s a similar one", reason->message, runs.text,
                       plans.text);
}

ppsched_status ppi_launch_fits(struct ppi_launch *launch, const struct ppi_runtime *runtime, ppsched_error *error)
{
    ppsched_error reason;
    if (error == NULL && is_known(launch->schedule->refused_by, launch, runtime))
        return PPSCHED_ERROR_REFUSED;
    ppsched_status status = ask_and_note(launch, runtime, &reason);
    if (status == PPSCHED_ERROR_REFUSED && error != NULL)
        return add_others(launch, runtime, &reason, error);
    if (status != PPSCHED_OK && error != NULL)
        *error = reason;
    return status;
}
