/* SPDX-License-Identifier: Apache-2.0 */
/* Runs both parts of the check, and turns the first findings into an error message. */
#include "check/check.h"

#include <string.h>

#include "base/error.h"
#include "base/format.h"

void ppi_findings_add(struct ppi_findings *findings, const ppsched_finding *finding)
{
    if (findings->count < PPI_FINDINGS_IN_MESSAGE)
        findings->first[findings->count] = *finding;
    if (findings->count < findings->capacity)
        findings->out[findings->count] = *finding;
    findings->count++;
}

/* Puts the first findings in one message, so that a cycle of up to four devices is complete. */
static ppsched_status report(const struct ppi_findings *findings, ppsched_error *error)
{
    const ppsched_finding *first = &findings->first[0];
    struct ppi_place place = {first->device, first->op.stage, first->op.microbatch, first->position};
    char text[440];
    size_t length = 0;
    for (size_t i = 0; i < findings->count && i < PPI_FINDINGS_IN_MESSAGE && length + 3 < sizeof text; i++) {
        if (i > 0) {
            memcpy(text + length, "; ", 3);
            length += 2;
        }
        ppi_finding_text(&findings->first[i], text + length, sizeof text - length);
        length += strlen(text + length);
    }
    if (findings->count <= PPI_FINDINGS_IN_MESSAGE)
        return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place, "%s", text);
    return ppi_fail_at(error, PPSCHED_ERROR_INVALID_SCHEDULE, place, "%s; %zu findings in all", text, findings->count);
}

static ppsched_status check_chain(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error)
{
    struct ppi_op_index index = {0};
    struct ppi_progress progress = {0};
    ppsched_status status = ppi_op_index_make(&index, schedule, error);
    if (status == PPSCHED_OK)
        status = ppi_progress_make(&progress, schedule, &index, error);
    if (status == PPSCHED_OK)
        status = ppi_index_ops(&index, schedule, findings, error);
    if (status == PPSCHED_OK)
        ppi_check_progress(&progress, findings);
    if (status == PPSCHED_OK && index.has_waits)
        ppi_check_reductions(schedule, findings);
    ppi_progress_clear(&progress, schedule);
    ppi_op_index_clear(&index, schedule);
    return status;
}

ppsched_status ppi_check_anew(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error)
{
    ppsched_status status = schedule->placement.graph == NULL ? check_chain(schedule, findings, error)
                                                              : ppi_check_graph(schedule, findings, error);
    if (status == PPSCHED_OK && findings->count > 0)
        status = report(findings, error);
    return status;
}

ppsched_status ppi_check(const ppsched_schedule *schedule, struct ppi_findings *findings, ppsched_error *error)
{
    if (atomic_load_explicit(&schedule->is_sound, memory_order_relaxed))
        return PPSCHED_OK;
    ppsched_status status = ppi_check_anew(schedule, findings, error);
    if (status == PPSCHED_OK)
        atomic_store_explicit(&schedule->self->is_sound, true, memory_order_relaxed);
    return status;
}

static void token_of(char token[PPI_TOKEN_SIZE], const ppsched_op *op)
{
    token[0] = '\0';
    if (ppi_kind_known(op->kind))
        ppi_op_token(token, op);
}

void ppi_finding_text(const ppsched_finding *f, char *text, size_t capacity)
{
    char op[PPI_TOKEN_SIZE], other[PPI_TOKEN_SIZE];
    token_of(op, &f->op);
    token_of(other, &f->other);
    switch (f->kind) {
    case PPSCHED_FINDING_KIND_MISSING:
        ppi_print(text, capacity, "device %u: %s is missing", f->device, op);
        return;
    case PPSCHED_FINDING_KIND_DUPLICATE:
        ppi_print(text, capacity, "device %u, position %u: %s repeats %s of position %u", f->device, f->position, op, other,
                  f->other_position);
        return;
    case PPSCHED_FINDING_KIND_MISPLACED:
        if (f->other_device == PPSCHED_NONE) {
            ppi_print(text, capacity, "device %u, position %u: %s is a pass that its stage does not have", f->device,
                      f->position, op);
            return;
        }
        ppi_print(text, capacity, "device %u, position %u: %s belongs to device %u", f->device, f->position, op,
                  f->other_device);
        return;
    case PPSCHED_FINDING_KIND_CYCLE:
        ppi_print(text, capacity, "deadlock: device %u waits at position %u (%s) for %s, which is at position %u of device %u",
                  f->device, f->position, op, other, f->other_position, f->other_device);
        return;
    case PPSCHED_FINDING_KIND_BLOCKED:
        ppi_print(text, capacity, "device %u waits at position %u (%s) for %s, which device %u never runs", f->device,
                  f->position, op, other, f->other_device);
        return;
    case PPSCHED_FINDING_KIND_CONFLICT:
        if (f->other_device != f->device) {
            ppi_print(text, capacity, "device %u, position %u: %s is %s on device %u: one op on all its devices", f->device,
                      f->position, op, other, f->other_device);
            return;
        }
        ppi_print(text, capacity, "device %u, position %u: %s conflicts with %s of position %u: %s", f->device, f->position, op,
                  other, f->other_position,
                  f->op.kind == PPSCHED_KIND_REDUCE_GRAD ? "a device that waits for reductions has at most one in flight"
                                                         : "a stage pass is recomputed or offloaded, not both");
        return;
    default:
        ppi_print(text, capacity, "unknown finding %d", f->kind);
        return;
    }
}
