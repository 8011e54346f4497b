/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a transformer, its training and its device, each and together, and fills in defaults. */
#include "base/checked.h"
#include "base/error.h"
#include "model/ops.h"

/* Limits of sizes: a count of parameters must be exact in a double, so models beyond 2^53 are refused. */
enum { MOST_SIZE = 1 << 24, MOST_COUNT = 1 << 20 };
static const double most_parameters = 9007199254740992.0;

struct bounded {
    const char *name;
    uint32_t value, least, most;
};

static ppsched_status check_bounds(const struct bounded *list, size_t count, ppsched_error *error)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].value < list[i].least || list[i].value > list[i].most)
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %u; it must be %u to %u", list[i].name, list[i].value,
                            list[i].least, list[i].most);
    return PPSCHED_OK;
}

/* Fails with the nearest divisors of `number`, below and above `wanted`. */
static ppsched_status fail_divisor(ppsched_error *error, const char *what, uint32_t number, const char *by, uint32_t wanted)
{
    uint32_t below = wanted < number ? wanted : number, above = wanted;
    while (below > 1 && number % below != 0)
        below--;
    while (above < number && number % above != 0)
        above++;
    if (above > number || number % above != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s %u does not divide %u %s; %u does", by, wanted, number, what, below);
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s %u does not divide %u %s; %u and %u do", by, wanted, number, what, below,
                    above);
}

static bool divides(uint32_t part, uint32_t number)
{
    return number % part == 0;
}

/* --- the model --- */

static ppsched_status check_attention(const ppsched_transformer *shape, ppsched_error *error)
{
    bool is_latent = shape->key_value_rank > 0;
    const struct bounded latent[] = {{"rope_head_size", shape->rope_head_size, 0, MOST_COUNT},
                                     {"value_head_size", shape->value_head_size, 1, MOST_COUNT},
                                     {"query_rank", shape->query_rank, 0, MOST_COUNT},
                                     {"key_value_rank", shape->key_value_rank, 1, MOST_COUNT}};
    if (is_latent)
        return check_bounds(latent, sizeof latent / sizeof latent[0], error);
    if ((shape->query_rank | shape->rope_head_size | shape->value_head_size) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "query_rank, rope_head_size and value_head_size are of latent attention, which needs key_value_rank "
                        "too");
    if (!divides(shape->key_value_heads, shape->heads))
        return fail_divisor(error, "heads", shape->heads, "key_value_heads", shape->key_value_heads);
    return PPSCHED_OK;
}

static ppsched_status check_experts(const ppsched_transformer *shape, ppsched_error *error)
{
    const struct bounded sizes[] = {{"expert_ffn_size", shape->expert_ffn_size, 1, MOST_COUNT},
                                    {"experts_per_token", shape->experts_per_token, 1, shape->experts},
                                    {"shared_ffn_size", shape->shared_ffn_size, 0, MOST_COUNT},
                                    {"dense_layers", shape->dense_layers, 0, shape->layers}};
    if (shape->experts > 0)
        return check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
    if ((shape->experts_per_token | shape->expert_ffn_size | shape->shared_ffn_size) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "experts is 0; experts_per_token, expert_ffn_size and shared_ffn_size must be 0 then too");
    return PPSCHED_OK;
}

/* Experts are given by layer, or by the three numbers. */
static ppsched_status check_expert_layers(const ppsched_transformer *shape, ppsched_error *error)
{
    if (shape->expert_layers == NULL)
        return PPSCHED_OK;
    if ((shape->dense_layers | shape->expert_interval | shape->expert_offset) != 0)
        return ppi_fail(
            error, PPSCHED_ERROR_RANGE,
            "expert_layers lists the layers with experts; dense_layers, expert_interval and expert_offset must then be 0");
    for (uint32_t i = 0; i < shape->layers; i++)
        if (shape->expert_layers[i] > (shape->experts > 0))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_layers: entry %u is %u; it must be %s", i,
                            (unsigned)shape->expert_layers[i], shape->experts > 0 ? "0 or 1" : "0, as there are no experts");
    return PPSCHED_OK;
}

static void complete_shape(ppsched_transformer *shape)
{
    if (shape->key_value_heads == 0)
        shape->key_value_heads = shape->heads;
    if (shape->head_size == 0)
        shape->head_size = shape->hidden_size / shape->heads;
    if (shape->expert_interval == 0)
        shape->expert_interval = 1;
}

