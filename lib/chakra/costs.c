/* SPDX-License-Identifier: Apache-2.0 */
/* From amounts of nodes to the lists of a config: sweeps over all ops find one amount per stage, stage pair or link, and
 * refuse traces in which the ops of a group differ. */
#include "base/error.h"
#include "chakra/reader.h"

enum { DIRECTIONS = 2, BYTES_IN_MICRO = 2000, FEW = 4096, PER_OP = 16 }; /* the last two bound squares */

#define UNKNOWN 0 /* no node has that amount */

struct finding {
    const ppsched_schedule *schedule;
    const uint64_t *amounts;
    const struct ppi_chakra_scales *scales;
    ppsched_config *config;
    ppsched_error *error;
    uint64_t *times; /* by stage and kind */
    uint64_t *sizes; /* by direction and sending stage */
    uint64_t *pairs; /* by forward stage, or by forward and backward stage */
    uint64_t *links; /* by sending and receiving device */
    double *values;  /* for a list of the config */
};

/* --- one amount for all of a group --- */

/* Whether an amount agrees with that known of its group; notes it where none is known. */
static bool agrees(uint64_t *known, uint64_t amount)
{
    if (*known == UNKNOWN)
        *known = amount;
    return *known == amount;
}

static ppsched_status refuse(const struct finding *finding, uint32_t device, size_t k, uint64_t known, const char *what)
{
    char token[PPI_UNIT_TOKEN_SIZE];
    const ppsched_queue *queue = &finding->schedule->queues[device];
    const ppsched_op *op = &queue->ops[k];
    struct ppi_place place = {device, op->stage, op->microbatch, (uint32_t)k};
    ppi_unit_token(token, op);
    return ppi_fail_at(finding->error, PPSCHED_ERROR_REFUSED, place,
                       "rank %u: %s has %llu %s, another op of its kind and stage %llu; a config has one number for both",
                       device, token, (unsigned long long)finding->amounts[queue->first + k], what, (unsigned long long)known);
}

/* The entry for the size of a stage's message. Receives are used, as sends have no size where links are ranks. */
static uint64_t *size_of(const struct finding *finding, const ppsched_op *receive)
{
    bool back = ppi_goes_back(receive->kind);
    uint32_t stages = finding->schedule->shape.stages, sender = back ? receive->stage + 1u : receive->stage - 1u;
    return sender < stages ? &finding->sizes[back * stages + sender] : NULL; /* also for -1 */
}

/* The entry for a pair of devices. */
static uint64_t *link_of(const struct finding *finding, uint32_t device, const ppsched_op *receive)
{
    const ppsched_schedule *schedule = finding->schedule;
    ppsched_op sender = *receive;
    sender.stage = (uint16_t)(ppi_goes_back(receive->kind) ? receive->stage + 1 : receive->stage - 1);
    return &finding->links[(size_t)ppi_schedule_device_of(schedule, &sender) * schedule->shape.devices + device];
}

/* --- sweeps over all ops --- */

static ppsched_status find_times(struct finding *finding)
{
    const ppsched_schedule *schedule = finding->schedule;
    for (uint32_t d = 0; d < schedule->shape.devices; d++)
        for (size_t k = 0; k < schedule->queues[d].count; k += ppi_unit_length(&schedule->queues[d].ops[k])) {
            const ppsched_op *op = &schedule->queues[d].ops[k];
            if (!ppi_is_compute(op->kind) || ppi_unit_length(op) == 2)
                continue;
            uint64_t *known = &finding->times[(size_t)op->stage * PPI_COMPUTE_KINDS + op->kind];
            if (!agrees(known, finding->amounts[schedule->queues[d].first + k]))
                return refuse(finding, d, k, *known, "microseconds");
        }
    return PPSCHED_OK;
}

/* Whether all pairs take the sum of their ops. */
static bool pairs_are_sums(const struct finding *finding)
{
    const ppsched_schedule *schedule = finding->schedule;
    for (uint64_t i = 0; i < schedule->op_count; i++) {
        const ppsched_op *op = &schedule->ops[i];
        if (ppi_unit_length(op) == 1)
            continue;
        uint64_t f = finding->times[(size_t)op->stage * PPI_COMPUTE_KINDS + PPSCHED_KIND_F];
        uint64_t b = finding->times[(size_t)op[1].stage * PPI_COMPUTE_KINDS + op[1].kind];
        if (f == UNKNOWN || b == UNKNOWN || f + b != finding->amounts[i])
            return false;
    }
    return true;
}

