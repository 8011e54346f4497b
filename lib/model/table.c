/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up the rows of a model in a table of measured layers, and scales the cost model where the table has gaps. */
#include "model/table.h"

#include <string.h>

#include "base/error.h"

enum { TIMES = PPSCHED_MODEL_PASS_WEIGHT + 1, SIZES = 6, AGAIN = 3, BASE = -1 };

/* A row of the model that is looked up. */
struct lookup {
    const ppsched_model *model;
    const ppsched_layer_table *table;
    uint32_t row;
    bool has_experts;
};

/* How well a measured row fits. Of two that fit, the one with fewer sizes that are any is better, of others the nearer. */
struct fit {
    bool is_usable, fits;
    uint32_t any;
    double distance;
};

/* --- measured rows --- */

static int again_of(const ppsched_measured_layer *own)
{
    for (int i = 0; own->recompute != NULL && i < AGAIN; i++)
        if (strcmp(own->recompute, ppi_model_passes[PPSCHED_MODEL_PASS_SELECTIVE + i]) == 0)
            return i;
    return BASE;
}

static double value_of(const ppsched_measured_layer *own, int figure)
{
    switch (figure) {
    case PPSCHED_MODEL_PASS_FORWARD:
        return own->forward_time;
    case PPSCHED_MODEL_PASS_INPUT:
        return own->backward_input_time;
    case PPSCHED_MODEL_PASS_WEIGHT:
        return own->backward_weight_time;
    case PPI_MEASURED_KEPT:
        return own->mem_forward;
    default:
        return own->mem_static;
    }
}

static void put_sizes(uint32_t *sizes, const ppsched_measured_layer *own, bool has_experts)
{
    sizes[0] = own->tensor_parallel;
    sizes[1] = own->context_parallel;
    sizes[2] = own->micro_batch_size;
    sizes[3] = own->sequence_length;
    sizes[4] = has_experts ? own->expert_parallel : 0;
    sizes[5] = has_experts ? own->expert_tensor_parallel : 0;
}

static void put_asked(uint32_t *sizes, const ppsched_training *training)
{
    const ppsched_measured_layer asked = {.tensor_parallel = training->tensor_parallel,
                                          .context_parallel = training->context_parallel,
                                          .expert_parallel = training->expert_parallel,
                                          .expert_tensor_parallel = training->expert_tensor_parallel,
                                          .micro_batch_size = training->micro_batch_size,
                                          .sequence_length = training->sequence_length};
    put_sizes(sizes, &asked, true);
}

/* The model as it was measured: without sharding, with as many replicas as the experts need. False where it cannot be divided
 * so. */
static bool take_training(ppsched_model *out, const struct lookup *lookup, const ppsched_measured_layer *own)
{
    ppsched_training *training = &out->training;
    uint32_t tensor = training->tensor_parallel;
    *out = *lookup->model;
    out->measures = NULL;
    training->tensor_parallel = own->tensor_parallel > 0 ? own->tensor_parallel : training->tensor_parallel;
    training->context_parallel = own->context_parallel > 0 ? own->context_parallel : training->context_parallel;
    training->micro_batch_size = own->micro_batch_size > 0 ? own->micro_batch_size : training->micro_batch_size;
    training->sequence_length = own->sequence_length > 0 ? own->sequence_length : training->sequence_length;
    if (lookup->has_experts) {
        tensor = lookup->model->training.tensor_parallel == training->expert_tensor_parallel
                     ? training->tensor_parallel
                     : training->expert_tensor_parallel; /* by default that of the other layers */
        training->expert_parallel = own->expert_parallel > 0 ? own->expert_parallel : training->expert_parallel;
        training->expert_tensor_parallel = own->expert_tensor_parallel > 0 ? own->expert_tensor_parallel : tensor;
    } else {
        training->expert_parallel = training->expert_tensor_parallel = 1;
    }
    if (lookup->model->training.tensor_parallel == 1 && training->tensor_parallel > 1)
        training->flags |= PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL;
    training->sharding = 0;
    training->data_parallel = training->expert_parallel * training->expert_tensor_parallel;
    return (uint64_t)training->expert_parallel * training->expert_tensor_parallel <= UINT32_MAX &&
           ppi_model_check_division(out, NULL) == PPSCHED_OK;
}

