/* SPDX-License-Identifier: Apache-2.0 */
/* From a strategy and a config to a schedule, for all strategies: reads options, checks sizes, runs the rule or search, and
 * repeats one iteration's order for all. */
#include <stdarg.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/format.h"
#include "base/nearest.h"
#include "base/number.h"
#include "scenario/scenario.h"
#include "ir/stage_graph.h"
#include "strategy/strategy.h"
#include "strategy/unroll.h"

/* The most ops of a device for each microbatch where the head is shared: F, B, S, T, and two of the loss. */
enum { MOST_SHARED = 6 };

ppsched_status ppi_refuse(ppsched_error *error, const struct ppi_task *task, const char *format, ...)
{
    char reason[sizeof error->message];
    va_list arguments;
    if (error == NULL)
        return PPSCHED_ERROR_REFUSED;
    va_start(arguments, format);
    ppi_format(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s: %s", task->strategy->name, reason);
}

/* --- the task --- */

const struct ppi_option_row *ppi_option_for(const struct ppi_strategy *strategy, enum ppi_role role)
{
    for (uint32_t i = 0; i < strategy->option_count; i++)
        if (strategy->options[i].role == role)
            return &strategy->options[i];
    return NULL;
}

void ppi_set_defaults(struct ppi_task *task)
{
    for (uint32_t i = 0; i < task->strategy->option_count; i++) {
        const struct ppi_option_row *row = &task->strategy->options[i];
        task->option[i] = row->fallback != NULL ? row->fallback(&task->shape) : row->usual;
    }
}

static ppsched_status unknown_option(const struct ppi_strategy *strategy, const char *name, ppsched_error *error)
{
    struct ppi_nearest best = ppi_nearest_start(name);
    for (uint32_t i = 0; i < strategy->option_count; i++)
        ppi_nearest_offer(&best, strategy->options[i].name, strategy->options[i].name);
    if (best.answer == NULL)
        return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_OPTION, "%s has no option \"%q\"; it has none at all", strategy->name,
                        name);
    return ppi_fail(error, PPSCHED_ERROR_UNKNOWN_OPTION, "%s has no option \"%q\"; did you mean %s?", strategy->name, name,
                    best.answer);
}

int64_t ppi_choice_number(const struct ppi_option_row *row, const char *name)
{
    int64_t i = 0;
    while (i <= row->maximum && !ppi_same_name(row->choices[i], name))
        i++;
    return i;
}

ppsched_status ppi_name_roles(ppsched_config *config, const struct ppi_strategy *strategy, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < strategy->option_count && status == PPSCHED_OK; i++) {
        const struct ppi_option_row *row = &strategy->options[i];
        int64_t value = config->roles.value[row->role];
        char text[PPI_INTEGER_SIZE + 1];
        text[ppi_integer_to_text(text, value)] = '\0';
        if (ppi_config_has_role(config, row->role))
            status = ppi_config_set_option(config, row->name, row->choices != NULL ? row->choices[value] : text, error);
    }
    config->roles.given = 0;
    return status;
}

/* "a, b or c" */
static void join_choices(char *buffer, size_t capacity, const struct ppi_option_row *row)
{
    size_t length = 0;
    for (int64_t i = 0; i <= row->maximum; i++) {
        const char *joint = i == 0 ? "" : i < row->maximum ? ", " : " or ";
        ppi_print(buffer + length, capacity - length, "%s%s", joint, row->choices[i]);
        length += strlen(buffer + length);
    }
}

static ppsched_status read_choice(int64_t *out, const struct ppi_strategy *strategy, const struct ppi_option_row *row,
                                  const char *value, ppsched_error *error)
{
    char all[100];
    *out = ppi_choice_number(row, value);
    if (*out <= row->maximum)
        return PPSCHED_OK;
    join_choices(all, sizeof all, row);
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: option %s is \"%q\"; it must be %s", strategy->name, row->name, value,
                    all);
}

