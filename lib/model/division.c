/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the training can divide the model: heads, widths and groups by tensor parallelism, experts by theirs, the sequence by
 * context and sequence parallelism. */
#include "base/error.h"
#include "model/model.h"

static bool divides(uint32_t part, uint32_t number)
{
    return number % part == 0;
}

/* --- tensor parallelism --- */

/* A number that tensor parallelism must divide. `may_copy`: or be a multiple of, as key-value heads are copied then. */
struct divided {
    const char *noun;
    uint32_t number;
    bool may_copy;
};

enum { MOST_DIVIDED = 3 };

/* What of a block is divided; entries with the number 0 do not count. */
static void list_divided(struct divided *list, const ppsched_block *block, uint32_t hidden)
{
    const struct divided heads = {"heads", block->heads, false}, width = {"of ffn_size", block->width, false};
    for (int i = 0; i < MOST_DIVIDED; i++)
        list[i] = (struct divided){NULL, 0, false};
    switch (block->kind) {
    case PPSCHED_BLOCK_KIND_ATTENTION:
        list[0] = heads, list[1] = (struct divided){"key_value_heads", block->key_value_heads, true};
        break;
    case PPSCHED_BLOCK_KIND_LATENT_ATTENTION:
        list[0] = heads;
        break;
    case PPSCHED_BLOCK_KIND_DELTA:
        list[0] = heads, list[1] = (struct divided){"key_value_heads", block->key_value_heads, false};
        break;
    case PPSCHED_BLOCK_KIND_MAMBA:
        list[0] = heads, list[1] = (struct divided){"groups", block->groups, false};
        list[2] = (struct divided){"channels of Mamba", block->width, false};
        break;
    case PPSCHED_BLOCK_KIND_CONVOLUTION:
        list[0] = (struct divided){"of hidden_size", hidden, false};
        break;
    case PPSCHED_BLOCK_KIND_COMPRESSED_ATTENTION:
        list[0] = heads, list[1] = (struct divided){"output_groups", block->output_groups, false};
        break;
    case PPSCHED_BLOCK_KIND_MLP:
        list[0] = width;
        break;
    default:
        break;
    }
}

static bool is_divided(const struct divided *one, uint32_t tensor)
{
    return one->number == 0 || divides(tensor, one->number) || (one->may_copy && divides(one->number, tensor));
}

/* The first number of a kind that cannot be divided; its `noun` is NULL if all can. */
static struct divided first_undivided(const ppsched_layer_kind *kind, uint32_t hidden, uint32_t tensor)
{
    for (uint32_t b = 0; b < kind->block_count; b++) {
        struct divided list[MOST_DIVIDED];
        list_divided(list, kind->blocks[b], hidden);
        for (int i = 0; i < MOST_DIVIDED; i++)
            if (!is_divided(&list[i], tensor))
                return list[i];
    }
    return (struct divided){NULL, 0, false};
}

static struct divided undivided_of_model(const ppsched_description_info *shape, uint32_t tensor)
{
    struct divided found = {NULL, 0, false};
    for (uint32_t i = 0; i < shape->kind_count && found.noun == NULL; i++)
        found = first_undivided(shape->kinds[i], shape->hidden_size, tensor);
    for (uint32_t i = 0; i < shape->tower_count && found.noun == NULL; i++)
        found = first_undivided(shape->towers[i]->kind, shape->towers[i]->hidden_size, tensor);
    return found;
}

