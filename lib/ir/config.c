/* SPDX-License-Identifier: Apache-2.0 */
/* Owns copies of all lists, options and texts that the caller sets; copies and merges whole configs. */
#include "ir/config.h"

#include <string.h>

#include "base/error.h"
#include "ir/stage_graph.h"

/* More than ten times what any strategy has; bounds the linear search for an option. */
enum { MOST_OPTIONS = 256 };

ppsched_status ppi_config_create(ppsched_config **out, const struct ppi_shape *shape, const struct ppi_host *host,
                                 ppsched_error *error)
{
    ppsched_config *config = ppi_allocate_zeroed(host, 1, sizeof *config);
    if (config == NULL)
        return ppi_fail_memory(error, "the config");
    config->host = *host;
    config->shape = *shape;
    *out = config;
    return PPSCHED_OK;
}

void ppi_config_destroy(ppsched_config *config)
{
    if (config == NULL)
        return;
    struct ppi_host host = config->host;
    for (int q = 0; q <= PPI_LAST_QUANTITY; q++)
        ppi_release(&host, config->values[q].values);
    for (size_t i = 0; i < config->option_count; i++) {
        ppi_release(&host, config->options[i].name);
        ppi_release(&host, config->options[i].value);
    }
    ppi_release(&host, config->options);
    ppi_release(&host, config->map);
    ppi_stage_graph_release(config->graph);
    ppi_release(&host, config->windows);
    ppi_robust_objective_destroy(config->goal, &host);
    ppi_release(&host, config);
}

static bool grow_options(ppsched_config *config)
{
    if (config->option_count < config->option_capacity)
        return true;
    size_t capacity = config->option_capacity * 2 + 4;
    struct ppi_named_text *grown = ppi_allocate(&config->host, capacity, sizeof *grown);
    if (grown == NULL)
        return false;
    if (config->option_count > 0)
        memcpy(grown, config->options, config->option_count * sizeof *grown);
    ppi_release(&config->host, config->options);
    config->options = grown;
    config->option_capacity = capacity;
    return true;
}

/* Adds an option that is not set yet. */
static ppsched_status add_option(ppsched_config *config, const char *name, const char *value, ppsched_error *error)
{
    if (config->option_count == MOST_OPTIONS)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "option \"%q\" is one too many; there may be %d", name, MOST_OPTIONS);
    char *name_copy = ppi_copy_text(&config->host, name), *value_copy = ppi_copy_text(&config->host, value);
    if (name_copy == NULL || value_copy == NULL || !grow_options(config)) {
        ppi_release(&config->host, name_copy);
        ppi_release(&config->host, value_copy);
        return ppi_fail_memory(error, "an option");
    }
    config->options[config->option_count++] = (struct ppi_named_text){name_copy, value_copy};
    return PPSCHED_OK;
}

static ppsched_status copy_contents(ppsched_config *copy, const ppsched_config *config, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    copy->weight_versions = config->weight_versions;
    copy->has_whole_backwards = config->has_whole_backwards;
    copy->is_forward_only = config->is_forward_only;
    copy->senders_wait = config->senders_wait;
    copy->repeats = config->repeats;
    copy->roles = config->roles;
    copy->progress = config->progress;
    copy->progress_user = config->progress_user;
    if (config->placement != PPSCHED_PLACEMENT_DEFAULT)
        status = ppi_config_set_placement(copy, config->placement, config->map, config->shape.stages, error);
    ppi_config_set_graph(copy, ppi_stage_graph_retain(config->graph));
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY && status == PPSCHED_OK; q++)
        status = ppi_config_set_values(copy, q, config->values[q].values, config->values[q].count, error);
    if (config->windows != NULL && status == PPSCHED_OK) {
        copy->windows = ppi_windows_copy(&copy->host, config->windows, 1);
        status = copy->windows != NULL ? PPSCHED_OK : ppi_fail_memory(error, "the windows of stages");
    }
    if (config->goal != NULL && status == PPSCHED_OK)
        status = ppi_robust_objective_make(&copy->goal, &copy->host, config->goal, error);
    for (size_t i = 0; i < config->option_count && status == PPSCHED_OK; i++)
        status = add_option(copy, config->options[i].name, config->options[i].value, error);
    return status;
}

ppsched_status ppi_config_copy(ppsched_config **out, const ppsched_config *config, ppsched_error *error)
{
    ppsched_config *copy = NULL;
    ppsched_status status = ppi_config_create(&copy, &config->shape, &config->host, error);
    if (status != PPSCHED_OK)
        return status;
    status = copy_contents(copy, config, error);
    if (status != PPSCHED_OK) {
        ppi_config_destroy(copy);
        return status;
    }
    *out = copy;
    return PPSCHED_OK;
}