static double predicted(const ppsched_model *model, uint32_t row, int figure)
{
    ppsched_pass_cost cost;
    ppsched_layer_memory memory;
    if (figure < PPI_MODEL_PASSES) {
        ppi_model_price(&cost, model, row, figure);
        return cost.time;
    }
    ppi_model_hold(&memory, model, row);
    if (figure == PPI_MEASURED_KEPT)
        return memory.activations;
    if (figure == PPI_MEASURED_STATES)
        return memory.weights + memory.gradients + memory.optimizer;
    const double again[AGAIN] = {memory.selective, memory.full, memory.modules};
    return again[figure - PPI_MEASURED_KEPT_AGAIN];
}

/* --- which rows --- */

/* How a row fits for figures with this recomputation whose value it has. */
static struct fit fit_of(const struct lookup *lookup, const ppsched_measured_layer *own, int again, int figure)
{
    uint32_t given[SIZES], asked[SIZES];
    struct fit fit = {.fits = true, .distance = 1};
    ppsched_model other;
    if (strcmp(own->kind, lookup->model->rows[lookup->row].name) != 0 || again_of(own) != again || value_of(own, figure) < 0)
        return fit;
    put_sizes(given, own, lookup->has_experts);
    put_asked(asked, &lookup->model->training);
    for (int i = 0; i < SIZES; i++) {
        fit.any += given[i] == 0;
        fit.fits &= given[i] == 0 || given[i] == asked[i];
        fit.distance *= given[i] == 0 ? 1 : ppi_size_ratio(given[i], asked[i]);
    }
    fit.is_usable = fit.fits || take_training(&other, lookup, own);
    return fit;
}

/* Below 0 if `a` is better, above 0 if `b` is. */
static int compare_fits(const struct fit *a, const struct fit *b)
{
    if (a->is_usable != b->is_usable)
        return a->is_usable ? -1 : 1;
    if (a->fits != b->fits)
        return a->fits ? -1 : 1;
    if (a->fits && a->any != b->any)
        return a->any < b->any ? -1 : 1;
    return a->distance < b->distance ? -1 : a->distance > b->distance;
}

static struct fit best_fit(const struct lookup *lookup, int again, int figure)
{
    struct fit best = {0};
    for (uint32_t i = 0; i < lookup->table->layer_count; i++) {
        struct fit fit = fit_of(lookup, &lookup->table->layers[i], again, figure);
        if (compare_fits(&fit, &best) < 0)
            best = fit;
    }
    return best;
}

static bool has_same_sizes(const struct lookup *lookup, const ppsched_measured_layer *a, const ppsched_measured_layer *b)
{
    uint32_t first[SIZES], second[SIZES];
    put_sizes(first, a, lookup->has_experts);
    put_sizes(second, b, lookup->has_experts);
    return memcmp(first, second, sizeof first) == 0;
}

/* --- figures without recomputation --- */

/* What one row says of a figure: its value where it fits, else measured / predicted. */
static double said(const struct lookup *lookup, const ppsched_measured_layer *own, const struct fit *fit, int figure)
{
    ppsched_model other;
    double value = value_of(own, figure);
    if (fit->fits && figure != PPI_MEASURED_STATES)
        return value;
    (void)take_training(&other, lookup, own);
    double expected = predicted(&other, lookup->row, figure);
    return expected > 0 ? value / expected : 0;
}

static ppsched_status look_up(struct ppi_measured *out, const struct lookup *lookup, int figure, ppsched_error *error)
{
    struct fit best = best_fit(lookup, BASE, figure);
    const ppsched_measured_layer *first = NULL;
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; best.is_usable && i < lookup->table->layer_count; i++) {
        const ppsched_measured_layer *own = &lookup->table->layers[i];
        struct fit fit = fit_of(lookup, own, BASE, figure);
        if (compare_fits(&fit, &best) != 0)
            continue;
        if (first != NULL && has_same_sizes(lookup, first, own))
            return ppi_fail(error, PPSCHED_ERROR_RANGE,
                            "row %u of the layer table has the kind and the sizes of row %u (%q); leave one of them out", i,
                            (uint32_t)(first - lookup->table->layers), own->kind);
        first = first == NULL ? own : first;
        sum += said(lookup, own, &fit, figure);
        count++;
    }
    if (count == 0)
        return PPSCHED_OK;
    bool is_value = best.fits && figure != PPI_MEASURED_STATES;
    double expected = is_value ? predicted(lookup->model, lookup->row, figure) : 0;
    *out = (struct ppi_measured){.value = sum / count,
                                 .factor = is_value ? (expected > 0 ? sum / count / expected : 0) : sum / count,
                                 .has_value = is_value,
                                 .source = best.fits ? PPSCHED_MEASURE_TABLE : PPSCHED_MEASURE_NEAREST};
    if (out->source == PPSCHED_MEASURE_NEAREST && out->factor == 0)
        *out = (struct ppi_measured){0};
    return PPSCHED_OK;
}