static ppsched_status read_option(int64_t *out, const struct ppi_strategy *strategy, const struct ppi_option_row *row,
                                  const char *value, ppsched_error *error)
{
    if (row->choices != NULL)
        return read_choice(out, strategy, row, value, error);
    if (ppi_text_to_integer(value, out) && *out >= row->minimum && *out <= row->maximum)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: option %s is \"%q\"; it must be an integer from %lld to %lld",
                    strategy->name, row->name, value, (long long)row->minimum, (long long)row->maximum);
}

static ppsched_status read_named(struct ppi_task *task, const ppsched_config *config, const struct ppi_named_text *option,
                                 ppsched_error *error)
{
    const struct ppi_strategy *strategy = task->strategy;
    uint32_t i = 0;
    while (i < strategy->option_count && !ppi_same_name(strategy->options[i].name, option->name))
        i++;
    if (i == strategy->option_count)
        return unknown_option(strategy, option->name, error);
    if (ppi_config_has_role(config, strategy->options[i].role))
        return PPSCHED_OK;
    return read_option(&task->option[i], strategy, &strategy->options[i], option->value, error);
}

/* Options that the library sets by role are in range, except numbers that the caller chose. */
static ppsched_status read_roles(struct ppi_task *task, const struct ppi_roles *roles, ppsched_error *error)
{
    const struct ppi_strategy *strategy = task->strategy;
    for (uint32_t i = 0; i < strategy->option_count; i++) {
        const struct ppi_option_row *row = &strategy->options[i];
        int64_t value = roles->value[row->role];
        if ((roles->given >> row->role & 1) == 0)
            continue;
        if (value < row->minimum || value > row->maximum)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: option %s is %lld; it must be from %lld to %lld", strategy->name,
                            row->name, (long long)value, (long long)row->minimum, (long long)row->maximum);
        task->option[i] = value;
    }
    return PPSCHED_OK;
}

static ppsched_status read_options(struct ppi_task *task, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    ppi_set_defaults(task);
    for (size_t o = 0; o < config->option_count && status == PPSCHED_OK; o++)
        status = read_named(task, config, &config->options[o], error);
    return status == PPSCHED_OK ? read_roles(task, &config->roles, error) : status;
}

/* A placement that the caller sets must be the strategy's. */
static ppsched_status check_placement(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error)
{
    if (ppi_config_allows(config, task->placement))
        return PPSCHED_OK;
    if (task->placement == PPSCHED_PLACEMENT_MAP)
        return ppi_refuse(error, task, "placement map needs a config with the device of each stage");
    return ppi_refuse(error, task, "needs %s placement, not %s", ppi_placement_name(task->placement),
                      ppi_placement_name(config->placement));
}

/* "a, b, c": the strategies for which `does` is true. */
static void list_strategies(char *names, size_t capacity, bool (*does)(const struct ppi_strategy *strategy))
{
    const struct ppi_strategy *strategy;
    names[0] = '\0';
    for (uint32_t i = 0; (strategy = ppi_strategy_at(i)) != NULL; i++) {
        size_t length = strlen(names);
        if (does(strategy))
            ppi_print(names + length, capacity - length, length == 0 ? "%s" : ", %s", strategy->name);
    }
}

static bool cuts(const struct ppi_strategy *strategy)
{
    return strategy->cuts;
}

static ppsched_status refuse_slices(const struct ppi_task *task, ppsched_error *error)
{
    char names[200];
    list_strategies(names, sizeof names, cuts);
    return ppi_refuse(error, task, "runs whole microbatches, not %u slice%p of each; these support slices: %s",
                      task->shape.slices, names);
}

static bool serves_forwards(const struct ppi_strategy *strategy)
{
    return strategy->serves_forwards;
}

static ppsched_status refuse_forwards(const struct ppi_task *task, ppsched_error *error)
{
    char names[200];
    list_strategies(names, sizeof names, serves_forwards);
    return ppi_refuse(error, task, "needs backwards, and the problem is forward-only; these support it: %s", names);
}