static bool divides_model(const ppsched_description_info *shape, uint32_t tensor)
{
    return undivided_of_model(shape, tensor).noun == NULL;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static uint32_t divisor_of_kind(const ppsched_layer_kind *kind, uint32_t hidden, uint32_t divisor)
{
    for (uint32_t b = 0; b < kind->block_count; b++) {
        struct divided list[MOST_DIVIDED];
        list_divided(list, kind->blocks[b], hidden);
        for (int i = 0; i < MOST_DIVIDED; i++)
            divisor = list[i].may_copy ? divisor : common_divisor(divisor, list[i].number);
    }
    return divisor;
}

/* The largest number that divides all that may not be copied; what does not divide it need not be looked at. */
static uint32_t divisor_of_model(const ppsched_description_info *shape)
{
    uint32_t divisor = 0;
    for (uint32_t i = 0; i < shape->kind_count; i++)
        divisor = divisor_of_kind(shape->kinds[i], shape->hidden_size, divisor);
    for (uint32_t i = 0; i < shape->tower_count; i++)
        divisor = divisor_of_kind(shape->towers[i]->kind, shape->towers[i]->hidden_size, divisor);
    return divisor;
}

/* Fails with the nearest numbers that divide all of them. */
static ppsched_status check_tensor(const ppsched_description_info *shape, uint32_t tensor, ppsched_error *error)
{
    struct divided wrong = undivided_of_model(shape, tensor);
    if (wrong.noun == NULL)
        return PPSCHED_OK;
    uint32_t most = divisor_of_model(shape), below = tensor < most ? tensor : most, above = tensor;
    while (below > 1 && !(divides(below, most) && divides_model(shape, below)))
        below--;
    while (above < most && !(divides(above, most) && divides_model(shape, above)))
        above++;
    const char *verb = wrong.may_copy ? "neither divides" : "does not divide";
    const char *noun = wrong.may_copy ? "key_value_heads nor is a multiple" : wrong.noun;
    if (above > most || !divides_model(shape, above))
        return ppi_fail(error, PPSCHED_ERROR_RANGE, "tensor_parallel %u %s %u %s; %u does", tensor, verb, wrong.number, noun,
                        below);
    return ppi_fail(error, PPSCHED_ERROR_RANGE, "tensor_parallel %u %s %u %s; %u and %u do", tensor, verb, wrong.number, noun,
                    below, above);
}

/* --- experts --- */

/* Whether experts can be divided by `parallel` and each by `tensor`. */
static bool divides_devices(const ppsched_model *model, const ppsched_block *experts, uint32_t parallel, uint32_t tensor)
{
    const ppsched_training *training = &model->training;
    uint64_t devices = (uint64_t)training->tensor_parallel * training->context_parallel * training->data_parallel;
    return divides(parallel, experts->experts) && divides(tensor, experts->width) &&
           devices % ((uint64_t)parallel * tensor) == 0;
}

static ppsched_status fail_expert_devices(const ppsched_model *model, const ppsched_block *experts, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    uint32_t parallel = training->expert_parallel, tensor = training->expert_tensor_parallel, less = parallel;
    while (less > 0 && !divides_devices(model, experts, less, tensor))
        less--;
    const char *word = "expert_parallel";
    uint32_t value = less;
    if (tensor > 1 && divides_devices(model, experts, parallel, 1)) {
        word = "expert_tensor_parallel";
        value = 1;
    }
    unsigned long long devices = (unsigned long long)training->tensor_parallel * training->context_parallel *
                                 training->data_parallel;
    if (value == 0)
        return ppi_fail(error, PPSCHED_ERROR_RANGE,
                        "expert_parallel %u times expert_tensor_parallel %u must divide the %llu device%p of tensor, context "
                        "and data parallelism",
                        parallel, tensor, devices);
    return ppi_fail(error, PPSCHED_ERROR_RANGE,
                    "expert_parallel %u times expert_tensor_parallel %u must divide the %llu device%p of tensor, context "
                    "and data parallelism; %s %u would do",
                    parallel, tensor, devices, word, value);
}

static ppsched_status check_experts(const ppsched_model *model, const ppsched_block *experts, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    if (!divides(training->expert_parallel, experts->experts))
        return ppi_fail_divisor(error, "experts", experts->experts, "expert_parallel", training->expert_parallel);
    if (!divides(training->expert_tensor_parallel, experts->width))
        return ppi_fail_divisor(error, "of expert_ffn_size", experts->width, "expert_tensor_parallel",
                                training->expert_tensor_parallel);
    return divides_devices(model, experts, training->expert_parallel, training->expert_tensor_parallel)
               ? PPSCHED_OK
               : fail_expert_devices(model, experts, error);
}

static ppsched_status check_all_experts(const ppsched_model *model, ppsched_error *error)
{
    bool has_experts = false;
    ppsched_status status = PPSCHED_OK;
    for (uint32_t i = 0; i < model->shape->kind_count && status == PPSCHED_OK; i++) {
        const ppsched_block *experts = ppi_model_experts_of(model->shape->kinds[i]);
        has_experts = has_experts || experts != NULL;
        status = experts != NULL ? check_experts(model, experts, error) : PPSCHED_OK;
    }
    if (status == PPSCHED_OK && !has_experts && model->training.expert_parallel != 1)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_parallel is %u, and the model has no experts; leave it out",
                          model->training.expert_parallel);
    if (status == PPSCHED_OK && !has_experts && model->training.expert_load != 1)
        status = ppi_fail(error, PPSCHED_ERROR_RANGE, "expert_load is %g, and the model has no experts; leave it out",
                          model->training.expert_load);
    return status;
}

/* --- the sequence --- */

/* Context parallelism gives each device one part of the first half of a causal sequence and one of the second; sequence
 * parallelism divides that among the devices of a tensor group. */
static ppsched_status check_sequence(const ppsched_model *model, ppsched_error *error)
{
    const ppsched_training *training = &model->training;
    uint64_t length = training->sequence_length, context = training->context_parallel;
    bool is_sequence = (training->flags & PPSCHED_TRAINING_FLAG_SEQUENCE_PARALLEL) != 0;
    uint64_t pieces = context * (is_sequence ? training->tensor_parallel : 1);
    if (context > 1 && !ppi_model_has_flag(model, PPSCHED_DESCRIPTION_FLAG_NOT_CAUSAL) && (pieces / context) % 2 != 0)
        pieces *= 2;
    if (length % context != 0)
        return ppi_fail_divisor(error, "of sequence_length", (uint32_t)length, "context_parallel", (uint32_t)context);
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

ppsched_status ppi_model_check_division(const ppsched_model *model, ppsched_error *error)
{
    ppsched_status status = check_tensor(model->shape, model->training.tensor_parallel, error);
    if (status == PPSCHED_OK)
        status = check_sequence(model, error);
    return status == PPSCHED_OK ? check_all_experts(model, error) : status;
}
