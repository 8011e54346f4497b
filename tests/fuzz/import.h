/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for any text that a reader gets. Needs the library alone, so that fuzzers can link it. */
#ifndef PPSCHED_TESTS_FUZZ_IMPORT_H
#define PPSCHED_TESTS_FUZZ_IMPORT_H

#include <ppsched/ppsched.h>

/* Reads the text. Where that fails, the error must say so in one line, and nothing may be left; where it succeeds, the schedule
 * must stay the same when it is written and read again. Memory must be linear in the text. Aborts where any of that is not so;
 * returns the status. */
ppsched_status fuzz_import(int32_t format, const char *data, size_t size);

/* The schedule as text in memory that the caller frees; aborts where it cannot be written. */
char *fuzz_export(const ppsched_schedule *schedule, int32_t format, size_t *size);

/* Whether two schedules have the same sizes, queues and devices for all stage passes. */
int fuzz_same(const ppsched_schedule *a, const ppsched_schedule *b);

#endif