static bool serves_graphs(const struct ppi_strategy *strategy)
{
    return strategy->serves_graphs;
}

static ppsched_status refuse_graph(const struct ppi_task *task, const ppsched_config *config, ppsched_error *error)
{
    char names[200];
    ppsched_error reason;
    list_strategies(names, sizeof names, serves_graphs);
    ppi_refuse_graph(config->graph, task->strategy->name, &reason);
    return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s; these support it: %s", reason.message, names);
}

ppsched_status ppi_serve(struct ppi_task *task, ppsched_error *error)
{
    const struct ppi_strategy *strategy = task->strategy;
    const struct ppi_shape *shape = &task->shape;
    if (!task->has_graph && strategy->chunks != 0 && shape->stages != strategy->chunks * shape->devices)
        return ppi_refuse(error, task, "needs %u stage%s per device, not %u stage%s on %u device%s", strategy->chunks,
                          strategy->chunks == 1 ? "" : "s", shape->stages, shape->stages == 1 ? "" : "s", shape->devices,
                          shape->devices == 1 ? "" : "s");
    if (!task->has_graph && strategy->placement != PPSCHED_PLACEMENT_DEFAULT && shape->stages % shape->devices != 0)
        return ppi_refuse(error, task, "needs a multiple of %u stage%p on %u device%p, not %u", shape->devices, shape->devices,
                          shape->stages);
    task->chunks = shape->stages / shape->devices;
    task->run = strategy->flushes ? shape->microbatches : ppi_total_microbatches(shape);
    task->micro_slices = task->run * shape->slices;
    if (shape->slices > 1 && !strategy->cuts)
        return refuse_slices(task, error);
    return strategy->fits != NULL ? strategy->fits(task, error) : PPSCHED_OK;
}

ppsched_status ppi_task_make(struct ppi_task *out, const struct ppi_strategy *strategy, const ppsched_config *config,
                             ppsched_error *error)
{
    char nearest[200];
    ppsched_error reason;
    *out = (struct ppi_task){.strategy = strategy,
                             .shape = config->shape,
                             .is_forward_only = config->is_forward_only,
                             .has_graph = config->graph != NULL};
    ppsched_status status = read_options(out, config, error);
    if (status == PPSCHED_OK) {
        out->placement = strategy->place != NULL ? strategy->place(out, config) : strategy->placement;
        status = check_placement(out, config, error);
    }
    if (status == PPSCHED_OK && config->is_forward_only && !strategy->serves_forwards)
        return refuse_forwards(out, error);
    if (status == PPSCHED_OK && config->graph != NULL && !strategy->serves_graphs)
        return refuse_graph(out, config, error);
    if (status == PPSCHED_OK && !ppi_may_split(strategy, config))
        return ppi_refuse(error, out, "splits backwards, and the problem needs whole ones (split_backward is off)");
    if (status != PPSCHED_OK)
        return status;
    status = ppi_serve(out, &reason);
    if (status == PPSCHED_OK && strategy->take_costs != NULL)
        strategy->take_costs(out, config);
    if (status == PPSCHED_OK && strategy->check != NULL)
        return strategy->check(out, config, error);
    if (status == PPSCHED_OK || error == NULL)
        return status;
    nearest[0] = '\0';
    if (strstr(reason.message, "; nearest: ") == NULL)
        ppi_suggest(nearest, sizeof nearest, out);
    return ppi_fail(error, status, "%s%s", reason.message, nearest);
}

/* --- the ops --- */

/* Removes the backwards from what the writer has written from `from` on. */
static void keep_forwards(struct ppi_op_writer *writer, ppsched_op *from)
{
    ppsched_op *to = from;
    for (; from < writer->next; from++)
        if (from->kind == PPSCHED_KIND_F)
            *to++ = *from;
    writer->next = to;
}