/* Fills `pairs` by forward stage alone, or by both stages; false, with the op, where pairs of a group differ. */
static bool find_pairs(struct finding *finding, bool by_both, uint32_t *device, size_t *position, uint64_t *known_there)
{
    const ppsched_schedule *schedule = finding->schedule;
    for (*device = 0; *device < schedule->shape.devices; ++*device)
        for (size_t k = 0; k < schedule->queues[*device].count; k++) {
            const ppsched_op *op = &schedule->queues[*device].ops[k];
            if (ppi_unit_length(op) == 1)
                continue;
            uint64_t *known = &finding->pairs[by_both ? (size_t)op->stage * schedule->shape.stages + op[1].stage : op->stage];
            if (agrees(known, finding->amounts[schedule->queues[*device].first + k]))
                continue;
            *position = k;
            *known_there = *known;
            return false;
        }
    return true;
}

/* Fills `sizes`, or `links`; false, with the op, where messages of a group differ. */
static bool find_sizes(struct finding *finding, bool by_link, uint32_t *device, size_t *position, uint64_t *known_there)
{
    const ppsched_schedule *schedule = finding->schedule;
    for (*device = 0; *device < schedule->shape.devices; ++*device)
        for (size_t k = 0; k < schedule->queues[*device].count; k++) {
            const ppsched_op *op = &schedule->queues[*device].ops[k];
            if (!ppi_is_receive(op->kind) || size_of(finding, op) == NULL)
                continue;
            uint64_t *known = by_link ? link_of(finding, *device, op) : size_of(finding, op);
            if (agrees(known, finding->amounts[schedule->queues[*device].first + k]))
                continue;
            *position = k;
            *known_there = *known;
            return false;
        }
    return true;
}

/* --- lists of the config --- */

/* Whether a list that is not linear in the traces has an acceptable number of values. */
static bool has_few(const ppsched_schedule *schedule, size_t count)
{
    return count * count <= FEW + PER_OP * schedule->op_count;
}

static ppsched_status allocate_square(struct finding *finding, size_t side, uint64_t **out)
{
    const struct ppi_host *host = &finding->schedule->host;
    ppi_release(host, finding->values);
    finding->values = ppi_allocate(host, side * side, sizeof *finding->values);
    ppi_release(host, *out);
    *out = ppi_allocate_zeroed(host, side * side, sizeof **out);
    if (finding->values == NULL || *out == NULL)
        return ppi_fail_memory(finding->error, "the costs");
    return PPSCHED_OK;
}

static ppsched_status set(struct finding *finding, int32_t quantity, const uint64_t *amounts, size_t count, double per_unit)
{
    for (size_t i = 0; i < count; i++)
        finding->values[i] = (double)amounts[i] / per_unit;
    return ppi_config_set_values(finding->config, quantity, finding->values, count, finding->error);
}

/* Sets the times of a kind; times that no op shows follow from the other kinds. */
static ppsched_status set_times(struct finding *finding, int32_t quantity, uint8_t kind)
{
    uint32_t stages = finding->schedule->shape.stages;
    for (uint32_t s = 0; s < stages; s++) {
        const uint64_t *times = &finding->times[(size_t)s * PPI_COMPUTE_KINDS];
        uint64_t b = times[PPSCHED_KIND_B], i = times[PPSCHED_KIND_I], w = times[PPSCHED_KIND_W], time = times[kind];
        if (time == UNKNOWN && kind == PPSCHED_KIND_B)
            time = i + w;
        else if (time == UNKNOWN && kind == PPSCHED_KIND_I)
            time = w == UNKNOWN ? b / 2 : b > w ? b - w : 0;
        else if (time == UNKNOWN && kind == PPSCHED_KIND_W)
            time = i == UNKNOWN ? b - b / 2 : b > i ? b - i : 0;
        finding->values[s] = (double)time / finding->scales->time;
    }
    return ppi_config_set_values(finding->config, quantity, finding->values, stages, finding->error);
}

static ppsched_status set_pairs(struct finding *finding)
{
    uint32_t stages = finding->schedule->shape.stages, device = 0;
    size_t position = 0;
    uint64_t known = 0;
    if (pairs_are_sums(finding))
        return PPSCHED_OK;
    if (find_pairs(finding, false, &device, &position, &known))
        return set(finding, PPSCHED_QUANTITY_OVERLAPPED_TIMES, finding->pairs, stages, finding->scales->time);
    if (!has_few(finding->schedule, stages))
        return refuse(finding, device, position, known, "microseconds");
    ppsched_status status = allocate_square(finding, stages, &finding->pairs);
    if (status != PPSCHED_OK)
        return status;
    if (!find_pairs(finding, true, &device, &position, &known))
        return refuse(finding, device, position, known, "microseconds");
    return set(finding, PPSCHED_QUANTITY_OVERLAPPED_TIMES, finding->pairs, (size_t)stages * stages, finding->scales->time);
}

/* A message of 1 byte represents an empty one. */
static void take_least_as_none(uint64_t *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sizes[i] = sizes[i] > 1 ? sizes[i] : 0;
}