static ppsched_status check_shape(ppsched_transformer *shape, ppsched_error *error)
{
    const uint32_t flags = 2 * PPSCHED_TRANSFORMER_FLAG_NO_LATENT_NORMS - 1;
    const struct bounded sizes[] = {{"layers", shape->layers, 1, PPSCHED_MAX_LAYERS - 64},
                                    {"hidden_size", shape->hidden_size, 1, MOST_COUNT},
                                    {"heads", shape->heads, 1, MOST_COUNT},
                                    {"key_value_heads", shape->key_value_heads, 0, shape->heads},
                                    {"head_size", shape->head_size, 0, MOST_COUNT},
                                    {"ffn_size", shape->ffn_size, 0, MOST_COUNT},
                                    {"vocabulary_size", shape->vocabulary_size, 1, MOST_SIZE},
                                    {"positions", shape->positions, 0, MOST_SIZE},
                                    {"experts", shape->experts, 0, MOST_COUNT},
                                    {"mtp_layers", shape->mtp_layers, 0, 32},
                                    {"reserved[0]", shape->reserved[0], 0, 0},
                                    {"reserved[1]", shape->reserved[1], 0, 0}};
    if ((shape->flags & ~flags) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "flags of the transformer is %u, with unknown bits; it must be 0 to %u",
                        shape->flags, flags);
    ppsched_status status = check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
    if (status == PPSCHED_OK && shape->head_size == 0 && !divides(shape->heads, shape->hidden_size))
        status = fail_divisor(error, "of hidden_size (head_size is not given)", shape->hidden_size, "heads", shape->heads);
    if (status == PPSCHED_OK)
        status = check_expert_layers(shape, error);
    if (status == PPSCHED_OK)
        complete_shape(shape);
    if (status == PPSCHED_OK)
        status = check_attention(shape, error);
    if (status == PPSCHED_OK)
        status = check_experts(shape, error);
    if (status == PPSCHED_OK && shape->ffn_size == 0 && ppi_model_expert_layers(shape) < shape->layers)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "ffn_size is 0, but %u layers without experts need it",
                          shape->layers - ppi_model_expert_layers(shape));
    return status;
}

/* --- the training --- */

static void complete_training(ppsched_training *training)
{
    uint32_t *ones[] = {&training->sequence_length,  &training->micro_batch_size, &training->tensor_parallel,
                        &training->context_parallel, &training->expert_parallel,  &training->data_parallel};
    for (size_t i = 0; i < sizeof ones / sizeof ones[0]; i++)
        *ones[i] = *ones[i] > 0 ? *ones[i] : 1;
    if (training->expert_tensor_parallel == 0)
        training->expert_tensor_parallel = training->tensor_parallel;
    training->weight_bytes = training->weight_bytes > 0 ? training->weight_bytes : 2;
    training->gradient_bytes = training->gradient_bytes > 0 ? training->gradient_bytes : 4;
    training->optimizer_bytes = training->optimizer_bytes > 0 ? training->optimizer_bytes : 12;
    training->activation_bytes = training->activation_bytes > 0 ? training->activation_bytes : 2;
}

static ppsched_status check_bytes(const char *name, double bytes, ppsched_error *error)
{
    if (bytes >= 0 && bytes <= 1024)
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be 0 to 1024", name, bytes);
}

static ppsched_status check_amounts(const ppsched_training *training, ppsched_error *error)
{
    const uint32_t flags = 2 * PPSCHED_TRAINING_FLAG_KEEPS_SCORES - 1;
    const struct bounded sizes[] = {{"sequence_length", training->sequence_length, 0, 1 << 30},
                                    {"micro_batch_size", training->micro_batch_size, 0, MOST_COUNT},
                                    {"tensor_parallel", training->tensor_parallel, 0, MOST_COUNT},
                                    {"context_parallel", training->context_parallel, 0, MOST_COUNT},
                                    {"expert_parallel", training->expert_parallel, 0, MOST_COUNT},
                                    {"expert_tensor_parallel", training->expert_tensor_parallel, 0, MOST_COUNT},
                                    {"data_parallel", training->data_parallel, 0, MOST_COUNT},
                                    {"sharding", training->sharding, 0, 3}};
    if ((training->flags & ~flags) != 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "flags of the training is %u, with unknown bits; it must be 0 to %u",
                        training->flags, flags);
    ppsched_status status = check_bounds(sizes, sizeof sizes / sizeof sizes[0], error);
    if (status == PPSCHED_OK)
        status = check_bytes("weight_bytes", training->weight_bytes, error);
    if (status == PPSCHED_OK)
        status = check_bytes("gradient_bytes", training->gradient_bytes, error);
    if (status == PPSCHED_OK)
        status = check_bytes("optimizer_bytes", training->optimizer_bytes, error);
    return status == PPSCHED_OK ? check_bytes("activation_bytes", training->activation_bytes, error) : status;
}