/* --- gaps --- */

static bool is_own(const struct ppi_measured *figure)
{
    return figure->source != PPSCHED_MEASURE_FORMULA && figure->factor > 0;
}

/* Times of a row that the table does not have: by its other times. */
static void fill_times(struct ppi_row_measures *own)
{
    double sum = 0;
    uint32_t count = 0;
    for (int i = 0; i < TIMES; i++)
        if (is_own(&own->figures[i])) {
            sum += own->figures[i].factor;
            count++;
        }
    for (int i = 0; i < TIMES && count > 0; i++)
        if (own->figures[i].source == PPSCHED_MEASURE_FORMULA)
            own->figures[i] = (struct ppi_measured){.factor = sum / count, .source = PPSCHED_MEASURE_SAME};
}

/* Figures that no row of a kind has: by the other kinds. */
static void fill_figure(const ppsched_model *model, int figure)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t row = 0; row < model->row_count; row++) {
        const struct ppi_measured *own = &model->measures[row].figures[figure];
        if (is_own(own)) {
            sum += own->factor;
            count++;
        }
    }
    for (uint32_t row = 0; row < model->row_count; row++) {
        struct ppi_measured *own = &model->measures[row].figures[figure];
        if (own->source == PPSCHED_MEASURE_FORMULA)
            *own = (struct ppi_measured){.factor = count > 0 ? sum / count : 1,
                                         .source = count > 0 ? PPSCHED_MEASURE_OTHERS : PPSCHED_MEASURE_FORMULA};
    }
}

/* --- recomputation --- */

/* Seconds of the input gradients with what is computed again, and of the weight gradients where the row has them. */
static double backward(const ppsched_model *model, uint32_t row, int again, bool has_weight)
{
    return predicted(model, row, PPSCHED_MODEL_PASS_INPUT) +
           (again >= 0 ? predicted(model, row, PPSCHED_MODEL_PASS_SELECTIVE + again) : 0) +
           (has_weight ? predicted(model, row, PPSCHED_MODEL_PASS_WEIGHT) : 0);
}

/* What the backward of a measured row takes beyond that without recomputation, for the training. */
static double extra_of(const struct lookup *lookup, const ppsched_measured_layer *own, const struct fit *fit, int again)
{
    bool has_weight = own->backward_weight_time >= 0;
    double time = own->backward_input_time + (has_weight ? own->backward_weight_time : 0);
    if (!fit->fits) {
        ppsched_model there, here = *lookup->model;
        (void)take_training(&there, lookup, own);
        here.measures = NULL;
        double expected = backward(&there, lookup->row, again, has_weight);
        time *= expected > 0 ? backward(&here, lookup->row, again, has_weight) / expected : 1;
    }
    double extra = time - backward(lookup->model, lookup->row, BASE, has_weight);
    return extra > 0 ? extra : 0;
}

static void look_up_again(struct ppi_row_measures *own, const struct lookup *lookup, int again)
{
    struct fit best = best_fit(lookup, again, PPSCHED_MODEL_PASS_INPUT);
    const struct ppi_measured *forward = &own->figures[PPSCHED_MODEL_PASS_FORWARD];
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; best.is_usable && i < lookup->table->layer_count; i++) {
        struct fit fit = fit_of(lookup, &lookup->table->layers[i], again, PPSCHED_MODEL_PASS_INPUT);
        if (compare_fits(&fit, &best) == 0) {
            sum += extra_of(lookup, &lookup->table->layers[i], &fit, again);
            count++;
        }
    }
    struct ppi_measured *out = &own->figures[PPSCHED_MODEL_PASS_SELECTIVE + again];
    ppsched_model plain = *lookup->model;
    plain.measures = NULL;
    double expected = predicted(&plain, lookup->row, PPSCHED_MODEL_PASS_SELECTIVE + again);
    *out = (struct ppi_measured){.factor = forward->factor > 0 ? forward->factor : 1,
                                 .source = forward->source == PPSCHED_MEASURE_FORMULA  ? PPSCHED_MEASURE_FORMULA
                                           : forward->source == PPSCHED_MEASURE_OTHERS ? PPSCHED_MEASURE_OTHERS
                                                                                       : PPSCHED_MEASURE_SAME};
    if (count > 0)
        *out = (struct ppi_measured){.value = sum / count,
                                     .factor = expected > 0 ? sum / count / expected : 1,
                                     .has_value = true,
                                     .source = best.fits ? PPSCHED_MEASURE_TABLE : PPSCHED_MEASURE_NEAREST};
}