static ppsched_status set_bytes(struct finding *finding)
{
    uint32_t stages = finding->schedule->shape.stages;
    double scale = finding->scales->has_times ? 1 : finding->scales->bytes, bandwidth = BYTES_IN_MICRO * finding->scales->time;
    take_least_as_none(finding->sizes, (size_t)DIRECTIONS * stages);
    ppsched_status status = set(finding, PPSCHED_QUANTITY_ACTIVATION_BYTES, finding->sizes, stages, scale);
    if (status == PPSCHED_OK)
        status = set(finding, PPSCHED_QUANTITY_GRADIENT_BYTES, finding->sizes + stages, stages, scale);
    if (status == PPSCHED_OK && finding->scales->has_times)
        status = ppi_config_set_values(finding->config, PPSCHED_QUANTITY_P2P_BANDWIDTH, &bandwidth, 1, finding->error);
    return status;
}

static ppsched_status set_sizes(struct finding *finding)
{
    uint32_t devices = finding->schedule->shape.devices, device = 0;
    size_t position = 0;
    uint64_t known = 0;
    const char *what = "bytes";
    if (find_sizes(finding, false, &device, &position, &known))
        return set_bytes(finding);
    if (!finding->scales->has_times || !has_few(finding->schedule, devices))
        return refuse(finding, device, position, known, what);
    ppsched_status status = allocate_square(finding, devices, &finding->links);
    if (status != PPSCHED_OK)
        return status;
    if (!find_sizes(finding, true, &device, &position, &known))
        return refuse(finding, device, position, known, what);
    take_least_as_none(finding->links, (size_t)devices * devices);
    return set(finding, PPSCHED_QUANTITY_P2P_TIME, finding->links, (size_t)devices * devices,
               BYTES_IN_MICRO * finding->scales->time);
}

/* --- the whole --- */

static ppsched_status allocate(struct finding *finding)
{
    const struct ppi_host *host = &finding->schedule->host;
    size_t stages = finding->schedule->shape.stages;
    finding->times = ppi_allocate_zeroed(host, stages, PPI_COMPUTE_KINDS * sizeof *finding->times);
    finding->sizes = ppi_allocate_zeroed(host, stages, DIRECTIONS * sizeof *finding->sizes);
    finding->pairs = ppi_allocate_zeroed(host, stages, sizeof *finding->pairs);
    finding->values = ppi_allocate(host, stages, sizeof *finding->values);
    if (finding->times == NULL || finding->sizes == NULL || finding->pairs == NULL || finding->values == NULL)
        return ppi_fail_memory(finding->error, "the costs");
    return PPSCHED_OK;
}

static ppsched_status make_config(struct finding *finding)
{
    const ppsched_schedule *schedule = finding->schedule;
    ppsched_status status = ppi_config_create(&finding->config, &schedule->shape, &schedule->host, finding->error);
    if (status == PPSCHED_OK)
        status = ppi_config_set_placement(finding->config, schedule->placement.kind, schedule->placement.device_of,
                                          schedule->shape.stages, finding->error);
    if (status == PPSCHED_OK)
        finding->config->weight_versions = schedule->weight_versions;
    return status;
}

static ppsched_status fill(struct finding *finding)
{
    static const struct {
        int32_t quantity;
        uint8_t kind;
    } lists[] = {{PPSCHED_QUANTITY_FORWARD_TIMES, PPSCHED_KIND_F},
                 {PPSCHED_QUANTITY_BACKWARD_TIMES, PPSCHED_KIND_B},
                 {PPSCHED_QUANTITY_BACKWARD_INPUT_TIMES, PPSCHED_KIND_I},
                 {PPSCHED_QUANTITY_BACKWARD_WEIGHT_TIMES, PPSCHED_KIND_W}};
    ppsched_status status = allocate(finding);
    if (status == PPSCHED_OK)
        status = make_config(finding);
    if (status == PPSCHED_OK)
        status = find_times(finding);
    for (size_t k = 0; status == PPSCHED_OK && k < sizeof lists / sizeof lists[0]; k++)
        status = set_times(finding, lists[k].quantity, lists[k].kind);
    if (status == PPSCHED_OK)
        status = set_pairs(finding);
    return status == PPSCHED_OK ? set_sizes(finding) : status;
}

ppsched_status ppi_chakra_find_costs(ppsched_config **out, const ppsched_schedule *schedule, const uint64_t *amounts,
                                     const struct ppi_chakra_scales *scales, ppsched_error *error)
{
    struct finding finding = {.schedule = schedule, .amounts = amounts, .scales = scales, .error = error};
    ppsched_status status = fill(&finding);
    ppi_release(&schedule->host, finding.values);
    ppi_release(&schedule->host, finding.links);
    ppi_release(&schedule->host, finding.pairs);
    ppi_release(&schedule->host, finding.sizes);
    ppi_release(&schedule->host, finding.times);
    if (status == PPSCHED_OK)
        *out = finding.config;
    else
        ppi_config_destroy(finding.config);
    return status;
}