/* Whether experts can be divided by `parallel` and each by `tensor`. */
static bool divides_devices(const ppsched_model *model, uint32_t parallel, uint32_t tensor)
{
    const ppsched_training *training = &model->training;
    uint64_t devices = (uint64_t)training->tensor_parallel * training->context_parallel * training->data_parallel;
    return divides(parallel, model->shape.experts) && divides(tensor, model->shape.expert_ffn_size) &&
           devices % ((uint64_t)parallel * tensor) == 0;
}

static ppsched_status fail_expert_devices(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    uint32_t parallel = training->expert_parallel, tensor = training->expert_tensor_parallel, less = parallel;
    while (less > 0 && !divides_devices(model, less, tensor))
        less--;
    const char *word = "expert_parallel";
    uint32_t value = less;
    if (tensor > 1 && divides_devices(model, parallel, 1)) {
        word = "expert_tensor_parallel";
        value = 1;
    }
    unsigned long long devices = (unsigned long long)training->tensor_parallel * training->context_parallel *
                                 training->data_parallel;
    if (value == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "expert_parallel %u times expert_tensor_parallel %u must divide the %llu devices of tensor, context "
                        "and data parallelism",
                        parallel, tensor, devices);
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "expert_parallel %u times expert_tensor_parallel %u must divide the %llu devices of tensor, context "
                    "and data parallelism; %s %u would do",
                    parallel, tensor, devices, word, value);
}

static ppsched_status check_expert_division(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    const ppsched_transformer *shape = &model->shape;
    if (shape->experts == 0)
        return training->expert_parallel == 1
                   ? PPSCHED_OK
                   : ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_parallel is %u, and the model has no experts; leave it out",
                              training->expert_parallel);
    if (!divides(training->expert_parallel, shape->experts))
        return fail_divisor(error, "experts", shape->experts, "expert_parallel", training->expert_parallel);
    if (!divides(training->expert_tensor_parallel, shape->expert_ffn_size))
        return fail_divisor(error, "of expert_ffn_size", shape->expert_ffn_size, "expert_tensor_parallel",
                            training->expert_tensor_parallel);
    return divides_devices(model, training->expert_parallel, training->expert_tensor_parallel)
               ? PPSCHED_OK
               : fail_expert_devices(model, error);
}

static bool divides_key_values(const ppsched_transformer *shape, uint32_t tensor)
{
    return shape->key_value_rank > 0 || divides(tensor, shape->key_value_heads) || divides(shape->key_value_heads, tensor);
}

/* Whether heads, key-value heads and MLP can be divided by `tensor`. */
static bool divides_layer(const ppsched_transformer *shape, uint32_t tensor)
{
    return divides(tensor, shape->heads) && divides_key_values(shape, tensor) &&
           (shape->ffn_size == 0 || divides(tensor, shape->ffn_size));
}

/* Fails with the nearest numbers that divide all of them. */
static ppsched_status fail_tensor(const ppsched_transformer *shape, uint32_t tensor, ppsched_error *error)
{
    uint32_t below = tensor < shape->heads ? tensor : shape->heads, above = tensor;
    const char *verb = "neither divides", *noun = "key_value_heads nor is a multiple";
    uint32_t number = shape->key_value_heads;
    while (below > 1 && !divides_layer(shape, below))
        below--;
    while (above < shape->heads && !divides_layer(shape, above))
        above++;
    if (!divides(tensor, shape->heads)) {
        verb = "does not divide";
        noun = "heads";
        number = shape->heads;
    } else if (divides_key_values(shape, tensor)) {
        verb = "does not divide";
        noun = "of ffn_size";
        number = shape->ffn_size;
    }
    if (above > shape->heads || !divides_layer(shape, above))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "tensor_parallel %u %s %u %s; %u does", tensor, verb, number, noun, below);
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "tensor_parallel %u %s %u %s; %u and %u do", tensor, verb, number, noun, below,
                    above);
}

/* Context parallelism gives each device one part of the first half of a causal sequence and one of the second; sequence
 * parallelism divides that among the devices of a tensor group. */
static ppsched_status check_sequence(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    uint64_t length = training->sequence_length, context = training->context_parallel;
    bool is_sequence = (training->flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
    uint64_t pieces = context * (is_sequence ? training->tensor_parallel : 1);
    if (context > 1 && ppi_has_flag(model, PPSCHED_TRANSFORMER_FLAG_CAUSAL) && (pieces / context) % 2 != 0)
        pieces *= 2;
    if (length % context != 0)
        return fail_divisor(error, "of sequence_length", (uint32_t)length, "context_parallel", (uint32_t)context);
    if (length % pieces == 0)
        return PPSCHED_OK;
    uint64_t above = (length / pieces + 1) * pieces, below = length / pieces * pieces;
    if (below == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "sequence_length %llu is not a multiple of %llu, by which context and sequence parallelism divide it; "
                        "%llu would be",
                        (unsigned long long)length, (unsigned long long)pieces, (unsigned long long)above);
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "sequence_length %llu is not a multiple of %llu, by which context and sequence parallelism divide it; %llu "
                    "and %llu would be",
                    (unsigned long long)length, (unsigned long long)pieces, (unsigned long long)below,
                    (unsigned long long)above);
}