static ppsched_status check_map(const struct ppi_shape *shape, const uint32_t *map, size_t count, ppsched_error *error)
{
    if (map == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "map placement needs a list of devices");
    if (count != shape->stages)
        return ppi_fail(error, PPSCHED_ERROR_LENGTH, "the placement map has %zu value%p; give %u, one per stage", count,
                        shape->stages);
    for (uint32_t s = 0; s < shape->stages; s++)
        if (map[s] >= shape->devices)
            return ppi_fail_at(error, PPSCHED_ERROR_RANGE, (struct ppi_place){map[s], s, PPSCHED_NONE, s},
                               "the placement map puts stage %u on device %u; devices are 0 to %u", s, map[s],
                               shape->devices - 1);
    return PPSCHED_OK;
}

void ppi_config_set_graph(ppsched_config *config, const struct ppi_stage_graph *graph)
{
    ppi_stage_graph_release(config->graph);
    config->graph = graph;
}

/* A new placement has no sets of devices. */
static ppsched_status leave_sets(ppsched_config *config, ppsched_error *error)
{
    struct ppi_stage_graph *graph = NULL;
    if (config->graph == NULL || !config->graph->has_sets)
        return PPSCHED_OK;
    uint32_t *counts = ppi_allocate(&config->host, config->shape.stages, 2 * sizeof *counts);
    if (counts == NULL)
        return ppi_fail_memory(error, "the stage graph");
    struct ppi_graph_parts parts = ppi_stage_graph_parts_of(config->graph, counts);
    parts.device_counts = NULL;
    ppsched_status status = ppi_stage_graph_make(&graph, &config->host, &config->shape, &parts, error);
    ppi_release(&config->host, counts);
    if (status == PPSCHED_OK)
        ppi_config_set_graph(config, graph);
    return status;
}

ppsched_status ppi_config_set_placement(ppsched_config *config, int32_t placement, const uint32_t *map, size_t count,
                                        ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    uint32_t *copy = NULL;
    if (placement != PPSCHED_PLACEMENT_DEFAULT)
        status = ppi_placement_fits(placement, &config->shape, error);
    if (status == PPSCHED_OK && placement == PPSCHED_PLACEMENT_MAP)
        status = check_map(&config->shape, map, count, error);
    if (status == PPSCHED_OK)
        status = leave_sets(config, error);
    if (status != PPSCHED_OK)
        return status;
    if (placement == PPSCHED_PLACEMENT_MAP) {
        copy = ppi_allocate(&config->host, count, sizeof *copy);
        if (copy == NULL)
            return ppi_fail_memory(error, "the placement map");
        memcpy(copy, map, count * sizeof *copy);
    }
    ppi_release(&config->host, config->map);
    config->map = copy;
    config->placement = placement;
    return PPSCHED_OK;
}

/* Times of ops or of pairs that are set go over windows. */
static void forget_windows(ppsched_config *config, int32_t quantity)
{
    if (config->windows == NULL || quantity < PPSCHED_QUANTITY_FORWARD_TIMES || quantity > PPSCHED_QUANTITY_OVERLAPPED_TIMES)
        return;
    ppi_release(&config->host, config->windows);
    config->windows = NULL;
}

ppsched_status ppi_config_set_values(ppsched_config *config, int32_t quantity, const double *values, size_t count,
                                     ppsched_error *error)
{
    struct ppi_values *held = &config->values[quantity];
    double *copy = NULL;
    if (count > 0) {
        ppsched_status status = ppi_quantity_check(quantity, &config->shape, values, count, error);
        if (status != PPSCHED_OK)
            return status;
        if (count == held->count) {
            forget_windows(config, quantity);
            memmove(held->values, values, count * sizeof *values);
            return PPSCHED_OK;
        }
        copy = ppi_allocate(&config->host, count, sizeof *copy);
        if (copy == NULL)
            return ppi_fail_memory(error, ppi_quantity_name(quantity));
        memcpy(copy, values, count * sizeof *copy);
    }
    forget_windows(config, quantity);
    ppi_release(&config->host, held->values);
    held->values = copy;
    held->count = count;
    return PPSCHED_OK;
}

static size_t find_option(const ppsched_config *config, const char *name)
{
    size_t i = 0;
    while (i < config->option_count && strcmp(config->options[i].name, name) != 0)
        i++;
    return i;
}