static void put_ops(ppsched_builder *builder, const struct ppi_task *task)
{
    for (uint32_t d = 0; d < task->shape.devices; d++) {
        struct ppi_op_writer writer = ppi_op_writer_open(builder, d);
        ppsched_op *first = writer.next;
        for (; writer.first_microbatch < ppi_total_microbatches(&task->shape); writer.first_microbatch += task->run)
            task->strategy->order(task, d, &writer);
        if (task->is_forward_only)
            keep_forwards(&writer, first);
        ppi_op_writer_close(builder, d, &writer);
    }
}

/* Repeats one iteration's ops for all iterations. A single iteration of full queues is the schedule's memory. */
static ppsched_status put_planned(ppsched_builder *builder, const struct ppi_task *task, struct ppi_attempt *attempt,
                                  ppsched_error *error)
{
    struct ppi_orders *orders = &attempt->best;
    ppsched_status status = PPSCHED_OK;
    if (task->shape.iterations == 1 && ppi_orders_are_full(orders)) {
        ppi_release(&builder->host, builder->block);
        ppi_builder_adopt(builder, ppi_attempt_release_best(attempt), orders->first + 1);
        return PPSCHED_OK;
    }
    for (uint32_t i = 0; i < task->shape.iterations; i++)
        for (uint32_t d = 0; d < task->shape.devices && status == PPSCHED_OK; d++) {
            ppsched_op *ops = orders->ops + orders->first[d];
            status = ppi_builder_append(builder, d, ops, orders->count[d], error);
            for (size_t k = 0; k < orders->count[d]; k++)
                ops[k].microbatch += task->run; /* for the next iteration */
        }
    return status;
}

/* An attempt; with the average scenario's times where the config has a robust objective and the strategy an effort. */
static ppsched_status make_attempt(struct ppi_attempt *out, const struct ppi_task *task, const ppsched_config *config,
                                   bool by_span, ppsched_error *error)
{
    ppsched_config *expected = NULL;
    bool has_goal = config->goal != NULL && ppi_option_for(task->strategy, PPI_ROLE_EFFORT) != NULL;
    ppsched_status status = PPSCHED_OK;
    if (has_goal)
        status = ppi_expected_config(&expected, config, &config->goal->options, config->goal->count, task->placement, error);
    if (status == PPSCHED_OK)
        status = ppi_attempt_make(out, task, task->strategy->name, has_goal ? expected : config, task->placement, by_span,
                                  error);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(expected);
        return status;
    }
    out->stated = has_goal ? config : NULL;
    out->expected = expected;
    return PPSCHED_OK;
}

ppsched_status ppi_plan(struct ppi_attempt *out, const struct ppi_task *task, const ppsched_config *config,
                        ppsched_error *error)
{
    const struct ppi_strategy *strategy = task->strategy;
    const struct ppi_option_row *objective = ppi_option_for(strategy, PPI_ROLE_OBJECTIVE);
    bool is_unrolled = false;
    const bool by_span = objective == NULL || task->option[objective - strategy->options] == PPI_BY_SPAN;
    ppsched_status status = make_attempt(out, task, config, by_span, error);
    if (status == PPSCHED_OK && objective != NULL)
        status = ppi_attempt_repeat(out, config->repeats > 0 ? config->repeats : task->shape.iterations, error);
    if (status == PPSCHED_OK && strategy->unrolls)
        status = ppi_unroll(out, task, &is_unrolled, error);
    if (status == PPSCHED_OK && !is_unrolled)
        status = strategy->plan(out, error);
    if (out->is_out_of_memory)
        return ppi_fail_memory(error, "a candidate");
    if (status == PPSCHED_OK && out->objective == PPI_INFINITE)
        return ppi_refuse(error, task, "found no schedule");
    return status;
}

