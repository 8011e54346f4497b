/* SPDX-License-Identifier: Apache-2.0 */
/* What must hold for any text that a reader gets. Needs the library alone, so that fuzzers can link it. */
#ifndef PPSCHED_TESTS_FUZZ_IMPORT_H
#define PPSCHED_TESTS_FUZZ_IMPORT_H

#include "fuzz/harness.h"

/* Reads the text. Where that fails, the error must say so in one line, and nothing may be left; where it succeeds, the schedule
 * must stay the same when it is written and read again. Memory must be linear in the text. Aborts where any of that is not so;
 * returns the status. */
ppsched_status fuzz_import(int32_t format, const char *data, size_t size);

#endif
