/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as text, and read again. */
#ifndef PPSCHED_TESTS_FUZZ_ROUND_TRIP_H
#define PPSCHED_TESTS_FUZZ_ROUND_TRIP_H

#include "fuzz/harness.h"

/* The schedule as text in memory that the caller frees; aborts where it cannot be written. */
char *fuzz_export(const ppsched_schedule *schedule, int32_t format, size_t *size);

/* Whether two schedules have the same sizes, queues and devices for all stage passes. */
int fuzz_same(const ppsched_schedule *a, const ppsched_schedule *b);

/* What is written as CSV or JSON reads back as it was: from JSON all of it. */
void expect_round_transfer(const ppsched_schedule *schedule, int32_t format);

#endif