static ppsched_status check_division(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    if (!divides_layer(&model->shape, training->tensor_parallel))
        return fail_tensor(&model->shape, training->tensor_parallel, error);
    ppsched_status status = check_sequence(model, error);
    return status == PPSCHED_OK ? check_expert_division(model, error) : status;
}

/* --- the device --- */

static ppsched_status check_above_0(const char *name, double value, ppsched_error *error)
{
    if (value > 0 && ppi_is_finite(value))
        return PPSCHED_OK;
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s is %g; it must be above 0", name, value);
}

static ppsched_status check_efficiency(const char *name, const ppsched_efficiency *list, uint32_t count, ppsched_error *error)
{
    if (count > 0 && list == NULL)
        return ppi_fail(error, PPSCHED_ERROR_ARGUMENT, "%s is NULL, and its count %u", name, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!(list[i].share > 0 && list[i].share <= 1))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: share %u is %g; it must be above 0, up to 1", name, i,
                            list[i].share);
        if (!(list[i].least >= 0) || (i > 0 && !(list[i].least < list[i - 1].least)))
            return ppi_fail(error, PPSCHED_ERROR_RANGE, "%s: `least` %u is %g; values must decrease and be at least 0", name, i,
                            list[i].least);
    }
    return PPSCHED_OK;
}

static ppsched_status check_link(const char *name, const ppsched_link_rate *link, ppsched_error *error)
{
    if (!(link->efficiency >= 0 && link->efficiency <= 1 && link->latency >= 0 && ppi_is_finite(link->latency) &&
          link->all_reduce >= 0 && ppi_is_finite(link->all_reduce) && link->all_gather >= 0 && ppi_is_finite(link->all_gather)))
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "link %s the node: efficiency must be 0 to 1, latency and factors finite and at least 0", name);
    return PPSCHED_OK;
}

static ppsched_status check_device(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_accelerator *device = &model->device;
    const struct {
        const char *name;
        double value;
    } rates[] = {{"matrix_rate", device->matrix_rate},           {"vector_rate", device->vector_rate},
                 {"memory_bandwidth", device->memory_bandwidth}, {"memory", device->memory},
                 {"inside.bandwidth", device->inside.bandwidth}, {"between.bandwidth", device->between.bandwidth}};
    ppsched_status status = PPSCHED_OK;
    for (size_t i = 0; i < sizeof rates / sizeof rates[0] && status == PPSCHED_OK; i++)
        status = check_above_0(rates[i].name, rates[i].value, error);
    if (status == PPSCHED_OK)
        status = check_efficiency("matrix_efficiency", device->matrix_efficiency, device->matrix_efficiency_count, error);
    if (status == PPSCHED_OK)
        status = check_efficiency("vector_efficiency", device->vector_efficiency, device->vector_efficiency_count, error);
    if (status == PPSCHED_OK)
        status = check_efficiency("memory_efficiency", device->memory_efficiency, device->memory_efficiency_count, error);
    if (status == PPSCHED_OK)
        status = check_link("inside", &device->inside, error);
    return status == PPSCHED_OK ? check_link("between", &device->between, error) : status;
}

/* --- all --- */

static ppsched_status check_total(const ppsched_transformer *shape, ppsched_error *error)
{
    double hidden = shape->hidden_size, width = (double)shape->heads * (shape->head_size + shape->rope_head_size);
    double mlp = ppi_larger(shape->ffn_size, (double)shape->experts * shape->expert_ffn_size + shape->shared_ffn_size);
    double layer = 8 * hidden * (width + mlp) + 4 * (hidden + width) * (shape->query_rank + shape->key_value_rank);
    double total = (shape->layers + shape->mtp_layers + 1.0) * layer + 3 * hidden * (shape->vocabulary_size + shape->positions);
    if (total > most_parameters)
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "the model has about %g parameters; it must have less than 2^53", total);
    return PPSCHED_OK;
}

ppsched_status ppi_model_complete(ppsched_model *model, ppsched_error *error)
{
    ppsched_status status = check_shape(&model->shape, error);
    if (status == PPSCHED_OK)
        status = check_total(&model->shape, error);
    if (status == PPSCHED_OK)
        status = check_amounts(&model->training, error);
    if (status != PPSCHED_OK)
        return status;
    complete_training(&model->training);
    status = check_division(model, error);
    if (status != PPSCHED_OK || !model->has_device)
        return status;
    model->device.node_devices = model->device.node_devices > 0 ? model->device.node_devices : 1;
    return check_device(model, error);
}