static void remove_option(ppsched_config *config, size_t index)
{
    ppi_release(&config->host, config->options[index].name);
    ppi_release(&config->host, config->options[index].value);
    config->option_count--;
    memmove(&config->options[index], &config->options[index + 1], (config->option_count - index) * sizeof config->options[0]);
}

ppsched_status ppi_config_set_option(ppsched_config *config, const char *name, const char *value, ppsched_error *error)
{
    size_t index = find_option(config, name);
    if (value == NULL) {
        if (index < config->option_count)
            remove_option(config, index);
        return PPSCHED_OK;
    }
    if (index == config->option_count)
        return add_option(config, name, value, error);
    char *copy = ppi_copy_text(&config->host, value);
    if (copy == NULL)
        return ppi_fail_memory(error, "an option");
    ppi_release(&config->host, config->options[index].value);
    config->options[index].value = copy;
    return PPSCHED_OK;
}

/* Linear and loop are the same with one stage per device. */
static bool same_placement(int32_t chosen, int32_t wanted, const struct ppi_shape *shape)
{
    bool both_loops = (chosen == PPSCHED_PLACEMENT_LINEAR || chosen == PPSCHED_PLACEMENT_LOOP) &&
                      (wanted == PPSCHED_PLACEMENT_LINEAR || wanted == PPSCHED_PLACEMENT_LOOP);
    return chosen == wanted || (both_loops && shape->stages == shape->devices);
}

bool ppi_config_allows(const ppsched_config *config, int32_t wanted)
{
    if (config->placement == PPSCHED_PLACEMENT_DEFAULT)
        return wanted != PPSCHED_PLACEMENT_MAP; /* no map was given */
    return same_placement(config->placement, wanted, &config->shape);
}

ppsched_status ppi_config_place(struct ppi_placement *out, const ppsched_config *config, int32_t wanted, ppsched_error *error)
{
    if (wanted == PPSCHED_PLACEMENT_DEFAULT)
        wanted = config->placement != PPSCHED_PLACEMENT_DEFAULT ? config->placement : PPSCHED_PLACEMENT_LOOP;
    if (config->graph != NULL && wanted == PPSCHED_PLACEMENT_BIDIRECTIONAL)
        return ppi_refuse_graph(config->graph, "bidirectional placement", error);
    if (config->graph != NULL && config->graph->has_sets && wanted != PPSCHED_PLACEMENT_MAP)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED, "%s placement has one device for each stage, and the problem has several",
                        ppi_placement_name(wanted));
    ppsched_status status = ppi_placement_make(out, &config->host, wanted, &config->shape, config->map, error);
    if (status == PPSCHED_OK)
        out->graph = ppi_stage_graph_retain(config->graph);
    return status;
}

ppsched_status ppi_config_take_run(ppsched_config *config, const ppsched_config *from, ppsched_error *error)
{
    ppsched_status status = PPSCHED_OK;
    config->weight_versions = from->weight_versions;
    config->has_whole_backwards = from->has_whole_backwards;
    config->is_forward_only = from->is_forward_only;
    config->senders_wait = from->senders_wait;
    config->roles = from->roles;
    config->progress = from->progress;
    config->progress_user = from->progress_user;
    if (from->values[PPSCHED_QUANTITY_SLICE_SCALE].count > from->shape.slices && config->shape.stages != from->shape.stages)
        return ppi_fail(error, PPSCHED_ERROR_REFUSED,
                        "slice_scale has values for each of %u stage%p and cannot be converted to %u; give one per slice",
                        from->shape.stages, config->shape.stages);
    if (from->placement != PPSCHED_PLACEMENT_DEFAULT)
        status = ppi_config_set_placement(config, from->placement, from->map, from->shape.stages, error);
    if (from->graph != NULL &&
        (config->shape.stages != from->shape.stages || config->shape.microbatches != from->shape.microbatches))
        return ppi_refuse_graph(from->graph, "another number of stages or microbatches", error);
    ppi_config_set_graph(config, ppi_stage_graph_retain(from->graph));
    for (int32_t q = 1; q <= PPI_LAST_QUANTITY && status == PPSCHED_OK; q++)
        if (ppi_quantity_owner(q) == PPI_OF_RUN)
            status = ppi_config_set_values(config, q, from->values[q].values, from->values[q].count, error);
    for (size_t i = 0; i < from->option_count && status == PPSCHED_OK; i++)
        status = ppi_config_set_option(config, from->options[i].name, from->options[i].value, error);
    return status;
}