/* Bytes that a layer keeps with recomputation. Its input alone, with full, is known without a measurement. */
static void look_up_kept(struct ppi_row_measures *own, const struct lookup *lookup, int again)
{
    struct fit best = best_fit(lookup, again, PPI_MEASURED_KEPT);
    struct ppi_measured *out = &own->figures[PPI_MEASURED_KEPT_AGAIN + again];
    double sum = 0;
    uint32_t count = 0;
    *out = (struct ppi_measured){
        .factor = again == PPSCHED_MODEL_PASS_FULL - PPSCHED_MODEL_PASS_SELECTIVE ? 1 : own->figures[PPI_MEASURED_KEPT].factor};
    for (uint32_t i = 0; best.is_usable && i < lookup->table->layer_count; i++) {
        const ppsched_measured_layer *layer = &lookup->table->layers[i];
        struct fit fit = fit_of(lookup, layer, again, PPI_MEASURED_KEPT);
        ppsched_model there;
        if (compare_fits(&fit, &best) != 0)
            continue;
        (void)take_training(&there, lookup, layer);
        double expected = fit.fits ? 1 : predicted(&there, lookup->row, PPI_MEASURED_KEPT_AGAIN + again);
        sum += expected > 0 ? layer->mem_forward / expected : 0;
        count++;
    }
    if (count > 0 && (best.fits || sum > 0))
        *out = (struct ppi_measured){.value = sum / count, .factor = sum / count, .has_value = best.fits};
}

/* --- all --- */

static struct lookup lookup_of(const ppsched_model *model, const ppsched_layer_table *table, uint32_t row)
{
    const struct ppi_model_row *own = &model->rows[row];
    return (struct lookup){model, table, row, own->kind != NULL && ppi_model_experts_of(own->kind) != NULL};
}

static ppsched_status look_up_rows(ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error)
{
    struct ppi_row_measures *measures = model->measures;
    ppsched_status status = PPSCHED_OK;
    model->measures = NULL; /* the figures that are scaled are those of the cost model */
    for (uint32_t row = 0; row < model->row_count && status == PPSCHED_OK; row++) {
        struct lookup lookup = lookup_of(model, table, row);
        for (int i = 0; i < TIMES && status == PPSCHED_OK; i++)
            status = look_up(&measures[row].figures[i], &lookup, i, error);
        if (status == PPSCHED_OK)
            status = look_up(&measures[row].figures[PPI_MEASURED_KEPT], &lookup, PPI_MEASURED_KEPT, error);
        if (status == PPSCHED_OK)
            status = look_up(&measures[row].figures[PPI_MEASURED_STATES], &lookup, PPI_MEASURED_STATES, error);
        fill_times(&measures[row]);
    }
    model->measures = measures;
    if (status != PPSCHED_OK)
        return status;
    for (int i = 0; i < TIMES; i++)
        fill_figure(model, i);
    fill_figure(model, PPI_MEASURED_KEPT);
    fill_figure(model, PPI_MEASURED_STATES);
    for (uint32_t row = 0; row < model->row_count; row++) {
        struct lookup lookup = lookup_of(model, table, row);
        for (int again = 0; again < AGAIN; again++) {
            look_up_again(&measures[row], &lookup, again);
            look_up_kept(&measures[row], &lookup, again);
        }
    }
    return PPSCHED_OK;
}

ppsched_status ppi_model_measure(ppsched_model *model, const ppsched_layer_table *table, ppsched_error *error)
{
    ppsched_status status = ppi_check_table(model, table, error);
    if (status == PPSCHED_OK)
        status = ppi_model_take_collectives(model, table, error);
    if (status != PPSCHED_OK || table->layer_count == 0)
        return status;
    model->measures = ppi_allocate_zeroed(&model->host, model->row_count, sizeof *model->measures);
    if (model->measures == NULL)
        return ppi_fail_memory(error, "the layer table");
    return look_up_rows(model, table, error);
}