static ppsched_status plan_ops(ppsched_builder *builder, const struct ppi_task *task, const ppsched_config *config,
                               ppsched_error *error)
{
    struct ppi_attempt attempt = {0};
    ppsched_config once = *config; /* with the caller's lists */
    once.shape.iterations = 1;
    ppsched_status status = ppi_plan(&attempt, task, &once, error);
    if (status == PPSCHED_OK)
        status = ppi_poll_report(&attempt.poll, 1, error); /* the callback sees the end, and may still cancel */
    if (status == PPSCHED_OK)
        status = put_planned(builder, task, &attempt, error);
    ppi_attempt_clear(&attempt);
    return status;
}

static ppsched_status fill(ppsched_builder *builder, const struct ppi_task *task, const ppsched_config *config,
                           ppsched_error *error)
{
    const size_t kinds = task->strategy->splits_backward ? 3 : 2;
    ppsched_status status = PPSCHED_OK;
    if (task->has_graph && task->strategy->order_graph != NULL)
        return task->strategy->order_graph(builder, task, config, error);
    if (task->has_graph && task->strategy->order != NULL)
        status = ppi_builder_reserve(builder, MOST_SHARED * (size_t)ppi_total_micro_slices(&task->shape), error);
    else if (task->placement != PPSCHED_PLACEMENT_MAP) /* all devices have equally many stages */
        status = ppi_builder_reserve(builder, kinds * task->chunks * ppi_total_micro_slices(&task->shape), error);
    if (status == PPSCHED_OK && task->strategy->plan != NULL)
        return plan_ops(builder, task, config, error);
    if (status == PPSCHED_OK)
        put_ops(builder, task);
    return status;
}

/* Only rules with at most one option are noted. */
static void note_rule(ppsched_schedule *schedule, const struct ppi_task *task)
{
    if (task->strategy->plan == NULL && task->strategy->option_count <= 1 && !task->has_graph && !task->is_forward_only)
        schedule->by_rule = (struct ppi_rule_order){true, task->option[0]};
}

static ppsched_status open_builder(ppsched_builder **out, const struct ppi_task *task, const ppsched_config *config,
                                   ppsched_error *error)
{
    const struct ppi_strategy *strategy = task->strategy;
    ppsched_status status = ppi_builder_create(out, config, task->placement, strategy->name, error);
    if (status != PPSCHED_OK)
        return status;
    (*out)->flushes = strategy->flushes;
    (*out)->weight_versions = config->weight_versions != 0 ? config->weight_versions : strategy->weight_versions;
    return PPSCHED_OK;
}

ppsched_status ppi_generate_none(ppsched_schedule **out, const struct ppi_task *task, const ppsched_config *config,
                                 ppsched_error *error)
{
    ppsched_builder *builder = NULL;
    ppsched_status status = open_builder(&builder, task, config, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(out, builder, error);
    ppi_builder_destroy(builder);
    return status;
}

ppsched_status ppi_generate(ppsched_schedule **out, const struct ppi_strategy *strategy, const ppsched_config *config,
                            ppsched_error *error)
{
    struct ppi_task task;
    ppsched_builder *builder = NULL;
    ppsched_schedule *made = NULL;
    ppsched_status status = ppi_task_make(&task, strategy, config, error);
    if (status == PPSCHED_OK && strategy->make != NULL) {
        status = strategy->make(&made, &task, config, error);
        if (status != PPSCHED_OK || made != NULL) {
            *out = status == PPSCHED_OK ? made : *out;
            return status;
        }
    }
    if (status == PPSCHED_OK)
        status = open_builder(&builder, &task, config, error);
    if (status != PPSCHED_OK)
        return status;
    status = fill(builder, &task, config, error);
    if (status == PPSCHED_OK)
        status = ppi_builder_finish(&made, builder, error);
    ppi_builder_destroy(builder);
    if (status == PPSCHED_OK && strategy->finish == NULL) {
        note_rule(made, &task);
        *out = made;
    }
    if (status != PPSCHED_OK || strategy->finish == NULL)
        return status;
    status = strategy->finish(out, made, &task, config, error);
    ppi_schedule_release(made);
    return status;
}
