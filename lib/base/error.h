/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the caller's error record. */
#ifndef PPSCHED_BASE_ERROR_H
#define PPSCHED_BASE_ERROR_H

#include <ppsched/status.h>

/* Where an error is; PPSCHED_NONE in fields that do not apply. */
struct ppi_place {
    uint32_t device, stage, microbatch, position;
};

#define PPI_NOWHERE ((struct ppi_place){PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE, PPSCHED_NONE})

/* Fills `error` (NULL is fine) with a formatted message (see ppi_format) and returns `status`. */
ppsched_status ppi_fail(ppsched_error *error, ppsched_status status, const char *format, ...);

/* The same, with a place. */
ppsched_status ppi_fail_at(ppsched_error *error, ppsched_status status, struct ppi_place place, const char *format, ...);

/* OK if `given` is in an enum's range `first` to `last`, else ARGUMENT; `what` names the enum's meaning in the message. */
ppsched_status ppi_check_choice(const char *what, int32_t given, int32_t first, int32_t last, ppsched_error *error);

/* NO_MEMORY with the message "out of memory for <purpose>". */
ppsched_status ppi_fail_memory(ppsched_error *error, const char *purpose);

/* RANGE, as `wanted` of `by` does not divide `number` of `what`, with the nearest divisors below and above. */
ppsched_status ppi_fail_divisor(ppsched_error *error, const char *what, uint32_t number, const char *by, uint32_t wanted);

#endif
